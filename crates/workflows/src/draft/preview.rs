//! The preview a person approves, and saving the file.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use adjutant_chat::OutgoingFile;
use adjutant_l10n as l10n;

use crate::is_name;
use crate::language::definition::Workflow;
use crate::trace::text::{clean, fenced};
use crate::view::draw::for_chat;
use crate::view::explain::explain;
use crate::view::report_text::escaped;

/// The most characters of the sentences; they fit into one chat message on most platforms.
const MAX_EXPLANATION: usize = 2_500;

/// A workflow as sentences, which say how many lines are left out, and behind them its drawing and its whole text.
pub fn preview(workflow: &Workflow) -> (String, OutgoingFile) {
    let explained = shortened(&escaped(explain(workflow).trim_end()), MAX_EXPLANATION);
    let yaml = fenced(&clean(&workflow.text)).replacen("```\n", "```yaml\n", 1);
    let name = format!("{}.md", workflow.name.chars().take(50).collect::<String>());
    let text = format!("{}\n\n{yaml}", for_chat(workflow));
    (explained.trim_end().to_owned(), OutgoingFile { name, text })
}

/// The first lines of a text up to this many characters, and the number of lines left out.
fn shortened(text: &str, max: usize) -> String {
    let (mut out, mut left) = (String::new(), max);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let length = line.chars().count() + 1;
        let Some(rest) = left.checked_sub(length) else {
            let more = 1 + lines.count();
            out.push_str(&format!("{}\n", l10n::workflows::more_lines(more)));
            return out;
        };
        left = rest;
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Writes NAME.yaml into a folder, which it creates if missing, and returns the path. An existing file is an error.
pub fn save(folder: &Path, name: &str, yaml: &str) -> io::Result<PathBuf> {
    if !is_name(name) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "this isn't a valid workflow name"));
    }
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(folder)?;
    }
    let path = folder.join(format!("{name}.yaml"));
    std::fs::File::create_new(&path)?.write_all(yaml.as_bytes())?;
    Ok(path)
}
