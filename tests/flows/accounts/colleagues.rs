//! What one person has written, or has in their mailbox, decides nothing for another.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant::service;
use adjutant_config::{Config, Policy};
use adjutant_fakes::graph::FakeGraph;
use adjutant_skills::builtin::watches::new_row;
use adjutant_store::connected::AccountRow;
use adjutant_store::{outbox, people, watches};
use adjutant_types::{AccountService, ProviderKind, WatchId, WatchSource, WatchTrigger};
use serde_json::json;

use super::providers::microsoft;
use super::world::{World, account_row};
use crate::groupware::{call, skill_caller};

const CAROL: &str = "carol@example.test";
const BOB: &str = "bob@example.test";
/// Nothing that is told takes longer.
const SOON: Duration = Duration::from_secs(20);

/// Ada has Carol's mailbox at Microsoft, and bob his own. Sending asks nobody.
async fn world(graph: &FakeGraph) -> (World, Config) {
    let mut used = None;
    let world = World::with(skill_caller(), |config| {
        microsoft(config, graph);
        config.approval.skills.insert("email.send".into(), Policy::Auto);
        used = Some(config.clone());
    })
    .await;
    for (who, id) in [("ada", "carol"), ("bob", "bob")] {
        graph.state().person(&format!("token-{id}"), &format!("{id}@example.test"));
        let (provider, services) = (ProviderKind::Microsoft, vec![AccountService::Mail]);
        world.connect_at(who, AccountRow { provider, services, ..account_row(id, "private") }, None).await;
    }
    (world, used.unwrap())
}

/// Ada sends an email to bob. Returns its Message-ID.
async fn sent(world: &World) -> String {
    let mail = json!({"to": [BOB], "subject": "Forks", "body": "Ten."});
    let (said, _) = call(&world.app, "email.send", mail).await;
    assert!(said.starts_with("Sent “Forks”"), "{said}");
    let sql = "SELECT id FROM executions WHERE skill = 'email.send'";
    let (id,): (String,) = world.app.store().first(sql, &[]).await.unwrap().unwrap();
    format!("<{id}@example.test>")
}

/// Somebody watches all new mail of their account, and is told this.
async fn is_told(world: &World, (who, place): (&str, &str), account: &str, line: &str) -> WatchId {
    let app = &world.app;
    app.direct(place).says(who, "tasks.search {}").await;
    let here = people::find_conversation(app.store(), "console", place).await.unwrap().unwrap();
    let source = WatchSource { trigger: WatchTrigger::Mail, account: account.into(), place: "INBOX".into() };
    let row = new_row(app.store(), (&here.id, &here.person_id), source);
    world.write(|batch| watches::insert(batch, &row)).await;
    app.passes(Duration::ZERO).await;
    let told = tokio::time::timeout(SOON, app.sees(line)).await.expect("it isn't told");
    assert!(told.text.contains("Why you get this"), "{}", told.text);
    row.id
}

#[tokio::test]
async fn an_email_that_a_colleague_sends_with_us_is_news_to_its_reader() {
    let graph = FakeGraph::start();
    let (world, _) = world(&graph).await;
    let id = sent(&world).await;
    // To its writer it is none, also from a list.
    let letter = |subject: &str, id: &str| {
        format!("From: List <list@acme.test>\nTo: {CAROL}\nSubject: {subject}\nMessage-ID: {id}\n\nTen.\n")
    };
    graph.state().deliver(CAROL, &letter("By list", &id));
    graph.state().deliver(CAROL, &letter("Later", "<later@acme.test>"));
    let of_bob = is_told(&world, ("bob", "bobs"), "bob", "carol@example.test: “Forks”").await;
    let of_ada = is_told(&world, ("ada", "home"), "carol", "list@acme.test: “Later”").await;
    let texts = world.app.texts();
    assert!(!texts.iter().any(|text| text.contains("By list")), "{texts:#?}");
    for id in [of_bob, of_ada] {
        world.write(|batch| watches::delete(batch, &id)).await;
    }
    world.app.passes(Duration::ZERO).await;
    assert_eq!(graph.state().complaints, [""; 0]);
    world.ends_well().await;
}

#[tokio::test]
async fn a_bounce_in_the_mailbox_of_another_is_not_believed() {
    let graph = FakeGraph::start();
    let (world, config) = world(&graph).await;
    let (app, id) = (&world.app, sent(&world).await);
    // Only mailboxes in use are looked into.
    app.direct("bobs").says("bob", "email.search {}").await;
    let services = service::build_services(&config, BTreeMap::new()).unwrap();
    services.secrets.attach(app.store());
    for (mailbox, count) in [(BOB, 0), (CAROL, 1)] {
        let bounce = format!(
            "From: MAILER-DAEMON@elsewhere.test\nTo: {mailbox}\nSubject: Undeliverable\nMIME-Version: 1.0\n\
             Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n\
             --b\nContent-Type: text/plain\n\nIt failed.\n--b\nContent-Type: message/delivery-status\n\n\
             Reporting-MTA: dns; mx.elsewhere.test\n\nFinal-Recipient: rfc822; {BOB}\nAction: failed\n\
             Status: 5.1.1\nDiagnostic-Code: smtp; 550 no such user\n\n--b\nContent-Type: text/rfc822-headers\n\n\
             Message-ID: {id}\n\n--b--\n"
        );
        graph.state().deliver(mailbox, &bounce);
        let told = services.report_bounces(app.store(), &outbox::anybody()).await.unwrap();
        assert_eq!(told.len(), count, "{mailbox}");
        told.iter().for_each(|conversation| app.service.deliverer.wake(conversation));
    }
    app.sees("Your email “Forks” couldn't be delivered").await;
    assert_eq!(graph.state().complaints, [""; 0]);
    world.ends_well().await;
}
