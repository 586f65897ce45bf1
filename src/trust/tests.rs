use proptest::prelude::*;

use super::*;

fn words(now: &str) -> Words {
    Words::new(now, [])
}

fn recipient(address: &str, names: &[&str]) -> Target {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Target::Recipient { address: address.to_owned(), names, is_pointed_at: false }
}

/// Whether a request binds an effect.
fn binds(now: &str, act: Act, target: Target) -> bool {
    doubt(act, &[target], &words(now), (0, 5)).is_none()
}

#[test]
fn an_address_or_a_contact_that_the_person_named_is_bound() {
    let bob = || recipient("bob@corp.test", &["Bob Stone", "bob", "stone"]);
    for request in [
        "mail bob@corp.test that I'm late",
        "Email Bob@Corp.test, please.",
        "tell bob we moved it",
        "Reply to Stone: yes",
        "forward it to <bob@corp.test>",
    ] {
        assert!(binds(request, Act::Send, bob()), "{request}");
    }
    for request in [
        "summarise my mail",
        "what does bob want?",
        "mail ann@corp.test",
        "mail bob@corp.test.evil.test the report",
        "mail xbob@corp.test",
        "send it to bobby",
    ] {
        assert!(!binds(request, Act::Send, bob()), "{request}");
    }
    assert!(!binds("reply to dana", Act::Send, recipient("dana@evil.test", &[])));
}

#[test]
fn something_new_is_bound_by_all_of_its_words_and_something_known_by_one() {
    let new = |text: &str| Target::New(text.to_owned());
    let known = |text: &str| Target::Known(text.to_owned());
    assert!(binds("put lunch with Ada into my calendar, Friday noon", Act::Create, new("Lunch with Ada")));
    assert!(!binds("put lunch with Ada into my calendar", Act::Create, new("Lunch with Ada at evil.test")));
    assert!(!binds("read my mail and add lunch", Act::Create, new("Pay invoice 77")));
    assert!(!binds("add a task", Act::Create, new("…")), "nothing to bind");
    assert!(binds("cancel the dentist", Act::Delete, known("Dentist appointment, Dr Weber")));
    assert!(
        !binds("cancel my appointment", Act::Delete, known("Board appointment")),
        "any appointment is one"
    );
    assert!(!binds("what is the offsite about?", Act::Delete, known("Offsite")), "it wasn't to be deleted");
    assert!(binds("lösche den Zahnarzt", Act::Delete, known("Zahnarzt")), "an unknown language has no verbs");
    assert!(binds("明日の会議を削除して", Act::Delete, known("会議")));
}

#[test]
fn an_address_of_the_web_is_bound_verbatim() {
    let url = |url: &str| Target::Url(url.to_owned());
    assert!(binds("open https://example.org/prices/", Act::Fetch, url("https://example.org/prices")));
    assert!(binds("read example.org/prices.", Act::Fetch, url("https://example.org/prices")));
    assert!(!binds("read example.org", Act::Fetch, url("https://example.org/?q=secret")));
    assert!(!binds("read example.org", Act::Fetch, url("https://secret.example.org/")));
    assert!(binds("read HTTPS://Example.org/Prices", Act::Fetch, url("https://example.org/Prices")));
    assert!(!binds("read example.org/prices", Act::Fetch, url("https://example.org/PrIcEs")));
}

#[test]
fn five_recipients_are_enough_for_a_turn() {
    let all: Vec<Target> = (0..3).map(|n| recipient(&format!("p{n}@corp.test"), &[])).collect();
    let said = words("mail p0@corp.test, p1@corp.test and p2@corp.test");
    assert_eq!(doubt(Act::Send, &all, &said, (2, 5)), None);
    assert_eq!(doubt(Act::Send, &all, &said, (3, 5)), Some(Doubt::TooManyRecipients(5)));
}

proptest! {
    #[test]
    fn words_of_outside_text_bind_nothing(secret in "[q-z]{6,12}", request in "(add|send|delete|open) [a-m ]{0,30}") {
        let targets = [
            (Act::Create, Target::New(format!("{request} {secret}"))),
            (Act::Delete, Target::Known(secret.clone())),
            (Act::Send, recipient(&format!("{secret}@corp.test"), &[&secret])),
            (Act::Fetch, Target::Url(format!("https://{secret}.test/"))),
        ];
        for (act, target) in targets {
            prop_assert!(!binds(&request, act, target));
        }
    }

    #[test]
    fn more_words_never_bind_less(title in "[a-z ]{0,20}", said in "[a-z ]{0,40}", more in "[a-z ]{0,40}") {
        let target = [Target::New(title.clone())];
        let now = format!("add {said}");
        let with_more = Words::new(&now, [more.as_str()]);
        if doubt(Act::Create, &target, &words(&now), (0, 5)).is_none() {
            prop_assert_eq!(doubt(Act::Create, &target, &with_more, (0, 5)), None);
        }
    }

    #[test]
    fn any_text_is_judged(now in any::<String>(), text in any::<String>()) {
        for target in [Target::New(text.clone()), Target::Known(text.clone()), Target::Url(text.clone())] {
            let _ = binds(&now, Act::Change, target);
        }
        prop_assert!(!binds(&now, Act::Create, Target::New("..., !".into())));
    }
}
