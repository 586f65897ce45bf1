//! Whether a person must be asked although the policy asks nobody: because of where a call's text came from, or because
//! of how much its turn has done already.

use serde_json::Value;

use super::{ActiveCall, implementation};
use crate::domain::{ExecutionStatus, Taint};
use crate::journal::Scope;
use crate::skills::builtin::{self, BuiltinSkill};
use crate::skills::{Failure, Handler, Output, Registry, Skill, sources};
use crate::store::{Batch, StoreError, executions, taints};
use crate::trust::{self, Act, Doubt, MOST_DELETIONS, Reached, Target};

/// The domains whose things a person keeps, with their ids in `data`.
const KEPT: [&str; 5] = ["tasks", "memory", "schedule", "contacts", "calendar"];
/// The arguments that hold words of a person's, which may be somebody else's.
const WORDS: [&str; 8] =
    ["title", "text", "name", "notes", "location", "organization", "description", "body"];

impl ActiveCall<'_> {
    /// Why a person must be asked; none if the call may go on.
    pub(super) async fn doubt(
        &self,
        registry: &Registry,
        builtin: &dyn BuiltinSkill,
    ) -> Result<Option<Doubt>, Failure> {
        let Some(act) = builtin.act() else { return Ok(None) };
        let (scope, arguments) = (self.scope, self.call.arguments);
        let recipients = recipients(handler_in(registry, self.call.skill), arguments);
        let is_tainted = !self.call.taint.is_clean();
        if !is_tainted && recipients == 0 && act != Act::Delete {
            return Ok(None);
        }
        let so_far = scope.reached.get_or_try_init(|| reached_by(scope, registry)).await?;
        let reached = so_far.mail(if self.is_ahead { 0 } else { recipients });
        let targets = if is_tainted || act == Act::Delete { self.targets(builtin).await? } else { &[] };
        if act == Act::Delete {
            let things = targets.len().max(1);
            if so_far.delete(if self.is_ahead { 0 } else { things }) + things > MOST_DELETIONS {
                return Ok(Some(Doubt::TooManyDeletions));
            }
        }
        if !is_tainted {
            return Ok(None);
        }
        let most = scope.budget.limits.recipients_per_turn as usize;
        Ok(trust::doubt(act, targets, scope.words().await?, (reached, most)))
    }

    /// The recipients that the person's words don't name, and all recipients.
    pub(super) async fn recipients(
        &self,
        builtin: &dyn BuiltinSkill,
    ) -> Result<(Vec<String>, Vec<String>), Failure> {
        let targets = self.targets(builtin).await?;
        let address = |target: &Target| match target {
            Target::Recipient { address, .. } => Some(address.clone()),
            _ => None,
        };
        let all = targets.iter().filter_map(address).collect();
        Ok((trust::strangers(targets, self.scope.words().await?), all))
    }

    async fn targets(&self, builtin: &dyn BuiltinSkill) -> Result<&[Target], Failure> {
        let context = self.context(builtin.effect(&self.executor.services), false);
        Ok(self.targets.get_or_try_init(|| builtin.targets(&context)).await?)
    }

    /// Adds the sources of outside text in an output, and of what the person keeps that was made from such text.
    pub(super) async fn read_sources(&self, skill: &Skill, output: &mut Output) -> Result<Taint, StoreError> {
        let mut taint = self.call.taint.clone();
        let domain = domain(skill);
        if output.untrusted && self.executor.services.mcp.has(domain) {
            // Whatever the data says of its origin, it comes from there.
            taint.add(&Taint::by(&format!("the MCP server “{domain}”")));
        } else if output.untrusted {
            taint.add(&sources::of_output(skill.title(), &output.data));
        }
        if KEPT.contains(&domain) {
            let kept = taints::of_domain(&self.scope.store, domain).await?;
            for id in ids(&output.data).filter(|_| !kept.is_empty()) {
                if let Some(source) = kept.get(id) {
                    output.untrusted = true;
                    taint.add(source);
                }
            }
        }
        Ok(taint)
    }

    /// Marks what a call in a tainted turn has kept, unless all its words are the person's own.
    pub(super) async fn mark_kept(
        &self,
        skill: &Skill,
        output: &Output,
        writes: &mut Batch,
    ) -> Result<(), StoreError> {
        let (scope, domain) = (self.scope, domain(skill));
        let act = implementation(skill).and_then(BuiltinSkill::act);
        let Some(id) = output.data["id"].as_str().filter(|_| KEPT.contains(&domain)) else { return Ok(()) };
        match act {
            Some(Act::Create | Act::Change) if !self.call.taint.is_clean() => {
                let words = scope.words().await?;
                let texts: Vec<&str> =
                    WORDS.iter().filter_map(|name| self.call.arguments[*name].as_str()).collect();
                if texts.iter().any(|text| !words.say_all_of(text)) {
                    let title = texts.first().copied().unwrap_or_default();
                    taints::mark(writes, &scope.person.id, domain, id, title, &self.call.taint);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// What a skill is called here, whatever name its file gives it.
fn handler(skill: &Skill) -> &str {
    match &skill.handler {
        Handler::Builtin(name) => name,
        _ => &skill.name,
    }
}

fn handler_in<'a>(registry: &'a Registry, skill: &'a str) -> &'a str {
    registry.get(skill).map_or(skill, |skill| handler(skill))
}

fn domain(skill: &Skill) -> &str {
    handler(skill).split('.').next().unwrap_or_default()
}

/// The ids in a result: its own, and those of its items.
fn ids(data: &Value) -> impl Iterator<Item = &str> {
    let items = data["items"].as_array().into_iter().flatten();
    std::iter::once(data).chain(items).filter_map(|item| item["id"].as_str())
}

/// How many others a call mails or invites.
fn recipients(skill: &str, arguments: &Value) -> usize {
    let lists = ["to", "cc", "bcc", "attendees"].iter();
    let named: usize = lists.filter_map(|name| arguments[*name].as_array()).map(Vec::len).sum();
    named + usize::from(skill == "email.reply")
}

/// What the calls of a turn have reached, by the journal.
async fn reached_by(scope: &Scope, registry: &Registry) -> Result<Reached, StoreError> {
    let reached = Reached::default();
    for row in executions::of_turn(&scope.store, &scope.turn).await? {
        let skill = handler_in(registry, row.skill.as_deref().unwrap_or_default());
        let act = builtin::find(skill).and_then(|builtin| builtin.act());
        let arguments = row.parameters.as_deref().and_then(|json| serde_json::from_str(json).ok());
        if let (Some(act), Some(arguments)) = (act, arguments)
            && row.status != ExecutionStatus::Failed
        {
            reached.mail(recipients(skill, &arguments));
            reached.delete(usize::from(act == Act::Delete));
        }
    }
    Ok(reached)
}
