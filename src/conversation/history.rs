//! What of a conversation's past the model sees: a window by tokens, and a running summary of what is
//! older, folded in pieces off the path of turns.

use crate::journal::Prefix;
use crate::model::{Message, Request, Role, SharedModel};
use crate::store::people::{self, Conversation};
use crate::store::turns::{self, TurnRow};
use crate::store::{Batch, Store, StoreError};

/// Tokens of history that a request holds.
const WINDOW: usize = 3000;
/// More than this outside the window is folded.
const FOLD_AT: usize = 1000;
/// Tokens folded at once.
const PIECE: usize = 4000;
/// Tokens of a summary.
const SUMMARY: usize = 600;
/// Turns looked at for one window.
const MOST_TURNS: i64 = 40;

/// About how many tokens a text has: a token is some four bytes of English.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(WINDOW * 2)]
}

fn cost(turn: &TurnRow) -> usize {
    tokens(clip(&turn.text)) + tokens(clip(turn.answer.as_deref().unwrap_or_default()))
}

/// The window, oldest first, and `turns.seq` of its first turn.
///
/// # Errors
/// When the store fails.
pub async fn window(store: &Store, conversation: &Conversation) -> Result<Vec<Message>, StoreError> {
    let (turns, _) = newest(store, conversation).await?;
    let mut messages = Vec::with_capacity(turns.len() * 2);
    for turn in turns.into_iter().rev() {
        messages.push(Message::new(Role::User, clip(&turn.text)));
        let answer = turn.answer.as_deref().filter(|answer| !answer.is_empty()).unwrap_or("(no answer)");
        messages.push(Message::new(Role::Assistant, clip(answer)));
    }
    Ok(messages)
}

/// The turns of the window, newest first, and those read beyond it.
async fn newest(
    store: &Store,
    conversation: &Conversation,
) -> Result<(Vec<TurnRow>, Vec<TurnRow>), StoreError> {
    let after = conversation.history_from.max(conversation.folded_to);
    let mut turns = turns::ended_after(store, &conversation.id, after, MOST_TURNS).await?;
    let mut used = 0;
    let fits = turns.iter().take_while(|turn| {
        used += cost(turn);
        used <= WINDOW
    });
    let fits = fits.count().max(1).min(turns.len());
    let beyond = turns.split_off(fits);
    Ok((turns, beyond))
}

/// Folds one piece of what lies before the window into the summary, if there is enough of it. Returns
/// whether it did.
///
/// # Errors
/// When the store fails. A model that fails leaves all as it is, for the next time.
pub async fn fold(store: &Store, model: &SharedModel, conversation: &str) -> Result<bool, StoreError> {
    let conversation = people::conversation_by_id(store, conversation).await?;
    let (window, beyond) = newest(store, &conversation).await?;
    let Some(first) = window.last().map(|turn| turn.seq) else { return Ok(false) };
    let full = i64::try_from(window.len() + beyond.len()).unwrap_or(0) == MOST_TURNS;
    if beyond.iter().map(cost).sum::<usize>() < FOLD_AT && !full {
        return Ok(false);
    }
    let after = conversation.history_from.max(conversation.folded_to);
    let oldest = turns::oldest_after(store, &conversation.id, after, MOST_TURNS).await?;
    let mut text = String::new();
    let mut to = after;
    for turn in oldest.iter().take_while(|turn| turn.seq < first) {
        if !text.is_empty() && tokens(&text) + cost(turn) > PIECE {
            break;
        }
        let answer = clip(turn.answer.as_deref().unwrap_or_default());
        text.push_str(&format!("Person: {}\nAssistant: {answer}\n", clip(&turn.text)));
        to = turn.seq;
    }
    if to == after {
        return Ok(false);
    }
    let Some(summary) = summarise(model, &conversation.summary, &text).await else { return Ok(false) };
    let mut batch = Batch::new();
    people::fold(&mut batch, &conversation, &summary, to);
    match store.write(batch).await {
        Ok(_) => Ok(true),
        // `/new`, or another process, was first.
        Err(StoreError::Stale(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

const FOLD: &str = "Fold the older part of a conversation into its running summary. Keep names, dates, decisions, \
    open questions and what the person likes; leave out small talk. At most 400 words of plain text, nothing else.";

async fn summarise(model: &SharedModel, summary: &str, text: &str) -> Option<String> {
    let prefix = Prefix::new(FOLD.into(), Vec::new());
    let earlier = if summary.is_empty() { "(none yet)" } else { summary };
    let request = Request {
        messages: vec![
            Message::new(Role::System, prefix.system.clone()),
            Message::new(Role::User, format!("Summary so far: {earlier}\n\nTo fold in:\n{text}")),
        ],
        tools: Vec::new(),
    };
    match model.call(&request).await {
        Ok(answer) if !answer.text.trim().is_empty() => {
            let text = answer.text.trim();
            Some(text[..text.floor_char_boundary(SUMMARY * 4)].to_owned())
        }
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "the history was not folded; the next turn tries again");
            None
        }
    }
}
