//! The state of a run's steps, and their results.

mod outside;
mod reviews;

use std::collections::{BTreeSet, HashMap, HashSet};

use adjutant_store::executions::ExecutionRow;
use adjutant_types::block;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::keys;
use crate::language::definition::Workflow;
use crate::language::template::Values;
use crate::view::report::StepStatus;
pub(super) use outside::in_blocks;
pub(super) use reviews::Redo;
use reviews::Reviews;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StepOutcome {
    #[default]
    Completed,
    /// It failed, and the run goes on without its output.
    Failed,
    /// It failed, and the run with it.
    Fatal,
    /// It wasn't chosen.
    Skipped,
}

/// The result of a step. A rerun reads it as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct StepResult {
    pub(super) how: StepOutcome,
    #[serde(default)]
    pub(super) output: Value,
    /// The outputs of a parallel step's members.
    pub(super) outputs: Option<Map<String, Value>>,
    pub(super) error: Option<String>,
    /// The step that a choice leads to.
    pub(super) chosen: Option<String>,
    /// The execution that untrusted output comes from.
    pub(super) outside: Option<String>,
    #[serde(skip)]
    pub(super) warnings: Vec<String>,
    #[serde(skip)]
    pub(super) attempts: u32,
    #[serde(skip)]
    pub(super) retries: usize,
    #[serde(default)]
    pub(super) began: i64,
    #[serde(default)]
    pub(super) ended: i64,
}

impl StepResult {
    pub(super) fn new(how: StepOutcome, output: Value) -> Self {
        Self { how, output, ..Self::default() }
    }

    pub(super) fn is_fatal(&self) -> bool {
        self.how == StepOutcome::Fatal
    }
}

#[derive(Debug, Clone)]
pub(super) enum StepState {
    Pending,
    Running,
    /// The step waits for a person, or else for its time or a limit.
    Suspended {
        for_a_person: bool,
    },
    Ended(Box<StepResult>),
}

impl StepState {
    pub(super) fn status(&self) -> StepStatus {
        match self {
            Self::Pending | Self::Suspended { for_a_person: false } => StepStatus::Pending,
            Self::Running => StepStatus::Running,
            Self::Suspended { for_a_person: true } => StepStatus::Waiting,
            Self::Ended(end) => match end.how {
                StepOutcome::Completed => StepStatus::Completed,
                StepOutcome::Failed | StepOutcome::Fatal => StepStatus::Failed,
                StepOutcome::Skipped => StepStatus::Skipped,
            },
        }
    }
}

/// The state of a run in memory.
pub(super) struct State(Mutex<Inner>);

struct Inner {
    steps: Vec<StepState>,
    /// The dependencies of each step, by index.
    needs: Vec<Vec<usize>>,
    choosers: Vec<Option<usize>>,
    ids: Vec<String>,
    aliases: Vec<Option<String>>,
    /// The rows below the run, by their keys.
    rows: HashMap<String, ExecutionRow>,
    /// Keys that already count towards the turn's agents.
    counted: HashSet<String>,
    reviews: Reviews,
    /// `inputs` and the dates.
    given: Map<String, Value>,
    values: Option<Values>,
}

impl State {
    pub(super) fn new(
        workflow: &Workflow,
        given: Map<String, Value>,
        rows: HashMap<String, ExecutionRow>,
    ) -> Self {
        let index_of = |id: &String| workflow.steps.iter().position(|step| step.id == *id);
        let counted = rows.iter().filter(|(_, row)| row.started_at.is_some()).map(|(key, _)| key.clone());
        let inner = Inner {
            steps: vec![StepState::Pending; workflow.steps.len()],
            needs: workflow
                .steps
                .iter()
                .map(|step| step.depends_on.iter().filter_map(index_of).collect())
                .collect(),
            choosers: workflow.steps.iter().map(|step| step.chosen_by.as_ref().and_then(index_of)).collect(),
            ids: workflow.steps.iter().map(|step| step.id.clone()).collect(),
            aliases: workflow.steps.iter().map(|step| step.output.store_as.clone()).collect(),
            counted: counted.collect(),
            rows,
            reviews: Reviews::default(),
            given,
            values: None,
        };
        Self(Mutex::new(inner))
    }

    /// Marks the steps that start now as running and returns them. Steps that weren't chosen end here. After a failure
    /// nothing starts; where the rest can be planned anew, under this key, what has begun goes on.
    pub(super) fn ready(&self, planner: Option<&str>) -> Vec<usize> {
        let mut inner = self.0.lock();
        let goes_on_only = inner.has_failed() || planner.is_some_and(|key| inner.rows.contains_key(key));
        if goes_on_only && planner.is_none() {
            return Vec::new();
        }
        while let Some(at) = inner.next_unchosen() {
            inner.end(at, StepResult::new(StepOutcome::Skipped, Value::Null));
        }
        let ready: Vec<usize> = (0..inner.steps.len())
            .filter(|at| inner.is_free(*at) && (!goes_on_only || inner.has_begun(*at)))
            .collect();
        for at in &ready {
            inner.steps[*at] = StepState::Running;
        }
        ready
    }

    pub(super) fn has_failed(&self) -> bool {
        self.0.lock().has_failed()
    }

    pub(super) fn ended(&self, at: usize, end: StepResult) {
        self.0.lock().end(at, end);
    }

    pub(super) fn suspended(&self, at: usize, for_a_person: bool) {
        self.0.lock().steps[at] = StepState::Suspended { for_a_person };
    }

    pub(super) fn awake(&self, at: usize) {
        self.0.lock().steps[at] = StepState::Pending;
    }

    /// The states of all steps, in the order of the file.
    pub(super) fn step_states(&self) -> Vec<StepState> {
        self.0.lock().steps.clone()
    }

    /// The status of each step, when it started and when it ended.
    pub(super) fn statuses(&self) -> Vec<(StepStatus, Option<i64>, Option<i64>)> {
        let inner = self.0.lock();
        let mut began: HashMap<&str, i64> = HashMap::new();
        for (key, row) in &inner.rows {
            if let Some(started) = row.started_at {
                let first = began.entry(keys::step(key)).or_insert(started);
                *first = started.min(*first);
            }
        }
        let steps = inner.ids.iter().zip(&inner.steps);
        let stand = steps.map(|(id, state)| match state {
            StepState::Ended(end) => (state.status(), Some(end.began), Some(end.ended)),
            _ => (state.status(), began.get(id.as_str()).copied(), None),
        });
        stand.collect()
    }

    /// The steps that have begun, in any version of the plan.
    pub(super) fn begun(&self) -> BTreeSet<String> {
        self.0.lock().rows.keys().map(|key| keys::step(key).to_owned()).collect()
    }

    /// The rows of a step, or of one of its workers: those whose keys begin like this.
    pub(super) fn rows_of(&self, key: &str) -> Vec<ExecutionRow> {
        let inner = self.0.lock();
        let rows_of_step = inner.rows.iter().filter(|(row_key, _)| keys::after(row_key, key).is_some());
        rows_of_step.map(|(_, row)| row.clone()).collect()
    }

    /// The time when the last dependency of a step ended; `start` without dependencies.
    pub(super) fn ready_since(&self, at: usize, start: i64) -> i64 {
        let inner = self.0.lock();
        let ends = inner.needs[at].iter().filter_map(|need| inner.end_of(*need)).map(|end| end.ended);
        ends.max().unwrap_or(start).max(start)
    }

    pub(super) fn values(&self) -> Values {
        let mut inner = self.0.lock();
        if let Some(values) = &inner.values {
            return values.clone();
        }
        let values = Values::new(&inner.all(false));
        inner.values = Some(values.clone());
        values
    }

    /// The steps' outputs, as templates see them.
    pub(super) fn steps(&self) -> Value {
        self.0.lock().all(false)["steps"].take()
    }

    pub(super) fn end_of(&self, step: &str) -> Option<StepResult> {
        let inner = self.0.lock();
        let at = inner.ids.iter().position(|id| id == step)?;
        inner.end_of(at).cloned()
    }

    pub(super) fn row(&self, key: &str) -> Option<ExecutionRow> {
        self.0.lock().rows.get(key).cloned()
    }

    pub(super) fn rows(&self) -> Vec<ExecutionRow> {
        self.0.lock().rows.values().cloned().collect()
    }

    pub(super) fn put_row(&self, key: &str, row: ExecutionRow) {
        self.0.lock().rows.insert(key.to_owned(), row);
    }

    pub(super) fn put_rows(&self, rows: HashMap<String, ExecutionRow>) {
        self.0.lock().rows = rows;
    }

    /// Counts a unit of work towards the turn's agents; whether it was counted already.
    pub(super) fn count(&self, key: &str) -> bool {
        !self.0.lock().counted.insert(key.to_owned())
    }

    pub(super) fn uncount(&self, key: &str) {
        self.0.lock().counted.remove(key);
    }
}

impl Inner {
    fn end_of(&self, at: usize) -> Option<&StepResult> {
        match &self.steps[at] {
            StepState::Ended(end) => Some(end),
            _ => None,
        }
    }

    fn end(&mut self, at: usize, end: StepResult) {
        self.steps[at] = StepState::Ended(Box::new(end));
        self.values = None;
    }

    fn has_failed(&self) -> bool {
        (0..self.steps.len()).any(|at| self.end_of(at).is_some_and(StepResult::is_fatal))
    }

    /// Whether all its dependencies have ended.
    fn is_free(&self, at: usize) -> bool {
        matches!(self.steps[at], StepState::Pending)
            && self.needs[at].iter().all(|need| self.end_of(*need).is_some())
    }

    fn has_begun(&self, at: usize) -> bool {
        self.rows.keys().any(|key| keys::step(key) == self.ids[at])
    }

    /// A step that wasn't chosen: its choice led elsewhere, or all its dependencies were skipped.
    fn next_unchosen(&self) -> Option<usize> {
        (0..self.steps.len()).find(|at| {
            let skipped =
                |need: &usize| self.end_of(*need).is_some_and(|end| end.how == StepOutcome::Skipped);
            let by_choice = self.choosers[*at].and_then(|chooser| self.end_of(chooser));
            let elsewhere = by_choice.is_some_and(|end| end.chosen.as_ref() != Some(&self.ids[*at]));
            let needs = &self.needs[*at];
            self.is_free(*at) && (elsewhere || (!needs.is_empty() && needs.iter().all(skipped)))
        })
    }

    /// All values by name; with `is_marked`, each untrusted text inside a block.
    fn all(&self, is_marked: bool) -> Value {
        let mut all = self.given.clone();
        let mut steps = Map::new();
        for (at, id) in self.ids.iter().enumerate() {
            let Some(end) = self.end_of(at) else { continue };
            let mark = end.outside.as_ref().filter(|_| is_marked).map(|mark| (mark, self.sources(mark)));
            let shown = |value: &Value| match &mark {
                Some((mark, sources)) => in_blocks(value, &|text| block::of(mark, sources, text)),
                None => value.clone(),
            };
            let output = shown(&end.output);
            if let Some(alias) = &self.aliases[at]
                && (end.how != StepOutcome::Skipped || !all.contains_key(alias))
            {
                all.insert(alias.clone(), output.clone());
            }
            let mut step = Map::from_iter([("output".to_owned(), output)]);
            if let Some(outputs) = &end.outputs {
                let outputs = outputs.iter().map(|(key, value)| (key.clone(), shown(value)));
                step.insert("outputs".to_owned(), Value::Object(outputs.collect()));
            }
            steps.insert(id.clone(), Value::Object(step));
        }
        all.insert("steps".to_owned(), Value::Object(steps));
        Value::Object(all)
    }
}
