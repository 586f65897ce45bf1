//! Accounts by password: the servers of an address are found and tried before anything is stored.

use adjutant_config::Secret;
use adjutant_credential::Credential;
use adjutant_l10n::connect;
use adjutant_mail::Address;
use adjutant_store::Batch;
use adjutant_store::connected::AccountRow;
use adjutant_store::logins::{self, LoginRow};
use adjutant_types::{AccountId, AccountService, ConversationId, PersonId, ProviderKind};
use futures::future::join3;

use super::discovery::{app_password_page, servers_for};
use super::login::{Finished, Granted, LoginError, Logins};
use super::provider::{AccountSettings, refused};
use super::rows::{Clients, all_clients};
use crate::{ErrorKind, SkillError};

/// How many passwords a person may try within an hour: each is a login at a server that they name.
const MOST_ATTEMPTS: u32 = 5;
const HOUR_MS: i64 = 60 * 60 * 1000;

/// What works in an account, and whether a server refused the password.
struct Tried {
    services: Vec<AccountService>,
    is_password_wrong: bool,
}

impl Logins {
    /// Connects the account of an address with what a person typed on the page of their link. After a mistake the link is
    /// still good.
    pub async fn add_password(
        &self,
        nonce: &str,
        address: &str,
        password: &str,
    ) -> Result<Finished, LoginError> {
        let login = self.row_of_link(nonce).await?;
        if login.provider != ProviderKind::Password {
            return Err(LoginError::Gone);
        }
        if !self.may_try(&login.person_id, self.store()?.now()) {
            return Err(refused(connect::too_many_attempts()).into());
        }
        self.add(&login, address, password, true).await
    }

    /// The same for somebody who sits at the machine, and may use servers in its network.
    pub async fn add_password_of(
        &self,
        person: &PersonId,
        conversation: &ConversationId,
        address: &str,
        password: &str,
    ) -> Result<Finished, LoginError> {
        let store = self.store()?;
        let begun = self.begin(store, person, conversation, ProviderKind::Password.as_str(), None).await?;
        let login = logins::by_id(store, &begun.id).await?.ok_or(LoginError::Gone)?;
        self.add(&login, address, password, false).await
    }

    /// Whether somebody types a password into the chat where they should use the link.
    pub async fn expects_password(&self, person: &PersonId) -> Result<bool, LoginError> {
        let open = logins::open_of(self.store()?, person).await?;
        Ok(open.iter().any(|login| login.provider == ProviderKind::Password))
    }

    fn may_try(&self, person: &PersonId, now: i64) -> bool {
        let mut attempts = self.attempts.lock();
        attempts.retain(|_, (since, _)| now - *since < HOUR_MS);
        let (_, count) = attempts.entry(person.clone()).or_insert((now, 0));
        *count += 1;
        *count <= MOST_ATTEMPTS
    }

    async fn add(
        &self,
        login: &LoginRow,
        address: &str,
        password: &str,
        is_public_only: bool,
    ) -> Result<Finished, LoginError> {
        let parsed = address.trim().parse::<Address>().ok().filter(Address::is_plain);
        let address = parsed.ok_or_else(|| refused(connect::no_such_address(address)))?;
        let (store, mut batch) = (self.store()?, Batch::new());
        // The servers may answer after the login's time is up.
        logins::polled(&mut batch, login, store.now());
        store.write(batch).await?;
        let found = servers_for(&address, &self.http, self.resolver).await?;
        let settings = AccountSettings { is_public_only, ..found };
        // Of an account that isn't stored yet.
        let row = AccountRow::new(AccountId::default(), ProviderKind::Password, &address.address);
        let row = AccountRow { settings: settings.to_json(), ..row };
        // As Google shows an app password, it has spaces that aren't part of it.
        let groups: Vec<&str> = password.split_whitespace().collect();
        let is_in_groups = groups.len() == 1 || is_app_password(&groups.join("-"));
        let password = if is_in_groups { groups.concat() } else { password.to_owned() };
        let clients = all_clients(&row, Credential::from(password.as_str()), None)?;
        let tried = try_out(&clients).await;
        if tried.services.is_empty() {
            let why = match (tried.is_password_wrong, app_password_page(&address.address)) {
                (true, Some(page)) => connect::wrong_password_at(&address.address, page),
                (true, None) => connect::wrong_password(&address.address),
                (false, _) => connect::no_server(&address.address),
            };
            return Err(refused(why).into());
        }
        let (services, secret) = (tried.services, Secret::new(password));
        let granted = Granted { address: address.address, services, settings, secret };
        self.keep(login, &granted).await
    }
}

/// Logs in everywhere, and tells where that worked. A mailbox is one that can be read and sent from.
async fn try_out((mail, calendars, books): &Clients) -> Tried {
    let mail = async {
        let mailbox = mail.as_ref()?;
        let checked = async {
            mailbox.smtp.check().await?;
            match &mailbox.imap {
                Some(inbox) => inbox.check().await,
                None => Ok(()),
            }
        };
        Some(checked.await.map_err(SkillError::from))
    };
    let calendar = async {
        let all = calendars.as_ref()?.calendars().await;
        Some(all.map(drop).map_err(SkillError::from))
    };
    let contacts = async {
        let all = books.as_ref()?.address_books().await;
        Some(all.map(drop).map_err(SkillError::from))
    };
    let (mail, calendar, contacts) = join3(mail, calendar, contacts).await;
    let (mut services, mut is_password_wrong) = (Vec::new(), false);
    for (service, result) in [
        (AccountService::Mail, mail),
        (AccountService::Calendar, calendar),
        (AccountService::Contacts, contacts),
    ] {
        match result {
            Some(Ok(())) => services.push(service),
            Some(Err(error)) => is_password_wrong |= error.kind == ErrorKind::Auth,
            None => {}
        }
    }
    Tried { services, is_password_wrong }
}

/// Whether a word has the form in which providers show app passwords: four groups of four.
fn is_app_password(word: &str) -> bool {
    let is_group = |group: &str| group.len() == 4 && group.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    has_letter && word.split('-').count() == 4 && word.split('-').all(is_group)
}

/// Whether a message may hold a password: an app password as Apple or Google shows it, a word with letters and digits that
/// stands alone, or one behind "password".
pub fn looks_like_password(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(|char: char| !char.is_alphanumeric()).to_owned();
    let is_small = |word: &&str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_long = |word: &str| word.chars().count() >= 8;
    let is_name = |word: &&str| {
        let word = bare(word).to_lowercase();
        matches!(word.as_str(), "password" | "passwort" | "passcode" | "pw")
    };
    let is_mixed = |word: &str| {
        let has = |is: fn(char) -> bool| word.chars().any(is);
        is_long(word) && has(char::is_alphabetic) && has(char::is_numeric) && !word.contains(['/', '@'])
    };
    let behind_name = words.iter().position(is_name).map(|at| &words[at + 1..]);
    words.iter().any(|word| is_app_password(&bare(word)))
        || words.windows(4).any(|group| group.iter().all(is_small))
        || matches!(words.as_slice(), [word] if is_mixed(word))
        || behind_name.is_some_and(|words| words.iter().any(|word| is_long(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_password_is_recognised() {
        for text in [
            "abcd-efgh-ijkl-mnop",
            "it is `ab1d-efgh-ijkl-mnop`.",
            "it is abcd efgh ijkl mnop",
            "the password is abcdefghijklmnop",
            "my password: hunter22hunter",
            "Tr0ub4dor&3",
        ] {
            assert!(looks_like_password(text), "{text}");
        }
        for text in [
            "",
            "done",
            "what's on tomorrow?",
            "where do I make an app password?",
            "ada@example.org",
            "https://appleid.apple.com/account2",
            "calendars",
            "responsibilities",
            "remember the responsibilities of characterisation",
            "order 1234-5678-9012-3456",
            "use the read-only-file mode-of-it",
        ] {
            assert!(!looks_like_password(text), "{text}");
        }
    }

    #[test]
    fn a_person_has_five_passwords_an_hour() {
        let logins = Logins::default();
        let tries = |person: &str, now| logins.may_try(&person.into(), now);
        assert!((0..5).all(|_| tries("ada", 0)));
        assert!(!tries("ada", HOUR_MS - 1) && tries("bob", HOUR_MS - 1) && tries("ada", HOUR_MS));
    }
}
