//! `adjutant config`

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_config::{BUILTIN, Chain, Config, ConfigError, Endpoint, Env};
use adjutant_types::clock::{SharedClock, SystemClock};

use crate::cli::init::draft::Draft;
use crate::cli::init::{can_be_read, write};
use crate::cli::{CliError, Result, next, say, settings, tell};
use crate::service;

/// Builds what a start would build, and prints a summary of the configuration.
pub(in crate::cli) fn check(path: Option<&Path>, env: &Env) -> Result<ExitCode> {
    let (config, mut problems) = Config::load_partly(path, env)?;
    match can_start(&config) {
        Err(CliError::Config(more)) if !problems.is_empty() => problems.extend(more.problems),
        result => result?,
    }
    if !problems.is_empty() {
        return Err(ConfigError { problems }.into());
    }
    tell(&format!("{}{}{}\n", summary(&config), warnings(&config)?, next::step(&config)))?;
    Ok(ExitCode::SUCCESS)
}

/// Fails with every problem that a start would find in this configuration.
pub(in crate::cli) fn can_start(config: &Config) -> Result<()> {
    let clock: SharedClock = Arc::new(SystemClock);
    let problems = service::check(config, &clock);
    if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
}

pub(in crate::cli) fn set(path: Option<&Path>, env: &Env, assignments: &[String]) -> Result<ExitCode> {
    let mut lenient = env.clone();
    lenient.expects_secrets = true;
    let config = Config::load(path, &lenient)?;
    let no_file = || CliError::plain("there is no configuration file; `adjutant init` writes one");
    let given = config.path.as_deref().ok_or_else(no_file)?;
    let failed = |error| CliError::failed(format!("can't write {}", given.display()), error);
    let path = given.canonicalize().map_err(failed)?;
    let before = Draft::open(given, env)?;
    let mut after = before.clone();
    let skill_set = service::load_skills(&config)?;
    let mut typed = BTreeMap::new();
    for assignment in assignments {
        let Some((key, value)) = assignment.split_once('=') else {
            return Err(CliError::Usage(format!("{assignment:?} must be KEY=VALUE")));
        };
        typed.insert(key.to_owned(), value.to_owned());
    }
    let groups = settings::groups(&after, &skill_set);
    settings::change(&mut after, &groups, &typed).map_err(|error| CliError::Usage(error.to_string()))?;
    can_be_read(&after)?;
    if after.text() == before.text() {
        return say("Nothing changes.\n");
    }
    let written = write(&settings::former(&path), &before.text()).and_then(|()| write(&path, &after.text()));
    written.map_err(failed)?;
    let lines = settings::difference(&before, &after).into_iter();
    say(&lines
        .map(|(is_new, line)| format!("{} {line}\n", if is_new { '+' } else { '-' }))
        .collect::<String>())
}

/// A line for each role whose model isn't there.
fn warnings(config: &Config) -> Result<String> {
    let skills = service::load_skills(config).map_err(|error| CliError::plain(error.to_string()))?;
    let missing = service::missing_models(config, &skills.roles.current());
    Ok(missing.iter().map(|problem| format!("{problem}\n")).collect())
}

fn summary(config: &Config) -> String {
    let file = config.path.as_ref().map_or_else(
        || "no configuration file; using the defaults".to_owned(),
        |path| format!("{}: no problems", path.display()),
    );
    let mut text =
        format!("{file}\ndata    {}\nstore   {}\n", config.data_dir.display(), config.store.shown());
    text.push_str(&format!("model   {}\n", chain(&config.model.main)));
    text.extend(config.model.agent.as_ref().map(|agent| format!("agents  {}\n", chain(agent))));
    let backup = config.backup.as_ref();
    text.extend(backup.map(|backup| format!("backups {}, keeping {}\n", backup.path.display(), backup.keep)));
    text.extend(config.otlp.as_ref().map(|otlp| format!("traces  to {}\n", otlp.endpoint)));
    text
}

fn chain(chain: &Chain) -> String {
    let models: Vec<String> = chain.all().map(model).collect();
    models.join(", then ")
}

fn model(endpoint: &Endpoint) -> String {
    if endpoint.provider == BUILTIN {
        return "basic mode".to_owned();
    }
    let server = endpoint.base_url.as_ref().map_or_else(String::new, |url| format!(" at {url}"));
    format!("{} of {}{server}", endpoint.name, endpoint.provider)
}

#[cfg(test)]
mod tests {
    use adjutant_config::Secret;

    use super::*;

    #[test]
    fn the_summary_names_the_parts_without_secrets() {
        let mut config = Config::in_dir("/data");
        insta::assert_snapshot!(summary(&config), @r"
        no configuration file; using the defaults
        data    /data
        store   sqlite:///data/adjutant.db
        model   basic mode
        ");
        config.path = Some("config.toml".into());
        config.store.url = Secret::new("postgres://ada:hunter2@db/adjutant");
        let first = Endpoint {
            provider: "openai".to_owned(),
            name: "llama".to_owned(),
            api_key: Some(Secret::new("hunter2")),
            base_url: Some("http://127.0.0.1:9000/v1/".to_owned()),
            ..Endpoint::default()
        };
        config.model.main = Chain { first, fallback: vec![Endpoint::default()] };
        config.model.agent = Some(Chain::default());
        insta::assert_snapshot!(summary(&config), @r"
        config.toml: no problems
        data    /data
        store   postgres://ada@db/adjutant
        model   llama of openai at http://127.0.0.1:9000/v1/, then basic mode
        agents  basic mode
        ");
    }
}
