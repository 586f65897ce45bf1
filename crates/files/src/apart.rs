//! Files that may be built to break whatever reads them are read by a process of its own, which has limits of memory and
//! time, an empty environment, no file but that one, and no network; and it ends with us. [`run`] is all that it does.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{ExitCode, ExitStatus};

use adjutant_types::FileProblem;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::{archive, mail, pdf};

/// The first argument of our program that makes it [`run`] this; the second is the [`Job`].
pub const COMMAND: &str = "read-file";

/// The limits of the process: memory in bytes, and processor time in seconds.
const MEMORY: u64 = 768 << 20;
pub(super) const SECONDS: u64 = 20;
/// The biggest file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The part of a file to read, which the process is told as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Job {
    Pdf,
    /// The files inside an archive, or the text of a document that is an archive.
    Archive,
    /// The file of this number in an archive.
    Entry(usize),
    Mail,
    /// The file of this number in a mail.
    Attachment(usize),
}

/// Why a file can't be read, as the process says it by its exit status.
const STATUS: [(u8, FileProblem); 5] = [
    (3, FileProblem::Locked),
    (4, FileProblem::TooBig),
    (5, FileProblem::TooManyInside),
    (6, FileProblem::Unsafe),
    (7, FileProblem::NotInside),
];

/// Why the process has failed, by its exit status.
pub(super) fn problem(status: ExitStatus) -> FileProblem {
    let found = STATUS.iter().find(|(code, _)| status.code() == Some((*code).into()));
    found.map_or(FileProblem::Unreadable, |(_, problem)| *problem)
}

/// Reads a file from stdin and writes what was found to stdout. The process gives up whatever it doesn't need before it
/// looks at the file.
pub fn run(job: Option<OsString>) -> ExitCode {
    for (resource, limit) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, SECONDS),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 16),
    ] {
        if setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) }).is_err() {
            return ExitCode::FAILURE;
        }
    }
    if adjutant_sandbox::end_with_parent().and_then(|()| adjutant_sandbox::allow_nothing()).is_err() {
        return ExitCode::FAILURE;
    }
    let mut content = Vec::new();
    if std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut content).is_err() {
        return ExitCode::FAILURE;
    }
    let Some(job) = job.and_then(|job| serde_json::from_str::<Job>(job.to_str()?).ok()) else {
        return ExitCode::FAILURE;
    };
    let found = match job {
        Job::Pdf => pdf::read(&content).and_then(|found| json(&found)),
        Job::Archive => archive::look(&content).and_then(|found| json(&found)),
        Job::Entry(number) => archive::entry(&content, number),
        Job::Mail => json(&mail::text(&content)),
        Job::Attachment(number) => mail::attachment(&content, number),
    };
    let found = match found {
        Ok(found) => found,
        Err(problem) => {
            let status = STATUS.iter().find(|(_, candidate)| *candidate == problem);
            return status.map_or(ExitCode::FAILURE, |(code, _)| (*code).into());
        }
    };
    std::io::stdout().lock().write_all(&found).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn json(found: &impl Serialize) -> Result<Vec<u8>, FileProblem> {
    serde_json::to_vec(found).map_err(|_| FileProblem::Unreadable)
}
