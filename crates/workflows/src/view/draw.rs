//! The graph as text: a line for each step, in an order in which they can run, with lanes from dependencies to dependents.

use std::fmt::Write;

use adjutant_l10n as l10n;

use super::diagram::{Diagram, Node};
use crate::language::definition::Workflow;
use crate::language::order::waves;
use crate::trace::text::{cut, fenced};

/// With more lanes than this, the lines name their dependencies instead.
const MAX_LANES: usize = 16;

/// Draws a workflow in at most this many columns, without control characters.
pub fn draw(workflow: &Workflow, width: usize) -> String {
    let diagram = Diagram::of(workflow);
    let width = width.clamp(40, 160);
    let order: Vec<usize> = waves(&workflow.steps).into_iter().flatten().collect();
    let label = diagram.nodes.iter().map(|node| node.id.chars().count()).max().unwrap_or(0);
    let mut drawing = Drawing { diagram: &diagram, width, label, lanes: Vec::new(), rows: Vec::new() };
    let is_drawn = order.iter().all(|step| drawing.step(*step));
    if is_drawn { drawing.finish() } else { list(&diagram, &order, width) }
}

/// A drawing as a code block for chats.
pub fn for_chat(workflow: &Workflow) -> String {
    fenced(&draw(workflow, 60))
}

struct Drawing<'d> {
    diagram: &'d Diagram,
    width: usize,
    /// Columns of the widest id.
    label: usize,
    /// Each leads to a step, by its index.
    lanes: Vec<Option<usize>>,
    /// The lanes of each row, and the words beside them.
    rows: Vec<(String, String)>,
}

impl Drawing<'_> {
    /// Draws a step; false when there are too many lanes.
    fn step(&mut self, step: usize) -> bool {
        let here: Vec<usize> = self.lanes_to(step);
        let at = here.first().copied().unwrap_or_else(|| self.free_from(0));
        self.row(at, &here, '┴', '┘');
        for lane in &here {
            self.lanes[*lane] = None;
        }
        self.lanes[at] = Some(step);
        self.node(at, step);
        let next: Vec<usize> =
            self.diagram.edges.iter().filter(|edge| edge.from == step).map(|edge| edge.to).collect();
        self.lanes[at] = next.first().copied();
        let mut fan = vec![at];
        for to in next.iter().skip(1) {
            let lane = self.free_from(at + 1);
            fan.push(lane);
            if lane >= MAX_LANES {
                return false;
            }
            self.lanes[lane] = Some(*to);
        }
        self.inside(at, step, &fan);
        self.row(at, &fan, '┬', '┐');
        while self.lanes.last() == Some(&None) {
            self.lanes.pop();
        }
        true
    }

    fn lanes_to(&self, step: usize) -> Vec<usize> {
        (0..self.lanes.len()).filter(|lane| self.lanes[*lane] == Some(step)).collect()
    }

    fn free_from(&mut self, from: usize) -> usize {
        let free = (from..self.lanes.len()).find(|lane| self.lanes[*lane].is_none());
        free.unwrap_or_else(|| {
            let new = self.lanes.len().max(from);
            self.lanes.resize(new + 1, None);
            new
        })
    }

    /// A row that joins lanes, or parts them.
    fn row(&mut self, at: usize, joined: &[usize], middle: char, last: char) {
        let Some(end) = joined.last().copied().filter(|end| *end > at) else { return };
        let mut line = String::new();
        for lane in 0..self.lanes.len().max(end + 1) {
            let is_open = self.lanes.get(lane).is_some_and(Option::is_some);
            let is_between = lane >= at && lane < end;
            line.push(match (is_between, is_open) {
                _ if lane == at => '├',
                _ if lane == end => last,
                _ if joined.contains(&lane) => middle,
                (true, true) => '┼',
                (true, false) => '─',
                (false, true) => '│',
                (false, false) => ' ',
            });
            line.push(if is_between { '─' } else { ' ' });
        }
        self.rows.push((line, String::new()));
    }

    fn prefix(&self, at: usize, mark: char, without: &[usize]) -> String {
        let lane = |(lane, target): (usize, &Option<usize>)| match target {
            _ if lane == at => mark,
            Some(_) if !without.contains(&lane) => '│',
            _ => ' ',
        };
        self.lanes.iter().enumerate().map(lane).flat_map(|mark| [mark, ' ']).collect()
    }

    fn node(&mut self, at: usize, step: usize) {
        let node = &self.diagram.nodes[step];
        let mut words = format!("{:width$}  {}", node.id, node.title, width = self.label);
        for edge in self.diagram.edges.iter().filter(|edge| edge.to == step) {
            let _ = match &edge.label {
                None => Ok(()),
                Some(label) if edge.is_otherwise => write!(words, "  ({label})"),
                Some(label) => write!(words, "  ({})", l10n::workflows::if_condition(label)),
            };
        }
        self.rows.push((self.prefix(at, node.kind.mark(), &[]), words));
    }

    /// The inner lines of a step, below it.
    fn inside(&mut self, at: usize, step: usize, fan: &[usize]) {
        let node = &self.diagram.nodes[step];
        let mark = if self.lanes[at].is_some() { '│' } else { ' ' };
        let fresh = fan.get(1..).unwrap_or_default();
        for (index, text) in node.lines.iter().enumerate() {
            let branch = if index + 1 == node.lines.len() { '└' } else { '├' };
            let words = format!("{:width$}  {branch} {text}", "", width = self.label);
            self.rows.push((self.prefix(at, mark, fresh), words));
        }
    }

    /// All rows, the words one below the other.
    fn finish(&self) -> String {
        let wide = |(lanes, _): &(String, String)| lanes.trim_end().chars().count();
        let wide = self.rows.iter().map(wide).max().unwrap_or(0);
        let line = |(lanes, words): &(String, String)| {
            let line = format!("{:wide$}  {words}", lanes.trim_end());
            cut(line.trim_end(), self.width) + "\n"
        };
        self.rows.iter().map(line).collect()
    }
}

/// The steps without lanes.
fn list(diagram: &Diagram, order: &[usize], width: usize) -> String {
    let mut out = String::new();
    for step in order {
        let Node { id, kind, title, lines } = &diagram.nodes[*step];
        let before = diagram.edges.iter().filter(|edge| edge.to == *step);
        let after: Vec<&str> = before.map(|edge| diagram.nodes[edge.from].id.as_str()).collect();
        let after = match after.is_empty() {
            true => String::new(),
            false => format!("  {}", l10n::workflows::after_steps(after.join(", "))),
        };
        let _ = writeln!(out, "{}", cut(&format!("{} {id}  {title}{after}", kind.mark()), width));
        for line in lines {
            let _ = writeln!(out, "{}", cut(&format!("    {line}"), width));
        }
    }
    out
}
