//! Delivery status notifications (RFC 3464) about messages that could not be delivered.

use mail_parser::MessageParser;

use crate::compose::message_id;
use crate::parts::{Whole, parsed};

/// A notification that a message was not delivered. Anybody can forge one; only a known `original` shows that it is
/// about one of our messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounce {
    /// The notification's own id.
    pub id: String,
    /// Its UID in the inbox; later ones are greater.
    pub uid: u32,
    /// The Message-ID of the undelivered message, with brackets.
    pub original: Option<String>,
    pub failed: Vec<FailedRecipient>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRecipient {
    pub recipient: String,
    /// The status code, such as `5.1.1` (RFC 3463).
    pub status: String,
    /// The text from the server.
    pub diagnostic: String,
}

const MAX_RECIPIENTS: usize = 100;

/// The longest text from a server, in characters.
const MAX_DIAGNOSTIC: usize = 300;

impl Bounce {
    /// Parses a message; `None` if it is no notification of a failure.
    pub fn parse(bytes: &[u8], id: String, uid: u32) -> Option<Self> {
        parsed(bytes, |whole| Self::of(whole, id, uid)).flatten()
    }

    fn of(whole: &Whole<'_>, id: String, uid: u32) -> Option<Self> {
        let status = whole.parts().find(|part| part.is("message", "delivery-status"))?;
        let status = String::from_utf8_lossy(&status.content()).into_owned();
        let mut failed: Vec<FailedRecipient> =
            groups(&status).filter_map(failed).take(MAX_RECIPIENTS).collect();
        for it in failed.iter_mut().filter(|it| it.diagnostic.is_empty()) {
            let text = whole.texts().next().map(|part| part.text());
            it.diagnostic = text.and_then(|text| diagnostic_in(&text, &it.recipient)).unwrap_or_default();
        }
        if failed.is_empty() {
            return None;
        }
        let mut originals =
            whole.parts().filter(|part| part.is("text", "rfc822-headers") || part.is("message", "rfc822"));
        let original = originals.find_map(|part| {
            // The line break before a boundary isn't part of the content, and the parser wants one.
            let headers = [&part.content()[..], b"\n"].concat();
            MessageParser::default().parse_headers(&headers)?.message_id().and_then(message_id)
        });
        Some(Self { id, uid, original, failed })
    }
}

/// The explanation in the human-readable part; Exim gives the cause nowhere else.
fn diagnostic_in(text: &str, recipient: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let (_, after) = text.split_once(recipient)?;
    let words = after.split("\n\n").next()?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(words.chars().take(MAX_DIAGNOSTIC).collect())
}

/// The groups of fields, unfolded: one for the message and one for each recipient.
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

fn failed(group: Vec<(String, String)>) -> Option<FailedRecipient> {
    let field = |name: &str| {
        let value = group.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
        // Most values begin with a type: `rfc822; a@b`.
        value.map(|value| {
            value.split_once(';').map_or(value, |(_, value)| value).trim().chars().take(MAX_DIAGNOSTIC)
        })
    };
    let text = |name: &str| field(name).map(Iterator::collect::<String>);
    if !text("action")?.eq_ignore_ascii_case("failed") {
        return None;
    }
    Some(FailedRecipient {
        recipient: text("original-recipient").or_else(|| text("final-recipient"))?,
        status: text("status").unwrap_or_default(),
        diagnostic: text("diagnostic-code").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Bounce, FailedRecipient};

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
        let failed = FailedRecipient {
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
