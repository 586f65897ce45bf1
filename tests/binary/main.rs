//! The real binary, as people, scripts and service managers use it.

#![cfg(test)] // so that the lints know the helpers for tests too

mod bad_input;
mod budgets;
mod chance;
mod commands;
mod deaths;
mod doctor;
mod drafted;
mod gateway;
mod gauntlet;
mod groupware;
mod init;
mod injections;
mod invitations;
mod json;
mod kill;
mod logs;
mod maintenance;
mod metrics;
mod notify;
mod once;
mod otlp;
#[expect(dead_code, reason = "the benches use more of it")]
mod platform;
mod process;
mod reload;
mod restart;
mod runs;
mod scheduler;
mod scorecard;
mod serve;
mod service;
mod slack;
mod soak;
mod soaked;
mod terminal;
mod workflows;
