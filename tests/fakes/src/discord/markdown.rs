//! What a reader sees of Discord's markdown. Marks that are not escaped are gone, whether they have a
//! partner or not: a text that was not escaped loses characters, which a test can see.

/// The text without its marks; addresses of links stand behind their text.
pub fn plain(markdown: &str) -> String {
    let mut out = String::new();
    let mut rest = markdown;
    let mut starts_line = true;
    while !rest.is_empty() {
        let (length, shown) = step(rest, starts_line);
        let (taken, left) = rest.split_at(length);
        out.push_str(&shown);
        // A mark of a line may be followed by another, as in a heading within a list.
        starts_line = taken.ends_with('\n') || (starts_line && shown.trim().is_empty()) || shown == "- ";
        rest = left;
    }
    out.replace('\u{200b}', "")
}

/// How many bytes the next thing takes, and what is shown of it.
fn step(rest: &str, starts_line: bool) -> (usize, String) {
    if starts_line {
        let hidden = ["# ", "## ", "### ", "-# ", "> "].iter().find(|mark| rest.starts_with(**mark));
        if let Some(mark) = hidden {
            return (mark.len(), String::new());
        }
        if rest.starts_with("- ") {
            return (2, "- ".to_owned());
        }
    }
    let first = rest.chars().next().unwrap_or_default();
    let one = (first.len_utf8(), first.to_string());
    match first {
        '\\' => match rest[1..].chars().next().filter(char::is_ascii_punctuation) {
            Some(char) => (2, char.to_string()),
            None => one,
        },
        '`' => code(rest),
        'h' => match address(rest) {
            0 => one,
            length => (length, rest[..length].to_owned()),
        },
        '<' => angle(rest).unwrap_or(one),
        '[' => link(rest).unwrap_or(one),
        '*' | '_' => (1, String::new()),
        '~' | '|' if rest[1..].starts_with(first) => (2, String::new()),
        _ => one,
    }
}

fn code(rest: &str) -> (usize, String) {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let fence = if ticks >= 3 { 3 } else { ticks };
    let mark = "`".repeat(fence);
    let inner = &rest[fence..];
    let Some(end) = inner.find(&mark) else { return (fence, mark) };
    let text = &inner[..end];
    let shown = match text.split_once('\n') {
        // The first line names the language.
        Some((language, text)) if fence == 3 && !language.contains(' ') => text.trim_end_matches('\n'),
        _ => text,
    };
    (2 * fence + end, shown.to_owned())
}

/// How long the address is that begins here, 0 if none does.
fn address(rest: &str) -> usize {
    let begins = rest.starts_with("http://") || rest.starts_with("https://");
    if begins {
        rest.find(|char: char| char.is_whitespace() || "<>".contains(char)).unwrap_or(rest.len())
    } else {
        0
    }
}

/// An address in angle brackets, or a mention, a custom emoji, a time: those are no text.
fn angle(rest: &str) -> Option<(usize, String)> {
    let end = rest.find('>')?;
    let inner = &rest[1..end];
    if address(inner) == inner.len() {
        return Some((end + 1, inner.to_owned()));
    }
    let is_thing = ["@", "#", ":", "a:", "t:", "/", "id:"].iter().any(|mark| inner.starts_with(mark));
    is_thing.then(|| (end + 1, String::new()))
}

fn link(rest: &str) -> Option<(usize, String)> {
    let (label, behind) = rest[1..].split_once("](<")?;
    let (to, _) = behind.split_once(">)")?;
    if label.contains(['[', ']', '\n']) || to.contains(char::is_whitespace) {
        return None;
    }
    Some((1 + label.len() + 3 + to.len() + 2, format!("{} ({to})", plain(label))))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_reader_sees_the_text_and_not_its_marks() {
        assert_eq!(plain("# Head\n**bold** \\*no\\* `a*b`"), "Head\nbold *no* a*b");
        assert_eq!(plain("```rust\nlet a = 1;\n```\n> said"), "let a = 1;\nsaid");
        assert_eq!(
            plain("[here](<https://a.b/c_d>) <https://x.y/_z>"),
            "here (https://a.b/c_d) https://x.y/_z"
        );
        assert_eq!(plain("not *escaped, <@123> gone"), "not escaped,  gone");
    }
}
