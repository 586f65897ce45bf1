//! `adjutant roles`: lists, shows and checks roles.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_config::Config;
use adjutant_config::document::Problem;
use adjutant_skills::executor::offered;
use adjutant_skills::{Grant, Registry, Rights};
use adjutant_turn::wording;
use adjutant_types::AccessLevel;
use adjutant_workflows::roles::{Role, RoleSet};
use adjutant_workflows::trace::text::{one_line, several};

use super::{CliError, Result, RolesCommand as Command, conclude, wrapped};
use crate::service::{build_services, load_roles, load_skills, missing_models, role_paths};

pub(super) fn command(config: &Config, command: &Command) -> Result<ExitCode> {
    let skills = load_skills(config).map_err(|error| CliError::plain(error.to_string()))?.skills.current();
    let (text, is_ok) = match command {
        Command::List => (list(&load_roles(config, &skills)), true),
        Command::Show { name } => {
            let services = build_services(config, BTreeMap::new())
                .map_err(|error| CliError::plain(error.to_string()))?;
            let offered = offered(&skills, &services.accounts.of_owners(), true);
            (show_named(&load_roles(config, &skills), name, &offered)?, true)
        }
        Command::Check { path } => check(config, path.as_deref(), &skills),
    };
    conclude(&wrapped(&text), is_ok)
}

fn list(set: &RoleSet) -> String {
    let width = set.roles.iter().map(|role| role.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for role in &set.roles {
        let effects = role.rights.effects.as_str();
        let _ = writeln!(out, "{:width$}  {effects:4}  {}", role.name, one_line(&role.description));
    }
    let wrong = set.problems.iter().filter(|problem| !problem.is_warning()).count();
    if wrong > 0 {
        let _ = writeln!(out, "\n{} in other files: see `adjutant roles check`", several(wrong, "problem"));
    }
    out
}

fn show_named(set: &RoleSet, name: &str, offered: &BTreeMap<String, AccessLevel>) -> Result<String> {
    let Some(role) = set.get(name) else {
        let stem = |problem: &&Problem| Path::new(&problem.file).file_stem().is_some_and(|stem| stem == name);
        let broken = set.problems.iter().filter(stem).filter(|problem| !problem.is_warning());
        let broken: Vec<String> = broken.map(ToString::to_string).collect();
        return Err(CliError::plain(if broken.is_empty() { set.missing(name) } else { broken.join("\n") }));
    };
    Ok(show(role, offered))
}

fn show(role: &Role, offered: &BTreeMap<String, AccessLevel>) -> String {
    let grant = Grant::of(Rights { asked: None, role: Some(&role.rights), parent: None, offered });
    let or_default =
        |count: Option<u32>| count.map_or_else(|| "default".to_owned(), |count| count.to_string());
    let time = role.max_duration.map_or_else(|| "default".to_owned(), wording::duration);
    let mut out = format!("{}\n  {}\n\n", role.name, one_line(&role.description));
    let context = match role.context {
        adjutant_types::ContextMode::None => role.context.to_string(),
        mode => format!("{mode}, at most {} tokens", role.context_limit),
    };
    let delegates = if role.delegates_to.is_empty() { "nobody".into() } else { role.delegates_to.join(", ") };
    let rows = [
        ("effects", format!("{} ({})", role.rights.effects, wording::roles::effects(role.rights.effects))),
        ("accounts", role.rights.accounts.as_ref().map_or("all".into(), |names| names.join(", "))),
        ("model", role.model.clone().unwrap_or_else(|| "the sub-agents'".into())),
        ("model calls", or_default(role.max_model_calls)),
        ("skill calls", or_default(role.max_skill_calls)),
        ("time", time),
        ("context", context),
        ("delegates to", delegates),
        ("file", role.file.clone()),
    ];
    for (what, text) in rows {
        let _ = writeln!(out, "{what:12}  {text}");
    }
    let _ = writeln!(out, "\n{}", several(grant.skills.len(), "skill"));
    out.extend(grant.skills.iter().map(|skill| format!("  {skill}\n")));
    let is_withheld = |name: &&String| !grant.skills.contains(name) && !role.rights.deny.contains(name);
    let withheld: Vec<&str> = role.rights.allow.iter().filter(is_withheld).map(String::as_str).collect();
    if !withheld.is_empty() {
        let _ = writeln!(out, "\nallowed, but beyond its effects\n  {}", withheld.join("\n  "));
    }
    let _ = writeln!(out, "\nprompt\n{}", role.prompt);
    out
}

fn check(config: &Config, path: Option<&Path>, skills: &Arc<Registry>) -> (String, bool) {
    let mut set = match path {
        None => load_roles(config, skills),
        Some(path) => {
            // The file may delegate to any role in use.
            let all: Vec<PathBuf> = std::iter::once(path.to_path_buf()).chain(role_paths(config)).collect();
            let mut set = RoleSet::load(&all, skills);
            let is_here = |file: &str| Path::new(file) == path || Path::new(file).parent() == Some(path);
            set.roles.retain(|role| is_here(&role.file));
            set.problems.retain(|problem| is_here(&problem.file));
            if !path.exists() {
                set.problems.push(Problem::of_file(path.display(), "there is no such file or folder"));
            }
            set
        }
    };
    set.problems.extend(missing_models(config, &set));
    let mut out: String = set.problems.iter().map(|problem| format!("{problem}\n")).collect();
    let (warnings, errors): (Vec<&Problem>, Vec<&Problem>) =
        set.problems.iter().partition(|problem| problem.is_warning());
    let roles = several(set.roles.len(), "role");
    let _ = match (errors.len(), warnings.len()) {
        (0, 0) => writeln!(out, "{roles}: no problems"),
        (0, warned) => writeln!(out, "{roles}: {}", several(warned, "warning")),
        (wrong, _) => writeln!(out, "{}; {roles} without any", several(wrong, "problem")),
    };
    (out, errors.is_empty())
}

#[cfg(test)]
mod tests;
