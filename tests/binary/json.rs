//! `chat --json`, as the contract has it.

use std::collections::BTreeSet;

use crate::process::{Chat, Home, Value, answers, button, json, lines};

fn said(events: &[Value], event: &str) -> Vec<Value> {
    events.iter().filter(|it| it["event"] == event).cloned().collect()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn place(events: &[Value], wanted: impl Fn(&Value) -> bool) -> usize {
    events.iter().position(wanted).unwrap_or_else(|| panic!("it is not among{}", lines(events)))
}

/// The ids of all replies, each once.
#[track_caller]
fn answered_once(events: &[Value]) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for reply in said(events, "reply") {
        for id in reply["answers"].as_array().unwrap() {
            let id = format!("{}:{}", reply["conversation"].as_str().unwrap(), id.as_str().unwrap());
            assert!(ids.insert(id.clone()), "{id} was answered twice in{}", lines(events));
        }
    }
    ids
}

#[test]
fn a_message_is_accepted_then_answered() {
    let home = Home::new();
    let mut chat = home.chat();
    let reply = chat.say("m1", "add a task to buy milk");
    assert_eq!(chat.seen[0], json!({"event": "accepted", "id": "m1", "conversation": "main"}));
    let turn = reply["turn"].as_str().unwrap();
    assert!(!turn.is_empty());
    assert_eq!(
        reply,
        json!({"event": "reply", "conversation": "main", "turn": turn, "answers": ["m1"],
               "text": "Added “buy milk”", "buttons": []})
    );
    chat.finish_well();
    for progress in said(&chat.seen, "progress") {
        assert_eq!(keys(&progress), ["agents", "event", "turn"]);
        assert_eq!(progress["turn"], turn);
        for agent in progress["agents"].as_array().unwrap() {
            assert_eq!(keys(agent), ["agent_id", "status"]);
        }
    }
    let statuses: Vec<String> =
        said(&chat.seen, "progress").iter().map(|it| it["agents"].to_string()).collect();
    assert!(statuses.iter().any(|it| it.contains("running")), "{statuses:?}");
    assert!(statuses.iter().any(|it| it.contains("completed")), "{statuses:?}");
    assert_eq!(said(&chat.seen, "reply").len(), 1);
    home.assert_tidy("one message");
}

#[test]
fn a_line_of_plain_text_gets_an_id_that_its_reply_names() {
    let home = Home::new();
    let mut chat = home.chat();
    chat.send_raw("add a task to plain ümlaut\r".as_bytes());
    let accepted = chat.find(|it| it["event"] == "accepted").unwrap();
    let reply = chat.reply(accepted["id"].as_str().unwrap());
    assert_eq!(reply["text"], "Added “plain ümlaut”");
    chat.finish_well();
}

#[test]
fn a_repeated_id_is_the_same_message_also_after_a_restart() {
    let home = Home::new();
    let message = json!({"id": "m1", "text": "add a task to buy milk"});
    let mut chat = home.chat();
    chat.send(&message);
    chat.send(&message);
    chat.finish_well();
    assert_eq!(said(&chat.seen, "accepted").len(), 2, "each line is told that it is journalled");
    assert_eq!(said(&chat.seen, "reply").len(), 1);
    let mut again = home.chat();
    again.send(&message);
    // The same id in another conversation is another message.
    again.send(&json!({"id": "m1", "text": "add a task to buy bread", "conversation": "b"}));
    again.finish_well();
    assert_eq!(said(&again.seen, "accepted").len(), 2);
    assert_eq!(answered_once(&again.seen), BTreeSet::from(["b:m1".to_owned()]));
    assert_eq!(home.tasks(), ["buy bread", "buy milk"]);
    home.assert_tidy("repeated ids");
}

#[test]
fn each_line_that_is_not_understood_is_told_by_its_number_and_harms_nothing() {
    let home = Home::new();
    let mut chat = home.chat();
    let long = "x".repeat(2 * 1024 * 1024);
    let megabyte = json!({"text": "y".repeat(1_000_000)}).to_string();
    let lines: [&[u8]; 14] = [
        b"{",
        b"",
        b"{\"text\": \"caf\xff\"}",
        b"{\"txet\": \"a\"}",
        b"{\"text\": 5}",
        b"{\"text\": \"\"}",
        b"{}",
        b"{\"text\": \"a\", \"press\": \"b\"}",
        b"{\"text\": \"a\"} {\"text\": \"b\"}",
        long.as_bytes(),
        megabyte.as_bytes(),
        b"{\"text\": \"a\", \"id\": \"\"}",
        b"\xff\xfe",
        b"{\"text\": \"a\", \"conversation\": [1]}",
    ];
    for line in lines {
        assert!(chat.send_raw(line));
    }
    assert_eq!(chat.say("m1", "add a task to survive")["text"], "Added “survive”");
    chat.finish_well();
    let errors = said(&chat.seen, "error");
    assert!(errors.iter().all(|it| keys(it) == ["event", "line", "message"]), "{errors:#?}");
    let told: Vec<String> =
        errors.iter().map(|it| format!("{} {}", it["line"], it["message"].as_str().unwrap())).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    1 The line starts with { but is not valid JSON: EOF while parsing an object (column 0). Write one whole object on one line, such as {"text": "..."}; inside a string a quote is \" and a new line is \n.
    3 The line is not valid UTF-8 (byte 14 is wrong). Send the text in UTF-8.
    4 "txet" is not a known key. Did you mean "text"?
    5 "text" must be a string. Put its value in quotes.
    6 "text" is empty. Write something, or leave the line out.
    7 There is neither "text" nor "press". Add one of them.
    8 "text" and "press" can't be in one line. Send two lines.
    9 The line starts with { but is not valid JSON: trailing characters (column 15). Write one whole object on one line, such as {"text": "..."}; inside a string a quote is \" and a new line is \n.
    10 The line is longer than 1 MiB; it was skipped. Send it in several messages.
    11 The text has 1000000 characters; at most 100000 are allowed. Send it in several messages.
    12 "id" is empty. Fill it, or leave it out.
    13 The line is not valid UTF-8 (byte 1 is wrong). Send the text in UTF-8.
    14 "conversation" must be a string. Put its value in quotes.
    "#);
    assert_eq!(said(&chat.seen, "accepted").len(), 1);
}

#[test]
fn the_last_line_needs_no_end_and_a_nul_is_no_end_either() {
    let home = Home::new();
    let ended = home.feed(
        &["chat", "--json"],
        b"{\"id\": \"a\", \"text\": \"add a task to say \\u0000 aloud\"}\nadd a task to end",
    );
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    assert_eq!(home.count("SELECT count(*) FROM tasks"), 2, "{}", ended.stdout);
    home.assert_tidy("no newline");
}

#[test]
fn at_the_end_of_stdin_every_turn_is_finished() {
    let home = Home::new();
    let mut input = String::new();
    for number in 0..40 {
        let line = json!({"id": format!("m{number}"), "text": format!("add a task to do thing {number}"),
                          "conversation": format!("c{}", number % 8), "user": format!("u{}", number % 3)});
        input.push_str(&format!("{line}\n"));
    }
    let ended = home.feed(&["chat", "--json"], input.as_bytes());
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""));
    let events: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answered_once(&events).len(), 40);
    assert_eq!(home.tasks().len(), 40);
    for number in 0..40 {
        let id = format!("m{number}");
        let accepted = place(&events, |it| it["event"] == "accepted" && it["id"] == *id);
        assert!(accepted < place(&events, |it| answers(it, &id)), "{id} was answered before it was accepted");
    }
    home.assert_tidy("end of stdin");
}

#[test]
fn messages_of_several_people_are_turns_of_their_own() {
    let home = Home::new();
    let mut chat = home.chat();
    chat.send(&json!({"id": "a1", "user": "ada", "text": "add a task to write the letter"}));
    chat.reply("a1");
    // Another person in the same room sees their own list.
    chat.send(&json!({"id": "b1", "user": "bob", "text": "show my open tasks"}));
    let bob = chat.reply("b1");
    assert!(!bob["text"].as_str().unwrap().contains("letter"), "{bob}");
    chat.send(&json!({"id": "a2", "user": "ada", "conversation": "elsewhere", "text": "show my open tasks"}));
    let ada = chat.reply("a2");
    assert_eq!(ada["conversation"], "elsewhere");
    assert!(ada["text"].as_str().unwrap().contains("letter"), "{ada}");
    chat.finish_well();
    answered_once(&chat.seen);
}

#[test]
fn a_slash_command_gets_one_reply() {
    let home = Home::new();
    let mut chat = home.chat();
    for (id, command) in [
        ("c1", "/help"),
        ("c2", "/status"),
        ("c3", "/nonsense"),
        ("c4", "/new"),
        ("c5", "/stop"),
        ("c6", "/trace"),
    ] {
        let reply = chat.say(id, command);
        assert_eq!(reply["answers"], json!([id]), "{reply}");
        assert!(!reply["text"].as_str().unwrap().is_empty());
    }
    chat.finish_well();
    assert_eq!(answered_once(&chat.seen).len(), 6);
    home.assert_tidy("commands");
}

/// A turn that asks for approval before it deletes.
fn asks(chat: &mut Chat) -> Value {
    chat.say("m1", "add a task to buy milk");
    let question = chat.say("m2", "delete the task about milk");
    assert!(question["text"].as_str().unwrap().contains("buy milk"), "{question}");
    question
}

#[test]
fn a_press_is_answered_once_and_a_second_one_is_told_that_it_is_closed() {
    let home = Home::with_config("[approval]\nmedium = \"ask\"\n");
    let mut chat = home.chat();
    let question = asks(&mut chat);
    assert_eq!(home.tasks(), ["buy milk"]);
    let labels: Vec<&Value> = question["buttons"].as_array().unwrap().iter().map(|it| &it["label"]).collect();
    assert_eq!(labels, ["Approve", "Reject"]);
    for button in question["buttons"].as_array().unwrap() {
        assert_eq!(keys(button), ["id", "label"]);
    }
    let (yes, no) = (button(&question, "Approve"), button(&question, "Reject"));
    chat.send(&json!({"id": "p0", "press": yes, "user": "mallory"}));
    let stranger = chat.reply("p0");
    assert!(stranger["text"].as_str().unwrap().contains("Only the person I asked"), "{stranger}");
    let done = chat.press("p1", &yes);
    assert_eq!((&done["turn"], &done["answers"]), (&question["turn"], &json!(["p1"])));
    assert_eq!(home.tasks(), [""; 0]);
    let late = chat.press("p2", &no);
    assert_eq!((&late["turn"], &late["answers"]), (&question["turn"], &json!(["p2"])));
    assert_eq!(late["text"], "You already answered: Approve.");
    let unknown = chat.press("p3", "nothing:approve");
    assert_eq!(unknown["answers"], json!(["p3"]));
    chat.finish_well();
    assert_eq!(answered_once(&chat.seen).len(), 6);
    home.assert_tidy("presses");
}

#[test]
fn a_typed_no_rejects_and_nothing_happens() {
    let home = Home::with_config("[approval]\nmedium = \"ask\"\n");
    let mut chat = home.chat();
    let question = asks(&mut chat);
    let reply = chat.say("m3", "No.");
    assert_eq!((&reply["turn"], &reply["answers"]), (&question["turn"], &json!(["m3"])));
    assert_eq!(home.tasks(), ["buy milk"]);
    chat.finish_well();
    home.assert_tidy("a typed no");
}

#[test]
fn a_parked_turn_goes_on_at_the_word() {
    let home = Home::with_config("[limits]\nskill_calls_per_turn = 1\n");
    let mut chat = home.chat();
    let parked = chat.say("m1", "add a task to buy milk, and add a task to buy bread");
    let labels: Vec<&Value> = parked["buttons"].as_array().unwrap().iter().map(|it| &it["label"]).collect();
    assert_eq!(labels, ["Continue", "Summarize", "Stop"]);
    assert_eq!(home.tasks().len(), 1);
    chat.say("m2", "what is overdue?");
    let end = chat.press("p1", &button(&parked, "Continue"));
    assert_eq!((&end["turn"], &end["answers"]), (&parked["turn"], &json!(["p1"])));
    assert_eq!(home.tasks(), ["buy bread", "buy milk"]);
    chat.finish_well();
    answered_once(&chat.seen);
    home.assert_tidy("parked");
}

#[test]
fn stopping_a_waiting_turn_settles_it() {
    let home = Home::with_config("[approval]\nmedium = \"ask\"\n");
    let mut chat = home.chat();
    let question = asks(&mut chat);
    chat.say("c1", "/stop");
    let late = chat.press("p1", &button(&question, "Approve"));
    assert_eq!(late["answers"], json!(["p1"]));
    assert_eq!(home.tasks(), ["buy milk"], "what was stopped is not done");
    chat.finish_well();
    home.assert_tidy("/stop");
}

/// The events of a run without progress and drafts, sorted, with every turn called T.
fn told(events: impl Iterator<Item = Value>) -> Vec<String> {
    let mut told: Vec<String> = events
        .filter(|event| event["event"] != "progress" && event["event"] != "text")
        .map(|mut event| {
            if event.get("turn").is_some() {
                event["turn"] = "T".into();
            }
            event.to_string()
        })
        .collect();
    told.sort();
    told
}

#[test]
fn the_documented_example_is_what_happens() {
    let document = include_str!("../../docs/programs.md");
    let blocks = document.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let [_, input, output] = blocks.collect::<Vec<_>>()[..] else { panic!("the examples have moved") };
    let home = Home::new();
    let mut chat = home.chat();
    input.lines().for_each(|line| assert!(chat.send_raw(line.as_bytes())));
    assert_eq!(chat.finish().0, Some(0));
    let expected = output.lines().map(|line| serde_json::from_str(line).unwrap());
    assert_eq!(told(chat.seen.clone().into_iter()), told(expected));
}
