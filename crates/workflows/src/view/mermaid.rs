//! The graph as [Mermaid](https://mermaid.js.org), which many wikis and code hosts draw.

use std::fmt::Write;

use super::diagram::{Diagram, Shape};
use crate::language::definition::Workflow;

pub fn mermaid(workflow: &Workflow) -> String {
    let diagram = Diagram::of(workflow);
    let mut out = "flowchart TD\n".to_owned();
    for node in &diagram.nodes {
        let (open, close) = match node.kind {
            Shape::Choice => ("{", "}"),
            Shape::Approval => ("([", "])"),
            Shape::Skill => ("[/", "/]"),
            Shape::Workflow => ("[[", "]]"),
            Shape::Agent | Shape::Parallel | Shape::Map | Shape::Loop => ("[", "]"),
        };
        let mut text = format!("<b>{}</b><br/>{}", escaped(&node.id), escaped(&node.title));
        text.extend(node.lines_without_branches().iter().map(|line| format!("<br/>{}", escaped(line))));
        let _ = writeln!(out, "    s_{}{open}\"{text}\"{close}", node.id);
    }
    for edge in &diagram.edges {
        let (from, to) = (&diagram.nodes[edge.from].id, &diagram.nodes[edge.to].id);
        let _ = match &edge.label {
            Some(label) => writeln!(out, "    s_{from} -->|\"{}\"| s_{to}", escaped(label)),
            None => writeln!(out, "    s_{from} --> s_{to}"),
        };
    }
    out
}

/// As entities, so that nothing in a text is taken for Mermaid or HTML.
fn escaped(text: &str) -> String {
    let is_plain = |letter: &char| letter.is_alphanumeric() || " .,:-_→".contains(*letter);
    text.chars().fold(String::new(), |mut out, letter| {
        if is_plain(&letter) {
            out.push(letter);
        } else {
            let _ = write!(out, "#{};", u32::from(letter));
        }
        out
    })
}
