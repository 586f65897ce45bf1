//! The result of an HTTP skill from a response: a line for people, or a file to store.

use adjutant_config::document::{Problems, Table, Value as Written};
use adjutant_files::MAX_MEGABYTES;
use adjutant_l10n::http;
use adjutant_types::{FromCall, ours};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;

use super::http::{holds, lost};
use crate::arguments::Argument;
use crate::file_store::MAX_BYTES;
use crate::template::{Place, Template};
use crate::{Output, SkillError};

/// The part of a response that is used.
#[derive(Debug)]
pub(super) enum ResponseContent {
    /// Something to read.
    Output(Output),
    File {
        /// The media type, as the service declares it.
        media_type: String,
        bytes: Vec<u8>,
    },
}

/// How the summary is taken from the response.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Pointer(String),
    Template(Template),
}

/// Reads `result`: a template or a JSON pointer for the line, or `{ file = "NAME" }`.
pub(super) fn read(
    table: Table,
    arguments: &[Argument],
    problems: &mut Problems<'_>,
) -> (Option<Shape>, Option<Template>) {
    match table.get("result").map(|node| &node.value) {
        None => (None, None),
        Some(Written::Table(_)) => (None, read_name(table, arguments, problems)),
        Some(_) => (read_shape(table, arguments, problems), None),
    }
}

fn read_name(table: Table, arguments: &[Argument], problems: &mut Problems<'_>) -> Option<Template> {
    let result = table.table("result", "`result`", problems)?;
    result.only(&["file"], problems);
    let name = result.text("file", problems)?;
    Template::new(name, Place::Text, arguments)
        .map_err(|error| problems.add(result.place("file"), format!("`result.file`: {error}")))
        .ok()
}

fn read_shape(table: Table, arguments: &[Argument], problems: &mut Problems<'_>) -> Option<Shape> {
    let text = table.optional_text("result", problems)?;
    if text.starts_with('/') {
        return Some(Shape::Pointer(text.to_owned()));
    }
    let mut allowed = arguments.to_vec();
    allowed.push(Argument { name: "response".to_owned(), required: true, ..Argument::default() });
    Template::new(text, Place::Text, &allowed)
        .map(Shape::Template)
        .map_err(|error| problems.add(table.place("result"), format!("`result`: {error}")))
        .ok()
}

impl Shape {
    /// The work is done by now, so a response of another shape is mentioned but isn't a failure.
    pub(super) fn summary(&self, arguments: &Value, response: Value) -> Result<String, String> {
        match self {
            Self::Pointer(pointer) => match response.pointer(pointer) {
                Some(Value::String(text)) => Ok(text.clone()),
                Some(value) => Ok(value.to_string()),
                None => Err(http::nothing_there(pointer)),
            },
            Self::Template(template) => {
                let mut values = arguments.as_object().cloned().unwrap_or_default();
                values.insert("response".to_owned(), response);
                let text = template.render(&Value::Object(values));
                Ok(text.map_err(http::result_failed)?.unwrap_or_default())
            }
        }
    }
}

/// The media type that the service declares, without parameters.
pub(super) fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// Receives a file, byte for byte.
pub(super) async fn receive(
    mut response: Response,
    host: &str,
    secrets: &[String],
    acts: bool,
) -> Result<ResponseContent, SkillError> {
    let too_big = || SkillError::params(ours!(http::file_too_big, FromCall(host), MAX_MEGABYTES));
    let media_type = media_type(response.headers()).to_lowercase();
    if response.content_length().is_some_and(|length| length > MAX_BYTES as u64) {
        return Err(too_big());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error, host, acts))? {
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err(too_big());
        }
        bytes.extend_from_slice(&chunk);
    }
    if bytes.is_empty() {
        return Err(SkillError::not_found(ours!(http::file_empty, FromCall(host))));
    }
    // It can't be masked without changing the file.
    if secrets.iter().any(|secret| holds(&bytes, secret)) {
        return Err(SkillError::tool(ours!(http::file_with_secret, FromCall(host))));
    }
    Ok(ResponseContent::File { media_type, bytes })
}

pub(super) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn problems(http: &str) -> String {
        let toml = format!(
            "domain = 'h'\nsummary = 'H'\n[[skill]]\nname = 'h.get'\nsummary = 'G'\nrisk = 'low'\n\
             [skill.handler.http]\nurl = 'https://h.test/'\n{http}\n[skill.parameters.properties]\n\
             id = {{ type = 'string' }}\n"
        );
        let problems = parse("h.toml", &toml, &[]).err().unwrap_or_default();
        problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn files_are_declared_in_one_way() {
        for (http, problem) in [
            ("result = { file = '{{id}}.pdf' }", ""),
            ("method = 'PUT'\ncontent = { file = '{{id}}' }", ""),
            ("method = 'PUT'\ncontent = { file = '{{id}}', type = 'image/png' }\nbody = {}", ""),
            ("result = { name = 'x' }", "has no key 'name'"),
            ("result = { file = '{{nobody}}' }", "`result.file`: `{{nobody}}` is no argument"),
            ("result = 7", "a text"),
            ("content = { file = '{{id}}' }", "a GET request has no content"),
            ("method = 'PUT'\ncontent = { file = '{{id}}', text = 'x' }", "not both"),
            ("method = 'PUT'\ncontent = { text = 'x' }", "`type`"),
        ] {
            let found = problems(http);
            assert!(
                if problem.is_empty() { found.is_empty() } else { found.contains(problem) },
                "{http}: {found}"
            );
        }
    }
}
