use proptest::prelude::*;

use super::*;

fn parsed(line: &str) -> Entry {
    match parse_line(line.as_bytes()) {
        Ok(Line::Entry(entry)) => entry,
        other => panic!("{line} is {other:?}"),
    }
}

fn fault(line: &[u8]) -> String {
    parse_line(line).expect_err("must be refused")
}

#[test]
fn plain_text_is_a_message_with_the_defaults() {
    assert_eq!(parsed("hello there\r\n"), Entry::text("hello there"));
    assert_eq!(parsed("\u{feff}hello"), Entry::text("hello"));
    assert_eq!(parse_line(b" \t\n"), Ok(Line::Blank));
    assert_eq!(parse_text(b"{\"press\""), Ok(Line::Entry(Entry::text("{\"press\""))));
}

#[test]
fn an_object_says_who_where_and_what() {
    let line = r#"{"text": "hi\nyou", "conversation": "a", "user": "u1", "id": "m1", "room": true, "reply_to": "r"}"#;
    let content = Content::Text { text: "hi\nyou".into(), reply_to: Some("r".into()), files: Vec::new() };
    let entry =
        Entry { conversation: "a".into(), user: "u1".into(), room: true, id: Some("m1".into()), content };
    assert_eq!(parsed(line), entry);
    let press = parsed(r#" {"press": "k:1", "conversation": "a", "id": null}"#);
    assert_eq!(press, Entry { conversation: "a".into(), ..Entry::press("k:1") });
}

#[test]
fn what_is_wrong_is_said_with_the_mend() {
    let lines: [&[u8]; 11] = [
        b"{\"text\": \"a\"",
        b"{\"text\": 5}",
        b"{\"text\": \" \"}",
        b"{\"txet\": \"a\"}",
        b"{\"text\": \"a\", \"attachment_list\": []}",
        b"{\"user\": \"u\"}",
        b"{\"text\": \"a\", \"press\": \"b\"}",
        b"{\"press\": \"a\", \"reply_to\": \"b\"}",
        b"{\"text\": \"a\", \"room\": 1}",
        b"{\"text\": \"a\", \"id\": \"\"}",
        b"caf\xe9",
    ];
    insta::assert_snapshot!(lines.map(fault).join("\n"), @r#"
    The line starts with { but is not valid JSON: EOF while parsing an object (column 12). Write one whole object on one line, such as {"text": "..."}; inside a string a quote is \" and a new line is \n.
    "text" must be a string. Put its value in quotes.
    "text" is empty. Write something, or leave the line out.
    "txet" is not a known key. Did you mean "text"?
    "attachment_list" is not a known key. The known ones are text, conversation, user, id, press, room, reply_to, files.
    There is neither "text" nor "press". Add one of them.
    "text" and "press" can't be in one line. Send two lines.
    "reply_to" belongs to "text". Leave it out beside "press".
    "room" must be true or false.
    "id" is empty. Fill it, or leave it out.
    The line is not valid UTF-8 (byte 4 is wrong). Send the text in UTF-8.
    "#);
}

#[test]
fn a_text_may_be_long_but_not_endless() {
    assert!(parse_line("é".repeat(MAX_LENGTH).as_bytes()).is_ok());
    insta::assert_snapshot!(fault("é".repeat(MAX_LENGTH + 1).as_bytes()), @"The text has 100001 characters; at most 100000 are allowed. Send it in several messages.");
    assert!(parse_line(format!("{{\"text\": \"{}\"}}", "x".repeat(MAX_LENGTH + 1)).as_bytes()).is_err());
}

#[test]
fn an_entry_becomes_what_arrived() {
    let new_id = || "fresh".to_owned();
    let said = parsed(r#"{"text": "hi", "conversation": "a:b", "user": "u", "id": "m:1", "room": true}"#);
    let Inbound::Message(said) = said.into_inbound("console", &new_id) else { panic!("said") };
    assert_eq!((said.event.0.as_str(), said.address.place.as_str()), ("a%3Ab:m:1", "a:b"));
    assert_eq!((said.sender.0.as_str(), said.direct), ("u", false));
    let Inbound::ButtonPress(pressed) = Entry::press("go").into_inbound("console", &new_id) else {
        panic!("pressed")
    };
    assert_eq!(
        (pressed.event.0.as_str(), pressed.button.as_str(), pressed.direct),
        ("main:fresh", "go", true)
    );
}

#[test]
fn events_are_lines_of_the_contract() {
    let address = Address { channel: "console".into(), place: "a".into() };
    let said =
        parsed(r#"{"text": "hi", "conversation": "a", "id": "m1"}"#).into_inbound("console", &String::new);
    let agent = adjutant_chat::AgentProgress {
        agent_id: "find".into(),
        status: "running".into(),
        mission: "find it".into(),
        skill: None,
        depends_on: vec![],
        elapsed_ms: 5,
    };
    let mut outbound = Outbound {
        id: "row".into(),
        address: address.clone(),
        turn: Some("t1".into()),
        answers: vec!["a:m1".into(), "a:m:2".into()],
        text: "Done\n*now* \u{1b}[31m".into(),
        choices: vec![],
        form: adjutant_chat::Form::Rich,
        part: 0,
        checkpoint: None,
        edit_of: None,
        file: None,
        voice: None,
    };
    let plain = reply(&outbound);
    outbound.choices = vec![Choice { id: "k".into(), label: "Continue".into() }];
    outbound.turn = None;
    let state = Progress { address, turn: "t1".into(), step: None, agents: vec![agent], live: None };
    let lines = [accepted(&said), progress(&state), plain, reply(&outbound), error(3, "No.")].concat();
    insta::assert_snapshot!(lines, @r#"
    {"event":"accepted","id":"m1","conversation":"a"}
    {"event":"progress","turn":"t1","agents":[{"agent_id":"find","status":"running"}]}
    {"event":"reply","conversation":"a","turn":"t1","answers":["m1","m:2"],"text":"Done\n*now* ␛[31m","buttons":[]}
    {"event":"reply","conversation":"a","turn":null,"answers":["m1","m:2"],"text":"Done\n*now* ␛[31m","buttons":[{"id":"k","label":"Continue"}]}
    {"event":"error","line":3,"message":"No."}
    "#);
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), json in any::<bool>()) {
        let bytes = if json { [b"{".as_slice(), &bytes].concat() } else { bytes };
        if let Err(message) = parse_line(&bytes) {
            prop_assert!(message.ends_with(['.', '?']));
        }
    }

    #[test]
    fn no_object_is_a_panic(
        keys in prop::collection::vec(("text|press|id|user|room|reply_to|conversation|te?xt|.{0,5}", "\".{0,9}\"|1|null|true|\\[\\]"), 0..5),
    ) {
        let fields: Vec<String> = keys.iter().map(|(key, value)| format!("{}: {value}", Value::from(key.as_str()))).collect();
        let line = format!("{{{}}}", fields.join(", "));
        if let Ok(Line::Entry(entry)) = parse_line(line.as_bytes()) {
            let (Content::Text { text: said, .. } | Content::Press(said)) = entry.content;
            prop_assert!(!said.trim().is_empty());
        }
    }

    #[test]
    fn ids_go_both_ways_and_never_meet(one in ("[a-c:%3A]{1,6}", "[a-c:%]{1,6}"), other in ("[a-c:%3A]{1,6}", "[a-c:%]{1,6}")) {
        let event = event_id(&one.0, &one.1);
        prop_assert_eq!(bare_id(&event.0), &one.1);
        prop_assert_eq!(event_id(&one.0, &one.1) == event_id(&other.0, &other.1), one == other);
    }
}
