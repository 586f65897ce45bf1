//! Two real instances ask one model together no more often than its provider allows.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::postgres;
use adjutant_fakes::telegram::FakeTelegram;
use adjutant_store::Batch;

use crate::gateway::{Gateway, wait_until};
use crate::process::{self, Home};
use crate::serve::sees;

/// What the provider has seen, and how it behaves.
#[derive(Default)]
struct Provider {
    /// How many requests it answers, before it refuses more.
    most: AtomicUsize,
    /// How long it asks those to wait that it refuses.
    pause: usize,
    /// Lets it answer.
    gate: AtomicBool,
    answered: AtomicUsize,
    /// When requests arrived, and whether they were answered.
    arrived: Mutex<Vec<(Instant, bool)>>,
}

impl Provider {
    fn reply(&self) -> Reply {
        let is_answered = self.answered.fetch_add(1, Ordering::SeqCst) < self.most.load(Ordering::SeqCst);
        self.arrived.lock().unwrap().push((Instant::now(), is_answered));
        if !is_answered {
            return Reply::status(429, "{}").header("retry-after", &self.pause.to_string());
        }
        while !self.gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Reply::text("Hello.")
    }

    fn arrived(&self) -> Vec<(Instant, bool)> {
        self.arrived.lock().unwrap().clone()
    }

    fn refused(&self) -> usize {
        self.arrived().iter().filter(|(_, is_answered)| !is_answered).count()
    }
}

struct Pair {
    telegram: FakeTelegram,
    url: String,
    gateways: Vec<Gateway>,
    homes: Vec<Home>,
    _model: FakeModel,
}

impl Pair {
    /// Two instances that ask this provider; none where there is no PostgreSQL.
    fn start(provider: &Arc<Provider>, limit: &str) -> Option<Self> {
        let url = postgres::shared().unwrap()?.database().unwrap();
        let (telegram, asked) = (FakeTelegram::start(), provider.clone());
        let model = FakeModel::start(move |_| asked.reply());
        let home = |_| {
            Home::with_config(&format!(
                "[store]\nurl = \"{url}\"\n[http]\nlisten = \"127.0.0.1:0\"\n[model]\nprovider = \"openai\"\n\
                 name = \"fake\"\nbase_url = \"{}\"\n{limit}[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n\
                 allow = [\"*\"]\n",
                model.base_url(),
                telegram.token(),
                telegram.api_url()
            ))
        };
        let homes: Vec<Home> = (0..2).map(home).collect();
        let mut gateways: Vec<Gateway> = homes.iter().map(Gateway::start).collect();
        gateways.iter_mut().for_each(|gateway| gateway.logs("\"others\":1"));
        Some(Self { telegram, url, gateways, homes, _model: model })
    }

    /// So many people say something.
    fn greet(&self, people: usize) -> Vec<i64> {
        let people: Vec<i64> = (0..people).map(|at| self.telegram.person(&format!("p{at}"))).collect();
        for person in &people {
            self.telegram.say(*person, *person, "hello");
        }
        people
    }

    fn turns(&self) -> Vec<(String, String)> {
        process::ask(&self.url, async |store| {
            store.all("SELECT status, instance FROM turns ORDER BY seq", &[]).await.unwrap()
        })
    }

    /// Stops both, after all people have their answers.
    fn ends_well(self, people: &[i64]) {
        for person in people {
            sees(&self.telegram, *person, "Hello.");
        }
        for gateway in self.gateways {
            let (status, log) = gateway.stop();
            assert_eq!(status, Some(0), "{log}");
        }
    }
}

#[test]
fn two_instances_ask_a_model_no_more_often_than_one_may() {
    let provider = Arc::new(Provider { most: AtomicUsize::new(6), pause: 60, ..Provider::default() });
    let Some(pair) = Pair::start(&provider, "requests_per_minute = 6\n") else { return };
    let people = pair.greet(10);
    wait_until("all turns run", || pair.turns().iter().filter(|turn| turn.0 == "running").count() == 10);
    let ran: BTreeSet<String> = pair.turns().into_iter().map(|(_, instance)| instance).collect();
    assert_eq!(ran.len(), 2, "both ran some");
    wait_until("the provider has had its six", || provider.arrived().len() == 6);
    provider.gate.store(true, Ordering::SeqCst);
    wait_until("six are answered", || pair.turns().iter().filter(|turn| turn.0 == "completed").count() == 6);
    assert_eq!(provider.arrived().len(), 6, "the others wait");
    // A minute passes.
    provider.most.store(12, Ordering::SeqCst);
    process::ask(&pair.url, async |store| {
        let mut batch = Batch::new();
        batch.run("UPDATE model_slots SET taken_at = taken_at - 61000", []);
        store.write(batch).await.unwrap();
    });
    pair.ends_well(&people);
    assert_eq!((provider.arrived().len(), provider.refused()), (10, 0));
}

#[test]
fn a_pause_that_a_provider_asks_one_instance_for_holds_for_both() {
    let provider = Arc::new(Provider { pause: 20, ..Provider::default() });
    provider.gate.store(true, Ordering::SeqCst);
    let Some(mut pair) = Pair::start(&provider, "") else { return };
    let ada = pair.telegram.person("Ada");
    pair.telegram.say(ada, ada, "hello");
    wait_until("it is refused", || provider.refused() == 1);
    provider.most.store(99, Ordering::SeqCst);
    for gateway in &mut pair.gateways {
        gateway.logs("the model's provider asks for a pause");
    }
    let status = pair.homes[0].run(&["db", "status"]).stdout;
    let paused = status.lines().find(|line| line.starts_with("paused")).unwrap_or_default();
    assert!(
        paused.contains("openai/fake at 127.0.0.1:") && paused.ends_with("because its provider asked for it"),
        "{status}"
    );
    let metrics = pair.gateways[1].get("/metrics").1;
    assert!(metrics.contains("adjutant_model_pause_seconds{model=\"openai/fake at 127.0.0.1:"), "{metrics}");
    let mut people = pair.greet(4);
    people.push(ada);
    pair.ends_well(&people);
    let arrived = provider.arrived();
    let over = arrived[0].0 + Duration::from_secs(20);
    assert_eq!(provider.refused(), 1);
    assert!(arrived[1..].iter().all(|(at, _)| *at >= over), "{arrived:?}");
}
