//! The pages as HTML. Every text from elsewhere goes through [`plain`](crate::markdown::plain) or
//! [`markdown`](crate::markdown::markdown).

mod accounts;
mod connect;
mod layout;
mod login;
mod now;
mod people;
mod plans;
mod tables;
mod talk;
mod tree;
mod usage;
mod waterfall;
mod workflows;

pub(crate) use accounts::accounts;
pub(crate) use connect::{connect, connect_ended, onward};
pub(crate) use layout::{Frame, message};
pub(crate) use login::{bounce, login};
pub(crate) use now::now;
pub(crate) use people::{people, sessions};
pub(crate) use plans::plans;
pub(crate) use tables::{log, tables};
#[cfg(test)]
pub(crate) use talk::message_part;
pub(crate) use talk::{draft, talk, turn, turn_page};
pub(crate) use tree::{details, details_page};
pub(crate) use usage::{csv, usage};
pub(crate) use waterfall::waterfall;
pub(crate) use workflows::{started, workflow, workflows};
