//! Receives: journals what arrives, and only then lets it be acknowledged.
//!
//! Wanted: a place's messages are handed over in order, those of a downtime before those after it, so that the
//! last one that is journalled tells where to catch up from. None is skipped while the store has trouble: it is
//! tried again until it is journalled. Places don't wait for one another. Presses and commands wait for nothing,
//! because Slack gives three seconds to acknowledge them. Race accepted: a message that waits longer than those is
//! told again, which is a no-op.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::time::Duration;

use adjutant_chat::{Attachment, ChannelIntake, ConnectionEvent, Inbound, IntakeOutcome};
use futures::StreamExt;
use futures::future::{Fuse, FusedFuture, FutureExt};
use futures::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::{sleep, timeout};

use crate::connect::wait_after;
use crate::place::Ts;
use crate::receive::{self, Command, File, Interaction, Post, Reader, Received, text};
use crate::{Slack, attachments, catch_up, deliver};

/// So long a message waits for its files and for the names in it: it has to be acknowledged within 3 s.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Presses that are looked after, and people that are asked about, at the same time.
const AT_ONCE: usize = 16;

/// What is to be done once something is journalled.
pub(crate) type Done = Box<dyn FnOnce() + Send>;

/// Something that arrived and is understood.
pub(crate) enum Arrived {
    /// A message, or a change of one, with its channel.
    Post(String, Box<Post>),
    /// A press or a command.
    Interaction(Inbound),
}

/// What waits to be journalled, in order.
pub(crate) enum Waiting {
    /// We are connected anew: catch up.
    Ready,
    /// A message, with its channel.
    Told(String, Box<Post>, Done),
}

/// Where what arrives waits.
pub(crate) struct Waitlist {
    pub(crate) posts: UnboundedSender<Waiting>,
    pub(crate) presses: UnboundedSender<(Inbound, Done)>,
}

impl Waitlist {
    pub(crate) fn add(&self, arrived: Arrived, done: Done) {
        // A send fails only after the receivers are gone, and they live as long as this.
        match arrived {
            Arrived::Post(channel, post) => drop(self.posts.send(Waiting::Told(channel, post, done))),
            Arrived::Interaction(inbound) => drop(self.presses.send((inbound, done))),
        }
    }
}

/// What is to be done in a place.
enum Job {
    /// Hand over what was said there after this.
    CatchUp(catch_up::Missed),
    Post(String, Box<Post>, Done),
}

impl Slack {
    /// What Slack tells; nothing if it is not understood.
    pub(crate) fn arrived(&self, kind: &str, mut payload: Value) -> Option<Arrived> {
        match kind {
            "events_api" => {
                let post = Post::deserialize(payload.get_mut("event")?.take()).ok()?;
                let channel = post.channel.clone()?;
                Some(Arrived::Post(channel, Box::new(post)))
            }
            "interactive" => {
                let press = receive::press(Interaction::deserialize(payload).ok()?, &self.channel)?;
                Some(Arrived::Interaction(Inbound::ButtonPress(press)))
            }
            "slash_commands" => {
                let said = receive::command(Command::deserialize(payload).ok()?, &self.channel)?;
                Some(Arrived::Interaction(Inbound::Message(said)))
            }
            _ => None,
        }
    }

    /// Never returns while anybody can add to the list.
    pub(crate) async fn journal_posts(
        &self,
        mut waiting: UnboundedReceiver<Waiting>,
        intake: &dyn ChannelIntake,
    ) {
        // A place that is at work is here, with what waits for it.
        let mut places: HashMap<String, VecDeque<Job>> = HashMap::new();
        let mut work = FuturesUnordered::new();
        let mut missed = pin!(Fuse::terminated());
        loop {
            let mut jobs = Vec::new();
            tokio::select! {
                // What comes now waits until the places to catch up in are known.
                next = waiting.recv(), if missed.is_terminated() => match next {
                    Some(Waiting::Ready) => missed.set(self.missed(intake).fuse()),
                    Some(Waiting::Told(channel, post, done)) => {
                        jobs.push((post.place(&channel).to_string(), Job::Post(channel, post, done)));
                    }
                    None => return,
                },
                all = &mut missed => {
                    jobs = all.into_iter().map(|one| (one.place.to_string(), Job::CatchUp(one))).collect();
                }
                Some(place) = work.next() => match places.get_mut(&place).and_then(VecDeque::pop_front) {
                    Some(job) => work.push(self.work(place, job, intake)),
                    None => drop(places.remove(&place)),
                },
            }
            for (place, job) in jobs {
                match places.get_mut(&place) {
                    Some(line) => line.push_back(job),
                    None => {
                        places.insert(place.clone(), VecDeque::new());
                        work.push(self.work(place, job, intake));
                    }
                }
            }
        }
    }

    async fn work(&self, place: String, job: Job, intake: &dyn ChannelIntake) -> String {
        match job {
            Job::CatchUp(missed) => self.catch_up_in(&missed, intake).await,
            Job::Post(channel, post, done) => {
                self.post(&channel, &post, intake).await;
                done();
            }
        }
        place
    }

    /// Hands over one message of a channel.
    pub(crate) async fn post(&self, channel: &str, post: &Post, intake: &dyn ChannelIntake) {
        let Some(me) = self.me.get() else { return };
        if let Ok(ts) = post.ts.parse::<Ts>() {
            self.known.is_there(ts);
        }
        self.hand_over(post.heard(channel, Reader { channel: &self.channel, me }), intake).await;
    }

    /// Journals it, however long that takes.
    async fn hand_over(&self, heard: Received, intake: &dyn ChannelIntake) {
        let (inbound, edited) = match heard {
            Received::Message(mut said, files) => {
                let mut people = text::mentioned(&said.text);
                people.push(said.sender.0.clone());
                let (names, attachments) = tokio::join!(self.names(people), self.files(&files));
                let name = names.iter().find(|(id, _)| *id == said.sender.0);
                said.sender_name = name.map_or(said.sender_name, |(_, name)| name.clone());
                said.text = text::readable(&said.text, &names);
                said.attachments = attachments;
                (Some(Inbound::Message(said)), None)
            }
            Received::Edit(mut edited) => {
                let names = self.names(text::mentioned(&edited.text)).await;
                edited.text = text::readable(&edited.text, &names);
                (None, Some(edited))
            }
            Received::Own => return,
            Received::Ignored => return intake.report(ConnectionEvent::Ignored),
        };
        for tries in 1.. {
            let done = match (&inbound, &edited) {
                (Some(inbound), _) => intake.accept(inbound.clone()).await.map(drop),
                (None, Some(edited)) => intake.edit(edited.clone()).await,
                (None, None) => return,
            };
            if done.is_ok() {
                return;
            }
            intake.report(ConnectionEvent::Error("a message could not be journalled".into()));
            sleep(wait_after(tries)).await;
        }
    }

    /// What people are called; who can't be asked about is not among them.
    pub(crate) async fn names(&self, people: Vec<String>) -> Vec<(String, String)> {
        let ask = |id: String| async move {
            let name = timeout(TIMEOUT, self.name(&id)).await.ok().flatten()?;
            Some((id, name))
        };
        let asked = futures::stream::iter(people).map(ask).buffer_unordered(AT_ONCE);
        asked.filter_map(std::future::ready).collect().await
    }

    pub(crate) async fn name(&self, id: &str) -> Option<String> {
        if let Some(name) = self.known.name(id) {
            return Some(name);
        }
        let answer = self.bot.read("users.info", &[("user", id.to_owned())]).await.ok()?;
        let name = called(&answer["user"])?;
        self.known.is_called(id, name);
        Some(name.to_owned())
    }

    async fn files(&self, files: &[File]) -> Vec<Attachment> {
        let read = timeout(TIMEOUT, attachments::read_all(self, files)).await;
        read.unwrap_or_else(|_| attachments::named(files))
    }

    /// Never returns while anybody can add to the list.
    pub(crate) async fn journal_presses(
        &self,
        mut waiting: UnboundedReceiver<(Inbound, Done)>,
        intake: &dyn ChannelIntake,
    ) {
        let all = futures::stream::poll_fn(|context| waiting.poll_recv(context));
        all.for_each_concurrent(AT_ONCE, |(inbound, done)| self.press(inbound, done, intake)).await;
    }

    /// Hands over a press or a command. One that can't be journalled is not acknowledged; the person sees that it
    /// failed and presses again.
    pub(crate) async fn press(&self, inbound: Inbound, done: Done, intake: &dyn ChannelIntake) {
        let Ok(taken) = intake.accept(inbound.clone()).await else { return };
        done();
        if let (IntakeOutcome::Notice(text), Inbound::ButtonPress(pressed)) = (taken, &inbound) {
            deliver::whisper(self, &pressed.address, &pressed.sender.0, &text).await;
        }
    }
}

/// What Slack's clients call somebody.
pub(crate) fn called(user: &Value) -> Option<&str> {
    let names = [&user["profile"]["display_name"], &user["real_name"], &user["name"]];
    names.into_iter().find_map(|name| name.as_str().filter(|name| !name.is_empty()))
}
