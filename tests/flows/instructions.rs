//! Instructions that others wrote: read by agents, run only after a yes, and used only as they were accepted.

use adjutant::service;
use adjutant_config::{Config, Policy, Secret};
use adjutant_fakes::pdf;
use adjutant_skills::instructions::{Folder, install};
use adjutant_types::clock::FixedClock;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app::{NOW, TestApp, direct, plan, scripted_with};
use crate::cloud::{attached, sent};
use crate::groupware::{self, skill_caller, split};
use crate::scripted::{Reply, Scripted, Who, call, calls};

const TEXT: &str =
    "---\nname: Report style\ndescription: How to write: a report\n---\n# Reports\n\nBe short.\n";

/// A data folder in which an owner has accepted instructions, with these files or others instead.
async fn accepted_with(files: &[(&str, &str)]) -> (TempDir, Config) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("report-style");
    let usual = [("SKILL.md", TEXT), ("words.md", "Plain words."), ("scripts/count.sh", "echo counted $1")];
    for (path, text) in usual.iter().chain(files) {
        let path = source.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let config = Config::in_dir(folder.path().join("data"));
    let store = service::open_store(&config, FixedClock::at(NOW)).await.unwrap();
    install(&store, &config, &Folder::read(&source).unwrap(), &Default::default()).await.unwrap();
    store.close().await;
    (folder, config)
}

async fn accepted() -> (TempDir, Config) {
    accepted_with(&[]).await
}

async fn app(config: Config, reply: impl Fn() -> Reply + Send + Sync + 'static) -> TestApp {
    scripted_with(Scripted::new().orchestrator(plan(reply)), |app| {
        *app = Config { program: app.program.clone(), ..config }
    })
    .await
}

/// An app whose model calls the skill that a message names.
async fn caller(config: Config) -> TestApp {
    scripted_with(skill_caller(), |app| *app = Config { program: app.program.clone(), ..config }).await
}

/// Runs a script after a yes; returns what is said, and the data.
async fn ran(app: &TestApp, arguments: Value) -> (String, Value) {
    let asked = app.says("ada", &format!("instructions.report_style_run {arguments}")).await;
    split(app, &app.presses("ada", &asked, "Approve").await).await
}

#[tokio::test]
async fn an_agent_reads_the_text_and_its_files() {
    let (_folder, config) = accepted().await;
    let app = app(config, || direct("a", "instructions.report_style", json!({}))).await;
    let heard = app.says("ada", "write a report").await;
    for part in ["# Reports", "Be short.", "words.md", "report_style_run runs: scripts/count.sh"] {
        assert!(heard.text.contains(part), "{part}: {}", heard.text);
    }
    let prompt = &app.requests(Who::Orchestrator)[0].messages[0].text;
    let line = prompt.lines().find(|line| line.starts_with("instructions: ")).unwrap();
    insta::assert_snapshot!(line, @"instructions: How to do things well; read the one that fits first; NAME_run runs its scripts. get_skill with this domain, and words as name, searches all 1: report_style: How to write: a report");
    assert!(!prompt.contains("Be short."), "only name and description");
    app.ends_well().await;
}

#[tokio::test]
async fn a_script_runs_only_after_a_yes() {
    let (_folder, config) = accepted().await;
    let call = || {
        let arguments = json!({"script": "scripts/count.sh", "arguments": ["7"]});
        direct("a", "instructions.report_style_run", arguments)
    };
    let app = app(config, call).await;
    let asked = app.says("ada", "count").await;
    assert!(asked.text.contains("scripts/count.sh"), "{}", asked.text);
    let done = app.presses("ada", &asked, "Approve").await;
    assert!(done.text.contains("counted 7"), "{}", done.text);
    app.ends_well().await;
}

#[tokio::test]
async fn a_copy_that_was_changed_is_not_used() {
    let (_folder, config) = accepted().await;
    let copy = config.data_dir.join("instructions/report_style/words.md");
    std::fs::write(copy, "Plain words!").unwrap();
    let app = app(config, || direct("a", "instructions.report_style", json!({}))).await;
    let heard = app.says("ada", "write a report").await;
    assert_eq!(app.ends(&heard).await[1], "instructions.report_style failed permission");
    assert!(heard.text.contains("have changed in the data folder"), "{}", heard.text);
    app.ends_well().await;
}

#[tokio::test]
async fn instructions_are_found_by_words() {
    let (_folder, config) = accepted().await;
    let find = |words: &str| call("get_skill", json!({"domain": "instructions", "name": words}));
    let app = app(config, move || calls(vec![find("how are reports written"), find("fishing")])).await;
    let heard = app.says("ada", "write a report").await;
    insta::assert_snapshot!(heard.text, @"
    instructions: 2 found
    - instructions.report_style(file?): How to write: a report
    - instructions.report_style_run(script: path, arguments?: [text], files?: [id]): Run a script of report_style
    instructions: 0 found
    ");
    app.ends_well().await;
}

#[tokio::test]
async fn a_script_that_imports_its_neighbour_runs_again() {
    let main = "#!/usr/bin/python3\nimport sys, helper\nprint(helper.WORD, sys.dont_write_bytecode)\n";
    let files = [("tools/main.py", main), ("tools/helper.py", "WORD = 'hello'\n")];
    let (_folder, config) = accepted_with(&files).await;
    let app = caller(config).await;
    for _ in 0..2 {
        assert_eq!(ran(&app, json!({"script": "tools/main.py"})).await.0, "hello True");
    }
    app.ends_well().await;
}

#[tokio::test]
async fn a_script_runs_under_what_its_first_line_names() {
    let bash = "#!/usr/bin/env bash\nwords=(one two)\necho \"${words[1]}\"\n";
    let (_folder, config) = accepted_with(&[("scripts/words.sh", bash)]).await;
    let app = caller(config).await;
    assert_eq!(ran(&app, json!({"script": "scripts/words.sh"})).await.0, "two");
    app.ends_well().await;
}

#[tokio::test]
async fn a_script_gets_the_keys_that_it_names_and_an_owner_grants_and_nobody_sees_them() {
    let head = "---\nname: Report style\ndescription: x\nenv: [REPORT_KEY, OTHER_KEY]\n---\n";
    let uses =
        "echo \"$REPORT_KEY ${OTHER_KEY-none} ${STRAY-none}\"\necho $REPORT_KEY > key.txt\necho x > x.txt\n";
    let files =
        [("SKILL.md", head), ("scripts/use.sh", uses), ("scripts/fail.sh", "echo $REPORT_KEY >&2; exit 1")];
    let (_folder, mut config) = accepted_with(&files).await;
    let granted = [("REPORT_KEY", "k-very-secret"), ("STRAY", "k-undeclared")];
    let granted = granted.map(|(name, secret)| (name.to_owned(), Secret::new(secret)));
    config.instructions.insert("report_style".to_owned(), granted.into());
    let app = caller(config).await;
    let (said, data) = ran(&app, json!({"script": "scripts/use.sh"})).await;
    assert!(said.starts_with("[secret] none none"), "{said}");
    assert!(said.contains("“x.txt”") && said.contains("1 more file wasn't kept"), "{said}");
    assert_eq!(data["files"].as_array().map(Vec::len), Some(1));
    let asked = app.says("ada", r#"instructions.report_style_run {"script": "scripts/fail.sh"}"#).await;
    let failed = app.presses("ada", &asked, "Approve").await;
    let errors: String = app.executions(&failed).await.into_iter().filter_map(|row| row.error).collect();
    assert!(errors.contains("status 1: [secret]"), "{errors}");
    let requests = app.all_requests();
    let requests = requests.iter().map(|request| serde_json::to_string(request).unwrap()).collect();
    let all = [said, failed.text, errors, requests].concat();
    assert!(!all.contains("k-very-secret") && !all.contains("k-undeclared"), "{all}");
    app.ends_well().await;
}

#[tokio::test]
async fn files_go_into_a_script_and_come_out() {
    let script = "tr a-z A-Z < in.txt > out.txt\nmkdir sub .cache\necho deep > sub/deep.txt\necho x > .cache/x\n\
                  ln -s /etc/passwd link\necho x > \"$HOME/home.txt\"\necho done\n";
    let (_folder, config) = accepted_with(&[("scripts/up.sh", script)]).await;
    let app = caller(config).await;
    app.gets("files.list {}", "in.txt", Ok(b"hello".to_vec())).await;
    let given = json!({"script": "scripts/up.sh", "files": [app.file_ids().await[0]]});
    let asked = app.says("ada", &format!("instructions.report_style_run {given}")).await;
    assert!(asked.text.contains("files: in.txt (5 bytes)"), "{}", asked.text);
    let (said, data) = split(&app, &app.presses("ada", &asked, "Approve").await).await;
    assert!(said.starts_with("done\n“out.txt” (text, 5 bytes)"), "{said}");
    let files = data["files"].as_array().unwrap();
    let names: Vec<&str> = files.iter().filter_map(|file| file["name"].as_str()).collect();
    assert_eq!(names, ["out.txt", "deep.txt"], "neither hidden ones, nor links, nor what it was given");
    assert_eq!(app.file_ids().await.len(), 3);
    let (said, _) = groupware::call(&app, "files.read", json!({"id": files[0]["id"]})).await;
    assert!(said.ends_with("HELLO"), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_pdf_that_a_script_leaves_is_read_and_sent_on() {
    let (_folder, mut config) =
        accepted_with(&[("scripts/sign.sh", "mv in.pdf signed.pdf\necho signed\n")]).await;
    config.approval.skills.insert("email.send".into(), Policy::Ask);
    let data_dir = config.data_dir.clone();
    let app = caller(config).await;
    let contract = pdf::of_pages(&["Clause 7. Three months."]);
    app.gets("files.list {}", "in.pdf", Ok(contract.clone())).await;
    let given = json!({"script": "scripts/sign.sh", "files": [app.file_ids().await[0]]});
    let (said, data) = ran(&app, given).await;
    assert!(said.starts_with("signed\n“signed.pdf” (PDF, 1 page, "), "{said}");
    let signed = &data["files"][0]["id"];
    let (said, _) = groupware::call(&app, "files.read", json!({"id": signed})).await;
    assert!(said.contains("Clause 7. Three months."), "{said}");
    let send =
        json!({"to": ["bob@example.test"], "subject": "s", "body": "b", "attachments": [{"file": signed}]});
    let asked = app.says("ada", &format!("email.send {send}")).await;
    assert!(asked.text.contains("attachments: signed.pdf ("), "{}", asked.text);
    app.presses("ada", &asked, "Approve").await;
    assert!(attached(&sent(&data_dir)[0], "signed.pdf") == contract);
    app.ends_well().await;
}
