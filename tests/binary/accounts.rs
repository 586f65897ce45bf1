//! `adjutant account`: connecting, listing and disconnecting at the machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use adjutant_fakes::cloud::FakeCloud;

use crate::accounts_kill::{allowed, is_connected};
use crate::process::{Home, json};

/// A home in which people can connect accounts at a stand-in for Google, whose calendars can't be reached.
pub(crate) fn home(cloud: &FakeCloud) -> Home {
    Home::with_config(&format!("{}caldav_url = \"http://127.0.0.1:1/\"\n", cloud.connect_google()))
}

#[test]
fn without_connect_nothing_can_be_connected_and_it_is_said_how() {
    let home = Home::new();
    let listed = home.run(&["account", "list"]);
    assert_eq!(listed.status, Some(0), "{listed:?}");
    assert!(listed.stdout.starts_with("No account is connected."), "{listed:?}");
    let added = home.run(&["account", "add"]);
    assert_eq!(added.status, Some(1), "{added:?}");
    assert!(added.stderr.contains("add [connect] to the configuration"), "{added:?}");
    let removed = home.run(&["account", "remove", "x1"]);
    assert!(removed.stderr.contains("there is no such account"), "{removed:?}");
    let cloud = FakeCloud::start();
    let several = self::home(&cloud).run(&["account", "add"]);
    assert_eq!(several.status, Some(2), "{several:?}");
    assert!(several.stderr.contains("name one with --provider: google, password"), "{several:?}");
}

#[test]
fn somebody_who_does_not_allow_it_has_connected_nothing() {
    let cloud = FakeCloud::start();
    cloud.state().logins.is_denied = true;
    let home = home(&cloud);
    let mut add = home.command(&["account", "add", "--provider", "google"]);
    add.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut add = add.spawn().unwrap();
    let mut said = BufReader::new(add.stdout.take().unwrap());
    let mut page = String::new();
    while !page.trim().starts_with("http://") {
        page.clear();
        assert!(said.read_line(&mut page).unwrap() > 0, "no address");
    }
    let back = cloud.opens(page.trim());
    writeln!(add.stdin.take().unwrap(), "{back}").unwrap();
    let ended = add.wait_with_output().unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{rest} {stderr}");
    assert!(stderr.contains("connected nothing"), "{rest} {stderr}");
    assert_eq!(home.count("SELECT count(*) FROM connected_accounts"), 0);
    assert_eq!(home.count("SELECT count(*) FROM logins WHERE state <> 'refused' OR sealed <> ''"), 0);
    assert_eq!(cloud.state().complaints, [""; 0]);
}

#[test]
fn what_is_shared_at_the_machine_is_shared_and_who_is_erased_is_logged_out() {
    let cloud = FakeCloud::start();
    cloud.state().logins.person = "ada@example.test".into();
    let home = home(&cloud);
    let mut chat = home.chat();
    let back = allowed(&cloud, &mut chat, "m1");
    chat.send(&json!({"id": "m2", "text": back}));
    chat.find(is_connected);
    chat.finish();
    let listed = home.run(&["account", "list"]).stdout;
    let id = listed.split_whitespace().next().unwrap();
    assert!(listed.contains("of "), "{listed}");
    assert_eq!(home.run(&["account", "share", id]).status, Some(2), "with whom?");
    let nobody = home.run(&["account", "share", id, "--person", "eve"]);
    assert!(nobody.stderr.contains("nobody is known"), "{nobody:?}");
    let unknown = home.run(&["account", "share", "x1", "--everybody"]);
    assert!(unknown.stderr.contains("there is no such account of yours"), "{unknown:?}");
    assert_eq!(home.count("SELECT count(*) FROM connected_accounts WHERE person_id IS NULL"), 0);
    let everybody = home.run(&["account", "share", id, "--everybody"]);
    assert_eq!(everybody.stdout, "Everybody can use it now.\n", "{everybody:?}");
    assert!(home.run(&["account", "list"]).stdout.contains(", shared, "));
    // What nobody else has goes with its person.
    let some = home.run(&["account", "share", id, "--person", "console:local"]);
    assert!(some.stdout.ends_with(" can use it now.\n"), "{some:?}");
    assert_eq!(home.count("SELECT count(*) FROM account_people"), 1);
    let erased = home.run(&["db", "erase", "console:local", "--yes"]);
    assert_eq!(erased.status, Some(0), "{erased:?}");
    assert_eq!(home.count("SELECT count(*) FROM connected_accounts"), 0);
    let state = cloud.state();
    assert_eq!(state.logins.ended.len(), 1, "the provider was told once");
    assert_eq!(state.complaints, [""; 0]);
}
