//! Links one person's accounts on several platforms by a code sent from one to the other.

use adjutant_types::PersonId;

use crate::{Batch, Result, Stale, Store, connected, watches};

/// How long a code is valid, in milliseconds.
pub const LINK_MS: i64 = 10 * 60 * 1000;

/// Creates a person's code, which replaces an older one.
pub async fn offer(store: &Store, code: &str, person: &PersonId) -> Result<()> {
    let mut batch = Batch::new();
    let now = store.now();
    batch.run("DELETE FROM links WHERE person_id = $1 OR expires_at <= $2", [person.into(), now.into()]);
    let sql = "INSERT INTO links (code, person_id, expires_at) VALUES ($1, $2, $3)";
    batch.run(sql, [code.into(), person.into(), (now + LINK_MS).into()]);
    store.write(batch).await.map(|_| ())
}

/// Links the accounts of the person who enters a code to the person who created it, with tasks, memories, open questions
/// and what they have at providers. Earlier messages keep their author. False when nobody else has such a code.
pub async fn join(store: &Store, code: &str, joining: &PersonId) -> Result<bool> {
    const OWNER: &str = "SELECT person_id FROM links WHERE code = $1 AND expires_at > $2 AND person_id <> $3";
    let owner = [code.into(), store.now().into(), joining.into()];
    let Some(person) = store.value::<PersonId>(OWNER, &owner).await? else { return Ok(false) };
    let mut batch = Batch::new();
    batch.must(Stale::CodeUsed, "DELETE FROM links WHERE code = $1", [code.into()]);
    // Their words are kept again, as this person's, and their vectors are made again.
    for sql in [
        "DELETE FROM search_vectors WHERE document IN (SELECT seq * 2 + 1 FROM memories WHERE person_id = $1)",
        "DELETE FROM search_vectors WHERE document IN (SELECT t.seq * 2 FROM turns t JOIN conversations c \
         ON c.id = t.conversation_id WHERE c.person_id = $1)",
        "DELETE FROM search_words WHERE document IN (SELECT seq * 2 + 1 FROM memories WHERE person_id = $1)",
        "DELETE FROM search_words WHERE document IN (SELECT t.seq * 2 FROM turns t JOIN conversations c \
         ON c.id = t.conversation_id WHERE c.person_id = $1)",
        "UPDATE memories SET indexed = 0 WHERE person_id = $1",
        "UPDATE turns SET indexed = 0 WHERE conversation_id IN (SELECT id FROM conversations WHERE person_id = $1)",
    ] {
        batch.run(sql, [joining.into()]);
    }
    connected::join(store, &mut batch, &person, joining).await?;
    for sql in [
        "UPDATE accounts SET person_id = $1 WHERE person_id = $2",
        "UPDATE tasks SET person_id = $1 WHERE person_id = $2",
        "UPDATE memories SET person_id = $1 WHERE person_id = $2",
        "UPDATE passkeys SET person_id = $1 WHERE person_id = $2",
        "UPDATE web_sessions SET person_id = $1 WHERE person_id = $2",
        "UPDATE memory_origins SET person_id = $1 WHERE person_id = $2",
        "UPDATE memory_turns SET person_id = $1 WHERE person_id = $2",
        "UPDATE memory_formers SET person_id = $1 WHERE person_id = $2",
        "UPDATE rules SET person_id = $1 WHERE person_id = $2",
        "UPDATE taints SET person_id = $1 WHERE person_id = $2",
        "UPDATE attachments SET person_id = $1 WHERE person_id = $2",
        "UPDATE questions SET person_id = $1 WHERE person_id = $2",
        "UPDATE conversations SET person_id = $1 WHERE person_id = $2",
        // Of what is in our own store, the place is the person.
        "UPDATE watches SET person_id = $1, version = version + 1, \
         source = replace(source, '\"' || $2 || '\"', '\"' || $1 || '\"') WHERE person_id = $2",
        "UPDATE watch_items SET person_id = $1 WHERE person_id = $2",
        "UPDATE settings_changes SET person_id = $1 WHERE person_id = $2",
    ] {
        batch.run(sql, [(&person).into(), joining.into()]);
    }
    watches::forget_idle_sources(&mut batch);
    store.try_write(batch).await
}
