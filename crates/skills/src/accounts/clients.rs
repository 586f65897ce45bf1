//! The clients of a mailbox, of calendars and of address books, whatever they speak.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_dav::{
    CalDav, Card, CardDav, Collection, CreateOutcome, DavError, Resource, Series, TimeRange, WriteOutcome,
};
use adjutant_graph::{GraphCalendar, GraphContacts, GraphMail};
use adjutant_mail::{
    AttachmentInfo, Bounce, Envelope, FlagChange, FolderKind, Found, Headline, Imap, MailError, MailMark,
    MailboxWatch, MemoryMailbox, Message, MessageLocation, Query, Smtp,
};
use adjutant_types::Mark;
use adjutant_types::clock::utc;
use chrono::{DateTime, NaiveDate, Utc};
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often it is looked for new mail at Microsoft.
const POLL: Duration = Duration::from_secs(20);
/// How long a link is believed in memory alone, while nothing new comes.
const UNWRITTEN: Duration = Duration::from_hours(1);
/// For how long Microsoft is asked to tell of new mail; what nobody renews ends by itself.
const SUBSCRIBED: Duration = Duration::from_hours(24);
/// How long a connection waits: servers end longer waits than 29 minutes (RFC 2177), and routers forget it sooner.
const WAIT: Duration = Duration::from_mins(9);

/// A client of several kinds, with what all of them do.
macro_rules! either {
    (@call $client:ident [$($variant:ident($kind:ty)),*] $method:ident $arguments:tt) => {
        match $client {
            $(Self::$variant(client) => client.$method $arguments.await),*
        }
    };
    (@enum [$($variant:ident($kind:ty)),*] $(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        pub enum $name {
            $($variant($kind)),*
        }
    };
    ($(#[$meta:meta])* $name:ident: $variants:tt, {
        $($(#[$about:meta])* $method:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*
    }) => {
        either!(@enum $variants $(#[$meta])* $name);

        impl $name {
            $($(#[$about])*
            pub(crate) async fn $method(&self, $($argument: $kind),*) -> $output {
                either!(@call self $variants $method ($($argument),*))
            })*
        }
    };
}

either!(
    Sender: [Smtp(Smtp), Graph(GraphMail), Memory(MemoryMailbox)], {
        check() -> Result<(), MailError>;
    }
);

impl Sender {
    /// Sends a mail. `before` runs right before it may be out; if that fails, nothing is sent.
    pub(crate) async fn send(
        &self,
        envelope: &Envelope,
        mail: &[u8],
        message_id: &str,
        before: impl Future<Output = Result<(), String>>,
    ) -> Result<String, MailError> {
        match self {
            Self::Smtp(client) => client.send(envelope, mail, before).await,
            Self::Graph(client) => client.send(envelope, mail, message_id, before).await,
            Self::Memory(client) => {
                let reply = client.send(envelope, before).await;
                #[cfg(debug_assertions)]
                if let (Some(world), Ok(_)) = (adjutant_store::simulation::world(), &reply) {
                    let lost =
                        |may_have_happened| MailError { may_have_happened, ..MailError::network("cut") };
                    world.mailed(message_id, mail).await.map_err(lost)?;
                }
                reply
            }
        }
    }

    /// Ends a sending that was interrupted after `before`: whether the mail is out now. Where servers have no such thing,
    /// only a copy of the mail can say it.
    pub(crate) async fn resume(&self, message_id: &str) -> Result<bool, MailError> {
        match self {
            Self::Smtp(_) | Self::Memory(_) => Ok(false),
            Self::Graph(client) => client.resume(message_id).await,
        }
    }
}

either!(
    /// Finds and reads mails.
    Inbox: [Imap(Box<Imap>), Graph(GraphMail), Memory(MemoryMailbox)], {
        check() -> Result<(), MailError>;
        search(query: &Query) -> Result<Found, MailError>;
        read(email: &str) -> Result<Message, MailError>;
        /// Finds a mail by its Message-ID, in these folders or, if there are none, in all.
        find(message_id: &str, folders: &[FolderKind]) -> Result<Option<MessageLocation>, MailError>;
        /// One file of a mail, of at most so many bytes.
        attachment(email: &str, number: usize, most: usize) -> Result<(AttachmentInfo, Vec<u8>), MailError>;
        flag(email: &str, change: FlagChange) -> Result<(), MailError>;
        move_to(email: &str, folder: &str) -> Result<Option<MessageLocation>, MailError>;
        /// Puts a mail into a folder, unless it is there.
        append(kind: FolderKind, mail: &[u8], is_read: bool) -> Result<Option<MessageLocation>, MailError>;
        bounces(since: Option<NaiveDate>, after: u32, limit: usize) -> Result<Vec<Bounce>, MailError>;
    }
);

impl Inbox {
    pub fn watch(&self, folder: &str) -> MailSource {
        match self {
            Self::Imap(client) => MailSource::Imap(Box::new(client.watch(folder))),
            Self::Graph(client) => {
                let (client, folder) = (Box::new(client.clone()), folder.to_owned());
                MailSource::Graph { client, folder, newer: None, push: None }
            }
            Self::Memory(_) => MailSource::Memory,
        }
    }
}

/// A folder of a mailbox, watched for new mail.
pub enum MailSource {
    Imap(Box<MailboxWatch>),
    Graph {
        client: Box<GraphMail>,
        folder: String,
        /// A link that gives what came after a mark with nothing between them, and since when there has been one.
        newer: Option<(String, Instant)>,
        push: Option<Box<Push>>,
    },
    /// Nothing comes into it.
    Memory,
}

/// Where Microsoft tells of new mail.
#[derive(Default)]
pub struct Push {
    address: String,
    /// What nobody but Microsoft is told.
    proof: String,
    signal: Arc<PushSignal>,
    /// The id of the subscription, and when it is to be renewed or made.
    subscription: Option<String>,
    due: DateTime<Utc>,
}

/// What Microsoft has said.
#[derive(Debug, Default)]
pub struct PushSignal {
    /// Notified when there may be new mail.
    pub woken: Notify,
    /// Whether the subscription has ended or soon will.
    pub is_ending: AtomicBool,
}

impl Push {
    /// Makes the subscription, or renews it in time. Without one, it is looked as often as ever.
    async fn keep(&mut self, client: &GraphMail, folder: &str, now: DateTime<Utc>) {
        let is_ending = self.signal.is_ending.swap(false, Ordering::Relaxed);
        if now < self.due && !is_ending {
            return;
        }
        let until = now + SUBSCRIBED;
        let renewed = match &self.subscription {
            Some(id) => client.renew(id, until).await,
            None => Ok(false),
        };
        let kept = match renewed {
            Ok(false) => client.subscribe(folder, (&self.address, &self.proof), until).await.map(Some),
            other => other.map(|_| self.subscription.take()),
        };
        self.due = now + if kept.is_ok() { SUBSCRIBED / 2 } else { UNWRITTEN };
        self.subscription = kept.unwrap_or_else(|error| {
            tracing::info!(%error, "Microsoft doesn't tell of new mail; looking for it");
            None
        });
    }
}

impl MailSource {
    /// The first mails since a mark, about `most` of them; then the next mark, and whether there is more. Without a mark, it
    /// is what came since a time or little before; and when a mark is no longer good, some mails come again. If nothing has
    /// come, the mark stays for some time: what gives the same needn't be stored again and again.
    pub async fn news(
        &mut self,
        mark: Option<&Mark>,
        since: DateTime<Utc>,
        most: usize,
    ) -> Result<(Vec<(Message, Headline)>, Mark, bool), MailError> {
        match self {
            Self::Imap(watch) => {
                let (validity, uid, newest) = match mark {
                    Some(Mark::Mail { validity, uid, newest }) => (*validity, *uid, utc(*newest)),
                    _ => (0, 0, since),
                };
                let news = watch.since(&MailMark { validity, uid, newest }, most).await?;
                let MailMark { validity, uid, newest } = news.mark;
                let mark = Mark::Mail { validity, uid, newest: newest.timestamp_millis() };
                Ok((news.mails, mark, news.is_more))
            }
            Self::Graph { client, folder, newer, .. } => {
                let Some(Mark::Delta(stored)) = mark else {
                    *newer = None;
                    let (mails, link, is_more) = client.news(folder, None, since, most).await?;
                    return Ok((mails, Mark::Delta(link), is_more));
                };
                let (link, begun) = newer.take().unwrap_or_else(|| (stored.clone(), Instant::now()));
                let (mails, link, is_more) = client.news(folder, Some(&link), since, most).await?;
                if mails.is_empty() && !is_more && begun.elapsed() < UNWRITTEN {
                    *newer = Some((link, begun));
                    return Ok((mails, Mark::Delta(stored.clone()), false));
                }
                Ok((mails, Mark::Delta(link), is_more))
            }
            Self::Memory => {
                let newest = since.timestamp_millis();
                Ok((Vec::new(), Mark::Mail { validity: 1, uid: 1, newest }, false))
            }
        }
    }

    /// Has Microsoft say when there is new mail.
    pub fn set_push(&mut self, address: &str, proof: &str) -> Option<Arc<PushSignal>> {
        let Self::Graph { push, .. } = self else { return None };
        let new = Push { address: address.to_owned(), proof: proof.to_owned(), ..Push::default() };
        Some(push.insert(Box::new(new)).signal.clone())
    }

    /// Waits until there may be new mail.
    pub async fn wait(&mut self, now: DateTime<Utc>) -> Result<(), MailError> {
        match self {
            Self::Imap(watch) => return watch.wait(WAIT).await,
            Self::Graph { client, folder, push: Some(push), .. } => {
                push.keep(client, folder, now).await;
                let _ = tokio::time::timeout(POLL, push.signal.woken.notified()).await;
            }
            Self::Graph { .. } | Self::Memory => tokio::time::sleep(POLL).await,
        }
        Ok(())
    }
}

either!(
    Calendars: [CalDav(CalDav), Graph(GraphCalendar)], {
        calendars() -> Result<Vec<Collection>, DavError>;
        /// Whether the server itself invites the guests of an event.
        sends_invitations(calendar: &str) -> Result<bool, DavError>;
        list(calendar: &str, range: TimeRange) -> Result<Vec<Resource>, DavError>;
        find(calendar: &str, uid: &str) -> Result<Option<Resource>, DavError>;
        create(calendar: &str, series: &Series) -> Result<CreateOutcome, DavError>;
        update(url: &str, etag: Option<&str>, series: &Series) -> Result<WriteOutcome, DavError>;
        delete(url: &str, etag: Option<&str>) -> Result<WriteOutcome, DavError>;
    }
);

impl Calendars {
    /// Another text than before, unless nothing in a calendar has changed since, or empty if nobody says so. The changes at
    /// Microsoft are those in the range of the first text, so that is forgotten now and then.
    pub(crate) async fn tag(
        &self,
        calendar: &str,
        before: &str,
        range: TimeRange,
    ) -> Result<String, DavError> {
        match self {
            Self::CalDav(client) => client.tag(calendar).await,
            Self::Graph(client) => client.tag(calendar, before, range).await,
        }
    }
}

either!(
    AddressBooks: [CardDav(CardDav), Graph(GraphContacts)], {
        address_books() -> Result<Vec<Collection>, DavError>;
        list(book: &str) -> Result<Vec<Resource>, DavError>;
        create(book: &str, card: &Card) -> Result<CreateOutcome, DavError>;
        update(url: &str, etag: Option<&str>, card: &Card) -> Result<WriteOutcome, DavError>;
        delete(url: &str, etag: Option<&str>) -> Result<WriteOutcome, DavError>;
    }
);

#[cfg(test)]
mod tests {
    use adjutant_credential::{NoToken, TokenSource};
    use adjutant_fakes::graph::FakeGraph;
    use adjutant_graph::GraphAccount;
    use futures::FutureExt;

    use super::*;

    const ADA: &str = "ada@x.test";

    fn letter(number: usize) -> String {
        format!("From: Bob <bob@y.test>\nTo: {ADA}\nSubject: {number}\nMessage-ID: <{number}@y.test>\n\nHi\n")
    }

    /// The subjects of what is new, and the mark behind them.
    async fn news(source: &mut MailSource, mark: Option<&Mark>) -> (Vec<String>, Mark) {
        let since = "2026-11-21T12:00:00Z".parse().unwrap();
        let (mails, mark, is_more) = source.news(mark, since, 200).await.unwrap();
        assert!(!is_more);
        (mails.into_iter().map(|(mail, _)| mail.subject).collect(), mark)
    }

    #[tokio::test]
    async fn a_mark_stays_while_nothing_comes() {
        let graph = FakeGraph::start();
        graph.state().person("token", ADA);
        let token: TokenSource = Arc::new(|_| async { Ok::<_, NoToken>("token".to_owned()) }.boxed());
        let account = GraphAccount::new(&graph.url(), token, Duration::from_secs(20));
        let inbox = Inbox::Graph(GraphMail::new(&account));
        let mut source = inbox.watch("INBOX");
        let (_, first) = news(&mut source, None).await;
        for _ in 0..3 {
            assert_eq!(news(&mut source, Some(&first)).await, (Vec::new(), first.clone()));
        }
        graph.state().deliver(ADA, &letter(1));
        let (found, second) = news(&mut source, Some(&first)).await;
        assert_eq!(found, ["1"]);
        assert_ne!(second, first);
        assert_eq!(news(&mut source, Some(&second)).await, (Vec::new(), second.clone()));
        // Whoever has only what was stored misses nothing.
        graph.state().deliver(ADA, &letter(2));
        let (found, _) = news(&mut inbox.watch("INBOX"), Some(&second)).await;
        assert_eq!(found, ["2"]);
        let (found, third) = news(&mut source, Some(&second)).await;
        assert_eq!(found, ["2"]);
        // The link in memory has expired: it begins afresh, and catches up.
        assert_eq!(news(&mut source, Some(&third)).await.0, [""; 0]);
        graph.state().expired_deltas = 1;
        graph.state().deliver(ADA, &letter(3));
        let (found, fourth) = news(&mut source, Some(&third)).await;
        assert_eq!(found, ["1", "2", "3"]);
        // After an hour the link is stored, too.
        assert_eq!(news(&mut source, Some(&fourth)).await.1, fourth);
        if let MailSource::Graph { newer: Some((_, since)), .. } = &mut source {
            *since = since.checked_sub(UNWRITTEN).unwrap();
        }
        assert_ne!(news(&mut source, Some(&fourth)).await.1, fourth);
        assert_eq!(graph.state().complaints, [""; 0]);
    }
}
