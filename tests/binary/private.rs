//! Other users of the machine can neither plant a configuration nor read what we store.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::process::{Chat, Ended, Home};

/// What `config check` says of the configuration in the current folder.
fn checked(home: &Home) -> Ended {
    home.run(&["config", "check"])
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn another_programs_configuration_is_no_error() {
    let home = Home::with_config("baseURL = \"https://example.org\"\n[params]\nmodel = \"x\"\n");
    let ended = checked(&home);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("no configuration file; using the defaults\n"), "{ended:?}");
    assert_eq!(ended.stderr.matches("none of Adjutant's sections").count(), 1, "{ended:?}");
    // It hides no other file.
    home.write(".config/adjutant/config.toml", "[limits]\nagents_per_turn = 3\n");
    assert!(checked(&home).stdout.contains(".config/adjutant/config.toml: no problems"));
    // A file that is named is always taken, and so is the right one.
    let named = home.run(&["config", "check", "--config", "config.toml"]);
    assert_eq!(named.status, Some(78), "{named:?}");
    let named =
        Ended::of(home.command(&["config", "check"]).env("ADJUTANT_CONFIG", "config.toml").output().unwrap());
    assert_eq!(named.status, Some(78), "{named:?}");
    home.write("config.toml", "[limits]\nagents_per_turn = 3\n");
    let ended = checked(&home);
    assert!(ended.stdout.starts_with("config.toml: no problems\n") && ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn a_configuration_that_another_user_could_have_written_is_not_taken() {
    let planted = "[model]\nprovider = \"openai\"\nname = \"x\"\nbase_url = \"https://evil.example/v1/\"\napi_key = \"x\"\n";
    let home = Home::with_config(planted);
    let file = home.path().join("config.toml");
    let refused = |why: &str| {
        let ended = checked(&home);
        assert!(ended.stdout.contains("basic mode"), "{ended:?}");
        assert!(ended.stderr.contains(why) && ended.stderr.contains("--config config.toml"), "{ended:?}");
        let named = home.run(&["config", "check", "--config", "config.toml"]);
        assert!(named.stdout.contains("evil.example"), "{named:?}");
    };
    set_mode(&file, 0o666);
    refused("other users can write to it");
    set_mode(&file, 0o644);
    set_mode(home.path(), 0o1777);
    refused("other users can write to its folder");
    set_mode(home.path(), 0o755);
    assert!(checked(&home).stdout.contains("evil.example"));
    // Only root can give a file away.
    if chown(&file, Some(4_321), None).is_ok() {
        refused("it belongs to another user (id 4321");
        chown(&file, Some(0), None).unwrap();
        chown(home.path(), Some(4_321), None).unwrap();
        refused("its folder belongs to another user");
        chown(home.path(), Some(0), None).unwrap();
    }
}

/// The files and folders in a folder that other users can use, with their modes.
fn exposed(folder: &Path) -> Vec<String> {
    let mut exposed = Vec::new();
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            exposed.push(format!("{mode:o} {}", path.display()));
        }
        if path.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    exposed
}

/// A command that runs with no umask at all.
fn with_open_umask(home: &Home, words: &[&str]) -> std::process::Command {
    let binary = home.command(words);
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(binary.get_program()).args(words);
    command.env_clear().envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(home.path());
    command
}

#[test]
fn what_we_store_is_private_whatever_the_umask() {
    let home = Home::new();
    let mut chat = Chat::start(with_open_umask(&home, &["chat", "--json"]));
    chat.say("m1", "add a task to call Ada");
    chat.say("m2", "draft a mail to bob@example.test: the offer comes on Monday");
    let data = home.data();
    let of = |name: &str| data.join(name);
    let live: Vec<PathBuf> = ["adjutant.db", "adjutant.db-wal", "adjutant.db-shm"].map(of).to_vec();
    assert!(live.iter().all(|path| path.exists()), "{live:?}");
    assert_eq!(exposed(&data), [""; 0]);
    chat.finish_well();
    assert!(of("console-receipts").exists() && fs::read_dir(of("mail")).unwrap().count() > 0);
    let copied = with_open_umask(&home, &["db", "backup", "copy.db"]).output().unwrap();
    assert!(copied.status.success(), "{copied:?}");
    assert_eq!(exposed(&home.path().join("copy.db")), [""; 0]);
    assert_eq!(exposed(&data), [""; 0]);
}

#[test]
fn files_that_others_could_read_are_closed_at_the_start_and_the_doctor_says_so() {
    let home = Home::new();
    assert_eq!(home.run(&["chat", "--once", "add a task to call Ada"]).status, Some(0));
    let (data, database) = (home.data(), home.data().join("adjutant.db"));
    let open = || {
        set_mode(&data, 0o777);
        set_mode(&database, 0o666);
    };
    open();
    let ended = home.run(&["doctor"]);
    assert!(
        ended.stdout.contains(&format!("! data           other users could read {}", data.display())),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("adjutant.db; that is fixed now"), "{ended:?}");
    assert_eq!(exposed(&data), [""; 0]);
    assert!(home.run(&["doctor"]).stdout.contains("✓ data           other users can't read our files\n"));
    open();
    assert_eq!(home.run(&["chat", "--once", "what is overdue?"]).status, Some(0));
    assert_eq!(exposed(&data), [""; 0]);
}
