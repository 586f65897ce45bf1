//! Ports for servers that can't be given a listening socket.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// So many ports a process has to itself, as long as process numbers are near to one another.
const OF_A_PROCESS: u32 = 8;

/// So many free ports. They lie below those that are given to whoever asks for any, or somebody could get one before
/// the server takes it; each process begins to look elsewhere.
pub(crate) fn free(count: usize) -> io::Result<Vec<u16>> {
    let begin = std::process::id().wrapping_mul(OF_A_PROCESS) % 10_000;
    let candidates = (0..10_000).filter_map(|step| u16::try_from(20_000 + (begin + step) % 10_000).ok());
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let ports: Vec<u16> = candidates.filter(is_free).take(count).collect();
    if ports.len() == count { Ok(ports) } else { Err(io::Error::other("too few ports are free")) }
}
