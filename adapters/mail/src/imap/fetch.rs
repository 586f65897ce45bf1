//! Reads messages: small ones as a whole, big ones by structure and text part.

use async_imap::imap_proto::{
    AttributeValue, BodyContentCommon, BodyStructure, ContentEncoding, MessageSection, Response, SectionPath,
};
use chrono::{DateTime, FixedOffset};

use super::session::{Command, Session};
use super::{Imap, MessageRef, location_id, run};
use crate::message::{AttachmentInfo, attached_by, attachment, only_part, truncate};
use crate::{ErrorKind, MailError, Message, Result};

/// Messages up to this size are fetched as a whole.
const SMALL: u32 = 512 << 10;

/// How much is fetched of a big message's headers, of a part's headers, and of the encoded text, in bytes.
const HEADERS: usize = 64 << 10;
const PART_HEADERS: usize = 4 << 10;
const PART: usize = 256 << 10;

const MAX_PARTS: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) uid: u32,
    pub(super) size: u32,
    pub(super) arrived: Option<DateTime<FixedOffset>>,
    pub(super) seen: bool,
    pub(super) flagged: bool,
    pub(super) answered: bool,
    pub(super) whole: Vec<u8>,
    pub(super) header: Vec<u8>,
    pub(super) text: Vec<u8>,
    /// Parts by number, and whether these are their headers.
    sections: Vec<(Vec<u32>, bool, Vec<u8>)>,
    leaves: Vec<Leaf>,
}

impl Item {
    /// The message, as far as its beginning was fetched.
    pub(super) fn message(&self, validity: u32, folder: &str) -> Message {
        let message = Message::parse(&[self.header.as_slice(), self.text.as_slice()].concat());
        self.described(message, validity, folder)
    }

    /// A message with what the server says of it.
    fn described(&self, message: Message, validity: u32, folder: &str) -> Message {
        Message {
            id: location_id(self.uid, validity, folder),
            date: message.date.or(self.arrived),
            unread: !self.seen,
            flagged: self.flagged,
            answered: self.answered,
            folder: folder.to_owned(),
            ..message
        }
    }
}

#[derive(Debug, Clone)]
struct Leaf {
    path: Vec<u32>,
    is_text: bool,
    is_html: bool,
    is_attachment: bool,
    /// The encoded size.
    octets: usize,
    size: usize,
}

impl Imap {
    /// Reads a message, given by our id or its Message-ID, without marking it as read.
    pub async fn read(&self, id: &str) -> Result<Message> {
        let name: MessageRef = id.parse()?;
        let read = run!(self, |session| { session.read(&name, true).await });
        match read {
            // Servers and parsers get structures wrong; then the beginning of the message must do.
            Err(error) if matches!(error.kind, ErrorKind::Tool | ErrorKind::Network) => {
                run!(self, |session| { session.read(&name, false).await })
            }
            read => read,
        }
    }

    /// Fetches an attachment of a message, by its number from 1 in [`Message::attachments`], if it has at most so many
    /// bytes.
    pub async fn attachment(&self, id: &str, number: usize, max: usize) -> Result<(AttachmentInfo, Vec<u8>)> {
        let name: MessageRef = id.parse()?;
        run!(self, |session| { session.attachment(&name, number, max).await })
    }
}

impl Session {
    async fn attachment(
        &mut self,
        name: &MessageRef,
        number: usize,
        most: usize,
    ) -> Result<(AttachmentInfo, Vec<u8>)> {
        let none = || MailError::not_found(format!("the message has no attachment {number}"));
        let at = self.locate(name).await?;
        let about = self.fetch(&[at.uid], "(UID RFC822.SIZE)", 0).await?;
        if about.into_iter().next().ok_or_else(none)?.size <= SMALL {
            let whole = self.fetch(&[at.uid], "(UID BODY.PEEK[])", SMALL as usize).await?;
            return attachment(&whole.into_iter().next().ok_or_else(none)?.whole, number).ok_or_else(none);
        }
        let what = format!("(UID BODYSTRUCTURE BODY.PEEK[HEADER]<0.{HEADERS}>)");
        let shape = self.fetch(&[at.uid], &what, HEADERS).await?.into_iter().next().ok_or_else(none)?;
        let is_only = shape.leaves.len() == 1;
        let mut attached = shape.leaves.iter().filter(|leaf| !leaf.is_text || leaf.is_attachment);
        let leaf = number.checked_sub(1).and_then(|before| attached.nth(before)).ok_or_else(none)?;
        if leaf.size > most {
            return Err(MailError::params(format!(
                "the attachment has {} bytes; {most} are the limit",
                leaf.size
            )));
        }
        let place = number_of(&leaf.path);
        let what = match is_only {
            true => "(UID BODY.PEEK[TEXT])".to_owned(),
            false => format!("(UID BODY.PEEK[{place}.MIME]<0.{PART_HEADERS}> BODY.PEEK[{place}])"),
        };
        let part = self.fetch(&[at.uid], &what, leaf.octets + PART_HEADERS).await?;
        let part = part.into_iter().next().ok_or_else(none)?;
        if is_only {
            return Ok(only_part(&shape.header, &part.text));
        }
        let section = |wanted: bool| {
            let found = part.sections.iter().find(|(_, is_head, _)| *is_head == wanted);
            found.map(|(_, _, bytes)| bytes.as_slice()).unwrap_or_default()
        };
        Ok(only_part(section(true), section(false)))
    }

    async fn read(&mut self, name: &MessageRef, by_structure: bool) -> Result<Message> {
        let at = self.locate(name).await?;
        let gone = || MailError::not_found(format!("the message is no longer in {}", at.folder));
        let about = self.fetch(&[at.uid], "(UID FLAGS INTERNALDATE RFC822.SIZE)", 0).await?;
        let about = about.into_iter().next().ok_or_else(gone)?;
        let message = if by_structure && about.size > SMALL {
            self.read_parts(at.uid).await?
        } else {
            let whole =
                self.fetch(&[at.uid], &format!("(UID BODY.PEEK[]<0.{SMALL}>)"), SMALL as usize).await?;
            let message = Message::parse(&whole.into_iter().next().ok_or_else(gone)?.whole);
            let (text, is_truncated) = truncate(message.text, message.is_truncated || about.size > SMALL);
            Message { text, is_truncated, ..message }
        };
        Ok(Item { uid: at.uid, ..about }.described(message, at.validity, &at.folder))
    }

    async fn read_parts(&mut self, uid: u32) -> Result<Message> {
        let what = format!("(UID BODYSTRUCTURE BODY.PEEK[HEADER]<0.{HEADERS}>)");
        let shape = self.fetch(&[uid], &what, HEADERS).await?.into_iter().next().unwrap_or_default();
        let leaves = shape.leaves;
        let readable = |leaf: &&Leaf| leaf.is_text && !leaf.is_attachment;
        let body = leaves.iter().filter(readable).find(|leaf| !leaf.is_html);
        let body = body.or_else(|| leaves.iter().find(readable)).cloned();
        if let [leaf] = leaves.as_slice() {
            // The only part's headers are those of the message.
            let text = self.fetch(&[uid], &format!("(UID BODY.PEEK[TEXT]<0.{PART}>)"), PART).await?;
            let text = text.into_iter().next().unwrap_or_default().text;
            let mut message = Message::parse(&[shape.header, text].concat());
            (message.text, message.is_truncated) =
                truncate(message.text, message.is_truncated || (leaf.is_text && leaf.octets > PART));
            message.attachments.iter_mut().for_each(|attached| attached.size = leaf.size);
            return Ok(message);
        }
        let mut what = String::from("(UID");
        for leaf in leaves.iter().take(MAX_PARTS) {
            what.push_str(&format!(" BODY.PEEK[{}.MIME]<0.{PART_HEADERS}>", number_of(&leaf.path)));
        }
        what.extend(body.as_ref().map(|body| format!(" BODY.PEEK[{}]<0.{PART}>", number_of(&body.path))));
        let parts = self.fetch(&[uid], &format!("{what})"), PART + MAX_PARTS * PART_HEADERS).await?;
        let parts = parts.into_iter().next().unwrap_or_default().sections;
        let section = |path: &[u32], is_head: bool| {
            parts
                .iter()
                .find(|(of, head, _)| of == path && *head == is_head)
                .map(|(_, _, bytes)| bytes.clone())
        };
        let mut message = Message::parse(&shape.header);
        if let Some(body) = &body {
            let bytes =
                [section(&body.path, true), section(&body.path, false)].map(Option::unwrap_or_default);
            let parsed = Message::parse(&bytes.concat());
            (message.text, message.is_truncated) =
                truncate(parsed.text, parsed.is_truncated || body.octets > PART);
        }
        let others = leaves.iter().filter(|leaf| !leaf.is_text || leaf.is_attachment);
        message.attachments =
            others.filter_map(|leaf| Some(attached_by(&section(&leaf.path, true)?, leaf.size))).collect();
        Ok(message)
    }

    /// Fetches data items of these messages, with at most `each` bytes of content per message.
    pub(super) async fn fetch(&mut self, uids: &[u32], what: &str, each: usize) -> Result<Vec<Item>> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let set = uids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let fetch = Command::new(&format!("UID FETCH {set} {what}"));
        // Twice, because responses hold more than the content.
        self.items(&fetch.response_limit((each + (1 << 20)) * 2 + each * uids.len() * 2)).await
    }

    pub(super) async fn items(&mut self, fetch: &Command) -> Result<Vec<Item>> {
        let mut items: Vec<Item> = Vec::new();
        let on_response = |response: &Response<'_>| {
            if let Response::Fetch(_, values) = response {
                let item = item(values);
                // Servers also report changed flags, without the requested data.
                if item.uid != 0 && items.iter().all(|known| known.uid != item.uid) {
                    items.push(item);
                }
            }
        };
        self.run(&fetch.clone().timeout_factor(2), on_response).await?;
        Ok(items)
    }
}

fn number_of(path: &[u32]) -> String {
    path.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

fn item(values: &[AttributeValue<'_>]) -> Item {
    let mut item = Item::default();
    for value in values {
        match value {
            AttributeValue::Uid(uid) => item.uid = *uid,
            AttributeValue::Rfc822Size(size) => item.size = *size,
            AttributeValue::InternalDate(date) => {
                item.arrived = DateTime::parse_from_str(date.trim(), "%d-%b-%Y %H:%M:%S %z").ok();
            }
            AttributeValue::Flags(flags) => {
                let has = |name: &str| flags.iter().any(|flag| flag.eq_ignore_ascii_case(name));
                item.seen = has("\\Seen");
                item.flagged = has("\\Flagged");
                item.answered = has("\\Answered");
            }
            AttributeValue::BodyStructure(structure) => leaves(structure, Vec::new(), &mut item.leaves),
            AttributeValue::BodySection { section, data: Some(data), .. } => {
                let data = data.to_vec();
                match section {
                    None => item.whole = data,
                    Some(SectionPath::Full(MessageSection::Text)) => item.text = data,
                    Some(SectionPath::Full(_)) => item.header = data,
                    Some(SectionPath::Part(path, section)) => {
                        item.sections.push((path.clone(), section.is_some(), data));
                    }
                }
            }
            _ => {}
        }
    }
    item
}

/// Collects the parts without nested parts; forwarded messages count as one.
fn leaves(structure: &BodyStructure<'_>, path: Vec<u32>, into: &mut Vec<Leaf>) {
    if let BodyStructure::Multipart { bodies, .. } = structure {
        for (number, body) in (1..).zip(bodies) {
            leaves(body, [path.as_slice(), &[number]].concat(), into);
        }
        return;
    }
    let (common, other, is_text) = match structure {
        BodyStructure::Text { common, other, .. } => (common, other, true),
        BodyStructure::Basic { common, other, .. } | BodyStructure::Message { common, other, .. } => {
            (common, other, false)
        }
        BodyStructure::Multipart { .. } => return,
    };
    let octets = other.octets as usize;
    // Base64 has lines of 76 characters and a line end for every 57 bytes.
    let is_base64 = matches!(other.transfer_encoding, ContentEncoding::Base64);
    let size = if is_base64 { octets / 78 * 57 + octets % 78 * 3 / 4 } else { octets };
    into.push(Leaf {
        path: if path.is_empty() { vec![1] } else { path },
        is_text: is_text && is_shown(common),
        is_html: common.ty.subtype.eq_ignore_ascii_case("html"),
        is_attachment: common.disposition.as_ref().is_some_and(|it| it.ty.eq_ignore_ascii_case("attachment")),
        octets,
        size,
    });
}

fn is_shown(common: &BodyContentCommon<'_>) -> bool {
    ["plain", "html"].iter().any(|shown| common.ty.subtype.eq_ignore_ascii_case(shown))
}
