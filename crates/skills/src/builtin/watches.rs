//! Making and managing watches.
//!
//! - No text from outside makes or resumes one that acts: such a call always asks, and what a watch does stands in words
//!   that the person typed. One that only tells is theirs, and `/undo` ends it.
//! - What it may do is read from these words alone, once: when it is made, or later if no model answers then.

use adjutant_config::QuietHours;
use adjutant_l10n::watches as words;
use adjutant_mail::Address;
use adjutant_store::secrets::digest;
use adjutant_store::watches::{self, ItemRow, WatchRow};
use adjutant_store::{Batch, Store, executions, inbox, people};
use adjutant_turn::trust::{Action, ActionKind, Reach, Target, Thing, Wish, Wishes};
use adjutant_turn::wording::wishes::effects;
use adjutant_types::clock::when::When;
use adjutant_types::clock::{duration, local_to_utc, utc};
use adjutant_types::text::one_line;
use adjutant_types::watches::MAX_WATCHES;
use adjutant_types::{
    AccountId, AccountService, Bounds, Condition, ConversationId, FromCall, ItemNoun, ItemState, PersonId,
    WatchAction, WatchItem, WatchSource, WatchState, WatchTrigger, ours,
};
use async_trait::async_trait;
use chrono::{NaiveDateTime, NaiveTime};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::assistant::from_line;
use super::merged::labelled;
use super::undo::{Step, left};
use super::{BuiltinSkill, CallContext, Idempotency, PersonAccounts, Preview, contacts, short_id, under};
use crate::accounts::{ConnectedAccount, is_owner};
use crate::definition::WORKFLOW;
use crate::executor::{mail_id, of_words};
use crate::{Approved, Output, Result, Risk, SkillError};

domain! {
    "watch", "../../../../skills/watch.toml", WatchSkill {
        Create = "watch.create",
        List = "watch.list",
        Delete = "watch.delete",
        Later = "watch.later",
        Done = "watch.done",
        Event = "watch.event",
    }
}

/// The folder of new email.
pub const INBOX: &str = "INBOX";
/// How long before an event it is told, in minutes.
pub const MINUTES: u32 = 15;
/// So many of the results that were shown last may have the line that a number means.
const RESULTS: i64 = 30;
/// When something that was put off until a day is told.
pub const MORNING: NaiveTime = match NaiveTime::from_hms_opt(8, 0, 0) {
    Some(time) => time,
    None => NaiveTime::MIN,
};

#[async_trait]
impl BuiltinSkill for WatchSkill {
    fn uses_accounts(&self) -> bool {
        matches!(self, Self::Create)
    }

    fn effect(&self, _: &PersonAccounts) -> Idempotency {
        Idempotency::OwnStore
    }

    async fn account(&self, call: &CallContext<'_>) -> Result<Option<AccountId>> {
        let account = if self.uses_accounts() { account(call)? } else { None };
        Ok(account.map(|account| account.id.clone()))
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::List | Self::Event => None,
            Self::Create => Some(ActionKind::WatchCreate),
            Self::Delete => Some(ActionKind::WatchChange),
            // What was told is a list of things to do.
            Self::Later | Self::Done => Some(ActionKind::TaskChange),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
        Ok(match self {
            Self::Create if call.taint.is_clean() => {
                vec![Target::Text(call.text("words").unwrap_or_default().to_owned())]
            }
            Self::Create => {
                let (row, own) = (planned(call).await?, call.ctx.words().await?);
                let Condition { from, subject, text, judge, .. } = &row.condition;
                let parties: Vec<Address> = from.iter().filter_map(|from| from.parse().ok()).collect();
                let known = contacts::recipients(call, &parties).await?;
                // The address of whom they named; a name that a mail gives itself is none.
                let is_named = |from: &String| {
                    known.iter().any(|target| {
                        matches!(target, Target::Recipient { address, names, .. }
                            if address.eq_ignore_ascii_case(from) && names.iter().any(|name| own.mention(name)))
                    })
                };
                let mut texts = [subject, text].into_iter().flatten().chain(judge);
                let is_own = only_tells(&row)
                    && texts.all(|text| own.hold(text))
                    && from.iter().all(|from| own.hold(from) || is_named(from));
                vec![if is_own { Target::Tells } else { Target::Always(words::needs_your_yes()) }]
            }
            Self::Delete => {
                let row = by_id(call).await?;
                let (id, title) = (row.id.to_string(), described(&row));
                vec![Target::Thing(Thing { noun: "watch", id, title, is_shared: false })]
            }
            Self::Later => {
                let WatchItem { noun, id, from, title, .. } = item(call).await?.thing.unwrap_or_default();
                let title = format!("{title} {}", from.split(" <").next().unwrap_or_default());
                let id = if noun == ItemNoun::Mail { mail_id(&id, &from) } else { id };
                vec![Target::Thing(Thing { noun: noun.as_str(), id, title, is_shared: false })]
            }
            _ => Vec::new(),
        })
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        let (text, risk) = match self {
            Self::Create => {
                let row = planned(call).await?;
                (question(call, &row), if only_tells(&row) { Risk::Low } else { Risk::High })
            }
            Self::Later | Self::Done => {
                let what = from_line(&item(call).await?.thing.unwrap_or_default());
                let text = match self {
                    Self::Later => words::ask_later(When::Time(until(call)?).spoken(), what),
                    _ => words::ask_done(what),
                };
                (text, Risk::Low)
            }
            Self::List | Self::Delete | Self::Event => return Ok(Preview::default()),
        };
        Ok(Preview { risk, text: Some(text), ..Preview::default() })
    }

    async fn subject(&self, call: &CallContext<'_>) -> Result<Option<String>> {
        Ok(if call.text("id").is_some() { by_id(call).await.ok().map(|row| described(&row)) } else { None })
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output> {
        match self {
            Self::Create => create(call, writes).await,
            Self::List => list(call).await,
            Self::Delete => {
                let row = by_id(call).await?;
                let summary = change(writes, &row, None, call.store().now());
                let gone = json_of(&WatchRow { state: WatchState::Stopped, ..row.clone() });
                Ok(Output::ours(summary, gone).undone_by(stopped(&row)))
            }
            Self::Later => {
                let (item, until) = (item(call).await?, until(call)?);
                let summary = put_off(writes, &item, until, call.zone());
                Ok(Output::ours(summary, json!({"item": item.id, "until": When::Time(until).iso()})))
            }
            Self::Done => {
                let item = item(call).await?;
                Ok(Output::ours(take_off(writes, &item), json!({"item": item.id})))
            }
            Self::Event => {
                let items = found(call).await?;
                let items: Vec<Value> =
                    items.iter().filter_map(|item| found_thing(item, call.zone())).collect();
                let data = json!({"count": items.len(), "items": items});
                Ok(Output::outside_if(!items.is_empty(), words::set_off(items.len()), data))
            }
        }
    }
}

/// A new watch that tells of everything.
pub fn new_row(
    store: &Store,
    (conversation, person): (&ConversationId, &PersonId),
    source: WatchSource,
) -> WatchRow {
    let now = store.now();
    WatchRow {
        id: short_id(store),
        person_id: person.clone(),
        conversation_id: conversation.clone(),
        source,
        wishes: "{}".to_owned(),
        active_since: now,
        created_at: now,
        ..WatchRow::default()
    }
}

/// Pauses or resumes a watch, or, without a state, deletes it. Returns what to say. What comes while it is paused isn't
/// caught up. One of the configuration is only paused: the next start would make it again.
pub fn change(batch: &mut Batch, row: &WatchRow, state: Option<WatchState>, now: i64) -> String {
    let what = described(row);
    let (state, text) = match state {
        None if row.config_name.is_some() => (WatchState::Paused, words::paused_configured(what)),
        None => {
            watches::delete(batch, &row.id);
            return words::deleted(what);
        }
        Some(WatchState::Active) => (WatchState::Active, words::resumed(what)),
        Some(state) => (state, words::paused(what)),
    };
    let mut new = WatchRow { state, ..row.clone() };
    if state == WatchState::Active && row.state != state {
        (new.active_since, new.next_at, new.failures) = (now, 0, 0);
        new.bounds.until = new.bounds.until.filter(|until| *until > now);
    }
    watches::change(batch, row, &new);
    text
}

/// How to take back that somebody stopped a watch.
pub fn stopped(row: &WatchRow) -> Option<Value> {
    left(&[Step::Stopped(Box::new(row.clone()))])
}

/// What a watch is about: `email from anyone at acme.example about “invoice”`.
pub fn described(row: &WatchRow) -> String {
    let condition = &row.condition;
    let kind = match row.source.trigger {
        WatchTrigger::Mail if condition.is_everything() => "everything",
        WatchTrigger::Mail if condition.is_answer => "answer",
        trigger => trigger.as_str(),
    };
    let who = |who: &String| who.strip_prefix('@').map_or_else(|| who.clone(), words::anyone_at);
    let quoted = |texts: &[String]| texts.iter().map(words::quoted).reduce(words::either);
    let parts = [
        (row.source.trigger == WatchTrigger::File).then(|| words::in_folder(&row.source.place)),
        condition.from.iter().map(who).reduce(words::either).map(words::from_whom),
        quoted(&condition.subject).map(words::about_words),
        quoted(&condition.text).map(words::saying_words),
        condition.attachment.map(words::attachment),
        condition.outside.map(words::outside),
        condition.judge.as_ref().map(words::fitting),
    ];
    let kind = words::kind(kind, condition.minutes);
    one_line(&parts.into_iter().flatten().fold(kind, |all, part| all + " " + &part), 1_000)
}

/// That what it reads can't be read, and since when.
pub fn unread(row: &WatchRow, zone: Tz) -> Option<String> {
    let since = utc(row.unread_since.filter(|_| row.state == WatchState::Active)?).with_timezone(&zone);
    Some(words::unread(When::Time(since.naive_local()).spoken()))
}

/// A watch in a list, with what it does.
pub fn line(row: &WatchRow, zone: Tz) -> String {
    let then = (!row.words.is_empty()).then(|| words::then_words(one_line(&row.words, 200)));
    let more = unread(row, zone).into_iter().chain(then).map(|line| format!("  {line}"));
    under(words::line(row.state, described(row), &row.id), more)
}

/// Something that was found, as results hold it. Its texts are from outside.
pub fn found_thing(item: &ItemRow, zone: Tz) -> Option<Value> {
    let thing = item.thing.as_ref()?;
    let title = if thing.noun == ItemNoun::Mail { "subject" } else { "title" };
    let at = (thing.at != 0).then(|| utc(thing.at).with_timezone(&zone).format("%Y-%m-%dT%H:%M").to_string());
    let mut value = json!({
        "noun": thing.noun, "id": thing.id, "item": item.id, title: thing.title, "signed": thing.is_signed,
        "at": at, "account": thing.account, "snippet": thing.snippet,
    });
    if !thing.from.is_empty() {
        value["from"] = json!([thing.from]);
    }
    Some(value)
}

fn json_of(row: &WatchRow) -> Value {
    json!({"id": row.id, "what": described(row), "words": row.words, "state": row.state})
}

fn trigger(call: &CallContext<'_>) -> WatchTrigger {
    call.text("on").and_then(|word| word.parse().ok()).unwrap_or(WatchTrigger::Mail)
}

fn service(trigger: WatchTrigger) -> Option<AccountService> {
    match trigger {
        WatchTrigger::Mail => Some(AccountService::Mail),
        WatchTrigger::EventBegins | WatchTrigger::EventChanges => Some(AccountService::Calendar),
        _ => None,
    }
}

/// The account that a new watch reads; none: our own store.
fn account<'a>(call: &CallContext<'a>) -> Result<Option<&'a ConnectedAccount>, SkillError> {
    let Some(service) = service(trigger(call)) else { return Ok(None) };
    call.accounts.all().check(service)?;
    match call.account_for(service)? {
        None if service == AccountService::Mail => Err(SkillError::params(ours!(words::no_mailbox))),
        found => Ok(found),
    }
}

async fn planned(call: &CallContext<'_>) -> Result<WatchRow> {
    let turn = &call.ctx.turn;
    if watches::of_person(call.store(), &turn.person.id).await?.len() >= MAX_WATCHES {
        return Err(SkillError::params(ours!(words::too_many, MAX_WATCHES)).into());
    }
    let (trigger, account) = (trigger(call), account(call)?);
    let place = match trigger {
        WatchTrigger::Mail => INBOX.to_owned(),
        WatchTrigger::Room => room(call).await?,
        WatchTrigger::File => folder(call).await?,
        _ if account.is_some() => String::new(),
        _ => turn.person.id.to_string(),
    };
    let account = account.map(|account| account.id.clone()).unwrap_or_default();
    let source = WatchSource { trigger, account, place };
    let mut row = new_row(call.store(), (&turn.conversation.id, &turn.person.id), source);
    if trigger == WatchTrigger::Webhook {
        row.source.place = row.id.to_string();
    }
    let mut condition = condition(call)?;
    if trigger == WatchTrigger::Mail {
        condition.from = contacts::senders(call, condition.from).await?;
    }
    let is_all = matches!(trigger, WatchTrigger::Mail | WatchTrigger::Room) && condition.is_everything();
    let ((action, words), bounds) = (action(call).await?, bounds(call, is_all)?);
    Ok(WatchRow { condition, action, words, bounds, ..row })
}

/// Whether it only tells the person, neither of everything nor of what programs send to an address of the web.
fn only_tells(row: &WatchRow) -> bool {
    let is_wide = match row.source.trigger {
        WatchTrigger::Mail | WatchTrigger::Room => row.condition.is_everything(),
        trigger => trigger == WatchTrigger::Webhook,
    };
    row.action == WatchAction::Tell && !is_wide
}

/// A room in which the person has written.
async fn room(call: &CallContext<'_>) -> Result<String> {
    let turn = &call.ctx.turn;
    let rooms = match call.text("place") {
        None => vec![(*turn.conversation).clone()],
        Some(name) => people::conversations_named(call.store(), name).await?,
    };
    match rooms.as_slice() {
        [room] if room.shared && inbox::has_written(call.store(), &room.id, &turn.person.id).await? => {
            Ok(room.id.to_string())
        }
        _ => Err(SkillError::params(ours!(words::which_room)).into()),
    }
}

/// A folder of the configuration, by its path or its own name; if there is one alone, it needn't be named.
async fn folder(call: &CallContext<'_>) -> Result<String> {
    let name = call.text("place").map(|name| name.trim_end_matches('/'));
    let is_it =
        |folder: &&String| name.is_none_or(|name| **folder == name || folder.ends_with(&format!("/{name}")));
    let named: Vec<&String> = call.ctx.turn.settings.folders.iter().filter(is_it).collect();
    match named.as_slice() {
        [folder] if is_owner(call.ctx).await? => Ok((*folder).clone()),
        _ => Err(SkillError::params(ours!(words::which_folder)).into()),
    }
}

/// Its arguments have the names of the fields.
fn condition(call: &CallContext<'_>) -> Result<Condition, SkillError> {
    let read = serde_json::from_value(call.arguments.clone());
    let read: Condition =
        read.map_err(|fault| SkillError::params(ours!("{}", FromCall(fault.to_string()))))?;
    Ok(Condition { minutes: if read.minutes == 0 { MINUTES } else { read.minutes }, ..read })
}

/// What it does, in words that the person typed.
async fn action(call: &CallContext<'_>) -> Result<(WatchAction, String)> {
    let given = call.text("words").unwrap_or_default();
    let action = match call.text("do").and_then(|word| word.parse().ok()) {
        // Words that nobody is to do would be lost.
        None if !given.is_empty() => WatchAction::Ask,
        action => action.unwrap_or_default(),
    };
    let name = given.trim_start_matches("/run ").replace(' ', "-");
    let is_theirs = call.ctx.words().await?.hold(&name);
    let fault = match action {
        WatchAction::Tell => return Ok((action, String::new())),
        _ if !is_theirs => ours!(words::not_your_words),
        WatchAction::Run if call.registry.get(&format!("{WORKFLOW}.{name}")).is_some() => {
            return Ok((action, format!("/run {name}")));
        }
        // Several words only say what to do.
        WatchAction::Run if given.starts_with("/run ") || !given.contains(' ') => {
            ours!(words::no_workflow, FromCall(name))
        }
        _ => return Ok((WatchAction::Ask, given.to_owned())),
    };
    Err(SkillError::params(fault).into())
}

fn bounds(call: &CallContext<'_>, is_all: bool) -> Result<Bounds, SkillError> {
    let least = if is_all { Bounds::MIN_EVERY_S_OF_ALL } else { Bounds::MIN_EVERY_S };
    let every = call.text("every").map(duration::parse).transpose();
    let every = every.map_err(|fault| SkillError::params(ours!("/every: {}", FromCall(fault))))?;
    let quiet = call.text("quiet");
    if quiet.is_some_and(|hours| QuietHours::read(hours).is_none()) {
        return Err(SkillError::params(ours!(words::not_quiet)));
    }
    let until = call.when("until")?.map(|when| when.deadline(call.zone()));
    if until.is_some_and(|until| until <= call.store().now()) {
        return Err(SkillError::params(ours!(words::in_past)));
    }
    let usd_day = call.arguments["usd_per_day"].as_f64();
    Ok(Bounds {
        every_s: every.and_then(|every| i64::try_from(every.as_secs()).ok()).unwrap_or(least).max(least),
        quiet: quiet.map(str::to_owned),
        until,
        nano_usd_day: usd_day.map(|usd| (usd * 1e9).round() as i64),
    })
}

/// Says that a name proves nothing.
fn by_name(condition: &Condition) -> Option<String> {
    condition.from.iter().any(|who| !who.contains('@')).then(words::by_name)
}

/// What a person is asked before it starts.
fn question(call: &CallContext<'_>, row: &WatchRow) -> String {
    let what = match service(row.source.trigger) {
        Some(service) => labelled(call, service, account(call).ok().flatten(), described(row)),
        None => described(row),
    };
    let (condition, bounds) = (&row.condition, &row.bounds);
    let day = |at: i64| When::Time(utc(at).with_timezone(&call.zone()).naive_local()).spoken();
    let lines = [
        by_name(condition),
        (bounds.every_s >= Bounds::MIN_EVERY_S_OF_ALL && condition.is_everything()).then(words::everything),
        bounds.until.map(|until| words::bound_until(day(until))),
        bounds.quiet.as_ref().map(words::bound_quiet),
        bounds.nano_usd_day.map(|nano| words::bound_usd(format!("${:.2}", nano as f64 / 1e9))),
    ];
    let then = one_line(row.words.trim_start_matches("/run "), 1_000);
    under(words::start(row.action, what, then), lines.into_iter().flatten())
}

async fn create(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let mut row = planned(call).await?;
    let mut lines: Vec<String> = by_name(&row.condition).into_iter().collect();
    if row.action == WatchAction::Ask {
        let mut wishes = match call.intent {
            Some(model) => of_words(call.ctx, model, &row.words).await?,
            None => Wishes::default(),
        };
        // That nothing of them was read yet is what the receipt says; those of a former version said that they ask.
        wishes.read = wishes.failure.map(|_| 0);
        lines.extend(if wishes.read.is_some() { vec![words::may_later()] } else { may(&wishes) });
        row.wishes = json!(wishes).to_string();
    }
    if row.source.trigger == WatchTrigger::Webhook {
        let secret: String = call.store().new_id();
        row.secret = Some(digest(&secret));
        let page = call.ctx.turn.settings.page.as_deref().unwrap_or_default();
        lines.push(words::webhook(format!("{page}/hooks/watch/{}/{secret}", row.id)));
    }
    watches::insert(writes, &row);
    let output = Output::ours(under(words::started(described(&row)), lines), json_of(&row));
    Ok(output.undone_by(left(&[Step::Started(Box::new(row))])))
}

/// What a watch has been read to do without a question.
fn may(wishes: &Wishes) -> Vec<String> {
    let leaves = |wish: &Wish| Action { kind: wish.kind, targets: Vec::new() }.reach() == Reach::Leaves;
    let effects = effects(wishes);
    let may = if effects.is_empty() { words::may_nothing() } else { words::may(effects) };
    [may].into_iter().chain(wishes.all.iter().any(leaves).then(words::only_if_signed)).collect()
}

/// The receipt of a watch whose words were read only after it had begun.
pub(crate) fn read_later(row: &WatchRow, wishes: &Wishes) -> String {
    under(words::started(described(row)), may(wishes))
}

async fn list(call: &CallContext<'_>) -> Result<Output> {
    let all = watches::of_person(call.store(), &call.ctx.turn.person.id).await?;
    let lines: Vec<String> = all.iter().map(|row| format!("- {}", line(row, call.zone()))).collect();
    let summary = if all.is_empty() { words::none() } else { words::list(lines.join("\n")) };
    let items: Vec<Value> = all.iter().map(json_of).collect();
    Ok(Output::ours(summary, json!({"count": items.len(), "items": items})))
}

async fn by_id(call: &CallContext<'_>) -> Result<WatchRow> {
    let row = watches::by_id(call.store(), &call.lowercase("id").into()).await?;
    let own = row.filter(|row| row.person_id == call.ctx.turn.person.id);
    Ok(own.ok_or_else(|| SkillError::not_found(ours!(words::gone)))?)
}

/// What this turn began with.
async fn found(call: &CallContext<'_>) -> Result<Vec<ItemRow>> {
    let turn = watches::of_turn(call.store(), &call.ctx.turn.id).await?;
    Ok(turn.map(|turn| turn.items).unwrap_or_default())
}

/// What the `item` argument names, or the one thing that this turn is about.
async fn item(call: &CallContext<'_>) -> Result<ItemRow> {
    let said = call.text("item");
    let number = said.and_then(|said| said.trim_start_matches("line ").parse::<u64>().ok());
    let items = match said {
        Some(said) => named(call, said, number).await?,
        None => found(call).await?,
    };
    match items.as_slice() {
        [item] => Ok(item.clone()),
        [] if said.is_some() && number.is_none() => {
            Err(SkillError::not_found(ours!(words::item_gone)).into())
        }
        _ => Err(SkillError::params(ours!(words::which_item)).into()),
    }
}

/// All that this may mean: an id, or the number of a line.
async fn named(call: &CallContext<'_>, said: &str, number: Option<u64>) -> Result<Vec<ItemRow>> {
    // A model is shown `mail <7@x.test>`, and may leave out what stands around the id, or not.
    let kind = said.split_once(' ').filter(|(kind, _)| kind.parse::<ItemNoun>().is_ok());
    let bare = kind.map_or(said, |(_, id)| id).trim_matches(['<', '>', '[', ']']);
    let mut ids = vec![said.to_owned(), bare.to_owned(), format!("<{bare}>")];
    // A watch's turn was shown no briefing.
    if let Some(number) = number.filter(|_| call.ctx.watch().is_none()) {
        ids.extend(on_line(call, number).await?);
    }
    let mut items: Vec<ItemRow> = Vec::new();
    for id in ids {
        let item = watches::item(call.store(), &call.ctx.turn.person.id, &id.into()).await?;
        let item = item.filter(|item| items.iter().all(|other| other.id != item.id));
        items.extend(item);
    }
    Ok(items)
}

/// The id of what stands on a line of the newest briefing here, unless the person was shown another list since.
async fn on_line(call: &CallContext<'_>, number: u64) -> Result<Option<String>> {
    let turn = &call.ctx.turn;
    let here = (&turn.conversation.id, &turn.person.id);
    let shown = executions::shown_to(call.store(), here, &turn.id, RESULTS).await?;
    let mut lists = shown.iter().filter_map(|result| {
        let data: Value = serde_json::from_str(&result.data).ok()?;
        let is_briefing = result.skill == "assistant.lines";
        // One that had nothing to tell.
        if is_briefing && data.is_null() {
            return Some(None);
        }
        let items = data["items"].as_array().filter(|items| is_briefing || items.len() > 1)?;
        let line = items.iter().find(|item| is_briefing && item["n"] == number);
        Some(line.and_then(|line| line["item"].as_str()).map(str::to_owned))
    });
    Ok(lists.next().flatten())
}

fn until(call: &CallContext<'_>) -> Result<NaiveDateTime, SkillError> {
    let until = call.when("until")?.map(|when| match when {
        When::Day(day) => day.and_time(MORNING),
        When::Time(time) => time,
    });
    let is_to_come = |until: &NaiveDateTime| local_to_utc(*until, call.zone()) > call.now();
    until.filter(is_to_come).ok_or_else(|| SkillError::params(ours!(words::in_past)))
}

/// Takes something off the list. Returns what to say.
pub fn take_off(batch: &mut Batch, item: &ItemRow) -> String {
    watches::set_item(batch, item, ItemState::Done, None);
    words::done(item.thing.as_ref().map(|thing| thing.noun.as_str()).unwrap_or_default())
}

/// Tells something again then. Returns what to say.
pub fn put_off(batch: &mut Batch, item: &ItemRow, until: NaiveDateTime, zone: Tz) -> String {
    let at = local_to_utc(until, zone).timestamp_millis();
    watches::set_item(batch, item, ItemState::Later, Some(at));
    words::later(When::Time(until).spoken())
}
