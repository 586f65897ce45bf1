//! Watches on the page.

use crate::client::{Answer, Site};

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
    for from in ["@acme.test", ""] {
        assert_eq!(browser.submit("/act", &[("act", "watch-mail"), ("key", from)]).status, 303);
    }
    let page = browser.get("/things");
    for what in ["email from anyone at acme.test", "every email"] {
        assert!(page.body.contains(what), "{what}: {}", page.body);
    }
    assert!(other.get("/things").body.contains("Nothing is watched."));
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
    let second = key(&browser.get("/things"));
    assert_eq!(browser.submit("/act", &[("act", "stop-watch"), ("key", &second)]).status, 303);
    assert!(browser.get("/things").body.contains("Nothing is watched."));
    site.stop();
}

#[test]
fn without_a_mailbox_the_form_makes_none() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    assert_eq!(browser.submit("/act", &[("act", "watch-mail"), ("key", "@acme.test")]).status, 409);
    site.stop();
}
