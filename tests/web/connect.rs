//! A login at a provider, by a link of the chat.

use adjutant_fakes::cloud::FakeCloud;

use crate::client::{Answer, Site};
use crate::gateway::eventually;

/// The provider's page, to which a browser is sent on.
fn onward(answer: &Answer) -> String {
    let behind = answer.body.split("content=\"0; url=").nth(1).unwrap_or_else(|| panic!("{answer:?}"));
    behind.split('"').next().unwrap().replace("&amp;", "&")
}

fn told(site: &Site, person: i64, words: &str) {
    let has_words = || site.telegram.seen(person).iter().any(|seen| seen.text.contains(words));
    eventually(words, || has_words().then_some(()));
}

#[test]
fn a_link_connects_an_account_in_the_browser_that_goes_on_with_it() {
    let cloud = FakeCloud::start();
    cloud.state().logins.person = "ada@acme.test".into();
    let site = Site::start(&cloud.connect_google());
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let path = site.path_for(ada, "/connect google");
    let (mut browser, mut other) = (site.stranger(), site.browser(eve));
    // Chat platforms look at links, too.
    for _ in 0..2 {
        let page = browser.get(&path);
        assert_eq!(page.status, 200);
        assert!(page.body.contains("at Google to the assistant, for Ada alone"), "{page:?}");
        assert_eq!(page.header("set-cookie"), None);
    }
    let refused = other.post(&path, &[]);
    assert!(refused.body.contains("belongs to another browser or person"), "{refused:?}");
    let opened = browser.post(&path, &[]);
    let cookie = opened.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Lax; Max-Age=300"), "{cookie}");
    assert_eq!(browser.get(&path).status, 404, "it works once");
    let back = cloud.opens(&onward(&opened));
    let back = back.strip_prefix(&format!("http://{}", site.address)).unwrap_or_else(|| panic!("{back}"));
    let done = browser.get(back);
    assert!(done.body.contains("Connected ada@acme.test: email, calendar and contacts"), "{done:?}");
    told(&site, ada, "✓ Connected ada@acme.test");
    assert!(browser.get(back).body.contains("was used already or has expired"));
    let code = back.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let log = site.stop();
    for secret in [code.as_str(), path.rsplit('/').next().unwrap()].into_iter().chain(["t0ken"]) {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}

#[test]
fn a_browser_that_did_not_open_the_link_connects_nothing() {
    let cloud = FakeCloud::start();
    cloud.state().logins.person = "eve@acme.test".into();
    let site = Site::start(&cloud.connect_google());
    let ada = site.telegram.person("Ada");
    let path = site.path_for(ada, "/connect google");
    let opened = site.stranger().post(&path, &[]);
    let back = cloud.opens(&onward(&opened));
    let back = back.strip_prefix(&format!("http://{}", site.address)).unwrap();
    let refused = site.stranger().get(back);
    assert!(refused.body.contains("belongs to another browser or person"), "{refused:?}");
    told(&site, ada, "Somebody else tried to finish your login");
    assert_eq!(site.home.count("SELECT count(*) FROM connected_accounts"), 0);
    let forged = site.stranger().get("/connect/back?code=c&state=s");
    assert!(forged.body.contains("was used already or has expired"), "{forged:?}");
    site.stop();
}

#[test]
fn a_password_is_typed_on_the_page_and_a_wrong_address_is_said() {
    let cloud = FakeCloud::start();
    let site = Site::start(&cloud.connect_google());
    let ada = site.telegram.person("Ada");
    let path = site.path_for(ada, "/connect password");
    let mut browser = site.stranger();
    let page = browser.get(&path);
    assert!(page.body.contains("type=\"password\"") && page.body.contains("for Ada alone"), "{page:?}");
    for _ in 0..5 {
        let again = browser.post(&path, &[("address", "ada at home"), ("password", "hunter22hunter")]);
        assert!(again.status == 422 && again.body.contains("isn't an email address"), "{again:?}");
        assert!(!again.body.contains("hunter22"), "{again:?}");
    }
    let slowed = browser.post(&path, &[("address", "ada@acme.test"), ("password", "hunter22hunter")]);
    assert!(slowed.body.contains("too many attempts"), "{slowed:?}");
    let log = site.stop();
    assert!(!log.contains("hunter22"), "{log}");
}
