//! The structured output of an agent with a role: a summary, and what belongs beside it.

use adjutant_l10n as l10n;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The output of an agent besides its summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StructuredOutput {
    /// Details that the summary leaves out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// Data for programs, such as a verdict.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

impl StructuredOutput {
    /// The summary and the rest of an answer that is a JSON object, also in a block of code; else the summary alone.
    pub(super) fn read(text: &str) -> (String, Option<Self>) {
        let plain = || (text.to_owned(), None);
        let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(unfenced(text)) else { return plain() };
        let Some(summary) = fields.get("summary").and_then(Value::as_str) else { return plain() };
        let get = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let output = Self {
            details: words(&get("details")),
            data: get("data"),
            warnings: texts(&get("warnings")),
            suggestions: texts(&get("suggestions")),
        };
        (summary.trim().to_owned(), Some(output).filter(|output| *output != Self::default()))
    }

    /// The rest of the output as lines below the summary.
    pub(super) fn lines(&self) -> String {
        let mut text = String::new();
        if !self.details.is_empty() {
            text.push_str(&format!("\n{}", self.details));
        }
        if !self.data.is_null() {
            text.push_str(&format!("\n{}", l10n::roles::data(&self.data)));
        }
        for warning in &self.warnings {
            text.push_str(&format!("\n{}", l10n::roles::warning(warning)));
        }
        for suggestion in &self.suggestions {
            text.push_str(&format!("\n{}", l10n::roles::suggestion(suggestion)));
        }
        text
    }
}

/// The text without the marks of a block of code around all of it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    inner.strip_prefix("json").unwrap_or(inner).trim()
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    }
}

/// A list of texts; models write one text where they have one, too.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    let all: Vec<String> = match value {
        Value::Array(all) => all.iter().map(words).collect(),
        other => vec![words(other)],
    };
    all.into_iter().filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_read_from_json_and_any_other_text_is_a_summary() {
        let text = "```json\n{\"summary\": \" Two faults. \", \"data\": {\"verdict\": \"reject\"}, \
                    \"warnings\": \"late\", \"suggestions\": [\"move it\", \"\"]}\n```";
        let (summary, output) = StructuredOutput::read(text);
        let output = output.unwrap();
        assert_eq!(summary, "Two faults.");
        assert_eq!(output.data, json!({"verdict": "reject"}));
        assert_eq!((output.warnings.len(), output.suggestions.len()), (1, 1));
        assert_eq!(output.lines(), "\nData: {\"verdict\":\"reject\"}\nWarning: late\nSuggestion: move it");
        for text in ["Done.", "{\"verdict\": 1}", "[1]", "```\nx\n```", "{\"summary\": 3}", ""] {
            assert_eq!(StructuredOutput::read(text), (text.to_owned(), None));
        }
        assert_eq!(StructuredOutput::read("{\"summary\": \"Done.\"}"), ("Done.".to_owned(), None));
    }
}
