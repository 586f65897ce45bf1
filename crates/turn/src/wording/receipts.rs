//! The lines under an answer that say what was really done.

use adjutant_l10n::runs;
use adjutant_types::ExecutionStatus;
use adjutant_types::text::shortened;

const MAX_LENGTH: usize = 240;
/// The shortest sentence that isn't said twice, in characters.
const REPEATED: usize = 16;
/// How many receipts a person reads above a question.
const SHOWN: usize = 3;

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
        false => format!("{}\n\n{}", answer.trim_end(), lines.join("\n")).trim_start().to_owned(),
    }
}

/// The receipts above a question: a few, failures first, and how many more there are.
pub fn above_question(receipts: &[String]) -> String {
    let mut receipts = receipts.to_vec();
    receipts.sort_by_key(|line| line.starts_with('✓'));
    let hidden = receipts.len().saturating_sub(SHOWN);
    receipts.truncate(SHOWN);
    receipts.extend((hidden > 0).then(|| runs::more_lines(hidden)));
    receipts.join("\n")
}

/// Lines without those that the person has read, each left out as often as it was shown.
pub fn unshown<'a>(
    lines: impl Iterator<Item = &'a str>,
    shown: impl Iterator<Item = &'a str>,
) -> Vec<&'a str> {
    let mut shown: Vec<&str> = shown.collect();
    let is_new = |line: &&str| {
        let at = shown.iter().position(|shown| shown == line);
        at.map(|at| shown.swap_remove(at)).is_none()
    };
    lines.filter(is_new).collect()
}

/// What a model said before its answer, without the sentences that stand there again.
pub fn untold(said: &str, answer: &str) -> String {
    if answer.contains(said) {
        return String::new();
    }
    let is_new =
        |sentence: &&str| sentence.trim().chars().count() < REPEATED || !answer.contains(sentence.trim());
    let line = |line: &str| line.split_inclusive(". ").filter(is_new).collect::<String>();
    let lines = said.lines().map(|said| (said.trim(), line(said)));
    let left = lines.filter(|(said, left)| said.is_empty() || !left.trim().is_empty()).map(|(_, left)| left);
    left.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The first line and the sentences that follow it, but no list or block.
fn cut(text: &str) -> String {
    let is_sentence = |line: &&str| line.starts_with(|letter: char| letter.is_alphabetic() || letter == '“');
    let following = text.lines().skip(1).take_while(is_sentence);
    // What a list is headed by says nothing without it.
    let sentences: Vec<&str> =
        text.lines().take(1).chain(following.filter(|line| !line.ends_with(':'))).collect();
    let whole = sentences.join(". ").replace(".. ", ". ");
    shortened(&whole.trim_end_matches(':').replace(['✓', '✗'], "-"), MAX_LENGTH)
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
        assert_eq!(created.unwrap(), "✓ Created “Lunch”. Invited bob@x.test");
        let forgotten =
            "Forgotten: Lives in Bonn\nStill remembered; forget them by their IDs:\n- Likes Bonn [1]";
        let forgotten = line("Forget", ExecutionStatus::Completed, forgotten);
        assert_eq!(forgotten.unwrap(), "✓ Forgotten: Lives in Bonn");
        let lines = ["✓ Added “Milk”".to_owned(), "✗ Send an email: 550 no such user".to_owned()];
        assert_eq!(under("Done.", &lines), "Done.\n\n✓ Added “Milk”\n✗ Send an email: 550 no such user");
        assert_eq!(under("", &lines[..1]), "✓ Added “Milk”");
    }

    #[test]
    fn what_the_answer_says_again_is_told_once() {
        let said = "Your rent is due on Friday. I'll look it up.\n\nIt is 900 euros a month.\nOne moment";
        let answer = "Your rent is due on Friday.\nIt is 900 euros a month.";
        assert_eq!(untold(said, answer), "I'll look it up.\n\nOne moment");
        assert_eq!(untold("Your rent is due on Friday.", answer), "");
        assert_eq!(untold("On Friday. One moment", answer), "On Friday. One moment", "words alone stay");
    }

    #[test]
    fn a_receipt_is_left_out_as_often_as_it_was_shown() {
        let done = ["✓ Added “tea”", "✓ Added “tea”", "✗ Post: no", "✓ Added “salt”", "✓ Added “rice”"];
        let above = above_question(&done.map(str::to_owned));
        insta::assert_snapshot!(above, @"
        ✗ Post: no
        ✓ Added “tea”
        ✓ Added “tea”
        and 2 more
        ");
        let later = done.into_iter().chain(["✓ Added “tea”"]);
        assert_eq!(unshown(later, above.lines()), ["✓ Added “salt”", "✓ Added “rice”", "✓ Added “tea”"]);
    }
}
