//! Mail, calendar and contacts: what the skills do with an account on a server, or with what the store keeps. And
//! the places of the chat platforms.
//!
//! Properties:
//!
//! - What a call does to the store is one commit with the end of its row; what it does on a server is safe to be
//!   done again, because its UID is made from the execution, or has phases (see `sending`).
//! - An account on a server is the owners'. Nobody else reads their mail, whoever else may speak.
//! - How risky a call is, and what exactly it would do, is worked out from its arguments and from what they name,
//!   before anybody is asked; what was approved is compared with what would be done.

mod bounces;
mod calendar;
mod changing;
mod contacts;
mod event;
mod invitations;
mod mail;
mod rooms;
mod sending;
mod shelf;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::ExecutionId;
use adjutant_chat::{Finding, Rooms};
use serde_json::Value;

pub use shelf::Calendars;

use super::{ErrorKind, Output, Risk, SkillError};
use crate::journal::Scope;
use crate::store::{Batch, StoreError};

/// The handlers of this room, as `handler = { builtin = "..." }` names them.
pub const HANDLERS: [&str; 26] = [
    "calendar.check_availability",
    "calendar.create_event",
    "calendar.delete_event",
    "calendar.list_events",
    "calendar.search",
    "calendar.update_event",
    "chat.post",
    "chat.read_channel",
    "chat.read_thread",
    "chat.search",
    "chat.summarise",
    "chat.user_info",
    "contacts.create",
    "contacts.get",
    "contacts.organizations",
    "contacts.search",
    "contacts.update",
    "contacts.validate_email",
    "email.draft",
    "email.mark",
    "email.move",
    "email.read",
    "email.reply",
    "email.search",
    "email.send",
    "email.status",
];

/// The accounts, and what else these skills stand on.
pub struct Office {
    /// The mail account; without it mails are left as files.
    pub mail: Option<mail::Mailbox>,
    /// The calendar on a server; without it the store keeps one for each person.
    pub calendar: Option<Calendars>,
    /// The contacts on a server; without it the store keeps them for each person.
    pub contacts: Option<contacts::Books>,
    /// The channels whose places can be read.
    pub rooms: BTreeMap<String, Arc<dyn Rooms>>,
    /// Who is asked whether a domain takes mail; without one nobody is.
    pub resolver: Option<SocketAddr>,
    /// Where mails are left that can't be sent.
    pub outgoing: PathBuf,
}

pub use contacts::Books;
pub use mail::Mailbox;

/// One call.
pub struct Work<'a> {
    /// The turn.
    pub scope: &'a Scope,
    /// The call's execution.
    pub id: &'a ExecutionId,
    /// Whether it was, or may have been, at work before.
    pub again: bool,
    /// The arguments, valid for the skill's schema.
    pub arguments: &'a Value,
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// How risky that is, beside the skill's own risk.
    pub risk: Risk,
    /// All of it, for a person to approve; none when the arguments say it all.
    pub preview: Option<String>,
}

impl Look {
    /// Nothing beyond the skill's own risk, and nothing to be said.
    pub const HARMLESS: Self = Self { risk: Risk::Low, preview: None };
}

/// Why a call ended early: its own failure, or the store's.
#[derive(Debug)]
pub(super) enum Trouble {
    Skill(SkillError),
    Store(StoreError),
}

impl From<SkillError> for Trouble {
    fn from(error: SkillError) -> Self {
        Self::Skill(error)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<adjutant_mail::Fault> for SkillError {
    fn from(fault: adjutant_mail::Fault) -> Self {
        use adjutant_mail::Kind;
        let kind = match fault.kind {
            Kind::Auth => ErrorKind::Auth,
            Kind::Params => ErrorKind::Params,
            Kind::Network => ErrorKind::Network,
            Kind::RateLimit => ErrorKind::RateLimit,
            Kind::Permission => ErrorKind::Permission,
            Kind::NotFound => ErrorKind::NotFound,
            Kind::Timeout => ErrorKind::Timeout,
            Kind::Tool => ErrorKind::Tool,
        };
        let message = match kind {
            ErrorKind::Auth => {
                format!("the mail server refuses the login ([mail] user and password): {fault}")
            }
            _ => fault.words,
        };
        Self { unknown: fault.may_have_happened, ..Self::new(kind, message) }
    }
}

impl From<adjutant_dav::Fault> for SkillError {
    fn from(fault: adjutant_dav::Fault) -> Self {
        use adjutant_dav::Kind;
        let kind = match fault.kind {
            Kind::Auth => ErrorKind::Auth,
            Kind::Params => ErrorKind::Params,
            Kind::Network => ErrorKind::Network,
            Kind::RateLimit => ErrorKind::RateLimit,
            Kind::Permission => ErrorKind::Permission,
            Kind::NotFound => ErrorKind::NotFound,
            Kind::Timeout => ErrorKind::Timeout,
            Kind::Tool => ErrorKind::Tool,
        };
        let message = match kind {
            ErrorKind::Auth => {
                format!("the server refuses the login ([calendar] or [contacts] user and password): {fault}")
            }
            _ => fault.words,
        };
        let (retry_after, unknown) = (fault.retry_after, fault.may_have_happened);
        Self { retry_after, unknown, ..Self::new(kind, message) }
    }
}

impl From<adjutant_mail::Fault> for Trouble {
    fn from(fault: adjutant_mail::Fault) -> Self {
        Self::Skill(fault.into())
    }
}

impl From<adjutant_dav::Fault> for Trouble {
    fn from(fault: adjutant_dav::Fault) -> Self {
        Self::Skill(fault.into())
    }
}

impl Office {
    /// Whether this room has that handler.
    pub fn has(handler: &str) -> bool {
        HANDLERS.contains(&handler)
    }

    /// Whether a handler works on our own store alone, so that effect and row are one commit.
    pub fn is_own(&self, handler: &str) -> bool {
        match handler {
            // Those who are invited are told by mail.
            "calendar.create_event" | "calendar.update_event" | "calendar.delete_event" => {
                self.calendar.is_none() && self.mail.is_none()
            }
            "chat.post" => true,
            "contacts.validate_email" => self.resolver.is_none(),
            _ => self.is_theirs(handler) && !handler.starts_with("email.") && !handler.starts_with("chat."),
        }
    }

    /// Whether a handler needs no account on a server.
    fn is_theirs(&self, handler: &str) -> bool {
        match handler.split('.').next() {
            Some("calendar") => self.calendar.is_none(),
            Some("contacts") => self.contacts.is_none() || handler == "contacts.validate_email",
            // Who may read a place is asked from its platform.
            Some("chat") => true,
            _ => self.mail.is_none(),
        }
    }

    /// Whether a call that was cut off goes on where it was, though it may not be repeated.
    pub fn has_phases(handler: &str) -> bool {
        matches!(handler, "email.send" | "email.reply")
    }

    /// Works out what a call would do, and whether this person may do it.
    pub(super) async fn look(&self, work: &Work<'_>, handler: &str) -> Result<Look, Trouble> {
        self.admit(work.scope, handler).await?;
        match handler {
            "email.send" | "email.reply" => self.look_at_letter(work, handler).await,
            "calendar.create_event" | "calendar.update_event" | "calendar.delete_event" => {
                self.look_at_event(work, handler).await
            }
            "chat.post" => self.look_at_post(work).await,
            _ => Ok(Look::HARMLESS),
        }
    }

    /// An account on a server is its owners', and theirs who sit at the machine.
    pub(super) async fn admit(&self, scope: &Scope, handler: &str) -> Result<(), Trouble> {
        if self.is_theirs(handler) || scope.conversation.channel == "console" || scope.is_owners().await? {
            return Ok(());
        }
        let message = "this account belongs to my owners ([assistant] owner); nobody else may use it";
        Err(SkillError::new(ErrorKind::Permission, message).into())
    }

    /// Works out what a call does to our own store; the executor writes it with the row.
    pub(super) async fn prepare(
        &self,
        work: &Work<'_>,
        handler: &str,
    ) -> Result<Result<(Batch, Output), SkillError>, StoreError> {
        let mut batch = Batch::new();
        let done = match handler.split('.').next() {
            Some("calendar") => self.calendar_call(work, handler, Some(&mut batch)).await,
            Some("chat") => self.post(work, &mut batch).await,
            _ => self.contacts_call(work, handler, &mut batch).await,
        };
        match done {
            Ok(output) => Ok(Ok((batch, output))),
            Err(Trouble::Skill(error)) => Ok(Err(error)),
            Err(Trouble::Store(error)) => Err(error),
        }
    }

    /// Does what a call does outside our own store.
    pub(super) async fn call(&self, work: &Work<'_>, handler: &str) -> Result<Output, SkillError> {
        let done = match handler.split('.').next() {
            Some("calendar") => self.calendar_call(work, handler, None).await,
            Some("chat") => self.rooms_call(work, handler).await,
            Some("contacts") => self.contacts_call(work, handler, &mut Batch::new()).await,
            _ => self.mail_call(work, handler).await,
        };
        done.map_err(|trouble| match trouble {
            Trouble::Skill(error) => error,
            Trouble::Store(error) => SkillError::new(ErrorKind::Tool, error.to_string()),
        })
    }

    /// What `doctor` wants to know of each account: its section, and what was found.
    pub async fn check(&self) -> Vec<(&'static str, Finding)> {
        let mut found = Vec::new();
        if let Some(mail) = &self.mail {
            found.extend(mail.check().await.into_iter().map(|finding| ("mail", finding)));
        }
        if let Some(calendar) = &self.calendar {
            found.push(("calendar", calendar.check().await));
        }
        if let Some(contacts) = &self.contacts {
            found.push(("contacts", contacts.check().await));
        }
        found
    }
}

/// A text argument.
fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

/// A list of texts.
fn texts<'a>(arguments: &'a Value, name: &str) -> Vec<&'a str> {
    let items = arguments.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).collect()
}

/// The `limit` argument within sense.
fn limit(arguments: &Value) -> usize {
    let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(20);
    usize::try_from(limit.clamp(1, 100)).unwrap_or(20)
}

fn params(message: impl Into<String>) -> SkillError {
    SkillError::new(ErrorKind::Params, message)
}
