//! The result of a call, as a skill's output, and the files that stand in it. All of it is from outside.

use adjutant_files::file_name;
use adjutant_l10n::{mcp, sources};
use adjutant_store::Batch;
use adjutant_types::invisible_chars::{line, removed};
use adjutant_types::{FromConfig, ours};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rmcp::ServiceError;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value, json};

use super::McpTool;
use crate::builtin::CallContext;
use crate::file_store::{self, Fetched};
use crate::handlers::http::{self, shorten};
use crate::{Output, SkillError};

/// How much structured data is kept.
const MAX_DATA: usize = 64 * 1024;
/// How much of a tool's error is kept, in characters.
const MAX_ERROR: usize = 500;
/// A text that is shorter is no picture.
const MIN_PICTURE: usize = 40;

/// How pictures begin in base64, with their types.
const PICTURES: [(&str, &str); 4] =
    [("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];

/// How servers' libraries say that they can't ask in the stateless revision.
const IN_VAIN: [&str; 2] = ["server-initiated requests", "server-to-client requests"];

/// A file that stands in a result: its type, and its content.
pub(crate) type InlineFile = (String, Vec<u8>);

/// Reads a result. What the tool itself calls an error is one: as the protocol has it, other arguments may help.
pub(super) fn read(server: &str, done: CallToolResult) -> Result<(Output, Vec<InlineFile>), SkillError> {
    let mut files = Vec::new();
    let blocks: Vec<String> = done.content.iter().map(|content| block(content, &mut files)).collect();
    let mut text = removed(&blocks.join("\n")).into_owned();
    if done.is_error == Some(true) {
        let message = line(&text, MAX_ERROR);
        return Err(SkillError::params(match message.is_empty() {
            true => ours!(mcp::failed_silently, FromConfig(server)),
            false => ours!(mcp::answered, FromConfig(server), message),
        }));
    }
    // What is structured usually stands in the text, too.
    if let Some(mut table) = table_in(&text)
        && clean(&mut table, &mut files)
    {
        text = table.to_string();
    }
    shorten(&mut text);
    let mut data = done.structured_content.or_else(|| table_in(&text)).unwrap_or_default();
    clean(&mut data, &mut files);
    let data = if data.to_string().len() <= MAX_DATA { data } else { Value::Null };
    if text.trim().is_empty() {
        text = match &data {
            Value::Null => mcp::nothing_said(server),
            data => data.to_string(),
        };
    }
    Ok((Output::new(text, data), files))
}

/// The output with its files, stored like any that a skill fetches. One that can't be stored is only named.
pub(crate) async fn with_files(
    call: &CallContext<'_>,
    tool: &McpTool,
    mut output: Output,
    files: Vec<InlineFile>,
    writes: &mut Batch,
) -> Output {
    let mut items = Vec::new();
    for (number, (media_type, bytes)) in (1_usize..).zip(&files) {
        let ending = media_type.split(['/', ';', '+']).nth(1).unwrap_or("bin");
        let name = format!("{}-{number}.{ending}", tool.server);
        let source = sources::service_file(file_name(&name), &tool.server);
        let fetched = Fetched { name: &name, media_type, source, origin: tool.name.clone(), bytes };
        match file_store::store(call, fetched, writes).await {
            Ok(file) => items.push(file_store::name_in(&mut output, &file)),
            Err(error) => tracing::warn!(%error, server = %tool.server, "a file in a result isn't stored"),
        }
    }
    match &mut output.data {
        _ if items.is_empty() => {}
        Value::Object(data) => drop(data.insert("files".to_owned(), items.into())),
        data @ Value::Null => *data = json!({"files": items}),
        _ => {}
    }
    output
}

/// Whether a server wanted to ask, and its library says that it can't in the stateless revision.
pub(super) fn asks_in_vain(answer: &Result<CallToolResponse, ServiceError>) -> bool {
    let text = match answer {
        Err(ServiceError::McpError(error)) => error.message.to_lowercase(),
        Ok(CallToolResponse::Complete(done)) if done.is_error == Some(true) => {
            let texts = done.content.iter().filter_map(ContentBlock::as_text);
            texts.map(|text| text.text.to_lowercase()).collect()
        }
        _ => return false,
    };
    text.contains("elicitation") && IN_VAIN.iter().any(|words| text.contains(*words))
}

/// The same without our secrets, in case the server repeats them. A file can't be masked without changing it.
pub(super) fn without(
    output: Output,
    mut files: Vec<InlineFile>,
    secrets: &[String],
) -> (Output, Vec<InlineFile>) {
    let found = files.len();
    files.retain(|(_, bytes)| !secrets.iter().any(|secret| http::holds(bytes, secret)));
    let data = match &output.data {
        Value::Null => Value::Null,
        data => serde_json::from_str(&http::without(data.to_string(), secrets)).unwrap_or_default(),
    };
    let mut summary = http::without(output.summary, secrets);
    if files.len() < found {
        summary.push_str(&format!("\n{}", mcp::file_with_secret()));
    }
    (Output { summary, data, ..output }, files)
}

/// A text that is a table or a list in JSON.
fn table_in(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text).ok().filter(|value| value.is_object() || value.is_array())
}

/// Takes the pictures out of a value, and out of its texts what nobody sees. Returns whether there were pictures.
fn clean(value: &mut Value, files: &mut Vec<InlineFile>) -> bool {
    match value {
        Value::String(text) => match picture(text) {
            Some((media_type, encoded)) if keep(files, media_type, encoded) => {
                *text = mcp::picture(line(media_type, 40), size(encoded));
                true
            }
            _ => {
                *text = removed(text).into_owned();
                false
            }
        },
        Value::Array(list) => list.iter_mut().fold(false, |found, item| found | clean(item, files)),
        Value::Object(table) => {
            let mut found = false;
            let cleaned = std::mem::take(table).into_iter().map(|(key, mut value)| {
                found |= clean(&mut value, files);
                (removed(&key).into_owned(), value)
            });
            *table = cleaned.collect::<Map<_, _>>();
            found
        }
        _ => false,
    }
}

/// The type of the picture that a text is, and the picture: in base64, or as an address that holds it.
fn picture(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let address = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (named, encoded) = match address {
        Some((kind, encoded)) if kind.starts_with("image/") => (Some(kind), encoded),
        _ => (None, text),
    };
    let begun = PICTURES.iter().find(|(begins, _)| encoded.starts_with(*begins)).map(|(_, kind)| *kind);
    Some((named.or(begun).filter(|_| encoded.len() >= MIN_PICTURE)?, encoded))
}

/// Puts what is encoded among the files, once. Returns whether it is base64.
fn keep(files: &mut Vec<InlineFile>, media_type: &str, encoded: &str) -> bool {
    let plain: String = encoded.chars().filter(|char| !char.is_ascii_whitespace()).collect();
    let plain = plain.trim_end_matches('=').replace('-', "+").replace('_', "/");
    let Ok(bytes) = STANDARD_NO_PAD.decode(plain) else { return false };
    if files.iter().all(|(_, before)| *before != bytes) {
        files.push((media_type.to_owned(), bytes));
    }
    true
}

/// How many bytes are encoded.
fn size(encoded: &str) -> usize {
    encoded.len() / 4 * 3
}

/// A part of a result as text; a file of it is named, and put among the files.
fn block(block: &ContentBlock, files: &mut Vec<InlineFile>) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            keep(files, &image.mime_type, &image.data);
            mcp::picture(line(&image.mime_type, 40), size(&image.data))
        }
        ContentBlock::Audio(audio) => mcp::recording(line(&audio.mime_type, 40), size(&audio.data)),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[{}]\n{text}", line(uri, 200))
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                keep(files, mime_type.as_deref().unwrap_or_default(), blob);
                mcp::file(line(uri, 200), size(blob))
            }
            _ => mcp::unknown_content(),
        },
        ContentBlock::ResourceLink(link) => mcp::link(line(&link.name, 100), line(&link.uri, 200)),
        _ => mcp::unknown_content(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn result(text: &str, data: Value) -> (Output, Vec<InlineFile>) {
        let mut done = CallToolResult::success(vec![ContentBlock::text(text)]);
        done.structured_content = Some(data);
        read("notes", done).unwrap()
    }

    #[test]
    fn a_picture_is_taken_out_of_a_result_wherever_it_stands() {
        let lines = format!("{}\n{}", &PNG[..48], &PNG[48..]);
        for picture in [PNG.to_owned(), format!("data:image/png;base64,{PNG}"), lines] {
            let chart = json!({"pages": [{"chart": picture, "title": "Sales"}]});
            let (output, files) = result(&chart.to_string(), chart);
            let shown = "[a picture, image/png, 72 bytes]";
            let without = json!({"pages": [{"chart": shown, "title": "Sales"}]});
            assert_eq!((output.summary, output.data), (without.to_string(), without));
            let [(kind, bytes)] = files.as_slice() else { panic!("{} files", files.len()) };
            assert_eq!((kind.as_str(), &bytes[1..4], bytes.len()), ("image/png", b"PNG".as_slice(), 70));
        }
        let none = json!({"id": "iVBORw0KGgo", "path": "/9j/a", "key": "QUJD".repeat(40)});
        let (output, files) = result("done", none.clone());
        assert_eq!((output.data, files.len()), (none, 0));
    }

    #[test]
    fn a_file_that_repeats_our_key_is_left_out() {
        let file = |text: &str| ("text/plain".to_owned(), text.as_bytes().to_vec());
        let (plan, leak) = (file("the plan"), file("it was Bearer k3y-of-ours-1."));
        let secrets = ["k3y-of-ours-1".to_owned()];
        let (output, files) = without(Output::new("done", Value::Null), vec![plan.clone(), leak], &secrets);
        assert_eq!(files, [plan]);
        assert_eq!(output.summary, format!("done\n{}", mcp::file_with_secret()));
    }

    #[test]
    fn what_nobody_sees_is_taken_out_of_a_result() {
        let hidden = "a\u{200b}b\u{202e}c\u{e0041}d";
        let (output, _) = result(hidden, json!({hidden: [hidden]}));
        assert_eq!((output.summary.as_str(), output.data), ("abcd", json!({"abcd": ["abcd"]})));
    }

    #[test]
    fn a_server_that_only_cannot_ask_is_told_from_others() {
        let fails = |text: &str| -> Result<CallToolResponse, ServiceError> {
            Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into())
        };
        for (text, is_in_vain) in [
            ("elicitation via server-initiated requests is unavailable on 2026-07-28 connections.", true),
            (
                "Server-to-client requests are not available on protocol revision 2026-07-28: \
                 'elicitation/create' cannot be sent",
                true,
            ),
            ("no such note", false),
        ] {
            assert_eq!(asks_in_vain(&fails(text)), is_in_vain, "{text}");
        }
    }
}
