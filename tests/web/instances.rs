//! Several processes on one PostgreSQL store: any of them serves any page.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::postgres;
use adjutant_fakes::telegram::FakeTelegram;

use crate::client::{Browser, Site, free_address};
use crate::gateway::{Gateway, eventually, wait_until};
use crate::live::{Event, follow};
use crate::process::{self, Home};

/// Another process with the same store and platform, and a page of its own.
fn another(config: &str, telegram: &FakeTelegram) -> (Home, Gateway, String) {
    let address = free_address();
    let home = Home::with_config(&format!(
        "{config}[http]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\n\
         token = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n[channels.web]\nlisten = \"{address}\"\n",
        telegram.token(),
        telegram.api_url()
    ));
    let mut gateway = Gateway::start(&home);
    gateway.logs("Web page: ");
    (home, gateway, address)
}

/// The browser at the page of another process. Each has an address of its own here, and with it another name for its
/// cookie.
fn at(address: String, here: &Browser) -> Browser {
    let port = |address: &str| address.rsplit(':').next().unwrap().to_owned();
    let renamed = |cookie: &String| cookie.replacen(&port(&here.address), &port(&address), 1);
    let cookie = here.cookie.as_ref().map(renamed);
    Browser { address, cookie, ..here.clone() }
}

fn tasks(url: &str) -> Vec<String> {
    process::ask(url, async |store| process::tasks(store).await)
}

/// Ada is asked whether the task may be deleted.
fn asked(site: &Site, ada: i64) -> i64 {
    site.telegram.say(ada, ada, "delete the task about milk");
    eventually("the question", || {
        site.telegram.seen(ada).into_iter().find(|seen| !seen.buttons.is_empty()).map(|seen| seen.id)
    })
}

#[test]
fn any_instance_serves_any_page_and_an_answer_at_one_closes_the_question_at_the_other() {
    let Some(server) = postgres::shared().unwrap() else { return };
    let url = server.database().unwrap();
    let owner = "[assistant]\nowner = [\"telegram:1000\"]\n";
    let config = format!("{owner}[store]\nurl = \"{url}\"\n[approval]\nmedium = \"ask\"\n");
    let site = Site::start(&config);
    let ada = site.telegram.person("Ada");
    let mut here = site.browser(ada);
    let (_home, gateway, address) = another(&config, &site.telegram);
    let mut there = at(address, &here);
    for path in ["/", "/talk", "/workflows", "/things", "/usage", "/people", "/system", "/sessions"] {
        assert_eq!(there.get(path).status, 200, "she signed in at the other one: {path}");
    }
    site.telegram.say(ada, ada, "add a task to buy milk");
    there.sees("/talk", "Added “buy milk”");

    // What runs here is seen live there, from the first change on.
    let is_asked = |event: &Event| event.data["kind"] == "question" && event.data["status"] == "pending";
    asked(&site, ada);
    let events = follow(&there, "0-0", crate::gateway::DEADLINE, is_asked);
    assert!(events.last().is_some_and(is_asked), "{events:?}");
    let page = there.sees("/", ">Reject</button>");
    let at = page.find(":reject\"").unwrap();
    let button = format!("{}:reject", page[..at].rsplit('"').next().unwrap());
    assert_eq!(there.submit("/press", &[("button", &button)]).status, 303);
    here.sees("/", "No question is open.");
    wait_until("the buttons are gone", || site.telegram.seen(ada).iter().all(|seen| seen.buttons.is_empty()));
    assert_eq!(tasks(&url), ["buy milk"]);

    let question = asked(&site, ada);
    there.sees("/", ">Approve</button>");
    site.telegram.press(ada, ada, question, "Approve");
    there.sees("/", "No question is open.");
    wait_until("the task is deleted", || tasks(&url).is_empty());

    // What is written there is answered, and the session ends everywhere.
    there.say("add a task to write from there");
    here.sees("/talk", "Added “write from there”");
    assert_eq!(there.submit("/logout", &[]).status, 303);
    assert_eq!(here.get("/talk").status, 401);
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    site.stop();
}

#[test]
fn an_answer_grows_on_the_page_of_each_instance() {
    let Some(server) = postgres::shared().unwrap() else { return };
    let gate = Arc::new(AtomicBool::new(false));
    let held = gate.clone();
    let model = FakeModel::start(move |_| Reply::text("The first half, and the second one.").held(&held));
    let config = format!(
        "[store]\nurl = \"{}\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        server.database().unwrap(),
        model.base_url()
    );
    let site = Site::start(&config);
    let ada = site.telegram.person("Ada");
    let mut here = site.browser(ada);
    let (_home, gateway, address) = another(&config, &site.telegram);
    let mut there = at(address, &here);
    // One of them runs the turn.
    here.say("what is a zebra?");
    let begins =
        |event: &Event| event.data["rest"].as_str().is_some_and(|rest| rest.contains("<p>The first"));
    for browser in [&here, &there] {
        let events = follow(browser, "0-0", crate::gateway::DEADLINE, begins);
        assert!(events.last().is_some_and(begins), "{events:?}");
    }
    gate.store(true, Ordering::SeqCst);
    there.sees("/talk", "and the second one.");
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    site.stop();
}
