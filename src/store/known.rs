//! All that is known of somebody: read out, and forgotten.

use serde_json::{Map, Value as Json};
use sqlx::any::AnyRow;
use sqlx::{Column, FromRow, Row};

use super::people::Person;
use super::{Batch, Stale, Store, StoreError, spending};
use crate::domain::PersonId;

/// The rows of one table that are somebody's: `$1` is the person's id.
struct Theirs {
    table: &'static str,
    select: &'static str,
    delete: &'static str,
}

macro_rules! theirs {
    ($table:literal, $condition:expr) => {
        theirs!($table, "*", $condition, $condition)
    };
    ($table:literal, $columns:literal, $shown:expr, $erased:expr) => {
        Theirs {
            table: $table,
            select: concat!("SELECT ", $columns, " FROM ", $table, " WHERE ", $shown),
            delete: concat!("DELETE FROM ", $table, " WHERE ", $erased),
        }
    };
}

/// Conversations in which nobody else has a part.
macro_rules! own {
    () => {
        "person_id = $1 \
         AND NOT EXISTS (SELECT 1 FROM turns x WHERE x.conversation_id = conversations.id AND x.person_id <> $1) \
         AND NOT EXISTS (SELECT 1 FROM inbox x WHERE x.conversation_id = conversations.id AND x.person_id <> $1) \
         AND NOT EXISTS (SELECT 1 FROM schedules x WHERE x.conversation_id = conversations.id AND x.person_id <> $1)"
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

/// In the order in which they can go: what points at a row goes before it.
const THEIRS: [Theirs; 22] = [
    theirs!("tool_calls", of_execution!()),
    theirs!("calls", of_execution!()),
    theirs!("background_calls", "person_id = $1"),
    theirs!("reservations", "person_id = $1"),
    theirs!("spending", "who = $1"),
    theirs!("questions", of_turn!()),
    theirs!(
        "outbox",
        concat!(of_turn!(), " OR conversation_id IN (SELECT id FROM conversations WHERE ", own!(), ")")
    ),
    theirs!("runs", of_turn!()),
    theirs!("executions", of_turn!()),
    theirs!("inbox", "person_id = $1"),
    theirs!("turns", "person_id = $1"),
    theirs!("tasks", "person_id = $1"),
    theirs!(
        "memories",
        "seq, id, person_id, scope, conversation_id, kind, text, tags, created_at",
        "person_id = $1",
        "person_id = $1"
    ),
    theirs!("objects", "person_id = $1"),
    theirs!("schedules", "person_id = $1"),
    theirs!("links", "person_id = $1"),
    theirs!("allowed", of_account!("allowed")),
    theirs!("pairings", of_account!("pairings")),
    theirs!("leases", concat!("name IN (SELECT 'lane:' || id FROM conversations WHERE ", own!(), ")")),
    // What a room came to is told of all who spoke there, so it is nobody's to take along.
    theirs!(
        "conversations",
        "id, channel, place, person_id, shared, CASE WHEN shared = 1 THEN '' ELSE summary END AS summary, created_at",
        "person_id = $1 OR id IN (SELECT conversation_id FROM inbox WHERE person_id = $1 UNION \
         SELECT conversation_id FROM turns WHERE person_id = $1)",
        own!()
    ),
    theirs!("accounts", "person_id = $1"),
    theirs!("people", "id = $1"),
];

/// The tables in which something of somebody may be.
pub fn tables() -> impl Iterator<Item = &'static str> {
    THEIRS.iter().map(|theirs| theirs.table)
}

/// A row of any table.
struct Shown(Map<String, Json>);

impl<'r> FromRow<'r, AnyRow> for Shown {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let mut shown = Map::new();
        for column in row.columns() {
            let at = column.ordinal();
            let value = match (row.try_get::<Option<i64>, _>(at), row.try_get::<Option<f64>, _>(at)) {
                (Ok(number), _) => number.into(),
                (_, Ok(fraction)) => fraction.into(),
                _ => row.try_get::<Option<String>, _>(at)?.into(),
            };
            shown.insert(column.name().to_owned(), value);
        }
        Ok(Self(shown))
    }
}

/// The people that may be meant: by our id or `CHANNEL:USER`, or else by name; at most `limit`.
pub async fn meant(store: &Store, who: &str, limit: i64) -> Result<Vec<Person>, StoreError> {
    const EXACT: &str = "SELECT id, name, timezone FROM people WHERE id = $1 OR id IN \
                         (SELECT person_id FROM accounts WHERE channel || ':' || user_id = $1) LIMIT $2 + 0";
    const NAMED: &str = "SELECT id, name, timezone FROM people WHERE name = $1 ORDER BY id LIMIT $2 + 0";
    let exact: Vec<Person> = store.all(EXACT, &[who.into(), limit.into()]).await?;
    if exact.is_empty() { store.all(NAMED, &[who.into(), limit.into()]).await } else { Ok(exact) }
}

/// Who somebody was before their accounts were joined to another person's: what they said then is still by that
/// name, in conversations that have moved on with the accounts.
async fn former_selves(store: &Store, person: &PersonId) -> Result<Vec<String>, StoreError> {
    const FORMER: &str = "SELECT id FROM people WHERE id <> $1 \
        AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.person_id = people.id) AND id IN \
        (SELECT x.person_id FROM inbox x JOIN conversations c ON c.id = x.conversation_id WHERE c.person_id = $1 UNION \
         SELECT x.person_id FROM turns x JOIN conversations c ON c.id = x.conversation_id WHERE c.person_id = $1)";
    let rows: Vec<(String,)> = store.all(FORMER, &[person.into()]).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

/// All rows that are somebody's, by table.
pub async fn export(store: &Store, person: &PersonId) -> Result<Json, StoreError> {
    let mut selves = former_selves(store, person).await?;
    selves.push(person.to_string());
    let mut all = Map::new();
    for theirs in &THEIRS {
        let mut rows = Vec::new();
        for id in &selves {
            let found: Vec<Shown> = store.all(theirs.select, &[id.into()]).await?;
            rows.extend(found.into_iter().map(|row| Json::Object(row.0)));
        }
        all.insert(theirs.table.to_owned(), Json::Array(rows));
    }
    Ok(Json::Object(all))
}

/// How many rooms somebody spoke in with others; these stay.
pub async fn rooms(store: &Store, person: &PersonId) -> Result<i64, StoreError> {
    const SHARED: &str = concat!(
        "SELECT count(*) FROM conversations WHERE (person_id = $1 \
         OR id IN (SELECT conversation_id FROM inbox WHERE person_id = $1 UNION \
         SELECT conversation_id FROM turns WHERE person_id = $1)) \
         AND id NOT IN (SELECT id FROM conversations WHERE ",
        own!(),
        ")"
    );
    store.count(SHARED, &[person.into()]).await
}

/// Forgets somebody in one commit, and then what the database's files still hold of it. To be called only
/// while no process is at work on the store.
///
/// # Errors
/// When the store fails. [`StoreError::Stale`] when they are gone already.
pub async fn erase(store: &Store, person: &PersonId) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    batch.must(Stale::PersonGone, "UPDATE people SET name = '' WHERE id = $1", [person.into()]);
    for former in former_selves(store, person).await? {
        for sql in [
            "UPDATE turns SET person_id = $1 WHERE person_id = $2",
            "UPDATE inbox SET person_id = $1 WHERE person_id = $2",
            "UPDATE schedules SET person_id = $1 WHERE person_id = $2",
        ] {
            batch.run(sql, [person.into(), (&former).into()]);
        }
        batch.run("DELETE FROM objects WHERE person_id = $1", [(&former).into()]);
        batch.run("DELETE FROM links WHERE person_id = $1", [(&former).into()]);
        batch.run("DELETE FROM background_calls WHERE person_id = $1", [(&former).into()]);
        batch.run("DELETE FROM spending WHERE who = $1", [(&former).into()]);
        batch.run("DELETE FROM people WHERE id = $1", [(&former).into()]);
    }
    // Everybody's budget has what a process that died had set aside for them.
    spending::free_person(&mut batch, person);
    // A room's summary may tell of them.
    batch.run(
        "UPDATE conversations SET summary = '' WHERE id IN (SELECT conversation_id FROM turns WHERE person_id = $1)",
        [person.into()],
    );
    // They answered other people's questions.
    batch.run("UPDATE questions SET answered_by = NULL WHERE answered_by = $1", [person.into()]);
    for theirs in &THEIRS[..THEIRS.len() - 2] {
        batch.run(theirs.delete, [person.into()]);
    }
    // What is left are rooms that others speak in.
    batch.run(
        "UPDATE conversations SET person_id = coalesce(\
         (SELECT min(x.person_id) FROM inbox x WHERE x.conversation_id = conversations.id), \
         (SELECT min(x.person_id) FROM turns x WHERE x.conversation_id = conversations.id), '') WHERE person_id = $1",
        [person.into()],
    );
    for theirs in &THEIRS[THEIRS.len() - 2..] {
        batch.run(theirs.delete, [person.into()]);
    }
    store.write(batch).await?;
    store.scrub().await
}
