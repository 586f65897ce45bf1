//! New mail in a folder, and waiting for it by IDLE (RFC 2177).

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::fetch::Item;
use super::session::{Command, Session};
use super::{Imap, run};
use crate::connection::guarded;
use crate::headers::authority;
use crate::{Headline, Message, Result};

/// How much of each message is fetched, in bytes: a header with several signatures, and the beginning of the text.
const HEADERS: usize = 64 << 10;
const TEXT: usize = 4 << 10;

/// How far behind the newest message it is looked once the UIDs have changed, with a day for zones: SINCE compares days.
const BEHIND: TimeDelta = TimeDelta::days(3);

/// How often it is looked where the server doesn't tell.
const POLL: Duration = Duration::from_secs(20);

/// A folder on a connection of its own, which is made anew once it is lost.
#[derive(Debug)]
pub struct MailboxWatch {
    imap: Imap,
    folder: String,
}

/// How far a folder has been read. Before it was, the validity and the UID are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailMark {
    /// The UIDVALIDITY of the UID.
    pub validity: u32,
    pub uid: u32,
    pub newest: DateTime<Utc>,
}

/// What has come since a mark.
#[derive(Debug)]
pub struct MailNews {
    /// In the order of their UIDs. With new UIDs, those that had come shortly before the mark are among them again.
    pub mails: Vec<(Message, Headline)>,
    pub mark: MailMark,
    pub is_more: bool,
}

impl Imap {
    /// A watch on a folder, by its name or purpose. It isn't connected yet.
    pub fn watch(&self, folder: &str) -> MailboxWatch {
        MailboxWatch { imap: Self::new(self.server.clone()), folder: folder.to_owned() }
    }
}

impl MailboxWatch {
    /// The first messages after a mark, with the beginnings of their texts.
    pub async fn since(&mut self, mark: &MailMark, most: usize) -> Result<MailNews> {
        let (folder, authority) = (self.folder.as_str(), authority(&self.imap.server.host));
        run!(self.imap, |session| { session.since(folder, mark, most, &authority).await })
    }

    /// Waits until there may be new messages, or so long. What came since the last look ends it at once.
    pub async fn wait(&mut self, limit: Duration) -> Result<()> {
        let session = self.imap.session.get_mut().as_mut();
        let Some(session) = session.filter(|session| !session.is_broken && !session.has_grown) else {
            return Ok(());
        };
        if session.can("IDLE") {
            let waited = guarded(session.run(&Command::idle(limit), |_| {})).await;
            if waited.is_ok() || session.is_broken {
                return waited;
            }
        }
        tokio::time::sleep(limit.min(POLL)).await;
        Ok(())
    }
}

impl Session {
    async fn since(&mut self, name: &str, mark: &MailMark, most: usize, authority: &str) -> Result<MailNews> {
        let folder = self.folder_named(name).await?.name;
        let opened = self.select(&folder).await?;
        // What comes from here on may not be in what we find.
        self.has_grown = false;
        let is_same = mark.uid > 0 && mark.validity == opened.validity;
        let after = if is_same { mark.uid } else { 0 };
        // `*` is the last message, whatever its UID.
        let search = if is_same {
            format!("UID SEARCH UID {}:*", after.saturating_add(1))
        } else {
            let from = mark.newest.checked_sub_signed(BEHIND).unwrap_or_default();
            format!("UID SEARCH OR UID * SINCE {}", from.format("%-d-%b-%Y"))
        };
        let mut uids = match opened.exists {
            0 => Vec::new(),
            _ => self.uids(&Command::new(&search).timeout_factor(4)).await?,
        };
        uids.retain(|uid| *uid > after);
        let is_more = uids.len() > most;
        uids.truncate(most);
        let what =
            format!("(UID FLAGS INTERNALDATE BODY.PEEK[HEADER]<0.{HEADERS}> BODY.PEEK[TEXT]<0.{TEXT}>)");
        let mut items = self.fetch(&uids, &what, HEADERS + TEXT).await?;
        items.sort_unstable_by_key(|item| item.uid);
        let came = items.iter().filter_map(|item| Some(item.arrived?.to_utc()));
        let newest = came.fold(mark.newest, Ord::max);
        let read = |item: &Item| {
            let message = item.message(opened.validity, &folder);
            let head = Headline::parse(&item.header, &message, authority);
            (message, Headline { received: item.arrived, ..head })
        };
        let uid = uids.last().copied().unwrap_or(after);
        let mark = MailMark { validity: opened.validity, uid, newest };
        Ok(MailNews { mails: items.iter().map(read).collect(), mark, is_more })
    }
}
