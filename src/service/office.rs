//! The accounts of mail, calendar and contacts, as the configuration names them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Rooms;
use adjutant_dav::{Account, CalDav, CardDav};
use adjutant_mail::{Imap, Party, Server, Smtp, Tls};

use tokio_util::sync::CancellationToken;

use super::StartError;
use crate::config::{Config, ConfigError, DavConfig, MailConfig, MailServer, Tls as ConfigTls};
use crate::gateway::outbox::Delivering;
use crate::skills::office::{Books, Calendars, Mailbox, Office};

/// How long one exchange with a server may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// So long after the start it is looked for the first time.
const SETTLES: Duration = Duration::from_secs(2);

/// How often it is looked whether mails came back.
const LOOKS_FOR_MAIL: Duration = Duration::from_mins(1);

/// Sets the accounts up; no server is asked yet.
///
/// # Errors
/// When a file that the configuration names can't be read, or an address makes no sense.
pub fn build_office(config: &Config, rooms: BTreeMap<String, Arc<dyn Rooms>>) -> Result<Office, StartError> {
    let calendar = config.calendar.as_ref().map(|it| {
        let dav = CalDav::new(&account("calendar", it)?).map_err(|fault| faulty("calendar", &fault))?;
        Ok::<_, StartError>(Calendars::new(dav, it.default.clone()))
    });
    let contacts = config.contacts.as_ref().map(|it| {
        let dav = CardDav::new(&account("contacts", it)?).map_err(|fault| faulty("contacts", &fault))?;
        Ok::<_, StartError>(Books::new(dav, it.default.clone()))
    });
    Ok(Office {
        mail: config.mail.as_ref().map(mailbox).transpose()?,
        calendar: calendar.transpose()?,
        contacts: contacts.transpose()?,
        rooms,
        resolver: config.resolver,
        outgoing: config.data_dir.join("mail"),
    })
}

fn mailbox(config: &MailConfig) -> Result<Mailbox, StartError> {
    let from: Party = config.from.parse().map_err(|fault| faulty("mail.from", &fault))?;
    Ok(Mailbox {
        from,
        internal_domains: config.internal_domains.clone(),
        self_copy: config.self_copy,
        smtp: Smtp::new(server(&config.smtp)),
        imap: config.imap.as_ref().map(|it| Imap::new(server(it))),
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
        password: config.password.expose().into(),
        ca_file: config.ca_file.clone(),
        timeout: PATIENCE,
    }
}

fn account(section: &str, config: &DavConfig) -> Result<Account, StartError> {
    let ca_pem = config.ca_file.as_ref().map(|path| {
        std::fs::read_to_string(path)
            .map_err(|error| faulty(section, &format!("ca_file {} can't be read: {error}", path.display())))
    });
    Ok(Account {
        url: config.url.clone(),
        user: config.user.clone(),
        password: config.password.expose().to_owned(),
        ca_pem: ca_pem.transpose()?,
        timeout: PATIENCE,
    })
}

fn faulty(section: &str, why: &dyn std::fmt::Display) -> StartError {
    StartError::Config(ConfigError::one(Some(&format!("[{section}]")), why.to_string()))
}

/// Tells people of mails that came back.
pub(super) async fn watch_mail(office: Arc<Office>, delivering: Arc<Delivering>, stop: CancellationToken) {
    if office.mail.is_none() {
        return;
    }
    // Who only asks one thing in the terminal has left by then.
    let _ = stop.run_until_cancelled(tokio::time::sleep(SETTLES)).await;
    let mut ticks = tokio::time::interval(LOOKS_FOR_MAIL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let look = office.tell_bounces(&delivering.store, &delivering.instance);
        match stop.run_until_cancelled(look).await {
            Some(Ok(conversations)) => conversations.iter().for_each(|it| delivering.wake(it)),
            Some(Err(error)) => tracing::error!(%error, "it could not be noted that a mail came back"),
            None => return,
        }
    }
}
