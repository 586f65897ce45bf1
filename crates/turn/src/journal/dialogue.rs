//! The dialogue with a model in one execution: the requests and the responses, rebuilt from the journal.
//!
//! Properties:
//!
//! - Every recorded tool call is answered before the next request.
//! - After a crash, a rebuilt request has the same bytes as before.
//! - The stable beginning is stored once.

use std::collections::HashSet;
use std::sync::Arc;

use adjutant_models::{Message, ModelError, ModelResponse, Request, Role, Tool, ToolCall};
use adjutant_store::calls::{self, CallRow, ToolCallRow};
use adjutant_store::{Batch, Result, Store, StoreError, first_messages};
use adjutant_types::{ExecutionId, PromptText};
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::FirstMessages;

/// The stable beginning of a model's requests: the same bytes for every turn with the same skills.
#[derive(Debug)]
pub struct Prefix {
    /// Message 0.
    pub system: PromptText,
    /// The tools, in their fixed order.
    pub tools: Vec<Tool>,
    hash: String,
    stored: OnceCell<()>,
}

impl Prefix {
    pub fn new(system: PromptText, tools: Vec<Tool>) -> Arc<Self> {
        let digest =
            Sha256::new().chain_update(system.as_str()).chain_update([0]).chain_update(tools_json(&tools));
        let hash = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Arc::new(Self { system, tools, hash, stored: OnceCell::new() })
    }

    /// Stores the prefix, once per process.
    async fn store_once(&self, store: &Store) -> Result<()> {
        let write = || async {
            let mut batch = Batch::new();
            calls::insert_prefix(&mut batch, &self.hash, &self.system, &tools_json(&self.tools));
            store.write(batch).await.map(|_| ())
        };
        self.stored.get_or_try_init(write).await?;
        Ok(())
    }
}

fn tools_json(tools: &[Tool]) -> String {
    serde_json::to_string(tools).unwrap_or_default()
}

/// One response of the model and the results of the tool calls in it.
#[derive(Debug, Clone)]
pub struct Round {
    /// The number of the model call in the execution.
    pub n: i64,
    pub model: String,
    pub text: String,
    /// Its tool calls, with the results so far.
    pub calls: Vec<ToolCallRow>,
}

#[derive(Debug)]
pub struct Dialogue {
    execution: ExecutionId,
    prefix: Arc<Prefix>,
    first_messages: FirstMessages,
    /// Whether they are stored with all messages of earlier turns.
    is_whole: bool,
    rounds: Vec<Round>,
    /// How many model calls are recorded, including failed ones.
    recorded: i64,
    /// Results of the last round that aren't stored yet.
    unsaved: HashSet<i64>,
}

impl Dialogue {
    pub async fn begin(
        store: &Store,
        execution: ExecutionId,
        prefix: Arc<Prefix>,
        first_messages: impl Into<FirstMessages>,
    ) -> Result<Self> {
        prefix.store_once(store).await?;
        Ok(Self {
            execution,
            prefix,
            first_messages: first_messages.into(),
            is_whole: false,
            rounds: Vec::new(),
            recorded: 0,
            unsaved: HashSet::new(),
        })
    }

    /// Loads a dialogue from the journal; none if no model call is recorded yet.
    pub async fn load(store: &Store, execution: &ExecutionId, prefix: Arc<Prefix>) -> Result<Option<Self>> {
        let calls = calls::of_execution(store, execution).await?;
        let Some(first) = calls.first() else { return Ok(None) };
        let first_messages: Vec<Message> =
            serde_json::from_str(first.first_messages.as_deref().unwrap_or("[]")).map_err(|error| {
                StoreError::Corrupt(format!("the first messages of {execution}: {error}"))
            })?;
        let mut tools = calls::tools_of_execution(store, execution).await?;
        let recorded = calls.last().map_or(0, |call| call.n + 1);
        let mut rounds = Vec::new();
        for call in calls.into_iter().filter(|call| call.error.is_none()) {
            let (of_this, rest) = tools.into_iter().partition(|tool| tool.n == call.n);
            tools = rest;
            rounds.push(Round { n: call.n, model: call.model, text: call.text, calls: of_this });
        }
        let begun = Self::begin(store, execution.to_owned(), prefix, first_messages).await?;
        Ok(Some(Self { rounds, recorded, ..begun }))
    }

    /// The next request. Make it only if nothing is [`Self::unanswered`].
    pub fn request(&self) -> Request {
        let mut messages =
            Vec::with_capacity(2 + self.first_messages.messages().len() + self.rounds.len() * 3);
        messages.push(Message::new(Role::System, self.prefix.system.clone()));
        messages.extend(self.first_messages.messages().iter().cloned());
        for round in &self.rounds {
            let tool_calls = round
                .calls
                .iter()
                .map(|call| ToolCall {
                    id: call.call_id.clone(),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                })
                .collect();
            messages.push(Message {
                tool_calls,
                ..Message::new(Role::Assistant, PromptText::of_model(&round.text))
            });
            for call in &round.calls {
                let result = call.result.clone().unwrap_or_default();
                messages.push(Message::tool(call.call_id.clone(), PromptText::recorded(result)));
            }
        }
        let stable = self.first_messages.stable();
        Request { messages, tools: self.prefix.tools.clone(), stable, live: None }
    }

    /// The last round, if a tool call in it has no result yet.
    pub fn unanswered(&self) -> Option<&Round> {
        self.rounds.last().filter(|round| round.calls.iter().any(|call| call.result.is_none()))
    }

    /// The final answer: the last round's text, if it has no tool calls.
    pub fn final_text(&self) -> Option<&str> {
        self.rounds.last().filter(|round| round.calls.is_empty()).map(|round| round.text.as_str())
    }

    pub fn first_messages(&self) -> &[Message] {
        self.first_messages.messages()
    }

    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    pub fn recorded(&self) -> i64 {
        self.recorded
    }

    /// Sets the result of a tool call of the last round; the next [`Self::flush`] or [`Self::record`] stores it.
    pub fn set_result(&mut self, idx: i64, result: PromptText) {
        let Some(round) = self.rounds.last_mut() else { return };
        if let Some(call) = round.calls.iter_mut().find(|call| call.idx == idx && call.result.is_none()) {
            call.result = Some(result.into());
            self.unsaved.insert(idx);
        }
    }

    /// Adds a note to the last result: the only way to tell the model something during a turn.
    pub fn note(&mut self, note: impl Into<PromptText>) {
        let Some(call) = self.rounds.last_mut().and_then(|round| round.calls.last_mut()) else { return };
        if self.unsaved.contains(&call.idx) || call.result.is_none() {
            let result = call.result.get_or_insert_default();
            if !result.is_empty() {
                result.push('\n');
            }
            result.push_str(note.into().as_str());
            self.unsaved.insert(call.idx);
        }
    }

    /// The last result with what the person has just written behind it; none before the first result.
    pub fn with_words(&self, text: &PromptText) -> Option<ToolCallRow> {
        let mut call = self.rounds.last()?.calls.last()?.clone();
        call.result.get_or_insert_default().push_str(text.as_str());
        Some(call)
    }

    /// Takes over a result of the last round that is stored.
    pub fn replace_result(&mut self, stored: ToolCallRow) {
        let calls = self.rounds.last_mut().map(|round| &mut round.calls);
        if let Some(call) = calls.into_iter().flatten().find(|call| call.idx == stored.idx) {
            *call = stored;
            // A note may follow.
            self.unsaved.insert(call.idx);
        }
    }

    /// Adds the unsaved results to the batch.
    pub fn flush(&mut self, batch: &mut Batch) {
        let Some(round) = self.rounds.last() else { return };
        for call in round.calls.iter().filter(|call| self.unsaved.contains(&call.idx)) {
            calls::set_tool_result(batch, call);
        }
        self.unsaved.clear();
    }

    /// Adds a model's response to the batch, after the unsaved results.
    pub fn record(&mut self, store: &Store, batch: &mut Batch, response: &ModelResponse, started: i64) {
        self.flush(batch);
        self.record_row(store, batch, response, None, started);
        let n = self.recorded - 1;
        let calls = self.rounds.iter().flat_map(|round| &round.calls);
        let mut used: HashSet<String> = calls.map(|call| call.call_id.clone()).collect();
        let mut rows = Vec::with_capacity(response.tool_calls.len());
        for (idx, call) in (0_i64..).zip(&response.tool_calls) {
            let mut call_id = call.id.clone();
            // Some models restart their call numbers in every response.
            if call_id.is_empty() || !used.insert(call_id.clone()) {
                call_id = format!("{}call-{n}-{idx}", call.id);
                used.insert(call_id.clone());
            }
            let row = ToolCallRow {
                execution_id: self.execution.clone(),
                n,
                idx,
                call_id,
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                result: None,
            };
            calls::insert_tool_call(batch, &row);
            rows.push(row);
        }
        self.rounds.push(Round {
            n,
            model: response.model.clone(),
            text: response.text.clone(),
            calls: rows,
        });
    }

    /// Adds a failed model call to the batch. It is counted and shown in traces, but isn't part of later requests.
    pub fn record_failure(&mut self, store: &Store, batch: &mut Batch, error: &ModelError, started: i64) {
        self.flush(batch);
        let used = ModelResponse { usage: error.usage, cost_usd: error.cost_usd, ..ModelResponse::default() };
        self.record_row(store, batch, &used, Some(error.to_string()), started);
    }

    /// Names what earlier turns said instead of repeating it, in the batch that ends the turn. Not before: a dialogue that
    /// goes on begins with the same bytes, whatever becomes of those turns.
    pub fn shorten(&mut self, batch: &mut Batch) {
        if !std::mem::take(&mut self.is_whole) {
            return;
        }
        if self.first_messages.can_be_short() {
            first_messages::set(batch, &self.execution, self.first_messages.short());
        }
        if self.first_messages.keeps_summary() {
            first_messages::keep_summary(batch, &self.execution);
        }
    }

    fn record_row(
        &mut self,
        store: &Store,
        batch: &mut Batch,
        response: &ModelResponse,
        error: Option<String>,
        started: i64,
    ) {
        // A call that asks for nothing is recorded with the end of its turn; see `shorten`.
        let is_last = response.tool_calls.is_empty() && self.first_messages.can_be_short();
        let first_messages = (self.recorded == 0)
            .then(|| if is_last { self.first_messages.short() } else { self.first_messages.whole() });
        if is_last && first_messages.is_some() && self.first_messages.keeps_summary() {
            first_messages::keep_summary(batch, &self.execution);
        }
        self.is_whole |= first_messages.is_some() && !is_last;
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        calls::insert(
            batch,
            &CallRow {
                execution_id: self.execution.clone(),
                n: self.recorded,
                prefix: self.prefix.hash.clone(),
                first_messages,
                text: response.text.clone(),
                model: response.model.clone(),
                error,
                prompt_tokens: count(response.usage.prompt),
                cached_tokens: count(response.usage.cached),
                completion_tokens: count(response.usage.completion),
                cost_usd: response.cost_usd,
                started_at: started,
                duration_ms: store.now() - started,
            },
        );
        self.recorded += 1;
    }
}
