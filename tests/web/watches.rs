//! Watches on the page.

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_store::Batch;
use serde_json::json;

use crate::client::{Answer, Site};
use crate::gateway::wait_until;

/// A mailbox that can't be reached.
const MAIL: &str = "[mail]\nfrom = \"ada@example.test\"\n\
    [mail.imap]\nhost = \"127.0.0.1\"\nport = 1\ntls = \"none\"\nuser = \"ada\"\npassword = \"secret\"\n\
    [mail.smtp]\nhost = \"127.0.0.1\"\nport = 1\ntls = \"none\"\nuser = \"ada\"\npassword = \"secret\"\n";

/// The key of the first watch that can be stopped.
fn key(page: &Answer) -> String {
    let at = page.body.find("name=\"act\" value=\"stop-watch\"").unwrap_or_else(|| panic!("{}", page.body));
    page.body[at..].split("name=\"key\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[test]
fn a_form_makes_a_watch_and_only_its_person_sees_and_stops_it() {
    let site = Site::start(MAIL);
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    assert!(browser.get("/things").body.contains("Nothing is watched."));
    for from in ["@acme.test", "@other.test"] {
        assert_eq!(browser.submit("/act", &[("act", "watch-mail"), ("key", from)]).status, 303);
    }
    let empty = browser.submit("/act", &[("act", "watch-mail"), ("key", ""), ("text", " ")]);
    assert!(empty.status == 409 && empty.body.contains("from whom or about what"), "{}", empty.body);
    let page = browser.get("/things");
    for what in ["email from anyone at acme.test", "email from anyone at other.test"] {
        assert!(page.body.contains(what), "{what}: {}", page.body);
    }
    assert!(other.get("/things").body.contains("Nothing is watched."));
    let about = [("act", "watch-mail"), ("key", "@acme.test"), ("text", "invoice")];
    assert_eq!(browser.submit("/act", &about).status, 303);
    assert!(browser.get("/things").body.contains("email from anyone at acme.test about “invoice”"));
    site.telegram.say(ada, ada, "/undo");
    let watches = || site.home.count("SELECT count(*) FROM watches");
    wait_until("that one is gone", || watches() == 2);
    let first = key(&page);
    for act in ["pause-watch", "resume-watch"] {
        assert_eq!(other.submit("/act", &[("act", act), ("key", &first)]).status, 409, "it isn't hers");
        assert_eq!(browser.submit("/act", &[("act", act), ("key", &first)]).status, 303);
        let is_paused = browser.get("/things").body.contains("value=\"resume-watch\"");
        assert_eq!(is_paused, act == "pause-watch");
    }
    assert_eq!(other.submit("/act", &[("act", "stop-watch"), ("key", &first)]).status, 409, "it isn't hers");
    assert_eq!(browser.submit("/act", &[("act", "stop-watch"), ("key", &first)]).status, 303);
    assert_eq!(browser.submit("/act", &[("act", "stop-watch"), ("key", &first)]).status, 409, "it is gone");
    // What she did here is undone from the chat: the last one is there again.
    site.telegram.say(ada, ada, "/undo");
    wait_until("it is there again", || watches() == 2);
    assert_eq!(browser.submit("/act", &[("act", "watch-mail"), ("key", "@third.test")]).status, 303);
    site.telegram.say(ada, ada, "/undo");
    wait_until("the third one is gone", || watches() == 2);
    let page = browser.get("/things").body;
    assert!(page.contains("at acme.test") && !page.contains("at third.test"), "{page}");
    assert_eq!(browser.submit("/act", &[("act", "stop-watch"), ("key", &first)]).status, 303);
    let second = key(&browser.get("/things"));
    assert_eq!(browser.submit("/act", &[("act", "stop-watch"), ("key", &second)]).status, 303);
    assert!(browser.get("/things").body.contains("Nothing is watched."));
    site.stop();
}

#[test]
fn the_form_says_what_a_watch_does_and_until_when() {
    let site = Site::start(MAIL);
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let mut makes = |until: &str| {
        let form = [
            ("act", "watch-mail"),
            ("key", "@acme.test"),
            ("text", "invoice"),
            ("text", "make a task of it"),
        ];
        browser.submit("/act", &[&form[..], &[("text", until)]].concat()).status
    };
    for until in ["2020-01-01", "never"] {
        assert_eq!(makes(until), 409, "{until}");
    }
    assert_eq!(site.home.count("SELECT count(*) FROM watches"), 0);
    for until in ["2999-12-31", ""] {
        assert_eq!(makes(until), 303, "{until}");
    }
    // It may do nothing by itself: its wishes are none.
    let asking =
        "SELECT count(*) FROM watches WHERE action = 'ask' AND words = 'make a task of it' AND wishes = '{}'";
    let ends = "SELECT count(*) FROM watches WHERE bounds NOT LIKE '%\"until\":null%'";
    assert_eq!((site.home.count(asking), site.home.count(ends)), (2, 1));
    let page = browser.get("/things").body;
    assert!(page.contains("make a task of it") && page.contains("type=\"date\""), "{page}");
    site.stop();
}

#[test]
fn a_folder_of_the_server_is_watched_by_its_owner_alone_who_sees_that_it_cannot_be_read() {
    let model = FakeModel::start(|request| {
        let arguments = json!({"on": "file", "place": "scans"});
        let watch = json!({"agent_id": "a", "mission": "look", "skills": ["watch.create"], "arguments": arguments, "as_answer": true});
        let last = last_message(request);
        let is_new = has_tool(request, "dispatch_agent") && last.contains("watch scans");
        if is_new { Reply::call("dispatch_agent", &watch) } else { Reply::text(&last) }
    });
    let site = Site::start(&format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[watching]\nfolders = [\"scans\"]\n\
         [model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let watches = || site.home.count("SELECT count(*) FROM watches");
    site.telegram.say(eve, eve, "watch scans");
    let refused =
        || site.telegram.seen(eve).iter().any(|seen| seen.text.contains("only owners can watch one"));
    wait_until("she is refused", refused);
    assert_eq!(watches(), 0);
    site.telegram.say(ada, ada, "watch scans");
    wait_until("it is watched", || watches() == 1);
    let mut browser = site.browser(ada);
    assert!(!browser.get("/things").body.contains("be read since"));
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        batch.run("UPDATE watches SET unread_since = 1", []);
        store.write(batch).await.unwrap();
    });
    assert!(browser.get("/things").body.contains("be read since Thu 1 Jan 1970"));
    site.stop();
}

#[test]
fn without_a_mailbox_that_can_be_read_the_form_watches_meetings_alone() {
    // It can be sent from.
    let (sending, _) = MAIL.split_once("[mail.imap]").unwrap();
    let smtp = MAIL.split_once("[mail.smtp]").unwrap().1;
    let site = Site::start(&format!("{sending}[mail.smtp]{smtp}"));
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    assert!(
        browser.get("/things").body.contains("<option value=\"watch-meetings\">meetings that begin soon")
    );
    for (act, status) in [("watch-mail", 409), ("watch-meetings", 303)] {
        let form = [("act", act), ("key", "@acme.test"), ("text", "demo")];
        assert_eq!(browser.submit("/act", &form).status, status, "{act}");
    }
    let page = browser.get("/things").body;
    assert!(
        page.contains("events that begin within 15 minutes from anyone at acme.test about “demo”"),
        "{page}"
    );
    site.telegram.say(ada, ada, "/undo");
    wait_until("it is gone", || site.home.count("SELECT count(*) FROM watches") == 0);
    site.stop();
}
