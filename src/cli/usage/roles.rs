//! Usage by role: how many agents, how often they succeed, what ends them early.

use adjutant_store::usage::RoleUse;
use adjutant_workflows::trace::{cost, count, duration, one_line};
use serde_json::{Value, json};

use super::number;

pub(super) const HEAD: [&str; 9] =
    ["role", "agents", "success", "calls", "prompt", "completion", "cost", "mean time", "ended by"];

pub(super) fn cells(row: &RoleUse) -> [String; 9] {
    let [agents, calls, prompt, completion] =
        [row.agents, row.calls, row.prompt, row.completion].map(|cell| count(number(cell)));
    let success = format!("{} %", row.completed * 100 / row.agents.max(1));
    let mean = duration(row.duration_ms / row.agents.max(1));
    let ended: Vec<String> = bailouts(row).map(|(what, times)| format!("{what} {times}")).collect();
    let ended = if ended.is_empty() { "-".to_owned() } else { ended.join(", ") };
    [one_line(&row.name), agents, success, calls, prompt, completion, cost(row.cost_usd), mean, ended]
}

pub(super) fn json(row: &RoleUse) -> Value {
    let bailouts: serde_json::Map<String, Value> =
        bailouts(row).map(|(what, times)| (what.replace(' ', "_"), times.into())).collect();
    json!({
        "role": row.name, "agents": row.agents, "completed": row.completed, "calls": row.calls,
        "tokens": {"prompt": row.prompt, "completion": row.completion}, "cost_usd": row.cost_usd,
        "duration_ms": row.duration_ms, "bailouts": bailouts,
    })
}

/// The limits that ended agents, each with how often.
fn bailouts(row: &RoleUse) -> impl Iterator<Item = (&'static str, i64)> {
    let all = [
        ("tool calls", row.out_of_tool_calls),
        ("model calls", row.out_of_model_calls),
        ("time", row.out_of_time),
        ("agents", row.out_of_agents),
        ("budget", row.out_of_budget),
    ];
    all.into_iter().filter(|(_, times)| *times > 0)
}
