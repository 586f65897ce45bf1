//! What the assistant does by itself, again and again.

use adjutant_l10n as l10n;
use adjutant_store::schedules::{self, LastRun, ScheduleRow};
use adjutant_store::{Batch, usage};
use adjutant_turn::trust::{ActionKind, Target, Thing};
use adjutant_types::clock::recurring::CronRule;
use adjutant_types::clock::utc;
use adjutant_types::clock::when::When;
use adjutant_types::text::one_line;
use adjutant_types::{ErrorText, FromCall, FromStore, NOTHING_TO_TELL, ScheduleState, ours};
use async_trait::async_trait;
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::undo::{self, Step};
use super::{BuiltinSkill, CallContext, Idempotency, PersonAccounts, Preview, has_all_words, joined, under};
use crate::{Approved, Failure, Output, Result, SkillError};

domain! {
    "schedule", "../../../../skills/schedule.toml", ScheduleSkill {
        Create = "schedule.create",
        Update = "schedule.update",
        List = "schedule.list",
        Pause = "schedule.pause",
        Delete = "schedule.delete",
    }
}

/// The most schedules that a person can have.
const MAX: usize = 50;
/// From so many runs a day on, their cost is told.
const MANY_RUNS: usize = 24;
/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;

#[async_trait]
impl BuiltinSkill for ScheduleSkill {
    fn effect(&self, _: &PersonAccounts) -> Idempotency {
        Idempotency::OwnStore
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::List => None,
            Self::Create => Some(ActionKind::ScheduleCreate),
            Self::Update | Self::Pause => Some(ActionKind::ScheduleChange),
            Self::Delete => Some(ActionKind::ScheduleDelete),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
        let old = match self {
            Self::List => return Ok(Vec::new()),
            Self::Create => None,
            Self::Update | Self::Pause | Self::Delete => Some(by_id(call).await?),
        };
        let mut targets = Vec::new();
        if let Some(ScheduleRow { id, text, .. }) = &old {
            let (id, title) = (id.to_string(), text.clone());
            targets.push(Target::Thing(Thing { noun: "schedule", id, title, is_shared: false }));
        }
        if matches!(self, Self::Create | Self::Update) {
            let was_silent = old.as_ref().and_then(may_be_silent).is_some();
            let row = planned(call, old)?;
            targets.extend(may_be_silent(&row).filter(|_| !was_silent).map(|_| Target::Silence));
            targets.extend(call.text("text").map(|_| Target::Text(row.text)));
            // A model may send the zone that is theirs anyway; of another one, no pattern says anything.
            let zone = call.text("timezone").filter(|zone| *zone != call.zone().name());
            targets.extend(zone.map(|zone| Target::Time(zone.into(), String::new())));
            targets.extend(call.text("when").map(|time| Target::Time(time.into(), row.rule)));
        }
        Ok(targets)
    }

    async fn subject(&self, call: &CallContext<'_>) -> Result<Option<String>> {
        if call.text("id").is_none() {
            return Ok(None);
        }
        match by_id(call).await {
            Ok(row) => Ok(Some(described(&row))),
            Err(Failure::Skill(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        let times = |row: &ScheduleRow| format!("{} ({})", when(row), row.zone);
        let text = |row: &ScheduleRow| one_line(&row.text, 2_000);
        Ok(match self {
            Self::Create => {
                let new = planned(call, None)?;
                let question = l10n::schedules::create_schedule(times(&new), text(&new));
                Preview { text: Some(under(question, may_be_silent(&new))), ..Preview::default() }
            }
            Self::Update => {
                let old = by_id(call).await?;
                let new = planned(call, Some(old.clone()))?;
                let silent = may_be_silent(&new).filter(|_| new.tells != old.tells);
                let changes = Preview::of_changes(
                    l10n::schedules::change_schedule(one_line(&old.text, 60)),
                    [
                        (l10n::schedules::times_change, times(&old), times(&new)),
                        (l10n::schedules::text_changes, text(&old), text(&new)),
                    ],
                );
                Preview { text: changes.text.map(|text| under(text, silent)), ..changes }
            }
            Self::List | Self::Pause | Self::Delete => Preview::default(),
        })
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output> {
        match self {
            Self::Create => create(call, writes).await,
            Self::Update => update(call, writes).await,
            Self::List => list(call).await,
            Self::Pause => pause(call, writes).await,
            Self::Delete => delete(call, writes).await,
        }
    }
}

fn item(row: &ScheduleRow) -> Value {
    json!({
        "id": row.id, "text": row.text, "when": row.rule, "timezone": row.zone, "state": row.state,
        "next": utc(row.next_at).with_timezone(&zone_of(row)).format("%Y-%m-%dT%H:%M").to_string(),
    })
}

fn rule_of(row: &ScheduleRow) -> Option<CronRule> {
    CronRule::parse(&row.rule, row.zone.parse().ok()?).ok()
}

fn zone_of(row: &ScheduleRow) -> Tz {
    row.zone.parse().unwrap_or(Tz::UTC)
}

fn next(row: &ScheduleRow) -> String {
    When::Time(utc(row.next_at).with_timezone(&zone_of(row)).naive_local()).spoken()
}

/// The schedule's text, in a line.
fn title(row: &ScheduleRow) -> String {
    one_line(&row.text, 200)
}

fn when(row: &ScheduleRow) -> String {
    rule_of(row).map_or_else(|| row.rule.clone(), |rule| rule.spoken())
}

/// As a question names it.
pub(super) fn described(row: &ScheduleRow) -> String {
    l10n::schedules::described(title(row), when(row), &row.zone)
}

fn spoken(row: &ScheduleRow) -> String {
    let (text, when, ScheduleRow { id, zone, state, .. }) = (title(row), when(row), row);
    match state {
        ScheduleState::Active => l10n::schedules::active_schedule(text, when, zone, next(row), id),
        ScheduleState::Paused => l10n::schedules::paused_schedule(text, when, zone, id),
        ScheduleState::Stopped => l10n::schedules::stopped_schedule(text, when, zone, id),
    }
}

async fn create(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let row = planned(call, None)?;
    if schedules::of_person(call.store(), &call.ctx.turn.person.id).await?.len() >= MAX {
        return Err(SkillError::params(ours!(l10n::schedules::too_many, MAX)).into());
    }
    schedules::insert(writes, &row);
    let summary = l10n::schedules::scheduled(title(&row), when(&row), &row.zone, next(&row));
    let summary = under(summary, may_be_silent(&row).into_iter().chain(price(call, &row).await?));
    let made = [Step::Schedule { before: None, after: Some(row.clone()) }];
    Ok(Output::ours(summary, item(&row)).undone_by(undo::left(&made)))
}

/// That a new schedule's runs may say nothing; a workflow says itself what it does then.
fn may_be_silent(row: &ScheduleRow) -> Option<String> {
    (!row.tells && !row.text.starts_with("/run ")).then(l10n::schedules::only_news)
}

/// What a schedule that runs often comes to in a day, as far as the last week's turns tell.
async fn price(call: &CallContext<'_>, row: &ScheduleRow) -> Result<Option<String>> {
    let Some(rule) = rule_of(row) else { return Ok(None) };
    let runs = std::iter::successors(Some(row.next_at), |at| rule.after(*at));
    let runs = runs.take_while(|at| *at < row.next_at + DAY).count();
    if runs < MANY_RUNS {
        return Ok(None);
    }
    let since = call.store().now() - 7 * DAY;
    let turn_cost = usage::mean_turn_cost(call.store(), &call.ctx.turn.person.id, since).await?;
    Ok(Some(match turn_cost.map(|usd| usd * runs as f64) {
        Some(usd) if usd >= 1.0 => l10n::schedules::runs_cost(runs, format!("${usd:.0}")),
        Some(usd) if usd >= 0.01 => l10n::schedules::runs_cost(runs, format!("${usd:.2}")),
        _ => l10n::schedules::runs(runs),
    }))
}

/// The schedule that the arguments make, or make of an old one.
fn planned(call: &CallContext<'_>, old: Option<ScheduleRow>) -> Result<ScheduleRow, SkillError> {
    let params = |message: ErrorText| SkillError::params(message);
    let now = call.store().now();
    let row = old.unwrap_or_else(|| ScheduleRow {
        id: call.short_id(),
        person_id: call.ctx.turn.person.id.clone(),
        conversation_id: call.ctx.turn.conversation.id.clone(),
        zone: call.zone().name().to_owned(),
        created_at: now,
        ..ScheduleRow::default()
    });
    let zone = match call.text("timezone") {
        None => zone_of(&row),
        Some(name) => {
            name.parse().map_err(|_| params(ours!(l10n::schedules::unknown_zone, FromCall(name))))?
        }
    };
    let when = call.text("when").unwrap_or(&row.rule);
    let rule =
        CronRule::parse(when, zone).map_err(|message| params(ours!("/when: {}", FromCall(message))))?;
    if rule.is_too_often(now) {
        return Err(params(ours!(l10n::schedules::too_often)));
    }
    let never = || params(ours!(l10n::schedules::no_such_time, FromCall(when)));
    let next_at = rule.after(now).ok_or_else(never)?;
    let old = Some(row.text.as_str()).filter(|text| !text.is_empty());
    let text = call.text("text").or(old).ok_or_else(|| params(ours!(l10n::schedules::no_text)))?;
    let is_command = text.starts_with("/run ");
    if text.starts_with('/') && !is_command {
        return Err(params(ours!(l10n::schedules::no_such_command)));
    }
    // Only who asked for silence may hear nothing of a run.
    let tells = match call.arguments["only_if_news"].as_bool() {
        _ if is_command => false,
        Some(is_silent) => !is_silent,
        None => row.tells || row.text.is_empty() || row.text.starts_with("/run "),
    };
    let (text, zone) = (text.to_owned(), zone.name().to_owned());
    Ok(ScheduleRow { text, rule: rule.pattern(), zone, next_at, tells, ..row })
}

/// Gives a schedule the text, the times and the state of another version of it. A run that waits stays if its times do.
pub(super) fn change_to(
    row: &ScheduleRow,
    version: &ScheduleRow,
    now: i64,
    writes: &mut Batch,
) -> ScheduleRow {
    let ScheduleRow { text, rule, zone, state, tells, .. } = version.clone();
    let mut new = ScheduleRow { text, rule, zone, state, tells, ..row.clone() };
    if (&new.rule, &new.zone, new.state) != (&row.rule, &row.zone, row.state) {
        schedules::drop_run(writes, &row.id);
        new.running = None;
        new.next_at = rule_of(&new).and_then(|rule| rule.after(now)).unwrap_or(version.next_at);
    }
    schedules::change(writes, row, &new);
    new
}

async fn update(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let row = by_id(call).await?;
    let new = change_to(&row, &planned(call, Some(row.clone()))?, call.store().now(), writes);
    let summary = l10n::schedules::changed(title(&new), when(&new), &new.zone);
    let paused = (new.state != ScheduleState::Active).then(|| l10n::schedules::paused(title(&new)));
    let silent = may_be_silent(&new).filter(|_| new.tells != row.tells);
    let summary = under(summary, silent.into_iter().chain(price(call, &new).await?).chain(paused));
    let changed = [Step::Schedule { before: Some(row), after: Some(new.clone()) }];
    Ok(Output::ours(summary, item(&new)).undone_by(undo::left(&changed)))
}

async fn list(call: &CallContext<'_>) -> Result<Output> {
    let person = &call.ctx.turn.person.id;
    let all = schedules::of_person(call.store(), person).await?;
    let runs = schedules::last_runs(call.store(), person).await?;
    let last = |row: &ScheduleRow| {
        let run = runs.iter().find(|run| run.schedule_id == row.id)?;
        Some((When::Time(utc(run.started_at).with_timezone(&zone_of(row)).naive_local()), outcome(run)))
    };
    let heading = match all.len() {
        0 => l10n::schedules::none(),
        count => l10n::schedules::found(count),
    };
    let line = |row: &ScheduleRow| match last(row) {
        None => format!("- {}", spoken(row)),
        Some((at, how)) => format!("- {}\n  {}", spoken(row), l10n::schedules::last_run(at.spoken(), how)),
    };
    let summary = under(heading, all.iter().map(line));
    let item = |row: &ScheduleRow| {
        let mut item = item(row);
        if let Some((at, how)) = last(row) {
            item["last_run"] = json!({"at": at.iso(), "outcome": how});
        }
        item
    };
    let items: Vec<Value> = all.iter().map(item).collect();
    Ok(Output::ours(summary, json!({"count": items.len(), "items": items})))
}

/// How a run ended, as the message about it tells them apart.
fn outcome(run: &LastRun) -> String {
    if run.answer.as_deref() == Some(NOTHING_TO_TELL) { "silent".to_owned() } else { run.status.to_string() }
}

/// The schedule that the `id` argument names: by its id, or by words of its text.
async fn by_id(call: &CallContext<'_>) -> Result<ScheduleRow> {
    let id = call.lowercase("id");
    let all = schedules::of_person(call.store(), &call.ctx.turn.person.id).await?;
    if let Some(row) = all.iter().find(|row| *row.id == *id) {
        return Ok(row.clone());
    }
    let found: Vec<&ScheduleRow> =
        all.iter().filter(|row| has_all_words(&row.text.to_lowercase(), &id)).collect();
    match found.as_slice() {
        [row] => Ok((*row).clone()),
        [] => Err(SkillError::not_found(ours!(l10n::schedules::none_called, FromCall(id))).into()),
        several => {
            let name = |row: &&ScheduleRow| {
                ours!("{}", FromStore("schedule", row.id.as_str(), spoken(row).as_str()))
            };
            let names = joined(several.iter().map(name));
            Err(SkillError::params(ours!(l10n::schedules::several_match, names)).into())
        }
    }
}

/// Pauses a schedule, or lets it go on; none if its last time is over.
pub fn switch(row: &ScheduleRow, state: ScheduleState, now: i64, writes: &mut Batch) -> Option<ScheduleRow> {
    let next_at = rule_of(row)?.after(now)?;
    let new = ScheduleRow { state, next_at, running: None, failures: 0, ..row.clone() };
    schedules::drop_run(writes, &row.id);
    schedules::change(writes, row, &new);
    Some(new)
}

async fn pause(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let row = by_id(call).await?;
    let resumes = call.arguments.get("paused").and_then(Value::as_bool) == Some(false);
    let state = if resumes { ScheduleState::Active } else { ScheduleState::Paused };
    let Some(new) = switch(&row, state, call.store().now(), writes) else {
        let text = FromStore("schedule", row.id.as_str(), row.text.as_str());
        return Err(SkillError::params(ours!(l10n::schedules::over, text)).into());
    };
    let summary = match resumes {
        true => l10n::schedules::resumed(title(&row), next(&new)),
        false => l10n::schedules::paused(title(&row)),
    };
    let changed = [Step::Schedule { before: Some(row), after: Some(new.clone()) }];
    Ok(Output::ours(summary, item(&new)).undone_by(undo::left(&changed)))
}

async fn delete(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let row = by_id(call).await?;
    schedules::delete(writes, &row.id);
    let deleted = [Step::Schedule { before: Some(row.clone()), after: None }];
    let summary = l10n::schedules::deleted(title(&row));
    Ok(Output::ours(summary, item(&row)).undone_by(undo::left(&deleted)))
}
