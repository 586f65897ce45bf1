//! Reloading the configuration of a running `serve`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::telegram::FakeTelegram;

use crate::gateway::{Gateway, eventually};
use crate::process::Home;

const APPLIED: &str = "the new configuration is in use";

/// A configuration: who has access, and extra text.
fn config(telegram: &FakeTelegram, allow: &[i64], more: &str) -> String {
    let allow: Vec<String> = allow.iter().map(|id| format!("\"{id}\"")).collect();
    format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n\
         allow = [{}]\n{more}",
        telegram.token(),
        telegram.api_url(),
        allow.join(", ")
    )
}

/// Waits for a message of the assistant with this text; returns the newest.
#[track_caller]
fn sees(telegram: &FakeTelegram, chat: i64, words: &str) -> String {
    let newest = || telegram.seen(chat).into_iter().rev().find(|seen| seen.text.contains(words));
    eventually(words, newest).text
}

#[test]
fn a_stranger_is_let_in_by_the_changed_file_and_out_again_by_the_signal() {
    let telegram = FakeTelegram::start();
    let (ada, bob) = (telegram.person("Ada"), telegram.person("Bob"));
    let home = Home::with_config(&config(&telegram, &[ada], ""));
    let mut gateway = Gateway::start(&home);
    telegram.say(bob, bob, "add a task to knock");
    sees(&telegram, bob, "I only talk to people");
    // It gets no signal.
    home.write("config.toml", &config(&telegram, &[ada, bob], ""));
    gateway.logs(APPLIED);
    telegram.say(bob, bob, "add a task to come in");
    assert_eq!(sees(&telegram, bob, "Added"), "Added “come in”");
    home.write("config.toml", &config(&telegram, &[ada], "[limits]\nparallel_agents = 3\n"));
    gateway.signal("HUP");
    gateway.logs("reloading on request");
    gateway.logs_times(APPLIED, 2);
    let said = telegram.seen(bob).len();
    telegram.say(bob, bob, "add a task to stay");
    telegram.say(ada, ada, "add a task to be first");
    sees(&telegram, ada, "Added “be first”");
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert_eq!(telegram.seen(bob).len(), said, "{:?}", telegram.seen(bob));
    assert_eq!(home.tasks(), ["be first", "come in"]);
    assert!(!log.contains(telegram.token()) && !log.contains("restart to apply"), "{log}");
}

#[test]
fn a_skill_that_was_free_asks_and_then_is_denied() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let home = Home::with_config(&config(&telegram, &[ada], ""));
    let mut gateway = Gateway::start(&home);
    telegram.say(ada, ada, "add a task to be free");
    sees(&telegram, ada, "Added “be free”");
    for (times, policy, says) in [(1, "deny", "isn't allowed"), (2, "ask", "Shall I do")] {
        let approval = format!("[approval.skills]\n\"tasks.create\" = \"{policy}\"\n");
        home.write("config.toml", &config(&telegram, &[ada], &approval));
        gateway.logs_times(APPLIED, times);
        telegram.say(ada, ada, &format!("add a task to meet {policy}"));
        sees(&telegram, ada, says);
    }
    assert_eq!(gateway.stop().0, Some(0));
    assert_eq!(home.tasks(), ["be free"]);
}

#[test]
fn limits_and_prices_hold_from_the_next_turn_on() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let model =
        FakeModel::start(move |_| Reply::text(&format!("Answer {}.", count.fetch_add(1, Ordering::SeqCst))));
    let with = |more: &str| {
        let model =
            format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n", model.base_url());
        config(&telegram, &[ada], &format!("{model}{more}"))
    };
    let home = Home::with_config(&with(""));
    let mut gateway = Gateway::start(&home);
    telegram.say(ada, ada, "first");
    sees(&telegram, ada, "Answer 0");
    assert_eq!(home.count("SELECT count(*) FROM calls WHERE cost_usd > 0"), 0);
    // A call costs 110 dollars at this price.
    let price = "price = { input = 1000000, output = 1000000 }\n";
    home.write("config.toml", &with(price));
    gateway.logs_times(APPLIED, 1);
    telegram.say(ada, ada, "second");
    sees(&telegram, ada, "Answer 1");
    assert_eq!(home.count("SELECT count(*) FROM calls WHERE cost_usd > 109 AND cost_usd < 111"), 1);
    home.write("config.toml", &with(&format!("{price}[limits]\nday_cost_usd = 100\n")));
    gateway.logs_times(APPLIED, 2);
    telegram.say(ada, ada, "third");
    sees(&telegram, ada, "Your budget for today ($100.00)");
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert_eq!(calls.load(Ordering::SeqCst), 2, "{log}");
}

#[test]
fn a_faulty_file_changes_nothing_and_what_needs_a_restart_is_named() {
    let telegram = FakeTelegram::start();
    let (ada, bob) = (telegram.person("Ada"), telegram.person("Bob"));
    let home = Home::with_config(&config(&telegram, &[ada], ""));
    let mut gateway = Gateway::start(&home);
    let address = gateway.address();
    telegram.say(ada, ada, "add a task to be first");
    sees(&telegram, ada, "Added");
    let faulty = "[limits]\nagents_per_trun = 3\n[approval]\nhigh = \"never\"\n";
    home.write("config.toml", &config(&telegram, &[ada, bob], faulty));
    gateway.logs("the configuration has errors, the last good one stays in use");
    gateway.logs("limits.agents_per_trun: unknown key; did you mean `agents_per_turn`?");
    gateway.logs("approval.high: unknown word \"never\"");
    let ready = gateway.get("/readyz");
    assert_eq!(
        ready,
        ("200".into(), "ready\nthe configuration has errors, the last good one is in use\n".into())
    );
    let doctor = home.run(&["doctor"]);
    assert_eq!(doctor.status, Some(78));
    assert!(doctor.stdout.contains("a running service keeps the last good configuration"), "{doctor:?}");
    telegram.say(bob, bob, "add a task to come in");
    sees(&telegram, bob, "I only talk to people");
    // A misspelt skill name would protect nothing.
    home.write(
        "config.toml",
        &config(&telegram, &[ada, bob], "[approval.skills]\n\"tasks.craete\" = \"deny\"\n"),
    );
    gateway.logs("unknown skill; did you mean `tasks.create`?");
    // Now it is right, and holds things that restart to apply can change.
    let calendar = "[calendar]\nurl = \"http://127.0.0.1:1/\"\nuser = \"ada\"\npassword = \"secret\"\n";
    let store = format!("[store]\nurl = \"sqlite://{}\"\n", home.path().join("else.db").display());
    let text = config(&telegram, &[ada, bob], &format!("{store}{calendar}"));
    home.write("config.toml", &text.replace("127.0.0.1:0", &address));
    gateway.logs("restart to apply these changes: store, calendar, http");
    let ready = gateway.get("/readyz").1;
    assert_eq!(ready, "ready\nrestart to change store, calendar, http\n");
    telegram.say(bob, bob, "add a task to come in at last");
    sees(&telegram, bob, "Added “come in at last”");
    let doctor = home.run(&["doctor"]);
    let said = "running, all channels receive; restart to change store, calendar, http";
    assert!(doctor.stdout.contains(said), "{doctor:?}");
    home.write("config.toml", &config(&telegram, &[ada, bob], ""));
    gateway.logs_times(APPLIED, 2);
    assert_eq!(gateway.get("/readyz").1, "ready\n");
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn a_file_that_is_gone_changes_nothing() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let home = Home::with_config(&config(&telegram, &[ada], ""));
    let mut gateway = Gateway::start(&home);
    gateway.logs("up: telegram ok");
    std::fs::remove_file(home.path().join("config.toml")).unwrap();
    gateway.logs("config.toml: can't be read");
    telegram.say(ada, ada, "add a task to go on");
    sees(&telegram, ada, "Added “go on”");
    home.write("config.toml", "");
    gateway.logs("no channel is configured");
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn the_log_follows_the_file() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let home = Home::with_config(&config(&telegram, &[ada], "[log]\nfilter = \"warn\"\n"));
    let mut gateway = Gateway::start(&home);
    telegram.say(ada, ada, "add a task to begin");
    sees(&telegram, ada, "Added");
    home.write("config.toml", &config(&telegram, &[ada], "[log]\nfilter = \"loud=er\"\n"));
    gateway.logs("config.toml:8: log.filter: ");
    home.write("config.toml", &config(&telegram, &[ada], "[log]\nfilter = \"info\"\n"));
    gateway.logs(APPLIED);
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("stopping: no new turns") && !log.contains("up: telegram"), "{log}");
}
