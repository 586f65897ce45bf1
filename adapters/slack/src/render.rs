//! Pure: rich text as Slack's blocks, in parts that fit a message.
//!
//! A bot sees every character of the text, no text can become markup that the tree doesn't have, and none notifies
//! anybody (`<!channel>`). Slack's markup has no headings, lists, tables or rules, no quotes in quotes and no escape
//! for its marks, so those take another form.

mod inline;

use adjutant_chat::richtext::markup::{Line, LineMarkup, ZERO_WIDTH_SPACE, button_label};
use adjutant_chat::{Choice, Inline, LengthUnit, Outbound, RichText, TextPart, sanitized, split};
use serde_json::{Value, json};

/// The longest text of one section, in characters.
/// Source: <https://docs.slack.dev/reference/block-kit/blocks/section-block>
const SECTION: usize = 3_000;

/// Sections of one message. Slack refuses messages whose blocks are too long together, and doesn't document the
/// limit; 11,341 characters were refused: <https://github.com/slackapi/bolt-js/issues/2867>.
const SECTIONS: usize = 3;

/// Buttons of one message.
const BUTTONS: usize = 25;

/// The longest label of a button, in characters.
/// Source: <https://docs.slack.dev/reference/block-kit/block-elements/button-element>
const LABEL: usize = 75;

/// The longest text of a notification, in characters.
const NOTIFICATION: usize = 300;

pub(crate) struct MessagePart {
    /// The texts of its sections, in Slack's markup, none empty; no section if it is sent without markup.
    pub(crate) sections: Vec<String>,
    /// The same without markup, escaped, in case Slack refuses the sections.
    pub(crate) plain: String,
}

/// The messages that a markdown text takes; at least one.
pub(crate) fn parts(markdown: &str) -> Vec<MessagePart> {
    let sections =
        split(&RichText::parse(markdown), SECTION, |part| LengthUnit::Characters.length(&rendered(part)));
    let part = |sections: &[RichText]| {
        let plain: Vec<String> = sections.iter().map(RichText::plain).collect();
        MessagePart {
            sections: sections.iter().map(rendered).collect(),
            plain: visible(&escaped(&sanitized(&plain.join("\n")))),
        }
    };
    sections.chunks(SECTIONS).map(part).collect()
}

/// The messages that our message's text takes in its form.
pub(crate) fn texts(outbound: &Outbound) -> Vec<MessagePart> {
    outbound.texts(parts(&outbound.text), SECTION * SECTIONS, LengthUnit::Characters)
}

impl TextPart for MessagePart {
    fn plain(&self) -> String {
        self.plain.clone()
    }

    fn of_plain(plain: String) -> Self {
        Self { sections: Vec::new(), plain }
    }
}

impl MessagePart {
    /// The part as Slack's blocks, with buttons under it.
    pub(crate) fn blocks(&self, choices: &[Choice]) -> Value {
        // Without `expand` a long section hides behind “See more”; without `verbatim` Slack turns names into
        // mentions.
        let section = |text: &String| {
            let text = json!({"type": "mrkdwn", "text": text, "verbatim": true});
            json!({"type": "section", "text": text, "expand": true})
        };
        let mut blocks: Vec<Value> = self.sections.iter().map(section).collect();
        if !choices.is_empty() {
            let choices = choices.get(..BUTTONS).unwrap_or(choices);
            blocks
                .push(json!({"type": "actions", "elements": choices.iter().map(button).collect::<Vec<_>>()}));
        }
        Value::Array(blocks)
    }

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
    let label = button_label(&choice.label, LABEL);
    let label = if label.trim().is_empty() { choice.id.clone() } else { label };
    let text = json!({"type": "plain_text", "text": label, "emoji": false});
    json!({"type": "button", "text": text, "action_id": choice.id, "value": choice.id})
}

/// The text without control sequences.
/// Source: <https://docs.slack.dev/messaging/formatting-message-text#escaping>
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Slack refuses a text that shows nothing.
fn visible(text: &str) -> String {
    let text = text.trim_matches('\n').trim_end();
    if text.trim().is_empty() { ZERO_WIDTH_SPACE.to_owned() } else { text.to_owned() }
}

fn rendered(text: &RichText) -> String {
    visible(&Mrkdwn::render(text))
}

/// Slack's markup. <https://docs.slack.dev/messaging/formatting-message-text>
struct Mrkdwn;

impl LineMarkup for Mrkdwn {
    const BULLET: &'static str = "• ";
    const WIDEST_TABLE: usize = 60;

    fn paragraph(text: &[Inline]) -> String {
        inline::line(text)
    }

    fn heading(_: u8, text: &[Inline]) -> Vec<Line> {
        Line::split(&inline::heading(text), false)
    }

    fn code(_: Option<&str>, text: &str) -> String {
        // Three backticks within the code would end it, so an invisible character separates them.
        let text = if text.contains("```") || text.ends_with('`') || text.starts_with('`') {
            text.replace('`', "`\u{200b}")
        } else {
            text.to_owned()
        };
        let text = if text.trim().is_empty() { ZERO_WIDTH_SPACE.to_owned() } else { escaped(&text) };
        format!("```\n{text}\n```")
    }

    fn indent(_: &str) -> usize {
        4
    }
}

#[cfg(test)]
mod tests;
