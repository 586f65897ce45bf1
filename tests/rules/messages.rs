//! The sentences that people read: each is used, in our words, and short enough for its place.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};
use fluent_syntax::parser;
use regex::Regex;
use xtask::source;

use crate::{assert_none, files, regex, root};

/// The shortest label that a platform cuts has more characters.
const MAX_BUTTON: usize = 24;

/// One message: its file's module, its function, its words, and the messages that stand in it.
struct Message {
    module: String,
    function: String,
    text: String,
    references: Vec<String>,
}

fn messages(path: &str, source: &str) -> Vec<Message> {
    let module = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".ftl").replace('-', "_");
    let resource = parser::parse(source).unwrap_or_else(|(_, errors)| panic!("{path}: {errors:?}"));
    let message = |entry: &Entry<&str>| {
        let Entry::Message(message) = entry else { return None };
        let (mut text, mut references) = (String::new(), Vec::new());
        read(message.value.as_ref()?, &mut text, &mut references);
        let function = message.id.name.replace('-', "_");
        Some(Message { module: module.clone(), function, text, references })
    };
    resource.body.iter().filter_map(message).collect()
}

fn read(pattern: &Pattern<&str>, text: &mut String, references: &mut Vec<String>) {
    for element in &pattern.elements {
        match element {
            PatternElement::TextElement { value } => text.push_str(value),
            PatternElement::Placeable { expression: Expression::Inline(inline) } => {
                if let InlineExpression::MessageReference { id, .. } = inline {
                    references.push(id.name.replace('-', "_"));
                }
                text.push('…');
            }
            PatternElement::Placeable { expression: Expression::Select { variants, .. } } => {
                for variant in variants {
                    read(&variant.value, text, references);
                    text.push('\n');
                }
            }
        }
    }
}

fn all() -> Vec<Message> {
    let files = files("crates/l10n/messages/en", ".ftl");
    assert!(files.len() > 20, "the message files were not found");
    files.iter().flat_map(|(path, source)| messages(path, source)).collect()
}

/// The last two names of every path in a source, those of renamed modules as they are called at home.
fn calls(source: &str) -> Vec<(String, String)> {
    static IMPORT: LazyLock<Regex> = LazyLock::new(|| regex(r"use adjutant_l10n::[^;]*;"));
    static RENAMED: LazyLock<Regex> = LazyLock::new(|| regex(r"(\w+) as (\w+)"));
    static PATH: LazyLock<Regex> = LazyLock::new(|| regex(r"\w+(?:::\w+)+"));
    let imports = IMPORT.find_iter(source).flat_map(|import| RENAMED.captures_iter(import.as_str()));
    let renamed: HashMap<String, String> =
        imports.map(|renamed| (renamed[2].to_owned(), renamed[1].to_owned())).collect();
    let last_two = |path: regex::Match<'_>| {
        let (rest, function) = path.as_str().rsplit_once("::")?;
        let module = rest.rsplit("::").next()?;
        Some((renamed.get(module).map_or(module, String::as_str).to_owned(), function.to_owned()))
    };
    PATH.find_iter(source).filter_map(last_two).collect()
}

fn unused(messages: &[Message], sources: &[String]) -> Vec<String> {
    let called: HashSet<(String, String)> = sources.iter().flat_map(|source| calls(source)).collect();
    let is_used = |message: &&Message| {
        let by_message =
            |other: &Message| other.module == message.module && other.references.contains(&message.function);
        called.contains(&(message.module.clone(), message.function.clone()))
            || messages.iter().any(by_message)
    };
    let unused = messages.iter().filter(|message| !is_used(message));
    unused.map(|message| format!("{}.ftl: nobody says {}", message.module, message.function)).collect()
}

fn badly_worded(message: &Message) -> Vec<String> {
    let mut errors = Vec::new();
    let mut wrong = |why: String| errors.push(format!("{}.ftl: {}: {why}", message.module, message.function));
    for (words, better) in [
        (r"(?i)(?:^|[^\[.])\bmails?\b", "an email is an email"),
        (r"(?i)\b(take|taken|takes) (it |this |that )?back\b", "that is to undo"),
        ("  ", "two spaces"),
    ] {
        if let Some(found) = regex(words).find(&message.text) {
            wrong(format!("“{}”: {better}", found.as_str()));
        }
    }
    if message.function.ends_with("_button") && message.text.chars().count() > MAX_BUTTON {
        wrong(format!("a button's label has at most {MAX_BUTTON} characters"));
    }
    errors
}

#[test]
fn every_message_is_said_by_somebody() {
    let sources: Vec<String> =
        source::workspace(root()).unwrap().iter().map(source::Source::without_comments).collect();
    assert_none(unused(&all(), &sources));
}

#[test]
fn every_message_is_in_our_words() {
    assert_none(all().iter().flat_map(badly_worded));
}

#[test]
fn rules_of_messages_can_fail() {
    let source = "\
        sent = Sent your mails.\nsend-button = Send this to everybody at once\nold = Old. { sent }\n\
        fine = { $count ->\n    [one] One email.\n   *[other] { $count } emails.\n }\n";
    let all = messages("x/outgoing-post.ftl", source);
    let sources =
        ["use adjutant_l10n::outgoing_post as words; l10n::outgoing_post::old(); words::send_button()"
            .to_owned()];
    assert_eq!(unused(&all, &sources), ["outgoing_post.ftl: nobody says fine"]);
    let errors: Vec<String> = all.iter().flat_map(badly_worded).collect();
    assert_eq!(
        errors,
        [
            "outgoing_post.ftl: sent: “ mails”: an email is an email",
            "outgoing_post.ftl: send_button: a button's label has at most 24 characters"
        ]
    );
}
