//! Whether something new fits a condition (pure).
//!
//! Property: an address or a domain fits only itself. Names fit whoever calls themselves so.

use adjutant_mail::{Address, Headline, Message, is_inside};
use adjutant_types::Condition;
use adjutant_types::text::words;

/// The person's own addresses, and the domains of their house.
#[derive(Debug, Clone, Default)]
pub struct OwnAddresses {
    pub addresses: Vec<String>,
    pub domains: Vec<String>,
}

impl OwnAddresses {
    fn hold(&self, party: &Address) -> bool {
        self.addresses.iter().any(|own| own.eq_ignore_ascii_case(&party.address))
    }
}

pub fn fits(condition: &Condition, mail: &Message, head: &Headline, own: &OwnAddresses) -> bool {
    let is_to_own = mail.to.iter().chain(&mail.cc).any(|party| own.hold(party));
    suits(condition, (&mail.from, &mail.subject, &mail.text), own)
        && condition.attachment.is_none_or(|wanted| wanted == head.has_attachment)
        && (!condition.is_answer || (mail.in_reply_to.is_some() && is_to_own))
}

/// Whether anything fits, by its people, its title and its text.
pub fn suits(
    condition: &Condition,
    (people, title, text): (&[Address], &str, &str),
    own: &OwnAddresses,
) -> bool {
    let is_from = |wanted: &str| people.iter().any(|party| is_by(wanted, party));
    let is_outside = people.iter().any(|party| !own.hold(party) && !is_inside(party, &own.domains));
    one_fits(&condition.from, is_from)
        && one_fits(&condition.subject, |words| has_words(title, words))
        && one_fits(&condition.text, |words| has_words(title, words) || has_words(text, words))
        && condition.outside.is_none_or(|wanted| wanted == is_outside)
}

/// Whether a mail is the person's own, or was sent because of one of theirs: two programs that answer each other never end.
pub fn is_our_own(mail: &Message, head: &Headline, own: &OwnAddresses) -> bool {
    head.is_reply_robot || mail.from.iter().any(|party| own.hold(party))
}

fn one_fits(list: &[String], fits: impl Fn(&str) -> bool) -> bool {
    list.is_empty() || list.iter().any(|entry| fits(entry))
}

/// Whether somebody is meant by an address, by `@` and a domain, which stands for those below it, too, or by a name.
fn is_by(wanted: &str, party: &Address) -> bool {
    if let Some(domain) = wanted.strip_prefix('@') {
        let below = format!(".{}", domain.to_ascii_lowercase());
        let is_below = party.address.to_ascii_lowercase().ends_with(&below);
        return is_below || is_inside(party, &[domain.to_owned()]);
    }
    if wanted.contains('@') {
        return wanted.eq_ignore_ascii_case(&party.address);
    }
    let is_called = |text: &str| has_words(text, wanted);
    party.name.as_deref().is_some_and(is_called) || is_called(&party.address)
}

/// Whether a text has these words in this order, each of them whole.
fn has_words(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.to_lowercase(), wanted.to_lowercase());
    // From here on, scripts don't part their words.
    if wanted.contains(|char: char| char >= '\u{2e80}') {
        return text.contains(wanted.trim());
    }
    let (text, wanted): (Vec<&str>, Vec<&str>) = (words(&text).collect(), words(&wanted).collect());
    !wanted.is_empty() && text.windows(wanted.len()).any(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> OwnAddresses {
        OwnAddresses { addresses: vec!["ada@home.test".into()], domains: vec!["home.test".into()] }
    }

    fn party(text: &str) -> Address {
        let (name, address) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once(" <")) {
            Some((name, address)) => (Some(name.to_owned()), address),
            None => (None, text),
        };
        Address { name, address: address.to_owned() }
    }

    fn mail(from: &str, subject: &str) -> Message {
        let (from, to) = (vec![party(from)], vec![party("ada@home.test")]);
        Message { from, to, subject: subject.into(), ..Message::default() }
    }

    fn head() -> Headline {
        Headline::default()
    }

    fn from(entry: &str) -> Condition {
        Condition { from: vec![entry.into()], ..Condition::default() }
    }

    #[test]
    fn a_sender_is_meant_by_address_domain_or_name() {
        for (entry, sender, is_it) in [
            ("eve@acme.test", "Eve <EVE@acme.test>", true),
            ("eve@acme.test", "steve@acme.test", false),
            ("eve@acme.test", "\"eve@acme.test\" <eve@evil.test>", false),
            ("@acme.test", "bob@acme.test", true),
            ("@acme.test", "bob@mail.ACME.test", true),
            ("@acme.test", "bob@notacme.test", false),
            ("@acme.test", "bob@acme.test.evil.test", false),
            ("@acme.test", "bob@аcme.test", false),
            ("Acme", "Acme Sales <x@sales.test>", true),
            ("Acme", "eve@acme.test", true),
            ("Acme", "Acmeville <x@y.test>", false),
            ("Eve Hall", "Eve Hall <x@y.test>", true),
            ("Eve Hall", "Hall Eve <x@y.test>", false),
            ("山田", "山田太郎 <x@y.test>", true),
            ("?!", "?! <x@y.test>", false),
        ] {
            let fits = fits(&from(entry), &mail(sender, "Hi"), &head(), &own());
            assert_eq!(fits, is_it, "{entry}: {sender}");
        }
    }

    #[test]
    fn all_of_a_condition_has_to_fit_and_one_of_each_list() {
        let letter = Message { text: "Please pay 40 €.".into(), ..mail("x@acme.test", "Your invoice 7") };
        let head = Headline { has_attachment: true, ..head() };
        let invoice = Condition {
            subject: vec!["receipt".into(), "INVOICE".into()],
            text: vec!["pay".into()],
            attachment: Some(true),
            outside: Some(true),
            ..from("@acme.test")
        };
        let is_it = |condition: &Condition| fits(condition, &letter, &head, &own());
        assert!(is_it(&invoice) && is_it(&Condition::default()));
        for other in [
            Condition { subject: vec!["voice".into()], ..invoice.clone() },
            Condition { text: vec!["please 40".into()], ..invoice.clone() },
            Condition { attachment: Some(false), ..invoice.clone() },
            Condition { outside: Some(false), ..invoice.clone() },
            Condition { is_answer: true, ..invoice.clone() },
        ] {
            assert!(!is_it(&other), "{other:?}");
        }
        let answer = Message { in_reply_to: Some("<1@home.test>".into()), ..letter.clone() };
        assert!(fits(&Condition { is_answer: true, ..invoice }, &answer, &head, &own()));
    }

    #[test]
    fn what_the_person_sent_and_what_answers_by_itself_sets_nothing_off() {
        let is_own = |from: &str, head: Headline| is_our_own(&mail(from, "Hi"), &head, &own());
        assert!(is_own("Ada@home.test", head()));
        assert!(is_own("x@y.test", Headline { is_reply_robot: true, ..head() }));
        assert!(!is_own("bob@home.test", Headline { is_automatic: true, ..head() }));
    }
}
