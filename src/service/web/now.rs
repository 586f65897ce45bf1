//! Current activity.

use adjutant_l10n::page_now;
use adjutant_store::spending::{self, SpendingRow};
use adjutant_store::{Result, people, questions, schedules, tasks, timeline, turns};
use adjutant_types::clock::local_day;
use adjutant_types::text::shortened;
use adjutant_types::{OutboxId, PersonId, ScheduleState, TaskState, TurnId};
use adjutant_web::views::{Asked, Budget, Now, Viewer};
use adjutant_workflows::trace::{cost, count, one_line};

use super::view::ViewerContext;
use super::{ROWS, WebBackend};

const TURNS: i64 = 20;
/// How far ahead something is due, in milliseconds.
const AHEAD_MS: i64 = 7 * 24 * 3600 * 1000;
/// How many things that are due are shown.
const DUE: usize = 30;
/// For how long an answer is shown, in milliseconds, and how many are.
const ANSWERED_MS: i64 = 24 * 3600 * 1000;
const ANSWERED: i64 = 5;
/// The longest request in a line, in characters.
const ABOUT: usize = 120;

impl WebBackend {
    pub(super) async fn whats_on(&self, viewer: &Viewer) -> Result<Now> {
        let (store, person): (_, PersonId) = (&self.store, viewer.person.as_str().into());
        let view = self.view(viewer).await?;
        let open = match viewer.is_owner {
            true => timeline::all_open_turns(store, TURNS).await?,
            false => timeline::open_turns(store, &person, TURNS).await?,
        };
        let mut now = Now::default();
        let mut rows = ROWS;
        for (message, turn) in timeline::open_questions(store, &person).await? {
            now.questions.extend(view.asked(&message, &turn).await?);
        }
        now.over_budget = timeline::budget_questions(store, &person).await?.len();
        let is_above = |turn: &TurnId| now.questions.iter().any(|asked| asked.turn == turn.as_str());
        let mut under_way = Vec::new();
        for (turn,) in open.into_iter().filter(|(turn,)| !is_above(turn)) {
            let Some(row) = turns::by_id(store, &turn).await? else { continue };
            let mut turn = view.turn(&row, 0, rows).await?;
            // What was said is in the conversation.
            turn.replies.clear();
            rows = rows.saturating_sub(turn.rows.len());
            under_way.push((people::person_by_id(store, &row.person_id).await?.name, turn));
        }
        now.turns = under_way;
        let since = store.now() - ANSWERED_MS;
        for row in questions::answered_since(store, &person, since, ANSWERED).await? {
            let asked = view.asked(&row.question.outbox_id, &row.question.turn_id).await?;
            now.answered.extend(asked.map(|mut asked| {
                asked.message.outcomes = vec![view.outcome(&row, true)];
                asked
            }));
        }
        let mut due = Vec::new();
        for task in tasks::of_person(store, &person, Some(TaskState::Open), 200).await? {
            due.extend(
                task.due_at.zip(view.due(&task)).map(|(at, shown)| (at, shown, page_now::task(task.title))),
            );
        }
        for schedule in schedules::of_person(store, &person).await? {
            if schedule.state == ScheduleState::Active {
                let shown = view.moment(schedule.next_at);
                due.push((schedule.next_at, shown, page_now::schedule(schedule.text)));
            }
        }
        due.retain(|(at, ..)| *at < store.now() + AHEAD_MS);
        due.sort_by_key(|(at, ..)| *at);
        now.due = due.into_iter().take(DUE).map(|(_, shown, what)| (shown, what)).collect();
        now.channels = self.health.words();
        now.budgets = self.budgets(viewer, &person).await?;
        Ok(now)
    }

    async fn budgets(&self, viewer: &Viewer, person: &PersonId) -> Result<Vec<Budget>> {
        let limits = self.conversations.settings.current().limits.clone();
        let day = local_day(self.store.now(), self.conversations.zone);
        let own = spending::of_day(&self.store, &day, Some(person)).await?;
        let names = [page_now::your_tokens(), page_now::your_cost()];
        let mut all = budgets_of(names, &own, limits.day_tokens, limits.day_cost_usd);
        if viewer.is_owner {
            let spent = spending::of_day(&self.store, &day, None).await?;
            let names = [page_now::all_tokens(), page_now::all_cost()];
            all.extend(budgets_of(names, &spent, limits.all_day_tokens, limits.all_day_cost_usd));
        }
        Ok(all)
    }
}

impl ViewerContext<'_> {
    /// A message that asks, with what its turn is about.
    async fn asked(&self, message: &OutboxId, turn: &TurnId) -> Result<Option<Asked>> {
        let Some(row) = timeline::reply(self.store, message).await? else { return Ok(None) };
        let said = timeline::said_in(self.store, turn).await?.into_iter().next();
        let about = said.map(|said| shortened(&one_line(&self.message(said).text), ABOUT));
        let about = about.unwrap_or_default();
        Ok(Some(Asked { turn: turn.to_string(), about, message: self.reply(row) }))
    }
}

/// The tokens and the money spent, under these names.
fn budgets_of(names: [String; 2], spent: &SpendingRow, tokens: u64, dollars: f64) -> Vec<Budget> {
    let [of_tokens, of_cost] = names;
    let used = u64::try_from(spent.tokens).unwrap_or(0);
    let usd = spent.nano_usd as f64 / 1e9;
    let share = percent(used as f64, tokens as f64);
    vec![
        Budget { name: of_tokens, used: count(used), limit: (tokens > 0).then(|| (count(tokens), share)) },
        Budget {
            name: of_cost,
            used: cost(usd),
            limit: (dollars > 0.0).then(|| (cost(dollars), percent(usd, dollars))),
        },
    ]
}

fn percent(used: f64, limit: f64) -> u8 {
    (used / limit.max(f64::MIN_POSITIVE) * 100.0).clamp(0.0, 100.0) as u8
}
