use chrono_tz::Tz::UTC;

use super::*;

fn friday() -> NaiveDateTime {
    "2026-11-27T10:00:00".parse().unwrap()
}

#[test]
fn receipts_may_stand_below_an_offer() {
    let offer = "The newest is there. Shall I add a task to clean up?";
    for (below, is_offer) in
        [("", true), ("\n\n✓ Moved “Demo”\nIt overlaps with “Lunch”", true), ("\n\nPay Eve", false)]
    {
        assert_eq!(Offer::read(&format!("{offer}{below}"), friday()).is_some(), is_offer, "{below}");
    }
}

#[test]
fn an_offer_that_a_yes_may_settle_is_one_and_about_own_things() {
    for (text, is_it) in [
        ("Lunch is at noon. Shall I move it to 1pm?", true),
        ("Soll ich das Essen auf 13 Uhr verschieben?", true),
        ("Shall I add milk to your list?\n\n✓ Added “bread”", true),
        ("Shall I put 15 minutes “Way to lunch” at 12:45 on Thursday?", true),
        ("Soll ich 15 Minuten „Weg“ um 12:45 eintragen?", true),
        ("Shall I put “Way to lunch, 15 minutes” at 12:45?", false),
        ("Shall I put off the 15 minutes at 12:45?", false),
        ("Shall I tell Sam 15 minutes at 12:45?", false),
        ("Shall I send it?", false),
        ("Shall I look it up?", false),
        ("Shall I ask Bob to move it?", false),
        ("Shall I move lunch, or should I add a task?", false),
        ("Shall I move lunch? It's with Sam.", false),
    ] {
        assert_eq!(is_offer(text), is_it, "{text}");
    }
}

#[test]
fn a_time_is_one_that_the_question_names() {
    const DAYS: &str = "2026-11-28 2026-11-29 2026-12-04 2026-12-02";
    for (text, named) in [
        ("from 14:00 to 3:30", "14:00 15:30?"),
        ("at 3 pm, 2.30 p.m. or 12am", "15:00 14:30 00:00"),
        ("um 15 Uhr am 4.12.", "15:00"),
        ("um 15.30 Uhr, (16:00h) um 9:30 oder 15:00 am Freitag", "15:30 16:00 09:30? 15:00"),
        ("a 1:1 about 3 tasks of 15:00–16:00", "15:00 16:00"),
        ("at 9, at 09:00 or at noon", "09:00? 09:00 12:00"),
    ] {
        let clocks = Named::read([text, "", ""], friday()).clocks;
        let shown = clocks
            .iter()
            .map(|(clock, is_open)| format!("{}{}", clock.format("%H:%M"), if *is_open { "?" } else { "" }));
        assert_eq!(shown.collect::<Vec<_>>().join(" "), named, "{text}");
    }
    for (text, named) in [
        ("to Thursday, 16:00", "2026-12-03"),
        ("from today to the day after tomorrow", "2026-11-27 2026-11-29"),
        ("on the 4th of December or 2026-12-05", "2026-12-04 2026-12-05"),
        ("this evening, in 3 days", "2026-11-27 2026-11-30"),
        ("to Friday at 3 pm", "2026-11-27"),
        ("to Friday at 9:30", "2026-12-04"),
        ("to Friday", "2026-12-04"),
        ("to next Friday at 3 pm", "2026-12-04"),
        ("to next week", "2026-11-30/2026-12-06"),
        ("auf morgen, übermorgen, den 4.12., am Mittwoch morgen", DAYS),
        ("Friday's note, the 1st draft, version 2.1 for 2 people", ""),
    ] {
        let days = Named::read([text, "", ""], friday()).days;
        let shown = days.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}/{last}"),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), named, "{text}");
    }
    let offer = Offer::read("It was at 9:00. Shall I move “Retro” to 3:30 p.m. on Friday?", friday());
    let offer = offer.unwrap();
    for (time, is_it) in [
        ("2026-11-27T15:30", true),
        ("2026-11-27 15:30:00", true),
        ("2026-11-27T16:30:00+01:00", true),
        ("2026-11-27T15:30:00+09:00", false),
        ("2026-11-27 09:00", false),
        ("2026-11-27T03:30", false),
        ("2026-11-27", true),
        ("2026-12-05T15:30", false),
        ("2026-12-04T15:30", false),
        ("2026-12-05", false),
    ] {
        for name in ["start", "due"] {
            // A day alone would make an event of it that is all day.
            let is_it = is_it && (name, time.len()) != ("start", 10);
            assert_eq!(offer.allows_times(&json!({name: time}), UTC, true), is_it, "{name} {time}");
        }
    }
}

#[test]
fn a_day_an_end_and_a_length_are_those_that_the_offer_names() {
    const THURSDAY: &str = "Shall I move it to 16:00 on Thursday?";
    const LONG: &str = "Shall I move it to Thursday, 16:00–17:00?";
    const HALF: &str = "Shall I move it to 4 pm on Thursday for 30 minutes?";
    const TITLE: &str = "Shall I move “Friday lunch at 9:00” to Thursday at 16:00?";
    const GERMAN: &str = "Soll ich es auf Donnerstag um 16 Uhr verschieben?";
    const BEFORE: &str = "Thursday is free. Shall I move it to 16:00?";
    const UNTIL: &str = "You have 45 minutes until then. Shall I put “Yoga” into your calendar at 16:00?";
    const WEEKEND: &str = "Shall I add “Fair” to your calendar from Saturday to Sunday?";
    let from = |start: &str| json!({"start": start});
    let until = |end: &str| json!({"start": "2026-12-03T16:00", "end": end});
    for (offer, given, is_it) in [
        (THURSDAY, json!({}), true),
        (THURSDAY, until("2026-12-03T17:30"), true),
        (THURSDAY, until("2026-12-09T17:30"), false),
        (THURSDAY, json!({"end": "2026-12-03T16:00"}), true),
        (THURSDAY, json!({"end": "2026-12-03T18:00"}), false),
        (LONG, until("2026-12-03T17:00"), true),
        (LONG, until("2026-12-03T23:00"), false),
        (LONG, from("2026-12-03T17:00"), false),
        (LONG, json!({"id": "e1", "start": "2026-12-03T16:00"}), true),
        (HALF, until("2026-12-03T16:30"), true),
        (HALF, until("2026-12-03T18:00"), false),
        (TITLE, from("2026-12-03T16:00"), true),
        (TITLE, from("2026-12-04T16:00"), false),
        (TITLE, from("2026-12-03T09:00"), false),
        (GERMAN, from("2026-12-03T16:00"), true),
        (GERMAN, from("2026-12-04T16:00"), false),
        (BEFORE, from("2026-12-03T16:00"), true),
        (BEFORE, from("2026-12-04T16:00"), false),
        ("Shall I move it to 2026-12-03T16:00?", from("2026-12-03T09:00"), false),
        (UNTIL, from("2026-12-03T16:00"), true),
        // What isn't named is free.
        ("Shall I move it to Friday?", from("2026-12-04T07:00"), true),
        ("Shall I move it to 16:00?", from("2026-12-09T16:00"), true),
    ] {
        assert_eq!(
            Offer::read(offer, friday()).unwrap().allows_times(&given, UTC, true),
            is_it,
            "{offer} {given}"
        );
    }
    const PUT: &str = "Shall I put 15 minutes “Way to lunch” at 12:45 on Thursday?";
    let put = |name: &str, value: &str| json!({"title": "Way", "start": "2026-12-03T12:45", name: value});
    for (given, is_it) in [
        (put("end", "2026-12-03T13:00"), true),
        (put("duration", "15m"), true),
        (put("end", "2026-12-03T14:00"), false),
        (put("title", "Way"), false),
        (put("start", "2026-12-03T00:45"), false),
        (put("start", "2026-12-04T12:45"), false),
    ] {
        assert_eq!(Offer::read(PUT, friday()).unwrap().allows_times(&given, UTC, true), is_it, "{given}");
    }
    let put = Offer::read(PUT, friday()).unwrap();
    assert!(["15m", "PT15M"].iter().all(|length| put.lasts(length)));
    assert!(["15h", "1h15m", "", "12:45"].iter().all(|length| !put.lasts(length)));
    let other = "The workshop takes 8 hours. Shall I put “Yoga” into your calendar at 18:00?";
    assert!(!Offer::read(other, friday()).unwrap().lasts("8h"), "that is how long the workshop is");
    // A length that is another one is named, or asked about.
    for (offer, given, is_it) in [
        (THURSDAY, until("2026-12-03T22:00"), false),
        (THURSDAY, json!({"all_day": true}), false),
        (LONG, until("2026-12-03T17:00"), true),
        (HALF, until("2026-12-03T16:30"), true),
        ("Shall I move it to Friday?", from("2026-12-04"), false),
        (WEEKEND, json!({"start": "2026-11-28", "end": "2026-11-29"}), true),
        (WEEKEND, json!({"start": "2026-11-28", "end": "2026-12-29"}), false),
    ] {
        let read = Offer::read(offer, friday()).unwrap();
        assert_eq!(read.allows_times(&given, UTC, false), is_it, "{offer} {given}");
    }
}

#[test]
fn a_whole_series_is_what_the_offer_says_in_so_many_words() {
    for (offer, title, is_it) in [
        ("Shall I move the whole series to Wednesday at 16:00?", "1:1 with Erin", true),
        ("Soll ich die ganze Serie auf 16 Uhr verschieben?", "1:1 with Erin", true),
        ("Shall I move every 1:1 with Erin to 16:00?", "1:1 with Erin", true),
        ("Soll ich alle Termine mit Erin auf 16 Uhr verschieben?", "Erin", true),
        ("Shall I move 1:1 with Erin to 16:00 tomorrow?", "1:1 with Erin", false),
        ("Shall I move all of Thursday's meetings to 16:00?", "1:1 with Erin", false),
        ("All else is free. Shall I move 1:1 with Erin to 16:00?", "1:1 with Erin", false),
        ("Shall I move 1:1 with Erin to 16:00, as all else is free?", "1:1 with Erin", false),
        ("Shall I move it to 16:00, and not the whole series?", "1:1 with Erin", false),
        ("Shall I move All hands to 16:00?", "All hands", false),
        ("Shall I move Whole foods series to 16:00?", "Whole foods series", false),
    ] {
        assert_eq!(Offer::read(offer, friday()).unwrap().is_for_series(title), is_it, "{offer}");
    }
}
