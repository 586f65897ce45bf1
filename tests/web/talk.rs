//! Conversations on the page: what was said elsewhere, writing, answering, stopping, and who may see what.

use std::fs::DirEntry;
use std::path::Path;

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::speech::{FakeSpeech, note};
use adjutant_store::Batch;

use crate::client::Site;
use crate::gateway::{eventually, wait_until};

#[test]
fn what_was_said_elsewhere_is_there_and_one_can_write() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    site.telegram.say(ada, ada, "add a task to call <b>Bob</b> & co");
    let mut browser = site.browser(ada);
    let page = browser.sees("/talk", "Added “call");
    assert!(page.contains("add a task to call &lt;b&gt;Bob&lt;/b&gt; &amp; co"), "{page}");
    assert!(!page.contains("/login#") && !page.contains(">/web<"), "whoever reads it is signed in: {page}");
    for part in ["tasks.create", "Orchestrator", "class=\"badge done\"", ">telegram<", "<time datetime=\"20"]
    {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
    browser.say("add a task to write from the page");
    let page = browser.sees("/talk", "Added “write from the page”");
    assert!(page.contains(">web<"), "{page}");
    assert_eq!(site.home.tasks(), ["call <b>Bob</b> & co", "write from the page"]);
    let execution = page.split("/details/").nth(1).unwrap().split('"').next().unwrap();
    let details = browser.get(&format!("/details/{execution}"));
    assert_eq!(details.status, 200);
    let log = site.stop();
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn a_form_sent_twice_is_one_message() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let once = browser.get("/talk").field("once");
    for _ in 0..3 {
        let fields = [("once", once.as_str()), ("text", "add a task to be there once")];
        assert_eq!(browser.submit("/say", &fields).status, 303);
    }
    browser.sees("/talk", "Added “be there once”");
    assert_eq!(site.home.count("SELECT count(*) FROM inbox WHERE kind = 'said'"), 1);
    site.stop();
}

#[test]
fn a_file_is_uploaded_sent_and_saved_again_by_its_sender_alone() {
    let site = Site::start("");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let page = browser.get("/talk");
    let content = [("hello", "Bob")];
    assert_eq!(browser.post("/upload", &content).status, 403, "no other site can upload");
    let mut uploader = browser.clone();
    uploader.headers.push(("X-Form-Token", page.field("token")));
    let uploaded = uploader.post("/upload", &content);
    assert_eq!(uploaded.status, 200, "{}", uploaded.body);
    let (once, key) = (page.field("once"), uploaded.body);
    // What is no key of an upload is no file, wherever it leads.
    let files = [format!("{key}:my <notes>.txt"), "../../config.toml:config.toml".to_owned()];
    // Nor is somebody else's.
    let once_of_other = other.get("/talk").field("once");
    let taken = [("once", once_of_other.as_str()), ("text", "what is overdue?"), ("file", &files[0])];
    assert_eq!(other.submit("/say", &taken).status, 303);
    assert!(!other.sees("/talk", "No overdue tasks").contains("/sent/"));
    let fields = [("once", once.as_str()), ("text", ""), ("file", &files[0]), ("file", &files[1])];
    assert_eq!(browser.submit("/say", &fields).status, 303);
    let page = browser.sees("/talk", "href=\"/sent/");
    assert!(page.contains("my notes.txt") && !page.contains("config.toml"), "{page}");
    let address = format!("/sent/{}", page.split("href=\"/sent/").nth(1).unwrap().split('"').next().unwrap());
    let saved = browser.get(&address);
    assert_eq!((saved.status, saved.body.as_str()), (200, "hello=%42%6F%62"));
    assert!(saved.header("content-disposition").unwrap().starts_with("attachment; "));
    assert_eq!(other.get(&address).status, 404);
    assert!(browser.get("/things").body.contains(&address));
    let log = site.stop();
    assert!(!log.contains("panicked"), "{log}");
}

/// How many uploads lie in a folder.
fn uploads_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |entry: DirEntry| match entry.path().is_dir() {
        true => uploads_in(&entry.path()),
        false => usize::from(entry.file_name().to_string_lossy().starts_with("upload-")),
    };
    entries.map(count).sum()
}

#[test]
fn an_upload_that_is_too_big_or_one_too_many_is_not_kept() {
    let mut site = Site::start("");
    let mut browser = site.browser(site.telegram.person("Ada"));
    let mut other = site.browser(site.telegram.person("Eve"));
    let key = browser.upload("small");
    assert_eq!(uploads_in(&site.home.data()), 1);
    let token = browser.get("/talk").field("token");
    browser.headers.push(("X-Form-Token", token));
    // Each character is sent as three.
    let big = browser.post("/upload", &[("x", &"x".repeat(8_000_000))]);
    assert!(matches!(big.status, 413 | 0), "{}", big.status);
    assert!(
        big.status == 0 || big.body.contains("I didn't take “#”: it's too big; I take up to 20 MB"),
        "{}",
        big.body
    );
    assert_eq!(uploads_in(&site.home.data()), 1);
    let refused = site.gateway.as_mut().unwrap().get("/metrics").1;
    assert!(refused.contains("adjutant_page_refused_total{reason=\"size\"} 1"), "{refused}");
    // Nobody fills the disk with what they never send; the key begins with whose it is.
    let begin = &key[..key.len() - 22];
    for number in 1..50 {
        std::fs::write(site.home.data().join(format!("files/{begin}{number}")), "x").unwrap();
    }
    // At a 5xx the page would go on trying.
    let refused = browser.post("/upload", &[("x", "x")]);
    assert_eq!((refused.status, refused.body.contains("Send some")), (413, true), "{}", refused.body);
    other.upload("small");
    site.stop();
}

#[test]
fn what_is_spoken_on_the_page_is_heard_like_any_voice_note() {
    const WORDS: &str = "add a task to call Ada";
    let speech = FakeSpeech::start();
    speech.knows(WORDS.as_bytes(), WORDS);
    let site = Site::start(&format!(
        "[voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{}\"\n",
        speech.base_url()
    ));
    let mut browser = site.browser(site.telegram.person("Ada"));
    let page = browser.get("/talk");
    assert!(page.body.contains("id=\"speak\"") && page.body.contains("data-most=\"600\""), "{}", page.body);
    assert!(page.header("permissions-policy").unwrap().contains("microphone=(self)"));
    let key = browser.upload(&String::from_utf8(note(2, WORDS)).unwrap());
    let (once, spoken) = (page.field("once"), format!("{key}:2"));
    for _ in 0..2 {
        let fields = [("once", once.as_str()), ("text", ""), ("spoken", spoken.as_str())];
        assert_eq!(browser.submit("/say", &fields).status, 303);
    }
    browser.sees("/talk", "Added “call Ada”");
    assert_eq!(site.home.tasks(), ["call Ada"]);
    for spoken in ["", "upload-x", "upload-x:soon"] {
        let fields = [("once", once.as_str()), ("text", ""), ("spoken", spoken)];
        assert_eq!(browser.submit("/say", &fields).status, 422, "{spoken}");
    }
    site.stop();
}

#[test]
fn the_page_has_its_assistants_name_and_says_what_web_is_for() {
    let site = Site::start("[assistant]\nname = \"Jarvis <b>\"\n");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    browser.say("/web");
    let page = browser.sees("/talk", "on the page already");
    assert!(!page.contains("/login#") && !page.contains("id=\"speak\""), "{page}");
    assert!(page.contains("<span class=\"brand\">Jarvis &lt;b&gt;</span>"), "{page}");
    assert!(
        page.contains("<b>Jarvis &lt;b&gt;</b>") && page.contains(" · Jarvis &lt;b&gt;</title>"),
        "{page}"
    );
    site.stop();
}

#[test]
fn a_conversation_can_be_limited_to_a_channel() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    site.telegram.say(ada, ada, "add a task to write there, see https://a.example/x.");
    let mut browser = site.browser(ada);
    browser.say("add a task to write here");
    let page = browser.sees("/talk", "Added “write here”");
    assert!(page.contains("<a href=\"https://a.example/x\" rel=\"noopener noreferrer nofollow\">"), "{page}");
    let own = browser.sees("/talk?channel=web", "Added “write here”");
    assert!(!own.contains("write there"), "{own}");
    let own = browser.sees("/talk?channel=telegram", "write there");
    assert!(!own.contains("write here"), "{own}");
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        batch.run("UPDATE conversations SET shared = 1 WHERE channel = 'telegram'", []);
        store.write(batch).await.unwrap();
    });
    assert!(browser.get("/talk").body.contains(">telegram, group<"));
    // The time of a message leads to it.
    let link = page.split("class=\"at\" href=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (path, message) = link.split_once('#').unwrap();
    assert!(browser.get(path).body.contains(&format!("id=\"{message}\"")));
    site.stop();
}

#[test]
fn questions_about_a_days_budget_are_answered_at_once() {
    let model = FakeModel::start(|_| Reply::text("Fine."));
    let site = Site::start(&format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[limits]\nday_tokens = 10\n[model]\nprovider = \"openai\"\n\
         name = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    // The first one uses it up.
    site.telegram.say(ada, ada, "how are you?");
    wait_until("it is answered", || {
        site.telegram.seen(ada).iter().any(|seen| seen.text.starts_with("Fine."))
    });
    for number in 1..=3 {
        site.telegram.say(ada, ada, &format!("how are you, the {number}th time?"));
        wait_until("it waits", || {
            site.home.count("SELECT count(*) FROM questions WHERE state = 'pending' AND outbox_id <> ''")
                == number
        });
    }
    let page = browser.sees("/", "3 requests wait");
    assert!(page.contains("name=\"all\" value=\"continue\"") && page.contains("Stop all"), "{page}");
    assert!(!other.get("/").body.contains("name=\"all\""));
    assert_eq!(other.submit("/press", &[("all", "stop")]).status, 303, "she has none");
    assert_eq!(browser.submit("/press", &[("all", "approve")]).status, 409);
    assert_eq!(site.home.count("SELECT count(*) FROM questions WHERE state = 'pending'"), 3);
    assert_eq!(browser.submit("/press", &[("all", "stop")]).status, 303);
    wait_until("all have ended", || {
        site.home.count("SELECT count(*) FROM turns WHERE ended_at IS NULL") == 0
    });
    assert!(!browser.get("/").body.contains("name=\"all\""));
    site.stop();
}

/// Ada is asked on Telegram whether a task may be deleted.
fn asked(site: &Site, ada: i64) -> i64 {
    site.telegram.say(ada, ada, "add a task to buy milk");
    wait_until("it is added", || site.telegram.seen(ada).iter().any(|seen| seen.text.contains("Added")));
    site.telegram.say(ada, ada, "delete the task about milk");
    eventually("the question", || {
        site.telegram.seen(ada).into_iter().find(|seen| !seen.buttons.is_empty()).map(|seen| seen.id)
    })
}

#[test]
fn an_answer_on_the_page_closes_the_question_elsewhere() {
    let site = Site::start("[approval]\nmedium = \"ask\"\n");
    let ada = site.telegram.person("Ada");
    asked(&site, ada);
    let mut browser = site.browser(ada);
    let page = browser.sees("/", "Approve");
    assert!(page.contains("class=\"badge waiting\""), "{page}");
    browser.sees("/", "<title>(1) Now");
    let at = page.find(":approve\"").unwrap();
    let button = page[..at].rsplit('"').next().unwrap();
    let answer = browser.submit("/press", &[("button", &format!("{button}:approve"))]);
    assert_eq!(answer.status, 303, "{}", answer.body);
    wait_until("the task is deleted", || site.home.tasks().is_empty());
    wait_until("the buttons are gone", || site.telegram.seen(ada).iter().all(|seen| seen.buttons.is_empty()));
    let page = browser.sees("/talk", "Approved");
    assert!(!page.contains("action=\"/press\""), "{page}");
    // The question says who answered it, and where.
    let outcome = page.split("class=\"outcome\"").nth(1).unwrap_or_else(|| panic!("{page}"));
    let outcome = &outcome[..outcome.find("</p>").unwrap()];
    assert!(outcome.contains("<b>Ada approved</b>") && outcome.ends_with("on the page"), "{outcome}");
    assert!(browser.sees("/", "Recently answered").contains("Ada approved"));
    let late = browser.submit("/press", &[("button", &format!("{button}:reject"))]);
    assert!(late.status == 409 && late.body.contains("You already answered"), "{}", late.body);
    site.stop();
}

#[test]
fn an_answer_elsewhere_closes_the_question_on_the_page() {
    let site = Site::start("[approval]\nmedium = \"ask\"\n");
    let ada = site.telegram.person("Ada");
    let question = asked(&site, ada);
    let mut browser = site.browser(ada);
    browser.sees("/", "Approve");
    site.telegram.press(ada, ada, question, "Approve");
    let page = browser.sees("/talk", "Deleted");
    assert!(!page.contains("action=\"/press\"") && page.contains("on telegram</p>"), "{page}");
    browser.sees("/", "No question is open.");
    site.stop();
}

#[test]
fn a_no_is_no_failure() {
    let site = Site::start("[approval]\nmedium = \"ask\"\n");
    let ada = site.telegram.person("Ada");
    let question = asked(&site, ada);
    let mut browser = site.browser(ada);
    site.telegram.press(ada, ada, question, "Reject");
    let page = browser.sees("/talk", "I didn");
    assert!(page.contains("class=\"badge stopped\""), "{page}");
    assert!(!page.contains("class=\"badge partial\"") && !page.contains("class=\"badge failed\""), "{page}");
    site.stop();
}

#[test]
fn a_thousand_presses_are_one_answer() {
    let site = Site::start("[approval]\nmedium = \"ask\"\n");
    let ada = site.telegram.person("Ada");
    asked(&site, ada);
    let mut browser = site.browser(ada);
    let page = browser.sees("/", "Approve");
    let at = page.find(":approve\"").unwrap();
    let question = page[..at].rsplit('"').next().unwrap();
    let token = browser.get("/talk").field("token");
    let presses: Vec<_> = (0..20)
        .map(|number| {
            let (mut browser, token) = (browser.clone(), token.clone());
            let button = format!("{question}:{}", if number % 2 == 0 { "approve" } else { "reject" });
            std::thread::spawn(move || {
                for _ in 0..50 {
                    let status = browser.post("/press", &[("token", &token), ("button", &button)]).status;
                    assert!(matches!(status, 303 | 409), "{status}");
                }
            })
        })
        .collect();
    presses.into_iter().for_each(|press| press.join().unwrap());
    wait_until("it is answered", || {
        site.home.count("SELECT count(*) FROM turns WHERE ended_at IS NULL") == 0
    });
    assert_eq!(site.home.count("SELECT count(*) FROM questions WHERE state = 'answered'"), 1);
    assert!(site.home.count("SELECT count(*) FROM inbox WHERE kind = 'press'") <= 2);
    site.stop();
}

#[test]
fn a_waiting_turn_is_stopped_on_the_page() {
    let site = Site::start("[approval]\nmedium = \"ask\"\n");
    let ada = site.telegram.person("Ada");
    asked(&site, ada);
    let mut browser = site.browser(ada);
    let turn = browser.sees("/", "Stop").split("name=\"turn\" value=\"").nth(1).unwrap()[..22].to_owned();
    let mut eve = site.browser(site.telegram.person("Eve"));
    assert_eq!(eve.submit("/stop", &[("turn", &turn)]).status, 409, "it isn't hers");
    assert_eq!(browser.submit("/stop", &[("turn", &turn)]).status, 303);
    browser.sees("/talk", "class=\"badge stopped\"");
    assert_eq!(browser.submit("/stop", &[("turn", &turn)]).status, 409, "it has ended");
    assert_eq!(site.home.tasks(), ["buy milk"]);
    site.stop();
}

#[test]
fn people_see_their_own_and_owners_see_all_which_is_logged() {
    let site = Site::start("[assistant]\nowner = [\"telegram:1000\"]\n");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    assert_eq!(ada, 1000);
    site.telegram.say(eve, eve, "add a task to keep a secret");
    let (mut owner, mut own) = (site.browser(ada), site.browser(eve));
    let page = own.sees("/talk", "Added “keep a secret”");
    let turn = page.split("id=\"turn-").nth(1).unwrap()[..22].to_owned();
    let execution = page.split("/details/").nth(1).unwrap()[..22].to_owned();
    assert!(!owner.get("/talk").body.contains("secret"), "it is in another conversation");
    owner.say("what is overdue?");
    // What the settings ask for: the accounts, and who is an owner.
    let people = owner.sees("/people", "</time> · owner<div class=\"by\">telegram:1000</div>");
    assert!(people.contains(&format!("</time><div class=\"by\">telegram:{eve}</div>")), "{people}");
    let people = people.split(&format!(">telegram:{eve}<")).next().unwrap().rsplit("<li>").next().unwrap();
    let address = people.split("/talk?person=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let looked = owner.get(&format!("/talk?person={address}"));
    assert!(looked.body.contains("secret"), "{}", looked.body);
    let mut mallory = site.browser(site.telegram.person("Mallory"));
    for path in [
        format!("/talk?person={address}"),
        format!("/turn/{turn}"),
        format!("/turn/{turn}?part"),
        format!("/details/{execution}"),
        format!("/events?after=0-0&person={address}"),
        "/people".to_owned(),
    ] {
        let answer = mallory.get(&path);
        assert!(answer.status == 404 && !answer.body.contains("secret"), "{path}: {}", answer.status);
    }
    let log = site.stop();
    assert!(log.contains("an owner looks at somebody else's conversation"), "{log}");
}

#[test]
fn who_is_shut_out_is_shut_out_here_too() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    assert_eq!(browser.get("/talk").status, 200);
    let config = std::fs::read_to_string(site.home.path().join("config.toml")).unwrap();
    site.home.write("config.toml", &config.replace("allow = [\"*\"]", "allow = []"));
    site.gateway.as_ref().unwrap().signal("HUP");
    wait_until("she is shut out", || browser.get("/talk").status == 401);
    site.stop();
}
