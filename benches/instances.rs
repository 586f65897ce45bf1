//! What more instances bring: `cargo bench --bench instances`, with the numbers of instances to measure (`1 2 4`).
//! `--seconds N`: for how long each is measured. `--cpu PERCENT`: how much of a processor each instance may use.
//! `--kills N`: how often an instance is killed in the end. Prints two tables; nothing here fails on a figure.
//!
//! Real binaries on a throw-away PostgreSQL (without fsync), a fake of Telegram, and a model that takes 200 ms, all on
//! one machine. So that the instances are like machines of their own, a control group limits the processor time of
//! each. In each conversation, the next message is written as soon as the answer is seen.

#![cfg(test)] // so that the lints know it for no part of the product

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, last_message};
use adjutant_fakes::postgres;
use adjutant_fakes::telegram::FakeTelegram;
use adjutant_store::Store;
use adjutant_test_support::gateway;
use adjutant_test_support::gateway::{Gateway, wait_until};
use adjutant_test_support::process::Home;
use adjutant_test_support::share;
use adjutant_test_support::share::CpuShare;
use adjutant_test_support::simulation::engine::count;
use adjutant_test_support::simulation::{Costs, PLAIN, Plant};
use adjutant_types::clock::SystemClock;

/// How long the model takes.
const THINKING: Duration = Duration::from_millis(200);
/// Conversations for each instance: enough to keep it busy, and few enough to leave it room where one is killed.
const CONVERSATIONS: usize = 32;
const FEW: usize = 4;
/// How often to look for answers.
const LOOK: Duration = Duration::from_millis(20);

/// What to measure.
struct Wanted {
    instances: Vec<usize>,
    seconds: u64,
    percent: u64,
    kills: usize,
}

/// Someone who writes again as soon as there is an answer.
struct Talk {
    person: i64,
    number: usize,
    since: Instant,
}

/// Instances and their surroundings. The groups go last: no process may be in them.
struct Cluster {
    gateways: Vec<Gateway>,
    homes: Vec<Home>,
    telegram: FakeTelegram,
    talks: Vec<Talk>,
    store: Store,
    runtime: tokio::runtime::Runtime,
    groups: Vec<CpuShare>,
    _model: FakeModel,
}

/// What a number of instances did in some time.
struct Measured {
    rate: f64,
    times: Vec<f64>,
    /// Processor time of a turn in all, and of running one alone where another instance receives.
    cpu: f64,
    run: Option<f64>,
    busy: f64,
    /// Of each instance, the receiver first: the turns that it ran a second, and how much of a processor it used.
    each: Vec<(f64, f64)>,
}

impl Cluster {
    fn start(instances: usize, percent: u64, conversations: usize) -> Self {
        let server = postgres::shared().unwrap().unwrap();
        let (telegram, url) = (FakeTelegram::start(), server.database().unwrap());
        let model = FakeModel::start(|request| {
            std::thread::sleep(THINKING);
            let said = last_message(request);
            let number = said.split("number ").nth(1).unwrap_or_default();
            let number: String = number.chars().take_while(char::is_ascii_digit).collect();
            Reply::text(&format!("Heard {number}."))
        });
        let home = |_| {
            Home::with_config(&format!(
                "[limits]\nconversation_calls = 100000\n[log]\nfilter = \"warn\"\n[store]\nurl = \"{url}\"\n\
                 [http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
                 [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
                model.base_url(),
                telegram.token(),
                telegram.api_url()
            ))
        };
        let homes = (0..instances).map(home).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = runtime.block_on(Store::open(&url, Arc::new(SystemClock))).unwrap();
        let people = (0..instances * conversations).map(|at| telegram.person(&format!("p{at}")));
        let talks = people.map(|person| Talk { person, number: 0, since: Instant::now() }).collect();
        let groups = (0..instances).filter_map(|at| CpuShare::new(&at.to_string(), percent).ok()).collect();
        let gateways = Vec::new();
        let mut cluster = Self { gateways, homes, telegram, talks, store, runtime, groups, _model: model };
        (0..instances).for_each(|at| cluster.start_one(at));
        cluster
    }

    fn start_one(&mut self, at: usize) {
        let gateway = Gateway::start(&self.homes[at]);
        if let Some(group) = self.groups.get(at) {
            group.take(gateway.pid()).unwrap();
        }
        self.gateways.insert(at, gateway);
        let all = i64::try_from(self.gateways.len()).unwrap();
        wait_until("all are there", || self.count("SELECT count(*) FROM instances") == all);
        wait_until("one receives", || {
            self.count("SELECT count(*) FROM leases WHERE name LIKE 'channel:%' AND instance IS NOT NULL") > 0
        });
    }

    fn count(&self, sql: &'static str) -> i64 {
        self.runtime.block_on(self.store.count(sql, &[])).unwrap()
    }

    fn say(telegram: &FakeTelegram, talk: &mut Talk) {
        (talk.number, talk.since) = (talk.number + 1, Instant::now());
        telegram.say(talk.person, talk.person, &format!("number {}", talk.number));
    }

    /// Lets people talk for some time; returns the answers' times in milliseconds.
    fn talk(&mut self, most: Duration) -> Vec<f64> {
        let (begun, mut times) = (Instant::now(), Vec::new());
        while begun.elapsed() < most {
            self.look(|_, time| times.push(time));
            std::thread::sleep(LOOK);
        }
        times
    }

    /// Looks once for answers, each of which is followed by the next message.
    fn look(&mut self, mut answered: impl FnMut(i64, f64)) {
        for talk in &mut self.talks {
            let wanted = format!("Heard {}.", talk.number);
            let seen = self.telegram.seen(talk.person);
            if talk.number == 0 || seen.iter().rev().any(|seen| seen.text.starts_with(&wanted)) {
                if talk.number > 0 {
                    answered(talk.person, talk.since.elapsed().as_secs_f64() * 1000.0);
                }
                Self::say(&self.telegram, talk);
            }
        }
    }

    /// The place of the instance that receives.
    fn receiver(&self) -> usize {
        let pid = self.count(
            "SELECT i.pid FROM leases l JOIN instances i ON i.id = l.instance WHERE l.name LIKE 'channel:%'",
        );
        self.gateways.iter().position(|gateway| i64::from(gateway.pid()) == pid).unwrap()
    }

    fn measure(&mut self, seconds: u64) -> Measured {
        self.talk(Duration::from_secs(seconds / 4 + 1));
        let receiver = self.receiver();
        let used = |cluster: &Self| {
            cluster.gateways.iter().map(|gateway| share::used(gateway.pid())).collect::<Vec<_>>()
        };
        let (before, machine, ran, begun) = (used(self), share::machine(), self.ran(), Instant::now());
        let times = self.talk(Duration::from_secs(seconds));
        let took = begun.elapsed().as_secs_f64();
        let spent = used(self).into_iter().zip(before).map(|(after, before)| after - before);
        let ran = self.ran().into_iter().zip(ran).map(|(after, before)| after - before);
        let mut each: Vec<(f64, f64)> = ran.zip(spent).collect();
        each.swap(0, receiver);
        let all: f64 = each.iter().map(|(_, spent)| spent).sum();
        let (ran, others) = each[1..].iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Measured {
            rate: count(times.len()) / took,
            cpu: all / count(times.len()),
            run: (ran > 0.0).then(|| others / ran),
            busy: share::busy(&machine, &share::machine()),
            each: each.into_iter().map(|(ran, spent)| (ran / took, spent / took / 1000.0)).collect(),
            times,
        }
    }

    /// How many turns each instance has run.
    fn ran(&self) -> Vec<f64> {
        let sql = "SELECT i.pid, count(t.id) FROM instances i LEFT JOIN turns t ON t.instance = i.id \
                   AND t.ended_at IS NOT NULL GROUP BY i.pid";
        let rows: Vec<(i64, i64)> = self.runtime.block_on(self.store.all(sql, &[])).unwrap();
        let ran: HashMap<i64, i64> = rows.into_iter().collect();
        let ran = self.gateways.iter().map(|gateway| ran.get(&i64::from(gateway.pid())).copied());
        ran.map(|ran| count(usize::try_from(ran.unwrap_or_default()).unwrap())).collect()
    }

    /// Kills an instance while people talk. Returns the times until its lanes had their next answers.
    fn hand_over(&mut self, at: usize) -> Vec<f64> {
        let instance = i64::from(self.gateways[at].pid());
        let lanes: Vec<(String,)> = self
            .runtime
            .block_on(self.store.all(
                "SELECT c.place FROM turns t JOIN conversations c ON c.id = t.conversation_id \
                 JOIN instances i ON i.id = t.instance WHERE t.status = 'running' AND i.pid = $1",
                &[instance.into()],
            ))
            .unwrap();
        let mut waiting: Vec<i64> = lanes.iter().filter_map(|lane| lane.0.parse().ok()).collect();
        let killed = Instant::now();
        self.gateways.remove(at).kill();
        let mut times = Vec::new();
        while !waiting.is_empty() && killed.elapsed() < gateway::DEADLINE {
            self.look(|person, _| {
                if let Some(at) = waiting.iter().position(|waits| *waits == person) {
                    waiting.swap_remove(at);
                    times.push(killed.elapsed().as_secs_f64() * 1000.0);
                }
            });
            std::thread::sleep(LOOK);
        }
        assert!(waiting.is_empty(), "no answer in {waiting:?}");
        self.start_one(at);
        times
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.runtime.block_on(self.store.close());
    }
}

/// What the simulation says of so many instances, from the processor time of a turn with one.
fn predicted(instances: usize, percent: u64, cpu: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a percentage")]
    let slower = cpu / (PLAIN.receive + PLAIN.run + PLAIN.send) * 100.0 / percent as f64;
    let costs = Costs {
        receive: PLAIN.receive * slower,
        run: PLAIN.run * slower,
        send: PLAIN.send * slower,
        flush: 0.1,
        ..PLAIN
    };
    let database = std::thread::available_parallelism().map_or(1, usize::from);
    let model = THINKING.as_secs_f64() * 1000.0;
    let plant = Plant { costs, instances, receivers: 1, processors: 1, database, round_trip: 0.1, model };
    plant.saturated(instances * CONVERSATIONS, 4_000).rate
}

fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}

fn grow(wanted: &Wanted) {
    println!(
        "| instances | turns a second | predicted | p50 / p99 | CPU of a turn, of running it elsewhere | machine busy |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let (mut first, mut each) = (None, Vec::new());
    for instances in &wanted.instances {
        let mut cluster = Cluster::start(*instances, wanted.percent, CONVERSATIONS);
        let limits = cluster.groups.len() == *instances;
        let mut measured = cluster.measure(wanted.seconds);
        let cpu = *first.get_or_insert(measured.cpu);
        let run = measured.run.map_or(String::new(), |run| format!(", {run:.1} ms"));
        let predicted =
            if limits { format!("{:.1}", predicted(*instances, wanted.percent, cpu)) } else { "-".into() };
        println!(
            "| {instances}{} | {:.1} | {predicted} | {:.0} / {:.0} ms | {:.1} ms{run} | {:.0} % |",
            if limits { "" } else { " (without a limit: no control group can be made)" },
            measured.rate,
            percentile(&mut measured.times, 50),
            percentile(&mut measured.times, 99),
            measured.cpu,
            measured.busy * 100.0
        );
        each.push((*instances, measured.each));
    }
    println!("\n| instances | turns a second and CPU of the receiver | of each other |");
    println!("| --- | --- | --- |");
    for (instances, each) in each {
        let mut each = each.into_iter().map(|(ran, used)| format!("{ran:.1}, {:.1} %", used * 100.0));
        let receiver = each.next().unwrap_or_default();
        println!("| {instances} | {receiver} | {} |", each.collect::<Vec<_>>().join("; "));
    }
}

fn kill(wanted: &Wanted) {
    let instances = wanted.instances.iter().copied().max().unwrap_or(2).max(2);
    let mut cluster = Cluster::start(instances, wanted.percent, FEW);
    cluster.talk(Duration::from_secs(3));
    let (mut of_receiver, mut of_others) = (Vec::new(), Vec::new());
    for round in 0..wanted.kills {
        let receiver = cluster.receiver();
        let (at, times) = match round % 2 {
            0 => ((receiver + 1) % instances, &mut of_others),
            _ => (receiver, &mut of_receiver),
        };
        times.extend(cluster.hand_over(at));
        cluster.talk(Duration::from_secs(2));
    }
    println!("\n| `kill -9` of one of {instances} | lanes | next answer, p50 / p99 |");
    println!("| --- | --- | --- |");
    for (what, mut times) in [("one that only runs turns", of_others), ("the receiver", of_receiver)] {
        let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
        println!("| {what} | {} | {p50:.0} / {p99:.0} ms |", times.len());
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let mut wanted = Wanted { instances: Vec::new(), seconds: 20, percent: 15, kills: 10 };
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|number| number.parse().ok()).unwrap();
        match word.as_str() {
            "--seconds" => wanted.seconds = number(),
            "--cpu" => wanted.percent = number(),
            "--kills" => wanted.kills = usize::try_from(number()).unwrap(),
            // What cargo itself passes.
            "--bench" => {}
            _ => wanted.instances.push(word.parse().unwrap()),
        }
    }
    if wanted.instances.is_empty() {
        wanted.instances = vec![1, 2, 4];
    }
    grow(&wanted);
    if wanted.kills > 0 {
        kill(&wanted);
    }
}
