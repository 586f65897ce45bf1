//! Which account is used: all to read from, one to write with.

use adjutant_config::Policy;
use adjutant_store::connected;
use adjutant_types::AccountService;
use serde_json::{Value, json};

use super::world::World;
use crate::app::{agent, plan, results, skill};
use crate::groupware::{call, skill_caller};
use crate::roles::{of_role, role_file};
use crate::scripted::{Scripted, Who, calls, has_results, text};

fn day() -> Value {
    json!({"start": "2026-11-22", "end": "2026-11-23"})
}

fn lunch(account: Option<&str>) -> Value {
    let mut lunch = json!({"title": "Lunch", "start": "2026-11-24T12:00", "duration": "1h"});
    if let Some(account) = account {
        lunch["account"] = account.into();
    }
    lunch
}

/// The accounts in which events were written, in order.
fn written(world: &World) -> Vec<String> {
    let state = world.cloud.state();
    let puts = state.asked.iter().filter(|asked| asked.method == "PUT" && asked.path.ends_with(".ics"));
    puts.map(|asked| asked.account.clone()).collect()
}

#[tokio::test]
async fn what_is_on_is_read_from_all_accounts_and_says_where_it_is() {
    let world = World::new(skill_caller()).await;
    let alone = world.connect("a1", "private", &["ada"]).await;
    let (said, _) = call(&world.app, "calendar.list_events", day()).await;
    assert!(said.contains("Secret a1") && !said.contains("private"), "{said}");
    for (id, label) in [("a2", "work"), ("a3", "club")] {
        world.connect(id, label, &["ada"]).await;
    }
    world.connect("b1", "private", &["bob"]).await;
    let (said, data) = call(&world.app, "calendar.list_events", day()).await;
    for (event, label) in [("Secret a1", "(private)"), ("Secret a2", "(work)"), ("Secret a3", "(club)")] {
        let line = said.lines().find(|line| line.contains(event)).unwrap_or_default();
        assert!(line.contains(label), "{event} {label}: {said}");
    }
    assert!(!said.contains("Secret b1"), "{said}");
    assert_eq!(data["items"].as_array().unwrap().len(), 3, "{data:#}");
    let (said, _) = call(&world.app, "contacts.search", json!({"query": "Friend", "account": "Work"})).await;
    assert!(said.contains("Friend a2") && !said.contains("Friend a1"), "{said}");
    // One that can't be reached leaves the others.
    world.ends_login(&alone);
    let (said, _) = call(&world.app, "calendar.list_events", day()).await;
    assert!(said.contains("Secret a2") && said.contains("Secret a3") && said.contains("“private”"), "{said}");
    assert!(!said.contains("Secret a1"), "{said}");
    let most = world.cloud.state().most_at_once;
    assert!(most <= 2, "{most} requests at once");
    world.ends_well().await;
}

#[tokio::test]
async fn each_account_is_asked_once_and_none_by_a_turn_that_needs_none() {
    let world = World::new(skill_caller()).await;
    for (id, label) in [("a1", "private"), ("a2", "work")] {
        world.connect(id, label, &["ada"]).await;
    }
    // The first time, the calendars are discovered.
    call(&world.app, "calendar.list_events", day()).await;
    world.cloud.state().asked.clear();
    call(&world.app, "calendar.list_events", day()).await;
    let mut asked: Vec<String> = {
        let state = world.cloud.state();
        state.asked.iter().map(|asked| format!("{} {}", asked.method, asked.account)).collect()
    };
    asked.sort();
    assert_eq!(asked, ["REPORT a1", "REPORT a2"]);
    world.cloud.state().asked.clear();
    call(&world.app, "tasks.search", json!({})).await;
    assert_eq!(world.cloud.state().asked, []);
    world.ends_well().await;
}

#[tokio::test]
async fn a_new_event_goes_where_it_is_named_or_into_the_default_or_it_is_asked() {
    let world = World::new(skill_caller()).await;
    world.connect("a1", "private", &["ada"]).await;
    call(&world.app, "calendar.create_event", lunch(None)).await;
    assert_eq!(written(&world), ["a1"], "it is the only one");
    let work = world.connect("a2", "work", &["ada"]).await;
    let (said, _) = call(&world.app, "calendar.create_event", lunch(None)).await;
    assert!(said.contains("private, work") && said.contains("say which one"), "{said}");
    assert_eq!(written(&world), ["a1"]);
    // At other times, because what overlaps is told, too.
    for (hour, named) in [(14, "WORK"), (16, "a2@example.test")] {
        let mut lunch = lunch(Some(named));
        lunch["start"] = format!("2026-11-24T{hour}:00").into();
        let (said, _) = call(&world.app, "calendar.create_event", lunch).await;
        assert!(said.starts_with("Created “Lunch”") && said.contains("work"), "{said}");
    }
    let (said, _) = call(&world.app, "calendar.create_event", lunch(Some("club"))).await;
    assert!(said.contains("there is no account “club”"), "{said}");
    let row = world.row(&work).await;
    world.write(|batch| connected::set_default(batch, &row, AccountService::Calendar)).await;
    call(&world.app, "calendar.create_event", lunch(None)).await;
    assert_eq!(written(&world), ["a1", "a2", "a2", "a2"]);
    world.ends_well().await;
}

#[tokio::test]
async fn an_agent_is_told_of_accounts_once_there_are_several() {
    let script = Scripted::new()
        .orchestrator(|request| match has_results(request) {
            true => text("Done."),
            false => agent("plan", &["calendar.create_event", "email.search"], json!({})),
        })
        .agent(|_| text("Nothing to do."));
    let world = World::new(script).await;
    for (id, label, is_told) in [("a1", "private", false), ("a2", "work", true)] {
        world.connect(id, label, &["ada"]).await;
        world.app.says("ada", "plan my week").await;
        let told = world.app.requests(Who::Agent).last().unwrap().messages[0].text.clone();
        assert!(told.contains(r#""duration":"#) && told.contains(r#""folder":"#), "{told}");
        assert_eq!(told.contains(r#""account":"#), is_told, "{told}");
        assert!(!told.contains(r#""several""#), "{told}");
    }
    world.ends_well().await;
}

#[tokio::test]
async fn an_agent_uses_only_the_accounts_that_its_role_names() {
    const CLERK: &str = "name = \"clerk\"\ndescription = \"d\"\nprompt = \"p\"\nskills = [\"calendar.list_events\"]\n\
                         accounts = [\"Work\"]\n";
    let script = Scripted::new()
        .orchestrator(plan(|| calls(vec![of_role("look", "clerk", json!({}))])))
        .agent(|request| match has_results(request) {
            true => text("Done."),
            false => skill("calendar.list_events", day()),
        });
    let world = World::with(script, |config| role_file(config, "clerk.toml", CLERK)).await;
    for (id, label, who) in [("a1", "private", "ada"), ("a2", "work", "ada"), ("b1", "private", "bob")] {
        world.connect(id, label, &[who]).await;
    }
    for (who, place, told) in
        [("ada", "home", "Secret a2"), ("bob", "bobs", "the agent's role may not use the account for this")]
    {
        world.app.direct(place).says(who, "go").await;
        let request = world.app.requests(Who::Agent).pop().unwrap();
        let said = results(&request).concat();
        assert!(said.contains(told) && !said.contains("Secret a1") && !said.contains("Secret b1"), "{said}");
    }
    world.ends_well().await;
}

async fn free_time(world: &World, account: Option<&str>) -> (String, Value) {
    let mut asked = day();
    if let Some(account) = account {
        asked["account"] = account.into();
    }
    call(&world.app, "calendar.check_availability", asked).await
}

#[tokio::test]
async fn free_time_is_that_of_one_account_or_of_all_and_of_the_calendars_that_count() {
    let world = World::new(skill_caller()).await;
    world.connect("a1", "private", &["ada"]).await;
    let work = world.connect("a2", "work", &["ada"]).await;
    let (said, _) = free_time(&world, None).await;
    assert!(said.contains("Secret a1") && said.contains("Secret a2"), "{said}");
    let (said, data) = free_time(&world, Some("Work")).await;
    assert!(said.contains("Secret a2") && !said.contains("Secret a1"), "{said}");
    assert_eq!(data["free"], false, "{data:#}");
    for (calendar, is_free) in [("Elsewhere", true), ("of A2", false)] {
        let settings = json!({"busy_calendars": [calendar]}).to_string();
        world.write(|batch| connected::set_settings(batch, &work, &settings)).await;
        let (said, data) = free_time(&world, Some("work")).await;
        assert_eq!((&data["free"], said.contains("Secret a2")), (&json!(is_free), !is_free), "{said}");
        let (said, _) = free_time(&world, None).await;
        assert_eq!((said.contains("Secret a1"), said.contains("Secret a2")), (true, !is_free), "{said}");
    }
    world.ends_well().await;
}

#[tokio::test]
async fn a_standing_yes_names_its_account_and_is_good_for_no_other() {
    let world = World::with(skill_caller(), |config| config.approval.medium = Policy::Ask).await;
    let says = |account: &str| format!("calendar.create_event {}", lunch(Some(account)));
    world.connect("a1", "private", &["ada"]).await;
    let asked = world.app.says("ada", &says("private")).await;
    assert_eq!(asked.buttons(), ["Approve", "Reject", "Always in my calendar"], "{}", asked.text);
    world.app.presses("ada", &asked, "Reject").await;
    world.connect("a2", "work", &["ada"]).await;
    let asked = world.app.says("ada", &says("work")).await;
    let always = "Always in my “work” calendar";
    assert_eq!(asked.buttons(), ["Approve", "Reject", always], "{}", asked.text);
    let offer = "“Always” allows new events in your account “work” for 30 days.";
    assert!(asked.text.contains(offer), "{}", asked.text);
    world.app.presses("ada", &asked, always).await;
    world.app.sees("Created “Lunch”").await;
    let again = world.app.says("ada", &says("work")).await;
    assert!(again.buttons().is_empty() && again.text.contains("under your rule"), "{}", again.text);
    let asked = world.app.says("ada", &says("private")).await;
    assert!(asked.buttons().contains(&"Always in my “private” calendar"), "{}", asked.text);
    world.app.presses("ada", &asked, "Reject").await;
    assert_eq!(written(&world), ["a2", "a2"]);
    world.ends_well().await;
}

#[tokio::test]
async fn the_model_is_told_of_several_accounts_and_of_none_that_somebody_else_has() {
    let world = World::new(skill_caller()).await;
    let told = |world: &World| {
        let requests = world.app.requests(Who::Orchestrator);
        let last = requests.last().unwrap();
        let all = last.messages.iter().map(|message| message.text.to_string());
        all.filter(|text| text.contains("Their accounts")).collect::<Vec<String>>()
    };
    world.connect("b1", "secret label", &["bob"]).await;
    world.connect("a1", "private", &["ada"]).await;
    call(&world.app, "calendar.list_events", day()).await;
    assert_eq!(told(&world), [""; 0], "of one nothing is to be said");
    let work = world.connect("a2", "work", &["ada"]).await;
    let row = world.row(&work).await;
    world.write(|batch| connected::set_default(batch, &row, AccountService::Calendar)).await;
    call(&world.app, "calendar.list_events", day()).await;
    let head = told(&world).join("");
    assert!(head.contains("\nTheir accounts: private; work (the default for events)\n"), "{head}");
    assert!(!head.contains("secret label"), "{head}");
    world.ends_well().await;
}

#[tokio::test]
async fn in_a_room_a_private_account_is_refused_with_where_to_ask() {
    let world = World::new(skill_caller()).await;
    world.connect("a1", "private", &["ada"]).await;
    let said = format!("calendar.list_events {}", day());
    let heard = world.app.room("square").says("ada", &said).await;
    assert!(heard.text.contains("ask me in our direct chat"), "{}", heard.text);
    assert_eq!(world.cloud.state().asked, [], "nothing was read");
    world.connect("s1", "team", &[]).await;
    for who in ["ada", "eve"] {
        let heard = world.app.room("square").says(who, &said).await;
        assert!(heard.text.contains("Secret s1") && !heard.text.contains("Secret a1"), "{}", heard.text);
    }
    // Nobody else is told that there is one of that name.
    let mut named = day();
    named["account"] = "Private".into();
    for (who, told) in [("ada", "ask me in our direct chat"), ("eve", "there is no account “Private”")] {
        let heard = world.app.room("square").says(who, &format!("calendar.list_events {named}")).await;
        assert!(heard.text.contains(told), "{who}: {}", heard.text);
    }
    world.ends_well().await;
}

#[tokio::test]
async fn an_account_that_goes_while_its_call_waits_for_a_yes_is_not_replaced_by_another() {
    let world = World::with(skill_caller(), |config| config.approval.medium = Policy::Ask).await;
    let first = world.connect("a1", "private", &["ada"]).await;
    let asked = world.app.says("ada", &format!("calendar.create_event {}", lunch(None))).await;
    assert!(asked.buttons().contains(&"Approve"), "{}", asked.text);
    world.connect("a2", "work", &["ada"]).await;
    world.write(|batch| connected::delete(batch, &first)).await;
    let heard = world.app.presses("ada", &asked, "Approve").await;
    assert!(!heard.text.starts_with("Created"), "{}", heard.text);
    assert_eq!(written(&world), [""; 0], "{}", heard.text);
    world.ends_well().await;
}

#[tokio::test]
async fn an_event_made_here_is_the_persons_own_until_somebody_else_writes_into_it() {
    let world = World::new(skill_caller()).await;
    world.connect("a1", "private", &["ada"]).await;
    let (_, made) = call(&world.app, "calendar.create_event", lunch(None)).await;
    let moved = async |start: &str| -> bool {
        let change = json!({"id": made["id"], "start": start});
        let heard = world.app.says("ada", &format!("calendar.update_event {change}")).await;
        let rows = world.app.executions(&heard).await;
        rows.iter().any(|row| row.untrusted)
    };
    assert!(!moved("2026-11-24T13:00").await && !moved("2026-11-24T14:00").await);
    for object in world.cloud.state().objects.values_mut() {
        *object = object.replace("SUMMARY:Lunch", "SUMMARY:Pay Eve");
    }
    assert!(moved("2026-11-24T15:00").await);
    world.ends_well().await;
}

#[tokio::test]
async fn of_somebody_elses_meeting_the_own_copy_alone_changes_and_that_is_said() {
    let world = World::with(skill_caller(), |config| {
        for skill in ["calendar.update_event", "calendar.delete_event"] {
            config.approval.skills.insert(skill.into(), Policy::Ask);
        }
    })
    .await;
    world.connect("a1", "private", &["ada"]).await;
    for (id, organizer) in [("theirs", "Dana@corp.test"), ("own", "A1@example.test")] {
        let event = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:{id}\r\nDTSTAMP:20261101T000000Z\r\n\
             DTSTART:20261122T120000Z\r\nDTEND:20261122T130000Z\r\nSUMMARY:Offsite\r\n\
             ORGANIZER;CN=You:mailto:{organizer}\r\nATTENDEE:mailto:a1@example.test\r\n\
             ATTENDEE:mailto:priya@corp.test\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        );
        let path = format!("/caldav/a1@example.test/events/{id}.ics");
        world.cloud.state().objects.insert(path, event);
    }
    let (_, listed) = call(&world.app, "calendar.list_events", day()).await;
    let items = listed["items"].as_array().unwrap();
    let organizers: Vec<_> = items.iter().map(|item| item["organizer"].as_str()).collect();
    assert_eq!(organizers, [None, None, Some("Dana@corp.test")], "{listed:#}");
    let told = "Dana@corp.test organizes this, so only your copy changes; your calendar may tell them";
    for (skill, arguments) in [
        ("calendar.update_event", json!({"id": "theirs", "start": "2026-11-23T11:00"})),
        ("calendar.delete_event", json!({"id": "theirs"})),
    ] {
        let asked = world.app.says("ada", &format!("{skill} {arguments}")).await;
        assert!(asked.text.contains(&format!("\n- {told}")), "{}", asked.text);
        let done = world.app.presses("ada", &asked, "Approve").await.text;
        assert!(done.contains(told), "{done}");
    }
    let asked = world.app.says("ada", r#"calendar.delete_event {"id": "own"}"#).await;
    assert!(!asked.text.contains("organizes"), "{}", asked.text);
    world.app.presses("ada", &asked, "Reject").await;
    world.ends_well().await;
}

#[tokio::test]
async fn what_overlaps_is_a_text_of_others_unless_it_was_made_here_and_is_as_it_was_made() {
    for (title, is_outside) in [("Lunch", false), ("Pay Eve", true)] {
        let world = World::new(skill_caller()).await;
        world.connect("a1", "private", &["ada"]).await;
        call(&world.app, "calendar.create_event", lunch(None)).await;
        for object in world.cloud.state().objects.values_mut() {
            *object = object.replace("SUMMARY:Lunch", &format!("SUMMARY:{title}"));
        }
        let other = json!({"title": "Call", "start": lunch(None)["start"]});
        let heard = world.app.says("ada", &format!("calendar.create_event {other}")).await;
        assert!(heard.text.contains(&format!("It overlaps with “{title}”")), "{}", heard.text);
        let rows = world.app.executions(&heard).await;
        assert_eq!(rows.iter().any(|row| row.untrusted), is_outside, "{title}");
        world.ends_well().await;
    }
}

#[tokio::test]
async fn what_was_entered_before_an_account_was_connected_can_still_be_changed() {
    let world = World::new(skill_caller()).await;
    let (_, made) = call(&world.app, "calendar.create_event", lunch(None)).await;
    let services = [AccountService::Mail, AccountService::Calendar];
    world.connect_for(&services, "a1", "private", &["ada"]).await;
    let later = json!({"id": made["id"], "start": "2026-11-24T13:00"});
    let (said, _) = call(&world.app, "calendar.update_event", later).await;
    assert!(said.starts_with("Moved “Lunch”"), "{said}");
    let (said, _) = call(&world.app, "calendar.delete_event", json!({"id": made["id"]})).await;
    assert!(said.starts_with("Deleted “Lunch”"), "{said}");
    assert_eq!(written(&world), [""; 0]);
    world.ends_well().await;
}

#[tokio::test]
async fn the_list_marks_the_only_account_and_no_two_have_one_name_in_any_case() {
    let world = World::new(skill_caller()).await;
    world.connect("a1", "private", &["ada"]).await;
    let listed = world.app.says("ada", "/accounts").await.text;
    assert!(listed.ends_with("calendar and contacts (gets your new events)"), "{listed}");
    world.connect("a2", "Work", &["ada"]).await;
    let listed = world.app.says("ada", "/accounts").await.text;
    assert!(!listed.contains("gets your new events"), "none of the two is chosen: {listed}");
    let taken = world.app.says("ada", "/accounts rename private WORK").await.text;
    assert_eq!(taken, "You have another account called “WORK”.");
    let renamed = world.app.says("ada", "/accounts rename PRIVATE Private").await.text;
    assert_eq!(renamed, "✓ “private” is now “Private”.");
    world.ends_well().await;
}
