//! Joins what was found by words with what is near by meaning. A hit by meaning alone comes after every hit by words among
//! the first forty, and never in its place. Where some text has all words of the question, words count three times as
//! much; the fewer the best text has, the more meaning counts among them: "which town is Ada's home" finds forty texts
//! about Ada by her name, and words can't tell which. Of the texts that words alone would show, those that have another word
//! than a name, or most of the question, are still shown: whatever the vectors say, they only change the order of these.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// How much a position in the order by words counts, and a position in the order by meaning.
const WORDS: f64 = 3.0;
const MEANING: f64 = 1.0;
/// How much more meaning counts where no text has anything of the question; in proportion where the best has a part.
const UNSURE: f64 = 3.0;
/// How slowly positions lose weight.
const K: f64 = 20.0;
/// Without any word of the question, a text must be as near as this.
const NEAR: f64 = 0.6;

/// A text has most of a question from this part of it on; rare words and names are a bigger part than others.
pub(super) const MAX: f64 = 2.0 / 3.0;

/// Brings those texts back among the first `limit` that meaning has pushed behind them; at most as many as that. Each takes
/// the place of the last that may go.
pub(super) fn retain<T: Copy + Eq + Hash>(
    fused: Vec<(T, f64)>,
    stays: &HashSet<T>,
    limit: usize,
) -> Vec<(T, f64)> {
    let (first, rest) = fused.split_at(limit.min(fused.len()));
    let back = rest.iter().filter(|(text, _)| stays.contains(text)).count();
    if back == 0 {
        return fused;
    }
    let may_go = first.iter().rev().filter(|(text, _)| !stays.contains(text));
    let gone: HashSet<T> = may_go.take(back).map(|(text, _)| *text).collect();
    let is_first = |text: &T, at: usize| if at < limit { !gone.contains(text) } else { stays.contains(text) };
    let texts = fused.iter().enumerate().map(|(at, (text, _))| (is_first(text, at), *text));
    let (shown, rest): (Vec<_>, Vec<_>) = texts.partition(|(is_first, _)| *is_first);
    // Each position keeps its score, so that rounding keeps the order; no equal one comes back because it's newer.
    let texts = shown.into_iter().chain(rest).map(|(_, text)| text);
    let scores = (0..).zip(&fused).map(|(at, (_, score))| if at < limit { *score } else { score - 0.001 });
    texts.zip(scores).collect()
}

/// The texts in their new order, with new scores. `words` and `near` are in their orders, best first; `share` is how much of
/// the question the best text by words has.
pub(super) fn fuse<T: Copy + Eq + Hash + Ord>(
    words: Vec<(T, f64)>,
    near: &[(T, f64)],
    share: f64,
) -> Vec<(T, f64)> {
    if near.is_empty() {
        return words;
    }
    let by_position = |position: u32| MEANING / (K + f64::from(position));
    let meaning: HashMap<T, f64> =
        near.iter().zip(1..).map(|((text, _), position)| (*text, by_position(position))).collect();
    let weight = 1.0 + UNSURE * (1.0 - share).max(0.0);
    let mut fused: Vec<(T, f64)> = Vec::with_capacity(words.len());
    // Equal hits by words share a position: the newer comes first, whatever else is.
    let (mut position, mut last) = (0.0, f64::NAN);
    for (number, (text, score)) in (1_u32..).zip(&words) {
        if *score != last {
            (position, last) = (f64::from(number), *score);
        }
        let near = meaning.get(text).copied().unwrap_or_default();
        fused.push((*text, WORDS / (K + position) + weight * near));
    }
    let by_words: HashSet<T> = words.iter().map(|(text, _)| *text).collect();
    let is_new = |(text, similarity): &&(T, f64)| *similarity >= NEAR && !by_words.contains(text);
    fused.extend(near.iter().filter(is_new).map(|(text, _)| (*text, meaning[text])));
    for (_, score) in &mut fused {
        // As big as scores by words, so that rounding keeps the order.
        *score *= 1000.0;
    }
    fused.sort_unstable_by(|(text_a, a), (text_b, b)| b.total_cmp(a).then(text_b.cmp(text_a)));
    fused
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(words: Vec<(i64, f64)>, near: &[(i64, f64)], share: f64) -> Vec<i64> {
        fuse(words, near, share).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn meaning_lifts_a_hit_by_words_and_adds_what_is_near() {
        let words: Vec<_> = (0..8).map(|n| (n, 10.0 - n as f64)).collect();
        let order = |near: &[(i64, f64)]| order(words.clone(), near, 1.0);
        assert_eq!(order(&[]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(&[(6, 0.9)])[0], 6);
        assert_eq!(order(&[(99, 0.9), (98, 0.3)]), [0, 1, 2, 3, 4, 5, 6, 7, 99]);
    }

    #[test]
    fn meaning_decides_where_words_know_little() {
        let words: Vec<_> = (0..100).map(|n| (n, 100.0 - n as f64)).collect();
        let near = [(90, 0.9), (91, 0.8)];
        assert_eq!(order(words.clone(), &near, 1.0)[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(order(words, &near, 0.2)[..2], [90, 91]);
    }

    #[test]
    fn what_comes_back_takes_the_place_of_the_last_that_may_go() {
        let fused: Vec<_> = [5, 6, 1, 7, 2, 8].into_iter().zip([9.0, 8.0, 7.0, 6.0, 5.0, 4.0]).collect();
        let order = |stays: [i64; 2], limit| {
            let retained = retain(fused.clone(), &HashSet::from(stays), limit);
            retained.into_iter().map(|(text, _)| text).collect::<Vec<_>>()
        };
        assert_eq!(order([1, 2], 3), [5, 1, 2, 6, 7, 8]);
        assert_eq!(order([1, 2], 4), [5, 6, 1, 2, 7, 8]);
        assert_eq!(order([1, 2], 5), [5, 6, 1, 7, 2, 8]);
    }

    proptest! {
        /// Whatever the vectors say: no text without a word of the question comes before one with it; and where a text has
        /// all of them, the best stays among the first ten.
        #[test]
        fn a_hit_by_words_is_never_pushed_out_by_meaning_alone(
            count in 1_i64..40,
            near in prop::collection::vec((0_i64..80, 0.0_f64..1.0), 0..50),
            share in 0.0_f64..=1.0,
        ) {
            let mut seen = HashSet::new();
            let mut near: Vec<_> = near.into_iter().filter(|(text, _)| seen.insert(*text)).collect();
            near.sort_by(|a, b| b.1.total_cmp(&a.1));
            let words: Vec<_> = (0..count).map(|n| (n, 100.0 - n as f64)).collect();
            let mixed = order(words.clone(), &near, share);
            let first_new = mixed.iter().position(|text| *text >= count).unwrap_or(mixed.len());
            prop_assert!(mixed[first_new..].iter().all(|text| *text >= count), "{:?}", mixed);
            prop_assert!(order(words, &near, 1.0).iter().take(10).any(|text| *text == 0));
        }

        /// Whatever the vectors say: what words alone would show and may not go is shown, and nothing is lost or doubled.
        #[test]
        fn what_has_most_of_the_question_is_shown_with_vectors_too(
            has_most in prop::collection::vec(any::<bool>(), 1..60),
            near in prop::collection::vec((0_i64..80, 0.0_f64..1.0), 0..50),
            share in 0.0_f64..=1.0,
            limit in 1_usize..20,
        ) {
            let mut seen = HashSet::new();
            let mut near: Vec<_> = near.into_iter().filter(|(text, _)| seen.insert(*text)).collect();
            near.sort_by(|a, b| b.1.total_cmp(&a.1));
            let words: Vec<_> = (0_i64..).zip(&has_most).map(|(n, _)| (n, 100.0 - n as f64)).collect();
            let by_words = words.iter().zip(&has_most).take(limit);
            let stays: HashSet<i64> =
                by_words.filter(|(_, has_most)| **has_most).map(|((text, _), _)| *text).collect();
            let fused = fuse(words, &near, share);
            let retained = retain(fused.clone(), &stays, limit);
            let shown: HashSet<i64> = retained.iter().take(limit).map(|(text, _)| *text).collect();
            prop_assert!(stays.is_subset(&shown), "{retained:?}");
            prop_assert!(retained.is_sorted_by(|a, b| a.1 >= b.1));
            let all = |texts: &[(i64, f64)]| texts.iter().map(|(text, _)| *text).collect::<HashSet<_>>();
            prop_assert_eq!((retained.len(), all(&retained)), (fused.len(), all(&fused)));
            // Where meaning pushed nothing of it out, nothing changes.
            let before: HashSet<i64> = fused.iter().take(limit).map(|(text, _)| *text).collect();
            prop_assert!(!stays.is_subset(&before) || retained == fused);
        }
    }
}
