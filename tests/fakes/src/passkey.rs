//! A device with a passkey, and the browser that asks it. Either can be made to lie.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The fields that the page's script posts.
pub type Answer = Vec<(&'static str, String)>;

/// A device with one passkey.
pub struct Device {
    key: EcdsaKeyPair,
    pub id: Vec<u8>,
    /// How it knows its person, in base64.
    pub user: String,
    /// Where its browser is.
    pub origin: String,
    /// For what host it signs.
    pub host: String,
    /// What it says of its person and of itself: somebody is there, and who that is was verified.
    pub flags: u8,
    /// How often it has signed.
    pub counter: u32,
    /// What its browser says beside that.
    pub client: Value,
}

impl Device {
    /// One whose browser is at this origin.
    #[expect(clippy::expect_used, reason = "every machine has randomness")]
    pub fn new(origin: &str) -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random);
        let mut id = vec![0; 16];
        random.fill(&mut id).expect("randomness");
        let host = origin.rsplit('/').next().and_then(|host| host.split(':').next()).unwrap_or_default();
        Self {
            key: key.expect("a key"),
            id,
            user: String::new(),
            origin: origin.to_owned(),
            host: host.to_owned(),
            flags: 0b101,
            counter: 0,
            client: json!({}),
        }
    }

    /// Makes the passkey that a page asks for.
    pub fn create(&mut self, options: &Value) -> Answer {
        options["user"]["id"].as_str().unwrap_or_default().clone_into(&mut self.user);
        let client = self.client("webauthn.create", options);
        let data = [self.data(1 << 6), vec![0; 16], length(&self.id), self.id.clone(), self.cose()].concat();
        let attestation = [
            &[0xa3][..],
            &text("fmt"),
            &text("none"),
            &text("attStmt"),
            &[0xa0],
            &text("authData"),
            &[0x59],
            &length(&data),
            &data,
        ];
        encoded([("id", &self.id), ("client", &client), ("attestation", &attestation.concat())])
    }

    /// Signs in where a page asks for that.
    pub fn sign(&self, options: &Value) -> Answer {
        let (client, data) = (self.client("webauthn.get", options), self.data(0));
        let message = [data.as_slice(), Sha256::digest(&client).as_slice()].concat();
        #[expect(clippy::expect_used, reason = "every machine has randomness")]
        let signature = self.key.sign(&SystemRandom::new(), &message).expect("a signature");
        let signature = signature.as_ref();
        let mut answer = encoded([("id", &self.id), ("client", &client), ("authenticator", &data)]);
        answer.push(("signature", URL_SAFE_NO_PAD.encode(signature)));
        answer.push(("user", self.user.clone()));
        answer
    }

    fn client(&self, kind: &str, options: &Value) -> Vec<u8> {
        let mut all = json!({ "type": kind, "challenge": options["challenge"], "origin": self.origin });
        for (name, value) in self.client.as_object().into_iter().flatten() {
            all[name] = value.clone();
        }
        all.to_string().into_bytes()
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        [Sha256::digest(&self.host).as_slice(), &[self.flags | flags], &self.counter.to_be_bytes()].concat()
    }

    /// Its public key: { 1: 2, 3: -7, -1: 1, -2: x, -3: y }.
    fn cose(&self) -> Vec<u8> {
        let point = self.key.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        [&[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32][..], x, &[0x22, 0x58, 32], y].concat()
    }
}

fn encoded<const N: usize>(fields: [(&'static str, &Vec<u8>); N]) -> Answer {
    fields.into_iter().map(|(name, value)| (name, URL_SAFE_NO_PAD.encode(value))).collect()
}

/// Two bytes.
fn length(bytes: &[u8]) -> Vec<u8> {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes().to_vec()
}

/// A short text in CBOR.
fn text(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap_or(23);
    [&[0x60 | length][..], text.as_bytes()].concat()
}
