//! Forms: the exact sentences that basic mode understands, read from the `[[skill.forms]]` of a skill.
//!
//! ```toml
//! [[skill.forms]]
//! say = "remind me [{due:due}] to {title}"
//! example = "remind me tomorrow at 9 to call Bob"
//! ```
//!
//! | in `say` | means |
//! | --- | --- |
//! | `word` | this word, in any case |
//! | `(a\|b c)` | one of these |
//! | `[a\|b]` | one of these, or nothing |
//! | `{title}` | words that say nothing about time; in quotes they may |
//! | `{text:any}` | everything up to the end of the part, as typed |
//! | `{place:word}` | one word |
//! | `{who:person}` | a name of up to four words; "Bob's" is Bob |
//! | `{to:address}` | an email address |
//! | `{in:channel}`, `{url:link}` | `#general`, `https://…` |
//! | `{due:due}`, `{start:start}` | a day, a time, or both; only what is due may be said with "by" |
//! | `{start:moment}` | a day and a time |
//! | `{when:period}` | a day or several: `{when.from}`, `{when.to}`, and `{when.after}` for the day behind it |
//! | `{again:repeat}` | "every Monday at 9": `{again.rule}`, `{again.first}`, and `{again.said}` as typed |
//! | `{long:length}` | "30 minutes" |
//!
//! `say` may be a list of such texts. A slot that is called like an argument fills it. `arguments` adds others, whose texts may hold slots; `{text.line}` is a
//! slot's first line, and `{results}` what the part before has found. An argument whose slot isn't in the sentence is left out.

use adjutant_chat::suggest::did_you_mean;
use adjutant_config::document::{Node, Position, Problems, Table};
use serde_json::{Map, Value};

use super::arguments::Argument;

/// Brackets in more brackets than this are a slip.
const MAX_DEPTH: usize = 4;

/// A sentence that starts a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The parts of the sentence, from the first word to the last.
    pub items: Vec<Item>,
    /// Arguments besides those that slots fill by their names.
    pub arguments: Map<String, Value>,
    /// How a person may say it, for help.
    pub example: Option<String>,
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A word in lower case, or a punctuation mark.
    Word(String),
    /// Something that the person fills in.
    Slot(String, SlotType),
    /// One of these; an empty one if all may be left out.
    OneOf(Vec<Vec<Item>>),
}

adjutant_types::words! {
    /// The kind of text that a slot takes.
    SlotType {
        /// Words that say nothing about time.
        Text = "text",
        /// Everything up to the end.
        Any = "any",
        Word = "word",
        Person = "person",
        Address = "address",
        /// `#general`.
        Channel = "channel",
        Link = "link",
        /// A day, a time, or both, perhaps with "by".
        Due = "due",
        /// The same without "by".
        Start = "start",
        /// A day and a time.
        Moment = "moment",
        /// One or several days.
        Period = "period",
        /// How often, and when first.
        Repeat = "repeat",
        Length = "length",
    }
}

impl SlotType {
    /// The names under which its value can be used: "" is the slot itself.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["", "line", "capital"],
            Self::Any => &["", "line"],
            Self::Period => &["from", "to", "after"],
            Self::Repeat => &["rule", "first", "said"],
            _ => &[""],
        }
    }
}

pub(super) fn read(skill: Table, skill_arguments: &[Argument], problems: &mut Problems<'_>) -> Vec<Form> {
    let mut forms = Vec::new();
    for node in skill.list("forms", "a list of tables: [[skill.forms]]", problems) {
        let Some(table) = Table::of(node, "the form", problems) else { continue };
        table.only(&["say", "arguments", "example"], problems);
        let example = table.optional_text("example", problems).map(str::to_owned);
        let arguments = match table.get("arguments").map(|node| node.json()) {
            None => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => {
                problems.add(table.place("arguments"), "`arguments` must be a table");
                Map::new()
            }
        };
        let says: Vec<&str> = match table.get("say").map(|node| (node.as_str(), node.as_list())) {
            Some((None, Some(all))) => all.iter().filter_map(Node::as_str).collect(),
            _ => table.text("say", problems).into_iter().collect(),
        };
        let ways: Result<Vec<Vec<Item>>, String> = says.into_iter().map(items).collect();
        match ways.map(one_of) {
            Ok(items) => {
                let form = Form { items, arguments, example };
                if !problems.is_trusted {
                    check(&form, skill_arguments, table.place("say"), problems);
                }
                forms.push(form);
            }
            Err(why) => problems.add(table.place("say"), why),
        }
    }
    forms
}

/// Notes arguments that the skill doesn't have, required ones that a way doesn't give, and slots that are nowhere.
fn check(form: &Form, skill_arguments: &[Argument], at: Position, problems: &mut Problems<'_>) {
    let names = || skill_arguments.iter().map(|argument| argument.name.as_str());
    for name in form.arguments.keys().filter(|name| names().all(|argument| argument != *name)) {
        problems.add(at, format!("the skill has no argument '{name}'{}", did_you_mean(name, names())));
    }
    let slots = slots(&form.items);
    let used: Vec<String> = form.arguments.values().flat_map(references).collect();
    for reference in used.iter().filter(|reference| *reference != "results") {
        let (slot, field) = reference.split_once('.').unwrap_or((reference, ""));
        if !slots.iter().any(|(name, kind)| *name == slot && kind.fields().contains(&field)) {
            problems.add(at, format!("`{{{reference}}}` is no slot of `say`"));
        }
    }
    for (slot, kind) in &slots {
        let is_used = used.iter().any(|reference| reference.split('.').next() == Some(slot));
        if !is_used && (names().all(|argument| argument != *slot) || !kind.fields().contains(&"")) {
            problems.add(
                at,
                format!("nothing uses `{{{slot}}}`: call it like an argument, or name it in `arguments`"),
            );
        }
    }
    for argument in skill_arguments.iter().filter(|argument| argument.required) {
        if !form.arguments.contains_key(&argument.name) && !always_has(&form.items, &argument.name) {
            problems.add(at, format!("the form gives no '{}', which the skill requires", argument.name));
        }
    }
}

/// One of several ways to say it.
fn one_of(mut ways: Vec<Vec<Item>>) -> Vec<Item> {
    match ways.len() {
        0 | 1 => ways.pop().unwrap_or_default(),
        _ => vec![Item::OneOf(ways)],
    }
}

fn slots(items: &[Item]) -> Vec<(&str, SlotType)> {
    let mut all = Vec::new();
    for item in items {
        match item {
            Item::Slot(name, kind) => all.push((name.as_str(), *kind)),
            Item::Word(_) => {}
            Item::OneOf(ways) => all.extend(ways.iter().flat_map(|way| slots(way))),
        }
    }
    all
}

/// Whether a slot is in every way to say this.
fn always_has(items: &[Item], slot: &str) -> bool {
    items.iter().any(|item| match item {
        Item::Slot(name, _) => name == slot,
        Item::Word(_) => false,
        Item::OneOf(all) => all.iter().all(|way| always_has(way, slot)),
    })
}

impl Form {
    /// The words that it may begin with.
    pub fn beginnings(&self) -> Vec<&str> {
        let mut words = Vec::new();
        add_beginnings(&self.items, &mut words);
        words
    }
}

fn add_beginnings<'i>(items: &'i [Item], words: &mut Vec<&'i str>) {
    match items.split_first() {
        Some((Item::Word(first), _)) => words.push(first),
        Some((Item::OneOf(all), rest)) => {
            all.iter().for_each(|way| add_beginnings(way, words));
            if all.iter().any(Vec::is_empty) {
                add_beginnings(rest, words);
            }
        }
        Some((Item::Slot(..), _)) | None => {}
    }
}

/// The slots that a template names.
fn references(template: &Value) -> Vec<String> {
    match template {
        Value::String(text) => {
            text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
        }
        Value::Array(all) => all.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Reads what `say` holds.
fn items(say: &str) -> Result<Vec<Item>, String> {
    let mut rest = say;
    let mut all = alternatives(&mut rest, None, 0)?;
    let items = all.pop().unwrap_or_default();
    match items.iter().all(|item| matches!(item, Item::OneOf(all) if all.iter().any(Vec::is_empty))) {
        true => Err("`say` may not be empty, nor may all of it be left out".to_owned()),
        false => Ok(items),
    }
}

/// Reads alternatives up to the bracket that closes them.
fn alternatives(rest: &mut &str, close: Option<char>, depth: usize) -> Result<Vec<Vec<Item>>, String> {
    if depth > MAX_DEPTH {
        return Err("`say` has too many brackets in brackets".to_owned());
    }
    let mut all: Vec<Vec<Item>> = Vec::new();
    let mut items = Vec::new();
    loop {
        *rest = rest.trim_start();
        let Some(next) = rest.chars().next() else {
            all.push(items);
            return close.map_or(Ok(all), |close| Err(format!("a `{close}` is missing in `say`")));
        };
        match next {
            '(' | '[' => {
                *rest = &rest[1..];
                let close = if next == '(' { ')' } else { ']' };
                let mut inner = alternatives(rest, Some(close), depth + 1)?;
                if next == '[' {
                    inner.push(Vec::new());
                }
                items.push(Item::OneOf(inner));
            }
            '|' if close.is_some() => {
                *rest = &rest[1..];
                all.push(std::mem::take(&mut items));
            }
            ')' | ']' if close == Some(next) => {
                *rest = &rest[1..];
                all.push(items);
                return Ok(all);
            }
            '{' => {
                let (slot, after) = rest[1..].split_once('}').ok_or("a `}` is missing in `say`")?;
                *rest = after;
                items.push(read_slot(slot)?);
            }
            ':' | ',' => {
                *rest = &rest[1..];
                items.push(Item::Word(next.to_string()));
            }
            ')' | ']' | '}' | '|' => return Err(format!("`{next}` opens nothing in `say`")),
            _ => {
                let end =
                    rest.find(|c: char| c.is_whitespace() || "()[]{}|:,".contains(c)).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                *rest = after;
                items.push(Item::Word(word.to_lowercase()));
            }
        }
    }
}

fn read_slot(text: &str) -> Result<Item, String> {
    let (name, kind) = text.split_once(':').unwrap_or((text, "text"));
    let kind: SlotType = kind.parse().map_err(|_| {
        let names: Vec<&str> = SlotType::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("`{{{text}}}`: there is no type '{kind}'; there are {}", names.join(", "))
    })?;
    match super::is_word(name) {
        true => Ok(Item::Slot(name.to_owned(), kind)),
        false => Err(format!("`{{{text}}}`: a slot's name has small letters, digits and '_'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(say: &str) -> String {
        items(say).map_or_else(|why| why, |items| format!("{items:?}"))
    }

    #[test]
    fn a_form_is_read_or_its_fault_is_told() {
        insta::assert_snapshot!(shown("(Add|new [big]) task[:] {title} [by {due:due}]"), @r#"[OneOf([[Word("add")], [Word("new"), OneOf([[Word("big")], []])]]), Word("task"), OneOf([[Word(":")], []]), Slot("title", Text), OneOf([[Word("by"), Slot("due", Due)], []])]"#);
        let wrong = ["", "[add]", "add (task", "add task)", "{title:tme}", "{Title}", "add {title", "a | b"];
        insta::assert_snapshot!(wrong.map(shown).join("\n"), @"
        `say` may not be empty, nor may all of it be left out
        `say` may not be empty, nor may all of it be left out
        a `)` is missing in `say`
        `)` opens nothing in `say`
        `{title:tme}`: there is no type 'tme'; there are text, any, word, person, address, channel, link, due, start, moment, period, repeat, length
        `{Title}`: a slot's name has small letters, digits and '_'
        a `}` is missing in `say`
        `|` opens nothing in `say`
        ");
        assert!(shown(&format!("a {}", "[(".repeat(9))).contains("too many brackets"));
    }
}
