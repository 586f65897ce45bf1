use super::*;

use proptest::prelude::*;
use serde_json::{Value, json};

const BOT: BotIdentity<'static> =
    BotIdentity { channel: "discord", me: UserId::new(9), role: Some(RoleId::new(8)) };

fn received(fields: Value, direct: bool) -> Received {
    let mut object = json!({"id": "5", "channel_id": "7", "author": {"id": "1", "username": "ada"}, "content": "hi", "type": 0});
    for (key, value) in fields.as_object().unwrap() {
        object[key] = value.clone();
    }
    message(serde_json::from_value(object).unwrap(), BOT, direct)
}

fn text(received: Received) -> Option<String> {
    match received {
        Received::Message(said) if said.is_addressed => Some(said.text),
        _ => None,
    }
}

#[test]
fn the_mention_of_us_is_cut_out_and_others_keep_their_ids() {
    let bob = json!([{"id": "2", "username": "bob", "global_name": "Bob"}]);
    for (content, expected) in [
        ("<@9> what is due?", "what is due?"),
        ("what is due, <@!9>?", "what is due, ?"),
        ("<@&8> what is due?", "what is due?"),
        ("<@9>   ask <@2> or <@!2>", "ask @2 or @2"),
        ("<@9> <@99> <@&9> stay", "<@99> <@&9> stay"),
    ] {
        assert_eq!(
            text(received(json!({"content": content, "mentions": bob}), false)).as_deref(),
            Some(expected)
        );
    }
}

#[test]
fn a_reaction_is_somebody_elses_and_an_emoji_of_everybody() {
    let read = |user: &str, emoji: Value| {
        let added = json!({"user_id": user, "channel_id": "7", "message_id": "5", "emoji": emoji, "type": 0});
        reaction(&added, false, BOT)
    };
    let Received::Reaction(up) = read("1", json!({"id": null, "name": "👍"})) else { panic!() };
    assert_eq!((up.is_up, up.receipt.as_str(), up.sender.0.as_str()), (true, "5", "1"));
    assert_eq!(read("9", json!({"id": null, "name": "👍"})), Received::Own);
    for other in [json!({"id": "3", "name": "👍"}), json!({"id": null, "name": null}), json!(null)] {
        assert_eq!(read("1", other), Received::Ignored);
    }
}

#[test]
fn a_name_is_no_part_of_what_is_said() {
    let eve =
        json!([{"id": "2", "username": "eve", "global_name": "and pay all"}, {"id": "3", "username": "ann"}]);
    let named = vec![Mention { id: "@2".into(), name: "and pay all".into() }];
    let Received::Message(said) = received(json!({"content": "ask <@2>", "mentions": eve}), true) else {
        panic!()
    };
    assert_eq!((said.text.as_str(), &said.mentions, said.forwarded_from), ("ask @2", &named, None));
    let mut update = json!({"id": "5", "channel_id": "7", "author": {"id": "1"}, "content": "ask <@!2>",
        "mentions": eve, "edited_timestamp": "2026-01-01T00:01:00.000000+00:00"});
    let Received::Edit(edited) = edit(serde_json::from_value(update.clone()).unwrap(), BOT) else { panic!() };
    assert_eq!((edited.text.as_str(), &edited.mentions), ("ask @2", &named));
    // Discord has only added a preview.
    update["edited_timestamp"] = json!(null);
    assert_eq!(edit(serde_json::from_value(update).unwrap(), BOT), Received::Ignored);
    let Received::Message(by_app) = received(json!({"application_id": "6"}), true) else { panic!() };
    assert_eq!(by_app.forwarded_from.as_deref(), Some("an app on Discord"));
}

#[test]
fn a_forwarded_message_is_told_from_own_words() {
    let read = |content: &str| {
        let file = json!({"filename": "a.txt", "url": "b", "size": 1});
        let passed_on = json!({"content": "pay <@2>", "mentions": [{"id": "2", "username": "bob"}], "attachments": [file]});
        let fields = json!({"content": content, "message_snapshots": [{"message": passed_on}]});
        let Received::Message(said) = received(fields, true) else { panic!() };
        (said.text, said.forwarded_from, said.attachments.len())
    };
    assert_eq!(read(""), ("pay @2".to_owned(), Some("somebody on Discord".to_owned()), 1));
    assert_eq!(read("look"), ("look".to_owned(), None, 0));
}

#[test]
fn who_speaks_to_us() {
    let ours = json!({"id": "4", "author": {"id": "9"}});
    let theirs = json!({"id": "4", "author": {"id": "2"}});
    for (fields, direct, is_heard) in [
        (json!({}), true, true),
        (json!({}), false, false),
        (json!({"referenced_message": ours}), false, true),
        (json!({"referenced_message": theirs}), false, false),
        (json!({"referenced_message": null}), false, false),
        (json!({"content": "<@99>"}), false, false),
        (json!({"author": {"id": "1", "bot": true}}), true, false),
        (json!({"webhook_id": "3"}), true, false),
        (json!({"type": 7}), true, false),
        (json!({"type": 19}), true, true),
        (json!({"content": " "}), true, false),
        (json!({"content": "<@9>"}), false, false),
        (json!({"content": "", "attachments": [{"filename": "a", "url": "b", "size": 1}]}), true, true),
    ] {
        assert_eq!(text(received(fields.clone(), direct)).is_some(), is_heard, "{fields} {direct}");
    }
    assert_eq!(received(json!({"author": {"id": "9", "bot": true}}), true), Received::Own);
}

#[test]
fn people_are_called_as_they_call_themselves() {
    for (fields, expected) in [
        (json!({}), "ada"),
        (json!({"author": {"id": "1", "username": "ada", "global_name": "Ada L."}}), "Ada L."),
        (json!({"member": {"nick": "Countess"}}), "Countess"),
    ] {
        let Received::Message(said) = received(fields, true) else { panic!() };
        assert_eq!(said.sender_name, expected);
    }
}

#[test]
fn a_preview_is_no_change() {
    let preview = json!({"id": "5", "channel_id": "7", "embeds": []});
    assert_eq!(edit(serde_json::from_value(preview).unwrap(), BOT), Received::Ignored);
}

/// Any JSON, with the names that are read.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[0-9]{0,20}".prop_map(Value::from),
        "(<@9>)?.{0,9}".prop_map(Value::from),
    ];
    let keys = vec![
        "id",
        "channel_id",
        "guild_id",
        "author",
        "member",
        "content",
        "type",
        "mentions",
        "attachments",
        "user",
        "referenced_message",
        "webhook_id",
        "data",
        "options",
        "name",
        "custom_id",
        "value",
        "token",
        "username",
    ];
    leaf.prop_recursive(3, 40, 12, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(keys.clone()), inner, 0..12)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_event_does_harm(event in anything()) {
        let _ = serde_json::from_value(event.clone()).map(|one| message(one, BOT, false));
        let _ = serde_json::from_value(event.clone()).map(|one| edit(one, BOT));
        let _ = serde_json::from_value(event).map(|one| interaction(one, BOT));
    }

    #[test]
    fn any_content_is_taken(content in ".*") {
        let expected = content.replace("<@9>", "").trim().to_owned();
        prop_assume!(!expected.is_empty() && !content.contains("<@"));
        prop_assert_eq!(text(received(json!({"content": content}), true)), Some(expected));
    }
}
