//! The table of what people say and what they mean by it: `tests/basic/sentences.toml`.

use std::sync::{Arc, LazyLock};

use adjutant_skills::Skills;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/basic/sentences.toml");

/// Saturday morning.
fn now() -> NaiveDateTime {
    "2026-11-21T10:15:00".parse().unwrap()
}

fn registry() -> Arc<Registry> {
    Skills::load(&[], &adjutant_skills::builtin::names(true)).unwrap().current()
}

fn understood(text: &str, skills: &Registry) -> Understood {
    read(text, skills, now(), &|text| text == "run weekly-review")
}

/// A call as the table writes it: `tasks.create title=x; due=y`.
fn written(call: &Call) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let named = call.arguments.iter().map(|(name, value)| format!("{name}={}", text(value)));
    let mut named: Vec<String> = named.collect();
    named.sort();
    let then = if call.is_next { "then " } else { "" };
    format!("{then}{} {}", call.skill, named.join("; ")).trim().to_owned()
}

fn happens(text: &str, skills: &Registry) -> Vec<String> {
    match understood(text, skills) {
        Understood::Calls(calls) => calls.iter().map(written).collect(),
        Understood::Reply(reply) => vec![format!("says {reply}")],
    }
}

/// Whether the table's words say what happened.
fn is_right(happened: &[String], meant: &Value) -> bool {
    let meant: Vec<&str> = match meant {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        one => vec![one.as_str().unwrap()],
    };
    let fits = |(happened, meant): (&String, &&str)| match meant.strip_prefix("refuses") {
        Some(why) => {
            let (is_refused, why) = (happened.starts_with("says "), why.trim_start_matches(": "));
            is_refused && (happened.contains(why) || happened.contains("didn't understand that"))
        }
        None => happened == meant,
    };
    happened.len() == meant.len() && happened.iter().zip(&meant).all(fits)
}

#[test]
fn what_people_say_is_understood_as_meant_or_refused() {
    let skills = registry();
    let table: toml::Table = toml::from_str(&std::fs::read_to_string(TABLE).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for (text, meant) in table.values().flat_map(|group| group.as_table().unwrap()) {
        let (happened, meant) = (happens(text, &skills), serde_json::to_value(meant).unwrap());
        if !is_right(&happened, &meant) {
            wrong.push(format!("{text}\n    meant {meant}\n    got   {happened:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn small_talk_is_answered_and_a_refusal_has_two_lines() {
    let skills = registry();
    let reply = |text: &str| match understood(text, &skills) {
        Understood::Reply(reply) => reply,
        Understood::Calls(calls) => panic!("{text}: {calls:?}"),
    };
    for text in [
        "hi",
        "Thank you so much!",
        "help",
        "hey, what can you do?",
        "How do I connect Telegram?",
        "can you read my emails?",
        "how do I set up a language model?",
        "use openai",
        "do you store my data?",
        "are you chatgpt?",
        "stop",
        "exit",
        "good night",
        "yes to all",
    ] {
        let reply = reply(text);
        assert!(!reply.contains("didn't understand"), "{text}: {reply}");
        assert!(!reply.contains(['[', ']']) && !reply.contains(".toml"), "{text}: {reply}");
    }
    let introduction = reply("what can you do?");
    for text in [
        "hi there, who are you?",
        "Good morning! What is your name?",
        "who made you",
        "Can you help me?",
        "Hallo, wer bist du?",
        "Guten Tag, was kannst du für mich tun?",
        "kannst du mir helfen",
    ] {
        assert_eq!(reply(text), introduction, "{text}");
    }
    assert_eq!(reply("moin"), format!("Hello! {introduction}"));
    assert_ne!(reply("how are you?"), introduction);
    // It may answer a question that is still open.
    for text in ["hi, yes", "hi, sing a song", "how are my tasks", "do this", "was hast du gemacht?"] {
        assert!(reply(text).contains("didn't understand"), "{text}");
    }
    insta::assert_snapshot!(introduction, @"
    I look after your to-do list, reminders, calendar and contacts. I'm in basic mode, so please keep it simple. Try:
    - remind me to call Bob tomorrow at 9
    - what's on tomorrow
    - add a task to send the report by Friday 5pm
    - what is overdue
    - schedule a meeting with bob@example.test next Tuesday at 2pm
    - remember that Bob prefers mornings
    ");
    insta::assert_snapshot!(reply("sing a song"), @"
    Sorry, I didn't understand that. In basic mode I need simple sentences.
    Try “remind me to call Bob tomorrow at 9” or “what's on tomorrow”.
    ");
    insta::assert_snapshot!(reply("any Acme gossip"), @"
    Sorry, I didn't understand that. In basic mode I need simple sentences.
    Try “who works at Acme” or “add a contact Bob Baker, bob@example.test, at Acme”.
    ");
}

#[test]
fn every_form_of_ours_is_sound_and_means_its_skill() {
    let skills = registry();
    for skill in skills.domains().iter().flat_map(|domain| &domain.skills) {
        for form in &skill.forms {
            let Some(example) = &form.example else { continue };
            let happened = happens(example, &skills);
            assert!(
                happened[0].starts_with(&format!("{} ", skill.name)) || happened[0] == skill.name,
                "{example}: {happened:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_in_bounded_time_without_a_panic(text in "([a-zA-Z0-9,.:;?!“”\"'@#ü🦀 \n]|and |then |tomorrow |add a task to |remind me |every ){0,60}") {
        static SKILLS: LazyLock<Arc<Registry>> = LazyLock::new(registry);
        let _ = understood(&text, &SKILLS);
    }
}
