//! What was used, what is known of somebody, and forgetting it: the real commands.

use serde_json::Value;

use crate::process::Home;

#[test]
fn usage_counts_what_a_chat_has_used() {
    let home = Home::new();
    let ended = home.run(&["usage"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.starts_with("no model was called since "), "{}", ended.stdout);
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
    assert!(unasked.stderr.contains("say --yes"), "{}", unasked.stderr);
    let nobody = home.run(&["db", "erase", "nobody", "--yes"]);
    assert_eq!(nobody.status, Some(1));
    assert!(nobody.stderr.contains("nobody is known as 'nobody'"), "{}", nobody.stderr);

    let mut chat = home.chat();
    chat.say("m1", "what are my tasks?");
    let refused = home.run(&["db", "erase", &who, "--yes"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("the assistant is at work"), "{}", refused.stderr);
    chat.finish_well();
    assert!(home.count("SELECT count(*) FROM turns") > 0);

    let done = home.run(&["db", "erase", &who, "--yes"]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    assert!(done.stdout.contains("is forgotten"), "{}", done.stdout);
    assert_eq!(home.run(&["db", "check"]).status, Some(0));
    assert_eq!(home.count("SELECT count(*) FROM turns"), 0);
    assert_eq!(home.tasks(), [""; 0]);
    let file = std::fs::read(home.data().join("adjutant.db")).unwrap();
    assert!(!file.windows(5).any(|found| found == b"xyzzy"), "the file keeps it");
    // They may begin anew.
    assert_eq!(home.run(&["chat", "--once", "add a task to buy milk"]).status, Some(0));
}
