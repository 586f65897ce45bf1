//! Watches: what people want to be told of, or done, as soon as it happens.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{AccountId, TaskId, words};

/// How many watches a person may have, those of the configuration included.
pub const MAX_WATCHES: usize = 100;

words! {
    #[derive(Default)]
    WatchTrigger {
        #[default] Mail = "mail", EventBegins = "event_begins", EventChanges = "event_changes", TaskDue = "task_due",
        File = "file", Room = "room", Webhook = "webhook",
    }
}

words! {
    /// It tells the person, runs a workflow, or has a turn do what its words say.
    #[derive(Default)]
    WatchAction { #[default] Tell = "tell", Run = "run", Ask = "ask" }
}

words! {
    /// Paused by a person; stopped because it failed too often, or its account is gone; over when its time is up.
    #[derive(Default)]
    WatchState { #[default] Active = "active", Paused = "paused", Stopped = "stopped", Over = "over" }
}

words! {
    /// What became of something that was found: unfit if the watch's sentence doesn't fit it, another watch has told it, or the
    /// watch was deleted before it was told; later if it is to be told again at a time; done if the person needs it no more.
    ItemState { New = "new", Unfit = "unfit", Told = "told", Later = "later", Done = "done" }
}

words! {
    /// A document is a file in a watched folder, which has no id as those have that people send; a call is a webhook's, and a
    /// receipt is what a watch did while its person wanted quiet, with the id of its turn.
    #[derive(Default)]
    ItemNoun {
        #[default] Mail = "mail", Event = "event", Task = "task", Document = "document", Message = "message", Call = "call",
        Receipt = "receipt",
    }
}

/// What a watch reads. All watches on the same share it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WatchSource {
    pub trigger: WatchTrigger,
    /// None: our own store, a folder of files, a room, or a webhook.
    pub account: AccountId,
    /// The folder or calendar of the account; the path of a folder of files; the conversation of a room; the watch of a
    /// webhook; of what is in our own store, the person.
    pub place: String,
}

/// The name of its lease.
impl fmt::Display for WatchSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "watch:{}:{}:{}", self.trigger, self.account, self.place)
    }
}

/// What has to be true of something new. All of it has to fit; of a list, one entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// Addresses, `@domain`s, or names.
    pub from: Vec<String>,
    /// Words of its subject or title.
    pub subject: Vec<String>,
    pub text: Vec<String>,
    pub attachment: Option<bool>,
    /// Whether somebody from outside takes part.
    pub outside: Option<bool>,
    /// Only answers to what the person sent.
    #[serde(alias = "answers")]
    pub is_answer: bool,
    /// So long before an event begins.
    pub minutes: u32,
    /// A sentence that a model judges.
    pub judge: Option<String>,
}

impl Condition {
    pub fn is_everything(&self) -> bool {
        *self == Self { minutes: self.minutes, ..Self::default() }
    }
}

/// How much a watch may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// The least time between two tellings, in seconds.
    pub every_s: i64,
    /// When it is quiet in the person's day: `22:00-07:00`.
    pub quiet: Option<String>,
    /// When it ends by itself, in milliseconds.
    pub until: Option<i64>,
    /// What its model calls may cost a day.
    pub nano_usd_day: Option<i64>,
}

impl Bounds {
    /// The least that `every_s` may be.
    pub const MIN_EVERY_S: i64 = 60;
    /// The same of a watch on everything.
    pub const MIN_EVERY_S_OF_ALL: i64 = 60 * 60;
}

impl Default for Bounds {
    fn default() -> Self {
        Self { every_s: Self::MIN_EVERY_S, quiet: None, until: None, nano_usd_day: None }
    }
}

/// Something found. All its texts are from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchItem {
    pub noun: ItemNoun,
    /// As skills know it.
    pub id: String,
    pub from: String,
    pub title: String,
    /// When it came, begins or is due, in milliseconds.
    pub at: i64,
    /// Whether a mail is from whom it says, if its mailbox's own server says so.
    pub is_signed: Option<bool>,
    pub account: AccountId,
    /// Whether a program sent it.
    pub is_automatic: bool,
    /// How its text begins.
    pub snippet: String,
    /// Whether a model couldn't judge it.
    pub is_unsure: bool,
}

impl WatchItem {
    /// Something of which no more is known.
    pub fn new(noun: ItemNoun, name: &str, (from, title): (&str, &str), at: i64) -> Self {
        let [id, from, title] = [name, from, title].map(str::to_owned);
        Self { noun, id, from, title, at, ..Self::default() }
    }
}

/// Whether an address, behind a name or not, says that nobody reads what is sent to it.
pub fn is_no_reply(address: &str) -> bool {
    let address = address.rsplit('<').next().unwrap_or_default().to_lowercase();
    let name = address.split('@').next().unwrap_or_default().replace(['-', '_', '.'], "");
    name.contains("noreply") || name.contains("donotreply")
}

/// How far a source has been read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A folder's UIDVALIDITY, the last UID, and when the newest mail came, in milliseconds.
    Mail { validity: u32, uid: u32, newest: i64 },
    /// A link that gives what is new since.
    Delta(String),
    /// Of each event by its key: when it begins, what changes with it, and its title.
    Seen(BTreeMap<String, (i64, String, String)>),
    /// Of each file by its name: when it was written, in milliseconds, and its size.
    Files(BTreeMap<String, (i64, u64)>),
    /// When the task was due that was read last, in milliseconds, and which one it was.
    Due(i64, TaskId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_reads_back_and_what_is_missing_has_its_default() {
        let all = Condition { minutes: 30, ..Condition::default() };
        assert!(all.is_everything());
        let some = Condition { from: vec!["@acme.test".into()], is_answer: true, ..all };
        assert!(!some.is_everything());
        let text = r#"{"from":["@acme.test"],"is_answer":true,"minutes":30}"#;
        assert_eq!(serde_json::from_str::<Condition>(text).ok(), Some(some));
        assert_eq!(serde_json::from_str::<Bounds>("{}").ok(), Some(Bounds::default()));
        let marks = [
            (Mark::Mail { validity: 1, uid: 2, newest: 3 }, r#"{"mail":{"validity":1,"uid":2,"newest":3}}"#),
            (Mark::Seen(BTreeMap::new()), r#"{"seen":{}}"#),
            (Mark::Files([("a".into(), (1, 2))].into()), r#"{"files":{"a":[1,2]}}"#),
            (Mark::Due(5, "t1".into()), r#"{"due":[5,"t1"]}"#),
        ];
        for (mark, text) in marks {
            assert_eq!(serde_json::to_string(&mark).ok().as_deref(), Some(text));
            assert_eq!(serde_json::from_str::<Mark>(text).ok(), Some(mark));
        }
    }
}
