//! Answers that a platform refuses for what they contain, and files that it doesn't take: each arrives once in a plainer
//! form, or is named, wherever the process dies.

use adjutant_fakes::model::{FakeModel, Reply, last_message};
use adjutant_fakes::telegram::{FakeTelegram, Fault, Refusal};

use crate::gateway::{Gateway, wait_until};
use crate::process::Home;
use crate::serve::sees;

const NOTICE: &str = "I have an answer for you, but Telegram refuses it";

const DEAD: &str = "SELECT count(*) FROM outbox WHERE state = 'dead'";

/// Longer than a small part, shorter than a message.
fn report() -> String {
    let lines = (10..50).map(|number| format!("**Line {number}** of an answer that is rather long."));
    lines.collect::<Vec<_>>().join("\n\n")
}

struct World {
    telegram: FakeTelegram,
    ada: i64,
    home: Home,
    _model: FakeModel,
}

impl World {
    fn new() -> Self {
        let telegram = FakeTelegram::start();
        let ada = telegram.person("Ada");
        let model = FakeModel::start(|request| {
            let said = last_message(request);
            match said.as_str() {
                said if said.contains("the report") => Reply::text(&report()),
                said if said.contains("everything") => Reply::text(&report().repeat(20)),
                _ => Reply::text("Hello."),
            }
        });
        let home = Home::with_config(&format!(
            "[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
             [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
            model.base_url(),
            telegram.token(),
            telegram.api_url()
        ));
        Self { telegram, ada, home, _model: model }
    }

    /// A running gateway that has said hello, so that its next answer is claimed with the end of its turn.
    fn start(&self, variables: &[(&str, &str)]) -> Gateway {
        let gateway = Gateway::start_with(&self.home, variables);
        self.telegram.say(self.ada, self.ada, "hi");
        sees(&self.telegram, self.ada, "Hello.");
        wait_until("its receipt is stored", || {
            self.home.count("SELECT count(*) FROM outbox WHERE state = 'sent'") == 1
        });
        gateway
    }

    fn rests(&self, what: &str) {
        // In one query, because a notice begins in the commit that gives its message up.
        const AT_REST: &str = "SELECT count(*) FROM (SELECT count(*) AS everything, \
            sum(CASE WHEN state IN ('sent', 'dead') THEN 0 ELSE 1 END) AS open FROM outbox) rows \
            WHERE everything > 1 AND open = 0";
        wait_until(what, || self.home.count(AT_REST) == 1);
    }

    /// Each message after the greeting: its kind, and its text or that of its file.
    fn said(&self) -> Vec<(&'static str, String)> {
        let seen = self.telegram.seen(self.ada).into_iter().filter(|seen| seen.text != "Hello.");
        seen.map(|seen| match seen.file {
            Some((_, _, content)) => ("file", content),
            None if seen.text.starts_with(NOTICE) => ("notice", seen.text),
            None if seen.entities.is_empty() => ("plain", seen.text),
            None => ("rich", seen.text),
        })
        .collect()
    }

    /// The report is there once, whole, in messages of these kinds.
    #[track_caller]
    fn is_said_as(&self, kinds: &[&str], what: &str) {
        let said = self.said();
        assert_eq!(said.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), kinds, "{what}: {said:#?}");
        let whole: String = said.iter().map(|(_, text)| text.replace("**", "") + "\n\n").collect();
        if !kinds.contains(&"notice") {
            assert_eq!(whole.trim(), report().replace("**", ""), "{what}");
        }
    }
}

/// What is refused, and how the report arrives then.
const REFUSED: [(&[Refusal], &[&str]); 4] = [
    (&[Refusal::Markup], &["plain"]),
    (&[Refusal::LongerThan(1_100)], &["plain", "plain"]),
    (&[Refusal::LongerThan(400)], &["file"]),
    (&[Refusal::LongerThan(400), Refusal::Documents], &["notice"]),
];

#[test]
fn a_refused_answer_is_sent_plainer_and_at_last_somebody_is_told() {
    for (refused, kinds) in REFUSED {
        let world = World::new();
        let gateway = world.start(&[]);
        world.telegram.refuse(refused);
        world.telegram.say(world.ada, world.ada, "the report");
        world.rests(&format!("{refused:?}"));
        world.is_said_as(kinds, &format!("{refused:?}"));
        let dead = i64::from(kinds.contains(&"notice"));
        assert_eq!(world.home.count(DEAD), dead);
        // It goes on.
        world.telegram.refuse(&[]);
        world.telegram.say(world.ada, world.ada, "the report");
        wait_until("the next answer", || world.said().last().is_some_and(|(kind, _)| *kind == "rich"));
        assert_eq!(gateway.stop().0, Some(0));
    }
}

#[test]
fn a_notice_that_is_refused_is_the_last_word() {
    let world = World::new();
    let gateway = world.start(&[]);
    world.telegram.refuse(&[Refusal::LongerThan(10), Refusal::Documents]);
    world.telegram.say(world.ada, world.ada, "the report");
    wait_until("both are given up", || world.home.count(DEAD) == 2);
    world.rests("nothing follows");
    assert_eq!(world.said(), []);
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn killed_on_any_rung_a_refused_answer_arrives_once() {
    // The greeting was the first sending.
    for (point, rung) in [
        ("outbox-sent:2", 0),
        ("outbox-plainer", 0),
        ("outbox-sent:3", 0),
        ("outbox-plainer:2", 1),
        ("outbox-sent:4", 1),
        ("outbox-receipt:2", 1),
        ("outbox-sent:5", 1),
        ("outbox-plainer:2", 2),
        ("outbox-plainer:3", 2),
        ("outbox-sent:5", 2),
        ("outbox-refused:4", 3),
        ("outbox-given-up", 3),
        ("outbox-sent:6", 3),
    ] {
        let world = World::new();
        let first = world.start(&[("ADJUTANT_FAIL_POINT", point)]);
        let (refused, kinds) = REFUSED[rung];
        world.telegram.refuse(refused);
        world.telegram.say(world.ada, world.ada, "the report");
        first.dies();
        let second = Gateway::start(&world.home);
        world.rests(point);
        world.is_said_as(kinds, &format!("{point} {refused:?}"));
        assert_eq!(second.stop().0, Some(0));
    }
}

#[test]
fn a_file_whose_upload_fails_holds_up_nothing_and_arrives_once() {
    let world = World::new();
    let first = world.start(&[]);
    world.telegram.misbehave("sendDocument", &Fault::Page(502), 1_000);
    world.telegram.say(world.ada, world.ada, "everything");
    sees(&world.telegram, world.ada, "The whole answer is in the file.");
    wait_until("the file is tried", || world.telegram.calls("senddocument") > 1);
    world.telegram.say(world.ada, world.ada, "the report");
    wait_until("the next answer", || world.said().len() == 2);
    assert_eq!(world.home.count("SELECT count(*) FROM outbox WHERE only_file = 1 AND state <> 'sent'"), 1);
    first.kill();
    world.telegram.mend("sendDocument");
    let second = Gateway::start(&world.home);
    world.rests("the file");
    let said = world.said();
    assert_eq!(said.len(), 3, "{said:#?}");
    assert_eq!(said[2], ("file", report().repeat(20)));
    assert_eq!(second.stop().0, Some(0));
}
