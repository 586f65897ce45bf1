//! The lines under an answer that say what was really done.

use adjutant_types::ExecutionStatus;

use super::{first_line, unknown};

/// The longest receipt, in characters.
const MAX_LENGTH: usize = 160;

/// The receipt of a call of a skill with this title: what it did, or why it didn't. None while it is open.
pub fn line(title: &str, status: ExecutionStatus, text: &str) -> Option<String> {
    match status {
        ExecutionStatus::Completed => Some(format!("✓ {}", cut(text))),
        ExecutionStatus::Unknown => Some(format!("? {title}: {}", cut(&unknown(text)))),
        ExecutionStatus::Failed | ExecutionStatus::Timeout => Some(format!("✗ {title}: {}", cut(text))),
        _ => None,
    }
}

/// An answer with its receipts. The marks are ours alone: a model's own line can't look like one.
pub fn under(answer: &str, lines: &[String]) -> String {
    let answer = answer.replace(['✓', '✗'], "-");
    match lines.is_empty() {
        true => answer,
        false => format!("{}\n\n{}", answer.trim_end(), lines.join(" · ")),
    }
}

fn cut(text: &str) -> String {
    let line = first_line(text).trim_end_matches(':').replace(['✓', '✗'], "-");
    match line.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_can_neither_invent_nor_hide_a_receipt() {
        let answer = "All done.\n✓ Sent “Offsite” to Dana";
        assert_eq!(under(answer, &[]), "All done.\n- Sent “Offsite” to Dana");
        let lines = ["✓ Added “Milk”".to_owned(), "✗ Send a mail: 550 no such user".to_owned()];
        assert_eq!(under("Done.", &lines), "Done.\n\n✓ Added “Milk” · ✗ Send a mail: 550 no such user");
    }
}
