//! The result of a call, as a skill's output. All of it is text from outside.

use adjutant_l10n::mcp;
use adjutant_types::invisible_chars::line;
use adjutant_types::{FromConfig, ours};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::handlers::http::{self, shorten};
use crate::{Output, SkillError};

/// How much structured data is kept.
const MAX_DATA: usize = 64 * 1024;
/// How much of a tool's error is kept, in characters.
const MAX_ERROR: usize = 500;

/// Reads a result. What the tool itself calls an error is one: as the protocol has it, other arguments may help.
pub(super) fn read(server: &str, done: CallToolResult) -> Result<Output, SkillError> {
    let mut text = done.content.iter().map(block).collect::<Vec<_>>().join("\n");
    if done.is_error == Some(true) {
        let message = line(&text, MAX_ERROR);
        return Err(SkillError::params(match message.is_empty() {
            true => ours!(mcp::failed_silently, FromConfig(server)),
            false => ours!(mcp::answered, FromConfig(server), message),
        }));
    }
    shorten(&mut text);
    let data = done.structured_content.or_else(|| table_in(&text)).unwrap_or_default();
    let data = if data.to_string().len() <= MAX_DATA { data } else { Value::Null };
    if text.trim().is_empty() {
        text = match &data {
            Value::Null => mcp::nothing_said(server),
            data => data.to_string(),
        };
    }
    Ok(Output::new(text, data))
}

/// The same without our secrets, in case the server repeats them.
pub(super) fn without(output: Output, secrets: &[String]) -> Output {
    let data = match &output.data {
        Value::Null => Value::Null,
        data => serde_json::from_str(&http::without(data.to_string(), secrets)).unwrap_or_default(),
    };
    Output { summary: http::without(output.summary, secrets), data, ..output }
}

/// A text that is a table or a list in JSON.
fn table_in(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text).ok().filter(|value| value.is_object() || value.is_array())
}

fn block(block: &ContentBlock) -> String {
    let bytes = |encoded: &str| encoded.len() / 4 * 3;
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => mcp::picture(line(&image.mime_type, 40), bytes(&image.data)),
        ContentBlock::Audio(audio) => mcp::recording(line(&audio.mime_type, 40), bytes(&audio.data)),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[{}]\n{text}", line(uri, 200))
            }
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                mcp::file(line(uri, 200), bytes(blob))
            }
            _ => mcp::unknown_content(),
        },
        ContentBlock::ResourceLink(link) => mcp::link(line(&link.name, 100), line(&link.uri, 200)),
        _ => mcp::unknown_content(),
    }
}
