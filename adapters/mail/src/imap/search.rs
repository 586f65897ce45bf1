//! Searches messages; only the newest results are fetched.

use async_imap::imap_proto::{MailboxDatum, Response};
use chrono::{DateTime, FixedOffset, NaiveDate, TimeDelta, Utc};

use super::fetch::Item;
use super::session::{Command, Session};
use super::{Folder, FolderKind, Imap, location_id, run};
use crate::{Bounce, Message, Result};

const MAX_RESULTS: usize = 100;

/// How many folders are searched if none is given.
const MAX_FOLDERS: usize = 20;

/// How many of the newest messages are searched first.
const WINDOW: u32 = 2000;

/// How many messages are compared with a time: what is further back isn't found.
const MAX_TIMED: usize = 500;

/// The headers that name the messages of a thread.
const THREAD: [&str; 3] = ["MESSAGE-ID", "REFERENCES", "IN-REPLY-TO"];

/// The longest search response, in bytes: the UIDs of a million messages.
const MAX_UIDS_RESPONSE: usize = 16 << 20;

/// A full-text search may take this many times the timeout.
const TIMEOUT_FACTOR: u32 = 4;

/// How much of each message is fetched for a list, in bytes: headers and the beginning of the text.
const HEADERS: usize = 16 << 10;
const TEXT: usize = 4 << 10;

/// How much of a message's Date is fetched, in bytes.
const DATE: usize = 1 << 10;

/// How much of a delivery notification is fetched, in bytes; its report is shorter.
const REPORT: usize = 64 << 10;

/// A search. All given conditions must hold; without any, it finds the newest messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pub text: Option<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub subject: Option<String>,
    pub since: Option<DateTime<Utc>>,
    /// Of before this time, by the dates of the found messages: the oldest one's reaches the rest.
    pub before: Option<DateTime<Utc>>,
    pub unread: bool,
    pub unanswered: bool,
    /// Only those that aren't in the archive, unless the folder is given.
    pub unarchived: bool,
    /// Only those with one of these Message-IDs, and those that refer to one.
    pub thread: Vec<String>,
    /// The folder; otherwise all except Drafts, Trash and Junk.
    pub folder: Option<String>,
    /// The most received messages, and the most sent ones; never more than 100 each.
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The newest received messages, then the newest sent ones.
    pub messages: Vec<Message>,
    /// How many there are, with those that aren't among `messages`.
    pub total: usize,
    /// Whether everything was searched; if not, there may be more.
    pub is_exact: bool,
}

impl Found {
    /// Of messages, the newest first, so many received ones, then so many sent ones.
    pub fn newest(all: impl IntoIterator<Item = Message>, limit: usize) -> Vec<Message> {
        let (sent, received): (Vec<Message>, Vec<Message>) =
            all.into_iter().partition(|message| message.is_sent);
        received.into_iter().take(limit).chain(sent.into_iter().take(limit)).collect()
    }
}

impl Query {
    /// The search command for a range of message numbers.
    fn command(&self, first: u32, last: u32) -> Command {
        let texts =
            [("TEXT", &self.text), ("FROM", &self.from), ("TO", &self.to), ("SUBJECT", &self.subject)];
        let is_ascii = texts.iter().all(|(_, text)| text.as_deref().is_none_or(str::is_ascii));
        let charset = if is_ascii { "" } else { "CHARSET UTF-8 " };
        let start = format!("UID SEARCH {charset}{first}:{last} UNDELETED");
        let mut command =
            Command::new(&start).response_limit(MAX_UIDS_RESPONSE).timeout_factor(TIMEOUT_FACTOR);
        // A server looks for a text with spaces as it stands; people mean its words.
        for (key, text) in texts {
            for word in text.iter().flat_map(|text| text.split_whitespace()) {
                // Who gets a copy is a recipient, too.
                command = if key == "TO" { command.text(" OR CC ").string(word) } else { command };
                command = command.text(&format!(" {key} ")).string(word);
            }
        }
        // Servers take the day of a time in a zone of their own.
        let day = |time: Option<DateTime<Utc>>, days: i64| {
            let day = time?.checked_add_signed(TimeDelta::days(days))?;
            Some(day.format("%-d-%b-%Y").to_string())
        };
        if let Some(day) = day(self.since, -1) {
            command = command.text(&format!(" SINCE {day}"));
        }
        if let Some(day) = day(self.before, 2) {
            command = command.text(&format!(" OR BEFORE {day} SENTBEFORE {day}"));
        }
        for (key, is_asked) in [(" UNSEEN", self.unread), (" UNANSWERED", self.unanswered)] {
            command = if is_asked { command.text(key) } else { command };
        }
        let keys = self.thread.iter().flat_map(|id| THREAD.map(|header| (header, id)));
        for (left, (header, id)) in (0..self.thread.len() * THREAD.len()).rev().zip(keys) {
            let or = if left > 0 { " OR" } else { "" };
            command = command.text(&format!("{or} HEADER {header} ")).string(id);
        }
        command
    }

    /// Whether a message is of the time of the search: by its arrival not too old, and by its date not too new.
    pub fn is_in_time(&self, arrived: Time, date: Time) -> bool {
        let is_late = |arrived: DateTime<FixedOffset>| self.since.is_none_or(|time| arrived >= time);
        let is_early = |date: DateTime<FixedOffset>| self.before.is_none_or(|time| date < time);
        arrived.is_none_or(is_late) && date.is_none_or(is_early)
    }
}

impl Imap {
    /// Finds messages, newest first; only the beginning of each is fetched.
    pub async fn search(&self, query: &Query) -> Result<Found> {
        let limit = query.limit.min(MAX_RESULTS);
        let mut all = run!(self, |session| {
            let (folders, is_exact) = match &query.folder {
                Some(name) => (vec![session.folder_named(name).await?], true),
                None => session.default_folders(query.unarchived).await?,
            };
            let mut all = Newest { items: Vec::new(), total: 0, is_exact };
            for folder in &folders {
                let newest = session.newest(query, folder, limit).await?;
                all.items.extend(newest.items);
                all.total += newest.total;
                all.is_exact &= newest.is_exact;
            }
            Ok(all)
        })?;
        all.items.sort_by_key(|(date, uid, _)| std::cmp::Reverse((*date, *uid)));
        let messages = Found::newest(all.items.into_iter().map(|(_, _, message)| message), limit);
        Ok(Found { messages, total: all.total, is_exact: all.is_exact })
    }

    /// Delivery failure notifications in the inbox, oldest first, with a UID greater than `after` and received on
    /// `since` or later.
    pub async fn bounces(&self, since: Option<NaiveDate>, after: u32, limit: usize) -> Result<Vec<Bounce>> {
        run!(self, |session| {
            let opened = session.select("INBOX").await?;
            let mut search = format!("UID SEARCH UID {}:*", after.saturating_add(1));
            search.extend(since.map(|day| format!(" SINCE {}", day.format("%-d-%b-%Y"))));
            search.push_str(" HEADER Content-Type \"delivery-status\"");
            let search =
                Command::new(&search).response_limit(MAX_UIDS_RESPONSE).timeout_factor(TIMEOUT_FACTOR);
            // `n:*` includes the last message even if its UID is smaller than n.
            let mut uids = session.uids(&search).await?;
            uids.retain(|uid| *uid > after);
            uids.truncate(limit.min(MAX_RESULTS));
            let items = session.fetch(&uids, &format!("(UID BODY.PEEK[]<0.{REPORT}>)"), REPORT).await?;
            let bounces = items.into_iter().filter_map(|item| {
                Bounce::parse(&item.whole, location_id(item.uid, opened.validity, "INBOX"), item.uid)
            });
            Ok(bounces.collect())
        })
    }
}

type Time = Option<DateTime<FixedOffset>>;
type Dated = (Time, u32, Message);

/// The newest of what a search finds: messages, or their UIDs.
#[derive(Debug)]
struct Newest<T> {
    items: Vec<T>,
    /// How many it finds, and whether it searched everything.
    total: usize,
    is_exact: bool,
}

impl Session {
    /// The UIDs that a search finds, in order.
    pub(super) async fn uids(&mut self, search: &Command) -> Result<Vec<u32>> {
        let mut uids: Vec<u32> = Vec::new();
        let on_response = |response: &Response<'_>| {
            if let Response::MailboxData(MailboxDatum::Search(found)) = response {
                uids.extend(found);
            }
        };
        self.run(search, on_response).await?;
        uids.sort_unstable();
        Ok(uids)
    }

    async fn newest(&mut self, query: &Query, folder: &Folder, limit: usize) -> Result<Newest<Dated>> {
        let opened = self.select(&folder.name).await?;
        let what = format!(
            "(UID FLAGS INTERNALDATE BODY.PEEK[HEADER.FIELDS (DATE FROM TO CC REPLY-TO SUBJECT MESSAGE-ID \
             IN-REPLY-TO REFERENCES LIST-ID LIST-UNSUBSCRIBE PRECEDENCE AUTO-SUBMITTED MIME-VERSION CONTENT-TYPE \
             CONTENT-TRANSFER-ENCODING)]<0.{HEADERS}> BODY.PEEK[TEXT]<0.{TEXT}>)"
        );
        let exists = usize::try_from(opened.exists).unwrap_or(usize::MAX);
        let (items, total, is_exact) = if exists == 0 || limit == 0 {
            (Vec::new(), exists, true)
        } else if (Query { folder: None, limit: 0, ..query.clone() }) == Query::default() {
            let first = exists.saturating_sub(limit) + 1;
            let fetch =
                Command::new(&format!("FETCH {first}:* {what}")).response_limit(limit * (HEADERS + TEXT) * 2);
            (self.items(&fetch).await?, exists, true)
        } else {
            let found = self.newest_uids(query, opened.exists, limit).await?;
            (self.fetch(&found.items, &what, HEADERS + TEXT).await?, found.total, found.is_exact)
        };
        let items = items.iter().map(|item| dated(item, opened.validity, folder)).collect();
        Ok(Newest { items, total, is_exact })
    }

    /// The UIDs of the newest messages that a search finds. It searches the newest messages first and then ever more,
    /// so a big mailbox is not searched as a whole.
    async fn newest_uids(&mut self, query: &Query, exists: u32, limit: usize) -> Result<Newest<u32>> {
        let (mut found, mut last, mut window, mut is_exact) = (Vec::new(), exists, WINDOW, true);
        while last > 0 && found.len() < limit {
            let first = last.saturating_sub(window) + 1;
            let mut earlier = self.uids(&query.command(first, last)).await?;
            if query.since.or(query.before).is_some() {
                is_exact &= earlier.len() <= MAX_TIMED;
                earlier = self.in_time(query, earlier).await?;
            }
            earlier.append(&mut found);
            (found, last, window) = (earlier, first - 1, window.saturating_mul(8));
        }
        let total = found.len();
        let items = found.split_off(total.saturating_sub(limit));
        Ok(Newest { items, total, is_exact: is_exact && last == 0 })
    }

    /// Which of these messages are within the times of a search, by their dates; of many, only the newest are looked at.
    async fn in_time(&mut self, query: &Query, mut uids: Vec<u32>) -> Result<Vec<u32>> {
        let newest = uids.split_off(uids.len().saturating_sub(MAX_TIMED));
        let what = format!("(UID INTERNALDATE BODY.PEEK[HEADER.FIELDS (DATE)]<0.{DATE}>)");
        let items = self.fetch(&newest, &what, DATE).await?;
        let dated = items.into_iter().map(|item| {
            let date = Message::parse(&item.header).date.or(item.arrived);
            (date, item.uid, query.is_in_time(item.arrived, date))
        });
        let mut in_time: Vec<_> = dated.filter(|(_, _, is_in_time)| *is_in_time).collect();
        in_time.sort_unstable();
        Ok(in_time.into_iter().map(|(_, uid, _)| uid).collect())
    }

    /// The folders to search if none is given, without the archive and those inside if it is left out; and whether these are
    /// all.
    async fn default_folders(&mut self, unarchived: bool) -> Result<(Vec<Folder>, bool)> {
        let mut folders = self.folders().await?;
        let path = |folder: &Folder| format!("{}{}", folder.name, folder.delimiter);
        let archive = folders.iter().find(|folder| unarchived && folder.kind == Some(FolderKind::Archive));
        if let Some(archive) = archive.map(path) {
            folders.retain(|folder| !path(folder).starts_with(&archive));
        }
        folders.retain(|folder| folder.kind.is_none_or(|kind| FolderKind::SEARCHED.contains(&kind)));
        folders.sort_by_key(|folder| folder.kind.is_none());
        let are_all = folders.len() <= MAX_FOLDERS;
        folders.truncate(MAX_FOLDERS);
        Ok((folders, are_all))
    }
}

fn dated(item: &Item, validity: u32, folder: &Folder) -> Dated {
    let is_sent = folder.kind == Some(FolderKind::Sent);
    let message = Message { is_sent, ..item.message(validity, &folder.name) };
    (message.date, item.uid, message)
}
