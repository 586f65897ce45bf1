//! `adjutant workflow`: what it prints, and its exit statuses.

use std::fs;

use crate::process::{Ended, Home};

const VISIT: &str = r#"workflow:
  name: visit-report
  description: Look a customer up and write a report
  inputs:
    - { name: customer, type: string, description: Who was visited }
  agents:
    finder:
      name: Finder
      prompt: Find what we know about {{inputs.customer}}.
      tools: [email.search, Read]
      validation: { rules: ["Output must include mails field", "Must be kind"] }
    writer: { name: Writer, prompt: "Report on {{steps.find.output}}" }
  steps:
    - { id: find, agent: finder, output: { format: json } }
    - { id: write, agent: writer }
"#;

fn told(ended: &Ended) -> String {
    format!("{:?} {}{}", ended.status, ended.stdout, ended.stderr)
}

fn home() -> Home {
    let home = Home::with_config("[skills]\npaths = [\"skills\"]\n");
    home.write("skills/workflows/visit.yaml", VISIT);
    home
}

#[test]
fn workflows_are_listed_checked_explained_and_drawn() {
    let home = home();
    let list = home.run(&["workflow", "list"]);
    assert!(
        list.stdout.contains("visit-report          Look a customer up and write a report\n"),
        "{}",
        list.stdout
    );
    assert!(list.stdout.contains("morning-briefing"), "{}", list.stdout);
    insta::assert_snapshot!(told(&home.run(&["workflow", "check", "skills/workflows/visit.yaml"])), @"");
    let all = home.run(&["workflow", "check"]);
    assert_eq!(all.status, Some(0), "{}", told(&all));
    assert!(all.stdout.ends_with("8 workflows: all fine, 1 warning\n"), "{}", all.stdout);
    insta::assert_snapshot!(told(&home.run(&["workflow", "explain", "visit-report"])), @"");
    insta::assert_snapshot!(told(&home.run(&["workflow", "draw", "skills/workflows/visit.yaml"])), @"");
    insta::assert_snapshot!(told(&home.run(&["workflow", "draw", "visit-report", "--mermaid"])), @"");
    assert!(home.run(&["workflow", "draw", "visit-report", "--svg"]).stdout.starts_with("<svg "));
    insta::assert_snapshot!(told(&home.run(&["workflow", "explain", "visit-reprt"])), @"");
}

#[test]
fn a_dry_run_runs_nothing() {
    let home = home();
    let run = ["workflow", "run", "visit-report", "--dry-run"];
    insta::assert_snapshot!(told(&home.run(&[&run[..], &["--input", "customer=Acme"]].concat())), @"");
    let json = home.run(&[&run[..], &["--json"]].concat());
    let plan: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(plan["plan"]["missing"], serde_json::json!(["customer"]));
    assert_eq!(plan["plan"]["order"], serde_json::json!([["find"], ["write"]]));
    assert!(!home.data().join("adjutant.db").exists(), "a dry run opens no store");
    insta::assert_snapshot!(told(&home.run(&[&run[..], &["--input", "custmer=Acme"]].concat())), @"");
    assert_eq!(home.run(&[&run[..], &["--input", "customer"]].concat()).status, Some(2));
}

#[test]
fn a_new_workflow_begins_with_a_template() {
    let home = home();
    insta::assert_snapshot!(told(&home.run(&["workflow", "new", "my-brief", "--from", "morning-briefing"])), @"");
    let text = fs::read_to_string(home.path().join("skills/workflows/my-brief.yaml")).unwrap();
    assert!(text.contains("\n  name: my-brief\n"), "{text}");
    assert_eq!(home.run(&["workflow", "check", "skills/workflows/my-brief.yaml"]).status, Some(0));
    insta::assert_snapshot!(told(&home.run(&["workflow", "new", "my-brief", "--from", "morning-briefing"])), @"");
    insta::assert_snapshot!(told(&home.run(&["workflow", "new", "x", "--from", "morning"])), @"");
}

#[test]
fn a_wrong_file_is_told_with_its_places() {
    let home = home();
    home.write(
        "skills/workflows/visit.yaml",
        &VISIT.replace("agent: writer", "agent: writr").replace("prompt", "promt"),
    );
    let check = home.run(&["workflow", "check", "skills/workflows"]);
    insta::assert_snapshot!(told(&check), @"");
    insta::assert_snapshot!(told(&home.run(&["workflow", "draw", "skills/workflows/visit.yaml"])), @"");
    assert_eq!(home.run(&["workflow", "check", "nowhere.yaml"]).status, Some(1));
    home.write("big.yaml", &"x".repeat(10 << 20));
    insta::assert_snapshot!(told(&home.run(&["workflow", "check", "big.yaml"])), @"");
}
