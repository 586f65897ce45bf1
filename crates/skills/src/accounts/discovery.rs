//! The servers of an email address: known by its domain, or found (RFC 6186, 6764, 8314, and autoconfig).
//!
//! Where an address leads is up to whoever has its domain, so it is asked about at public addresses only, with TLS and
//! without a login. What is found here is a proposal: a login there shows whether it holds.

use std::net::SocketAddr;
use std::time::Duration;

use adjutant_l10n::connect;
use adjutant_mail::{Address, service_host};
use adjutant_types::{FromCall, ours};
use quick_xml::events::Event;
use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode, Url};

use super::provider::{AccountSettings, MailHost};
use crate::SkillError;
use crate::handlers::HttpClient;
use crate::handlers::http::read;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

struct Provider {
    domains: &'static [&'static str],
    imap: &'static str,
    smtp: (&'static str, u16),
    /// Where its calendars and its contacts are.
    dav: Option<[&'static str; 2]>,
    /// The ends of hosts that the login may be sent to besides; with TLS only.
    hosts: &'static [&'static str],
    /// The page that tells where an app password is made.
    hint: Option<&'static str>,
}

impl Provider {
    fn settings(&self) -> AccountSettings {
        let (host, port) = self.smtp;
        let own = |url: &str| Some(url.to_owned());
        let [caldav, carddav] = self.dav.map_or([None, None], |urls| urls.map(own));
        AccountSettings {
            imap: Some(at(self.imap, 993)),
            smtp: Some(MailHost { is_starttls: port == STARTTLS_PORT, ..at(host, port) }),
            caldav,
            carddav,
            hosts: self.hosts.iter().map(|host| (*host).to_owned()).collect(),
            ..AccountSettings::default()
        }
    }
}

/// Submission with STARTTLS has this port (RFC 6409), with TLS from the first byte 465 (RFC 8314).
const STARTTLS_PORT: u16 = 587;

// The mail servers: https://github.com/thunderbird/autoconfig/tree/master/ispdb, and each provider's page below. The
// others: https://www.davx5.com/tested-with.
const PROVIDERS: &[Provider] = &[
    // https://support.apple.com/102525. A person's collections lie on hosts such as p34-caldav.icloud.com.
    Provider {
        domains: &["icloud.com", "me.com", "mac.com"],
        imap: "imap.mail.me.com",
        smtp: ("smtp.mail.me.com", STARTTLS_PORT),
        dav: Some(["https://caldav.icloud.com/", "https://contacts.icloud.com/"]),
        hosts: &["icloud.com"],
        hint: Some("https://support.apple.com/102654"),
    },
    // https://www.fastmail.help/hc/en-us/articles/1500000278342
    Provider {
        domains: &["fastmail.com", "fastmail.fm"],
        imap: "imap.fastmail.com",
        smtp: ("smtp.fastmail.com", 465),
        dav: Some(["https://caldav.fastmail.com/", "https://carddav.fastmail.com/"]),
        hosts: &[],
        hint: Some("https://www.fastmail.help/hc/en-us/articles/360058752854"),
    },
    // https://kb.mailbox.org/de/privat/e-mail/e-mail-konfiguration/
    Provider {
        domains: &["mailbox.org"],
        imap: "imap.mailbox.org",
        smtp: ("smtp.mailbox.org", 465),
        dav: Some(["https://dav.mailbox.org/", "https://dav.mailbox.org/"]),
        hosts: &[],
        hint: Some("https://kb.mailbox.org/de/privat/sicherheit-und-privatsphaere/"),
    },
    // https://hilfe.gmx.net/pop-imap/imap/imap-serverdaten.html
    Provider {
        domains: &["gmx.net", "gmx.de", "gmx.at", "gmx.ch", "gmx.eu", "gmx.org", "gmx.info"],
        imap: "imap.gmx.net",
        smtp: ("mail.gmx.net", 465),
        dav: Some(["https://caldav.gmx.net/", "https://carddav.gmx.net/"]),
        hosts: &[],
        hint: Some("https://hilfe.gmx.net/pop-imap/einschalten.html"),
    },
    // https://hilfe.web.de/pop-imap/imap/imap-serverdaten.html
    Provider {
        domains: &["web.de"],
        imap: "imap.web.de",
        smtp: ("smtp.web.de", 465),
        dav: Some(["https://caldav.web.de/", "https://carddav.web.de/"]),
        hosts: &[],
        hint: Some("https://hilfe.web.de/pop-imap/einschalten.html"),
    },
    // https://help.yahoo.com/kb/SLN4075.html
    Provider {
        domains: &["yahoo.com", "yahoo.de", "yahoo.fr", "yahoo.es", "yahoo.it", "yahoo.co.uk", "ymail.com"],
        imap: "imap.mail.yahoo.com",
        smtp: ("smtp.mail.yahoo.com", 465),
        dav: Some(["https://caldav.calendar.yahoo.com/", "https://carddav.address.yahoo.com/"]),
        hosts: &[],
        hint: Some("https://help.yahoo.com/kb/SLN15241.html"),
    },
    // https://posteo.de/en/help
    Provider {
        domains: &["posteo.de", "posteo.net"],
        imap: "posteo.de",
        smtp: ("posteo.de", 465),
        dav: Some(["https://posteo.de:8443/", "https://posteo.de:8843/"]),
        hosts: &[],
        hint: None,
    },
    // https://www.zoho.com/mail/help/imap-access.html
    Provider {
        domains: &["zoho.com", "zohomail.com"],
        imap: "imap.zoho.com",
        smtp: ("smtp.zoho.com", 465),
        dav: Some(["https://calendar.zoho.com/", "https://contacts.zoho.com/"]),
        hosts: &[],
        hint: Some("https://www.zoho.com/mail/help/imap-access.html"),
    },
    // https://www.telekom.de/hilfe/apps-dienste/e-mail/einstellungen/posteingang-postausgang-server
    Provider {
        domains: &["t-online.de", "magenta.de"],
        imap: "secureimap.t-online.de",
        smtp: ("securesmtp.t-online.de", 465),
        dav: None,
        hosts: &[],
        hint: Some("https://www.telekom.de/hilfe/apps-dienste/e-mail/programme/passwort-verwalten"),
    },
];

/// Where anybody gets an address, besides those above; one with a dot at its end is in many countries.
// Most are in https://github.com/thunderbird/autoconfig/tree/master/ispdb.
#[rustfmt::skip]
const OPEN_TO_ALL: &[&str] = &[
    "gmail.com", "googlemail.com", "outlook.", "hotmail.", "live.", "msn.com", "windowslive.com", "passport.com",
    "yahoo.", "ymail.com", "rocketmail.com", "aol.", "aim.com", "gmx.", "mail.com", "email.com", "usa.com",
    "proton.me", "protonmail.com", "pm.me", "tuta.com", "tuta.io", "tutanota.", "tutamail.com", "hey.com", "duck.com",
    "hushmail.com", "mailfence.com", "runbox.com", "riseup.net", "disroot.org", "fastmail.", "zoho.", "yandex.", "ya.ru",
    "mail.ru", "bk.ru", "inbox.ru", "list.ru", "rambler.ru", "ukr.net", "qq.com", "foxmail.com", "163.com", "126.com",
    "yeah.net", "sina.", "sohu.com", "naver.com", "daum.net", "hanmail.net", "rediffmail.com", "orange.fr", "wanadoo.fr",
    "free.fr", "laposte.net", "sfr.fr", "libero.it", "virgilio.it", "tiscali.it", "alice.it", "freenet.de", "arcor.de",
    "online.de", "vodafone.de", "bluewin.ch", "aon.at", "telenet.be", "skynet.be", "ziggo.nl", "kpnmail.nl", "planet.nl",
    "seznam.cz", "wp.pl", "o2.pl", "onet.pl", "interia.pl", "abv.bg", "freemail.hu", "citromail.hu", "sapo.pt",
    "telia.com", "online.no", "uol.com.br", "bol.com.br", "terra.com.br", "comcast.net", "verizon.net", "att.net",
    "sbcglobal.net", "bellsouth.net", "cox.net", "charter.net", "earthlink.net", "juno.com", "rogers.com", "shaw.ca",
    "sympatico.ca", "btinternet.com", "sky.com", "virginmedia.com", "ntlworld.com", "talktalk.net", "bigpond.com",
    "optusnet.com.au", "docomo.ne.jp", "ezweb.ne.jp", "softbank.ne.jp",
];

/// Whether strangers have addresses of this domain, too.
pub fn is_open_to_all(domain: &str) -> bool {
    let domain = domain.to_lowercase();
    // Such as com, de or co.uk.
    let is_ending = |rest: &str| rest.split('.').all(|part| (2..=3).contains(&part.len()));
    let is_it = |one: &&str| {
        if one.ends_with('.') { domain.strip_prefix(one).is_some_and(is_ending) } else { domain == *one }
    };
    OPEN_TO_ALL.iter().any(is_it) || PROVIDERS.iter().any(|one| one.domains.contains(&domain.as_str()))
}

/// The page where the provider of an address tells how an app password is made.
pub fn app_password_page(address: &str) -> Option<&'static str> {
    known(&domain(address)?)?.hint
}

/// The servers of an address. Its domain's DNS is asked only where there is a resolver.
pub(super) async fn servers_for(
    address: &Address,
    http: &HttpClient,
    resolver: Option<SocketAddr>,
) -> Result<AccountSettings, SkillError> {
    let address = address.address.as_str();
    let domain = domain(address)
        .ok_or_else(|| SkillError::params(ours!(connect::no_such_address, FromCall(address))))?;
    if let Some(known) = known(&domain) {
        return Ok(known.settings());
    }
    let service = |name| service(resolver, name, address);
    let (configured, imap, smtp, caldav, carddav) = tokio::join!(
        autoconfig(&domain, http),
        service("_imaps._tcp"),
        service("_submissions._tcp"),
        dav(&domain, "caldav", service("_caldavs._tcp"), http),
        dav(&domain, "carddav", service("_carddavs._tcp"), http),
    );
    let (imap, smtp) = configured.unwrap_or_else(|| {
        let imap = imap.unwrap_or_else(|| at(&format!("imap.{domain}"), 993));
        let smtp = smtp.unwrap_or_else(|| at(&format!("smtp.{domain}"), 465));
        (imap, smtp)
    });
    Ok(AccountSettings { imap: Some(imap), smtp: Some(smtp), caldav, carddav, ..AccountSettings::default() })
}

fn at(host: &str, port: u16) -> MailHost {
    MailHost { host: host.to_owned(), port, is_starttls: false }
}

/// An address's domain in ASCII; none for what is no name on the internet.
fn domain(address: &str) -> Option<String> {
    let (_, domain) = address.rsplit_once('@')?;
    let is_name = domain.contains('.') && domain.chars().all(|c| c.is_alphanumeric() || "-.".contains(c));
    let url = is_name.then(|| Url::parse(&format!("https://{domain}/")).ok())??;
    url.domain().map(str::to_owned)
}

fn known(domain: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.domains.contains(&domain))
}

/// The host of a service by the domain's DNS.
async fn service(resolver: Option<SocketAddr>, name: &str, address: &str) -> Option<MailHost> {
    let found = service_host(resolver?, name, address, PATIENCE).await.ok()?;
    let (host, port) = found?;
    is_host(&host).then(|| at(&host, port))
}

/// Whether it can be a host's name, and nothing but that in a URL.
fn is_host(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
}

async fn get(http: &HttpClient, url: &Url) -> Option<Response> {
    http.for_url(url, &[]).ok()?.get(url.clone()).timeout(PATIENCE).send().await.ok()
}

/// The mail servers that a domain publishes for mail programs.
// https://www.ietf.org/archive/id/draft-bucksch-autoconfig-00.html
async fn autoconfig(domain: &str, http: &HttpClient) -> Option<(MailHost, MailHost)> {
    for page in [
        format!("https://autoconfig.{domain}/mail/config-v1.1.xml"),
        format!("https://{domain}/.well-known/autoconfig/mail/config-v1.1.xml"),
    ] {
        let Ok(url) = Url::parse(&page) else { continue };
        let Some(response) = get(http, &url).await.filter(|response| response.status().is_success()) else {
            continue;
        };
        let Ok((text, _)) = read(response).await else { continue };
        if let Some(found) = published(&text.replace("%EMAILDOMAIN%", domain)) {
            return Some(found);
        }
    }
    None
}

/// One server of an autoconfig file.
#[derive(Default)]
struct Published {
    kind: String,
    host: String,
    port: String,
    security: String,
}

impl Published {
    /// Its host and port, if it is of this kind, and protected so.
    fn if_it_is(&self, kind: &str, security: &str) -> Option<MailHost> {
        let port = self.port.parse::<u16>().ok().filter(|port| *port != 0)?;
        let is_it = self.kind == kind && self.security == security && is_host(&self.host);
        is_it.then(|| MailHost { is_starttls: security == "STARTTLS", ..at(&self.host, port) })
    }
}

/// The servers of an autoconfig file: the first ones with TLS from the first byte, or for sending with STARTTLS.
fn published(text: &str) -> Option<(MailHost, MailHost)> {
    let mut reader = quick_xml::Reader::from_str(text);
    let (mut all, mut name) = (Vec::<Published>::new(), String::new());
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                start.local_name().as_ref().clone_into(&mut name);
                if matches!(name.as_str(), "incomingServer" | "outgoingServer") {
                    let kind = start.try_get_attribute("type").ok()?;
                    let kind = kind.map(|kind| kind.value.to_string()).unwrap_or_default();
                    all.push(Published { kind, ..Published::default() });
                }
            }
            Event::Text(content) => {
                let Some(server) = all.last_mut() else { continue };
                let field = match name.as_str() {
                    "hostname" => &mut server.host,
                    "port" => &mut server.port,
                    "socketType" => &mut server.security,
                    _ => continue,
                };
                field.push_str(content.xml10_content().trim());
            }
            Event::End(_) => name.clear(),
            Event::Eof => break,
            _ => {}
        }
    }
    let first = |kind, security| all.iter().find_map(|server| server.if_it_is(kind, security));
    let smtp = first("smtp", "SSL").or_else(|| first("smtp", "STARTTLS"));
    Some((first("imap", "SSL")?, smtp?))
}

/// The URL of a domain's calendars or contacts: by its DNS, or else where its well-known address leads (RFC 6764 §6).
async fn dav(
    domain: &str,
    service: &str,
    by_dns: impl Future<Output = Option<MailHost>>,
    http: &HttpClient,
) -> Option<String> {
    let authority = match by_dns.await {
        Some(MailHost { host, port, .. }) => format!("{host}:{port}"),
        None => domain.to_owned(),
    };
    let url = Url::parse(&format!("https://{authority}/.well-known/{service}")).ok()?;
    let response = get(http, &url).await?;
    let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
    leads_to(&url, response.status(), target)
}

/// Where a well-known address leads: elsewhere, or to itself if it wants a login. Most websites have none.
fn leads_to(url: &Url, status: StatusCode, target: Option<&str>) -> Option<String> {
    if status.is_redirection() {
        let target = url.join(target?).ok()?;
        return (target.scheme() == "https").then(|| target.into());
    }
    (status == StatusCode::UNAUTHORIZED).then(|| url.to_string())
}

#[cfg(test)]
mod tests {
    use adjutant_fakes::resolver;

    use super::*;

    #[test]
    fn known_providers_need_no_question() {
        let icloud = known("me.com").unwrap().settings();
        assert_eq!(icloud.smtp, Some(MailHost { is_starttls: true, ..at("smtp.mail.me.com", 587) }));
        assert_eq!(icloud.hosts, ["icloud.com"]);
        assert!(known("gmx.de").unwrap().settings().caldav.is_some());
        assert!(known("example.org").is_none());
        for provider in PROVIDERS {
            assert!(is_host(provider.imap) && is_host(provider.smtp.0));
            for url in provider.dav.into_iter().flatten().chain(provider.hint) {
                assert_eq!(Url::parse(url).unwrap().scheme(), "https", "{url}");
            }
            for domain in provider.domains {
                assert_eq!(super::domain(&format!("ada@{domain}")).as_deref(), Some(*domain));
            }
        }
    }

    #[test]
    fn a_domain_is_a_name_on_the_internet() {
        assert_eq!(domain("ada@Bücher.example").as_deref(), Some("xn--bcher-kva.example"));
        for end in ["", "localhost", "127.0.0.1", "0x7f.1", "[::1]", "x.org/y", "x.org:8", "x.org@"] {
            assert_eq!(domain(&format!("ada@{end}")), None, "{end}");
        }
        assert_eq!(domain("ada"), None);
    }

    #[tokio::test]
    async fn nobody_is_asked_about_what_is_no_domain() {
        let address = Address { name: None, address: "ada@127.0.0.1".to_owned() };
        let error = servers_for(&address, &HttpClient::new(), None).await.unwrap_err();
        assert_eq!(error.kind, crate::ErrorKind::Params);
        let address = Address { name: None, address: "ada@gmx.de".to_owned() };
        let found = servers_for(&address, &HttpClient::new(), None).await.unwrap();
        assert_eq!(found.imap, Some(at("imap.gmx.net", 993)));
    }

    #[tokio::test]
    async fn the_dns_names_servers() {
        let resolver = Some(resolver::start().unwrap());
        let found = service(resolver, "_imaps._tcp", "bob@served.test").await;
        assert_eq!(found, Some(at("imap.served.test", 1993)));
        assert_eq!(service(resolver, "_submissions._tcp", "bob@served.test").await, None);
        assert_eq!(service(None, "_imaps._tcp", "bob@served.test").await, None);
    }

    #[test]
    fn autoconfig_is_read() {
        let server = |side: &str, kind: &str, host: &str, port: &str, security: &str| {
            format!(
                "<{side} type=\"{kind}\">\n<hostname>{host}</hostname><port> {port} </port>\
                 <socketType>{security}</socketType><username>%EMAILADDRESS%</username></{side}>"
            )
        };
        let file = |servers: &[String]| {
            let servers = servers.concat();
            format!("<?xml version=\"1.0\"?><clientConfig><a>{servers}</a></clientConfig>")
        };
        let pop = server("incomingServer", "pop3", "pop.a.org", "995", "SSL");
        let plain = server("incomingServer", "imap", "imap.a.org", "143", "plain");
        let imap = server("incomingServer", "imap", "imap.a.org", "993", "SSL");
        let starttls = server("outgoingServer", "smtp", "smtp.a.org", "587", "STARTTLS");
        let smtp = server("outgoingServer", "smtp", "smtp.a.org", "465", "SSL");
        let found = published(&file(&[pop.clone(), plain.clone(), imap.clone(), starttls.clone(), smtp]));
        let both = |smtp: MailHost| Some((at("imap.a.org", 993), smtp));
        assert_eq!(found, both(at("smtp.a.org", 465)));
        let found = published(&file(&[imap.clone(), starttls.clone()]));
        assert_eq!(found, both(MailHost { is_starttls: true, ..at("smtp.a.org", 587) }));
        let odd = server("incomingServer", "imap", "a.org/x", "993", "SSL");
        let zero = server("incomingServer", "imap", "a.org", "0", "SSL");
        let incomplete = [vec![pop, plain, starttls.clone()], vec![imap], vec![odd, starttls.clone()]];
        for servers in incomplete.into_iter().chain([vec![zero, starttls]]) {
            assert_eq!(published(&file(&servers)), None);
        }
        for text in ["", "<html><p>not found", "<a></b>", "<incomingServer type=\"imap\"><hostname>a"] {
            assert_eq!(published(text), None, "{text}");
        }
    }

    #[test]
    fn a_well_known_address_leads_on_with_tls_only() {
        let url = Url::parse("https://a.org/.well-known/caldav").unwrap();
        let leads = |status, target| leads_to(&url, StatusCode::from_u16(status).unwrap(), target);
        assert_eq!(leads(301, Some("/dav/")).as_deref(), Some("https://a.org/dav/"));
        assert_eq!(leads(308, Some("https://dav.a.org/")).as_deref(), Some("https://dav.a.org/"));
        assert_eq!(leads(401, None).as_deref(), Some("https://a.org/.well-known/caldav"));
        assert_eq!(leads(302, Some("http://a.org/dav/")), None);
        for status in [200, 302, 404, 500] {
            assert_eq!(leads(status, None), None, "{status}");
        }
    }
}
