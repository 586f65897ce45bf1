//! The receiving side: lines become events on a channel.
//!
//! Reading blocks, so it has its own thread, which ends with the process. The channel is bounded: a sender faster than
//! the journal has to wait.

mod keys;
mod lines;
mod terminal;

use std::io::{self, BufRead};
use std::sync::Arc;

use adjutant_chat::Inbound;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::json::{Entry, parse_line, parse_text};

pub use terminal::terminal;

/// Input from the person or the program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and nearly all are lines")]
pub enum Event {
    /// A message or a press.
    Line(Inbound),
    /// A line that was not understood.
    Bad {
        /// Its number, from 1.
        line: u64,
        /// What is wrong and how to fix it.
        message: String,
    },
    /// Ctrl-C on a terminal.
    Interrupt,
    /// The end of the input, or `/quit` on a terminal. Nothing comes after it.
    Eof,
}

/// The channel and conversation of the input, and a source of new ids.
#[derive(Clone)]
pub struct Source {
    pub channel: String,
    /// The conversation of plain lines.
    pub conversation: String,
    /// Makes an id for a line that has none.
    pub new_id: Arc<dyn Fn() -> String + Send + Sync>,
}

impl Source {
    /// A plain line as what arrived.
    pub fn inbound(&self, entry: Entry) -> Inbound {
        entry.into_inbound(&self.channel, &*self.new_id)
    }

    fn plain(&self, entry: Entry) -> Inbound {
        self.inbound(Entry { conversation: self.conversation.clone(), ..entry })
    }
}

/// What stands before a line that a person types.
pub(crate) const PROMPT: &str = "› ";

/// How many events may wait for the engine.
const WAITING: usize = 64;

/// Reads lines of `chat --json`.
pub fn json(reader: impl BufRead + Send + 'static, source: Source) -> io::Result<Receiver<Event>> {
    start(move |events| lines::read(reader, &events, parse_line, |entry| source.inbound(entry)))
}

/// Reads lines of plain text, from a pipe or a file.
pub fn plain(reader: impl BufRead + Send + 'static, source: Source) -> io::Result<Receiver<Event>> {
    start(move |events| lines::read(reader, &events, parse_text, |entry| source.plain(entry)))
}

fn start(read: impl FnOnce(Sender<Event>) + Send + 'static) -> io::Result<Receiver<Event>> {
    let (sender, receiver) = channel(WAITING);
    std::thread::Builder::new().name("console-in".to_owned()).spawn(move || read(sender))?;
    Ok(receiver)
}
