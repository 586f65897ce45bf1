use adjutant_chat::RemoteFile;
use insta::assert_debug_snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const GROUP: i64 = -1_002_003_004_005;

fn me() -> BotUser {
    BotUser { id: 42, username: "Adjutant_Bot".to_owned() }
}

fn ada() -> Value {
    json!({"id": 7, "is_bot": false, "first_name": "Ada", "last_name": "Lovelace", "username": "ada"})
}

fn entity(kind: &str, text: &str, piece: &str) -> Value {
    let at = text.find(piece).unwrap();
    json!({"type": kind, "offset": text[..at].encode_utf16().count(), "length": piece.encode_utf16().count()})
}

fn in_group(text: &str, entities: &[Value]) -> Value {
    json!({"message_id": 9, "date": 1_700_000_000, "from": ada(), "text": text, "entities": entities,
        "chat": {"id": GROUP, "type": "supergroup", "title": "Crew", "is_forum": true}})
}

fn in_private(fields: Value) -> Value {
    let mut message = json!({"message_id": 9, "date": 1_700_000_000, "from": ada(),
        "chat": {"id": 7, "type": "private", "first_name": "Ada"}});
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message
}

fn arrives(message: Value) -> Update {
    update_of(&json!({"update_id": 1, "message": message}), &me(), "telegram")
}

/// What was said, if it was for us.
fn received(message: Value) -> Option<IncomingMessage> {
    match arrives(message) {
        Update::Received(Received::Message(message)) if message.is_addressed => Some(message),
        _ => None,
    }
}

fn text(message: Value) -> Option<String> {
    received(message).map(|said| said.text)
}

#[test]
fn a_private_message_is_for_us() {
    assert_debug_snapshot!(arrives(in_private(json!({"text": "Hello, @somebody"}))), @r#"
    Received(
        Message(
            IncomingMessage {
                event: EventId(
                    "7:9",
                ),
                address: Address {
                    channel: "telegram",
                    place: "7",
                },
                sender: SenderId(
                    "7",
                ),
                sender_name: "Ada Lovelace",
                direct: true,
                is_addressed: true,
                text: "Hello, @somebody",
                mentions: [],
                forwarded_from: None,
                reply_to: None,
                attachments: [],
            },
        ),
    )
    "#);
}

#[test]
fn a_forwarded_message_says_whose_it_is() {
    let from = |origin: Value| {
        received(in_private(json!({"text": "pay", "forward_origin": origin}))).unwrap().forwarded_from
    };
    for (origin, name) in [
        (
            json!({"type": "user", "date": 1, "sender_user": {"id": 8, "first_name": "Eve", "last_name": "X"}}),
            "Eve X",
        ),
        (json!({"type": "hidden_user", "sender_user_name": "Eve\n\u{202e}"}), "Eve \u{fffd}"),
        (json!({"type": "chat", "sender_chat": {"id": -1, "title": "News"}}), "News"),
        (json!({"type": "channel", "chat": {"id": -1, "title": "Daily"}, "message_id": 3}), "Daily"),
        (json!({"type": "something new", "chat": 7}), "somebody on Telegram"),
    ] {
        assert_eq!(from(origin).as_deref(), Some(name));
    }
    assert_eq!(from(Value::Null), None);
    let by_bot = json!({"text": "pay", "via_bot": {"id": 5, "is_bot": true, "username": "texts_bot"}});
    let said = received(in_private(by_bot)).unwrap();
    assert_eq!(said.forwarded_from.as_deref(), Some("the bot @texts_bot"));
}

#[test]
fn a_name_is_no_part_of_what_is_said() {
    let said = "🦀 ask Eve, pay all: and Eve";
    let mut entity = entity("text_mention", said, "Eve, pay all:");
    entity["user"] = json!({"id": 8, "first_name": "Eve, pay all:"});
    let mut message = in_private(json!({"text": said, "entities": [entity]}));
    let heard = received(message.clone()).unwrap();
    assert_eq!(heard.text, "🦀 ask @8 and Eve");
    let eve = Mention { id: "@8".into(), name: "Eve, pay all:".into() };
    assert_eq!(heard.mentions, std::slice::from_ref(&eve));
    message["edit_date"] = 1.into();
    let edited = update_of(&json!({"update_id": 1, "edited_message": message}), &me(), "telegram");
    let Update::Received(Received::Edit(edited)) = edited else { panic!("{edited:?}") };
    assert_eq!((edited.text.as_str(), edited.mentions), ("🦀 ask @8 and Eve", vec![eve]));
}

#[test]
fn in_a_group_only_what_names_us_is_for_us() {
    let said = "🦀 @adjutant_bot, what is due?";
    let mention = |text: &str, name: &str| in_group(text, &[entity("mention", text, name)]);
    assert_eq!(text(mention(said, "@adjutant_bot")).unwrap(), "🦀 , what is due?");
    let said = "@ADJUTANT_BOT: what is due?";
    assert_eq!(text(mention(said, "@ADJUTANT_BOT")).unwrap(), "what is due?");
    let said = "hey @adjutant_bot what is due?";
    assert_eq!(text(mention(said, "@adjutant_bot")).unwrap(), "hey what is due?");
    assert_eq!(text(mention("@adjutant_bot", "@adjutant_bot")).unwrap(), "@adjutant_bot");
    // Without an entity it is only a text, and a longer name is another's.
    assert_eq!(text(in_group("@adjutant_bot hello", &[])), None);
    assert_eq!(text(mention("@adjutant_bot2 hello", "@adjutant_bot2")), None);
    assert_eq!(text(in_group("hello everybody", &[])), None);
    let mut named = entity("text_mention", "Adjutant, hi", "Adjutant");
    named["user"] = json!({"id": 42, "is_bot": true, "first_name": "Adjutant"});
    assert_eq!(text(in_group("Adjutant, hi", &[named])).unwrap(), "hi");
}

#[test]
fn in_a_group_commands_are_for_us_if_they_are_ours() {
    let command = |text: &str| {
        let name = text.split(' ').next().unwrap();
        in_group(text, &[entity("bot_command", text, name)])
    };
    assert_eq!(text(command("/stop")).unwrap(), "/stop");
    assert_eq!(text(command("/Stop")).unwrap(), "/Stop");
    assert_eq!(text(command("/link@adjutant_BOT 1234")).unwrap(), "/link 1234");
    assert_eq!(text(command("/stop@other_bot")), None);
    assert_eq!(text(command("/ban somebody")), None);
    let later = "then /stop";
    assert_eq!(text(in_group(later, &[entity("bot_command", later, "/stop")])), None);
}

#[test]
fn in_a_group_replies_to_us_are_for_us() {
    let reply = |from: u64, id: i32| {
        let mut message = in_group("yes", &[]);
        message["reply_to_message"] = json!({"message_id": id, "date": 1_700_000_000,
            "from": {"id": from, "is_bot": true, "first_name": "B"}, "chat": message["chat"],
            "some_new_kind": {"of": "content"}});
        message["message_thread_id"] = 3.into();
        message["is_topic_message"] = true.into();
        message
    };
    let said = received(reply(42, 8)).unwrap();
    assert_eq!((said.reply_to.as_deref(), said.address.place), (Some("8"), format!("{GROUP}/3")));
    assert_eq!(received(reply(43, 8)), None);
    // The message that opened the topic is what everything in it replies to.
    assert_eq!(received(reply(42, 3)), None);
    let mut command = reply(42, 8);
    command["text"] = "/stop@other_bot".into();
    command["entities"] = json!([{"type": "bot_command", "offset": 0, "length": 15}]);
    assert_eq!(received(command), None);
}

#[test]
fn a_thread_that_is_no_topic_is_no_place() {
    let mut message = in_group("/stop", &[entity("bot_command", "/stop", "/stop")]);
    message["message_thread_id"] = 3.into();
    assert_eq!(received(message).unwrap().address.place, GROUP.to_string());
}

#[test]
fn who_can_not_be_told_is_nobody() {
    for field in [
        json!({"from": {"id": 8, "is_bot": true, "first_name": "Other"}}),
        json!({"sender_chat": {"id": GROUP, "type": "supergroup", "title": "Crew"}}),
    ] {
        let mut message = in_private(json!({"text": "hello"}));
        message.as_object_mut().unwrap().extend(field.as_object().unwrap().clone());
        assert_eq!(received(message), None, "{field}");
    }
}

#[test]
fn what_we_do_not_need_keeps_nothing_from_us() {
    let odd = in_private(json!({"text": "hello", "effect_id": [], "reply_markup": "odd", "quote": 3,
        "forward_origin": {"type": "brand_new"}, "entities": [{"type": "brand_new", "offset": 0, "length": 5},
        {"type": "text_link", "url": "no address", "offset": 0, "length": 5}]}));
    assert_eq!(text(odd).unwrap(), "hello");
    let wrong = json!([{"type": "mention", "offset": 0, "length": 0}, {"type": "mention", "offset": 4, "length": u64::MAX >> 1},
        {"type": "mention", "offset": 1, "length": 1}]);
    assert_eq!(text(in_private(json!({"text": "🦀 hello", "entities": wrong}))).unwrap(), "🦀 hello");
}

#[test]
fn attachments_are_named_and_can_be_found() {
    let file = |name: &str, kind: &str, size: u32| {
        let document = json!({"file_id": "F", "file_unique_id": "U", "file_size": size, "file_name": name,
            "mime_type": kind});
        let attached = received(in_private(json!({"document": document, "caption": "see"})))
            .unwrap()
            .attachments
            .remove(0);
        (attached.name, attached.file.unwrap())
    };
    let toml = RemoteFile { file: "F".into(), mime_type: "application/toml".into(), bytes: Some(9) };
    assert_eq!(file("a.TOML", "application/toml", 9), ("a.TOML".to_owned(), toml));
    assert_eq!(file("a\nb\u{202e}.pdf", "application/pdf", 9).0, "a b\u{fffd}.pdf");
    let size =
        |id: &str| json!({"file_id": id, "file_unique_id": "U", "file_size": 9, "width": 1, "height": 1});
    let photo = received(in_private(json!({"photo": [size("small"), size("large")]}))).unwrap();
    assert_eq!((photo.text.as_str(), photo.attachments[0].name.as_str()), ("", "photo.jpg"));
    assert_eq!(photo.attachments[0].file.as_ref().unwrap().file, "large");
    let voice = json!({"file_id": "F", "file_unique_id": "U", "file_size": 9, "duration": 1});
    assert_eq!(received(in_private(json!({"voice": voice}))).unwrap().attachments[0].name, "voice.ogg");
}

#[test]
fn a_press_on_what_is_out_of_reach_is_nothing() {
    let press = |date: u64| {
        let on = json!({"message_id": 5, "date": date, "chat": {"id": 7, "type": "private", "first_name": "Ada"},
            "from": {"id": 42, "is_bot": true, "first_name": "A"}, "text": "Go?", "entities": []});
        let query = json!({"id": "77", "from": ada(), "chat_instance": "1", "data": "go", "message": on});
        update_of(&json!({"callback_query": query}), &me(), "telegram")
    };
    assert_debug_snapshot!(press(1_700_000_000), @r#"
    ButtonPress {
        press: ButtonPress {
            event: EventId(
                "press:77",
            ),
            address: Address {
                channel: "telegram",
                place: "7",
            },
            sender: SenderId(
                "7",
            ),
            sender_name: "Ada Lovelace",
            direct: true,
            button: "go",
        },
        query: CallbackQueryId(
            "77",
        ),
    }
    "#);
    assert_eq!(press(0), Update::Received(Received::Ignored));
}

/// JSON of any shape, with the names that we look for.
fn odd_json() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "message",
        "edited_message",
        "callback_query",
        "message_id",
        "chat",
        "id",
        "type",
        "from",
        "text",
        "date",
        "entities",
        "offset",
        "length",
        "reply_to_message",
        "data",
        "first_name",
        "is_bot",
        "document",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[a-z@/🦀]{0,6}".prop_map(Value::from),
        Just(json!("private")),
        Just(json!("mention")),
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..8)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

#[test]
fn a_group_that_becomes_a_supergroup_moves() {
    let says = |chat: i64, field: &str, other: i64| {
        arrives(json!({"message_id": 9, "date": 1_700_000_000, "from": ada(), field: other,
            "chat": {"id": chat, "type": "group", "title": "Crew"}}))
    };
    let moved = Update::Moved { from: -5, to: GROUP };
    assert_eq!(says(-5, "migrate_to_chat_id", GROUP), moved);
    assert_eq!(says(GROUP, "migrate_from_chat_id", -5), moved);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_update_breaks_anything(update in odd_json()) {
        update_of(&update, &me(), "telegram");
        message_id(&update);
    }

    #[test]
    fn no_entity_breaks_anything(text in "\\PC{0,12}", marks in prop::collection::vec((0..14_u64, 0..14_u64), 0..4)) {
        let marks = marks.iter().flat_map(|(offset, length)| ["mention", "bot_command", "text_mention"]
            .map(|kind| json!({"type": kind, "offset": offset, "length": length, "user":
                {"id": 42, "is_bot": true, "first_name": "A"}})));
        received(in_group(&text, &marks.collect::<Vec<_>>()));
    }
}
