//! Composing a letter (RFC 5322, MIME): the bytes that are sent and to whom.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, FixedOffset};
use lettre::message::header::{
    ContentTransferEncoding, ContentType, HeaderName, HeaderValue, Headers, Subject,
};
use lettre::message::{
    Attachment as Part, Body, Mailbox, MessageBuilder, MultiPart, MultiPartKind, SinglePart,
};
use lettre::{Address, Message as Whole};
use pulldown_cmark::{Event as Piece, Options, Parser, html};

use crate::{Fault, Kind};

/// A subject's length on the wire (RFC 5322 §2.1.1 has this for a line).
const SUBJECT_CAP: usize = 998;

/// A letter's size in bytes: what common servers take.
const LETTER_CAP: usize = 25 << 20;

/// So many earlier letters a reply names; the first and the last ones count.
const REFERENCES: usize = 20;

/// Somebody who writes or is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// How they are called.
    pub name: Option<String>,
    /// Where: `local@domain`.
    pub address: String,
}

impl FromStr for Party {
    type Err = Fault;

    /// From `a@b` or `Name <a@b>`.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let text = one_line("an address", text)?.trim();
        let (name, plain) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
            Some((name, plain)) => (name.trim().trim_matches('"').trim(), plain),
            None => ("", text),
        };
        address(plain)?;
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        Ok(Self { name, address: plain.trim().to_owned() })
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} <{}>", self.address),
            None => f.write_str(&self.address),
        }
    }
}

/// A file that goes with a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// What it is called.
    pub name: String,
    /// Its media type; when that is none, `application/octet-stream`.
    pub media_type: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// A letter to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Who writes.
    pub from: Party,
    /// To whom.
    pub to: Vec<Party>,
    /// Who gets a copy.
    pub cc: Vec<Party>,
    /// Who gets a copy without the others' knowing.
    pub bcc: Vec<Party>,
    /// What it is about: one line.
    pub subject: String,
    /// What it says, in markdown.
    pub body: String,
    /// What goes with it.
    pub attachments: Vec<Attachment>,
    /// An iTIP invitation (RFC 6047): the iCalendar text with `METHOD:REQUEST`.
    pub invitation: Option<String>,
    /// The Message-ID of the letter that this one answers.
    pub in_reply_to: Option<String>,
    /// The Message-IDs of the letters before this one, the first first.
    pub references: Vec<String>,
    /// Its own Message-ID, with or without angle brackets: `ID@domain`.
    pub message_id: String,
    /// When it was written.
    pub date: DateTime<FixedOffset>,
}

/// Who gets a letter, and who hears of it when that fails: bare addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Who sends.
    pub from: String,
    /// Who gets it, each once.
    pub to: Vec<String>,
}

/// A letter that can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// The letter, without those in `bcc`.
    pub bytes: Vec<u8>,
    /// Who gets it.
    pub envelope: Envelope,
}

impl Draft {
    /// The letter as it is sent.
    ///
    /// # Errors
    /// When an address, the subject or another header isn't one, when nobody is to get it, or it is too big.
    pub fn compose(&self) -> Result<Composed, Fault> {
        let mut to: Vec<String> = Vec::new();
        for party in self.to.iter().chain(&self.cc).chain(&self.bcc) {
            let one = address(&party.address)?.to_string();
            if !to.iter().any(|known| known.eq_ignore_ascii_case(&one)) {
                to.push(one);
            }
        }
        if to.is_empty() {
            return Err(Fault::new(Kind::Params, "there is nobody to send it to"));
        }
        let envelope = Envelope { from: address(&self.from.address)?.to_string(), to };
        Ok(Composed { bytes: self.bytes(false)?, envelope })
    }

    /// The letter as it is kept in Drafts: with those in `bcc`, and perhaps to nobody yet.
    ///
    /// # Errors
    /// When an address, the subject or another header isn't one, or it is too big.
    pub fn unsent(&self) -> Result<Vec<u8>, Fault> {
        self.bytes(true)
    }

    fn bytes(&self, with_bcc: bool) -> Result<Vec<u8>, Fault> {
        let weight: usize = self.attachments.iter().map(|attachment| attachment.bytes.len()).sum();
        if weight.saturating_add(self.body.len()) > LETTER_CAP {
            return Err(too_big());
        }
        let head = self.head(with_bcc)?;
        let content = self.content()?;
        let mut whole =
            head.multipart(content).map_err(|error| Fault::new(Kind::Params, error.to_string()))?;
        // The library knows no zones and would write its own date over ours any earlier.
        whole.headers_mut().insert_raw(header("Date", &self.date.to_rfc2822()));
        let bytes = whole.formatted();
        if bytes.len() > LETTER_CAP { Err(too_big()) } else { Ok(bytes) }
    }

    fn head(&self, with_bcc: bool) -> Result<MessageBuilder, Fault> {
        let from = mailbox(&self.from)?;
        // Ours is a different envelope; without any the library refuses drafts to nobody.
        let nobody = lettre::address::Envelope::new(None, vec![from.email.clone()]);
        let nobody = nobody.map_err(|error| Fault::new(Kind::Params, error.to_string()))?;
        let id =
            message_id(&self.message_id).ok_or_else(|| Fault::new(Kind::Params, "the Message-ID is none"))?;
        let mut head = Whole::builder().envelope(nobody).from(from);
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
        // Others' Message-IDs may be anything; what is none is left out.
        if let Some(id) = self.in_reply_to.as_deref().and_then(message_id) {
            head = head.raw_header(header("In-Reply-To", &id));
        }
        let mut known: Vec<String> = self.references.iter().filter_map(|id| message_id(id)).collect();
        if known.len() > REFERENCES {
            known.drain(1..=known.len() - REFERENCES);
        }
        if !known.is_empty() {
            head = head.raw_header(header("References", &known.join(" ")));
        }
        Ok(head)
    }

    fn content(&self) -> Result<MultiPart, Fault> {
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
            let kind = media_type(one_line("a media type", &attachment.media_type)?)
                .or_else(|_| media_type("application/octet-stream"))?;
            let body = Body::new_with_encoding(attachment.bytes.clone(), ContentTransferEncoding::Base64);
            let body = body.map_err(|_| Fault::new(Kind::Tool, "an attachment can't be encoded"))?;
            all = all.singlepart(Part::new(name.to_owned()).body(body, kind));
        }
        Ok(all)
    }

    /// The same letter is the same bytes each time, so its boundaries come from its id. `=_` stands in nothing
    /// that is encoded (RFC 2045 §6.7).
    fn multipart(&self, kind: MultiPartKind, what: &str) -> lettre::message::MultiPart {
        let id: String = self.message_id.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        MultiPart::builder().kind(kind).boundary(format!("=_{what}_{id}")).build()
    }
}

fn too_big() -> Fault {
    Fault::new(Kind::Params, format!("the letter is bigger than {} MB", LETTER_CAP >> 20))
}

/// What stands in a header is one line, else somebody could write headers of their own.
fn one_line<'a>(what: &str, text: &'a str) -> Result<&'a str, Fault> {
    if text.chars().any(char::is_control) {
        return Err(Fault::new(Kind::Params, format!("{what} must be one line without control characters")));
    }
    Ok(text)
}

fn subject(text: &str) -> Result<String, Fault> {
    let text = single_spaced(one_line("the subject", text)?);
    let mut encoded = Headers::new();
    // What is too long as it is need not be encoded to know it.
    if text.len() <= SUBJECT_CAP {
        encoded.set(Subject::from(text.clone()));
    }
    if text.len() > SUBJECT_CAP || encoded.to_string().len() > SUBJECT_CAP {
        return Err(Fault::new(Kind::Params, format!("the subject is longer than {SUBJECT_CAP} bytes")));
    }
    Ok(text)
}

/// Where several spaces part words that must be encoded, the library loses them all.
fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn mailbox(party: &Party) -> Result<Mailbox, Fault> {
    let name = party.name.as_deref().map(|name| one_line("a name", name)).transpose()?;
    Ok(Mailbox::new(name.map(single_spaced), address(&party.address)?))
}

/// An address with its domain in ASCII, so that only its local part may ask for SMTPUTF8.
pub(crate) fn address(text: &str) -> Result<Address, Fault> {
    let wrong = || Fault::new(Kind::Params, format!("`{text}` is no mail address"));
    let (local, domain) = text.trim().rsplit_once('@').ok_or_else(wrong)?;
    let domain = idna::domain_to_ascii(domain).map_err(|_| wrong())?;
    Address::new(local, domain).map_err(|_| wrong())
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn media_type(text: &str) -> Result<ContentType, Fault> {
    ContentType::parse(text).map_err(|error| Fault::new(Kind::Params, format!("{text}: {error}")))
}

/// A Message-ID with its brackets. None when it can't be one.
pub(crate) fn message_id(text: &str) -> Option<String> {
    let bare = text.trim().trim_start_matches('<').trim_end_matches('>');
    let is_sound = bare.contains('@')
        && bare.len() <= 250
        && bare.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"' | b'\\'));
    is_sound.then(|| format!("<{bare}>"))
}

/// What the markdown looks like. Lines break where the writer broke them, and HTML in it stays text.
fn to_html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let pieces = Parser::new_ext(markdown, options).map(|piece| match piece {
        Piece::Html(html) | Piece::InlineHtml(html) => Piece::Text(html),
        Piece::SoftBreak => Piece::HardBreak,
        other => other,
    });
    let mut page = String::from("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n");
    html::push_html(&mut page, pieces);
    page.push_str("</body></html>\n");
    page
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::{Attachment, Draft, Party, address, message_id, to_html};
    use crate::Kind;

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
        let mut letter = draft();
        letter.cc = vec!["BOB@example.test".parse().unwrap(), "eve@müller.test".parse().unwrap()];
        letter.bcc = vec!["zoe@example.test".parse().unwrap()];
        let composed = letter.compose().unwrap();
        assert_eq!(composed.envelope.to, ["bob@example.test", "eve@xn--mller-kva.test", "zoe@example.test"]);
        let sent = String::from_utf8(composed.bytes).unwrap();
        assert!(!sent.contains("zoe") && !sent.contains("Bcc"), "{sent}");
        assert!(String::from_utf8(letter.unsent().unwrap()).unwrap().contains("Bcc: zoe@example.test\r\n"));
        (letter.to, letter.cc, letter.bcc) = (Vec::new(), Vec::new(), Vec::new());
        assert_eq!(letter.compose().unwrap_err().kind, Kind::Params);
        assert!(letter.unsent().is_ok());
    }

    #[test]
    fn nobody_can_write_headers_of_their_own() {
        for evil in
            ["x\r\nBcc: eve@example.test", "x\nBcc: eve@example.test", "x\rBcc: y", "x\0y", "x\u{85}y"]
        {
            let wrong = [
                Draft { subject: evil.to_owned(), ..draft() },
                Draft {
                    to: vec![Party { name: Some(evil.to_owned()), address: "a@b.test".to_owned() }],
                    ..draft()
                },
                Draft { to: vec![Party { name: None, address: format!("{evil}@b.test") }], ..draft() },
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
            for letter in wrong {
                assert_eq!(letter.compose().unwrap_err().kind, Kind::Params, "{letter:?}");
            }
        }
        let letter = Draft { in_reply_to: Some("a@b\r\nBcc: eve".to_owned()), ..draft() };
        let text = String::from_utf8(letter.compose().unwrap().bytes).unwrap();
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
        assert_eq!(Draft { attachments: vec![big], ..draft() }.compose().unwrap_err().kind, Kind::Params);
    }

    #[test]
    fn addresses_are_read() {
        let shown =
            |text: &str| text.parse::<Party>().map(|party| (party.name.unwrap_or_default(), party.address));
        assert_eq!(shown(" a@b.test "), Ok((String::new(), "a@b.test".to_owned())));
        assert_eq!(shown("\"Doe, John\" <j@b.test>"), Ok(("Doe, John".to_owned(), "j@b.test".to_owned())));
        assert_eq!(shown("<j@b.test>"), Ok((String::new(), "j@b.test".to_owned())));
        for wrong in ["", "bob", "a@", "@b.test", "a b@c.test", "a@b.test, c@d.test", "a@b..test"] {
            assert!(wrong.parse::<Party>().is_err(), "{wrong}");
        }
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
            let letter = Draft { subject: subject.clone(), body: body.clone(), attachments, ..draft() };
            let bytes = letter.compose().unwrap().bytes;
            prop_assert!(bytes.is_ascii());
            prop_assert!(bytes.split(|byte| *byte == b'\n').all(|line| line.len() <= 999));
            let whole = mail_parser::MessageParser::default().parse(&bytes).unwrap();
            let same = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
            prop_assert!(same(whole.subject().unwrap_or_default(), &subject), "{:?}", whole.subject());
            let text = whole.body_text(0).unwrap();
            prop_assert_eq!(text.trim_end_matches(['\r', '\n']), body.as_str());
            prop_assert_eq!(whole.attachment(0).unwrap().contents(), body.as_bytes());
        }

        #[test]
        fn any_address_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = address(&text);
            let _ = text.parse::<Party>();
        }
    }
}
