//! The clients of a mailbox, of calendars and of address books, whatever they speak.

use adjutant_dav::{
    CalDav, Card, CardDav, Collection, CreateOutcome, DavError, Resource, Series, TimeRange, WriteOutcome,
};
use adjutant_graph::{GraphCalendar, GraphContacts, GraphMail};
use adjutant_mail::{
    AttachmentInfo, Bounce, Envelope, FlagChange, FolderKind, Found, Imap, MailError, Message,
    MessageLocation, Query, Smtp,
};
use chrono::NaiveDate;

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

either!(
    AddressBooks: CardDav(CardDav) or GraphContacts, {
        address_books() -> Result<Vec<Collection>, DavError>;
        list(book: &str) -> Result<Vec<Resource>, DavError>;
        create(book: &str, card: &Card) -> Result<CreateOutcome, DavError>;
        update(url: &str, etag: Option<&str>, card: &Card) -> Result<WriteOutcome, DavError>;
        delete(url: &str, etag: Option<&str>) -> Result<WriteOutcome, DavError>;
    }
);
