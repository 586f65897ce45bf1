//! Answers while they are written, and reactions.

use super::*;

fn draft<'a>(address: &'a Address, receipt: Option<&'a str>, text: &'a str) -> AnswerDraft<'a> {
    AnswerDraft { turn: "turn", event: None, address, receipt, text }
}

/// What is shown is no message.
fn vanishing() -> Delivery {
    Delivery::Sent(String::new())
}

#[tokio::test]
async fn in_a_private_chat_an_answer_grows_in_a_preview_until_its_message_comes() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let (port, address) = (port(&telegram), address(ada));
    let mut ids = Vec::new();
    for (text, seen) in [("The", "The"), ("The *one*", "The one"), ("The *one* answer", "The one answer")] {
        assert_eq!(port.show_draft(&draft(&address, None, text)).await, vanishing());
        let (id, shown) = telegram.preview(ada).unwrap();
        assert_eq!(shown, seen);
        ids.push(id);
    }
    let other = AnswerDraft { turn: "another turn", ..draft(&address, None, "Other") };
    assert_eq!(port.show_draft(&other).await, vanishing());
    ids.push(telegram.preview(ada).unwrap().0);
    ids.dedup();
    assert_eq!(ids.len(), 2, "one id for each turn: {ids:?}");
    assert_eq!(port.draft_pace(&address), Duration::from_millis(400));
    assert!(matches!(port.deliver(&outbound(ada, "The *one* answer.")).await, Delivery::Sent(_)));
    assert_eq!((telegram.preview(ada), texts(&telegram, ada)), (None, vec!["The one answer.".to_owned()]));
}

#[tokio::test]
async fn where_previews_are_refused_a_message_grows_from_then_on() {
    for refusal in [
        Fault::Refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID"),
        Fault::Refusal(404, "Not Found: method not found"),
    ] {
        let telegram = FakeTelegram::start();
        let ada = telegram.person("Ada");
        let (port, address) = (port(&telegram), address(ada));
        telegram.misbehave("sendMessageDraft", &refusal, 1);
        let Delivery::Sent(receipt) = port.show_draft(&draft(&address, None, "The")).await else {
            panic!("not shown")
        };
        assert_eq!(texts(&telegram, ada), ["The"], "{refusal:?}");
        let grown = port.show_draft(&draft(&address, Some(&receipt), "The answer")).await;
        assert_eq!(grown, Delivery::Sent(receipt.clone()));
        assert_eq!(texts(&telegram, ada), ["The answer"]);
        let row = Outbound { edit_of: Some(receipt.clone()), ..outbound(ada, "The answer.") };
        assert_eq!(port.deliver(&row).await, Delivery::Sent(receipt.clone()));
        assert!(matches!(port.show_draft(&draft(&address, None, "Next")).await, Delivery::Sent(_)));
        assert_eq!(texts(&telegram, ada), ["The answer.", "Next"]);
        assert_eq!(port.show_draft(&draft(&address, None, "")).await, vanishing());
        assert_eq!(texts(&telegram, ada).len(), 2, "there is nothing to show of no answer");
        assert_eq!(port.draft_pace(&address), Duration::from_millis(1_200));
        assert_eq!(telegram.calls("sendMessageDraft"), 1, "{refusal:?}");
    }
}

#[tokio::test]
async fn too_many_previews_delay_no_answer() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let (port, address) = (port(&telegram), address(ada));
    telegram.misbehave("sendMessageDraft", &Fault::Flood(3), 1);
    for text in ["The", "The answer"] {
        assert_eq!(port.show_draft(&draft(&address, None, text)).await, vanishing());
    }
    assert_eq!((telegram.calls("sendMessageDraft"), telegram.preview(ada)), (1, None));
    assert!(matches!(port.deliver(&outbound(ada, "The answer.")).await, Delivery::Sent(_)));
}

#[tokio::test]
async fn what_is_not_the_answer_gives_way_to_a_sign_of_work() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let (port, address) = (port(&telegram), address(ada));
    assert_eq!(port.show_draft(&draft(&address, None, "Let me look")).await, vanishing());
    assert_eq!(port.show_draft(&draft(&address, None, "")).await, vanishing());
    assert_eq!(telegram.preview(ada).map(|(_, text)| text).as_deref(), Some("Thinking…"));
    // A server of an older version wants a text, but shows previews.
    let refusal = Fault::Refusal(400, "Bad Request: text must be non-empty");
    telegram.misbehave("sendMessageDraft", &refusal, 1);
    assert_eq!(port.show_draft(&draft(&address, None, "")).await, vanishing());
    assert_eq!(port.show_draft(&draft(&address, None, "The answer")).await, vanishing());
    assert_eq!(telegram.preview(ada).map(|(_, text)| text).as_deref(), Some("The answer"));
    assert!(telegram.seen(ada).is_empty());
}

#[tokio::test]
async fn a_message_that_is_there_grows_into_the_answer_at_the_pace_of_edits() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let (port, address) = (port(&telegram), address(ada));
    let Delivery::Sent(receipt) = port.show(&address, None, "At work").await else { panic!("not shown") };
    for text in ["The", "The answer"] {
        let shown = port.show_draft(&draft(&address, Some(&receipt), text)).await;
        assert_eq!(shown, Delivery::Sent(receipt.clone()));
    }
    assert_eq!(texts(&telegram, ada), ["The"], "the second edit came too soon");
    assert_eq!((telegram.calls("editMessageText"), telegram.calls("sendMessageDraft")), (1, 0));
    let row = Outbound { edit_of: Some(receipt.clone()), ..outbound(ada, "The answer.") };
    assert_eq!(port.deliver(&row).await, Delivery::Sent(receipt));
    assert_eq!(texts(&telegram, ada), ["The answer."]);
}

#[tokio::test]
async fn in_a_group_a_reply_grows() {
    let telegram = FakeTelegram::start();
    let (ada, group) = (telegram.person("Ada"), telegram.group("group"));
    let said = telegram.say(ada, group, "@Adjutant_Bot hello");
    let (port, address, event) = (port(&telegram), address(group), format!("{group}:{said}"));
    let draft = |receipt, text| AnswerDraft { event: Some(&event), ..draft(&address, receipt, text) };
    let Delivery::Sent(receipt) = port.show_draft(&draft(None, "The")).await else { panic!("not shown") };
    assert_eq!(port.show_draft(&draft(Some(&receipt), "The answer")).await, Delivery::Sent(receipt.clone()));
    let seen = telegram.seen(group);
    assert_eq!((seen.len(), seen[0].text.as_str(), seen[0].reply_to), (1, "The answer", Some(said)));
    assert_eq!(port.draft_pace(&address), Duration::from_millis(3_200));
    assert_eq!(telegram.calls("sendMessageDraft"), 0);
    // Somebody deletes it while it is written: its answer comes as a new message.
    port.retract(&address, &receipt, Retract::Message).await;
    assert!(matches!(port.show_draft(&draft(Some(&receipt), "The answer is")).await, Delivery::Refused(_)));
    let row = Outbound { edit_of: Some(receipt), ..outbound(group, "The answer is yes.") };
    assert!(matches!(port.deliver(&row).await, Delivery::Sent(_)));
    assert_eq!(texts(&telegram, group), ["The answer is yes."]);
}

#[tokio::test]
async fn a_preview_that_fails_does_no_harm_unless_the_chat_is_closed() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let (port, address) = (port(&telegram), address(ada));
    for fault in [Fault::Cut, Fault::DoneBut502, Fault::Page(503)] {
        telegram.misbehave("sendMessageDraft", &fault, 1);
        assert_eq!(port.show_draft(&draft(&address, None, "The")).await, vanishing(), "{fault:?}");
    }
    telegram.close(ada, "bot was blocked by the user");
    let gone = Delivery::Gone("Forbidden: bot was blocked by the user".to_owned());
    assert_eq!(port.show_draft(&draft(&address, None, "The answer")).await, gone);
    assert!(telegram.seen(ada).is_empty());
}

#[tokio::test]
async fn a_reaction_is_given_and_taken_away() {
    let telegram = FakeTelegram::start();
    let (ada, group) = (telegram.person("Ada"), telegram.supergroup("group"));
    let said = telegram.say(ada, group, "@Adjutant_Bot hello");
    let (port, address, event) = (port(&telegram), address(group), format!("{group}:{said}"));
    for (is_at_work, emoji) in [(true, Some("👀")), (true, Some("👀")), (false, None)] {
        assert!(port.react(&address, &event, is_at_work).await);
        assert_eq!(telegram.reaction(group, said).as_deref(), emoji);
    }
    for event in ["press:77000001", "elsewhere:1", &format!("{ada}:{said}")] {
        assert!(!port.react(&address, event, true).await);
    }
    assert_eq!((telegram.calls("setMessageReaction"), telegram.reaction(group, said)), (3, None));
    telegram.misbehave("setMessageReaction", &Fault::Refusal(400, "Bad Request: REACTION_INVALID"), 1);
    assert!(!port.react(&address, &event, true).await, "the group allows others only");
}
