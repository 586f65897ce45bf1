use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET, get};
use adjutant_types::clock::FixedClock;
use tempfile::TempDir;

use super::*;

struct World {
    cloud: FakeCloud,
    clock: Arc<FixedClock>,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let clock = FixedClock::at("2026-11-21T10:00:00Z");
        Self { cloud: FakeCloud::start(), clock, folder: tempfile::tempdir().unwrap() }
    }

    /// A process of its own.
    fn oauth(&self) -> OAuth {
        let origin = self.cloud.origin();
        let config = OAuthConfig {
            auth_url: Some(format!("{origin}/authorize?prompt=consent")),
            token_url: format!("{origin}/token"),
            device_url: Some(format!("{origin}/device")),
            client_id: CLIENT.to_owned(),
            client_secret: Some(Secret::new(SECRET)),
            scopes: vec!["drive".to_owned(), "mail".to_owned()],
            params: [("access_type".to_owned(), "offline".to_owned())].into(),
            redirect: None,
        };
        let clock: SharedClock = self.clock.clone();
        OAuth::with(&[("google".to_owned(), config)].into(), self.folder.path().join("oauth"), &clock)
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
async fn a_login_in_a_browser_keeps_tokens_that_only_we_can_read() {
    let world = World::new();
    let (done, seen) = world.log_in(|back| back).await;
    done.unwrap();
    assert!(seen.ends_with("You are logged in. You can close this page."), "{seen}");
    let token = world.token().await.unwrap();
    assert!(world.cloud.state().logins.is_good(&token));
    let file = world.folder.path().join("oauth/google.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let oauth = world.oauth();
    assert!(!format!("{oauth:?} {:?}", oauth.token("google").await).contains(&token));
    assert!(oauth.log_out("google").unwrap() && !oauth.log_out("google").unwrap());
    insta::assert_snapshot!(world.token().await.unwrap_err(), @"nobody has logged in at the service of [oauth.google] yet. An owner can do it with `adjutant oauth login google`");
    insta::assert_snapshot!(oauth.token("gogle").await.unwrap_err(), @"there is no [oauth.gogle] in the configuration; docs/connectors.md has examples");
    world.ends();
}

#[tokio::test]
async fn an_answer_of_another_login_and_a_refusal_keep_nothing() {
    let world = World::new();
    let (done, seen) = world.log_in(|back| back.replace("state=", "state=x")).await;
    insta::assert_snapshot!(done.unwrap_err(), @"that answer belongs to another login (its state is wrong), so nothing was kept. Run `adjutant oauth login google` again, and use its newest address alone");
    assert!(seen.contains("That didn't work"), "{seen}");
    assert_eq!(world.cloud.state().requests, ["GET /authorize"], "the code isn't even sent");
    world.cloud.state().logins.is_denied = true;
    insta::assert_snapshot!(world.log_in(|back| back).await.0.unwrap_err(), @"access was denied (access_denied), so nothing was kept. Run `adjutant oauth login google` again.");
    assert_eq!(world.oauth().states(), [("google", LoginState::None)]);
    world.ends();
}

#[tokio::test]
async fn the_address_of_a_browser_elsewhere_can_be_pasted() {
    let world = World::new();
    let login = world.oauth().log_in("google").await.unwrap();
    let back = world.cloud.opens(login.page());
    login.finish(std::future::ready(format!(" {back}\n"))).await.unwrap();
    assert!(world.token().await.is_ok());
    world.ends();
}

#[tokio::test]
async fn what_else_the_browser_asks_for_is_no_answer() {
    let world = World::new();
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
    let world = World::new();
    world.is_logged_in().await;
    let first = world.token().await.unwrap();
    assert_eq!(world.token().await.unwrap(), first);
    world.clock.advance(Duration::from_mins(59));
    let (renewed, concurrent) = tokio::join!(world.token(), world.token());
    assert_eq!(renewed.as_ref().unwrap(), concurrent.as_ref().unwrap());
    assert_ne!(renewed.unwrap(), first);
    let asked = world.cloud.state().requests.iter().filter(|asked| *asked == "POST /token").count();
    assert_eq!(asked, 2, "a login and one renewal: its refresh token is good once");
    world.ends();
}

#[tokio::test]
async fn a_login_that_the_service_has_ended_says_what_to_do() {
    let world = World::new();
    world.is_logged_in().await;
    world.cloud.state().logins.revoke();
    world.clock.advance(Duration::from_hours(2));
    let error = world.token().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    insta::assert_snapshot!(error, @"the service of [oauth.google] doesn't accept my login any more (invalid_grant: Token has been expired or revoked.). An owner can log in again with `adjutant oauth login google`");
    let given = world.cloud.state().logins.given.clone();
    assert!(!given.iter().any(|token| error.message.whole().contains(token.as_str())));
    world.is_logged_in().await;
    assert!(world.token().await.is_ok());
    world.ends();
}

#[tokio::test]
async fn a_code_is_typed_on_another_device() {
    let world = World::new();
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
async fn a_damaged_file_is_told_without_what_is_in_it() {
    let world = World::new();
    world.is_logged_in().await;
    std::fs::write(world.folder.path().join("oauth/google.json"), "{\"access_token\": \"s3cret").unwrap();
    let error = world.token().await.unwrap_err();
    assert!(
        error
            .message
            .whole()
            .ends_with("google.json is damaged; `adjutant oauth login google` writes a new one")
    );
    assert!(!error.message.whole().contains("s3cret"));
    world.is_logged_in().await;
}
