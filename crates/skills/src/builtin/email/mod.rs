//! Mail: searching, reading, sorting, drafting and sending.

mod attachment;
mod bounces;
mod compose;
mod reading;
mod sending;
mod sorting;
mod triage;

use adjutant_chat::Finding;
use adjutant_l10n as l10n;
use adjutant_mail::{Address, Bounce, FolderKind, Message};
use async_trait::async_trait;
use serde_json::json;

pub(super) use compose::{MANY, blank, is_outside, mail_account, writer};
pub(crate) use sending::is_as_shown;
pub(super) use sending::send_once;
pub use sending::{DraftPress, draft_press, written_by};
pub(super) use sorting::{mark_back, move_back};
pub(super) use triage::PAGE;

use adjutant_store::{Batch, attempts, watches};
use adjutant_turn::trust::{ActionKind, Target, Thing};
use adjutant_types::{AccountId, AccountService, Allowance, ItemNoun, WatchItem, ours};

use super::merged::{account_line, labelled, merged};
use super::undo::{self, Step};
use super::{BuiltinSkill, CallContext, Idempotency, Preview, Resource, contacts, under};
use crate::accounts::{ConnectedAccount, Inbox, PersonAccounts, Sender};
use crate::executor::mail_id;
use crate::{Approved, ErrorKind, Failure, Output, Result, SkillError};

domain! {
    "email", "../../../../../skills/email.toml", EmailSkill {
        Send = "email.send",
        Reply = "email.reply",
        Forward = "email.forward",
        Draft = "email.draft",
        Search = "email.search",
        Read = "email.read",
        Attachment = "email.attachment",
        Status = "email.status",
        Mark = "email.mark",
        Move = "email.move",
        Triage = "email.triage",
    }
}

#[async_trait]
impl BuiltinSkill for EmailSkill {
    fn needs(&self) -> Resource {
        Resource::Mail
    }

    fn effect(&self, _: &PersonAccounts) -> Idempotency {
        match self {
            Self::Send | Self::Reply | Self::Forward => Idempotency::Phased,
            _ => Idempotency::Repeatable,
        }
    }

    /// Of a mail that is in one of several accounts, that one.
    async fn account(&self, call: &CallContext<'_>) -> Result<Option<AccountId>> {
        let named = match self {
            Self::Search | Self::Read | Self::Attachment | Self::Status | Self::Triage => return Ok(None),
            Self::Send | Self::Draft => {
                ["draft", "replaces", "message_id"].into_iter().find_map(|name| call.text(name))
            }
            Self::Reply | Self::Forward | Self::Mark | Self::Move => call.text("message_id"),
        };
        let account = match named.filter(|_| call.text("account").is_none()) {
            Some(id) if call.has_several(AccountService::Mail) => Some(letter_in(call, id).await?.0),
            _ => call.account_for(AccountService::Mail)?,
        };
        Ok(account.map(|account| account.id.clone()))
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::Search | Self::Read | Self::Attachment | Self::Status | Self::Triage => None,
            Self::Send => Some(ActionKind::MailSend),
            Self::Reply => Some(ActionKind::MailReply),
            Self::Forward => Some(ActionKind::MailForward),
            Self::Draft => Some(ActionKind::MailDraft),
            Self::Mark | Self::Move => Some(ActionKind::MailSort),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
        let mut targets = match self {
            Self::Send | Self::Draft => {
                let draft = match self {
                    Self::Send => compose::to_send(call).await?,
                    _ => compose::letter(call).await?.0,
                };
                let mut targets = contacts::recipients(call, &draft.recipients()).await?;
                // Those of a draft were named by nobody; those of the arguments follow.
                if call.arguments.get("attachments").is_none() {
                    let files = draft.attachments.iter();
                    targets.extend(files.map(|file| attachment::named_target(&file.name)));
                }
                if let Some(replaced) = call.text("replaces")
                    && sending::own_draft(call, replaced).await?.is_none()
                {
                    targets.push(Target::Always(l10n::email::replaces_draft()));
                }
                targets
            }
            Self::Reply => {
                let (letter, draft) = compose::reply(call).await?;
                let mut targets = contacts::recipients(call, &draft.recipients()).await?;
                targets.iter_mut().for_each(|target| answer(target, &letter));
                targets
            }
            Self::Forward => {
                let (letter, draft) = compose::forward(call).await?;
                let mut targets = contacts::recipients(call, &draft.recipients()).await?;
                targets.extend(thing(&letter).map(Target::Thing));
                targets
            }
            _ => Vec::new(),
        };
        targets.extend(attachment::targets(call).await?);
        Ok(targets)
    }

    async fn puts_back(&self, call: &CallContext<'_>, changes: &[Step]) -> Result<bool> {
        let (Self::Move, Some(folder)) = (self, call.text("folder")) else { return Ok(false) };
        let mail = letter(call, message_id(call)).await?;
        Ok(changes.iter().any(|step| {
            matches!(step, Step::Moved { message_id, from, to, .. }
                if message_id == mail.lasting_id() && *to == mail.folder && from.eq_ignore_ascii_case(folder))
        }))
    }

    async fn allowance(&self, call: &CallContext<'_>) -> Result<Option<Allowance>> {
        let draft = match self {
            Self::Send => compose::to_send(call).await?,
            Self::Reply => compose::reply(call).await?.1,
            _ => return Ok(None),
        };
        let has_files = !draft.attachments.is_empty() || !attachment::targets(call).await?.is_empty();
        let recipients = draft.recipients();
        Ok(match recipients.as_slice() {
            [only] if !has_files => Allowance::mail(&only.address, &draft.from.address),
            _ => None,
        })
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        match self {
            Self::Send => compose::preview(call, &compose::to_send(call).await?),
            Self::Reply => compose::preview(call, &compose::reply(call).await?.1),
            Self::Forward => compose::forward_preview(call).await,
            _ => Ok(Preview::default()),
        }
    }

    async fn subject(&self, call: &CallContext<'_>) -> Result<Option<String>> {
        let named = match self {
            Self::Mark | Self::Move => call.text("message_id"),
            Self::Draft => call.text("replaces").or(call.text("message_id")),
            _ => None,
        };
        let account = match self {
            Self::Draft | Self::Mark | Self::Move => call.account_for(AccountService::Mail)?,
            _ => None,
        };
        let Some(id) = named else { return Ok(account_line(call, AccountService::Mail, account)) };
        let mail = inbox(call)?.read(id).await?;
        let subject = l10n::email::subject(mail.subject, parties(&mail.from).join(", "));
        Ok(Some(labelled(call, AccountService::Mail, account, subject)))
    }

    async fn run(&self, call: &CallContext<'_>, approved: &Approved, writes: &mut Batch) -> Result<Output> {
        // Boxed where they are large: each is a part of every call's future otherwise.
        match self {
            Self::Send => {
                let draft = sending::composed(call, Box::pin(compose::to_send(call))).await?;
                let original = draft.in_reply_to.clone();
                let sent = sending::answer(call, original.as_deref(), draft, approved).await?;
                compose::discard(call, call.text("draft")).await;
                Ok(sent)
            }
            Self::Reply => {
                let (letter, reply) = sending::composed(call, Box::pin(compose::reply(call))).await?;
                sending::answer(call, Some(&letter.id), reply, approved).await
            }
            Self::Forward => {
                let forward = sending::composed(call, Box::pin(compose::whole_forward(call))).await?;
                sending::send(call, forward, approved).await
            }
            Self::Draft => draft(call, writes).await,
            Self::Search => reading::search(call).await,
            Self::Read => reading::read(call).await,
            Self::Attachment => attachment::read(call, writes).await,
            Self::Status => status(call).await,
            Self::Triage => triage::triage(call).await,
            Self::Mark => sorting::mark(call).await,
            Self::Move => sorting::move_to(call).await,
        }
    }
}

pub struct Mailbox {
    pub from: Address,
    /// Domains whose people count as internal, in small letters.
    pub internal_domains: Vec<String>,
    /// Whether our own address gets a copy of each mail.
    pub self_copy: bool,
    /// The server that takes mails.
    pub smtp: Sender,
    /// The server that keeps them.
    pub imap: Option<Inbox>,
}

impl Mailbox {
    /// Whether both servers let us in.
    pub(super) async fn check(&self) -> Vec<Finding> {
        let finding =
            |section: &str, works: &str, checked: Result<(), adjutant_mail::MailError>| match checked {
                Ok(()) => Finding::ok(works.to_owned()),
                Err(error) if error.kind == adjutant_mail::ErrorKind::Auth => Finding::error(
                    format!("{section}: the server rejected the login: {error}"),
                    format!("check [mail.{section}] user and password; many providers want an app password"),
                ),
                Err(error) => {
                    let fix = format!("check [mail.{section}] host, port, tls, user, password and ca_file");
                    Finding::error(format!("{section}: {error}"), fix)
                }
            };
        let mut found = vec![finding("smtp", "email can be sent", self.smtp.check().await)];
        found.push(match &self.imap {
            Some(imap) => finding("imap", "email can be read", imap.check().await),
            None => Finding::warning(
                "there is no [mail.imap], so mails can't be read and sent ones aren't kept in Sent",
                "add [mail.imap] if that isn't intended",
            ),
        });
        found
    }
}

fn no_account(call: &CallContext<'_>) -> SkillError {
    let why = match call.accounts.all().may_connect {
        true => ours!(l10n::accounts::not_connected),
        false => ours!(l10n::email::no_account),
    };
    SkillError::new(ErrorKind::Permission, why)
}

fn no_inbox() -> SkillError {
    SkillError::new(ErrorKind::Permission, ours!(l10n::email::no_inbox))
}

fn inbox_of(account: &ConnectedAccount) -> Result<&Inbox, SkillError> {
    account.mail.as_deref().and_then(|mail| mail.imap.as_ref()).ok_or_else(no_inbox)
}

/// The inbox of the account that a call changes something in.
fn inbox<'a>(call: &CallContext<'a>) -> Result<&'a Inbox, SkillError> {
    inbox_of(call.account_for(AccountService::Mail)?.ok_or_else(|| no_account(call))?)
}

/// The accounts in which a call looks for mails, the default first.
fn inboxes<'a>(call: &CallContext<'a>) -> Result<Vec<&'a ConnectedAccount>, SkillError> {
    let mut accounts = call.accounts_of(AccountService::Mail)?;
    if accounts.is_empty() {
        return Err(no_account(call));
    }
    accounts.retain(|account| inbox_of(account).is_ok());
    if accounts.is_empty() {
        return Err(no_inbox());
    }
    accounts.sort_by_key(|account| !account.is_mail_default);
    Ok(accounts)
}

async fn letter(call: &CallContext<'_>, message_id: &str) -> Result<Message> {
    Ok(letter_in(call, message_id).await?.1)
}

/// Whether an error concerns one mail alone.
fn is_of_one(error: &SkillError) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::Params)
}

/// Reads a mail from the first account that has it.
async fn letter_in<'a>(call: &CallContext<'a>, message_id: &str) -> Result<(&'a ConnectedAccount, Message)> {
    let mut failed: Option<SkillError> = None;
    for account in inboxes(call)? {
        match letter_of(call, account, message_id).await {
            Ok(letter) => return Ok((account, letter)),
            // An account that can't be read now may have it.
            Err(Failure::Skill(error)) if failed.as_ref().is_none_or(is_of_one) => failed = Some(error),
            Err(Failure::Skill(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Err(failed.unwrap_or_else(|| no_account(call)).into())
}

/// Reads a mail of this account, with its date in the person's zone, unless it was set aside because reading it ended the
/// process twice.
async fn letter_of(call: &CallContext<'_>, account: &ConnectedAccount, message_id: &str) -> Result<Message> {
    let what = format!("mail {} {message_id}", call.ctx.turn.person.id);
    let reading = inbox_of(account)?.read(message_id);
    let read = attempts::counted(call.store(), &call.ctx.io.lease.instance, &what, reading).await?;
    let quarantined = || SkillError::params(ours!(l10n::email::set_aside));
    let letter = read.ok_or_else(quarantined)??;
    let date = letter.date.map(|date| date.with_timezone(&call.zone()).fixed_offset());
    Ok(Message { date, ..letter })
}

fn parties(parties: &[Address]) -> Vec<String> {
    parties.iter().map(Address::to_string).collect()
}

/// A mail, as it is known by its id and its one sender.
fn thing(letter: &Message) -> Option<Thing> {
    let [sender] = letter.from.as_slice() else { return None };
    let title = format!("{} {}", letter.subject, sender.name.as_deref().unwrap_or_default());
    Some(Thing { noun: "mail", id: mail_id(letter.lasting_id(), &sender.address), title, is_shared: false })
}

/// Says of a recipient that an answer to a mail goes to exactly them, if the mail asks for answers nowhere else.
fn answer(target: &mut Target, letter: &Message) {
    if let Target::Recipient { address, answers, .. } = target
        && letter.reply_elsewhere().is_empty()
        && letter.from.iter().any(|sender| sender.address.eq_ignore_ascii_case(address))
    {
        *answers = thing(letter);
    }
}

async fn draft(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let replaced = call.text("replaces");
    // The subject of an answer is somebody else's.
    let is_answer = call.text("message_id").is_some();
    let is_outside = is_answer || sending::is_outside_draft(call, replaced).await?;
    let (draft, former) = compose::letter(call).await?;
    let bytes = draft.unsent()?;
    let shown = compose::shown(call, &draft, &attachment::shown(&draft.attachments));
    let data = json!({"message_id": draft.message_id, "subject": draft.subject, "shown_to_person": shown});
    let account = call.account_for(AccountService::Mail)?;
    let with_inbox = account.and_then(|account| inbox_of(account).ok().map(|inbox| (account, inbox)));
    let Some((account, imap)) = with_inbox else {
        let path = compose::save_as_file(call, &bytes).await?;
        let summary = l10n::email::draft_saved_as_file(draft.subject, path.display());
        return Ok(Output::ours(summary, data));
    };
    // It looks for the Message-ID first, so the draft is never there twice.
    let drafts = imap.append(FolderKind::Drafts, &bytes, true).await?;
    let trash = compose::discard(call, replaced).await;
    // For the buttons under the answer.
    let (turn, now, from) = (&call.ctx.turn, call.store().now(), draft.from.to_string());
    let thing = WatchItem::new(ItemNoun::Mail, &draft.message_id, (&from, &draft.subject), now);
    let (thing, here) =
        (WatchItem { account: account.id.clone(), ..thing }, (&turn.conversation.id, &turn.person.id));
    watches::brief(writes, &call.execution.as_str().into(), here, &thing, (now, None));
    let summary = match &trash {
        Some(_) => l10n::email::in_drafts_instead(draft.subject, former),
        None => l10n::email::in_drafts(draft.subject),
    };
    let undo = drafts.zip(trash).and_then(|(drafts, trash)| {
        let ends = [(replaced?, &drafts, &trash), (draft.message_id.as_str(), &trash, &drafts)];
        undo::left(&ends.map(|(id, from, to)| Step::Moved {
            message_id: id.to_owned(),
            from: from.folder.clone(),
            to: to.folder.clone(),
            account: account.id.clone(),
        }))
    });
    let summary = labelled(call, AccountService::Mail, Some(account), summary);
    Ok(sending::output(is_outside, summary, data).undone_by(undo))
}

fn message_id<'a>(call: &CallContext<'a>) -> &'a str {
    call.text("message_id").unwrap_or_default()
}

/// What became of a mail, as one account tells.
enum Fate {
    Bounced(Bounce),
    Sent,
    NotFound,
}

async fn fate(account: &ConnectedAccount, message_id: &str) -> Result<Fate> {
    let imap = inbox_of(account)?;
    let bare = |message_id: &str| message_id.trim_matches(['<', '>']).to_lowercase();
    let is_this = |original: &str| bare(original) == bare(message_id);
    let is_of = |bounce: &Bounce| bounce.original.as_deref().is_some_and(is_this);
    if let Some(bounce) = imap.bounces(None, 0, 100).await?.into_iter().find(is_of) {
        return Ok(Fate::Bounced(bounce));
    }
    Ok(imap.find(message_id, &[FolderKind::Sent]).await?.map_or(Fate::NotFound, |_| Fate::Sent))
}

async fn status(call: &CallContext<'_>) -> Result<Output> {
    let (accounts, id) = (inboxes(call)?, message_id(call));
    let fates = merged(&accounts, |account| fate(account, id)).await?;
    let bounce = fates.found.iter().find_map(|(_, fate)| match fate {
        Fate::Bounced(bounce) => Some(bounce),
        Fate::Sent | Fate::NotFound => None,
    });
    if let Some(bounce) = bounce {
        let line = |failed: &adjutant_mail::FailedRecipient| {
            format!("{} ({} {})", failed.recipient, failed.status, failed.diagnostic)
        };
        let lines: Vec<String> = bounce.failed.iter().map(line).collect();
        let summary = l10n::email::bounced(lines.join("; "));
        return Ok(Output::new(summary, json!({"status": "bounced"})));
    }
    let (status, summary) = match fates.found.iter().any(|(_, fate)| matches!(fate, Fate::Sent)) {
        true => ("sent", l10n::email::sent_and_not_bounced()),
        false => ("not found", l10n::email::not_in_sent()),
    };
    Ok(Output::ours(under(summary, fates.notes), json!({"status": status})))
}
