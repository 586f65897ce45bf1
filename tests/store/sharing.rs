//! What instances that share the turns of a channel see of one another.

use adjutant_chat::{Address, LiveText, Progress, VoiceNote};
use adjutant_store::inbox::{self, NewRow, UnheardNote};
use adjutant_store::leases::{Instance, channel, lane};
use adjutant_store::sharing::{self, Lane};
use adjutant_store::{Batch, StoreError, turns};
use adjutant_types::{ConversationId, InboxKind, InstanceId, Taint};

use crate::outbox::say;
use crate::world::World;

on_both!(
    a_lane_waits_until_an_instance_takes_it,
    nobody_takes_what_stands_behind_a_voice_note,
    what_is_said_by_others_is_sent_by_the_receiver,
    a_turn_begins_only_where_none_was_left_running,
    what_a_turn_shows_is_gone_when_it_ends,
    turns_of_a_person_are_counted_over_a_period,
    leases_of_nobody_living_are_freed,
    an_instance_tells_the_others_what_it_does_and_how_busy_it_is
);

async fn waiting(world: &World, instance: &Instance) -> Vec<Lane> {
    sharing::waiting_lanes(&world.store, &instance.id, "console").await.unwrap()
}

fn main_lane(conversation: &ConversationId) -> Lane {
    Lane { conversation_id: conversation.clone(), background: 0 }
}

async fn a_lane_waits_until_an_instance_takes_it(world: World) {
    let (room, ours) = (world.room().await.id, world.instance().await);
    assert_eq!(waiting(&world, &ours).await, []);
    world.said("m1", "hello", ours.id.as_str()).await;
    assert_eq!(waiting(&world, &ours).await, [], "what is ours is ours");
    world.said("m2", "hello?", "").await;
    assert_eq!(waiting(&world, &ours).await, [main_lane(&room)]);
    let lease = ours.acquire(&world.store, lane(&room, 0)).await.unwrap().unwrap();
    assert_eq!(waiting(&world, &ours).await, [], "somebody works on it");
    world.said("m3", "/spawn researcher look", "").await;
    // Any of the lanes beside the conversation may take it.
    let mut beside: Vec<i64> = waiting(&world, &ours).await.iter().map(|lane| lane.background).collect();
    beside.sort_unstable();
    assert_eq!(beside, [1, 2, 3]);
    let second = ours.acquire(&world.store, lane(&room, 2)).await.unwrap().unwrap();
    assert_eq!(waiting(&world, &ours).await.len(), 2, "one of them works");
    world.store.write(lease.release()).await.unwrap();
    world.store.write(second.release()).await.unwrap();
    assert_eq!(waiting(&world, &ours).await.len(), 4);
    assert_eq!(sharing::waiting_lanes(&world.store, &ours.id, "another").await.unwrap(), []);
}

async fn nobody_takes_what_stands_behind_a_voice_note(world: World) {
    let (room, ours, theirs) = (world.room().await, world.instance().await, world.instance().await);
    let note = VoiceNote { file: "f".into(), mime_type: String::new(), seconds: None, bytes: None };
    let voice = UnheardNote { name: "note".into(), note, reply_to: None };
    let row = NewRow {
        event: "console v1".into(),
        conversation_id: &room.id,
        person_id: &room.person_id,
        kind: InboxKind::Message,
        text: "",
        taint: Taint::default(),
        question_id: None,
        instance: &theirs.id,
        voice: Some(voice),
        files: Vec::new(),
        mentions: String::new(),
        is_addressed: true,
    };
    let note = inbox::insert(&world.store, &row).await.unwrap().unwrap();
    world.said("m1", "and this", "").await;
    let seen = async |by: &InstanceId| {
        let rows = inbox::waiting(&world.store, &room.id, by).await.unwrap();
        rows.into_iter().map(|row| row.text).collect::<Vec<_>>()
    };
    assert_eq!(seen(&ours.id).await, [""; 0]);
    assert_eq!(seen(&theirs.id).await, ["", "and this"]);
    let mut batch = Batch::new();
    inbox::heard(&mut batch, note.id, &InstanceId::default(), "heard", None);
    world.store.write(batch).await.unwrap();
    assert_eq!(seen(&ours.id).await, ["heard", "and this"]);
}

async fn what_is_said_by_others_is_sent_by_the_receiver(world: World) {
    let (room, ours) = (world.room().await.id, world.instance().await);
    say(&world, "mine", ours.id.as_str()).await;
    assert_eq!(sharing::undelivered(&world.store, "console").await.unwrap().len(), 0);
    say(&world, "anybody's", "").await;
    say(&world, "a dead one's", "dead").await;
    assert_eq!(sharing::undelivered(&world.store, "console").await.unwrap(), [room]);
    assert_eq!(sharing::undelivered(&world.store, "another").await.unwrap().len(), 0);
}

async fn a_turn_begins_only_where_none_was_left_running(world: World) {
    let (room, ours) = (world.room().await.id, world.instance().await);
    let row = world.said("m1", "hello", "dead").await;
    world.turn("t1", "dead", &[row]).await;
    let turn = turns::by_id(&world.store, &"t1".into()).await.unwrap().unwrap();
    let begin = async || {
        let (name, mut batch) = (lane(&room, 0), Batch::new());
        ours.take(&name, &mut batch);
        sharing::must_leave_none(&mut batch, &name, &turn);
        world.store.write(batch).await
    };
    assert!(matches!(begin().await, Err(StoreError::Stale(_))));
    world.by_hand("UPDATE turns SET status = 'waiting'").await;
    begin().await.unwrap();
}

async fn what_a_turn_shows_is_gone_when_it_ends(world: World) {
    let row = world.said("m1", "hello", "theirs").await;
    world.turn("t1", "theirs", &[row]).await;
    let address = Address { channel: "console".into(), place: "main".into() };
    let progress = Progress {
        address,
        turn: "t1".into(),
        step: Some("thinking".into()),
        agents: Vec::new(),
        live: Some(LiveText::default()),
    };
    let shown = async |by: &str| sharing::shown(&world.store, &by.into(), "console").await.unwrap();
    let show = async || {
        let mut batch = Batch::new();
        sharing::show(&mut batch, &"t1".into(), &serde_json::to_string(&progress).unwrap());
        world.store.write(batch).await.unwrap();
    };
    for more in ["", "The ", "answer"] {
        progress.live.iter().for_each(|live| live.push(more));
        assert_ne!(shown("ours").await, std::slice::from_ref(&progress));
        show().await;
        assert_eq!(shown("ours").await, std::slice::from_ref(&progress));
    }
    assert_eq!(shown("theirs").await, [], "it shows its own itself");
    let mut batch = Batch::new();
    turns::sleep(&mut batch, &"t1".into());
    world.store.write(batch).await.unwrap();
    show().await;
    assert_eq!(shown("ours").await, [], "it came too late");
    assert_eq!(
        world.store.count("SELECT count(*) FROM turns WHERE progress IS NOT NULL", &[]).await.unwrap(),
        0
    );
}

async fn turns_of_a_person_are_counted_over_a_period(world: World) {
    let (room, now) = (world.room().await, world.store.now());
    let row = world.said("m1", "hello", "a").await;
    world.turn("t1", "a", &[row]).await;
    let begun = async |after: i64, until: i64| {
        sharing::begun_by(&world.store, &room.person_id, (after, until), 5).await.unwrap().len()
    };
    assert_eq!(
        (begun(now - 1, now).await, begun(now, now + 9).await, begun(now - 9, now - 1).await),
        (1, 0, 0)
    );
    assert_eq!(sharing::begun_by(&world.store, &"eve".into(), (0, now), 5).await.unwrap().len(), 0);
}

async fn leases_of_nobody_living_are_freed(world: World) {
    let ours = world.instance().await;
    ours.acquire(&world.store, "lane:a".into()).await.unwrap().unwrap();
    world.by_hand("INSERT INTO leases (name, instance, epoch) VALUES ('lane:b', 'gone', 3)").await;
    assert!(ours.acquire(&world.store, "lane:b".into()).await.unwrap().is_none());
    ours.heartbeat(&world.store).await.unwrap();
    assert_eq!(ours.acquire(&world.store, "lane:b".into()).await.unwrap().unwrap().epoch, 4);
    let again = ours.acquire(&world.store, "lane:a".into()).await.unwrap().unwrap();
    assert_eq!(again.epoch, 2, "what is held is left alone");
}

async fn an_instance_tells_the_others_what_it_does_and_how_busy_it_is(world: World) {
    let shares = vec!["console".to_owned(), "telegram".to_owned()];
    let instance = Instance::register_sharing(&world.store, shares).await.unwrap();
    let all = async || {
        let mut all = sharing::sharers(&world.store).await.unwrap();
        all.retain(|sharer| sharer.id == instance.id);
        all.pop()
    };
    // An embedded store is for one.
    let Some(before) = all().await else { return };
    assert_eq!((before.load, before.receives("telegram")), (0, false));
    instance.acquire(&world.store, channel("telegram")).await.unwrap().unwrap();
    instance.set_load(250);
    instance.heartbeat(&world.store).await.unwrap();
    let after = all().await.unwrap();
    assert_eq!((after.load, after.receives("telegram"), after.receives("console")), (250, true, false));
    assert!(after.is_on("console") && after.beat_at >= before.beat_at);
    // Whoever listens is told at once; the others miss it.
    let mut listener = sharing::listen(&world.store, &instance.id).await.unwrap().unwrap();
    let messages = [("nobody".into(), "nothing".to_owned()), (instance.id.clone(), "something".to_owned())];
    sharing::tell(&world.store, &messages).await.unwrap();
    assert_eq!(listener.next().await.unwrap(), "something");
}
