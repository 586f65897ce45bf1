//! The content lines of iCalendar and vCard (RFC 5545 §3.1, RFC 6350 §3.2), as a tree.
//!
//! Each line is kept as it was read, folds included, and written back unchanged unless it is edited.

use std::borrow::Cow;

use crate::{DavError, Result};

const MAX_TEXT: usize = 16 << 20;
/// The deepest nesting; an alarm in an event in a calendar is 3.
const MAX_DEPTH: usize = 16;
/// A folded line's length, in bytes.
const FOLD: usize = 75;

/// A content line, still folded: a name, parameters and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    raw: String,
}

/// A line or a nested component, in the order they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Line(Line),
    Component(Component),
}

/// The content between `BEGIN:` and `END:`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
}

/// A parsed line: parameter names in capitals, their values without quotes; the value still escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Property {
    pub(crate) params: Vec<(String, Vec<String>)>,
    pub(crate) value: String,
}

impl Line {
    /// A new line; the caller escapes the value ([`escaped`]) if it is text.
    pub(crate) fn new(name: &str, params: &[(&str, &str)], value: &str) -> Self {
        let params = params.iter().map(|(param, value)| ((*param).to_owned(), vec![(*value).to_owned()]));
        Self::of(name, &Property { params: params.collect(), value: value.to_owned() })
    }

    /// The line of a property, whose value is already escaped.
    pub(crate) fn of(name: &str, property: &Property) -> Self {
        let mut line = name.to_owned();
        for (param, values) in &property.params {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            line.push_str(&format!(";{param}={}", values.join(",")));
        }
        line.push(':');
        line.extend(property.value.chars().filter(|c| !c.is_control() || *c == '\t'));
        Self { raw: folded(&line) }
    }

    fn unfolded(&self) -> Cow<'_, str> {
        if self.raw.contains('\n') {
            Cow::Owned(self.raw.replace("\r\n ", "").replace("\r\n\t", ""))
        } else {
            Cow::Borrowed(&self.raw)
        }
    }

    /// The name with the group of a vCard (`item1.EMAIL`).
    fn full_name(&self) -> &str {
        let end = self.raw.bytes().position(|byte| matches!(byte, b';' | b':' | b'\r'));
        &self.raw[..end.unwrap_or(self.raw.len())]
    }

    /// The group of lines that it belongs to in a vCard.
    pub(crate) fn group(&self) -> Option<&str> {
        self.full_name().rsplit_once('.').map(|(group, _)| group)
    }

    /// Whether it has this name, in any group.
    pub(crate) fn is(&self, name: &str) -> bool {
        let full = self.full_name();
        full.len() >= name.len()
            && full.as_bytes()[full.len() - name.len()..].eq_ignore_ascii_case(name.as_bytes())
            && (full.len() == name.len() || full.as_bytes()[full.len() - name.len() - 1] == b'.')
    }

    /// Parses the line. Without a colon the value is empty.
    pub(crate) fn read(&self) -> Property {
        let line = self.unfolded();
        let mut params = Vec::new();
        let mut rest = &line[line.find([';', ':']).unwrap_or(line.len())..];
        while let Some(after) = rest.strip_prefix(';') {
            let end = after.find(['=', ';', ':']).unwrap_or(after.len());
            let name = after[..end].to_ascii_uppercase();
            rest = &after[end..];
            let mut values = Vec::new();
            if !rest.starts_with('=') {
                // vCard 2.1 and many programs write `TEL;CELL:`.
                params.push(("TYPE".to_owned(), vec![name]));
                continue;
            }
            while let Some(after) = rest.strip_prefix(['=', ',']) {
                let (value, left) = match after.strip_prefix('"') {
                    Some(inner) => inner.split_once('"').unwrap_or((inner, "")),
                    None => ("", after),
                };
                // Text after a closing quote is dropped.
                let (bare, left) = left.split_at(left.find([',', ';', ':']).unwrap_or(left.len()));
                values.push(uncaret(if after.starts_with('"') { value } else { bare }));
                rest = left;
            }
            params.push((name, values));
        }
        Property { params, value: rest.strip_prefix(':').unwrap_or_default().to_owned() }
    }
}

impl Property {
    /// The first value of a parameter.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().find(|(param, _)| param == name)?;
        found.1.first().map(String::as_str)
    }

    pub(crate) fn text(&self) -> String {
        unescaped(&self.value)
    }
}

impl Component {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), nodes: Vec::new() }
    }

    /// All components of a text, in order; text outside of them is ignored.
    pub(crate) fn read_all(text: &str) -> Result<Vec<Self>> {
        if text.len() > MAX_TEXT {
            return Err(DavError::tool("the text is longer than 16 MB"));
        }
        let mut done = Vec::new();
        let mut open: Vec<Self> = Vec::new();
        for raw in logical_lines(text) {
            let keyword = |word: &str| after(&raw, word).map(str::trim);
            if let Some(name) = keyword("BEGIN:") {
                if open.len() == MAX_DEPTH {
                    return Err(DavError::tool("the text is nested too deeply"));
                }
                open.push(Self::new(name));
            } else if let Some(name) = keyword("END:") {
                let Some(part) = open.pop().filter(|part| part.name.eq_ignore_ascii_case(name)) else {
                    return Err(DavError::tool(format!("END:{name} without its BEGIN")));
                };
                match open.last_mut() {
                    Some(outer) => outer.nodes.push(Node::Component(part)),
                    None => done.push(part),
                }
            } else if let Some(part) = open.last_mut() {
                part.nodes.push(Node::Line(Line { raw: raw.into_owned() }));
            }
        }
        match open.last() {
            Some(part) => Err(DavError::tool(format!("the text ends inside of {}", part.name))),
            None => Ok(done),
        }
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    pub(crate) fn lines<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        self.nodes.iter().filter_map(move |node| match node {
            Node::Line(line) if line.is(name) => Some(line),
            _ => None,
        })
    }

    pub(crate) fn components<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.nodes.iter().filter_map(move |node| match node {
            Node::Component(part) if part.is(name) => Some(part),
            _ => None,
        })
    }

    /// The first property of this name, read.
    pub(crate) fn get(&self, name: &str) -> Option<Property> {
        self.lines(name).next().map(Line::read)
    }

    /// The text of the first property of this name, or an empty one.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).map(|property| property.text()).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, line: Line) {
        self.nodes.push(Node::Line(line));
    }

    /// Adds a line after the others, before nested components.
    pub(crate) fn add(&mut self, line: Line) {
        let at = self.nodes.iter().position(|node| matches!(node, Node::Component(_)));
        self.nodes.insert(at.unwrap_or(self.nodes.len()), Node::Line(line));
    }

    /// Replaces the lines of this name; new ones go before the first nested component.
    pub(crate) fn set(&mut self, name: &str, lines: impl IntoIterator<Item = Line>) {
        let is_old = |node: &Node| matches!(node, Node::Line(line) if line.is(name));
        let first_part = self.nodes.iter().position(|node| matches!(node, Node::Component(_)));
        let at = self.nodes.iter().position(is_old).or(first_part).unwrap_or(self.nodes.len());
        self.nodes.retain(|node| !is_old(node));
        let at = at.min(self.nodes.len());
        self.nodes.splice(at..at, lines.into_iter().map(Node::Line));
    }

    /// The text, each line ended by CRLF.
    pub(crate) fn write(&self, to: &mut String) {
        to.push_str(&format!("BEGIN:{}\r\n", self.name));
        for node in &self.nodes {
            match node {
                Node::Line(line) => {
                    to.push_str(&line.raw);
                    to.push_str("\r\n");
                }
                Node::Component(part) => part.write(to),
            }
        }
        to.push_str(&format!("END:{}\r\n", self.name));
    }
}

/// What comes after this beginning, in capitals or not.
pub(crate) fn after<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(beginning.len())?;
    start.eq_ignore_ascii_case(beginning).then_some(rest)
}

/// The lines of a text with their continuations, folds written as CRLF; empty lines are left out.
fn logical_lines(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    std::iter::from_fn(move || {
        loop {
            let (line, mut left) = rest.split_once('\n').unwrap_or((rest, ""));
            let mut line = Cow::Borrowed(line.trim_end_matches('\r'));
            while left.starts_with([' ', '\t']) {
                let (next, after) = left.split_once('\n').unwrap_or((left, ""));
                line.to_mut().push_str("\r\n");
                line.to_mut().push_str(next.trim_end_matches('\r'));
                left = after;
            }
            rest = left;
            if !line.trim().is_empty() {
                return Some(line);
            }
            if rest.is_empty() {
                return None;
            }
        }
    })
}

fn folded(line: &str) -> String {
    let mut folded = String::with_capacity(line.len() + line.len() / FOLD * 3);
    let mut length = 0;
    for letter in line.chars() {
        if length + letter.len_utf8() > FOLD {
            folded.push_str("\r\n ");
            length = 1;
        }
        length += letter.len_utf8();
        folded.push(letter);
    }
    folded
}

/// A parameter's value, in quotes where it needs them; what quotes can't hold as RFC 6868 has it.
fn quoted(value: &str) -> String {
    let value = value.replace('^', "^^").replace('"', "^'").replace('\n', "^n");
    let value: String = value.chars().filter(|c| !c.is_control()).collect();
    if value.contains([',', ';', ':']) { format!("\"{value}\"") } else { value }
}

/// A parameter's value without RFC 6868's escapes.
fn uncaret(value: &str) -> String {
    let parts: Vec<String> =
        value.split("^^").map(|part| part.replace("^n", "\n").replace("^'", "\"")).collect();
    parts.join("^")
}

/// Text as a value: backslash, semicolon, comma and line ends escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.replace("\r\n", "\n").chars() {
        match letter {
            '\\' | ';' | ',' => escaped.extend(['\\', letter]),
            '\n' => escaped.push_str("\\n"),
            other => escaped.push(other),
        }
    }
    escaped
}

pub(crate) fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n' | 'N') => text.push('\n'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            other => text.push(other),
        }
    }
    text
}

/// An escaped value split where a separator is not escaped.
pub(crate) fn split_escaped(value: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut is_escaped) = (Vec::new(), 0, false);
    for (at, letter) in value.char_indices() {
        if letter == separator && !is_escaped {
            parts.push(&value[start..at]);
            start = at + letter.len_utf8();
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    parts.push(&value[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        for component in Component::read_all(text).unwrap() {
            component.write(&mut out);
        }
        out
    }

    #[test]
    fn what_nobody_touches_stays_as_it_came() {
        let text = "BEGIN:VCALENDAR\r\nx-foo;X-B=\"q;q\";X-A=1:keep\\, this \\;raw\r\nBEGIN:VEVENT\r\n\
            SUMMARY;LANGUAGE=de:Hal\r\n lo\r\n\t du\r\nPRIORITY:05\r\nDURATION:PT1H0M0S\r\nBROKENLINE\r\n\
            BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nX-LAST:1\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        assert_eq!(written(text), text);
        assert_eq!(written(&text.replace("\r\n", "\n")), text);
    }

    #[test]
    fn a_line_is_read_in_its_parts() {
        let text = "BEGIN:A\nitem1.ATTENDEE;CN=\"Doe, J^'^n\";X=1,\"2;3\";cell:mail\n to:a@b.c\nEND:A\n";
        let component = Component::read_all(text).unwrap().remove(0);
        let line = component.lines("attendee").next().unwrap();
        assert_eq!(line.group(), Some("item1"));
        let property = line.read();
        assert_eq!(property.param("CN"), Some("Doe, J\"\n"));
        assert_eq!(property.params[1], ("X".to_owned(), vec!["1".to_owned(), "2;3".to_owned()]));
        assert_eq!(property.param("TYPE"), Some("CELL"));
        assert_eq!(property.value, "mailto:a@b.c");
    }

    #[test]
    fn broken_texts_are_faults() {
        for text in ["BEGIN:A\n", "BEGIN:A\nEND:B\n", "END:A\n", &"BEGIN:A\n".repeat(1_000_000)] {
            assert!(Component::read_all(text).is_err());
        }
        assert_eq!(Component::read_all("hello\n\n").unwrap(), []);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(BEGIN:A|END:A|[A-Z;:=\",\\\\^. \r\n\t]|ü){0,60}") {
            if let Ok(components) = Component::read_all(&text) {
                for component in components {
                    for node in &component.nodes {
                        if let Node::Line(line) = node {
                            line.read().text();
                            line.group();
                        }
                    }
                    let mut first = String::new();
                    component.write(&mut first);
                    prop_assert_eq!(written(&first), first);
                }
            }
        }

        #[test]
        fn what_is_written_is_read(value in "\\PC{0,200}", param in "\\PC{0,30}", lines in "[a,;\\\\\n]{0,20}") {
            let text = format!("{value}{lines}");
            let mut component = Component::new("A");
            component.push(Line::new("B", &[("P", &param)], &escaped(&text)));
            let mut out = String::new();
            component.write(&mut out);
            prop_assert!(out.split("\r\n").all(|line| line.len() <= FOLD));
            let read = Component::read_all(&out).unwrap().remove(0).get("B").unwrap();
            prop_assert_eq!(read.text(), text);
            prop_assert_eq!(read.param("P").unwrap_or_default(), param);
        }

        #[test]
        fn escaped_parts_are_split(parts in proptest::collection::vec("[a;,\\\\\n]{0,5}", 1..5)) {
            let value = parts.iter().map(|part| escaped(part)).collect::<Vec<_>>().join(";");
            let split: Vec<String> = split_escaped(&value, ';').into_iter().map(unescaped).collect();
            prop_assert_eq!(split, parts);
        }
    }
}
