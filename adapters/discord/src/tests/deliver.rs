use std::time::Instant;

use adjutant_chat::{Delivery, Reconciliation, Retract};
use adjutant_fakes::discord::Fault;

use super::*;

fn start() -> (FakeDiscord, Discord, String) {
    let fake = FakeDiscord::start();
    let (discord, place) = (connected(&fake), fake.dm("ada"));
    (fake, discord, place)
}

#[tokio::test]
async fn what_is_surely_not_sent_is_tried_again() {
    let (fake, discord, place) = start();
    let text = outbound(&place, "Hello.");
    // A firewall's 403 does not mean that the place is gone.
    for (fault, pause) in [
        (Fault::Status(429), Some(Duration::from_millis(300))),
        (Fault::Page(403), None),
        (Fault::Page(429), None),
    ] {
        fake.misbehave("POST", "/messages", 1, fault);
        let since = Instant::now();
        assert_eq!(discord.deliver(&text).await, Delivery::Retry(pause), "{fault:?}");
        let waits = Duration::from_millis(250);
        assert!(
            !matches!(fault, Fault::Page(403)) || since.elapsed() > waits,
            "the next call comes too early"
        );
    }
    assert!(matches!(discord.deliver(&text).await, Delivery::Sent(_)));
    let nowhere = Settings { api_url: "http://127.0.0.1:1".into(), ..settings(&fake) };
    assert_eq!(connect(nowhere).unwrap().deliver(&text).await, Delivery::Retry(None));
    let stranger = Settings { token: "wrong".into(), ..settings(&fake) };
    assert_eq!(connect(stranger).unwrap().deliver(&text).await, Delivery::Retry(None));
    assert_eq!(fake.seen(&place).len(), 1);
}

#[tokio::test]
async fn what_may_have_been_sent_is_found() {
    for (fault, is_there) in [
        (Fault::DoneThenCut, true),
        (Fault::DoneThenStatus(502), true),
        (Fault::Cut, false),
        (Fault::Status(500), false),
        (Fault::Hang, false),
    ] {
        let (fake, discord, place) = start();
        fake.say("ada", &place, "Hello?");
        let checkpoint = discord.checkpoint(&address(&place)).await;
        let text = Outbound { checkpoint, ..outbound(&place, "Hello **you**.") };
        fake.misbehave("POST", "/messages", 1, fault);
        assert_eq!(discord.deliver(&text).await, Delivery::Unknown, "{fault:?}");
        // Another process, minutes later.
        fake.forget_nonces();
        let found = connected(&fake).reconcile(&text).await;
        let seen = fake.seen(&place);
        match is_there {
            true => assert_eq!(found, Reconciliation::Sent(seen[0].id.clone()), "{fault:?}"),
            false => assert_eq!((found, seen.len()), (Reconciliation::NotSent, 0), "{fault:?}"),
        }
    }
}

#[tokio::test]
async fn a_second_sending_soon_after_is_the_first() {
    is_sent_once(start(), |place| outbound(place, "Once.")).await;
}

/// Sends a part whose answer is lost, and once more.
pub(super) async fn is_sent_once(
    (fake, discord, place): (FakeDiscord, Discord, String),
    part: fn(&str) -> Outbound,
) {
    let part = part(&place);
    fake.misbehave("POST", "/messages", 1, Fault::DoneThenCut);
    assert_eq!(discord.deliver(&part).await, Delivery::Unknown);
    let again = connected(&fake).deliver(&part).await;
    assert_eq!(again, Delivery::Sent(fake.seen(&place)[0].id.clone()));
    assert_eq!(fake.seen(&place).len(), 1);
}

#[tokio::test]
async fn an_older_message_of_the_same_text_is_another() {
    let (fake, discord, place) = start();
    discord.deliver(&Outbound { id: "another000000000000000".into(), ..outbound(&place, "Done.") }).await;
    let checkpoint = discord.checkpoint(&address(&place)).await;
    let again = Outbound { checkpoint, ..outbound(&place, "Done.") };
    assert_eq!(connected(&fake).reconcile(&again).await, Reconciliation::NotSent);
    fake.misbehave("GET", "/messages", 1, Fault::Status(503));
    assert_eq!(discord.reconcile(&again).await, Reconciliation::Unavailable);
}

#[tokio::test]
async fn a_place_that_is_gone_is_told() {
    let (fake, discord, place) = start();
    fake.close(&place, 403, 50007);
    let text = outbound(&place, "Hello?");
    assert_eq!(discord.deliver(&text).await, Delivery::Gone("Missing Access (50007)".into()));
    for place in ["4711", "0", "general"] {
        assert!(matches!(discord.deliver(&outbound(place, "Hello?")).await, Delivery::Gone(_)), "{place}");
    }
    assert_eq!(discord.reconcile(&text).await, Reconciliation::NotSent);
}

#[tokio::test]
async fn what_discord_never_takes_is_refused() {
    let (fake, discord, place) = start();
    let mut text = outbound(&place, "Choose.");
    text.choices = vec![Choice { id: "x".repeat(101), label: "X".into() }];
    assert!(matches!(discord.deliver(&text).await, Delivery::Refused(why) if why.contains("components")));
    assert_eq!(fake.faults().len(), 1);
}

#[tokio::test]
async fn nobody_is_pinged_and_the_answer_replies_in_company() {
    let (fake, discord, _) = start();
    let place = fake.channel("general");
    let journal = Journal::default();
    let asked = tokio::select! {
        sentence = discord.receive(&journal) => panic!("{sentence}"),
        asked = async {
            until("connected", || fake.sessions().0 == 1).await;
            let asked = fake.say("ada", &place, &format!("{} hi", fake.mention()));
            until("heard", || journal.texts() == ["hi"]).await;
            asked
        } => asked,
    };
    let mut answer = outbound(&place, "Hello @everyone and <@1100000000000000001>");
    answer.answers = vec![asked.clone()];
    assert!(matches!(discord.deliver(&answer).await, Delivery::Sent(_)));
    let seen = fake.seen(&place).remove(0);
    assert_eq!((seen.reply_to, seen.text.as_str()), (Some(asked), answer.text.as_str()));
    let sent = fake.calls().pop().unwrap().body;
    assert_eq!(sent["allowed_mentions"], serde_json::json!({"parse": [], "replied_user": false}));
    // What it answers may be gone, or may have been a command.
    answer.answers = vec!["1".into()];
    answer.id = "another000000000000000".into();
    assert!(matches!(discord.deliver(&answer).await, Delivery::Sent(_)));
}

#[tokio::test]
async fn a_shown_message_that_somebody_deleted_is_shown_anew() {
    let (fake, discord, place) = start();
    let Delivery::Sent(shown) = discord.show(&address(&place), None, "At work.").await else { panic!() };
    discord.typing(&address(&place)).await;
    discord.retract(&address(&place), &shown, Retract::Message).await;
    let mut answer = outbound(&place, "Done.");
    answer.edit_of = Some(shown.clone());
    assert!(matches!(discord.deliver(&answer).await, Delivery::Sent(_)));
    assert!(matches!(discord.show(&address(&place), Some(&shown), "More.").await, Delivery::Sent(_)));
    let texts: Vec<String> = fake.seen(&place).into_iter().map(|seen| seen.text).collect();
    assert_eq!(texts, ["Done.", "More."]);
}

#[test]
fn the_token_is_in_no_error() {
    let settings =
        Settings { channel: "a".into(), token: "s3cret".into(), api_url: "https://discord.com".into() };
    let discord = connect(settings).unwrap();
    assert!(!format!("{:?}", discord.rest.http).contains("s3cret"));
}
