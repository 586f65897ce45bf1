//! Mailboxes that are watched.

use adjutant_skills::Failure;
use adjutant_skills::accounts::{ConnectedAccount, MailSource};
use adjutant_skills::builtin::written_by;
use adjutant_store::executions;
use adjutant_store::watches::{self, WatchRow};
use adjutant_types::clock::utc;
use adjutant_types::{ItemNoun, Mark, WatchItem};

use super::{At, Finding, Watcher, item, own_addresses};
use crate::watching::matching::{fits, is_our_own};

/// Older mails are no news, however new they are in their folder: their keys may be gone.
const MAX_AGE_MS: i64 = 60 * 24 * 60 * 60 * 1000;
/// By how much the clock of a server may differ from ours.
const MARGIN_MS: i64 = 5 * 60 * 1000;
/// The most mails of a commit, and the most things that a commit adds.
const MAX_MAILS: usize = 200;
const MAX_FOUND: usize = 2_000;

impl Watcher {
    /// Takes new mails that fit. Returns whether there are more.
    pub(super) async fn take_mail(
        &self,
        at: At<'_>,
        (account, watches): (&ConnectedAccount, &[WatchRow]),
        mailbox: &mut MailSource,
    ) -> Result<bool, Failure> {
        let (store, now) = (self.store(), self.store().now());
        let row = watches::source(store, at.0).await?;
        let mark = row.mark.as_ref();
        let since = watches.iter().map(|it| it.active_since).min().unwrap_or(now).max(self.since).min(now);
        let most = (MAX_FOUND / watches.len().max(1)).clamp(10, MAX_MAILS);
        let (mails, mut read_to, is_more) = mailbox.news(mark, utc(since), most).await?;
        // Of what was there before the first look, only a second is rounded off.
        let margin = if mark.is_some() { MARGIN_MS } else { 1_000 };
        let (own, mut found) = (own_addresses(account), Vec::new());
        for (mail, head) in &mails {
            let received = head.received.map_or(now, |at| at.timestamp_millis());
            let is_news = received + margin >= self.since.min(now) && now - received < MAX_AGE_MS;
            if !is_news || is_our_own(mail, head, &own) {
                continue;
            }
            let is_wanted = |watch: &&WatchRow| {
                received + margin >= watch.active_since.min(now) && fits(&watch.condition, mail, head, &own)
            };
            let mut fitting: Vec<&WatchRow> = watches.iter().filter(is_wanted).collect();
            // A list may have given it another sender since. What we wrote for somebody else is news like any other.
            let written = match &mail.message_id {
                Some(id) if !fitting.is_empty() => executions::written_for(store, &written_by(id)).await?,
                _ => None,
            };
            fitting.retain(|watch| written.as_ref().is_none_or(|(writer, ..)| *writer != watch.person_id));
            if fitting.is_empty() {
                continue;
            }
            let from = mail.from.first().map(ToString::to_string).unwrap_or_default();
            let thing = WatchItem {
                is_signed: head.is_signed,
                account: account.id.clone(),
                // Two people's watches that answer each other would never end.
                is_automatic: head.is_automatic || written.is_some(),
                ..item(ItemNoun::Mail, mail.lasting_id(), (&from, &mail.subject, &mail.text), received)
            };
            let finding = |watch| Finding { watch, key: head.key.clone(), thing: thing.clone() };
            found.extend(fitting.into_iter().map(finding));
        }
        // From a time to come, nothing would be found again once the UIDs have changed.
        if let Mark::Mail { newest, .. } = &mut read_to {
            *newest = (*newest).min(now);
        }
        self.commit(at.1, &row, &read_to, &found).await?;
        Ok(is_more)
    }
}
