//! Kills the service while it works with somebody's account at Microsoft: a mail is sent once, an event and a contact are
//! made once, and the person hears what became of it.

use std::time::{Duration, Instant};

use adjutant_config::Config;
use adjutant_fakes::graph::{FakeGraph, Reply};
use adjutant_skills::accounts::SecretStore;
use adjutant_store::connected::{self, AccountRow};
use adjutant_store::{Batch, people, secrets};
use adjutant_types::{AccountState, ProviderKind};

use crate::gateway::wait_until;
use crate::process::{Home, Value, answers, json};
use crate::restart::{Program, once_each};

const ADA: &str = "ada@x.test";
const BOB: &str = "bob@x.test";

/// A home whose person has an account at Microsoft.
struct World {
    graph: FakeGraph,
    home: Home,
}

impl World {
    fn new() -> Self {
        let graph = FakeGraph::start();
        graph.state().person("token-of-ada", ADA);
        graph.state().person("token-of-bob", BOB);
        let home = Home::with_config(&format!(
            "[assistant]\ntimezone = \"UTC\"\n[approval]\nhigh = \"auto\"\n\
             [connect.microsoft]\nclient_id = \"client\"\napi_url = \"{}\"\n",
            graph.url()
        ));
        assert_eq!(home.run(&["account", "list"]).status, Some(0), "the store is there");
        let secret_store = SecretStore::new(&Config::in_dir(home.data()));
        home.ask(async |store| {
            secret_store.attach(store);
            let person = people::person(store, "console", "local", "you").await.unwrap();
            let row = AccountRow {
                person_id: Some(person.id),
                label: "work".into(),
                is_mail_default: true,
                is_events_default: true,
                created_at: store.now(),
                ..AccountRow::new("a1".into(), ProviderKind::Microsoft, ADA)
            };
            let name = secrets::name_of(&row.id);
            let tokens = json!({
                "access_token": "token-of-ada", "refresh_token": null, "expires_at": null, "since": 0,
            });
            let sealed = secret_store.seal(&name, &tokens.to_string()).await.unwrap();
            let mut batch = Batch::new();
            connected::insert(&mut batch, &row);
            secrets::put(&mut batch, &name, &sealed);
            store.write(batch).await.unwrap();
        });
        Self { graph, home }
    }

    /// How many requests there were whose method and path begin so.
    fn asked(&self, what: &str) -> usize {
        self.graph.state().requests.iter().filter(|request| request.starts_with(what)).count()
    }

    /// This mail went to bob once, and no draft of it is left.
    fn has_sent_once(&self, subject: &str, what: &str) {
        let mut state = self.graph.state();
        assert_eq!(state.sent.len(), 1, "{what}");
        assert_eq!(state.mailbox(BOB).subjects("folder-inbox"), [subject], "{what}");
        assert_eq!(state.mailbox(ADA).subjects("folder-sentitems"), [subject], "{what}");
        assert_eq!(state.mailbox(ADA).subjects("folder-drafts"), [""; 0], "{what}");
    }

    /// Nothing is left open, and Microsoft had nothing to complain of.
    fn ends_well(&self, what: &str) {
        assert_eq!(self.graph.state().complaints, [""; 0], "{what}");
        self.home.assert_tidy(what);
    }
}

fn mail(subject: &str) -> String {
    format!("email {BOB}: {subject}")
}

fn says(reply: &Value, words: &str) -> bool {
    reply["text"].as_str().is_some_and(|text| text.starts_with(words))
}

#[test]
fn a_mail_that_dies_on_its_way_to_microsoft_is_sent_once() {
    for point in ["skill-running", "mail-sent", "mail-accepted", "skill-worked", "skill-before-close"] {
        let world = World::new();
        let subject = format!("Kill {point}");
        let mut program = Program::start(&world.home, point);
        let reply = program.say("m1", &mail(&subject));
        assert!(says(&reply, &format!("Sent “{subject}” to {BOB}")), "{point}: {reply}");
        world.has_sent_once(&subject, point);
        assert_eq!(program.finish(), (once_each(&["m1"]), true), "{point}");
        world.ends_well(point);
    }
}

/// Dies while Microsoft has done something and hasn't answered.
#[test]
fn what_microsoft_has_done_and_not_answered_is_not_done_again() {
    let lunch = "put lunch with the team into my calendar on 2030-03-04 at noon";
    let contact = "add a contact Bob Baker, baker@acme.test, at Acme";
    for (held, said, told) in [
        // The draft is made, and nothing says yet that the mail may be out.
        ("POST /me/messages", mail("Held"), "Sent “Held”"),
        // The order to send it.
        ("/send", mail("Held"), "Sent “Held”"),
        ("POST /me/calendars", lunch.to_owned(), "Created “Lunch with the team”"),
        ("POST /me/contacts", contact.to_owned(), "Added the contact Bob Baker"),
    ] {
        let world = World::new();
        world.graph.state().on(held, Reply::Held);
        let mut chat = world.home.chat();
        chat.send(&json!({"id": "m1", "text": said}));
        wait_until(held, || world.graph.state().requests.iter().any(|request| request.contains(held)));
        chat.kill();
        let mut chat = world.home.chat();
        let reply = chat.reply("m1");
        assert!(says(&reply, told), "{held}: {reply}");
        chat.finish_well();
        if told.starts_with("Sent") {
            world.has_sent_once("Held", held);
        } else {
            assert_eq!(world.asked(held), 1, "{held}: it is found, not made again");
            let mut state = world.graph.state();
            let ada = state.mailbox(ADA);
            assert_eq!(ada.events.len() + ada.contacts.len(), 1, "{held}");
        }
        world.ends_well(held);
    }
}

#[test]
fn an_order_whose_answer_is_lost_is_looked_up() {
    let world = World::new();
    world.graph.state().on("/send", Reply::Lost);
    let mut chat = world.home.chat();
    let reply = chat.say("m1", &mail("Lost"));
    assert!(says(&reply, &format!("Sent “Lost” to {BOB}")), "{reply}");
    chat.finish_well();
    world.has_sent_once("Lost", "lost");
    world.ends_well("lost");
}

/// It is looked for in Sent for a minute, because Microsoft may be slow to show it there.
#[test]
fn a_draft_whose_order_was_never_given_is_sent_after_a_minute() {
    let world = World::new();
    let mut chat = world.home.chat_until("mail-handed-over");
    chat.send(&json!({"id": "m1", "text": mail("Ordered late")}));
    while chat.next().is_some() {}
    assert_eq!(world.asked("POST /me/messages"), 1, "the draft is made");
    assert_eq!(world.graph.state().sent.len(), 0);
    let mut chat = world.home.chat();
    let begun = Instant::now();
    let mut is_answered = false;
    while !is_answered {
        assert!(begun.elapsed() < Duration::from_secs(140), "never answered");
        chat.next_within(Duration::from_secs(10));
        is_answered = chat.seen.iter().any(|event| answers(event, "m1"));
    }
    let reply = chat.seen.iter().find(|event| answers(event, "m1")).unwrap();
    assert!(says(reply, "Sent “Ordered late”"), "{reply}");
    chat.finish_well();
    assert_eq!(world.asked("POST /me/messages"), 2, "no second draft is made");
    world.has_sent_once("Ordered late", "ordered late");
    world.ends_well("ordered late");
}

#[test]
fn a_disconnection_that_died_is_finished_by_the_next_process() {
    let world = World::new();
    // As if it had died between its two commits.
    world.home.ask(async |store| {
        let mut batch = Batch::new();
        connected::set_state(&mut batch, &"a1".into(), AccountState::Disconnecting);
        store.write(batch).await.unwrap();
    });
    let mut chat = world.home.chat();
    let left = "SELECT (SELECT count(*) FROM connected_accounts) \
                + (SELECT count(*) FROM secrets WHERE name LIKE 'account/%')";
    wait_until("it is erased", || world.home.count(left) == 0);
    chat.finish_well();
    world.ends_well("disconnected");
}
