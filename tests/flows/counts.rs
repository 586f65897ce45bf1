//! How much a turn asks of the database. These are counts, not times: they are the same on every machine, and a change
//! that adds to them must be worth it.

use adjutant_chat::Inbound;
use adjutant_config::Secret;
use adjutant_fakes::postgres::{self, Sent, counted};
use adjutant_memory::index;
use chrono_tz::Europe::Berlin;
use serde_json::json;

use crate::app::{TestApp, direct, scripted_with};
use crate::scripted::{Scripted, has_results, text};

/// Turns that are counted together. What runs beside them, such as a sign of life, is then little.
const TURNS: usize = 20;
/// On a busy machine they take long, and signs of life add up. No round can count less than the turns themselves, so the
/// smallest of these says what they cost.
const ROUNDS: usize = 5;

/// The most that a turn may send to PostgreSQL, and how often it may commit.
pub(crate) const PLAIN: (usize, usize) = (13, 3);
pub(crate) const WITH_A_SKILL: (usize, usize) = (24, 6);

#[tokio::test]
async fn a_turn_costs_no_more_round_trips_than_before() {
    let Some(server) = postgres::shared().unwrap() else { return };
    let (url, sent) = counted(&server.database().unwrap()).unwrap();
    let app = scripted_with(chatter(), |config| config.store.url = Secret::new(url)).await;
    for (what, said, most) in [("plain", "hello", PLAIN), ("with a skill", "add a task", WITH_A_SKILL)] {
        let each = cost(&app, &sent, (what, said)).await;
        assert!(each.0 <= most.0 && each.1 <= most.1, "{what}: {each:?} instead of {most:?} at most");
    }
}

/// A model that adds a task if it is asked for one, and greets.
pub(crate) fn chatter() -> Scripted {
    Scripted::new().orchestrator(|request| {
        let said = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
        match said.contains("task") && !has_results(request) {
            true => direct("a", "tasks.create", json!({"title": "sing"})),
            false => text("Hello."),
        }
    })
}

/// How many round trips a turn costs in which this is said, and how many commits.
pub(crate) async fn cost(app: &TestApp, sent: &Sent, (what, said): (&str, &str)) -> (usize, usize) {
    // The first ones open connections and prepare statements.
    for at in 0..10 {
        answered(app, &format!("{what} {at}"), said).await;
    }
    let mut each = (usize::MAX, usize::MAX);
    for round in 0..ROUNDS {
        let before = sent.so_far();
        for at in 0..TURNS {
            answered(app, &format!("{what} counted {round} {at}"), said).await;
        }
        let after = sent.so_far();
        each = each.min(((after.0 - before.0) / TURNS, (after.1 - before.1) / TURNS));
    }
    println!("{what}: {} round trips, {} commits", each.0, each.1);
    each
}

/// Says something once, and waits for the answer without a look at the database.
async fn answered(app: &TestApp, event: &str, said: &str) {
    let heard = app.texts().len();
    let message = app.direct("home").message(event, "ada", said);
    assert!(app.service.accept(Inbound::Message(message), async || {}).await.unwrap());
    while app.texts().len() == heard {
        tokio::task::yield_now().await;
    }
}

/// The most bytes that a plain turn may add to an embedded store: of the first twenty of a conversation, of the next ones,
/// and where older ones are in a summary.
const BYTES: [i64; 3] = [3_700, 3_500, 4_300];

#[tokio::test]
async fn a_turn_keeps_no_more_bytes_than_before() {
    let answer = "The trains to Lyon leave every hour from 6:58 on, and take two hours.";
    let script =
        Scripted::new().orchestrator(move |_| text(answer)).plain(|_| text("They asked for trains."));
    let app = scripted_with(script, |_| {}).await;
    let size = async || {
        app.rests().await;
        // The words that are kept for searching belong to it.
        index::catch_up(app.store(), Berlin, true, 1000).await.unwrap();
        let used = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, \
                    pragma_page_size";
        app.store().count(used, &[]).await.unwrap()
    };
    let said = "When do the trains from Geneva to Lyon leave on a working day, and how long do they take?";
    let mut at = 0;
    let mut each = Vec::new();
    for _ in BYTES {
        let before = size().await;
        for _ in 0..20 {
            at += 1;
            answered(&app, &format!("bytes {at}"), said).await;
        }
        each.push((size().await - before) / 20);
    }
    println!("bytes of a plain turn: {each:?}");
    assert!(each.iter().zip(BYTES).all(|(bytes, most)| *bytes <= most), "{each:?} instead of {BYTES:?}");
}
