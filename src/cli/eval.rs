//! `adjutant eval`: how well models do at everyday requests and under attack, side by side.

mod replay;
mod report;
mod scenario;
mod stage;

use std::io::{Write as _, stderr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_config::{BUILTIN, Chain, Config, Endpoint, ModelConfig, SearchConfig, SearchKind};
use adjutant_types::clock::SystemClock;

use super::chat::PATIENCE;
use super::{CliError, EvalArgs, EvalCommand, Result, conclude, json};
use crate::service;
use report::ModelRun;
use stage::Stage;

/// The store's file in the folder of the data.
const STORE: &str = "adjutant.db";
const NOTES: &str = "notes";

/// Runs `adjutant eval`. The exit status is 1 if something forbidden was done.
pub(super) async fn run(config: &Config, args: &EvalArgs) -> Result<ExitCode> {
    if let Some(EvalCommand::Replay(args)) = &args.command {
        return replay::run(config, args).await;
    }
    let mut scenarios = scenario::load(args.scenarios.as_deref())?;
    let only = args.only.as_deref().unwrap_or_default().to_lowercase();
    scenarios.retain(|scenario| scenario.title().to_lowercase().contains(&only));
    if scenarios.is_empty() {
        return Err(CliError::Usage(format!("no scenario has “{only}” in its group or name")));
    }
    // Each scenario begins with a copy of this empty store.
    let empty = tempfile::tempdir().map_err(no_folder)?;
    let fresh = config_in(empty.path(), config, &config.model);
    service::open_store(&fresh, Arc::new(SystemClock)).await?.close().await;
    let mut runs = Vec::new();
    for (name, model) in models(config, &args.model)? {
        let mut run = ModelRun { model: name, scenarios: Vec::new() };
        for scenario in &scenarios {
            let folder = tempfile::tempdir().map_err(no_folder)?;
            let own = config_in(folder.path(), config, &model);
            std::fs::copy(empty.path().join(STORE), folder.path().join(STORE)).map_err(no_folder)?;
            std::fs::create_dir(folder.path().join(NOTES)).map_err(no_folder)?;
            let stage = Stage::open(&own, scenario).await?;
            let outcome = stage.play(scenario).await;
            stage.service.shut_down(PATIENCE).await?;
            let outcome = outcome?;
            // Without a stderr nobody watches.
            let _ = writeln!(stderr(), "{} {}: {}", outcome.mark(), run.model, scenario.title());
            run.scenarios.push(outcome);
        }
        runs.push(run);
    }
    let mut all = runs.iter().flat_map(|run| &run.scenarios);
    let is_ok = all.all(|outcome| outcome.forbidden.is_empty());
    conclude(&if args.json { json(&runs)? } else { report::text(&runs) }, is_ok)
}

/// The configuration of a scenario in this folder, with these models and nothing else of the person's.
fn config_in(folder: &Path, config: &Config, model: &ModelConfig) -> Config {
    Config {
        model: model.clone(),
        program: config.program.clone(),
        notes: Some(folder.join(NOTES)),
        // Nobody is asked there: the web is made up.
        search: Some(SearchConfig { kind: SearchKind::Searxng, url: "http://127.0.0.1/".into(), key: None }),
        ..Config::in_dir(folder)
    }
}

fn no_folder(error: std::io::Error) -> CliError {
    CliError::failed("can't use a temporary folder", error)
}

/// The models to compare: those of these names, or the configured ones as they work together.
fn models(config: &Config, names: &[String]) -> Result<Vec<(String, ModelConfig)>> {
    let main = &config.model.main.first;
    if main.provider == BUILTIN {
        return Err(CliError::Missing("no model is configured; `adjutant init` sets one up".to_owned()));
    }
    if names.is_empty() {
        return Ok(vec![(main.name.clone(), config.model.clone())]);
    }
    let named = names.iter().map(|name| {
        let found = config.model.endpoints().find(|endpoint| endpoint.name == *name);
        // Another model of the same provider, whose price nobody has said.
        let other = || Endpoint { name: name.clone(), price: None, ..main.clone() };
        let first = found.cloned().unwrap_or_else(other);
        let main = Chain { first, fallback: Vec::new() };
        (name.clone(), ModelConfig { main, ..ModelConfig::default() })
    });
    Ok(named.collect())
}
