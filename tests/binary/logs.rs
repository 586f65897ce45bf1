//! The log: its format for each reader, what it contains and what it never contains.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use adjutant_fakes::telegram::{FakeTelegram, Refusal};

use crate::gateway::{Gateway, wait_until};
use crate::metrics::{KEY, home, model};
use crate::process::{Home, Value};
use crate::serve::sees;

/// Runs a turn whose model fails once and whose answer is refused in every form. Returns its id and the log.
fn log_of_a_turn(filter: &str) -> (String, String) {
    let (telegram, model) = (FakeTelegram::start(), model());
    let ada = telegram.person("Ada");
    let home = home(&telegram, &model);
    let gateway = Gateway::start_with(&home, &[("ADJUTANT_LOG", filter)]);
    telegram.say(ada, ada, "do stumble over my passion");
    sees(&telegram, ada, "All is well.");
    telegram.refuse(&[Refusal::LongerThan(0), Refusal::Documents]);
    telegram.say(ada, ada, "and again");
    wait_until("the refused answer is given up", || {
        home.count("SELECT count(*) FROM outbox WHERE state = 'dead'") > 0
    });
    let turn = home.ask(async |store| {
        let turn: Option<(String,)> = store.first("SELECT id FROM turns ORDER BY seq", &[]).await.unwrap();
        turn.unwrap().0
    });
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    for secret in [KEY, telegram.token()] {
        assert!(!log.contains(secret), "{secret} is in:\n{log}");
    }
    (turn, log)
}

#[test]
fn every_line_of_a_turn_has_its_id_and_none_what_was_written() {
    let (turn, log) = log_of_a_turn("info");
    for text in ["passion", "All is well", "and again"] {
        assert!(!log.contains(text), "{text} is in:\n{log}");
    }
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_turn = |line: &&Value| line["spans"][0]["id"] == turn.as_str();
    let again = lines.iter().filter(of_turn).find(|line| line["message"] == "asking the model again");
    let again = again.unwrap_or_else(|| panic!("no such line of {turn} in:\n{log}"));
    assert_eq!((&again["level"], &again["target"]), (&"INFO".into(), &"adjutant_models::resilience".into()));
    // All lines of a turn come from these modules, and these modules log only for turns.
    let rooms = [
        "adjutant_engine::conversation",
        "adjutant_engine::orchestrator",
        "adjutant_engine::gateway::outbox",
        "adjutant_workflows::agents",
        "adjutant_models",
    ];
    for line in &lines {
        let target = line["target"].as_str().unwrap();
        if rooms.iter().any(|room| target.starts_with(room)) {
            assert_eq!(line["spans"][0]["name"], "turn", "{line}");
        }
    }
    assert!(lines.iter().any(|line| line["message"] == "a reply is given up"), "{log}");
}

#[test]
fn no_secret_is_in_the_most_talkative_log() {
    let (turn, log) = log_of_a_turn("trace");
    assert!(log.contains(&turn) && log.contains("\"level\":\"TRACE\""), "it is not talkative");
}

/// A command that logs a warning.
fn warning(home: &Home) -> Command {
    let mut command = home.command(&["config", "check"]);
    command.env("ADJUTANT_CONFIG", home.path().join("nowhere.toml"));
    command
}

#[test]
fn journald_gets_text_behind_its_priority() {
    let home = Home::new();
    let path = home.path().join("journal");
    let journal = File::create(&path).unwrap();
    let place = journal.metadata().unwrap();
    let mut command = warning(&home);
    command.env("JOURNAL_STREAM", format!("{}:{}", place.dev(), place.ino())).stderr(journal);
    assert!(command.status().unwrap().success());
    let log = std::fs::read_to_string(&path).unwrap();
    assert!(log.starts_with("<4> WARN adjutant_config: $ADJUTANT_CONFIG names a file"), "{log}");
}

#[test]
fn a_terminal_gets_text_in_colours() {
    let home = Home::new();
    let at_terminal = |name: &str, value: &str| {
        // It runs a command in its own terminal; Debian always has it.
        let mut command = Command::new("script");
        let words = format!("{} config check", env!("CARGO_BIN_EXE_adjutant"));
        command.args(["-qec", &words, "/dev/null"]).env_clear().current_dir(home.path());
        command.env("HOME", home.path()).env("ADJUTANT_CONFIG", home.path().join("nowhere.toml"));
        command.env("PATH", "/usr/bin:/bin").env(name, value).stdin(Stdio::null());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let coloured = at_terminal("TERM", "xterm");
    assert!(coloured.contains("\u{1b}[33m WARN\u{1b}[0m"), "{coloured:?}");
    let plain = at_terminal("NO_COLOR", "1");
    assert!(
        plain.contains("Z  WARN adjutant_config: $ADJUTANT_CONFIG") && !plain.contains('\u{1b}'),
        "{plain:?}"
    );
}

#[test]
fn another_reader_gets_json_though_a_journal_is_near() {
    let home = Home::new();
    let mut command = warning(&home);
    let log = command.env("JOURNAL_STREAM", "8:1").output().unwrap().stderr;
    let line: Value = serde_json::from_slice(&log).unwrap();
    assert_eq!(line["level"], "WARN");
    assert!(line["path"].as_str().unwrap().ends_with("/nowhere.toml"), "{line}");
}
