//! The group commit.
//!
//! Properties: an acknowledged write is durable; a batch is whole or absent; a batch that fails doesn't affect
//! others; under load many batches share one commit, because a full commit costs as much as twenty statements.
//!
//! Each writer takes all waiting batches, runs them in one transaction, and replies after the commit. When one of
//! them fails, the transaction is rolled back and each runs again alone: batches are data, so this is safe, and
//! failures are rare. When the database's reply is lost, the transaction may be committed, and what adds to a number
//! would add twice: none runs again, and its caller reads what is so, as after a crash. Waiting batches run in the
//! order of their arrival; a caller who needs an order awaits the first write before the second.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;

use super::batch::{Batch, Value};
use super::connections::Connections;
use super::transaction;
use crate::{Backend, Result, StoreError};

/// With more than this in one transaction, the first ones wait too long.
const GROUP: usize = 256;

/// How often a batch that conflicts with others is tried.
const TRIES: u64 = 30;

type Reply = oneshot::Sender<Result<Vec<Value>>>;
type Waiting = (Batch, Reply);

pub(crate) struct Writer {
    connections: Arc<Connections>,
    queue: Mutex<Option<mpsc::Sender<Waiting>>>,
    sender: mpsc::WeakSender<Waiting>,
    tasks: Mutex<JoinSet<()>>,
}

impl Writer {
    pub(crate) fn start(connections: Connections, backend: &Backend) -> Self {
        let (sender, receiver) = mpsc::channel(4096);
        let receiver = Arc::new(Mutex::new(receiver));
        let connections = Arc::new(connections);
        let mut tasks = JoinSet::new();
        for _ in 0..backend.writers() {
            tasks.spawn(run(connections.clone(), backend.clone(), receiver.clone()));
        }
        Self {
            connections,
            sender: sender.downgrade(),
            queue: Mutex::new(Some(sender)),
            tasks: Mutex::new(tasks),
        }
    }

    pub(crate) async fn write(&self, batch: Batch) -> Result<Vec<Value>> {
        let (reply, answer) = oneshot::channel();
        let sender = self.sender.upgrade().ok_or(StoreError::Closed)?;
        sender.send((batch, reply)).await.map_err(|_| StoreError::Closed)?;
        drop(sender);
        answer.await.map_err(|_| StoreError::Closed)?
    }

    pub(crate) async fn close(&self) {
        self.drain().await;
        // Not earlier: a writer may still need a connection for waiting batches.
        self.connections.close().await;
    }

    /// Writes all that waits, and this after it. Nothing can be written from then on.
    pub(crate) async fn finish(&self, backend: &Backend, last: &Batch) -> Result<()> {
        self.drain().await;
        commit_alone(&self.connections, backend, last).await.map(drop)
    }

    async fn drain(&self) {
        self.queue.lock().await.take();
        let mut tasks = self.tasks.lock().await;
        while tasks.join_next().await.is_some() {}
    }
}

async fn run(connections: Arc<Connections>, backend: Backend, receiver: Arc<Mutex<mpsc::Receiver<Waiting>>>) {
    let mut group = Vec::with_capacity(GROUP);
    loop {
        if receiver.lock().await.recv_many(&mut group, GROUP).await == 0 {
            return;
        }
        let (batches, replies): (Vec<_>, Vec<_>) = group.drain(..).unzip();
        let done =
            if batches.len() > 1 { Some(commit(&connections, &backend, &batches).await) } else { None };
        match done {
            Some(Ok(values)) => {
                replies.into_iter().zip(values).for_each(|(reply, values)| drop(reply.send(Ok(values))));
            }
            Some(Err(error)) if !is_undone(&error) => {
                let lost = || Err(StoreError::Unknown(error.to_string()));
                replies.into_iter().for_each(|reply| drop(reply.send(lost())));
            }
            _ => {
                for (batch, reply) in batches.iter().zip(replies) {
                    // The caller may be gone; the write is durable anyway.
                    let _ = reply.send(commit_alone(&connections, &backend, batch).await);
                }
            }
        }
    }
}

/// Whether the database has rolled back. An error of class 08 is a pooler's, whose server's reply was lost.
fn is_undone(error: &StoreError) -> bool {
    match error {
        StoreError::Database(sqlx::Error::Database(error)) => {
            error.code().is_none_or(|code| !code.starts_with("08"))
        }
        error => matches!(error, StoreError::Stale(_)),
    }
}

/// Commits one batch. Writers that update the same rows in different orders can deadlock; the database then rolls
/// back one of them, which can simply try again.
async fn commit_alone(connections: &Connections, backend: &Backend, batch: &Batch) -> Result<Vec<Value>> {
    let mut tries = 1;
    loop {
        match commit(connections, backend, std::slice::from_ref(batch)).await {
            Err(error) if tries < TRIES && backend.is_conflict(&error) => {
                // Gives the other transaction time to finish; different delays keep retries from colliding again.
                tokio::time::sleep(Duration::from_millis(tries)).await;
                tries += 1;
            }
            outcome => return outcome.map(|mut values| values.pop().unwrap_or_default()),
        }
    }
}

async fn commit(connections: &Connections, backend: &Backend, batches: &[Batch]) -> Result<Vec<Vec<Value>>> {
    let work = connections.with(async |connection| transaction::commit(connection, backend, batches).await);
    #[cfg(debug_assertions)]
    let work = crate::simulation::commit(batches, work);
    work.await
}
