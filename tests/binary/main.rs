//! The real binary, as people, scripts and service managers meet it.

#![cfg(test)] // so that the lints know the helpers for tests too

mod bad_input;
mod commands;
mod gauntlet;
mod json;
mod kill;
mod once;
mod process;
mod restart;
mod serve;
mod slack;
