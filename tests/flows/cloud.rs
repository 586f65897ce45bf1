//! A drive and a CRM, which are nothing but skill files, against services that refuse what the real ones refuse.

use std::path::Path;

use adjutant::service;
use adjutant_config::{Config, OAuthConfig, Policy, Secret};
use adjutant_fakes::cloud::{CLIENT, DriveFile, FakeCloud, SECRET};
use adjutant_fakes::pdf;
use adjutant_models::Request;
use adjutant_skills::accounts::PersonAccounts;
use adjutant_skills::executor::offered;
use adjutant_skills::oauth::OAuth;
use adjutant_types::clock::FixedClock;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app::{Heard, NOW, TestApp, agent, results, scripted_with, skill, skill_file, user_text};
use crate::groupware::{call, skill_caller, split};
use crate::scripted::{Reply, Scripted, calls, text};

const DRIVE: &str = include_str!("../../skills/extra/drive.toml");
const HUBSPOT: &str = include_str!("../../skills/extra/hubspot.toml");
const CONTRACT: &str =
    "Clause 6. Rent.\nClause 7. Either side may end this with three months' notice.\nClause 8. Law.";

/// A cloud in which an owner has logged in.
struct World {
    cloud: FakeCloud,
    folder: TempDir,
}

impl World {
    async fn new() -> Self {
        let world = Self { cloud: FakeCloud::start(), folder: tempfile::tempdir().unwrap() };
        let store = service::open_store(&world.config(), FixedClock::at(NOW)).await.unwrap();
        let oauth = OAuth::new(&world.config());
        oauth.attach(&store);
        for name in ["google", "hubspot"] {
            let login = oauth.log_in(name).await.unwrap();
            let back = world.cloud.opens(login.page());
            login.finish(std::future::ready(back)).await.unwrap();
        }
        store.close().await;
        world.cloud.state().requests.clear();
        world.cloud.state().drive.files = vec![
            DriveFile::new("doc-1", "Acme contract", "application/vnd.google-apps.document", CONTRACT),
            DriveFile::new(
                "sheet-1",
                "Prices",
                "application/vnd.google-apps.spreadsheet",
                "what,price\nrent,7",
            ),
            DriveFile::new("text-1", "Ada's \\ list.txt", "text/plain", "It's milk"),
            DriveFile::new("folder-1", "Clients", "application/vnd.google-apps.folder", ""),
        ];
        world
    }

    fn config(&self) -> Config {
        let origin = self.cloud.origin();
        let mut config = Config::in_dir(self.folder.path().join("data"));
        config.program = env!("CARGO_BIN_EXE_adjutant").into();
        let login = OAuthConfig {
            auth_url: Some(format!("{origin}/authorize")),
            token_url: format!("{origin}/token"),
            device_url: None,
            client_id: CLIENT.to_owned(),
            client_secret: Some(Secret::new(SECRET)),
            scopes: vec!["all".to_owned()],
            params: [].into(),
            redirect: None,
        };
        config.oauth = [("google".to_owned(), login.clone()), ("hubspot".to_owned(), login)].into();
        for toml in [DRIVE, HUBSPOT] {
            let here = ["https://www.googleapis.com", "https://api.hubapi.com"].iter();
            let here = here
                .fold(toml.replace("auth = {", "allow_hosts = [\"127.0.0.1\"]\nauth = {"), |text, host| {
                    text.replace(host, &origin)
                });
            skill_file(&mut config, &here[here.find("domain").unwrap()..]);
        }
        config.approval.skills.insert("email.send".into(), Policy::Ask);
        config.notes = Some(self.folder.path().join("notes"));
        std::fs::create_dir_all(self.folder.path().join("notes")).unwrap();
        config
    }

    async fn app(&self, script: Scripted) -> TestApp {
        scripted_with(script, |config| *config = self.config()).await
    }

    async fn ends(self, app: TestApp) {
        app.ends_well().await;
        assert_eq!(self.cloud.state().complaints, [""; 0]);
    }
}

/// What a call says to people, before its data. In a conversation with text from outside it may ask first.
async fn says(app: &TestApp, skill: &str, arguments: Value) -> String {
    let heard = app.says("ada", &format!("{skill} {arguments}")).await;
    let heard = match heard.buttons().contains(&"Approve") {
        true => app.presses("ada", &heard, "Approve").await,
        false => heard,
    };
    let (said, _) = split(app, &heard).await;
    let lines: Vec<&str> = said.lines().take_while(|line| !line.starts_with('{')).collect();
    lines.join("\n").trim().to_owned()
}

#[tokio::test]
async fn files_are_found_listed_and_read_as_text() {
    let world = World::new().await;
    let app = world.app(skill_caller()).await;
    let found = says(&app, "drive.search", json!({"query": "three months"})).await;
    let kind = "application/vnd.google-apps.document";
    assert_eq!(found, format!("Acme contract: id doc-1, type {kind}, changed 2026-11-01T09:00:00.000Z"));
    let found = says(&app, "drive.search", json!({"query": "Ada's \\"})).await;
    assert!(found.contains("id text-1"), "quotes and backslashes are searched for: {found}");
    let found = says(&app, "drive.search", json!({"query": "x' or name contains '"})).await;
    assert_eq!(found, "No file has these words.");
    let listed = says(&app, "drive.list", json!({"limit": 2})).await;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    for (id, kind, expected) in [
        ("doc-1", "application/vnd.google-apps.document", CONTRACT),
        ("sheet-1", "application/vnd.google-apps.spreadsheet", "what,price\nrent,7"),
        ("text-1", "text/plain", "It's milk"),
    ] {
        let read = says(&app, "drive.read", json!({"id": id, "type": kind})).await;
        assert_eq!(read, expected);
    }
    world.ends(app).await;
}

#[tokio::test]
async fn files_are_created_uploaded_and_shared() {
    let world = World::new().await;
    let app = world.app(skill_caller()).await;
    let folder = json!({"name": "Acme", "kind": "folder", "folder": "folder-1"});
    assert!(says(&app, "drive.create", folder).await.starts_with("Created the folder Acme"));
    let text = "--part-0\r\nü \"quoted\"\r\n--part-0--";
    let file = json!({"name": "notes.md", "text": text, "type": "text/markdown", "folder": "new-4"});
    assert!(says(&app, "drive.upload", file).await.starts_with("Uploaded notes.md"));
    let uploaded =
        DriveFile { parent: "new-4".into(), ..DriveFile::new("new-5", "notes.md", "text/markdown", text) };
    assert_eq!(world.cloud.state().drive.files.last(), Some(&uploaded), "as it was, whatever is in it");
    let share = json!({"id": "doc-1", "email": "bob@stone.test", "role": "reader", "message": "Here & now"});
    let asked = app.says("ada", &format!("drive.share {share}")).await;
    assert!(
        asked.text.contains("bob@stone.test") && world.cloud.state().drive.shared.is_empty(),
        "{asked:?}"
    );
    let done = app.presses("ada", &asked, "Approve").await;
    assert!(done.text.contains("✓ Shared it with bob@stone.test, as reader"), "{}", done.text);
    let shared = [("doc-1".to_owned(), "bob@stone.test".to_owned(), "reader".to_owned())];
    assert_eq!(world.cloud.state().drive.shared, shared);
    world.ends(app).await;
}

#[tokio::test]
async fn contacts_deals_and_notes_of_a_crm() {
    let world = World::new().await;
    let app = world.app(skill_caller()).await;
    let ada = json!({"email": "ada@acme.test", "first_name": "Ada", "last_name": "Byron", "company": "Acme"});
    assert_eq!(says(&app, "hubspot.create_contact", ada).await, "Created the contact ada@acme.test (id 1)");
    let deal = json!({"name": "Acme rent", "stage": "appointmentscheduled", "amount": 700});
    assert_eq!(says(&app, "hubspot.create_deal", deal).await, "Created the deal Acme rent (id 2)");
    says(&app, "hubspot.update_contact", json!({"id": "1", "phone": "+49 30 1"})).await;
    says(&app, "hubspot.update_deal", json!({"id": "2", "stage": "closedwon", "closes": "2026-12-01"})).await;
    let found = says(&app, "hubspot.search_contacts", json!({"query": "byron"})).await;
    assert_eq!(found, "Ada Byron (Acme), ada@acme.test, +49 30 1: id 1");
    let found = says(&app, "hubspot.search_deals", json!({"query": "nothing"})).await;
    assert_eq!(found, "No deal was found.");
    let seen = says(&app, "hubspot.get_contact", json!({"id": "1"})).await;
    assert!(seen.starts_with("Ada Byron,") && seen.contains("(Acme)"), "{seen}");
    let seen = says(&app, "hubspot.get_deal", json!({"id": "2"})).await;
    assert!(seen.starts_with("Acme rent: 700, stage closedwon, closes 2026-12-01"), "{seen}");
    let none = says(&app, "hubspot.get_deal", json!({"id": "9"})).await;
    assert!(none.starts_with("not_found: 127.0.0.1 doesn't know it (404)"), "{none}");
    for (to, id) in [("contact", "1"), ("deal", "2")] {
        let note = json!({"to": to, "id": id, "text": "Called \"her\"", "at": "2026-11-21T10:00:00Z"});
        says(&app, "hubspot.add_note", note).await;
    }
    let notes: Vec<String> = world.cloud.state().crm.notes.iter().map(|note| note.0.clone()).collect();
    assert_eq!(notes, ["contacts", "deals"]);
    world.ends(app).await;
}

#[tokio::test]
async fn a_token_that_ends_early_is_renewed_and_one_that_is_gone_says_what_to_do() {
    let world = World::new().await;
    let app = world.app(skill_caller()).await;
    world.cloud.state().logins.good.clear();
    let listed = says(&app, "hubspot.search_deals", json!({"query": "x"})).await;
    assert_eq!(listed, "No deal was found.");
    let paths = ["POST /crm/v3/objects/deals/search", "POST /token", "POST /crm/v3/objects/deals/search"];
    assert_eq!(world.cloud.state().requests, paths);
    world.cloud.state().logins.revoke();
    let error = says(&app, "hubspot.search_deals", json!({"query": "x"})).await;
    let what = "An owner can log in again with `adjutant oauth login hubspot`";
    assert!(error.starts_with("auth: ") && error.ends_with(what), "{error}");
    let journal = "SELECT count(*) FROM executions WHERE coalesce(error, '') || coalesce(data, '') || \
                   coalesce(result, '') LIKE '%t0ken%'";
    assert_eq!(app.store().count(journal, &[]).await.unwrap(), 0, "no token is kept");
    world.ends(app).await;
}

#[tokio::test]
async fn only_owners_are_offered_what_works_with_an_owners_login() {
    let world = World::new().await;
    let skills = service::load_skills(&world.config()).unwrap().skills.current();
    let offered = |is_owner| offered(&skills, &PersonAccounts::default(), is_owner);
    assert!(offered(true).contains_key("drive.read") && offered(true).contains_key("tasks.search"));
    assert!(!offered(false).contains_key("drive.read") && offered(false).contains_key("tasks.search"));
}

/// A PDF that isn't text.
fn contract_pdf() -> Vec<u8> {
    [pdf::of_pages(&[CONTRACT]).as_slice(), b"\n%\x80\xff\0\r\n--part-0"].concat()
}

#[tokio::test]
async fn a_file_is_fetched_and_put_back_byte_for_byte() {
    let world = World::new().await;
    let big = vec![b'x'; (20 << 20) + 1];
    for (id, name, content) in
        [("pdf-1", "Signed.pdf", contract_pdf()), ("big-1", "big.bin", big), ("no-1", "empty.txt", vec![])]
    {
        world.cloud.state().drive.files.push(DriveFile::new(id, name, "application/pdf", content));
    }
    let app = world.app(skill_caller()).await;
    let download =
        |id: &str, kind: &str| json!({"id": id, "type": format!("application/{kind}"), "name": "Signed.pdf"});
    let (said, data) = call(&app, "drive.download", download("pdf-1", "pdf")).await;
    assert!(said.starts_with("“Signed.pdf” (PDF, 1 page, ") && said.contains("Clause 7. Either"), "{said}");
    let file = data["file"].as_str().unwrap().to_owned();
    assert!(said.contains(&format!("[file {file}]")), "{said}");
    let about = (data["name"].as_str(), data["bytes"].as_u64(), data["type"].as_str());
    assert_eq!(about, (Some("Signed.pdf"), Some(contract_pdf().len() as u64), Some("application/pdf")));
    let (_, again) = call(&app, "drive.download", download("pdf-1", "pdf")).await;
    assert_eq!(again["file"], file, "the same content is the same file");
    let (said, made) = call(&app, "drive.download", download("doc-1", "vnd.google-apps.document")).await;
    assert!(said.starts_with("“Signed.pdf.pdf” (PDF, 1 page"), "a document comes as a PDF: {said}");
    assert_ne!(made["file"], file);
    for (id, why) in [
        ("big-1", "params: 127.0.0.1 sent a file of more than 20 MB"),
        ("no-1", "not_found: 127.0.0.1 sent an empty file"),
    ] {
        assert_eq!(call(&app, "drive.download", download(id, "pdf")).await.0, why);
    }
    let upload = json!({"file": file, "name": "Copy.pdf", "folder": "folder-1"});
    let asked = app.says("ada", &format!("drive.upload_file {upload}")).await;
    let shown =
        format!("file: Signed.pdf ({})", adjutant_turn::wording::files::size(contract_pdf().len() as i64));
    assert!(asked.text.contains(&shown) && !asked.text.contains(&format!("file: {file}")), "{}", asked.text);
    let done = app.presses("ada", &asked, "Approve").await;
    assert!(done.text.contains("Uploaded Copy.pdf"), "{}", done.text);
    let stored = world.cloud.state().drive.files.last().unwrap().clone();
    assert_eq!((stored.name.as_str(), stored.mime.as_str()), ("Copy.pdf", "application/pdf"));
    assert!(stored.content == contract_pdf(), "{} bytes", stored.content.len());
    let unknown = json!({"file": "2222222222", "name": "x.pdf"});
    let (said, _) = call(&app, "drive.upload_file", unknown).await;
    assert!(said.starts_with("not_found: there is no file 2222222222"), "{said}");
    world.ends(app).await;
}

/// What the person's words ask for.
fn note_and_mail(_: &Request) -> Value {
    json!([
        {"kind": "note.write", "count": 1, "targets": ["Acme"], "text": ""},
        {"kind": "mail.send", "count": 1, "targets": ["Bob Stone", "the file"], "text": ""},
    ])
}

/// What an ordinary model does with "find the contract ... and send Bob Stone the file" where the contract is a PDF.
fn four_agents_with_a_pdf() -> Scripted {
    let download = || json!({"id": "pdf-1", "type": "application/pdf", "name": "Acme contract.pdf"});
    let note = || json!({"path": "Acme", "text": "Clause 7: three months' notice.\n"});
    let mail = |told: &str| {
        let id = told.split("[file ").nth(1).and_then(|rest| rest.split(']').next());
        json!({
            "to": ["bob@stone.test"], "subject": "Acme contract", "body": "Here is the contract.",
            "attachments": [{"file": id.unwrap()}],
        })
    };
    let dispatch = || {
        calls(vec![
            agent("find", &["drive.search", "drive.download"], json!({})),
            agent("sum", &["tasks.search"], json!({"depends_on": ["find"]})),
            agent("note", &["notes.create"], json!({"depends_on": ["sum"]})),
            agent("mail", &["email.send"], json!({"depends_on": ["find"]})),
        ])
    };
    Scripted::new().orchestrator(crate::app::plan(dispatch)).clean_room(note_and_mail).agent(move |request| {
        let (told, done) = (user_text(request).to_owned(), results(request).join("\n"));
        let mission = told.split("mission ").nth(1).and_then(|rest| rest.split_whitespace().next());
        match (mission.unwrap_or_default(), done.as_str()) {
            ("find", "") => skill("drive.search", json!({"query": "contract"})),
            ("find", done) if !done.contains("Clause 7") => skill("drive.download", download()),
            ("find", done) => text(done.to_owned()),
            ("sum", _) => text("Clause 7: three months' notice."),
            ("note", "") => skill("notes.create", note()),
            ("mail", "") => skill("email.send", mail(&told)),
            _ => text("done"),
        }
    })
}

#[tokio::test]
async fn a_pdf_in_the_drive_is_sent_as_it_is_after_one_question() {
    let world = World::new().await;
    let contract = DriveFile::new("pdf-1", "Acme contract.pdf", "application/pdf", contract_pdf());
    world.cloud.state().drive.files = vec![contract];
    let app = world.app(four_agents_with_a_pdf()).await;
    let words = "find the contract in the drive, sum up clause 7, put it into my notes under Acme, and send Bob Stone \
                 the file";
    let asked = app.says("ada", words).await;
    for part in ["bob@stone.test", "attachments: Acme contract.pdf ("] {
        assert!(asked.text.contains(part), "{part}: {}", asked.text);
    }
    assert_eq!(asked.buttons().len(), 2, "one question: {}", asked.text);
    let done = app.presses("ada", &asked, "Approve").await;
    assert!(done.text.contains("Saved, not sent: no email account is connected. “Acme"), "{}", done.text);
    let mails = sent(&world.config().data_dir);
    assert_eq!(mails.len(), 1);
    assert!(attached(&mails[0], "Acme contract.pdf") == contract_pdf(), "{}", mails[0]);
    world.ends(app).await;
}

/// The content of a mail's part with this name.
pub(crate) fn attached(mail: &str, name: &str) -> Vec<u8> {
    let part = mail.split("\r\n--").find(|part| part.contains(&format!("filename=\"{name}\""))).unwrap();
    let (_, content) = part.split_once("\r\n\r\n").unwrap();
    let content: String = content.split_whitespace().collect();
    BASE64_STANDARD.decode(content).unwrap()
}

/// What an ordinary model does with "find the contract ... and send Bob Stone the file".
fn four_agents() -> Scripted {
    let mail = |contract: &str| {
        json!({
            "to": ["bob@stone.test"], "subject": "Acme contract", "body": "Here is the contract.",
            "attachments": [{"name": "Acme contract.txt", "text": contract}],
        })
    };
    let dispatch = || {
        calls(vec![
            agent("find", &["drive.search", "drive.read"], json!({})),
            agent("sum", &["tasks.search"], json!({"depends_on": ["find"]})),
            agent("note", &["notes.create"], json!({"depends_on": ["sum"]})),
            agent("mail", &["email.send"], json!({"depends_on": ["find"]})),
        ])
    };
    Scripted::new().orchestrator(crate::app::plan(dispatch)).clean_room(note_and_mail).agent(move |request| {
        let (told, done) = (user_text(request).to_owned(), results(request).join("\n"));
        let mission = told.split("mission ").nth(1).and_then(|rest| rest.split_whitespace().next());
        match (mission.unwrap_or_default(), done.as_str()) {
            ("find", "") => skill("drive.search", json!({"query": "contract"})),
            ("find", done) if !done.contains("Clause 7") => read_found(done),
            ("find", _) => text(CONTRACT),
            ("sum", _) => {
                assert!(told.contains("three months' notice"), "{told}");
                text("Clause 7: three months' notice.")
            }
            ("note", "") => {
                assert!(told.contains("Clause 7: three months' notice."), "{told}");
                skill("notes.create", json!({"path": "Acme", "text": "Clause 7: three months' notice.\n"}))
            }
            ("mail", "") => skill("email.send", mail(CONTRACT)),
            _ => text("done"),
        }
    })
}

fn read_found(found: &str) -> Reply {
    assert!(found.contains("id doc-1, type application/vnd.google-apps.document"), "{found}");
    skill("drive.read", json!({"id": "doc-1", "type": "application/vnd.google-apps.document"}))
}

#[tokio::test]
async fn a_contract_is_found_summed_up_noted_and_sent_after_one_question() {
    let world = World::new().await;
    let app = world.app(four_agents()).await;
    let words = "find the contract in the drive, sum up clause 7, put it into my notes under Acme, and send Bob Stone \
                 the file";
    let asked = app.says("ada", words).await;
    for part in ["bob@stone.test", "Acme contract.txt"] {
        assert!(asked.text.contains(part), "{part}: {}", asked.text);
    }
    assert!(asked.text.starts_with("✓ Created the note Acme.md"), "{}", asked.text);
    let (_, question) = asked.text.split_once("Before I go on:").unwrap();
    assert!(!question.contains("Acme.md"), "the note goes where the person said: {}", asked.text);
    assert!(sent(&world.config().data_dir).is_empty(), "before the yes nothing goes out");
    let done: Heard = app.presses("ada", &asked, "Approve").await;
    let note = std::fs::read_to_string(world.folder.path().join("notes/Acme.md")).unwrap();
    assert_eq!(note, "Clause 7: three months' notice.\n");
    let mails = sent(&world.config().data_dir);
    assert_eq!(mails.len(), 1);
    assert!(mails[0].contains("Acme contract.txt"), "{}", mails[0]);
    assert!(done.text.contains("Saved, not sent: no email account is connected"), "{}", done.text);
    assert!(!done.text.contains("✓ Created the note"), "it was told with the question: {}", done.text);
    world.ends(app).await;
}

/// The mails that went out, which without an account are files.
pub(crate) fn sent(data: &Path) -> Vec<String> {
    let files = std::fs::read_dir(data.join("mail")).into_iter().flatten().flatten();
    let mails = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "eml"));
    mails.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect()
}
