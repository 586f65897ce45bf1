//! A morning of everyday requests, said in a conversation that has read mails, in three languages: 60 each, with the
//! calls that a model makes of them and the wishes that an honest reader of these words alone gives. People are asked at
//! most three times, each time before something reaches people outside.
//!
//! A line of `everyday/*.txt`: what is said | the calls, with + between them | the wishes, with ; between them:
//! kind, `*each`, `>` targets, `~` text.

use adjutant_config::{Config, SearchConfig, SearchKind};
use adjutant_models::Request;
use adjutant_store::objects::{self, TimeSpan};
use adjutant_store::{Batch, questions};
use adjutant_types::{ExecutionStatus, PersonId, QuestionState};
use serde_json::{Value, json};

use crate::app::{TestApp, direct, scripted_with};
use crate::scripted::{Scripted, Who, calls, has_results, text};
use crate::trust::{furnish, last_user, world};

const LANGUAGES: [(&str, &str); 3] = [
    ("English", include_str!("everyday/en.txt")),
    ("German", include_str!("everyday/de.txt")),
    ("Japanese", include_str!("everyday/ja.txt")),
];

struct Row {
    said: &'static str,
    calls: Vec<(&'static str, Value)>,
    wishes: Value,
}

fn rows(table: &'static str) -> Vec<Row> {
    table.lines().map(row).collect()
}

fn row(line: &'static str) -> Row {
    let [said, wanted, wished] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
    let call = |call: &'static str| {
        let (skill, arguments) = call.split_once(' ').unwrap();
        (skill, serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{line}: {error}")))
    };
    let calls = wanted.split(" + ").map(call).collect();
    let wishes = wished.split(" ; ").filter(|wish| *wish != "-").map(wish).collect();
    Row { said, calls, wishes }
}

fn wish(written: &str) -> Value {
    let (rest, text) = written.split_once('~').unwrap_or((written, ""));
    let (kind, targets) = rest.split_once('>').unwrap_or((rest, ""));
    let targets: Vec<&str> = targets.split(',').map(str::trim).filter(|target| !target.is_empty()).collect();
    match kind.trim().split_once('*') {
        Some((kind, count)) => json!({"kind": kind, "count": count, "targets": targets, "text": text}),
        None => json!({"kind": kind.trim(), "count": 1, "targets": targets, "text": text}),
    }
}

/// The row whose words a request ends with.
fn meant<'r>(rows: &'r [Row], said: &str) -> Option<&'r Row> {
    rows.iter().filter(|row| said.contains(row.said)).max_by_key(|row| row.said.len())
}

fn script(table: &'static str) -> Scripted {
    let (said, read) = (rows(table), rows(table));
    let see = || {
        calls(vec![
            direct("a", "outside.read", json!({})),
            direct("b", "calendar.list_events", json!({"start": "2026-11-21", "end": "2026-11-28"})),
        ])
    };
    Scripted::new()
        .orchestrator(move |request| match (has_results(request), last_user(request)) {
            (true, _) => text("Done."),
            (false, asked) if asked.contains("what came in") => see(),
            (false, asked) => {
                let Some(row) = meant(&said, &asked) else { return text("Nothing.") };
                let all = row.calls.iter().enumerate();
                calls(all.map(|(at, (skill, how))| direct(&format!("d{at}"), skill, how.clone())).collect())
            }
        })
        .clean_room(move |request| {
            now(request).and_then(|now| meant(&read, &now)).map_or(json!([]), |row| row.wishes.clone())
        })
        .plain(|_| text("A summary."))
}

/// This turn's words in a request of the clean room.
fn now(request: &Request) -> Option<String> {
    let text = &request.messages.last()?.text;
    serde_json::from_str(text.rsplit_once("\nNow: ")?.1).ok()
}

async fn plant_events(app: &TestApp, person: &PersonId) {
    let mut batch = Batch::new();
    for (id, day, title) in [("e1", "23", "Standup"), ("e2", "24", "Retro")] {
        let event = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:{id}\r\nDTSTAMP:20261101T000000Z\r\n\
             DTSTART:202611{day}T090000Z\r\nDTEND:202611{day}T100000Z\r\nSUMMARY:{title}\r\nEND:VEVENT\r\n\
             END:VCALENDAR\r\n"
        );
        objects::insert(&mut batch, person, "event", (id, &event), TimeSpan::default());
    }
    app.store().write(batch).await.unwrap();
}

fn office(config: &mut Config) {
    world(config, "Dana asks for the figures, Bob for the plan, the bank for a signature.");
    config.mail.as_mut().unwrap().imap = None;
    // The clock stands still.
    config.limits.conversation_calls = 10_000;
    let notes = config.data_dir.join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    config.notes = Some(notes);
    // Nobody listens there: that it is asked is enough.
    config.search =
        Some(SearchConfig { kind: SearchKind::Searxng, url: "http://127.0.0.1:1/".into(), key: None });
}

/// A morning in one language; returns what was asked about, and what failed.
async fn morning(table: &'static str) -> (Vec<&'static str>, Vec<String>) {
    let app = scripted_with(script(table), office).await;
    let person = furnish(&app).await;
    plant_events(&app, &person).await;
    let (mut asked, mut failed) = (Vec::new(), Vec::new());
    for (number, row) in rows(table).iter().enumerate() {
        if number % 10 == 0 {
            app.says("ada", "what came in?").await;
        }
        let heard = app.says("ada", row.said).await;
        if heard.turn.is_none() {
            // An exact form, for which no model is asked.
            continue;
        }
        let turn = app.turn(&heard).await;
        let open = questions::of_turn(app.store(), &turn.id).await.unwrap();
        if open.iter().any(|question| question.state == QuestionState::Pending) {
            asked.push(row.said);
            app.says("ada", "no").await;
            continue;
        }
        // There is no mail server and no web here; everything else is really done.
        let is_ours = |skill: &str| !skill.starts_with("email.") && !skill.starts_with("web.");
        let made = app.executions(&heard).await;
        let done = made.iter().filter(|made| {
            made.skill.is_some()
                && (made.status == ExecutionStatus::Completed || !is_ours(made.skill.as_deref().unwrap()))
        });
        if done.count() < row.calls.len() {
            let errors: Vec<_> = made.iter().filter_map(|made| made.error.as_deref()).collect();
            failed.push(format!("{}: {errors:?} {}", row.said, heard.text));
        }
    }
    // One call at most in each turn.
    assert!(app.requests(Who::CleanRoom).len() <= 60);
    app.check_bases().await;
    (asked, failed)
}

#[tokio::test]
async fn an_ordinary_day_after_a_look_at_the_calendar_asks_nothing() {
    let (asked, failed) = morning(include_str!("everyday/day.txt")).await;
    assert!(asked.is_empty() && failed.is_empty(), "asked {asked:#?}, failed {failed:#?}");
}

#[tokio::test]
async fn of_sixty_everyday_requests_after_reading_at_most_three_ask_in_each_language() {
    println!("| language | requests | questions | for |");
    let mut faults = Vec::new();
    for (language, table) in LANGUAGES {
        assert_eq!(rows(table).len(), 60);
        let (asked, failed) = morning(table).await;
        println!("| {language} | 60 | {} | {} |", asked.len(), asked.join(" · "));
        if asked.len() > 3 || !failed.is_empty() {
            faults.push(format!("{language}: asked {asked:#?}, failed {failed:#?}"));
        }
        let leaves = |said: &&str| {
            let row = rows(table).into_iter().find(|row| row.said == *said).unwrap();
            row.calls.iter().any(|(_, how)| {
                how.to_string().contains("@partner.test") || how.to_string().contains("@agency.test")
            })
        };
        assert!(asked.iter().all(leaves), "{language}: {asked:#?}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
