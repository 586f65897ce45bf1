//! The positions of a picture's boxes and arrows.

use unicode_width::UnicodeWidthStr;

use super::diagram::{Diagram, Node, Shape};
use crate::language::definition::Workflow;
use crate::language::order::waves;
use crate::trace::text::cut;

const WIDTH: usize = 240;
const GAP: usize = 40;
/// The height of a line of text.
pub const LINE: usize = 18;
/// Columns of text that fit into a box.
const COLUMNS: usize = 32;

/// A step's box.
pub struct Placed {
    pub id: String,
    pub kind: Shape,
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
    /// Its lines in full; the first one names the step.
    pub texts: Vec<String>,
}

impl Placed {
    pub fn radius(&self) -> usize {
        if self.kind == Shape::Approval { 20 } else { 6 }
    }
}

/// From one box to another.
pub struct Arrow {
    /// As in SVG.
    pub path: String,
    /// The condition, and the position of its middle.
    pub label: Option<(usize, usize, String)>,
}

/// A picture's parts.
pub struct Layout {
    pub width: usize,
    pub height: usize,
    pub boxes: Vec<Placed>,
    pub arrows: Vec<Arrow>,
}

impl Layout {
    /// With room for some more lines in each box.
    pub fn of(workflow: &Workflow, more: usize) -> Self {
        let diagram = Diagram::of(workflow);
        let waves = waves(&workflow.steps);
        let widest = waves.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let width = widest * (WIDTH + GAP) + GAP;
        let mut boxes: Vec<Option<Placed>> = diagram.nodes.iter().map(|_| None).collect();
        let mut y = GAP;
        for wave in &waves {
            let left = (width - wave.len() * (WIDTH + GAP) + GAP) / 2;
            for (index, step) in wave.iter().enumerate() {
                boxes[*step] = Some(placed(&diagram.nodes[*step], left + index * (WIDTH + GAP), y, more));
            }
            let tallest = wave.iter().filter_map(|step| boxes[*step].as_ref()).map(|placed| placed.height);
            y += tallest.max().unwrap_or(0) + GAP + 16;
        }
        let arrows = diagram.edges.iter().filter_map(|edge| {
            let (from, to) = (boxes[edge.from].as_ref()?, boxes[edge.to].as_ref()?);
            Some(arrow(from, to, edge.label.as_deref()))
        });
        let arrows = arrows.collect();
        // No arrow leaves the last boxes.
        let height = y.saturating_sub(GAP / 2 + 16);
        Self { width, height, boxes: boxes.into_iter().flatten().collect(), arrows }
    }
}

fn placed(node: &Node, x: usize, y: usize, more: usize) -> Placed {
    let lines = node.lines_without_branches();
    let texts = [format!("{} {}", node.kind.mark(), node.id), node.title.clone()];
    Placed {
        id: node.id.clone(),
        kind: node.kind,
        x,
        y,
        width: WIDTH,
        height: LINE * (2 + lines.len() + more) + 14,
        texts: texts.iter().chain(lines).cloned().collect(),
    }
}

/// A line as it fits into a box.
pub fn fitted(text: &str) -> String {
    if text.width() > COLUMNS { cut(text, COLUMNS) } else { text.to_owned() }
}

fn arrow(from: &Placed, to: &Placed, label: Option<&str>) -> Arrow {
    let (x1, y1) = (from.x + WIDTH / 2, from.y + from.height);
    let (x2, y2) = (to.x + WIDTH / 2, to.y);
    let middle = usize::midpoint(y1, y2);
    let position = |label| (usize::midpoint(x1, x2), y2.saturating_sub(20), cut(label, COLUMNS + 8));
    Arrow { path: format!("M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}"), label: label.map(position) }
}
