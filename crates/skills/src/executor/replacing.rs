//! `assistant.replace`: a call that waits for a yes is made with other arguments. Its question is withdrawn in the commit
//! in which the new call takes hold, so whatever stops that one, exactly one of the two is left.

use adjutant_l10n as l10n;
use adjutant_store::executions::ExecutionRow;
use adjutant_store::{Batch, StoreError};
use adjutant_turn::journal::TurnContext;
use adjutant_types::{QuestionId, QuestionKind, Taint, ours};
use serde_json::Value;

use super::approval_policy::handler_in;
use super::{ActiveCall, CONFLICTS, Executor};
use crate::builtin::Withdrawal;
use crate::call::{Call, CallEnd};
use crate::{Failure, Grant, Registry, Result, SkillError};

struct Replacement {
    skill: String,
    arguments: Value,
    taint: Taint,
    replaces: Option<QuestionId>,
}

/// Whether a call stands for another one. Inside of an agent, or with a role, it could reach what that isn't granted.
pub(super) fn stands_for_another(registry: &Registry, call: &Call<'_>) -> bool {
    call.direct && call.path.is_empty() && handler_in(registry, call.skill) == "assistant.replace"
}

impl Executor {
    /// Makes the call that this one stands for, or goes on with it.
    pub(super) async fn replace(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        call: &Call<'_>,
        existing: Option<ExecutionRow>,
    ) -> Result<CallEnd, StoreError> {
        let replacement = match &existing {
            Some(row) => Replacement::begun(row),
            None => match self.replacement(ctx, registry, call).await {
                Ok(Some(replacement)) => replacement,
                Ok(None) => return self.make(ctx, registry, call, None).await,
                Err(Failure::Skill(error)) => return self.refuse(ctx, registry, call, error).await,
                Err(Failure::Store(error)) => return Err(error),
            },
        };
        let Replacement { skill, arguments, taint, replaces } = replacement;
        let grant = Grant { skills: vec![skill.clone()], ..call.grant.clone() };
        let (skill, arguments) = (skill.as_str(), &arguments);
        let call = Call { grant: &grant, skill, arguments, taint, replaces, ..call.clone() };
        self.make(ctx, registry, &call, existing).await
    }

    /// The call that is to be made; none of a plan, which the skill itself has made anew.
    async fn replacement(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        call: &Call<'_>,
    ) -> Result<Option<Replacement>> {
        ActiveCall::new(self, ctx, registry, call, None).granted()?;
        let question = QuestionId::from(call.arguments["question"].as_str().unwrap_or_default());
        let withdrawal = Withdrawal::of(ctx, &question).await?;
        if matches!(withdrawal.question.kind, QuestionKind::Plan { .. }) {
            return Ok(None);
        }
        let is_approval = matches!(withdrawal.question.kind, QuestionKind::Approval { .. });
        let Some(waiting) = withdrawal.waits.filter(|_| is_approval) else {
            return Err(SkillError::params(ours!(l10n::assistant::no_call)).into());
        };
        let mut replacement = Replacement::begun(&waiting);
        let changes = call.arguments["arguments"].as_object();
        if let (Some(arguments), Some(changes)) = (replacement.arguments.as_object_mut(), changes) {
            arguments.extend(changes.clone());
            arguments.retain(|_, value| !value.is_null());
        }
        // What was misread as a change may be a yes, and only the person gives that.
        if replacement.arguments == Replacement::begun(&waiting).arguments {
            return Err(SkillError::params(ours!(l10n::assistant::nothing_changes)).into());
        }
        replacement.taint.add(&call.taint);
        Ok(Some(Replacement { replaces: Some(question), ..replacement }))
    }
}

impl Replacement {
    /// A call as its row has it. The question that it replaced is closed.
    fn begun(row: &ExecutionRow) -> Self {
        let arguments = row.parameters.as_deref().and_then(|json| serde_json::from_str(json).ok());
        Self {
            skill: row.skill.clone().unwrap_or_default(),
            arguments: arguments.unwrap_or_default(),
            taint: row.taint.clone(),
            replaces: None,
        }
    }
}

impl ActiveCall<'_> {
    /// Adds the withdrawal of the question that this call replaces, if it replaces one.
    pub(super) async fn withdraw_replaced(&self, batch: &mut Batch) -> Result<()> {
        if let Some(question) = &self.call.replaces {
            Withdrawal::of(self.ctx, question).await?.write(self.ctx, batch);
        }
        Ok(())
    }

    /// Writes the commit from which on the call counts: it runs, or a person is asked. The question of a call that it
    /// replaces is withdrawn in it.
    pub(super) async fn take_hold(&self, batch: Batch) -> Result<()> {
        for _ in 0..CONFLICTS {
            let mut batch = batch.clone();
            self.withdraw_replaced(&mut batch).await?;
            match self.ctx.store.write(batch).await {
                // The question that it replaces was answered at this moment, or its turn moved on.
                Err(StoreError::Stale(why)) if why.is_content() && self.call.replaces.is_some() => {}
                done => return Ok(done.map(drop)?),
            }
        }
        Err(SkillError::tool(ours!(l10n::skills::conflict)).into())
    }
}
