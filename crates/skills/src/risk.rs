//! The policy for a call's risk, and what a person is asked to approve.

use std::fmt::Write;

pub(super) use adjutant_chat::fenced;
use adjutant_config::{Approval, Policy};
use adjutant_types::clock::recurring::CronRule;
use adjutant_types::clock::rule;
use adjutant_types::clock::when::When;
use chrono_tz::Tz;
use serde_json::Value;

use super::{Risk, Skill};

/// The policy for a skill at this risk; one for the skill itself comes first.
pub fn policy(approval: &Approval, skill: &str, risk: Risk) -> Policy {
    let by_risk = match risk {
        Risk::Low => approval.low,
        Risk::Medium => approval.medium,
        Risk::High => approval.high,
    };
    approval.skills.get(skill).copied().unwrap_or(by_risk)
}

/// The argument that names what a call is about, where it has one.
const MAIN: [&str; 5] = ["title", "text", "name", "subject", "url"];
/// The longest argument that stands in the first line, in characters.
const MAX_LENGTH: usize = 120;

/// A date, a time or a rule as people say it.
fn in_words(name: &str, text: &str, zone: Tz) -> Option<String> {
    let schedule = || CronRule::parse(text, zone).ok().filter(|_| name == "when").map(|rule| rule.spoken());
    match name {
        "recurrence" => rule::in_words(text, zone),
        _ => schedule().or_else(|| When::parse(text, zone).ok().map(When::spoken)),
    }
}

/// Everything a call would do, for the person who approves it: no argument is left out or cut. `subject` is what the
/// ids in the arguments stand for, and is shown instead of them.
pub fn preview(skill: &Skill, arguments: &Value, subject: Option<&str>, zone: Tz) -> String {
    let nothing = serde_json::Map::new();
    let arguments = arguments.as_object().unwrap_or(&nothing);
    let is_short = |text: &&str| !text.contains('\n') && text.chars().count() <= MAX_LENGTH;
    let named = |name: &&&str| arguments.get(**name).and_then(Value::as_str).filter(is_short).is_some();
    let main = MAIN.iter().find(named).filter(|_| subject.is_none());
    let about = main.and_then(|name| arguments[*name].as_str()).map(|text| format!("“{text}”"));
    let about = subject.map(str::to_owned).or(about);
    let mut text = match skill.handler.tool() {
        Some(tool) => format!("{}: {}", tool.server, skill.title()),
        None => skill.title().to_owned(),
    };
    if let Some(about) = about {
        let _ = write!(text, ": {about}");
    }
    for (name, value) in arguments {
        if Some(&name.as_str()) == main || (subject.is_some() && matches!(name.as_str(), "id" | "message_id"))
        {
            continue;
        }
        let value = match value {
            Value::String(text) => in_words(name, text, zone).unwrap_or_else(|| text.clone()),
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
    text
}
