use adjutant_chat::DownloadError;
use adjutant_fakes::downloaded;
use adjutant_fakes::slack::Fault;
use serde_json::json;

use super::*;

/// Runs a test while the adapter receives.
async fn receiving(fake: &FakeSlack, journal: &Journal, test: impl AsyncFnOnce()) {
    let slack = connected(fake);
    tokio::select! {
        sentence = slack.receive(journal) => panic!("gave up: {sentence}"),
        () = async {
            until("connected", || fake.sockets().0 == 1).await;
            test().await;
        } => {}
    }
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn a_direct_message_is_journalled_and_then_acknowledged() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        let ts = fake.say("ada", &place, "Hello *there* &amp; <https://x.org|here>");
        until("acknowledged", || fake.all_acknowledged()).await;
        let said = journal.said(0);
        assert_eq!(
            (said.event, said.address, said.direct),
            (EventId(format!("{place}:{ts}")), address(&place), true)
        );
        assert_eq!(said.text, "Hello *there* & here (https://x.org)");
        assert_eq!(
            (said.sender_name.as_str(), said.sender.0, said.reply_to),
            ("ada", fake.person("ada"), None)
        );
    })
    .await;
    assert!(journal.events.lock().unwrap().contains(&ConnectionEvent::Alive));
    assert_eq!(fake.redeliveries(), 0);
}

#[tokio::test]
async fn in_company_only_what_is_meant_for_us_is_heard_and_once() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let (place, group) = (fake.channel("general"), fake.group("ada, bob and us"));
    let ours = connected(&fake).deliver(&outbound(&place, "Shall I?")).await;
    let adjutant_chat::Delivery::Sent(ours) = ours else { panic!("{ours:?}") };
    receiving(&fake, &journal, async || {
        fake.say("ada", &place, "what a day");
        fake.say("ada", &group, "nor this");
        let (bob, mention) = (fake.person("bob"), fake.mention());
        // As `message` and as `app_mention`.
        let root = fake.say("ada", &place, &format!("{mention} ask <@{bob}> what is due?"));
        until("journalled", || journal.texts() == [format!("ask @{bob} what is due?")]).await;
        fake.say("bob", &format!("{place}/{ours}"), "yes");
        until("journalled", || journal.texts().len() == 2).await;
        fake.say("bob", &format!("{place}/{root}"), "among ourselves");
        fake.say("bob", &format!("{place}/{root}"), &format!("and you, {mention}?"));
        until("acknowledged", || journal.texts().len() == 3 && fake.all_acknowledged()).await;
        let yes = journal.said(1);
        assert_eq!((yes.reply_to, yes.address), (Some(ours.clone()), address(&format!("{place}/{ours}"))));
        assert!(!journal.said(2).direct);
        assert_eq!(journal.said(2).address, address(&format!("{place}/{root}")));
        assert_eq!(journal.texts()[1..], ["yes", "and you, ?"]);
    })
    .await;
    assert!(journal.events.lock().unwrap().contains(&ConnectionEvent::Ignored));
    assert_eq!(*journal.offered.lock().unwrap(), 5);
}

#[tokio::test]
async fn where_everything_is_wanted_it_is_told_what_is_for_us() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    *journal.wants_all.lock().unwrap() = true;
    let place = fake.channel("general");
    receiving(&fake, &journal, async || {
        fake.say("ada", &place, "what a day");
        fake.say("bob", &place, &format!("{} what is due?", fake.mention()));
        until("journalled", || journal.texts() == ["what a day", "what is due?"]).await;
        assert_eq!([journal.said(0).is_addressed, journal.said(1).is_addressed], [false, true]);
    })
    .await;
}

#[tokio::test]
async fn a_burst_is_journalled_in_each_places_order() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let places = ["ada", "bob"].map(|person| (person, fake.dm(person)));
    receiving(&fake, &journal, async || {
        for number in 0..100 {
            for (person, place) in &places {
                fake.say(person, place, &format!("{person} {number}"));
            }
        }
        until("journalled", || fake.all_acknowledged()).await;
        for (person, _) in &places {
            let mut texts = journal.texts();
            texts.retain(|text| text.starts_with(person));
            assert_eq!(texts, (0..100).map(|number| format!("{person} {number}")).collect::<Vec<_>>());
        }
    })
    .await;
}

#[tokio::test]
async fn an_edit_is_handed_over() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.channel("general");
    receiving(&fake, &journal, async || {
        let ts = fake.say("ada", &place, &format!("{} buy mlik", fake.mention()));
        fake.edit(&place, &ts, &format!("{} buy milk", fake.mention()));
        until("edited", || !journal.edited.lock().unwrap().is_empty()).await;
        let edited = MessageEdit {
            event: EventId(format!("{place}:{ts}")),
            text: "buy milk".into(),
            mentions: Vec::new(),
        };
        assert_eq!(*journal.edited.lock().unwrap(), [edited]);
    })
    .await;
}

#[tokio::test]
async fn files_are_named_and_can_be_downloaded() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        fake.attach("ada", &place, "read this", ("notes.md", "text/plain", "# Notes"));
        let elsewhere = json!({"name": "evil.txt", "mimetype": "text/plain", "size": 1, "url_private": "http://127.0.0.1:1/x"});
        fake.post("ada", &place, &json!({"subtype": "file_share", "files": [elsewhere]}));
        until("journalled", || journal.texts() == ["read this", ""]).await;
        let files: Vec<_> = (0..2).map(|number| journal.said(number).attachments.remove(0)).collect();
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["notes.md", "evil.txt"]);
        let found = files[0].file.clone().unwrap();
        assert_eq!((found.mime_type.as_str(), found.bytes), ("text/plain", Some(7)));
        assert_eq!(downloaded(&connected(&fake), &found.file, 7).await, Ok(b"# Notes".to_vec()));
        assert_eq!(downloaded(&connected(&fake), &found.file, 6).await, Err(DownloadError::TooBig));
        let elsewhere = &files[1].file.as_ref().unwrap().file;
        assert!(matches!(downloaded(&connected(&fake), elsewhere, 9).await, Err(DownloadError::Gone(_))));
    })
    .await;
}

#[tokio::test]
async fn commands_and_presses_are_journalled_and_then_acknowledged() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.channel("general");
    let root = fake.say("ada", &place, "a root");
    let thread = format!("{place}/{root}");
    let mut question = outbound(&thread, "Continue?");
    question.choices = vec![Choice { id: "0f3Zx:stop".into(), label: "Stop".into() }];
    connected(&fake).deliver(&question).await;
    let ours = fake.seen(&thread).remove(0).ts;
    receiving(&fake, &journal, async || {
        let link = fake.command("ada", &place, "/link ABC-123");
        until("acknowledged", || fake.acknowledged(&link).is_some()).await;
        let pressed = fake.press("bob", &thread, &ours, "0f3Zx:stop");
        until("acknowledged", || fake.acknowledged(&pressed).is_some()).await;
        let status = fake.command("ada", &place, "/adjutant status");
        until("acknowledged", || fake.acknowledged(&status).is_some()).await;
        assert_eq!(journal.texts(), ["/link ABC-123", "pressed 0f3Zx:stop", "/status"]);
        let Inbound::ButtonPress(press) = journal.taken.lock().unwrap()[1].clone() else { panic!() };
        assert_eq!((press.address, press.sender_name.as_str()), (address(&thread), "bob"));
    })
    .await;
}

#[tokio::test]
async fn a_reaction_is_acknowledged_once_it_is_taken() {
    let (fake, journal) = (FakeSlack::start(), Journal { fails: Mutex::new(1), ..Journal::default() });
    let place = fake.channel("general");
    let thread = format!("{place}/{}", fake.say("ada", &place, "a root"));
    connected(&fake).deliver(&outbound(&thread, "Continue?")).await;
    let ours = fake.seen(&thread).remove(0).ts;
    receiving(&fake, &journal, async || {
        fake.react("ada", &thread, &ours, "eyes");
        fake.react("ada", &thread, &ours, "+1::skin-tone-2");
        fake.react("bob", &thread, &ours, "x");
        // What a 👍 approved may be done.
        fake.unreact("ada", &thread, &ours, "+1::skin-tone-2");
        fake.unreact("bob", &thread, &ours, "x");
        until("all are taken", || journal.reacted.lock().unwrap().len() == 3).await;
        until("all is acknowledged", || fake.all_acknowledged()).await;
        let reacted = journal.reacted.lock().unwrap();
        assert_eq!((reacted[0].is_up, reacted[1].is_up), (true, false));
        assert_eq!(reacted[2], IncomingReaction { is_gone: true, ..reacted[1].clone() });
        // Slack doesn't say in which thread it is.
        assert_eq!((&reacted[0].address, &reacted[0].receipt), (&address(&place), &ours));
    })
    .await;
}

fn answer_to(command: &IncomingMessage, text: &str) -> Outbound {
    Outbound { answers: vec![command.event.0.clone()], ..outbound(&command.address.place, text) }
}

#[tokio::test]
async fn only_who_gave_a_command_sees_its_answer() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let (place, dm) = (fake.channel("secret"), fake.dm("ada"));
    fake.person("bob");
    // Where the bot is no member, Slack's own address still takes the answer.
    fake.close(&place, "not_in_channel");
    let slack = connected(&fake);
    let give = async |text: &str| {
        tokio::select! {
            sentence = slack.receive(&journal) => panic!("gave up: {sentence}"),
            () = async {
                let given = fake.command("ada", &place, text);
                until("acknowledged", || fake.acknowledged(&given).is_some()).await;
            } => {}
        }
        journal.said(journal.texts().len() - 1)
    };
    let status = give("/adjutant status").await;
    for number in 1..=5 {
        let sent = slack.deliver(&answer_to(&status, &format!("Nothing {number}, see `/help`"))).await;
        assert!(matches!(sent, adjutant_chat::Delivery::Sent(_)), "{sent:?}");
    }
    let last = (place.clone(), "Nothing 5, see /adjutant help".to_owned());
    assert_eq!((fake.ephemeral("ada").len(), fake.ephemeral("ada").pop()), (5, Some(last)));
    // It takes no sixth; then it is a direct message.
    assert!(matches!(
        slack.deliver(&answer_to(&status, "Nothing 6")).await,
        adjutant_chat::Delivery::Sent(_)
    ));
    assert_eq!(fake.seen(&dm).pop().map(|seen| seen.text), Some("Nothing 6".to_owned()));
    assert!(fake.seen(&place).is_empty() && fake.ephemeral("bob").is_empty());
    // A file would be for everyone.
    let file = OutgoingFile { name: "trace.json".into(), text: "{}".into() };
    let with_file = Outbound { part: 1, file: Some(file), ..answer_to(&status, "Trace") };
    let refused = slack.deliver(&with_file).await;
    assert!(matches!(refused, adjutant_chat::Delivery::FileRefused(_)), "{refused:?}");
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn another_process_answers_a_command_privately_too() {
    let fake = FakeSlack::start();
    let place = fake.channel("general");
    let progress = connected(&fake).show(&address(&place), None, "thinking").await;
    let adjutant_chat::Delivery::Sent(progress) = progress else { panic!("{progress:?}") };
    let answers = vec![format!("command:{}:1.2.x", fake.person("ada"))];
    let answer = Outbound { answers, edit_of: Some(progress), ..outbound(&place, "Done") };
    let sent = connected(&fake).deliver(&answer).await;
    assert!(matches!(sent, adjutant_chat::Delivery::Sent(_)), "{sent:?}");
    assert_eq!(fake.ephemeral("ada"), [(place.clone(), "Done".to_owned())]);
    assert!(fake.seen(&place).is_empty(), "the progress is gone");
}

#[tokio::test]
async fn a_wrong_presser_is_told_alone() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.channel("general");
    let ts = fake.say("ada", &place, "anything");
    *journal.notice.lock().unwrap() = Some("Not <yours>.".to_owned());
    receiving(&fake, &journal, async || {
        fake.press("bob", &place, &ts, "go");
        until("told", || fake.ephemeral("bob") == [(place.clone(), "Not <yours>.".to_owned())]).await;
        until("acknowledged", || fake.all_acknowledged()).await;
        assert!(journal.texts().is_empty() && fake.ephemeral("ada").is_empty());
    })
    .await;
}

#[tokio::test]
async fn what_is_not_journalled_is_not_acknowledged_and_comes_again() {
    let (fake, journal) = (FakeSlack::with_patience(Duration::from_secs(2)), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        *journal.fails.lock().unwrap() = 1;
        let command = fake.command("ada", &place, "/new");
        until("tried", || *journal.fails.lock().unwrap() == 0).await;
        assert_eq!(fake.acknowledged(&command), None);
        until("again", || fake.acknowledged(&command).is_some()).await;
        assert_eq!((journal.texts(), fake.redeliveries()), (vec!["/new".to_owned()], 1));
        *journal.fails.lock().unwrap() = 1;
        fake.say("ada", &place, "one");
        fake.say("ada", &place, "two");
        until("journalled", || journal.texts() == ["/new", "one", "two"]).await;
    })
    .await;
    assert!(journal.is_in_trouble("journalled"));
}

#[tokio::test]
async fn what_was_said_while_we_were_away_is_caught_up() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let (dm, unknown, general) = (fake.dm("ada"), fake.dm("eve"), fake.channel("general"));
    let mention = fake.mention();
    fake.take_sockets_down();
    let seen = fake.say("ada", &dm, "seen");
    let root = fake.say("ada", &general, "seen too");
    let thread = format!("{general}/{root}");
    journal.knows(&dm, &format!("{dm}:{seen}"));
    journal.knows(&general, "command:1.2.x");
    journal.knows(&thread, &format!("{general}:{root}"));
    journal.knows("C0GONE", "C0GONE:5.000000");
    let missed: Vec<String> = (0..450).map(|number| format!("missed {number}")).collect();
    missed.iter().for_each(|text| drop(fake.say("ada", &dm, text)));
    fake.say("bob", &thread, &format!("{mention} missed in the thread"));
    fake.say("bob", &general, &format!("{mention} missed here"));
    fake.say("bob", &general, "not for us");
    let new = fake.say("bob", &general, "a new thread");
    fake.say("bob", &format!("{general}/{new}"), &format!("{mention} missed in a new thread"));
    fake.say("eve", &unknown, "the first message ever");
    fake.bring_sockets_up();
    // The first try of a place fails, and Slack asks for pauses.
    fake.misbehave("conversations.history", 1, Fault::Status(503));
    fake.misbehave("conversations.history", 1, Fault::Status(429));
    receiving(&fake, &journal, async || {
        fake.say("ada", &dm, "live");
        until("caught up", || journal.texts().len() == missed.len() + 5).await;
        let texts = journal.texts();
        let (others, in_order): (Vec<&String>, Vec<&String>) = texts
            .iter()
            .partition(|text| text.contains("here") || text.contains("thread") || text.contains("ever"));
        assert!(in_order.into_iter().eq(missed.iter().chain([&"live".to_owned()])), "{texts:?}");
        let mut others: Vec<&str> = others.into_iter().map(String::as_str).collect();
        others.sort_unstable();
        assert_eq!(
            others,
            ["missed here", "missed in a new thread", "missed in the thread", "the first message ever"]
        );
        let at = texts.iter().position(|text| text == "missed in a new thread").unwrap();
        assert_eq!(journal.said(at).address, address(&format!("{general}/{new}")));
    })
    .await;
}

#[tokio::test]
async fn what_comes_together_with_the_hello_waits_for_what_was_missed() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let dm = fake.dm("ada");
    fake.take_sockets_down();
    let seen = fake.say("ada", &dm, "seen");
    journal.knows(&dm, &format!("{dm}:{seen}"));
    fake.say("ada", &dm, "missed");
    fake.bring_sockets_up();
    fake.say("ada", &dm, "live");
    receiving(&fake, &journal, async || {
        until("caught up", || journal.texts().len() == 2 && fake.all_acknowledged()).await;
        assert_eq!(journal.texts(), ["missed", "live"]);
    })
    .await;
}

#[tokio::test]
async fn where_nothing_was_ever_heard_nothing_is_caught_up() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.dm("ada");
    fake.take_sockets_down();
    fake.say("ada", &place, "long ago");
    fake.bring_sockets_up();
    receiving(&fake, &journal, async || {
        fake.say("ada", &place, "now");
        until("journalled", || fake.all_acknowledged()).await;
        assert_eq!(journal.texts(), ["now"]);
    })
    .await;
}

#[tokio::test]
async fn a_deaf_socket_is_noticed_and_what_it_swallowed_comes_again() {
    // Its four tries last longer than a deaf socket is stood for.
    let (fake, journal) = (FakeSlack::with_patience(Duration::from_millis(1_500)), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        fake.go_deaf();
        fake.say("ada", &place, "can you hear me?");
        until("heard", || journal.texts() == ["can you hear me?"]).await;
        until("closed", || fake.sockets() == (1, 2)).await;
    })
    .await;
    assert!(journal.is_in_trouble("stopped answering"));
}

#[tokio::test]
async fn a_quiet_socket_is_no_deaf_one() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    receiving(&fake, &journal, async || {
        // Longer than a deaf one is stood for: pings are the signs of life.
        let signs =
            || journal.events.lock().unwrap().iter().filter(|one| **one == ConnectionEvent::Alive).count();
        until("pinged", || signs() > 6).await;
        assert_eq!(fake.sockets(), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn when_slack_asks_for_it_the_next_socket_is_there_before_the_old_one_goes() {
    for reason in ["warning", "refresh_requested"] {
        let (fake, journal) = (FakeSlack::start(), Journal::default());
        let place = fake.dm("ada");
        receiving(&fake, &journal, async || {
            fake.say("ada", &place, "before");
            until("heard", || journal.texts() == ["before"]).await;
            fake.ask_to_disconnect(reason);
            until("both", || fake.sockets() == (2, 2)).await;
            for number in 0..4 {
                fake.say("ada", &place, &number.to_string());
            }
            until("heard", || fake.all_acknowledged()).await;
            until("one", || fake.sockets() == (1, 2)).await;
            fake.say("ada", &place, "after");
            until("heard", || journal.texts().len() == 6).await;
        })
        .await;
        // Slack spread those that were said meanwhile over both sockets, which know of no order.
        let mut texts = journal.texts();
        texts[1..5].sort_unstable();
        assert_eq!(texts, ["before", "0", "1", "2", "3", "after"]);
        assert!(!journal.is_in_trouble(""), "{reason}");
        assert_eq!(fake.redeliveries(), 0);
    }
}

#[tokio::test]
async fn a_socket_that_breaks_is_replaced() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        for number in 1..4 {
            fake.cut_sockets();
            until("gone", || fake.sockets().1 == number + 1).await;
            fake.say("ada", &place, &format!("after {number}"));
            until("heard", || journal.texts().len() == number).await;
        }
        assert_eq!(fake.sockets(), (1, 4));
    })
    .await;
    assert!(journal.is_in_trouble("cut off"));
}

#[tokio::test]
async fn sockets_that_are_refused_are_tried_again_and_caught_up() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        let ts = fake.say("ada", &place, "before");
        until("heard", || journal.texts() == ["before"]).await;
        journal.knows(&place, &format!("{place}:{ts}"));
        fake.misbehave("apps.connections.open", 1, Fault::Status(500));
        fake.take_sockets_down();
        fake.say("ada", &place, "meanwhile");
        until("told", || journal.is_in_trouble("can't be reached")).await;
        fake.bring_sockets_up();
        until("heard", || journal.texts() == ["before", "meanwhile"]).await;
    })
    .await;
}

#[tokio::test]
async fn strange_envelopes_do_no_harm() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.dm("ada");
    receiving(&fake, &journal, async || {
        fake.tell_twice();
        for strange in [json!(null), json!({"event": {"type": "message"}}), json!([1]), json!({"actions": 7})]
        {
            for kind in ["events_api", "interactive", "slash_commands", "something_new"] {
                fake.tell(kind, strange.clone());
            }
        }
        fake.post("ada", &place, &json!({"subtype": "channel_join", "text": "joined"}));
        let ts = fake.say("ada", &place, "still there?");
        until("heard twice", || fake.all_acknowledged()).await;
        assert_eq!((journal.texts().len(), journal.said(0).event.0), (1, format!("{place}:{ts}")));
        assert_eq!(*journal.offered.lock().unwrap(), 2);
    })
    .await;
    let ignored =
        journal.events.lock().unwrap().iter().filter(|one| **one == ConnectionEvent::Ignored).count();
    assert_eq!(ignored, 2 * (4 * 4 + 1));
}

#[tokio::test]
async fn names_that_can_not_be_had_do_no_harm() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.dm("ada");
    fake.misbehave("users.info", 1, Fault::Error("missing_scope"));
    receiving(&fake, &journal, async || {
        fake.say("ada", &place, "one");
        until("heard", || journal.texts() == ["one"]).await;
        fake.say("ada", &place, "two");
        until("heard", || journal.texts() == ["one", "two"]).await;
        assert_eq!(journal.said(0).sender_name, fake.person("ada"));
        assert_eq!(journal.said(1).sender_name, "ada");
    })
    .await;
}

#[tokio::test]
async fn a_wrong_token_is_told_with_its_mend() {
    let fake = FakeSlack::start();
    let give_up = async |settings: Settings| {
        let sentence = connect(settings).unwrap().receive(&Journal::default()).await;
        assert!(!sentence.contains("wrong"), "{sentence}");
        sentence
    };
    let bot_token = "xoxb-wrong".to_owned();
    insta::assert_snapshot!(give_up(Settings { bot_token, ..settings(&fake) }).await, @"Slack rejects the token (invalid_auth). Set channels.slack.bot_token to the “Bot User OAuth Token” on the app's page at api.slack.com/apps, “OAuth & Permissions”; it begins with xoxb-.");
    let app_token = Some("xapp-wrong".into());
    insta::assert_snapshot!(give_up(Settings { app_token, ..settings(&fake) }).await, @"Slack rejects the token (invalid_auth). Set channels.slack.app_token to one from the app's page at api.slack.com/apps, “Basic Information”, “App-Level Tokens”, with the scope connections:write; it begins with xapp-.");
    for error in ["account_inactive", "token_revoked", "not_authed"] {
        fake.misbehave("auth.test", 1, Fault::Error(error));
        assert!(give_up(settings(&fake)).await.contains(error));
    }
    fake.misbehave("apps.connections.open", 1, Fault::Error("missing_scope"));
    assert!(give_up(settings(&fake)).await.contains("channels.slack.app_token lacks the scope"));
}

#[tokio::test]
async fn what_our_code_fails_on_is_set_aside_acknowledged_and_the_next_message_is_taken() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let place = fake.dm("ada");
    fake.take_sockets_down();
    let seen = fake.say("ada", &place, "seen");
    journal.knows(&place, &format!("{place}:{seen}"));
    let missed = fake.say("ada", &place, "poison from the downtime");
    fake.say("ada", &place, "missed");
    fake.bring_sockets_up();
    receiving(&fake, &journal, async || {
        until("caught up", || journal.texts() == ["missed"]).await;
        let live = fake.say("ada", &place, "poison again");
        fake.say("ada", &place, "live");
        until("the next one", || journal.texts() == ["missed", "live"] && fake.all_acknowledged()).await;
        // A command is given again by its person.
        fake.command("ada", &place, "/adjutant poison");
        fake.command("ada", &place, "/adjutant status");
        until("the command behind it", || journal.texts().len() == 3).await;
        let failed = journal.failed.lock().unwrap().clone();
        let times = |ts: &str| failed.iter().filter(|event| event.0 == format!("{place}:{ts}")).count();
        assert!(times(&missed) >= 3 && times(&live) == 3, "{failed:?}");
    })
    .await;
    assert!(journal.is_in_trouble("our code failed"));
    assert_eq!(fake.sockets().1, 1, "the connection was never lost over it");
}
