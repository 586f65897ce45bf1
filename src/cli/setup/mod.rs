//! What sets an installation up, checks it and keeps it running.

pub(super) mod config;
pub(super) mod doctor;
pub(super) mod generate;
pub(super) mod init;
pub(super) mod next;
pub(super) mod service;
pub(super) mod settings;
pub(super) mod update;
