//! The web page: a channel to talk on, and a view of what the assistant said, does and waits for.
//!
//! Properties:
//!
//! - It knows nothing of the engine: [`Backend`] reads the journal and takes what people do; [`views`] is what is shown.
//! - Nobody sees anything without a session, which a one-time link or a passkey begins. Another site can neither read a
//!   page nor post to it, and nothing on a page runs but our own script.
//! - Pages are made on the server and can be read without any script. The script only fetches what changed.
//! - One task looks for changes, however many pages are open; a reader that can't keep up is cut off and comes back to
//!   where it was.
//! - What a push service is handed can only be read by the browser that it is for.
//! - What is being written is never stored. The script shows it where the answer will stand, and drops it once it is there.

mod assets;
mod backend;
mod drafts;
mod events;
mod guard;
mod markdown;
mod pages;
mod passkeys;
mod port;
mod push;
mod routes;
mod session;
mod settings;
pub mod views;

pub use backend::{Backend, Change, Cursor, Given, Kept, LoginLinks, Result, Unavailable, Upload};
pub use markdown::without_code;
pub use passkeys::{Passkey, PasskeyLine, Passkeys};
pub use port::{Settings, Web};
pub use push::{SigningKey, sealed_for};
pub use routes::router;
pub use settings::SettingsEditor;

#[cfg(test)]
mod tests;
