//! `adjutant account`: connects accounts at providers, lists and disconnects them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use adjutant_config::{Config, ConnectConfig};
use adjutant_console::json::{CONVERSATION, USER};
use adjutant_skills::accounts::{Begun, Bringer, Finished, LIFETIME_MS, LoginError, Logins, carries_code};
use adjutant_skills::oauth::back_from;
use adjutant_skills::{ErrorKind, Failure};
use adjutant_store::people::{self, Person};
use adjutant_store::{Batch, Store, connected, logins};
use adjutant_types::clock::utc;
use adjutant_types::invisible_chars::line;
use adjutant_types::{AccountId, AccountState, ConversationId, LoginState, PersonId, ProviderKind};

use super::oauth::pasted;
use crate::cli::args::AccountCommand as Command;
use crate::cli::chat::CHANNEL;
use crate::cli::init::terminal::Terminal;
use crate::cli::{CliError, Result, on_store, say, tell};
use crate::service;

/// How often a provider is asked whether a code was typed on its page.
const POLL: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_millis(LIFETIME_MS.unsigned_abs());

pub(in crate::cli) async fn run(config: Config, command: Command) -> Result<ExitCode> {
    let services = service::build_services(&config, BTreeMap::new())?;
    let logins = &services.logins;
    let text = on_store(&config, async |store| {
        services.secrets.attach(store);
        match &command {
            Command::Add { provider, person } => {
                let adding = Adding { store, logins };
                adding.add(config.connect.as_ref(), *provider, person.as_deref()).await
            }
            Command::List => list(store).await,
            // Without people, it is everybody's.
            Command::Share { id, person, everybody: _ } => share(store, &id.as_str().into(), person).await,
            Command::Remove { id } => remove(logins, &id.as_str().into()).await,
        }
    });
    say(&text.await?)
}

/// What connecting an account needs.
struct Adding<'a> {
    store: &'a Store,
    logins: &'a Logins,
}

impl Adding<'_> {
    async fn add(
        &self,
        connect: Option<&ConnectConfig>,
        provider: Option<ProviderKind>,
        who: Option<&str>,
    ) -> Result<String> {
        let offer = connect.map(|connect| connect.offer.as_slice()).unwrap_or_default();
        let provider = chosen(offer, provider)?;
        let (person, conversation) = self.somebody(who).await?;
        let finished = if provider == ProviderKind::Password {
            self.by_password(&person, &conversation).await?
        } else {
            let name = provider.as_str();
            let begun = self.logins.begin(self.store, &person.id, &conversation, name, None).await;
            match self.log_in(begun.map_err(failed)?, &person).await? {
                Some(finished) => finished,
                None => return Ok(String::new()),
            }
        };
        Ok(format!("{}\n", finished.text))
    }

    /// The person, and where they are told of their login.
    async fn somebody(&self, who: Option<&str>) -> Result<(Person, ConversationId)> {
        let store = self.store;
        let Some(who) = who else {
            let person = people::person(store, CHANNEL, USER, "you").await?;
            let here = people::conversation(store, CHANNEL, CONVERSATION, &person.id, true).await?;
            return Ok((person, here.id));
        };
        let person = super::web::only(store, who).await?;
        match people::last_direct_conversation(store, &person.id).await? {
            Some(conversation) => Ok((person, conversation)),
            None => Err(CliError::plain(format!("{who} has never written to the assistant in private"))),
        }
    }

    async fn by_password(&self, person: &Person, conversation: &ConversationId) -> Result<Finished> {
        let mut terminal = Terminal::open()?;
        let address = terminal.line("Email address", "")?;
        let password = terminal.secret("App password", "")?;
        let added = self.logins.add_password_of(&person.id, conversation, &address, &password);
        terminal.wait(added).await?.map_err(refused)
    }

    /// Shows where to log in, and waits for it; none if the page takes it from there.
    async fn log_in(&self, begun: Begun, person: &Person) -> Result<Option<Finished>> {
        if let Some((page, code)) = &begun.device {
            let (page, code) = (line(page, 200), line(code, 60));
            tell(&format!("Open {page} on any device and type this code:\n\n  {code}\n\n"))?;
            loop {
                tokio::time::sleep(POLL).await;
                match self.logins.poll(&begun.id).await {
                    Ok(None) => {}
                    Ok(done) => return Ok(done),
                    // A running `serve` asks, too, and may be first.
                    Err(LoginError::Gone) => match logins::by_id(self.store, &begun.id).await? {
                        Some(row) if row.state == LoginState::Exchanging => {}
                        Some(row) if row.state == LoginState::Done => {
                            tell("Connected.\n")?;
                            return Ok(None);
                        }
                        _ => return Err(refused(LoginError::Gone)),
                    },
                    Err(error) => return Err(refused(error)),
                }
            }
        }
        let link = begun.link.as_deref().unwrap_or_default();
        if !begun.is_pasted {
            tell(&format!(
                "Open this address in your browser within five minutes, and allow access:\n\n  {link}\n\n\
                 `adjutant serve` must be running: its page does the rest.\n"
            ))?;
            return Ok(None);
        }
        tell(&format!(
            "Open this address in your browser and allow access:\n\n  {link}\n\n\
             If the browser is on another machine, it ends at a page that it can't open: paste that page's address here.\n"
        ))?;
        let address = async {
            tokio::select! {
                address = back_from(link) => address,
                typed = pasted() => typed,
            }
        };
        let Ok(address) = tokio::time::timeout(PATIENCE, address).await else {
            return Err(refused(LoginError::Gone));
        };
        let Some((state, reply)) = carries_code(&address) else {
            return Err(CliError::plain("that isn't the address at which a login ends; begin again"));
        };
        let id = self.logins.arrived(&state, reply, Bringer::Person(&person.id)).await.map_err(refused)?;
        self.logins.finish(&id).await.map(Some).map_err(refused)
    }
}

/// The provider that was named, or the only one.
fn chosen(offer: &[ProviderKind], named: Option<ProviderKind>) -> Result<ProviderKind> {
    let names: Vec<&str> = offer.iter().map(|kind| kind.as_str()).collect();
    match (named, offer) {
        (_, []) => Err(CliError::plain(
            "nothing can be connected yet: add [connect] to the configuration, as docs/connect.md shows",
        )),
        (Some(kind), _) if offer.contains(&kind) => Ok(kind),
        (Some(kind), _) => {
            Err(CliError::plain(format!("[connect] doesn't offer {kind}, only {}", names.join(", "))))
        }
        (None, [only]) => Ok(*only),
        (None, _) => Err(CliError::Usage(format!("name one with --provider: {}", names.join(", ")))),
    }
}

async fn list(store: &Store) -> Result<String> {
    let mut text = String::new();
    for row in connected::all(store).await? {
        let whose = match &row.person_id {
            Some(person) => format!("of {}", line(&people::person_by_id(store, person).await?.name, 60)),
            None => "shared".to_owned(),
        };
        let state = match row.state {
            AccountState::Ready => "ready",
            AccountState::NeedsLogin => "needs a new login",
            AccountState::Disconnecting => "is being disconnected",
        };
        let used = match row.used_at {
            Some(at) => format!("last used {}", utc(at).format("%Y-%m-%d %H:%M UTC")),
            None => "not used yet".to_owned(),
        };
        let services: Vec<&str> = row.services.iter().map(|service| service.as_str()).collect();
        let (id, address, label) = (&row.id, line(&row.address, 120), line(&row.label, 60));
        let _ = writeln!(
            text,
            "{id}  {address} ({}: {}), {whose}, “{label}”, {state}, {used}",
            row.provider,
            services.join(", ")
        );
    }
    if text.is_empty() {
        text.push_str(
            "No account is connected. `adjutant account add` or /connect in a chat connects one.\n",
        );
    }
    Ok(text)
}

/// Shares an account with these people and whoever sits here; without any, with everybody. What somebody else has connected
/// stays theirs alone.
async fn share(store: &Store, account: &AccountId, with: &[String]) -> Result<String> {
    let you = people::person(store, CHANNEL, USER, "you").await?;
    let row = connected::by_id(store, account).await?;
    if row.is_none_or(|row| row.person_id.is_some_and(|person| person != you.id)) {
        return Err(CliError::plain(
            "there is no such account of yours; `adjutant account add` connects one, `adjutant account list` shows it",
        ));
    }
    let mut people = Vec::new();
    for who in with {
        people.push(super::web::only(store, who).await?);
    }
    let names: Vec<String> = people.iter().map(|person| line(&person.name, 60)).collect();
    let text = match names.as_slice() {
        [] => "Everybody can use it now.\n".to_owned(),
        names => format!("You and {} can use it now.\n", names.join(", ")),
    };
    let mut ids: Vec<PersonId> = people.into_iter().map(|person| person.id).collect();
    if !ids.is_empty() {
        ids.push(you.id);
    }
    store.write(Batch::with(|batch| connected::share(batch, account, &ids))).await?;
    Ok(text)
}

async fn remove(logins: &Logins, account: &AccountId) -> Result<String> {
    match logins.disconnect(account).await.map_err(failed)? {
        true => Ok("Disconnected, and erased here.\n".to_owned()),
        false => Err(CliError::plain("there is no such account; `adjutant account list` shows them")),
    }
}

fn refused(error: LoginError) -> CliError {
    match error {
        LoginError::Failed(failure) => failed(failure),
        error => CliError::plain(format!("{error}; begin again")),
    }
}

fn failed(failure: Failure) -> CliError {
    match failure {
        Failure::Skill(error) if error.kind == ErrorKind::Auth => {
            CliError::plain(format!("the provider refused: {}", error.message.whole()))
        }
        Failure::Skill(error) => CliError::plain(error.message.whole()),
        Failure::Store(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_named_only_where_there_are_several() {
        use ProviderKind::{Google, Microsoft, Password};
        assert_eq!(chosen(&[Google], None).unwrap(), Google);
        assert_eq!(chosen(&[Google, Password], Some(Password)).unwrap(), Password);
        let several = chosen(&[Google, Password], None).unwrap_err().to_string();
        assert_eq!(several, "name one with --provider: google, password");
        let other = chosen(&[Google], Some(Microsoft)).unwrap_err().to_string();
        assert_eq!(other, "[connect] doesn't offer microsoft, only google");
        assert!(chosen(&[], None).is_err());
    }
}
