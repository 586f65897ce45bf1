//! The sections of a Markdown text: a heading and all below it, up to the next heading of its level.

use adjutant_l10n::notes;
use adjutant_types::{FromCall, ours};

use crate::SkillError;

/// A section's place in the text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    heading: String,
    level: usize,
    /// After the heading's line.
    body: usize,
    end: usize,
}

/// The text with a section's body replaced; its heading stays.
pub(super) fn replace(text: &str, heading: &str, body: &str) -> Result<String, SkillError> {
    let section = find(text, heading)?;
    let is_last = section.end == text.len();
    let body = in_style_of(text, body);
    let gap = line_end(text);
    // A blank line on each side, as most people write it.
    let before = if text[section.body..].starts_with(gap) { gap } else { "" };
    let after = if is_last { "" } else { gap };
    Ok(format!(
        "{}{before}{}{gap}{after}{}",
        ended(&text[..section.body], gap),
        body.trim_end(),
        &text[section.end..]
    ))
}

/// The text with more at its end, or at the end of a section.
pub(super) fn append(text: &str, heading: Option<&str>, more: &str) -> Result<String, SkillError> {
    let end = match heading {
        Some(heading) => find(text, heading)?.end,
        None => text.len(),
    };
    let (gap, more) = (line_end(text), in_style_of(text, more));
    let (before, after) = text.split_at(end);
    let head = before.trim_end_matches(['\n', '\r']);
    // A list goes on without a blank line; a text gets one.
    let is_list = |line: &str| ["- ", "* ", "+ "].iter().any(|mark| line.trim_start().starts_with(mark));
    let goes_on = head.lines().last().is_some_and(is_list) && more.lines().next().is_some_and(is_list);
    let join = match (head.is_empty(), goes_on) {
        (true, _) => String::new(),
        (false, true) => gap.to_owned(),
        (false, false) => gap.repeat(2),
    };
    let rest = if after.is_empty() { String::new() } else { format!("{gap}{after}") };
    Ok(format!("{head}{join}{}{gap}{rest}", more.trim_end()))
}

/// Every heading, for people.
pub(super) fn headings(text: &str) -> Vec<String> {
    sections(text).into_iter().map(|section| section.heading).collect()
}

fn find(text: &str, heading: &str) -> Result<Section, SkillError> {
    let plain = |text: &str| text.trim().trim_start_matches('#').trim().to_lowercase();
    let wanted = plain(heading);
    let mut found: Vec<Section> =
        sections(text).into_iter().filter(|section| plain(&section.heading) == wanted).collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let existing = headings(text).join("; ");
            Err(SkillError::not_found(match existing.is_empty() {
                true => ours!(notes::no_sections, FromCall(heading)),
                false => ours!(notes::no_section, FromCall(heading), existing),
            }))
        }
        number => Err(SkillError::params(ours!(notes::same_headings, number, FromCall(heading)))),
    }
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let (mut at, mut fence): (usize, Option<&str>) = (0, None);
    let start = front_matter(text);
    for line in text.split_inclusive('\n') {
        let (from, bare) = (at, line.trim_end());
        at += line.len();
        if from < start {
            continue;
        }
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_some() || mark.is_some() {
            continue;
        }
        let Some((level, heading)) = heading(bare) else { continue };
        for open in sections.iter_mut().filter(|open| open.end == usize::MAX && open.level >= level) {
            open.end = from;
        }
        sections.push(Section { heading, level, body: at, end: usize::MAX });
    }
    for open in sections.iter_mut().filter(|open| open.end == usize::MAX) {
        open.end = text.len();
    }
    sections
}

/// Where the text begins behind the front matter.
fn front_matter(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some("---") {
        return 0;
    }
    let mut at = text.find('\n').map_or(text.len(), |end| end + 1);
    for line in lines {
        at += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return at;
        }
    }
    0
}

/// `## Acme` as its level and words.
fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let words = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && (words.is_empty() || words.starts_with([' ', '\t']));
    is_heading.then(|| (level, words.trim().trim_end_matches('#').trim().to_owned()))
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn ended(text: &str, gap: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}{gap}") }
}

/// A text with the line ends of another.
fn in_style_of(text: &str, more: &str) -> String {
    let unix = more.replace("\r\n", "\n");
    if line_end(text) == "\n" { unix } else { unix.replace('\n', "\r\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\ntags: [a]\n# not a heading\n---\n# Acme\n\nSee [[Bob]].\n\n## Contract\n\nOld.\n\n\
                        ```\n## code\n```\n\n### Clause 7\n\nText.\n\n## People\n- Bob\n";

    #[test]
    fn a_section_is_replaced_and_the_rest_stays() {
        let new = replace(TEXT, "## contract", "New.\nLines.").unwrap();
        assert_eq!(
            new,
            "---\ntags: [a]\n# not a heading\n---\n# Acme\n\nSee [[Bob]].\n\n## Contract\n\nNew.\nLines.\n\n\
             ## People\n- Bob\n"
        );
        assert_eq!(replace(&new, "Contract", "New.\nLines.").unwrap(), new, "twice is once");
        assert!(replace(TEXT, "People", "- Ann").unwrap().ends_with("## People\n- Ann\n"));
        let none = replace(TEXT, "code", "x").unwrap_err();
        assert_eq!(
            none.to_string(),
            "there is no section “code”; the sections: Acme; Contract; Clause 7; People"
        );
        assert!(replace("# A\n# A\n", "A", "x").unwrap_err().to_string().starts_with("there are 2 sections"));
    }

    #[test]
    fn more_goes_to_the_end_of_a_section_or_of_all() {
        assert!(append(TEXT, None, "- Ann").unwrap().ends_with("## People\n- Bob\n- Ann\n"));
        assert!(append(TEXT, Some("Clause 7"), "More.").unwrap().contains("Text.\n\nMore.\n\n## People"));
        assert_eq!(append("", None, "First").unwrap(), "First\n");
        assert_eq!(append("a\r\nb\r\n", None, "c\nd").unwrap(), "a\r\nb\r\n\r\nc\r\nd\r\n");
    }
}
