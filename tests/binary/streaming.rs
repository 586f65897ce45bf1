//! Answers that are killed, broken off, taken over or deleted while they are written: each is there once, whole, and
//! nothing of it is left beside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_fakes::slack::{APP_TOKEN, BOT_TOKEN, FakeSlack};
use serde_json::{Value, json};

use crate::gateway::{Gateway, wait_until};
use crate::platform::{Make, Platform, STREAMING};
use crate::process::Home;

const OPENING: &str = "Once upon a time";
const CLOSING: &str = "and they lived happily ever after";

/// Between two tokens.
const TOKEN: Duration = Duration::from_millis(30);

/// The answer to "tell story 1", or to several of them in one turn.
fn whole(stories: &str) -> String {
    format!("{OPENING} story {stories} began,{} {CLOSING}", " and it went on,".repeat(12))
}

/// Writes the stories that the last message asks for.
fn story(request: &Value) -> Reply {
    if !has_tool(request, "dispatch_agent") {
        return Reply::text("{}");
    }
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    let asked: Vec<String> = last_message(request).split("tell story ").skip(1).map(digits).collect();
    Reply::text(&whole(&asked.join(" and "))).tokens(TOKEN)
}

/// Looks something up, then writes the stories that all messages ask for.
fn story_after_a_look(request: &Value) -> Reply {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if has_tool(request, "dispatch_agent") && !messages.iter().any(|message| message["role"] == "tool") {
        let look = json!({"agent_id": "a", "mission": "look", "skills": ["tasks.search"], "arguments": {"query": "x"}});
        return Reply::empty().and_call("dispatch_agent", &look.to_string());
    }
    let said: Vec<String> = messages.iter().map(Value::to_string).collect();
    story(&json!({"messages": [{"content": said.concat()}], "tools": request["tools"]}))
}

/// The table of a model, without its end.
fn table(model: &FakeModel) -> String {
    let url = model.base_url();
    format!("[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{url}\"\n")
}

struct World {
    platform: Box<dyn Platform>,
    /// Who writes in private; nobody if it is in the room.
    person: Option<usize>,
    home: Home,
    _model: FakeModel,
}

impl World {
    /// With more fields of the model's table.
    fn new(make: Make, person: Option<usize>, model: FakeModel, more: &str) -> Self {
        Self::of(make(1), person, model, more)
    }

    fn of(platform: Box<dyn Platform>, person: Option<usize>, model: FakeModel, more: &str) -> Self {
        let home = Home::with_config(&format!("{}{more}{}", table(&model), platform.config()));
        Self { platform, person, home, _model: model }
    }

    fn start(&self, variables: &[(&str, &str)]) -> Gateway {
        let before = self.platform.heard();
        let gateway = Gateway::start_with(&self.home, variables);
        wait_until("it receives", || self.platform.heard() > before);
        gateway
    }

    fn say(&self, text: &str) {
        match self.person {
            Some(person) => self.platform.say(person, text),
            None => self.platform.say_in_room(0, text),
        }
    }

    /// Waits until a part of the answer is shown.
    #[track_caller]
    fn sees_a_draft(&self) {
        wait_until("a draft", || self.platform.on_screen(self.person).iter().any(|text| !text.is_empty()));
        assert!(!self.said().contains(CLOSING), "it is being written: {}", self.said());
    }

    fn said(&self) -> String {
        self.platform.said().join("\n")
    }

    /// Stops when the answer is there; returns it.
    #[track_caller]
    fn ends(&self, gateway: Gateway, what: &str) -> String {
        let what = format!("{}, {:?}, {what}", self.platform.name(), self.person);
        wait_until(&what, || self.said().contains(CLOSING));
        let (status, log) = gateway.stop();
        assert_eq!(status, Some(0), "{what}: {log}");
        let said = self.platform.said();
        assert_eq!(said.len(), 1, "{what}: {said:#?}");
        self.home.assert_tidy(&what);
        said.concat()
    }
}

fn killed_at_each_step_with_a_draft_on_the_screen(make: Make, person: Option<usize>) {
    for point in ["outbox-claimed", "outbox-sent", "outbox-receipt", "steered"] {
        let world = World::new(make, person, FakeModel::start(story), "");
        let first = world.start(&[("ADJUTANT_FAIL_POINT", point)]);
        world.say("tell story 1");
        world.sees_a_draft();
        let is_steered = point == "steered";
        if is_steered {
            world.say("tell story 2");
        }
        first.dies();
        let second = world.start(&[]);
        assert_eq!(world.ends(second, point), whole(if is_steered { "1 and 2" } else { "1" }), "{point}");
    }
}

#[test]
fn killed_with_a_preview_on_telegram() {
    killed_at_each_step_with_a_draft_on_the_screen(STREAMING[0], Some(0));
}

#[test]
fn killed_with_a_draft_in_a_group_on_telegram() {
    killed_at_each_step_with_a_draft_on_the_screen(STREAMING[0], None);
}

#[test]
fn killed_with_a_draft_on_discord() {
    killed_at_each_step_with_a_draft_on_the_screen(STREAMING[1], None);
}

#[test]
fn killed_with_a_draft_on_slack() {
    killed_at_each_step_with_a_draft_on_the_screen(STREAMING[2], Some(0));
}

#[test]
fn killed_with_a_stream_open_on_slack() {
    killed_at_each_step_with_a_draft_on_the_screen(STREAMING[2], None);
}

#[test]
fn what_is_said_bit_by_bit_while_an_answer_is_written_is_in_it_after_a_kill() {
    let world = World::new(STREAMING[1], Some(0), FakeModel::start(story_after_a_look), "");
    let first = world.start(&[("ADJUTANT_FAIL_POINT", "steered:2")]);
    for (number, stories) in [(1, "story 1 began"), (2, "story 1 and 2 began")] {
        world.say(&format!("tell story {number}"));
        wait_until(stories, || world.platform.on_screen(world.person).concat().contains(stories));
    }
    world.say("tell story 3");
    first.dies();
    let second = world.start(&[]);
    assert_eq!(world.ends(second, "said in three goes"), whole("1 and 2 and 3"));
}

type Spoil = fn(Reply) -> Reply;

/// A model whose first answer is spoilt.
fn spoilt(spoil: Spoil) -> FakeModel {
    let is_first = AtomicBool::new(true);
    FakeModel::start(move |request| match has_tool(request, "dispatch_agent") {
        true if is_first.swap(false, Ordering::SeqCst) => spoil(story(request)),
        _ => story(request),
    })
}

#[test]
fn an_answer_that_goes_wrong_half_way_is_written_anew_in_its_place() {
    let moods: [(&str, Spoil); 4] = [
        ("cut", Reply::cut),
        ("unfinished", Reply::unfinished),
        ("stalled", Reply::hang_midway),
        ("endless", |_| Reply::endless()),
    ];
    for (number, (mood, spoil)) in moods.into_iter().enumerate() {
        // A model that is silent for half of its time has stopped.
        let world = World::new(STREAMING[number % 3], None, spoilt(spoil), "timeout = \"8s\"\n");
        let gateway = world.start(&[]);
        world.say("tell story 1");
        world.sees_a_draft();
        assert_eq!(world.ends(gateway, mood), whole("1"), "{mood}");
    }
}

#[test]
fn another_model_takes_over_half_way() {
    let other = FakeModel::start(story);
    let is_first = AtomicBool::new(true);
    let broken = FakeModel::start(move |request| match is_first.swap(false, Ordering::SeqCst) {
        true => story(request).cut(),
        false => Reply::status(401, "{}"),
    });
    let (provider, url) = ("provider = \"openai\", name = \"other\"", other.base_url());
    let fallback = format!("fallback = [{{ {provider}, base_url = \"{url}\" }}]\n");
    let world = World::new(STREAMING[1], Some(0), broken, &fallback);
    let gateway = world.start(&[]);
    world.say("tell story 1");
    world.sees_a_draft();
    assert_eq!(world.ends(gateway, "the other model"), whole("1"));
}

#[test]
fn what_a_model_says_twice_stands_there_as_the_journal_has_it() {
    let model = FakeModel::start(|request| story(request).repeating());
    let world = World::new(STREAMING[1], Some(0), model, "");
    let gateway = world.start(&[]);
    world.say("tell story 1");
    world.sees_a_draft();
    let said = world.ends(gateway, "a token twice");
    let answers: Vec<(String,)> =
        world.home.ask(async |store| store.all("SELECT answer FROM turns", &[]).await.unwrap());
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!((answers.len(), words(&answers[0].0)), (1, words(&said)));
    assert_ne!(said, whole("1"));
}

#[test]
fn an_answer_whose_message_somebody_deletes_is_there_all_the_same() {
    for is_in_thread in [false, true] {
        let (slack, model) = (FakeSlack::start(), FakeModel::start(story));
        let channel = slack.channel("room");
        let place = match is_in_thread {
            true => format!("{channel}/{}", slack.say("ada", &channel, "all about stories")),
            false => slack.dm("ada"),
        };
        let url = slack.api_url();
        let home = Home::with_config(&format!(
            "{}[channels.slack]\nbot_token = \"{BOT_TOKEN}\"\napp_token = \"{APP_TOKEN}\"\n\
             api_url = \"{url}\"\nallow = [\"*\"]\n",
            table(&model)
        ));
        let gateway = Gateway::start(&home);
        wait_until("it receives", || slack.sockets().1 > 0);
        slack.say("ada", &place, &format!("{} tell story 1", slack.mention()));
        wait_until("a draft", || !slack.seen(&place).is_empty());
        let draft = slack.seen(&place).remove(0);
        slack.delete(&place, &draft.ts);
        let texts = || slack.seen(&place).into_iter().map(|seen| seen.text).collect::<Vec<_>>();
        wait_until("the answer", || texts().concat().contains(CLOSING));
        let (status, log) = gateway.stop();
        assert_eq!(status, Some(0), "{log}");
        assert_eq!((texts(), slack.faults()), (vec![whole("1")], Vec::new()), "in a thread: {is_in_thread}");
        home.assert_tidy("deleted");
    }
}

#[test]
fn fifty_answers_that_are_written_at_once_are_each_whole_and_there_once() {
    const PEOPLE: usize = 50;
    let gate = Arc::new(AtomicBool::new(false));
    let held = gate.clone();
    let model = FakeModel::start(move |request| match has_tool(request, "dispatch_agent") {
        true => story(request).held(&held),
        false => Reply::text("{}"),
    });
    let world = World::of(STREAMING[0](PEOPLE), None, model, "");
    let gateway = world.start(&[]);
    (0..PEOPLE).for_each(|person| world.platform.say(person, &format!("tell story {person}")));
    let screen = |person| world.platform.on_screen(Some(person));
    wait_until("all are begun", || {
        (0..PEOPLE).all(|person| screen(person).concat().contains(&format!("{OPENING} story {person} ")))
    });
    assert!(!world.said().contains(CLOSING), "none has ended: {}", world.said());
    gate.store(true, Ordering::SeqCst);
    let whole = |person: usize| vec![whole(&person.to_string())];
    wait_until("all are whole", || (0..PEOPLE).all(|person| screen(person) == whole(person)));
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert_eq!(world.platform.said().len(), PEOPLE);
    world.home.assert_tidy("fifty at once");
}

#[test]
fn marks_of_receipts_and_hidden_links_that_come_in_pieces_are_never_on_the_screen() {
    let said = "So far:\n✓ Paid the bill\n\nThere is [https://bank.test](https://thief.test/pay) for more,";
    let said = format!("{said}{} {CLOSING}", " and it went on,".repeat(12));
    for (make, person) in STREAMING.into_iter().map(|make| (make, None)).chain([(STREAMING[0], Some(0))]) {
        let said = said.clone();
        let model = FakeModel::start(move |request| match has_tool(request, "dispatch_agent") {
            true => Reply::text(&said).tokens(TOKEN),
            false => Reply::text("{}"),
        });
        let world = World::new(make, person, model, "");
        let gateway = world.start(&[]);
        world.say("tell story 1");
        world.sees_a_draft();
        wait_until("the answer", || {
            let seen = world.platform.on_screen(person).concat();
            assert!(!seen.contains('✓'), "only we say what was done: {seen}");
            assert!(!seen.contains("for more") || seen.contains("thief"), "it shows where it leads: {seen}");
            world.said().contains(CLOSING)
        });
        world.ends(gateway, "marks and links");
    }
}

#[test]
fn a_program_reads_an_answer_while_it_is_written() {
    let model = FakeModel::start(story);
    let home = Home::with_config(&table(&model));
    let mut chat = home.chat();
    let whole = whole("1");
    assert_eq!(chat.say("m1", "tell story 1")["text"], whole);
    let (mut shown, mut growing) = (String::new(), 0);
    for event in chat.seen.iter().filter(|event| event["event"] == "text") {
        let at = usize::try_from(event["at"].as_u64().unwrap()).unwrap();
        shown = shown.chars().take(at).chain(event["text"].as_str().unwrap().chars()).collect();
        assert!(whole.starts_with(&shown), "{event}: {shown}");
        growing += usize::from(!shown.is_empty() && shown != whole);
    }
    assert!(growing > 2, "{:#?}", chat.seen);
    chat.finish_well();
    home.assert_tidy("a program");
}
