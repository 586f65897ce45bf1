//! Parses messages: headers, text and attachments.

use chrono::{DateTime, FixedOffset};
use mail_parser::{Address as AddressHeader, HeaderValue, MimeHeaders};

use crate::compose::message_id;
use crate::html::one_line as line;
use crate::parts::{Kind, Part, Whole, parsed};
use crate::{Address, html};

/// The longest text of a message, in bytes.
pub const MAX_TEXT: usize = 64 << 10;

const CUT: &str = "\n[The message continues; the rest was cut.]";

const MAX_SNIPPET: usize = 160;

/// How many multiparts without an end are repaired.
const MAX_BOUNDARIES: usize = 32;

/// The most multiparts of a message: the parser may look for the end of each in all that follows.
const MAX_MULTIPARTS: usize = 200;

/// The most addresses, references and attachments of a message.
const MAX_ITEMS: usize = 200;

/// An attachment, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentInfo {
    pub name: Option<String>,
    pub media_type: String,
    /// Its size in bytes; for a big message an estimate.
    pub size: usize,
}

/// A message. One in a search result has only the beginning of its text, and neither copies, references nor
/// attachments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Our id for it, valid until it is moved.
    pub id: String,
    /// Its Message-ID with brackets.
    pub message_id: Option<String>,
    pub from: Vec<Address>,
    pub to: Vec<Address>,
    pub cc: Vec<Address>,
    /// The recipients of a blind copy, which only a draft names.
    pub bcc: Vec<Address>,
    /// Where replies go, if not to the sender.
    pub reply_to: Vec<Address>,
    pub subject: String,
    pub date: Option<DateTime<FixedOffset>>,
    /// The Message-ID of the message it replies to.
    pub in_reply_to: Option<String>,
    /// The Message-IDs of the thread so far.
    pub references: Vec<String>,
    /// Its plain text, or its HTML as text. Untrusted.
    pub text: String,
    /// Whether the text was cut at [`MAX_TEXT`].
    pub is_truncated: bool,
    pub attachments: Vec<AttachmentInfo>,
    pub unread: bool,
    pub flagged: bool,
    pub answered: bool,
    /// Whether a search found it in the folder of sent messages.
    pub is_sent: bool,
    /// Whether its header says that it came by a mailing list, is a newsletter, or that no person sent it.
    pub is_automatic: bool,
    pub folder: String,
}

impl Message {
    /// Parses a message, or only its beginning; broken ones as far as possible.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let (closed, is_cut) = closed(bytes);
        parsed(&closed, |whole| Self::of(whole, is_cut)).unwrap_or_default()
    }

    fn of(whole: &Whole<'_>, is_cut: bool) -> Self {
        let ids = |value: &HeaderValue<'_>| -> Vec<String> {
            let ids = match value {
                HeaderValue::Text(id) => vec![id.to_string()],
                HeaderValue::TextList(ids) => ids.iter().map(ToString::to_string).collect(),
                _ => Vec::new(),
            };
            ids.iter().filter_map(|id| message_id(id)).take(MAX_ITEMS).collect()
        };
        let mut parsed = body_text(whole.texts());
        if parsed.0.replace(html::HIDDEN, "").trim().is_empty() {
            parsed = body_text(whole.pages());
        }
        let (text, is_truncated) = truncate(parsed.0, parsed.1 || is_cut);
        let Some(head) = &whole.head else { return Self { text, is_truncated, ..Self::default() } };
        Self {
            message_id: head.message_id().and_then(message_id),
            from: addresses(head.from()),
            to: addresses(head.to()),
            cc: addresses(head.cc()),
            bcc: addresses(head.bcc()),
            reply_to: addresses(head.reply_to()),
            subject: line(head.subject().unwrap_or_default()),
            date: head.date().and_then(|date| DateTime::parse_from_rfc3339(&date.to_rfc3339()).ok()),
            in_reply_to: ids(head.in_reply_to()).into_iter().next(),
            references: ids(head.references()),
            text,
            is_truncated,
            attachments: whole.attachments().take(MAX_ITEMS).map(|part| attached(&part)).collect(),
            is_automatic: is_automatic(head),
            ..Self::default()
        }
    }

    /// Reads a message from a file, if it is one; the ids that a mailbox gives are empty.
    pub fn of_file(bytes: &[u8]) -> Option<Self> {
        Some(Self::parse(bytes)).filter(|message| *message != Self::default())
    }

    /// An attachment of a message in a file, by its number from 1 in [`Message::attachments`].
    pub fn attachment_of_file(bytes: &[u8], number: usize) -> Option<(AttachmentInfo, Vec<u8>)> {
        if number > MAX_ITEMS { None } else { attachment(bytes, number) }
    }

    /// Its Message-ID, which stays when it is moved; our id for it if it has none.
    pub fn lasting_id(&self) -> &str {
        self.message_id.as_deref().unwrap_or(&self.id)
    }

    /// Where replies go if not to the sender: each address, or none if they are the sender's.
    pub fn reply_elsewhere(&self) -> &[Address] {
        let is_sender =
            |to: &Address| self.from.iter().any(|from| from.address.eq_ignore_ascii_case(&to.address));
        if self.reply_to.iter().all(is_sender) { &[] } else { &self.reply_to }
    }

    /// The beginning of the text, in one line.
    pub fn snippet(&self) -> String {
        line(&self.text).chars().take(MAX_SNIPPET).collect()
    }
}

/// A message up to the most multiparts, with the missing ends of those, because the message is broken or was fetched in
/// part: mail-parser ignores parts without an end. And whether it was cut.
fn closed(bytes: &[u8]) -> (Vec<u8>, bool) {
    let text = String::from_utf8_lossy(bytes);
    let lower = text.to_ascii_lowercase();
    let boundaries = || lower.match_indices("boundary=").map(|(at, _)| at);
    let Some(end) = boundaries().nth(MAX_MULTIPARTS) else {
        return ([bytes, &closers(&text, boundaries())].concat(), false);
    };
    let text = &text[..end];
    ([text.as_bytes(), &closers(text, boundaries())].concat(), true)
}

fn closers(text: &str, boundaries: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut closers = Vec::new();
    for at in boundaries.take(MAX_BOUNDARIES) {
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

fn is_automatic(head: &mail_parser::Message<'_>) -> bool {
    head.headers_raw().any(|(name, value)| {
        let value = value.trim().to_ascii_lowercase();
        match name.to_ascii_lowercase().as_str() {
            "list-id" | "list-unsubscribe" => true,
            "precedence" => matches!(&*value, "bulk" | "list" | "junk"),
            "auto-submitted" => !matches!(&*value, "" | "no"),
            _ => false,
        }
    })
}

fn addresses(address: Option<&AddressHeader<'_>>) -> Vec<Address> {
    let addresses = address.into_iter().flat_map(AddressHeader::iter).filter_map(|address| {
        let name = address.name.as_deref().map(line);
        let name = name.filter(|name| !name.is_empty() && !looks_like_address(name));
        Some(Address { name, address: line(address.address.as_deref()?) })
    });
    addresses.take(MAX_ITEMS).collect()
}

/// Whether a name passes for an address, which it would hide.
fn looks_like_address(name: &str) -> bool {
    let is_at = |c: char| matches!(c, '@' | '\u{fe6b}' | '\u{ff20}');
    name.match_indices(is_at).any(|(at, sign)| {
        let (before, after) = (&name[..at], &name[at + sign.len()..]);
        let is_close = !before.ends_with(' ') && !after.starts_with(' ');
        let domain = after.split_whitespace().next().unwrap_or_default();
        !before.trim().is_empty() && !domain.is_empty() && (is_close || domain.contains('.'))
    })
}

/// The text of these parts, and whether it was truncated.
fn body_text<'a>(parts: impl Iterator<Item = Part<'a>>) -> (String, bool) {
    let parsed = parts.map(|part| match part.kind {
        Kind::Text => (html::plain(&part.text()), false),
        Kind::Page => html::readable(&part.text()),
        Kind::Other => (String::new(), false),
    });
    let (texts, cuts): (Vec<_>, Vec<_>) = parsed.unzip();
    (texts.join("\n"), cuts.contains(&true))
}

/// The text up to the limit, with a note if it is truncated.
pub(crate) fn truncate(mut text: String, is_truncated: bool) -> (String, bool) {
    let is_truncated = is_truncated || text.len() > MAX_TEXT;
    if is_truncated && !text.ends_with(CUT) {
        let note = if text.ends_with(html::HIDDEN) { html::HIDDEN } else { "" };
        text.truncate(text.len() - note.len());
        text.truncate(text.floor_char_boundary(MAX_TEXT - CUT.len() - note.len()));
        text.push_str(note);
        text.push_str(CUT);
    }
    (text, is_truncated)
}

fn attached(part: &Part<'_>) -> AttachmentInfo {
    let media_type = part.content_type().map(|kind| match kind.subtype() {
        Some(subtype) => format!("{}/{subtype}", kind.ctype()).to_lowercase(),
        None => kind.ctype().to_lowercase(),
    });
    let media_type = line(&media_type.unwrap_or_else(|| "application/octet-stream".to_owned()));
    AttachmentInfo {
        name: part.headers().and_then(|part| part.attachment_name()).map(line),
        media_type: match charset(part).filter(|_| media_type.starts_with("text/")) {
            Some(charset) => format!("{media_type}; charset={charset}"),
            None => media_type,
        },
        size: part.content().len(),
    }
}

/// The charset of a text that isn't UTF-8.
fn charset(part: &Part<'_>) -> Option<String> {
    let charset = part.content_type()?.attribute("charset")?.to_lowercase();
    let is_name = charset.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:+".contains(&byte));
    let is_utf8 = matches!(charset.as_str(), "utf-8" | "utf8" | "us-ascii" | "ascii");
    (is_name && !is_utf8 && (1..=40).contains(&charset.len())).then_some(charset)
}

/// An attachment of a message with its content, by its number from 1.
pub(crate) fn attachment(bytes: &[u8], number: usize) -> Option<(AttachmentInfo, Vec<u8>)> {
    let found = parsed(&closed(bytes).0, |whole| {
        let part = whole.attachments().nth(number.checked_sub(1)?)?;
        Some((attached(&part), part.content()))
    });
    found.flatten()
}

/// The only part of a message, or a part that was fetched by itself, with its content. Nothing inside of it is parsed.
pub(crate) fn only_part(headers: &[u8], body: &[u8]) -> (AttachmentInfo, Vec<u8>) {
    let part = Part::new(headers, body, Kind::Other);
    (attached(&part), part.content())
}

/// An attachment of which only the headers were fetched.
pub(crate) fn attached_by(headers: &[u8], size: usize) -> AttachmentInfo {
    AttachmentInfo { size, ..attached(&Part::new(headers, b"", Kind::Other)) }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::{MAX_TEXT, Message};
    use crate::bounce::Bounce;

    #[test]
    fn an_attached_text_keeps_its_bytes_whatever_its_charset() {
        let mail = "Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\
            Content-Type: text/csv; charset=\"Windows-1252\"\r\nContent-Disposition: attachment; filename=a.csv\r\n\
            Content-Transfer-Encoding: base64\r\n\r\nR3L832U7gA0K\r\n--b\r\n\
            Content-Type: text/plain; charset=iso-8859-1\r\nContent-Disposition: attachment; filename=b.txt\r\n\
            Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=FC=DFe=\r\n!\r\n--b\r\n\
            Content-Type: text/html; charset=iso-8859-1\r\nContent-Disposition: attachment; filename=c.html\r\n\
            Content-Transfer-Encoding: 8bit\r\n\r\n<p>Gr?e</p>\r\n\r\n--b\r\n\
            Content-Type: text/plain; charset=\"bad name\"\r\nContent-Disposition: attachment; filename=d.txt\r\n\r\n\
            d\r\n--b--\r\n";
        let mail: Vec<u8> = mail.bytes().map(|byte| if byte == b'?' { 0xfc } else { byte }).collect();
        let attached = |number| Message::attachment_of_file(&mail, number).unwrap();
        for (number, media_type, bytes) in [
            (1, "text/csv; charset=windows-1252", b"Gr\xfc\xdfe;\x80\r\n".as_slice()),
            (2, "text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe!"),
            (3, "text/html; charset=iso-8859-1", b"<p>Gr\xfce</p>\r\n"),
            (4, "text/plain", b"d"),
        ] {
            let (about, content) = attached(number);
            assert_eq!((about.media_type.as_str(), content.as_slice()), (media_type, bytes));
        }
        assert_eq!(crate::decoded(&attached(1).1, "windows-1252").as_deref(), Some("Grüße;€\r\n"));
        assert_eq!(crate::decoded(b"x", "unheard-of"), None);
    }

    #[test]
    fn what_is_broken_is_read_as_well_as_can_be() {
        let text = |raw: &str| Message::parse(raw.as_bytes()).text;
        assert_eq!(text("Subject: x\n\nplain\n"), "plain");
        assert_eq!(
            text("Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nno end"),
            "no end"
        );
        let truncate = "Content-Type: multipart/mixed; boundary=\"b c\"\n\n--b c\nContent-Type: multipart/alternative;\n \
                   boundary=d\n\n--d\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: ";
        assert_eq!(
            text(&format!("{truncate}base64\n\nw7xiZXI=\nw7xiZX")),
            "überübe",
            "a beginning is decoded"
        );
        assert_eq!(text(&format!("{truncate}quoted-printable\n\n=C3=BCber")), "über");
        assert_eq!(text("Content-Transfer-Encoding: base64\n\naGVsbG8gd29yb"), "hello wor");
        assert_eq!(text("Content-Type: text/plain; charset=klingon\n\nhello"), "hello");
        assert_eq!(
            Message::parse(b"Content-Type: text/plain; charset=iso-8859-1\n\ngr\xfc\xdfe").text,
            "grüße"
        );
        let empty = "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n \n--b\n\
                     Content-Type: text/html\n\n<p>the page</p>\n--b--\n";
        assert_eq!(text(empty), "the page", "an empty plain part says nothing");
        let message =
            Message::parse(b"Subject: =?utf-8?Q?a=0Ab?= =?x?B?y?=\nFrom: a\nDate: Sat, 99 Foo 2026\n\n");
        assert!(!message.subject.contains('\n'), "{message:?}");
        assert_eq!(message.date, None);
        assert_eq!(Message::parse(b""), Message::default());
    }

    #[test]
    fn a_name_is_no_address_of_somebody_else() {
        let from = |name: &str| {
            let message = Message::parse(format!("From: {name} <eve@evil.test>\n\n").as_bytes());
            message.from.first().unwrap().to_string()
        };
        for name in [
            "\"boss@inside.test\"",
            "\"The Boss boss@inside.test\"",
            "\"boss @ inside.test\"",
            "\"boss\u{ff20}inside.test\"",
            "\"boss\u{200b}@inside.test\"",
            "\"Boss <boss@inside.test>\"",
            "\"eve@evil.test\"",
        ] {
            assert_eq!(from(name), "eve@evil.test", "{name}");
        }
        assert_eq!(from("\"E\u{202e}v\u{200b}e\u{e0041}\u{7}\""), "Eve <eve@evil.test>");
        assert_eq!(from("\"Eve @ Work, @eve\""), "Eve @ Work, @eve <eve@evil.test>");
    }

    #[test]
    fn a_reply_that_goes_elsewhere_is_told() {
        let elsewhere = |to: &str| {
            let message = Message::parse(format!("From: Eve <eve@evil.test>\nReply-To: {to}\n\n").as_bytes());
            message.reply_elsewhere().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(elsewhere("Bob <bob@evil.test>"), "Bob <bob@evil.test>");
        assert_eq!(elsewhere("eve@evil.test, bob@evil.test"), "eve@evil.test, bob@evil.test");
        assert_eq!(elsewhere("Other <EVE@evil.test>"), "");
        assert_eq!(Message::parse(b"From: a@b.test\n\n").reply_elsewhere(), []);
    }

    #[test]
    fn a_note_about_hidden_text_survives_a_cut() {
        let page = format!("<p hidden>x</p><p>{}</p>", "word ".repeat(20_000));
        let message = Message::parse(format!("Content-Type: text/html\n\n{page}").as_bytes());
        assert!(message.is_truncated && message.text.len() <= MAX_TEXT);
        assert!(message.text.contains("\n[Hidden text was left out.]\n[The message continues"));
    }

    #[test]
    fn what_shows_nothing_is_left_out() {
        let message = Message::parse("\n\na\u{200b}b\u{e0041}\u{202e}c\u{7}\n\n\n\n\nd".as_bytes());
        assert_eq!(message.text, "abc\n\nd");
        let spelled: String = "obey".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        let message = Message::parse(format!("\nHello{spelled}").as_bytes());
        assert_eq!(message.text, "Hello\n[Hidden text was left out.]");
        let joined = "\n👩\u{200d}💻 می\u{200c}خواهم a\u{200d}b\u{fe0f}\u{fe0f}";
        assert_eq!(Message::parse(joined.as_bytes()).text, "👩\u{200d}💻 می\u{200c}خواهم ab\u{fe0f}");
    }

    #[test]
    fn a_text_is_cut_at_its_cap() {
        let message = Message::parse(format!("\n{}", "é".repeat(MAX_TEXT)).as_bytes());
        assert!(message.is_truncated && message.text.len() <= MAX_TEXT && message.text.len() > MAX_TEXT - 10);
        assert!(message.text.ends_with("é\n[The message continues; the rest was cut.]"));
    }

    #[test]
    fn what_nests_without_end_does_not_exhaust_us() {
        let mut parts = String::new();
        for number in 0..2000 {
            let _ = write!(parts, "Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n");
        }
        let message = Message::parse(parts.as_bytes());
        assert_eq!((message.text.as_str(), message.is_truncated), (super::CUT, true));
        for tag in ["<div>", "<table><tr><td>", "<b>", "<blockquote>", "<ul><li>"] {
            let page = format!("Content-Type: text/html\n\nseen{}deep", tag.repeat(1_000_000 / tag.len()));
            let text = Message::parse(page.as_bytes()).text;
            assert!(text.starts_with("seen") || text.contains("seen"), "{tag}");
        }
    }

    #[test]
    fn messages_in_messages_are_not_opened() {
        use base64::prelude::{BASE64_STANDARD, Engine};
        let bare = "Content-Type:message/rfc822\n\n".repeat(20_000);
        let digests: String = (0..100)
            .map(|at| format!("Content-Type:multipart/digest;boundary=b{at}\n\n--b{at}\n\n"))
            .collect();
        let encoded = |how: &str, text: &str| {
            format!("Content-Type:message/rfc822\nContent-Transfer-Encoding:{how}\n\n{text}")
        };
        let twice = encoded("base64", &BASE64_STANDARD.encode(encoded("quoted-printable", &bare)));
        assert_eq!(super::attachment(bare.as_bytes(), 1).unwrap().1.len(), bare.len() - 29);
        assert_eq!(
            super::attachment(twice.as_bytes(), 1).unwrap().1[..200],
            encoded("quoted-printable", &bare).as_bytes()[..200]
        );
        for inside in [&bare, &digests, &encoded("quoted-printable", &bare), &twice] {
            let text = format!("Subject: deep\n{inside}");
            assert_eq!(Message::parse(text.as_bytes()).subject, "deep");
            assert_eq!(Message::of_file(text.as_bytes()).unwrap().subject, "deep");
            assert_eq!(Bounce::parse(text.as_bytes(), String::new(), 1), None);
            let (about, bytes) = super::only_part(b"Content-Type: message/rfc822\n\n", text.as_bytes());
            assert_eq!((about.media_type.as_str(), bytes.as_slice()), ("message/rfc822", text.as_bytes()));
        }
    }

    #[test]
    fn what_is_called_global_keeps_its_name() {
        let text = "Subject: The global digest, RFC822\nContent-Type: multipart/mixed; boundary=global\n\n--global\n\n\
            See rfc822\n--global\nContent-Type: message/rfc822; name=\"digest.eml\"\n\nSubject: rfc822\n\nglobal\n--global--\n";
        let message = Message::parse(text.as_bytes());
        assert_eq!(
            (message.subject.as_str(), message.text.as_str()),
            ("The global digest, RFC822", "See rfc822")
        );
        let (about, bytes) = super::attachment(text.as_bytes(), 1).unwrap();
        assert_eq!(
            (about.name.as_deref(), about.media_type.as_str()),
            (Some("digest.eml"), "message/rfc822")
        );
        assert_eq!(bytes, b"Subject: rfc822\n\nglobal");
    }

    proptest! {
        #[test]
        fn anything_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in "(text/(plain|html)|multipart/(report|mixed; boundary=b)|message/(rfc822|delivery-status))", encoding in "(base64|quoted-printable|8bit)") {
            let head = format!("Content-Type: {kind}\nContent-Transfer-Encoding: {encoding}\n\n");
            let whole = [head.as_bytes(), &bytes].concat();
            let message = Message::parse(&whole);
            prop_assert!(message.text.len() <= MAX_TEXT);
            let _ = message.reply(&["a@b"], true);
            let _ = Bounce::parse(&whole, String::new(), 1);
            let _ = Message::parse(&bytes);
        }

        #[test]
        fn any_page_can_be_read(page in "(<(div|p|table|td|tr|ul|li|a href=|style>|b style=\")|[a-z;:\"> ]|</?[a-z]+>|&[a-z#0-9]+;|\\PC){0,120}") {
            let _ = crate::html::readable(&page);
        }
    }
}
