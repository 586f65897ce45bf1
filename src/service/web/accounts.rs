//! A person's accounts at providers, for the page.

use adjutant_engine::conversation::connect::MAX_LABEL;
use adjutant_l10n::page_accounts as words;
use adjutant_skills::accounts::{AccountSettings, app_password_page, provider_name, services_in_words};
use adjutant_store::connected::{self, AccountRow, is_label_taken};
use adjutant_store::{Batch, Result, Stale, StoreError};
use adjutant_types::invisible_chars::line;
use adjutant_types::{AccountId, AccountService, AccountState, PersonId, ProviderKind};
use adjutant_web::views::{AccountChange, AccountLine, Viewer};

use super::WebBackend;
use super::view::ViewerContext;

impl WebBackend {
    /// What to tell the viewer, if the change wasn't accepted.
    pub(super) async fn change_own_account(
        &self,
        viewer: &Viewer,
        account: &AccountId,
        change: AccountChange,
    ) -> Result<Option<String>> {
        let person: PersonId = viewer.person.as_str().into();
        let mut all = connected::of_person(&self.store, &person).await?;
        all.retain(|row| row.person_id.as_ref() == Some(&person));
        let Some(row) = all.iter().find(|row| row.id == *account) else { return Ok(Some(words::gone())) };
        let mut batch = Batch::new();
        match change {
            AccountChange::Rename(name) => {
                let label = line(&name, MAX_LABEL);
                if label.is_empty() || name.chars().count() > MAX_LABEL {
                    return Ok(Some(words::bad_name(MAX_LABEL)));
                }
                if is_label_taken(&all, row, &label) {
                    return Ok(Some(words::name_taken()));
                }
                connected::rename(&mut batch, &row.id, &label);
            }
            AccountChange::MailDefault => connected::set_default(&mut batch, row, AccountService::Mail),
            AccountChange::EventsDefault => connected::set_default(&mut batch, row, AccountService::Calendar),
            AccountChange::Busy(calendars) => {
                connected::set_settings(&mut batch, &row.id, &with_busy(&row.settings, calendars));
            }
        }
        match self.store.write(batch).await {
            Ok(_) => {
                self.conversations.services().accounts.changed();
                Ok(None)
            }
            Err(StoreError::Stale(Stale::LabelTaken)) => Ok(Some(words::name_taken())),
            Err(StoreError::Stale(_)) => Ok(Some(words::gone())),
            Err(error) => Err(error),
        }
    }
}

impl ViewerContext<'_> {
    pub(super) fn account(&self, row: AccountRow) -> AccountLine {
        let is_own = row.person_id.as_ref() == Some(&self.viewer);
        let has = |service| row.services.contains(&service);
        let is_by_password = row.provider == ProviderKind::Password;
        let help = if is_by_password { app_password_page(&row.address) } else { None };
        // A request of somebody else isn't the viewer's to see.
        let turn = row.used_by.as_ref().filter(|_| is_own).map(ToString::to_string);
        AccountLine {
            key: row.id.to_string(),
            about: words::about(provider_name(row.provider), services_in_words(&row.services)),
            needs_login: row.state == AccountState::NeedsLogin,
            help,
            is_own,
            is_mail_default: has(AccountService::Mail).then_some(row.is_mail_default),
            is_events_default: has(AccountService::Calendar).then_some(row.is_events_default),
            busy: busy(&row.settings),
            used: row.used_at.map(|at| (self.moment(at), turn)),
            label: row.label,
            address: row.address,
        }
    }
}

/// The calendars that count as busy, as they are typed.
fn busy(settings: &str) -> String {
    AccountSettings::read(settings).busy_calendars.unwrap_or_default().join(", ")
}

/// The settings with these calendars; without any, all count.
fn with_busy(settings: &str, calendars: Vec<String>) -> String {
    let busy_calendars = (!calendars.is_empty()).then_some(calendars);
    AccountSettings { busy_calendars, ..AccountSettings::read(settings) }.to_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_calendars_stand_beside_the_other_settings() {
        let before = r#"{"caldav":"https://dav.example"}"#;
        let settings = with_busy(before, vec!["Work".to_owned(), "Team".to_owned()]);
        assert_eq!(busy(&settings), "Work, Team");
        assert!(settings.contains("https://dav.example"), "{settings}");
        assert_eq!(with_busy(&settings, Vec::new()), before);
    }
}
