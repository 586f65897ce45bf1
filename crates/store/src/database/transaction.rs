//! How a transaction travels: in as few messages as the database can take, because each one there and back costs more
//! than most statements.
//!
//! An embedded database gets the statements of a batch in one message, and COMMIT in a second one once every statement
//! that must find a row has found it. A server gets everything in one call of `apply_statements`, which checks that
//! itself (see migration 21).

use std::fmt::Write;

use futures::TryStreamExt;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Either, Executor, Row};

use super::batch::{Batch, Statement, Value, arguments};
use crate::{Backend, Result, Stale, StoreError};

/// The error code of `apply_statements` for a statement that didn't find its row. Its message is the statement's number.
const STALE: &str = "AD001";

/// Runs batches in one transaction. Returns what each one's statements return.
pub(super) async fn commit(
    connection: &mut AnyConnection,
    backend: &Backend,
    batches: &[Batch],
) -> Result<Vec<Vec<Value>>> {
    if let [batch] = batches
        && let [statement] = batch.statements.as_slice()
    {
        // A single statement is a transaction already.
        return Ok(vec![alone(connection, statement).await?]);
    }
    match backend {
        Backend::Embedded { .. } => embedded(connection, backend.begin(), batches).await,
        Backend::Server { .. } => server(connection, batches).await,
    }
}

async fn alone(connection: &mut AnyConnection, statement: &Statement) -> Result<Vec<Value>> {
    let query = sqlx::query_with::<Any, _>(statement.sql, arguments(&statement.arguments)?);
    let (values, found) = if statement.returning {
        let rows = query.fetch_all(&mut *connection).await?;
        let values: Result<Vec<_>, _> = rows.iter().map(|row| row.try_get(0).map(Value::Int)).collect();
        (values?, !rows.is_empty())
    } else {
        (Vec::new(), query.execute(&mut *connection).await?.rows_affected() > 0)
    };
    match statement.must {
        Some(why) if !found => Err(StoreError::Stale(why)),
        _ => Ok(values),
    }
}

async fn embedded(
    connection: &mut AnyConnection,
    begin: &'static str,
    batches: &[Batch],
) -> Result<Vec<Vec<Value>>> {
    let work = async {
        let mut values = Vec::with_capacity(batches.len());
        let mut before = begin;
        for batch in batches {
            values.push(together(connection, before, &batch.statements).await?);
            before = "";
        }
        connection.execute("COMMIT").await?;
        Ok(values)
    };
    let done = work.await;
    if done.is_err() {
        // Fails only if the transaction never began, or if the database has ended it already.
        let _ = connection.execute("ROLLBACK").await;
    }
    done
}

/// Runs statements as one text, `before` in front of them.
///
/// Those after one that didn't find its row run, too, before all are undone. So if one of them fails, the transaction
/// is made again a statement at a time: then the first one that can't go on tells why.
async fn together(
    connection: &mut AnyConnection,
    before: &'static str,
    statements: &[Statement],
) -> Result<Vec<Value>> {
    match in_one_message(connection, before, statements).await {
        Err(StoreError::Database(error)) if statements.iter().any(|statement| statement.must.is_some()) => {
            // A batch of a group runs again alone anyway.
            if before.is_empty() {
                return Err(error.into());
            }
            let _ = connection.execute("ROLLBACK").await;
            connection.execute(before).await?;
            let mut values = Vec::new();
            for statement in statements {
                values.extend(alone(connection, statement).await?);
            }
            Ok(values)
        }
        done => done,
    }
}

async fn in_one_message(
    connection: &mut AnyConnection,
    before: &'static str,
    statements: &[Statement],
) -> Result<Vec<Value>> {
    let mut text = before.to_owned();
    let mut offset = 0;
    for statement in statements {
        if !text.is_empty() {
            text.push_str("; ");
        }
        with_placeholders(&mut text, statement.sql, |text, number| {
            let _ = write!(text, "${}", number + offset);
        });
        offset += statement.arguments.len();
    }
    let all = arguments(statements.iter().flat_map(|statement| &statement.arguments))?;
    let query = sqlx::query_with::<Any, _>(AssertSqlSafe(text), all);
    let mut results = connection.fetch_many(query);
    if !before.is_empty() {
        results.try_next().await?;
    }
    let (mut values, mut stale) = (Vec::new(), None);
    for statement in statements {
        let mut found = false;
        loop {
            match results.try_next().await? {
                Some(Either::Right(row)) if statement.returning => {
                    values.push(Value::Int(row.try_get(0)?));
                    found = true;
                }
                Some(Either::Right(_)) => {}
                Some(Either::Left(done)) => {
                    found |= !statement.returning && done.rows_affected() > 0;
                    break;
                }
                None => return Err(StoreError::Corrupt("a statement of a batch has no end".into())),
            }
        }
        stale = stale.or(statement.must.filter(|_| !found));
    }
    stale.map_or(Ok(values), |why| Err(StoreError::Stale(why)))
}

async fn server(connection: &mut AnyConnection, batches: &[Batch]) -> Result<Vec<Vec<Value>>> {
    let statements: Vec<&Statement> = batches.iter().flat_map(|batch| &batch.statements).collect();
    let query = sqlx::query("SELECT statement, value FROM apply_statements($1)").bind(request(&statements));
    let rows = match query.fetch_all(&mut *connection).await {
        Ok(rows) => rows,
        Err(error) => return Err(stale(&error, &statements).map_or(error.into(), StoreError::Stale)),
    };
    let mut returned = Vec::with_capacity(rows.len());
    for row in &rows {
        let (statement, value): (i64, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
        match value {
            Some(value) => returned.push((statement, Value::Int(value))),
            None => {
                let why = must_of(&statements, statement);
                return Err(why.map_or(StoreError::Corrupt("an unknown statement".into()), StoreError::Stale));
            }
        }
    }
    let mut returned = returned.into_iter().peekable();
    let mut end = 0;
    let mut of_batch = |batch: &Batch| {
        end += i64::try_from(batch.statements.len()).unwrap_or(i64::MAX);
        std::iter::from_fn(|| returned.next_if(|(at, _)| *at <= end)).map(|(_, value)| value).collect()
    };
    Ok(batches.iter().map(&mut of_batch).collect())
}

/// The statements as JSON: each one's text, whether it must find a row, whether it returns rows; and all arguments.
fn request(statements: &[&Statement]) -> String {
    let mut arguments = Vec::new();
    let mut texts = Vec::with_capacity(statements.len());
    for statement in statements {
        let (offset, own) = (arguments.len(), &statement.arguments);
        let mut text = String::with_capacity(statement.sql.len() * 2);
        with_placeholders(&mut text, statement.sql, |text, number| {
            let kind = own.get(number.saturating_sub(1)).map_or("text", Value::server_type);
            let _ = write!(text, "($1[{}])::{kind}", number + offset);
        });
        arguments.extend(own.iter().map(Value::as_text));
        texts.push((text, statement.must.is_some(), statement.returning));
    }
    serde_json::json!({"statements": texts, "arguments": arguments}).to_string()
}

/// Which statement found no row.
fn stale(error: &sqlx::Error, statements: &[&Statement]) -> Option<Stale> {
    let error = error.as_database_error().filter(|error| error.code().as_deref() == Some(STALE))?;
    must_of(statements, error.message().parse().ok()?)
}

fn must_of(statements: &[&Statement], number: i64) -> Option<Stale> {
    statements.get(usize::try_from(number).ok()?.checked_sub(1)?)?.must
}

/// Copies a statement's text, with something else for each `$1`.
fn with_placeholders(text: &mut String, sql: &str, write: impl Fn(&mut String, usize)) {
    let mut parts = sql.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        write(text, part[..digits].parse().unwrap_or_default());
        text.push_str(&part[digits..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(sql: &'static str, arguments: Vec<Value>) -> Statement {
        Statement { sql, arguments, must: None, returning: false }
    }

    #[test]
    fn a_server_gets_all_arguments_as_one_list() {
        let first = statement("UPDATE a SET b = $2 + 0 WHERE c = $1", vec!["x".into(), 7.into()]);
        let second = statement("INSERT INTO d VALUES ($1, $2)", vec![Value::Real(0.25), None::<i64>.into()]);
        let sent: serde_json::Value = serde_json::from_str(&request(&[&first, &second])).unwrap();
        assert_eq!(
            sent,
            serde_json::json!({
                "statements": [
                    ["UPDATE a SET b = ($1[2])::bigint + 0 WHERE c = ($1[1])::text", false, false],
                    ["INSERT INTO d VALUES (($1[3])::float8, ($1[4])::bigint)", false, false],
                ],
                "arguments": ["x", "7", "0.25", null],
            })
        );
    }
}
