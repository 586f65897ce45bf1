//! What of a run's values comes from outside, and the blocks that it stands in.

use adjutant_types::{Taint, block};
use serde_json::Value;

use super::{Inner, State};
use crate::language::template::Values;
use crate::run::keys;

impl State {
    /// The same with each untrusted text in a block of its own.
    pub(in crate::run) fn marked_values(&self) -> Values {
        Values::new(&self.0.lock().all(true))
    }

    /// The execution that the untrusted value of a template's name comes from.
    pub(in crate::run) fn outside(&self, name: &str) -> Option<String> {
        let inner = self.0.lock();
        let mut parts = name.split('.');
        let root = parts.next()?;
        let step = parts.next();
        let is_meant = |at: &usize| match (root, step) {
            ("steps", None) => true,
            ("steps", Some(step)) => inner.ids[*at] == step,
            (alias, _) => inner.aliases[*at].as_deref() == Some(alias),
        };
        let mut meant = (0..inner.steps.len()).filter(is_meant);
        meant.find_map(|at| inner.end_of(at)?.outside.clone())
    }

    /// A text in a block that names what the execution of its mark had read.
    pub(in crate::run) fn block(&self, mark: &str, text: &str) -> String {
        block::of(mark, &self.0.lock().sources(mark), text)
    }
}

impl Inner {
    /// What the step of this execution was given and has read; for one that isn't known, what all have.
    pub(super) fn sources(&self, mark: &str) -> Taint {
        let step = self.rows.iter().find(|(_, row)| row.id == *mark).map(|(key, _)| keys::step(key));
        let rows = self.rows.iter().filter(|(key, _)| step.is_none_or(|step| keys::step(key) == step));
        rows.map(|(_, row)| &row.taint).collect()
    }
}

/// The value with each of its texts in a block.
pub(in crate::run) fn in_blocks(value: &Value, block: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(block(text)),
        Value::Array(list) => list.iter().map(|value| in_blocks(value, block)).collect(),
        Value::Object(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.clone(), in_blocks(value, block))).collect())
        }
        other => other.clone(),
    }
}
