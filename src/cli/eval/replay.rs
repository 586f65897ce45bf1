//! `adjutant eval replay`: what models answer today to the messages of the journal.
//!
//! Each dialogue with a model is held again as the journal has it: the orchestrator's, and each agent's. A call that was made
//! then gets the result that it got then; another one is answered as held back. So no skill runs, and the store is closed
//! before the first model is asked.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_config::Config;
use adjutant_l10n::replay as words;
use adjutant_models::{Message, Model, Request, Role, ToolCall, Usage};
use adjutant_store::calls::{self, ToolCallRow};
use adjutant_store::{Store, turns};
use adjutant_types::clock::{SharedClock, SystemClock, local_to_utc};
use adjutant_types::{BASIC_MODE, ExecutionKind, NO_MODEL, PromptText};
use adjutant_workflows::trace::text::{cut, fit};
use adjutant_workflows::trace::{self, ModelCall, cost, count, one_line};
use chrono::NaiveTime;
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::usage::table;
use super::super::{CliError, ReplayArgs, Result, columns, json, on_store, out, say};
use super::models;
use crate::service;

/// How many turns are replayed if nobody says it.
const TURNS: u32 = 20;
/// So many answers of a model end a dialogue that doesn't end by itself.
const MAX_ROUNDS: usize = 20;
/// What a model reads instead of a result.
const HELD_BACK: &str = "Held back: this is a replay, and nothing is carried out.";

/// A turn of the journal.
struct Recorded {
    id: String,
    text: String,
    answer: String,
    dialogues: Vec<Dialogue>,
}

/// A dialogue with a model, and the results of the calls in it.
struct Dialogue {
    is_orchestrator: bool,
    calls: Vec<ModelCall>,
    results: Vec<ToolCallRow>,
}

/// A turn as a model plays it now, beside what the journal says.
#[derive(Default, Serialize)]
struct Replayed {
    id: String,
    text: String,
    same_calls: usize,
    added: Vec<String>,
    missing: Vec<String>,
    changed: Vec<String>,
    /// Where they differ.
    answers: Option<Answers>,
    error: Option<String>,
    tokens: Usage,
    cost_usd: f64,
}

#[derive(Serialize)]
struct Answers {
    then: String,
    now: String,
}

#[derive(Serialize)]
struct ModelRun {
    model: String,
    /// Whether the cost is known of all calls.
    is_priced: bool,
    turns: Vec<Replayed>,
}

pub(super) async fn run(config: &Config, args: &ReplayArgs) -> Result<ExitCode> {
    let compared = models(config, &args.model)?;
    let recorded = on_store(config, async |store| recorded(store, config, args).await).await?;
    if recorded.is_empty() {
        return Err(CliError::plain(words::nothing()));
    }
    let (clock, mut runs): (SharedClock, _) = (Arc::new(SystemClock), Vec::new());
    for (name, model) in compared {
        let models = service::build_models(&Config { model, ..config.clone() }, &clock)?;
        let is_priced = [&models.orchestrator, &models.agent].iter().all(|model| model.price().is_some());
        let mut run = ModelRun { model: name, is_priced, turns: Vec::new() };
        for turn in &recorded {
            let mut replayed = Replayed::new(turn);
            for dialogue in &turn.dialogues {
                let model = if dialogue.is_orchestrator { &models.orchestrator } else { &models.agent };
                replayed.hold(&**model, dialogue, &turn.answer).await;
            }
            if !args.json {
                out(&replayed.text(&run.model))?;
            }
            run.turns.push(replayed);
        }
        runs.push(run);
    }
    say(&if args.json { json(&runs)? } else { format!("\n{}", summary(&recorded, &runs)) })
}

/// The turns to replay, oldest first: those that a model answered, and whose texts are still there.
async fn recorded(store: &Store, config: &Config, args: &ReplayArgs) -> Result<Vec<Recorded>> {
    let midnight =
        |day: chrono::NaiveDate| local_to_utc(day.and_time(NaiveTime::MIN), config.assistant.timezone);
    let since = args.since.map_or(0, |day| midnight(day).timestamp_millis());
    let usual = if args.since.is_some() { u32::MAX } else { TURNS };
    let mut all = Vec::new();
    for turn in turns::replayable(store, since, args.last.unwrap_or(usual).into()).await? {
        let trace = trace::load(store, &turn, true).await?;
        let mut dialogues = Vec::new();
        for execution in trace.executions {
            let by_model = |call: &ModelCall| ![BASIC_MODE, NO_MODEL].contains(&call.model.as_str());
            let calls = execution.calls.unwrap_or_default().into_iter();
            let calls: Vec<ModelCall> = calls.filter(|call| call.error.is_none() && by_model(call)).collect();
            if !calls.is_empty() {
                let results = calls::tools_of_execution(store, &execution.id).await?;
                let is_orchestrator = execution.kind == ExecutionKind::Orchestrator;
                dialogues.push(Dialogue { is_orchestrator, calls, results });
            }
        }
        let answer = turn.answer.unwrap_or_default();
        all.push(Recorded { id: turn.id.into(), text: turn.text, answer, dialogues });
    }
    all.retain(|turn| !turn.dialogues.is_empty());
    all.reverse();
    Ok(all)
}

impl Replayed {
    fn new(turn: &Recorded) -> Self {
        Self { id: turn.id.clone(), text: turn.text.clone(), ..Self::default() }
    }

    /// Holds a dialogue until the model answers, or until it has done all that ended the dialogue then.
    async fn hold(&mut self, model: &dyn Model, dialogue: &Dialogue, answer: &str) {
        let Some(first) = dialogue.calls.first() else { return };
        let mut messages = first.request.messages.clone();
        let mut left: Vec<&ToolCallRow> = dialogue.results.iter().collect();
        let mut added = Vec::new();
        // While all goes as it went then, the next request is the next one of the journal.
        let mut as_then = Some(0);
        for _ in 0..MAX_ROUNDS {
            let tools = first.request.tools.clone();
            let request = Request { messages: messages.clone(), tools, stable: None, live: None };
            let response = match model.call(&request).await {
                Ok(response) => response,
                Err(error) => {
                    self.error = Some(error.message);
                    return self.note(added, left);
                }
            };
            self.tokens += response.usage;
            self.cost_usd += response.cost_usd;
            if response.tool_calls.is_empty() {
                // An agent's words are for the orchestrator. What was said then, a model didn't always write.
                let last = dialogue.calls.last().map(|call| &call.response);
                let then = last.filter(|last| last.tool_calls.is_empty()).map_or(answer, |last| &last.text);
                if dialogue.is_orchestrator && then.trim() != response.text.trim() {
                    self.answers = Some(Answers { then: then.to_owned(), now: response.text });
                }
                return self.note(added, left);
            }
            let then = as_then.and_then(|at: usize| dialogue.calls.get(at)).map(|call| &call.response);
            let goes_as_then = then.is_some_and(|then| {
                then.tool_calls.len() == response.tool_calls.len()
                    && then.tool_calls.iter().zip(&response.tool_calls).all(|(then, now)| is_same(then, now))
            });
            let mut results = Vec::with_capacity(response.tool_calls.len());
            for call in &response.tool_calls {
                let found = left.iter().position(|row| is_same(&tool_call(row), call));
                let row = found.map(|at| left.remove(at));
                self.same_calls += usize::from(row.is_some());
                if row.is_none() {
                    added.push(call.clone());
                }
                let result = row.and_then(|row| row.result.clone()).map(PromptText::recorded);
                results.push(Message::tool(&call.id, result.unwrap_or_else(|| HELD_BACK.into())));
            }
            as_then = as_then.filter(|_| goes_as_then).map(|at| at + 1);
            if let Some(at) = as_then {
                let Some(next) = dialogue.calls.get(at) else { return self.note(added, left) };
                messages.clone_from(&next.request.messages);
                continue;
            }
            let text = PromptText::of_model(&response.text);
            messages.push(Message { tool_calls: response.tool_calls, ..Message::new(Role::Assistant, text) });
            messages.extend(results);
        }
        self.error = Some(words::endless(MAX_ROUNDS));
        self.note(added, left);
    }

    /// Notes the calls that only one of them has made; two of the same skill are one that has changed.
    fn note(&mut self, added: Vec<ToolCall>, left: Vec<&ToolCallRow>) {
        let mut missing: Vec<ToolCall> = left.into_iter().map(tool_call).collect();
        for call in added {
            let (skill, now) = shown(&call);
            match missing.iter().position(|missing| shown(missing).0 == skill) {
                Some(at) => {
                    let (_, then) = shown(&missing.remove(at));
                    self.changed.push(words::instead(skill, now, then));
                }
                None => self.added.push(format!("{skill} {now}")),
            }
        }
        self.missing.extend(missing.iter().map(|call| {
            let (skill, then) = shown(call);
            format!("{skill} {then}")
        }));
    }

    fn differing(&self) -> usize {
        self.added.len() + self.missing.len() + self.changed.len()
    }

    fn is_same(&self) -> bool {
        self.differing() == 0 && self.answers.is_none() && self.error.is_none()
    }

    fn text(&self, model: &str) -> String {
        let width = columns();
        let mark = if self.is_same() { "✓" } else { "✗" };
        let mut text = cut(&format!("{mark} {}: {}", one_line(model), one_line(&self.text)), width) + "\n";
        let mut line = |line: String| {
            let _ = writeln!(text, "  {}", one_line(&line));
        };
        self.added.iter().for_each(|call| line(words::added(call)));
        self.missing.iter().for_each(|call| line(words::missing(call)));
        self.changed.iter().for_each(|call| line(words::changed(call)));
        self.error.iter().for_each(|error| line(words::failed(error)));
        if let Some(Answers { then, now }) = &self.answers {
            let column = (width.saturating_sub(5) / 2).max(10);
            let _ = writeln!(text, "  {} │ {}", fit(&words::then(), column), words::now());
            let (then, now) = (fit(&one_line(then), column), cut(&one_line(now), column));
            let _ = writeln!(text, "  {then} │ {now}");
        }
        text
    }
}

fn tool_call(row: &ToolCallRow) -> ToolCall {
    ToolCall { id: row.call_id.clone(), name: row.name.clone(), arguments: row.arguments.clone() }
}

/// A call without what says only how it is called: an agent's name, and the words of a mission that has its arguments.
fn essence(call: &ToolCall) -> Value {
    let Ok(mut arguments) = serde_json::from_str::<Map<String, Value>>(&call.arguments) else {
        return Value::from(call.arguments.as_str());
    };
    arguments.remove("agent_id");
    if arguments.contains_key("arguments") {
        arguments.remove("mission");
    }
    Value::Object(arguments)
}

fn is_same(then: &ToolCall, now: &ToolCall) -> bool {
    then.name == now.name && essence(then) == essence(now)
}

/// The skill of a call, or its tool, and its arguments.
fn shown(call: &ToolCall) -> (String, Value) {
    let mut essence = essence(call);
    let skill = match (&essence["skill"], &essence["skills"]) {
        (Value::String(skill), _) => Some(skill.clone()),
        (_, Value::Array(skills)) => {
            let names: Vec<&str> = skills.iter().filter_map(Value::as_str).collect();
            Some(names.join(", ")).filter(|names| !names.is_empty())
        }
        _ => None,
    };
    let arguments = essence.get_mut("arguments").map(Value::take);
    (skill.unwrap_or_else(|| call.name.clone()), arguments.unwrap_or(essence))
}

/// The journal beside the models: what was the same, and what it took.
fn summary(recorded: &[Recorded], runs: &[ModelRun]) -> String {
    let calls_then = || recorded.iter().flat_map(|turn| &turn.dialogues).flat_map(|dialogue| &dialogue.calls);
    let (mut used, mut spent) = (Usage::default(), 0.0);
    for call in calls_then() {
        used += call.usage;
        spent += call.cost_usd;
    }
    let number = |number: usize| count(u64::try_from(number).unwrap_or(u64::MAX));
    let results = recorded.iter().flat_map(|turn| &turn.dialogues).map(|dialogue| dialogue.results.len());
    let row = |name: String, then: String, now: &dyn Fn(&ModelRun) -> String| -> Vec<String> {
        [name, then].into_iter().chain(runs.iter().map(now)).collect()
    };
    let all = |run: &ModelRun, of: fn(&Replayed) -> usize| number(run.turns.iter().map(of).sum());
    let tokens =
        |run: &ModelRun, of: fn(&Usage) -> u64| count(run.turns.iter().map(|turn| of(&turn.tokens)).sum());
    let now_spent = |run: &ModelRun| {
        let usd = cost(run.turns.iter().map(|turn| turn.cost_usd).sum());
        if run.is_priced { usd } else { words::unpriced(usd) }
    };
    let rows = [
        row(words::turns(), number(recorded.len()), &|run| number(run.turns.len())),
        row(words::same_turns(), String::new(), &|run| all(run, |turn| turn.is_same().into())),
        row(words::same_calls(), number(results.sum()), &|run| all(run, |turn| turn.same_calls)),
        row(words::differing_calls(), String::new(), &|run| all(run, Replayed::differing)),
        row(words::differing_answers(), String::new(), &|run| all(run, |turn| turn.answers.is_some().into())),
        row(words::tokens_in(), count(used.prompt), &|run| tokens(run, |used| used.prompt)),
        row(words::tokens_out(), count(used.completion), &|run| tokens(run, |used| used.completion)),
        row(words::cost(), cost(spent), &now_spent),
    ];
    let journal = words::journal();
    let head: Vec<&str> =
        ["", journal.as_str()].into_iter().chain(runs.iter().map(|run| run.model.as_str())).collect();
    table(&head, &rows, 0)
}
