//! The last lines that were logged inside of turns, for the page. They are what the log itself has: no secret, nothing that
//! somebody wrote, and only what the log's filter lets through. The buffer is bounded.

use std::collections::VecDeque;
use std::fmt::{Debug, Write};

use adjutant_types::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

const LINES: usize = 1_000;
/// The longest line, in bytes.
const MAX_LENGTH: usize = 500;

static BUFFER: Mutex<VecDeque<Line>> = Mutex::new(VecDeque::new());

#[derive(Debug, Clone)]
pub struct Line {
    pub at: i64,
    pub level: Level,
    /// Where in the program, what, and the details.
    pub text: String,
    turn: String,
}

/// A turn with stored lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub turn: String,
    pub lines: usize,
    /// When the last one was logged.
    pub at: i64,
    pub last: String,
}

/// The lines of the turn with this id, the oldest first.
pub fn of_turn(key: &str) -> Vec<Line> {
    BUFFER.lock().iter().filter(|line| line.turn == key).cloned().collect()
}

/// The turns with stored lines, the last one to log first, at most this many.
pub fn turns(limit: usize) -> Vec<Logged> {
    let mut turns: Vec<Logged> = Vec::new();
    for line in BUFFER.lock().iter().rev() {
        if let Some(logged) = turns.iter_mut().find(|logged| logged.turn == line.turn) {
            logged.lines += 1;
        } else if turns.len() < limit {
            let (turn, last) = (line.turn.clone(), line.text.clone());
            turns.push(Logged { turn, lines: 1, at: line.at, last });
        }
    }
    turns
}

/// Stores the lines.
pub(super) struct Tail;

struct Turn(String);

impl<S> Layer<S> for Tail
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| span.name() == "turn") else { return };
        let mut turn = Turn(String::new());
        attributes.record(&mut turn);
        span.extensions_mut().insert(turn);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let scope = context.event_scope(event).into_iter().flatten();
        let turn = scope.filter_map(|span| span.extensions().get::<Turn>().map(|turn| turn.0.clone())).next();
        let Some(turn) = turn else { return };
        let mut text = Text(format!("{}:", event.metadata().target()));
        event.record(&mut text);
        let line = Line { at: SystemClock.now_ms(), level: *event.metadata().level(), text: text.0, turn };
        let mut lines = BUFFER.lock();
        while lines.len() >= LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

impl Visit for Turn {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "id" {
            self.0 = format!("{value:?}");
        }
    }
}

/// A line's text so far.
struct Text(String);

impl Text {
    fn add(&mut self, name: &str, value: &str) {
        let _ = match name {
            "message" => write!(self.0, " {value}"),
            _ => write!(self.0, " {name}={value}"),
        };
        if self.0.len() > MAX_LENGTH {
            self.0.truncate(self.0.floor_char_boundary(MAX_LENGTH));
            self.0.push('…');
        }
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field.name(), &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn the_last_lines_of_turns_are_kept_and_no_more() {
        let log = tracing_subscriber::registry().with(Tail);
        tracing::subscriber::with_default(log, || {
            tracing::info!("outside of turns");
            for number in 0..LINES + 5 {
                let turn = format!("t{}", number % 2);
                let span = tracing::error_span!("turn", id = %turn, conversation = "c");
                let _inside = span.enter();
                let _deeper = tracing::info_span!("deeper").entered();
                tracing::warn!(number, why = "it \"broke\"", "failed {}", "again");
            }
            let _inside = tracing::error_span!("turn", id = %"long").entered();
            tracing::error!("{}", "ü".repeat(MAX_LENGTH));
        });
        let (even, odd, long) = (of_turn("t0"), of_turn("t1"), of_turn("long"));
        assert_eq!(even.len() + odd.len() + long.len(), LINES);
        let last = even.last().unwrap();
        assert_eq!(last.level, Level::WARN);
        let path = "adjutant::logging::tail::tests";
        assert_eq!(last.text, format!("{path}: failed again number=1004 why=it \"broke\""));
        assert!(long[0].text.len() <= MAX_LENGTH + 3 && long[0].text.ends_with('…'));
        let listed: Vec<(String, usize)> =
            turns(2).into_iter().map(|logged| (logged.turn, logged.lines)).collect();
        assert_eq!(listed, [("long".to_owned(), 1), ("t0".to_owned(), even.len())]);
    }
}
