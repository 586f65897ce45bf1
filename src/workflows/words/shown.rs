//! What a person reads of a workflow before they say yes, and where it goes after.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::super::definition::Workflow;
use super::super::draw::draw;
use super::super::explain::explain;
use super::super::read::is_name;
use crate::trace::text::{clean, fenced, several};

/// So much of each is shown, in characters; together it fits into one chat message of most platforms' long form.
const EXPLANATION: usize = 1_200;
const DRAWING: usize = 700;
const ALL: usize = 3_500;
/// Columns of a drawing in a chat.
const WIDTH: usize = 60;

/// A workflow for the person who decides on it: what it does in sentences, its drawing, and its file; at most about
/// 3,500 characters. What is left out is said.
pub fn shown(workflow: &Workflow) -> String {
    let explained = some(explain(workflow).trim_end(), EXPLANATION);
    let drawing = fenced(&some(&draw(workflow, WIDTH), DRAWING));
    let rest = ALL.saturating_sub(explained.chars().count() + drawing.chars().count() + 20);
    let file = fenced(&some(&clean(&workflow.text), rest));
    let file = file.replacen("```\n", "```yaml\n", 1);
    format!("{explained}\n{drawing}\n\n{file}")
}

/// Whole lines of a text up to so many characters, and how many more there are.
fn some(text: &str, most: usize) -> String {
    let (mut out, mut left) = (String::new(), most);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let length = line.chars().count() + 1;
        let Some(rest) = left.checked_sub(length) else {
            let more = 1 + lines.count();
            out.push_str(&format!("… and {} more\n", several(more, "line")));
            return out;
        };
        left = rest;
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Saves a workflow as NAME.yaml in a folder, which is made where it is missing; gives the file's path.
///
/// # Errors
/// There is a file of that name, the name is none, or it can't be written.
pub fn save(folder: &Path, name: &str, yaml: &str) -> io::Result<PathBuf> {
    if !is_name(name) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "that is no workflow's name"));
    }
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(folder)?;
    }
    let path = folder.join(format!("{name}.yaml"));
    std::fs::File::create_new(&path)?.write_all(yaml.as_bytes())?;
    Ok(path)
}
