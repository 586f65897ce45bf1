//! The graph as an SVG picture.

use std::fmt::Write;

use super::diagram::Shape;
use super::layout::{Arrow, LINE, Layout, Placed};
use crate::language::definition::Workflow;

/// Draws a workflow as a self-contained SVG.
pub fn svg(workflow: &Workflow) -> String {
    let Layout { width, height, boxes, arrows } = Layout::of(workflow, 0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" \
         refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#667\"/>\
         </marker></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    arrows.iter().for_each(|arrow| line(&mut out, arrow));
    boxes.iter().for_each(|placed| boxed(&mut out, placed));
    out.push_str("</svg>\n");
    out
}

fn line(out: &mut String, arrow: &Arrow) {
    let path = &arrow.path;
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"#667\" \
         marker-end=\"url(#end)\"/>"
    );
    if let Some((x, y, label)) = &arrow.label {
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#446\" stroke=\"#fff\" \
             stroke-width=\"4\" paint-order=\"stroke\">{}</text>",
            escaped(label)
        );
    }
}

fn boxed(out: &mut String, placed: &Placed) {
    let Placed { x, y, width, height, .. } = placed;
    let (fill, stroke) = match placed.kind {
        Shape::Agent => ("#eef4ff", "#4a6fb5"),
        Shape::Skill => ("#eefaf0", "#3f8f55"),
        Shape::Choice | Shape::Approval => ("#fff7e0", "#b58a2a"),
        Shape::Parallel | Shape::Map | Shape::Loop | Shape::Workflow => ("#f6efff", "#7a55b0"),
    };
    let radius = placed.radius();
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\"/>"
    );
    for (index, text) in placed.texts.iter().enumerate() {
        let (x, y) = (x + 12, y + LINE * (index + 1) + 2);
        let weight = if index == 0 { " font-weight=\"bold\"" } else { "" };
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\"{weight}>{}</text>", escaped(text));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
