//! The built-in skills, a module a domain.
//!
//! A domain is an enum of its skills, declared with `domain!` together with the names that
//! `handler = { builtin = "..." }` uses for them. It implements [`BuiltinSkill`]: what each skill needs, what kind of
//! effect it has, what it would do (`preview`) and doing it (`run`). So a new skill is a variant and an entry in
//! `skills/DOMAIN.toml`: the compiler finds missing match arms, and a test finds names that disagree.
//!
//! - An effect on our own store is committed together with the end of the call's row. An effect on a server can be
//!   repeated, because its UID is derived from the execution, or has phases (see `email::sending`).
//! - An account is its people's: nobody else can use it, even if they may talk to the assistant.
//! - Risk and preview are computed from the arguments and what they refer to, before anyone is asked. What was
//!   approved is compared with what would be done.

/// A domain's skills by their handlers' names, with its definition.
macro_rules! domain {
    ($name:literal, $toml:literal, $skill:ident { $($variant:ident = $handler:literal),+ $(,)? }) => {
        #[derive(Debug)]
        enum $skill {
            $($variant),+
        }

        pub(super) const DOMAIN: $crate::builtin::BuiltinDomain =
            $crate::builtin::BuiltinDomain {
                name: $name,
                toml: include_str!($toml),
                skills: &[$(($handler, &$skill::$variant)),+],
            };
    };
}

mod assistant;
mod calendar;
mod chat;
mod contacts;
mod email;
mod files;
mod memory;
mod merged;
mod notes;
pub mod schedules;
mod services;
pub mod tasks;
pub mod undo;
pub mod watches;
mod web;

use adjutant_dav::RecurrenceRule;
use adjutant_l10n as l10n;
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde_json::Value;

pub(crate) use assistant::Withdrawal;
pub use assistant::still_open;
pub use calendar::{CalendarAccount, ComingEvent, agenda, coming_to, still_there};
pub(crate) use contacts::recipients;
pub use contacts::{ContactsAccount, contacts_among};
pub(crate) use email::is_as_shown;
pub use email::{DraftPress, Mailbox, draft_press, written_by};
pub use notes::Notes;
pub use services::Services;
pub use web::Page;

use adjutant_config::Config;
use adjutant_models::SharedModel;
use adjutant_store::objects::ObjectRow;
use adjutant_store::{Batch, Store};
use adjutant_turn::journal::TurnContext;
use adjutant_turn::trust::{ActionKind, Target};
use adjutant_types::clock::utc;
use adjutant_types::clock::when::When;
use adjutant_types::{
    AccountId, AccountService, Allowance, ErrorText, ExecutionId, FromCall, Own, Taint, ours, text,
};

use super::accounts::{CallAccounts, PersonAccounts};
use super::risk::fenced;
use super::{Approved, Output, Registry, Result, Risk, SkillError};

#[async_trait]
pub trait BuiltinSkill: std::fmt::Debug + Send + Sync {
    /// The resource that the skill works with.
    fn needs(&self) -> Resource {
        Resource::Store
    }

    /// Whether its calls use accounts of mail, calendars or contacts.
    fn uses_accounts(&self) -> bool {
        self.needs().service().is_some()
    }

    /// The kind of effect that the skill has for somebody with these accounts.
    fn effect(&self, accounts: &PersonAccounts) -> Idempotency;

    /// The account that a call changes something with; none: our own store, or it changes nothing.
    async fn account(&self, _call: &CallContext<'_>) -> Result<Option<AccountId>> {
        Ok(None)
    }

    /// The kind of effect that it has on what people keep, or on others; none for skills that only read.
    fn action(&self) -> Option<ActionKind>;

    /// The targets of a call, for the check of [`adjutant_turn::trust`]. An effect that names nothing asks.
    async fn targets(&self, _call: &CallContext<'_>) -> Result<Vec<Target>> {
        Ok(Vec::new())
    }

    /// Whether a call only makes something as it was before one of these changes.
    async fn puts_back(&self, _call: &CallContext<'_>, _changes: &[undo::Step]) -> Result<bool> {
        Ok(false)
    }

    /// Whether what a call makes or changes lasts as long as before, or as usual.
    async fn keeps_length(&self, _call: &CallContext<'_>) -> Result<bool> {
        Ok(true)
    }

    /// The narrowest rule that allows this call in advance; none if nothing does.
    async fn allowance(&self, _call: &CallContext<'_>) -> Result<Option<Allowance>> {
        Ok(None)
    }

    /// The effect that a call would have, where that is more than the arguments say.
    async fn preview(&self, _call: &CallContext<'_>) -> Result<Preview> {
        Ok(Preview::default())
    }

    /// The names behind the ids in the arguments, as one more line for the person who is asked.
    async fn subject(&self, _call: &CallContext<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    /// The conflicts of a call, for the person who is asked. They aren't part of the approval.
    async fn warning(&self, _call: &CallContext<'_>) -> Option<String> {
        None
    }

    /// Makes the call. `writes` is committed together with the end of the call's row.
    async fn run(&self, call: &CallContext<'_>, approved: &Approved, writes: &mut Batch) -> Result<Output>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Our own store alone.
    Store,
    Mail,
    /// The calendar: an account on a server, or our own store.
    Calendar,
    /// The contacts: an account on a server, or our own store.
    Contacts,
    ChatPlatform,
    Internet,
    SearchEngine,
    Notes,
}

impl Resource {
    /// The service that an account must offer for it; none if it needs no account.
    pub fn service(self) -> Option<AccountService> {
        match self {
            Self::Mail => Some(AccountService::Mail),
            Self::Calendar => Some(AccountService::Calendar),
            Self::Contacts => Some(AccountService::Contacts),
            Self::Store | Self::ChatPlatform | Self::Internet | Self::SearchEngine | Self::Notes => None,
        }
    }
}

/// The kind of effect that a call has. It decides what is journalled before, and what a crash in the middle means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotency {
    /// It changes our own store only, in one commit with its row: a crash leaves both or neither.
    OwnStore,
    Repeatable,
    /// It journals how far it got, and goes on from there.
    Phased,
    /// It must not be made twice: after a crash in the middle its outcome is unknown.
    Once,
}

impl Idempotency {
    /// On our own store where the data is kept there, else repeatable.
    fn on_own_store_if(is_own: bool) -> Self {
        if is_own { Self::OwnStore } else { Self::Repeatable }
    }
}

/// The effect that a call would have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// How risky that is, in addition to the skill's own risk.
    pub risk: Risk,
    /// All of it, for a person to approve; none when the arguments say it all.
    pub text: Option<String>,
    /// Whether nobody gets anything, although it names them: without an account, an email is only saved.
    pub stays: bool,
    /// The addresses of those who get something beside the call's targets.
    pub goes_to: Vec<String>,
}

/// The sentence for a field's old and new text.
type Sentence = fn(String, String) -> String;

impl Preview {
    /// The fields that change, from what to what, each on a line under the heading.
    fn of_changes<const N: usize>(heading: String, fields: [(Sentence, String, String); N]) -> Self {
        let shown = |text: String| match text.contains('\n') {
            true => format!("\n{}\n", fenced(&text)),
            false if text.is_empty() => l10n::tasks::empty(),
            false => text,
        };
        let changes = fields.into_iter().filter(|(_, old, new)| old != new);
        let lines = changes.map(|(line, old, new)| format!("- {}", line(shown(old), shown(new))));
        Self { text: Some(under(heading, lines)), ..Self::default() }
    }
}

impl Default for Preview {
    fn default() -> Self {
        Self { risk: Risk::Low, text: None, stays: false, goes_to: Vec::new() }
    }
}

pub struct CallContext<'a> {
    pub ctx: &'a TurnContext,
    /// The clients, and what is shared by all people.
    pub services: &'a Services,
    pub accounts: &'a CallAccounts,
    pub registry: &'a Registry,
    /// The model that reads what words ask for, if there is one.
    pub intent: Option<&'a SharedModel>,
    pub execution: &'a ExecutionId,
    /// The agent that makes the call.
    pub agent: &'a ExecutionId,
    pub effect: Idempotency,
    /// Whether an earlier attempt may have done its work.
    pub is_retry: bool,
    /// The arguments, valid for the skill's schema.
    pub arguments: &'a Value,
    /// The outside sources of everything that the caller was given or has read.
    pub taint: &'a Taint,
}

impl<'a> CallContext<'a> {
    fn store(&self) -> &'a Store {
        &self.ctx.store
    }

    fn zone(&self) -> Tz {
        self.ctx.turn.zone
    }

    fn now(&self) -> DateTime<Utc> {
        utc(self.ctx.store.now())
    }

    /// A text argument, none if it is blank.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        text(self.arguments, name)
    }

    /// A text argument in small letters, for comparisons.
    fn lowercase(&self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_lowercase()
    }

    fn texts(&self, name: &str) -> Vec<&'a str> {
        let items = self.arguments.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).collect()
    }

    /// Whether an argument is given and true.
    fn flag(&self, name: &str) -> bool {
        self.arguments.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    fn when(&self, name: &str) -> Result<Option<When>, SkillError> {
        let when = self.text(name).map(|text| When::parse(text, self.zone())).transpose();
        when.map_err(|fault| SkillError::params(ours!("/{}: {}", Own(name), FromCall(fault))))
    }

    /// The `limit` argument, within reason.
    fn limit(&self) -> usize {
        let limit = self.arguments.get("limit").and_then(Value::as_u64).unwrap_or(20);
        usize::try_from(limit.clamp(1, 100)).unwrap_or(20)
    }

    /// The `tags` argument as the store keeps it.
    fn tags(&self) -> Option<String> {
        self.arguments.get("tags").filter(|tags| tags.is_array()).map(Value::to_string)
    }

    fn short_id<I: From<String>>(&self) -> I {
        short_id(self.store())
    }
}

/// Six characters that people can type.
pub fn short_id<I: From<String>>(store: &Store) -> I {
    const DIGITS: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";
    let random = store.clock().random();
    let digits = (0..6).map(|index| char::from(DIGITS[((random >> (index * 5)) & 31) as usize]));
    digits.collect::<String>().into()
}

/// A field that is a text and not blank.
fn text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

/// The storage of an event or a contact.
#[derive(Clone)]
enum Location {
    Server { url: String, etag: Option<String> },
    OwnStore(ObjectRow),
}

pub struct BuiltinDomain {
    /// Its name, and that of its TOML file.
    pub name: &'static str,
    pub toml: &'static str,
    /// Its skills, by the names of their handlers.
    pub skills: &'static [(&'static str, &'static dyn BuiltinSkill)],
}

/// All domains that are compiled in.
pub const DOMAINS: [&BuiltinDomain; 12] = [
    &tasks::DOMAIN,
    &memory::DOMAIN,
    &notes::DOMAIN,
    &email::DOMAIN,
    &files::DOMAIN,
    &calendar::DOMAIN,
    &contacts::DOMAIN,
    &schedules::DOMAIN,
    &watches::DOMAIN,
    &web::DOMAIN,
    &chat::DOMAIN,
    &assistant::DOMAIN,
];

fn all() -> impl Iterator<Item = (&'static str, &'static dyn BuiltinSkill)> {
    DOMAINS.iter().flat_map(|domain| domain.skills).copied()
}

pub fn find(name: &str) -> Option<&'static dyn BuiltinSkill> {
    all().find(|(registered, _)| *registered == name).map(|(_, skill)| skill)
}

/// Every name that `handler = { builtin = "..." }` may use; those of chat platforms only where there is one.
pub fn names(has_platform: bool) -> Vec<&'static str> {
    let usable = all().filter(|(_, skill)| has_platform || skill.needs() != Resource::ChatPlatform);
    usable.map(|(name, _)| name).collect()
}

/// Whether the catalogue leaves a skill out. A turn with something for it names it, so that no other turn pays for it.
pub fn is_unlisted(name: &str) -> bool {
    name.starts_with("files.")
        || matches!(
            name,
            "email.attachment"
                | "email.triage"
                | "assistant.clock"
                | "assistant.withdraw"
                | "assistant.replace"
                | "assistant.lines"
                | "schedule.update"
                | "schedule.pause"
                | "schedule.delete"
        )
}

/// The names of those that work with a configuration.
pub fn names_for(config: &Config) -> Vec<&'static str> {
    let works = |skill: &dyn BuiltinSkill| match skill.needs() {
        Resource::ChatPlatform => !config.channels.is_empty(),
        Resource::SearchEngine => config.search.is_some(),
        Resource::Notes => config.notes.is_some(),
        _ => true,
    };
    all().filter(|(_, skill)| works(*skill)).map(|(name, _)| name).collect()
}

fn under(heading: String, lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().fold(heading, |text, line| text + "\n" + &line)
}

/// The names of things that all fit, as many as a sentence holds.
fn joined(names: impl Iterator<Item = ErrorText>) -> ErrorText {
    names.take(5).reduce(|text, name| text.and("; ").and(name)).unwrap_or_else(|| "".into())
}

/// An argument's RRULE, as it is stored and as it is read.
fn read_rule(given: &str) -> Result<(String, RecurrenceRule), SkillError> {
    let rule = given.to_uppercase().trim_start_matches("RRULE:").to_owned();
    match RecurrenceRule::read(&rule) {
        Ok(read) => Ok((rule, read)),
        Err(error) => {
            let message = ours!(l10n::calendar::not_a_rule, FromCall(rule), FromCall(error));
            Err(SkillError::params(message))
        }
    }
}

/// Whether a name has every word of the query as a word of its own: “car” doesn't name the scarf.
fn is_named(name: &str, query: &str) -> bool {
    let words = |text: &str| -> Vec<String> { text::words(text).map(str::to_lowercase).collect() };
    let (own, wanted) = (words(name), words(query));
    !wanted.is_empty() && wanted.iter().all(|word| own.contains(word))
}

/// Whether a text in small letters contains every word of a query in small letters.
fn has_all_words(text: &str, query: &str) -> bool {
    query.split_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Handler, parse};

    #[test]
    fn every_builtin_handler_has_an_implementation_and_every_implementation_an_entry() {
        for domain in DOMAINS {
            let names: BTreeSet<&str> = domain.skills.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.len(), domain.skills.len(), "a name twice in {}", domain.name);
            let parsed = parse(domain.name, domain.toml, &super::names(true)).unwrap();
            let handler = |skill: &crate::Skill| match &skill.handler {
                Handler::Builtin(name) => name.clone(),
                other => panic!("{}: {other:?}", skill.name),
            };
            let entries: BTreeSet<String> = parsed.skills.iter().map(|skill| handler(skill)).collect();
            assert!(entries.iter().map(String::as_str).eq(names), "{}: {entries:?}", domain.name);
        }
    }

    #[test]
    fn a_definition_says_repeatable_of_what_may_be_made_again() {
        let accounts = PersonAccounts::default();
        for domain in DOMAINS {
            for skill in parse(domain.name, domain.toml, &super::names(true)).unwrap().skills {
                match find(&skill.name).unwrap().effect(&accounts) {
                    Idempotency::Repeatable => assert!(skill.repeatable, "{}", skill.name),
                    Idempotency::Phased | Idempotency::Once => assert!(!skill.repeatable, "{}", skill.name),
                    Idempotency::OwnStore => {}
                }
            }
        }
    }
}
