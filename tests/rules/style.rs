//! What a program can check of `docs/style.md`.

use std::sync::LazyLock;

use regex::Regex;

use crate::documents::without_blocks;
use crate::guides::pages;
use crate::{assert_none, regex};

/// A line of a page has so many characters at most; they wrap at 120.
const MAX_LINE: usize = 150;

/// What isn't written, and what is instead.
static WORDS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let words = [
        (r"\b[Mm]ails\b|\b[Aa] mail\b", "an email is an email"),
        (r"(?i)\b(?:take|takes|taken|took) (?:it|this|that|them) back\b", "that is to undo"),
        (
            r"(?i)\b(?:organis|summaris|recognis|optimis|authoris|synchronis)|\bcolour|\blicence|\bbehaviour",
            "American spelling",
        ),
        (r"(?:^|[.:;] )Of (?:a|an|several|these|each)\b", "say who does it"),
        (r"\b(?:is|are) the owners'", "only owners can use it"),
        (r"(?i)\bof late\b|\bwhereof\b|\btherein\b", "say it plainly"),
        (r"(?i)\bsimply\b|\bplease note\b|\beasily\b", "leave it out"),
        (r"(?i)\bbuilt-in planner\b", "that is basic mode"),
    ];
    words.map(|(pattern, why)| (regex(pattern), why)).into()
});

/// Names that keep their capitals in a heading.
const NAMES: [&str; 8] = ["Discord", "Drive", "English", "Google", "Microsoft", "Slack", "Telegram", "Zoho"];

/// A page's lines of text, without code, tables and the addresses of links.
fn prose(text: &str) -> Vec<String> {
    static CODE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)`[^`]*`"));
    static ADDRESS: LazyLock<Regex> = LazyLock::new(|| regex(r"\]\([^)]*\)|https?://\S+"));
    let text = without_blocks(text);
    let is_text = |line: &&str| !line.starts_with("    ") && !line.starts_with('<');
    let text: Vec<&str> = text.lines().filter(is_text).collect();
    let text = text.join("\n");
    let text = ADDRESS.replace_all(&text, "]");
    CODE.replace_all(&text, "``").lines().map(str::to_owned).collect()
}

/// Is it a word with a capital that isn't a name? Acronyms and such as `HubSpot` have several.
fn is_capital(word: &str) -> bool {
    let word = word.trim_matches(|char: char| !char.is_alphanumeric());
    let rest: String = word.chars().skip(1).collect();
    let is_word = word.starts_with(char::is_uppercase) && rest.starts_with(char::is_lowercase);
    is_word && !rest.contains(char::is_uppercase) && !NAMES.iter().any(|name| word.starts_with(name))
}

fn badly_written(path: &str, text: &str) -> Vec<String> {
    static SPACES: LazyLock<Regex> = LazyLock::new(|| regex(r"\S  +\S"));
    let mut errors = Vec::new();
    let mut wrong = |what: &str, why: &str| errors.push(format!("{path}: “{what}”: {why}"));
    let is_wrapped =
        |line: &&str| !line.trim_start().starts_with(['|', '#', '<', '›']) && !line.starts_with("    ");
    let text_lines = without_blocks(text);
    for line in text_lines.lines().filter(is_wrapped).filter(|line| line.chars().count() > MAX_LINE) {
        wrong(line.get(..40).unwrap_or(line), "the line is too long");
    }
    // The style sheet and the changelog name words to say that they are gone.
    let is_about_words = path == "docs/style.md" || path == "CHANGELOG.md";
    for line in prose(text) {
        for (pattern, why) in WORDS.iter().filter(|_| !is_about_words) {
            if let Some(found) = pattern.find(&line) {
                wrong(found.as_str(), why);
            }
        }
        if !line.starts_with('|') && SPACES.is_match(&line) {
            wrong(line.get(..40).unwrap_or(&line), "two spaces");
        }
        if let Some(heading) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()) {
            // A step's number stands before its first word.
            let mut rest = heading.split(' ').skip_while(|word| word.ends_with('.')).skip(1);
            if let Some(word) = rest.find(|word| is_capital(word)) {
                wrong(word, "a heading has capitals at its beginning alone");
            }
            if heading.ends_with('.') {
                wrong(heading, "a heading has no full stop");
            }
        }
    }
    errors
}

#[test]
fn pages_follow_the_style_sheet() {
    assert_none(pages().iter().flat_map(|(path, text)| badly_written(path, text)));
}

#[test]
fn pages_follow_the_style_sheet_can_fail() {
    let text = "# 1. Two Capitals in Telegram\n\nTwo mails. Of a note, the colour.  `a mail` [x](a-mail.md)\n\n    a mail  there\n\n| a mail | b  c |\n";
    let errors = badly_written("a.md", text);
    let expected = [
        "a.md: “Capitals”: a heading has capitals at its beginning alone",
        "a.md: “mails”: an email is an email",
        "a.md: “colour”: American spelling",
        "a.md: “. Of a”: say who does it",
        "a.md: “Two mails. Of a note, the colour.  `` [x”: two spaces",
        "a.md: “a mail”: an email is an email",
    ];
    assert_eq!(errors, expected);
    assert_eq!(badly_written("a.md", &"long ".repeat(40)).len(), 1);
    assert_eq!(badly_written("docs/style.md", "two mails"), [""; 0]);
}
