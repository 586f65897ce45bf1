//! The real binary's exit statuses and output streams.

#![cfg(test)] // so that the lints know the helpers for tests too

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use sqlx::{AnyConnection, Connection, Executor};
use tempfile::TempDir;

use crate::process::Home;

fn adjutant(home: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
    command.env_clear().env("HOME", home.path()).env("TZ", "UTC").current_dir(home.path());
    command
}

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn without_a_file_the_defaults_apply() {
    let home = TempDir::new().unwrap();
    let (status, stdout, stderr) = run(adjutant(&home).args(["config", "check"]));
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(stdout.replace(home.path().to_str().unwrap(), "HOME"), @r"
    no configuration file; using the defaults
    data    HOME/.local/share/adjutant
    store   sqlite://HOME/.local/share/adjutant/adjutant.db
    model   basic mode
    Next step: `adjutant init` adds a chat platform: Telegram, Discord or Slack.
    ");
}

#[test]
fn a_wrong_configuration_ends_every_command_with_78_and_its_problems_on_stderr() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("config.toml"), "[model]\nnmae = \"x\"\ntimeout = 3\n").unwrap();
    for command in ["config check", "chat", "skills list", "trace", "db status"] {
        let (status, stdout, stderr) = run(adjutant(&home).args(command.split(' ')));
        assert_eq!((status, stdout.as_str()), (Some(78), ""), "{command}");
        assert_eq!(
            stderr,
            "adjutant: the configuration has errors\n\
             config.toml:2: model.nmae: unknown key; did you mean `name`?\n\
             config.toml:3: model.timeout: must be a duration in quotes, such as \"30s\", not a whole number\n",
            "{command}"
        );
    }
    let (status, ..) = run(adjutant(&home).args(["completions", "zsh"]));
    assert_eq!(status, Some(0), "completions need no configuration");
    let (status, _, stderr) = run(adjutant(&home).args(["config", "check", "--config", "none.toml"]));
    assert_eq!(status, Some(78));
    assert!(stderr.contains("none.toml: can't be read"), "{stderr}");
}

#[test]
fn a_wrong_log_filter_is_a_wrong_configuration() {
    let home = TempDir::new().unwrap();
    let (status, _, stderr) = run(adjutant(&home).args(["config", "check"]).env("ADJUTANT_LOG", "a=b=c"));
    assert_eq!(status, Some(78));
    assert!(stderr.contains("$ADJUTANT_LOG: "), "{stderr}");
}

#[test]
fn wrong_usage_ends_with_2() {
    let home = TempDir::new().unwrap();
    for words in
        [&[][..], &["bogus"], &["skills", "show"], &["chat", "--once", "x", "--json"], &["trace", "--bogus"]]
    {
        let (status, stdout, stderr) = run(adjutant(&home).args(words));
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(stderr.contains("Usage: adjutant"), "{stderr}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let home = TempDir::new().unwrap();
    for words in [&["completions", "bash"][..], &["config", "check"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = adjutant(&home).args(words).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{words:?}");
    }
}

#[test]
fn output_that_cant_be_written_is_a_failure() {
    let home = TempDir::new().unwrap();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let (status, _, stderr) = run(adjutant(&home).args(["config", "check"]).stdout(full));
    assert_eq!(status, Some(1));
    assert!(stderr.starts_with("adjutant: can't write to stdout: "), "{stderr}");
}

#[test]
fn the_db_commands_work() {
    let home = TempDir::new().unwrap();
    let place = home.path().to_str().unwrap();
    let db = |words: &[&str]| {
        let (status, stdout, stderr) = run(adjutant(&home).arg("db").args(words));
        (status, stdout.replace(place, "HOME"), stderr.replace(place, "HOME"))
    };
    let store = "HOME/.local/share/adjutant/adjutant.db";
    let done = |text: String| (Some(0), text, String::new());
    let migrated = format!("the store at {store} is up to date; migrations: ");
    assert!(db(&["migrate"]).1.starts_with(&migrated));
    assert!(db(&["status"]).1.starts_with(&format!("store                {store}\nsize ")));
    assert_eq!(db(&["check"]), done(format!("{store}: no problems\n")));
    let (status, stdout, _) = db(&["backup", "copy.db"]);
    assert!(stdout.starts_with(&format!("copied {store} to HOME/copy.db (")), "{stdout}");
    assert_eq!(status, Some(0));
    let (status, stdout, stderr) = db(&["backup", "copy.db"]);
    assert_eq!((status, stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(stderr, @"adjutant: the store can't be copied to HOME/copy.db: there is a file of that name already; a backup never overwrites, choose another name");
}

#[test]
fn who_waits_for_another_program_is_told_and_goes_on_when_it_ends() {
    let home = Home::new();
    assert_eq!(home.run(&["db", "migrate"]).status, Some(0));
    sqlx::any::install_default_drivers();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let other = runtime.block_on(async {
        let mut other = AnyConnection::connect(&home.store_url()).await.unwrap();
        other.execute("BEGIN IMMEDIATE").await.unwrap();
        other
    });
    let mut command = home.command(&["db", "check"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let file = home.data().join("adjutant.db");
    let wanted = format!("Waiting for another program that uses {}, 10 seconds at most …\n", file.display());
    assert_eq!(told, wanted);
    runtime.block_on(other.close()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_turn_that_is_not_there_ends_with_1() {
    let home = TempDir::new().unwrap();
    for words in
        [&["trace"][..], &["trace", "last", "--json"], &["trace", "--conversation", "x"], &["trace", "x"]]
    {
        let (status, stdout, stderr) = run(adjutant(&home).args(words));
        assert_eq!((status, stdout.as_str()), (Some(1), ""), "{words:?}");
        assert!(stderr.starts_with("adjutant: there "), "{stderr}");
    }
}

#[test]
fn skills_are_listed_shown_checked_and_begun() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("config.toml"), "[skills]\npaths = [\"skills\"]\n").unwrap();
    let (status, stdout, stderr) = run(adjutant(&home).args(["skills", "list"]));
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    for name in ["tasks.create", "tasks.delete", "memory.save", "memory.forget"] {
        assert!(stdout.contains(name), "{name} is missing in\n{stdout}");
    }
    let (status, stdout, _) = run(adjutant(&home).args(["skills", "show", "tasks.create"]));
    assert_eq!(status, Some(0));
    assert!(stdout.contains("title") && stdout.contains("low"), "{stdout}");
    let (status, _, stderr) = run(adjutant(&home).args(["skills", "show", "tasks.crate"]));
    assert_eq!(status, Some(1));
    assert!(stderr.contains("did you mean 'tasks.create'?"), "{stderr}");
    // The file that `new` writes is valid and in use at once.
    let (status, _, stderr) = run(adjutant(&home).args(["skills", "new", "weather"]));
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let (status, stdout, _) = run(adjutant(&home).args(["skills", "check"]));
    assert_eq!(status, Some(0), "{stdout}");
    let (_, stdout, _) = run(adjutant(&home).args(["skills", "list"]));
    assert!(stdout.contains("weather"), "{stdout}");
}

#[test]
fn memories_are_listed_and_forgotten() {
    let home = Home::new();
    home.run(&["chat", "--once", "remember that Bob prefers mornings"]);
    home.run(&["chat", "--once", "remember that my office is in Lyon"]);
    let listed = home.run(&["memory", "list"]);
    assert_eq!((listed.status, listed.stdout.lines().count()), (Some(0), 2), "{listed:?}");
    let line =
        listed.stdout.lines().find(|line| line.ends_with("fact, private: Bob prefers mornings")).unwrap();
    let id = line.split_whitespace().next().unwrap();
    let ended = home.run(&["memory", "forget", id]);
    assert_eq!(
        (ended.status, ended.stdout.as_str()),
        (Some(0), "Forgotten: Bob prefers mornings\n"),
        "{ended:?}"
    );
    let ended = home.run(&["memory", "forget", id]);
    assert_eq!(ended.status, Some(1));
    assert!(ended.stderr.contains("`adjutant memory list` shows them"), "{ended:?}");
    assert_eq!(home.run(&["memory", "list", "nobody"]).stdout, "Nothing is remembered.\n");
    assert!(home.run(&["memory", "list"]).stdout.contains("my office is in Lyon"));
    let asked = home.run(&["chat", "--once", "what do you know about Bob?"]);
    assert!(!asked.stdout.contains("mornings"), "{asked:?}");
    // The message that said it is out of the history, too.
    assert_eq!(home.count("SELECT count(*) FROM turns WHERE forgotten_at IS NOT NULL"), 1);
}

#[test]
fn completions_name_the_commands() {
    let home = TempDir::new().unwrap();
    let (status, stdout, stderr) = run(adjutant(&home).args(["completions", "bash"]));
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("--once") && stdout.contains("skills"), "{stdout}");
}

#[test]
fn there_is_a_man_page_for_each_command() {
    let home = Home::new();
    let ended = home.run(&["man", "man1"]);
    assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
    let page = |name: &str| std::fs::read_to_string(home.path().join("man1").join(name)).unwrap();
    assert!(page("adjutant.1").contains("adjutant\\-serve(1)"));
    assert!(page("adjutant-pair-approve.1").contains("adjutant pair approve ABCD\\-2345"));
    home.write("file", "");
    let ended = home.run(&["man", "file/man1"]);
    assert_eq!(ended.status, Some(1));
    assert!(ended.stderr.starts_with("adjutant: can't write man pages to file/man1: "), "{ended:?}");
}
