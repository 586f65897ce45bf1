//! The input and output of an execution.

use adjutant_l10n::page_talk;
use adjutant_models::{Message, Role};
use adjutant_store::{Result, executions, timeline, turns};
use adjutant_turn::wording;
use adjutant_types::{ExecutionId, ExecutionKind};
use adjutant_web::views::{Details, Viewer};
use adjutant_workflows::trace::{self, ModelCall};

use super::WebBackend;

/// The longest text of one part, in characters.
const MAX_LENGTH: usize = 20_000;

impl WebBackend {
    pub(super) async fn details_of(
        &self,
        viewer: &Viewer,
        execution: &ExecutionId,
    ) -> Result<Option<Details>> {
        let store = &self.store;
        let Some(turn) = timeline::turn_of(store, execution).await? else { return Ok(None) };
        if self.visible(viewer, &turn).await?.is_none() {
            return Ok(None);
        }
        let rows = executions::of_turn(store, &turn).await?;
        let Some(row) = rows.into_iter().find(|row| row.id == *execution) else { return Ok(None) };
        let mut parts = Vec::new();
        let task: serde_json::Value =
            row.task.as_deref().and_then(|task| serde_json::from_str(task).ok()).unwrap_or_default();
        let fields = [
            (page_talk::task(), task["mission"].as_str().map(str::to_owned)),
            (page_talk::input(), row.task),
            (page_talk::input(), row.parameters),
            (page_talk::result(), row.result),
            (page_talk::data(), row.data),
            (page_talk::error(), row.error),
        ];
        for (name, text) in fields {
            parts.extend(text.map(|text| (name, readable(&text))));
        }
        parts.extend(row.basis.as_ref().map(|basis| (page_talk::allowed_by(), basis.to_string())));
        parts.extend((!row.taint.is_clean()).then(|| (page_talk::from_outside(), row.taint.stored())));
        let wishes = turns::wishes(store, &turn).await?.filter(|_| row.kind == ExecutionKind::Orchestrator);
        if let Some(wishes) = wishes.and_then(|wishes| serde_json::from_str(&wishes).ok()) {
            parts.push((page_talk::wishes(), wording::wishes::asked_for(&wishes)));
        }
        let mut seen = 0;
        for call in trace::calls_of(store, execution).await? {
            model_call(&mut parts, &call, &mut seen);
        }
        for (_, text) in &mut parts {
            if let Some((end, _)) = text.char_indices().nth(MAX_LENGTH) {
                text.truncate(end);
                text.push('…');
            }
        }
        let title = row.skill.or(row.agent_id).unwrap_or_else(|| row.kind.to_string());
        Ok(Some(Details { turn: turn.to_string(), title, parts }))
    }
}

/// JSON on several lines; anything else as it is.
fn readable(text: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let json = json.filter(|value| value.is_object() || value.is_array());
    json.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| text.to_owned())
}

/// What a call adds to the ones before it: `seen` of its messages were shown.
fn model_call(parts: &mut Vec<(String, String)>, call: &ModelCall, seen: &mut usize) {
    let number = call.n + 1;
    let new: Vec<&Message> = call.request.messages.iter().skip(*seen).collect();
    let mut asked = String::new();
    for message in &new {
        let who = match message.role {
            Role::System => page_talk::model_instructions(),
            Role::User => page_talk::model_message(),
            Role::Assistant => page_talk::model_said(),
            Role::Tool => page_talk::model_result(),
        };
        asked.push_str(&format!("{who}:\n{}\n\n", message.text));
    }
    *seen = call.request.messages.len() + usize::from(call.error.is_none());
    parts.push((page_talk::model_asked(number, &call.model), asked.trim_end().to_owned()));
    let mut answered = call.error.clone().unwrap_or_else(|| call.response.text.clone());
    for tool in &call.response.tool_calls {
        answered.push_str(&format!("\n\n{} {}", tool.name, readable(&tool.arguments)));
    }
    parts.push((page_talk::model_answered(number), answered.trim().to_owned()));
}
