//! The work of a call outside our own store, with its time-out and its retries.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Backoff;
use adjutant_l10n::skills;
use adjutant_store::Batch;
use adjutant_types::{Basis, FromConfig, metrics, ours};
use tokio::time::Instant;

use super::{ActiveCall, Approved, WROTE_AGAIN, timed_out};
use crate::builtin::{self, CallContext, Idempotency};
use crate::handlers::mcp::{self, McpCall, ProgressLine, WorkResult};
use crate::{ErrorKind, Failure, Handler, Skill, SkillError, by_itself, handlers};

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(400), Duration::from_secs(10));

/// The longest wait for a service.
const LONGEST: Duration = Duration::from_secs(30);

/// How much longer than its question a call stays open that waits for a person.
const LINGER: Duration = Duration::from_mins(1);

impl ActiveCall<'_> {
    pub(super) async fn work(
        &self,
        skill: &Skill,
        mut context: CallContext<'_>,
        approved: &Approved,
    ) -> Result<(WorkResult, Batch), SkillError> {
        let (ctx, timeout) = (self.ctx, self.timeout(skill));
        let is_repeatable = context.effect == Idempotency::Repeatable;
        // All attempts share the call's time, unless an MCP server has to rest in between.
        let (begun, rests) = (Instant::now(), skill.handler.tool().is_some());
        let left = || if rests { timeout } else { timeout.saturating_sub(begun.elapsed()) };
        // Of a call that may be made again, or goes on after a crash, an earlier attempt may have done something.
        let may_be_done =
            context.is_retry || !matches!(context.effect, Idempotency::Once | Idempotency::Phased);
        for attempt in 1.. {
            let mut writes = Batch::new();
            let work = self.work_once(skill, &context, approved, &mut writes);
            let done = tokio::select! {
                done = tokio::time::timeout(left(), work) => done.unwrap_or_else(|_| {
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
            // What a person has said yes to is done, whatever they write meanwhile.
            let is_said = self.row.basis == Some(Basis::Approval);
            let heeds_news = !may_be_done && !error.unknown && !is_said && skill.has_effect();
            error.unknown &= !is_repeatable;
            let delay = delay_before_retry(&error, attempt, ctx.store.clock().random());
            let delay = delay.filter(|delay| !error.unknown && *delay < left());
            let Some(delay) = delay else { return Err(error) };
            tokio::select! {
                biased;
                () = ctx.control.cancel.cancelled() => return Err(error),
                () = ctx.control.steering.news(), if heeds_news => {
                    return Err(SkillError::new(ErrorKind::Overtaken, WROTE_AGAIN));
                }
                () = tokio::time::sleep(delay) => metrics::retry("skill"),
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
                let ids = (&self.ctx.turn.id, &self.row.id);
                let patience = self.ctx.limits.budget.limits.prompt_expires + LINGER;
                let display = Arc::clone(&self.ctx.io.sub_progress);
                let progress = &ProgressLine { display, agent: self.call.agent_name.to_owned() };
                let (asked, progress) = (self.asked.as_ref(), Some(progress));
                let call = McpCall { tool, arguments, ids, asked, patience, progress };
                return Ok(match context.services.mcp.call(call).await? {
                    (WorkResult::Done(output), files) => {
                        WorkResult::Done(mcp::with_files(context, tool, output, files, writes).await)
                    }
                    (asks, _) => asks,
                });
            }
            Handler::Instructions(call) => {
                let workspace = (self.executor.work_dir.as_path(), &self.executor.launcher);
                context.services.instructions.call(call, context, workspace, writes).await.map_err(alone)
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

/// How long to wait before the next attempt, if there is to be one.
fn delay_before_retry(error: &SkillError, attempt: u32, random: u128) -> Option<Duration> {
    // A service can't be asked before the time that it names.
    let no_earlier = |delay: Duration| {
        let delay = error.retry_after.map_or(delay, |wait| delay.max(wait));
        (delay <= LONGEST).then_some(delay)
    };
    match error.kind {
        // A credential is read anew for each attempt.
        ErrorKind::Auth if attempt < 2 => Some(Duration::ZERO),
        ErrorKind::RateLimit if attempt < 3 => {
            no_earlier(error.retry_after.unwrap_or(Duration::from_secs(1)))
        }
        ErrorKind::Network if attempt < 3 => no_earlier(BACKOFF.after(attempt, random)),
        ErrorKind::Timeout if attempt < 2 => no_earlier(BACKOFF.after(1, random)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_waits_for_the_pause_that_its_failure_began() {
        let error = |retry_after| SkillError { retry_after, ..SkillError::new(ErrorKind::Network, "gone") };
        let after = |wait| delay_before_retry(&error(wait), 2, 0);
        assert!(after(None).unwrap() <= Duration::from_secs(1));
        assert_eq!(after(Some(Duration::from_secs(4))), Some(Duration::from_secs(4)));
        assert_eq!(after(Some(Duration::from_mins(2))), None);
    }
}
