//! The dependencies between steps.

use std::collections::{HashMap, HashSet};

use super::definition::{Step, StepKind, Target};

/// Fills in implicit dependencies, and the choice that leads to each step.
pub(crate) fn resolve(steps: Vec<(Step, bool)>) -> Vec<Step> {
    let choosers: HashMap<String, String> = steps
        .iter()
        .flat_map(|(step, _)| targets(step).map(|target| (target.to_owned(), step.id.clone())))
        .filter(|(target, chooser)| target != chooser)
        .collect();
    let mut resolved: Vec<Step> = Vec::with_capacity(steps.len());
    for (mut step, is_explicit) in steps {
        step.chosen_by = choosers.get(&step.id).cloned();
        match &step.chosen_by {
            Some(chooser) => step.depends_on.push(chooser.clone()),
            None if !is_explicit => step.depends_on = before(&resolved),
            None => {}
        }
        let mut seen = HashSet::new();
        step.depends_on.retain(|id| seen.insert(id.clone()));
        resolved.push(step);
    }
    resolved
}

/// The steps that a choice may lead to.
pub(crate) fn targets(step: &Step) -> impl Iterator<Item = &str> {
    let route = match &step.kind {
        StepKind::Choice(route) => Some(route),
        _ => None,
    };
    route.into_iter().flat_map(|route| route.targets()).filter_map(|target| match target {
        Target::Step(id) => Some(id.as_str()),
        Target::Agent(_) => None,
    })
}

/// The implicit dependencies of a step: the step before; after the branches of a choice all their ends, and the choice itself if
/// it may lead to no step.
fn before(steps: &[Step]) -> Vec<String> {
    let Some(last) = steps.last() else { return Vec::new() };
    let at = |name: &str| steps.iter().position(|step| step.id == name);
    let Some(mut choice) = last.chosen_by.as_deref().and_then(at) else { return vec![last.id.clone()] };
    for _ in 0..steps.len() {
        match steps[choice].chosen_by.as_deref().and_then(at) {
            Some(outer) => choice = outer,
            None => break,
        }
    }
    let mut follows = vec![false; steps.len()];
    follows[choice] = true;
    for index in choice + 1..steps.len() {
        follows[index] = steps[index].depends_on.iter().filter_map(|id| at(id)).any(|id| follows[id]);
    }
    let followers = || steps.iter().zip(&follows).filter(|(_, follows)| **follows).map(|(step, _)| step);
    let is_end =
        |step: &&Step| !followers().any(|other| other.depends_on.contains(&step.id)) || may_end(step);
    followers().filter(is_end).map(|step| step.id.clone()).collect()
}

/// Whether a choice may lead to no step.
fn may_end(step: &Step) -> bool {
    match &step.kind {
        StepKind::Choice(route) => {
            let ways = route.cases.iter().map(|case| &case.then).chain([&route.otherwise]);
            ways.into_iter().any(|way| !matches!(way, Some(Target::Step(_))))
        }
        _ => false,
    }
}

pub(crate) fn indices(steps: &[Step]) -> HashMap<&str, usize> {
    steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect()
}

/// The steps in waves, by their indices: those of a wave can run in parallel once all earlier waves have ended. Steps in
/// a cycle, or after one, are left out.
pub fn waves(steps: &[Step]) -> Vec<Vec<usize>> {
    let indices = indices(steps);
    let mut left: Vec<usize> = vec![0; steps.len()];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for (at, step) in steps.iter().enumerate() {
        for need in step.depends_on.iter().filter_map(|id| indices.get(id.as_str())) {
            left[at] += 1;
            after[*need].push(at);
        }
    }
    let mut waves: Vec<Vec<usize>> = Vec::new();
    let mut wave: Vec<usize> = (0..steps.len()).filter(|at| left[*at] == 0).collect();
    while !wave.is_empty() {
        let mut next = Vec::new();
        for at in wave.iter().flat_map(|at| &after[*at]) {
            left[*at] -= 1;
            if left[*at] == 0 {
                next.push(*at);
            }
        }
        next.sort_unstable();
        waves.push(std::mem::replace(&mut wave, next));
    }
    waves
}

/// For each step, by index, whether each other has ended before it starts.
pub fn ancestors(steps: &[Step]) -> Vec<Vec<bool>> {
    let indices = indices(steps);
    let mut before = vec![vec![false; steps.len()]; steps.len()];
    for at in waves(steps).into_iter().flatten() {
        let mut mine = vec![false; steps.len()];
        for need in steps[at].depends_on.iter().filter_map(|id| indices.get(id.as_str())) {
            mine[*need] = true;
            mine.iter_mut().zip(&before[*need]).for_each(|(mine, theirs)| *mine |= theirs);
        }
        before[at] = mine;
    }
    before
}
