//! A person's connected accounts on the page.

use adjutant_store::connected::{self, AccountRow};
use adjutant_store::{Batch, people, secrets};
use adjutant_types::{AccountService, AccountState, ProviderKind};

use crate::client::Site;

/// Gives somebody an account with mail and a calendar.
pub(crate) fn connect(site: &Site, user: i64, id: &str, label: &str, state: AccountState) {
    let (id, label, user) = (id.to_owned(), label.to_owned(), user.to_string());
    site.home.ask(async |store| {
        let person = people::person_of(store, "telegram", &user).await.unwrap().unwrap();
        let address = format!("{label}@example.test");
        let row = AccountRow {
            person_id: Some(person.id),
            label,
            services: vec![AccountService::Mail, AccountService::Calendar],
            state,
            created_at: store.now(),
            ..AccountRow::new(id.as_str().into(), ProviderKind::Google, &address)
        };
        let mut batch = Batch::new();
        connected::insert(&mut batch, &row);
        secrets::put(&mut batch, &secrets::name_of(&row.id), "sealed");
        store.write(batch).await.unwrap();
    });
}

#[test]
fn an_account_is_seen_and_changed_by_its_person_alone() {
    let site = Site::start("");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    assert!(browser.get("/accounts").body.contains("You haven't connected an account yet."));
    connect(&site, ada, "a1", "private", AccountState::Ready);
    let page = browser.get("/accounts").body;
    for part in ["Emails are sent from here.", "New events go here."] {
        assert!(page.contains(part), "it is the only one, {part}: {page}");
    }
    connect(&site, ada, "a2", "work", AccountState::NeedsLogin);
    let page = browser.get("/accounts").body;
    for part in ["private@example.test", "Google: email and calendar", "Needs a new login", "Not used yet"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Emails are sent from here."), "none of the two is chosen: {page}");
    let theirs = other.get("/accounts").body;
    assert!(!theirs.contains("example.test") && theirs.contains("You haven't connected"), "{theirs}");

    let rename = |text: &'static str| [("key", "a1"), ("change", "rename"), ("text", text)];
    assert_eq!(other.submit("/accounts", &rename("mine")).status, 409, "it isn't hers");
    let taken = browser.submit("/accounts", &rename(" Work "));
    assert!(taken.status == 409 && taken.body.contains("already have an account with that"), "{taken:?}");
    assert_eq!(browser.submit("/accounts", &rename(" ")).status, 409);
    assert_eq!(browser.submit("/accounts", &rename("at home")).status, 303);
    for change in ["mail", "events"] {
        assert_eq!(browser.submit("/accounts", &[("key", "a1"), ("change", change)]).status, 303);
    }
    let busy = [("key", "a1"), ("change", "busy"), ("text", "Personal, , Team")];
    assert_eq!(browser.submit("/accounts", &busy).status, 303);
    assert_eq!(browser.submit("/accounts", &[("key", "a1"), ("change", "owner")]).status, 404);
    let page = browser.get("/accounts").body;
    for part in ["at home", "Emails are sent from here.", "New events go here.", "value=\"Personal, Team\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches("Emails are sent from here.").count(), 1, "the other one isn't the default");
    site.stop();
}

#[test]
fn a_password_that_is_good_no_more_comes_with_the_providers_help() {
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    connect(&site, ada, "a1", "private", AccountState::NeedsLogin);
    site.home.ask(async |store| {
        let mut batch = Batch::new();
        let sql = "UPDATE connected_accounts SET provider = 'password', address = 'ada@icloud.com'";
        batch.run(sql, []);
        store.write(batch).await.unwrap();
    });
    let page = browser.get("/accounts").body;
    assert!(page.contains("href=\"https://support.apple.com/102654\""), "{page}");
    site.stop();
}
