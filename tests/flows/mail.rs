//! Mail on a server: reading in bulk, forwarding, and what the server refuses.

use adjutant_config::{Config, MailConfig};
use adjutant_fakes::{mail_server, pdf};
use adjutant_mail::Attachment;
use adjutant_models::Request;
use serde_json::json;

use crate::app::{TestApp, direct, results, scripted_with, user_text, without_receipts};
use crate::groupware::{call, skill_caller};
use crate::prompts::{account, deliver, deliver_with};
use crate::scripted::{Scripted, text};

async fn app(server: &mail_server::Server) -> TestApp {
    with(server, skill_caller()).await
}

async fn with(server: &mail_server::Server, script: Scripted) -> TestApp {
    let mail = MailConfig {
        from: "Carol Clark <carol@example.test>".into(),
        internal_domains: vec!["example.test".into()],
        self_copy: false,
        smtp: account(server, server.submissions),
        imap: Some(account(server, server.imaps)),
    };
    scripted_with(script, move |config: &mut Config| config.mail = Some(mail)).await
}

#[tokio::test]
async fn several_mails_are_read_at_once_and_what_is_cut_says_so() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let bob = "Bob Brown <bob@example.test>";
    deliver(server, bob, "Bulk one", "The first text.").await;
    deliver(server, bob, "Bulk two", &"A long text. ".repeat(2_000)).await;
    let app = app(server).await;
    let (said, found) = call(&app, "email.search", json!({"subject": "Bulk", "with_text": true})).await;
    assert_eq!(found["count"], 2, "{said}");
    let text = |subject: &str| {
        let items = found["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["subject"] == subject).unwrap();
        item["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text("Bulk one"), "The first text.");
    assert!(text("Bulk two").len() < 8_000 && text("Bulk two").contains("… [cut: "), "{}", text("Bulk two"));
    assert_eq!(found["items"][0]["date"], "2026-11-20T08:00", "in the person's zone");
    let ids = json!({"message_ids": ["<bulk-one@example.test>", "<bulk-none@example.test>"]});
    let (said, read) = call(&app, "email.read", ids).await;
    assert!(
        said.starts_with("1 of 2 emails:") && said.contains("Not found: <bulk-none@example.test>"),
        "{said}"
    );
    assert_eq!(read["items"][0]["text"], "The first text.");
    app.ends_well().await;
}

#[tokio::test]
async fn a_mail_is_forwarded() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    deliver(server, "Bob Brown <bob@example.test>", "Onwards", "The plan is ready.").await;
    let app = app(server).await;
    let forward =
        json!({"message_id": "<onwards@example.test>", "to": ["alice@example.test"], "body": "See below."});
    let (said, _) = call(&app, "email.forward", forward).await;
    assert_eq!(said, "Sent “Fwd: Onwards” to alice@example.test");
    let sent = json!({"subject": "Fwd: Onwards", "folder": "Sent", "with_text": true});
    let (_, found) = call(&app, "email.search", sent).await;
    let text = found["items"][0]["text"].as_str().unwrap();
    assert!(text.contains("See below.") && text.contains("> The plan is ready."), "{text}");
    app.ends_well().await;
}

fn file(name: &str, media_type: &str, bytes: Vec<u8>) -> Attachment {
    Attachment { name: name.into(), media_type: media_type.into(), bytes }
}

#[tokio::test]
async fn a_mail_is_forwarded_with_its_files_and_they_are_in_the_question() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    // More than a mail that is fetched as a whole.
    let scan = [b"\xff\xd8\xff".as_slice(), &[7; 700 << 10]].concat();
    let inner = "From: Eve <eve@example.test>\r\nSubject: Inner\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
                 --b\r\n\r\nThe inner text.\r\n--b\r\nContent-Disposition: attachment; filename=deep.txt\r\n\r\n\
                 deep words\r\n--b--\r\n";
    let files = vec![
        file("Contract.pdf", "application/pdf", pdf::of_pages(&["Clause 7."])),
        file("scan.jpg", "image/jpeg", scan.clone()),
        file("inner.eml", "message/rfc822", inner.into()),
    ];
    deliver_with(server, "Bob Brown <bob@example.test>", ("With files", "See below."), files).await;
    let wish =
        json!([{"kind": "mail.forward", "count": "each", "targets": ["alice@example.test", "with files"]}]);
    let app = with(server, skill_caller().clean_room(move |_| wish.clone())).await;
    let id = "<with-files@example.test>";
    let (_, big) = call(&app, "email.attachment", json!({"message_id": id, "number": 2})).await;
    assert_eq!((big["bytes"].as_u64(), big["kind"].as_str()), (Some(scan.len() as u64), Some("picture")));
    let (said, mail) = call(&app, "email.attachment", json!({"message_id": id, "number": 3})).await;
    assert!(said.contains("The inner text.") && said.contains("1: deep.txt"), "{said}");
    let (said, _) = call(&app, "files.read", json!({"id": mail["id"], "entry": 1})).await;
    assert!(said.contains("“deep.txt”") && said.contains("deep words"), "{said}");
    let forward = |to: &str| json!({"message_id": id, "to": [to]});
    let asked = app.says("ada", &format!("email.forward {}", forward("mallory@elsewhere.test"))).await;
    for part in ["- attachments: Contract.pdf (", "scan.jpg (717 KB)", "inner.eml ("] {
        assert!(asked.text.contains(part), "{part}: {}", asked.text);
    }
    app.presses("ada", &asked, "Reject").await;
    let (said, _) = call(&app, "email.forward", forward("alice@example.test")).await;
    assert_eq!(said, "Sent “Fwd: With files” to alice@example.test with 3 attachments");
    let sent = json!({"subject": "Fwd: With files", "folder": "Sent"});
    let (_, found) = call(&app, "email.search", sent).await;
    let copy = &found["items"][0]["id"];
    let (_, same) = call(&app, "email.attachment", json!({"message_id": copy, "number": 2})).await;
    assert_eq!(same["bytes"], big["bytes"]);
    let (said, _) = call(&app, "email.attachment", json!({"message_id": copy, "number": 3})).await;
    assert!(said.contains("The inner text."), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn an_attachment_is_read_kept_and_sent_on_with_its_name_in_the_question() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let contract = pdf::of_pages(&["Clause 7. Three months."]);
    let files = vec![
        file("Contract.pdf", "application/pdf", contract.clone()),
        file("all.zip", "application/zip", b"PK\x03\x04\0".to_vec()),
    ];
    deliver_with(server, "Bob Brown <bob@example.test>", ("Signed copy", "See below."), files).await;
    let sent = ["alice@example.test", "Contract.pdf", "all.zip"];
    let wish = json!([{"kind": "mail.send", "count": "each", "targets": sent}]);
    let app = with(server, skill_caller().clean_room(move |_| wish.clone())).await;
    let mail = |number: u32| json!({"message_id": "<signed-copy@example.test>", "number": number});
    let (said, _) = call(&app, "email.read", json!({"message_id": "<signed-copy@example.test>"})).await;
    let listed =
        format!("Attachments: 1: Contract.pdf (application/pdf, {} bytes), 2: all.zip", contract.len());
    assert!(said.contains(&listed), "{said}");
    let (said, read) = call(&app, "email.attachment", mail(1)).await;
    assert!(
        said.contains("“Contract.pdf” (PDF, 1 page") && said.contains("Clause 7. Three months."),
        "{said}"
    );
    let (said, other) = call(&app, "email.attachment", mail(2)).await;
    assert!(said.contains("its text can't be read"), "{said}");
    let (said, _) = call(&app, "email.attachment", mail(3)).await;
    assert!(said.starts_with("not_found: the message has no attachment 3"), "{said}");
    let (said, again) = call(&app, "files.read", json!({"id": read["id"]})).await;
    assert!(said.contains("Clause 7. Three months.") && again["sources"] == read["sources"], "{said}");
    let send = |to: &str| {
        json!({"to": [to], "subject": "Passed on", "body": "Here.",
            "attachments": [{"file": read["id"]}, {"file": other["id"]}]})
    };
    let asked = app.says("ada", &format!("email.send {}", send("mallory@elsewhere.test"))).await;
    assert!(
        asked.text.contains("- attachments: Contract.pdf (") && asked.text.contains("all.zip (5 bytes)"),
        "{}",
        asked.text
    );
    assert!(
        asked.text.contains("mallory@elsewhere.test") && !asked.text.contains("Clause 7"),
        "{}",
        asked.text
    );
    app.presses("ada", &asked, "Reject").await;
    let (said, _) = call(&app, "email.send", send("alice@example.test")).await;
    assert_eq!(said, "Sent “Passed on” to alice@example.test with 2 attachments");
    let sent = json!({"subject": "Passed on", "folder": "Sent", "with_text": true});
    let (_, found) = call(&app, "email.search", sent).await;
    assert_eq!(
        found["items"][0]["attachments"][0],
        format!("1: Contract.pdf (application/pdf, {} bytes)", contract.len())
    );
    let theirs = json!({"to": ["alice@example.test"], "subject": "x", "body": "y", "attachments": [{"file": "2222222222"}]});
    let (said, _) = call(&app, "email.send", theirs).await;
    assert!(said.starts_with("not_found: there is no file 2222222222"), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_refused_mail_is_kept_as_a_draft_and_names_the_address_once() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let app = app(server).await;
    let mail = json!({"to": ["nobody@example.test"], "subject": "Refused", "body": "Hello"});
    let heard = app.says("ada", &format!("email.send {mail}")).await;
    let text = without_receipts(&heard.text);
    assert!(text.starts_with("recipient: ") && text.ends_with("The email is in your drafts"), "{text}");
    assert_eq!(text.matches("nobody@example.test").count(), 1, "{text}");
    assert_eq!(app.ends(&heard).await, ["a failed recipient", "email.send failed recipient"]);
    let (_, found) = call(&app, "email.search", json!({"subject": "Refused", "folder": "Drafts"})).await;
    assert_eq!(found["count"], 1);
    app.ends_well().await;
}

/// A model that reads the mail `Pointed at` when told to read, and answers it when told anything else.
fn reader() -> Scripted {
    let id = "<pointed-at@example.test>";
    let wishes = |request: &Request| {
        let named: &[&str] = if request.messages[1].text.contains("Bob") { &["Bob"] } else { &[] };
        json!([{"kind": "mail.reply", "count": 1, "targets": named}])
    };
    Scripted::new().clean_room(wishes).orchestrator(move |request| match results(request).last() {
        Some(result) => text(*result),
        None if user_text(request).contains("read") => direct("r", "email.read", json!({"message_id": id})),
        None => direct("w", "email.reply", json!({"message_id": id, "body": "I'll come."})),
    })
}

#[tokio::test]
async fn an_answer_to_the_one_mail_that_was_shown_needs_no_other_name() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    deliver(server, "A. Smith <alice@example.test>", "Pointed at", "Will you come on Friday?").await;
    for (said, is_asked) in [
        ("reply that I'll come", false),
        ("answer her: yes", false),
        ("reply to Bob that I'll come", true),
        ("answer the mail from Bob", true),
    ] {
        let app = with(server, reader()).await;
        app.says("ada", "read my newest mail").await;
        let heard = app.says("ada", said).await;
        assert_eq!(!heard.buttons().is_empty(), is_asked, "{said}: {}", heard.text);
        if is_asked {
            app.says("ada", "no").await;
        }
        app.ends_well().await;
    }
}
