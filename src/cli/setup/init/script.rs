//! Takes the answers from the command line, for scripts.

use std::path::Path;

use adjutant_config::{BUILTIN, Kind};

use super::check::Part;
use super::draft::Draft;
use super::{model, wizard};
use crate::cli::{CliError, InitArgs, Result};
use crate::service;

/// Puts the answers into the draft; returns the parts they are about.
pub(super) fn answer(draft: &mut Draft, args: &InitArgs) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let zone = args.timezone.clone().unwrap_or_else(|| wizard::zone(draft));
    draft.set_text(&["assistant"], "timezone", &zone);
    if args.timezone.is_some()
        && let Err(error) = draft.read_only(&["assistant", "timezone"])
        && let [problem, ..] = &error.problems[..]
    {
        return Err(CliError::Usage(format!("--timezone: {}", problem.message)));
    }
    for owner in &args.owner {
        let Some((channel, id)) = owner.split_once(':') else {
            return Err(CliError::Usage(format!("--owner {owner:?} must be CHANNEL:USER-ID")));
        };
        let ids = [draft.owners(channel), vec![id.to_owned()]].concat();
        draft.set_owners(channel, &ids);
    }
    if let Some(kind) = &args.channel {
        channel(draft, args, kind)?;
        parts.push(Part::Channel(kind.clone()));
    }
    if set_model(draft, args)? {
        parts.push(Part::Model);
    }
    Ok(parts)
}

fn channel(draft: &mut Draft, args: &InitArgs, name: &str) -> Result<()> {
    let table = ["channels", name];
    let questions = Kind::named(name).map(|kind| service::setup(kind).credentials).unwrap_or_default();
    let keys: Vec<&str> = questions.iter().map(|question| question.key).collect();
    let variables = args.token_env.iter().map(|name| ("env", name));
    for (source, given) in variables.chain(args.token_file.iter().map(|path| ("file", path))) {
        let named = given.split_once('=').filter(|(key, _)| keys.contains(key));
        let (key, value) = match (named, &keys[..]) {
            (Some(named), _) => named,
            (None, [only]) => (*only, given.as_str()),
            (None, keys) => {
                return Err(CliError::Usage(format!(
                    "{name} has several tokens; write --token-{source} KEY={given}, where KEY is one of {}",
                    keys.join(", ")
                )));
            }
        };
        set_secret(draft, &table, key, source, value)?;
    }
    if let Some(key) = keys.first()
        && !keys.iter().any(|key| draft.has(&["channels", name, key]))
    {
        let give = if keys.len() > 1 { format!("{key}=NAME") } else { "NAME".to_owned() };
        return Err(CliError::Usage(format!(
            "--channel {name} needs its bot's token: add --token-env {give}, or --token-file with a path"
        )));
    }
    if let Some(url) = &args.api_url {
        draft.set_text(&table, "api_url", url);
    }
    if draft.has(&["channels", name, "enabled"]) {
        draft.set(&table, "enabled", true);
    }
    Ok(())
}

/// Puts in the options about the model; returns whether there are any.
fn set_model(draft: &mut Draft, args: &InitArgs) -> Result<bool> {
    let table = ["model"];
    match args.model.as_deref().map(|model| model.split_once('/').unwrap_or((model, ""))) {
        Some((provider, name)) => {
            model::set_provider(draft, provider);
            draft.set_text(&table, "name", name);
        }
        None if !draft.has(&["model", "provider"]) => draft.set_text(&table, "provider", BUILTIN),
        None => {}
    }
    if let Some(name) = &args.key_env {
        set_secret(draft, &table, "api_key", "env", name)?;
    }
    if let Some(path) = &args.key_file {
        set_secret(draft, &table, "api_key", "file", path)?;
    }
    if let Some(url) = &args.base_url {
        draft.set_text(&table, "base_url", url);
    }
    Ok([&args.model, &args.key_env, &args.key_file, &args.base_url].iter().any(|given| given.is_some()))
}

/// Sets a secret's source. A path is relative to the current folder, not to the file's.
fn set_secret(draft: &mut Draft, table: &[&str], key: &str, source: &str, value: &str) -> Result<()> {
    let value = match source {
        "file" => {
            let path = std::path::absolute(Path::new(value))
                .map_err(|error| CliError::failed(format!("{value:?} is not a path"), error))?;
            path.to_string_lossy().into_owned()
        }
        _ => value.to_owned(),
    };
    draft.set_secret(table, key, &format!("{source}:{value}"));
    Ok(())
}
