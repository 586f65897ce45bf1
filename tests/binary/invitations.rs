//! Notifying attendees, with real mail on a real server: changes and cancellations.

use adjutant_fakes::mail_server::{self, Server};
use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_store::Batch;
use serde_json::{Value, json};

use crate::groupware::{arrived, mail};
use crate::process::Home;
use crate::restart::{Program, once_each};

/// A model that obeys: `SKILL ARGUMENTS` calls that skill, and the answer is its result.
pub(crate) fn obedient() -> FakeModel {
    FakeModel::start(|request| {
        let said = last_message(request);
        let said: Value = serde_json::from_str(&said).unwrap_or(Value::String(said));
        let said = said["content"].as_str().or(said.as_str()).unwrap_or_default();
        match said.split_once(" {") {
            Some((skill, arguments)) if skill.starts_with("calendar.") || skill.starts_with("email.") => {
                let arguments: Value = serde_json::from_str(&format!("{{{arguments}")).unwrap();
                let dispatch =
                    json!({"agent_id": "a", "mission": "do it", "skills": [skill], "arguments": arguments});
                Reply::call("dispatch_agent", &dispatch)
            }
            _ => {
                let report: Value = serde_json::from_str(said).unwrap_or_default();
                let told = report["error"]["message"].as_str().or(report["result"].as_str()).unwrap_or(said);
                Reply::text(told.split("[id ").next().unwrap_or_default().trim_end())
            }
        }
    })
}

/// A reply without the receipts below it.
pub(crate) fn said(reply: &Value) -> String {
    let text = reply["text"].as_str().unwrap();
    text.split("\n\n✓ ").next().unwrap_or_default().to_owned()
}

pub(crate) fn home(server: &Server, model: &FakeModel) -> Home {
    let account = mail(server, "internal_domains = [\"example.test\"]\nself_copy = true");
    Home::with_config(&format!(
        "[assistant]\ntimezone = \"Europe/Berlin\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n{account}",
        model.base_url()
    ))
}

/// The lines that matter of the calendar parts of someone's mails with this subject, per mail.
fn received(server: &Server, who: &str, subject: &str, count: usize) -> Vec<String> {
    let wanted = ["METHOD:", "DTSTART;TZID", "RRULE:FREQ=W", "RECURRENCE-ID", "STATUS:CANCELLED"];
    let lines = |text: String| {
        let lines = text.lines().map(str::trim).filter(|line| wanted.iter().any(|it| line.starts_with(it)));
        lines.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    let mut found: Vec<String> = arrived(server, (who, ""), subject, count).into_iter().map(lines).collect();
    found.sort();
    found
}

fn id(home: &Home) -> String {
    home.ask(async |store| {
        let rows: Vec<(String,)> = store.all("SELECT id FROM objects", &[]).await.unwrap();
        rows[0].0.clone()
    })
}

fn create(home: &Home, title: &str) -> String {
    let mut chat = home.chat();
    let event = json!({"title": title, "start": "2030-03-04T15:00", "timezone": "Europe/Berlin",
        "attendees": ["bob@example.test"], "recurrence": "FREQ=WEEKLY"});
    let made = chat.say("m1", &format!("calendar.create_event {event}"));
    let text = said(&made);
    assert!(text.ends_with(", repeating every week\nInvited bob@example.test by email"), "{text}");
    chat.finish_well();
    id(home)
}

#[test]
fn what_is_called_off_is_told_once() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for point in ["mail-sent", "mail-accepted", "skill-worked"] {
        let (model, title) = (obedient(), format!("Off {point}"));
        let home = home(server, &model);
        let id = create(&home, &title);
        let mut program = Program::start(&home, point);
        let one = json!({"id": id, "instance": "2030-03-11T15:00", "span": "one"});
        let done = said(&program.say("m2", &format!("calendar.delete_event {one}")));
        let told = "Told bob@example.test by email that it's canceled";
        assert_eq!(done, format!("Deleted “{title}” on Mon 11 Mar 2030, 15:00\n{told}"), "{point}");
        insta::allow_duplicates! {
            insta::assert_debug_snapshot!(received(server, "bob", &format!("Canceled: {title}"), 1), @r#"
[
    "METHOD:CANCEL DTSTART;TZID=Europe/Berlin:20300311T150000 RECURRENCE-ID;TZID=Europe/Berlin:20300311T150000 STATUS:CANCELLED",
]
"#);
        }
        let undone = said(&program.say("m3", "/undo"));
        assert!(undone.ends_with("\nTold bob@example.test by email what changed"), "{point}: {undone}");
        assert_eq!(program.finish(), (once_each(&["m2", "m3"]), true), "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn a_deletion_that_a_crash_interrupts_is_told_once_and_can_be_undone() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for point in ["mail-sent", "skill-worked"] {
        let (model, title) = (obedient(), format!("Gone {point}"));
        let home = home(server, &model);
        let mut chat = home.chat();
        let event = json!({"title": title, "start": "2030-03-04T15:00", "attendees": ["bob@example.test"]});
        chat.say("m1", &format!("calendar.create_event {event}"));
        chat.finish_well();
        let mut program = Program::start(&home, point);
        let done = said(&program.say("m2", &format!("calendar.delete_event {}", json!({"id": id(&home)}))));
        let told = "Told bob@example.test by email that it's canceled";
        assert_eq!(done, format!("Deleted “{title}” on Mon 4 Mar 2030, 15:00\n{told}"), "{point}");
        assert_eq!(arrived(server, ("bob", ""), &format!("Canceled: {title}"), 1).len(), 1, "{point}");
        let undone = said(&program.say("m3", "/undo"));
        assert!(undone.ends_with("\nInvited bob@example.test by email"), "{point}: {undone}");
        assert_eq!(arrived(server, ("bob", ""), &format!("Invitation: {title}"), 2).len(), 2, "{point}");
        assert_eq!(home.count("SELECT count(*) FROM objects"), 1, "{point}");
        assert_eq!(program.finish(), (once_each(&["m2", "m3"]), true), "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn the_rest_of_a_series_that_is_cut_is_an_invitation_of_its_own() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for point in ["mail-sent", "mail-accepted", "skill-worked"] {
        let (model, title) = (obedient(), format!("Cut {point}"));
        let home = home(server, &model);
        let id = create(&home, &title);
        let mut program = Program::start(&home, point);
        let change = json!({"id": id, "instance": "2030-03-18T15:00", "span": "following", "start": "2030-03-18T16:00",
            "timezone": "Europe/Berlin"});
        let done = said(&program.say("m2", &format!("calendar.update_event {change}")));
        let told = "Told bob@example.test by email what changed\nInvited bob@example.test by email";
        let moved = "to Mon 18 Mar 2030, 16:00–17:00 (was Mon 18 Mar 2030, 15:00–16:00)";
        assert_eq!(done, format!("Moved “{title}” {moved}\n{told}"), "{point}");
        insta::allow_duplicates! {
            insta::assert_debug_snapshot!(received(server, "bob", &format!("Invitation: {title}"), 2), @r#"
[
    "METHOD:REQUEST DTSTART;TZID=Europe/Berlin:20300304T150000 RRULE:FREQ=WEEKLY",
    "METHOD:REQUEST DTSTART;TZID=Europe/Berlin:20300318T160000 RRULE:FREQ=WEEKLY",
]
"#);
            insta::assert_debug_snapshot!(received(server, "bob", &format!("Updated: {title}"), 1), @r#"
[
    "METHOD:REQUEST DTSTART;TZID=Europe/Berlin:20300304T150000 RRULE:FREQ=WEEKLY;UNTIL=20300318T135959Z",
]
"#);
        }
        assert_eq!(home.count("SELECT count(*) FROM objects"), 2, "{point}");
        assert_eq!(program.finish(), (once_each(&["m2"]), true), "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn who_is_invited_no_more_is_told_and_a_reminder_that_no_app_shows_is_refused() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let (model, title) = (obedient(), "Fewer");
    let home = home(server, &model);
    let id = create(&home, title);
    let mut chat = home.chat();
    let mut change = |name: &str, more: Value| {
        let mut arguments = more;
        arguments["id"] = json!(id);
        arguments["span"] = json!("all");
        said(&chat.say(name, &format!("calendar.update_event {arguments}")))
    };
    let quiet = change("m2", json!({"reminders": [10]}));
    assert!(quiet.starts_with("/reminders: no calendar app shows this calendar"), "{quiet}");
    let told = change("m3", json!({"attendees": ["carol@example.test"]}));
    insta::assert_snapshot!(told, @r"
    Changed “Fewer”, Mon 4 Mar 2030, 15:00–16:00 (the whole series)
    Told bob@example.test by email that it's canceled
    Invited carol@example.test by email
    ");
    insta::assert_debug_snapshot!(received(server, "bob", "Canceled: Fewer", 1), @r#"
[
    "METHOD:CANCEL DTSTART;TZID=Europe/Berlin:20300304T150000 RRULE:FREQ=WEEKLY STATUS:CANCELLED",
]
"#);
    insta::assert_debug_snapshot!(received(server, "carol", "Invitation: Fewer", 1), @r#"
[
    "METHOD:REQUEST DTSTART;TZID=Europe/Berlin:20300304T150000 RRULE:FREQ=WEEKLY",
]
"#);
    let told = change("m4", json!({"title": "Few"}));
    insta::assert_snapshot!(told, @r"
    Changed “Few”, Mon 4 Mar 2030, 15:00–16:00 (the whole series)
    It was called “Fewer”
    Told carol@example.test by email what changed
    ");
    insta::assert_debug_snapshot!(received(server, "carol", "Updated: Few", 1), @r#"
[
    "METHOD:REQUEST DTSTART;TZID=Europe/Berlin:20300304T150000 RRULE:FREQ=WEEKLY",
]
"#);
    let told = change("m5", json!({"attendees": ["bob@example.test", "carol@example.test"]}));
    insta::assert_snapshot!(told, @r"
    Changed “Few”, Mon 4 Mar 2030, 15:00–16:00 (the whole series)
    Told carol@example.test by email what changed
    Invited bob@example.test by email
    ");
    assert_eq!(received(server, "bob", "Invitation: Few", 2).len(), 2, "Fewer and Few");
    let told = change("m6", json!({"attendees": ["bob@example.test", "carol@example.test"], "title": "Few"}));
    assert_eq!(told, "Nothing to change: “Few”, Mon 4 Mar 2030, 15:00–16:00");
    chat.finish_well();
}

#[test]
fn a_change_of_guests_is_told_once_to_each() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for point in ["mail-sent", "mail-accepted", "skill-worked"] {
        let (model, title) = (obedient(), format!("Swap {point}"));
        let home = home(server, &model);
        let id = create(&home, &title);
        let mut program = Program::start(&home, point);
        let swap = json!({"id": id, "span": "all", "attendees": ["carol@example.test"]});
        let done = said(&program.say("m2", &format!("calendar.update_event {swap}")));
        let told = "Told bob@example.test by email that it's canceled\nInvited carol@example.test by email";
        assert!(done.starts_with(&format!("Changed “{title}”")) && done.ends_with(told), "{point}: {done}");
        assert_eq!(arrived(server, ("bob", ""), &format!("Canceled: {title}"), 1).len(), 1, "{point}");
        assert_eq!(arrived(server, ("carol", ""), &format!("Invitation: {title}"), 1).len(), 1, "{point}");
        // What a crash came between can be undone all the same.
        let undone = said(&program.say("m3", "/undo"));
        let told = "Told carol@example.test by email that it's canceled\nInvited bob@example.test by email";
        assert!(undone.starts_with("Undone: Changed") && undone.ends_with(told), "{point}: {undone}");
        assert_eq!(program.finish(), (once_each(&["m2", "m3"]), true), "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn what_is_undone_is_told_once_to_those_who_were_told() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for point in ["mail-sent", "mail-accepted", "skill-worked"] {
        let (model, title) = (obedient(), format!("Back {point}"));
        let home = home(server, &model);
        let id = create(&home, &title);
        let mut chat = home.chat();
        let later =
            json!({"id": id, "span": "all", "start": "2030-03-04T16:00", "timezone": "Europe/Berlin"});
        chat.say("m2", &format!("calendar.update_event {later}"));
        chat.finish_well();
        let mut program = Program::start(&home, point);
        let undone = said(&program.say("m3", "/undo"));
        assert!(undone.starts_with(&format!("Undone: Moved “{title}”")), "{point}: {undone}");
        assert!(undone.ends_with("\nTold bob@example.test by email what changed"), "{point}: {undone}");
        insta::allow_duplicates! {
            insta::assert_debug_snapshot!(received(server, "bob", &format!("Updated: {title}"), 2), @r#"
[
    "METHOD:REQUEST DTSTART;TZID=Europe/Berlin:20300304T150000 RRULE:FREQ=WEEKLY",
    "METHOD:REQUEST DTSTART;TZID=Europe/Berlin:20300304T160000 RRULE:FREQ=WEEKLY",
]
"#);
        }
        let undone = said(&program.say("m4", "/undo"));
        assert!(undone.ends_with("\nTold bob@example.test by email that it's canceled"), "{point}: {undone}");
        assert_eq!(arrived(server, ("bob", ""), &format!("Canceled: {title}"), 1).len(), 1, "{point}");
        assert_eq!(home.count("SELECT count(*) FROM objects"), 0, "{point}");
        assert_eq!(program.finish(), (once_each(&["m3", "m4"]), true), "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn a_guest_whose_email_is_refused_is_named_once_also_if_a_later_email_went_out_before_a_crash() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for point in ["mail-sent", "mail-accepted", "skill-worked"] {
        let (bob, nobody) = (format!("Kept {point}"), format!("Lost {point}"));
        let titles = (bob.clone(), nobody.clone());
        let model = FakeModel::start(move |request| {
            if !has_tool(request, "dispatch_agent") || !last_message(request).contains("make both") {
                return Reply::text("Done.");
            }
            let dispatch = |id: &str, needs: &[&str], title: &str, guest: &str| {
                json!({"agent_id": id, "mission": "do it", "skills": ["calendar.create_event"], "depends_on": needs,
                    "arguments": {"title": title, "start": "2030-03-04T15:00", "attendees": [guest]}})
            };
            let second = dispatch("b", &["a"], &titles.1, "nobody@example.test").to_string();
            Reply::call("dispatch_agent", &dispatch("a", &[], &titles.0, "bob@example.test"))
                .and_call("dispatch_agent", &second)
        });
        let home = home(server, &model);
        let mut chat = home.chat();
        let made = chat.say("m1", "make both");
        assert!(made["text"].as_str().unwrap().contains("I couldn't notify nobody@example.test"), "{made}");
        chat.finish_well();
        // As if the server had taken their invitation.
        home.ask(async |store| {
            let mut batch = Batch::new();
            batch.run(
                "UPDATE executions SET undo = replace(undo, '\"told\":[]', '\"told\":[\"nobody@example.test\"]')",
                [],
            );
            store.write(batch).await.unwrap();
        });
        let mut program = Program::start(&home, point);
        let undone = said(&program.say("m2", "/undo"));
        assert_eq!(undone.matches("I couldn't notify nobody@example.test: ").count(), 1, "{point}: {undone}");
        assert!(undone.contains("Told bob@example.test by email that it's canceled"), "{point}: {undone}");
        assert!(!undone.contains("Told nobody@"), "{point}: {undone}");
        assert_eq!(arrived(server, ("bob", ""), &format!("Canceled: {bob}"), 1).len(), 1, "{point}");
        assert_eq!(program.finish(), (once_each(&["m2"]), true), "{point}");
        home.assert_tidy(point);
    }
}
