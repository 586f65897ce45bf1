//! Composes messages (RFC 5322, MIME).

use chrono::{DateTime, FixedOffset};
use lettre::Message as MimeMessage;
use lettre::message::header::{
    ContentTransferEncoding, ContentType, HeaderName, HeaderValue, Headers, Subject,
};
use lettre::message::{
    Attachment as Part, Body, Mailbox, MessageBuilder, MultiPart, MultiPartKind, SinglePart,
};
use pulldown_cmark::{Event as MarkdownEvent, Options, Parser, html};

use crate::address::parse_address;
use crate::{Address, MailError, Result};

/// The longest subject, encoded, in bytes: the line length of RFC 5322 §2.1.1.
const MAX_SUBJECT: usize = 998;

/// The biggest message, in bytes: what common servers accept.
const MAX_SIZE: usize = 25 << 20;

/// How many earlier messages a reply references: the first and the latest ones.
const MAX_REFERENCES: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    /// Its media type; `application/octet-stream` if this is none.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub from: Address,
    pub to: Vec<Address>,
    pub cc: Vec<Address>,
    pub bcc: Vec<Address>,
    pub subject: String,
    /// The text, in Markdown.
    pub body: String,
    pub attachments: Vec<Attachment>,
    /// An iTIP invitation (RFC 6047): the iCalendar text with `METHOD:REQUEST`.
    pub invitation: Option<String>,
    /// The Message-ID of the message it replies to.
    pub in_reply_to: Option<String>,
    /// The Message-IDs of the thread so far, oldest first.
    pub references: Vec<String>,
    /// Its own Message-ID, with or without angle brackets: `ID@domain`.
    pub message_id: String,
    pub date: DateTime<FixedOffset>,
}

/// The envelope of a message: bare addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The sender, who is notified of failures.
    pub from: String,
    /// The recipients, each once.
    pub to: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// The message, without `bcc`.
    pub bytes: Vec<u8>,
    pub envelope: Envelope,
}

impl Draft {
    /// Everybody who gets it, blind copies included.
    pub fn recipients(&self) -> Vec<Address> {
        self.to.iter().chain(&self.cc).chain(&self.bcc).cloned().collect()
    }

    pub fn compose(&self) -> Result<Composed> {
        let mut to: Vec<String> = Vec::new();
        for address in self.to.iter().chain(&self.cc).chain(&self.bcc) {
            let one = parse_address(&address.address)?.to_string();
            if !to.iter().any(|known| known.eq_ignore_ascii_case(&one)) {
                to.push(one);
            }
        }
        if to.is_empty() {
            return Err(MailError::params("the message has no recipients"));
        }
        let envelope = Envelope { from: parse_address(&self.from.address)?.to_string(), to };
        Ok(Composed { bytes: self.bytes(false)?, envelope })
    }

    /// The message for the Drafts folder: with `bcc`, and possibly without recipients.
    pub fn unsent(&self) -> Result<Vec<u8>> {
        self.bytes(true)
    }

    fn bytes(&self, with_bcc: bool) -> Result<Vec<u8>> {
        let weight: usize = self.attachments.iter().map(|attachment| attachment.bytes.len()).sum();
        if weight.saturating_add(self.body.len()) > MAX_SIZE {
            return Err(too_big());
        }
        let head = self.head(with_bcc)?;
        let content = self.content()?;
        let mut whole = head.multipart(content).map_err(|error| MailError::params(error.to_string()))?;
        // lettre writes dates in UTC only, and would overwrite one set earlier.
        whole.headers_mut().insert_raw(header("Date", &self.date.to_rfc2822()));
        let bytes = whole.formatted();
        if bytes.len() > MAX_SIZE { Err(too_big()) } else { Ok(bytes) }
    }

    fn head(&self, with_bcc: bool) -> Result<MessageBuilder> {
        let from = mailbox(&self.from)?;
        // Not the real envelope: lettre rejects drafts without one.
        let nobody = lettre::address::Envelope::new(None, vec![from.email.clone()]);
        let nobody = nobody.map_err(|error| MailError::params(error.to_string()))?;
        let id =
            message_id(&self.message_id).ok_or_else(|| MailError::params("the Message-ID is invalid"))?;
        let mut head = MimeMessage::builder().envelope(nobody).from(from);
        head = head.message_id(Some(id));
        for to in &self.to {
            head = head.to(mailbox(to)?);
        }
        for cc in &self.cc {
            head = head.cc(mailbox(cc)?);
        }
        for bcc in self.bcc.iter().filter(|_| with_bcc) {
            head = head.bcc(mailbox(bcc)?);
        }
        if with_bcc {
            head = head.keep_bcc();
        }
        head = head.subject(subject(&self.subject)?);
        // Other programs' Message-IDs can be invalid; those are left out.
        if let Some(id) = self.in_reply_to.as_deref().and_then(message_id) {
            head = head.raw_header(header("In-Reply-To", &id));
        }
        let mut known: Vec<String> = self.references.iter().filter_map(|id| message_id(id)).collect();
        if known.len() > MAX_REFERENCES {
            known.drain(1..=known.len() - MAX_REFERENCES);
        }
        if !known.is_empty() {
            head = head.raw_header(header("References", &known.join(" ")));
        }
        Ok(head)
    }

    fn content(&self) -> Result<MultiPart> {
        let mut says = self
            .multipart(MultiPartKind::Alternative, "says")
            .singlepart(SinglePart::plain(self.body.clone()))
            .singlepart(SinglePart::html(to_html(&self.body)));
        if let Some(invitation) = &self.invitation {
            let kind = media_type("text/calendar; method=REQUEST; charset=utf-8")?;
            let calendar = Body::new(invitation.clone());
            says = says.singlepart(SinglePart::builder().header(kind).body(calendar));
        }
        if self.attachments.is_empty() {
            return Ok(says);
        }
        let mut all = self.multipart(MultiPartKind::Mixed, "with").multipart(says);
        for attachment in &self.attachments {
            let name = one_line("an attachment's name", &attachment.name)?;
            // A message may not be encoded as Base64 (RFC 2046 §5.2.1), so one is a file like others.
            let said = match one_line("a media type", &attachment.media_type)? {
                said if said.to_lowercase().starts_with("message/") => "application/octet-stream",
                said => said,
            };
            let kind = media_type(said).or_else(|_| media_type("application/octet-stream"))?;
            let body = Body::new_with_encoding(attachment.bytes.clone(), ContentTransferEncoding::Base64);
            let body = body.map_err(|_| MailError::tool("an attachment can't be encoded"))?;
            all = all.singlepart(Part::new(name.to_owned()).body(body, kind));
        }
        Ok(all)
    }

    /// Boundaries come from the Message-ID, so the same message always has the same bytes. `=_` never occurs in
    /// encoded text (RFC 2045 §6.7).
    fn multipart(&self, kind: MultiPartKind, what: &str) -> lettre::message::MultiPart {
        let id: String = self.message_id.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        MultiPart::builder().kind(kind).boundary(format!("=_{what}_{id}")).build()
    }
}

fn too_big() -> MailError {
    MailError::params(format!("the message is larger than {} MB", MAX_SIZE >> 20))
}

/// Header values are one line, so nobody can inject headers.
pub(crate) fn one_line<'a>(what: &str, text: &'a str) -> Result<&'a str> {
    if text.chars().any(char::is_control) {
        return Err(MailError::params(format!("{what} must be one line without control characters")));
    }
    Ok(text)
}

fn subject(text: &str) -> Result<String> {
    let text = single_spaced(one_line("the subject", text)?);
    let mut encoded = Headers::new();
    if text.len() <= MAX_SUBJECT {
        encoded.set(Subject::from(text.clone()));
    }
    if text.len() > MAX_SUBJECT || encoded.to_string().len() > MAX_SUBJECT {
        return Err(MailError::params(format!("the subject is longer than {MAX_SUBJECT} bytes")));
    }
    Ok(text)
}

/// lettre drops runs of spaces between encoded words.
fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn mailbox(address: &Address) -> Result<Mailbox> {
    let name = address.name.as_deref().map(|name| one_line("a name", name)).transpose()?;
    Ok(Mailbox::new(name.map(single_spaced), parse_address(&address.address)?))
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn media_type(text: &str) -> Result<ContentType> {
    ContentType::parse(text).map_err(|error| MailError::params(format!("{text}: {error}")))
}

/// A Message-ID with its brackets; `None` if it is invalid.
pub fn message_id(text: &str) -> Option<String> {
    let bare = text.trim().trim_start_matches('<').trim_end_matches('>');
    let is_sound = bare.contains('@')
        && bare.len() <= 250
        && bare.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"' | b'\\'));
    is_sound.then(|| format!("<{bare}>"))
}

/// Markdown as HTML. Line breaks are kept, and HTML in it stays text.
fn to_html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(markdown, options).map(|event| match event {
        MarkdownEvent::Html(html) | MarkdownEvent::InlineHtml(html) => MarkdownEvent::Text(html),
        MarkdownEvent::SoftBreak => MarkdownEvent::HardBreak,
        other => other,
    });
    let mut page = String::from("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n");
    html::push_html(&mut page, events);
    page.push_str("</body></html>\n");
    page
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::{Attachment, Draft, message_id, to_html};
    use crate::{Address, ErrorKind};

    fn draft() -> Draft {
        Draft {
            from: "Adjutant <bot@example.test>".parse().unwrap(),
            to: vec!["bob@example.test".parse().unwrap()],
            cc: Vec::new(),
            bcc: Vec::new(),
            subject: "Hello".to_owned(),
            body: "One\nTwo *three*".to_owned(),
            attachments: Vec::new(),
            invitation: None,
            in_reply_to: None,
            references: Vec::new(),
            message_id: "01J@example.test".to_owned(),
            date: DateTime::parse_from_rfc3339("2026-11-21T12:30:00+01:00").unwrap(),
        }
    }

    #[test]
    fn a_letter_as_it_is_sent() {
        let composed = draft().compose().unwrap();
        let text = String::from_utf8(composed.bytes.clone()).unwrap();
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
        insta::assert_snapshot!(text.replace('\r', ""), @r#"
        From: Adjutant <bot@example.test>
        Message-ID: <01J@example.test>
        To: bob@example.test
        Subject: Hello
        MIME-Version: 1.0
        Date: Sat, 21 Nov 2026 12:30:00 +0100
        Content-Type: multipart/alternative; boundary="=_says_01Jexampletest"

        --=_says_01Jexampletest
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: 7bit

        One
        Two *three*
        --=_says_01Jexampletest
        Content-Type: text/html; charset=utf-8
        Content-Transfer-Encoding: 7bit

        <!DOCTYPE html>
        <html><head><meta charset="utf-8"></head><body>
        <p>One<br />
        Two <em>three</em></p>
        </body></html>

        --=_says_01Jexampletest--
        "#);
        assert_eq!(draft().compose().unwrap(), composed, "the same each time");
    }

    #[test]
    fn who_gets_it() {
        let mut message = draft();
        message.cc = vec!["BOB@example.test".parse().unwrap(), "eve@müller.test".parse().unwrap()];
        message.bcc = vec!["zoe@example.test".parse().unwrap()];
        let composed = message.compose().unwrap();
        assert_eq!(composed.envelope.to, ["bob@example.test", "eve@xn--mller-kva.test", "zoe@example.test"]);
        let sent = String::from_utf8(composed.bytes).unwrap();
        assert!(!sent.contains("zoe") && !sent.contains("Bcc"), "{sent}");
        assert!(String::from_utf8(message.unsent().unwrap()).unwrap().contains("Bcc: zoe@example.test\r\n"));
        (message.to, message.cc, message.bcc) = (Vec::new(), Vec::new(), Vec::new());
        assert_eq!(message.compose().unwrap_err().kind, ErrorKind::Params);
        assert!(message.unsent().is_ok());
    }

    #[test]
    fn nobody_can_write_headers_of_their_own() {
        for evil in
            ["x\r\nBcc: eve@example.test", "x\nBcc: eve@example.test", "x\rBcc: y", "x\0y", "x\u{85}y"]
        {
            let wrong = [
                Draft { subject: evil.to_owned(), ..draft() },
                Draft {
                    to: vec![Address { name: Some(evil.to_owned()), address: "a@b.test".to_owned() }],
                    ..draft()
                },
                Draft { to: vec![Address { name: None, address: format!("{evil}@b.test") }], ..draft() },
                Draft { message_id: format!("{evil}@b.test"), ..draft() },
                Draft {
                    attachments: vec![Attachment {
                        name: evil.to_owned(),
                        media_type: "text/plain".to_owned(),
                        bytes: Vec::new(),
                    }],
                    ..draft()
                },
                Draft {
                    attachments: vec![Attachment {
                        name: "x".to_owned(),
                        media_type: format!("text/plain; x={evil}"),
                        bytes: Vec::new(),
                    }],
                    ..draft()
                },
            ];
            for message in wrong {
                assert_eq!(message.compose().unwrap_err().kind, ErrorKind::Params, "{message:?}");
            }
        }
        let message = Draft { in_reply_to: Some("a@b\r\nBcc: eve".to_owned()), ..draft() };
        let text = String::from_utf8(message.compose().unwrap().bytes).unwrap();
        assert!(!text.contains("In-Reply-To") && !text.contains("eve"), "what is no Message-ID is left out");
    }

    #[test]
    fn a_subject_has_an_end() {
        for (subject, is_well) in [
            ("x".repeat(1 << 20), false),
            ("ü".repeat(400), false),
            ("x y ".repeat(200), true),
            (String::new(), true),
        ] {
            assert_eq!(Draft { subject, ..draft() }.compose().is_ok(), is_well);
        }
        let big = Attachment { name: "x".to_owned(), media_type: String::new(), bytes: vec![0; 26 << 20] };
        assert_eq!(
            Draft { attachments: vec![big], ..draft() }.compose().unwrap_err().kind,
            ErrorKind::Params
        );
    }

    #[test]
    fn a_message_id_has_its_brackets() {
        assert_eq!(message_id("<<a@b>>").as_deref(), Some("<a@b>"));
        assert_eq!(message_id("a b@c"), None);
    }

    #[test]
    fn html_in_markdown_stays_text() {
        let page = to_html("a\nb <img src=x>\n\n<script>x</script>\n\n|h|\n|-|\n|c|\n");
        assert!(page.contains("a<br />\nb &lt;img src=x&gt;"), "{page}");
        assert!(!page.contains("<script>") && page.contains("<td>c</td>"), "{page}");
    }

    proptest! {
        #[test]
        fn whatever_is_composed_is_read_again(subject in "[^\\p{Cc}]{0,60}", body in "\\PC{0,300}", name in "[^\\p{Cc}\\p{Z}]{1,20}") {
            let attachments = vec![Attachment { name: name.clone(), media_type: "image/png".to_owned(), bytes: body.clone().into_bytes() }];
            let message = Draft { subject: subject.clone(), body: body.clone(), attachments, ..draft() };
            let bytes = message.compose().unwrap().bytes;
            prop_assert!(bytes.is_ascii());
            prop_assert!(bytes.split(|byte| *byte == b'\n').all(|line| line.len() <= 999));
            let whole = mail_parser::MessageParser::default().parse(&bytes).unwrap();
            let same = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
            prop_assert!(same(whole.subject().unwrap_or_default(), &subject), "{:?}", whole.subject());
            let text = whole.body_text(0).unwrap();
            prop_assert_eq!(text.trim_end_matches(['\r', '\n']), body.as_str());
            prop_assert_eq!(whole.attachment(0).unwrap().contents(), body.as_bytes());
        }
    }
}
