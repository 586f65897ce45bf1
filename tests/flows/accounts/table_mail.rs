//! One conversation over all kinds of mailboxes: what is said is the same, and each mail goes out once.

use adjutant_fakes::graph::Reply;
use adjutant_fakes::mail_server;
use serde_json::{Value, json};

use super::providers::{Office, Provider, got};
use super::table::{alike, says};
use crate::prompts::deliver;

const ALL: [Provider; 3] = [Provider::Configuration, Provider::Google, Provider::Microsoft];

/// Bob writes to carol, and she gets it.
async fn bob_writes(office: &Office, subject: &str, body: &str) {
    let Some(graph) = &office.graph else {
        let server = mail_server::shared().unwrap().unwrap();
        deliver(server, "Bob Brown <bob@example.test>", subject, body).await;
        assert_eq!(got(server, "carol", subject).await, 1, "{subject}");
        return;
    };
    let id = subject.to_lowercase().replace(' ', "-");
    graph.state().deliver(
        "carol@example.test",
        &format!(
            "From: Bob Brown <bob@example.test>\nTo: carol@example.test\nSubject: {subject}\n\
             Message-ID: <{id}@example.test>\nMIME-Version: 1.0\nContent-Type: text/plain\n\n{body}\n"
        ),
    );
}

/// How many mails with this subject bob has got, once there is one.
async fn got_by_bob(office: &Office, subject: &str) -> usize {
    if let Some(graph) = &office.graph {
        let subjects = graph.state().mailbox("bob@example.test").subjects("folder-inbox");
        return subjects.iter().filter(|got| *got == subject).count();
    }
    got(mail_server::shared().unwrap().unwrap(), "bob", subject).await
}

/// A conversation about an offer of this name, and what it finds of each mail.
async fn about_mails(office: &Office, name: &str) -> Vec<String> {
    let app = &office.world.app;
    let (subject, id) = (format!("Offer {name}"), format!("<offer-{name}@example.test>"));
    let in_inbox = || json!({"subject": subject, "folder": "INBOX"});
    let found = async |query: Value| {
        let (_, found) = says(app, "email.search", query).await;
        let items = found["items"].as_array().unwrap().iter();
        let gist = items.map(|item| {
            let flags = [("unread", &item["unread"]), ("answered", &item["answered"])];
            let flags = flags.iter().filter(|(_, is_set)| **is_set == true).map(|(flag, _)| *flag);
            format!("{} of {}: {}", item["subject"], item["from"][0], flags.collect::<Vec<_>>().join(", "))
        });
        gist.collect::<Vec<_>>().join("; ")
    };
    bob_writes(office, &subject, "Ten forks for 20 euros.").await;
    let mut said = vec![found(in_inbox()).await];
    let (_, read) = says(app, "email.read", json!({"message_id": id})).await;
    said.push(read["text"].as_str().unwrap().trim().to_owned());
    said.push(says(app, "email.reply", json!({"message_id": id, "body": "We take it."})).await.0);
    said.push(says(app, "assistant.undo", json!({})).await.0);
    // What was shown is marked as read after the answer.
    app.rests().await;
    said.push(found(in_inbox()).await);
    for mark in ["flagged", "unread"] {
        said.push(says(app, "email.mark", json!({"message_id": id, "as": mark})).await.0);
    }
    let mut unread = in_inbox();
    unread["unread"] = true.into();
    said.push(found(unread.clone()).await);
    said.push(says(app, "assistant.undo", json!({})).await.0);
    said.push(found(unread).await);
    said.push(says(app, "email.move", json!({"message_id": id, "folder": "archive"})).await.0);
    said.push(found(in_inbox()).await);
    said.push(says(app, "assistant.undo", json!({})).await.0);
    said.push(found(in_inbox()).await);
    let order = json!({"to": ["bob@example.test"], "subject": format!("Order {name}"), "body": "Ten forks."});
    said.push(says(app, "email.send", order).await.0);
    for subject in [format!("Re: {subject}"), format!("Order {name}")] {
        assert_eq!(got_by_bob(office, &subject).await, 1, "{subject}");
    }
    said.iter().map(|text| text.replace(name, "NAME")).collect()
}

#[tokio::test]
async fn a_mailbox_behaves_the_same_wherever_it_is() {
    let mut all = Vec::new();
    for provider in ALL {
        let Some(office) = Office::with_mail(provider).await else { continue };
        all.push((provider, about_mails(&office, &format!("{provider:?}").to_lowercase()).await));
        office.ends_well().await;
    }
    let said = alike(&all);
    let mail = |flags: &str| format!("\"Offer NAME\" of \"Bob Brown <bob@example.test>\": {flags}");
    for (at, words) in [
        (0, mail("unread")),
        (1, "Ten forks for 20 euros.".to_owned()),
        (2, "Sent “Re: Offer NAME” to Bob Brown <bob@example.test>".to_owned()),
        (3, "It was sent, so it can't be undone".to_owned()),
        (4, mail("answered")),
        (5, "Marked “Offer NAME” as flagged".to_owned()),
        (6, "Marked “Offer NAME” as unread".to_owned()),
        (7, mail("unread, answered")),
        (8, "Undone: Marked “Offer NAME” as unread".to_owned()),
        (10, "Moved “Offer NAME” to archive".to_owned()),
        (12, "Undone: Moved “Offer NAME” to archive".to_owned()),
        (13, mail("answered")),
        (14, "Sent “Order NAME” to bob@example.test".to_owned()),
    ] {
        assert!(said[at].contains(&words), "{at}: {words}: {said:#?}");
    }
    assert_eq!([&said[9], &said[11]], ["", ""], "nothing is unread, and it is gone: {said:#?}");
}

#[tokio::test]
async fn an_undo_that_failed_is_made_again_and_goes_no_further_back() {
    let office = Office::with_mail(Provider::Microsoft).await.unwrap();
    let (app, graph) = (&office.world.app, office.graph.as_ref().unwrap());
    bob_writes(&office, "Offer", "Ten forks for 20 euros.").await;
    says(app, "tasks.create", json!({"title": "milk"})).await;
    says(app, "email.move", json!({"message_id": "<offer@example.test>", "folder": "archive"})).await;
    for (what, status) in [("GET /me/messages", 500), ("/move", 403)] {
        graph.state().always.push((what, Reply::Refused(status, "UnknownError", None)));
        let (said, _) = says(app, "assistant.undo", json!({})).await;
        assert!(said.starts_with("tool: "), "{said}");
        graph.state().always.clear();
    }
    let (said, _) = says(app, "assistant.undo", json!({})).await;
    assert!(said.contains("Undone: Moved “Offer” to archive"), "{said}");
    assert_eq!(graph.state().mailbox("carol@example.test").subjects("folder-inbox"), ["Offer"]);
    assert_eq!(app.store().count("SELECT count(*) FROM tasks", &[]).await.unwrap(), 1);
    office.ends_well().await;
}
