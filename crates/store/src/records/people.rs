//! People, their accounts, and their conversations.

use std::collections::HashMap;

use adjutant_types::{ConversationId, Flag, PersonId, Taint};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store, StoreError};

/// A person, with any number of accounts.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Person {
    pub id: PersonId,
    pub name: String,
    /// Their IANA zone, if it isn't the configured one.
    pub timezone: Option<String>,
}

/// A chat between people and the assistant.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Conversation {
    pub id: ConversationId,
    pub channel: String,
    pub place: String,
    /// The person who spoke here first.
    pub person_id: PersonId,
    /// Others read here too.
    #[sqlx(try_from = "Flag")]
    pub shared: bool,
    pub summary: String,
    /// The outside sources of the summary. In a [`party`], what other people said in a room is one of them.
    pub summary_taint: Taint,
    /// The ids of the people whose words are in the summary, with spaces between.
    pub summary_by: String,
    /// `turns.seq` up to which turns are in the summary.
    pub compacted_to: i64,
    /// `turns.seq` up to which `/new` cleared the history.
    pub history_from: i64,
    /// From when on skill calls count against the limit.
    pub window_from: i64,
}

/// Who takes part in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    pub conversation: Conversation,
    pub person: Person,
    /// How many skill calls count against the conversation's limit.
    pub skill_calls: i64,
}

/// The conversation and person of a turn, with the skill calls since `window` or a new count began, up to `limit`.
pub async fn party(
    store: &Store,
    conversation: &ConversationId,
    person: &PersonId,
    window: i64,
    limit: u32,
) -> Result<Party> {
    #[derive(FromRow)]
    struct Row {
        #[sqlx(flatten)]
        conversation: Conversation,
        their_id: PersonId,
        their_name: String,
        their_timezone: Option<String>,
        skill_calls: i64,
    }
    let sql = "SELECT c.id, c.channel, c.place, c.person_id, c.shared, c.summary, c.summary_taint, c.summary_by, c.compacted_to, \
        c.history_from, c.window_from, p.id AS their_id, p.name AS their_name, p.timezone AS their_timezone, \
        (SELECT count(*) FROM (SELECT 1 FROM executions e WHERE e.kind = 'skill' AND e.conversation_id = c.id \
         AND e.started_at >= CASE WHEN c.window_from > $3 THEN c.window_from ELSE $3 + 0 END LIMIT $4 + 0) counted) \
        AS skill_calls \
        FROM conversations c JOIN people p ON p.id = $2 WHERE c.id = $1";
    let row: Option<Row> = store
        .first(sql, &[conversation.into(), person.into(), window.into(), i64::from(limit).into()])
        .await?;
    let row = row.ok_or_else(|| {
        StoreError::Corrupt(format!("there is no conversation {conversation} with the person {person}"))
    })?;
    let person = Person { id: row.their_id, name: row.their_name, timezone: row.their_timezone };
    let mut conversation = row.conversation;
    if conversation.shared && !conversation.summary.is_empty() {
        let by: Vec<PersonId> = conversation.summary_by.split(' ').map(PersonId::from).collect();
        let other_people = by.iter().filter(|id| **id != person.id);
        said_by(store, other_people).await?.values().for_each(|taint| conversation.summary_taint.add(taint));
    }
    Ok(Party { conversation, person, skill_calls: row.skill_calls })
}

/// For everybody else in a room, what these people say there is from outside: its source, by who says it.
pub async fn said_by<'a>(
    store: &Store,
    people: impl Iterator<Item = &'a PersonId>,
) -> Result<HashMap<PersonId, Taint>> {
    let mut sources = HashMap::new();
    for person in people {
        if !sources.contains_key(person) {
            let sql = "SELECT name FROM people WHERE id = $1";
            let name = store.value::<String>(sql, &[person.into()]).await?;
            sources.insert(person.clone(), Taint::said_by(name.as_deref().unwrap_or("somebody")));
        }
    }
    Ok(sources)
}

/// The person behind an account, if the account is known.
pub async fn person_of(store: &Store, channel: &str, user: &str) -> Result<Option<Person>> {
    const FIND: &str = "SELECT p.id, p.name, p.timezone FROM accounts a JOIN people p ON p.id = a.person_id \
                        WHERE a.channel = $1 AND a.user_id = $2";
    store.first(FIND, &[channel.into(), user.into()]).await
}

/// The person behind an account; a new account gets a new person.
pub async fn person(store: &Store, channel: &str, user: &str, name: &str) -> Result<Person> {
    if let Some(person) = person_of(store, channel, user).await? {
        return Ok(person);
    }
    let id: PersonId = store.new_id();
    let mut batch = Batch::new();
    batch.run(
        "INSERT INTO people (id, name, timezone, created_at) VALUES ($1, $2, NULL, $3)",
        [(&id).into(), name.into(), store.now().into()],
    );
    batch.must(
        Stale::AccountExists,
        "INSERT INTO accounts (channel, user_id, person_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        [channel.into(), user.into(), (&id).into()],
    );
    store.try_write(batch).await?;
    let found = person_of(store, channel, user).await?;
    found.ok_or_else(|| StoreError::Corrupt(format!("the account {channel}:{user} has no person")))
}

/// A person by id, who must exist.
pub async fn person_by_id(store: &Store, id: &PersonId) -> Result<Person> {
    let found = store.first("SELECT id, name, timezone FROM people WHERE id = $1", &[id.into()]).await?;
    found.ok_or_else(|| StoreError::Corrupt(format!("there is no person {id}")))
}

/// Sets a person's time zone; none is the configured one.
pub fn set_timezone(batch: &mut Batch, person: &PersonId, zone: Option<&str>) {
    const SQL: &str = "UPDATE people SET timezone = $1 WHERE id = $2";
    batch.must(Stale::PersonGone, SQL, [zone.into(), person.into()]);
}

pub async fn exists(store: &Store, id: &PersonId) -> Result<bool> {
    Ok(store.count("SELECT count(*) FROM people WHERE id = $1", &[id.into()]).await? > 0)
}

/// The accounts of a person, as `CHANNEL:USER`.
pub async fn accounts(store: &Store, person: &PersonId) -> Result<Vec<String>> {
    let rows: Vec<(String, String)> =
        store.all("SELECT channel, user_id FROM accounts WHERE person_id = $1", &[person.into()]).await?;
    Ok(rows.into_iter().map(|(channel, user)| format!("{channel}:{user}")).collect())
}

/// Whether one of a person's accounts is in `owners`, each as `CHANNEL:USER`.
pub async fn is_owner(store: &Store, person: &PersonId, owners: &[String]) -> Result<bool> {
    Ok(accounts(store, person).await?.iter().any(|account| owners.contains(account)))
}

const CONVERSATION: &str = "SELECT id, channel, place, person_id, shared, summary, summary_taint, summary_by, compacted_to, history_from, \
                            window_from FROM conversations WHERE channel = $1 AND place = $2";

pub async fn find_conversation(store: &Store, channel: &str, chat: &str) -> Result<Option<Conversation>> {
    store.first(CONVERSATION, &[channel.into(), chat.into()]).await
}

/// An account's direct conversation, the last one used, and its person.
pub async fn direct_conversation(
    store: &Store,
    channel: &str,
    user: &str,
) -> Result<Option<(ConversationId, PersonId)>> {
    let sql = "SELECT c.id, c.person_id FROM accounts a \
        JOIN conversations c ON c.channel = a.channel AND c.person_id = a.person_id AND c.shared = 0 \
        WHERE a.channel = $1 AND a.user_id = $2 \
        ORDER BY (SELECT coalesce(max(i.id), 0) FROM inbox i WHERE i.conversation_id = c.id) DESC LIMIT 1";
    store.first(sql, &[channel.into(), user.into()]).await
}

/// The direct conversation that a person used last, on any of their channels.
pub async fn last_direct_conversation(store: &Store, person: &PersonId) -> Result<Option<ConversationId>> {
    let sql = "SELECT c.id FROM conversations c WHERE c.person_id = $1 AND c.shared = 0 \
        ORDER BY (SELECT coalesce(max(i.id), 0) FROM inbox i WHERE i.conversation_id = c.id) DESC, c.id LIMIT 1";
    store.value(sql, &[person.into()]).await
}

/// A conversation by id, which must exist.
pub async fn conversation_by_id(store: &Store, id: &ConversationId) -> Result<Conversation> {
    let sql = "SELECT id, channel, place, person_id, shared, summary, summary_taint, summary_by, compacted_to, history_from, window_from \
        FROM conversations WHERE id = $1";
    let found = store.first(sql, &[id.into()]).await?;
    found.ok_or_else(|| StoreError::Corrupt(format!("there is no conversation {id}")))
}

/// The conversations that a name may refer to: our id, the place, or `CHANNEL:PLACE`.
pub async fn conversations_named(store: &Store, name: &str) -> Result<Vec<Conversation>> {
    let sql = "SELECT id, channel, place, person_id, shared, summary, summary_taint, summary_by, compacted_to, history_from, window_from \
        FROM conversations WHERE id = $1 OR place = $1 OR channel || ':' || place = $1 ORDER BY channel, id";
    store.all(sql, &[name.into()]).await
}

/// The conversation in a chat, created if necessary. It becomes shared for good once the platform says that others
/// read there, or a second person speaks.
pub async fn conversation(
    store: &Store,
    channel: &str,
    chat: &str,
    person: &PersonId,
    direct: bool,
) -> Result<Conversation> {
    let mut found = find_conversation(store, channel, chat).await?;
    if found.is_none() {
        let sql = "INSERT INTO conversations (id, channel, place, person_id, shared, created_at) \
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        let row = values! { store.new_id::<String>(), channel, chat, person, !direct, store.now() };
        store.write(Batch::of(sql, row)).await?;
        found = find_conversation(store, channel, chat).await?;
    }
    let mut conversation =
        found.ok_or_else(|| StoreError::Corrupt(format!("the conversation {channel}:{chat} is gone")))?;
    if !conversation.shared && (!direct || conversation.person_id != *person) {
        let sql = "UPDATE conversations SET shared = 1 WHERE id = $1";
        store.write(Batch::of(sql, [(&conversation.id).into()])).await?;
        conversation.shared = true;
    }
    Ok(conversation)
}

/// Clears the history: the model won't see earlier turns any more.
pub fn clear_history(batch: &mut Batch, conversation: &ConversationId) {
    let sql = "UPDATE conversations SET summary = '', summary_taint = '', \
        history_from = (SELECT coalesce(max(seq), 0) FROM turns WHERE conversation_id = $1) WHERE id = $1";
    batch.run(sql, [conversation.into()]);
}

/// Replaces the older turns by a new summary, unless the summary or the history has changed.
pub fn compact(
    batch: &mut Batch,
    conversation: &Conversation,
    (summary, taint, by): (&str, &Taint, &str),
    to: i64,
) {
    batch.must(
        Stale::SummaryChanged,
        "UPDATE conversations SET summary = $1, compacted_to = $2, summary_taint = $6, summary_by = $7 \
         WHERE id = $3 AND compacted_to = $4 AND history_from = $5",
        values! {
            summary, to, &conversation.id, conversation.compacted_to, conversation.history_from, taint, by
        },
    );
}
