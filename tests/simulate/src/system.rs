//! The system's time and randomness as a seed sees them, and a process for each seed.
//!
//! The library of C gives both to everything in this process: the standard library's `Instant` and hash maps, the runtime's
//! timers and its choice among branches that are ready. Here they are ours, in the thread of the simulation alone. When its
//! runtime has nothing to do until a time, that time has come.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};

use libc::{
    CLOCK_MONOTONIC, SYS_clock_gettime, SYS_epoll_wait, SYS_getrandom, c_long, epoll_event, timespec,
};

use crate::random::Random;

thread_local! {
    /// The time since the beginning, in nanoseconds; none in the other threads.
    static NOW: Cell<Option<u64>> = const { Cell::new(None) };
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// The time of the beginning, so that earlier times exist.
const BEGIN_SECONDS: i64 = 1_000_000;

/// From now on, this thread has only the time and randomness of a seed.
pub(crate) fn enter(seed: u64) {
    STATE.set(Random::of(seed, "system").next());
    NOW.set(Some(0));
}

/// The time since the beginning, in milliseconds.
pub(crate) fn now() -> u64 {
    NOW.get().unwrap_or_default() / 1_000_000
}

/// Lets time pass, in milliseconds.
pub(crate) fn advance(ms: u64) {
    NOW.set(NOW.get().map(|now| now + ms * 1_000_000));
}

/// # Safety
/// As of `clock_gettime`.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut timespec) -> c_int {
    match NOW.get() {
        Some(now) if clock == CLOCK_MONOTONIC => {
            let seconds = BEGIN_SECONDS + i64::try_from(now / 1_000_000_000).unwrap_or_default();
            let rest = c_long::try_from(now % 1_000_000_000).unwrap_or_default();
            // SAFETY: the caller has room for the time.
            unsafe { time.write(timespec { tv_sec: seconds, tv_nsec: rest }) };
            0
        }
        // SAFETY: the arguments are the caller's.
        _ => unsafe { libc::syscall(SYS_clock_gettime, clock, time) as c_int },
    }
}

/// # Safety
/// As of `epoll_wait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let is_ours = NOW.get().is_some() && timeout > 0;
    let real = if is_ours { 0 } else { timeout };
    // SAFETY: the arguments are the caller's.
    let ready = unsafe { libc::syscall(SYS_epoll_wait, epoll, events, most, real) as c_int };
    if is_ours && ready == 0 {
        advance(u64::try_from(timeout).unwrap_or_default());
    }
    ready
}

/// # Safety
/// As of `getrandom`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    if NOW.get().is_none() {
        // SAFETY: the arguments are the caller's.
        return unsafe { libc::syscall(SYS_getrandom, buffer, length, flags) as isize };
    }
    // SAFETY: the caller has room for so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
    for chunk in bytes.chunks_mut(8) {
        STATE.set(STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let number = Random::of(STATE.get(), "").next().to_le_bytes();
        chunk.copy_from_slice(&number[..chunk.len()]);
    }
    isize::try_from(length).unwrap_or(isize::MAX)
}

/// A process like this one that does something and ends.
pub(crate) struct Child(c_int);

impl Child {
    /// This process must have one thread only.
    pub(crate) fn start(limit_seconds: u32, work: impl FnOnce() -> c_int) -> Self {
        // SAFETY: there is one thread, so no lock is held by another one.
        let id = unsafe { libc::fork() };
        if id == 0 {
            // SAFETY: these take plain numbers.
            unsafe {
                libc::alarm(limit_seconds);
                libc::_exit(work());
            }
        }
        assert!(id > 0, "no process can be started");
        Self(id)
    }

    /// Waits for the first of these to end. Returns its place and its exit status; none if it was killed.
    pub(crate) fn first(children: &[Option<Self>]) -> (usize, Option<c_int>) {
        loop {
            let mut status = 0;
            // SAFETY: `status` is a valid place.
            let id = unsafe { libc::wait(&raw mut status) };
            let is_it = |child: &Option<Self>| child.as_ref().is_some_and(|child| child.0 == id);
            if let Some(place) = children.iter().position(is_it) {
                return (place, libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)));
            }
            assert!(id > 0, "no process is left");
        }
    }
}

/// Waits until only this many threads of this process are left.
pub(crate) fn wait_for_threads(most: usize) -> bool {
    let count = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    for _ in 0..20_000 {
        if count() <= most {
            return true;
        }
        // SAFETY: it takes a plain number.
        unsafe { libc::usleep(50) };
    }
    false
}
