//! What a store full of finished turns costs the next one.

use std::process::Command;
use std::time::{Duration, Instant};

use adjutant_store::Batch;

use crate::{House, PLATFORMS, house_of, ms, row, serve};

/// How many people write, each in a chat.
const CHATS: usize = 500;
/// How many messages one of them sends, one after the other.
const MESSAGES: usize = 500;
/// How often all turns that there are get copied in one transaction.
const COPIES: usize = 10;

/// The tables that hold a turn, and their columns in which no two rows are the same, nor refer to the same.
const TABLES: [(&str, &[&str]); 5] = [
    ("turns", &["seq", "id"]),
    ("inbox", &["id", "event", "turn_id"]),
    ("executions", &["seq", "id", "turn_id", "parent_id"]),
    ("calls", &["execution_id"]),
    ("outbox", &["seq", "id", "turn_id"]),
];

/// A message of one person, everybody at once, and a start: with few turns in the store, then with many.
pub(crate) fn run(turns: usize) {
    let mut house = house_of(&PLATFORMS[..1], CHATS, Duration::ZERO, "");
    let mut said = 0;
    // Conversations have their length, and the process is warm.
    measure(&mut house, &mut said);
    let before = measure(&mut house, &mut said);
    let added = fill(&mut house, turns);
    let after = measure(&mut house, &mut said);
    let store = std::fs::metadata(house.home.data().join("adjutant.db")).unwrap().len() / 1_000_000;
    println!(
        "Before and after {added} finished turns of others were added, which makes a store of {store} MB:"
    );
    for (at, what, wanted) in [
        (0, "a message, p50", "10 % more"),
        (1, "500 chats at once", "20 % more"),
        (2, "process start to the first poll, p50", "20 % more"),
    ] {
        let more = (after[at].as_secs_f64() / before[at].as_secs_f64() - 1.0) * 100.0;
        row(what, &format!("{}, {} ({more:+.0} %)", ms(before[at]), ms(after[at])), wanted);
    }
}

fn measure(house: &mut House, said: &mut usize) -> [Duration; 3] {
    let (times, _) = house.one_by_one(*said, MESSAGES);
    *said += MESSAGES;
    let mut all = [0; 3].map(|_| {
        let took = house.at_once(*said, CHATS);
        *said += CHATS;
        took
    });
    all.sort_unstable();
    let mut starts = [0; 9].map(|_| house.start_again(0));
    starts.sort_unstable();
    [times[times.len() / 2], all[1], starts[4]]
}

/// Copies all turns into the past, until so many were added; how many were.
fn fill(house: &mut House, turns: usize) -> usize {
    let pid = house.gateway.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    house.gateway.wait().unwrap();
    let begun = Instant::now();
    let added = house.home.ask(async |store| {
        let there = usize::try_from(store.count("SELECT count(*) FROM turns", &[]).await.unwrap()).unwrap();
        let mut copies: Vec<&'static str> = Vec::new();
        for (table, own) in TABLES {
            let sql = "SELECT name FROM pragma_table_info($1)";
            let columns: Vec<(String,)> = store.all(sql, &[table.into()]).await.unwrap();
            copies.push(copy(table, own, columns.into_iter().map(|(name,)| name).collect()).leak());
        }
        let rounds = turns.div_ceil(there * COPIES);
        for round in 0..rounds {
            let from = i64::try_from(round * COPIES).unwrap();
            let to = from + i64::try_from(COPIES).unwrap();
            let mut batch = Batch::new();
            for sql in &copies {
                batch.run(sql, [from.into(), to.into()]);
            }
            store.write(batch).await.unwrap();
        }
        rounds * COPIES * there
    });
    println!("(Filled in {} s.)", begun.elapsed().as_secs());
    let heard = house.heard();
    house.gateway = serve(&house.home);
    house.wait_until_heard(&heard);
    added
}

/// Copies the rows of a table once for each number: their own numbers become negative, so that they lie before all others.
fn copy(table: &str, own: &[&str], columns: Vec<String>) -> String {
    let is_number = |column: &str| column == "seq" || (table == "inbox" && column == "id");
    let value = |column: &String| match own.contains(&column.as_str()) {
        true if is_number(column) => format!("t.{column} - (o.n + 1) * 10000000"),
        true => format!("'o' || o.n || '-' || t.{column}"),
        false => format!("t.{column}"),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    let first = columns
        .iter()
        .find(|column| is_number(column))
        .map_or("NOT t.execution_id LIKE 'o%-%'".to_owned(), |it| format!("t.{it} > 0"));
    format!(
        "WITH RECURSIVE o (n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM o WHERE n + 1 < $2) INSERT INTO {table} ({}) \
         SELECT {} FROM o, {table} t WHERE {first}",
        columns.join(", "),
        values.join(", ")
    )
}
