//! Reading from several accounts at once, and saying which is which.

use adjutant_l10n as l10n;
use adjutant_types::{AccountId, AccountService};
use futures::future::join_all;

use super::CallContext;
use crate::accounts::ConnectedAccount;
use crate::{ErrorKind, Failure, Result, SkillError};

/// How many accounts are read at the same time.
pub(super) const AT_ONCE: usize = 2;

/// What each account gave, and a line about each that couldn't be read.
pub(super) struct Merged<'a, T> {
    pub(super) found: Vec<(&'a ConnectedAccount, T)>,
    pub(super) notes: Vec<String>,
}

/// Reads from these accounts. One that can't be read now doesn't hide the others, and neither does one that has no folder or
/// calendar of the name that the call gives.
pub(super) async fn merged<'a, T, F>(
    accounts: &[&'a ConnectedAccount],
    read: impl Fn(&'a ConnectedAccount) -> F,
) -> Result<Merged<'a, T>>
where
    F: Future<Output = Result<T>>,
{
    let (mut found, mut notes, mut failed) = (Vec::new(), Vec::new(), None);
    for some in accounts.chunks(AT_ONCE) {
        let results = join_all(some.iter().copied().map(&read)).await;
        for (account, result) in some.iter().copied().zip(results) {
            let error = match result {
                Ok(result) => {
                    found.push((account, result));
                    continue;
                }
                Err(Failure::Skill(error)) => error,
                Err(failure) => return Err(failure),
            };
            match error.kind {
                ErrorKind::NotFound => {}
                // Not why: servers word that.
                ErrorKind::Auth => {
                    account.refuse();
                    notes.push(l10n::accounts::login_ended(&account.label));
                }
                _ => notes.push(l10n::accounts::not_reached(&account.label)),
            }
            if accounts.len() > 1 {
                tracing::warn!(%error, account = %account.id, "can't read an account");
            }
            if failed.as_ref().is_none_or(|former: &SkillError| former.kind == ErrorKind::NotFound) {
                failed = Some(error);
            }
        }
    }
    match failed.filter(|_| found.is_empty()) {
        Some(error) => Err(error.into()),
        None => Ok(Merged { found, notes }),
    }
}

/// The account as steps of undoing name it; empty: our own store.
pub(super) fn id_of(account: Option<&ConnectedAccount>) -> AccountId {
    account.map(|account| account.id.clone()).unwrap_or_default()
}

/// The account that a step of undoing names; one of before people had accounts names none, and means that of the
/// configuration.
pub(super) fn of_step<'a>(
    call: &CallContext<'a>,
    service: AccountService,
    account: &AccountId,
) -> Option<&'a ConnectedAccount> {
    let is_meant = |its: &&ConnectedAccount| match account.as_str() {
        "" => its.is_configured(),
        id => its.id == *id,
    };
    call.accounts.all().with(service).find(is_meant)
}

/// The label of an account, where the person has several.
pub(super) fn label<'l>(
    call: &CallContext<'_>,
    service: AccountService,
    account: Option<&'l ConnectedAccount>,
) -> Option<&'l str> {
    account.filter(|_| call.has_several(service)).map(|account| account.label.as_str())
}

/// The account that a person is asked about, where they have several.
pub(super) fn account_line(
    call: &CallContext<'_>,
    service: AccountService,
    account: Option<&ConnectedAccount>,
) -> Option<String> {
    label(call, service, account).map(l10n::accounts::account)
}

/// A line about something in an account, with its label where the person has several.
pub(super) fn labelled(
    call: &CallContext<'_>,
    service: AccountService,
    account: Option<&ConnectedAccount>,
    line: String,
) -> String {
    match label(call, service, account) {
        Some(label) => l10n::accounts::of_account(line, label),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn account(label: &str) -> ConnectedAccount {
        ConnectedAccount::configured(AccountService::Mail, label, "ada@home.example")
    }

    async fn read(account: &ConnectedAccount) -> Result<String, Failure> {
        let failed = |kind| Err(SkillError::new(kind, "no").into());
        match account.label.as_str() {
            "down" => failed(ErrorKind::Network),
            "ended" => failed(ErrorKind::Auth),
            "other" => failed(ErrorKind::NotFound),
            label => Ok(label.to_uppercase()),
        }
    }

    #[tokio::test]
    async fn an_account_that_fails_does_not_hide_the_others() {
        let [private, down, ended, other, work] = ["private", "down", "ended", "other", "work"].map(account);
        let all = merged(&[&private, &down, &ended, &other, &work], read).await.unwrap();
        let found: Vec<(&str, &str)> =
            all.found.iter().map(|(account, text)| (account.label.as_str(), text.as_str())).collect();
        assert_eq!(found, [("private", "PRIVATE"), ("work", "WORK")]);
        // One that only lacks what the call names is no news.
        assert_eq!(all.notes, [l10n::accounts::not_reached("down"), l10n::accounts::login_ended("ended")]);
        let Err(Failure::Skill(error)) = merged(&[&down, &ended], read).await else { panic!() };
        assert_eq!(error.kind, ErrorKind::Network);
        let Err(Failure::Skill(error)) = merged(&[&other, &down], read).await else { panic!() };
        assert_eq!(error.kind, ErrorKind::Network, "the other one may have it");
        assert!(merged(&[], read).await.unwrap().found.is_empty());
    }

    #[tokio::test]
    async fn two_are_read_at_a_time() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let accounts = ["a", "b", "c", "d", "e"].map(account);
        let all: Vec<&ConnectedAccount> = accounts.iter().collect();
        let (now, most) = (&now, &most);
        let read = |_| async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        };
        assert_eq!(merged(&all, read).await.unwrap().found.len(), 5);
        assert_eq!(most.load(Ordering::SeqCst), AT_ONCE);
    }
}
