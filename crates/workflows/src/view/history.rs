//! The usage of earlier agents of a role, as the range in which the next one is expected; or else a typical agent's.

use std::collections::BTreeMap;

use adjutant_store::usage::role_history::Took;

use super::estimate::{Estimate, Range};

/// The usage of earlier agents, by role. A role whose agents have hardly worked isn't there.
pub type History = BTreeMap<String, Estimate>;

/// Fewer agents say nothing about the next one.
const ENOUGH: usize = 3;
/// Half of the agents stay within the minimum, nine of ten within the maximum.
const PERCENTILES: (usize, usize) = (50, 90);

/// The range of what these agents took, if they are enough.
pub fn past(agents: &[Took]) -> Option<Estimate> {
    let range = |of: fn(&Took) -> i64| {
        let mut all: Vec<i64> = agents.iter().map(of).collect();
        all.sort_unstable();
        let at = |percent: usize| all.get((all.len() * percent).div_ceil(100).saturating_sub(1));
        let number = |percent| u64::try_from(at(percent).copied().unwrap_or(0)).unwrap_or(0);
        Range(number(PERCENTILES.0), number(PERCENTILES.1))
    };
    (agents.len() >= ENOUGH).then(|| Estimate {
        agents: range(|took| took.agents),
        model_calls: range(|took| took.model_calls),
        skill_calls: range(|took| took.skill_calls),
        prompt_tokens: range(|took| took.prompt),
        completion_tokens: range(|took| took.completion),
        is_unpriced: false,
    })
}

/// The range of an agent of a plan that ran with a real model: four steps took 21 calls.
pub fn typical() -> Estimate {
    Estimate {
        agents: Range(1, 1),
        model_calls: Range(2, 6),
        skill_calls: Range(1, 5),
        prompt_tokens: Range(6_000, 40_000),
        completion_tokens: Range(300, 2_500),
        is_unpriced: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_nine_tenths_of_enough_agents_are_the_range() {
        let took =
            |n: i64| Took { agents: 1, skill_calls: 2, model_calls: n, prompt: 100 * n, completion: n };
        let few: Vec<Took> = (1..3).map(took).collect();
        assert_eq!(past(&few), None);
        // One outlier doesn't make the range.
        let many: Vec<Took> = (1..10).map(took).chain([took(1_000)]).collect();
        let estimate = past(&many).unwrap();
        assert_eq!((estimate.model_calls, estimate.prompt_tokens), (Range(5, 9), Range(500, 900)));
        assert_eq!((estimate.agents, estimate.skill_calls), (Range(1, 1), Range(2, 2)));
    }
}
