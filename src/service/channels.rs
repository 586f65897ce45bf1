//! The configured channels. The only file that knows every platform.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use adjutant_chat::{ChatPort, Connection, Rooms, SetupGuide};
use adjutant_config::{ChannelConfig, Config, Kind, Platform, Secret};
use adjutant_engine::gateway::intake::Intake;
use adjutant_engine::gateway::maintenance::Maintenance;
use adjutant_engine::gateway::outbox::DeliveryFilter;
use adjutant_engine::gateway::receiver::ChannelReceiver;
use adjutant_web::Web;
use parking_lot::Mutex;

use super::StartError;

/// A channel and what this process does with it.
pub struct Channel {
    pub port: Arc<dyn ChatPort>,
    /// Receives; a terminal has none and calls [`Service::accept`].
    pub connection: Option<Arc<dyn Connection>>,
    /// Reads its rooms, if the platform can.
    pub rooms: Option<Arc<dyn Rooms>>,
    /// The one place that this process serves; none is all of them.
    pub place: Option<String>,
    /// Selects the replies to deliver, if not all.
    pub filter: Option<DeliveryFilter>,
    pub page: Option<Arc<Web>>,
    /// The platform's ids of those who may talk to the assistant; `*` is everyone.
    pub allow: Vec<String>,
}

impl Channel {
    /// A channel that everyone may use, because the machine has let them in.
    pub fn open(port: Arc<dyn ChatPort>) -> Self {
        let allow = vec!["*".to_owned()];
        Self { port, connection: None, rooms: None, place: None, filter: None, page: None, allow }
    }

    fn connected<P: ChatPort + Connection + Rooms + 'static>(
        platform: Arc<P>,
        config: &ChannelConfig,
    ) -> Self {
        let (allow, connection) = (config.allow.clone(), platform.clone());
        Self { connection: Some(connection), rooms: Some(platform.clone()), allow, ..Self::open(platform) }
    }
}

/// Sets up the configured channels; they connect when the service starts.
pub fn connect(config: &Config) -> Result<Vec<Channel>, StartError> {
    connect_each(config).into_iter().collect()
}

pub(super) fn connect_each(config: &Config) -> Vec<Result<Channel, StartError>> {
    let enabled = config.channels.iter().filter(|(_, channel)| channel.enabled);
    // Each loads the system's certificates, which takes longer than anything else at start-up.
    std::thread::scope(|scope| {
        let assistant = &config.assistant.name;
        let started =
            enabled.map(|(name, channel)| (name, scope.spawn(move || connect_one(name, channel, assistant))));
        let started: Vec<_> = started.collect();
        let done = started.into_iter().map(|(name, channel)| {
            let panicked =
                |_| StartError::Channel { name: name.clone(), why: "the setup panicked".to_owned() };
            channel.join().unwrap_or_else(|panic| Err(panicked(panic)))
        });
        done.collect()
    })
}

fn connect_one(name: &str, config: &ChannelConfig, assistant: &str) -> Result<Channel, StartError> {
    let (channel, api_url) = (name.to_owned(), config.api_url.clone());
    let refused = |why: String| StartError::Channel { name: name.to_owned(), why };
    match &config.platform {
        Platform::Telegram(token) => {
            let token = token.expose().to_owned();
            let settings = adjutant_telegram::Settings { channel, token, api_url };
            let telegram =
                adjutant_telegram::connect(settings).map_err(|error| refused(error.to_string()))?;
            Ok(Channel::connected(Arc::new(telegram), config))
        }
        Platform::Discord(token) => {
            let token = token.expose().to_owned();
            let settings = adjutant_discord::Settings { channel, token, api_url };
            let discord = adjutant_discord::connect(settings).map_err(|error| refused(error.to_string()))?;
            Ok(Channel::connected(Arc::new(discord), config))
        }
        Platform::Slack { bot_token, app_token, signing_secret } => {
            let plain = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
            let settings = adjutant_slack::Settings {
                channel,
                bot_token: bot_token.expose().to_owned(),
                app_token: plain(app_token),
                signing_secret: plain(signing_secret),
                api_url,
            };
            let slack = adjutant_slack::connect(settings).map_err(|error| refused(error.to_string()))?;
            Ok(Channel::connected(Arc::new(slack), config))
        }
        Platform::Web { listen, public_url, push_hosts } => {
            let (public_url, push_hosts, assistant) =
                (public_url.clone(), push_hosts.clone(), assistant.to_owned());
            let settings =
                adjutant_web::Settings { channel, listen: *listen, public_url, push_hosts, assistant };
            let page = Arc::new(Web::new(settings));
            let (allow, open) = (config.allow.clone(), Channel::open(page.clone()));
            Ok(Channel { connection: Some(page.clone()), page: Some(page), allow, ..open })
        }
    }
}

/// The questions and hints that `init` needs for this platform.
pub fn setup(kind: Kind) -> SetupGuide {
    match kind {
        Kind::Telegram => adjutant_telegram::setup(),
        Kind::Discord => adjutant_discord::setup(),
        Kind::Slack => adjutant_slack::setup(),
        // Nothing has to be fetched elsewhere.
        Kind::Web => SetupGuide { platform: "Web", credentials: Vec::new(), own_id: "" },
    }
}

#[derive(Default)]
pub(super) struct ChannelParts {
    pub(super) ports: HashMap<String, Arc<dyn ChatPort>>,
    pub(super) filters: HashMap<String, DeliveryFilter>,
    pub(super) allow: HashMap<String, Vec<String>>,
    pub(super) places: Vec<(String, Option<String>)>,
    pub(super) connections: Vec<(String, Arc<dyn Connection>)>,
    pub(super) rooms: BTreeMap<String, Arc<dyn Rooms>>,
    pub(super) page: Option<Arc<Web>>,
}

impl ChannelParts {
    pub(super) fn of(channels: Vec<Channel>) -> Self {
        let mut parts = Self::default();
        for Channel { port, connection, rooms, place, filter, page, allow } in channels {
            parts.page = parts.page.take().or(page);
            let name = port.channel().to_owned();
            parts.ports.insert(name.clone(), port);
            parts.filters.extend(filter.map(|filter| (name.clone(), filter)));
            parts.allow.insert(name.clone(), allow);
            parts.places.push((name.clone(), place));
            parts.rooms.extend(rooms.map(|rooms| (name.clone(), rooms)));
            parts.connections.extend(connection.map(|connection| (name, connection)));
        }
        parts
    }
}

/// The receiver of each channel that has a connection.
pub(super) fn receivers(
    connections: Vec<(String, Arc<dyn Connection>)>,
    intake: &Arc<Intake>,
    maintenance: &Arc<Maintenance>,
) -> Vec<Arc<ChannelReceiver>> {
    let receiver = |(channel, connection)| {
        let (intake, maintenance) = (intake.clone(), maintenance.clone());
        Arc::new(ChannelReceiver { intake, channel, connection, maintenance, failures: Mutex::default() })
    };
    connections.into_iter().map(receiver).collect()
}
