//! `config check` and `init` find what a start would find, and the shipped skills load everywhere.

use std::fs;
use std::path::Path;

use crate::process::Home;

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)
        } else {
            fs::copy(entry.path(), to).map(|_| ()).unwrap()
        }
    }
}

#[test]
fn the_shipped_skills_or_a_copy_of_them_load_without_a_chat_platform() {
    for folder in [SHIPPED, "skills"] {
        let rule = "[approval.skills]\n\"chat.post\" = \"deny\"\n";
        let home = Home::with_config(&format!("{rule}[skills]\npaths = [\"{folder}\"]\n"));
        copy(Path::new(SHIPPED), &home.path().join("skills"));
        for words in [&["config", "check"][..], &["skills", "check"], &["workflow", "check"]] {
            let ended = home.run(words);
            assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""), "{folder} {words:?} {ended:?}");
        }
        let listed = home.run(&["skills", "list"]).stdout;
        let (usable, rest) = listed.split_once("\nnot available here: no chat platform").unwrap();
        assert!(usable.contains("tasks.create") && !usable.contains("\n  chat."), "{listed}");
        assert!(rest.contains("chat.post\n"), "{listed}");
        assert!(home.run(&["skills", "show", "chat.post"]).stdout.contains("not available here"));
        let ended = home.run(&["chat", "--once", "add a task to call Ada"]);
        assert_eq!(ended.status, Some(0), "{ended:?}");
        assert_eq!(home.tasks(), ["call Ada"]);
    }
}

/// Each of these passed `config check` and failed at the start.
const WRONG: &str =
    "[skills]\npaths = [\"nowhere\"]\n[channels.slack]\nbot_token = \"x\\u00e9\"\napp_token = \"y\"\n";

#[test]
fn config_check_finds_what_a_start_finds_all_at_once() {
    let home = Home::with_config(WRONG);
    let checked = home.run(&["config", "check"]);
    assert_eq!(checked.status, Some(78), "{checked:?}");
    assert!(checked.stderr.contains("nowhere: can't be read"), "{checked:?}");
    let started = home.run(&["serve"]);
    assert_eq!(started.status, Some(78), "{started:?}");
    let why = started.stderr.lines().rfind(|line| !line.starts_with('{')).unwrap();
    assert!(checked.stderr.contains(why), "{checked:?} {started:?}");
}

#[test]
fn config_check_goes_on_behind_what_cannot_be_read() {
    let home = Home::with_config(
        "[approval]\nhigh = \"always\"\n[skills]\npaths = [\"nowhere\"]\n\
         [channels.telegram]\ntoken = \"no token\"\n[channels.slack]\nbot_token = \"x\\u00e9\"\napp_token = \"y\"\n",
    );
    let checked = home.run(&["config", "check"]);
    assert_eq!(checked.status, Some(78), "{checked:?}");
    for problem in ["approval.high: ", "nowhere: can't be read", "channels.telegram", "channels.slack"] {
        assert!(checked.stderr.contains(problem), "{problem}: {checked:?}");
    }
}

#[test]
fn init_writes_only_what_loads() {
    for (config, why) in [
        ("[limits]\nagents_per_trun = 3\n", "agents_per_turn"),
        ("[skills]\npaths = [\"nowhere\"]\n", "nowhere"),
    ] {
        let home = Home::with_config(config);
        let ended = home.run(&["init", "--unchecked", "--timezone", "Europe/Berlin"]);
        assert_eq!(ended.status, Some(78), "{ended:?}");
        assert!(ended.stderr.contains(why), "{ended:?}");
        assert_eq!(fs::read_to_string(home.path().join("config.toml")).unwrap(), config);
    }
}
