//! What the page needs of the engine.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use adjutant_chat::OutgoingFile;
use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::passkeys::Passkeys;
use crate::views::{
    AccountChange, AccountLine, Details, Hits, LogLine, LoginOffer, LoginStep, Note, NotifyOf, Now,
    PageAction, PersonLine, PlanLine, Planned, PushAddress, Session, Started, Table, Timeline, Turn, Usage,
    Viewer, WorkflowPage, Workflows,
};

/// The inputs of a run by name, as they were typed; what was left empty isn't there.
pub type Given = BTreeMap<String, String>;

/// The engine can't answer now; the reason is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable;

/// What has become of an upload.
#[derive(Debug)]
pub enum Kept {
    /// It waits for its message, under this key.
    As(String),
    /// It isn't accepted: why, for the viewer.
    Refused(String),
}

pub type Result<T, E = Unavailable> = std::result::Result<T, E>;

impl<E: Error> From<E> for Unavailable {
    fn from(error: E) -> Self {
        tracing::error!(%error, "the web page can't be answered");
        Self
    }
}

/// What somebody uploads, piece by piece.
pub type Upload<'u> = BoxStream<'u, Result<Vec<u8>>>;

/// A place in the order of all changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    /// First by this,
    pub tx: i64,
    /// then by this.
    pub seq: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.tx, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (tx, seq) = text.split_once('-').ok_or(())?;
        let number = |text: &str| text.parse().ok().filter(|number| *number >= 0).ok_or(());
        Ok(Self { tx: number(tx)?, seq: number(seq)? })
    }
}

/// A change: ids and a status, no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub at: Cursor,
    pub person: String,
    /// `turn`, `execution`, `question`, `message`, `arrival` or `thing`.
    pub kind: String,
    pub id: String,
    pub turn: Option<String>,
    pub status: String,
}

/// Reads the journal and takes what people do on the page. Everything a viewer asks for is checked here: whoever may
/// not see it gets `None`, as if it weren't there.
#[async_trait]
pub trait Backend: LoginLinks + Passkeys + Send + Sync + 'static {
    /// Begins a session with a login code, which then no longer works. Returns the session's secret.
    async fn sign_in(&self, code: &str, browser: &str) -> Result<Option<String>>;
    /// The id and the name of the person whom a login code lets in, as long as it works.
    async fn person_of_code(&self, code: &str) -> Result<Option<(String, String)>>;
    /// Whose session this secret is.
    async fn viewer(&self, secret: &str) -> Result<Option<Viewer>>;
    async fn sessions(&self, viewer: &Viewer) -> Result<Vec<Session>>;
    async fn end_session(&self, viewer: &Viewer, session: &str) -> Result<bool>;

    /// The key that browsers subscribe to their push services with.
    async fn push_key(&self) -> Result<String>;
    /// Notifies the viewer's browser of this from now on. False if it can't be reached at this address.
    async fn notify_of(&self, viewer: &Viewer, what: NotifyOf, at: PushAddress) -> Result<bool>;
    /// Notifies all browsers of what is due. Called every second.
    async fn notify(&self);

    async fn now(&self, viewer: &Viewer) -> Result<Now>;
    /// A conversation, of the viewer or of this person; the newest entries, or those before a place, on all channels or on
    /// this one.
    async fn timeline(
        &self,
        viewer: &Viewer,
        person: &str,
        before: Option<i64>,
        channel: &str,
    ) -> Result<Option<Timeline>>;
    /// A turn, with all rows from this one on.
    async fn turn(&self, viewer: &Viewer, turn: &str, skip: usize) -> Result<Option<Turn>>;
    /// What was asked and answered in an execution.
    async fn details(&self, viewer: &Viewer, execution: &str) -> Result<Option<Details>>;
    /// The people whom an owner may look at.
    async fn people(&self, viewer: &Viewer) -> Result<Vec<PersonLine>>;

    /// Takes a message with uploads, each a key and a name, or with what was spoken: the key of an upload, and its length in
    /// seconds. The same `once` again is the same message.
    async fn say(
        &self,
        viewer: &Viewer,
        once: &str,
        text: &str,
        uploads: &[(String, String)],
        spoken: Option<(&str, u64)>,
    ) -> Result<()>;
    /// Keeps a file until it is sent with a message.
    async fn keep_upload(&self, viewer: &Viewer, content: Upload<'_>) -> Result<Kept>;
    /// Where an upload is, if this can be the key of one.
    fn upload_path(&self, key: &str) -> Option<PathBuf>;
    /// Takes a press of a button. Returns what to tell the viewer, if it wasn't accepted.
    async fn press(&self, viewer: &Viewer, button: &str) -> Result<Option<String>>;
    /// Answers all questions whether to go on beyond a day's budget like this. Returns what to tell the viewer, if one
    /// wasn't accepted.
    async fn press_all(&self, viewer: &Viewer, answer: &str) -> Result<Option<String>>;
    /// Takes words as the answer to a question; the same `once` again is the same answer. Returns what to tell the viewer, if
    /// it wasn't accepted.
    async fn answer(
        &self,
        viewer: &Viewer,
        once: &str,
        question: &str,
        words: &str,
    ) -> Result<Option<String>>;
    /// Stops a turn. False if it isn't the viewer's, or has ended.
    async fn stop(&self, viewer: &Viewer, turn: &str) -> Result<bool>;
    /// Says once more what began a turn. False if it isn't the viewer's, hasn't ended, or was repeated before.
    async fn repeat(&self, viewer: &Viewer, turn: &str) -> Result<bool>;

    /// The workflows, and what the viewer ran; for an owner, what everybody did.
    async fn workflows(&self, viewer: &Viewer) -> Result<Workflows>;
    /// A workflow, with what was filled in before.
    async fn workflow(&self, viewer: &Viewer, name: &str, given: &Given) -> Result<Option<WorkflowPage>>;
    /// What a run with these inputs would do.
    async fn plan(&self, viewer: &Viewer, name: &str, given: &Given) -> Result<Option<Planned>>;
    /// Asks for a run; the same `once` again is the same request.
    async fn run(&self, viewer: &Viewer, once: &str, name: &str, given: &Given) -> Result<Option<Planned>>;
    /// Asks for another run that takes what it can from this one, and does the rest from this step on.
    async fn rerun(&self, viewer: &Viewer, once: &str, run: &str, from: &str) -> Result<bool>;
    /// The viewer's plans; for an owner, everybody's.
    async fn plans(&self, viewer: &Viewer) -> Result<Vec<PlanLine>>;
    /// Asks for a plan; the same `once` again is the same request. Returns what is wrong with the goal, if it wasn't taken.
    async fn begin_plan(&self, viewer: &Viewer, once: &str, goal: &str) -> Result<Option<String>>;
    /// A run or a plan, by its own name or by the `once` of the request for it.
    async fn started(&self, viewer: &Viewer, key: &str) -> Result<Option<Started>>;
    async fn file(&self, viewer: &Viewer, message: &str) -> Result<Option<OutgoingFile>>;

    /// The name and the content of a file that the viewer sent.
    async fn sent(&self, viewer: &Viewer, file: &str) -> Result<Option<(String, Vec<u8>)>>;

    /// What the viewer has and said with these words.
    async fn search(&self, viewer: &Viewer, query: &str) -> Result<Vec<Hits>>;
    async fn note(&self, viewer: &Viewer, path: &str) -> Result<Option<Note>>;
    /// Saves another text of a note, if it still is of this version. Returns what to tell the viewer, if it wasn't saved.
    async fn save_note(&self, viewer: &Viewer, note: Note) -> Result<Option<String>>;
    /// The viewer's tasks, schedules, memories, standing approvals and files.
    async fn things(&self, viewer: &Viewer) -> Result<Vec<Table>>;
    /// How the system is, for owners.
    async fn system(&self, viewer: &Viewer) -> Result<Option<Vec<Table>>>;
    /// What this process logged for a turn, for owners; the oldest line first.
    async fn log(&self, viewer: &Viewer, turn: &str) -> Result<Option<Vec<LogLine>>>;
    /// What the viewer used; for an owner, what everybody did.
    async fn usage(&self, viewer: &Viewer) -> Result<Usage>;
    /// Does something with a row of a table, with these texts. False if the row is gone, isn't the viewer's, or a text is no
    /// good.
    async fn act(&self, viewer: &Viewer, act: PageAction, key: &str, texts: &[&str]) -> Result<bool>;

    /// The accounts at providers that the viewer can use.
    async fn accounts(&self, viewer: &Viewer) -> Result<Vec<AccountLine>>;
    /// Changes one of the viewer's own accounts. Returns what to tell the viewer, if it wasn't accepted.
    async fn change_account(
        &self,
        viewer: &Viewer,
        key: &str,
        change: AccountChange,
    ) -> Result<Option<String>>;

    async fn latest(&self) -> Result<Cursor>;
    /// The changes after a place, in order, at most this many; none if some of them are no longer known.
    async fn changes(&self, after: Cursor, most: usize) -> Result<Option<Vec<Change>>>;

    /// Forgets old changes. Called now and then.
    async fn tidy(&self);
    /// Whether a message of the outbox is on the page.
    async fn is_shown(&self, message: &str) -> bool;
    /// Counts something that was refused.
    fn refused(&self, reason: &'static str);
}

/// What logins at providers need of the engine, by links from a chat.
#[async_trait]
pub trait LoginLinks {
    /// Whose login a link of a chat is; none if it is no longer good.
    async fn login_offer(&self, nonce: &str) -> Result<Option<LoginOffer>>;
    /// Goes on with a login in this browser, which may be signed in here.
    async fn open_login(&self, nonce: &str, session: Option<&str>) -> Result<LoginStep>;
    /// Goes on with a login by an address and a password.
    async fn add_password(
        &self,
        nonce: &str,
        login: (&str, &str),
        session: Option<&str>,
    ) -> Result<LoginStep>;
    /// Ends the login with which a browser comes back from a provider. Returns how it has ended.
    async fn finish_login(&self, query: &str, browser: &str) -> Result<String>;
}
