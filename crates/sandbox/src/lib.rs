//! Programs that others wrote: they see their own folder and what the system has installed, have no network unless they
//! may, and end with the call that started them, or with us, whatever they have started themselves.
//!
//! Each runs below a supervisor of its own, which is our program again: [`run`].

mod confine;
mod supervisor;

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};

pub use confine::{Confinement, allow_nothing, confinement};
pub use supervisor::{end_with_parent, run};

/// The first argument of our program that makes it [`run`]; then come the [`Order`], the program, and its words.
pub const COMMAND: &str = "run-program";
/// Where programs are looked for without `$PATH`.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// How long a supervisor may take to end what it has started.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// What a program may use besides its own folder and what the system has installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Permissions {
    pub network: bool,
    /// Files and folders that it may read, and run programs of.
    pub read: Vec<PathBuf>,
    /// Files and folders that it may also change.
    pub write: Vec<PathBuf>,
    /// Files of the program's own, such as the script that it runs. It sees their folders, too.
    pub own: Vec<PathBuf>,
}

impl Permissions {
    /// Whether it has no more than every program.
    pub fn is_nothing(&self) -> bool {
        !self.network && self.read.is_empty() && self.write.is_empty()
    }

    /// Takes the first fixed word that is an absolute path for the program's own: `["python3", "/srv/report.py"]`.
    pub fn with_script<'a>(mut self, mut words: impl Iterator<Item = &'a str>) -> Self {
        self.own.extend(words.find(|word| word.starts_with('/')).map(PathBuf::from));
        self
    }

    /// `network, reads /a, writes /b`; nothing if there are none.
    pub fn describe(&self) -> String {
        let paths = |verb: &'static str, paths: &[PathBuf]| {
            paths.iter().map(|path| format!("{verb} {}", path.display())).collect::<Vec<_>>()
        };
        let network = self.network.then(|| "network".to_owned()).into_iter();
        network
            .chain(paths("reads", &self.read))
            .chain(paths("writes", &self.write))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// What a supervisor does.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// Whose end is the program's, too.
    parent: i32,
    may: Permissions,
}

#[derive(Debug, Clone)]
pub struct Launcher {
    /// Our own program.
    ours: PathBuf,
    /// Where our secrets are. A program that was installed beside them sees itself alone.
    private: Vec<PathBuf>,
}

impl Launcher {
    /// Starts programs by way of this one of ours, and keeps these files and folders from them.
    pub fn new(ours: PathBuf, private: impl IntoIterator<Item = PathBuf>) -> Self {
        let private = private.into_iter().map(|path| path.canonicalize().unwrap_or(path)).collect();
        Self { ours, private }
    }

    /// A program with a clean environment, in a folder of its own.
    pub fn command(
        &self,
        program: &str,
        words: &[String],
        folder: &Path,
        may: &Permissions,
    ) -> io::Result<Command> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let file = find(program).ok_or_else(missing)?;
        let folder = &folder.canonicalize()?;
        let mut may = may.clone();
        let own: Vec<PathBuf> = std::mem::take(&mut may.own).into_iter().chain([file.clone()]).collect();
        may.read.extend(own.iter().flat_map(|file| self.homes(file)).chain(self.without_secrets(path())));
        may.write.push(folder.clone());
        let order = Order { parent: rustix::process::getpid().as_raw_nonzero().get(), may };
        let inherited = |name: &str, default: &str| std::env::var_os(name).unwrap_or_else(|| default.into());
        let mut command = Command::new(&self.ours);
        command.arg(COMMAND).arg(serde_json::to_string(&order).map_err(io::Error::other)?);
        command.arg(file).args(words).env_clear();
        command.env("PATH", inherited("PATH", PATH)).env("LANG", inherited("LANG", "C.UTF-8"));
        command.env("HOME", folder).env("TMPDIR", folder).current_dir(folder).process_group(0);
        Ok(command)
    }

    /// A file, what it is a link to, and the folders of both.
    fn homes(&self, file: &Path) -> Vec<PathBuf> {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let folders = [file.parent(), real.parent(), Some(real.as_path())].into_iter().flatten();
        let folders =
            self.without_secrets(folders.map(Path::to_owned).filter(|path| path.is_dir()).collect());
        folders.chain((!real.is_dir()).then_some(real)).collect()
    }

    /// The folders in which none of our secrets is.
    fn without_secrets(&self, folders: Vec<PathBuf>) -> impl Iterator<Item = PathBuf> {
        let is_open = |folder: &PathBuf| !self.private.iter().any(|private| private.starts_with(folder));
        folders.into_iter().filter_map(|folder| folder.canonicalize().ok()).filter(is_open)
    }
}

fn path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| PATH.into());
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

/// The file of a program that may be run: an absolute path, or a name found in `$PATH`.
pub fn find(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = Path::new(program.as_ref());
    let mut files = path().into_iter().map(|folder| folder.join(name));
    files.find(|file| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok())
}

/// Whether a program says that it wasn't allowed something.
pub fn was_denied(said: &str) -> bool {
    const DENIED: [&str; 6] =
        ["ermission denied", "not permitted", "EACCES", "EPERM", "EAI_AGAIN", "name resolution"];
    DENIED.iter().any(|words| said.contains(words))
}

/// A program that runs, with all that it has started. They end when it is dropped.
#[derive(Debug)]
pub struct Processes(OwnedFd);

impl Processes {
    /// Those below a supervisor.
    pub fn of(supervisor: &Child) -> io::Result<Self> {
        let id = supervisor.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let ended = || io::Error::other("it has ended");
        Ok(Self(pidfd_open(id.ok_or_else(ended)?, PidfdFlags::empty())?))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // It fails when the supervisor has ended, and then nothing is left.
        let _ = pidfd_send_signal(&self.0, Signal::TERM);
        let ended = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&PATIENCE));
        if ended.is_ok_and(|ended| ended == 0) {
            tracing::warn!("a program can't be ended");
            let _ = pidfd_send_signal(&self.0, Signal::KILL);
        }
    }
}
