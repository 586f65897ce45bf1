//! The things that the turns of a conversation found, made and changed, so that a later one needn't search for it again.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_skills::builtin;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::people::Conversation;
use adjutant_store::turns::PastTurn;
use adjutant_store::{Result, Store};
use adjutant_turn::trust::ActionKind;
use serde_json::Value;

/// The maximum number of things of one turn, if a briefing hasn't more lines.
const MAX: usize = 10;
/// How much of a title is shown, in bytes.
const TITLE: usize = 60;
/// The skills whose results are the assistant's own emails.
const SENDING: [&str; 3] = ["email.send", "email.reply", "email.forward"];
/// Stands before which event of a series it is: only one is listed, unless more were changed.
const INSTANCE: &str = ", instance ";

/// The things that each turn found, made or changed.
#[derive(Default)]
pub(super) struct RecentEntities {
    /// `event ID “Title”`, by the turn's `seq`.
    turns: BTreeMap<i64, Vec<String>>,
}

/// Why a thing is listed; the first are the most important.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// It is the line of a briefing with this number: "answer the second one".
    Line(u64),
    /// It was made or changed.
    Made,
    /// The answer names it, at this position, whole or in part.
    Answered((usize, bool)),
    /// It was read by itself.
    Single,
    /// It was found among others, and the person's message names it.
    Asked((usize, bool)),
    /// It was found among others.
    Found,
}

impl RecentEntities {
    /// What these turns of a conversation touched.
    pub(super) async fn load(store: &Store, conversation: &Conversation, turns: &[PastTurn]) -> Result<Self> {
        let Some(oldest) = turns.iter().filter(|turn| turn.has_calls).map(|turn| turn.seq).min() else {
            return Ok(Self::default());
        };
        let calls = executions::calls_since(store, &conversation.id, oldest).await?;
        let of_turn = |turn: &PastTurn| {
            let calls = calls.iter().filter(|call| call.turn_seq == turn.seq);
            let data = |json: &str| serde_json::from_str::<Value>(json).unwrap_or_default();
            let calls: Vec<(&str, Value)> =
                calls.map(|call| (call.skill.as_str(), data(&call.data))).collect();
            let texts = (turn.text.as_str(), turn.answer.as_deref().unwrap_or_default());
            (turn.seq, touched(&calls, texts, conversation.shared))
        };
        Ok(Self { turns: turns.iter().map(of_turn).collect() })
    }

    /// The line to add to a turn's answer; empty if it touched nothing. A turn that touched something from outside is
    /// shown in a block as a whole.
    pub(super) fn line(&self, turn: i64) -> String {
        let Some(things) = self.turns.get(&turn).filter(|things| !things.is_empty()) else {
            return String::new();
        };
        format!("\n(touched: {})", things.join("; "))
    }
}

/// What the calls of a turn with this message and this answer touched, the most important first, and how many more.
/// Where others read along, what was found may be for one person alone.
pub(super) fn touched(
    calls: &[(&str, Value)],
    (message, answer): (&str, &str),
    is_shared: bool,
) -> Vec<String> {
    let calls = calls.iter().filter(|(skill, _)| !SENDING.contains(skill));
    let things = calls.flat_map(|(skill, data)| {
        things(data).iter().map(move |thing| (*skill, thing, !data["items"].is_array()))
    });
    let (answer, message) = (answer.to_lowercase(), message.to_lowercase());
    let reason = |skill: &str, thing: &Value, is_single: bool| match (position(&answer, thing), is_single) {
        (_, true) if makes(skill) => Reason::Made,
        (Some(at), _) => Reason::Answered(at),
        (None, true) => Reason::Single,
        (None, false) => position(&message, thing).map_or(Reason::Found, Reason::Asked),
    };
    let things = things.filter(|(_, thing, is_single)| thing["sent"] != true && (*is_single || !is_shared));
    let mut found: Vec<(Reason, Option<&str>, String)> = Vec::new();
    // What the last call says of a thing.
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for (skill, thing, is_single) in things {
        if let Some((name, mut line)) = line(skill, thing) {
            let (reason, writer) = match thing["n"].as_u64() {
                Some(n) if skill == "assistant.lines" => {
                    line.push_str(&format!(", line {n}"));
                    (Reason::Line(n), None)
                }
                _ => (reason(skill, thing, is_single), writer(thing)),
            };
            found.push((reason, writer, name.clone()));
            lines.insert(name, line);
        }
    }
    found.sort_by_key(|(reason, ..)| *reason);
    let (mut names, mut series, mut writers) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    found.retain(|(reason, _, name)| {
        let is_first = series.insert(name.split(INSTANCE).next().map(str::to_owned));
        names.insert(name.clone()) && (is_first || *reason == Reason::Made)
    });
    let most = found.iter().filter(|(reason, ..)| matches!(reason, Reason::Line(_))).count().max(MAX);
    let answered = found.iter().take_while(|(reason, ..)| *reason < Reason::Single).count();
    let others = found.split_off(answered);
    // Each writer whom the answer names has one email in front of anybody's second one.
    let (first, more): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, writer, _)| writer.is_none_or(|writer| writers.insert(writer)));
    let all = first.into_iter().chain(more).chain(others);
    let mut all: Vec<String> = all.filter_map(|(_, _, name)| lines.remove(&name)).collect();
    let hidden = all.len().saturating_sub(most);
    all.truncate(most);
    all.extend((hidden > 0).then(|| format!("and {hidden} more")));
    all
}

/// The unread emails that a turn read and its answer names: in part, if only one was read.
pub(super) fn emails_in_answer(rows: &[ExecutionRow], answer: &str) -> Vec<String> {
    let is_email = |skill: &str| skill.starts_with("email.");
    let rows = rows.iter().filter(|row| row.skill.as_deref().is_some_and(is_email));
    let results = rows.filter_map(|row| serde_json::from_str(row.data.as_deref()?).ok());
    in_answer(&results.collect::<Vec<Value>>(), &answer.to_lowercase())
}

fn in_answer(results: &[Value], answer: &str) -> Vec<String> {
    let is_read = |mail: &&Value| mail["text"].is_string() && mail["unread"].is_boolean();
    let read = results.iter().flat_map(things).filter(is_read);
    let read: BTreeMap<&str, &Value> = read.filter_map(|mail| Some((mail["id"].as_str()?, mail))).collect();
    let is_only = read.len() == 1;
    // A single word of a name may mean anything, unless nothing else can be meant.
    let is_named = |mail: &Value| position(answer, mail).is_some_and(|(_, in_part)| is_only || !in_part);
    let is_in_answer = |mail: &Value| mail["unread"] == true && is_named(mail);
    read.into_iter().filter(|(_, mail)| is_in_answer(mail)).map(|(id, _)| id.to_owned()).collect()
}

/// Whether a skill of ours makes or changes things. Many emails are sorted at once, and none of them matters more for it.
fn makes(skill: &str) -> bool {
    let action = builtin::find(skill).and_then(|skill| skill.action());
    action.is_some_and(|action| action != ActionKind::MailSort)
}

/// The things in a call's result: the items of a list, or itself.
fn things(data: &Value) -> &[Value] {
    data["items"].as_array().map_or_else(|| std::slice::from_ref(data), Vec::as_slice)
}

/// Where a text in small letters names a thing, and whether only in part: by its title or its writer, else by one of the
/// writer's names or by most of the title's words.
fn position(text: &str, thing: &Value) -> Option<(usize, bool)> {
    let (title, writer) = (title(thing).to_lowercase(), writer(thing).unwrap_or_default().to_lowercase());
    let names = words(writer.split('@').next().unwrap_or_default(), 3);
    let by_words = || {
        let words: Vec<&str> = words(&title, 4).collect();
        let found: Vec<usize> = words.iter().filter_map(|word| find(text, word)).collect();
        found.iter().min().copied().filter(|_| found.len() * 2 >= words.len())
    };
    let whole = [title.trim(), writer.as_str()].into_iter().filter_map(|name| find(text, name)).min();
    let in_part = || names.filter_map(|name| find(text, name)).min().or_else(by_words);
    whole.map(|at| (at, false)).or_else(|| Some((in_part()?, true)))
}

/// The words of a text that have at least so many letters.
fn words(text: &str, min: usize) -> impl Iterator<Item = &str> {
    let words = text.split(|char: char| !char.is_alphanumeric());
    words.filter(move |word| word.chars().count() >= min)
}

/// Where some words stand in a text, but not as a part of longer ones.
fn find(text: &str, words: &str) -> Option<usize> {
    // From here on, scripts don't part their words.
    let is_joined = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() && char < '\u{2e80}');
    let is_whole = |at: &usize| {
        let (before, after) = (&text[..*at], &text[at + words.len()..]);
        !is_joined(before.chars().next_back()) && !is_joined(after.chars().next())
    };
    let mut positions = text.match_indices(words).map(|(at, _)| at);
    if words.is_empty() { None } else { positions.find(is_whole) }
}

fn title(thing: &Value) -> &str {
    let field = |name: &&str| thing.get(name).and_then(Value::as_str);
    ["title", "name", "subject", "text", "what"].iter().find_map(field).unwrap_or_default()
}

/// The name of a mail's writer.
fn writer(thing: &Value) -> Option<&str> {
    let from = thing.get("from")?.get(0)?.as_str()?;
    from.split('<').next().map(str::trim).filter(|name| !name.is_empty())
}

/// The beginning of a text, in one line.
fn clip(text: &str) -> String {
    text[..text.floor_char_boundary(TITLE)].replace(['\n', '\r'], " ")
}

/// `event 7@adjutant`, and that with its title: `event 7@adjutant “Demo”`; a thing without an id can't be meant again.
fn line(skill: &str, thing: &Value) -> Option<(String, String)> {
    let text = |name: &str| thing.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("id").or(text("message_id"))?;
    let (domain, verb) = skill.split_once('.').unwrap_or((skill, ""));
    let noun = match domain {
        "calendar" => "event",
        "contacts" => "contact",
        "files" => "file",
        "email" if verb == "attachment" => "file",
        "email" => "mail",
        "tasks" => "task",
        // Of what watches and briefings tell, each thing says what it is.
        domain => text("noun").unwrap_or(domain),
    };
    let gone = if verb.starts_with("delete") || verb == "forget" { "deleted " } else { "" };
    let from = writer(thing).map(|name| format!(" from {}", clip(name))).unwrap_or_default();
    let instance = text("instance").map(|at| format!("{INSTANCE}{at}")).unwrap_or_default();
    let files = thing["attachments"].as_array().map_or(0, Vec::len);
    let files = if files == 0 { String::new() } else { format!(" (attachments: {files})") };
    let title = match title(thing).trim() {
        "" if noun == "mail" => "(no subject)".to_owned(),
        title => clip(title),
    };
    let line = format!("{gone}{noun} {id} “{title}”{from}{files}{instance}");
    Some((format!("{gone}{noun} {id}{instance}"), line))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The line of a turn with these calls, this message and this answer.
    fn line_of(calls: &[(&str, Value)], message: &str, answer: &str) -> String {
        touched(calls, (message, answer), false).join("; ")
    }

    /// A search that found an email of each.
    fn found(writers: &[(&str, &str)]) -> [(&'static str, Value); 1] {
        let mail = |(at, (from, subject)): (usize, &(&str, &str))| json!({"id": format!("<{at}>"), "subject": subject, "from": [format!("{from} <{at}@x.test>")]});
        [("email.search", json!({"items": writers.iter().enumerate().map(mail).collect::<Vec<_>>()}))]
    }

    #[test]
    fn the_lines_name_kind_id_and_title_of_ten_things_at_most() {
        let calls = [
            ("calendar.check_availability", json!({"free": true})),
            ("tasks.create", json!({"id": "t1", "title": "milk"})),
            ("calendar.delete_event", json!({"id": "e1", "title": "Demo"})),
        ];
        let entities = RecentEntities { turns: [(1, touched(&calls, ("", ""), true))].into() };
        assert_eq!(entities.line(1), "\n(touched: task t1 “milk”; deleted event e1 “Demo”)");
        assert_eq!(entities.line(2), "");
        let all = line_of(&found(&[("Ada", "a\nb"); 20]), "", "");
        assert!(all.starts_with("mail <0> “a b” from Ada; mail <1> “a b”"), "{all}");
        assert!(all.matches("mail <").count() == 10 && all.ends_with("; and 10 more"), "{all}");
    }

    #[test]
    fn what_the_answer_names_is_first_in_its_order() {
        let mails = found(&[
            ("Mallory Fox", "Prize"),
            ("Erin Hall", "Review"),
            ("Priya Rao", "Figures"),
            ("Frank Castellano", "Lunch?"),
            ("nobody@example.test", "Hi"),
            ("Pat Low", "Contract draft for Acme"),
        ]);
        let answer = "Frank's lunch and Priya's figures are urgent, the draft contract too. Erin can wait.";
        let line = line_of(&mails, "what did Nobody want?", answer);
        let ids: Vec<&str> = line.split("; ").filter_map(|thing| thing.split(' ').nth(1)).collect();
        assert_eq!(ids, ["<3>", "<2>", "<5>", "<1>", "<4>", "<0>"], "{line}");
        // What was made by itself goes before what was only found.
        let made = ("tasks.create", json!({"id": "t1", "title": "milk"}));
        let both = [mails[0].clone(), made];
        assert!(line_of(&both, "", "Done.").starts_with("task t1 “milk”; mail <0>"));
        let line = line_of(&both, "", "Erin waits for milk.");
        assert!(line.starts_with("task t1 “milk”; mail <1> “Review” from Erin Hall"), "{line}");
        assert_eq!(touched(&both, ("", ""), true), ["task t1 “milk”"], "where others read along");
    }

    #[test]
    fn after_a_plan_what_it_made_is_first_whatever_its_report_names() {
        let event =
            |day: u8| json!({"id": "e1", "title": "Stand-up", "instance": format!("2027-01-{day}T09:15")});
        let mail = json!({"id": "<1>", "subject": "Your trip", "from": ["Travel desk <t@x.test>"], "text": "Hi", "attachments": ["1: trip.pdf"]});
        let calls = [
            ("email.read", mail),
            ("calendar.list_events", json!({"items": (11..16).map(event).collect::<Vec<_>>()})),
            ("email.draft", json!({"id": "<2>", "subject": "Re: Your trip"})),
            ("tasks.create", json!({"id": "t1", "title": "Cancel the hotel"})),
        ];
        assert_eq!(
            line_of(&calls, "prepare my trip", "Your trip is booked; only Stand-up is on."),
            "mail <2> “Re: Your trip”; task t1 “Cancel the hotel”; \
             mail <1> “Your trip” from Travel desk (attachments: 1); event e1 “Stand-up”, instance 2027-01-11T09:15"
        );
    }

    #[test]
    fn the_lines_of_a_briefing_are_first_with_their_numbers() {
        let event = |n: usize| json!({"id": format!("e{n}"), "title": format!("Event {n}")});
        let line = |n: usize| json!({"n": n, "noun": "mail", "id": format!("<{n}>"), "subject": "Hi", "from": ["Bob Stone <b@x.test>"]});
        let calls = [
            ("calendar.list_events", json!({"items": (0..9).map(event).collect::<Vec<_>>()})),
            ("email.triage", json!({"items": (1..20).map(line).collect::<Vec<_>>()})),
            ("assistant.lines", json!({"items": (1..13).map(line).collect::<Vec<_>>()})),
        ];
        let touched = touched(&calls, ("/run morning-briefing", "Event 0, Event 1. Bob Stone: Hi"), false);
        let numbered = (1..13).map(|n| format!("mail <{n}> “Hi” from Bob Stone, line {n}"));
        assert_eq!(touched, numbered.chain(["and 16 more".to_owned()]).collect::<Vec<_>>());
    }

    #[test]
    fn of_two_with_one_first_name_the_one_that_was_named_is_first() {
        let mails = found(&[("Bob Miller", "Draft"), ("Ann Bell", "Minutes"), ("Bob Stone", "Hi")]);
        let line = line_of(&mails, "", "Bob Stone says hi.");
        assert!(line.starts_with("mail <2> “Hi” from Bob Stone; mail <0>"), "{line}");
        let line = line_of(&mails, "", "Ann sent the minutes, then Bob wrote.");
        assert!(line.starts_with("mail <1> “Minutes” from Ann Bell; mail <0>"), "{line}");
        let line = line_of(&mails, "", "Bobby wrote.");
        assert!(line.starts_with("mail <0> “Draft” from Bob Miller; mail <1>"), "a part of a word: {line}");
    }

    #[test]
    fn each_writer_who_was_named_has_one_email_before_anybody_has_two() {
        let mut writers = vec![("Carol Clark", "Invoice"); 9];
        writers.extend([("Erin Hall", "Review"), ("Frank Fox", "Lunch"), ("Mallory Reed", "Prize")]);
        let line = line_of(&found(&writers), "", "Carol and Erin wait for you. Frank asks about lunch.");
        let ids: Vec<&str> = line.split("; ").filter_map(|thing| thing.split(' ').nth(1)).collect();
        assert_eq!(ids[..5], ["<0>", "<9>", "<10>", "<1>", "<2>"], "{line}");
        assert!(ids.len() == MAX + 1 && line.ends_with("; and 2 more"), "{line}");
    }

    #[test]
    fn the_assistants_own_emails_are_left_out() {
        let mut mails = found(&[("Carol Clark", "Re: Hi"), ("Bob Stone", "Hi")]);
        mails[0].1["items"][0]["sent"] = json!(true);
        let sent = ("email.reply", json!({"message_id": "<9>", "subject": "Re: Hi", "to": ["bob@x.test"]}));
        let line = line_of(&[mails[0].clone(), sent], "answer Bob", "I told Bob. Re: Hi");
        assert_eq!(line, "mail <1> “Hi” from Bob Stone");
    }

    #[test]
    fn a_mail_is_listed_once_whatever_was_done_with_it() {
        let mut mails = found(&[("Bob Stone", ""), ("Ann Bell", "Minutes")]);
        let marked = ("email.mark", mails[0].1["items"][0].clone());
        let calls = [mails[0].clone(), marked];
        let line = line_of(&calls, "", "Done.");
        assert_eq!(line, "mail <0> “(no subject)” from Bob Stone; mail <1> “Minutes” from Ann Bell");
        mails[0].1["items"][1]["subject"] = json!("Late minutes");
        let line = line_of(&[calls[0].clone(), mails[0].clone()], "", "Ann sent the minutes.");
        assert!(line.starts_with("mail <1> “Late minutes” from Ann Bell; mail <0>"), "the last: {line}");
    }

    #[test]
    fn an_email_is_told_of_if_the_answer_names_it_and_in_part_if_nothing_else_was_read() {
        let read = |at: usize, unread: bool| {
            let mut mail = found(&[("Bob Stone", "Hi"), ("Ann Bell", "Minutes")])[0].1["items"][at].clone();
            (mail["text"], mail["unread"]) = (json!("Read it all."), json!(unread));
            mail
        };
        let both = [json!({"items": [read(0, true), read(1, true)]})];
        assert_eq!(in_answer(&both, "ann bell wants an answer."), ["<1>"]);
        assert!(in_answer(&both, "ann wants an answer.").is_empty(), "any word may be somebody's name");
        assert_eq!(in_answer(&[read(0, true), read(0, true)], "bob greets you."), ["<0>"]);
        assert!(in_answer(&[read(0, true)], "the page says nothing.").is_empty());
        assert!(in_answer(&[read(0, false)], "bob says hi.").is_empty(), "it is read already");
        // Of a list without texts, nothing was read.
        assert!(in_answer(&[found(&[("Bob Stone", "Hi")])[0].1.clone()], "bob stone").is_empty());
    }

    #[test]
    fn an_event_of_a_series_has_its_instance() {
        let event = |instance: &str| json!({"id": "e1", "title": "Stand-up", "instance": instance});
        let events = json!({"items": [event("2026-11-24T09:30"), event("2026-11-25T09:30")]});
        let found = ("calendar.list_events", events);
        let day = |day: &str| format!("event e1 “Stand-up”, instance 2026-11-{day}T09:30");
        assert_eq!(
            line_of(std::slice::from_ref(&found), "", "Stand-up is daily."),
            day("24"),
            "one of a series"
        );
        let moved = ["25", "26"].map(|day| event(&format!("2026-11-{day}T09:30")));
        let moved = moved.map(|event| ("calendar.update_event", event));
        let line = line_of(&[found, moved[0].clone(), moved[1].clone()], "", "Stand-up is daily.");
        assert_eq!(line, ["25", "26"].map(day).join("; "), "but all that were changed");
        let once = [("calendar.create_event", event(""))];
        assert_eq!(line_of(&once, "", ""), "event e1 “Stand-up”");
    }
}
