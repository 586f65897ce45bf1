//! The mail's skills but for sending, and what a letter will be.

use std::path::PathBuf;

use adjutant_chat::Finding;
use adjutant_mail::{Attachment, Draft, FolderKind, Imap, Letter, Mark, Party, Query, Smtp, Summary};
use chrono::NaiveDate;
use serde_json::{Value, json};

use super::sending::message_id;
use super::{Look, Office, Trouble, Work, limit, params, text, texts};
use crate::clock::utc;
use crate::skills::{ErrorKind, Output, Risk, SkillError};

/// More recipients than this are many.
const MANY: usize = 5;

/// A mail account.
pub struct Mailbox {
    /// Who writes.
    pub from: Party,
    /// Domains whose people are of the house, in small letters.
    pub internal_domains: Vec<String>,
    /// Whether our own address gets a copy of each letter.
    pub self_copy: bool,
    /// The server that takes letters.
    pub smtp: Smtp,
    /// The server that keeps them.
    pub imap: Option<Imap>,
}

impl Mailbox {
    /// Whether both servers let us in.
    pub(super) async fn check(&self) -> Vec<Finding> {
        let of = |section: &str, what: &str, done: Result<(), adjutant_mail::Fault>| match done {
            Ok(()) => Finding::ok(what.to_owned()),
            Err(fault) => {
                let mend = format!("check [mail.{section}] host, port, tls, user, password and ca_file");
                Finding::error(format!("{section}: {fault}"), mend)
            }
        };
        let mut found = vec![of("smtp", "mails can be sent", self.smtp.check().await)];
        match &self.imap {
            Some(imap) => found.push(of("imap", "mails can be read", imap.check().await)),
            None => found.push(Finding::warning(
                "there is no [mail.imap], so mails can't be read and none is kept in Sent",
                "add [mail.imap] if that is not intended",
            )),
        }
        found
    }
}

impl Office {
    pub(super) async fn mail_call(&self, work: &Work<'_>, handler: &str) -> Result<Output, Trouble> {
        match handler {
            "email.send" | "email.reply" => self.send_letter(work, handler).await,
            "email.draft" => self.draft(work).await,
            "email.search" => self.search_letters(work).await,
            "email.read" => self.read_letter(work).await,
            "email.status" => self.letter_status(work).await,
            "email.mark" => self.mark_letter(work).await,
            "email.move" => self.move_letter(work).await,
            other => Err(SkillError::new(ErrorKind::NotFound, format!("there is no handler {other}")).into()),
        }
    }

    pub(super) fn no_mailbox() -> SkillError {
        let message = "no mailbox is configured: [mail] and [mail.imap] in the configuration say which";
        SkillError::new(ErrorKind::NotFound, message)
    }

    pub(super) fn imap(&self) -> Result<&Imap, SkillError> {
        self.mail.as_ref().and_then(|mail| mail.imap.as_ref()).ok_or_else(Self::no_mailbox)
    }

    /// Who writes: the mail account, or somebody without an address that anybody could answer to.
    pub(super) fn writer(&self, work: &Work<'_>) -> Party {
        let nobody =
            || Party { name: Some(work.scope.person.name.clone()), address: "nobody@localhost".into() };
        self.mail.as_ref().map_or_else(nobody, |mail| mail.from.clone())
    }

    /// A letter with nothing in it, the call's first or a later one.
    pub(super) fn blank(&self, work: &Work<'_>, number: usize) -> Draft {
        let from = self.writer(work);
        Draft {
            message_id: message_id(work.id, number, &from),
            from,
            to: Vec::new(),
            cc: Vec::new(),
            bcc: Vec::new(),
            subject: String::new(),
            body: String::new(),
            attachments: Vec::new(),
            invitation: None,
            in_reply_to: None,
            references: Vec::new(),
            date: utc(work.scope.store.now()).with_timezone(&work.scope.zone).fixed_offset(),
        }
    }

    /// The letter that a call writes.
    pub(super) async fn letter(&self, work: &Work<'_>, handler: &str) -> Result<Draft, Trouble> {
        let body = text(work.arguments, "body").unwrap_or_default();
        let mut draft = Draft {
            subject: text(work.arguments, "subject").unwrap_or_default().to_owned(),
            body: body.to_owned(),
            attachments: attachments(work.arguments),
            ..self.blank(work, 0)
        };
        if handler == "email.reply" {
            let id = text(work.arguments, "message_id").unwrap_or_default();
            let letter = self.imap()?.read(id).await?;
            let all = work.arguments.get("all").and_then(Value::as_bool).unwrap_or(false);
            let reply = letter.reply(&[&draft.from.address], all);
            (draft.to, draft.cc, draft.subject) = (reply.to, reply.cc, reply.subject);
            (draft.in_reply_to, draft.references) = (reply.in_reply_to, reply.references);
            draft.body = format!("{body}\n\n{}", reply.quote);
        } else {
            draft.to = self.parties(work, &texts(work.arguments, "to")).await?;
            draft.cc = self.parties(work, &texts(work.arguments, "cc")).await?;
            draft.bcc = self.parties(work, &texts(work.arguments, "bcc")).await?;
        }
        Ok(draft)
    }

    pub(super) async fn look_at_letter(&self, work: &Work<'_>, handler: &str) -> Result<Look, Trouble> {
        let draft = self.letter(work, handler).await?;
        // What can't be written is told before anybody is asked.
        draft.compose()?;
        let all = || draft.to.iter().chain(&draft.cc).chain(&draft.bcc);
        let is_high = all().count() > MANY || self.is_outside(all().map(|party| party.address.as_str()));
        let risk = if is_high { Risk::High } else { Risk::Medium };
        Ok(Look { risk, preview: Some(self.preview(&draft)) })
    }

    fn preview(&self, draft: &Draft) -> String {
        let verb = match self.mail.is_some() {
            true => "Send this mail",
            false => "Leave this mail as a file (no mail account is configured, so it is not sent)",
        };
        let files: Vec<&str> = draft.attachments.iter().map(|file| file.name.as_str()).collect();
        let mut text = format!("{verb}:");
        for (name, value) in [
            ("to", parties(&draft.to).join(", ")),
            ("cc", parties(&draft.cc).join(", ")),
            ("bcc", parties(&draft.bcc).join(", ")),
            ("subject", draft.subject.clone()),
            ("attachments", files.join(", ")),
        ] {
            if !value.is_empty() {
                text.push_str(&format!("\n- {name}: {value}"));
            }
        }
        text.push_str(&format!("\n- text:\n{}", crate::skills::risk::fenced(&draft.body)));
        for file in &draft.attachments {
            let content = String::from_utf8_lossy(&file.bytes);
            text.push_str(&format!("\n- {}:\n{}", file.name, crate::skills::risk::fenced(&content)));
        }
        text
    }

    /// Whether anybody of these is not of the house.
    pub(super) fn is_outside<'a>(&self, mut addresses: impl Iterator<Item = &'a str>) -> bool {
        addresses.any(|address| {
            let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain).to_lowercase();
            let is_inside = self.mail.as_ref().is_some_and(|mail| {
                mail.internal_domains.contains(&domain) || mail.from.address.eq_ignore_ascii_case(address)
            });
            !is_inside
        })
    }

    async fn draft(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let draft = self.letter(work, "email.draft").await?;
        let bytes = draft.unsent()?;
        let data = json!({"message_id": draft.message_id, "subject": draft.subject});
        let summary = match self.imap() {
            Ok(imap) => {
                // Looked for by its Message-ID first, so that it is never there twice.
                imap.append(FolderKind::Drafts, &bytes, true).await?;
                format!("“{}” is in your drafts", draft.subject)
            }
            Err(_) => {
                let path = self.leave(work, &bytes).await?;
                format!("There is no mailbox for drafts, so “{}” lies in {}", draft.subject, path.display())
            }
        };
        Ok(Output { summary, data, untrusted: false })
    }

    /// Leaves a letter as a file, whose name the execution fixes.
    pub(super) async fn leave(&self, work: &Work<'_>, bytes: &[u8]) -> Result<PathBuf, Trouble> {
        let path = self.outgoing.join(format!("{}.eml", work.id));
        let written = async {
            tokio::fs::create_dir_all(&self.outgoing).await?;
            tokio::fs::write(&path, bytes).await
        };
        written.await.map_err(|error| {
            let message = format!("the mail could not be written to {}: {error}", path.display());
            SkillError::new(ErrorKind::Tool, message)
        })?;
        Ok(path)
    }

    async fn search_letters(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let said = |name: &str| text(work.arguments, name).map(str::to_owned);
        let query = Query {
            text: said("text"),
            from: said("from"),
            to: said("to"),
            subject: said("subject"),
            since: day(work.arguments, "since")?,
            before: day(work.arguments, "before")?,
            unread: work.arguments.get("unread").and_then(Value::as_bool).unwrap_or(false),
            folder: said("folder"),
            limit: limit(work.arguments),
        };
        let found = self.imap()?.search(&query).await?;
        let zone = work.scope.zone;
        let line = |one: &Summary| {
            let when =
                one.date.map(|date| date.with_timezone(&zone).format("%a %-d %b %Y, %H:%M: ").to_string());
            let from =
                one.from.first().map(|party| party.name.clone().unwrap_or_else(|| party.address.clone()));
            let mark = if one.unread { " (unread)" } else { "" };
            format!("- {}{} — {}{mark}", when.unwrap_or_default(), from.unwrap_or_default(), one.subject)
        };
        let lines: Vec<String> = found.iter().map(line).collect();
        let summary = match found.len() {
            0 => "No such mail".to_owned(),
            1 => format!("1 mail:\n{}", lines[0]),
            many => format!("{many} mails, the newest first:\n{}", lines.join("\n")),
        };
        let item = |one: &Summary| {
            json!({
                "id": one.message_id.as_ref().unwrap_or(&one.id), "from": parties(&one.from), "to": parties(&one.to),
                "subject": one.subject, "date": one.date.map(|date| date.to_rfc3339()), "unread": one.unread,
                "folder": one.folder, "snippet": one.snippet,
            })
        };
        let items: Vec<Value> = found.iter().map(item).collect();
        let untrusted = !items.is_empty();
        Ok(Output { summary, data: json!({"items": items, "count": items.len()}), untrusted })
    }

    async fn read_letter(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let letter = self.imap()?.read(text(work.arguments, "message_id").unwrap_or_default()).await?;
        let Letter { subject, text, .. } = &letter;
        let files: Vec<Value> = letter
            .attachments
            .iter()
            .map(|file| json!({"name": file.name, "type": file.media_type, "bytes": file.size}))
            .collect();
        let summary = format!("From {}: {subject}\n\n{text}", parties(&letter.from).join(", "));
        let data = json!({
            "id": letter.message_id.as_ref().unwrap_or(&letter.id), "from": parties(&letter.from),
            "to": parties(&letter.to), "cc": parties(&letter.cc), "subject": subject,
            "date": letter.date.map(|date| date.to_rfc3339()), "text": text, "attachments": files,
            "folder": letter.folder,
        });
        Ok(Output { summary, data, untrusted: true })
    }

    async fn letter_status(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let imap = self.imap()?;
        let id = text(work.arguments, "message_id").unwrap_or_default();
        let bare = |id: &str| id.trim_matches(['<', '>']).to_lowercase();
        let bounces = imap.bounces(None, 0, 100).await?;
        let back = bounces.iter().find(|one| one.original.as_deref().is_some_and(|it| bare(it) == bare(id)));
        if let Some(bounce) = back {
            let line = |one: &adjutant_mail::Failed| {
                format!("{} ({} {})", one.recipient, one.status, one.diagnostic)
            };
            let lines: Vec<String> = bounce.failed.iter().map(line).collect();
            let summary = format!("It came back: {}", lines.join("; "));
            return Ok(Output { summary, data: json!({"status": "bounced"}), untrusted: true });
        }
        let sent = imap.find(id, &[FolderKind::Sent]).await?;
        let (status, summary) = match sent {
            Some(_) => ("sent", "It was sent, and did not come back so far"),
            None => ("not found", "There is no such mail in Sent, and none came back"),
        };
        Ok(Output { summary: summary.into(), data: json!({"status": status}), untrusted: false })
    }

    async fn mark_letter(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let word = text(work.arguments, "as").unwrap_or_default();
        let mark = match word {
            "read" => Mark::Read,
            "unread" => Mark::Unread,
            "flagged" => Mark::Flagged,
            _ => Mark::Unflagged,
        };
        self.imap()?.mark(text(work.arguments, "message_id").unwrap_or_default(), mark).await?;
        Ok(Output { summary: format!("Marked as {word}"), ..Output::default() })
    }

    async fn move_letter(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let id = text(work.arguments, "message_id").unwrap_or_default();
        let folder = text(work.arguments, "folder").unwrap_or_default();
        let now = self.imap()?.move_to(id, folder).await?;
        let data = now.map_or(Value::Null, |found| json!({"id": found.id, "folder": found.folder}));
        Ok(Output { summary: format!("Moved to {folder}"), data, untrusted: false })
    }
}

fn day(arguments: &Value, name: &str) -> Result<Option<NaiveDate>, SkillError> {
    let Some(said) = text(arguments, name) else { return Ok(None) };
    let day = NaiveDate::parse_from_str(said.get(..10).unwrap_or(said), "%Y-%m-%d");
    day.map(Some).map_err(|_| params(format!("/{name}: \"{said}\" is no date; write 2026-11-27")))
}

fn attachments(arguments: &Value) -> Vec<Attachment> {
    let files = arguments.get("attachments").and_then(Value::as_array).into_iter().flatten();
    let file = |file: &Value| {
        let name = text(file, "name").unwrap_or("file.txt").to_owned();
        let media_type = match name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).as_deref() {
            Some("csv") => "text/csv",
            Some("json") => "application/json",
            Some("html") => "text/html",
            Some("md") => "text/markdown",
            Some("ics") => "text/calendar",
            _ => "text/plain",
        };
        let bytes = file.get("text").and_then(Value::as_str).unwrap_or_default().as_bytes().to_vec();
        Attachment { name, media_type: media_type.to_owned(), bytes }
    };
    files.map(file).collect()
}

/// Names and addresses.
pub(super) fn parties(parties: &[Party]) -> Vec<String> {
    parties.iter().map(Party::to_string).collect()
}
