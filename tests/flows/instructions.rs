//! Instructions that others wrote: read by agents, run only after a yes, and used only as they were accepted.

use adjutant::service;
use adjutant_config::Config;
use adjutant_skills::instructions::{Folder, install};
use adjutant_types::clock::FixedClock;
use serde_json::json;
use tempfile::TempDir;

use crate::app::{NOW, TestApp, direct, plan, scripted_with};
use crate::scripted::{Reply, Scripted, Who};

const TEXT: &str =
    "---\nname: Report style\ndescription: How to write: a report\n---\n# Reports\n\nBe short.\n";

/// A data folder in which an owner has accepted instructions.
async fn accepted() -> (TempDir, Config) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("report-style");
    std::fs::create_dir_all(source.join("scripts")).unwrap();
    std::fs::write(source.join("SKILL.md"), TEXT).unwrap();
    std::fs::write(source.join("words.md"), "Plain words.").unwrap();
    std::fs::write(source.join("scripts/count.sh"), "echo counted $1").unwrap();
    let config = Config::in_dir(folder.path().join("data"));
    let store = service::open_store(&config, FixedClock::at(NOW)).await.unwrap();
    install(&store, &config, &Folder::read(&source).unwrap(), &Default::default()).await.unwrap();
    store.close().await;
    (folder, config)
}

async fn app(config: Config, reply: impl Fn() -> Reply + Send + Sync + 'static) -> TestApp {
    scripted_with(Scripted::new().orchestrator(plan(reply)), |app| {
        *app = Config { program: app.program.clone(), ..config }
    })
    .await
}

#[tokio::test]
async fn an_agent_reads_the_text_and_its_files() {
    let (_folder, config) = accepted().await;
    let app = app(config, || direct("a", "instructions.report_style", json!({}))).await;
    let heard = app.says("ada", "write a report").await;
    for part in ["# Reports", "Be short.", "words.md"] {
        assert!(heard.text.contains(part), "{part}: {}", heard.text);
    }
    let prompt = &app.requests(Who::Orchestrator)[0].messages[0].text;
    assert!(prompt.contains("- instructions.report_style(file?): How to write: a report\n"), "{prompt}");
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
