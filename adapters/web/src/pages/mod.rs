//! The pages as HTML. Every text from elsewhere goes through [`plain`](crate::markdown::plain) or
//! [`markdown`](crate::markdown::markdown).

mod accounts;
mod connect;
mod layout;
mod login;
mod notify;
mod now;
mod people;
mod plans;
mod search;
mod settings;
mod tables;
mod talk;
mod trace;
mod tree;
mod usage;
mod workflows;

pub(crate) use accounts::accounts;
pub(crate) use connect::{connect, connect_ended, onward};
pub(crate) use layout::{Frame, MAX_FILES, message};
pub(crate) use login::{another, bounce, login};
pub(crate) use notify::offline;
pub(crate) use now::now;
pub(crate) use people::{people, sessions};
pub(crate) use plans::plans;
pub(crate) use search::{MAX_QUERY, note, search};
pub(crate) use settings::{settings, settings_change};
pub(crate) use tables::{log, tables};
#[cfg(test)]
pub(crate) use talk::message_part;
pub(crate) use talk::{MAX_LENGTH, draft, talk, turn};
pub(crate) use trace::trace;
pub(crate) use tree::{details, details_page};
pub(crate) use usage::{csv, usage};
pub(crate) use workflows::{started, workflow, workflows};
