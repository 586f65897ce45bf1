//! Sealed logins: nothing of them lies open anywhere, and a rotation that dies goes on.

use std::fs;
use std::path::Path;

use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET};

use crate::process::{Ended, Home};

/// Two logins.
fn home(cloud: &FakeCloud) -> Home {
    let login = |name: &str| {
        format!(
            "[oauth.{name}]\ntoken_url = \"{0}/token\"\ndevice_url = \"{0}/device\"\nclient_id = \"{CLIENT}\"\n\
             client_secret = \"{SECRET}\"\n",
            cloud.origin()
        )
    };
    let home = Home::with_config(&format!("{}{}", login("google"), login("crm")));
    for name in ["google", "crm"] {
        let done = home.run(&["oauth", "login", name, "--device"]);
        assert_eq!(done.status, Some(0), "{done:?}");
    }
    home
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.is_file() {
            all.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    all
}

pub(crate) fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn nothing_of_a_login_lies_open() {
    let cloud = FakeCloud::start();
    let home = home(&cloud);
    let words: [&[&str]; 6] = [
        &["chat", "--once", "hello"],
        &["doctor"],
        &["oauth", "list"],
        &["db", "export", "console:local"],
        &["trace", "--json", "--calls"],
        &["db", "backup", "copy.db"],
    ];
    for words in words {
        let ended = Ended::of(home.command(words).env("ADJUTANT_LOG", "trace").output().unwrap());
        assert!(!format!("{ended:?}").contains("t0ken"), "{words:?}: {ended:?}");
    }
    let key = fs::read_to_string(home.data().join("secrets.key")).unwrap();
    let key = key.split_whitespace().next_back().unwrap();
    let all = files(home.path());
    assert!(all.iter().any(|(name, _)| name.ends_with("copy.db")));
    for (name, bytes) in all {
        assert!(!has(&bytes, "t0ken"), "{name} holds a token");
        assert!(name.ends_with("secrets.key") || !has(&bytes, key), "{name} holds the key");
    }
}

#[test]
fn a_rotation_that_dies_goes_on_and_a_lost_key_costs_the_logins_alone() {
    let cloud = FakeCloud::start();
    let home = home(&cloud);
    let logged_in = || home.run(&["oauth", "list"]).stdout.matches("logged in since 2").count();
    for point in ["key-added", "secret-sealed"] {
        let mut rotate = home.command(&["secrets", "rotate"]);
        let died = Ended::of(rotate.env("ADJUTANT_FAIL_POINT", point).output().unwrap());
        assert_eq!(died.status, None, "{point}: {died:?}");
        assert_eq!(logged_in(), 2, "{point}");
    }
    assert_eq!(home.run(&["secrets", "rotate"]).stdout, "1 secret sealed anew.\n");
    assert_eq!(logged_in(), 2);
    assert_eq!(home.run(&["secrets", "rotate"]).stdout, "2 secrets sealed anew.\n");

    fs::remove_file(home.data().join("secrets.key")).unwrap();
    let lost = home.run(&["oauth", "list"]).stdout;
    assert!(lost.contains("isn't there, but 2 stored logins are sealed with its key"), "{lost}");
    assert_eq!(home.run(&["secrets", "rotate"]).status, Some(1));
    let forgotten = home.run(&["secrets", "rotate", "--forget"]);
    assert!(forgotten.stdout.ends_with("2 secrets forgotten: these need a new login.\n"), "{forgotten:?}");
    assert_eq!(logged_in(), 0);
    assert_eq!(home.run(&["oauth", "login", "google", "--device"]).status, Some(0));
    assert_eq!(logged_in(), 1);
}
