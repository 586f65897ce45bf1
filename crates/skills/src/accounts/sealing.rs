//! Sealed texts: XChaCha20-Poly1305 under a key of this installation. The name of a secret is sealed with it, so that rows
//! can't be swapped.
//!
//! A text is `1.KEY.NONCE.CIPHER`, where KEY names the key. There may be several keys, the newest first: that one seals, the
//! others only open. The database and its copies hold none.

mod secret_store;

use adjutant_config::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

pub use secret_store::{SecretStore, SecretsError};

/// The form of a sealed text.
const FORM: &str = "1";
/// A key and a nonce, in bytes.
const KEY: usize = 32;
const NONCE: usize = 24;

/// A key. It can't be printed.
#[derive(Clone)]
struct Key {
    /// The beginning of its digest.
    id: String,
    bytes: [u8; KEY],
}

/// Seals and opens texts.
#[derive(Clone)]
struct Sealer {
    /// It seals.
    current: Key,
    /// They open what was sealed before there was a newer one.
    older: Vec<Key>,
}

impl Key {
    fn of(bytes: [u8; KEY]) -> Self {
        let id = Sha256::digest(bytes).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        Self { id, bytes }
    }

    fn random() -> Result<Self, SecretsError> {
        Ok(Self::of(random()?))
    }

    /// A line of a key file: `ID BASE64`, or what `openssl rand -base64 32` prints.
    fn of_line(line: &str) -> Option<Self> {
        let bytes = STANDARD.decode(line.split_whitespace().next_back()?).ok()?;
        Some(Self::of(bytes.try_into().ok()?))
    }

    fn line(&self) -> String {
        format!("{} {}\n", self.id, STANDARD.encode(self.bytes))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.bytes.into())
    }
}

impl Sealer {
    fn of(current: Key) -> Self {
        Self { current, older: Vec::new() }
    }

    /// The keys of a file.
    fn of_lines(text: &str) -> Option<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut keys = lines.map(Key::of_line).collect::<Option<Vec<Key>>>()?.into_iter();
        Some(Self { current: keys.next()?, older: keys.collect() })
    }

    /// The file with these keys.
    fn lines(&self) -> String {
        self.keys().map(Key::line).collect()
    }

    fn keys(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.current).chain(&self.older)
    }

    fn seal(&self, name: &str, plain: &str) -> Result<String, SecretsError> {
        let nonce: [u8; NONCE] = random()?;
        let payload = Payload { msg: plain.as_bytes(), aad: name.as_bytes() };
        let sealed = self.current.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| SecretsError::Damaged)?;
        let (nonce, sealed) = (URL_SAFE_NO_PAD.encode(nonce), URL_SAFE_NO_PAD.encode(sealed));
        Ok(format!("{FORM}.{}.{nonce}.{sealed}", self.current.id))
    }

    /// Opens a text that was sealed under this name.
    fn open(&self, name: &str, sealed: &str) -> Result<Secret, SecretsError> {
        let parts: Vec<&str> = sealed.split('.').collect();
        let [FORM, id, nonce, text] = parts[..] else { return Err(SecretsError::Damaged) };
        let key = self.keys().find(|key| key.id == id);
        let key = key.ok_or_else(|| SecretsError::OtherKey(id.to_owned()))?;
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| SecretsError::Damaged);
        let (nonce, text) = (decode(nonce)?, decode(text)?);
        let nonce: [u8; NONCE] = nonce.try_into().map_err(|_| SecretsError::Damaged)?;
        let payload = Payload { msg: &text, aad: name.as_bytes() };
        let plain = key.cipher().decrypt(&XNonce::from(nonce), payload);
        let plain = plain.ok().and_then(|plain| String::from_utf8(plain).ok());
        plain.map(Secret::new).ok_or(SecretsError::Damaged)
    }
}

fn random<const N: usize>() -> Result<[u8; N], SecretsError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| SecretsError::Key(format!("no randomness: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sealer() -> Sealer {
        Sealer::of(Key::random().unwrap())
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_under_its_name_alone(plain in ".{0,300}", name in "[a-z/]{1,20}", at in 0_usize..400) {
            let sealer = sealer();
            let sealed = sealer.seal(&name, &plain).unwrap();
            let opened = sealer.open(&name, &sealed).unwrap();
            prop_assert_eq!(opened.expose(), plain.as_str());
            let other = format!("{name}x");
            prop_assert!(matches!(sealer.open(&other, &sealed), Err(SecretsError::Damaged)));
            prop_assert_ne!(&sealer.seal(&name, &plain).unwrap(), &sealed);
            // One changed character.
            let mut bytes = sealed.clone().into_bytes();
            let at = at % bytes.len();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            prop_assert!(sealer.open(&name, &changed).is_err());
        }
    }

    #[test]
    fn another_key_is_named_and_an_older_one_still_opens() {
        let (first, second) = (sealer(), sealer());
        let sealed = first.seal("account/a", "s3cret").unwrap();
        let Err(SecretsError::OtherKey(id)) = second.open("account/a", &sealed) else {
            panic!("it must not open")
        };
        assert_eq!(id, first.current.id);
        let both = Sealer { older: vec![first.current.clone()], ..second };
        let both = Sealer::of_lines(&both.lines()).unwrap();
        assert_eq!(both.open("account/a", &sealed).unwrap().expose(), "s3cret");
        assert!(first.open("account/a", &both.seal("account/a", "x").unwrap()).is_err());
    }

    #[test]
    fn a_key_file_has_whole_keys() {
        let line = STANDARD.encode([7; KEY]);
        assert_eq!(Sealer::of_lines(&line).unwrap().current.id, Key::of([7; KEY]).id);
        for text in ["", "\n", "key", &line[4..], "x\ny"] {
            assert!(Sealer::of_lines(text).is_none(), "{text:?}");
        }
        for sealed in ["", "1", "1.a.b.c", "2.a.b.c", "1.a.b.c.d", "plain text"] {
            assert!(sealer().open("a", sealed).is_err(), "{sealed:?}");
        }
    }
}
