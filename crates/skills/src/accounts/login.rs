//! Logins under way, each bound to the person who asked for it and to the browser that opened its link first.
//!
//! ```text
//! offered → opened → arrived → exchanging → done or refused; before the provider's answer, after five minutes: expired
//! ```
//!
//! Properties:
//!
//! - A login connects an account to the person who asked for it, or to nobody. Whoever else brings its end, ends it.
//! - Each step is a row that one process alone can take: nothing is connected twice, or half.
//! - A code, a token or a password is in a row only sealed, and in no log.

mod keep;

pub(super) use keep::Granted;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use adjutant_config::{Config, ConnectConfig, OAuthConfig, People};
use adjutant_l10n::connect;
use adjutant_store::logins::{self, LoginRow};
use adjutant_store::outbox::{self, Message};
use adjutant_store::secrets::digest;
use adjutant_store::{Batch, Stale, Store, StoreError};
use adjutant_turn::journal::fail_point;
use adjutant_types::invisible_chars::line;
use adjutant_types::{AccountId, ConversationId, LoginId, LoginState, PersonId, ProviderKind};
use parking_lot::Mutex;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::SecretStore;
use super::provider::{application, provider_name, refused, section};
use crate::handlers::HttpClient;
use crate::oauth::{Brought, CodeRequest, DEVICE_GRANT, EndpointResponse, Next, Reply, ask, next, random};
use crate::{ErrorKind, Failure, Result, SkillError};

/// How long a person has, in milliseconds.
pub const LIFETIME_MS: i64 = 5 * 60 * 1000;
/// After this time in milliseconds, a code is exchanged by whoever sees it first; until then, by whoever took it.
const LEFT_MS: i64 = 5_000;
/// After this time in milliseconds, nobody waits for a server's answer any more: the endpoint has less.
const HUNG_MS: i64 = 60_000;
/// How often a provider is asked about a device code at most, and how much later it is if that was too often, in
/// milliseconds. https://learn.microsoft.com/entra/identity-platform/v2-oauth2-device-code
const POLL_MS: i64 = 5_000;
/// Where a browser ends without a web page: only `adjutant account add` listens there, or else the person copies the address.
/// Providers take any port of this machine (RFC 8252 §7.3).
pub const LOOPBACK: &str = "http://127.0.0.1:53682/connect/back";
/// How an address ends at which a browser comes back.
const BACK: &str = "/connect/back";
/// How much is shown of a provider's own words, in characters.
const MAX_WORDS: usize = 100;

/// Where a browser comes back to the web page of this address.
pub fn back_at(page: &str) -> String {
    format!("{page}{BACK}")
}

/// What begins and ends logins. Without `[connect]` it offers nothing.
#[derive(Default)]
pub struct Logins {
    pub(super) connect: Option<ConnectConfig>,
    /// The address of the web page, if there is one.
    page: Option<String>,
    pub(super) resolver: Option<SocketAddr>,
    pub(super) secrets: Arc<SecretStore>,
    pub(super) http: HttpClient,
    /// When each person's hour began, and their passwords since.
    pub(super) attempts: Mutex<HashMap<PersonId, (i64, u32)>>,
}

/// It can't be printed: whoever has its link goes on with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Begun {
    pub id: LoginId,
    /// What the person opens.
    pub link: Option<String>,
    /// Whether the person brings back the address at which they end.
    pub is_pasted: bool,
    /// The page where a code is typed, and the code.
    pub device: Option<(String, String)>,
}

/// A login whose link can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub person: PersonId,
    pub provider: ProviderKind,
}

/// It can't be printed either.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened {
    /// The provider's page.
    pub to: String,
    /// What the browser has to bring back, in a cookie.
    pub browser_secret: String,
}

/// Who brings the provider's answer.
#[derive(Debug, Clone, Copy)]
pub enum Bringer<'a> {
    Browser(&'a str),
    /// A person, who pasted the address at which they ended.
    Person(&'a PersonId),
}

/// What a provider sends the browser back with.
#[derive(Clone, PartialEq, Eq)]
pub enum ProviderReply {
    Code(String),
    /// The person doesn't allow it, or something is wrong: a word such as `access_denied`.
    Refused(String),
}

/// A login that has ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub conversation: ConversationId,
    pub account: AccountId,
    /// What the person was told.
    pub text: String,
}

/// What is to be done about a login that nobody brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    Poll(LoginId),
    Finish(LoginId),
}

/// Why a login didn't go on.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// It has expired, was used, or there never was one.
    #[error("the login was used already, or has expired")]
    Gone,
    /// Another person or browser brings it.
    #[error("somebody else brings it")]
    SomebodyElse,
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl From<StoreError> for LoginError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stale(Stale::LoginUsed) => Self::Gone,
            error => Self::Failed(Failure::Store(error)),
        }
    }
}

impl<E: Into<SkillError>> From<E> for LoginError {
    fn from(error: E) -> Self {
        Self::Failed(Failure::Skill(error.into()))
    }
}

/// What a login needs to go on; sealed in its row.
#[derive(Default, Serialize, Deserialize)]
struct Pending {
    /// What the provider brings back with its answer.
    state: String,
    /// The proof that the code is ours (RFC 7636).
    verifier: String,
    page: String,
    device: Option<Device>,
    code: Option<String>,
}

/// A login for which the person types a code elsewhere.
#[derive(Serialize, Deserialize)]
struct Device {
    code: String,
    interval_ms: i64,
}

/// What a pasted address, or one at which a browser arrives, carries: the state and the provider's answer. None if it is
/// none of ours.
pub fn carries_code(text: &str) -> Option<(String, ProviderReply)> {
    let address = text.split_whitespace().find(|word| word.contains(BACK) && word.contains('?'))?;
    let address = Url::parse(address.trim_matches(['<', '>', '"', '`'])).ok()?;
    let brought = Brought::of(&address);
    let reply = match (brought.code, brought.refusal) {
        (_, Some(refusal)) => ProviderReply::Refused(line(&refusal.error, MAX_WORDS)),
        (Some(code), None) => ProviderReply::Code(code),
        (None, None) => return None,
    };
    Some((brought.state.filter(|_| address.path().ends_with(BACK))?, reply))
}

impl Logins {
    pub fn new(config: &Config, secrets: Arc<SecretStore>) -> Self {
        let page = config.page().map(|(_, url)| url.to_owned());
        let (connect, resolver) = (config.connect.clone(), config.resolver);
        Self { connect, page, resolver, secrets, ..Self::default() }
    }

    /// What people may connect, in the order in which it is offered.
    pub fn offer(&self) -> &[ProviderKind] {
        self.connect.as_ref().map_or(&[], |connect| connect.offer.as_slice())
    }

    /// Who may connect accounts.
    pub fn people(&self) -> Option<&People> {
        self.connect.as_ref().map(|connect| &connect.people)
    }

    /// Whether a provider may regard us as an application in testing, whose logins end after seven days.
    // https://developers.google.com/identity/protocols/oauth2#expiration
    pub fn may_be_in_testing(&self, provider: ProviderKind) -> bool {
        let google = self.connect.as_ref().and_then(|connect| connect.google.as_ref());
        provider == ProviderKind::Google && google.is_some_and(|google| !google.is_internal)
    }

    pub(super) fn store(&self) -> Result<&Store, LoginError> {
        Ok(self.secrets.store()?)
    }

    fn application(&self, provider: ProviderKind) -> Result<&OAuthConfig, SkillError> {
        let found = self.connect.as_ref().and_then(|connect| application(connect, provider));
        found.ok_or_else(|| refused(connect::not_offered(provider_name(provider))))
    }

    /// Begins a login at a provider, for a new account or for one whose login has ended.
    pub async fn begin(
        &self,
        store: &Store,
        person: &PersonId,
        conversation: &ConversationId,
        provider: &str,
        account: Option<&AccountId>,
    ) -> Result<Begun> {
        let offered: Option<ProviderKind> = provider.parse().ok().filter(|kind| self.offer().contains(kind));
        let Some(kind) = offered else { return Err(refused(connect::not_offered(provider)).into()) };
        // Letters and digits alone, so that no chat takes a part of the link for markup.
        let nonce = digest(&random()?);
        let mut pending = Pending { state: random()?, ..Pending::default() };
        let mut begun = Begun { id: store.new_id(), link: None, is_pasted: false, device: None };
        let link = self.page.as_ref().map(|page| format!("{page}/connect/{nonce}"));
        let page = self.page.as_deref();
        let mut redirect = page.map_or_else(|| LOOPBACK.to_owned(), back_at);
        if kind == ProviderKind::Password {
            begun.link = link;
        } else {
            let oauth = self.application(kind)?;
            match &oauth.device_url {
                Some(address) if link.is_none() => {
                    let (device, shown) = self.device(kind, oauth, address).await?;
                    (pending.device, begun.device) = (Some(device), Some(shown));
                    redirect.clear();
                }
                _ => {
                    let CodeRequest { page, state, verifier } = CodeRequest::new(oauth, &redirect)?;
                    let page = page.to_string();
                    begun.is_pasted = link.is_none();
                    begun.link = link.or_else(|| Some(page.clone()));
                    pending = Pending { state, verifier, page, ..pending };
                }
            }
        }
        let now = store.now();
        let row = LoginRow {
            id: begun.id.clone(),
            person_id: person.clone(),
            conversation_id: conversation.clone(),
            provider: kind,
            account_id: account.cloned(),
            state: LoginState::Offered,
            nonce: digest(&nonce),
            oauth_state: digest(&pending.state),
            browser: None,
            sealed: self.seal(&begun.id, &pending).await?,
            redirect,
            expires_at: now + LIFETIME_MS,
            changed_at: now,
        };
        store.write(Batch::with(|batch| logins::offer(batch, &row))).await?;
        Ok(begun)
    }

    /// A code for the person to type elsewhere, and the page for it (RFC 8628).
    async fn device(
        &self,
        kind: ProviderKind,
        oauth: &OAuthConfig,
        address: &str,
    ) -> Result<(Device, (String, String)), SkillError> {
        let scopes = oauth.scopes.join(" ");
        let reply = self.ask(kind, oauth, address, &[("scope", &scopes)]).await?;
        let (Some(code), Some(user_code), Some(page)) =
            (reply.device_code, reply.user_code, reply.verification_uri)
        else {
            return Err(refused(connect::no_code(provider_name(kind))));
        };
        let seconds = i64::try_from(reply.interval.unwrap_or_default()).unwrap_or_default();
        let interval_ms = seconds.saturating_mul(1000).clamp(POLL_MS, LIFETIME_MS);
        Ok((Device { code, interval_ms }, (page, user_code)))
    }

    /// What an endpoint of a provider gives out.
    async fn ask(
        &self,
        kind: ProviderKind,
        oauth: &OAuthConfig,
        address: &str,
        form: &[(&str, &str)],
    ) -> Result<Reply, SkillError> {
        match ask(&self.http, oauth, &section(kind), address, form).await? {
            EndpointResponse::Success(reply) => Ok(reply),
            EndpointResponse::Error(refusal) => {
                Err(refused(connect::provider_refuses(provider_name(kind), refusal)))
            }
        }
    }

    async fn seal(&self, id: &LoginId, pending: &Pending) -> Result<String, SkillError> {
        let json = serde_json::to_string(pending)
            .map_err(|error| SkillError::tool(format!("a login can't be written: {error}")))?;
        Ok(self.secrets.seal(&name(id), &json).await?)
    }

    async fn pending(&self, row: &LoginRow) -> Result<Pending, LoginError> {
        let json = self.secrets.open(&name(&row.id), &row.sealed).await?;
        serde_json::from_str(json.expose()).map_err(|_| LoginError::Gone)
    }

    /// The login whose link this is, if nobody has opened it.
    pub(super) async fn row_of_link(&self, nonce: &str) -> Result<LoginRow, LoginError> {
        let store = self.store()?;
        let row = logins::by_nonce(store, &digest(nonce)).await?;
        let is_open = |row: &LoginRow| row.state == LoginState::Offered && row.expires_at > store.now();
        row.filter(is_open).ok_or(LoginError::Gone)
    }

    /// Whose login a link is. It changes nothing: chat platforms fetch links to preview them.
    pub async fn offered(&self, nonce: &str) -> Result<Offer, LoginError> {
        let row = self.row_of_link(nonce).await?;
        Ok(Offer { person: row.person_id, provider: row.provider })
    }

    /// Binds a login to the browser that goes on with its link.
    pub async fn open(&self, nonce: &str) -> Result<Opened, LoginError> {
        let row = self.row_of_link(nonce).await?;
        if row.provider == ProviderKind::Password {
            return Err(LoginError::Gone);
        }
        let to = self.pending(&row).await?.page;
        let (store, browser_secret) = (self.store()?, random()?);
        let (browser, now) = (digest(&browser_secret), store.now());
        store.write(Batch::with(|batch| logins::opened(batch, &row.id, &browser, now))).await?;
        Ok(Opened { to, browser_secret })
    }

    /// Takes the provider's answer. Brought by anybody but whom it is for, it ends the login.
    pub async fn arrived(
        &self,
        state: &str,
        reply: ProviderReply,
        by: Bringer<'_>,
    ) -> Result<LoginId, LoginError> {
        let store = self.store()?;
        let row = logins::by_state(store, &digest(state)).await?;
        let is_open = |row: &LoginRow| {
            matches!(row.state, LoginState::Offered | LoginState::Opened) && row.expires_at > store.now()
        };
        let row = row.filter(is_open).ok_or(LoginError::Gone)?;
        let is_theirs = match by {
            Bringer::Browser(secret) => row.browser.as_ref() == Some(&digest(secret)),
            Bringer::Person(person) => row.person_id == *person,
        };
        if !is_theirs {
            self.refuse(&row, connect::somebody_else()).await?;
            return Err(LoginError::SomebodyElse);
        }
        let code = match reply {
            ProviderReply::Code(code) => code,
            ProviderReply::Refused(why) => {
                let text = match why.as_str() {
                    "access_denied" => connect::declined(),
                    _ => connect::failed(connect::provider_refuses(provider_name(row.provider), why)),
                };
                self.refuse(&row, text.clone()).await?;
                return Err(refused(text).into());
            }
        };
        let pending = Pending { code: Some(code), ..self.pending(&row).await? };
        let sealed = self.seal(&row.id, &pending).await?;
        store.write(Batch::with(|batch| logins::arrived(batch, &row.id, &sealed, store.now()))).await?;
        fail_point("login-arrived");
        Ok(row.id)
    }

    /// Exchanges the code of a login for tokens, and connects the account.
    pub async fn finish(&self, id: &LoginId) -> Result<Finished, LoginError> {
        let store = self.store()?;
        let row = logins::by_id(store, id).await?;
        let row = row.filter(|row| row.state == LoginState::Arrived).ok_or(LoginError::Gone)?;
        let pending = self.pending(&row).await?;
        let code = pending.code.ok_or(LoginError::Gone)?;
        store.write(Batch::with(|batch| logins::claim(batch, id, store.now()))).await?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &row.redirect),
            ("code_verifier", &pending.verifier),
        ];
        let exchanged = async {
            let oauth = self.application(row.provider)?;
            self.ask(row.provider, oauth, &oauth.token_url, &form).await
        };
        let reply = exchanged.await;
        self.settle(&row, reply).await
    }

    /// Asks a provider whether the person has typed their code, and then connects the account. None if they haven't, or if
    /// it isn't time to ask.
    pub async fn poll(&self, id: &LoginId) -> Result<Option<Finished>, LoginError> {
        let (store, now) = (self.store()?, self.store()?.now());
        let row = logins::by_id(store, id).await?;
        let row = row.filter(|row| row.state == LoginState::Offered && row.expires_at > now);
        let row = row.ok_or(LoginError::Gone)?;
        let device = self.pending(&row).await?.device.ok_or(LoginError::Gone)?;
        if now < row.changed_at + device.interval_ms || !is_first(store, &row, now).await? {
            return Ok(None);
        }
        let oauth = self.application(row.provider)?;
        let form = [("grant_type", DEVICE_GRANT), ("device_code", &device.code)];
        let reply = match ask(&self.http, oauth, &section(row.provider), &oauth.token_url, &form).await {
            Ok(EndpointResponse::Success(reply)) => Ok(reply),
            Ok(EndpointResponse::Error(refusal)) => match next(&refusal.error) {
                Next::Ask => return Ok(None),
                Next::AskLessOften => {
                    let asked = LoginRow { changed_at: now, ..row };
                    is_first(store, &asked, now + POLL_MS).await?;
                    return Ok(None);
                }
                Next::GiveUp => Err(refused(connect::provider_refuses(provider_name(row.provider), refusal))),
            },
            // It may be there again the next time; the login ends at some time.
            Err(error) if matches!(error.kind, ErrorKind::Network | ErrorKind::Timeout) => return Ok(None),
            Err(error) => Err(error),
        };
        store.write(Batch::with(|batch| logins::answered(batch, &row.id, store.now()))).await?;
        self.settle(&row, reply).await.map(Some)
    }

    /// Ends what is over, and tells what is to be done about the rest.
    pub async fn due(&self) -> Result<Vec<Due>, LoginError> {
        let (store, mut due) = (self.store()?, Vec::new());
        for row in logins::unfinished(store).await? {
            let now = store.now();
            let (age, is_over) = (now - row.changed_at, row.expires_at <= now);
            let (is_hung, is_device) = (age > HUNG_MS, row.redirect.is_empty());
            let ended = match row.state {
                LoginState::Exchanging if is_hung => self.refuse(&row, connect::interrupted()).await,
                LoginState::Arrived if is_over && is_hung => self.refuse(&row, connect::interrupted()).await,
                // Somebody may have asked a server in time, and wait for its answer.
                LoginState::Offered | LoginState::Opened if is_over && is_hung => {
                    let batch = Batch::with(|batch| logins::end(batch, &row.id, LoginState::Expired, now));
                    store.write(batch).await.map(drop).map_err(LoginError::from)
                }
                LoginState::Arrived if age > LEFT_MS => {
                    due.push(Due::Finish(row.id));
                    Ok(())
                }
                LoginState::Offered if is_device && !is_over && age >= POLL_MS => {
                    due.push(Due::Poll(row.id));
                    Ok(())
                }
                _ => Ok(()),
            };
            match ended {
                // Somebody else was faster.
                Ok(()) | Err(LoginError::Gone) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(due)
    }

    /// Ends a login without an account, and tells its person why.
    async fn refuse(&self, row: &LoginRow, text: String) -> Result<(), LoginError> {
        let (store, mut batch) = (self.store()?, Batch::new());
        logins::end(&mut batch, &row.id, LoginState::Refused, store.now());
        outbox::say(store, &mut batch, &row.conversation_id, &outbox::anybody(), &Message::from(text));
        store.write(batch).await?;
        Ok(())
    }
}

/// The name under which a login's secrets are sealed.
fn name(id: &LoginId) -> String {
    format!("login/{id}")
}

/// Whether it's us who ask about a device code next.
async fn is_first(store: &Store, row: &LoginRow, now: i64) -> Result<bool, StoreError> {
    store.try_write(Batch::with(|batch| logins::polled(batch, row, now))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_address_is_recognised_whatever_stands_around_it() {
        let of = |text: &str| {
            carries_code(text).map(|(state, reply)| match reply {
                ProviderReply::Code(code) => format!("{state} {code}"),
                ProviderReply::Refused(why) => format!("{state} refused {why}"),
            })
        };
        let pasted = "http://127.0.0.1:53682/connect/back?state=s1&code=c%2F1&scope=x";
        for text in [pasted.to_owned(), format!("here: <{pasted}> ok?"), format!("`{pasted}`\n")] {
            assert_eq!(of(&text).as_deref(), Some("s1 c/1"), "{text}");
        }
        let refused = of("https://bot.example.org/connect/back?error=access_denied&state=s1");
        assert_eq!(refused.as_deref(), Some("s1 refused access_denied"));
        let (other, bare) = ("https://x.test/?state=a&code=b", "http://a.test/connect/back?state=a");
        for text in ["", "what is /connect/back?", other, bare] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
