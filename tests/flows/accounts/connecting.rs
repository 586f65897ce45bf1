//! `/connect` and `/accounts`: logins at a provider, each bound to whoever asked for it.

use std::sync::Arc;
use std::time::Duration;

use adjutant_config::{
    ChannelConfig, Config, ConnectConfig, GoogleConfig, MicrosoftConfig, People, Platform, Secret,
};
use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET};
use adjutant_skills::accounts::{Bringer, LoginError, Logins, SecretStore, carries_code};
use adjutant_store::{Batch, connected, people};
use adjutant_types::{AccountState, ConversationId, LoginId, PersonId, ProviderKind};

use crate::app::{Heard, TestApp, scripted_with};
use crate::groupware::skill_caller;

const PAGE: &str = "https://bot.example.org";

/// An app in which people can connect accounts, all of them at one cloud.
struct World {
    cloud: FakeCloud,
    app: TestApp,
    config: Config,
}

impl World {
    async fn new() -> Self {
        let cloud = FakeCloud::start();
        cloud.state().logins.person = "ada@acme.test".into();
        let mut used = None;
        let app = scripted_with(skill_caller(), |config| {
            config.connect = Some(providers(&cloud.origin()));
            used = Some(config.clone());
        })
        .await;
        Self { cloud, app, config: used.unwrap() }
    }

    /// Ada begins a login, and somebody allows it. Returns the address at which they end.
    async fn allowed(&self) -> String {
        let asked = self.app.says("ada", "/connect google").await;
        self.cloud.opens(link_in(&asked))
    }

    async fn count(&self, sql: &'static str) -> i64 {
        self.app.store().count(sql, &[]).await.unwrap()
    }

    async fn accounts(&self) -> i64 {
        self.count("SELECT count(*) FROM connected_accounts").await
    }

    /// Nothing is left of a code or a token where somebody can read it.
    async fn ends_well(self) {
        let sql = "SELECT (SELECT count(*) FROM inbox WHERE text LIKE $1) + (SELECT count(*) FROM outbox WHERE text LIKE $1) \
                   + (SELECT count(*) FROM logins WHERE sealed LIKE $1) + (SELECT count(*) FROM secrets WHERE sealed LIKE $1)";
        let given = self.cloud.state().logins.given.clone();
        for given in given {
            let found = self.app.store().count(sql, &[format!("%{given}%").into()]).await.unwrap();
            assert_eq!(found, 0, "{given}");
        }
        let open = "SELECT count(*) FROM logins WHERE state NOT IN ('done', 'refused', 'expired')";
        assert_eq!(self.count(open).await, 0, "open logins");
        assert_eq!(self.cloud.state().complaints, [""; 0]);
        self.app.ends_well().await;
    }
}

fn providers(origin: &str) -> ConnectConfig {
    let secret = || Some(Secret::new(SECRET));
    let mut google = GoogleConfig::new(CLIENT.into(), secret());
    google.oauth.auth_url = Some(format!("{origin}/authorize"));
    google.oauth.token_url = format!("{origin}/token");
    google.revoke_url = format!("{origin}/revoke");
    let mut microsoft = MicrosoftConfig::new(CLIENT.into(), secret(), "common");
    microsoft.oauth.token_url = format!("{origin}/token");
    microsoft.oauth.device_url = Some(format!("{origin}/device"));
    microsoft.api_url = origin.to_owned();
    ConnectConfig {
        offer: ProviderKind::ALL.to_vec(),
        people: People::Everybody,
        google: Some(google),
        microsoft: Some(microsoft),
    }
}

pub(super) fn link_in(heard: &Heard) -> &str {
    let mut words = heard.text.split_whitespace().map(|word| word.trim_matches(['<', '>']));
    words.find(|word| word.starts_with("http")).unwrap_or_else(|| panic!("{heard:?}"))
}

const FIVE_MINUTES: Duration = Duration::from_secs(301);
const SECRETS: &str = "SELECT count(*) FROM secrets WHERE name LIKE 'account/%'";

#[tokio::test]
async fn somebody_connects_their_account_from_the_chat() {
    let world = World::new().await;
    let offered = world.app.says("ada", "Connect my calendar").await;
    assert_eq!(offered.buttons(), ["Google", "Microsoft", "Another provider"]);
    let asked = world.app.presses("ada", &offered, "Google").await;
    let back = world.cloud.opens(link_in(&asked));
    let answer = world.app.says("ada", &format!("here you are: {back}")).await;
    assert_eq!(answer.text, "Thanks, I'm signing in.");
    let connected = world.app.sees("✓ Connected").await;
    assert_eq!(
        connected.text,
        "✓ Connected ada@acme.test: email, calendar and contacts. It's called “google”, and only you can use it."
    );
    assert_eq!(connected.buttons(), ["Disconnect"]);
    let again = world.app.says("ada", &back).await;
    assert!(again.text.starts_with("That login is over."), "{}", again.text);
    assert_eq!(world.accounts().await, 1);
    world.ends_well().await;
}

#[tokio::test]
async fn in_a_room_or_where_nothing_is_set_up_it_says_so() {
    let world = World::new().await;
    let room = world.app.room("square").says("ada", "/connect").await;
    assert!(room.text.contains("privately"), "{}", room.text);
    world.ends_well().await;
    let app = scripted_with(skill_caller(), |_| {}).await;
    let said = app.says("ada", "/connect google").await;
    assert!(
        said.text.starts_with("I can't connect accounts yet") && said.text.contains("[connect]"),
        "{}",
        said.text
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_code_of_somebody_else_connects_nothing_and_ends_the_login() {
    let world = World::new().await;
    let back = world.allowed().await;
    let bob = world.app.direct("bobs").says("bob", &back).await;
    assert_eq!(bob.text, "That login is somebody else's, so I've connected nothing.");
    world.app.passes(Duration::from_secs(1)).await;
    let told = world.app.sees("Somebody else tried to finish your login").await;
    assert_eq!(told.place, "home");
    let ada = world.app.says("ada", &back).await;
    assert!(ada.text.starts_with("That login is over."), "{}", ada.text);
    assert_eq!(world.accounts().await, 0);
    world.ends_well().await;
}

#[tokio::test]
async fn a_login_that_goes_wrong_connects_nothing_and_says_why() {
    for (what, said) in [
        ("late", "That login is over."),
        ("state", "That login is over."),
        ("denied", "You didn't allow it, so I've connected nothing."),
        ("down", "That didn't work, and I've connected nothing: "),
        ("nothing", "That didn't work, and I've connected nothing: You didn't allow email"),
        ("nobody", "That didn't work, and I've connected nothing: Google doesn't say whose account it is."),
    ] {
        let world = World::new().await;
        {
            let mut state = world.cloud.state();
            state.logins.is_denied = what == "denied";
            state.logins.is_down = what == "down";
            if what == "nobody" {
                state.logins.person.clear();
            }
            let scopes = adjutant_config::scopes(ProviderKind::Google).iter();
            let scopes = scopes.map(|(_, scope)| (*scope).to_owned()).filter(|_| what == "nothing");
            state.logins.withheld = scopes.collect();
        }
        let mut back = world.allowed().await;
        if what == "state" {
            back = back.replace("state=", "state=x");
        }
        if what == "late" {
            world.app.passes(FIVE_MINUTES).await;
        }
        world.app.says("ada", &back).await;
        world.app.passes(Duration::from_secs(1)).await;
        world.app.sees(said).await;
        if what == "state" {
            world.app.passes(FIVE_MINUTES).await;
        }
        assert_eq!(world.accounts().await, 0, "{what}");
        assert_eq!(world.count(SECRETS).await, 0, "{what}");
        world.ends_well().await;
    }
}

#[tokio::test]
async fn what_was_not_allowed_is_missing_and_can_be_added() {
    let world = World::new().await;
    let contacts = "https://www.googleapis.com/auth/carddav";
    world.cloud.state().logins.withheld = vec![contacts.to_owned()];
    let back = world.allowed().await;
    world.app.says("ada", &back).await;
    let connected = world.app.sees("✓ Connected").await;
    let text = connected.text;
    assert!(text.starts_with("✓ Connected ada@acme.test: email and calendar."), "{text}");
    assert!(text.ends_with("You didn't allow contacts; connect it again to add that."), "{text}");
    world.cloud.state().logins.withheld.clear();
    let back = world.allowed().await;
    world.app.says("ada", &back).await;
    world.app.sees("✓ ada@acme.test is connected again: email, calendar and contacts.").await;
    assert_eq!(world.accounts().await, 1, "the same person and address are the same account");
    world.ends_well().await;
}

#[tokio::test]
async fn where_no_browser_comes_back_a_code_is_typed_elsewhere() {
    let world = World::new().await;
    world.cloud.state().logins.waits = 1;
    let asked = world.app.says("ada", "/connect outlook").await;
    assert!(asked.text.contains("type the code `WDJB-MJHT`"), "{}", asked.text);
    let polls = || {
        let state = world.cloud.state();
        state.requests.iter().filter(|request| *request == "POST /token").count()
    };
    world.app.passes(Duration::from_secs(6)).await;
    while polls() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.accounts().await, 0);
    world.app.passes(Duration::from_secs(6)).await;
    let connected = world.app.sees("✓ Connected").await;
    assert!(connected.text.contains("It's called “microsoft”"), "{}", connected.text);
    world.ends_well().await;
}

#[tokio::test]
async fn a_provider_that_was_asked_in_time_may_answer_when_the_time_is_up() {
    let world = World::new().await;
    world.cloud.state().logins.waits = 1;
    world.app.says("ada", "/connect outlook").await;
    world.app.passes(Duration::from_secs(298)).await;
    while !world.cloud.state().requests.iter().any(|request| request == "POST /token") {
        tokio::task::yield_now().await;
    }
    // As if it hadn't answered yet.
    let offered = "SELECT count(*) FROM logins WHERE state = 'offered'";
    world.app.passes(Duration::from_secs(5)).await;
    assert_eq!(world.count(offered).await, 1);
    world.app.passes(Duration::from_secs(61)).await;
    assert_eq!(world.count(offered).await, 0);
    assert_eq!(world.accounts().await, 0);
    world.ends_well().await;
}

#[tokio::test]
async fn a_password_in_the_chat_is_not_kept() {
    let world = World::new().await;
    let asked = world.app.says("ada", "/connect fastmail").await;
    assert!(asked.text.contains("`adjutant account add`"), "{}", asked.text);
    for typed in ["abcd-efgh-ijkl-mnop", "the password is swordfish123"] {
        let answer = world.app.says("ada", typed).await;
        assert!(answer.text.starts_with("Please don't send me passwords"), "{}", answer.text);
    }
    let kept = "SELECT count(*) FROM inbox WHERE text LIKE '%efgh%' OR text LIKE '%swordfish%'";
    assert_eq!(world.count(kept).await, 0);
    world.app.passes(FIVE_MINUTES).await;
    world.ends_well().await;
}

#[tokio::test]
async fn an_account_is_renamed_chosen_and_disconnected() {
    let world = World::new().await;
    let back = world.allowed().await;
    world.app.says("ada", &back).await;
    world.app.sees("✓ Connected").await;
    let renamed = world.app.says("ada", "/accounts rename google work").await;
    assert_eq!(renamed.text, "✓ “google” is now “work”.");
    let listed = world.app.says("ada", "/accounts").await;
    assert_eq!(
        listed.text,
        "Your accounts:\n\n- “work”, ada@acme.test: email, calendar and contacts (sends your email, gets your new events)"
    );
    assert_eq!(listed.buttons(), ["work", "Connect another"]);
    let bob = world.app.direct("bobs").says("bob", "/accounts work remove").await;
    assert_eq!(bob.text, "You have no such account. Send `/accounts` to see them.");
    let account = connected::all(world.app.store()).await.unwrap().remove(0);
    let mut batch = Batch::new();
    connected::share(&mut batch, &account.id, &[]);
    world.app.store().write(batch).await.unwrap();
    let shared = world.app.says("ada", "/accounts work mail").await;
    assert!(shared.text.starts_with("“work” is shared, so it can't be your default."), "{}", shared.text);
    let asked = world.app.presses("ada", &listed, "work").await;
    assert!(asked.text.starts_with("Disconnect “work” (ada@acme.test)?"), "{}", asked.text);
    let done = world.app.presses("ada", &asked, "Disconnect").await;
    let told = "✓ Disconnected “work” (ada@acme.test), and erased its login and what my watches found in it. What's in our \
                conversations stays; to delete some of it, say “forget what I said about” and the subject.";
    assert_eq!(done.text, told);
    assert_eq!(world.cloud.state().logins.ended.len(), 1, "the provider was told");
    assert_eq!(world.accounts().await, 0);
    assert_eq!(world.count(SECRETS).await, 0);
    world.ends_well().await;
}

#[tokio::test]
async fn a_login_that_has_ended_is_told_once_and_only_its_account_is_renewed() {
    let world = World::new().await;
    let back = world.allowed().await;
    world.app.says("ada", &back).await;
    world.app.sees("✓ Connected").await;
    let mut batch = Batch::new();
    let account = connected::all(world.app.store()).await.unwrap().remove(0);
    connected::set_state(&mut batch, &account.id, AccountState::NeedsLogin);
    world.app.store().write(batch).await.unwrap();
    for _ in 0..3 {
        world.app.passes(Duration::from_secs(1)).await;
    }
    let told = world.app.sees("its login has ended").await;
    assert_eq!(told.buttons(), ["Log in again"]);
    let all = world.app.texts();
    assert_eq!(all.iter().filter(|text| text.contains("its login has ended")).count(), 1);
    for (person, said) in [
        ("eve@acme.test", "You signed in as eve@acme.test, but that login is for ada@acme.test."),
        ("Ada@acme.test", "✓ ada@acme.test is connected again"),
    ] {
        world.cloud.state().logins.person = person.into();
        let asked = world.app.presses("ada", &told, "Log in again").await;
        let back = world.cloud.opens(link_in(&asked));
        world.app.says("ada", &back).await;
        world.app.passes(Duration::from_secs(1)).await;
        world.app.sees(said).await;
    }
    let account = connected::by_id(world.app.store(), &account.id).await.unwrap().unwrap();
    assert_eq!(account.state, AccountState::Ready);
    assert_eq!(world.accounts().await, 1);
    world.ends_well().await;
}

#[tokio::test]
async fn an_owner_logs_in_again_for_a_group_without_them() {
    let world = World::new().await;
    let back = world.allowed().await;
    world.app.says("ada", &back).await;
    world.app.sees("✓ Connected").await;
    let store = world.app.store();
    let account = connected::all(store).await.unwrap().remove(0).id;
    let bob = people::person(store, "console", "bob", "bob").await.unwrap().id;
    let mut batch = Batch::new();
    connected::share(&mut batch, &account, &[bob]);
    connected::set_state(&mut batch, &account, AccountState::NeedsLogin);
    store.write(batch).await.unwrap();
    let asked = world.app.says("ada", &format!("/connect {account}")).await;
    let back = world.cloud.opens(link_in(&asked));
    world.app.says("ada", &back).await;
    world.app.sees("✓ ada@acme.test is connected again").await;
    let account = connected::by_id(store, &account).await.unwrap().unwrap();
    assert_eq!((account.person_id, account.state), (None, AccountState::Ready));
    assert_eq!(world.accounts().await, 1);
    world.ends_well().await;
}

/// Logins by way of a web page, as a browser sees them.
struct Browser<'a> {
    world: &'a World,
    logins: Logins,
    person: PersonId,
    conversation: ConversationId,
}

impl<'a> Browser<'a> {
    async fn new(world: &'a World) -> Self {
        let (listen, public_url) = ("127.0.0.1:1".parse().unwrap(), PAGE.into());
        let platform = Platform::Web { listen, public_url, push_hosts: Vec::new() };
        let mut config = world.config.clone();
        let channel = ChannelConfig { enabled: true, platform, api_url: String::new(), allow: Vec::new() };
        config.channels.insert("web".into(), channel);
        let secrets = Arc::new(SecretStore::new(&config));
        let store = world.app.store();
        secrets.attach(store);
        let logins = Logins::new(&config, secrets);
        let person = people::person(store, "console", "ada", "ada").await.unwrap().id;
        let conversation = people::conversation(store, "console", "home", &person, true).await.unwrap().id;
        Self { world, logins, person, conversation }
    }

    /// Begins a login. Returns the nonce of its link.
    async fn begin(&self) -> String {
        let (store, person, here) = (self.world.app.store(), &self.person, &self.conversation);
        let begun = self.logins.begin(store, person, here, "google", None).await.unwrap();
        let link = begun.link.unwrap();
        link.strip_prefix(&format!("{PAGE}/connect/")).unwrap_or_else(|| panic!("{link}")).to_owned()
    }

    /// Opens the link and allows it. Returns the address to which the browser is sent, and its cookie.
    async fn allow(&self, nonce: &str) -> (String, String) {
        let opened = self.logins.open(nonce).await.unwrap();
        (self.world.cloud.opens(&opened.to), opened.browser_secret)
    }

    async fn comes_back(&self, address: &str, cookie: &str) -> Result<LoginId, LoginError> {
        assert!(address.starts_with(&format!("{PAGE}/connect/back?")), "{address}");
        let (state, reply) = carries_code(address).unwrap();
        self.logins.arrived(&state, reply, Bringer::Browser(cookie)).await
    }
}

#[tokio::test]
async fn a_link_belongs_to_the_first_browser_that_goes_on_with_it() {
    let world = World::new().await;
    let browser = Browser::new(&world).await;
    let nonce = browser.begin().await;
    for _ in 0..2 {
        let offer = browser.logins.offered(&nonce).await.unwrap();
        assert_eq!((offer.person, offer.provider), (browser.person.clone(), ProviderKind::Google));
    }
    assert!(matches!(browser.logins.offered("nonsense").await, Err(LoginError::Gone)));
    let (address, cookie) = browser.allow(&nonce).await;
    assert!(matches!(browser.logins.open(&nonce).await, Err(LoginError::Gone)));
    let login = browser.comes_back(&address, &cookie).await.unwrap();
    assert!(matches!(browser.comes_back(&address, &cookie).await, Err(LoginError::Gone)));
    let (one, other) = tokio::join!(browser.logins.finish(&login), browser.logins.finish(&login));
    assert_eq!([one.is_ok(), other.is_ok()].iter().filter(|is_ok| **is_ok).count(), 1);
    assert!(matches!(browser.logins.finish(&login).await, Err(LoginError::Gone)));
    assert_eq!(world.accounts().await, 1);
    world.app.passes(Duration::from_secs(1)).await;
    world.app.sees("✓ Connected").await;
    world.ends_well().await;
}

#[tokio::test]
async fn another_browser_ends_the_login() {
    let world = World::new().await;
    let browser = Browser::new(&world).await;
    for cookie in ["", "another"] {
        let nonce = browser.begin().await;
        let (address, own) = browser.allow(&nonce).await;
        let brought = browser.comes_back(&address, cookie).await;
        assert!(matches!(brought, Err(LoginError::SomebodyElse)), "{brought:?}");
        assert!(matches!(browser.comes_back(&address, &own).await, Err(LoginError::Gone)));
    }
    assert_eq!(world.accounts().await, 0);
    world.app.passes(Duration::from_secs(1)).await;
    world.app.sees("Somebody else tried to finish your login").await;
    world.ends_well().await;
}

#[tokio::test]
async fn a_login_lasts_five_minutes_and_an_interrupted_exchange_is_told() {
    let world = World::new().await;
    let browser = Browser::new(&world).await;
    let late = browser.begin().await;
    let (address, cookie) = browser.allow(&browser.begin().await).await;
    world.app.passes(FIVE_MINUTES).await;
    assert!(matches!(browser.logins.open(&late).await, Err(LoginError::Gone)));
    assert!(matches!(browser.comes_back(&address, &cookie).await, Err(LoginError::Gone)));
    // A process that dies after the answer has arrived leaves the code to another one.
    let (address, cookie) = browser.allow(&browser.begin().await).await;
    browser.comes_back(&address, &cookie).await.unwrap();
    world.app.passes(Duration::from_secs(6)).await;
    world.app.sees("✓ Connected").await;
    // One that dies while it exchanges the code leaves nothing to go on with.
    let (address, cookie) = browser.allow(&browser.begin().await).await;
    let login = browser.comes_back(&address, &cookie).await.unwrap();
    let mut batch = Batch::new();
    adjutant_store::logins::claim(&mut batch, &login, world.app.store().now());
    world.app.store().write(batch).await.unwrap();
    world.app.passes(Duration::from_secs(61)).await;
    world.app.sees("I was interrupted while signing in").await;
    assert_eq!(world.accounts().await, 1);
    world.ends_well().await;
}
