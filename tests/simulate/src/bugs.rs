//! Bugs planted between the engine and its store, to show that the checker finds them.

use adjutant_store::Batch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A message is marked as taken, and then its turn begins.
    TakenBeforeItsTurn,
    /// A turn ends, and then its answer is put into the outbox.
    EndBeforeItsAnswer,
    /// A task is saved, and then the end of the call that made it.
    TaskBeforeItsRow,
    /// A mail is handed over, and then it's noted that it is.
    MailBeforeItsPhase,
    /// A question is closed, and then its turn goes on.
    ClosedBeforeItsAnswer,
    /// What is written meanwhile is marked as taken, and then told to the model.
    TakenBeforeItIsRead,
    /// A message isn't claimed before it's sent.
    UnclaimedSending,
    /// A message counts as sent from its claim on.
    ReceiptBeforeSending,
    /// A message is deleted from the outbox as it is sent.
    DeletedBeforeSending,
    /// A message whose sending is unclear is sent again without a look.
    ResentBlindly,
    /// A turn's writes don't check its lease.
    NoFence,
    /// A turn ends, and is answered, without its lease.
    EndWithoutLease,
}

impl Bug {
    pub(crate) const ALL: [Self; 12] = [
        Self::TakenBeforeItsTurn,
        Self::EndBeforeItsAnswer,
        Self::TaskBeforeItsRow,
        Self::MailBeforeItsPhase,
        Self::ClosedBeforeItsAnswer,
        Self::TakenBeforeItIsRead,
        Self::UnclaimedSending,
        Self::ReceiptBeforeSending,
        Self::DeletedBeforeSending,
        Self::ResentBlindly,
        Self::NoFence,
        Self::EndWithoutLease,
    ];

    /// What is written for a batch, in this order.
    pub(crate) fn plant(self, mut batch: Batch, held: &mut Vec<Batch>) -> Vec<Batch> {
        let has = |text: &str| batch.texts().any(|sql| sql.contains(text));
        match self {
            Self::TakenBeforeItsTurn if !has("INSERT INTO inbox") => {
                let first =
                    batch.take_out("UPDATE inbox SET state = 'taken', turn_id = $1 WHERE id = $2 AND state");
                vec![first, batch]
            }
            Self::EndBeforeItsAnswer if has("UPDATE turns SET status = $1, answer") => {
                let last = batch.take_out("INSERT INTO outbox");
                vec![batch, last]
            }
            Self::TaskBeforeItsRow => vec![batch.take_out("INSERT INTO tasks"), batch],
            Self::MailBeforeItsPhase if has("UPDATE executions SET phase") && held.is_empty() => {
                held.push(batch);
                Vec::new()
            }
            Self::MailBeforeItsPhase => {
                held.push(batch);
                std::mem::take(held)
            }
            Self::ClosedBeforeItsAnswer => {
                vec![batch.take_out("UPDATE questions SET state = 'answered'"), batch]
            }
            Self::TakenBeforeItIsRead => vec![batch.take_out("state = 'new' AND text = $3"), batch],
            Self::UnclaimedSending => {
                batch.replace("THEN 'sending' ELSE 'pending'", "THEN 'pending' ELSE 'pending'");
                drop(batch.take_out("UPDATE outbox SET state = 'sending'"));
                vec![batch]
            }
            Self::ReceiptBeforeSending => {
                batch.replace("UPDATE outbox SET state = 'sending'", "UPDATE outbox SET state = 'sent'");
                vec![batch]
            }
            Self::DeletedBeforeSending => {
                // The claim's own condition says which row.
                let claim = "UPDATE outbox SET state = 'sending', instance = $1, attempts = attempts + 1, checkpoint = $2, \
                             edit_of = $3";
                batch.replace(claim, "DELETE FROM outbox");
                vec![batch]
            }
            Self::ResentBlindly => {
                batch.replace(
                    "UPDATE outbox SET state = $1, next_at",
                    "UPDATE outbox SET state = 'pending', next_at",
                );
                vec![batch]
            }
            Self::NoFence => {
                drop(batch.take_out("SELECT 1 FROM leases"));
                vec![batch]
            }
            Self::EndWithoutLease => {
                batch.uncheck("UPDATE leases SET instance = NULL WHERE name");
                vec![batch]
            }
            Self::TakenBeforeItsTurn | Self::EndBeforeItsAnswer => vec![batch],
        }
    }
}
