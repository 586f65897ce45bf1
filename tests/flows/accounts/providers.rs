//! The kinds of accounts that people have, each with servers behind it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use adjutant_config::{
    Config, DavConfig, GoogleConfig, HostPort, MailConfig, MicrosoftConfig, People, Secret,
};
use adjutant_fakes::dav_proxy::Proxy;
use adjutant_fakes::dav_server::{self, Kind};
use adjutant_fakes::graph::FakeGraph;
use adjutant_fakes::mail_server;
use adjutant_mail::{Imap, Query, Server, Tls};
use adjutant_skills::accounts::AccountSettings;
use adjutant_store::connected::AccountRow;
use adjutant_types::{AccountService, ProviderKind};

use super::world::{World, account_row};
use crate::groupware::{account, skill_caller};
use crate::prompts;

/// A server delivers a moment after it has accepted; nothing takes longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// How somebody's account is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    /// By a password of the configuration.
    Configuration,
    /// By a password of their own. That of a mailbox is tried in `tests/binary/accounts_password.rs`, where the system trusts
    /// its servers.
    Password,
    /// By access tokens, at servers that are as strict as Google's.
    Google,
    /// By Microsoft Graph.
    Microsoft,
}

/// An app in which ada has one account.
pub(super) struct Office {
    pub(super) world: World,
    /// The stand-in for Microsoft, if the account is there.
    pub(super) graph: Option<FakeGraph>,
}

impl Office {
    /// One with a calendar and contacts; none where there is no server for them.
    pub(super) async fn with_calendar(provider: Provider) -> Option<Self> {
        let row = row(&[AccountService::Calendar, AccountService::Contacts]);
        let world = match provider {
            Provider::Microsoft => return Some(Self::at_microsoft(row).await),
            Provider::Configuration => configured(&Collections::new(provider)?).await,
            Provider::Password => by_password(&Collections::new(provider)?, row).await,
            Provider::Google => by_token(&Collections::new(provider)?, row).await,
        };
        Some(Self { world, graph: None })
    }

    /// One with carol's mailbox; none where there is no mail server.
    pub(super) async fn with_mail(provider: Provider) -> Option<Self> {
        static OFFICES: AtomicU64 = AtomicU64::new(9_000);
        let row = row(&[AccountService::Mail]);
        if provider == Provider::Microsoft {
            return Some(Self::at_microsoft(row).await);
        }
        let server = mail_server::shared().unwrap()?;
        let world = World::with(skill_caller(), |config| match provider {
            Provider::Google => mail_at(config, server),
            _ => config.mail = Some(mailbox(server)),
        })
        .await;
        // The server is shared, and an email's id comes from the clock.
        world.app.passes(Duration::from_millis(OFFICES.fetch_add(1, Ordering::SeqCst))).await;
        if provider == Provider::Google {
            server.allow("token-carol", "carol@example.test").unwrap();
            world.connect_at("ada", row, None).await;
        }
        Some(Self { world, graph: None })
    }

    async fn at_microsoft(row: AccountRow) -> Self {
        let graph = FakeGraph::start();
        graph.state().person("token-carol", "carol@example.test");
        graph.state().person("token-of-bob", "bob@example.test");
        let world = World::with(skill_caller(), |config| microsoft(config, &graph)).await;
        world.connect_at("ada", AccountRow { provider: ProviderKind::Microsoft, ..row }, None).await;
        Self { world, graph: Some(graph) }
    }

    /// Nothing is left open, and Microsoft had nothing to complain of.
    pub(super) async fn ends_well(self) {
        if let Some(graph) = &self.graph {
            assert_eq!(graph.state().complaints, [""; 0]);
        }
        self.world.ends_well().await;
    }
}

/// Carol's account at Google, for these services.
fn row(services: &[AccountService]) -> AccountRow {
    AccountRow { services: services.to_vec(), ..account_row("carol", "private") }
}

/// A new calendar and a new address book of Radicale's.
struct Collections {
    server: &'static dav_server::Server,
    calendar: String,
    contacts: String,
}

impl Collections {
    /// None where Radicale can't be installed.
    fn new(provider: Provider) -> Option<Self> {
        let server = dav_server::shared().unwrap()?;
        let name = |kind: Kind| format!("table-{provider:?}-{kind:?}");
        let made = |kind: Kind| server.collection("me", &name(kind), kind).unwrap();
        Some(Self { server, calendar: made(Kind::Calendar), contacts: made(Kind::AddressBook) })
    }

    /// The addresses of the calendar and of the address book, at a server that begins so.
    fn urls(&self, root: &str) -> [String; 2] {
        [&self.calendar, &self.contacts].map(|path| format!("{}{path}", root.trim_end_matches('/')))
    }
}

async fn configured(collections: &Collections) -> World {
    let dav =
        |url: String| DavConfig { url, user: "me".into(), password: Secret::new("me-secret"), ..account() };
    World::with(skill_caller(), |config| {
        [config.calendar, config.contacts] = collections.urls(&collections.server.url()).map(dav).map(Some);
    })
    .await
}

async fn by_password(collections: &Collections, row: AccountRow) -> World {
    let [caldav, carddav] = collections.urls(&collections.server.url()).map(Some);
    let settings = AccountSettings { caldav, carddav, ..AccountSettings::default() };
    let world = World::new(skill_caller()).await;
    // One logs in with the address, and the server knows names alone.
    let (address, provider) = ("me".to_owned(), ProviderKind::Password);
    let row = AccountRow { address, provider, settings: settings.to_json(), ..row };
    world.connect_at("ada", row, Some("me-secret")).await;
    world
}

async fn by_token(collections: &Collections, row: AccountRow) -> World {
    let proxy = Proxy::start(collections.server);
    proxy.allow("token-carol", "me");
    let [calendar, contacts] = collections.urls(&proxy.url());
    let world = World::with(skill_caller(), |config| {
        let google = google(config);
        // The person's address follows; the server doesn't look at it.
        google.caldav_url = format!("{calendar}?");
        google.carddav_url = contacts;
    })
    .await;
    world.connect_at("ada", row, None).await;
    world
}

fn google(config: &mut Config) -> &mut GoogleConfig {
    config.connect.as_mut().and_then(|connect| connect.google.as_mut()).unwrap()
}

/// Google's mailboxes are at this server.
pub(super) fn mail_at(config: &mut Config, server: &mail_server::Server) {
    let google = google(config);
    let at = |port| HostPort { host: "localhost".into(), port };
    (google.imap, google.smtp) = (at(server.imaps), at(server.submissions));
    google.ca_file = Some(server.file("ca.pem"));
}

/// Accounts at Microsoft are at this stand-in.
pub(super) fn microsoft(config: &mut Config, graph: &FakeGraph) {
    let connect = config.connect.as_mut().unwrap();
    let microsoft = MicrosoftConfig::new("client".into(), None, "common");
    connect.offer.push(ProviderKind::Microsoft);
    connect.microsoft = Some(MicrosoftConfig { api_url: graph.url(), ..microsoft });
}

fn mailbox(server: &mail_server::Server) -> MailConfig {
    MailConfig {
        from: "Carol Clark <carol@example.test>".into(),
        internal_domains: Vec::new(),
        self_copy: false,
        smtp: prompts::account(server, server.submissions),
        imap: Some(prompts::account(server, server.imaps)),
        people: People::default(),
        label: "shared".into(),
    }
}

/// How somebody on the mail server logs in with another program.
pub(super) fn login(server: &mail_server::Server, who: &str, port: u16) -> Server {
    Server {
        host: "localhost".into(),
        port,
        tls: Tls::Implicit,
        username: format!("{who}@example.test"),
        credential: format!("{who}-secret").into(),
        ca_file: Some(server.file("ca.pem")),
        timeout: PATIENCE,
        address_filter: None,
    }
}

/// How many mails with this subject somebody has got, once there is one.
pub(super) async fn got(server: &mail_server::Server, who: &str, subject: &str) -> usize {
    let inbox = Imap::new(login(server, who, server.imaps));
    let (subject, folder) = (Some(subject.to_owned()), Some("INBOX".to_owned()));
    let query = Query { subject, folder, limit: 5, ..Query::default() };
    let arrived = async {
        loop {
            let found = inbox.search(&query).await.unwrap().messages.len();
            if found > 0 {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, arrived).await.unwrap()
}
