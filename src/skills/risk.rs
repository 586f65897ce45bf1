//! The policy for a call's risk, and what a person is asked to approve.

use std::fmt::Write;

pub(super) use adjutant_chat::fenced;
use serde_json::Value;

use super::{Risk, Skill};
use crate::config::{Approval, Policy};

/// The policy for a skill at this risk; one for the skill itself comes first.
pub fn policy(approval: &Approval, skill: &str, risk: Risk) -> Policy {
    let by_risk = match risk {
        Risk::Low => approval.low,
        Risk::Medium => approval.medium,
        Risk::High => approval.high,
    };
    approval.skills.get(skill).copied().unwrap_or(by_risk)
}

/// Everything a call would do, for the person who approves it: no argument is left out or cut.
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
