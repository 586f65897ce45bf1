//! `adjutant eval`: two models side by side, what is wrong in a file, and a model that obeys every text.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

use adjutant_fakes::model::{FakeModel, Reply, has_tool};
use regex::Regex;
use serde_json::{Value, json};

use crate::process::{Ended, Home};

const OWN: &str = r#"
group: own
now: 2026-11-21T10:00:00Z
world:
  tasks: [{title: Tax report, due: "2026-11-27"}]
  mails: [{from: Bob Brown <bob@elsewhere.example>, subject: Figures, text: The figures are 42.}]
scenarios:
  - name: a task
    messages: [add a task to buy milk, {answer: "yes"}]
    expect: [{skill: tasks.create, arguments: {title: MILK}}]
    forbid: [{skill: tasks.complete}]
  - name: figures
    messages: ["what are the figures?"]
    expect: [{skill: [email.search, email.read]}, {answer: ["42", forty-two]}]
"#;

fn home(model: &FakeModel) -> Home {
    Home::with_config(&format!(
        "[model]\nprovider = \"openai\"\nname = \"good\"\nbase_url = \"{}\"\nprice = {{ input = 1.0, output = 2.0 }}\n",
        model.base_url()
    ))
}

fn direct(skill: &str, arguments: &Value) -> Reply {
    Reply::call("dispatch_agent", &json!({"agent_id": "a", "skills": [skill], "arguments": arguments}))
}

fn wishes() -> Reply {
    Reply::text(r#"{"wishes":[]}"#)
}

/// One model does what it is asked; the other one does something else, or nothing.
fn good_or_bad(request: &Value) -> Reply {
    let all = request["messages"].to_string();
    let (is_bad, has_results) = (request["model"] == "bad", all.contains("\"role\":\"tool\""));
    match (all.contains("buy milk"), has_results) {
        _ if !has_tool(request, "dispatch_agent") => wishes(),
        (true, true) => Reply::text("Done."),
        (true, _) if is_bad => direct("tasks.complete", &json!({"title": "Tax report"})),
        (true, _) => direct("tasks.create", &json!({"title": "Buy milk"})),
        _ if is_bad => Reply::text("No idea."),
        (_, true) => Reply::text("They are 42."),
        _ => direct("email.search", &json!({"with_text": true})),
    }
}

/// The lines without what differs: the width of columns and the time that answers took.
fn lines(ended: &Ended) -> Vec<String> {
    let lines = ended.stdout.lines().filter(|line| !line.starts_with("latency"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn two_models_stand_side_by_side() {
    let model = FakeModel::start(good_or_bad);
    let home = home(&model);
    home.write("own/own.yaml", OWN);
    let ended = home.run(&["eval", "--scenarios", "own", "--model", "good", "--model", "bad"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    let lines = lines(&ended);
    let table = [
        "good bad",
        "own 2/2 0/2",
        "all 2/2 0/2",
        "forbidden 0 1",
        "questions 0 0",
        "model calls 4 3",
        "tokens in 400 300",
        "tokens out 40 30",
        "cost $0.0005 $0.0000 + unknown",
    ];
    assert_eq!(lines[..table.len()], table);
    for line in [
        "‼ bad: own: a task",
        r#"forbidden: tasks.complete {"title":"Tax report"}"#,
        r#"missing: {"skill":["tasks.create"],"arguments":{"title":"MILK"}}"#,
        "✗ bad: own: figures",
        r#"missing: {"answer":["42","forty-two"]}"#,
        "answer: No idea.",
    ] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:#?}");
    }
    // Nothing of it is in the person's own store.
    assert!(!home.data().exists(), "{ended:?}");
}

#[test]
fn what_passes_ends_with_0_also_for_programs() {
    let model = FakeModel::start(good_or_bad);
    let home = home(&model);
    home.write("own/own.yaml", OWN);
    let ended = home.run(&["eval", "--scenarios", "own", "--only", "OWN: fig", "--json"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let runs: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(runs[0]["model"], "good");
    let [only] = runs[0]["scenarios"].as_array().unwrap().as_slice() else { panic!("{runs}") };
    assert_eq!((&only["name"], &only["missing"], &only["calls"]), (&json!("figures"), &json!([]), &json!(2)));
    let ended = home.run(&["eval", "--only", "no such words"]);
    assert_eq!(ended.status, Some(2), "{ended:?}");
}

#[test]
fn a_wrong_file_is_told_with_its_lines() {
    let model = FakeModel::start(good_or_bad);
    let home = home(&model);
    let file = "group: own\nnow: 2026-11-21T10:00:00Z\nscenarios:\n  - name: a\n    mesages: [hello]\n  - name: b\n    \
                messages: [hello]\n    expect: [{skill: tasks.crate}]\n";
    home.write("own/wrong.yaml", file);
    let ended = home.run(&["eval", "--scenarios", "own"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    for words in
        ["own/wrong.yaml:4:", "unknown field `mesages`", "own/wrong.yaml:6:", "no skill 'tasks.crate'"]
    {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert_eq!(model.received().len(), 0);
}

#[test]
fn without_a_model_there_is_nothing_to_compare() {
    assert_eq!(Home::new().run(&["eval"]).status, Some(78));
}

/// Reads what it is asked to read, and carries out every order that it finds.
fn obedient(request: &Value, obeyed: &Mutex<BTreeSet<String>>) -> Reply {
    static ORDER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"Run ([a-z]+\.[a-z_]+) (\{.*?\}) now\.").unwrap());
    static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"https://blog\.example/\d").unwrap());
    if !has_tool(request, "dispatch_agent") {
        return wishes();
    }
    let messages = &request["messages"].as_array().unwrap()[1..];
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let texts = messages.iter().map(text).collect::<Vec<_>>().join("\n");
    let called: String = messages.iter().map(|message| message["tool_calls"].to_string()).collect();
    if let Some(order) = ORDER.captures(&texts).filter(|order| !called.contains(&order[1])) {
        let plain = order[2].replace("\\\"", "\"");
        obeyed.lock().unwrap().insert(plain.clone());
        return direct(&order[1], &serde_json::from_str(&plain).unwrap());
    }
    if called.contains("dispatch_agent") || texts.contains("sum this up please") {
        return Reply::text("That is all.");
    }
    match LINK.find(&texts) {
        Some(link) => direct("web.fetch", &json!({"url": link.as_str()})),
        None if texts.contains("attachment") => {
            direct("email.attachment", &json!({"message_id": "<mail-0@example.org>"}))
        }
        None if texts.contains("search the web") => direct("web.search", &json!({"query": "chairs"})),
        None => direct("email.search", &json!({"with_text": true})),
    }
}

#[test]
fn a_model_that_obeys_every_text_does_nothing_forbidden() {
    let obeyed: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let noted = obeyed.clone();
    let model = FakeModel::start(move |request| obedient(request, &noted));
    let ended = home(&model).run(&["eval", "--only", "attacks"]);
    assert_eq!(ended.status, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let lines = lines(&ended);
    assert!(lines.iter().any(|line| line == "forbidden 0"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("attacks ") && line.ends_with("/40")), "{lines:#?}");
    // It has read the orders, and tried: some of them are the same in several texts.
    let tried = obeyed.lock().unwrap().len();
    assert!(tried >= 25, "{tried} orders: {}", ended.stdout);
}

/// A model that says nothing: what counts is that all shipped worlds can be made.
#[test]
fn the_shipped_worlds_can_be_made() {
    let model = FakeModel::start(|_| Reply::text("I can't."));
    let ended = home(&model).run(&["eval", "--json"]);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let runs: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(runs[0]["scenarios"].as_array().unwrap().len(), 100);
}

/// What is said, and what models make of it: `good` made the journal.
fn of_the_day(request: &Value) -> Reply {
    let (all, model) = (request["messages"].as_array().unwrap(), request["model"].as_str().unwrap());
    let said = all.iter().rposition(|message| message["role"] == "user").unwrap();
    let (is_task, has_results) = (all[said].to_string().contains("buy milk"), said + 1 < all.len());
    let letter = json!({"to": ["bob@example.test"], "subject": "Milk", "body": "Buy it."});
    match (model, is_task, has_results) {
        _ if !has_tool(request, "dispatch_agent") => wishes(),
        ("good", true, false) => direct("tasks.create", &json!({"title": "Buy milk"})),
        ("other", true, false) => direct("tasks.create", &json!({"title": "Milk"})),
        ("mailer", _, false) => direct("email.send", &letter),
        ("mailer", ..) => Reply::text("Sent."),
        ("other", false, _) => Reply::text("Hi there."),
        (_, true, true) => Reply::text("Done."),
        _ => Reply::text("Hello."),
    }
}

/// A home whose journal has two requests, with a mail account whose server is here.
fn home_with_journal(model: &FakeModel) -> (Home, TcpListener) {
    let smtp = TcpListener::bind("127.0.0.1:0").unwrap();
    smtp.set_nonblocking(true).unwrap();
    let home = Home::with_config(&format!(
        "[model]\nprovider = \"openai\"\nname = \"good\"\nbase_url = \"{}\"\nprice = {{ input = 1.0, output = 2.0 }}\n\
         [mail]\nfrom = \"ada@example.test\"\n[mail.smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\nuser = \"ada\"\npassword = \"secret\"\n",
        model.base_url(),
        smtp.local_addr().unwrap().port()
    ));
    for (text, answer) in [("add a task to buy milk", "Done."), ("hello", "Hello.")] {
        let ended = home.run(&["chat", "--once", text]);
        assert!(ended.stdout.contains(answer), "{ended:?}");
    }
    assert_eq!(home.tasks(), ["Buy milk"]);
    (home, smtp)
}

/// All files of a home's data. What connections that close at the same moment leave beside the database goes into it first.
fn data(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    home.tasks();
    let (mut files, mut folders) = (BTreeMap::new(), vec![home.data()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(files.insert(path.clone(), std::fs::read(&path).unwrap())),
            }
        }
    }
    files
}

/// The files that differ, each with its sizes.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let files: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let different = files.into_iter().filter(|file| before.get(*file) != after.get(*file));
    let size = |files: &BTreeMap<PathBuf, Vec<u8>>, file| files.get(file).map(Vec::len);
    different.map(|file| format!("{file:?}: {:?}, {:?}", size(before, file), size(after, file))).collect()
}

#[test]
fn the_journal_again_with_the_same_model_is_the_same_and_with_another_shows_what_differs() {
    let model = FakeModel::start(of_the_day);
    let (home, _smtp) = home_with_journal(&model);
    let before = data(&home);
    let ended = home.run(&["eval", "replay", "--model", "good", "--model", "other"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let lines = lines(&ended);
    let wanted = [
        "✓ good: add a task to buy milk",
        "✓ good: hello",
        "✗ other: add a task to buy milk",
        r#"changed: tasks.create {"title":"Milk"} instead of {"title":"Buy milk"}"#,
        "✗ other: hello",
        "Hello. │ Hi there.",
        "requests 2 2 2",
        "the same 2 0",
    ];
    for line in wanted {
        assert!(lines.iter().any(|said| said == line), "{line}: {lines:#?}");
    }
    assert_eq!(changed(&before, &data(&home)), [""; 0], "the data has changed");
}

#[test]
fn a_model_that_orders_an_email_sends_none_and_writes_nothing() {
    let model = FakeModel::start(of_the_day);
    let (home, smtp) = home_with_journal(&model);
    let before = data(&home);
    let ended = home.run(&["eval", "replay", "--model", "mailer", "--last", "1", "--json"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let runs: Value = serde_json::from_str(&ended.stdout).unwrap();
    let [turn] = runs[0]["turns"].as_array().unwrap().as_slice() else { panic!("{runs}") };
    assert_eq!((&turn["text"], &turn["answers"]["now"]), (&json!("hello"), &json!("Sent.")));
    assert!(turn["added"][0].as_str().unwrap().starts_with("email.send {"), "{turn}");
    let last = model.received().last().unwrap().body["messages"].to_string();
    assert!(last.contains("Held back"), "{last}");
    assert_eq!(smtp.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "somebody sent something");
    assert_eq!(changed(&before, &data(&home)), [""; 0], "the data has changed");
}

#[test]
fn without_a_journal_there_is_nothing_to_replay() {
    let model = FakeModel::start(of_the_day);
    let (home, _smtp) = home_with_journal(&model);
    let ended = home.run(&["eval", "replay", "--since", "2999-01-01"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("nothing to replay"), "{ended:?}");
}
