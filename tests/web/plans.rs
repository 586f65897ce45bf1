//! Plans on the page: begun by a form, changed in words, answered here and in the chat, and what became of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_fakes::model::{FakeModel, Reply};
use serde_json::{Value, json};

use crate::client::{Answer, Browser, Site};
use crate::gateway::{eventually, wait_until};

/// A planner of two steps, or of one after a wish, whose agents wait until the gate opens, and a reviewer who is content.
pub(crate) fn site(gate: &Arc<AtomicBool>) -> (Site, FakeModel) {
    let gate = gate.clone();
    let model = FakeModel::start(move |request| {
        let messages = request["messages"].as_array().unwrap();
        let first = messages[0]["content"].as_str().unwrap();
        let all = request["messages"].to_string();
        let step = |id: &str, needs: &[&str]| {
            json!({"id": id, "task": format!("Work on {id}"), "role": "researcher", "skills": [], "depends_on": needs,
                   "success_criteria": format!("{id} is there")})
        };
        if first.starts_with("You are a planner.") {
            let steps = match all.contains("without the invitation") {
                true => vec![step("figures", &[])],
                false => vec![step("figures", &[]), step("invitation", &["figures"])],
            };
            let plan = json!({"steps": steps, "uncertain": ["which <i>Friday</i>"], "will_ask": ["whether it may go out"]});
            return Reply::text(&json!({"summary": "A plan.", "data": plan}).to_string());
        }
        if first.starts_with("You are a reviewer.") {
            let judged = |id: &str| json!({"id": id, "fulfilled": true});
            let verdict: Value =
                json!({"verdict": "accept", "steps": [judged("figures"), judged("invitation")]});
            return Reply::text(&json!({"summary": "Good.", "data": verdict}).to_string());
        }
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Reply::text("All three figures are in.")
    });
    let config = format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    );
    (Site::start(&config), model)
}

/// The value of the field of this name behind a mark.
#[track_caller]
fn value(page: &str, mark: &str, name: &str) -> String {
    let behind = page.split(mark).nth(1).unwrap_or_else(|| panic!("{mark} is missing: {page}"));
    behind.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// The button with this label.
#[track_caller]
fn button(page: &str, label: &str) -> String {
    let before = page.split(&format!(">{label}</button>")).next().unwrap();
    before.rsplit("value=\"").next().unwrap().split('"').next().unwrap().to_owned()
}

/// Asks for a plan by the form. Returns its page's address.
#[track_caller]
fn begin(browser: &mut Browser, goal: &str) -> String {
    let once = browser.get("/plans").field("once");
    for _ in 0..3 {
        let asked = browser.submit("/plans", &[("once", &once), ("goal", goal)]);
        assert_eq!((asked.status, asked.header("location")), (303, Some(format!("/plans/{once}").as_str())));
    }
    let address = format!("/plans/{once}");
    eventually("the plan", || browser.get(&address).header("location").map(str::to_owned))
}

/// Writes into the field of the open question on a page.
#[track_caller]
fn says(browser: &mut Browser, page: &str, words: &str) -> Answer {
    let (once, question) =
        (value(page, "action=\"/answer\"", "once"), value(page, "action=\"/answer\"", "question"));
    browser.submit("/answer", &[("once", &once), ("question", &question), ("words", words)])
}

#[test]
fn a_plan_is_begun_changed_in_words_run_and_judged() {
    let (site, model) = site(&Arc::new(AtomicBool::new(true)));
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let empty = browser.submit("/plans", &[("once", &"a".repeat(32)), ("goal", "  ")]);
    assert!(empty.status == 422 && empty.body.contains("Say what you want done"), "{}", empty.body);
    let address = begin(&mut browser, "prepare the <board> meeting\nand more");
    let page = browser.sees(&address, "Shall it run?");
    for part in [
        "prepare the &lt;board&gt; meeting\nand more",
        "◆</span> waiting for you",
        "<svg class=\"drawing\"",
        "Work on invitation",
        "Done when: figures is there",
        "which &lt;i&gt;Friday&lt;/i&gt;",
        "whether it may go out",
        "It takes about 6 model calls",
        ">Run</button>",
        ">Cancel</button>",
        "So far: 1 model call",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(site.home.count("SELECT count(*) FROM plans"), 1, "it was asked for once");
    assert_eq!(other.get(&address).status, 404, "it isn't hers");
    assert!(other.get("/plans").body.contains("There is no plan yet."));
    assert_eq!(says(&mut other, &page, "something else").status, 409, "it isn't hers to change");
    assert_eq!(says(&mut browser, &page, "  ").status, 422);
    for _ in 0..3 {
        assert!(matches!(says(&mut browser, &page, "without the invitation").status, 303 | 409));
    }
    let page = browser.sees(&address, "version 2");
    let steps = page.split("<summary>Request").next().unwrap();
    assert!(!steps.contains("Work on invitation"), "the request below still has the first version: {page}");
    let wishes =
        model.received().iter().filter(|one| one.body.to_string().contains("without the invitation")).count();
    assert_eq!(wishes, 1, "it was changed once");
    let page = browser.sees(&address, ">Run</button>");
    assert_eq!(browser.submit("/press", &[("button", &button(&page, "Run"))]).status, 303);
    // Its turn ends a moment after its run.
    let page = browser.sees(&address, "In all: 4 model calls, ");
    for part in ["<g class=\"done\">", "All three figures are in.", "Review: done as planned"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let list = browser.get("/plans").body;
    assert!(list.contains("prepare the &lt;board&gt; meeting and more") && list.contains(&address), "{list}");
    let run = browser.get(&address.replace("/plans/", "/runs/"));
    assert_eq!(run.header("location"), Some(address.as_str()), "its run has the same page");
    site.stop();
}

#[test]
fn a_plan_of_the_chat_is_answered_on_the_page_and_the_other_way_round() {
    let (site, _model) = site(&Arc::new(AtomicBool::new(true)));
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let asked = |site: &Site| {
        let seen = site.telegram.seen(ada).into_iter().rev();
        seen.filter(|seen| seen.buttons.iter().flatten().any(|one| one.0 == "Run")).map(|seen| seen.id).next()
    };
    site.telegram.say(ada, ada, "/plan prepare the meeting");
    eventually("the question", || asked(&site));
    let list = browser.sees("/plans", "waiting for you");
    let address = format!("/plans/{}", &list.split("href=\"/plans/").nth(1).unwrap()[..22]);
    let page = browser.get(&address).body;
    assert_eq!(browser.submit("/press", &[("button", &button(&page, "Cancel"))]).status, 303);
    browser.sees(&address, "It was dropped. Nothing was done.");
    wait_until("the buttons are gone", || asked(&site).is_none());

    site.telegram.say(ada, ada, "/plan prepare the party");
    let question = eventually("the question", || asked(&site));
    site.telegram.press(ada, ada, question, "Change");
    let page = browser.sees("/", "Your answer");
    assert_eq!(says(&mut browser, &page, "without the invitation").status, 303);
    let question = eventually("the changed plan", || asked(&site).filter(|id| *id != question));
    let list = browser.get("/plans").body;
    let address = format!("/plans/{}", &list.split("href=\"/plans/").nth(1).unwrap()[..22]);
    browser.sees(&address, "version 2");
    site.telegram.press(ada, ada, question, "Run");
    let page = browser.sees(&address, "Review: done as planned");
    assert!(!page.contains("action=\"/press\"") && !page.contains("action=\"/answer\""), "{page}");
    site.stop();
}

#[test]
fn a_plan_that_waits_is_cancelled_and_one_that_has_ended_deleted_by_its_person_alone() {
    let gate = Arc::new(AtomicBool::new(false));
    let (site, _model) = site(&gate);
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let act = |browser: &mut Browser, act: &str, key: &str| {
        browser.submit("/act", &[("act", act), ("key", key), ("back", "/plans")]).status
    };
    let address = begin(&mut browser, "prepare the meeting");
    let key = address.rsplit('/').next().unwrap();
    browser.sees(&address, "Shall it run?");
    let list = browser.sees("/plans", "value=\"cancel-plan\"");
    assert!(list.contains("What it did stays, but it"), "{list}");
    assert!(!list.contains("value=\"plan\""), "{list}");
    assert_eq!(act(&mut other, "cancel-plan", key), 409, "it isn't hers");
    assert_eq!(act(&mut browser, "plan", key), 409, "it waits");
    let without_token = browser.post("/act", &[("act", "cancel-plan"), ("key", key)]);
    assert_eq!(without_token.status, 403);
    let cancelled = browser.submit("/act", &[("act", "cancel-plan"), ("key", key), ("back", "/plans")]);
    assert_eq!((cancelled.status, cancelled.header("location")), (303, Some("/plans")));
    browser.sees(&address, "It was dropped. Nothing was done.");
    let list = browser.get("/plans").body;
    assert!(list.contains("value=\"plan\"") && list.contains("What it did stays, but the plan"), "{list}");
    assert_eq!(act(&mut other, "plan", key), 409, "it isn't hers");
    assert_eq!(act(&mut browser, "plan", key), 303);
    assert!(browser.get("/plans").body.contains("There is no plan yet."));
    assert_eq!((browser.get(&address).status, act(&mut browser, "plan", key)), (404, 409));

    let address = begin(&mut browser, "prepare the party");
    let key = address.rsplit('/').next().unwrap();
    let page = browser.sees(&address, ">Run</button>");
    assert_eq!(browser.submit("/press", &[("button", &button(&page, "Run"))]).status, 303);
    browser.sees(&address, "<g class=\"running\">");
    let list = browser.get("/plans").body;
    assert!(!list.contains("action=\"/act\""), "it runs: {list}");
    assert_eq!((act(&mut browser, "plan", key), act(&mut browser, "cancel-plan", key)), (409, 409));
    gate.store(true, Ordering::SeqCst);
    browser.sees(&address, "In all: ");
    browser.sees("/plans", "value=\"plan\"");
    assert_eq!(act(&mut browser, "plan", key), 303);
    assert!(browser.get("/plans").body.contains("There is no plan yet."));
    let run = browser.get(&address).header("location").map(str::to_owned);
    assert_eq!(run, Some(address.replace("/plans/", "/runs/")), "what it did stays");
    assert_eq!(browser.get(&run.unwrap()).status, 200);
    site.stop();
}
