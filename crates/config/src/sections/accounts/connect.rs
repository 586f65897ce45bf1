//! `[connect]`: the accounts that people connect themselves. `[secrets]`: the key that their logins are sealed with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use adjutant_types::{AccountService, ProviderKind};

use super::{People, people};
use crate::Secret;
use crate::document::Node;
use crate::error::suggestion;
use crate::read::{ConfigReader, Section, flag, path, text};
use crate::secret::{credential_file, secret};
use crate::sections::oauth::{OAuthConfig, endpoint};

/// The file of the key in the data folder, unless another is named.
const KEY_FILE: &str = "secrets.key";

/// What people may connect, and who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectConfig {
    /// In the order in which it is offered; only what is set up.
    pub offer: Vec<ProviderKind>,
    pub people: People,
    pub google: Option<GoogleConfig>,
    pub microsoft: Option<MicrosoftConfig>,
}

/// Our application at Google, and its servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoogleConfig {
    pub oauth: OAuthConfig,
    /// Whether only people of the owner's own Workspace log in, for which Google reviews nothing.
    pub is_internal: bool,
    pub revoke_url: String,
    pub imap: HostPort,
    pub smtp: HostPort,
    pub caldav_url: String,
    pub carddav_url: String,
    /// Certificates (PEM) to trust, where the servers above are others than Google's.
    pub ca_file: Option<PathBuf>,
}

/// Our application at Microsoft, and its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MicrosoftConfig {
    pub oauth: OAuthConfig,
    /// Microsoft Graph, without a slash at its end.
    pub api_url: String,
}

/// A server with TLS from the first byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    pub host: String,
    pub port: u16,
}

/// Where the key is that logins are sealed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretsConfig {
    /// A file of ours, made when it is first needed.
    File(PathBuf),
    /// A file that systemd hands us.
    Credential(PathBuf),
    /// The key is derived from it.
    Passphrase(Secret),
}

/// What is asked for at a provider, by what it is for.
// https://developers.google.com/workspace/gmail/imap/xoauth2-protocol,
// https://learn.microsoft.com/graph/permissions-reference
pub fn scopes(provider: ProviderKind) -> &'static [(AccountService, &'static str)] {
    match provider {
        ProviderKind::Google => &[
            (AccountService::Mail, "https://mail.google.com/"),
            (AccountService::Calendar, "https://www.googleapis.com/auth/calendar"),
            (AccountService::Contacts, "https://www.googleapis.com/auth/carddav"),
        ],
        ProviderKind::Microsoft => &[
            (AccountService::Mail, "Mail.ReadWrite"),
            (AccountService::Mail, "Mail.Send"),
            (AccountService::Calendar, "Calendars.ReadWrite"),
            (AccountService::Contacts, "Contacts.ReadWrite"),
        ],
        ProviderKind::Password => &[],
    }
}

/// The scopes of all services, with those that tell who logs in and that renew the login.
fn all_scopes(provider: ProviderKind, more: &[&str]) -> Vec<String> {
    let services = scopes(provider).iter().map(|(_, scope)| *scope);
    more.iter().copied().chain(services).map(str::to_owned).collect()
}

impl ConnectConfig {
    pub(crate) fn read(section: &mut Section<'_>) -> Option<Self> {
        let (is_present, has_offer) = (section.is_present(), section.has("offer"));
        let offer = section.list("offer", provider);
        let who = section.get("people", people).unwrap_or(People::Everybody);
        let google = section.section("google", GoogleConfig::read);
        let microsoft = section.section("microsoft", MicrosoftConfig::read);
        let is_set_up = |kind: ProviderKind| kind == ProviderKind::Password || section.has(kind.as_str());
        if let Some(kind) = offer.iter().find(|kind| !is_set_up(**kind)) {
            section.problem("offer", format!("{kind} isn't set up; add [connect.{kind}] with its client_id"));
        }
        let all = ProviderKind::ALL.iter().copied().filter(|kind| is_set_up(*kind)).collect();
        let offer = if has_offer { offer } else { all };
        is_present.then_some(Self { offer, people: who, google, microsoft })
    }
}

impl GoogleConfig {
    /// An application at Google itself.
    pub fn new(client_id: String, client_secret: Option<Secret>) -> Self {
        // https://developers.google.com/identity/protocols/oauth2/web-server
        let oauth = OAuthConfig {
            auth_url: Some("https://accounts.google.com/o/oauth2/v2/auth".to_owned()),
            token_url: "https://oauth2.googleapis.com/token".to_owned(),
            // Its device flow grants neither mail nor calendars.
            // https://developers.google.com/identity/protocols/oauth2/limited-input-device#allowedscopes
            device_url: None,
            client_id,
            client_secret,
            scopes: all_scopes(ProviderKind::Google, &["openid", "email"]),
            // Without them there is no refresh token.
            params: BTreeMap::from([
                ("access_type".to_owned(), "offline".to_owned()),
                ("prompt".to_owned(), "consent".to_owned()),
            ]),
            redirect: None,
        };
        Self {
            oauth,
            is_internal: false,
            revoke_url: "https://oauth2.googleapis.com/revoke".to_owned(),
            // https://developers.google.com/workspace/gmail/imap/imap-smtp
            imap: HostPort { host: "imap.gmail.com".to_owned(), port: 993 },
            smtp: HostPort { host: "smtp.gmail.com".to_owned(), port: 465 },
            // https://developers.google.com/workspace/calendar/caldav/v2/guide; the account's address follows.
            caldav_url: "https://apidata.googleusercontent.com/caldav/v2/".to_owned(),
            // https://developers.google.com/people/carddav
            carddav_url: "https://www.googleapis.com/.well-known/carddav".to_owned(),
            ca_file: None,
        }
    }

    fn read(section: &mut Section<'_>) -> Option<Self> {
        let client_id = section.needed("client_id", "the id that Google has given your application", text);
        let client_secret = section.get("client_secret", secret);
        let mut config = Self::new(client_id.clone().unwrap_or_default(), client_secret);
        section.set("internal", &mut config.is_internal, flag);
        section.set("auth_url", &mut config.oauth.auth_url, some_endpoint);
        section.set("token_url", &mut config.oauth.token_url, endpoint);
        section.set("revoke_url", &mut config.revoke_url, endpoint);
        section.set("imap", &mut config.imap, host);
        section.set("smtp", &mut config.smtp, host);
        section.set("caldav_url", &mut config.caldav_url, endpoint);
        section.set("carddav_url", &mut config.carddav_url, endpoint);
        config.ca_file = section.get("ca_file", path);
        client_id.map(|_| config)
    }
}

impl MicrosoftConfig {
    /// An application at Microsoft itself, for people of this tenant.
    pub fn new(client_id: String, client_secret: Option<Secret>, tenant: &str) -> Self {
        // https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow
        let url = |page: &str| format!("https://login.microsoftonline.com/{tenant}/oauth2/v2.0/{page}");
        let oauth = OAuthConfig {
            auth_url: Some(url("authorize")),
            token_url: url("token"),
            device_url: Some(url("devicecode")),
            client_id,
            client_secret,
            scopes: all_scopes(ProviderKind::Microsoft, &["offline_access", "User.Read"]),
            params: BTreeMap::new(),
            redirect: None,
        };
        Self { oauth, api_url: "https://graph.microsoft.com/v1.0".to_owned() }
    }

    fn read(section: &mut Section<'_>) -> Option<Self> {
        let what = "the id that Microsoft has given your application";
        let client_id = section.needed("client_id", what, text);
        let client_secret = section.get("client_secret", secret);
        let tenant = section.get("tenant", tenant).unwrap_or_else(|| "common".to_owned());
        let mut config = Self::new(client_id.clone().unwrap_or_default(), client_secret, &tenant);
        section.set("auth_url", &mut config.oauth.auth_url, some_endpoint);
        section.set("token_url", &mut config.oauth.token_url, endpoint);
        section.set("device_url", &mut config.oauth.device_url, some_endpoint);
        section.set("api_url", &mut config.api_url, |value, reader| {
            Ok(endpoint(value, reader)?.trim_end_matches('/').to_owned())
        });
        client_id.map(|_| config)
    }
}

impl SecretsConfig {
    /// A key file in this folder.
    pub(crate) fn in_dir(data_dir: &Path) -> Self {
        Self::File(data_dir.join(KEY_FILE))
    }

    pub(crate) fn read(section: &mut Section<'_>, default: Self) -> Self {
        section.section("key", |key| {
            let found = [
                key.get("file", path).map(Self::File),
                key.get("credential", credential).map(Self::Credential),
                key.get("passphrase", secret).map(Self::Passphrase),
            ];
            let mut found = found.into_iter().flatten();
            let first = found.next();
            if found.next().is_some() {
                key.problem("passphrase", "must be the only one of file, credential and passphrase");
            }
            first.unwrap_or(default)
        })
    }
}

fn provider(value: &Node, reader: &ConfigReader<'_>) -> Result<ProviderKind, String> {
    let name = text(value, reader)?;
    let names: Vec<&str> = ProviderKind::ALL.iter().map(|kind| kind.as_str()).collect();
    name.parse().map_err(|_| format!("unknown provider {name:?}; {}", suggestion(&name, &names)))
}

fn some_endpoint(value: &Node, reader: &ConfigReader<'_>) -> Result<Option<String>, String> {
    endpoint(value, reader).map(Some)
}

fn host(value: &Node, reader: &ConfigReader<'_>) -> Result<HostPort, String> {
    let text = text(value, reader)?;
    let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let parts = parts.filter(|(host, _)| !host.is_empty());
    let parts = parts.map(|(host, port)| HostPort { host: host.to_owned(), port });
    parts.ok_or_else(|| format!("{text:?} must be HOST:PORT, such as \"imap.gmail.com:993\""))
}

/// It becomes a part of addresses.
fn tenant(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let tenant = text(value, reader)?;
    match tenant.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte)) {
        true => Ok(tenant),
        false => Err(format!("{tenant:?} must be \"common\", a tenant's id or its domain")),
    }
}

fn credential(value: &Node, reader: &ConfigReader<'_>) -> Result<PathBuf, String> {
    let name = text(value, reader)?;
    credential_file(&name, reader)
        .or_else(|problem| if reader.env.expects_secrets { Ok(PathBuf::from(name)) } else { Err(problem) })
}
