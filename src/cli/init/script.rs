//! The answers of a command line, for scripts.

use std::path::Path;

use super::draft::Draft;
use super::look::Part;
use super::{model, wizard};
use crate::cli::{CliError, InitArgs};
use crate::config::{BUILTIN, Kind};
use crate::service;

/// Puts the answers in, and says which parts they are about.
///
/// # Errors
/// When they make no sense.
pub(super) fn answer(draft: &mut Draft, args: &InitArgs) -> Result<Vec<Part>, CliError> {
    let mut parts = Vec::new();
    let zone = args.timezone.clone().unwrap_or_else(|| wizard::zone(draft));
    draft.set_text(&["assistant"], "timezone", &zone);
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
    if think(draft, args)? {
        parts.push(Part::Model);
    }
    Ok(parts)
}

fn channel(draft: &mut Draft, args: &InitArgs, name: &str) -> Result<(), CliError> {
    let table = ["channels", name];
    let questions = Kind::named(name).map(|kind| service::setup(kind).credentials).unwrap_or_default();
    let keys: Vec<&str> = questions.iter().map(|question| question.key).collect();
    let places = args.token_env.iter().map(|place| ("env", place));
    for (source, given) in places.chain(args.token_file.iter().map(|place| ("file", place))) {
        let named = given.split_once('=').filter(|(key, _)| keys.contains(key));
        let (key, place) = match (named, &keys[..]) {
            (Some(named), _) => named,
            (None, [only]) => (*only, given.as_str()),
            (None, keys) => {
                return Err(CliError::Usage(format!(
                    "{name} has more than one token; write --token-{source} KEY={given}, where KEY is one of {}",
                    keys.join(", ")
                )));
            }
        };
        set_place(draft, &table, key, source, place)?;
    }
    if let Some(url) = &args.api_url {
        draft.set_text(&table, "api_url", url);
    }
    if draft.has(&["channels", name, "enabled"]) {
        draft.set(&table, "enabled", true);
    }
    Ok(())
}

/// Puts in what is said of the model; whether anything is.
fn think(draft: &mut Draft, args: &InitArgs) -> Result<bool, CliError> {
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
        set_place(draft, &table, "api_key", "env", name)?;
    }
    if let Some(path) = &args.key_file {
        set_place(draft, &table, "api_key", "file", path)?;
    }
    if let Some(url) = &args.base_url {
        draft.set_text(&table, "base_url", url);
    }
    Ok([&args.model, &args.key_env, &args.key_file, &args.base_url].iter().any(|given| given.is_some()))
}

/// Says where a secret lies. A path is taken from where the command runs, not from where the file lies.
fn set_place(
    draft: &mut Draft,
    table: &[&str],
    key: &str,
    source: &str,
    place: &str,
) -> Result<(), CliError> {
    let place = match source {
        "file" => {
            let path = std::path::absolute(Path::new(place))
                .map_err(|error| CliError::failed(format!("{place:?} is no path"), error))?;
            path.to_string_lossy().into_owned()
        }
        _ => place.to_owned(),
    };
    draft.set_secret(table, key, &format!("{source}:{place}"));
    Ok(())
}
