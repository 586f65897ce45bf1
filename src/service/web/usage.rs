//! Usage in the last days.

use adjutant_l10n::page_talk;
use adjutant_store::usage::{self, ModelUse};
use adjutant_store::{Result, spending};
use adjutant_types::PersonId;
use adjutant_types::clock::local_day;
use adjutant_web::views::{QuestionLine, Spent, Usage, UsageDay, UsageLine, Viewer};
use adjutant_workflows::trace::duration;

use super::WebBackend;

const DAYS: i64 = 30;
/// How many people the charts tell apart; where there is just one more, that one, too.
const DRAWN: usize = 4;
const DAY_MS: i64 = 24 * 3600 * 1000;

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

impl WebBackend {
    pub(super) async fn used(&self, viewer: &Viewer) -> Result<Usage> {
        let (store, now, person): (_, _, PersonId) =
            (&self.store, self.store.now(), viewer.person.as_str().into());
        let whose = (!viewer.is_owner).then_some(&person);
        let from = now - DAYS * DAY_MS;
        let people =
            if whose.is_some() { Vec::new() } else { usage::by_person(store, from, now + 1).await? };
        let drawn = DRAWN + usize::from(people.len() == DRAWN + 1);
        let most: Vec<&ModelUse> = people.iter().filter(|row| !row.id.is_empty()).take(drawn).collect();
        let mut used = Usage {
            days: self.by_day(whose, &most).await?,
            people: most.iter().map(|row| row.name.clone()).collect(),
            ..Usage::default()
        };
        if whose.is_some() {
            return Ok(used);
        }
        let line = |of, row: ModelUse| UsageLine {
            of,
            name: row.name,
            calls: unsigned(row.calls),
            tokens: unsigned(row.prompt + row.completion),
            usd: row.cost_usd,
        };
        used.lines.extend(people.into_iter().map(|row| line("person", row)));
        let (calls, tokens, usd) = usage::of_orchestrator(store, from, now + 1).await?;
        if calls > 0 {
            let (calls, tokens) = (unsigned(calls), unsigned(tokens));
            used.lines.push(UsageLine { of: "role", name: page_talk::orchestrator(), calls, tokens, usd });
        }
        for role in usage::by_role(store, from, now + 1).await? {
            let (calls, tokens) = (unsigned(role.calls), unsigned(role.prompt + role.completion));
            used.lines.push(UsageLine { of: "role", name: role.name, calls, tokens, usd: role.cost_usd });
        }
        used.lines
            .extend(usage::by_model(store, from, now + 1).await?.into_iter().map(|row| line("model", row)));
        for skill in usage::by_skill(store, from, now + 1).await? {
            let calls = unsigned(skill.calls);
            used.lines.push(UsageLine { of: "skill", name: skill.name, calls, tokens: 0, usd: 0.0 });
        }
        for row in usage::questions::asked(store, from, now + 1).await?.1 {
            let median = row.median_ms.map(duration).unwrap_or_default();
            let (name, asked, yes, no, expired) = (row.name, row.asked, row.yes, row.no, row.expired);
            used.questions.push(QuestionLine { name, asked, yes, no, expired, median });
        }
        Ok(used)
    }

    /// What these people spent on each day, and all others; or one person alone.
    async fn by_day(&self, whose: Option<&PersonId>, most: &[&ModelUse]) -> Result<Vec<UsageDay>> {
        let mut days: Vec<UsageDay> = Vec::new();
        for back in (0..DAYS).rev() {
            let day = local_day(self.store.now() - back * DAY_MS, self.conversations.zone);
            // A day with a clock change may come twice.
            if days.last().is_none_or(|last| last.day != day) {
                days.push(UsageDay { day, parts: vec![Spent::default(); most.len() + 1] });
            }
        }
        let (first, rest) = (days.first().map(|one| one.day.clone()).unwrap_or_default(), most.len());
        for (day, who, tokens, nano_usd) in spending::since(&self.store, &first, whose).await? {
            let Some(day) = days.iter_mut().find(|one| one.day == day) else { continue };
            let mut add = |at: usize, sign: i64| {
                day.parts[at].tokens += sign * tokens;
                day.parts[at].nano_usd += sign * nano_usd;
            };
            if let Some(at) = most.iter().position(|row| row.id == who) {
                add(at, 1);
                add(rest, -1);
            } else if who.is_empty() || whose.is_some() {
                add(rest, 1);
            }
        }
        Ok(days)
    }
}
