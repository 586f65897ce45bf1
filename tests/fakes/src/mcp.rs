//! A stand-in MCP server: honest, or hostile as its `BEHAVIOUR` says.

use std::io;
use std::path::{Path, PathBuf};

const SERVER: &str = include_str!("mcp/server.py");

/// A server's program, written into a folder. It notes each request in the folder's `log`.
#[derive(Debug)]
pub struct StandIn {
    script: PathBuf,
    log: PathBuf,
}

impl StandIn {
    /// Writes the program.
    ///
    /// # Errors
    /// When the folder can't be written to.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let script = folder.join("server.py");
        std::fs::write(&script, SERVER)?;
        Ok(Self { script, log: folder.join("log") })
    }

    /// The program and its words.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        // Not by way of a program that only looks for it.
        let python = Path::new("/usr/bin/python3");
        let python = if python.is_file() { python } else { Path::new("python3") };
        vec![python.display().to_string(), self.script.display().to_string()]
    }

    /// What its environment must have.
    #[must_use]
    pub fn env(&self, behaviour: &str) -> Vec<(String, String)> {
        let log = self.log.display().to_string();
        let behaviour = if behaviour.is_empty() { "honest" } else { behaviour };
        vec![("BEHAVIOUR".to_owned(), behaviour.to_owned()), ("LOG".to_owned(), log)]
    }

    /// The section of a configuration file.
    #[must_use]
    pub fn section(&self, name: &str, behaviour: &str) -> String {
        let env: Vec<String> =
            self.env(behaviour).into_iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let (words, folder, env) = (self.words(), self.script.parent(), env.join("\n"));
        let folder = folder.unwrap_or(&self.script).display().to_string();
        format!("[mcp.{name}]\ncommand = {words:?}\nwrite = [{folder:?}]\n[mcp.{name}.env]\n{env}\n")
    }

    /// What it has noted.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How often a tool was called.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.log().iter().filter(|line| *line == "tools/call").count()
    }
}
