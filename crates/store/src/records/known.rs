//! Everything stored about a person: exporting and erasing it.

use adjutant_types::PersonId;
use serde_json::{Map, Value as Json};
use sqlx::any::AnyRow;
use sqlx::{Column, FromRow, Row};

use crate::people::{self, Person};
use crate::{Batch, Result, Stale, Store, connected, room_rules, spending, watches};

/// One table's rows about a person; `$1` is the person's id.
struct PersonTable {
    name: &'static str,
    select: &'static str,
    delete: &'static str,
}

macro_rules! table {
    ($table:literal, $condition:expr) => {
        table!($table, "*", $condition, $condition)
    };
    // What was forgotten is in no export, even before it is emptied.
    ($table:literal, unless $forgotten:literal, $condition:expr) => {
        table!($table, "*", concat!("(", $condition, ") AND NOT EXISTS (", $forgotten, ")"), $condition)
    };
    ($table:literal, $columns:literal, $condition:expr) => {
        table!($table, $columns, $condition, $condition)
    };
    ($table:literal, $columns:literal, $select:expr, $delete:expr) => {
        PersonTable {
            name: $table,
            select: concat!("SELECT ", $columns, " FROM ", $table, " WHERE ", $select),
            delete: concat!("DELETE FROM ", $table, " WHERE ", $delete),
        }
    };
}

/// Conversations in which nobody else takes part.
macro_rules! own_conversations {
    () => {
        "person_id = $1 \
         AND NOT EXISTS (SELECT 1 FROM turns x WHERE x.conversation_id = conversations.id AND x.person_id <> $1) \
         AND NOT EXISTS (SELECT 1 FROM inbox x WHERE x.conversation_id = conversations.id AND x.person_id <> $1) \
         AND NOT EXISTS (SELECT 1 FROM schedules x WHERE x.conversation_id = conversations.id AND x.person_id <> $1) \
         AND NOT EXISTS (SELECT 1 FROM watches x WHERE x.conversation_id = conversations.id AND x.person_id <> $1)"
    };
}

macro_rules! of_turn {
    () => {
        "turn_id IN (SELECT id FROM turns WHERE person_id = $1)"
    };
}

macro_rules! of_execution {
    () => {
        "execution_id IN (SELECT e.id FROM executions e JOIN turns t ON t.id = e.turn_id WHERE t.person_id = $1)"
    };
}

macro_rules! of_account {
    ($table:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM accounts a WHERE a.person_id = $1 AND a.channel = ",
            $table,
            ".channel AND a.user_id = ",
            $table,
            ".user_id)"
        )
    };
}

/// In the order of deletion: a row that refers to another goes first.
const TABLES: [PersonTable; 42] = [
    table!("tool_calls", unless "SELECT 1 FROM executions x JOIN turns f ON f.id = x.turn_id WHERE x.id = tool_calls.execution_id AND f.forgotten_at IS NOT NULL", of_execution!()),
    table!("calls", unless "SELECT 1 FROM executions x JOIN turns f ON f.id = x.turn_id WHERE x.id = calls.execution_id AND f.forgotten_at IS NOT NULL", of_execution!()),
    table!("background_calls", "person_id = $1"),
    table!("reservations", "person_id = $1"),
    table!("spending", "who = $1"),
    table!("questions", unless "SELECT 1 FROM turns f WHERE f.id = questions.turn_id AND f.forgotten_at IS NOT NULL", of_turn!()),
    table!(
        "outbox",
        unless "SELECT 1 FROM turns f WHERE f.id = outbox.turn_id AND f.forgotten_at IS NOT NULL UNION ALL \
                SELECT 1 FROM inbox i WHERE outbox.turn_id IS NULL AND i.conversation_id = outbox.conversation_id \
                AND lower(i.text) LIKE '/forget%' AND i.event LIKE '% ' || trim(outbox.answers, '[]\"')",
        concat!(
            of_turn!(),
            " OR conversation_id IN (SELECT id FROM conversations WHERE ",
            own_conversations!(),
            ")"
        )
    ),
    table!("plans", unless "SELECT 1 FROM turns f WHERE f.id = plans.turn_id AND f.forgotten_at IS NOT NULL", of_turn!()),
    table!("runs", unless "SELECT 1 FROM turns f WHERE f.id = runs.turn_id AND f.forgotten_at IS NOT NULL", of_turn!()),
    table!("executions", unless "SELECT 1 FROM turns f WHERE f.id = executions.turn_id AND f.forgotten_at IS NOT NULL", of_turn!()),
    table!(
        "file_parts",
        "file_id, number, length(content) AS bytes",
        "file_id IN (SELECT id FROM attachments WHERE person_id = $1)",
        "file_id IN (SELECT id FROM attachments WHERE person_id = $1) \
         OR file_id NOT IN (SELECT id FROM attachments)"
    ),
    table!("attachments", "person_id = $1"),
    table!("inbox", unless "SELECT 1 FROM turns f WHERE f.id = inbox.turn_id AND f.forgotten_at IS NOT NULL UNION ALL \
                    SELECT 1 WHERE lower(inbox.text) LIKE '/forget%'", "person_id = $1"),
    table!("turns", "*", "person_id = $1 AND forgotten_at IS NULL", "person_id = $1"),
    table!("tasks", "person_id = $1"),
    table!("memory_origins", "person_id = $1"),
    table!("memory_turns", "person_id = $1"),
    table!("memory_formers", "person_id = $1"),
    table!(
        "memories",
        "seq, id, person_id, scope, conversation_id, kind, text, tags, created_at, recalled_at",
        "person_id = $1"
    ),
    table!("objects", "person_id = $1"),
    table!("schedules", "person_id = $1"),
    table!(
        "watch_items",
        unless "SELECT 1 FROM inbox i JOIN turns f ON f.id = i.turn_id WHERE f.forgotten_at IS NOT NULL \
                AND i.event = watch_items.told_by",
        "person_id = $1"
    ),
    table!(
        "watches",
        "id, conversation_id, config_name, source, condition, action, words, wishes, bounds, state, active_since, \
         tellings, created_at",
        "person_id = $1"
    ),
    table!("rules", "person_id = $1"),
    table!("taints", "person_id = $1"),
    table!("links", "person_id = $1"),
    table!("web_codes", "expires_at", "person_id = $1"),
    table!("pushes", "session_id IN (SELECT id FROM web_sessions WHERE person_id = $1)"),
    table!(
        "push_subscriptions",
        "session_id, wants_news, created_at",
        "session_id IN (SELECT id FROM web_sessions WHERE person_id = $1)"
    ),
    table!("web_sessions", "id, browser, created_at, seen_at, expires_at, by_passkey", "person_id = $1"),
    table!("passkeys", "browser, created_at, used_at", "person_id = $1"),
    table!(
        "logins",
        "id, conversation_id, provider, account_id, state, expires_at, changed_at",
        "person_id = $1"
    ),
    table!("account_people", "person_id = $1"),
    table!(
        "connected_accounts",
        "id, label, provider, address, services, state, is_mail_default, is_events_default, created_at, used_at, used_by",
        "person_id = $1"
    ),
    table!("settings_changes", "person_id = $1"),
    table!("changes", "person_id = $1"),
    table!("allowed", of_account!("allowed")),
    table!("pairings", of_account!("pairings")),
    table!(
        "leases",
        concat!(
            "name IN (SELECT 'lane:' || id FROM conversations WHERE ",
            own_conversations!(),
            " UNION SELECT 'lane:' || id || ':background' || n FROM conversations, \
             (SELECT '' AS n UNION SELECT '-2' UNION SELECT '-3') lanes WHERE ",
            own_conversations!(),
            ")"
        )
    ),
    // A room's summary covers everyone who spoke there, so nobody gets it in an export.
    table!(
        "conversations",
        "id, channel, place, person_id, shared, CASE WHEN shared = 1 THEN '' ELSE summary END AS summary, created_at",
        "person_id = $1 OR id IN (SELECT conversation_id FROM inbox WHERE person_id = $1 UNION \
         SELECT conversation_id FROM turns WHERE person_id = $1)",
        own_conversations!()
    ),
    table!("accounts", "person_id = $1"),
    table!("people", "id = $1"),
];

/// The tables that may contain something about a person.
pub fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name)
}

struct JsonRow(Map<String, Json>);

impl<'r> FromRow<'r, AnyRow> for JsonRow {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let mut object = Map::new();
        for column in row.columns() {
            let at = column.ordinal();
            let value = match (row.try_get::<Option<i64>, _>(at), row.try_get::<Option<f64>, _>(at)) {
                (Ok(number), _) => number.into(),
                (_, Ok(fraction)) => fraction.into(),
                _ => row.try_get::<Option<String>, _>(at)?.into(),
            };
            object.insert(column.name().to_owned(), value);
        }
        Ok(Self(object))
    }
}

/// The people that a text may refer to: by id or `CHANNEL:USER`, otherwise by name; at most `limit`.
pub async fn find_people(store: &Store, who: &str, limit: i64) -> Result<Vec<Person>> {
    const EXACT: &str = "SELECT id, name, timezone FROM people WHERE id = $1 OR id IN \
                         (SELECT person_id FROM accounts WHERE channel || ':' || user_id = $1) LIMIT $2 + 0";
    const NAMED: &str = "SELECT id, name, timezone FROM people WHERE name = $1 ORDER BY id LIMIT $2 + 0";
    let exact: Vec<Person> = store.all(EXACT, &[who.into(), limit.into()]).await?;
    if exact.is_empty() { store.all(NAMED, &[who.into(), limit.into()]).await } else { Ok(exact) }
}

/// The ids of people whose accounts were linked to this person. Their earlier messages keep these ids, in
/// conversations that now belong to this person.
async fn linked_ids(store: &Store, person: &PersonId) -> Result<Vec<PersonId>> {
    const LINKED: &str = "SELECT id FROM people WHERE id <> $1 \
        AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.person_id = people.id) AND id IN \
        (SELECT x.person_id FROM inbox x JOIN conversations c ON c.id = x.conversation_id WHERE c.person_id = $1 UNION \
         SELECT x.person_id FROM turns x JOIN conversations c ON c.id = x.conversation_id WHERE c.person_id = $1)";
    store.column(LINKED, &[person.into()]).await
}

/// All rows about a person, by table.
pub async fn export(store: &Store, person: &PersonId) -> Result<Json> {
    let mut ids = linked_ids(store, person).await?;
    ids.push(person.clone());
    let mut all = Map::new();
    for table in &TABLES {
        let mut rows = Vec::new();
        for id in &ids {
            let found: Vec<JsonRow> = store.all(table.select, &[id.into()]).await?;
            rows.extend(found.into_iter().map(|row| Json::Object(row.0)));
        }
        all.insert(table.name.to_owned(), Json::Array(rows));
    }
    Ok(Json::Object(all))
}

/// How many rooms a person shared with others; these stay.
pub async fn rooms(store: &Store, person: &PersonId) -> Result<i64> {
    const SHARED: &str = concat!(
        "SELECT count(*) FROM conversations WHERE (person_id = $1 \
         OR id IN (SELECT conversation_id FROM inbox WHERE person_id = $1 UNION \
         SELECT conversation_id FROM turns WHERE person_id = $1)) \
         AND id NOT IN (SELECT id FROM conversations WHERE ",
        own_conversations!(),
        ")"
    );
    store.count(SHARED, &[person.into()]).await
}

/// Erases a person in one commit, then cleans the database's files. No process may be using the store.
pub async fn erase(store: &Store, person: &PersonId) -> Result<()> {
    let mut batch = Batch::new();
    batch.must(Stale::PersonGone, "UPDATE people SET name = '' WHERE id = $1", [person.into()]);
    for linked in linked_ids(store, person).await? {
        for sql in [
            "UPDATE turns SET person_id = $1 WHERE person_id = $2",
            "UPDATE inbox SET person_id = $1 WHERE person_id = $2",
            "UPDATE schedules SET person_id = $1 WHERE person_id = $2",
            "UPDATE watches SET person_id = $1 WHERE person_id = $2",
            "UPDATE watch_items SET person_id = $1 WHERE person_id = $2",
            "UPDATE attachments SET person_id = $1 WHERE person_id = $2",
            "UPDATE settings_changes SET person_id = $1 WHERE person_id = $2",
        ] {
            batch.run(sql, [person.into(), (&linked).into()]);
        }
        batch.run("DELETE FROM objects WHERE person_id = $1", [(&linked).into()]);
        batch.run("DELETE FROM rules WHERE person_id = $1", [(&linked).into()]);
        batch.run("DELETE FROM taints WHERE person_id = $1", [(&linked).into()]);
        batch.run("DELETE FROM links WHERE person_id = $1", [(&linked).into()]);
        batch.run("DELETE FROM web_codes WHERE person_id = $1", [(&linked).into()]);
        connected::erase(&mut batch, &linked);
        batch.run("DELETE FROM changes WHERE person_id = $1", [(&linked).into()]);
        batch.run("DELETE FROM background_calls WHERE person_id = $1", [(&linked).into()]);
        batch.run("DELETE FROM spending WHERE who = $1", [(&linked).into()]);
        batch.run("DELETE FROM people WHERE id = $1", [(&linked).into()]);
    }
    // The budget for everyone gets back what a dead process had reserved for this person.
    spending::release_person(&mut batch, person);
    // A room's summary may mention this person.
    batch.run(
        "UPDATE conversations SET summary = '', summary_taint = '', summary_by = '' WHERE id IN (SELECT conversation_id FROM turns WHERE person_id = $1)",
        [person.into()],
    );
    for account in people::accounts(store, person).await? {
        room_rules::remove_account(&mut batch, &account);
    }
    // This person may have answered other people's questions.
    batch.run("UPDATE questions SET answered_by = NULL WHERE answered_by = $1", [person.into()]);
    connected::erase(&mut batch, person);
    for table in &TABLES[..TABLES.len() - 2] {
        batch.run(table.delete, [person.into()]);
    }
    watches::forget_idle_sources(&mut batch);
    // The remaining conversations are rooms that others speak in.
    batch.run(
        "UPDATE conversations SET person_id = coalesce(\
         (SELECT min(x.person_id) FROM inbox x WHERE x.conversation_id = conversations.id), \
         (SELECT min(x.person_id) FROM turns x WHERE x.conversation_id = conversations.id), '') WHERE person_id = $1",
        [person.into()],
    );
    for table in &TABLES[TABLES.len() - 2..] {
        batch.run(table.delete, [person.into()]);
    }
    store.write(batch).await?;
    store.scrub().await
}
