//! Nothing of a person's login lies open: not its code, proof, tokens or password, whatever goes wrong with it.

use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET};

use crate::accounts_kill::{allowed, is_connected};
use crate::process::{Chat, Ended, Home, button, json};
use crate::secrets::{files, has};

/// A password that somebody types into the chat.
const TYPED: &str = "abcd-efgh-ijkl-mnop";
const QUESTION: &str = "what is on my calendar on 2030-03-04?";

/// A home whose calendars are at the cloud, which knows none, and repeats a token that it doesn't take.
fn home(cloud: &FakeCloud) -> Home {
    let (connect, origin) = (cloud.connect_google(), cloud.origin());
    Home::with_config(&format!("{connect}caldav_url = \"{origin}/caldav\"\n"))
}

/// A conversation in which everything goes wrong. Returns what was logged.
fn talk(cloud: &FakeCloud, home: &Home) -> String {
    let mut command = home.command(&["chat", "--json"]);
    command.env("ADJUTANT_LOG", "trace");
    let mut chat = Chat::start(command);
    let back = allowed(cloud, &mut chat, "m1");
    chat.send(&json!({"id": "m2", "text": back}));
    chat.find(is_connected);
    chat.say("m3", "/connect fastmail");
    let typed = chat.say("m4", TYPED);
    assert!(typed["text"].as_str().unwrap().starts_with("Please don't send me passwords"), "{typed}");
    // There is no calendar.
    chat.say("m5", QUESTION);
    // The token is refused, and the next one, too.
    cloud.state().logins.good.clear();
    chat.say("m6", QUESTION);
    // Instead of a new one, there is a web page.
    cloud.state().logins.good.clear();
    cloud.state().logins.is_down = true;
    chat.say("m7", QUESTION);
    cloud.state().logins.is_down = false;
    cloud.state().logins.revoke();
    let ended = chat.say("m8", QUESTION);
    chat.press("p1", &button(&ended, "Skip it"));
    let (status, log) = chat.finish();
    assert_eq!(status, Some(0), "{log}");
    format!("{log}\n{:?}", chat.seen)
}

#[test]
fn nothing_of_an_account_lies_open_whatever_goes_wrong() {
    let cloud = FakeCloud::start();
    cloud.state().logins.person = "ada@example.test".into();
    let home = home(&cloud);
    let mut said = vec![("chat".to_owned(), talk(&cloud, &home))];
    let words: [&[&str]; 6] = [
        &["doctor"],
        &["account", "list"],
        &["db", "export", "console:local"],
        &["db", "check"],
        &["trace", "--json", "--calls"],
        &["db", "backup", "copy.db"],
    ];
    for words in words {
        let ended = Ended::of(home.command(words).env("ADJUTANT_LOG", "trace").output().unwrap());
        said.push((words.join(" "), format!("{ended:?}")));
    }
    let mut secrets = cloud.state().logins.given.clone();
    for kind in ["code", "access", "refresh"] {
        assert!(secrets.iter().any(|secret| secret.starts_with(kind)), "no {kind} in {secrets:?}");
    }
    secrets.extend(cloud.state().logins.verifiers.clone());
    secrets.push(TYPED.to_owned());
    assert!(secrets.iter().all(|secret| secret.len() > 10), "{secrets:?}");
    for (what, text) in &said {
        let told = secrets.iter().map(String::as_str).chain([SECRET]).find(|secret| text.contains(secret));
        assert_eq!(told, None, "{what}: {text}");
    }
    let all = files(home.path());
    for must_hold in ["ada@example.test", CLIENT] {
        assert!(all.iter().any(|(_, bytes)| has(bytes, must_hold)), "files are read: {must_hold}");
    }
    assert!(all.iter().any(|(name, _)| name.ends_with("copy.db")));
    for (name, bytes) in all {
        let found = secrets.iter().find(|secret| has(&bytes, secret));
        assert_eq!(found, None, "{name}");
        assert!(name.ends_with("config.toml") || !has(&bytes, SECRET), "{name}");
    }
}
