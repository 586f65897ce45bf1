//! What people were asked: how often, by which skill, and how they answered.

use adjutant_store::usage::questions::{QuestionUse, RuleUse};
use adjutant_workflows::trace::{count, duration, one_line};
use serde_json::{Value, json};

use super::table;

const HEAD: [&str; 7] = ["asked by", "asked", "yes", "no", "expired", "withdrawn", "median time"];
const RULES: [&str; 3] = ["a rule for", "asked", "spared by it"];
const MAX_RULES: usize = 10;

pub(super) fn text(
    total: &QuestionUse,
    rows: &[QuestionUse],
    rules: &[RuleUse],
    when: &str,
    width: usize,
) -> String {
    let asked = match rows.first() {
        Some(top) => {
            format!("{when}\n\n{}\n{} asks most.\n", by_skill(total, rows, width), one_line(&top.name))
        }
        None => format!("no questions {when}\n"),
    };
    // Which rules spared questions, and which would.
    let cells = |rule: &RuleUse| [one_line(&rule.allows), count(rule.asked), count(rule.spared)];
    let cells: Vec<_> = rules.iter().take(MAX_RULES).map(cells).collect();
    if rules.is_empty() { asked } else { format!("{asked}\n{}\n", table(&RULES, &cells, width)) }
}

fn by_skill(total: &QuestionUse, rows: &[QuestionUse], width: usize) -> String {
    let cells = |row: &QuestionUse| {
        let [asked, yes, no, expired, withdrawn] =
            [row.asked, row.yes, row.no, row.expired, row.withdrawn].map(count);
        let median = row.median_ms.map_or_else(|| "-".to_owned(), duration);
        [one_line(&row.name), asked, yes, no, expired, withdrawn, median]
    };
    table(&HEAD, &rows.iter().chain([total]).map(cells).collect::<Vec<_>>(), width)
}

pub(super) fn json(total: &QuestionUse, rows: &[QuestionUse], rules: &[RuleUse]) -> Value {
    let row = |row: &QuestionUse| {
        json!({
            "name": row.name, "asked": row.asked, "yes": row.yes, "no": row.no, "expired": row.expired,
            "withdrawn": row.withdrawn, "median_ms": row.median_ms,
        })
    };
    let rule = |rule: &RuleUse| json!({"allows": rule.allows, "asked": rule.asked, "spared": rule.spared});
    json!({
        "by": "question",
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "total": row(total),
        "rules": rules.iter().map(rule).collect::<Vec<_>>(),
    })
}
