//! A text that an HTTP skill sends behind its JSON, as services take new files: `multipart/related` (RFC 2387).

use reqwest::header::HeaderValue;

use crate::document::{Problems, Table};
use crate::skills::SkillError;
use crate::skills::arguments::Argument;
use crate::skills::template::{Place, Template};

/// The text and what it is.
#[derive(Debug, Clone)]
pub(super) struct Content {
    kind: Template,
    text: Template,
}

impl Content {
    /// Reads `content = { type = ..., text = ... }`.
    pub(super) fn read(table: Table, arguments: &[Argument], problems: &mut Problems<'_>) -> Option<Self> {
        let content = table.table("content", "`content`", problems)?;
        content.only(&["type", "text"], problems);
        if table.get("body").is_none() {
            problems.add(table.place("content"), "`content` stands behind a `body`, which is missing");
        }
        let mut template = |key: &'static str, place| {
            let source = content.text(key, problems)?;
            let template = Template::new(source, place, arguments);
            template
                .map_err(|error| problems.add(content.place(key), format!("`content.{key}`: {error}")))
                .ok()
        };
        let (kind, text) = (template("type", Place::Header), template("text", Place::Text));
        Some(Self { kind: kind?, text: text? })
    }

    /// JSON and text as one body, and what that is.
    pub(super) fn behind(
        &self,
        json: &[u8],
        arguments: &serde_json::Value,
    ) -> Result<(HeaderValue, Vec<u8>), SkillError> {
        let kind = self.kind.render(arguments)?.unwrap_or_default();
        let text = self.text.render(arguments)?.unwrap_or_default();
        let json = String::from_utf8_lossy(json);
        let mut number = 0;
        let mut boundary = "part-0".to_owned();
        // No text can hold all of them.
        while text.contains(&boundary) || json.contains(&boundary) {
            number += 1;
            boundary = format!("part-{number}");
        }
        let body = format!(
            "--{boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{json}\r\n\
             --{boundary}\r\ncontent-type: {kind}\r\n\r\n{text}\r\n--{boundary}--\r\n"
        );
        let header = HeaderValue::from_str(&format!("multipart/related; boundary={boundary}"));
        let header =
            header.map_err(|error| SkillError::params(format!("the content can't be sent: {error}")))?;
        Ok((header, body.into_bytes()))
    }
}
