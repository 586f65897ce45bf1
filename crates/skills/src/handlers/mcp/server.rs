//! One configured server: it is started when it is needed, and stopped when it is not.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use adjutant_config::{McpConfig, McpLaunch, McpRevision, Secret};
use adjutant_l10n::mcp;
use adjutant_sandbox::Launcher;
use adjutant_turn::wording;
use adjutant_types::invisible_chars::line;
use adjutant_types::{ErrorText, FromConfig, Own, ours};
use rmcp::ServiceError;
use rmcp::model::ErrorCode;
use tokio::process::Child;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::definition::Definition;
use super::offers::Offer;
use super::open_calls::{Leg, OpenCall};
use super::session::{About, Session, Unconnected};
use super::{McpCall, McpTool, result};
use crate::handlers::http::without;
use crate::oauth::{LoginState, OAuth};
use crate::{ErrorKind, SkillError};

/// How long a server gets for its start.
const START: Duration = Duration::from_secs(30);
/// How long it gets to list its tools.
const LIST: Duration = Duration::from_secs(20);
/// How long it gets to show that it still works, after a call without an answer.
const PROBE: Duration = Duration::from_secs(2);
/// The first and the longest pause after a failed start.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

pub(super) struct Server {
    pub(super) name: String,
    pub(super) config: McpConfig,
    home: PathBuf,
    launcher: Launcher,
    idle: Duration,
    oauth: Arc<OAuth>,
    /// Whether its calls may stay open for a person's answer.
    holds_calls: AtomicBool,
    /// Whether it asks as the older revision has it, although it speaks the newer one.
    asks_as_older: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
    failures: u32,
    /// Before that, it isn't started again.
    retry_at: Option<Instant>,
    why: String,
}

impl Server {
    pub(super) fn new(
        name: &str,
        config: &McpConfig,
        home: PathBuf,
        launcher: &Launcher,
        idle: Duration,
        oauth: &Arc<OAuth>,
    ) -> Self {
        let (name, config, oauth) = (name.to_owned(), config.clone(), Arc::clone(oauth));
        let (holds_calls, asks_as_older) = (AtomicBool::new(true), AtomicBool::new(false));
        let (launcher, state) = (launcher.clone(), Mutex::default());
        Self { name, config, home, launcher, idle, oauth, holds_calls, asks_as_older, state }
    }

    /// Makes a call, if the tool is what an owner has accepted, or goes on with one. Nothing that it brings has our keys.
    pub(super) async fn call(
        self: &Arc<Self>,
        call: &McpCall<'_>,
        open: Option<OpenCall>,
    ) -> Result<Leg, SkillError> {
        let mut secrets = self.config.secrets();
        let is_new = open.is_none();
        let mut done = match (open, call.asked) {
            (Some(open), Some(asked)) => self.go_on(open, asked, call.progress).await,
            _ => self.begin(call).await,
        };
        // Tokens may end before their time. What was rejected wasn't done.
        let is_rejected = is_new && done.as_ref().is_err_and(|error| error.kind == ErrorKind::Auth);
        if is_rejected && self.renew(&mut secrets).await? {
            done = self.begin(call).await;
        }
        let session = self.state.lock().await.session.clone();
        secrets
            .extend(session.and_then(|session| session.token.clone()).map(|token| token.expose().to_owned()));
        match done {
            Ok(Leg::Done(output, files)) => {
                let (output, files) = result::without(output, files, &secrets);
                Ok(Leg::Done(output, files))
            }
            Ok(leg) => Ok(leg),
            Err(error) => Err(error.map(|text| without(text.to_owned(), &secrets))),
        }
    }

    /// Whether its calls may stay open for a person's answer.
    pub(super) fn holds_calls(&self) -> bool {
        self.holds_calls.load(Ordering::Relaxed)
    }

    pub(super) fn hold_no_calls(&self) {
        self.holds_calls.store(false, Ordering::Relaxed);
    }

    pub(super) async fn works(&self) {
        self.state.lock().await.failures = 0;
    }

    /// Gets another token after one was rejected. Returns whether there is a login to get it from.
    async fn renew(&self, secrets: &mut Vec<String>) -> Result<bool, SkillError> {
        let session = self.state.lock().await.session.clone();
        let token = session.and_then(|session| session.token.clone());
        let rejected = match token {
            Some(token) => token,
            None => match self.token().await? {
                Some(token) => token,
                None => return Ok(false),
            },
        };
        *self.state.lock().await = State::default();
        secrets.push(rejected.expose().to_owned());
        match &self.config.launch {
            McpLaunch::Url { oauth: Some(login), .. } => {
                self.oauth.renewed(login, &rejected).await?;
            }
            _ => {
                self.oauth.token_at_server(&self.name, Some(&rejected)).await?;
            }
        }
        Ok(true)
    }

    /// The token of its login, if it has one.
    async fn token(&self) -> Result<Option<Secret>, SkillError> {
        match &self.config.launch {
            McpLaunch::Url { oauth: Some(login), .. } => self.oauth.token(login).await.map(Some),
            McpLaunch::Url { oauth: None, .. } => self.oauth.token_at_server(&self.name, None).await,
            McpLaunch::Command { .. } => Ok(None),
        }
    }

    /// All definitions that the server has now.
    pub(super) async fn definitions(self: &Arc<Self>) -> Result<(About, Vec<Definition>), SkillError> {
        let session = self.session().await?;
        let _in_use = session.begin();
        let mut definitions = self.list(&session).await?;
        let offers = tokio::time::timeout(LIST, session.offers()).await.unwrap_or_default();
        for offer in offers.into_iter().map(Offer::definition) {
            if definitions.iter().all(|tool| tool.name != offer.name) {
                definitions.push(offer);
            }
        }
        Ok((session.about.clone(), definitions))
    }

    /// The state of the server, in a few words.
    pub(super) fn in_words(&self) -> String {
        match self.state.try_lock() {
            Err(_) => mcp::starting(),
            Ok(state) if state.session.as_ref().is_some_and(|session| !session.is_closed()) => mcp::running(),
            Ok(state) if state.retry_at.is_some_and(|at| at > Instant::now()) => {
                without(mcp::fails(&state.why), &self.config.secrets())
            }
            Ok(_) => mcp::stopped(),
        }
    }

    /// Stops it, if it runs.
    pub(super) async fn stop(&self) {
        let session = self.state.lock().await.session.take();
        if let Some(session) = session {
            session.close().await;
        }
    }

    #[cfg(test)]
    pub(super) async fn kill(&self) {
        let session = self.state.lock().await.session.take();
        if let Some(session) = session {
            session.kill();
        }
    }

    /// Refuses a tool that is no more what was accepted. The model has read what was accepted, so another definition is
    /// another tool.
    pub(super) async fn check(&self, session: &Arc<Session>, tool: &McpTool) -> Result<(), SkillError> {
        let now = self.list(session).await?;
        let Some(now) = now.into_iter().find(|now| now.name == tool.name) else {
            let message = ours!(mcp::tool_gone, self.shown(), FromConfig(&tool.name));
            return Err(SkillError::not_found(message));
        };
        if now.digest() == tool.digest {
            return Ok(());
        }
        let message = ours!(mcp::tool_changed, self.shown(), FromConfig(&tool.name));
        Err(SkillError::new(ErrorKind::Permission, message))
    }

    async fn list(&self, session: &Arc<Session>) -> Result<Vec<Definition>, SkillError> {
        let Ok(listed) = tokio::time::timeout(LIST, session.tools()).await else {
            let retry_after = self.discard(session, &mcp::why_list_late()).await;
            let message = ours!(mcp::list_late, self.shown(), Own(wording::duration(LIST)));
            return Err(SkillError { retry_after, ..SkillError::new(ErrorKind::Timeout, message) });
        };
        match listed {
            Ok(tools) => Ok(tools.iter().map(Definition::from).collect()),
            // It has only resources or prompts.
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => Ok(Vec::new()),
            Err(error) => Err(SkillError { unknown: false, ..self.failed(session, &error).await }),
        }
    }

    /// The connection, made now if there is none.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Arc<Session>, SkillError> {
        let token = self.token().await?;
        let mut state = self.state.lock().await;
        if let Some(session) = &state.session {
            if !session.is_closed() && session.token == token {
                return Ok(Arc::clone(session));
            }
            // One with an old token may still be at work; it ends with its last call.
            if session.is_closed() {
                session.kill();
            }
            state.session = None;
        }
        if let Some(wait) = state.retry_at.and_then(|at| at.checked_duration_since(Instant::now())) {
            let wait = wait.max(Duration::from_secs(1));
            let left = Own(wording::duration(Duration::from_secs(wait.as_secs())));
            let message = ours!(mcp::paused, self.shown(), state.why, left);
            return Err(SkillError { retry_after: Some(wait), ..SkillError::tool(message) });
        }
        let older = self.asks_as_older.load(Ordering::Relaxed).then_some(McpRevision::Handshake);
        let revision = older.or(self.config.revision);
        let start = Session::connect(&self.launcher, &self.config, &self.home, token, revision);
        let started = tokio::time::timeout(START, start).await;
        let too_late = || Err(mcp::why_start_late(wording::duration(START)).into());
        let (session, child) = match started.unwrap_or_else(|_| too_late()) {
            Ok(started) => started,
            Err(error) => {
                state.pause(&error.why);
                return Err(self.unstarted(&error).await);
            }
        };
        let session = Arc::new(session);
        tokio::spawn(watch(Arc::downgrade(self), Arc::downgrade(&session), child, self.idle));
        state.session = Some(Arc::clone(&session));
        state.retry_at = None;
        Ok(session)
    }

    async fn unstarted(&self, error: &Unconnected) -> SkillError {
        if error.is_refused {
            return SkillError::new(ErrorKind::Auth, self.rejected().await);
        }
        SkillError::tool(ours!(mcp::unusable, self.shown(), error.why))
    }

    /// The error for a missing or rejected credential: what to do about it.
    async fn rejected(&self) -> ErrorText {
        match (&self.config.launch, self.oauth.state_at_server(&self.name).await) {
            (McpLaunch::Url { oauth: Some(login), .. }, _) => {
                ours!(mcp::login_rejected, self.shown(), FromConfig(login))
            }
            (_, Some(LoginState::None)) => ours!(mcp::login_missing, self.shown()),
            (_, Some(_)) => ours!(mcp::login_ended, self.shown()),
            (_, None) => ours!(mcp::credential_rejected, self.shown()),
        }
    }

    /// The error for a failed exchange. After a lost connection, nobody knows what the server has done.
    pub(super) async fn failed(&self, session: &Arc<Session>, error: &ServiceError) -> SkillError {
        match error {
            ServiceError::McpError(error) => {
                let kind = match error.code {
                    ErrorCode::INVALID_PARAMS => ErrorKind::Params,
                    _ => ErrorKind::Tool,
                };
                SkillError::new(kind, ours!(mcp::answered, self.shown(), line(&error.message, 500)))
            }
            _ => match error.auth_challenge() {
                Some(challenge) => self.challenged(challenge, error.is_authorization_required()).await,
                None => {
                    let (message, why) = self.lost(session, error).await;
                    let retry_after = self.discard(session, &why).await;
                    let error = SkillError::new(ErrorKind::Network, message);
                    SkillError { unknown: true, retry_after, ..error }
                }
            },
        }
    }

    /// The error for a call that the server doesn't make: without a login, or with one that doesn't allow it. What it
    /// wants is kept for the next login.
    async fn challenged(&self, challenge: &str, is_refused: bool) -> SkillError {
        self.oauth.note_challenge(&self.name, challenge).await;
        if is_refused {
            return SkillError::new(ErrorKind::Auth, self.rejected().await);
        }
        let message = match self.oauth.state_at_server(&self.name).await {
            Some(_) => ours!(mcp::login_too_narrow, self.shown()),
            None => ours!(mcp::credential_too_narrow, self.shown()),
        };
        SkillError::new(ErrorKind::Permission, message)
    }

    /// Speaks the older revision from now on, where nobody has chosen one.
    pub(super) async fn speak_older(&self, session: &Arc<Session>) -> bool {
        let is_free = self.config.revision.is_none();
        self.asks_as_older.store(is_free, Ordering::Relaxed);
        // Other calls may be under way in the connection; it ends with the last.
        let mut state = self.state.lock().await;
        drop(state.session.take_if(|now| is_free && Arc::ptr_eq(now, session)));
        is_free
    }

    /// Why a connection was lost: for who made the call, and for the next ones.
    async fn lost(&self, session: &Session, error: &ServiceError) -> (ErrorText, String) {
        if session.has_flooded() {
            return (ours!(mcp::flooded, self.shown()), mcp::why_flooded());
        }
        if matches!(error, ServiceError::UnexpectedResponse) {
            return (ours!(mcp::not_of_protocol, self.shown()), mcp::why_not_of_protocol());
        }
        let words = session.last_words().await;
        if words.is_empty() {
            (ours!(mcp::ended, self.shown()), mcp::why_ended())
        } else {
            let message = ours!(mcp::ended_with_words, self.shown(), words);
            (message, mcp::why_ended_with_words(words))
        }
    }

    /// Ends a connection that doesn't work. Returns how long the next start has to wait.
    async fn discard(&self, session: &Arc<Session>, why: &str) -> Option<Duration> {
        let mut state = self.state.lock().await;
        if state.session.as_ref().is_some_and(|now| Arc::ptr_eq(now, session)) {
            state.session = None;
            state.pause(why);
        }
        let pause = state.retry_at.and_then(|at| at.checked_duration_since(Instant::now()));
        drop(state);
        session.kill();
        pause
    }

    pub(super) fn shown(&self) -> FromConfig<&str> {
        FromConfig(self.name.as_str())
    }
}

impl State {
    fn pause(&mut self, why: &str) {
        let (first, longest) = PAUSES;
        // Anybody may fail once.
        let pause = first.saturating_mul(2_u32.saturating_pow(self.failures.saturating_sub(1))).min(longest);
        self.retry_at = (self.failures > 0).then(|| Instant::now() + pause);
        self.failures = self.failures.saturating_add(1);
        why.clone_into(&mut self.why);
    }
}

/// A call that got no answer. Where nobody waits for it any more, the server must show that it still works.
pub(super) struct Hung {
    server: Weak<Server>,
    session: Option<Arc<Session>>,
}

impl Hung {
    /// Of a server, as long as there is nothing to wait for.
    pub(super) fn of(server: &Arc<Server>) -> Self {
        Self { server: Arc::downgrade(server), session: None }
    }

    /// Whether an answer is waited for now, and in which connection.
    pub(super) fn watch(&mut self, session: Option<Arc<Session>>) {
        self.session = session;
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        let Some((server, session)) = self.server.upgrade().zip(self.session.take()) else { return };
        tokio::spawn(async move {
            let listed = tokio::time::timeout(PROBE, session.tools()).await;
            if !listed.is_ok_and(|tools| tools.is_ok()) {
                server.discard(&session, "it doesn't answer").await;
            }
        });
    }
}

/// Waits until a connection's program has ended, or until it has been idle for long enough.
async fn watch(server: Weak<Server>, session: Weak<Session>, mut child: Option<Child>, idle: Duration) {
    while let Some(until) = session.upgrade().map(|session| session.idle_until(idle)) {
        let until = until.unwrap_or_else(|| Instant::now() + idle);
        let ended = async {
            match &mut child {
                Some(child) => drop(child.wait().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = ended => {
                if let Some(session) = session.upgrade() {
                    session.note_end();
                }
                return;
            }
            () = tokio::time::sleep_until(until) => {
                let Some((server, session)) = server.upgrade().zip(session.upgrade()) else { break };
                if session.idle_until(idle).is_some_and(|until| until <= Instant::now()) {
                    let mut state = server.state.lock().await;
                    if state.session.as_ref().is_some_and(|now| Arc::ptr_eq(now, &session)) {
                        state.session = None;
                    }
                    drop(state);
                    tokio::spawn(async move { session.close().await });
                    break;
                }
            }
        }
    }
    // Whoever drops the session kills it; here it is waited for, so that no zombie stays.
    if let Some(mut child) = child {
        let _ = child.wait().await;
        if let Some(session) = session.upgrade() {
            session.note_end();
        }
    }
}
