//! Flows: from what a person says to what they read, through everything in between but the platform and
//! the model. Each test reads as a conversation, and ends with nothing left undone.

#![cfg(test)] // so that the lints know the helpers for tests too

mod app;
mod approve;
mod archives;
mod as_answer;
mod asking;
mod bases;
mod budgets;
mod changed_minds;
mod cloud;
mod context;
mod corrected;
mod counts;
mod dated;
mod days;
mod delegation;
mod delegation_limits;
mod dependants;
mod endless;
mod error_origins;
mod executor;
mod files;
mod first_messages;
mod forgetting;
#[path = "../store/former/mod.rs"]
mod former;
mod groupware;
mod growing;
mod home;
mod instructions;
mod limits;
mod mail;
mod mcp;
mod mcp_questions;
mod memory;
mod models;
mod notes;
mod numbered;
mod overheard;
mod parallel;
mod pause;
mod plan_rests;
mod plans;
mod platform;
mod prompts;
mod random;
mod repeated;
mod resilience;
mod roles;
mod rooms;
mod run_receipts;
mod saved_plans;
mod scheduler;
mod script;
mod scripted;
mod send_delay;
#[path = "simulation.rs"]
mod simulated;
#[expect(dead_code, reason = "the benches use more of it")]
#[path = "../../benches/simulation/mod.rs"]
mod simulation;
mod skill_set;
mod spawn;
mod standing;
mod tables;
mod talk;
mod trust;
mod trust_adaptive;
mod trust_clean_room;
mod trust_everyday;
mod trust_fuzz;
mod trust_sources;
mod undo;
mod upgrade;
mod voice;
mod web;
mod workflows;
