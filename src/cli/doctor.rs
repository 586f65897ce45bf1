//! `adjutant doctor`: looks at everything that the assistant stands on, and says of each thing that is wrong
//! what to do about it.
//!
//! Each part is looked at by itself, so that one that fails hides no other; nothing is changed, but a store
//! that is older than this program is brought up to date, as every command does.

mod machine;
pub(super) mod parts;

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_chat::{CheckStatus, Finding};
use serde::Serialize;

use super::{CliError, DoctorArgs};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigError};
use crate::store::Store;
use crate::{service, trace};

/// A finding, and of what.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    /// Such as `store` or `channels.telegram`.
    name: String,
    #[serde(flatten)]
    finding: Finding,
}

/// Everything that was looked at.
#[derive(Debug, Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn add(&mut self, name: &str, finding: Finding) {
        self.0.push(Check { name: name.to_owned(), finding });
    }

    fn add_all(&mut self, name: &str, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.add(name, finding));
    }
}

/// Runs `adjutant doctor`.
pub(super) async fn run(
    config: Result<Config, ConfigError>,
    args: &DoctorArgs,
) -> Result<ExitCode, CliError> {
    let mut checks = Checks::default();
    let ending = match config {
        Ok(config) => {
            look(&config, &mut checks).await;
            ExitCode::FAILURE
        }
        Err(error) => {
            let mend = "correct the file, `adjutant config check` tells when it is right; until then a running \
                        service goes on with the last good one";
            let faults = error.problems.iter().map(ToString::to_string);
            checks.add_all("configuration", faults.map(|fault| Finding::error(fault, mend)));
            // As with every other command: sysexits' EX_CONFIG.
            ExitCode::from(78)
        }
    };
    super::out(&if args.json { json(&checks.0)? } else { text(&checks.0) })?;
    let is_well = checks.0.iter().all(|check| check.finding.status != CheckStatus::Error);
    Ok(if is_well { ExitCode::SUCCESS } else { ending })
}

async fn look(config: &Config, checks: &mut Checks) {
    let read = config.path.as_ref().map_or("none; everything is at its default".to_owned(), |path| {
        format!("{} is right", path.display())
    });
    checks.add("configuration", Finding::ok(read));
    checks.add_all("secrets", machine::secrets(config));
    checks.add_all("data", machine::data_dir(&config.data_dir));
    match service::open_store(config, Arc::new(SystemClock)).await {
        Ok(store) => {
            look_into(&store, checks).await;
            store.close().await;
        }
        Err(error) => checks.add("store", Finding::error(error.to_string(), "see what it says")),
    }
    checks.add_all("backup", parts::backups(config, SystemClock.now_ms()));
    checks.add_all("clock", machine::clock(config, &SystemClock).await);
    checks.add_all("skills", parts::skills(config));
    checks.add_all("model", parts::models(&config.model).await);
    checks.add_all("limits", parts::limits(config));
    parts::office(config, checks).await;
    checks.add_all("otlp", parts::traces(config).await);
    match service::connect(config) {
        Ok(channels) => parts::channels(channels, config, checks).await,
        Err(error) => {
            checks.add("channels", Finding::error(error.to_string(), "correct what it names"));
        }
    }
    checks.add_all("serve", machine::serve(config).await);
}

async fn look_into(store: &Store, checks: &mut Checks) {
    match parts::store(store).await {
        Ok(findings) => checks.add_all("store", findings),
        Err(error) => {
            let mend = "look at the disk and the database; `adjutant db check` tells more";
            checks.add("store", Finding::error(error.to_string(), mend));
        }
    }
}

fn json(checks: &[Check]) -> Result<String, CliError> {
    #[derive(Serialize)]
    struct Report<'a> {
        ok: bool,
        checks: &'a [Check],
    }
    let ok = checks.iter().all(|check| check.finding.status != CheckStatus::Error);
    let text = serde_json::to_string_pretty(&Report { ok, checks });
    let text = text.map_err(|error| CliError::failed("the findings can't be written as JSON", error))?;
    Ok(text + "\n")
}

/// The sign of a status.
pub(super) fn sign(status: CheckStatus) -> char {
    match status {
        CheckStatus::Ok => '✓',
        CheckStatus::Warning => '!',
        CheckStatus::Error => '✗',
    }
}

fn text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Check { name, finding } in checks {
        let sign = sign(finding.status);
        let _ = writeln!(text, "{sign} {name:width$}  {}", trace::one_line(&finding.reason));
        if !finding.fix.is_empty() {
            let _ = writeln!(text, "  {:width$}  → {}", "", trace::one_line(&finding.fix));
        }
    }
    let count = |status| checks.iter().filter(|check| check.finding.status == status).count();
    let (faults, warnings) = (count(CheckStatus::Error), count(CheckStatus::Warning));
    let _ = match (faults, warnings) {
        (0, 0) => writeln!(text, "\nAll is well."),
        (0, _) => writeln!(text, "\nIt works; {warnings} to look at."),
        _ => writeln!(text, "\n{faults} to mend, {warnings} to look at."),
    };
    text
}

#[cfg(test)]
mod tests;
