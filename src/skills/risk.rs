//! What a call of each risk needs, and what exactly a person is asked to approve.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::{Risk, Skill};

/// What a risk needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Nothing.
    Auto,
    /// A person's yes.
    Ask,
    /// It is not done.
    Deny,
}

/// The configured rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// For reading, and writing that is easily undone.
    pub low: Rule,
    /// For what is seen by few or lost for one.
    pub medium: Rule,
    /// For what leaves the house.
    pub high: Rule,
    /// For single skills, before all else.
    pub skills: BTreeMap<String, Rule>,
}

impl Default for Approval {
    fn default() -> Self {
        Self { low: Rule::Auto, medium: Rule::Auto, high: Rule::Ask, skills: BTreeMap::new() }
    }
}

impl Approval {
    /// The rule for a skill at a risk.
    pub fn rule(&self, skill: &str, risk: Risk) -> Rule {
        let by_risk = match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High => self.high,
        };
        self.skills.get(skill).copied().unwrap_or(by_risk)
    }
}

/// Everything that a call would do, for the person who is to approve it: no argument is left out or cut.
pub fn preview(skill: &Skill, arguments: &Value) -> String {
    let mut text = format!("{} (`{}`)", skill.summary.trim_end_matches('.'), skill.name);
    if let Value::Object(arguments) = arguments {
        for (name, value) in arguments {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Array(items) if items.iter().all(Value::is_string) => {
                    items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
                }
                other => other.to_string(),
            };
            if value.contains('\n') {
                let _ = write!(text, "\n- {name}:\n{}", fenced(&value));
            } else {
                let _ = write!(text, "\n- {name}: {value}");
            }
        }
    }
    text
}

/// Several lines as a code block whose fence the text can't close.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{text}\n{fence}")
}
