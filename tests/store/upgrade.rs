//! A store that the former version filled is opened by this one, and everything is still there.

use std::collections::BTreeMap;

use adjutant_store::{Store, check};
use adjutant_types::clock::FixedClock;
use regex::Regex;
use tempfile::TempDir;

use crate::former::{self, ROWS};
use crate::world::{block_on, postgres_url};

/// The tables that have another name now.
const RENAMED: [(&str, &str); 3] =
    [("prompts", "questions"), ("asides", "background_calls"), ("told", "announcements")];

/// Each table of the former version, by its present name, with the number of its rows.
fn tables() -> BTreeMap<String, i64> {
    let row = Regex::new(r"(?m)^INSERT INTO (\w+) ").unwrap();
    let mut tables = BTreeMap::new();
    for found in row.captures_iter(ROWS) {
        let name = RENAMED.iter().find(|(old, _)| *old == &found[1]).map_or(&found[1], |(_, new)| *new);
        *tables.entry(name.to_owned()).or_default() += 1;
    }
    tables
}

async fn everything_is_there(url: String) {
    former::load(&url).await;
    let store = Store::open(&url, FixedClock::at("2026-11-21T10:00:00Z")).await.unwrap();
    let tables = tables();
    assert!(tables.len() >= 24, "{tables:?}");
    for (table, rows) in tables {
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!(store.count(Box::leak(count.into_boxed_str()), &[]).await.unwrap(), rows, "{table}");
    }
    assert_eq!(texts(&store).await, EXPECTED);
    let findings = check::findings(&store).await.unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    store.close().await;
}

/// What of it stands in a column of text.
async fn texts(store: &Store) -> Vec<String> {
    let mut texts = Vec::new();
    for sql in [
        "SELECT 'task ' || title || ': ' || state FROM tasks WHERE person_id IN \
         (SELECT person_id FROM accounts WHERE user_id = 'ada') ORDER BY seq",
        "SELECT scope || ' memory: ' || text FROM memories ORDER BY seq",
        "SELECT 'schedule ' || text || ': ' || state FROM schedules ORDER BY created_at",
        "SELECT DISTINCT 'outbox ' || state FROM outbox ORDER BY 1",
        "SELECT c.place || ': ' || t.status || ', shown to ' || t.shown_round FROM turns t \
         JOIN conversations c ON c.id = t.conversation_id WHERE t.ended_at IS NULL ORDER BY t.seq",
        "SELECT c.place || ' asks: ' || q.state FROM questions q JOIN conversations c \
         ON c.id = q.conversation_id ORDER BY q.seq",
        "SELECT workflow || ': ' || status FROM runs ORDER BY seq",
        "SELECT DISTINCT 'calls work with no account: ' || CASE WHEN account = '' THEN 'yes' ELSE account END FROM executions",
    ] {
        let rows: Vec<(String,)> = store.all(sql, &[]).await.unwrap();
        texts.extend(rows.into_iter().map(|(text,)| text));
    }
    texts
}

const EXPECTED: [&str; 27] = [
    "task pay the rent: open",
    "task water the plants: open",
    "task call Bob: done",
    "private memory: Bob prefers mornings",
    "room memory: The kitchen closes at ten",
    "schedule show my open tasks: active",
    "schedule show my week: paused",
    "outbox pending",
    "outbox sending",
    "outbox sent",
    "approve: waiting, shown to 1",
    "limit: waiting, shown to 0",
    "choose: waiting, shown to 1",
    "input: waiting, shown to 1",
    "paused: waiting, shown to 0",
    "spent: waiting, shown to -1",
    "dead: running, shown to 0",
    "run: running, shown to 0",
    "approve asks: pending",
    "limit asks: pending",
    "choose asks: pending",
    "input asks: pending",
    "paused asks: pending",
    "desk asks: pending",
    "send: running",
    "twice: running",
    "calls work with no account: yes",
];

#[test]
fn a_file_of_the_former_version_is_upgraded_with_all_its_rows() {
    let folder = TempDir::new().unwrap();
    block_on(everything_is_there(format!("sqlite://{}/adjutant.db", folder.path().display())));
}

#[test]
fn a_database_of_the_former_version_is_upgraded_with_all_its_rows() {
    if let Some(url) = postgres_url() {
        block_on(everything_is_there(url));
    }
}
