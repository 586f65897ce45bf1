//! What people read when the server of a call wants to know more.

use adjutant_chat::fenced;
use adjutant_l10n::asked as words;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By a yes or a no.
    Confirm,
    Choose,
    Write {
        /// Whether several of a list may be named.
        several: bool,
        optional: bool,
        suggested: Option<String>,
    },
    /// By opening this address, on this host.
    Open {
        address: String,
        host: String,
    },
}

/// A server's question, with its words in a block that no link or markup can leave. `call` is what the call does.
pub fn question(server: &str, call: &str, quoted: &str, how: &How, mismatch: Option<&str>) -> String {
    let lead = mismatch.map_or_else(|| words::asks(call, server), |why| words::asks_again(code(why), server));
    let how = match how {
        How::Confirm => words::confirm(),
        How::Choose => words::choose(),
        How::Write { several, optional, suggested } => in_words(*several, *optional, suggested.as_deref()),
        How::Open { address, host } => words::open_page(code(host), address),
    };
    format!("{lead}\n\n{}\n\n{} {how}", fenced(quoted), words::not_from_me())
}

fn in_words(several: bool, optional: bool, suggested: Option<&str>) -> String {
    let mut text = if several { words::write_several() } else { words::write() };
    if let Some(suggested) = suggested {
        text = format!("{text} {}", words::default(code(suggested)));
    }
    format!("{text} {}", if optional { words::skip_or_decline() } else { words::decline() })
}

/// A question in a few words, for a list.
pub fn subject(server: &str, quoted: &str) -> String {
    words::subject(server, code(quoted))
}

/// A line of somebody else's text that no markup can leave.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '\n', '\r'], "'"))
}
