//! Instances on one server share the turns of a channel: one receives and sends, any of them runs.
//!
//! Properties:
//!
//! - One instance, the holder of the channel's lease, journals what arrives, carries out commands and presses, listens to
//!   voice notes, and sends: answers, questions, progress, typing. So its adapter knows everything that was sent.
//! - Any instance runs any turn. A message that waits belongs to nobody, and the lease of its lane decides who takes it.
//!   So does a turn that an answer has queued, and one that a dead instance left.
//! - The receiver starts a turn in the commit that journals its message, unless another instance runs fewer turns for
//!   what it can take (see [`balance`]). It is notified at once, and so is the receiver of an answer (see [`hints`]).
//! - Nothing depends on hints: every instance looks for lanes that wait every 100 ms, and takes one that it sees
//!   for the second time, up to its share of all turns that run or wait. A lane that still waits after a second is taken
//!   by anybody, so an instance that hangs holds up none.
//! - What a turn says is a row of nobody's until the receiver claims it, as it does with its own.
//! - A turn's progress is stored in its row with its answer so far, at most once a second, for the receiver to show, and
//!   for each instance with a page.
//!
//! Races, and what settles them:
//!
//! - Two instances take one lane: the commit that starts a turn takes the lease and the messages, and the second fails.
//! - A message arrives while another instance ends the lane's turn: it is journalled as nobody's before or after that
//!   instance looks again. Before, it is found there. After, the lane is free and every instance's next look finds it.
//! - An instance is found dead while another one starts a turn for a later message: that commit requires that no turn of
//!   the lane was left running.
//! - The receiver dies between the commit of an answer and its sending: the row is nobody's, or was claimed by a dead
//!   instance. The next receiver sends the one, and looks for the other on the platform first.
//! - The receiver loses its connection to the store, which frees its leases, while it sends something: the next receiver
//!   leaves that alone for three seconds before it looks for it.
//! - The receiver was suspended and has lost the channel: what it had claimed stays its own while it lives. It claims no
//!   more of what others say, and sends nothing within the last seconds of its lease; see `store::leases`.
//! - The receiver loses both the reply to a commit, with an answer or a press in it, and the channel: nobody else
//!   touches what is its own while it lives, so it looks for that every second.
//! - A runner was suspended and has lost its lane: each of its writes begins with the fence, so it changes nothing.
//! - The answer is sent while the runner still writes progress: that is written only into a running turn's row, and the
//!   receiver's own display ends before it sends, as it does for its own turns. If the receiver read it just before
//!   the turn ended, its new display finds that it has ended, and shows nothing. What it shows all the same, it ends at its
//!   next look, and removes the message.
//!
//! On an embedded store, and in a terminal, nothing is shared, and none of this costs anything.

mod balance;
mod hints;
mod usage;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use adjutant_chat::Progress;
use adjutant_store::leases::Instance;
use adjutant_store::sharing::{self, Lane, Sharer};
use adjutant_store::{Batch, Result, Store};
use adjutant_types::{ConversationId, TurnId};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::balance::Balance;
use self::hints::{HintMessage, Hints};
use self::usage::Usage;
use super::health::Health;
use super::maintenance::Maintenance;
use crate::conversation::Conversations;

/// How often to look for lanes that wait, and for what to send.
const INTERVAL: Duration = Duration::from_millis(100);
/// How often to tell the others that this instance lives, and how busy it is.
const BEAT: Duration = Duration::from_millis(500);
/// The pause after a failed look, and between looks for what is shown too long.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How often a lane has to be seen waiting before it is taken, because another instance may just have
/// been notified.
const MIN_LOOKS: usize = 2;
/// After so many looks, a lane that waits is taken whatever runs here. A debug build is slower.
const PATIENCE: usize = if cfg!(debug_assertions) { 50 } else { 10 };
/// A turn that runs for less shows nothing.
pub const SHOWN_AFTER: Duration = Duration::from_millis(400);
/// How often what a turn shows is written.
const WRITTEN_EVERY: Duration = Duration::from_secs(1);

/// What this process knows of the others that share its channels.
pub struct Cluster {
    pub instance: Arc<Instance>,
    /// Which channels it receives.
    pub health: Arc<Health>,
    /// How many others share channels with this one.
    peers: AtomicUsize,
    /// Whether this one hears what the others tell it.
    hears: AtomicBool,
    hints: Hints,
    /// Woken while nobody receives one of the channels.
    pub vacant: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    balance: Balance,
    /// How many looks in a row have found a lane waiting.
    waiting: HashMap<Lane, usize>,
    ours: HashMap<TurnId, Shown>,
    /// What the receiver shows of other instances' turns.
    theirs: HashMap<TurnId, Progress>,
}

/// What a turn shows that another instance is to display.
struct Shown {
    progress: Progress,
    since: Instant,
    /// What was written last, and when.
    written: Option<(Instant, String)>,
}

impl Cluster {
    /// No data about other instances yet.
    pub fn new(instance: Arc<Instance>, health: Arc<Health>) -> Self {
        let (peers, hears) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (hints, vacant) = (Hints::default(), Notify::new());
        Self { instance, health, peers, hears, hints, vacant, state: Mutex::default() }
    }

    /// Whether turns may run in other instances than their channel's receiver.
    pub fn is_on(&self) -> bool {
        !self.instance.shares().is_empty()
    }

    /// Whether other instances share our channels now.
    pub fn has_peers(&self) -> bool {
        self.peers.load(Ordering::Relaxed) > 0
    }

    /// Whether this instance, which runs so many turns, should start one more of a channel, or leave it to another one.
    pub fn has_room(&self, channel: &str, running: usize) -> bool {
        let (own, now) = (&self.instance.id, Instant::now());
        !self.has_peers() || !self.state.lock().balance.is_elsewhere(own, channel, running, now)
    }

    /// Tells the instance that should work in a lane, which waits.
    pub fn leave(&self, channel: &str, lane: Lane) {
        let mut state = self.state.lock();
        let lightest = state.balance.lightest(channel, Instant::now());
        if let Some(to) = lightest.map(|(to, _)| to.clone()) {
            state.balance.count(&to, 1, 0);
            self.hints.lane(to, channel, lane);
        }
    }

    /// Tells the receiver of a channel that a turn of this instance has sent a message.
    pub fn tell_receiver(&self, channel: &str, conversation: &ConversationId) {
        let receiver = self.state.lock().balance.receiver(channel).cloned();
        if let Some(receiver) = receiver {
            self.hints.answer(receiver, conversation.clone());
        }
    }

    /// Whether this instance sends the messages of a channel.
    pub fn sends(&self, channel: &str) -> bool {
        !self.is_on() || self.health.is_receiver(channel)
    }

    /// Whether this instance receives every channel that it shares: then all that arrives wakes the lanes at work here.
    pub fn receives_all(&self) -> bool {
        self.instance.shares().iter().all(|channel| self.health.is_receiver(channel))
    }

    /// Notes what a turn of ours shows, for other instances.
    pub fn note(&self, progress: Progress) {
        let turn = TurnId::from(progress.turn.as_str());
        let mut state = self.state.lock();
        if progress.step.is_none() {
            state.ours.remove(&turn);
            return;
        }
        match state.ours.get_mut(&turn) {
            Some(shown) => shown.progress = progress,
            None => drop(state.ours.insert(turn, Shown { progress, since: Instant::now(), written: None })),
        }
    }

    /// What is to be written now of what our turns show.
    fn to_write(&self, is_running: impl Fn(&TurnId) -> bool) -> Batch {
        let (mut batch, mut state) = (Batch::new(), self.state.lock());
        // This process may have become the receiver meanwhile.
        state.ours.retain(|turn, _| is_running(turn));
        for (turn, Shown { progress, since, written }) in &mut state.ours {
            let is_due = written.as_ref().is_none_or(|(at, _)| at.elapsed() >= WRITTEN_EVERY);
            if is_due && since.elapsed() >= SHOWN_AFTER {
                let text = serde_json::to_string(progress).unwrap_or_default();
                if written.as_ref().is_none_or(|(_, last)| *last != text) {
                    sharing::show(&mut batch, turn, &text);
                    *written = Some((Instant::now(), text));
                }
            }
        }
        batch
    }

    /// What other instances' turns show that is new; those that don't run any more have no step.
    fn news(&self, shown: Vec<Progress>) -> Vec<Progress> {
        let mut state = self.state.lock();
        let now: HashMap<TurnId, Progress> =
            shown.into_iter().map(|progress| (progress.turn.as_str().into(), progress)).collect();
        let ended = state.theirs.iter().filter(|(turn, _)| !now.contains_key(*turn));
        let ended = ended.map(|(_, last)| Progress { step: None, ..last.clone() });
        let changed = now.iter().filter(|(turn, progress)| state.theirs.get(*turn) != Some(*progress));
        let news = ended.chain(changed.map(|(_, progress)| progress.clone())).collect();
        state.theirs = now;
        news
    }

    /// Notes how much runs and waits, and chooses from the waiting lanes those that this instance takes.
    fn choose(&self, peers: Vec<Sharer>, lanes: Vec<Lane>, running: usize) -> Vec<Lane> {
        let (own, now, mut state) = (&self.instance.id, Instant::now(), self.state.lock());
        let peer_count = state.balance.look(own, peers, now);
        if self.peers.swap(peer_count, Ordering::Relaxed) != peer_count {
            tracing::info!(others = peer_count, "instances that share turns with this one");
        }
        let share = state.balance.share(own, running, lanes.len(), now);
        let looks = |lane: &Lane| state.waiting.get(lane).copied().unwrap_or_default() + 1;
        let mut waiting: Vec<(Lane, usize)> =
            lanes.into_iter().map(|lane| (lane.clone(), looks(&lane))).collect();
        // Each instance begins elsewhere, so that they don't all want the same ones.
        waiting.sort_by_cached_key(|(lane, _)| Sha256::digest(format!("{own} {}", lane.conversation_id)));
        let wanted = if peer_count > 0 && self.hears.load(Ordering::Relaxed) { MIN_LOOKS } else { 1 };
        let room = if peer_count == 0 { usize::MAX } else { share.saturating_sub(running) };
        let ready = waiting.iter().filter(|(_, looks)| *looks >= wanted).enumerate();
        let chosen = ready.filter(|(at, (_, looks))| *at < room || *looks >= PATIENCE);
        let chosen = chosen.map(|(_, (lane, _))| lane.clone()).collect();
        state.waiting = waiting.into_iter().collect();
        chosen
    }
}

impl Maintenance {
    /// Takes what waits for an instance, and sends and shows what other instances' turns say, until it is stopped.
    pub async fn share(self: Arc<Self>, stop: CancellationToken) {
        let mut pause = INTERVAL;
        while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            pause = INTERVAL;
            if let Err(error) = self.share_once().await {
                tracing::error!(%error, "looking for other instances' work failed; retrying");
                pause = RETRY_PAUSE;
            }
        }
    }

    /// Removes what is still shown of turns that have ended elsewhere, until it is stopped: a turn may have been shown
    /// for a moment too long. A task of its own, because a platform may be slow.
    pub async fn clear_shown(self: Arc<Self>, stop: CancellationToken) {
        let cluster = &self.lanes.cluster;
        while stop.run_until_cancelled(tokio::time::sleep(RETRY_PAUSE)).await.is_some() {
            let channels = cluster.instance.shares().iter().filter(|_| cluster.has_peers());
            for channel in channels.filter(|channel| cluster.health.is_receiver(channel)) {
                let cleared = stop.run_until_cancelled(self.deliverer.clear_left_progress(channel)).await;
                if let Some(Err(error)) = cleared {
                    tracing::warn!(channel, %error, "couldn't remove old progress messages; retrying");
                }
            }
        }
    }

    /// Tells the others that this instance lives and how busy it is, and frees what dead ones left, until it is stopped.
    pub async fn beat(self: Arc<Self>, stop: CancellationToken) {
        let Conversations { instance, store, .. } = &*self.conversations;
        let mut usage = Usage::default();
        while stop.run_until_cancelled(tokio::time::sleep(BEAT)).await.is_some() {
            instance.set_load(usage.measure());
            if let Err(error) = instance.heartbeat(store).await {
                tracing::error!(%error, "the heartbeat failed; retrying");
            }
        }
    }

    /// Tells other instances what waits for them, until it is stopped.
    pub async fn tell(self: Arc<Self>, stop: CancellationToken) {
        let (cluster, store) = (&self.lanes.cluster, &self.conversations.store);
        while let Some(messages) = stop.run_until_cancelled(cluster.hints.next(&cluster.instance.id)).await {
            if let Err(error) = sharing::tell(store, &messages).await {
                tracing::debug!(%error, "couldn't tell other instances what waits; they look for it");
            }
            stop.run_until_cancelled(tokio::time::sleep(hints::PAUSE)).await;
        }
    }

    /// Hears what other instances tell this one, until it is stopped.
    pub async fn hear(self: Arc<Self>, stop: CancellationToken) {
        stop.run_until_cancelled(async {
            loop {
                if let Err(error) = self.hear_while_connected().await {
                    tracing::debug!(%error, "can't hear other instances; looking for their work");
                }
                self.lanes.cluster.hears.store(false, Ordering::Relaxed);
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        })
        .await;
    }

    async fn hear_while_connected(&self) -> Result<()> {
        let (cluster, store) = (&self.lanes.cluster, &self.conversations.store);
        let Some(mut listener) = sharing::listen(store, &cluster.instance.id).await? else { return Ok(()) };
        cluster.hears.store(true, Ordering::Relaxed);
        loop {
            let Ok(message) = serde_json::from_str::<HintMessage>(&listener.next().await?) else { continue };
            let (lanes, answers) = (message.lanes.len(), message.answers.len());
            tracing::debug!("another instance tells of {lanes} waiting lanes and {answers} waiting answers");
            cluster.state.lock().balance.count(&message.from, 0, answers);
            for (channel, lane) in message.lanes {
                if cluster.instance.shares().contains(&channel) {
                    self.lanes.wake_lane(lane);
                }
            }
            message.answers.iter().for_each(|conversation| self.deliverer.wake(conversation));
        }
    }

    async fn share_once(&self) -> Result<()> {
        let (cluster, store) = (&self.lanes.cluster, &self.conversations.store);
        if cluster.instance.is_alone() {
            // The maintenance finds what is left, every second.
            cluster.choose(Vec::new(), Vec::new(), 0);
            return Ok(());
        }
        let channels = cluster.instance.shares();
        let mut peers = sharing::sharers(store).await?;
        peers.retain(|peer| channels.iter().any(|channel| peer.is_on(channel)));
        if channels.iter().any(|channel| !peers.iter().any(|peer| peer.receives(channel))) {
            cluster.vacant.notify_waiters();
        }
        let mut lanes = Vec::new();
        for channel in channels {
            lanes.extend(sharing::waiting_lanes(store, &cluster.instance.id, channel).await?);
        }
        let chosen = cluster.choose(peers, lanes, self.conversations.running.count());
        for lane in chosen {
            self.lanes.wake_lane(lane);
        }
        let batch = cluster.to_write(|turn| self.conversations.running.get(turn).is_some());
        if !batch.is_empty() {
            store.write(batch).await?;
        }
        self.speak_for_others(store, channels).await
    }

    /// Sends and shows on the channels that this instance receives what turns elsewhere say, and shows it on its page.
    async fn speak_for_others(&self, store: &Store, channels: &[String]) -> Result<()> {
        let cluster = &self.lanes.cluster;
        let mut shown = Vec::new();
        for channel in channels {
            let receives = cluster.health.is_receiver(channel);
            if receives {
                for conversation in sharing::undelivered(store, channel).await? {
                    self.deliverer.wake(&conversation);
                }
            }
            if receives || !self.deliverer.edits(channel) {
                shown.extend(sharing::shown(store, &cluster.instance.id, channel).await?);
            }
        }
        for progress in cluster.news(shown) {
            self.deliverer.progress.progress_since(progress, SHOWN_AFTER);
        }
        Ok(())
    }
}
