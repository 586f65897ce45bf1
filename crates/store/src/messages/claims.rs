//! Messages that are claimed for sending in the commit that adds them, and the progress messages that others replace.

use adjutant_types::{ConversationId, Flag, InstanceId, TurnId};
use sqlx::FromRow;

use super::outbox::{Message, OutboxRow, json};
use crate::people::Conversation;
use crate::turns::TurnRow;
use crate::{Batch, Result, Store, Value};

/// The row of a new message of a turn, as [`super::outbox::open`] would read it.
pub fn row(store: &Store, here: &Conversation, turn: &TurnRow, message: &Message) -> OutboxRow {
    OutboxRow {
        id: store.new_id(),
        channel: here.channel.clone(),
        place: here.place.clone(),
        turn_id: message.turn.clone(),
        answers: json(&message.answers),
        text: message.text.clone(),
        choices: json(&message.choices),
        created_at: store.now(),
        resumed_at: Some(turn.resumed_at),
        file: message.file.as_ref().map(json),
        speech: message.aloud.then(String::new),
        answered_since: (turn.resumed_at == turn.started_at).then_some(turn.started_at),
        ..OutboxRow::default()
    }
}

/// Adds a message that `row.instance` has claimed, unless another one of the conversation goes before it, or its turn has
/// a progress message to replace: then it belongs to `owner` and waits. As the last statement of a batch: see
/// [`is_claimed`].
pub fn say_claimed(batch: &mut Batch, conversation: &ConversationId, row: &OutboxRow, owner: &InstanceId) {
    batch.returning(
        "INSERT INTO outbox (id, conversation_id, turn_id, answers, text, choices, created_at, file, state, instance, \
         attempts, checkpoint) SELECT $1, $2, $3, $4, $5, $6, $7, $8, \
         CASE WHEN f.claimed = 1 THEN 'sending' ELSE 'pending' END, CASE WHEN f.claimed = 1 THEN $9 ELSE $10 END, f.claimed, \
         CASE WHEN f.claimed = 1 THEN $11 END FROM (SELECT CAST(CASE WHEN EXISTS (SELECT 1 FROM outbox WHERE \
         conversation_id = $2 AND state IN ('pending', 'sending', 'unknown')) OR EXISTS (SELECT 1 FROM turns \
         WHERE id = $3 AND progress_receipt IS NOT NULL) THEN 0 ELSE 1 END AS BIGINT) AS claimed) AS f RETURNING attempts",
        values! {
            &row.id, conversation, row.turn_id.clone(), &row.answers, &row.text, &row.choices,
            row.created_at, row.file.clone(), &row.instance, owner, row.checkpoint.clone()
        },
    );
}

/// Whether a batch that ended with [`say_claimed`] has claimed the message, from the values that it returned.
pub fn is_claimed(returned: &[Value]) -> bool {
    returned.last().and_then(Value::as_int) == Some(1)
}

/// Adds to the batch of a receipt that the turn's progress message has become that part. In the same commit: the clean-up
/// after a crash would else take the part for a progress message that was left.
pub(super) fn progress_became_part(batch: &mut Batch, row: &OutboxRow) {
    if let (Some(shown), Some(turn)) = (&row.edit_of, &row.turn_id) {
        let sql = "UPDATE turns SET progress_receipt = NULL WHERE id = $1 AND progress_receipt = $2";
        batch.run(sql, [turn.into(), shown.into()]);
    }
}

/// Saves the receipt of the message that shows a turn's progress; none once that message is gone.
pub async fn set_progress_receipt(store: &Store, turn: &TurnId, receipt: Option<&str>) -> Result<()> {
    let sql = "UPDATE turns SET progress_receipt = $1 WHERE id = $2";
    store.write(Batch::of(sql, [receipt.into(), turn.into()])).await.map(drop)
}

/// How an open turn is shown.
#[derive(Debug, FromRow)]
pub struct ProgressShown {
    /// The receipt of the message that shows its progress.
    pub progress_receipt: Option<String>,
    /// JSON: the platform's ids of the messages it answers.
    pub answers: String,
    /// Whether others read there.
    #[sqlx(try_from = "Flag")]
    pub shared: bool,
}

/// None once the turn has ended.
pub async fn progress_shown(store: &Store, turn: &TurnId) -> Result<Option<ProgressShown>> {
    const SQL: &str = "SELECT t.progress_receipt, t.answers, c.shared FROM turns t \
                       JOIN conversations c ON c.id = t.conversation_id WHERE t.id = $1 AND t.ended_at IS NULL";
    store.first(SQL, &[turn.into()]).await
}

/// A progress message that stands beside the answer it announced.
#[derive(Debug, FromRow)]
pub struct LeftProgress {
    pub turn_id: TurnId,
    pub place: String,
    pub progress_receipt: String,
}

/// The progress messages of a channel whose turns have said everything: an earlier process died before it removed them.
/// One that has become the answer isn't among them.
pub async fn left_progress(store: &Store, channel: &str) -> Result<Vec<LeftProgress>> {
    let sql = "SELECT t.id AS turn_id, c.place, t.progress_receipt FROM turns t \
        JOIN conversations c ON c.id = t.conversation_id WHERE t.progress_receipt IS NOT NULL \
        AND c.channel = $1 AND (t.ended_at IS NOT NULL OR t.status = 'waiting') AND NOT EXISTS \
        (SELECT 1 FROM outbox o WHERE o.turn_id = t.id \
         AND (o.state IN ('pending', 'sending', 'unknown') OR o.receipt = t.progress_receipt))";
    store.all(sql, &[channel.into()]).await
}
