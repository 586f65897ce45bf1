//! What the C library keeps of the memory that was used: as little as can be. (`docs/figures.md`)

#[cfg(target_env = "gnu")]
use std::time::Duration;

/// How often memory is given back.
#[cfg(target_env = "gnu")]
const PAUSE: Duration = Duration::from_secs(2);

/// One memory to allocate from. The library gives each thread one of its own, and the database's threads would leave
/// theirs half empty after a rush, for good. To be called before there is a second thread.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the library can be told in no other way but its environment")]
pub fn keep_together() {
    // SAFETY: a call without pointers. Its answer says only whether it was understood.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Gives back what is free, now and again, until the future is dropped.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the library gives back what is free in the middle only when it is asked to")]
pub async fn give_back() {
    loop {
        tokio::time::sleep(PAUSE).await;
        // SAFETY: a call without pointers, which locks for itself. Its answer says whether anything was given back.
        unsafe { libc::malloc_trim(0) };
    }
}

/// Other libraries look after that themselves.
#[cfg(not(target_env = "gnu"))]
pub fn keep_together() {}

/// Other libraries look after that themselves.
#[cfg(not(target_env = "gnu"))]
pub async fn give_back() {
    std::future::pending().await
}
