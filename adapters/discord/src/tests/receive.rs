use adjutant_chat::{COMMANDS, DownloadError, IncomingMessage};
use adjutant_fakes::downloaded;

use super::*;

/// Runs a test while the adapter receives.
async fn receiving(fake: &FakeDiscord, journal: &Journal, test: impl AsyncFnOnce()) {
    let discord = connected(fake);
    tokio::select! {
        sentence = discord.receive(journal) => panic!("gave up: {sentence}"),
        () = async {
            until("connected", || fake.sessions().0 == 1).await;
            test().await;
        } => {}
    }
    assert_eq!(fake.faults(), [""; 0]);
}

fn said(journal: &Journal, number: usize) -> IncomingMessage {
    match &journal.taken.lock().unwrap()[number] {
        Inbound::Message(said) => said.clone(),
        other => panic!("{other:?}"),
    }
}

fn is_in_trouble(journal: &Journal, reason: &str) -> bool {
    let told = |condition: &ConnectionEvent| matches!(condition, ConnectionEvent::Error(why) if why.contains(reason));
    journal.events.lock().unwrap().iter().any(told)
}

#[tokio::test]
async fn a_direct_message_is_journalled() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        let id = fake.say("ada", &place, "Hello **there**");
        until("journalled", || journal.texts() == ["Hello **there**"]).await;
        let said = said(&journal, 0);
        assert_eq!((said.event, said.address, said.direct), (EventId(id), address(&place), true));
        assert_eq!((said.sender_name.as_str(), said.reply_to), ("ada", None));
        until("commands", || fake.commands() == COMMANDS.map(|command| command.name)).await;
    })
    .await;
    assert!(journal.events.lock().unwrap().contains(&ConnectionEvent::Alive));
}

#[tokio::test]
async fn a_burst_is_journalled_in_each_places_order() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let places = ["ada", "bob"].map(|person| (person, fake.dm(person)));
    receiving(&fake, &journal, async || {
        let lines = |person: &str| (0..200).map(|number| format!("{person} {number}")).collect::<Vec<_>>();
        for number in 0..200 {
            for (person, place) in &places {
                fake.say(person, place, &format!("{person} {number}"));
            }
        }
        until("journalled", || journal.texts().len() == 400).await;
        for (person, _) in &places {
            let mut texts = journal.texts();
            texts.retain(|text| text.starts_with(person));
            assert_eq!(texts, lines(person));
        }
    })
    .await;
}

#[tokio::test]
async fn in_company_only_what_is_meant_for_us_is_heard() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let (place, thread) = (fake.channel("general"), fake.thread("release"));
    let ours = connected(&fake).deliver(&outbound(&place, "Shall I?")).await;
    let adjutant_chat::Delivery::Sent(ours) = ours else { panic!("{ours:?}") };
    receiving(&fake, &journal, async || {
        fake.say("ada", &place, "what a day");
        fake.say("bob", &place, &format!("{} what is due?", fake.mention()));
        fake.reply("ada", &place, &ours, "yes");
        until("journalled", || journal.texts() == ["what is due?", "yes"]).await;
        fake.say("ada", &thread, &format!("and here, {}?", fake.mention()));
        until("journalled", || journal.texts().len() == 3).await;
        assert_eq!(said(&journal, 1).reply_to, Some(ours.clone()));
        assert!(!said(&journal, 1).direct);
        assert_eq!(said(&journal, 2).address, address(&thread));
    })
    .await;
    assert!(journal.events.lock().unwrap().contains(&ConnectionEvent::Ignored));
}

#[tokio::test]
async fn where_everything_is_wanted_it_is_told_what_is_for_us() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    *journal.wants_all.lock().unwrap() = true;
    let place = fake.channel("general");
    receiving(&fake, &journal, async || {
        fake.say("ada", &place, "what a day");
        fake.say("bob", &place, &format!("{} what is due?", fake.mention()));
        until("journalled", || journal.texts() == ["what a day", "what is due?"]).await;
        assert_eq!([said(&journal, 0).is_addressed, said(&journal, 1).is_addressed], [false, true]);
    })
    .await;
}

#[tokio::test]
async fn a_mention_of_its_own_role_is_a_mention_of_the_bot() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.channel("general");
    let seen = fake.say("bob", &place, "seen");
    fake.say("bob", &place, &format!("{} missed", fake.own_role()));
    fake.say("bob", &place, &format!("{} missed, not for us", fake.other_role()));
    *journal.places.lock().unwrap() = vec![(address(&place), seen)];
    receiving(&fake, &journal, async || {
        until("caught up", || journal.texts() == ["missed"]).await;
        fake.say("ada", &place, &format!("{} look at this", fake.other_role()));
        let id = fake.say("ada", &place, &format!("{} what is due?", fake.own_role()));
        until("journalled", || journal.texts() == ["missed", "what is due?"]).await;
        fake.edit(&id, &format!("{} what is overdue?", fake.own_role()));
        until("edited", || !journal.edited.lock().unwrap().is_empty()).await;
        assert_eq!(journal.edited.lock().unwrap()[0].text, "what is overdue?");
        let asked = fake.calls().iter().filter(|call| call.path.ends_with("/roles")).count();
        assert_eq!(asked, 1);
    })
    .await;
}

#[tokio::test]
async fn an_edit_is_handed_over() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        let id = fake.say("ada", &place, "buy mlik");
        fake.edit(&id, "buy milk");
        until("edited", || !journal.edited.lock().unwrap().is_empty()).await;
        let edited = MessageEdit { event: EventId(id), text: "buy milk".into(), mentions: Vec::new() };
        assert_eq!(*journal.edited.lock().unwrap(), [edited]);
    })
    .await;
}

#[tokio::test]
async fn files_are_named_and_can_be_downloaded() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        fake.attach("ada", &place, "read this", ("notes.md", "text/markdown; charset=utf-8", "# Notes"));
        fake.attach("ada", &place, "", ("cat\u{202e}\n.png", "image/png", "\u{1}"));
        until("journalled", || journal.texts() == ["read this", ""]).await;
        let files: Vec<_> = (0..2).map(|number| said(&journal, number).attachments.remove(0)).collect();
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["notes.md", "cat\u{fffd} .png"]);
        let found = files[0].file.clone().unwrap();
        assert_eq!((found.mime_type.as_str(), found.bytes), ("text/markdown; charset=utf-8", Some(7)));
        assert_eq!(downloaded(&connected(&fake), &found.file, 7).await, Ok(b"# Notes".to_vec()));
        assert_eq!(downloaded(&connected(&fake), &found.file, 6).await, Err(DownloadError::TooBig));
    })
    .await;
}

#[tokio::test]
async fn commands_and_presses_are_journalled_and_then_acknowledged() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.channel("general");
    let mut question = outbound(&place, "Continue?");
    question.choices = vec![Choice { id: "0f3Zx:stop".into(), label: "Stop".into() }];
    connected(&fake).deliver(&question).await;
    let ours = fake.seen(&place).remove(0).id;
    receiving(&fake, &journal, async || {
        let link = fake.command("ada", &place, "/link ABC-123");
        until("acknowledged", || fake.answered(&link).is_some()).await;
        let pressed = fake.press("bob", &ours, "0f3Zx:stop");
        until("acknowledged", || fake.answered(&pressed).is_some()).await;
        assert_eq!(journal.texts(), ["/link ABC-123", "pressed 0f3Zx:stop"]);
        assert_eq!(said(&journal, 0).event, EventId(link.clone()));
        let Inbound::ButtonPress(press) = journal.taken.lock().unwrap()[1].clone() else { panic!() };
        assert_eq!((press.event, press.sender_name.as_str()), (EventId(format!("press:{pressed}")), "bob"));
        // Nobody else sees the sign; the answer is a message.
        let answer = fake.answered(&link).unwrap().0;
        assert_eq!((&answer["type"], &answer["data"]["flags"]), (&4.into(), &64.into()));
        assert_eq!(fake.answered(&pressed).unwrap().0["type"], 6);
        *journal.notice.lock().unwrap() = Some("Not for you.".to_owned());
        let pressed = fake.press("eve", &ours, "0f3Zx:stop");
        until("acknowledged", || fake.answered(&pressed).is_some()).await;
        let answer = fake.answered(&pressed).unwrap().0;
        assert_eq!((&answer["type"], &answer["data"]["flags"]), (&4.into(), &64.into()));
        assert_eq!(answer["data"]["content"], "Not for you.");
    })
    .await;
}

#[tokio::test]
async fn a_reaction_is_tried_until_it_is_taken() {
    let (fake, journal) = (FakeDiscord::start(), Journal { fails: Mutex::new(2), ..Journal::default() });
    let place = fake.channel("general");
    connected(&fake).deliver(&outbound(&place, "Continue?")).await;
    let ours = fake.seen(&place).remove(0).id;
    receiving(&fake, &journal, async || {
        fake.react("ada", &ours, "👀");
        fake.react("ada", &ours, "👎🏽");
        fake.react("bob", &ours, "👍");
        // What a 👍 approved may be done.
        fake.unreact("bob", &ours, "👍");
        fake.unreact("ada", &ours, "👎🏽");
        until("all are taken", || journal.reacted.lock().unwrap().len() == 3).await;
        let reacted = journal.reacted.lock().unwrap();
        assert_eq!((reacted[0].is_up, reacted[1].is_up), (false, true));
        assert_eq!(reacted[2], IncomingReaction { is_gone: true, ..reacted[0].clone() });
        assert_eq!((&reacted[0].address, &reacted[0].receipt), (&address(&place), &ours));
        assert_ne!(reacted[0].event, reacted[1].event);
    })
    .await;
}

#[tokio::test]
async fn a_press_that_is_not_journalled_is_not_acknowledged() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        *journal.fails.lock().unwrap() = 1;
        let first = fake.command("ada", &place, "/new");
        until("tried", || *journal.fails.lock().unwrap() == 0).await;
        let second = fake.command("ada", &place, "/new");
        until("acknowledged", || fake.answered(&second).is_some()).await;
        assert_eq!((journal.texts(), fake.answered(&first)), (vec!["/new".to_owned()], None));
    })
    .await;
}

#[tokio::test]
async fn a_message_is_offered_until_it_is_journalled() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        *journal.fails.lock().unwrap() = 1;
        fake.say("ada", &place, "one");
        fake.say("ada", &place, "two");
        until("journalled", || journal.texts() == ["one", "two"]).await;
    })
    .await;
    assert!(is_in_trouble(&journal, "journalled"));
}

#[tokio::test]
async fn what_was_said_while_we_were_away_is_caught_up() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let (dm, general) = (fake.dm("ada"), fake.channel("general"));
    let seen = [fake.say("ada", &dm, "seen"), format!("press:{}", fake.say("ada", &general, "seen too"))];
    let missed: Vec<String> = (0..250).map(|number| format!("missed {number}")).collect();
    missed.iter().for_each(|text| drop(fake.say("ada", &dm, text)));
    fake.say("bob", &general, &format!("{} missed here", fake.mention()));
    fake.say("bob", &general, "not for us");
    let gone = (address("77"), "5".to_owned());
    *journal.places.lock().unwrap() =
        vec![(address(&dm), seen[0].clone()), (address(&general), seen[1].clone()), gone];
    // The first try of each place fails.
    fake.misbehave("GET", "/messages", 1, adjutant_fakes::discord::Fault::Status(503));
    receiving(&fake, &journal, async || {
        fake.say("ada", &dm, "live");
        until("caught up", || journal.texts().len() == missed.len() + 2).await;
        // Each place is caught up by itself, and in order.
        let in_order = missed.iter().map(String::as_str).chain(["live"]);
        let texts = journal.texts();
        assert!(texts.iter().filter(|text| *text != "missed here").eq(in_order), "{texts:?}");
        let here = journal.texts().iter().position(|text| text == "missed here").unwrap();
        assert!(!said(&journal, here).direct);
    })
    .await;
}

#[tokio::test]
async fn a_deaf_gateway_is_noticed_and_resumed() {
    let (fake, journal) = (FakeDiscord::with_heartbeat(Duration::from_millis(200)), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        fake.go_deaf();
        fake.say("ada", &place, "can you hear me?");
        until("heard", || journal.texts() == ["can you hear me?"]).await;
        // A busy machine may miss another heartbeat.
        let (begun, resumed) = fake.sessions();
        assert!(begun == 1 && resumed >= 1, "{begun} {resumed}");
    })
    .await;
    assert!(is_in_trouble(&journal, "stopped acknowledging heartbeats"));
}

#[tokio::test]
async fn a_reconnection_that_is_asked_for_resumes() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        fake.say("ada", &place, "before");
        until("heard", || journal.texts() == ["before"]).await;
        fake.ask_to_reconnect();
        fake.say("ada", &place, "after");
        until("heard", || journal.texts() == ["before", "after"]).await;
        until("resumed", || fake.sessions() == (1, 1)).await;
    })
    .await;
}

#[tokio::test]
async fn a_gateway_that_closes_or_vanishes_is_resumed() {
    let ends: [fn(&FakeDiscord); 3] =
        [|fake| fake.close_gateway(4000), FakeDiscord::cut_gateway, |fake| fake.end_sessions(true)];
    for end in ends {
        let (fake, journal) = (FakeDiscord::start(), Journal::default());
        let place = fake.dm("ada");
        receiving(&fake, &journal, async || {
            end(&fake);
            fake.say("ada", &place, "after");
            until("heard", || journal.texts() == ["after"]).await;
            assert_eq!(fake.sessions(), (1, 1));
        })
        .await;
    }
}

#[tokio::test]
async fn a_session_that_ended_is_begun_anew_and_caught_up() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        let id = fake.say("ada", &place, "before");
        until("heard", || journal.texts() == ["before"]).await;
        *journal.places.lock().unwrap() = vec![(address(&place), id)];
        fake.end_sessions(false);
        fake.say("ada", &place, "between");
        until("heard", || journal.texts() == ["before", "between"]).await;
        assert_eq!(fake.sessions(), (2, 0));
    })
    .await;
}

#[tokio::test]
async fn a_gateway_that_was_down_is_caught_up() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        let id = fake.say("ada", &place, "before");
        until("heard", || journal.texts() == ["before"]).await;
        *journal.places.lock().unwrap() = vec![(address(&place), id)];
        fake.take_gateway_down();
        fake.say("ada", &place, "meanwhile");
        until("told", || is_in_trouble(&journal, "gateway")).await;
        fake.bring_gateway_up();
        until("heard", || journal.texts() == ["before", "meanwhile"]).await;
    })
    .await;
}

#[tokio::test]
async fn strange_events_do_no_harm() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        fake.tell_twice();
        for strange in [serde_json::json!(null), serde_json::json!({"id": "0"}), serde_json::json!([1])] {
            for name in ["MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE", "NEW_THING"] {
                fake.tell(name, &strange);
            }
        }
        fake.post("ada", &place, &serde_json::json!({"type": 7, "content": "joined"}));
        fake.post("ada", &place, &serde_json::json!({"sticker_items": [{"id": "1"}]}));
        let id = fake.say("ada", &place, "still there?");
        until("heard twice", || *journal.offered.lock().unwrap() == 2).await;
        assert_eq!((journal.texts().len(), said(&journal, 0).event), (1, EventId(id)));
        // Places don't wait for one another: what has none may be told after the message.
        let ignored = |one: &&ConnectionEvent| **one == ConnectionEvent::Ignored;
        let count = || journal.events.lock().unwrap().iter().filter(ignored).count();
        until("all the rest is ignored", || count() == 2 * (3 * 4 + 2)).await;
    })
    .await;
}

#[tokio::test]
async fn a_wrong_token_is_told_with_its_mend() {
    let fake = FakeDiscord::start();
    let token = "wrong.token".to_owned();
    let discord = connect(Settings { token, ..settings(&fake) }).unwrap();
    let sentence = discord.receive(&Journal::default()).await;
    assert!(sentence.contains("channels.discord.token"), "{sentence}");
    assert!(!sentence.contains("wrong.token"), "{sentence}");
}

#[tokio::test]
async fn a_missing_permission_is_told_with_its_mend() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    fake.forbid_message_content();
    let sentence = connected(&fake).receive(&journal).await;
    insta::assert_snapshot!(sentence, @"Discord doesn't let the bot of channels.discord read messages. Switch on “Message Content Intent” in the Developer Portal (your application, Bot, Privileged Gateway Intents).");
}

#[tokio::test]
async fn what_our_code_fails_on_is_set_aside_and_the_next_message_is_taken() {
    let (fake, journal) = (FakeDiscord::start(), Journal::default());
    let place = fake.dm("ada");
    let seen = fake.say("ada", &place, "seen");
    let missed = fake.say("ada", &place, "poison from the downtime");
    fake.say("ada", &place, "missed");
    *journal.places.lock().unwrap() = vec![(address(&place), seen)];
    receiving(&fake, &journal, async || {
        until("caught up", || journal.texts() == ["missed"]).await;
        let live = fake.say("ada", &place, "poison again");
        fake.say("ada", &place, "live");
        until("the next one", || journal.texts() == ["missed", "live"]).await;
        let failed = journal.failed.lock().unwrap().clone();
        let times = |id: &str| failed.iter().filter(|event| event.0 == id).count();
        assert_eq!((times(&missed), times(&live), failed.len()), (3, 3, 6), "{failed:?}");
    })
    .await;
    assert!(is_in_trouble(&journal, "our code failed"));
    assert_eq!(fake.sessions().0, 1, "the connection was never lost over it");
}
