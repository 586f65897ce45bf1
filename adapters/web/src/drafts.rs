//! The answers that are being written, in memory alone: they come and go without a number, and the journal doesn't know
//! them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_chat::{LengthUnit, unchanged};
use serde_json::Value;
use tokio::sync::watch;

const MAX_DRAFTS: usize = 200;
/// One that hasn't grown for this long isn't being written: another instance delivered its answer.
const ABANDONED: Duration = Duration::from_mins(5);
/// How often a reader looks, at most, however many drafts grow.
const PACE: Duration = Duration::from_millis(50);

/// All drafts, the one that grew last at the end.
#[derive(Debug, Default)]
pub(crate) struct Drafts(watch::Sender<Vec<Draft>>);

#[derive(Debug)]
struct Draft {
    turn: String,
    /// Who may read it.
    person: String,
    /// Empty once it turned out not to be the answer.
    html: Arc<str>,
    written: Instant,
}

pub(crate) struct DraftReader {
    drafts: watch::Receiver<Vec<Draft>>,
    person: String,
    /// What it has of each turn's draft.
    has: HashMap<String, Arc<str>>,
    looked: Instant,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DraftNews {
    /// The events; empty if there are none.
    pub(crate) text: String,
    /// Whether it has had nothing of one of these drafts yet.
    pub(crate) is_first: bool,
}

impl Drafts {
    pub(crate) fn show(&self, turn: &str, person: &str, html: &str) {
        let (turn, person) = (turn.to_owned(), person.to_owned());
        let draft = Draft { turn, person, html: html.into(), written: Instant::now() };
        self.0.send_modify(|drafts| {
            drafts.retain(|old| old.turn != draft.turn && old.written.elapsed() < ABANDONED);
            if drafts.len() == MAX_DRAFTS {
                drafts.remove(0);
            }
            drafts.push(draft);
        });
    }

    /// Forgets a turn's draft, because its answer is on the page.
    pub(crate) fn end(&self, turn: &str) {
        self.0.send_if_modified(|drafts| {
            drafts.retain(|draft| draft.turn != turn);
            false
        });
    }

    pub(crate) fn reader(&self, person: &str) -> DraftReader {
        let (drafts, person) = (self.0.subscribe(), person.to_owned());
        DraftReader { drafts, person, has: HashMap::new(), looked: Instant::now() }
    }
}

impl DraftReader {
    /// Waits until there may be news.
    pub(crate) async fn changed(&mut self) {
        tokio::time::sleep_until((self.looked + PACE).into()).await;
        let _ = self.drafts.changed().await;
    }

    pub(crate) fn news(&mut self) -> DraftNews {
        let drafts = self.drafts.borrow_and_update();
        let mut news = DraftNews::default();
        for draft in drafts.iter() {
            if draft.person != self.person || draft.written.elapsed() >= ABANDONED {
                continue;
            }
            let had = self.has.insert(draft.turn.clone(), draft.html.clone()).unwrap_or_default();
            if had != draft.html {
                news.is_first |= had.is_empty();
                news.text += &event(&draft.turn, &had, &draft.html);
            }
        }
        self.has.retain(|turn, _| drafts.iter().any(|draft| draft.turn == *turn));
        self.looked = Instant::now();
        news
    }
}

/// How much of what a reader has stays, as a script counts, and what comes behind it.
fn event(turn: &str, had: &str, html: &str) -> String {
    let same = unchanged(html, had);
    let (keep, rest) = (LengthUnit::Utf16.length(same), Value::from(&html[same.len()..]));
    format!("event: draft\ndata: {{\"turn\":\"{turn}\",\"keep\":{keep},\"rest\":{rest}}}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_what_it_lacks_of_its_persons_drafts() {
        let drafts = Drafts::default();
        let (mut reader, mut other) = (drafts.reader("p"), drafts.reader("q"));
        let news = |turn: &str, keep: usize, rest: &str| {
            format!("event: draft\ndata: {{\"turn\":\"{turn}\",\"keep\":{keep},\"rest\":\"{rest}\"}}\n\n")
        };
        drafts.show("t", "p", "<p>Hello 🦀</p>");
        assert_eq!(reader.news(), DraftNews { text: news("t", 0, "<p>Hello 🦀</p>"), is_first: true });
        drafts.show("t", "p", "<p>Hello 🦀, \"\n</p>");
        assert_eq!(reader.news(), DraftNews { text: news("t", 11, ", \\\"\\n</p>"), is_first: false });
        assert_eq!(reader.news(), DraftNews::default(), "nothing comes twice");
        drafts.show("t", "p", "");
        assert_eq!(reader.news().text, news("t", 0, ""), "it isn't the answer");
        drafts.show("t", "p", "<p>Now</p>");
        assert_eq!(drafts.reader("p").news().text, news("t", 0, "<p>Now</p>"), "for one that comes later");
        drafts.end("t");
        assert_eq!(reader.news(), DraftNews::default());
        assert_eq!(other.news(), DraftNews::default(), "it isn't theirs");
    }

    #[test]
    fn there_are_never_many() {
        let drafts = Drafts::default();
        (0..=MAX_DRAFTS).for_each(|number| drafts.show(&format!("t{number}"), "p", "<p>…</p>"));
        let turns = || -> Vec<String> { drafts.0.borrow().iter().map(|draft| draft.turn.clone()).collect() };
        assert_eq!((turns().len(), turns()[0].as_str()), (MAX_DRAFTS, "t1"));
        drafts.end("t1");
        assert_eq!(turns()[0], "t2");
    }
}
