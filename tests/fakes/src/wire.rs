//! A way to a PostgreSQL that can be cut, or hang, while its clients use it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a way that hangs is looked at.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// How a server ends its reply: it is ready for the next request, and in no transaction.
const READY: &[u8] = b"Z\0\0\0\x05I";

/// A way to a server.
#[derive(Debug, Clone)]
pub struct Wire {
    url: String,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Where the server listens.
    socket: Mutex<PathBuf>,
    is_cut: AtomicBool,
    hangs: AtomicBool,
    /// How long what a client sends takes, in microseconds.
    delay: AtomicU64,
    /// See [`Wire::lose_reply_to`].
    losing: Mutex<Option<&'static str>>,
    open: Mutex<Vec<(TcpStream, UnixStream)>>,
}

impl Wire {
    /// A way to the database at this URL of a throw-away server.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn to(url: &str) -> io::Result<Self> {
        let server = url.split('?').next().unwrap_or_default();
        let database = server.rsplit('/').next().unwrap_or_default();
        let state = Arc::new(State { socket: Mutex::new(socket(url)), ..State::default() });
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("postgres://postgres@{}/{database}", listener.local_addr()?);
        let accepting = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A client sees a connection that can't be made as a closed one.
                let _ = connect(client, &accepting);
            }
        });
        Ok(Self { url, state })
    }

    /// The URL of the database by this way.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Breaks all connections, and lets none be made. Both ends see it.
    pub fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        self.state.break_all();
    }

    /// Leads to the database at this URL from now on. Connections to the other one break.
    pub fn lead_to(&self, url: &str) {
        *lock(&self.state.socket) = socket(url);
        self.state.break_all();
    }

    /// Lets nothing through any more, while neither end sees why.
    pub fn hang(&self) {
        self.state.hangs.store(true, Ordering::SeqCst);
    }

    /// Lets the next request that contains these words be carried out, and breaks its connection instead of its reply.
    pub fn lose_reply_to(&self, words: &'static str) {
        *lock(&self.state.losing) = Some(words);
    }

    /// Makes each round trip longer by this, as a network does.
    pub fn slow_down(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        self.state.delay.store(delay, Ordering::SeqCst);
    }

    /// Ends [`Self::cut`] and [`Self::hang`].
    pub fn mend(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
        self.state.hangs.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn break_all(&self) {
        for (client, server) in lock(&self.open).drain(..) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        }
    }
}

/// The socket of the throw-away server that a URL names.
fn socket(url: &str) -> PathBuf {
    let folder = url.split_once("?host=").map_or("", |(_, folder)| folder);
    Path::new(folder).join(".s.PGSQL.5432")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connect(client: TcpStream, state: &Arc<State>) -> io::Result<()> {
    if state.is_cut.load(Ordering::SeqCst) {
        return client.shutdown(Shutdown::Both);
    }
    client.set_nodelay(true)?;
    let server = UnixStream::connect(&*lock(&state.socket))?;
    lock(&state.open).push((client.try_clone()?, server.try_clone()?));
    let (reading, writing) = (client.try_clone()?, server.try_clone()?);
    let (there, back) = (state.clone(), state.clone());
    let losing = Arc::new(AtomicBool::new(false));
    let loses = losing.clone();
    std::thread::spawn(move || {
        copy(reading, DelayedWriter { to: &writing, state: &there, loses: &loses }, &there);
        let _ = writing.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        copy(server, ReplyWriter { to: &client, loses: &losing }, &back);
        let _ = client.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// What a client sends arrives later.
struct DelayedWriter<'a> {
    to: &'a UnixStream,
    state: &'a State,
    loses: &'a AtomicBool,
}

impl Write for DelayedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_micros(self.state.delay.load(Ordering::SeqCst)));
        let has = |words: &mut &str| bytes.windows(words.len()).any(|part| part == words.as_bytes());
        if lock(&self.state.losing).take_if(has).is_some() {
            self.loses.store(true, Ordering::SeqCst);
        }
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// What the server replies, unless it is lost: then an error once the server is ready, so that everything is done.
struct ReplyWriter<'a> {
    to: &'a TcpStream,
    loses: &'a AtomicBool,
}

impl Write for ReplyWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.loses.load(Ordering::SeqCst) {
            true if bytes.ends_with(READY) => Err(io::ErrorKind::ConnectionReset.into()),
            true => Ok(bytes.len()),
            false => self.to.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Copies until one end is closed.
fn copy(mut from: impl Read, mut to: impl Write, state: &State) {
    let mut bytes = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        while state.hangs.load(Ordering::SeqCst) {
            std::thread::sleep(CHECK_INTERVAL);
        }
        if to.write_all(&bytes[..length]).is_err() {
            return;
        }
    }
}
