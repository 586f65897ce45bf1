//! Steps of several workers: parallel steps and maps.

use adjutant_l10n as l10n;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::attempts::{Assignment, Outcome, Worker};
use super::context::TemplateScope;
use super::state::{StepOutcome, StepResult};
use super::steps::StepContext;
use super::{Run, StepError, Stop};
use crate::definition::{MapStep, Member, Parallel, WaitFor};

impl Run<'_> {
    pub(super) async fn parallel(
        &self,
        within: &StepContext<'_>,
        parallel: &Parallel,
    ) -> Result<StepResult, StepError> {
        // Cancels the members that aren't needed any more.
        let cancel = self.cancel.child_token();
        let key = |member: &Member| format!("{}.{}", within.step.id, member.output_key);
        let enough = match parallel.wait {
            WaitFor::All => parallel.members.len(),
            WaitFor::AtLeast(some) => some.min(parallel.members.len()),
        };
        let mut assignments = Vec::new();
        for member in &parallel.members {
            let agent = self.agent(&member.agent)?;
            let context =
                self.input_of(within.step, Some(agent), member.input.as_ref(), &within.templates)?;
            let assignment = within.assignment(key(member), Worker::Agent(agent), context);
            assignments.push(Assignment { format: None, cancel: &cancel, ..assignment });
        }
        // Members that the journal has closed come first, so that the same members win in a replay.
        let is_closed = |assignment: &Assignment<'_>| {
            self.state.row(&assignment.key).is_some_and(|row| row.status.has_ended())
        };
        let mut turn: Vec<usize> = (0..assignments.len()).collect();
        turn.sort_by_key(|at| !is_closed(&assignments[*at]));
        let max = parallel.max_concurrent.unwrap_or(assignments.len()).max(1);
        let mut succeeded = 0;
        let run_one = |at: usize| {
            let (at, assignment) = (turn[at], &assignments[turn[at]]);
            async move { (at, self.work(assignment).await) }
        };
        let is_over = |result: &Result<Outcome, Stop>| {
            succeeded += usize::from(matches!(result, Ok(outcome) if outcome.failure.is_none()));
            let is_fatal = result.as_ref().is_ok_and(Outcome::is_fatal);
            (succeeded >= enough && enough < assignments.len()) || (is_fatal && enough == assignments.len())
        };
        let results = run_all(assignments.len(), max, &cancel, run_one, is_over).await;
        if cancel.is_cancelled() {
            for (assignment, _) in assignments.iter().zip(&results).filter(|(_, result)| result.is_err()) {
                let rows = self.state.rows_of(&assignment.key).into_iter();
                for row in rows.filter(|row| !row.status.has_ended()) {
                    self.close_open(row).await?;
                }
            }
            self.reload().await?;
        }
        self.check_running()?;
        Ok(gathered(parallel.members.iter().zip(results).collect(), enough)?)
    }

    /// When the run ends, the cancelled workers say nothing about the step.
    fn check_running(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }

    pub(super) async fn map(&self, within: &StepContext<'_>, map: &MapStep) -> Result<StepResult, StepError> {
        let items = &map.over.items(&within.templates.values)?;
        let agent = self.agent(&map.agent)?;
        // Items of an untrusted list are untrusted.
        let outside = &map.over.names().iter().find_map(|name| self.state.outside(name));
        let cancel = &self.cancel.child_token();
        let work = async move |at: usize| {
            let templates = TemplateScope::new(self).with("item", items[at].clone(), outside.as_deref());
            let templates = templates.with("index", Value::from(at + 1), None);
            let context = match self.input_of(within.step, None, None, &templates) {
                Ok(context) => context.filter(|_| within.step.input.is_some()),
                Err(error) => return Ok(Outcome::not_begun(error)),
            };
            let assignment = Assignment {
                key: format!("{}[{}]", within.step.id, at + 1),
                worker: Worker::Agent(agent),
                context,
                templates: &templates,
                format: None,
                deadline: within.deadline,
                cancel,
            };
            self.work(&assignment).await
        };
        let work = &work;
        let run_one = |at: usize| async move { (at, work(at).await) };
        let is_over = |result: &Result<Outcome, Stop>| result.as_ref().is_ok_and(Outcome::is_fatal);
        let results = run_all(items.len(), map.max_concurrent.max(1), cancel, run_one, is_over).await;
        self.check_running()?;
        let list = listed(results)?;
        match &map.reduce {
            Some(reduce) if list.how == StepOutcome::Completed => self.reduce(within, reduce, list).await,
            _ => Ok(list),
        }
    }

    async fn reduce(
        &self,
        within: &StepContext<'_>,
        reduce: &str,
        list: StepResult,
    ) -> Result<StepResult, StepError> {
        let text = self.shown(&list.output, list.outside.as_deref());
        let key = format!("{}/{reduce}", within.step.id);
        let assignment = within.assignment(key, Worker::Agent(self.agent(reduce)?), Some(text));
        let mut result = StepResult::from(self.work(&assignment).await?);
        result.warnings.splice(0..0, list.warnings);
        result.attempts = result.attempts.max(list.attempts);
        result.retries += list.retries;
        Ok(result)
    }
}

/// Does `count` things, at most `max` at once. Once `is_over`, nothing new begins.
async fn run_all<F: Future<Output = (usize, Result<Outcome, Stop>)>>(
    count: usize,
    max: usize,
    cancel: &CancellationToken,
    run_one: impl Fn(usize) -> F,
    mut is_over: impl FnMut(&Result<Outcome, Stop>) -> bool,
) -> Vec<Result<Outcome, Stop>> {
    let mut results: Vec<Result<Outcome, Stop>> = (0..count).map(|_| Err(Stop::Cancelled)).collect();
    let (mut running, mut next) = (FuturesUnordered::new(), 0);
    loop {
        while next < count && running.len() < max && !cancel.is_cancelled() {
            running.push(run_one(next));
            next += 1;
        }
        let Some((at, result)) = running.next().await else { return results };
        if is_over(&result) {
            cancel.cancel();
        }
        results[at] = result;
    }
}

/// The result of a parallel step. Members that were cancelled because enough had ended didn't fail; a stop counts once
/// nothing else decides.
fn gathered(results: Vec<(&Member, Result<Outcome, Stop>)>, enough: usize) -> Result<StepResult, Stop> {
    let mut step = StepResult::default();
    let (mut outputs, mut succeeded, mut failed, mut fatal) = (Map::new(), 0, Vec::new(), None);
    let mut stopped = None;
    for (member, result) in results {
        match result {
            Ok(outcome) => {
                step.add(&outcome);
                step.outside = step.outside.or_else(|| outcome.outside.clone());
                match outcome.failure {
                    None => succeeded += 1,
                    Some(failure) => {
                        let reason = format!("{}: {}", member.output_key, failure.reason);
                        if failure.is_fatal {
                            fatal.get_or_insert_with(|| reason.clone());
                        }
                        failed.push(reason);
                    }
                }
                outputs.insert(member.output_key.clone(), outcome.output);
            }
            Err(stop) => {
                if !matches!(stop, Stop::Cancelled) {
                    stopped.get_or_insert(stop);
                }
                outputs.insert(member.output_key.clone(), Value::Null);
            }
        }
    }
    let all = outputs.len();
    step.output = Value::Object(outputs.clone());
    step.outputs = Some(outputs);
    if succeeded >= enough {
        return Ok(step);
    }
    if let (Some(reason), true) = (&fatal, enough == all) {
        return Ok(StepResult { error: Some(reason.clone()), how: StepOutcome::Fatal, ..step });
    }
    if let Some(stop) = stopped {
        return Err(stop);
    }
    let error = match enough == all {
        true => failed.join("; "),
        false => l10n::runs::too_few(succeeded, enough, failed.join("; ")),
    };
    let is_fatal = fatal.is_some() || (succeeded == 0 && enough < all);
    let how = if is_fatal { StepOutcome::Fatal } else { StepOutcome::Failed };
    Ok(StepResult { error: Some(error), how, ..step })
}

fn listed(results: Vec<Result<Outcome, Stop>>) -> Result<StepResult, Stop> {
    let mut step = StepResult::default();
    let (mut outputs, mut fatal, mut stopped) = (Vec::new(), None, None);
    for result in results {
        match result {
            Ok(outcome) => {
                step.add(&outcome);
                step.outside = step.outside.or(outcome.outside);
                if let Some(failure) = outcome.failure.filter(|failure| failure.is_fatal) {
                    fatal.get_or_insert(failure.reason);
                }
                outputs.push(outcome.output);
            }
            Err(Stop::Cancelled) => outputs.push(Value::Null),
            Err(stop) => {
                stopped.get_or_insert(stop);
            }
        }
    }
    if let Some(reason) = fatal {
        return Ok(StepResult { error: Some(reason), how: StepOutcome::Fatal, ..step });
    }
    if let Some(stop) = stopped {
        return Err(stop);
    }
    if !outputs.is_empty() && outputs.iter().all(Value::is_null) {
        let error = Some(l10n::runs::all_items_failed());
        return Ok(StepResult { error, how: StepOutcome::Failed, ..step });
    }
    step.output = Value::Array(outputs);
    Ok(step)
}
