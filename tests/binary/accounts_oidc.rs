//! Logins at a real authorization server, which wants a proof with each code, and gives out refresh tokens that are good
//! once: one that comes again ends the login.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use adjutant_config::{Config, GoogleConfig, Secret};
use adjutant_credential::{NoToken, TokenSource};
use adjutant_fakes::cloud::{CLIENT, SECRET, get};
use adjutant_fakes::npm;
use adjutant_skills::accounts::{LOOPBACK, SecretStore};
use adjutant_store::{Store, connected, secrets};
use adjutant_types::clock::SystemClock;
use adjutant_types::{AccountState, ProviderKind};
use futures::future::join_all;

use crate::process::{Chat, Home, Value};

const PACKAGES: [&str; 1] = ["oidc-provider@9.13.3"];

/// The server; it stops when it is dropped.
struct Server {
    process: Child,
    origin: String,
}

impl Server {
    /// None where it can't be installed.
    fn start() -> Option<Self> {
        let (folder, node) = npm::with("oidc", &PACKAGES, "the logins at a real server").unwrap()?;
        let script = include_str!("accounts_oidc.mjs");
        let mut command = Command::new(node);
        command.args(["--input-type=module", "--eval", script, "--", CLIENT, SECRET, LOOPBACK]);
        // Packages are looked for from here.
        command.current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut origin = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut origin).unwrap();
        let origin = origin.trim().to_owned();
        assert!(origin.starts_with("http://"), "{origin:?}");
        Some(Self { process, origin })
    }

    /// A home in which people can connect accounts there. Nothing else of the providers can be reached.
    fn home(&self) -> Home {
        let origin = &self.origin;
        let client = format!("client_id = \"{CLIENT}\"\nclient_secret = \"{SECRET}\"\n");
        let urls = format!("auth_url = \"{origin}/auth\"\ntoken_url = \"{origin}/token\"\n");
        Home::with_config(&format!(
            "[connect.google]\n{client}{urls}revoke_url = \"{origin}/token/revocation\"\n\
             caldav_url = \"http://127.0.0.1:1/\"\n\
             [connect.microsoft]\n{client}{urls}device_url = \"{origin}/device/auth\"\napi_url = \"{origin}\"\n"
        ))
    }

    /// What it answers at this path, which may go on with something behind `?`.
    fn asked(&self, path: &str) -> String {
        let answer = get(&format!("{}{path}", self.origin)).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn seen(&self) -> Value {
        serde_json::from_str(&self.asked("/seen")).unwrap()
    }

    /// Somebody connects their account at "Google", with an address that they paste.
    fn connects(&self, chat: &mut Chat, id: &str, told: &str) {
        let said = chat.say(id, "/connect google");
        let mut words = said["text"].as_str().unwrap().split_whitespace();
        let link = words.find(|word| word.contains("/auth?")).unwrap_or_else(|| panic!("{said}"));
        let back = self.asked(&format!("/person/opens?{}", link.trim_matches(['<', '>'])));
        assert!(back.starts_with(LOOPBACK), "{back}");
        chat.say(&format!("{id}-back"), &back);
        chat.find(|event| says(event, told)).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn says(event: &Value, part: &str) -> bool {
    event["text"].as_str().is_some_and(|text| text.contains(part))
}

/// An instance's way to the tokens of the only account.
async fn instance(server: &Server, home: &Home) -> (TokenSource, Store, Arc<SecretStore>) {
    let store = Store::open(&home.store_url(), Arc::new(SystemClock)).await.unwrap();
    let secret_store = Arc::new(SecretStore::new(&Config::in_dir(home.data())));
    secret_store.attach(&store);
    let account = connected::all(&store).await.unwrap().remove(0).id;
    let mut oauth = GoogleConfig::new(CLIENT.into(), Some(Secret::new(SECRET))).oauth;
    oauth.token_url = format!("{}/token", server.origin);
    (secret_store.token_source(&account, ProviderKind::Google, &oauth), store, secret_store)
}

/// Four instances renew a token at the same moment, twice. Then somebody who has an old refresh token uses it, which ends the
/// login.
async fn renewed_by_one_until_it_is_stolen(server: &Server, home: &Home) {
    let four = join_all((0..4).map(|_| instance(server, home))).await;
    let (source, store, secret_store) = &four[0];
    let account = connected::all(store).await.unwrap().remove(0);
    let name = secrets::name_of(&account.id);
    let sealed = secrets::get(store, &name).await.unwrap().unwrap().sealed;
    let tokens = secret_store.open(&name, &sealed).await.unwrap();
    let tokens: Value = serde_json::from_str(tokens.expose()).unwrap();
    let mut token = source(None).await.unwrap();
    for round in 1..=2 {
        let renewed = join_all(four.iter().map(|(source, ..)| source(Some(token.clone())))).await;
        let before = std::mem::replace(&mut token, renewed[0].clone().unwrap());
        assert_ne!(token, before);
        assert!(renewed.iter().all(|one| one.as_ref() == Ok(&token)), "{renewed:?}");
        assert_eq!(server.seen()["renewed"], round, "it is asked once");
    }
    let stolen = tokens["refresh_token"].as_str().unwrap();
    let answer = server.asked(&format!("/thief/renews?{stolen}"));
    assert!(answer.contains("invalid_grant"), "{answer}");
    let ended = join_all(four.iter().map(|(source, ..)| source(Some(token.clone())))).await;
    assert!(ended.contains(&Err(NoToken::Ended)), "{ended:?}");
    let state = connected::by_id(store, &account.id).await.unwrap().unwrap().state;
    assert_eq!(state, AccountState::NeedsLogin);
    for (_, store, _) in four {
        store.close().await;
    }
}

#[test]
fn a_login_is_renewed_by_one_of_four_ends_when_a_token_comes_again_and_is_ended_there() {
    let Some(server) = Server::start() else { return };
    let home = server.home();
    let mut chat = home.chat();
    server.connects(&mut chat, "m1", "✓ Connected ada@example.test: email, calendar and contacts.");
    home.ask(async |_| renewed_by_one_until_it_is_stolen(&server, &home).await);
    chat.find(|event| says(event, "I can't get into “google” (ada@example.test) anymore")).unwrap();
    server.connects(&mut chat, "m2", "✓ ada@example.test is connected again");
    let said = chat.say("m3", "/accounts google remove");
    assert!(says(&said, "✓ Disconnected “google”"), "{said}");
    let (_, logged) = chat.finish();
    assert!(!logged.contains("couldn't be ended"), "{logged}");
    let seen = server.seen();
    assert_eq!(seen["ended"], 2, "by the thief, and by its person: {seen}");
    let refused: Vec<&str> = seen["refused"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(refused[0], "refresh_token: refresh token already used", "{seen}");
    assert_eq!(home.count("SELECT count(*) FROM secrets WHERE name LIKE 'account/%'"), 0);
    home.assert_tidy("oidc");
}

#[test]
fn a_code_that_is_typed_on_another_device_connects_an_account() {
    let Some(server) = Server::start() else { return };
    let home = server.home();
    let mut chat = home.chat();
    let said = chat.say("m1", "/connect microsoft");
    let text = said["text"].as_str().unwrap();
    assert!(text.contains(&format!("{}/device", server.origin)), "{text}");
    let code = text.split('`').nth(1).unwrap_or_else(|| panic!("{text}"));
    let shown = server.asked(&format!("/person/types?{code}"));
    assert!(shown.contains("Sign-in Success"), "{shown}");
    let told = "✓ Connected ada@example.test: email, calendar and contacts.";
    chat.find(|event| says(event, told)).unwrap();
    chat.finish_well();
    home.assert_tidy("oidc");
}
