//! The accounts of mail, calendar and contacts, set up from the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Rooms;
use adjutant_config::{Config, ConfigError, DavConfig, MailConfig, MailServer, People, Tls as ConfigTls};
use adjutant_dav::{Account, CalDav, CardDav, Quirks};
use adjutant_engine::gateway::outbox::Deliverer;
use adjutant_files::{Folder, Reader};
use adjutant_mail::{Address, Imap, Server, Smtp, Tls};
use adjutant_memory::vectors::Vectors;
use adjutant_models::embeddings::Embedder;
use adjutant_skills::accounts::{
    Accounts, AddressBooks, Calendars, ConnectedAccount, Inbox, Logins, SecretStore, Sender,
};
use adjutant_skills::builtin::{CalendarAccount, ContactsAccount, Mailbox, Notes, Services};
use adjutant_skills::oauth::OAuth;
use adjutant_types::AccountService;
use tokio_util::sync::CancellationToken;

use super::StartError;

/// How long one exchange with a server may take.
const SERVER_TIMEOUT: Duration = Duration::from_secs(20);

/// When bounced mails are first looked for, after the start.
const FIRST_CHECK: Duration = Duration::from_secs(2);

/// How often bounced mails are looked for.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// Sets up the accounts. It connects to no server yet; it fails when a file can't be read or an address is wrong.
pub fn build_services(
    config: &Config,
    rooms: BTreeMap<String, Arc<dyn Rooms>>,
) -> Result<Services, StartError> {
    let secrets = Arc::new(SecretStore::new(config));
    Ok(Services {
        accounts: Arc::new(Accounts::with(configured(config)?, config.connect.clone(), secrets.clone())),
        logins: Arc::new(Logins::new(config, secrets.clone())),
        secrets,
        rooms,
        resolver: config.resolver,
        search: config.search.clone(),
        notes: config.notes.clone().map(Notes::new),
        vectors: vectors(config)?.map(Arc::new),
        fade: config.memory.fade,
        oauth: Arc::new(OAuth::new(config)),
        outgoing: config.data_dir.join("mail"),
        files: Arc::new(Folder::new(config.files_dir())),
        reader: Arc::new(Reader::new(config.program.clone())),
        ..Services::default()
    })
}

fn configured(config: &Config) -> Result<Vec<(ConnectedAccount, People)>, StartError> {
    let mut all = Vec::new();
    if let Some(mail) = &config.mail {
        let mailbox = mailbox(mail)?;
        let account = ConnectedAccount::configured(AccountService::Mail, &mail.label, &mailbox.from.address);
        all.push((ConnectedAccount { mail: Some(Arc::new(mailbox)), ..account }, mail.people.clone()));
    }
    if let Some(calendar) = &config.calendar {
        let dav =
            CalDav::new(&account("calendar", calendar)?).map_err(|error| invalid("calendar", &error))?;
        let client = CalendarAccount::new(Calendars::CalDav(dav), calendar.default.clone());
        let account = ConnectedAccount::configured(AccountService::Calendar, &calendar.label, &calendar.user);
        all.push((ConnectedAccount { calendar: Some(Arc::new(client)), ..account }, calendar.people.clone()));
    }
    if let Some(contacts) = &config.contacts {
        let dav =
            CardDav::new(&account("contacts", contacts)?).map_err(|error| invalid("contacts", &error))?;
        let client = ContactsAccount::new(AddressBooks::CardDav(dav), contacts.default.clone());
        let account = ConnectedAccount::configured(AccountService::Contacts, &contacts.label, &contacts.user);
        all.push((ConnectedAccount { contacts: Some(Arc::new(client)), ..account }, contacts.people.clone()));
    }
    Ok(all)
}

/// What compares the meanings of memories, if that is wanted.
pub fn vectors(config: &Config) -> Result<Option<Vectors>, StartError> {
    let Some(wanted) = &config.memory.embeddings else { return Ok(None) };
    let key = wanted.api_key.as_ref().map(|key| key.expose().to_owned());
    Ok(Some(Vectors::new(Embedder::new(&wanted.name, &wanted.base_url, key)?)))
}

fn mailbox(config: &MailConfig) -> Result<Mailbox, StartError> {
    let from: Address = config.from.parse().map_err(|error| invalid("mail.from", &error))?;
    Ok(Mailbox {
        from,
        internal_domains: config.internal_domains.clone(),
        self_copy: config.self_copy,
        smtp: Sender::Smtp(Smtp::new(server(&config.smtp))),
        imap: config.imap.as_ref().map(|imap| Inbox::Imap(Box::new(Imap::new(server(imap))))),
    })
}

fn server(config: &MailServer) -> Server {
    Server {
        host: config.host.clone(),
        port: config.port,
        tls: match config.tls {
            ConfigTls::Implicit => Tls::Implicit,
            ConfigTls::StartTls => Tls::StartTls,
            ConfigTls::None => Tls::None,
        },
        username: config.user.clone(),
        credential: config.password.expose().into(),
        ca_file: config.ca_file.clone(),
        timeout: SERVER_TIMEOUT,
        address_filter: None,
    }
}

fn account(section: &str, config: &DavConfig) -> Result<Account, StartError> {
    let ca_pem = config.ca_file.as_ref().map(|path| {
        std::fs::read_to_string(path)
            .map_err(|error| invalid(section, &format!("ca_file {} can't be read: {error}", path.display())))
    });
    Ok(Account {
        url: config.url.clone(),
        user: config.user.clone(),
        credential: config.password.expose().into(),
        ca_pem: ca_pem.transpose()?,
        timeout: SERVER_TIMEOUT,
        quirks: Quirks::default(),
        address_filter: None,
    })
}

fn invalid(section: &str, why: &dyn std::fmt::Display) -> StartError {
    StartError::Config(ConfigError::one(Some(&format!("[{section}]")), why.to_string()))
}

/// Tells people about mails that bounced.
pub(super) async fn watch_mail(services: Arc<Services>, deliverer: Arc<Deliverer>, stop: CancellationToken) {
    // A process that answers one message in the terminal has ended by then.
    let _ = stop.run_until_cancelled(tokio::time::sleep(FIRST_CHECK)).await;
    let mut ticks = tokio::time::interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let check = services.report_bounces(&deliverer.store, deliverer.cluster.instance.owner());
        match stop.run_until_cancelled(check).await {
            Some(Ok(conversations)) => {
                conversations.iter().for_each(|conversation| deliverer.wake(conversation))
            }
            Some(Err(error)) => tracing::error!(%error, "can't announce a bounced mail; will try again"),
            None => return,
        }
    }
}
