//! The one path of every skill call.
//!
//! granted → valid → row → budget, breaker → risk → at work → closed. Properties:
//!
//! - A handler on our own store does its effect and closes the row in one commit, so a crash leaves
//!   both or neither, and the call is simply made again.
//! - Any other handler's row is `running` before its work starts. Found so after a crash, it is run
//!   again if its skill is repeatable, else it is `unknown`, and nobody repeats it.
//! - A yes is bound to the row and its exact arguments; it is looked up, never carried in memory.
//! - A refused call has its row too.

mod asking;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::breaker::Breakers;
use super::call::{Call, CallEnd, closing, new_row, report};
use super::handlers::{self, own_store, page};
use super::office::{Office, Work};
use super::risk;
use super::{ErrorKind, Handler, Output, Registry, Skill, SkillError, by_itself};
use crate::config::Policy;
use crate::domain::{ExecutionId, ExecutionStatus};
use crate::journal::{Scope, fail_point};
use crate::metrics;
use crate::store::Stale;
use crate::store::executions::{self, ExecutionRow};
use crate::store::{Batch, StoreError};
use crate::wording;

/// Runs skill calls.
pub struct Executor {
    /// The handlers' HTTP client.
    pub http: handlers::HttpClient,
    /// Where command handlers get their working directories.
    pub work_dir: PathBuf,
    /// Mail, calendar and contacts.
    pub office: Arc<Office>,
    /// Circuit breakers.
    pub breakers: Breakers,
}

impl Executor {
    /// Makes one skill call, or goes on with one that the journal has (`existing`).
    ///
    /// # Errors
    /// When the store fails or the lease is lost; the call is then as the journal says.
    pub async fn call(
        &self,
        scope: &Scope,
        registry: &Registry,
        call: &Call<'_>,
        existing: Option<ExecutionRow>,
    ) -> Result<CallEnd, StoreError> {
        if let Some(row) = existing {
            return self.go_on(scope, registry, call, row).await;
        }
        let row = new_row(scope, call);
        let skill = match self.admit(registry, call) {
            Ok(skill) => skill,
            Err(error) => return self.refuse(scope, call, row, error).await,
        };
        if let Err(limit) = scope.budget.take_skill_call() {
            return Ok(CallEnd::Held(limit));
        }
        if let Err(wait) = self.breakers.look(&skill.name, scope.store.now()) {
            return self.refuse(scope, call, row, circuit_open(&skill.name, wait)).await;
        }
        let look = match self.look(scope, &skill, call, &row.id).await? {
            Ok(look) => look,
            Err(error) => return self.refuse(scope, call, row, error).await,
        };
        match risk::policy(&scope.settings.approval, &skill.name, skill.risk.max(look.risk)) {
            Policy::Deny => {
                let error = SkillError::new(
                    ErrorKind::Permission,
                    format!("{} is not allowed here: [approval] in the configuration says deny", skill.name),
                );
                self.refuse(scope, call, row, error).await
            }
            Policy::Ask => self.ask(scope, &skill, row, call, look).await,
            Policy::Auto => self.run_checked(scope, &skill, call, row, false).await,
        }
    }

    fn admit(&self, registry: &Registry, call: &Call<'_>) -> Result<Arc<Skill>, SkillError> {
        if !call.granted.iter().any(|granted| granted == call.skill) {
            let message =
                format!("{} is not granted to this agent; it has {}", call.skill, call.granted.join(", "));
            return Err(SkillError::new(ErrorKind::Permission, message));
        }
        let Some(skill) = registry.get(call.skill) else {
            let message = format!("there is no skill {} any more", call.skill);
            return Err(SkillError::new(ErrorKind::NotFound, message));
        };
        if skill.workflow().is_some() {
            return Err(SkillError::new(ErrorKind::Params, by_itself(&skill.name)));
        }
        skill.validate(call.arguments).map_err(|message| SkillError::new(ErrorKind::Params, message))?;
        Ok(skill.clone())
    }

    async fn go_on(
        &self,
        scope: &Scope,
        registry: &Registry,
        call: &Call<'_>,
        row: ExecutionRow,
    ) -> Result<CallEnd, StoreError> {
        if row.status.has_ended() {
            return Ok(CallEnd::Closed(Box::new(report(&row))));
        }
        let skill = match self.admit(registry, call) {
            Ok(skill) => skill,
            Err(error) => return self.close(scope, call, &row, Err(error), Batch::new(), true).await,
        };
        // A row is made when its work begins, or when a person is asked. So one that is pending was held back after a yes.
        if matches!(row.status, ExecutionStatus::Waiting | ExecutionStatus::Pending) {
            return self.go_on_answered(scope, &skill, call, row).await;
        }
        let has_phases = matches!(&skill.handler, Handler::Builtin(name) if Office::has_phases(name));
        if skill.repeatable || has_phases {
            return self.run(scope, &skill, call, row, true).await;
        }
        let mut error = SkillError::new(ErrorKind::Tool, wording::UNKNOWN_OUTCOME);
        error.unknown = true;
        self.close(scope, call, &row, Err(error), Batch::new(), true).await
    }

    /// Runs a call unless its breaker is open.
    async fn run_checked(
        &self,
        scope: &Scope,
        skill: &Arc<Skill>,
        call: &Call<'_>,
        row: ExecutionRow,
        written: bool,
    ) -> Result<CallEnd, StoreError> {
        match self.breakers.check(&skill.name, scope.store.now()) {
            Ok(()) => self.run(scope, skill, call, row, written).await,
            Err(wait) => {
                let error = circuit_open(&skill.name, wait);
                self.close(scope, call, &row, Err(error), Batch::new(), written).await
            }
        }
    }

    async fn run(
        &self,
        scope: &Scope,
        skill: &Arc<Skill>,
        call: &Call<'_>,
        mut row: ExecutionRow,
        written: bool,
    ) -> Result<CallEnd, StoreError> {
        row.started_at = Some(row.started_at.unwrap_or_else(|| scope.store.now()));
        if let Handler::Builtin(name) = &skill.handler
            && !self.is_outside(name)
        {
            return self.run_on_own_store(scope, name, call, &row, written).await;
        }
        let again = row.status == ExecutionStatus::Running;
        let mut batch = scope.batch();
        if written {
            executions::start(&mut batch, &row.id, scope.store.now());
            executions::start(&mut batch, call.agent, scope.store.now());
        } else {
            row.status = ExecutionStatus::Running;
            executions::insert(&mut batch, &row, &scope.conversation.id);
            if call.direct {
                executions::start(&mut batch, call.agent, scope.store.now());
            }
        }
        scope.store.write(batch).await?;
        fail_point("skill-running");
        if !scope.lease.pulse.is_sure() {
            // Another process may take this turn at any moment, and would find the call under way.
            return Err(StoreError::Stale(Stale::LeaseLost));
        }
        let outcome = self.work(scope, skill, call.arguments, (&row.id, again)).await;
        fail_point("skill-worked");
        // That a person stopped it says nothing about the service.
        if !scope.cancel.is_cancelled() {
            let failure = outcome.as_ref().err().map(|error| error.kind);
            self.breakers.record(&skill.name, failure, scope.store.now());
        }
        self.close(scope, call, &row, outcome, Batch::new(), true).await
    }

    /// Effect and row in one commit. When a neighbour changed what the effect was worked out from, it
    /// is worked out again.
    async fn run_on_own_store(
        &self,
        scope: &Scope,
        handler: &str,
        call: &Call<'_>,
        row: &ExecutionRow,
        written: bool,
    ) -> Result<CallEnd, StoreError> {
        for _ in 0..3 {
            let prepared = match Office::has(handler) {
                true => {
                    let (id, arguments) = (&row.id, call.arguments);
                    let work = Work { scope, id, again: false, arguments };
                    self.office.prepare(&work, handler).await?
                }
                false => own_store::prepare(scope, handler, call.arguments).await?,
            };
            let (effect, outcome) = match prepared {
                Ok((effect, output)) => (effect, Ok(output)),
                Err(error) => (Batch::new(), Err(error)),
            };
            match self.close(scope, call, row, outcome, effect, written).await {
                Err(StoreError::Stale(why)) if own_store::is_about_content(why) => {}
                end => return end,
            }
        }
        let error =
            SkillError::new(ErrorKind::Tool, "others changed the same thing at the same time; try again");
        self.close(scope, call, row, Err(error), Batch::new(), written).await
    }

    async fn work(
        &self,
        scope: &Scope,
        skill: &Skill,
        arguments: &Value,
        (id, again): (&ExecutionId, bool),
    ) -> Result<Output, SkillError> {
        let timeout = skill.timeout.unwrap_or(scope.budget.limits.skill_timeout);
        let mut tries = 0;
        loop {
            tries += 1;
            let work = async {
                match &skill.handler {
                    Handler::Http(handler) => handlers::http::call(handler, arguments, &self.http).await,
                    Handler::Command(handler) => {
                        handlers::command::call(handler, arguments, &self.work_dir).await
                    }
                    Handler::Builtin(name) if name == page::FETCH => {
                        page::fetch(arguments, &self.http, &[]).await
                    }
                    Handler::Builtin(name) => {
                        let work = Work { scope, id, again: again || tries > 1, arguments };
                        self.office.call(&work, name).await
                    }
                    Handler::Workflow(_) => Err(SkillError::new(ErrorKind::Params, by_itself(&skill.name))),
                }
            };
            let outcome = tokio::select! {
                outcome = tokio::time::timeout(timeout, work) => outcome.unwrap_or_else(|_| {
                    let error = SkillError::new(ErrorKind::Timeout, silent(&skill.name, timeout));
                    Err(SkillError { unknown: true, ..error })
                }),
                () = scope.cancel.cancelled() => {
                    let error = SkillError::new(ErrorKind::Tool, "it was stopped while at work");
                    return Err(SkillError { unknown: !skill.repeatable, ..error });
                }
            };
            let Err(mut error) = outcome else { return outcome };
            error.unknown &= !skill.repeatable;
            match pause(&error, tries, scope.store.clock().random()) {
                Some(pause) if !error.unknown => tokio::select! {
                    () = tokio::time::sleep(pause) => metrics::retry("skill"),
                    () = scope.cancel.cancelled() => return Err(error),
                },
                _ => return Err(error),
            }
        }
    }

    /// Whether a handler of ours reaches beyond our own store.
    fn is_outside(&self, handler: &str) -> bool {
        handler == page::FETCH || (Office::has(handler) && !self.office.is_own(handler))
    }

    async fn refuse(
        &self,
        scope: &Scope,
        call: &Call<'_>,
        row: ExecutionRow,
        error: SkillError,
    ) -> Result<CallEnd, StoreError> {
        self.close(scope, call, &row, Err(error), Batch::new(), false).await
    }

    /// Writes how a call ended, its effect on our own store, and the end of a direct agent, in one commit.
    async fn close(
        &self,
        scope: &Scope,
        call: &Call<'_>,
        row: &ExecutionRow,
        outcome: Result<Output, SkillError>,
        effect: Batch,
        written: bool,
    ) -> Result<CallEnd, StoreError> {
        let now = scope.store.now();
        let (status, mut closing) = closing(call.skill, outcome);
        closing.started_at = row.started_at;
        let ended = row.closed(status, &closing, now);
        let mut batch = scope.batch();
        batch.append(effect);
        if written {
            executions::close(&mut batch, &row.id, status, &closing, now);
        } else {
            executions::insert(&mut batch, &ended, &scope.conversation.id);
        }
        if call.direct {
            executions::close(&mut batch, call.agent, status, &closing, now);
        }
        fail_point("skill-before-close");
        scope.store.write(batch).await?;
        fail_point("skill-closed");
        // A model may make up any name; those that are granted exist.
        let is_granted = call.granted.iter().any(|granted| granted == call.skill);
        metrics::skill_call_ended(if is_granted { call.skill } else { "unknown" }, status.as_str());
        Ok(CallEnd::Closed(Box::new(report(&ended))))
    }
}

fn silent(skill: &str, timeout: Duration) -> String {
    format!("{skill} gave no answer within {}", wording::duration(timeout))
}

fn circuit_open(skill: &str, wait_ms: i64) -> SkillError {
    let seconds = wait_ms.unsigned_abs().div_ceil(1000);
    let message = format!("{skill} failed too often of late; it will be tried again in {seconds} s");
    SkillError {
        retry_after: Some(Duration::from_secs(seconds)),
        ..SkillError::new(ErrorKind::CircuitOpen, message)
    }
}

/// How long to wait before another try, if there is to be one.
fn pause(error: &SkillError, tries: u32, chance: u128) -> Option<Duration> {
    let jitter = Duration::from_millis(u64::try_from(chance % 100).unwrap_or(0));
    match error.kind {
        // A credential is read anew for each try.
        ErrorKind::Auth if tries < 2 => Some(Duration::ZERO),
        ErrorKind::RateLimit if tries < 3 => {
            let wait = error.retry_after.unwrap_or(Duration::from_secs(1));
            (wait <= Duration::from_secs(30)).then_some(wait)
        }
        ErrorKind::Network if tries < 3 => Some(Duration::from_millis(200 << tries) + jitter),
        ErrorKind::Timeout if tries < 2 => Some(jitter),
        _ => None,
    }
}
