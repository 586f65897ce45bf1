//! Sending a mail, once.
//!
//! A mail must never go twice, and never be lost without a word. Its Message-ID is derived from the execution. The
//! row's phase says how far it got:
//!
//! - none: nothing was handed over; it is sent.
//! - `handed_over`, committed before the content goes out: we look for the Message-ID for a minute, in Sent (some
//!   servers file what they send) and, with `self_copy`, in the inbox. If we find it, it was sent; if not, nobody can
//!   know, and the outcome is unknown, which is reported and never repeated. Only a draft that Microsoft has is sent then:
//!   it sends each once.
//! - `accepted`: the server has it. All that's left is a copy in Sent, unless there is one.
//!
//! A call that writes several mails numbers them. One that was refused is tried again after a crash, whatever became of later
//! ones: nothing else says that it wasn't sent.
//!
//! Accepted race: a crash between the server's yes and our commit of it counts as `handed_over`.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_l10n::{email, sources};
use adjutant_mail::{Address, Composed, Draft, FlagChange, FolderKind, MailError};
use adjutant_store::watches::{ItemRow, TurnItems};
use adjutant_store::{Store, StoreError, executions, inbox};
use adjutant_turn::journal::{TurnContext, fail_point};
use adjutant_types::{AccountService, ExecutionId, ProviderKind, Taint, ours};
use serde_json::{Value, json};

use super::compose::{mail_account, save_as_file};
use super::{Mailbox, labelled, no_account, parties};
use crate::accounts::Sender;
use crate::builtin::CallContext;
use crate::{Approved, ErrorKind, Failure, Output, Result, SkillError};

/// How often, and at which interval, we look for a mail that may have been sent: it has to arrive first.
const LOOKUPS: u32 = 20;
const LOOKUP_INTERVAL: Duration = Duration::from_secs(3);

/// The mails of a call that may be out, by their numbers, and whether each was accepted.
type Begun = BTreeMap<usize, bool>;

const HANDED_OVER: &str = "handed_over";
const ACCEPTED: &str = "accepted";

/// Reads what [`stored`] has written.
fn begun(stored: Option<&str>) -> Begun {
    let Some(stored) = stored else { return Begun::new() };
    let (word, last) = stored.split_once(' ').unwrap_or((stored, "0"));
    let Some((_, list)) = word.split_once(':') else {
        // A former version kept the last one alone.
        let last: usize = last.parse().unwrap_or_default();
        return (0..=last).map(|number| (number, number < last || word == ACCEPTED)).collect();
    };
    let number = |text: &str| text.trim_end_matches('?').parse::<usize>().ok();
    list.split(',').filter_map(|text| Some((number(text)?, !text.ends_with('?')))).collect()
}

/// The first mail as one word, several as `handed_over:0,3? 3`: those before the last may have been refused. A former version
/// sends none of them again.
fn stored(mails: &Begun) -> Option<String> {
    let (last, _) = mails.last_key_value()?;
    let word = if mails.values().all(|is_accepted| *is_accepted) { ACCEPTED } else { HANDED_OVER };
    if *last == 0 {
        return Some(word.to_owned());
    }
    let mark = |is_accepted: &bool| if *is_accepted { "" } else { "?" };
    let list = mails.iter().map(|(number, is_accepted)| format!("{number}{}", mark(is_accepted)));
    Some(format!("{word}:{} {last}", list.collect::<Vec<_>>().join(",")))
}

pub(super) fn message_id(execution: &ExecutionId, number: usize, from: &Address) -> String {
    let domain = from.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
    if number == 0 { format!("<{execution}@{domain}>") } else { format!("<{execution}.{number}@{domain}>") }
}

/// The execution that wrote a mail of ours.
pub fn written_by(message_id: &str) -> ExecutionId {
    message_id.trim_start_matches('<').split(['@', '.']).next().unwrap_or_default().into()
}

/// The outside sources of a draft that we wrote for this person; none of any other draft.
pub(super) async fn own_draft(call: &CallContext<'_>, message_id: &str) -> Result<Option<Taint>, StoreError> {
    let written = executions::written_for(call.store(), &written_by(message_id)).await?;
    Ok(written.filter(|(person, ..)| *person == call.ctx.turn.person.id).map(|(_, taint, _)| taint))
}

/// What the button under a draft asks for that began a turn.
#[derive(Debug, Clone)]
pub enum DraftPress {
    /// The first press of it. Once the draft may be out, it is one more message.
    Send(String),
    Drop(String),
    /// Any button, of a draft that another turn has sent at this time.
    Late(i64),
}

/// The button under a draft that began the turn.
pub async fn draft_press(ctx: &TurnContext) -> Result<Option<DraftPress>, StoreError> {
    let found = ctx.turn.found.as_deref().filter(|found| !found.is_watch);
    let Some(TurnItems { verb, items, .. }) = found else { return Ok(None) };
    let [ItemRow { id, thing: Some(draft), .. }] = items.as_slice() else { return Ok(None) };
    let (store, turn, writer) = (&ctx.store, &ctx.turn, written_by(&draft.id));
    // An email that a watch has told isn't one.
    if writer != id.as_str() {
        return Ok(None);
    }
    Ok(match (verb.as_str(), executions::sent_at(store, &writer, &turn.id).await?) {
        (_, Some(at @ 1..)) => Some(DraftPress::Late(at)),
        ("send", None) => {
            let button = format!("{}{id}:send:", inbox::LINE);
            let first = inbox::first_turn(store, &turn.conversation.id, &button).await?;
            (first.as_ref() == Some(&turn.id)).then(|| DraftPress::Send(draft.id.clone()))
        }
        ("drop", _) => Some(DraftPress::Drop(draft.id.clone())),
        _ => None,
    })
}

/// Whether a draft still holds what was shown above its buttons; `now` is what it is shown as now.
pub(crate) async fn is_as_shown(store: &Store, draft: &str, now: &str) -> Result<bool, StoreError> {
    let written = executions::written_for(store, &written_by(draft)).await?;
    let data = written.and_then(|(.., data)| serde_json::from_str::<Value>(&data?).ok()).unwrap_or_default();
    // A mailbox may end lines in its own way.
    let shown = data["shown_to_person"].as_str().unwrap_or_default();
    Ok(shown.split_whitespace().eq(now.split_whitespace()))
}

/// Whether a draft may hold words of others: any but one that we wrote for this person, who alone had been read.
pub(super) async fn is_outside_draft(
    call: &CallContext<'_>,
    draft: Option<&str>,
) -> Result<bool, StoreError> {
    let Some(message_id) = draft else { return Ok(false) };
    Ok(own_draft(call, message_id).await?.is_none_or(|taint| !taint.is_clean()))
}

/// A result that may repeat words of a draft.
pub(super) fn output(is_outside: bool, summary: String, mut data: Value) -> Output {
    if is_outside {
        data["sources"] = json!(sources::draft(data["subject"].as_str().unwrap_or_default()));
    }
    Output::outside_if(is_outside, summary, data)
}

/// Whether a mail of the call may be out.
pub(super) async fn is_begun(call: &CallContext<'_>) -> Result<bool, StoreError> {
    Ok(executions::phase(call.store(), call.execution).await?.is_some())
}

/// What a call sends, composed. After a crash it may be out already, and then nobody knows if this fails.
pub(super) async fn composed<T>(
    call: &CallContext<'_>,
    composing: impl Future<Output = Result<T>>,
) -> Result<T> {
    let composed = composing.await;
    if matches!(composed, Err(Failure::Skill(_))) && is_begun(call).await? {
        return Err(SkillError::unknown_outcome().into());
    }
    composed
}

/// Sends the mail of a call, or saves it as a file where there is no account.
pub(super) async fn send(call: &CallContext<'_>, draft: Draft, approved: &Approved) -> Result<Output> {
    let is_outside = is_outside_draft(call, call.text("draft")).await?;
    let (subject, message_id) = (draft.subject.clone(), draft.message_id.clone());
    let recipients = [&draft.to, &draft.cc, &draft.bcc].map(|list| parties(list)).concat();
    let (to, files) = (recipients.join(", "), draft.attachments.len());
    let account = call.account_for(AccountService::Mail)?;
    let summary = match account {
        Some(_) => {
            let unsent = draft.clone();
            match send_once(call, draft, 0, approved).await {
                Err(Failure::Skill(error)) => return Err(kept_as_draft(call, &unsent, error).await.into()),
                Err(error) => return Err(error),
                Ok(None) if files > 0 => email::sent_with_attachments(&subject, to, files),
                Ok(None) => email::sent(&subject, to),
                Ok(Some(why)) => email::sent_without_copy(&subject, to, why),
            }
        }
        None => {
            let path = save_as_file(call, &draft.compose()?.bytes).await?;
            email::saved_instead(&subject, to, path.display())
        }
    };
    let summary = labelled(call, AccountService::Mail, account, summary);
    let data = json!({"message_id": message_id, "to": recipients, "subject": subject});
    Ok(output(is_outside, summary, data))
}

/// Sends a mail, and marks the one that it answers. If that fails, the answer is out anyway.
pub(super) async fn answer(
    call: &CallContext<'_>,
    original: Option<&str>,
    draft: Draft,
    approved: &Approved,
) -> Result<Output> {
    let sent = send(call, draft, approved).await?;
    if let Some(original) = original
        && let Err(error) = super::inbox(call)?.flag(original, FlagChange::Answered).await
    {
        tracing::warn!(%error, "can't mark an email as answered");
    }
    Ok(sent)
}

/// Keeps a mail that the server refuses for good as a draft, and adds that to the error.
async fn kept_as_draft(call: &CallContext<'_>, draft: &Draft, error: SkillError) -> SkillError {
    let is_refused = matches!(error.kind, ErrorKind::Recipient | ErrorKind::Permission | ErrorKind::Tool);
    // A draft that was to be sent is still there.
    let is_new = call.text("draft").is_none();
    let (Ok(imap), Ok(bytes)) = (super::inbox(call), draft.unsent()) else { return error };
    let is_lost = is_new && is_refused && !error.unknown;
    if !is_lost || imap.append(FolderKind::Drafts, &bytes, true).await.is_err() {
        return error;
    }
    SkillError { message: ours!(email::kept_as_draft, error.message), ..error }
}

/// Sends one of a call's mails unless it was sent before. Returns why no copy could be put into Sent.
pub(in crate::builtin) async fn send_once(
    call: &CallContext<'_>,
    mut draft: Draft,
    number: usize,
    _: &Approved,
) -> Result<Option<MailError>> {
    let account = mail_account(call).ok_or_else(|| no_account(call))?;
    let mail = account.mail.as_deref().ok_or_else(|| no_account(call))?;
    draft.bcc.extend(mail.self_copy.then(|| mail.from.clone()));
    let letter = draft.compose()?;
    let sending = Sending { call, mail, number, message_id: &draft.message_id };
    sending.advance(&letter).await?;
    fail_point("mail-accepted");
    // These put what they send into Sent themselves.
    let is_filed = matches!(account.provider, ProviderKind::Google | ProviderKind::Microsoft);
    let Some(imap) = mail.imap.as_ref().filter(|_| !is_filed) else { return Ok(None) };
    // The mail was sent, whether there is a copy or not.
    Ok(imap.append(FolderKind::Sent, &letter.bytes, true).await.err())
}

/// A mail on its way.
struct Sending<'a> {
    call: &'a CallContext<'a>,
    mail: &'a Mailbox,
    number: usize,
    message_id: &'a str,
}

impl Sending<'_> {
    async fn advance(&self, letter: &Composed) -> Result<()> {
        let mails = begun(executions::phase(self.call.store(), self.call.execution).await?.as_deref());
        match mails.get(&self.number).copied() {
            None => self.hand_over(letter, mails).await,
            Some(false) => self.settle(mails).await,
            Some(true) => Ok(()),
        }
    }

    async fn set(&self, mut mails: Begun, is_accepted: bool) -> Result<()> {
        mails.insert(self.number, is_accepted);
        self.store(&mails).await
    }

    async fn store(&self, mails: &Begun) -> Result<()> {
        let mut batch = self.call.ctx.batch();
        executions::set_phase(&mut batch, self.call.execution, stored(mails).as_deref());
        self.call.store().write(batch).await?;
        Ok(())
    }

    /// Finds out whether a mail that may have been sent was.
    async fn settle(&self, mails: Begun) -> Result<()> {
        let is_sent = self.was_sent().await
            || (self.call.ctx.io.lease.heartbeat.is_fresh()
                && self.mail.smtp.resume(self.message_id).await.unwrap_or(false));
        if is_sent { self.accepted(mails).await } else { Err(SkillError::unknown_outcome().into()) }
    }

    /// The server has it, also if our note of that fails: what is read next time then is `handed_over`, which is looked up.
    async fn accepted(&self, mails: Begun) -> Result<()> {
        match self.set(mails, true).await {
            Err(Failure::Store(error)) if !matches!(error, StoreError::Stale(_)) => Ok(()),
            noted => noted,
        }
    }

    async fn hand_over(&self, letter: &Composed, before: Begun) -> Result<()> {
        let before_data = async {
            let committed = self.set(before.clone(), false).await;
            fail_point("mail-handed-over");
            match committed {
                Ok(()) if self.call.ctx.io.lease.heartbeat.is_fresh() => Ok(()),
                Ok(()) => Err(email::taken_over()),
                Err(_) => Err(email::journal_failed()),
            }
        };
        let sent = self.mail.smtp.send(&letter.envelope, &letter.bytes, self.message_id, before_data).await;
        match sent {
            Ok(_) => {
                fail_point("mail-sent");
                self.accepted(before).await
            }
            Err(error) if error.may_have_happened => self.settle(before).await,
            Err(error) => {
                // It certainly wasn't sent, so the next attempt may start afresh.
                self.store(&before).await?;
                Err(error.into())
            }
        }
    }

    /// Whether the mail is anywhere that only sending could have put it.
    async fn was_sent(&self) -> bool {
        let Some(imap) = &self.mail.imap else { return false };
        let mut folders = vec![FolderKind::Sent];
        folders.extend(self.mail.self_copy.then_some(FolderKind::Inbox));
        for lookup in 0..LOOKUPS {
            if let Ok(Some(_)) = imap.find(self.message_id, &folders).await {
                return true;
            }
            // Without a copy to ourselves nothing will arrive that isn't there by now, but for what Microsoft has sent.
            if !self.mail.self_copy && !matches!(self.mail.smtp, Sender::Graph(_)) && lookup >= 1 {
                return false;
            }
            tokio::time::sleep(LOOKUP_INTERVAL).await;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_email_of_a_call_keeps_how_far_it_got_also_behind_one_that_was_refused() {
        for (text, mails) in [
            ("handed_over", vec![(0, false)]),
            ("accepted", vec![(0, true)]),
            ("accepted:0,1 1", vec![(0, true), (1, true)]),
            ("accepted:3 3", vec![(3, true)]),
            ("handed_over:0,3? 3", vec![(0, true), (3, false)]),
            ("handed_over:0?,1 1", vec![(0, false), (1, true)]),
        ] {
            let mails = Begun::from_iter(mails);
            assert_eq!(begun(Some(text)), mails, "{text}");
            assert_eq!(stored(&mails).as_deref(), Some(text));
        }
        assert_eq!(stored(&begun(None)), None);
        // As a former version stored them.
        assert_eq!(begun(Some("handed_over 2")), Begun::from([(0, true), (1, true), (2, false)]));
        assert_eq!(begun(Some("accepted 1")), Begun::from([(0, true), (1, true)]));
    }
}
