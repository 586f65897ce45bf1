//! Texts that must not be stored: passwords, keys and card numbers, recognized by their form.

use std::sync::LazyLock;

use regex::Regex;

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        // Keys of known services, tokens, and private keys.
        r"\b(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9]{16,}",
        r"\b(?:ghp|gho|ghs|github_pat|glpat|xox[abprs])[-_][A-Za-z0-9_-]{16,}",
        r"\bAKIA[0-9A-Z]{16}\b",
        r"\bAIza[0-9A-Za-z_-]{30,}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.",
        r"-----BEGIN [A-Z ]*PRIVATE KEY",
        r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@",
        // A word for it, and then a value: at the end, or with a digit in it.
        r"(?i)\b(?:password|passwort|passphrase|passcode|pin|cvv|api[ _-]?key|secret[ _-]?key|access[ _-]?token)\b[^.!?\n]{0,40}?(?:\bis\b|\bist\b|:|=)\s*\S{4,}\s*[.!]?\s*$",
        r"(?i)\b(?:password|passwort|passphrase|passcode|pin|cvv|api[ _-]?key|secret[ _-]?key|access[ _-]?token)\b[^.!?\n]{0,40}?(?:\bis\b|\bist\b|:|=)\s*\S*\d\S*",
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\d(?:[ -]?\d){12,18}").ok());

/// Whether a text seems to have a secret in it.
pub fn has_secret(text: &str) -> bool {
    let is_card = |digits: &str| {
        let digits: Vec<u32> = digits.chars().filter_map(|c| c.to_digit(10)).collect();
        let sum: u32 = digits.iter().rev().enumerate().map(|(at, digit)| luhn(at, *digit)).sum();
        sum.is_multiple_of(10)
    };
    PATTERNS.iter().any(|pattern| pattern.is_match(text))
        || DIGITS.as_ref().is_some_and(|digits| digits.find_iter(text).any(|found| is_card(found.as_str())))
}

fn luhn(at: usize, digit: u32) -> u32 {
    match digit * 2 {
        _ if at.is_multiple_of(2) => digit,
        double if double > 9 => double - 9,
        double => double,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_valid() {
        assert_eq!((PATTERNS.len(), DIGITS.is_some()), (9, true));
    }

    #[test]
    fn secrets_are_known_by_how_they_look() {
        for text in [
            "my password is swordfish",
            "The wifi password: hunter2!",
            "the PIN of my card is 4711 and the bank is closed",
            "api_key = abcd1234efgh",
            concat!("use sk-", "proj-", "abcdefghij", "klmnopqrst"),
            concat!("token ghp", "_abcdefghijklmnopqrstuvwxyz"),
            concat!("AKIA", "ABCDEFGHIJKLMNOP"),
            "my card is 4111 1111 1111 1111",
            "postgres://ada:lovelace@db.example.org/x",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
        ] {
            assert!(has_secret(text), "{text}");
        }
    }

    #[test]
    fn what_only_speaks_of_one_is_none() {
        for text in [
            "the alarm code is in the safe",
            "The wifi password is on the fridge next to the door",
            "I forgot my password again",
            "my number is 030 1234567",
            "Pin the note to the board",
            "the meeting is on 2026-11-21 at 10:00",
            "order 4111111111111112",
        ] {
            assert!(!has_secret(text), "{text}");
        }
    }
}
