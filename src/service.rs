//! The assembly: the only file that knows every part. Configuration in, a running assistant out.

mod accounts;
mod background;
mod channels;
mod delivery;
mod live;
mod models;
mod scrape;
mod status;
mod traces;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use accounts::build_services;
use adjutant_chat::{Connection, Inbound};
use channels::Seats;
pub use channels::{Channel, connect, setup};
use delivery::{delivering, hooks, show};
pub use live::Live;
use models::named;
pub use models::{Models, build_models, model_of, unpriced};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
pub use traces::collector;

use crate::agents::Agents;
use crate::clock::SharedClock;
use crate::config::{Config, ConfigError};
use crate::conversation::access::Access;
use crate::conversation::{Conversations, Running};
use crate::document::Problem;
use crate::gateway::SharedWakers;
use crate::gateway::intake::{Intake, KnownPlaces};
use crate::gateway::lanes::Lanes;
use crate::gateway::maintenance::Maintenance;
use crate::gateway::outbox::Delivering;
use crate::gateway::pace::Pace;
use crate::gateway::receiver::{ChannelReceiver, Health};
use crate::gateway::scheduler::Scheduler;
use crate::journal::Hooks;
use crate::lifecycle::steps::Steps;
use crate::model::ModelError;
use crate::orchestrator::Orchestrator;
use crate::skills::breaker::Breakers;
use crate::skills::builtin::Services;
use crate::skills::executor::Executor;
use crate::skills::{Layer, Skills, builtin};
use crate::store::leases::Instance;
use crate::store::{Store, StoreError};
use crate::workflows::catalogue::Workflows;
use crate::workflows::run::Runner;
use crate::workflows::skill;

/// No task of a service that is well waits for longer between two steps, whatever fails around it.
const LONGEST_STEP: Option<Duration> = Some(Duration::from_mins(3));

/// Why the assistant can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Skill files are wrong.
    #[error("{}", faults(.0))]
    Skills(Vec<Problem>),
    /// The model can't be set up.
    #[error("[model]: {0}")]
    Model(#[from] ModelError),
    /// The store can't be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A channel can't be set up.
    #[error("[channels.{name}]: {why}")]
    Channel {
        /// Which.
        name: String,
        /// Why, with the mend.
        why: String,
    },
}

fn faults(faults: &[Problem]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A running assistant.
pub struct Service {
    store: Store,
    instance: Arc<Instance>,
    intake: Arc<Intake>,
    lanes: Arc<Lanes>,
    delivering: Arc<Delivering>,
    conversations: Arc<Conversations>,
    maintenance: Arc<Maintenance>,
    /// How the channels' receiving goes.
    pub health: Arc<Health>,
    /// Where what the channels bring comes in.
    pub doors: Vec<Arc<ChannelReceiver>>,
    /// What changes while it runs.
    pub live: Arc<Live>,
    steps: Steps,
    stop: CancellationToken,
    /// Ends when no turn is at work any more, and none will be.
    quiet: CancellationToken,
    tasks: JoinSet<()>,
}

/// Opens the store that the configuration names.
///
/// # Errors
/// [`StoreError::Open`] or [`StoreError::Newer`], with the mend.
pub async fn open_store(config: &Config, clock: SharedClock) -> Result<Store, StoreError> {
    Store::open(config.store.url.expose(), clock).await
}

/// What the assistant can do. Both are of the same moment, whenever the files are read again.
#[derive(Debug, Clone)]
pub struct SkillSet {
    /// The skills, those too that the workflows are.
    pub skills: Arc<Skills>,
    /// The workflows, which the skills keep up to date.
    pub workflows: Arc<Workflows>,
}

/// Loads the skills and the workflows, and checks what the configuration says of them. A faulty workflow is left out.
///
/// # Errors
/// The faults of the skill files, or of `[approval.skills]`.
pub fn load_skills(config: &Config) -> Result<SkillSet, StartError> {
    let builtins = builtin::names(!config.channels.is_empty());
    let (layer, workflows) = workflows_of(config);
    let skills =
        Skills::load_with(&config.skills.paths, &builtins, Some(layer)).map_err(StartError::Skills)?;
    check_skills(config, &skills)?;
    Ok(SkillSet { skills: Arc::new(skills), workflows })
}

/// The workflows of a configuration, and the layer that reads them and lays them over the skills.
pub(crate) fn workflows_of(config: &Config) -> (Layer, Arc<Workflows>) {
    let workflows = Arc::new(Workflows::new(&config.skills.paths, &config.approval));
    let read = Arc::clone(&workflows);
    let layer = Layer::new(move |skills| skill::domain(&read.reload(skills)).into_iter().collect());
    (layer, workflows)
}

/// Checks what a configuration says of these skills.
///
/// # Errors
/// The faults of `[approval.skills]`.
pub fn check_skills(config: &Config, skills: &Skills) -> Result<(), ConfigError> {
    let registry = skills.current();
    let names = registry.domains().iter().flat_map(|domain| &domain.skills);
    let names: Vec<&str> = names.map(|skill| skill.name.as_str()).collect();
    config.check_skills(&names)
}

impl Service {
    /// Puts everything together and takes up what an earlier process left.
    ///
    /// # Errors
    /// When something the configuration names can't be had.
    pub async fn start(
        config: &Config,
        store: Store,
        known: SkillSet,
        models: Models,
        channels: Vec<Channel>,
    ) -> Result<Self, StartError> {
        let instance = Arc::new(Instance::register(&store).await?);
        instance.tend(&store).await?;
        let mut seats = Seats::of(channels);
        let delivering = delivering(&store, &instance, &mut seats);
        let (hooks, progress) = hooks(&delivering);
        let accounts = Arc::new(build_services(config, std::mem::take(&mut seats.rooms))?);
        let live = Live::new(config, std::mem::take(&mut seats.allow), models.prices.clone());
        let orchestrator = orchestrator(config, &known, models, accounts.clone(), store.clock());
        let conversations = conversations(config, (&store, &instance, &live), orchestrator, hooks);
        let (stop, access) = (CancellationToken::new(), Arc::new(Access { settings: live.settings.clone() }));
        let lanes = Arc::new(Lanes {
            conversations: conversations.clone(),
            access: access.clone(),
            wakers: SharedWakers::default(),
            pace: Pace::default(),
            draining: stop.child_token(),
        });
        let intake = Arc::new(Intake {
            conversations: conversations.clone(),
            access: access.clone(),
            lanes: lanes.clone(),
            known: known_places(),
        });
        let health = Arc::new(Health::of(seats.connections.iter().map(|(name, _)| name.clone())));
        let maintenance = Arc::new(Maintenance {
            conversations: conversations.clone(),
            lanes: lanes.clone(),
            delivering: delivering.clone(),
            channels: seats.places,
            scheduler: scheduler(config, &conversations, &access),
            health: health.clone(),
        });
        maintenance.take_up().await?;
        let (mut tasks, steps) = (JoinSet::new(), Steps::default());
        let doors = doors(seats.connections, &intake, &maintenance);
        doors.iter().for_each(|receiver| drop(tasks.spawn(listen(receiver, &steps, &stop))));
        // It waits for as long as nobody does anything.
        tasks.spawn(steps.watch("progress", None, show(delivering.ports.clone(), progress, stop.clone())));
        tasks.spawn(steps.watch("the maintenance", LONGEST_STEP, maintenance.clone().work(stop.clone())));
        tasks.spawn(steps.watch(
            "the word from others",
            LONGEST_STEP,
            maintenance.clone().listen(stop.clone()),
        ));
        tasks.spawn(steps.watch("the look at the skills", LONGEST_STEP, known.skills.watch(stop.clone())));
        let watch_mail = accounts::watch_mail(accounts, delivering.clone(), stop.clone());
        tasks.spawn(steps.watch("the look at the mail", LONGEST_STEP, watch_mail));
        Ok(Self {
            store,
            instance,
            intake,
            lanes,
            delivering,
            conversations,
            maintenance,
            health,
            doors,
            live,
            steps,
            stop,
            quiet: CancellationToken::new(),
            tasks,
        })
    }

    /// Does at once what is else done every second: frees what dead processes held, and ends questions
    /// whose time is up.
    pub async fn tend(&self) -> Result<(), StoreError> {
        self.maintenance.tend().await
    }

    /// Takes something that arrived: journals it, lets the caller acknowledge it, and sets it going.
    /// Once it is acknowledged it is not lost. Returns false for what had been journalled before.
    pub async fn accept(
        &self,
        inbound: Inbound,
        acknowledge: impl AsyncFnOnce(),
    ) -> Result<bool, StoreError> {
        let journalled = self.intake.journal(inbound).await?;
        acknowledge().await;
        let is_new = journalled.is_some();
        if let Some(journalled) = journalled {
            self.intake.hand_on(journalled);
        }
        Ok(is_new)
    }

    /// See [`Delivering::left_is_said`].
    pub async fn left_is_said(&self, channel: &str) -> Result<(), StoreError> {
        self.delivering.left_is_said(channel).await
    }

    /// See [`Delivering::receipts_stored`].
    pub async fn receipts_stored(&self, inbound: &Inbound) {
        self.delivering.receipts_stored(inbound).await;
    }

    /// Stops the turns at work in a place. Returns whether there were any.
    pub async fn stop_turns(&self, channel: &str, place: &str) -> Result<bool, StoreError> {
        let Some(conversation) = crate::store::people::find_conversation(&self.store, channel, place).await?
        else {
            return Ok(false);
        };
        let running = self.conversations.running.of(&conversation.id);
        for handle in &running {
            handle.cancel.cancel();
        }
        Ok(!running.is_empty())
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Starts nothing new, lets what runs come to its end for up to `patience`, and leaves.
    ///
    /// # Errors
    /// When the store fails; what was left is taken up by the next process.
    pub async fn shut_down(mut self, patience: Duration) -> Result<(), StoreError> {
        self.stop.cancel();
        // What is not over by then goes on in the next process, from the journal.
        let _ = tokio::time::timeout(patience, self.idle()).await;
        self.quiet.cancel();
        while self.tasks.join_next().await.is_some() {}
        self.instance.leave(&self.store).await?;
        self.store.close().await;
        Ok(())
    }
}

fn conversations(
    config: &Config,
    (store, instance, live): (&Store, &Arc<Instance>, &Live),
    orchestrator: Orchestrator,
    hooks: Hooks,
) -> Arc<Conversations> {
    Arc::new(Conversations {
        store: store.clone(),
        instance: instance.clone(),
        orchestrator: Arc::new(orchestrator),
        settings: live.settings.clone(),
        zone: config.assistant.timezone,
        hooks: Arc::new(hooks),
        running: Running::default(),
    })
}

fn scheduler(config: &Config, conversations: &Arc<Conversations>, access: &Arc<Access>) -> Scheduler {
    let (conversations, access) = (conversations.clone(), access.clone());
    Scheduler { conversations, access, catch_up: config.catch_up }
}

fn known_places() -> KnownPlaces {
    moka::future::Cache::builder().max_capacity(10_000).time_to_live(Duration::from_mins(5)).build()
}

fn doors(
    connections: Vec<(String, Arc<dyn Connection>)>,
    intake: &Arc<Intake>,
    maintenance: &Arc<Maintenance>,
) -> Vec<Arc<ChannelReceiver>> {
    let receiver = |(channel, connection)| {
        Arc::new(ChannelReceiver {
            intake: intake.clone(),
            channel,
            connection,
            maintenance: maintenance.clone(),
        })
    };
    connections.into_iter().map(receiver).collect()
}

fn listen(
    receiver: &Arc<ChannelReceiver>,
    steps: &Steps,
    stop: &CancellationToken,
) -> impl Future<Output = ()> + use<> {
    let (name, receiver, stop) =
        (format!("the receiver of {}", receiver.channel), receiver.clone(), stop.clone());
    steps.watch(&name, LONGEST_STEP, async move {
        let _ = stop.run_until_cancelled(receiver.listen()).await;
    })
}

fn orchestrator(
    config: &Config,
    known: &SkillSet,
    models: Models,
    services: Arc<Services>,
    clock: &SharedClock,
) -> Orchestrator {
    let executor = Executor { work_dir: work_dir(&config.data_dir), services, breakers: Breakers::default() };
    let named = named(config, &known.skills, clock, &models.agent);
    let agents = Arc::new(Agents { executor, model: models.agent, prefixes: moka::future::Cache::new(256) });
    let folder = config.skills.paths.first().map(|path| path.join("workflows"));
    let runner = Runner { workflows: known.workflows.clone(), agents: agents.clone(), folder, model: named };
    Orchestrator {
        name: config.assistant.name.clone(),
        model: models.orchestrator,
        skills: known.skills.clone(),
        agents,
        runner: Arc::new(runner),
        prefixes: moka::future::Cache::new(8),
    }
}

fn work_dir(data_dir: &Path) -> std::path::PathBuf {
    data_dir.join("work")
}

#[cfg(test)]
mod tests;
