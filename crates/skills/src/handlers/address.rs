//! The HTTP client of the skills, and the addresses it refuses: a skill reaches the public internet and, of private
//! networks, only the hosts that its TOML allows.
//!
//! The client's own resolver checks the very addresses it then connects to, so a name that resolves differently a
//! moment later gains nothing. Redirects are not followed.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use adjutant_l10n::http;
use adjutant_types::{FromCall, Own, ours};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};

use crate::{ErrorKind, SkillError};

const CONNECT: Duration = Duration::from_secs(10);

/// The client of HTTP skills, built when first needed, so that it costs nothing at the start.
#[derive(Debug, Default)]
pub struct HttpClient {
    guarded: OnceLock<Result<Client, String>>,
    open: OnceLock<Result<Client, String>>,
}

impl HttpClient {
    /// A client that has not connected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The client for this URL: one that refuses private networks, unless the host is allowed.
    pub fn for_url(&self, url: &Url, allow_hosts: &[String]) -> Result<&Client, SkillError> {
        let host = host(url);
        let allowed = allow_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
        if !allowed && host.parse::<IpAddr>().is_ok_and(|address| !is_public(address)) {
            return Err(SkillError::new(ErrorKind::Permission, ours!(http::private_host, FromCall(host))));
        }
        let client = if allowed {
            self.open.get_or_init(|| build(None))
        } else {
            self.guarded.get_or_init(|| build(Some(Arc::new(PublicOnly))))
        };
        client.as_ref().map_err(|error| SkillError::tool(ours!("{}", Own(error))))
    }
}

/// The host as it is compared: IPv6 without its brackets.
pub(crate) fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

fn build(resolver: Option<Arc<PublicOnly>>) -> Result<Client, String> {
    adjutant_models::provider::install_tls();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        // A proxy would resolve names itself, bypassing the check.
        .no_proxy()
        .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")));
    if let Some(resolver) = resolver {
        builder = builder.dns_resolver(resolver);
    }
    builder.build().map_err(|error| format!("the HTTP client can't start: {error}"))
}

/// A host in a private network that the skill doesn't allow.
#[derive(Debug, thiserror::Error)]
#[error("{}", http::private_host(.0))]
pub(super) struct Refused(String);

impl Refused {
    /// Finds a refusal among an error's causes.
    pub(super) fn within<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref() {
                return Some(refused);
            }
            cause = error.source();
        }
        None
    }
}

struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            // A private address among public ones looks like DNS rebinding: refuse them all.
            if found.iter().any(|address| !is_public(address.ip())) {
                return Err(Refused(host).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast();
    let reserved = a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a, b, c) == (192, 0, 0);
    !special && !reserved
}

/// Only 2000::/3 is assigned; within it, an address that embeds an IPv4 address is judged by that.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    let embedded =
        |high: u16, low: u16| is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_networks_are_not_public() {
        let ours = "0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 \
            192.0.0.8 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 \
            ::127.0.0.1 fe80::1 fec0::1 fc00::1 fd12::1 ff02::1 64:ff9b::a00:1 2002:7f00:1::1 2001::1 2001:db8::1";
        for address in ours.split_whitespace() {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in "1.1.1.1 172.32.0.1 100.128.0.1 192.0.1.1 2606:4700::1111 ::ffff:1.1.1.1".split(' ') {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_literal_address_in_disguise_is_refused() {
        let client = HttpClient::new();
        for url in
            "http://127.1/ http://0x7f000001/ http://2130706433/ http://[::1]/ http://[::ffff:7f00:1]/ \
            http://0177.0.0.1/ http://169.254.169.254/latest/meta-data"
                .split_whitespace()
        {
            let url = Url::parse(url).unwrap();
            assert_eq!(client.for_url(&url, &[]).unwrap_err().kind, ErrorKind::Permission, "{url}");
        }
        let url = Url::parse("http://[::1]:8080/").unwrap();
        assert!(client.for_url(&url, &["::1".to_owned()]).is_ok());
    }

    #[tokio::test]
    async fn a_name_is_judged_by_what_it_resolves_to() {
        let client = HttpClient::new();
        let url = Url::parse("http://localhost:9/").unwrap();
        let error = client.for_url(&url, &[]).unwrap().get(url).send().await.unwrap_err();
        insta::assert_snapshot!(Refused::within(&error).unwrap(), @"localhost is a private, loopback or link-local address; if the skill may call it, add the host to its `allow_hosts`");
    }
}
