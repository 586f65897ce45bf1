//! The real binary, as people, scripts and service managers use it.

#![cfg(test)] // so that the lints know the helpers for tests too

mod answers;
mod apart;
mod bad_input;
mod budgets;
mod claims;
mod commands;
mod doctor;
mod drafted;
mod files;
mod files_shared;
mod groupware;
mod home;
mod hostile;
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
mod mcp_conformance;
mod mcp_login;
mod memory;
mod metrics;
mod notify;
mod oauth;
mod once;
mod otlp;
mod plan_crashes;
mod poisoned;
mod private;
mod refused;
mod reload;
mod restart;
mod runs;
mod scheduler;
mod scorecard;
mod serve;
mod service;
mod sharing;
mod sharing_budgets;
mod sharing_crashes;
mod sharing_models;
mod short_soak;
mod slack;
mod terminal;
mod tree_crashes;
mod voice;
mod workflow_crashes;
mod workflows;

use adjutant_test_support::{chaos, gateway, platform, process, random, soak};
