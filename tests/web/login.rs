//! Getting in, and what doesn't.

use adjutant_store::Batch;

use crate::client::Site;

#[test]
fn a_link_lets_one_browser_in_once() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let link = site.link_for(ada);
    let (page, code) = link.split_once('#').unwrap();
    assert_eq!(page, format!("http://{}/login", site.address));
    let mut browser = site.stranger();
    assert!(browser.get("/login").body.contains("id=\"login\""), "the form works without a script");
    let answer = browser.post("/login", &[("code", code)]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Max-Age=2592000"), "{cookie}");
    assert_eq!(browser.get("/").status, 200);

    let mut thief = site.stranger();
    assert_eq!(thief.post("/login", &[("code", code)]).status, 403, "it works once");
    assert_eq!(thief.get("/").status, 401);
    let mut copy = browser.clone();
    let left = browser.submit("/logout", &[]);
    assert_eq!((left.status, left.header("location")), (303, Some("/login?out")));
    assert!(browser.get("/login?out").body.contains("You're signed out."));
    assert_eq!(
        (browser.get("/").status, copy.get("/").status),
        (401, 401),
        "the session is over, not only the cookie"
    );
    let secret = cookie.split(['=', ';']).nth(1).unwrap().to_owned();
    let stored = "SELECT count(*) FROM web_sessions WHERE digest LIKE '%' || $1 || '%'";
    let kept = site.home.ask(async |store| store.count(stored, &[secret.as_str().into()]).await.unwrap());
    assert_eq!(kept, 0, "only a digest of the secret is kept");
    let log = site.stop();
    assert!(!log.contains(code) && !log.contains(&secret), "a secret is in the log:\n{log}");
}

#[test]
fn a_link_of_somebody_else_asks_first() {
    let site = Site::start("");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let mut browser = site.browser(ada);
    let link = site.link_for(eve);
    let code = link.split_once('#').unwrap().1;
    let asked = browser.post("/login", &[("code", code), ("next", "/talk")]);
    assert!(asked.status == 200 && asked.body.contains("You're signed in as Ada"), "{}", asked.body);
    assert!(browser.get("/sessions").body.contains("You are <b>Ada</b>"), "nothing has changed yet");
    let forged = browser.post("/login", &[("code", code), ("token", "x")]);
    assert_eq!((forged.status, forged.header("location")), (200, None), "no other site can say yes");
    let token = asked.field("token");
    let answer = browser.post("/login", &[("code", code), ("token", &token), ("next", "/talk?before=3")]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/talk?before=3")));
    assert!(browser.get("/sessions").body.contains("You are <b>Eve</b>"));
    for next in ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nSet-Cookie: x=y"] {
        let link = site.link_for(ada);
        let mut browser = site.stranger();
        let answer = browser.post("/login", &[("code", link.split_once('#').unwrap().1), ("next", next)]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{next}");
    }
    site.stop();
}

#[test]
fn the_command_line_signs_in_lists_and_signs_out() {
    let site = Site::start("");
    let login = site.home.run(&["web", "login"]);
    assert_eq!(login.status, Some(0), "{login:?}");
    let mut browser = site.stranger();
    assert_eq!(
        browser.post("/login", &[("code", login.stdout.trim())]).status,
        303,
        "the whole link is fine too"
    );
    let page = browser.get("/people");
    assert_eq!(page.status, 200, "the person at this machine is an owner");
    let list = site.home.run(&["web", "sessions"]);
    let session = list.stdout.split_whitespace().next().unwrap();
    let gone = site.home.run(&["web", "sessions", "--revoke", session]);
    assert_eq!((gone.status, gone.stdout.as_str()), (Some(0), "Signed out.\n"));
    assert_eq!(browser.get("/").status, 401);
    assert_eq!(site.home.run(&["web", "sessions", "--revoke", session]).status, Some(1));
    let nobody = site.home.run(&["web", "login", "telegram:99"]);
    assert!(nobody.stderr.contains("nobody is known as"), "{nobody:?}");
    site.stop();
}

#[test]
fn without_a_name_the_command_line_signs_the_only_owner_in() {
    // The first person of the fake.
    let site = Site::start("[assistant]\nowner = [\"telegram:1000\"]\n");
    let ada = site.telegram.person("Ada");
    for is_known in [false, true] {
        if is_known {
            site.link_for(ada);
        }
        let login = site.home.run(&["web", "login"]);
        let mut browser = site.stranger();
        assert_eq!(browser.post("/login", &[("code", login.stdout.trim())]).status, 303, "{login:?}");
        let page = browser.get("/sessions").body;
        assert_eq!(page.contains("You are <b>Ada</b>"), is_known, "{page}");
    }
    site.stop();
}

#[test]
fn a_link_expires_and_a_session_ends_with_its_person() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let code = site.link_for(ada);
    let age = |sql: &'static str| {
        let mut batch = Batch::new();
        batch.run(sql, []);
        site.home.ask(async |store| store.write(batch).await.map(drop)).unwrap();
    };
    age("UPDATE web_codes SET expires_at = 1");
    let mut browser = site.stranger();
    let answer = browser.post("/login", &[("code", code.split_once('#').unwrap().1)]);
    assert!(answer.status == 403 && answer.body.contains("has expired"), "{}", answer.body);
    let mut browser = site.browser(ada);
    assert_eq!(browser.get("/talk").status, 200);
    age("UPDATE web_sessions SET expires_at = 1");
    let answer = browser.get("/talk");
    assert!(answer.status == 401 && answer.body.contains("no longer signed in"), "{}", answer.body);
    let answer = site.stranger().get("/talk");
    assert!(answer.status == 401 && !answer.body.contains("no longer signed in"), "{}", answer.body);
    site.stop();
}

#[test]
fn guessing_is_slowed_and_keeps_nobody_out() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let link = site.link_for(ada);
    let mut thief = site.stranger();
    let guesses: Vec<u16> =
        (0..25).map(|n| thief.post("/login", &[("code", &format!("0Guess{n:016}"))]).status).collect();
    assert_eq!((guesses[0], guesses[24]), (403, 429));
    let mut browser = site.stranger();
    assert_eq!(browser.post("/login", &[("code", link.split_once('#').unwrap().1)]).status, 303);
    site.stop();
}

#[test]
fn other_hosts_origins_and_forms_are_refused() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let token = browser.get("/talk").field("token");
    let once = browser.get("/talk").field("once");
    let fields = [("token", token.as_str()), ("once", once.as_str()), ("text", "add a task to be forged")];
    for (name, value, status) in [
        ("Host", "evil.example", 421),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        // No origin at all.
        ("Origin", "", 403),
    ] {
        browser.headers = vec![(name, value.to_owned())];
        assert_eq!(browser.post("/say", &fields).status, status, "{name}: {value}");
    }
    browser.headers.clear();
    assert_eq!(browser.post("/say", &fields[1..]).status, 403, "without the token");
    let wrong = [("token", "0"), fields[1], fields[2]];
    assert_eq!(browser.post("/say", &wrong).status, 403, "with another token");
    let page = browser.get("/talk");
    for (name, value) in [
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(!page.body.contains("<script>") && !page.body.contains("style=\""), "nothing is inline");
    assert_eq!(site.home.tasks(), [""; 0]);
    site.stop();
}

#[test]
fn odd_requests_are_refused_and_nobody_is_slowed() {
    let mut site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let long = "x".repeat(10_000_000);
    let answer = browser.submit("/say", &[("once", "0"), ("text", &long)]);
    assert!(matches!(answer.status, 413 | 0), "{}", answer.status);
    let refused = site.gateway.as_mut().unwrap().get("/metrics").1;
    assert!(refused.contains("adjutant_page_refused_total{reason=\"size\"} 1"), "{refused}");
    let once = browser.get("/talk").field("once");
    assert_eq!(browser.submit("/say", &[("once", &once), ("text", " ")]).status, 422);
    assert_eq!(browser.submit("/say", &[("once", "../1"), ("text", "a")]).status, 422);
    for (path, status) in [
        ("/turn/..%2f..%2fetc%2fpasswd", 404),
        ("/turn/nothing", 404),
        ("/details/'%20OR%201=1", 404),
        ("/assets/../../config.toml", 404),
        ("/talk?person=nobody", 404),
        ("/talk?before=-1", 200),
        ("/talk?before=x", 200),
        ("/people", 404),
        ("/events?after=x", 400),
        ("/events?after=0-0&person=nobody", 404),
        ("/say", 405),
    ] {
        assert_eq!(browser.get(path).status, status, "{path}");
    }
    assert_eq!(browser.get("/talk").status, 200);
    site.stop();
}

#[test]
fn another_machine_needs_https() {
    let home = crate::process::Home::new();
    let check = |lines: &str| {
        home.write("config.toml", &format!("[channels.web]\n{lines}\n"));
        let ended = home.run(&["config", "check"]);
        (ended.status, ended.stderr)
    };
    assert_eq!(check("listen = \"127.0.0.1:8090\"").0, Some(0));
    assert_eq!(check("listen = \"0.0.0.0:8090\"\npublic_url = \"https://bot.example.org\"").0, Some(0));
    for (lines, words) in [
        ("listen = \"0.0.0.0:8090\"", "set public_url"),
        ("listen = \"[::]:8090\"\npublic_url = \"http://bot.example.org\"", "must begin with https://"),
        ("public_url = \"https://bot.example.org/page\"", "nothing behind the host"),
        ("listen = \"8090\"", "ADDRESS:PORT"),
        ("token = \"x\"", "unknown key"),
    ] {
        let (status, text) = check(lines);
        assert!(status == Some(78) && text.contains(words), "{lines}: {text}");
    }
}
