//! A command that takes long: what its person sees before the answer, and where the answer comes when it is late.

use std::time::Instant;

use adjutant_chat::Delivery;

use super::*;
use crate::cache::CommandAddress;

/// A command as it was given.
async fn given(slack: &Slack, fake: &FakeSlack, place: &str, text: &str) -> IncomingMessage {
    let journal = Journal::default();
    tokio::select! {
        sentence = slack.receive(&journal) => panic!("gave up: {sentence}"),
        () = async {
            let given = fake.command("ada", place, text);
            until("acknowledged", || fake.acknowledged(&given).is_some()).await;
        } => {}
    }
    journal.said(0)
}

async fn shows(
    slack: &Slack,
    command: &IncomingMessage,
    receipt: Option<&str>,
    text: &str,
) -> Result<String, Delivery> {
    match slack.show_progress(Some(&command.event.0), &command.address, receipt, text).await {
        Delivery::Sent(receipt) => Ok(receipt),
        other => Err(other),
    }
}

fn answer(command: &IncomingMessage, text: &str, edit_of: Option<String>) -> Outbound {
    let answers = vec![command.event.0.clone()];
    Outbound { answers, edit_of, ..outbound(&command.address.place, text) }
}

#[tokio::test]
async fn a_long_command_is_announced_once_to_its_person_alone() {
    let fake = FakeSlack::start();
    let (room, closed) = (fake.channel("general"), fake.channel("secret"));
    fake.person("bob");
    fake.close(&closed, "not_in_channel");
    let slack = connected(&fake);
    for (number, place) in [&room, &closed].into_iter().enumerate() {
        let command = given(&slack, &fake, place, "/adjutant run `flow` <now>").await;
        let receipt = shows(&slack, &command, None, "Working on it…\n- ▸ first").await.unwrap();
        let again = shows(&slack, &command, Some(&receipt), "Working on it…\n- ✓ first").await.unwrap();
        assert_eq!(receipt, again);
        let told = "Started /adjutant run 'flow' <now>. I'll answer here, and only you will see it. If it takes longer \
                    than half an hour, I'll send you the answer as a direct message.";
        let seen = fake.ephemeral("ada");
        assert_eq!((seen.len(), seen.last()), (2 * number + 1, Some(&(place.clone(), told.to_owned()))));
        let sent = slack.deliver(&answer(&command, "Done", Some(receipt))).await;
        assert!(matches!(sent, Delivery::Sent(_)), "{sent:?}");
        assert_eq!(fake.ephemeral("ada").last(), Some(&(place.clone(), "Done".to_owned())));
        assert!(fake.seen(place).is_empty() && fake.ephemeral("bob").is_empty());
    }
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn alone_with_us_a_person_sees_how_a_command_is_doing() {
    let fake = FakeSlack::start();
    let dm = fake.dm("ada");
    let slack = connected(&fake);
    let command = given(&slack, &fake, &dm, "/adjutant run flow").await;
    let receipt = shows(&slack, &command, None, "Working on it…\n- ▸ first").await.unwrap();
    shows(&slack, &command, Some(&receipt), "Working on it…\n- ✓ first").await.unwrap();
    let texts: Vec<String> = fake.seen(&dm).into_iter().map(|seen| seen.text).collect();
    assert!(texts.len() == 1 && texts[0].contains("✓ first"), "{texts:?}");
    slack.deliver(&answer(&command, "Done", Some(receipt))).await;
    assert!(fake.seen(&dm).is_empty(), "the progress is gone");
    assert_eq!(fake.ephemeral("ada"), [(dm, "Done".to_owned())]);
}

#[tokio::test]
async fn after_half_an_hour_the_answer_is_a_direct_message_that_says_what_it_answers() {
    let fake = FakeSlack::start();
    let (room, dm) = (fake.channel("general"), fake.dm("ada"));
    let slack = connected(&fake);
    let command = given(&slack, &fake, &room, "/adjutant run flow").await;
    let known = slack.cache.command(&command.event.0).unwrap();
    assert!(known.until > Instant::now());
    let is_over = CommandAddress { until: Instant::now(), ..known };
    slack.cache.add_command(&command.event.0, is_over);
    let sent = slack.deliver(&answer(&command, "Done at last", None)).await;
    assert!(matches!(sent, Delivery::Sent(_)), "{sent:?}");
    let texts: Vec<String> = fake.seen(&dm).into_iter().map(|seen| seen.text).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].contains("/adjutant run flow") && texts[0].contains("Done at last"), "{texts:?}");
    assert!(fake.ephemeral("ada").is_empty() && fake.seen(&room).is_empty());
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn another_process_says_that_it_is_at_work_too() {
    let fake = FakeSlack::start();
    let room = fake.channel("general");
    let slack = connected(&fake);
    let event = format!("command:{}:1.2.x", fake.person("ada"));
    let shown = slack.show_progress(Some(&event), &address(&room), None, "Working on it…").await;
    assert!(matches!(shown, Delivery::Sent(_)), "{shown:?}");
    let seen = fake.ephemeral("ada");
    assert!(seen.len() == 1 && seen[0].1.starts_with("I'm on it."), "{seen:?}");
    assert!(fake.seen(&room).is_empty());
}

#[tokio::test]
async fn what_follows_a_press_below_a_private_answer_is_private_too() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let room = fake.channel("secret");
    fake.close(&room, "not_in_channel");
    let slack = connected(&fake);
    tokio::select! {
        sentence = slack.receive(&journal) => panic!("gave up: {sentence}"),
        () = async {
            let pressed = fake.press_private("ada", &room, "q1:approve");
            until("acknowledged", || fake.acknowledged(&pressed).is_some()).await;
        } => {}
    }
    let Inbound::ButtonPress(press) = journal.taken.lock().unwrap()[0].clone() else { panic!("no press") };
    assert_eq!((press.button.as_str(), press.address), ("q1:approve", address(&room)));
    let shown = slack.show_progress(Some(&press.event.0), &address(&room), None, "Working on it…").await;
    assert!(matches!(shown, Delivery::Sent(_)), "{shown:?}");
    let answer = Outbound { answers: vec![press.event.0.clone()], ..outbound(&room, "Done") };
    assert!(matches!(slack.deliver(&answer).await, Delivery::Sent(_)));
    let seen: Vec<String> = fake.ephemeral("ada").into_iter().map(|(_, text)| text).collect();
    assert!(seen.len() == 2 && seen[0].starts_with("I'm on it.") && seen[1] == "Done", "{seen:?}");
    assert_eq!(fake.faults(), [""; 0]);
}
