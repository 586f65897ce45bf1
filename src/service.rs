//! The assembly: the only file that knows every part. Configuration in, a running assistant out.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use adjutant_chat::{ChatPort, Inbound, Progress};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agents::Agents;
use crate::clock::SharedClock;
use crate::config::{BUILTIN, Chain, Config, ConfigError, Endpoint};
use crate::conversation::{Conversations, Running};
use crate::gateway::SharedWakers;
use crate::gateway::access::Access;
use crate::gateway::intake::Intake;
use crate::gateway::lanes::Lanes;
use crate::gateway::outbox::{Delivering, Wants};
use crate::gateway::upkeep::Upkeep;
use crate::journal::Hooks;
use crate::model::builtin::{IntentSource, Intents, Lookup, Planner};
use crate::model::price::Price;
use crate::model::provider::{self, Provider, ProviderConfig};
use crate::model::resilience::Resilient;
use crate::model::{ModelError, SharedModel};
use crate::orchestrator::Orchestrator;
use crate::skills::breaker::Breakers;
use crate::skills::executor::Executor;
use crate::skills::handlers::{HttpClient, own_store};
use crate::skills::{Fault, Registry, Skills};
use crate::store::leases::Instance;
use crate::store::{Store, StoreError};

/// Why the assistant can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Skill files are wrong.
    #[error("{}", faults(.0))]
    Skills(Vec<Fault>),
    /// The model can't be set up.
    #[error("[model]: {0}")]
    Model(#[from] ModelError),
    /// The store can't be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn faults(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What a process does with its channel.
pub struct Channel {
    /// The connected channel.
    pub port: Arc<dyn ChatPort>,
    /// The one place it looks after; none is all of the channel.
    pub place: Option<String>,
    /// Which replies it delivers, if not all.
    pub wants: Option<Wants>,
}

/// The models of the two kinds of work.
pub struct Models {
    /// The orchestrator's.
    pub orchestrator: SharedModel,
    /// The sub-agents'.
    pub agent: SharedModel,
}

/// A running assistant.
pub struct Service {
    store: Store,
    instance: Arc<Instance>,
    intake: Intake,
    lanes: Arc<Lanes>,
    delivering: Arc<Delivering>,
    conversations: Arc<Conversations>,
    upkeep: Arc<Upkeep>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

/// Opens the store that the configuration names.
///
/// # Errors
/// [`StoreError::Open`] or [`StoreError::Newer`], with the mend.
pub async fn open_store(config: &Config, clock: SharedClock) -> Result<Store, StoreError> {
    Store::open(config.store.url.expose(), clock).await
}

/// Loads the skills, and checks what the configuration says of them.
///
/// # Errors
/// The faults of the skill files, or of `[approval.skills]`.
pub fn load_skills(config: &Config) -> Result<Arc<Skills>, StartError> {
    let skills = Skills::load(&config.skills.paths, &own_store::BUILTINS).map_err(StartError::Skills)?;
    let registry = skills.current();
    let names = registry.domains().iter().flat_map(|domain| &domain.skills);
    let names: Vec<&str> = names.map(|skill| skill.name.as_str()).collect();
    config.check_skills(&names)?;
    Ok(Arc::new(skills))
}

/// Builds the models that the configuration names.
///
/// # Errors
/// When a provider can't be set up.
pub fn build_models(
    config: &Config,
    skills: &Arc<Skills>,
    clock: &SharedClock,
) -> Result<Models, StartError> {
    let orchestrator = chain(&config.model.main, skills, clock)?;
    let agent = match &config.model.agent {
        Some(own) => chain(own, skills, clock)?,
        None => orchestrator.clone(),
    };
    Ok(Models { orchestrator, agent })
}

fn chain(chain: &Chain, skills: &Arc<Skills>, clock: &SharedClock) -> Result<SharedModel, StartError> {
    if chain.first.provider == BUILTIN && chain.fallback.is_empty() {
        return Ok(planner(skills.clone()));
    }
    let client = provider::http_client()?;
    let mut models: Vec<(String, SharedModel)> = Vec::new();
    for endpoint in std::iter::once(&chain.first).chain(&chain.fallback) {
        let model = match endpoint.provider.as_str() {
            BUILTIN => planner(skills.clone()),
            _ => Arc::new(Provider::with_client(provider_config(endpoint), client.clone())?),
        };
        models.push((format!("{}/{}", endpoint.provider, endpoint.name), model));
    }
    Ok(Arc::new(Resilient::new(models, clock.clone())))
}

fn provider_config(endpoint: &Endpoint) -> ProviderConfig {
    ProviderConfig {
        provider: endpoint.provider.clone(),
        name: endpoint.name.clone(),
        api_key: endpoint.api_key.as_ref().map(|key| key.expose().to_owned()),
        base_url: endpoint.base_url.clone(),
        timeout: endpoint.timeout,
        price: endpoint.price.as_ref().map(|price| Price {
            input: price.input,
            cached_input: price.cached_input,
            output: price.output,
        }),
    }
}

/// The built-in planner, which follows the skills as they are reloaded.
fn planner(skills: Arc<Skills>) -> SharedModel {
    let compiled: RwLock<(Weak<Registry>, Arc<Intents>)> = RwLock::default();
    Arc::new(Planner::new(Arc::new(move || {
        let registry = skills.current();
        let read = compiled.read().unwrap_or_else(PoisonError::into_inner);
        if read.0.upgrade().is_some_and(|known| Arc::ptr_eq(&known, &registry)) {
            return read.1.clone();
        }
        drop(read);
        let intents = Arc::new(intents(&registry));
        *compiled.write().unwrap_or_else(PoisonError::into_inner) =
            (Arc::downgrade(&registry), intents.clone());
        intents
    })))
}

fn intents(registry: &Registry) -> Intents {
    let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
    let sources = skills.flat_map(|skill| {
        skill.intents.iter().map(|intent| IntentSource {
            skill: skill.name.clone(),
            pattern: intent.pattern.clone(),
            arguments: intent.arguments.clone(),
            lookup: intent
                .lookup
                .as_ref()
                .map(|lookup| Lookup { skill: lookup.skill.clone(), arguments: lookup.arguments.clone() }),
            example: intent.example.clone(),
        })
    });
    Intents::new(sources.collect()).unwrap_or_else(|error| {
        tracing::error!(%error, "the built-in planner can't use the skills' patterns");
        Intents::default()
    })
}

impl Service {
    /// Puts everything together and takes up what an earlier process left.
    ///
    /// # Errors
    /// When something the configuration names can't be had.
    pub async fn start(
        config: &Config,
        store: Store,
        skills: Arc<Skills>,
        models: Models,
        channel: Channel,
    ) -> Result<Self, StartError> {
        let instance = Arc::new(Instance::register(&store).await?);
        instance.tend(&store).await?;
        let delivering = Arc::new(Delivering {
            store: store.clone(),
            instance: instance.id.clone(),
            pulse: instance.pulse.clone(),
            ports: HashMap::from([(channel.port.channel().to_owned(), channel.port.clone())]),
            wants: channel.wants,
            sending: tokio::sync::RwLock::default(),
            wakers: SharedWakers::default(),
        });
        let (hooks, progress) = hooks(&delivering);
        let hooks = Arc::new(hooks);
        let orchestrator = orchestrator(config, &skills, models);
        let conversations = Arc::new(Conversations {
            store: store.clone(),
            instance: instance.clone(),
            orchestrator: Arc::new(orchestrator),
            limits: config.limits.clone(),
            zone: config.assistant.timezone,
            owners: owners(config),
            hooks,
            running: Running::default(),
        });
        let stop = CancellationToken::new();
        let lanes = Arc::new(Lanes {
            conversations: conversations.clone(),
            access: Access::Terminal,
            wakers: SharedWakers::default(),
            draining: stop.child_token(),
        });
        let known = moka::future::Cache::builder().max_capacity(10_000).time_to_live(Duration::from_mins(5));
        let intake =
            Intake { conversations: conversations.clone(), lanes: lanes.clone(), known: known.build() };
        let upkeep = Arc::new(Upkeep {
            conversations: conversations.clone(),
            lanes: lanes.clone(),
            delivering: delivering.clone(),
            channel: channel.port.channel().to_owned(),
            place: channel.place,
        });
        upkeep.take_up().await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(show(channel.port, progress, stop.clone()));
        tasks.spawn(upkeep.clone().work(stop.clone()));
        tasks.spawn(upkeep.clone().listen(stop.clone()));
        tasks.spawn(skills.watch(stop.clone()));
        Ok(Self { store, instance, intake, lanes, delivering, conversations, upkeep, stop, tasks })
    }

    /// Does at once what is else done every second: frees what dead processes held, and ends questions
    /// whose time is up.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tend(&self) -> Result<(), StoreError> {
        self.upkeep.tend().await
    }

    /// Takes something that arrived: journals it, lets the caller acknowledge it, and sets it going.
    /// Once it is acknowledged it is not lost. Returns false for what had been journalled before.
    ///
    /// # Errors
    /// When the store fails.
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
    ///
    /// # Errors
    /// When the store fails.
    pub async fn left_is_said(&self, channel: &str) -> Result<(), StoreError> {
        self.delivering.left_is_said(channel).await
    }

    /// See [`Delivering::receipts_stored`].
    pub async fn receipts_stored(&self, inbound: &Inbound) {
        self.delivering.receipts_stored(inbound).await;
    }

    /// Stops the turns at work in a place. Returns whether there were any.
    ///
    /// # Errors
    /// When the store fails.
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

    /// Whether nothing is at work and everything is delivered that this process delivers.
    pub fn is_idle(&self) -> bool {
        self.lanes.wakers.are_idle() && self.delivering.wakers.are_idle()
    }

    /// Waits until nothing is at work.
    pub async fn idle(&self) {
        while !self.is_idle() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
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
        while self.tasks.join_next().await.is_some() {}
        self.instance.leave(&self.store).await?;
        self.store.close().await;
        Ok(())
    }
}

fn owners(config: &Config) -> Vec<String> {
    let mut owners = config.assistant.owner.clone();
    // Whoever sits at this machine's terminal owns what runs on it.
    owners.push("console:local".into());
    owners
}

/// Progress goes through a channel, so that it is shown in order and no turn waits for a screen.
fn hooks(delivering: &Arc<Delivering>) -> (Hooks, mpsc::Receiver<Progress>) {
    let delivering = delivering.clone();
    let (sender, receiver) = mpsc::channel(256);
    let hooks = Hooks {
        outbox: Box::new(move |conversation| delivering.wake(conversation)),
        // A display that can't follow misses a step; the next one shows all.
        progress: Box::new(move |progress| drop(sender.try_send(progress))),
    };
    (hooks, receiver)
}

async fn show(port: Arc<dyn ChatPort>, mut progress: mpsc::Receiver<Progress>, stop: CancellationToken) {
    while let Some(Some(progress)) = stop.run_until_cancelled(progress.recv()).await {
        port.progress(&progress).await;
    }
}

fn orchestrator(config: &Config, skills: &Arc<Skills>, models: Models) -> Orchestrator {
    let executor = Executor {
        approval: config.approval.clone(),
        http: HttpClient::new(),
        work_dir: work_dir(&config.data_dir),
        breakers: Breakers::default(),
    };
    Orchestrator {
        name: config.assistant.name.clone(),
        model: models.orchestrator,
        skills: skills.clone(),
        agents: Arc::new(Agents { executor, model: models.agent, prefixes: moka::future::Cache::new(256) }),
        prefixes: moka::future::Cache::new(8),
    }
}

fn work_dir(data_dir: &Path) -> std::path::PathBuf {
    data_dir.join("work")
}
