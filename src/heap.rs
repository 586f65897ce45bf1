//! Keeps the C library from holding on to freed memory. (`docs/figures.md`)

#[cfg(target_env = "gnu")]
use std::time::Duration;

/// How often freed memory is returned to the system.
#[cfg(target_env = "gnu")]
const INTERVAL: Duration = Duration::from_secs(2);

/// Limits the allocator to one arena. With one per thread, those of the database's threads would stay half empty after a
/// burst. Call it before there is a second thread.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "otherwise only an environment variable can set this")]
pub fn use_one_arena() {
    // SAFETY: a call without pointers; its result only says whether the option is known.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Returns freed memory to the system from time to time, until the future is dropped.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the library returns memory in the middle of the heap only on request")]
pub async fn trim_regularly() {
    loop {
        tokio::time::sleep(INTERVAL).await;
        // SAFETY: a call without pointers that does its own locking; its result only says whether memory was returned.
        unsafe { libc::malloc_trim(0) };
    }
}

/// Other C libraries do this themselves.
#[cfg(not(target_env = "gnu"))]
pub fn use_one_arena() {}

/// Other C libraries do this themselves.
#[cfg(not(target_env = "gnu"))]
pub async fn trim_regularly() {
    std::future::pending().await
}
