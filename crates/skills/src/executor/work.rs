//! The work of a call outside our own store, with its time-out and its retries.

use std::time::Duration;

use adjutant_l10n::skills;
use adjutant_store::Batch;
use adjutant_types::metrics;
use adjutant_types::{FromConfig, ours};

use super::retry::delay_before_retry;
use super::{ActiveCall, Approved, timed_out};
use crate::builtin::{self, CallContext, Idempotency};
use crate::handlers::mcp::{McpCall, WorkResult};
use crate::{Failure, Handler, Skill, SkillError, by_itself, handlers};

/// How much longer than its question a call stays open that waits for a person.
const LINGER: Duration = Duration::from_mins(1);

impl ActiveCall<'_> {
    /// Does what a call does outside our own store, again where that may help.
    pub(super) async fn work(
        &self,
        skill: &Skill,
        mut context: CallContext<'_>,
        approved: &Approved,
    ) -> Result<(WorkResult, Batch), SkillError> {
        let (ctx, timeout) = (self.ctx, self.timeout(skill));
        let is_repeatable = context.effect == Idempotency::Repeatable;
        for attempt in 1.. {
            let mut writes = Batch::new();
            let work = self.work_once(skill, &context, approved, &mut writes);
            let done = tokio::select! {
                done = tokio::time::timeout(timeout, work) => done.unwrap_or_else(|_| {
                    Err(SkillError { unknown: true, ..timed_out(&skill.name, timeout) })
                }),
                () = ctx.control.cancel.cancelled() => {
                    let error = SkillError::tool(ours!(skills::stopped));
                    return Err(SkillError { unknown: !is_repeatable, ..error });
                }
            };
            let mut error = match done {
                Ok(answer) => return Ok((answer, writes)),
                Err(error) => error,
            };
            error.unknown &= !is_repeatable;
            let delay = delay_before_retry(&error, attempt, ctx.store.clock().random());
            let Some(delay) = delay.filter(|_| !error.unknown) else { return Err(error) };
            tokio::select! {
                () = tokio::time::sleep(delay) => metrics::retry("skill"),
                () = ctx.control.cancel.cancelled() => return Err(error),
            }
            context.is_retry = true;
        }
        Err(SkillError::unknown_outcome())
    }

    async fn work_once(
        &self,
        skill: &Skill,
        context: &CallContext<'_>,
        approved: &Approved,
        writes: &mut Batch,
    ) -> Result<WorkResult, SkillError> {
        let arguments = context.arguments;
        let alone = |failure| match failure {
            Failure::Skill(error) => error,
            Failure::Store(error) => SkillError::tool(error.to_string()),
        };
        let done = match &skill.handler {
            Handler::Http(handler) => {
                handlers::transfer::call(skill, handler, context, writes).await.map_err(alone)
            }
            Handler::Command(handler) => {
                let (work_dir, launcher) = (&self.executor.work_dir, &self.executor.launcher);
                handlers::command::call(handler, arguments, work_dir, launcher).await
            }
            Handler::Mcp(tool) => {
                let place = (&self.ctx.turn.id, &self.row.id);
                let patience = self.ctx.limits.budget.limits.prompt_expires + LINGER;
                let call = McpCall { tool, arguments, place, asked: self.asked.as_ref(), patience };
                return context.services.mcp.call(call).await;
            }
            Handler::Instructions(call) => {
                let (work_dir, launcher) = (&self.executor.work_dir, &self.executor.launcher);
                context.services.instructions.call(call, arguments, work_dir, launcher).await
            }
            Handler::Builtin(name) => {
                let missing = || SkillError::not_found(ours!(skills::no_builtin, FromConfig(name)));
                let builtin = builtin::find(name).ok_or_else(missing)?;
                builtin.run(context, approved, writes).await.map_err(alone)
            }
            Handler::Workflow(_) => Err(SkillError::params(by_itself(&skill.name))),
        };
        done.map(WorkResult::Done)
    }
}
