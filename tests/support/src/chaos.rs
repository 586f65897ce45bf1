//! Chaos test: the gateway under a real `kill -9` at random moments, while people write and a platform
//! misbehaves. What people wrote must be answered once and done once, also when an answer arrived
//! whose receipt did not. What is wrong is counted, so that the scorecard's table is written anyway.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, has_tool};
use adjutant_fakes::postgres::{self, Server};
use adjutant_fakes::speech::{FakeSpeech, note};
use adjutant_fakes::wire::Wire;
use serde_json::{Value, json};

use crate::gateway::{DEADLINE, Gateway};
use crate::platform::{FAILURES, Make, Platform};
use crate::process::{self, Home};
use crate::random::Random;

/// High enough that no turn is parked, however many messages wait at a start.
pub const LIMITS: &str = "[limits]\nagents_per_turn = 10000\nskill_calls_per_turn = 10000\n\
                      conversation_calls = 100000\norchestrator_calls_per_turn = 1000\n";

/// The number of people.
const PEOPLE: usize = 8;

/// One in this many messages runs a workflow.
const RUNS: usize = 6;
/// One in this many messages is spoken.
const NOTES: usize = 10;
/// The workflows; they add the same task as the other messages. The second one's result is long enough to be sent as a file.
const WORKFLOWS: [(&str, usize); 2] = [("note", 10), ("long-note", 7_000)];

/// A workflow whose task has a note of this length.
fn workflow(name: &str, length: usize) -> String {
    let note = "x".repeat(length);
    format!(
        "workflow:\n  name: {name}\n  inputs: [{{ name: number, type: string, required: true }}]\n  steps:\n    \
         - {{ id: look, skill: tasks.search, arguments: {{ query: nothing of the kind }} }}\n    \
         - id: note\n      skill: tasks.create\n      \
         arguments: {{ title: \"do thing {{{{inputs.number}}}}\", notes: {note} }}\n"
    )
}

/// How a streamed answer begins and ends, and the time between two of its tokens.
const OPENING: &str = "Here is what I did";
const CLOSING: &str = "and that is all of it";
const TOKEN: Duration = Duration::from_millis(20);
/// How long no message may have appeared before a process is killed that streams its answers.
const SETTLED: Duration = Duration::from_millis(100);

/// How often to check who was answered.
const INTERVAL: Duration = Duration::from_millis(100);

pub struct Run {
    pub platform: Make,
    /// The URL of an empty server database; none: the embedded store.
    pub database: Option<String>,
    /// The number of instances. With more than two, they are also suspended and cut off from the database.
    pub instances: usize,
    /// The number of kills.
    pub kills: u32,
    /// Whether a model writes the answers, token by token, so that processes die in the middle of one.
    pub streams: bool,
    pub seed: u64,
}

/// The result of a run.
pub struct Score {
    pub platform: &'static str,
    pub store: &'static str,
    pub instances: usize,
    pub kills: u32,
    pub messages: usize,
    pub lost: Vec<usize>,
    pub answered_twice: Vec<usize>,
    /// Messages that weren't carried out.
    pub effects_lost: Vec<usize>,
    pub effects_doubled: Vec<usize>,
    /// Work left open in the store after all processes stopped, and inconsistencies there.
    pub left_undone: Vec<String>,
    /// The longest that somebody waited for an answer, deaths included; as exact as [`INTERVAL`].
    pub worst_wait: Duration,
    pub took: Duration,
    pub seed: u64,
    /// The logs of all processes, one after another.
    pub log: String,
}

impl Score {
    /// The columns of [`Self::row`].
    pub const HEAD: &str = "\
        | platform | store | instances | kills | messages | lost | answered twice | effects lost | effects doubled \
        | left undone | longest wait | took | seed |\n\
        | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |";

    /// Its table row.
    pub fn row(&self) -> String {
        let Self { platform, store, instances, kills, messages, seed, .. } = self;
        let wrong = [&self.lost, &self.answered_twice, &self.effects_lost, &self.effects_doubled];
        let [lost, twice, not_done, doubled] = wrong.map(Vec::len);
        let (undone, wait, took) = (self.left_undone.len(), self.worst_wait, self.took.as_secs());
        format!(
            "| {platform} | {store} | {instances} | {kills} | {messages} | {lost} | {twice} | {not_done} | {doubled} \
             | {undone} | {:.1} s | {took} s | {seed} |",
            wait.as_secs_f64()
        )
    }

    pub fn is_clean(&self) -> bool {
        let wrong = [&self.lost, &self.answered_twice, &self.effects_lost, &self.effects_doubled];
        wrong.iter().all(|messages| messages.is_empty()) && self.left_undone.is_empty()
    }

    /// What is wrong, by the messages' numbers.
    pub fn problems(&self) -> String {
        format!(
            "lost {:?}, answered twice {:?}, effects lost {:?}, effects doubled {:?}, left undone {:?}",
            self.lost, self.answered_twice, self.effects_lost, self.effects_doubled, self.left_undone
        )
    }
}

/// Runs the chaos test.
pub fn run(run: Run) -> Score {
    let begun = Instant::now();
    let mut chaos = Chaos::new(&run);
    chaos.meet();
    while chaos.kills < run.kills {
        chaos.start_some();
        let trouble = chaos.trouble();
        chaos.write();
        chaos.end_trouble(trouble);
        chaos.kill(run.kills);
    }
    chaos.start_all();
    chaos.wait();
    chaos.stop_all();
    chaos.score(&run, begun.elapsed())
}

/// Runs it on a server whose standby takes its place in the middle of everything. No process is killed.
pub fn run_and_fail_over(mut run: Run, mut server: Server) -> Score {
    let begun = Instant::now();
    let mut chaos = Chaos::new(&run);
    chaos.meet();
    chaos.write();
    let standby = run.database.as_deref().map(postgres::at_standby).unwrap();
    let (wires, way) = (chaos.wires.clone(), standby.clone());
    let moment = Duration::from_millis(chaos.random.below(1_000));
    // The server lives until it's dropped.
    let failing = std::thread::spawn(move || {
        std::thread::sleep(moment);
        server.fail_over().unwrap();
        wires.iter().for_each(|wire| wire.lead_to(&way));
        server
    });
    while !failing.is_finished() {
        chaos.write();
    }
    let _server = failing.join().unwrap();
    run.database = Some(standby);
    chaos.write();
    chaos.wait();
    chaos.stop_all();
    chaos.score(&run, begun.elapsed())
}

struct Chaos {
    platform: Box<dyn Platform>,
    speech: FakeSpeech,
    model: Option<FakeModel>,
    homes: Vec<Home>,
    /// Each instance's way to the database, if it can be cut.
    wires: Vec<Wire>,
    gateways: Vec<Option<Gateway>>,
    random: Random,
    kills: u32,
    /// When each message was written; its number is its index plus one.
    written: Vec<Instant>,
    /// The numbers of the messages without an answer, as of the last check.
    open: BTreeSet<usize>,
    worst_wait: Duration,
    checked: Instant,
    left_undone: Vec<String>,
    log: String,
}

impl Chaos {
    fn new(run: &Run) -> Self {
        let (platform, speech) = ((run.platform)(PEOPLE), FakeSpeech::start());
        let wires: Vec<Wire> = match &run.database {
            Some(url) if run.instances > 2 => (0..run.instances).map(|_| Wire::to(url).unwrap()).collect(),
            _ => Vec::new(),
        };
        let model = run.streams.then(|| FakeModel::start(answer));
        let of_model = model.as_ref().map(|model| {
            let url = model.base_url();
            format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{url}\"\n")
        });
        let config = format!(
            "{LIMITS}[http]\nlisten = \"\"\n[skills]\npaths = [\"skills\"]\n{}\
             [voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{}\"\n{}",
            of_model.unwrap_or_default(),
            speech.base_url(),
            platform.config()
        );
        let store = |at: usize| {
            let way = wires.get(at).map(Wire::url).or(run.database.as_deref());
            way.map(|url| format!("[store]\nurl = \"{url}\"\n")).unwrap_or_default()
        };
        let homes: Vec<Home> =
            (0..run.instances).map(|at| Home::with_config(&format!("{}{config}", store(at)))).collect();
        for (home, (name, length)) in homes.iter().flat_map(|home| WORKFLOWS.map(|workflow| (home, workflow)))
        {
            home.write(&format!("skills/workflows/{name}.yaml"), &workflow(name, length));
        }
        Self {
            platform,
            speech,
            model,
            homes,
            wires,
            gateways: (0..run.instances).map(|_| None).collect(),
            random: Random(run.seed),
            kills: 0,
            written: Vec::new(),
            open: BTreeSet::new(),
            worst_wait: Duration::ZERO,
            checked: Instant::now(),
            left_undone: Vec::new(),
            log: String::new(),
        }
    }

    /// Everyone is known before the first crash: some platforms don't tell a bot about a new conversation that
    /// started while it was down.
    fn meet(&mut self) {
        self.start_all();
        let begun = Instant::now();
        while self.platform.heard() == 0 && begun.elapsed() < DEADLINE {
            std::thread::sleep(Duration::from_millis(10));
        }
        for person in 0..PEOPLE {
            self.say(person, false);
            self.say(person, true);
        }
        self.wait();
    }

    fn start_all(&mut self) {
        for (home, gateway) in self.homes.iter().zip(&mut self.gateways) {
            gateway.get_or_insert_with(|| Gateway::start(home));
        }
    }

    /// Restarts the dead processes, now and then only one of them.
    fn start_some(&mut self) {
        let alone = self.random.below(3) == 0 && self.gateways.iter().any(Option::is_some);
        if !alone {
            self.start_all();
        }
    }

    fn say(&mut self, person: usize, in_room: bool) {
        self.written.push(Instant::now());
        let number = self.written.len();
        self.open.insert(number);
        let text = match number % RUNS {
            0 => format!("/run {} number={number}", WORKFLOWS[number / RUNS % 2].0),
            _ => format!("add a task to do thing {number}"),
        };
        // Nobody can mention the assistant in speech.
        if number % NOTES == 1 && !in_room && !text.starts_with('/') {
            self.speech.knows(text.as_bytes(), &text);
            return self.platform.speak(person, &note(3, &text), 3);
        }
        if in_room { self.platform.say_in_room(person, &text) } else { self.platform.say(person, &text) }
    }

    fn write(&mut self) {
        // A standby needs a second or two to take over, and a model to write; let them before the next kill.
        let slowness = if self.gateways.len() > 1 || self.model.is_some() { 3 } else { 1 };
        // The room's answers are written one after another, so people write no faster.
        let pause = if self.model.is_some() { 500 } else { 36 * slowness };
        // The first two lose replies, and nobody knows of a draft whose reply is lost.
        let from = if self.model.is_some() { 2 } else { 0 };
        let death = Instant::now() + Duration::from_millis(20 + self.random.below(1_000 * slowness));
        while Instant::now() < death {
            if self.random.below(15) == 0 {
                let failure = FAILURES[from + self.below(FAILURES.len() - from)];
                self.platform.failure(failure);
            }
            let person = self.below(PEOPLE);
            let in_room = self.random.below(4) == 0;
            self.say(person, in_room);
            std::thread::sleep(Duration::from_millis(self.random.below(pause)));
            self.check();
        }
    }

    /// Suspends an instance, or cuts it off from the database, for as long as people write next.
    fn trouble(&mut self) -> Option<usize> {
        if self.wires.is_empty() || self.random.below(3) == 0 {
            return None;
        }
        let which = self.below(self.wires.len());
        let running = self.gateways[which].as_mut()?;
        // One that can't open its store when it starts gives up.
        running.logs("\"channel\":");
        match self.random.below(2) {
            0 => self.wires[which].cut(),
            _ => running.signal("STOP"),
        }
        Some(which)
    }

    fn end_trouble(&mut self, which: Option<usize>) {
        let Some(which) = which else { return };
        self.wires[which].mend();
        if let Some(running) = &self.gateways[which] {
            running.signal("CONT");
        }
    }

    /// Waits until the receipt of each message is likely to be stored, while answers are still being written. If a process
    /// dies before that, nobody knows of its draft: a race that delivery accepts.
    fn settle(&self) {
        let mut before = None;
        loop {
            let now = Some(self.platform.said().len());
            if before == now {
                return;
            }
            before = now;
            std::thread::sleep(SETTLED);
        }
    }

    /// Kills one process, or all.
    fn kill(&mut self, most: u32) {
        if self.model.is_some() {
            self.settle();
        }
        let alive: Vec<usize> =
            (0..self.gateways.len()).filter(|which| self.gateways[*which].is_some()).collect();
        let all = self.random.below(4) == 0;
        let one = alive[self.below(alive.len())];
        for which in alive {
            let doomed = self.kills < most && (all || which == one);
            if let Some(gateway) = self.gateways[which].take_if(|_| doomed) {
                self.log.push_str(&format!("== instance {which}, killed\n{}\n", gateway.kill()));
                self.kills += 1;
            }
        }
    }

    /// Waits until all messages are answered.
    fn wait(&mut self) {
        let begun = Instant::now();
        while !self.open.is_empty() && begun.elapsed() < DEADLINE {
            std::thread::sleep(INTERVAL / 2);
            self.check();
        }
    }

    fn stop_all(&mut self) {
        for (which, gateway) in self.gateways.iter_mut().enumerate() {
            let Some(mut gateway) = gateway.take() else { continue };
            // A process that has just started would die from the signal.
            gateway.logs("\"channel\":");
            let (status, log) = gateway.stop();
            self.log.push_str(&format!("== instance {which}, stopped\n{log}\n"));
            if status != Some(0) {
                self.left_undone.push(format!("instance {which} ended with {status:?}"));
            }
        }
    }

    /// Notes who has been answered.
    fn check(&mut self) {
        if self.checked.elapsed() < INTERVAL {
            return;
        }
        self.checked = Instant::now();
        let answered = self.answered();
        let waits = self.open.extract_if(.., |number| answered.contains_key(number));
        let longest = waits.map(|number| self.written[number - 1].elapsed()).max();
        self.worst_wait = self.worst_wait.max(longest.unwrap_or_default());
    }

    /// How often each message was answered.
    fn answered(&self) -> BTreeMap<usize, usize> {
        // A receipt says again what the report above it says.
        let without_receipts =
            |text: String| text.lines().filter(|line| !line.starts_with("✓ ")).collect::<Vec<_>>().join("\n");
        let whole = self.platform.said().into_iter().filter(|text| !is_part(text));
        let said: Vec<String> = whole.map(without_receipts).collect();
        // In a sentence, and in a run's output.
        let told = |begin: &'static str, end: char| {
            let things = said.iter().flat_map(move |text| text.split(begin).skip(1));
            things.filter_map(move |rest| rest.split_once(end)?.0.parse().ok())
        };
        count(told("“do thing ", '”').chain(told("\"title\":\"do thing ", '"')))
    }

    fn score(mut self, run: &Run, took: Duration) -> Score {
        let url = run.database.clone().unwrap_or_else(|| self.homes[0].store_url());
        let (tasks, undone) =
            process::ask(&url, async |store| (process::tasks(store).await, process::undone(store).await));
        self.left_undone.extend(undone);
        if self.model.is_some() {
            // A process that dies between the first words and their receipt leaves them (docs/promise.md).
            let parts = self.platform.said().into_iter().filter(|text| is_part(text)).skip(1);
            self.left_undone.extend(parts.map(|text| format!("a part of an answer: {text}")));
        }
        let done =
            count(tasks.iter().filter_map(|title| title.strip_prefix("do thing ")?.parse::<usize>().ok()));
        let answered = self.answered();
        let missing = |times: &BTreeMap<usize, usize>| -> Vec<usize> {
            (1..=self.written.len()).filter(|number| !times.contains_key(number)).collect()
        };
        let doubled = |times: &BTreeMap<usize, usize>| {
            times.iter().filter(|(_, times)| **times > 1).map(|(number, _)| *number).collect()
        };
        let (lost, effects_lost) = (missing(&answered), missing(&done));
        let strange: BTreeSet<&usize> = lost.iter().chain(&effects_lost).collect();
        for number in strange {
            let words = format!("thing {number}");
            let told = process::ask(&url, async |store| process::history(store, &words).await);
            self.log.push_str(&format!("== the journal of {words}: {told:#?}\n"));
        }
        Score {
            platform: self.platform.name(),
            store: match (&run.database, run.streams) {
                (Some(_), _) => "PostgreSQL",
                (None, true) => "SQLite, answers streamed",
                (None, false) => "SQLite",
            },
            instances: run.instances,
            kills: self.kills,
            messages: self.written.len(),
            lost,
            answered_twice: doubled(&answered),
            effects_lost,
            effects_doubled: doubled(&done),
            left_undone: self.left_undone,
            worst_wait: self.worst_wait,
            took,
            seed: run.seed,
            log: self.log,
        }
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.random.below(most as u64)).unwrap()
    }
}

/// Whether a message shows an answer that isn't whole, or that one is worked on.
fn is_part(text: &str) -> bool {
    let is_begun = text.starts_with(OPENING) || !text.is_empty() && OPENING.starts_with(text);
    is_begun && !text.contains(CLOSING) || text.starts_with("Working on it")
}

/// A model that does what the person asks for in this turn, each thing until it is done, and then tells of it token by
/// token.
fn answer(request: &Value) -> Reply {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !has_tool(request, "dispatch_agent") {
        return Reply::text(&wishes(&messages.last().map(Value::to_string).unwrap_or_default()));
    }
    let is_model = |message: &Value| message["role"] == "assistant";
    let is_answer = |message: &Value| is_model(message) && message["tool_calls"][0].is_null();
    let turn = &messages[messages.iter().rposition(is_answer).map_or(0, |at| at + 1)..];
    // The person's message comes last of those that the turn begins with.
    let first = turn.iter().position(is_model).unwrap_or(turn.len()).saturating_sub(1);
    let told = |begin: &str| -> BTreeSet<usize> {
        let texts: String = turn[first..].iter().map(Value::to_string).collect();
        let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        texts.split(begin).skip(1).filter_map(|rest| digits(rest).parse().ok()).collect()
    };
    let (asked, done) = (told("add a task to do thing "), told("“do thing "));
    let round = turn[first..].iter().filter(|message| is_model(message)).count();
    let add = |reply: Reply, number: &usize| {
        let (id, title) = (format!("a{number}-{round}"), format!("do thing {number}"));
        let (skills, arguments) = (["tasks.create"], json!({"title": title}));
        let call = json!({"agent_id": id, "mission": "add it", "skills": skills, "arguments": arguments});
        reply.and_call("dispatch_agent", &call.to_string())
    };
    if !asked.is_subset(&done) {
        return asked.difference(&done).fold(Reply::empty(), add);
    }
    let things: String = asked.iter().map(|number| format!(" I added “do thing {number}”,")).collect();
    let rest = " and I looked at it once more,".repeat(4);
    Reply::text(&format!("{OPENING}:{things}{rest} {CLOSING}")).tokens(TOKEN)
}

/// What the clean room reads in these messages of a person. In the room, others are read along.
fn wishes(said: &str) -> String {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    let numbers = said.split("add a task to do thing ").skip(1).map(digits);
    let wish = |number| json!({"kind": "task.create", "count": 1, "text": format!("do thing {number}")});
    json!({"wishes": numbers.map(wish).collect::<Vec<_>>()}).to_string()
}

fn count(numbers: impl Iterator<Item = usize>) -> BTreeMap<usize, usize> {
    let mut times = BTreeMap::new();
    for number in numbers {
        *times.entry(number).or_default() += 1;
    }
    times
}
