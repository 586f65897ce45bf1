//! What a person has that was made from text of others, and how they say that it is theirs.
//!
//! Only words that the person writes take a mark away: this is no skill, so no model can do it.

use adjutant_store::inbox::InboxRow;
use adjutant_store::taints::{self, MarkedRow};
use adjutant_store::{Batch, StoreError, people};
use adjutant_turn::wording::ownership;
use adjutant_types::PersonId;

use super::Conversations;

/// Ways to say it without a slash.
const PHRASES: [&str; 7] =
    ["that's mine", "thats mine", "that is mine", "this is mine", "it's mine", "its mine", "those are mine"];

impl Conversations {
    /// Whether the writer of a message says that something is theirs, and has something marked.
    pub async fn claims_ownership(&self, text: &str, person: &PersonId) -> Result<bool, StoreError> {
        let words = text.trim().trim_end_matches(['.', '!']).to_lowercase().replace('’', "'");
        let words = ["yes, ", "yes ", "ok, ", "no, "]
            .iter()
            .find_map(|word| words.strip_prefix(word))
            .unwrap_or(&words);
        Ok(PHRASES.contains(&words) && !taints::list(&self.store, person).await?.is_empty())
    }

    /// Lists what is marked, or takes marks away: `/mine`, `/mine 2`, `/mine all`.
    pub(super) async fn mine(&self, row: &InboxRow, batch: &mut Batch) -> Result<String, StoreError> {
        if people::conversation_by_id(&self.store, &row.conversation_id).await?.shared != 0 {
            return Ok(ownership::IN_PRIVATE.to_owned());
        }
        let marked = taints::list(&self.store, &row.person_id).await?;
        let which = row.text.split_whitespace().nth(1).unwrap_or_default().to_lowercase();
        let is_meant = |one: &&MarkedRow| match which.as_str() {
            "all" => true,
            // Nothing else can be meant.
            "it" => marked.len() == 1,
            number => number.parse() == Ok(one.number),
        };
        let meant: Vec<&MarkedRow> = marked.iter().filter(is_meant).collect();
        if meant.is_empty() {
            let is_number = which.parse::<i64>().is_ok();
            return Ok(ownership::list(&marked, is_number.then_some(which.as_str())));
        }
        meant.iter().for_each(|one| taints::clear(batch, &row.person_id, one));
        Ok(ownership::cleared(&meant))
    }
}
