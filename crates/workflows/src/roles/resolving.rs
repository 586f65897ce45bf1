//! From what a role's file says to a role: patterns become skills, and names are looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use adjutant_chat::suggest::did_you_mean;
use adjutant_config::document::{Position, Problem, Severity};
use adjutant_skills::{Registry, RoleRights};

use super::Role;
use super::catalogue::{Denials, OURS, read_file};
use super::reading::{Named, Prompt, ReadRole, prompt_problem};
use crate::graph;

/// The names that a role's file may use.
pub(super) struct Names {
    /// The skills that can be given to an agent.
    skills: Vec<String>,
    /// Those that can't work here, such as a chat platform's without one.
    unavailable: Vec<String>,
    roles: BTreeSet<String>,
}

impl Names {
    pub(super) fn of(registry: &Registry, roles: &[ReadRole]) -> Self {
        let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
        let mut skills: Vec<String> =
            skills.filter(|skill| skill.workflow().is_none()).map(|skill| skill.name.clone()).collect();
        skills.sort();
        let unavailable = registry.unavailable().iter().map(|skill| skill.name.clone()).collect();
        Self { skills, unavailable, roles: roles.iter().map(|role| role.name.clone()).collect() }
    }
}

/// The role, unless it has errors, and all problems.
pub(super) fn resolve(read: &ReadRole, names: &Names) -> (Option<Role>, Vec<Problem>) {
    let mut found = Found { file: &read.file, problems: read.warnings.clone() };
    let allow = skills(&read.skills, "skills", names, &mut found);
    let deny = skills(&read.deny, "deny", names, &mut found);
    let tools = read.tools.iter().filter(|tool| {
        let is_skill = names.skills.contains(&tool.text);
        if !is_skill {
            found.warn(tool.at, format!("there is no skill '{}' here; it grants nothing", tool.text));
        }
        is_skill
    });
    let tools: Vec<String> = tools.map(|tool| tool.text.clone()).collect();
    for other in read.delegates_to.iter().filter(|other| !names.roles.contains(&other.text)) {
        let hint = did_you_mean(&other.text, names.roles.iter().map(String::as_str));
        found.error(other.at, format!("`delegates_to`: there is no role '{}'{hint}", other.text));
    }
    for nameless in read.accounts.iter().flatten().filter(|name| name.text.is_empty()) {
        found.error(nameless.at, "`accounts`: a name is empty".into());
    }
    let delegates_to: BTreeSet<String> = read.delegates_to.iter().map(|other| other.text.clone()).collect();
    let prompt = prompt(read, &mut found);
    let is_sound = found.problems.iter().all(Problem::is_warning);
    let role = prompt.filter(|_| is_sound).map(|prompt| Role {
        name: read.name.clone(),
        description: read.description.clone(),
        prompt,
        model: read.model.clone(),
        rights: RoleRights {
            allow: allow.into_iter().chain(tools).collect::<BTreeSet<_>>().into_iter().collect(),
            deny,
            effects: read.effects,
            accounts: read.accounts.as_ref().map(|all| all.iter().map(|one| one.text.clone()).collect()),
        },
        max_model_calls: read.max_model_calls,
        max_skill_calls: read.max_skill_calls,
        max_duration: read.max_duration,
        context: read.context,
        context_limit: read.context_limit,
        delegates_to: delegates_to.into_iter().collect(),
        file: read.file.clone(),
    });
    (role, found.problems)
}

struct Found<'f> {
    file: &'f str,
    problems: Vec<Problem>,
}

impl Found<'_> {
    fn error(&mut self, at: Position, message: String) {
        let position = Position { column: 0, ..at };
        self.problems.push(Problem { position, ..Problem::of_file(self.file, message) });
    }

    fn warn(&mut self, at: Position, message: String) {
        let position = Position { column: 0, ..at };
        let severity = Severity::Warning;
        self.problems.push(Problem { position, severity, ..Problem::of_file(self.file, message) });
    }
}

/// The skills that these patterns match.
fn skills(patterns: &[Named], key: &str, names: &Names, found: &mut Found<'_>) -> Vec<String> {
    let mut all = BTreeSet::new();
    for pattern in patterns {
        let matched: Vec<&String> = names.skills.iter().filter(|name| matches(&pattern.text, name)).collect();
        let is_elsewhere = names.unavailable.iter().any(|name| matches(&pattern.text, name));
        // A person's own files may replace what the built-in roles name.
        if matched.is_empty() && !is_elsewhere && !found.file.ends_with(OURS) {
            let hint = did_you_mean(&pattern.text, names.skills.iter().map(String::as_str));
            let hint = if hint.is_empty() { "; `adjutant skills list` shows all".to_owned() } else { hint };
            found.error(pattern.at, format!("`{key}`: '{}' matches no skill{hint}", pattern.text));
        }
        all.extend(matched.into_iter().cloned());
    }
    all.into_iter().collect()
}

/// Takes from the roles what the configuration denies them. A rule that takes nothing, such as one with a typo, would
/// protect nothing.
pub(super) fn deny(roles: &mut [Role], denials: &Denials, names: &Names) -> Vec<Problem> {
    let mut found = Found { file: "[roles.deny]", problems: Vec::new() };
    for (name, patterns) in denials {
        let at = Position::default();
        let patterns: Vec<Named> = patterns.iter().map(|text| Named { text: text.clone(), at }).collect();
        let denied = skills(&patterns, name, names, &mut found);
        if let Some(role) = roles.iter_mut().find(|role| role.name == *name) {
            role.rights.deny.extend(denied);
        } else {
            let near = did_you_mean(name, roles.iter().map(|role| role.name.as_str()));
            found.error(at, format!("there is no role '{name}'{near}"));
        }
    }
    found.problems
}

/// Whether a pattern, in which `*` stands for any letters, matches a name.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(first) else { return false };
    (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| matches(rest, &name[at..]))
}

fn prompt(read: &ReadRole, found: &mut Found<'_>) -> Option<String> {
    let (file, at) = match &read.prompt {
        Prompt::Text(text) => return Some(text.clone()),
        Prompt::File(file, at) => (file, *at),
    };
    let folder = Path::new(&read.file).parent().unwrap_or(Path::new(""));
    match read_file(&folder.join(file)) {
        Ok(text) => match prompt_problem(&text) {
            None => Some(text.trim().to_owned()),
            Some(message) => {
                found.error(at, format!("`prompt_file`: {message}"));
                None
            }
        },
        Err(problem) => {
            found.error(at, format!("`prompt_file`: {} {}", problem.file, problem.message));
            None
        }
    }
}

/// Tells which roles delegate in a cycle: they do so only as deep as the limit.
pub(super) fn cycles(roles: &[Role], reads: &BTreeMap<String, ReadRole>) -> Vec<Problem> {
    let index_of = |name: &String| roles.iter().position(|role| role.name == *name);
    let needs: Vec<Vec<usize>> =
        roles.iter().map(|role| role.delegates_to.iter().filter_map(index_of).collect()).collect();
    let Some(cycle) = graph::cycle(&needs) else { return Vec::new() };
    let path: Vec<&str> = cycle.iter().map(|at| roles[*at].name.as_str()).collect();
    let first = cycle.first().and_then(|at| reads.get(&roles[*at].file));
    let position = first.and_then(|read| read.delegates_to.first()).map(|other| other.at).unwrap_or_default();
    let message =
        format!("`delegates_to` is a cycle: {}; it ends at [limits] max_depth", graph::cycle_path(&path));
    let file = first.map_or("", |read| read.file.as_str());
    let position = Position { column: 0, ..position };
    vec![Problem { position, severity: Severity::Warning, ..Problem::of_file(file, message) }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        assert!(matches("*.search", "tasks.search") && matches("web.*", "web.fetch") && matches("*", "a.b"));
        assert!(matches("*.list*", "calendar.list_events") && matches("a.b", "a.b"));
        assert!(
            !matches("*.search", "tasks.search_all") && !matches("web.*", "webx.fetch") && !matches("", "a")
        );
    }
}
