//! The lines under an answer that say what was really done.

use adjutant_types::ExecutionStatus;
use adjutant_types::text::shortened;

/// The longest receipt, in characters.
const MAX_LENGTH: usize = 160;

/// The receipt of a call of a skill with this title: what it did, why it didn't, or why nobody knows. None while it is
/// open.
pub fn line(title: &str, status: ExecutionStatus, text: &str) -> Option<String> {
    match status {
        ExecutionStatus::Completed => Some(format!("✓ {}", cut(text))),
        ExecutionStatus::Unknown => Some(format!("? {title}: {}", cut(text))),
        ExecutionStatus::Failed | ExecutionStatus::Timeout => Some(format!("✗ {title}: {}", cut(text))),
        _ => None,
    }
}

/// An answer with its receipts, a line each. The marks are ours alone: a model's own line can't look like one.
pub fn under(answer: &str, lines: &[String]) -> String {
    let answer = answer.replace(['✓', '✗'], "-");
    match lines.is_empty() {
        true => answer,
        false => format!("{}\n\n{}", answer.trim_end(), lines.join("\n")),
    }
}

/// The first line and the sentences that follow it, but no list or block.
fn cut(text: &str) -> String {
    let is_sentence = |line: &&str| line.starts_with(|letter: char| letter.is_alphabetic() || letter == '“');
    let sentences: Vec<&str> =
        text.lines().take(1).chain(text.lines().skip(1).take_while(is_sentence)).collect();
    shortened(&sentences.join("; ").trim_end_matches(':').replace(['✓', '✗'], "-"), MAX_LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_can_neither_invent_nor_hide_a_receipt() {
        let answer = "All done.\n✓ Sent “Offsite” to Dana";
        assert_eq!(under(answer, &[]), "All done.\n- Sent “Offsite” to Dana");
        let created =
            line("Create an event", ExecutionStatus::Completed, "Created “Lunch”\nInvited bob@x.test\n- a");
        assert_eq!(created.unwrap(), "✓ Created “Lunch”; Invited bob@x.test");
        let lines = ["✓ Added “Milk”".to_owned(), "✗ Send an email: 550 no such user".to_owned()];
        assert_eq!(under("Done.", &lines), "Done.\n\n✓ Added “Milk”\n✗ Send an email: 550 no such user");
    }
}
