//! The process environment as one value, so that tests can bring their own.

pub(super) mod place;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The process environment. Not `Debug`: variables may hold secrets.
#[derive(Clone)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
    /// The folder to look for `config.toml` in; empty is the current one.
    pub dir: PathBuf,
    /// The machine's configuration folder, `/etc/adjutant`.
    pub etc: PathBuf,
    /// The data folder of the machine's service, `/var/lib/adjutant`.
    pub state: PathBuf,
    pub zone: Option<String>,
    /// Whether secrets that are missing will be there when they are needed.
    pub expects_secrets: bool,
}

/// Empties the memory in which the system gave us our environment, which `/proc` shows, and keeps a copy elsewhere. Call it
/// before there is a second thread.
#[expect(
    unsafe_code,
    reason = "the system shows that memory to every process of our user for as long as we run"
)]
pub fn clear_initial_environment() {
    unsafe extern "C" {
        static mut environ: *const *mut std::ffi::c_char;
    }
    let vars: Vec<_> = std::env::vars_os().collect();
    // SAFETY: the list ends with a null, and each entry with a zero byte, up to which the memory is ours; no other
    // thread reads or changes it meanwhile. Names and values are those of an environment, so they may be set.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            (*entry).write_bytes(0, libc::strlen(*entry));
            entry = entry.add(1);
        }
        for (name, value) in vars {
            if !name.as_encoded_bytes().contains(&b'=') {
                std::env::set_var(name, value);
            }
        }
    }
}

impl Env {
    pub fn of_process() -> Self {
        Self {
            vars: std::env::vars_os().collect(),
            dir: PathBuf::new(),
            etc: PathBuf::from("/etc/adjutant"),
            state: PathBuf::from("/var/lib/adjutant"),
            zone: iana_time_zone::get_timezone().ok(),
            expects_secrets: false,
        }
    }

    /// A made-up environment: these variables, this current folder, an empty `/etc`, no service and no zone.
    pub fn made_up<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>, dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        let vars = vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { vars, etc: dir.join("etc"), state: dir.join("state"), dir, zone: None, expects_secrets: false }
    }

    /// A variable's value; none when it is unset, empty or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.raw(name)?.to_str()
    }

    /// A variable that holds a path; none when it is unset or empty.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.raw(name).map(PathBuf::from)
    }

    fn raw(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// `$NAME`, or this folder under `$HOME`. XDG says to ignore a relative path.
    pub fn xdg(&self, name: &str, under_home: &str) -> Option<PathBuf> {
        let given = self.path(name).filter(|path| path.is_absolute());
        given.or_else(|| self.path("HOME").map(|home| home.join(under_home)))
    }
}
