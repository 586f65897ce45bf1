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
