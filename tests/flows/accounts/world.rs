//! A world in which people have accounts: a stand-in for Google's calendars and contacts that knows whose token it gets, and
//! an app whose people have connected accounts there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use adjutant_config::{Config, ConnectConfig, GoogleConfig, HostPort, People};
use adjutant_skills::accounts::{AccountSettings, SecretStore};
use adjutant_store::connected::{self, AccountRow};
use adjutant_store::{Batch, people, secrets};
use adjutant_types::{AccountId, AccountService, AccountState, PersonId, ProviderKind};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::app::{TestApp, scripted_with};
use crate::scripted::Scripted;

/// What is in every account: an event on the day after the tests' now, and a contact, both named after it.
const EVENT: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//a//test\r\nBEGIN:VEVENT\r\nUID:standing-ID\r\n\
                     DTSTAMP:20261101T000000Z\r\nDTSTART:20261122T090000Z\r\nDTEND:20261122T100000Z\r\n\
                     SUMMARY:Secret ID\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
const CARD: &str = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:card-ID\r\nFN:Friend ID\r\n\
                    EMAIL:friend-ID@example.test\r\nEND:VCARD\r\n";

/// A request, and the account whose token it carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) account: String,
    pub(crate) method: String,
    pub(crate) path: String,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) asked: Vec<Asked>,
    /// The objects that were put, by path.
    pub(crate) objects: BTreeMap<String, String>,
    /// The accounts whose tokens are no longer good.
    pub(crate) ended: BTreeSet<String>,
    /// Requests without a token that there is, or at an address that isn't its account's.
    pub(crate) complaints: Vec<String>,
    /// How many requests are being answered, and the most so far.
    at_work: usize,
    pub(crate) most_at_once: usize,
}

/// Calendars and contacts on 127.0.0.1; it stops when it is dropped.
pub(crate) struct Cloud {
    origin: String,
    state: Arc<Mutex<State>>,
    server: JoinHandle<()>,
}

impl Cloud {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let serving = state.clone();
        let server = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, serving.clone()));
            }
        });
        Self { origin, state, server }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn configure(&self, config: &mut Config) {
        let nowhere = HostPort { host: "127.0.0.1".into(), port: 1 };
        let mut google = GoogleConfig::new("client".into(), None);
        google.oauth.auth_url = Some(format!("{}/authorize", self.origin));
        google.oauth.token_url = format!("{}/token", self.origin);
        google.revoke_url = format!("{}/revoke", self.origin);
        google.caldav_url = format!("{}/caldav", self.origin);
        google.carddav_url = format!("{}/carddav/", self.origin);
        (google.imap, google.smtp) = (nowhere.clone(), nowhere);
        config.connect = Some(ConnectConfig {
            offer: vec![ProviderKind::Google],
            people: People::Everybody,
            google: Some(google),
            microsoft: None,
        });
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(mut socket: TcpStream, state: Arc<Mutex<State>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    let head = loop {
        if let Some(at) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        match socket.read(&mut buffer).await {
            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    };
    let lines = String::from_utf8_lossy(&request[..head]).into_owned();
    let header = |name: &str| {
        let named = |line: &&str| line.to_lowercase().starts_with(&format!("{name}:"));
        lines.lines().find(named).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    };
    let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
    while request.len() < head + length {
        match socket.read(&mut buffer).await {
            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let mut words = lines.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let token = header("authorization").and_then(|value| value.strip_prefix("Bearer token-"));
    let body = String::from_utf8_lossy(&request[head..]).into_owned();
    let (status, body) = {
        let mut state = state.lock().unwrap();
        state.at_work += 1;
        state.most_at_once = state.most_at_once.max(state.at_work);
        state.answer(token, method, path, body)
    };
    // Others of the same call arrive meanwhile, if they are made at once.
    tokio::task::yield_now().await;
    state.lock().unwrap().at_work -= 1;
    let answer = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/xml\r\netag: \"1\"\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = socket.write_all(answer.as_bytes()).await;
}

impl State {
    fn answer(&mut self, token: Option<&str>, method: &str, path: &str, body: String) -> (u16, String) {
        if path == "/token" {
            return (400, json!({"error": "invalid_grant"}).to_string());
        }
        let Some(account) = token else {
            self.complaints.push(format!("{method} {path} without a token"));
            return (401, String::new());
        };
        self.asked.push(Asked { account: account.into(), method: method.into(), path: path.into() });
        if self.ended.contains(account) {
            return (401, String::new());
        }
        let is_calendar = path.starts_with("/caldav/");
        let own = format!("/{account}@example.test/");
        if is_calendar && !path.contains(&own) {
            self.complaints.push(format!("{method} {path} with the token of {account}"));
            return (403, String::new());
        }
        let folder = if is_calendar { format!("/caldav{own}events/") } else { format!("/carddav{own}") };
        match method {
            "PROPFIND" => (207, collection(&folder, is_calendar, account)),
            "REPORT" => (207, self.objects(&folder, is_calendar, account)),
            "PUT" => {
                let status = if self.objects.insert(path.to_owned(), body).is_some() { 204 } else { 201 };
                (status, String::new())
            }
            "GET" => self.objects.get(path).map_or((404, String::new()), |text| (200, text.clone())),
            "DELETE" => (if self.objects.remove(path).is_some() { 204 } else { 404 }, String::new()),
            _ => (200, String::new()),
        }
    }

    fn objects(&self, folder: &str, is_calendar: bool, account: &str) -> String {
        let (data, standing) = if is_calendar { ("calendar-data", EVENT) } else { ("address-data", CARD) };
        let standing = (format!("{folder}standing"), standing.replace("ID", account));
        let own = self.objects.iter().filter(|(path, _)| path.starts_with(folder));
        let own = own.map(|(path, text)| (path.clone(), text.clone()));
        let entries: String = own
            .chain([standing])
            .map(|(path, text)| {
                format!(
                    "<D:response><D:href>{path}</D:href><D:propstat><D:prop><D:getetag>\"1\"</D:getetag><C:{data}>{text}</C:{data}>\
                     </D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
                )
            })
            .collect();
        multistatus(is_calendar, &entries)
    }
}

fn collection(folder: &str, is_calendar: bool, account: &str) -> String {
    let kind = if is_calendar { "calendar" } else { "addressbook" };
    let entry = format!(
        "<D:response><D:href>{folder}</D:href><D:propstat><D:prop><D:resourcetype><D:collection/><C:{kind}/></D:resourcetype>\
         <D:displayname>Of {account}</D:displayname></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    );
    multistatus(is_calendar, &entry)
}

fn multistatus(is_calendar: bool, entries: &str) -> String {
    let namespace = if is_calendar { "caldav" } else { "carddav" };
    format!(
        "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:{namespace}\">{entries}\
         </D:multistatus>"
    )
}

/// An account at Google with this id and label, which is nobody's yet.
pub(crate) fn account_row(id: &str, label: &str) -> AccountRow {
    let row = AccountRow::new(id.into(), ProviderKind::Google, &format!("{id}@example.test"));
    AccountRow { label: label.into(), ..row }
}

/// An app and the accounts of its people.
pub(crate) struct World {
    pub(crate) app: TestApp,
    pub(crate) cloud: Cloud,
    secrets: SecretStore,
}

impl World {
    pub(crate) async fn new(script: Scripted) -> Self {
        Self::with(script, |_| {}).await
    }

    /// One with a configuration of its own.
    pub(crate) async fn with(script: Scripted, change: impl FnOnce(&mut Config)) -> Self {
        let cloud = Cloud::start().await;
        let mut used = None;
        let app = scripted_with(script, |config| {
            cloud.configure(config);
            change(config);
            used = Some(config.clone());
        })
        .await;
        let secrets = SecretStore::new(&used.unwrap());
        secrets.attach(app.store());
        Self { app, cloud, secrets }
    }

    pub(crate) async fn person(&self, who: &str) -> PersonId {
        people::person(self.app.store(), "console", who, who).await.unwrap().id
    }

    /// Connects the account of this id and label, with a calendar and contacts. Without people it is everybody's, with several
    /// it is that of a group.
    pub(crate) async fn connect(&self, id: &str, label: &str, whose: &[&str]) -> AccountId {
        self.connect_for(&[AccountService::Calendar, AccountService::Contacts], id, label, whose).await
    }

    /// The same with these services.
    pub(crate) async fn connect_for(
        &self,
        services: &[AccountService],
        id: &str,
        label: &str,
        whose: &[&str],
    ) -> AccountId {
        let store = self.app.store();
        let account: AccountId = id.into();
        let mut people = Vec::new();
        for who in whose {
            people.push(self.person(who).await);
        }
        let row = AccountRow {
            person_id: if let [only] = people.as_slice() { Some(only.clone()) } else { None },
            services: services.to_vec(),
            created_at: store.now(),
            ..account_row(id, label)
        };
        let (name, sealed) = self.sealed(&account).await;
        let mut batch = Batch::new();
        connected::insert(&mut batch, &row);
        secrets::put(&mut batch, &name, &sealed);
        if people.len() > 1 {
            people.iter().for_each(|person| connected::add_person(&mut batch, &account, person));
        }
        store.write(batch).await.unwrap();
        account
    }

    /// Connects somebody's account at another provider, whose secret is its tokens or this password.
    pub(crate) async fn connect_at(&self, who: &str, row: AccountRow, password: Option<&str>) {
        let row = AccountRow { person_id: Some(self.person(who).await), ..row };
        let (name, mut sealed) = self.sealed(&row.id).await;
        if let Some(password) = password {
            sealed = self.secrets.seal(&name, password).await.unwrap();
        }
        self.write(|batch| {
            connected::insert(batch, &row);
            secrets::put(batch, &name, &sealed);
        })
        .await;
    }

    /// Connects somebody's calendar by a password that its server doesn't take.
    pub(crate) async fn connect_by_password(&self, who: &str, id: &str, label: &str) -> AccountId {
        let caldav = Some(format!("{}/caldav/{id}@example.test/user", self.cloud.origin));
        let row = AccountRow {
            provider: ProviderKind::Password,
            services: vec![AccountService::Calendar],
            settings: AccountSettings { caldav, ..AccountSettings::default() }.to_json(),
            ..account_row(id, label)
        };
        let account = row.id.clone();
        self.connect_at(who, row, Some("wr0ng")).await;
        account
    }

    /// The name and the sealed text of an account's tokens.
    async fn sealed(&self, account: &AccountId) -> (String, String) {
        let token = format!("token-{account}");
        let tokens = json!({"access_token": token, "refresh_token": null, "expires_at": null, "since": 0});
        let name = secrets::name_of(account);
        let sealed = self.secrets.seal(&name, &tokens.to_string()).await.unwrap();
        (name, sealed)
    }

    /// The provider takes an account's token no more.
    pub(crate) fn ends_login(&self, account: &AccountId) {
        self.cloud.state().ended.insert(account.to_string());
    }

    /// Its person logs in again.
    pub(crate) async fn logs_in(&self, account: &AccountId) {
        self.cloud.state().ended.remove(account.as_str());
        let (name, sealed) = self.sealed(account).await;
        self.write(|batch| {
            secrets::put(batch, &name, &sealed);
            connected::set_state(batch, account, AccountState::Ready);
        })
        .await;
    }

    pub(crate) async fn write(&self, fill: impl FnOnce(&mut Batch)) {
        let mut batch = Batch::new();
        fill(&mut batch);
        self.app.store().write(batch).await.unwrap();
    }

    /// The row of an account.
    pub(crate) async fn row(&self, account: &AccountId) -> AccountRow {
        connected::by_id(self.app.store(), account).await.unwrap().unwrap()
    }

    /// Nothing is left open, and the provider never got a token that it doesn't know, or for another account.
    pub(crate) async fn ends_well(self) {
        assert_eq!(self.cloud.state().complaints, [""; 0]);
        self.app.ends_well().await;
    }
}
