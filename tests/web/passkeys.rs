//! Passkeys: by their protocol, with devices that lie, and in a real browser.

use adjutant_fakes::passkey::{Answer, Device};
use adjutant_store::Batch;
use serde_json::{Value, json};

use crate::browser::look_at_all;
use crate::chromium::Chromium;
use crate::client::{Answer as Page, Browser, Site};

/// The origin at which the page has passkeys: browsers have none for a number.
fn origin(site: &Site) -> String {
    format!("http://{}", site.address.replace("127.0.0.1", "localhost"))
}

fn options(browser: &mut Browser, path: &str) -> Value {
    let answer = browser.get(path);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    serde_json::from_str(&answer.body).unwrap()
}

fn fields(answer: &Answer) -> Vec<(&str, &str)> {
    answer.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// Adds a passkey on this device. Returns the status.
fn add(browser: &mut Browser, device: &mut Device) -> u16 {
    let answer = device.create(&options(browser, "/passkeys"));
    browser.submit("/passkeys", &fields(&answer)).status
}

/// Signs in with it.
fn sign_in(browser: &mut Browser, device: &Device) -> Page {
    let answer = device.sign(&options(browser, "/login/passkey"));
    browser.post("/login/passkey", &fields(&answer))
}

fn write(site: &Site, sql: &'static str) {
    let mut batch = Batch::new();
    batch.run(sql, []);
    site.home.ask(async |store| store.write(batch).await.map(drop)).unwrap();
}

fn count(site: &Site) -> i64 {
    site.home.count("SELECT count(*) FROM passkeys")
}

#[test]
fn a_passkey_signs_its_person_in_until_it_is_removed() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let (mut browser, mut device) = (site.browser(ada), Device::new(&origin(&site)));
    assert_eq!(site.stranger().get("/passkeys").status, 401);
    let asked = options(&mut browser, "/passkeys");
    assert_eq!((&asked["rp"]["id"], &asked["attestation"]), (&json!("localhost"), &json!("none")));
    assert_eq!(asked["excludeCredentials"], json!([]));
    assert_eq!(add(&mut browser, &mut device), 303);
    assert_eq!(options(&mut browser, "/passkeys")["excludeCredentials"].as_array().unwrap().len(), 1);
    assert_eq!(add(&mut browser, &mut device), 403, "it is there already");
    let page = browser.get("/sessions").body;
    assert!(page.contains("not used yet") && !page.contains("with a passkey</"), "{page}");

    let mut other = site.stranger();
    other.headers.push(("User-Agent", "Mozilla/5.0 (iPhone) Version/19.1 Safari/604.1".into()));
    let answer = sign_in(&mut other, &device);
    assert_eq!(answer.status, 303, "{}", answer.body);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Max-Age=2592000"), "{cookie}");
    let page = other.get("/sessions").body;
    assert!(page.contains("You are <b>Ada</b>") && !page.contains("not used yet"), "{page}");
    assert!(page.contains("<b>Safari on iPhone</b> · this browser · with a passkey"), "{page}");

    // Somebody else can't remove it, and isn't asked to leave a device out.
    let eve = site.telegram.person("Eve");
    let mut elsewhere = site.browser(eve);
    let key = other.get("/sessions").body;
    let key = key.split("name=\"remove\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    elsewhere.submit("/passkeys", &[("remove", key)]);
    assert_eq!(count(&site), 1);
    assert_eq!(other.post("/passkeys", &[("remove", key)]).status, 403, "without the token");
    assert_eq!(options(&mut elsewhere, "/passkeys")["excludeCredentials"], json!([]));
    let list = site.home.run(&["web", "sessions"]).stdout;
    let line = list.lines().find(|line| line.starts_with(key)).unwrap();
    assert!(line.contains("  Ada, passkey since ") && line.contains(", last used "), "{list}");
    assert_eq!(other.submit("/passkeys", &[("remove", key)]).status, 303);
    assert_eq!(sign_in(&mut site.stranger(), &device).status, 403);
    assert_eq!(count(&site), 0);
    assert_eq!(other.get("/").status, 401, "what it opened has ended");
    assert_eq!(browser.get("/").status, 200, "what a link opened hasn't");

    // The command line ends one, too.
    assert_eq!(add(&mut browser, &mut device), 303);
    assert_eq!(sign_in(&mut other, &device).status, 303);
    let list = site.home.run(&["web", "sessions"]).stdout;
    let line = list.lines().find(|line| line.contains("passkey since")).unwrap();
    let removed = site.home.run(&["web", "sessions", "--revoke", line.split(' ').next().unwrap()]);
    assert_eq!((removed.status, count(&site)), (Some(0), 0), "{removed:?}");
    assert_eq!((other.get("/").status, browser.get("/").status), (401, 200));
    site.stop();
}

#[test]
fn what_is_wrong_or_was_used_before_adds_and_opens_nothing() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let mut device = Device::new(&origin(&site));

    // A challenge to sign in, one of another session, an old one, one of nobody, and one with a changed letter.
    let mut again = site.browser(ada);
    for (from, asked) in [(&mut site.stranger(), "/login/passkey"), (&mut again, "/passkeys")] {
        let mut mixed = options(&mut browser, "/passkeys");
        mixed["challenge"] = options(from, asked)["challenge"].take();
        let answer = device.create(&mixed);
        assert_eq!(browser.submit("/passkeys", &fields(&answer)).status, 403, "{asked}");
    }
    let mut forged = options(&mut browser, "/passkeys");
    let letters = forged["challenge"].as_str().unwrap().to_owned();
    let (start, end) = letters.split_at(letters.len() - 8);
    let changed = format!("{start}{}", end.chars().rev().collect::<String>());
    for challenge in [changed.as_str(), "YWRh", ""] {
        forged["challenge"] = json!(challenge);
        assert_eq!(browser.submit("/passkeys", &fields(&device.create(&forged))).status, 403, "{challenge}");
    }
    let answer = device.create(&options(&mut browser, "/passkeys"));
    assert_eq!(browser.post("/passkeys", &fields(&answer)).status, 403, "without the token");
    assert_eq!(again.submit("/passkeys", &fields(&answer)).status, 403, "in another session");
    assert_eq!(count(&site), 0);
    assert_eq!(browser.submit("/passkeys", &fields(&answer)).status, 303);
    write(&site, "DELETE FROM passkeys");
    assert_eq!(browser.submit("/passkeys", &fields(&answer)).status, 403, "it was answered");
    assert_eq!(add(&mut browser, &mut device), 303);

    let answer = device.sign(&options(&mut site.stranger(), "/login/passkey"));
    assert_eq!(site.stranger().post("/login/passkey", &fields(&answer)).status, 303);
    assert_eq!(site.stranger().post("/login/passkey", &fields(&answer)).status, 403, "it was answered");
    let mut wrong = device.sign(&options(&mut site.stranger(), "/login/passkey"));
    let other = if wrong[3].1[20..].starts_with('A') { "B" } else { "A" };
    wrong[3].1.replace_range(20..21, other);
    assert_eq!(site.stranger().post("/login/passkey", &fields(&wrong)).status, 403);
    let asked = options(&mut browser, "/passkeys");
    let answer = device.sign(&asked);
    assert_eq!(site.stranger().post("/login/passkey", &fields(&answer)).status, 403, "to add one");
    device.origin = format!("http://{}", site.address);
    assert_eq!(sign_in(&mut site.stranger(), &device).status, 403, "at another origin");
    device.origin = origin(&site);
    assert_eq!(sign_in(&mut site.stranger(), &Device::new(&origin(&site))).status, 403, "nobody's");
    assert_eq!(site.stranger().post("/login/passkey", &[]).status, 403);
    let mut stranger = site.stranger();
    stranger.headers.push(("Origin", "http://evil.example".into()));
    assert_eq!(sign_in(&mut stranger, &device).status, 403, "from another site");
    assert_eq!(sign_in(&mut site.stranger(), &device).status, 303);
    site.stop();
}

#[test]
fn a_copied_device_a_person_who_lost_access_and_guesses_are_refused() {
    let mut site = Site::start("");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut device) = (site.browser(ada), Device::new(&origin(&site)));
    device.counter = 5;
    assert_eq!(add(&mut browser, &mut device), 303);
    for (counter, status) in [(6, 303), (6, 403), (5, 403), (0, 403), (7, 303)] {
        device.counter = counter;
        assert_eq!(sign_in(&mut site.stranger(), &device).status, status, "{counter}");
    }
    // Nobody becomes somebody else without knowing.
    device.counter = 8;
    let mut elsewhere = site.browser(eve);
    let answer = sign_in(&mut elsewhere, &device);
    assert!(answer.status == 409 && answer.body.contains("you're signed in as Eve"), "{}", answer.body);
    assert!(elsewhere.get("/sessions").body.contains("You are <b>Eve</b>"));
    assert_eq!(sign_in(&mut site.browser(ada), &device).status, 303, "the same person");

    let guesses: Vec<u16> =
        (0..25).map(|_| sign_in(&mut site.stranger(), &Device::new(&origin(&site))).status).collect();
    assert_eq!((guesses[0], guesses[24]), (403, 429));
    device.counter = 9;
    assert_eq!(sign_in(&mut site.stranger(), &device).status, 303, "guessing keeps nobody out");

    // Whoever may no longer talk to the assistant can't sign in.
    let log = site.kill();
    assert!(log.contains("it may have been copied"), "{log}");
    let config = std::fs::read_to_string(site.home.path().join("config.toml")).unwrap();
    let config = config.replace("allow = [\"*\"]", "allow = []");
    site.home.write("config.toml", &config);
    site.begin();
    device.counter = 10;
    assert_eq!(sign_in(&mut site.stranger(), &device).status, 403);
    site.kill();
    let person = site.home.ask(async |store| {
        let row: (String,) = store.first("SELECT person_id FROM passkeys", &[]).await.unwrap().unwrap();
        row.0
    });
    let export = site.home.run(&["db", "export", &person]);
    assert!(export.stdout.contains("\"passkeys\""), "{export:?}");
    assert!(!export.stdout.contains("public_key"), "{export:?}");
    let erased = site.home.run(&["db", "erase", &person, "--yes"]);
    assert_eq!((erased.status, count(&site)), (Some(0), 0), "{erased:?}");
    site.home.write("config.toml", &config.replace("allow = []", "allow = [\"*\"]"));
    site.begin();
    device.counter = 11;
    assert_eq!(sign_in(&mut site.stranger(), &device).status, 403, "the person is gone");
    site.stop();
}

/// Gives the browser a device that says yes at once.
fn with_device(chromium: &mut Chromium) {
    chromium.run(
        "globalThis.device = await context.newCDPSession(page); await device.send('WebAuthn.enable'); \
         const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, \
         isUserVerified: true, automaticPresenceSimulation: true }; \
         globalThis.authenticator = (await device.send('WebAuthn.addVirtualAuthenticator', { options })).authenticatorId;",
    );
}

#[test]
fn a_browser_adds_a_passkey_signs_in_with_it_and_lands_where_it_was_going() {
    let Some(mut chromium) = Chromium::start() else { return };
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    with_device(&mut chromium);
    let link = site.link_for(ada);
    let at = |path: &str| json!(format!("{}{path}", origin(&site)));

    // By its number, the page says where passkeys work.
    chromium.run(&format!("await page.goto('http://{}/login');", site.address));
    chromium.hides("#passkey");
    let there = at(link.split_once("/login").map(|(_, code)| format!("/login{code}")).unwrap().as_str());
    chromium.run(&format!("await page.goto({there}); await page.waitForURL(/8?\\/$/);"));
    chromium.run(&format!("await page.goto({});", at("/sessions")));
    chromium.hides("#no-passkey");
    look_at_all(&mut chromium, "passkeys-none");
    chromium.run("await page.click('#passkey button');");
    chromium.shows("text=not used yet");
    look_at_all(&mut chromium, "passkeys");
    chromium.run("await page.click('#passkey button');");
    chromium.shows("[role=alert] >> text=This device already has a passkey for you.");
    assert_eq!(chromium.run("return errors;"), json!([]));

    chromium.run(
        "await page.click('button:text-is(\"Sign out\") >> nth=0'); await page.waitForURL(/login\\?out$/);",
    );
    chromium.shows("#passkey button");
    look_at_all(&mut chromium, "login-passkey");
    chromium.run("await page.click('#passkey button'); await page.waitForURL(/\\d\\/$/);");
    chromium.run(&format!("await page.goto({});", at("/sessions")));
    chromium.shows("text=this browser · with a passkey");

    // A page that needs a sign-in is where one lands.
    chromium.run(
        "await page.click('button:text-is(\"Sign out\") >> nth=0'); await page.waitForURL(/login\\?out$/);",
    );
    chromium.run(&format!("await page.goto({});", at("/search?q=milk#main")));
    // A person who says no can try again.
    chromium.run("await device.send('WebAuthn.setUserVerified', { authenticatorId: authenticator, isUserVerified: false });");
    chromium.run("await page.click('#passkey button');");
    chromium.shows("[role=alert] >> text=Your browser gave no passkey.");
    chromium.run("await device.send('WebAuthn.setUserVerified', { authenticatorId: authenticator, isUserVerified: true });");
    chromium.run("await page.click('#passkey button');");
    chromium.shows("nav");
    assert_eq!(chromium.run("return page.url();"), at("/search?q=milk#main"));
    assert_eq!(chromium.run("return page.inputValue('[name=q]');"), "milk");

    chromium.run(&format!("await page.goto({});", at("/sessions")));
    chromium.run("await page.click('button:text-is(\"Remove\")');");
    chromium.hides("text=\"Remove\"");
    assert_eq!(count(&site), 0);
    // This browser had signed in with it.
    chromium.run(&format!("await page.goto({});", at("/login")));
    chromium.run("await page.click('#passkey button');");
    chromium.shows("[role=alert] >> text=That passkey wasn't accepted.");
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}
