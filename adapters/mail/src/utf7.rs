//! Modified UTF-7, the encoding of IMAP folder names (RFC 3501 §5.1.3).

use base64::alphabet::IMAP_MUTF7;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::prelude::Engine;

/// Bits that are left over count for nothing.
const BASE64: GeneralPurpose = GeneralPurpose::new(&IMAP_MUTF7, NO_PAD.with_decode_allow_trailing_bits(true));

pub(crate) fn encode(name: &str) -> String {
    let mut encoded = String::new();
    let mut utf16: Vec<u16> = Vec::new();
    for c in name.chars() {
        if matches!(c, ' '..='~') {
            flush(&mut utf16, &mut encoded);
            encoded.push(c);
            if c == '&' {
                encoded.push('-');
            }
        } else {
            utf16.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        }
    }
    flush(&mut utf16, &mut encoded);
    encoded
}

fn flush(utf16: &mut Vec<u16>, encoded: &mut String) {
    if !utf16.is_empty() {
        let bytes: Vec<u8> = utf16.drain(..).flat_map(u16::to_be_bytes).collect();
        encoded.push_str(&format!("&{}-", BASE64.encode(bytes)));
    }
}

/// A folder's name as people read it. What is no modified UTF-7 stays as it is.
pub(crate) fn decode(encoded: &str) -> String {
    let mut name = String::new();
    let mut rest = encoded;
    while let Some((plain, coded)) = rest.split_once('&') {
        name.push_str(plain);
        let decoded = coded.split_once('-').and_then(|(coded, after)| {
            let text = if coded.is_empty() { Some("&".to_owned()) } else { units(coded) };
            text.map(|text| (text, after))
        });
        let Some((text, after)) = decoded else { return encoded.to_owned() };
        name.push_str(&text);
        rest = after;
    }
    name.push_str(rest);
    name
}

fn units(coded: &str) -> Option<String> {
    let bytes = BASE64.decode(coded).ok()?;
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_be_bytes(*unit)).collect();
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{decode, encode};

    #[test]
    fn the_examples_of_the_rfc() {
        assert_eq!(encode("~peter/mail/台北/日本語"), "~peter/mail/&U,BTFw-/&ZeVnLIqe-");
        assert_eq!(encode("Entwürfe & Co"), "Entw&APw-rfe &- Co");
        assert_eq!(decode("~peter/mail/&U,BTFw-/&ZeVnLIqe-"), "~peter/mail/台北/日本語");
        assert_eq!(decode("no & end"), "no & end");
        assert_eq!(decode("&2D0-"), "&2D0-", "half a pair");
    }

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(name in "\\PC*") {
            let encoded = encode(&name);
            prop_assert!(encoded.is_ascii());
            prop_assert_eq!(decode(&encoded), name);
        }

        #[test]
        fn anything_can_be_decoded(encoded in ".*") {
            decode(&encoded);
        }
    }
}
