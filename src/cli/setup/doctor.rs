//! `adjutant doctor`: checks everything the assistant depends on, and says how to fix each problem.
//!
//! Each check runs on its own, so one failure hides no other. Nothing is changed, except what every command
//! changes: opening an older store migrates it, and our files become private.

pub(in crate::cli) mod connect;
mod machine;
mod memory;
pub(in crate::cli) mod parts;
mod sandbox;
mod voice;

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_chat::{CheckStatus, Finding};
use adjutant_config::{Config, ConfigError};
use adjutant_store::Store;
use adjutant_types::clock::{Clock, SystemClock};
use adjutant_workflows::trace;
use adjutant_workflows::trace::text::several;
use serde::Serialize;

use crate::cli::{Result, next};
use crate::service;

/// The checks and the codes of their problems, for docs/troubleshooting.md. A code never changes its meaning.
const CODES: [(&str, &str); 25] = [
    ("configuration", "A01"),
    ("secrets", "A02"),
    ("data", "A03"),
    ("store", "A04"),
    ("backup", "A05"),
    ("clock", "A06"),
    ("skills", "A07"),
    ("sandbox", "A08"),
    ("oauth", "A09"),
    ("model", "A10"),
    ("limits", "A11"),
    ("mail", "A12"),
    ("calendar", "A13"),
    ("contacts", "A14"),
    ("accounts", "A15"),
    ("connect", "A16"),
    ("voice", "A17"),
    ("otlp", "A18"),
    ("channels", "A19"),
    ("mcp", "A20"),
    ("memory", "A21"),
    ("serve", "A22"),
    ("notes", "A23"),
    ("web", "A24"),
    ("watching", "A25"),
];

/// A finding and the name of its check.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    /// Such as `store` or `channels.telegram`.
    name: String,
    /// The code of what isn't well.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(flatten)]
    finding: Finding,
}

impl Check {
    fn new(name: &str, finding: Finding) -> Self {
        let part = name.split('.').next().unwrap_or_default();
        let code = CODES.iter().find(|(check, _)| *check == part).map(|(_, code)| *code);
        let code = code.filter(|_| finding.status != CheckStatus::Ok);
        Self { name: name.to_owned(), code, finding }
    }
}

#[derive(Debug, Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn add(&mut self, name: &str, finding: Finding) {
        self.0.push(Check::new(name, finding));
    }

    fn add_all(&mut self, name: &str, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.add(name, finding));
    }
}

pub(in crate::cli) async fn run(config: Result<Config, ConfigError>, is_json: bool) -> Result<ExitCode> {
    let mut checks = Checks::default();
    let (ending, next_step) = match config {
        Ok(config) => {
            check_all(&config, &mut checks).await;
            (ExitCode::FAILURE, next_step(&checks.0, &config))
        }
        Err(error) => {
            let fix = "correct the file and run `adjutant config check`; until then, a running service keeps the last \
                       good configuration";
            let problems = error.problems.iter().map(ToString::to_string);
            checks.add_all("configuration", problems.map(|problem| Finding::error(problem, fix)));
            // EX_CONFIG of sysexits.h, as in every other command.
            (ExitCode::from(78), "Next step: correct the file, then run `adjutant doctor` again.".to_owned())
        }
    };
    match is_json {
        true => crate::cli::out(&json(&checks.0)?)?,
        false => crate::cli::tell(&(text(&checks.0) + &next_step + "\n"))?,
    }
    let is_ok = checks.0.iter().all(|check| check.finding.status != CheckStatus::Error);
    Ok(if is_ok { ExitCode::SUCCESS } else { ending })
}

async fn check_all(config: &Config, checks: &mut Checks) {
    let read = config
        .path
        .as_ref()
        .map_or("no file; using the defaults".to_owned(), |path| format!("{} is valid", path.display()));
    checks.add("configuration", Finding::ok(read));
    checks.add_all("secrets", machine::secrets(config));
    checks.add_all("data", machine::private(service::private::restrict(config)));
    checks.add_all("data", machine::data_dir(&config.data_dir));
    let store = service::open_store(config, Arc::new(SystemClock)).await;
    match &store {
        Ok(store) => {
            check_store(store, checks).await;
            parts::mcp(config, store, checks).await;
            memory::embeddings(config, store, checks).await;
            if let Err(error) = connect::accounts(config, store, checks).await {
                checks.add("accounts", Finding::error(error.to_string(), "run `adjutant db check`"));
            }
        }
        Err(error) => checks.add("store", failed(error)),
    }
    checks.add_all("backup", parts::backups(config, SystemClock.now_ms()));
    checks.add_all("clock", machine::clock(config, &SystemClock).await);
    checks.add_all("skills", parts::skills(config).await);
    checks.add_all("sandbox", sandbox::programs(config));
    checks.add_all("watching", parts::folders(config));
    parts::logins(config, store.as_ref().ok(), checks).await;
    if let Ok(store) = store {
        store.close().await;
    }
    checks.add_all("model", parts::models(&config.model).await);
    checks.add_all("limits", parts::limits(config));
    connect::shared(config, checks);
    parts::accounts(config, checks).await;
    for (section, finding) in connect::applications(config).await {
        checks.add(section, finding);
    }
    voice::services(config, checks).await;
    checks.add_all("otlp", parts::traces(config).await);
    match service::connect(config) {
        Ok(channels) => parts::channels(channels, config, checks).await,
        Err(error) => checks.add("channels", failed(&error)),
    }
    checks.add_all("serve", machine::serve(config).await);
}

fn next_step(checks: &[Check], config: &Config) -> String {
    let is_running =
        checks.iter().any(|check| check.name == "serve" && check.finding.status == CheckStatus::Ok);
    if checks.iter().any(|check| check.finding.status == CheckStatus::Error) {
        "Next step: do what the → under each ✗ says, then run `adjutant doctor` again.".to_owned()
    } else if is_running && next::missing(config).is_empty() {
        "Next step: none. Write to your bot.".to_owned()
    } else {
        next::step(config)
    }
}

/// An error whose last clause, if it has several, says what to do.
fn failed(error: &dyn std::fmt::Display) -> Finding {
    let text = error.to_string();
    let sentence = text.rsplit_once(". ").filter(|(_, fix)| fix.starts_with(char::is_uppercase));
    let parts = sentence.or_else(|| text.rsplit_once("; "));
    let (reason, fix) = parts.unwrap_or((text.as_str(), "look its code up in docs/troubleshooting.md"));
    Finding::error(reason, fix)
}

async fn check_store(store: &Store, checks: &mut Checks) {
    match parts::store(store).await {
        Ok(findings) => checks.add_all("store", findings),
        Err(error) => {
            let fix = "check the disk and the database, and run `adjutant db check`";
            checks.add("store", Finding::error(error.to_string(), fix));
        }
    }
}

fn json(checks: &[Check]) -> Result<String> {
    #[derive(Serialize)]
    struct Report<'a> {
        ok: bool,
        checks: &'a [Check],
    }
    let ok = checks.iter().all(|check| check.finding.status != CheckStatus::Error);
    crate::cli::json(&Report { ok, checks })
}

pub(in crate::cli) fn sign(status: CheckStatus) -> char {
    match status {
        CheckStatus::Ok => '✓',
        CheckStatus::Warning => '!',
        CheckStatus::Error => '✗',
    }
}

fn text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (at, Check { name, code, finding }) in checks.iter().enumerate() {
        let sign = sign(finding.status);
        let code = code.map_or_else(String::new, |code| format!(" ({code})"));
        let _ = writeln!(text, "{sign} {name:width$}  {}{code}", trace::one_line(&finding.reason));
        let is_said_below = checks.get(at + 1).is_some_and(|next| next.finding.fix == finding.fix);
        if !finding.fix.is_empty() && !is_said_below {
            let _ = writeln!(text, "  {:width$}  → {}", "", trace::one_line(&finding.fix));
        }
    }
    let count = |status| checks.iter().filter(|check| check.finding.status == status).count();
    let (problems, warnings) = (count(CheckStatus::Error), count(CheckStatus::Warning));
    let _ = match (problems, warnings) {
        (0, 0) => writeln!(text, "\nNo problems."),
        _ => writeln!(text, "\n{}, {}.", several(problems, "problem"), several(warnings, "warning")),
    };
    text
}

#[cfg(test)]
mod tests;
