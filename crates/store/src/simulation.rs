//! Where a simulation takes hold of this thread's stores: see `tests/simulate`. Only debug builds can have a world.
//!
//! With one, each operation of the database is done in place: the thread waits for it, so nothing else runs meanwhile and
//! simulated time stands still. Before and after it, the world lets time pass, makes it fail, or never goes on, as if the
//! process had died.

use std::cell::RefCell;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::database::batch::Statement;
use crate::{Batch, Result, StoreError};

/// How long a step takes, and whether it fails.
pub type Passing<'a, E = StoreError> = Pin<Box<dyn Future<Output = Result<(), E>> + Send + 'a>>;

/// What decides how long steps take, which of them fail, and when the process dies.
pub trait World: Send + Sync {
    fn before_read(&self) -> Passing<'_>;
    /// Before these batches are committed together; an error stands for a commit that failed.
    fn before_commit<'a>(&'a self, batches: &'a [Batch]) -> Passing<'a>;
    /// After that; an error stands for a reply that was lost.
    fn after_commit<'a>(&'a self, batches: &'a [Batch]) -> Passing<'a>;
    /// What is written for a batch, in this order: a test plants bugs here.
    fn instead_of(&self, batch: Batch) -> Vec<Batch> {
        vec![batch]
    }
    fn reach(&self, point: &str);
    /// A server takes an email; an error says whether it may have been sent nevertheless.
    fn mailed<'a>(&'a self, message_id: &'a str, mail: &'a [u8]) -> Passing<'a, bool>;
}

thread_local! {
    static WORLD: RefCell<Option<Arc<dyn World>>> = const { RefCell::new(None) };
}

/// From now on, this thread is in this world.
pub fn enter(world: Option<Arc<dyn World>>) {
    WORLD.set(world);
}

pub fn world() -> Option<Arc<dyn World>> {
    WORLD.with_borrow(Clone::clone)
}

pub(crate) async fn before_read() -> Result<()> {
    match world() {
        Some(world) => world.before_read().await,
        None => Ok(()),
    }
}

pub(crate) async fn commit<T>(batches: &[Batch], work: impl Future<Output = Result<T>>) -> Result<T> {
    let Some(world) = world() else { return work.await };
    world.before_commit(batches).await?;
    let done = work.await?;
    world.after_commit(batches).await?;
    Ok(done)
}

/// Runs a future to its end while this thread does nothing else.
pub fn in_place<F: Future>(work: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    // Else the runtime would want us to yield to other tasks.
    let mut work = pin!(tokio::task::unconstrained(work));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park();
    }
}

impl Batch {
    pub fn texts(&self) -> impl Iterator<Item = &'static str> {
        self.statements.iter().map(|statement| statement.sql)
    }

    /// Takes the statements out whose texts have this in them.
    #[must_use]
    pub fn take_out(&mut self, text: &str) -> Self {
        let is_meant = |statement: &mut Statement| statement.sql.contains(text);
        Self { statements: self.statements.extract_if(.., is_meant).collect() }
    }

    /// Replaces this part of the statements' texts.
    pub fn replace(&mut self, part: &str, by: &str) {
        for statement in self.statements.iter_mut().filter(|statement| statement.sql.contains(part)) {
            statement.sql = statement.sql.replace(part, by).leak();
        }
    }

    /// Lets the statements find no row whose texts have this in them.
    pub fn uncheck(&mut self, text: &str) {
        let meant = self.statements.iter_mut().filter(|statement| statement.sql.contains(text));
        meant.for_each(|statement| statement.must = None);
    }
}
