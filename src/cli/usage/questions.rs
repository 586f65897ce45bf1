//! What people were asked: how often, by which skill, and how they answered.

use serde_json::{Value, json};

use super::table;
use crate::store::usage::questions::QuestionUse;
use crate::trace::{count, duration, one_line};

const HEAD: [&str; 7] = ["asked by", "asked", "yes", "no", "expired", "withdrawn", "median time"];

/// The questions as a table.
pub(super) fn text(total: &QuestionUse, rows: &[QuestionUse], when: &str) -> String {
    let Some(most) = rows.first() else { return format!("no questions {when}\n") };
    let cells = |row: &QuestionUse| {
        let [asked, yes, no, expired, withdrawn] =
            [row.asked, row.yes, row.no, row.expired, row.withdrawn].map(count);
        let median = row.median_ms.map_or_else(|| "-".to_owned(), duration);
        [one_line(&row.name), asked, yes, no, expired, withdrawn, median]
    };
    let cells: Vec<_> = rows.iter().chain([total]).map(cells).collect();
    format!("{when}\n\n{}\n{} asks most.\n", table(&HEAD, &cells), one_line(&most.name))
}

/// The questions as JSON.
pub(super) fn json(total: &QuestionUse, rows: &[QuestionUse]) -> Value {
    let row = |row: &QuestionUse| {
        json!({
            "name": row.name, "asked": row.asked, "yes": row.yes, "no": row.no, "expired": row.expired,
            "withdrawn": row.withdrawn, "median_ms": row.median_ms,
        })
    };
    json!({"by": "question", "rows": rows.iter().map(row).collect::<Vec<_>>(), "total": row(total)})
}
