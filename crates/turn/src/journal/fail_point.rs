//! Points where a test kills the process, to prove that it recovers.

/// Ends the process like `kill -9` if `ADJUTANT_FAIL_POINT` names this point (`NAME`, or `NAME:3` for the third time).
/// Compiled into debug builds only.
pub fn fail_point(name: &str) {
    #[cfg(debug_assertions)]
    {
        armed::reach(name);
        if let Some(world) = adjutant_store::simulation::world() {
            world.reach(name);
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    static ARMED: OnceLock<Option<(String, AtomicU32)>> = OnceLock::new();

    pub(super) fn reach(name: &str) {
        let armed = ARMED.get_or_init(|| {
            let value = std::env::var("ADJUTANT_FAIL_POINT").ok()?;
            let (name, times) = value.split_once(':').unwrap_or((&value, "1"));
            Some((name.to_owned(), AtomicU32::new(times.parse().unwrap_or(1))))
        });
        let Some((wanted, left)) = armed else { return };
        if wanted == name && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::process::abort();
        }
    }
}
