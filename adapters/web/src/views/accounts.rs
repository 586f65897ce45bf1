//! A person's accounts at providers.

use super::Moment;

/// An account that the viewer can use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountLine {
    pub key: String,
    pub label: String,
    pub address: String,
    /// The provider, and what its login allows.
    pub about: String,
    pub needs_login: bool,
    /// The provider's page about app passwords, if one logs in with such.
    pub help: Option<&'static str>,
    /// Whether it is the viewer's alone, so that they may change it.
    pub is_own: bool,
    /// Whether emails go out from here; none: it has no mail.
    pub is_mail_default: Option<bool>,
    /// Whether new events go here; none: it has no calendar.
    pub is_events_default: Option<bool>,
    /// The calendars that count as busy, as they are typed.
    pub busy: String,
    /// When it was last used, and by which turn of the viewer.
    pub used: Option<(Moment, Option<String>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountChange {
    Rename(String),
    MailDefault,
    EventsDefault,
    /// Only these calendars count as busy; none: all.
    Busy(Vec<String>),
}
