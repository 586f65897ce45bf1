//! How the steps of a run stand, and what they gave.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::store::executions::ExecutionRow;
use crate::workflows::definition::Workflow;
use crate::workflows::keys;
use crate::workflows::template::Values;

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    /// It gave what it was to give.
    Completed,
    /// It did not, and the run goes on without.
    Failed,
    /// It did not, and the run ends.
    Fatal,
    /// It was not chosen.
    Skipped,
}

/// What a step came to. What is needed of it in a later run is kept as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StepEnd {
    pub(super) how: Ended,
    #[serde(default)]
    pub(super) output: Value,
    /// Of a parallel step: what each gave.
    #[serde(default)]
    pub(super) outputs: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) error: Option<String>,
    /// The step that a choice led to.
    #[serde(default)]
    pub(super) chosen: Option<String>,
    /// The execution from which something of it came that is from outside the house.
    #[serde(default)]
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

impl StepEnd {
    pub(super) fn new(how: Ended, output: Value) -> Self {
        Self {
            how,
            output,
            outputs: None,
            error: None,
            chosen: None,
            outside: None,
            warnings: Vec::new(),
            attempts: 0,
            retries: 0,
            began: 0,
            ended: 0,
        }
    }

    pub(super) fn is_fatal(&self) -> bool {
        self.how == Ended::Fatal
    }
}

/// How a step stands.
#[derive(Debug, Clone)]
pub(super) enum StepState {
    Pending,
    Running,
    /// Asleep; whether it waits for a person.
    Asleep(bool),
    Ended(Box<StepEnd>),
}

impl StepState {
    /// The contract's word for it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Pending | Self::Asleep(false) => "pending",
            Self::Running => "running",
            Self::Asleep(true) => "waiting",
            Self::Ended(end) => match end.how {
                Ended::Completed => "completed",
                Ended::Failed | Ended::Fatal => "failed",
                Ended::Skipped => "skipped",
            },
        }
    }
}

/// The run's memory while it is at work.
pub(super) struct State {
    inner: Mutex<Inner>,
}

/// What puts a text into a block with a mark.
type Block = fn(&str, &str) -> String;

struct Inner {
    steps: Vec<StepState>,
    /// What each waits for, by place.
    needs: Vec<Vec<usize>>,
    choosers: Vec<Option<usize>>,
    ids: Vec<String>,
    aliases: Vec<Option<String>>,
    /// The rows below the run, by their keys.
    rows: HashMap<String, ExecutionRow>,
    /// Keys that count against the turn's agents already.
    counted: HashSet<String>,
    /// `inputs` and the times.
    given: Map<String, Value>,
    values: Option<Values>,
}

impl State {
    pub(super) fn new(
        workflow: &Workflow,
        given: Map<String, Value>,
        rows: HashMap<String, ExecutionRow>,
    ) -> Self {
        let place = |id: &String| workflow.steps.iter().position(|step| step.id == *id);
        let counted = rows.iter().filter(|(_, row)| row.started_at.is_some()).map(|(key, _)| key.clone());
        let inner = Inner {
            steps: vec![StepState::Pending; workflow.steps.len()],
            needs: workflow
                .steps
                .iter()
                .map(|step| step.depends_on.iter().filter_map(place).collect())
                .collect(),
            choosers: workflow.steps.iter().map(|step| step.chosen_by.as_ref().and_then(place)).collect(),
            ids: workflow.steps.iter().map(|step| step.id.clone()).collect(),
            aliases: workflow.steps.iter().map(|step| step.output.store_as.clone()).collect(),
            counted: counted.collect(),
            rows,
            given,
            values: None,
        };
        Self { inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The steps that start now, which are marked as running. Those that nobody chose end here.
    pub(super) fn ready(&self) -> Vec<usize> {
        let mut inner = self.lock();
        if inner.has_failed() {
            return Vec::new();
        }
        while let Some(at) = inner.next_unchosen() {
            inner.end(at, StepEnd::new(Ended::Skipped, Value::Null));
        }
        let ready: Vec<usize> = (0..inner.steps.len()).filter(|at| inner.is_free(*at)).collect();
        for at in &ready {
            inner.steps[*at] = StepState::Running;
        }
        ready
    }

    pub(super) fn has_failed(&self) -> bool {
        self.lock().has_failed()
    }

    pub(super) fn ended(&self, at: usize, end: StepEnd) {
        self.lock().end(at, end);
    }

    pub(super) fn asleep(&self, at: usize, for_a_person: bool) {
        self.lock().steps[at] = StepState::Asleep(for_a_person);
    }

    pub(super) fn awake(&self, at: usize) {
        self.lock().steps[at] = StepState::Pending;
    }

    /// How all steps stand, in the order of the file.
    pub(super) fn step_states(&self) -> Vec<StepState> {
        self.lock().steps.clone()
    }

    /// How each step stands, when its first piece began, and when it ended.
    pub(super) fn stands(&self) -> Vec<(&'static str, Option<i64>, Option<i64>)> {
        let inner = self.lock();
        let mut began: HashMap<&str, i64> = HashMap::new();
        for (key, row) in &inner.rows {
            if let Some(started) = row.started_at {
                let first = began.entry(keys::step(key)).or_insert(started);
                *first = started.min(*first);
            }
        }
        let steps = inner.ids.iter().zip(&inner.steps);
        let stand = steps.map(|(id, state)| match state {
            StepState::Ended(end) => (state.word(), Some(end.began), Some(end.ended)),
            _ => (state.word(), began.get(id.as_str()).copied(), None),
        });
        stand.collect()
    }

    /// The rows of the pieces of a step, or of one of its workers: those whose keys begin like this.
    pub(super) fn rows_of(&self, key: &str) -> Vec<ExecutionRow> {
        let inner = self.lock();
        let its = inner.rows.iter().filter(|(known, _)| keys::after(known, key).is_some());
        its.map(|(_, row)| row.clone()).collect()
    }

    /// When the last of what a step depends on ended; `start` where it depends on nothing.
    pub(super) fn came_free(&self, at: usize, start: i64) -> i64 {
        let inner = self.lock();
        let ends = inner.needs[at].iter().filter_map(|need| inner.end_of(*need)).map(|end| end.ended);
        ends.max().unwrap_or(start).max(start)
    }

    /// What templates are filled with.
    pub(super) fn values(&self) -> Values {
        let mut inner = self.lock();
        if let Some(values) = &inner.values {
            return values.clone();
        }
        let values = Values::new(&inner.all(None));
        inner.values = Some(values.clone());
        values
    }

    /// The same with each text from outside in a block of its own.
    pub(super) fn marked_values(&self) -> Values {
        Values::new(&self.lock().all(Some(crate::journal::untrusted::block)))
    }

    /// What the steps gave, as templates see it.
    pub(super) fn steps(&self) -> Value {
        self.lock().all(None)["steps"].take()
    }

    /// The execution from which something behind a name of a template came that is from outside.
    pub(super) fn outside(&self, name: &str) -> Option<String> {
        let inner = self.lock();
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

    /// What a step came to, by its id.
    pub(super) fn end_of(&self, id: &str) -> Option<StepEnd> {
        let inner = self.lock();
        let at = inner.ids.iter().position(|known| known == id)?;
        inner.end_of(at).cloned()
    }

    pub(super) fn row(&self, key: &str) -> Option<ExecutionRow> {
        self.lock().rows.get(key).cloned()
    }

    pub(super) fn rows(&self) -> Vec<ExecutionRow> {
        self.lock().rows.values().cloned().collect()
    }

    pub(super) fn put_row(&self, key: &str, row: ExecutionRow) {
        self.lock().rows.insert(key.to_owned(), row);
    }

    pub(super) fn put_rows(&self, rows: HashMap<String, ExecutionRow>) {
        self.lock().rows = rows;
    }

    /// Whether a piece counts against the turn's agents already; from now on it does.
    pub(super) fn count(&self, key: &str) -> bool {
        !self.lock().counted.insert(key.to_owned())
    }

    pub(super) fn uncount(&self, key: &str) {
        self.lock().counted.remove(key);
    }
}

impl Inner {
    fn end_of(&self, at: usize) -> Option<&StepEnd> {
        match &self.steps[at] {
            StepState::Ended(end) => Some(end),
            _ => None,
        }
    }

    fn end(&mut self, at: usize, end: StepEnd) {
        self.steps[at] = StepState::Ended(Box::new(end));
        self.values = None;
    }

    fn has_failed(&self) -> bool {
        (0..self.steps.len()).any(|at| self.end_of(at).is_some_and(StepEnd::is_fatal))
    }

    /// Whether nothing is in its way any more.
    fn is_free(&self, at: usize) -> bool {
        matches!(self.steps[at], StepState::Pending)
            && self.needs[at].iter().all(|need| self.end_of(*need).is_some())
    }

    /// A step that nobody chose: its choice led elsewhere, or all that it waits for was not chosen.
    fn next_unchosen(&self) -> Option<usize> {
        (0..self.steps.len()).find(|at| {
            let skipped = |need: &usize| self.end_of(*need).is_some_and(|end| end.how == Ended::Skipped);
            let by_choice = self.choosers[*at].and_then(|chooser| self.end_of(chooser));
            let elsewhere = by_choice.is_some_and(|end| end.chosen.as_ref() != Some(&self.ids[*at]));
            let needs = &self.needs[*at];
            self.is_free(*at) && (elsewhere || (!needs.is_empty() && needs.iter().all(skipped)))
        })
    }

    /// Everything by its name; with `block` each text that is from outside inside one.
    fn all(&self, block: Option<Block>) -> Value {
        let mut all = self.given.clone();
        let mut steps = Map::new();
        for (at, id) in self.ids.iter().enumerate() {
            let Some(end) = self.end_of(at) else { continue };
            let shown = |value: &Value| match (&end.outside, block) {
                (Some(mark), Some(block)) => in_blocks(value, &|text| block(mark, text)),
                _ => value.clone(),
            };
            let output = shown(&end.output);
            if let Some(alias) = &self.aliases[at]
                && (end.how != Ended::Skipped || !all.contains_key(alias))
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

pub(super) fn in_blocks(value: &Value, block: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(block(text)),
        Value::Array(list) => list.iter().map(|value| in_blocks(value, block)).collect(),
        Value::Object(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.clone(), in_blocks(value, block))).collect())
        }
        other => other.clone(),
    }
}
