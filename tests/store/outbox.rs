//! The outbox: messages until their receipts are stored.

use adjutant_chat::{Address, Choice, Form, Outbound, OutgoingFile};
use adjutant_store::Stale;
use adjutant_store::StoreError;
use adjutant_store::outbox::{self, Message, OutboxRow};
use adjutant_types::{MessageForm, OutboxId, OutboxState};

use crate::world::{World, stale};

on_both!(
    a_message_reaches_the_adapter_as_it_was_written,
    messages_are_said_in_order,
    what_was_sent_is_found_by_its_receipt_also_in_a_thread,
    what_another_living_instance_says_is_its_own,
    a_row_is_claimed_by_one,
    who_read_a_row_before_another_attempt_has_to_read_it_again,
    a_sending_that_was_cut_off_is_unknown,
    what_was_sent_is_never_sent_again,
    what_was_not_sent_is_tried_again_or_given_up,
    parts_are_sent_one_after_the_other,
    where_no_file_can_be_sent_its_text_is_said,
    what_is_refused_takes_another_form_once,
    what_is_given_up_is_said_once,
    a_file_that_is_tried_again_is_behind_all_texts,
    a_process_that_slept_does_not_undo_what_others_did,
);

/// Adds a plain message to Ada's room; returns its id.
pub(crate) async fn say(world: &World, text: &str, instance: &str) -> OutboxId {
    say_in_turn(world, text, instance, None).await
}

pub(crate) async fn say_in_turn(world: &World, text: &str, instance: &str, turn: Option<&str>) -> OutboxId {
    let room = world.room().await;
    let message = Message {
        text: text.into(),
        turn: turn.map(Into::into),
        answers: vec!["m1".into()],
        ..Message::default()
    };
    let mut id = OutboxId::default();
    world
        .write(|batch| id = outbox::say(&world.store, batch, &room.id, &instance.into(), &message))
        .await
        .unwrap();
    id
}

pub(crate) async fn open(world: &World, instance: &str) -> Vec<OutboxRow> {
    let room = world.room().await;
    outbox::open(&world.store, &room.id, &instance.into(), 10).await.unwrap()
}

async fn texts(world: &World, instance: &str) -> Vec<String> {
    open(world, instance).await.into_iter().map(|row| row.text).collect()
}

/// A row's state, attempts, receipt and error.
async fn stored(world: &World, id: &str) -> (String, i64, Option<String>, Option<String>) {
    world
        .store
        .first("SELECT state, attempts, receipt, error FROM outbox WHERE id = $1", &[id.into()])
        .await
        .unwrap()
        .expect("the row is there")
}

async fn a_message_reaches_the_adapter_as_it_was_written(world: World) {
    let room = world.room().await;
    let message = Message {
        turn: Some("t1".into()),
        answers: vec!["m1".into(), "m\"2".into()],
        text: "**go on?**".into(),
        choices: vec![Choice { id: "p1:continue".into(), label: "Continue".into() }],
        file: Some(OutgoingFile { name: "report.md".into(), text: "# All\n".into() }),
        aloud: false,
    };
    let mut id = OutboxId::default();
    world
        .write(|batch| id = outbox::say(&world.store, batch, &room.id, &"a".into(), &message))
        .await
        .unwrap();
    let rows = open(&world, "a").await;
    assert_eq!(
        (rows[0].state.as_str(), rows[0].attempts, rows[0].created_at),
        ("pending", 0, world.store.now())
    );
    let expected = Outbound {
        id: id.to_string(),
        address: Address { channel: "console".into(), place: "main".into() },
        turn: message.turn.map(Into::into),
        answers: message.answers,
        text: message.text,
        choices: message.choices,
        form: adjutant_chat::Form::Rich,
        part: 0,
        checkpoint: None,
        edit_of: None,
        file: message.file,
        voice: None,
    };
    assert_eq!(rows[0].outbound(), expected);
    assert_eq!(expected.without_file().text, "**go on?**\n\n# All\n");
    assert_eq!(id.len(), 22);
    let broken = OutboxRow { answers: "x".into(), choices: "{".into(), ..rows[0].clone() };
    assert!(broken.outbound().choices.is_empty(), "what is unreadable is left out, the text is said");
}

async fn what_was_sent_is_found_by_its_receipt_also_in_a_thread(world: World) {
    let id = say(&world, "hello", "a").await;
    let sent = async |place: &str, receipt: &str| {
        outbox::by_receipt(&world.store, ("console", place), receipt).await.unwrap().map(|found| found.0)
    };
    assert_eq!(sent("main", "r1").await, None);
    world.by_hand("UPDATE outbox SET state = 'sent', receipt = 'r1'").await;
    assert_eq!(sent("main", "r1").await, Some(id.clone()));
    world.by_hand("UPDATE conversations SET place = 'main/7'").await;
    assert_eq!(sent("main", "r1").await, Some(id));
    for (place, receipt) in [("mai", "r1"), ("main/8", "r1"), ("main", "r2")] {
        assert_eq!(sent(place, receipt).await, None, "{place} {receipt}");
    }
}

async fn messages_are_said_in_order(world: World) {
    for n in 0..12 {
        say(&world, &n.to_string(), "a").await;
    }
    let expected: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    assert_eq!(texts(&world, "a").await, expected);
    let room = world.room().await;
    assert_eq!(outbox::open(&world.store, &room.id, &"a".into(), 1).await.unwrap()[0].text, "0");
    assert!(outbox::open(&world.store, &"another room".into(), &"a".into(), 1).await.unwrap().is_empty());
}

async fn what_another_living_instance_says_is_its_own(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    say(&world, "theirs", &theirs.id).await;
    say(&world, "ours", &ours.id).await;
    assert_eq!(texts(&world, &ours.id).await, ["ours"]);
    let row = &open(&world, &theirs.id).await[0];
    let claimed = outbox::claim(&world.store, row, &ours.id).await;
    assert_eq!(stale(claimed), Stale::DeliveredElsewhere);
    theirs.leave(&world.store).await.unwrap();
    assert_eq!(texts(&world, &ours.id).await, ["theirs", "ours"]);
}

async fn a_row_is_claimed_by_one(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let id = say(&world, "left by the dead", "gone").await;
    let row = &open(&world, &ours.id).await[0];
    assert_eq!(open(&world, &theirs.id).await[0].id, row.id, "both see it");
    outbox::claim(&world.store, row, &ours.id).await.unwrap();
    stale(outbox::claim(&world.store, row, &theirs.id).await);
    assert!(open(&world, &theirs.id).await.is_empty());
    assert_eq!(stored(&world, &id).await, ("sending".into(), 1, None, None));
}

async fn who_read_a_row_before_another_attempt_has_to_read_it_again(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    say(&world, "left by the dead", "gone").await;
    let before = &open(&world, &ours.id).await[0];
    outbox::claim(&world.store, &open(&world, &theirs.id).await[0], &theirs.id).await.unwrap();
    theirs.leave(&world.store).await.unwrap();
    let claimed = outbox::claim(&world.store, before, &ours.id).await;
    assert_eq!(stale(claimed), Stale::DeliveredElsewhere, "it may have been sent since");
    let now = &open(&world, &ours.id).await[0];
    assert_eq!((now.state, now.attempts), (OutboxState::Unknown, 1));
    outbox::claim(&world.store, now, &ours.id).await.unwrap();
}

async fn a_sending_that_was_cut_off_is_unknown(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    say(&world, "hello", &theirs.id).await;
    let row = &open(&world, &theirs.id).await[0];
    outbox::claim(&world.store, row, &theirs.id).await.unwrap();
    theirs.leave(&world.store).await.unwrap();
    let left = &open(&world, &ours.id).await[0];
    assert_eq!((left.state.as_str(), left.attempts), ("unknown", 1));
    outbox::claim(&world.store, left, &ours.id).await.unwrap();
    assert_eq!(
        open(&world, &ours.id).await[0].state,
        OutboxState::Unknown,
        "also to the same process after a fault"
    );
}

async fn what_was_sent_is_never_sent_again(world: World) {
    let id = say(&world, "hello", "a").await;
    let row = &open(&world, "a").await[0];
    outbox::claim(&world.store, row, &"a".into()).await.unwrap();
    outbox::sent(&world.store, row, "receipt 1").await.unwrap();
    assert!(open(&world, "a").await.is_empty());
    stale(outbox::claim(&world.store, row, &"a".into()).await);
    outbox::sent(&world.store, row, "receipt 2").await.unwrap();
    outbox::reschedule(&world.store, row, OutboxState::Pending, 0, "not sent").await.unwrap();
    assert_eq!(stored(&world, &id).await, ("sent".into(), 1, Some("receipt 1".into()), None));
}

async fn what_was_not_sent_is_tried_again_or_given_up(world: World) {
    let id = say(&world, "hello", "a").await;
    let row = &open(&world, "a").await[0];
    outbox::reschedule(&world.store, row, OutboxState::Unknown, 5, "could not look it up").await.unwrap();
    assert_eq!(open(&world, "a").await[0].state, OutboxState::Unknown, "a look-up needs no claim");
    outbox::claim(&world.store, row, &"a".into()).await.unwrap();
    outbox::reschedule(&world.store, row, OutboxState::Pending, 77, "not sent").await.unwrap();
    let again = &open(&world, "a").await[0];
    assert_eq!((again.state.as_str(), again.attempts, again.next_at), ("pending", 1, 77));
    outbox::claim(&world.store, again, &"a".into()).await.unwrap();
    let room = world.room().await;
    let give_up = async || {
        let reason = "the chat is gone";
        outbox::give_up(&world.store, again, &room.id, &"a".into(), reason, None).await
    };
    give_up().await.unwrap();
    stale(give_up().await);
    assert!(open(&world, "a").await.is_empty());
    assert_eq!(stored(&world, &id).await, ("dead".into(), 2, None, Some("the chat is gone".into())));
    let nonsense: Result<(), StoreError> =
        outbox::reschedule(&world.store, again, OutboxState::Pending, 0, "again").await;
    nonsense.unwrap();
    assert_eq!(stored(&world, &id).await.0, "dead", "what is given up stays so");
}

async fn parts_are_sent_one_after_the_other(world: World) {
    let id = say(&world, "a long story", "a").await;
    let first = OutboxRow {
        checkpoint: Some("7".into()),
        edit_of: Some("6".into()),
        ..open(&world, "a").await.remove(0)
    };
    outbox::claim(&world.store, &first, &"a".into()).await.unwrap();
    let claimed = open(&world, "a").await.remove(0);
    assert_eq!(
        (claimed.checkpoint.as_deref(), claimed.edit_of.as_deref()),
        (Some("7"), Some("6")),
        "for a look-up"
    );
    outbox::part_sent(&world.store, &first, "receipt 1", false).await.unwrap();
    let second = open(&world, "a").await.remove(0);
    assert_eq!((second.state.as_str(), second.part, second.attempts), ("pending", 1, 0));
    assert_eq!((&second.checkpoint, &second.edit_of), (&None, &None), "those were the first part's");
    outbox::claim(&world.store, &second, &"a".into()).await.unwrap();
    // A worker that still believes the first part is next changes nothing, and learns whether it sent it once more.
    for (again, other) in [("receipt 1", None), ("receipt 1b", Some("receipt 1".to_owned()))] {
        assert_eq!(outbox::part_sent(&world.store, &first, again, false).await.unwrap(), other);
        assert_eq!(outbox::sent(&world.store, &first, again).await.unwrap(), other);
    }
    outbox::reschedule(&world.store, &first, OutboxState::Pending, 0, "not sent").await.unwrap();
    let open_row = &open(&world, "a").await[0];
    assert_eq!((open_row.state.as_str(), open_row.part), ("unknown", 1), "the second is under way");
    assert_eq!(outbox::place_of(&world.store, &id).await.unwrap().unwrap().2, "receipt 1");
    assert_eq!(outbox::sent(&world.store, &second, "receipt 2").await.unwrap(), None);
    assert_eq!(stored(&world, &id).await.0, "sent");
    let other = Some("receipt 2".to_owned());
    assert_eq!(outbox::sent(&world.store, &second, "receipt 2b").await.unwrap(), other);
    assert_eq!(
        outbox::part_sent(&world.store, &first, "receipt 1b", false).await.unwrap(),
        None,
        "nobody knows"
    );
    let standing = outbox::place_of(&world.store, &id).await.unwrap().unwrap();
    assert_eq!(standing, ("console".into(), "main".into(), "receipt 2".into()));
    for (receipt, is_ours) in [("receipt 1", true), ("receipt 2", true), ("receipt 1b", false), ("1", false)]
    {
        let found = outbox::by_receipt(&world.store, ("console", "main"), receipt).await.unwrap();
        assert_eq!(found, is_ours.then(|| (id.clone(), None, "receipt 2".to_owned())), "{receipt}");
    }
}

async fn what_is_refused_takes_another_form_once(world: World) {
    say(&world, "hello", "a").await;
    let row = &open(&world, "a").await[0];
    stale(outbox::change_form(&world.store, row, MessageForm::Plain).await);
    outbox::claim(&world.store, row, &"a".into()).await.unwrap();
    outbox::change_form(&world.store, row, MessageForm::Plain).await.unwrap();
    stale(outbox::change_form(&world.store, row, MessageForm::Plain).await);
    let plain = &open(&world, "a").await[0];
    assert_eq!(
        (plain.state, plain.form, plain.outbound().form),
        (OutboxState::Pending, MessageForm::Plain, Form::Plain)
    );
    stale(outbox::claim(&world.store, row, &"a".into()).await);
    let later = OutboxRow { part: 3, form: MessageForm::File, form_part: 2, ..plain.clone() };
    assert_eq!(later.outbound().form, Form::File(2));
}

async fn what_is_given_up_is_said_once(world: World) {
    let room = world.room().await;
    for text in ["one", "two"] {
        say(&world, text, "a").await;
    }
    for row in open(&world, "a").await {
        let notice = Some("Some of it is lost.".to_owned());
        outbox::give_up(&world.store, &row, &room.id, &"a".into(), "too late", notice).await.unwrap();
    }
    let notices = open(&world, "a").await;
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!((notices[0].text.as_str(), notices[0].form), ("Some of it is lost.", MessageForm::Notice));
    assert_eq!(notices[0].outbound().answers, ["m1"], "it goes to who was to get it");
}

async fn a_file_that_is_tried_again_is_behind_all_texts(world: World) {
    for text in ["first file", "second file", "text"] {
        say(&world, text, "a").await;
    }
    let all = open(&world, "a").await;
    for row in &all[..2] {
        outbox::part_sent(&world.store, row, "receipt", true).await.unwrap();
    }
    assert_eq!(texts(&world, "a").await, ["first file", "text"], "one file after the other");
    let file = &open(&world, "a").await[0];
    outbox::claim(&world.store, file, &"a".into()).await.unwrap();
    outbox::reschedule(&world.store, file, OutboxState::Pending, 0, "not sent").await.unwrap();
    assert_eq!(texts(&world, "a").await, ["text", "first file"]);
    outbox::sent(&world.store, file, "receipt 2").await.unwrap();
    assert_eq!(texts(&world, "a").await, ["second file", "text"]);
}

async fn where_no_file_can_be_sent_its_text_is_said(world: World) {
    let room = world.room().await;
    let file = Some(OutgoingFile { name: "all.json".into(), text: "[1, 2]".into() });
    let message = Message { turn: Some("t1".into()), file, ..Message::from("In short.".to_owned()) };
    let mut id = OutboxId::default();
    world
        .write(|batch| id = outbox::say(&world.store, batch, &room.id, &"a".into(), &message))
        .await
        .unwrap();
    outbox::part_sent(&world.store, &open(&world, "a").await[0], "receipt 1", false).await.unwrap();
    let row = &open(&world, "a").await[0];
    stale(outbox::say_instead(&world.store, row, &room.id, &"a".into()).await);
    outbox::claim(&world.store, row, &"a".into()).await.unwrap();
    outbox::say_instead(&world.store, row, &room.id, &"a".into()).await.unwrap();
    stale(outbox::say_instead(&world.store, row, &room.id, &"a".into()).await);
    assert_eq!(stored(&world, &id).await.0, "sent");
    let rows = open(&world, "a").await;
    assert_eq!(rows.len(), 1, "it is said once");
    assert_eq!((rows[0].text.as_str(), rows[0].part), ("```\n[1, 2]\n```", 0));
    assert_eq!(rows[0].turn_id.as_deref(), Some("t1"));
    assert_eq!(
        (rows[0].file.as_deref(), rows[0].outbound().file),
        (Some(""), None),
        "it becomes no file again"
    );
}

async fn a_process_that_slept_does_not_undo_what_others_did(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let id = say(&world, "hello", &theirs.id).await;
    let slept = &open(&world, &theirs.id).await[0];
    outbox::claim(&world.store, slept, &theirs.id).await.unwrap();
    theirs.leave(&world.store).await.unwrap();
    let row = &open(&world, &ours.id).await[0];
    outbox::claim(&world.store, row, &ours.id).await.unwrap();
    outbox::reschedule(&world.store, slept, OutboxState::Pending, 0, "not sent").await.unwrap();
    assert_eq!(stored(&world, &id).await.0, "sending", "we are still at it");
    outbox::sent(&world.store, slept, "receipt").await.unwrap();
    outbox::reschedule(&world.store, row, OutboxState::Pending, 0, "not sent").await.unwrap();
    assert_eq!(stored(&world, &id).await, ("sent".into(), 2, Some("receipt".into()), None));
}
