//! Accounts at providers, and logins under way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use adjutant_store::connected::{self, AccountRow};
use adjutant_store::logins::{self, LoginRow};
use adjutant_store::{Batch, Stale, StoreError, check, known, links, outbox, retention, secrets};
use adjutant_types::{AccountId, AccountService, AccountState, LoginState, PersonId, ProviderKind};

use crate::remembered::Dice;
use crate::world::{World, stale};

on_both!(
    an_account_is_kept_as_it_was_and_goes_with_its_secret,
    each_sees_their_own_accounts_and_those_that_they_share,
    a_label_is_one_persons_once,
    one_account_is_the_default,
    one_that_is_being_disconnected_is_only_deleted,
    the_end_of_each_login_is_news_once,
    an_account_is_shared_with_exactly_those_who_are_named,
    its_use_is_noted_once_a_minute,
    the_account_of_a_group_goes_with_its_last_person,
    over_a_random_history_each_has_exactly_what_is_theirs,
    each_step_of_a_login_happens_once,
    a_login_is_good_for_five_minutes,
    an_exchange_under_way_does_not_expire,
    a_device_code_is_asked_about_by_one,
    what_came_in_time_is_finished_however_long_that_takes,
    logins_that_ended_long_ago_are_deleted,
);

const FIVE_MINUTES: Duration = Duration::from_mins(5);

/// An account that is ready, for mail and calendars.
pub(crate) fn account(id: &str, person: Option<&PersonId>, label: &str) -> AccountRow {
    AccountRow {
        person_id: person.cloned(),
        label: label.into(),
        services: vec![AccountService::Mail, AccountService::Calendar],
        created_at: 1,
        ..AccountRow::new(id.into(), ProviderKind::Google, &format!("{id}@home.test"))
    }
}

/// A login that was just offered.
pub(crate) fn login(world: &World, id: &str, person: &PersonId) -> LoginRow {
    let now = world.store.now();
    LoginRow {
        id: id.into(),
        person_id: person.clone(),
        conversation_id: "c".into(),
        provider: ProviderKind::Google,
        account_id: None,
        state: LoginState::Offered,
        nonce: format!("nonce of {id}"),
        oauth_state: format!("state of {id}"),
        browser: None,
        sealed: "xyzzy verifier".into(),
        redirect: "http://127.0.0.1/back".into(),
        expires_at: now + 5 * 60 * 1000,
        changed_at: now,
    }
}

impl World {
    /// Adds an account with its secret.
    pub(crate) async fn connect(&self, row: &AccountRow) {
        let add = |batch: &mut Batch| {
            connected::insert(batch, row);
            secrets::put(batch, &secrets::name_of(&row.id), "xyzzy sealed");
        };
        self.write(add).await.unwrap();
    }

    pub(crate) async fn offers(&self, id: &str, person: &PersonId) -> LoginRow {
        let row = login(self, id, person);
        self.write(|batch| logins::offer(batch, &row)).await.unwrap();
        row
    }

    async fn account(&self, id: &str) -> Option<AccountRow> {
        connected::by_id(&self.store, &id.into()).await.unwrap()
    }

    async fn accounts_of(&self, person: &PersonId) -> Vec<AccountId> {
        let rows = connected::of_person(&self.store, person).await.unwrap();
        rows.into_iter().map(|row| row.id).collect()
    }

    async fn login(&self, id: &str) -> LoginRow {
        logins::by_id(&self.store, &id.into()).await.unwrap().expect("the login is there")
    }

    async fn takes(&self, step: impl FnOnce(&mut Batch)) -> bool {
        match self.write(step).await {
            Ok(()) => true,
            Err(StoreError::Stale(Stale::LoginUsed)) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn an_account_is_kept_as_it_was_and_goes_with_its_secret(world: World) {
    let ada = world.person("ada").await.id;
    assert!(!connected::any(&world.store).await.unwrap());
    let full = AccountRow {
        provider: ProviderKind::Password,
        services: AccountService::ALL.to_vec(),
        settings: r#"{"busy_calendars":["Work"]}"#.into(),
        state: AccountState::NeedsLogin,
        is_mail_default: true,
        is_events_default: true,
        used_at: Some(7),
        used_by: Some("t1".into()),
        ..account("a1", Some(&ada), "private")
    };
    world.connect(&full).await;
    world.connect(&account("a2", Some(&ada), "work")).await;
    assert_eq!(world.account("a1").await.as_ref(), Some(&full));
    assert!(connected::any(&world.store).await.unwrap());
    let ids = |rows: Vec<AccountRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    let ready = async |service| ids(connected::all_with(&world.store, service).await.unwrap());
    assert_eq!(ready(AccountService::Mail).await, ["a2"]);
    assert_eq!(ready(AccountService::Contacts).await, [""; 0]);
    assert_eq!(ids(connected::in_state(&world.store, AccountState::NeedsLogin).await.unwrap()), ["a1"]);
    assert_eq!(ids(connected::all(&world.store).await.unwrap()), ["a1", "a2"]);

    let again = LoginRow { account_id: Some("a1".into()), ..login(&world, "l1", &ada) };
    world.write(|batch| logins::offer(batch, &again)).await.unwrap();
    world.write(|batch| connected::delete(batch, &full.id)).await.unwrap();
    assert_eq!(world.account("a1").await, None);
    assert_eq!(secrets::get(&world.store, "account/a1").await.unwrap(), None);
    assert_eq!(logins::by_id(&world.store, &again.id).await.unwrap(), None);
    assert!(secrets::get(&world.store, "account/a2").await.unwrap().is_some());
    assert_eq!(
        stale(world.write(|batch| connected::delete(batch, &full.id)).await),
        Stale::AccountGone,
        "it is gone"
    );
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
}

async fn each_sees_their_own_accounts_and_those_that_they_share(world: World) {
    let (ada, bob, eve) =
        (world.person("ada").await.id, world.person("bob").await.id, world.person("eve").await.id);
    for row in [
        account("a1", Some(&ada), "private"),
        account("b1", Some(&bob), "private"),
        account("g1", None, "sales"),
        account("x1", None, "office"),
    ] {
        world.connect(&row).await;
    }
    for person in [&ada, &bob, &bob] {
        world.write(|batch| connected::add_person(batch, &"g1".into(), person)).await.unwrap();
    }
    assert_eq!(world.accounts_of(&ada).await, ["a1", "g1", "x1"]);
    assert_eq!(world.accounts_of(&bob).await, ["b1", "g1", "x1"]);
    assert_eq!(world.accounts_of(&eve).await, ["x1"]);
    assert_eq!(world.accounts_of(&"nobody".into()).await, ["x1"]);
}

async fn a_label_is_one_persons_once(world: World) {
    let (ada, bob) = (world.person("ada").await.id, world.person("bob").await.id);
    for row in [
        account("a1", Some(&ada), "private"),
        account("a2", Some(&ada), "work"),
        account("b1", Some(&bob), "private"),
    ] {
        world.connect(&row).await;
    }
    let twice = account("a3", Some(&ada), "work");
    assert_eq!(stale(world.write(|batch| connected::insert(batch, &twice)).await), Stale::LabelTaken);
    let rename = async |id: &str, label: &str| {
        let id: AccountId = id.into();
        world.write(|batch| connected::rename(batch, &id, label)).await
    };
    assert_eq!(stale(rename("a2", "private").await), Stale::LabelTaken);
    assert_eq!(stale(rename("a9", "private").await), Stale::AccountGone);
    rename("a2", "office").await.unwrap();
    rename("a2", "office").await.unwrap();
    assert_eq!(world.account("a2").await.unwrap().label, "office");
    rename("b1", "office").await.unwrap();
}

#[test]
fn a_label_that_is_taken_gets_a_number() {
    let taken = ["work".to_owned(), "work 2".to_owned()];
    assert_eq!(connected::free_label("private", &taken), "private");
    assert_eq!(connected::free_label("work", &taken), "work 3");
    assert_eq!(connected::free_label("Work", &taken), "Work 3", "nobody minds the case");
}

async fn one_account_is_the_default(world: World) {
    let (ada, bob) = (world.person("ada").await.id, world.person("bob").await.id);
    let rows = [
        account("a1", Some(&ada), "private"),
        account("a2", Some(&ada), "work"),
        account("b1", Some(&bob), "private"),
        account("x1", None, "office"),
    ];
    for row in &rows {
        world.connect(row).await;
    }
    let defaults = async |of: fn(&AccountRow) -> bool| {
        let all = connected::all(&world.store).await.unwrap();
        all.into_iter().filter(of).map(|row| row.id).collect::<Vec<_>>()
    };
    for row in [&rows[2], &rows[0], &rows[1]] {
        world.write(|batch| connected::set_default(batch, row, AccountService::Mail)).await.unwrap();
    }
    world.write(|batch| connected::set_default(batch, &rows[0], AccountService::Calendar)).await.unwrap();
    let mut mail = defaults(|row| row.is_mail_default).await;
    mail.sort();
    assert_eq!(mail, ["a2", "b1"], "one each");
    assert_eq!(defaults(|row| row.is_events_default).await, ["a1"]);
    let shared = world.write(|batch| connected::set_default(batch, &rows[3], AccountService::Mail));
    assert_eq!(stale(shared.await), Stale::AccountGone, "nobody's default is everybody's");
}

async fn one_that_is_being_disconnected_is_only_deleted(world: World) {
    let ada = world.person("ada").await.id;
    let row = account("a1", Some(&ada), "private");
    world.connect(&row).await;
    let set = async |state| world.write(|batch| connected::set_state(batch, &row.id, state)).await;
    set(AccountState::NeedsLogin).await.unwrap();
    world.write(|batch| connected::set_services(batch, &row.id, &[AccountService::Mail])).await.unwrap();
    world.write(|batch| connected::set_settings(batch, &row.id, "{}")).await.unwrap();
    assert_eq!(world.account("a1").await.unwrap().services, [AccountService::Mail]);
    set(AccountState::Disconnecting).await.unwrap();
    for outcome in [
        set(AccountState::Ready).await,
        set(AccountState::Disconnecting).await,
        world.write(|batch| connected::set_services(batch, &row.id, &[])).await,
        world.write(|batch| connected::set_settings(batch, &row.id, "{}")).await,
        world.write(|batch| connected::rename(batch, &row.id, "work")).await,
        world.write(|batch| connected::set_default(batch, &row, AccountService::Mail)).await,
    ] {
        assert_eq!(stale(outcome), Stale::AccountGone);
    }
    assert_eq!(world.accounts_of(&ada).await, [""; 0]);
    world.connect(&account("a2", Some(&ada), "private")).await;
    assert_eq!(world.account("a1").await.unwrap().state, AccountState::Disconnecting);
    world.write(|batch| connected::delete(batch, &row.id)).await.unwrap();
}

async fn the_end_of_each_login_is_news_once(world: World) {
    let ada = world.person("ada").await.id;
    let row = account("a1", Some(&ada), "private");
    world.connect(&row).await;
    let count = async || connected::with_unannounced_end(&world.store).await.unwrap().len();
    for version in 1..3 {
        assert_eq!(count().await, 0, "nothing has ended");
        let ends = |batch: &mut Batch| connected::set_state(batch, &row.id, AccountState::NeedsLogin);
        world.write(ends).await.unwrap();
        assert_eq!(count().await, 1);
        let topic = connected::end_topic(&world.store, &row.id).await.unwrap();
        assert_eq!(topic, format!("login a1 {version}"));
        let tell = |batch: &mut Batch| {
            connected::expect_ended(batch, &row.id);
            outbox::announce(batch, &topic, 1);
        };
        world.write(tell).await.unwrap();
        assert_eq!(count().await, 0);
        let again = world.write(|batch| outbox::announce_once(batch, &topic, 1)).await;
        assert_eq!(stale(again), Stale::AlreadyAnnounced);
        world.write(tell).await.unwrap();
        let logs_in = |batch: &mut Batch| {
            secrets::put(batch, "account/a1", "xyzzy sealed");
            connected::set_state(batch, &row.id, AccountState::Ready);
        };
        world.write(logs_in).await.unwrap();
        assert_eq!(stale(world.write(tell).await), Stale::AccountGone, "it has a new login");
    }
}

async fn an_account_is_shared_with_exactly_those_who_are_named(world: World) {
    let (ada, bob, eve) =
        (world.person("ada").await.id, world.person("bob").await.id, world.person("eve").await.id);
    let row = AccountRow { is_mail_default: true, ..account("a1", Some(&ada), "sales") };
    world.connect(&row).await;
    let share = async |people: &[PersonId]| {
        world.write(|batch| connected::share(batch, &row.id, people)).await.unwrap();
        let mut having = Vec::new();
        for person in [&ada, &bob, &eve] {
            having.push(!world.accounts_of(person).await.is_empty());
        }
        having
    };
    assert_eq!(share(&[ada.clone(), bob.clone()]).await, [true, true, false]);
    assert!(!world.account("a1").await.unwrap().is_mail_default, "nobody's default is everybody's");
    assert_eq!(share(&[]).await, [true, true, true]);
    assert_eq!(share(std::slice::from_ref(&eve)).await, [false, false, true]);
    let with = async |person| connected::of_nobody_else(&world.store, person).await.unwrap().len();
    assert_eq!((with(&ada).await, with(&eve).await), (0, 1));
    world.write(|batch| connected::delete(batch, &row.id)).await.unwrap();
    let gone = world.write(|batch| connected::share(batch, &row.id, &[])).await;
    assert_eq!(stale(gone), Stale::AccountGone);
}

async fn its_use_is_noted_once_a_minute(world: World) {
    let ada = world.person("ada").await.id;
    let row = account("a1", Some(&ada), "private");
    world.connect(&row).await;
    let mut noted = Vec::new();
    for (turn, now) in [("t1", 100_000), ("t2", 159_999), ("t3", 160_000)] {
        world.write(|batch| connected::used(batch, &row.id, &turn.into(), now)).await.unwrap();
        let row = world.account("a1").await.unwrap();
        noted.push((row.used_by.unwrap().to_string(), row.used_at.unwrap()));
    }
    let expected = [("t1", 100_000), ("t1", 100_000), ("t3", 160_000)];
    assert_eq!(noted, expected.map(|(turn, at)| (turn.to_owned(), at)));
}

async fn the_account_of_a_group_goes_with_its_last_person(world: World) {
    let (ada, bob, eve) =
        (world.person("ada").await.id, world.person("bob").await.id, world.person("eve").await.id);
    world.connect(&account("g1", None, "sales")).await;
    world.connect(&account("b1", Some(&bob), "sales")).await;
    for person in [&ada, &bob] {
        world.write(|batch| connected::add_person(batch, &"g1".into(), person)).await.unwrap();
    }
    known::erase(&world.store, &ada).await.unwrap();
    assert_eq!(world.accounts_of(&bob).await, ["b1", "g1"], "it is still Bob's");
    known::erase(&world.store, &bob).await.unwrap();
    assert_eq!(world.accounts_of(&eve).await, [""; 0], "it never becomes everybody's");
    assert_eq!(secrets::count(&world.store).await.unwrap(), 0);
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
}

/// People connect accounts, alone and together, disconnect them, become one person, and are erased.
async fn over_a_random_history_each_has_exactly_what_is_theirs(world: World) {
    let mut people = Vec::new();
    for name in ["ada", "bob", "cleo", "dora", "eve"] {
        people.push(world.person(name).await.id);
    }
    let mut left: Vec<usize> = (0..people.len()).collect();
    // Whose each account is; everybody's if there is nobody.
    let mut accounts: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let mut dice = Dice(37);
    for step in 0..60 {
        let (one, other) = (left[dice.below(left.len())], left[dice.below(left.len())]);
        let id = format!("a{step:02}");
        match dice.below(12) {
            0 if left.len() > 2 => {
                known::erase(&world.store, &people[one]).await.unwrap();
                left.retain(|person| *person != one);
                accounts.retain(|_, of| !(of.remove(&one) && of.is_empty()));
            }
            1 if left.len() > 2 && one != other => {
                links::offer(&world.store, "AAAA-AAAA", &people[one]).await.unwrap();
                assert!(links::join(&world.store, "AAAA-AAAA", &people[other]).await.unwrap());
                left.retain(|person| *person != other);
                for of in accounts.values_mut().filter(|of| of.contains(&other)) {
                    of.remove(&other);
                    of.insert(one);
                }
            }
            2 | 3 => {
                if let Some((id, _)) = accounts.pop_first() {
                    world.write(|batch| connected::delete(batch, &id.into())).await.unwrap();
                }
            }
            4..=6 => {
                world.connect(&account(&id, None, &id)).await;
                for person in [one, other] {
                    let add = |batch: &mut Batch| {
                        connected::add_person(batch, &id.as_str().into(), &people[person]);
                    };
                    world.write(add).await.unwrap();
                }
                accounts.insert(id, [one, other].into());
            }
            7 => {
                world.connect(&account(&id, None, &id)).await;
                accounts.insert(id, BTreeSet::new());
            }
            _ => {
                world.connect(&account(&id, Some(&people[one]), &id)).await;
                accounts.insert(id, [one].into());
            }
        }
        for (person, person_id) in people.iter().enumerate() {
            let found: Vec<String> =
                world.accounts_of(person_id).await.into_iter().map(|id| id.to_string()).collect();
            let theirs = accounts.iter().filter(|(_, of)| of.is_empty() || of.contains(&person));
            let theirs: Vec<String> = theirs.map(|(id, _)| id.clone()).collect();
            assert_eq!(found, theirs, "step {step}: person {person}");
        }
    }
    assert_eq!(secrets::count(&world.store).await.unwrap(), i64::try_from(accounts.len()).unwrap());
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
}

async fn each_step_of_a_login_happens_once(world: World) {
    let ada = world.person("ada").await.id;
    let row = world.offers("l1", &ada).await;
    let (id, now) = (row.id.clone(), world.store.now() + 1);
    assert_eq!(world.login("l1").await, row);
    assert!(!world.takes(|batch| logins::claim(batch, &id, now)).await, "nothing has arrived");
    assert!(world.takes(|batch| logins::opened(batch, &id, "first", now)).await);
    assert!(!world.takes(|batch| logins::opened(batch, &id, "second", now)).await, "another browser");
    let by_nonce = logins::by_nonce(&world.store, &row.nonce).await.unwrap().unwrap();
    assert_eq!((by_nonce.state, by_nonce.browser.as_deref()), (LoginState::Opened, Some("first")));
    assert!(world.takes(|batch| logins::arrived(batch, &id, "xyzzy code", now)).await);
    assert!(!world.takes(|batch| logins::arrived(batch, &id, "another code", now)).await, "it came twice");
    assert_eq!(logins::by_state(&world.store, &row.oauth_state).await.unwrap().unwrap().sealed, "xyzzy code");

    let other = world.another().await;
    let claim = || {
        let mut batch = Batch::new();
        logins::claim(&mut batch, &id, now);
        batch
    };
    let (one, another) = tokio::join!(world.store.write(claim()), other.write(claim()));
    assert!(one.is_ok() != another.is_ok(), "one of two instances exchanges the code");
    assert_eq!(stale(one.and(another)), Stale::LoginUsed);
    assert!(world.takes(|batch| logins::end(batch, &id, LoginState::Done, now)).await);
    assert!(!world.takes(|batch| logins::end(batch, &id, LoginState::Refused, now)).await);
    let ended = world.login("l1").await;
    assert_eq!((ended.state, ended.sealed.as_str(), ended.changed_at), (LoginState::Done, "", now));
    assert_eq!(logins::unfinished(&world.store).await.unwrap(), []);
    other.close().await;
}

async fn a_login_is_good_for_five_minutes(world: World) {
    let (ada, bob) = (world.person("ada").await.id, world.person("bob").await.id);
    let id = world.offers("l1", &ada).await.id;
    let expires = async || {
        let now = world.store.now();
        world.takes(|batch| logins::end(batch, &id, LoginState::Expired, now)).await
    };
    assert_eq!(logins::open_of(&world.store, &ada).await.unwrap().len(), 1);
    assert_eq!(logins::open_of(&world.store, &bob).await.unwrap(), []);
    assert!(!expires().await, "it isn't time");
    world.clock.advance(FIVE_MINUTES);
    let now = world.store.now();
    assert!(!world.takes(|batch| logins::opened(batch, &id, "late", now)).await);
    assert!(!world.takes(|batch| logins::arrived(batch, &id, "late", now)).await);
    assert_eq!(logins::open_of(&world.store, &ada).await.unwrap(), []);
    assert_eq!(logins::unfinished(&world.store).await.unwrap().len(), 1);
    assert!(expires().await);
    assert_eq!(world.login("l1").await.sealed, "");
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
}

async fn an_exchange_under_way_does_not_expire(world: World) {
    let ada = world.person("ada").await.id;
    let id = world.offers("l1", &ada).await.id;
    let now = world.store.now();
    assert!(world.takes(|batch| logins::arrived(batch, &id, "code", now)).await);
    assert!(world.takes(|batch| logins::claim(batch, &id, now)).await);
    world.clock.advance(FIVE_MINUTES);
    let now = world.store.now();
    assert!(!world.takes(|batch| logins::end(batch, &id, LoginState::Expired, now)).await);
    assert!(world.takes(|batch| logins::end(batch, &id, LoginState::Done, now)).await);
}

async fn a_device_code_is_asked_about_by_one(world: World) {
    let ada = world.person("ada").await.id;
    let row = world.offers("l1", &ada).await;
    let now = world.store.now() + 5000;
    assert!(world.takes(|batch| logins::polled(batch, &row, now)).await);
    assert!(!world.takes(|batch| logins::polled(batch, &row, now + 1)).await, "somebody else has asked");
    let row = world.login("l1").await;
    assert_eq!((row.state, row.changed_at), (LoginState::Offered, now));
    assert!(!world.takes(|batch| logins::polled(batch, &row, row.expires_at)).await);
}

async fn what_came_in_time_is_finished_however_long_that_takes(world: World) {
    let ada = world.person("ada").await.id;
    let (code, device) = (world.offers("l1", &ada).await.id, world.offers("l2", &ada).await.id);
    let now = world.store.now();
    assert!(world.takes(|batch| logins::arrived(batch, &code, "code", now)).await);
    assert!(!world.takes(|batch| logins::answered(batch, &code, now)).await, "it isn't that kind");
    world.clock.advance(FIVE_MINUTES);
    let now = world.store.now();
    let open = logins::open_of(&world.store, &ada).await.unwrap();
    assert_eq!(open.into_iter().map(|row| row.id).collect::<Vec<_>>(), ["l1"]);
    assert!(world.takes(|batch| logins::claim(batch, &code, now)).await);
    // A provider answered at the last moment.
    assert!(world.takes(|batch| logins::answered(batch, &device, now)).await);
    for id in [&code, &device] {
        assert!(!world.takes(|batch| logins::end(batch, id, LoginState::Expired, now)).await);
        assert!(world.takes(|batch| logins::end(batch, id, LoginState::Done, now)).await);
    }
}

async fn logins_that_ended_long_ago_are_deleted(world: World) {
    let ada = world.person("ada").await.id;
    world.offers("l1", &ada).await;
    let pass = async || retention::pass(&world.store, &retention::Ages::default()).await.unwrap();
    world.clock.advance(FIVE_MINUTES);
    pass().await;
    assert_eq!(world.login("l1").await.state, LoginState::Offered, "whoever comes late learns why");
    world.clock.advance(Duration::from_hours(1));
    pass().await;
    assert_eq!(logins::by_id(&world.store, &"l1".into()).await.unwrap(), None);
}
