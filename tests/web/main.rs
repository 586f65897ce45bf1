//! The web page of the real `serve`, by its protocol and in a real browser.

#![cfg(test)] // so that the lints know the helpers for tests too

mod browser;
mod chromium;
mod client;
#[path = "../binary/gateway.rs"]
#[expect(dead_code, reason = "other suites use more of it")]
mod gateway;
mod instances;
mod live;
mod login;
mod plans;
#[path = "../binary/process.rs"]
#[expect(dead_code, reason = "other suites use more of it")]
mod process;
mod tables;
mod talk;
mod turns;
mod workflows;
