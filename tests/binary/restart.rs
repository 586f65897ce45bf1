//! The process dies at each step of a turn and the next one resumes it: no message is lost, nothing is done or
//! answered twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::process::{Chat, Home, Value, answers, button, is_written_again, json, lines};

/// A client that restarts the assistant when it dies, and resends what wasn't accepted.
pub(crate) struct Program<'a> {
    home: &'a Home,
    chat: Chat,
    /// All events of the earlier processes.
    before: Vec<Value>,
    crashes: usize,
    /// Whether it dies at a step of delivery itself.
    in_delivery: bool,
}

impl<'a> Program<'a> {
    pub(crate) fn start(home: &'a Home, fail_point: &str) -> Self {
        let chat = home.chat_until(fail_point);
        Self { home, chat, before: Vec::new(), crashes: 0, in_delivery: fail_point.starts_with("outbox") }
    }

    fn start_again(&mut self) {
        self.crashes += 1;
        assert_eq!(self.crashes, 1, "it died without a fail point:{}", lines(&self.chat.seen));
        self.before.append(&mut self.chat.seen);
        self.chat = self.home.chat();
    }

    fn heard(&self) -> impl Iterator<Item = &Value> {
        self.before.iter().chain(&self.chat.seen)
    }

    fn is_accepted(&self, id: &str) -> bool {
        self.heard().any(|it| it["event"] == "accepted" && it["id"] == *id)
    }

    /// Sends a line with an id and waits for its reply, from whichever process.
    fn ask(&mut self, line: &Value) -> Value {
        let id = line["id"].as_str().unwrap();
        self.chat.send(line);
        loop {
            if let Some(reply) = self.heard().find(|it| answers(it, id)) {
                return reply.clone();
            }
            if self.chat.next().is_none() {
                self.start_again();
                if !self.is_accepted(id) {
                    self.chat.send(line);
                }
            }
        }
    }

    pub(crate) fn say(&mut self, id: &str, text: &str) -> Value {
        self.ask(&json!({"id": id, "text": text}))
    }

    pub(crate) fn press(&mut self, id: &str, button: &str) -> Value {
        self.ask(&json!({"id": id, "press": button}))
    }

    /// Waits for a message that says this, from whichever process.
    pub(crate) fn sees(&mut self, part: &str) -> Value {
        loop {
            let says = |it: &&Value| it["text"].as_str().is_some_and(|text| text.contains(part));
            if let Some(said) = self.heard().find(says) {
                return said.clone();
            }
            if self.chat.next().is_none() {
                self.start_again();
            }
        }
    }

    /// Exits cleanly. Returns how often each id was answered, and whether the process had died.
    pub(crate) fn finish(mut self) -> (BTreeMap<String, usize>, bool) {
        let (mut status, mut stderr) = self.chat.finish();
        if status.is_none() {
            self.start_again();
            (status, stderr) = self.chat.finish();
        }
        assert_eq!((status, stderr.as_str()), (Some(0), ""));
        let mut counts = BTreeMap::new();
        let is_new = |it: &&Value| self.in_delivery || !is_written_again(it, &self.before);
        let heard = self.before.iter().chain(self.chat.seen.iter().filter(is_new));
        for reply in heard.filter(|it| it["event"] == "reply") {
            for id in reply["answers"].as_array().unwrap() {
                *counts.entry(id.as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
        (counts, self.crashes > 0)
    }
}

pub(crate) fn once_each(ids: &[&str]) -> BTreeMap<String, usize> {
    ids.iter().map(|id| ((*id).to_owned(), 1)).collect()
}

/// Every fail point in the sources.
fn fail_points() -> BTreeSet<String> {
    let sources = xtask::source::ours(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let named = |text: &str| -> Vec<String> {
        let names = text.split("fail_point(\"").skip(1).filter_map(|rest| rest.split_once('"'));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    let names: BTreeSet<String> = sources.iter().flat_map(|source| named(&source.text)).collect();
    assert!(names.len() > 15, "{names:?}");
    names
}

/// The fail points of plain messages.
const PLAIN: &str = "dispatched journalled outbox-claimed outbox-receipt outbox-sent \
                     skill-before-close skill-closed turn-before-end turn-ended turn-started";
/// The additional ones of a question.
const ASKING: &str = "asked question-answered turn-asleep turn-resumed";
/// Those of a program.
const PROGRAM: &str = "skill-running skill-worked";
/// Those of a workflow run, tested by `workflow_crashes.rs`.
const RUN: &str = "piece-begun piece-ended run-before-end run-begun run-ended";
/// Those of agents with a model, and of agents below them, tested by `tree_crashes.rs`.
const TREE: &str = "agent-called agent-closed delegated";
/// Those of a plan, tested by `plan_crashes.rs`.
const PLAN: &str = "plan-made rest-changed reviewed";
/// Those of a voice note, tested by `voice.rs`.
const VOICE: &str = "speech-made voice-downloaded voice-heard voice-transcribed";
/// Those of a file, tested by `files.rs`.
const FILES: &str = "file-kept file-opened files-fetched";
/// Those of a mail, tested by `groupware.rs`.
const MAIL: &str = "mail-accepted mail-handed-over mail-sent";
/// Those of an answer that is being written, tested by `streaming.rs`.
const STREAMING: &str = "steered";

/// Those of a login at a provider, tested by `accounts_kill.rs`.
const LOGINS: &str = "login-arrived login-exchanged token-renewed";
/// Those of the key that logins are sealed with, tested by `secrets.rs`.
const KEYS: &str = "key-added secret-sealed";

/// Those of what a watch finds, tested by `watches_kill.rs`.
const WATCHES: &str = "watch-fetched watch-found";

/// Those of a notification, tested by `push.rs` of the page's suite.
const PUSHES: &str = "push-claimed push-sent";

/// Those of a refused answer, tested by `refused.rs`.
const REFUSED: &str = "outbox-given-up outbox-plainer outbox-refused";

#[test]
fn no_fail_point_is_left_out() {
    let tried: BTreeSet<String> = [
        PLAIN, ASKING, PROGRAM, RUN, TREE, PLAN, VOICE, FILES, MAIL, STREAMING, LOGINS, KEYS, WATCHES,
        PUSHES, REFUSED,
    ]
    .iter()
    .flat_map(|it| it.split_whitespace())
    .map(str::to_owned)
    .collect();
    assert_eq!(tried, fail_points());
}

/// Has a conversation for each of these points, dying there, and once more dying there the second time it's
/// reached.
fn dying_at(
    points: &[&str],
    config: &str,
    talk: impl Fn(&Home, &str, &mut Program<'_>) -> Vec<&'static str>,
    check: impl Fn(&Home, &str),
) {
    for name in points.iter().flat_map(|it| it.split_whitespace()) {
        for time in [1, 2] {
            let point = format!("{name}:{time}");
            let home = Home::with_config(config);
            let mut program = Program::start(&home, &point);
            let ids = talk(&home, &point, &mut program);
            let (counts, crashed) = program.finish();
            assert_eq!(counts, once_each(&ids), "{point}");
            check(&home, &point);
            home.assert_tidy(&point);
            assert!(crashed || time > 1, "{point} was never reached");
        }
    }
}

#[test]
fn messages_and_tasks_survive_every_fail_point() {
    dying_at(
        &[PLAIN],
        "",
        |_, _, program| {
            program.say("m1", "add a task to buy milk, and remember that Bob prefers oat milk");
            program.say("m2", "add a task to write the report");
            program.say("m3", "mark the report as done, then show what is left");
            program.say("c1", "/status");
            vec!["m1", "m2", "m3", "c1"]
        },
        |home, point| {
            assert_eq!(home.tasks(), ["buy milk", "write the report"], "{point}");
            assert_eq!(home.count("SELECT count(*) FROM tasks WHERE state = 'done'"), 1, "{point}");
            assert_eq!(home.count("SELECT count(*) FROM memories"), 1, "{point}");
        },
    );
}

#[test]
fn a_question_survives_every_fail_point() {
    dying_at(
        &[
            "journalled outbox-claimed outbox-sent outbox-receipt turn-before-end turn-ended turn-started",
            ASKING,
        ],
        "[approval]\nmedium = \"ask\"\n",
        |home, point, program| {
            program.say("m1", "add a task to buy milk");
            program.say("m2", "add a task to buy bread");
            let question = program.say("m3", "delete the task about milk");
            assert_eq!(home.tasks().len(), 2, "{point}: it was done without a yes");
            let end = program.press("p1", &button(&question, "Approve"));
            assert_eq!(end["turn"], question["turn"], "{point}");
            // If the turn is slow to park, the press gets its own reply.
            let words = ["Deleted “buy milk”", "Approved: Delete a task for good: buy milk. Going ahead."];
            assert!(words.iter().any(|word| end["text"] == *word), "{point}: {end}");
            let question = program.say("m4", "delete the task about bread");
            program.press("p2", &button(&question, "Reject"));
            vec!["m1", "m2", "m3", "p1", "m4", "p2"]
        },
        |home, point| {
            assert_eq!(home.tasks(), ["buy bread"], "{point}");
            assert_eq!(home.count("SELECT count(*) FROM questions"), 2, "{point}: asked twice");
        },
    );
}

#[test]
fn a_question_about_three_effects_survives_every_fail_point() {
    dying_at(
        &["dispatched skill-before-close skill-closed turn-before-end turn-ended", ASKING],
        "[approval]\nmedium = \"ask\"\n",
        |home, point, program| {
            program.say("m1", "add a task to buy milk, add a task to buy bread, and add a task to buy figs");
            let question = program.say(
                "m2",
                "delete the task about milk, delete the task about bread, and delete the task about figs",
            );
            assert_eq!(home.tasks().len(), 3, "{point}: something was done without a yes");
            program.press("p1", &button(&question, "Reject 2"));
            let rest = program.press("p2", &button(&question, "Approve all"));
            assert!(rest["text"].as_str().is_some(), "{point}: {rest}");
            vec!["m1", "m2", "p1", "p2"]
        },
        |home, point| {
            assert_eq!(home.tasks().len(), 1, "{point}: {:?}", home.tasks());
            assert_eq!(home.count("SELECT count(*) FROM questions"), 3, "{point}: asked twice");
            let asked = "SELECT count(DISTINCT outbox_id) FROM questions";
            assert_eq!(home.count(asked), 1, "{point}: one message asks for all");
        },
    );
}

#[test]
fn taking_back_survives_every_fail_point() {
    dying_at(
        &[PLAIN],
        "",
        |_, _, program| {
            program.say("m1", "add a task to buy milk, and remember that Bob prefers oat milk");
            program.say("m2", "/undo");
            program.say("m3", "add a task to write the report");
            program.say("m4", "mark the report as done");
            program.say("m5", "undo that");
            vec!["m1", "m2", "m3", "m4", "m5"]
        },
        |home, point| {
            assert_eq!(home.tasks(), ["write the report"], "{point}");
            assert_eq!(home.count("SELECT count(*) FROM tasks WHERE state = 'open'"), 1, "{point}");
            assert_eq!(home.count("SELECT count(*) FROM memories"), 0, "{point}");
            assert_eq!(
                home.count("SELECT count(*) FROM executions WHERE undone_by IS NOT NULL"),
                3,
                "{point}"
            );
        },
    );
}

#[test]
fn a_parked_turn_survives_every_fail_point() {
    dying_at(
        &[
            "dispatched journalled skill-closed turn-before-end turn-ended question-answered turn-asleep turn-resumed",
        ],
        "[limits]\nskill_calls_per_turn = 1\nparallel_agents = 1\n",
        |_, point, program| {
            let parked = program.say("m1", "add a task to buy milk, and add a task to buy bread");
            let end = program.press("p1", &button(&parked, "Continue"));
            assert_eq!(end["turn"], parked["turn"], "{point}");
            let parked = program.say("m2", "add a task to sow, and add a task to reap");
            program.press("p2", &button(&parked, "Stop"));
            let parked = program.say("m3", "add a task to read, and add a task to write");
            program.press("p3", &button(&parked, "Summarize"));
            vec!["m1", "p1", "m2", "p2", "m3", "p3"]
        },
        |home, point| {
            assert_eq!(home.tasks().len(), 4, "{point}: {:?}", home.tasks());
            assert_eq!(home.count("SELECT count(*) FROM questions"), 3, "{point}: asked twice");
        },
    );
}

const RING: &str = r#"
domain = "bell"
summary = "A bell"

[[skill]]
name = "bell.ring"
summary = "Ring the bell"
risk = "low"
repeatable = REPEATABLE
handler = { command = { argv = ["/bin/sh", "-c", "echo rung >> \"$0\"", "LOG"], write = ["HOME"] } }
[skill.parameters]
type = "object"
additionalProperties = false
[[skill.forms]]
say = "ring the bell"
example = "ring the bell"
"#;

fn with_bell(repeatable: bool) -> Home {
    let home = Home::with_config("[skills]\npaths = [\"skills\"]\n");
    let log = home.path().join("log");
    let text = RING.replace("REPEATABLE", &repeatable.to_string()).replace("LOG", log.to_str().unwrap());
    let text = text.replace("HOME", home.path().to_str().unwrap());
    home.write("skills/bell.toml", &text);
    home
}

fn rings(home: &Home) -> usize {
    fs::read_to_string(home.path().join("log")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_program_that_may_not_be_repeated_never_is() {
    for (point, rung) in [("skill-running", 0), ("skill-worked", 1), ("skill-before-close", 1)] {
        let home = with_bell(false);
        let mut program = Program::start(&home, point);
        let reply = program.say("m1", "ring the bell");
        assert_eq!(rings(&home), rung, "{point}");
        let text = reply["text"].as_str().unwrap();
        assert!(text.contains("may or may not have happened"), "{point}: {text}");
        assert_eq!(
            home.count("SELECT count(*) FROM executions WHERE kind = 'skill' AND status = 'unknown'"),
            1
        );
        assert_eq!(program.finish(), (once_each(&["m1"]), true), "{point}");
        home.assert_tidy(point);
    }
    for point in ["skill-closed", "dispatched", "turn-before-end", "turn-ended"] {
        let home = with_bell(false);
        let mut program = Program::start(&home, point);
        let reply = program.say("m1", "ring the bell");
        assert!(!reply["text"].as_str().unwrap().contains("may not"), "{point}: {reply}");
        assert_eq!(program.finish(), (once_each(&["m1"]), true), "{point}");
        assert_eq!(rings(&home), 1, "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn a_program_that_may_be_repeated_is() {
    for (point, rung) in [("skill-running", 1), ("skill-worked", 2), ("skill-closed", 1)] {
        let home = with_bell(true);
        let mut program = Program::start(&home, point);
        program.say("m1", "ring the bell");
        assert_eq!(program.finish(), (once_each(&["m1"]), true), "{point}");
        assert_eq!(rings(&home), rung, "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn a_turn_that_always_dies_is_set_aside_and_its_lane_goes_on() {
    let home = Home::new();
    let mut first = home.chat_until("turn-started");
    first.send(&json!({"id": "m1", "text": "add a task to die"}));
    assert!(first.find(|it| answers(it, "m1")).is_none());
    // Each process dies again as soon as it continues, until the third time is one too many.
    let mut heard = Vec::new();
    for _ in 0..4 {
        let mut chat = home.chat_until("turn-resumed");
        chat.close_stdin();
        while chat.next().is_some() {}
        heard.append(&mut chat.seen);
    }
    let replies: Vec<&Value> = heard.iter().filter(|it| answers(it, "m1")).collect();
    assert_eq!(replies.len(), 1, "{}", lines(&heard));
    assert!(replies[0]["text"].as_str().unwrap().contains("three times"), "{replies:?}");
    let mut chat = home.chat();
    assert_eq!(chat.say("m2", "add a task to live")["text"], "Added “live”");
    chat.finish_well();
    assert_eq!(home.tasks(), ["live"]);
}

#[test]
fn replies_that_were_left_come_first() {
    let home = Home::new();
    let mut first = home.chat_until("turn-ended");
    first.send(&json!({"id": "m1", "text": "add a task to buy milk"}));
    assert!(first.find(|it| answers(it, "m1")).is_none());
    let mut second = home.chat();
    second.send(&json!({"id": "m2", "text": "add a task to buy bread"}));
    second.reply("m2");
    second.finish_well();
    let order: Vec<&Value> =
        second.seen.iter().filter(|it| it["event"] == "reply").map(|it| &it["answers"][0]).collect();
    assert_eq!(order, ["m1", "m2"]);
    assert!(
        answers(&second.seen[0], "m1"),
        "what was left comes before everything else:{}",
        lines(&second.seen)
    );
}
