//! Python with packages from PyPI, whose programs judge or answer ours: each in a virtual environment that is made
//! once under the repository's `target` folder.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::postgres::NO_SKIP;

/// The Python with the packages. None when they can't be installed here; that is said plainly, past the capture of
/// test output.
///
/// # Errors
/// When there is none and [`NO_SKIP`] forbids to go on without.
pub fn with(name: &str, packages: &[&str], tests: &str) -> Result<Option<PathBuf>, String> {
    match environment(name, packages) {
        Ok(python) => Ok(Some(python)),
        Err(why) => {
            let skipped = format!("{tests}: needs python3-venv and PyPI ({why})");
            if std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1") {
                return Err(format!("{NO_SKIP} is set, but this machine can't run {skipped}"));
            }
            let _ = writeln!(io::stderr(), "SKIPPED: {skipped}");
            Ok(None)
        }
    }
}

/// One process makes it, the others wait for it at the lock.
fn environment(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = target.join(name);
    let (python, done) = (folder.join("bin/python"), folder.join("packages"));
    let text = |error: io::Error| error.to_string();
    std::fs::create_dir_all(&target).map_err(text)?;
    let lock = File::create(target.join(format!("{name}.lock"))).map_err(text)?;
    lock.lock().map_err(text)?;
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let run = |program: &Path, arguments: &[&OsStr]| {
        let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().map_err(text)?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        Err(said.lines().last().unwrap_or("no reason given").to_owned())
    };
    let _ = std::fs::remove_dir_all(&folder);
    run(Path::new("python3"), &[OsStr::new("-m"), OsStr::new("venv"), folder.as_os_str()])?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let arguments: Vec<&OsStr> = install.iter().chain(packages).map(OsStr::new).collect();
    run(&python, &arguments)?;
    std::fs::write(done, wanted).map_err(text)?;
    Ok(python)
}

/// Runs a script in such a Python: what it printed.
///
/// # Errors
/// When it fails: what it said.
pub fn run(python: &Path, script: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(python).arg("-c").arg(script).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}
