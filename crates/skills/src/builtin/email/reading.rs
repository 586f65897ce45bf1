//! Finding and reading mails.

use std::collections::HashSet;

use adjutant_l10n::email;
use adjutant_mail::{AttachmentInfo, Found, Message, Query, unquoted};
use adjutant_types::clock::local_to_utc;
use adjutant_types::clock::when::When;
use adjutant_types::{FromCall, Own, ours};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{imap, letter, parties, writer};
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
        since: time(call, "since")?,
        before: time(call, "before")?,
        unread: call.flag("unread"),
        unanswered: call.flag("unanswered"),
        thread: Vec::new(),
        folder: argument("folder"),
        limit: if with_text { call.limit().min(MAX_READ) } else { call.limit() },
    };
    let found = imap(call.services)?.search(&query).await?;
    let summary = match found.messages.is_empty() {
        true => email::found_nothing(),
        false => under(heading(&found, with_text), found.messages.iter().map(|mail| line(call, mail))),
    };
    let mut items: Vec<Value> = found.messages.iter().map(|mail| item(call, mail)).collect();
    let read = if with_text { items.len().min(MAX_READ) } else { 0 };
    for (at, (item, mail)) in items.iter_mut().zip(&found.messages).enumerate() {
        match at < read {
            true => add_text_of(call, (item, mail), TEXTS / read).await?,
            false => item["snippet"] = json!(mail.snippet()),
        }
    }
    let data = json!({"count": items.len(), "items": items, "total": found.total});
    Ok(Output::outside_if(!found.messages.is_empty(), summary, data))
}

/// A time that bounds a search; of a day its beginning.
fn time(call: &CallContext<'_>, name: &str) -> Result<Option<DateTime<Utc>>, SkillError> {
    let when = call.text(name).map(|text| When::parse(text, call.zone())).transpose();
    let when = when.map_err(|message| SkillError::params(ours!("/{}: {}", Own(name), FromCall(message))))?;
    Ok(when.map(|when| local_to_utc(when.local(), call.zone())))
}

/// How many mails there are, as far as that is known.
fn total(found: &Found) -> String {
    if found.is_exact { found.total.to_string() } else { email::at_least(found.total) }
}

fn heading(found: &Found, with_text: bool) -> String {
    match found.messages.len() {
        shown if found.is_exact && found.total <= shown => email::found(shown),
        shown if with_text => email::found_part_with_texts(shown, total(found)),
        shown => email::found_part(shown, total(found)),
    }
}

async fn add_text_of(
    call: &CallContext<'_>,
    (item, mail): (&mut Value, &Message),
    share: usize,
) -> Result<(), Failure> {
    match letter(call, &mail.id).await {
        Ok(letter) => add_text(item, &letter, share),
        // One that is gone or set aside doesn't hide the others.
        Err(Failure::Skill(error)) if is_of_one(&error) => item["text"] = json!(error.message.whole()),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn add_text(item: &mut Value, letter: &Message, share: usize) {
    let text = match unquoted(&letter.text) {
        (text, quoted @ 1..) if letter.in_reply_to.is_some() => format!("{text}\n{}", email::quoted(quoted)),
        // What was forwarded is no repetition.
        _ => letter.text.clone(),
    };
    item["text"] = json!(shared(&text, share));
    item["attachments"] = json!(names(&letter.attachments));
}

/// One mail in a line: when, from whom, about what.
fn line(call: &CallContext<'_>, mail: &Message) -> String {
    let date = mail.date.map(|date| date.with_timezone(&call.zone()).format("%a %-d %b %Y, %H:%M: "));
    let date = date.map(|date| date.to_string()).unwrap_or_default();
    let from = mail.from.first().map(|party| party.name.as_ref().unwrap_or(&party.address));
    let line = format!("- {date}{} — {}", from.map_or("", String::as_str), mail.subject);
    let line = if mail.unread { email::unread_line(line) } else { line };
    let line = if mail.answered { email::answered_line(line) } else { line };
    if mail.is_sent { email::sent_line(line) } else { line }
}

fn item(call: &CallContext<'_>, mail: &Message) -> Value {
    let date = mail.date.map(|date| date.with_timezone(&call.zone()).format("%Y-%m-%dT%H:%M").to_string());
    let mut item = json!({
        "id": mail.message_id.as_ref().unwrap_or(&mail.id), "from": parties(&mail.from),
        "cc": parties(&mail.cc), "subject": mail.subject, "date": date,
        "unread": mail.unread, "answered": mail.answered, "folder": mail.folder,
    });
    // That it's to the person alone goes without saying.
    let own = writer(call).address;
    if !mail.to.iter().all(|party| party.address.eq_ignore_ascii_case(&own)) {
        item["to"] = json!(parties(&mail.to));
    }
    if mail.is_sent {
        item["sent"] = json!(true);
    }
    // The addresses that a reply goes to, if not to the sender.
    let elsewhere = mail.reply_elsewhere();
    if !elsewhere.is_empty() {
        item["reply_to"] = json!(parties(elsewhere));
    }
    item
}

/// At most so many bytes of a text.
fn shared(text: &str, max: usize) -> String {
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
    let Some(one) = call.text("message_id").filter(|_| several.is_empty()) else {
        return read_several(call, &several).await;
    };
    let letter = letter(call, one).await?;
    if call.flag("thread") && letter.message_id.is_some() {
        return read_thread(call, letter).await;
    }
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
    if ids.is_empty() {
        return Err(SkillError::params(ours!(email::which_email)).into());
    }
    let (mut lines, mut items, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        match letter(call, id).await {
            Ok(letter) => {
                lines.push(line(call, &letter));
                let mut item = item(call, &letter);
                add_text(&mut item, &letter, TEXTS / ids.len());
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

/// The mails that a mail answers, and those that answer it: of many the last ones.
async fn read_thread(call: &CallContext<'_>, letter: Message) -> Result<Output, Failure> {
    let root = letter.references.first().or(letter.in_reply_to.as_ref());
    let mut ids: Vec<String> = root.into_iter().chain(&letter.message_id).cloned().collect();
    ids.dedup();
    let query = Query { thread: ids, limit: MAX_READ, ..Query::default() };
    let mut found = imap(call.services)?.search(&query).await?;
    let is_cut = found.total > found.messages.len();
    // It may be in a folder that isn't searched; and a mail may be in several.
    found.messages.push(letter);
    let mut known = HashSet::new();
    found.messages.retain(|mail| known.insert(mail.message_id.clone().unwrap_or_else(|| mail.id.clone())));
    found.messages.sort_by_key(|mail| mail.date);
    if !is_cut {
        found.total = found.messages.len();
    }
    let mails = found.messages.split_off(found.messages.len().saturating_sub(MAX_READ));
    let mut items = Vec::new();
    for mail in &mails {
        let mut item = item(call, mail);
        add_text_of(call, (&mut item, mail), TEXTS / mails.len()).await?;
        items.push(item);
    }
    let heading = match mails.len() {
        all if found.is_exact && found.total <= all => email::thread(all),
        last => email::thread_part(last, total(&found)),
    };
    let summary = under(heading, mails.iter().map(|mail| line(call, mail)));
    Ok(Output::new(summary, json!({"count": items.len(), "items": items, "total": found.total})))
}
