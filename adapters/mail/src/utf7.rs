//! Modified UTF-7, in which IMAP names folders (RFC 3501 §5.1.3).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,";

/// A folder's name as it goes over the wire.
pub(crate) fn encode(name: &str) -> String {
    let mut wire = String::new();
    let mut beyond: Vec<u16> = Vec::new();
    for c in name.chars() {
        if matches!(c, ' '..='~') {
            flush(&mut beyond, &mut wire);
            wire.push(c);
            if c == '&' {
                wire.push('-');
            }
        } else {
            beyond.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        }
    }
    flush(&mut beyond, &mut wire);
    wire
}

fn flush(beyond: &mut Vec<u16>, wire: &mut String) {
    if beyond.is_empty() {
        return;
    }
    wire.push('&');
    let (mut bits, mut count) = (0u32, 0u32);
    for unit in beyond.drain(..) {
        bits = (bits << 16) | u32::from(unit);
        count += 16;
        while count >= 6 {
            count -= 6;
            wire.push(sextet(bits >> count));
        }
        bits &= (1 << count) - 1;
    }
    if count > 0 {
        wire.push(sextet(bits << (6 - count)));
    }
    wire.push('-');
}

fn sextet(bits: u32) -> char {
    ALPHABET.get((bits & 63) as usize).map_or('A', |byte| char::from(*byte))
}

/// A folder's name as people read it. What is no modified UTF-7 stays as it is.
pub(crate) fn decode(wire: &str) -> String {
    let mut name = String::new();
    let mut rest = wire;
    while let Some((plain, coded)) = rest.split_once('&') {
        name.push_str(plain);
        let decoded = coded.split_once('-').and_then(|(coded, after)| {
            let text = if coded.is_empty() { Some("&".to_owned()) } else { units(coded) };
            text.map(|text| (text, after))
        });
        let Some((text, after)) = decoded else { return wire.to_owned() };
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
            let wire = encode(&name);
            prop_assert!(wire.is_ascii());
            prop_assert_eq!(decode(&wire), name);
        }

        #[test]
        fn anything_can_be_decoded(wire in ".*") {
            decode(&wire);
        }
    }
}
