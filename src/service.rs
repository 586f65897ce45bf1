//! The assembly: configuration in, a running assistant out. The only module that knows every part.

mod accounts;
mod channels;
mod delivery;
mod live;
mod metrics;
mod models;
pub mod private;
mod skill_set;
mod status;
mod store_maintenance;
mod tasks;
mod traces;
mod voice;
mod web;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

pub use accounts::{build_services, vectors};
use adjutant_chat::Inbound;
use adjutant_web::Web;
pub use channels::{Channel, connect, setup};
use channels::{ChannelParts, connect_each, receivers};
use delivery::{deliverer, show_progress};
pub use live::LiveConfig;
use models::models_by_name;
pub use models::{Models, build_models, model_of, unpriced};
use skill_set::watch_tools;
pub use skill_set::{SkillSet, check_skills, load_skills};
pub(crate) use skill_set::{load_roles, missing_models, role_paths, skill_layer};
use tokio::sync::{Notify, mpsc};

use tasks::{MAX_STEP, Tasks};
pub use traces::trace_collector;
pub use voice::{speaker, transcribers};
pub(crate) use web::moment;

use adjutant_config::document::{Problem, lines};
use adjutant_config::{Config, ConfigError};
use adjutant_engine::conversation::access::Access;
use adjutant_engine::conversation::rooms::cached_rules;
use adjutant_engine::conversation::watches::sync_configured;
use adjutant_engine::conversation::{Conversations, Running};
use adjutant_engine::gateway::SharedWorkerSet;
use adjutant_engine::gateway::events::{EndedTurns, dispatch};
use adjutant_engine::gateway::files::FileFetcher;
use adjutant_engine::gateway::health::Health;
use adjutant_engine::gateway::intake::{Intake, cached_conversations};
use adjutant_engine::gateway::lanes::Lanes;
use adjutant_engine::gateway::lanes::pace::Pace;
use adjutant_engine::gateway::maintenance::Maintenance;
use adjutant_engine::gateway::outbox::Deliverer;
use adjutant_engine::gateway::receiver::ChannelReceiver;
use adjutant_engine::gateway::scheduler::Scheduler;
use adjutant_engine::gateway::sharing::Cluster;
use adjutant_engine::gateway::watcher::Watcher;
use adjutant_engine::orchestrator::Orchestrator;
use adjutant_models::ModelError;
use adjutant_skills::breaker::Breakers;
use adjutant_skills::builtin::Services;
use adjutant_skills::executor::Executor;
use adjutant_skills::handlers::mcp::McpServers;
use adjutant_store::leases::Instance;
use adjutant_store::{Result, Store, StoreError, instances, people};
use adjutant_turn::journal::{TurnEventQueue, TurnEvents};
use adjutant_types::clock::SharedClock;
use adjutant_workflows::agents::Agents;
use adjutant_workflows::run::Runner;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{}", lines(.0))]
    Skills(Vec<Problem>),
    #[error("[model]: {0}")]
    Model(#[from] ModelError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("[channels.{name}]: {why}")]
    Channel {
        name: String,
        /// Why, and how to fix it.
        why: String,
    },
}

pub struct Service {
    store: Store,
    instance: Arc<Instance>,
    intake: Arc<Intake>,
    lanes: Arc<Lanes>,
    pub deliverer: Arc<Deliverer>,
    conversations: Arc<Conversations>,
    maintenance: Arc<Maintenance>,
    pub health: Arc<Health>,
    pub receivers: Vec<Arc<ChannelReceiver>>,
    pub watcher: Arc<Watcher>,
    /// The part of the configuration that changes at run time.
    pub live: Arc<LiveConfig>,
    page: Option<Arc<Web>>,
    ended: Arc<EndedTurns>,
    mcp: Arc<McpServers>,
    tasks: Tasks,
}

/// Opens the configured store. From then on, nothing we write is readable for other users.
pub async fn open_store(config: &Config, clock: SharedClock) -> Result<Store> {
    for path in private::restrict(config).closed {
        tracing::info!(path = %path.display(), "other users could read this; only you can now");
    }
    let tell = |place: &str| {
        // Without a stderr nobody waits.
        let _ = writeln!(io::stderr(), "Waiting for another program that uses {place}, 10 seconds at most …");
    };
    Store::open_telling(config.store.url.expose(), clock, tell).await
}

/// Builds what a start builds of the configuration alone, without the store or a network. Returns every problem.
pub fn check(config: &Config, clock: &SharedClock) -> Vec<StartError> {
    let skills = load_skills(config).and_then(|skill_set| {
        skill_set.workflows.current().log_problems();
        skill_set::check_roles(config, &skill_set.skills.current())
    });
    let traces = trace_collector(config, &"check".into()).map_err(StartError::from);
    let parts = [
        skills,
        build_models(config, clock).map(drop),
        build_services(config, BTreeMap::new()).map(drop),
        traces.map(drop),
    ];
    let channels = connect_each(config).into_iter().map(|channel| channel.map(drop));
    parts.into_iter().chain(channels).filter_map(Result::err).collect()
}

/// Says where the secrets are, and takes over those that an earlier version kept in files. Without them all else works.
async fn open_secrets(services: &Services, store: &Store) {
    services.secrets.attach(store);
    services.oauth.attach(store);
    let taken = services.oauth.take_over().await;
    let checked = services.secrets.check().await;
    if let Err(error) = taken.and(checked) {
        tracing::error!(%error, "stored logins can't be used");
    }
}

/// Tells other instances what this one is, and its operator where its settings differ from theirs.
async fn register_settings(store: &Store, instance: &Instance, config: &Config) -> Result<()> {
    instance.heartbeat(store).await?;
    instances::register(store, instance, &config.shared).await?;
    let living = instances::living(store).await?;
    let Some(own) = living.iter().find(|row| row.id == instance.id) else { return Ok(()) };
    for other in living.iter().filter(|other| other.id != own.id) {
        let keys = own.differing(other);
        if !keys.is_empty() {
            let (process, keys) = (format!("{} on {}", other.pid, other.host), keys.join(", "));
            tracing::warn!(process, keys, "another instance on this store has other settings");
        }
    }
    Ok(())
}

/// Registers this process, which shares the turns of its channels and the rate limits of its models with others. What a
/// terminal's process does is its own.
async fn register(
    store: &Store,
    config: &Config,
    channels: &[Channel],
    models: &Models,
) -> Result<(Arc<Instance>, Tasks)> {
    let is_terminal = channels.iter().any(|channel| channel.connection.is_none());
    let shares = channels.iter().filter(|_| !is_terminal).map(|channel| channel.port.channel().to_owned());
    let instance = Arc::new(Instance::register_sharing(store, shares.collect()).await?);
    register_settings(store, &instance, config).await?;
    let tasks = Tasks::sharing(&models.rate_limits, store, &instance);
    Ok((instance, tasks))
}

impl Service {
    /// Assembles the parts, starts them and takes over what an earlier process left.
    pub async fn start(
        config: &Config,
        store: Store,
        skill_set: SkillSet,
        models: Models,
        channels: Vec<Channel>,
    ) -> Result<Self, StartError> {
        Self::start_in(config, store, skill_set, models, channels, |_| {}).await
    }

    /// The same where the world outside is another one than the configuration's.
    pub async fn start_in(
        config: &Config,
        store: Store,
        skill_set: SkillSet,
        models: Models,
        channels: Vec<Channel>,
        set_world: impl FnOnce(&mut Services),
    ) -> Result<Self, StartError> {
        let (instance, tasks) = register(&store, config, &channels, &models).await?;
        let ChannelParts { ports, filters, allow, places, connections, rooms, page } =
            ChannelParts::of(channels);
        let mut services = skill_set.services(build_services(config, rooms)?);
        set_world(&mut services);
        let services = Arc::new(services);
        open_secrets(&services, &store).await;
        skill_set.load_tools(&store).await?;
        let live = LiveConfig::new(config, allow, models.prices.clone());
        let renderer = voice::renderer(config, &live)?;
        let health = Arc::new(Health::of(connections.iter().map(|(name, _)| name.clone())));
        let cluster = Arc::new(Cluster::new(instance.clone(), health.clone()));
        let deliverer = deliverer(&store, (&instance, &cluster), ports, filters, renderer);
        let (events, event_queue) = TurnEvents::channel();
        let orchestrator = orchestrator(config, &skill_set, models, services.clone(), store.clock());
        let conversations =
            conversations(config, (&store, &instance, &live), orchestrator, (events, &deliverer));
        let access = Arc::new(Access { settings: live.settings.clone() });
        let lanes = Arc::new(Lanes {
            conversations: conversations.clone(),
            access: access.clone(),
            workers: SharedWorkerSet::default(),
            pace: Pace::default(),
            transcriber: voice::transcriber(config, &deliverer.ports, store.clock())?,
            fetcher: FileFetcher::new(&store, &instance.id, &deliverer.ports, &services),
            cluster,
            draining: tasks.stop.child_token(),
        });
        let intake = Arc::new(Intake {
            conversations: conversations.clone(),
            access: access.clone(),
            lanes: lanes.clone(),
            cached: cached_conversations(),
        });
        let maintenance = Arc::new(Maintenance {
            conversations: conversations.clone(),
            lanes: lanes.clone(),
            deliverer: deliverer.clone(),
            channels: places,
            scheduler: Scheduler {
                conversations: conversations.clone(),
                access,
                catch_up: config.catch_up,
                judging: Arc::default(),
            },
            health: health.clone(),
        });
        sync_configured(&store, config).await?;
        maintenance.wake_left_over().await?;
        let mut service = Self {
            receivers: receivers(connections, &intake, &maintenance),
            watcher: Arc::new(Watcher::new(conversations.clone(), config.catch_up)),
            store,
            instance,
            intake,
            lanes,
            deliverer,
            conversations,
            maintenance,
            health,
            live,
            page,
            ended: Arc::default(),
            mcp: skill_set.mcp.clone(),
            tasks,
        };
        service.spawn_tasks(skill_set, services, event_queue);
        Ok(service)
    }

    fn spawn_tasks(&mut self, skill_set: SkillSet, services: Arc<Services>, events: TurnEventQueue) {
        let tasks = &mut self.tasks;
        let stop = tasks.stop.clone();
        for receiver in &self.receivers {
            let (name, receiver) = (format!("the receiver of {}", receiver.channel), receiver.clone());
            let stop = stop.clone();
            tasks.spawn(&name, MAX_STEP, async move {
                let _ = stop.run_until_cancelled(receiver.listen()).await;
            });
        }
        let (displays, progress) = mpsc::channel(256);
        // Both wait for as long as no turn runs.
        let dispatch = dispatch(events, self.deliverer.clone(), displays, self.ended.clone());
        let drained = tasks.drained.clone();
        tasks.spawn("the events of turns", None, async move {
            let _ = drained.run_until_cancelled(dispatch).await;
        });
        let show_progress = show_progress(self.deliverer.ports.clone(), progress, stop.clone());
        tasks.spawn("progress", None, show_progress);
        let maintenance = &self.maintenance;
        tasks.spawn("maintenance", MAX_STEP, maintenance.clone().work(stop.clone()));
        tasks.spawn("the listener to other instances", MAX_STEP, maintenance.clone().listen(stop.clone()));
        // Someone who asks a single question in the terminal wants to see nothing else.
        if self.deliverer.filters.is_empty() {
            tasks.spawn("what is watched", MAX_STEP, self.watcher.clone().work(stop.clone()));
            // It waits for as long as nothing is found.
            tasks.spawn("what is found", None, maintenance.clone().tell_found(stop.clone()));
        }
        if self.lanes.cluster.is_on() {
            let share = maintenance.clone().share(stop.clone());
            tasks.spawn("the sharing of turns", MAX_STEP, share);
            // Both wait for as long as there is nothing to tell.
            tasks.spawn("telling other instances", None, maintenance.clone().tell(stop.clone()));
            tasks.spawn("hearing other instances", None, maintenance.clone().hear(stop.clone()));
            tasks.spawn("the heartbeat", MAX_STEP, maintenance.clone().beat(stop.clone()));
            tasks.spawn("old progress", None, maintenance.clone().clear_shown(stop.clone()));
        }
        tasks.spawn("the watch on skill files", MAX_STEP, skill_set.skills.clone().watch(stop.clone()));
        tasks.spawn("the watch on role files", MAX_STEP, skill_set.roles.clone().watch(stop.clone()));
        let watch = watch_tools(skill_set, self.store.clone(), stop.clone());
        tasks.spawn("the watch on what owners approve", MAX_STEP, watch);
        let watch_mail = accounts::watch_mail(services, self.deliverer.clone(), stop);
        tasks.spawn("the mail check", MAX_STEP, watch_mail);
    }

    /// Does right away what is done every few seconds: looks at what is watched, frees the leases of dead processes and ends
    /// expired questions.
    pub async fn tend(&self) -> Result<()> {
        self.watcher.look().await?;
        self.maintenance.run_once().await
    }

    /// Takes an arrival: journals it, lets the caller acknowledge it, and starts work on it. Once acknowledged, it can't
    /// be lost. Returns whether it is new.
    pub async fn accept(&self, inbound: Inbound, acknowledge: impl AsyncFnOnce()) -> Result<bool> {
        let journalled = self.intake.journal(inbound).await?;
        acknowledge().await;
        Ok(journalled.map(|journalled| self.intake.dispatch(journalled)).is_some())
    }

    /// Stops the running turns of a chat. Returns whether there were any.
    pub async fn stop_turns(&self, channel: &str, chat: &str) -> Result<bool> {
        let Some(conversation) = people::find_conversation(&self.store, channel, chat).await? else {
            return Ok(false);
        };
        let running = self.conversations.running.of(&conversation.id);
        running.iter().for_each(|handle| handle.cancel.cancel());
        Ok(!running.is_empty())
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Declines what MCP servers ask while a call runs: this process ends before anybody could answer.
    pub fn holds_no_calls(&self) {
        self.mcp.hold_no_calls();
    }

    /// Starts nothing new, gives running turns up to `patience` to end, and stops. The next process takes over the rest.
    pub async fn shut_down(mut self, patience: Duration) -> Result<()> {
        self.tasks.stop.cancel();
        let _ = tokio::time::timeout(patience, self.idle()).await;
        self.tasks.drained.cancel();
        while self.tasks.set.join_next().await.is_some() {}
        self.mcp.stop().await;
        self.instance.leave_and_close(&self.store).await
    }
}

fn conversations(
    config: &Config,
    (store, instance, live): (&Store, &Arc<Instance>, &LiveConfig),
    orchestrator: Orchestrator,
    (events, deliverer): (TurnEvents, &Arc<Deliverer>),
) -> Arc<Conversations> {
    let deliverer = deliverer.clone();
    Arc::new(Conversations {
        store: store.clone(),
        instance: instance.clone(),
        orchestrator: Arc::new(orchestrator),
        settings: live.settings.clone(),
        zone: config.assistant.timezone,
        speaks: config.voice.speak.is_some(),
        events,
        lock_chat: Arc::new(move |conversation, row| deliverer.lock_chat(conversation, row)),
        running: Running::default(),
        room_rules: cached_rules(),
        found: Notify::new(),
    })
}

fn orchestrator(
    config: &Config,
    skill_set: &SkillSet,
    models: Models,
    services: Arc<Services>,
    clock: &SharedClock,
) -> Orchestrator {
    let executor = Executor {
        work_dir: config.data_dir.join("work"),
        services,
        breakers: Breakers::default(),
        intent: models.intent,
        launcher: config.launcher(),
    };
    let model = models_by_name(config, clock, (&models.agent, &models.rate_limits));
    let agents = Arc::new(Agents {
        executor,
        model: models.agent,
        roles: skill_set.roles.clone(),
        named: model.clone(),
        prefixes: moka::future::Cache::new(256),
    });
    let folder = config.skill_paths().first().map(|path| path.join("workflows"));
    let runner = Runner { workflows: skill_set.workflows.clone(), agents: agents.clone(), folder, model };
    Orchestrator {
        name: config.assistant.name.clone(),
        model: models.orchestrator,
        basic: models.basic,
        skills: skill_set.skills.clone(),
        agents,
        runner: Arc::new(runner),
        prefixes: moka::future::Cache::new(8),
    }
}

#[cfg(test)]
mod tests;
