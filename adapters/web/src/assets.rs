//! The stylesheet, the scripts and the icons, compiled in.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

const PAGE: &str = concat!(include_str!("../assets/page.js"), include_str!("../assets/composer.js"));
const JS: &str = "text/javascript; charset=utf-8";

/// A file's path, its type, and its content.
pub(crate) type Asset = (&'static str, &'static str, &'static [u8]);

pub(crate) const ASSETS: [Asset; 12] = [
    ("/assets/page.css", "text/css; charset=utf-8", include_bytes!("../assets/page.css")),
    ("/assets/page.js", JS, PAGE.as_bytes()),
    // What makes the page an app.
    ("/assets/app.js", JS, include_bytes!("../assets/app.js")),
    ("/assets/passkeys.js", JS, include_bytes!("../assets/passkeys.js")),
    ("/worker.js", JS, include_bytes!("../assets/worker.js")),
    ("/manifest.webmanifest", "application/manifest+json", include_bytes!("../assets/manifest.json")),
    ("/assets/icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
    // The icon while a question waits, and for phones, by its size.
    ("/assets/waiting.svg", "image/svg+xml", include_bytes!("../assets/waiting.svg")),
    ("/assets/icon-180.png", "image/png", include_bytes!("../assets/icon-180.png")),
    ("/assets/icon-192.png", "image/png", include_bytes!("../assets/icon-192.png")),
    ("/assets/icon-512.png", "image/png", include_bytes!("../assets/icon-512.png")),
    // Its shape alone, for the line above a phone's screen.
    ("/assets/badge-96.png", "image/png", include_bytes!("../assets/badge-96.png")),
];

/// Changes with the files, so that a browser never mixes versions.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    ASSETS.iter().for_each(|(_, _, content)| digest.update(content));
    digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
});
