//! `adjutant workflow`: its output and exit statuses.

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
    insta::assert_snapshot!(told(&home.run(&["workflow", "check", "skills/workflows/visit.yaml"])), @"
    Some(0) skills/workflows/visit.yaml:10:29: warning: there is no skill 'Read'; it grants nothing. `adjutant skills list` shows all skills
    visit-report: finder: “Output must include mails field”: there is a field `mails`
    visit-report: finder: “Must be kind”: judged by a model
    1 workflow: all fine, 1 warning
    ");
    let all = home.run(&["workflow", "check"]);
    assert_eq!(all.status, Some(0), "{}", told(&all));
    assert!(all.stdout.ends_with("8 workflows: all fine, 1 warning\n"), "{}", all.stdout);
    insta::assert_snapshot!(told(&home.run(&["workflow", "explain", "visit-report"])), @"
    Some(0) visit-report: Look a customer up and write a report

    Inputs
      - customer, a text: Who was visited

    Steps
      1. find: At the start, Finder runs.
      2. write: After find, Writer runs.

    Agents
      - Finder. May use email.search.
          checked: “Output must include mails field” (there is a field `mails`)
          checked: “Must be kind” (judged by a model)
      - Writer. Uses no skills.
    ");
    insta::assert_snapshot!(told(&home.run(&["workflow", "draw", "skills/workflows/visit.yaml"])), @r"
    Some(0) ●  find   Finder
    ●  write  Writer
    ");
    insta::assert_snapshot!(told(&home.run(&["workflow", "draw", "visit-report", "--mermaid"])), @r#"
    Some(0) flowchart TD
        s_find["<b>find</b><br/>Finder"]
        s_write["<b>write</b><br/>Writer"]
        s_find --> s_write
    "#);
    insta::assert_snapshot!(told(&home.run(&["workflow", "explain", "visit-reprt"])), @"Some(1) adjutant: there is no workflow 'visit-reprt'; did you mean 'visit-report'? `adjutant workflow list` shows all workflows");
}

#[test]
fn a_dry_run_runs_nothing() {
    let home = home();
    let run = ["workflow", "run", "visit-report", "--dry-run"];
    insta::assert_snapshot!(told(&home.run(&[&run[..], &["--input", "customer=Acme"]].concat())), @"
    Some(0) Dry run of visit-report: nothing runs.

    Inputs
      customer: Acme

    1.
      find (sequential): Finder
          skill email.search: low risk
          prompt of Finder: Find what we know about Acme.

    2.
      write (sequential): Writer, after find
          prompt of Writer: Report on {{steps.find.output}}

    Estimate
      agents       2
      model calls  3 to 33
      skill calls  0 to 30
      tokens       2,129 to 1,001,659
      cost         none: there is no language model, so agents can't run
    ");
    let json = home.run(&[&run[..], &["--json"]].concat());
    let plan: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(plan["plan"]["missing"], serde_json::json!(["customer"]));
    assert_eq!(plan["plan"]["order"], serde_json::json!([["find"], ["write"]]));
    assert!(!home.data().join("adjutant.db").exists(), "a dry run opens no store");
    insta::assert_snapshot!(told(&home.run(&[&run[..], &["--input", "custmer=Acme"]].concat())), @"Some(2) adjutant: the workflow 'visit-report' has no input 'custmer'; did you mean 'customer'?");
    assert_eq!(home.run(&[&run[..], &["--input", "customer"]].concat()).status, Some(2));
}

#[test]
fn a_new_workflow_begins_with_a_template() {
    let home = home();
    insta::assert_snapshot!(told(&home.run(&["workflow", "new", "my-brief", "--from", "morning-briefing"])), @"Some(0) skills/workflows/my-brief.yaml is written. Edit it, then: adjutant workflow check skills/workflows/my-brief.yaml");
    let text = fs::read_to_string(home.path().join("skills/workflows/my-brief.yaml")).unwrap();
    assert!(text.contains("\n  name: my-brief\n"), "{text}");
    assert_eq!(home.run(&["workflow", "check", "skills/workflows/my-brief.yaml"]).status, Some(0));
    insta::assert_snapshot!(told(&home.run(&["workflow", "new", "my-brief", "--from", "morning-briefing"])), @"Some(1) adjutant: skills/workflows/my-brief.yaml already exists; choose another name, or edit that file");
    insta::assert_snapshot!(told(&home.run(&["workflow", "new", "x", "--from", "morning"])), @"Some(1) adjutant: there is no template 'morning'; did you mean 'morning-briefing'?; the templates are content-pipeline, iterative-refinement, map-reduce, morning-briefing, multi-angle-analysis, qualify-and-route, weekly-review");
}

#[test]
fn a_wrong_file_is_told_with_its_places() {
    let home = home();
    home.write(
        "skills/workflows/visit.yaml",
        &VISIT.replace("agent: writer", "agent: writr").replace("prompt", "promt"),
    );
    let check = home.run(&["workflow", "check", "skills/workflows"]);
    insta::assert_snapshot!(told(&check), @"
    Some(1) skills/workflows/visit.yaml:7:5: the agent lacks `prompt`
    skills/workflows/visit.yaml:9:7: the agent has no key 'promt'; did you mean 'prompt'?
    skills/workflows/visit.yaml:10:29: warning: there is no skill 'Read'; it grants nothing. `adjutant skills list` shows all skills
    skills/workflows/visit.yaml:12:5: warning: no step uses the agent 'writer'
    skills/workflows/visit.yaml:12:5: the agent lacks `prompt`
    skills/workflows/visit.yaml:12:29: the agent has no key 'promt'; did you mean 'prompt'?
    skills/workflows/visit.yaml:15:27: there is no agent 'writr'; did you mean 'writer'?
    5 problems, 2 warnings; 0 workflows fine
    ");
    insta::assert_snapshot!(told(&home.run(&["workflow", "draw", "skills/workflows/visit.yaml"])), @r"
    Some(1) adjutant: skills/workflows/visit.yaml:7:5: the agent lacks `prompt`
    skills/workflows/visit.yaml:9:7: the agent has no key 'promt'; did you mean 'prompt'?
    skills/workflows/visit.yaml:12:5: the agent lacks `prompt`
    skills/workflows/visit.yaml:12:29: the agent has no key 'promt'; did you mean 'prompt'?
    skills/workflows/visit.yaml:15:27: there is no agent 'writr'; did you mean 'writer'?
    ");
    assert_eq!(home.run(&["workflow", "check", "nowhere.yaml"]).status, Some(1));
    home.write("big.yaml", &"x".repeat(10 << 20));
    insta::assert_snapshot!(told(&home.run(&["workflow", "check", "big.yaml"])), @"
    Some(1) big.yaml: the file is longer than 1024 KB
    1 problem; 0 workflows fine
    ");
}
