//! Creating, changing and deleting events.

use adjutant_dav::{Attendee, CalendarEvent, EventTime, ResponseStatus, Series, TimeRange};
use adjutant_l10n as l10n;
use adjutant_store::Batch;
use adjutant_turn::trust::Thing;
use adjutant_types::clock::rule;
use adjutant_types::{AccountService, FromCall, FromOutside, FromStore, Own, ours};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::backend::{self, Change, Scope, StoredEvent};
use super::clashes::Clashes;
use super::invitations::{
    Notice, NoticeKind, Update, host, invites_to, is_guest, is_visible, notify, own_party,
};
use super::restore::{comparable, events_of, untold};
use super::{MAX_INSTANCES, event, item};
use crate::accounts::ConnectedAccount;
use crate::builtin::merged::{account_line, id_of, labelled, of_step};
use crate::builtin::undo::{self, Step};
use crate::builtin::{CallContext, Preview, contacts, email, is_named, joined, under};
use crate::{Approved, Output, Result, Risk, SkillError};

/// How the UIDs of the series end that calls make.
const OWN_UID: &str = "@adjutant";

/// The part of a series that a call means.
enum Part {
    All,
    One(EventTime),
    Following(EventTime),
}

/// The event that a call would create, and the account that it goes into.
async fn planned<'a>(call: &CallContext<'a>) -> Result<(CalendarEvent, Option<&'a ConnectedAccount>)> {
    let account = call.account_for(AccountService::Calendar)?;
    let mut new = event::new(call, uid(call), account.is_some())?;
    set_attendees(call, account, &mut new).await?;
    Ok((new, account))
}

/// The UID of the series that this call makes: a new one, or the rest of one that it cuts.
fn uid(call: &CallContext<'_>) -> String {
    format!("{}{OWN_UID}", call.execution)
}

async fn set_attendees(
    call: &CallContext<'_>,
    account: Option<&ConnectedAccount>,
    new: &mut CalendarEvent,
) -> Result<()> {
    if call.arguments.get("attendees").is_none() {
        return Ok(());
    }
    let mut parties = contacts::parties(call, "attendees").await?;
    // In another order they are the same guests.
    new.attendees
        .retain(|guest| parties.iter().any(|party| party.address.eq_ignore_ascii_case(&guest.address)));
    parties.retain(|party| !is_guest(new, &party.address));
    new.attendees.extend(parties.into_iter().map(|party| Attendee {
        address: party.address,
        name: party.name.unwrap_or_default(),
        response: ResponseStatus::NeedsAction,
    }));
    if new.organizer.is_none() && !new.attendees.is_empty() {
        let party = own_party(call, account);
        let (address, name) = (party.address, party.name.unwrap_or_default());
        new.organizer = Some(Attendee { address, name, response: ResponseStatus::Accepted });
    }
    Ok(())
}

pub(super) async fn create(
    call: &CallContext<'_>,
    approved: &Approved,
    writes: &mut Batch,
) -> Result<Output> {
    let (planned, account) = planned(call).await?;
    let series = Series::new(&planned, call.now())?;
    // A rule that makes no sense is an error now, not when the calendar is read.
    let start = planned.start.instant(call.zone());
    series.occurrences(TimeRange { from: start, to: start + TimeDelta::days(1) }, call.zone(), 1)?;
    let calendar = call.text("calendar");
    let invitation = Notice::request(NoticeKind::Invitation, &series, planned.clone())?;
    let clashes = Clashes::of(call, &planned, &series).await;
    backend::apply(call, Change::Create(&series, account, calendar), writes).await?;
    let repeats = planned.rule.as_ref().map(|rule| rule::repeating(rule, call.zone())).unwrap_or_default();
    let receipt = l10n::calendar::created(&planned.title, spoken(&planned, call), repeats);
    let receipt = labelled(call, AccountService::Calendar, account, receipt);
    let told = notify(call, (account, calendar), invitation.into_iter().collect(), 0, approved).await?;
    let made = steps(account, &[[None, Some(&series)]], &told.guests);
    let item = item(call, account, &planned, calendar.unwrap_or_default());
    let summary = under(receipt, reminder(call, &planned).into_iter().chain(told.notes));
    Ok(clashes.described(Output::ours(summary, item)).undone_by(made))
}

/// How to undo what a call makes of series, of which its emails told these guests.
fn steps(
    account: Option<&ConnectedAccount>,
    changed: &[[Option<&Series>; 2]],
    told: &[String],
) -> Option<Value> {
    let step = |[before, after]: &[Option<&Series>; 2]| Step::Event {
        uid: before.or(*after).map(Series::uid).unwrap_or_default(),
        before: before.map(Series::text),
        after: after.map(Series::text),
        account: id_of(account),
        told: Some(told.to_vec()),
    };
    undo::left(&changed.iter().map(step).collect::<Vec<_>>())
}

/// Who reminds of an event, where a call says when.
fn reminder(call: &CallContext<'_>, new: &CalendarEvent) -> Option<String> {
    let is_set = call.arguments.get("reminders").is_some() && !new.reminders.is_empty();
    is_set.then(|| l10n::calendar::app_reminds(event::reminders(new)))
}

fn spoken(occasion: &CalendarEvent, call: &CallContext<'_>) -> String {
    event::spoken(&occasion.start, &occasion.end, call.zone())
}

pub(super) async fn update(
    call: &CallContext<'_>,
    approved: &Approved,
    writes: &mut Batch,
) -> Result<Output> {
    let (stored, is_done) = to_change(call, true).await?;
    let part = part(call, &stored.series, true)?;
    let (old, new) = replanned(call, &stored, &part).await?;
    let is_own = is_own(call, &stored, &old).await?;
    let item = item(call, stored.account, &new, if is_own { "" } else { &stored.calendar });
    let output = |receipt: String, notes: Vec<String>| {
        let receipt = labelled(call, AccountService::Calendar, stored.account, receipt);
        Output::outside_if(!is_own, under(receipt, notes), item)
    };
    if is_same(&old, &new) {
        let receipt = l10n::calendar::unchanged(&old.title, spoken(&old, call));
        let untold = untold(call, &stored, &new).await?;
        return Ok(output(receipt, untold.into_iter().collect()).undone_by(undo::left(&[])));
    }
    let (mut series, mut tail, mut instance) = (stored.series.clone(), None, None);
    match &part {
        Part::All => series.change_all(&new, call.now())?,
        Part::One(at) => {
            series.change_one(at, &new, call.now())?;
            instance = Some(at);
        }
        Part::Following(at) => tail = series.change_following(at, &new, &uid(call), call.now())?,
    }
    let notices = match is_visible(&old, &new) {
        true => Update { old: &old, new: &new, after: &series, tail: tail.as_ref() }.notices(
            &stored.series,
            instance,
            call.now(),
        )?,
        false => Vec::new(),
    };
    let alone = CalendarEvent { rule: new.rule.clone().filter(|_| instance.is_none()), ..new.clone() };
    let clashes = Clashes::of(call, &alone, tail.as_ref().unwrap_or(&series)).await;
    let mut changed = vec![[Some(&stored.series), Some(&series)]];
    changed.extend(tail.as_ref().map(|tail| [None, Some(tail)]));
    if !is_done {
        undo::keep(call, steps(stored.account, &changed, &[])).await?;
        if let Some(tail) = &tail {
            let calendar = stored.calendar_name();
            backend::apply(call, Change::Create(tail, stored.account, calendar), writes).await?;
        }
        backend::apply(call, Change::Update(&stored, &series), writes).await?;
    }
    let told = notify(call, (stored.account, stored.calendar_name()), notices, 0, approved).await?;
    let undo = steps(stored.account, &changed, &told.guests);
    let renamed = (old.title != new.title).then(|| l10n::calendar::was_called(&old.title));
    let notes = renamed.into_iter().chain(reminder(call, &new)).chain(told.notes).collect();
    Ok(clashes.described(output(receipt(call, &old, &new, &part), notes)).undone_by(undo))
}

/// The event that a call changes, as it was before an earlier attempt, and whether that one has changed it.
async fn to_change<'a>(call: &CallContext<'a>, is_update: bool) -> Result<(StoredEvent<'a>, bool)> {
    let kept = if call.is_retry { undo::changes_of(call, call.execution).await? } else { Vec::new() };
    let Some(Step::Event { uid, before: Some(before), after, account, .. }) = kept.first() else {
        return Ok((by_id(call).await?, false));
    };
    let (before, after) = (Series::read(before)?, after.as_deref().map(Series::read).transpose()?);
    let content = |series: &Series| comparable(series, call.zone());
    match backend::find(call, &Scope::of(call)?, uid).await? {
        Some(mut stored) => {
            let mut is_done = after.is_some_and(|after| content(&stored.series) == content(&after));
            if is_update && !is_done {
                // Somebody may have changed something else since: what leaves nothing to do is done, and still to be told.
                let part = part(call, &stored.series, true)?;
                let (old, new) = replanned(call, &stored, &part).await?;
                is_done = is_same(&old, &new);
            }
            if is_done {
                stored.series = before;
            }
            Ok((stored, is_done))
        }
        None if after.is_none() => {
            Ok((StoredEvent::gone(before, of_step(call, AccountService::Calendar, account)), true))
        }
        None => Err(SkillError::not_found(ours!(l10n::calendar::deleted_meanwhile)).into()),
    }
}

/// Whether an update changes nothing. A single event is at the same time in any zone.
fn is_same(old: &CalendarEvent, new: &CalendarEvent) -> bool {
    let is_at = |was: &EventTime, is: &EventTime| was == is || (new.rule.is_none() && was.is_same(is));
    let moved = CalendarEvent { start: old.start.clone(), end: old.end.clone(), ..new.clone() };
    is_at(&old.start, &new.start) && is_at(&old.end, &new.end) && moved == *old
}

/// The receipt of an update of an event, or of a part of a series.
fn receipt(call: &CallContext<'_>, old: &CalendarEvent, new: &CalendarEvent, part: &Part) -> String {
    let when = spoken(new, call);
    let rule = new.rule.as_ref().filter(|_| call.text("recurrence").is_some());
    let repeats = rule.map(|rule| rule::repeating(rule, call.zone())).unwrap_or_default();
    let recurred = old.rule.is_some();
    let moved = ((&old.start, &old.end) != (&new.start, &new.end)).then(|| spoken(old, call));
    match (moved, part) {
        (Some(before), Part::One(_)) => l10n::calendar::moved_one(&new.title, when, before),
        (Some(before), Part::All) if recurred => {
            l10n::calendar::moved_series(&new.title, when, repeats, before)
        }
        (Some(before), _) => l10n::calendar::moved(&new.title, when, repeats, before),
        (None, Part::One(_)) => l10n::calendar::changed_one(&new.title, when),
        (None, Part::All) if recurred => l10n::calendar::changed_series(&new.title, when, repeats),
        (None, _) => l10n::calendar::changed(&new.title, when, repeats),
    }
}

/// Whether an event has no texts but those that a call for this person gave it. Others may use its UID, or have changed it.
pub(super) async fn is_own(
    call: &CallContext<'_>,
    stored: &StoredEvent<'_>,
    event: &CalendarEvent,
) -> Result<bool> {
    // Their address is a text of others, and told.
    if host(call, stored.account, event).is_some() {
        return Ok(false);
    }
    let uid = stored.series.uid();
    let made = match (stored.account, uid.strip_suffix(OWN_UID)) {
        (None, _) => return Ok(true),
        (Some(_), None) => return Ok(false),
        (Some(_), Some(execution)) => undo::changes_of(call, &execution.into()).await?,
    };
    let texts = |event: &CalendarEvent| {
        let guests = event.attendees.iter().map(|guest| (guest.address.clone(), guest.name.clone()));
        let own = [&event.title, &event.location, &event.notes].map(String::clone);
        (own, event.rule.clone(), guests.collect::<Vec<_>>())
    };
    let account = id_of(stored.account);
    Ok(made.iter().any(|step| match step {
        Step::Event { uid: created, before: None, after: Some(after), account: there, .. } => {
            let after = Series::read(after).and_then(|series| series.event());
            (created, there) == (&uid, &account) && after.is_ok_and(|after| texts(&after) == texts(event))
        }
        _ => false,
    }))
}

/// Whether an update or a deletion makes an event as it was before one of these changes.
pub(super) async fn puts_back(call: &CallContext<'_>, is_update: bool, done: &[Step]) -> Result<bool> {
    let stored = by_id(call).await?;
    let mut series = stored.series.clone();
    let after = match (part(call, &stored.series, is_update)?, is_update) {
        (Part::All, false) => None,
        (Part::Following(_), _) | (Part::One(_), false) => return Ok(false),
        (part, true) => {
            let (_, new) = replanned(call, &stored, &part).await?;
            match &part {
                Part::One(at) => series.change_one(at, &new, call.now())?,
                Part::All | Part::Following(_) => series.change_all(&new, call.now())?,
            }
            Some(&series)
        }
    };
    let content = |series: &Series| comparable(series, call.zone());
    let names = |series: &Series| -> Vec<(String, String)> {
        let guests = events_of(series).flat_map(|event| event.attendees);
        guests.map(|guest| (guest.address, guest.name)).filter(|(_, name)| !name.is_empty()).collect()
    };
    let is_as = |text: &str, series: &Series| {
        let Ok(before) = Series::read(text) else { return false };
        // Guests read their names in the invitation: one that wasn't there is a new text.
        let known = [names(&before), names(&stored.series)].concat();
        let is_known = names(series).iter().all(|guest| known.contains(guest));
        let before = content(&before);
        is_known && before.is_some() && before == content(series)
    };
    let (uid, account) = (stored.series.uid(), id_of(stored.account));
    Ok(done.iter().any(|step| {
        let Step::Event { uid: changed, before, after: Some(left), account: there, .. } = step else {
            return false;
        };
        let is_same = (changed, there) == (&uid, &account) && is_as(left, &stored.series);
        is_same
            && match (before, after) {
                (Some(before), Some(after)) => is_as(before, after),
                (before, after) => before.is_none() && after.is_none(),
            }
    }))
}

/// Whether an event lasts as long as before, a new one as long as it does where nobody says: a day, or an hour.
pub(super) async fn keeps_length(call: &CallContext<'_>, is_new: bool) -> Result<bool> {
    let lasts = |event: &CalendarEvent| {
        (matches!(event.start, EventTime::Day(_)), event.end.local() - event.start.local())
    };
    if is_new {
        let is_day = matches!(event::moment(call, "start")?, Some(EventTime::Day(_)));
        let length = if is_day { TimeDelta::days(1) } else { TimeDelta::hours(1) };
        return Ok(lasts(&planned(call).await?.0) == (is_day, length));
    }
    let stored = by_id(call).await?;
    let (old, new) = replanned(call, &stored, &part(call, &stored.series, true)?).await?;
    Ok(lasts(&old) == lasts(&new))
}

/// The event as it is, and as an update would make it.
async fn replanned(
    call: &CallContext<'_>,
    stored: &StoredEvent<'_>,
    part: &Part,
) -> Result<(CalendarEvent, CalendarEvent)> {
    let old = match part {
        Part::All => stored.series.event()?,
        Part::One(instance) | Part::Following(instance) => instance_of(call, &stored.series, instance)?,
    };
    let mut new = event::changed(&old, call, stored.account.is_some())?;
    set_attendees(call, stored.account, &mut new).await?;
    Ok((old, new))
}

pub(super) async fn delete(
    call: &CallContext<'_>,
    approved: &Approved,
    writes: &mut Batch,
) -> Result<Output> {
    let (stored, is_done) = to_change(call, false).await?;
    let event = stored.series.event()?;
    let (is_own, title) = (is_own(call, &stored, &event).await?, event.title.clone());
    let part = part(call, &stored.series, false)?;
    let at = |instance| event::spoken_at(instance, call.zone());
    let receipt = match &part {
        Part::All if event.rule.is_none() => l10n::calendar::deleted_one(&title, at(&event.start)),
        Part::All => l10n::calendar::deleted_series(&title),
        Part::One(instance) => l10n::calendar::deleted_one(&title, at(instance)),
        Part::Following(instance) => l10n::calendar::deleted_following(&title, at(instance)),
    };
    let receipt = labelled(call, AccountService::Calendar, stored.account, receipt);
    let left = without(&stored.series, &part, call.now())?;
    let notice = match (&part, &left) {
        _ if event.attendees.is_empty() => None,
        (Part::Following(_), Some(left)) => Notice::request(NoticeKind::Update, left, left.event()?)?,
        (Part::One(instance), Some(_)) => {
            let occasion = instance_of(call, &stored.series, instance)?;
            Some(Notice::cancellation(occasion, stored.series.cancel(Some(instance), call.now())?))
        }
        _ => Some(Notice::cancellation(event, stored.series.cancel(None, call.now())?)),
    };
    let changed = [[Some(&stored.series), left.as_ref()]];
    if !is_done {
        undo::keep(call, steps(stored.account, &changed, &[])).await?;
    }
    let place = (stored.account, stored.calendar_name());
    let told = notify(call, place, notice.into_iter().collect(), 0, approved).await?;
    if !is_done {
        let change = left.as_ref().map_or(Change::Delete(&stored), |left| Change::Update(&stored, left));
        backend::apply(call, change, writes).await?;
    }
    let undo = steps(stored.account, &changed, &told.guests);
    let data = json!({"id": stored.series.uid(), "title": title});
    Ok(Output::outside_if(!is_own, under(receipt, told.notes), data).undone_by(undo))
}

/// The event of a call, and the addresses of its guests.
pub(super) async fn thing(call: &CallContext<'_>, is_update: bool) -> Result<(Thing, Vec<String>)> {
    let stored = by_id(call).await?;
    let mut is_announced = true;
    if is_update {
        let part = part(call, &stored.series, true)?;
        let (old, new) = replanned(call, &stored, &part).await?;
        is_announced = is_visible(&old, &new);
    }
    let (id, event) = (stored.series.uid(), stored.series.event()?);
    let guests: Vec<String> = event.attendees.into_iter().map(|guest| guest.address).collect();
    let is_shared = is_announced && !guests.is_empty();
    Ok((Thing { noun: "event", id, title: event.title, is_shared }, guests))
}

/// The event with the id in the arguments, or the one coming event that these words name. Of a series they don't
/// say which day is meant, unless all of it is to be deleted.
pub(super) async fn by_id<'a>(call: &CallContext<'a>) -> Result<StoredEvent<'a>> {
    let (scope, id) = (Scope::of(call)?, call.text("id").unwrap_or_default());
    if let Some(stored) = backend::find(call, &scope, id).await? {
        return Ok(stored);
    }
    let ahead = TimeRange { from: call.now(), to: call.now() + TimeDelta::days(5 * 366) };
    // A retry may have deleted what these words named: another thing of that name stays.
    let named = if call.is_retry { Vec::new() } else { backend::list(call, &scope, ahead, None).await?.0 };
    let mut named: Vec<StoredEvent<'a>> =
        named.into_iter().filter(|stored| title(stored).is_some_and(|title| is_named(&title, id))).collect();
    match named.len() {
        0 => Err(SkillError::not_found(ours!(l10n::calendar::not_found, FromCall(id))).into()),
        1 if named[0].series.event()?.rule.is_some() && call.text("start").is_some() => {
            Err(SkillError::params(ours!(l10n::calendar::id_needed, FromCall(id))).into())
        }
        1 => Ok(named.remove(0)),
        _ => {
            let name = |stored: &StoredEvent<'_>| {
                let (uid, title) = (stored.series.uid(), title(stored).unwrap_or_default());
                match stored.account {
                    // Others send invitations into a calendar on a server.
                    Some(_) => ours!("“{}”", FromOutside(title)),
                    None => ours!("“{}”", FromStore("calendar", uid.as_str(), title.as_str())),
                }
            };
            let names = joined(named.iter().map(name));
            Err(SkillError::params(ours!(l10n::calendar::several_match, FromCall(id), names)).into())
        }
    }
}

fn title(stored: &StoredEvent<'_>) -> Option<String> {
    stored.series.event().ok().map(|event| event.title)
}

pub(super) async fn preview_create(call: &CallContext<'_>) -> Result<Preview> {
    let (occasion, account) = planned(call).await?;
    let place = (account, call.text("calendar"));
    preview(call, place, (&occasion, None), l10n::calendar::add_event, (Risk::Medium, true)).await
}

pub(super) async fn preview_update(call: &CallContext<'_>) -> Result<Preview> {
    let stored = by_id(call).await?;
    let part = part(call, &stored.series, true)?;
    let (old, new) = replanned(call, &stored, &part).await?;
    let heading: fn(String) -> String = match part {
        Part::All if old.rule.is_some() => l10n::calendar::change_series,
        _ => l10n::calendar::change_event,
    };
    let is_announced = is_visible(&old, &new);
    let is_ours = invites_to(call, stored.account, &old);
    let risk = if is_ours || !is_announced { Risk::Medium } else { Risk::High };
    let (place, about) = ((stored.account, stored.calendar_name()), (&new, Some(&old)));
    preview(call, place, about, heading, (risk, is_announced)).await
}

pub(super) async fn preview_delete(call: &CallContext<'_>) -> Result<Preview> {
    let stored = by_id(call).await?;
    let occasion = stored.series.event()?;
    let (heading, risk): (fn(String) -> String, Risk) = match part(call, &stored.series, false)? {
        Part::One(_) => (l10n::calendar::delete_one, Risk::Medium),
        Part::Following(_) => (l10n::calendar::delete_following, Risk::High),
        Part::All if occasion.rule.is_some() => (l10n::calendar::delete_series, Risk::High),
        Part::All => (l10n::calendar::delete_event, Risk::Medium),
    };
    // Only the organizer's cancellation goes to others.
    let is_ours = invites_to(call, stored.account, &occasion);
    let risk = if is_ours { risk } else { Risk::High };
    let place = (stored.account, stored.calendar_name());
    preview(call, place, (&occasion, None), heading, (risk, is_ours)).await
}

/// The other events at the time of the event that a call makes or changes.
pub(super) async fn warning(call: &CallContext<'_>, is_new: bool) -> Option<String> {
    let (event, series) = if is_new {
        let (event, _) = planned(call).await.ok()?;
        (event.clone(), Series::new(&event, call.now()).ok()?)
    } else {
        let stored = by_id(call).await.ok()?;
        let part = part(call, &stored.series, true).ok()?;
        let new = replanned(call, &stored, &part).await.ok()?.1;
        let rule = new.rule.clone().filter(|_| !matches!(part, Part::One(_)));
        (CalendarEvent { rule, ..new }, stored.series)
    };
    Clashes::of(call, &event, &series).await.in_words()
}

async fn preview(
    call: &CallContext<'_>,
    (account, calendar): (Option<&ConnectedAccount>, Option<&str>),
    (occasion, old): (&CalendarEvent, Option<&CalendarEvent>),
    heading: fn(String) -> String,
    (risk, is_announced): (Risk, bool),
) -> Result<Preview> {
    let gone = old.into_iter().flat_map(|old| &old.attendees);
    let gone: Vec<&Attendee> = gone.filter(|guest| !is_guest(occasion, &guest.address)).collect();
    let mut guests = occasion.attendees.iter().chain(gone.iter().copied());
    let count = occasion.attendees.len() + gone.len();
    // As `notify` finds it.
    let is_for_mail = is_announced && count > 0 && email::mail_account(call).is_none();
    let stays = is_for_mail && !backend::sends_invitations(account, calendar).await?;
    let is_announced = is_announced && !stays;
    let is_risky = count > email::MANY || guests.any(|guest| email::is_outside(call, &guest.address));
    let risk = if is_announced && is_risky { Risk::High } else { risk };
    let mut text = heading(event::lines(occasion, old, call.zone()));
    let whose = account_line(call, AccountService::Calendar, account);
    text.extend(whose.map(|line| format!("\n- {line}")));
    if let Ok(Some(at)) = event::moment(call, "instance") {
        let at = event::spoken_at(&at, call.zone());
        text.push_str(&format!("\n- {}", l10n::calendar::instance(at)));
    }
    let only_yours = host(call, account, occasion).map(l10n::calendar::only_yours);
    // Whoever is invited is a target.
    let is_told = is_announced && only_yours.is_none();
    let goes_to = gone.iter().filter(|_| is_told).map(|guest| guest.address.clone()).collect();
    if let Some(line) = only_yours.or_else(|| stays.then(l10n::calendar::nobody_told)) {
        text.push_str(&format!("\n- {line}"));
    }
    Ok(Preview { risk, text: Some(text), stays, goes_to })
}

/// The series without a part of it; none when nothing is left.
fn without(
    series: &Series,
    part: &Part,
    stamp: DateTime<Utc>,
) -> Result<Option<Series>, adjutant_dav::DavError> {
    let mut series = series.clone();
    let is_left = match part {
        Part::All => false,
        Part::One(instance) => series.delete_one(instance, stamp)?,
        Part::Following(instance) => series.delete_following(instance, stamp)?,
    };
    Ok(is_left.then_some(series))
}

/// One event of a series, by when it would start by the rule.
pub(super) fn instance_of(
    call: &CallContext<'_>,
    series: &Series,
    instance: &EventTime,
) -> Result<CalendarEvent> {
    let at = instance.instant(call.zone());
    let nearby = TimeRange { from: at - TimeDelta::days(2), to: at + TimeDelta::days(2) };
    let found = series.occurrences(nearby, call.zone(), MAX_INSTANCES)?;
    let is_meant = |instant: &EventTime| instant.instant(call.zone()) == at;
    let occurrence =
        found.occurrences.iter().find(|occurrence| occurrence.instance.as_ref().is_some_and(is_meant));
    let missing = || {
        let at = Own(event::iso(instance, call.zone()));
        SkillError::not_found(ours!(l10n::calendar::no_such_instance, at))
    };
    Ok(series.event_at(occurrence.ok_or_else(missing)?)?)
}

/// The part of a series that a call means. A change must say which one, as its times may be those of a single day; before
/// a whole series is deleted, a question says so.
fn part(call: &CallContext<'_>, series: &Series, is_update: bool) -> Result<Part> {
    let instance = event::moment(call, "instance")?;
    match (call.text("span"), instance) {
        _ if series.event()?.rule.is_none() => Ok(Part::All),
        (Some("all"), _) => Ok(Part::All),
        // One that a crash broke off may be of a version for which this was the whole series.
        (None, None) if !is_update || call.is_retry => Ok(Part::All),
        (None | Some("one"), Some(instance)) => Ok(Part::One(instance)),
        (Some(_), Some(instance)) => Ok(Part::Following(instance)),
        (_, None) => Err(SkillError::params(ours!(l10n::calendar::which_instance)).into()),
    }
}
