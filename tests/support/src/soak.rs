//! Soak test: people write to the real `serve` for a long time. The model, the platform and the skills fail now and
//! then, questions are answered, turns are stopped, and old data is deleted. At the end nothing may be left open, and
//! the process may use no more memory and files than after its warm-up.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_fakes::telegram::{FakeTelegram, Fault};
use adjutant_store::{Store, check, queues};
use adjutant_types::clock::SystemClock;

use crate::process::{Home, json};
use crate::random::Random;

/// How many people write, each in a private chat.
const PEOPLE: usize = 64;

/// Longer than any round takes, including floods and retries.
const DEADLINE: Duration = Duration::from_mins(3);

/// The memory growth allowed after the first tenth: the C library's arenas and the caches fill up late.
const MORE_MB: f64 = 16.0;
/// The growth of open files allowed: connections to the model come and go.
const MORE_FILES: usize = 48;

const CONFIG: &str = "[limits]\nagents_per_turn = 10000\nskill_calls_per_turn = 10000\nconversation_calls = 1000000\n\
    [approval.skills]\n\"memory.save\" = \"ask\"\n\
    [retention]\nbodies = \"10s\"\ntraces = \"5s\"\nmemories = \"30s\"\n\
    [backup]\nevery = \"5m\"\nkeep = 1\n[http]\nlisten = \"\"\n";

/// The resources of a process at a moment.
struct Sample {
    turns: i64,
    memory_mb: f64,
    files: usize,
    store_mb: f64,
}

/// The result of a soak test.
pub struct SoakReport {
    turns: i64,
    by_status: Vec<(String, i64)>,
    took: Duration,
    samples: Vec<Sample>,
    /// What is left open, by its noun: all should be zero.
    left: Vec<(&'static str, i64)>,
    /// Other problems.
    problems: Vec<String>,
}

impl SoakReport {
    /// The table.
    pub fn table(&self) -> String {
        let mut text = String::from("| what | figure |\n| --- | --: |\n");
        let statuses: Vec<String> =
            self.by_status.iter().map(|(status, count)| format!("{count} {status}")).collect();
        let _ = writeln!(text, "| turns | {} ({}) |", self.turns, statuses.join(", "));
        let seconds = self.took.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = self.turns as f64 / seconds;
        let _ = writeln!(text, "| time | {seconds:.0} s |\n| turns a second | {rate:.0} |");
        for Sample { turns, memory_mb, files, store_mb } in &self.samples {
            let _ = writeln!(
                text,
                "| after {turns} turns | {memory_mb:.1} MB resident, {files} open files, a store of {store_mb:.1} MB |"
            );
        }
        for (noun, count) in &self.left {
            let _ = writeln!(text, "| {noun} left | {count} |");
        }
        text
    }

    /// All problems.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.clone();
        problems.extend(
            self.left.iter().filter(|it| it.1 != 0).map(|(noun, count)| format!("{count} {noun} left")),
        );
        // Before that it warms up.
        if let (Some(first), Some(last)) = (self.samples.first(), self.samples.last())
            && first.turns >= 1_000
        {
            if last.memory_mb > first.memory_mb + MORE_MB {
                problems.push(format!("memory grew from {:.1} to {:.1} MB", first.memory_mb, last.memory_mb));
            }
            if last.files > first.files + MORE_FILES {
                problems.push(format!("open files grew from {} to {}", first.files, last.files));
            }
        }
        problems
    }
}

/// Drives so many turns through a binary.
pub fn run(turns: i64, seed: u64, binary: Option<PathBuf>) -> SoakReport {
    let telegram = FakeTelegram::start();
    let model = model(seed);
    let home = Home::with_config(&format!(
        "{CONFIG}[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\ntimeout = \"5s\"\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
        model.base_url(),
        telegram.token(),
        telegram.api_url()
    ));
    let mut command = home.command(&["serve"]);
    if let Some(binary) = binary {
        let mut other = Command::new(binary);
        other.arg("serve").current_dir(home.path()).env_clear().env("HOME", home.path());
        command = other;
    }
    let log = std::fs::File::create(home.path().join("log")).unwrap();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let people = (0..PEOPLE).map(|person| telegram.person(&format!("p{person}"))).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut soak = Soak { telegram, people, home, child, random: Random(seed), written: 0 };
    runtime.block_on(soak.soak(turns))
}

struct Soak {
    telegram: FakeTelegram,
    people: Vec<i64>,
    home: Home,
    child: Child,
    random: Random,
    written: u64,
}

impl Drop for Soak {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Soak {
    async fn soak(&mut self, turns: i64) -> SoakReport {
        let begun = Instant::now();
        while self.telegram.calls("getupdates") == 0 {
            assert!(begun.elapsed() < DEADLINE, "it does not listen: {}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let store = Store::open(&self.home.store_url(), Arc::new(SystemClock)).await.unwrap();
        let begun = Instant::now();
        let mut samples = Vec::new();
        let mut done = 0;
        while done < turns {
            self.round(&store).await;
            done = store.count("SELECT count(*) FROM turns", &[]).await.unwrap();
            let due = [10, 50, 100].get(samples.len()).is_some_and(|percent| done * 100 >= turns * percent);
            if due {
                samples.push(self.look(done));
            }
        }
        let took = begun.elapsed();
        let mut problems = self.stop();
        problems.extend(check::findings(&store).await.unwrap().iter().map(|finding| format!("{finding:?}")));
        let by_status = "SELECT status, count(*) FROM turns GROUP BY status ORDER BY 2 DESC";
        let by_status: Vec<(String, i64)> = store.all(by_status, &[]).await.unwrap();
        problems.extend(
            by_status.iter().filter(|it| it.0 == "dead").map(|(_, count)| format!("{count} dead turns")),
        );
        if store.count("SELECT count(*) FROM turns WHERE traces_emptied_at IS NOT NULL", &[]).await.unwrap()
            == 0
            && took > Duration::from_mins(1)
        {
            problems.push("nothing was emptied".to_owned());
        }
        let report = SoakReport { turns: done, by_status, took, samples, left: left(&store).await, problems };
        store.close().await;
        report
    }

    /// Each person writes something, and all of it finishes.
    async fn round(&mut self, store: &Store) {
        if self.random.below(4) == 0 {
            self.fail();
        }
        let mut stopping = Vec::new();
        for person in self.people.clone() {
            self.written += 1;
            let what = match self.random.below(20) {
                0 | 1 => "add",
                2..=4 => "find",
                5 | 6 => "keep",
                7 => "miss",
                8 => "slow",
                9 => "stop",
                _ => "talk",
            };
            self.telegram.say(person, person, &format!("please {what} number {}", self.written));
            if what == "stop" {
                stopping.push(person);
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        for person in stopping {
            self.telegram.say(person, person, "/stop");
        }
        let begun = Instant::now();
        loop {
            let waiting = queues::all(store).await.unwrap();
            // Groups without rows are missing; inbox and outbox are always there.
            if self.telegram.unconfirmed() == 0 && waiting.iter().all(|queue| queue.waiting == 0) {
                return;
            }
            if waiting.iter().any(|queue| queue.name == "questions" && queue.waiting > 0) {
                self.press(store).await;
            }
            assert!(begun.elapsed() < DEADLINE, "a round does not end: {waiting:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Answers open questions with yes, or now and then no.
    async fn press(&mut self, store: &Store) {
        let asked = "SELECT c.place FROM questions p JOIN conversations c ON c.id = p.conversation_id \
                     JOIN outbox o ON o.id = p.outbox_id WHERE p.state = 'pending' AND o.state = 'sent'";
        let asked: Vec<(String,)> = store.all(asked, &[]).await.unwrap();
        for (place,) in asked {
            let Ok(chat) = place.parse::<i64>() else { continue };
            let seen = self.telegram.seen(chat);
            let Some(question) = seen.iter().rev().find(|seen| !seen.buttons.is_empty()) else { continue };
            let buttons = question.buttons.concat();
            let which = usize::from(self.random.below(4) == 0).min(buttons.len() - 1);
            self.telegram.press(chat, chat, question.id, &buttons[which].0);
        }
    }

    /// Something goes wrong on the platform.
    fn fail(&mut self) {
        let (method, fault) = match self.random.below(12) {
            0 => ("sendmessage", Fault::Flood(1)),
            1..=4 => ("sendmessage", Fault::Cut),
            5..=8 => ("sendmessage", Fault::DoneBut502),
            9 => ("sendmessage", Fault::Page(502)),
            _ => ("getupdates", Fault::Cut),
        };
        if !self.telegram.will_misbehave(method) {
            self.telegram.misbehave(method, &fault, 1);
        }
    }

    fn look(&self, turns: i64) -> Sample {
        let of_process = |what: &str| PathBuf::from(format!("/proc/{}/{what}", self.child.id()));
        let status = std::fs::read_to_string(of_process("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let memory: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        let size = std::fs::metadata(self.home.data().join("adjutant.db")).unwrap().len();
        #[expect(clippy::cast_precision_loss, reason = "megabytes for people")]
        let store_mb = size as f64 / 1e6;
        let files = std::fs::read_dir(of_process("fd")).unwrap().count();
        Sample { turns, memory_mb: memory / 1024.0, files, store_mb }
    }

    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Stops it and waits; returns any errors.
    fn stop(&mut self) -> Vec<String> {
        let told = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        assert!(told.unwrap().success());
        let status = self.child.wait().unwrap().code();
        if status == Some(0) { Vec::new() } else { vec![format!("it ended with {status:?}\n{}", self.log())] }
    }
}

async fn left(store: &Store) -> Vec<(&'static str, i64)> {
    let mut left = Vec::new();
    for (noun, sql) in [
        ("open leases", "SELECT count(*) FROM leases WHERE instance IS NOT NULL"),
        ("open turns", "SELECT count(*) FROM turns WHERE ended_at IS NULL"),
        ("open executions", "SELECT count(*) FROM executions WHERE ended_at IS NULL"),
        ("open questions", "SELECT count(*) FROM questions WHERE state = 'pending'"),
        ("unsent replies", "SELECT count(*) FROM outbox WHERE state <> 'sent'"),
        ("messages without a turn", "SELECT count(*) FROM inbox WHERE state <> 'done'"),
    ] {
        left.push((noun, store.count(sql, &[]).await.unwrap()));
    }
    left
}

/// A model that does what its person wants, and fails one request in fifty.
fn model(seed: u64) -> FakeModel {
    let random = Mutex::new(Random(seed ^ 1));
    let count = AtomicU64::new(0);
    FakeModel::start(move |request| {
        match random.lock().unwrap().below(200) {
            0 => return Reply::status(429, "{\"error\": {\"message\": \"too many\"}}"),
            1 | 2 => return Reply::status(503, "{\"error\": {\"message\": \"overloaded\"}}"),
            3 => return Reply::text("cut").cut(),
            _ => {}
        }
        let number = count.fetch_add(1, Ordering::Relaxed);
        let last = last_message(request);
        let dispatch = |skill: &str, arguments| {
            let task =
                json!({"agent_id": "a", "mission": "do it", "skills": [skill], "arguments": arguments});
            Reply::call("dispatch_agent", &task)
        };
        if has_tool(request, "use_skill") {
            return match last.contains("Mission: look") {
                true => {
                    Reply::call("use_skill", &json!({"skill": "tasks.search", "arguments": {"query": "buy"}}))
                }
                false => Reply::text("I have looked."),
            };
        }
        if !last.contains("please ") {
            return Reply::text("Here is what came of it.");
        }
        match last.split("please ").nth(1).and_then(|rest| rest.split(' ').next()) {
            Some("add") => dispatch("tasks.create", json!({"title": format!("buy {number}")})),
            Some("keep") => dispatch("memory.save", json!({"text": format!("the number is {number}")})),
            Some("miss") => dispatch("tasks.complete", json!({"id": "nosuch"})),
            Some("find") => {
                let task = json!({"agent_id": "a", "mission": "look for it", "skills": ["tasks.search"]});
                Reply::call("dispatch_agent", &task)
            }
            Some("slow" | "stop") => {
                std::thread::sleep(Duration::from_millis(250));
                Reply::text("That took a while.")
            }
            _ => Reply::text("All is well."),
        }
    })
}
