//! The person's calendar: events, free time, and changes of both.

mod backend;
mod changes;
mod clashes;
pub(super) mod event;
mod invitations;
mod restore;
mod today;
mod watched;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_dav::{
    CalendarEvent, Effort, Occurrence, Series, TimeRange, WorkingHours, conflicts, free_slots,
};
use adjutant_l10n as l10n;
use async_trait::async_trait;
use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc, Weekday};
use chrono_tz::Tz;
use serde_json::{Value, json};

pub use backend::CalendarAccount;
use backend::{Scope, StoredEvent};
pub use clashes::still_there;
pub(super) use restore::{hearers, put_back};
pub use today::agenda;
pub use watched::{ComingEvent, coming_to};

use adjutant_store::Batch;
use adjutant_turn::trust::{ActionKind, Target};
use adjutant_types::clock::span::Span;
use adjutant_types::clock::when::When;
use adjutant_types::text::one_line;
use adjutant_types::{AccountId, AccountService, Allowance, ours};

use super::merged::{label, labelled};
use super::undo::Step;
use super::{BuiltinSkill, CallContext, Idempotency, Preview, Resource, contacts, under};
use crate::accounts::{ConnectedAccount, PersonAccounts};
use crate::{Approved, Output, Result, SkillError};

domain! {
    "calendar", "../../../../../skills/calendar.toml", CalendarSkill {
        List = "calendar.list_events",
        Search = "calendar.search",
        Create = "calendar.create_event",
        Update = "calendar.update_event",
        Delete = "calendar.delete_event",
        CheckAvailability = "calendar.check_availability",
    }
}

/// The most instances of one series that a call looks at.
const MAX_INSTANCES: usize = 2_000;
/// The limits for all series of a calendar together.
const ALL: Effort = Effort { instances: 100_000, steps: 1_000_000 };
/// The most events in a list.
const SHOWN: usize = 50;
/// The most free slots that are proposed.
const SLOTS: usize = 40;

#[async_trait]
impl BuiltinSkill for CalendarSkill {
    fn needs(&self) -> Resource {
        Resource::Calendar
    }

    fn effect(&self, accounts: &PersonAccounts) -> Idempotency {
        let invites_by_mail =
            matches!(self, Self::Create | Self::Update | Self::Delete) && accounts.has(AccountService::Mail);
        Idempotency::on_own_store_if(!accounts.has(AccountService::Calendar) && !invites_by_mail)
    }

    async fn account(&self, call: &CallContext<'_>) -> Result<Option<AccountId>> {
        let account = match self {
            Self::List | Self::Search | Self::CheckAvailability => return Ok(None),
            Self::Create => backend::target(call).await?,
            Self::Update | Self::Delete => {
                let scope = Scope::of(call)?;
                if scope.is_one() { scope.account() } else { changes::by_id(call).await?.account }
            }
        };
        Ok(account.map(|account| account.id.clone()))
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::List | Self::Search | Self::CheckAvailability => None,
            Self::Create => Some(ActionKind::EventCreate),
            Self::Update => Some(ActionKind::EventChange),
            Self::Delete => Some(ActionKind::EventDelete),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
        let (thing, guests) = match self {
            Self::List | Self::Search | Self::CheckAvailability => return Ok(Vec::new()),
            Self::Create => (None, Vec::new()),
            Self::Update | Self::Delete => {
                let (thing, guests) = changes::thing(call, matches!(self, Self::Update)).await?;
                (Some(Target::Thing(thing)), guests)
            }
        };
        let mut invited = contacts::parties(call, "attendees").await?;
        // Guests of before are told of what becomes of their event; whoever is new must be named.
        invited.retain(|party| !guests.iter().any(|guest| guest.eq_ignore_ascii_case(&party.address)));
        Ok(thing.into_iter().chain(contacts::recipients(call, &invited).await?).collect())
    }

    async fn puts_back(&self, call: &CallContext<'_>, done: &[Step]) -> Result<bool> {
        match self {
            Self::Update | Self::Delete => changes::puts_back(call, matches!(self, Self::Update), done).await,
            Self::List | Self::Search | Self::Create | Self::CheckAvailability => Ok(false),
        }
    }

    async fn keeps_length(&self, call: &CallContext<'_>) -> Result<bool> {
        match self {
            Self::Create | Self::Update => changes::keeps_length(call, matches!(self, Self::Create)).await,
            Self::List | Self::Search | Self::Delete | Self::CheckAvailability => Ok(true),
        }
    }

    async fn allowance(&self, call: &CallContext<'_>) -> Result<Option<Allowance>> {
        let is_own = matches!(self, Self::Create) && contacts::parties(call, "attendees").await?.is_empty();
        let account = call.account_for(AccountService::Calendar)?;
        let own = account.filter(|account| !account.is_configured());
        Ok(is_own.then(|| Allowance::Events {
            calendar: call.text("calendar").map(str::to_owned),
            account: own.map(|account| account.id.clone()),
            label: label(call, AccountService::Calendar, account).map(str::to_owned),
        }))
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        match self {
            Self::Create => changes::preview_create(call).await,
            Self::Update => changes::preview_update(call).await,
            Self::Delete => changes::preview_delete(call).await,
            Self::List | Self::Search | Self::CheckAvailability => Ok(Preview::default()),
        }
    }

    async fn warning(&self, call: &CallContext<'_>) -> Option<String> {
        match self {
            Self::Create => changes::warning(call, true).await,
            Self::Update => changes::warning(call, false).await,
            Self::List | Self::Search | Self::CheckAvailability | Self::Delete => None,
        }
    }

    async fn run(&self, call: &CallContext<'_>, approved: &Approved, writes: &mut Batch) -> Result<Output> {
        match self {
            Self::List => list(call).await,
            Self::Search => search(call).await,
            Self::Create => changes::create(call, approved, writes).await,
            Self::Update => changes::update(call, approved, writes).await,
            Self::Delete => changes::delete(call, approved, writes).await,
            Self::CheckAvailability => check_availability(call).await,
        }
    }
}

/// The events in a period, and each of their instances, ordered by time.
struct Agenda<'a> {
    events: Vec<StoredEvent<'a>>,
    instances: Vec<(usize, Occurrence)>,
    /// Instances are left out: there are too many.
    is_cut: bool,
    /// A line about each account that couldn't be read.
    notes: Vec<String>,
}

impl<'a> Agenda<'a> {
    /// The events of a period. An unreadable event doesn't hide the others.
    async fn load(
        call: &CallContext<'a>,
        scope: &Scope<'a>,
        period: TimeRange,
        calendar: Option<&str>,
        is_wanted: impl Fn(&Series) -> bool,
    ) -> Result<Self> {
        let (mut events, notes) = backend::list(call, scope, period, calendar).await?;
        events.retain(|event| is_wanted(&event.series));
        let (mut instances, is_cut) = instances(&events, period, call.zone());
        instances.sort_by_key(|(_, instance)| instance.range);
        Ok(Self { events, instances, is_cut, notes })
    }

    /// The output with a word on what is left out.
    fn with_note(&self, mut output: Output) -> Output {
        if self.is_cut {
            output.summary.push_str(&format!("\n{}", l10n::calendar::incomplete()));
            output.data["incomplete"] = json!(true);
        }
        for note in &self.notes {
            output.summary.push_str(&format!("\n{note}"));
            output.data["incomplete"] = json!(true);
        }
        output
    }

    /// How many events there are; `none` if there are none.
    fn heading(&self, none: String) -> String {
        match self.instances.len() {
            0 => none,
            count if count > SHOWN => l10n::calendar::found_first(count, SHOWN),
            count => l10n::calendar::found(count),
        }
    }

    fn output(&self, call: &CallContext<'_>, heading: String) -> Result<Output> {
        let zone = call.zone();
        let (mut lines, mut items, mut untrusted) = (Vec::new(), Vec::new(), false);
        for (index, instance) in self.instances.iter().take(SHOWN) {
            let event = &self.events[*index];
            let occasion = event.series.event_at(instance)?;
            let location = match occasion.location.as_str() {
                "" => String::new(),
                location => format!(" ({})", one_line(location, 200)),
            };
            let when = event::spoken(&occasion.start, &occasion.end, zone);
            let line = format!("- {when}: {}{location}", occasion.title);
            lines.push(labelled(call, AccountService::Calendar, event.account, line));
            items.push(item(call, event.account, &occasion, &event.calendar));
            // Other people write into a calendar on a server, whatever the UIDs of their events say.
            untrusted |= event.account.is_some();
        }
        let summary = under(heading, lines);
        let data = json!({"items": items, "count": self.instances.len()});
        Ok(Output::outside_if(untrusted, summary, data))
    }
}

/// The instances of events in a period, each with the number of its event, and whether some are left out. Events that
/// need less than an equal share of [`ALL`] leave the rest to the others.
fn instances(events: &[StoredEvent<'_>], period: TimeRange, zone: Tz) -> (Vec<(usize, Occurrence)>, bool) {
    let (mut found, mut left) = (BTreeMap::new(), ALL);
    let mut open: Vec<usize> = (0..events.len()).collect();
    for _ in 0..2 {
        let share = left.shared(open.len());
        let share = Effort { instances: share.instances.min(MAX_INSTANCES), ..share };
        open.retain(|&index| {
            let Ok(now) = events[index].series.occurrences_within(period, zone, share) else { return false };
            let is_cut = now.is_truncated;
            if !is_cut {
                left.instances = left.instances.saturating_sub(now.occurrences.len());
                left.steps = left.steps.saturating_sub(now.steps);
            }
            found.insert(index, now.occurrences);
            is_cut
        });
    }
    let all = found
        .into_iter()
        .flat_map(|(index, found)| found.into_iter().map(move |occurrence| (index, occurrence)));
    (all.collect(), !open.is_empty())
}

/// An event as JSON, with its account's label where the person has several, and whose it is if it isn't theirs.
fn item(
    call: &CallContext<'_>,
    account: Option<&ConnectedAccount>,
    occasion: &CalendarEvent,
    calendar: &str,
) -> Value {
    let mut item = event::item(occasion, calendar, call.zone());
    if let Some(label) = label(call, AccountService::Calendar, account) {
        item["account"] = json!(label);
    }
    if let Some(host) = invitations::host(call, account, occasion) {
        item["organizer"] = json!(host);
    }
    item
}

async fn list(call: &CallContext<'_>) -> Result<Output> {
    let (scope, period) = (Scope::of(call)?, period(call, 7)?);
    let agenda = Agenda::load(call, &scope, period, call.text("calendar"), |_| true).await?;
    let heading = agenda.heading(l10n::calendar::nothing(spoken(period, call)));
    Ok(agenda.with_note(agenda.output(call, heading)?))
}

async fn search(call: &CallContext<'_>) -> Result<Output> {
    let query = call.text("query").unwrap_or_default();
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let period = period(call, 366)?;
    let scope = Scope::of(call)?;
    let mut agenda = Agenda::load(call, &scope, period, None, |series| mentions(series, &words)).await?;
    // The next instance of a series stands for all of them.
    let mut seen = BTreeSet::new();
    agenda.instances.retain(|(index, _)| seen.insert(*index));
    let heading = agenda.heading(l10n::calendar::none_about(query));
    Ok(agenda.with_note(agenda.output(call, heading)?))
}

/// Whether these times, sorted by their beginning, leave nothing of a period.
fn covers(busy: &[TimeRange], period: TimeRange) -> bool {
    let reached = busy
        .iter()
        .fold(period.from, |reached, time| if time.from <= reached { reached.max(time.to) } else { reached });
    reached >= period.to
}

async fn check_availability(call: &CallContext<'_>) -> Result<Output> {
    let period = period(call, 1)?;
    let mut agenda = Agenda::load(call, &Scope::of(call)?, period, None, |_| true).await?;
    agenda.instances.retain(|(index, instance)| instance.is_busy && agenda.events[*index].counts());
    let busy: Vec<TimeRange> = agenda.instances.iter().map(|(_, instance)| instance.range).collect();
    let mut output = match call.text("duration") {
        Some(length) => slots(call, &busy, period, event::duration(length)?)?,
        None if conflicts(&busy, period).is_empty() => {
            Output::ours(l10n::calendar::free(spoken(period, call)), json!({"free": true}))
        }
        None => {
            let heading = match covers(&busy, period) {
                true => l10n::calendar::busy(spoken(period, call)),
                false => l10n::calendar::busy_partly(spoken(period, call)),
            };
            let heading = match agenda.instances.len() {
                count if count > SHOWN => l10n::calendar::first_of(heading, SHOWN, count),
                _ => heading,
            };
            let mut output = agenda.output(call, heading)?;
            output.data["free"] = json!(false);
            output
        }
    };
    output = agenda.with_note(output);
    let attendees = call.texts("attendees");
    if !attendees.is_empty() {
        output.summary.push_str(&format!("\n{}", l10n::calendar::others_unknown(attendees.join(", "))));
        output.data["not_checked"] = json!(attendees);
        output.data["hint"] = json!("email.search with from finds mails that may say when they are free");
    }
    Ok(output)
}

/// The period that a call asks about: by default from now, and this many days long.
fn period(call: &CallContext<'_>, default: u64) -> Result<TimeRange> {
    let zone = event::zone(call)?;
    let from = event::when(call, "start")?.map_or(call.now().with_timezone(&zone).naive_local(), When::local);
    let to = event::when(call, "end")?.map_or(from + Days::new(default), When::ends);
    let instants = Span { from, to }.instants(zone);
    let (from, to) = instants.ok_or_else(|| SkillError::params(ours!(l10n::calendar::end_before_start)))?;
    Ok(TimeRange { from, to })
}

/// A period as the answer repeats it, in the person's zone.
fn spoken(period: TimeRange, call: &CallContext<'_>) -> String {
    let local = |at: DateTime<Utc>| at.with_timezone(&call.zone()).naive_local();
    Span { from: local(period.from), to: local(period.to) }.spoken()
}

/// Free slots: within times of one day as they are, else during working hours.
fn slots(
    call: &CallContext<'_>,
    busy: &[TimeRange],
    period: TimeRange,
    duration: TimeDelta,
) -> Result<Output> {
    let zone = event::zone(call)?;
    let hour = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap_or_default();
    let local = |at: DateTime<Utc>| at.with_timezone(&zone).naive_local();
    let is_within_day = local(period.from).date() == local(period.to).date();
    let week =
        [Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri, Weekday::Sat, Weekday::Sun];
    let (days, from, to) = if is_within_day { (7, 0, 0) } else { (5, 9, 18) };
    let hours = WorkingHours { zone, days: week[..days].to_vec(), from: hour(from), to: hour(to) };
    let mut free = free_slots(busy, period, duration, &hours)?;
    let more = free.split_off(free.len().min(SLOTS));
    let asked = Span { from: local(period.from), to: local(period.to) }.spoken();
    let heading = match (free.is_empty(), is_within_day) {
        (true, true) => l10n::calendar::no_slot_within(asked),
        (true, false) => l10n::calendar::no_slot(asked),
        (false, true) => l10n::calendar::slots_within(asked),
        (false, false) => l10n::calendar::slots(),
    };
    let line =
        |slot: &TimeRange| format!("- {}", Span { from: local(slot.from), to: local(slot.to) }.spoken());
    let begin = |slot: &TimeRange| When::Time(local(slot.from)).spoken();
    let rest = more.first().map(|next| l10n::calendar::more_slots(more.len(), begin(next)));
    let summary = under(heading, free.iter().map(line).chain(rest));
    let item = |slot: &TimeRange| {
        let iso = |at| local(at).format("%Y-%m-%dT%H:%M").to_string();
        json!({"start": iso(slot.from), "end": iso(slot.to)})
    };
    let items: Vec<Value> = free.iter().map(item).collect();
    Ok(Output::ours(summary, json!({"free": !free.is_empty(), "slots": items})))
}

/// Whether an event, or one of its instances, contains all words.
fn mentions(series: &Series, words: &[String]) -> bool {
    let parts = series.event().into_iter().chain(series.overrides().unwrap_or_default());
    let mut texts = parts.map(|part| {
        let people = part.attendees.iter().map(|guest| format!(" {} {}", guest.name, guest.address));
        let people: String = people.collect();
        format!("{} {} {}{people}", part.title, part.location, part.notes).to_lowercase()
    });
    texts.any(|text| words.iter().all(|word| text.contains(word.as_str())))
}
