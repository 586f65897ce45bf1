//! What a server offers besides tools, each kind as one skill: without a name it lists them, with one it reads that.
//! Models read only our own words of it beforehand, so a server's list may grow without another approval.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, Role,
};
use rmcp::service::Peer;
use rmcp::{RoleClient, ServiceError};
use serde::Serialize;
use serde_json::{Value, json};

use super::McpTool;
use super::definition::Definition;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    Resources,
    Prompts,
}

impl Offer {
    /// What an accepted tool reads, unless it is the server's own tool of that name.
    pub(super) fn of(tool: &McpTool) -> Option<Self> {
        [Self::Resources, Self::Prompts].into_iter().find(|offer| {
            let definition = offer.definition();
            definition.name == tool.name && definition.digest() == tool.digest
        })
    }

    /// Those of which a server has any.
    pub(super) async fn all_of(peer: &Peer<RoleClient>) -> Vec<Self> {
        let Some(info) = peer.peer_info() else { return Vec::new() };
        let mut offers = Vec::new();
        for offer in [Self::Resources, Self::Prompts] {
            let is_declared = match offer {
                Self::Resources => info.capabilities.resources.is_some(),
                Self::Prompts => info.capabilities.prompts.is_some(),
            };
            if is_declared && offer.list(peer, None).await.is_ok_and(|(items, _)| !items.is_empty()) {
                offers.push(offer);
            }
        }
        offers
    }

    /// The skill that reads them.
    pub(super) fn definition(self) -> Definition {
        let (name, description) = match self {
            Self::Resources => ("resources/read", "Read a resource by its name or uri, or list them"),
            Self::Prompts => ("prompts/get", "Get a prompt by its name, or list them"),
        };
        let mut properties = json!({
            "name": {"type": "string", "description": "As in the list; without it, you get the list"},
            "cursor": {"type": "string", "description": "Where the list goes on, if it's long"},
        });
        if self == Self::Prompts {
            properties["arguments"] = json!({"type": "object", "additionalProperties": {"type": "string"}});
        }
        Definition {
            name: name.to_owned(),
            title: None,
            description: Some(description.to_owned()),
            schema: json!({"type": "object", "properties": properties}),
            output: None,
            hints: json!({"readOnlyHint": true}),
        }
    }

    /// A page of their list, and where it goes on.
    async fn list(
        self,
        peer: &Peer<RoleClient>,
        cursor: Option<String>,
    ) -> Result<(Vec<Value>, Option<String>), ServiceError> {
        let is_first = cursor.is_none();
        let page = Some(PaginatedRequestParams::default().with_cursor(cursor));
        if self == Self::Prompts {
            let page = peer.list_prompts(page).await?;
            return Ok((listed(page.prompts), page.next_cursor));
        }
        let page = peer.list_resources(page).await?;
        let mut items = listed(page.resources);
        // Not every server with resources knows this question.
        if is_first && let Ok(page) = peer.list_resource_templates(None).await {
            items.extend(listed(page.resource_templates));
        }
        Ok((items, page.next_cursor))
    }

    /// Reads the one that a call names, or lists them.
    pub(super) async fn read(
        self,
        peer: &Peer<RoleClient>,
        call: CallToolRequestParams,
    ) -> Result<CallToolResponse, ServiceError> {
        let arguments = Value::from(call.arguments.unwrap_or_default());
        let name = arguments["name"].as_str().unwrap_or_default().trim();
        if name.is_empty() {
            let (items, next) = self.list(peer, arguments["cursor"].as_str().map(str::to_owned)).await?;
            return Ok(CallToolResult::structured(json!({"items": items, "cursor": next})).into());
        }
        let content = match self {
            Self::Resources => {
                let (items, _) = self.list(peer, None).await.unwrap_or_default();
                let named = items.iter().find(|item| item["name"] == name || item["title"] == name);
                let uri = named.and_then(|item| item["uri"].as_str()).unwrap_or(name);
                let done = peer.read_resource(ReadResourceRequestParams::new(uri)).await?;
                done.contents.into_iter().map(ContentBlock::resource).collect()
            }
            Self::Prompts => {
                let mut wanted = GetPromptRequestParams::new(name);
                wanted.arguments = arguments["arguments"].as_object().cloned();
                let done = peer.get_prompt(wanted).await?;
                let messages = done.messages.into_iter().flat_map(|message| {
                    let role = if message.role == Role::User { "user:" } else { "assistant:" };
                    [ContentBlock::text(role), message.content]
                });
                messages.collect()
            }
        };
        Ok(CallToolResult::success(content).into())
    }
}

/// The items of a list as a model reads them.
fn listed<T: Serialize>(items: Vec<T>) -> Vec<Value> {
    let items = items.into_iter().filter_map(|item| serde_json::to_value(item).ok());
    let mut items: Vec<Value> = items.collect();
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        item.retain(|key, _| !matches!(key.as_str(), "icons" | "annotations" | "_meta" | "size"));
    }
    items
}
