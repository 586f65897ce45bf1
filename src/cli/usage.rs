//! `adjutant usage`: tokens, cost and skill calls.

mod questions;
mod roles;

use std::fmt::Write;
use std::io;
use std::process::ExitCode;

use adjutant_config::Config;
use adjutant_console::render;
use adjutant_store::usage::questions::{QuestionUse, RuleUse};
use adjutant_store::usage::{self, ModelUse, RoleUse, SkillUse};
use adjutant_store::{Store, StoreError};
use adjutant_types::clock::{local_to_utc, rfc3339};
use adjutant_workflows::trace::{cost, count, duration, one_line};
use chrono::{Datelike, Days, NaiveDate, NaiveTime, TimeZone};
use chrono_tz::Tz;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::{Result, UsageArgs, UsageBy, on_store, say};

pub(super) async fn run(config: Config, args: UsageArgs) -> Result<ExitCode> {
    let (zone, width) = (config.assistant.timezone, render::columns(io::stdout()));
    say(&on_store(&config, async |store| Ok(command(store, zone, &args, width).await?)).await?)
}

/// The usage as JSON, or as tables for a terminal of so many columns, if there is one.
async fn command(store: &Store, zone: Tz, args: &UsageArgs, width: usize) -> Result<String, StoreError> {
    let first =
        first_day(args, zone.timestamp_millis_opt(store.now()).earliest().map(|now| now.date_naive()));
    let (from, to) = (local_to_utc(first.and_time(NaiveTime::MIN), zone).timestamp_millis(), store.now() + 1);
    let used = match args.by {
        _ if args.questions => {
            let (total, rows) = usage::questions::asked(store, from, to).await?;
            Used::Questions(total, rows, usage::questions::by_rule(store, from, to).await?)
        }
        UsageBy::Model => Used::Models("model", usage::by_model(store, from, to).await?),
        UsageBy::Person => Used::Models("person", usage::by_person(store, from, to).await?),
        UsageBy::Skill => Used::Skills(usage::by_skill(store, from, to).await?),
        UsageBy::Role => Used::Roles(usage::by_role(store, from, to).await?),
    };
    if args.json {
        let mut all = used.json();
        all["from"] = rfc3339(from).into();
        all["to"] = rfc3339(to).into();
        all["timezone"] = zone.name().into();
        return Ok(format!("{all}\n"));
    }
    Ok(render::plain(&used.text(&format!("since {first}, 00:00 ({zone})"), width), width))
}

/// The first day of the period: today, Monday, or the first of the month.
fn first_day(args: &UsageArgs, today: Option<NaiveDate>) -> NaiveDate {
    let today = today.unwrap_or_default();
    if args.month {
        return today.with_day(1).unwrap_or(today);
    }
    let back = if args.week { today.weekday().num_days_from_monday() } else { 0 };
    today.checked_sub_days(Days::new(back.into())).unwrap_or(today)
}

/// The rows to show: of models, with what they are grouped by, of skills, of roles, or of questions with their total.
enum Used {
    Models(&'static str, Vec<ModelUse>),
    Skills(Vec<SkillUse>),
    Roles(Vec<RoleUse>),
    Questions(QuestionUse, Vec<QuestionUse>, Vec<RuleUse>),
}

fn all_models(rows: &[ModelUse]) -> ModelUse {
    let sum = |of: fn(&ModelUse) -> i64| rows.iter().map(of).sum();
    ModelUse {
        id: String::new(),
        name: "total".into(),
        calls: sum(|row| row.calls),
        failed: sum(|row| row.failed),
        prompt: sum(|row| row.prompt),
        cached: sum(|row| row.cached),
        completion: sum(|row| row.completion),
        cost_usd: rows.iter().map(|row| row.cost_usd).sum(),
        unpriced: sum(|row| row.unpriced),
        audio_ms: sum(|row| row.audio_ms),
    }
}

fn all_skills(rows: &[SkillUse]) -> SkillUse {
    let sum = |of: fn(&SkillUse) -> i64| rows.iter().map(of).sum();
    SkillUse {
        name: "total".into(),
        calls: sum(|row| row.calls),
        failed: sum(|row| row.failed),
        duration_ms: sum(|row| row.duration_ms),
    }
}

impl Used {
    fn json(&self) -> Value {
        match self {
            Self::Models(by, rows) => {
                let row = |row: &ModelUse| match *by {
                    "person" => model_json(&[("id", &row.id), ("name", &row.name)], row),
                    _ => model_json(&[("model", &row.name)], row),
                };
                let total = model_json(&[], &all_models(rows));
                json!({"by": by, "rows": rows.iter().map(row).collect::<Vec<_>>(), "total": total})
            }
            Self::Skills(rows) => {
                let row = |row: &SkillUse| json!({"skill": row.name, "calls": row.calls, "failed": row.failed, "duration_ms": row.duration_ms});
                let all = all_skills(rows);
                let total = json!({"calls": all.calls, "failed": all.failed, "duration_ms": all.duration_ms});
                json!({"by": "skill", "rows": rows.iter().map(row).collect::<Vec<_>>(), "total": total})
            }
            Self::Questions(total, rows, rules) => questions::json(total, rows, rules),
            Self::Roles(rows) => {
                json!({"by": "role", "rows": rows.iter().map(roles::json).collect::<Vec<_>>()})
            }
        }
    }

    fn text(&self, when: &str, width: usize) -> String {
        match self {
            Self::Questions(total, rows, rules) => questions::text(total, rows, rules, when, width),
            Self::Models(_, rows) if rows.is_empty() => format!("no model calls {when}\n"),
            Self::Skills(rows) if rows.is_empty() => format!("no skill calls {when}\n"),
            Self::Roles(rows) if rows.is_empty() => format!("no agents with a role {when}\n"),
            Self::Roles(rows) => {
                let cells: Vec<_> = rows.iter().map(roles::cells).collect();
                format!("{when}\n\n{}", table(&roles::HEAD, &cells, width))
            }
            Self::Models(by, rows) => format!("{when}\n\n{}", models_table(by, rows, width)),
            Self::Skills(rows) => {
                let cells = |row: &SkillUse| {
                    let time = duration(row.duration_ms);
                    [one_line(&row.name), count(number(row.calls)), count(number(row.failed)), time]
                };
                let rows = rows.iter().chain([&all_skills(rows)]).map(cells).collect::<Vec<_>>();
                let table = table(&["skill", "calls", "failed", "time"], &rows, width);
                format!("{when}\n\n{table}\nFor tokens and cost, see `adjutant usage --by model`.\n")
            }
        }
    }
}

fn model_json(names: &[(&str, &str)], row: &ModelUse) -> Value {
    let mut json: Value = names.iter().copied().collect();
    json["calls"] = row.calls.into();
    json["failed"] = row.failed.into();
    json["tokens"] = json!({"prompt": row.prompt, "cached": row.cached, "completion": row.completion});
    json["cost_usd"] = row.cost_usd.into();
    json["audio_seconds"] = (row.audio_ms as f64 / 1000.0).into();
    if row.unpriced > 0 {
        json["calls_of_unknown_cost"] = row.unpriced.into();
    }
    json
}

/// The seconds of sound have a column where there was any.
fn models_table(by: &str, rows: &[ModelUse], width: usize) -> String {
    let all = all_models(rows);
    let sound = (all.audio_ms > 0).then_some("sound (s)");
    let head =
        [by, "calls", "failed", "prompt", "cached", "completion"].into_iter().chain(sound).chain(["cost"]);
    let cells = |row: &ModelUse| {
        let numbers = [row.calls, row.failed, row.prompt, row.cached, row.completion].into_iter();
        let seconds = sound.map(|_| count(number(row.audio_ms).div_ceil(1000)));
        let numbers = numbers.map(|cell| count(number(cell))).chain(seconds);
        [one_line(&row.name)].into_iter().chain(numbers).chain([known_cost(row)]).collect::<Vec<_>>()
    };
    table(&head.collect::<Vec<_>>(), &rows.iter().chain([&all]).map(cells).collect::<Vec<_>>(), width)
}

/// The cost, as far as it is known.
fn known_cost(row: &ModelUse) -> String {
    match row.unpriced {
        0 => cost(row.cost_usd),
        _ if row.cost_usd == 0.0 => "unknown".to_owned(),
        _ => format!("{} + unknown", cost(row.cost_usd)),
    }
}

/// Sums are never negative; a row that somebody edited must not break the report.
fn number(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Aligns names left and numbers right. Wider than `most` columns, it is a list of its rows; 0 is no limit.
pub(super) fn table(head: &[&str], rows: &[impl AsRef<[String]>], most: usize) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row.as_ref()[column].width());
        cells.chain([head[column].width()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    if most > 0 && widths.iter().map(|width| width + 2).sum::<usize>() > most + 2 {
        let names = head.iter().skip(1).map(|name| name.width()).max().unwrap_or(0);
        for row in rows {
            let row: &[String] = row.as_ref();
            let cells = head.iter().zip(row).skip(1).map(|(name, cell)| format!("  {name:names$}  {cell}\n"));
            let _ = write!(text, "{}\n{}", row[0], cells.collect::<String>());
        }
        return text;
    }
    let mut line = |cells: &[&str]| {
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.width());
            let _ = if column == 0 { write!(text, "{cell}{gap}") } else { write!(text, "  {gap}{cell}") };
        }
        text.push('\n');
    };
    line(head);
    for row in rows {
        line(&row.as_ref().iter().map(String::as_str).collect::<Vec<_>>());
    }
    text
}

#[cfg(test)]
mod tests {
    use adjutant_store::Batch;
    use adjutant_store::calls::{self, CallRow};
    use adjutant_test_support::journal::TestStore;
    use adjutant_types::ExecutionKind;

    use super::*;

    const BERLIN: Tz = chrono_tz::Europe::Berlin;
    const DAY_MS: u64 = 86_400_000;

    fn args(words: &[&str]) -> UsageArgs {
        use clap::Parser;
        let words = ["adjutant", "usage"].into_iter().chain(words.iter().copied());
        match crate::cli::Cli::try_parse_from(words).unwrap().command {
            crate::cli::Command::Usage(args) => args,
            other => panic!("{other:?}"),
        }
    }

    async fn output(app: &TestStore, words: &[&str]) -> String {
        at(0, app, words).await
    }

    async fn at(width: usize, app: &TestStore, words: &[&str]) -> String {
        command(&app.store, BERLIN, &args(words), width).await.unwrap()
    }

    async fn call(app: &TestStore, execution: &str, n: i64, model: &str, error: Option<&str>) {
        let mut batch = Batch::new();
        let row = CallRow {
            execution_id: execution.into(),
            n,
            prefix: "p".into(),
            first_messages: None,
            text: String::new(),
            model: model.into(),
            error: error.map(Into::into),
            prompt_tokens: if error.is_some() { 0 } else { 123_456 },
            cached_tokens: if error.is_some() { 0 } else { 1000 },
            completion_tokens: if error.is_some() { 0 } else { 789 },
            cost_usd: if error.is_some() { 0.0 } else { 0.25 },
            started_at: app.store.now(),
            duration_ms: 1,
        };
        calls::insert(&mut batch, &row);
        app.store.write(batch).await.unwrap();
    }

    /// A turn on Thursday, 1 January 2026, and another one on the Friday after.
    async fn fill(app: &TestStore) {
        let turn = app.turn("t1", "hello").await;
        app.orchestrator(&turn).await;
        call(app, "root", 0, "big", None).await;
        call(app, "root", 1, "small\u{1b}", Some("{}")).await;
        for (id, idx, status, ms) in [("s1", 0, "completed", 1500), ("s2", 1, "timeout", 500)] {
            app.execution(&turn, id, Some(("root", idx)), |row| {
                row.skill = Some("tasks.search".into());
                row.status = status.parse().unwrap();
                row.ended_at = row.started_at.map(|at| at + ms);
            })
            .await;
        }
        app.end(&turn, "completed", "yes").await;
        app.later(DAY_MS);
        let turn = app.turn("t2", "again").await;
        app.execution(&turn, "root2", None, |row| row.kind = ExecutionKind::Orchestrator).await;
        call(app, "root2", 0, "small\u{1b}", None).await;
    }

    #[tokio::test]
    async fn an_empty_store_says_so() {
        let app = TestStore::open().await;
        assert_eq!(output(&app, &[]).await, "no model calls since 2026-01-01, 00:00 (Europe/Berlin)\n");
        assert_eq!(
            output(&app, &["--week", "--by", "skill"]).await,
            "no skill calls since 2025-12-29, 00:00 (Europe/Berlin)\n"
        );
    }

    #[tokio::test]
    async fn tables_are_aligned_and_end_with_their_sum() {
        let app = TestStore::open().await;
        fill(&app).await;
        insta::assert_snapshot!(output(&app, &[]).await, @r"
        since 2026-01-02, 00:00 (Europe/Berlin)

        model   calls  failed   prompt  cached  completion     cost
        small�      1       0  123,456   1,000         789  $0.2500
        total       1       0  123,456   1,000         789  $0.2500
        ");
        insta::assert_snapshot!(output(&app, &["--week"]).await, @r"
        since 2025-12-29, 00:00 (Europe/Berlin)

        model   calls  failed   prompt  cached  completion     cost
        big         1       0  123,456   1,000         789  $0.2500
        small�      2       1  123,456   1,000         789  $0.2500
        total       3       1  246,912   2,000       1,578  $0.5000
        ");
        insta::assert_snapshot!(output(&app, &["--month", "--by", "person"]).await, @r"
        since 2026-01-01, 00:00 (Europe/Berlin)

        person  calls  failed   prompt  cached  completion     cost
        Ada         3       1  246,912   2,000       1,578  $0.5000
        total       3       1  246,912   2,000       1,578  $0.5000
        ");
        insta::assert_snapshot!(output(&app, &["--week", "--by", "skill"]).await, @r"
        since 2025-12-29, 00:00 (Europe/Berlin)

        skill         calls  failed    time
        tasks.search      2       1  2.00 s
        total             2       1  2.00 s

        For tokens and cost, see `adjutant usage --by model`.
        ");
    }

    #[tokio::test]
    async fn a_table_too_wide_for_the_terminal_is_a_list_of_its_rows() {
        let app = TestStore::open().await;
        fill(&app).await;
        insta::assert_snapshot!(at(60, &app, &["--week", "--by", "skill"]).await, @r"
        since 2025-12-29, 00:00 (Europe/Berlin)

        skill         calls  failed    time
        tasks.search      2       1  2.00 s
        total             2       1  2.00 s

        For tokens and cost, see `adjutant usage --by model`.
        ");
        insta::assert_snapshot!(at(40, &app, &[]).await, @r"
        since 2026-01-02, 00:00 (Europe/Berlin)

        small�
          calls       1
          failed      0
          prompt      123,456
          cached      1,000
          completion  789
          cost        $0.2500
        total
          calls       1
          failed      0
          prompt      123,456
          cached      1,000
          completion  789
          cost        $0.2500
        ");
        // The table takes 59 columns.
        assert_eq!(at(59, &app, &[]).await, output(&app, &[]).await);
        assert_eq!(at(58, &app, &[]).await, at(40, &app, &[]).await);
    }

    #[tokio::test]
    async fn seconds_of_sound_have_a_column_where_there_are_any() {
        let app = TestStore::open().await;
        fill(&app).await;
        let mut batch = Batch::new();
        usage::insert_background_call(
            &mut batch,
            &usage::BackgroundCall {
                id: "v".into(),
                conversation_id: "c".into(),
                person_id: "p".into(),
                purpose: "voice note".into(),
                model: "whisper-1".into(),
                error: None,
                tokens: [0; 3],
                cost_usd: 0.0075,
                started_at: app.store.now(),
                duration_ms: 900,
                audio_ms: 74_400,
            },
        );
        app.store.write(batch).await.unwrap();
        insta::assert_snapshot!(output(&app, &[]).await, @"
        since 2026-01-02, 00:00 (Europe/Berlin)

        model      calls  failed   prompt  cached  completion  sound (s)     cost
        small�         1       0  123,456   1,000         789          0  $0.2500
        whisper-1      1       0        0       0           0         75  $0.0075
        total          2       0  123,456   1,000         789         75  $0.2575
        ");
        let json: Value = serde_json::from_str(&output(&app, &["--json"]).await).unwrap();
        assert_eq!(
            (&json["rows"][1]["audio_seconds"], &json["total"]["audio_seconds"]),
            (&json!(74.4), &json!(74.4))
        );
    }

    #[tokio::test]
    async fn roles_are_shown_with_how_often_they_succeed() {
        let app = TestStore::open().await;
        let turn = app.turn("t1", "hello").await;
        app.orchestrator(&turn).await;
        let ends = [("completed", None, 500), ("completed", None, 1500), ("timeout", Some("time"), 4000)];
        for (at, (status, bailout, ms)) in (0..).zip(ends) {
            app.execution(&turn, &format!("a{at}"), Some(("root", at)), |row| {
                row.kind = ExecutionKind::Agent;
                row.role = Some("researcher".into());
                row.status = status.parse().unwrap();
                row.bailout = bailout.map(|bailout: &str| bailout.parse().unwrap());
                row.ended_at = row.started_at.map(|start| start + ms);
            })
            .await;
        }
        call(&app, "a0", 0, "big", None).await;
        insta::assert_snapshot!(output(&app, &["--by", "role"]).await, @"
        since 2026-01-01, 00:00 (Europe/Berlin)

        role        agents  success  calls   prompt  completion     cost  mean time  ended by
        researcher       3     66 %      1  123,456         789  $0.2500     2.00 s    time 1
        ");
        insta::assert_snapshot!(output(&app, &["--by", "role", "--json"]).await, @r#"{"by":"role","rows":[{"role":"researcher","agents":3,"completed":2,"calls":1,"tokens":{"prompt":123456,"completion":789},"cost_usd":0.25,"duration_ms":6000,"bailouts":{"time":1}}],"from":"2025-12-31T23:00:00Z","to":"2026-01-01T09:00:00Z","timezone":"Europe/Berlin"}"#);
    }

    #[tokio::test]
    async fn questions_are_counted_by_what_asks() {
        let app = TestStore::open().await;
        assert_eq!(
            output(&app, &["--questions"]).await,
            "no questions since 2026-01-01, 00:00 (Europe/Berlin)\n"
        );
        let turn = app.turn("t1", "hello").await;
        app.orchestrator(&turn).await;
        let questions = [
            ("email.send", "answered", Some("approve"), Some(4000), 60_000),
            ("email.send", "answered", Some("reject"), Some(9000), 60_000),
            ("email.send", "expired", Some("reject"), Some(60_000), 60_000),
            ("tasks.create", "answered", Some("approve"), Some(1000), 60_000),
            ("tasks.create", "expired", None, Some(500), 60_000),
            ("tasks.create", "answered", Some("withdrawn"), Some(700), 60_000),
        ];
        let now = app.store.now();
        for (at, (skill, state, answer, after, expires)) in (0..).zip(questions) {
            let id = format!("s{at}");
            app.execution(&turn, &id, Some(("root", at)), |row| row.skill = Some(skill.into())).await;
            let mut batch = Batch::new();
            batch.run(
                "INSERT INTO questions (id, conversation_id, turn_id, execution_id, person_id, kind, subject, detail, \
                 outbox_id, created_at, expires_at, state, answer, answered_at) \
                 VALUES ($1, 'c', $2, $3, 'p', 'approve', '', '', 'o', $4, $5, $6, $7, $8)",
                [
                    format!("q{at}").into(),
                    (&turn.id).into(),
                    id.into(),
                    now.into(),
                    (now + expires).into(),
                    state.into(),
                    answer.map(str::to_owned).into(),
                    after.map(|after: i64| now + after).into(),
                ],
            );
            app.store.write(batch).await.unwrap();
        }
        insta::assert_snapshot!(output(&app, &["--questions"]).await, @"
        since 2026-01-01, 00:00 (Europe/Berlin)

        asked by      asked  yes  no  expired  withdrawn  median time
        email.send        3    1   1        1          0       9.00 s
        tasks.create      3    1   0        0          2       1.00 s
        total             6    2   1        1          2       4.00 s

        email.send asks most.
        ");
        let json: Value = serde_json::from_str(&output(&app, &["--questions", "--json"]).await).unwrap();
        assert_eq!(
            json["total"],
            json!({"name": "total", "asked": 6, "yes": 2, "no": 1, "expired": 1, "withdrawn": 2, "median_ms": 4000})
        );
        assert_eq!(json["rows"][0]["name"], "email.send");
    }

    #[tokio::test]
    async fn an_unknown_cost_is_no_zero_and_every_row_has_a_name() {
        let app = TestStore::open().await;
        fill(&app).await;
        let mut batch = Batch::new();
        batch.run("UPDATE calls SET cost_usd = 0 WHERE model = 'big'", []);
        batch.run("UPDATE calls SET model = '' WHERE error IS NOT NULL", []);
        batch.run(
            "INSERT INTO calls (execution_id, n, prefix, text, model, prompt_tokens, cached_tokens, completion_tokens, \
             cost_usd, started_at, duration_ms) SELECT execution_id, 7, prefix, text, 'none', 0, 0, 0, 0, started_at, 0 \
             FROM calls WHERE model = 'big'",
            [],
        );
        app.store.write(batch).await.unwrap();
        insta::assert_snapshot!(output(&app, &["--week"]).await, @"
        since 2025-12-29, 00:00 (Europe/Berlin)

        model        calls  failed   prompt  cached  completion               cost
        small�           1       0  123,456   1,000         789            $0.2500
        big              1       0  123,456   1,000         789            unknown
        (no answer)      1       1        0       0           0            $0.0000
        total            3       1  246,912   2,000       1,578  $0.2500 + unknown
        ");
        let json: Value = serde_json::from_str(&output(&app, &["--week", "--json"]).await).unwrap();
        assert_eq!(json["total"]["calls_of_unknown_cost"], 1);
    }

    #[tokio::test]
    async fn json_has_plain_names() {
        let app = TestStore::open().await;
        fill(&app).await;
        insta::assert_snapshot!(output(&app, &["--json"]).await, @r#"{"by":"model","rows":[{"model":"small\u001b","calls":1,"failed":0,"tokens":{"prompt":123456,"cached":1000,"completion":789},"cost_usd":0.25,"audio_seconds":0.0}],"total":{"calls":1,"failed":0,"tokens":{"prompt":123456,"cached":1000,"completion":789},"cost_usd":0.25,"audio_seconds":0.0},"from":"2026-01-01T23:00:00Z","to":"2026-01-02T09:00:00Z","timezone":"Europe/Berlin"}"#);
        let people = output(&app, &["--week", "--by", "person", "--json"]).await;
        let people: Value = serde_json::from_str(&people).unwrap();
        assert_eq!(people["rows"][0]["name"], "Ada");
        assert!(people["rows"][0]["id"].is_string());
        assert_eq!(people["rows"][0]["calls"], 3);
        insta::assert_snapshot!(output(&app, &["--week", "--by", "skill", "--json"]).await, @r#"{"by":"skill","rows":[{"skill":"tasks.search","calls":2,"failed":1,"duration_ms":2000}],"total":{"calls":2,"failed":1,"duration_ms":2000},"from":"2025-12-28T23:00:00Z","to":"2026-01-02T09:00:00Z","timezone":"Europe/Berlin"}"#);
    }

    #[tokio::test]
    async fn a_day_begins_at_midnight_of_the_zone() {
        let app = TestStore::open().await;
        // 23:30 in Berlin.
        app.later(13 * 3_600_000 + 1_800_000);
        fill(&app).await;
        app.later(1_800_000 - 1);
        assert!(output(&app, &[]).await.starts_with("since 2026-01-02"));
        app.later(1);
        assert!(output(&app, &["--day"]).await.starts_with("no model calls since 2026-01-03"));
        assert!(output(&app, &["--month"]).await.starts_with("since 2026-01-01"));
    }
}
