//! The mail that a person points at: "reply that I'll come", said after they were shown one mail.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use adjutant_mail::{Address, Message};
use regex::Regex;
use serde_json::Value;

use crate::domain::{ExecutionKind, ExecutionStatus};
use crate::skills::Failure;
use crate::skills::builtin::CallContext;
use crate::store::executions::{self, ExecutionRow};
use crate::store::turns;

/// A wish to answer that names nobody: "reply that …", "answer him: …", "please reply to the mail".
static ANSWERS_IT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let it = r"(to )?(it|this|that|him|her|them|(the|this|that) ((e-?)?mail|message|one))";
    let rest = r"(\s*[:,.!]|\s+(that|with|saying|and|yes|no)\b|\s*$)";
    Regex::new(&format!(
        r"(?i)^\s*(please |can you |could you )?(reply|answer|respond)( back)?( {it})?{rest}"
    ))
    .ok()
});

/// A mail that is told from others: "the mail from Bob".
static TELLS_WHICH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(mail|message|one|letter)s? (from|of|by|about|on|to|with)\b").ok());

fn answers_it(said: &str) -> bool {
    let is = |form: &Option<Regex>| form.as_ref().is_some_and(|form| form.is_match(said));
    is(&ANSWERS_IT) && !is(&TELLS_WHICH)
}

/// The sender of the mail that a call answers, if the person's words can mean no other one: they name nobody, and were
/// shown just this mail before. None if the answer would go elsewhere.
pub(super) async fn sender(call: &CallContext<'_>, letter: &Message) -> Result<Option<Address>, Failure> {
    let [sender] = letter.from.as_slice() else { return Ok(None) };
    if !letter.reply_elsewhere().is_empty() || !call.scope.own_text.as_deref().is_some_and(answers_it) {
        return Ok(None);
    }
    let scope = call.scope;
    let last = turns::before(call.store(), &scope.conversation.id, &scope.person.id, &scope.turn, 1).await?;
    let Some(last) = last.first() else { return Ok(None) };
    let shown = shown(&executions::of_turn(call.store(), last).await?);
    let id = letter.message_id.as_ref().unwrap_or(&letter.id);
    Ok((shown.len() == 1 && shown.contains(id)).then(|| sender.clone()))
}

/// The mails that a turn showed: those it read by themselves, or else those it found.
fn shown(rows: &[ExecutionRow]) -> BTreeSet<String> {
    let is_mail = |row: &&ExecutionRow| {
        row.kind == ExecutionKind::Skill
            && row.status == ExecutionStatus::Completed
            && row.skill.as_deref().is_some_and(|skill| skill.starts_with("email."))
    };
    let results = rows.iter().filter(is_mail).filter_map(|row| row.data.as_deref());
    let results: Vec<Value> = results.filter_map(|data| serde_json::from_str(data).ok()).collect();
    let id = |one: &Value| one["id"].as_str().map(str::to_owned);
    let single: BTreeSet<String> = results.iter().filter_map(id).collect();
    if !single.is_empty() {
        return single;
    }
    results.iter().filter_map(|data| data["items"].as_array()).flatten().filter_map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_nobody_means_what_was_shown() {
        for said in [
            "reply that I'll come",
            "Answer him: yes, gladly",
            "please reply to the mail saying I'm in",
            "respond to that email with a short no",
            "can you reply to it",
            "answer yes",
            "reply",
        ] {
            assert!(answers_it(said), "{said}");
        }
        for said in [
            "reply to Dana that I'll come",
            "answer Dana",
            "reply to the mail from Dana that I'm in",
            "answer that mail of Bob",
            "tell her I'm in",
            "summarise my mail",
            "reply all night",
            "",
        ] {
            assert!(!answers_it(said), "{said}");
        }
    }
}
