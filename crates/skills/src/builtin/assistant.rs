//! What the assistant did for a person, and what that cost, from the journal; taking it back, or what it asks.

use adjutant_l10n as l10n;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Batch, control, questions, usage};
use adjutant_turn::trust::ActionKind;
use adjutant_turn::wording;
use adjutant_types::clock::when::When;
use adjutant_types::clock::{local_to_utc, utc};
use adjutant_types::text::shortened;
use adjutant_types::{
    Answer, Ending, ExecutionKind, ExecutionStatus, FromCall, Own, QuestionId, QuestionKind, Taint,
    TurnStatus, ours,
};
use async_trait::async_trait;
use chrono::NaiveTime;
use serde_json::{Value, json};

use super::{BuiltinSkill, CallContext, Idempotency, Resource, Services, under, undo};
use crate::{Approved, Failure, Output, Registry, SkillError};

domain! {
    "assistant", "../../../../skills/assistant.toml", AssistantSkill {
        History = "assistant.history",
        Usage = "assistant.usage",
        Undo = "assistant.undo",
        Withdraw = "assistant.withdraw",
    }
}

/// How much of a text a line shows, in bytes.
const CLIP: usize = 160;

#[async_trait]
impl BuiltinSkill for AssistantSkill {
    fn needs(&self) -> Resource {
        Resource::Store
    }

    // To withdraw a question only takes back what was about to happen.
    fn action(&self) -> Option<ActionKind> {
        matches!(self, Self::Undo).then_some(ActionKind::Undo)
    }

    fn effect(&self, services: &Services) -> Idempotency {
        match self {
            Self::Undo => undo::effect(services),
            Self::History | Self::Usage | Self::Withdraw => Idempotency::OwnStore,
        }
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output, Failure> {
        match self {
            Self::Undo => undo::last(call, writes).await,
            Self::History => history(call).await,
            Self::Usage => spent(call).await,
            Self::Withdraw => withdraw(call, writes).await,
        }
    }
}

/// The period that a call asks about, in milliseconds: by default today.
fn period(call: &CallContext<'_>) -> Result<(i64, i64), SkillError> {
    let moment = |name: &str| {
        let when = call.text(name).map(|text| When::parse(text, call.zone()));
        when.transpose().map_err(|message| SkillError::params(ours!("/{}: {}", Own(name), FromCall(message))))
    };
    let start = match moment("since")? {
        Some(When::Time(time)) => time,
        Some(When::Day(day)) => day.and_time(NaiveTime::MIN),
        None => call.now().with_timezone(&call.zone()).date_naive().and_time(NaiveTime::MIN),
    };
    let end = moment("until")?.map_or(call.store().now() + 1, |when| when.deadline(call.zone()));
    Ok((local_to_utc(start, call.zone()).timestamp_millis(), end))
}

async fn history(call: &CallContext<'_>) -> Result<Output, Failure> {
    let limit = i64::try_from(call.limit()).unwrap_or(20);
    // Where others read along, only what happened there is told.
    let here = Some(&call.ctx.turn.conversation.id).filter(|_| call.ctx.turn.conversation.shared);
    let past = turns::of_person(call.store(), &call.ctx.turn.person.id, here, period(call)?, limit).await?;
    let (mut lines, mut items, mut untrusted) = (Vec::new(), Vec::new(), false);
    for turn in &past {
        let rows = executions::of_turn(call.store(), &turn.id).await?;
        let calls: Vec<&ExecutionRow> =
            rows.iter().filter(|row| row.kind == ExecutionKind::Skill && row.status.has_ended()).collect();
        let taint: Taint = calls.iter().map(|row| &row.taint).chain([&turn.text_taint]).collect();
        untrusted |= !taint.is_clean() || calls.iter().any(|row| row.untrusted);
        let done: Vec<String> = calls.iter().map(|row| outcome(call.registry, row)).collect();
        let at = utc(turn.started_at).with_timezone(&call.zone());
        let did = if done.is_empty() { String::new() } else { format!("; {}", done.join("; ")) };
        let date = at.format("%a %-d %b %Y, %H:%M");
        let message = match turn.status {
            TurnStatus::Completed => l10n::assistant::message(clip(&turn.text)),
            status => l10n::assistant::message_not_done(clip(&turn.text), status),
        };
        lines.push(format!("- {date}: {message}{did}"));
        let mut item = item(turn, &at.format("%Y-%m-%dT%H:%M").to_string(), done);
        if !taint.is_clean() {
            item["sources"] = json!(taint.label());
        }
        items.push(item);
    }
    let mut summary = match lines.len() {
        0 => l10n::assistant::nothing_done(),
        count => under(l10n::assistant::messages(count), lines),
    };
    let (open, _) = questions::open_and_read(call.store(), &call.ctx.turn.conversation.id).await?;
    let waiting = open.iter().filter(|question| question.person_id == call.ctx.turn.person.id).count();
    if waiting > 0 {
        summary = under(summary, [l10n::assistant::waiting(waiting)]);
    }
    Ok(Output::outside_if(untrusted, summary, json!({"items": items, "count": items.len()})))
}

fn item(turn: &TurnRow, at: &str, done: Vec<String>) -> Value {
    json!({"at": at, "text": clip(&turn.text), "status": turn.status, "done": done})
}

/// `Added “milk”`, or what failed and why.
fn outcome(registry: &Registry, row: &ExecutionRow) -> String {
    let name = row.skill.as_deref().unwrap_or_default();
    let skill = registry.get(name).map_or(name, |skill| skill.title());
    let error: Option<Value> = row.error.as_deref().and_then(|json| serde_json::from_str(json).ok());
    let why = error.as_ref().and_then(|error| error["message"].as_str()).unwrap_or_default();
    match row.status {
        ExecutionStatus::Completed => clip(row.result.as_deref().unwrap_or_default()),
        status if why.is_empty() => l10n::assistant::call_failed_unexplained(skill, status),
        status => l10n::assistant::call_failed(skill, status, clip(why)),
    }
}

/// Takes back an open question, because the person wants something else. A turn that did nothing yet ends; of one that
/// did, only the call that asked is left undone.
async fn withdraw(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output, Failure> {
    let (ctx, store) = (call.ctx, call.store());
    let id = QuestionId::from(call.text("question").unwrap_or_default());
    let question = questions::by_id(store, &id).await?.filter(|question| {
        question.person_id == ctx.turn.person.id && question.conversation_id == ctx.turn.conversation.id
    });
    let Some(question) = question else {
        return Err(SkillError::not_found(ours!(l10n::assistant::no_such_question)).into());
    };
    let turn = turns::by_id(store, &question.turn_id).await?;
    let Some(turn) = turn.filter(|turn| question.is_open() && turn.ended_at.is_none()) else {
        let why = match &question.answer {
            Some(Answer::Approve | Answer::Continue) => ours!(l10n::assistant::answered_yes),
            Some(Answer::Reject | Answer::Stop) => ours!(l10n::assistant::answered_no),
            Some(_) => ours!(l10n::assistant::answered),
            None => ours!(l10n::assistant::closed),
        };
        return Err(SkillError::tool(why).into());
    };
    turns::expect_status(writes, &turn);
    let questions = questions::of_turn(store, &turn.id).await?;
    let has_others = questions.iter().any(|other| other.is_open() && other.id != question.id);
    let rows = executions::of_turn(store, &turn.id).await?;
    let is_begun = rows.iter().any(|row| row.kind != ExecutionKind::Orchestrator && row.status.has_ended());
    let is_approval = matches!(question.kind, QuestionKind::Approval { .. });
    let ending = match turn.status {
        TurnStatus::Waiting if !has_others && !is_begun => Some(Ending::Withdrawn),
        _ if is_approval => None,
        _ => Some(Ending::Stop),
    };
    control::withdraw(writes, &question, ending, &ctx.turn.person.id, store.now());
    let waits = rows.iter().find(|row| question.execution_id.as_ref() == Some(&row.id));
    let summary = match waits.is_none_or(|row| row.taint.is_clean()) {
        true => l10n::assistant::withdrawn(wording::questions::subject(&question)),
        false => l10n::assistant::withdrawn_unnamed(),
    };
    Ok(Output::ours(summary, json!({"question": id})))
}

/// The beginning of a text's first line.
fn clip(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim_end_matches(':');
    shortened(line, CLIP)
}

async fn spent(call: &CallContext<'_>) -> Result<Output, Failure> {
    let (from, to) = period(call)?;
    let all = usage::by_person(call.store(), from, to).await?;
    let Some(own) = all.into_iter().find(|row| row.id == *call.ctx.turn.person.id) else {
        return Ok(Output::ours(l10n::assistant::no_usage(), json!({"calls": 0})));
    };
    let (calls, read, cached, written) = (own.calls, own.prompt, own.cached, own.completion);
    let summary = match own.cost_usd > 0.0 {
        true => l10n::assistant::usage(calls, read, cached, written, format!("${:.4}", own.cost_usd)),
        false => l10n::assistant::usage_without_cost(calls, read, cached, written),
    };
    let data = json!({
        "calls": own.calls, "failed": own.failed, "prompt_tokens": own.prompt, "cached_tokens": own.cached,
        "completion_tokens": own.completion, "cost_usd": own.cost_usd,
    });
    Ok(Output::ours(summary, data))
}
