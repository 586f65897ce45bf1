//! A server's process: a clean environment, a group of its own, and nothing left behind, not even what has left the
//! group.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
/// How long the processes of a server are looked for at most: a fork can happen between two looks.
const LOOKING: Duration = Duration::from_secs(2);
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
        let all = Processes {
            group: Group::of(&child),
            mark: format!("{MARK}={}", self.mark).into_bytes(),
            started: child.id().and_then(|id| started(&PathBuf::from(format!("/proc/{id}")))).unwrap_or(0),
        };
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
    /// When the first of them began, in the system's clock ticks.
    started: u64,
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.group.kill();
        // Whoever has left the group still has our mark in its environment. A process that was killed can't fork, so
        // the end is near when a look finds no other.
        let mut killed = BTreeSet::new();
        let (begin, mut clean) = (Instant::now(), 0);
        while clean < CLEAN_LOOKS && begin.elapsed() < LOOKING {
            let look = Look::at(&self.mark, self.started);
            let new: Vec<Pid> =
                look.marked.into_iter().filter(|process| killed.insert(process.as_raw_nonzero())).collect();
            clean = if new.is_empty() && !look.any_unclear { clean + 1 } else { 0 };
            for process in new {
                let _ = kill_process(process, Signal::KILL);
            }
            std::thread::yield_now();
        }
    }
}

/// What one look at all processes found.
struct Look {
    /// The living ones with the mark.
    marked: Vec<Pid>,
    /// Whether one may get the mark yet: from the middle of `execve` until its environment is copied, a process has none
    /// (Linux, `fs/binfmt_elf.c`), and on a busy machine it may wait there for long.
    any_unclear: bool,
}

impl Look {
    /// Processes that began before `started` aren't in doubt.
    fn at(mark: &[u8], started: u64) -> Self {
        let mut look = Self { marked: Vec::new(), any_unclear: false };
        let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let pid = entry.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
            let (Some(process), folder) = (pid, entry.path()) else { continue };
            let Ok(environment) = std::fs::read(folder.join("environ")) else { continue };
            if environment.split(|byte| *byte == 0).any(|one| one == mark) {
                look.marked.push(process);
            }
            // One that has ended has no program any more, either.
            look.any_unclear |= environment.is_empty()
                && std::fs::read_link(folder.join("exe")).is_ok()
                && self::started(&folder).is_some_and(|begun| begun >= started);
        }
        look
    }
}

/// When a process began, in clock ticks since the system did (proc(5), `stat`, field 22).
fn started(folder: &Path) -> Option<u64> {
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    // The name, field 2, may hold anything; it ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_an_environment_is_in_doubt_unless_it_is_older() {
        let mut bare = std::process::Command::new("sleep").arg("1000").env_clear().spawn().unwrap();
        let begun = started(&PathBuf::from(format!("/proc/{}", bare.id()))).unwrap();
        // Others may just start, too, but none that begins a minute later.
        assert!(Look::at(b"X=1", begun).any_unclear);
        assert!(!Look::at(b"X=1", begun + 60 * 100).any_unclear);
        bare.kill().unwrap();
        bare.wait().unwrap();
    }
}
