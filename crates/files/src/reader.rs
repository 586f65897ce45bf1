//! Reads files: what they are, their text, and the files inside of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use adjutant_types::{FileKind, FileProblem};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use super::apart::{self, Job};
use super::archive::{Archive, Inside};
use super::pdf::PdfText;
use super::{MAX_MEGABYTES, MAX_TEXT, charset, decoded, kind_of, mail, says_text, truncated};

/// The type of an archive of which nothing else is known.
const ZIP: &str = "application/zip";
/// How long reading a file may take: longer than the process may compute.
const TIMEOUT: Duration = Duration::from_secs(apart::SECONDS + 10);
/// The longest answer of the process, in bytes: a file, or a text as JSON, which writes some characters as six.
const MAX_ANSWER: u64 = (MAX_MEGABYTES << 20) + 8 * MAX_TEXT as u64;
/// Files that are read at the same time.
const AT_ONCE: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReading {
    pub kind: FileKind,
    pub media_type: String,
    pub text: Option<String>,
    pub pages: Option<usize>,
    /// Why its text can't be read.
    pub problem: Option<FileProblem>,
}

/// A file that was taken out of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its name, with its folders.
    pub name: String,
    /// Its type, where the other file says it.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub struct Reader {
    /// Our own program: run with `read-file`, it does [`apart::run`].
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
    /// A reader that has PDFs, archives and mails read by this program.
    pub fn new(program: PathBuf) -> Self {
        Self { program, slots: Semaphore::new(AT_ONCE) }
    }

    /// Reads a file, whose name and type are what its sender says.
    pub async fn read(&self, path: &Path, name: &str, media_type: &str) -> io::Result<FileReading> {
        let (file, owned, declared) = (path.to_owned(), name.to_owned(), media_type.to_owned());
        #[expect(clippy::disallowed_methods, reason = "it reads one local file, which is soon done")]
        let blocking = tokio::task::spawn_blocking(move || read_plain(&file, &owned, declared));
        let mut reading = blocking.await.map_err(io::Error::other)??;
        match reading.kind {
            FileKind::Pdf => match self.read_apart(path, Job::Pdf).await {
                Ok(found) => reading.take_pdf(found),
                Err(problem) => reading.problem = Some(problem),
            },
            FileKind::Archive => match self.read_apart(path, Job::Archive).await {
                Ok(found) => reading.take_archive(found),
                Err(problem) => reading.problem = Some(problem),
            },
            FileKind::Text if mail::says_mail(name, media_type) => {
                reading.take_mail(self.read_apart(path, Job::Mail).await);
            }
            _ => {}
        }
        Ok(reading)
    }

    /// Takes the file of this number, from 1, out of an archive or a mail.
    pub async fn take_out(&self, path: &Path, kind: FileKind, number: usize) -> Result<Taken, FileProblem> {
        let job = if kind == FileKind::Mail { Job::Attachment(number) } else { Job::Entry(number) };
        let answer = self.apart(path, job).await?;
        let end = answer.iter().position(|byte| *byte == b'\n').ok_or(FileProblem::Unreadable)?;
        let about: Inside = serde_json::from_slice(&answer[..end]).map_err(|_| FileProblem::Unreadable)?;
        Ok(Taken { name: about.name, media_type: about.media_type, bytes: answer[end + 1..].to_vec() })
    }

    async fn read_apart<T: DeserializeOwned>(&self, path: &Path, job: Job) -> Result<T, FileProblem> {
        serde_json::from_slice(&self.apart(path, job).await?).map_err(|_| FileProblem::Unreadable)
    }

    /// The process's answer.
    async fn apart(&self, path: &Path, job: Job) -> Result<Vec<u8>, FileProblem> {
        let _slot = self.slots.acquire().await.map_err(|_| FileProblem::Failed)?;
        let mut child = self.start(path, job).map_err(failed)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let work = async {
            let mut answer = Vec::new();
            if let Some(stdout) = child.stdout.take() {
                stdout.take(MAX_ANSWER).read_to_end(&mut answer).await?;
            }
            io::Result::Ok((child.wait().await?, answer))
        };
        let Ok(done) = tokio::time::timeout(TIMEOUT, work).await else {
            if let Some(group) = group {
                // It may have ended just now.
                let _ = kill_process_group(group, Signal::KILL);
            }
            return Err(FileProblem::Unreadable);
        };
        let (status, answer) = done.map_err(failed)?;
        if status.success() { Ok(answer) } else { Err(apart::problem(status)) }
    }

    fn start(&self, path: &Path, job: Job) -> io::Result<Child> {
        Command::new(&self.program)
            .arg(apart::COMMAND)
            .arg(serde_json::to_string(&job)?)
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
    tracing::error!(%error, "a file couldn't be read");
    FileProblem::Failed
}

impl FileReading {
    /// The reading of a file that was set aside.
    pub fn quarantined(media_type: &str) -> Self {
        Self {
            kind: FileKind::Other,
            media_type: media_type.to_owned(),
            text: None,
            pages: None,
            problem: Some(FileProblem::Quarantined),
        }
    }

    fn take_pdf(&mut self, found: PdfText) {
        self.pages = Some(found.pages);
        let rest = found.pages - found.read.min(found.pages);
        self.problem = found.text.is_empty().then_some(FileProblem::NoText);
        let more = if rest > 0 {
            format!("\n{}", adjutant_l10n::files_read::more_pages(rest))
        } else {
            String::new()
        };
        self.text = (!found.text.is_empty()).then(|| format!("{}{more}", truncated(found.text)));
    }

    /// A text that is called a mail is one if it has a mail's headers.
    fn take_mail(&mut self, found: Result<Option<String>, FileProblem>) {
        let (text, problem) = match found {
            Ok(None) => return,
            Ok(Some(text)) => (Some(truncated(text)), None),
            Err(problem) => (None, Some(problem)),
        };
        mail::MEDIA_TYPE.clone_into(&mut self.media_type);
        (self.kind, self.text, self.problem) = (FileKind::Mail, text, problem);
    }

    fn take_archive(&mut self, found: Archive) {
        match found {
            Archive::Files(inside) => self.text = Some(listing(&inside)),
            Archive::Document(media_type, text) => {
                self.kind = FileKind::Document;
                // Not every sender says it.
                if self.media_type == ZIP {
                    self.media_type = media_type;
                }
                self.problem = text.is_empty().then_some(FileProblem::NoText);
                self.text = (!text.is_empty()).then(|| truncated(text));
            }
            Archive::Unread => self.kind = FileKind::Other,
        }
    }
}

/// The files inside of an archive, a line each.
fn listing(inside: &[Inside]) -> String {
    let line = |(number, file): (usize, &Inside)| {
        let lock = if file.is_locked { ", with a password" } else { "" };
        format!("\n{number}: {} ({} bytes{lock})", file.name, file.bytes)
    };
    let lines: String = (1..).zip(inside).map(line).collect();
    truncated(format!("Files inside: {}{lines}", inside.len()))
}

/// Everything about a file but what a process of its own reads.
fn read_plain(path: &Path, name: &str, declared: String) -> io::Result<FileReading> {
    let mut content = Vec::new();
    File::open(path)?.read_to_end(&mut content)?;
    let says_text = says_text(name, &declared);
    let charset = charset(&declared).map(str::to_owned);
    let (kind, sure) = kind_of(&content, says_text, charset.as_deref());
    let plain = match kind {
        FileKind::Text => "text/plain",
        FileKind::Archive => ZIP,
        _ => "application/octet-stream",
    };
    let fits = |declared: &str| {
        !declared.is_empty()
            && (kind != FileKind::Text || declared.starts_with("text/") || declared.contains("json"))
    };
    let media_type = match sure {
        Some(sure) => sure.to_owned(),
        None if fits(&declared) => declared,
        None => plain.to_owned(),
    };
    let text = (kind == FileKind::Text).then(|| decoded(&content, says_text, charset.as_deref())).flatten();
    Ok(FileReading { kind, media_type, text: text.map(truncated), pages: None, problem: None })
}
