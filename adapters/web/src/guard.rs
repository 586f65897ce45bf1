//! Who may ask at all: the right host, for posts the right origin; and what a browser may do with what it gets.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use crate::Settings;
use crate::passkeys::RelyingParty;

/// Nothing runs, is loaded or is sent but from and to this page, and nobody frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// On every answer. Without a referrer, browsers would send no origin with forms.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(self)"),
];

/// The hosts and origins under which the page is known.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Whether people reach it by https.
    pub(crate) https: bool,
    /// What the names of cookies end with: browsers send them to every port of a host, and each may be another assistant.
    pub(crate) cookie_suffix: String,
    /// The one of its addresses that passkeys are for.
    pub(crate) relying_party: Option<RelyingParty>,
}

impl Guard {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut urls = vec![settings.public_url.clone()];
        // Whoever sits at this machine may do without the proxy, unless the cookie needs https.
        let https = settings.public_url.starts_with("https://");
        if settings.listen.ip().is_loopback() && !https {
            let port = settings.listen.port();
            urls.extend(["127.0.0.1", "localhost", "[::1]"].map(|host| format!("http://{host}:{port}")));
        }
        let urls: Vec<Url> = urls.iter().filter_map(|url| Url::parse(url).ok()).collect();
        let port = urls.first().and_then(Url::port);
        let host = |url: &Url| {
            let name = url.host_str()?.to_owned();
            Some(url.port().map_or_else(|| name.clone(), |port| format!("{name}:{port}")))
        };
        Self {
            hosts: urls.iter().filter_map(host).collect(),
            origins: urls.iter().map(|url| url.origin().ascii_serialization()).collect(),
            https,
            relying_party: urls.iter().find_map(RelyingParty::of),
            cookie_suffix: port.map(|port| format!("-{port}")).unwrap_or_default(),
        }
    }

    /// The origin that passkeys are for.
    pub(crate) fn passkeys(&self) -> Option<&str> {
        self.relying_party.as_ref().map(|party| party.origin.as_str())
    }

    /// Why a request is refused, if it is.
    pub(crate) fn refuses(&self, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let is_known = |list: &[String], value: &str| list.iter().any(|one| one.eq_ignore_ascii_case(value));
        if headers.get_all(HOST).iter().count() != 1
            || !text(HOST).is_some_and(|it| is_known(&self.hosts, it))
        {
            return Some("host");
        }
        if matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        let is_ours = text(ORIGIN).is_some_and(|origin| is_known(&self.origins, origin));
        (!is_ours).then_some("origin")
    }

    /// Adds what every answer has.
    pub(crate) fn protect(&self, headers: &mut HeaderMap) {
        for (name, value) in HEADERS {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if self.https {
            let year = HeaderValue::from_static("max-age=31536000");
            headers.insert(HeaderName::from_static("strict-transport-security"), year);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(public_url: &str, method: Method, host: &str, origin: Option<&str>) -> Option<&'static str> {
        let listen = "127.0.0.1:8090".parse().unwrap();
        let (channel, public_url, assistant) = ("web".into(), public_url.into(), "A".into());
        let settings = Settings { channel, listen, public_url, push_hosts: Vec::new(), assistant };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        Guard::new(&settings).refuses(&method, &headers)
    }

    #[test]
    fn another_host_or_origin_is_refused() {
        let local = "http://127.0.0.1:8090";
        for host in ["127.0.0.1:8090", "localhost:8090", "LOCALHOST:8090", "[::1]:8090"] {
            assert_eq!(refused(local, Method::GET, host, None), None, "{host}");
        }
        for host in ["evil.example", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8090.evil.example", ""] {
            assert_eq!(refused(local, Method::GET, host, None), Some("host"), "{host}");
        }
        let post = |origin| refused(local, Method::POST, "localhost:8090", origin);
        assert_eq!(post(Some("http://localhost:8090")), None);
        for origin in [None, Some("null"), Some("http://evil.example"), Some("https://localhost:8090")] {
            assert_eq!(post(origin), Some("origin"), "{origin:?}");
        }
        let public = "https://bot.example.org";
        assert_eq!(refused(public, Method::POST, "bot.example.org", Some(public)), None);
        assert_eq!(refused(public, Method::GET, "localhost:8090", None), Some("host"));
    }
}
