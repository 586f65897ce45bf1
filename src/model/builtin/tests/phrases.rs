//! What time phrases mean on Saturday, 21 November 2026, 10:15, in Berlin.

use super::super::time::when::find;
use super::super::time::{Now, words};
use super::*;
use crate::clock::when::When;

fn read(phrase: &str) -> String {
    read_at(NOW, phrase)
}

fn read_at(now: &str, phrase: &str) -> String {
    let now = Now::parse(now).unwrap();
    let Some(found) = find(phrase, &now, true) else { return "none".into() };
    let rule = found.when.rule.as_deref().unwrap_or_default();
    let iso = |when: Option<When>| when.map(When::iso).unwrap_or_default();
    format!("{} … {} {rule}", found.when.start.iso(), iso(found.when.end())).trim_end().to_owned()
}

fn table(phrases: &str) -> String {
    let phrases = phrases.lines().map(str::trim).filter(|phrase| !phrase.is_empty());
    phrases.map(|phrase| format!("{phrase}: {}", read(phrase))).collect::<Vec<_>>().join("\n")
}

const DAYS: &str = "
        today
        tomorrow
        the day after tomorrow
        by Friday
        Saturday
        next Tuesday
        this Sunday
        Friday next week
        on Mon
        last Monday
        yesterday
        2024-02-15
        15 Feb
        15th of February 2028
        Feb 15th, 2027
        on the 15th
        31 February 2027
        24.12.2026
        24/12/2026
        by 3.12.
        in three days
        in 2 weeks
        in a month
        end of the month
        end of next month
        by the end of the week
        eod
        this week
        next week
        this weekend
        next month
    ";

#[test]
fn days() {
    insta::assert_snapshot!(table(DAYS), @"
    today: 2026-11-21 … 2026-11-22
    tomorrow: 2026-11-22 … 2026-11-23
    the day after tomorrow: 2026-11-23 … 2026-11-24
    by Friday: 2026-11-27 … 2026-11-28
    Saturday: 2026-11-28 … 2026-11-29
    next Tuesday: 2026-11-24 … 2026-11-25
    this Sunday: 2026-11-22 … 2026-11-23
    Friday next week: 2026-11-27 … 2026-11-28
    on Mon: 2026-11-23 … 2026-11-24
    last Monday: 2026-11-16 … 2026-11-17
    yesterday: 2026-11-20 … 2026-11-21
    2024-02-15: 2024-02-15 … 2024-02-16
    15 Feb: 2027-02-15 … 2027-02-16
    15th of February 2028: 2028-02-15 … 2028-02-16
    Feb 15th, 2027: 2027-02-15 … 2027-02-16
    on the 15th: 2026-12-15 … 2026-12-16
    31 February 2027: 2027-02-01 … 2027-03-01
    24.12.2026: 2026-12-24 … 2026-12-25
    24/12/2026: 2026-12-24 … 2026-12-25
    by 3.12.: 2026-12-03 … 2026-12-04
    in three days: 2026-11-24 … 2026-11-25
    in 2 weeks: 2026-12-05 … 2026-12-06
    in a month: 2026-12-21 … 2026-12-22
    end of the month: 2026-11-30 … 2026-12-01
    end of next month: 2026-12-31 … 2027-01-01
    by the end of the week: 2026-11-27 … 2026-11-28
    eod: 2026-11-21 … 2026-11-22
    this week: 2026-11-21 … 2026-11-23
    next week: 2026-11-23 … 2026-11-30
    this weekend: 2026-11-21 … 2026-11-23
    next month: 2026-12-01 … 2027-01-01
    ");
}

const TIMES: &str = "
        at 9
        at 11
        at 3
        Friday 5pm
        by Friday 5pm
        next Tuesday at 2pm
        tomorrow at 9
        tomorrow 9:30
        tomorrow morning
        tonight
        tonight at 8
        this evening
        Friday evening at 7
        at 9 in the evening tomorrow
        tomorrow at noon
        midnight
        Feb 15 at 14:00
        2024-02-15T17:00
        2024-02-15 17:00
        in 2 hours
        in half an hour
        in 1.5 hours
        90 minutes from now
        tomorrow from 2 to 4pm
        tomorrow 2-4pm
        tomorrow between 11 and 1pm
        tomorrow 9:00-10:30
        tomorrow at 2pm for 45 minutes
        for 30 minutes on Monday at 10am
        12am tomorrow
        at 25:00
        in 99999 hours
    ";

#[test]
fn times() {
    insta::assert_snapshot!(table(TIMES), @"
    at 9: 2026-11-22T09:00 … 2026-11-22T10:00
    at 11: 2026-11-21T11:00 … 2026-11-21T12:00
    at 3: 2026-11-21T15:00 … 2026-11-21T16:00
    Friday 5pm: 2026-11-27T17:00 … 2026-11-27T18:00
    by Friday 5pm: 2026-11-27T17:00 … 2026-11-27T17:00
    next Tuesday at 2pm: 2026-11-24T14:00 … 2026-11-24T15:00
    tomorrow at 9: 2026-11-22T09:00 … 2026-11-22T10:00
    tomorrow 9:30: 2026-11-22T09:30 … 2026-11-22T10:30
    tomorrow morning: 2026-11-22T09:00 … 2026-11-22T12:00
    tonight: 2026-11-21T20:00 … 2026-11-22T00:00
    tonight at 8: 2026-11-21T20:00 … 2026-11-21T21:00
    this evening: 2026-11-21T18:00 … 2026-11-22T00:00
    Friday evening at 7: 2026-11-27T19:00 … 2026-11-27T20:00
    at 9 in the evening tomorrow: 2026-11-22T21:00 … 2026-11-22T22:00
    tomorrow at noon: 2026-11-22T12:00 … 2026-11-22T13:00
    midnight: 2026-11-22T00:00 … 2026-11-22T01:00
    Feb 15 at 14:00: 2027-02-15T14:00 … 2027-02-15T15:00
    2024-02-15T17:00: 2024-02-15T17:00 … 2024-02-15T18:00
    2024-02-15 17:00: 2024-02-15T17:00 … 2024-02-15T18:00
    in 2 hours: 2026-11-21T12:15 … 2026-11-21T13:15
    in half an hour: 2026-11-21T10:45 … 2026-11-21T11:45
    in 1.5 hours: 2026-11-21T11:45 … 2026-11-21T12:45
    90 minutes from now: 2026-11-21T11:45 … 2026-11-21T12:45
    tomorrow from 2 to 4pm: 2026-11-22T14:00 … 2026-11-22T16:00
    tomorrow 2-4pm: 2026-11-22T14:00 … 2026-11-22T16:00
    tomorrow between 11 and 1pm: 2026-11-22T11:00 … 2026-11-22T13:00
    tomorrow 9:00-10:30: 2026-11-22T09:00 … 2026-11-22T10:30
    tomorrow at 2pm for 45 minutes: 2026-11-22T14:00 … 2026-11-22T14:45
    for 30 minutes on Monday at 10am: 2026-11-23T10:00 … 2026-11-23T10:30
    12am tomorrow: 2026-11-22T00:00 … 2026-11-22T01:00
    at 25:00: none
    in 99999 hours: none
    ");
}

#[test]
fn repetitions() {
    insta::assert_snapshot!(table("
        daily
        every day at 8
        every Monday at 9
        every Saturday at 9
        every Monday and Thursday at 18:00
        every weekday at 7am
        every 2 weeks
        every other Friday
        every morning
        monthly
        every year on 24 December
    "), @"
    daily: 2026-11-21 … 2026-11-22 FREQ=DAILY
    every day at 8: 2026-11-22T08:00 … 2026-11-22T09:00 FREQ=DAILY
    every Monday at 9: 2026-11-23T09:00 … 2026-11-23T10:00 FREQ=WEEKLY;BYDAY=MO
    every Saturday at 9: 2026-11-28T09:00 … 2026-11-28T10:00 FREQ=WEEKLY;BYDAY=SA
    every Monday and Thursday at 18:00: 2026-11-23T18:00 … 2026-11-23T19:00 FREQ=WEEKLY;BYDAY=MO,TH
    every weekday at 7am: 2026-11-23T07:00 … 2026-11-23T08:00 FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR
    every 2 weeks: 2026-11-21 … 2026-11-22 FREQ=WEEKLY;INTERVAL=2
    every other Friday: 2026-11-27 … 2026-11-28 FREQ=WEEKLY;INTERVAL=2;BYDAY=FR
    every morning: 2026-11-22T09:00 … 2026-11-22T12:00 FREQ=DAILY
    monthly: 2026-11-21 … 2026-11-22 FREQ=MONTHLY
    every year on 24 December: 2026-12-24 … 2026-12-25 FREQ=YEARLY
    ");
}

#[test]
fn no_time_is_read_into_plain_words() {
    let now = Now::parse(NOW).unwrap();
    for text in [
        "buy milk",
        "read 1984",
        "prepare Monday meeting notes",
        "write the weekly report",
        "version 1.2",
        "sit in the sun",
        "she may come",
        "call 555-1234",
        "march on",
        "a second look",
        "for 30 minutes",
        "5",
        "weekly report draft",
        "meet at the office",
        "room 12 to 14",
    ] {
        assert_eq!(find(text, &now, false), None, "{text}");
    }
}

#[test]
fn a_time_that_the_clocks_skip_moves_forward() {
    assert_eq!(
        read_at("2026-03-28T10:00 Saturday, Europe/Berlin", "tomorrow at 2:30am"),
        "2026-03-29T03:30 … 2026-03-29T04:30"
    );
    assert_eq!(
        read_at("2026-03-29T01:30 Sunday, Europe/Berlin", "in 1 hour"),
        "2026-03-29T03:30 … 2026-03-29T04:30"
    );
    assert_eq!(
        read_at("2026-10-25T02:30 Sunday, Europe/Berlin", "in 2 hours"),
        "2026-10-25T03:30 … 2026-10-25T04:30"
    );
}

#[test]
fn a_next_weekday_lies_in_the_next_week() {
    let monday = "2026-11-23T10:15 Monday, Europe/Berlin";
    assert_eq!(read_at(monday, "Friday"), "2026-11-27 … 2026-11-28");
    assert_eq!(read_at(monday, "next Friday"), "2026-12-04 … 2026-12-05");
    assert_eq!(read_at(monday, "Monday"), "2026-11-30 … 2026-12-01");
}

#[test]
fn typos_of_days_are_corrected_and_other_words_stay() {
    for (said, text) in [
        ("tommorow", "tomorrow"),
        ("Tomorow", "tomorrow"),
        ("wendesday", "wednesday"),
        ("thrusday", "thursday"),
        ("mondays", "mondays"),
        ("tomorrow's", "tomorrow's"),
        ("remember", "remember"),
        ("member", "member"),
        ("sundae", "sundae"),
    ] {
        assert_eq!(words(said)[0].text, text, "{said}");
    }
}

#[test]
fn a_range_is_three_words() {
    let split = |said: &str| words(said).into_iter().map(|word| word.text).collect::<Vec<_>>().join("|");
    assert_eq!(split("2-4pm"), "2|-|4pm");
    assert_eq!(split("9:00–10:30"), "9:00|-|10:30");
    assert_eq!(split("Mon-Wed"), "mon|-|wed");
    assert_eq!(split("2024-02-15 follow-up"), "2024-02-15|follow-up");
}
