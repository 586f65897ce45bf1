//! Chat places: read and posted to, for their members.

use std::sync::Arc;

use adjutant_chat::{Profile, Room, RoomError, RoomMessage, Rooms, SenderId};
use adjutant_store::people;
use serde_json::{Value, json};

use crate::app::{TestApp, with_rooms};
use crate::groupware::{call, skill_caller, split};

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
        Ok(if said == "bob" { vec![bob] } else { Vec::new() })
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
