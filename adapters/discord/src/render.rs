//! Pure: rich text as Discord's markdown, in parts that fit a message.
//!
//! Wanted: a reader sees every character of the text, and no text can become markup that the tree does
//! not have. Discord shows no rules, no tables, no quotes in quotes and no code within an indent, so
//! those take another form.

mod inline;

use adjutant_chat::{
    Block, Choice, LengthUnit, Limits, Markup, RichText, aligned_table, one_line, split, table_as_list,
};
use serde_json::{Value, json};

/// What fits into a message. Discord's own people say that it counts code points:
/// <https://github.com/discord/discord-api-docs/issues/1315>.
pub(crate) const LIMITS: Limits = Limits {
    text: 2_000,
    unit: LengthUnit::Characters,
    buttons: 25,
    markup: Markup::Markdown,
    edits: true,
    files: true,
};

/// The longest label of a button, in characters.
const LABEL: usize = 80;

/// Buttons beside one another.
const ROW: usize = 5;

/// Columns of characters that a small screen shows without breaking lines of code.
const NARROW: usize = 48;

/// The text of each message that a markdown text takes; at least one, none empty.
pub(crate) fn parts(markdown: &str) -> Vec<String> {
    let parts = split(&RichText::parse(markdown), LIMITS.text, |part| LIMITS.unit.length(&rendered(part)));
    parts.iter().map(rendered).collect()
}

/// Buttons as Discord's components.
pub(crate) fn buttons(choices: &[Choice]) -> Value {
    let button = |choice: &Choice| {
        let label = one_line(&choice.label);
        let fits = label.chars().count() <= LABEL;
        let label =
            if fits { label } else { label.chars().take(LABEL - 1).chain(['…']).collect::<String>() };
        json!({"type": 2, "style": 2, "label": label, "custom_id": choice.id})
    };
    let row = |row: &[Choice]| json!({"type": 1, "components": row.iter().map(button).collect::<Vec<_>>()});
    choices.get(..LIMITS.buttons).unwrap_or(choices).chunks(ROW).map(row).collect()
}

/// A line, and whether it means something only at the left edge.
struct Line {
    text: String,
    at_edge: bool,
}

fn rendered(text: &RichText) -> String {
    let lines: Vec<String> = blocks(&text.blocks, false).into_iter().map(|line| line.text).collect();
    let text = lines.join("\n");
    // Discord trims too, and refuses what is empty then.
    let text = text.trim();
    if text.is_empty() { inline::NOTHING.to_owned() } else { text.to_owned() }
}

fn blocks(list: &[Block], in_quote: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut before: Option<&Block> = None;
    for one in list {
        // Headings and code bring their own distance.
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
        Block::Heading { level, text } => heading(*level, &inline::line(text)),
        Block::Code { language, text } => fenced(language.as_deref(), text),
        Block::Quote(inner) if in_quote => blocks(inner, true),
        Block::Quote(inner) => {
            let quoted = |line: Line| Line { text: format!("> {}", line.text), at_edge: true };
            blocks(inner, true).into_iter().map(quoted).collect()
        }
        Block::List { start, items } => list(*start, items, in_quote),
        Block::Table { header, rows } => match aligned_table(header, rows, NARROW, ("  ", "  ")) {
            Some(text) => fenced(None, &text),
            None => self::block(&table_as_list(header, rows), in_quote),
        },
        Block::Rule => plain("———"),
    }
}

fn plain(text: &str) -> Vec<Line> {
    text.split('\n').map(|line| Line { text: line.to_owned(), at_edge: false }).collect()
}

/// Discord has three levels; below that a heading is bold.
fn heading(level: u8, text: &str) -> Vec<Line> {
    let text = text.replace('\n', " ");
    let text = text.trim();
    match level {
        _ if text.is_empty() => Vec::new(),
        1..=3 => vec![Line { text: format!("{} {text}", "#".repeat(level.into())), at_edge: true }],
        // Bold in bold would end it.
        _ => plain(&if text.contains("**") { text.to_owned() } else { format!("**{text}**") }),
    }
}

fn fenced(language: Option<&str>, text: &str) -> Vec<Line> {
    let known = |char: char| char.is_ascii_alphanumeric() || "_+-.#".contains(char);
    let language = language.filter(|language| language.chars().all(known)).unwrap_or_default();
    // No fence is longer than three, so three within the code are told apart by something invisible.
    let text = if text.contains("```") { text.replace('`', "`\u{200b}") } else { text.to_owned() };
    // A fence with nothing in it is shown as it is.
    let text = if text.trim().is_empty() { inline::NOTHING } else { &text };
    let lines = format!("```{language}\n{text}\n```");
    lines.split('\n').map(|line| Line { text: line.to_owned(), at_edge: true }).collect()
}

fn list(start: Option<u64>, items: &[Vec<Block>], in_quote: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, item) in (0..).zip(items) {
        let mark =
            start.map_or_else(|| "- ".to_owned(), |first| format!("{}. ", first.saturating_add(number)));
        // Within an item blocks follow one another closely, or a nested list looks torn off.
        let mut inner = item.iter().flat_map(|one| block(one, in_quote)).peekable();
        let first = inner.next_if(|line| !line.at_edge).map(|line| line.text).unwrap_or_default();
        lines.push(Line { text: format!("{mark}{first}"), at_edge: false });
        let indent = " ".repeat(mark.len());
        lines.extend(inner.map(|line| match line.at_edge {
            true => line,
            false => Line { text: format!("{indent}{}", line.text), at_edge: false },
        }));
    }
    lines
}

#[cfg(test)]
mod tests;
