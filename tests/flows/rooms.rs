//! Chat places: read and posted to, for their members.

use std::sync::Arc;

use adjutant_chat::{Inbound, IncomingMessage, Profile, Room, RoomError, RoomMessage, Rooms, SenderId};
use adjutant_store::people;
use adjutant_types::NOTHING_TO_TELL;
use serde_json::{Value, json};

use crate::app::{Place as Chat, TestApp, direct, results, user_text, with_rooms};
use crate::groupware::{call, call_skill, report_result, skill_caller, split};
use crate::scripted::{Scripted, Who, has_results, text};

/// A platform with places, members and messages.
struct Square {
    has_history: bool,
}

/// A place, its name, members and messages: id, time, author, text, replies.
type Place = (&'static str, &'static str, &'static [&'static str], &'static [Line]);
type Line = (&'static str, i64, &'static str, &'static str, u64);

const FRIDAY: i64 = 1_795_170_600_000;

const PLACES: [Place; 4] = [
    (
        "C1",
        "#general",
        &["ada", "bob"],
        &[
            ("1", FRIDAY, "Bob", "the budget is late", 2),
            ("2", FRIDAY + 60_000, "Ann", "so is lunch", 0),
            ("3", FRIDAY + 120_000, "Bob", "budget: 5 \u{20ac}", 0),
        ],
    ),
    ("C2", "#secret", &["bob"], &[("4", FRIDAY, "Bob", "the budget is a lie", 0)]),
    ("C3", "#twins", &["ada"], &[]),
    ("C4", "#twins", &["ada"], &[]),
];

#[async_trait::async_trait]
impl Rooms for Square {
    async fn find(&self, said: &str, _: &[String]) -> Result<Vec<Room>, RoomError> {
        if said == "#broken" {
            return Err(RoomError::Closed("the bot lacks the scope channels:read".into()));
        }
        let same =
            |place: &&Place| place.0 == said || place.1 == said || place.1.trim_start_matches('#') == said;
        let room = |place: &Place| Room { place: place.0.into(), name: place.1.into() };
        Ok(PLACES.iter().filter(same).map(room).collect())
    }
    async fn is_member(&self, place: &str, sender: &SenderId) -> Result<bool, RoomError> {
        let own = place == "home";
        Ok(own || PLACES.iter().any(|it| it.0 == place && it.2.contains(&sender.0.as_str())))
    }
    async fn manages(&self, _: &str, sender: &SenderId) -> Result<bool, RoomError> {
        Ok(sender.0 == "ada")
    }
    async fn read(
        &self,
        place: &str,
        thread: Option<&str>,
        since: Option<i64>,
        limit: usize,
    ) -> Result<Option<Vec<RoomMessage>>, RoomError> {
        if !self.has_history {
            return Ok(None);
        }
        let lines = PLACES.iter().find(|it| it.0 == place).map_or(&[] as &[Line], |it| it.3);
        let lines = lines.iter().filter(|line| {
            line.1 >= since.unwrap_or_default() && thread.is_none_or(|thread| thread == line.0)
        });
        let lines: Vec<RoomMessage> = lines
            .map(|(id, at, who, text, replies)| RoomMessage {
                id: (*id).into(),
                at: *at,
                author: (*who).into(),
                text: (*text).into(),
                replies: *replies,
            })
            .collect();
        Ok(Some(lines[lines.len().saturating_sub(limit)..].to_vec()))
    }
    async fn profiles(&self, _: &str, said: &str) -> Result<Vec<Profile>, RoomError> {
        let bob =
            Profile { id: "U2".into(), name: "Bob".into(), facts: vec![("title".into(), "Cook".into())] };
        let is_bob = ["bob", "U2"].contains(&said.trim_start_matches('@'));
        Ok(if is_bob { vec![bob] } else { Vec::new() })
    }
}

/// Calls a skill; returns its result without the markers of outside text.
async fn reads(app: &TestApp, skill: &str, arguments: Value) -> String {
    let (said, _) = call(app, skill, arguments).await;
    let is_mark = |line: &&str| line.starts_with("[outside text") || line.starts_with("[end of outside text");
    said.lines().filter(|line| !is_mark(line)).collect::<Vec<_>>().join("\n")
}

async fn square(has_history: bool) -> TestApp {
    with_rooms(skill_caller(), Arc::new(Square { has_history })).await
}

#[tokio::test]
async fn a_place_is_read_by_who_is_in_it() {
    let app = square(true).await;
    let said = reads(&app, "chat.read_channel", json!({"place": "#general"})).await;
    insta::assert_snapshot!(said, @r"
    3 messages in #general, the newest last:
    - Fri 20 Nov, 10:30, Bob: the budget is late (2 replies, thread 1)
    - Fri 20 Nov, 10:31, Ann: so is lunch
    - Fri 20 Nov, 10:32, Bob: budget: 5 €
    ");
    let said = reads(&app, "chat.read_channel", json!({"place": "console:general", "limit": 1})).await;
    assert!(said.starts_with("1 message in #general:"), "{said}");
    let said = reads(&app, "chat.read_thread", json!({"place": "C1", "thread": "1"})).await;
    assert!(said.starts_with("1 message of the thread in #general:"), "{said}");
    let said = reads(&app, "chat.read_channel", json!({"place": "C1", "since": "2026-11-20T10:32"})).await;
    assert!(said.starts_with("1 message in #general:\n- Fri 20 Nov, 10:32, Bob"), "{said}");
    // Places she isn't in look as if they didn't exist.
    let secret = reads(&app, "chat.read_channel", json!({"place": "#secret"})).await;
    let nowhere = reads(&app, "chat.read_channel", json!({"place": "#nowhere"})).await;
    assert_eq!(secret, "not_found: there is no chat “#secret” on console that we are both in");
    assert_eq!(secret.replace("secret", "nowhere"), nowhere);
    let said = reads(&app, "chat.read_channel", json!({"place": "twins"})).await;
    assert_eq!(said, "params: /place: there are several: #twins (C3), #twins (C4). Say which one, by its ID");
    let said = reads(&app, "chat.read_channel", json!({"place": "#broken"})).await;
    assert_eq!(said, "permission: the bot lacks the scope channels:read");
    app.ends_well().await;
}

#[tokio::test]
async fn what_was_written_is_searched_and_counted_up() {
    let app = square(true).await;
    let said = reads(&app, "chat.search", json!({"query": "budget bob", "place": "#general"})).await;
    insta::assert_snapshot!(said, @r"
    2 messages, the newest last:
    - Fri 20 Nov, 10:30, Bob: the budget is late (2 replies, thread 1)
    - Fri 20 Nov, 10:32, Bob: budget: 5 €
    ");
    let said = reads(&app, "chat.summarise", json!({"place": "#general"})).await;
    insta::assert_snapshot!(said, @r"
    3 messages in #general, from Fri 20 Nov, 10:30 to Fri 20 Nov, 10:32 (by Bob 2, Ann 1):
    - Fri 20 Nov, 10:30, Bob: the budget is late (2 replies, thread 1)
    - Fri 20 Nov, 10:31, Ann: so is lunch
    - Fri 20 Nov, 10:32, Bob: budget: 5 €
    ");
    let said = reads(&app, "chat.user_info", json!({"user": "bob"})).await;
    assert_eq!(said, "Bob (U2)\n- title: Cook");
    let said = reads(&app, "chat.user_info", json!({"user": "eve"})).await;
    assert_eq!(said, "not_found: I see nobody called “eve” on console");
    app.ends_well().await;
}

#[tokio::test]
async fn where_there_is_no_history_the_journal_is_read() {
    let app = square(false).await;
    reads(&app, "chat.user_info", json!({"user": "bob"})).await;
    let said = reads(&app, "chat.read_channel", json!({"place": "here"})).await;
    insta::assert_snapshot!(said, @r#"
    3 messages in this chat, the newest last:
    (This platform shows me no history, so this is only what was said to me.)
    - Sat 21 Nov, 10:00, ada: chat.user_info {"user":"bob"}
    - Sat 21 Nov, 10:00, me: Bob (U2)
    - title: Cook
    - Sat 21 Nov, 10:00, ada: chat.read_channel {"place":"here"}
    "#);
    let said = reads(&app, "chat.search", json!({"query": "cook"})).await;
    assert!(
        said.contains("(This platform shows me no history, so this is only what was said to me.)"),
        "{said}"
    );
    assert!(said.contains("- title: Cook"), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_search_of_not_everything_says_so() {
    let app = square(true).await;
    let said = reads(&app, "chat.search", json!({"query": "budget"})).await;
    assert_eq!(said, "I found no message about “budget”");
    let ada = people::person(app.store(), "console", "ada", "ada").await.unwrap();
    for place in 0..9 {
        people::conversation(app.store(), "console", &format!("P{place}"), &ada.id, false).await.unwrap();
    }
    let said = reads(&app, "chat.search", json!({"query": "budget"})).await;
    assert_eq!(said, "I found no message about “budget”\n(I searched the newest 0 messages there.)");
    app.ends_well().await;
}

#[tokio::test]
async fn a_post_waits_for_a_yes_and_is_there_once() {
    let app = square(true).await;
    let post = json!({"place": "#general", "text": "**Lunch** is here"});
    let asked = app.says("ada", &format!("chat.post {post}")).await;
    insta::assert_snapshot!(asked.text, @r##"
    Post to #general (console):
    - text:
    ```
    **Lunch** is here
    ```

    You asked: “chat.post {"place":"#general","text":"**Lunch** is here"}”. Shall I do this?
    "##);
    let (said, _) = split(&app, &app.presses("ada", &asked, "Approve").await).await;
    assert_eq!(said, "Posted to #general (console)");
    app.passes(std::time::Duration::from_secs(1)).await;
    app.rests().await;
    assert_eq!(app.texts().iter().filter(|text| *text == "**Lunch** is here").count(), 1);
    let there = "SELECT count(*) FROM outbox o JOIN conversations c ON c.id = o.conversation_id \
                 WHERE c.place = 'C1' AND o.state = 'sent'";
    assert_eq!(app.store().count(there, &[]).await.unwrap(), 1);
    let said = reads(&app, "chat.post", json!({"place": "#secret", "text": "x"})).await;
    assert_eq!(said, "not_found: there is no chat “#secret” on console that we are both in");
    app.ends_well().await;
}

#[tokio::test]
async fn what_nobody_sees_is_shown_before_it_is_posted() {
    let app = square(true).await;
    let post = json!({"place": "#general", "text": "Lun\u{202e}ch\u{e0041} ❤\u{fe0f}"});
    let asked = app.says("ada", &format!("chat.post {post}")).await;
    assert!(asked.text.contains("\nLun\\u{202e}ch\\u{e0041} ❤\u{fe0f}\n"), "{}", asked.text);
    app.says("ada", "no").await;
    app.ends_well().await;
}

#[tokio::test]
async fn whose_account_is_not_known_reads_nothing() {
    let app = square(true).await;
    let heard = app.says("bob", "chat.read_channel {\"place\": \"#secret\"}").await;
    assert!(heard.text.contains("1 message in #secret"), "{}", heard.text);
    let heard = app.says("eve", "chat.read_channel {\"place\": \"#general\"}").await;
    assert_eq!(heard.text, "not_found: there is no chat “#general” on console that we are both in");
    app.ends_well().await;
}

/// Somebody writes something in a room that isn't for us. Whether it is journalled.
async fn overhears(app: &TestApp, room: &Chat<'_>, event: &str, who: &str, said: &str) -> bool {
    let said = IncomingMessage { is_addressed: false, ..room.message(event, who, said) };
    app.service.accept(Inbound::Message(said), async || {}).await.unwrap()
}

async fn journalled(app: &TestApp) -> i64 {
    app.store().count("SELECT count(*) FROM inbox WHERE NOT event LIKE ' %'", &[]).await.unwrap()
}

#[tokio::test]
async fn whoever_manages_a_room_sets_its_rule() {
    let app = square(true).await;
    let room = app.room("team");
    let shown = room.says("bob", "/room").await;
    insta::assert_snapshot!(shown.text, @"
    In this room:

    - I answer when somebody mentions me or replies to me.
    - Skills: all
    - People: everybody I know

    Change it with the buttons, or send `/room skills tasks, calendar`, `/room skills all`, `/room people @ada @bob` or `/room people all`.
    ");
    assert_eq!(shown.buttons(), ["Always", "Never"]);
    for refused in [room.says("bob", "/room always").await, app.presses("bob", &shown, "Never").await] {
        assert!(refused.text.starts_with("Only people who manage this room"), "{}", refused.text);
    }
    let always = app.presses("ada", &shown, "Always").await;
    assert!(always.text.contains("- I answer whatever I can help with"), "{}", always.text);
    assert_eq!(always.buttons(), ["Only when mentioned", "Never"]);
    for (asked, answer) in [
        ("/room sometimes", "I know `/room always`"),
        ("/room skills juggling", "I have no skill called “juggling”"),
        ("/room people @eve", "I can't find “@eve” here"),
        ("/room people bob", "Mention them, so that I know who you mean."),
        ("/room people @bob", "Mention them, so that I know who you mean."),
    ] {
        let text = room.says("ada", asked).await.text;
        assert!(text.starts_with(answer), "{asked}: {text}");
    }
    let text = room.says("ada", "/room skills Tasks, chat.search").await.text;
    assert!(text.contains("- I answer whatever"), "{text}");
    assert!(text.contains("- Skills: tasks, chat.search\n"), "{text}");
    // A thread follows the rule of its room.
    let thread = app.room("team/7").says("ada", "/room").await.text;
    assert!(thread.contains("- Skills: tasks, chat.search\n"), "{thread}");
    let alone = app.says("ada", "/room always").await.text;
    assert!(alone.starts_with("`/room` is for rooms"), "{alone}");
    app.ends_well().await;
}

#[tokio::test]
async fn what_is_not_for_us_is_never_journalled_unless_the_room_wants_it() {
    let script = Scripted::new().orchestrator(|request| match user_text(request) {
        "who can add salt to the list?" => text("I can."),
        _ => text(NOTHING_TO_TELL),
    });
    let app = with_rooms(script, Arc::new(Square { has_history: true })).await;
    let room = app.room("team");
    assert!(!overhears(&app, &room, "o1", "bob", "the code is 4711").await);
    room.says("ada", "/room always").await;
    let before = (journalled(&app).await, app.texts().len());
    assert!(overhears(&app, &room, "o2", "bob", "see you at six").await);
    app.rests().await;
    assert_eq!((journalled(&app).await, app.texts().len()), (before.0 + 1, before.1), "it is heard silently");
    assert!(app.progress().iter().all(|shown| shown.step.is_none()), "and nothing is shown meanwhile");
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(request.messages.iter().any(|one| one.text.contains("nobody spoke to you")), "{request:#?}");
    assert!(overhears(&app, &room, "o3", "bob", "who can add salt to the list?").await);
    assert_eq!(app.answer("o3").await.text, "I can.");
    // Whoever speaks to us is answered in any case.
    assert!(!room.says("bob", "are you there?").await.text.is_empty());
    let text = room.says("ada", "/room people @U2").await.text;
    assert!(text.contains("- People: Bob (U2)\n"), "{text}");
    assert!(!overhears(&app, &room, "o4", "ada", "for bob alone").await, "he is U2 there");
    assert!(room.says("ada", "/room people all").await.text.contains("- People: everybody I know"));
    room.says("ada", "/room never").await;
    let said = room.message("m1", "ada", "hello?");
    assert!(!app.service.accept(Inbound::Message(said), async || {}).await.unwrap());
    assert!(room.says("ada", "/room mentioned").await.text.contains("- I answer when somebody mentions me"));
    app.rests().await;
}

#[tokio::test]
async fn what_people_say_to_each_other_approves_nothing() {
    let script = Scripted::new().orchestrator(|request| match user_text(request).starts_with("chat.post ") {
        true if has_results(request) => report_result(request),
        true => call_skill(request),
        false => text(NOTHING_TO_TELL),
    });
    let app = with_rooms(script, Arc::new(Square { has_history: true })).await;
    let room = app.room("team");
    room.says("ada", "/room always").await;
    let post = json!({"place": "#general", "text": "Lunch"});
    let asked = room.says("ada", &format!("chat.post {post}")).await;
    assert!(asked.text.contains("Shall I do this?"), "{}", asked.text);
    for (event, said) in [("o1", "yes"), ("o2", "stop"), ("o3", "/new")] {
        assert!(overhears(&app, &room, event, "ada", said).await, "{said}");
        app.rests().await;
    }
    assert!(!app.texts().contains(&"Lunch".to_owned()), "{:?}", app.texts());
    let open = "SELECT count(*) FROM questions WHERE state = 'pending'";
    assert_eq!(app.store().count(open, &[]).await.unwrap(), 1);
    app.presses("ada", &asked, "Reject").await;
    app.ends_well().await;
}

#[tokio::test]
async fn a_room_has_only_its_skills() {
    let script = Scripted::new().orchestrator(|request| match results(request).as_slice() {
        [] => direct("p", "tasks.create", json!({"title": user_text(request)})),
        results => text(results.join("\n")),
    });
    let app = with_rooms(script, Arc::new(Square { has_history: true })).await;
    let room = app.room("team");
    let tasks = async || app.store().count("SELECT count(*) FROM tasks", &[]).await.unwrap();
    room.says("ada", "buy salt").await;
    room.says("ada", "/room skills calendar").await;
    room.says("ada", "call Bob").await;
    assert_eq!(tasks().await, 1);
    let prompt = app.requests(Who::Orchestrator).pop().unwrap().messages[0].text.to_string();
    assert!(prompt.contains("calendar.create_event(") && !prompt.contains("tasks.create("), "{prompt}");
    app.says("ada", "water the flowers").await;
    assert_eq!(tasks().await, 2, "elsewhere all skills are there");
    app.ends_well().await;
}
