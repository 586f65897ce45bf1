//! `chat --json`, pure: an input line becomes an [`Inbound`], an event becomes an output line.
//!
//! A caller's id identifies a message within its conversation, the journal's event id within the channel:
//! `CONVERSATION:ID`. [`event_id`] and [`bare_id`] convert between them.

use adjutant_chat::suggest::nearest;
use adjutant_chat::{
    Address, AnswerDraft, ButtonPress, Choice, EventId, Inbound, IncomingMessage, Outbound, Progress,
    SenderId, sanitized, unchanged,
};
use adjutant_l10n::terminal;
use serde::Serialize;
use serde_json::{Map, Value};

mod file;

pub use file::LocalFile;

/// The conversation of a line that names none.
pub const CONVERSATION: &str = "main";
/// The sender of a line that names none.
pub const USER: &str = "local";
/// The longest text of one message, in characters.
pub const MAX_LENGTH: usize = 100_000;
/// The longest conversation, user, id or button, in bytes.
const MAX_NAME: usize = 200;
/// The most files of one message.
const MAX_FILES: usize = 10;
const KEYS: [&str; 8] = ["text", "conversation", "user", "id", "press", "room", "reply_to", "files"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// An empty line; it is skipped.
    Blank,
    /// A message or a press.
    Entry(Entry),
}

/// A message or a press, with the defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub conversation: String,
    pub user: String,
    /// Whether others read there, too.
    pub room: bool,
    pub id: Option<String>,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Text {
        /// As written.
        text: String,
        /// The receipt (the outbox row's id) of the reply it refers to.
        reply_to: Option<String>,
        files: Vec<LocalFile>,
    },
    /// A press of the button with this id.
    Press(String),
}

impl Entry {
    /// A message of the person at this terminal.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text { text: text.into(), reply_to: None, files: Vec::new() })
    }

    /// A press by the person at this terminal.
    pub fn press(button: impl Into<String>) -> Self {
        Self::of(Content::Press(button.into()))
    }

    fn of(content: Content) -> Self {
        Self { conversation: CONVERSATION.into(), user: USER.into(), room: false, id: None, content }
    }

    /// The entry as an arrival on `channel`; `new_id` makes the id if there is none.
    pub fn into_inbound(self, channel: &str, new_id: &dyn Fn() -> String) -> Inbound {
        let event = event_id(&self.conversation, &self.id.unwrap_or_else(new_id));
        let address = Address { channel: channel.to_owned(), place: self.conversation };
        let (sender, sender_name, direct) = (SenderId(self.user.clone()), self.user, !self.room);
        match self.content {
            Content::Text { text, reply_to, files } => {
                let attachments = files.into_iter().map(LocalFile::into_attachment).collect();
                Inbound::Message(IncomingMessage {
                    event,
                    address,
                    sender,
                    sender_name,
                    direct,
                    is_addressed: true,
                    text,
                    reply_to,
                    attachments,
                    ..IncomingMessage::default()
                })
            }
            Content::Press(button) => {
                Inbound::ButtonPress(ButtonPress { event, address, sender, sender_name, direct, button })
            }
        }
    }
}

/// The event id on the channel. A colon in the conversation becomes `%3A`, or "a:b" with "c" and "a" with "b:c" would
/// be the same message.
pub fn event_id(conversation: &str, id: &str) -> EventId {
    let conversation = conversation.replace('%', "%25").replace(':', "%3A");
    EventId(format!("{conversation}:{id}"))
}

/// The id as the caller gave it.
pub fn bare_id(event: &str) -> &str {
    event.split_once(':').map_or(event, |(_, id)| id)
}

/// Reads a line that may be JSON.
pub fn parse_line(bytes: &[u8]) -> Result<Line, String> {
    let text = utf8(bytes)?;
    if !text.trim_start().starts_with('{') {
        return plain(text);
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => entry(object).map(Line::Entry),
        Ok(_) => Err("The line is JSON, but not an object. Write {\"text\": \"...\"}.".to_owned()),
        Err(error) => {
            let (what, column) = (error.to_string(), error.column());
            let what = what.split(" at line ").next().unwrap_or_default();
            Err(format!(
                "The line starts with {{ but is not valid JSON: {what} (column {column}). Write one whole \
                 object on one line, such as {{\"text\": \"...\"}}; inside a string a quote is \\\" and a \
                 new line is \\n."
            ))
        }
    }
}

/// Reads a line that is plain text, whatever it starts with.
pub fn parse_text(bytes: &[u8]) -> Result<Line, String> {
    utf8(bytes).and_then(plain)
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    str::from_utf8(bytes).map_err(|error| terminal::not_utf8(error.valid_up_to() + 1))
}

fn plain(text: &str) -> Result<Line, String> {
    if text.trim().is_empty() {
        return Ok(Line::Blank);
    }
    let text = text.trim_end_matches(['\n', '\r']);
    let (text, files) = file::attached(text)?.map_or((text, Vec::new()), |(file, text)| (text, vec![file]));
    check_length(text)?;
    let content = Content::Text { text: text.to_owned(), reply_to: None, files };
    Ok(Line::Entry(Entry::of(content)))
}

fn check_length(text: &str) -> Result<(), String> {
    let length = text.chars().count();
    if length <= MAX_LENGTH { Ok(()) } else { Err(terminal::text_too_long(length, MAX_LENGTH)) }
}

fn entry(mut object: Map<String, Value>) -> Result<Entry, String> {
    if let Some(unknown) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(unknown_key(unknown));
    }
    let conversation = name(&mut object, "conversation")?.unwrap_or_else(|| CONVERSATION.to_owned());
    let user = name(&mut object, "user")?.unwrap_or_else(|| USER.to_owned());
    let id = name(&mut object, "id")?;
    let room = match object.remove("room") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(room)) => room,
        Some(_) => return Err("\"room\" must be true or false.".to_owned()),
    };
    let reply_to = name(&mut object, "reply_to")?;
    let press = name(&mut object, "press")?;
    let files = files(&mut object)?;
    let content = match (string(&mut object, "text")?, press) {
        (Some(_), Some(_)) => {
            return Err("\"text\" and \"press\" can't be in one line. Send two lines.".to_owned());
        }
        (None, None) if files.is_empty() => {
            return Err("There is neither \"text\" nor \"press\". Add one of them.".to_owned());
        }
        (None, Some(_)) if !files.is_empty() => {
            return Err("\"files\" belongs to \"text\". Leave it out beside \"press\".".to_owned());
        }
        (None, Some(_)) if reply_to.is_some() => {
            return Err("\"reply_to\" belongs to \"text\". Leave it out beside \"press\".".to_owned());
        }
        (None, Some(button)) => Content::Press(button),
        (Some(text), None) if files.is_empty() && text.trim().is_empty() => {
            return Err("\"text\" is empty. Write something, or leave the line out.".to_owned());
        }
        (text, None) => {
            let text = text.unwrap_or_default();
            check_length(&text)?;
            Content::Text { text, reply_to, files }
        }
    };
    Ok(Entry { conversation, user, room, id, content })
}

/// The files of a message, by their paths.
fn files(object: &mut Map<String, Value>) -> Result<Vec<LocalFile>, String> {
    let paths = match object.remove("files") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(paths)) if paths.len() <= MAX_FILES => paths,
        Some(Value::Array(_)) => return Err(format!("At most {MAX_FILES} files fit into one message.")),
        Some(_) => return Err("\"files\" must be a list of paths.".to_owned()),
    };
    let found = |path: &Value| {
        let path = path.as_str().ok_or("\"files\" must be a list of paths.")?;
        LocalFile::find(path)
    };
    paths.iter().map(found).collect()
}

fn string(object: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match object.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("\"{key}\" must be a string. Put its value in quotes.")),
    }
}

fn name(object: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match string(object, key)? {
        Some(name) if name.trim().is_empty() => Err(format!("\"{key}\" is empty. Fill it, or leave it out.")),
        Some(name) if name.len() > MAX_NAME => {
            Err(format!("\"{key}\" is longer than {MAX_NAME} bytes. Choose a shorter one."))
        }
        name => Ok(name),
    }
}

fn unknown_key(unknown: &str) -> String {
    let shown: String = sanitized(unknown).chars().take(40).collect();
    match nearest(unknown, KEYS) {
        Some(nearest) => format!("\"{shown}\" is not a known key. Did you mean \"{nearest}\"?"),
        None => format!("\"{shown}\" is not a known key. The known ones are {}.", KEYS.join(", ")),
    }
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event<'a> {
    Accepted {
        id: &'a str,
        conversation: &'a str,
    },
    Progress {
        turn: &'a str,
        agents: Vec<AgentStatus<'a>>,
    },
    Text {
        turn: &'a str,
        at: usize,
        text: &'a str,
    },
    Reply {
        conversation: &'a str,
        turn: Option<&'a str>,
        answers: Vec<&'a str>,
        text: &'a str,
        buttons: Vec<&'a Choice>,
    },
    Error {
        line: u64,
        message: &'a str,
    },
}

#[derive(Serialize)]
struct AgentStatus<'a> {
    agent_id: &'a str,
    status: &'a str,
}

impl Event<'_> {
    fn line(&self) -> String {
        // Strings and lists always serialize; were it otherwise, an empty line does no harm.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// The line for a journalled entry.
pub fn accepted(inbound: &Inbound) -> String {
    Event::Accepted { id: bare_id(&inbound.event().0), conversation: &inbound.address().place }.line()
}

/// The line for a turn's progress.
pub fn progress(progress: &Progress) -> String {
    let agents = progress.agents.iter();
    let agents =
        agents.map(|agent| AgentStatus { agent_id: &agent.agent_id, status: &agent.status }).collect();
    Event::Progress { turn: &progress.turn, agents }.line()
}

/// The line for an answer that is being written, of which a program has `shown`: what comes from the first character on
/// that differs.
pub fn text(draft: &AnswerDraft<'_>, shown: &str) -> String {
    let text = sanitized(draft.text);
    let same = unchanged(&text, shown);
    Event::Text { turn: draft.turn, at: same.chars().count(), text: &text[same.len()..] }.line()
}

/// The line for a reply. A program may show its text to somebody, so control characters are made visible here, too.
pub fn reply(outbound: &Outbound) -> String {
    Event::Reply {
        conversation: &outbound.address.place,
        turn: outbound.turn.as_deref(),
        answers: outbound.answers.iter().map(|event| bare_id(event)).collect(),
        text: &sanitized(&outbound.text),
        buttons: outbound.choices.iter().collect(),
    }
    .line()
}

/// The line for an input line that was not understood.
pub fn error(line: u64, message: &str) -> String {
    Event::Error { line, message }.line()
}

#[cfg(test)]
mod tests;
