//! Passkeys: what browsers are asked for, and whether what their authenticators answer is right (WebAuthn level 3, chapters
//! 6 and 7). Which device made a passkey isn't asked for, so no attestation is read.
//!
//! Everything here comes from outside; what isn't as it must be is `None`.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use url::{Host, Url};

use crate::Result;
use crate::session::Fields;
use crate::views::{Moment, Viewer};

/// How long a browser waits for its person, in milliseconds.
const PATIENCE: u32 = 5 * 60 * 1000;
/// How deep CBOR may be nested; authenticators nest four levels at most.
const DEPTH: u8 = 8;
/// The algorithms in which we can check signatures, by their numbers in COSE, and where it has them.
const ALGORITHM: i64 = 3;
const ES256: i64 = -7;
const EDDSA: i64 = -8;
const RS256: i64 = -257;
/// What an authenticator says of its person and of itself, by the bits of a byte.
const PRESENT_AND_VERIFIED: u8 = 0b101;
const CAN_BE_BACKED_UP: u8 = 1 << 3;
const IS_BACKED_UP: u8 = 1 << 4;
const HAS_KEY: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// A passkey: the half that we have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// The name that its device gave it, in base64.
    pub key: String,
    pub person: String,
    /// The id that its device knows the person by.
    pub user_handle: String,
    /// In COSE, in base64.
    pub public_key: String,
    /// How often it has signed, as far as its device counts that.
    pub counter: u32,
}

/// A passkey as its person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyLine {
    pub key: String,
    /// What the browser calls itself in which it was made.
    pub browser: String,
    pub since: Moment,
    pub used: Option<Moment>,
}

/// What signing in with passkeys needs of the engine.
#[async_trait]
pub trait Passkeys {
    /// What a browser has to answer with a new passkey in this session, or to sign in without one, within five minutes.
    async fn challenge(&self, session: &str) -> Result<String>;
    async fn passkeys(&self, viewer: &Viewer) -> Result<Vec<PasskeyLine>>;
    /// Adds one that answers this challenge. False if that isn't of the viewer's session, or the passkey is known or one too
    /// many.
    async fn add_passkey(&self, viewer: &Viewer, made: (String, Passkey), browser: &str) -> Result<bool>;
    /// Removes one of the viewer's.
    async fn remove_passkey(&self, viewer: &Viewer, key: &str) -> Result<()>;
    async fn passkey(&self, key: &str) -> Result<Option<Passkey>>;
    /// Begins a session with one that has signed this challenge, and so often by now. Returns the session's secret.
    async fn begin(&self, passkey: &Passkey, signed: (String, u32), browser: &str) -> Result<Option<String>>;
}

/// The address that passkeys are for.
#[derive(Debug, Clone)]
pub(crate) struct RelyingParty {
    pub(crate) origin: String,
    host: String,
}

impl RelyingParty {
    /// If browsers have passkeys for this address: it has a name, and nobody listens in.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        let Some(Host::Domain(host)) = url.host() else { return None };
        let is_secure = url.scheme() == "https" || host == "localhost";
        is_secure.then(|| Self { origin: url.origin().ascii_serialization(), host: host.to_owned() })
    }

    /// What a browser is asked for a new passkey. A device that has one of these makes no other.
    pub(crate) fn creation(&self, viewer: &Viewer, challenge: &str, known: &[PasskeyLine]) -> Json {
        let name = if viewer.name.is_empty() { &viewer.assistant } else { &viewer.name };
        let known = known.iter().map(|one| json!({ "type": "public-key", "id": one.key }));
        let algorithms = [ES256, EDDSA, RS256].map(|alg| json!({ "type": "public-key", "alg": alg }));
        json!({
            "rp": { "id": self.host, "name": viewer.assistant },
            "user": { "id": URL_SAFE_NO_PAD.encode(&viewer.person), "name": name, "displayName": name },
            "challenge": URL_SAFE_NO_PAD.encode(challenge),
            "pubKeyCredParams": algorithms,
            "excludeCredentials": known.collect::<Json>(),
            "authenticatorSelection":
                { "residentKey": "required", "requireResidentKey": true, "userVerification": "required" },
            "attestation": "none",
            "timeout": PATIENCE,
        })
    }

    /// What a browser is asked to sign in.
    pub(crate) fn request(&self, challenge: &str) -> Json {
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        json!({ "rpId": self.host, "challenge": challenge, "userVerification": "required", "timeout": PATIENCE })
    }

    /// The challenge that a new passkey answers, and the passkey.
    pub(crate) fn created(&self, viewer: &Viewer, fields: &Fields) -> Option<(String, Passkey)> {
        let challenge = self.challenge("webauthn.create", &decoded(fields, "client")?)?;
        let attestation = decoded(fields, "attestation")?;
        let attestation = whole(&attestation)?;
        let Cbor::Bytes(data) = attestation.get(&Cbor::Text("authData"))? else { return None };
        let (flags, counter, rest) = self.authenticator(data)?;
        // The kind of the authenticator comes first.
        let (length, rest) = rest.get(16..)?.split_first_chunk()?;
        let (key, public_key) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        let mut rest = public_key;
        let cose = cbor(&mut rest, DEPTH)?;
        let is_known = [ES256, EDDSA, RS256].map(Cbor::Int).contains(cose.get(&Cbor::Int(ALGORITHM))?);
        let public_key = &public_key[..public_key.len() - rest.len()];
        if flags & HAS_EXTENSIONS != 0 {
            cbor(&mut rest, DEPTH)?;
        }
        let is_right = flags & HAS_KEY != 0 && is_known && rest.is_empty() && (16..1024).contains(&key.len());
        let passkey = Passkey {
            key: URL_SAFE_NO_PAD.encode(key),
            person: viewer.person.clone(),
            user_handle: viewer.person.clone(),
            public_key: URL_SAFE_NO_PAD.encode(public_key),
            counter,
        };
        (is_right && fields.get("id") == Some(&passkey.key)).then_some((challenge, passkey))
    }

    /// The challenge that this passkey has signed, and how often it has signed by now.
    pub(crate) fn signed(&self, passkey: &Passkey, fields: &Fields) -> Option<(String, u32)> {
        let client = decoded(fields, "client")?;
        let challenge = self.challenge("webauthn.get", &client)?;
        let data = decoded(fields, "authenticator")?;
        let (_, counter, _) = self.authenticator(&data)?;
        let public_key = URL_SAFE_NO_PAD.decode(&passkey.public_key).ok()?;
        let message = [data.as_slice(), Sha256::digest(&client).as_slice()].concat();
        has_signed(&whole(&public_key)?, &message, &decoded(fields, "signature")?)?;
        let is_theirs = decoded(fields, "user")? == passkey.user_handle.as_bytes();
        is_theirs.then_some((challenge, counter))
    }

    /// The challenge in what a browser has put together, if it did so for this and at our address.
    fn challenge(&self, kind: &str, client: &[u8]) -> Option<String> {
        let client: Json = serde_json::from_slice(client).ok()?;
        let is_ours =
            client["type"] == kind && client["origin"] == self.origin && client["crossOrigin"] != true;
        let challenge = URL_SAFE_NO_PAD.decode(client["challenge"].as_str()?).ok()?;
        String::from_utf8(challenge).ok().filter(|_| is_ours)
    }

    /// What an authenticator says of itself, how often the passkey has signed, and what comes after that.
    fn authenticator<'d>(&self, data: &'d [u8]) -> Option<(u8, u32, &'d [u8])> {
        let (host, rest) = data.split_at_checked(32)?;
        let (&flags, rest) = rest.split_first()?;
        let (counter, rest) = rest.split_first_chunk()?;
        let is_right = host == Sha256::digest(&self.host).as_slice()
            && flags & PRESENT_AND_VERIFIED == PRESENT_AND_VERIFIED
            && flags & (CAN_BE_BACKED_UP | IS_BACKED_UP) != IS_BACKED_UP;
        is_right.then_some((flags, u32::from_be_bytes(*counter), rest))
    }
}

fn decoded(fields: &Fields, name: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(fields.get(name)?).ok()
}

/// Whether this key in COSE (RFC 9053, RFC 8230) has signed a message.
fn has_signed(key: &Cbor<'_>, message: &[u8], signature: &[u8]) -> Option<()> {
    let bytes = |label: i64| match key.get(&Cbor::Int(label))? {
        Cbor::Bytes(bytes) => Some(*bytes),
        _ => None,
    };
    let is = |label: i64, number: i64| key.get(&Cbor::Int(label)) == Some(&Cbor::Int(number));
    match *key.get(&Cbor::Int(ALGORITHM))? {
        Cbor::Int(ES256) if is(1, 2) && is(-1, 1) => {
            // A point that isn't compressed.
            let point = [&[4][..], bytes(-2)?, bytes(-3)?].concat();
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
        }
        Cbor::Int(EDDSA) if is(1, 1) && is(-1, 6) => {
            UnparsedPublicKey::new(&ED25519, bytes(-2)?).verify(message, signature)
        }
        Cbor::Int(RS256) if is(1, 3) => {
            let parts = RsaPublicKeyComponents { n: bytes(-1)?, e: bytes(-2)? };
            parts.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
        }
        _ => return None,
    }
    .ok()
}

/// CBOR (RFC 8949), as far as authenticators write it: nothing without its length, and no tags.
#[derive(Debug, PartialEq)]
enum Cbor<'d> {
    Int(i64),
    Bytes(&'d [u8]),
    Text(&'d str),
    Map(Vec<(Cbor<'d>, Cbor<'d>)>),
    /// What we don't need: lists, yes and no, fractions.
    Other,
}

impl<'d> Cbor<'d> {
    /// What a map has under this key.
    fn get(&self, key: &Cbor<'_>) -> Option<&Cbor<'d>> {
        let Self::Map(map) = self else { return None };
        map.iter().find(|(one, _)| one == key).map(|(_, value)| value)
    }
}

/// All of this.
fn whole(bytes: &[u8]) -> Option<Cbor<'_>> {
    let mut rest = bytes;
    cbor(&mut rest, DEPTH).filter(|_| rest.is_empty())
}

/// Reads what comes first. Whatever lengths it claims, it takes no more memory than a few times what is there.
fn cbor<'d>(rest: &mut &'d [u8], depth: u8) -> Option<Cbor<'d>> {
    let depth = depth.checked_sub(1)?;
    let (head, tail) = rest.split_first()?;
    *rest = tail;
    let number: u64 = match head & 31 {
        number @ 0..24 => number.into(),
        size @ 24..28 => {
            taken(rest, 1 << (size - 24))?.iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte))
        }
        _ => return None,
    };
    Some(match head >> 5 {
        0 => Cbor::Int(number.try_into().ok()?),
        1 => Cbor::Int(-1 - i64::try_from(number).ok()?),
        2 => Cbor::Bytes(taken(rest, number)?),
        3 => Cbor::Text(str::from_utf8(taken(rest, number)?).ok()?),
        4 => {
            for _ in 0..number {
                cbor(rest, depth)?;
            }
            Cbor::Other
        }
        5 => {
            let mut map = Vec::new();
            for _ in 0..number {
                map.push((cbor(rest, depth)?, cbor(rest, depth)?));
            }
            Cbor::Map(map)
        }
        7 => Cbor::Other,
        _ => return None,
    })
}

fn taken<'d>(rest: &mut &'d [u8], length: u64) -> Option<&'d [u8]> {
    let (taken, tail) = rest.split_at_checked(length.try_into().ok()?)?;
    *rest = tail;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use adjutant_fakes::passkey::{Answer, Device};
    use proptest::prelude::*;
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use url::form_urlencoded;

    use super::*;

    const ORIGIN: &str = "https://bot.example.org";

    fn page() -> RelyingParty {
        RelyingParty::of(&Url::parse(ORIGIN).unwrap()).unwrap()
    }

    fn viewer() -> Viewer {
        Viewer {
            person: "p1".into(),
            name: "Ada".into(),
            assistant: "A".into(),
            is_owner: false,
            session: "s".into(),
            zone: None,
            waiting: 0,
        }
    }

    fn fields(answer: &Answer) -> Fields {
        Fields::of(form_urlencoded::Serializer::new(String::new()).extend_pairs(answer).finish().as_bytes())
    }

    fn created(device: &mut Device) -> Option<(String, Passkey)> {
        let answer = device.create(&page().creation(&viewer(), "new", &[]));
        page().created(&viewer(), &fields(&answer))
    }

    fn signed(device: &Device, passkey: &Passkey) -> Option<(String, u32)> {
        page().signed(passkey, &fields(&device.sign(&page().request("again"))))
    }

    /// With one field as the change makes it.
    fn changed(answer: &Answer, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Fields {
        let mut answer = answer.clone();
        let field = answer.iter_mut().find(|field| field.0 == name).unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(&field.1).unwrap();
        change(&mut bytes);
        field.1 = URL_SAFE_NO_PAD.encode(bytes);
        fields(&answer)
    }

    #[test]
    fn a_passkey_is_for_a_name_that_is_reached_safely() {
        for (address, origin) in [
            ("https://bot.example.org", Some("https://bot.example.org")),
            ("https://bot.example.org:8443", Some("https://bot.example.org:8443")),
            ("http://localhost:8090", Some("http://localhost:8090")),
            ("http://bot.example.org", None),
            ("http://127.0.0.1:8090", None),
            ("https://192.0.2.1", None),
        ] {
            let party = RelyingParty::of(&Url::parse(address).unwrap());
            assert_eq!(party.as_ref().map(|party| party.origin.as_str()), origin, "{address}");
        }
    }

    #[test]
    fn what_a_device_signs_is_taken_and_nothing_else() {
        let mut device = Device::new(ORIGIN);
        device.counter = 3;
        let (challenge, passkey) = created(&mut device).unwrap();
        assert_eq!((challenge.as_str(), passkey.counter, passkey.person.as_str()), ("new", 3, "p1"));
        device.counter = 4;
        assert_eq!(signed(&device, &passkey), Some(("again".to_owned(), 4)));
        let other = created(&mut Device::new(ORIGIN)).unwrap().1;
        assert_eq!(signed(&device, &other), None, "it has another key");

        type Lie = fn(&mut Device);
        let lies: [(&str, Lie); 9] = [
            ("another origin", |device| device.origin = "https://evil.example".into()),
            ("the same host without TLS", |device| device.origin = "http://bot.example.org".into()),
            ("another host", |device| device.host = "evil.example".into()),
            ("the host of the frame around us", |device| device.client = json!({ "crossOrigin": true })),
            ("something else", |device| device.client = json!({ "type": "payment.get" })),
            ("no challenge", |device| device.client = json!({ "challenge": null })),
            ("nobody is there", |device| device.flags = 0b100),
            ("nobody was verified", |device| device.flags = 0b1),
            ("a copy of what can't be copied", |device| device.flags = 0b1_0101),
        ];
        for (lie, tell) in lies {
            let mut liar = Device::new(ORIGIN);
            let known = created(&mut liar).unwrap().1;
            tell(&mut liar);
            assert_eq!(signed(&liar, &known), None, "{lie}");
            assert_eq!(created(&mut liar), None, "{lie}");
        }
        device.user = URL_SAFE_NO_PAD.encode("p2");
        assert_eq!(signed(&device, &passkey), None, "it is for somebody else");
        let id = URL_SAFE_NO_PAD.encode([7; 16]);
        let mut answer = device.create(&page().creation(&viewer(), "new", &[]));
        answer[0].1 = id;
        assert_eq!(page().created(&viewer(), &fields(&answer)), None, "it has another name");
        device.id = vec![7; 15];
        assert_eq!(created(&mut device), None, "its name is too short");
    }

    #[test]
    fn all_three_algorithms_are_checked() {
        let b = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let ed25519 = [
            (Cbor::Int(1), Cbor::Int(1)),
            (Cbor::Int(3), Cbor::Int(EDDSA)),
            (Cbor::Int(-1), Cbor::Int(6)),
            (Cbor::Int(-2), Cbor::Bytes(key.public_key().as_ref())),
        ];
        // By openssl dgst -sha256 -sign.
        let n = b(
            "3UCOg27kk99fO7yxqKElmf6vQxdy7FKI6jQM-06-DSMsWu1E1-XklLk6tJrUzb2RIohVRkQqg6pxlSwQ0mmq6df_wcfyH-1Dzwp0dUjefKDP-wUKEM8lqQhynE6AJ3RFGWPR6knCA2aqeBa80sf-o-yiTdsYzhExC5_iAtTIr9G2PaRsFs-Ofmgj1zKYPNmMPeYVChoP2HbPssg75AVpbXfw0cEE5uKyaYaLsl1H0-4xAIygthmkNFRHeMgF2M1E4MJpfq2lCkTgfmo_s2wGipjx1bYR6Nwo8dbc_28dvTJ9t6c276sbA0ykWW5iImTU287vzaNzKzeJUZyrkXOOdQ",
        );
        let signature = b(
            "EUMHbu6FunF7rIWDuMs_vYggTt553KgCwJCxnFfNBvAMsAmTKXfiLEIQtZUAW2pfExjgaYdNryskoZU5PYZn7gn9OBSrc1e74mWLwNlY4cPa-rJS4hdrLcaxrh2vqAkeGWodMkH09aGKfUOz3LE5SOUJV6n-qCOjyjrLsmKoqP3fgShMR6qD6ChcVe97s5FO8xZhi_rtJg3lDpWtwdHcIOfTFUkHK1uKHKpJ5EosIFW0s175Yy77WgBZIl-EGFGF_U21zAgLJWnCnvewcO67_AfvdIEuMtWLCg5BwgLRSs6XBTcUOApUB0ZSCK2FBCWSw3JOCVXJI3GnCp-XZ4gKyQ",
        );
        let rsa = [
            (Cbor::Int(1), Cbor::Int(3)),
            (Cbor::Int(3), Cbor::Int(RS256)),
            (Cbor::Int(-1), Cbor::Bytes(&n)),
            (Cbor::Int(-2), Cbor::Bytes(&[1, 0, 1])),
        ];
        for (cose, signature) in [(ed25519, key.sign(b"message").as_ref()), (rsa, signature.as_slice())] {
            let cose = Cbor::Map(cose.into());
            assert!(has_signed(&cose, b"message", signature).is_some());
            assert!(has_signed(&cose, b"massage", signature).is_none());
        }
        for alg in [ES256, EDDSA, RS256, -35] {
            assert!(has_signed(&Cbor::Map(vec![(Cbor::Int(3), Cbor::Int(alg))]), b"", b"").is_none());
        }
    }

    #[test]
    fn lengths_and_depths_that_nobody_needs_are_refused() {
        let read = whole;
        assert_eq!(read(&[0x82, 1, 0x20]), Some(Cbor::Other));
        assert_eq!(read(&[0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), None, "below all numbers");
        for claims in [0x5b, 0x7b, 0x9b, 0xbb] {
            assert_eq!(read(&[claims, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]), None);
        }
        assert_eq!(read(&[0x81; 100_000]), None);
        assert_eq!(read(&[0x9f, 1, 0xff]), None, "without its length");
    }

    proptest! {
        #[test]
        fn garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = cbor(&mut bytes.as_slice(), DEPTH);
            let answer = Device::new(ORIGIN).create(&page().creation(&viewer(), "new", &[]));
            for name in ["client", "attestation"] {
                let fields = changed(&answer, name, |field| field.clone_from(&bytes));
                prop_assert_eq!(page().created(&viewer(), &fields), None);
            }
        }

        #[test]
        fn what_was_cut_off_is_refused(at in any::<prop::sample::Index>(), more in any::<u8>()) {
            let mut device = Device::new(ORIGIN);
            let answer = device.create(&page().creation(&viewer(), "new", &[]));
            let (_, passkey) = page().created(&viewer(), &fields(&answer)).unwrap();
            for name in ["client", "attestation"] {
                let shorter = changed(&answer, name, |field| field.truncate(at.index(field.len())));
                prop_assert_eq!(page().created(&viewer(), &shorter), None);
            }
            let longer = changed(&answer, "attestation", |field| field.push(more));
            prop_assert_eq!(page().created(&viewer(), &longer), None);
            let answer = device.sign(&page().request("again"));
            for name in ["client", "authenticator", "signature", "user"] {
                let shorter = changed(&answer, name, |field| field.truncate(at.index(field.len())));
                prop_assert_eq!(page().signed(&passkey, &shorter), None);
            }
        }

        #[test]
        fn a_flipped_bit_is_refused(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let mut device = Device::new(ORIGIN);
            let new = device.create(&page().creation(&viewer(), "new", &[]));
            let (_, passkey) = page().created(&viewer(), &fields(&new)).unwrap();
            let flip = |field: &mut Vec<u8>| { let at = at.index(field.len()); field[at] ^= 1 << bit; };
            let answer = device.sign(&page().request("again"));
            for name in ["client", "authenticator", "signature", "user"] {
                prop_assert_eq!(page().signed(&passkey, &changed(&answer, name, flip)), None);
            }
            // No signature covers a new passkey, but with another key the device can't sign in.
            if let Some((_, other)) = page().created(&viewer(), &changed(&new, "attestation", flip)) {
                let is_same = other.public_key == passkey.public_key;
                prop_assert!(is_same || page().signed(&other, &fields(&answer)).is_none());
            }
        }
    }
}
