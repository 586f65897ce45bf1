//! A server's process: a clean environment, a group of its own, and nothing left behind, not even what has left the
//! group.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use crate::config::Secret;
use crate::skills::handlers::command::{Group, PATH};

/// The variable by which the processes of a server are found again.
const MARK: &str = "ADJUTANT_MCP";
/// How much of a server's error output is kept for a message about its end.
const LAST_WORDS: usize = 2048;
/// How often the processes of a server are looked for at most: a fork can happen between two looks.
const LOOKS: usize = 1000;
/// After so many looks that found nothing, nothing is left.
const CLEAN_LOOKS: usize = 3;
/// How long we wait for the rest of the error output of a program that ends.
const LINGER: Duration = Duration::from_millis(500);

/// What a process is started with.
pub(super) struct Start<'a> {
    pub(super) words: &'a [String],
    pub(super) env: Vec<(&'a str, &'a Secret)>,
    pub(super) home: &'a Path,
    /// Names this process and whatever comes of it.
    pub(super) mark: String,
}

/// A running server.
pub(super) struct Process {
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) all: Processes,
    pub(super) last_words: LastWords,
}

impl Start<'_> {
    pub(super) fn run(self) -> io::Result<Process> {
        let missing = || io::Error::new(io::ErrorKind::InvalidInput, "there is no program");
        let (program, words) = self.words.split_first().ok_or_else(missing)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(self.home)?;
        let inherited = |name: &str, default: &str| std::env::var_os(name).unwrap_or_else(|| default.into());
        let mut child = Command::new(program)
            .args(words)
            .env_clear()
            .env("PATH", inherited("PATH", PATH))
            .env("LANG", inherited("LANG", "C.UTF-8"))
            .env("HOME", self.home)
            .envs(self.env.iter().map(|(name, secret)| (name, secret.expose())))
            .env(MARK, &self.mark)
            .current_dir(self.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let all = Processes { group: Group::of(&child), mark: format!("{MARK}={}", self.mark).into_bytes() };
        let last_words = LastWords::default();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(last_words.clone().listen(stderr));
        }
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (stdin, stdout) =
            (child.stdin.take().ok_or_else(closed)?, child.stdout.take().ok_or_else(closed)?);
        Ok(Process { child, stdin, stdout, all, last_words })
    }
}

/// The home of a server below our data folder.
pub(super) fn home(folder: &Path, server: &str) -> PathBuf {
    folder.join(server)
}

/// All processes of a server; they end when it is dropped.
pub(super) struct Processes {
    group: Group,
    mark: Vec<u8>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.group.kill();
        // Whoever has left the group still has our mark in its environment. A process that was killed can't fork, so
        // the end is near when a look finds no other. For a moment a process that starts a program has no environment.
        let mut killed = BTreeSet::new();
        let mut clean = 0;
        for _ in 0..LOOKS {
            let found = marked(&self.mark);
            let new: Vec<Pid> =
                found.into_iter().filter(|process| killed.insert(process.as_raw_nonzero())).collect();
            clean = if new.is_empty() { clean + 1 } else { 0 };
            if clean == CLEAN_LOOKS {
                return;
            }
            for process in new {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

/// The living processes with this mark.
fn marked(mark: &[u8]) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let processes = entries.filter_map(|entry| {
        let process = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        // Empty of a process that has ended.
        let environment = std::fs::read(entry.path().join("environ")).ok()?;
        environment.split(|byte| *byte == 0).any(|one| one == mark).then_some(process)
    });
    processes.collect()
}

/// The end of what a server has written to its error output.
#[derive(Clone, Default)]
pub(super) struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    /// There is no more to come.
    ended: CancellationToken,
}

impl LastWords {
    async fn listen(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&buffer[..read]);
            let over = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..over);
        }
        self.ended.cancel();
    }

    /// The last line with something in it, of a program that has ended or is about to.
    pub(super) async fn line(&self) -> String {
        let _ = tokio::time::timeout(LINGER, self.ended.cancelled()).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        crate::skills::hidden::line(last, 300)
    }
}
