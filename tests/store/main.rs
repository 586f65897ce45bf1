//! The store's suite: written once, run on both databases.

#![cfg(test)] // so that the lints know the helpers for tests too

/// Makes each named `async fn(World)` a test on the embedded database and a test on a server.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite { $(#[test] fn $name() { crate::world::on_sqlite(super::$name); })+ }
        mod postgres { $(#[test] fn $name() { crate::world::on_postgres(super::$name); })+ }
    };
}

mod access;
mod attempts;
mod calls;
mod check;
mod claims;
mod connected;
mod control;
mod corrected;
mod executions;
mod file_parts;
mod first_messages;
mod growing;
mod inbox;
mod known;
mod languages;
mod leases;
mod links;
mod memories;
mod opening;
mod outbox;
mod passkeys;
mod people;
mod pins;
mod plans;
mod protocol;
mod pushes;
mod questions;
mod queues;
mod rate_limits;
mod recall;
mod retention;
mod rules;
mod scopes;
mod search;
mod secrets;
mod sharing;
mod space;
mod spending;
mod tasks;
mod turns;
mod upgrade;
mod usage;
mod vectors;
mod watches;
mod web;
mod world;
mod writing;

use adjutant_test_support::{former, remembered};
