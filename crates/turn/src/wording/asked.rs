//! What people read when the server of a call wants to know more.

use adjutant_chat::fenced;

/// How a question is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By a yes or a no.
    Confirm,
    /// By one of the buttons.
    Choose,
    /// In words.
    Write {
        /// Whether several of a list may be named.
        several: bool,
        /// Whether it may be left out.
        optional: bool,
        /// What the server suggests.
        suggested: Option<String>,
    },
    /// By opening this address, on this host.
    Open { address: String, host: String },
}

/// A server's question, with its words in a block that no link or markup can leave. `call` is what the call does.
pub fn question(server: &str, call: &str, quoted: &str, how: &How, misfit: Option<&str>) -> String {
    let lead = match misfit {
        Some(why) => format!("That doesn't work: {}. {server} still wants to know:", code(why)),
        None => format!("Before it goes on with “{call}”, the MCP server {server} asks:"),
    };
    let how = match how {
        How::Confirm => "Press a button, or reply with “yes” or “no”.".to_owned(),
        How::Choose => "Press a button, or reply in your own words.".to_owned(),
        How::Write { several, optional, suggested } => in_words(*several, *optional, suggested.as_deref()),
        How::Open { address, host } => format!(
            "It wants you to open this page of {}:\n\n<{address}>\n\nI don't open it. Press Done when you're finished there, \
             or Decline.",
            code(host)
        ),
    };
    format!("{lead}\n\n{}\n\nThese are its words, not mine. {how}", fenced(quoted))
}

fn in_words(several: bool, optional: bool, suggested: Option<&str>) -> String {
    let mut text = match several {
        true => "Reply with one or more of these, separated by commas".to_owned(),
        false => "Reply with your answer, which goes to the server as you write it".to_owned(),
    };
    if let Some(suggested) = suggested {
        text.push_str(&format!("; `default` stands for {}", code(suggested)));
    }
    text.push_str(if optional {
        ". `skip` leaves it out, and `decline` gives no answer."
    } else {
        ", or send `decline`."
    });
    text
}

/// A question in a few words, for a list.
pub fn subject(server: &str, quoted: &str) -> String {
    format!("{server} asks: {}", code(quoted))
}

/// A line of somebody else's text that no markup can leave.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '\n', '\r'], "'"))
}
