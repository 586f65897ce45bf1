use adjutant_chat::{Room, RoomError, RoomMessage, Rooms, SenderId};
use adjutant_fakes::discord::Fault;
use serde_json::json;

use super::*;

const VIEW: u64 = 1 << 10;
const HISTORY: u64 = 1 << 16;

fn shown(lines: &[RoomMessage]) -> Vec<String> {
    let replies =
        |line: &RoomMessage| if line.replies > 0 { format!(" ({})", line.replies) } else { String::new() };
    lines.iter().map(|line| format!("{}: {}{}", line.author, line.text, replies(line))).collect()
}

async fn read(discord: &Discord, place: &str, since: Option<i64>, limit: usize) -> Vec<RoomMessage> {
    discord.read(place, None, since, limit).await.unwrap().unwrap()
}

async fn found(discord: &Discord, said: &str) -> Vec<(String, String)> {
    let rooms = discord.find(said, &[]).await.unwrap().into_iter();
    rooms.map(|Room { place, name }| (place, name)).collect()
}

#[tokio::test]
async fn places_are_found_by_id_mention_and_name() {
    let fake = FakeDiscord::start();
    let discord = connected(&fake);
    let (general, dm) = (fake.channel("general"), fake.dm("ada"));
    let thread = fake.thread_at(&fake.say("ada", &general, "shall we?"));
    let room = |place: &str, name: &str| vec![(place.to_owned(), name.to_owned())];
    for said in [&general, &format!("<#{general}>"), "#general", " General "] {
        assert_eq!(found(&discord, said).await, room(&general, "#general"), "{said}");
    }
    assert_eq!(found(&discord, &dm).await, room(&dm, "the direct conversation with ada"));
    assert_eq!(found(&discord, &thread).await, room(&thread, "#at a message"));
    for said in ["", "#", "<#>", "0", "77", "attic", "<@1>"] {
        assert_eq!(found(&discord, said).await, [], "{said}");
    }
    let lists = fake
        .calls()
        .into_iter()
        .filter(|call| call.path.contains("/guilds/") && call.path.ends_with("/channels"));
    assert_eq!(lists.count(), 1, "the list is kept");
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn of_many_guilds_the_first_are_looked_through() {
    let fake = FakeDiscord::start();
    fake.join_guilds(30);
    fake.misbehave("GET", "/guilds/900000000000003003/channels", 1, Fault::Status(403));
    let discord = connected(&fake);
    fake.channel("general");
    let names: Vec<String> = found(&discord, "general").await.into_iter().map(|room| room.1).collect();
    assert_eq!(
        (names.len(), names[0].as_str(), names[1].as_str()),
        (19, "#general in Home", "#general in Guild 1")
    );
    assert_eq!(found(&discord, "a category").await, [], "nobody speaks there");
}

#[tokio::test]
async fn who_may_change_a_channel_or_its_guild_manages_it() {
    let fake = FakeDiscord::start();
    let discord = connected(&fake);
    let general = fake.channel("general");
    let (staff, hosts) = (fake.role("staff", 1 << 5), fake.role("hosts", 0));
    fake.overwrite(&general, (0, &hosts), 1 << 4, 0);
    let [ada, bob, cyd, dan] = ["ada", "bob", "cyd", "dan"].map(|person| SenderId(fake.join(person)));
    fake.describe("ada", &json!({"roles": [staff]}));
    fake.describe("bob", &json!({"roles": [hosts]}));
    fake.crown("cyd");
    let is = async |person: &SenderId| discord.manages(&general, person).await;
    assert_eq!((is(&ada).await, is(&bob).await), (Ok(true), Ok(true)));
    assert_eq!((is(&cyd).await, is(&dan).await), (Ok(true), Ok(false)));
    assert_eq!(is(&SenderId("0".into())).await, Ok(false));
}

#[tokio::test]
async fn who_may_read_is_asked_for_each_time() {
    let fake = FakeDiscord::start();
    let discord = connected(&fake);
    let (general, secret) = (fake.channel("general"), fake.channel("secret"));
    let staff = fake.role("staff", 0);
    fake.overwrite(&secret, (0, &fake.everyone()), 0, VIEW);
    fake.overwrite(&secret, (0, &staff), VIEW | HISTORY, 0);
    let [ada, bob] = ["ada", "bob"].map(|person| SenderId(fake.join(person)));
    let is = async |place: &str, person: &SenderId| discord.is_member(place, person).await;
    assert_eq!((is(&general, &ada).await, is(&secret, &ada).await), (Ok(true), Ok(false)));
    fake.describe("ada", &json!({"roles": [staff]}));
    assert_eq!((is(&secret, &ada).await, is(&secret, &bob).await), (Ok(true), Ok(false)));
    fake.crown("bob");
    assert_eq!(is(&secret, &bob).await, Ok(true));
    // A thread is read by whoever may read its channel, a private one by those in it.
    let thread = fake.thread_at(&fake.say("ada", &secret, "shall we?"));
    let among_us = fake.private_thread(&secret, &["ada", "cyd"]);
    let cyd = SenderId(fake.join("cyd"));
    assert_eq!((is(&thread, &ada).await, is(&thread, &cyd).await), (Ok(true), Ok(false)));
    assert_eq!((is(&among_us, &ada).await, is(&among_us, &bob).await), (Ok(true), Ok(false)));
    assert_eq!(is(&among_us, &cyd).await, Ok(false), "whoever may not read the channel any more");
    let dm = fake.dm("ada");
    assert_eq!((is(&dm, &ada).await, is(&dm, &bob).await), (Ok(true), Ok(false)));
    fake.leave("ada");
    assert_eq!((is(&general, &ada).await, is(&secret, &ada).await), (Ok(false), Ok(false)));
    for nobody in ["", "0", "77", "ada", "-1"] {
        assert_eq!(is(&general, &SenderId(nobody.into())).await, Ok(false), "{nobody}");
    }
    for place in ["", "0", "77", "general"] {
        assert!(matches!(is(place, &bob).await, Err(RoomError::Closed(_))), "{place}");
    }
    fake.misbehave("GET", "/members/", 1, Fault::Status(500));
    assert!(matches!(is(&general, &bob).await, Err(RoomError::Unreachable(_))));
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn the_newest_are_read_in_order() {
    let fake = FakeDiscord::start();
    let discord = connected(&fake);
    let place = fake.channel("general");
    for number in 0..250 {
        fake.say("ada", &place, &format!("number {number}"));
        // Discord's own messages don't count.
        fake.post("ada", &place, &json!({"type": 7, "content": "joined"}));
    }
    let texts = |lines: &[RoomMessage]| lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
    let expected = |from: usize| (from..250).map(|number| format!("number {number}")).collect::<Vec<_>>();
    for limit in [1, 50, 51, 250, 500] {
        let from = 250_usize.saturating_sub(limit);
        assert_eq!(texts(&read(&discord, &place, None, limit).await), expected(from), "{limit}");
    }
    assert_eq!(read(&discord, &place, None, 0).await, []);
    let newest = read(&discord, &place, None, 3).await;
    assert!(newest.windows(2).all(|two| two[0].at < two[1].at), "{newest:?}");
    assert_eq!(texts(&read(&discord, &place, Some(newest[1].at), 100).await), expected(248));
    assert_eq!(read(&discord, &place, Some(i64::MAX), 100).await, []);
    assert_eq!(read(&discord, &place, Some(i64::MIN), 7).await.len(), 7);
    (0..1_100).for_each(|_| drop(fake.post("ada", &place, &json!({"type": 7}))));
    let before = fake.calls().len();
    assert_eq!(read(&discord, &place, None, 1).await, []);
    assert_eq!(fake.calls().len() - before, 10, "nobody waits for all the pages there are");
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn a_thread_is_read_by_the_right_to_its_own_place_alone() {
    let fake = FakeDiscord::start();
    let discord = connected(&fake);
    let (place, other) = (fake.channel("general"), fake.channel("other"));
    let root = fake.say("ada", &place, "shall we?");
    let thread = fake.thread_at(&root);
    let quoted = json!({"id": root, "author": {"id": "5", "username": "ada"}, "content": "shall we?"});
    fake.post("ada", &thread, &json!({"type": 21, "content": "", "referenced_message": quoted}));
    ["yes", "no"].iter().for_each(|text| drop(fake.say("bob", &thread, text)));
    assert_eq!(shown(&read(&discord, &place, None, 9).await), ["ada: shall we? (3)"]);
    let lines = discord.read(&place, Some(&root), None, 9).await.unwrap().unwrap();
    assert_eq!(shown(&lines), ["ada: shall we?", "bob: yes", "bob: no"]);
    assert_eq!(shown(&read(&discord, &thread, None, 1).await), ["bob: no"]);
    assert_eq!(discord.read(&thread, Some(&thread), None, 9).await, Ok(Some(lines)));
    let among_us = fake.private_thread(&place, &["bob"]);
    for strange in [&other, &among_us, &fake.dm("eve"), &fake.thread("of nowhere"), "77", "0", "x"] {
        for place in [&place, &other].into_iter().filter(|place| *place != strange) {
            let unread = discord.read(place, Some(strange), None, 9).await;
            assert!(matches!(unread, Err(RoomError::Closed(_))), "{strange}: {unread:?}");
        }
    }
    assert!(discord.read(&other, Some(&thread), None, 9).await.is_err(), "it is another place's");
}

#[tokio::test]
async fn lines_are_fit_to_be_read() {
    let fake = FakeDiscord::start();
    let discord = connected(&fake);
    let place = fake.channel("general");
    let bob = fake.join("bob");
    let say = |fields: serde_json::Value| drop(fake.post("ada", &place, &fields));
    fake.say("ada", &place, &format!("<@{bob}> and <@!{bob}>, see **this**"));
    say(
        json!({"author": {"id": "6", "username": "eve\u{1b}[2J\nada", "global_name": null}, "content": "a\u{202e}b"}),
    );
    fake.attach("bob", &place, "", ("plan.pdf", "application/pdf", "x"));
    let embeds = json!([{"title": "Build", "description": "main is red"}, 7]);
    say(
        json!({"author": {"id": "7", "username": "Build", "bot": true}, "webhook_id": "7", "embeds": embeds}),
    );
    for strange in [
        json!({"sticker_items": [{"id": "1"}]}),
        json!({"author": null, "content": "x"}),
        json!({"id": "0", "content": "x"}),
        json!({"type": 21, "content": "x"}),
        json!({"type": "new", "content": "x"}),
        json!({"content": "odd company", "attachments": 5, "embeds": {"a": 1}, "thread": [3]}),
    ] {
        say(strange);
    }
    discord.deliver(&outbound(&place, "I am here.")).await;
    insta::assert_snapshot!(shown(&read(&discord, &place, None, 50).await).join("\n"), @"
ada: @bob and @bob, see **this**
eve␛[2J ada: a�b
bob: [file: plan.pdf]
Build: Build
main is red
ada: odd company
adjutant: I am here.
");
}

#[tokio::test]
async fn what_keeps_from_reading_is_told_with_its_mend() {
    let fake = FakeDiscord::start();
    let discord = connected(&fake);
    let place = fake.channel("general");
    let ask = async |discord: &Discord, place: &str| match discord.read(place, None, None, 9).await {
        Err(RoomError::Token(why)) => format!("token: {why}"),
        Err(RoomError::Closed(why)) => format!("closed: {why}"),
        Err(RoomError::TooMany(pause)) => format!("too many: {pause:?}"),
        Err(RoomError::Unreachable(why)) => format!("unreachable: {why}"),
        Ok(lines) => format!("{lines:?}"),
    };
    let mut told = Vec::new();
    for fault in [Fault::Status(429), Fault::Status(503), Fault::Page(403), Fault::Cut, Fault::Status(400)] {
        fake.misbehave("GET", "/messages", 1, fault);
        told.push(ask(&discord, &place).await);
    }
    fake.close(&place, 403, 50001);
    told.push(ask(&discord, &place).await);
    told.push(ask(&discord, "77").await);
    let stranger = connect(Settings { token: "wrong.token".into(), ..settings(&fake) }).unwrap();
    told.push(ask(&stranger, &place).await);
    insta::assert_snapshot!(told.join("\n"), @"
too many: Some(300ms)
unreachable: Discord sent no valid response
unreachable: Discord can't be reached
unreachable: Discord sent no valid response
closed: Discord doesn't show this (Something went wrong (0))
closed: Discord doesn't let me read this (Missing Access (50001)). Give my role the permissions View Channel and Read Message History there.
closed: Discord has no such channel
token: Discord rejects the token. Set channels.discord.token to the one from the Developer Portal (your application, Bot, Reset Token).
");
    assert!(matches!(discord.find(&place, &[]).await, Err(RoomError::Closed(_))));
    assert!(matches!(stranger.find("general", &[]).await, Err(RoomError::Token(_))));
}

#[tokio::test]
async fn people_are_found_by_id_mention_and_name() {
    let fake = FakeDiscord::start();
    let discord = connected(&fake);
    let (place, dm) = (fake.channel("general"), fake.dm("ada"));
    let [ada, bob, adam] = ["ada", "bob", "adam"].map(|person| fake.join(person));
    let staff = fake.role("staff\u{7}", 0);
    fake.describe("ada", &json!({"nick": "Countess\u{1b} Ada", "roles": [staff, "77"]}));
    fake.describe("odd", &json!({"joined_at": "é", "nick": null}));
    let of = async |place: &str, said: &str| discord.profiles(place, said).await.unwrap();
    let ids = async |place: &str, said: &str| {
        of(place, said).await.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    for said in [&ada, &format!("<@{ada}>"), &format!("<@!{ada}>"), "@ada", "ADA", "count"] {
        assert_eq!(ids(&place, said).await, std::slice::from_ref(&ada), "{said}");
    }
    assert_eq!(ids(&place, "ad").await, [ada.clone(), adam]);
    assert_eq!(ids(&dm, "ada").await, std::slice::from_ref(&ada));
    assert_eq!(ids(&dm, &bob).await, [""; 0]);
    assert_eq!(ids(&place, "odd").await.len(), 1);
    for said in ["", "@", "<@x>", "<@0>", "0", "77", "nobody", "a&limit=1000"] {
        assert_eq!(ids(&place, said).await, [""; 0], "{said}");
    }
    insta::assert_snapshot!(format!("{:#?}", of(&place, "ada").await), @r#"
[
    Profile {
        id: "1100000000012582912",
        name: "Countess␛ Ada",
        facts: [
            (
                "user name",
                "ada",
            ),
            (
                "nickname",
                "Countess␛ Ada",
            ),
            (
                "in the server since",
                "2025-03-01",
            ),
            (
                "roles",
                "staff␇",
            ),
        ],
    },
]
"#);
    assert_eq!(fake.faults(), [""; 0]);
}
