//! A home that is told in March, used in June, explained and forgotten: the real `serve` on dates of its own.

use adjutant_fakes::dates;
use adjutant_fakes::embeddings::FakeEmbeddings;
use adjutant_fakes::model::{FakeModel, Reply, has_tool};
use adjutant_fakes::telegram::{BOT_NAME, FakeTelegram};
use serde_json::{Value, json};

use crate::gateway::{Gateway, wait_until};
use crate::process::Home;

/// Dispatches a skill that needs no model.
fn direct(agent: &str, skill: &str, arguments: &Value) -> Reply {
    let dispatch = json!({"agent_id": agent, "mission": skill, "skills": [skill], "arguments": arguments});
    Reply::call("dispatch_agent", &dispatch)
}

/// Takes the home from what is said, uses it where it is told of it, looks up why, and forgets by the id that a first
/// attempt shows.
fn answer(request: &Value) -> Reply {
    let everything = request["messages"].to_string();
    let last = request["messages"].as_array().and_then(|all| all.last()).map(|last| &last["content"]);
    let last = last.and_then(Value::as_str).unwrap_or_default();
    if everything.contains("Below are messages that one person wrote") {
        let fact = json!({"message": 1, "quote": "We moved to Lyon last week", "kind": "fact", "topic": "home town",
            "fact": "Ada moved to Lyon in March 2026"});
        let facts = if everything.contains("moved to Lyon") { vec![fact] } else { Vec::new() };
        return Reply::text(&json!({"facts": facts}).to_string());
    }
    if everything.contains("Each number below has words") {
        return Reply::text(r#"{"hold": [1]}"#);
    }
    if !has_tool(request, "dispatch_agent") {
        return Reply::text("OK.");
    }
    match last {
        "why?" => return direct("look", "memory.search", &json!({"query": "home town"})),
        "forget where I live" => return direct("try", "memory.forget", &json!({"query": "where I live"})),
        _ => {}
    }
    let hint = last.split_once("If one of these is meant").and_then(|(_, list)| list.split_once('['));
    if let Some((id, _)) = hint.and_then(|(_, rest)| rest.split_once(']')) {
        return direct("forget", "memory.forget", &json!({"id": id}));
    }
    if last.contains("We moved to Lyon last week") && last.contains("2026-03-14") {
        return Reply::text("Because you wrote on 14 March: We moved to Lyon last week.");
    }
    match last.contains("near home") && everything.contains("Ada moved to Lyon") {
        true => Reply::text("I booked Chez Louise in Lyon."),
        false => Reply::text("OK."),
    }
}

struct World {
    telegram: FakeTelegram,
    model: FakeModel,
    _embeddings: FakeEmbeddings,
    home: Home,
    ada: i64,
}

impl World {
    fn new() -> Self {
        let (telegram, model) = (FakeTelegram::start(), FakeModel::start(answer));
        let embeddings = FakeEmbeddings::start(|text| vec![text.len() as f64, 1.0, -2.0]);
        let config = format!(
            "[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
             [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n\
             [memory]\nextract = true\nembeddings = {{ name = \"known\", base_url = \"{}\" }}\n",
            model.base_url(),
            telegram.token(),
            telegram.api_url(),
            embeddings.base_url()
        );
        let ada = telegram.person("Ada");
        Self { telegram, model, _embeddings: embeddings, home: Home::with_config(&config), ada }
    }

    /// Serves from this moment on, until this is done.
    fn on(&self, date: &str, work: impl FnOnce()) -> bool {
        let Some(variables) = dates::beginning(date).unwrap() else { return false };
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, &**value)).collect();
        let gateway = Gateway::start_with(&self.home, &variables);
        work();
        assert_eq!(gateway.stop().0, Some(0));
        self.home.assert_tidy(date);
        true
    }

    /// What is answered.
    fn says(&self, place: i64, text: &str) -> String {
        let before = self.telegram.seen(place).len();
        self.telegram.say(self.ada, place, text);
        wait_until("it is answered", || self.telegram.seen(place).len() > before);
        self.telegram.seen(place)[before].text.clone()
    }
}

#[test]
fn a_home_told_in_march_is_used_explained_and_forgotten_in_june() {
    let world = World::new();
    let (ada, home) = (world.ada, &world.home);
    if !world.on("2026-03-14 10:00:00", || _ = world.says(ada, "We moved to Lyon last week")) {
        return;
    }
    // The conversation has rested.
    world.on("2026-03-14 10:30:00", || {
        let made = "SELECT count(*) FROM search_vectors v JOIN memories m ON v.document = m.seq * 2 + 1 WHERE v.vector <> ''";
        wait_until("the home is known, and has its vector", || home.count(made) == 1);
    });
    let list = home.run(&["memory", "list"]).stdout;
    assert!(
        list.contains("Ada moved to Lyon in March 2026") && list.contains("“We moved to Lyon last week”"),
        "{list}"
    );

    let room = world.telegram.supergroup("team");
    world.on("2026-06-10 09:00:00", || {
        assert_eq!(world.says(ada, "book a table near home on Friday"), "I booked Chez Louise in Lyon.");
        let why = world.says(ada, "why?");
        assert!(why.starts_with("Because you wrote on 14 March: We moved to Lyon last week."), "{why}");
        assert_eq!(world.says(room, &format!("@{BOT_NAME} book a table near home on Friday")), "OK.");
        world.says(ada, "forget where I live");
        assert_eq!(home.count("SELECT count(*) FROM memories"), 0);
        let before = world.model.received().len();
        assert_eq!(world.says(ada, "book a table near home on Friday"), "OK.");
        for request in &world.model.received()[before..] {
            assert!(!request.body.to_string().contains("Lyon"), "{}", request.body);
        }
    });
    assert_eq!(home.count("SELECT count(*) FROM search_words WHERE word = 'lyon'"), 0);
    let exported = home.run(&["db", "export", &format!("telegram:{ada}")]).stdout;
    assert!(exported.contains("book a table near home") && !exported.contains("Lyon"), "{exported}");
}
