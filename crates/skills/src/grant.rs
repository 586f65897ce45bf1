//! What an agent may do: one function decides it, when the agent is made and again at each of its calls.

use std::collections::BTreeMap;

use adjutant_types::AccessLevel;

/// The skills that an agent may use, and how far their effects may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The skills' names, sorted.
    pub skills: Vec<String>,
    /// The farthest that their effects may reach.
    pub effects: AccessLevel,
    /// Their calls use the person's accounts that each of these lists names.
    pub accounts: Vec<Vec<String>>,
}

/// The most that a role allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRights {
    pub allow: Vec<String>,
    /// The skills among these that it denies all the same.
    pub deny: Vec<String>,
    /// The farthest that its effects may reach.
    pub effects: AccessLevel,
    /// The accounts that it may use, as people call them; none: all of the person's.
    pub accounts: Option<Vec<String>>,
}

/// The parts that a grant is made from. Each part can only take something away.
#[derive(Debug, Clone, Copy)]
pub struct Rights<'r> {
    /// The skills that were asked for; none for all that the rest allows.
    pub asked: Option<&'r [String]>,
    pub role: Option<&'r RoleRights>,
    pub parent: Option<&'r Grant>,
    /// The skills that the person may use in this chat, each with how far its effects reach.
    pub offered: &'r BTreeMap<String, AccessLevel>,
}

impl Grant {
    /// The skills that everybody concerned allows, within the nearest of their effects.
    pub fn of(rights: Rights<'_>) -> Self {
        let Rights { asked, role, parent, offered } = rights;
        let effects = [role.map(|role| role.effects), parent.map(|parent| parent.effects)];
        let effects = effects.into_iter().flatten().min().unwrap_or(AccessLevel::Any);
        let has = |names: &[String], name: &String| names.contains(name);
        let may = |(name, reach): &(&String, &AccessLevel)| {
            **reach <= effects
                && asked.is_none_or(|asked| has(asked, name))
                && role.is_none_or(|role| has(&role.allow, name) && !has(&role.deny, name))
                && parent.is_none_or(|parent| has(&parent.skills, name))
        };
        let skills = offered.iter().filter(may).map(|(name, _)| name.clone()).collect();
        let mut accounts = parent.map_or_else(Vec::new, |parent| parent.accounts.clone());
        let own = role.and_then(|role| role.accounts.clone()).filter(|own| !accounts.contains(own));
        accounts.extend(own);
        Self { skills, effects, accounts }
    }

    /// Whether it covers a skill whose effects reach this far.
    pub fn covers(&self, skill: &str, reach: AccessLevel) -> bool {
        reach <= self.effects && self.skills.iter().any(|granted| granted == skill)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An agent of a random tree: its parent's index, and what it was made from, as bits of eight skills.
    type Member = (prop::sample::Index, Option<u8>, Option<(u8, u8, usize)>);

    fn names(bits: u8) -> Vec<String> {
        (0..8).filter(|bit| bits & (1 << bit) != 0).map(|bit| format!("s{bit}")).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        /// No agent of any tree may do more than its parent, its role, what was asked, or the person.
        #[test]
        fn nobody_may_do_more_than_parent_or_role(
            reaches in prop::array::uniform8(0..4_usize),
            members in prop::collection::vec(
                (any::<prop::sample::Index>(), any::<Option<u8>>(), any::<Option<(u8, u8, usize)>>()), 1..12),
        ) {
            let members: Vec<Member> = members;
            // A reach of 3: the person may not use it here.
            let offered: BTreeMap<String, AccessLevel> = (0..8)
                .filter_map(|bit| Some((format!("s{bit}"), *AccessLevel::ALL.get(reaches[bit])?)))
                .collect();
            let mut grants: Vec<Grant> = Vec::new();
            for (parent, asked, role) in &members {
                let parent = (!grants.is_empty()).then(|| &grants[parent.index(grants.len())]);
                let asked = asked.map(names);
                let role = role.map(|(allow, deny, effects)| RoleRights {
                    allow: names(allow),
                    deny: names(deny),
                    effects: AccessLevel::ALL[effects % 3],
                    accounts: (effects % 2 == 0).then(|| names(allow)),
                });
                let rights =
                    Rights { asked: asked.as_deref(), role: role.as_ref(), parent, offered: &offered };
                let grant = Grant::of(rights);
                for (skill, reach) in &offered {
                    let is_covered = grant.covers(skill, *reach);
                    prop_assert_eq!(is_covered, grant.skills.contains(skill));
                    let all = [
                        parent.is_none_or(|parent| parent.covers(skill, *reach)),
                        role.as_ref().is_none_or(|role| {
                            role.allow.contains(skill) && !role.deny.contains(skill) && *reach <= role.effects
                        }),
                        asked.as_ref().is_none_or(|asked| asked.contains(skill)),
                    ];
                    // Neither wider nor narrower than what all of them allow.
                    prop_assert_eq!(is_covered, all.iter().all(|may| *may), "{} {:?}", skill, all);
                }
                prop_assert!(grant.skills.iter().all(|skill| offered.contains_key(skill)));
                prop_assert!(grant.skills.is_sorted());
                let above = parent.map_or(&[][..], |parent| parent.accounts.as_slice());
                prop_assert!(grant.accounts.starts_with(above));
                let own = role.as_ref().and_then(|role| role.accounts.as_ref());
                prop_assert!(own.is_none_or(|own| grant.accounts.contains(own)));
                // Asked again at a call, it is the same.
                let again = Rights { asked: Some(&grant.skills), parent: Some(&grant), ..rights };
                prop_assert_eq!(&Grant::of(again), &grant);
                grants.push(grant);
            }
        }
    }
}
