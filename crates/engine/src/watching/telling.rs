//! Tells people what their watches have found: in our own words, or by a turn that does what the watch's words say.
//!
//! Properties, each whatever crashes and however many instances look at once:
//!
//! - What is told, and that it is, are one commit; it is journalled as a turn, so that people can point at it.
//! - A watch tells something at most once in its least pause; what comes meanwhile is one digest.
//! - What several watches of a person that only tell have found is told once, with the reason of each that has it then and
//!   whose sentence it fits. An email is the same one in whatever account it came.
//! - A turn of a watch starts only while the last one isn't running, and three that fail in a row stop it.

use adjutant_chat::Choice;
use adjutant_l10n::watches as words;
use adjutant_skills::builtin::watches::{described, found_thing};
use adjutant_store::executions::{self, Closing};
use adjutant_store::inbox::NewRow;
use adjutant_store::outbox::{self, Message};
use adjutant_store::watches::{self, ItemRow, OpenItems, WatchRow};
use adjutant_store::{Batch, Result, inbox, people, schedules, turns};
use adjutant_turn::journal::{TurnEvent, fail_point};
use adjutant_turn::trust::Wishes;
use adjutant_types::clock::{local_to_utc, long_date, utc};
use adjutant_types::invisible_chars::unbracketed;
use adjutant_types::text::one_line;
use adjutant_types::{
    ConversationId, ItemNoun, ItemState, Taint, WatchAction, WatchItem, WatchState, WatchTrigger, is_no_reply,
};
use chrono::{Datelike, NaiveTime};
use chrono_tz::Tz;
use futures::future::try_join_all;
use serde_json::{Value, json};

use super::judge::judge;
use super::{MAX_TITLE, quiet_until, source, title};
use crate::conversation::watches::button;
use crate::conversation::{Conversations, lines};
use crate::gateway::scheduler::{MAX_FAILURES, Scheduler, unless_stale};

/// How many lines a digest has.
const LINES: usize = 10;
/// How many things are judged, or a turn begins with, at once.
const AT_ONCE: i64 = 20;
/// How long something waits for another watch to have it judged, in milliseconds: then it is told with both reasons.
const JUDGED_MS: i64 = 30_000;
/// Of so many other watches a telling gives the reasons.
const OTHERS: usize = 8;
/// With more at once, it is only told how many: none is judged, and no turn begins.
const STORM: i64 = 100;

/// Another watch, and what it has found, too.
type Twins = (WatchRow, Vec<ItemRow>);

impl Scheduler {
    /// Tells what watches have found, and adds the conversations that got something.
    pub(crate) async fn tell_due(
        &self,
        channel: &str,
        chat: &str,
        woken: &mut Vec<ConversationId>,
    ) -> Result<()> {
        let store = &self.conversations.store;
        let all = watches::tellable(store, channel, chat).await?;
        let (judged, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|watch| watch.condition.judge.is_some());
        for watch in &others {
            woken.extend(self.tell(watch).await?);
        }
        // A model takes its time.
        if let Some(guard) = self.judging.clone().try_lock_owned().ok().filter(|_| !judged.is_empty()) {
            let scheduler = self.clone();
            tokio::spawn(async move {
                for watch in &judged {
                    if let Err(error) = scheduler.tell(watch).await {
                        tracing::warn!(%error, "a watch couldn't be looked at; it is soon again");
                    }
                }
                drop(guard);
            });
        }
        for item in watches::later_due(store, channel, chat).await? {
            if self.tell_again(&item, channel).await? {
                woken.push(item.conversation_id);
            }
        }
        Ok(())
    }

    /// Does the next step of a watch. Returns the conversation if it got something.
    async fn tell(&self, watch: &WatchRow) -> Result<Option<ConversationId>> {
        if !unless_stale(self.look_at(watch).await)? {
            return Ok(None);
        }
        self.conversations.events.send(TurnEvent::MessageAdded(watch.conversation_id.clone()));
        Ok(Some(watch.conversation_id.clone()))
    }

    /// Reads how a watch's last turn ended, ends it if its time is up, or tells what is new. Returns whether it has told
    /// something, or begun a turn.
    async fn look_at(&self, watch: &WatchRow) -> Result<bool> {
        let store = &self.conversations.store;
        let (now, mut new) = (store.now(), watch.clone());
        if let Some(event) = &watch.running {
            let Some(has_failed) = schedules::has_failed(store, event).await? else { return Ok(false) };
            (new.running, new.failures) = (None, if has_failed { watch.failures + 1 } else { 0 });
            if new.failures >= MAX_FAILURES {
                let answer = turns::of_event(store, event).await?.and_then(|turn| turn.answer);
                let text = words::failed(described(watch), one_line(&answer.unwrap_or_default(), 200));
                let choices = vec![button("resume", &watch.id, words::resume_button())];
                new.state = WatchState::Stopped;
                return self.change(watch, &new, Some(Message { text, choices, ..Message::default() })).await;
            }
        }
        let open = watches::open(store, &watch.id, AT_ONCE).await?;
        let is_late =
            |until: i64| until <= now && open.items.first().is_none_or(|item| item.found_at > until);
        if watch.bounds.until.is_some_and(is_late) {
            new.state = WatchState::Over;
            return self.change(watch, &new, None).await;
        }
        let zone = self.conversations.zone_of(&people::person_by_id(store, &watch.person_id).await?);
        let today = utc(now).with_timezone(&zone).date_naive();
        let day = i64::from(today.num_days_from_ce());
        let waits = quiet_until(watch, now, zone).is_some() && !acts_unasked(watch);
        if open.count == 0 || !watch.is_due(now) || watch.day == day || waits {
            return self.change(watch, &new, None).await;
        }
        new.next_at = now + watch.bounds.every_s.saturating_mul(1000);
        let here = people::conversation_by_id(store, &watch.conversation_id).await?;
        let is_silent = !self.may_speak(&watch.person_id, &here.channel).await?;
        if is_silent || !self.has_account(watch, here.shared).await? {
            new.state = WatchState::Stopped;
            let text = (!is_silent).then(|| words::no_access(described(watch)));
            return self.change(watch, &new, text.map(Message::from)).await;
        }
        if let Some(max) = self.spent(watch, zone).await? {
            new.day = day;
            let usd = format!("${:.2}", max as f64 / 1e9);
            return self.change(watch, &new, Some(words::money(described(watch), usd).into())).await;
        }
        self.tell_all(watch, new, open, zone).await
    }

    /// The money of a day that a watch has used up, if it has.
    async fn spent(&self, watch: &WatchRow, zone: Tz) -> Result<Option<i64>> {
        let Some(max) = watch.bounds.nano_usd_day else { return Ok(None) };
        let store = &self.conversations.store;
        let today = utc(store.now()).with_timezone(&zone).date_naive();
        let midnight = local_to_utc(today.and_time(NaiveTime::MIN), zone).timestamp_millis();
        let spent = watches::nano_usd_since(store, &watch.id, midnight).await?;
        Ok(Some(max).filter(|max| spent >= *max))
    }

    /// Whether the person has the watch's account, and may use it where it tells.
    async fn has_account(&self, watch: &WatchRow, is_shared: bool) -> Result<bool> {
        let (person, account) = (&watch.person_id, &watch.source.account);
        if account.is_empty() {
            return Ok(true);
        }
        let Conversations { store, orchestrator, settings, .. } = &*self.conversations;
        let (accounts, settings) = (&orchestrator.agents.executor.services.accounts, settings.current());
        let found = accounts.for_watch(store, &settings.owners, person, account).await?;
        Ok(found.is_some_and(|account| account.is_shared || !is_shared))
    }

    /// Tells what is open, or starts the watch's turn with it.
    async fn tell_all(&self, watch: &WatchRow, mut new: WatchRow, open: OpenItems, zone: Tz) -> Result<bool> {
        let (store, now) = (&self.conversations.store, self.conversations.store.now());
        let OpenItems { mut items, count, last } = open;
        let (mut part, mut batch) = ((last, count), Batch::new());
        match &watch.condition.judge {
            Some(_) if count > STORM => items.clear(),
            Some(sentence) => {
                let mut fits = judge(&self.conversations, watch, sentence, &items).await?.into_iter();
                items.retain_mut(|item| {
                    let fits = fits.next().flatten();
                    if fits == Some(false) {
                        watches::set_item(&mut batch, item, ItemState::Unfit, None);
                    } else if let Some(thing) = &mut item.thing {
                        thing.is_unsure = fits.is_none();
                    }
                    fits != Some(false)
                });
                part = part_of(&items);
            }
            None => {}
        }
        let twins = self.twins(watch, &items).await?;
        let is_new = |twin: &ItemRow| twin.state == ItemState::New;
        let is_judged =
            |(other, its): &Twins| !is_plain(other) && other.is_due(now) && its.iter().any(is_new);
        let is_fresh = items.first().is_some_and(|item| (0..JUDGED_MS).contains(&(now - item.found_at)));
        if is_plain(watch) && is_fresh && twins.iter().any(is_judged) {
            return Ok(false);
        }
        let before = items.len();
        items.retain(|item| {
            let mut its = twins.iter().flat_map(|(_, its)| its).filter(|twin| is_same(item, twin));
            let telling = its.find_map(|twin| twin.told_by.as_deref());
            telling.iter().for_each(|telling| watches::leave_to(&mut batch, item, telling));
            telling.is_none()
        });
        let left = before - items.len();
        part.1 -= i64::try_from(left).unwrap_or_default();
        if part.1 == 0 || (left > 0 && items.is_empty()) {
            store.write(batch).await?;
            return Ok(false);
        }
        let is_sure = |item: &ItemRow| item.thing.as_ref().is_some_and(|thing| !thing.is_unsure);
        let is_clear = !items.is_empty() && items.iter().all(is_sure);
        let acts = watch.action != WatchAction::Tell && count <= STORM && is_clear;
        let event = watches::event(&watch.id, watch.tellings + 1);
        if acts {
            part = part_of(&items);
            new.running = Some(event.clone());
        }
        watches::fire(&mut batch, watch, &new, part);
        if acts {
            let here = (&watch.conversation_id, &watch.person_id);
            let owner = self.conversations.instance.owner();
            let row = NewRow::ours(event, here, &watch.words, Taint::default(), owner);
            inbox::arrive(&mut batch, &row, store.now());
        } else {
            let others = self.take_over(&mut batch, (watch, &event), &items, twins, zone).await?;
            self.add_telling(&mut batch, (watch, &others), event, (&items, part.1), zone);
        }
        store.write(batch).await?;
        fail_point(if acts { "watch-fired" } else { "watch-told" });
        Ok(true)
    }

    /// What others of the person's watches that only tell have found, too: what they are to tell, and emails that were told.
    /// Anything else, such as an event that begins, may be told again.
    async fn twins(&self, watch: &WatchRow, items: &[ItemRow]) -> Result<Vec<Twins>> {
        let store = &self.conversations.store;
        let found = watches::found_by_others(store, &watch.id, (part_of(items).0, LINES as i64)).await?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let with_its = |other: WatchRow| {
            let is_its = |twin: &&ItemRow| {
                let counts = match twin.state {
                    ItemState::New => other.state == WatchState::Active,
                    _ => twin.thing.as_ref().is_some_and(|thing| thing.noun == ItemNoun::Mail),
                };
                let is_its = counts && twin.watch_id.as_ref() == Some(&other.id);
                is_its && items.iter().any(|item| is_same(item, twin))
            };
            let its: Vec<ItemRow> = found.iter().filter(is_its).cloned().collect();
            (other, its)
        };
        Ok(watches::of_person(store, &watch.person_id).await?.into_iter().map(with_its).collect())
    }

    /// Takes over what a telling shows and others of the person's watches have found, too, if it fits their sentences. Returns
    /// these watches. If one of them tells it at the same moment, the batch fails.
    async fn take_over(
        &self,
        batch: &mut Batch,
        (watch, key): (&WatchRow, &str),
        told: &[ItemRow],
        mut others: Vec<Twins>,
        zone: Tz,
    ) -> Result<Vec<WatchRow>> {
        let is_shown = |twin: &ItemRow| {
            twin.state == ItemState::New && told.iter().take(LINES).any(|item| is_same(item, twin))
        };
        others.iter_mut().for_each(|(_, its)| its.retain(is_shown));
        // A model takes its time: what tells without one doesn't wait for it here.
        others.retain(|(other, its)| !its.is_empty() && (is_plain(other) || !is_plain(watch)));
        others.truncate(OTHERS);
        let fits = try_join_all(others.iter().map(|(other, its)| self.fitting(other, its, zone))).await?;
        let (now, mut named) = (self.conversations.store.now(), Vec::new());
        for ((other, its), fits) in others.into_iter().zip(fits) {
            for (twin, fits) in its.iter().zip(&fits) {
                match fits {
                    true => watches::leave_to(batch, twin, key),
                    false => watches::set_item(batch, twin, ItemState::Unfit, None),
                }
            }
            if fits.contains(&true) {
                // A pause that has begun isn't made longer.
                let pause = other.bounds.every_s.saturating_mul(1000);
                let next_at = if other.is_due(now) { now + pause } else { other.next_at };
                watches::change(batch, &other, &WatchRow { next_at, ..other.clone() });
                named.push(other);
            }
        }
        Ok(named)
    }

    /// Whether each of these fits a watch's sentence, as far as can be said; nothing if its money is used up.
    async fn fitting(&self, watch: &WatchRow, items: &[ItemRow], zone: Tz) -> Result<Vec<bool>> {
        let Some(sentence) = &watch.condition.judge else { return Ok(vec![true; items.len()]) };
        if self.spent(watch, zone).await?.is_some() {
            return Ok(Vec::new());
        }
        let mut fits = judge(&self.conversations, watch, sentence, items).await?;
        fits.resize(items.len(), None);
        Ok(fits.into_iter().map(|fits| fits != Some(false)).collect())
    }

    /// Adds a telling of these, and how many there are in all, to the batch: as a turn that is done. The other watches have found
    /// some of them, too.
    fn add_telling(
        &self,
        batch: &mut Batch,
        (watch, others): (&WatchRow, &[WatchRow]),
        event: String,
        (items, count): (&[ItemRow], i64),
        zone: Tz,
    ) {
        let asked = words::asked(described(watch));
        let here = (&watch.conversation_id, &watch.person_id);
        let row = NewRow::ours(event, here, &asked, Taint::default(), self.conversations.instance.owner());
        let found: Vec<Value> = items.iter().filter_map(|item| found_thing(item, zone)).collect();
        let things: Vec<&WatchItem> = items.iter().filter_map(|item| item.thing.as_ref()).collect();
        let told = text_of(watch.source.trigger, &things, count, zone);
        let sources: Vec<Taint> = things.iter().map(|thing| source(thing)).collect();
        let closing = Closing {
            result: Some(one_line(&told, MAX_TITLE)),
            untrusted: !found.is_empty(),
            data: Some(json!({"count": count, "items": found}).to_string()),
            taint: sources.iter().collect(),
            ..Closing::default()
        };
        let mut choices = match items {
            [only] if count == 1 => buttons(only, &["answer", "later"]),
            _ => Vec::new(),
        };
        let mut reasons = Vec::new();
        for (number, of_it) in (1_usize..).zip(std::iter::once(watch).chain(others)) {
            let (mut reason, mut stop) = why(of_it, zone);
            if !others.is_empty() {
                reason.insert_str(0, &format!("{number}. "));
                stop.label = words::stop_number(number);
            }
            reasons.push(reason);
            choices.push(stop);
        }
        let text = format!("{told}\n\n{}", reasons.join("\n"));
        let answer = Message { text, choices, ..Message::default() };
        self.conversations.add_done(batch, &row, ("watch.event", &closing), Some(answer));
    }

    /// Tells again what the person put off, or what a watch did while they wanted quiet. Returns whether it was told just now.
    async fn tell_again(&self, item: &ItemRow, channel: &str) -> Result<bool> {
        let (store, mut batch) = (&self.conversations.store, Batch::new());
        watches::set_item(&mut batch, item, ItemState::Told, None);
        if let Some(thing) = &item.thing
            && self.may_speak(&item.person_id, channel).await?
        {
            let (text, choices) = match thing.noun {
                ItemNoun::Receipt => {
                    let turn = thing.id.as_str().into();
                    let mut choices = lines::choices_of(&executions::of_turn(store, &turn).await?);
                    let begun = watches::of_turn(store, &turn).await?;
                    choices.extend(begun.and_then(|it| it.watch).map(|watch| stop(&watch)));
                    (thing.title.clone(), choices)
                }
                _ => (words::again(shown(thing)), buttons(item, &["answer", "later", "done"])),
            };
            self.say(&mut batch, &item.conversation_id, &Message { text, choices, ..Message::default() });
        }
        store.try_write(batch).await
    }

    /// Changes a watch if there is something to change, and says this. Returns whether anything was said.
    async fn change(&self, old: &WatchRow, new: &WatchRow, why: Option<Message>) -> Result<bool> {
        let mut batch = Batch::new();
        if old != new {
            watches::change(&mut batch, old, new);
        }
        if let Some(message) = &why {
            self.say(&mut batch, &old.conversation_id, message);
        }
        if !batch.is_empty() {
            self.conversations.store.write(batch).await?;
        }
        Ok(why.is_some())
    }

    fn say(&self, batch: &mut Batch, conversation: &ConversationId, message: &Message) {
        let Conversations { store, instance, .. } = &*self.conversations;
        outbox::say(store, batch, conversation, instance.owner(), message);
    }
}

/// Why a watch's person gets something, and the button that ends the watch.
pub(crate) fn why(watch: &WatchRow, zone: Tz) -> (String, Choice) {
    let made = long_date(&utc(watch.created_at).with_timezone(&zone));
    (words::why(described(watch), made), stop(watch))
}

fn stop(watch: &WatchRow) -> Choice {
    let label = match watch.action {
        WatchAction::Tell => words::stop_telling_button(),
        WatchAction::Run | WatchAction::Ask => words::stop_watch_button(),
    };
    button("stop", &watch.id, label)
}

/// Whether a watch only tells, and no model judges what it finds.
fn is_plain(watch: &WatchRow) -> bool {
    watch.action == WatchAction::Tell && watch.condition.judge.is_none()
}

/// Whether two watches have found the same under one key. An email may have come to two accounts.
fn is_same(one: &ItemRow, other: &ItemRow) -> bool {
    let (Some(one), Some(other)) = (&one.thing, &other.thing) else { return false };
    (&one.id, &one.title, &one.snippet) == (&other.id, &other.title, &other.snippet)
        && (one.noun == ItemNoun::Mail || one.at == other.at)
}

/// Whether a watch does something without a question, so that it needn't wait for the end of its quiet hours.
fn acts_unasked(watch: &WatchRow) -> bool {
    let wishes: Wishes = serde_json::from_str(&watch.wishes).unwrap_or_default();
    watch.action == WatchAction::Run || (watch.action == WatchAction::Ask && !wishes.all.is_empty())
}

/// The `seq` of the last of these, and how many they are.
fn part_of(items: &[ItemRow]) -> (i64, i64) {
    (items.last().map_or(0, |item| item.seq), i64::try_from(items.len()).unwrap_or_default())
}

/// What is told: one thing by itself, or a digest.
fn text_of(trigger: WatchTrigger, things: &[&WatchItem], count: i64, zone: Tz) -> String {
    let Some(first) = things.first() else { return words::only_count(count) };
    let mut lines: Vec<String> = things.iter().take(LINES).map(|thing| line(trigger, thing, zone)).collect();
    let more = count - i64::try_from(lines.len()).unwrap_or_default();
    if count > 1 {
        lines.iter_mut().for_each(|line| line.insert_str(0, "- "));
        lines.insert(0, words::digest(first.noun, count));
    }
    lines.extend((more > 0).then(|| words::more(more)));
    lines.join("\n")
}

/// One thing, with what is to be known of it.
fn line(trigger: WatchTrigger, thing: &WatchItem, zone: Tz) -> String {
    let kind = match trigger {
        WatchTrigger::EventBegins => trigger.as_str(),
        _ => thing.noun.as_str(),
    };
    let at = utc(thing.at).with_timezone(&zone).format("%H:%M");
    let from = unbracketed(&thing.from.replace(" <", ", "), MAX_TITLE);
    let mut line = words::told(kind, from, shown(thing), at);
    if thing.is_signed == Some(false) {
        let name = thing.from.split(" <").next().unwrap_or_default();
        line += &format!("\n{}", words::not_signed(unbracketed(name, MAX_TITLE)));
    }
    if thing.is_unsure {
        line += &format!("\n{}", words::unsure());
    }
    line
}

/// A title among our own words, where brackets could make a link of it.
fn shown(thing: &WatchItem) -> String {
    unbracketed(&title(thing), MAX_TITLE)
}

/// Only a mail can be answered, which is the first of the verbs, unless nobody reads what is sent to its sender.
fn buttons(item: &ItemRow, verbs: &[&str]) -> Vec<Choice> {
    let is_mail = |thing: &WatchItem| thing.noun == ItemNoun::Mail && !is_no_reply(&thing.from);
    lines::buttons(&item.id, 0, &verbs[usize::from(!item.thing.as_ref().is_some_and(is_mail))..])
}
