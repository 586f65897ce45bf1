//! What may change while the assistant runs.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Approval, Limits};

/// One state of what may change. A turn keeps the one that it began with.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// How far a turn may go.
    pub limits: Limits,
    /// What needs a yes.
    pub approval: Approval,
    /// `CHANNEL:USER` of those who may speak everywhere, let others in and answer for everybody.
    pub owners: Vec<String>,
    /// The ids that may speak, by channel; `*` is everyone.
    pub allow: HashMap<String, Vec<String>>,
}

/// The settings that hold now. They change as a whole.
#[derive(Debug, Default)]
pub struct SharedSettings(RwLock<Arc<Settings>>);

impl SharedSettings {
    /// The settings that hold at first.
    pub fn new(settings: Settings) -> Self {
        Self(RwLock::new(Arc::new(settings)))
    }

    /// The settings that hold now.
    pub fn now(&self) -> Arc<Settings> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts others in their place.
    pub fn replace(&self, settings: Settings) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }
}
