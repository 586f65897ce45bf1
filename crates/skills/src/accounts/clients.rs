//! The clients of a mailbox, of calendars and of address books, whatever they speak.

use std::time::Duration;

use adjutant_dav::{
    CalDav, Card, CardDav, Collection, CreateOutcome, DavError, Resource, Series, TimeRange, WriteOutcome,
};
use adjutant_graph::{GraphCalendar, GraphContacts, GraphMail};
use adjutant_mail::{
    AttachmentInfo, Bounce, Envelope, FlagChange, FolderKind, Found, Headline, Imap, MailError, MailMark,
    MailboxWatch, Message, MessageLocation, Query, Smtp,
};
use adjutant_types::Mark;
use adjutant_types::clock::utc;
use chrono::{DateTime, NaiveDate, Utc};

/// How often it is looked for new mail at Microsoft.
const POLL: Duration = Duration::from_secs(20);
/// How long a connection waits: servers end longer waits than 29 minutes (RFC 2177), and routers forget it sooner.
const WAIT: Duration = Duration::from_mins(9);

/// A client by one protocol or by Graph, with what both do.
macro_rules! either {
    ($(#[$meta:meta])* $name:ident: $protocol:ident($client:ty) or $graph:ty, {
        $($(#[$about:meta])* $method:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*
    }) => {
        $(#[$meta])*
        pub enum $name {
            $protocol($client),
            Graph($graph),
        }

        impl $name {
            $($(#[$about])*
            pub(crate) async fn $method(&self, $($argument: $kind),*) -> $output {
                match self {
                    Self::$protocol(client) => client.$method($($argument),*).await,
                    Self::Graph(client) => client.$method($($argument),*).await,
                }
            })*
        }
    };
}

either!(
    /// Sends mails.
    Sender: Smtp(Smtp) or GraphMail, {
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
        }
    }

    /// Ends a sending that was interrupted after `before`: whether the mail is out now. Where servers have no such thing,
    /// only a copy of the mail can say it.
    pub(crate) async fn resume(&self, message_id: &str) -> Result<bool, MailError> {
        match self {
            Self::Smtp(_) => Ok(false),
            Self::Graph(client) => client.resume(message_id).await,
        }
    }
}

either!(
    /// Finds and reads mails.
    Inbox: Imap(Box<Imap>) or GraphMail, {
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
    /// A watch on a folder.
    pub fn watch(&self, folder: &str) -> MailSource {
        match self {
            Self::Imap(client) => MailSource::Imap(Box::new(client.watch(folder))),
            Self::Graph(client) => MailSource::Graph(client.clone(), folder.to_owned()),
        }
    }
}

/// A folder of a mailbox, watched for new mail.
pub enum MailSource {
    Imap(Box<MailboxWatch>),
    /// With the folder's name.
    Graph(GraphMail, String),
}

impl MailSource {
    /// The first mails since a mark, about `most` of them; then the next mark, and whether there is more. Without a mark, it
    /// is what came since a time or little before; and when a mark is no longer good, some mails come again.
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
            Self::Graph(client, folder) => {
                let link = match mark {
                    Some(Mark::Delta(link)) => Some(link.as_str()),
                    _ => None,
                };
                let (mails, link, is_more) = client.news(folder, link, since, most).await?;
                Ok((mails, Mark::Delta(link), is_more))
            }
        }
    }

    /// Waits until there may be new mail.
    pub async fn wait(&mut self) -> Result<(), MailError> {
        if let Self::Imap(watch) = self {
            return watch.wait(WAIT).await;
        }
        tokio::time::sleep(POLL).await;
        Ok(())
    }
}

either!(
    Calendars: CalDav(CalDav) or GraphCalendar, {
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
    AddressBooks: CardDav(CardDav) or GraphContacts, {
        address_books() -> Result<Vec<Collection>, DavError>;
        list(book: &str) -> Result<Vec<Resource>, DavError>;
        create(book: &str, card: &Card) -> Result<CreateOutcome, DavError>;
        update(url: &str, etag: Option<&str>, card: &Card) -> Result<WriteOutcome, DavError>;
        delete(url: &str, etag: Option<&str>) -> Result<WriteOutcome, DavError>;
    }
);
