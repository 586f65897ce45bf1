//! Pure: rich text as Discord's markdown, in parts that fit a message.
//!
//! A bot sees every character of the text, and no text can become markup that the tree doesn't have. Discord has
//! no rules, no tables, no quotes in quotes and no code within an indent, so those take another form.

mod inline;

use adjutant_chat::richtext::markup::{Line, LineMarkup, ZERO_WIDTH_SPACE, button_label};
use adjutant_chat::{Choice, Inline, LengthUnit, Outbound, RichText, TextPart, split};
use serde_json::{Value, json};

/// The longest text of a message, and how it is counted. According to Discord's staff it counts code points:
/// <https://github.com/discord/discord-api-docs/issues/1315>.
const MAX_LENGTH: usize = 2_000;
const UNIT: LengthUnit = LengthUnit::Characters;

/// Buttons of one message.
const BUTTONS: usize = 25;

/// The longest label of a button, in characters.
const LABEL: usize = 80;

/// Buttons in a row.
const ROW: usize = 5;

/// The text of each message that a markdown text takes; at least one, none empty.
pub(crate) fn parts(markdown: &str) -> Vec<String> {
    let parts = split(&RichText::parse(markdown), MAX_LENGTH, |part| UNIT.length(&rendered(part)));
    parts.iter().map(rendered).collect()
}

/// The texts of the messages that our message takes in its form.
pub(crate) fn texts(outbound: &Outbound) -> Vec<String> {
    let rich = parts(&outbound.text).into_iter().map(Content).collect();
    outbound.texts(rich, MAX_LENGTH, UNIT).into_iter().map(|content: Content| content.0).collect()
}

/// The text of a message. Discord reads markup in each, so a plain one is only without buttons.
struct Content(String);

impl TextPart for Content {
    fn plain(&self) -> String {
        self.0.clone()
    }

    fn of_plain(text: String) -> Self {
        Self(text)
    }
}

pub(crate) fn buttons(choices: &[Choice]) -> Value {
    let button = |choice: &Choice| {
        let label = button_label(&choice.label, LABEL);
        json!({"type": 2, "style": 2, "label": label, "custom_id": choice.id})
    };
    let row = |row: &[Choice]| json!({"type": 1, "components": row.iter().map(button).collect::<Vec<_>>()});
    choices.get(..BUTTONS).unwrap_or(choices).chunks(ROW).map(row).collect()
}

fn rendered(text: &RichText) -> String {
    let text = DiscordMarkdown::render(text);
    // Discord trims too, and refuses a message that is then empty.
    let text = text.trim();
    if text.is_empty() { ZERO_WIDTH_SPACE.to_owned() } else { text.to_owned() }
}

struct DiscordMarkdown;

impl LineMarkup for DiscordMarkdown {
    const BULLET: &'static str = "- ";
    const WIDEST_TABLE: usize = 48;

    fn paragraph(text: &[Inline]) -> String {
        inline::line(text)
    }

    /// Discord has three levels; deeper headings are bold.
    fn heading(level: u8, text: &[Inline]) -> Vec<Line> {
        let text = inline::line(text).replace('\n', " ");
        let text = text.trim();
        match level {
            _ if text.is_empty() => Vec::new(),
            1..=3 => vec![Line { text: format!("{} {text}", "#".repeat(level.into())), at_edge: true }],
            // Bold within bold would end it.
            _ if text.contains("**") => Line::split(text, false),
            _ => Line::split(&format!("**{text}**"), false),
        }
    }

    fn code(language: Option<&str>, text: &str) -> String {
        let known = |char: char| char.is_ascii_alphanumeric() || "_+-.#".contains(char);
        let language = language.filter(|language| language.chars().all(known)).unwrap_or_default();
        // No fence is longer than three backticks, so an invisible character separates three within the code.
        let text = if text.contains("```") { text.replace('`', "`\u{200b}") } else { text.to_owned() };
        // Discord doesn't show an empty fence as code.
        let text = if text.trim().is_empty() { ZERO_WIDTH_SPACE } else { &text };
        format!("```{language}\n{text}\n```")
    }

    fn indent(marker: &str) -> usize {
        marker.len()
    }
}

#[cfg(test)]
mod tests;
