//! The first messages of a dialogue, and which of them earlier turns said.

use adjutant_models::{Message, Role};
use adjutant_store::first_messages::{self, Added};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirstMessages {
    messages: Vec<Message>,
    past: Vec<PastMessages>,
    /// Who keeps the text of the summary at the end of the first message.
    summary: Option<SummaryKeeper>,
}

/// Who keeps the text of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SummaryKeeper {
    /// These first messages do.
    Own,
    /// Those of an earlier turn, by its `turns.seq`.
    Turn(i64),
}

/// The message and the answer of an earlier turn, as the store can make them again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PastMessages {
    /// The index of its message; the answer is at the next index.
    at: usize,
    turn: i64,
    added: Added,
    /// After how many bytes its texts were cut.
    cut: usize,
}

impl From<Vec<Message>> for FirstMessages {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }
}

impl FirstMessages {
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The index, in a request behind the prefix, of the last message with which the conversation's next turn begins as
    /// well: the one before what is true of this turn alone. None if nothing is told of the turn.
    pub fn stable(&self) -> Option<usize> {
        self.messages.iter().rposition(|message| message.role == Role::System).filter(|at| *at > 0)
    }

    pub fn extend(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.messages.extend(messages);
    }

    /// Adds the message and the answer of an earlier turn, made of [`first_messages::texts_of`] and what is
    /// added to it.
    pub fn add_past(&mut self, turn: i64, texts: [Message; 2], added: Added, cut: usize) {
        self.past.push(PastMessages { at: self.messages.len(), turn, added, cut });
        self.messages.extend(texts);
    }

    /// The first message ends with the conversation's summary. `recorded` is the turn that stores it, with that
    /// turn's first messages as they are stored.
    pub fn has_summary(&mut self, summary: &str, recorded: Option<(i64, String)>) {
        let is_it =
            |(_, stored): &(i64, String)| first_messages::summary_in(stored).as_deref() == Some(summary);
        self.summary =
            Some(recorded.filter(is_it).map_or(SummaryKeeper::Own, |(turn, _)| SummaryKeeper::Turn(turn)));
    }

    /// Whether some of it is in the rows of earlier turns.
    pub fn can_be_short(&self) -> bool {
        !self.past.is_empty() || matches!(self.summary, Some(SummaryKeeper::Turn(_)))
    }

    /// Whether later turns may name it for the text of the summary.
    pub fn keeps_summary(&self) -> bool {
        self.summary == Some(SummaryKeeper::Own)
    }

    pub fn whole(&self) -> String {
        serde_json::to_string(&self.messages).unwrap_or_default()
    }

    /// As JSON, with earlier turns named instead of repeated.
    pub fn short(&self) -> String {
        let mut items: Vec<Value> = Vec::new();
        let (mut at, mut past) = (0, self.past.as_slice());
        while at < self.messages.len() {
            let is_run =
                |(n, message): (usize, &PastMessages)| message.at == at + n * 2 && message.cut == past[0].cut;
            let run = past.iter().enumerate().take_while(|(n, message)| is_run((*n, message))).count();
            if run == 0 {
                items.push(self.item(at));
                at += 1;
                continue;
            }
            let (these, rest) = past.split_at(run);
            let turns: Vec<_> = these.iter().map(|message| (message.turn, &message.added)).collect();
            items.push(first_messages::past(&turns, these[0].cut));
            (at, past) = (at + run * 2, rest);
        }
        Value::Array(items).to_string()
    }

    fn item(&self, at: usize) -> Value {
        let mut item = serde_json::to_value(&self.messages[at]).unwrap_or_default();
        if let (0, Some(SummaryKeeper::Turn(turn))) = (at, self.summary)
            && let Some((head, _)) = self.messages[0].text.split_once(first_messages::EARLIER)
        {
            item["text"] = head.into();
            item["summary"] = turn.into();
        }
        item
    }
}
