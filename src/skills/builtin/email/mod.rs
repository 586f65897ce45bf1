//! Mail: searching, reading, sorting, drafting and sending.

mod bounces;
mod compose;
mod sending;
mod sorting;

use adjutant_chat::Finding;
use adjutant_mail::{Address, FolderKind, Imap, Message, Query, Smtp};
use async_trait::async_trait;
use chrono::NaiveDate;
use serde_json::{Value, json};

pub(super) use compose::{MANY, blank, is_outside, writer};
pub(super) use sending::send_once;
pub(super) use sorting::{mark_back, move_back};

use super::{BuiltinSkill, CallContext, Effect, Preview, Resource, Services, contacts};
use crate::skills::{Approved, Failure, Output, SkillError};
use crate::store::Batch;
use crate::trust::{Act, Target};

domain! {
    "email", "../../../../skills/email.toml", EmailSkill {
        Send = "email.send",
        Reply = "email.reply",
        Draft = "email.draft",
        Search = "email.search",
        Read = "email.read",
        Status = "email.status",
        Mark = "email.mark",
        Move = "email.move",
    }
}

#[async_trait]
impl BuiltinSkill for EmailSkill {
    fn needs(&self) -> Resource {
        Resource::Mail
    }

    fn effect(&self, _: &Services) -> Effect {
        match self {
            Self::Send | Self::Reply => Effect::Phased,
            _ => Effect::Repeatable,
        }
    }

    fn act(&self) -> Option<Act> {
        match self {
            Self::Search | Self::Read | Self::Status => None,
            Self::Send | Self::Reply => Some(Act::Send),
            Self::Draft => Some(Act::Create),
            Self::Mark | Self::Move => Some(Act::Sort),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>, Failure> {
        match self {
            Self::Search | Self::Read | Self::Status => Ok(Vec::new()),
            Self::Send | Self::Draft => {
                contacts::recipients(call, &compose::letter(call).await?.recipients()).await
            }
            Self::Reply => {
                let targets = contacts::recipients(call, &compose::reply(call).await?.recipients()).await?;
                Ok(targets)
            }
            Self::Mark | Self::Move => {
                let mail = imap(call.services)?.read(message_id(call)).await?;
                Ok(vec![Target::Known(format!("{} {}", mail.subject, parties(&mail.from).join(" ")))])
            }
        }
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview, Failure> {
        match self {
            Self::Send => compose::preview(call, &compose::letter(call).await?),
            Self::Reply => compose::preview(call, &compose::reply(call).await?),
            _ => Ok(Preview::default()),
        }
    }

    async fn run(
        &self,
        call: &CallContext<'_>,
        approved: &Approved,
        _: &mut Batch,
    ) -> Result<Output, Failure> {
        match self {
            Self::Send => sending::send(call, compose::letter(call).await?, approved).await,
            Self::Reply => sending::send(call, compose::reply(call).await?, approved).await,
            Self::Draft => draft(call).await,
            Self::Search => search(call).await,
            Self::Read => read(call).await,
            Self::Status => status(call).await,
            Self::Mark => sorting::mark(call).await,
            Self::Move => sorting::move_to(call).await,
        }
    }
}

/// A mail account.
pub struct Mailbox {
    /// The sender.
    pub from: Address,
    /// Domains whose people count as internal, in small letters.
    pub internal_domains: Vec<String>,
    /// Whether our own address gets a copy of each mail.
    pub self_copy: bool,
    /// The server that takes mails.
    pub smtp: Smtp,
    /// The server that keeps them.
    pub imap: Option<Imap>,
}

impl Mailbox {
    /// Whether both servers let us in.
    pub(super) async fn check(&self) -> Vec<Finding> {
        let finding =
            |section: &str, works: &str, checked: Result<(), adjutant_mail::MailError>| match checked {
                Ok(()) => Finding::ok(works.to_owned()),
                Err(error) => {
                    let fix = format!("check [mail.{section}] host, port, tls, user, password and ca_file");
                    Finding::error(format!("{section}: {error}"), fix)
                }
            };
        let mut found = vec![finding("smtp", "mails can be sent", self.smtp.check().await)];
        found.push(match &self.imap {
            Some(imap) => finding("imap", "mails can be read", imap.check().await),
            None => Finding::warning(
                "there is no [mail.imap], so mails can't be read and sent ones aren't kept in Sent",
                "add [mail.imap] if that isn't intended",
            ),
        });
        found
    }
}

fn no_mailbox() -> SkillError {
    SkillError::not_found("no mailbox is configured. Set [mail] and [mail.imap] in config.toml")
}

fn imap(services: &Services) -> Result<&Imap, SkillError> {
    services.mail.as_ref().and_then(|mail| mail.imap.as_ref()).ok_or_else(no_mailbox)
}

/// Names and addresses.
fn parties(parties: &[Address]) -> Vec<String> {
    parties.iter().map(Address::to_string).collect()
}

async fn draft(call: &CallContext<'_>) -> Result<Output, Failure> {
    let draft = compose::letter(call).await?;
    let bytes = draft.unsent()?;
    let data = json!({"message_id": draft.message_id, "subject": draft.subject});
    let summary = match imap(call.services) {
        Ok(imap) => {
            // It looks for the Message-ID first, so the draft is never there twice.
            imap.append(FolderKind::Drafts, &bytes, true).await?;
            format!("“{}” is in your drafts", draft.subject)
        }
        Err(_) => {
            let path = compose::save_as_file(call, &bytes).await?;
            format!("There is no mailbox for drafts, so I saved “{}” as {}", draft.subject, path.display())
        }
    };
    Ok(Output::new(summary, data))
}

async fn search(call: &CallContext<'_>) -> Result<Output, Failure> {
    let said = |name: &str| call.text(name).map(str::to_owned);
    let query = Query {
        text: said("text"),
        from: said("from"),
        to: said("to"),
        subject: said("subject"),
        since: day(call, "since")?,
        before: day(call, "before")?,
        unread: call.flag("unread"),
        folder: said("folder"),
        limit: call.limit(),
    };
    let found = imap(call.services)?.search(&query).await?;
    let line = |one: &Message| {
        let date = one.date.map(|date| date.with_timezone(&call.zone()).format("%a %-d %b %Y, %H:%M: "));
        let date = date.map(|date| date.to_string()).unwrap_or_default();
        let from = one.from.first().map(|party| party.name.as_ref().unwrap_or(&party.address));
        let unread = if one.unread { " (unread)" } else { "" };
        format!("- {date}{} — {}{unread}", from.map_or("", String::as_str), one.subject)
    };
    let lines: Vec<String> = found.iter().map(line).collect();
    let summary = match found.len() {
        0 => "I found no such mail".to_owned(),
        1 => format!("1 mail:\n{}", lines[0]),
        many => format!("{many} mails, the newest first:\n{}", lines.join("\n")),
    };
    let item = |one: &Message| {
        with_reply_to(
            one,
            json!({
                "id": one.message_id.as_ref().unwrap_or(&one.id), "from": parties(&one.from), "to": parties(&one.to),
                "subject": one.subject, "date": one.date.map(|date| date.to_rfc3339()), "unread": one.unread,
                "folder": one.folder, "snippet": one.snippet(),
            }),
        )
    };
    let items: Vec<Value> = found.iter().map(item).collect();
    let untrusted = !items.is_empty();
    Ok(Output { untrusted, ..Output::new(summary, json!({"items": items, "count": items.len()})) })
}

fn message_id<'a>(call: &CallContext<'a>) -> &'a str {
    call.text("message_id").unwrap_or_default()
}

async fn read(call: &CallContext<'_>) -> Result<Output, Failure> {
    let letter = imap(call.services)?.read(message_id(call)).await?;
    let Message { subject, text, .. } = &letter;
    let files = letter.attachments.iter();
    let files: Vec<Value> =
        files.map(|file| json!({"name": file.name, "type": file.media_type, "bytes": file.size})).collect();
    let summary = format!("From {}: {subject}\n\n{text}", parties(&letter.from).join(", "));
    let data = json!({
        "id": letter.message_id.as_ref().unwrap_or(&letter.id), "from": parties(&letter.from),
        "to": parties(&letter.to), "cc": parties(&letter.cc), "subject": subject,
        "date": letter.date.map(|date| date.to_rfc3339()), "text": text, "attachments": files,
        "folder": letter.folder,
    });
    Ok(Output { untrusted: true, ..Output::new(summary, with_reply_to(&letter, data)) })
}

/// With the addresses that a reply goes to, if not to the sender.
fn with_reply_to(letter: &Message, mut data: Value) -> Value {
    let elsewhere = letter.reply_elsewhere();
    if !elsewhere.is_empty() {
        data["reply_to"] = json!(parties(elsewhere));
    }
    data
}

async fn status(call: &CallContext<'_>) -> Result<Output, Failure> {
    let (imap, id) = (imap(call.services)?, message_id(call));
    let bare = |message_id: &str| message_id.trim_matches(['<', '>']).to_lowercase();
    let bounces = imap.bounces(None, 0, 100).await?;
    let bounce = bounces.iter().find(|one| one.original.as_deref().is_some_and(|it| bare(it) == bare(id)));
    if let Some(bounce) = bounce {
        let line = |one: &adjutant_mail::FailedRecipient| {
            format!("{} ({} {})", one.recipient, one.status, one.diagnostic)
        };
        let lines: Vec<String> = bounce.failed.iter().map(line).collect();
        let summary = format!("It bounced: {}", lines.join("; "));
        return Ok(Output { untrusted: true, ..Output::new(summary, json!({"status": "bounced"})) });
    }
    let (status, summary) = match imap.find(id, &[FolderKind::Sent]).await? {
        Some(_) => ("sent", "It was sent, and hasn't bounced so far"),
        None => ("not found", "There is no such mail in Sent, and none bounced"),
    };
    Ok(Output::new(summary, json!({"status": status})))
}

fn day(call: &CallContext<'_>, name: &str) -> Result<Option<NaiveDate>, SkillError> {
    let Some(said) = call.text(name) else { return Ok(None) };
    let day = NaiveDate::parse_from_str(said.get(..10).unwrap_or(said), "%Y-%m-%d");
    day.map(Some)
        .map_err(|_| SkillError::params(format!("/{name}: \"{said}\" isn't a date; write 2026-11-27")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_goes_elsewhere_is_told() {
        let party = |address: &str| Address { name: None, address: address.to_owned() };
        let mut letter = Message { from: vec![party("a@b.test")], ..Message::default() };
        for (reply_to, told) in
            [("A@b.test", json!({"id": "1"})), ("e@v.test", json!({"id": "1", "reply_to": ["e@v.test"]}))]
        {
            letter.reply_to = vec![party(reply_to)];
            assert_eq!(with_reply_to(&letter, json!({"id": "1"})), told);
        }
    }
}
