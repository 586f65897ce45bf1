//! Web push: what a push service is handed for a browser. Nobody but that browser can read it (RFC 8291), and nobody but
//! us can send it (RFC 8292).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;
use url::Url;

/// For how long a push service takes a signature, in seconds; at most a day.
const SIGNED_FOR: i64 = 12 * 3600;
/// The longest record that every push service takes, in bytes. A message is one record.
const RECORD: u32 = 4096;

/// The key that we sign with; browsers subscribe with its public half.
pub struct SigningKey(EcdsaKeyPair);

impl SigningKey {
    /// A new key as it is stored; none without randomness.
    pub fn generate() -> Option<String> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Some(URL_SAFE_NO_PAD.encode(key.ok()?.as_ref()))
    }

    /// The key that was stored like this.
    pub fn open(stored: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(stored).ok()?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &SystemRandom::new());
        key.ok().map(Self)
    }

    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref())
    }

    /// The `Authorization` of a request to this address; `now` in seconds.
    pub fn authorization(&self, endpoint: &Url, contact: &str, now: i64) -> Option<String> {
        let audience = endpoint.origin().ascii_serialization();
        let claims = json!({ "aud": audience, "exp": now + SIGNED_FOR, "sub": contact });
        let [head, claims] =
            [r#"{"typ":"JWT","alg":"ES256"}"#, &claims.to_string()].map(|part| URL_SAFE_NO_PAD.encode(part));
        let signed = format!("{head}.{claims}");
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        Some(format!("vapid t={signed}.{}, k={}", URL_SAFE_NO_PAD.encode(signature), self.public()))
    }
}

/// A text for the browser with this key and this secret, in base64; none if they aren't what a browser has.
pub fn sealed_for(browser_key: &str, auth: &str, text: &str) -> Option<Vec<u8>> {
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
    let (browser_key, auth) = (decoded(browser_key)?, decoded(auth).filter(|auth| auth.len() == 16)?);
    let random = SystemRandom::new();
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).ok()?;
    let own_public = own.compute_public_key().ok()?;
    let (mut salt, mut secret) = ([0; 16], [0; 32]);
    random.fill(&mut salt).ok()?;
    let info = [&b"WebPush: info\0"[..], &browser_key, own_public.as_ref()];
    let peer = UnparsedPublicKey::new(&ECDH_P256, &browser_key);
    agree_ephemeral(own, &peer, |shared| derive(&auth, shared, &info, &mut secret)).ok()??;
    let (mut key, mut nonce) = ([0; 16], [0; 12]);
    derive(&salt, &secret, &[b"Content-Encoding: aes128gcm\0"], &mut key)?;
    derive(&salt, &secret, &[b"Content-Encoding: nonce\0"], &mut nonce)?;
    // A 2 ends the last record.
    let mut record = [text.as_bytes(), &[2]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record).ok()?;
    let length = u8::try_from(own_public.as_ref().len()).ok()?;
    Some([&salt[..], &RECORD.to_be_bytes(), &[length], own_public.as_ref(), &record].concat())
}

/// As many bytes of a key as `out` takes (RFC 5869).
fn derive(salt: &[u8], secret: &[u8], info: &[&[u8]], out: &mut [u8]) -> Option<()> {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let key = Salt::new(HKDF_SHA256, salt).extract(secret);
    key.expand(info, Length(out.len())).ok()?.fill(out).ok()
}

#[cfg(test)]
mod tests {
    use adjutant_fakes::push::{Browser, claims_of};

    use super::*;

    #[test]
    fn only_the_browser_reads_it_and_it_is_signed_by_us() {
        let browser = Browser::default();
        let sealed = sealed_for(&browser.key(), &browser.auth(), "Shall I?").unwrap();
        assert_eq!(browser.opened(&sealed).as_deref(), Some("Shall I?"));
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(browser.opened(&changed), None);
        assert_ne!(sealed, sealed_for(&browser.key(), &browser.auth(), "Shall I?").unwrap());
        for (key, auth) in [("", "AAAA"), (browser.key().as_str(), "AAAA"), ("AAAA", browser.auth().as_str())]
        {
            assert_eq!(sealed_for(key, auth, "x"), None, "{key} {auth}");
        }

        let key = SigningKey::open(&SigningKey::generate().unwrap()).unwrap();
        let endpoint = Url::parse("https://push.example:8443/send/1?a=b").unwrap();
        let header = key.authorization(&endpoint, "https://bot.example", 1_000).unwrap();
        let claims = claims_of(&header, &key.public()).unwrap();
        assert_eq!(
            claims,
            json!({ "aud": "https://push.example:8443", "exp": 44_200, "sub": "https://bot.example" })
        );
        let other = SigningKey::open(&SigningKey::generate().unwrap()).unwrap();
        assert!(claims_of(&header, &other.public()).is_none());
        assert!(SigningKey::open("AAAA").is_none());
    }
}
