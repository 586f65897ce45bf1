//! The texts of a unit of work: its templates filled in, and the outputs of earlier steps.

use serde_json::{Map, Value};

use super::Run;
use super::state::StepOutcome;
use crate::definition::{Agent, InputMapping, OnFailure, Step};
use crate::language::template::{Template, TemplateError, Values, map_templates};

/// The values of templates at a point of a run.
pub(super) struct TemplateScope<'v> {
    run: &'v Run<'v>,
    pub(super) values: Values,
    /// Values at this point alone (`item`, `index`, a loop's own output), and the execution they come from if they are
    /// untrusted.
    own: Vec<(String, Value)>,
    own_outside: Option<String>,
    /// The step whose output renders as nothing, since it isn't there yet: a loop's own.
    blank: Option<String>,
}

impl<'v> TemplateScope<'v> {
    pub(super) fn new(run: &'v Run<'v>) -> Self {
        Self { run, values: run.state.values(), own: Vec::new(), own_outside: None, blank: None }
    }

    pub(super) fn with(mut self, name: &str, value: Value, outside: Option<&str>) -> Self {
        self.values = self.values.with(name, &value);
        self.own.push((name.to_owned(), value));
        self.own_outside = self.own_outside.or(outside.map(str::to_owned));
        self
    }

    /// Lets the output of a step render as nothing.
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

    pub(super) fn for_model(&self, template: &Template) -> Result<String, TemplateError> {
        let marked = || {
            let mut values = self.run.state.marked_values();
            for (name, value) in &self.own {
                let value = match &self.own_outside {
                    Some(mark) => super::state::in_blocks(value, &|text| self.run.state.block(mark, text)),
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
        let block = |name: &str, text: &str| Some(self.run.state.block(&self.outside(name)?, text));
        let is_outside = |name: &str| self.outside(name).is_some();
        template.for_model(&self.values, &marked, (&is_outside, &block), &is_blank)
    }

    /// A table of templates, filled in; a lone `{{...}}` keeps its type.
    pub(super) fn filled(&self, table: &Map<String, Value>) -> Result<Map<String, Value>, TemplateError> {
        map_templates(table, &|template| template.value(&self.values))
    }
}

impl Run<'_> {
    /// The input of a step or of one of its agents: as the file says, or else the outputs of its dependencies that its
    /// prompt doesn't show.
    pub(super) fn input_of(
        &self,
        step: &Step,
        agent: Option<&Agent>,
        mapping: Option<&InputMapping>,
        templates: &TemplateScope<'_>,
    ) -> Result<Option<String>, TemplateError> {
        // A fallback gets the same input, and may show less.
        let agent = agent.filter(|agent| !matches!(agent.retry.on_failure, OnFailure::Fallback(_)));
        let is_shown = |other: &Step| {
            agent.is_some_and(|agent| agent.prompt.shows(&format!("steps.{}.output", other.id)))
        };
        match mapping.or(step.input.as_ref()) {
            Some(InputMapping::Template(template)) => templates.for_model(template).map(Some),
            Some(InputMapping::AllPrior) => Ok(self.outputs_of(&|_| true)),
            None => Ok(self.outputs_of(&|other| step.depends_on.contains(&other.id) && !is_shown(other))),
        }
    }

    fn outputs_of(&self, is_wanted: &dyn Fn(&Step) -> bool) -> Option<String> {
        let mut texts = Vec::new();
        for step in self.workflow.steps.iter().filter(|step| is_wanted(step)) {
            let Some(end) = self.state.end_of(&step.id) else { continue };
            if end.how == StepOutcome::Skipped || (end.output.is_null() && end.outputs.is_none()) {
                continue;
            }
            let shown = self.shown(&end.output, end.outside.as_deref());
            texts.push(format!("Output of {}:\n{shown}", step.id));
        }
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// An output for a model; an untrusted one is in a block with this mark.
    pub(super) fn shown(&self, output: &Value, outside: Option<&str>) -> String {
        let text = plain(output);
        match outside {
            Some(mark) => self.state.block(mark, &text),
            None => text,
        }
    }
}

pub(super) fn plain(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
