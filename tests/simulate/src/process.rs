//! A process in the world: each of its steps takes time, and may be its last.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_chat::Outbound;
use adjutant_store::simulation::{self, Passing};
use adjutant_store::{Batch, Store, StoreError, Value};
use sqlx::FromRow;
use sqlx::any::AnyRow;
use tokio::sync::Notify;

use crate::history::Event;
use crate::world::{Network, World};

/// How a process ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is killed.
    Died,
    /// It is stopped, and others believe that it is dead.
    Stopped,
}

pub(crate) struct Process {
    pub(crate) world: Arc<World>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// After how many steps it ends.
    life: Option<(u64, End)>,
    ended: Option<End>,
    store: Option<Store>,
    /// Requests that the platform may still get after the process has died.
    in_flight: BTreeMap<u64, Outbound>,
    /// What a planted bug has held back.
    held: Vec<Batch>,
}

impl Process {
    pub(crate) fn new(world: &Arc<World>, life: Option<(u64, End)>) -> Arc<Self> {
        let state = Mutex::new(State { life, ..State::default() });
        Arc::new(Self { world: world.clone(), state, changed: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_opened(&self, store: Store) {
        self.lock().store = Some(store);
    }

    /// How it has ended, if it has.
    pub(crate) fn end(&self) -> Option<End> {
        self.lock().ended
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) -> End {
        loop {
            let changed = self.changed.notified();
            if let Some(end) = self.end() {
                return end;
            }
            changed.await;
        }
    }

    /// A process that was stopped goes on.
    pub(crate) fn goes_on(&self, life: Option<(u64, End)>) {
        let mut state = self.lock();
        (state.ended, state.life) = (None, life);
        self.changed.notify_waiters();
    }

    /// Takes what a process that is gone had sent and nobody has received.
    pub(crate) fn take_in_flight(&self) -> BTreeMap<u64, Outbound> {
        std::mem::take(&mut self.lock().in_flight)
    }

    pub(crate) fn closes(&self) {
        self.lock().store = None;
    }

    pub(crate) fn sends(&self, outbound: &Outbound) -> u64 {
        let mut world = self.world.lock();
        world.requests += 1;
        if world.random.happens(5_000) {
            self.lock().in_flight.insert(world.requests, outbound.clone());
        }
        world.requests
    }

    pub(crate) fn has_sent(&self, request: u64) {
        self.lock().in_flight.remove(&request);
    }

    /// Counts a step.
    fn step(&self, what: &str) {
        let mut state = self.lock();
        if state.ended.is_some() {
            return;
        }
        self.world.lock().may_jump();
        match &mut state.life {
            Some((0, end)) => {
                let end = *end;
                state.ended = Some(end);
                self.world.note(Event::Ended(end, what.to_owned()));
                self.changed.notify_waiters();
            }
            Some((left, _)) => *left -= 1,
            None => {}
        }
    }

    /// Does a step that takes some time, and which the process may not live to see the end of.
    pub(crate) async fn pass(&self, what: &str) {
        self.step(what);
        let pause = self.world.lock().pause();
        if let Some(pause) = pause {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        loop {
            let changed = self.changed.notified();
            match self.end() {
                None => return,
                Some(_) => changed.await,
            }
        }
    }

    /// Reads the first row of a query from the store, at this very moment.
    pub(crate) fn peek<T>(&self, sql: &'static str, arguments: &[Value]) -> Option<T>
    where
        T: for<'r> FromRow<'r, AnyRow> + Send + Unpin,
    {
        let store = self.lock().store.clone()?;
        let world = simulation::world();
        simulation::enter(None);
        let row = simulation::in_place(store.first(sql, arguments));
        simulation::enter(world);
        row.unwrap_or_default()
    }

    async fn mail(&self, message_id: &str, mail: &[u8]) -> Result<(), bool> {
        const ROW: &str = "SELECT e.status, coalesce(e.phase, ''), coalesce((SELECT q.answer FROM questions q \
                           WHERE q.execution_id = e.id AND q.state = 'answered'), '') FROM executions e WHERE e.id = $1";
        self.pass("mail: request").await;
        let outcome = self.world.network("mail");
        match outcome {
            Network::NotDone => return Err(false),
            Network::RequestLost => return Err(true),
            Network::Fine | Network::ReplyLost => {}
        }
        let execution = message_id.trim_start_matches('<').split('@').next().unwrap_or_default().to_owned();
        let (status, phase, answer) =
            self.peek::<(String, String, String)>(ROW, &[execution.as_str().into()]).unwrap_or_default();
        self.world.note(Event::Mailed { execution, status, phase, answer });
        let is_filed = self.world.lock().random.happens(5_000);
        if is_filed {
            let _ = self.world.mailbox.append(adjutant_mail::FolderKind::Sent, mail, true).await;
        }
        self.pass("mail: reply").await;
        if outcome == Network::ReplyLost { Err(true) } else { Ok(()) }
    }
}

fn broken(what: &'static str) -> StoreError {
    StoreError::Database(sqlx::Error::Io(std::io::Error::other(what)))
}

/// What a commit writes, in short.
fn short(batches: &[Batch]) -> String {
    let verb =
        |text: &str| text.split(' ').filter(|word| *word != "INTO").take(2).collect::<Vec<_>>().join(" ");
    batches.iter().flat_map(Batch::texts).map(verb).collect::<Vec<_>>().join(", ")
}

impl simulation::World for Process {
    fn before_read(&self) -> Passing<'_> {
        Box::pin(async move {
            self.pass("read").await;
            match self.world.fails(|rates| rates.read_fails, || "a read failed".to_owned()) {
                true => Err(broken("a read failed")),
                false => Ok(()),
            }
        })
    }

    fn before_commit<'a>(&'a self, batches: &'a [Batch]) -> Passing<'a> {
        Box::pin(async move {
            self.pass(&format!("before {}", short(batches))).await;
            match self
                .world
                .fails(|rates| rates.commit_fails, || format!("not committed: {}", short(batches)))
            {
                true => Err(broken("the commit failed")),
                false => Ok(()),
            }
        })
    }

    fn after_commit<'a>(&'a self, batches: &'a [Batch]) -> Passing<'a> {
        Box::pin(async move {
            self.pass(&format!("after {}", short(batches))).await;
            match self
                .world
                .fails(|rates| rates.commit_reply_lost, || format!("committed: {}", short(batches)))
            {
                true => Err(broken("the reply to a commit was lost")),
                false => Ok(()),
            }
        })
    }

    fn instead_of(&self, batch: Batch) -> Vec<Batch> {
        let bug = self.world.lock().bug;
        match bug {
            Some(bug) => bug.plant(batch, &mut self.lock().held),
            None => vec![batch],
        }
    }

    fn reach(&self, point: &str) {
        self.step(point);
    }

    fn mailed<'a>(&'a self, message_id: &'a str, mail: &'a [u8]) -> Passing<'a, bool> {
        Box::pin(self.mail(message_id, mail))
    }
}
