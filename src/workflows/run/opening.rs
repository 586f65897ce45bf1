//! What a worker is given: its templates filled in, and the outputs of the steps before.

use serde_json::{Map, Value};

use super::Run;
use super::state::Ended;
use super::worker::fill;
use crate::journal::untrusted;
use crate::workflows::definition::{Feed, Step};
use crate::workflows::template::{Template, Values};

/// What templates are filled with at one place of a run.
pub(super) struct View<'v> {
    run: &'v Run<'v>,
    pub(super) values: Values,
    /// What only this place knows, and where that is from if it is from outside: `item`, `index`, a loop's own output.
    own: Vec<(String, Value)>,
    own_outside: Option<String>,
    /// The step whose output is not there yet, and may be asked for all the same: a loop's own.
    blank: Option<String>,
}

impl<'v> View<'v> {
    pub(super) fn new(run: &'v Run<'v>) -> Self {
        Self { run, values: run.state.values(), own: Vec::new(), own_outside: None, blank: None }
    }

    /// The same, and a name more.
    pub(super) fn with(mut self, name: &str, value: Value, outside: Option<&str>) -> Self {
        self.values = self.values.with(name, &value);
        self.own.push((name.to_owned(), value));
        self.own_outside = self.own_outside.or(outside.map(str::to_owned));
        self
    }

    /// The same where the output of a step is not there yet: what asks for it becomes nothing.
    pub(super) fn without(mut self, step: &str) -> Self {
        self.blank = Some(format!("steps.{step}"));
        self
    }

    fn outside(&self, name: &str) -> Option<String> {
        let root = name.split('.').next().unwrap_or_default();
        match self.own.iter().any(|(own, _)| own == root) {
            true => self.own_outside.clone(),
            false => self.run.state.outside(name),
        }
    }

    /// A text that goes to a model.
    pub(super) fn for_model(&self, template: &Template) -> Result<String, String> {
        let marked = || {
            let mut values = self.run.state.marked_values();
            for (name, value) in &self.own {
                let value = match &self.own_outside {
                    Some(mark) => super::state::in_blocks(value, &|text| untrusted::block(mark, text)),
                    None => value.clone(),
                };
                values = values.with(name, &value);
            }
            values
        };
        let is_blank = |name: &str| {
            let rest = self.blank.as_deref().and_then(|blank| name.strip_prefix(blank));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        template
            .for_model(&self.values, &marked, &|name| self.outside(name), &is_blank)
            .map_err(|error| error.to_string())
    }

    /// A table of templates, filled in.
    pub(super) fn filled(&self, table: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        fill(table, &|template| template.value(&self.values).map_err(|error| error.to_string()))
    }
}

impl Run<'_> {
    /// What a step, or one of its agents, is given: what the file says, or else the outputs of what it depends on.
    pub(super) fn fed(
        &self,
        step: &Step,
        feed: Option<&Feed>,
        view: &View<'_>,
    ) -> Result<Option<String>, String> {
        match feed.or(step.input.as_ref()) {
            Some(Feed::Template(template)) => view.for_model(template).map(Some),
            Some(Feed::AllBefore) => Ok(self.outputs_of(&|_| true)),
            None => Ok(self.outputs_of(&|id| step.depends_on.iter().any(|needed| needed == id))),
        }
    }

    fn outputs_of(&self, is_wanted: &dyn Fn(&str) -> bool) -> Option<String> {
        let mut texts = Vec::new();
        for step in self.workflow.steps.iter().filter(|step| is_wanted(&step.id)) {
            let Some(end) = self.state.end_of(&step.id) else { continue };
            if end.how == Ended::Skipped || (end.output.is_null() && end.outputs.is_none()) {
                continue;
            }
            texts.push(format!("Output of {}:\n{}", step.id, shown(&end.output, end.outside.as_deref())));
        }
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}

/// An output for a model: what is from outside stands in a block with this mark.
pub(super) fn shown(output: &Value, outside: Option<&str>) -> String {
    let text = plain(output);
    match outside {
        Some(mark) => untrusted::block(mark, &text),
        None => text,
    }
}

/// An output as text.
pub(super) fn plain(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
