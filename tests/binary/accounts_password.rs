//! Somebody's mailbox by app password, at real servers that the DNS of their address names.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use adjutant_fakes::mail_server::{self, Server};
use adjutant_fakes::resolver;
use adjutant_fakes::telegram::FakeTelegram;
use adjutant_test_support::client::{Site, free_address};

use crate::gateway::Gateway;
use crate::groupware::arrived;
use crate::process::{Chat, Ended, Home};
use crate::secrets::{files, has};

/// A configuration in which the domain of the mail server's people names it, and accounts are connected by password.
fn config(server: &Server) -> String {
    let services = vec![
        ("_imaps._tcp.example.test", server.imaps),
        ("_submissions._tcp.example.test", server.submissions),
    ];
    format!(
        "[dns]\nresolver = \"{}\"\n[approval]\nhigh = \"auto\"\n[connect]\noffer = [\"password\"]\n",
        resolver::naming(services).unwrap()
    )
}

/// The certificates that the system trusts are those of the mail server.
fn trusted(server: &Server) -> (&'static str, PathBuf) {
    ("SSL_CERT_FILE", server.file("ca.pem"))
}

fn command(home: &Home, server: &Server, words: &[&str]) -> Command {
    let (name, value) = trusted(server);
    let mut command = home.command(words);
    command.env(name, value);
    command
}

/// Connects alice's mailbox at the machine.
fn add(home: &Home, server: &Server, password: &str) -> Ended {
    let mut add = command(home, server, &["account", "add"]);
    let mut add = add.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    write!(add.stdin.take().unwrap(), "alice@example.test\n{password}\n").unwrap();
    Ended::of(add.wait_with_output().unwrap())
}

#[test]
fn an_app_password_connects_a_mailbox_that_is_used_at_once() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let home = Home::with_config(&config(server));
    let refused = add(&home, server, "wrong-secret");
    assert_eq!(refused.status, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("doesn't accept that password"), "{refused:?}");
    assert!(!format!("{refused:?}").contains("wrong-secret"), "{refused:?}");
    assert_eq!(home.count("SELECT count(*) FROM connected_accounts"), 0);
    let added = add(&home, server, "alice-secret");
    assert_eq!(added.status, Some(0), "{added:?}");
    let connected = "✓ Connected alice@example.test: email. It's called “example”, and only you can use it. \
                     I couldn't reach calendar and contacts there.";
    assert!(added.stdout.contains(connected), "{added:?}");

    let mut chat = Chat::start(command(&home, server, &["chat", "--json"]));
    let sent = chat.say("m1", "email alice@example.test: Third note");
    assert_eq!(sent["text"], "Sent “Third note” to alice@example.test");
    for place in [("alice", ""), ("alice", ".Sent")] {
        assert_eq!(arrived(server, place, "Third note", 1).len(), 1, "{place:?}");
    }
    let found = chat.say("m2", "find mails from alice about note");
    assert!(found["text"].as_str().unwrap().contains("Third note"), "{found}");
    let listed = chat.say("m3", "/accounts");
    let line = "Your accounts:\n\n- “example”, alice@example.test: email (sends your email)";
    assert_eq!(listed["text"], line);
    chat.finish_well();
    home.assert_tidy("by password");
    for (name, bytes) in files(home.path()) {
        assert!(!has(&bytes, "alice-secret") && !has(&bytes, "wrong-secret"), "{name} holds a password");
    }
}

/// The same right password, typed by somebody who isn't at the machine.
#[test]
fn an_address_that_leads_into_our_own_network_is_refused_on_the_page() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let (telegram, address) = (FakeTelegram::start(), free_address());
    let home = Home::with_config(&format!(
        "{}[http]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n\
         allow = [\"*\"]\n[channels.web]\nlisten = \"{address}\"\n",
        config(server),
        telegram.token(),
        telegram.api_url()
    ));
    let (name, value) = trusted(server);
    let mut gateway = Gateway::start_with(&home, &[(name, value.to_str().unwrap())]);
    gateway.logs("Web page: ");
    let site = Site { telegram, home, address, gateway: Some(gateway) };
    let dora = site.telegram.person("Dora");
    let path = site.path_for(dora, "/connect password");
    let form = [("address", "alice@example.test"), ("password", "alice-secret")];
    let refused = site.stranger().post(&path, &form);
    assert!(refused.body.contains("I found no server for alice@example.test"), "{refused:?}");
    assert!(!refused.body.contains("alice-secret"), "{refused:?}");
    assert_eq!(site.home.count("SELECT count(*) FROM connected_accounts"), 0);
    let log = site.stop();
    assert!(!log.contains("alice-secret"), "{log}");
}
