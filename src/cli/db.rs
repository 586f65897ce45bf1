//! `adjutant db`: the store.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use super::{CliError, DbArgs, DbCommand};
use crate::clock::{SystemClock, rfc3339};
use crate::config::Config;
use crate::store::check::{self, Finding};
use crate::store::{Store, StoreError, leases};
use crate::trace::one_line;

/// More rows than this are counted only.
const NAMED: usize = 10;

/// Runs `adjutant db`.
pub(super) async fn run(config: Config, args: DbArgs) -> Result<ExitCode, CliError> {
    let failed = |error: StoreError| CliError::plain(error.to_string());
    let store = Store::open(config.store.url.expose(), Arc::new(SystemClock)).await.map_err(failed)?;
    let done = command(&store, &args.command).await;
    store.close().await;
    let (text, well) = done.map_err(failed)?;
    super::out(&text)?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a command has to say, and whether all is well.
///
/// # Errors
/// When the store fails.
pub(crate) async fn command(store: &Store, command: &DbCommand) -> Result<(String, bool), StoreError> {
    Ok(match command {
        // Opening a store brings it up to date.
        DbCommand::Migrate => (migrated(store).await?, true),
        DbCommand::Status => (status(store).await?, true),
        DbCommand::Backup { path } => (backup(store, path).await?, true),
        DbCommand::Check => {
            let findings = check::findings(store).await?;
            (faults(&store.backend().shown(), &findings), findings.is_empty())
        }
    })
}

async fn migrated(store: &Store) -> Result<String, StoreError> {
    let place = store.backend().shown();
    Ok(format!("the store at {place} is up to date: {}\n", migrations(store).await?))
}

async fn migrations(store: &Store) -> Result<String, StoreError> {
    let all = check::migrations(store).await?;
    let last = all.last().map(|(version, name)| format!(", the last is {version} ({name})"));
    let noun = if all.len() == 1 { "migration" } else { "migrations" };
    Ok(format!("{} {noun}{}", all.len(), last.unwrap_or_default()))
}

async fn status(store: &Store) -> Result<String, StoreError> {
    let mut rows = vec![
        ("store".to_owned(), store.backend().shown()),
        ("size".to_owned(), size(check::size(store).await?)),
        ("form".to_owned(), migrations(store).await?),
    ];
    let living = leases::living(store).await?;
    let processes: Vec<String> =
        living.iter().map(|(_, pid, started)| format!("process {pid} since {}", rfc3339(*started))).collect();
    let processes = if processes.is_empty() { "nobody".to_owned() } else { processes.join(", ") };
    rows.push(("in use by".to_owned(), processes));
    let names = check::counts(store).await?;
    let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in rows {
        let _ = writeln!(text, "{name:width$}  {value}");
    }
    text.push('\n');
    let digits = names.iter().map(|(_, count)| count.to_string().len()).max().unwrap_or(0);
    for (name, count) in names {
        let _ = writeln!(text, "{name:width$}  {count:>digits$}");
    }
    Ok(text)
}

async fn backup(store: &Store, path: &Path) -> Result<String, StoreError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    store.backup(&path).await?;
    let failed = |error: std::io::Error| StoreError::Backup {
        to: path.display().to_string(),
        reason: error.to_string(),
    };
    let bytes = tokio::fs::metadata(&path).await.map_err(failed)?.len();
    let bytes = size(i64::try_from(bytes).unwrap_or(i64::MAX));
    Ok(format!("copied {} to {} ({bytes})\n", store.backend().shown(), path.display()))
}

fn faults(place: &str, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return format!("{place}: no faults\n");
    }
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{} ({})", finding.rule, finding.rows.len());
        for row in finding.rows.iter().take(NAMED) {
            let _ = writeln!(text, "  {}", one_line(row));
        }
        if finding.rows.len() > NAMED {
            let _ = writeln!(text, "  and {} more", finding.rows.len() - NAMED);
        }
    }
    text
}

/// Bytes for people.
fn size(bytes: i64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut number = bytes as f64;
    let mut units = ["KB", "MB", "GB", "TB"].into_iter();
    let mut unit = "bytes";
    while number >= 1000.0 {
        let Some(next) = units.next() else { break };
        (number, unit) = (number / 1000.0, next);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{number:.1} {unit}") }
}
