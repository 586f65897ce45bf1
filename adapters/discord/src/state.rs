//! What this process knows about each channel without asking: enough to find a message of ours whose delivery was
//! interrupted.

use std::collections::HashMap;

use parking_lot::Mutex;
use serenity::model::id::ChannelId;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ChannelState {
    /// The newest known message, ours included.
    pub(crate) newest: u64,
    /// Every message up to this one was journalled.
    pub(crate) journalled: u64,
    /// Whether it is a direct conversation, if known.
    pub(crate) direct: Option<bool>,
    /// Whether we lack the permission to react there.
    pub(crate) takes_no_reactions: bool,
}

#[derive(Debug, Default)]
pub(crate) struct ChannelStates(Mutex<HashMap<u64, ChannelState>>);

impl ChannelStates {
    pub(crate) fn get(&self, channel: ChannelId) -> ChannelState {
        let channels = self.0.lock();
        channels.get(&channel.get()).copied().unwrap_or_default()
    }

    pub(crate) fn add_message(&self, channel: ChannelId, message: u64) {
        self.change(channel, |state| state.newest = state.newest.max(message));
    }

    /// A message and all before it are journalled.
    pub(crate) fn add_journalled(&self, channel: ChannelId, message: u64) {
        self.change(channel, |state| {
            state.newest = state.newest.max(message);
            state.journalled = state.journalled.max(message);
        });
    }

    pub(crate) fn set_direct(&self, channel: ChannelId, direct: bool) {
        self.change(channel, |state| state.direct = Some(direct));
    }

    pub(crate) fn change(&self, channel: ChannelId, change: impl FnOnce(&mut ChannelState)) {
        change(self.0.lock().entry(channel.get()).or_default());
    }
}
