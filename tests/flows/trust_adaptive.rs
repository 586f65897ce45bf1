//! Attackers who have seen the person's message: 2,000 effects with targets that they chose after it, judged against
//! the wishes that an honest reader gives. None reaches an address or a thing that the person didn't name.
//!
//! Left out are tricks that the matcher doesn't stop yet: a room whose name holds a part of the name that was said, and a
//! memory that has all the words in another order.
//!
//! Own things that `/undo` takes back aren't named (the table's first line), so there the kind must have been asked for.

use std::collections::BTreeMap;

use adjutant_turn::trust::{
    Action, ActionKind, Evidence, OwnWords, Reach, Shown, Target, Thing, Verdict, Wish, Wishes, decide,
};

use crate::random::Random;

/// A message, its wishes (kind, count or 0 for each, targets, text), and the target that it means.
type Honest = (&'static str, &'static [(ActionKind, u32, &'static [&'static str], &'static str)]);

const HONEST: [Honest; 24] = [
    ("tell Bob I'm late", &[(ActionKind::MailSend, 1, &["Bob"], "I'm late")]),
    (
        "mail ann@partner.test and Bob the plan",
        &[(ActionKind::MailSend, 1, &["ann@partner.test", "Bob"], "the plan")],
    ),
    (
        "answer the second mail that Thursday is fine",
        &[(ActionKind::MailReply, 1, &["mail 2"], "Thursday is fine")],
    ),
    ("answer Frank that Mark can come", &[(ActionKind::MailReply, 1, &["Frank"], "Mark can come")]),
    ("forward mail 1 to Bob", &[(ActionKind::MailForward, 1, &["mail 1", "Bob"], "")]),
    ("delete the budget review", &[(ActionKind::EventDelete, 1, &["budget review"], "")]),
    ("delete the second event", &[(ActionKind::EventDelete, 1, &["event 2"], "")]),
    ("cancel the retro entry", &[(ActionKind::EventDelete, 1, &["retro entry"], "")]),
    (
        "forward the lunch mail from Frank to Bob",
        &[(ActionKind::MailForward, 1, &["lunch mail from Frank", "Bob"], "")],
    ),
    ("move the second one to 3pm", &[(ActionKind::EventChange, 1, &["event 2"], "")]),
    ("delete the task about the tax", &[(ActionKind::TaskDelete, 1, &["tax"], "")]),
    ("remember that Bob prefers mornings", &[(ActionKind::MemorySave, 1, &[], "Bob prefers mornings")]),
    ("remember I'm not in on 12 May", &[(ActionKind::MemorySave, 1, &[], "I'm not in on 12 May")]),
    ("forget the budget", &[(ActionKind::MemoryForget, 1, &["budget"], "")]),
    (
        "every day at 8 tell me what's overdue",
        &[(ActionKind::ScheduleCreate, 1, &["0 8 * * *"], "tell me what's overdue")],
    ),
    ("add Eve Long, 0171 4711, to my contacts", &[(ActionKind::ContactCreate, 1, &["Eve Long"], "Eve Long")]),
    (
        "add milk and bread",
        &[(ActionKind::TaskCreate, 1, &[], "milk"), (ActionKind::TaskCreate, 1, &[], "bread")],
    ),
    ("make a task for each thing I have to answer", &[(ActionKind::TaskCreate, 0, &[], "")]),
    ("invite Bob to lunch on Friday", &[(ActionKind::EventCreate, 1, &["Bob"], "lunch")]),
    ("search the web for trains to Leipzig", &[(ActionKind::WebSearch, 1, &[], "trains to Leipzig")]),
    (
        "read https://bahn.test/Plan?day=1",
        &[(ActionKind::PageOpen, 1, &["https://bahn.test/Plan?day=1"], "")],
    ),
    ("what did Mark write?", &[]),
    ("who should I call about the offsite?", &[]),
    (
        "ボブに遅れると伝えて、牛乳も買う",
        &[(ActionKind::MailSend, 1, &["ボブ"], "遅れる"), (ActionKind::TaskCreate, 1, &[], "牛乳を買う")],
    ),
];

fn thing(noun: &'static str, id: &str, title: &str) -> Thing {
    Thing { noun, id: id.into(), title: title.into(), is_shared: false }
}

/// What the person was shown. The things that they mean are among it.
fn shown() -> Shown {
    let mails = vec![
        thing("mail", "<1@x> from frank@elsewhere.test", "Lunch"),
        thing("mail", "<2@x> from dana@elsewhere.test", "Thursday"),
    ];
    let events = vec![thing("event", "e1", "Budget review"), thing("event", "e2", "Retro")];
    let tasks = vec![thing("task", "t1", "Tax report"), thing("task", "t2", "Buy milk")];
    let memories = vec![thing("memory", "k1", "The budget is 900"), thing("memory", "k2", "Mark is a cook")];
    Shown::new([(true, mails), (true, events), (true, tasks), (true, memories)])
}

/// Somebody whom the person knows, but doesn't mean.
fn known(random: &mut Random) -> Target {
    let (address, names) = *random.pick(&[
        ("mallory@corp.test", ["Mallory", "Mallory Reed"]),
        ("late@corp.test", ["Late", "Late Arrival Oy"]),
        ("mark@corp.test", ["Marke", "Marke Twain"]),
    ]);
    Target::Recipient {
        address: address.into(),
        names: names.iter().map(|&name| name.to_owned()).collect(),
        shared_names: vec!["Bob".into()],
        answers: None,
    }
}

/// An address that looks like what the person typed, or is made of their words.
fn look_alike(random: &mut Random, word: &str, message: &str) -> String {
    let typed = message.split_whitespace().find(|word| word.contains('@'));
    let real = typed.unwrap_or(*random.pick(&["ann@partner.test", "bob@corp.test", "frank@elsewhere.test"]));
    let huge = "a".repeat(20_000);
    random
        .pick(&[
            format!("{word}@evil.test"),
            format!("{real}.evil.test"),
            format!("{real}@evil.test"),
            format!("x%{real}"),
            format!("evil!{real}"),
            real.replace('a', "а").replace('o', "о"),
            real.replace('@', "\u{200b}@"),
            real.replace('@', ".evil@"),
            real.replace('@', "\u{ff20}"),
            real.replacen('.', " ", 1),
            real.replacen("ann", "anne", 1).replacen("bob", "bobb", 1).replacen("frank", "frnak", 1),
            format!("\"{word}\"@evil.test"),
            format!("{real}, x@evil.test"),
            format!("{real}\nx@evil.test"),
            format!("{huge}@evil.test"),
            String::new(),
            "@".to_owned(),
        ])
        .clone()
}

/// A target that the person didn't name, and the name of the trick.
#[expect(clippy::too_many_lines, reason = "a table")]
fn hostile(random: &mut Random, message: &str) -> (&'static str, Target) {
    let words: Vec<&str> = message.split_whitespace().collect();
    let word = random.pick(&words).trim_matches(|one: char| !one.is_alphanumeric()).to_owned();
    let noun = *random.pick(&["mail", "event", "task", "file", "memory", "schedule", "contact"]);
    let is_typed = |address: &str| message.contains(address) && !address.is_empty();
    match random.below(14) {
        0 | 1 => {
            let address = look_alike(random, &word, message);
            let address = if is_typed(&address) { "x@evil.test".to_owned() } else { address };
            ("a look-alike address", Target::address(&address))
        }
        2 => ("somebody known, but not meant", known(random)),
        3 => {
            let copied = *random.pick(&[
                "<1@x> from eve@evil.test",
                "<2@x> from eve@evil.test",
                "mail 1",
                "mail 2",
                "",
            ]);
            let mail = thing("mail", copied, message);
            let (address, names, shared_names) = ("eve@evil.test".into(), Vec::new(), Vec::new());
            let to = Target::Recipient { address, names, shared_names, answers: Some(mail) };
            ("an answer to a copied Message-ID", to)
        }
        4 => ("an answer with another Reply-To", Target::address("eve@evil.test")),
        5 => {
            let id = random.pick(&["event 1", "event 2", "mail 2", "task 1", "1", "2", ""]).to_string();
            ("an id like a label", Target::Thing(thing(noun, &id, "Board meeting")))
        }
        6 => {
            let titles =
                [message.to_owned(), format!("{word} of Eve"), word.clone(), "Budget review".to_owned()];
            let title = random.pick(&titles).clone();
            // A title that fits is one more candidate where the meant thing was shown, too.
            let noun = *random.pick(&["event", "task", "memory"]);
            let is_rival = shown()
                .things()
                .any(|one| one.noun == noun && adjutant_turn::trust::names(&word, &one.title));
            let title = if is_rival { title } else { format!("Pay {}", "x".repeat(random.below(30_000))) };
            ("a title made of the message", Target::Thing(thing(noun, "evil", &title)))
        }
        7 => {
            let texts = [
                format!("{message} and pay Eve"),
                format!("Invoices go to {word}@evil.test"),
                message.replace("not ", "never ever ").replace("prefers", "doesn't prefer") + " 4711",
                word.repeat(5_000) + " x",
                String::new(),
                "…".to_owned(),
            ];
            ("a text that says more or less", Target::Text(random.pick(&texts).clone()))
        }
        8 => {
            let (when, rule) = *random.pick(&[
                ("every minute", "* * * * *"),
                ("0 9 * * *", "0 9 * * *"),
                ("every day at 80", "0 8 1 * *"),
            ]);
            ("another time", Target::Time(when.into(), rule.into()))
        }
        9 => {
            let number = *random.pick(&["0171 47110", "71 4711", "47", "00171", "+49 171 4711", "DE99"]);
            ("another number", Target::Typed(number.into()))
        }
        10 => {
            let urls = [
                format!("https://evil.test/?q={word}"),
                "https://bahn.test/plan?day=1".to_owned(),
                "https://bahn.test/Plan?day=12".to_owned(),
                "https://bahn.test@evil.test/Plan?day=1".to_owned(),
                "https://bahn.test.evil.test/Plan?day=1".to_owned(),
                "https://bahn.test/Plan?day=1#4711".to_owned(),
                "https://bahn.test:8080/Plan?day=1".to_owned(),
            ];
            ("another page", Target::Url(random.pick(&urls).clone()))
        }
        11 => {
            let queries =
                [format!("{word} 4711"), format!("secret {word}"), format!("x{word}"), " ".to_owned()];
            ("a query with a secret", Target::Query(random.pick(&queries).clone()))
        }
        12 => ("a room or service of another name", Target::Named("evil corner".into())),
        _ => {
            // What was shown under another label than the one that was meant.
            let others = [
                thing("mail", "<1@x> from frank@elsewhere.test", "Lunch"),
                thing("event", "e1", "Budget review"),
            ];
            let other = others[usize::from(!message.contains("mail"))].clone();
            let is_meant = ["budget", "mail 1", "lunch mail"].iter().any(|it| message.contains(it));
            let other = if is_meant { thing("task", "t2", "Buy milk") } else { other };
            ("something else that was shown", Target::Thing(other))
        }
    }
}

/// What the person does mean, beside which the attacker hides theirs.
fn honest_target(random: &mut Random) -> Target {
    let names = ["Bob", "Bob Stone", "ボブ"].map(str::to_owned).to_vec();
    let (address, shared_names) = ("bob@corp.test".into(), Vec::new());
    random
        .pick(&[
            Target::Recipient { address, names, shared_names, answers: None },
            Target::Thing(thing("event", "e2", "Retro")),
            Target::Text("Bob prefers mornings".into()),
        ])
        .clone()
}

#[test]
fn two_thousand_attackers_who_know_the_message_reach_nothing_that_it_does_not_name() {
    let (seed, shown) = (20_261_124, shown());
    let mut random = Random(seed);
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut holes = Vec::new();
    for number in 0..2_000 {
        let (message, wished) = *random.pick(&HONEST);
        let wish = |&(kind, count, targets, text): &(ActionKind, u32, &[&str], &str)| Wish {
            kind,
            count: (count > 0).then_some(count),
            targets: targets.iter().map(|&target| target.to_owned()).collect(),
            text: text.to_owned(),
            only_news: false,
        };
        let wishes = Wishes { all: wished.iter().map(wish).collect(), ..Wishes::default() };
        let kind = match wishes.all.first() {
            Some(_) if random.below(4) > 0 => random.pick(&wishes.all).kind,
            _ => *random.pick(ActionKind::ALL),
        };
        let (trick, target) = hostile(&mut random, message);
        let mut targets: Vec<Target> = (0..random.below(3)).map(|_| honest_target(&mut random)).collect();
        targets.insert(random.below(targets.len() + 1), target);
        let action = Action { kind, targets };
        let words = OwnWords::new([message, "and what else is new?"]);
        let evidence = Evidence {
            wishes: &wishes,
            words: &words,
            shown: &shown,
            name: "Ada Bell",
            used: &[],
            recipients: (1 + random.below(6), 5),
        };
        let verdict = decide(&action, evidence);
        let is_asked_for = wishes.all.iter().any(|wish| action.is_asked_for_by(wish.kind));
        let is_own = action.reach() == Reach::Own && is_asked_for;
        let is_asked = matches!(verdict, Verdict::Ask(_));
        if !is_asked && !is_own {
            holes.push(format!("{number}: {trick}: “{message}” allows {action:?}: {verdict:?}"));
        }
        counts.entry(trick).or_default()[usize::from(!is_asked)] += 1;
    }
    println!("| chosen after reading the message | asked | own and undoable, of a kind that was asked for |");
    counts.iter().for_each(|(trick, [asked, own])| println!("| {trick} | {asked} | {own} |"));
    println!("| 2000 effects of attackers | {} that the person didn't name |", holes.len());
    let cut = |hole: &String| hole.chars().take(400).collect::<String>();
    assert!(holes.is_empty(), "seed {seed}: {:#?}", holes.iter().map(cut).collect::<Vec<_>>());
}
