//! Steps of several workers: side by side, and one for each item of a list.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::opening::{View, shown};
use super::state::{Ended, StepEnd};
use super::steps::{Place, add, fatal};
use super::worker::{Done, Order, Worker};
use super::{Run, Stop};
use crate::workflows::definition::{Member, Parallel, Spread, Wait};

impl Run<'_> {
    pub(super) async fn parallel(&self, place: &Place<'_>, parallel: &Parallel) -> Result<StepEnd, Stop> {
        // Those that are not needed any more are cancelled, the others not.
        let cancel = self.cancel.child_token();
        let key = |member: &Member| format!("{}.{}", place.step.id, member.output_key);
        let enough = match parallel.wait {
            Wait::All => parallel.members.len(),
            Wait::AtLeast(some) => some.min(parallel.members.len()),
        };
        let mut orders = Vec::new();
        for member in &parallel.members {
            let context = match self.fed(place.step, member.input.as_ref(), &place.view) {
                Ok(context) => context,
                Err(why) => return Ok(fatal(why)),
            };
            let mut order = place.order(key(member), Worker::Agent(self.agent(&member.agent)?), context);
            order.format = None;
            order.cancel = &cancel;
            orders.push(order);
        }
        // What the journal has closed comes first, so that a replay has the same winners.
        let closed = |order: &Order<'_>| self.state.row(&order.key).is_some_and(|row| row.status.has_ended());
        let mut turn: Vec<usize> = (0..orders.len()).collect();
        turn.sort_by_key(|at| !closed(&orders[*at]));
        let most = parallel.max_concurrent.unwrap_or(orders.len()).max(1);
        let mut good = 0;
        let one = |at: usize| {
            let (at, order) = (turn[at], &orders[turn[at]]);
            async move { (at, self.work(order).await) }
        };
        let over = |result: &Result<Done, Stop>| {
            good += usize::from(matches!(result, Ok(done) if done.failure.is_none()));
            let is_fatal = matches!(result, Ok(Done { failure: Some((_, true)), .. }));
            (good >= enough && enough < orders.len()) || (is_fatal && enough == orders.len())
        };
        let results = side_by_side(orders.len(), most, &cancel, one, over).await;
        if cancel.is_cancelled() {
            for (order, _) in orders.iter().zip(&results).filter(|(_, result)| result.is_err()) {
                for row in self.state.rows_of(&order.key).into_iter().filter(|row| !row.status.has_ended()) {
                    self.close_open(row).await?;
                }
            }
            self.reload().await?;
        }
        self.go_on()?;
        gathered(parallel.members.iter().zip(results).collect(), enough)
    }

    /// What was cut off because the run ends says nothing of the step.
    fn go_on(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }

    pub(super) async fn map(&self, place: Place<'_>, map: &Spread) -> Result<StepEnd, Stop> {
        let items = match map.over.items(&place.view.values) {
            Ok(items) => items,
            Err(error) => return Ok(fatal(error.to_string())),
        };
        let agent = self.agent(&map.agent)?;
        // What comes of an item that is from outside is a model's, like any output.
        let outside = map.over.names().iter().find_map(|name| self.state.outside(name));
        let cancel = self.cancel.child_token();
        let (place, items, cancel, outside) = (&place, &items, &cancel, &outside);
        let work = async move |at: usize| {
            let item = &items[at];
            let view = View::new(self).with("item", item.clone(), outside.as_deref());
            let view = view.with("index", Value::from(at + 1), None);
            let context = match self.fed(place.step, None, &view) {
                Ok(context) => context.filter(|_| place.step.input.is_some()),
                Err(why) => return Ok(Done { failure: Some((why, true)), ..Done::default() }),
            };
            let order = Order {
                key: format!("{}[{}]", place.step.id, at + 1),
                worker: Worker::Agent(agent),
                context,
                view: &view,
                format: None,
                deadline: place.deadline,
                cancel,
            };
            self.work(&order).await
        };
        let work = &work;
        let one = |at: usize| async move { (at, work(at).await) };
        let over = |result: &Result<Done, Stop>| matches!(result, Ok(Done { failure: Some((_, true)), .. }));
        let results = side_by_side(items.len(), map.max_concurrent.max(1), cancel, one, over).await;
        self.go_on()?;
        let whole = listed(results)?;
        match &map.reduce {
            Some(reduce) if whole.how == Ended::Completed => self.reduce(place, reduce, whole).await,
            _ => Ok(whole),
        }
    }

    async fn reduce(&self, place: &Place<'_>, reduce: &str, items: StepEnd) -> Result<StepEnd, Stop> {
        let text = shown(&items.output, items.outside.as_deref());
        let key = format!("{}/{reduce}", place.step.id);
        let order = place.order(key, Worker::Agent(self.agent(reduce)?), Some(text));
        let mut end = StepEnd::from(self.work(&order).await?);
        end.warnings.splice(0..0, items.warnings);
        end.attempts = end.attempts.max(items.attempts);
        end.retries += items.retries;
        Ok(end)
    }
}

/// Does `count` things, at most so many at once. When it is over, what has not begun does not begin.
async fn side_by_side<F: Future<Output = (usize, Result<Done, Stop>)>>(
    count: usize,
    most: usize,
    cancel: &CancellationToken,
    one: impl Fn(usize) -> F,
    mut over: impl FnMut(&Result<Done, Stop>) -> bool,
) -> Vec<Result<Done, Stop>> {
    let mut results: Vec<Result<Done, Stop>> = (0..count).map(|_| Err(Stop::Cancelled)).collect();
    let (mut at_work, mut next) = (FuturesUnordered::new(), 0);
    loop {
        while next < count && at_work.len() < most && !cancel.is_cancelled() {
            at_work.push(one(next));
            next += 1;
        }
        let Some((at, result)) = at_work.next().await else { return results };
        if over(&result) {
            cancel.cancel();
        }
        results[at] = result;
    }
}

/// What several side by side came to. Of those that still wait or are held the gravest is told once nothing else is left
/// to do; that others were cancelled, because enough had ended, is no failure.
fn gathered(results: Vec<(&Member, Result<Done, Stop>)>, enough: usize) -> Result<StepEnd, Stop> {
    let mut end = StepEnd::new(Ended::Completed, Value::Null);
    let (mut outputs, mut good, mut failed, mut fatal) = (Map::new(), 0, Vec::new(), None);
    let mut stopped = None;
    for (member, result) in results {
        match result {
            Ok(done) => {
                add(&mut end, &done);
                end.outside = end.outside.or_else(|| done.outside.clone());
                match done.failure {
                    None => good += 1,
                    Some((why, is_fatal)) => {
                        let why = format!("{}: {why}", member.output_key);
                        if is_fatal {
                            fatal.get_or_insert_with(|| why.clone());
                        }
                        failed.push(why);
                    }
                }
                outputs.insert(member.output_key.clone(), done.output);
            }
            Err(Stop::Cancelled) => drop(outputs.insert(member.output_key.clone(), Value::Null)),
            Err(stop) => {
                stopped.get_or_insert(stop);
                outputs.insert(member.output_key.clone(), Value::Null);
            }
        }
    }
    let all = outputs.len();
    end.output = Value::Object(outputs.clone());
    end.outputs = Some(outputs);
    if good >= enough {
        return Ok(end);
    }
    if let (Some(why), true) = (&fatal, enough == all) {
        return Ok(StepEnd { error: Some(why.clone()), how: Ended::Fatal, ..end });
    }
    if let Some(stop) = stopped {
        return Err(stop);
    }
    let error = match enough == all {
        true => failed.join("; "),
        false => format!("{good} of {enough} that are needed ended well: {}", failed.join("; ")),
    };
    let how = if fatal.is_some() || (good == 0 && enough < all) { Ended::Fatal } else { Ended::Failed };
    Ok(StepEnd { error: Some(error), how, ..end })
}

/// What the items of a map came to.
fn listed(results: Vec<Result<Done, Stop>>) -> Result<StepEnd, Stop> {
    let mut end = StepEnd::new(Ended::Completed, Value::Null);
    let (mut outputs, mut fatal, mut stopped) = (Vec::new(), None, None);
    for result in results {
        match result {
            Ok(done) => {
                add(&mut end, &done);
                end.outside = end.outside.or(done.outside);
                if let Some((why, true)) = done.failure {
                    fatal.get_or_insert(why);
                }
                outputs.push(done.output);
            }
            Err(Stop::Cancelled) => outputs.push(Value::Null),
            Err(stop) => {
                stopped.get_or_insert(stop);
            }
        }
    }
    if let Some(why) = fatal {
        return Ok(StepEnd { error: Some(why), how: Ended::Fatal, ..end });
    }
    if let Some(stop) = stopped {
        return Err(stop);
    }
    if !outputs.is_empty() && outputs.iter().all(Value::is_null) {
        return Ok(StepEnd { error: Some("every item failed".into()), how: Ended::Failed, ..end });
    }
    end.output = Value::Array(outputs);
    Ok(end)
}
