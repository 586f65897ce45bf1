//! How far the effects of skills reach, which skills a person may use in a place, and whether an agent may make a call.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_l10n::skills;
use adjutant_store::StoreError;
use adjutant_turn::journal::TurnContext;
use adjutant_turn::trust::ActionKind;
use adjutant_turn::wording;
use adjutant_types::{AccessLevel, FromCall, FromConfig, ours};

use super::{ActiveCall, Executor, implementation};
use crate::builtin::{Idempotency, Services};
use crate::call::Call;
use crate::{ErrorKind, Registry, Skill, SkillError, by_itself};

/// How far a skill's effects reach with these accounts.
pub fn reach(services: &Services, skill: &Skill) -> AccessLevel {
    match implementation(skill) {
        Some(builtin) => match builtin.action() {
            None | Some(ActionKind::PageOpen | ActionKind::WebSearch) => AccessLevel::Read,
            Some(_) if builtin.effect(services) == Idempotency::OwnStore => AccessLevel::Own,
            Some(_) => AccessLevel::Any,
        },
        None if skill.only_reads() => AccessLevel::Read,
        None => AccessLevel::Any,
    }
}

/// The skills that an agent of an owner, or of somebody else, can be given, each with how far its effects reach. Workflows are dispatched, not given.
pub fn offered(registry: &Registry, services: &Services, is_owner: bool) -> BTreeMap<String, AccessLevel> {
    let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
    let usable =
        skills.filter(|skill| skill.workflow().is_none() && (is_owner || !is_owners(services, skill)));
    usable.map(|skill| (skill.name.clone(), reach(services, skill))).collect()
}

/// Whether a skill works with an owner's account, keys or login.
fn is_owners(services: &Services, skill: &Skill) -> bool {
    let needs = implementation(skill).map(|builtin| builtin.needs());
    skill.is_owners() || needs.is_some_and(|needs| services.is_account(needs))
}

impl Executor {
    /// The skills that this turn's person is told of in this place.
    pub async fn listed(
        &self,
        ctx: &TurnContext,
        registry: &Arc<Registry>,
    ) -> Result<Arc<Registry>, StoreError> {
        let is_owners = |skill: &Skill| is_owners(&self.services, skill);
        let mut skills = registry.domains().iter().flat_map(|domain| &domain.skills);
        let listed = match !skills.any(|skill| is_owners(skill)) || self.services.is_owner(ctx).await? {
            true => registry.clone(),
            false => registry.for_others(is_owners),
        };
        Ok(match ctx.turn.room.skills {
            Some(_) => listed.only(|skill| ctx.turn.room.allows(&skill.name)),
            None => listed,
        })
    }

    /// The skills that an agent of this turn's person can be given here.
    pub async fn offered(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
    ) -> Result<BTreeMap<String, AccessLevel>, StoreError> {
        let mut skills = registry.domains().iter().flat_map(|domain| &domain.skills);
        let is_alike = !skills.any(|skill| is_owners(&self.services, skill));
        let is_owner = is_alike || self.services.is_owner(ctx).await?;
        let mut offered = offered(registry, &self.services, is_owner);
        offered.retain(|name, _| ctx.turn.room.allows(name));
        Ok(offered)
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
        if !grant.covers(name, reach(&self.executor.services, skill)) {
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
