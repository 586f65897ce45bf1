//! The first messages that the orchestrator's model sees in a turn, after the stable prefix: what is the same in each turn
//! of the conversation, the recent history, what is true of this turn alone, and the person's message. In this order a
//! provider's cache holds the next turn's request up to the history's end.

mod facts;
mod files;
mod waiting;

use std::fmt::Write;

use adjutant_memory::{Asker, Found, SearchIn};
use adjutant_models::{Message, Role};
use adjutant_skills::accounts::{ConnectedAccount, PersonAccounts};
use adjutant_store::context::{self, ContextQuery};
use adjutant_store::first_messages::EARLIER;
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::watches::TurnItems;
use adjutant_store::{Result, memories, objects};
use adjutant_turn::journal::{FirstMessages, TurnContext};
use adjutant_types::invisible_chars::display_name;
use adjutant_types::{AccountService, PromptText, Taint};

use super::history::{self, EarlierTurn};
use crate::orchestrator::Orchestrator;
use crate::watching;
use waiting::WaitingTurn;

/// How many memories the message finds; a request may need several.
const MEMORIES: usize = 12;
/// The source of names of who is mentioned.
const MENTIONED: &str = "the names of whom the messages mention";

/// The beginning of a turn's dialogue with the orchestrator's model.
pub struct PromptContext {
    pub messages: FirstMessages,
    /// The outside sources of what they say.
    pub taint: Taint,
    pub needs_compacting: bool,
}

/// The first messages of a turn whose person has these accounts.
pub async fn of_turn(
    ctx: &TurnContext,
    turn: &TurnRow,
    orchestrator: &Orchestrator,
    accounts: &PersonAccounts,
) -> Result<PromptContext> {
    let services = &orchestrator.agents.executor.services;
    if let Some(found) = ctx.watch() {
        return Ok(of_watch(ctx, turn, head(ctx, accounts), found));
    }
    let (store, person, here) = (&ctx.store, &ctx.turn.person.id, &ctx.turn.conversation);
    let (vectors, fade) = (services.vectors.as_deref(), services.fade);
    let asker = Asker { person, here, zone: ctx.turn.zone, vectors, fade };
    let day = facts::today(ctx);
    let (mut data, found) = futures::try_join!(
        context::read(store, query(ctx, turn, day)),
        adjutant_memory::search(store, asker, &turn.text, SearchIn::MemoriesForMessage, "", MEMORIES),
    )?;
    let is_on_server = services.accounts.configured(AccountService::Calendar).is_some();
    let has_own_calendar = !is_on_server && !accounts.has(AccountService::Calendar) && !here.shared;
    let past = (data.past.as_slice(), data.open_from);
    let (past, open, events, preferences) = futures::try_join!(
        history::window(store, here, person, past, ctx.turn.zone),
        if_any(data.has_open, turns::open_beside(store, turn)),
        if_any(has_own_calendar && data.has_events, objects::between(store, person, "event", day.0, day.1)),
        if_any(data.has_preferences, memories::list(store, person, here, "preference", facts::PREFERENCES)),
    )?;
    let waiting = waiting::load(ctx, &open, &orchestrator.skills.current()).await?;
    let sent = files::of_turn(ctx, &data.outside, orchestrator.model.takes_pictures()).await?;
    let has_files = sent.is_some() || past.turns.iter().any(EarlierTurn::names_file);
    let names = if data.mentions.is_empty() { Taint::default() } else { Taint::by(MENTIONED) };
    let mut taint: Taint =
        [&turn.text_taint, &ctx.turn.conversation.summary_taint, &past.taint, &names].into_iter().collect();
    waiting.iter().for_each(|turn| taint.add(&turn.taint));
    sent.iter().for_each(|sent| taint.add(&sent.taint));

    // What is marked doesn't taint a turn that nothing else does.
    let marked = if taint.is_clean() { None } else { facts::marked_tasks(ctx, &data.tasks) };
    let events = has_own_calendar.then_some((events, day));
    let summary = data.summary.take();
    let (data, open, shows_marked) = (&data, open.as_slice(), marked.is_some());
    let facts = facts::Facts { ctx, turn, data, open, events, shows_marked, has_files };
    let found = found.into_iter().filter_map(Found::memory).collect();
    let [lasting, passing] = facts.told(preferences, found).await?;
    let head = [head(ctx, accounts), lasting].into_iter().filter(|part| !part.is_empty());
    let mut messages = beginning(ctx, PromptText::lines(head), summary);
    add_history(&mut messages, ctx, past.turns, waiting);
    messages.extend([Message::new(Role::System, passing)]);
    if let Some((tasks, sources)) = marked {
        messages.extend([Message::new(Role::User, tasks)]);
        taint.add(&sources);
    }
    if !names.is_clean() {
        messages.extend([Message::new(Role::User, shown(ctx, &names, &data.mentions.join("\n")))]);
    }
    messages.extend(sent.map(|sent| sent.message));
    if let Some(found) = &ctx.turn.found {
        let (text, sources) = watching::found(&turn.id, &found.items, ctx.turn.zone);
        messages.extend([Message::new(Role::User, text)]);
        taint.add(&sources);
    }
    messages.extend([Message::new(Role::User, shown(ctx, &turn.text_taint, &turn.text))]);
    Ok(PromptContext { messages, taint, needs_compacting: past.needs_compacting })
}

/// The first messages of a watch's turn: nothing private stands beside what others wrote.
fn of_watch(ctx: &TurnContext, turn: &TurnRow, head: PromptText, found: &TurnItems) -> PromptContext {
    let (text, taint) = watching::found(&turn.id, &found.items, ctx.turn.zone);
    let messages = vec![
        Message::new(Role::System, head),
        Message::new(Role::System, facts::of_watch(ctx, found)),
        Message::new(Role::User, text),
        Message::new(Role::User, PromptText::own(&turn.text)),
    ];
    PromptContext { messages: messages.into(), taint, needs_compacting: false }
}

/// Reads rows where there are some.
async fn if_any<T>(has_some: bool, rows: impl Future<Output = Result<Vec<T>>>) -> Result<Vec<T>> {
    if has_some { rows.await } else { Ok(Vec::new()) }
}

/// The rows that a turn's first messages are made of.
fn query<'a>(ctx: &'a TurnContext, turn: &'a TurnRow, day: (i64, i64)) -> ContextQuery<'a> {
    let (after, turns) = history::bounds(&ctx.turn.conversation);
    ContextQuery {
        person: &ctx.turn.person.id,
        conversation: &ctx.turn.conversation.id,
        turn: &turn.id,
        after,
        tasks: facts::TASKS,
        turns,
        day,
    }
}

fn head(ctx: &TurnContext, accounts: &PersonAccounts) -> PromptText {
    let kind = if !ctx.turn.conversation.shared { "direct" } else { "others read here" };
    let mut text = format!("Person: {}", display_name(&ctx.turn.person.name));
    if !ctx.turn.conversation.shared {
        add_accounts(&mut text, ctx, accounts);
    }
    let _ = write!(text, "\nChannel: {} ({kind})", ctx.turn.conversation.channel);
    PromptText::own(text)
}

/// Names the accounts of a person who has several for one thing; else only their mail address.
fn add_accounts(text: &mut String, ctx: &TurnContext, accounts: &PersonAccounts) {
    let address = |account: &ConnectedAccount| {
        let configured = ctx.turn.settings.mail_address.as_ref().filter(|_| account.is_configured());
        configured.map_or_else(|| display_name(&account.address), Clone::clone)
    };
    if !accounts.has_several() {
        if let Some(account) = accounts.with(AccountService::Mail).next() {
            let _ = write!(text, "\nTheir mail address: {}", address(account));
        }
        return;
    }
    let mut names: Vec<(String, String)> = Vec::new();
    for account in &accounts.all {
        let default = match (account.is_mail_default, account.is_events_default) {
            (true, true) => "the default",
            (true, false) => "the default for emails",
            (false, true) => "the default for events",
            (false, false) => "",
        };
        let address = if account.has(AccountService::Mail) { address(account) } else { String::new() };
        let about = [address.as_str(), default].into_iter().filter(|part| !part.is_empty());
        let (label, about) = (display_name(&account.label), about.collect::<Vec<_>>().join(", "));
        // The configuration's mail, calendar and contacts have one name.
        if !about.is_empty() || names.iter().all(|(known, _)| *known != label) {
            names.push((label, about));
        }
    }
    let names = names.into_iter().map(|(label, about)| match about.as_str() {
        "" => label,
        about => format!("{label} ({about})"),
    });
    let _ = write!(text, "\nTheir accounts: {}", names.collect::<Vec<_>>().join("; "));
}

/// The head and the summary, which stay the same from turn to turn. `recorded` is the turn that stores the summary.
fn beginning(ctx: &TurnContext, head: PromptText, recorded: Option<(i64, String)>) -> FirstMessages {
    let (summary, taint) = (&ctx.turn.conversation.summary, &ctx.turn.conversation.summary_taint);
    let earlier = shown(ctx, taint, summary);
    if !summary.is_empty() && taint.is_clean() {
        let head = head.with(EARLIER).with(earlier);
        let mut messages = FirstMessages::from(vec![Message::new(Role::System, head)]);
        messages.has_summary(summary, recorded);
        return messages;
    }
    let mut messages = vec![Message::new(Role::System, head)];
    if !summary.is_empty() {
        let text = PromptText::from(EARLIER.trim_start()).with(earlier);
        messages.push(Message::new(Role::User, text));
    }
    messages.into()
}

/// Adds the earlier messages, with the turns that wait for the person in order.
fn add_history(
    messages: &mut FirstMessages,
    ctx: &TurnContext,
    turns: Vec<EarlierTurn>,
    waiting: Vec<WaitingTurn>,
) {
    let mut waiting = waiting.into_iter().peekable();
    for turn in turns {
        while let Some(earlier) = waiting.next_if(|waiting| waiting.order < (turn.at, turn.seq)) {
            messages.extend(earlier.messages);
        }
        add(messages, ctx, turn);
    }
    waiting.for_each(|turn| messages.extend(turn.messages));
}

/// Adds an earlier turn's messages. Text with a taint stands in blocks.
fn add(messages: &mut FirstMessages, ctx: &TurnContext, turn: EarlierTurn) {
    let EarlierTurn { seq, texts, taints, added, .. } = turn;
    let is_clean = taints.iter().all(Taint::is_clean);
    let [text, answer] = texts;
    let request = PromptText::system(&added.day).with(shown(ctx, &taints[0], &text));
    let dialogue =
        [Message::new(Role::User, request), Message::new(Role::Assistant, shown(ctx, &taints[1], &answer))];
    if is_clean { messages.add_past(seq, dialogue, added, history::CUT) } else { messages.extend(dialogue) }
}

/// A text of this conversation, in a block if others have written some of it. The block's mark is the same in each turn.
fn shown(ctx: &TurnContext, taint: &Taint, text: &str) -> PromptText {
    PromptText::by_origin(&ctx.turn.conversation.id, taint, text)
}
