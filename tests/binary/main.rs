//! The real binary, as people, scripts and service managers use it.

#![cfg(test)] // so that the lints know the helpers for tests too

mod bad_input;
mod budgets;
mod chaos;
mod commands;
mod doctor;
mod drafted;
mod gateway;
mod groupware;
mod init;
mod injections;
mod instructions;
mod invitations;
mod json;
mod kill;
mod loading;
mod logs;
mod maintenance;
mod mcp;
mod memory;
mod metrics;
mod notify;
mod oauth;
mod once;
mod otlp;
mod plan_crashes;
mod platform;
mod private;
mod process;
mod random;
mod reload;
mod restart;
mod runs;
mod scheduler;
mod scorecard;
mod serve;
mod service;
mod short_soak;
mod slack;
mod soak;
mod terminal;
mod tree_crashes;
mod voice;
mod workflow_crashes;
mod workflows;
