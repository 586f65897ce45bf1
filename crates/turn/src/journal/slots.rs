//! How many agents of a turn work at once.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots for agents at work in one turn. One that waits for the agents below it gives its slot to them, so that
/// a deep tree can't block itself.
#[derive(Debug)]
pub struct AgentSlots {
    at_work: Arc<Semaphore>,
    /// Locked while agents are counted and made, so that two of one tree don't exceed its limit together.
    pub admission: tokio::sync::Mutex<()>,
}

impl AgentSlots {
    pub fn new(count: u32) -> Arc<Self> {
        let at_work = Arc::new(Semaphore::new(usize::try_from(count).unwrap_or(1).max(1)));
        Arc::new(Self { at_work, admission: tokio::sync::Mutex::default() })
    }
}

#[derive(Debug)]
pub struct Slot {
    slots: Arc<AgentSlots>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Slot {
    /// A slot that isn't taken yet.
    pub fn new(slots: Arc<AgentSlots>) -> Self {
        Self { slots, permit: Mutex::default() }
    }

    pub async fn take(&self) {
        let permit = self.slots.at_work.clone().acquire_owned().await;
        *self.permit.lock() = permit.ok();
    }

    pub fn give_back(&self) {
        self.permit.lock().take();
    }
}
