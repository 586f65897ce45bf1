//! What arrives, and what is confirmed, when Telegram or the store misbehaves.

use adjutant_chat::{COMMANDS, DownloadError};
use adjutant_fakes::downloaded;

use super::*;

#[tokio::test]
async fn what_is_journalled_is_confirmed_and_nothing_else() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    telegram.say(ada, ada, "one");
    // The store refuses a few times.
    let first = receiving_into(&telegram, Journal { refusals: Mutex::new(4), ..Journal::default() });
    until("it is journalled", || first.journal.texts() == ["one"]).await;
    until("it is confirmed", || telegram.unconfirmed() == 0).await;
    assert!(first.journal.trouble().contains("could not be journalled"));
    telegram.say(ada, ada, "two");
    until("the next one is journalled", || first.journal.texts() == ["one", "two"]).await;
    until("the next one is confirmed", || telegram.unconfirmed() == 0).await;
    drop(first);
    let second = receiving(&telegram);
    telegram.say(ada, ada, "three");
    until("the next process hears", || second.journal.texts() == ["three"]).await;
}

#[tokio::test]
async fn an_update_that_our_code_panics_over_is_left_out_when_intake_says_so() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    telegram.say(ada, ada, "poison");
    telegram.say(ada, ada, "two");
    let first = receiving_into(&telegram, Journal { refusals: Mutex::new(3), ..Journal::default() });
    until("the next one is journalled", || first.journal.texts() == ["two"]).await;
    until("both are confirmed", || telegram.unconfirmed() == 0).await;
    assert_eq!(first.journal.count(|one| matches!(one, ConnectionEvent::Error(_))), 2);
}

#[tokio::test]
async fn what_is_not_journalled_stays_with_telegram() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    telegram.say(ada, ada, "one");
    telegram.say(ada, ada, "two");
    let first = receiving_into(&telegram, Journal { refusals: Mutex::new(usize::MAX), ..Journal::default() });
    until("it has tried again", || first.journal.count(|one| matches!(one, ConnectionEvent::Error(_))) > 3)
        .await;
    assert_eq!((telegram.unconfirmed(), first.journal.texts().len()), (2, 0));
}

#[tokio::test]
async fn odd_updates_hold_nobody_up() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    telegram.update(json!({"brand_new_kind": {"of": "update"}}));
    telegram.update(json!({"message": {"message_id": "seven"}}));
    telegram.update(json!({"message": {"message_id": 7, "chat": 5, "entities": 3}}));
    telegram.update(json!("not even an object"));
    telegram.update(json!({"callback_query": {"id": "1"}}));
    telegram.send(ada, ada, json!({"sticker": {"file_id": "s"}}));
    telegram.send(ada, ada, json!({"new_chat_members": [{"id": 9, "is_bot": false, "first_name": "Bob"}]}));
    telegram.say(ada, ada, "still there?");
    let first = receiving(&telegram);
    until("what is behind them is heard", || first.journal.texts() == ["still there?"]).await;
    until("all are confirmed", || telegram.unconfirmed() == 0).await;
    assert_eq!(first.journal.count(|one| *one == ConnectionEvent::Ignored), 6);
}

#[tokio::test]
async fn where_everything_is_wanted_it_is_told_what_is_for_us() {
    let telegram = FakeTelegram::start();
    let (ada, group) = (telegram.person("Ada"), telegram.supergroup("Garden Club"));
    let first = receiving_into(&telegram, Journal { wants_all: Mutex::new(true), ..Journal::default() });
    telegram.say(ada, group, "what a day");
    until("it is heard", || first.journal.texts() == ["what a day"]).await;
    let rows = first.journal.rows.lock().unwrap();
    assert!(matches!(&rows[0], Inbound::Message(said) if !said.is_addressed && !said.direct), "{rows:?}");
}

#[tokio::test]
async fn that_a_group_has_moved_is_told_by_both_chats() {
    let telegram = FakeTelegram::start();
    let group = telegram.group("Crew");
    let first = receiving(&telegram);
    let moved = (group.to_string(), telegram.migrate(group).to_string());
    until("both are told", || *first.journal.moves.lock().unwrap() == [moved.clone(), moved.clone()]).await;
    let sent = first.port.deliver(&outbound(group, "Hello")).await;
    assert!(matches!(sent, Delivery::Sent(_)) && telegram.calls("sendMessage") == 1, "{sent:?}");
}

#[tokio::test]
async fn a_reaction_comes_again_until_it_is_taken() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let first = receiving_into(&telegram, Journal { refusals: Mutex::new(3), ..Journal::default() });
    let Delivery::Sent(receipt) = first.port.deliver(&outbound(ada, "Continue?")).await else {
        panic!("not sent")
    };
    for emoji in ["👀", "👍"] {
        telegram.react(ada, ada, receipt.parse().unwrap(), emoji);
    }
    // What a 👍 approved may be done, so it is told only of a 👎 that it is gone.
    let (up, down, other) = (Some("👍"), Some("👎"), Some("🔥"));
    for change in [[up, None], [None, down], [down, other], [down, up]] {
        telegram.change_reaction(ada, ada, receipt.parse().unwrap(), change);
    }
    until("all are taken", || first.journal.reacted.lock().unwrap().len() == 4).await;
    until("all are confirmed", || telegram.unconfirmed() == 0).await;
    let all = first.journal.reacted.lock().unwrap().clone();
    let told: Vec<_> = all.iter().map(|one| (one.is_up, one.is_gone)).collect();
    assert_eq!(told, [(true, false), (false, false), (false, true), (true, false)]);
    let reacted = all[0].clone();
    assert_eq!((reacted.receipt, reacted.sender.0), (receipt, ada.to_string()));
    assert_eq!(reacted.address, address(ada));
}

#[tokio::test]
async fn presses_are_answered_and_edits_told() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada Lovelace");
    let first = receiving(&telegram);
    let mut asked = outbound(ada, "Continue?");
    asked.choices = vec![Choice { id: "p:yes".to_owned(), label: "Yes".to_owned() }];
    let Delivery::Sent(receipt) = first.port.deliver(&asked).await else { panic!("not sent") };
    let press = telegram.press(ada, ada, receipt.parse().unwrap(), "Yes").unwrap();
    until("the press is answered", || telegram.is_answered(&press)).await;
    let Inbound::ButtonPress(pressed) = first.journal.rows.lock().unwrap()[0].clone() else {
        panic!("no press")
    };
    assert_eq!((pressed.event.0, pressed.button), (format!("press:{press}"), "p:yes".to_owned()));
    assert_eq!((pressed.sender_name, pressed.direct), ("Ada Lovelace".to_owned(), true));
    assert_eq!(telegram.alert(&press), "");
    *first.journal.notice.lock().unwrap() = Some("Not for you.".to_owned());
    let press = telegram.press(ada, ada, receipt.parse().unwrap(), "Yes").unwrap();
    until("the press is answered", || telegram.is_answered(&press)).await;
    assert_eq!(telegram.alert(&press), "Not for you.");
    let said = telegram.reply(ada, ada, receipt.parse().unwrap(), "Yes, do");
    telegram.edit(ada, said, "No, don't");
    until("the edit is told", || first.journal.edits.lock().unwrap().len() == 1).await;
    let edit = first.journal.edits.lock().unwrap()[0].clone();
    assert_eq!((edit.event.0, edit.text), (format!("{ada}:{said}"), "No, don't".to_owned()));
    let Inbound::Message(said) = first.journal.rows.lock().unwrap()[2].clone() else { panic!("not said") };
    assert_eq!(said.reply_to, Some(receipt));
}

#[tokio::test]
async fn files_are_named_and_can_be_downloaded() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    telegram.attach(ada, ada, ("notes.md", "application/octet-stream"), "Grüße".as_bytes(), "read this");
    telegram.attach(ada, ada, ("cat.pdf", "application/pdf"), b"%PDF", "");
    let first = receiving(&telegram);
    until("all are heard", || first.journal.texts() == ["read this", ""]).await;
    let files = first.journal.rows.lock().unwrap().clone().into_iter().map(|inbound| match inbound {
        Inbound::Message(mut said) => said.attachments.remove(0),
        Inbound::ButtonPress(_) => panic!("a press"),
    });
    let files: Vec<_> = files.map(|one| (one.name, one.file.unwrap())).collect();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["notes.md", "cat.pdf"]);
    let found = &files[0].1;
    assert_eq!((found.mime_type.as_str(), found.bytes), ("application/octet-stream", Some(7)));
    let port = port(&telegram);
    assert_eq!(downloaded(&*port, &found.file, 7).await, Ok("Grüße".as_bytes().to_vec()));
    assert_eq!(downloaded(&*port, &found.file, 6).await, Err(DownloadError::TooBig));
    telegram.misbehave("getFile", &Fault::Refusal(400, "Bad Request: file is temporarily unavailable"), 1);
    assert!(matches!(downloaded(&*port, &found.file, 7).await, Err(DownloadError::Gone(_))));
}

#[tokio::test]
async fn trouble_is_told_without_the_token_and_passes() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let echo: &str = format!("Internal Server Error: /bot{}/getUpdates", telegram.token()).leak();
    let faults = [
        ("getUpdates", Fault::Refusal(500, echo)),
        ("getMe", Fault::Cut),
        ("getMe", Fault::Page(502)),
        ("getUpdates", Fault::Cut),
        ("getUpdates", Fault::Refusal(500, "Internal Server Error")),
        (
            "getUpdates",
            Fault::Refusal(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            ),
        ),
    ];
    for (method, fault) in &faults {
        telegram.misbehave(method, fault, 1);
    }
    telegram.say(ada, ada, "Hello");
    let first = receiving(&telegram);
    until("it has recovered", || first.journal.texts() == ["Hello"]).await;
    assert_eq!(first.journal.count(|one| matches!(one, ConnectionEvent::Error(_))), faults.len());
    let all = format!("{:?}", first.journal.events.lock().unwrap());
    assert!(all.contains("another program receives with this bot's token"), "{all}");
    assert!(!all.contains(telegram.token()), "{all}");
    until("its commands are registered", || telegram.commands().len() == COMMANDS.len()).await;
}

#[tokio::test]
async fn a_webhook_is_taken_away() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    telegram.set_webhook();
    telegram.say(ada, ada, "Hello");
    let first = receiving(&telegram);
    until("it is heard", || first.journal.texts() == ["Hello"]).await;
}

#[tokio::test]
async fn two_that_receive_with_one_token_are_told() {
    let telegram = FakeTelegram::start();
    let (first, second) = (receiving(&telegram), receiving(&telegram));
    until("one is told", || {
        [&first, &second].iter().any(|one| one.journal.trouble().contains("another program"))
    })
    .await;
}

#[tokio::test]
async fn a_wrong_token_needs_a_person() {
    let telegram = FakeTelegram::start();
    for token in ["1:wrong", "4242424242:AAWrongWrongWrongWrongWrongWrongWrong42"] {
        let journal = Journal::default();
        let port = with_token(&telegram, token);
        let reason = timeout(BOUND, port.receive(&journal)).await.unwrap();
        assert!(reason.contains("channels.telegram.token") && !reason.contains(token), "{reason}");
        assert_eq!(journal.events.lock().unwrap().len(), 0);
    }
}

#[tokio::test]
async fn an_unreachable_platform_is_told_without_the_token() {
    let telegram = FakeTelegram::start();
    let port = port(&telegram);
    let token = telegram.token();
    drop(telegram);
    let journal = Arc::new(Journal::default());
    let intake = journal.clone();
    let task = tokio::spawn(async move { port.receive(&*intake).await });
    until("it is told", || journal.count(|one| matches!(one, ConnectionEvent::Error(_))) > 2).await;
    task.abort();
    let reason = journal.trouble();
    assert!(reason.contains("Telegram") && !reason.contains(token), "{reason}");
}

#[test]
fn settings_that_cant_be_right_are_refused() {
    let connect = |token: &str, api_url: &str| {
        connect(Settings { channel: "tg".into(), token: token.into(), api_url: api_url.into() }).err()
    };
    assert_eq!(connect("1:a", "https://api.telegram.org"), None);
    for token in ["", "hello", "hello:a", "1:", "1:a\n", "1/../2", "1:ä"] {
        assert_eq!(connect(token, "https://api.telegram.org"), Some(ConnectError::Token("tg".into())));
    }
    for url in ["", "api.telegram.org", "file:///etc", "http://"] {
        assert_eq!(connect("1:a", url), Some(ConnectError::ApiUrl("tg".into())), "{url}");
    }
}

#[tokio::test]
async fn a_poll_that_hangs_is_given_up() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    telegram.misbehave("getUpdates", &Fault::Hang, 1);
    telegram.say(ada, ada, "Hello");
    let mut impatient = Arc::into_inner(port(&telegram)).unwrap();
    impatient.api.timeout = Duration::from_millis(300);
    let first = receive_by(Arc::new(impatient), Journal::default());
    until("it is heard", || first.journal.texts() == ["Hello"]).await;
    assert!(first.journal.trouble().contains("no valid response"), "{}", first.journal.trouble());
}

#[tokio::test]
async fn a_week_without_updates_makes_nobody_deaf() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    telegram.say(ada, ada, "one");
    telegram.say(ada, ada, "two");
    let first = receiving(&telegram);
    until("all is confirmed", || telegram.unconfirmed() == 0).await;
    telegram.pass_a_week();
    telegram.say(ada, ada, "three");
    until("it is heard", || first.journal.texts() == ["one", "two", "three"]).await;
}
