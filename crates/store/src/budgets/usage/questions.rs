//! What people were asked, and how they answered.

use std::collections::BTreeMap;

use adjutant_types::{Allowance, QuestionState};
use sqlx::FromRow;

use crate::{Result, Store};

/// The questions of one skill in a period.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionUse {
    /// The skill whose call was asked about, or what else was asked: `continue`, `choose`, `input`.
    pub name: String,
    pub asked: u64,
    /// How many of them got a yes, or another answer that goes on.
    pub yes: u64,
    pub no: u64,
    /// How many nobody answered in time.
    pub expired: u64,
    /// How many were taken back, because something else was wanted.
    pub withdrawn: u64,
    /// The median time until a person answered, in milliseconds.
    pub median_ms: Option<i64>,
}

#[derive(FromRow)]
struct Row {
    name: String,
    state: QuestionState,
    answer: Option<String>,
    created_at: i64,
    answered_at: Option<i64>,
    expires_at: i64,
}

/// The questions asked from `from` until before `to`: of all together, and by skill, the one that asks most first.
pub async fn asked(store: &Store, from: i64, to: i64) -> Result<(QuestionUse, Vec<QuestionUse>)> {
    const SQL: &str = "SELECT coalesce(e.skill, q.kind) AS name, q.state, q.answer, q.created_at, q.answered_at, \
        q.expires_at FROM questions q LEFT JOIN executions e ON e.id = q.execution_id \
        WHERE q.created_at >= $1 AND q.created_at < $2 AND q.outbox_id <> ''";
    let rows: Vec<Row> = store.all(SQL, &[from.into(), to.into()]).await?;
    let mut by_name: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        by_name.entry(&row.name).or_default().push(row);
    }
    let mut all: Vec<QuestionUse> = by_name.into_iter().map(|(name, rows)| counted(name, &rows)).collect();
    all.sort_by_key(|row| std::cmp::Reverse(row.asked));
    Ok((counted("total", &rows.iter().collect::<Vec<_>>()), all))
}

fn counted(name: &str, rows: &[&Row]) -> QuestionUse {
    let mut all = QuestionUse { name: name.to_owned(), asked: rows.len() as u64, ..QuestionUse::default() };
    let mut times = Vec::new();
    for row in rows {
        let answer = row.answer.as_deref();
        match (row.state, row.answered_at) {
            (QuestionState::Answered, _) if answer == Some("withdrawn") => all.withdrawn += 1,
            (QuestionState::Answered, at) => {
                let is_no = matches!(answer, Some("reject" | "stop"));
                *if is_no { &mut all.no } else { &mut all.yes } += 1;
                times.extend(at.map(|at| at - row.created_at));
            }
            (QuestionState::Expired, Some(at)) if at < row.expires_at => all.withdrawn += 1,
            (QuestionState::Expired, _) => all.expired += 1,
            (QuestionState::Pending, _) => {}
        }
    }
    times.sort_unstable();
    all.median_ms = times.get(times.len() / 2).copied();
    all
}

/// What rules spared, and what one would spare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleUse {
    pub allows: String,
    /// How many calls rules allowed.
    pub spared: u64,
    /// How many questions offered such a rule.
    pub asked: u64,
}

/// The rules of a period: what each spared, and how often one was offered, the most questions first. Rules with the same
/// words count together, whosever they are.
pub async fn by_rule(store: &Store, from: i64, to: i64) -> Result<Vec<RuleUse>> {
    const SPARED: &str = "SELECT r.allows, count(*) FROM executions e JOIN rules r ON e.basis = 'rule ' || r.id \
        WHERE e.started_at >= $1 AND e.started_at < $2 GROUP BY r.allows";
    const ASKED: &str = "SELECT rule, count(*) FROM questions WHERE rule <> '' AND created_at >= $1 \
        AND created_at < $2 AND outbox_id <> '' GROUP BY rule";
    let mut all: BTreeMap<String, RuleUse> = BTreeMap::new();
    let period = [from.into(), to.into()];
    let spared: Vec<(String, i64)> = store.all(SPARED, &period).await?;
    let asked: Vec<(String, i64)> = store.all(ASKED, &period).await?;
    let spared = spared.into_iter().map(|(allows, count)| (allows, count, 0));
    let asked = asked.into_iter().map(|(allows, count)| (allows, 0, count));
    for (allows, spared, asked) in spared.chain(asked) {
        let Some(allows) = Allowance::from_json(&allows).map(|rule| rule.to_string()) else { continue };
        let row = all.entry(allows.clone()).or_default();
        row.allows = allows;
        row.spared += spared.unsigned_abs();
        row.asked += asked.unsigned_abs();
    }
    let mut all: Vec<RuleUse> = all.into_values().collect();
    all.sort_by_key(|row| std::cmp::Reverse((row.asked, row.spared)));
    Ok(all)
}
