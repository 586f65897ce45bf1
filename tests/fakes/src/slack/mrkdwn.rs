//! What a reader sees of Slack's mrkdwn. Marks that could begin or end something are gone, whether they have
//! a partner or not: a text that was not disarmed loses characters, which a test can see.

/// Shows nothing; next to a mark it counts as a space.
const NOTHING: char = '\u{200b}';

/// The text without its marks; addresses of links stand behind their text.
pub fn plain(mrkdwn: &str) -> String {
    let mut out = String::new();
    let mut rest = mrkdwn;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let (length, shown) = step(rest, first, before);
        out.push_str(&shown);
        before = rest[..length].chars().next_back();
        rest = &rest[length..];
    }
    out.replace(NOTHING, "")
}

/// The characters that Slack escapes.
pub(super) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The control sequences that are not escaped and so reach somebody or something: `<@U1>`, `<!here>`, `<#C1>`.
pub(super) fn pings(text: &str) -> Option<&str> {
    let at = ["<@", "<!", "<#"].iter().filter_map(|mark| text.find(mark)).min()?;
    Some(&text[at..text[at..].find('>').map_or(text.len(), |end| at + end + 1)])
}

/// How many bytes the next thing takes, and what is shown of it.
fn step(rest: &str, first: char, before: Option<char>) -> (usize, String) {
    let starts_line = before.is_none_or(|before| before == '\n');
    if starts_line
        && let Some(mark) = ["> ", "&gt; ", ">", "&gt;"].iter().find(|mark| rest.starts_with(**mark))
    {
        return (mark.len(), String::new());
    }
    let one = (first.len_utf8(), first.to_string());
    let after = rest[first.len_utf8()..].chars().next();
    match first {
        '&' => match ["&lt;", "&gt;", "&amp;"].iter().find(|entity| rest.starts_with(**entity)) {
            Some(entity) => (entity.len(), unescaped(entity)),
            None => one,
        },
        '`' => code(rest),
        '<' => angle(rest).unwrap_or(one),
        '*' | '_' | '~' if is_mark(before, after) => (1, String::new()),
        _ => one,
    }
}

/// Whether something could begin or end here.
fn is_mark(before: Option<char>, after: Option<char>) -> bool {
    let is_space = |char: Option<char>| char.is_none_or(|char| char.is_whitespace() || char == NOTHING);
    let is_word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
    let opens = !is_word(before) && !is_space(after);
    let closes = !is_space(before) && !is_word(after);
    opens || closes
}

fn code(rest: &str) -> (usize, String) {
    if let Some(inner) = rest.strip_prefix("```") {
        let Some(end) = inner.find("```") else { return (3, String::new()) };
        return (end + 6, unescaped(inner[..end].trim_matches('\n')));
    }
    let inner = &rest[1..];
    match inner.find(['`', '\n']) {
        Some(end) if end > 0 && inner[end..].starts_with('`') => (end + 2, unescaped(&inner[..end])),
        _ => (1, String::new()),
    }
}

/// A link with its text, or a mention, which is no text.
fn angle(rest: &str) -> Option<(usize, String)> {
    let end = rest.find('>')?;
    let inner = &rest[1..end];
    if inner.starts_with(['@', '#', '!']) {
        return Some((end + 1, String::new()));
    }
    let known = ["https://", "http://", "mailto:"].iter().any(|scheme| inner.starts_with(scheme));
    let shown = match inner.split_once('|') {
        Some((to, label)) => format!("{} ({})", plain(label), unescaped(to)),
        None => unescaped(inner),
    };
    (known && !inner.contains(char::is_whitespace) || inner.contains('|')).then_some((end + 1, shown))
}

#[cfg(test)]
mod tests {
    use super::{pings, plain};

    #[test]
    fn a_reader_sees_the_text_and_not_its_marks() {
        assert_eq!(plain("*bold* _it_ ~no~ snake_case 2 * 3"), "bold it no snake_case 2 * 3");
        assert_eq!(plain("```\nlet a = b &amp;&amp; c;\n```\n> said"), "let a = b && c;\nsaid");
        assert_eq!(
            plain("<https://a.b/c|here> <https://x.y/_z> &lt;b&gt;"),
            "here (https://a.b/c) https://x.y/_z <b>"
        );
        assert_eq!(plain("not *disarmed, <@U1> gone"), "not disarmed,  gone");
        assert_eq!(plain("*\u{200b}disarmed\u{200b}*"), "*disarmed*");
    }

    #[test]
    fn what_reaches_somebody_is_found() {
        assert_eq!(pings("a <!channel> b"), Some("<!channel>"));
        assert_eq!(pings("&lt;!channel&gt; <https://x.y>"), None);
    }
}
