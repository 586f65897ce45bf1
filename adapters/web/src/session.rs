//! Cookies, tokens against forged forms, and forms.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use sha2::{Digest, Sha256};
use url::form_urlencoded;

use crate::guard::Guard;

/// How long a browser keeps the cookie, in seconds: as long as the session lasts.
const LASTS: u32 = 30 * 24 * 3600;

const SESSION: &str = "adjutant";

/// The name of the cookie that binds a login at a provider to a browser.
const LOGIN: &str = "adjutant-login";

/// With https, the browser itself refuses a cookie that another host or path has set.
fn full_name(name: &str, guard: &Guard) -> String {
    let prefix = if guard.https { "__Host-" } else { "" };
    format!("{prefix}{name}{}", guard.cookie_suffix)
}

/// The cookie that begins a session.
pub(crate) fn begin(secret: &str, guard: &Guard) -> String {
    cookie((SESSION, secret), "Strict", LASTS, guard)
}

pub(crate) fn end(guard: &Guard) -> String {
    cookie((SESSION, ""), "Strict", 0, guard)
}

fn cookie((name, value): (&str, &str), same_site: &str, lasts: u32, guard: &Guard) -> String {
    let (name, secure) = (full_name(name, guard), if guard.https { "; Secure" } else { "" });
    format!("{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={lasts}{secure}")
}

/// The cookie of a login at a provider. It lives as long as a login, and comes along when the provider sends the browser back.
pub(crate) fn bind_login(secret: &str, guard: &Guard) -> String {
    cookie((LOGIN, secret), "Lax", 300, guard)
}

pub(crate) fn login_secret<'h>(headers: &'h HeaderMap, guard: &Guard) -> Option<&'h str> {
    value(headers, &full_name(LOGIN, guard))
}

/// The session's secret in a request.
pub(crate) fn secret<'h>(headers: &'h HeaderMap, guard: &Guard) -> Option<&'h str> {
    value(headers, &full_name(SESSION, guard))
}

/// The time zone that the script says the browser is in.
pub(crate) fn zone(headers: &HeaderMap) -> Option<String> {
    let zone = value(headers, "zone")?.replace("%2F", "/");
    zone.chars().all(|one| one.is_ascii_alphanumeric() || "/_+-".contains(one)).then_some(zone)
}

fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let value = pairs.find(|(key, _)| *key == name).map(|(_, value)| value)?;
    (!value.is_empty() && value.len() <= 100).then_some(value)
}

/// What every form of a session holds, and no other site can know.
pub(crate) fn form_token(secret: &str) -> String {
    let mut digest = Sha256::new();
    digest.update("form ");
    digest.update(secret);
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text that no other form has: sent twice, a form counts once.
pub(crate) fn once() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness, a form sent twice is two messages.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text may be one of those.
pub(crate) fn is_once(text: &str) -> bool {
    text.len() == 32 && text.chars().all(|one| one.is_ascii_hexdigit())
}

/// The fields of a form or of an address.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn of(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn a_cookie_is_found_among_others() {
        let guard = |public_url: &str| {
            let listen = "127.0.0.1:8090".parse().unwrap();
            let (channel, public_url, assistant) = ("web".into(), public_url.into(), "A".into());
            Guard::new(&Settings { channel, listen, public_url, push_hosts: Vec::new(), assistant })
        };
        let (here, public) = (guard("http://127.0.0.1:8090"), guard("https://bot.example.org"));
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "a=b; adjutant-8090=secret; adjutant-8091=other; c".parse().unwrap());
        assert_eq!(secret(&headers, &here), Some("secret"));
        assert_eq!(secret(&headers, &guard("http://127.0.0.1:8091")), Some("other"), "another assistant's");
        assert_eq!(secret(&headers, &public), None, "with https it has another name");
        let begun = begin("s", &public);
        assert!(begun.starts_with("__Host-adjutant=s; Path=/;"), "{begun}");
        assert!(begun.ends_with("; HttpOnly; SameSite=Strict; Max-Age=2592000; Secure"), "{begun}");
        assert!(!begin("s", &here).contains("Secure") && end(&here).contains("Max-Age=0"));
        assert_ne!(form_token("a"), form_token("b"));
        assert_eq!(zone(&headers), None);
        headers.append(COOKIE, "zone=America%2FArgentina%2FBuenos_Aires".parse().unwrap());
        assert_eq!(zone(&headers).as_deref(), Some("America/Argentina/Buenos_Aires"));
        headers.insert(COOKIE, "zone=<b>".parse().unwrap());
        assert_eq!(zone(&headers), None);
    }
}
