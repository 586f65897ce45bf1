//! A person's things, usage and the system.

use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::telegram::BOT_NAME;
use adjutant_store::Batch;

use crate::client::{Answer, Browser, Site};
use crate::gateway::wait_until;

/// The key of the first row that can be acted on in this way.
fn key(page: &Answer, act: &str) -> String {
    let at =
        page.body.find(&format!("name=\"act\" value=\"{act}\"")).unwrap_or_else(|| panic!("{}", page.body));
    page.body[at..].split("name=\"key\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[test]
fn what_is_kept_of_a_person_is_seen_and_deleted_by_them_alone() {
    let site = Site::start("");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    for text in ["add a task to buy milk by Friday", "remember that Bob prefers mornings"] {
        let before = site.telegram.seen(ada).len();
        site.telegram.say(ada, ada, text);
        wait_until("the answer", || site.telegram.seen(ada).len() > before);
    }
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let page = browser.get("/things");
    for part in ["buy milk", "Bob prefers mornings", "Nothing is scheduled."] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    // Where it comes from: the turn with what she wrote.
    let from = page.body.split("<a href=\"/turn/").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let origin = browser.get(&format!("/turn/{from}")).body;
    assert!(origin.contains("remember that Bob prefers mornings"), "{origin}");
    assert_eq!(other.get(&format!("/turn/{from}")).status, 404);
    let (task, memory) = (key(&page, "task"), key(&page, "memory"));
    for (act, key) in [("task", &task), ("memory", &memory)] {
        assert_eq!(other.submit("/act", &[("act", act), ("key", key)]).status, 409, "it isn't hers");
        assert_eq!(browser.submit("/act", &[("act", act), ("key", key)]).status, 303);
        assert_eq!(browser.submit("/act", &[("act", act), ("key", key)]).status, 409, "it is gone");
    }
    assert_eq!(browser.submit("/act", &[("act", "everything"), ("key", &task)]).status, 404);
    assert_eq!(site.home.tasks(), [""; 0]);
    // A task is added and done here, without a model.
    assert_eq!(browser.submit("/act", &[("act", "add-task"), ("key", "  call <b>Bob</b> ")]).status, 303);
    assert_eq!(browser.submit("/act", &[("act", "add-task"), ("key", " ")]).status, 409, "it has no title");
    assert_eq!(site.home.tasks(), ["call <b>Bob</b>"]);
    let done = key(&browser.get("/things"), "done");
    assert_eq!(other.submit("/act", &[("act", "done"), ("key", &done)]).status, 409, "it isn't hers");
    assert_eq!(browser.submit("/act", &[("act", "done"), ("key", &done)]).status, 303);
    assert_eq!(site.home.count("SELECT count(*) FROM tasks WHERE state = 'done'"), 1);
    let page = browser.get("/things").body;
    assert!(page.contains("No task is open.") && page.contains("Nothing is remembered."), "{page}");
    site.stop();
}

#[test]
fn a_day_on_which_something_is_due_has_no_time() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    site.telegram.say(ada, ada, "add a task to call Bob by tomorrow");
    wait_until("it is added", || site.home.tasks() == ["call Bob"]);
    let mut browser = site.browser(ada);
    let now = browser.get("/").body;
    let (before, _) = now.split_once("</time> Task: call Bob").unwrap_or_else(|| panic!("{now}"));
    let day = before.rsplit('>').next().unwrap();
    assert!(!day.is_empty() && !day.contains(':'), "{day}");
    // A row of hers says so in the same way, and the search does.
    for path in ["/things", "/search?q=Bob"] {
        let page = browser.get(path).body;
        assert!(page.contains(&format!(">{day}</")), "{day}: {page}");
    }
    site.stop();
}

#[test]
fn things_are_changed_by_whose_they_are() {
    let site = Site::start("");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    for text in ["add a task to water the plants", "remember that Bob prefers mornings"] {
        let before = site.telegram.seen(ada).len();
        site.telegram.say(ada, ada, text);
        wait_until("the answer", || site.telegram.seen(ada).len() > before);
    }
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        batch.run("UPDATE tasks SET recurrence = 'FREQ=DAILY'", []);
        batch.run(
            "INSERT INTO schedules (id, person_id, conversation_id, text, rule, zone, state, next_at, created_at) \
             SELECT 'abc123', person_id, id, 'what is due', '0 9 * * *', 'UTC', 'active', 9000000000000, 1 \
             FROM conversations WHERE person_id = (SELECT person_id FROM tasks)",
            [],
        );
        store.write(batch).await.unwrap();
    });
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let page = browser.get("/things");
    let (task, memory) = (key(&page, "edit-task"), key(&page, "edit-memory"));
    let changes: [&[(&str, &str)]; 5] = [
        &[
            ("act", "edit-task"),
            ("key", &task),
            ("text", "water <b>all</b> plants"),
            ("text", "2026-12-01 17:00"),
        ],
        &[("act", "edit-memory"), ("key", &memory), ("text", "Bob prefers evenings")],
        &[("act", "pause-schedule"), ("key", "abc123")],
        &[("act", "resume-schedule"), ("key", "abc123")],
        &[("act", "done"), ("key", &task)],
    ];
    for change in changes {
        assert_eq!(other.submit("/act", change).status, 409, "it isn't hers: {change:?}");
        assert_eq!(browser.post("/act", change).status, 403, "no other site may: {change:?}");
        assert_eq!(browser.submit("/act", change).status, 303, "{change:?}");
    }
    // Her other pages hear of each.
    assert_eq!(site.home.count("SELECT count(*) FROM changes WHERE kind = 'thing'"), 5);
    let page = browser.get("/things");
    for part in [
        "water &lt;b&gt;all&lt;/b&gt; plants",
        "Bob prefers evenings",
        "name=\"act\" value=\"pause-schedule\"",
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    // One that repeats is there again, on the next of its days.
    assert_eq!(site.home.tasks(), ["water <b>all</b> plants"; 2]);
    let again = key(&page, "edit-task");
    assert_ne!(again, task);
    for texts in [["", ""], ["x", "someday"]] {
        let fields = [("act", "edit-task"), ("key", &*again), ("text", texts[0]), ("text", texts[1])];
        assert_eq!(browser.submit("/act", &fields).status, 409, "{texts:?}");
    }
    for text in ["", "my password is 12hunter"] {
        let fields = [("act", "edit-memory"), ("key", &*memory), ("text", text)];
        assert_eq!(browser.submit("/act", &fields).status, 409, "{text}");
    }
    // Her history has it, and what was done last here is undone from the chat.
    let answers = "SELECT count(*) FROM turns WHERE text = 'On the page: Done' AND answer LIKE 'Done: “water <b>all</b> plants”%'";
    assert_eq!(site.home.count(answers), 1);
    let before = site.telegram.seen(ada).len();
    site.telegram.say(ada, ada, "/undo");
    wait_until("the answer", || site.telegram.seen(ada).len() > before);
    assert_eq!(site.home.tasks(), ["water <b>all</b> plants"], "the next one is gone, too");
    assert_eq!(site.home.count("SELECT count(*) FROM tasks WHERE state = 'open'"), 1);
    assert_eq!(browser.submit("/act", &[("act", "task"), ("key", &task)]).status, 303);
    site.telegram.say(eve, eve, "/undo");
    wait_until("Eve's answer", || {
        site.telegram.seen(eve).last().is_some_and(|seen| seen.text.contains("nothing to undo"))
    });
    assert_eq!(site.home.tasks(), [""; 0]);
    let once = browser.get("/talk").field("once");
    assert_eq!(browser.submit("/say", &[("text", "/undo"), ("once", &once)]).status, 303);
    wait_until("it is undone here, too", || site.home.tasks() == ["water <b>all</b> plants"]);
    assert_eq!(browser.submit("/act", &[("act", "done"), ("key", &task)]).status, 303);
    // What was ticked off by mistake is open again.
    assert_eq!(other.submit("/act", &[("act", "reopen"), ("key", &task)]).status, 409);
    assert_eq!(browser.submit("/act", &[("act", "reopen"), ("key", &task)]).status, 303);
    assert_eq!(browser.submit("/act", &[("act", "reopen"), ("key", &task)]).status, 409, "it is open");
    assert_eq!(site.home.count("SELECT count(*) FROM tasks WHERE state = 'open'"), 2);
    site.stop();
}

#[test]
fn usage_is_drawn_and_exported_each_ones_own_and_all_for_owners() {
    let model = FakeModel::start(|_| Reply::text("Fine."));
    let site = Site::start(&format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("=Eve"));
    let bob = site.telegram.person("Bob");
    for (who, times) in [(eve, 1), (bob, 2)] {
        for time in 1..=times {
            site.telegram.say(who, who, "how are you?");
            wait_until("the answer", || site.telegram.seen(who).len() >= time);
        }
    }
    let (mut owner, mut own) = (site.browser(ada), site.browser(eve));
    let page = own.get("/usage").body;
    assert!(page.contains("<svg class=\"chart\"") && page.contains(": 110</title>"), "{page}");
    assert!(!page.contains("By person"), "{page}");
    let csv = own.get("/usage.csv");
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(csv.body.starts_with("of,name,calls,tokens,cost_usd\r\nday,"), "{}", csv.body);
    assert!(!csv.body.contains("person,"), "{}", csv.body);
    let page = owner.get("/usage").body;
    assert!(page.contains("By model") && page.contains("<th scope=\"row\">Orchestrator</th>"), "{page}");
    assert!(page.contains("<span>330</span><span>165</span><span>0</span>"), "{page}");
    // Who spent most is first, in the chart and in its table.
    for part in [
        "<li class=\"p0\">Bob <span class=\"figures\">220</span></li><li class=\"p1\">=Eve ",
        "<td class=\"number\">330</td><td class=\"number\">220</td><td class=\"number\">110</td>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let csv = owner.get("/usage.csv").body;
    assert!(
        csv.contains("person,\"'=Eve\",1,110,0.000000\r\n") && csv.contains("model,\"fake\",3,330,"),
        "{csv}"
    );
    site.stop();
}

#[test]
fn owners_let_people_in_and_send_again_what_was_given_up() {
    let site = Site::start("[assistant]\nowner = [\"telegram:1000\"]\n");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let config = std::fs::read_to_string(site.home.path().join("config.toml")).unwrap();
    site.home.write("config.toml", &config.replace("allow = [\"*\"]", "allow = []"));
    let eve = site.telegram.person("Eve");
    let mut other = site.browser(eve);
    site.gateway.as_ref().unwrap().signal("HUP");
    wait_until("she is shut out", || other.get("/talk").status == 401);
    site.telegram.say(eve, eve, "add a task to come in");
    let page = browser.sees("/system", "name=\"act\" value=\"approve\"");
    let code = key(&Answer { status: 200, head: String::new(), body: page }, "approve");
    let approved = browser.submit("/act", &[("act", "approve"), ("key", &code), ("back", "/system")]);
    assert_eq!((approved.status, approved.header("location")), (303, Some("/system")));
    wait_until("she is in", || site.home.tasks() == ["come in"]);
    wait_until("she is told", || site.telegram.seen(eve).iter().any(|seen| seen.text.contains("Added")));

    assert_eq!(other.get("/system").status, 404, "she is no owner");
    wait_until("all is sent", || site.home.count("SELECT count(*) FROM outbox WHERE state <> 'sent'") == 0);
    let before = site.telegram.seen(eve).len();
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        batch.run(
            "UPDATE outbox SET state = 'dead', receipt = NULL, error = 'a test' WHERE text LIKE 'Added%'",
            [],
        );
        store.write(batch).await.unwrap();
    });
    let dead = key(&browser.get("/system"), "retry");
    assert_eq!(other.submit("/act", &[("act", "retry"), ("key", &dead)]).status, 409, "she is no owner");
    assert_eq!(browser.submit("/act", &[("act", "retry"), ("key", &dead)]).status, 303);
    wait_until("it is sent again", || site.telegram.seen(eve).len() > before);
    assert_eq!(browser.submit("/act", &[("act", "retry"), ("key", &dead)]).status, 409, "it was sent");
    assert!(browser.get("/system").body.contains("Everything was delivered."));
    site.stop();
}

#[test]
fn owners_see_and_change_the_rules_of_rooms() {
    let site = Site::start("[assistant]\nowner = [\"telegram:1000\"]\n");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let team = site.telegram.supergroup("The <team>");
    site.telegram.say(eve, team, &format!("@{BOT_NAME} what is overdue?"));
    wait_until("the answer", || !site.telegram.seen(team).is_empty());
    let (mut owner, mut other) = (site.browser(ada), site.browser(eve));
    let page = owner.get("/system");
    assert!(
        page.body.contains("The &lt;team&gt;") && page.body.contains("everybody I know"),
        "{}",
        page.body
    );
    let room = key(&page, "edit-room");
    let change = |browser: &mut Browser, [answers, skills, people]: [&str; 3]| {
        let parts = [("text", answers), ("text", skills), ("text", people)];
        let fields = [("act", "edit-room"), ("key", room.as_str()), ("back", "/system")];
        browser.submit("/act", &[&fields[..], &parts[..]].concat()).status
    };
    assert_eq!(change(&mut other, ["never", "all", "all"]), 409, "she is no owner");
    for wrong in [["sometimes", "all", "all"], ["always", "juggling", "all"], ["always", "all", "Somebody"]] {
        assert_eq!(change(&mut owner, wrong), 409, "{wrong:?}");
    }
    assert_eq!(site.home.count("SELECT count(*) FROM room_rules"), 0);
    assert_eq!(change(&mut owner, ["never", "Tasks, memory", "all"]), 303);
    let page = owner.get("/system").body;
    assert!(page.contains("value=\"tasks, memory\"") && page.contains("value=\"never\""), "{page}");
    let before = site.telegram.seen(team).len();
    site.telegram.say(eve, team, &format!("@{BOT_NAME} what is due?"));
    site.telegram.say(eve, team, &format!("/room@{BOT_NAME}"));
    wait_until("the rule", || site.telegram.seen(team).len() > before);
    let shown = site.telegram.seen(team);
    assert!(shown.len() == before + 1 && shown[before].text.contains("nothing but /room"), "{shown:#?}");
    site.stop();
}

#[test]
fn a_fact_that_was_taken_from_a_message_says_its_words() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    site.telegram.say(ada, ada, "add a task to call Bob on a morning, he prefers them");
    wait_until("it is added", || {
        site.home.count("SELECT count(*) FROM turns WHERE ended_at IS NOT NULL") == 1
    });
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        batch.run(
            "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
             SELECT 'abc123', person_id, 'private', conversation_id, 'fact', 'Bob likes mornings', '[]', 1 FROM turns",
            [],
        );
        batch.run(
            "INSERT INTO memory_origins (memory_id, person_id, turn_id, quote, topic, strength) \
             SELECT 'abc123', person_id, id, 'he <b>prefers</b> them', '', 1 FROM turns",
            [],
        );
        batch.run("INSERT INTO memory_turns (memory_id, person_id, turn_id) SELECT 'abc123', person_id, id FROM turns", []);
        store.write(batch).await.unwrap();
    });
    let mut browser = site.browser(ada);
    let turn: String = site.home.ask(async |store| {
        let found: Option<(String,)> = store.first("SELECT id FROM turns", &[]).await.unwrap();
        found.unwrap().0
    });
    let page = browser.get("/things");
    let link = format!("<a href=\"/turn/{turn}\">“he &lt;b&gt;prefers&lt;/b&gt; them”</a>");
    assert!(page.body.contains(&link), "{}", page.body);
    // Deleted here, it is forgotten as anywhere: with the message that it was taken from.
    let memory = key(&page, "memory");
    assert_eq!(browser.submit("/act", &[("act", "memory"), ("key", &memory)]).status, 303);
    assert_eq!(site.home.count("SELECT count(*) FROM memories"), 0);
    assert_eq!(
        site.home.count("SELECT count(*) FROM turns WHERE forgotten_at IS NOT NULL"),
        2,
        "its own, too"
    );
    // And it comes back, where it was: a room's memory is for that room alone.
    let is_told = |text: &str| text.contains("I remember again: Bob likes mornings");
    let undo = |times: usize| {
        site.telegram.say(ada, ada, "/undo");
        let told = || site.telegram.seen(ada).iter().filter(|seen| is_told(&seen.text)).count();
        wait_until("it is remembered again", || told() == times);
    };
    undo(1);
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        batch.run("UPDATE memories SET scope = 'room', conversation_id = 'a room'", []);
        store.write(batch).await.unwrap();
    });
    assert_eq!(browser.submit("/act", &[("act", "memory"), ("key", &memory)]).status, 303);
    undo(2);
    let there = "SELECT count(*) FROM memories WHERE id = 'abc123' AND conversation_id = 'a room'";
    assert_eq!(site.home.count(there), 1);
    site.stop();
}

#[test]
fn owners_see_instances_leases_servers_and_the_log_of_a_turn() {
    let is_first = AtomicBool::new(true);
    let model = FakeModel::start(move |_| match is_first.swap(false, Ordering::SeqCst) {
        true => Reply::status(503, "busy"),
        false => Reply::text("Fine."),
    });
    let secret = "sk-this-is-secret";
    let site = Site::start(&format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
         api_key = \"{secret}\"\n[mcp.notes]\ncommand = [\"/bin/false\"]\n",
        model.base_url()
    ));
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    site.telegram.say(eve, eve, "do stumble over my passion");
    wait_until("the answer", || !site.telegram.seen(eve).is_empty());
    let (mut owner, mut other) = (site.browser(ada), site.browser(eve));
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        batch.run(
            "INSERT INTO background_calls (id, conversation_id, person_id, model, error, prompt_tokens, cached_tokens, \
             completion_tokens, cost_usd, started_at, duration_ms, audio_ms, purpose) \
             SELECT 'b1', '', '', '', 'HTTP 500', 0, 0, 0, 0, max(started_at), 1, 0, 'fold' FROM turns",
            [],
        );
        store.write(batch).await.unwrap();
    });
    let page = owner.sees("/system", "/log/");
    assert!(page.contains("In the last hour, 1 of "), "{page}");
    for part in ["(this one)", ">channel:telegram</td>", ">notes</td>", "stopped until it is needed"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let address = format!("/log/{}", page.split("/log/").nth(1).unwrap().split('"').next().unwrap());
    let log = owner.get(&address).body;
    assert!(log.contains("adjutant_models") && log.contains("class=\"log\""), "{log}");
    for hidden in [secret, "passion", site.telegram.token()] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
    assert_eq!(other.get(&address).status, 404, "she is no owner");
    assert_eq!(owner.get("/log/nothing").status, 404);
    site.stop();
}
