//! The graph as an SVG picture.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::diagram::{Diagram, Node, Shape};
use crate::trace::text::cut;
use crate::workflows::language::definition::Workflow;
use crate::workflows::language::order::waves;

const WIDTH: usize = 240;
const GAP: usize = 40;
const LINE: usize = 18;
/// Columns of text that fit into a box.
const COLUMNS: usize = 32;

struct Spot {
    x: usize,
    y: usize,
    height: usize,
}

/// Draws a workflow as a self-contained SVG.
pub fn svg(workflow: &Workflow) -> String {
    let diagram = Diagram::of(workflow);
    let waves = waves(&workflow.steps);
    let widest = waves.iter().map(Vec::len).max().unwrap_or(1).max(1);
    let full = widest * (WIDTH + GAP) + GAP;
    let mut spots: Vec<Option<Spot>> = diagram.nodes.iter().map(|_| None).collect();
    let mut y = GAP;
    for wave in &waves {
        let left = (full - wave.len() * (WIDTH + GAP) + GAP) / 2;
        for (place, step) in wave.iter().enumerate() {
            let height = LINE * (2 + diagram.nodes[*step].lines_without_branches().len()) + 14;
            spots[*step] = Some(Spot { x: left + place * (WIDTH + GAP), y, height });
        }
        y += wave.iter().filter_map(|step| spots[*step].as_ref()).map(|spot| spot.height).max().unwrap_or(0)
            + GAP
            + 16;
    }
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full} {y}\" width=\"{full}\" height=\"{y}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" \
         refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#667\"/>\
         </marker></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for edge in &diagram.edges {
        if let (Some(from), Some(to)) = (&spots[edge.from], &spots[edge.to]) {
            line(&mut out, from, to, edge.label.as_deref());
        }
    }
    for (node, spot) in diagram.nodes.iter().zip(&spots) {
        if let Some(spot) = spot {
            boxed(&mut out, node, spot);
        }
    }
    out.push_str("</svg>\n");
    out
}

fn line(out: &mut String, from: &Spot, to: &Spot, label: Option<&str>) {
    let (x1, y1) = (from.x + WIDTH / 2, from.y + from.height);
    let (x2, y2) = (to.x + WIDTH / 2, to.y);
    let middle = usize::midpoint(y1, y2);
    let _ = writeln!(
        out,
        "<path d=\"M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}\" fill=\"none\" stroke=\"#667\" \
         marker-end=\"url(#end)\"/>"
    );
    if let Some(label) = label {
        let (x, y) = (usize::midpoint(x1, x2), y2.saturating_sub(20));
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#446\" stroke=\"#fff\" \
             stroke-width=\"4\" paint-order=\"stroke\">{}</text>",
            escaped(&cut(label, COLUMNS + 8))
        );
    }
}

fn boxed(out: &mut String, node: &Node, spot: &Spot) {
    let Spot { x, y, height } = spot;
    let (fill, stroke) = match node.kind {
        Shape::Agent => ("#eef4ff", "#4a6fb5"),
        Shape::Skill => ("#eefaf0", "#3f8f55"),
        Shape::Choice | Shape::Approval => ("#fff7e0", "#b58a2a"),
        Shape::Parallel | Shape::Map | Shape::Loop | Shape::Workflow => ("#f6efff", "#7a55b0"),
    };
    let radius = if node.kind == Shape::Approval { 20 } else { 6 };
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{height}\" rx=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\"/>"
    );
    let texts = [format!("{} {}", node.kind.mark(), node.id), node.title.clone()];
    for (place, text) in texts.iter().chain(node.lines_without_branches()).enumerate() {
        let (x, y) = (x + 12, y + LINE * (place + 1) + 2);
        let weight = if place == 0 { " font-weight=\"bold\"" } else { "" };
        let text = if text.width() > COLUMNS { cut(text, COLUMNS) } else { text.clone() };
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\"{weight}>{}</text>", escaped(&text));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
