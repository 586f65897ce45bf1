//! Which mails wait for the person, before a model sees them.

use std::collections::HashSet;

use adjutant_l10n::email;
use adjutant_mail::{Message, Query};
use adjutant_store::watches;
use adjutant_types::is_no_reply;
use adjutant_types::text::one_line;
use chrono::{DateTime, FixedOffset, TimeDelta};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::reading::{Mail, Mails, item, line, search_in, time};
use super::{inboxes, merged};
use crate::builtin::{CallContext, under};
use crate::{Output, Result};

/// The most mails of a call, and of a page: what one call of a model is given.
const MOST: usize = 100;
pub(in crate::builtin) const PAGE: usize = 50;
/// How long a mail is on a page, in bytes.
const SHOWN: usize = 176;
/// How old they are at most, unless the call says otherwise.
const DAYS: i64 = 14;

/// Whether a mail needs no answer: a program's, a receipt, an answer to an invitation, or a bounce. What its sender writes
/// into it can only have it left out.
fn needs_no_answer(mail: &Message) -> bool {
    const ANSWERS: [&str; 6] =
        ["accepted:", "declined:", "tentative:", "zugesagt:", "abgelehnt:", "mit vorbehalt:"];
    const RECEIPTS: [&str; 6] =
        ["receipt", "order confirmation", "shipped", "quittung", "bestellbestätigung", "versandbestätigung"];
    let from = sender(mail).to_lowercase();
    let writer = from.split('@').next().unwrap_or_default();
    let subject = mail.subject.to_lowercase();
    let writer = writer.replace(['-', '_', '.'], "");
    mail.is_automatic
        || matches!(&*writer, "mailerdaemon" | "postmaster")
        || ANSWERS.iter().any(|answer| subject.starts_with(answer))
        // A bank's warning comes from such an address, too.
        || (is_no_reply(&from) && RECEIPTS.iter().any(|word| subject.contains(word)))
}

fn sender(mail: &Message) -> &str {
    mail.from.first().map_or("", |from| from.address.as_str())
}

/// One mail in a line for a model.
fn shown(n: usize, mail: &Message, zone: Tz) -> String {
    let local = |date: DateTime<FixedOffset>| date.with_timezone(&zone).format("%a %Y-%m-%d").to_string();
    let day = mail.date.map(local).unwrap_or_default();
    let from = mail.from.first().map(ToString::to_string).unwrap_or_default();
    let (from, subject) = (one_line(&from, 40), one_line(&mail.subject, 80));
    let text = format!("{n} | {day} | {from} | {subject} | {}", one_line(&mail.snippet(), 70));
    text[..text.floor_char_boundary(SHOWN)].to_owned()
}

/// Mails without an answer, read or not, the newest first, and how many others need none. What the person archived, took off
/// their list, or put off, isn't among them.
pub(super) async fn triage(call: &CallContext<'_>) -> Result<Output> {
    let since = time(call, "since")?.unwrap_or_else(|| call.now() - TimeDelta::days(DAYS));
    let waiting = Query { unanswered: true, unarchived: true, ..Query::default() };
    let query = Query { since: Some(since), limit: MOST, ..waiting };
    let searched = merged(&inboxes(call)?, |account| search_in(account, &query)).await?;
    let found = Mails::of(searched.found, MOST);
    let more = found.total.saturating_sub(found.mails.len());
    let is_received =
        |(account, mail): &Mail<'_>| !mail.is_sent && !sender(mail).eq_ignore_ascii_case(&account.address);
    let received: Vec<Mail<'_>> = found.mails.into_iter().filter(is_received).collect();
    let unanswered: Vec<String> = received.iter().map(|(_, mail)| mail.lasting_id().to_owned()).collect();
    let settled = watches::settled_since(call.store(), &call.ctx.turn.person.id, since).await?;
    let received = received.into_iter().filter(|(_, mail)| !settled.contains(mail.lasting_id()));
    let mut seen = HashSet::new();
    // One may have come to two accounts; what only has its name is another.
    let received =
        received.filter(|(_, mail)| seen.insert((mail.lasting_id().to_owned(), shown(0, mail, call.zone()))));
    let (rest, letters): (Vec<Mail<'_>>, Vec<_>) = received.partition(|(_, mail)| needs_no_answer(mail));

    let mut items: Vec<Value> = letters.iter().map(|mail| item(call, mail)).collect();
    (1..).zip(&mut items).for_each(|(n, item)| item["n"] = json!(n));
    let lines = (1..).zip(&letters).map(|(n, mail)| shown(n, &mail.1, call.zone()));
    let lines: Vec<String> = lines.collect();
    let today = call.now().with_timezone(&call.zone()).format("%a %Y-%m-%d");
    let pages = lines.chunks(PAGE).map(|page| format!("{today}\n{}", page.join("\n")));
    let is_whole = more == 0 && searched.notes.is_empty();
    let data = json!({
        "count": items.len(), "items": items, "pages": pages.collect::<Vec<_>>(), "more": more,
        "need_no_answer": rest.len(), "unanswered": is_whole.then_some(unanswered),
    });
    let summary = under(email::triaged(letters.len()), letters.iter().map(|mail| line(call, mail)));
    let notes = (!rest.is_empty()).then(|| email::need_no_answer(rest.len()));
    let notes = notes.into_iter().chain((more > 0).then(|| email::not_looked_at(more)));
    Ok(Output::outside_if(!letters.is_empty(), under(under(summary, notes), searched.notes), data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_model_is_known_by_its_header_alone() {
        let mail = |from: &str, subject: &str, is_automatic| Message {
            from: vec![from.parse().unwrap()],
            subject: subject.into(),
            is_automatic,
            ..Message::default()
        };
        for (from, subject, is_automatic, needs_none) in [
            ("Shop <news@shop.test>", "20 % off", true, true),
            ("Shop <no-reply@shop.test>", "Your receipt of 3 May", false, true),
            ("Bob <bob@acme.test>", "Where is my receipt?", false, false),
            ("Bob <bob@acme.test>", "Accepted: Offsite", false, true),
            ("MAILER-DAEMON@mx.test", "Undelivered", false, true),
            ("Bank <do-not-reply@bank.test>", "Your card is blocked", false, false),
            ("Bob <bob@noreply.test>", "A question", false, false),
        ] {
            assert_eq!(needs_no_answer(&mail(from, subject, is_automatic)), needs_none, "{from}: {subject}");
        }
        let long = mail(&format!("{} <x@y.test>", "ü".repeat(90)), &"漢".repeat(500), false);
        let line = shown(100, &long, Tz::UTC);
        assert!(line.len() <= SHOWN && line.starts_with("100 |  | "), "{line}");
        let date = Some("2026-11-24T23:30:00+00:00".parse().unwrap());
        let dated = Message { date, ..mail("Bob <bob@acme.test>", "Friday?", false) };
        let line = shown(1, &dated, Tz::Europe__Berlin);
        assert!(line.starts_with("1 | Wed 2026-11-25 | Bob"), "{line}");
    }
}
