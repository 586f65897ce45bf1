//! Searches messages; only the newest results are fetched.

use async_imap::imap_proto::{MailboxDatum, Response};
use chrono::NaiveDate;

use super::fetch::Item;
use super::run;
use super::session::{Command, Session};
use super::{FolderKind, Imap, location_id};
use crate::{Bounce, MailError, Message};

/// The most results of a search.
const MAX_RESULTS: usize = 100;

/// How many folders are searched if none is given.
const MAX_FOLDERS: usize = 20;

/// How many of the newest messages are searched first.
const WINDOW: u32 = 2000;

/// The longest search response, in bytes: the UIDs of a million messages.
const MAX_UIDS_RESPONSE: usize = 16 << 20;

/// A full-text search may take this many times the timeout.
const TIMEOUT_FACTOR: u32 = 4;

/// How much of each message is fetched for a list, in bytes: headers and the beginning of the text.
const HEADERS: usize = 16 << 10;
const TEXT: usize = 4 << 10;

/// How much of a delivery notification is fetched, in bytes; its report is shorter.
const REPORT: usize = 64 << 10;

/// A search. All given conditions must hold; without any, it finds the newest messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Text anywhere in the message.
    pub text: Option<String>,
    /// Text in the sender.
    pub from: Option<String>,
    /// Text in the recipients.
    pub to: Option<String>,
    /// Text in the subject.
    pub subject: Option<String>,
    /// Received on this day or later.
    pub since: Option<NaiveDate>,
    /// Received before this day.
    pub before: Option<NaiveDate>,
    /// Only unread messages.
    pub unread: bool,
    /// The folder; otherwise all except Drafts, Trash and Junk.
    pub folder: Option<String>,
    /// The most results; never more than 100.
    pub limit: usize,
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
        for (key, text) in texts {
            if let Some(text) = text {
                command = command.text(&format!(" {key} ")).string(text);
            }
        }
        for (key, day) in [("SINCE", self.since), ("BEFORE", self.before)] {
            if let Some(day) = day {
                command = command.text(&format!(" {key} {}", day.format("%-d-%b-%Y")));
            }
        }
        if self.unread { command.text(" UNSEEN") } else { command }
    }

    fn is_unconditional(&self) -> bool {
        Self { folder: None, limit: 0, ..self.clone() } == Self::default()
    }
}

impl Imap {
    /// Finds messages, newest first; only the beginning of each is fetched.
    pub async fn search(&self, query: &Query) -> Result<Vec<Message>, MailError> {
        let limit = query.limit.min(MAX_RESULTS);
        let mut items = run!(self, |session| {
            let names = match &query.folder {
                Some(name) => vec![session.folder_named(name).await?],
                None => session.default_folders().await?,
            };
            let mut items = Vec::new();
            for folder in names {
                items.extend(session.newest(query, &folder, limit).await?);
            }
            Ok(items)
        })?;
        // UIDs order messages within a folder, times between folders.
        items.sort_by_key(|(arrived, uid, _)| std::cmp::Reverse((*arrived, *uid)));
        Ok(items.into_iter().take(limit).map(|(_, _, message)| message).collect())
    }

    /// Delivery failure notifications in the inbox, oldest first, with a UID greater than `after` and received on
    /// `since` or later.
    pub async fn bounces(
        &self,
        since: Option<NaiveDate>,
        after: u32,
        limit: usize,
    ) -> Result<Vec<Bounce>, MailError> {
        run!(self, |session| {
            let opened = session.select("INBOX").await?;
            let mut search = format!("UID SEARCH UID {}:*", after.saturating_add(1));
            if let Some(day) = since {
                search.push_str(&format!(" SINCE {}", day.format("%-d-%b-%Y")));
            }
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

type Dated = (Option<chrono::DateTime<chrono::FixedOffset>>, u32, Message);

impl Session {
    /// The UIDs that a search finds, in order.
    pub(super) async fn uids(&mut self, search: &Command) -> Result<Vec<u32>, MailError> {
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

    async fn newest(&mut self, query: &Query, folder: &str, limit: usize) -> Result<Vec<Dated>, MailError> {
        let opened = self.select(folder).await?;
        let what = format!(
            "(UID FLAGS INTERNALDATE BODY.PEEK[HEADER.FIELDS (DATE FROM TO REPLY-TO SUBJECT MESSAGE-ID \
             MIME-VERSION CONTENT-TYPE CONTENT-TRANSFER-ENCODING)]<0.{HEADERS}> BODY.PEEK[TEXT]<0.{TEXT}>)"
        );
        let items = if opened.exists == 0 || limit == 0 {
            Vec::new()
        } else if query.is_unconditional() {
            let first = u64::from(opened.exists).saturating_sub(limit as u64) + 1;
            let fetch =
                Command::new(&format!("FETCH {first}:* {what}")).response_limit(limit * (HEADERS + TEXT) * 2);
            self.items(&fetch).await?
        } else {
            let uids = self.newest_uids(query, opened.exists, limit).await?;
            self.fetch(&uids, &what, HEADERS + TEXT).await?
        };
        Ok(items.into_iter().map(|item| dated(item, opened.validity, folder)).collect())
    }

    /// The UIDs of the newest messages that a search finds. It searches the newest messages first and then ever more,
    /// so a big mailbox is not searched as a whole.
    async fn newest_uids(&mut self, query: &Query, exists: u32, limit: usize) -> Result<Vec<u32>, MailError> {
        let (mut found, mut last, mut window) = (Vec::new(), exists, WINDOW);
        while last > 0 && found.len() < limit {
            let first = last.saturating_sub(window) + 1;
            let mut earlier = self.uids(&query.command(first, last)).await?;
            earlier.append(&mut found);
            (found, last, window) = (earlier, first - 1, window.saturating_mul(8));
        }
        Ok(found.split_off(found.len().saturating_sub(limit)))
    }

    /// The folders to search if none is given.
    async fn default_folders(&mut self) -> Result<Vec<String>, MailError> {
        let unwanted = [FolderKind::Drafts, FolderKind::Trash, FolderKind::Junk, FolderKind::All];
        let mut folders = self.folders().await?;
        folders.retain(|folder| folder.kind.is_none_or(|kind| !unwanted.contains(&kind)));
        folders.sort_by_key(|folder| folder.kind.is_none());
        Ok(folders.into_iter().take(MAX_FOLDERS).map(|folder| folder.name).collect())
    }
}

fn dated(item: Item, validity: u32, folder: &str) -> Dated {
    let Item { uid, arrived, seen, flagged, header, text, .. } = item;
    let message = Message::parse(&[header, text].concat());
    let message = Message {
        id: location_id(uid, validity, folder),
        date: message.date.or(arrived),
        unread: !seen,
        flagged,
        folder: folder.to_owned(),
        ..message
    };
    (arrived, uid, message)
}
