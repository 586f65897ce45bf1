//! `/memories`: what is remembered, where it comes from, and buttons to forget it.

use adjutant_chat::Choice;

use super::Conversations;
use crate::clock::utc;
use crate::memory::{self, Forgetting};
use crate::store::inbox::InboxRow;
use crate::store::memories::{self, KnownRow, MemoryRow};
use crate::store::outbox::Message;
use crate::store::{Batch, StoreError, people};
use crate::wording;

/// How many memories are shown at once; Discord takes no more buttons than 25.
const SHOWN: i64 = 10;
/// How the id of a button begins that forgets a memory.
const BUTTON: &str = "memory:";

/// The command that a button below a list of memories stands for; none if it is another button.
pub fn command_of(button: &str) -> Option<String> {
    button.strip_prefix(BUTTON).map(|id| format!("/forget {id}"))
}

impl Conversations {
    /// Shows a page of what may be recalled here, the newest first.
    pub(super) async fn show_memories(&self, row: &InboxRow) -> Result<(), StoreError> {
        let here = people::conversation_by_id(&self.store, &row.conversation_id).await?;
        let zone = self.zone_of(&people::person_by_id(&self.store, &row.person_id).await?);
        let page = row.text.split_whitespace().nth(1).and_then(|page| page.parse().ok()).unwrap_or(1_i64);
        let before = (page.clamp(1, 10_000) - 1) * SHOWN;
        let all = memories::with_origins(&self.store, &row.person_id, &here, before + SHOWN + 1).await?;
        let shown: Vec<_> =
            (before + 1..).zip(all.iter().skip(usize::try_from(before).unwrap_or_default())).collect();
        let is_more = i64::try_from(shown.len()).unwrap_or_default() > SHOWN;
        let shown = &shown[..shown.len().min(usize::try_from(SHOWN).unwrap_or_default())];
        let day = |at: i64| utc(at).with_timezone(&zone).format("%-d %B %Y").to_string();
        let line = |(number, known): &(i64, &KnownRow)| {
            wording::memories::line(*number, known, &day(known.memory.created_at))
        };
        let lines: Vec<String> = shown.iter().map(line).collect();
        let choices = shown.iter().map(|(number, memory)| Choice {
            id: format!("{BUTTON}{}", memory.memory.id),
            label: wording::memories::forget(*number),
        });
        let text = wording::memories::list(&lines, is_more.then_some(page + 1), here.shared != 0);
        let choices = choices.collect();
        self.reply_with(row, Message { text, choices, ..Message::default() }, Batch::new()).await
    }

    /// Forgets one memory of the person that may be recalled here.
    pub(super) async fn forget_memory(&self, row: &InboxRow) -> Result<(), StoreError> {
        let here = people::conversation_by_id(&self.store, &row.conversation_id).await?;
        let person = people::person_by_id(&self.store, &row.person_id).await?;
        let id = row.text.split_whitespace().nth(1).unwrap_or_default();
        let known = memories::list(&self.store, &person.id, &here, "", 100_000).await?;
        let Some(memory) = known.into_iter().find(|memory| memory.id.eq_ignore_ascii_case(id)) else {
            return self.reply(row, None, wording::memories::NO_SUCH.to_owned(), Batch::new()).await;
        };
        let mut batch = Batch::new();
        let asked = Forgetting { person: &person.id, here: Some(&here), zone: self.zone_of(&person) };
        let forgotten: [MemoryRow; 1] = [memory];
        let messages = memory::forget(&self.store, asked, &forgotten, None, &mut batch).await?;
        let [memory] = forgotten;
        self.reply(row, None, wording::memories::forgotten(&memory.text, messages), batch).await
    }
}
