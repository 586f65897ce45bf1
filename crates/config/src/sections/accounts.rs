//! `[mail]`, `[calendar]` and `[contacts]`: the accounts.

pub(crate) mod connect;

use std::path::PathBuf;

use super::assistant::owner;
use crate::Secret;
use crate::document::{Node, Value};
use crate::read::{ConfigReader, Section, flag, one_of, path, text};
use crate::secret::secret;

/// Who may use something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum People {
    /// The owners, and those who sit at the machine.
    #[default]
    Owners,
    /// All who may talk to the assistant.
    Everybody,
    /// These, each `CHANNEL:USER-ID`, and the owners.
    Listed(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailConfig {
    /// The sender: `Name <address>`, or an address alone.
    pub from: String,
    /// Our own domains: mail to them has medium risk at most.
    pub internal_domains: Vec<String>,
    /// Whether our own address gets a copy, which tells later whether a mail was sent.
    pub self_copy: bool,
    pub smtp: MailServer,
    /// The incoming server; without one, mail can't be read, and no copy of sent mail is kept.
    pub imap: Option<MailServer>,
    pub people: People,
    pub label: String,
}

/// How a connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// TLS from the first byte.
    Implicit,
    /// A mandatory upgrade by STARTTLS.
    StartTls,
    /// Not at all; for this machine only.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailServer {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub user: String,
    pub password: Secret,
    /// Certificates (PEM) to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DavConfig {
    /// A principal, a home set, one calendar or address book, or the server's root.
    pub url: String,
    pub user: String,
    pub password: Secret,
    /// The calendar or address book for new entries; empty: the first.
    pub default: String,
    /// Certificates (PEM) to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    pub people: People,
    pub label: String,
}

impl MailConfig {
    pub(crate) fn read(section: &mut Section<'_>) -> Option<Self> {
        let is_present = section.is_present();
        let from = section.needed("from", "the sender, such as \"Ada Lovelace <ada@example.org>\"", sender);
        let internal_domains = section.list("internal_domains", domain);
        let self_copy = section.get("self_copy", flag).unwrap_or_default();
        let (people, label) = shared(section);
        let smtp = section.section("smtp", |section| MailServer::read(section, 465, 587));
        let imap = section.section("imap", |section| MailServer::read(section, 993, 143));
        if is_present && smtp.is_none() {
            section.problem("smtp", "missing: set the outgoing server in [mail.smtp]");
        }
        let (Some(from), Some(Some(smtp)), true) = (from, smtp, is_present) else { return None };
        Some(Self { from, internal_domains, self_copy, smtp, imap: imap.flatten(), people, label })
    }
}

impl MailServer {
    /// None if the table isn't there, and a none in it if something is missing or wrong.
    fn read(section: &mut Section<'_>, implicit: u16, plain: u16) -> Option<Option<Self>> {
        let host = section.needed("host", "the server's name, such as \"mail.example.org\"", text);
        let tls = section.get("tls", tls).unwrap_or(Tls::Implicit);
        let port = section.get("port", port).unwrap_or(if tls == Tls::Implicit { implicit } else { plain });
        let user = section.needed("user", "the name to log in with", text);
        let password =
            section.needed("password", "the password, such as { env = \"MAIL_PASSWORD\" }", secret);
        let ca_file = section.get("ca_file", path);
        let needed = host.zip(user).zip(password);
        let server = needed.map(|((host, user), password)| Self { host, port, tls, user, password, ca_file });
        section.is_present().then_some(server)
    }
}

impl DavConfig {
    /// Reads `[calendar]` or `[contacts]`, if it has a URL.
    pub(crate) fn read(section: &mut Section<'_>) -> Option<Self> {
        let has_url = section.has("url");
        let url = section.get("url", url);
        let default = section.get("default", text).unwrap_or_default();
        let (user, password) = match has_url {
            true => (
                section.needed("user", "the name to log in with", text),
                section.needed("password", "the password, such as { env = \"DAV_PASSWORD\" }", secret),
            ),
            false => (section.get("user", text), section.get("password", secret)),
        };
        let ca_file = section.get("ca_file", path);
        let (people, label) = shared(section);
        Some(Self { url: url?, user: user?, password: password?, default, ca_file, people, label })
    }
}

/// Who may use an account, and what they call it.
fn shared(section: &mut Section<'_>) -> (People, String) {
    let who = section.get("people", people).unwrap_or_default();
    (who, section.get("label", text).unwrap_or_else(|| "shared".to_owned()))
}

fn sender(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let from = text(value, reader)?;
    let address = from.rsplit_once('<').map_or(from.as_str(), |(_, rest)| rest.trim_end_matches('>'));
    let is_address = address.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !address.contains(char::is_whitespace)
    });
    if is_address {
        Ok(from)
    } else {
        Err(format!("{from:?} has no mail address; write \"Name <name@domain>\""))
    }
}

fn domain(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let domain = text(value, reader)?;
    match domain.contains('@') {
        true => Err(format!("{domain:?} must be a domain, without the part before the @")),
        false => Ok(domain.to_lowercase()),
    }
}

fn tls(value: &Node, reader: &ConfigReader<'_>) -> Result<Tls, String> {
    one_of(value, reader, &[("implicit", Tls::Implicit), ("starttls", Tls::StartTls), ("none", Tls::None)])
}

fn port(value: &Node, reader: &ConfigReader<'_>) -> Result<u16, String> {
    let number = crate::read::count(value, reader)?;
    u16::try_from(number).map_err(|_| format!("{number} is not a port; the highest is 65535"))
}

fn url(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let url = text(value, reader)?;
    match url.starts_with("https://") || url.starts_with("http://") {
        true => Ok(url),
        false => Err(format!("{url:?} must begin with https:// or http://")),
    }
}

fn people(value: &Node, reader: &ConfigReader<'_>) -> Result<People, String> {
    if let Value::List(items) = &value.value {
        let listed: Result<_, String> = items.iter().map(|item| owner(item, reader)).collect();
        return listed.map(People::Listed);
    }
    match value.as_str() {
        Some("owners") => Ok(People::Owners),
        Some("everybody") => Ok(People::Everybody),
        _ => Err("must be \"owners\", \"everybody\" or a list such as [\"console:ada\"]".to_owned()),
    }
}
