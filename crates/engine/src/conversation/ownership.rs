//! What a person has that was made from text of others, and how they say that it is theirs.
//!
//! Only words that the person writes take a mark away: this is no skill, so no model can do it.

use adjutant_l10n as l10n;
use adjutant_store::inbox::InboxRow;
use adjutant_store::taints::{self, MarkedRow};
use adjutant_store::{Batch, StoreError, people};
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
    pub async fn claims_ownership(&self, text: &str, person: &PersonId) -> Result<bool, StoreError> {
        Ok(is_claim(text) && !taints::list(&self.store, person).await?.is_empty())
    }

    /// Lists what is marked, or takes marks away: of a number of the list, or of all.
    pub(super) async fn mine(
        &self,
        row: &InboxRow,
        which: &str,
        batch: &mut Batch,
    ) -> Result<String, StoreError> {
        let number: Option<i64> = which.parse().ok();
        let is_all = which.eq_ignore_ascii_case("all");
        let is_meant = |mark: &MarkedRow| is_all || number == Some(mark.number);
        self.clear_marks(row, number.is_some().then_some(which), batch, |marked| {
            marked.iter().filter(|mark| is_meant(mark)).collect()
        })
        .await
    }

    /// Takes away the mark of the only thing that can be meant.
    pub(super) async fn mine_it(&self, row: &InboxRow, batch: &mut Batch) -> Result<String, StoreError> {
        self.clear_marks(row, None, batch, |marked| match marked {
            [mark] => vec![mark],
            _ => Vec::new(),
        })
        .await
    }

    async fn clear_marks(
        &self,
        row: &InboxRow,
        number: Option<&str>,
        batch: &mut Batch,
        meant: impl FnOnce(&[MarkedRow]) -> Vec<&MarkedRow>,
    ) -> Result<String, StoreError> {
        if people::conversation_by_id(&self.store, &row.conversation_id).await?.shared {
            return Ok(l10n::commands::in_private("/mine"));
        }
        let marked = taints::list(&self.store, &row.person_id).await?;
        let meant = meant(&marked);
        if meant.is_empty() {
            return Ok(ownership::list(&marked, number));
        }
        meant.iter().for_each(|mark| taints::clear(batch, &row.person_id, mark));
        Ok(ownership::cleared(&meant))
    }
}
