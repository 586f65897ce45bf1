//! What the words for a thing mean, beside others of its title, its sender or its kind.

use super::*;

/// Emails, each with its number, its title, and its sender's name and address.
fn letters(all: &[(&str, &str, &str)]) -> Shown {
    let thing = |&(number, title, from): &(&str, &str, &str)| {
        let address = from.rsplit_once('<').map_or(from, |(_, address)| address.trim_end_matches('>'));
        thing("mail", &format!("<{number}@x> from {address}"), title)
    };
    let mut shown = Shown::new([(true, all.iter().map(thing).collect())]);
    shown.senders = all.iter().map(|letter| (thing(letter).id, letter.2.to_owned())).collect();
    shown
}

/// Judges what forwards the first of these emails to Priya, who is named.
fn forwards(called: &str, all: &[(&str, &str, &str)]) -> Verdict {
    let shown = letters(all);
    let mut first = shown.things().next().unwrap().clone();
    // A call knows the sender's name, too.
    first.title = format!("{} {}", first.title, all[0].2.split(" <").next().unwrap());
    let wishes = vec![wish(ActionKind::MailForward, &["priya", called], "")];
    let targets = vec![recipient("priya@corp.test", &["Priya"]), Target::Thing(first)];
    Case { shown, ..Case::new("", wishes) }.judge(ActionKind::MailForward, targets)
}

#[test]
fn a_word_for_the_kind_of_a_thing_says_no_more_and_names_nothing_alone() {
    const LUNCH: (&str, &str, &str) = ("1", "Lunch?", "Frank Castellano <castellano@corp.test>");
    let unnamed = Verdict::Ask(ApprovalReason::NotNamed);
    let names =
        ["franks lunch mail", "lunch mail of frank", "Frank's e-mail", "mail from frank", "Mail von Frank"];
    for called in names {
        assert_eq!(forwards(called, &[LUNCH]), Verdict::Wished(0), "{called}");
        // Somebody who calls himself so, or writes of him, is a rival, whatever Frank's address is.
        for other in [
            ("2", "Frank", "Eve <eve@evil.test>"),
            ("2", "Lunch", "Frank <eve@evil.test>"),
            ("2", "Lunch mail of Frank", "Eve <eve@evil.test>"),
        ] {
            assert_eq!(forwards(called, &[LUNCH, other]), AMBIGUOUS, "{called}: {other:?}");
            let theirs = forwards(called, &[other, LUNCH]);
            assert!(matches!(theirs, Verdict::Ask(_)), "{called}: {other:?}: {theirs:?}");
        }
    }
    let unseen = vec![wish(ActionKind::MailForward, &["franks lunch mail"], "")];
    let unseen = Case::new("", unseen).judge(
        ActionKind::MailForward,
        vec![Target::Thing(thing("mail", "<1@x> from eve@evil.test", "Lunch Frank C"))],
    );
    assert_eq!(unseen, unnamed, "whoever writes emails chooses what they are called");
    for (title, called) in
        [("Offer 2", "mail 2"), ("Mail 2", "mail 2"), ("Offer 9", "mail 9"), ("2", "mail 2")]
    {
        let theirs = ("2", title, "Eve <eve@evil.test>");
        assert_eq!(forwards(called, &[theirs, LUNCH]), unnamed, "a label is no title: {title}");
    }
    for called in ["last mail", "the mail from", "the trip mail", "lunch entry"] {
        assert_eq!(forwards(called, &[LUNCH]), unnamed, "{called}");
    }
    let event = |id: &str, title: &str| thing("event", id, title);
    let change = |called: &str, changed: Thing, events: &[Thing], tasks: &[Thing]| {
        let shown = Shown::new([(true, events.to_vec()), (true, tasks.to_vec())]);
        let case = Case { shown, ..Case::new("", vec![wish(ActionKind::EventChange, &[called], "")]) };
        let changed = Thing { is_shared: true, ..changed };
        case.judge(ActionKind::EventChange, vec![Target::Thing(changed)])
    };
    let (offsite, entry) = (|| event("e1", "Offsite in Leipzig"), || event("e9", "Entry"));
    for called in ["offsite entry", "Offsite-Termin", "den Offsite-Eintrag", "offsite event"] {
        assert_eq!(change(called, offsite(), &[offsite()], &[]), Verdict::Wished(0), "{called}");
        assert_eq!(change(called, offsite(), &[], &[]), Verdict::Wished(0), "an own one: {called}");
    }
    let slides = thing("task", "t1", "Offsite slides");
    let beside = |called: &str| change(called, offsite(), &[offsite()], std::slice::from_ref(&slides));
    assert_eq!(beside("offsite event"), Verdict::Wished(0));
    assert_eq!(beside("offsite entry"), AMBIGUOUS, "a task is one, too");
    assert_eq!(beside("offsite task"), unnamed);
    assert_eq!(change("offsite entry", entry(), &[offsite(), entry()], &[]), unnamed);
    assert_eq!(change("offsite entry", offsite(), &[offsite(), entry()], &[]), AMBIGUOUS);
    assert_eq!(change("entry", entry(), &[offsite(), entry()], &[]), Verdict::Wished(0));
}

#[test]
fn another_email_of_the_sender_whom_the_words_name_is_a_rival() {
    for (title, from, is_meant) in [
        ("Invoice 99", "<bob@north.test>", false),
        ("Invoice 99", "Bob <b@north.test>", false),
        ("Invoice 99", "Eve <eve@evil.test>", true),
        ("Minutes", "Bob Stone <bob@north.test>", true),
    ] {
        let all = [("1", "Invoice 2231", "Bob Stone <bob@north.test>"), ("2", title, from)];
        let expected = match is_meant {
            true => Verdict::Wished(0),
            false => AMBIGUOUS,
        };
        assert_eq!(forwards("Bob's invoice", &all), expected, "{title} by {from}");
    }
}

/// Whoever sends an email chooses its date and the name of its sender, and "From" alone doesn't say who that is.
#[test]
fn neither_a_date_nor_a_title_of_an_answer_chooses_among_the_emails_of_one_sender() {
    const FIRST: (&str, &str, &str) = ("1", "Invoice 2231", "Carol Jensen <notifications@git.test>");
    const REPLY: (&str, &str, &str) = ("2", "Re: Invoice 2231", FIRST.2);
    for called in ["carols invoice 2231", "carols last mail on the invoice 2231", "latest invoice 2231"] {
        for all in [[FIRST, REPLY], [REPLY, FIRST]] {
            assert_eq!(forwards(called, &all), AMBIGUOUS, "{called}: {all:?}");
        }
        assert_eq!(forwards(called, &[REPLY]), Verdict::Wished(0), "{called}");
    }
}

#[test]
fn what_else_the_words_fit_is_told_once_with_its_sender() {
    let lunch = |id: &str, title: &str| thing("event", id, title);
    let mail = thing("mail", "<1@x> from eve@evil.test", "Lunch menu");
    let lists = [
        (true, vec![lunch("e1", "Lunch"), lunch("e2", "Team lunch"), lunch("e3", "Retro")]),
        (true, vec![mail.clone(), thing("task", "t1", "Pay lunch")]),
        (false, vec![lunch("e2", "Team lunch")]),
    ];
    let mut shown = Shown::new(lists);
    shown.senders.insert(mail.id, "Eve <eve@evil.test>".to_owned());
    let case = Case { shown, ..Case::new("", vec![wish(ActionKind::EventDelete, &["lunch"], "")]) };
    let verdict = case.decide(ActionKind::EventDelete, vec![Target::Thing(lunch("e1", "Lunch"))]);
    let mail = ("Lunch menu".to_owned(), Some("Eve <eve@evil.test>".to_owned()));
    let others = vec![("Team lunch".to_owned(), None), ("Pay lunch".to_owned(), None), mail];
    assert_eq!(verdict, Verdict::Ask(ApprovalReason::Ambiguous(others)));
}

#[test]
fn a_reminder_of_what_was_shown_uses_the_wish_that_names_it_once() {
    let lunch = || thing("mail", "<1@x> from frank@corp.test", "Lunch");
    let wishes = Wishes {
        all: ["milk", "lunch"].map(|text| wish(ActionKind::TaskCreate, &[], text)).into(),
        ..Wishes::default()
    };
    let reminder = |shown: Vec<Thing>, used: &[u32]| {
        let (words, shown) = (OwnWords::new([""]), Shown::new([(true, shown)]));
        let evidence = Evidence {
            wishes: &wishes,
            words: &words,
            shown: &shown,
            name: "Ada Bell",
            used,
            recipients: (0, 0),
        };
        evidence.reminder_of(&lunch())
    };
    assert_eq!(reminder(vec![lunch()], &[0, 0]), Some(1));
    assert_eq!(reminder(vec![lunch()], &[0, 1]), None, "nor is the milk's used");
    assert_eq!(reminder(Vec::new(), &[0, 0]), None, "they don't know of it");
}
