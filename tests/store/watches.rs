//! Watches: each thing is found once and told once, whatever crashes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use adjutant_store::inbox::{self, InboxRow, NewRow};
use adjutant_store::people::{self, Conversation};
use adjutant_store::retention::{self, Ages};
use adjutant_store::usage::{self, BackgroundCall};
use adjutant_store::watches::{self, ItemRow, KEYS_MS, OpenItems, SourceRow, WatchRow};
use adjutant_store::{
    Batch, Stale, Store, StoreError, Value, calls, check, connected, executions, known, links, sharing,
    tasks, turns,
};
use adjutant_types::{
    Bounds, Condition, ConversationId, ExecutionStatus, InstanceId, ItemId, ItemNoun, ItemState, Mark,
    PersonId, Taint, TurnStatus, WatchAction, WatchId, WatchItem, WatchSource, WatchState, WatchTrigger,
};

use crate::calls::call;
use crate::connected::account;
use crate::remembered::Dice;
use crate::world::{World, execution, stale};

on_both!(
    a_watch_is_stored_as_it_was_and_is_changed_by_one,
    a_key_is_found_once_while_the_watch_is_active,
    nothing_is_told_that_was_not_read,
    a_source_is_read_by_one_and_begins_afresh_after_a_pause,
    what_is_open_or_runs_is_tellable,
    a_turn_knows_what_it_began_with,
    what_a_watch_costs_is_counted,
    what_is_put_off_comes_back_where_the_person_is,
    however_many_watches_wait_no_person_waits_for_them,
    a_deleted_watch_leaves_what_it_told,
    what_was_found_in_an_account_goes_with_it,
    a_watch_goes_where_its_person_goes,
    old_things_are_emptied_and_their_keys_go_last,
    tasks_that_became_due_are_found,
    each_thing_is_told_once_whatever_crashes,
    a_watch_knows_what_others_found_under_the_same_key,
    what_two_watches_tell_at_the_same_moment_is_told_by_one,
);

const DAY: Duration = Duration::from_hours(24);

/// A watch of Ada's that tells her in her room.
pub(crate) fn watch(room: &Conversation, id: &str) -> WatchRow {
    WatchRow {
        id: id.into(),
        person_id: room.person_id.clone(),
        conversation_id: room.id.clone(),
        config_name: None,
        source: inbox_of("a1"),
        condition: Condition { from: vec!["@acme.test".into()], ..Condition::default() },
        action: WatchAction::Tell,
        words: String::new(),
        wishes: "{}".into(),
        bounds: Bounds::default(),
        state: WatchState::Active,
        active_since: 1,
        next_at: 0,
        tellings: 0,
        running: None,
        failures: 0,
        day: 0,
        secret: None,
        created_at: 1,
        version: 0,
        unread_since: None,
    }
}

fn inbox_of(account: &str) -> WatchSource {
    WatchSource { trigger: WatchTrigger::Mail, account: account.into(), place: "INBOX".into() }
}

fn mail(key: &str) -> WatchItem {
    WatchItem {
        noun: ItemNoun::Mail,
        id: key.into(),
        from: "Eve <eve@acme.test>".into(),
        title: "xyzzy".into(),
        at: 7,
        is_signed: Some(true),
        account: "a1".into(),
        is_automatic: false,
        snippet: "xyzzy, too".into(),
        is_unsure: false,
    }
}

impl World {
    async fn watch(&self, id: &str) -> WatchRow {
        let row = watch(&self.room().await, id);
        self.write(|batch| watches::insert(batch, &row)).await.unwrap();
        row
    }

    async fn current(&self, id: &str) -> WatchRow {
        watches::by_id(&self.store, &id.into()).await.unwrap().expect("the watch is there")
    }

    async fn changes(&self, id: &str, change: impl FnOnce(&mut WatchRow)) {
        let old = self.current(id).await;
        let mut new = old.clone();
        change(&mut new);
        self.write(|batch| watches::change(batch, &old, &new)).await.unwrap();
    }

    async fn finds(&self, watch: &WatchRow, keys: &[&str]) {
        let add = |batch: &mut Batch| {
            for key in keys {
                watches::found(&self.store, batch, watch, key, Some(&mail(key)));
            }
        };
        self.write(add).await.unwrap();
    }

    async fn open(&self, id: &str) -> OpenItems {
        watches::open(&self.store, &id.into(), 100).await.unwrap()
    }

    /// Tells everything that is open; a turn is to see to it.
    async fn fires(&self, id: &str) -> InboxRow {
        let (old, open) = (self.current(id).await, self.open(id).await);
        let event = watches::event(&old.id, old.tellings + 1);
        let new = WatchRow { running: Some(event.clone()), ..old.clone() };
        let (instance, now): (InstanceId, i64) = ("i".into(), self.store.now());
        let here = (&old.conversation_id, &old.person_id);
        let row = NewRow::ours(event, here, "make a task", Taint::default(), &instance);
        let mut batch = Batch::new();
        watches::fire(&mut batch, &old, &new, (open.last, open.count));
        inbox::arrive(&mut batch, &row, now);
        let values = self.store.write(batch).await.unwrap();
        row.as_stored(values.last().and_then(Value::as_int).unwrap(), now)
    }

    /// Something arrives under this name.
    async fn inbox_row(&self, event: &str, here: (&ConversationId, &PersonId)) -> InboxRow {
        let instance: InstanceId = "i".into();
        let row = NewRow::ours(event.to_owned(), here, "hello", Taint::default(), &instance);
        inbox::insert(&self.store, &row).await.unwrap().expect("it is new")
    }

    async fn source(&self) -> SourceRow {
        watches::source(&self.store, &inbox_of("a1")).await.unwrap()
    }

    async fn is_read_to(&self, mark: &Mark) -> Result<(), StoreError> {
        let row = self.source().await;
        self.write(|batch| watches::advance(batch, &row, mark)).await
    }

    async fn item(&self, key: &str) -> Option<ItemRow> {
        let sql = "SELECT id FROM watch_items WHERE key = $1";
        let (id,): (ItemId,) = self.store.first(sql, &[key.into()]).await.unwrap()?;
        let ada = self.person("ada").await.id;
        watches::item(&self.store, &ada, &id).await.unwrap()
    }
}

fn mark(validity: u32, uid: u32) -> Mark {
    Mark::Mail { validity, uid, newest: 0 }
}

fn ids(items: &[ItemRow]) -> Vec<&str> {
    items.iter().filter_map(|item| item.thing.as_ref()).map(|thing| thing.id.as_str()).collect()
}

async fn a_watch_is_stored_as_it_was_and_is_changed_by_one(world: World) {
    let room = world.room().await;
    let full = WatchRow {
        config_name: Some("acme".into()),
        condition: Condition {
            attachment: Some(true),
            judge: Some("it is urgent".into()),
            minutes: 30,
            ..watch(&room, "w").condition
        },
        action: WatchAction::Ask,
        words: "make a task".into(),
        wishes: r#"{"all":[]}"#.into(),
        bounds: Bounds {
            every_s: 90,
            quiet: Some("22:00-07:00".into()),
            until: Some(9),
            nano_usd_day: Some(1),
        },
        secret: Some("digest".into()),
        running: None,
        ..watch(&room, "w1")
    };
    world.write(|batch| watches::insert(batch, &full)).await.unwrap();
    assert_eq!(world.current("w1").await, full);
    for taken in [watch(&room, "w1"), WatchRow { id: "w2".into(), ..full.clone() }] {
        assert_eq!(stale(world.write(|batch| watches::insert(batch, &taken)).await), Stale::WatchChanged);
    }
    let paused = WatchRow { state: WatchState::Paused, words: "no".into(), ..full.clone() };
    world.write(|batch| watches::change(batch, &full, &paused)).await.unwrap();
    assert_eq!(world.current("w1").await, WatchRow { version: 1, ..paused.clone() });
    let late = world.write(|batch| watches::change(batch, &full, &full)).await;
    assert_eq!(stale(late), Stale::WatchChanged, "it was read before the other change");
    assert_eq!(watches::of_person(&world.store, &room.person_id).await.unwrap().len(), 1);
    assert_eq!(watches::configured(&world.store).await.unwrap().len(), 1);
    assert_eq!(watches::sources(&world.store).await.unwrap(), [], "it is paused");
    world.watch("w3").await;
    assert_eq!(watches::sources(&world.store).await.unwrap(), [inbox_of("a1")]);
    let active = watches::active_on(&world.store, &inbox_of("a1")).await.unwrap();
    assert_eq!(active.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["w3"]);
    let row = WatchRow { next_at: 100_000, ..watch(&room, "w4") };
    let due = [39_999, 40_000, 99_999, 100_000].map(|now| row.is_due(now));
    assert_eq!(due, [true, false, false, true], "the clock was set back, or its pause is over");
}

async fn a_key_is_found_once_while_the_watch_is_active(world: World) {
    let (first, second) = (world.watch("w1").await, world.watch("w2").await);
    world.finds(&first, &["m1", "m2"]).await;
    world.finds(&first, &["m2", "m3"]).await;
    world.finds(&second, &["m2"]).await;
    assert_eq!(ids(&world.open("w1").await.items), ["m1", "m2", "m3"]);
    assert_eq!(ids(&world.open("w2").await.items), ["m2"], "each watch for itself");
    world.write(|batch| watches::found(&world.store, batch, &first, "m4", None)).await.unwrap();
    let open = world.open("w1").await;
    assert_eq!((open.count, open.items.len(), ids(&open.items).len()), (4, 4, 3), "one of too many");
    let some = watches::open(&world.store, &first.id, 2).await.unwrap();
    assert_eq!((some.items.len(), some.count, some.last), (2, 4, open.last));
    world.changes("w1", |row| row.state = WatchState::Paused).await;
    world.finds(&first, &["m5"]).await;
    assert_eq!(world.open("w1").await.count, 4);
}

async fn nothing_is_told_that_was_not_read(world: World) {
    let row = world.watch("w1").await;
    world.finds(&row, &["m1", "m2", "m3"]).await;
    // On a server, this is what a row that is committed late looks like.
    world.by_hand("UPDATE watch_items SET state = 'done' WHERE key = 'm2'").await;
    let open = world.open("w1").await;
    assert_eq!((open.count, ids(&open.items)), (2, vec!["m1", "m3"]));
    world.by_hand("UPDATE watch_items SET state = 'new' WHERE key = 'm2'").await;
    let fire = async |open: &OpenItems| {
        world.write(|batch| watches::fire(batch, &row, &row, (open.last, open.count))).await
    };
    assert_eq!(stale(fire(&open).await), Stale::WatchChanged);
    assert_eq!(world.current("w1").await, row, "all is as before");
    assert_eq!(world.open("w1").await.count, 3);
    let open = world.open("w1").await;
    world.finds(&row, &["m4"]).await;
    // What doesn't fit isn't told.
    let refuse = |batch: &mut Batch| {
        watches::set_item(batch, &open.items[0], ItemState::Unfit, None);
        watches::fire(batch, &row, &row, (open.last, open.count - 1));
    };
    world.write(refuse).await.unwrap();
    assert_eq!(ids(&world.open("w1").await.items), ["m4"], "it came later");
    assert_eq!(world.current("w1").await, WatchRow { tellings: 1, version: 1, ..row.clone() });
    assert_eq!(stale(fire(&open).await), Stale::WatchChanged, "another instance did it");
    assert_eq!(world.item("m1").await.unwrap().state, ItemState::Unfit);
    let told = world.item("m2").await.unwrap();
    assert_eq!((told.state, told.told_by.as_deref()), (ItemState::Told, Some(" watch:w1:1")));
    let twice = world.write(|batch| watches::set_item(batch, &open.items[1], ItemState::Done, None)).await;
    assert_eq!(stale(twice), Stale::WatchChanged, "it was read while it was new");
}

async fn a_watch_knows_what_others_found_under_the_same_key(world: World) {
    let (first, second) = (world.watch("w1").await, world.watch("w2").await);
    world.finds(&first, &["m1", "m2"]).await;
    world.finds(&second, &["m2", "m3"]).await;
    let found = async |most: i64| {
        let last = world.open("w1").await.last;
        let rows = watches::found_by_others(&world.store, &first.id, (last, most)).await.unwrap();
        rows.into_iter().map(|row| (row.thing.unwrap().id, row.state)).collect::<Vec<_>>()
    };
    assert_eq!(found(10).await, [("m2".to_owned(), ItemState::New)]);
    world.fires("w2").await;
    assert_eq!(found(2).await, [("m2".to_owned(), ItemState::Told)]);
    assert!(found(1).await.is_empty(), "it was told among too many");
    world.changes("w2", |row| row.action = WatchAction::Ask).await;
    assert!(found(10).await.is_empty(), "that one doesn't tell");
    world.changes("w2", |row| row.action = WatchAction::Tell).await;
    world.fires("w1").await;
    assert!(found(10).await.is_empty(), "nothing is open");
}

async fn what_two_watches_tell_at_the_same_moment_is_told_by_one(world: World) {
    let rows = [world.watch("w1").await, world.watch("w2").await];
    let stores = [world.store.clone(), world.another().await];
    for round in 0..8 {
        let key = format!("m{round}");
        let mut open = Vec::new();
        for row in &rows {
            world.finds(row, &[key.as_str()]).await;
            open.push((world.current(&row.id).await, world.open(&row.id).await.items.remove(0)));
        }
        let tell = async |own: usize| {
            let ((watch, item), (other, twin)) = (&open[own], &open[1 - own]);
            let mut batch = Batch::new();
            watches::fire(&mut batch, watch, watch, (item.seq, 1));
            // It fits the other one's sentence, or it doesn't.
            match round % 2 {
                0 => watches::leave_to(&mut batch, twin, &watches::event(&watch.id, watch.tellings + 1)),
                _ => watches::set_item(&mut batch, twin, ItemState::Unfit, None),
            }
            watches::change(&mut batch, other, other);
            stores[own].write(batch).await.map(drop)
        };
        let (first, second) = tokio::join!(tell(0), tell(1));
        let mut states = Vec::new();
        for (_, item) in &open {
            let ada = &item.person_id;
            states.push(watches::item(&world.store, ada, &item.id).await.unwrap().unwrap().state);
        }
        let (told, late) = if first.is_ok() { (0, second) } else { (1, first) };
        assert_eq!(stale(late), Stale::WatchChanged);
        assert_eq!((states[told], states[1 - told]), (ItemState::Told, ItemState::Unfit), "{key}");
    }
    let [_, other] = stores;
    other.close().await;
}

async fn a_source_is_read_by_one_and_begins_afresh_after_a_pause(world: World) {
    assert_eq!(stale(world.is_read_to(&mark(1, 0)).await), Stale::SourceMoved, "nobody watches it");
    let (row, _second) = (world.watch("w1").await, world.watch("w2").await);
    let unread = world.source().await;
    assert_eq!(unread.mark, None);
    world.is_read_to(&mark(1, 0)).await.unwrap();
    let again = world.write(|batch| watches::advance(batch, &unread, &mark(1, 0))).await;
    assert_eq!(stale(again), Stale::SourceMoved, "it is there");
    let before = world.source().await;
    assert_eq!(before.mark, Some(mark(1, 0)));
    let advance = |batch: &mut Batch| {
        watches::found(&world.store, batch, &row, "m1", Some(&mail("m1")));
        watches::advance(batch, &before, &mark(1, 1));
    };
    world.write(advance).await.unwrap();
    let late = |batch: &mut Batch| {
        watches::found(&world.store, batch, &row, "m2", Some(&mail("m2")));
        watches::advance(batch, &before, &mark(1, 2));
    };
    assert_eq!(stale(world.write(late).await), Stale::SourceMoved, "another instance has read it");
    assert_eq!(ids(&world.open("w1").await.items), ["m1"], "and nothing of that is there");
    assert_eq!(world.source().await.mark, Some(mark(1, 1)));
    world.changes("w1", |row| row.state = WatchState::Paused).await;
    let read = world.source().await;
    assert_ne!(read.mark, None, "another watch reads it");
    world.changes("w2", |row| row.state = WatchState::Stopped).await;
    assert_eq!(world.source().await.mark, None, "what comes now isn't caught up");
    world.changes("w1", |row| row.state = WatchState::Active).await;
    let late = world.write(|batch| watches::advance(batch, &read, &mark(1, 2))).await;
    assert_eq!(stale(late), Stale::SourceMoved, "it was read before the pause");
    world.is_read_to(&mark(1, 0)).await.unwrap();
    world.changes("w1", |row| row.source.place = "Archive".into()).await;
    assert_eq!(world.source().await.mark, None, "nobody reads it any more");
}

async fn what_is_open_or_runs_is_tellable(world: World) {
    let tellable = async |channel: &str, chat: &str| {
        let rows = watches::tellable(&world.store, channel, chat).await.unwrap();
        rows.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>()
    };
    let (row, _idle) = (world.watch("w1").await, world.watch("w2").await);
    assert_eq!(tellable("console", "").await, [""; 0]);
    world.finds(&row, &["m1"]).await;
    assert_eq!(tellable("console", "").await, ["w1"]);
    assert_eq!(tellable("console", "main").await, ["w1"]);
    assert_eq!(tellable("console", "elsewhere").await, [""; 0]);
    assert_eq!(tellable("work", "").await, [""; 0]);
    world.fires("w1").await;
    assert_eq!(tellable("console", "").await, ["w1"], "it runs");
    world.changes("w1", |row| row.running = None).await;
    assert_eq!(tellable("console", "").await, [""; 0]);
    world.finds(&row, &["m2"]).await;
    world.changes("w1", |row| row.state = WatchState::Paused).await;
    assert_eq!(tellable("console", "").await, [""; 0]);
    world.changes("w1", |row| row.state = WatchState::Active).await;
    assert_eq!(tellable("console", "").await, ["w1"], "it came before the pause");
}

async fn a_turn_knows_what_it_began_with(world: World) {
    let row = world.watch("w1").await;
    world.finds(&row, &["m1"]).await;
    let run = world.fires("w1").await;
    assert!(run.is_background() && run.is_alone() && !run.is_steering(), "{run:?}");
    assert_eq!(run.event, " watch:w1:1");
    world.finds(&row, &["m2"]).await;
    let turn = turns::TurnRow { background: 1, ..world.new_turn("t1", "i").await };
    world.write(|batch| turns::start(batch, &turn, &[run])).await.unwrap();
    assert!(inbox::is_scheduled(&world.store, &turn.id).await.unwrap(), "nobody waits for it");
    assert!(!turns::is_blank(&world.store, &turn.id).await.unwrap());
    let begun = watches::of_turn(&world.store, &turn.id).await.unwrap().unwrap();
    assert!(begun.is_watch && begun.watch == Some(world.current("w1").await), "{begun:?}");
    assert_eq!(ids(&begun.items), ["m1"]);
    world.write(|batch| watches::delete(batch, &row.id)).await.unwrap();
    let begun = watches::of_turn(&world.store, &turn.id).await.unwrap().unwrap();
    assert!(begun.is_watch && begun.watch.is_none() && ids(&begun.items) == ["m1"], "{begun:?}");

    let (room, item) = (world.room().await, world.item("m1").await.unwrap());
    let event = format!("{}{}:answer:p1", inbox::LINE, item.id);
    let pressed = world.inbox_row(&event, (&room.id, &room.person_id)).await;
    assert!(pressed.is_alone() && !pressed.is_background() && !pressed.is_steering());
    let turn = world.turn("t2", "i", &[pressed]).await;
    assert!(!inbox::is_scheduled(&world.store, &turn.id).await.unwrap(), "a person pressed it");
    let begun = watches::of_turn(&world.store, &turn.id).await.unwrap().unwrap();
    assert!(!begun.is_watch && begun.watch.is_none() && ids(&begun.items) == ["m1"], "{begun:?}");
    let bob = world.person("bob").await.id;
    assert_eq!(watches::item(&world.store, &bob, &item.id).await.unwrap(), None, "it is Ada's");
    let by_thing = watches::item(&world.store, &item.person_id, &"m1".into()).await.unwrap();
    assert_eq!(by_thing, Some(item));
    let typed = world.said("m1", "hello", "i").await;
    let turn = world.turn("t3", "i", &[typed]).await;
    assert_eq!(watches::of_turn(&world.store, &turn.id).await.unwrap(), None);
}

async fn what_a_watch_costs_is_counted(world: World) {
    let (row, other) = (world.watch("w1").await, world.watch("w2").await);
    for watch in [&row, &other] {
        world.finds(watch, &["m1"]).await;
    }
    for (number, watch) in [&row, &other].into_iter().enumerate() {
        let run = world.fires(&watch.id).await;
        let (turn, root) = (format!("t{number}"), format!("o{number}"));
        world.turn(&turn, "i", &[run]).await;
        world.execution(execution(&turn, &root, "orchestrator")).await;
        world.write(|batch| calls::insert(batch, &call(&root, 0, 10))).await.unwrap();
    }
    let judging = BackgroundCall {
        id: "b1".into(),
        conversation_id: row.conversation_id.clone(),
        person_id: row.person_id.clone(),
        purpose: watches::judging(&row.id),
        model: "small".into(),
        error: None,
        tokens: [1; 3],
        cost_usd: 0.25,
        started_at: 20,
        duration_ms: 1,
        audio_ms: 0,
    };
    world.write(|batch| usage::insert_background_call(batch, &judging)).await.unwrap();
    let spent = async |since| watches::nano_usd_since(&world.store, &row.id, since).await.unwrap();
    assert_eq!((spent(10).await, spent(11).await, spent(21).await), (750_000_000, 250_000_000, 0));
    assert_eq!(watches::nano_usd_since(&world.store, &other.id, 0).await.unwrap(), 500_000_000);
}

async fn what_is_put_off_comes_back_where_the_person_is(world: World) {
    let row = world.watch("w1").await;
    let ada = row.person_id.clone();
    world.finds(&row, &["m1"]).await;
    world.fires("w1").await;
    let own = people::conversation(&world.store, "console", "ada", &ada, false).await.unwrap();
    let brief = |batch: &mut Batch| {
        watches::brief(batch, &"b1".into(), (&own.id, &ada), &mail("m9"), (3, None));
        watches::brief(batch, &"b2".into(), (&own.id, &ada), &mail("m8"), (3, Some(i64::MAX)));
    };
    world.write(brief).await.unwrap();
    assert_eq!(world.item("m8").await.unwrap().state, ItemState::Later);
    world.inbox_row("console d1", (&own.id, &ada)).await;
    assert!(inbox::has_written(&world.store, &own.id, &ada).await.unwrap());
    assert!(!inbox::has_written(&world.store, &row.conversation_id, &ada).await.unwrap(), "only we did");
    for key in ["m1", "m9"] {
        let item = world.item(key).await.unwrap();
        assert_eq!(item.state, ItemState::Told);
        let at = Some(world.store.now() + 50);
        world.write(|batch| watches::set_item(batch, &item, ItemState::Later, at)).await.unwrap();
    }
    let due = async |chat: &str| {
        let due = watches::later_due(&world.store, "console", chat).await.unwrap();
        due.into_iter().map(|item| (item.thing.unwrap().id, item.conversation_id)).collect::<Vec<_>>()
    };
    assert!(due("").await.is_empty());
    world.clock.advance(Duration::from_millis(50));
    let mut all = due("").await;
    all.sort();
    assert_eq!(all, [("m1".into(), row.conversation_id.clone()), ("m9".into(), own.id.clone())]);
    assert_eq!(due("ada").await, [("m9".into(), own.id.clone())]);
    let item = world.item("m1").await.unwrap();
    world.write(|batch| watches::set_item(batch, &item, ItemState::Done, None)).await.unwrap();
    assert!(due("main").await.is_empty());
    let found = watches::found_since(&world.store, &ada, 0, 9).await.unwrap();
    assert_eq!(ids(&found), ["m1"], "a briefing finds nothing");
}

async fn however_many_watches_wait_no_person_waits_for_them(world: World) {
    let ours = world.instance().await;
    for number in 0..60 {
        let id = format!("w{number}");
        let row = world.watch(&id).await;
        world.finds(&row, &["m1"]).await;
        world.fires(&id).await;
    }
    world.said("m1", "good morning", "i").await;
    let room = world.room().await.id;
    let waiting = inbox::waiting(&world.store, &room, &"i".into()).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].text.as_str()), (50, "good morning"));
    assert!(waiting[1..].iter().all(InboxRow::is_background));
    let mut lanes = sharing::waiting_lanes(&world.store, &ours.id, "console").await.unwrap();
    lanes.sort_by_key(|lane| lane.background);
    assert_eq!(lanes.iter().map(|lane| lane.background).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

async fn a_deleted_watch_leaves_what_it_told(world: World) {
    let row = world.watch("w1").await;
    world.is_read_to(&mark(1, 0)).await.unwrap();
    world.finds(&row, &["m1"]).await;
    let run = world.fires("w1").await;
    world.finds(&row, &["m2"]).await;
    let before = world.current("w1").await;
    world.write(|batch| watches::delete(batch, &row.id)).await.unwrap();
    assert_eq!(stale(world.write(|batch| watches::delete(batch, &row.id)).await), Stale::WatchChanged);
    assert_eq!(world.source().await.mark, None);
    assert!(inbox::is_done(&world.store, run.id).await.unwrap(), "its run doesn't begin");
    let states = [world.item("m1").await.unwrap().state, world.item("m2").await.unwrap().state];
    assert_eq!(states, [ItemState::Told, ItemState::Unfit]);
    // Undone.
    world.write(|batch| watches::insert(batch, &before)).await.unwrap();
    world.finds(&row, &["m1", "m2"]).await;
    assert_eq!(world.open("w1").await.count, 0, "nothing is told again");
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
}

async fn what_was_found_in_an_account_goes_with_it(world: World) {
    let row = world.watch("w1").await;
    world.connect(&account("a1", Some(&row.person_id), "private")).await;
    world.is_read_to(&mark(1, 0)).await.unwrap();
    world.finds(&row, &["told"]).await;
    world.fires("w1").await;
    world.finds(&row, &["new", "later", "of another"]).await;
    let at = "UPDATE watch_items SET state = 'later', later_at = 7 WHERE key = 'later'";
    let of_another =
        "UPDATE watch_items SET thing = replace(thing, '\"a1\"', '\"a11\"') WHERE key = 'of another'";
    let change = |batch: &mut Batch| {
        batch.run(at, []);
        batch.run(of_another, []);
    };
    world.write(change).await.unwrap();
    let late = world.source().await;
    world.write(|batch| connected::delete(batch, &"a1".into())).await.unwrap();
    let sql = "SELECT coalesce(thing, ''), key, state FROM watch_items ORDER BY seq";
    let rows: Vec<(String, String, String)> = world.store.all(sql, &[]).await.unwrap();
    let states: Vec<&str> = rows.iter().map(|(_, _, state)| state.as_str()).collect();
    assert_eq!(states, ["told", "unfit", "done", "new"]);
    let keys = ["told", "new", "later"];
    assert!(rows[..3].iter().all(|(thing, key, _)| thing.is_empty() && !keys.contains(&key.as_str())));
    assert!(rows[3].0.contains("xyzzy"), "it is from elsewhere");
    assert_eq!(world.source().await.mark, None);
    // What was being read at that moment isn't stored.
    let read = |batch: &mut Batch| {
        watches::found(&world.store, batch, &row, "m9", Some(&mail("m9")));
        watches::advance(batch, &late, &mark(1, 9));
    };
    assert_eq!(stale(world.write(read).await), Stale::SourceMoved);
}

async fn a_watch_goes_where_its_person_goes(world: World) {
    let (ada, phone) = (world.person("ada").await.id, world.person("ada on the phone").await.id);
    let room = world.room().await;
    let tasks_of = |person: &PersonId| WatchSource {
        trigger: WatchTrigger::TaskDue,
        account: String::new().into(),
        place: person.to_string(),
    };
    let theirs = WatchRow { person_id: phone.clone(), source: tasks_of(&phone), ..watch(&room, "w2") };
    world.watch("w1").await;
    world.is_read_to(&mark(1, 0)).await.unwrap();
    world.write(|batch| watches::insert(batch, &theirs)).await.unwrap();
    let unread = watches::source(&world.store, &theirs.source).await.unwrap();
    world.write(|batch| watches::advance(batch, &unread, &Mark::Due(3, "t1".into()))).await.unwrap();
    world.finds(&theirs, &["m1"]).await;
    links::offer(&world.store, "AAAA-AAAA", &ada).await.unwrap();
    assert!(links::join(&world.store, "AAAA-AAAA", &phone).await.unwrap());
    assert_eq!(world.current("w2").await.source, tasks_of(&ada), "her tasks now");
    assert_eq!(watches::source(&world.store, &theirs.source).await.unwrap(), unread);
    assert_eq!(world.item("m1").await.map(|item| item.person_id), Some(ada.clone()));
    let bob = world.person("bob").await.id;
    let bobs = WatchRow { person_id: bob.clone(), ..watch(&room, "w3") };
    world.write(|batch| watches::insert(batch, &bobs)).await.unwrap();

    let all = known::export(&world.store, &ada).await.unwrap();
    assert_eq!((all["watches"].as_array().unwrap().len(), &all["watch_items"][0]["key"]), (2, &"m1".into()));
    assert_eq!(all["watches"][0].get("secret"), None);
    known::erase(&world.store, &ada).await.unwrap();
    let left: Vec<(String,)> = world.store.all("SELECT id FROM watches", &[]).await.unwrap();
    assert_eq!(left, [("w3".to_owned(),)], "Bob's is Bob's");
    assert_ne!(world.source().await.mark, None, "he reads it, too");
    known::erase(&world.store, &bob).await.unwrap();
    for table in ["SELECT count(*) FROM watch_items", "SELECT count(*) FROM watch_sources"] {
        assert_eq!(world.store.count(table, &[]).await.unwrap(), 0, "{table}");
    }
}

async fn old_things_are_emptied_and_their_keys_go_last(world: World) {
    let row = world.watch("w1").await;
    world.finds(&row, &["m1"]).await;
    let run = world.fires("w1").await;
    world.finds(&row, &["open"]).await;
    let ages = Ages { bodies: Some(DAY), ..Ages::default() };
    let holds = async |key: &str| world.item(key).await.map(|item| item.thing.is_some());
    world.clock.advance(2 * DAY);
    retention::pass(&world.store, &ages).await.unwrap();
    assert_eq!(holds("m1").await, Some(true), "its run waits");
    world.turn("t1", "i", &[run]).await;
    retention::pass(&world.store, &ages).await.unwrap();
    assert_eq!(holds("m1").await, Some(true), "its turn runs");
    let end = |batch: &mut Batch| {
        executions::close_all(batch, &"t1".into(), ExecutionStatus::Completed, 9);
        turns::end(batch, &"t1".into(), TurnStatus::Completed, "(nothing to tell)", world.store.now());
    };
    world.write(end).await.unwrap();
    retention::pass(&world.store, &ages).await.unwrap();
    assert_eq!((holds("m1").await, holds("open").await), (Some(false), Some(true)));
    world.finds(&row, &["m1"]).await;
    assert_eq!(world.open("w1").await.count, 1, "its key is still known");
    world.clock.advance(Duration::from_millis(u64::try_from(KEYS_MS).unwrap()));
    retention::pass(&world.store, &Ages::default()).await.unwrap();
    assert_eq!((holds("m1").await, holds("open").await), (None, Some(true)));
}

async fn tasks_that_became_due_are_found(world: World) {
    for (id, due_at) in [("t1", Some(10)), ("t2", Some(20)), ("t3", Some(30)), ("t4", None)] {
        let task = crate::tasks::task(&world, id, due_at).await;
        world.write(|batch| tasks::insert(batch, &task)).await.unwrap();
    }
    world.write(|batch| tasks::complete(batch, &"t3".into(), 1)).await.unwrap();
    let ada = world.person("ada").await.id;
    let due = async |after, last: &str| {
        let due = tasks::due_between(&world.store, &ada, (after, &last.into()), 30).await.unwrap();
        due.into_iter().map(|task| task.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(due(10, "t1").await, ["t2"]);
    // More of the same time than are read at once.
    let task = crate::tasks::task(&world, "u", Some(25)).await;
    let add = |batch: &mut Batch| {
        for number in 0..450 {
            tasks::insert(batch, &tasks::TaskRow { id: format!("u{number:03}").into(), ..task.clone() });
        }
    };
    world.write(add).await.unwrap();
    let (mut last, mut read) = ("t2".to_owned(), 0);
    let mut after = 20;
    while let Some(next) = due(after, &last).await.pop() {
        read += due(after, &last).await.len();
        (after, last) = (25, next);
    }
    assert_eq!((read, last.as_str()), (450, "u449"));
}

/// A mailbox: its mails by UID.
struct Mailbox {
    validity: u32,
    next_uid: u32,
    mails: BTreeMap<u32, usize>,
    /// Those that were moved out.
    away: Vec<usize>,
    sent: usize,
}

impl Mailbox {
    fn add(&mut self, mail: usize) {
        self.mails.insert(self.next_uid, mail);
        self.next_uid += 1;
    }

    /// Mail arrives, is moved out or back, or all get other numbers.
    fn change(&mut self, dice: &mut Dice) {
        match dice.below(8) {
            0 => {
                if let Some(uid) = self.mails.keys().next().copied() {
                    self.away.extend(self.mails.remove(&uid));
                }
            }
            1 => {
                if let Some(mail) = self.away.pop() {
                    self.add(mail);
                }
            }
            2 => {
                self.validity += 1;
                self.next_uid = 1;
                for mail in std::mem::take(&mut self.mails).into_values().rev() {
                    self.add(mail);
                }
            }
            _ => {
                self.add(self.sent);
                self.sent += 1;
            }
        }
    }

    /// What is new since a mark, and the next mark.
    fn since(&self, mark: Option<&Mark>) -> (Vec<usize>, Mark) {
        let read = match mark {
            Some(Mark::Mail { validity, uid, .. }) if *validity == self.validity => *uid,
            _ => 0,
        };
        let news = self.mails.range(read + 1..).map(|(_, mail)| *mail).collect();
        (news, Mark::Mail { validity: self.validity, uid: self.next_uid - 1, newest: 0 })
    }
}

/// An instance, and what it has read and not yet written: all of that is lost when it crashes.
struct Reader {
    store: Store,
    news: Option<(SourceRow, Vec<WatchRow>, Vec<usize>, Mark)>,
    telling: Option<(WatchRow, OpenItems)>,
}

/// What was told, by the name of the telling.
type Tellings = BTreeMap<String, BTreeSet<String>>;

impl Reader {
    async fn read_news(&mut self, mailbox: &Mailbox) {
        let row = watches::source(&self.store, &inbox_of("a1")).await.unwrap();
        let active = watches::active_on(&self.store, &row.source).await.unwrap();
        let (news, mark) = mailbox.since(row.mark.as_ref());
        self.news = Some((row, active, news, mark));
    }

    /// Commit A.
    async fn write_news(&mut self) {
        let Some((row, active, news, mark)) = self.news.take() else { return };
        let mut batch = Batch::new();
        for key in news.iter().map(usize::to_string) {
            for watch in &active {
                watches::found(&self.store, &mut batch, watch, &key, Some(&mail(&key)));
            }
        }
        watches::advance(&mut batch, &row, &mark);
        match self.store.write(batch).await {
            Ok(_) | Err(StoreError::Stale(Stale::SourceMoved)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    async fn read_open(&mut self, id: &WatchId) {
        let watch = watches::by_id(&self.store, id).await.unwrap().unwrap();
        let open = watches::open(&self.store, id, 1000).await.unwrap();
        self.telling = (open.count > 0).then_some((watch, open));
    }

    /// Commit B.
    async fn tell(&mut self) -> Option<(String, BTreeSet<String>)> {
        let (watch, open) = self.telling.take()?;
        let mut batch = Batch::new();
        watches::fire(&mut batch, &watch, &watch, (open.last, open.count));
        match self.store.write(batch).await {
            Ok(_) => {
                let keys = ids(&open.items).into_iter().map(str::to_owned).collect();
                Some((watches::event(&watch.id, watch.tellings + 1), keys))
            }
            Err(StoreError::Stale(Stale::WatchChanged)) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Two instances read a mailbox and tell what two watches find there, in any order, and crash between any two steps.
async fn each_thing_is_told_once_whatever_crashes(world: World) {
    let watching = [world.watch("w1").await.id, world.watch("w2").await.id];
    world.is_read_to(&mark(1, 0)).await.unwrap();
    let mut readers =
        [world.store.clone(), world.another().await].map(|store| Reader { store, news: None, telling: None });
    let mut mailbox = Mailbox { validity: 1, next_uid: 1, mails: BTreeMap::new(), away: Vec::new(), sent: 0 };
    let (mut tellings, mut dice) = (Tellings::new(), Dice(38));
    for _ in 0..400 {
        let reader = dice.below(2);
        match dice.below(9) {
            0 | 1 => mailbox.change(&mut dice),
            2 => readers[reader].read_news(&mailbox).await,
            3 => readers[reader].write_news().await,
            4 => readers[reader].read_open(&watching[dice.below(2)]).await,
            5 => tellings.extend(readers[reader].tell().await),
            // A crash.
            6 => (readers[reader].news, readers[reader].telling) = (None, None),
            7 => {
                let [one, other] = &mut readers;
                let (first, second) = tokio::join!(one.tell(), other.tell());
                tellings.extend(first.into_iter().chain(second));
            }
            _ => {
                let [one, other] = &mut readers;
                let (told, ()) = tokio::join!(one.tell(), other.write_news());
                tellings.extend(told);
            }
        }
    }
    while let Some(mail) = mailbox.away.pop() {
        mailbox.add(mail);
    }
    let [last, other] = &mut readers;
    last.read_news(&mailbox).await;
    last.write_news().await;
    for watch in &watching {
        last.read_open(watch).await;
        tellings.extend(last.tell().await);
        assert_eq!(world.open(watch).await.count, 0);
        let (mut told, mut count) = (Vec::<usize>::new(), 0);
        let prefix = format!(" watch:{watch}:");
        for (event, keys) in tellings.iter().filter(|(event, _)| event.starts_with(&prefix)) {
            count += 1;
            let rows: Vec<(String,)> = world
                .store
                .all("SELECT key FROM watch_items WHERE told_by = $1", &[event.into()])
                .await
                .unwrap();
            assert_eq!(rows.into_iter().map(|row| row.0).collect::<BTreeSet<_>>(), *keys, "{event}");
            told.extend(keys.iter().map(|key| key.parse::<usize>().unwrap()));
        }
        told.sort_unstable();
        assert_eq!(told, (0..mailbox.sent).collect::<Vec<_>>(), "{watch}: each once");
        assert_eq!(world.current(watch).await.tellings, count);
    }
    assert!(mailbox.sent > 30 && tellings.len() > 10, "{} mails, {} tellings", mailbox.sent, tellings.len());
    other.store.close().await;
}
