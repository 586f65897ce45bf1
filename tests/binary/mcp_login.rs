//! Logins at MCP servers that ask for one: `adjutant mcp login`, as a person makes it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use adjutant_fakes::cloud::{FakeCloud, get};
use adjutant_fakes::mcp::StandIn;
use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use serde_json::json;

use crate::process::{Ended, Home};

/// A server at an address, which takes one token and sends others to a login service.
struct World {
    home: Home,
    cloud: FakeCloud,
    server: Child,
    url: String,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl World {
    /// The first token that the login service gives out is good.
    fn new(more: &[(&str, &str)]) -> Self {
        let (home, cloud) = (Home::new(), FakeCloud::start());
        let stand_in = StandIn::in_folder(home.path()).unwrap();
        let port = home.path().join("port");
        let words = stand_in.words();
        let mut server = Command::new(&words[0]);
        server.arg(&words[1]).arg("--http").arg(&port).envs(stand_in.env(""));
        server.env("HTTP_KEY", "access-0001-t0ken").env("LOGIN", cloud.origin());
        let server = server.envs(more.iter().copied()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let port = loop {
            if let Ok(port) = std::fs::read_to_string(&port) {
                break port;
            }
            assert!(Instant::now() < until, "the server doesn't start");
            std::thread::yield_now();
        };
        let url = format!("http://127.0.0.1:{port}/mcp");
        home.write("config.toml", &format!("[mcp.notes]\nurl = \"{url}\"\n"));
        cloud.state().logins.resource = Some(url.clone());
        Self { home, cloud, server, url }
    }

    /// Logs in, with a browser that goes where it is sent, or elsewhere. Returns how it ended and what was said.
    fn log_in(&self, change: impl Fn(String) -> String) -> (bool, String) {
        let mut login = self.home.command(&["mcp", "login", "notes"]);
        let login = login.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut login = login.spawn().unwrap();
        let mut said = BufReader::new(login.stdout.take().unwrap());
        let mut page = String::new();
        while !page.trim().starts_with("http://") {
            page.clear();
            if said.read_line(&mut page).unwrap() == 0 {
                break;
            }
        }
        if !page.is_empty() {
            let _ = get(&change(self.cloud.opens(page.trim())));
        }
        let mut text = String::new();
        said.read_to_string(&mut text).unwrap();
        login.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (login.wait().unwrap().success(), text)
    }

    fn run(&self, words: &[&str]) -> Ended {
        self.home.run(words)
    }
}

#[test]
fn a_server_that_wants_a_login_gets_one_bound_to_it() {
    let world = World::new(&[]);
    let open = world.run(&["mcp", "tools", "notes"]);
    assert!(
        open.stderr.contains("notes wants a login. An owner can do it with `adjutant mcp login notes`"),
        "{open:?}"
    );
    let (done, said) = world.log_in(|back| back);
    assert!(done && said.ends_with("You are logged in: notes\n"), "{said}");
    assert_eq!(world.run(&["mcp", "approve", "notes", "--yes"]).status, Some(0));
    assert!(
        world.run(&["mcp", "list"]).stdout.contains("logged in since 2"),
        "{:?}",
        world.run(&["mcp", "list"])
    );
    assert!(!said.contains("t0ken"));
    assert_eq!(world.cloud.state().complaints, [""; 0], "each question for a token names the server");

    // Its token is for that address alone.
    let elsewhere = world.url.replace("127.0.0.1", "localhost");
    world.home.write("config.toml", &format!("[mcp.notes]\nurl = \"{elsewhere}\"\n"));
    let other = world.run(&["mcp", "tools", "notes"]);
    assert!(other.stderr.contains("belongs to another address, so its token isn't sent"), "{other:?}");
    assert!(world.run(&["mcp", "logout", "notes"]).stdout.starts_with("notes: logged out."));
    assert!(world.run(&["mcp", "tools", "notes"]).stderr.contains("notes wants a login"));
}

#[test]
fn a_login_that_only_a_real_call_asks_for_can_be_made() {
    let greeting = "initialize server/discover notifications/initialized";
    let listing = "initialize server/discover notifications/initialized tools/list";
    for open in [greeting, listing] {
        let world = World::new(&[("OPEN", open)]);
        let listed = world.run(&["mcp", "tools", "notes"]);
        assert_eq!(listed.stderr.contains("notes wants a login"), open == greeting, "{listed:?}");
        let (done, said) = world.log_in(|back| back);
        assert!(done && said.ends_with("You are logged in: notes\n"), "{open}: {said}");
        assert_eq!(world.run(&["mcp", "approve", "notes", "--yes"]).status, Some(0), "{open}");
    }
}

#[test]
fn a_service_that_takes_basic_authentication_alone_gets_it() {
    let world = World::new(&[]);
    world.cloud.state().logins.takes_basic = true;
    let (done, said) = world.log_in(|back| back);
    assert!(done && said.ends_with("You are logged in: notes\n"), "{said}");
    assert_eq!(world.run(&["mcp", "approve", "notes", "--yes"]).status, Some(0));
    assert_eq!(world.cloud.state().complaints, [""; 0]);
}

#[test]
fn a_call_that_needs_more_than_its_login_allows_says_so_and_the_next_login_asks_for_it() {
    let world = World::new(&[("HTTP_KEY", "access-0001-t0ken access-0004-t0ken"), ("STEP_UP", "write")]);
    let call = json!({"agent_id": "a", "mission": "add it", "role": "executor", "skills": ["notes.add_note"],
                      "arguments": {"text": "milk"}});
    let model = FakeModel::start(move |request| {
        let is_new = has_tool(request, "dispatch_agent") && last_message(request).contains("note it");
        let told = || last_message(request).replace("[outside", "outside");
        if is_new { Reply::call("dispatch_agent", &call) } else { Reply::text(&told()) }
    });
    let (url, base_url) = (&world.url, model.base_url());
    let model_section =
        format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{base_url}\"\n");
    let server = format!("[mcp.notes]\nurl = \"{url}\"\n");
    world.home.write("config.toml", &format!("{model_section}[approval]\nhigh = \"auto\"\n{server}"));
    assert!(world.log_in(|back| back).0);
    assert_eq!(world.run(&["mcp", "approve", "notes", "--yes"]).status, Some(0));
    let refused = world.home.feed(&["chat"], b"note it\n");
    let advice = "wants a login that allows more. An owner can log in again with adjutant mcp login notes";
    assert!(refused.stdout.contains(advice), "{refused:?}");
    assert!(world.log_in(|back| back).0);
    assert_eq!(world.cloud.state().logins.asked, ["notes", "notes write"], "what was allowed stays so");
    world.run(&["chat", "--once", "/new"]);
    let done = world.home.feed(&["chat"], b"note it\n");
    assert!(done.stdout.contains("✓ notes.add_note"), "{done:?}");
    world.run(&["mcp", "logout", "notes"]);
    assert!(world.log_in(|back| back).0);
    assert_eq!(world.cloud.state().logins.asked.last().map(String::as_str), Some("notes"), "forgotten, too");
}

#[test]
fn a_login_that_has_ended_says_how_to_renew_it() {
    let world = World::new(&[]);
    world.cloud.state().logins.lifetime = Some(1);
    assert!(world.log_in(|back| back).0);
    world.cloud.state().logins.revoke();
    let ended = world.run(&["mcp", "tools", "notes"]);
    assert!(ended.stderr.contains("doesn't accept my login anymore (invalid_grant"), "{ended:?}");
    assert!(ended.stderr.contains("log in again with `adjutant mcp login notes`"), "{ended:?}");
}

#[test]
fn a_login_is_refused_where_an_answer_or_a_description_is_not_the_servers_own() {
    let evil = [("CHALLENGE", "Bearer resource_metadata=\"https://evil.example/x\"")];
    let (done, said) = World::new(&evil).log_in(|back| back);
    assert!(
        !done && said.contains("at another address (https://evil.example/x), which is refused"),
        "{said}"
    );
    let (done, said) = World::new(&[("RESOURCE", "https://bank.example/mcp")]).log_in(|back| back);
    assert!(
        !done && said.contains("at another address (https://bank.example/mcp), which is refused"),
        "{said}"
    );
    let (done, said) = World::new(&[("LOGIN", "http://auth.example")]).log_in(|back| back);
    assert!(!done && said.contains("wants a login at http://auth.example, which isn't https"), "{said}");

    let world = World::new(&[]);
    refuses_a_wrong_description(&world);

    for (change, why) in [
        ((|back| back.replace("state=", "state=x")) as fn(String) -> String, "its state is wrong"),
        (
            |back| back.replace("iss=http://127.0.0.1", "iss=http://evil.example"),
            "comes from another login service",
        ),
        (
            |back| back.split("&iss=").next().unwrap_or_default().to_owned(),
            "comes from another login service",
        ),
    ] {
        let (done, said) = world.log_in(change);
        assert!(!done && said.contains(why), "{said}");
    }
    world.cloud.state().logins.is_denied = true;
    let (done, said) = world.log_in(|back| back);
    assert!(!done && said.contains("access was denied (access_denied), so nothing was kept"), "{said}");
    assert!(said.contains("Run `adjutant mcp login notes` again."), "{said}");
    assert!(world.run(&["mcp", "tools", "notes"]).stderr.contains("notes wants a login"), "nothing was kept");
}

/// A login service that says it is another one, or doesn't protect logins.
#[track_caller]
fn refuses_a_wrong_description(world: &World) {
    world.cloud.state().logins.issuer = Some("https://other.example".into());
    let (done, said) = world.log_in(|back| back);
    assert!(!done && said.contains("says that it is https://other.example"), "{said}");
    world.cloud.state().logins.issuer = None;
    world.cloud.state().logins.is_unprotected = true;
    let (done, said) = world.log_in(|back| back);
    assert!(!done && said.contains("doesn't protect logins (PKCE with S256)"), "{said}");
    world.cloud.state().logins.is_unprotected = false;
}

#[test]
fn a_server_of_an_older_revision_is_its_own_login_service() {
    for old in ["described", "usual"] {
        let world = World::new(&[("OLD", old), ("CHALLENGE", "Bearer scope=\"notes\"")]);
        let (done, said) = world.log_in(|back| back);
        assert!(done && said.ends_with("You are logged in: notes\n"), "{old}: {said}");
        assert_eq!(world.run(&["mcp", "approve", "notes", "--yes"]).status, Some(0), "{old}");
        assert_eq!(world.cloud.state().complaints, [""; 0], "{old}");
    }
    refuses_a_wrong_description(&World::new(&[("OLD", "described")]));
    let (done, said) = World::new(&[("OLD", "nothing")]).log_in(|back| back);
    assert!(
        !done && said.contains("doesn't say how to log in, and 127.0.0.1/register answered 404"),
        "{said}"
    );
    assert!(said.contains("If it takes a key, set `headers` in [mcp.notes]"), "{said}");
}
