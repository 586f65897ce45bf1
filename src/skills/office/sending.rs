//! Sending a letter, once.
//!
//! Wanted: never two, and never none without a word. The letter's Message-ID is made from the execution. The row's
//! phase says how far it came:
//!
//! - none: nothing was handed over; it is sent.
//! - `handed_over`, committed before the content is: it is looked for, by its Message-ID, in Sent (some servers file
//!   what they send) and, with `self_copy`, in the inbox, for a minute. Found, it was sent; else nobody can know, and
//!   it is `unknown`, which is told and never repeated.
//! - `accepted`: the server has it. It is only filed in Sent, where it is looked for first.
//!
//! A call that writes several letters says with the phase which of them is meant.
//!
//! Race accepted: a crash between the server's yes and our commit of it is `handed_over`.

use std::time::Duration;

use adjutant_mail::{Composed, Draft, FolderKind, Party};
use serde_json::json;

use super::mail::{Mailbox, parties};
use super::{Office, Trouble, Work};
use crate::domain::ExecutionId;
use crate::journal::fail_point;
use crate::skills::{ErrorKind, Output, SkillError};
use crate::store::executions;
use crate::wording;

/// So long a letter that may have been sent is looked for: it has to arrive first.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_secs(3);

const HANDED_OVER: &str = "handed_over";
const ACCEPTED: &str = "accepted";

/// The Message-ID of what an execution writes, first or later.
pub(super) fn message_id(execution: &ExecutionId, number: usize, from: &Party) -> String {
    let domain = from.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
    match number {
        0 => format!("<{execution}@{domain}>"),
        _ => format!("<{execution}.{number}@{domain}>"),
    }
}

/// The execution that wrote a letter of ours.
pub(super) fn written_by(message_id: &str) -> ExecutionId {
    message_id.trim_start_matches('<').split(['@', '.']).next().unwrap_or_default().into()
}

impl Office {
    pub(super) async fn send_letter(&self, work: &Work<'_>, handler: &str) -> Result<Output, Trouble> {
        let draft = self.letter(work, handler).await?;
        let (subject, message_id) = (draft.subject.clone(), draft.message_id.clone());
        let recipients = [&draft.to, &draft.cc, &draft.bcc].map(|list| parties(list)).concat();
        let to = recipients.join(", ");
        let data = json!({"message_id": message_id, "to": recipients, "subject": subject});
        let summary = match &self.mail {
            Some(_) => {
                let filed = self.send_once(work, draft, 0).await?;
                format!("Sent “{subject}” to {to}{filed}")
            }
            None => {
                let path = self.leave(work, &draft.compose()?.bytes).await?;
                let why = "Not sent, because no mail account is configured";
                format!("{why}: the mail “{subject}” to {to} lies in {}", path.display())
            }
        };
        Ok(Output { summary, data, untrusted: false })
    }

    /// Sends a letter, the call's first or a later one, unless it was sent before. Returns what is to be said of its
    /// copy in Sent.
    pub(super) async fn send_once(
        &self,
        work: &Work<'_>,
        mut draft: Draft,
        number: usize,
    ) -> Result<String, Trouble> {
        let Some(mail) = &self.mail else { return Err(Self::no_mailbox().into()) };
        if mail.self_copy {
            draft.bcc.push(mail.from.clone());
        }
        let letter = draft.compose()?;
        let sending = Sending { work, mail, number, message_id: &draft.message_id };
        sending.go_on(&letter).await?;
        fail_point("mail-accepted");
        Ok(file(mail, &letter).await)
    }
}

/// A letter on its way.
struct Sending<'a> {
    work: &'a Work<'a>,
    mail: &'a Mailbox,
    number: usize,
    message_id: &'a str,
}

impl Sending<'_> {
    async fn go_on(&self, letter: &Composed) -> Result<(), Trouble> {
        let phase = executions::phase(&self.work.scope.store, self.work.id).await?;
        match self.state(phase.as_deref()) {
            Some(ACCEPTED) => Ok(()),
            Some(HANDED_OVER) => self.settle().await,
            _ => self.hand_over(letter, phase.as_deref()).await,
        }
    }

    /// How far this letter has come, by the row's phase: `handed_over 1` is of the second letter, and says that the
    /// first was accepted.
    fn state(&self, phase: Option<&str>) -> Option<&'static str> {
        let mut words = phase?.split(' ');
        let state = words.next();
        let number = words.next().and_then(|number| number.parse::<usize>().ok()).unwrap_or_default();
        match number.cmp(&self.number) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal if state == Some(HANDED_OVER) => Some(HANDED_OVER),
            _ => Some(ACCEPTED),
        }
    }

    async fn set(&self, state: &str) -> Result<(), Trouble> {
        let phase = if self.number == 0 { state.to_owned() } else { format!("{state} {}", self.number) };
        set_phase(self.work, Some(&phase)).await
    }

    /// Finds out what became of a letter that may have been sent.
    async fn settle(&self) -> Result<(), Trouble> {
        match was_sent(self.mail, self.message_id).await {
            true => self.set(ACCEPTED).await,
            false => Err(unknown().into()),
        }
    }

    async fn hand_over(&self, letter: &Composed, before: Option<&str>) -> Result<(), Trouble> {
        let before_data = async {
            let committed = self.set(HANDED_OVER).await;
            fail_point("mail-handed-over");
            match committed {
                Ok(()) if self.work.scope.lease.pulse.is_sure() => Ok(()),
                Ok(()) => Err("another process may take this over".to_owned()),
                Err(_) => Err("the journal could not be written".to_owned()),
            }
        };
        match self.mail.smtp.send(&letter.envelope, &letter.bytes, before_data).await {
            Ok(_) => {
                fail_point("mail-sent");
                self.set(ACCEPTED).await
            }
            Err(fault) if fault.may_have_happened => self.settle().await,
            Err(fault) => {
                // It surely was not sent, so another try may begin afresh.
                set_phase(self.work, before).await?;
                Err(fault.into())
            }
        }
    }
}

fn unknown() -> SkillError {
    SkillError { unknown: true, ..SkillError::new(ErrorKind::Tool, wording::UNKNOWN_OUTCOME) }
}

async fn set_phase(work: &Work<'_>, phase: Option<&str>) -> Result<(), Trouble> {
    let mut batch = work.scope.batch();
    executions::set_phase(&mut batch, work.id, phase);
    work.scope.store.write(batch).await?;
    Ok(())
}

/// Whether a letter that may have been sent is anywhere that only sending could have put it.
async fn was_sent(mail: &Mailbox, message_id: &str) -> bool {
    let Some(imap) = &mail.imap else { return false };
    let mut folders = vec![FolderKind::Sent];
    if mail.self_copy {
        folders.push(FolderKind::Inbox);
    }
    for look in 0..LOOKS {
        if let Ok(Some(_)) = imap.find(message_id, &folders).await {
            return true;
        }
        // Without a copy to ourselves nothing will come that is not there by now.
        if !mail.self_copy && look >= 1 {
            return false;
        }
        tokio::time::sleep(PAUSE).await;
    }
    false
}

/// Puts a copy into Sent; that it was sent does not depend on it.
async fn file(mail: &Mailbox, letter: &Composed) -> String {
    let Some(imap) = &mail.imap else { return String::new() };
    match imap.append(FolderKind::Sent, &letter.bytes, true).await {
        Ok(_) => String::new(),
        Err(fault) => format!(" (no copy could be put into Sent: {fault})"),
    }
}
