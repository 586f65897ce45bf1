//! Taking back what the assistant did last.
//!
//! A call that can be taken back leaves the version before and after it in its row. Properties:
//!
//! - Something is put back only if it still is as the call left it; whatever changed since is left alone, and said.
//! - A call is taken back once: its row names the call that did.
//! - What reached other people can't be taken back, and that is said too. Where nothing could be, the call fails, and the
//!   next one goes on with what was done before.
//! - A question of a later turn stays open, and that is said. What its turn has done already can't be undone meanwhile.
//! - Guests of an event that is put back hear of it as they heard of the change, from its server or by our emails; who was
//!   told nothing then is told nothing now. Who may not know of it is named.
//! - Taking back is a call like others: journalled, and after a crash made again, where a step that was done is found
//!   done.

mod steps;

use std::collections::BTreeSet;

use adjutant_l10n as l10n;
use serde_json::{Value, json};

pub(super) use steps::{Outcome, Telling};
pub use steps::{Step, left};

use adjutant_store::executions::{self, UndoRow};
use adjutant_store::{Batch, StoreError, questions, turns};
use adjutant_turn::trust::{ActionKind, Target, names};
use adjutant_types::text::one_line;
use adjutant_types::{
    AccountService, ErrorText, ExecutionId, ExecutionKind, ExecutionStatus, FromOutside, Own, Taint, TurnId,
    ours,
};

use super::{CallContext, Idempotency, Preview, calendar, email, under};
use crate::accounts::{CallAccounts, PersonAccounts};
use crate::call::CallError;
use crate::{Approved, ErrorKind, Failure, Handler, Output, Registry, Result, Risk, SkillError};

/// How many turns back the last effect may be. A message and docs/security.md say so.
const TURNS: i64 = 10;

/// The kind of effect that undoing has: it may also change things on servers.
pub(super) fn effect(accounts: &PersonAccounts) -> Idempotency {
    Idempotency::on_own_store_if(accounts.all.is_empty())
}

/// A call's effect, in a line. The text of a server or a program about its own effect isn't ours.
fn what(registry: &Registry, row: &UndoRow) -> String {
    let other = registry.get(&row.skill).filter(|skill| !matches!(skill.handler, Handler::Builtin(_)));
    if let Some(skill) = other {
        return format!("{}: {}", row.skill, skill.title());
    }
    let line = || row.result.lines().next().unwrap_or_default().trim_end_matches(':').to_owned();
    steps_of(row).first().and_then(Step::label).unwrap_or_else(line)
}

/// The message that a call's effect is undone.
fn undone(row: &UndoRow, what: String) -> String {
    let message = match steps_of(row).as_slice() {
        // The next one of a task that repeats was made before that one was done.
        [step] | [Step::Task { before: None, .. }, step] => step.undone(),
        _ => None,
    };
    message.unwrap_or_else(|| l10n::undo::undone(what))
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
pub(super) async fn last(call: &CallContext<'_>, approved: &Approved, writes: &mut Batch) -> Result<Output> {
    let (turn, effects) = last_turn(call).await?.unwrap_or_default();
    let waiting = waiting_since(call, &turn).await?;
    if effects.is_empty() {
        return Ok(Output::ours(under(l10n::undo::nothing(), waiting), json!({"undone": 0})));
    }
    let changes = joined(&effects);
    let mut outcomes: Vec<Outcome> = effects.iter().map(|row| outcome_without_steps(call, row)).collect();
    let (mut has_undone, mut telling) = (false, Telling { approved, number: 0, notes: Vec::new() });
    for (at, (step, rows)) in changes.iter().rev().enumerate() {
        // The same after a crash, whatever became of the steps before it, which take three at most.
        telling.number = 3 * at;
        let accounts = accounts_of(call, &effects[rows[0]]);
        let call = CallContext { accounts: &accounts, ..*call };
        let outcome = step.take_back(&call, &mut telling, writes).await.map_err(to_be_tried_again)?;
        has_undone |= outcome == Outcome::Done;
        rows.iter().for_each(|row| outcomes[*row] = outcomes[*row].and(outcome));
    }
    // A thing that was made from outside text repeats that text.
    let taint: Taint = effects.iter().map(|row| &row.taint).collect();
    let (mut lines, mut count) = (Vec::new(), 0);
    for (row, outcome) in effects.iter().zip(outcomes).rev() {
        let is_done = outcome == Outcome::Done;
        if is_done {
            executions::mark_undone(writes, &row.id, call.execution);
            count += 1;
        }
        let text = line(row, what(call.registry, row), outcome, taint.is_clean());
        lines.push((!is_done, text));
    }
    // A receipt begins with what was done.
    lines.sort_by_key(|(is_left, _)| *is_left);
    let lines: Vec<ErrorText> = lines.into_iter().map(|(_, line)| line).collect();
    let mut told = BTreeSet::new();
    telling.notes.retain(|note| told.insert(note.clone()));
    if !has_undone {
        let lines = lines.into_iter().chain(telling.notes.into_iter().map(|note| ours!("{}", Own(note))));
        let why = lines.reduce(|all, line| all.and("\n").and(line)).unwrap_or_else(|| "".into());
        return Err(SkillError::new(ErrorKind::Permission, why).into());
    }
    let mut data = json!({"undone": count, "of": effects.len()});
    if !taint.is_clean() {
        data["sources"] = json!(taint.label());
    }
    let lines: Vec<String> = lines.iter().map(ErrorText::whole).collect();
    telling.notes.extend(waiting);
    Ok(Output::outside_if(!taint.is_clean(), under(lines.join("\n"), telling.notes), data))
}

/// A server's refusal is for now: only our own says that a thing can't be undone, so that the next undo passes it over.
fn to_be_tried_again(failure: Failure) -> Failure {
    match failure {
        Failure::Skill(error) if error.kind == ErrorKind::Permission => {
            SkillError { kind: ErrorKind::Tool, ..error }.into()
        }
        failure => failure,
    }
}

fn line(row: &UndoRow, what: String, outcome: Outcome, is_clean: bool) -> ErrorText {
    let by_origin =
        |text: String| if is_clean { ours!("{}", Own(text)) } else { ours!("{}", FromOutside(text)) };
    match outcome {
        Outcome::Done => by_origin(undone(row, what)),
        Outcome::Changed => ours!(l10n::undo::changed_since, by_origin(what)),
        Outcome::Sent => ours!(l10n::undo::sent, by_origin(what)),
        Outcome::Impossible => ours!(l10n::undo::impossible, by_origin(what)),
    }
}

/// The accounts that a call worked with: what it told others, they hear from the same mailbox.
fn accounts_of(call: &CallContext<'_>, row: &UndoRow) -> CallAccounts {
    CallAccounts::journalled(call.accounts.all().clone(), row.account.clone())
}

/// The changes of these calls and who made each, oldest first. A thing that changed twice is put back once.
fn joined(effects: &[UndoRow]) -> Vec<(Step, Vec<usize>)> {
    let mut changes: Vec<(Step, Vec<usize>)> = Vec::new();
    for (at, row) in effects.iter().enumerate() {
        for step in steps_of(row) {
            match changes.iter_mut().rev().find_map(|(earlier, rows)| earlier.take_in(&step).then_some(rows))
            {
                Some(rows) => rows.push(at),
                None => changes.push((step, vec![at])),
            }
        }
    }
    changes
}

fn steps_of(row: &UndoRow) -> Vec<Step> {
    row.undo.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

fn outcome_without_steps(call: &CallContext<'_>, row: &UndoRow) -> Outcome {
    use ActionKind::{MailForward, MailReply, MailSend, PostSend};
    if !steps_of(row).is_empty() {
        return Outcome::Done;
    }
    match super::find(&row.skill).and_then(|skill| skill.action()) {
        // Without an account it's a file.
        Some(MailSend | MailReply | MailForward) if call.accounts.all().has(AccountService::Mail) => {
            Outcome::Sent
        }
        Some(PostSend) => Outcome::Sent,
        _ => Outcome::Impossible,
    }
}

/// Says that questions of turns after this one wait for the person's answer. Fails if such a turn has changed something
/// before it asked: that was done last, and its turn isn't over.
async fn waiting_since(call: &CallContext<'_>, turn: &TurnId) -> Result<Option<String>> {
    let (store, here) = (call.store(), &call.ctx.turn);
    let (open, _) = questions::open_and_read(store, &here.conversation.id).await?;
    let (seq, mut waiting) = (turns::by_id(store, turn).await?.map(|turn| turn.seq), 0_usize);
    for question in open.iter().filter(|question| question.person_id == here.person.id) {
        let asking = turns::by_id(store, &question.turn_id).await?.filter(|turn| turn.id != here.id);
        let is_later = asking.map(|turn| turn.seq) > seq;
        if is_later && !effects_of(call, &question.turn_id).await?.0.is_empty() {
            return Err(SkillError::params(ours!(l10n::undo::question_open)).into());
        }
        waiting += usize::from(is_later);
    }
    Ok((waiting > 0).then(|| l10n::assistant::waiting(waiting)))
}

/// What a wish to undo may mean, with its changes: all that was done last here, and before that the newest that its words name.
pub(crate) async fn meant(call: &CallContext<'_>, called: &[String]) -> Result<Vec<(Target, Vec<Step>)>> {
    let changes = |rows: &[UndoRow]| joined(rows).into_iter().map(|(step, _)| step).collect::<Vec<_>>();
    let mut all = Vec::new();
    for (_, mut rows) in last_turns(call, usize::MAX).await? {
        let is_last = all.is_empty();
        if is_last {
            all.push((Target::Named(in_words(call, &rows)), changes(&rows)));
        }
        rows.retain(|row| {
            let what = in_words(call, std::slice::from_ref(row));
            called.iter().any(|called| names(called, &what))
        });
        if !rows.is_empty() {
            all.extend((!is_last).then(|| (Target::Earlier(in_words(call, &rows)), changes(&rows))));
            break;
        }
    }
    Ok(all)
}

/// What was changed here in this turn and the last ones, and wasn't undone, the newest first.
pub(super) async fn newest_first(call: &CallContext<'_>) -> Result<Vec<Step>> {
    let mut rows = effects_of(call, &call.ctx.turn.id).await?.0;
    rows.reverse();
    for (_, earlier) in last_turns(call, usize::MAX).await? {
        rows.extend(earlier.into_iter().rev());
    }
    Ok(rows.iter().flat_map(steps_of).collect())
}

/// What would be taken back. It is as risky as what guests hear of it: from a server, or as an email to them.
pub(super) async fn preview(call: &CallContext<'_>) -> Result<Preview> {
    let Some((_, rows)) = last_turn(call).await? else { return Ok(Preview::default()) };
    let mut text = l10n::undo::take_back(in_words(call, &rows));
    let (mut goes_to, mut is_told, mut is_outside) = (Vec::new(), false, false);
    for (step, made_by) in joined(&rows) {
        let Step::Event { before, after, account, told, .. } = step else { continue };
        let accounts = accounts_of(call, &rows[made_by[0]]);
        let call = CallContext { accounts: &accounts, ..*call };
        let versions = (before.as_deref(), after.as_deref());
        let hear = calendar::hearers(&call, &account, versions, told.as_deref()).await?;
        is_told |= hear.by_server;
        is_outside |= hear.by_mail.iter().any(|address| email::is_outside(&call, address));
        goes_to.extend(hear.by_mail);
    }
    goes_to.sort();
    goes_to.dedup();
    let risk = match goes_to.len() {
        many if is_told || is_outside || many > email::MANY => Risk::High,
        0 => Risk::Low,
        _ => Risk::Medium,
    };
    if is_told {
        text.push_str(&format!("\n- {}", l10n::undo::guests_told()));
    }
    Ok(Preview { risk, text: Some(text), goes_to, ..Preview::default() })
}

/// What would be taken back, in words.
pub(crate) async fn told(call: &CallContext<'_>) -> Result<Option<String>> {
    Ok(last_turn(call).await?.map(|(_, rows)| in_words(call, &rows)))
}

fn in_words(call: &CallContext<'_>, rows: &[UndoRow]) -> String {
    let lines = rows.iter().map(|row| one_line(&what(call.registry, row), 200));
    lines.collect::<Vec<_>>().join("; ")
}

/// Keeps in the row of a running call what it is about to change: after a crash, nothing else says how that was.
pub(super) async fn keep(call: &CallContext<'_>, steps: Option<Value>) -> Result<(), StoreError> {
    // What is in our own store alone changes together with the end of the row.
    let Some(steps) = steps.filter(|_| call.effect != Idempotency::OwnStore) else { return Ok(()) };
    let mut batch = call.ctx.batch();
    executions::set_undo(&mut batch, call.execution, &steps.to_string());
    call.store().write(batch).await?;
    Ok(())
}

/// What a call of this person changed, or is about to.
pub(super) async fn changes_of(
    call: &CallContext<'_>,
    execution: &ExecutionId,
) -> Result<Vec<Step>, StoreError> {
    let undo = executions::undo_of(call.store(), execution, &call.ctx.turn.person.id).await?;
    Ok(serde_json::from_str(&undo).unwrap_or_default())
}

/// Whether a call could undo nothing of what was done last. One that nothing had allowed didn't try.
fn was_refused(row: &UndoRow) -> bool {
    let kind = |json: &String| serde_json::from_str(json).ok().map(|error: CallError| error.kind);
    row.skill == "assistant.undo" && row.error.as_ref().and_then(kind) == Some(ErrorKind::Permission)
}

async fn last_turn(call: &CallContext<'_>) -> Result<Option<(TurnId, Vec<UndoRow>)>> {
    Ok(last_turns(call, 1).await?.pop())
}

/// The last turns here, at most so many, with an effect that can be undone, or of which it wasn't said yet that it can't.
async fn last_turns(call: &CallContext<'_>, most: usize) -> Result<Vec<(TurnId, Vec<UndoRow>)>> {
    let (ctx, mut refused, mut found) = (call.ctx, 0_usize, Vec::new());
    let before =
        turns::before(call.store(), &ctx.turn.conversation.id, &ctx.turn.person.id, &ctx.turn.id, TURNS)
            .await?;
    for turn in before {
        let (rows, is_refusal) = effects_of(call, &turn).await?;
        match refused {
            _ if rows.is_empty() => {}
            0 => found.push((turn, rows)),
            _ => refused -= 1,
        }
        refused += usize::from(is_refusal);
        if found.len() >= most {
            break;
        }
    }
    Ok(found)
}

/// The effects of a turn that weren't undone, and whether it was told that something can't be.
async fn effects_of(call: &CallContext<'_>, turn: &TurnId) -> Result<(Vec<UndoRow>, bool)> {
    let mut rows = executions::effects_of(call.store(), turn).await?;
    let is_refusal = rows.iter().any(was_refused);
    rows.retain(|row| {
        let is_call = row.kind == ExecutionKind::Skill && row.status == ExecutionStatus::Completed;
        let by_skill = || call.registry.get(&row.skill).is_some_and(|skill| skill.has_effect());
        // Without steps, it found all as it should be.
        let has_effect = row.undo.as_deref().map_or_else(by_skill, |steps| steps != "[]");
        is_call && row.undone_by.is_none() && row.skill != "assistant.undo" && has_effect
    });
    Ok((rows, is_refusal))
}
