//! `/mine`: the things of a person that were made from text of others, and their word that these are theirs.
//!
//! Only words that the person writes take a mark away: this is no skill, so no model can do it.

use adjutant_store::inbox::InboxRow;
use adjutant_store::taints::{self, MarkedRow};
use adjutant_store::{Batch, Result};
use adjutant_turn::wording::ownership;
use adjutant_types::PersonId;

use super::Conversations;

/// Ways to say it without a slash.
const PHRASES: [&str; 7] =
    ["that's mine", "thats mine", "that is mine", "this is mine", "it's mine", "its mine", "those are mine"];

/// Whether somebody says of something that it is theirs.
pub(super) fn is_claim(text: &str) -> bool {
    let words = text.trim().trim_end_matches(['.', '!']).to_lowercase().replace('’', "'");
    let words =
        ["yes, ", "yes ", "ok, ", "no, "].iter().find_map(|word| words.strip_prefix(word)).unwrap_or(&words);
    PHRASES.contains(&words)
}

impl Conversations {
    /// Whether the writer of a message says that something is theirs, and has something marked.
    pub async fn claims_ownership(&self, text: &str, person: &PersonId) -> Result<bool> {
        Ok(is_claim(text) && !taints::list(&self.store, person).await?.is_empty())
    }

    /// Lists what is marked, or takes marks away: of a number of the list, of "it" if nothing else can be meant, of all.
    pub(super) async fn mine(&self, row: &InboxRow, which: &str, batch: &mut Batch) -> Result<String> {
        let marked = taints::list(&self.store, &row.person_id).await?;
        let number: Option<i64> = which.parse().ok();
        let is_meant = |mark: &&MarkedRow| match which.to_lowercase().as_str() {
            "all" => true,
            "it" => marked.len() == 1,
            _ => number == Some(mark.number),
        };
        let meant: Vec<&MarkedRow> = marked.iter().filter(is_meant).collect();
        if meant.is_empty() {
            return Ok(ownership::list(&marked, number.is_some().then_some(which)));
        }
        meant.iter().for_each(|mark| taints::clear(batch, &row.person_id, mark));
        Ok(ownership::cleared(&meant))
    }
}
