//! The drawing: a line for each execution, with a bar that shows when it was at work, so that one sees
//! at a glance what ran beside what, what it cost and where it failed.

use std::fmt::Write;

use adjutant_l10n as l10n;
use adjutant_turn::wording;
use adjutant_types::{ExecutionKind, ExecutionStatus, NO_MODEL, TurnStatus};
use unicode_width::UnicodeWidthStr;

use super::text::{arguments, clean, cost, count, cut, duration, fenced, fit, one_line, wrap};
use super::{Execution, Trace, Turn, transcript};

/// The style in which a trace is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line, from 40 to 160.
    pub width: usize,
    /// Whether the reader understands ANSI colours.
    pub colour: bool,
}

/// The narrowest useful label; columns of numbers give way first.
const LABEL: usize = 24;
/// The longest bar.
const BAR: usize = 40;
/// Lines of an error, and of the answer.
const ERROR_LINES: usize = 4;
const ANSWER_LINES: usize = 6;

#[derive(Clone, Copy)]
pub(super) enum Ink {
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Cyan = 36,
}

impl Style {
    pub(super) fn columns(self) -> usize {
        self.width.clamp(40, 160)
    }

    pub(super) fn paint(self, ink: Ink, text: &str) -> String {
        if !self.colour || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{}m{text}\x1b[0m", ink as u8)
    }
}

/// Draws a trace. Control characters in its texts don't reach the reader.
pub fn draw(trace: &Trace, style: Style) -> String {
    let mut out = String::new();
    header(&mut out, &trace.turn, &trace.executions, style);
    let table = Table::new(trace, style);
    if !trace.executions.is_empty() {
        out.push('\n');
        table.head(&mut out);
    }
    for at in 0..trace.executions.len() {
        table.row(&mut out, at);
    }
    transcript::draw(&mut out, trace, style);
    answer(&mut out, trace.turn.answer.as_deref().unwrap_or_default(), style);
    out
}

/// Draws a trace as a block of code, which chat platforms show unchanged: as wide as a phone.
pub fn for_chat(trace: &Trace) -> String {
    fenced(&draw(trace, Style { width: 40, colour: false }))
}

fn header(out: &mut String, turn: &Turn, executions: &[Execution], style: Style) {
    let request = l10n::trace::request(&turn.id);
    let chat = one_line(&format!("{}:{}", turn.channel, turn.conversation));
    let head = format!("{request} · {chat} · {} · {}", one_line(&turn.user), turn.started_at);
    for line in wrap(&head, style.columns()) {
        let rest = line.strip_prefix(&request).map(|rest| style.paint(Ink::Bold, &request) + rest);
        let _ = writeln!(out, "{}", rest.unwrap_or(line));
    }
    if !turn.emptied.contains_key("texts") {
        let _ = writeln!(out, "“{}”", cut(&one_line(&turn.text), style.columns() - 2));
    }
    if let Some(wishes) = &turn.wishes {
        let _ = writeln!(out, "{}", cut(&one_line(&wording::wishes::asked_for(wishes)), style.columns()));
    }
    for (what, at) in &turn.emptied {
        let line = match *what {
            "texts" => l10n::trace::text_deleted(at),
            _ => l10n::trace::input_deleted(at),
        };
        for line in wrap(&line, style.columns()) {
            let _ = writeln!(out, "{}", style.paint(Ink::Dim, &line));
        }
    }
    let (mark, ink) = turn_mark(turn.status);
    let is_open = matches!(turn.status, TurnStatus::Queued | TurnStatus::Running | TurnStatus::Waiting);
    let time = duration(turn.duration_ms);
    let models = executions.iter().filter_map(|execution| execution.model.as_deref());
    let mut models: Vec<&str> = models.filter(|model| *model != NO_MODEL).collect();
    models.sort_unstable();
    models.dedup();
    let mut totals = vec![
        if is_open { l10n::trace::open(turn.status, time) } else { l10n::trace::ended(turn.status, time) },
        l10n::runs::agents(turn.agents),
        l10n::trace::skill_calls(turn.skill_calls),
        match models.is_empty() {
            true => l10n::runs::model_calls(turn.model_calls),
            false => l10n::trace::model_calls_by(turn.model_calls, one_line(&models.join(", "))),
        },
    ];
    let tokens = turn.tokens.prompt + turn.tokens.completion;
    if tokens > 0 {
        totals.push(l10n::trace::tokens(count(tokens), count(turn.tokens.cached)));
    }
    totals.extend((turn.cost_usd > 0.0).then(|| cost(turn.cost_usd)));
    for (number, line) in wrap(&totals.join(" · "), style.columns() - 2).iter().enumerate() {
        let mark = if number == 0 { style.paint(ink, mark) } else { " ".to_owned() };
        let _ = writeln!(out, "{mark} {line}");
    }
}

fn answer(out: &mut String, answer: &str, style: Style) {
    let lines = wrap(answer, style.columns() - 2);
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.paint(Ink::Bold, &l10n::trace::answer()));
    for line in lines.iter().take(ANSWER_LINES) {
        let _ = writeln!(out, "{}", format!("  {line}").trim_end());
    }
    if lines.len() > ANSWER_LINES {
        let more = format!("  {}", l10n::workflows::more_lines(lines.len() - ANSWER_LINES));
        let _ = writeln!(out, "{}", style.paint(Ink::Dim, &more));
    }
}

struct Table<'a> {
    executions: &'a [Execution],
    style: Style,
    start: i64,
    length: i64,
    bar: usize,
    label: usize,
    columns: Vec<Column>,
}

/// A column of numbers; none when it would be empty.
struct Column {
    name: String,
    width: usize,
    cell: fn(&Execution) -> String,
}

impl Column {
    fn of(name: String, cell: fn(&Execution) -> String, executions: &[Execution]) -> Option<Self> {
        let widest = executions.iter().map(|execution| cell(execution).len()).max().unwrap_or(0);
        (widest > 0).then(|| Self { width: widest.max(name.chars().count()) + 2, name, cell })
    }
}

impl<'a> Table<'a> {
    fn new(trace: &'a Trace, style: Style) -> Self {
        let of = |name, cell: fn(&Execution) -> String| Column::of(name, cell, &trace.executions);
        let columns = [
            of(l10n::trace::time(), |one| match one.span {
                Some(_) if one.status != ExecutionStatus::Skipped => duration(one.duration_ms),
                _ => one.status.as_str().to_owned(),
            }),
            of(l10n::trace::calls(), |one| match one.model_calls {
                0 => String::new(),
                calls => calls.to_string(),
            }),
            of(l10n::trace::tokens_column(), |one| match one.tokens.prompt + one.tokens.completion {
                0 => String::new(),
                tokens => count(tokens),
            }),
            of(l10n::trace::cost(), |one| match one.cost_usd {
                usd if usd > 0.0 => cost(usd),
                _ => String::new(),
            }),
        ];
        let mut columns: Vec<Column> = columns.into_iter().flatten().collect();
        let bar = (style.columns() / 5).max(8);
        let room = style.columns() - bar - 3;
        let free = |columns: &[Column]| {
            room.saturating_sub(columns.iter().map(|column| column.width).sum::<usize>())
        };
        // The header has the totals.
        while columns.len() > 1 && free(&columns) < LABEL {
            columns.pop();
        }
        let last = trace.executions.iter().filter_map(|execution| execution.span).map(|span| span.1).max();
        let start = trace.turn.started;
        let length = trace.turn.duration_ms.max(last.unwrap_or(start) - start).max(1);
        // Space that the labels don't need goes to the bars.
        let needed =
            trace.executions.iter().map(|execution| execution.depth * 2 + 2 + label(execution).width()).max();
        let room = free(&columns);
        let label = room.min(needed.unwrap_or(0).max(LABEL));
        let bar = (bar + room - label).min(BAR);
        Self { executions: &trace.executions, style, start, length, bar, label, columns }
    }

    fn head(&self, out: &mut String) {
        let mut line = " ".repeat(self.label + self.bar + 3);
        for column in &self.columns {
            let _ = write!(line, "{:>1$}", column.name, column.width);
        }
        let _ = writeln!(out, "{}", self.style.paint(Ink::Dim, &line));
    }

    fn row(&self, out: &mut String, at: usize) {
        let execution = &self.executions[at];
        let (mark, ink) = mark(execution.status);
        let tree = cut(&self.tree(at), self.label / 2);
        let room = self.label.saturating_sub(tree.chars().count() + 2);
        let name = fit(&label(execution), room);
        let name =
            if execution.kind == ExecutionKind::Skill { name } else { self.style.paint(Ink::Bold, &name) };
        let mut line = format!(
            "{}{} {name} ▕{}▏",
            self.style.paint(Ink::Dim, &tree),
            self.style.paint(ink, mark),
            self.style.paint(ink, &self.bar(execution)),
        );
        for column in &self.columns {
            let _ = write!(line, "{:>1$}", (column.cell)(execution), column.width);
        }
        let _ = writeln!(out, "{}", line.trim_end());
        if let Some(text) = self.why(at) {
            self.remark(out, at, ink, &text);
        }
        if let Some(text) = read_from_outside(execution) {
            self.remark(out, at, Ink::Dim, &text);
        }
    }

    /// A remark below the row.
    fn remark(&self, out: &mut String, at: usize, ink: Ink, text: &str) {
        let depth = self.executions[at].depth;
        let mut tree: String = (1..=depth).map(|level| self.guide(at, level)).collect();
        tree.push_str(if self.is_parent(at) { "│ " } else { "  " });
        let tree = cut(&tree, self.label / 2);
        let mut lines = wrap(text, self.style.columns().saturating_sub(tree.chars().count() + 2));
        let is_long = lines.len() > ERROR_LINES;
        lines.truncate(ERROR_LINES);
        if let Some(last) = lines.last_mut().filter(|_| is_long) {
            last.push_str(" …");
        }
        for line in lines {
            let _ = writeln!(out, "{}{}", self.style.paint(Ink::Dim, &tree), self.style.paint(ink, &line));
        }
    }

    fn why(&self, at: usize) -> Option<String> {
        let execution = &self.executions[at];
        let status = execution.status;
        let descendants = self.executions[at + 1..].iter().take_while(|other| other.depth > execution.depth);
        if let Some(error) = &execution.error {
            // An agent that failed with its call: the call shows the error.
            if descendants.clone().any(|other| other.error.as_ref() == Some(error)) {
                return None;
            }
            let text = |key: &str| error[key].as_str().map(clean).unwrap_or_default();
            let kind = Some(text("kind")).filter(|kind| kind != status.as_str());
            let kind = kind.map(|kind| format!(", {kind}")).unwrap_or_default();
            return Some(format!("{}{kind}: {}", status.as_str(), text("message")));
        }
        match (status, &execution.bailout, &execution.result) {
            (ExecutionStatus::Skipped, _, Some(reason)) => Some(l10n::trace::skipped(clean(reason))),
            (_, Some(limit), _) => Some(l10n::trace::limit_reached(status, limit)),
            (ExecutionStatus::Waiting, ..) if execution.kind == ExecutionKind::Skill => {
                Some(l10n::trace::waits_for_approval())
            }
            _ => None,
        }
    }

    /// The lines that lead from the orchestrator to a row.
    fn tree(&self, at: usize) -> String {
        let depth = self.executions[at].depth;
        let mut tree: String = (1..depth).map(|level| self.guide(at, level)).collect();
        if depth > 0 {
            tree.push_str(if self.goes_on(at, depth) { "├ " } else { "└ " });
        }
        tree
    }

    fn guide(&self, at: usize, level: usize) -> &'static str {
        if self.goes_on(at, level) { "│ " } else { "  " }
    }

    fn goes_on(&self, at: usize, level: usize) -> bool {
        let next = self.executions[at + 1..].iter().find(|next| next.depth <= level);
        next.is_some_and(|next| next.depth == level)
    }

    fn is_parent(&self, at: usize) -> bool {
        self.executions.get(at + 1).is_some_and(|next| next.depth > self.executions[at].depth)
    }

    /// Its time, scaled to the turn: dark where it worked itself, light where it waited for its calls.
    fn bar(&self, execution: &Execution) -> String {
        let mut cells = vec![' '; self.bar];
        let Some(span) = execution.span.filter(|_| execution.status != ExecutionStatus::Skipped) else {
            return cells.into_iter().collect();
        };
        let is_model = !execution.model_spans.is_empty();
        self.fill(&mut cells, span, if is_model { '░' } else { '█' });
        for span in &execution.model_spans {
            self.fill(&mut cells, (span.from, span.to), '█');
        }
        cells.into_iter().collect()
    }

    fn fill(&self, cells: &mut [char], (from, to): (i64, i64), with: char) {
        let count = cells.len();
        let column = |time: i64| {
            let part = (time - self.start) as f64 / self.length as f64;
            (part.clamp(0.0, 1.0) * count as f64).round() as usize
        };
        let first = column(from).min(count.saturating_sub(1));
        let last = column(to).clamp(first + 1, count.max(first + 1));
        cells.iter_mut().take(last).skip(first).for_each(|cell| *cell = with);
    }
}

pub(super) fn name(execution: &Execution) -> String {
    let name = execution.skill.as_ref().or(execution.agent_id.as_ref());
    one_line(name.map_or(execution.kind.as_str(), String::as_str))
}

fn label(execution: &Execution) -> String {
    let mut label = name(execution);
    if execution.kind == ExecutionKind::Skill {
        let given = execution.parameters.as_ref().map(arguments).unwrap_or_default();
        let _ = write!(label, " {given}");
    }
    if !execution.depends_on.is_empty() {
        label = l10n::trace::after(label, one_line(&execution.depends_on.join(", ")));
    }
    let calls = execution.max_tool_calls.map(|max| format!(" {}/{max}", execution.tool_calls_used));
    let calls = calls.unwrap_or_default();
    match (&execution.role, &execution.mission) {
        (Some(role), Some(mission)) => {
            let _ = write!(label, " · {}{calls}: {}", one_line(role), one_line(mission));
        }
        (None, Some(what)) | (Some(what), None) => {
            let _ = write!(label, " · {}", one_line(what));
        }
        (None, None) => {}
    }
    label
}

/// The outside texts that a skill call returned or was made from.
fn read_from_outside(execution: &Execution) -> Option<String> {
    let is_shown = execution.kind == ExecutionKind::Skill && !execution.taint.is_clean();
    is_shown.then(|| l10n::trace::from_outside(execution.taint.sources().collect::<Vec<_>>().join("; ")))
}

fn mark(status: ExecutionStatus) -> (&'static str, Ink) {
    match status {
        ExecutionStatus::Pending => ("·", Ink::Dim),
        ExecutionStatus::Running => ("▸", Ink::Cyan),
        ExecutionStatus::Waiting => ("◐", Ink::Yellow),
        ExecutionStatus::Completed => ("✓", Ink::Green),
        ExecutionStatus::Partial => ("~", Ink::Yellow),
        ExecutionStatus::Failed => ("✗", Ink::Red),
        ExecutionStatus::Timeout => ("⏱", Ink::Red),
        ExecutionStatus::Skipped => ("↷", Ink::Dim),
        ExecutionStatus::Cancelled => ("⊘", Ink::Dim),
        ExecutionStatus::Unknown => ("?", Ink::Yellow),
    }
}

fn turn_mark(status: TurnStatus) -> (&'static str, Ink) {
    mark(match status {
        TurnStatus::Queued => ExecutionStatus::Pending,
        TurnStatus::Running => ExecutionStatus::Running,
        TurnStatus::Waiting => ExecutionStatus::Waiting,
        TurnStatus::Completed => ExecutionStatus::Completed,
        TurnStatus::Failed | TurnStatus::Dead => ExecutionStatus::Failed,
        TurnStatus::Cancelled => ExecutionStatus::Cancelled,
    })
}
