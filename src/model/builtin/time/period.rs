//! What a time phrase means: when it begins and ends, the period that a question is about, how often it repeats.

use chrono::{Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Weekday};

use super::calendar;
use super::now::Now;
use super::phrase::{Bound, DayPart, TimeWords};
use super::words::{Word, is_one_of};
use crate::clock::span::Span;
use crate::clock::when::When;

/// What takes place in the evening.
pub(super) const EVENING: &str = "\
    dinner supper drinks party concert movie cinema theatre theater quiz tasting gig";
/// What hardly takes place in the morning: an hour said with it alone may be of either half of the day.
pub(super) const LATE: &str = "\
    evening night afternoon sunset dusk bed bedtime sleep sleeping asleep goodnight nightcap pint pints pub pubs beer \
    beers wine cocktail cocktails bbq barbecue curry pizza takeaway takeout opera ballet choir bingo disco clubbing \
    karaoke poker fireworks bonfire treating football telly show babysitter bath bathe tea table lock nightclub crawl \
    sleepover play club";
/// What hardly takes place in the afternoon.
pub(super) const EARLY: &str = "\
    early wake waking sunrise dawn breakfast alarm night feed clubbing stargaze stargazing red-eye";

/// What a time phrase means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model::builtin) struct Period {
    words: TimeWords,
    /// Its first day or its time.
    pub(in crate::model::builtin) start: When,
    /// The first moment and the end of the period that a question is about; none is open.
    asked: (Option<When>, Option<NaiveDateTime>),
    /// The end, if the text itself gives one.
    said_end: Option<NaiveDateTime>,
    /// The RRULE if it repeats.
    pub(in crate::model::builtin) rule: Option<String>,
}

impl Period {
    /// The moment that it names: a deadline, a reminder. None if it is none.
    pub(in crate::model::builtin) fn moment(&self) -> Option<When> {
        match (self.words.bound, self.start) {
            (None | Some(Bound::By), start) => Some(start),
            (Some(Bound::Before), When::Day(day)) => day.pred_opt().map(When::Day),
            (Some(Bound::Before), time) => Some(time),
            (Some(_), _) => None,
        }
    }

    /// When an event begins. None for "by Friday" and the like.
    pub(in crate::model::builtin) fn beginning(&self) -> Option<When> {
        self.words.bound.is_none().then_some(self.start)
    }

    /// Where the period in question begins.
    pub(in crate::model::builtin) fn from(&self) -> Option<When> {
        self.asked.0
    }

    /// Where the period in question ends: the day or the time after it.
    pub(in crate::model::builtin) fn end(&self) -> Option<When> {
        let end = self.asked.1?;
        Some(if self.in_days() { When::Day(end.date()) } else { When::Time(end) })
    }

    /// The same as the end of an argument: its last day, or the time.
    pub(in crate::model::builtin) fn last(&self) -> Option<When> {
        let end = self.asked.1?;
        Some(if self.in_days() { When::Day(Span { from: end, to: end }.last_day()) } else { When::Time(end) })
    }

    /// The same, if the text itself gives an end: "for 30 minutes", "to 3 January".
    pub(in crate::model::builtin) fn until(&self) -> Option<When> {
        let end = self.said_end?;
        Some(if self.in_days() { When::Day(Span { from: end, to: end }.last_day()) } else { When::Time(end) })
    }

    /// Its length as iCalendar writes it (`PT30M`), if the text gives one.
    pub(in crate::model::builtin) fn duration(&self) -> Option<String> {
        let until = self.said_end.filter(|_| !self.in_days());
        let minutes = until.map(|end| (end - self.start.local()).num_minutes()).or(self.words.minutes);
        minutes.filter(|minutes| *minutes > 0).map(|minutes| match (minutes / 60, minutes % 60) {
            (0, rest) => format!("PT{rest}M"),
            (hours, 0) => format!("PT{hours}H"),
            (hours, rest) => format!("PT{hours}H{rest}M"),
        })
    }

    /// What the phrase leaves out, taken from the time that a thing has now: "3pm" stays on its day, and on "Friday"
    /// it keeps its time.
    pub(in crate::model::builtin) fn moved(&self, old: When, now: &Now) -> Option<When> {
        if self.rule.is_some() {
            return self.first_of_rule(old, now);
        }
        Some(match (self.moment()?, old) {
            (When::Day(day), When::Time(time)) => When::Time(day.and_time(time.time())),
            (When::Time(time), old) if self.words.moment.is_none() => {
                let day = if self.words.span.is_none() { old.local().date() } else { time.date() };
                // Midnight ends the day that a thing is on.
                let is_end = self.words.span.is_none() && self.words.next_day;
                let day = if is_end { day.succ_opt()? } else { day };
                When::Time(day.and_time(self.in_the_nearer_half(time.time(), old)?))
            }
            (new, _) => new,
        })
    }

    /// "Every Friday at 9" of what is on a day: the first Friday from then on that isn't over.
    fn first_of_rule(&self, old: When, now: &Now) -> Option<When> {
        let time = match (self.moment()?, old) {
            (When::Time(time), old) => Some(self.in_the_nearer_half(time.time(), old)?),
            (When::Day(_), When::Time(old)) => Some(old.time()),
            (When::Day(_), When::Day(_)) => None,
        };
        let first = self.start.local().date();
        let from = if self.words.span.is_some() { first } else { first.max(old.local().date()) };
        let is_its_day =
            |day: &NaiveDate| self.words.weekdays.is_empty() || self.words.weekdays.contains(&day.weekday());
        let on = |day: NaiveDate| time.map_or(When::Day(day), |time| When::Time(day.and_time(time)));
        from.iter_days().take(8).filter(is_its_day).map(on).find(|when| when.ends() > now.local)
    }

    /// Whether it says how often alone, and neither on which days nor at what time.
    pub(in crate::model::builtin) fn is_only_a_rule(&self) -> bool {
        self.rule.is_some() && self.in_days() && self.words.weekdays.is_empty() && self.words.span.is_none()
    }

    /// "Friday at 6" of what is at five in the afternoon is at 18:00: the nearer half, and a night hour only of what is at
    /// night. None if neither is near.
    fn in_the_nearer_half(&self, time: NaiveTime, old: When) -> Option<NaiveTime> {
        const NEAR: i64 = 6 * 60;
        let When::Time(old) = old else { return Some(time) };
        if !self.is_bare() {
            return Some(time);
        }
        let far = |half: &NaiveTime| (*half - old.time()).num_minutes().abs();
        let early = time.with_hour(time.hour() % 12)?;
        let late = early.with_hour(early.hour() + 12)?;
        let is_night = |half: &NaiveTime| half.hour() < 5 && far(half) > 120;
        let nearest = [late, early].into_iter().filter(|half| !is_night(half)).min_by_key(far)?;
        // "At 9" of what is at five in the afternoon.
        if nearest == late && (8..12).contains(&early.hour()) && (12..18).contains(&old.hour()) {
            return self.words.span.is_some().then_some(early);
        }
        (far(&nearest) <= NEAR).then_some(nearest)
    }

    /// Whether these conversions together say all that it says, so that nothing is dropped.
    pub(in crate::model::builtin) fn is_used_by(&self, conversions: &[&str]) -> bool {
        let has = |names: &[&str]| names.iter().any(|name| conversions.contains(name));
        let is_one_day = self.words.span.is_none_or(|span| span.first_day() == span.last_day());
        let lasts = self.words.minutes.or(self.words.days).is_some() || self.words.until.is_some();
        let ends = has(&["end", "last"]);
        let is_asked = has(&["from", "ahead"]) && ends;
        // "Every day for 2 weeks" is no length of what happens each day.
        // "Monday to Wednesday, 9 to 5" is neither one time nor a series.
        let is_odd = (self.words.days.is_some() && (self.rule.is_some() || !self.in_days()))
            || (self.words.is_range && (self.words.until.is_some() || self.rule.is_some() || !self.in_days()))
            // "For an hour on Friday": at what time?
            || (self.words.minutes.is_some()
                && self.words.time.is_none()
                && self.words.moment.is_none()
                && self.words.part.is_none());
        !is_odd
            && (self.rule.is_none() || has(&["repeat"]))
            && (!lasts || ends || has(&["until", "duration"]))
            && (is_one_day || ends || (self.words.is_range && has(&["until"])))
            && match self.words.bound {
                None => true,
                Some(Bound::By | Bound::Before) => has(&["time", "moved"]) || is_asked,
                Some(_) => is_asked,
            }
    }

    /// Whether it is over.
    pub(in crate::model::builtin) fn is_past(&self, now: &Now) -> bool {
        self.rule.is_none() && self.moment().unwrap_or(self.start).ends() <= now.local
    }

    /// Whether it is a date of the next year, said when that of this year has just gone by.
    pub(in crate::model::builtin) fn is_a_year_away(&self, now: &Now) -> bool {
        self.words.moment.is_none() && (self.start.local().date() - now.local.date()).num_days() > 300
    }

    /// Whether it says on which day.
    pub(in crate::model::builtin) fn names_a_day(&self) -> bool {
        self.words.span.is_some()
    }

    /// Whether it says at what time.
    pub(in crate::model::builtin) fn names_a_time(&self) -> bool {
        !self.in_days()
    }

    /// Whether it says which hour.
    pub(in crate::model::builtin) fn names_an_hour(&self) -> bool {
        self.words.time.is_some() || self.words.moment.is_some()
    }

    /// Whether its hour was said without the half of the day, and taken for one before noon.
    pub(in crate::model::builtin) fn is_bare_before_noon(&self) -> bool {
        self.is_bare() && self.start.local().hour() < 12
    }

    /// "At 7" alone: a question about it may be of the morning or of the evening.
    pub(in crate::model::builtin) fn is_at_six_to_eight(&self) -> bool {
        self.is_bare() && (6..=8).contains(&self.start.local().hour())
    }

    /// Whether its hour was said without the half of the day, and taken for one after noon.
    pub(in crate::model::builtin) fn is_bare_after_noon(&self) -> bool {
        self.is_bare() && self.start.local().hour() >= 12
    }

    /// "At 9", said at 20:40: in twenty minutes, or tomorrow morning? And "at 1" is likely the coming night.
    pub(in crate::model::builtin) fn is_soon_or_tomorrow(&self, now: &Now) -> bool {
        let is_free = self.words.span.is_none() && self.rule.is_none() && self.words.moment.is_none();
        let start = self.start.local();
        let (hour, at) = (start.hour(), now.local.time());
        let other_half = start.time().overflowing_add_signed(Duration::hours(12)).0;
        let is_soon = hour < 12 && other_half > at && (other_half - at).num_hours() < 4;
        let is_night = (13..=17).contains(&hour) && at.hour() >= 20;
        is_free && self.is_bare() && start.date() > now.local.date() && (is_soon || is_night)
    }

    fn is_bare(&self) -> bool {
        self.words.time.is_some_and(|(_, bare)| bare) && self.words.part.is_none()
    }

    /// Whether it is about days, not about times in them.
    fn in_days(&self) -> bool {
        self.words.time.is_none()
            && self.words.part.is_none()
            && self.words.moment.is_none()
            && self.words.minutes.is_none()
    }
}

/// Turns the words of a phrase into one period.
pub(super) fn resolve(parts: &TimeWords, now: &Now, words: &[Word]) -> Option<Period> {
    let mut parts = parts.clone();
    let bare_hour = parts.time.is_some_and(|(_, bare)| bare) && parts.part.is_none();
    if bare_hour && words.iter().any(|word| is_one_of(&word.text, EVENING)) {
        // "Dinner at 12" and "a party at 11" may be either.
        parts.time.filter(|(time, _)| !(11..=12).contains(&time.hour()))?;
        parts.part = Some(DayPart::Evening);
    }
    let mut time = parts.clock();
    // "Today at 9" at ten in the morning is in the evening, and so is "at 6" without a day.
    let evening = |said: NaiveTime| said.overflowing_add_signed(Duration::hours(12)).0;
    let is_today = parts.span == Some(Span::day(now.local.date()));
    let is_soon = |said: NaiveTime| {
        let is_free = parts.span.is_none() && parts.weekdays.is_empty() && parts.rule.is_none();
        is_free && matches!(said.hour(), 6 | 7) && evening(said) > now.local.time()
    };
    if let Some(said) = time.filter(|said| bare_hour && said.hour() < 12 && *said <= now.local.time())
        && (is_today || is_soon(said))
    {
        time = Some(evening(said));
    }
    if is_contradiction(&parts, time, words) {
        return None;
    }
    let (start, last) = first_and_last(&parts, time, now)?;
    let said_end = said_end(&parts, start, last);
    if parts.until.is_some() && said_end.is_none() {
        return None;
    }
    let asked = asked(&parts, start, last, said_end)?;
    let rule = parts.rule.clone();
    Some(Period { words: parts, start, asked, said_end, rule })
}

/// "In the morning at 15:00", "every month on the last Friday", "every Monday at midnight": no one time fits all of it.
fn is_contradiction(parts: &TimeWords, time: Option<NaiveTime>, words: &[Word]) -> bool {
    let is_elsewhere = |part: DayPart| time.is_some_and(|time| !part.can_mean(time.hour()));
    let is_monthly =
        parts.rule.as_ref().is_some_and(|rule| rule.contains("MONTHLY") || rule.contains("YEARLY"));
    let names_weekday = || words.iter().any(|word| calendar::weekday(&word.text, false).is_some());
    // "Every Friday the 13th".
    let is_day_of_month = !parts.weekdays.is_empty() && parts.bound.is_none() && parts.span.is_some();
    is_day_of_month
        || parts.part.is_some_and(is_elsewhere)
        || (is_monthly && names_weekday())
        || (parts.next_day && !parts.weekdays.is_empty())
}

/// When it begins, and its last day.
fn first_and_last(parts: &TimeWords, time: Option<NaiveTime>, now: &Now) -> Option<(When, NaiveDate)> {
    if let Some(moment) = parts.moment {
        return Some((When::Time(moment), moment.date()));
    }
    let today = now.local.date();
    let first = match (parts.span, time) {
        (Some(span), _) => span.first_day(),
        (None, Some(time)) if parts.weekdays.is_empty() && time <= now.local.time() => today.succ_opt()?,
        (None, Some(_)) => today,
        (None, None) if parts.rule.is_some() => today,
        (None, None) => return None,
    };
    let first = if parts.weekdays.is_empty() { first } else { next_of(&parts.weekdays, first, time, now)? };
    let last = parts.span.filter(|_| parts.weekdays.is_empty()).map_or(first, Span::last_day);
    // Midnight ends the day that it is said with.
    let first = if parts.is_after_midnight() && parts.span.is_some() { first.succ_opt()? } else { first };
    let start = time.map_or(When::Day(first), |time| When::Time(now.existing(first.and_time(time))));
    Some((start, last.max(first)))
}

/// The end that the text gives.
fn said_end(parts: &TimeWords, start: When, last: NaiveDate) -> Option<NaiveDateTime> {
    let start = start.local();
    if let Some((until, bare)) = parts.until {
        let steps = if bare { [0, 12, 24] } else { [0, 24, 24] };
        let end = start.date().and_time(until);
        let mut ends = steps.iter().filter_map(|hours| end.checked_add_signed(Duration::hours(*hours)));
        let end = ends.find(|end| *end > start)?;
        // "5pm to 3pm" and "3 to 2" aren't said of a night.
        let is_night = start.hour() >= 17 || (start.hour() >= 12 && !bare);
        let is_short = (end - start).num_hours() <= 14;
        return (end.date() == start.date() || (is_night && is_short)).then_some(end);
    }
    let length = parts.minutes.and_then(Duration::try_minutes).or_else(|| Duration::try_days(parts.days?));
    match length {
        Some(length) => start.checked_add_signed(length),
        None => parts.is_range.then(|| When::Day(last).ends()),
    }
}

type Asked = (Option<When>, Option<NaiveDateTime>);

/// The period that a question with this phrase is about.
fn asked(parts: &TimeWords, start: When, last: NaiveDate, said_end: Option<NaiveDateTime>) -> Option<Asked> {
    let first = start.local().date();
    let hour =
        |hour: u32| first.and_time(NaiveTime::MIN).checked_add_signed(Duration::hours(i64::from(hour)));
    let is_timed = matches!(start, When::Time(_));
    let (from, to) = match (parts.part, is_timed) {
        (Some(part), _) if parts.time.is_none() => {
            let (from, to) = part.hours();
            (When::Time(hour(from)?), hour(to)?)
        }
        (_, true) => {
            (start, said_end.map_or_else(|| start.local().checked_add_signed(Duration::hours(1)), Some)?)
        }
        (_, false) => (start, said_end.unwrap_or_else(|| When::Day(last).ends())),
    };
    let midnight = |day: NaiveDate| When::Time(day.and_time(NaiveTime::MIN));
    Some(match (parts.bound, is_timed) {
        (None, _) => (Some(from), Some(to)),
        (Some(Bound::By | Bound::Before), true) => (Some(midnight(first)), Some(start.local())),
        (Some(Bound::By), false) => (None, Some(to)),
        (Some(Bound::Before), false) => (None, Some(start.local())),
        // "From 2pm for 30 minutes" has its end.
        (Some(Bound::After | Bound::From), true) => {
            (Some(start), Some(said_end.unwrap_or_else(|| When::Day(first).ends())))
        }
        (Some(Bound::After), false) => (Some(When::Day(last.succ_opt()?)), None),
        (Some(Bound::From), false) => (Some(start), None),
        (Some(Bound::Between), _) => (Some(from), Some(to)),
        (Some(Bound::Until), _) => (None, None),
    })
}

/// The first of these weekdays on or after `from` whose time has not passed.
fn next_of(days: &[Weekday], from: NaiveDate, time: Option<NaiveTime>, now: &Now) -> Option<NaiveDate> {
    from.iter_days().take(8).find(|day| {
        let past = time.is_some_and(|time| day.and_time(time) <= now.local);
        days.contains(&day.weekday()) && !past
    })
}
