//! Memories of a person, and their origins.

use std::collections::HashMap;

use adjutant_l10n::page_tables as words;
use adjutant_store::{Result, origins, timeline};
use adjutant_types::{MemoryId, PersonId, TurnId};
use adjutant_web::views::{Cell, Edit, PageAction, Table, TableRow};

use super::WebBackend;
use super::tables::{row, table};
use super::view::ViewerContext;

const ROWS: i64 = 200;

impl WebBackend {
    pub(super) async fn memories(&self, view: &ViewerContext<'_>, person: &PersonId) -> Result<Table> {
        let mut from = self.saved_by_request(person).await?;
        for origin in origins::of_person(&self.store, person).await? {
            let said = match &*origin.quote {
                "" => words::wrote(),
                quote => words::quote(quote),
            };
            from.insert(origin.memory_id, (origin.turn_id, said));
        }
        let memories = timeline::memories(&self.store, person, ROWS).await?;
        let line = |(key, kind, scope, text, at): (MemoryId, String, String, String, i64)| {
            let origin = match from.remove(&key) {
                Some((turn, said)) => Cell::Link(said, format!("/turn/{turn}")),
                None => Cell::Text(String::new()),
            };
            let fields = vec![(words::what(), text.clone())];
            let cells = vec![text.into(), kind.into(), scope.into(), view.moment(at).into(), origin];
            TableRow {
                edit: Some(Edit { act: PageAction::EditMemory, key: key.to_string(), fields }),
                ..row(cells, Some((PageAction::DeleteMemory, key.to_string())))
            }
        };
        Ok(table(
            (words::memories(), words::no_memories()),
            [words::what(), words::kind(), words::meant_for(), words::since(), words::from()],
            memories.into_iter().map(line),
        ))
    }

    /// The memories that a person asked for, each with its turn.
    async fn saved_by_request(&self, person: &PersonId) -> Result<HashMap<MemoryId, (TurnId, String)>> {
        let mut saved = HashMap::new();
        for (turn, data) in timeline::remembered_in(&self.store, person, 5 * ROWS).await? {
            let data: serde_json::Value = serde_json::from_str(&data).unwrap_or_default();
            if let Some(id) = data["id"].as_str() {
                saved.insert(id.into(), (turn, words::asked_to_remember()));
            }
        }
        Ok(saved)
    }
}
