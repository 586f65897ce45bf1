//! What this process has seen of the places: enough to know, without asking, where a message of ours
//! that may have been sent can be.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serenity::model::id::ChannelId;

/// One place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The newest message known to be there, ours included.
    pub(crate) newest: u64,
    /// Every message up to this one was handed over.
    pub(crate) heard: u64,
    /// Whether only one person reads it; nothing if that was not told yet.
    pub(crate) direct: Option<bool>,
}

/// The places by their ids.
#[derive(Debug, Default)]
pub(crate) struct Known {
    places: Mutex<HashMap<u64, Place>>,
}

impl Known {
    pub(crate) fn get(&self, place: ChannelId) -> Place {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(&place.get()).copied().unwrap_or_default()
    }

    /// A message is there.
    pub(crate) fn is_there(&self, place: ChannelId, message: u64) {
        self.change(place, |known| known.newest = known.newest.max(message));
    }

    /// A message was handed over, and all before it.
    pub(crate) fn is_heard(&self, place: ChannelId, message: u64) {
        self.change(place, |known| {
            known.newest = known.newest.max(message);
            known.heard = known.heard.max(message);
        });
    }

    pub(crate) fn is_direct(&self, place: ChannelId, direct: bool) {
        self.change(place, |known| known.direct = Some(direct));
    }

    fn change(&self, place: ChannelId, change: impl FnOnce(&mut Place)) {
        change(self.places.lock().unwrap_or_else(PoisonError::into_inner).entry(place.get()).or_default());
    }
}
