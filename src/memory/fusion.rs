//! Joins what was found by words with what is near by meaning. A hit by meaning alone comes after every hit by words among
//! the first forty, and never in its place. Where some text has all words of the question, words count three times as
//! much; the fewer the best text has, the more meaning counts among them: "which town is Ada's home" finds forty texts
//! about Ada by her name, and words can't tell which.

use std::collections::{HashMap, HashSet};

/// How much a place in the order by words counts, and one in the order by meaning.
const WORDS: f64 = 3.0;
const MEANING: f64 = 1.0;
/// How much more meaning counts where no text has anything of the question; in proportion where the best has a part.
const UNSURE: f64 = 3.0;
/// How slowly places lose weight.
const K: f64 = 20.0;
/// Without any word of the question, a text must be as near as this.
const NEAR: f64 = 0.6;

/// The texts in their new order, with new scores. `words` and `near` are in their orders, best first; `share` is how much of
/// the question the best text by words has.
pub(super) fn fuse(words: Vec<(i64, f64)>, near: &[(i64, f64)], share: f64) -> Vec<(i64, f64)> {
    if near.is_empty() {
        return words;
    }
    let by_place = |place: u32| MEANING / (K + f64::from(place));
    let meaning: HashMap<i64, f64> =
        near.iter().zip(1..).map(|((text, _), place)| (*text, by_place(place))).collect();
    let weight = 1.0 + UNSURE * (1.0 - share).max(0.0);
    let mut fused: Vec<(i64, f64)> = Vec::with_capacity(words.len());
    // Equal hits by words share a place: the newer comes first, whatever else is.
    let (mut place, mut last) = (0.0, f64::NAN);
    for (number, (text, score)) in (1_u32..).zip(&words) {
        if *score != last {
            (place, last) = (f64::from(number), *score);
        }
        let near = meaning.get(text).copied().unwrap_or_default();
        fused.push((*text, WORDS / (K + place) + weight * near));
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
    }
}
