use std::time::Duration;

use adjutant_chat::{Delivery, Reconciliation, Retract};
use adjutant_fakes::slack::Fault;

use super::*;

fn start() -> (FakeSlack, Slack, String) {
    let fake = FakeSlack::start();
    let (slack, place) = (connected(&fake), fake.dm("ada"));
    (fake, slack, place)
}

#[tokio::test]
async fn what_is_surely_not_sent_is_tried_again() {
    let (fake, slack, place) = start();
    let text = outbound(&place, "Hello.");
    let second = Some(Duration::from_secs(1));
    for (fault, pause) in [
        (Fault::Status(429), second),
        (Fault::Page(429), second),
        (Fault::Page(403), None),
        (Fault::Error("ratelimited"), None),
        (Fault::Error("invalid_auth"), None),
        (Fault::Error("missing_scope"), None),
    ] {
        fake.misbehave("chat.postMessage", 1, fault);
        assert_eq!(slack.deliver(&text).await, Delivery::Retry(pause), "{fault:?}");
    }
    assert!(matches!(slack.deliver(&text).await, Delivery::Sent(_)));
    let nowhere = Settings { api_url: "http://127.0.0.1:1".into(), ..settings(&fake) };
    assert_eq!(connect(nowhere).unwrap().deliver(&text).await, Delivery::Retry(None));
    let stranger = Settings { bot_token: "xoxb-wrong".into(), ..settings(&fake) };
    assert_eq!(connect(stranger).unwrap().deliver(&text).await, Delivery::Retry(None));
    assert_eq!(fake.seen(&place).len(), 1);
}

#[tokio::test]
async fn what_may_have_been_sent_is_found() {
    for (fault, is_there) in [
        (Fault::DoneThenCut, true),
        (Fault::DoneThenStatus(502), true),
        (Fault::DoneThenError("internal_error"), true),
        (Fault::Cut, false),
        (Fault::Status(500), false),
        (Fault::Error("fatal_error"), false),
        (Fault::Page(200), false),
        (Fault::Hang, false),
    ] {
        for in_thread in [false, true] {
            let (fake, slack, place) = start();
            let root = fake.say("ada", &place, "Hello?");
            let place = if in_thread { format!("{place}/{root}") } else { place };
            slack.seed(&address(&place), &[format!("{place}:{root}")]).await;
            let checkpoint = slack.checkpoint(&address(&place)).await;
            assert_eq!(checkpoint, Some(root));
            let text = Outbound { checkpoint, ..outbound(&place, "Hello **you**.") };
            fake.misbehave("chat.postMessage", 1, fault);
            assert_eq!(slack.deliver(&text).await, Delivery::Unknown, "{fault:?}");
            let found = connected(&fake).reconcile(&text).await;
            let seen = fake.seen(&place);
            match is_there {
                true => assert_eq!(found, Reconciliation::Sent(seen[0].ts.clone()), "{fault:?}"),
                false => assert_eq!((found, seen.len()), (Reconciliation::NotSent, 0), "{fault:?}"),
            }
        }
    }
}

#[tokio::test]
async fn what_was_sent_is_found_behind_much_else() {
    let (fake, slack, place) = start();
    slack.seed(&address(&place), &[fake.say("ada", &place, "Hello?")]).await;
    let checkpoint = slack.checkpoint(&address(&place)).await;
    let text = Outbound { checkpoint, ..outbound(&place, "Once.") };
    fake.misbehave("chat.postMessage", 1, Fault::DoneThenCut);
    assert_eq!(slack.deliver(&text).await, Delivery::Unknown);
    for number in 0..450 {
        fake.say("ada", &place, &number.to_string());
    }
    assert_eq!(slack.reconcile(&text).await, Reconciliation::Sent(fake.seen(&place)[0].ts.clone()));
    // Another part of the same is another message.
    assert_eq!(slack.reconcile(&Outbound { part: 1, ..text.clone() }).await, Reconciliation::NotSent);
    fake.misbehave("conversations.history", 1, Fault::Status(503));
    assert_eq!(slack.reconcile(&text).await, Reconciliation::Unavailable);
}

#[tokio::test]
async fn a_place_that_is_gone_is_told() {
    let (fake, slack, place) = start();
    let text = outbound(&place, "Hello?");
    for error in ["is_archived", "not_in_channel", "restricted_action", "team_access_not_granted"] {
        fake.close(&place, error);
        assert_eq!(slack.deliver(&text).await, Delivery::Gone(error.into()));
        assert_eq!(slack.reconcile(&text).await, Reconciliation::NotSent);
    }
    for place in ["C0815", "", "general chat", "C1/x"] {
        assert!(matches!(slack.deliver(&outbound(place, "Hello?")).await, Delivery::Gone(_)), "{place}");
    }
}

#[tokio::test]
async fn what_slack_refuses_for_its_form_is_sent_without_it() {
    let (fake, slack, place) = start();
    let text = outbound(&place, "A **bold** & <!here> text");
    fake.misbehave("chat.postMessage", 1, Fault::Error("invalid_blocks"));
    assert!(matches!(slack.deliver(&text).await, Delivery::Sent(_)));
    assert_eq!(fake.seen(&place)[0].text, "A bold & <!here> text");
    fake.misbehave("chat.postMessage", 2, Fault::Error("msg_blocks_too_long"));
    assert_eq!(slack.deliver(&text).await, Delivery::Refused("msg_blocks_too_long".into()));
    fake.misbehave("chat.postMessage", 1, Fault::Error("some_new_error"));
    assert_eq!(slack.deliver(&text).await, Delivery::Refused("some_new_error".into()));
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn buttons_are_on_the_last_part_alone_and_can_go() {
    for in_thread in [false, true] {
        let (fake, slack, place) = start();
        let root = fake.say("ada", &place, "Hello?");
        let place = if in_thread { format!("{place}/{root}") } else { place };
        let mut text = outbound(&place, &"words ".repeat(3_000));
        text.choices = vec![Choice { id: "0f3Zx:go".into(), label: "Go on".into() }];
        assert_eq!(slack.parts(&text), 2);
        for part in 0..2 {
            text.part = part;
            assert!(matches!(slack.deliver(&text).await, Delivery::Sent(_)));
        }
        let seen = fake.seen(&place);
        assert_eq!((seen[0].buttons.len(), seen[1].buttons.len()), (0, 1));
        slack.retract(&address(&place), &seen[1].ts, Retract::Buttons).await;
        let bare = fake.seen(&place).remove(1);
        assert_eq!((bare.buttons.len(), &bare.text), (0, &seen[1].text));
    }
}

#[tokio::test]
async fn a_shown_message_that_somebody_deleted_is_shown_anew() {
    let (fake, slack, place) = start();
    let Delivery::Sent(shown) = slack.show(&address(&place), None, "At work.").await else { panic!() };
    slack.typing(&address(&place)).await;
    slack.retract(&address(&place), &shown, Retract::Message).await;
    let mut answer = outbound(&place, "Done.");
    answer.edit_of = Some(shown.clone());
    assert!(matches!(slack.deliver(&answer).await, Delivery::Sent(_)));
    assert!(matches!(slack.show(&address(&place), Some(&shown), "More.").await, Delivery::Sent(_)));
    let texts: Vec<String> = fake.seen(&place).into_iter().map(|seen| seen.text).collect();
    assert_eq!(texts, ["Done.", "More."]);
}
