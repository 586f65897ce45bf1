//! Slack's text format: links and mentions are in angle brackets, and `&`, `<` and `>` are escaped.
//! Source: <https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages>

use adjutant_chat::Mention;

pub(crate) fn mentions(text: &str, id: &str) -> bool {
    mentioned(text).iter().any(|one| one == id)
}

pub(crate) fn mentioned(text: &str) -> Vec<String> {
    let id = |token: Token<'_>| match token {
        Token::Angle(inner) => inner.strip_prefix('@').map(|one| split(one).0.to_owned()),
        Token::Text(_) => None,
    };
    tokens(text).into_iter().filter_map(id).collect()
}

/// The text without mentions of an account and the space after each.
pub(crate) fn without(text: &str, id: &str) -> String {
    let mut out = String::new();
    let mut is_cut = false;
    for token in tokens(text) {
        match token {
            Token::Angle(inner) if inner.strip_prefix('@').is_some_and(|one| split(one).0 == id) => {
                is_cut = true
            }
            Token::Angle(inner) => {
                out.extend(["<", inner, ">"]);
                is_cut = false;
            }
            Token::Text(text) => {
                out.push_str(if is_cut { text.strip_prefix(' ').unwrap_or(text) } else { text });
                is_cut = false;
            }
        }
    }
    out.trim().to_owned()
}

/// The text as people read it, with these names for accounts.
pub(crate) fn readable(text: &str, names: &[(String, String)]) -> String {
    let name = |token: Token<'_>| match token {
        Token::Text(text) => unescaped(text),
        Token::Angle(inner) => unescaped(&angle(inner, names)),
    };
    tokens(text).into_iter().map(name).collect()
}

/// The text as its writer's own, with ids in place of names that others chose, and whom and what it mentions.
pub(crate) fn own(text: &str, names: &[(String, String)]) -> (String, Vec<Mention>) {
    let (mut own, mut mentions) = (String::new(), Vec::<Mention>::new());
    for token in tokens(text) {
        let inner = match token {
            Token::Text(text) => {
                own.push_str(&unescaped(text));
                continue;
            }
            Token::Angle(inner) => inner,
        };
        let (what, label) = split(inner);
        let id = what.strip_prefix("!subteam^").map_or_else(|| what.to_owned(), |group| format!("@{group}"));
        if !id.starts_with(['@', '#']) {
            own.push_str(&unescaped(&angle(inner, &[])));
            continue;
        }
        let known = names.iter().find(|(one, _)| *one == id[1..]).map(|(_, name)| name.as_str());
        own.push_str(&id);
        if let Some(name) = known.or(label).filter(|_| mentions.iter().all(|one| one.id != id)) {
            mentions.push(Mention { id, name: unescaped(name) });
        }
    }
    (own, mentions)
}

fn angle(inner: &str, names: &[(String, String)]) -> String {
    let (what, label) = split(inner);
    match (inner.chars().next(), label) {
        (Some('@'), Some(label)) => format!("@{label}"),
        (Some('@'), None) => {
            let known = names.iter().find(|(id, _)| *id == what[1..]);
            format!("@{}", known.map_or(&what[1..], |(_, name)| name))
        }
        (Some('#'), label) => format!("#{}", label.unwrap_or(&what[1..])),
        // Groups and times have a label.
        (Some('!'), Some(label)) => label.to_owned(),
        (Some('!'), None) => format!("@{}", &what[1..]),
        (_, None) => what.to_owned(),
        (_, Some(label)) if what.contains(label) => what.strip_prefix("mailto:").unwrap_or(what).to_owned(),
        (_, Some(label)) => format!("{label} ({what})"),
    }
}

/// What is before the bar, and after it if there is something.
fn split(inner: &str) -> (&str, Option<&str>) {
    let (what, label) = inner.split_once('|').unwrap_or((inner, ""));
    (what, Some(label).filter(|label| !label.is_empty()))
}

enum Token<'a> {
    Text(&'a str),
    /// The content of angle brackets; never empty.
    Angle(&'a str),
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find('<').map(|at| from + at) {
        let inner = rest[at + 1..].split_once('>').map(|(inner, _)| inner);
        let Some(inner) = inner.filter(|inner| is_sequence(inner)) else {
            from = at + 1;
            continue;
        };
        tokens.extend((at > 0).then_some(Token::Text(&rest[..at])));
        tokens.push(Token::Angle(inner));
        (rest, from) = (&rest[at + inner.len() + 2..], 0);
    }
    tokens.extend((!rest.is_empty()).then_some(Token::Text(rest)));
    tokens
}

/// Whether Slack would write this in angle brackets.
fn is_sequence(inner: &str) -> bool {
    let is_name = inner.len() > 1 && inner.starts_with(['@', '#', '!']);
    let is_link = inner.contains("://") || inner.starts_with("mailto:") || inner.starts_with("tel:");
    (is_name || is_link) && !inner.contains('<')
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
