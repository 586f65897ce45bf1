//! Live pages: a stream of server-sent events for each, fed by one task that looks for changes.
//!
//! The recent changes are kept in memory. A stream knows its place in them; one that is too far behind reads from the
//! store. So nothing is lost, and nothing comes twice, however often a line is cut. Drafts have no place: a stream begins
//! with those that are there.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::timeout;

use crate::drafts::Drafts;
use crate::{Backend, Change, Cursor};

/// How often the store is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How many changes are read at once.
const READ: usize = 500;
/// How many recent changes are kept in memory.
const RECENT: usize = 4_000;
const STREAMS: usize = 300;
/// How many streams one session may have: a browser's tabs.
const STREAMS_OF_ONE: usize = 10;
/// A reader that takes nothing for this long is cut off.
const SLOW: Duration = Duration::from_secs(10);
/// How often a stream tells its place, and whether its session is still valid is checked.
const ALIVE: Duration = Duration::from_secs(15);

/// Stands for everybody where a person is named: what owners may follow.
pub(crate) const EVERYBODY: &str = "*";

/// How often old changes are forgotten.
const TIDY: Duration = Duration::from_mins(10);

/// A change as all its readers get it, made once.
#[derive(Debug)]
struct Event {
    at: Cursor,
    person: String,
    text: String,
}

/// The changes after a place, as far as they are in memory.
#[derive(Debug, Default)]
struct Recent {
    /// All changes after this place are here,
    from: Cursor,
    /// up to this one.
    to: Cursor,
    events: VecDeque<Event>,
}

/// Changes in a row.
#[derive(Debug, PartialEq)]
struct Next {
    /// The place of the last one; none if there are no more.
    at: Option<Cursor>,
    /// Those of one person.
    text: String,
}

impl Next {
    /// Of all these changes, the text holds this person's, or all.
    fn of<'a>(events: impl Iterator<Item = &'a Event>, person: &str) -> Self {
        let mut next = Self { at: None, text: String::new() };
        for event in events {
            next.at = Some(event.at);
            if person == EVERYBODY || event.person == person {
                next.text += &event.text;
            }
        }
        next
    }
}

impl Recent {
    /// None if some of them aren't here any more.
    fn after(&self, at: Cursor, person: &str) -> Option<Next> {
        if at < self.from {
            return None;
        }
        let begins = self.events.partition_point(|event| event.at <= at);
        Some(Next::of(self.events.range(begins..).take(READ), person))
    }

    fn add(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.to = change.at;
            self.events.push_back(event(change));
        }
        while self.events.len() > RECENT {
            if let Some(oldest) = self.events.pop_front() {
                self.from = oldest.at;
            }
        }
    }
}

pub(crate) struct Live {
    backend: Arc<dyn Backend>,
    drafts: Arc<Drafts>,
    recent: Mutex<Recent>,
    place: watch::Sender<Cursor>,
    places: Arc<Semaphore>,
    of_session: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// How long a reader may take nothing.
    patience: Duration,
}

pub(crate) struct Wanted {
    /// The changes and drafts of this person.
    pub(crate) person: String,
    /// From here on.
    pub(crate) after: Cursor,
    pub(crate) session: String,
    pub(crate) secret: String,
}

impl Live {
    pub(crate) fn new(backend: Arc<dyn Backend>, drafts: Arc<Drafts>) -> Self {
        Self {
            backend,
            drafts,
            recent: Mutex::default(),
            place: watch::Sender::default(),
            places: Arc::new(Semaphore::new(STREAMS)),
            of_session: Mutex::default(),
            patience: SLOW,
        }
    }

    /// Looks for changes while anybody is reading, until the future is dropped.
    pub(crate) async fn look(&self) {
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut was_idle = true;
        let mut tidied = None::<Instant>;
        loop {
            ticks.tick().await;
            if tidied.is_none_or(|at| at.elapsed() > TIDY) {
                self.backend.tidy().await;
                tidied = Some(Instant::now());
            }
            if self.place.receiver_count() == 0 {
                was_idle = true;
                continue;
            }
            // After a pause, the streams read from the store what they lack.
            if was_idle && !self.begin_anew().await {
                continue;
            }
            was_idle = false;
            let from = self.recent.lock().to;
            match self.backend.changes(from, READ).await {
                Ok(Some(changes)) if changes.is_empty() => {}
                Ok(Some(changes)) => {
                    self.recent.lock().add(changes);
                    self.tell();
                }
                Ok(None) => was_idle = true,
                Err(_) => {}
            }
        }
    }

    async fn begin_anew(&self) -> bool {
        let Ok(latest) = self.backend.latest().await else { return false };
        *self.recent.lock() = Recent { from: latest, to: latest, events: VecDeque::new() };
        self.tell();
        true
    }

    fn tell(&self) {
        let to = self.recent.lock().to;
        self.place.send_replace(to);
    }

    fn places(&self, session: &str) -> Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let mut all = self.of_session.lock();
        all.retain(|_, places| places.available_permits() < STREAMS_OF_ONE);
        let own = all.entry(session.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(STREAMS_OF_ONE)));
        let own = own.clone().try_acquire_owned().ok()?;
        Some((own, self.places.clone().try_acquire_owned().ok()?))
    }

    /// A new stream; none if there are too many.
    pub(crate) fn stream(self: &Arc<Self>, wanted: Wanted) -> Option<Response> {
        let places = self.places(&wanted.session)?;
        let (sender, mut receiver) = mpsc::channel::<String>(16);
        let live = self.clone();
        tokio::spawn(async move {
            live.feed(wanted, &sender).await;
            drop(places);
        });
        let next = futures::stream::poll_fn(move |context| {
            receiver.poll_recv(context).map(|text| text.map(Ok::<_, std::convert::Infallible>))
        });
        let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
        Some((headers, Body::from_stream(next)).into_response())
    }

    async fn send(&self, sender: &mpsc::Sender<String>, text: String) -> bool {
        matches!(timeout(self.patience, sender.send(text)).await, Ok(Ok(())))
    }

    /// Whether the session is valid, and its viewer may follow this person.
    async fn may_read(&self, wanted: &Wanted) -> bool {
        let viewer = self.backend.viewer(&wanted.secret).await;
        matches!(viewer, Ok(Some(viewer)) if viewer.person == wanted.person || viewer.is_owner)
    }

    /// Sends changes and drafts to one reader until it goes, is too slow or may not read any more.
    async fn feed(&self, wanted: Wanted, sender: &mpsc::Sender<String>) {
        let (mut place, mut drafts) = (self.place.subscribe(), self.drafts.reader(&wanted.person));
        let mut alive = tokio::time::interval_at(tokio::time::Instant::now() + ALIVE, ALIVE);
        let mut at = wanted.after;
        if !self.send(sender, "retry: 500\n\n".to_owned()).await {
            return;
        }
        loop {
            place.borrow_and_update();
            let recent = self.recent.lock().after(at, &wanted.person);
            let next = match recent {
                Some(next) => next,
                None => match self.backend.changes(at, READ).await {
                    Ok(Some(changes)) => {
                        let events: Vec<Event> = changes.into_iter().map(event).collect();
                        Next::of(events.iter(), &wanted.person)
                    }
                    // Too old: the page has to be loaded again.
                    Ok(None) => {
                        self.send(sender, "event: reload\ndata: {}\n\n".to_owned()).await;
                        return;
                    }
                    // The browser comes back.
                    Err(_) => return,
                },
            };
            if let Some(last) = next.at {
                at = last;
                if !next.text.is_empty() && !self.send(sender, next.text).await {
                    return;
                }
                continue;
            }
            // A draft is text, so its reader is looked at before the first of it.
            let news = drafts.news();
            if news.is_first && !self.may_read(&wanted).await {
                return;
            }
            if !news.text.is_empty() && !self.send(sender, news.text).await {
                return;
            }
            tokio::select! {
                _ = place.changed() => {}
                () = drafts.changed() => {}
                () = sender.closed() => return,
                _ = alive.tick() => {
                    if !self.may_read(&wanted).await || !self.send(sender, format!("id: {at}\n\n")).await {
                        return;
                    }
                }
            }
        }
    }
}

/// Ids and words hold nothing that JSON would have to escape.
fn event(change: Change) -> Event {
    let word = |text: &str| -> String {
        text.chars().filter(|one| one.is_ascii_alphanumeric() || "_-.".contains(*one)).collect()
    };
    let text = format!(
        "id: {}\nevent: change\ndata: {{\"kind\":\"{}\",\"id\":\"{}\",\"turn\":\"{}\",\"status\":\"{}\"}}\n\n",
        change.at,
        word(&change.kind),
        word(&change.id),
        word(change.turn.as_deref().unwrap_or_default()),
        word(&change.status)
    );
    Event { at: change.at, person: change.person, text }
}

#[cfg(test)]
mod tests {
    use axum::body::BodyDataStream;
    use futures::StreamExt;

    use super::*;
    use crate::tests::Engine;

    fn change(seq: i64) -> Change {
        let (person, kind, id) = ("p".into(), "turn".into(), format!("t{seq}"));
        Change { at: Cursor { tx: 0, seq }, person, kind, id, turn: None, status: "running".into() }
    }

    #[test]
    fn what_is_no_longer_in_memory_is_read_from_the_store() {
        let mut recent = Recent::default();
        recent.add((1..=10).map(change).collect());
        let after = |recent: &Recent, seq| recent.after(Cursor { tx: 0, seq }, "p");
        let seen = |at| after(&recent, at).map(|next| next.text.matches("event: change").count());
        assert_eq!((seen(0), seen(9), seen(10), seen(99)), (Some(10), Some(1), Some(0), Some(0)));
        let others = recent.after(Cursor::default(), "q").unwrap();
        assert_eq!(others, Next { at: Some(Cursor { tx: 0, seq: 10 }), text: String::new() }, "not theirs");
        let all = recent.after(Cursor::default(), EVERYBODY).unwrap();
        assert_eq!(all.text.matches("event: change").count(), 10, "an owner may follow everybody");
        recent.add((11..=i64::try_from(RECENT).unwrap() + 11).map(change).collect());
        assert_eq!(after(&recent, 10), None, "11 has gone");
        assert!(after(&recent, 11).unwrap().text.contains("\"id\":\"t12\""));
    }

    fn wanted(session: usize) -> Wanted {
        let session = session.to_string();
        Wanted { person: "p".into(), after: Cursor::default(), secret: session.clone(), session }
    }

    #[tokio::test]
    async fn streams_are_limited_and_one_that_ends_makes_room() {
        let live = Arc::new(Live::new(Arc::new(Engine::default()), Arc::default()));
        let mut open: Vec<Response> =
            (0..STREAMS).filter_map(|n| live.stream(wanted(n / STREAMS_OF_ONE))).collect();
        assert_eq!(open.len(), STREAMS);
        assert!(live.stream(wanted(0)).is_none(), "this session has its share");
        // Ten thousand more are refused without a task for any of them.
        assert!((0..10_000).all(|n| live.stream(wanted(STREAMS + n)).is_none()));
        open.pop();
        while live.places.available_permits() == 0 {
            tokio::task::yield_now().await;
        }
        assert!(live.stream(wanted(STREAMS)).is_some());
        assert!(live.of_session.lock().len() <= STREAMS, "nothing is kept of those that were refused");
    }

    /// A stream's next piece; none once it has ended.
    async fn next(stream: &mut BodyDataStream) -> Option<String> {
        let piece = stream.next().await?.unwrap();
        Some(String::from_utf8(piece.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_draft_goes_to_those_who_may_read_it_and_counts_for_nothing() {
        let live = Arc::new(Live::new(Arc::new(Engine::default()), Arc::default()));
        let open = |wanted| live.stream(wanted).unwrap().into_body().into_data_stream();
        let mut early = open(wanted(1));
        let mut others = open(Wanted { person: "q".into(), ..wanted(2) });
        assert_eq!(next(&mut early).await.as_deref(), Some("retry: 500\n\n"));
        assert_eq!(next(&mut others).await.as_deref(), Some("retry: 500\n\n"));
        let event = |keep: usize, rest: &str| {
            let data = format!("{{\"turn\":\"t\",\"keep\":{keep},\"rest\":\"{rest}\"}}");
            format!("event: draft\ndata: {data}\n\n")
        };
        live.drafts.show("t", "p", "<p>One</p>");
        assert_eq!(next(&mut early).await, Some(event(0, "<p>One</p>")));
        live.drafts.show("t", "p", "<p>One, two</p>");
        assert_eq!(next(&mut early).await, Some(event(6, ", two</p>")));
        let mut late = open(wanted(1));
        assert_eq!(next(&mut late).await.as_deref(), Some("retry: 500\n\n"));
        assert_eq!(next(&mut late).await, Some(event(0, "<p>One, two</p>")));
        // The other one has read nothing but their own change, and then, as nobody's viewer, no draft.
        live.recent.lock().add(vec![Change { person: "q".into(), ..change(1) }]);
        live.tell();
        assert!(next(&mut others).await.unwrap().starts_with("id: 0-1\nevent: change\n"));
        live.drafts.show("u", "q", "<p>Secret</p>");
        assert_eq!(next(&mut others).await, None);
        let mut ended = open(Wanted { secret: "ended".into(), ..wanted(3) });
        assert_eq!(next(&mut ended).await.as_deref(), Some("retry: 500\n\n"));
        assert_eq!(next(&mut ended).await, None, "the session has ended");
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_cut_off_and_slows_nobody() {
        let live = Live::new(Arc::new(Engine::default()), Arc::default());
        let live = Arc::new(Live { patience: Duration::from_millis(20), ..live });
        let (slow, quick) = (live.stream(wanted(1)).unwrap(), live.stream(wanted(2)).unwrap());
        let mut quick = quick.into_body().into_data_stream();
        let mut seen = 0;
        for seq in 1..=100 {
            live.recent.lock().add(vec![change(seq)]);
            live.tell();
            while seen < seq {
                let chunk = quick.next().await.unwrap().unwrap();
                seen +=
                    i64::try_from(String::from_utf8_lossy(&chunk).matches("event: change").count()).unwrap();
            }
        }
        // More than its buffer holds has come, and it has taken nothing.
        while live.places.available_permits() < STREAMS - 1 {
            tokio::task::yield_now().await;
        }
        drop(slow);
        live.recent.lock().add(vec![change(101)]);
        live.tell();
        assert!(quick.next().await.is_some_and(|chunk| chunk.is_ok()), "the quick one goes on");
    }
}
