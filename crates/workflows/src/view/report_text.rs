//! A run's report for people, in a terminal and in a chat.

use adjutant_chat::OutgoingFile;
use adjutant_l10n as l10n;
use adjutant_store::outbox::Message;
use adjutant_types::{NOTHING_TO_TELL, RunStatus};
use unicode_width::UnicodeWidthStr;

use super::report::{Report, StepReport, StepStatus};
use crate::is_name;
use crate::trace::text::{clean, cut, duration, fenced, fit, one_line};

/// A longer output goes last in a chat, where it becomes several messages, so that people read the short parts first.
const LONG: usize = 3_000;
/// A longer output is sent as a file.
const MAX_LENGTH: usize = 6_000;
/// Columns of the table in a chat, so that it fits on a phone.
const NARROW: usize = 60;
/// How many steps, failures and warnings a chat shows; `workflow show` has all.
const MAX_STEPS: usize = 40;
const MAX_LINES: usize = 10;
/// Columns of a reason or a warning.
const MAX_LINE: usize = 300;

impl Report {
    /// For a terminal of this width. The output is shown as it is, without control sequences.
    pub fn text(&self, width: usize) -> String {
        let mut parts = vec![self.head(usize::MAX, ToOwned::to_owned)];
        let output = self.run.output.split('\t').map(clean).collect::<Vec<_>>().join("\t");
        parts.push(if output.trim().is_empty() { self.no_output() } else { output });
        parts.push(match self.comparison(ToOwned::to_owned, ToOwned::to_owned, true) {
            Some(compared) => compared,
            None => self.table(width, usize::MAX, 6),
        });
        parts.push(self.warnings(ToOwned::to_owned, usize::MAX, ToOwned::to_owned));
        parts.extend(
            self.again().map(|words| l10n::runs::run_again(format_args!("adjutant workflow {words}"))),
        );
        parts.extend(self.run.kept.clone());
        joined(parts) + "\n"
    }

    /// For a chat, as Markdown: the table of a run that isn't complete is a code block, and so is JSON output; other output
    /// counts as Markdown.
    pub fn markdown(&self) -> String {
        let (output, is_json) = self.output();
        let is_last = output.chars().count() > LONG || (!is_json && swallows(&output));
        let output = match (output.is_empty(), is_json) {
            (true, _) => self.no_output(),
            (false, true) => fenced(&format!("{output}\n")),
            (false, false) => output,
        };
        if is_last { self.around("", &output) } else { self.around(&output, "") }
    }

    /// The answer of its turn: [`Report::markdown`], with an output that is too long for a chat as a file. Nothing if all went
    /// well and there is nothing to tell; of a scheduled run for which all went well, the text that it wrote alone.
    pub fn message(&self, is_scheduled: bool) -> Message {
        let (output, is_json) = self.output();
        let is_well = self.run.status == RunStatus::Complete && self.run.kept.is_none();
        if output.is_empty() && self.run.output == NOTHING_TO_TELL && is_well {
            return Message::default();
        }
        if output.chars().count() <= MAX_LENGTH {
            let is_alone =
                is_scheduled && is_well && self.run.warnings.is_empty() && !is_json && !output.is_empty();
            return if is_alone { output.into() } else { self.markdown().into() };
        }
        let name: String =
            self.run.workflow.chars().filter(|letter| is_name_letter(*letter)).take(50).collect();
        let ending = if is_json { "json" } else { "md" };
        let text = self.around("", &bold(&l10n::runs::output(size(output.len()))));
        let file = Some(OutgoingFile { name: format!("{name}.{ending}"), text: output });
        Message { text, file, ..Message::default() }
    }

    /// The output without unprintable characters, and whether it is JSON.
    fn output(&self) -> (String, bool) {
        let output = self.run.output.replace("\r\n", "\n").replace(NOTHING_TO_TELL, "");
        let output: String = output.chars().map(printable).collect();
        let output = output.trim().to_owned();
        let is_json =
            output.starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(&output).is_ok();
        (output, is_json)
    }

    /// The rest of the message, around these parts in its middle and at its end.
    fn around(&self, middle: &str, end: &str) -> String {
        let mut parts = vec![self.head(MAX_LINES, escaped), middle.to_owned()];
        let is_complete = self.run.status == RunStatus::Complete;
        parts.push(match self.comparison(bold, escaped, false) {
            Some(compared) => compared,
            None if is_complete || self.steps.is_empty() => String::new(),
            None => fenced(&format!("{}\n", self.table(NARROW, MAX_STEPS, 4))),
        });
        parts.push(self.warnings(bold, MAX_LINES, escaped));
        parts.extend(self.again().map(|words| l10n::runs::run_again(format_args!("`/{words}`"))));
        parts.extend(self.run.kept.clone());
        parts.push(end.to_owned());
        joined(parts)
    }

    /// The status in a sentence, then a line for each step that failed or waits.
    fn head(&self, max: usize, quote: fn(&str) -> String) -> String {
        let mut lines = vec![quote(&self.sentence())];
        let line = |step: &StepReport| match (step.status, &step.error) {
            (StepStatus::Waiting, _) => Some(l10n::runs::step_waits(one_line(&step.id))),
            (StepStatus::Failed, None) => Some(l10n::runs::step_failed(one_line(&step.id))),
            (StepStatus::Failed, Some(error)) => {
                Some(l10n::runs::step_failed_because(one_line(&step.id), one_line(error)))
            }
            _ => None,
        };
        lines.extend(listed(self.steps.iter().filter_map(line), max, quote));
        lines.join("\n")
    }

    fn sentence(&self) -> String {
        let run = &self.run;
        let mut facts = vec![l10n::runs::steps_done(run.steps_total, run.steps_completed)];
        facts.extend((run.steps_failed > 0).then(|| l10n::runs::steps_failed(run.steps_failed)));
        facts.extend((run.steps_skipped > 0).then(|| l10n::runs::steps_skipped(run.steps_skipped)));
        facts.extend((run.agents > 0).then(|| l10n::runs::agents(run.agents)));
        facts.extend((run.retries > 0).then(|| l10n::runs::retries(run.retries)));
        facts.push(duration(run.duration_ms));
        let facts = facts.join(", ");
        let name = if run.forecast.is_some() { l10n::runs::the_plan() } else { one_line(&run.workflow) };
        match run.status {
            RunStatus::Complete => l10n::runs::complete(name, facts),
            RunStatus::Partial => l10n::runs::partial(name, facts),
            RunStatus::Failed => l10n::runs::failed(name, facts),
            RunStatus::Cancelled => l10n::runs::cancelled(name, facts),
            RunStatus::Waiting => l10n::runs::waiting(name, facts),
            RunStatus::Running => l10n::runs::running(name, facts),
        }
    }

    fn no_output(&self) -> String {
        let has_ended_well = matches!(self.run.status, RunStatus::Complete | RunStatus::Partial);
        if has_ended_well { l10n::runs::no_output() } else { String::new() }
    }

    fn warnings(&self, bold: fn(&str) -> String, max: usize, quote: fn(&str) -> String) -> String {
        // The head shows why steps failed.
        let reason = |step: &StepReport| step.error.as_ref().map(|error| format!("{}: {error}", step.id));
        let reasons: Vec<String> = self.steps.iter().filter_map(reason).collect();
        let warnings = self.run.warnings.iter().filter(|warning| !reasons.contains(warning));
        let lines = listed(warnings.map(|warning| one_line(warning)), max, quote);
        if lines.is_empty() {
            return String::new();
        }
        format!("{}\n{}", bold(&l10n::runs::warnings()), lines.join("\n"))
    }

    /// The command that reruns it from where it broke off.
    fn again(&self) -> Option<String> {
        let run = &self.run;
        let broken = |step: &&StepReport| match run.status {
            RunStatus::Partial | RunStatus::Failed => step.status == StepStatus::Failed,
            // Without results to reuse it would be a new run.
            RunStatus::Cancelled => {
                run.steps_completed > 0 && !matches!(step.status, StepStatus::Completed | StepStatus::Skipped)
            }
            _ => false,
        };
        let from = self.steps.iter().find(broken).filter(|step| is_name(&step.id))?;
        Some(format!("run {} --of {} --from {}", run.workflow, run.id, from.id))
    }

    /// A line for each step, with this many columns; empty without steps.
    fn table(&self, width: usize, max: usize, columns: usize) -> String {
        let shown = &self.steps[..self.steps.len().min(max)];
        let head = [
            l10n::runs::step(),
            l10n::runs::agent(),
            l10n::runs::status(),
            l10n::runs::time(),
            l10n::runs::tries(),
            l10n::runs::size(),
        ];
        let mut rows = vec![head];
        rows.extend(shown.iter().map(row));
        if shown.is_empty() {
            return String::new();
        }
        let needs = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let mut widths: [usize; 6] = std::array::from_fn(needs);
        if shown.iter().all(|step| step.agent.is_none()) {
            widths[1] = 0;
        }
        widths[columns..].fill(0);
        // Step and agent share what the others leave; of two that are too long each gets half.
        let gaps = 2 * (widths.iter().filter(|width| **width > 0).count() - 1);
        let room = width.clamp(40, 120).saturating_sub(widths[2..].iter().sum::<usize>() + gaps);
        if widths[0] + widths[1] > room {
            let agent = widths[1].min((room / 2).max(room.saturating_sub(widths[0])));
            (widths[0], widths[1]) = (room - agent, agent);
        }
        let mut lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
        if self.steps.len() > shown.len() {
            lines.push(l10n::runs::more_steps(self.steps.len() - shown.len()));
        }
        lines.join("\n")
    }
}

fn bold(text: &str) -> String {
    format!("**{text}**")
}

/// Characters of a file name.
fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')
}

/// The parts that aren't empty, with an empty line between them.
fn joined(mut parts: Vec<String>) -> String {
    parts.iter_mut().for_each(|part| part.truncate(part.trim_end().len()));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn listed(texts: impl Iterator<Item = String>, max: usize, quote: fn(&str) -> String) -> Vec<String> {
    let mut texts = texts;
    let mut lines: Vec<String> =
        texts.by_ref().take(max).map(|text| format!("- {}", quote(&cut(&text, MAX_LINE)))).collect();
    let more = texts.count();
    lines.extend((more > 0).then(|| format!("- {}", l10n::runs::more_lines(more))));
    lines
}

pub(super) fn status_word(status: StepStatus) -> String {
    match status {
        StepStatus::Pending => l10n::runs::status_to_do(),
        StepStatus::Running => l10n::runs::status_running(),
        StepStatus::Waiting => l10n::runs::status_waiting(),
        StepStatus::Completed => l10n::runs::status_done(),
        StepStatus::Failed => l10n::runs::status_failed(),
        StepStatus::Skipped => l10n::runs::status_skipped(),
        StepStatus::Cancelled => l10n::runs::status_cancelled(),
    }
}

fn row(step: &StepReport) -> [String; 6] {
    let was_at_work = !matches!(step.status, StepStatus::Pending | StepStatus::Skipped);
    [
        one_line(&step.id),
        step.agent.as_deref().map(one_line).unwrap_or_default(),
        status_word(step.status),
        if was_at_work { duration(step.duration_ms) } else { String::new() },
        if step.attempts > 0 { step.attempts.to_string() } else { String::new() },
        if step.output_bytes > 0 { size(step.output_bytes) } else { String::new() },
    ]
}

fn line(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let columns = cells.iter().zip(widths).enumerate().filter(|(_, (_, width))| **width > 0);
    let padded = columns.map(|(column, (cell, width))| match column {
        // Words stand to the left, numbers to the right.
        0..3 => fit(cell, *width),
        _ => format!("{cell:>width$}"),
    });
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// Replaces control characters.
fn printable(letter: char) -> char {
    match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    }
}

/// Bytes, in few columns.
fn size(bytes: usize) -> String {
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..10_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        10_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        let after = text[at + letter.len_utf8()..].chars().next().unwrap_or(' ');
        let is_mark = match letter {
            // Inside a word it is a letter.
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            _ => matches!(letter, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '~' | '|' | '&' | '#'),
        };
        if is_mark {
            out.push('\\');
        }
        out.push(letter);
        before = letter;
    }
    out
}

/// Whether a text leaves a block of code or HTML open, which would take in the text below it. A false alarm is
/// harmless: the text only moves to the end.
fn swallows(text: &str) -> bool {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = mark.map_or(0, |mark| bare.chars().take_while(|letter| *letter == mark).count());
        let rest = &bare[length..];
        let closes = indent < 4 && !line.starts_with('\t') && rest.trim().is_empty();
        match (open, mark) {
            (Some(fence), Some(mark)) if fence.0 == mark && length >= fence.1 && closes => open = None,
            (Some(_), _) => {}
            (None, Some(mark)) if length >= 3 && !(mark == '`' && rest.contains('`')) => {
                open = Some((mark, length));
            }
            (None, None) if is_html(bare) => return true,
            _ => {}
        }
    }
    open.is_some()
}

/// Whether a line begins what ends at its own mark, not at the next empty line.
fn is_html(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('<') else { return false };
    let begins = |tag: &str| rest.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag));
    rest.starts_with(['!', '?']) || ["script", "pre", "style", "textarea"].into_iter().any(begins)
}
