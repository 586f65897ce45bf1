//! Finding letters: the server searches, and only the newest of what it finds are looked at.

use async_imap::imap_proto::{MailboxDatum, Response};
use chrono::NaiveDate;

use super::fetch::Item;
use super::run;
use super::session::{Command, Session};
use super::{FolderKind, Imap, place};
use crate::{Bounce, Fault, Letter, Summary};

/// A search gives no more than so many letters.
const MOST: usize = 100;

/// So many folders are searched when none is named.
const PLACES: usize = 20;

/// So many of the newest letters are searched first.
const WINDOW: u32 = 2000;

/// What a search may answer: numbers of a million letters.
const NUMBERS: usize = 16 << 20;

/// Searching the text of all letters takes a server longer than other things.
const PATIENCE: u32 = 4;

/// What is fetched of each letter for a list, in bytes: its headers and the beginning of its text.
const HEADERS: usize = 16 << 10;
const TEXT: usize = 4 << 10;

/// So much of a notification is read: more than its report needs.
const REPORT: usize = 64 << 10;

/// What is looked for. All that is given must hold; of nothing given, the newest letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Anywhere in the letter.
    pub text: Option<String>,
    /// In who wrote it.
    pub from: Option<String>,
    /// In whom it is to.
    pub to: Option<String>,
    /// In its subject.
    pub subject: Option<String>,
    /// It arrived on this day or later.
    pub since: Option<NaiveDate>,
    /// It arrived before this day.
    pub before: Option<NaiveDate>,
    /// Nobody has read it.
    pub unread: bool,
    /// The folder; without one all but Drafts, Trash and Junk.
    pub folder: Option<String>,
    /// So many at most, and never more than 100.
    pub limit: usize,
}

impl Query {
    /// Among the letters from the first to the last of these numbers.
    fn command(&self, first: u32, last: u32) -> Command {
        let texts =
            [("TEXT", &self.text), ("FROM", &self.from), ("TO", &self.to), ("SUBJECT", &self.subject)];
        let is_ascii = texts.iter().all(|(_, text)| text.as_deref().is_none_or(str::is_ascii));
        let charset = if is_ascii { "" } else { "CHARSET UTF-8 " };
        let start = format!("UID SEARCH {charset}{first}:{last} UNDELETED");
        let mut command = Command::new(&start).answered_by(NUMBERS).patiently(PATIENCE);
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

    fn is_open(&self) -> bool {
        Self { folder: None, limit: 0, ..self.clone() } == Self::default()
    }
}

impl Imap {
    /// Finds letters, the newest first.
    ///
    /// # Errors
    /// When there is no such folder, or the server can't be asked.
    pub async fn search(&self, query: &Query) -> Result<Vec<Summary>, Fault> {
        let limit = query.limit.min(MOST);
        let mut items = run!(self, |session| {
            let places = match &query.folder {
                Some(name) => vec![session.folder_named(name).await?],
                None => session.places().await?,
            };
            let mut items = Vec::new();
            for folder in places {
                items.extend(session.newest(query, &folder, limit).await?);
            }
            Ok(items)
        })?;
        // Within a folder later numbers arrived later; between folders only the times tell.
        items.sort_by_key(|(arrived, uid, _)| std::cmp::Reverse((*arrived, *uid)));
        Ok(items.into_iter().take(limit).map(|(_, _, summary)| summary).collect())
    }

    /// Notifications in the inbox that a letter did not arrive, the first first, of those that came with a
    /// number after `after` and not before `since`.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub async fn bounces(
        &self,
        since: Option<NaiveDate>,
        after: u32,
        limit: usize,
    ) -> Result<Vec<Bounce>, Fault> {
        run!(self, |session| {
            let opened = session.select("INBOX").await?;
            let mut search = format!("UID SEARCH UID {}:*", after.saturating_add(1));
            if let Some(day) = since {
                search.push_str(&format!(" SINCE {}", day.format("%-d-%b-%Y")));
            }
            search.push_str(" HEADER Content-Type \"delivery-status\"");
            let search = Command::new(&search).answered_by(NUMBERS).patiently(PATIENCE);
            // `n:*` also names the last letter when its number is smaller than n.
            let mut uids = session.uids(&search).await?;
            uids.retain(|uid| *uid > after);
            uids.truncate(limit.min(MOST));
            let items = session.fetch(&uids, &format!("(UID BODY.PEEK[]<0.{REPORT}>)"), REPORT).await?;
            let bounces = items.into_iter().filter_map(|item| {
                Bounce::parse(&item.whole, place(item.uid, opened.validity, "INBOX"), item.uid)
            });
            Ok(bounces.collect())
        })
    }
}

type Dated = (Option<chrono::DateTime<chrono::FixedOffset>>, u32, Summary);

impl Session {
    /// The numbers of the letters that a search finds, in their order.
    pub(super) async fn uids(&mut self, search: &Command) -> Result<Vec<u32>, Fault> {
        let mut uids: Vec<u32> = Vec::new();
        let hear = |response: &Response<'_>| {
            if let Response::MailboxData(MailboxDatum::Search(found)) = response {
                uids.extend(found);
            }
        };
        self.run(search, hear).await?;
        uids.sort_unstable();
        Ok(uids)
    }

    async fn newest(&mut self, query: &Query, folder: &str, limit: usize) -> Result<Vec<Dated>, Fault> {
        let opened = self.select(folder).await?;
        let what = format!(
            "(UID FLAGS INTERNALDATE BODY.PEEK[HEADER.FIELDS (DATE FROM TO SUBJECT MESSAGE-ID MIME-VERSION \
             CONTENT-TYPE CONTENT-TRANSFER-ENCODING)]<0.{HEADERS}> BODY.PEEK[TEXT]<0.{TEXT}>)"
        );
        let items = if opened.exists == 0 || limit == 0 {
            Vec::new()
        } else if query.is_open() {
            let first = u64::from(opened.exists).saturating_sub(limit as u64) + 1;
            let fetch =
                Command::new(&format!("FETCH {first}:* {what}")).answered_by(limit * (HEADERS + TEXT) * 2);
            self.items(&fetch).await?
        } else {
            let uids = self.newest_uids(query, opened.exists, limit).await?;
            self.fetch(&uids, &what, HEADERS + TEXT).await?
        };
        Ok(items.into_iter().map(|item| summary(item, opened.validity, folder)).collect())
    }

    /// The numbers of the newest letters that a search finds. It looks at the newest letters first, then at
    /// more of them, so that a big mailbox neither is searched through nor answers with all its numbers.
    async fn newest_uids(&mut self, query: &Query, exists: u32, limit: usize) -> Result<Vec<u32>, Fault> {
        let (mut found, mut last, mut window) = (Vec::new(), exists, WINDOW);
        while last > 0 && found.len() < limit {
            let first = last.saturating_sub(window) + 1;
            let mut earlier = self.uids(&query.command(first, last)).await?;
            earlier.append(&mut found);
            (found, last, window) = (earlier, first - 1, window.saturating_mul(8));
        }
        Ok(found.split_off(found.len().saturating_sub(limit)))
    }

    /// Where is searched when nobody says where.
    async fn places(&mut self) -> Result<Vec<String>, Fault> {
        let unwanted = [FolderKind::Drafts, FolderKind::Trash, FolderKind::Junk, FolderKind::All];
        let mut folders = self.folders().await?;
        folders.retain(|folder| folder.kind.is_none_or(|kind| !unwanted.contains(&kind)));
        folders.sort_by_key(|folder| folder.kind.is_none());
        Ok(folders.into_iter().take(PLACES).map(|folder| folder.name).collect())
    }
}

fn summary(item: Item, validity: u32, folder: &str) -> Dated {
    let Item { uid, arrived, seen, flagged, header, text, .. } = item;
    let letter = Letter::parse(&[header, text].concat());
    let letter = Letter {
        id: place(uid, validity, folder),
        date: letter.date.or(arrived),
        unread: !seen,
        flagged,
        folder: folder.to_owned(),
        ..letter
    };
    (arrived, uid, letter.summary())
}
