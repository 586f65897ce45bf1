//! How a run begins, and how it is found again in the journal.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::state::{Ended, State, StepEnd};
use super::{Errand, Run, Runner};
use crate::agents::AgentEnd;
use crate::clock::utc;
use crate::domain::RunStatus;
use crate::journal::{Scope, fail_point};
use crate::skills::Registry;
use crate::store::executions::{self, ExecutionRow};
use crate::store::runs::{self, RunRow};
use crate::store::{StoreError, turns};
use crate::suggest::did_you_mean;
use crate::workflows::definition::{Step, Workflow};
use crate::workflows::inputs::{Inputs, resolve};
use crate::workflows::sketch::Sketch;
use crate::workflows::{ancestors, parse, times};

/// What a run is made of before it walks.
pub(super) type Begun<'r> = Result<Run<'r>, AgentEnd>;

impl Runner {
    /// The run of this row: as it was kept, or new. Or how it ends at once: it can't be, or a person is asked for what it
    /// needs.
    pub(super) async fn begin<'r>(
        &'r self,
        scope: &'r Scope,
        registry: &'r Arc<Registry>,
        row: &'r ExecutionRow,
        errand: &Errand,
        room: Option<Arc<Semaphore>>,
    ) -> Result<Begun<'r>, StoreError> {
        let kept = match runs::by_id(&scope.store, &row.id).await? {
            Some(kept) => kept,
            None => match self.undertake(scope, registry, row, errand).await? {
                Ok(kept) => kept,
                Err(end) => return Ok(Err(end)),
            },
        };
        let mut workflow = match parse(&kept.file, &kept.text) {
            Ok(workflow) => workflow,
            Err(faults) => {
                let why = faults.first().map(ToString::to_string).unwrap_or_default();
                return self.refuse(scope, row, &why).await.map(Err);
            }
        };
        workflow.keep_skills(|skill| registry.get(skill).is_some());
        let rows = executions::of_agent(&scope.store, &row.id).await?;
        let mut given: Map<String, Value> =
            times(utc(kept.started_at).with_timezone(&scope.zone).naive_local());
        given.insert("inputs".to_owned(), serde_json::from_str(&kept.inputs).unwrap_or_default());
        let limits = &scope.budget.limits;
        let most = usize::try_from(limits.parallel_agents).unwrap_or(1);
        let most = most.min(workflow.max_concurrent.unwrap_or(most)).max(1);
        Ok(Ok(Run {
            runner: self,
            scope,
            registry,
            row,
            titles: Sketch::of(&workflow).nodes.into_iter().map(|node| node.title).collect(),
            zone: scope.zone,
            room: room.unwrap_or_else(|| Arc::new(Semaphore::new(most))),
            deadline: workflow.timeout.map(|timeout| Instant::now() + timeout),
            cancel: scope.cancel.child_token(),
            state: State::new(&workflow, given, by_key(row, rows)),
            seed: kept.seed.as_deref().and_then(|seed| serde_json::from_str(seed).ok()).unwrap_or_default(),
            kept,
            workflow,
        }))
    }

    /// Begins a new run, once all is there that it needs.
    async fn undertake(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        errand: &Errand,
    ) -> Result<Result<RunRow, AgentEnd>, StoreError> {
        let mut new = RunRow {
            id: row.id.clone(),
            turn_id: scope.turn.clone(),
            workflow: errand.workflow.clone(),
            file: String::new(),
            text: String::new(),
            inputs: String::new(),
            rerun_of: None,
            seed: None,
            status: RunStatus::Running,
            report: None,
            outputs: None,
            started_at: scope.store.now(),
            ended_at: None,
        };
        if let Some((of, from)) = &errand.again {
            match self.taken_over(scope, new, of, from).await? {
                Ok(taken_over) => new = taken_over,
                Err(why) => return self.refuse(scope, row, &why).await.map(Err),
            }
        } else {
            let workflow = match self.meant(scope, registry, row, errand).await? {
                Ok(workflow) => workflow,
                Err(end) => return Ok(Err(end)),
            };
            let inputs = match self.inputs(scope, row, &workflow, &errand.given).await? {
                Ok(inputs) => inputs,
                Err(end) => return Ok(Err(end)),
            };
            (new.workflow, new.file, new.text) = (workflow.name, workflow.file, workflow.text);
            new.inputs = Value::Object(inputs).to_string();
        }
        let mut batch = scope.batch();
        executions::start(&mut batch, &row.id, new.started_at);
        runs::insert(&mut batch, &new);
        scope.store.write(batch).await?;
        fail_point("run-begun");
        Ok(Ok(new))
    }

    /// The workflow that is to run: by its name, or made of words.
    async fn meant(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        errand: &Errand,
    ) -> Result<Result<Workflow, AgentEnd>, StoreError> {
        if let Some(words) = &errand.words {
            return self.drafted(scope, registry, row, words).await;
        }
        let workflows = self.workflows.current();
        if let Some(workflow) = workflows.get(&errand.workflow) {
            return Ok(Ok(workflow.clone()));
        }
        let hint =
            did_you_mean(&errand.workflow, workflows.workflows.iter().map(|known| known.name.as_str()));
        let why = format!("there is no workflow '{}'{hint}", errand.workflow);
        self.refuse(scope, row, &why).await.map(Err)
    }

    /// The inputs, once a person has said all that are missing.
    async fn inputs(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        workflow: &Workflow,
        given: &Map<String, Value>,
    ) -> Result<Result<Map<String, Value>, AgentEnd>, StoreError> {
        let mut given: BTreeMap<String, Value> = given.clone().into_iter().collect();
        let said = match self.said(scope, row, workflow).await? {
            Ok(said) => said,
            Err(end) => return Ok(Err(end)),
        };
        given.extend(said.values);
        match resolve(workflow, &given) {
            Err(faults) => self.refuse(scope, row, &faults.join("; ")).await.map(Err),
            Ok(Inputs { values, missing }) => match missing.first() {
                None => Ok(Ok(values)),
                Some(input) => self.ask_for(scope, row, &workflow.name, input, said.fault).await.map(Err),
            },
        }
    }

    /// A run that takes over from another what comes before a step, and beside it.
    async fn taken_over(
        &self,
        scope: &Scope,
        new: RunRow,
        of: &str,
        from: &str,
    ) -> Result<Result<RunRow, String>, StoreError> {
        let found = runs::beginning_with(&scope.store, of, 2).await?;
        let [earlier] = &found[..] else {
            let why = if found.is_empty() { "there is no run" } else { "there are several runs" };
            return Ok(Err(format!("{why} that begins with {of}; `adjutant workflow runs` shows them")));
        };
        let turn = turns::by_id(&scope.store, &earlier.turn_id).await?;
        let is_theirs = turn.is_some_and(|turn| turn.person_id == scope.person.id);
        if !is_theirs && !scope.is_owners().await? {
            return Ok(Err(format!(
                "there is no run that begins with {of}; `adjutant workflow runs` shows them"
            )));
        }
        let outputs = earlier.outputs.as_ref().filter(|_| earlier.ended_at.is_some());
        let (Some(outputs), Ok(workflow)) = (outputs, parse(&earlier.file, &earlier.text)) else {
            let why = match earlier.ended_at {
                None => "it has not ended; cancel it first",
                Some(_) => "what its steps gave is not kept any more",
            };
            return Ok(Err(format!("the run {of} can't be taken over: {why}")));
        };
        let outputs: BTreeMap<String, StepEnd> = serde_json::from_str(outputs).unwrap_or_default();
        let Some(place) = workflow.steps.iter().position(|step| step.id == from) else {
            let hint = did_you_mean(from, workflow.steps.iter().map(|step| step.id.as_str()));
            return Ok(Err(format!("the workflow '{}' has no step '{from}'{hint}", workflow.name)));
        };
        let before = ancestors(&workflow.steps);
        let is_kept = |(at, step): &(usize, &Step)| {
            *at != place
                && !before[*at][place]
                && outputs.get(&step.id).is_some_and(|end| end.how != Ended::Fatal)
        };
        let kept = workflow.steps.iter().enumerate().filter(is_kept);
        let seed: BTreeMap<&String, &StepEnd> =
            kept.filter_map(|(_, step)| outputs.get_key_value(&step.id)).collect();
        Ok(Ok(RunRow {
            workflow: earlier.workflow.clone(),
            file: earlier.file.clone(),
            text: earlier.text.clone(),
            inputs: earlier.inputs.clone(),
            rerun_of: Some(earlier.id.clone()),
            seed: serde_json::to_string(&seed).ok(),
            ..new
        }))
    }
}

impl Run<'_> {
    /// What a step gave in the run that this one takes over from.
    pub(super) fn seeded(&self, step: &Step) -> Option<StepEnd> {
        self.seed.get(&step.id).cloned()
    }
}

/// The rows below a run by their keys.
pub(super) fn by_key(run: &ExecutionRow, rows: Vec<ExecutionRow>) -> HashMap<String, ExecutionRow> {
    let prefix = format!("{}/", run.agent_id.as_deref().unwrap_or_default());
    let key = |row: &ExecutionRow| row.agent_id.as_deref()?.strip_prefix(&prefix).map(str::to_owned);
    rows.into_iter().filter_map(|row| Some((key(&row)?, row))).collect()
}
