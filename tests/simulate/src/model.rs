//! A model that does what it is told: it calls a skill for each wish that it hasn't called one for, and then answers.

use std::sync::Arc;

use adjutant_models::{Model, ModelError, ModelErrorKind, ModelResponse, Request, Role, ToolCall};
use async_trait::async_trait;
use serde_json::json;

use crate::history::{Kind, Wish};
use crate::process::Process;

pub(crate) struct Obeying(pub(crate) Arc<Process>);

#[async_trait]
impl Model for Obeying {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        self.0.pass("model: request").await;
        let thinks = self.0.world.lock().random.of_any_size(2_047);
        tokio::time::sleep(std::time::Duration::from_millis(thinks)).await;
        self.0.pass("model: reply").await;
        if self.0.world.fails(|rates| rates.model_fails, || "the model fails".to_owned()) {
            return Err(ModelError::new(ModelErrorKind::Network, "the line is cut"));
        }
        Ok(answer(request))
    }
}

fn answer(request: &Request) -> ModelResponse {
    let says = |text: String| ModelResponse { text, model: "obeying".into(), ..ModelResponse::default() };
    if !request.tools.iter().any(|tool| tool.name == "dispatch_agent") {
        let is_clean_room = request.messages[0].text.starts_with("You read what a person asks");
        return says(if is_clean_room { r#"{"wishes":[]}"#.to_owned() } else { "Nothing.".to_owned() });
    }
    // Earlier turns end with an answer without calls.
    let is_answer = |role: Role, calls: &[ToolCall]| role == Role::Assistant && calls.is_empty();
    let begin = request.messages.iter().rposition(|message| is_answer(message.role, &message.tool_calls));
    let turn = &request.messages[begin.map_or(0, |at| at + 1)..];
    let heard = turn.iter().filter(|message| matches!(message.role, Role::User | Role::Tool));
    let mut wishes: Vec<Wish> = heard.flat_map(|message| Wish::all(&message.text)).collect();
    wishes.sort_unstable();
    wishes.dedup();
    let earlier: Vec<&ToolCall> = turn.iter().flat_map(|message| &message.tool_calls).collect();
    let name = |wish: &Wish| format!("w{}", wish.number);
    let is_called = |wish: &Wish| {
        let id = format!("\"{}\"", name(wish));
        earlier.iter().any(|call| call.arguments.contains(&id))
    };
    let open = wishes.iter().filter(|wish| wish.kind != Kind::Talk && !is_called(wish));
    let calls = request.messages.iter().map(|message| message.tool_calls.len()).sum::<usize>();
    let tool_calls: Vec<ToolCall> = open
        .enumerate()
        .map(|(at, wish)| {
            let (skill, arguments) = match wish.kind {
                Kind::Mail => {
                    let (to, number) = ("dana@elsewhere.test", wish.number);
                    ("email.send", json!({"to": [to], "subject": format!("M{number}"), "body": "Hello."}))
                }
                Kind::Task | Kind::Talk => ("tasks.create", json!({"title": format!("T{}", wish.number)})),
            };
            let arguments = json!({
                "agent_id": name(wish), "mission": format!("Do {}", name(wish)), "skills": [skill], "arguments": arguments,
            });
            let id = format!("call_{}", calls + at + 1);
            ToolCall { id, name: "dispatch_agent".into(), arguments: arguments.to_string() }
        })
        .collect();
    if tool_calls.is_empty() {
        let names: Vec<String> = wishes.iter().map(name).collect();
        return says(format!("Answered {}.", names.join(", ")));
    }
    ModelResponse { tool_calls, model: "obeying".into(), ..ModelResponse::default() }
}
