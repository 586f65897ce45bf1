//! Pure: rich text as Slack's blocks, in parts that fit a message.
//!
//! Wanted: a reader sees every character of the text, no text can become markup that the tree does not
//! have, and none reaches anybody (`<!channel>`). Slack's own markup has no headings, lists, tables or rules, no
//! quotes in quotes and no escape for its marks, so those take another form.

mod inline;

use adjutant_chat::{
    Block, Choice, LengthUnit, Limits, Markup, RichText, aligned_table, one_line, sanitized, split,
    table_as_list,
};
use serde_json::{Value, json};

/// The longest text of one section, in characters.
/// Source: <https://docs.slack.dev/reference/block-kit/blocks/section-block>
const SECTION: usize = 3_000;

/// Sections of one message. Slack refuses messages whose blocks are too long together without saying where
/// that begins; 11,341 characters were refused: <https://github.com/slackapi/bolt-js/issues/2867>.
const SECTIONS: usize = 3;

/// What fits into a message.
pub(crate) const LIMITS: Limits = Limits {
    text: SECTION * SECTIONS,
    unit: LengthUnit::Characters,
    buttons: 25,
    markup: Markup::Markdown,
    edits: true,
    files: true,
};

/// The longest label of a button, in characters.
/// Source: <https://docs.slack.dev/reference/block-kit/block-elements/button-element>
const LABEL: usize = 75;

/// Columns of characters that a small screen shows without breaking lines of code.
const NARROW: usize = 60;

/// The longest text of a notification, in characters.
const NOTIFICATION: usize = 300;

/// One message.
pub(crate) struct Part {
    /// Its sections' texts, in Slack's markup; at least one, none empty.
    pub(crate) sections: Vec<String>,
    /// The same without markup, escaped: for when Slack refuses the sections.
    pub(crate) plain: String,
}

/// The messages that a markdown text takes; at least one.
pub(crate) fn parts(markdown: &str) -> Vec<Part> {
    let sections = split(&RichText::parse(markdown), SECTION, |part| LIMITS.unit.length(&rendered(part)));
    let part = |sections: &[RichText]| {
        let plain: Vec<String> = sections.iter().map(RichText::plain).collect();
        Part {
            sections: sections.iter().map(rendered).collect(),
            plain: something(&escaped(&sanitized(&plain.join("\n")))),
        }
    };
    sections.chunks(SECTIONS).map(part).collect()
}

impl Part {
    /// The part as Slack's blocks, with buttons below.
    pub(crate) fn blocks(&self, choices: &[Choice]) -> Value {
        // Without `expand` a long section hides behind “See more”; without `verbatim` Slack makes mentions
        // of what looks like names.
        let section = |text: &String| {
            let text = json!({"type": "mrkdwn", "text": text, "verbatim": true});
            json!({"type": "section", "text": text, "expand": true})
        };
        let mut blocks: Vec<Value> = self.sections.iter().map(section).collect();
        if !choices.is_empty() {
            let choices = choices.get(..LIMITS.buttons).unwrap_or(choices);
            blocks
                .push(json!({"type": "actions", "elements": choices.iter().map(button).collect::<Vec<_>>()}));
        }
        Value::Array(blocks)
    }

    /// What a notification shows.
    pub(crate) fn notification(&self) -> String {
        match self.plain.char_indices().nth(NOTIFICATION) {
            None => self.plain.clone(),
            Some((end, _)) => {
                let start = &self.plain[..end];
                // Not within an escaped character.
                let whole = start.rfind('&').filter(|at| !start[*at..].contains(';')).unwrap_or(end);
                format!("{}…", &start[..whole])
            }
        }
    }
}

fn button(choice: &Choice) -> Value {
    let label = one_line(&choice.label);
    let label = if label.trim().is_empty() { choice.id.clone() } else { label };
    let fits = label.chars().count() <= LABEL;
    let label = if fits { label } else { label.chars().take(LABEL - 1).chain(['…']).collect() };
    let text = json!({"type": "plain_text", "text": label, "emoji": false});
    json!({"type": "button", "text": text, "action_id": choice.id, "value": choice.id})
}

/// A text in which nothing is a control sequence any more.
/// Source: <https://docs.slack.dev/messaging/formatting-message-text#escaping>
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Slack refuses a text in which there is nothing.
fn something(text: &str) -> String {
    let text = text.trim_matches('\n').trim_end();
    if text.trim().is_empty() { inline::NOTHING.to_owned() } else { text.to_owned() }
}

/// A line, and whether it means something only at the left edge.
struct Line {
    text: String,
    at_edge: bool,
}

fn rendered(text: &RichText) -> String {
    let lines: Vec<String> = blocks(&text.blocks, false).into_iter().map(|line| line.text).collect();
    something(&lines.join("\n"))
}

fn blocks(list: &[Block], in_quote: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut before: Option<&Block> = None;
    for one in list {
        // Headings stand on what follows; code brings its own distance.
        let close = matches!(
            (before, one),
            (Some(Block::Heading { .. } | Block::Code { .. }), _) | (_, Block::Code { .. })
        );
        if before.is_some() && !close {
            lines.push(Line { text: String::new(), at_edge: false });
        }
        lines.extend(block(one, in_quote));
        before = Some(one);
    }
    lines
}

fn block(block: &Block, in_quote: bool) -> Vec<Line> {
    match block {
        Block::Paragraph(text) => plain(&inline::line(text)),
        Block::Heading { text, .. } => plain(&inline::heading(text)),
        Block::Code { text, .. } => fenced(text),
        Block::Quote(inner) if in_quote => blocks(inner, true),
        Block::Quote(inner) => {
            let quoted = |line: Line| Line { text: format!("> {}", line.text), at_edge: true };
            blocks(inner, true).into_iter().map(quoted).collect()
        }
        Block::List { start, items } => list(*start, items, in_quote),
        Block::Table { header, rows } => match aligned_table(header, rows, NARROW, ("  ", "  ")) {
            Some(text) => fenced(&text),
            None => self::block(&table_as_list(header, rows), in_quote),
        },
        Block::Rule => plain("———"),
    }
}

fn plain(text: &str) -> Vec<Line> {
    text.split('\n').map(|line| Line { text: line.to_owned(), at_edge: false }).collect()
}

fn fenced(text: &str) -> Vec<Line> {
    // Three ticks within the code would end it, so they are told apart by something invisible.
    let text = if text.contains("```") || text.ends_with('`') || text.starts_with('`') {
        text.replace('`', "`\u{200b}")
    } else {
        text.to_owned()
    };
    let text = if text.trim().is_empty() { inline::NOTHING.to_owned() } else { escaped(&text) };
    let lines = format!("```\n{text}\n```");
    lines.split('\n').map(|line| Line { text: line.to_owned(), at_edge: true }).collect()
}

fn list(start: Option<u64>, items: &[Vec<Block>], in_quote: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, item) in (0..).zip(items) {
        let mark =
            start.map_or_else(|| "• ".to_owned(), |first| format!("{}. ", first.saturating_add(number)));
        // Within an item blocks follow one another closely, or a nested list looks torn off.
        let mut inner = item.iter().flat_map(|one| block(one, in_quote)).peekable();
        let first = inner.next_if(|line| !line.at_edge).map(|line| line.text).unwrap_or_default();
        lines.push(Line { text: format!("{mark}{first}"), at_edge: false });
        lines.extend(inner.map(|line| match line.at_edge {
            true => line,
            false => Line { text: format!("    {}", line.text), at_edge: false },
        }));
    }
    lines
}

#[cfg(test)]
mod tests;
