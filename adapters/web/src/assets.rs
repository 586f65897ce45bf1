//! The stylesheet and the script, compiled in.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

pub(crate) const CSS: &str = include_str!("../assets/page.css");
pub(crate) const JS: &str = include_str!("../assets/page.js");

/// Changes with the files, so that a browser never mixes versions.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    digest.update(CSS);
    digest.update(JS);
    digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
});
pub(crate) const ICON: &str = include_str!("../assets/icon.svg");
/// The icon while a question waits.
pub(crate) const WAITING: &str = include_str!("../assets/waiting.svg");
