//! `adjutant oauth`: logging in as a person does.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET, get};

use crate::process::Home;

fn home(cloud: &FakeCloud) -> Home {
    let origin = cloud.origin();
    Home::with_config(&format!(
        "[oauth.google]\nauth_url = \"{origin}/authorize\"\ntoken_url = \"{origin}/token\"\n\
         device_url = \"{origin}/device\"\nclient_id = \"{CLIENT}\"\nclient_secret = \"{SECRET}\"\n\
         scopes = [\"drive\"]\n"
    ))
}

#[test]
fn a_person_logs_in_looks_and_logs_out() {
    let cloud = FakeCloud::start();
    let home = home(&cloud);
    let open = home.run(&["oauth", "list"]);
    assert_eq!(open.stdout, "google: not logged in; run `adjutant oauth login google`\n");
    let mut login = home.command(&["oauth", "login", "google"]);
    let mut login = login.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(login.stdout.take().unwrap());
    let mut page = String::new();
    while !page.trim().starts_with("http://") {
        page.clear();
        assert!(said.read_line(&mut page).unwrap() > 0, "no address");
    }
    let seen = get(&cloud.opens(page.trim())).unwrap();
    assert!(seen.ends_with("You are logged in. You can close this page."), "{seen}");
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("You are logged in: google\n"), "{rest}");
    assert!(login.wait().unwrap().success());
    let listed = home.run(&["oauth", "list"]);
    assert!(listed.stdout.starts_with("google: logged in since 2"), "{listed:?}");
    assert!(!format!("{rest}{listed:?}").contains("t0ken"));
    let out = home.run(&["oauth", "logout", "google"]);
    assert!(out.stdout.starts_with("google: logged out."), "{out:?}");
    assert!(home.run(&["oauth", "list"]).stdout.contains("not logged in"));
    assert_eq!(cloud.state().complaints, [""; 0]);
}

#[test]
fn a_code_is_shown_and_a_wrong_client_says_what_to_check() {
    let cloud = FakeCloud::start();
    let right = home(&cloud);
    let done = right.run(&["oauth", "login", "google", "--device"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(done.stdout.contains("Open https://www.google.com/device on any device"), "{done:?}");
    assert!(done.stdout.contains("\n  WDJB-MJHT\n"), "{done:?}");
    let wrong = Home::with_config(&format!(
        "[oauth.google]\ndevice_url = \"{0}/device\"\ntoken_url = \"{0}/token\"\nclient_id = \"nobody\"\n",
        cloud.origin()
    ));
    let refused = wrong.run(&["oauth", "login", "google"]);
    assert_eq!(refused.status, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("Check `client_id` and `client_secret` in [oauth.google]"),
        "{refused:?}"
    );
    let unknown = wrong.run(&["oauth", "login", "gogle"]);
    assert!(unknown.stderr.contains("there is no [oauth.gogle] in the configuration"), "{unknown:?}");
    let checked = wrong.run(&["doctor"]);
    assert!(checked.stdout.contains("→ run `adjutant oauth login google`"), "{checked:?}");
}
