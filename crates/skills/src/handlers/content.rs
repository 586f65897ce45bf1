//! What an HTTP skill sends behind its JSON, as services take new files: `multipart/related` (RFC 2387). Without JSON,
//! it's the whole request.

use adjutant_config::document::{Problems, Table};
use adjutant_l10n::http;
use adjutant_types::{Own, ours};
use reqwest::header::HeaderValue;
use serde_json::Value;

use super::response::contains;
use crate::SkillError;
use crate::arguments::Argument;
use crate::template::{Place, Template};

/// A text or a file, and its type.
#[derive(Debug, Clone)]
pub(super) struct Content {
    kind: Option<Template>,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Text(Template),
    /// The id of a stored file.
    File(Template),
}

/// A stored file that is sent.
#[derive(Debug)]
pub(super) struct Upload {
    /// The media type, which may come from outside.
    pub media_type: String,
    /// The contents.
    pub bytes: Vec<u8>,
}

impl Content {
    /// Reads `content = { type = ..., text = ... }` or `content = { file = ... }`.
    pub(super) fn read(table: Table, arguments: &[Argument], problems: &mut Problems<'_>) -> Option<Self> {
        let content = table.table("content", "`content`", problems)?;
        content.only(&["type", "text", "file"], problems);
        let is_file = content.get("file").is_some();
        if is_file && content.get("text").is_some() {
            problems.add(content.place("text"), "`content` is a `text` or a `file`, not both");
        }
        let mut template = |key: &'static str, position| {
            let source = content.text(key, problems)?;
            let template = Template::new(source, position, arguments);
            template
                .map_err(|error| problems.add(content.place(key), format!("`content.{key}`: {error}")))
                .ok()
        };
        // A file has a type of its own.
        let needs_type = !is_file || content.get("type").is_some();
        let kind = if needs_type { template("type", Place::Header) } else { None };
        let source = match is_file {
            true => Source::File(template("file", Place::Text)?),
            false => Source::Text(template("text", Place::Text)?),
        };
        Some(Self { kind, source })
    }

    /// The id of the file that these arguments send.
    pub(super) fn upload(&self, arguments: &Value) -> Result<Option<String>, SkillError> {
        match &self.source {
            Source::Text(_) => Ok(None),
            Source::File(id) => Ok(id.render(arguments)?.filter(|id| !id.trim().is_empty())),
        }
    }

    /// The whole body and its type: with JSON, both as parts. None if the arguments name no file.
    pub(super) fn with(
        &self,
        json: Option<&[u8]>,
        arguments: &Value,
        file: Option<&Upload>,
    ) -> Result<Option<(HeaderValue, Vec<u8>)>, SkillError> {
        let text = match &self.source {
            Source::Text(text) => Some(text.render(arguments)?.unwrap_or_default()),
            Source::File(_) => None,
        };
        let (media_type, bytes) = match (&text, file) {
            (Some(text), _) => ("text/plain; charset=UTF-8", text.as_bytes()),
            (None, Some(file)) => (file.media_type.as_str(), file.bytes.as_slice()),
            (None, None) => return Ok(None),
        };
        let kind = match &self.kind {
            Some(kind) => kind.render(arguments)?,
            None => None,
        };
        let media_type =
            if text.is_some() || is_media_type(media_type) { media_type } else { "application/octet-stream" };
        let kind = kind.unwrap_or_else(|| media_type.to_owned());
        let Some(json) = json else { return Ok(Some((header(&kind)?, bytes.to_vec()))) };
        let mut number = 0;
        let mut boundary = "part-0".to_owned();
        // Nothing can hold all of them.
        while contains(bytes, boundary.as_bytes()) || contains(json, boundary.as_bytes()) {
            number += 1;
            boundary = format!("part-{number}");
        }
        let head = format!("--{boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n");
        let between = format!("\r\n--{boundary}\r\ncontent-type: {kind}\r\n\r\n");
        let end = format!("\r\n--{boundary}--\r\n");
        let whole = [head.as_bytes(), json, between.as_bytes(), bytes, end.as_bytes()].concat();
        Ok(Some((header(&format!("multipart/related; boundary={boundary}"))?, whole)))
    }
}

fn header(kind: &str) -> Result<HeaderValue, SkillError> {
    HeaderValue::from_str(kind).map_err(|error| SkillError::params(ours!(http::content_wrong, Own(error))))
}

/// Whether a text is the type of a file and nothing else, such as `application/pdf`.
fn is_media_type(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    text.split_once('/').is_some_and(|(kind, subtype)| is_word(kind) && is_word(subtype))
}

#[cfg(test)]
mod tests {
    use super::is_media_type;

    #[test]
    fn a_type_that_others_declared_starts_no_new_line() {
        for (media_type, is_valid) in [
            ("application/pdf", true),
            ("image/svg+xml", true),
            ("text/plain; charset=utf-8", false),
            ("text/plain\r\nx: y", false),
            ("pdf", false),
            ("", false),
        ] {
            assert_eq!(is_media_type(media_type), is_valid, "{media_type}");
        }
    }
}
