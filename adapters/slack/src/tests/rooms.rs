use adjutant_chat::{Room, RoomError, RoomMessage, Rooms, SenderId};
use adjutant_fakes::slack::Fault;
use serde_json::json;

use super::*;

fn shown(lines: &[RoomMessage]) -> Vec<String> {
    let replies =
        |line: &RoomMessage| if line.replies > 0 { format!(" ({})", line.replies) } else { String::new() };
    lines.iter().map(|line| format!("{}: {}{}", line.author, line.text, replies(line))).collect()
}

fn millis(ts: &str) -> i64 {
    ts.parse::<crate::place::Ts>().unwrap().millis()
}

async fn read(slack: &Slack, place: &str, since: Option<i64>, limit: usize) -> Vec<RoomMessage> {
    slack.read(place, None, since, limit).await.unwrap().unwrap()
}

async fn names(slack: &Slack, said: &str) -> Vec<(String, String)> {
    let rooms = slack.find(said, &[]).await.unwrap().into_iter();
    rooms.map(|Room { place, name }| (place, name)).collect()
}

#[tokio::test]
async fn places_are_found_by_id_mention_and_name() {
    let fake = FakeSlack::start();
    fake.give_at_most(2);
    let slack = connected(&fake);
    let places: Vec<String> = (0..5).map(|number| fake.channel(&format!("room-{number}"))).collect();
    let (secret, dm, group) = (fake.private_channel("secret"), fake.dm("ada"), fake.group("mpdm-ada--bob-1"));
    let (foreign, closed) = (fake.private_channel("others"), fake.channel("attic"));
    fake.put_out(&foreign);
    fake.archive(&closed);
    let room = |place: &str, name: &str| vec![(place.to_owned(), name.to_owned())];
    let said = [places[3].clone(), format!("<#{}|whatever>", places[3]), "#room-3".into(), " Room-3 ".into()];
    for said in said {
        assert_eq!(names(&slack, &said).await, room(&places[3], "#room-3"), "{said}");
    }
    assert_eq!(names(&slack, "secret").await, room(&secret, "#secret"));
    assert_eq!(names(&slack, &dm).await, room(&dm, "the direct conversation with ada"));
    assert_eq!(names(&slack, &group).await, room(&group, "mpdm-ada--bob-1"));
    assert_eq!(
        names(&slack, &format!("{}/1.000000", places[0])).await,
        room(&format!("{}/1.000000", places[0]), "#room-0")
    );
    for said in ["others", &foreign, "attic", "C9999", "", "#", "<#>", "room"] {
        assert_eq!(names(&slack, said).await, [], "{said}");
    }
    // The list is kept.
    let lists = fake.calls().iter().filter(|call| call.method == "conversations.list").count();
    assert_eq!(lists, 3);
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn a_list_has_its_end() {
    let fake = FakeSlack::start();
    fake.give_at_most(1);
    let slack = connected(&fake);
    (0..12).for_each(|number| drop(fake.channel(&format!("room-{number}"))));
    assert_eq!((names(&slack, "room-9").await.len(), names(&slack, "room-10").await.len()), (1, 0));
    let place = fake.channel("room-0");
    (0..21).for_each(|number| fake.join(&format!("person {number}"), &place));
    let ada = SenderId(fake.person("ada"));
    let unread = slack.is_member(&place, &ada).await;
    assert!(matches!(&unread, Err(RoomError::Closed(why)) if why.contains("too many members")), "{unread:?}");
}

#[tokio::test]
async fn members_are_asked_for_each_time() {
    let fake = FakeSlack::start();
    fake.give_at_most(2);
    let slack = connected(&fake);
    let place = fake.private_channel("secret");
    ["ada", "bob", "cyd", "dan"].iter().for_each(|person| fake.join(person, &place));
    let (dan, eve) = (SenderId(fake.person("dan")), SenderId(fake.person("eve")));
    assert_eq!(slack.is_member(&place, &dan).await, Ok(true));
    assert_eq!(slack.is_member(&format!("{place}/1.000000"), &dan).await, Ok(true));
    assert_eq!(slack.is_member(&place, &eve).await, Ok(false));
    let dm = fake.dm("dan");
    assert_eq!((slack.is_member(&dm, &dan).await, slack.is_member(&dm, &eve).await), (Ok(true), Ok(false)));
    fake.leave("dan", &place);
    assert_eq!(slack.is_member(&place, &dan).await, Ok(false));
    fake.put_out(&place);
    for place in [place.as_str(), "C9999", "no place", ""] {
        let unread = slack.is_member(place, &dan).await;
        assert!(matches!(unread, Err(RoomError::Closed(_))), "{place}: {unread:?}");
    }
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn who_made_a_channel_manages_it_and_so_do_admins() {
    let fake = FakeSlack::start();
    let slack = connected(&fake);
    let place = fake.channel("general");
    let [ada, bob, cyd] = ["ada", "bob", "cyd"].map(|person| SenderId(fake.person(person)));
    fake.create("ada", &place);
    fake.describe("bob", &json!({"is_admin": true}));
    let is = async |person: &SenderId| slack.manages(&format!("{place}/1.000000"), person).await;
    assert_eq!((is(&ada).await, is(&bob).await, is(&cyd).await), (Ok(true), Ok(true), Ok(false)));
    assert!(is(&SenderId("U9999".into())).await.is_err(), "nobody manages anything");
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn the_newest_are_read_in_order() {
    let fake = FakeSlack::start();
    let slack = connected(&fake);
    let place = fake.channel("general");
    let stamps: Vec<String> =
        (0..450).map(|number| fake.say("ada", &place, &format!("number {number}"))).collect();
    let texts = |lines: &[RoomMessage]| lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
    let expected = |from: usize| (from..450).map(|number| format!("number {number}")).collect::<Vec<_>>();
    for limit in [1, 200, 201, 450] {
        assert_eq!(texts(&read(&slack, &place, None, limit).await), expected(450 - limit), "{limit}");
    }
    assert_eq!(read(&slack, &place, None, usize::MAX).await.len(), 450);
    assert_eq!(read(&slack, &place, None, 0).await, []);
    let last = read(&slack, &place, None, 1).await.remove(0);
    assert_eq!((last.id.as_str(), last.at), (stamps[449].as_str(), millis(&stamps[449])));
    let since = Some(millis(&stamps[447]));
    assert_eq!(texts(&read(&slack, &place, since, 100).await), expected(447));
    assert_eq!(read(&slack, &place, Some(i64::MAX), 100).await, []);
    assert_eq!(read(&slack, &place, Some(i64::MIN), 100).await.len(), 100);
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn a_thread_is_read_from_its_end() {
    let fake = FakeSlack::start();
    let slack = connected(&fake);
    let place = fake.channel("general");
    let root = fake.say("ada", &place, "shall we?");
    let thread = format!("{place}/{root}");
    let answers: Vec<String> =
        (0..210).map(|number| fake.say("bob", &thread, &format!("answer {number}"))).collect();
    fake.say("cyd", &place, "beside it");
    assert_eq!(shown(&read(&slack, &place, None, 9).await), ["ada: shall we? (210)", "cyd: beside it"]);
    let whole = slack.read(&place, Some(&root), None, 500).await.unwrap().unwrap();
    assert_eq!((whole.len(), whole[0].text.as_str()), (211, "shall we?"));
    let newest = ["bob: answer 208", "bob: answer 209"];
    assert_eq!(shown(&slack.read(&place, Some(&root), None, 2).await.unwrap().unwrap()), newest);
    assert_eq!(shown(&read(&slack, &thread, None, 2).await), newest);
    let since = Some(millis(&answers[208]));
    assert_eq!(shown(&read(&slack, &thread, since, 100).await), newest);
    for thread in ["1.000000", "general", "", "../x"] {
        let unread = slack.read(&place, Some(thread), None, 9).await;
        assert!(matches!(unread, Err(RoomError::Closed(_))), "{thread}: {unread:?}");
    }
    // Slack would have to be asked for ever.
    fake.give_at_most(2);
    let unread = slack.read(&thread, None, None, 9).await;
    assert!(matches!(&unread, Err(RoomError::Closed(why)) if why.contains("later time")), "{unread:?}");
    assert_eq!(shown(&slack.read(&thread, None, since, 9).await.unwrap().unwrap()), newest);
}

#[tokio::test]
async fn lines_are_fit_to_be_read() {
    let fake = FakeSlack::start();
    let slack = connected(&fake);
    let place = fake.channel("general");
    let bob = fake.person("bob");
    fake.describe("eve", &json!({"profile": {"display_name": "eve\u{1b}[2J\nada"}}));
    fake.say("ada", &place, &format!("<@{bob}>, see <https://x.org|this> &amp; <!here>"));
    fake.say("eve", &place, "a\u{1b}[31mb\u{202e}c");
    fake.attach("bob", &place, "", ("plan.pdf", "application/pdf", "x"));
    fake.post("bob", &place, &json!({"subtype": "channel_join", "text": "joined"}));
    let machine = json!({"subtype": "bot_message", "bot_id": "B1", "username": "Build", "user": null,
        "attachments": [{"text": ""}, {"fallback": "main is red"}]});
    fake.post("ada", &place, &machine);
    fake.post("ada", &place, &json!({"bot_id": "B2", "bot_profile": {"name": "Deploy"}, "text": "done"}));
    fake.post("ada", &place, &json!({"user": "U9999", "text": "who am I?"}));
    for strange in [json!({"text": 7}), json!({"ts": "soon", "text": "x"}), json!({"subtype": 1, "user": 2})]
    {
        fake.post("ada", &place, &strange);
    }
    slack.deliver(&outbound(&place, "I am here.")).await;
    insta::assert_snapshot!(shown(&read(&slack, &place, None, 50).await).join("\n"), @"
ada: @bob, see this (https://x.org) & @here
eve␛[2J ada: a␛[31mb�c
bob: [file: plan.pdf]
Build: main is red
Deploy: done
U9999: who am I?
adjutant: I am here.
");
}

#[tokio::test]
async fn what_keeps_from_reading_is_told_with_its_mend() {
    let fake = FakeSlack::start();
    let slack = connected(&fake);
    let (place, secret) = (fake.channel("general"), fake.private_channel("secret"));
    fake.say("ada", &place, "Hello.");
    let mut told = Vec::new();
    let ask = async |place: &str| match slack.read(place, None, None, 9).await {
        Err(RoomError::Token(why)) => format!("token: {why}"),
        Err(RoomError::Closed(why)) => format!("closed: {why}"),
        Err(RoomError::TooMany(pause)) => format!("too many: {pause:?}"),
        Err(RoomError::Unreachable(why)) => format!("unreachable: {why}"),
        Ok(lines) => format!("{lines:?}"),
    };
    let history = "conversations.history";
    for fault in [
        Fault::Status(429),
        Fault::Page(503),
        Fault::Page(403),
        Fault::Cut,
        Fault::Error("token_revoked"),
        Fault::Error("is_archived"),
        Fault::Error("no_permission"),
        Fault::Error("fatal_error"),
    ] {
        fake.misbehave(history, 1, fault);
        told.push(ask(&place).await);
    }
    fake.withdraw("channels:history");
    told.push(ask(&place).await);
    fake.put_out(&secret);
    told.push(ask(&secret).await);
    fake.grant("channels:history");
    fake.put_out(&place);
    told.push(ask(&place).await);
    insta::assert_snapshot!(told.join("\n"), @"
too many: Some(1s)
unreachable: Slack sent no valid response
unreachable: Slack can't be reached
unreachable: Slack sent no valid response
token: Slack rejects the token (token_revoked). Set channels.slack.bot_token to the “Bot User OAuth Token” on the app's page at api.slack.com/apps, “OAuth & Permissions”; it begins with xoxb-.
closed: Slack doesn't let me read this (is_archived)
closed: Slack doesn't show this (no_permission)
unreachable: Slack sent no valid response
closed: The token of channels.slack.bot_token lacks the scope channels:history. Add it on the app's page at api.slack.com/apps, reinstall the app, and set channels.slack.bot_token to the “Bot User OAuth Token” on the app's page at api.slack.com/apps, “OAuth & Permissions”; it begins with xoxb-.
closed: Slack shows me no such channel; if it is private, send /invite and my name there
closed: I'm not in this Slack channel; send /invite and my name there
");
    fake.withdraw("groups:read");
    let unread = slack.find("general", &[]).await;
    assert!(matches!(&unread, Err(RoomError::Closed(why)) if why.contains("groups:read")), "{unread:?}");
    fake.withdraw("users:read");
    let unread = slack.profiles(&place, "ada").await;
    assert!(matches!(&unread, Err(RoomError::Closed(why)) if why.contains("users:read")), "{unread:?}");
    let stranger = connect(Settings { bot_token: "xoxb-wrong".into(), ..settings(&fake) }).unwrap();
    let unread = stranger.read(&place, None, None, 9).await;
    assert!(matches!(&unread, Err(RoomError::Token(why)) if !why.contains("xoxb-wrong")), "{unread:?}");
}

#[tokio::test]
async fn people_are_found_by_id_mention_and_name() {
    let fake = FakeSlack::start();
    fake.give_at_most(2);
    let slack = connected(&fake);
    let place = fake.channel("general");
    let (ada, bob) = (fake.person("ada"), fake.person("bob"));
    let profile = json!({"display_name": "Ada", "real_name": "Ada King", "title": "Countess\u{7}",
        "status_emoji": ":tea:", "status_text": "at tea", "email": "ada@example.test"});
    fake.describe("ada", &json!({"real_name": "Ada King", "tz": "Europe/London", "profile": profile}));
    fake.describe("adam", &json!({"real_name": "Adam King", "profile": {"real_name": "Adam King"}}));
    fake.describe("gone", &json!({"real_name": "Gone King", "deleted": true}));
    fake.describe("odd", &json!({"profile": 7, "name": null, "real_name": []}));
    let found = async |said: &str| slack.profiles(&place, said).await.unwrap();
    let ids = async |said: &str| found(said).await.into_iter().map(|one| one.id).collect::<Vec<_>>();
    for said in [ada.as_str(), &format!("<@{ada}>"), &format!("<@{ada}|x>"), "@ada", "ADA KING", "king ada "]
    {
        let expected =
            if said == "king ada " { vec![ada.clone(), fake.person("adam")] } else { vec![ada.clone()] };
        assert_eq!(ids(said).await, expected, "{said}");
    }
    assert_eq!(ids("bob").await, [bob]);
    for said in ["", "@", "U9999", "<@U9999>", "<@>", "gone", "nobody"] {
        assert_eq!(ids(said).await, [""; 0], "{said}");
    }
    insta::assert_snapshot!(format!("{:#?}", found(&ada).await), @r#"
[
    Profile {
        id: "U0002",
        name: "Ada",
        facts: [
            (
                "user name",
                "ada",
            ),
            (
                "full name",
                "Ada King",
            ),
            (
                "title",
                "Countess␇",
            ),
            (
                "time zone",
                "Europe/London",
            ),
            (
                "status",
                ":tea: at tea",
            ),
            (
                "e-mail",
                "ada@example.test",
            ),
        ],
    },
]
"#);
    assert_eq!(fake.faults(), [""; 0]);
}
