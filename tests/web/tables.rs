//! A person's things, usage and the system.

use adjutant::store::Batch;
use adjutant_fakes::model::{FakeModel, Reply};

use crate::client::{Answer, Site};
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
    let (task, memory) = (key(&page, "task"), key(&page, "memory"));
    for (act, key) in [("task", &task), ("memory", &memory)] {
        assert_eq!(other.submit("/act", &[("act", act), ("key", key)]).status, 409, "it isn't hers");
        assert_eq!(browser.submit("/act", &[("act", act), ("key", key)]).status, 303);
        assert_eq!(browser.submit("/act", &[("act", act), ("key", key)]).status, 409, "it is gone");
    }
    assert_eq!(browser.submit("/act", &[("act", "everything"), ("key", &task)]).status, 404);
    assert_eq!(site.home.tasks(), [""; 0]);
    let page = browser.get("/things").body;
    assert!(page.contains("No task is open.") && page.contains("Nothing is remembered."), "{page}");
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
    site.telegram.say(eve, eve, "how are you?");
    wait_until("the answer", || !site.telegram.seen(eve).is_empty());
    let (mut owner, mut own) = (site.browser(ada), site.browser(eve));
    let page = own.get("/usage").body;
    assert!(page.contains("<svg class=\"chart\"") && page.contains(": 110</title>"), "{page}");
    assert!(!page.contains("By person"), "{page}");
    let csv = own.get("/usage.csv");
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(csv.body.starts_with("of,name,calls,tokens,cost_usd\r\nday,"), "{}", csv.body);
    assert!(!csv.body.contains("person,"), "{}", csv.body);
    assert!(owner.get("/usage").body.contains("By model"));
    let csv = owner.get("/usage.csv").body;
    assert!(
        csv.contains("person,\"'=Eve\",1,110,0.000000\r\n") && csv.contains("model,\"fake\",1,110,"),
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
