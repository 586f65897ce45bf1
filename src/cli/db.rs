//! `adjutant db`: maintenance of the store.

mod person;

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::Config;
use adjutant_engine::gateway::retention::remove_unknown_files;
use adjutant_skills::accounts::{Logins, SecretStore};
use adjutant_store::check::{self, Finding};
use adjutant_store::instances::{self, LivingInstance};
use adjutant_store::{Store, StoreError, leases, rate_limits};
use adjutant_types::clock::rfc3339;
use adjutant_workflows::trace::one_line;

use super::{CliError, DbCommand, Result, conclude, on_store};

/// How many rows of a finding to list.
const LISTED: usize = 10;

pub(super) async fn run(config: Config, command: DbCommand) -> Result<ExitCode> {
    let done = on_store(&config, async |store| {
        let secrets = Arc::new(SecretStore::new(&config));
        secrets.attach(store);
        let done = run_on(store, &Logins::new(&config, secrets), &command).await?;
        if matches!((&command, &done), (DbCommand::Erase { .. }, (_, true))) {
            // Nobody else is at work, so nothing is being fetched.
            remove_unknown_files(store, &config.files_dir(), Duration::ZERO).await?;
        }
        Ok(done)
    });
    let (text, is_ok) = done.await?;
    conclude(&text, is_ok)
}

/// Runs a command; returns its output and whether it found no problems.
async fn run_on(store: &Store, logins: &Logins, command: &DbCommand) -> Result<(String, bool)> {
    Ok(match command {
        // Opening a store migrates it.
        DbCommand::Migrate => (migrated(store).await?, true),
        DbCommand::Status => (status(store).await?, true),
        DbCommand::RollbackPlan => (rollback_plan(store), true),
        DbCommand::Backup { path } => (backup(store, path).await?, true),
        DbCommand::Vacuum => (vacuum(store).await?, true),
        DbCommand::Check => {
            let findings = check::findings(store).await?;
            (problems(&store.backend().shown(), &findings), findings.is_empty())
        }
        DbCommand::Export { person } => (person::export(store, person).await?, true),
        DbCommand::Erase { person, yes } => person::erase(store, logins, person, *yes).await?,
    })
}

async fn migrated(store: &Store) -> Result<String, StoreError> {
    let address = store.backend().shown();
    Ok(format!("the store at {address} is up to date; migrations: {}\n", migrations(store).await?))
}

async fn migrations(store: &Store) -> Result<String, StoreError> {
    let all = check::migrations(store).await?;
    let last = all.last().map(|(version, name)| format!(", latest {version} ({name})"));
    Ok(format!("{} applied{}", all.len(), last.unwrap_or_default()))
}

/// How to go back to an older version, down to the first migration after which that reads something else.
fn rollback_plan(store: &Store) -> String {
    let address = store.backend().shown();
    let mut text = format!("The newest migrations of {address}:\n\n");
    let known = store.backend().known_migrations();
    let oldest = known.iter().rposition(|(_, _, only_adds)| !only_adds).unwrap_or(0);
    for (version, name, only_adds) in known[oldest..].iter().rev() {
        let what = if *only_adds {
            "only adds; what an older version reads stays as it was"
        } else {
            "changes rows"
        };
        let _ = writeln!(text, "{version:>4}  {name:16}  {what}");
    }
    // A copy keeps the owner of the file that it replaces; a log that is left beside it would be written into it.
    let restore = match store.file() {
        Some(_) => format!(
            "Copy the backup that you made before the update over {address}, and delete {address}-wal and {address}-shm."
        ),
        None => format!("Restore the backup that you made before the update into {address}."),
    };
    text + &format!(
        "\nA version opens the store only if it has all of these. To go back to one that lacks some:\n\n  \
         1. Stop the service, and keep what is there: adjutant db backup FILE\n  \
         2. Install the older version.\n  \
         3. {restore}\n\n\
         What was written since that backup is in FILE alone.\n"
    )
}

async fn status(store: &Store) -> Result<String, StoreError> {
    let mut rows = vec![
        ("store".to_owned(), store.backend().shown()),
        ("size".to_owned(), size(check::size(store).await?)),
        ("migrations".to_owned(), migrations(store).await?),
    ];
    let living = instances::living(store).await?;
    if living.is_empty() {
        rows.push(("in use by".to_owned(), "no process".to_owned()));
    }
    for (index, instance) in living.iter().enumerate() {
        let name = if index == 0 { "in use by" } else { "" };
        rows.push((name.to_owned(), described(instance, &living[0])));
    }
    let pauses = rate_limits::pauses(store).await?;
    rows.extend(pauses.into_iter().map(|(model, left)| {
        let seconds = left.as_secs().max(1);
        ("paused".to_owned(), format!("{model} for {seconds} s more, because its provider asked for it"))
    }));
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

/// A process: where, since when, what it does, and how its settings differ from the first one's.
fn described(instance: &LivingInstance, first: &LivingInstance) -> String {
    let mut text = format!("process {}", instance.pid);
    if !instance.host.is_empty() {
        let _ = write!(text, " on {}", instance.host);
    }
    let _ = write!(text, " since {}", rfc3339(instance.started_at));
    if instance.version != env!("CARGO_PKG_VERSION") && !instance.version.is_empty() {
        let _ = write!(text, ", version {}", instance.version);
    }
    if !instance.channels.is_empty() {
        let _ = write!(text, "; receives {}", instance.channels.join(", "));
    }
    if instance.turns > 0 {
        let _ = write!(text, "; running turns: {}", instance.turns);
    }
    let differing = first.differing(instance);
    if !differing.is_empty() {
        let _ = write!(text, "; other settings than the first: {}", differing.join(", "));
    }
    text
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

/// Refuses what nobody may do while another process uses the store.
async fn alone(store: &Store) -> Result<()> {
    let what = "another adjutant is using the store; stop it first (systemctl stop adjutant)";
    if leases::living(store).await?.is_empty() { Ok(()) } else { Err(CliError::plain(what)) }
}

async fn vacuum(store: &Store) -> Result<String> {
    alone(store).await?;
    let before = size(check::size(store).await?);
    store.scrub().await?;
    Ok(format!("{}: {before} before, {} now\n", store.backend().shown(), size(check::size(store).await?)))
}

fn problems(address: &str, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return format!("{address}: no problems\n");
    }
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{} ({})", finding.rule, finding.rows.len());
        text.extend(finding.rows.iter().take(LISTED).map(|row| format!("  {}\n", one_line(row))));
        if finding.rows.len() > LISTED {
            let _ = writeln!(text, "  and {} more", finding.rows.len() - LISTED);
        }
    }
    text
}

/// A size in bytes, as people read it.
fn size(bytes: i64) -> String {
    let mut number = bytes as f64;
    let mut units = ["KB", "MB", "GB", "TB"].into_iter();
    let mut unit = "bytes";
    while number >= 1000.0 {
        let Some(next) = units.next() else { break };
        (number, unit) = (number / 1000.0, next);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{number:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use adjutant_store::leases::Instance;
    use adjutant_test_support::journal::{TestStore, busy_turn};
    use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};

    use super::*;

    async fn output(app: &TestStore, what: DbCommand) -> (String, bool) {
        let (text, well) = run_on(&app.store, &Logins::default(), &what).await.unwrap();
        (text.replace(app.folder.path().to_str().unwrap(), "FOLDER"), well)
    }

    /// Does to the store's file what the store itself would refuse.
    async fn break_by(app: &TestStore, sql: &str) {
        let url = format!("sqlite://{}", app.store.file().unwrap().display());
        let mut connection = AnyConnection::connect(&url).await.unwrap();
        connection.execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").await.unwrap();
        connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
        connection.close().await.unwrap();
    }

    #[tokio::test]
    async fn check_finds_each_broken_rule_and_names_its_rows() {
        let broken = [
            (
                "UPDATE tool_calls SET result = NULL WHERE execution_id = 'root' AND idx < 2",
                "a tool call has no result, but its execution continued (2)\n  root:c0\n  root:c1\n",
            ),
            (
                "DELETE FROM calls WHERE execution_id = 'find' AND n = 0",
                "a tool call has no model call (1)\n  find:c0\n",
            ),
            (
                "UPDATE calls SET execution_id = 'gone' WHERE execution_id = 'find' AND n = 1",
                "a model call has no execution (1)\n  gone\n",
            ),
            (
                "UPDATE executions SET ended_at = NULL WHERE id = 'hook'",
                "an execution is open, but its turn has ended (1)\n  hook\n",
            ),
            (
                "UPDATE turns SET status = 'running', ended_at = NULL; \
                 UPDATE executions SET status = 'running', ended_at = NULL WHERE id = 'root'",
                "an execution is running, but no process has its conversation's lease (1)\n  root\n",
            ),
            (
                "UPDATE executions SET parent_id = 'gone' WHERE id = 'find-0'",
                "an execution has no parent (1)\n  find-0\n",
            ),
            (
                "UPDATE turns SET status = 'waiting', ended_at = NULL",
                "a turn is waiting without an open question (1)\n  turn-1\n",
            ),
            (
                "INSERT INTO inbox (event, conversation_id, person_id, kind, text, state, turn_id, instance, \
                 received_at) SELECT 'm' || char(27), conversation_id, person_id, 'said', '', 'taken', id, 'I', 0 \
                 FROM turns",
                "a message was taken by a turn that has ended (1)\n  m\u{fffd}\n",
            ),
            ("DELETE FROM outbox", "a turn ended without a reply (1)\n  turn-1\n"),
            (
                "UPDATE turns SET status = 'odd'",
                "the database's integrity check found damage (1)\n  CHECK constraint failed in turns\n",
            ),
        ];
        for (sql, finding) in broken {
            let app = TestStore::open().await;
            busy_turn(&app).await;
            assert_eq!(
                output(&app, DbCommand::Check).await,
                ("FOLDER/adjutant.db: no problems\n".to_owned(), true)
            );
            break_by(&app, sql).await;
            assert_eq!(output(&app, DbCommand::Check).await, (finding.to_owned(), false), "{sql}");
        }
    }

    #[tokio::test]
    async fn check_counts_what_it_does_not_name() {
        let rows = (0..12).map(|row| format!("row {row}")).collect();
        insta::assert_snapshot!(problems("x", &[Finding { rule: "a rule is broken", rows }]), @r"
        a rule is broken (12)
          row 0
          row 1
          row 2
          row 3
          row 4
          row 5
          row 6
          row 7
          row 8
          row 9
          and 2 more
        ");
    }

    #[tokio::test]
    async fn status_shows_where_what_and_who() {
        let app = TestStore::open().await;
        busy_turn(&app).await;
        let first = Instance::register(&app.store).await.unwrap();
        let pid = std::process::id().to_string();
        let (text, _) = output(&app, DbCommand::Status).await;
        let bytes = size(check::size(&app.store).await.unwrap());
        assert!(bytes.ends_with("KB"), "{bytes}");
        insta::assert_snapshot!(text.replace(&bytes, "SIZE").replace(&pid, "PID"), @"
        store                FOLDER/adjutant.db
        size                 SIZE
        migrations           53 applied, latest 59 (ended)
        in use by            process PID since 2026-01-01T09:00:01Z

        people               1
        conversations        1
        messages received    0
        messages waiting     0
        messages dead        0
        turns                1
        turns open           0
        executions           8
        questions waiting    0
        replies undelivered  1
        replies dead         0
        tasks                0
        memories             0
        ");
        // As a crash leaves it: the row stays, the lock goes.
        drop(first);
        let (text, _) = output(&app, DbCommand::Status).await;
        assert!(text.contains("in use by            no process\n"), "{text}");
    }

    #[tokio::test]
    async fn a_backup_is_a_store_and_overwrites_nothing() {
        let app = TestStore::open().await;
        busy_turn(&app).await;
        let path = app.folder.path().join("copy's.db");
        let (text, _) = output(&app, DbCommand::Backup { path: path.clone() }).await;
        let bytes = size(i64::try_from(std::fs::metadata(&path).unwrap().len()).unwrap());
        insta::assert_snapshot!(text.replace(&bytes, "SIZE"), @r"copied FOLDER/adjutant.db to FOLDER/copy's.db (SIZE)");
        let url = format!("sqlite://{}", path.display());
        let copy = Store::open(&url, app.clock.clone()).await.unwrap();
        assert_eq!(check::counts(&copy).await.unwrap(), check::counts(&app.store).await.unwrap());
        for path in [path, app.folder.path().join("none/copy.db")] {
            let failed = run_on(&app.store, &Logins::default(), &DbCommand::Backup { path }).await;
            let failed = failed.unwrap_err().to_string();
            assert!(failed.starts_with("the store can't be copied to /"), "{failed}");
        }
    }

    #[tokio::test]
    async fn migrate_says_what_was_done_and_a_newer_store_is_refused() {
        let app = TestStore::open().await;
        insta::assert_snapshot!(output(&app, DbCommand::Migrate).await.0, @"the store at FOLDER/adjutant.db is up to date; migrations: 53 applied, latest 59 (ended)");
        break_by(
            &app,
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (9999, 'future', TRUE, x'00', 0)",
        )
        .await;
        let url = format!("sqlite://{}", app.store.file().unwrap().display());
        let refused = Store::open(&url, app.clock.clone()).await.err().unwrap().to_string();
        insta::assert_snapshot!(refused.replace(app.folder.path().to_str().unwrap(), "FOLDER"), @r"the store at FOLDER/adjutant.db was last used by a newer adjutant (migration 9999); install that version or restore a backup made before it");
    }

    #[tokio::test]
    async fn the_way_back_is_told_with_what_it_costs() {
        let app = TestStore::open().await;
        insta::assert_snapshot!(output(&app, DbCommand::RollbackPlan).await.0, @"
        The newest migrations of FOLDER/adjutant.db:

          59  ended             only adds; what an older version reads stays as it was
          58  tells             only adds; what an older version reads stays as it was
          57  part receipts     only adds; what an older version reads stays as it was
          56  unread            only adds; what an older version reads stays as it was
          55  disliked          only adds; what an older version reads stays as it was
          54  opened by         only adds; what an older version reads stays as it was
          53  passkeys          only adds; what an older version reads stays as it was
          52  talk              changes rows

        A version opens the store only if it has all of these. To go back to one that lacks some:

          1. Stop the service, and keep what is there: adjutant db backup FILE
          2. Install the older version.
          3. Copy the backup that you made before the update over FOLDER/adjutant.db, and delete FOLDER/adjutant.db-wal and FOLDER/adjutant.db-shm.

        What was written since that backup is in FILE alone.
        ");
    }

    #[test]
    fn sizes_are_for_people() {
        assert_eq!([0, 999, 1000, 2_345_678].map(size), ["0 bytes", "999 bytes", "1.0 KB", "2.3 MB"]);
    }
}
