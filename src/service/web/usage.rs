//! Usage in the last days.

use adjutant_l10n::page_talk;
use adjutant_store::usage::{self, ModelUse};
use adjutant_store::{Result, spending};
use adjutant_types::PersonId;
use adjutant_types::clock::local_day;
use adjutant_web::views::{QuestionLine, Usage, UsageDay, UsageLine, Viewer};
use adjutant_workflows::trace::duration;

use super::WebBackend;

const DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 3600 * 1000;

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

impl WebBackend {
    pub(super) async fn used(&self, viewer: &Viewer) -> Result<Usage> {
        let (store, now, person): (_, _, PersonId) =
            (&self.store, self.store.now(), viewer.person.as_str().into());
        let whose = (!viewer.is_owner).then_some(&person);
        let mut used = Usage::default();
        for back in (0..DAYS).rev() {
            let day = local_day(now - back * DAY_MS, self.conversations.zone);
            // A day with a clock change may come twice.
            if used.days.last().is_some_and(|last| last.day == day) {
                continue;
            }
            let spent = spending::of_day(store, &day, whose).await?;
            #[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
            let usd = spent.nano_usd as f64 / 1e9;
            used.days.push(UsageDay { day, tokens: unsigned(spent.tokens), usd });
        }
        if !viewer.is_owner {
            return Ok(used);
        }
        let from = now - DAYS * DAY_MS;
        let line = |of, row: ModelUse| UsageLine {
            of,
            name: row.name,
            calls: unsigned(row.calls),
            tokens: unsigned(row.prompt + row.completion),
            usd: row.cost_usd,
        };
        used.lines
            .extend(usage::by_person(store, from, now + 1).await?.into_iter().map(|row| line("person", row)));
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
}
