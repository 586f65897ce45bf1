//! `serve` with a platform on loopback.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::telegram::FakeTelegram;
use serde_json::json;

use crate::gateway::{Gateway, eventually, wait_until};
use crate::process::Home;

fn home(telegram: &FakeTelegram, allow: &str) -> Home {
    Home::with_config(&format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[http]\nlisten = \"127.0.0.1:0\"\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = {allow}\n",
        telegram.token(),
        telegram.api_url()
    ))
}

/// The assistant's messages in a chat.
fn texts(telegram: &FakeTelegram, chat: i64) -> Vec<String> {
    telegram.seen(chat).into_iter().map(|seen| seen.text).collect()
}

/// Waits for a message with this text.
#[track_caller]
pub(crate) fn sees(telegram: &FakeTelegram, chat: i64, words: &str) -> String {
    eventually(words, || texts(telegram, chat).into_iter().find(|text| text.contains(words)))
}

#[test]
fn messages_are_answered_and_it_tells_that_it_is_ready() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let home = home(&telegram, "[]");
    telegram.say(ada, ada, "add a task to be there early");
    let mut gateway = Gateway::start(&home);
    assert_eq!(sees(&telegram, ada, "Added"), "Added “be there early”");
    assert_eq!(gateway.get("/healthz"), ("200".to_owned(), "ok\n".to_owned()));
    assert_eq!(gateway.get("/readyz"), ("200".to_owned(), "ready\n".to_owned()));
    assert_eq!(gateway.get("/nowhere").0, "404");
    telegram.say(ada, ada, "what is overdue?");
    sees(&telegram, ada, "No overdue tasks");
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains(telegram.token()), "the token is in the log:\n{log}");
    home.assert_tidy("serve");
}

#[test]
fn a_stranger_is_let_in_from_the_command_line() {
    let telegram = FakeTelegram::start();
    let (_owner, bob) = (telegram.person("Ada"), telegram.person("Bob"));
    let home = home(&telegram, "[]");
    let gateway = Gateway::start(&home);
    telegram.say(bob, bob, "add a task to come in");
    let asked = sees(&telegram, bob, "I only talk to people");
    let code = asked.lines().last().unwrap();
    let list = home.run(&["pair", "list"]);
    assert!(list.stdout.contains(&format!("{code}  telegram:{bob} (Bob) asks for access")), "{list:?}");
    assert_eq!(home.run(&["pair", "approve", "AAAA-AAAA"]).status, Some(1));
    let approved = home.run(&["pair", "approve", code]);
    assert_eq!((approved.status, approved.stderr.as_str()), (Some(0), ""));
    assert_eq!(sees(&telegram, bob, "Added"), "Added “come in”");
    let revoked = home.run(&["pair", "revoke", &format!("telegram:{bob}")]);
    assert_eq!(revoked.status, Some(0), "{revoked:?}");
    telegram.say(bob, bob, "add a task to stay");
    wait_until("the third text", || texts(&telegram, bob).len() >= 3);
    assert_eq!(home.tasks(), ["come in"]);
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn a_wrong_token_ends_with_78_and_says_the_fix() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "[]");
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let wrong = "1111111111:AAWrongWrongWrongWrongWrongWrongWro";
    home.write("config.toml", &config.replace(telegram.token(), wrong));
    let mut gateway = Gateway::start(&home);
    let (status, log) = gateway.wait();
    assert_eq!(status, Some(78), "{log}");
    assert!(log.contains("channels.telegram") && log.contains("token") && !log.contains(wrong), "{log}");
}

#[test]
fn when_an_instance_dies_another_one_goes_on() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let (first, second) = (home(&telegram, "[]"), home(&telegram, "[]"));
    let store = format!("[store]\nurl = \"sqlite://{}\"\n", first.path().join("shared.db").display());
    for home in [&first, &second] {
        let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
        home.write("config.toml", &format!("{store}{config}"));
    }
    let one = Gateway::start(&first);
    telegram.say(ada, ada, "add a task to be first");
    sees(&telegram, ada, "Added “be first”");
    let mut other = Gateway::start(&second);
    other.logs("standing by");
    let standby =
        "ready\ntelegram: another instance receives it; this one stands by and serves its web page\n";
    assert_eq!(other.get("/readyz"), ("200".to_owned(), standby.to_owned()));
    let polls = telegram.calls("getme");
    telegram.say(ada, ada, "add a task to be second");
    sees(&telegram, ada, "Added “be second”");
    assert_eq!(telegram.calls("getme"), polls, "one alone receives");
    one.kill();
    telegram.say(ada, ada, "add a task to be third");
    sees(&telegram, ada, "Added “be third”");
    assert_eq!(texts(&telegram, ada).len(), 3);
    assert_eq!(other.stop().0, Some(0));
}

#[test]
fn what_was_shown_before_a_crash_becomes_the_answer() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let is_open = Arc::new(AtomicBool::new(false));
    let gate = is_open.clone();
    let model = FakeModel::start(move |_| {
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Reply::text("Here it is.")
    });
    let home = home(&telegram, "[]");
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let model =
        format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n", model.base_url());
    home.write("config.toml", &format!("{model}{config}"));
    let first = Gateway::start(&home);
    telegram.say(ada, ada, "find it");
    sees(&telegram, ada, "Working on it");
    // Only a message whose receipt is stored can be edited further.
    wait_until("the receipt", || {
        home.count("SELECT count(*) FROM turns WHERE progress_receipt IS NOT NULL") > 0
    });
    first.kill();
    let shown = telegram.calls("editmessagetext");
    let second = Gateway::start(&home);
    // The next process goes on in the same message.
    wait_until("it is shown again", || telegram.calls("editmessagetext") > shown);
    is_open.store(true, Ordering::SeqCst);
    sees(&telegram, ada, "Here it is.");
    assert_eq!(texts(&telegram, ada), ["Here it is."]);
    assert_eq!(second.stop().0, Some(0));
}

#[test]
fn what_was_shown_beside_an_answer_is_taken_away_after_a_crash() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let is_open = Arc::new(AtomicBool::new(false));
    let gate = is_open.clone();
    let model = FakeModel::start(move |_| {
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let arguments = json!({"agent_id": "a", "mission": "Add", "skills": ["tasks.create"], "arguments": {"title": "sing"}});
        Reply::call("dispatch_agent", &arguments)
    });
    let home = home(&telegram, "[]");
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let model =
        format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n", model.base_url());
    home.write("config.toml", &format!("{model}{config}[approval.skills]\n\"tasks.create\" = \"ask\"\n"));
    let first = Gateway::start_with(&home, &[("ADJUTANT_FAIL_POINT", "outbox-receipt")]);
    telegram.say(ada, ada, "sing");
    sees(&telegram, ada, "Working on it");
    is_open.store(true, Ordering::SeqCst);
    first.dies();
    assert_eq!(texts(&telegram, ada).len(), 2, "the question stands beside the progress");
    let second = Gateway::start(&home);
    wait_until("the progress is gone", || texts(&telegram, ada).len() == 1);
    assert!(texts(&telegram, ada)[0].contains("sing"));
    // It is noted once the platform has removed it.
    wait_until("nothing is noted of it", || {
        home.count("SELECT count(*) FROM turns WHERE progress_receipt IS NOT NULL") == 0
    });
    assert_eq!(second.stop().0, Some(0));
}

/// It dies at this fail point, or is killed while its agent thinks; the next one continues.
fn a_run_is_cut_off(point: Option<&str>) {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let (is_open, is_asked) = (Arc::new(AtomicBool::new(point.is_some())), Arc::new(AtomicBool::new(false)));
    let (gate, asked) = (is_open.clone(), is_asked.clone());
    let model = FakeModel::start(move |_| {
        asked.store(true, Ordering::SeqCst);
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Reply::text(&"a long line\n".repeat(1_000))
    });
    let home = home(&telegram, "[]");
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let model_url = model.base_url();
    home.write(
        "config.toml",
        &format!(
            "[skills]\npaths = [\"skills\"]\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{model_url}\"\n{config}"
        ),
    );
    let flow = "workflow:\n  name: flow\n  agents: { a: { prompt: Write } }\n  steps:\n    \
                - { id: one, skill: tasks.create, arguments: { title: one } }\n    - { id: two, agent: a }\n";
    home.write("skills/workflows/flow.yaml", flow);
    let variables: Vec<(&str, &str)> = point.iter().map(|point| ("ADJUTANT_FAIL_POINT", *point)).collect();
    let first = Gateway::start_with(&home, &variables);
    telegram.say(ada, ada, "/run flow");
    match point {
        Some(_) => first.dies(),
        None => {
            wait_until("the agent is asked", || is_asked.load(Ordering::SeqCst));
            first.kill();
        }
    }
    let second = Gateway::start(&home);
    is_open.store(true, Ordering::SeqCst);
    let complete = "SELECT count(*) FROM runs WHERE status = 'complete'";
    let open = "SELECT count(*) FROM outbox WHERE state <> 'sent'";
    wait_until("the run is complete", || home.count(complete) > 0 && home.count(open) == 0);
    assert_eq!(second.stop().0, Some(0));
    assert_eq!(home.tasks(), ["one"], "{point:?}");
    let seen = telegram.seen(ada);
    let reports = seen.iter().filter(|seen| seen.text.contains("flow is complete: 2 of 2 steps")).count();
    let files: Vec<&str> = seen.iter().filter_map(|seen| Some(seen.file.as_ref()?.0.as_str())).collect();
    assert_eq!((seen.len(), reports, files), (2, 1, vec!["flow.md"]), "{point:?}: {seen:#?}");
}

#[test]
fn a_run_goes_on_after_a_kill_and_its_file_comes_once() {
    a_run_is_cut_off(None);
    for point in [
        "piece-begun",
        "piece-ended:2",
        "run-before-end",
        "outbox-sent:1",
        "outbox-sent:2",
        "outbox-claimed:2",
    ] {
        a_run_is_cut_off(Some(point));
    }
}

#[test]
fn without_a_channel_there_is_nothing_to_serve() {
    let ended = Home::new().run(&["serve"]);
    assert_eq!(ended.status, Some(78), "{ended:?}");
    insta::assert_snapshot!(ended.stderr, @"
    adjutant: no chat platform is connected yet, so there is nothing to serve
    Next step: `adjutant init` adds a chat platform: Telegram, Discord or Slack. `adjutant chat` talks in a terminal.
    ");
}

#[test]
fn a_link_to_the_page_needs_a_page() {
    let home = Home::new();
    let off = home.run(&["web", "login"]);
    assert_eq!((off.status, off.stdout.as_str()), (Some(78), ""), "{off:?}");
    assert!(off.stderr.contains("the web page is off\nNext step: add the line [channels.web]"), "{off:?}");
    home.write("config.toml", "[channels.web]\n");
    let early = home.run(&["web", "login"]);
    assert_eq!((early.status, early.stdout.as_str()), (Some(1), ""), "{early:?}");
    assert!(early.stderr.contains("`adjutant serve` isn't running"), "{early:?}");
    let doctor = home.run(&["doctor"]);
    assert!(!doctor.stdout.contains("at your expense"), "{doctor:?}");
}

#[test]
fn a_thousand_silent_clients_keep_no_health_check_out() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "[]");
    let mut gateway = Gateway::start(&home);
    let address = gateway.address();
    let silent: Vec<TcpStream> = (0..1_000).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert_eq!(gateway.get("/healthz"), ("200".to_owned(), "ok\n".to_owned()));
    // It came before the first of them was cut off, which would have made room.
    silent[0].set_nonblocking(true).unwrap();
    assert_eq!(silent[0].peek(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn it_is_not_ready_until_the_platform_has_answered() {
    // It accepts connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = Home::with_config(&format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\ntoken = \"1:a\"\napi_url = \"http://{}\"\n",
        silent.local_addr().unwrap()
    ));
    let mut gateway = Gateway::start(&home);
    let unready = ("503".to_owned(), "telegram: it isn't connected yet\n".to_owned());
    assert_eq!(gateway.get("/readyz"), unready);
    assert_eq!(gateway.get("/healthz").0, "200");
    gateway.logs("up: ");
    assert_eq!(gateway.get("/readyz"), unready);
    assert_eq!(gateway.stop().0, Some(0));
}
