//! A push service, and the browser behind it: it reads what it was sent with its own key (RFC 8291), and checks who sent it
//! (RFC 8292).

use std::collections::{BTreeMap, VecDeque};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::{PublicKey, SecretKey};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;

use crate::http;

/// The keys of a browser.
pub struct Browser {
    secret: SecretKey,
    auth: Vec<u8>,
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

impl Default for Browser {
    /// The one of RFC 8291.
    #[expect(clippy::expect_used, reason = "the keys are written here")]
    fn default() -> Self {
        let key = decoded("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94").expect("base64");
        let secret = SecretKey::from_slice(&key).expect("a key");
        Self { secret, auth: decoded("BTBZMqHH6r4Tts7J_aSIgg").expect("base64") }
    }
}

impl Browser {
    /// Its public key, as a page gets it.
    pub fn key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.secret.public_key().to_sec1_bytes())
    }

    /// Its secret, as a page gets it.
    pub fn auth(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.auth)
    }

    /// What it reads in a body; nothing in one that isn't for it.
    pub fn opened(&self, body: &[u8]) -> Option<String> {
        let (salt, rest) = body.split_at_checked(16)?;
        let (length, rest) = (rest.get(4).copied()?, rest.get(5..)?);
        let (sender, record) = rest.split_at_checked(length.into())?;
        let public = PublicKey::from_sec1_bytes(sender).ok()?;
        let shared = p256::ecdh::diffie_hellman(self.secret.to_nonzero_scalar(), public.as_affine());
        let own = self.secret.public_key().to_sec1_bytes();
        let info = [&b"WebPush: info\0"[..], &own, sender].concat();
        let secret = derived(&self.auth, shared.raw_secret_bytes().as_slice(), &info, 32)?;
        let key = derived(salt, &secret, b"Content-Encoding: aes128gcm\0", 16)?;
        let nonce = derived(salt, &secret, b"Content-Encoding: nonce\0", 12)?;
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?);
        let mut record = record.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(&nonce).ok()?;
        let plain = key.open_in_place(nonce, Aad::empty(), &mut record).ok()?;
        let text = plain.strip_suffix(&[2])?;
        String::from_utf8(text.to_vec()).ok()
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derived(salt: &[u8], secret: &[u8], info: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; length];
    let key = Salt::new(HKDF_SHA256, salt).extract(secret);
    key.expand(&[info], Length(length)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

/// What an `Authorization` claims, if this key has signed it.
pub fn claims_of(header: &str, key: &str) -> Option<Value> {
    let (token, by) = header.strip_prefix("vapid t=")?.split_once(", k=")?;
    let (signed, signature) = token.rsplit_once('.')?;
    let (head, claims) = signed.split_once('.')?;
    let algorithm: Value = serde_json::from_slice(&decoded(head)?).ok()?;
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decoded(key)?);
    let is_right = by == key && algorithm["alg"] == "ES256";
    public.verify(signed.as_bytes(), &decoded(signature)?).ok().filter(|()| is_right)?;
    serde_json::from_slice(&decoded(claims)?).ok()
}

/// A message that the service was sent.
#[derive(Debug, Clone)]
pub struct Pushed {
    pub path: String,
    /// In lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

#[derive(Default)]
struct State {
    pushed: Vec<Pushed>,
    /// How the next messages are answered: a status and a header.
    answers: VecDeque<(u16, Option<(String, String)>)>,
}

/// A push service.
pub struct FakePush {
    state: Arc<Mutex<State>>,
    origin: String,
}

impl FakePush {
    pub fn start() -> Self {
        let (listener, address) = http::listen(0);
        let state: Arc<Mutex<State>> = Arc::default();
        http::accept(listener, &state, |_| false, serve);
        Self { state, origin: format!("http://{address}") }
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Answers the next message like this, after those that were set before.
    pub fn answer(&self, status: u16, header: Option<(&str, &str)>) {
        let header = header.map(|(name, value)| (name.to_owned(), value.to_owned()));
        lock(&self.state).answers.push_back((status, header));
    }

    /// What it was sent so far, also what it refused.
    pub fn pushed(&self) -> Vec<Pushed> {
        lock(&self.state).pushed.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, state: &Arc<Mutex<State>>) {
    let Ok(Some(request)) = http::read(&stream) else { return };
    let mut state = lock(state);
    let http::HttpRequest { path, headers, body, .. } = request;
    state.pushed.push(Pushed { path, headers, body });
    let (status, header) = state.answers.pop_front().unwrap_or((201, None));
    drop(state);
    let headers: Vec<(String, String)> = header.into_iter().collect();
    let _ = http::respond(&mut stream, status, &headers, "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_read() {
        let body = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        let browser = Browser::default();
        let text = browser.opened(&decoded(body).unwrap());
        assert_eq!(text.as_deref(), Some("When I grow up, I want to be a watermelon"));
        assert!(browser.key().starts_with("BCVxsr7N_eNgVRqvHtD0zTZsEc6"));
    }
}
