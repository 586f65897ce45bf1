//! A call from its start to its answer, with the server's questions in between.
//!
//! - A server of the stateless revision ends a call with its questions, and is called again with the answers.
//! - A server of the older one asks while the call runs. Then the call stays open in this process until a person has
//!   answered. With the process, or the connection, it's gone: nothing is called again by itself.
//! - A server that says it speaks the stateless revision, but can ask only as in the older one, is called again in that.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use adjutant_l10n::mcp;
use adjutant_types::{ExecutionId, TurnId, ours};
use parking_lot::Mutex;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ElicitResult, ElicitationAction, ErrorCode};
use tokio::sync::oneshot;

use super::asked::{Ask, Asked, MAX_ROUNDS};
use super::client::{Listener, Question};
use super::offers::Offer;
use super::result::{self, InlineFile};
use super::server::{Hung, Server};
use super::session::{InUse, Session};
use super::{McpCall, ProgressLine};
use crate::{ErrorKind, Output, SkillError};

/// How long a server that only wants to be called again gets in between.
const PAUSE: Duration = Duration::from_millis(250);
/// The error of a server that wants a page opened before the call.
const OPEN_FIRST: ErrorCode = ErrorCode(-32042);

/// The outcome of a call so far.
pub(super) enum Leg {
    Done(Output, Vec<InlineFile>),
    /// The server wants to know more. Its call may be under way.
    Asks(Asked, Option<OpenCall>),
    /// The server wanted to ask, and can't in this revision.
    AsksInVain,
}

/// A call that is under way.
pub(super) struct OpenCall {
    session: Arc<Session>,
    answer: Pin<Box<dyn Future<Output = Result<CallToolResponse, ServiceError>> + Send>>,
    listener: Listener,
    /// Where the answer to the open question goes.
    reply: Option<oneshot::Sender<ElicitResult>>,
    rounds: u32,
    /// Why a question of it was declined without asking anybody.
    declined: Option<String>,
    hung: Hung,
    _in_use: InUse,
}

enum Event {
    Answered(Result<CallToolResponse, ServiceError>),
    Asks(Question),
}

impl OpenCall {
    async fn next(&mut self) -> Event {
        // The answer first: with it, no question matters any more.
        tokio::select! {
            biased;
            answer = &mut self.answer => Event::Answered(answer),
            question = self.listener.next() => Event::Asks(question),
        }
    }

    /// Whether somebody waits for it, and would miss an answer.
    fn run(&mut self, runs: bool) {
        self.listener.park(!runs);
        self.hung.watch(runs.then(|| Arc::clone(&self.session)));
    }
}

impl Server {
    /// Calls a tool, if it is what an owner has accepted. After its questions, it is called again with the answers.
    pub(super) async fn begin(self: &Arc<Self>, call: &McpCall<'_>) -> Result<Leg, SkillError> {
        let mut again: Option<Asked> = None;
        loop {
            match self.begin_once(call, again.as_ref().or(call.asked)).await? {
                Leg::Asks(asked, None) if asked.is_pause() => {
                    tokio::time::sleep(PAUSE).await;
                    again = Some(asked);
                }
                // Once: from now on it's spoken to in the older revision.
                Leg::AsksInVain => again = None,
                leg => return Ok(leg),
            }
        }
    }

    async fn begin_once(
        self: &Arc<Self>,
        call: &McpCall<'_>,
        asked: Option<&Asked>,
    ) -> Result<Leg, SkillError> {
        let tool = call.tool;
        if asked.is_some_and(Asked::is_in_vain) {
            let message = ours!(mcp::page_not_opened, self.shown());
            return Err(SkillError::new(ErrorKind::Unapproved, message));
        }
        let session = self.session().await?;
        let in_use = session.begin();
        let mut hung = Hung::of(self);
        let offer = Offer::of(tool);
        if offer.is_none() {
            self.check(&session, tool).await?;
        }
        hung.watch(Some(Arc::clone(&session)));
        let arguments = call.arguments.as_object().cloned().unwrap_or_default();
        let mut request = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        if let Some(asked) = asked {
            let responses = asked.responses();
            request.input_responses = (!responses.is_empty()).then_some(responses);
            request.request_state.clone_from(&asked.state);
        }
        let listener = session.listen();
        let open = OpenCall {
            answer: Box::pin(session.call(request, offer)),
            session,
            listener,
            reply: None,
            rounds: asked.map_or(0, |asked| asked.rounds),
            declined: None,
            hung,
            _in_use: in_use,
        };
        self.follow(open, call.progress).await
    }

    /// Goes on with a call that was open, with the answer to its question.
    pub(super) async fn go_on(
        self: &Arc<Self>,
        mut open: OpenCall,
        asked: &Asked,
        progress: Option<&ProgressLine>,
    ) -> Result<Leg, SkillError> {
        if let (Some(reply), Some(answer)) = (open.reply.take(), asked.result()) {
            // If the call is over by now, its end says what came of it.
            let _ = reply.send(answer);
        }
        self.follow(open, progress).await
    }

    /// Follows a call to its end, or to a question for a person.
    async fn follow(
        self: &Arc<Self>,
        mut open: OpenCall,
        progress: Option<&ProgressLine>,
    ) -> Result<Leg, SkillError> {
        open.listener.show_in(progress);
        open.run(true);
        let answer = loop {
            let Question { params, reply } = match open.next().await {
                Event::Answered(answer) => break answer,
                Event::Asks(question) => question,
            };
            if open.rounds == MAX_ROUNDS {
                open.run(false);
                return Err(SkillError { unknown: true, ..self.asks_too_often() });
            }
            let ask = if self.holds_calls() { Ask::read("", &params) } else { Err(mcp::nobody_here()) };
            match ask {
                Ok(ask) => {
                    open.run(false);
                    open.rounds += 1;
                    open.reply = Some(reply);
                    return Ok(Leg::Asks(Asked::in_open_call(ask, open.rounds), Some(open)));
                }
                Err(why) => {
                    let _ = reply.send(ElicitResult::new(ElicitationAction::Decline));
                    open.declined = Some(why);
                }
            }
        };
        open.run(false);
        let declined = open.declined.take();
        self.read(Arc::clone(&open.session), open.rounds, answer).await.map_err(|error| match declined {
            Some(why) => {
                let message = ours!(mcp::question_declined, error.message, why);
                SkillError { message, ..error }
            }
            None => error,
        })
    }

    async fn read(
        self: &Arc<Self>,
        session: Arc<Session>,
        rounds: u32,
        answer: Result<CallToolResponse, ServiceError>,
    ) -> Result<Leg, SkillError> {
        if session.is_stateless && result::asks_in_vain(&answer) && self.speak_older(&session).await {
            return Ok(Leg::AsksInVain);
        }
        match answer {
            Ok(CallToolResponse::Complete(done)) => {
                self.works().await;
                result::read(&self.name, done).map(|(output, files)| Leg::Done(output, files))
            }
            Ok(CallToolResponse::InputRequired(asks)) => self.asks(Asked::read(&asks, rounds + 1), rounds),
            Ok(_) => {
                let message = ours!(mcp::answered_with_task, self.shown());
                Err(SkillError { unknown: true, ..SkillError::tool(message) })
            }
            Err(ServiceError::McpError(error)) if error.code == OPEN_FIRST => {
                self.asks(Asked::first(&error.data.unwrap_or_default(), rounds + 1), rounds)
            }
            Err(error) => Err(self.failed(&session, &error).await),
        }
    }

    /// The questions of a server that has ended its call with them: by the protocol, it isn't done.
    fn asks(&self, asked: Result<Asked, String>, rounds: u32) -> Result<Leg, SkillError> {
        if rounds == MAX_ROUNDS {
            return Err(self.asks_too_often());
        }
        match asked {
            Ok(asked) => Ok(Leg::Asks(asked, None)),
            Err(why) => Err(SkillError::tool(ours!(mcp::question_unasked, self.shown(), why))),
        }
    }

    fn asks_too_often(&self) -> SkillError {
        SkillError::tool(ours!(mcp::asks_too_often, self.shown(), MAX_ROUNDS))
    }

    /// The error for a call that isn't open any more.
    pub(super) fn gone(&self) -> SkillError {
        SkillError { unknown: true, ..SkillError::tool(ours!(mcp::connection_gone, self.shown())) }
    }
}

/// The calls that stay open until a person answers.
#[derive(Default)]
pub(super) struct OpenCalls {
    calls: Mutex<HashMap<ExecutionId, (TurnId, OpenCall)>>,
}

impl OpenCalls {
    /// Holds a call, at most for that long.
    pub(super) fn put(
        self: &Arc<Self>,
        turn: &TurnId,
        call: &ExecutionId,
        open: OpenCall,
        longest: Duration,
    ) {
        self.calls.lock().insert(call.clone(), (turn.clone(), open));
        let (calls, call): (Weak<Self>, ExecutionId) = (Arc::downgrade(self), call.clone());
        // Another instance may have gone on with the turn.
        tokio::spawn(async move {
            tokio::time::sleep(longest).await;
            let gone = calls.upgrade().and_then(|calls| calls.take(&call));
            drop(gone);
        });
    }

    pub(super) fn take(&self, call: &ExecutionId) -> Option<OpenCall> {
        self.calls.lock().remove(call).map(|(_, open)| open)
    }

    /// Lets go of the calls of a turn that has ended. Their servers are told that nobody answers.
    pub(super) fn release(&self, turn: &TurnId) {
        let mut calls = self.calls.lock();
        let (gone, remaining) = std::mem::take(&mut *calls).into_iter().partition(|(_, (of, _))| of == turn);
        *calls = remaining;
        drop(calls);
        let gone: HashMap<ExecutionId, (TurnId, OpenCall)> = gone;
        drop(gone);
    }

    pub(super) fn clear(&self) {
        let gone = std::mem::take(&mut *self.calls.lock());
        drop(gone);
    }
}
