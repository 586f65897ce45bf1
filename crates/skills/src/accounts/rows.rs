//! The clients of an account in the store, and their access tokens.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::{ConnectConfig, GoogleConfig, HostPort, MicrosoftConfig, OAuthConfig};
use adjutant_credential::{Credential, NoToken, TokenSource};
use adjutant_dav::{Account, CalDav, CardDav, Quirks};
use adjutant_graph::{GraphAccount, GraphCalendar, GraphContacts, GraphMail};
use adjutant_l10n as l10n;
use adjutant_mail::{Imap, Server, Smtp, Tls};
use adjutant_store::connected::AccountRow;
use adjutant_types::{AccountId, AccountService, FromConfig, Own, ProviderKind, ours};
use futures::FutureExt as _;

use super::provider::application;
use super::{
    AccountSettings, Accounts, AddressBooks, Calendars, ConnectedAccount, Inbox, MailHost, SecretStore,
    Sender, provider_name,
};
use crate::builtin::{CalendarAccount, ContactsAccount, Mailbox};
use crate::oauth::{self, NoTokens};
use crate::{SkillError, handlers};

/// How long one exchange with a server may take.
const SERVER_TIMEOUT: Duration = Duration::from_secs(20);

impl SecretStore {
    /// What gives a client the access tokens of an account.
    pub fn token_source(
        self: &Arc<Self>,
        account: &AccountId,
        provider: ProviderKind,
        config: &OAuthConfig,
    ) -> TokenSource {
        let login = Arc::new(oauth::Login::of_account(account, provider, config, self));
        Arc::new(move |refused: Option<String>| {
            let login = Arc::clone(&login);
            async move {
                match login.token(refused.as_deref()).await {
                    Ok(token) => Ok(token.expose().to_owned()),
                    Err(NoTokens::Missing | NoTokens::Ended(_)) => Err(NoToken::Ended),
                    Err(NoTokens::Failed(error)) => Err(NoToken::Unreachable(error.message.whole())),
                }
            }
            .boxed()
        })
    }
}

impl Accounts {
    /// What an account logs in with, and whether that stays so. What can't be read now is an error of the account's calls,
    /// which otherwise would take another account.
    pub(super) async fn credential(&self, row: &AccountRow) -> (Credential, bool) {
        let application = self.connect.as_ref().and_then(|connect| application(connect, row.provider));
        if let Some(application) = application {
            let source = self.secrets.token_source(&row.id, row.provider, application);
            return (Credential::Bearer(source), true);
        }
        match self.secrets.password(&row.id).await {
            Ok(password) => (Credential::Password(password.expose().to_owned()), true),
            Err(error) => {
                let why = error.message.whole();
                let source: TokenSource = Arc::new(move |_| {
                    let why = why.clone();
                    Box::pin(async move { Err(NoToken::Unreachable(why)) })
                });
                (Credential::Bearer(source), false)
            }
        }
    }
}

/// The account of a row, with clients for what its login grants.
pub(crate) fn clients(
    row: &AccountRow,
    credential: Credential,
    connect: Option<&ConnectConfig>,
) -> Result<ConnectedAccount, SkillError> {
    let (mail, calendar, contacts) = all_clients(row, credential, connect)?;
    let has = |service: AccountService| row.services.contains(&service);
    let calendar = calendar.filter(|_| has(AccountService::Calendar));
    let contacts = contacts.filter(|_| has(AccountService::Contacts));
    Ok(ConnectedAccount {
        id: row.id.clone(),
        label: row.label.clone(),
        provider: row.provider,
        address: row.address.clone(),
        is_shared: row.person_id.is_none(),
        is_mail_default: row.is_mail_default,
        is_events_default: row.is_events_default,
        busy_calendars: AccountSettings::read(&row.settings).busy_calendars,
        mail: mail.filter(|_| has(AccountService::Mail)).map(Arc::new),
        calendar: calendar.map(|client| Arc::new(CalendarAccount::new(client, String::new()))),
        contacts: contacts.map(|client| Arc::new(ContactsAccount::new(client, String::new()))),
        is_refused: Arc::default(),
    })
}

/// All clients that an account's provider has, whatever its login grants.
pub(super) fn all_clients(
    row: &AccountRow,
    credential: Credential,
    connect: Option<&ConnectConfig>,
) -> Result<Clients, SkillError> {
    let settings = AccountSettings::read(&row.settings);
    let is_public: fn(IpAddr) -> bool = handlers::is_public;
    let address_filter = settings.is_public_only.then_some(is_public);
    let login = Login { row, credential, address_filter };
    let google = connect.and_then(|connect| connect.google.as_ref());
    let microsoft = connect.and_then(|connect| connect.microsoft.as_ref());
    match (row.provider, google, microsoft) {
        (ProviderKind::Google, Some(google), _) => login.at_google(google),
        (ProviderKind::Microsoft, _, Some(microsoft)) => login.at_microsoft(microsoft),
        (ProviderKind::Password, ..) => login.by_password(&settings),
        _ => Err(not_set_up(row)),
    }
}

fn not_set_up(row: &AccountRow) -> SkillError {
    SkillError::not_found(ours!(l10n::accounts::not_set_up, Own(provider_name(row.provider))))
}

/// Those of mail, calendars and contacts.
pub(super) type Clients = (Option<Mailbox>, Option<Calendars>, Option<AddressBooks>);

/// What the clients of one account have in common.
struct Login<'a> {
    row: &'a AccountRow,
    credential: Credential,
    /// Which addresses its servers may have; none: any.
    address_filter: Option<fn(IpAddr) -> bool>,
}

impl Login<'_> {
    fn calendars(&self, url: &str, quirks: Quirks, ca_pem: Option<&str>) -> Result<Calendars, SkillError> {
        Ok(Calendars::CalDav(CalDav::new(&self.dav(url, quirks, ca_pem))?))
    }

    fn books(&self, url: &str, quirks: Quirks, ca_pem: Option<&str>) -> Result<AddressBooks, SkillError> {
        Ok(AddressBooks::CardDav(CardDav::new(&self.dav(url, quirks, ca_pem))?))
    }

    fn at_google(&self, google: &GoogleConfig) -> Result<Clients, SkillError> {
        let ca_file = google.ca_file.as_ref();
        let server = |at: &HostPort| self.server((&at.host, at.port), Tls::Implicit, ca_file);
        let (smtp, imap) = (Smtp::new(server(&google.smtp)), Imap::new(server(&google.imap)));
        let ca_pem = ca_file.map(|path| certificates(path)).transpose()?;
        // https://developers.google.com/workspace/calendar/caldav/v2/guide
        let calendars = format!("{}/{}/user", google.caldav_url.trim_end_matches('/'), self.row.address);
        Ok((
            Some(self.mailbox(Sender::Smtp(smtp), Some(Inbox::Imap(Box::new(imap))))?),
            Some(self.calendars(&calendars, Quirks::google(), ca_pem.as_deref())?),
            Some(self.books(&google.carddav_url, Quirks::google(), ca_pem.as_deref())?),
        ))
    }

    fn at_microsoft(&self, microsoft: &MicrosoftConfig) -> Result<Clients, SkillError> {
        let Credential::Bearer(token) = &self.credential else { return Err(not_set_up(self.row)) };
        let graph = GraphAccount::new(&microsoft.api_url, token.clone(), SERVER_TIMEOUT);
        let (sender, inbox) = (Sender::Graph(GraphMail::new(&graph)), Inbox::Graph(GraphMail::new(&graph)));
        Ok((
            Some(self.mailbox(sender, Some(inbox))?),
            Some(Calendars::Graph(GraphCalendar::new(&graph))),
            Some(AddressBooks::Graph(GraphContacts::new(&graph))),
        ))
    }

    fn by_password(&self, settings: &AccountSettings) -> Result<Clients, SkillError> {
        let server = |at: &MailHost| {
            let tls = if at.is_starttls { Tls::StartTls } else { Tls::Implicit };
            self.server((&at.host, at.port), tls, None)
        };
        let inbox = settings.imap.as_ref().map(|imap| Inbox::Imap(Box::new(Imap::new(server(imap)))));
        let sender = settings.smtp.as_ref().map(|smtp| Sender::Smtp(Smtp::new(server(smtp))));
        let mail = sender.map(|sender| self.mailbox(sender, inbox)).transpose()?;
        let quirks = || Quirks { hosts: settings.hosts.clone(), ..Quirks::default() };
        let calendars =
            settings.caldav.as_ref().map(|url| self.calendars(url, quirks(), None)).transpose()?;
        let books = settings.carddav.as_ref().map(|url| self.books(url, quirks(), None)).transpose()?;
        Ok((mail, calendars, books))
    }

    fn mailbox(&self, smtp: Sender, imap: Option<Inbox>) -> Result<Mailbox, SkillError> {
        let from = self.row.address.parse::<adjutant_mail::Address>()?;
        Ok(Mailbox { from, internal_domains: Vec::new(), self_copy: false, smtp, imap })
    }

    fn server(&self, (host, port): (&str, u16), tls: Tls, ca_file: Option<&PathBuf>) -> Server {
        Server {
            host: host.to_owned(),
            port,
            tls,
            username: self.row.address.clone(),
            credential: self.credential.clone(),
            ca_file: ca_file.cloned(),
            timeout: SERVER_TIMEOUT,
            address_filter: self.address_filter,
        }
    }

    fn dav(&self, url: &str, quirks: Quirks, ca_pem: Option<&str>) -> Account {
        Account {
            url: url.to_owned(),
            user: self.row.address.clone(),
            credential: self.credential.clone(),
            ca_pem: ca_pem.map(str::to_owned),
            timeout: SERVER_TIMEOUT,
            quirks,
            address_filter: self.address_filter,
        }
    }
}

fn certificates(path: &Path) -> Result<String, SkillError> {
    std::fs::read_to_string(path).map_err(|error| {
        SkillError::params(ours!("{} can't be read: {}", FromConfig(path.display()), Own(error)))
    })
}
