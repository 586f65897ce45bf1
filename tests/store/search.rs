//! Visits every state that a model can get into, those after the fewest steps first.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

/// Something that goes from state to state.
pub(crate) trait Model {
    type State: Copy + Eq + Hash;

    fn first(&self) -> Self::State;
    /// What may happen next, each by its name and by whom.
    fn next(&self, state: &Self::State) -> Vec<(Action, Self::State)>;
    /// What must never be so, and is.
    fn broken(&self, state: &Self::State) -> Option<&'static str>;
    /// Whether all has come to a good end, from which nothing leads to a bad one.
    fn is_done(&self, state: &Self::State) -> bool;
}

pub(crate) type Action = (&'static str, usize);

/// What went wrong, and the shortest way there.
#[derive(Debug)]
pub(crate) struct Counterexample {
    pub(crate) why: &'static str,
    pub(crate) steps: Vec<Action>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:", self.why)?;
        self.steps.iter().try_for_each(|(name, by)| write!(to, "\n  {by}: {name}"))
    }
}

/// The number of states; or one that is broken, or from which no way leads to a good end.
pub(crate) fn search<M: Model>(model: &M) -> Result<usize, Counterexample> {
    let first = model.first();
    let (mut states, mut known) = (vec![first], HashMap::from([(first, 0)]));
    // From where, and by what, each state was first reached; and all states that lead to it.
    let mut reached: Vec<Option<(usize, Action)>> = vec![None];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut at = 0;
    while at < states.len() {
        if let Some(why) = model.broken(&states[at]) {
            return Err(Counterexample { why, steps: way(&reached, at) });
        }
        for (action, state) in model.next(&states[at]) {
            let to = *known.entry(state).or_insert(states.len());
            if to == states.len() {
                states.push(state);
                reached.push(Some((at, action)));
                before.push(Vec::new());
            }
            before[to].push(at);
        }
        at += 1;
    }
    let mut ends_well: Vec<bool> = states.iter().map(|state| model.is_done(state)).collect();
    let mut open: Vec<usize> = (0..states.len()).filter(|at| ends_well[*at]).collect();
    while let Some(at) = open.pop() {
        for from in &before[at] {
            if !std::mem::replace(&mut ends_well[*from], true) {
                open.push(*from);
            }
        }
    }
    match ends_well.iter().position(|well| !well) {
        None => Ok(states.len()),
        Some(at) => Err(Counterexample { why: "it can't end well any more", steps: way(&reached, at) }),
    }
}

fn way(reached: &[Option<(usize, Action)>], mut at: usize) -> Vec<Action> {
    let mut steps = Vec::new();
    while let Some((from, action)) = reached[at] {
        steps.push(action);
        at = from;
    }
    steps.reverse();
    steps
}
