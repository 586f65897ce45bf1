//! A server's process, in a folder of its own.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::Secret;
use adjutant_sandbox::{Launcher, Permissions, Processes};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio_util::sync::CancellationToken;

/// How much of a server's error output is kept for a message about its end.
const LAST_WORDS: usize = 2048;
/// How long we wait for the rest of the error output of a program that ends.
const LINGER: Duration = Duration::from_millis(500);

/// The settings for starting a process.
pub(super) struct Start<'a> {
    pub(super) words: &'a [String],
    pub(super) env: Vec<(&'a str, &'a Secret)>,
    pub(super) home: &'a Path,
    pub(super) permissions: &'a Permissions,
    pub(super) launcher: &'a Launcher,
}

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
        let mut command = self.launcher.command(program, words, self.home, self.permissions)?;
        command.envs(self.env.iter().map(|(name, secret)| (name, secret.expose())));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let all = Processes::of(&child)?;
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

/// The end of what a server has written to its error output.
#[derive(Clone, Default)]
pub(super) struct LastWords {
    tail: Arc<Mutex<Vec<u8>>>,
    /// There is no more to come.
    ended: CancellationToken,
}

impl LastWords {
    async fn listen(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            let mut tail = self.tail.lock();
            tail.extend_from_slice(&buffer[..read]);
            let over = tail.len().saturating_sub(LAST_WORDS);
            tail.drain(..over);
        }
        self.ended.cancel();
    }

    /// The last line with something in it, of a program that has ended or is about to.
    pub(super) async fn line(&self) -> String {
        let _ = tokio::time::timeout(LINGER, self.ended.cancelled()).await;
        let tail = self.tail.lock();
        let text = String::from_utf8_lossy(&tail);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        adjutant_types::invisible_chars::line(last, 300)
    }
}
