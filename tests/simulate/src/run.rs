//! One seed: processes begin, die and begin again on one store, until everything is quiet.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use adjutant::service::{self, Channel, Models, Service};
use adjutant_config::{Config, People, Policy};
use adjutant_engine::orchestrator::BasicMode;
use adjutant_skills::accounts::{Accounts, ConnectedAccount, Inbox, Sender};
use adjutant_skills::builtin::{Mailbox, Services};
use adjutant_store::{Store, simulation};
use adjutant_turn::journal::RateLimits;
use adjutant_types::AccountService;
use adjutant_types::clock::{SharedClock, SystemClock};
use tokio::runtime::{Builder, Runtime};

use crate::bugs::Bug;
use crate::checker::{self, Journal};
use crate::history::Event;
use crate::model::Obeying;
use crate::people::{OWNER, PEOPLE};
use crate::platform::{self, CHANNEL, Phone};
use crate::process::{End, Process};
use crate::system;
use crate::world::{CALM, World, WorldClock};

/// The file of an empty store, which each seed begins with a copy of.
pub(crate) const STORE: &str = "adjutant.db";
/// How long everything may take to be quiet, in milliseconds.
const PATIENCE: u64 = CALM + 3 * 3_600_000;
/// A process that couldn't start, or stop as it should.
const BEGIN_AGAIN: &str = "begin again";
const MOST_PROCESSES: usize = 100;
/// How often it's looked whether all is quiet.
const LOOK: Duration = Duration::from_millis(1_000);

/// What a seed has shown.
pub(crate) struct Outcome {
    pub(crate) history: Vec<(u64, Event)>,
    pub(crate) violations: Vec<String>,
}

fn config(folder: &Path) -> Config {
    let mut config = Config::in_dir(folder);
    config.assistant.owner = vec![format!("{CHANNEL}:{OWNER}")];
    config.approval.skills.insert("email.send".into(), Policy::Ask);
    config.limits.turns_per_minute = 0;
    config
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Makes the empty store.
pub(crate) fn prepare(folder: &Path) {
    let config = config(folder);
    let make = async {
        let store = service::open_store(&config, Arc::new(SystemClock)).await.expect("a store");
        store.close().await;
    };
    runtime().block_on(make);
}

/// Runs a seed in a folder that has the empty store, in a thread that is in a system of its own.
pub(crate) fn run(seed: u64, bug: Option<Bug>, folder: &Path) -> Outcome {
    let world = World::new(seed, bug);
    let config = Arc::new(config(folder));
    let seen = world.clone();
    std::panic::set_hook(Box::new(move |panic| {
        eprintln!("seed {seed}: {panic}");
        seen.note(Event::Panicked(panic.to_string()));
    }));
    let mut violations = Vec::new();
    let is_quiet = match processes(&world, &config, folder) {
        Ok(()) => true,
        Err(why) => {
            violations.push(why);
            false
        }
    };
    let history = std::mem::take(&mut world.lock().history);
    let journal = runtime().block_on(async {
        let store = simulation::in_place(service::open_store(&config, Arc::new(SystemClock)))?;
        let journal = simulation::in_place(Journal::read(&store));
        store.close().await;
        journal
    });
    match journal {
        Ok(journal) => violations.extend(checker::violations(&history, &journal, is_quiet)),
        Err(error) => violations.push(format!("the journal can't be read: {error}")),
    }
    Outcome { history, violations }
}

/// A process with its runtime, which does something only while it's driven.
struct Running {
    process: Arc<Process>,
    runtime: Runtime,
    life: Pin<Box<dyn Future<Output = Result<(), String>>>>,
}

/// What a process has come to.
enum Came {
    /// To its end, with nothing left to do, or to why that can't be.
    ToRest(Result<(), String>),
    ToAnEnd(End),
}

impl Running {
    fn begin(world: &Arc<World>, config: &Arc<Config>, is_alone: bool) -> Self {
        let process = Process::new(world, world.next_end(is_alone));
        world.note(Event::Started);
        Self { life: Box::pin(live(process.clone(), config.clone())), runtime: runtime(), process }
    }

    fn drive(&mut self) -> Came {
        simulation::enter(Some(self.process.clone()));
        let Self { process, runtime, life } = self;
        let came = runtime.block_on(async {
            tokio::select! {
                biased;
                end = process.ended() => Came::ToAnEnd(end),
                rest = life => Came::ToRest(rest),
            }
        });
        simulation::enter(None);
        came
    }

    /// It is gone, but for what it has sent.
    fn vanish(self) {
        let Self { process, runtime, life } = self;
        // Connections come from their pools, and go back, by tasks.
        let inside = runtime.enter();
        for outbound in process.take_in_flight().values() {
            platform::appears(&process, outbound);
        }
        process.closes();
        drop(life);
        drop(inside);
        drop(runtime);
    }
}

/// Processes begin and end until one has nothing left to do.
fn processes(world: &Arc<World>, config: &Arc<Config>, folder: &Path) -> Result<(), String> {
    // One that was stopped, and after how many steps of the next one it goes on.
    let mut stopped: Option<Running> = None;
    for _ in 0..MOST_PROCESSES {
        let mut running = Running::begin(world, config, stopped.is_none());
        let mut came = running.drive();
        if let Some(mut other) = stopped.take() {
            // It has ended for a moment only.
            let steps = world.lock().random.of_any_size(255);
            world.note(Event::WentOn(steps));
            other.process.goes_on(Some((steps, End::Died)));
            other.drive();
            other.vanish();
            if let Came::ToAnEnd(_) = came {
                running.process.goes_on(world.next_end(false));
                came = running.drive();
            }
        }
        match came {
            Came::ToRest(rest) => {
                running.vanish();
                if rest.as_ref().is_err_and(|why| why == BEGIN_AGAIN) {
                    continue;
                }
                return rest;
            }
            Came::ToAnEnd(End::Died) => running.vanish(),
            Came::ToAnEnd(End::Stopped) => {
                // Its lock is lost, as that of a session on a server.
                let _ = std::fs::remove_dir_all(folder.join(format!("{STORE}.instances")));
                stopped = Some(running);
            }
        }
        world.pause();
        if stopped.is_none() && !system::wait_for_threads(2) {
            return Err("threads of a process that is gone are left".to_owned());
        }
    }
    Err("it begins again and again".to_owned())
}

/// One process's life.
async fn live(process: Arc<Process>, config: Arc<Config>) -> Result<(), String> {
    let clock: SharedClock = Arc::new(WorldClock(process.world.clone()));
    let store =
        simulation::in_place(service::open_store(&config, clock)).map_err(|error| error.to_string())?;
    // Tasks of the pools, and their threads, have connections to give back first; nothing else runs yet.
    for _ in 0..100 {
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_micros(100));
    }
    process.has_opened(store.clone());
    serve(&process, &config, store).await
}

async fn start(process: &Arc<Process>, config: &Config, store: Store) -> Option<Service> {
    let (phone, mailbox) = (Arc::new(Phone(process.clone())), &process.world.mailbox);
    let channel = Channel {
        connection: Some(phone.clone()),
        allow: PEOPLE.iter().map(ToString::to_string).collect(),
        ..Channel::open(phone)
    };
    let model = Arc::new(Obeying(process.clone()));
    let models = Models {
        orchestrator: model.clone(),
        agent: model.clone(),
        basic: BasicMode::Never,
        intent: Some(model),
        prices: Vec::new(),
        rate_limits: RateLimits::default(),
    };
    let from: adjutant_mail::Address = "Ada <ada@example.org>".parse().expect("an address");
    let account = ConnectedAccount::configured(AccountService::Mail, "shared", &from.address);
    let mail = Mailbox {
        from,
        internal_domains: Vec::new(),
        self_copy: false,
        smtp: Sender::Memory(mailbox.clone()),
        imap: Some(Inbox::Memory(mailbox.clone())),
    };
    let account = ConnectedAccount { mail: Some(Arc::new(mail)), ..account };
    let set_world = |services: &mut Services| {
        let own = vec![(account, People::Everybody)];
        services.accounts = Arc::new(Accounts::with(own, config.connect.clone(), services.secrets.clone()));
    };
    let skill_set = service::load_skills(config).expect("the skills");
    // A process that can't start ends, and another one begins.
    Service::start_in(config, store, skill_set, models, vec![channel], set_world).await.ok()
}

async fn serve(process: &Arc<Process>, config: &Config, store: Store) -> Result<(), String> {
    let begin_again = || Err(BEGIN_AGAIN.to_owned());
    let world = &process.world;
    let Some(service) = start(process, config, store).await else { return begin_again() };
    loop {
        let next = {
            let mut state = world.lock();
            if state.people_act() {
                world.arrived.notify_waiters();
            }
            state.agenda.keys().next().map(|(at, _)| at.saturating_sub(system::now()).max(1))
        };
        let pause = next.map_or(LOOK, |next| LOOK.min(Duration::from_millis(next)));
        tokio::time::sleep(pause).await;
        let is_waiting = next.is_some() || world.lock().queues.values().any(|queue| !queue.is_empty());
        let open = if is_waiting { "what people do".to_owned() } else { checker::open(process) };
        if open.is_empty() {
            break;
        }
        if system::now() > PATIENCE {
            return Err(format!("it never gets quiet: {open}"));
        }
    }
    // The work behind the last receipt.
    tokio::time::sleep(Duration::from_secs(2)).await;
    service.shut_down(Duration::from_secs(5)).await.or_else(|_| begin_again())
}
