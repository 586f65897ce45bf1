//! The part of a conversation's past that the model sees: a window of recent turns, limited by tokens, and a running
//! summary of older ones. Compacting older turns into the summary happens after a turn, so that no turn waits for it.
//! The window's beginning moves in steps, so that for some turns providers find it in their cache.

use adjutant_models::price::tokens;
use adjutant_models::{Message, Request, Role, SharedModel};
use adjutant_store::first_messages::{self, Added};
use adjutant_store::people::{self, Conversation};
use adjutant_store::turns::{self, PastTurn};
use adjutant_store::{Batch, Result, Store, StoreError};
use adjutant_turn::journal::{BudgetLedger, TurnContext};
use adjutant_types::{ConversationId, PersonId, PromptText, Taint, TurnId, clock};
use chrono_tz::Tz;
use tracing::Instrument;

use super::Conversations;
use super::recent_entities::RecentEntities;

/// How many tokens of history a request holds at most; with more, the history is compacted.
const WINDOW: usize = 4000;
/// How many tokens stay in the window when its beginning moves.
const REMAINING: usize = 2000;
/// How many tokens the window holds at most of turns that can't be compacted yet.
const HELD: usize = 16_000;
/// How many tokens are compacted at once.
const COMPACT_BATCH: usize = 4000;
/// The length of a summary in tokens.
const SUMMARY: usize = 600;
/// How many turns a window may hold. Short turns are compacted only when there are this many, so that it doesn't happen
/// at every turn, and the history keeps its beginning long enough for a provider's cache.
const MAX_TURNS: i64 = 40;
/// How many turns stay when a full window is compacted.
const KEPT_TURNS: usize = 20;
const DISLIKED: &str = "\n(the person put 👎 under this answer)";
/// After how many bytes a text is cut.
pub const CUT: usize = 6000;

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(CUT)]
}

fn cost(turn: &PastTurn) -> usize {
    tokens(clip(&turn.text)) + tokens(clip(turn.answer.as_deref().unwrap_or_default()))
}

/// The recent past as a turn sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The turns' messages, oldest first.
    pub turns: Vec<EarlierTurn>,
    /// The outside sources of all of it.
    pub taint: Taint,
    /// Whether there is enough history to [`compact`].
    pub needs_compacting: bool,
}

/// A turn before this one, as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierTurn {
    /// Its `turns.seq`.
    pub seq: i64,
    /// Where it stands, in milliseconds.
    pub at: i64,
    /// Its message and its answer.
    pub texts: [String; 2],
    pub taints: [Taint; 2],
    pub added: Added,
}

impl EarlierTurn {
    pub fn names_file(&self) -> bool {
        [": file ", "; file "].iter().any(|name| self.added.more.contains(name))
    }
}

/// Where the first query for a window begins, and how many turns it may hold.
pub fn bounds(conversation: &Conversation) -> (i64, i64) {
    (conversation.history_from.max(conversation.compacted_to), MAX_TURNS)
}

/// The window over the newest turns as a person sees it, and whether the history should be compacted. `open_from` is the
/// `turns.seq` of the oldest open turn.
pub async fn window(
    store: &Store,
    conversation: &Conversation,
    person: &PersonId,
    (newest, open_from): (&[PastTurn], i64),
    zone: Tz,
) -> Result<Window> {
    let needs_compacting = compact_before(newest, open_from).is_some();
    let shown = &newest[..shown(newest, open_from)];
    let is_others = |other: &&PersonId| conversation.shared && *other != person;
    let sender_taints =
        people::said_by(store, shown.iter().map(|turn| &turn.person_id).filter(is_others)).await?;
    let entities = RecentEntities::load(store, conversation, shown).await?;
    let mut days = DayMarks { zone, last: Some(clock::local_day(store.now(), zone)) };
    let turns: Vec<EarlierTurn> = shown
        .iter()
        .rev()
        .filter(|turn| !turn.forgotten)
        .map(|turn| {
            let scheduled = if turn.is_scheduled { "[scheduled] " } else { "" };
            let disliked = if turn.is_disliked { DISLIKED } else { "" };
            let added = Added { day: days.of(turn) + scheduled, more: entities.line(turn.seq) + disliked };
            let texts = first_messages::texts_of(&turn.text, turn.answer.as_deref(), &added.more, CUT);
            let sender_taint = sender_taints.get(&turn.person_id).cloned().unwrap_or_default();
            let taints = [&turn.text_taint, &turn.taint].map(|taint| sender_taint.clone().and(taint));
            EarlierTurn { seq: turn.seq, at: turn.at, texts, taints, added }
        })
        .collect();
    let taint = turns.iter().flat_map(|turn| &turn.taints).collect();
    Ok(Window { turns, taint, needs_compacting })
}

/// Says on which days turns were written, because of words like "tomorrow". A turn has its day if that isn't the one before's;
/// the first has it unless that is today. So what a model saw of a turn stays the same until the next day, and providers can
/// cache it.
struct DayMarks {
    zone: Tz,
    last: Option<String>,
}

impl DayMarks {
    /// `[Fri 20 Nov 2026] `, or nothing.
    fn of(&mut self, turn: &PastTurn) -> String {
        let day = clock::local_day(turn.written_at, self.zone);
        if self.last.as_ref() == Some(&day) {
            return String::new();
        }
        self.last = Some(day);
        clock::utc(turn.written_at).with_timezone(&self.zone).format("[%a %-d %b %Y] ").to_string()
    }
}

async fn newest(store: &Store, conversation: &Conversation) -> Result<Vec<PastTurn>> {
    let (after, limit) = bounds(conversation);
    turns::ended_after(store, &conversation.id, after, limit).await
}

fn total(turns: &[PastTurn]) -> usize {
    turns.iter().map(cost).sum()
}

/// The newest turns that have this many tokens together; one at least.
fn newest_with(tokens: usize, newest: &[PastTurn]) -> &[PastTurn] {
    let mut used = 0;
    let fits = newest.iter().take_while(|turn| {
        used += cost(turn);
        used <= tokens
    });
    &newest[..fits.count().max(1).min(newest.len())]
}

/// The `turns.seq` before which turns may be compacted, if these stay. What is still open would be missing from the summary
/// and from the window once it has ended; what worked in the background may have a lower one than turns before it.
fn end(staying: &[PastTurn], open_from: i64) -> i64 {
    staying.iter().map(|turn| turn.seq).fold(open_from, i64::min)
}

/// How many of the newest turns are shown: as many as if each step had been compacted at once, where that is possible.
fn shown(newest: &[PastTurn], open_from: i64) -> usize {
    let open_from = end(newest_with(REMAINING, newest), open_from);
    let mut count = 0;
    for at in (0..newest.len()).rev() {
        count += 1;
        let window = &newest[at..at + count];
        if total(window) <= WINDOW {
            continue;
        }
        let end = end(newest_with(REMAINING, window), open_from);
        count = window.iter().rposition(|turn| turn.seq >= end).map_or(count, |last| last + 1);
        if total(&window[..count]) > HELD {
            count = newest_with(HELD / 2, window).len();
        }
    }
    count
}

/// The `turns.seq` before which everything should be compacted; none if there is too little.
fn compact_before(newest: &[PastTurn], open_from: i64) -> Option<i64> {
    let is_full = i64::try_from(newest.len()) == Ok(MAX_TURNS);
    let staying = newest_with(REMAINING, newest);
    let staying = &staying[..staying.len().min(KEPT_TURNS)];
    (is_full || total(newest) > WINDOW).then(|| end(staying, open_from))
}

impl Conversations {
    /// Compacts old history in the background.
    pub(super) fn compact_later(&self, ctx: &TurnContext) {
        let model = self.orchestrator.model.clone();
        let ledger = self.ledger(self.settings.current(), &ctx.turn.person.id, &TurnId::default());
        let conversation = ctx.turn.conversation.id.clone();
        let compacting = async move {
            loop {
                match compact(&ledger, &model, &conversation).await {
                    Ok(true) => continue,
                    // The next start compacts it.
                    Ok(false) | Err(StoreError::Closed) => {}
                    Err(error) => tracing::warn!(%error, "the history wasn't compacted"),
                }
                break;
            }
        };
        tokio::spawn(compacting.in_current_span());
    }
}

/// Compacts some turns from before the window into the summary, if there are enough and the daily budgets cover the
/// call. Returns whether it did and more are left, as where an open turn held them back. A failed call changes nothing.
pub async fn compact(
    ledger: &BudgetLedger,
    model: &SharedModel,
    conversation: &ConversationId,
) -> Result<bool> {
    let store = &ledger.store;
    let conversation = people::conversation_by_id(store, conversation).await?;
    let open = turns::open_of(store, &conversation.id).await?;
    let open_from = open.iter().map(|turn| turn.seq).min().unwrap_or(i64::MAX);
    let Some(end) = compact_before(&newest(store, &conversation).await?, open_from) else { return Ok(false) };
    let after = conversation.history_from.max(conversation.compacted_to);
    let oldest = turns::oldest_after(store, &conversation.id, after, MAX_TURNS).await?;
    let (mut text, mut taint) = (String::new(), conversation.summary_taint.clone());
    let mut by: Vec<&str> =
        conversation.summary_by.split(' ').filter(|_| !conversation.summary.is_empty()).collect();
    let mut to = after;
    let mut days = DayMarks { zone: ledger.zone, last: None };
    for turn in oldest.iter().take_while(|turn| turn.seq < end) {
        if !text.is_empty() && tokens(&text) + cost(turn) > COMPACT_BATCH {
            break;
        }
        to = turn.seq;
        if turn.forgotten {
            continue;
        }
        let number = by.iter().position(|id| **id == *turn.person_id).unwrap_or_else(|| {
            by.push(&turn.person_id);
            by.len() - 1
        });
        // Their names are text from outside for each other.
        let who = if number == 0 { "Person".to_owned() } else { format!("Person {}", number + 1) };
        let answer = clip(turn.answer.as_deref().unwrap_or_default());
        text.push_str(&format!("{}{who}: {}\nAssistant: {answer}\n", days.of(turn), clip(&turn.text)));
        taint = taint.and(&turn.text_taint).and(&turn.taint);
    }
    if to == after {
        return Ok(false);
    }
    let Some(summary) = summarise(ledger, model, &conversation, (&text, &taint)).await? else {
        return Ok(false);
    };
    let mut batch = Batch::new();
    people::compact(&mut batch, &conversation, (&summary, &taint, &by.join(" ")), to);
    // `/new` or another process may have been faster.
    Ok(store.try_write(batch).await? && oldest.iter().any(|turn| to < turn.seq && turn.seq < end))
}

const INSTRUCTIONS: &str = "Update the running summary of a conversation with its older messages. Keep names, dates \
    (\"yesterday\" as its date), decisions, open questions and preferences; leave out small talk. At most 400 words of plain \
    text, nothing else.";

async fn summarise(
    ledger: &BudgetLedger,
    model: &SharedModel,
    conversation: &Conversation,
    (text, taint): (&str, &Taint),
) -> Result<Option<String>> {
    let shown = |taint: &Taint, text: &str| PromptText::by_origin(&conversation.id, taint, text);
    let earlier = match conversation.summary.as_str() {
        "" => "(none yet)".into(),
        earlier => shown(&conversation.summary_taint, earlier),
    };
    let asked = PromptText::from("Summary so far: ")
        .with(earlier)
        .with("\n\nOlder messages:\n")
        .with(shown(taint, text));
    let request = Request {
        messages: vec![Message::new(Role::System, INSTRUCTIONS), Message::new(Role::User, asked)],
        ..Request::default()
    };
    let Some(outcome) = ledger.background_call(&**model, "fold", &conversation.id, &request).await? else {
        tracing::info!("the history wasn't compacted: the day's budget doesn't cover it");
        return Ok(None);
    };
    match outcome {
        Ok(answer) if !answer.text.trim().is_empty() => {
            let text = answer.text.trim();
            Ok(Some(text[..text.floor_char_boundary(SUMMARY * 4)].to_owned()))
        }
        Ok(_) => Ok(None),
        Err(error) => {
            tracing::warn!(%error, "the history wasn't compacted; the next turn tries again");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns 1 to `count`, newest first, with this many tokens each.
    fn turns(count: i64, tokens: usize) -> Vec<PastTurn> {
        let turn = |seq| PastTurn {
            seq,
            person_id: PersonId::default(),
            text: "x".repeat(tokens * 4),
            text_taint: Taint::default(),
            answer: None,
            taint: Taint::default(),
            at: seq,
            written_at: seq,
            forgotten: false,
            has_calls: false,
            is_scheduled: false,
            is_disliked: false,
        };
        (1..=count).rev().map(turn).collect()
    }

    #[test]
    fn short_turns_are_compacted_twenty_at_a_time() {
        assert_eq!(compact_before(&[], i64::MAX), None);
        assert_eq!(compact_before(&turns(39, 4), i64::MAX), None);
        assert_eq!(compact_before(&turns(40, 4), i64::MAX), Some(21), "the newest twenty stay");
    }

    #[test]
    fn long_turns_are_compacted_when_they_no_longer_fit() {
        assert_eq!(compact_before(&turns(8, 500), i64::MAX), None);
        assert_eq!(compact_before(&turns(9, 500), i64::MAX), Some(6), "half of the window stays");
        let shown = [2, 3].map(|count| shown(&turns(count, 50_000), i64::MAX));
        assert_eq!(shown, [2, 1], "an endless text is clipped");
    }

    #[test]
    fn what_ended_late_in_the_background_holds_back_what_came_after_its_beginning() {
        let mut late = turns(15, 500);
        late[0].seq = 0;
        assert_eq!((compact_before(&late, i64::MAX), shown(&late, i64::MAX)), (Some(0), 15));
    }

    #[test]
    fn what_an_open_turn_holds_back_stays_in_a_larger_window() {
        assert_eq!(compact_before(&turns(15, 500), 3), Some(3));
        assert_eq!([9, 15, 34, 35].map(|count| shown(&turns(count, 500), 3)), [7, 13, 32, 16]);
    }

    #[test]
    fn the_window_moves_in_steps_also_where_nothing_is_compacted() {
        let first = |count: i64| {
            let turns = turns(count, 500);
            turns[shown(&turns, i64::MAX) - 1].seq
        };
        let first: Vec<i64> = (1..=15).map(first).collect();
        assert_eq!(first, [1, 1, 1, 1, 1, 1, 1, 1, 6, 6, 6, 6, 6, 11, 11]);
    }
}
