//! Messages in the form that their platform accepts. A long answer may be a file behind its beginning.

use std::sync::Arc;

use adjutant_chat::{Block, ChatPort, Outbound, OutgoingFile, RichText, inline_text};
use adjutant_store::outbox::OutboxRow;
use adjutant_turn::wording;
use adjutant_types::MessageForm;
use adjutant_types::text::one_line;

/// The maximum number of messages for one text.
const MAX_MESSAGES: usize = 4;
/// The longest beginning, in bytes.
const BEGINNING: usize = 700;
/// How many headings of the rest are told, and the longest of them, in characters.
const HEADINGS: usize = 8;
const HEADING: usize = 60;
const NAME: &str = "answer.md";

/// A row in the form its platform accepts.
pub(in crate::gateway) fn outbound(row: &OutboxRow, port: &Arc<dyn ChatPort>) -> Outbound {
    let mut outbound = row.outbound();
    if row.form != MessageForm::Rich && !outbound.choices.is_empty() {
        let choices = std::mem::take(&mut outbound.choices);
        let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
        outbound.text = wording::delivery::without_buttons(&outbound.text, &labels);
    }
    if row.form == MessageForm::File {
        let text = outbound.file.map_or_else(|| outbound.text.clone(), |file| file.behind(&outbound.text));
        outbound.file = Some(OutgoingFile { name: NAME.to_owned(), text });
        outbound.voice = None;
    }
    if port.limits().files { outbound } else { outbound.without_file() }
}

/// How many parts are text.
pub(in crate::gateway) fn texts(outbound: &Outbound, port: &Arc<dyn ChatPort>) -> usize {
    port.parts(&Outbound { file: None, voice: None, ..outbound.clone() })
}

/// The form in which a row's refused part is sent next; none if all were refused.
pub(in crate::gateway) fn plainer(row: &OutboxRow, port: &Arc<dyn ChatPort>) -> Option<MessageForm> {
    let parts = |form| {
        let row = OutboxRow { form, form_part: row.part, ..row.clone() };
        port.parts(&outbound(&row, port))
    };
    match row.form {
        MessageForm::Rich => Some(MessageForm::Plain),
        MessageForm::Plain if parts(MessageForm::Small) > parts(MessageForm::Plain) => {
            Some(MessageForm::Small)
        }
        // A row whose file was refused has an empty one.
        MessageForm::Plain | MessageForm::Small if port.limits().files && row.file.as_deref() != Some("") => {
            Some(MessageForm::File)
        }
        _ => None,
    }
}

/// Whether a row's next part is its sound.
pub(in crate::gateway) fn is_voice_part(row: &OutboxRow, port: &Arc<dyn ChatPort>) -> bool {
    let outbound = outbound(row, port);
    outbound.voice.is_some() && outbound.part + 1 == port.parts(&outbound)
}

/// The message's text, with its receipts, and file, if its text takes too many messages of a platform that takes files.
pub(in crate::gateway) fn as_file(
    port: &dyn ChatPort,
    outbound: &Outbound,
) -> Option<(String, OutgoingFile)> {
    let is_plain = outbound.choices.is_empty() && outbound.file.is_none() && outbound.part == 0;
    let texts = Outbound { voice: None, ..outbound.clone() };
    if !is_plain || !port.limits().files || port.parts(&texts) <= MAX_MESSAGES {
        return None;
    }
    let (whole, receipts) = split_receipts(&outbound.text);
    let beginning = beginning(whole);
    let text = wording::files::whole_in_file(beginning, &headings(whole, beginning), receipts);
    Some((text, OutgoingFile { name: NAME.to_owned(), text: whole.to_owned() }))
}

/// An answer, and the receipts under it.
fn split_receipts(text: &str) -> (&str, &str) {
    // No model's text has these marks.
    let begins = text.rfind("\n\n✓ ").max(text.rfind("\n\n✗ "));
    begins.map_or((text, ""), |at| (&text[..at], text[at..].trim()))
}

/// The first paragraphs of a text, or lines, or words; never a part of a block of code.
fn beginning(text: &str) -> &str {
    let text = text.trim();
    let prefix = &text[..text.floor_char_boundary(BEGINNING)];
    let prefix = match prefix.matches("```").count() % 2 {
        0 => prefix,
        _ => &prefix[..prefix.rfind("```").unwrap_or_default()],
    };
    let ends = ["\n\n", "\n", " "].iter().find_map(|end| prefix.rfind(end).filter(|at| *at > 0));
    prefix[..ends.unwrap_or(prefix.len())].trim_end()
}

fn headings(text: &str, beginning: &str) -> Vec<String> {
    let rest = text.trim().strip_prefix(beginning).unwrap_or_default();
    let headings = RichText::parse(rest).blocks.into_iter().filter_map(|block| match block {
        Block::Heading { text, .. } => Some(one_line(&inline_text(&text), HEADING)),
        _ => None,
    });
    headings.filter(|heading| !heading.is_empty()).take(HEADINGS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_beginning_ends_where_something_ends() {
        let long = "word ".repeat(400);
        assert_eq!(beginning(&format!("First.\n\n{long}")), "First.");
        assert_eq!(beginning(&format!("First\nline {long}")), "First");
        assert!(beginning(&long).ends_with("word") && beginning(&long).len() <= BEGINNING);
        assert_eq!(beginning(&format!("Code:\n\n```\n{long}\n```\nend")), "Code:");
        assert_eq!(split_receipts("All.\n\n✓ Sent it · ✗ Not that"), ("All.", "✓ Sent it · ✗ Not that"));
        assert_eq!(split_receipts("All."), ("All.", ""));
    }

    #[test]
    fn a_rest_is_told_by_its_headings() {
        let words = "word ".repeat(200);
        let text = format!("# All\n\nFirst.\n\n{words}\n\n## **Costs**\n\n```\n# code\n```\n\n# Dates");
        assert_eq!(headings(&text, beginning(&text)), ["Costs", "Dates"]);
        assert_eq!(headings("First.", "First."), [""; 0]);
    }

    proptest! {
        #[test]
        fn a_beginning_is_one(text in "(\\PC|\n|```| ){0,2000}") {
            prop_assert!(text.trim().starts_with(beginning(&text)));
        }
    }
}
