//! How long checking a workflow takes, and what running one adds to its agents' own time: `cargo bench --bench workflows`.
//! Prints lines; nothing here fails on a figure.
//!
//! The model is a script that answers at once, the store is the embedded one with full durability. A run's time is from
//! the message's hand-over to intake until the report lies in the outbox.

#![cfg(test)] // so that the lints know it for no part of the product

mod sink;

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adjutant::service::{self, Channel, Models, Service};
use adjutant_config::{Approval, Config};
use adjutant_engine::orchestrator::BasicMode;
use adjutant_models::{Model, ModelError, ModelResponse, Request};
use adjutant_skills::{Skills, builtin};
use adjutant_turn::journal::RateLimits;
use adjutant_types::clock::{SharedClock, SystemClock};
use adjutant_workflows::{CheckContext, check};

use sink::Sink;

const STEPS: usize = 200;
const ROUNDS: u32 = 50;

fn main() {
    checking();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(running());
}

fn checking() {
    let skills = Skills::load(&[], &builtin::names(true)).unwrap().current();
    let approval = Approval::default();
    let context = CheckContext { skills: &skills, approval: &approval, workflows: &[] };
    let text = text();
    let (_, problems) = check("bench.yaml", &text, &context);
    assert_eq!(problems, [], "the bench checks a sound file");
    let start = Instant::now();
    for _ in 0..ROUNDS {
        black_box(check("bench.yaml", black_box(&text), &context));
    }
    let each = start.elapsed() / ROUNDS;
    println!("checking a file of {STEPS} steps and {} KB: {each:.2?}", text.len() / 1024);
}

/// Each step asks for the outputs of the two before it.
fn text() -> String {
    let mut text = "workflow:\n  name: bench\n  inputs: [{ name: who }]\n  agents:\n".to_owned();
    for agent in 0..20 {
        let _ = writeln!(
            text,
            "    a{agent}:\n      prompt: |\n        Look {{{{inputs.who}}}} up on {{{{today}}}} and say what is new.\n      \
             skills: [email.search, tasks.search]\n      retry: {{ max_attempts: 3, backoff: exponential, on_failure: skip }}\n      \
             validation: {{ rules: [\"Must include mails field\", \"at most 200 words\"] }}"
        );
    }
    text.push_str("  steps:\n");
    for step in 0..STEPS {
        let needs: Vec<String> =
            (1..=2).filter(|back| *back <= step).map(|back| format!("s{}", step - back)).collect();
        let input: String = needs.iter().map(|need| format!("{{{{steps.{need}.output}}}} ")).collect();
        let input = if input.is_empty() { "{{inputs.who}}".to_owned() } else { input };
        let _ = writeln!(
            text,
            "    - {{ id: s{step}, agent: a{}, type: sequential, depends_on: [{}], input: \"{input}\", output: {{ format: json }} }}",
            step % 20,
            needs.join(", ")
        );
    }
    text
}

/// A model that answers at once, and knows how many asked at the same time.
#[derive(Default)]
struct Immediate {
    now: AtomicUsize,
    most: AtomicUsize,
    pause: Mutex<Duration>,
}

#[async_trait::async_trait]
impl Model for Immediate {
    async fn call(&self, _: &Request) -> Result<ModelResponse, ModelError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let pause = *self.pause.lock().unwrap();
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(ModelResponse { text: "done".into(), model: "instant".into(), ..ModelResponse::default() })
    }
}

struct House {
    service: Service,
    sink: Arc<Sink>,
    model: Arc<Immediate>,
    _folder: tempfile::TempDir,
}

async fn house(workflows: &[(&str, String)]) -> House {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::in_dir(folder.path().to_owned());
    (config.limits.agents_per_turn, config.limits.parallel_agents) = (100_000, 50);
    let place = folder.path().join("skills");
    std::fs::create_dir_all(place.join("workflows")).unwrap();
    for (name, text) in workflows {
        std::fs::write(place.join("workflows").join(format!("{name}.yaml")), text).unwrap();
    }
    config.skills = vec![place];
    let clock: SharedClock = Arc::new(SystemClock);
    let store = service::open_store(&config, clock).await.unwrap();
    let skills = service::load_skills(&config).unwrap();
    let (sink, model) = (Arc::new(Sink::default()), Arc::new(Immediate::default()));
    let models = Models {
        orchestrator: model.clone(),
        agent: model.clone(),
        basic: BasicMode::Never,
        intent: Some(model.clone()),
        prices: Vec::new(),
        rate_limits: RateLimits::default(),
    };
    let channels = vec![Channel::open(sink.clone())];
    let service = Service::start(&config, store, skills, models, channels).await.unwrap();
    House { service, sink, model, _folder: folder }
}

impl House {
    async fn run(&self, event: &str, line: &str) -> Duration {
        let (took, text) = self.sink.say(&self.service, "home", event, line).await;
        assert!(text.contains("complete"), "{text}");
        took
    }
}

/// Steps one after the other.
fn chain(steps: usize) -> String {
    let mut text =
        format!("workflow:\n  name: chain{steps}\n  agents:\n    a: {{ prompt: Work }}\n  steps:\n");
    for step in 0..steps {
        let _ = writeln!(text, "    - {{ id: s{step}, agent: a, input: x }}");
    }
    text
}

const MAP: &str = "workflow:\n  name: map\n  inputs: [{ name: items, type: json, required: true }]\n  agents:\n    a: { prompt: \"Work on {{item}}\" }\n  \
    steps:\n    - { id: all, type: map, map: { over: \"{{inputs.items}}\", agent: a }, max_concurrent: 20 }\n";

async fn running() {
    let house = house(&[("chain1", chain(1)), ("chain101", chain(101)), ("map", MAP.to_owned())]).await;
    house.run("warm", "/run chain101").await;
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for round in 0..7 {
        short.push(house.run(&format!("s{round}"), "/run chain1").await);
        long.push(house.run(&format!("l{round}"), "/run chain101").await);
    }
    short.sort_unstable();
    long.sort_unstable();
    println!(
        "a step with an instant model, p50 of 7 runs of 100 more steps: {:.2?}",
        (long[3] - short[3]) / 100
    );

    *house.model.pause.lock().unwrap() = Duration::from_millis(5);
    house.model.most.store(0, Ordering::SeqCst);
    let before = memory("VmRSS:");
    // From now on the peak counts anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let items: Vec<usize> = (0..1000).collect();
    let time = house.run("map", &format!("/run map items=\"{items:?}\"")).await;
    let most = house.model.most.load(Ordering::SeqCst);
    println!(
        "a map over 1,000 items of 5 ms, max_concurrent 20: {time:.2?}, at most {most} at once, {:.1} MB more at its peak",
        (memory("VmHWM:") - before) / 1024.0
    );
}

/// A line of this process's status, in KB.
fn memory(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|text| text.strip_prefix(line)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
