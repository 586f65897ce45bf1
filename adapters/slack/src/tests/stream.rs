use std::time::Duration;

use adjutant_chat::{AgentProgress, AnswerDraft, Delivery, Progress, Reconciliation, Retract};
use adjutant_fakes::slack::Fault;

use super::*;

/// A thread in a channel, and the event of a message in it.
async fn thread() -> (FakeSlack, Slack, String, String) {
    let fake = FakeSlack::start();
    let (slack, channel) = (connected(&fake), fake.channel("general"));
    let root = fake.say("ada", &channel, "a root");
    let place = format!("{channel}/{root}");
    let event = format!("{channel}:{}", fake.say("ada", &place, "What is new?"));
    slack.authenticate().await.unwrap();
    slack.cache.add_sender(&event, &fake.person("ada"));
    (fake, slack, place, event)
}

async fn draft(slack: &Slack, place: &str, event: &str, receipt: Option<&str>, text: &str) -> String {
    let address = &address(place);
    match slack.show_draft(&AnswerDraft { turn: "turn", event: Some(event), address, receipt, text }).await {
        Delivery::Sent(receipt) => receipt,
        other => panic!("{other:?}"),
    }
}

fn methods(fake: &FakeSlack) -> Vec<String> {
    let calls = fake.calls().into_iter().map(|call| call.method);
    calls.filter(|method| method.starts_with("chat.")).collect()
}

fn texts(fake: &FakeSlack, place: &str) -> Vec<String> {
    fake.seen(place).into_iter().map(|seen| seen.text).collect()
}

#[tokio::test]
async fn in_a_thread_an_answer_grows_in_a_stream_and_ends_as_the_final_message() {
    let (fake, slack, place, event) = thread().await;
    let shown = draft(&slack, &place, &event, None, "The **best").await;
    for text in [
        "The **best** of",
        "The **best** of",
        "The **best** of 3.",
        "The **best** of 3.14 and <!channel> & https://x.org/?q=1",
    ] {
        assert_eq!(draft(&slack, &place, &event, Some(&shown), text).await, shown);
    }
    assert!(fake.is_streaming(&place, &shown));
    assert_eq!(texts(&fake, &place), ["The best of 3.14 and <!channel> & https://x.org/?q=1"]);
    assert_eq!(slack.draft_pace(&address(&place)), Duration::from_millis(750));
    let answer = Outbound { edit_of: Some(shown.clone()), ..outbound(&place, "The **best** of 3.14.") };
    assert_eq!(slack.deliver(&answer).await, Delivery::Sent(shown.clone()));
    assert_eq!(texts(&fake, &place), ["The best of 3.14."]);
    assert_eq!(connected(&fake).reconcile(&answer).await, Reconciliation::Sent(shown));
    assert_eq!(
        methods(&fake),
        [
            "chat.startStream",
            "chat.appendStream",
            "chat.appendStream",
            "chat.appendStream",
            "chat.stopStream",
            "chat.update",
        ]
    );
    let start = fake.calls().into_iter().find(|call| call.method == "chat.startStream").unwrap().arguments;
    assert_eq!(start["recipient_user_id"], fake.person("ada"));
    assert_eq!(start["recipient_team_id"], "T0TEAM");
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn whom_a_stream_is_for_is_known_from_what_arrived() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let (slack, channel) = (connected(&fake), fake.channel("general"));
    tokio::select! {
        sentence = slack.receive(&journal) => panic!("gave up: {sentence}"),
        () = async {
            until("connected", || fake.sockets().0 == 1).await;
            let place = format!("{channel}/{}", fake.say("ada", &channel, "a root"));
            let ts = fake.say("ada", &place, &format!("{} hello", fake.mention()));
            until("journalled", || journal.texts().len() == 1).await;
            let shown = draft(&slack, &place, &format!("{channel}:{ts}"), None, "Hello").await;
            assert!(fake.is_streaming(&place, &shown));
        } => {}
    }
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn where_there_is_no_stream_the_message_is_edited() {
    let (fake, slack, place, event) = thread().await;
    fake.misbehave("chat.startStream", 1, Fault::Error("channel_type_not_supported"));
    let shown = draft(&slack, &place, &event, None, "It").await;
    // Slack is not asked again.
    for text in ["It is", "It is **so**."] {
        assert_eq!(draft(&slack, &place, &event, Some(&shown), text).await, shown);
    }
    assert_eq!(texts(&fake, &place), ["It is so."]);
    assert_eq!(slack.draft_pace(&address(&place)), Duration::from_millis(1_500));
    // No thread; nobody knows for whom it is; it is for one person alone.
    let (direct, other) = (fake.dm("ada"), fake.channel("other"));
    let root = fake.say("ada", &other, "a root");
    let other = format!("{other}/{root}");
    let press = EventId::private(&fake.person("ada"), "press:1").0;
    for (place, event) in [(&direct, &event), (&other, &"C1:1.000000".to_owned()), (&other, &press)] {
        draft(&slack, place, event, None, "It is.").await;
    }
    let made = methods(&fake);
    assert_eq!(made.iter().filter(|method| *method == "chat.startStream").count(), 1, "{made:?}");
    assert_eq!((texts(&fake, &direct).len(), texts(&fake, &other).len()), (1, 1));
    // It wasn't the answer, and nothing was shown.
    let address = &address(&direct);
    let nothing = AnswerDraft { turn: "third", event: None, address, receipt: None, text: "" };
    assert_eq!(slack.show_draft(&nothing).await, Delivery::Sent(String::new()));
    assert_eq!(texts(&fake, &direct).len(), 1);
}

#[tokio::test]
async fn a_stream_that_ends_early_goes_on_as_edits_of_its_message() {
    for case in ["rewritten", "expired", "refused", "unclear", "deleted"] {
        let (fake, slack, place, event) = thread().await;
        let shown = draft(&slack, &place, &event, None, "One two").await;
        match case {
            "expired" => fake.expire_streams(),
            "refused" => fake.misbehave("chat.appendStream", 1, Fault::Error("msg_too_long")),
            "unclear" => fake.misbehave("chat.appendStream", 1, Fault::DoneThenCut),
            "deleted" => fake.delete(&place, &shown),
            _ => {}
        }
        let text = if case == "rewritten" { "Three" } else { "One two three" };
        let next = draft(&slack, &place, &event, Some(&shown), text).await;
        assert_eq!(next == shown, case != "deleted", "{case}");
        let text = format!("{text} four");
        assert_eq!(draft(&slack, &place, &event, Some(&next), &text).await, next, "{case}");
        assert_eq!(texts(&fake, &place), [text], "{case}");
        assert!(!fake.is_streaming(&place, &next), "{case}");
        let made = methods(&fake);
        assert_eq!(made.iter().filter(|method| *method == "chat.startStream").count(), 1, "{case}: {made:?}");
    }
}

#[tokio::test]
async fn too_many_drafts_do_not_delay_the_answer() {
    let (fake, slack, place, event) = thread().await;
    let shown = draft(&slack, &place, &event, None, "One").await;
    fake.misbehave("chat.appendStream", 1, Fault::Error("ratelimited"));
    for text in ["One two", "One two three"] {
        assert_eq!(draft(&slack, &place, &event, Some(&shown), text).await, shown);
    }
    assert_eq!(methods(&fake), ["chat.startStream", "chat.appendStream"]);
    let answer = Outbound { edit_of: Some(shown.clone()), ..outbound(&place, "One two three.") };
    assert_eq!(slack.deliver(&answer).await, Delivery::Sent(shown));
    // Nor do too many streams.
    fake.misbehave("chat.startStream", 1, Fault::Status(429));
    let address = &address(&place);
    let second = AnswerDraft { turn: "second", event: Some(&event), address, receipt: None, text: "Four" };
    assert!(matches!(slack.show_draft(&second).await, Delivery::Sent(_)));
    assert_eq!(texts(&fake, &place), ["One two three.", "Four"]);
}

#[tokio::test]
async fn what_another_process_began_to_write_is_completed_or_taken_away() {
    for is_completed in [true, false] {
        let (fake, slack, place, event) = thread().await;
        let shown = draft(&slack, &place, &event, None, "One").await;
        let successor = connected(&fake);
        if is_completed {
            let answer = Outbound { edit_of: Some(shown.clone()), ..outbound(&place, "One two.") };
            assert_eq!(successor.deliver(&answer).await, Delivery::Sent(shown));
            assert_eq!(texts(&fake, &place), ["One two."]);
        } else {
            successor.retract(&address(&place), &shown, Retract::Message).await;
            assert_eq!(texts(&fake, &place), [""; 0]);
        }
    }
}

#[tokio::test]
async fn a_stream_takes_the_place_of_progress_and_progress_that_of_a_stream() {
    let (fake, slack, place, event) = thread().await;
    let address = address(&place);
    let Delivery::Sent(progress) = slack.show(&address, None, "Working on it…").await else { panic!() };
    let shown = draft(&slack, &place, &event, Some(&progress), "One").await;
    assert_ne!(shown, progress);
    assert_eq!(texts(&fake, &place), ["One"]);
    // It wasn't the answer after all.
    let again = slack.show_progress(Some(&event), &address, Some(&shown), "Working on it…").await;
    assert_eq!(again, Delivery::Sent(shown.clone()));
    assert_eq!(texts(&fake, &place), ["Working on it…"]);
    assert_eq!(draft(&slack, &place, &event, Some(&shown), "Two").await, shown);
    assert_eq!(texts(&fake, &place), ["Two"]);
    assert!(!fake.is_streaming(&place, &shown));
}

/// A turn with these agents, each with its status and its mission.
fn at_work(place: &str, agents: &[(&str, &str)]) -> Progress {
    let agent = |(number, (status, mission)): (usize, &(&str, &str))| AgentProgress {
        agent_id: format!("agent-{number}"),
        status: (*status).into(),
        mission: (*mission).into(),
        skill: None,
        depends_on: Vec::new(),
        elapsed_ms: 0,
    };
    let agents = agents.iter().enumerate().map(agent).collect();
    let step = Some("thinking".into());
    Progress { address: address(place), turn: "turn".into(), step, agents, live: None }
}

#[tokio::test]
async fn agents_at_work_are_cards_of_a_stream_until_the_answer_begins() {
    let (fake, slack, place, event) = thread().await;
    let (address, event) = (address(&place), Some(event.as_str()));
    let shown = slack.show_agents(event, None, &at_work(&place, &[])).await;
    assert_eq!(shown, None, "a text says that we are at work");
    let Delivery::Sent(text) = slack.show(&address, None, "Working on it…").await else { panic!() };
    let agents = [("running", "Find <@U1> at x.org"), ("pending", "Write\nit down")];
    let shown = slack.show_agents(event, Some(&text), &at_work(&place, &agents)).await;
    let Some(Delivery::Sent(cards)) = shown else { panic!("{shown:?}") };
    assert_eq!(texts(&fake, &place), ["Working on it…\nin_progress: Find <@U1> at x.org\npending: Write"]);
    let agents = [("completed", "Find <@U1> at x.org"), ("pending", "Write\nit down"), ("failed", "Post it")];
    for _ in 0..2 {
        let shown = slack.show_agents(event, Some(&cards), &at_work(&place, &agents)).await;
        assert_eq!(shown, Some(Delivery::Sent(cards.clone())));
    }
    assert_eq!(
        texts(&fake, &place),
        ["Working on it…\ncomplete: Find <@U1> at x.org\npending: Write\nerror: Post it"]
    );
    // Only what has changed is sent, and once.
    let call = fake.calls().into_iter().filter(|call| call.method == "chat.appendStream");
    let sizes: Vec<usize> = call.map(|call| call.arguments["chunks"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [2]);
    let answer = draft(&slack, &place, event.unwrap(), Some(&cards), "It is").await;
    assert_eq!(draft(&slack, &place, event.unwrap(), Some(&answer), "It is done").await, answer);
    assert_eq!(texts(&fake, &place), ["It is done"]);
    assert!(fake.is_streaming(&place, &answer) && answer != cards);
    // It wasn't the answer: cards don't come again.
    assert_eq!(slack.show_agents(event, Some(&answer), &at_work(&place, &agents)).await, None);
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn where_slack_takes_no_cards_agents_are_a_text_and_answers_still_grow() {
    let (fake, slack, place, event) = thread().await;
    let (agents, event) = (at_work(&place, &[("running", "Find it")]), event.as_str());
    fake.misbehave("chat.startStream", 1, Fault::Error("invalid_arguments"));
    for _ in 0..2 {
        assert_eq!(slack.show_agents(Some(event), None, &agents).await, None);
    }
    assert_eq!(methods(&fake), ["chat.startStream"], "it is asked once");
    let shown = draft(&slack, &place, event, None, "One").await;
    assert!(fake.is_streaming(&place, &shown));
    // No thread.
    let direct = fake.dm("ada");
    assert_eq!(
        slack.show_agents(Some(event), None, &at_work(&direct, &[("running", "Find it")])).await,
        None
    );
    // Slack has closed the stream, or a process has died over it.
    for case in ["expired", "died"] {
        let (fake, slack, place, event) = thread().await;
        let [before, after] = ["running", "completed"].map(|status| at_work(&place, &[(status, "Find it")]));
        let shown = slack.show_agents(Some(&event), None, &before).await;
        let Some(Delivery::Sent(cards)) = shown else { panic!("{shown:?}") };
        if case == "expired" {
            fake.expire_streams();
            assert_eq!(slack.show_agents(Some(&event), Some(&cards), &after).await, None);
        }
        let slack = if case == "died" { connected(&fake) } else { slack };
        let answer = Outbound { edit_of: Some(cards.clone()), ..outbound(&place, "Found.") };
        assert_eq!(slack.deliver(&answer).await, Delivery::Sent(cards), "{case}");
        assert_eq!(texts(&fake, &place), ["Found."], "{case}");
    }
}

#[tokio::test]
async fn reactions_come_and_go() {
    let (fake, slack, place, event) = thread().await;
    let (address, ts) = (address(&place), event.rsplit(':').next().unwrap());
    // Another process has put it there: it stands all the same.
    for (is_at_work, shown) in [(true, vec!["eyes"]), (true, vec!["eyes"]), (false, vec![])] {
        assert!(slack.react(&address, &event, is_at_work).await);
        assert_eq!(fake.reactions(&place, ts), shown);
    }
    assert!(!slack.react(&address, &event, false).await);
    let made = fake.calls().len();
    for event in [format!("press:{event}:U1:{ts}"), EventId::private("U1", ts).0] {
        assert!(!slack.react(&address, &event, true).await);
    }
    assert_eq!(fake.calls().len(), made);
    fake.withdraw("reactions:write");
    assert!(!slack.react(&address, &event, true).await);
    let reason = "the bot lacks the scope reactions:write; messages get no 👀";
    assert!(connected(&fake).check().await.iter().any(|finding| finding.reason == reason));
}
