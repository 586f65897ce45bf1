//! A model's requests and answers, rebuilt from what the journal keeps of them: see
//! [`adjutant_turn::journal::dialogue`], which writes it.

use std::collections::HashMap;

use adjutant_models::{Message, Role, Tool, ToolCall, Usage};
use adjutant_store::calls::{self, CallRow, ToolCallRow};
use adjutant_store::{Result, Store, StoreError};
use adjutant_types::{ExecutionId, PromptText};
use serde::Serialize;

use super::usage;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelCall {
    /// Its number within the execution, from 0.
    pub n: i64,
    pub model: String,
    pub request: Request,
    pub response: Response,
    pub usage: Usage,
    pub cost_usd: f64,
    /// Why there was no answer.
    pub error: Option<String>,
    pub duration_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// All messages, the stable beginning first.
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
}

/// The answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Response {
    pub text: String,
    pub tool_calls: Vec<ToolCall>,
}

/// The calls of one execution, each with its whole request.
pub(super) async fn rebuild(
    store: &Store,
    execution: &ExecutionId,
    rows: Vec<CallRow>,
) -> Result<Vec<ModelCall>> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let mut dialogue: Vec<Message> =
        read(first.first_messages.as_deref().unwrap_or("[]"), "first messages", execution)?;
    let mut tools_of: HashMap<i64, Vec<ToolCallRow>> = HashMap::new();
    for tool in calls::tools_of_execution(store, execution).await? {
        tools_of.entry(tool.n).or_default().push(tool);
    }
    let mut prefixes = HashMap::new();
    let mut calls = Vec::with_capacity(rows.len());
    for row in rows {
        if !prefixes.contains_key(&row.prefix) {
            prefixes.insert(row.prefix.clone(), beginning(store, &row.prefix).await?);
        }
        let (system, tools) = prefixes.get(&row.prefix).cloned().unwrap_or_default();
        let messages = system.into_iter().chain(dialogue.iter().cloned()).collect();
        let answered = tools_of.remove(&row.n).unwrap_or_default();
        let response =
            Response { text: row.text.clone(), tool_calls: answered.iter().map(tool_call).collect() };
        if row.error.is_none() {
            let tool_calls = response.tool_calls.clone();
            dialogue.push(Message {
                tool_calls,
                ..Message::new(Role::Assistant, PromptText::recorded(row.text.clone()))
            });
            dialogue.extend(answered.into_iter().map(|call| {
                Message::tool(call.call_id, PromptText::recorded(call.result.unwrap_or_default()))
            }));
        }
        calls.push(ModelCall {
            n: row.n,
            usage: usage(&row),
            model: row.model,
            request: Request { messages, tools },
            response,
            cost_usd: row.cost_usd,
            error: row.error,
            duration_ms: row.duration_ms,
        });
    }
    Ok(calls)
}

/// The stable beginning: nothing when it is not kept any more.
async fn beginning(store: &Store, hash: &str) -> Result<(Option<Message>, Vec<Tool>)> {
    let Some((system, tools)) = calls::prefix(store, hash).await? else { return Ok((None, Vec::new())) };
    Ok((Some(Message::new(Role::System, PromptText::recorded(system))), read(&tools, "tools", hash)?))
}

fn tool_call(row: &ToolCallRow) -> ToolCall {
    ToolCall { id: row.call_id.clone(), name: row.name.clone(), arguments: row.arguments.clone() }
}

fn read<T: serde::de::DeserializeOwned>(json: &str, what: &str, of: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| StoreError::Corrupt(format!("the {what} of {of}: {error}")))
}
