//! Joins what was found by words with what is near by meaning. Words count three times as much: a hit by meaning alone
//! comes after every hit by words among the first forty, and never in its place.

use std::collections::{HashMap, HashSet};

/// How much a place in the order by words counts, and one in the order by meaning.
const WORDS: f64 = 3.0;
const MEANING: f64 = 1.0;
/// How slowly places lose weight.
const K: f64 = 20.0;
/// Without any word of the question, a text must be as near as this.
const NEAR: f64 = 0.6;

/// The texts in their new order, with new scores. `words` and `near` are in their orders, best first.
pub(super) fn fuse(words: Vec<(i64, f64)>, near: &[(i64, f64)]) -> Vec<(i64, f64)> {
    if near.is_empty() {
        return words;
    }
    let meaning: HashMap<i64, f64> = near
        .iter()
        .zip(1_u32..)
        .map(|((text, _), place)| (*text, MEANING / (K + f64::from(place))))
        .collect();
    let mut fused: Vec<(i64, f64)> = Vec::with_capacity(words.len());
    // Equal hits by words share a place: the newer comes first, whatever else is.
    let (mut place, mut last) = (0.0, f64::NAN);
    for (number, (text, score)) in (1_u32..).zip(&words) {
        if *score != last {
            (place, last) = (f64::from(number), *score);
        }
        fused.push((*text, WORDS / (K + place) + meaning.get(text).copied().unwrap_or_default()));
    }
    let by_words: HashSet<i64> = words.iter().map(|(text, _)| *text).collect();
    let is_new = |(text, similarity): &&(i64, f64)| *similarity >= NEAR && !by_words.contains(text);
    fused.extend(near.iter().filter(is_new).map(|(text, _)| (*text, meaning[text])));
    for (_, score) in &mut fused {
        // As big as scores by words, so that rounding keeps the order.
        *score *= 1000.0;
    }
    fused.sort_unstable_by(|(one, a), (other, b)| b.total_cmp(a).then(other.cmp(one)));
    fused
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(words: Vec<(i64, f64)>, near: &[(i64, f64)]) -> Vec<i64> {
        fuse(words, near).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn meaning_lifts_a_hit_by_words_and_adds_what_is_near() {
        let words: Vec<_> = (0..8).map(|n| (n, 10.0 - n as f64)).collect();
        assert_eq!(order(words.clone(), &[]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(words.clone(), &[(6, 0.9)])[0], 6);
        assert_eq!(order(words.clone(), &[(99, 0.9), (98, 0.3)]), [0, 1, 2, 3, 4, 5, 6, 7, 99]);
    }

    proptest! {
        /// Whatever the vectors say: no text without a word of the question comes before one with it, and the best hit by
        /// words stays among the first ten.
        #[test]
        fn a_hit_by_words_is_never_pushed_out_by_meaning_alone(
            count in 1_i64..40,
            near in prop::collection::vec((0_i64..80, 0.0_f64..1.0), 0..50),
        ) {
            let mut seen = HashSet::new();
            let mut near: Vec<_> = near.into_iter().filter(|(text, _)| seen.insert(*text)).collect();
            near.sort_by(|a, b| b.1.total_cmp(&a.1));
            let words: Vec<_> = (0..count).map(|n| (n, 100.0 - n as f64)).collect();
            let order = order(words, &near);
            let first_new = order.iter().position(|text| *text >= count).unwrap_or(order.len());
            prop_assert!(order[first_new..].iter().all(|text| *text >= count));
            prop_assert!(order.iter().take(10).any(|text| *text == 0), "{:?}", order);
        }
    }
}
