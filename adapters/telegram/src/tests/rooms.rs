//! What may be known of places and people.

use adjutant_chat::{Profile, Room, RoomError, Rooms, SenderId};

use super::*;

fn sender(person: impl ToString) -> SenderId {
    SenderId(person.to_string())
}

async fn found(port: &Telegram, said: &str, known: &[String]) -> Vec<(String, String)> {
    let rooms = port.find(said, known).await.unwrap().into_iter();
    rooms.map(|Room { place, name }| (place, name)).collect()
}

#[tokio::test]
async fn places_are_found_by_id_public_name_and_title() {
    let telegram = FakeTelegram::start();
    let port = port(&telegram);
    let (ada, garden) = (telegram.person("Ada King"), telegram.supergroup("Garden \u{202e}Club"));
    let (kitchen, other) = (telegram.group("Kitchen"), telegram.group("kitchen"));
    telegram.publish(garden, "garden_club");
    let known = [ada, garden, kitchen, other].map(|chat| chat.to_string()).to_vec();
    let known = [known, vec![format!("{garden}/7"), "no place".to_owned(), "-77".to_owned()]].concat();
    let room = |chat: i64, name: &str| (chat.to_string(), name.to_owned());
    let sanitized = "Garden \u{fffd}Club";
    assert_eq!(found(&port, &garden.to_string(), &[]).await, [room(garden, sanitized)]);
    assert_eq!(
        found(&port, &format!("{garden}/7"), &[]).await,
        [(format!("{garden}/7"), sanitized.to_owned())]
    );
    assert_eq!(found(&port, "@garden_club", &[]).await, [room(garden, sanitized)]);
    let mut both = found(&port, " KITCHEN ", &known).await;
    both.sort_by_key(|one| one.1.clone());
    assert_eq!(both, [room(kitchen, "Kitchen"), room(other, "kitchen")]);
    assert_eq!(found(&port, "ada king", &known).await, [room(ada, "Ada King")]);
    for said in ["", "@", "@nobody_here", "@../x", "-77", "99999999999999999999", "attic", "kitchen"] {
        assert_eq!(found(&port, said, &[]).await, [], "{said}");
    }
    // Titles are kept, and a group that is closed to us is none of them.
    let calls = telegram.calls("getChat");
    telegram.close(kitchen, "bot was kicked from the group chat");
    found(&port, "kitchen", &known).await;
    assert_eq!(telegram.calls("getChat") - calls, 1, "only the chat that is not there");
}

#[tokio::test]
async fn no_more_titles_are_asked_for_than_a_person_would_wait_for() {
    let telegram = FakeTelegram::start();
    let port = port(&telegram);
    let known: Vec<String> =
        (0..60).map(|number| telegram.group(&format!("g{number}")).to_string()).collect();
    assert_eq!(found(&port, "g3", &known).await.len(), 1);
    assert_eq!(telegram.calls("getChat"), 50);
}

#[tokio::test]
async fn members_are_asked_for_each_time() {
    let telegram = FakeTelegram::start();
    let port = port(&telegram);
    let (ada, bob) = (telegram.person("Ada"), telegram.person("Bob"));
    let group = telegram.supergroup("Garden Club");
    let is = async |place: &str, person: i64| port.is_member(place, &sender(person)).await;
    assert_eq!((is(&ada.to_string(), ada).await, is(&ada.to_string(), bob).await), (Ok(true), Ok(false)));
    let topic = format!("{group}/7");
    for (status, fields, expected) in [
        ("creator", json!({}), true),
        ("administrator", json!({}), true),
        ("member", json!({}), true),
        ("restricted", json!({"is_member": true}), true),
        ("restricted", json!({"is_member": false}), false),
        ("restricted", json!({}), false),
        ("left", json!({}), false),
        ("kicked", json!({}), false),
        ("invented", json!({"is_member": true}), false),
    ] {
        telegram.stand(group, ada, status, &fields);
        assert_eq!(is(&topic, ada).await, Ok(expected), "{status} {fields}");
    }
    assert_eq!((is(&topic, bob).await, is(&topic, 77).await), (Ok(false), Ok(false)));
    assert_eq!(port.is_member(&topic, &sender("ada")).await, Ok(false));
    let ranks = [("creator", true), ("administrator", true), ("member", false), ("left", false)];
    for (status, expected) in ranks {
        telegram.stand(group, ada, status, &json!({}));
        assert_eq!(port.manages(&topic, &sender(ada)).await, Ok(expected), "{status}");
    }
    assert_eq!(port.manages(&topic, &sender("ada")).await, Ok(false));
    telegram.stand(group, ada, "member", &json!({}));
    let new = telegram.migrate(group);
    telegram.stand(new, ada, "member", &json!({}));
    assert_eq!(is(&topic, ada).await, Ok(true), "where the group has moved to");
    telegram.hide_members(new);
    insta::assert_snapshot!(is(&topic, ada).await.unwrap_err(), @"Telegram shows the members of this group only to administrators; make me one");
}

#[tokio::test]
async fn no_history_is_shown() {
    let telegram = FakeTelegram::start();
    let port = port(&telegram);
    let ada = telegram.person("Ada");
    telegram.say(ada, ada, "Hello.");
    assert_eq!(port.read(&ada.to_string(), None, None, 10).await, Ok(None));
    assert!(matches!(port.read("general", None, None, 10).await, Err(RoomError::Closed(_))));
}

#[tokio::test]
async fn people_are_found_by_id_and_administrators_by_name() {
    let telegram = FakeTelegram::start();
    let port = port(&telegram);
    let (ada, bob) = (telegram.person("Ada King"), telegram.person("Bob"));
    let group = telegram.supergroup("Garden Club");
    telegram.name(ada, "Countess");
    telegram.stand(group, ada, "creator", &json!({"custom_title": "The\nboss"}));
    telegram.stand(group, bob, "member", &json!({}));
    let (place, alone) = (group.to_string(), ada.to_string());
    let of = async |place: &str, said: &str| port.profiles(place, said).await.unwrap();
    let ids = async |place: &str, said: &str| {
        of(place, said).await.into_iter().map(|one: Profile| one.id).collect::<Vec<_>>()
    };
    for said in ["ada", "KING", "Ada King", "@countess"] {
        assert_eq!(ids(&place, said).await, [ada.to_string()], "{said}");
        assert_eq!(ids(&alone, said).await, [ada.to_string()], "{said}");
    }
    assert_eq!(ids(&place, &bob.to_string()).await, [bob.to_string()]);
    assert_eq!(ids(&place, &format!("@{bob}")).await, [bob.to_string()], "as a text mentions him");
    for said in ["", "@", "bob", "nobody", "77"] {
        assert_eq!(ids(&place, said).await, [""; 0], "{said}");
    }
    assert_eq!(ids(&alone, &bob.to_string()).await, [""; 0]);
    insta::assert_snapshot!(format!("{:?}", of(&place, "ada").await), @r#"
[Profile { id: "1000", name: "Ada King", facts: [("user name", "@Countess"), ("title", "The boss"), ("role", "owner of the group")] }]
"#);
}

#[tokio::test]
async fn what_is_in_the_way_is_told_with_its_mend() {
    let telegram = FakeTelegram::start();
    let port = port(&telegram);
    let (ada, group) = (telegram.person("Ada"), telegram.group("Kitchen"));
    let told = async |port: &Telegram| match port.is_member(&group.to_string(), &sender(ada)).await {
        Err(RoomError::Token(why)) => format!("token: {why}"),
        Err(RoomError::Closed(why)) => format!("closed: {why}"),
        Err(RoomError::TooMany(pause)) => format!("too many: {pause:?}"),
        Err(RoomError::Unreachable(why)) => format!("unreachable: {why}"),
        Ok(is) => format!("{is}"),
    };
    let mut all = Vec::new();
    for fault in
        [Fault::Flood(7), Fault::Page(502), Fault::DoneBut502, Fault::Refusal(400, "Bad Request: new words")]
    {
        telegram.misbehave("getChatMember", &fault, 1);
        all.push(told(&port).await);
    }
    telegram.close(group, "bot was kicked from the group chat");
    all.push(told(&port).await);
    all.push(told(&with_token(&telegram, "1:wrong")).await);
    insta::assert_snapshot!(all.join("\n"), @"
too many: Some(7s)
unreachable: Telegram sent no valid response: status 502 Bad Gateway
unreachable: Telegram sent no valid response: Bad Gateway
closed: Telegram doesn't let me see this (Bad Request: new words)
closed: I'm not in this chat (Forbidden: bot was kicked from the group chat); add me to the group, or write to me first
token: Telegram rejects the token. Set channels.telegram.token to the one from @BotFather (https://t.me/BotFather, /mybots, API Token).
");
    telegram.misbehave("getChat", &Fault::Flood(7), 1);
    let unread = port.find("kitchen", &[ada.to_string()]).await;
    assert_eq!(unread, Err(RoomError::TooMany(Some(Duration::from_secs(7)))));
}
