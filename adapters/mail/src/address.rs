//! Email addresses: what is one, and which can be trusted to mean what they show.

use std::fmt;
use std::str::FromStr;

use lettre::Address as SmtpAddress;
use unicode_normalization::UnicodeNormalization;
use unicode_security::MixedScript;
use unicode_security::confusable_detection::skeleton;

use crate::compose::one_line;
use crate::{MailError, Result};

/// What an atom may hold besides letters and digits (RFC 5322 §3.2.3), except for what some servers read as a way to
/// somebody else: `%`, `!`, `=`, `|` and `/`.
const ATOM: &str = "#$&'*+-?^_`{}~";

/// A person with an email address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Address {
    pub name: Option<String>,
    /// The address: `local@domain`.
    pub address: String,
}

impl FromStr for Address {
    type Err = MailError;

    /// Parses `a@b` or `Name <a@b>`.
    fn from_str(text: &str) -> Result<Self> {
        let text = one_line("an address", text)?.trim();
        let split = text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'));
        let (name, plain) = split.unwrap_or(("", text));
        parse_address(plain)?;
        let name = name.trim().trim_matches('"').trim();
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        Ok(Self { name, address: plain.trim().to_owned() })
    }
}

impl Address {
    /// Whether it means just what it seems to: nothing in it makes a server pass the mail on to somebody else, and no
    /// letter passes for another.
    pub fn is_plain(&self) -> bool {
        let Some((local, domain)) = self.address.split_once('@') else { return false };
        let is_atom = |atom: &str| {
            !atom.is_empty()
                && atom.chars().all(|c| c.is_alphanumeric() || ATOM.contains(c))
                && !deceives(atom)
        };
        local.split('.').all(is_atom) && is_plain_domain(domain) && parse_address(&self.address).is_ok()
    }
}

/// Whether a mail to this address goes to somebody in one of these domains, and nowhere else.
pub fn is_inside(address: &Address, domains: &[String]) -> bool {
    let Some((_, domain)) = address.address.rsplit_once('@') else { return false };
    let Ok(domain) = idna::domain_to_ascii(domain) else { return false };
    let is_it = |one: &String| idna::domain_to_ascii(one).is_ok_and(|one| one == domain);
    address.is_plain() && domains.iter().any(is_it)
}

/// Whether a domain has only letters, digits and hyphens, as typed and as shown.
fn is_plain_domain(domain: &str) -> bool {
    let (shown, errors) = idna::domain_to_unicode(domain);
    let is_label = |label: &str| {
        let is_framed = label.starts_with('-') || label.ends_with('-');
        !label.is_empty()
            && !is_framed
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !deceives(label)
    };
    // What was typed counts too: a wide letter becomes a plain one on its way.
    errors.is_ok() && domain.split('.').chain(shown.split('.')).all(is_label)
}

/// Whether a word has letters of several scripts, passes for a word in ASCII, or isn't in the normal form.
fn deceives(word: &str) -> bool {
    if word.is_ascii() {
        return false;
    }
    let passes = |text: &str| skeleton(text).all(|c| c.is_ascii());
    let is_latin = word.chars().any(|c| c.is_ascii_alphabetic());
    let is_normal = word.nfc().eq(word.chars()) && word.nfkc().eq(word.chars());
    let has_fake = || word.chars().any(|c| !c.is_ascii() && passes(c.encode_utf8(&mut [0; 4])));
    !is_normal || !word.is_single_script() || passes(word) || (is_latin && has_fake())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} <{}>", self.address),
            None => f.write_str(&self.address),
        }
    }
}

/// An address with its domain in ASCII, so that only the local part can require SMTPUTF8.
pub(crate) fn parse_address(text: &str) -> Result<SmtpAddress> {
    let wrong = || MailError::params(format!("`{text}` isn't an email address"));
    let (local, domain) = text.trim().rsplit_once('@').ok_or_else(wrong)?;
    let domain = idna::domain_to_ascii(domain).map_err(|_| wrong())?;
    SmtpAddress::new(local, domain).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Address, is_inside, parse_address};

    #[test]
    fn addresses_are_read() {
        let shown = |text: &str| {
            text.parse::<Address>().map(|address| (address.name.unwrap_or_default(), address.address))
        };
        assert_eq!(shown(" a@b.test "), Ok((String::new(), "a@b.test".to_owned())));
        assert_eq!(shown("\"Doe, John\" <j@b.test>"), Ok(("Doe, John".to_owned(), "j@b.test".to_owned())));
        assert_eq!(shown("<j@b.test>"), Ok((String::new(), "j@b.test".to_owned())));
        for wrong in ["", "bob", "a@", "@b.test", "a b@c.test", "a@b.test, c@d.test", "a@b..test"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    fn address(text: &str) -> Address {
        Address { name: None, address: text.to_owned() }
    }

    #[test]
    fn only_a_plain_address_is_inside() {
        let domains = ["inside.test".to_owned(), "müller.test".to_owned(), "пример.test".to_owned()];
        for (text, is_in) in [
            ("x@inside.test", true),
            ("x@INSIDE.test", true),
            ("x.y+z@inside.test", true),
            ("zoë@inside.test", true),
            ("x@müller.test", true),
            ("x@MÜLLER.test", true),
            ("x@xn--mller-kva.test", true),
            ("x@пример.test", true),
            ("x@sub.inside.test", false),
            ("x@inside.test.", false),
            ("x@inside.test.evil.test", false),
            ("x%evil.test@inside.test", false),
            ("\"x@evil.test\"@inside.test", false),
            ("\"x\"@inside.test", false),
            ("evil.test!x@inside.test", false),
            ("x=evil.test@inside.test", false),
            ("x@evil.test@inside.test", false),
            ("@evil.test:x@inside.test", false),
            ("x,y@inside.test", false),
            (".x@inside.test", false),
            ("x..y@inside.test", false),
            ("@inside.test", false),
            ("x@", false),
            ("x", false),
            ("x@ınside.test", false),
            ("x@ｉnside.test", false),
            ("x@inside。test", false),
            ("x@іnside.test", false),
            ("x@mu\u{308}ller.test", false),
            ("аdmin@inside.test", false),
            ("x@[127.0.0.1]", false),
        ] {
            assert_eq!(is_inside(&address(text), &domains), is_in, "{text}");
        }
        // Look-alikes aren't plain even if they are configured.
        for text in ["x@іnside.test", "x@аррӏе.test", "x@xn--80ak6aa92e.com", "x@раура1.test"] {
            assert!(!address(text).is_plain(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_address_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = parse_address(&text);
            let _ = text.parse::<Address>();
        }

        #[test]
        fn an_address_with_a_way_on_is_never_plain(
            local in "[a-z.\"]{0,6}", mark in "[%!@=|/\"(),:;<>\\[\\]\\\\ \u{202e}\u{200b}]", rest in "[a-z.]{0,6}",
        ) {
            let text = format!("{local}{mark}{rest}@inside.test");
            prop_assert!(!address(&text).is_plain(), "{text}");
        }

        #[test]
        fn what_is_plain_goes_where_it_says(text in "([a-z0-9.+%!@\"а-яüı-]|\\PC){1,12}@([a-z.а-яüı-]|\\PC){1,12}") {
            let one = address(&text);
            if one.is_plain() {
                let smtp = parse_address(&text).unwrap();
                let (local, domain) = text.split_once('@').unwrap();
                prop_assert_eq!(smtp.user(), local);
                prop_assert_eq!(smtp.domain(), idna::domain_to_ascii(domain).unwrap());
                prop_assert!(is_inside(&one, &[domain.to_owned()]) && !is_inside(&one, &["inside.test".to_owned()]));
            }
        }

        #[test]
        fn ordinary_addresses_are_plain(text in "[a-z0-9]{1,8}([.+_-][a-z0-9]{1,8}){0,2}@[a-z0-9]{1,8}(-[a-z0-9]{1,4})?\\.[a-z]{2,6}") {
            prop_assume!(!text.contains("xn--"));
            prop_assert!(address(&text).is_plain(), "{text}");
        }
    }
}
