//! The queries of `db check` and `db status`.

use adjutant_types::InstanceId;

use crate::{Result, Store, leases};

/// Rows that break a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    pub rows: Vec<String>,
}

/// The rules, each with a query for the ids that break it.
const RULES: [(&str, &str); 14] = [
    (
        "a tool call has no result, but its execution continued",
        "SELECT t.execution_id || ':' || t.call_id FROM tool_calls t WHERE t.result IS NULL AND EXISTS \
         (SELECT 1 FROM calls c WHERE c.execution_id = t.execution_id AND c.n > t.n)",
    ),
    (
        "a tool call has no model call",
        "SELECT t.execution_id || ':' || t.call_id FROM tool_calls t WHERE NOT EXISTS \
         (SELECT 1 FROM calls c WHERE c.execution_id = t.execution_id AND c.n = t.n)",
    ),
    (
        "a model call has no execution",
        "SELECT c.execution_id FROM calls c WHERE NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = c.execution_id)",
    ),
    (
        "an execution is open, but its turn has ended",
        "SELECT e.id FROM executions e JOIN turns t ON t.id = e.turn_id \
         WHERE e.ended_at IS NULL AND t.ended_at IS NOT NULL",
    ),
    (
        "an execution is running, but no process has its conversation's lease",
        "SELECT e.id FROM executions e JOIN turns t ON t.id = e.turn_id \
         WHERE e.status = 'running' AND t.status = 'running' AND NOT EXISTS \
         (SELECT 1 FROM leases l JOIN instances i ON i.id = l.instance WHERE l.name = 'lane:' || t.conversation_id || CASE t.background WHEN 0 THEN '' WHEN 1 THEN ':background' ELSE ':background-' || t.background END)",
    ),
    (
        "an execution has no parent",
        "SELECT e.id FROM executions e WHERE e.kind <> 'orchestrator' AND NOT EXISTS \
         (SELECT 1 FROM executions p WHERE p.id = e.parent_id)",
    ),
    (
        "a turn is waiting without an open question",
        "SELECT t.id FROM turns t WHERE t.status = 'waiting' AND NOT EXISTS \
         (SELECT 1 FROM questions p WHERE p.turn_id = t.id AND p.state = 'pending')",
    ),
    (
        "a message was taken by a turn that has ended",
        "SELECT i.event FROM inbox i JOIN turns t ON t.id = i.turn_id WHERE i.state = 'taken' AND t.ended_at IS NOT NULL",
    ),
    (
        "a turn ended without a reply",
        // A scheduled turn may have nothing to tell: see `adjutant_types::NOTHING_TO_TELL`.
        "SELECT t.id FROM turns t WHERE t.ended_at IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM outbox o WHERE o.turn_id = t.id) \
         AND NOT (t.status = 'completed' AND coalesce(t.answer, '') = '(nothing to tell)')",
    ),
    (
        "an ended turn still has part of a budget reserved",
        "SELECT r.execution_id FROM reservations r JOIN turns t ON t.id = r.turn_id WHERE t.ended_at IS NOT NULL",
    ),
    (
        "a day's reserved budget doesn't match the calls under way",
        "SELECT s.day || ':' || s.who FROM spending s WHERE s.reserved_tokens <> (SELECT coalesce(sum(r.tokens), 0) \
         FROM reservations r WHERE r.day = s.day AND (s.who = '' OR r.person_id = s.who)) OR s.reserved_nano_usd <> \
         (SELECT coalesce(sum(r.nano_usd), 0) FROM reservations r WHERE r.day = s.day AND (s.who = '' OR r.person_id = s.who))",
    ),
    (
        "an account at a provider is ready, but has no secret",
        "SELECT a.id FROM connected_accounts a WHERE a.state = 'ready' \
         AND NOT EXISTS (SELECT 1 FROM secrets s WHERE s.name = 'account/' || a.id)",
    ),
    (
        "a secret belongs to no account",
        "SELECT s.name FROM secrets s WHERE s.name LIKE 'account/%' \
         AND NOT EXISTS (SELECT 1 FROM connected_accounts a WHERE s.name = 'account/' || a.id)",
    ),
    (
        "a login has ended, but still holds a secret",
        "SELECT id FROM logins WHERE state IN ('done', 'refused', 'expired') AND sealed <> ''",
    ),
];

/// Everything that breaks a rule, starting with the database's own integrity check.
pub async fn findings(store: &Store) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if let Some(sql) = store.backend().integrity_sql() {
        let mut rows: Vec<String> = store.column(sql, &[]).await?;
        rows.retain(|row| row != "ok");
        findings.push(Finding { rule: "the database's integrity check found damage", rows });
    }
    for (rule, sql) in RULES {
        findings.push(Finding { rule, rows: store.column(sql, &[]).await? });
    }
    findings.retain(|finding| !finding.rows.is_empty());
    Ok(findings)
}

/// How many rows each kind of record has, and how many of them are open.
pub async fn counts(store: &Store) -> Result<Vec<(&'static str, i64)>> {
    const COUNTS: [(&str, &str); 13] = [
        ("people", "SELECT count(*) FROM people"),
        ("conversations", "SELECT count(*) FROM conversations"),
        ("messages received", "SELECT count(*) FROM inbox"),
        ("messages waiting", "SELECT count(*) FROM inbox WHERE state = 'new'"),
        ("messages dead", "SELECT count(*) FROM inbox WHERE state = 'dead'"),
        ("turns", "SELECT count(*) FROM turns"),
        ("turns open", "SELECT count(*) FROM turns WHERE ended_at IS NULL"),
        ("executions", "SELECT count(*) FROM executions"),
        ("questions waiting", "SELECT count(*) FROM questions WHERE state = 'pending'"),
        (
            "replies undelivered",
            "SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending', 'unknown')",
        ),
        ("replies dead", "SELECT count(*) FROM outbox WHERE state = 'dead'"),
        ("tasks", "SELECT count(*) FROM tasks"),
        ("memories", "SELECT count(*) FROM memories"),
    ];
    let mut counts = Vec::new();
    for (name, sql) in COUNTS {
        counts.push((name, store.count(sql, &[]).await?));
    }
    Ok(counts)
}

/// How many leases belong to instances that are gone.
pub async fn stuck_leases(store: &Store) -> Result<usize> {
    let living: Vec<InstanceId> = leases::living(store).await?.into_iter().map(|(id, ..)| id).collect();
    let sql = "SELECT instance FROM leases WHERE instance IS NOT NULL";
    let holders: Vec<InstanceId> = store.column(sql, &[]).await?;
    Ok(holders.iter().filter(|holder| !living.contains(holder)).count())
}

/// The migrations that were applied, in order: version and name.
pub async fn migrations(store: &Store) -> Result<Vec<(i64, String)>> {
    store
        .all("SELECT version, description FROM _sqlx_migrations WHERE success = TRUE ORDER BY version", &[])
        .await
}

pub async fn size(store: &Store) -> Result<i64> {
    store.count(store.backend().size_sql(), &[]).await
}
