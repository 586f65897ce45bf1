//! Reads files: what they are, and their text.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use super::pdf::{self, PdfText};
use super::{MOST_TEXT, decoded, kept, kind_of, says_text};
use crate::domain::{FileKind, FileProblem};

/// How long reading a PDF may take: longer than the process may compute.
const TIMEOUT: Duration = Duration::from_secs(pdf::SECONDS + 10);
/// The longest answer of the process, in bytes. JSON writes some characters as six.
const MOST_ANSWER: u64 = 8 * MOST_TEXT as u64;
/// PDFs that are read at the same time.
const AT_ONCE: usize = 2;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Its kind.
    pub kind: FileKind,
    /// Its type.
    pub media_type: String,
    /// Its text, if it has one.
    pub text: Option<String>,
    /// How many pages it has.
    pub pages: Option<usize>,
    /// Why its text can't be read.
    pub problem: Option<FileProblem>,
}

/// Reads files.
#[derive(Debug)]
pub struct Reader {
    /// Our own program: run with `read-pdf`, it does [`pdf::run`].
    program: PathBuf,
    slots: Semaphore,
}

impl Default for Reader {
    /// This very program, even when its file has been replaced.
    fn default() -> Self {
        Self::new(PathBuf::from("/proc/self/exe"))
    }
}

impl Reader {
    /// A reader that has PDFs read by this program.
    pub fn new(program: PathBuf) -> Self {
        Self { program, slots: Semaphore::new(AT_ONCE) }
    }

    /// Reads a file, whose name and type are what its sender says.
    pub async fn read(&self, path: &Path, name: &str, media_type: &str) -> io::Result<Reading> {
        let (file, name, said) = (path.to_owned(), name.to_owned(), media_type.to_owned());
        #[expect(clippy::disallowed_methods, reason = "it reads one local file, which is soon done")]
        let blocking = tokio::task::spawn_blocking(move || read_plain(&file, &name, said));
        let mut reading = blocking.await.map_err(io::Error::other)??;
        if reading.kind == FileKind::Pdf {
            match self.read_pdf(path).await {
                Ok(found) => {
                    reading.pages = Some(found.pages);
                    let rest = found.pages - found.read.min(found.pages);
                    reading.problem = found.text.is_empty().then_some(FileProblem::NoText);
                    let more =
                        if rest > 0 { format!("\n[{rest} more pages aren't read]") } else { String::new() };
                    reading.text = (!found.text.is_empty()).then(|| format!("{}{more}", kept(found.text)));
                }
                Err(problem) => reading.problem = Some(problem),
            }
        }
        Ok(reading)
    }

    async fn read_pdf(&self, path: &Path) -> Result<PdfText, FileProblem> {
        let _slot = self.slots.acquire().await.map_err(|_| FileProblem::Failed)?;
        let mut child = self.start(path).map_err(failed)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let work = async {
            let mut answer = Vec::new();
            if let Some(stdout) = child.stdout.take() {
                stdout.take(MOST_ANSWER).read_to_end(&mut answer).await?;
            }
            io::Result::Ok((child.wait().await?, answer))
        };
        match tokio::time::timeout(TIMEOUT, work).await {
            Ok(done) => done.map_err(failed).and_then(|(status, answer)| read_answer(status, &answer)),
            Err(_) => {
                if let Some(group) = group {
                    // It may have ended just now.
                    let _ = kill_process_group(group, Signal::KILL);
                }
                Err(FileProblem::Unreadable)
            }
        }
    }

    fn start(&self, path: &Path) -> io::Result<Child> {
        Command::new(&self.program)
            .arg(pdf::COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(File::open(path)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }
}

fn failed(error: io::Error) -> FileProblem {
    tracing::error!(%error, "the process that reads PDFs failed");
    FileProblem::Failed
}

fn read_answer(status: ExitStatus, answer: &[u8]) -> Result<PdfText, FileProblem> {
    if status.code() == Some(pdf::LOCKED.into()) {
        return Err(FileProblem::Locked);
    }
    let found = serde_json::from_slice(answer).ok().filter(|_| status.success());
    found.ok_or(FileProblem::Unreadable)
}

/// Everything about a file but the text of a PDF.
fn read_plain(path: &Path, name: &str, said: String) -> io::Result<Reading> {
    let mut content = Vec::new();
    File::open(path)?.read_to_end(&mut content)?;
    let says_text = says_text(name, &said);
    let (kind, sure) = kind_of(&content, says_text);
    let plain = if kind == FileKind::Text { "text/plain" } else { "application/octet-stream" };
    let fits = |said: &str| {
        !said.is_empty() && (kind != FileKind::Text || said.starts_with("text/") || said.contains("json"))
    };
    let media_type = match sure {
        Some(sure) => sure.to_owned(),
        None if fits(&said) => said,
        None => plain.to_owned(),
    };
    let text = (kind == FileKind::Text).then(|| decoded(&content, says_text)).flatten().map(kept);
    Ok(Reading { kind, media_type, text, pages: None, problem: None })
}
