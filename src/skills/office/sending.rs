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
//! Race accepted: a crash between the server's yes and our commit of it is `handed_over`.

use std::time::Duration;

use adjutant_dav::{Attendee, Series};
use adjutant_mail::{Composed, FolderKind, Party};
use serde_json::json;

use super::mail::Mailbox;
use super::{Office, Trouble, Work};
use crate::journal::fail_point;
use crate::skills::{ErrorKind, Output, SkillError};
use crate::store::executions;
use crate::wording;

/// So long a letter that may have been sent is looked for: it has to arrive first.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_secs(3);

const HANDED_OVER: &str = "handed_over";
const ACCEPTED: &str = "accepted";

/// The Message-ID of what an execution writes.
pub(super) fn message_id(execution: &str, from: &Party) -> String {
    let domain = from.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
    format!("<{execution}@{domain}>")
}

impl Office {
    pub(super) async fn send_letter(&self, work: &Work<'_>, handler: &str) -> Result<Output, Trouble> {
        let mut draft = self.letter(work, handler).await?;
        let recipients: Vec<String> =
            draft.to.iter().chain(&draft.cc).chain(&draft.bcc).map(Party::to_string).collect();
        let data = json!({"message_id": draft.message_id, "to": recipients, "subject": draft.subject});
        let Some(mail) = &self.mail else {
            let path = self.leave(work, &draft.compose()?.bytes).await?;
            let summary = format!(
                "Not sent, because no mail account is configured: the mail “{}” to {} lies in {}",
                draft.subject,
                recipients.join(", "),
                path.display()
            );
            return Ok(Output { summary, data, untrusted: false });
        };
        if mail.self_copy {
            draft.bcc.push(mail.from.clone());
        }
        let filed = self.send_once(work, mail, &draft.message_id, &draft.compose()?).await?;
        let summary = format!("Sent “{}” to {}{filed}", draft.subject, recipients.join(", "));
        Ok(Output { summary, data, untrusted: false })
    }

    /// Sends what was composed unless it was sent before. Returns what is to be said of its copy in Sent.
    async fn send_once(
        &self,
        work: &Work<'_>,
        mail: &Mailbox,
        message_id: &str,
        letter: &Composed,
    ) -> Result<String, Trouble> {
        let phase = executions::phase(&work.scope.store, work.id).await?;
        match phase.as_deref() {
            Some(ACCEPTED) => {}
            Some(HANDED_OVER) => match was_sent(mail, message_id).await {
                true => set_phase(work, Some(ACCEPTED)).await?,
                false => return Err(unknown().into()),
            },
            _ => self.hand_over(work, mail, message_id, letter).await?,
        }
        fail_point("mail-accepted");
        Ok(file(mail, letter).await)
    }

    async fn hand_over(
        &self,
        work: &Work<'_>,
        mail: &Mailbox,
        message_id: &str,
        letter: &Composed,
    ) -> Result<(), Trouble> {
        let before_data = async {
            let committed = set_phase(work, Some(HANDED_OVER)).await;
            fail_point("mail-handed-over");
            match committed {
                Ok(()) if work.scope.lease.pulse.is_sure() => Ok(()),
                Ok(()) => Err("another process may take this over".to_owned()),
                Err(_) => Err("the journal could not be written".to_owned()),
            }
        };
        match mail.smtp.send(&letter.envelope, &letter.bytes, before_data).await {
            Ok(_) => {
                fail_point("mail-sent");
                set_phase(work, Some(ACCEPTED)).await
            }
            Err(fault) if fault.may_have_happened => match was_sent(mail, message_id).await {
                true => set_phase(work, Some(ACCEPTED)).await,
                false => Err(unknown().into()),
            },
            Err(fault) => {
                // It surely was not sent, so another try may begin afresh.
                set_phase(work, None).await?;
                Err(fault.into())
            }
        }
    }

    /// Invites those who are not told by the calendar's server. Returns what is to be said of it.
    pub(super) async fn invite(
        &self,
        work: &Work<'_>,
        series: &Series,
        attendees: &[Attendee],
        calendar: Option<&str>,
    ) -> Result<String, Trouble> {
        if attendees.is_empty() {
            return Ok(String::new());
        }
        let names = attendees.iter().map(|one| one.address.clone()).collect::<Vec<_>>().join(", ");
        if let Some(calendars) = &self.calendar
            && calendars.sends_invitations(calendar).await?
        {
            return Ok(format!("; the calendar's server invites {names}"));
        }
        let Some(mail) = &self.mail else {
            return Ok(format!("; nobody was told ({names}), because no mail account is configured"));
        };
        if self.admit(work.scope, "email.send").await.is_err() {
            return Ok(format!("; nobody was told ({names}), because the mail account is my owners'"));
        }
        let occasion = series.occasion()?;
        let when = super::event::spoken(&occasion.start, &occasion.end, work.scope.zone);
        let to = attendees.iter().map(|one| Party {
            name: Some(one.name.clone()).filter(|name| !name.is_empty()),
            address: one.address.clone(),
        });
        let draft = adjutant_mail::Draft {
            from: mail.from.clone(),
            to: to.collect(),
            cc: Vec::new(),
            bcc: if mail.self_copy { vec![mail.from.clone()] } else { Vec::new() },
            subject: format!("Invitation: {}", occasion.title),
            body: format!("{}\n\n{when} ({})\n\n{}", occasion.title, work.scope.zone, occasion.notes),
            attachments: Vec::new(),
            invitation: Some(series.request()?),
            in_reply_to: None,
            references: Vec::new(),
            message_id: message_id(work.id, &mail.from),
            date: crate::clock::utc(work.scope.store.now()).with_timezone(&work.scope.zone).fixed_offset(),
        };
        match self.send_once(work, mail, &draft.message_id, &draft.compose()?).await {
            Ok(_) => Ok(format!("; {names} invited by mail")),
            // The event is there all the same, which is what the call was for.
            Err(Trouble::Skill(error)) if error.unknown => {
                Ok(format!("; whether the invitation reached {names} is not known, so it was not sent again"))
            }
            Err(Trouble::Skill(error)) => Ok(format!("; {names} could not be invited: {error}")),
            Err(error) => Err(error),
        }
    }
}

fn unknown() -> SkillError {
    SkillError { unknown: true, ..SkillError::new(ErrorKind::Tool, wording::UNKNOWN_OUTCOME) }
}

async fn set_phase(work: &Work<'_>, phase: Option<&'static str>) -> Result<(), Trouble> {
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
