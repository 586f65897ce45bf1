use adjutant_chat::{AnswerDraft, Delivery, Reconciliation, Retract};
use adjutant_fakes::discord::Fault;

use super::*;

/// Somebody has asked in a channel of the guild: the channel and the message.
fn asked() -> (FakeDiscord, Discord, Address, String) {
    let fake = FakeDiscord::start();
    let (discord, place) = (connected(&fake), fake.channel("general"));
    let asked = fake.say("ada", &place, "What is due?");
    let address = address(&place);
    discord.channels.set_direct(crate::deliver::channel(&address).unwrap(), false);
    (fake, discord, address, asked)
}

async fn draft(discord: &Discord, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
    discord.show_draft(&AnswerDraft { turn: "t", event: None, address, receipt, text }).await
}

fn receipt(delivery: Delivery) -> String {
    match delivery {
        Delivery::Sent(receipt) => receipt,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_grows_in_one_message_that_replies() {
    let (fake, discord, address, asked) = asked();
    let (event, address) = (Some(&*asked), &address);
    let first = AnswerDraft { turn: "t", event, address, receipt: None, text: "Two **ta" };
    let shown = receipt(discord.show_draft(&first).await);
    assert_eq!(fake.seen(&address.place)[0].reply_to, Some(asked));
    assert_eq!(draft(&discord, address, Some(&shown), "Two **tasks**").await, Delivery::Sent(shown.clone()));
    assert_eq!(fake.seen(&address.place)[0].text, "Two tasks");
    let whole = outbound(&address.place, "Two **tasks** are due.");
    let answer = Outbound { edit_of: Some(shown.clone()), ..whole };
    assert_eq!(discord.deliver(&answer).await, Delivery::Sent(shown.clone()));
    let seen = fake.seen(&address.place);
    assert_eq!((seen.len(), seen[0].text.as_str()), (1, "Two tasks are due."));
    assert_eq!(connected(&fake).reconcile(&answer).await, Reconciliation::Sent(shown));
}

#[tokio::test]
async fn an_answer_that_somebody_deleted_while_it_grew_goes_on_in_a_new_message() {
    let (fake, discord, address, _) = asked();
    let shown = receipt(draft(&discord, &address, None, "Two").await);
    discord.retract(&address, &shown, Retract::Message).await;
    let again = receipt(draft(&discord, &address, Some(&shown), "Two tasks").await);
    assert_ne!(again, shown);
    let answer = Outbound { edit_of: Some(again.clone()), ..outbound(&address.place, "Two tasks are due.") };
    assert_eq!(discord.deliver(&answer).await, Delivery::Sent(again));
    assert_eq!(fake.seen(&address.place).len(), 1);
}

#[tokio::test]
async fn a_draft_delays_the_answer_only_as_long_as_discord_demands() {
    let (fake, discord, address, _) = asked();
    assert!(discord.draft_pace(&address) * 4 > Duration::from_secs(5), "the fifth edit is the answer's");
    let shown = receipt(draft(&discord, &address, None, "Two").await);
    for (fault, pause) in
        [(Fault::Status(429), Duration::from_millis(300)), (Fault::Page(429), Duration::ZERO)]
    {
        fake.misbehave("PATCH", "/messages/", 1, fault);
        let refused = draft(&discord, &address, Some(&shown), "Two tasks").await;
        assert_eq!(refused, Delivery::Retry(Some(pause)), "{fault:?}");
    }
    // Where none is left, the next one waits.
    fake.limit_edits(2, Duration::from_millis(300));
    for text in ["Two t", "Two ta", "Two tas", "Two task"] {
        assert_eq!(draft(&discord, &address, Some(&shown), text).await, Delivery::Sent(shown.clone()));
    }
    let answer = Outbound { edit_of: Some(shown.clone()), ..outbound(&address.place, "Two tasks.") };
    assert_eq!(discord.deliver(&answer).await, Delivery::Sent(shown));
    assert_eq!(fake.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn our_reactions_come_and_go() {
    let (fake, discord, address, asked) = asked();
    for (is_at_work, wanted) in [(true, vec!["👀"]), (true, vec!["👀"]), (false, vec![])] {
        assert!(discord.react(&address, &asked, is_at_work).await);
        assert_eq!(fake.reactions(&asked), wanted);
    }
    let before = fake.calls().len();
    // A press is no message.
    assert!(!discord.react(&address, "press:7", true).await);
    assert_eq!(fake.calls().len(), before);
    // Where we may not react, it is tried once.
    fake.forbid_reactions();
    for _ in 0..2 {
        assert!(!discord.react(&address, &asked, true).await);
    }
    assert_eq!((fake.calls().len(), fake.reactions(&asked)), (before + 1, Vec::new()));
    assert_eq!(fake.faults(), Vec::<String>::new());
}
