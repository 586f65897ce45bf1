//! What the assistant did for a person, and what that cost, from the journal; taking it back, or what it asks; their
//! clock; and the lines of a briefing.

mod lines;

pub(super) use lines::from_line;

use adjutant_l10n as l10n;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Batch, Store, StoreError, control, outbox, people, usage};
use adjutant_turn::journal::TurnContext;
use adjutant_turn::trust::{ActionKind, Target};
use adjutant_turn::wording;
use adjutant_types::clock::when::When;
use adjutant_types::clock::{local_to_utc, utc};
use adjutant_types::text::{one_line, shortened};
use adjutant_types::{
    Answer, ExecutionKind, ExecutionStatus, FromCall, NOTHING_TO_TELL, QuestionId, QuestionKind,
    QuestionState, Taint, TurnStatus, ours,
};
use async_trait::async_trait;
use chrono::NaiveTime;
use chrono_tz::{TZ_VARIANTS, Tz};
use serde_json::{Value, json};

use super::undo::{self, Step};
use super::{BuiltinSkill, CallContext, Idempotency, Preview, under};
use crate::accounts::PersonAccounts;
use crate::{Approved, ErrorKind, Handler, Output, Registry, Result, SkillError};

domain! {
    "assistant", "../../../../skills/assistant.toml", AssistantSkill {
        History = "assistant.history",
        Usage = "assistant.usage",
        Undo = "assistant.undo",
        Clock = "assistant.clock",
        Withdraw = "assistant.withdraw",
        Replace = "assistant.replace",
        Lines = "assistant.lines",
    }
}

/// How much of a text a line shows, in bytes.
const CLIP: usize = 160;

#[async_trait]
impl BuiltinSkill for AssistantSkill {
    // To withdraw a question only takes back what was about to happen. The call that replaces another has its own kind.
    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::Undo => Some(ActionKind::Undo),
            Self::Clock => Some(ActionKind::MemorySave),
            Self::History | Self::Usage | Self::Withdraw | Self::Replace | Self::Lines => None,
        }
    }

    /// After text from outside, the person must mean what would be undone, and have named the place, or is asked.
    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
        Ok(match self {
            Self::Undo => vec![Target::Named(undo::told(call).await?.unwrap_or_default())],
            Self::Clock => {
                let place = timezone(call)?.name().rsplit('/').next().unwrap_or_default();
                vec![Target::Typed(place.replace('_', " "))]
            }
            _ => Vec::new(),
        })
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        let text = match self {
            Self::Clock => Some(l10n::assistant::set_clock(timezone(call)?.name())),
            Self::Undo => return undo::preview(call).await,
            _ => None,
        };
        Ok(Preview { text, ..Preview::default() })
    }

    /// What is undone may be in any of them.
    fn uses_accounts(&self) -> bool {
        matches!(self, Self::Undo)
    }

    fn effect(&self, accounts: &PersonAccounts) -> Idempotency {
        match self {
            Self::Undo => undo::effect(accounts),
            _ => Idempotency::OwnStore,
        }
    }

    async fn run(&self, call: &CallContext<'_>, approved: &Approved, writes: &mut Batch) -> Result<Output> {
        match self {
            Self::Undo => undo::last(call, approved, writes).await,
            Self::History => history(call).await,
            Self::Usage => spent(call).await,
            Self::Clock => set_clock(call, writes).await,
            Self::Withdraw => withdraw(call, writes).await,
            Self::Lines => lines::lines(call, writes).await,
            Self::Replace => change_plan(call, writes).await,
        }
    }
}

/// The period that a call asks about, in milliseconds: by default today.
fn period(call: &CallContext<'_>) -> Result<(i64, i64), SkillError> {
    let start = match call.when("since")? {
        Some(When::Time(time)) => time,
        Some(When::Day(day)) => day.and_time(NaiveTime::MIN),
        None => call.now().with_timezone(&call.zone()).date_naive().and_time(NaiveTime::MIN),
    };
    let end = call.when("until")?.map_or(call.store().now() + 1, |when| when.deadline(call.zone()));
    Ok((local_to_utc(start, call.zone()).timestamp_millis(), end))
}

async fn history(call: &CallContext<'_>) -> Result<Output> {
    let limit = i64::try_from(call.limit()).unwrap_or(20);
    let (store, here) = (call.store(), &call.ctx.turn);
    // Where others read along, only what happened there is told.
    let place = Some(&here.conversation.id).filter(|_| here.conversation.shared);
    // One more tells whether there are more.
    let asked = (&here.person.id, &here.id);
    let mut past = turns::of_person(store, asked, place, period(call)?, limit.saturating_add(1)).await?;
    let has_more = i64::try_from(past.len()).is_ok_and(|found| found > limit);
    past.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let (mut lines, mut items, mut untrusted) = (Vec::new(), Vec::new(), false);
    for turn in &past {
        let rows = executions::of_turn(store, &turn.id).await?;
        let effects: Vec<&ExecutionRow> = rows.iter().filter(|row| is_effect(call.registry, row)).collect();
        let mut told: Vec<String> = effects.iter().map(|row| outcome(call.registry, row)).collect();
        let answer = answer(store, turn).await?;
        let done = json!(told);
        told.extend(answer.as_deref().map(|answer| match answer {
            NOTHING_TO_TELL => l10n::assistant::nothing_told(),
            _ => l10n::assistant::answer(answer),
        }));
        // Only of what is told: an answer with text from outside isn't.
        let taint: Taint = effects.iter().map(|row| &row.taint).chain([&turn.text_taint]).collect();
        untrusted |= !taint.is_clean() || effects.iter().any(|row| row.untrusted);
        let at = utc(turn.started_at).with_timezone(&call.zone());
        let message = match turn.status {
            TurnStatus::Completed => l10n::assistant::message(clip(&turn.text)),
            status => l10n::assistant::message_not_done(clip(&turn.text), status),
        };
        let told: String = told.iter().map(|line| format!("; {line}")).collect();
        lines.push(format!("- {}: {message}{told}", at.format("%a %-d %b %Y, %H:%M")));
        let mut item = json!({"at": at.format("%Y-%m-%dT%H:%M").to_string(), "text": clip(&turn.text),
            "status": turn.status, "done": done});
        if let Some(answer) = answer {
            item["answer"] = json!(answer);
        }
        if !taint.is_clean() {
            item["sources"] = json!(taint.label());
        }
        items.push(item);
    }
    let mut summary = match lines.len() {
        0 => l10n::assistant::nothing_done(),
        count if has_more => under(l10n::assistant::newest_messages(count), lines),
        count => under(l10n::assistant::messages(count), lines),
    };
    let (open, _) = questions::open_and_read(store, &here.conversation.id).await?;
    let waiting = open.iter().filter(|question| question.person_id == here.person.id).count();
    if waiting > 0 {
        summary = under(summary, [l10n::assistant::waiting(waiting)]);
    }
    Ok(Output::outside_if(untrusted, summary, json!({"items": items, "count": items.len()})))
}

/// Whether it is a call that has ended and may have changed something. What can't be looked up any more may have.
fn is_effect(registry: &Registry, row: &ExecutionRow) -> bool {
    let skill = row.skill.as_deref().filter(|_| row.kind == ExecutionKind::Skill && row.status.has_ended());
    skill.is_some_and(|name| registry.get(name).is_none_or(|skill| skill.has_effect()))
}

/// The beginning of a turn's answer, if it holds nothing from outside.
async fn answer(store: &Store, turn: &TurnRow) -> Result<Option<String>, StoreError> {
    let answer = turn.answer.as_deref().filter(|_| turn.status == TurnStatus::Completed).map(clip);
    let Some(answer) = answer.filter(|answer| !answer.is_empty()) else { return Ok(None) };
    let is_clean = answer == NOTHING_TO_TELL || turns::taint(store, &turn.id).await?.is_clean();
    Ok(is_clean.then_some(answer))
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

/// An open question that the person takes back, because they want something else or nothing any more.
#[derive(Debug)]
pub(crate) struct Withdrawal {
    pub(crate) question: QuestionRow,
    /// The call or the step that waits for its answer.
    pub(crate) waits: Option<ExecutionRow>,
    turn: TurnRow,
}

impl Withdrawal {
    /// Of a question that a turn of this turn's person asked them here.
    pub(crate) async fn of(ctx: &TurnContext, id: &QuestionId) -> Result<Self> {
        let store = &ctx.store;
        if !ctx.is_typed() {
            return Err(SkillError::new(ErrorKind::Permission, ours!(l10n::assistant::not_typed)).into());
        }
        let question = questions::by_id(store, id).await?;
        let turn = match &question {
            Some(question) => turns::by_id(store, &question.turn_id).await?,
            None => None,
        };
        let here = (&ctx.turn.person.id, &ctx.turn.conversation.id);
        let found = question.zip(turn).filter(|(question, turn)| {
            let asked = (&question.person_id, &question.conversation_id);
            [asked, (&turn.person_id, &turn.conversation_id)] == [here; 2]
        });
        let Some((question, turn)) = found else {
            return Err(SkillError::not_found(ours!(l10n::assistant::no_such_question)).into());
        };
        if !question.is_open() || turn.ended_at.is_some() {
            let why = match (question.state, &question.answer) {
                (_, Some(Answer::Approve | Answer::Continue)) => ours!(l10n::assistant::answered_yes),
                (QuestionState::Answered, Some(Answer::Reject | Answer::Stop)) => {
                    ours!(l10n::assistant::answered_no)
                }
                (_, Some(Answer::Summarise | Answer::Text(_))) => ours!(l10n::assistant::answered),
                _ => ours!(l10n::assistant::closed),
            };
            return Err(SkillError::tool(why).into());
        }
        let rows = executions::of_turn(store, &turn.id).await?;
        let waits = rows.into_iter().find(|row| question.execution_id.as_ref() == Some(&row.id));
        Ok(Self { question, waits, turn })
    }

    /// Adds it to the batch, which fails if the question was answered meanwhile.
    pub(crate) fn write(&self, ctx: &TurnContext, batch: &mut Batch) {
        turns::expect_status(batch, &self.turn);
        control::withdraw(batch, &self.question, &ctx.turn.person.id, ctx.store.now());
    }
}

/// What waits beside the questions that this turn takes back or replaces, by its calls: the person read them together.
pub async fn still_open(ctx: &TurnContext, registry: &Registry) -> Result<Vec<QuestionRow>, StoreError> {
    let (store, turn) = (&ctx.store, &ctx.turn);
    let taken = |row: &ExecutionRow| {
        let task: Value = serde_json::from_str(row.task.as_deref()?).ok()?;
        let Handler::Builtin(skill) = &registry.get(task["skills"][0].as_str()?)?.handler else {
            return None;
        };
        let takes_back = matches!(skill.as_str(), "assistant.withdraw" | "assistant.replace");
        takes_back.then(|| named(&task["arguments"]))
    };
    let taken: Vec<QuestionId> =
        executions::of_turn(store, &turn.id).await?.iter().filter_map(taken).flatten().collect();
    let mut open: Vec<QuestionRow> = Vec::new();
    for id in &taken {
        let Some(question) = questions::by_id(store, id).await? else { continue };
        let asked = (&question.person_id, &question.conversation_id);
        let is_theirs = asked == (&turn.person.id, &turn.conversation.id) && !question.outbox_id.is_empty();
        if is_theirs && open.iter().all(|other| other.outbox_id != question.outbox_id) {
            open.extend(questions::of_message(store, &question.outbox_id).await?);
        }
    }
    open.retain(|other| other.is_open() && !taken.contains(&other.id));
    Ok(open)
}

/// The questions that a call is about.
fn named(arguments: &Value) -> Vec<QuestionId> {
    let others = arguments["also"].as_array().into_iter().flatten();
    let ids = std::iter::once(&arguments["question"]).chain(others).filter_map(Value::as_str);
    ids.map(QuestionId::from).fold(Vec::new(), |mut all, id| {
        if !all.contains(&id) {
            all.push(id);
        }
        all
    })
}

async fn withdraw(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let (person, now, mut all) = (&call.ctx.turn.person.id, call.store().now(), Vec::new());
    for id in named(call.arguments) {
        all.push(Withdrawal::of(call.ctx, &id).await?);
    }
    // A turn ends with the last of its questions.
    all.iter().for_each(|one| turns::expect_status(writes, &one.turn));
    all.iter().for_each(|one| control::withdraw(writes, &one.question, person, now));
    let subjects: Vec<String> = all.iter().map(|one| wording::questions::subject(&one.question)).collect();
    let summary = match &subjects[..] {
        [one] => l10n::assistant::withdrawn(one),
        // All of them fit into a receipt.
        several => {
            let short: Vec<String> = several.iter().map(|subject| one_line(subject, 40)).collect();
            l10n::assistant::withdrawn_together(short.len(), short.join("; "))
        }
    };
    let taint: Taint = all.iter().filter_map(|one| one.waits.as_ref()).map(|row| &row.taint).collect();
    let mut data = json!({"question": call.arguments["question"]});
    if !taint.is_clean() {
        data["sources"] = json!(taint.label());
    }
    Ok(Output::outside_if(!taint.is_clean(), summary, data))
}

/// Has a plan that waits for a yes made anew, as the person's own message says it: no words of a model count.
async fn change_plan(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let id = QuestionId::from(call.text("question").unwrap_or_default());
    let Withdrawal { question, turn, .. } = Withdrawal::of(call.ctx, &id).await?;
    if !matches!(question.kind, QuestionKind::Plan { .. }) {
        // The executor makes the call that it stands for.
        return Err(SkillError::params(ours!(l10n::assistant::replace_alone)).into());
    }
    let wish = Answer::change(call.ctx.trust.own_text.as_deref().unwrap_or_default());
    let now = call.store().now();
    turns::expect_status(writes, &turn);
    questions::answer(writes, &id, &wish, &call.ctx.turn.person.id, now);
    control::go_on(writes, &question, Some(&wish), &outbox::anybody(), now);
    Ok(Output::ours(wording::questions::noted(&question, &wish), json!({"question": id})))
}

fn timezone(call: &CallContext<'_>) -> Result<Tz, SkillError> {
    let name = call.text("timezone").unwrap_or_default();
    let city = name.replace(' ', "_");
    let is_city =
        |zone: &&Tz| zone.name().rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&city));
    let zone = name.parse().ok().or_else(|| TZ_VARIANTS.iter().find(is_city).copied());
    zone.ok_or_else(|| SkillError::params(ours!(l10n::schedules::unknown_zone, FromCall(name))))
}

/// Sets the person's time zone. A turn has the one that it began with.
async fn set_clock(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let zone = timezone(call)?;
    let person = people::person_by_id(call.store(), &call.ctx.turn.person.id).await?;
    people::set_timezone(writes, &person.id, Some(zone.name()));
    let time = call.now().with_timezone(&zone).format("%H:%M");
    let summary = l10n::assistant::clock(zone.name(), time);
    let set = [Step::Timezone { before: person.timezone, after: zone.name().to_owned() }];
    Ok(Output::ours(summary, json!({"timezone": zone.name()})).undone_by(undo::left(&set)))
}

/// The beginning of a text's first line.
fn clip(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim_end_matches(':');
    shortened(line, CLIP)
}

async fn spent(call: &CallContext<'_>) -> Result<Output> {
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
