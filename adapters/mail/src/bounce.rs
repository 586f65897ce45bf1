//! Delivery status notifications (RFC 3464): a server tells that a letter did not arrive.

use mail_parser::{MessageParser, MessagePart, MimeHeaders, PartType};

use crate::compose::message_id;

/// A letter of which a server says that it did not arrive. Anybody can write one; that it is about a letter of
/// ours its `original` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounce {
    /// The notification's own id.
    pub id: String,
    /// Its number in the inbox: later ones are greater.
    pub uid: u32,
    /// The Message-ID of the letter that did not arrive, with brackets.
    pub original: Option<String>,
    /// Whom it did not reach.
    pub failed: Vec<Failed>,
}

/// Somebody whom a letter did not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Their address.
    pub recipient: String,
    /// The status code, such as `5.1.1` (RFC 3463).
    pub status: String,
    /// What the server said.
    pub diagnostic: String,
}

/// So many recipients of a notification are named.
const RECIPIENTS: usize = 100;

/// Characters of what a server says.
const WORDS: usize = 300;

impl Bounce {
    /// From a letter's bytes; None when it is no notification of a failure.
    pub(crate) fn parse(bytes: &[u8], id: String, uid: u32) -> Option<Self> {
        let whole = MessageParser::default().parse(bytes)?;
        let status = whole.parts.iter().find(|part| is(part, "message", "delivery-status"))?;
        let status = String::from_utf8_lossy(status.contents()).into_owned();
        let failed: Vec<Failed> = groups(&status).filter_map(failed).take(RECIPIENTS).collect();
        if failed.is_empty() {
            return None;
        }
        let original = whole.parts.iter().find_map(|part| match &part.body {
            PartType::Message(letter) => letter.message_id().and_then(message_id),
            _ if is(part, "text", "rfc822-headers") || is(part, "message", "rfc822") => {
                MessageParser::default().parse_headers(part.contents())?.message_id().and_then(message_id)
            }
            _ => None,
        });
        Some(Self { id, uid, original, failed })
    }
}

fn is(part: &MessagePart<'_>, kind: &str, subtype: &str) -> bool {
    part.content_type().is_some_and(|it| {
        it.ctype().eq_ignore_ascii_case(kind)
            && it.subtype().is_some_and(|found| found.eq_ignore_ascii_case(subtype))
    })
}

/// The groups of fields, one for the letter and one for each recipient, their folded lines joined.
fn groups(status: &str) -> impl Iterator<Item = Vec<(String, String)>> {
    let status = status.replace("\r\n", "\n").replace("\n ", " ").replace("\n\t", " ");
    let groups: Vec<Vec<(String, String)>> = status
        .split("\n\n")
        .map(|group| {
            let fields = group.lines().filter_map(|line| line.split_once(':'));
            fields.map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned())).collect()
        })
        .collect();
    groups.into_iter()
}

fn failed(group: Vec<(String, String)>) -> Option<Failed> {
    let field = |name: &str| {
        let value = group.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
        // Most values begin with their type: `rfc822; a@b`.
        value.map(|value| value.split_once(';').map_or(value, |(_, value)| value).trim().chars().take(WORDS))
    };
    let text = |name: &str| field(name).map(Iterator::collect::<String>);
    if !text("action")?.eq_ignore_ascii_case("failed") {
        return None;
    }
    Some(Failed {
        recipient: text("original-recipient").or_else(|| text("final-recipient"))?,
        status: text("status").unwrap_or_default(),
        diagnostic: text("diagnostic-code").unwrap_or_default(),
    })
}
