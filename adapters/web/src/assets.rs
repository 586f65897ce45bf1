//! The stylesheet, the scripts and the icons, compiled in.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

pub(crate) const CSS: &str = include_str!("../assets/page.css");
pub(crate) const JS: &str = concat!(include_str!("../assets/page.js"), include_str!("../assets/composer.js"));
/// What makes the page an app.
pub(crate) const APP: &str = include_str!("../assets/app.js");
pub(crate) const PASSKEYS: &str = include_str!("../assets/passkeys.js");
pub(crate) const WORKER: &str = include_str!("../assets/worker.js");
pub(crate) const MANIFEST: &str = include_str!("../assets/manifest.json");

/// Changes with the files, so that a browser never mixes versions.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    digest.update(CSS);
    digest.update(JS);
    digest.update(APP);
    digest.update(PASSKEYS);
    digest.update(WORKER);
    digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
});
pub(crate) const ICON: &str = include_str!("../assets/icon.svg");
/// The icon while a question waits.
pub(crate) const WAITING: &str = include_str!("../assets/waiting.svg");
/// The icon for phones, by its size.
pub(crate) const ICON_180: &[u8] = include_bytes!("../assets/icon-180.png");
pub(crate) const ICON_192: &[u8] = include_bytes!("../assets/icon-192.png");
pub(crate) const ICON_512: &[u8] = include_bytes!("../assets/icon-512.png");
/// Its shape alone, for the line above a phone's screen.
pub(crate) const BADGE: &[u8] = include_bytes!("../assets/badge-96.png");
