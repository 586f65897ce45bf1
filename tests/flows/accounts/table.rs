//! One conversation over all kinds of accounts: what is said is the same.

use adjutant_fakes::graph::Reply;
use serde_json::{Value, json};

use super::providers::{Office, Provider};
use crate::app::TestApp;
use crate::groupware::split;

const ALL: [Provider; 4] =
    [Provider::Configuration, Provider::Password, Provider::Google, Provider::Microsoft];

/// What a call says, and its data; it is approved if that is asked for.
pub(super) async fn says(app: &TestApp, skill: &str, arguments: Value) -> (String, Value) {
    let mut heard = app.says("ada", &format!("{skill} {arguments}")).await;
    while heard.buttons().contains(&"Approve") {
        heard = app.presses("ada", &heard, "Approve").await;
    }
    split(app, &heard).await
}

/// What these calls say, one after the other.
async fn all_say(app: &TestApp, calls: impl IntoIterator<Item = (&'static str, Value)>) -> Vec<String> {
    let mut said = Vec::new();
    for (skill, arguments) in calls {
        said.push(says(app, skill, arguments).await.0);
    }
    said
}

/// The event or contact that was just made isn't in our own store.
async fn is_at_its_provider(app: &TestApp) {
    assert_eq!(app.store().count("SELECT count(*) FROM objects", &[]).await.unwrap(), 0);
}

/// The same was said of each kind of account.
pub(super) fn alike(all: &[(Provider, Vec<String>)]) -> &[String] {
    let (_, first) = &all[0];
    for (provider, said) in all {
        assert_eq!(said, first, "{provider:?} and {:?}", all[0].0);
    }
    first
}

async fn about_events(app: &TestApp) -> Vec<String> {
    let day = || json!({"start": "2026-11-24", "end": "2026-11-25"});
    let review = json!({"title": "Review", "start": "2026-11-24T10:00", "location": "Room 1"});
    let (created, made) = says(app, "calendar.create_event", review).await;
    is_at_its_provider(app).await;
    let id = &made["id"];
    let at_two = || json!({"id": id, "start": "2026-11-24T14:00"});
    let clash = json!({"title": "Call", "start": "2026-11-24T10:30", "duration": "30m"});
    let calls = [
        ("calendar.list_events", day()),
        ("calendar.create_event", clash),
        ("assistant.undo", json!({})),
        ("calendar.update_event", at_two()),
        ("assistant.undo", json!({})),
        ("calendar.list_events", day()),
        ("calendar.update_event", at_two()),
        ("calendar.check_availability", json!({"start": "2026-11-24T13:00", "end": "2026-11-24T15:30"})),
        ("calendar.search", json!({"query": "Review"})),
        ("calendar.delete_event", json!({"id": id})),
        ("assistant.undo", json!({})),
        ("calendar.search", json!({"query": "Review"})),
        ("calendar.delete_event", json!({"id": id})),
        ("calendar.list_events", day()),
    ];
    [vec![created], all_say(app, calls).await].concat()
}

async fn about_people(app: &TestApp) -> Vec<String> {
    let king = json!({"name": "Ada King", "emails": ["king@example.test"], "organization": "Analytical"});
    let (added, made) = says(app, "contacts.create", king).await;
    is_at_its_provider(app).await;
    let id = &made["id"];
    let calls = [
        ("contacts.search", json!({"query": "king"})),
        ("contacts.update", json!({"id": id, "phones": ["+44 20"], "notes": "Likes trains"})),
        ("contacts.get", json!({"id": id})),
        ("assistant.undo", json!({})),
        ("contacts.get", json!({"id": id})),
        ("contacts.create", json!({"name": "Bob Brown", "emails": ["bob@example.test"]})),
        ("contacts.search", json!({})),
        ("assistant.undo", json!({})),
        ("contacts.search", json!({"query": "bob"})),
        ("contacts.organizations", json!({})),
    ];
    [vec![added], all_say(app, calls).await].concat()
}

#[tokio::test]
async fn a_calendar_behaves_the_same_wherever_it_is() {
    let mut all = Vec::new();
    for provider in ALL {
        let Some(office) = Office::with_calendar(provider).await else { continue };
        all.push((provider, about_events(&office.world.app).await));
        office.ends_well().await;
    }
    let said = alike(&all);
    let was = "Tue 24 Nov 2026, 10:00–11:00";
    for (at, words) in [
        (0, format!("Created “Review”, {was}")),
        (2, format!("It overlaps with “Review” ({was})")),
        (3, "Undone: Created “Call”".to_owned()),
        (4, format!("Moved “Review” to Tue 24 Nov 2026, 14:00–15:00 (was {was})")),
        (5, "Undone: Moved “Review”".to_owned()),
        (6, format!("{was}: Review (Room 1)")),
        (8, "14:00–15:00: Review".to_owned()),
        (10, "Deleted “Review”".to_owned()),
        (11, "Undone: Deleted “Review”".to_owned()),
        (12, "14:00–15:00: Review".to_owned()),
        (14, "Nothing in your calendar".to_owned()),
    ] {
        assert!(said[at].contains(&words), "{at}: {words}: {said:#?}");
    }
}

#[tokio::test]
async fn what_guests_are_told_of_is_undone_after_a_question() {
    let office = Office::with_calendar(Provider::Microsoft).await.unwrap();
    let app = &office.world.app;
    let lunch = json!({"title": "Lunch", "start": "2026-11-24T12:00", "attendees": ["bob@example.test"]});
    let (_, made) = says(app, "calendar.create_event", lunch).await;
    says(app, "calendar.update_event", json!({"id": made["id"], "start": "2026-11-24T13:00"})).await;
    let day = json!({"start": "2026-11-24", "end": "2026-11-25"});
    for (undone, left) in
        [("Moved “Lunch” to", "12:00–13:00: Lunch"), ("Created “Lunch”", "Nothing in your calendar")]
    {
        let asked = app.says("ada", "assistant.undo {}").await;
        assert!(asked.text.contains(&format!("Undo: {undone}")), "{}", asked.text);
        assert!(asked.text.contains("The calendar server tells the guests"), "{}", asked.text);
        let heard = app.presses("ada", &asked, "Approve").await.text;
        assert!(heard.contains(&format!("Undone: {undone}")), "{heard}");
        assert!(heard.contains("The calendar server tells the guests"), "{heard}");
        let (listed, _) = says(app, "calendar.list_events", day.clone()).await;
        assert!(listed.contains(left), "{listed}");
    }
    office.ends_well().await;
}

#[tokio::test]
async fn an_event_that_its_server_could_not_put_back_comes_back_later() {
    let office = Office::with_calendar(Provider::Microsoft).await.unwrap();
    let (app, graph) = (&office.world.app, office.graph.as_ref().unwrap());
    let review = json!({"title": "Review", "start": "2026-11-24T10:00"});
    let (_, made) = says(app, "calendar.create_event", review).await;
    says(app, "calendar.update_event", json!({"id": made["id"], "start": "2026-11-24T14:00"})).await;
    for status in [500, 507] {
        graph.state().always.push(("PATCH /me/events", Reply::Refused(status, "UnknownError", None)));
        let (said, _) = says(app, "assistant.undo", json!({})).await;
        assert!(said.starts_with("tool: "), "{said}");
        graph.state().always.clear();
    }
    for undone in ["Undone: Moved “Review”", "Undone: Created “Review”"] {
        let (said, _) = says(app, "assistant.undo", json!({})).await;
        assert!(said.contains(undone), "{said}");
    }
    office.ends_well().await;
}

#[tokio::test]
async fn contacts_behave_the_same_wherever_they_are() {
    let mut all = Vec::new();
    for provider in ALL {
        let Some(office) = Office::with_calendar(provider).await else { continue };
        all.push((provider, about_people(&office.world.app).await));
        office.ends_well().await;
    }
    let said = alike(&all);
    let king = "Ada King (king@example.test, Analytical)";
    for (at, words) in [
        (0, "Added the contact Ada King (king@example.test, Analytical)"),
        (1, king),
        (2, "Changed the contact Ada King (king@example.test, +44 20, Analytical)"),
        (3, "Likes trains"),
        (4, "Undone: Changed the contact Ada King"),
        (5, king),
        (7, "Bob Brown (bob@example.test)"),
        (8, "Undone: Added the contact Bob Brown"),
        (9, "I found no such contact"),
        (10, "Analytical (1)"),
    ] {
        assert!(said[at].contains(words), "{at}: {words}: {said:#?}");
    }
}
