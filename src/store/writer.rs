//! The group commit.
//!
//! Wanted: a write that was answered is durable; a batch is whole or absent; a batch that fails
//! does not take its neighbours with it; under load many batches share one commit, because a full
//! commit costs as much as twenty statements.
//!
//! So each writer takes all batches that wait, runs them in one transaction, and answers after the
//! commit. When one of them fails, the transaction is undone and each runs again alone: batches are
//! data, so running one again is safe, and failures are rare. Batches that wait have no order among
//! them but their arrival; whoever needs an order awaits the first before writing the second.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{AnyConnection, Connection, Row};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;

use super::batch::{Batch, Value};
use super::connections::Connections;
use super::{Backend, StoreError};

/// More than this in one transaction makes the first ones wait for nothing.
const GROUP: usize = 256;

/// How often a batch that crosses others is tried.
const TRIES: u64 = 30;

type Reply = oneshot::Sender<Result<Vec<Value>, StoreError>>;
type Waiting = (Batch, Reply);

pub(super) struct Writer {
    connections: Arc<Connections>,
    queue: Mutex<Option<mpsc::Sender<Waiting>>>,
    sender: mpsc::WeakSender<Waiting>,
    tasks: Mutex<JoinSet<()>>,
}

impl Writer {
    pub(super) fn start(connections: Connections, backend: &Backend) -> Self {
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

    pub(super) async fn write(&self, batch: Batch) -> Result<Vec<Value>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let sender = self.sender.upgrade().ok_or(StoreError::Closed)?;
        sender.send((batch, reply)).await.map_err(|_| StoreError::Closed)?;
        drop(sender);
        answer.await.map_err(|_| StoreError::Closed)?
    }

    pub(super) async fn close(&self) {
        self.queue.lock().await.take();
        let mut tasks = self.tasks.lock().await;
        while tasks.join_next().await.is_some() {}
        // Not before: a writer may still be about to take a connection for what waited.
        self.connections.close().await;
    }
}

async fn run(connections: Arc<Connections>, backend: Backend, receiver: Arc<Mutex<mpsc::Receiver<Waiting>>>) {
    let mut group = Vec::with_capacity(GROUP);
    loop {
        if receiver.lock().await.recv_many(&mut group, GROUP).await == 0 {
            return;
        }
        let (batches, replies): (Vec<_>, Vec<_>) = group.drain(..).unzip();
        if batches.len() > 1
            && let Ok(values) = commit(&connections, backend.begin(), &batches).await
        {
            for (reply, values) in replies.into_iter().zip(values) {
                // Whoever asked may have gone away; the write stands all the same.
                let _ = reply.send(Ok(values));
            }
            continue;
        }
        for (batch, reply) in batches.iter().zip(replies) {
            let _ = reply.send(commit_alone(&connections, &backend, batch).await);
        }
    }
}

/// Commits one batch. Writers that take the same rows in another order can cross; then one of them was
/// undone through no fault of its own.
async fn commit_alone(
    connections: &Connections,
    backend: &Backend,
    batch: &Batch,
) -> Result<Vec<Value>, StoreError> {
    let mut tries = 1;
    loop {
        match commit(connections, backend.begin(), std::slice::from_ref(batch)).await {
            Err(error) if tries < TRIES && backend.has_crossed(&error) => {
                // The one that went through is out of the way then; those that begin anew don't meet in step.
                tokio::time::sleep(Duration::from_millis(tries)).await;
                tries += 1;
            }
            outcome => return outcome.map(|mut values| values.pop().unwrap_or_default()),
        }
    }
}

async fn commit(
    connections: &Connections,
    begin: &'static str,
    batches: &[Batch],
) -> Result<Vec<Vec<Value>>, StoreError> {
    let work = async |connection: &mut AnyConnection| {
        if let [batch] = batches
            && batch.statements.len() == 1
        {
            // A transaction of its own, without the two hops of BEGIN and COMMIT.
            return Ok(vec![apply(connection, batch).await?]);
        }
        let mut transaction = connection.begin_with(begin).await?;
        let mut values = Vec::with_capacity(batches.len());
        for batch in batches {
            values.push(apply(&mut transaction, batch).await?);
        }
        transaction.commit().await?;
        Ok(values)
    };
    connections.with(work).await
}

async fn apply(connection: &mut AnyConnection, batch: &Batch) -> Result<Vec<Value>, StoreError> {
    let mut values = Vec::new();
    for statement in &batch.statements {
        let mut query = sqlx::query(statement.sql);
        for argument in &statement.arguments {
            query = argument.bind(query);
        }
        let found = if statement.returning {
            let rows = query.fetch_all(&mut *connection).await?;
            for row in &rows {
                values.push(Value::Int(row.try_get(0)?));
            }
            !rows.is_empty()
        } else {
            query.execute(&mut *connection).await?.rows_affected() > 0
        };
        if let (false, Some(why)) = (found, statement.must) {
            return Err(StoreError::Stale(why));
        }
    }
    Ok(values)
}
