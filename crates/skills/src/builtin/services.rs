//! The accounts and clients that the built-in skills use.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Finding, Rooms};
use adjutant_config::SearchConfig;
use adjutant_files::{Folder, Reader};
use adjutant_l10n as l10n;
use adjutant_memory::vectors::Vectors;
use adjutant_turn::journal::TurnContext;
use adjutant_types::{AccountService, ours};

use super::{Notes, Page};
use crate::accounts::{self, Accounts, Logins, SecretStore};
use crate::handlers::HttpClient;
use crate::handlers::mcp::McpServers;
use crate::instructions::Instructions;
use crate::oauth::OAuth;
use crate::{ErrorKind, Result, SkillError};

/// The accounts, and whatever else the built-in skills use.
#[derive(Default)]
pub struct Services {
    /// The accounts of people. Without one, mails are saved as files, and the store keeps events and contacts.
    pub accounts: Arc<Accounts>,
    /// What begins and ends logins at providers.
    pub logins: Arc<Logins>,
    /// The sealed tokens and passwords.
    pub secrets: Arc<SecretStore>,
    /// The channels whose places can be read.
    pub rooms: BTreeMap<String, Arc<dyn Rooms>>,
    /// Asked whether a domain accepts mail; without one that isn't checked.
    pub resolver: Option<SocketAddr>,
    /// The folder for mails that can't be sent.
    pub outgoing: PathBuf,
    /// The client for pages and HTTP APIs.
    pub http: HttpClient,
    pub search: Option<SearchConfig>,
    /// A web that an evaluation makes up; none: the real one.
    pub pages: Option<Vec<Page>>,
    pub notes: Option<Notes>,
    pub mcp: Arc<McpServers>,
    pub oauth: Arc<OAuth>,
    pub instructions: Arc<Instructions>,
    /// The folder of the files that people sent.
    pub files: Arc<Folder>,
    pub reader: Arc<Reader>,
    /// Compares the meanings of memories.
    pub vectors: Option<Arc<Vectors>>,
    /// After how long a fact that was never recalled comes behind others.
    pub fade: Option<Duration>,
}

impl Services {
    /// Refuses the notes to everybody but owners and people at the machine.
    pub async fn check_notes(&self, ctx: &TurnContext) -> Result<()> {
        if self.notes.is_some() { self.check_owner(ctx).await } else { Ok(()) }
    }

    /// Refuses skills that use an owner's own keys to everybody but owners and people at the machine.
    pub async fn check_owner(&self, ctx: &TurnContext) -> Result<()> {
        if accounts::is_owner(ctx).await? {
            return Ok(());
        }
        Err(SkillError::new(ErrorKind::Permission, ours!(l10n::accounts::only_owners)).into())
    }

    /// The findings of `doctor` on each account and on the search engine, by section.
    pub async fn check(&self) -> Vec<(&'static str, Finding)> {
        let mut found = Vec::new();
        for service in AccountService::ALL {
            let Some(account) = self.accounts.configured(*service) else { continue };
            let name = service.as_str();
            if let Some(mail) = &account.mail {
                found.extend(mail.check().await.into_iter().map(|finding| (name, finding)));
            }
            if let Some(calendar) = &account.calendar {
                found.push((name, calendar.check().await));
            }
            if let Some(contacts) = &account.contacts {
                found.push((name, contacts.check().await));
            }
        }
        if let Some(notes) = &self.notes {
            let fix = "set [notes] path to a folder that this user can read and write";
            found.push(match notes.check() {
                Ok(1) => ("notes", Finding::ok("1 note")),
                Ok(number) => ("notes", Finding::ok(format!("{number} notes"))),
                Err(error) => ("notes", Finding::error(error.message.whole(), fix)),
            });
        }
        if let Some(engine) = &self.search {
            found.push(("web", super::web::check(engine, &self.http).await));
        }
        found
    }
}

impl From<adjutant_credential::ErrorKind> for ErrorKind {
    fn from(kind: adjutant_credential::ErrorKind) -> Self {
        use adjutant_credential::ErrorKind as Client;
        match kind {
            Client::Auth => Self::Auth,
            Client::Params => Self::Params,
            Client::Network => Self::Network,
            Client::RateLimit => Self::RateLimit,
            Client::Permission => Self::Permission,
            Client::NotFound => Self::NotFound,
            Client::Recipient => Self::Recipient,
            Client::Timeout => Self::Timeout,
            Client::Tool => Self::Tool,
        }
    }
}

impl From<adjutant_credential::ServiceError> for SkillError {
    fn from(error: adjutant_credential::ServiceError) -> Self {
        let kind = ErrorKind::from(error.kind);
        let message = match kind {
            ErrorKind::Auth => ours!(l10n::accounts::rejected_login, error.message),
            _ => error.message.into(),
        };
        let (retry_after, unknown) = (error.retry_after, error.may_have_happened);
        Self { retry_after, unknown, ..Self::new(kind, message) }
    }
}
