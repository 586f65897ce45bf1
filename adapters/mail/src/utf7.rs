//! Modified UTF-7, the encoding of IMAP folder names (RFC 3501 §5.1.3).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,";

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
    if utf16.is_empty() {
        return;
    }
    encoded.push('&');
    let (mut bits, mut count) = (0u32, 0u32);
    for unit in utf16.drain(..) {
        bits = (bits << 16) | u32::from(unit);
        count += 16;
        while count >= 6 {
            count -= 6;
            encoded.push(sextet(bits >> count));
        }
        bits &= (1 << count) - 1;
    }
    encoded.extend((count > 0).then(|| sextet(bits << (6 - count))));
    encoded.push('-');
}

fn sextet(bits: u32) -> char {
    ALPHABET.get((bits & 63) as usize).map_or('A', |byte| char::from(*byte))
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
    let (mut bits, mut count, mut units) = (0u32, 0u32, Vec::new());
    for byte in coded.bytes() {
        let value = ALPHABET.iter().position(|known| *known == byte)?;
        bits = (bits << 6) | u32::try_from(value).ok()?;
        count += 6;
        if count >= 16 {
            count -= 16;
            units.push(u16::try_from(bits >> count).ok()?);
            bits &= (1 << count) - 1;
        }
    }
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
