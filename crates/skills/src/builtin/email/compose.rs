//! What a mail will contain, and how risky it is to send it.

use std::path::PathBuf;

use adjutant_l10n::email;
use adjutant_mail::{Address, Draft, FolderKind, Message, MessageLocation, is_inside};
use adjutant_types::{AccountService, FromCall, FromConfig, Own, ours};

use super::sending::{is_begun, message_id};
use super::{Mailbox, attachment, inbox, parties};
use crate::accounts::ConnectedAccount;
use crate::builtin::merged::label;
use crate::builtin::{CallContext, Preview, contacts};
use crate::risk::fenced;
use crate::{Result, Risk, SkillError};

/// A mail to more recipients than this is risky.
pub(in crate::builtin) const MANY: usize = 5;

/// The account that the call's mails go out from. Those of a call about an event or a contact, whose account has no mail,
/// go out from the default one.
pub(in crate::builtin) fn mail_account<'a>(call: &CallContext<'a>) -> Option<&'a ConnectedAccount> {
    let mut all = call.accounts.all().with(AccountService::Mail);
    call.account_for(AccountService::Mail).unwrap_or_else(|_| all.find(|account| account.is_mail_default))
}

fn mailbox<'a>(call: &CallContext<'a>) -> Option<&'a Mailbox> {
    mail_account(call)?.mail.as_deref()
}

/// The sender: the mail account, or without one an address that nobody can answer.
pub(in crate::builtin) fn writer(call: &CallContext<'_>) -> Address {
    let nobody =
        || Address { name: Some(call.ctx.turn.person.name.clone()), address: "nobody@localhost".into() };
    mailbox(call).map_or_else(nobody, |mail| mail.from.clone())
}

/// An empty mail; a call can write several.
pub(in crate::builtin) fn blank(call: &CallContext<'_>, number: usize) -> Draft {
    let from = writer(call);
    Draft {
        message_id: message_id(call.execution, number, &from),
        from,
        date: call.now().with_timezone(&call.zone()).fixed_offset(),
        ..Draft::default()
    }
}

fn is_given(call: &CallContext<'_>, name: &str) -> bool {
    call.arguments.get(name).is_some()
}

/// The new mail, or the draft, that a call sends.
pub(super) async fn to_send(call: &CallContext<'_>) -> Result<Draft> {
    let missing = ["to", "subject", "body"].into_iter().find(|name| !is_given(call, name));
    match missing.filter(|_| call.text("draft").is_none()) {
        Some(name) => Err(SkillError::params(ours!(email::missing, Own(name))).into()),
        None => Ok(letter(call).await?.0),
    }
}

/// The new mail that a call writes. Of a draft that it sends or replaces, whose subject is returned too, what it doesn't
/// say stays; of a mail that it answers come the thread, and where nothing else is said, recipient and subject.
pub(super) async fn letter(call: &CallContext<'_>) -> Result<(Draft, String)> {
    let former = match call.text("draft").or(call.text("replaces")) {
        Some(message_id) => Some(of_draft(call, message_id).await?),
        None => None,
    };
    let answer = if is_given(call, "message_id") { Some(reply(call).await?.1) } else { None };
    let former_subject = former.as_ref().map(|former| former.subject.clone());
    let mut draft = match (former, answer) {
        (Some(former), Some(answer)) => {
            Draft { in_reply_to: answer.in_reply_to, references: answer.references, ..former }
        }
        (former, answer) => former.or(answer).unwrap_or_else(|| blank(call, 0)),
    };
    for (name, parties) in [("to", &mut draft.to), ("cc", &mut draft.cc), ("bcc", &mut draft.bcc)] {
        if is_given(call, name) {
            *parties = contacts::parties(call, name).await?;
        }
    }
    if let Some(subject) = call.text("subject") {
        draft.subject = subject.to_owned();
    }
    if let Some(body) = call.text("body") {
        draft.body = body.to_owned();
    }
    if is_given(call, "attachments") {
        draft.attachments = attachment::to_send(call).await?;
    }
    if draft.subject.is_empty() && former_subject.is_none() {
        return Err(SkillError::params(ours!(email::no_subject)).into());
    }
    Ok((draft, former_subject.unwrap_or_default()))
}

/// Where a draft is, which may be in the trash, too.
pub(super) async fn find_draft(call: &CallContext<'_>, message_id: &str, or_trash: bool) -> Result<String> {
    let imap = inbox(call)?;
    let mut at = imap.find(message_id, &[FolderKind::Drafts]).await?;
    if at.is_none() && or_trash {
        at = imap.find(message_id, &[FolderKind::Trash]).await?;
    }
    let missing = || SkillError::not_found(ours!(email::no_such_draft, FromCall(message_id)));
    Ok(at.ok_or_else(missing)?.id)
}

async fn of_draft(call: &CallContext<'_>, message_id: &str) -> Result<Draft> {
    // An earlier attempt may have put it away. One that the person threw away isn't sent.
    let is_retry = if call.text("draft").is_some() { is_begun(call).await? } else { call.is_retry };
    let letter = super::letter(call, &find_draft(call, message_id, is_retry).await?).await?;
    if letter.is_truncated {
        return Err(SkillError::params(ours!(email::draft_too_long)).into());
    }
    let attachments =
        if is_given(call, "attachments") { Vec::new() } else { attachment::of_mail(call, &letter).await? };
    Ok(Draft {
        to: letter.to,
        cc: letter.cc,
        bcc: letter.bcc,
        subject: letter.subject,
        body: letter.text,
        attachments,
        in_reply_to: letter.in_reply_to,
        references: letter.references,
        ..blank(call, 0)
    })
}

/// Puts the draft away that was sent or replaced, if it is still there; returns where it is then. If that fails, it is
/// only left over.
pub(super) async fn discard(call: &CallContext<'_>, draft: Option<&str>) -> Option<MessageLocation> {
    let message_id = draft?;
    let discarded = async {
        let imap = inbox(call)?;
        if let Some(draft) = imap.find(message_id, &[FolderKind::Drafts]).await? {
            imap.move_to(&draft.id, "trash").await?;
        }
        imap.find(message_id, &[FolderKind::Trash]).await.map_err(SkillError::from)
    };
    discarded.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "can't put a draft away");
        None
    })
}

/// The mail that a call answers, and the answer.
pub(super) async fn reply(call: &CallContext<'_>) -> Result<(Message, Draft)> {
    let blank = blank(call, 0);
    let letter = super::letter(call, super::message_id(call)).await?;
    let reply = letter.reply(&[&blank.from.address], call.flag("all"));
    let draft = Draft {
        to: reply.to,
        cc: [reply.cc, contacts::parties(call, "cc").await?].concat(),
        subject: reply.subject,
        in_reply_to: reply.in_reply_to,
        references: reply.references,
        body: format!("{}\n\n{}", call.text("body").unwrap_or_default(), reply.quote),
        attachments: attachment::to_send(call).await?,
        ..blank
    };
    Ok((letter, draft))
}

/// The mail that forwards another one, and that one; its files come later.
pub(super) async fn forward(call: &CallContext<'_>) -> Result<(Message, Draft)> {
    let letter = super::letter(call, super::message_id(call)).await?;
    let note = call.text("body").map(|body| format!("{body}\n\n")).unwrap_or_default();
    let quote = letter.reply(&[], false).quote;
    let draft = Draft {
        to: contacts::parties(call, "to").await?,
        cc: contacts::parties(call, "cc").await?,
        subject: format!("Fwd: {}", letter.subject),
        body: format!("{note}{}\n\n{quote}", email::forwarded(&letter.subject)),
        ..blank(call, 0)
    };
    Ok((letter, draft))
}

/// The same as a person is asked about it: its files are only named, so that they're fetched once, to be sent.
pub(super) async fn forward_preview(call: &CallContext<'_>) -> Result<Preview> {
    let (letter, draft) = forward(call).await?;
    attachment::check_size(&letter)?;
    named_preview(call, &draft, &attachment::named(&letter))
}

/// The same with its files.
pub(super) async fn whole_forward(call: &CallContext<'_>) -> Result<Draft> {
    let (letter, draft) = forward(call).await?;
    let attachments = attachment::of_mail(call, &letter).await?;
    Ok(Draft { attachments, ..draft })
}

pub(super) fn preview(call: &CallContext<'_>, draft: &Draft) -> Result<Preview> {
    named_preview(call, draft, &attachment::shown(&draft.attachments))
}

fn named_preview(call: &CallContext<'_>, draft: &Draft, files: &[String]) -> Result<Preview> {
    // A mail that can't be composed fails before anyone is asked.
    draft.compose()?;
    let mut all = draft.to.iter().chain(&draft.cc).chain(&draft.bcc);
    let is_risky = all.clone().count() > MANY || all.any(|party| is_outside(call, &party.address));
    let has_account = mail_account(call).is_some();
    let risk = if is_risky && has_account { Risk::High } else { Risk::Medium };
    let text = Some(shown(call, draft, files));
    Ok(Preview { risk, text, stays: !has_account, ..Preview::default() })
}

/// A mail as the person is shown it, with the names of its files and their texts.
pub(super) fn shown(call: &CallContext<'_>, draft: &Draft, files: &[String]) -> String {
    let (to, subject) = (parties(&draft.to).join(", "), &draft.subject);
    let account = mail_account(call);
    let mut text = match account {
        Some(_) if to.is_empty() => email::preview_to_nobody(subject),
        Some(_) => email::preview(to, subject),
        None => email::preview_as_file(to, subject),
    };
    let more = [
        label(call, AccountService::Mail, account)
            .map(|label| email::preview_from(&draft.from.address, label)),
        (!draft.cc.is_empty()).then(|| email::preview_cc(parties(&draft.cc).join(", "))),
        (!draft.bcc.is_empty()).then(|| email::preview_bcc(parties(&draft.bcc).join(", "))),
        (!files.is_empty()).then(|| email::preview_attachments(files.join(", "))),
    ];
    text.extend(more.into_iter().flatten().map(|line| format!("\n- {line}")));
    text.push_str(&format!("\n- {}\n{}", email::preview_text(), fenced(&draft.body)));
    for file in draft.attachments.iter().filter(|file| attachment::is_shown_whole(file)) {
        text.push_str(&format!("\n- {}:\n{}", file.name, fenced(&String::from_utf8_lossy(&file.bytes))));
    }
    text
}

/// Whether an address is neither ours nor a plain one of an internal domain.
pub(in crate::builtin) fn is_outside(call: &CallContext<'_>, address: &str) -> bool {
    let party = Address { name: None, address: address.to_owned() };
    !mailbox(call).is_some_and(|mail| {
        is_inside(&party, &mail.internal_domains) || mail.from.address.eq_ignore_ascii_case(address)
    })
}

/// Saves a mail as a file named after the execution.
pub(super) async fn save_as_file(call: &CallContext<'_>, bytes: &[u8]) -> Result<PathBuf> {
    let folder = &call.services.outgoing;
    let path = folder.join(format!("{}.eml", call.execution));
    let written = async {
        tokio::fs::create_dir_all(folder).await?;
        tokio::fs::write(&path, bytes).await
    };
    written.await.map_err(|error| {
        SkillError::tool(ours!(email::cannot_save, FromConfig(path.display()), Own(error)))
    })?;
    Ok(path)
}
