//! Finding and reading mails.

use std::cmp::Reverse;
use std::collections::HashSet;

use adjutant_l10n::email;
use adjutant_mail::{Address, AttachmentInfo, Found, Message, Query, unquoted};
use adjutant_types::clock::local_to_utc;
use adjutant_types::{AccountService, ours};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{inbox_of, inboxes, is_of_one, labelled, letter_in, letter_of, merged, parties};
use crate::accounts::ConnectedAccount;
use crate::builtin::merged::label;
use crate::builtin::{CallContext, under};
use crate::{Failure, Output, Result, SkillError};

/// The texts of several mails share this many bytes.
const TEXTS: usize = 14_000;
/// The most mails whose texts are read at once.
const MAX_READ: usize = 40;
/// The most mails of a thread.
const MAX_THREAD: usize = 20;
/// How often a thread is searched for what the mails found so far lead to.
const MAX_STEPS: usize = 5;

pub(super) type Mail<'a> = (&'a ConnectedAccount, Message);

/// What was found in all accounts.
pub(super) struct Mails<'a> {
    /// The newest first.
    pub(super) mails: Vec<Mail<'a>>,
    /// How many there are, with those that aren't among them.
    pub(super) total: usize,
    /// Whether everything was searched; if not, there may be more.
    is_exact: bool,
}

impl<'a> Mails<'a> {
    /// What was found in each account, with at most so many received mails and as many sent ones.
    pub(super) fn of(found: Vec<(&'a ConnectedAccount, Found)>, limit: usize) -> Self {
        let mut all = Self { mails: Vec::new(), total: 0, is_exact: true };
        for (account, found) in found {
            all.total += found.total;
            all.is_exact &= found.is_exact;
            all.mails.extend(found.messages.into_iter().map(|mail| (account, mail)));
        }
        all.mails.sort_by_key(|(_, mail)| Reverse(mail.date));
        let mut left = [limit; 2];
        all.mails.retain(|(_, mail)| {
            let left = &mut left[usize::from(mail.is_sent)];
            let fits = *left > 0;
            *left = left.saturating_sub(1);
            fits
        });
        all
    }

    /// Leaves out what is older than where the received or the sent ones were cut off, so that `before` reaches the rest of both.
    fn end_together(&mut self, limit: usize) {
        let last = |is_sent: bool| {
            let mut its = self.mails.iter().filter(|(_, mail)| mail.is_sent == is_sent);
            its.nth(limit.saturating_sub(1)).and_then(|(_, mail)| mail.date)
        };
        let from = last(false).max(last(true));
        self.mails.retain(|(_, mail)| mail.date >= from);
    }

    /// How many mails there are, as far as that is known.
    fn total(&self) -> String {
        if self.is_exact { self.total.to_string() } else { email::at_least(self.total) }
    }

    fn heading(&self, with_text: bool) -> String {
        match self.mails.len() {
            shown if self.is_exact && self.total <= shown => email::found(shown),
            shown if with_text => email::found_part_with_texts(shown, self.total()),
            shown => email::found_part(shown, self.total()),
        }
    }
}

pub(super) async fn search_in(account: &ConnectedAccount, query: &Query) -> Result<Found> {
    Ok(inbox_of(account)?.search(query).await?)
}

pub(super) async fn search(call: &CallContext<'_>) -> Result<Output> {
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
        folder: argument("folder"),
        limit: if with_text { call.limit().min(MAX_READ) } else { call.limit() },
        ..Query::default()
    };
    let accounts = inboxes(call)?;
    let searched = merged(&accounts, |account| search_in(account, &query)).await?;
    let mut found = Mails::of(searched.found, query.limit);
    found.end_together(query.limit);
    if with_text {
        found.mails.truncate(MAX_READ);
    }
    let summary = match found.mails.is_empty() {
        true => email::found_nothing(),
        false => under(found.heading(with_text), found.mails.iter().map(|mail| line(call, mail))),
    };
    let mut items: Vec<Value> = found.mails.iter().map(|mail| item(call, mail)).collect();
    let read = if with_text { items.len() } else { 0 };
    for (at, (item, mail)) in items.iter_mut().zip(&found.mails).enumerate() {
        match at < read {
            true => add_text_of(call, (item, mail), TEXTS / read, None).await?,
            false => item["snippet"] = json!(mail.1.snippet()),
        }
    }
    let data = json!({"count": items.len(), "items": items, "total": found.total});
    Ok(Output::outside_if(!found.mails.is_empty(), under(summary, searched.notes), data))
}

/// A time that bounds a search; of a day its beginning.
pub(super) fn time(call: &CallContext<'_>, name: &str) -> Result<Option<DateTime<Utc>>, SkillError> {
    Ok(call.when(name)?.map(|when| local_to_utc(when.local(), call.zone())))
}

/// Adds a mail's text. What it quotes is left out, unless that isn't among the `listed` ones.
async fn add_text_of(
    call: &CallContext<'_>,
    (item, (account, mail)): (&mut Value, &Mail<'_>),
    share: usize,
    listed: Option<&HashSet<&String>>,
) -> Result<()> {
    match letter_of(call, account, &mail.id).await {
        Ok(letter) => add_text(item, &letter, share, listed),
        // One that is gone or set aside doesn't hide the others.
        Err(Failure::Skill(error)) if is_of_one(&error) => item["text"] = json!(error.message.whole()),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn add_text(item: &mut Value, letter: &Message, share: usize, listed: Option<&HashSet<&String>>) {
    let is_listed = |answered: &String| listed.is_none_or(|listed| listed.contains(answered));
    let text = match unquoted(&letter.text) {
        (text, quoted @ 1..) if letter.in_reply_to.as_ref().is_some_and(is_listed) => {
            let quote = if listed.is_some() { email::quoted_above(quoted) } else { email::quoted(quoted) };
            format!("{text}\n{quote}")
        }
        // What was forwarded is no repetition.
        _ => letter.text.clone(),
    };
    item["text"] = json!(shared(&text, share));
    item["attachments"] = json!(names(&letter.attachments));
}

/// One mail in a line: when, from whom, about what.
pub(super) fn line(call: &CallContext<'_>, (account, mail): &Mail<'_>) -> String {
    let date = mail.date.map(|date| date.with_timezone(&call.zone()).format("%a %-d %b %Y, %H:%M: "));
    let date = date.map(|date| date.to_string()).unwrap_or_default();
    let from = mail.from.first().map(|party| party.name.as_ref().unwrap_or(&party.address));
    let line = format!("- {date}{} — {}", from.map_or("", String::as_str), mail.subject);
    let line = if mail.unread { email::unread_line(line) } else { line };
    let line = if mail.answered { email::answered_line(line) } else { line };
    let line = if mail.is_sent { email::sent_line(line) } else { line };
    labelled(call, AccountService::Mail, Some(account), line)
}

pub(super) fn item(call: &CallContext<'_>, (account, mail): &Mail<'_>) -> Value {
    let date = mail.date.map(|date| date.with_timezone(&call.zone()).format("%Y-%m-%dT%H:%M").to_string());
    let mut item = json!({
        "id": mail.lasting_id(), "from": parties(&mail.from),
        "cc": parties(&mail.cc), "subject": mail.subject, "date": date,
        "unread": mail.unread, "answered": mail.answered, "folder": mail.folder,
    });
    // That it's to the person alone goes without saying.
    let is_own = |party: &Address| {
        let own = account.mail.as_deref().map(|mail| mail.from.address.as_str());
        own.is_some_and(|own| party.address.eq_ignore_ascii_case(own))
    };
    if !mail.to.iter().all(is_own) {
        item["to"] = json!(parties(&mail.to));
    }
    if let Some(label) = label(call, AccountService::Mail, Some(account)) {
        item["account"] = json!(label);
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

pub(super) async fn read(call: &CallContext<'_>) -> Result<Output> {
    let several = call.texts("message_ids");
    let Some(one) = call.text("message_id").filter(|_| several.is_empty()) else {
        return read_several(call, &several).await;
    };
    let mail = letter_in(call, one).await?;
    if call.flag("thread") && mail.1.message_id.is_some() {
        return read_thread(call, mail).await;
    }
    let letter = &mail.1;
    let from = parties(&letter.from).join(", ");
    let to = [letter.to.as_slice(), &letter.cc].concat();
    let mut head =
        if to.is_empty() { email::from(from) } else { email::from_to(from, parties(&to).join(", ")) };
    if let Some(date) = letter.date {
        head.push_str(&date.with_timezone(&call.zone()).format(", %a %-d %b %Y, %H:%M").to_string());
    }
    let head = labelled(call, AccountService::Mail, Some(mail.0), head);
    let files = names(&letter.attachments);
    let attached =
        if files.is_empty() { String::new() } else { format!("\n{}", email::attachments(files.join(", "))) };
    let summary = format!("{head}: {}{attached}\n\n{}", letter.subject, letter.text);
    let mut data = item(call, &mail);
    data["text"] = json!(letter.text);
    data["attachments"] = json!(files);
    Ok(Output::new(summary, data))
}

async fn read_several(call: &CallContext<'_>, ids: &[&str]) -> Result<Output> {
    if ids.is_empty() {
        return Err(SkillError::params(ours!(email::which_email)).into());
    }
    let (mut lines, mut items, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        match letter_in(call, id).await {
            Ok(mail) => {
                lines.push(line(call, &mail));
                let mut item = item(call, &mail);
                add_text(&mut item, &mail.1, TEXTS / ids.len(), None);
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

/// The first mail of a thread, as far as one of its mails names it.
fn first_of(mail: &Message) -> Option<&String> {
    mail.references.first().or(mail.in_reply_to.as_ref())
}

/// The mails of a mail's thread. Some programs name nothing but the mail that is answered, so what was found leads further.
async fn thread_of(account: &ConnectedAccount, letter: &Message) -> Result<Found> {
    let mut ids: Vec<String> = first_of(letter).into_iter().chain(&letter.message_id).cloned().collect();
    ids.dedup();
    let mut steps = 0;
    loop {
        let query = Query { thread: ids.clone(), limit: MAX_THREAD, ..Query::default() };
        let found = search_in(account, &query).await?;
        let before = ids.len();
        for mail in &found.messages {
            let Some(first) = first_of(mail).filter(|first| ids.first() != Some(*first)) else { continue };
            for id in std::iter::once(first).chain(&mail.message_id) {
                if !ids.contains(id) {
                    ids.push(id.clone());
                }
            }
        }
        steps += 1;
        if ids.len() == before || steps == MAX_STEPS {
            return Ok(found);
        }
    }
}

/// The mails that a mail answers, and those that answer it: of many the last ones.
async fn read_thread(call: &CallContext<'_>, (account, letter): Mail<'_>) -> Result<Output> {
    let mut found = Mails::of(vec![(account, thread_of(account, &letter).await?)], MAX_THREAD);
    let is_cut = found.total > found.mails.len();
    // It may be in a folder that isn't searched; and a mail may be in several.
    found.mails.push((account, letter));
    let mut known = HashSet::new();
    found.mails.retain(|(_, mail)| known.insert(mail.lasting_id().to_owned()));
    found.mails.sort_by_key(|(_, mail)| mail.date);
    if !is_cut {
        found.total = found.mails.len();
    }
    let mails = found.mails.split_off(found.mails.len().saturating_sub(MAX_THREAD));
    let listed: HashSet<&String> = mails.iter().filter_map(|(_, mail)| mail.message_id.as_ref()).collect();
    let mut items = Vec::new();
    for mail in &mails {
        let mut item = item(call, mail);
        add_text_of(call, (&mut item, mail), TEXTS / mails.len(), Some(&listed)).await?;
        items.push(item);
    }
    let heading = match mails.len() {
        all if found.is_exact && found.total <= all => email::thread(all),
        last => email::thread_part(last, found.total()),
    };
    let summary = under(heading, mails.iter().map(|mail| line(call, mail)));
    Ok(Output::new(summary, json!({"count": items.len(), "items": items, "total": found.total})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mails_of_several_accounts_are_one_list() {
        let account = |label| ConnectedAccount::configured(AccountService::Mail, label, "ada@home.example");
        let (private, work) = (account("private"), account("work"));
        let mail = |subject: &str, hour: u32| Message {
            subject: subject.to_owned(),
            date: Some(format!("2026-11-27T{hour:02}:00:00Z").parse().unwrap()),
            is_sent: subject.starts_with("re"),
            ..Message::default()
        };
        let found = |messages: Vec<Message>| Found { total: messages.len(), messages, is_exact: true };
        let all = Mails::of(
            vec![
                (&private, found(vec![mail("lunch", 12), mail("tea", 9), mail("re tea", 10)])),
                (&work, Found { is_exact: false, ..found(vec![mail("budget", 11), mail("re budget", 13)]) }),
            ],
            2,
        );
        let list: Vec<(&str, &str)> =
            all.mails.iter().map(|(account, mail)| (account.label.as_str(), mail.subject.as_str())).collect();
        let newest = [("work", "re budget"), ("private", "lunch"), ("work", "budget"), ("private", "re tea")];
        assert_eq!(list, newest);
        assert_eq!((all.total, all.total()), (5, email::at_least(5)));
    }
}
