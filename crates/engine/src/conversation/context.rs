//! The first messages that the orchestrator's model sees in a turn, after the stable prefix: one about the person and
//! their tasks and memories, then the recent history, then the person's message.

mod files;

use std::fmt::Write;
use std::time::Duration;

use adjutant_memory::vectors::Vectors;
use adjutant_memory::{Asker, Found, SearchIn};
use adjutant_models::{Message, Role};
use adjutant_store::StoreError;
use adjutant_store::context::{self, ActiveSchedule, ContextData, ContextQuery, OpenQuestion, OpenTask};
use adjutant_store::first_messages::EARLIER;
use adjutant_store::memories::MemoryRow;
use adjutant_store::turns::TurnRow;
use adjutant_turn::journal::{FirstMessages, TurnContext};
use adjutant_types::clock::recurring::CronRule;
use adjutant_types::clock::utc;
use adjutant_types::invisible_chars::display_name;
use adjutant_types::text::one_line;
use adjutant_types::{PromptText, Taint, WAITING};
use chrono_tz::Tz;

use super::history::{self, EarlierTurn};

/// How many open tasks are shown.
const TASKS: i64 = 15;
/// How many memories are shown.
const MEMORIES: usize = 5;
/// How much of a waiting call's arguments is shown, in bytes.
const ARGUMENTS: usize = 600;
/// The source of names of who is mentioned.
const MENTIONED: &str = "the names of whom the messages mention";
/// How many schedules are shown.
const SCHEDULES: usize = 5;

/// What a turn tells the orchestrator's model at its beginning.
pub struct PromptContext {
    pub messages: FirstMessages,
    /// The outside sources of what they say.
    pub taint: Taint,
    /// Whether the history should be compacted afterwards.
    pub needs_compacting: bool,
}

/// What is remembered, each with its day.
fn remembered(memories: &[MemoryRow], zone: Tz) -> PromptText {
    let line = |memory: &MemoryRow| {
        let day = utc(memory.created_at).with_timezone(&zone).format("%-d %b %Y");
        format!("\n- {} [{}] ({day})", line(&memory.text), memory.id)
    };
    let lines: String = memories.iter().map(line).collect();
    if lines.is_empty() {
        PromptText::default()
    } else {
        PromptText::own(format_args!("\nYou remember:{lines}"))
    }
}

/// The first messages of a turn.
pub async fn of_turn(
    ctx: &TurnContext,
    turn: &TurnRow,
    vectors: Option<&Vectors>,
    fade: Option<Duration>,
    takes_pictures: bool,
) -> Result<PromptContext, StoreError> {
    let message = turn.text.as_str();
    let asker = Asker {
        person: &ctx.turn.person.id,
        here: &ctx.turn.conversation,
        zone: ctx.turn.zone,
        vectors,
        fade,
    };
    let (mut text, data, found) = futures::try_join!(
        head(ctx),
        context::read(&ctx.store, query(ctx, turn)),
        adjutant_memory::search(&ctx.store, asker, message, SearchIn::Memories, "", MEMORIES),
    )?;
    let ContextData { mut tasks, mut schedules, outside, mentions, past, questions, summary: stored_summary } =
        data;
    let past = history::window(&ctx.store, &ctx.turn.conversation, &ctx.turn.person.id, &past, ctx.turn.zone)
        .await?;
    // Text from outside is read on purpose, by a skill that marks it.
    let mut memories: Vec<_> = found.into_iter().filter_map(Found::memory).collect();
    let counts = (tasks.len(), memories.len());
    let is_ours = |domain: &str, key: &str| !outside.contains(&(domain.to_owned(), key.to_owned()));
    tasks.retain(|task| is_ours("tasks", &task.id));
    memories.retain(|memory| is_ours("memory", &memory.id));
    schedules.retain(|row| is_ours("schedule", &row.id));
    let left_out = (counts.0 - tasks.len(), counts.1 - memories.len());
    // A to-do list is private: it isn't shown where others read along.
    if !ctx.turn.conversation.shared {
        text.push(to_do(&tasks));
        text.push(scheduled(&schedules));
    }
    text.push(remembered(&memories, ctx.turn.zone));
    if !ctx.turn.conversation.shared && left_out.0 > 0 {
        text.push(PromptText::system(format_args!(
            "\n{} more open tasks hold text from outside; tasks.search shows them",
            left_out.0
        )));
    }
    if left_out.1 > 0 {
        text.push(PromptText::system(format_args!(
            "\n{} more memories hold text from outside; memory.search shows them",
            left_out.1
        )));
    }
    let summary = &ctx.turn.conversation.summary;
    let summary_taint = &ctx.turn.conversation.summary_taint;
    let is_clean = !summary.is_empty() && summary_taint.is_clean();
    if is_clean {
        text.push(EARLIER);
        text.push(shown(ctx, summary_taint, summary));
    }
    let mut messages = FirstMessages::from(vec![Message::new(Role::System, text)]);
    if is_clean {
        messages.has_summary(summary, stored_summary);
    }
    if !summary.is_empty() && !summary_taint.is_clean() {
        let text = PromptText::from(EARLIER.trim_start()).with(shown(ctx, summary_taint, summary));
        messages.extend([Message::new(Role::User, text)]);
    }
    let names = add_names(&mut messages, ctx, &mentions);
    add_history(&mut messages, ctx, past.turns, &questions);
    let sent = files::of_turn(ctx, &outside, takes_pictures).await?;
    messages.extend(sent.iter().map(|sent| sent.message.clone()));
    messages.extend([Message::new(Role::User, shown(ctx, &turn.text_taint, message))]);
    let mut taint: Taint = [&turn.text_taint, summary_taint, &past.taint, &names].into_iter().collect();
    sent.iter().for_each(|sent| taint.add(&sent.taint));
    Ok(PromptContext { messages, taint, needs_compacting: past.needs_compacting })
}

/// Adds the names of whom the messages mention; returns their source.
fn add_names(messages: &mut FirstMessages, ctx: &TurnContext, mentions: &[String]) -> Taint {
    if mentions.is_empty() {
        return Taint::default();
    }
    let names = Taint::by(MENTIONED);
    messages.extend([Message::new(Role::User, shown(ctx, &names, &mentions.join("\n")))]);
    names
}

/// Adds the earlier messages, with the turns that wait for the person in order.
fn add_history(
    messages: &mut FirstMessages,
    ctx: &TurnContext,
    turns: Vec<EarlierTurn>,
    questions: &[OpenQuestion],
) {
    let mut open = questions.chunk_by(|question, next| question.turn == next.turn).peekable();
    for turn in turns {
        let is_earlier = |asked: &&[OpenQuestion]| asked.iter().all(|question| question.turn < turn.seq);
        while let Some(asked) = open.next_if(is_earlier) {
            messages.extend(waiting(asked));
        }
        add(messages, ctx, turn);
    }
    open.for_each(|asked| messages.extend(waiting(asked)));
}

/// What of the store a turn's first messages are made of.
fn query<'a>(ctx: &'a TurnContext, turn: &'a TurnRow) -> ContextQuery<'a> {
    let (after, turns) = history::bounds(&ctx.turn.conversation);
    ContextQuery {
        person: &ctx.turn.person.id,
        conversation: &ctx.turn.conversation.id,
        turn: &turn.id,
        after,
        tasks: TASKS + 1,
        turns,
    }
}

/// Adds an earlier turn's messages. Text with a taint stands in blocks of this turn.
fn add(messages: &mut FirstMessages, ctx: &TurnContext, turn: EarlierTurn) {
    let EarlierTurn { seq, texts, taints, added } = turn;
    let is_clean = taints.iter().all(Taint::is_clean);
    let [text, answer] = texts;
    let request = PromptText::system(&added.day).with(shown(ctx, &taints[0], &text));
    let dialogue =
        [Message::new(Role::User, request), Message::new(Role::Assistant, shown(ctx, &taints[1], &answer))];
    match is_clean {
        true => messages.add_past(seq, dialogue, added, history::CUT),
        false => messages.extend(dialogue),
    }
}

/// A text of this conversation, in a block if others have written some of it.
fn shown(ctx: &TurnContext, taint: &Taint, text: &str) -> PromptText {
    PromptText::by_origin(&ctx.turn.id, taint, text)
}

fn to_do(tasks: &[OpenTask]) -> PromptText {
    let shown = &tasks[..tasks.len().min(usize::try_from(TASKS).unwrap_or_default())];
    let mut text = match shown.len() {
        0 => return "\nOpen tasks: none".into(),
        all if all == tasks.len() => format!("\nOpen tasks (all {all}):"),
        some => format!("\nOpen tasks (the first {some}; tasks.search has all):"),
    };
    for task in shown {
        let due = task.due.as_ref().map(|due| format!(" (due {due})")).unwrap_or_default();
        let _ = write!(text, "\n- [{}] {}{due}", task.id, line(&task.title));
    }
    PromptText::own(text)
}

/// A turn that waits for the person: its message and its questions. Arguments from outside aren't shown.
fn waiting(questions: &[OpenQuestion]) -> [Message; 2] {
    let message = questions.iter().find_map(|question| question.message.as_deref());
    let mut text = WAITING.to_owned();
    for question in questions {
        let description = match (question.skill.as_str(), question.is_outside) {
            (skill, true) => format!("{skill} (its arguments hold text from outside)"),
            ("", false) => line(&question.what),
            (skill, false) => format!("{skill} {}", one_line(&question.what, ARGUMENTS)),
        };
        let _ = write!(text, "\n- {description} [{}]", question.id);
    }
    let message = message.map_or_else(|| "(a message with text from outside)".to_owned(), line);
    [
        Message::new(Role::User, PromptText::own(message)),
        Message::new(Role::Assistant, PromptText::of_model(text)),
    ]
}

fn scheduled(schedules: &[ActiveSchedule]) -> PromptText {
    let mut text = String::new();
    for row in schedules.iter().take(SCHEDULES) {
        let zone = row.zone.parse().unwrap_or(Tz::UTC);
        let rule = CronRule::parse(&row.rule, zone).map_or_else(|_| row.rule.clone(), |rule| rule.spoken());
        let _ = write!(text, "\n- {} {rule} [{}]", line(&row.text), row.id);
    }
    if text.is_empty() { PromptText::default() } else { PromptText::own(format_args!("\nScheduled:{text}")) }
}

async fn head(ctx: &TurnContext) -> Result<PromptText, StoreError> {
    let kind = if !ctx.turn.conversation.shared { "direct" } else { "others read here" };
    let mut text = format!("Person: {}", display_name(&ctx.turn.person.name));
    // The mail account is the owners'.
    let address = ctx.turn.settings.mail_address.as_ref().filter(|_| !ctx.turn.conversation.shared);
    if let Some(address) = address
        && (ctx.turn.conversation.channel == "console" || ctx.is_owners().await?)
    {
        let _ = write!(text, "\nTheir mail address: {address}");
    }
    let _ = write!(text, "\nChannel: {} ({kind})\n{}", ctx.turn.conversation.channel, ctx.now_line());
    Ok(PromptText::own(text))
}

/// The text as one short line.
fn line(text: &str) -> String {
    one_line(text, 200)
}
