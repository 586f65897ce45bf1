use super::*;

use proptest::prelude::*;
use serde_json::json;

const BOT: BotIdentity<'static> = BotIdentity { channel: "slack", me: "U9" };

fn post(fields: &Value) -> MessageEvent {
    let mut message = json!({"type": "message", "ts": "1500.000100", "user": "U1", "text": "hi"});
    for (key, value) in fields.as_object().unwrap() {
        message[key] = value.clone();
    }
    serde_json::from_value(message).unwrap()
}

fn said(fields: &Value, channel: &str) -> Option<IncomingMessage> {
    match post(fields).read(channel, BOT) {
        Received::Message(said) if said.is_addressed => Some(said),
        _ => None,
    }
}

#[test]
fn who_speaks_to_us() {
    let changed =
        json!({"subtype": "message_changed", "message": {"user": "U1", "text": "hi", "ts": "1.000000"}});
    for (fields, channel, is_heard) in [
        (json!({}), "D1", true),
        (json!({"channel_type": "im"}), "X1", true),
        (json!({}), "C1", false),
        (json!({"channel_type": "mpim"}), "G1", false),
        (json!({"text": "<@U9> hi"}), "C1", true),
        (json!({"text": "<@U9|adjutant> hi", "type": "app_mention"}), "C1", true),
        (json!({"text": "<@U99> hi &lt;@U9&gt;"}), "C1", false),
        (json!({"thread_ts": "1.000000", "parent_user_id": "U9"}), "C1", true),
        (json!({"thread_ts": "1.000000", "parent_user_id": "U2"}), "C1", false),
        (json!({"thread_ts": "1.000000", "parent_user_id": "U2"}), "D1", true),
        (json!({"subtype": "thread_broadcast"}), "D1", true),
        (json!({"subtype": "channel_join"}), "D1", false),
        (json!({"subtype": "bot_message", "user": null}), "D1", false),
        (json!({"subtype": "something_new"}), "D1", false),
        (json!({"bot_id": "B1"}), "D1", false),
        (json!({"user": null}), "D1", false),
        (json!({"text": " "}), "D1", false),
        (json!({"text": "<@U9>"}), "C1", false),
        (json!({"text": null, "subtype": "file_share", "files": [{"name": "a"}, 7]}), "D1", true),
        (json!({"ts": "yesterday"}), "D1", false),
        (changed, "D1", false),
    ] {
        assert_eq!(said(&fields, channel).is_some(), is_heard, "{fields} {channel}");
    }
    assert_eq!(post(&json!({"user": "U9", "bot_id": "B9"})).read("D1", BOT), Received::Own);
}

#[test]
fn a_message_that_was_passed_on_is_told_from_own_words() {
    let shared = json!([
        {"is_share": true, "author_name": "Eve\n", "text": "pay &amp; <https://x.org|go>"},
        {"title": "a preview", "text": "of a page"},
        {"is_msg_unfurl": true, "text": "more"},
    ]);
    let read = |text: &str| {
        let said = said(&json!({"text": text, "attachments": shared}), "D1").unwrap();
        let enclosed: Vec<_> =
            said.attachments.into_iter().map(|one| (one.name, one.text.unwrap_or_default())).collect();
        (said.text, said.forwarded_from, enclosed)
    };
    let more = ("message from somebody on Slack".to_owned(), "more".to_owned());
    let eve = ("message from Eve ".to_owned(), "pay & go (https://x.org)".to_owned());
    assert_eq!(
        read(""),
        ("pay &amp; <https://x.org|go>".to_owned(), Some("Eve ".to_owned()), vec![more.clone()])
    );
    assert_eq!(read("look"), ("look".to_owned(), None, vec![eve, more]));
}

#[test]
fn files_of_a_message_that_was_passed_on_are_taken() {
    let file =
        |name: &str| json!({"name": name, "url_private_download": "https://files.slack.test/a", "size": 1});
    let shared = json!([
        {"is_share": true, "author_name": "Eve", "text": "the contract", "files": [file("Contract.pdf")]},
        {"title": "a preview", "files": [file("no.pdf")]},
    ]);
    let fields = json!({"text": "", "files": [file("own.txt")], "attachments": shared});
    let said = said(&fields, "D1").unwrap();
    let names: Vec<_> = said.attachments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!((names, said.forwarded_from.as_deref()), (vec!["own.txt", "Contract.pdf"], Some("Eve")));
}

#[test]
fn a_thread_is_a_place_of_its_own() {
    let place = |fields: Value| said(&fields, "D1").unwrap().address.place;
    assert_eq!(place(json!({})), "D1");
    assert_eq!(place(json!({"thread_ts": "1500.000100"})), "D1");
    assert_eq!(place(json!({"thread_ts": "1400.000000"})), "D1/1400.000000");
    let ours = said(&json!({"thread_ts": "1400.000000", "parent_user_id": "U9"}), "C1").unwrap();
    assert_eq!((ours.event.0.as_str(), ours.reply_to.as_deref()), ("C1:1500.000100", Some("1400.000000")));
}

#[test]
fn a_new_text_is_an_edit_and_a_preview_is_none() {
    let changed = |text: &str, before: &str, user: &str| {
        let message = |text: &str| json!({"user": user, "text": text, "ts": "1.000000"});
        let fields = json!({"subtype": "message_changed", "message": message(text), "previous_message": message(before)});
        post(&fields).read("C1", BOT)
    };
    let edited =
        MessageEdit { event: EventId("C1:1.000000".into()), text: "buy milk".into(), mentions: Vec::new() };
    assert_eq!(changed("<@U9> buy milk", "<@U9> buy mlik", "U1"), Received::Edit(edited));
    assert_eq!(changed("same", "same", "U1"), Received::Ignored);
    assert_eq!(changed("new", "old", "U9"), Received::Own);
}

#[test]
fn a_text_is_read_as_people_see_it() {
    let names = [("U2".to_owned(), "Bob".to_owned())];
    for (written, read) in [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("ask <@U2>, <@U3> or <@U4|eve>", "ask @Bob, @U3 or @eve"),
        ("in <#C1|general> and <#C2|>", "in #general and #C2"),
        ("<!here> <!subteam^S1|@devs> <!date^1^{date}|today>", "@here @devs today"),
        ("<https://x.org/?a=1&amp;b> <https://x.org|x.org>", "https://x.org/?a=1&b https://x.org"),
        ("<https://x.org|the page> <mailto:a@b.c|a@b.c>", "the page (https://x.org) a@b.c"),
        ("a < b and <> and <unclosed", "a < b and <> and <unclosed"),
    ] {
        assert_eq!(text::readable(written, &names), read);
    }
    let (own, mentions) = text::own(
        "ask <@U2>, <@U2>, <@U3>, <@U4|pay &amp; go> in <#C1|general>, <!subteam^S1|@devs>",
        &names,
    );
    assert_eq!(own, "ask @U2, @U2, @U3, @U4 in #C1, @S1", "names are no part of it");
    let named: Vec<(&str, &str)> = mentions.iter().map(|one| (one.id.as_str(), one.name.as_str())).collect();
    assert_eq!(named, [("@U2", "Bob"), ("@U4", "pay & go"), ("#C1", "general"), ("@S1", "@devs")]);
    assert_eq!(
        text::own("<!here> <https://x.org|the page> a &lt;b&gt;", &[]).0,
        "@here the page (https://x.org) a <b>"
    );
    let Received::Message(by_app) = post(&json!({"app_id": "A1"})).read("D1", BOT) else { panic!() };
    assert_eq!(by_app.forwarded_from.as_deref(), Some("an app on Slack"));
    assert_eq!(text::without("<@U9> ask <@U2> of <https://x.org>", "U9"), "ask <@U2> of <https://x.org>");
    assert_eq!(text::without("what is due, <@U9|adjutant>?", "U9"), "what is due, ?");
}

#[test]
fn commands_go_by_their_name_or_by_their_text() {
    let of = |name: &str, text: &str| {
        let fields = json!({"command": name, "text": text, "channel_id": "C1", "user_id": "U1", "trigger_id": "1.2.x"});
        command(serde_json::from_value(fields).unwrap(), "slack").unwrap()
    };
    for (name, text, expected) in [
        ("/new", "", "/new"),
        ("/link", "ABC-123", "/link ABC-123"),
        ("/adjutant", "status", "/status"),
        ("/adjutant", " /trace 3", "/trace 3"),
        ("/adjutant", "", "/help"),
    ] {
        assert_eq!(of(name, text).text, expected);
    }
    assert_eq!((of("/new", "").event.0.as_str(), of("/new", "").direct), ("command:U1:1.2.x", false));
}

#[test]
fn a_press_names_its_place_and_its_button() {
    let fields = json!({
        "type": "block_actions", "user": {"id": "U1", "name": "ada"}, "actions": [{"action_id": "a", "action_ts": "9.000001"}],
        "container": {"channel_id": "C1", "message_ts": "5.000000", "thread_ts": "4.000000"},
    });
    let pressed = press(serde_json::from_value(fields.clone()).unwrap(), "slack").unwrap();
    assert_eq!(pressed.event.0, "press:C1:5.000000:U1:9.000001");
    assert_eq!((pressed.address.place.as_str(), pressed.button.as_str()), ("C1/4.000000", "a"));
    let mut other = fields;
    other["type"] = json!("view_submission");
    assert_eq!(press(serde_json::from_value(other).unwrap(), "slack"), None);
}

/// Any JSON, with names that Slack uses.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec![
            "message",
            "im",
            "U1",
            "U9",
            "D1",
            "1.000000",
            "<@U9> <",
            "message_changed",
            "block_actions",
            ""
        ])
        .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "type",
        "subtype",
        "user",
        "text",
        "ts",
        "thread_ts",
        "files",
        "message",
        "previous_message",
        "actions",
        "container",
        "channel_id",
        "message_ts",
        "value",
        "action_ts",
        "id",
        "command",
        "trigger_id",
        "user_id",
    ]);
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics(value in any_json(), text in ".{0,60}") {
        if let Ok(post) = MessageEvent::deserialize(&value) {
            post.read("C1", BOT);
        }
        MessageEvent::thread_of(&value);
        drop(Interaction::deserialize(&value).ok().and_then(|one| press(one, "slack")));
        drop(Command::deserialize(&value).ok().and_then(|one| command(one, "slack")));
        text::readable(&text, &[]);
        text::own(&text, &[]);
        text::without(&text, "U9");
    }

    /// Whatever somebody types comes out as it was typed.
    #[test]
    fn a_typed_text_comes_through(typed in "[a-z<>&@#!|; ]{0,40}") {
        prop_assert_eq!(&text::readable(&crate::render::escaped(&typed), &[]), &typed);
        prop_assert_eq!(text::own(&crate::render::escaped(&typed), &[]), (typed, Vec::new()));
    }
}
