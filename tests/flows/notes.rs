//! Notes: a folder of Markdown files that others work in, too; and searches of the web.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use adjutant_config::{Policy, SearchConfig, SearchKind};
use adjutant_fakes::pdf;
use adjutant_models::Request;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app::{Heard, TestApp, direct, plan, scripted_with};
use crate::cloud::{attached, sent};
use crate::groupware::{call, skill_caller};
use crate::scripted::{Scripted, has_results, text};
use crate::web::{Answer, Web};

struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        desk.write(
            "Acme.md",
            "---\ntags: [client]\n---\n# Acme\n\nSee [[Bob]].\n\n## Contract\n\nOld text.\n",
        );
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("notes").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// An app whose model makes this call.
    async fn app(&self, skill: &'static str, arguments: Value) -> TestApp {
        let script = Scripted::new().orchestrator(plan(move || direct("a", skill, arguments.clone())));
        scripted_with(script, |config| config.notes = Some(self.path(""))).await
    }

    /// What came of one call without a question.
    async fn calls(&self, skill: &'static str, arguments: Value) -> (Heard, Vec<String>) {
        let app = self.app(skill, arguments).await;
        let heard = app.says("ada", "go").await;
        let ends = app.ends(&heard).await;
        app.ends_well().await;
        (heard, ends)
    }
}

#[tokio::test]
async fn notes_are_found_read_and_marked_as_outside() {
    let desk = Desk::new();
    desk.write(".obsidian/secret.md", "old text");
    let (found, _) = desk.calls("notes.search", json!({"query": "old TEXT"})).await;
    assert!(found.text.contains("1 note:") && found.text.contains("Acme.md: Old text."), "{}", found.text);
    assert!(!found.text.contains("secret"), "{}", found.text);
    let app = desk.app("notes.read", json!({"path": "Acme"})).await;
    let read = app.says("ada", "go").await;
    let row = app.executions(&read).await.into_iter().find(|row| row.skill.is_some()).unwrap();
    assert_eq!(row.taint.sources().collect::<Vec<_>>(), ["the note “Acme.md”"]);
    app.ends_well().await;
}

#[tokio::test]
async fn the_text_of_a_file_becomes_a_note_and_a_note_an_attachment() {
    let desk = Desk::new();
    let mut data = PathBuf::new();
    let wanted = |_: &Request| json!([{"kind": "note.write", "count": "each"}]);
    let app = scripted_with(skill_caller().clean_room(wanted), |config| {
        config.notes = Some(desk.path(""));
        data = config.data_dir.clone();
        config.approval.skills.insert("email.send".into(), Policy::Ask);
    })
    .await;
    app.gets("files.list {}", "minutes.md", Ok(b"# Minutes\n\n- Rent\n".to_vec())).await;
    app.gets("files.list {}", "Contract.pdf", Ok(pdf::of_pages(&["Clause 7. Three months."]))).await;
    app.gets("files.list {}", "cat.png", Ok(b"\x89PNG\r\n\x1a\n a cat".to_vec())).await;
    let (said, _) = call(&app, "files.list", json!({"limit": 2})).await;
    assert!(said.contains("The newest 2 files; there are more:"), "{said}");
    let (_, listed) = call(&app, "files.list", json!({})).await;
    let file = |name: &str| {
        let items = listed["items"].as_array().unwrap();
        items.iter().find(|item| item["name"] == name).unwrap()["id"].clone()
    };
    let put = |file: Value| json!({"path": "Clients/Acme", "file": file});
    let (said, _) = call(&app, "notes.create", put(file("minutes.md"))).await;
    assert!(said.starts_with("Created the note Clients/Acme.md"), "{said}");
    assert_eq!(desk.read("Clients/Acme.md"), "# Minutes\n\n- Rent\n");
    let below = json!({"path": "Clients/Acme", "text": "From the contract:", "file": file("Contract.pdf")});
    let done = app.says("ada", &format!("notes.append {below}")).await;
    assert!(done.text.contains("Added to the note Clients/Acme.md"), "{}", done.text);
    let whole = desk.read("Clients/Acme.md");
    assert!(whole.ends_with("- Rent\n\nFrom the contract:\n\nClause 7. Three months.\n"), "{whole}");
    let (said, _) = call(&app, "notes.append", put(file("cat.png"))).await;
    assert_eq!(said, "params: “cat.png” can't be read: it's a picture");
    let send = json!({"to": ["bob@stone.test"], "subject": "s", "body": "b", "attachments": [{"note": "Clients/Acme"}]});
    let asked = app.says("ada", &format!("email.send {send}")).await;
    assert!(asked.text.contains("attachments: Acme.md ("), "{}", asked.text);
    app.presses("ada", &asked, "Approve").await;
    assert_eq!(attached(&sent(&data)[0], "Acme.md"), whole.as_bytes());
    app.ends_well().await;
}

#[tokio::test]
async fn a_note_is_created_once_and_taken_back() {
    let desk = Desk::new();
    let note = json!({"path": "Clients/New one", "text": "# New\n"});
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        true => text("done"),
        false => direct("a", "notes.create", note.clone()),
    });
    let app = scripted_with(script, |config| config.notes = Some(desk.path(""))).await;
    let heard = app.says("ada", "note it").await;
    assert!(heard.text.contains("✓"), "{}", heard.text);
    assert_eq!(desk.read("Clients/New one.md"), "# New\n");
    app.says("ada", "/undo").await;
    assert!(!desk.path("Clients/New one.md").exists());
    app.ends_well().await;
    let (heard, ends) = desk.calls("notes.create", json!({"path": "Acme.md", "text": "mine"})).await;
    assert_eq!(ends[1], "notes.create failed params");
    assert!(heard.text.contains("Acme.md exists already"), "{}", heard.text);
    assert!(desk.read("Acme.md").contains("Old text."));
}

#[tokio::test]
async fn nothing_is_replaced_without_a_yes_to_what_is_shown() {
    let desk = Desk::new();
    let change = json!({"path": "Acme", "section": "Contract", "text": "New text."});
    let app = desk.app("notes.replace_section", change).await;
    let asked = app.says("ada", "update the contract").await;
    for part in ["Change the note Acme.md", "Old text.", "New text."] {
        assert!(asked.text.contains(part), "{part}: {}", asked.text);
    }
    assert!(desk.read("Acme.md").contains("Old text."));
    let done = app.presses("ada", &asked, "Approve").await;
    assert_eq!(app.ends(&done).await[1], "notes.replace_section completed");
    let now = "---\ntags: [client]\n---\n# Acme\n\nSee [[Bob]].\n\n## Contract\n\nNew text.\n";
    assert_eq!(desk.read("Acme.md"), now);
    app.says("ada", "/undo").await;
    assert!(desk.read("Acme.md").contains("Old text."), "taken back");
    app.ends_well().await;
}

#[tokio::test]
async fn what_changed_since_it_was_shown_or_read_is_left_alone() {
    let desk = Desk::new();
    let app = desk
        .app("notes.replace_section", json!({"path": "Acme", "section": "Contract", "text": "New."}))
        .await;
    let asked = app.says("ada", "update the contract").await;
    desk.write("Acme.md", "# Acme\n\n## Contract\n\nSomebody else's.\n");
    let done = app.presses("ada", &asked, "Approve").await;
    assert_eq!(app.ends(&done).await[1], "notes.replace_section failed params");
    assert!(desk.read("Acme.md").contains("Somebody else's."));
    app.ends_well().await;
    let stale = json!({"path": "Acme", "text": "- more", "version": "00000000"});
    let (heard, ends) = desk.calls("notes.append", stale).await;
    assert_eq!(ends[1], "notes.append failed params");
    let said = "it was version 00000000 when it was read, and is version ";
    assert!(heard.text.contains(said), "{}", heard.text);
    assert!(!desk.read("Acme.md").contains("more"));
}

#[tokio::test]
async fn nothing_outside_of_the_folder_is_reached() {
    let desk = Desk::new();
    std::fs::write(desk.folder.path().join("outside.md"), "secret").unwrap();
    std::fs::create_dir(desk.folder.path().join("other")).unwrap();
    std::fs::write(desk.folder.path().join("other/far.md"), "secret").unwrap();
    symlink(desk.folder.path().join("outside.md"), desk.path("link.md")).unwrap();
    symlink(desk.folder.path().join("other"), desk.path("linked")).unwrap();
    for path in
        ["../outside.md", "/etc/hosts", "a/../../outside.md", "link.md", "linked/far.md", ".hidden.md"]
    {
        for (skill, arguments) in [
            ("notes.read", json!({"path": path})),
            ("notes.append", json!({"path": path, "text": "mine"})),
            ("notes.create", json!({"path": path, "text": "mine"})),
        ] {
            let (heard, ends) = desk.calls(skill, arguments).await;
            assert!(ends[1].starts_with(&format!("{skill} failed")), "{skill} {path}: {ends:?}");
            assert!(!heard.text.contains("secret"), "{skill} {path}: {}", heard.text);
        }
    }
    let (found, _) = desk.calls("notes.search", json!({"query": "secret"})).await;
    assert!(found.text.contains("No note mentions"), "{}", found.text);
    assert_eq!(std::fs::read_to_string(desk.folder.path().join("outside.md")).unwrap(), "secret");
    assert!(!desk.folder.path().join("other/mine.md").exists());
}

#[tokio::test]
async fn the_web_is_searched_where_the_configuration_names_an_engine() {
    let body =
        r#"{"results": [{"title": "Crabs", "url": "https://crabs.example/1", "content": "About crabs"}]}"#;
    let web = Web::start([Answer::Status(200, "", body.to_owned())]).await;
    let script = Scripted::new().orchestrator(plan(|| direct("a", "web.search", json!({"query": "crabs"}))));
    let app = scripted_with(script, |config| {
        config.search =
            Some(SearchConfig { kind: SearchKind::Searxng, url: web.origin().to_owned(), key: None });
    })
    .await;
    let heard = app.says("ada", "search the web for crabs").await;
    assert!(heard.text.contains("https://crabs.example/1"), "{}", heard.text);
    assert!(web.requests()[0].starts_with("GET /search?q=crabs&format=json"), "{:?}", web.requests());
    let row = app.executions(&heard).await.into_iter().find(|row| row.skill.is_some()).unwrap();
    assert_eq!(row.taint.sources().collect::<Vec<_>>(), ["the page https://crabs.example/1"]);
    app.ends_well().await;
}
