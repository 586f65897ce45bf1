//! Outgoing messages, until their receipt is stored.

use adjutant_chat::{Address, Choice, Form, Outbound, OutgoingFile, OutgoingVoice};
use adjutant_types::{ConversationId, Flag, InstanceId, MessageForm, OutboxId, OutboxState, TurnId};
use base64::prelude::{BASE64_STANDARD, Engine};
use sqlx::FromRow;

use super::claims::progress_became_part;
use super::questions::QuestionRow;
use crate::{Batch, Result, Stale, Store};

pub use super::claims::{
    LeftProgress, ProgressShown, is_claimed, left_progress, progress_shown, row, say_claimed,
    set_progress_receipt,
};
pub use super::forms::{become_file, change_form, give_up, say_instead};

#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow)]
pub struct OutboxRow {
    /// 22 characters, the same for each attempt.
    pub id: OutboxId,
    pub channel: String,
    /// The platform's id of the place there.
    pub place: String,
    pub turn_id: Option<TurnId>,
    /// JSON: the platform's ids of the messages it answers.
    pub answers: String,
    /// Markdown.
    pub text: String,
    /// JSON: the buttons.
    pub choices: String,
    pub state: OutboxState,
    pub attempts: i64,
    /// The earliest time of the next attempt.
    pub next_at: i64,
    pub created_at: i64,
    /// The next part to send.
    pub part: i64,
    /// The adapter's checkpoint of the place, from before this part was last sent.
    pub checkpoint: Option<String>,
    /// The receipt of an earlier message that becomes the first part.
    pub edit_of: Option<String>,
    /// The receipt of the message that shows its turn's progress, while there is one.
    pub progress_receipt: Option<String>,
    /// When its turn last resumed.
    pub resumed_at: Option<i64>,
    /// JSON: the attached file.
    pub file: Option<String>,
    /// If it is also spoken: the sound (base64), empty until it is made.
    pub speech: Option<String>,
    pub form: MessageForm,
    /// The part that was refused when that form began.
    pub form_part: i64,
    /// Only a file is left, which must not hold up later messages.
    #[sqlx(try_from = "Flag")]
    pub only_file: bool,
    /// The instance that it belongs to; nobody if the channel's receiver is to claim it.
    pub instance: InstanceId,
    /// When its turn began, if that ran to its end without a pause.
    pub answered_since: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message {
    pub turn: Option<TurnId>,
    /// The platform's ids of the messages it answers.
    pub answers: Vec<String>,
    /// Markdown.
    pub text: String,
    pub choices: Vec<Choice>,
    /// Content too long for a chat message.
    pub file: Option<OutgoingFile>,
    /// Whether it is also spoken, where that is set up.
    pub aloud: bool,
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl Message {
    /// The whole text, with the file's.
    pub fn whole(&self) -> String {
        self.file.as_ref().map_or_else(|| self.text.clone(), |file| file.behind(&self.text))
    }
}

/// The instance of a message that the channel's own instance delivers.
pub fn anybody() -> InstanceId {
    InstanceId::default()
}

/// Adds a message to the outbox and returns its id.
pub fn say(
    store: &Store,
    batch: &mut Batch,
    conversation: &ConversationId,
    instance: &InstanceId,
    message: &Message,
) -> OutboxId {
    let id: OutboxId = store.new_id();
    batch.run(
        "INSERT INTO outbox (id, conversation_id, turn_id, answers, text, choices, instance, created_at, file, speech) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        values! {
            &id, conversation, message.turn.clone(), json(&message.answers), &message.text,
            json(&message.choices), instance, store.now(), message.file.as_ref().map(json),
            message.aloud.then_some("")
        },
    );
    id
}

const ANNOUNCE: &str =
    "INSERT INTO announcements (topic, announced_at) VALUES ($1, $2) ON CONFLICT (topic) DO NOTHING";

/// Records an announcement; the whole batch fails if it was made before.
pub fn announce_once(batch: &mut Batch, topic: &str, now: i64) {
    batch.must(Stale::AlreadyAnnounced, ANNOUNCE, [topic.into(), now.into()]);
}

/// Records an announcement that may have been made before.
pub fn announce(batch: &mut Batch, topic: &str, now: i64) {
    batch.run(ANNOUNCE, [topic.into(), now.into()]);
}

pub(super) fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "[]".into())
}

impl OutboxRow {
    pub fn address(&self) -> Address {
        Address { channel: self.channel.clone(), place: self.place.clone() }
    }

    /// The message for the platform's adapter.
    pub fn outbound(&self) -> Outbound {
        Outbound {
            id: self.id.to_string(),
            address: self.address(),
            turn: self.turn_id.clone().map(Into::into),
            answers: serde_json::from_str(&self.answers).unwrap_or_default(),
            text: self.text.clone(),
            choices: serde_json::from_str(&self.choices).unwrap_or_default(),
            form: self.text_form(),
            part: usize::try_from(self.part).unwrap_or(0),
            checkpoint: self.checkpoint.clone(),
            edit_of: self.edit_of.clone(),
            file: self.file.as_deref().and_then(|file| serde_json::from_str(file).ok()),
            voice: self.speech.as_deref().map(voice),
        }
    }

    fn text_form(&self) -> Form {
        let part = usize::try_from(self.form_part).unwrap_or(0);
        match self.form {
            MessageForm::Rich => Form::Rich,
            MessageForm::Plain | MessageForm::Notice => Form::Plain,
            MessageForm::Small => Form::Small(part),
            MessageForm::File => Form::File(part),
        }
    }
}

/// The voice note of a row; without any sound until it is made.
fn voice(speech: &str) -> OutgoingVoice {
    let sound = BASE64_STANDARD.decode(speech).unwrap_or_default();
    OutgoingVoice::of(sound).unwrap_or_default()
}

/// Stores the sound of a row's last part.
pub fn spoken(batch: &mut Batch, row: &OutboxRow, sound: &[u8]) {
    batch.must(
        Stale::DeliveredElsewhere,
        "UPDATE outbox SET speech = $1 WHERE id = $2 AND part = $3 AND speech = '' AND state <> 'sent'",
        [BASE64_STANDARD.encode(sound).into(), (&row.id).into(), row.part.into()],
    );
}

/// Leaves out the sound of a row, whose text has been sent.
pub async fn leave_unspoken(store: &Store, row: &OutboxRow) -> Result<()> {
    let sql = "UPDATE outbox SET state = 'sent', speech = NULL, sent_at = $1 \
        WHERE id = $2 AND part = $3 AND speech IS NOT NULL AND state <> 'sent'";
    store.write(Batch::of(sql, [store.now().into(), (&row.id).into(), row.part.into()])).await.map(|_| ())
}

/// The first open rows of a conversation that this instance may deliver: its own, or those of dead instances. The oldest
/// is first, but a file that wasn't taken at once is behind all texts, and the next file behind that one.
pub async fn open(
    store: &Store,
    conversation: &ConversationId,
    instance: &InstanceId,
    limit: i64,
) -> Result<Vec<OutboxRow>> {
    let sql = "SELECT o.id, c.channel, c.place, o.turn_id, o.answers, o.text, o.choices, \
        CASE WHEN o.state = 'sending' THEN 'unknown' ELSE o.state END AS state, o.attempts, o.next_at, \
        o.created_at, o.part, o.checkpoint, o.edit_of, o.file, o.speech, o.instance, o.form, o.form_part, \
        o.only_file, t.progress_receipt, t.resumed_at, \
        CASE WHEN t.ended_at IS NOT NULL AND t.resumed_at = t.started_at THEN t.started_at END AS answered_since \
        FROM outbox o JOIN conversations c ON c.id = o.conversation_id LEFT JOIN turns t ON t.id = o.turn_id AND t.conversation_id = o.conversation_id \
        WHERE o.conversation_id = $1 AND o.state IN ('pending', 'sending', 'unknown') \
        AND (o.instance = $2 OR o.instance NOT IN (SELECT id FROM instances)) \
        AND (o.only_file = 0 OR NOT EXISTS (SELECT 1 FROM outbox e WHERE e.conversation_id = $1 AND e.only_file = 1 \
        AND e.seq < o.seq AND e.state IN ('pending', 'sending', 'unknown') \
        AND (e.instance = $2 OR e.instance NOT IN (SELECT id FROM instances)))) \
        ORDER BY CASE WHEN o.only_file = 1 AND o.attempts > 0 THEN 1 ELSE 0 END, o.seq LIMIT $3 + 0";
    store.all(sql, &[conversation.into(), instance.into(), limit.into()]).await
}

/// How many rows created before a time this instance still has to deliver on a channel.
pub async fn count_undelivered(
    store: &Store,
    channel: &str,
    instance: &InstanceId,
    before: i64,
) -> Result<i64> {
    let sql = "SELECT count(*) FROM outbox o JOIN conversations c ON c.id = o.conversation_id AND c.channel = $1 \
        WHERE o.state IN ('pending', 'sending', 'unknown') AND o.created_at < $2 AND o.next_at < $2 \
        AND (o.instance = $3 OR o.instance NOT IN (SELECT id FROM instances))";
    store.count(sql, &[channel.into(), before.into(), instance.into()]).await
}

/// Claims a row for one attempt at its next part, and saves what a later look-up needs. Stale when another process
/// has it, when that part was sent meanwhile, or when somebody has tried since the row was read and then died: then it has
/// to be looked for again.
pub async fn claim(store: &Store, row: &OutboxRow, instance: &InstanceId) -> Result<()> {
    store.write(Batch::requiring(
        Stale::DeliveredElsewhere,
        "UPDATE outbox SET state = 'sending', instance = $1, attempts = attempts + 1, checkpoint = $2, edit_of = $3 \
         WHERE id = $4 AND part = $5 AND attempts = $6 AND state IN ('pending', 'sending', 'unknown') \
         AND (instance = $1 OR instance NOT IN (SELECT id FROM instances))",
        values! { instance, row.checkpoint.clone(), row.edit_of.clone(), &row.id, row.part, row.attempts },
    )).await.map(|_| ())
}

/// Stores the receipt of a part that isn't the last; `only_file` if it was the last of the text. If that fails, the part is
/// looked up on the platform before it is sent again. Returns the receipt of another sending of this part that was stored
/// before.
pub async fn part_sent(
    store: &Store,
    row: &OutboxRow,
    receipt: &str,
    only_file: bool,
) -> Result<Option<String>> {
    let mut batch = Batch::new();
    let sql = "UPDATE outbox SET state = 'pending', receipt = $1, part = part + 1, attempts = 0, next_at = 0, checkpoint = NULL, \
        edit_of = NULL, only_file = $4, receipts = coalesce(receipts, ',') || $1 || ',' \
        WHERE id = $2 AND part = $3 AND state <> 'sent' RETURNING part";
    batch.returning(sql, [receipt.into(), (&row.id).into(), row.part.into(), only_file.into()]);
    stored(store, batch, row, receipt).await
}

/// Stores the receipt of the last part, unless there is one. If that fails, the row is looked up on the platform
/// before it is sent again. Returns the receipt of another sending of this part that was stored before.
pub async fn sent(store: &Store, row: &OutboxRow, receipt: &str) -> Result<Option<String>> {
    let mut batch = Batch::new();
    let sql = "UPDATE outbox SET state = 'sent', receipt = $1, sent_at = $2, speech = NULL \
        WHERE id = $3 AND part = $4 AND state <> 'sent' RETURNING part";
    batch.returning(sql, [receipt.into(), store.now().into(), (&row.id).into(), row.part.into()]);
    stored(store, batch, row, receipt).await
}

/// Writes a receipt, or returns the one of this part that stands there already if it is another message's.
async fn stored(store: &Store, mut batch: Batch, row: &OutboxRow, receipt: &str) -> Result<Option<String>> {
    // Later parts have overwritten the receipts of those before.
    const STORED: &str = "SELECT receipt FROM outbox WHERE id = $1 AND receipt IS NOT NULL \
                          AND ((state = 'sent' AND part = $2) OR (state <> 'sent' AND part = $2 + 1))";
    progress_became_part(&mut batch, row);
    if !store.write(batch).await?.is_empty() {
        return Ok(None);
    }
    let stored: Option<String> = store.value(STORED, &[(&row.id).into(), row.part.into()]).await?;
    Ok(stored.filter(|stored| stored != receipt))
}

/// Reschedules a row for another attempt (`pending`) or look-up (`unknown`). Nothing happens
/// when the row is done or another process has claimed it since `row` was read: a process that was suspended and
/// wakes up must not cause a second delivery.
pub async fn reschedule(
    store: &Store,
    row: &OutboxRow,
    state: OutboxState,
    next_at: i64,
    error: &str,
) -> Result<()> {
    let batch = Batch::of(
        // Our own claim, if there was one, has counted one attempt.
        "UPDATE outbox SET state = $1, next_at = $2, error = $3 WHERE id = $4 \
         AND part = $5 AND state IN ('pending', 'sending', 'unknown') AND attempts <= $6",
        values! { state, next_at, error, &row.id, row.part, row.attempts + 1 },
    );
    store.write(batch).await.map(|_| ())
}

/// The newest text in which a turn asked something here after the message of a question, in words alone; `is_last`: only if
/// that is our newest message.
pub async fn asked_since(store: &Store, question: &QuestionRow, is_last: bool) -> Result<Option<String>> {
    const SQL: &str = "SELECT text FROM outbox WHERE conversation_id = $1 AND sent_at IS NOT NULL \
                       AND seq > (SELECT seq FROM outbox WHERE id = $2) AND turn_id IS NOT NULL AND choices = '[]' \
                       AND (text LIKE '%?%' OR text LIKE '%？%') AND ($3 = 0 OR seq = (SELECT max(seq) FROM outbox \
                       WHERE conversation_id = $1 AND sent_at IS NOT NULL)) ORDER BY seq DESC LIMIT 1";
    store.value(SQL, &values! { &question.conversation_id, &question.outbox_id, is_last }).await
}

/// What a turn of a person had last told them when they wrote another one's message, without buttons, and when; none if that
/// one has read anything from outside.
pub async fn told_before(store: &Store, turn: &TurnId) -> Result<Option<(String, i64)>> {
    const SQL: &str = "SELECT last.text, last.sent_at \
                       FROM (SELECT o.turn_id, o.text, o.choices, o.sent_at, mine.person_id \
                       FROM turns mine JOIN outbox o ON o.conversation_id = mine.conversation_id WHERE mine.id = $1 \
                       AND o.sent_at <= (SELECT min(i.received_at) FROM inbox i WHERE i.turn_id = mine.id) \
                       ORDER BY o.seq DESC LIMIT 1) last \
                       JOIN turns t ON t.id = last.turn_id AND t.person_id = last.person_id WHERE last.choices = '[]' \
                       AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.turn_id = $1 \
                       AND e.kind = 'skill' AND e.untrusted = 1)";
    store.first(SQL, &[turn.into()]).await
}

pub async fn last_receipt(store: &Store, conversation: &ConversationId) -> Result<Option<String>> {
    const LAST: &str = "SELECT receipt FROM outbox WHERE conversation_id = $1 AND receipt IS NOT NULL \
                        ORDER BY seq DESC LIMIT 1";
    store.value(LAST, &[conversation.into()]).await
}

/// The platform's ids of recent messages on a channel: events, and `PLACE:RECEIPT` of our own, also of those that show a
/// turn's progress: an answer that is looked for may not take another turn's message for itself. It reads a limited number,
/// however long the journal is.
pub async fn recent_ids(store: &Store, channel: &str) -> Result<Vec<String>> {
    const ARRIVED: &str = "SELECT i.event FROM (SELECT conversation_id, event FROM inbox ORDER BY id DESC LIMIT 500) i \
                           JOIN conversations c ON c.id = i.conversation_id AND c.channel = $1";
    const SENT: &str = "SELECT c.place, o.receipt FROM (SELECT conversation_id, receipt FROM outbox \
                        WHERE receipt IS NOT NULL ORDER BY seq DESC LIMIT 500) o \
                        JOIN conversations c ON c.id = o.conversation_id AND c.channel = $1";
    const SHOWN: &str = "SELECT c.place, t.progress_receipt FROM turns t JOIN conversations c ON c.id = t.conversation_id \
                         AND c.channel = $1 WHERE t.progress_receipt IS NOT NULL LIMIT 500";
    let arrived: Vec<(String,)> = store.all(ARRIVED, &[channel.into()]).await?;
    let mut ours: Vec<(String, String)> = store.all(SENT, &[channel.into()]).await?;
    ours.extend(store.all::<(String, String)>(SHOWN, &[channel.into()]).await?);
    let arrived = arrived.into_iter().filter_map(|(event,)| Some(event.split_once(' ')?.1.to_owned()));
    Ok(arrived.chain(ours.into_iter().map(|(chat, receipt)| format!("{chat}:{receipt}"))).collect())
}

/// The message with a part of this receipt in a place or in one of its threads, its turn, and the receipt of its last part.
pub async fn by_receipt(
    store: &Store,
    (channel, place): (&str, &str),
    receipt: &str,
) -> Result<Option<(OutboxId, Option<TurnId>, String)>> {
    const SQL: &str = "SELECT o.id, o.turn_id, CASE WHEN o.state = 'sent' THEN o.receipt ELSE '' END \
                       FROM conversations c JOIN outbox o ON o.conversation_id = c.id \
                       AND (o.receipt = $3 OR (o.receipts IS NOT NULL AND o.receipts LIKE '%,' || $3 || ',%')) \
                       WHERE c.channel = $1 AND (c.place = $2 OR c.place LIKE $2 || '/%') ORDER BY o.seq DESC LIMIT 1";
    store.first(SQL, &[channel.into(), place.into(), receipt.into()]).await
}

/// The channel, place and receipt of a message of ours; none when it wasn't sent.
pub async fn place_of(store: &Store, id: &OutboxId) -> Result<Option<(String, String, String)>> {
    let sql = "SELECT c.channel, c.place, o.receipt FROM outbox o JOIN conversations c ON c.id = o.conversation_id \
        WHERE o.id = $1 AND o.receipt IS NOT NULL";
    store.first(sql, &[id.into()]).await
}
