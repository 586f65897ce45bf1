//! What is said, and what becomes of it when Telegram misbehaves.

use super::*;

/// Where a row stands before it is sent.
async fn marked(port: &Telegram, place: i64, text: &str) -> Outbound {
    port.seed(&address(place), &["0".to_owned()]).await;
    Outbound { checkpoint: port.checkpoint(&address(place)).await, ..outbound(place, text) }
}

#[tokio::test]
async fn what_was_cut_off_is_found_and_not_sent_twice() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    for fault in [Fault::Cut, Fault::DoneBut502] {
        let first = port(&telegram);
        let mut row = marked(&first, ada, "The *one* answer").await;
        row.checkpoint = Some(telegram.say(ada, ada, "?").to_string());
        row.choices = vec![Choice { id: "go".to_owned(), label: "Go".to_owned() }];
        telegram.misbehave("sendMessage", &fault, 1);
        let before = telegram.seen(ada).len();
        assert_eq!(first.deliver(&row).await, Delivery::Unknown, "{fault:?}");
        // Others speak meanwhile, and the process starts again.
        telegram.say(ada, ada, "Hello?");
        let found = port(&telegram).reconcile(&row).await;
        let seen = telegram.seen(ada);
        assert_eq!(found, Reconciliation::Sent(seen.last().unwrap().id.to_string()), "{fault:?}");
        assert_eq!(seen.len(), before + 1, "{fault:?}");
    }
}

#[tokio::test]
async fn what_did_not_arrive_is_absent() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let port = port(&telegram);
    let row = marked(&port, ada, "The answer").await;
    telegram.misbehave("sendMessage", &Fault::Page(502), 1);
    assert_eq!(port.deliver(&row).await, Delivery::Unknown);
    assert_eq!(port.reconcile(&row).await, Reconciliation::NotSent);
    assert_eq!(telegram.calls("editMessageText"), 50, "the probes are bounded");
    for fault in [Fault::Flood(3), Fault::Cut, Fault::Refusal(401, "Unauthorized")] {
        telegram.misbehave("editMessageText", &fault, 1);
        assert_eq!(port.reconcile(&row).await, Reconciliation::Unavailable, "{fault:?}");
    }
    telegram.close(ada, "bot was blocked by the user");
    assert_eq!(port.reconcile(&row).await, Reconciliation::NotSent, "nothing is there for anybody");
}

#[tokio::test]
async fn looking_for_a_message_changes_none_that_is_known() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let port = port(&telegram);
    let row = marked(&port, ada, "Lost").await;
    for (id, text) in [("a", "Kept"), ("b", "Kept as well")] {
        let other = Outbound { id: id.to_owned(), ..outbound(ada, text) };
        assert!(matches!(port.deliver(&other).await, Delivery::Sent(_)));
    }
    assert!(matches!(port.show(&address(ada), None, "At work").await, Delivery::Sent(_)));
    assert_eq!(port.reconcile(&row).await, Reconciliation::NotSent);
    assert_eq!(texts(&telegram, ada), ["Kept", "Kept as well", "At work"]);
}

#[tokio::test]
async fn nothing_older_than_the_question_is_looked_at() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    // This process knows nothing of what another one said since.
    let mut row = marked(&port(&telegram), ada, "Lost").await;
    assert!(matches!(port(&telegram).deliver(&outbound(ada, "An older answer")).await, Delivery::Sent(_)));
    let question = telegram.say(ada, ada, "And now?");
    row.answers = vec![format!("{ada}:{question}")];
    assert_eq!(port(&telegram).reconcile(&row).await, Reconciliation::NotSent);
    assert_eq!(texts(&telegram, ada), ["An older answer"]);
}

#[tokio::test]
async fn a_mark_is_the_highest_id_that_anybody_knows() {
    let telegram = FakeTelegram::start();
    let (ada, bob, supergroup) =
        (telegram.person("Ada"), telegram.person("Bob"), telegram.supergroup("group"));
    let first = receiving(&telegram);
    let checkpoint = async |place, newest: &[&str]| {
        let newest: Vec<String> = newest.iter().map(|name| (*name).to_owned()).collect();
        first.port.seed(&address(place), &newest).await;
        first.port.checkpoint(&address(place)).await
    };
    assert_eq!(checkpoint(ada, &[]).await, None);
    let heard = telegram.say(ada, ada, "Hello");
    until("it is heard", || first.journal.texts().len() == 1).await;
    // Private chats count together.
    assert_eq!(
        [checkpoint(ada, &[]).await, checkpoint(bob, &[]).await],
        [Some(heard.to_string()), Some(heard.to_string())]
    );
    let far = [format!("{bob}:77"), format!("{supergroup}:99"), "12".into(), "press:5".into(), "x".into()];
    assert_eq!(checkpoint(ada, &far.each_ref().map(String::as_str)).await.as_deref(), Some("77"));
    assert_eq!(checkpoint(ada, &["78"]).await.as_deref(), Some("78"), "a receipt of an earlier process");
    assert_eq!(checkpoint(supergroup, &[]).await.as_deref(), Some("99"), "a supergroup counts alone");
    assert_eq!(telegram.calls("sendMessage"), 0);
}

#[tokio::test]
async fn an_answer_in_the_shown_messages_place_is_never_sent_twice() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let first = port(&telegram);
    let Delivery::Sent(shown) = first.show(&address(ada), None, "At work").await else { panic!("not shown") };
    let mut row = marked(&first, ada, "The answer").await;
    row.edit_of = Some(shown.clone());
    telegram.misbehave("editMessageText", &Fault::Cut, 1);
    assert_eq!(first.deliver(&row).await, Delivery::Unknown);
    assert_eq!(port(&telegram).reconcile(&row).await, Reconciliation::Sent(shown.clone()));
    assert_eq!(texts(&telegram, ada), ["The answer"]);
    // Taken away by somebody, it is sent anew, and that is found too.
    first.retract(&address(ada), &shown, Retract::Message).await;
    telegram.misbehave("sendMessage", &Fault::Cut, 1);
    assert_eq!(first.deliver(&row).await, Delivery::Unknown);
    assert!(matches!(port(&telegram).reconcile(&row).await, Reconciliation::Sent(_)));
    assert_eq!(texts(&telegram, ada), ["The answer"]);
}

#[tokio::test]
async fn a_failure_says_whether_to_try_again() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let port = port(&telegram);
    let gone = |words: &str| Delivery::Gone(words.to_owned());
    let cases = [
        (Fault::Flood(7), Delivery::Retry(Some(Duration::from_secs(7)))),
        (Fault::Refusal(401, "Unauthorized"), Delivery::Retry(None)),
        (Fault::Refusal(400, "Bad Request: chat not found"), gone("Bad Request: chat not found")),
        (
            Fault::Refusal(403, "Forbidden: bot was kicked from the group chat"),
            gone("Forbidden: bot was kicked from the group chat"),
        ),
        (
            Fault::Refusal(400, "Bad Request: not enough rights to send text messages to the chat"),
            gone("Bad Request: not enough rights to send text messages to the chat"),
        ),
        (
            Fault::Refusal(400, "Bad Request: message is too long"),
            Delivery::Refused("Bad Request: message is too long".to_owned()),
        ),
        (Fault::Refusal(500, "Internal Server Error"), Delivery::Unknown),
        (Fault::Page(503), Delivery::Unknown),
        (Fault::Cut, Delivery::Unknown),
    ];
    for (fault, delivery) in cases {
        telegram.misbehave("sendMessage", &fault, 1);
        assert_eq!(port.deliver(&outbound(ada, "Hello")).await, delivery, "{fault:?}");
    }
    telegram.close(ada, "bot was blocked by the user");
    assert_eq!(port.deliver(&outbound(ada, "x")).await, gone("Forbidden: bot was blocked by the user"));
    assert!(matches!(port.deliver(&outbound("nowhere", "x")).await, Delivery::Refused(_)));
    let none = Outbound { part: 1, ..outbound(ada, "x") };
    assert!(matches!(port.deliver(&none).await, Delivery::Refused(_)));
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent() {
    let telegram = FakeTelegram::start();
    let port = port(&telegram);
    drop(telegram);
    let refused = async {
        // The listener may take a moment to be gone.
        while port.deliver(&outbound(1, "x")).await != Delivery::Retry(None) {}
    };
    assert!(timeout(BOUND, refused).await.is_ok(), "never told that it was not sent");
    assert_eq!(port.checkpoint(&address(1)).await, None);
    assert_eq!(
        port.reconcile(&outbound(1, "x")).await,
        Reconciliation::NotSent,
        "nothing to look for without a checkpoint"
    );
}

#[tokio::test]
async fn markup_that_telegram_refuses_becomes_plain_text() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let port = port(&telegram);
    let refusal = Fault::Refusal(400, "Bad Request: can't parse entities: a new rule");
    telegram.misbehave("sendMessage", &refusal, 1);
    let row = outbound(ada, "**Bold** and [a link](https://example.org/)");
    let Delivery::Sent(receipt) = port.deliver(&row).await else { panic!("not sent") };
    telegram.misbehave("editMessageText", &refusal, 1);
    assert_eq!(port.show(&address(ada), Some(&receipt), &row.text).await, Delivery::Sent(receipt));
    assert_eq!(texts(&telegram, ada), ["Bold and a link (https://example.org/)"]);
}

#[tokio::test]
async fn an_answer_goes_where_the_question_was() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let forum = telegram.supergroup("forum");
    let topic = telegram.topic(forum);
    let first = receiving(&telegram);
    let asked = telegram.say(ada, (forum, topic), "@adjutant_bot hello");
    until("it is heard", || first.journal.texts().len() == 1).await;
    let Inbound::Message(said) = first.journal.rows.lock().unwrap()[0].clone() else { panic!("not said") };
    assert_eq!(said.address.place, format!("{forum}/{topic}"));
    let mut row = outbound(&said.address.place, &"word ".repeat(1_000));
    row.answers = vec![said.event.0];
    for part in 0..first.port.parts(&row) {
        assert!(matches!(first.port.deliver(&Outbound { part, ..row.clone() }).await, Delivery::Sent(_)));
    }
    first.port.typing(&said.address).await;
    let seen = telegram.seen(forum);
    assert_eq!(seen.iter().map(|seen| seen.thread).collect::<Vec<_>>(), [Some(topic), Some(topic)]);
    assert_eq!(seen.iter().map(|seen| seen.reply_to).collect::<Vec<_>>(), [Some(asked), None]);
    // The question is deleted before its answer comes.
    row.answers = vec![format!("{forum}:999")];
    assert!(matches!(first.port.deliver(&row).await, Delivery::Sent(_)));
}

#[tokio::test]
async fn a_group_that_has_moved_is_followed() {
    let telegram = FakeTelegram::start();
    let group = telegram.group("group");
    let port = port(&telegram);
    let moved = telegram.migrate(group);
    let Delivery::Sent(receipt) = port.deliver(&outbound(group, "Hello")).await else { panic!("not sent") };
    assert_eq!(port.show(&address(group), Some(&receipt), "Hello!").await, Delivery::Sent(receipt));
    assert_eq!(texts(&telegram, moved), ["Hello!"]);
}

#[tokio::test]
async fn what_was_shown_and_is_gone_is_not_shown_again() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let port = port(&telegram);
    assert!(matches!(port.show(&address(ada), Some("7"), "x").await, Delivery::Refused(_)));
    port.typing(&address(ada)).await;
    assert_eq!((texts(&telegram, ada).len(), telegram.calls("sendChatAction")), (0, 1));
}

#[tokio::test]
async fn what_the_journal_knows_is_not_probed() {
    let telegram = FakeTelegram::start();
    let (ada, bob) = (telegram.person("Ada"), telegram.person("Bob"));
    let first = port(&telegram);
    let row = marked(&first, ada, "The one answer").await;
    let mut names = Vec::new();
    for number in 0..60 {
        let said = telegram.say(bob, bob, &format!("{number}"));
        names.push(format!("{bob}:{said}"));
        let other = Outbound { id: format!("row-{number}"), ..outbound(bob, "Noted.") };
        let Delivery::Sent(receipt) = first.deliver(&other).await else { panic!("not sent") };
        names.push(format!("{bob}:{receipt}"));
    }
    telegram.misbehave("sendMessage", &Fault::Cut, 1);
    assert_eq!(first.deliver(&row).await, Delivery::Unknown);
    assert_eq!(
        port(&telegram).reconcile(&row).await,
        Reconciliation::NotSent,
        "too far off for who knows nothing"
    );
    let second = port(&telegram);
    second.seed(&address(ada), &names).await;
    assert_eq!(second.reconcile(&row).await, Reconciliation::Sent(telegram.seen(ada)[0].id.to_string()));
    assert!(telegram.seen(bob).iter().all(|seen| seen.text == "Noted."));
}

/// A row whose text is said already and whose file is next.
async fn with_file(port: &Telegram, place: &str, name: &str, content: &str) -> Outbound {
    let file = Some(OutgoingFile { name: name.to_owned(), text: content.to_owned() });
    let row = Outbound { part: 1, file, ..outbound(place, "The report.") };
    port.seed(&row.address, &["0".to_owned()]).await;
    Outbound { checkpoint: port.checkpoint(&row.address).await, ..row }
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_found_and_not_sent_twice() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    for (number, fault) in [Fault::Cut, Fault::DoneBut502].iter().enumerate() {
        let first = port(&telegram);
        let row = with_file(&first, &ada.to_string(), &format!("r{number}.md"), "ü🦀\r\n").await;
        telegram.misbehave("sendDocument", fault, 1);
        assert_eq!(first.deliver(&row).await, Delivery::Unknown, "{fault:?}");
        // Others speak meanwhile, something else is said, and the process starts again.
        telegram.say(ada, ada, "Hello?");
        let other = Outbound { id: "other".to_owned(), ..outbound(ada, "Something else") };
        assert!(matches!(first.deliver(&other).await, Delivery::Sent(_)));
        let found = port(&telegram).reconcile(&row).await;
        let files: Vec<_> = telegram.seen(ada).into_iter().filter(|seen| seen.file.is_some()).collect();
        assert_eq!(files.len(), number + 1, "{fault:?}");
        assert_eq!(found, Reconciliation::Sent(files[number].id.to_string()), "{fault:?}");
    }
    assert_eq!(texts(&telegram, ada), ["", "Something else", "", "Something else"], "nothing was changed");
}

#[tokio::test]
async fn a_file_did_not_arrive() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let port = port(&telegram);
    let row = with_file(&port, &ada.to_string(), "r.md", "x").await;
    telegram.misbehave("sendDocument", &Fault::Page(502), 1);
    assert_eq!(port.deliver(&row).await, Delivery::Unknown);
    assert_eq!(port.reconcile(&row).await, Reconciliation::NotSent);
    for fault in [Fault::Flood(3), Fault::Cut] {
        telegram.misbehave("editMessageCaption", &fault, 1);
        assert_eq!(port.reconcile(&row).await, Reconciliation::Unavailable, "{fault:?}");
    }
    telegram.misbehave("sendDocument", &Fault::Flood(3), 1);
    assert_eq!(port.deliver(&row).await, Delivery::Retry(Some(Duration::from_secs(3))));
}

#[tokio::test]
async fn where_files_are_not_wanted_none_is_sent() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let port = port(&telegram);
    let row = with_file(&port, &ada.to_string(), "r.md", "x").await;
    for words in
        ["not enough rights to send documents to the chat", "CHAT_SEND_DOCS_FORBIDDEN", "FILE_PARTS_INVALID"]
    {
        telegram.misbehave("sendDocument", &Fault::Refusal(400, words), 1);
        assert_eq!(port.deliver(&row).await, Delivery::FileRefused(words.to_owned()));
    }
    telegram.close(ada, "bot was blocked by the user");
    assert_eq!(port.deliver(&row).await, Delivery::Gone("Forbidden: bot was blocked by the user".to_owned()));
}

#[tokio::test]
async fn a_file_goes_into_its_topic_and_moves_with_its_group() {
    let telegram = FakeTelegram::start();
    let group = telegram.group("Crew");
    let port = port(&telegram);
    let content = "grün\r\n".repeat(40_000);
    let row = with_file(&port, &group.to_string(), "all.json", &content).await;
    let new = telegram.migrate(group);
    assert!(matches!(port.deliver(&row).await, Delivery::Sent(_)));
    let seen = telegram.seen(new).remove(0);
    let json = ("all.json".to_owned(), "application/json".to_owned(), content);
    assert_eq!((seen.file, seen.text.as_str()), (Some(json), ""));
    let forum = telegram.supergroup("Forum");
    let topic = telegram.topic(forum);
    let row = with_file(&port, &format!("{forum}/{topic}"), "r.md", "x").await;
    assert!(matches!(port.deliver(&row).await, Delivery::Sent(_)));
    assert_eq!(telegram.seen(forum)[0].thread, Some(topic));
}
