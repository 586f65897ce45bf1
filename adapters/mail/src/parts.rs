//! The parts of a message.
//!
//! Messages inside of messages aren't opened: mail-parser does so without a limit of depth, and copies encoded ones at
//! each level. It therefore gets the message without the words that name them, and tells only where parts begin and end.
//! What they say is read from the message as it came.

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{ContentType, Message, MessageParser, MessagePart, MimeHeaders, PartType};

/// The types of parts that hold messages: `message/rfc822`, `message/global` and `multipart/digest`.
const NESTING: [&[u8]; 3] = [b"rfc822", b"global", b"digest"];

pub(crate) struct Whole<'a> {
    pub(crate) head: Option<Message<'a>>,
    raw: &'a [u8],
    shape: Message<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A text in HTML.
    Page,
    Other,
}

pub(crate) struct Part<'a> {
    pub(crate) kind: Kind,
    head: Option<Message<'a>>,
    raw: &'a [u8],
}

/// Finds the parts of a message, and reads them.
pub(crate) fn parsed<T>(raw: &[u8], read: impl FnOnce(&Whole<'_>) -> T) -> Option<T> {
    let flat = flattened(raw);
    let shape = MessageParser::default().parse(&flat)?;
    let head = MessageParser::default().parse_headers(raw);
    Some(read(&Whole { head, raw, shape }))
}

/// The message with nothing in it that is called a message, as long as it was.
fn flattened(raw: &[u8]) -> Vec<u8> {
    let mut flat = raw.to_vec();
    let length = NESTING[0].len();
    for at in 0..flat.len().saturating_sub(length - 1) {
        let word = &mut flat[at..at + length];
        if NESTING.iter().any(|nesting| word.eq_ignore_ascii_case(nesting)) {
            word[length - 1] = b'-';
        }
    }
    flat
}

impl<'a> Whole<'a> {
    /// The texts that are shown, or pages where there is no text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = Part<'a>> {
        self.shape.text_bodies().map(|part| self.part(part))
    }

    /// The pages that are shown, or texts where there is no page.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Part<'a>> {
        self.shape.html_bodies().map(|part| self.part(part))
    }

    pub(crate) fn attachments(&self) -> impl Iterator<Item = Part<'a>> {
        self.shape.attachments().map(|part| self.part(part))
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = Part<'a>> {
        self.shape.parts.iter().map(|part| self.part(part))
    }

    fn part(&self, part: &MessagePart<'_>) -> Part<'a> {
        let between = |from: u32, to: u32| self.raw.get(from as usize..to as usize).unwrap_or_default();
        let kind = match part.body {
            PartType::Text(_) => Kind::Text,
            PartType::Html(_) => Kind::Page,
            _ => Kind::Other,
        };
        let headers = between(part.offset_header, part.offset_body);
        Part::new(headers, between(part.offset_body, part.offset_end), kind)
    }
}

impl<'a> Part<'a> {
    pub(crate) fn new(headers: &'a [u8], raw: &'a [u8], kind: Kind) -> Self {
        Self { kind, head: MessageParser::default().parse_headers(headers), raw }
    }

    pub(crate) fn headers(&self) -> Option<&MessagePart<'a>> {
        self.head.as_ref()?.parts.first()
    }

    pub(crate) fn content_type(&self) -> Option<&ContentType<'_>> {
        self.headers()?.content_type()
    }

    pub(crate) fn is(&self, kind: &str, subtype: &str) -> bool {
        self.content_type().is_some_and(|it| {
            it.ctype().eq_ignore_ascii_case(kind)
                && it.subtype().is_some_and(|found| found.eq_ignore_ascii_case(subtype))
        })
    }

    /// What it contains, byte for byte.
    pub(crate) fn content(&self) -> Vec<u8> {
        let encoding = self.headers().and_then(|part| part.content_transfer_encoding()).unwrap_or_default();
        let decoded = match encoding.to_ascii_lowercase().as_str() {
            "quoted-printable" => quoted_printable_decode(self.raw),
            "base64" => base64_decode(self.raw),
            _ => None,
        };
        decoded.unwrap_or_else(|| self.raw.to_vec())
    }

    /// What it says, in the charset that it names, or else in UTF-8.
    pub(crate) fn text(&self) -> String {
        let content = self.content();
        let charset = self.content_type().and_then(|kind| kind.attribute("charset"));
        charset
            .and_then(|charset| decoded(&content, charset))
            .unwrap_or_else(|| String::from_utf8_lossy(&content).into_owned())
    }
}

/// What a text in this charset says, if it's a known one.
pub fn decoded(bytes: &[u8], charset: &str) -> Option<String> {
    Some(charset_decoder(charset.as_bytes())?(bytes))
}
