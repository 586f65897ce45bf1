//! Taking back what the assistant did last.
//!
//! A call that can be taken back leaves the version before and after it in its row. Properties:
//!
//! - Something is put back only if it still is as the call left it; whatever changed since is left alone, and said.
//! - A call is taken back once: its row names the call that did.
//! - What reached other people can't be taken back, and that is said too.
//! - Taking back is a call like others: journalled, and after a crash made again, where a step that was done is found
//!   done.

mod steps;

use serde_json::json;

pub(super) use steps::{Outcome, Step, left};

use super::{CallContext, Effect, Services};
use crate::domain::{ExecutionKind, ExecutionStatus, REMEMBERED};
use crate::skills::{Failure, Handler, Output, Registry};
use crate::store::executions::{self, UndoRow};
use crate::store::{Batch, turns};

/// How many turns back the last effect may be.
const TURNS: i64 = 10;

/// What kind of effect taking back has: things on servers may be among what is put back.
pub(super) fn effect(services: &Services) -> Effect {
    let is_own = services.calendar.is_none() && services.contacts.is_none() && services.mail.is_none();
    Effect::on_own_store_if(is_own)
}

/// What a call did, in a line. What a server or a program says of its own doing is its words, not ours.
fn what(registry: &Registry, row: &UndoRow) -> String {
    let other = registry.get(&row.skill).filter(|skill| !matches!(skill.handler, Handler::Builtin(_)));
    match other {
        Some(skill) => format!("{}: {}", row.skill, skill.title()),
        None => {
            let line = row.result.lines().next().unwrap_or_default().trim_end_matches(':');
            let line = line.split_once(". It overlaps ").map_or(line, |(done, _)| done);
            match (line.strip_prefix(REMEMBERED), line.strip_prefix("I'll do ")) {
                (Some(memory), _) => format!("remembering “{memory}”"),
                (_, Some(schedule)) => format!("the schedule {schedule}"),
                _ => line.to_owned(),
            }
        }
    }
}

/// What becomes of a thing that is to be as it was `before` a call, if that can be said without writing: it is so already, or
/// it isn't as it was `after` the call any more.
pub(super) fn without_writing<T: PartialEq>(now: &T, before: &T, after: &T) -> Option<Outcome> {
    match now {
        now if now == before => Some(Outcome::Done),
        now if now != after => Some(Outcome::Changed),
        _ => None,
    }
}

/// Takes back the effects of the last turn that had any.
pub(super) async fn last(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output, Failure> {
    let effects = last_effects(call).await?;
    if effects.is_empty() {
        return Ok(Output::new(
            format!("There is nothing to take back in your last {TURNS} messages"),
            json!({"undone": 0}),
        ));
    }
    let (mut lines, mut undone) = (Vec::new(), 0);
    for row in effects.iter().rev() {
        let what = what(call.registry, row);
        let steps: Vec<Step> =
            row.undo.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let mut outcome = if steps.is_empty() { Outcome::Impossible } else { Outcome::Done };
        for step in steps.iter().rev() {
            outcome = outcome.and(step.take_back(call, writes).await?);
        }
        lines.push(match outcome {
            Outcome::Done => {
                executions::mark_undone(writes, &row.id, call.execution);
                undone += 1;
                format!("Taken back: {what}")
            }
            Outcome::Changed => format!("Left alone, because it was changed since: {what}"),
            Outcome::Impossible => format!("This can't be taken back: {what}"),
        });
    }
    Ok(Output::new(lines.join("\n"), json!({"undone": undone, "of": effects.len()})))
}

/// The effects of the last turn of this person here that had any.
async fn last_effects(call: &CallContext<'_>) -> Result<Vec<UndoRow>, Failure> {
    let scope = call.scope;
    let before =
        turns::before(call.store(), &scope.conversation.id, &scope.person.id, &scope.turn, TURNS).await?;
    for turn in before {
        let mut rows = executions::effects_of(call.store(), &turn).await?;
        let has_effect = |row: &UndoRow| {
            row.undo.is_some() || call.registry.get(&row.skill).is_some_and(|skill| skill.has_effect())
        };
        rows.retain(|row| {
            let is_call = row.kind == ExecutionKind::Skill && row.status == ExecutionStatus::Completed;
            is_call && row.undone_by.is_none() && row.skill != "assistant.undo" && has_effect(row)
        });
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
    Ok(Vec::new())
}
