//! Workflows on the page: the list, the form, a dry run, and a run from its request to its report.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_fakes::model::{FakeModel, Reply};

use crate::client::{Browser, Site};
use crate::gateway::wait_until;

pub(crate) const VISIT: &str = r#"workflow:
  name: visit
  description: Look a customer up, write a report, and ask
  inputs:
    - { name: customer, type: string, required: true, description: Who was visited }
    - { name: depth, type: number, default: 1 }
    - { name: brief, type: boolean, required: false }
  agents:
    finder: { name: Finder, prompt: "Find what we know about {{inputs.customer}}." }
    writer: { name: Writer, prompt: "Report on what was found: {{steps.find.output}}" }
  steps:
    - { id: find, agent: finder }
    - { id: write, agent: writer }
    - { id: sure, approval: { text: "Shall it go out?", choices: [Send it, Leave it] } }
"#;

/// A workflow whose output is too long for a message.
const LONG: &str = r#"workflow:
  name: long
  description: Write a lot
  agents:
    writer: { name: Writer, prompt: "Write at length." }
  steps:
    - { id: write, agent: writer }
"#;

/// What it writes.
fn long_text() -> String {
    "All is **well** & <b>bold</b>, ünd “so on”.\n".repeat(300).trim_end().to_owned()
}

/// A site with these workflows, and a model that finds something once the gate is open.
pub(crate) fn site(gate: &Arc<AtomicBool>) -> (Site, FakeModel) {
    let gate = gate.clone();
    let model = FakeModel::start(move |request| {
        let text = request["messages"].to_string();
        if text.contains("Write at length") {
            return Reply::text(&long_text());
        }
        if text.contains("Report on what was found") {
            return Reply::text("# Acme\n\nAll is **well**.");
        }
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Reply::text("Two mails.")
    });
    let config = format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
         [skills]\npaths = [\"mine\"]\n",
        model.base_url()
    );
    (
        Site::start_with(
            &config,
            &[("mine/workflows/visit.yaml", VISIT), ("mine/workflows/long.yaml", LONG)],
        ),
        model,
    )
}

#[test]
fn a_workflow_has_a_form_and_a_dry_run() {
    let (site, _model) = site(&Arc::new(AtomicBool::new(true)));
    let mut browser = site.browser(site.telegram.person("Ada"));
    let list = browser.get("/workflows").body;
    for part in
        ["href=\"/workflows/visit\"", "href=\"/workflows/morning-briefing\"", "No workflow has run yet."]
    {
        assert!(list.contains(part), "{part}: {list}");
    }
    let form = browser.get("/workflows/visit");
    for part in [
        "name=\"in.customer\" rows=\"2\" required",
        "type=\"number\"",
        "<select",
        "svg class=\"drawing\"",
        "Who was visited",
    ] {
        assert!(form.body.contains(part), "{part}: {}", form.body);
    }
    let once = form.field("once");
    let empty = browser.submit("/workflows/visit/run", &[("once", &once), ("in.customer", " ")]);
    assert!(empty.status == 422 && empty.body.contains("Fill in"), "{}", empty.body);
    let wrong = browser.submit("/workflows/visit/plan", &[("in.customer", "Acme"), ("in.depth", "deep")]);
    assert!(wrong.status == 422 && wrong.body.contains(">Acme</textarea>"), "{}", wrong.body);
    let plan =
        browser.submit("/workflows/visit/plan", &[("in.customer", "Acme \"Ltd\" & co"), ("in.depth", "2")]);
    assert!(plan.status == 200 && plan.body.contains("Dry run of visit: nothing runs."), "{}", plan.body);
    assert_eq!(site.home.count("SELECT count(*) FROM runs"), 0);
    site.stop();
}

#[test]
fn a_run_is_asked_for_once_answered_and_run_again_from_a_step() {
    let (site, _model) = site(&Arc::new(AtomicBool::new(true)));
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let once = browser.get("/workflows/visit").field("once");
    let inputs = [("once", once.as_str()), ("in.customer", "Acme \"Ltd\" & co"), ("in.depth", "2")];
    for _ in 0..3 {
        let asked = browser.submit("/workflows/visit/run", &inputs);
        assert_eq!((asked.status, asked.header("location")), (303, Some(format!("/runs/{once}").as_str())));
    }
    browser.sees("/talk", "Shall it go out?");
    let address = browser.get(&format!("/runs/{once}")).header("location").unwrap().to_owned();
    let page = browser.get(&address).body;
    for part in [
        "<g class=\"done\">",
        "<g class=\"waiting\">",
        "◆ waiting for you",
        "Acme &quot;Ltd&quot; &amp; co",
        "action=\"/press\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(other.get(&address).status, 404, "it isn't hers");
    let button = page.split("name=\"button\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(browser.submit("/press", &[("button", &button)]).status, 303);
    browser.sees(&address, "Run again from here");
    assert_eq!(site.home.count("SELECT count(*) FROM runs"), 1, "it was asked for once");
    let (run, before) = (address.trim_start_matches("/runs/"), browser.get("/workflows").body);
    assert!(before.contains(&address) && !other.get("/workflows").body.contains(run), "{before}");

    assert_eq!(
        other.submit(&format!("{address}/again"), &[("once", &"a".repeat(32)), ("from", "write")]).status,
        404
    );
    let again = browser.submit(&format!("{address}/again"), &[("once", &"b".repeat(32)), ("from", "write")]);
    assert_eq!(again.status, 303, "{}", again.body);
    wait_until("it ran again", || {
        site.home.count("SELECT count(*) FROM runs WHERE rerun_of IS NOT NULL") == 1
    });
    site.stop();
}

#[test]
fn what_waits_for_a_run_says_so() {
    let gate = Arc::new(AtomicBool::new(false));
    let (site, _model) = site(&gate);
    let mut browser = site.browser(site.telegram.person("Ada"));
    let asks = |browser: &mut Browser| {
        let once = browser.get("/workflows/visit").field("once");
        let inputs = [("once", once.as_str()), ("in.customer", "Acme")];
        assert_eq!(browser.submit("/workflows/visit/run", &inputs).status, 303);
    };
    asks(&mut browser);
    wait_until("it runs", || site.home.count("SELECT count(*) FROM runs WHERE ended_at IS NULL") == 1);
    asks(&mut browser);
    let mark = "<span class=\"queued\">queued</span>";
    let page = browser.sees("/talk", mark);
    assert_eq!(page.matches(mark).count(), 1, "{page}");
    gate.store(true, Ordering::SeqCst);
    wait_until("it begins", || !browser.get("/talk").body.contains(mark));
    site.stop();
}

#[test]
fn a_runs_file_is_downloaded_by_those_who_may_see_it() {
    let (site, _model) = site(&Arc::new(AtomicBool::new(true)));
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut owner, mut browser) = (site.browser(ada), site.browser(eve));
    let once = browser.get("/workflows/long").field("once");
    assert_eq!(browser.submit("/workflows/long/run", &[("once", &once)]).status, 303);
    let page = browser.sees("/talk", "href=\"/file/");
    let address = format!("/file/{}", page.split("href=\"/file/").nth(1).unwrap().split('"').next().unwrap());
    let file = browser.get(&address);
    assert_eq!((file.status, file.body.as_str()), (200, long_text().as_str()));
    for (name, value) in [
        ("content-disposition", "attachment; filename=\"long.md\""),
        ("content-type", "text/plain; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(file.header(name), Some(value), "{}", file.head);
    }
    assert_eq!(owner.get(&address).body, long_text(), "owners may see everything");
    let mut mallory = site.browser(site.telegram.person("Mallory"));
    for (name, answer, status) in
        [("another person", mallory.get(&address), 404), ("a stranger", site.stranger().get(&address), 401)]
    {
        assert!(answer.status == status && !answer.body.contains("bold"), "{name}: {}", answer.status);
    }
    let log = site.stop();
    assert!(log.contains("an owner looks at somebody else's conversation"), "{log}");
}

#[test]
fn odd_requests_for_runs_are_refused() {
    let (site, _model) = site(&Arc::new(AtomicBool::new(true)));
    let mut browser = site.browser(site.telegram.person("Ada"));
    for path in [
        "/workflows/nothing",
        "/workflows/..%2f..%2fvisit",
        "/runs/nothing",
        "/runs/'%20OR%201=1",
        "/file/nothing",
    ] {
        assert_eq!(browser.get(path).status, 404, "{path}");
    }
    let run = [("once", "../../x"), ("in.customer", "Acme")];
    assert_eq!(browser.submit("/workflows/visit/run", &run).status, 422);
    let run = [("once", &*"a".repeat(32)), ("in.customer", "Acme"), ("in.nothing", "x")];
    let answer = browser.submit("/workflows/visit/run", &run);
    assert!(answer.status == 422 && answer.body.contains("no input"), "{}", answer.body);
    assert_eq!(browser.submit("/workflows/nothing/plan", &[]).status, 404);
    assert_eq!(
        browser.submit("/runs/nothing/again", &[("once", &"a".repeat(32)), ("from", "x")]).status,
        404
    );
    assert_eq!(browser.post("/workflows/visit/run", &run).status, 403, "without the token");
    assert_eq!(site.home.count("SELECT count(*) FROM inbox WHERE text LIKE '/run%'"), 0);
    site.stop();
}
