//! What instances on one server may ask of a model together: so many requests in a window of time, and none while its
//! provider asks for a pause. All times are by the server's clock.
//!
//! A request takes one of as many slots as the window allows, and the slot is free again once the window has passed. So
//! nothing is ever given back, and an instance that dies holds nothing. Two that take a slot at once don't wait for each
//! other: each skips the rows that the other has locked.

use std::time::Duration;

use crate::{Backend, Batch, Result, Store};

/// The server's clock, in milliseconds.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn time(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

/// Counts a request to a model, if fewer than `limit` were within the window; else returns how long until the next one may be.
pub async fn take_slot(store: &Store, model: &str, limit: u32, window: Duration) -> Result<Option<Duration>> {
    let (limit, window) = (i64::from(limit), millis(window));
    let mut batch = Batch::new();
    batch.returning(
        concat!(
            "UPDATE model_slots SET taken_at = ",
            now!(),
            " WHERE model = $1 AND slot = (SELECT s.slot FROM model_slots s WHERE s.model = $1 AND s.slot < $2 \
             AND s.taken_at <= ",
            now!(),
            " - $3 ORDER BY s.taken_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING 1::bigint"
        ),
        [model.into(), limit.into(), window.into()],
    );
    if !store.write(batch).await?.is_empty() {
        return Ok(None);
    }
    let sql = concat!(
        "SELECT count(*), coalesce(min(taken_at), 0) + $3 - ",
        now!(),
        " FROM model_slots WHERE model = $1 AND slot < $2"
    );
    let (slots, wait): (i64, i64) =
        store.first(sql, &[model.into(), limit.into(), window.into()]).await?.unwrap_or_default();
    if slots < limit {
        add_slots(store, model, limit).await?;
        return Ok(Some(Duration::ZERO));
    }
    Ok(Some(time(wait)))
}

/// Makes the slots of a model that is asked for the first time, or that may be asked more often than before.
async fn add_slots(store: &Store, model: &str, limit: i64) -> Result<()> {
    let sql =
        "INSERT INTO model_slots (model, slot) SELECT $1, generate_series(0, $2 - 1) ON CONFLICT DO NOTHING";
    store.write(Batch::of(sql, [model.into(), limit.into()])).await.map(drop)
}

/// Records that a model's provider asks for no requests for some time. The longest pause holds.
pub async fn pause(store: &Store, model: &str, asked: Duration) -> Result<()> {
    store.write(Batch::of(
        concat!(
            "INSERT INTO model_pauses (model, until_at) VALUES ($1, ",
            now!(),
            " + $2) ON CONFLICT (model) DO UPDATE SET until_at = greatest(model_pauses.until_at, excluded.until_at)"
        ),
        [model.into(), millis(asked).into()],
    )).await.map(drop)
}

/// The models whose providers ask for a pause now, and how long it lasts. An embedded store isn't told.
pub async fn pauses(store: &Store) -> Result<Vec<(String, Duration)>> {
    if let Backend::Embedded { .. } = store.backend() {
        return Ok(Vec::new());
    }
    let sql = concat!("SELECT model, until_at - ", now!(), " FROM model_pauses WHERE until_at > ", now!());
    let rows: Vec<(String, i64)> = store.all(sql, &[]).await?;
    Ok(rows.into_iter().map(|(model, left)| (model, time(left))).collect())
}
