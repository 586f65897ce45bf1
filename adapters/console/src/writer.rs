//! The one thread that writes to stdout. A reader of a pipe may be slow: then this thread waits, and not
//! one that runs the engine.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use adjutant_chat::{Delivery, Outbound};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::receipts::Receipts;
use crate::tree::Tree;
use crate::turn_taking::TurnTaking;

/// Lines that nobody waits for are dropped while this many are unwritten.
const MAX_WAITING: usize = 256;

struct Job {
    text: String,
    /// The message that the text is, if it is one.
    outbound: Option<Outbound>,
    done: oneshot::Sender<Delivery>,
}

/// The way to the thread.
pub(crate) struct Writer {
    jobs: Sender<Job>,
    waiting: Arc<AtomicUsize>,
}

pub(crate) struct Parts {
    pub(crate) out: Box<dyn Write + Send>,
    pub(crate) receipts: Arc<Receipts>,
    pub(crate) tree: Arc<Mutex<Tree>>,
    pub(crate) turns: Arc<TurnTaking>,
}

impl Writer {
    pub(crate) fn start(parts: Parts) -> io::Result<Self> {
        let (jobs, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        std::thread::Builder::new()
            .name("console-out".to_owned())
            .spawn(move || run(parts, &receiver, &left))?;
        Ok(Self { jobs, waiting })
    }

    /// Writes a text and, if it is a message, notes its receipt; waits until that is done.
    pub(crate) async fn write(&self, text: String, outbound: Option<Outbound>) -> Delivery {
        let done = self.queue(text, outbound);
        done.await.unwrap_or_else(|_| Delivery::Gone("the console has stopped writing".to_owned()))
    }

    /// Writes a text some time soon. False if it never will, because too much is waiting.
    pub(crate) fn write_soon(&self, text: String) -> bool {
        let has_room = self.waiting.load(Ordering::Relaxed) < MAX_WAITING;
        if has_room {
            drop(self.queue(text, None));
        }
        has_room
    }

    fn queue(&self, text: String, outbound: Option<Outbound>) -> oneshot::Receiver<Delivery> {
        let (done, receiver) = oneshot::channel();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Without the thread the job is dropped, and with it `done`: the receiver then tells.
        let _ = self.jobs.send(Job { text, outbound, done });
        receiver
    }
}

fn run(mut parts: Parts, jobs: &Receiver<Job>, waiting: &AtomicUsize) {
    let mut out = Out { out: std::mem::replace(&mut parts.out, Box::new(io::sink())), torn: false };
    while let Ok(job) = jobs.recv() {
        let delivery = parts.show(&mut out, &job);
        waiting.fetch_sub(1, Ordering::Relaxed);
        // The caller may be gone.
        let _ = job.done.send(delivery);
    }
}

impl Parts {
    fn show(&self, out: &mut Out, job: &Job) -> Delivery {
        // Held while writing and until the floor is free, or the tree would be drawn into the text or
        // across the next prompt.
        let mut tree = self.tree.lock();
        tree.clear();
        if let Err(error) = self.turns.print(&job.text, || out.write(&job.text)) {
            return match error.kind() {
                ErrorKind::BrokenPipe => Delivery::Gone("stdout is closed".to_owned()),
                _ if out.torn => Delivery::Unknown,
                _ => Delivery::Retry(None),
            };
        }
        let Some(outbound) = &job.outbound else { return Delivery::Sent(String::new()) };
        // The text is on the screen, whether or not a full disk lets us note that.
        let _ = self.receipts.add(&outbound.id);
        self.turns.shown(outbound);
        Delivery::Sent(outbound.id.clone())
    }
}

struct Out {
    out: Box<dyn Write + Send>,
    /// Whether the last text was cut off in the middle.
    torn: bool,
}

impl Out {
    /// One write and one flush. A text that follows a torn one begins a new line.
    fn write(&mut self, text: &str) -> io::Result<()> {
        let text = if self.torn { format!("\n{text}") } else { text.to_owned() };
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match self.out.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = &rest[written..];
                    self.torn = !rest.is_empty();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.flush()
    }
}
