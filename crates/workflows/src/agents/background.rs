//! The part of the conversation that an agent of a role sees, by the role's context mode.

use adjutant_models::{Message, Role as Speaker};
use adjutant_store::{Result, executions, memories, taints};
use adjutant_turn::journal::TurnContext;
use adjutant_types::{ContextMode, PromptText, Taint};

use super::{Job, Report};
use crate::roles::Role;

/// The longest summary, in bytes.
const SUMMARY: usize = 2000;
/// A token is about this many bytes.
const BYTES_PER_TOKEN: usize = 4;
/// The most results and memories that a dispatch can name.
const MAX_NAMED: usize = 20;

/// The most memories that are looked through.
const MEMORIES: i64 = 10_000;

/// What is told; empty if there is nothing. Text from outside stays in its block: it is told whole or not at all. `taint`
/// is what the agent is marked with already; whatever would add to it is left out.
pub(super) async fn of(ctx: &TurnContext, role: &Role, job: &Job, taint: &Taint) -> Result<PromptText> {
    let max_bytes = (role.context_limit as usize).saturating_mul(BYTES_PER_TOKEN);
    Ok(match role.context {
        ContextMode::None => PromptText::default(),
        ContextMode::Summary => summary(ctx, taint, max_bytes.min(SUMMARY)),
        ContextMode::Selective => within(named(ctx, job, taint).await?, max_bytes),
        ContextMode::Full => window(&job.conversation, max_bytes),
    })
}

fn summary(ctx: &TurnContext, marked: &Taint, max_bytes: usize) -> PromptText {
    let (summary, taint) = (&ctx.turn.conversation.summary, &ctx.turn.conversation.summary_taint);
    let summary = &summary[..summary.floor_char_boundary(max_bytes)];
    if summary.is_empty() || marked.clone().and(taint) != *marked {
        return PromptText::default();
    }
    let summary = PromptText::by_origin(&ctx.turn.conversation.id, taint, summary);
    PromptText::from("Earlier in the conversation: ").with(summary)
}

/// The newest messages that fit, in their order, after what is told about the person.
fn window(messages: &[Message], max_bytes: usize) -> PromptText {
    let (about, spoken): (Vec<&Message>, Vec<&Message>) =
        messages.iter().partition(|message| message.role == Speaker::System);
    let mut left = max_bytes;
    let mut fits = |message: &&&Message| {
        let is_fitting = message.text.len() <= left;
        left = if is_fitting { left - message.text.len() } else { 0 };
        is_fitting
    };
    let about: Vec<&Message> = about.iter().take_while(&mut fits).copied().collect();
    let mut newest: Vec<&Message> = spoken.iter().rev().take_while(&mut fits).copied().collect();
    newest.reverse();
    let left_out = spoken.len() - newest.len();
    let mut text = PromptText::default();
    for message in about.into_iter().chain(newest) {
        let who = match message.role {
            Speaker::System => "\n",
            Speaker::User => "\nPerson: ",
            _ => "\nAssistant: ",
        };
        text.push(who);
        text.push(message.text.clone());
    }
    if left_out > 0 {
        text.push(PromptText::system(format_args!("\n({left_out} earlier messages are left out)")));
    }
    if text.is_empty() { text } else { PromptText::from("The conversation:").with(text) }
}

/// The results and memories whose ids the dispatch's context names.
async fn named(ctx: &TurnContext, job: &Job, taint: &Taint) -> Result<Vec<PromptText>> {
    let context = job.task.context.as_deref().unwrap_or_default();
    let is_part = |letter: char| letter.is_alphanumeric() || "-_/.".contains(letter);
    let words = context.split(|letter: char| !is_part(letter)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut texts = Vec::new();
    let rows = executions::of_turn(&ctx.store, &ctx.turn.id).await?;
    let is_named = |name: &str| words.contains(&name);
    let adds_nothing = |other: &Taint| taint.clone().and(other) == *taint;
    for row in rows.iter().filter(|row| row.status.has_ended() && adds_nothing(&row.taint)) {
        if row.agent_id.as_deref().is_some_and(is_named) {
            texts.push(Report::of(row, &[]).for_dependant());
        }
    }
    let outside = taints::of_domain(&ctx.store, "memory").await?;
    let memories =
        memories::list(&ctx.store, &ctx.turn.person.id, &ctx.turn.conversation, "", MEMORIES).await?;
    for memory in memories.iter().filter(|memory| is_named(&memory.id)) {
        let text = match outside.contains_key(memory.id.as_str()) {
            true => PromptText::from("it holds text from outside; memory.search shows it"),
            false => PromptText::own(&memory.text),
        };
        texts.push(PromptText::system(format_args!("Memory {}: ", memory.id)).with(text));
    }
    texts.truncate(MAX_NAMED);
    Ok(texts)
}

/// As many of these texts as fit.
fn within(texts: Vec<PromptText>, max_bytes: usize) -> PromptText {
    let all = texts.len();
    let mut left = max_bytes;
    let fits = |text: &PromptText| {
        let fits = text.len() <= left;
        left = left.saturating_sub(text.len());
        fits
    };
    let fitting: Vec<PromptText> = texts.into_iter().take_while(fits).collect();
    let left_out = all - fitting.len();
    let mut together = PromptText::lines(fitting);
    if left_out > 0 {
        together.push(PromptText::system(format_args!("\n({left_out} more are left out)")));
    }
    together
}
