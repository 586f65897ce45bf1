//! Who may talk to the assistant, and the logins of people and of services.

pub(super) mod account;
pub(super) mod oauth;
pub(super) mod pair;
pub(super) mod secrets;
pub(super) mod web;
