//! The web page of the real `serve`, by its protocol and in a real browser.

#![cfg(test)] // so that the lints know the helpers for tests too

mod accounts;
mod browser;
mod composer;
mod connect;
mod instances;
mod live;
mod login;
mod passkeys;
mod pictures;
mod plans;
mod push;
mod search;
mod settings;
mod tables;
mod talk;
mod turns;
mod watches;
mod workflows;

use adjutant_test_support::{chromium, client, gateway, process};
