//! The channels, as the configuration names them: the only file that knows every platform.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use adjutant_chat::{ChatPort, Connection, Rooms, SetupGuide};

use super::StartError;
use crate::config::{ChannelConfig, Config, Kind, Platform, Secret};
use crate::gateway::outbox::Wants;

/// What a process does with one of its channels.
pub struct Channel {
    /// How it speaks there.
    pub port: Arc<dyn ChatPort>,
    /// How it listens there; a terminal hands over what it reads by [`Service::accept`].
    pub connection: Option<Arc<dyn Connection>>,
    /// How its places are read, where a platform can be asked.
    pub rooms: Option<Arc<dyn Rooms>>,
    /// The one place it looks after; none is all of the channel.
    pub place: Option<String>,
    /// Which replies it delivers, if not all.
    pub wants: Option<Wants>,
    /// The platform's ids of those who may speak; `*` is everyone.
    pub allow: Vec<String>,
}

impl Channel {
    /// A channel on which everybody may speak, because the machine has let them in.
    pub fn open(port: Arc<dyn ChatPort>) -> Self {
        let allow = vec!["*".to_owned()];
        Self { port, connection: None, rooms: None, place: None, wants: None, allow }
    }

    fn connected<P: ChatPort + Connection + Rooms + 'static>(
        platform: Arc<P>,
        config: &ChannelConfig,
    ) -> Self {
        let allow = config.allow.clone();
        let (port, connection) = (platform.clone(), platform.clone());
        Self { port, connection: Some(connection), rooms: Some(platform), place: None, wants: None, allow }
    }
}

/// Sets up the channels that the configuration names; they connect when the service starts.
///
/// # Errors
/// [`StartError::Channel`] when one can't be set up.
pub fn connect(config: &Config) -> Result<Vec<Channel>, StartError> {
    let enabled = config.channels.iter().filter(|(_, channel)| channel.enabled);
    // Each reads the machine's certificates for itself, which is the longest part of a start.
    std::thread::scope(|scope| {
        let started = enabled.map(|(name, channel)| (name, scope.spawn(|| connect_one(name, channel))));
        let started: Vec<_> = started.collect();
        let done = started.into_iter().map(|(name, channel)| {
            let died = |_| StartError::Channel { name: name.clone(), why: "setting it up failed".to_owned() };
            channel.join().map_err(died)?
        });
        done.collect()
    })
}

fn connect_one(name: &str, config: &ChannelConfig) -> Result<Channel, StartError> {
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
    }
}

/// What a person has to be asked and told for a channel of this platform.
pub fn setup(kind: Kind) -> SetupGuide {
    match kind {
        Kind::Telegram => adjutant_telegram::setup(),
        Kind::Discord => adjutant_discord::setup(),
        Kind::Slack => adjutant_slack::setup(),
    }
}

/// What the channels bring, each part where it is needed.
pub(super) struct Seats {
    pub(super) ports: HashMap<String, Arc<dyn ChatPort>>,
    pub(super) wants: HashMap<String, Wants>,
    pub(super) allow: HashMap<String, Vec<String>>,
    pub(super) places: Vec<(String, Option<String>)>,
    pub(super) connections: Vec<(String, Arc<dyn Connection>)>,
    pub(super) rooms: BTreeMap<String, Arc<dyn Rooms>>,
}

impl Seats {
    pub(super) fn of(channels: Vec<Channel>) -> Self {
        let mut seats = Self {
            ports: HashMap::new(),
            wants: HashMap::new(),
            allow: HashMap::new(),
            places: Vec::new(),
            connections: Vec::new(),
            rooms: BTreeMap::new(),
        };
        for channel in channels {
            let name = channel.port.channel().to_owned();
            seats.ports.insert(name.clone(), channel.port);
            seats.allow.insert(name.clone(), channel.allow);
            seats.places.push((name.clone(), channel.place));
            if let Some(rooms) = channel.rooms {
                seats.rooms.insert(name.clone(), rooms);
            }
            if let Some(wants) = channel.wants {
                seats.wants.insert(name.clone(), wants);
            }
            if let Some(connection) = channel.connection {
                seats.connections.push((name, connection));
            }
        }
        seats
    }
}
