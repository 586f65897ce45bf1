//! `adjutant workflow runs | show`: the runs and their reports.

use std::fmt::Write as _;

use adjutant_store::runs::{self, RunRow};
use adjutant_store::{Store, StoreError, retention, turns};
use adjutant_types::clock::{rfc3339, utc};
use adjutant_types::{RunStatus, TurnStatus};
use adjutant_workflows::trace::text::{duration, one_line};
use adjutant_workflows::view::report::Report;
use chrono_tz::Tz;
use serde_json::{Value, json};

use crate::cli::{CliError, Result, columns};

/// How many runs are named when a beginning fits several.
const NAMED: i64 = 5;

/// The newest runs, as a table or as JSON.
pub(super) async fn list(store: &Store, zone: Tz, limit: u16, is_json: bool) -> Result<String, StoreError> {
    let rows = runs::newest(store, limit.into()).await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        all.push((row, status(store, row).await?, took(store, row)));
    }
    if is_json {
        let summary = |(row, status, took): &(&RunRow, RunStatus, i64)| {
            json!({"id": row.id, "workflow": row.workflow, "status": status,
                   "started_at": rfc3339(row.started_at), "ended_at": row.ended_at.map(rfc3339), "duration_ms": took})
        };
        return Ok(format!("{}\n", json!({"runs": all.iter().map(summary).collect::<Vec<Value>>()})));
    }
    if rows.is_empty() {
        return Ok("no workflow has run yet; `adjutant workflow list` shows those there are, \
                   `adjutant workflow run NAME` runs one\n"
            .to_owned());
    }
    let name = |row: &RunRow| one_line(&row.workflow);
    let width = all.iter().map(|(row, ..)| name(row).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (row, status, took) in &all {
        let at = utc(row.started_at).with_timezone(&zone).format("%Y-%m-%d %H:%M");
        let _ = writeln!(
            out,
            "{}  {:width$}  {:9}  {at}  {}",
            row.id,
            name(row),
            status.as_str(),
            duration(*took)
        );
    }
    if rows.len() == usize::from(limit) {
        let _ = writeln!(out, "These are the newest {limit}; --limit shows more.");
    }
    Ok(out)
}

/// A run's report, as text or as JSON.
pub(super) async fn show(store: &Store, beginning: &str, is_json: bool) -> Result<String> {
    let report = report(store, &find(store, beginning).await?).await?;
    if is_json { json(&report) } else { Ok(report.text(columns())) }
}

/// The contract's JSON, a line.
pub(in crate::cli) fn json(report: &Report) -> Result<String> {
    let json = serde_json::to_string(report);
    Ok(json.map_err(|error| CliError::failed("the report can't be written as JSON", error))? + "\n")
}

/// The run whose id begins like this, or the newest one for `last`.
pub(super) async fn find(store: &Store, beginning: &str) -> Result<RunRow> {
    let mut found = match beginning {
        "last" => runs::newest(store, 1).await?,
        _ => runs::beginning_with(store, beginning, NAMED + 1).await?,
    };
    if found.len() > 1 {
        let more = if found.len() > NAMED as usize { "\n  and more" } else { "" };
        let lines = found.iter().take(NAMED as usize).map(|row| format!("\n  {}  {}", row.id, row.workflow));
        let lines: String = lines.collect();
        let beginning = one_line(beginning);
        return Err(CliError::plain(format!(
            "several runs begin with '{beginning}'; write more of the id:{lines}{more}"
        )));
    }
    found.pop().ok_or_else(|| {
        CliError::plain(match beginning {
            "last" => "no workflow has run yet; `adjutant workflow list` shows those there are".to_owned(),
            _ => format!("there is no run {}; `adjutant workflow runs` shows all", one_line(beginning)),
        })
    })
}

/// The report of a run, or its progress so far.
pub(in crate::cli) async fn report(store: &Store, row: &RunRow) -> Result<Report> {
    if let Some(report) = &row.report {
        let unreadable =
            |error| CliError::failed(format!("the report of run {} can't be read", row.id), error);
        return serde_json::from_str(report).map_err(unreadable);
    }
    if let (_, Some(at)) = retention::emptied(store, &row.turn_id).await? {
        return Err(CliError::plain(format!(
            "run {} of {} ended as {}; what it did was emptied at {}, as [retention] says",
            row.id,
            one_line(&row.workflow),
            row.status,
            rfc3339(at)
        )));
    }
    let waits = status(store, row).await? == RunStatus::Waiting;
    Ok(adjutant_workflows::status(store, row, waits).await?)
}

/// A run's status: one that hasn't ended waits when its turn does.
pub(super) async fn status(store: &Store, row: &RunRow) -> Result<RunStatus, StoreError> {
    let is_open = row.ended_at.is_none();
    let turn = if is_open { turns::by_id(store, &row.turn_id).await? } else { None };
    let waits = turn.is_some_and(|turn| turn.status == TurnStatus::Waiting);
    Ok(if waits { RunStatus::Waiting } else { row.status })
}

/// Milliseconds that it took, or has taken so far.
fn took(store: &Store, row: &RunRow) -> i64 {
    (row.ended_at.unwrap_or_else(|| store.now()) - row.started_at).max(0)
}

#[cfg(test)]
mod tests {
    use adjutant_test_support::journal::TestStore;

    use super::*;

    /// A run that begins now, in a turn of its own.
    async fn begin(app: &TestStore, id: &str, workflow: &str) {
        app.turn(&format!("turn-{id}"), "/run").await;
        let row = RunRow {
            id: id.into(),
            turn_id: format!("turn-{id}").into(),
            workflow: workflow.into(),
            file: "w.yaml".into(),
            text: String::new(),
            inputs: "{}".into(),
            rerun_of: None,
            seed: None,
            status: RunStatus::Running,
            report: None,
            outputs: None,
            started_at: app.store.now(),
            ended_at: None,
            plan_version: None,
        };
        app.write(|batch| runs::insert(batch, &row)).await;
    }

    async fn end(app: &TestStore, id: &str, status: &str) -> String {
        let row = runs::by_id(&app.store, &id.into()).await.unwrap().unwrap();
        let mut report = report(&app.store, &row).await.unwrap();
        report.run.status = status.parse().unwrap();
        report.run.output = "Acme is well.".into();
        let text = serde_json::to_string(&report).unwrap();
        app.write(|batch| {
            runs::end(batch, &id.into(), status.parse().unwrap(), &text, "{}", app.store.now())
        })
        .await;
        text
    }

    async fn change(app: &TestStore, sql: &'static str) {
        app.write(|batch| {
            batch.run(sql, []);
        })
        .await;
    }

    async fn listed(app: &TestStore, limit: u16) -> String {
        list(&app.store, chrono_tz::Europe::Berlin, limit, false).await.unwrap()
    }

    async fn refused(app: &TestStore, run: &str) -> String {
        show(&app.store, run, false).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn runs_are_listed_with_how_they_stand() {
        let app = TestStore::open().await;
        insta::assert_snapshot!(listed(&app, 20).await, @"no workflow has run yet; `adjutant workflow list` shows those there are, `adjutant workflow run NAME` runs one");
        insta::assert_snapshot!(refused(&app, "last").await, @"no workflow has run yet; `adjutant workflow list` shows those there are");
        begin(&app, "Aab1", "visit-report").await;
        app.later(12_300);
        end(&app, "Aab1", "complete").await;
        begin(&app, "Aac2", "lead").await;
        app.later(1_000);
        begin(&app, "aab3", "lead").await;
        change(&app, "UPDATE turns SET status = 'waiting' WHERE id = 'turn-Aac2'").await;
        insta::assert_snapshot!(listed(&app, 20).await, @r"
        aab3  lead          running    2026-01-01 10:00  0 ms
        Aac2  lead          waiting    2026-01-01 10:00  1.00 s
        Aab1  visit-report  complete   2026-01-01 10:00  12.3 s
        ");
        insta::assert_snapshot!(listed(&app, 1).await, @r"
        aab3  lead  running    2026-01-01 10:00  0 ms
        These are the newest 1; --limit shows more.
        ");
        let json = list(&app.store, chrono_tz::UTC, 20, true).await.unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["runs"][1]["status"], "waiting");
        assert_eq!(
            json["runs"][2],
            json!({"id": "Aab1", "workflow": "visit-report", "status": "complete", "duration_ms": 12_300,
                   "started_at": "2026-01-01T09:00:00Z", "ended_at": "2026-01-01T09:00:12Z"})
        );
    }

    #[tokio::test]
    async fn a_run_is_found_by_the_beginning_of_its_id_and_its_report_is_as_it_was_written() {
        let app = TestStore::open().await;
        for id in ["Aab1", "Aac2"] {
            begin(&app, id, "visit-report").await;
        }
        let written = end(&app, "Aab1", "complete").await;
        assert_eq!(show(&app.store, "Aab", true).await.unwrap(), format!("{written}\n"));
        insta::assert_snapshot!(show(&app.store, "Aab1", false).await.unwrap(), @r"
        visit-report is complete: 0 of 0 steps, 0 ms

        Acme is well.
        ");
        insta::assert_snapshot!(show(&app.store, "last", false).await.unwrap(), @"visit-report is running: 0 of 0 steps, 0 ms so far");
        insta::assert_snapshot!(refused(&app, "Aa").await, @r"
        several runs begin with 'Aa'; write more of the id:
          Aac2  visit-report
          Aab1  visit-report
        ");
        insta::assert_snapshot!(refused(&app, "%").await, @"there is no run %; `adjutant workflow runs` shows all");
    }

    #[tokio::test]
    async fn an_emptied_run_says_so() {
        let app = TestStore::open().await;
        begin(&app, "Aab1", "visit-report").await;
        end(&app, "Aab1", "failed").await;
        change(&app, "UPDATE turns SET traces_emptied_at = 1767258000000").await;
        change(&app, "UPDATE runs SET report = NULL, text = ''").await;
        insta::assert_snapshot!(refused(&app, "last").await, @"run Aab1 of visit-report ended as failed; what it did was emptied at 2026-01-01T09:00:00Z, as [retention] says");
    }
}
