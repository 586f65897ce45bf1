//! Ports for servers that can't be given a listening socket, or that must find theirs again.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// So many ports a process has to itself, as long as process numbers are near to one another.
const OF_A_PROCESS: u32 = 64;

/// The longest that a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many free ports. They lie below those that are given to whoever asks for any, or somebody could get one before
/// the server takes it; each process begins to look elsewhere, and each of its servers behind the last.
///
/// # Errors
/// When so many can't be found.
pub fn free(count: u32) -> io::Result<Vec<u16>> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let taken = TAKEN.fetch_add(count, Ordering::Relaxed);
    let begin = std::process::id().wrapping_mul(OF_A_PROCESS).wrapping_add(taken) % 10_000;
    let candidates = (0..10_000).filter_map(|step| u16::try_from(20_000 + (begin + step) % 10_000).ok());
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let ports: Vec<u16> = candidates.filter(is_free).take(count as usize).collect();
    if ports.len() == count as usize { Ok(ports) } else { Err(io::Error::other("too few ports are free")) }
}

/// Waits until somebody listens at a port; false when nobody does for long.
pub(crate) fn is_listened_at(port: u16) -> bool {
    let started = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if started.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
