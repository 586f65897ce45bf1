//! Dependencies between agents or steps.
//!
//! Accepted agents never contain a cycle, a missing dependency or a duplicate name. If one is refused, only those that
//! depend on it are refused too. Every refusal says what to change.

use std::collections::{HashMap, HashSet};

use adjutant_types::ExecutionStatus;

/// An agent and its dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: String,
    pub depends_on: Vec<String>,
}

/// A proposed agent that is refused for an error of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name, if it could be read.
    pub id: Option<String>,
    /// The change that it needs.
    pub reason: String,
}

/// Checks the agents that a model response proposes. Returns the reason for each refused one.
pub fn judge(existing: &HashSet<String>, proposed: &[Result<Node, Refused>]) -> Vec<Result<(), String>> {
    let mut verdicts: Vec<Result<(), String>> = Vec::with_capacity(proposed.len());
    let mut first: HashMap<&str, usize> = HashMap::new();
    let is_sound = |index: Option<&usize>| index.is_some_and(|index| proposed[*index].is_ok());
    for (index, node) in proposed.iter().enumerate() {
        verdicts.push(match node {
            Err(refused) => {
                if let Some(id) = &refused.id {
                    first.entry(id).or_insert(index);
                }
                Err(refused.reason.clone())
            }
            Ok(node) if existing.contains(&node.id) || is_sound(first.get(node.id.as_str())) => {
                Err(format!("agent_id \"{}\" is already taken; choose another one", node.id))
            }
            Ok(node) => {
                first.insert(&node.id, index);
                Ok(())
            }
        });
    }
    loop {
        let mut changed = false;
        for (index, node) in proposed.iter().enumerate() {
            let (Ok(node), true) = (node, verdicts[index].is_ok()) else { continue };
            if let Some(reason) = error(node, existing, proposed, &first, &verdicts) {
                verdicts[index] = Err(reason);
                changed = true;
            }
        }
        if changed {
            continue;
        }
        let Some(cycle) = cycle(&accepted_needs(proposed, &verdicts)) else { return verdicts };
        let ids = cycle.iter().filter_map(|index| proposed[*index].as_ref().ok());
        let path = cycle_path(&ids.map(|node| node.id.as_str()).collect::<Vec<_>>());
        let reason = format!("depends_on is a cycle: {path}; remove one of these dependencies");
        for index in cycle {
            verdicts[index] = Err(reason.clone());
        }
    }
}

fn error(
    node: &Node,
    existing: &HashSet<String>,
    proposed: &[Result<Node, Refused>],
    first: &HashMap<&str, usize>,
    verdicts: &[Result<(), String>],
) -> Option<String> {
    node.depends_on.iter().find_map(|needed| {
        if existing.contains(needed) {
            return None;
        }
        match first.get(needed.as_str()) {
            Some(index) if verdicts[*index].is_ok() => None,
            Some(_) => {
                Some(format!("it depends on \"{needed}\", which was refused; correct that agent first"))
            }
            None => {
                let others = proposed.iter().flatten().map(|other| other.id.as_str());
                let names = existing.iter().map(String::as_str).chain(others);
                let mut names: Vec<&str> = names.filter(|id| *id != node.id).collect();
                names.sort_unstable();
                names.dedup();
                let names =
                    if names.is_empty() { "there are no agents yet".to_owned() } else { names.join(", ") };
                Some(format!("depends_on names \"{needed}\", but there is no such agent (known: {names})"))
            }
        }
    })
}

/// A cycle for people: `a → b → a`.
pub fn cycle_path(ids: &[&str]) -> String {
    ids.iter().chain(ids.first()).copied().collect::<Vec<_>>().join(" → ")
}

fn accepted_needs(proposed: &[Result<Node, Refused>], verdicts: &[Result<(), String>]) -> Vec<Vec<usize>> {
    let accepted = || {
        proposed.iter().zip(verdicts).map(|(node, verdict)| node.as_ref().ok().filter(|_| verdict.is_ok()))
    };
    let indices: HashMap<&str, usize> =
        accepted().enumerate().filter_map(|(index, node)| Some((node?.id.as_str(), index))).collect();
    let needs = |node: Option<&Node>| {
        let depends_on = node.map(|node| node.depends_on.as_slice()).unwrap_or_default();
        depends_on.iter().filter_map(|needed| indices.get(needed.as_str()).copied()).collect()
    };
    accepted().map(needs).collect()
}

/// Finds a cycle in a graph, in order; `needs` has each node's dependencies by index.
pub fn cycle(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    // Remove nodes without dependencies until only cycles and their dependents are left.
    let mut left: HashSet<usize> = (0..needs.len()).collect();
    loop {
        let is_free = |index: &usize| !needs[*index].iter().any(|need| left.contains(need));
        let free: Vec<usize> = left.iter().copied().filter(is_free).collect();
        if free.is_empty() {
            break;
        }
        for index in free {
            left.remove(&index);
        }
    }
    let mut here = *left.iter().min()?;
    let mut path = Vec::new();
    while !path.contains(&here) {
        path.push(here);
        here = *needs[here].iter().find(|need| left.contains(need))?;
    }
    let begin = path.iter().position(|index| *index == here)?;
    Some(path.split_off(begin))
}

/// Whether an agent may start, given the status of its dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// A dependency hasn't ended.
    Blocked,
    /// A dependency failed: its name and status.
    Unreachable(String, ExecutionStatus),
}

/// Whether an agent with these dependencies may start.
pub fn readiness(depends_on: &[String], status: impl Fn(&str) -> Option<ExecutionStatus>) -> Readiness {
    let mut readiness = Readiness::Ready;
    for needed in depends_on {
        match status(needed) {
            Some(status) if status.ended_well() => {}
            Some(status) if status.has_ended() => return Readiness::Unreachable(needed.clone(), status),
            _ => readiness = Readiness::Blocked,
        }
    }
    readiness
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn node(id: &str, depends_on: &[&str]) -> Result<Node, Refused> {
        Ok(Node { id: id.into(), depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect() })
    }

    #[test]
    fn a_diamond_is_sound() {
        let proposed = [node("d", &["b", "c"]), node("b", &["a"]), node("c", &["a"]), node("a", &[])];
        assert!(judge(&HashSet::new(), &proposed).iter().all(Result::is_ok));
    }

    #[test]
    fn an_error_affects_only_dependants() {
        let proposed = [
            node("a", &["b"]),
            node("b", &["a"]),
            node("c", &["b"]),
            node("d", &["nobody"]),
            node("e", &[]),
            node("e", &[]),
            Err(Refused { id: None, reason: "missing field `mission`".to_owned() }),
            Err(Refused { id: Some("typo".into()), reason: "there is no skill \"task.find\"".to_owned() }),
            node("after-typo", &["typo"]),
            node("old", &[]),
            node("self", &["self"]),
        ];
        let existing = HashSet::from(["old".to_owned()]);
        let verdicts: Vec<String> = judge(&existing, &proposed)
            .into_iter()
            .map(|verdict| verdict.err().unwrap_or("ok".into()))
            .collect();
        insta::assert_snapshot!(verdicts.join("\n"), @r#"
        depends_on is a cycle: a → b → a; remove one of these dependencies
        depends_on is a cycle: a → b → a; remove one of these dependencies
        it depends on "b", which was refused; correct that agent first
        depends_on names "nobody", but there is no such agent (known: a, after-typo, b, c, e, old, self)
        ok
        agent_id "e" is already taken; choose another one
        missing field `mission`
        there is no skill "task.find"
        it depends on "typo", which was refused; correct that agent first
        agent_id "old" is already taken; choose another one
        depends_on is a cycle: self → self; remove one of these dependencies
        "#);
    }

    proptest! {
        /// The accepted agents can always run to the end, each after its dependencies.
        #[test]
        fn what_is_accepted_can_run(edges in prop::collection::vec((0..12_usize, prop::collection::vec(0..14_usize, 0..4)), 0..12)) {
            let proposed: Vec<Result<Node, Refused>> = edges
                .iter()
                .map(|(id, needs)| Ok(Node { id: format!("n{id}"), depends_on: needs.iter().map(|n| format!("n{n}")).collect() }))
                .collect();
            let verdicts = judge(&HashSet::new(), &proposed);
            prop_assert_eq!(verdicts.len(), proposed.len());
            let accepted: Vec<&Node> = proposed.iter().zip(&verdicts).filter(|(_, v)| v.is_ok()).filter_map(|(n, _)| n.as_ref().ok()).collect();
            let mut done: HashSet<&str> = HashSet::new();
            loop {
                let ready: Vec<&&Node> = accepted.iter().filter(|node| !done.contains(node.id.as_str())).filter(|node| {
                    readiness(&node.depends_on, |id| Some(if done.contains(id) { ExecutionStatus::Completed } else { ExecutionStatus::Pending })) == Readiness::Ready
                }).collect();
                if ready.is_empty() { break; }
                for node in ready { prop_assert!(done.insert(&node.id)); }
            }
            prop_assert_eq!(done.len(), accepted.len());
        }
    }
}
