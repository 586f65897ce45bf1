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
        let mut failed: Vec<Failed> = groups(&status).filter_map(failed).take(RECIPIENTS).collect();
        for it in failed.iter_mut().filter(|it| it.diagnostic.is_empty()) {
            let text = whole.text_bodies().find_map(|part| part.text_contents());
            it.diagnostic = text.and_then(|text| told(text, &it.recipient)).unwrap_or_default();
        }
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

/// What the text for people says of a recipient: Exim tells the cause nowhere else.
fn told(text: &str, recipient: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let (_, after) = text.split_once(recipient)?;
    let words = after.split("\n\n").next()?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(words.chars().take(WORDS).collect())
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

#[cfg(test)]
mod tests {
    use super::{Bounce, Failed};

    fn report(status: &str, last: &str) -> Option<Bounce> {
        let raw = format!(
            "Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\n\nIt failed.\n--b\n\
             Content-Type: message/delivery-status\n\n{status}\n--b\n{last}\n--b--\n"
        );
        Bounce::parse(raw.as_bytes(), "id".to_owned(), 3)
    }

    #[test]
    fn a_report_names_what_failed() {
        let status = "Reporting-MTA: dns; mx.test\n\nOriginal-Recipient: rfc822; bob@x.test\nFinal-Recipient: rfc822; b@y.test\n\
                      Action: failed\nStatus: 5.2.2\nDiagnostic-Code: smtp; 552 5.2.2\n  mailbox full\n\n\
                      Final-Recipient: rfc822; ok@x.test\nAction: delivered\nStatus: 2.0.0\n";
        let failed = Failed {
            recipient: "bob@x.test".to_owned(),
            status: "5.2.2".to_owned(),
            diagnostic: "552 5.2.2  mailbox full".to_owned(),
        };
        for last in [
            "Content-Type: message/rfc822\n\nMessage-ID: <a@x.test>\nSubject: x\n\nhello",
            "Content-Type: text/rfc822-headers\n\nMessage-ID: <a@x.test>\nSubject: x\n",
        ] {
            let bounce = report(status, last).unwrap();
            assert_eq!(bounce.original.as_deref(), Some("<a@x.test>"));
            assert_eq!(bounce.failed, std::slice::from_ref(&failed));
        }
        assert_eq!(report(status, "").unwrap().original, None);
    }

    #[test]
    fn what_did_arrive_is_no_failure() {
        assert_eq!(
            report(
                "Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; a@b\nAction: delayed\nStatus: 4.0.0\n",
                ""
            ),
            None
        );
        assert_eq!(Bounce::parse(b"Subject: x\n\nhello", String::new(), 1), None);
    }
}
