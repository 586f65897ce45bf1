//! The channels, as the configuration names them: the only file that knows every platform.

use std::collections::HashMap;
use std::sync::Arc;

use adjutant_chat::{ChatPort, Connection};

use super::StartError;
use crate::config::{ChannelConfig, Config};
use crate::gateway::outbox::Wants;

/// What a process does with one of its channels.
pub struct Channel {
    /// How it speaks there.
    pub port: Arc<dyn ChatPort>,
    /// How it listens there; a terminal hands over what it reads by [`Service::accept`].
    pub connection: Option<Arc<dyn Connection>>,
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
        Self { port, connection: None, place: None, wants: None, allow: vec!["*".to_owned()] }
    }
}

/// Sets up the channels that the configuration names; they connect when the service starts.
///
/// # Errors
/// [`StartError::Channel`] when one can't be set up.
pub fn connect(config: &Config) -> Result<Vec<Channel>, StartError> {
    let enabled = config.channels.iter().filter(|(_, channel)| channel.enabled);
    enabled.map(|(name, channel)| connect_one(name, channel)).collect()
}

fn connect_one(name: &str, channel: &ChannelConfig) -> Result<Channel, StartError> {
    Err(StartError::Channel { name: name.into(), why: channel.api_url.clone() })
}

/// What the channels bring, each part where it is needed.
pub(super) struct Seats {
    pub(super) ports: HashMap<String, Arc<dyn ChatPort>>,
    pub(super) wants: HashMap<String, Wants>,
    pub(super) allow: HashMap<String, Vec<String>>,
    pub(super) places: Vec<(String, Option<String>)>,
    pub(super) connections: Vec<(String, Arc<dyn Connection>)>,
}

impl Seats {
    pub(super) fn of(channels: Vec<Channel>) -> Self {
        let mut seats = Self {
            ports: HashMap::new(),
            wants: HashMap::new(),
            allow: HashMap::new(),
            places: Vec::new(),
            connections: Vec::new(),
        };
        for channel in channels {
            let name = channel.port.channel().to_owned();
            seats.ports.insert(name.clone(), channel.port);
            seats.allow.insert(name.clone(), channel.allow);
            seats.places.push((name.clone(), channel.place));
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
