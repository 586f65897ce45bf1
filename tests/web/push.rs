//! Notifications: what a browser's push service is sent, when it is, and when not. And the page as an app.

use adjutant_fakes::push::{Browser as Keys, FakePush, Pushed, claims_of};
use adjutant_store::Batch;
use serde_json::{Value, json};

use crate::browser::{goto, look_at_all, sign_in};
use crate::chromium::Chromium;
use crate::client::{Browser, Site};
use crate::gateway::{Gateway, eventually, wait_until};

const ASKS: &str = "[approval]\nmedium = \"ask\"\n";

/// Wants to be notified of this by the push service at this address. Returns the status.
fn notify(browser: &mut Browser, of: &str, endpoint: &str) -> u16 {
    let (key, auth) = (Keys::default().key(), Keys::default().auth());
    // A browser needs our key first.
    browser.get("/notify");
    let fields = [("of", of), ("endpoint", endpoint), ("p256dh", key.as_str()), ("auth", auth.as_str())];
    browser.submit("/notify", &fields).status
}

/// What the push service was sent, once it is this much.
#[track_caller]
fn sent(push: &FakePush, count: usize) -> Vec<Pushed> {
    eventually("it is sent", || Some(push.pushed()).filter(|all| all.len() >= count))
}

/// What the browser reads in it.
#[track_caller]
fn read(pushed: &Pushed) -> Value {
    serde_json::from_str(&Keys::default().opened(&pushed.body).unwrap()).unwrap()
}

fn write(site: &Site, sql: &'static str) {
    let mut batch = Batch::new();
    batch.run(sql, []);
    site.home.ask(async |store| store.write(batch).await.map(drop)).unwrap();
}

fn add_task(site: &Site, ada: i64) {
    site.telegram.say(ada, ada, "add a task to buy milk");
    wait_until("it is added", || site.home.tasks() == ["buy milk"]);
}

/// The message on Telegram that asks.
#[track_caller]
fn question(site: &Site, ada: i64) -> i64 {
    eventually("the question", || {
        site.telegram.seen(ada).into_iter().find(|seen| !seen.buttons.is_empty()).map(|seen| seen.id)
    })
}

#[test]
fn a_question_is_sent_once_to_its_person_alone_and_replaced_by_its_answer() {
    let (site, push) = (Site::start(ASKS), FakePush::start());
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    assert_eq!(site.stranger().get("/notify").status, 401);
    let key = browser.get("/notify").body;
    add_task(&site, ada);
    assert_eq!(notify(&mut browser, "questions", &format!("{}/ada", push.origin())), 303);
    assert_eq!(notify(&mut other, "news", &format!("{}/eve", push.origin())), 303);
    assert!(browser.get("/sessions").body.contains("<option value=\"questions\" selected>"));
    site.telegram.say(ada, ada, "delete the task about milk");
    let first = sent(&push, 1).remove(0);
    assert_eq!(first.path, "/ada");
    let header = |name: &str| first.headers[name].as_str();
    assert_eq!((header("content-encoding"), header("urgency")), ("aes128gcm", "high"));
    assert!((60..=86_400).contains(&header("ttl").parse::<u32>().unwrap()), "{first:?}");
    let claims = claims_of(header("authorization"), &key).unwrap();
    assert_eq!(
        (&claims["aud"], &claims["sub"]),
        (&json!(push.origin()), &json!(format!("https://{}", site.address)))
    );
    let asked = read(&first);
    assert_eq!(
        (&asked["title"], &asked["waiting"], &asked["closed"]),
        (&json!("Your assistant asks"), &json!(1), &json!(false))
    );
    assert!(asked["body"].as_str().unwrap().contains("buy milk"), "{asked}");
    assert!(browser.get(asked["url"].as_str().unwrap()).body.contains(">Approve</button>"));

    site.telegram.press(ada, ada, question(&site, ada), "Approve");
    let second = sent(&push, 2).remove(1);
    let answered = read(&second);
    assert_eq!(
        (&answered["body"], &answered["waiting"], &answered["closed"]),
        (&json!("Ada approved on telegram"), &json!(0), &json!(true))
    );
    assert_eq!((&answered["tag"], &second.headers["topic"]), (&asked["tag"], &first.headers["topic"]));
    wait_until("both are noted", || {
        site.home.count("SELECT count(*) FROM pushes WHERE state = 'closed'") == 1
    });
    let log = site.stop();
    assert_eq!(push.pushed().len(), 2, "nothing is sent twice");
    assert!(!log.contains("/ada"), "an address is in the log:\n{log}");
}

#[test]
fn a_push_service_that_fails_is_asked_again_and_one_that_forgot_the_browser_is_not() {
    let (site, push) = (Site::start(ASKS), FakePush::start());
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    add_task(&site, ada);
    assert_eq!(notify(&mut browser, "questions", &format!("{}/ada", push.origin())), 303);
    push.answer(429, Some(("retry-after", "1")));
    push.answer(307, Some(("location", &format!("{}/elsewhere", push.origin()))));
    site.telegram.say(ada, ada, "delete the task about milk");
    let tries = sent(&push, 3);
    assert!(tries.iter().all(|one| one.path == "/ada" && read(one) == read(&tries[0])), "{tries:?}");
    wait_until("it is sent", || site.home.count("SELECT count(*) FROM pushes WHERE state = 'sent'") == 1);
    push.answer(410, None);
    site.telegram.press(ada, ada, question(&site, ada), "Reject");
    assert_eq!(read(&sent(&push, 4)[3])["body"], "Ada rejected on telegram");
    wait_until("it is gone", || site.home.count("SELECT count(*) FROM push_subscriptions") == 0);
    assert!(browser.get("/sessions").body.contains("<option value=\"nothing\" selected>"));
    site.stop();
    assert_eq!(push.pushed().len(), 4);
}

#[test]
fn whoever_dies_while_sending_is_followed_by_another_as_long_as_the_question_is_open() {
    let (mut site, push) = (Site::start(ASKS), FakePush::start());
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    add_task(&site, ada);
    assert_eq!(notify(&mut browser, "questions", &format!("{}/ada", push.origin())), 303);
    let die_at = |site: &mut Site, point: &str| {
        site.kill();
        let mut gateway = Gateway::start_with(&site.home, &[("ADJUTANT_FAIL_POINT", point)]);
        gateway.logs("Web page: ");
        site.telegram.say(ada, ada, "delete the task about milk");
        gateway.dies();
        site.begin();
    };
    // It was sent, and nobody noted it.
    die_at(&mut site, "push-sent");
    assert_eq!(push.pushed().len(), 1);
    write(&site, "UPDATE pushes SET changed_at = 0");
    let twice = sent(&push, 2);
    assert_eq!(read(&twice[0]), read(&twice[1]), "for the browser it is the same notification");
    site.telegram.press(ada, ada, question(&site, ada), "Reject");
    sent(&push, 3);
    wait_until("it is closed", || site.home.count("SELECT count(*) FROM pushes WHERE state = 'closed'") == 1);
    wait_until("the buttons are gone", || site.telegram.seen(ada).iter().all(|seen| seen.buttons.is_empty()));

    // It wasn't sent, and then the question was answered.
    die_at(&mut site, "push-claimed");
    site.telegram.press(ada, ada, question(&site, ada), "Reject");
    wait_until("it is answered", || {
        site.home.count("SELECT count(*) FROM questions WHERE state = 'answered'") == 2
    });
    write(&site, "UPDATE pushes SET changed_at = 0 WHERE state = 'sending'");
    assert_eq!(read(&sent(&push, 4)[3])["closed"], true);
    wait_until("it is closed", || site.home.count("SELECT count(*) FROM pushes WHERE state = 'closed'") == 2);
    site.stop();
    assert_eq!(push.pushed().len(), 4);
}

#[test]
fn news_are_sent_to_those_who_want_them() {
    let (site, push) = (Site::start(""), FakePush::start());
    let ada = site.telegram.person("Ada");
    let (mut browser, mut other) = (site.browser(ada), site.browser(ada));
    assert_eq!(notify(&mut browser, "news", &format!("{}/news", push.origin())), 303);
    assert_eq!(notify(&mut other, "questions", &format!("{}/questions", push.origin())), 303);
    add_task(&site, ada);
    wait_until("it has ended", || site.home.count("SELECT count(*) FROM turns WHERE ended_at IS NULL") == 0);
    write(&site, "UPDATE turns SET started_at = started_at - 60000");
    let first = sent(&push, 1).remove(0);
    let (path, news) = (first.path.as_str(), read(&first));
    assert_eq!((path, &news["title"]), ("/news", &json!("News from your assistant")));
    assert!(news["body"].as_str().unwrap().starts_with("Added “buy milk”"), "{news}");
    wait_until("it is noted", || site.home.count("SELECT count(*) FROM pushes WHERE state = 'sent'") == 1);
    site.stop();
    assert_eq!(push.pushed().len(), 1);
}

#[test]
fn nothing_is_sent_to_addresses_that_lie_or_to_who_has_signed_out() {
    let (site, push) = (Site::start(""), FakePush::start());
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let mut browser = site.browser(ada);
    let count = || site.home.count("SELECT count(*) FROM push_subscriptions");
    for endpoint in [
        "http://push.example/x",
        "https://10.0.0.1/x",
        "https://[::1]/x",
        "https://169.254.169.254/x",
        "https://a:b@push.example/x",
        "ftp://127.0.0.1/x",
        "",
    ] {
        assert_eq!(notify(&mut browser, "questions", endpoint), 422, "{endpoint}");
    }
    let fields = [("of", "questions"), ("endpoint", push.origin()), ("p256dh", "AAAA"), ("auth", "AAAA")];
    assert_eq!(browser.submit("/notify", &fields).status, 422, "those are no keys");
    assert_eq!(browser.post("/notify", &fields).status, 403, "without the token");
    assert_eq!(count(), 0);

    // One browser is notified for one session.
    let mut again = site.browser(ada);
    for one in [&mut browser, &mut again] {
        assert_eq!(notify(one, "questions", push.origin()), 303);
    }
    assert_eq!(count(), 1);
    assert_eq!(notify(&mut again, "nothing", ""), 303);
    assert_eq!(count(), 0);
    assert_eq!(notify(&mut again, "questions", push.origin()), 303);
    // Somebody else signs in there.
    let link = site.link_for(eve);
    let code = link.split_once('#').unwrap().1;
    let token = again.get("/talk").field("token");
    assert_eq!(again.post("/login", &[("code", code), ("token", &token)]).status, 303);
    assert_eq!(count(), 0);
    assert_eq!(notify(&mut again, "questions", push.origin()), 303);
    assert_eq!(site.home.run(&["web", "sessions", "--revoke", "all"]).status, Some(0));
    assert_eq!(count(), 0);
    site.stop();
}

#[test]
fn the_page_is_an_app_that_shows_what_is_sent_and_says_when_there_is_no_connection() {
    let Some(mut chromium) = Chromium::start() else { return };
    let mut site = Site::start("");
    let ada = site.telegram.person("Ada");
    chromium.run("await context.grantPermissions(['notifications']);");
    sign_in(&mut chromium, &site, ada);
    let worker = "return page.evaluate(async () => (await navigator.serviceWorker.ready).active.scriptURL);";
    let worker = chromium.run(worker);
    assert!(worker.as_str().unwrap().contains("/worker.js?"), "{worker}");
    let missing = "const tab = await context.newCDPSession(page); const { errors } = await tab.send('Page.getAppManifest'); \
                   const { installabilityErrors } = await tab.send('Page.getInstallabilityErrors'); \
                   return [errors, installabilityErrors.map((one) => one.errorId)];";
    assert_eq!(chromium.run(missing), json!([[], ["in-incognito"]]), "but for that, it can be installed");
    chromium.run(&format!("await page.goto('http://{}/sessions');", site.address));
    chromium.shows("#notify");
    look_at_all(&mut chromium, "notify");

    let deliver = |chromium: &mut Chromium, notice: Value| {
        let (notice, origin) = (json!(notice.to_string()), json!(format!("http://{}", site.address)));
        chromium.run(&format!(
            "const tab = await context.newCDPSession(page); const found = new Promise((done) => \
             tab.on('ServiceWorker.workerRegistrationUpdated', (it) => it.registrations[0] && done(it.registrations[0]))); \
             await tab.send('ServiceWorker.enable'); const {{ registrationId }} = await found; \
             await tab.send('ServiceWorker.deliverPushMessage', {{ origin: {origin}, registrationId, data: {notice} }});"
        ));
    };
    let shown = "return page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications())\
                 .map((one) => [one.tag, one.body, one.silent, one.data.url]));";
    let notice = |tag: &str, body: &str, closed: bool| json!({ "tag": tag, "title": "a", "body": body, "url": "/talk", "waiting": 1, "closed": closed });
    for (tag, body, closed) in [("a", "Shall I?", false), ("a", "Ada approved", true), ("b", "Unseen", true)]
    {
        deliver(&mut chromium, notice(tag, body, closed));
        let expected = match tag {
            "a" => json!([["a", body, closed, "/talk"]]),
            _ => json!([["a", "Ada approved", true, "/talk"]]),
        };
        eventually("it is shown", || (chromium.run(shown) == expected).then_some(()));
    }

    site.kill();
    chromium.run(&format!("await page.goto('http://{}/talk');", site.address));
    chromium.shows("text=Your assistant can't be reached right now");
    look_at_all(&mut chromium, "offline");
    site.begin();
    chromium.shows("#composer");
    goto(&mut chromium, &site, "/talk");
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}
