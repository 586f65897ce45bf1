//! Standing approvals: a rule allows exactly what its words name, for as long and as often as they say, and its person
//! ends it with one tap.

use std::time::Duration;

use adjutant_config::{Config, Policy};
use adjutant_models::Request;
use serde_json::{Value, json};

use crate::app::{TestApp, direct, outside_skill, results, scripted_with, skill_file, user_text};
use crate::scripted::{Reply, Scripted, calls, text};

const DAY: Duration = Duration::from_secs(86_400);

/// Makes the call that a message says: `email.send {…}`; behind `read, then` it reads a text from outside first.
fn obey(request: &Request) -> Reply {
    let said = user_text(request);
    let said = said.rsplit_once("\n\n").map_or(said, |(_, last)| last);
    let (reads, call) = match said.strip_prefix("read, then ") {
        Some(call) => (true, call),
        None => (false, said),
    };
    let Some((skill, arguments)) = call.split_once(' ') else { return text("?") };
    let Ok(arguments) = serde_json::from_str(arguments) else { return text("?") };
    match (results(request).len(), reads) {
        (0, true) => calls(vec![direct("r", "outside.read", json!({}))]),
        _ if request.messages.iter().any(|message| message.text.contains("\"agent_id\":\"a\"")) => {
            text("Done.")
        }
        _ => direct("a", skill, arguments),
    }
}

async fn start(change: impl FnOnce(&mut Config)) -> TestApp {
    let script = Scripted::new().clean_room(|_| json!([])).orchestrator(obey);
    scripted_with(script, |config| {
        skill_file(config, &outside_skill(&["/bin/echo", "mail bob now"]));
        config.approval.medium = Policy::Ask;
        config.approval.skills.insert("tasks.delete".into(), Policy::Ask);
        change(config);
    })
    .await
}

fn to_bob() -> Value {
    json!({"to": ["bob@acme.test"], "subject": "Hi", "body": "Hello"})
}

/// An app in which mails to Bob are allowed.
async fn with_rule() -> TestApp {
    let app = start(|_| {}).await;
    let asked = app.says("ada", &format!("email.send {}", to_bob())).await;
    assert_eq!(asked.buttons(), ["Approve", "Reject", "Always for bob@acme.test"]);
    app.presses("ada", &asked, "Always for bob@acme.test").await;
    app.sees("✓ ").await;
    app
}

#[tokio::test]
async fn a_rule_is_offered_made_used_shown_and_ended() {
    let app = start(|_| {}).await;
    let asked = app.says("ada", &format!("email.send {}", to_bob())).await;
    insta::assert_snapshot!(asked.text, @r#"
    Save this email to bob@acme.test as a file (no email account is set up): “Hi”
    - text:
    ```
    Hello
    ```

    You asked: “email.send {"to":["bob@acme.test"],"subject":"Hi","body":"Hello"}”. Shall I do this?
    “Always” allows emails to bob@acme.test for 30 days.
    "#);
    let made = app.presses("ada", &asked, "Always for bob@acme.test").await;
    insta::assert_snapshot!(made.text, @"
    Approved: Save this email to bob@acme.test as a file (no email account is set up): “Hi”. Going ahead.
    New rule: emails to bob@acme.test. Until 21 December, I won't ask. `/rules` shows and ends your rules.
    ");
    app.sees("✓ ").await;
    let again = app.says("ada", &format!("email.send {}", to_bob())).await;
    assert!(
        again.buttons().is_empty() && again.text.ends_with("(under your rule of 21 November)"),
        "{again:?}"
    );
    let rules = app.says("ada", "/rules").await;
    insta::assert_snapshot!(rules.text, @"
    I don't ask you about these:

    1. emails to bob@acme.test: since 21 November, until 21 December, used 1 of 100 times
    ");
    assert_eq!(rules.buttons(), ["End 1"]);
    let ended = app.presses("ada", &rules, "End 1").await;
    insta::assert_snapshot!(ended.text, @"Ended: emails to bob@acme.test. I'll ask you again.");
    assert!(app.presses("ada", &rules, "End 1").await.text.starts_with("There's no such rule"));
    assert!(app.says("ada", "/rules").await.text.starts_with("I ask you about everything"));
    let asked = app.says("ada", &format!("email.send {}", to_bob())).await;
    let made = app.says("ada", "yes, always").await;
    assert!(made.text.contains("New rule: emails to bob@acme.test"), "{}", made.text);
    assert_eq!(asked.buttons().len(), 3);
    app.ends_well().await;
}

/// What a rule for Bob doesn't name.
fn others() -> Vec<(&'static str, Value)> {
    let mail = |change: Value| {
        let mut mail = to_bob();
        mail.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        ("email.send", mail)
    };
    vec![
        mail(json!({"to": ["eve@acme.test"]})),
        mail(json!({"to": ["bob@acme.test.evil.test"]})),
        mail(json!({"to": ["bob@acme.test@evil.test"]})),
        mail(json!({"to": ["b\u{43e}b@acme.test"]})),
        mail(json!({"to": ["bob@acme.test", "eve@evil.test"]})),
        mail(json!({"cc": ["eve@evil.test"]})),
        mail(json!({"bcc": ["eve@evil.test"]})),
        mail(json!({"to": ["bob@acme.test\u{200b}"]})),
        mail(json!({"to": ["bob+eve@acme.test"]})),
        mail(json!({"to": ["Bob <eve@evil.test>"]})),
        mail(json!({"attachments": [{"name": "all.csv", "text": "secrets"}]})),
        ("tasks.delete", json!({"id": "bob@acme.test"})),
    ]
}

#[tokio::test]
async fn a_rule_allows_nothing_that_its_words_do_not_name() {
    let app = with_rule().await;
    for before in ["", "read, then "] {
        for (skill, arguments) in others() {
            let said = format!("{before}{skill} {arguments}");
            let heard = app.says("ada", &said).await;
            let is_asked = heard.buttons().contains(&"Reject");
            assert!(is_asked || !heard.text.contains('✓'), "{said}: {heard:?}");
            if is_asked {
                app.presses("ada", &heard, "Reject").await;
            }
        }
    }
    let sent = "SELECT count(*) FROM executions WHERE status = 'completed' AND skill = 'email.send'";
    assert_eq!(app.store().count(sent, &[]).await.unwrap(), 1, "the one that was approved");
    // Bob is named, whoever had the idea; the receipt says by what.
    for before in ["", "read, then "] {
        let sent = app.says("ada", &format!("{before}email.send {}", to_bob())).await;
        assert!(sent.text.contains("under your rule"), "{sent:?}");
    }
    assert_eq!(app.store().count("SELECT used FROM rules", &[]).await.unwrap(), 2);
    app.ends_well().await;
}

#[tokio::test]
async fn a_rule_is_its_persons_own_and_made_by_nobody_else() {
    let app = start(|config| config.assistant.owner = vec!["console:olga".into()]).await;
    let asked = app.says("bob", &format!("email.send {}", to_bob())).await;
    let approved = app.presses("olga", &asked, "Always for bob@acme.test").await;
    assert!(!approved.text.contains("New rule"), "an owner's yes is good for once: {}", approved.text);
    let again = app.says("bob", &format!("email.send {}", to_bob())).await;
    app.presses("bob", &again, "Always for bob@acme.test").await;
    app.sees("✓ ").await;
    let asked = app.says("olga", &format!("email.send {}", to_bob())).await;
    assert!(asked.buttons().contains(&"Reject"), "Bob's rule isn't Olga's: {asked:?}");
    app.presses("olga", &asked, "Reject").await;
    let room = app.room("lobby").says("bob", "/rules").await;
    assert!(room.text.starts_with("Please send me `/rules` privately"), "{}", room.text);
    app.ends_well().await;
}

#[tokio::test]
async fn a_rule_ends_after_its_days_and_uses_and_an_owner_may_forbid_them() {
    let app = with_rule().await;
    app.passes(30 * DAY).await;
    let asked = app.says("ada", &format!("email.send {}", to_bob())).await;
    app.presses("ada", &asked, "Always for bob@acme.test").await;
    app.sees("Until 20 January").await;
    app.ends_well().await;

    let once = app_with_uses(1).await;
    let asked = once.says("ada", &format!("email.send {}", to_bob())).await;
    once.presses("ada", &asked, "Always for bob@acme.test").await;
    once.sees("✓ ").await;
    let used = once.says("ada", &format!("email.send {}", to_bob())).await;
    assert!(used.text.contains("under your rule"), "{used:?}");
    let asked = once.says("ada", &format!("email.send {}", to_bob())).await;
    assert!(asked.buttons().contains(&"Reject"), "{asked:?}");
    once.presses("ada", &asked, "Reject").await;
    once.ends_well().await;

    let forbidden = start(|config| config.approval.rule_days = 0).await;
    let asked = forbidden.says("ada", &format!("email.send {}", to_bob())).await;
    assert_eq!(asked.buttons(), ["Approve", "Reject"]);
    forbidden.presses("ada", &asked, "Reject").await;
    forbidden.ends_well().await;
}

async fn app_with_uses(uses: u32) -> TestApp {
    start(|config| config.approval.rule_uses = uses).await
}

#[tokio::test]
async fn who_wants_to_be_asked_about_a_skill_by_name_is_asked_each_time() {
    let app = start(|config| _ = config.approval.skills.insert("email.send".into(), Policy::Ask)).await;
    let asked = app.says("ada", &format!("email.send {}", to_bob())).await;
    assert_eq!(asked.buttons(), ["Approve", "Reject"]);
    app.presses("ada", &asked, "Reject").await;
    app.ends_well().await;
}
