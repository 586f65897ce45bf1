//! No text, pattern or request makes the planner panic.

use proptest::prelude::*;

use super::super::split;
use super::super::time::{Now, leftover, when, words};
use super::*;

/// Words that mean something to the parsers, so that chance meets their corners.
fn worded() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(vec![
        "add a task to",
        "remind me to",
        "mark",
        "as done",
        "every",
        "next",
        "last",
        "Monday",
        "mon",
        "tomorrow",
        "at",
        "9",
        "2-4pm",
        "between",
        "and",
        "then",
        ",",
        ";",
        "\n",
        ". ",
        "for",
        "30",
        "minutes",
        "in",
        "an",
        "hour",
        "31",
        "Feb",
        "9999",
        "2024-02-30",
        "12am",
        "half",
        "end of",
        "the",
        "month",
        "week",
        "it",
        "them",
        "milk",
        "é",
        "“",
        "\"",
        "#",
        "#tag",
        "{",
        "}",
        "due",
        "by",
        "99:99",
        "29.2.",
        "to",
        "year",
        "İ",
        "ß",
        "-",
        "0",
    ]);
    proptest::collection::vec(word, 0..14).prop_map(|words| words.join(" "))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![worded(), any::<String>(), "[0-9:./\\- apm]{0,20}"]
}

proptest! {
    #[test]
    fn times_lie_within_their_text(text in text(), anywhere: bool) {
        let now = Now::parse(NOW).unwrap();
        if let Some(found) = when::find(&text, &now, anywhere) {
            prop_assert!(!found.said(&text).is_empty());
            prop_assert!(found.rest(&text).len() <= text.len());
            let when = &found.when;
            let _ = (when.moment(), when.from(), when.end(), when.last(), when.until(), when.duration());
        }
        let _ = leftover::of(&text, &["text", "time", "words", "things", "title"], &now);
        for word in words(&text) {
            prop_assert!(text.get(word.range).is_some());
        }
    }

    #[test]
    fn pieces_are_parts_of_the_text_in_order(text in text()) {
        let pieces = split::split(&text, &|part, _| (part.len() % 2 == 0).then_some(()));
        let mut at = 0;
        for piece in &pieces {
            let found = text[at..].find(piece.text);
            prop_assert!(found.is_some());
            at += found.unwrap_or(0) + piece.text.len();
        }
    }

    #[test]
    fn every_message_gets_a_plan_or_words(text in text()) {
        let answer = ask(&planner(&[EMAIL, CALENDAR, CONTACTS, MEMORY, TASKS]), &request(&text));
        prop_assert!(!answer.text.is_empty() || !answer.tool_calls.is_empty());
    }

    #[test]
    fn any_pattern_is_compiled_or_refused(pattern in any::<String>(), value in any::<String>(), text in text()) {
        let arguments = Map::from_iter([("x".to_owned(), Value::from(value))]);
        let source = IntentSource { skill: "a.b".into(), pattern, arguments, lookup: None, also: None, example: None };
        if let Ok(intents) = Intents::new(vec![source]) {
            let intents = Arc::new(intents);
            ask(&Planner::new(Arc::new(move || intents.clone())), &request(&text));
        }
    }

    #[test]
    fn any_tool_result_is_answered(result in any::<String>(), status in "[a-z]{0,9}") {
        let planner = planner(&[MEMORY, TASKS]);
        for result in [Value::from(result.clone()), json!({ "agent_id": "a1", "status": status, "result": result })] {
            let mut request = request("mark the report as done");
            let dispatch = ask(&planner, &request);
            reply(&mut request, &dispatch, &[result]);
            ask(&planner, &request);
        }
    }
}

#[test]
fn a_megabyte_is_read_in_good_time() {
    let long = "and then do it tomorrow at 9, \n".repeat(35_000);
    let answer = ask(&planner(&[EMAIL, CALENDAR, CONTACTS, MEMORY, TASKS]), &request(&long));
    assert!(answer.text.starts_with("I didn't understand"), "{}", answer.text.len());
}
