//! `/connect` and `/accounts`: connects accounts at providers, lists them and disconnects them.

use adjutant_chat::Choice;
use adjutant_config::People;
use adjutant_l10n::connect as words;
use adjutant_skills::Failure;
use adjutant_skills::accounts::{
    Begun, ConnectedAccount, Finished, LoginError, Logins, provider_name, services_in_words,
};
use adjutant_skills::builtin::Services;
use adjutant_store::connected::{self, AccountRow, is_label, is_label_taken};
use adjutant_store::inbox::InboxRow;
use adjutant_store::outbox::Message;
use adjutant_store::{Batch, Result, Stale, StoreError, logins, people};
use adjutant_turn::journal::TurnEvent;
use adjutant_types::invisible_chars::line;
use adjutant_types::{
    AccountId, AccountService, AccountState, ConversationId, LoginId, LoginState, PersonId, ProviderKind,
};

use super::Conversations;

/// What intake journals in place of an address with a code, of a password, and of somebody else's code.
pub const PASTED: &str = "/connect pasted";
pub const TYPED: &str = "/connect typed";
pub const REFUSED: &str = "/connect refused";

/// How the ids of our buttons begin.
const CONNECT: &str = "connect:";
const ACCOUNT: &str = "account:";
/// The longest name of an account, in characters.
pub const MAX_LABEL: usize = 40;

/// The command that one of our buttons stands for; none if it is another button.
pub fn command_of(button: &str) -> Option<String> {
    let connect = button.strip_prefix(CONNECT).map(|what| format!("/connect {what}"));
    connect.or_else(|| button.strip_prefix(ACCOUNT).map(|what| format!("/accounts {what}")))
}

/// The command that words such as "connect my calendar" or "log in to Google" stand for.
pub fn wish(text: &str) -> Option<String> {
    const VERBS: [&str; 4] = ["connect ", "log in to ", "log into ", "sign in to "];
    const THINGS: [&str; 9] =
        ["account", "accounts", "calendar", "calendars", "email", "mail", "mailbox", "inbox", "contacts"];
    let text = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    let text = text.strip_prefix("please ").unwrap_or(&text);
    let what = VERBS.iter().find_map(|verb| text.strip_prefix(verb))?;
    let what = what.strip_prefix("my ").unwrap_or(what);
    let (first, rest) = what.split_once(' ').unwrap_or((what, ""));
    match provider(first) {
        Some(kind) if rest.is_empty() || THINGS.contains(&rest) => Some(format!("/connect {kind}")),
        None if THINGS.contains(&what) => Some("/connect".to_owned()),
        _ => None,
    }
}

/// The provider that people mean by a word.
fn provider(word: &str) -> Option<ProviderKind> {
    match word.to_lowercase().as_str() {
        "google" | "gmail" => Some(ProviderKind::Google),
        "microsoft" | "outlook" | "hotmail" | "office" | "office365" | "365" => Some(ProviderKind::Microsoft),
        "password" | "icloud" | "apple" | "fastmail" | "yahoo" | "gmx" | "web.de" | "mailbox.org"
        | "posteo" | "zoho" => Some(ProviderKind::Password),
        _ => None,
    }
}

fn is_called(account: &AccountRow, name: &str) -> bool {
    account.id == *name || is_label(&account.label, name)
}

/// Whether an account belongs to no single person.
fn is_shared(account: &AccountRow) -> bool {
    account.person_id.is_none() && account.state != AccountState::Disconnecting
}

fn button(id: String, label: String) -> Choice {
    Choice { id, label }
}

/// What a person does with an account on the list.
#[derive(Clone, Copy)]
enum Change {
    Remove,
    Default(AccountService),
}

impl Change {
    const ALL: [(&str, Self); 3] = [
        (" remove", Self::Remove),
        (" mail", Self::Default(AccountService::Mail)),
        (" events", Self::Default(AccountService::Calendar)),
    ];
}

impl Conversations {
    pub fn services(&self) -> &Services {
        &self.orchestrator.agents.executor.services
    }

    pub fn logins(&self) -> &Logins {
        &self.services().logins
    }

    pub fn has_logins(&self) -> bool {
        !self.logins().offer().is_empty()
    }

    /// Offers what can be connected, or begins a login.
    pub(super) async fn connect(&self, row: &InboxRow, rest: &str) -> Result<()> {
        let say = |text: String| self.reply(row, None, text, Batch::new());
        match format!("/connect {rest}").as_str() {
            PASTED => return self.connect_pasted(row).await,
            TYPED => return say(words::no_passwords()).await,
            REFUSED => return say(words::not_yours()).await,
            _ => {}
        }
        if !self.has_logins() {
            return say(words::not_set_up()).await;
        }
        if !self.may_connect(row).await? {
            return say(words::not_for_you()).await;
        }
        let mut known = connected::of_person(&self.store, &row.person_id).await?;
        // The account of a group is the owners' to log in to, also if they aren't in it.
        known.extend(connected::by_id(&self.store, &rest.into()).await?.filter(is_shared));
        let named = provider(rest);
        // An account may be called "google", which then means another one there.
        let account = known.iter().find(|account| named.is_none() && is_called(account, rest));
        let kind = named.or_else(|| account.map(|account| account.provider));
        let (Some(kind), true) = (kind, self.may_log_in_to(row, account).await?) else {
            let choice = |kind: &ProviderKind| button(format!("{CONNECT}{kind}"), provider_name(*kind));
            let choices = self.logins().offer().iter().map(choice).collect();
            let message = Message { text: words::which(), choices, ..Message::default() };
            return self.reply_with(row, message, Batch::new()).await;
        };
        if !self.logins().offer().contains(&kind) {
            return say(words::not_offered(provider_name(kind))).await;
        }
        let account = account.map(|account| &account.id);
        let (person, here) = (&row.person_id, &row.conversation_id);
        match self.logins().begin(&self.store, person, here, kind.as_str(), account).await {
            Ok(begun) => say(how_to(kind, &begun)).await,
            Err(Failure::Skill(error)) => say(words::failed(error)).await,
            Err(Failure::Store(error)) => Err(error),
        }
    }

    /// Ends the login whose code the person has pasted.
    async fn connect_pasted(&self, row: &InboxRow) -> Result<()> {
        let open = logins::open_of(&self.store, &row.person_id).await?;
        let arrived = open.into_iter().find(|login| login.state == LoginState::Arrived);
        let Some(login) = arrived else { return self.reply(row, None, words::over(), Batch::new()).await };
        self.reply(row, None, words::checking(), Batch::new()).await?;
        match self.finish_login(&login.id).await {
            Err(LoginError::Failed(Failure::Store(error))) => Err(error),
            // Whoever has to know was told.
            _ => Ok(()),
        }
    }

    /// Exchanges the code of a login for an account, and wakes what waited for it.
    pub async fn finish_login(&self, id: &LoginId) -> Result<Finished, LoginError> {
        let finished = self.logins().finish(id).await?;
        self.accounts_changed(&finished.conversation);
        Ok(finished)
    }

    /// Somebody's accounts have changed, and they were told so here.
    pub fn accounts_changed(&self, told: &ConversationId) {
        self.services().accounts.changed();
        self.events.send(TurnEvent::MessageAdded(told.clone()));
    }

    /// The accounts that a person has, and those that they have by the configuration. The only one with a service is the
    /// one that is used, also if nobody has chosen it.
    pub async fn accounts_of(&self, person: &PersonId) -> Result<(Vec<AccountRow>, Vec<&ConnectedAccount>)> {
        let mut rows = connected::of_person(&self.store, person).await?;
        let settings = self.settings.current();
        let configured =
            self.services().accounts.configured_of(&self.store, &settings.owners, person).await?;
        for service in [AccountService::Mail, AccountService::Calendar] {
            let mut having = rows.iter_mut().filter(|row| row.services.contains(&service));
            let (Some(only), None) = (having.next(), having.next()) else { continue };
            let is_used = !configured.iter().any(|account| account.has(service));
            match service {
                AccountService::Mail => only.is_mail_default |= is_used,
                _ => only.is_events_default |= is_used,
            }
        }
        Ok((rows, configured))
    }

    async fn may_connect(&self, row: &InboxRow) -> Result<bool> {
        let is_listed = match self.logins().people() {
            Some(People::Everybody) => true,
            Some(People::Listed(listed)) => people::is_owner(&self.store, &row.person_id, listed).await?,
            Some(People::Owners) | None => false,
        };
        Ok(is_listed || self.is_at_home(row).await?)
    }

    /// Whether an owner writes, or somebody who sits at the machine.
    async fn is_at_home(&self, row: &InboxRow) -> Result<bool> {
        Ok(row.channel() == "console" || self.is_owner(&row.person_id).await?)
    }

    /// Whether somebody may change an account; a shared one is the owners'. Of none there is nothing to refuse.
    async fn may_log_in_to(&self, row: &InboxRow, account: Option<&AccountRow>) -> Result<bool> {
        let is_shared = account.is_some_and(|account| account.person_id.is_none());
        Ok(!is_shared || self.is_at_home(row).await?)
    }

    /// Lists the person's accounts, shows one with what can be done, or does it.
    pub(super) async fn accounts(&self, row: &InboxRow, rest: &str) -> Result<()> {
        let (all, configured) = self.accounts_of(&row.person_id).await?;
        if rest.is_empty() {
            return self.reply_with(row, self.list_of(&all, &configured), Batch::new()).await;
        }
        if let Some(names) = rest.strip_prefix("rename ") {
            return self.rename_account(row, &all, names.trim()).await;
        }
        let change = Change::ALL.iter().find_map(|(end, change)| Some((rest.strip_suffix(end)?, *change)));
        let (name, change) = change.map_or((rest, None), |(name, change)| (name, Some(change)));
        let account = match all.iter().find(|account| is_called(account, name)) {
            Some(account) => Some(account.clone()),
            // One whose disconnection was interrupted is done with.
            None => connected::by_id(&self.store, &name.into()).await?.filter(|account| {
                let is_own = account.person_id.as_ref() == Some(&row.person_id);
                is_own && account.state == AccountState::Disconnecting
            }),
        };
        let Some(account) = account else {
            return self.reply(row, None, words::no_such_account(), Batch::new()).await;
        };
        if !self.may_log_in_to(row, Some(&account)).await? {
            return self.reply(row, None, words::not_owned(account.label), Batch::new()).await;
        }
        match change {
            None => self.reply_with(row, choices_for(&account), Batch::new()).await,
            Some(Change::Remove) => self.disconnect(row, &account).await,
            Some(Change::Default(service)) => self.make_default(row, &account, service).await,
        }
    }

    fn list_of(&self, accounts: &[AccountRow], configured: &[&ConnectedAccount]) -> Message {
        let line = |account: &AccountRow| {
            let services = services_in_words(&account.services);
            let line = words::account_line(&account.label, &account.address, services);
            let about: [(bool, fn() -> String); 4] = [
                (account.person_id.is_none(), words::is_shared),
                (account.state == AccountState::NeedsLogin, words::needs_login),
                (account.is_mail_default, words::sends_mail),
                (account.is_events_default, words::takes_events),
            ];
            let about: Vec<String> =
                about.iter().filter(|(is_so, _)| *is_so).map(|(_, about)| about()).collect();
            if about.is_empty() { format!("- {line}") } else { format!("- {line} ({})", about.join(", ")) }
        };
        let line_of_configured = |account: &&ConnectedAccount| {
            let mut services = AccountService::ALL.to_vec();
            services.retain(|service| account.has(*service));
            let services = services_in_words(&services);
            let line = words::account_line(&account.label, &account.address, services);
            format!("- {line} ({})", words::is_configured())
        };
        let lines = accounts.iter().map(line).chain(configured.iter().map(line_of_configured));
        let lines: Vec<String> = lines.collect();
        let text = match lines.as_slice() {
            [] if !self.has_logins() => words::not_set_up(),
            [] => words::no_accounts(),
            lines => words::your_accounts(lines.join("\n")),
        };
        let own = accounts.iter().map(|row| button(format!("{ACCOUNT}{}", row.id), shown(&row.label)));
        // Discord takes no more than 25.
        let mut choices: Vec<Choice> = own.take(20).collect();
        choices.extend(self.has_logins().then(|| button(CONNECT.to_owned(), words::connect_another())));
        Message { text, choices, ..Message::default() }
    }

    async fn disconnect(&self, row: &InboxRow, account: &AccountRow) -> Result<()> {
        let text = match self.logins().disconnect(&account.id).await {
            Ok(true) => words::disconnected(&account.label, &account.address),
            Ok(false) => words::no_such_account(),
            Err(Failure::Skill(error)) => error.message.whole(),
            Err(Failure::Store(error)) => return Err(error),
        };
        self.services().accounts.changed();
        self.reply(row, None, text, Batch::new()).await
    }

    async fn make_default(
        &self,
        row: &InboxRow,
        account: &AccountRow,
        service: AccountService,
    ) -> Result<()> {
        if account.person_id.is_none() {
            return self.reply(row, None, words::shared_is_no_default(&account.label), Batch::new()).await;
        }
        let mut batch = Batch::new();
        connected::set_default(&mut batch, account, service);
        let text = match service {
            AccountService::Mail => words::now_sends(&account.label),
            _ => words::now_takes_events(&account.label),
        };
        self.change_account(row, text, batch, words::no_such_account()).await
    }

    async fn rename_account(&self, row: &InboxRow, all: &[AccountRow], names: &str) -> Result<()> {
        let renamed = all.iter().filter(|account| account.person_id.is_some()).find_map(|account| {
            let (label, rest) = names.split_at_checked(account.label.len())?;
            let is_it = is_label(label, &account.label) && rest.starts_with(' ');
            let name = rest.trim().strip_prefix("to ").unwrap_or(rest.trim());
            is_it.then(|| (account, line(name, MAX_LABEL)))
        });
        let Some((account, name)) = renamed.filter(|(_, name)| !name.is_empty()) else {
            return self.reply(row, None, words::rename_how(), Batch::new()).await;
        };
        if is_label_taken(all, account, &name) {
            return self.reply(row, None, words::label_taken(name), Batch::new()).await;
        }
        let mut batch = Batch::new();
        connected::rename(&mut batch, &account.id, &name);
        let text = words::renamed(&account.label, &name);
        self.change_account(row, text, batch, words::label_taken(name)).await
    }

    /// Changes an account and says so, or why that can't be.
    async fn change_account(&self, row: &InboxRow, done: String, batch: Batch, clash: String) -> Result<()> {
        match self.reply(row, None, done, batch).await {
            Err(StoreError::Stale(Stale::AccountGone)) => {
                self.reply(row, None, words::no_such_account(), Batch::new()).await
            }
            Err(StoreError::Stale(Stale::LabelTaken)) => self.reply(row, None, clash, Batch::new()).await,
            done => {
                self.services().accounts.changed();
                done
            }
        }
    }
}

/// What a person does to log in.
fn how_to(kind: ProviderKind, begun: &Begun) -> String {
    match (&begun.link, &begun.device) {
        (_, Some((page, code))) => words::device(page, code),
        (Some(link), None) if kind == ProviderKind::Password => words::form(link),
        (Some(link), None) if begun.is_pasted => words::paste(link),
        (Some(link), None) => words::link(provider_name(kind), link),
        (None, None) => words::at_the_machine(),
    }
}

/// An account with what can be done with it.
fn choices_for(account: &AccountRow) -> Message {
    let AccountRow { id, label, services, .. } = account;
    let is_own = account.person_id.is_some();
    let may_be =
        |service: AccountService, is_default: bool| is_own && !is_default && services.contains(&service);
    let choices = [
        (account.state == AccountState::NeedsLogin).then(|| log_in_again(id)),
        may_be(AccountService::Mail, account.is_mail_default)
            .then(|| button(format!("{ACCOUNT}{id} mail"), words::use_for_mail())),
        may_be(AccountService::Calendar, account.is_events_default)
            .then(|| button(format!("{ACCOUNT}{id} events"), words::use_for_events())),
        Some(button(format!("{ACCOUNT}{id} remove"), words::disconnect())),
    ];
    let text = words::disconnect_question(label, &account.address);
    Message { text, choices: choices.into_iter().flatten().collect(), ..Message::default() }
}

/// The button below the news that a login has ended.
pub fn log_in_again(account: &AccountId) -> Choice {
    button(format!("{CONNECT}{account}"), words::log_in_again())
}

/// A label that fits on a button.
fn shown(label: &str) -> String {
    line(label, 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_ask_for_a_login_are_the_command() {
        for (text, command) in [
            ("connect my calendar", Some("/connect")),
            ("Please connect my Gmail account!", Some("/connect google")),
            ("Log in to Google", Some("/connect google")),
            ("sign in to outlook", Some("/connect microsoft")),
            ("connect me with Bob", None),
            ("log in to the printer and restart it", None),
            ("how do I connect my calendar?", None),
        ] {
            assert_eq!(wish(text).as_deref(), command, "{text}");
        }
    }

    #[test]
    fn our_buttons_are_commands() {
        assert_eq!(command_of("connect:").as_deref(), Some("/connect "));
        assert_eq!(command_of("connect:google").as_deref(), Some("/connect google"));
        assert_eq!(command_of("account:a1 remove").as_deref(), Some("/accounts a1 remove"));
        assert_eq!(command_of("room:always"), None);
    }
}
