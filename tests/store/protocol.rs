//! The rows by which two instances share a conversation, as a model whose every state is visited: lease, fence, claim and
//! receipt. What must hold in each state, and how each must be able to end, is what `docs/promise.md` says.
//!
//! One message arrives. Its turn makes a task in our own store, sends something that can't be looked up, which a person
//! has approved, and answers. An action has the name of the function whose commit, or step outside of the store, it is. In
//! between anything may happen: a process dies, is suspended, or loses its session, and a reply is lost, of the store or of
//! the world outside.
//!
//! What the model leaves out: the lease of the channel, so here both instances receive and send.

use adjutant_types::{ExecutionStatus as Call, OutboxState, TurnStatus};

use crate::search::{Action, Model, search};

/// A row of nobody's, or of an instance that will never be again.
const NOBODY: usize = 2;

/// What is dropped from the protocol, to see that the model finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plant {
    /// `Lease::fence` lets everything through.
    NoFence,
    /// A message is sent before the commit of its claim.
    ClaimAfterwards,
    /// The receipt is stored before the message is sent.
    ReceiptEarly,
    /// What was being sent is sent again without a look.
    NoLookUp,
    /// A message is acknowledged before it is journalled.
    AcknowledgedEarly,
    /// A call begins before its row says so.
    CallBeforeRow,
    /// An interrupted call is repeated.
    Repeated,
    /// An effect on our own store has a commit of its own.
    EffectApart,
    /// What was being sent is looked for at once, not after `MAY_BE_IN_FLIGHT`.
    LookAtOnce,
    /// A lease that one took that was considered dead stays its own.
    OrphansKept,
}

struct Protocol {
    plant: Option<Plant>,
    faults: Faults,
}

/// How many more of each may happen.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Faults {
    crashes: u8,
    /// A process is suspended, or loses its session.
    absences: u8,
    lost_replies: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    /// The rows of `instances`.
    registered: [bool; 2],
    /// The row of the lane in `leases`: its instance. Of the epoch, a process knows whether it is its own.
    lease: Option<usize>,
    is_journalled: bool,
    turn: Option<(TurnStatus, usize)>,
    /// The rows of the two calls.
    own: Call,
    call: Call,
    outbox: Option<Row>,
    /// What there is outside of these rows.
    is_acknowledged: bool,
    own_effects: u8,
    effects: u8,
    /// The messages that were sent, and those that can be read: a bit each.
    sent: u8,
    shown: u8,
    processes: [Process; 2],
    /// A process was suspended for seconds between its last look at its heartbeat and the sending.
    is_late: bool,
    /// After that, it died or got no reply, so that nobody deletes one of two messages: `docs/promise.md` says so.
    is_beyond: bool,
    faults: Faults,
}

/// The row of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Row {
    state: OutboxState,
    instance: usize,
    receipt: u8,
}

/// What a process knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Process {
    step: Step,
    is_fresh: bool,
    has_session: bool,
    acknowledges: bool,
    /// Nobody has taken the lease since it did.
    has_epoch: bool,
    /// The calls as it has read or written them.
    own: Call,
    call: Call,
    /// Nobody has claimed the answer since it read or claimed the row: `attempts` is as it was.
    has_attempt: bool,
    /// The message that it has sent or found.
    message: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Dead,
    Idle,
    /// It runs the turn.
    Running,
    CallStarted,
    MayWork,
    Worked,
    /// It has read the row of an answer; if that is unclear, it has to look for it.
    Opened {
        unclear: bool,
    },
    Claimed,
    MaySend,
    Sent,
    Doubted,
    SentTwice,
}

const ALIVE: Process = Process {
    step: Step::Idle,
    is_fresh: true,
    has_session: true,
    acknowledges: false,
    has_epoch: false,
    own: Call::Pending,
    call: Call::Pending,
    has_attempt: false,
    message: 0,
};

impl State {
    fn process(&mut self, id: usize) -> &mut Process {
        &mut self.processes[id]
    }

    fn goes(mut self, id: usize, step: Step) -> Self {
        self.processes[id].step = step;
        if step == Step::Idle {
            // What it knew is of no use any more.
            let Process { is_fresh, has_session, acknowledges, .. } = self.processes[id];
            self.processes[id] = Process { is_fresh, has_session, acknowledges, ..ALIVE };
        }
        self
    }

    fn is_registered(&self, instance: usize) -> bool {
        instance != NOBODY && self.registered[instance]
    }

    /// `instance = $1 OR instance NOT IN (SELECT id FROM instances)`
    fn may_have(&self, id: usize, instance: usize) -> bool {
        instance == id || !self.is_registered(instance)
    }

    fn can_take(&self, id: usize) -> bool {
        self.lease.is_none_or(|holder| holder == id)
    }

    /// `Instance::take`, and what is read once it is taken.
    fn takes(mut self, id: usize) -> Self {
        self.lease = Some(id);
        self.process(1 - id).has_epoch = false;
        let (own, call, process) = (self.own, self.call, self.process(id));
        *process = Process { step: Step::Running, has_epoch: true, own, call, ..*process };
        self
    }

    /// An instance that is considered dead is removed, and its leases become free.
    fn removes(mut self, id: usize) -> Self {
        self.registered[id] = false;
        self.lease = self.lease.filter(|holder| *holder != id);
        self
    }

    fn free_orphans(mut self) -> Self {
        self.lease = self.lease.filter(|holder| self.is_registered(*holder));
        self
    }

    /// A process begins in the place of one that died: it has a new id.
    fn registers(self, id: usize) -> Self {
        let mut begun = if self.registered[id] { self.removes(id) } else { self };
        let old = |instance: usize| if instance == id { NOBODY } else { instance };
        begun.lease = begun.lease.map(old);
        begun.turn = begun.turn.map(|(status, of)| (status, old(of)));
        begun.outbox = begun.outbox.map(|row| Row { instance: old(row.instance), ..row });
        begun.registered[id] = true;
        begun.goes(id, Step::Idle)
    }

    /// What a crash or a lost reply changes for one that has just sent a second message.
    fn without_reply(mut self, id: usize) -> Self {
        use Step::{Doubted, Sent, SentTwice};
        self.is_beyond |= self.is_late && matches!(self.processes[id].step, Sent | Doubted | SentTwice);
        self
    }
}

/// Collects what may happen next in a state.
struct Next<'m> {
    model: &'m Protocol,
    id: usize,
    all: Vec<(Action, State)>,
}

impl Next<'_> {
    fn may(&mut self, name: &'static str, state: State) {
        self.all.push(((name, self.id), state));
    }

    /// A commit; its reply may be lost, and then the process begins anew with what the rows say.
    fn commits(&mut self, name: &'static str, state: State) {
        self.may(name, state);
        if state.faults.lost_replies > 0 {
            let mut lost = state.without_reply(self.id).goes(self.id, Step::Idle);
            lost.faults.lost_replies -= 1;
            self.may(name, lost);
        }
    }

    /// A commit that begins with the fence, and with the condition that the rows are as expected.
    fn fenced(&mut self, name: &'static str, from: State, holds: bool, state: State) {
        let is_held = from.lease == Some(self.id) && from.processes[self.id].has_epoch;
        match holds && (is_held || self.has(Plant::NoFence)) {
            true => self.commits(name, state),
            false => self.may("Stale", from.goes(self.id, Step::Idle)),
        }
    }

    fn has(&self, plant: Plant) -> bool {
        self.model.plant == Some(plant)
    }

    fn faults(&mut self, state: State) {
        let (id, left, process) = (self.id, state.faults, state.processes[self.id]);
        if left.crashes > 0 {
            let mut dead = state.without_reply(id);
            *dead.process(id) = Process { step: Step::Dead, ..ALIVE };
            dead.faults.crashes -= 1;
            self.may("(dies)", dead);
        }
        if left.absences > 0 && process.is_fresh && process.has_session {
            let mut absent = state;
            absent.faults.absences -= 1;
            absent.process(id).is_fresh = false;
            self.may("(is suspended)", absent);
            absent.process(id).is_fresh = true;
            absent.process(id).has_session = false;
            self.may("(loses its session)", absent);
        }
    }

    /// `Instance::heartbeat`, which finds the other one dead or doesn't.
    fn heartbeat(&mut self, state: State) {
        let (id, other) = (self.id, 1 - self.id);
        let mut beats = state;
        beats.registered[id] = true;
        (beats.process(id).is_fresh, beats.process(id).has_session) = (true, true);
        let beats = if self.has(Plant::OrphansKept) { beats } else { beats.free_orphans() };
        if beats != state {
            self.may("heartbeat", beats);
        }
        let Process { step, is_fresh, has_session, .. } = state.processes[other];
        if state.registered[other] && (step == Step::Dead || !is_fresh || !has_session) {
            self.may("heartbeat", beats.removes(other));
        }
    }

    fn intake(&mut self, state: State) {
        let (id, is_early) = (self.id, self.has(Plant::AcknowledgedEarly));
        if state.processes[id].acknowledges || is_early && !state.is_acknowledged {
            let mut acknowledged = state;
            acknowledged.process(id).acknowledges = false;
            if state.faults.lost_replies > 0 {
                acknowledged.faults.lost_replies -= 1;
                self.may("acknowledge", acknowledged);
                acknowledged.faults = state.faults;
            }
            acknowledged.is_acknowledged = true;
            acknowledged.process(1 - id).acknowledges = false;
            self.may("acknowledge", acknowledged);
        } else if !state.is_acknowledged && !state.processes.iter().any(|process| process.acknowledges) {
            // The platform sends it again if nobody has acknowledged it; what is journalled stays as it is.
            let mut journalled = State { is_journalled: true, ..state };
            journalled.process(id).acknowledges = true;
            self.may("journal", journalled);
            if !state.is_journalled && state.processes[id].step == Step::Idle && state.can_take(id) {
                journalled.turn = Some((TurnStatus::Running, id));
                self.commits("journal_and_begin", journalled.takes(id));
            }
        }
    }

    fn idle(&mut self, state: State) {
        let id = self.id;
        match state.turn {
            None if state.is_journalled && state.can_take(id) => {
                let turn = Some((TurnStatus::Running, id));
                self.commits("begin", State { turn, ..state }.takes(id));
            }
            Some((TurnStatus::Running, of)) if state.may_have(id, of) && state.can_take(id) => {
                let turn = Some((TurnStatus::Running, id));
                self.commits("resume", State { turn, ..state }.takes(id));
            }
            _ => {}
        }
        if let Some(row) = state.outbox.filter(|row| row.state != OutboxState::Sent)
            && state.may_have(id, row.instance)
        {
            let mut opened = state.goes(id, Step::Opened { unclear: row.state != OutboxState::Pending });
            opened.process(id).has_attempt = true;
            self.may("open", opened);
        }
    }

    fn turn(&mut self, state: State) {
        let (id, mut to) = (self.id, state);
        let process = state.processes[id];
        match (process.own, process.call) {
            (Call::Pending, _) if self.has(Plant::EffectApart) => {
                to.own_effects += 1;
                to.process(id).own = Call::Running;
                self.fenced("run_on_own_store", state, !state.own.has_ended(), to);
            }
            (Call::Pending | Call::Running, _) => {
                to.own_effects += u8::from(process.own == Call::Pending);
                (to.own, to.process(id).own) = (Call::Completed, Call::Completed);
                self.fenced("run_on_own_store", state, !state.own.has_ended(), to);
            }
            (_, Call::Pending) if self.has(Plant::CallBeforeRow) => {
                self.may("journal_start", to.goes(id, Step::CallStarted));
            }
            (_, status @ (Call::Pending | Call::Running)) => {
                let repeats = status == Call::Pending || self.has(Plant::Repeated);
                to.call = if repeats { Call::Running } else { Call::Unknown };
                to.process(id).call = to.call;
                let (name, step) = match repeats {
                    true => ("journal_start", Step::CallStarted),
                    false => ("close", Step::Running),
                };
                self.fenced(name, state, !state.call.has_ended(), to.goes(id, step));
            }
            _ => {
                to.turn = Some((TurnStatus::Completed, id));
                to.lease = None;
                let holds = state.turn.is_some_and(|(status, _)| status == TurnStatus::Running);
                let row = Row { state: OutboxState::Pending, instance: NOBODY, receipt: 0 };
                to.outbox = Some(row);
                self.fenced("end, say", state, holds, to.goes(id, Step::Idle));
                to.outbox = Some(self.claimed(row));
                to = to.goes(id, Step::Claimed);
                to.process(id).has_attempt = true;
                self.fenced("end, say_claimed", state, holds, to);
            }
        }
    }

    fn claimed(&self, row: Row) -> Row {
        match self.model.plant {
            Some(Plant::ClaimAfterwards) => row,
            Some(Plant::ReceiptEarly) => Row { state: OutboxState::Sent, ..row },
            _ => Row { state: OutboxState::Sending, instance: self.id, ..row },
        }
    }

    fn call(&mut self, state: State, is_clear: bool) {
        let (id, mut to) = (self.id, state);
        to.call = if is_clear { Call::Completed } else { Call::Unknown };
        to.process(id).call = to.call;
        self.fenced("close", state, !state.call.has_ended(), to.goes(id, Step::Running));
    }

    fn is_fresh(&mut self, state: State, step: Step) {
        let is_fresh = state.processes[self.id].is_fresh;
        self.may("is_fresh", state.goes(self.id, if is_fresh { step } else { Step::Idle }));
    }

    fn delivery(&mut self, state: State, row: Row) {
        let (id, mut to) = (self.id, state);
        let process = state.processes[id];
        match process.step {
            Step::Opened { unclear: true } if !self.has(Plant::NoLookUp) => {
                // It waits for `MAY_BE_IN_FLIGHT` before it looks: who still sends after that was suspended.
                let is_sending = |other: &Process| matches!(other.step, Step::Claimed | Step::MaySend);
                to.is_late |= is_sending(&state.processes[1 - id]) && !self.has(Plant::LookAtOnce);
                if state.shown > 0 {
                    to.process(id).message = state.shown & state.shown.wrapping_neg();
                    self.may("reconcile", to.goes(id, Step::Sent));
                } else {
                    self.may("reconcile", to.goes(id, Step::Opened { unclear: false }));
                }
            }
            Step::Opened { .. } => {
                let is_free = process.has_attempt && state.may_have(id, row.instance);
                if row.state == OutboxState::Sent || !is_free {
                    return self.may("Stale", to.goes(id, Step::Idle));
                }
                to.outbox = Some(self.claimed(row));
                to.process(1 - id).has_attempt = false;
                self.commits("claim", to.goes(id, Step::Claimed));
            }
            Step::MaySend => {
                let message = state.sent + 1;
                (to.sent, to.shown) = (state.sent | message, state.shown | message);
                to.process(id).message = message;
                self.may("deliver", to.goes(id, Step::Sent));
                if state.faults.lost_replies > 0 {
                    to.faults.lost_replies -= 1;
                    to = to.goes(id, Step::Sent).without_reply(id);
                    self.may("deliver", to.goes(id, Step::Doubted));
                }
            }
            Step::Doubted => {
                if row.state != OutboxState::Sent && process.has_attempt {
                    to.outbox = Some(Row { state: OutboxState::Unknown, ..row });
                }
                self.may("reschedule", to.goes(id, Step::Idle));
            }
            Step::Sent if row.receipt == 0 => {
                to.outbox = Some(Row { state: OutboxState::Sent, receipt: process.message, ..row });
                self.commits("sent", to.goes(id, Step::Idle));
            }
            Step::Sent if row.receipt == process.message => self.may("sent", to.goes(id, Step::Idle)),
            Step::Sent => self.may("sent", to.goes(id, Step::SentTwice)),
            _ => {
                to.shown &= !process.message;
                self.may("retract", to.goes(id, Step::Idle));
            }
        }
    }
}

impl Model for Protocol {
    type State = State;

    fn first(&self) -> State {
        State {
            registered: [true; 2],
            lease: None,
            is_journalled: false,
            turn: None,
            own: Call::Pending,
            call: Call::Pending,
            outbox: None,
            is_acknowledged: false,
            own_effects: 0,
            effects: 0,
            sent: 0,
            shown: 0,
            processes: [ALIVE; 2],
            is_late: false,
            is_beyond: false,
            faults: self.faults,
        }
    }

    fn next(&self, state: &State) -> Vec<(Action, State)> {
        let (state, mut all) = (*state, Vec::new());
        for id in [0, 1] {
            let mut next = Next { model: self, id, all };
            if state.processes[id].step == Step::Dead {
                next.may("register", state.registers(id));
                all = next.all;
                continue;
            }
            next.faults(state);
            next.heartbeat(state);
            next.intake(state);
            match state.processes[id].step {
                Step::Dead => {}
                Step::Idle => next.idle(state),
                Step::Running => next.turn(state),
                Step::CallStarted => next.is_fresh(state, Step::MayWork),
                Step::MayWork => {
                    let worked = State { effects: state.effects + 1, ..state };
                    next.may("work", worked.goes(id, Step::Worked));
                }
                Step::Worked => {
                    next.call(state, true);
                    if state.faults.lost_replies > 0 {
                        let mut lost = state;
                        lost.faults.lost_replies -= 1;
                        next.call(lost, false);
                    }
                }
                Step::Claimed => next.is_fresh(state, Step::MaySend),
                _ => state.outbox.into_iter().for_each(|row| next.delivery(state, row)),
            }
            all = next.all;
        }
        all
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        let row = state.outbox.map(|row| row.state);
        let has_ended = state.turn.is_some_and(|(status, _)| status == TurnStatus::Completed);
        let rules = [
            (state.is_acknowledged && !state.is_journalled, "acknowledged before it is journalled"),
            (state.own_effects > 1 || state.effects > 1, "done twice"),
            (state.own_effects > 0 && state.own != Call::Completed, "an effect on our store without its row"),
            (state.effects > 0 && state.call == Call::Pending, "an effect that no row tells of"),
            (state.call == Call::Completed && state.effects == 0, "a row of an effect that there isn't"),
            (has_ended && !(state.own.has_ended() && state.call.has_ended()), "ended before its calls"),
            (has_ended != row.is_some(), "an end without an answer, or an answer without an end"),
            (row == Some(OutboxState::Sent) && state.sent == 0, "a receipt of nothing"),
            (state.sent > 1 && !state.is_late, "sent twice"),
        ];
        rules.into_iter().find_map(|(is_broken, why)| is_broken.then_some(why))
    }

    fn is_done(&self, state: &State) -> bool {
        let is_sent = state.outbox.is_some_and(|row| row.state == OutboxState::Sent);
        let is_alone = state.shown.count_ones() == 1 || state.is_beyond && state.shown > 0;
        state.is_acknowledged && is_sent && is_alone
    }
}

#[test]
fn nothing_is_lost_and_nothing_done_twice_in_any_order() {
    let faults = Faults { crashes: 2, absences: 1, lost_replies: 1 };
    let states = search(&Protocol { plant: None, faults }).unwrap_or_else(|found| panic!("{found}"));
    println!("{states} states");
    assert!(states > 10_000, "{states} states");
}

/// What the model finds if one of the rules is dropped.
#[track_caller]
fn finds(plant: Plant, why: &str) {
    let faults = Faults { crashes: 1, absences: 1, lost_replies: 0 };
    let found = search(&Protocol { plant: Some(plant), faults }).expect_err("it must find it");
    println!("{found}");
    assert_eq!(found.why, why, "{plant:?}: {found}");
}

#[test]
fn without_the_fence_one_that_wakes_up_late_does_it_again() {
    finds(Plant::NoFence, "done twice");
}

#[test]
fn a_claim_after_the_sending_sends_twice() {
    finds(Plant::ClaimAfterwards, "sent twice");
}

#[test]
fn a_receipt_before_the_sending_loses_the_message() {
    finds(Plant::ReceiptEarly, "a receipt of nothing");
}

#[test]
fn without_a_look_at_the_platform_it_is_sent_twice() {
    finds(Plant::NoLookUp, "sent twice");
}

#[test]
fn what_is_acknowledged_too_early_may_be_lost() {
    finds(Plant::AcknowledgedEarly, "acknowledged before it is journalled");
}

#[test]
fn a_call_before_its_row_may_be_made_twice() {
    finds(Plant::CallBeforeRow, "an effect that no row tells of");
}

#[test]
fn an_interrupted_call_that_is_repeated_is_made_twice() {
    finds(Plant::Repeated, "done twice");
}

#[test]
fn an_effect_apart_from_its_row_may_come_twice() {
    finds(Plant::EffectApart, "an effect on our store without its row");
}

#[test]
fn a_look_while_it_may_be_in_flight_sends_it_twice() {
    finds(Plant::LookAtOnce, "sent twice");
}

#[test]
fn a_lease_of_one_that_is_gone_holds_its_lane_up() {
    finds(Plant::OrphansKept, "it can't end well any more");
}
