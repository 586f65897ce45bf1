//! Expands recurrence rules, in local time without a zone; the caller converts to UTC, so nine o'clock stays nine
//! o'clock all year.
//!
//! The `rrule` crate, which the tests compare with, starts at the series' first day, searches until the year 10,000
//! for a rule that never matches, and is too slow for thousands of rules.

use chrono::{Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Weekday};

use super::rule::{Frequency, RecurrenceRule, Until};

/// How many periods and candidates an expansion examines before it gives up: a daily rule of 270 years.
const MAX_STEPS: u32 = 100_000;

/// How much an expansion may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    pub instances: usize,
    /// The most periods and candidates that it examines.
    pub steps: u32,
}

impl Effort {
    /// What one series alone may take for so many instances.
    pub fn of(instances: usize) -> Self {
        Self { instances, steps: MAX_STEPS }
    }

    #[must_use]
    pub fn shared(self, among: usize) -> Self {
        let each = u32::try_from(among).unwrap_or(u32::MAX).max(1);
        Self { instances: (self.instances / among.max(1)).max(1), steps: (self.steps / each).max(1) }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expanded {
    pub(crate) starts: Vec<NaiveDateTime>,
    /// There may be more: a limit was reached.
    pub(crate) is_truncated: bool,
    /// How many periods and candidates were examined.
    pub(crate) steps: u32,
}

fn number(number: u32) -> i32 {
    i32::try_from(number).unwrap_or_default()
}

impl RecurrenceRule {
    /// The first start later than `after`, in local time, of a series that begins at `start`.
    pub fn next_after(&self, start: NaiveDateTime, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let until = self.until.map(|until| match until {
            Until::Day(day) => day.and_time(NaiveTime::MIN) + TimeDelta::seconds(86_399),
            Until::Local(until) | Until::Utc(until) => until,
        });
        let from = after.checked_add_signed(TimeDelta::seconds(1))?;
        self.expand(start, until, (from, NaiveDateTime::MAX), Effort::of(1)).starts.pop()
    }

    /// The first time from `start` on, and not before `from`, that the rule itself names: `start` need not be one.
    pub fn first_named(&self, start: NaiveDateTime, from: NaiveDateTime) -> Option<NaiveDateTime> {
        if from <= start && self.names(start) {
            return Some(start);
        }
        self.next_after(start, start.max(from.checked_sub_signed(TimeDelta::seconds(1))?))
    }

    /// Whether the rule itself names the start of a series.
    fn names(&self, start: NaiveDateTime) -> bool {
        let whole = self.with_defaults(start);
        let mut first = Vec::new();
        if let Some(begin) = whole.begin(start, 0) {
            whole.candidates(begin, 0, (NaiveDate::MIN, NaiveDate::MAX), &mut first);
        }
        first.contains(&start)
    }

    /// The starts in `from..=to`, with at most this effort. `start` itself is always the first of the series. `until`
    /// is the rule's UNTIL as a local time.
    pub(crate) fn expand(
        &self,
        start: NaiveDateTime,
        until: Option<NaiveDateTime>,
        (from, to): (NaiveDateTime, NaiveDateTime),
        most: Effort,
    ) -> Expanded {
        let mut expanded = Expanded::default();
        if (from..=to).contains(&start) {
            expanded.starts.push(start);
        }
        let to = until.map_or(to, |until| until.min(to));
        let whole = self.with_defaults(start);
        // Days outside of the window matter only if they are counted.
        let is_whole = self.count.is_some() || !self.positions.is_empty();
        let days = if is_whole { (NaiveDate::MIN, NaiveDate::MAX) } else { (from.date(), to.date()) };
        let mut left = self.count.map_or(u32::MAX, |count| count - 1);
        let mut period = if self.count.is_some() { 0 } else { self.periods_before(start, from) };
        let mut candidates = Vec::new();
        while left > 0 {
            let Some(begin) = whole.begin(start, period).filter(|begin| *begin <= to) else { break };
            candidates.clear();
            period = whole.candidates(begin, period, days, &mut candidates);
            candidates.retain(|at| *at > start);
            let steps = u32::try_from(candidates.len()).unwrap_or(u32::MAX).saturating_add(1);
            expanded.steps = expanded.steps.saturating_add(steps);
            if expanded.steps > most.steps {
                expanded.is_truncated = true;
                break;
            }
            for &at in &candidates {
                if left == 0 || at > to {
                    return expanded;
                }
                left -= 1;
                if at >= from {
                    if expanded.starts.len() >= most.instances {
                        expanded.is_truncated = true;
                        return expanded;
                    }
                    expanded.starts.push(at);
                }
            }
        }
        expanded
    }

    /// The rule with the defaults that follow from the series' start.
    fn with_defaults(&self, start: NaiveDateTime) -> Self {
        let mut rule = self.clone();
        let names_days = !(self.month_days.is_empty()
            && self.year_days.is_empty()
            && self.weeks.is_empty()
            && self.days.is_empty());
        match self.frequency {
            Frequency::Yearly if !names_days => {
                rule.month_days.push(number(start.day()));
                if self.months.is_empty() {
                    rule.months.push(number(start.month()));
                }
            }
            // A week alone means the weekday of the start.
            Frequency::Yearly
                if !self.weeks.is_empty()
                    && self.month_days.is_empty()
                    && self.year_days.is_empty()
                    && self.days.is_empty() =>
            {
                rule.days.push((0, start.weekday()));
            }
            Frequency::Monthly if !names_days => rule.month_days.push(number(start.day())),
            Frequency::Weekly if !names_days => rule.days.push((0, start.weekday())),
            _ => {}
        }
        if self.frequency as u8 >= Frequency::Daily as u8 && self.hours.is_empty() {
            rule.hours.push(number(start.hour()));
        }
        if self.frequency as u8 >= Frequency::Hourly as u8 && self.minutes.is_empty() {
            rule.minutes.push(number(start.minute()));
        }
        if self.frequency as u8 >= Frequency::Minutely as u8 && self.seconds.is_empty() {
            rule.seconds.push(number(start.second()));
        }
        if !matches!(self.frequency, Frequency::Monthly | Frequency::Yearly) {
            // RFC 5545 forbids a number here, but many programs write one.
            rule.days.iter_mut().for_each(|(number, _)| *number = 0);
        }
        rule
    }

    /// The length of a period in seconds; months and years have no fixed one.
    fn period_seconds(&self) -> Option<i64> {
        Some(match self.frequency {
            Frequency::Secondly => 1,
            Frequency::Minutely => 60,
            Frequency::Hourly => 3_600,
            Frequency::Daily => 86_400,
            Frequency::Weekly => 604_800,
            Frequency::Monthly | Frequency::Yearly => return None,
        })
    }

    /// How many intervals can be skipped without missing anything after `from`.
    fn periods_before(&self, start: NaiveDateTime, from: NaiveDateTime) -> i64 {
        if from <= start {
            return 0;
        }
        let interval = i64::from(self.interval);
        let periods = match self.period_seconds() {
            Some(seconds) => (from - start).num_seconds() / seconds / interval,
            None => {
                let years = i64::from(from.year()) - i64::from(start.year());
                let months = 12 * years + i64::from(from.month()) - i64::from(start.month());
                let months_each = if self.frequency == Frequency::Yearly { 12 } else { 1 };
                months / months_each / interval
            }
        };
        (periods - 1).max(0)
    }

    /// The beginning of a period; none after the year 9999.
    fn begin(&self, start: NaiveDateTime, period: i64) -> Option<NaiveDateTime> {
        let steps = period.checked_mul(i64::from(self.interval))?;
        let day = start.date();
        let begin = match self.frequency {
            Frequency::Yearly => {
                let year = i32::try_from(i64::from(day.year()).checked_add(steps)?).ok()?;
                NaiveDate::from_ymd_opt(year, 1, 1)?.and_time(NaiveTime::MIN)
            }
            Frequency::Monthly => day
                .with_day(1)?
                .checked_add_months(Months::new(u32::try_from(steps).ok()?))?
                .and_time(NaiveTime::MIN),
            Frequency::Weekly => {
                let since = Days::new(u64::from(day.weekday().days_since(self.week_start)));
                let weeks = Days::new(u64::try_from(steps).ok()?.checked_mul(7)?);
                day.checked_sub_days(since)?.checked_add_days(weeks)?.and_time(NaiveTime::MIN)
            }
            Frequency::Daily => {
                day.checked_add_days(Days::new(u64::try_from(steps).ok()?))?.and_time(NaiveTime::MIN)
            }
            Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => {
                let length = self.period_seconds()?;
                let since = i64::from(start.num_seconds_from_midnight()) % length;
                let seconds = steps.checked_mul(length)?.checked_sub(since)?;
                start.checked_add_signed(TimeDelta::try_seconds(seconds)?)?
            }
        };
        (begin.year() < 10_000).then_some(begin)
    }

    /// Adds the candidates of the period that begins at `begin`, in order. Returns the number of the next period
    /// to examine.
    fn candidates(
        &self,
        begin: NaiveDateTime,
        period: i64,
        (earliest, latest): (NaiveDate, NaiveDate),
        into: &mut Vec<NaiveDateTime>,
    ) -> i64 {
        let first = begin.date();
        let days = match self.frequency {
            Frequency::Yearly => 365 + u64::from(first.leap_year()),
            Frequency::Monthly => u64::from(first.num_days_in_month()),
            Frequency::Weekly => 7,
            _ => 1,
        };
        let after = first.checked_add_days(Days::new(days)).unwrap_or(NaiveDate::MAX);
        let is_within_day = (self.frequency as u8) < Frequency::Daily as u8;
        if is_within_day && let Some(left) = self.seconds_to_skip(begin) {
            let seconds = self.period_seconds().unwrap_or(1).saturating_mul(i64::from(self.interval));
            return period + ((left + seconds - 1) / seconds).max(1);
        }
        let fixed = |list: &[i32], at: u32, from: Frequency| {
            let at = i32::try_from(at).unwrap_or_default();
            match list {
                list if self.frequency as u8 > from as u8 => list.to_vec(),
                list if list.is_empty() || list.contains(&at) => vec![at],
                _ => Vec::new(),
            }
        };
        let hours = fixed(&self.hours, begin.hour(), Frequency::Hourly);
        let minutes = fixed(&self.minutes, begin.minute(), Frequency::Minutely);
        let seconds = fixed(&self.seconds, begin.second(), Frequency::Secondly);
        let mut day = Some(if is_within_day { first } else { first.max(earliest) });
        while let Some(today) = day.filter(|day| *day < after && *day <= latest) {
            if !self.months.is_empty() && !self.months.contains(&number(today.month())) {
                day = today.with_day(1).and_then(|day| day.checked_add_months(Months::new(1)));
                continue;
            }
            day = today.succ_opt();
            if is_within_day || self.matches(today) {
                let time = |h: i32, m: i32, s: i32| {
                    let part = |number: i32| u32::try_from(number).unwrap_or_default();
                    today.and_hms_opt(part(h), part(m), part(s.min(59)))
                };
                for &h in &hours {
                    for &m in &minutes {
                        into.extend(seconds.iter().filter_map(|&s| time(h, m, s)));
                    }
                }
            }
        }
        if !self.positions.is_empty() {
            self.keep_positions(into);
        }
        period + 1
    }

    /// For a rule that repeats within the day: how long no period can match, up to the next day, hour or minute.
    fn seconds_to_skip(&self, from: NaiveDateTime) -> Option<i64> {
        let lacks =
            |list: &[i32], at: u32| !list.is_empty() && !i32::try_from(at).is_ok_and(|at| list.contains(&at));
        let of_day = i64::from(from.num_seconds_from_midnight());
        if !self.matches(from.date()) {
            Some(86_400 - of_day)
        } else if lacks(&self.hours, from.hour()) {
            Some(3_600 - of_day % 3_600)
        } else if self.frequency == Frequency::Secondly && lacks(&self.minutes, from.minute()) {
            Some(60 - of_day % 60)
        } else {
            None
        }
    }

    fn keep_positions(&self, candidates: &mut Vec<NaiveDateTime>) {
        let length = candidates.len();
        let at = |position: &i32| {
            let index = usize::try_from(position.unsigned_abs()).ok()?;
            if *position > 0 { index.checked_sub(1) } else { length.checked_sub(index) }
        };
        let mut kept: Vec<NaiveDateTime> =
            self.positions.iter().filter_map(at).filter_map(|index| candidates.get(index).copied()).collect();
        kept.sort_unstable();
        kept.dedup();
        *candidates = kept;
    }

    fn matches(&self, day: NaiveDate) -> bool {
        let month = || (number(day.day()), i32::from(day.num_days_in_month()));
        let year = || (number(day.ordinal()), 365 + i32::from(day.leap_year()));
        let is_in =
            |list: &[i32], (at, length): (i32, i32)| list.contains(&at) || list.contains(&(at - length - 1));
        let is_day = |&(nth, weekday): &(i32, Weekday)| {
            if day.weekday() != weekday || nth == 0 {
                return day.weekday() == weekday;
            }
            let is_yearly = self.frequency == Frequency::Yearly && self.months.is_empty();
            let (at, length) = if is_yearly { year() } else { month() };
            nth == (at - 1) / 7 + 1 || nth == -((length - at) / 7 + 1)
        };
        (self.months.is_empty() || self.months.contains(&number(day.month())))
            && (self.month_days.is_empty() || is_in(&self.month_days, month()))
            && (self.year_days.is_empty() || is_in(&self.year_days, year()))
            && (self.weeks.is_empty() || self.matches_week(day))
            && (self.days.is_empty() || self.days.iter().any(is_day))
    }

    /// Whether a day is in one of the rule's weeks: week 1 is the first with four days in the year.
    fn matches_week(&self, day: NaiveDate) -> bool {
        let week_of = |year: i32| {
            let first = NaiveDate::from_ymd_opt(year, 1, 4)?;
            let since = Days::new(u64::from(first.weekday().days_since(self.week_start)));
            first.checked_sub_days(since)
        };
        let year = day.year();
        let years = [year - 1, year, year + 1];
        let weeks = years.map(|year| Some((week_of(year)?, week_of(year + 1)?)));
        let own = weeks.into_iter().flatten().find(|(first, next)| (*first..*next).contains(&day));
        let Some((first, next)) = own else { return false };
        let weeks = (next - first).num_days() / 7;
        let week = (day - first).num_days() / 7 + 1;
        self.weeks.iter().any(|&wanted| {
            let wanted = i64::from(wanted);
            let wanted = if wanted < 0 { weeks + 1 + wanted } else { wanted };
            wanted == week
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ical::rule::date_time;

    fn at(text: &str) -> NaiveDateTime {
        date_time(text).unwrap()
    }

    fn starts(rule: &str, start: &str, from: &str, to: &str) -> Vec<String> {
        let expanded = RecurrenceRule::read(rule).unwrap().expand(
            at(start),
            None,
            (at(from), at(to)),
            Effort::of(1_000),
        );
        assert!(!expanded.is_truncated);
        expanded.starts.iter().map(|at| at.format("%Y%m%dT%H%M").to_string()).collect()
    }

    #[test]
    fn the_start_is_the_first_and_counts() {
        // 2026-11-21 is a Saturday.
        let days =
            starts("FREQ=WEEKLY;BYDAY=MO;COUNT=3", "20261121T090000", "20260101T000000", "20270101T000000");
        assert_eq!(days, ["20261121T0900", "20261123T0900", "20261130T0900"]);
    }

    #[test]
    fn the_first_that_a_rule_names_need_not_be_the_start() {
        let first = |rule: &str, start: &str, from: &str| {
            let found = RecurrenceRule::read(rule).unwrap().first_named(at(start), at(from));
            found.map(|at| at.format("%Y%m%dT%H%M").to_string())
        };
        // 2026-11-23 is a Monday.
        for (rule, start, from, named) in [
            ("FREQ=WEEKLY;BYDAY=FR", "20261123T170000", "20261123T170000", Some("20261127T1700")),
            ("FREQ=WEEKLY;BYDAY=MO", "20261123T170000", "20261123T170000", Some("20261123T1700")),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", "20261123T170000", "20261123T170000", Some("20261123T1700")),
            ("FREQ=WEEKLY;BYHOUR=9", "20261123T170000", "20261123T170000", Some("20261130T0900")),
            ("FREQ=WEEKLY", "20261102T170000", "20261121T101500", Some("20261123T1700")),
            ("FREQ=YEARLY;BYMONTH=6", "20270615T090000", "20270615T090000", Some("20270615T0900")),
            (
                "FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=1",
                "20270101T000000",
                "20270101T000000",
                Some("20270101T0000"),
            ),
            (
                "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1",
                "20270129T000000",
                "20270129T000000",
                Some("20270130T0000"),
            ),
            ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "20261123T170000", "20261123T170000", None),
        ] {
            assert_eq!(first(rule, start, from).as_deref(), named, "{rule} from {start}");
        }
    }

    #[test]
    fn the_next_start_is_later_than_a_time() {
        let next = |rule: &str, after: &str| {
            let next = RecurrenceRule::read(rule).unwrap().next_after(at("20261121T090000"), at(after));
            next.map(|at| at.format("%Y%m%dT%H%M").to_string())
        };
        assert_eq!(next("FREQ=WEEKLY;BYDAY=MO", "20261121T090000").as_deref(), Some("20261123T0900"));
        assert_eq!(next("FREQ=WEEKLY;BYDAY=MO", "20361123T090000").as_deref(), Some("20361124T0900"));
        assert_eq!(next("FREQ=DAILY;UNTIL=20261122", "20261121T090000").as_deref(), Some("20261122T0900"));
        assert_eq!(next("FREQ=DAILY;COUNT=2", "20261122T090000"), None);
        assert_eq!(next("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "20261122T090000"), None);
    }

    #[test]
    fn months_without_the_day_are_left_out() {
        let days = starts("FREQ=MONTHLY", "20260131T090000", "20260101T000000", "20260601T000000");
        assert_eq!(days, ["20260131T0900", "20260331T0900", "20260531T0900"]);
        let days = starts("FREQ=YEARLY", "20240229T090000", "20240101T000000", "20330101T000000");
        assert_eq!(days, ["20240229T0900", "20280229T0900", "20320229T0900"]);
    }

    #[test]
    fn a_rule_for_ever_starts_near_the_window() {
        let rule = RecurrenceRule::read("FREQ=SECONDLY;INTERVAL=7").unwrap();
        let window = (at("20260101T000000"), at("20260101T000020"));
        let expanded = rule.expand(at("19700101T000000"), None, window, Effort::of(10));
        assert!((2..=3).contains(&expanded.starts.len()) && !expanded.is_truncated, "{expanded:?}");
        assert!(expanded.starts.iter().all(|start| start.and_utc().timestamp() % 7 == 0));
    }

    #[test]
    fn what_never_matches_or_never_ends_is_cut() {
        let whole = (at("19700101T000000"), at("99991231T000000"));
        for rule in
            ["FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "FREQ=SECONDLY"]
        {
            let expanded = RecurrenceRule::read(rule).unwrap().expand(
                at("19700101T000000"),
                None,
                whole,
                Effort::of(1_000),
            );
            assert!(expanded.is_truncated && expanded.starts.len() <= 1_000, "{rule}");
        }
    }

    #[test]
    fn a_rule_within_the_day_leaves_out_other_days_and_hours() {
        let rule = RecurrenceRule::read("FREQ=MINUTELY;INTERVAL=7;BYDAY=MO;BYHOUR=9,17").unwrap();
        let (start, end) = (at("20200203T090000"), at("20200302T000000"));
        let expanded = rule.expand(start, None, (start, end), Effort::of(10_000)).starts;
        let minutes = (0..).map(|step| start + TimeDelta::minutes(7 * step)).take_while(|at| *at < end);
        let wanted = minutes.filter(|at| at.weekday() == Weekday::Mon && matches!(at.hour(), 9 | 17));
        assert_eq!(expanded, wanted.collect::<Vec<_>>());
    }

    fn rules() -> impl Strategy<Value = String> {
        let part = |text: &'static str| prop_oneof![3 => Just(""), 1 => Just(text)];
        let days = prop_oneof![
            6 => Just(""), 1 => Just(";BYDAY=MO"), 1 => Just(";BYDAY=TU,FR,SU"), 1 => Just(";BYDAY=2TU,-1FR"),
        ];
        (
            prop_oneof![
                Just("YEARLY"),
                Just("MONTHLY"),
                Just("WEEKLY"),
                Just("DAILY"),
                Just("HOURLY"),
                Just("MINUTELY")
            ],
            1..5_u32,
            prop_oneof![part(";BYMONTH=3,10"), part(";BYMONTH=2")],
            prop_oneof![part(";BYMONTHDAY=15,-1"), part(";BYMONTHDAY=31")],
            days,
            prop_oneof![part(";BYHOUR=9,17"), part(";BYMINUTE=0,30"), part(";BYSETPOS=1,-1")],
            prop_oneof![part(";WKST=SU"), part(";COUNT=7")],
        )
            .prop_map(|(freq, interval, months, month_days, days, times, rest)| {
                let days = if matches!(freq, "YEARLY" | "MONTHLY") {
                    days
                } else {
                    days.trim_end_matches("=2TU,-1FR")
                };
                let days = if days == ";BYDAY" { "" } else { days };
                // Within the day, rrule 0.14 skips days that match.
                let is_within_day = matches!(freq, "HOURLY" | "MINUTELY");
                let (months, month_days, days) =
                    if is_within_day { ("", "", "") } else { (months, month_days, days) };
                format!("FREQ={freq};INTERVAL={interval}{months}{month_days}{days}{times}{rest}")
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn the_library_finds_the_same(rule in rules(), minutes in 0..2_000_000_i64) {
            let first = at("20200101T000000") + TimeDelta::minutes(minutes);
            let utc = |at: NaiveDateTime| at.and_utc().with_timezone(&::rrule::Tz::UTC);
            let theirs = |start| {
                let rule: ::rrule::RRule<::rrule::Unvalidated> = rule.parse().ok()?;
                let set = rule.build(utc(start)).ok()?.limit();
                let all = set.all(40);
                (!all.dates.is_empty()).then(|| all.dates.iter().map(chrono::DateTime::naive_utc).collect::<Vec<_>>())
            };
            // Both agree only on a start that the rule itself matches.
            let Some(start) = theirs(first).map(|dates| dates[0]) else { return Ok(()) };
            let Some(theirs) = theirs(start) else { return Ok(()) };
            let last = *theirs.last().unwrap();
            prop_assume!(theirs[0] == start && last < first + TimeDelta::days(3_650));
            let read = RecurrenceRule::read(&rule).unwrap();
            let ours = read.expand(start, None, (start, last), Effort::of(1_000));
            prop_assert_eq!(&ours.starts, &theirs, "{} from {}", rule, start);
            let middle = theirs[theirs.len() / 2];
            let late = read.expand(start, None, (middle, last), Effort::of(1_000));
            prop_assert_eq!(&late.starts[..], &theirs[theirs.len() / 2..]);
        }

        #[test]
        fn any_text_is_read_without_panic(text in "(FREQ=|COUNT=|UNTIL=|BYDAY=|INTERVAL=|DAILY|;|-?[0-9]{1,5}|MO|,|ü|T|Z){0,12}") {
            if let Ok(rule) = RecurrenceRule::read(&text) {
                rule.expand(at("20260101T000000"), None, (at("20260101T000000"), at("20270101T000000")), Effort::of(100));
            }
        }
    }
}
