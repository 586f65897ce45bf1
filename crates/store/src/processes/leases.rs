//! Leases across processes.
//!
//! Properties: a lane has one holder; a dead process's leases are free immediately; a holder that was suspended and
//! wakes up can't change anything.
//!
//! An instance is alive while it has a lock that the system drops with its process: a file lock beside the embedded
//! database, or an advisory lock of its session on a server. A lease is a row with an epoch. Every write of a turn
//! begins with [`Lease::fence`], so it happens under that epoch or not at all. On a server, an instance whose
//! heartbeat is older than [`DEAD_AFTER`] by the database's clock is dead as well, because its session may hang on a
//! broken connection. So no action outside the store starts with less than [`MARGIN`] of that time left: see
//! [`Heartbeat`].
//!
//! Accepted delay: a dead instance's work waits for the next check of the instances, up to a second.

mod locks;

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use adjutant_types::{ConversationId, InstanceId};
use parking_lot::Mutex;
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection};

use super::instances::About;
use crate::{Backend, Batch, Result, Stale, Store, StoreError, Value, attempts};
use locks::{held_locks, is_free, key, lock_file, lock_session, locks_of};

/// How long a silent instance on a server keeps its leases.
pub const DEAD_AFTER: Duration = Duration::from_secs(30);

/// How much of [`DEAD_AFTER`] must be left to start an action that can't be undone.
pub const MARGIN: Duration = Duration::from_secs(5);

/// This process, as the other processes on the same store see it.
pub struct Instance {
    pub id: InstanceId,
    /// When it last sent a heartbeat.
    pub heartbeat: Heartbeat,
    /// The channels whose turns it runs with other instances; none if what it journals is its own.
    shares: Vec<String>,
    /// The instance of the rows that it journals: itself, or nobody if any instance may work on them.
    owner: InstanceId,
    /// How many other processes are on the store, as of the last heartbeat.
    peer_count: AtomicUsize,
    /// How much of a processor it uses, in thousandths.
    load: AtomicI64,
    /// Its description for other instances, once `instances::register` has set it.
    pub(super) about: OnceLock<About>,
    lock: Lock,
}

/// The time of an instance's last heartbeat, by its own monotonic clock.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat {
    /// None with a file lock, which goes only with its process, so no heartbeat can be late.
    last_sent: Option<Arc<Mutex<Instant>>>,
}

impl Heartbeat {
    fn at(instant: Instant) -> Self {
        Self { last_sent: Some(Arc::new(Mutex::new(instant))) }
    }

    fn record(&self, instant: Instant) {
        if let Some(last_sent) = &self.last_sent {
            *last_sent.lock() = instant;
        }
    }

    /// Whether no other instance can consider this one dead for a while.
    pub fn is_fresh(&self) -> bool {
        let since = self.last_sent.as_ref().map(|last_sent| {
            let last_sent = last_sent.lock();
            last_sent.elapsed()
        });
        since.is_none_or(|since| since + MARGIN < DEAD_AFTER)
    }
}

enum Lock {
    File { folder: PathBuf, _held: File },
    Session { options: AnyConnectOptions, held: Box<tokio::sync::Mutex<AnyConnection>> },
}

/// The right to one lane or channel, for one epoch.
#[derive(Debug, Clone)]
pub struct Lease {
    /// The lane or channel.
    pub name: String,
    pub instance: InstanceId,
    /// Increases each time the lease is taken.
    pub epoch: i64,
    pub heartbeat: Heartbeat,
    /// The instance of the messages that its turns send: see [`Instance::owner`].
    pub owner: InstanceId,
}

/// The lease name for receiving a channel.
pub fn channel(name: &str) -> String {
    format!("channel:{name}")
}

/// How many of a conversation's turns may run in the background at once. Each has a lane, counted from 1.
pub const BACKGROUND_LANES: i64 = 3;

/// The lease name of a conversation's lane: 0 is its own, the others are for its turns in the background.
pub fn lane(conversation: &ConversationId, background: i64) -> String {
    match background {
        0 => format!("lane:{conversation}"),
        1 => format!("lane:{conversation}:background"),
        more => format!("lane:{conversation}:background-{more}"),
    }
}

impl Instance {
    pub async fn register(store: &Store) -> Result<Self> {
        Self::register_sharing(store, Vec::new()).await
    }

    /// Registers this process as one of those that run the turns of these channels. An embedded store is for one.
    pub async fn register_sharing(store: &Store, mut shares: Vec<String>) -> Result<Self> {
        let id = store.new_id();
        let mut heartbeat = Heartbeat::default();
        let lock = match store.backend() {
            Backend::Embedded { file } => {
                shares.clear();
                let folder = locks_of(file);
                let held = lock_file(&folder, &id).map_err(|error| store.backend().open_error(&error))?;
                Lock::File { folder, _held: held }
            }
            Backend::Server { url } => {
                let options: AnyConnectOptions = url.parse()?;
                let connection = lock_session(&options, &id).await?;
                heartbeat = Heartbeat::at(Instant::now());
                Lock::Session { options, held: Box::new(tokio::sync::Mutex::new(connection)) }
            }
        };
        let owner = if shares.is_empty() { id.clone() } else { InstanceId::default() };
        let (peer_count, load, about) = (AtomicUsize::new(0), AtomicI64::new(0), OnceLock::new());
        let instance = Self { id, heartbeat, shares, owner, peer_count, load, about, lock };
        store.write(instance.heartbeat_batch(store)).await?;
        Ok(instance)
    }

    /// Writes this process's row and heartbeat, by a clock that all instances share.
    fn heartbeat_batch(&self, store: &Store) -> Batch {
        let mut batch = Batch::new();
        let sql = match self.lock {
            Lock::File { .. } => {
                "INSERT INTO instances (id, pid, started_at, beat_at, shares, load) VALUES ($1, $2, $3, $3, $4, $5) \
                 ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, load = excluded.load"
            }
            Lock::Session { .. } => {
                "INSERT INTO instances (id, pid, started_at, beat_at, shares, load) \
                 VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $4, $5) \
                 ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, load = excluded.load"
            }
        };
        let shares =
            if self.shares.is_empty() { String::new() } else { format!(",{},", self.shares.join(",")) };
        let pid = i64::from(std::process::id());
        let load = self.load.load(Ordering::Relaxed);
        batch.run(sql, [(&self.id).into(), pid.into(), store.now().into(), shares.into(), load.into()]);
        // The row is new if other instances have removed it, because they considered this process dead.
        if let Some(about) = self.about.get() {
            about.tell(&mut batch, &self.id);
        }
        batch
    }

    pub fn set_load(&self, load: i64) {
        self.load.store(load, Ordering::Relaxed);
    }

    /// Whether no other process was on the store at the last heartbeat.
    pub fn is_alone(&self) -> bool {
        self.peer_count.load(Ordering::Relaxed) == 0
    }

    pub fn shares(&self) -> &[String] {
        &self.shares
    }

    pub fn owner(&self) -> &InstanceId {
        &self.owner
    }

    /// Sends a heartbeat and frees the leases of dead instances. Returns their ids.
    pub async fn heartbeat(&self, store: &Store) -> Result<Vec<InstanceId>> {
        if let Lock::Session { options, held } = &self.lock {
            let mut connection = held.lock().await;
            if connection.ping().await.is_err() {
                // The server was away. Other instances may have considered us dead, so our leases are lost, but
                // leases from now on need a live session.
                *connection = lock_session(options, &self.id).await?;
            }
            drop(connection);
            let now = Instant::now();
            store.write(self.heartbeat_batch(store)).await?;
            self.heartbeat.record(now);
        }
        let (peer_count, dead_ids) = self.peers(store).await?;
        self.peer_count.store(peer_count, Ordering::Relaxed);
        let mut dead = Vec::new();
        for other in dead_ids {
            store.write(leaving(&other)).await?;
            if let Lock::File { folder, .. } = &self.lock {
                // Another process may have removed it just now.
                let _ = std::fs::remove_file(folder.join(other.as_str()));
            }
            dead.push(other);
        }
        self.free_orphans(store).await?;
        Ok(dead)
    }

    /// Frees the leases of instances that aren't registered: one that was considered dead while it was suspended may
    /// have taken a lease before its next heartbeat, and died.
    async fn free_orphans(&self, store: &Store) -> Result<()> {
        const ORPHANS: &str = "SELECT count(*) FROM leases WHERE instance IS NOT NULL \
                               AND instance NOT IN (SELECT id FROM instances)";
        if store.count(ORPHANS, &[]).await? > 0 {
            let sql = "UPDATE leases SET instance = NULL WHERE instance IS NOT NULL \
                AND instance NOT IN (SELECT id FROM instances)";
            store.write(Batch::of(sql, [])).await?;
        }
        Ok(())
    }

    /// Updates this process's row without changing it, to check that the store accepts writes. It isn't a heartbeat:
    /// that is [`Self::heartbeat()`].
    pub async fn touch(&self, store: &Store) -> Result<()> {
        let batch = Batch::of("UPDATE instances SET pid = pid WHERE id = $1", [(&self.id).into()]);
        store.write(batch).await.map(drop)
    }

    /// How many other processes there are, and the ids of the dead ones.
    async fn peers(&self, store: &Store) -> Result<(usize, Vec<InstanceId>)> {
        let heartbeats: Vec<(InstanceId, i64)> =
            store.all("SELECT id, beat_at FROM instances WHERE id <> $1", &[(&self.id).into()]).await?;
        let count = heartbeats.len();
        if count == 0 {
            return Ok((0, Vec::new()));
        }
        let dead = match &self.lock {
            Lock::File { folder, .. } => {
                heartbeats.into_iter().filter(|(id, _)| is_free(folder, id)).map(|(id, _)| id).collect()
            }
            Lock::Session { .. } => {
                // After the rows: whoever has one had its lock before.
                let (held, now) = held_locks(store).await?;
                let silent = i64::try_from(DEAD_AFTER.as_millis()).unwrap_or(i64::MAX);
                let is_dead =
                    |(id, beat_at): &(InstanceId, i64)| !held.contains(&key(id)) || *beat_at < now - silent;
                heartbeats.into_iter().filter(is_dead).map(|(id, _)| id).collect()
            }
        };
        Ok((count, dead))
    }

    /// Unregisters this process and frees its leases. If that fails, the next process finds this one dead.
    pub async fn leave(&self, store: &Store) -> Result<()> {
        store.write(self.last_batch()).await?;
        self.remove_lock();
        Ok(())
    }

    /// Leaves as the store's last write: whoever stopped waiting for a lease may get it yet.
    pub async fn leave_and_close(&self, store: &Store) -> Result<()> {
        store.close_with(self.last_batch()).await?;
        self.remove_lock();
        Ok(())
    }

    fn last_batch(&self) -> Batch {
        let mut batch = leaving(&self.id);
        attempts::end_all(&mut batch, &self.id);
        batch
    }

    fn remove_lock(&self) {
        if let Lock::File { folder, .. } = &self.lock {
            let _ = std::fs::remove_file(folder.join(self.id.as_str()));
        }
    }

    /// Takes a lease as the first statement of a batch: see [`Self::taken`].
    pub fn take(&self, name: &str, batch: &mut Batch) {
        let sql = "INSERT INTO leases (name, instance, epoch) VALUES ($1, $2, 1) \
            ON CONFLICT (name) DO UPDATE SET instance = excluded.instance, epoch = leases.epoch + 1 \
            WHERE leases.instance IS NULL OR leases.instance = excluded.instance RETURNING epoch";
        batch.must_return(Stale::LeaseTaken, sql, [name.into(), (&self.id).into()]);
    }

    pub async fn acquire(&self, store: &Store, name: String) -> Result<Option<Lease>> {
        match store.write(Batch::with(|batch| self.take(&name, batch))).await {
            Ok(returned) => Ok(Some(self.taken(name, &returned))),
            Err(StoreError::Stale(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The lease of a batch that began with [`Self::take`], from the values that the batch returned.
    pub fn taken(&self, name: String, returned: &[Value]) -> Lease {
        let epoch = returned.first().and_then(Value::as_int).unwrap_or_default();
        let (heartbeat, owner) = (self.heartbeat.clone(), self.owner.clone());
        Lease { name, instance: self.id.clone(), epoch, heartbeat, owner }
    }
}

fn leaving(instance: &InstanceId) -> Batch {
    let mut batch = Batch::of("UPDATE leases SET instance = NULL WHERE instance = $1", [instance.into()]);
    batch.run("DELETE FROM instances WHERE id = $1", [instance.into()]);
    batch
}

impl Lease {
    /// A batch that is written only while we have this lease.
    pub fn fence(&self, store: &Store) -> Batch {
        let mut batch = Batch::new();
        batch.must_return(
            Stale::LeaseLost,
            store.backend().fence_sql(),
            [(&self.name).into(), (&self.instance).into(), self.epoch.into()],
        );
        batch
    }

    /// Whether nobody else has taken it since.
    pub async fn is_held(&self, store: &Store) -> Result<bool> {
        const HELD: &str = "SELECT count(*) FROM leases WHERE name = $1 AND instance = $2 AND epoch = $3";
        let held = [(&self.name).into(), (&self.instance).into(), self.epoch.into()];
        Ok(store.count(HELD, &held).await? > 0)
    }

    /// A batch that returns the lease; it is written only if we had it.
    pub fn release(&self) -> Batch {
        let sql = "UPDATE leases SET instance = NULL WHERE name = $1 AND instance = $2 AND epoch = $3";
        let held = [(&self.name).into(), (&self.instance).into(), self.epoch.into()];
        Batch::requiring(Stale::LeaseLost, sql, held)
    }
}

/// Reads from the store, to check that it answers.
pub async fn ping(store: &Store) -> Result<()> {
    store.count("SELECT count(*) FROM instances", &[]).await.map(drop)
}

/// The leases that are held: of what, by which instance, and the epoch.
pub async fn held(store: &Store) -> Result<Vec<(String, InstanceId, i64)>> {
    let sql = "SELECT name, instance, epoch FROM leases WHERE instance IS NOT NULL ORDER BY instance, name LIMIT 200";
    store.all(sql, &[]).await
}

/// The live processes on this store: instance id, process id and start time.
pub async fn living(store: &Store) -> Result<Vec<(InstanceId, i64, i64)>> {
    let rows: Vec<(InstanceId, i64, i64)> =
        store.all("SELECT id, pid, started_at FROM instances ORDER BY started_at, id", &[]).await?;
    match store.backend() {
        Backend::Embedded { file } => {
            let folder = locks_of(file);
            Ok(rows.into_iter().filter(|row| !is_free(&folder, &row.0)).collect())
        }
        Backend::Server { .. } => {
            let (held, _) = held_locks(store).await?;
            Ok(rows.into_iter().filter(|row| held.contains(&key(&row.0))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_when_little_time_is_left() {
        assert!(Heartbeat::default().is_fresh(), "a file lock does not run out");
        let now = Instant::now();
        let heartbeat = Heartbeat::at(now);
        assert!(heartbeat.clone().is_fresh());
        if let Some(long_ago) = now.checked_sub(DEAD_AFTER.saturating_sub(MARGIN)) {
            heartbeat.record(long_ago);
            assert!(!heartbeat.is_fresh());
        }
        heartbeat.record(Instant::now());
        assert!(heartbeat.is_fresh());
    }
}
