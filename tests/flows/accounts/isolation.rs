//! No call touches an account that its person doesn't have: random people, accounts, rooms, links, questions and watches. The
//! provider knows whose token each request carries.

use std::collections::BTreeSet;
use std::time::Duration;

use adjutant_skills::builtin::watches::new_row;
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{connected, links, people};
use adjutant_types::{AccountId, ItemNoun, WatchAction, WatchItem, WatchSource, WatchTrigger};
use serde_json::{Value, json};

use super::world::{Asked, World};
use crate::groupware::skill_caller;
use crate::random::Random;

const PEOPLE: [&str; 3] = ["ada", "bob", "eve"];
const LABELS: [&str; 3] = ["private", "work", "team"];
const SEEDS: u64 = 8;
const QUESTIONS: usize = 14;

/// An account, and whose it is: everybody's if there is nobody.
struct Account {
    id: AccountId,
    people: BTreeSet<&'static str>,
    /// Whether it is private to a person, so that rooms don't have it.
    is_private: bool,
}

impl Account {
    fn may_be_used(&self, who: &str, is_room: bool) -> bool {
        self.people.is_empty() || (self.people.contains(who) && !(is_room && self.is_private))
    }
}

/// What somebody got of an account that they don't have there: a request with its token, or its contents.
fn trespass(all: &[Account], (who, is_room): (&str, bool), asked: &[Asked], text: &str) -> Option<String> {
    let may = |id: &str| all.iter().any(|account| *account.id == *id && account.may_be_used(who, is_room));
    let foreign = asked.iter().find(|asked| !may(&asked.account)).map(|asked| format!("{asked:?}"));
    let is_told = |id: &str| ["Secret", "Friend"].iter().any(|kind| text.contains(&format!("{kind} {id}")));
    let mut ids = all.iter().map(|account| account.id.as_str());
    foreign.or_else(|| ids.find(|id| is_told(id) && !may(id)).map(|id| format!("{id} is told: {text}")))
}

#[test]
fn a_trespass_is_found() {
    let account = |id: &str, people: &[&'static str]| Account {
        id: id.into(),
        people: people.iter().copied().collect(),
        is_private: people.len() == 1,
    };
    let all = [account("a0", &["ada"]), account("a1", &[]), account("a2", &["ada", "bob"])];
    let asked = |account: &str| Asked { account: account.into(), method: "GET".into(), path: "/".into() };
    for (who, is_room, its, is_found) in [
        ("ada", false, "a0", false),
        ("ada", true, "a0", true),
        ("bob", false, "a0", true),
        ("eve", true, "a1", false),
        ("bob", true, "a2", false),
        ("eve", false, "a2", true),
        ("ada", false, "a9", true),
    ] {
        let found = trespass(&all, (who, is_room), &[asked(its)], "");
        assert_eq!(found.is_some(), is_found, "{who} {is_room} {its}");
    }
    assert!(trespass(&all, ("bob", false), &[], "Friend a0 (friend-a0@example.test)").is_some());
    assert!(trespass(&all, ("bob", false), &[], "Secret a2").is_none());
}

/// Accounts of random people. Two people may be one, whose accounts are both's.
async fn accounts(world: &World, random: &mut Random) -> Vec<Account> {
    let mut all = Vec::new();
    for index in 0..random.below(4) + 3 {
        let people: BTreeSet<&'static str> = match random.below(6) {
            0 => BTreeSet::new(),
            1 => [PEOPLE[0], PEOPLE[random.below(2) + 1]].into(),
            _ => [*random.pick(&PEOPLE)].into(),
        };
        let whose: Vec<&str> = people.iter().copied().collect();
        let label = format!("{} {index}", random.pick(&LABELS));
        let id = world.connect(&format!("a{index}"), &label, &whose).await;
        all.push(Account { id, is_private: people.len() == 1, people });
    }
    if random.below(2) == 0 {
        let (ada, bob, store) = (world.person("ada").await, world.person("bob").await, world.app.store());
        links::offer(store, "LINK-0001", &ada).await.unwrap();
        assert!(links::join(store, "LINK-0001", &bob).await.unwrap());
        for account in &mut all {
            if account.people.contains("ada") || account.people.contains("bob") {
                account.people.extend(["ada", "bob"]);
            }
        }
    }
    all
}

fn question(random: &mut Random) -> (&'static str, Value) {
    let account = match random.below(3) {
        0 => Some(format!("{} {}", random.pick(&LABELS), random.below(7))),
        1 => Some(format!("a{}@example.test", random.below(7))),
        _ => None,
    };
    let id = random.below(7);
    let (skill, mut arguments) = match random.below(6) {
        0 => ("calendar.create_event", json!({"title": "Mine", "start": "2026-11-23T12:00"})),
        1 => ("contacts.search", json!({"query": "Friend"})),
        2 => ("calendar.check_availability", json!({"start": "2026-11-22T08:00", "end": "2026-11-22T18:00"})),
        3 => ("calendar.delete_event", json!({"id": format!("standing-a{id}")})),
        4 => ("contacts.get", json!({"id": format!("card-a{id}")})),
        _ => ("calendar.list_events", json!({"start": "2026-11-22", "end": "2026-11-23"})),
    };
    if let Some(account) = account.filter(|_| skill != "contacts.get") {
        arguments["account"] = account.into();
    }
    (skill, arguments)
}

/// What somebody asks, with the questions that come of it answered.
async fn hears(world: &World, who: &str, is_room: bool, said: &str) -> String {
    let (app, home) = (&world.app, format!("home-{who}"));
    let mut heard = match is_room {
        true => app.room("square").says(who, said).await,
        false => app.direct(&home).says(who, said).await,
    };
    // A room's effects aren't what this is about.
    let answer = if is_room { "Reject" } else { "Approve" };
    while heard.buttons().contains(&answer) {
        heard = app.presses(who, &heard, answer).await;
    }
    heard.text
}

/// A watch of somebody who has written there; none if nobody has.
async fn watch(world: &World, who: &str, place: &str, source: WatchSource) -> Option<WatchRow> {
    let store = world.app.store();
    let here = people::find_conversation(store, "console", place).await.unwrap()?;
    Some(new_row(store, (&here.id, &world.person(who).await), source))
}

/// Somebody's watch on this account, or on none, sets off a turn that does what its words say. Returns what is told.
async fn sets_off(
    world: &World,
    (who, is_room): (&str, bool),
    account: AccountId,
    words: String,
) -> Option<String> {
    let (app, place) = (&world.app, if is_room { "square".to_owned() } else { format!("home-{who}") });
    let source = WatchSource { trigger: WatchTrigger::Webhook, account, place: "w".into() };
    let row = watch(world, who, &place, source).await?;
    let row = WatchRow { action: WatchAction::Ask, words, ..row };
    let thing = WatchItem::new(ItemNoun::Call, "call", ("", "Something came"), app.store().now());
    let before = app.texts().len();
    world
        .write(|batch| {
            watches::insert(batch, &row);
            watches::found(app.store(), batch, &row, "key", Some(&thing));
        })
        .await;
    app.passes(Duration::ZERO).await;
    app.rests().await;
    world.write(|batch| watches::delete(batch, &row.id)).await;
    Some(app.texts()[before..].join("\n"))
}

/// Somebody's watch on the calendar of an account that is theirs is read; otherwise nothing is.
async fn is_read(world: &World, who: &str, account: &Account) {
    let (trigger, id) = (WatchTrigger::EventChanges, account.id.clone());
    let source = WatchSource { trigger, account: id, place: String::new() };
    let Some(row) = watch(world, who, &format!("home-{who}"), source.clone()).await else { return };
    world.write(|batch| watches::insert(batch, &row)).await;
    world.app.passes(Duration::ZERO).await;
    let has_mark =
        async || watches::source(world.app.store(), &source).await.is_ok_and(|row| row.mark.is_some());
    let looked = async {
        for _ in 0..50 {
            assert!(account.may_be_used(who, false) || !has_mark().await);
        }
        while account.may_be_used(who, false) && !has_mark().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), looked).await.expect("it is never read");
    world.write(|batch| watches::delete(batch, &row.id)).await;
    world.app.passes(Duration::ZERO).await;
}

/// Random watches. Returns how many were on an account that isn't their person's, and how many requests the others made.
async fn watches_of(world: &World, all: &[Account], random: &mut Random) -> (usize, usize) {
    let (who, is_room) = (*random.pick(&PEOPLE), random.below(3) == 0);
    let (skill, arguments) = loop {
        let (skill, arguments) = question(random);
        if !["calendar.create_event", "calendar.delete_event"].contains(&skill) {
            break (skill, arguments);
        }
    };
    let id = if random.below(2) == 0 { String::new() } else { format!("a{}", random.below(7)) };
    let is_foreign = |id: &str| all.iter().any(|it| *it.id == *id && !it.may_be_used(who, is_room));
    let mut tempted = usize::from(is_foreign(&id));
    world.cloud.state().asked.clear();
    let said = format!("{skill} {arguments}");
    let told = sets_off(world, (who, is_room), id.as_str().into(), said.clone()).await;
    let asked = std::mem::take(&mut world.cloud.state().asked);
    let found = trespass(all, (who, is_room), &asked, &told.unwrap_or_default());
    assert_eq!(found, None, "a watch of {who} on {id:?} (room: {is_room}), {said}");
    let account = random.pick(all);
    tempted += usize::from(!account.may_be_used(who, false));
    is_read(world, who, account).await;
    let read = std::mem::take(&mut world.cloud.state().asked);
    assert_eq!(trespass(all, (who, false), &read, ""), None, "{who} watches the calendar of {}", account.id);
    (tempted, asked.len() + read.len())
}

#[tokio::test]
async fn no_watch_touches_an_account_that_its_person_does_not_have() {
    let (mut tempted, mut asked) = (0, 0);
    for seed in 0..SEEDS {
        let random = &mut Random(seed);
        let world = World::new(skill_caller()).await;
        let mut all = accounts(&world, random).await;
        for who in PEOPLE {
            for is_room in [false, true] {
                hears(&world, who, is_room, "tasks.search {}").await;
            }
        }
        for _ in 0..QUESTIONS / 2 {
            let counts = watches_of(&world, &all, random).await;
            (tempted, asked) = (tempted + counts.0, asked + counts.1);
            if random.below(8) == 0 && all.len() > 1 {
                let gone = all.swap_remove(random.below(all.len()));
                world.write(|batch| connected::delete(batch, &gone.id)).await;
            }
        }
        world.ends_well().await;
    }
    assert!(tempted > 5 && asked > 20, "{tempted} were on an account that isn't theirs; {asked} requests");
}

#[tokio::test]
async fn no_call_touches_an_account_that_its_person_does_not_have() {
    let (mut touched, mut tempted) = (BTreeSet::new(), 0);
    for seed in 0..SEEDS {
        let random = &mut Random(seed);
        let world = World::new(skill_caller()).await;
        let mut all = accounts(&world, random).await;
        for _ in 0..QUESTIONS {
            let (who, is_room) = (*random.pick(&PEOPLE), random.below(3) == 0);
            let (skill, arguments) = question(random);
            world.cloud.state().asked.clear();
            let (said, before) = (format!("{skill} {arguments}"), world.app.all_requests().len());
            let named = |account: &Account| {
                let ways = [format!("{}@", account.id), format!("-{}\"", account.id)];
                ways.iter().any(|way| said.contains(way)) && !account.may_be_used(who, is_room)
            };
            tempted += usize::from(all.iter().any(named));
            let text = hears(&world, who, is_room, &said).await;
            let asked = world.cloud.state().asked.clone();
            let found = trespass(&all, (who, is_room), &asked, &text);
            assert_eq!(found, None, "seed {seed}: {who} (room: {is_room}), {said}");
            touched.extend(asked.iter().map(|_| is_room));
            // What the model is told in private is the person's own. A room's members read what was said there.
            let requests = world.app.all_requests().split_off(before);
            let messages = requests.iter().flat_map(|request| &request.messages);
            let told: String = messages.map(|message| message.text.to_string()).collect();
            let found = trespass(&all, (who, false), &[], &told);
            assert!(is_room || found.is_none(), "seed {seed}: {who}, {said}: {found:?}");
            if random.below(8) == 0 && all.len() > 1 {
                let gone = all.swap_remove(random.below(all.len()));
                world.write(|batch| connected::delete(batch, &gone.id)).await;
            }
        }
        world.ends_well().await;
    }
    assert_eq!(touched, BTreeSet::from([false, true]), "accounts were used, alone and in rooms");
    assert!(tempted > 5, "{tempted} questions named an account that isn't theirs");
}
