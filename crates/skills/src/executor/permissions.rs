//! How far the effects of skills reach, which skills a person may use in a place, and whether an agent may make a call.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_l10n::skills;
use adjutant_store::StoreError;
use adjutant_turn::journal::TurnContext;
use adjutant_turn::trust::ActionKind;
use adjutant_turn::wording;
use adjutant_types::{AccessLevel, AccountService, FromCall, FromConfig, ours};

use super::{ActiveCall, Executor, implementation};
use crate::accounts::{self, PersonAccounts};
use crate::builtin::{Idempotency, Resource};
use crate::call::Call;
use crate::registry::View;
use crate::{ErrorKind, Registry, Skill, SkillError, by_itself};

/// How far a skill's effects reach for somebody with these accounts.
pub fn reach(accounts: &PersonAccounts, skill: &Skill) -> AccessLevel {
    match implementation(skill) {
        Some(builtin) => match builtin.action() {
            None | Some(ActionKind::PageOpen | ActionKind::WebSearch) => AccessLevel::Read,
            Some(_) if builtin.effect(accounts) == Idempotency::OwnStore => AccessLevel::Own,
            Some(_) => AccessLevel::Any,
        },
        None if skill.only_reads() => AccessLevel::Read,
        None => AccessLevel::Any,
    }
}

/// The skills that an agent of somebody with these accounts can be given, each with how far its effects reach. Workflows
/// are dispatched, not given.
pub fn offered(
    registry: &Registry,
    accounts: &PersonAccounts,
    is_owner: bool,
) -> BTreeMap<String, AccessLevel> {
    let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
    let is_hidden = |skill: &Skill| (is_owners(skill) && !is_owner) || needs_hidden(accounts, skill);
    let usable = skills.filter(|skill| skill.workflow().is_none() && !is_hidden(skill));
    usable.map(|skill| (skill.name.clone(), reach(accounts, skill))).collect()
}

/// Whether a skill works with an owner's keys, login or notes.
fn is_owners(skill: &Skill) -> bool {
    let needs = implementation(skill).map(|builtin| builtin.needs());
    skill.is_owners() || needs == Some(Resource::Notes)
}

fn needs_hidden(accounts: &PersonAccounts, skill: &Skill) -> bool {
    let service = implementation(skill).and_then(|builtin| builtin.needs().service());
    service.is_some_and(|service| accounts.hides(service))
}

impl Executor {
    /// The skills that this turn's person, who has these accounts, is told of in this place.
    pub async fn listed(
        &self,
        ctx: &TurnContext,
        registry: &Arc<Registry>,
        accounts: &PersonAccounts,
    ) -> Result<Arc<Registry>, StoreError> {
        let hides_owners = !self.may_use_owners(ctx, registry).await?;
        let hidden = AccountService::ALL.iter().copied().filter(|service| accounts.hides(*service)).collect();
        let view = View { hides_owners, hidden, has_several: accounts.has_several() };
        let is_hidden = |skill: &Skill| (hides_owners && is_owners(skill)) || needs_hidden(accounts, skill);
        let listed = match view == View::default() {
            true => registry.clone(),
            false => registry.view(view, |skill| !is_hidden(skill)),
        };
        Ok(match ctx.turn.room.skills {
            Some(_) => listed.only(|skill| ctx.turn.room.allows(&skill.name)),
            None => listed,
        })
    }

    /// The skills that an agent of this turn's person, who has these accounts, can be given here.
    pub async fn offered(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        accounts: &PersonAccounts,
    ) -> Result<BTreeMap<String, AccessLevel>, StoreError> {
        let mut offered = offered(registry, accounts, self.may_use_owners(ctx, registry).await?);
        offered.retain(|name, _| ctx.turn.room.allows(name));
        Ok(offered)
    }

    /// Whether this turn's person may use what is an owner's; true if nothing is.
    async fn may_use_owners(&self, ctx: &TurnContext, registry: &Registry) -> Result<bool, StoreError> {
        let mut skills = registry.domains().iter().flat_map(|domain| &domain.skills);
        Ok(!skills.any(|skill| is_owners(skill)) || accounts::is_owner(ctx).await?)
    }
}

impl ActiveCall<'_> {
    /// The skill, if the agent may call it with these arguments.
    pub(super) fn granted(&self) -> Result<Arc<Skill>, SkillError> {
        let Call { grant, skill: name, arguments, .. } = self.call;
        let room = &self.ctx.turn.room;
        let granted: Vec<&str> =
            grant.skills.iter().map(String::as_str).filter(|granted| room.allows(granted)).collect();
        if !granted.contains(name) {
            let message = ours!(skills::not_granted, FromCall(name), FromConfig(granted.join(", ")));
            return Err(SkillError::new(ErrorKind::Permission, message));
        }
        let missing = || SkillError::not_found(ours!(skills::gone, FromConfig(name)));
        let skill = self.registry.get(name).ok_or_else(missing)?;
        if !grant.covers(name, reach(self.accounts.all(), skill)) {
            let effects = wording::roles::effects(grant.effects);
            let message = ours!(skills::beyond_role, FromConfig(name), FromConfig(effects));
            return Err(SkillError::new(ErrorKind::Permission, message));
        }
        if skill.workflow().is_some() {
            return Err(SkillError::params(by_itself(&skill.name)));
        }
        skill.validate(arguments).map_err(|why| SkillError::params(ours!("{}", FromCall(why))))?;
        Ok(skill.clone())
    }
}
