//! `/watches`: lists what is watched, with buttons to pause, resume and stop it; and the watches of the configuration.

use adjutant_chat::Choice;
use adjutant_config::Config;
use adjutant_l10n::watches as words;
use adjutant_skills::builtin::watches::{
    INBOX, MORNING, change, described, line, new_row, put_off, stopped, take_off,
};
use adjutant_store::executions::Closing;
use adjutant_store::inbox::InboxRow;
use adjutant_store::outbox::Message;
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, Result, Store, StoreError, connected, people};
use adjutant_types::clock::utc;
use adjutant_types::{
    AccountId, AccountService, ItemId, PersonId, WatchId, WatchSource, WatchState, WatchTrigger,
};
use chrono::Days;
use chrono_tz::Tz;

use super::Conversations;

/// How many have their two buttons; Discord takes no more than 25.
const WITH_BUTTONS: usize = 12;
/// How the id of a button begins that changes a watch, or a line of what was told.
pub(super) const BUTTON: &str = "watch:";

/// The command that a button stands for; none if it is another button.
pub fn command_of(button: &str) -> Option<String> {
    let (verb, id) = button.strip_prefix(BUTTON)?.split_once(':')?;
    Some(format!("/watches {verb} {id}"))
}

pub(crate) fn button(verb: &str, watch: &WatchId, label: String) -> Choice {
    Choice { id: format!("{BUTTON}{verb}:{watch}"), label }
}

impl Conversations {
    /// Shows the person's watches, or changes the one of this number or id: `pause 2`, `resume k3x9zq`, `stop 1`; or one line
    /// of what was told: `later ITEM`, `done ITEM`.
    pub(super) async fn watches(&self, row: &InboxRow, rest: &str) -> Result<()> {
        let (verb, which) = rest.split_once(' ').unwrap_or((rest, ""));
        let (mut batch, now, mut turn) = (Batch::new(), self.store.now(), None);
        let here = people::conversation_by_id(&self.store, &row.conversation_id).await?;
        let mut all = watches::of_person(&self.store, &row.person_id).await?;
        // Where others read along, a button under a telling works, and nothing else is shown.
        all.retain(|watch| !here.shared || watch.conversation_id == here.id);
        let by_number = || which.parse::<usize>().ok()?.checked_sub(1).and_then(|at| all.get(at));
        let watch = all.iter().find(|watch| *watch.id == *which).or_else(by_number);
        let text = match (verb, watch) {
            ("later" | "done", _) => self.mark_item(row, verb, &which.into(), &mut batch).await?,
            ("pause", Some(watch)) => change(&mut batch, watch, Some(WatchState::Paused), now),
            ("resume", Some(watch)) => change(&mut batch, watch, Some(WatchState::Active), now),
            ("stop", Some(watch)) => {
                let text = change(&mut batch, watch, None, now);
                let press = InboxRow { text: words::asked_to_stop(described(watch)), ..row.clone() };
                let undo = stopped(watch).map(|steps| steps.to_string());
                let closing = Closing { result: Some(text.clone()), undo, ..Closing::default() };
                turn = Some(self.add_press(&mut batch, &press, ("watch.delete", &closing)));
                text
            }
            ("", _) if all.is_empty() => words::none(),
            ("", _) => {
                let zone = self.zone_of(&people::person_by_id(&self.store, &row.person_id).await?);
                return self.reply_with(row, listed(&all, zone), batch).await;
            }
            _ => words::gone(),
        };
        match self.reply_with(row, Message { turn, text, ..Message::default() }, batch).await {
            Err(StoreError::Stale(why)) if why.is_content() => {
                self.reply(row, None, words::gone(), Batch::new()).await
            }
            done => done,
        }
    }

    /// Puts a line off until tomorrow morning, or takes it off the list.
    async fn mark_item(&self, row: &InboxRow, verb: &str, id: &ItemId, batch: &mut Batch) -> Result<String> {
        let Some(item) = watches::item(&self.store, &row.person_id, id).await? else {
            return Ok(words::item_gone());
        };
        if verb == "done" {
            return Ok(take_off(batch, &item));
        }
        let zone = self.zone_of(&people::person_by_id(&self.store, &row.person_id).await?);
        let tomorrow = utc(self.store.now()).with_timezone(&zone).date_naive() + Days::new(1);
        Ok(put_off(batch, &item, tomorrow.and_time(MORNING), zone))
    }
}

fn listed(all: &[WatchRow], zone: Tz) -> Message {
    let lines = (1..).zip(all).map(|(number, watch)| format!("{number}. {}", line(watch, zone)));
    let buttons = (1_usize..).zip(all.iter().take(WITH_BUTTONS)).flat_map(|(number, watch)| {
        let first = match watch.state {
            WatchState::Active => button("pause", &watch.id, words::pause_number(number)),
            _ => button("resume", &watch.id, words::resume_number(number)),
        };
        [first, button("stop", &watch.id, words::stop_number(number))]
    });
    Message {
        text: words::list(lines.collect::<Vec<_>>().join("\n")),
        choices: buttons.collect(),
        ..Message::default()
    }
}

/// Makes the watches of the configuration as it says. One that its person has paused stays so.
///
/// # Errors
/// The store's.
pub async fn sync_configured(store: &Store, config: &Config) -> Result<()> {
    let mut batch = Batch::new();
    let mut former = watches::configured(store).await?;
    for watch in &config.watches {
        let at = former.iter().position(|row| row.config_name.as_ref() == Some(&watch.name));
        let old = at.map(|at| former.swap_remove(at));
        let (channel, user) = watch.person.split_once(':').unwrap_or_default();
        let here = people::direct_conversation(store, channel, user).await?;
        let Some((conversation, person)) = here else {
            tracing::warn!(watch = watch.name, "its person hasn't written yet; it begins at the next start");
            continue;
        };
        let Some(mut source) = source_of(store, config, watch.trigger, &person).await? else {
            tracing::warn!(watch = watch.name, "its person has no mailbox");
            continue;
        };
        source.place = watch.folder.clone().unwrap_or(source.place);
        let (stays, goes) = match old {
            Some(old) if old.person_id == person => (Some(old), None),
            other => (None, other),
        };
        let mut new = WatchRow {
            config_name: Some(watch.name.clone()),
            source: source.clone(),
            condition: watch.condition.clone(),
            action: watch.action,
            words: watch.words.clone(),
            bounds: watch.bounds.clone(),
            ..stays.clone().unwrap_or_else(|| new_row(store, (&conversation, &person), source))
        };
        // It was over, and has more time now.
        if new.state == WatchState::Over && new.bounds.until.is_none_or(|until| until > store.now()) {
            (new.state, new.active_since) = (WatchState::Active, store.now());
        }
        goes.iter().for_each(|row| watches::delete(&mut batch, &row.id));
        match &stays {
            Some(old) if *old != new => watches::change(&mut batch, old, &new),
            Some(_) => {}
            None => watches::insert(&mut batch, &new),
        }
    }
    former.iter().for_each(|gone| watches::delete(&mut batch, &gone.id));
    // Another instance may have just done the same.
    store.try_write(batch).await.map(drop)
}

/// What a new watch of somebody reads: their usual account, that of the configuration, or our own store; none if that
/// takes a mailbox, and there is none.
///
/// # Errors
/// The store's.
pub async fn source_of(
    store: &Store,
    config: &Config,
    trigger: WatchTrigger,
    person: &PersonId,
) -> Result<Option<WatchSource>> {
    let own = WatchSource { trigger, account: AccountId::default(), place: person.to_string() };
    let has_inbox = config.mail.as_ref().is_some_and(|mail| mail.imap.is_some());
    let (service, is_configured, place) = match trigger {
        WatchTrigger::Mail => (AccountService::Mail, has_inbox, INBOX),
        WatchTrigger::EventBegins | WatchTrigger::EventChanges => {
            (AccountService::Calendar, config.calendar.is_some(), "")
        }
        _ => return Ok(Some(own)),
    };
    let rows = connected::of_person(store, person).await?;
    let is_usual = |row: &connected::AccountRow| match service {
        AccountService::Mail => row.is_mail_default,
        _ => row.is_events_default,
    };
    let having = rows.iter().filter(|row| row.services.contains(&service));
    let account = having.min_by_key(|row| !is_usual(row)).map(|row| row.id.clone());
    Ok(match account.or_else(|| is_configured.then(|| format!("config:{service}").into())) {
        Some(account) => Some(WatchSource { trigger, account, place: place.to_owned() }),
        None => (service != AccountService::Mail).then_some(own),
    })
}
