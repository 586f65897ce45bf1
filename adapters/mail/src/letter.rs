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

/// So many parts without an end are mended.
const BOUNDARIES: usize = 32;

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
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let closed = [bytes, &closers(bytes)].concat();
        let Some(whole) = MessageParser::default().parse(&closed) else { return Self::default() };
        let ids = |value: &HeaderValue<'_>| -> Vec<String> {
            let ids = match value {
                HeaderValue::Text(id) => vec![id.to_string()],
                HeaderValue::TextList(ids) => ids.iter().map(ToString::to_string).collect(),
                _ => Vec::new(),
            };
            ids.iter().filter_map(|id| message_id(id)).take(MANY).collect()
        };
        let mut said = words(whole.text_bodies());
        if said.0.trim().is_empty() {
            said = words(whole.html_bodies());
        }
        let (text, is_cut) = cut(said.0, said.1);
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

/// The ends of the parts that have none, because the letter is broken or only its beginning was fetched: the
/// library neither decodes nor shows a part without an end.
fn closers(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut closers = Vec::new();
    for (at, _) in text.to_ascii_lowercase().match_indices("boundary=").take(BOUNDARIES) {
        let value = text.get(at + "boundary=".len()..).unwrap_or_default();
        let boundary = match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => value.split(|c: char| c == ';' || c.is_whitespace()).next(),
        };
        let Some(boundary) = boundary.filter(|it| !it.is_empty() && it.len() < 100) else { continue };
        if text.contains(&format!("\n--{boundary}")) && !text.contains(&format!("\n--{boundary}--")) {
            closers.push(format!("\r\n--{boundary}--\r\n"));
        }
    }
    closers.reverse();
    closers.concat().into_bytes()
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

/// What these parts say, and whether the end of it was left out.
fn words<'a>(parts: impl Iterator<Item = &'a MessagePart<'a>>) -> (String, bool) {
    let said = parts.map(|part| match &part.body {
        PartType::Text(text) => (html::visible(text), false),
        PartType::Html(page) => html::readable(page),
        _ => (String::new(), false),
    });
    let (texts, cuts): (Vec<_>, Vec<_>) = said.unzip();
    (texts.join("\n"), cuts.contains(&true))
}

/// The text up to the cap, with a note when something is left out.
pub(crate) fn cut(mut text: String, is_cut: bool) -> (String, bool) {
    let is_cut = is_cut || text.len() > TEXT_CAP;
    if is_cut && !text.ends_with(CUT) {
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

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::{Letter, TEXT_CAP};
    use crate::bounce::Bounce;

    #[test]
    fn what_is_broken_is_read_as_well_as_can_be() {
        let text = |raw: &str| Letter::parse(raw.as_bytes()).text;
        assert_eq!(text("Subject: x\n\nplain\n"), "plain");
        assert_eq!(
            text("Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nno end"),
            "no end"
        );
        let cut = "Content-Type: multipart/mixed; boundary=\"b c\"\n\n--b c\nContent-Type: multipart/alternative;\n \
                   boundary=d\n\n--d\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: ";
        assert_eq!(text(&format!("{cut}base64\n\nw7xiZXI=\nw7xiZX")), "überüb", "a beginning is decoded");
        assert_eq!(text(&format!("{cut}quoted-printable\n\n=C3=BCber")), "über");
        assert_eq!(text("Content-Transfer-Encoding: base64\n\naGVsbG8gd29yb"), "hello wor");
        assert_eq!(text("Content-Type: text/plain; charset=klingon\n\nhello"), "hello");
        assert_eq!(
            Letter::parse(b"Content-Type: text/plain; charset=iso-8859-1\n\ngr\xfc\xdfe").text,
            "grüße"
        );
        let empty = "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n \n--b\n\
                     Content-Type: text/html\n\n<p>the page</p>\n--b--\n";
        assert_eq!(text(empty), "the page", "an empty plain part says nothing");
        let letter =
            Letter::parse(b"Subject: =?utf-8?Q?a=0Ab?= =?x?B?y?=\nFrom: a\nDate: Sat, 99 Foo 2026\n\n");
        assert!(!letter.subject.contains('\n'), "{letter:?}");
        assert_eq!(letter.date, None);
        assert_eq!(Letter::parse(b""), Letter::default());
    }

    #[test]
    fn what_shows_nothing_is_left_out() {
        let letter = Letter::parse("\n\na\u{200b}b\u{e0041}\u{202e}c\u{7}\n\n\n\n\nd".as_bytes());
        assert_eq!(letter.text, "abc\n\nd");
    }

    #[test]
    fn a_text_is_cut_at_its_cap() {
        let letter = Letter::parse(format!("\n{}", "é".repeat(TEXT_CAP)).as_bytes());
        assert!(letter.is_cut && letter.text.len() <= TEXT_CAP && letter.text.len() > TEXT_CAP - 10);
        assert!(letter.text.ends_with("é\n[The letter goes on; the rest was cut.]"));
    }

    #[test]
    fn what_nests_without_end_does_not_exhaust_us() {
        let mut parts = String::new();
        for number in 0..2000 {
            let _ = write!(parts, "Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n");
        }
        assert_eq!(Letter::parse(parts.as_bytes()).text, "");
        for tag in ["<div>", "<table><tr><td>", "<b>", "<blockquote>", "<ul><li>"] {
            let page = format!("Content-Type: text/html\n\nseen{}deep", tag.repeat(1_000_000 / tag.len()));
            let text = Letter::parse(page.as_bytes()).text;
            assert!(text.starts_with("seen") || text.contains("seen"), "{tag}");
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in "(text/(plain|html)|multipart/(report|mixed; boundary=b)|message/(rfc822|delivery-status))", encoding in "(base64|quoted-printable|8bit)") {
            let head = format!("Content-Type: {kind}\nContent-Transfer-Encoding: {encoding}\n\n");
            let whole = [head.as_bytes(), &bytes].concat();
            let letter = Letter::parse(&whole);
            prop_assert!(letter.text.len() <= TEXT_CAP);
            let _ = letter.reply(&["a@b"], true);
            let _ = Bounce::parse(&whole, String::new(), 1);
            let _ = Letter::parse(&bytes);
        }

        #[test]
        fn any_page_can_be_read(page in "(<(div|p|table|td|tr|ul|li|a href=|style>|b style=\")|[a-z;:\"> ]|</?[a-z]+>|&[a-z#0-9]+;|\\PC){0,120}") {
            let _ = crate::html::readable(&page);
        }
    }
}
