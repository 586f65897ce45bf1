//! What the words for a thing mean, beside others of its title, its sender or its kind.

use super::*;

/// Emails, each with its number, its title, its sender's name and address, and when it was sent.
fn letters(all: &[(&str, &str, &str, &str)]) -> Shown {
    let thing = |&(number, title, from, _): &(&str, &str, &str, &str)| {
        let address = from.rsplit_once('<').map_or(from, |(_, address)| address.trim_end_matches('>'));
        thing("mail", &format!("<{number}@x> from {address}"), title)
    };
    let mut shown = Shown::new([(true, all.iter().map(thing).collect())]);
    for letter in all {
        let (id, (_, address)) = (thing(letter).id, letter.2.rsplit_once('<').unwrap());
        let (from, address) = (letter.2.to_owned(), address.trim_end_matches('>').to_owned());
        shown.details.insert(id, Details { from, address, sent: letter.3.to_owned(), ..Details::default() });
    }
    shown
}

/// Judges what forwards the first of these emails to Priya, who is named.
fn forwards(called: &str, all: &[(&str, &str, &str, &str)]) -> Verdict {
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
    const LUNCH: (&str, &str, &str, &str) =
        ("1", "Lunch?", "Frank Castellano <castellano@corp.test>", "2026-11-23T05:15");
    let ambiguous = Verdict::Ask(ApprovalReason::Ambiguous(Vec::new()));
    let unnamed = Verdict::Ask(ApprovalReason::NotNamed);
    let names =
        ["franks lunch mail", "lunch mail of frank", "Frank's e-mail", "mail from frank", "Mail von Frank"];
    for called in names {
        assert_eq!(forwards(called, &[LUNCH]), Verdict::Wished(0), "{called}");
        // Somebody who calls himself so, or writes of him, is a rival, whatever Frank's address is.
        for other in [
            ("2", "Frank", "Eve <eve@evil.test>", "2026-11-20T09:00"),
            ("2", "Lunch", "Frank <eve@evil.test>", "2026-11-20T09:00"),
            ("2", "Lunch mail of Frank", "Eve <eve@evil.test>", "2026-11-20T09:00"),
        ] {
            assert_eq!(forwards(called, &[LUNCH, other]), ambiguous, "{called}: {other:?}");
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
        let theirs = ("2", title, "Eve <eve@evil.test>", "2026-11-20T09:00");
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
    assert_eq!(beside("offsite entry"), ambiguous, "a task is one, too");
    assert_eq!(beside("offsite task"), unnamed);
    assert_eq!(change("offsite entry", entry(), &[offsite(), entry()], &[]), unnamed);
    assert_eq!(change("offsite entry", offsite(), &[offsite(), entry()], &[]), ambiguous);
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
        let all = [("1", "Invoice 2231", "Bob Stone <bob@north.test>", ""), ("2", title, from, "")];
        let expected = match is_meant {
            true => Verdict::Wished(0),
            false => Verdict::Ask(ApprovalReason::Ambiguous(Vec::new())),
        };
        assert_eq!(forwards("Bob's invoice", &all), expected, "{title} by {from}");
    }
}

#[test]
fn of_the_emails_of_one_sender_the_last_is_the_newest_and_an_answer_is_not_what_it_answers() {
    const FIRST: (&str, &str, &str, &str) =
        ("1", "Invoice 2231", "Carol Jensen <carol@north.test>", "2026-11-15T07:15");
    const REPLY: (&str, &str, &str, &str) =
        ("2", "Re: Invoice 2231", "Carol Jensen <carol@north.test>", "2026-11-19T07:15");
    let forward = |called: &str, one, two| forwards(called, &[one, two]) == Verdict::Wished(0);
    for (called, one, two, is_meant) in [
        ("carols invoice 2231", FIRST, REPLY, true),
        ("invoice 2231 mail from carol", FIRST, REPLY, true),
        ("invoice 2231", FIRST, ("2", "AW: Fwd: Invoice 2231", REPLY.2, REPLY.3), true),
        ("carols invoice 2231", REPLY, FIRST, false),
        ("carols reply mail on invoice 2231", FIRST, REPLY, false),
        ("carols last mail on the invoice 2231", REPLY, FIRST, true),
        ("carols last mail on the invoice 2231", FIRST, REPLY, false),
        ("carols latest invoice", REPLY, FIRST, true),
        // Somebody else can make neither out of an email of his.
        ("invoice 2231", FIRST, ("2", REPLY.1, "Carol Jensen <eve@evil.test>", REPLY.3), false),
        ("last invoice 2231 mail", REPLY, ("2", FIRST.1, "Carol Jensen <eve@evil.test>", FIRST.3), false),
        ("last invoice 2231 mail", ("1", FIRST.1, "Carol <eve@evil.test>", "2026-12-01T09:00"), REPLY, false),
        // When it was sent isn't known, or both at once.
        ("carols last invoice mail", REPLY, ("1", FIRST.1, FIRST.2, ""), false),
        ("carols last invoice mail", REPLY, ("1", FIRST.1, FIRST.2, REPLY.3), false),
        ("carols invoice", FIRST, ("2", "Re: Invoice 2198", REPLY.2, REPLY.3), false),
        ("carols invoice", FIRST, ("2", "Invoice 2198", REPLY.2, REPLY.3), false),
    ] {
        assert_eq!(forward(called, one, two), is_meant, "{called}: {one:?} beside {two:?}");
    }
}

#[test]
fn a_question_names_what_else_may_be_meant_if_that_is_the_persons_own() {
    let ask = |others: Vec<Thing>| {
        let all = std::iter::once(thing("task", "t1", "Coffee")).chain(others).collect();
        let mut shown = Shown::new([(true, all)]);
        let tags = |tags: &str| Details { tags: tags.to_owned(), ..Details::default() };
        shown.details.extend([("t1".to_owned(), tags("#office")), ("t2".to_owned(), tags("#shopping"))]);
        let case = Case { shown, ..Case::new("", vec![wish(ActionKind::TaskDelete, &["coffee"], "")]) };
        match case.judge(ActionKind::TaskDelete, vec![Target::Thing(thing("task", "t1", "Coffee"))]) {
            Verdict::Ask(ApprovalReason::Ambiguous(others)) => others.join(", "),
            verdict => panic!("{verdict:?}"),
        }
    };
    let coffee = |id: &str| thing("task", id, "Coffee");
    assert_eq!(ask(vec![coffee("t2")]), "“Coffee” #shopping");
    assert_eq!(ask(vec![coffee("t2"), coffee("t3")]), "“Coffee” #shopping, “Coffee”");
    assert_eq!(ask(vec![coffee("t2"), thing("event", "e1", "Coffee, call 0900")]), "");
    let many = (2..6).map(|number| thing("task", &format!("t{number}"), &format!("Coffee {number}")));
    assert_eq!(ask(many.collect()), "");
}
