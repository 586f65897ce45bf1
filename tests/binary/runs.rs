//! `adjutant workflow run | runs | show`: the real binary and a model that answers according to the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_fakes::model::{FakeModel, Reply};
use serde_json::Value;

use crate::process::{Ended, Home};
use crate::terminal::{CTRL_C, Terminal};

const VISIT: &str = r#"workflow:
  name: visit
  description: Look a customer up and write a report
  inputs:
    - { name: customer, type: string, description: Who was visited }
  agents:
    finder:
      name: Finder
      prompt: Find what we know about {{inputs.customer}}.
      retry: { max_attempts: 2, backoff: none, on_failure: skip }
    writer: { name: Writer, prompt: "Report on what was found: {{steps.find.output}}" }
  steps:
    - { id: find, agent: finder }
    - { id: write, agent: writer }
"#;

const ASK: &str = r#"workflow:
  name: ask
  description: Write and ask
  agents:
    writer: { name: Writer, prompt: "Report on what was found: nothing" }
  steps:
    - { id: write, agent: writer }
    - { id: sure, approval: { text: "Shall it go out?", choices: [Send it, Leave it] } }
"#;

/// The model's behaviour when finding, and when reporting.
#[derive(Default)]
struct Model {
    finds_nothing: AtomicBool,
    reports_nothing: AtomicBool,
    hangs: AtomicBool,
}

fn fake(model: &Arc<Model>) -> FakeModel {
    let model = model.clone();
    FakeModel::start(move |request| {
        let text = request["messages"].to_string();
        let is = |flag: &AtomicBool| flag.load(Ordering::SeqCst);
        match text.contains("Report on what was found") {
            _ if is(&model.hangs) => Reply::hang(),
            true if is(&model.reports_nothing) => Reply::empty(),
            true => Reply::text("# Acme\n\nAll is well."),
            false if is(&model.finds_nothing) => Reply::empty(),
            false => Reply::text("Two mails."),
        }
    })
}

struct Office {
    home: Home,
    model: Arc<Model>,
    fake: FakeModel,
}

impl Office {
    fn open() -> Self {
        let model = Arc::default();
        let fake = fake(&model);
        let home = Home::with_config(&format!(
            "[skills]\npaths = [\"skills\"]\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
            fake.base_url()
        ));
        home.write("skills/workflows/visit.yaml", VISIT);
        home.write("skills/workflows/ask.yaml", ASK);
        Self { home, model, fake }
    }

    fn run(&self, words: &[&str]) -> Ended {
        self.home.run(&[&["workflow"], words].concat())
    }

    fn visit(&self, more: &[&str]) -> Ended {
        self.run(&[&["run", "visit", "--input", "customer=Acme \"& Sons\""], more].concat())
    }

    fn id(&self) -> String {
        let runs = self.run(&["runs", "--json"]);
        let runs: Value = serde_json::from_str(&runs.stdout).unwrap();
        runs["runs"][0]["id"].as_str().unwrap().to_owned()
    }

    /// The text for a person, without the parts that differ between runs.
    fn told(&self, ended: &Ended) -> String {
        let times = regex::Regex::new(r" *\b\d+(?:\.\d+)? m?s\b").unwrap();
        let text = format!("{:?} {}", ended.status, ended.stdout).replace(&self.id(), "ID");
        // The column is as wide as its longest entry.
        let head = regex::Regex::new(" +time +tries").unwrap();
        head.replace_all(&times.replace_all(&text, " TIME"), " time  tries").into_owned()
    }
}

#[test]
fn a_run_ends_with_its_report_on_stdout() {
    let office = Office::open();
    insta::assert_snapshot!(office.run(&["runs"]).stdout, @"no workflow has run yet; `adjutant workflow list` shows those there are, `adjutant workflow run NAME` runs one");
    let ended = office.visit(&[]);
    assert!(ended.stderr.contains("find"), "{ended:?}");
    assert!(!ended.stderr.contains("All is well."), "the report is on stdout alone: {ended:?}");
    insta::assert_snapshot!(office.told(&ended), @r"
    Some(0) visit is complete: 2 of 2 steps, 2 agents, TIME

    # Acme

    All is well.

    step   agent   status time  tries  size
    find   Finder  done TIME      1  10 B
    write  Writer  done TIME      1  20 B
    ");
    let shown = office.run(&["show", "last"]);
    assert_eq!((shown.status, shown.stdout), (Some(0), ended.stdout));
    let runs = office.run(&["runs"]).stdout;
    assert!(runs.contains("  visit  complete ") && runs.lines().count() == 1, "{runs}");
    office.home.assert_tidy("a run");
}

#[test]
fn the_json_is_the_contract_s() {
    let office = Office::open();
    let ended = office.visit(&["--json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let keys = |value: &Value| {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    assert_eq!(ended.status, Some(0));
    assert_eq!(keys(&report), "run steps");
    assert_eq!(
        keys(&report["run"]),
        "agents duration_ms id output retries status steps_completed steps_failed steps_skipped steps_total \
         warnings workflow"
    );
    assert_eq!(keys(&report["steps"][1]), "agent attempts duration_ms error id output_bytes status");
    assert_eq!(
        (&report["run"]["status"], &report["run"]["output"]),
        (&"complete".into(), &"# Acme\n\nAll is well.".into())
    );
    assert_eq!(office.run(&["show", "last", "--json"]).stdout, ended.stdout);
    assert_eq!(ended.stdout.lines().count(), 1);
}

#[test]
fn a_step_that_may_fail_makes_it_partial_and_one_that_may_not_failed() {
    let office = Office::open();
    office.model.finds_nothing.store(true, Ordering::SeqCst);
    let partial = office.visit(&[]);
    assert_eq!(partial.status, Some(1), "{partial:?}");
    insta::assert_snapshot!(office.told(&partial), @"
    Some(1) visit is partly done: 1 of 2 steps, 1 failed, 3 agents, 1 retry, TIME
    - find failed: My language model gave no usable answer. Please try again, perhaps in other words.

    # Acme

    All is well.

    step   agent   status time  tries  size
    find   Finder  failed TIME      2
    write  Writer  done TIME      1  20 B

    Warnings
    - find: Finder failed and was skipped: My language model gave no usable answer. Please try again, perhaps in other words.

    To run it again from there: adjutant workflow run visit --of ID --from find
    ");
    office.model.reports_nothing.store(true, Ordering::SeqCst);
    let failed = office.visit(&["--output", "report.md"]);
    assert_eq!(failed.status, Some(1), "{failed:?}");
    insta::assert_snapshot!(office.told(&failed), @"
    Some(1) visit failed: 0 of 2 steps, 2 failed, 3 agents, 1 retry, TIME
    - find failed: My language model gave no usable answer. Please try again, perhaps in other words.
    - write failed: My language model gave no usable answer. Please try again, perhaps in other words.

    step   agent   status time  tries  size
    find   Finder  failed TIME      2
    write  Writer  failed TIME      1

    Warnings
    - find: Finder failed and was skipped: My language model gave no usable answer. Please try again, perhaps in other words.

    To run it again from there: adjutant workflow run visit --of ID --from find
    ");
    assert!(!office.home.path().join("report.md").exists());
    // The step is fixed; earlier outputs are reused.
    office.model.reports_nothing.store(false, Ordering::SeqCst);
    let again = office.run(&["run", "visit", "--of", "last", "--from", "write", "--output", "report.md"]);
    assert!(again.stdout.contains("The output is in report.md."), "{again:?}");
    assert_eq!(
        std::fs::read_to_string(office.home.path().join("report.md")).unwrap(),
        "# Acme\n\nAll is well."
    );
    let refused = office.visit(&["--output", "report.md"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
}

#[test]
fn a_file_is_run_as_it_is_and_what_is_missing_is_named() {
    let office = Office::open();
    office.home.write("elsewhere/visit.yaml", &VISIT.replace("name: visit\n", "name: other\n"));
    let ended = office.run(&["run", "elsewhere/visit.yaml", "--input", "customer=Acme"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("other is complete: 2 of 2 steps"), "{ended:?}");
    let missing = office.run(&["run", "visit"]);
    insta::assert_snapshot!(format!("{:?} {}", missing.status, missing.stderr), @"Some(2) adjutant: visit needs --input customer=...");
    let wrong = office.run(&["run", "visit", "--input", "custmer=Acme"]);
    assert_eq!(wrong.status, Some(2), "{wrong:?}");
    assert_eq!(office.run(&["run", "nothing"]).status, Some(1));
}

#[test]
fn without_a_terminal_a_question_waits_and_is_answered_in_a_chat() {
    let office = Office::open();
    let waiting = office.run(&["run", "ask"]);
    assert_eq!(waiting.status, Some(1), "{waiting:?}");
    assert!(waiting.stdout.starts_with("ask is waiting for an answer: 1 of 2 steps"), "{waiting:?}");
    assert!(waiting.stderr.contains("Shall it go out?"), "{waiting:?}");
    let place = waiting.stderr.rsplit("adjutant chat --conversation ").next().unwrap().trim().to_owned();
    assert!(office.run(&["runs"]).stdout.contains("  waiting  "));
    let answered = office.home.run(&["chat", "--conversation", &place, "--once", "Send it"]);
    assert!(answered.stdout.contains("ask is complete: 2 of 2 steps"), "{answered:?}");
    assert!(office.run(&["show", "last"]).stdout.starts_with("ask is complete"));
    office.home.assert_tidy("an answer");
}

#[test]
fn at_a_terminal_a_question_is_answered_right_there() {
    let office = Office::open();
    let mut terminal = Terminal::start(&office.home, "workflow run ask");
    terminal.expect("Shall it go out?");
    terminal.expect("1  Send it");
    terminal.type_in("1\r");
    terminal.expect("ask is complete: 2 of 2 steps");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
    assert_eq!(terminal.text().matches("ask is complete").count(), 1, "{}", terminal.text());
    office.home.assert_tidy("a terminal");
}

#[test]
fn a_run_is_paused_resumed_and_cancelled_from_another_process() {
    let office = Office::open();
    office.model.hangs.store(true, Ordering::SeqCst);
    let mut chat = office.home.chat();
    chat.send(&serde_json::json!({"id": "r1", "text": "/run visit customer=Acme"}));
    while office.fake.received().is_empty() {
        chat.next_within(std::time::Duration::from_millis(20));
    }
    let told = |word: &str| {
        let ended = office.run(&[word, "last"]);
        format!("{:?} {}{}", ended.status, ended.stdout, ended.stderr).replace(&office.id(), "ID")
    };
    insta::assert_snapshot!(told("resume"), @"Some(1) adjutant: run ID of visit can't be resumed: it is running and doesn't wait to continue; see `adjutant workflow show ID`");
    insta::assert_snapshot!(told("pause"), @"
    Some(0) Pausing visit: running work finishes, nothing new starts. To go on: adjutant workflow resume ID
    If no terminal has it open: adjutant chat --conversation main
    ");
    insta::assert_snapshot!(told("cancel"), @"
    Some(0) Stopping visit.
    If no terminal has it open: adjutant chat --conversation main
    ");
    assert!(chat.reply("r1")["text"].as_str().unwrap().starts_with("Stopped."));
    insta::assert_snapshot!(told("cancel"), @"Some(1) adjutant: run ID of visit can't be cancelled: it has ended (cancelled)");
    chat.finish_well();
    assert!(office.run(&["show", "last"]).stdout.starts_with("visit was cancelled"));
    office.home.assert_tidy("told from outside");
}

#[test]
fn ctrl_c_stops_a_run() {
    let office = Office::open();
    office.model.hangs.store(true, Ordering::SeqCst);
    let mut terminal = Terminal::start(&office.home, "workflow run ask");
    while office.fake.received().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    terminal.type_in(CTRL_C);
    terminal.expect("ask was cancelled");
    assert_eq!(terminal.end(), Some(1), "{}", terminal.text());
    office.home.assert_tidy("Ctrl-C");
}

#[test]
fn a_killed_run_goes_on_in_the_next_process() {
    let office = Office::open();
    let mut command = office.home.command(&["workflow", "run", "visit", "--input", "customer=Acme"]);
    let killed = command.env("ADJUTANT_FAIL_POINT", "run-begun").output().unwrap();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    assert!(office.run(&["runs"]).stdout.contains("  running  "));
    let mut chat = office.home.chat();
    let reply = chat.find(|event| event["event"] == "reply").unwrap();
    assert!(reply["text"].as_str().unwrap().starts_with("visit is complete: 2 of 2 steps"), "{reply}");
    chat.finish_well();
    assert!(office.run(&["show", "last"]).stdout.starts_with("visit is complete"));
    office.home.assert_tidy("kill -9");
}
