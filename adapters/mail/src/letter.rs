//! Reading a letter: what stands in its headers, what it says, what goes with it.

use chrono::{DateTime, FixedOffset};
use mail_parser::{Address, HeaderValue, MessageParser, MessagePart, MimeHeaders, PartType};

use crate::compose::message_id;
use crate::{Party, html};

/// Bytes of a letter's text that are given.
pub const TEXT_CAP: usize = 64 << 10;

/// What stands at the end of a text that was cut.
const CUT: &str = "\n[The letter goes on; the rest was cut.]";

/// Characters of a snippet.
const SNIPPET: usize = 160;

/// So many parties, references and attachments of a letter are named.
const MANY: usize = 200;

/// A letter as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Our own name for it, good until it is moved.
    pub id: String,
    /// Its Message-ID with brackets, good wherever it lies.
    pub message_id: Option<String>,
    /// Who wrote it.
    pub from: Vec<Party>,
    /// To whom.
    pub to: Vec<Party>,
    /// What it is about.
    pub subject: String,
    /// When it was written.
    pub date: Option<DateTime<FixedOffset>>,
    /// Whether nobody has read it.
    pub unread: bool,
    /// Whether it is marked as important.
    pub flagged: bool,
    /// The folder that it lies in.
    pub folder: String,
    /// How its text begins, in one line.
    pub snippet: String,
}

/// Something that goes with a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// What it is called, if it has a name.
    pub name: Option<String>,
    /// Its media type.
    pub media_type: String,
    /// Its size in bytes; of a big letter's attachments an estimate.
    pub size: usize,
}

/// A letter with its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Letter {
    /// Our own name for it, good until it is moved.
    pub id: String,
    /// Its Message-ID with brackets.
    pub message_id: Option<String>,
    /// Who wrote it.
    pub from: Vec<Party>,
    /// To whom.
    pub to: Vec<Party>,
    /// Who got a copy.
    pub cc: Vec<Party>,
    /// Who wants the answers, when it is not who wrote it.
    pub reply_to: Vec<Party>,
    /// What it is about.
    pub subject: String,
    /// When it was written.
    pub date: Option<DateTime<FixedOffset>>,
    /// The Message-ID of the letter that it answers.
    pub in_reply_to: Option<String>,
    /// The Message-IDs of the letters before it.
    pub references: Vec<String>,
    /// What it says: its plain part, or its HTML made readable. Untrusted.
    pub text: String,
    /// Whether the text was cut at [`TEXT_CAP`].
    pub is_cut: bool,
    /// What goes with it.
    pub attachments: Vec<Attached>,
    /// Whether nobody has read it.
    pub unread: bool,
    /// Whether it is marked as important.
    pub flagged: bool,
    /// The folder that it lies in.
    pub folder: String,
}

impl Letter {
    /// From a letter's bytes, whole or only their beginning; what is broken in it is read as well as can be.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let Some(whole) = MessageParser::default().parse(bytes) else { return Self::default() };
        let ids = |value: &HeaderValue<'_>| -> Vec<String> {
            let ids = match value {
                HeaderValue::Text(id) => vec![id.to_string()],
                HeaderValue::TextList(ids) => ids.iter().map(ToString::to_string).collect(),
                _ => Vec::new(),
            };
            ids.iter().filter_map(|id| message_id(id)).take(MANY).collect()
        };
        let plain = whole.text_bodies().map(words).collect::<Vec<_>>().join("\n");
        let text = if plain.trim().is_empty() {
            whole.html_bodies().map(words).collect::<Vec<_>>().join("\n")
        } else {
            plain
        };
        let (text, is_cut) = cut(text);
        Self {
            message_id: whole.message_id().and_then(message_id),
            from: parties(whole.from()),
            to: parties(whole.to()),
            cc: parties(whole.cc()),
            reply_to: parties(whole.reply_to()),
            subject: line(whole.subject().unwrap_or_default()),
            date: whole.date().and_then(|date| DateTime::parse_from_rfc3339(&date.to_rfc3339()).ok()),
            in_reply_to: ids(whole.in_reply_to()).into_iter().next(),
            references: ids(whole.references()),
            text,
            is_cut,
            attachments: whole.attachments().take(MANY).map(attached).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn summary(self) -> Summary {
        Summary {
            id: self.id,
            message_id: self.message_id,
            from: self.from,
            to: self.to,
            subject: self.subject,
            date: self.date,
            unread: self.unread,
            flagged: self.flagged,
            folder: self.folder,
            snippet: line(&self.text).chars().take(SNIPPET).collect(),
        }
    }
}

fn parties(address: Option<&Address<'_>>) -> Vec<Party> {
    let parties = address.into_iter().flat_map(Address::iter).filter_map(|party| {
        let name = party.name.as_deref().map(line).filter(|name| !name.is_empty());
        Some(Party { name, address: line(party.address.as_deref()?) })
    });
    parties.take(MANY).collect()
}

/// In one line, without what can't be seen.
fn line(text: &str) -> String {
    html::visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn words(part: &MessagePart<'_>) -> String {
    match &part.body {
        PartType::Text(text) => html::visible(text),
        PartType::Html(page) => html::readable(page),
        _ => String::new(),
    }
}

fn cut(mut text: String) -> (String, bool) {
    let is_cut = text.len() > TEXT_CAP;
    if is_cut {
        text.truncate(text.floor_char_boundary(TEXT_CAP - CUT.len()));
        text.push_str(CUT);
    }
    (text, is_cut)
}

fn attached(part: &MessagePart<'_>) -> Attached {
    let media_type = part.content_type().map(|kind| match kind.subtype() {
        Some(subtype) => format!("{}/{subtype}", kind.ctype()).to_lowercase(),
        None => kind.ctype().to_lowercase(),
    });
    Attached {
        name: part.attachment_name().map(line),
        media_type: line(&media_type.unwrap_or_else(|| "application/octet-stream".to_owned())),
        size: part.len(),
    }
}

/// An attachment known by its own headers alone.
pub(crate) fn attached_by(headers: &[u8], size: usize) -> Option<Attached> {
    let whole = MessageParser::default().parse(headers)?;
    Some(Attached { size, ..attached(whole.parts.first()?) })
}
