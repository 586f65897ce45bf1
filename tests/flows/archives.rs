//! Files with files inside: archives, documents and mails, sound and hostile.

use adjutant_config::Policy;
use adjutant_fakes::archives::{Entry, docx, zip, zip_of};
use adjutant_fakes::pdf;
use adjutant_mail::{Attachment, Draft};
use serde_json::{Value, json};

use crate::app::{TestApp, scripted, scripted_with};
use crate::cloud::{attached, sent};
use crate::groupware::{call, skill_caller};
use crate::scripted::{Scripted, text};

const CLAUSE: &str = "Clause 7. Three months.";

fn mail(subject: &str, files: Vec<(&str, &str, Vec<u8>)>) -> Vec<u8> {
    let attachments = files.into_iter().map(|(name, media_type, bytes)| Attachment {
        name: name.into(),
        media_type: media_type.into(),
        bytes,
    });
    let draft = Draft {
        message_id: "<a@example.test>".into(),
        from: "Bob Brown <bob@example.test>".parse().unwrap(),
        to: vec!["carol@example.test".parse().unwrap()],
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: subject.into(),
        body: "See the **file**.".into(),
        attachments: attachments.collect(),
        invitation: None,
        in_reply_to: None,
        references: Vec::new(),
        date: "2026-11-20T09:00:00+01:00".parse().unwrap(),
    };
    draft.compose().unwrap().bytes
}

/// Takes a file out of another one.
async fn inside(app: &TestApp, id: &Value, entry: u32) -> (String, Value) {
    call(app, "files.read", json!({"id": id, "entry": entry})).await
}

#[tokio::test]
async fn a_file_inside_of_an_archive_is_read_and_sent_on() {
    let mut data = std::path::PathBuf::new();
    let app = scripted_with(skill_caller(), |config| {
        data = config.data_dir.clone();
        config.approval.skills.insert("email.send".into(), Policy::Ask);
    })
    .await;
    let contract = pdf::of_pages(&[CLAUSE]);
    let inner = zip(&[("deep.txt", b"deep")]);
    let files: [(&str, &[u8]); 3] =
        [("lists/shop.csv", b"milk,2"), ("Contract.pdf", &contract), ("inner.zip", &inner)];
    app.gets("files.list {}", "all.zip", Ok(zip(&files))).await;
    let seen = app.last_seen().concat();
    for part in [
        "files.read(id, entry) a file inside of an archive or a mail",
        "Files inside: 3\n1: lists/shop.csv (6 bytes)\n2: Contract.pdf (",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    let whole = json!(app.file_ids().await[0]);
    let (said, shop) = inside(&app, &whole, 1).await;
    assert!(said.contains("“shop.csv” (text, 6 bytes)") && said.contains("milk,2"), "{said}");
    assert_eq!(shop["sources"], "the file “all.zip” that ada sent");
    let (said, taken) = inside(&app, &whole, 2).await;
    assert!(said.contains("“Contract.pdf” (PDF, 1 page") && said.contains(CLAUSE), "{said}");
    let (said, nested) = inside(&app, &whole, 3).await;
    assert!(said.contains("1: deep.txt (4 bytes)") && !said.contains("\n\ndeep"), "not opened yet: {said}");
    let (said, _) = inside(&app, &nested["id"], 1).await;
    assert!(said.ends_with("deep"), "{said}");
    let (said, _) = inside(&app, &whole, 4).await;
    assert_eq!(said, "params: file 4 of “all.zip” can't be taken out: there is no such file inside");
    let (said, _) = inside(&app, &shop["id"], 1).await;
    assert_eq!(said, "params: “shop.csv” has no files inside");
    let send = json!({"to": ["bob@example.test"], "subject": "s", "body": "b", "attachments": [{"file": taken["id"]}]});
    let asked = app.says("ada", &format!("email.send {send}")).await;
    assert!(asked.text.contains("attachments: Contract.pdf ("), "{}", asked.text);
    app.presses("ada", &asked, "Approve").await;
    assert!(attached(&sent(&data)[0], "Contract.pdf") == contract);
    app.ends_well().await;
}

#[tokio::test]
async fn an_archive_that_is_built_to_harm_is_a_sentence_each_time() {
    let app = scripted(Scripted::new().orchestrator(|_| text("Noted."))).await;
    let many: Vec<String> = (0..10_000).map(|number| format!("{number}.txt")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
    let sound = zip(&[("a.txt", &b"words ".repeat(1_000))]);
    for (name, content, why) in [
        ("many.zip", zip(&many), "it has more than 1,000 files inside"),
        (
            "climbs.zip",
            zip(&[("a.txt", b"a"), ("x/../../etc/passwd", b"root")]),
            "it contains unsafe file paths",
        ),
        ("slash.zip", zip(&[("/etc/passwd", b"root")]), "it contains unsafe file paths"),
        ("cut.zip", sound[..sound.len() - 30].to_vec(), "it's damaged, or too complicated"),
        ("bomb.docx", docx(&[&"boom".repeat(9 << 20)]), "it's damaged, or too complicated"),
    ] {
        let told = app.gets("", name, Ok(content)).await.text;
        assert_eq!(told, format!("I can't read “{name}”: {why}. I've saved it and can forward it."));
        assert_eq!(app.says("ada", "still there?").await.text, "Noted.");
    }
    app.ends_well().await;
}

#[tokio::test]
async fn a_file_that_explodes_when_it_is_taken_out_is_refused() {
    let app = scripted(skill_caller()).await;
    let zeros = vec![0; (20 << 20) + 1];
    let (mut lie, mut locked) = (Entry::new("small.txt", &zeros), Entry::new("secret.txt", b"secret"));
    (lie.claims, locked.locked) = (Some(10), true);
    let bomb = zip_of(&[Entry::new("zeros.bin", &zeros), lie, locked, Entry::new("fine.txt", b"fine")]);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    app.gets("files.list {}", "bomb.zip", Ok(bomb)).await;
    let id = json!(app.file_ids().await[0]);
    let seen = app.last_seen().concat();
    assert!(seen.contains("3: secret.txt (6 bytes, with a password)"), "{seen}");
    for (entry, why) in [(1, "it unpacks to more than 20 MB"), (3, "it has a password")] {
        let told = inside(&app, &id, entry).await.0;
        assert_eq!(told, format!("params: file {entry} of “bomb.zip” can't be taken out: {why}"));
    }
    let (told, _) = inside(&app, &id, 2).await;
    assert!(told.starts_with("params: file 2 of “bomb.zip” can't be taken out: "), "{told}");
    let (said, _) = inside(&app, &id, 4).await;
    assert!(said.ends_with("fine"), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_mail_as_a_file_is_read_with_the_files_in_it() {
    let app = scripted(skill_caller()).await;
    let inner = mail("Inner", vec![("deep.txt", "text/plain", b"deep words".to_vec())]);
    let contract = pdf::of_pages(&[CLAUSE]);
    let outer = mail(
        "Outer",
        vec![("Contract.pdf", "application/pdf", contract), ("inner.eml", "message/rfc822", inner)],
    );
    app.gets("files.list {}", "saved.eml", Ok(outer)).await;
    let seen = app.last_seen().concat();
    for part in [
        "From: Bob Brown <bob@example.test>",
        "Subject: Outer",
        "See the",
        "1: Contract.pdf (application/pdf",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(!seen.contains("boundary="), "read, not shown as it's written: {seen}");
    let id = json!(app.file_ids().await[0]);
    assert!(inside(&app, &id, 1).await.0.contains(CLAUSE));
    let (said, inner) = inside(&app, &id, 2).await;
    assert!(said.contains("(email, ") && said.contains("Subject: Inner"), "{said}");
    assert!(inside(&app, &inner["id"], 1).await.0.ends_with("deep words"));
    app.ends_well().await;
}

#[tokio::test]
async fn what_can_be_read_is_read_and_the_rest_is_said() {
    let app = scripted(Scripted::new().orchestrator(|_| text("Noted."))).await;
    let open = zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", b"<x/>")]);
    for (name, content) in [("all.tar.bz2", b"BZh91AY&SY\xff\xfe".to_vec()), ("letter.odt", open)] {
        let told = app.gets("", name, Ok(content)).await.text;
        assert_eq!(told, format!("I can't open “{name}”, but I've saved it and can forward it."));
    }
    let letter = docx(&["Dear Ada,", CLAUSE]);
    for (name, content, seen) in [
        ("letter.docx", letter, "document, "),
        ("page.html", b"<p>Clause 7. Three months.</p>".to_vec(), "text, "),
        ("event.ics", b"BEGIN:VCALENDAR\r\nSUMMARY:Clause 7. Three months.".to_vec(), "text, "),
    ] {
        assert_eq!(app.gets("look", name, Ok(content)).await.text, "Noted.");
        let shown = app.last_seen().concat();
        assert!(shown.contains(seen) && shown.contains(CLAUSE), "{name}: {shown}");
    }
    app.ends_well().await;
}

#[tokio::test]
async fn a_text_of_a_mail_is_read_in_its_charset_and_mailed_as_it_is() {
    let mut data = std::path::PathBuf::new();
    let app = scripted_with(skill_caller(), |config| {
        data = config.data_dir.clone();
        config.approval.skills.insert("email.send".into(), Policy::Ask);
    })
    .await;
    let outer = "From: bob@example.test\r\nSubject: Prices\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\
        Content-Type: text/csv; charset=windows-1251\r\nContent-Disposition: attachment; filename=list.csv\r\n\
        Content-Transfer-Encoding: base64\r\n\r\nz/Do4uXyOzE=\r\n--b--\r\n";
    app.gets("files.list {}", "prices.eml", Ok(outer.into())).await;
    let id = json!(app.file_ids().await[0]);
    let (said, taken) = inside(&app, &id, 1).await;
    assert!(said.ends_with("Привет;1"), "{said}");
    let send = json!({"to": ["bob@example.test"], "subject": "s", "body": "b", "attachments": [{"file": taken["id"]}]});
    let asked = app.says("ada", &format!("email.send {send}")).await;
    app.presses("ada", &asked, "Approve").await;
    assert_eq!(attached(&sent(&data)[0], "list.csv"), b"\xcf\xf0\xe8\xe2\xe5\xf2;1");
    app.ends_well().await;
}
