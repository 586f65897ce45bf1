//! Mail of connected accounts, at real servers that take access tokens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use adjutant_config::Policy;
use adjutant_fakes::mail_server;
use adjutant_types::AccountService;
use serde_json::{Value, json};

use super::providers::mail_at;
use super::world::World;
use crate::groupware::{call, skill_caller, split};
use crate::prompts::deliver;

/// A world in which these people have these mailboxes, under these names.
async fn world(server: &mail_server::Server, mailboxes: &[(&str, &str, &str)]) -> World {
    static WORLDS: AtomicU64 = AtomicU64::new(5_000);
    let world = World::with(skill_caller(), |config| {
        config.approval.skills.insert("email.send".into(), Policy::Auto);
        mail_at(config, server);
    })
    .await;
    // The server is shared, and an email's id comes from the clock.
    world.app.passes(Duration::from_millis(WORLDS.fetch_add(1, Ordering::SeqCst))).await;
    for (who, mailbox, label) in mailboxes {
        server.allow(&format!("token-{mailbox}"), &format!("{mailbox}@example.test")).unwrap();
        world.connect_for(&[AccountService::Mail], mailbox, label, &[who]).await;
    }
    world
}

/// What somebody finds in their mail, once it is this many: a server delivers a moment after it has accepted.
async fn finds(world: &World, who: &str, query: Value, count: usize) -> Value {
    let place = format!("home-{who}");
    for _ in 0..100 {
        let heard = world.app.direct(&place).says(who, &format!("email.search {query}")).await;
        let (_, found) = split(&world.app, &heard).await;
        if found["count"] == count {
            return found;
        }
    }
    panic!("{who} doesn't find {count} of {query}")
}

#[tokio::test]
async fn each_person_sends_from_and_reads_their_own_mailbox() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let world = world(server, &[("ada", "alice", "private"), ("eve", "bob", "private")]).await;
    let mail = json!({"to": ["bob@example.test"], "subject": "Own words", "body": "From me."});
    let (said, _) = call(&world.app, "email.send", mail).await;
    assert!(said.starts_with("Sent “Own words” to bob@example.test"), "{said}");
    let query = json!({"subject": "Own words", "folder": "INBOX", "with_text": true});
    let found = finds(&world, "eve", query, 1).await;
    let item = &found["items"][0];
    assert!(item["from"].to_string().contains("alice@example.test"), "{item}");
    assert_eq!((&item["text"], &item["account"]), (&json!("From me."), &Value::Null));
    // Somebody without an account has nothing to look into, and ada's inbox isn't eve's.
    let heard = world.app.direct("home-bob").says("bob", "email.search {\"subject\": \"Own words\"}").await;
    assert!(!heard.text.contains("From me.") && !heard.text.contains("alice"), "{}", heard.text);
    finds(&world, "ada", json!({"subject": "Own words", "folder": "INBOX"}), 0).await;
    world.ends_well().await;
}

#[tokio::test]
async fn two_mailboxes_are_searched_at_once_and_each_mail_says_where_it_is() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let world = world(server, &[("ada", "alice", "private"), ("ada", "carol", "work")]).await;
    deliver(server, "Bob Brown <bob@example.test>", "Both boxes one", "For work.").await;
    let mail = json!({"to": ["alice@example.test"], "subject": "Both boxes two", "body": "To myself."});
    let (said, _) = call(&world.app, "email.send", mail.clone()).await;
    assert!(said.contains("private, work"), "there is no default: {said}");
    let mut named = mail;
    named["account"] = "work".into();
    let (said, _) = call(&world.app, "email.send", named).await;
    assert!(said.starts_with("Sent “Both boxes two” to alice@") && said.contains("work"), "{said}");
    let found = finds(&world, "ada", json!({"subject": "Both boxes", "folder": "INBOX"}), 2).await;
    let items = found["items"].as_array().unwrap();
    let mut labels: Vec<String> =
        items.iter().map(|item| format!("{} {}", item["subject"], item["account"])).collect();
    labels.sort();
    assert_eq!(labels, ["\"Both boxes one\" \"work\"", "\"Both boxes two\" \"private\""]);
    world.ends_well().await;
}
