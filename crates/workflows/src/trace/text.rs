//! Text and numbers as a line of a terminal can show them.

use std::fmt::{Display, Write};

pub(crate) use adjutant_chat::fenced;
pub use adjutant_types::text::count;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text from anywhere without what could steer a terminal or turn a line's reading order around.
/// Line breaks stay.
pub(crate) fn clean(text: &str) -> String {
    text.replace("\r\n", "\n").chars().map(harmless).collect()
}

fn harmless(letter: char) -> char {
    match letter {
        '\n' => '\n',
        '\t' => ' ',
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' => {
            char::REPLACEMENT_CHARACTER
        }
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' => char::REPLACEMENT_CHARACTER,
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    }
}

/// Text from anywhere as one harmless line. The items of a list that a colon announces are separated by semicolons.
pub fn one_line(text: &str) -> String {
    let (mut out, mut after_item) = (String::new(), false);
    for line in clean(text).lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let item = line.strip_prefix("- ").filter(|_| after_item || out.ends_with(':'));
        if !out.is_empty() && !line.is_empty() {
            out.push_str(if after_item && item.is_some() { "; " } else { " " });
        }
        out.push_str(item.unwrap_or(&line));
        after_item = item.is_some() || (after_item && line.is_empty());
    }
    out
}

/// The beginning of a line that fits into this many columns.
pub fn cut(line: &str, width: usize) -> String {
    // Letters without a width of their own may be piled up without end.
    if line.width() <= width && line.chars().count() <= width * 4 {
        return line.to_owned();
    }
    let mut columns = 1;
    let fits = |letter: &char| {
        columns += letter.width().unwrap_or(0);
        columns <= width
    };
    let beginning: String = line.chars().take(width * 4).take_while(fits).collect();
    format!("{}…", beginning.trim_end())
}

/// A line cut or filled up to exactly this many columns.
pub fn fit(line: &str, width: usize) -> String {
    let line = cut(line, width);
    let missing = width.saturating_sub(line.width());
    line + &" ".repeat(missing)
}

/// Lines of at most this many columns, parted between words where that is possible.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in clean(text).trim().lines() {
        let (mut line, mut columns) = (String::new(), 0);
        for word in paragraph.split_inclusive(' ') {
            if columns > 0 && columns + word.trim_end().width() > width {
                lines.push(std::mem::take(&mut line));
                columns = 0;
            }
            for letter in word.chars() {
                let wide = letter.width().unwrap_or(0);
                if columns + wide > width && letter != ' ' {
                    lines.push(std::mem::take(&mut line));
                    columns = 0;
                }
                line.push(letter);
                columns += wide;
            }
        }
        lines.push(line);
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

pub fn duration(ms: i64) -> String {
    let seconds = ms / 1000;
    match seconds {
        ..1 => format!("{ms} ms"),
        1..10 => format!("{seconds}.{:02} s", ms % 1000 / 10),
        10..60 => format!("{seconds}.{} s", ms % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// `1 agent`, `2 agents`.
pub fn several<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    format!("{number} {noun}{}", if number == N::from(1) { "" } else { "s" })
}

/// US dollars, precise enough for one call.
pub fn cost(usd: f64) -> String {
    if usd > 0.0 && usd < 0.0001 { "<$0.0001".to_owned() } else { format!("${usd:.4}") }
}

/// Arguments in short: `query="the report" limit=5`.
pub(super) fn arguments(value: &serde_json::Value) -> String {
    use serde_json::Value;
    let short = |value: &Value| match value {
        Value::String(text) if !text.is_empty() && !text.contains(char::is_whitespace) => text.clone(),
        other => other.to_string(),
    };
    let mut text = String::new();
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                let _ = write!(text, " {name}={}", short(value));
            }
        }
        other => text = short(other),
    }
    one_line(&text)
}
