//! Workflows on the page: the list, the form, the dry run, and the request for a run, which is a `/run` like in any chat.

use std::collections::BTreeMap;

use adjutant_config::BUILTIN;
use adjutant_l10n::page_workflows;
use adjutant_store::runs::{self, RunRow};
use adjutant_store::{Result, people, turns};
use adjutant_types::clock::utc;
use adjutant_types::{PersonId, RunStatus, TurnStatus};
use adjutant_web::Given;
use adjutant_web::views::{
    Badge, Drawing, DrawnArrow, DrawnStep, Field, FieldKind, Planned, RunLine, Viewer, WorkflowLine,
    WorkflowPage, Workflows,
};
use adjutant_workflows::definition::{Input, InputType};
use adjutant_workflows::language::inputs::resolve;
use adjutant_workflows::run::RunRequest;
use adjutant_workflows::trace::{duration, one_line};
use adjutant_workflows::view::layout::{LINE, Layout, fitted};
use adjutant_workflows::view::plan::{EstimateContext, plan};
use adjutant_workflows::{CheckContext, Workflow, command, date_values, explain};
use serde_json::{Map, Value};

use super::WebBackend;
use super::view::ViewerContext;

const RUNS: i64 = 50;

impl WebBackend {
    pub(super) async fn all_workflows(&self, viewer: &Viewer) -> Result<Workflows> {
        let person: PersonId = viewer.person.as_str().into();
        let view = self.view(viewer).await?;
        let whose = (!viewer.is_owner).then_some(&person);
        let mut lines = Vec::new();
        for (row, by) in runs::newest_of(&self.store, whose, RUNS).await? {
            let by =
                if by == person { None } else { Some(people::person_by_id(&self.store, &by).await?.name) };
            lines.push(view.run_line(row, by).await?);
        }
        let catalogue = self.catalogue();
        let line = |workflow: &Workflow| WorkflowLine {
            name: workflow.name.clone(),
            about: workflow.description.clone(),
        };
        Ok(Workflows { workflows: catalogue.workflows.iter().map(line).collect(), runs: lines })
    }

    pub(super) fn workflow_page(&self, name: &str, given: &Given) -> Option<WorkflowPage> {
        let catalogue = self.catalogue();
        let workflow = catalogue.get(name)?;
        Some(WorkflowPage {
            name: workflow.name.clone(),
            about: workflow.description.clone(),
            explained: explain(workflow),
            drawing: drawing(workflow, &[], |_| None),
            fields: workflow.inputs.iter().map(|input| field(input, given.get(&input.name))).collect(),
        })
    }

    /// Why a run can't begin with these inputs, or its plan.
    pub(super) async fn dry_run(
        &self,
        viewer: &Viewer,
        name: &str,
        given: &Given,
    ) -> Result<Option<Planned>> {
        let catalogue = self.catalogue();
        let Some(workflow) = catalogue.get(name) else { return Ok(None) };
        let values: BTreeMap<String, Value> =
            given.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        let inputs = match resolve(workflow, &values) {
            Ok(inputs) => inputs,
            Err(problems) => return Ok(Some(Planned::Problems(problems))),
        };
        if !inputs.missing.is_empty() {
            let problem = |input: &&Input| page_workflows::fill_in(&input.name);
            return Ok(Some(Planned::Problems(inputs.missing.iter().map(problem).collect())));
        }
        let settings = self.conversations.settings.current();
        let orchestrator = &self.conversations.orchestrator;
        let registry = orchestrator.skills.current();
        let roles = orchestrator.agents.roles.current();
        let model = &self.live.initial().model;
        let endpoint = &model.agent.as_ref().unwrap_or(&model.main).first;
        let context = EstimateContext {
            context: CheckContext {
                skills: &registry,
                approval: &settings.approval,
                workflows: &catalogue.workflows,
            },
            limits: &settings.limits,
            roles: Some(&roles),
            model: &endpoint.name,
            price: endpoint.price,
            is_free: endpoint.provider == BUILTIN,
            history: None,
            values: None,
        };
        let zone = self.zone(viewer).await?;
        let now = date_values(utc(self.store.now()).with_timezone(&zone).naive_local(), None);
        Ok(Some(Planned::Plan(plan(workflow, &inputs, &now, &context).text())))
    }

    fn catalogue(&self) -> std::sync::Arc<adjutant_workflows::catalogue::Catalogue> {
        self.conversations.orchestrator.runner.workflows.current()
    }
}

/// The message that asks for a run.
pub(super) fn request(name: &str, given: &Given) -> String {
    let given: Map<String, Value> =
        given.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    command::written(&RunRequest { workflow: name.to_owned(), given, ..RunRequest::default() })
}

impl ViewerContext<'_> {
    async fn run_line(&self, row: RunRow, by: Option<String>) -> Result<RunLine> {
        let waits = self.waits(&row).await?;
        let ended = row.ended_at.unwrap_or_else(|| self.store.now());
        Ok(RunLine {
            badge: run_badge(if waits { RunStatus::Waiting } else { row.status }),
            key: row.id.to_string(),
            at: self.moment(row.started_at),
            workflow: one_line(&row.workflow),
            by,
            lasted: duration((ended - row.started_at).max(0)),
        })
    }

    /// Whether a run waits for a person: one that hasn't ended waits when its turn does.
    pub(super) async fn waits(&self, row: &RunRow) -> Result<bool> {
        if row.ended_at.is_some() {
            return Ok(false);
        }
        let turn = turns::by_id(self.store, &row.turn_id).await?;
        Ok(turn.is_some_and(|turn| turn.status == TurnStatus::Waiting))
    }
}

pub(super) fn run_badge(status: RunStatus) -> Badge {
    match status {
        RunStatus::Running => Badge::Running,
        RunStatus::Waiting => Badge::Waiting,
        RunStatus::Complete => Badge::Done,
        RunStatus::Partial => Badge::Partial,
        RunStatus::Failed => Badge::Failed,
        RunStatus::Cancelled => Badge::Stopped,
    }
}

/// A workflow's graph; in a run, with the names and values of its inputs, and `state` says how a step stands.
pub(super) fn drawing(
    workflow: &Workflow,
    inputs: &[(String, String)],
    state: impl Fn(&str) -> Option<(Badge, String)>,
) -> Drawing {
    let is_run = workflow.steps.first().is_some_and(|step| state(&step.id).is_some());
    let layout = Layout::of(workflow, usize::from(is_run));
    let filled = |text: &String| {
        let fill = |text: String, (name, value): &(String, String)| {
            let value = one_line(value);
            let text = text.replace(&format!("{{{{inputs.{name}}}}}"), &value);
            text.replace(&format!("{{{{ inputs.{name} }}}}"), &value)
        };
        inputs.iter().fold(text.clone(), fill)
    };
    let steps = layout.boxes.into_iter().map(|placed| {
        let whole: Vec<String> = placed.texts.iter().map(filled).collect();
        DrawnStep {
            place: (placed.x, placed.y),
            size: (placed.width, placed.height),
            radius: placed.radius(),
            state: state(&placed.id),
            texts: whole.iter().map(|text| fitted(text)).collect(),
            whole: whole.join("\n"),
        }
    });
    let arrows = layout.arrows.into_iter().map(|arrow| DrawnArrow { path: arrow.path, label: arrow.label });
    Drawing {
        size: (layout.width, layout.height),
        line: LINE,
        steps: steps.collect(),
        arrows: arrows.collect(),
    }
}

fn field(input: &Input, given: Option<&String>) -> Field {
    let default = input.default.as_ref().map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    Field {
        name: input.name.clone(),
        about: input.description.clone(),
        kind: match input.kind {
            InputType::String | InputType::Json => FieldKind::Text,
            InputType::Number => FieldKind::Number,
            InputType::Boolean => FieldKind::YesNo,
            InputType::FilePath => FieldKind::Line,
        },
        is_required: input.required && input.default.is_none(),
        value: given.cloned().or(default).unwrap_or_default(),
    }
}
