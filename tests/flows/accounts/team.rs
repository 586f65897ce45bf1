//! A team that shares a bot: everybody connects what they use, in the chat, and has it to themselves.

use std::time::Duration;

use adjutant_config::{Config, DavConfig, Secret};
use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET};
use adjutant_fakes::dav_proxy::Proxy;
use adjutant_fakes::dav_server::{self, Kind};
use adjutant_fakes::graph::FakeGraph;
use adjutant_fakes::mail_server;
use adjutant_mail::{Draft, Smtp};
use adjutant_models::Request;
use regex::Regex;
use serde_json::json;

use super::connecting::link_in;
use super::providers::{got, login, mail_at, microsoft};
use super::world::World;
use crate::app::{Heard, TestApp, direct, reports, scripted_with, user_text};
use crate::groupware::{account, said, skill_caller};
use crate::scripted::{Reply, Scripted, Who, call, text};

const ALICE: &str = "alice@example.test";
const BOB: &str = "bob@acme.test";
const TOMORROW: &str = "what's on tomorrow?";
const LUNCH: &str = "put lunch with Ada into my private calendar on Friday";
const OFFER: &str = "find the offer from Acme and answer that we take it";

/// A model that does what the team asks for, by what it is told alone.
fn assistant() -> Scripted {
    Scripted::new().orchestrator(|request| {
        let reports = reports(request);
        let Some(report) = reports.values().next() else { return first_step(request) };
        if report["status"] == "waiting" {
            return call("get_agent_results", json!({"agent_ids": [report["agent_id"]]}));
        }
        let result = report["result"].as_str().unwrap_or_default().to_owned();
        match offer_in(&result) {
            Some(id) if report["agent_id"] == "find" => {
                direct("reply", "email.reply", json!({"message_id": id, "body": "We take it."}))
            }
            _ if result.is_empty() => text(report["error"].to_string()),
            _ => text(said(&result)),
        }
    })
}

fn first_step(request: &Request) -> Reply {
    match user_text(request) {
        TOMORROW => {
            direct("look", "calendar.list_events", json!({"start": "2026-11-22", "end": "2026-11-22"}))
        }
        LUNCH => {
            let lunch = json!({"title": "Lunch with Ada", "start": "2026-11-27T12:00", "account": "private"});
            direct("lunch", "calendar.create_event", lunch)
        }
        OFFER => direct("find", "email.search", json!({"from": "Acme", "subject": "offer"})),
        said => panic!("{said}"),
    }
}

/// The id of the offer that a result names.
fn offer_in(result: &str) -> Option<String> {
    let id = Regex::new(r"<offer-for-\w+@acme\.test>").unwrap();
    id.find(result).map(|found| found.as_str().to_owned())
}

/// Everything that the team has: what each of them uses, and a bot.
struct Team {
    cloud: FakeCloud,
    graph: FakeGraph,
    proxy: Proxy,
    mail: &'static mail_server::Server,
    world: World,
}

impl Team {
    /// None where there are no servers.
    async fn new() -> Option<Self> {
        let (mail, dav) = (mail_server::shared().unwrap()?, dav_server::shared().unwrap()?);
        let (cloud, graph, proxy) = (FakeCloud::start(), FakeGraph::start(), Proxy::start(dav));
        let calendar = dav.collection("me", "of-alice", Kind::Calendar).unwrap();
        let contacts = dav.collection("me", "friends-of-alice", Kind::AddressBook).unwrap();
        dav.put(&calendar, "standup.ics", &event("Standup of Alice")).unwrap();
        let at = |path: &str| format!("{}{path}", proxy.url().trim_end_matches('/'));
        let world = World::with(assistant(), |config| {
            mail_at(config, mail);
            microsoft(config, &graph);
            logins_at(config, &cloud.origin());
            let google = config.connect.as_mut().and_then(|connect| connect.google.as_mut()).unwrap();
            (google.caldav_url, google.carddav_url) = (format!("{}?", at(&calendar)), at(&contacts));
        })
        .await;
        offer(mail).await;
        Some(Self { cloud, graph, proxy, mail, world })
    }

    fn app(&self) -> &TestApp {
        &self.world.app
    }

    /// Somebody writes to the bot in private, and says yes to what it asks.
    async fn says(&self, who: &str, said: &str) -> Heard {
        let place = format!("home-{who}");
        let mut heard = self.app().direct(&place).says(who, said).await;
        while heard.buttons().contains(&"Approve") {
            heard = self.app().presses(who, &heard, "Approve").await;
        }
        heard
    }

    /// Ada connects alice's account at Google: she signs in on a page, and brings back the address at which she ends.
    async fn ada_connects(&self) {
        self.cloud.state().logins.person = ALICE.into();
        let asked = self.says("ada", "/connect google").await;
        let back = self.cloud.opens(link_in(&asked));
        self.says("ada", &back).await;
        self.app().sees(&format!("✓ Connected {ALICE}: email, calendar and contacts.")).await;
        let tokens = self.cloud.state().logins.access_tokens(ALICE);
        for token in &tokens {
            self.mail.allow(token, ALICE).unwrap();
            self.proxy.allow(token, "me");
        }
        self.says("ada", "/accounts rename google private").await;
    }

    /// Bob connects his account at Microsoft: he types a code on its page.
    async fn bob_connects(&self) {
        self.cloud.state().logins.person = BOB.into();
        // It asks whose account it is with the very token that it has just got.
        let next = self.cloud.state().logins.given.len();
        self.graph.state().person(&format!("access-{next:04}-t0ken"), BOB);
        self.prepare_graph();
        self.says("bob", "/connect outlook").await;
        self.app().passes(Duration::from_secs(6)).await;
        self.app().sees(&format!("✓ Connected {BOB}: email, calendar and contacts.")).await;
        self.says("bob", "/accounts rename microsoft private").await;
    }

    fn prepare_graph(&self) {
        let mut state = self.graph.state();
        let at = |time: &str| json!({"dateTime": format!("2026-11-22T{time}.0000000"), "timeZone": "UTC"});
        state.mailbox(BOB).events.push(json!({
            "id": "AAMk/standing", "calendar": "cal-main", "type": "singleInstance", "isAllDay": false,
            "subject": "Standup of Bob", "start": at("09:00:00"), "end": at("10:00:00"),
            "originalStartTimeZone": "UTC", "showAs": "busy", "lastModifiedDateTime": "2026-11-01T00:00:00Z",
            "recurrence": null, "cancelledOccurrences": [], "exceptionOccurrences": [], "@odata.etag": "1",
        }));
        state.deliver(
            BOB,
            "From: Acme <sales@acme.test>\nTo: bob@acme.test\nSubject: Our offer\nMIME-Version: 1.0\n\
             Message-ID: <offer-for-bob@acme.test>\nContent-Type: text/plain\n\nWe offer spoons.\n",
        );
    }

    /// The titles of bob's events.
    fn bobs_events(&self) -> Vec<String> {
        let events = self.graph.state().mailbox(BOB).events.clone();
        events.iter().map(|event| event["subject"].as_str().unwrap().to_owned()).collect()
    }

    /// How often something was written into alice's calendar.
    fn written_for_alice(&self) -> usize {
        self.proxy.requests().iter().filter(|request| request.method == "PUT").count()
    }
}

/// One logs in to Google and Microsoft at this cloud.
fn logins_at(config: &mut Config, cloud: &str) {
    let connect = config.connect.as_mut().unwrap();
    let (google, microsoft) = (connect.google.as_mut().unwrap(), connect.microsoft.as_mut().unwrap());
    for oauth in [&mut google.oauth, &mut microsoft.oauth] {
        (oauth.client_id, oauth.client_secret) = (CLIENT.into(), Some(Secret::new(SECRET)));
        (oauth.auth_url, oauth.token_url) = (Some(format!("{cloud}/authorize")), format!("{cloud}/token"));
    }
    microsoft.oauth.device_url = Some(format!("{cloud}/device"));
}

/// Acme, who is carol, makes alice an offer.
async fn offer(server: &mail_server::Server) {
    let draft = Draft {
        message_id: "<offer-for-alice@acme.test>".into(),
        from: "Acme <carol@example.test>".parse().unwrap(),
        to: vec![ALICE.parse().unwrap()],
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: "Our offer".into(),
        body: "We offer forks.".into(),
        attachments: Vec::new(),
        invitation: None,
        in_reply_to: None,
        references: Vec::new(),
        date: "2026-11-20T09:00:00+01:00".parse().unwrap(),
    };
    let letter = draft.compose().unwrap();
    let carol = Smtp::new(login(server, "carol", server.submissions));
    carol.send(&letter.envelope, &letter.bytes, async { Ok(()) }).await.unwrap();
    assert_eq!(got(server, "alice", "Our offer").await, 1);
}

/// An event of tomorrow.
fn event(title: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//a//test\r\nBEGIN:VEVENT\r\nUID:standing\r\n\
         DTSTAMP:20261101T000000Z\r\nDTSTART:20261122T090000Z\r\nDTEND:20261122T100000Z\r\n\
         SUMMARY:{title}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

#[tokio::test]
async fn everybody_connects_what_they_use_and_has_it_to_themselves() {
    let Some(team) = Team::new().await else { return };
    team.ada_connects().await;
    team.bob_connects().await;
    let (of_alice, of_bob) = ("Standup of Alice", "Standup of Bob");
    for (who, own, other) in [("ada", of_alice, of_bob), ("bob", of_bob, of_alice)] {
        let heard = team.says(who, TOMORROW).await.text;
        assert!(heard.contains(own) && !heard.contains(other), "{who}: {heard}");
    }
    for (who, written, bobs) in [("ada", 1, vec![of_bob]), ("bob", 1, vec![of_bob, "Lunch with Ada"])] {
        let heard = team.says(who, LUNCH).await.text;
        assert!(heard.contains("Created “Lunch with Ada”, Fri 27 Nov 2026, 12:00–13:00"), "{who}: {heard}");
        assert_eq!(team.written_for_alice(), written, "{who}");
        assert_eq!(team.bobs_events(), bobs, "{who}");
    }
    for (who, acme) in [("ada", "carol@example.test"), ("bob", "sales@acme.test")] {
        let heard = team.says(who, OFFER).await.text;
        assert!(heard.contains(&format!("Sent “Re: Our offer” to Acme <{acme}>")), "{who}: {heard}");
    }
    assert_eq!(got(team.mail, "carol", "Re: Our offer").await, 1);
    let sent = team.graph.state().sent.clone();
    let sent: Vec<_> = sent.iter().map(|mail| (mail.from.as_str(), mail.to.join(", "))).collect();
    assert_eq!(sent, [(BOB, "sales@acme.test".to_owned())]);
    // Nothing of one is told to the model for the other.
    for request in team.app().all_requests() {
        let told: String = request.messages.iter().map(|message| message.text.to_string()).collect();
        for (who, theirs) in [("ada", [of_bob, BOB, "spoons"]), ("bob", [of_alice, ALICE, "forks"])] {
            let is_told = theirs.iter().any(|words| told.contains(words));
            assert!(!told.contains(&format!("Person: {who}\n")) || !is_told, "{who}: {told}");
        }
    }
    for complaints in [&team.cloud.state().complaints, &team.graph.state().complaints] {
        assert_eq!(*complaints, [""; 0]);
    }
    team.world.ends_well().await;
}

/// What the owner hears, and the first request that is made for it.
async fn heard_by_the_owner(app: &TestApp) -> (Vec<String>, String) {
    let mut heard = Vec::new();
    for said in [
        "calendar.list_events {\"start\": \"2026-11-22\", \"end\": \"2026-11-22\"}",
        "calendar.check_availability {\"start\": \"2026-11-22T08:00\", \"end\": \"2026-11-22T12:00\"}",
        "/accounts",
    ] {
        heard.push(app.direct("home-olga").says("olga", said).await.text);
    }
    let first = app.requests(Who::Orchestrator).remove(0);
    let told: String = first.messages.iter().map(|message| message.text.to_string()).collect();
    (heard, told + &serde_json::to_string(&first.tools).unwrap())
}

#[tokio::test]
async fn the_owner_of_an_old_configuration_notices_nothing() {
    let Some(dav) = dav_server::shared().unwrap() else { return };
    let calendar = dav.collection("me", "of-olga", Kind::Calendar).unwrap();
    dav.put(&calendar, "standup.ics", &event("Standup of all")).unwrap();
    let old = |config: &mut Config| {
        let url = format!("{}{calendar}", dav.url().trim_end_matches('/'));
        let (user, password) = ("me".to_owned(), Secret::new("me-secret"));
        config.calendar = Some(DavConfig { url, user, password, ..account() });
    };
    let app = scripted_with(skill_caller(), old).await;
    let (before, first_before) = heard_by_the_owner(&app).await;
    app.ends_well().await;
    assert!(before[0].contains("Standup of all") && before[1].contains("You're busy"), "{before:#?}");
    let world = World::with(skill_caller(), old).await;
    for (id, label) in [("b1", "private"), ("b2", "work")] {
        world.connect(id, label, &["bob"]).await;
    }
    let (after, first_after) = heard_by_the_owner(&world.app).await;
    assert_eq!(after, before);
    assert_eq!(first_after, first_before);
    let listed = "Your accounts:\n\n- “shared”, me: calendar (set in the configuration)";
    assert_eq!(after[2], listed, "none of Bob's");
    assert_eq!(world.cloud.state().asked, []);
    world.ends_well().await;
}
