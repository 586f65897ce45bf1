//! Who said what is to be forgotten.

use std::collections::{BTreeSet, HashSet};

use chrono_tz::Tz;

use super::index::{catch_up, said_by};
use super::words::words;
use crate::domain::PersonId;
use crate::store::{Store, StoreError, search};

/// How many texts may be kept first, and how many texts of a word are looked at.
const CATCH_UP: usize = 5_000;
const MOST: i64 = 100_000;

/// The turns, by their numbers, in which a person said something that has every telling word of one of these texts.
pub async fn mentions(
    store: &Store,
    person: &PersonId,
    zone: Tz,
    texts: &[&str],
) -> Result<BTreeSet<i64>, StoreError> {
    catch_up(store, zone, true, CATCH_UP).await?;
    let mut all = BTreeSet::new();
    for text in texts {
        let stems: BTreeSet<String> = words(text).map(|word| word.stem).collect();
        let mut common: Option<HashSet<i64>> = None;
        for stem in stems {
            let to = format!("{stem}\u{1}");
            let postings = search::postings(store, said_by(person), (&stem, &to), MOST).await?;
            let turns = postings.into_iter().flat_map(|posting| posting.texts).map(|(text, _)| text / 2);
            let turns: HashSet<i64> = turns.collect();
            common = Some(match common {
                Some(common) => common.intersection(&turns).copied().collect(),
                None => turns,
            });
        }
        all.extend(common.unwrap_or_default());
    }
    Ok(all)
}
