//! Usage, export and erasure of a person, retention, backups, vacuum.

use std::os::unix::fs::PermissionsExt;

use adjutant_fakes::telegram::FakeTelegram;
use serde_json::Value;

use crate::gateway::{Gateway, wait_until};
use crate::process::Home;
use crate::serve::sees;

#[test]
fn usage_counts_what_a_chat_has_used() {
    let home = Home::new();
    let ended = home.run(&["usage"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.starts_with("no model calls since "), "{}", ended.stdout);
    assert_eq!(home.run(&["chat", "--once", "add a task to buy milk"]).status, Some(0));
    let calls = home.count("SELECT count(*) FROM calls");
    let json = home.run(&["usage", "--month", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["total"]["calls"], &json["timezone"]), (&calls.into(), &"UTC".into()));
    let skills = home.run(&["usage", "--month", "--by", "skill"]).stdout;
    assert!(skills.lines().any(|line| line.starts_with("tasks.create ")), "{skills}");
    assert_eq!(home.run(&["usage", "--day", "--week"]).status, Some(2));
}

#[test]
fn somebody_is_exported_and_forgotten() {
    let home = Home::new();
    assert_eq!(home.run(&["chat", "--once", "add a task to buy xyzzy"]).status, Some(0));
    let who = home.ask(async |store| {
        let row: Option<(String,)> =
            store.first("SELECT channel || ':' || user_id FROM accounts", &[]).await.unwrap();
        row.unwrap().0
    });
    let known = home.run(&["db", "export", &who]);
    assert_eq!((known.status, known.stderr.as_str()), (Some(0), ""));
    let json: Value = serde_json::from_str(&known.stdout).unwrap();
    assert_eq!(json["tasks"].as_array().unwrap().len(), 1);
    assert!(json["turns"][0]["text"].as_str().unwrap().contains("xyzzy"));

    let unasked = home.run(&["db", "erase", &who]);
    assert_eq!(unasked.status, Some(2), "{}", unasked.stderr);
    assert!(unasked.stderr.contains("use --yes"), "{}", unasked.stderr);
    let nobody = home.run(&["db", "erase", "nobody", "--yes"]);
    assert_eq!(nobody.status, Some(1));
    assert!(nobody.stderr.contains("no person matches 'nobody'"), "{}", nobody.stderr);

    let mut chat = home.chat();
    chat.say("m1", "what are my tasks?");
    let refused = home.run(&["db", "erase", &who, "--yes"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("another adjutant is using the store"), "{}", refused.stderr);
    chat.finish_well();
    assert!(home.count("SELECT count(*) FROM turns") > 0);

    let done = home.run(&["db", "erase", &who, "--yes"]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    assert!(done.stdout.contains("is erased"), "{}", done.stdout);
    assert_eq!(home.run(&["db", "check"]).status, Some(0));
    assert_eq!(home.count("SELECT count(*) FROM turns"), 0);
    assert_eq!(home.tasks(), [""; 0]);
    let file = std::fs::read(home.data().join("adjutant.db")).unwrap();
    assert!(!file.windows(5).any(|found| found == b"xyzzy"), "the file keeps it");
    // They can start afresh.
    assert_eq!(home.run(&["chat", "--once", "add a task to buy milk"]).status, Some(0));
}

/// A gateway on this platform, with extra configuration.
fn home(telegram: &FakeTelegram, more: &str) -> Home {
    Home::with_config(&format!(
        "{more}[http]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
        telegram.token(),
        telegram.api_url()
    ))
}

#[test]
fn old_data_is_deleted_while_it_serves() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let home = home(&telegram, "[retention]\nbodies = \"1s\"\n");
    let gateway = Gateway::start(&home);
    telegram.say(ada, ada, "add a task to buy xyzzy");
    sees(&telegram, ada, "Added");
    wait_until("the emptying", || {
        home.count("SELECT count(*) FROM turns WHERE bodies_emptied_at IS NOT NULL") == 1
    });
    let trace = home.run(&["trace", "last", "--calls"]);
    assert_eq!((trace.status, trace.stderr.as_str()), (Some(0), ""));
    for said in
        ["(the text was deleted at 20", "(the models' and skills' input was deleted at 20", "✓ completed"]
    {
        assert!(trace.stdout.contains(said), "{}", trace.stdout);
    }
    assert!(!trace.stdout.contains("xyzzy"), "{}", trace.stdout);
    let json: Value = serde_json::from_str(&home.run(&["trace", "--json"]).stdout).unwrap();
    assert!(
        json["turn"]["emptied"]["trace"].is_string() && json["turn"]["emptied"]["texts"].is_string(),
        "{json}"
    );
    assert!(home.run(&["usage", "--json"]).stdout.contains("\"calls\""));
    assert_eq!(home.tasks(), ["buy xyzzy"], "what is to be done is not what was said");
    telegram.say(ada, ada, "what are my tasks?");
    wait_until("the second answer", || telegram.seen(ada).len() == 2);
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains("xyzzy"), "{log}");
    home.assert_tidy("after the emptying");
}

#[test]
fn copies_are_made_while_it_serves_and_one_can_be_restored() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let home = home(&telegram, "[backup]\nevery = \"1h\"\npath = \"copies\"\nkeep = 2\n");
    assert_eq!(home.run(&["chat", "--once", "add a task to be kept"]).status, Some(0));
    let none = home.run(&["doctor"]).stdout;
    assert!(none.contains("! backup") && none.contains("no backup in "), "{none}");
    let others = ["adjutant.db", "adjutant-20200101T000000Z.db.gz", "notes.txt"];
    let old =
        ["adjutant-20200101T000000Z.db", "adjutant-20210101T000000Z.db", "adjutant-20220101T000000Z.db"];
    for name in others.iter().chain(&old).chain(&["adjutant-20230101T000000Z.db.part"]) {
        home.write(&format!("copies/{name}"), "");
    }
    let mut gateway = Gateway::start(&home);
    gateway.logs("the store is copied");
    // It blocks nobody.
    telegram.say(ada, ada, "add a task to come again");
    sees(&telegram, ada, "Added");
    let folder = home.path().join("copies");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !others.contains(&name.as_str()))
        .collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[0], old[2]);
    let copy = folder.join(&names[1]);
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(others.iter().all(|name| folder.join(name).exists()), "what is not ours is left alone");
    let well = home.run(&["doctor"]).stdout;
    assert!(well.contains("✓ backup") && well.contains("2 backups in "), "{well}");
    assert_eq!(gateway.stop().0, Some(0));

    let restored = Home::new();
    restored.write(".local/share/adjutant/adjutant.db", "");
    std::fs::copy(copy, restored.data().join("adjutant.db")).unwrap();
    let check = restored.run(&["db", "check"]);
    assert_eq!(check.status, Some(0), "{check:?}");
    assert_eq!(restored.tasks(), ["be kept"]);
}

#[test]
fn a_failed_backup_is_reported() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "[backup]\npath = \"config.toml\"\n");
    let mut gateway = Gateway::start(&home);
    gateway.logs("the backup failed; it is tried again in 10 min");
    wait_until("the note", || gateway.get("/readyz").1.contains("the last backup failed"));
    let doctor = home.run(&["doctor"]).stdout;
    assert!(doctor.contains("✗ backup"), "{doctor}");
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn a_server_is_copied_by_its_own_means() {
    let home = Home::with_config("[store]\nurl = \"postgres://db.example.org/adjutant\"\n[backup]\n");
    let check = home.run(&["config", "check"]);
    assert_eq!(check.status, Some(78));
    assert!(check.stderr.contains("backs up SQLite stores only"), "{check:?}");
}

#[test]
fn the_store_is_written_anew_while_nobody_is_at_work() {
    let home = Home::new();
    let mut chat = home.chat();
    chat.say("m1", "add a task to buy milk");
    let refused = home.run(&["db", "vacuum"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("another adjutant is using the store"), "{}", refused.stderr);
    chat.finish_well();
    let done = home.run(&["db", "vacuum"]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    assert!(done.stdout.contains(" before, ") && done.stdout.ends_with(" now\n"), "{}", done.stdout);
    assert_eq!(home.tasks(), ["buy milk"]);
}
