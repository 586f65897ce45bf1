//! What a call may do without a question, given where its text came from.
//!
//! In a clean turn the policy of `[approval]` decides alone. In a tainted one, where text from outside may have chosen
//! the call or its arguments, an effect goes on without a question only if the person's own words ask for that kind of
//! effect and name each of its targets. The check is made here, outside any model, from words that the journal keeps
//! as the person's.
//!
//! Properties, each with a test:
//!
//! - A word that only outside text holds never binds a target.
//! - A target without a single word of meaning is never bound.
//! - More words of the person never bind less.

mod words;

use std::sync::atomic::{AtomicUsize, Ordering};

pub use words::Words;

/// The most things that a turn deletes without a question.
pub const MOST_DELETIONS: usize = 2;

/// How much a turn has done so far, shared by everything that works in it.
#[derive(Debug, Default)]
pub struct Reached {
    recipients: AtomicUsize,
    deletions: AtomicUsize,
}

impl Reached {
    /// Counts recipients; returns how many there were before.
    pub fn mail(&self, recipients: usize) -> usize {
        self.recipients.fetch_add(recipients, Ordering::Relaxed)
    }

    /// Counts deletions; returns how many there were before.
    pub fn delete(&self, things: usize) -> usize {
        self.deletions.fetch_add(things, Ordering::Relaxed)
    }
}

/// A kind of effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// A mail, an invitation or a post goes out.
    Send,
    /// Something new is kept.
    Create,
    /// Something is changed.
    Change,
    /// Something is deleted or forgotten.
    Delete,
    /// A mail is moved or marked.
    Sort,
    /// An address is visited or looked up, which tells its owner what the address says.
    Fetch,
}

/// What an effect acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A mail address, with the names that the person's own contacts, or the address itself, know it by.
    Recipient {
        /// The address.
        address: String,
        /// The names. The person must have said one of them whole.
        names: Vec<String>,
        /// Whether the person pointed at it: it wrote the one mail that they were shown.
        is_pointed_at: bool,
    },
    /// Something new: the person must have said all of its words.
    New(String),
    /// Something that exists: the person must have said one of its words.
    Known(String),
    /// An address of the web: the person must have said it.
    Url(String),
    /// Something that always needs a question, with the reason.
    Always(&'static str),
}

impl Target {
    /// A mail address that nothing but itself names.
    pub fn address(address: &str) -> Self {
        Self::Recipient { address: address.to_owned(), names: Vec::new(), is_pointed_at: false }
    }

    /// Binds a mail address that the person pointed at.
    pub fn bind(&mut self, pointed_at: &str) {
        if let Self::Recipient { address, is_pointed_at, .. } = self {
            *is_pointed_at |= address.eq_ignore_ascii_case(pointed_at);
        }
    }

    /// Whether this is a mail address that the person neither named nor pointed at.
    fn is_unknown_recipient(&self, words: &Words) -> bool {
        match self {
            Self::Recipient { address, names, is_pointed_at } => {
                !is_pointed_at && !words.say_recipient(address, names)
            }
            _ => false,
        }
    }
}

/// Why a call must be asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// The person asked for nothing of that kind.
    NotAskedFor,
    /// The person named neither the address nor a contact with it.
    UnknownRecipient,
    /// The person didn't name this.
    NotNamed,
    /// More recipients in one turn than this.
    TooManyRecipients(usize),
    /// Too many deletions in one turn.
    TooManyDeletions,
    /// Another reason.
    Because(&'static str),
}

/// Why a call in a tainted turn must be asked about; none if the person's words bind it. `reached` is how many others
/// the turn has mailed or invited before, of `most` that it may without a question.
pub fn doubt(act: Act, targets: &[Target], words: &Words, (reached, most): (usize, usize)) -> Option<Doubt> {
    if !words.ask_for(act) {
        return Some(Doubt::NotAskedFor);
    }
    let recipients = targets.iter().filter(|target| matches!(target, Target::Recipient { .. })).count();
    if recipients > 0 && recipients + reached > most {
        return Some(Doubt::TooManyRecipients(most));
    }
    targets.iter().find_map(|target| match target {
        Target::Recipient { .. } => target.is_unknown_recipient(words).then_some(Doubt::UnknownRecipient),
        Target::New(text) => (!words.say_all_of(text)).then_some(Doubt::NotNamed),
        Target::Known(text) => {
            let is_named = words.name(text) || (act == Act::Sort && words.mean_all());
            (!is_named).then_some(Doubt::NotNamed)
        }
        Target::Url(url) => (!words.say_url(url)).then_some(Doubt::NotNamed),
        Target::Always(why) => Some(Doubt::Because(why)),
    })
}

/// The recipients that the person's words don't name.
pub fn strangers(targets: &[Target], words: &Words) -> Vec<String> {
    let unnamed = |target: &Target| match target {
        Target::Recipient { address, .. } if target.is_unknown_recipient(words) => Some(address.clone()),
        _ => None,
    };
    targets.iter().filter_map(unnamed).collect()
}

#[cfg(test)]
mod tests;
