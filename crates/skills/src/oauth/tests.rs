use std::thread;
use std::time::Duration;

use adjutant_config::SecretsConfig;
use adjutant_credential::NoToken;
use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET, get};
use adjutant_store::connected::{self, AccountRow};
use adjutant_store::{Batch, people, secrets};
use adjutant_test_support::journal::TestStore;
use adjutant_types::clock::FixedClock;
use adjutant_types::{AccountService, AccountState};
use serde_json::json;

use super::*;

struct World {
    cloud: FakeCloud,
    test: TestStore,
}

impl World {
    async fn new() -> Self {
        Self { cloud: FakeCloud::start(), test: TestStore::open().await }
    }

    /// An instance of its own.
    fn oauth(&self) -> OAuth {
        self.oauth_on(&self.test.store)
    }

    fn config(&self) -> OAuthConfig {
        let origin = self.cloud.origin();
        OAuthConfig {
            auth_url: Some(format!("{origin}/authorize?prompt=consent")),
            token_url: format!("{origin}/token"),
            device_url: Some(format!("{origin}/device")),
            client_id: CLIENT.to_owned(),
            client_secret: Some(Secret::new(SECRET)),
            scopes: vec!["drive".to_owned(), "mail".to_owned()],
            params: [("access_type".to_owned(), "offline".to_owned())].into(),
            redirect: None,
        }
    }

    fn secrets(&self) -> Arc<SecretStore> {
        Arc::new(SecretStore::with(SecretsConfig::File(self.test.folder.path().join("secrets.key"))))
    }

    fn oauth_on(&self, store: &Store) -> OAuth {
        let oauth = OAuth::with(&[("google".to_owned(), self.config())].into(), self.secrets());
        oauth.attach(store);
        oauth
    }

    /// An instance whose clock shows another time.
    async fn elsewhere(&self, time: &str) -> OAuth {
        let url = format!("sqlite://{}/adjutant.db", self.test.folder.path().display());
        self.oauth_on(&Store::open(&url, FixedClock::at(time)).await.unwrap())
    }

    fn renewals(&self) -> usize {
        self.cloud.state().requests.iter().filter(|asked| *asked == "POST /token").count()
    }

    async fn stored(&self) -> String {
        secrets::get(&self.test.store, "oauth/google").await.unwrap().unwrap().sealed
    }

    /// A login that the browser brings back from where it is sent, or from elsewhere.
    async fn log_in(&self, change: impl Fn(String) -> String) -> (Result<(), SkillError>, String) {
        let login = self.oauth().log_in("google").await.unwrap();
        let back = change(self.cloud.opens(login.page()));
        let browser = thread::spawn(move || get(&back).unwrap_or_default());
        let done = login.finish(std::future::pending()).await;
        (done, browser.join().unwrap())
    }

    async fn is_logged_in(&self) {
        self.log_in(|back| back).await.0.unwrap();
    }

    async fn token(&self) -> Result<String, SkillError> {
        self.oauth().token("google").await.map(|token| token.expose().to_owned())
    }

    fn ends(&self) {
        assert_eq!(self.cloud.state().complaints, [""; 0]);
    }
}

#[tokio::test]
async fn a_login_in_a_browser_keeps_tokens_that_only_we_can_open() {
    let world = World::new().await;
    let (done, seen) = world.log_in(|back| back).await;
    done.unwrap();
    assert!(seen.ends_with("You are logged in. You can close this page."), "{seen}");
    let token = world.token().await.unwrap();
    assert!(world.cloud.state().logins.is_good(&token));
    let given = world.cloud.state().logins.given.clone();
    let stored = world.stored().await;
    assert!(given.iter().all(|given| !stored.contains(given.as_str())), "{stored}");
    let oauth = world.oauth();
    assert!(!format!("{oauth:?} {:?}", oauth.token("google").await).contains(&token));
    assert!(oauth.log_out("google").await.unwrap() && !oauth.log_out("google").await.unwrap());
    insta::assert_snapshot!(world.token().await.unwrap_err(), @"nobody has logged in at the service of [oauth.google] yet. An owner can do it with `adjutant oauth login google`");
    insta::assert_snapshot!(oauth.token("gogle").await.unwrap_err(), @"there is no [oauth.gogle] in the configuration; docs/connectors.md has examples");
    world.ends();
}

#[tokio::test]
async fn an_answer_of_another_login_and_a_refusal_keep_nothing() {
    let world = World::new().await;
    let (done, seen) = world.log_in(|back| back.replace("state=", "state=x")).await;
    insta::assert_snapshot!(done.unwrap_err(), @"that answer belongs to another login (its state is wrong), so nothing was kept. Run `adjutant oauth login google` again, and use its newest address alone");
    assert!(seen.contains("That didn't work"), "{seen}");
    assert_eq!(world.cloud.state().requests, ["GET /authorize"], "the code isn't even sent");
    world.cloud.state().logins.is_denied = true;
    insta::assert_snapshot!(world.log_in(|back| back).await.0.unwrap_err(), @"access was denied (access_denied), so nothing was kept. Run `adjutant oauth login google` again.");
    assert_eq!(world.oauth().states().await, [("google", LoginState::None)]);
    world.ends();
}

#[tokio::test]
async fn the_address_of_a_browser_elsewhere_can_be_pasted() {
    let world = World::new().await;
    let login = world.oauth().log_in("google").await.unwrap();
    let back = world.cloud.opens(login.page());
    login.finish(std::future::ready(format!(" {back}\n"))).await.unwrap();
    assert!(world.token().await.is_ok());
    world.ends();
}

#[tokio::test]
async fn what_else_the_browser_asks_for_is_no_answer() {
    let world = World::new().await;
    let login = world.oauth().log_in("google").await.unwrap();
    let back = world.cloud.opens(login.page());
    let icon = format!("{}/favicon.ico", back.split("/callback").next().unwrap());
    let browser = thread::spawn(move || (get(&icon).unwrap(), get(&back).unwrap()));
    login.finish(std::future::pending()).await.unwrap();
    assert!(browser.join().unwrap().0.starts_with("HTTP/1.1 404"));
    world.ends();
}

#[tokio::test]
async fn a_token_is_renewed_when_it_is_due_and_once_by_however_many() {
    let world = World::new().await;
    world.is_logged_in().await;
    let first = world.token().await.unwrap();
    assert_eq!(world.token().await.unwrap(), first);
    world.test.clock.advance(Duration::from_mins(59));
    let (renewed, concurrent) = tokio::join!(world.token(), world.token());
    assert_eq!(renewed.as_ref().unwrap(), concurrent.as_ref().unwrap());
    assert_ne!(renewed.unwrap(), first);
    assert_eq!(world.renewals(), 2, "a login and one renewal: its refresh token is good once");
    world.ends();
}

#[tokio::test]
async fn a_login_that_the_service_has_ended_says_what_to_do() {
    let world = World::new().await;
    world.is_logged_in().await;
    world.cloud.state().logins.revoke();
    world.test.clock.advance(Duration::from_hours(2));
    let error = world.token().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    insta::assert_snapshot!(error, @"the service of [oauth.google] doesn't accept my login anymore (invalid_grant: Token has been expired or revoked.). An owner can log in again with `adjutant oauth login google`");
    let given = world.cloud.state().logins.given.clone();
    assert!(!given.iter().any(|token| error.message.whole().contains(token.as_str())));
    world.is_logged_in().await;
    assert!(world.token().await.is_ok());
    world.ends();
}

#[tokio::test]
async fn a_code_is_typed_on_another_device() {
    let world = World::new().await;
    world.cloud.state().logins.waits = 2;
    let login = world.oauth().log_in_by_device("google").await.unwrap();
    assert_eq!(
        (login.page.as_str(), login.user_code.as_str()),
        ("https://www.google.com/device", "WDJB-MJHT")
    );
    login.finish().await.unwrap();
    assert!(world.token().await.is_ok());
    world.cloud.state().logins.is_denied = true;
    let login = world.oauth().log_in_by_device("google").await.unwrap();
    insta::assert_snapshot!(login.finish().await.unwrap_err(), @"the service of [oauth.google] refused the login (access_denied)");
    world.ends();
}

#[tokio::test]
async fn a_clock_that_is_wrong_costs_a_renewal_at_most() {
    let world = World::new().await;
    world.is_logged_in().await;
    let first = world.token().await.unwrap();
    // An hour late, it takes the token for good that the service no longer takes.
    let late = world.elsewhere("2026-01-01T08:00:00Z").await;
    world.cloud.state().logins.good.clear();
    assert_eq!(late.token("google").await.unwrap().expose(), first);
    let renewed = late.renewed("google", &Secret::new(first.as_str())).await.unwrap();
    assert_eq!(late.renewed("google", &Secret::new(first.as_str())).await.unwrap(), renewed);
    assert_eq!(world.renewals(), 2);
    // An hour early, it renews what is good, once.
    let early = world.elsewhere("2026-01-01T10:00:00Z").await;
    let again = early.token("google").await.unwrap();
    assert_ne!(again, renewed);
    assert_eq!(early.token("google").await.unwrap(), again);
    assert_eq!(world.token().await.unwrap(), again.expose());
    assert_eq!(world.renewals(), 3);
    world.ends();
}

#[tokio::test]
async fn a_lock_that_its_holder_left_ends() {
    let world = World::new().await;
    world.is_logged_in().await;
    world.test.clock.advance(Duration::from_hours(1));
    let (store, version) = (&world.test.store, 1);
    let until = store.now() + 30_000;
    assert!(secrets::lock(store, "oauth/google", version, &"dead".into(), until).await.unwrap());
    let (token, ()) = tokio::join!(world.token(), async {
        tokio::task::yield_now().await;
        world.test.clock.advance(Duration::from_secs(31));
    });
    assert!(world.cloud.state().logins.is_good(&token.unwrap()));
    assert_eq!(world.renewals(), 2);
    world.ends();
}

#[tokio::test]
async fn a_damaged_row_is_told_without_what_is_in_it() {
    let world = World::new().await;
    world.is_logged_in().await;
    let store = &world.test.store;
    let put = async |sealed: &str| {
        let mut batch = Batch::new();
        secrets::put(&mut batch, "oauth/google", sealed);
        store.write(batch).await.unwrap();
    };
    put("{\"access_token\": \"s3cret").await;
    let error = world.token().await.unwrap_err();
    insta::assert_snapshot!(error, @"I can't use the logins that I keep: what is stored of it is damaged");
    let key = world.secrets();
    key.attach(store);
    put(&key.seal("oauth/google", "{\"access_token\": \"s3cret").await.unwrap()).await;
    let error = world.token().await.unwrap_err();
    insta::assert_snapshot!(error, @"what is stored of the login of [oauth.google] is damaged; `adjutant oauth login google` makes a new one");
    world.is_logged_in().await;
    assert!(world.token().await.is_ok());
    world.ends();
}

#[tokio::test]
async fn the_files_of_earlier_versions_are_taken_over_once() {
    let world = World::new().await;
    let folder = world.test.folder.path().join("oauth");
    std::fs::create_dir(&folder).unwrap();
    let tokens = |token: &str| json!({"access_token": token, "refresh_token": null, "since": 7}).to_string();
    std::fs::write(folder.join("google.json"), tokens("old-1")).unwrap();
    std::fs::write(folder.join("mcp-my-wiki.json"), tokens("old-2")).unwrap();
    std::fs::write(folder.join("google.lock"), "").unwrap();
    let oauth = OAuth { folder: folder.clone(), ..world.oauth() };
    oauth.take_over().await.unwrap();
    assert!(!folder.exists());
    assert_eq!(world.token().await.unwrap(), "old-1");
    assert_eq!(oauth.states().await, [("google", LoginState::Ready { since: 7, until: None })]);
    assert!(secrets::get(&world.test.store, "mcp/my-wiki").await.unwrap().is_some());
    // A file that comes back loses against a login since then.
    world.is_logged_in().await;
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("google.json"), tokens("old-1")).unwrap();
    oauth.take_over().await.unwrap();
    assert_ne!(world.token().await.unwrap(), "old-1");
    assert!(!folder.exists());
}

#[tokio::test]
async fn an_account_says_that_its_login_has_ended_unless_somebody_has_logged_in_again() {
    let world = World::new().await;
    let store = &world.test.store;
    let ada = people::person(store, "console", "ada", "Ada").await.unwrap();
    let id: AccountId = "a1".into();
    let row = AccountRow {
        person_id: Some(ada.id),
        label: "private".into(),
        services: vec![AccountService::Mail],
        is_mail_default: true,
        is_events_default: true,
        created_at: 1,
        ..AccountRow::new(id.clone(), ProviderKind::Google, "ada@home.example")
    };
    world.test.write(|batch| connected::insert(batch, &row)).await;
    let state = async || connected::by_id(store, &id).await.unwrap().unwrap().state;
    let secrets = world.secrets();
    secrets.attach(store);
    let tokens = json!({"access_token": "a", "refresh_token": "revoked", "expires_at": 0, "since": 7});
    let tokens = tokens.to_string();
    secrets.put("account/a1", &tokens).await.unwrap();
    let source = secrets.token_source(&id, ProviderKind::Google, &world.config());
    assert_eq!(source(None).await, Err(NoToken::Ended));
    assert_eq!(state().await, AccountState::NeedsLogin);
    // Somebody logs in while another instance is still told that the login has ended.
    secrets.put("account/a1", &tokens).await.unwrap();
    world.test.write(|batch| connected::set_state(batch, &id, AccountState::Ready)).await;
    let login = Login::of_account(&id, ProviderKind::Google, &world.config(), &secrets);
    login.give_up(&NoTokens::Ended(None), 1).await.unwrap();
    assert_eq!(state().await, AccountState::Ready);
    login.give_up(&NoTokens::Ended(None), 2).await.unwrap();
    assert_eq!(state().await, AccountState::NeedsLogin);
    world.ends();
}

#[tokio::test]
async fn a_browser_of_this_machine_comes_back_by_itself() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let back = format!("http://127.0.0.1:{port}/connect/back");
    let page = [("redirect_uri", back.as_str()), ("state", "s1")];
    let page = reqwest::Url::parse_with_params("https://login.test/authorize", page).unwrap();
    let (other, ours) = (format!("{back}?state=s2&code=c2"), format!("{back}?state=s1&code=c1"));
    let asked = [other, ours.clone()];
    let browser = async {
        let (done, answers) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || done.send(asked.map(|address| get(&address).unwrap())));
        answers.await.unwrap()
    };
    // It listens before the browser begins.
    let (came, [refused, taken]) = tokio::join!(back_from(page.as_str()), browser);
    assert_eq!(came, ours);
    assert!(refused.starts_with("HTTP/1.1 404") && taken.starts_with("HTTP/1.1 200"), "{refused}\n{taken}");
}
