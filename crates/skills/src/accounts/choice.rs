//! The accounts that one call uses: one to change something with, several to read from.

use adjutant_l10n as l10n;
use adjutant_store::connected::is_label;
use adjutant_types::{AccountId, AccountService, FromCall, FromConfig, ours};

use super::{ConnectedAccount, PersonAccounts};
use crate::builtin::CallContext;
use crate::{ErrorKind, SkillError};

#[derive(Default)]
pub struct CallAccounts {
    person: PersonAccounts,
    /// The one that the call's row names; empty if it names none.
    account: AccountId,
    /// Whether the row is in the journal. One that names no account was written when its person had only those of the
    /// configuration, or none; those that came since are none of its business.
    is_journalled: bool,
}

impl CallAccounts {
    /// Those of a call whose row isn't written yet.
    pub(crate) fn new(person: PersonAccounts) -> Self {
        Self { person, ..Self::default() }
    }

    /// Those of a call whose row names this account.
    pub(crate) fn journalled(person: PersonAccounts, account: AccountId) -> Self {
        Self { person, account, is_journalled: true }
    }

    /// The account that the row is going to name.
    pub(crate) fn choose(&mut self, account: AccountId) {
        self.account = account;
    }

    pub(crate) fn all(&self) -> &PersonAccounts {
        &self.person
    }

    /// The one that the row names, if the person still has it.
    pub(crate) fn named(&self) -> Option<&ConnectedAccount> {
        self.by_id(&self.account)
    }

    fn by_id(&self, id: &AccountId) -> Option<&ConnectedAccount> {
        self.person.all.iter().find(|account| account.id == *id)
    }

    /// The account to change something with: the row's; of those of that name, or of all, the default, the one of the
    /// configuration, or the only one. None: our own store.
    fn for_changes(
        &self,
        service: AccountService,
        name: Option<&str>,
    ) -> Result<Option<&ConnectedAccount>, SkillError> {
        if let Some(account) = self.named().filter(|account| account.has(service)) {
            return Ok(Some(account));
        }
        // A call that changes an event names an account without calendars only if the event is in our own store.
        if self.is_journalled && service == AccountService::Calendar && self.named().is_some() {
            return Ok(None);
        }
        let mut all = self.called(service, name)?;
        if all.is_empty() {
            let is_bound = self.is_journalled && self.account.is_empty();
            all.extend(self.person.with(service).filter(|account| !is_bound || account.is_configured()));
        }
        let is_default = |account: &ConnectedAccount| match service {
            AccountService::Mail => account.is_mail_default,
            AccountService::Calendar => account.is_events_default,
            AccountService::Contacts => account.is_mail_default || account.is_events_default,
        };
        let usual = all.iter().find(|account| is_default(account));
        let usual = usual.or_else(|| all.iter().find(|account| account.is_configured()));
        match (usual, all.as_slice()) {
            (Some(account), _) | (None, [account]) => Ok(Some(*account)),
            (None, []) => Ok(None),
            (None, _) => Err(SkillError::params(ours!(l10n::accounts::which, labels(&all)))),
        }
    }

    /// Those of that name, which may be a label, an address or a provider; none without a name.
    fn called(
        &self,
        service: AccountService,
        name: Option<&str>,
    ) -> Result<Vec<&ConnectedAccount>, SkillError> {
        let Some(name) = name else { return Ok(Vec::new()) };
        let all: Vec<&ConnectedAccount> = self.person.with(service).collect();
        let is_it = |text: &str| is_label(text, name);
        let ways: [fn(&ConnectedAccount) -> &str; 3] = [
            |account| account.label.as_str(),
            |account| account.address.as_str(),
            |account| account.provider.as_str(),
        ];
        for name_of in ways {
            let found = all.iter().copied().filter(|account| is_it(name_of(account)));
            let found: Vec<&ConnectedAccount> = found.collect();
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let mut elsewhere = self.person.elsewhere.iter().filter(|row| row.services.contains(&service));
        if elsewhere.any(|row| is_it(&row.label) || is_it(&row.address)) {
            return Err(SkillError::new(ErrorKind::Permission, ours!(l10n::accounts::ask_in_private)));
        }
        Err(match all.is_empty() {
            true => SkillError::not_found(ours!(l10n::accounts::none_called, FromCall(name))),
            false => SkillError::params(ours!(l10n::accounts::no_such_account, FromCall(name), labels(&all))),
        })
    }
}

impl<'a> CallContext<'a> {
    /// The account that the call changes something with; none: our own store.
    pub(crate) fn account_for(
        &self,
        service: AccountService,
    ) -> Result<Option<&'a ConnectedAccount>, SkillError> {
        self.accounts.for_changes(service, self.text("account"))
    }

    /// The accounts that the call reads from: its row's, the one that it names, or all.
    pub(crate) fn accounts_of(
        &self,
        service: AccountService,
    ) -> Result<Vec<&'a ConnectedAccount>, SkillError> {
        // An event of our own store may be announced by an account that has no calendars.
        if let Some(account) = self.accounts.named().filter(|account| account.has(service)) {
            return Ok(vec![account]);
        }
        let called = self.accounts.called(service, self.text("account"))?;
        Ok(if called.is_empty() { self.accounts.person.with(service).collect() } else { called })
    }

    /// Whether the person has several, so that each result says which one it is of.
    pub(crate) fn has_several(&self, service: AccountService) -> bool {
        self.accounts.person.with(service).nth(1).is_some()
    }
}

/// What the person calls these accounts.
fn labels(accounts: &[&ConnectedAccount]) -> FromConfig<String> {
    FromConfig(accounts.iter().map(|account| account.label.as_str()).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use AccountService::{Calendar, Contacts, Mail};
    use adjutant_store::connected::AccountRow;
    use adjutant_types::ProviderKind;
    use proptest::prelude::*;

    use super::*;
    use crate::accounts::clients;

    /// An account of a person at a provider that takes a password, or one of the configuration.
    fn account(id: &str, label: &str, services: &[AccountService]) -> ConnectedAccount {
        let dav = if services == [Mail] { "" } else { r#","caldav":"https://x.test/""# };
        let row = AccountRow {
            person_id: (!id.starts_with("config:")).then(|| "ada".into()),
            label: label.to_owned(),
            services: services.to_vec(),
            settings: format!(r#"{{"smtp":{{"host":"x.test","port":465}}{dav}}}"#),
            ..AccountRow::new(id.into(), ProviderKind::Password, &format!("{label}@x.test"))
        };
        clients(&row, "secret".into(), None).unwrap()
    }

    fn person(all: Vec<ConnectedAccount>) -> PersonAccounts {
        PersonAccounts { all, ..PersonAccounts::default() }
    }

    fn chosen(
        accounts: &CallAccounts,
        service: AccountService,
        name: Option<&str>,
    ) -> Result<Option<String>, ErrorKind> {
        let chosen = accounts.for_changes(service, name);
        chosen.map(|found| found.map(|account| account.id.to_string())).map_err(|error| error.kind)
    }

    fn id(id: &str) -> Result<Option<String>, ErrorKind> {
        Ok(Some(id.to_owned()))
    }

    #[test]
    fn a_change_goes_to_the_named_one_the_default_the_only_one_or_the_configurations() {
        let (private, work) = (account("p", "Private", &[Mail, Calendar]), account("w", "work", &[Mail]));
        let shared = account("config:mail", "shared", &[Mail]);
        let two = CallAccounts::new(person(vec![private.clone(), work.clone()]));
        assert_eq!(chosen(&two, Mail, None), Err(ErrorKind::Params), "nobody knows which");
        assert_eq!(chosen(&two, Mail, Some("private")), id("p"));
        assert_eq!(chosen(&two, Mail, Some("WORK@x.test")), id("w"));
        assert_eq!(chosen(&two, Mail, Some("home")), Err(ErrorKind::Params));
        assert_eq!(chosen(&two, Calendar, None), id("p"));
        assert_eq!(chosen(&two, Calendar, Some("work")), Err(ErrorKind::Params), "it has no calendar");
        assert_eq!(chosen(&two, Contacts, None), Ok(None));
        assert_eq!(chosen(&two, Contacts, Some("work")), Err(ErrorKind::NotFound));
        let default = ConnectedAccount { is_mail_default: true, ..work.clone() };
        let with_default = CallAccounts::new(person(vec![shared.clone(), private.clone(), default]));
        assert_eq!(chosen(&with_default, Mail, None), id("w"));
        assert_eq!(
            chosen(&two, Mail, Some("password")),
            Err(ErrorKind::Params),
            "both are at such a provider"
        );
        assert_eq!(chosen(&with_default, Mail, Some("password")), id("w"), "the usual one of those");
        let same = ConnectedAccount { address: private.address.clone(), ..work.clone() };
        let of_one_address = CallAccounts::new(person(vec![private.clone(), same]));
        assert_eq!(chosen(&of_one_address, Mail, Some("private@x.test")), Err(ErrorKind::Params));
        assert_eq!(chosen(&of_one_address, Mail, Some("work")), id("w"));
        let with_shared = CallAccounts::new(person(vec![private, work, shared]));
        assert_eq!(chosen(&with_shared, Mail, None), id("config:mail"));
    }

    #[test]
    fn a_row_keeps_its_account_and_one_without_never_gets_one_that_came_later() {
        let all = || person(vec![account("p", "private", &[Mail, Calendar]), account("w", "work", &[Mail])]);
        let named = CallAccounts::journalled(all(), "w".into());
        assert_eq!(chosen(&named, Mail, Some("private")), id("w"));
        assert_eq!(chosen(&named, Calendar, None), Ok(None), "its event is in our own store");
        let with_calendar = CallAccounts::journalled(all(), "p".into());
        assert_eq!(chosen(&with_calendar, Calendar, None), id("p"));
        let gone = CallAccounts::journalled(all(), "x".into());
        assert!(gone.named().is_none());
        let without = CallAccounts::journalled(all(), AccountId::default());
        assert_eq!(chosen(&without, Mail, None), Ok(None));
        let shared = person(vec![account("config:mail", "shared", &[Mail])]);
        let old = CallAccounts::journalled(shared, AccountId::default());
        assert_eq!(chosen(&old, Mail, None), id("config:mail"), "it began before rows named accounts");
    }

    #[test]
    fn what_a_person_lacks_is_refused_with_a_way_to_get_it() {
        let check = |accounts: PersonAccounts| accounts.check(Mail).err().map(|error| error.message.whole());
        assert_eq!(check(PersonAccounts::default()), None, "mails are saved as files");
        let of_others = PersonAccounts { of_others: vec![Mail], ..PersonAccounts::default() };
        assert!(of_others.hides(Mail) && !of_others.hides(Calendar));
        assert_eq!(check(of_others.clone()).unwrap(), l10n::accounts::only_owners());
        let may_connect = PersonAccounts { may_connect: true, ..of_others.clone() };
        assert!(!may_connect.hides(Mail));
        assert_eq!(check(may_connect).unwrap(), l10n::accounts::not_connected());
        let row = AccountRow::new("a1".into(), ProviderKind::Google, "ada@x.test");
        let elsewhere = PersonAccounts { elsewhere: vec![row], ..of_others };
        assert_eq!(check(elsewhere).unwrap(), l10n::accounts::ask_in_private());
    }

    #[test]
    fn a_role_has_the_accounts_that_each_of_its_lists_names() {
        let all = || person(vec![account("p", "Private", &[Mail, Calendar]), account("w", "work", &[Mail])]);
        for (lists, kept) in [
            (vec![], vec!["p", "w"]),
            (vec![vec!["WORK", "other"]], vec!["w"]),
            (vec![vec!["password"], vec!["private@x.test"]], vec!["p"]),
            (vec![vec!["work"], vec!["private"]], vec![]),
            (vec![vec![]], vec![]),
        ] {
            let mut accounts = all();
            let named = |list: &Vec<&str>| list.iter().map(ToString::to_string).collect::<Vec<String>>();
            accounts.narrow(&lists.iter().map(named).collect::<Vec<_>>());
            let ids: Vec<&str> = accounts.all.iter().map(|account| account.id.as_str()).collect();
            assert_eq!(ids, kept, "{lists:?}");
            // Our own store doesn't stand in for what is withheld.
            let why = accounts.check(Calendar).err().map(|error| error.message.whole());
            assert_eq!(why, (!kept.contains(&"p")).then(l10n::accounts::beyond_role), "{lists:?}");
        }
    }

    proptest! {
        /// Whatever a call asks for, it gets an account of the turn's person or none.
        #[test]
        fn no_call_gets_an_account_that_its_person_does_not_have(
            theirs in prop::collection::vec(0_usize..5, 0..4),
            name in prop::option::of(prop::sample::select(vec!["a0", "a1", "a2", "a3", "password", "x"])),
            row in prop::option::of(0_usize..5),
        ) {
            let all: Vec<ConnectedAccount> =
                (0..5).map(|n| account(&format!("a{n}"), &format!("a{n}"), &[Mail])).collect();
            let accounts = person(theirs.iter().map(|n| all[*n].clone()).collect());
            let row = row.map(|n| all[n].id.clone()).unwrap_or_default();
            let new = CallAccounts::new(accounts.clone());
            for accounts in [new, CallAccounts::journalled(accounts, row.clone())] {
                let has = |account: &ConnectedAccount| theirs.iter().any(|n| all[*n].id == account.id);
                if let Ok(Some(account)) = accounts.for_changes(Mail, name) {
                    prop_assert!(has(account));
                }
                for account in accounts.called(Mail, name).unwrap_or_default() {
                    prop_assert!(has(account));
                }
                prop_assert!(accounts.by_id(&row).is_none_or(has));
            }
        }
    }
}
