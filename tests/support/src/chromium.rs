//! Chromium, driven by playwright-core.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use adjutant_fakes::postgres::NO_SKIP;
use serde_json::{Value, json};

use crate::root;

const PACKAGES: [&str; 2] = ["playwright-core@1.65.1", "axe-core@4.14.1"];

/// A running browser.
pub struct Chromium {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Chromium {
    /// None where it can't be run; that is said plainly.
    pub fn start() -> Option<Self> {
        let modules = match modules() {
            Ok(modules) => modules,
            Err(why) => {
                let skipped = format!("the web page's suite: needs chromium, node and npm ({why})");
                let must = std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1");
                assert!(!must, "{NO_SKIP} is set, but this machine can't run {skipped}");
                let _ = writeln!(std::io::stderr(), "SKIPPED: {skipped}");
                return None;
            }
        };
        let driver = root().join("tests/web/driver.mjs");
        let mut child = Command::new("node")
            .arg(driver)
            .env("BROWSER_MODULES", modules)
            .env("CHROMIUM", "/usr/bin/chromium")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Some(Self { child, stdin, stdout })
    }

    /// Runs a piece of JavaScript with `page`.
    #[track_caller]
    pub fn run(&mut self, js: &str) -> Value {
        writeln!(self.stdin.as_mut().unwrap(), "{}", json!({ "js": js })).unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(answer.get("error").is_none(), "{js}\n{}", answer["error"].as_str().unwrap_or_default());
        answer["value"].clone()
    }

    /// Waits until the page shows something, without loading it again.
    #[track_caller]
    pub fn shows(&mut self, selector: &str) {
        self.run(&format!(
            "await page.locator({}).filter({{visible: true}}).first().waitFor();",
            json!(selector)
        ));
    }

    /// Waits until the page no longer shows something.
    #[track_caller]
    pub fn hides(&mut self, selector: &str) {
        self.run(&format!("await page.locator({}).first().waitFor({{state: 'hidden'}});", json!(selector)));
    }

    /// Saves a picture of the page, to be looked at.
    pub fn picture(&mut self, name: &str) {
        let folder = root().join("target/pictures");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        self.run(&format!("await page.screenshot({{ path: {} }});", json!(path.to_str().unwrap())));
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It closes the browser when nothing more comes.
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// The folder with the packages, which are installed once.
fn modules() -> Result<PathBuf, String> {
    let text = |error: std::io::Error| error.to_string();
    for program in ["node", "npm", "chromium"] {
        Command::new(program).arg("--version").output().map_err(|error| format!("{program}: {error}"))?;
    }
    let folder = root().join("target/browser");
    std::fs::create_dir_all(&folder).map_err(text)?;
    let lock = File::create(folder.join("lock")).map_err(text)?;
    lock.lock().map_err(text)?;
    let (done, wanted) = (folder.join("packages"), PACKAGES.join("\n"));
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&folder).args(PACKAGES);
    let output = npm.stdin(Stdio::null()).output().map_err(text)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(said.lines().last().unwrap_or("npm failed").to_owned());
    }
    std::fs::write(done, wanted).map_err(text)?;
    Ok(folder)
}
