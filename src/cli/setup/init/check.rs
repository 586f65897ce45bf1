//! Tests each part of the answers against the real service.

use std::collections::BTreeMap;

use adjutant_chat::{CheckStatus, Finding};
use adjutant_config::Config;
use adjutant_workflows::trace;
use futures::future::join_all;

use super::draft::Draft;
use crate::cli::doctor::{connect, parts, sign};
use crate::service::{self, StartError};

/// A part of the configuration that is asked for and tested as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Part {
    Assistant,
    /// `[channels.NAME]`.
    Channel(String),
    Model,
    /// `[mail]`, `[calendar]` or `[contacts]`.
    Accounts(&'static str),
    Connect,
}

impl Part {
    /// Its table in the file.
    pub(in crate::cli) fn path(&self) -> Vec<&str> {
        match self {
            Self::Assistant => vec!["assistant"],
            Self::Channel(name) => vec!["channels", name],
            Self::Model => vec!["model"],
            Self::Accounts(section) => vec![section],
            Self::Connect => vec!["connect"],
        }
    }
}

pub(in crate::cli) async fn check(draft: &Draft, part: &Part) -> Vec<Finding> {
    let config = match part {
        // A login returns to the page, which is in another table.
        Part::Connect => draft.read().or_else(|_| draft.read_only(&part.path())),
        part => draft.read_only(&part.path()),
    };
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            let problems = error.problems.into_iter();
            let texts = problems.map(|problem| match problem.key {
                Some(key) => format!("{key}: {}", problem.message),
                None => problem.message,
            });
            return texts.map(|text| Finding::error(text, "")).collect();
        }
    };
    match part {
        Part::Assistant => Vec::new(),
        Part::Channel(_) => channels(&config).await,
        Part::Model => parts::models(&config.model).await,
        Part::Accounts(_) => accounts(&config).await,
        Part::Connect => {
            connect::applications(&config).await.into_iter().map(|(_, finding)| finding).collect()
        }
    }
}

pub(super) fn shown(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { status, reason, fix } in findings {
        text.push_str(&format!("  {} {}\n", sign(*status), trace::one_line(reason)));
        if !fix.is_empty() {
            text.push_str(&format!("    → {}\n", trace::one_line(fix)));
        }
    }
    text
}

pub(super) fn has_problem(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.status == CheckStatus::Error)
}

async fn channels(config: &Config) -> Vec<Finding> {
    let channels = match service::connect(config) {
        Ok(channels) => channels,
        Err(error) => return vec![failed(&error)],
    };
    let connections = channels.into_iter().filter_map(|channel| channel.connection);
    let checks = connections.map(async |connection| connection.check().await);
    join_all(checks).await.into_iter().flatten().collect()
}

async fn accounts(config: &Config) -> Vec<Finding> {
    match service::build_services(config, BTreeMap::new()) {
        Ok(services) => services.check().await.into_iter().map(|(_, finding)| finding).collect(),
        Err(error) => vec![failed(&error)],
    }
}

fn failed(error: &StartError) -> Finding {
    Finding::error(error.to_string(), "")
}
