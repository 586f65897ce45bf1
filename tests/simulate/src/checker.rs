//! Decides by rules whether a history is one that the promise allows. It knows nothing of the engine: it reads what the
//! world saw, and the journal's tables.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_store::{Store, StoreError};

use crate::history::{Event, Kind, Wish};
use crate::people::OWNER;
use crate::platform::CHANNEL;
use crate::process::{End, Process};

/// A turn: its id, status, whether it has ended.
type Turn = (String, String, i64);
/// A skill call: id, turn, skill, status, arguments.
type Call = (String, String, String, String, String);
/// A message of ours: id, state, turn, receipt.
type Message = (String, String, String, String);
/// A question: id, call, state, answer, who was asked, who has answered.
type Question = (String, String, String, String, String, String);

/// The journal's last state.
pub(crate) struct Journal {
    /// What arrived: its name, state and turn.
    inbox: Vec<(String, String, String)>,
    turns: Vec<Turn>,
    calls: Vec<Call>,
    outbox: Vec<Message>,
    questions: Vec<Question>,
    tasks: Vec<(String, String)>,
    /// What is left open, and what `db check` finds.
    open: Vec<String>,
}

/// What must not be left at the end, and how it's counted.
const OPEN: [(&str, &str); 6] = [
    ("messages", "SELECT count(*) FROM inbox WHERE state NOT IN ('done', 'dead')"),
    ("turns", "SELECT count(*) FROM turns WHERE ended_at IS NULL"),
    ("executions", "SELECT count(*) FROM executions WHERE ended_at IS NULL"),
    ("answers", "SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending', 'unknown')"),
    ("questions", "SELECT count(*) FROM questions WHERE state = 'pending'"),
    ("leases of lanes", "SELECT count(*) FROM leases WHERE instance IS NOT NULL AND name LIKE 'lane:%'"),
];

/// What is left open now.
pub(crate) fn open(process: &Process) -> String {
    let count = |sql: &'static str| process.peek::<(i64,)>(sql, &[]).map_or(0, |(count,)| count);
    let open = OPEN.iter().map(|(what, sql)| (what, count(sql))).filter(|(_, count)| *count > 0);
    open.map(|(what, count)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

impl Journal {
    pub(crate) async fn read(store: &Store) -> Result<Self, StoreError> {
        let mut open = Vec::new();
        for (what, sql) in OPEN {
            let count = store.count(sql, &[]).await?;
            if count > 0 {
                open.push(format!("{count} {what}"));
            }
        }
        for finding in adjutant_store::check::findings(store).await? {
            open.push(format!("{}: {:?}", finding.rule, finding.rows));
        }
        Ok(Self {
            inbox: store
                .all("SELECT event, state, coalesce(turn_id, '') FROM inbox ORDER BY id", &[])
                .await?,
            turns: store.all("SELECT id, status, coalesce(ended_at, 0) FROM turns ORDER BY seq", &[]).await?,
            calls: store
                .all(
                    "SELECT id, turn_id, skill, status, coalesce(parameters, '') FROM executions \
                     WHERE kind = 'skill' ORDER BY seq",
                    &[],
                )
                .await?,
            outbox: store
                .all(
                    "SELECT id, state, coalesce(turn_id, ''), coalesce(receipt, '') FROM outbox ORDER BY seq",
                    &[],
                )
                .await?,
            questions: store
                .all(
                    "SELECT q.id, coalesce(q.execution_id, ''), q.state, coalesce(q.answer, ''), \
                     coalesce((SELECT a.user_id FROM accounts a WHERE a.person_id = q.person_id), ''), \
                     coalesce((SELECT a.user_id FROM accounts a WHERE a.person_id = q.answered_by), '') \
                     FROM questions q ORDER BY q.seq",
                    &[],
                )
                .await?,
            tasks: store.all("SELECT id, title FROM tasks ORDER BY id", &[]).await?,
            open,
        })
    }
}

/// What people can see in the end: the receipt of each message of ours, with its row, part and what it answers.
struct Visible<'a> {
    receipt: &'a str,
    outbox: &'a str,
    part: usize,
    parts: usize,
    answers: &'a [String],
}

fn visible(history: &[(u64, Event)]) -> Vec<Visible<'_>> {
    let mut all: Vec<Visible<'_>> = Vec::new();
    for (_, event) in history {
        match event {
            Event::Shown { receipt, outbox, part, parts, answers, .. } => {
                all.retain(|shown| shown.receipt != receipt);
                all.push(Visible { receipt, outbox, part: *part, parts: *parts, answers });
            }
            Event::Removed(receipt) => all.retain(|shown| shown.receipt != receipt),
            _ => {}
        }
    }
    all
}

/// The messages that a process sent after it had been stopped and another one had sent them, and which it couldn't delete
/// because it was killed: the promise ends there (`docs/promise.md`).
fn left_behind(history: &[(u64, Event)]) -> BTreeSet<&str> {
    let mut left = BTreeSet::new();
    for (start, _) in history.iter().enumerate().filter(|(_, (_, event))| matches!(event, Event::WentOn(_))) {
        let (before, after) = history.split_at(start);
        let Some(end) = after.iter().position(|(_, event)| matches!(event, Event::Ended(End::Died, _)))
        else {
            continue;
        };
        // What was on its way when it died arrives right then.
        let on_its_way =
            after[end + 1..].iter().take_while(|(_, event)| matches!(event, Event::Shown { .. }));
        for (_, event) in after[..end].iter().chain(on_its_way) {
            match event {
                Event::Shown { receipt, journal, .. } if journal.state == "sent" => {
                    let is_it = |(_, event): &(u64, Event)| matches!(event, Event::Shown { receipt: shown, .. } if shown == receipt);
                    if !before.iter().any(is_it) {
                        left.insert(receipt.as_str());
                    }
                }
                Event::Removed(receipt) => {
                    left.remove(receipt.as_str());
                }
                _ => {}
            }
        }
    }
    left
}

/// Everything that is wrong.
pub(crate) fn violations(history: &[(u64, Event)], journal: &Journal, is_quiet: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let panics = history.iter().filter_map(|(_, event)| match event {
        Event::Panicked(what) => Some(format!("a panic: {what}")),
        _ => None,
    });
    wrong.extend(panics);
    if is_quiet {
        wrong.extend(journal.open.iter().map(|open| format!("left open: {open}")));
        every_arrival_has_one_ending(history, journal, &mut wrong);
        every_message_of_ours_is_there_once(history, journal, &mut wrong);
        every_wish_is_seen_to(history, journal, &mut wrong);
    }
    every_effect_has_its_row(history, journal, &mut wrong);
    answers_come_after_their_effects(history, &mut wrong);
    questions_are_answered_by_somebody_who_may(history, journal, &mut wrong);
    wrong
}

fn every_arrival_has_one_ending(history: &[(u64, Event)], journal: &Journal, wrong: &mut Vec<String>) {
    let visible = visible(history);
    let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (event, state, _) in &journal.inbox {
        rows.entry(event.split_once(' ').map_or("", |(_, event)| event)).or_default().push(state);
    }
    let noticed: BTreeSet<&str> = history
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Noticed(event) => Some(event.as_str()),
            _ => None,
        })
        .collect();
    for (_, event) in history {
        let (Event::Said { event, .. } | Event::Pressed { event, .. }) = event else { continue };
        let answers = visible.iter().filter(|shown| shown.answers.contains(event));
        let rows_of_answers: BTreeSet<&str> = answers.map(|shown| shown.outbox).collect();
        let states = rows.get(event.as_str()).map_or(&[] as &[&str], Vec::as_slice);
        match (states, rows_of_answers.len()) {
            (["done" | "dead"], 1) => {}
            ([], 0) if noticed.contains(event.as_str()) => {}
            (states, answers) => {
                wrong.push(format!("event {event} has {answers} answers, and these rows: {states:?}"));
            }
        }
    }
}

fn every_message_of_ours_is_there_once(history: &[(u64, Event)], journal: &Journal, wrong: &mut Vec<String>) {
    let mut parts: BTreeMap<&str, Vec<(usize, usize, &str)>> = BTreeMap::new();
    let left = left_behind(history);
    for shown in visible(history).into_iter().filter(|shown| !left.contains(shown.receipt)) {
        parts.entry(shown.outbox).or_default().push((shown.part, shown.parts, shown.receipt));
    }
    for (id, state, _, receipt) in &journal.outbox {
        let Some(mut shown) = parts.remove(id.as_str()) else {
            wrong.push(format!("message {id} is {state}, and nobody sees it"));
            continue;
        };
        shown.sort_unstable();
        let numbers: Vec<usize> = shown.iter().map(|(part, ..)| *part).collect();
        let whole: Vec<usize> = (0..shown.last().map_or(0, |last| last.1)).collect();
        if state != "sent" || numbers != whole || shown.last().is_none_or(|last| last.2 != receipt) {
            wrong.push(format!("message {id} is {state} with receipt {receipt}; people see {shown:?}"));
        }
    }
    wrong.extend(parts.into_keys().map(|id| format!("message {id} is shown and has no row")));
}

/// The calls for a wish.
fn calls_for<'a>(journal: &'a Journal, wish: &'a Wish) -> impl Iterator<Item = &'a Call> {
    let (skill, title) = match wish.kind {
        Kind::Mail => ("email.send", format!("\"M{}\"", wish.number)),
        Kind::Task | Kind::Talk => ("tasks.create", format!("\"T{}\"", wish.number)),
    };
    journal.calls.iter().filter(move |call| call.2 == skill && call.4.contains(&title))
}

fn every_wish_is_seen_to(history: &[(u64, Event)], journal: &Journal, wrong: &mut Vec<String>) {
    for (_, event) in history {
        let Event::Said { event, wishes, .. } = event else { continue };
        let name = format!("{CHANNEL} {event}");
        let Some((_, _, turn)) = journal.inbox.iter().find(|row| row.0 == name) else { continue };
        let is_completed = journal.turns.iter().any(|row| row.0 == *turn && row.1 == "completed");
        for wish in wishes.iter().filter(|wish| wish.kind != Kind::Talk) {
            let calls: Vec<&Call> = calls_for(journal, wish).collect();
            if is_completed && calls.is_empty() {
                wrong.push(format!("{wish} of event {event} was never tried, and its turn is completed"));
            }
            if let Some(call) = calls.iter().find(|call| call.1 != *turn) {
                wrong.push(format!("{wish} of event {event} was tried in turn {}", call.1));
            }
        }
    }
}

fn every_effect_has_its_row(history: &[(u64, Event)], journal: &Journal, wrong: &mut Vec<String>) {
    let mut titles = BTreeSet::new();
    for (id, title) in &journal.tasks {
        if !titles.insert(title) {
            wrong.push(format!("task {title} is there twice"));
        }
        let quoted = format!("\"{title}\"");
        let is_its =
            |call: &&Call| call.2 == "tasks.create" && call.3 == "completed" && call.4.contains(&quoted);
        if journal.calls.iter().filter(is_its).count() != 1 {
            wrong.push(format!("task {id} “{title}” has not one completed call"));
        }
    }
    let mut mailed: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, event) in history {
        let Event::Mailed { execution, status, phase, answer } = event else { continue };
        *mailed.entry(execution).or_default() += 1;
        // A process that was stopped as it handed an email over does so when it goes on; its row says by then that nobody knows.
        let is_begun = ["running", "unknown"].contains(&status.as_str()) && phase.starts_with("handed_over");
        if !is_begun || answer != "approve" {
            wrong.push(format!(
                "email of {execution} went out when its row was {status}, {phase}, “{answer}”"
            ));
        }
    }
    for (id, _, skill, status, parameters) in &journal.calls {
        let is_there = match skill.as_str() {
            "tasks.create" => {
                journal.tasks.iter().any(|(_, title)| parameters.contains(&format!("\"{title}\"")))
            }
            _ => mailed.contains_key(id.as_str()),
        };
        let is_right = match status.as_str() {
            "completed" => is_there,
            "failed" | "cancelled" => !is_there,
            // Nobody knows.
            _ => true,
        };
        if !is_right {
            wrong.push(format!("{skill} {id} is {status}; its effect is there: {is_there}"));
        }
    }
    let twice = mailed.into_iter().filter(|(_, times)| *times > 1);
    wrong.extend(twice.map(|(id, times)| format!("email of {id} was sent {times} times")));
}

fn answers_come_after_their_effects(history: &[(u64, Event)], wrong: &mut Vec<String>) {
    let is_removed = |receipt: &str| {
        history.iter().any(|(_, event)| matches!(event, Event::Removed(removed) if removed == receipt))
    };
    let left = left_behind(history);
    for (at, event) in history {
        let Event::Shown { receipt, outbox, journal, labels, .. } = event else { continue };
        // A process that was stopped just before it sent something sends it when it goes on, and deletes it if it lives.
        let comes_late = journal.state == "sent" && (is_removed(receipt) || left.contains(receipt.as_str()));
        if journal.state != "sending" && !comes_late {
            wrong.push(format!("at {at}, message {outbox} is sent while its row is “{}”", journal.state));
        }
        let is_end = matches!(journal.turn_status.as_str(), "completed" | "failed" | "cancelled" | "dead");
        if is_end && labels.is_empty() && journal.open > 0 {
            wrong.push(format!("at {at}, message {outbox} is sent while {} calls are open", journal.open));
        }
    }
}

fn questions_are_answered_by_somebody_who_may(
    history: &[(u64, Event)],
    journal: &Journal,
    wrong: &mut Vec<String>,
) {
    for (id, call, state, answer, asked, by) in &journal.questions {
        if state != "answered" {
            continue;
        }
        if by != asked && by != OWNER {
            wrong.push(format!("question {id} to {asked} was answered by {by}"));
        }
        let word = if answer == "approve" { "Approve" } else { "Reject" };
        let is_pressed = |event: &Event| matches!(event, Event::Pressed { person, label, .. } if person == by && label.starts_with(word));
        if !history.iter().any(|(_, event)| is_pressed(event)) {
            wrong.push(format!("question {id} is answered with {answer}, and {by} has never pressed that"));
        }
        let is_done = journal.calls.iter().any(|row| row.0 == *call && row.3 == "completed");
        if is_done && answer != "approve" {
            wrong.push(format!("call {call} is done, and the answer was {answer}"));
        }
    }
}
