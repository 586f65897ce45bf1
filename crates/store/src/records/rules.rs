//! Standing approvals: what people have allowed in advance.

use adjutant_types::{Allowance, PersonId, QuestionId, RuleId};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct RuleRow {
    pub id: RuleId,
    pub person_id: PersonId,
    /// The stored form of an [`Allowance`].
    pub allows: String,
    /// The question whose answer made it.
    pub question_id: QuestionId,
    pub used: i64,
    /// How many it may allow.
    pub most_uses: i64,
    pub created_at: i64,
    pub expires_at: i64,
}

impl RuleRow {
    pub fn in_words(&self) -> String {
        Allowance::from_json(&self.allows).map_or_else(|| "nothing".to_owned(), |rule| rule.to_string())
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, person_id, allows, question_id, used, most_uses, created_at, expires_at FROM rules ",
            $rest
        )
    };
}

/// Adds a rule in place of one that allows the same.
pub fn add(batch: &mut Batch, rule: &RuleRow) {
    batch.run(
        "UPDATE rules SET ended_at = $1 WHERE person_id = $2 AND allows = $3 AND ended_at IS NULL",
        [rule.created_at.into(), (&rule.person_id).into(), (&rule.allows).into()],
    );
    batch.run(
        "INSERT INTO rules (id, person_id, allows, question_id, most_uses, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        values! {
            &rule.id, &rule.person_id, &rule.allows, &rule.question_id, rule.most_uses, rule.created_at,
            rule.expires_at
        },
    );
}

/// A person's rule that allows exactly this now.
pub async fn allowing(store: &Store, person: &PersonId, allows: &str) -> Result<Option<RuleRow>> {
    let sql = select!(
        "WHERE person_id = $1 AND allows = $2 AND ended_at IS NULL AND expires_at > $3 AND used < most_uses \
         ORDER BY created_at LIMIT 1"
    );
    store.first(sql, &[person.into(), allows.into(), store.now().into()]).await
}

/// Counts a call that a rule allows. The batch fails if the rule has ended meanwhile.
pub fn spend(batch: &mut Batch, id: &RuleId, now: i64) {
    let sql = "UPDATE rules SET used = used + 1 \
        WHERE id = $1 AND ended_at IS NULL AND expires_at > $2 AND used < most_uses";
    batch.must(Stale::RuleEnded, sql, [id.into(), now.into()]);
}

/// Takes a person's rule back. The batch fails if it has ended.
pub fn end(batch: &mut Batch, person: &PersonId, id: &RuleId, now: i64) {
    let sql = "UPDATE rules SET ended_at = $1 WHERE id = $2 AND person_id = $3 AND ended_at IS NULL";
    batch.must(Stale::RuleEnded, sql, [now.into(), id.into(), person.into()]);
}

/// A person's rules that still allow something, the oldest first.
pub async fn of_person(store: &Store, person: &PersonId) -> Result<Vec<RuleRow>> {
    let sql = select!(
        "WHERE person_id = $1 AND ended_at IS NULL AND expires_at > $2 AND used < most_uses ORDER BY created_at, id"
    );
    store.all(sql, &[person.into(), store.now().into()]).await
}

/// A rule, also one that has ended.
pub async fn by_id(store: &Store, id: &RuleId) -> Result<Option<RuleRow>> {
    store.first(select!("WHERE id = $1"), &[id.into()]).await
}

pub async fn prune(store: &Store, before: i64) -> Result<()> {
    let batch = Batch::of("DELETE FROM rules WHERE ended_at < $1 OR expires_at < $1", [before.into()]);
    store.write(batch).await.map(drop)
}
