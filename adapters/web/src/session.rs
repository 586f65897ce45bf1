//! Cookies, tokens against forged forms, and forms.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use sha2::{Digest, Sha256};
use url::form_urlencoded;

/// How long a browser keeps the cookie, in seconds: as long as the session lasts.
const LASTS: u32 = 30 * 24 * 3600;

/// The name of the cookie. With https, the browser itself refuses one that another host or path has set.
fn name(https: bool) -> &'static str {
    if https { "__Host-adjutant" } else { "adjutant" }
}

/// The cookie that begins a session.
pub(crate) fn begin(secret: &str, https: bool) -> String {
    cookie((name(https), secret), "Strict", LASTS, https)
}

/// The cookie that ends one.
pub(crate) fn end(https: bool) -> String {
    cookie((name(https), ""), "Strict", 0, https)
}

fn cookie((name, value): (&str, &str), same_site: &str, lasts: u32, https: bool) -> String {
    let secure = if https { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={lasts}{secure}")
}

/// The name of the cookie that binds a login at a provider to a browser.
fn login_name(https: bool) -> &'static str {
    if https { "__Host-adjutant-login" } else { "adjutant-login" }
}

/// That cookie. It lives as long as a login, and comes along when the provider sends the browser back.
pub(crate) fn bind_login(secret: &str, https: bool) -> String {
    cookie((login_name(https), secret), "Lax", 300, https)
}

/// Its secret in a request.
pub(crate) fn login_secret(headers: &HeaderMap, https: bool) -> Option<&str> {
    value(headers, login_name(https))
}

/// The session's secret in a request.
pub(crate) fn secret(headers: &HeaderMap, https: bool) -> Option<&str> {
    value(headers, name(https))
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

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "a=b; adjutant=secret; c".parse().unwrap());
        assert_eq!(secret(&headers, false), Some("secret"));
        assert_eq!(secret(&headers, true), None, "with https it has another name");
        assert!(begin("s", true).ends_with("; HttpOnly; SameSite=Strict; Max-Age=2592000; Secure"));
        assert!(!begin("s", false).contains("Secure") && end(false).contains("Max-Age=0"));
        assert_ne!(form_token("a"), form_token("b"));
        assert_eq!(zone(&headers), None);
        headers.append(COOKIE, "zone=America%2FArgentina%2FBuenos_Aires".parse().unwrap());
        assert_eq!(zone(&headers).as_deref(), Some("America/Argentina/Buenos_Aires"));
        headers.insert(COOKIE, "zone=<b>".parse().unwrap());
        assert_eq!(zone(&headers), None);
    }
}
