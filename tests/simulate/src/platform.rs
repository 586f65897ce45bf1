//! The platform: people's messages wait there until they are taken, and ours appear there.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{
    Address, ChannelIntake, ChatPort, Choice, Connection, Delivery, Finding, IntakeOutcome, Limits, Outbound,
    Reconciliation, Retract,
};
use async_trait::async_trait;
use futures::future::join_all;

use crate::history::{AtSending, Event};
use crate::people::{self, PLACES};
use crate::process::Process;
use crate::world::{Bubble, Network};

pub(crate) const CHANNEL: &str = "phone";
/// Characters of a message.
const LENGTH: usize = 400;

pub(crate) struct Phone(pub(crate) Arc<Process>);

fn texts(outbound: &Outbound) -> usize {
    outbound.text.chars().count().div_ceil(LENGTH).max(1)
}

/// A message of ours, or a part of it, appears in its place.
pub(crate) fn appears(process: &Process, outbound: &Outbound) -> Delivery {
    const ROW: &str = "SELECT o.state, coalesce(t.status, ''), (SELECT count(*) FROM executions e \
                       WHERE e.turn_id = o.turn_id AND e.ended_at IS NULL) FROM outbox o \
                       LEFT JOIN turns t ON t.id = o.turn_id WHERE o.id = $1";
    let (state_of_row, turn_status, open) =
        process.peek::<(String, String, i64)>(ROW, &[outbound.id.as_str().into()]).unwrap_or_default();
    let parts = texts(outbound);
    let is_last = outbound.part + 1 == parts;
    let choices: Vec<Choice> = if is_last { outbound.choices.clone() } else { Vec::new() };
    let mut state = process.world.lock();
    let receipt = match &outbound.edit_of {
        None => {
            state.receipts += 1;
            let receipt = state.receipts.to_string();
            let bubble = Bubble {
                receipt: receipt.clone(),
                outbox: outbound.id.clone(),
                part: outbound.part,
                choices: choices.clone(),
            };
            state.bubbles.push(bubble);
            receipt
        }
        Some(shown) => {
            let Some(bubble) = state.bubbles.iter_mut().find(|bubble| bubble.receipt == *shown) else {
                return Delivery::Refused("there is no such message".into());
            };
            bubble.outbox.clone_from(&outbound.id);
            (bubble.part, bubble.choices) = (outbound.part, choices.clone());
            shown.clone()
        }
    };
    let characters: Vec<char> = outbound.text.chars().collect();
    state.note(Event::Shown {
        receipt: receipt.clone(),
        place: outbound.address.place.clone(),
        outbox: outbound.id.clone(),
        part: outbound.part,
        parts,
        answers: outbound.answers.clone(),
        labels: choices.iter().map(|choice| choice.label.clone()).collect(),
        text: characters.chunks(LENGTH).nth(outbound.part).unwrap_or_default().iter().collect(),
        journal: AtSending { state: state_of_row, turn_status, open },
    });
    people::see(&mut state, outbound, &choices);
    Delivery::Sent(receipt)
}

impl Phone {
    /// Sends what is journalled: until it's there, the request may arrive although the process is dead.
    async fn send(&self, outbound: &Outbound) -> Delivery {
        let (process, world) = (&self.0, &self.0.world);
        let request = process.sends(outbound);
        process.pass("send: request").await;
        process.has_sent(request);
        let outcome = world.network("send");
        match outcome {
            Network::NotDone => {
                let pause = world.lock().random.of_any_size(3);
                return Delivery::Retry((pause > 0).then(|| Duration::from_secs(pause)));
            }
            Network::RequestLost => return Delivery::Unknown,
            Network::Fine | Network::ReplyLost => {}
        }
        let delivery = appears(process, outbound);
        process.pass("send: reply").await;
        if outcome == Network::ReplyLost { Delivery::Unknown } else { delivery }
    }

    /// Hands over what people wrote and pressed in one place, in order.
    async fn feed(&self, place: &'static str, intake: &dyn ChannelIntake) {
        let (process, world) = (&self.0, &self.0.world);
        loop {
            let arrived = world.arrived.notified();
            let next = world.lock().queues.get(place).and_then(|queue| queue.front().cloned());
            let Some(inbound) = next else {
                arrived.await;
                continue;
            };
            process.pass("arrival").await;
            let event = inbound.event().0.clone();
            match intake.accept(inbound.clone()).await {
                Ok(outcome) => {
                    process.pass("acknowledgement").await;
                    let lost = || format!("the acknowledgement of {event} is lost");
                    let again = world.fails(|rates| rates.acknowledgement_lost, lost);
                    let mut state = world.lock();
                    let queue = state.queues.entry(place).or_default();
                    // Another process may have taken it meanwhile. One that comes again comes later.
                    let is_next = queue.front().is_some_and(|next| next.event().0 == event);
                    if is_next && (!again || queue.len() > 1) {
                        let taken = queue.pop_front().filter(|_| again);
                        queue.extend(taken);
                    }
                    state.note(match outcome {
                        IntakeOutcome::Accepted => Event::Acknowledged(event),
                        IntakeOutcome::Notice(_) => Event::Noticed(event),
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
            }
        }
    }
}

#[async_trait]
impl Connection for Phone {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        join_all(PLACES.iter().map(|place| self.feed(place, intake))).await;
        String::new()
    }
    fn shows_notices(&self) -> bool {
        true
    }
    async fn check(&self) -> Vec<Finding> {
        Vec::new()
    }
}

#[async_trait]
impl ChatPort for Phone {
    fn channel(&self) -> &'static str {
        CHANNEL
    }
    fn limits(&self) -> Limits {
        Limits { edits: true, files: false }
    }
    fn parts(&self, outbound: &Outbound) -> usize {
        outbound.parts(texts(outbound))
    }
    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        self.send(outbound).await
    }
    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        self.0.pass("look up").await;
        if self.0.world.fails(|rates| rates.lookup_fails, || "a look-up fails".to_owned()) {
            return Reconciliation::Unavailable;
        }
        let state = self.0.world.lock();
        let is_it = |bubble: &&Bubble| bubble.outbox == outbound.id && bubble.part == outbound.part;
        match state.bubbles.iter().find(is_it) {
            Some(bubble) => Reconciliation::Sent(bubble.receipt.clone()),
            None => Reconciliation::NotSent,
        }
    }
    async fn show(&self, _: &Address, receipt: Option<&str>, _: &str) -> Delivery {
        let (process, world) = (&self.0, &self.0.world);
        process.pass("show: request").await;
        let receipt = match receipt {
            Some(receipt) => receipt.to_owned(),
            None => {
                let mut state = world.lock();
                state.receipts += 1;
                let receipt = state.receipts.to_string();
                state.bubbles.push(Bubble {
                    receipt: receipt.clone(),
                    outbox: String::new(),
                    part: 0,
                    choices: Vec::new(),
                });
                receipt
            }
        };
        world.note(Event::Progress { receipt: receipt.clone() });
        process.pass("show: reply").await;
        Delivery::Sent(receipt)
    }
    async fn retract(&self, _: &Address, receipt: &str, what: Retract) {
        self.0.pass("retract").await;
        let mut state = self.0.world.lock();
        match what {
            Retract::Message => {
                state.bubbles.retain(|bubble| bubble.receipt != receipt);
                state.note(Event::Removed(receipt.to_owned()));
            }
            Retract::Buttons => {
                let shown = state.bubbles.iter_mut().filter(|bubble| bubble.receipt == receipt);
                shown.for_each(|bubble| bubble.choices.clear());
            }
        }
    }
}
