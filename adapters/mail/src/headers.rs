//! What the header of a mail says of how it came.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use chrono::{DateTime, FixedOffset};
use mail_parser::{HeaderName, MessageParser};
use sha2::{Digest, Sha256};

use crate::{Address, Message};

/// How a mail came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headline {
    /// Whether a program sent it.
    pub is_automatic: bool,
    /// Whether a program answers with it, or reports what became of another mail.
    pub is_reply_robot: bool,
    pub has_attachment: bool,
    pub received: Option<DateTime<FixedOffset>>,
    /// Whether it is from the domain that it says, if the server that took it in says so.
    pub is_signed: Option<bool>,
    /// The same for the same mail wherever it lies, and however it is numbered.
    pub key: String,
}

impl Headline {
    /// What the header of a message says. Only results of the `authority` count: a server's id or its domain; empty: results
    /// without an id, as Microsoft writes them.
    pub fn parse(header: &[u8], message: &Message, authority: &str) -> Self {
        let head = MessageParser::default().parse_headers(header);
        let fields: Vec<(&str, &str)> = head.iter().flat_map(|head| head.headers_raw()).collect();
        let value = |name: &str| {
            let field = fields.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
            field.map(|(_, value)| value.trim().to_ascii_lowercase()).unwrap_or_default()
        };
        let kind = value("Content-Type");
        // RFC 3834 §5. `X-Auto-Response-Suppress` says only that a program wrote it, also an invoice (MS-OXCMAIL §2.2.3.2.14).
        let is_reply_robot = value("Auto-Submitted").starts_with("auto-replied")
            || value("Precedence") == "auto_reply"
            || kind.starts_with("multipart/report")
            || value("Return-Path") == "<>";
        let headers = head.iter().flat_map(|head| head.headers());
        // Of several senders, each reader may show another one.
        let is_one = headers.filter(|header| header.name == HeaderName::From).count() == 1;
        let sender = message.from.first().filter(|_| is_one && message.from.len() == 1);
        let is_signed = is_signed(&fields, sender, authority);
        Self {
            is_automatic: message.is_automatic
                || is_reply_robot
                || !value("X-Auto-Response-Suppress").is_empty(),
            is_reply_robot,
            has_attachment: kind.starts_with("multipart/mixed") || !message.attachments.is_empty(),
            received: None,
            is_signed,
            key: key(message, is_signed),
        }
    }
}

/// Whose results count in the mailbox of a host. Not those of the address's domain, which may lie with somebody who lets its
/// results pass.
pub(crate) fn authority(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    let domain = ["imap.", "mail."].iter().find_map(|service| host.strip_prefix(service));
    match host.as_str() {
        "imap.gmail.com" => "mx.google.com".to_owned(),
        "imap.fastmail.com" => "messagingengine.com".to_owned(),
        "outlook.office365.com" => String::new(),
        _ => domain.filter(|domain| domain.contains('.')).unwrap_or(&host).to_owned(),
    }
}

/// Anybody can copy a Message-ID before its mail comes, so the sender is in it, too, and that they are forged.
fn key(message: &Message, is_signed: Option<bool>) -> String {
    let from = message.from.first().map(|from| from.address.to_ascii_lowercase()).unwrap_or_default();
    let from = if is_signed == Some(false) { from + "\nforged" } else { from };
    let mail = match &message.message_id {
        Some(id) => format!("{id}\n{from}"),
        None => format!("\n{from}\n{:?}\n{}\n{}", message.date, message.subject, message.text),
    };
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(mail.as_bytes()))
}

/// Whether a mail is from its sender's domain, by the first results of its own server (RFC 8601 §5: servers remove results with
/// their own id that come from outside; all others anybody can write). DKIM's signers may be anybody.
fn is_signed(fields: &[(&str, &str)], sender: Option<&Address>, authority: &str) -> Option<bool> {
    let named = |wanted: &'static str| {
        fields.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value)
    };
    let domain = sender.and_then(|sender| idna::domain_to_ascii(sender.address.rsplit_once('@')?.1).ok());
    let domain = domain.unwrap_or_default();
    // Exchange takes this off whatever comes from outside
    // (https://learn.microsoft.com/exchange/mail-flow/mail-routing/header-firewall).
    let mut inside = named("X-MS-Exchange-Organization-AuthAs");
    if authority.is_empty() && inside.any(|value| value.trim().eq_ignore_ascii_case("internal")) {
        return Some(!domain.is_empty());
    }
    let mut is_signed: Option<bool> = None;
    let own = named("Authentication-Results").find_map(|value| results(value, authority))?;
    for result in own.split(';') {
        let words: Vec<&str> = result.split_whitespace().collect();
        let property = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
        let passes = match words.first().copied().unwrap_or_default() {
            "dmarc=fail" => return Some(false),
            "dmarc=pass" => property("header.from=").is_none_or(|from| covers(from, &domain)),
            "dkim=pass" => {
                // Google names just who signed, as `@domain`.
                let signer = property("header.d=").or_else(|| property("header.i=")?.rsplit('@').next());
                signer.is_some_and(|signer| covers(signer, &domain))
            }
            other if other.starts_with("dmarc=") || other.starts_with("dkim=") => false,
            _ => continue,
        };
        is_signed = is_signed.max(Some(passes && !domain.is_empty()));
    }
    is_signed
}

/// The results of a field, in small letters, if they are this server's.
fn results(value: &str, authority: &str) -> Option<String> {
    let text = plain(value).to_lowercase();
    let (id, results) = text.split_once(';').unwrap_or((text.as_str(), ""));
    let id = id.split_whitespace().next()?;
    match authority.is_empty() {
        true => id.contains('=').then(|| text.clone()),
        false => is_under(id, authority).then(|| results.to_owned()),
    }
}

/// Whether it is this domain, or one in it.
fn is_under(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether who signed for one domain did it for another: it is the same or lies above, though not at the top.
fn covers(signer: &str, domain: &str) -> bool {
    signer.contains('.') && is_under(domain, signer)
}

/// A field without comments and what is quoted, which holds no results.
fn plain(value: &str) -> String {
    let (mut text, mut depth, mut is_quoted) = (String::new(), 0_usize, false);
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '"' if depth == 0 => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' => depth += 1,
            ')' if depth > 0 => {
                depth -= 1;
                text.push(' ');
            }
            _ if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Headline, authority};
    use crate::Message;

    fn read(header: &str, authority: &str) -> Headline {
        let header = header.replace('\n', "\r\n");
        Headline::parse(header.as_bytes(), &Message::parse(header.as_bytes()), authority)
    }

    #[test]
    fn only_what_our_own_server_says_of_the_sender_counts() {
        const SIGNED: Option<bool> = Some(true);
        const NOT_SIGNED: Option<bool> = Some(false);
        let ours = "mx.home.test";
        for (results, expected) in [
            ("", None),
            ("Authentication-Results: mx.home.test; none\n", None),
            ("Authentication-Results: mx.home.test; spf=pass smtp.mailfrom=acme.test\n", None),
            ("Authentication-Results: mx.home.test; dmarc=pass header.from=acme.test\n", SIGNED),
            ("Authentication-Results: MX.home.test 1; DKIM=Pass (ok)\n\theader.d=Acme.Test\n", SIGNED),
            ("Authentication-Results: in.mx.home.test; dkim=pass header.i=@acme.test\n", SIGNED),
            ("Authentication-Results: mx.home.test; dkim=pass header.d=test\n", NOT_SIGNED),
            ("Authentication-Results: mx.home.test; dkim=pass header.d=evil.test\n", NOT_SIGNED),
            ("Authentication-Results: mx.home.test; dkim=pass header.d=notacme.test\n", NOT_SIGNED),
            ("Authentication-Results: mx.home.test; dkim=pass header.d=mail.acme.test\n", NOT_SIGNED),
            ("Authentication-Results: mx.home.test; dkim=none; dmarc=none\n", NOT_SIGNED),
            ("Authentication-Results: mx.home.test; dmarc=pass header.from=evil.test\n", NOT_SIGNED),
            // Forged ids.
            ("Authentication-Results: evil.test; dmarc=pass header.from=acme.test\n", None),
            ("Authentication-Results: evilmx.home.test; dmarc=pass\n", None),
            ("Authentication-Results: mx.home.test.evil.test; dmarc=pass\n", None),
            ("Authentication-Results: dmarc=pass\n", None),
            // The first of two is the newer one.
            (
                "Authentication-Results: mx.home.test; dmarc=fail\n\
                 Authentication-Results: mx.home.test; dmarc=pass\n",
                NOT_SIGNED,
            ),
            (
                "Authentication-Results: evil.test; dmarc=fail\n\
                 Authentication-Results: mx.home.test; dmarc=pass\n",
                SIGNED,
            ),
            // Comments and quotes hold no results.
            (
                "Authentication-Results: mx.home.test; dkim=fail (a ; dkim=pass header.d=acme.test)\n",
                NOT_SIGNED,
            ),
            ("Authentication-Results: mx.home.test; dkim=fail (\\); (b) dmarc=pass)\n", NOT_SIGNED),
            (
                "Authentication-Results: mx.home.test; dkim=fail reason=\"; dkim=pass header.d=acme.test\"\n",
                NOT_SIGNED,
            ),
            ("Authentication-Results: mx.home.test (; dmarc=pass\n", None),
        ] {
            let header = format!("{results}From: Ann <ann@acme.test>\nSubject: x\n\n");
            assert_eq!(read(&header, ours).is_signed, expected, "{results}");
        }
        let parent = "Authentication-Results: mx.home.test; dkim=pass header.d=acme.test\n";
        for (from, expected) in [
            ("From: a@news.acme.test\n", SIGNED),
            ("From: a@acme.test\nFrom: a@acme.test\n", NOT_SIGNED),
            ("From: a@acme.test, b@acme.test\n", NOT_SIGNED),
            ("From: Acme: a@acme.test;\n", SIGNED),
            ("From: Acme\n", NOT_SIGNED),
            ("", NOT_SIGNED),
        ] {
            assert_eq!(read(&format!("{parent}{from}\n"), ours).is_signed, expected, "{from}");
        }
    }

    #[test]
    fn microsoft_has_no_id_and_knows_its_own() {
        let from = "From: a@acme.test\n\n";
        let signed = |results: &str| read(&format!("{results}{from}"), "").is_signed;
        let passed = "Authentication-Results: spf=fail (sender IP is 192.0.2.1)\n smtp.mailfrom=x.test; dkim=pass (signature \
                      was verified)\n header.d=acme.test;dmarc=pass action=none header.from=acme.test;\n";
        assert_eq!(signed(passed), Some(true));
        let forged = "Authentication-Results: dkim=none;dmarc=none action=none header.from=acme.test\n";
        assert_eq!(signed(&format!("{forged}{passed}")), Some(false));
        let inside = "X-MS-Exchange-Organization-AuthAs: Internal\n";
        assert_eq!(signed(&format!("{inside}{forged}")), Some(true));
        assert_eq!(read(&format!("{inside}{from}"), "mx.home.test").is_signed, None);
        for (host, id) in [
            ("imap.gmail.com", "mx.google.com"),
            ("IMAP.example.test", "example.test"),
            ("mail.com", "mail.com"),
            ("box.example.test", "box.example.test"),
            ("outlook.office365.com", ""),
        ] {
            assert_eq!(authority(host), id);
        }
    }

    #[test]
    fn programs_and_lists_are_told_from_people() {
        let kinds = |header: &str| {
            let bytes = format!("{header}\r\n\r\n").into_bytes();
            let is_automatic = Message::parse(&bytes).is_automatic;
            let head = Headline::parse(&bytes, &Message { is_automatic, ..Message::default() }, "x.test");
            let kinds = [
                (head.is_automatic, "automatic"),
                (head.is_reply_robot, "robot"),
                (head.has_attachment, "attachment"),
            ];
            kinds.iter().filter(|(is_it, _)| *is_it).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
        };
        for (header, expected) in [
            ("Auto-Submitted: no", ""),
            ("Auto-Submitted: auto-generated", "automatic"),
            ("X-Auto-Response-Suppress: All", "automatic"),
            ("Auto-Submitted: auto-replied (vacation)", "automatic robot"),
            ("Precedence: auto_reply", "automatic robot"),
            ("List-Id: News <news.acme.test>", "automatic"),
            ("Precedence: bulk", "automatic"),
            ("Return-Path: <>", "automatic robot"),
            ("Content-Type: multipart/report; report-type=delivery-status", "automatic robot"),
            ("Content-Type: multipart/mixed; boundary=b", "attachment"),
        ] {
            assert_eq!(kinds(header), expected, "{header}");
        }
    }

    #[test]
    fn a_mail_has_its_key_wherever_it_lies_and_nobody_else_has_it() {
        let key = |header: &str| read(&format!("{header}\n\n"), "x.test").key;
        let mail = "Message-ID: <1@acme.test>\nFrom: Ann <ann@acme.test>\nSubject: x";
        assert_eq!(key(mail), key(&format!("X-Moved: yes\n{}", mail.replace("ann@acme", "ANN@acme"))));
        assert_ne!(key(mail), key(&mail.replace("ann@acme", "eve@evil")));
        let forged = format!("Authentication-Results: x.test; dmarc=fail\n{mail}");
        assert_ne!(key(mail), key(&forged), "one that comes first doesn't stand for the other");
        let bare = "From: ann@acme.test\nSubject: x\nDate: Mon, 1 Jun 2026 10:00:00 +0200";
        assert_eq!(key(bare), key(bare));
        assert_ne!(key(bare), key(&bare.replace("Subject: x", "Subject: y")));
        assert_eq!(key(mail).len(), 43);
    }

    #[test]
    fn a_long_subject_hides_nothing() {
        let header = format!(
            "Authentication-Results: mx.home.test; dmarc=pass\nSubject: {}\nFrom: ann@acme.test\n\n",
            "long ".repeat(20_000)
        );
        assert_eq!(read(&header, "mx.home.test").is_signed, Some(true));
    }

    proptest! {
        #[test]
        fn any_header_is_read(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "([();\"= \\\\.a-z]|\\PC){0,80}") {
            let _ = Headline::parse(&bytes, &Message::default(), "x.test");
            read(&format!("Authentication-Results: x.test; {text}\nFrom: a@b.test\n\n"), "x.test");
        }

        // Whatever somebody gets into a comment or quotes, it isn't a result.
        #[test]
        fn nothing_quoted_is_a_result(text in "[^\"\\\\\\r\\n]{0,60}") {
            let header = format!("Authentication-Results: x.test; dkim=fail reason=\"{text} ;dmarc=pass\"\nFrom: a@b.test\n\n");
            prop_assert_eq!(read(&header, "x.test").is_signed, Some(false));
        }
    }
}
