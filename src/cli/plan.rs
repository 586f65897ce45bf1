//! `adjutant plan`: makes a plan, asks, carries it out; shows and saves plans.

use std::fmt::Write as _;
use std::io::{Write as _, stderr};
use std::process::ExitCode;

use adjutant_config::Config;
use adjutant_l10n as l10n;
use adjutant_store::runs::{self, PlanRow};
use adjutant_store::{Batch, Store, StoreError, turns};
use adjutant_types::TurnStatus;
use adjutant_types::clock::utc;
use adjutant_workflows::plans::{self, Plan};
use adjutant_workflows::trace::text::{cut, one_line};
use adjutant_workflows::{draft, is_name};
use chrono_tz::Tz;

use super::workflow::run::{RunEnd, converse, ended};
use super::workflow::runs as reports;
use super::{CliError, PlanArgs, PlanCommand as Command, Result, columns, on_store, out, say};

/// Columns of a goal in the list.
const GOAL: usize = 60;

pub(super) async fn run(config: &Config, args: &PlanArgs) -> Result<ExitCode> {
    let Some(command) = &args.command else { return make(config, args).await };
    let text = on_store(config, async |store| match command {
        Command::List { limit } => Ok(list(store, config.assistant.timezone, *limit).await?),
        Command::Show { id } => show(store, id.as_deref().unwrap_or_default()).await,
        Command::Save { id, name } => save(config, store, id, name).await,
        Command::Delete { id } => delete(store, id).await,
    });
    say(&text.await?)
}

/// Makes a plan and, after the yes, carries it out.
async fn make(config: &Config, args: &PlanArgs) -> Result<ExitCode> {
    let goal = one_line(args.goal.as_deref().unwrap_or_default());
    if goal.is_empty() {
        return Err(CliError::Usage("say what to plan for: adjutant plan \"GOAL\"".to_owned()));
    }
    let (end, conversation) = converse(config, "plan", format!("/plan {goal}")).await;
    let turn = match end? {
        RunEnd::Report(report) => {
            out(&if args.json { reports::json(&report)? } else { report.text(columns()) })?;
            return ended(&report, &conversation);
        }
        RunEnd::Answered(turn) => turn,
    };
    match &turn.answer {
        Some(answer) if turn.status == TurnStatus::Completed => say(&format!("{answer}\n")),
        Some(answer) => Err(CliError::plain(answer.clone())),
        None => {
            // Without a stderr there is nowhere to report it.
            let _ = writeln!(
                stderr(),
                "The plan waits for your answer: adjutant chat --conversation {conversation}"
            );
            Ok(ExitCode::from(1))
        }
    }
}

/// Whether a plan that wasn't run waits for an answer; else it was dropped.
async fn waits(store: &Store, row: &PlanRow) -> Result<bool, StoreError> {
    let turn = turns::by_id(store, &row.turn_id).await?;
    Ok(turn.is_some_and(|turn| turn.ended_at.is_none()))
}

async fn list(store: &Store, zone: Tz, limit: u16) -> Result<String, StoreError> {
    let rows = runs::plans_beginning_with(store, "", limit.into()).await?;
    if rows.is_empty() {
        return Ok("there is no plan yet; `adjutant plan \"GOAL\"` makes one\n".to_owned());
    }
    let mut out = String::new();
    for row in &rows {
        let status = match runs::by_id(store, &row.id).await? {
            Some(run) => run.status.to_string(),
            None if waits(store, row).await? => "waiting".to_owned(),
            None => "dropped".to_owned(),
        };
        let at = utc(row.created_at).with_timezone(&zone).format("%Y-%m-%d %H:%M");
        let _ = writeln!(out, "{}  {status:9}  {at}  {}", row.id, cut(&one_line(&row.goal), GOAL));
    }
    if rows.len() == usize::from(limit) {
        let _ = writeln!(out, "These are the newest {limit}; --limit shows more.");
    }
    Ok(out)
}

/// The plan whose id begins like this, the newest for no beginning.
async fn row_of(store: &Store, beginning: &str) -> Result<PlanRow> {
    let mut found = runs::plans_beginning_with(store, beginning, 2).await?;
    if found.len() > 1 && !beginning.is_empty() {
        let beginning = one_line(beginning);
        return Err(CliError::plain(format!("several plans begin with '{beginning}'; write more of the id")));
    }
    if found.is_empty() { Err(unknown(beginning)) } else { Ok(found.swap_remove(0)) }
}

/// The same with what is planned.
async fn find(store: &Store, beginning: &str) -> Result<(PlanRow, Plan)> {
    let mut row = row_of(store, beginning).await?;
    // Of a plan that runs, the version that its person agreed to.
    if let Some(run) = runs::by_id(store, &row.id).await? {
        row = runs::plan_of(store, &run).await?.unwrap_or(row);
    }
    let plan = serde_json::from_str(&row.body);
    let gone = |_| CliError::plain(format!("plan {} was emptied, as [retention] says", row.id));
    Ok((row.clone(), plan.map_err(gone)?))
}

fn unknown(beginning: &str) -> CliError {
    CliError::plain(match beginning {
        "" => "there is no plan yet; `adjutant plan \"GOAL\"` makes one".to_owned(),
        _ => format!("there is no plan {}; `adjutant plan list` shows all", one_line(beginning)),
    })
}

async fn show(store: &Store, beginning: &str) -> Result<String> {
    let (row, plan) = find(store, beginning).await?;
    let newest = runs::plan(store, &row.id).await?.map_or(row.version, |newest| newest.version);
    let workflow =
        plans::workflow(&plan, &row.goal).map_err(|_| CliError::plain("the plan is no longer stored"))?;
    let mut text = format!("{}  version {}\n\n", row.id, row.version);
    text.push_str(&plans::for_terminal(&plan, &row.goal, &workflow));
    text.push_str("\n\n");
    match runs::by_id(store, &row.id).await? {
        Some(run) => {
            text.push_str(&reports::report(store, &run).await?.text(columns()));
            if run.ended_at.is_none() && newest > row.version {
                text.push_str("\nA step failed. Its changed steps are waiting for an answer.\n");
            }
        }
        None if waits(store, &row).await? => text.push_str("It's waiting for an answer.\n"),
        None => text.push_str("It was dropped. Nothing was done.\n"),
    }
    Ok(text)
}

async fn save(config: &Config, store: &Store, beginning: &str, name: &str) -> Result<String> {
    if !is_name(name) {
        return Err(CliError::plain(format!(
            "'{}' isn't a valid workflow name: use letters, digits, '-' and '_', such as board-meeting",
            one_line(name)
        )));
    }
    let (row, plan) = find(store, beginning).await?;
    let Some(folder) = config.skill_paths().first().map(|path| path.join("workflows")) else {
        return Err(CliError::plain("there's no folder for workflows; set `[skills] paths`"));
    };
    let plan = Plan { name: name.to_owned(), ..plan };
    let workflow =
        plans::workflow(&plan, &row.goal).map_err(|_| CliError::plain("the plan is no longer stored"))?;
    let path = draft::save(&folder, name, &workflow.text).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => CliError::plain(format!(
            "there is a workflow {name} in {} already; choose another name",
            folder.display()
        )),
        _ => CliError::failed(format!("{name} can't be saved in {}", folder.display()), error),
    })?;
    Ok(format!("{}\n", l10n::runs::saved(path.display(), name)))
}

async fn delete(store: &Store, beginning: &str) -> Result<String> {
    if beginning.is_empty() {
        return Err(unknown(beginning));
    }
    let row = row_of(store, beginning).await?;
    if store.try_write(Batch::with(|batch| runs::delete_plan(batch, &row.id))).await? {
        return Ok(format!("deleted plan {}\n", row.id));
    }
    Err(CliError::plain(format!(
        "plan {} is under way or waits for its person's answer; it can be deleted once it has ended",
        row.id
    )))
}
