//! The terminal as a chat platform: the smallest adapter, the one to copy. It knows only `adjutant-chat`, and
//! `adjutant-l10n` for its sentences.
//!
//! [`ConsolePort`] is the way out, [`input`] the way in. `chat` in an ordinary terminal, in short:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use adjutant_chat::{ChatPort, Inbound};
//! use adjutant_console::input::{Event, Source};
//! use adjutant_console::render::Theme;
//! use adjutant_console::{ConsolePort, Settings, Style};
//!
//! # async fn intake(_: Inbound, _: Arc<dyn ChatPort>) {}
//! # async fn chat(data_dir: std::path::PathBuf, fresh_id: fn() -> String) -> std::io::Result<()> {
//! let settings = Settings {
//!     channel: "console".to_owned(),
//!     style: Style::Interactive { conversation: "main".to_owned() },
//!     data_dir: data_dir.clone(),
//!     theme: Theme::of_stdout(),
//! };
//! let port = Arc::new(ConsolePort::open(settings, Box::new(adjutant_console::stdout()?))?);
//! let source = Source {
//!     channel: "console".to_owned(),
//!     conversation: "main".to_owned(),
//!     new_id: Arc::new(fresh_id),
//! };
//! // Without a terminal: `input::plain` or `input::json` with `BufReader::new(std::io::stdin())`.
//! let mut events = adjutant_console::input::terminal(port.turns(), &data_dir, source)?;
//! while let Some(event) = events.recv().await {
//!     match event {
//!         Event::Line(inbound) => {
//!             // Journal it; only then say so. The reply comes through `port.deliver`.
//!             intake(inbound.clone(), port.clone()).await;
//!             port.accepted(&inbound).await;
//!         }
//!         Event::Bad { line, message } => drop(port.bad_line(line, &message).await),
//!         Event::Interrupt => { /* cancel the turn; leave at the second one */ }
//!         Event::Eof => break,
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod input;
pub mod json;
mod port;
pub mod render;

mod receipts;
mod tree;
mod turn_taking;
mod writer;

pub use port::{ConsolePort, Settings, Style, stdout};
pub use turn_taking::{TurnTaking, choice_for};
