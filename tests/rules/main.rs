//! The rules of the workspace, checked by reading the sources. Each rule is a function from text to errors,
//! and each has a test with a bad sample, so that none can pass by reading nothing.

#![cfg(test)] // so that the lints know the helpers for tests too

mod documents;
mod guides;
mod messages;
mod names;
mod sizes;
mod store;
mod style;
mod types;

use std::path::Path;

use regex::Regex;
use xtask::measures::Finding;
use xtask::source::{self, Source};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder whose name ends like this: its path in the workspace and its text.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    source::files(root(), folder, ending).unwrap()
}

/// The sources of the engine, tests left out.
fn engine() -> Vec<Source> {
    let sources = source::ours(root()).unwrap();
    assert!(
        sources.iter().any(|source| source.path == "crates/engine/src/lib.rs"),
        "the sources were not found"
    );
    sources
}

/// The sources of the adapters, tests left out.
fn adapters() -> Vec<Source> {
    let sources = source::production(root(), "adapters").unwrap();
    assert!(sources.len() > 50, "the adapters were not found");
    sources
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// Where a pattern is found in a source without its comments, an error each.
fn finds(source: &Source, pattern: &Regex, why: &str) -> Vec<String> {
    let code = source.without_comments();
    let error = |found: regex::Match<'_>| {
        format!("{}:{}: `{}`: {why}", source.path, source.line(found.start()), found.as_str())
    };
    pattern.find_iter(&code).map(error).collect()
}

/// What a measure finds, an error each.
fn errors(found: Vec<Finding>, why: &str) -> Vec<String> {
    found.into_iter().map(|found| format!("{found}: {why}")).collect()
}

#[track_caller]
fn assert_none(errors: impl IntoIterator<Item = String>) {
    let errors: Vec<String> = errors.into_iter().collect();
    assert!(errors.is_empty(), "\n{}", errors.join("\n"));
}
