//! The settings that may change at run time.

use std::collections::HashMap;

use super::{Approval, Limits};

/// A snapshot of the settings. A turn keeps the one it started with.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub limits: Limits,
    pub approval: Approval,
    /// `CHANNEL:USER` of those who may talk everywhere, let others in and answer for everybody.
    pub owners: Vec<String>,
    /// The ids that may talk, by channel; `*` is everyone.
    pub allow: HashMap<String, Vec<String>>,
    pub mail_address: Option<String>,
    /// The address of the web page, if there is one.
    pub page: Option<String>,
    /// The folders whose files owners may watch.
    pub folders: Vec<String>,
}
