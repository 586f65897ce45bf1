//! Finding and reading mails.

use adjutant_l10n::email;
use adjutant_mail::{AttachmentInfo, Message, Query};
use adjutant_types::{FromCall, Own, ours};
use chrono::NaiveDate;
use serde_json::{Value, json};

use super::{imap, letter, message_id, parties};
use crate::builtin::{CallContext, under};
use crate::{ErrorKind, Failure, Output, SkillError};

/// The texts of several mails share this many bytes.
const TEXTS: usize = 14_000;
/// The most mails whose texts are read at once.
const MAX_READ: usize = 20;

pub(super) async fn search(call: &CallContext<'_>) -> Result<Output, Failure> {
    let argument = |name: &str| call.text(name).map(str::to_owned);
    let with_text = call.flag("with_text");
    let query = Query {
        text: argument("text"),
        from: argument("from"),
        to: argument("to"),
        subject: argument("subject"),
        since: day(call, "since")?,
        before: day(call, "before")?,
        unread: call.flag("unread"),
        folder: argument("folder"),
        limit: if with_text { call.limit().min(MAX_READ) } else { call.limit() },
    };
    let found = imap(call.services)?.search(&query).await?;
    let lines: Vec<String> = found.iter().map(|mail| line(call, mail)).collect();
    let summary = match found.len() {
        0 => email::found_nothing(),
        count => under(email::found(count), lines),
    };
    let mut items: Vec<Value> = found.iter().map(|mail| item(call, mail)).collect();
    for (item, mail) in items.iter_mut().zip(&found).filter(|_| with_text) {
        match letter(call, &mail.id).await {
            Ok(whole) => {
                item["text"] = json!(shared(&whole.text, found.len()));
                item["attachments"] = json!(names(&whole.attachments));
            }
            // One that is gone or set aside doesn't hide the others.
            Err(Failure::Skill(error)) if is_of_one(&error) => item["text"] = json!(error.message),
            Err(error) => return Err(error),
        }
    }
    for (item, mail) in items.iter_mut().zip(&found).filter(|_| !with_text) {
        item["snippet"] = json!(mail.snippet());
    }
    let untrusted = !items.is_empty();
    Ok(Output::outside_if(untrusted, summary, json!({"items": items, "count": items.len()})))
}

/// One mail in a line: when, from whom, about what.
fn line(call: &CallContext<'_>, mail: &Message) -> String {
    let date = mail.date.map(|date| date.with_timezone(&call.zone()).format("%a %-d %b %Y, %H:%M: "));
    let date = date.map(|date| date.to_string()).unwrap_or_default();
    let from = mail.from.first().map(|party| party.name.as_ref().unwrap_or(&party.address));
    let line = format!("- {date}{} — {}", from.map_or("", String::as_str), mail.subject);
    if mail.unread { email::unread_line(line) } else { line }
}

fn item(call: &CallContext<'_>, mail: &Message) -> Value {
    let date = mail.date.map(|date| date.with_timezone(&call.zone()).format("%Y-%m-%dT%H:%M").to_string());
    let mut item = json!({
        "id": mail.message_id.as_ref().unwrap_or(&mail.id), "from": parties(&mail.from),
        "to": parties(&mail.to), "cc": parties(&mail.cc), "subject": mail.subject, "date": date,
        "unread": mail.unread, "folder": mail.folder,
    });
    // The addresses that a reply goes to, if not to the sender.
    let elsewhere = mail.reply_elsewhere();
    if !elsewhere.is_empty() {
        item["reply_to"] = json!(parties(elsewhere));
    }
    item
}

/// A text's share of [`TEXTS`].
fn shared(text: &str, mails: usize) -> String {
    let max = TEXTS / mails.max(1);
    if text.len() <= max {
        return text.trim().to_owned();
    }
    let head = &text[..text.floor_char_boundary(max)];
    format!("{}… [cut: {} more bytes; email.read has them]", head.trim(), text.len() - head.len())
}

fn names(files: &[AttachmentInfo]) -> Vec<String> {
    let name = |(number, file): (usize, &AttachmentInfo)| {
        let name = file.name.clone().unwrap_or_else(email::unnamed_attachment);
        email::attachment(number, name, &file.media_type, file.size)
    };
    (1..).zip(files).map(name).collect()
}

pub(super) async fn read(call: &CallContext<'_>) -> Result<Output, Failure> {
    let several = call.texts("message_ids");
    if several.is_empty() && call.text("message_id").is_none() {
        return Err(SkillError::params(ours!(email::which_email)).into());
    }
    if !several.is_empty() {
        return read_several(call, &several).await;
    }
    let letter = letter(call, message_id(call)).await?;
    let from = parties(&letter.from).join(", ");
    let to = [letter.to.as_slice(), &letter.cc].concat();
    let mut head = match to.is_empty() {
        true => email::from(from),
        false => email::from_to(from, parties(&to).join(", ")),
    };
    if let Some(date) = letter.date {
        head.push_str(&date.with_timezone(&call.zone()).format(", %a %-d %b %Y, %H:%M").to_string());
    }
    let files = names(&letter.attachments);
    let attached =
        if files.is_empty() { String::new() } else { format!("\n{}", email::attachments(files.join(", "))) };
    let summary = format!("{head}: {}{attached}\n\n{}", letter.subject, letter.text);
    let mut data = item(call, &letter);
    data["text"] = json!(letter.text);
    data["attachments"] = json!(files);
    Ok(Output::new(summary, data))
}

/// Whether an error concerns one mail alone.
fn is_of_one(error: &SkillError) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::Params)
}

async fn read_several(call: &CallContext<'_>, ids: &[&str]) -> Result<Output, Failure> {
    let (mut lines, mut items, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        match letter(call, id).await {
            Ok(letter) => {
                lines.push(line(call, &letter));
                let mut item = item(call, &letter);
                item["text"] = json!(shared(&letter.text, ids.len()));
                item["attachments"] = json!(names(&letter.attachments));
                items.push(item);
            }
            Err(Failure::Skill(error)) if is_of_one(&error) => missing.push(*id),
            Err(error) => return Err(error),
        }
    }
    if items.is_empty() {
        return Err(SkillError::not_found(ours!(email::no_such_emails)).into());
    }
    let mut summary = under(email::read_several(ids.len(), items.len()), lines);
    if !missing.is_empty() {
        summary.push_str(&format!("\n{}", email::not_found(missing.join(", "))));
    }
    let data = json!({"items": items, "count": items.len(), "not_found": missing});
    Ok(Output::new(summary, data))
}

fn day(call: &CallContext<'_>, name: &str) -> Result<Option<NaiveDate>, SkillError> {
    let Some(text) = call.text(name) else { return Ok(None) };
    let day = NaiveDate::parse_from_str(text.get(..10).unwrap_or(text), "%Y-%m-%d");
    day.map(Some).map_err(|_| SkillError::params(ours!(email::not_a_date, Own(name), FromCall(text))))
}
