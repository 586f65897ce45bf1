//! The chats of a channel, from our own journal.

use crate::{Result, Store};

/// The chats of a channel that we have conversations in, the most recent first.
pub async fn places(store: &Store, channel: &str, limit: i64) -> Result<Vec<String>> {
    let sql = "SELECT c.place FROM conversations c LEFT JOIN turns t ON t.conversation_id = c.id \
        WHERE c.channel = $1 GROUP BY c.id, c.place ORDER BY coalesce(max(t.seq), 0) DESC LIMIT $2 + 0";
    store.column(sql, &[channel.into(), limit.into()]).await
}

/// A turn: its id, the speaker, their text, the answer, and the time.
pub type SpokenTurn = (String, String, String, Option<String>, i64);

/// The newest turns in a chat since `since`, at most `limit`, oldest first.
pub async fn said_in(
    store: &Store,
    (channel, chat): (&str, &str),
    since: i64,
    limit: i64,
) -> Result<Vec<SpokenTurn>> {
    let sql = "SELECT t.id, p.name, t.text, t.answer, t.started_at FROM turns t \
        JOIN conversations c ON c.id = t.conversation_id JOIN people p ON p.id = t.person_id \
        WHERE c.channel = $1 AND c.place = $2 AND t.started_at >= $3 ORDER BY t.seq DESC LIMIT $4 + 0";
    let mut rows: Vec<SpokenTurn> =
        store.all(sql, &[channel.into(), chat.into(), since.into(), limit.into()]).await?;
    rows.reverse();
    Ok(rows)
}
