//! The plainer forms of a message that can't be sent as it is, and its end.

use adjutant_chat::OutgoingFile;
use adjutant_types::{ConversationId, InstanceId, MessageForm};

use super::outbox::{Message, OutboxRow, json, say};
use crate::{Batch, Result, Stale, Store};

/// Sends the text of a row's file as a message instead, when the place takes no files.
pub async fn say_instead(
    store: &Store,
    row: &OutboxRow,
    conversation: &ConversationId,
    instance: &InstanceId,
) -> Result<()> {
    let mut batch = Batch::new();
    let sql = "UPDATE outbox SET state = 'sent', sent_at = $1, speech = NULL WHERE id = $2 AND part = $3 AND state = 'sending'";
    batch.must(Stale::DeliveredElsewhere, sql, [store.now().into(), (&row.id).into(), row.part.into()]);
    let outbound = row.outbound();
    let text = outbound.file.map(|file| file.markdown()).unwrap_or_default();
    // Who alone sees the row sees its file.
    let message =
        Message { turn: row.turn_id.clone(), answers: outbound.answers, text, ..Message::default() };
    let id = say(store, &mut batch, conversation, instance, &message);
    // So that it doesn't become a file again.
    batch.run("UPDATE outbox SET file = '' WHERE id = $1", [(&id).into()]);
    store.write(batch).await.map(|_| ())
}

/// Puts the rest of a long text into a file behind it. Nothing of the row may have been sent.
pub async fn become_file(store: &Store, row: &OutboxRow, text: &str, file: &OutgoingFile) -> Result<()> {
    store.write(Batch::requiring(
        Stale::DeliveredElsewhere,
        "UPDATE outbox SET text = $1, file = $2 WHERE id = $3 AND part = 0 AND state = $4 AND file IS NULL",
        [text.into(), json(file).into(), (&row.id).into(), row.state.into()],
    )).await.map(|_| ())
}

/// Has a row whose claimed part was refused sent in another form from that part on.
pub async fn change_form(store: &Store, row: &OutboxRow, form: MessageForm) -> Result<()> {
    store.write(Batch::requiring(
        Stale::DeliveredElsewhere,
        "UPDATE outbox SET state = 'pending', next_at = 0, checkpoint = NULL, edit_of = NULL, form = $1, form_part = $2, \
         only_file = $3 WHERE id = $4 AND part = $2 AND form = $5 AND state = 'sending' AND attempts = $6",
        values! { form, row.part, form == MessageForm::File, &row.id, row.form, row.attempts + 1 },
    )).await.map(|_| ())
}

/// Gives a row up, and says so unless the same words wait there already.
pub async fn give_up(
    store: &Store,
    row: &OutboxRow,
    conversation: &ConversationId,
    instance: &InstanceId,
    error: &str,
    notice: Option<String>,
) -> Result<()> {
    let mut batch = Batch::new();
    batch.must(
        Stale::DeliveredElsewhere,
        "UPDATE outbox SET state = 'dead', next_at = 0, error = $1 WHERE id = $2 AND part = $3 \
         AND state IN ('pending', 'sending', 'unknown') AND attempts <= $4",
        [error.into(), (&row.id).into(), row.part.into(), (row.attempts + 1).into()],
    );
    if let Some(text) = notice {
        let answers = row.outbound().answers;
        let message = Message { turn: row.turn_id.clone(), answers, text, ..Message::default() };
        let id = say(store, &mut batch, conversation, instance, &message);
        batch.run("UPDATE outbox SET form = 'notice' WHERE id = $1", [(&id).into()]);
        batch.run(
            "DELETE FROM outbox WHERE id = $1 AND EXISTS (SELECT 1 FROM outbox o WHERE o.conversation_id = $2 \
             AND o.text = $3 AND o.id <> $1 AND o.form = 'notice' AND o.state IN ('pending', 'sending', 'unknown'))",
            [(&id).into(), conversation.into(), message.text.into()],
        );
    }
    store.write(batch).await.map(|_| ())
}
