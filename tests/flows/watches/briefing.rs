//! Triage, the briefing, and its buttons.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use adjutant_config::{Config, MailConfig, MailServer, People, Policy, Secret};
use adjutant_fakes::mail_server::{self, Server};
use adjutant_store::watches::WatchRow;
use adjutant_types::WatchItem;
use serde_json::json;

use super::telling::{asking, finds, is_told, mail, watch};
use crate::app::{TestApp, direct, scripted_with, user_text};
use crate::groupware::{call, call_skill, report_result, skill_caller};
use crate::prompts::account;
use crate::scripted::{Scripted, Who, has_results, text};
use crate::trust::last_user;
use crate::trust_sources::plant_mail;
use crate::workflows::workflow_file;

/// An app with a mailbox that no other test uses.
async fn app(server: &Server, script: Scripted) -> TestApp {
    let account = |port| MailServer {
        user: "bot@example.test".into(),
        password: Secret::new("bot-secret"),
        ..account(server, port)
    };
    let mail = MailConfig {
        from: "Bot <bot@example.test>".into(),
        internal_domains: vec!["example.test".into()],
        self_copy: false,
        smtp: account(server.submissions),
        imap: Some(account(server.imaps)),
        people: People::default(),
        label: "shared".into(),
    };
    scripted_with(script, move |config: &mut Config| config.mail = Some(mail)).await
}

/// The server dates emails by their files: these came when their header says.
fn date_files(inbox: &Path) {
    let came = UNIX_EPOCH + Duration::from_secs(1_795_165_200);
    for folder in [inbox.to_owned(), inbox.with_file_name("cur")] {
        for file in std::fs::read_dir(folder).unwrap() {
            File::options().write(true).open(file.unwrap().path()).unwrap().set_modified(came).unwrap();
        }
    }
}

/// A model that calls the skills that messages name, sorts mails, and answers what buttons say.
fn model() -> Scripted {
    let sorted = json!([
        {"n": 1, "who": "Bob", "about": "a date", "asked": "does Thursday suit you?", "by": "Wednesday", "sure": 0.9},
        {"n": 77, "who": "Mallory", "about": "", "asked": "there is no such email", "by": "", "sure": 1},
    ]);
    Scripted::new()
        .orchestrator(|request| match has_results(request) {
            true => report_result(request),
            false if user_text(request).starts_with("email.") || user_text(request).starts_with("tasks.") => {
                call_skill(request)
            }
            false => text("On it."),
        })
        .plain(move |_| text(sorted.to_string()))
}

#[tokio::test]
async fn a_briefing_has_a_line_for_each_thing_and_its_buttons_act_on_it() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let app = app(server, model()).await;
    // Whoever looks into a mailbox first makes it.
    call(&app, "email.search", json!({})).await;
    let inbox = server.file("store/bot@example.test/Maildir/new");
    let plant = |id: &str, from: &str, more: &str| plant_mail(&inbox, id, from, more, "Hello");
    plant("news", "Shop <news@shop.test>", "Subject: Sale\r\nList-Id: <sale.shop.test>\r\n");
    plant("receipt", "Shop <no-reply@shop.test>", "Subject: Your receipt\r\n");
    plant(
        "bulk",
        "Mallory <m@elsewhere.test>",
        "Subject: Urgent\r\nPrecedence: bulk\r\nImportance: high\r\n",
    );
    plant("bank", "Bank <no-reply@bank.test>", "Subject: Statement\r\nAuto-Submitted: auto-generated\r\n");
    plant("kept", "Dana <dana@elsewhere.test>", "Subject: Kept\r\n");
    plant("yes", "Eve <eve@elsewhere.test>", "Subject: Accepted: Offsite\r\n");
    plant("thursday", "Bob Brown <bob@elsewhere.test>", "Subject: Thursday?\r\n");
    call(&app, "tasks.create", json!({"title": "Pay the rent", "due": "2026-11-21"})).await;
    date_files(&inbox);
    call(&app, "email.move", json!({"message_id": "<kept@elsewhere.test>", "folder": "archive"})).await;
    // Being shown in a list leaves a mail waiting for its answer.
    call(&app, "email.mark", json!({"message_id": "<thursday@elsewhere.test>", "as": "read"})).await;

    let heard = app.says("ada", "/run morning-briefing").await;
    for line in [
        "1. Pay the rent (due Sat 21 Nov 2026)",
        "2. Bob Brown: “Thursday?” — does Thursday suit you? (Wednesday)",
        "5 newsletters and automatic emails weren't looked at",
    ] {
        assert!(heard.text.contains(line), "{line}: {}", heard.text);
    }
    assert!(!heard.text.contains("no such email"), "{}", heard.text);
    let buttons = ["Done 1", "Tomorrow 1", "Answer 2", "Make a task 2", "Tomorrow 2", "Done 2"];
    assert_eq!(heard.buttons(), buttons);
    let sorting = app.requests(Who::Plain);
    assert_eq!(sorting.len(), 1, "one call for all");
    let told = user_text(&sorting[0]);
    assert!(told.contains("Sat 2026-11-21") && told.contains("1 | Fri 2026-11-20 | Bob"), "{told}");
    assert!(told.contains("Bob Brown") && told.contains("[outside text"), "{told}");
    for left_out in ["Sale", "Urgent", "Statement", "Kept"] {
        assert!(!told.contains(left_out), "{left_out}: {told}");
    }

    let later = app.presses("ada", &heard, "Tomorrow 2").await;
    assert!(later.text.contains("remind you"), "{}", later.text);
    // Its turn begins with the email, in a block.
    app.pushes("ada", &heard, "Answer 2").await;
    app.sees("On it.").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let all = serde_json::to_string(&request).unwrap();
    assert!(!all.contains("1970"), "{all}");
    for part in ["Draft an answer to this email", "thursday@elsewhere.test"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    app.passes(Duration::from_hours(24)).await;
    let again = app.sees("You wanted to come back to this").await;
    assert!(again.text.contains("Thursday?"), "{}", again.text);
    // What was answered isn't told again.
    app.presses("ada", &again, "Done").await;
    let triaged = call(&app, "email.triage", json!({})).await.1;
    assert_eq!((&triaged["count"], triaged["unanswered"].as_array().unwrap().len()), (&json!(0), 6));
    // A later message can mean a line.
    app.says("ada", "answer the second one").await;
    let request = serde_json::to_string(&app.requests(Who::Orchestrator).pop().unwrap()).unwrap();
    assert!(request.contains("“Thursday?” from Bob Brown, line 2"), "{request}");
    app.ends_well().await;
}

#[tokio::test]
async fn what_a_watch_told_in_the_evening_stands_in_one_briefing() {
    let app = scripted_with(Scripted::new().orchestrator(|_| text("Hello.")), |_| {}).await;
    app.says("ada", "hi").await;
    let watch = watch(&app, "k3x9zq", |_| {}).await;
    app.passes(Duration::from_hours(10)).await;
    finds(&app, &watch, &[mail(1, "Offer")]).await;
    app.passes(Duration::ZERO).await;
    assert_eq!(is_told(&app, "Offer").await, 1);
    // The next morning, and the one after that.
    for (hours, is_in) in [(12, true), (24, false)] {
        app.passes(Duration::from_hours(hours)).await;
        let heard = app.says("ada", "/run morning-briefing").await;
        assert_eq!(heard.text.contains("Eve: “Offer”"), is_in, "{}", heard.text);
    }
    app.ends_well().await;
}

#[tokio::test]
async fn the_briefing_of_a_monday_tells_of_the_weekend() {
    let app = scripted_with(Scripted::new().orchestrator(|_| text("Hello.")), |_| {}).await;
    app.says("ada", "hi").await;
    let watch = watch(&app, "k3x9zq", |_| {}).await;
    // Today is a Saturday. What comes on the next Saturday is told on Monday, and no more on Tuesday.
    app.passes(Duration::from_hours(6 * 24)).await;
    app.says("ada", "/run morning-briefing").await;
    app.passes(Duration::from_hours(36)).await;
    finds(&app, &watch, &[mail(1, "Offer")]).await;
    app.passes(Duration::ZERO).await;
    assert_eq!(is_told(&app, "Offer").await, 1);
    for (hours, is_in) in [(36, true), (24, false)] {
        app.passes(Duration::from_hours(hours)).await;
        let heard = app.says("ada", "/run morning-briefing").await;
        assert_eq!(heard.text.contains("Eve: “Offer”"), is_in, "{}", heard.text);
    }
    app.ends_well().await;
}

#[tokio::test]
async fn a_draft_is_shown_whole_with_its_buttons() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let app = app(server, model()).await;
    let draft = json!({"to": ["bob@elsewhere.test"], "subject": "Plan", "body": "Here it is."});
    let heard = app.says("ada", &format!("email.draft {draft}")).await;
    assert_eq!(heard.buttons(), ["Send", "Change", "Drop"], "{}", heard.text);
    let shown = "✓ “Plan” is in your drafts\n\nSend this email to bob@elsewhere.test: “Plan”\n- text:\n";
    assert!(heard.text.contains(shown) && heard.text.contains("Here it is."), "{}", heard.text);
    app.pushes("ada", &heard, "Change").await;
    app.sees("On it.").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(serde_json::to_string(&request).unwrap().contains("I want to change this draft"));
    app.ends_well().await;
}

#[tokio::test]
async fn a_draft_of_quiet_hours_is_shown_whole_after_them_with_its_buttons() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let script =
        Scripted::new().orchestrator(|request| match (has_results(request), last_user(request).as_str()) {
            (false, "draft an answer") => {
                let draft =
                    json!({"to": ["bob@elsewhere.test"], "subject": "Nightly", "body": "Here it is."});
                direct("w", "email.draft", draft)
            }
            (true, _) => text("Done with it."),
            _ => text("Hello."),
        });
    let app = app(server, script).await;
    app.says("ada", "hi").await;
    let wish = json!([{"kind": "mail.draft", "count": 1, "targets": [], "text": ""}]);
    let night = |row: &mut WatchRow| {
        asking("draft an answer", wish)(row);
        row.bounds.quiet = Some("09:00-12:00".into());
    };
    let watch = watch(&app, "k3x9zq", night).await;
    finds(&app, &watch, &[mail(1, "Offer")]).await;
    app.passes(Duration::ZERO).await;
    assert_eq!(is_told(&app, "Nightly").await, 0);
    app.passes(Duration::from_hours(3)).await;
    app.passes(Duration::from_secs(1)).await;
    let told =
        app.sees("✓ “Nightly” is in your drafts\n\nSend this email to bob@elsewhere.test: “Nightly”").await;
    let at = |part: &str| told.text.find(part).unwrap_or_else(|| panic!("no {part}: {}", told.text));
    assert!(at("Here it is.") < at("Why you get this"), "{}", told.text);
    assert_eq!(told.buttons(), ["Send", "Change", "Drop", "Stop this watch"]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_morning_with_nothing_new_is_silent_or_one_line() {
    const YAML: &str = "workflow:\n  name: NAME\n  steps:\n    - { id: due, skill: tasks.search }\n    \
        - { id: brief, skill: assistant.lines, arguments: { quiet: QUIET }, output: { format: markdown } }\n";
    for (quiet, told) in [("true", 0), ("false", 1)] {
        let yaml = YAML.replace("NAME", "morning").replace("QUIET", quiet);
        let app = scripted_with(skill_caller(), |config| workflow_file(config, "morning", &yaml)).await;
        call(&app, "schedule.create", json!({"when": "0 8 * * *", "text": "/run morning"})).await;
        let before = app.texts().len();
        app.passes(Duration::from_hours(22)).await;
        app.rests().await;
        assert_eq!(app.texts().len() - before, told, "{:?}", app.texts());
        let lines = app.texts().into_iter().filter(|text| text.contains("Nothing new."));
        assert_eq!(lines.count(), told);
        app.ends_well().await;
    }
}

/// A briefing of tasks alone.
const MORNING: &str = "workflow:\n  name: morning\n  steps:\n    - { id: due, skill: tasks.search }\n    \
    - { id: brief, skill: assistant.lines, output: { format: markdown } }\n";

#[tokio::test]
async fn a_line_is_put_off_by_the_id_of_its_thing_and_nobody_is_asked_about_what_is_gone() {
    let app = scripted_with(skill_caller(), |config| {
        workflow_file(config, "morning", MORNING);
        config.approval.skills.insert("watch.later".into(), Policy::Ask);
    })
    .await;
    let (_, task) = call(&app, "tasks.create", json!({"title": "Pay the rent"})).await;
    call(&app, "schedule.create", json!({"when": "0 8 * * *", "text": "/run morning"})).await;
    app.passes(Duration::from_hours(22)).await;
    let briefing = app.sees("1. Pay the rent").await;
    assert!(briefing.text.starts_with("1. Pay the rent"), "no word of steps: {}", briefing.text);
    let later = json!({"item": task["id"], "until": "2026-11-26"});
    let asked = app.says("ada", &format!("watch.later {later}")).await;
    let effect = "Remind you Thu 26 Nov 2026, 08:00: Pay the rent\n";
    assert!(asked.text.starts_with(effect), "{}", asked.text);
    let told = app.presses("ada", &asked, "Approve").await.text;
    assert!(told.contains("I'll remind you Thu 26 Nov 2026, 08:00"), "{told}");
    for other in ["other", "%", "______", "<other>", "task other"] {
        let (gone, _) = call(&app, "watch.later", json!({"item": other, "until": "2026-11-26"})).await;
        assert_eq!(
            gone, "not_found: That's gone. “run morning-briefing” shows what's still there.",
            "{other}"
        );
    }
    app.ends_well().await;
}

#[tokio::test]
async fn a_line_is_named_by_its_number_or_its_id_as_a_list_shows_it_and_never_guessed() {
    let app = scripted_with(skill_caller(), |config| {
        workflow_file(config, "morning", MORNING);
        config.approval.skills.insert("watch.done".into(), Policy::Ask);
    })
    .await;
    let done = async |named: &str| app.says("ada", &format!("watch.done {}", json!({"item": named}))).await;
    let means = async |named: &str, title: &str| {
        let asked = done(named).await;
        assert!(asked.text.starts_with(&format!("Take off your list: {title}\n")), "{named}: {}", asked.text);
        app.presses("ada", &asked, "Approve").await;
    };
    let is_unclear = async |named: &str| {
        let said = done(named).await.text;
        assert!(said.starts_with("params: say which one"), "{named}: {said}");
    };
    call(&app, "tasks.create", json!({"title": "Pay the rent", "due": "2026-11-22"})).await;
    let (_, task) = call(&app, "tasks.create", json!({"title": "Call Bob", "due": "2026-11-23"})).await;
    is_unclear("2").await;
    let briefing = app.says("ada", "/run morning").await;
    assert!(briefing.text.contains("2. Call Bob"), "{}", briefing.text);
    let id = task["id"].as_str().unwrap();
    for named in ["2".to_owned(), "line 2".to_owned(), id.to_owned(), format!("[{id}]"), format!("task {id}")]
    {
        means(&named, "Call Bob").await;
    }
    is_unclear("3").await;
    let watch = watch(&app, "k3x9zq", |_| {}).await;
    finds(&app, &watch, &[mail(1, "Offer")]).await;
    app.passes(Duration::ZERO).await;
    app.sees("“Offer”").await;
    for named in ["<1@acme.test>", "1@acme.test", "mail <1@acme.test>"] {
        means(named, "Eve: “Offer”").await;
    }
    means("1", "Pay the rent").await;
    // What has such an id may be meant, too.
    finds(&app, &watch, &[WatchItem { id: "1".into(), ..mail(2, "Trap") }]).await;
    app.passes(Duration::from_mins(1)).await;
    app.sees("“Trap”").await;
    is_unclear("1").await;
    // A list that came since may be meant.
    call(&app, "tasks.search", json!({})).await;
    is_unclear("2").await;
    app.ends_well().await;
}
