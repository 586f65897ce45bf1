//! The queries of `db check` and `db status`.

use adjutant_store::check::{self, Finding};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::leases::{self, Instance};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::{Batch, calls, turns};
use adjutant_types::{ExecutionStatus, QuestionKind, QuestionState, TurnStatus};

use crate::calls::{call, tool_call};
use crate::outbox::say_in_turn;
use crate::world::{World, execution};

on_both!(
    nothing_is_found_on_sound_rows,
    each_broken_rule_is_found,
    a_turn_with_nothing_to_tell_needs_no_reply,
    rows_are_counted,
);

/// A running turn `t1`, an ended turn `t2` and a waiting turn `t3`, all consistent, and the process that works on
/// them.
async fn fill(world: &World) -> Instance {
    let instance = world.instance().await;
    let room = world.room().await;
    let mut batch = Batch::new();
    instance.take(&leases::lane(&room.id, 0), &mut batch);
    world.store.write(batch).await.unwrap();

    let rows = [world.said("m1", "one", "i").await, world.said("m2", "two", "i").await];
    world.turn("t1", "i", &rows[..1]).await;
    world.turn("t2", "i", &rows[1..]).await;
    world.turn("t3", "i", &[]).await;
    for row in [
        execution("t1", "o1", "orchestrator"),
        ExecutionRow { parent_id: Some("o1".into()), ..execution("t1", "a1", "agent") },
        execution("t2", "o2", "orchestrator"),
    ] {
        world.execution(row).await;
    }
    world
        .write(|batch| {
            calls::insert(batch, &call("o1", 0, 1));
            calls::insert_tool_call(batch, &tool_call("o1", 0, 0, Some("done")));
            calls::insert(batch, &call("o1", 1, 2));
            calls::insert_tool_call(batch, &tool_call("o1", 1, 0, None));
        })
        .await
        .unwrap();
    say_in_turn(world, "there", "i", Some("t2")).await;
    world
        .write(|batch| {
            executions::close_all(batch, &"t2".into(), ExecutionStatus::Completed, 9);
            turns::end(batch, &"t2".into(), TurnStatus::Completed, "there", 9);
            batch.run("UPDATE turns SET status = 'waiting' WHERE id = 't3'", []);
            questions::ask(batch, &question(&room.id), 5);
        })
        .await
        .unwrap();
    instance
}

fn question(room: &str) -> QuestionRow {
    QuestionRow {
        seq: 0,
        body: String::new(),
        id: "p1".into(),
        conversation_id: room.into(),
        turn_id: "t3".into(),
        execution_id: None,
        person_id: "ada".into(),
        kind: QuestionKind::Continue { text: String::new(), needs_owner: false },
        state: QuestionState::Pending,
        answer: None,
        outbox_id: "x".into(),
        expires_at: 99,
    }
}

async fn findings(world: &World) -> Vec<Finding> {
    let mut findings = check::findings(&world.store).await.unwrap();
    findings.iter_mut().for_each(|finding| finding.rows.sort());
    findings
}

async fn nothing_is_found_on_sound_rows(world: World) {
    assert_eq!(findings(&world).await, []);
    let _at_work = fill(&world).await;
    assert_eq!(findings(&world).await, []);
}

/// A rule, how to break it by hand, the rows to find, and the fix.
const BROKEN: [(&str, &str, &[&str], &str); 16] = [
    (
        "a tool call has no result, but its execution continued",
        "UPDATE tool_calls SET result = NULL WHERE execution_id = 'o1' AND n = 0",
        &["o1:c0.0"],
        "UPDATE tool_calls SET result = 'done' WHERE execution_id = 'o1' AND n = 0",
    ),
    (
        "a tool call has no model call",
        "INSERT INTO tool_calls (execution_id, n, idx, call_id, name, arguments) VALUES ('o1', 9, 0, 'c9', 'x', '{}')",
        &["o1:c9"],
        "DELETE FROM tool_calls WHERE n = 9",
    ),
    (
        "a model call has no execution",
        "INSERT INTO calls (execution_id, n, prefix, text, model, prompt_tokens, cached_tokens, completion_tokens, \
         cost_usd, started_at, duration_ms) VALUES ('ghost', 0, 'p', '', 'm', 0, 0, 0, 0, 0, 0)",
        &["ghost"],
        "DELETE FROM calls WHERE execution_id = 'ghost'",
    ),
    (
        "an execution is open, but its turn has ended",
        "UPDATE executions SET status = 'running', ended_at = NULL WHERE id = 'o2'",
        &["o2"],
        "UPDATE executions SET status = 'completed', ended_at = 9 WHERE id = 'o2'",
    ),
    (
        "an execution is running, but no process has its conversation's lease",
        "UPDATE leases SET instance = NULL",
        &["a1", "o1"],
        "UPDATE leases SET instance = (SELECT max(id) FROM instances)",
    ),
    (
        "an execution is running, but no process has its conversation's lease",
        "UPDATE leases SET instance = 'long gone'",
        &["a1", "o1"],
        "UPDATE leases SET instance = (SELECT max(id) FROM instances)",
    ),
    (
        "an execution has no parent",
        "UPDATE executions SET parent_id = 'ghost' WHERE id = 'a1'",
        &["a1"],
        "UPDATE executions SET parent_id = 'o1' WHERE id = 'a1'",
    ),
    (
        "an execution has no parent",
        "UPDATE executions SET parent_id = NULL WHERE id = 'a1'",
        &["a1"],
        "UPDATE executions SET parent_id = 'o1' WHERE id = 'a1'",
    ),
    (
        "a turn is waiting without an open question",
        "UPDATE questions SET state = 'expired'",
        &["t3"],
        "UPDATE questions SET state = 'pending'",
    ),
    (
        "a message was taken by a turn that has ended",
        "UPDATE inbox SET state = 'taken' WHERE turn_id = 't2'",
        &["console m2"],
        "UPDATE inbox SET state = 'done' WHERE turn_id = 't2'",
    ),
    (
        "a turn ended without a reply",
        "UPDATE outbox SET turn_id = NULL",
        &["t2"],
        "UPDATE outbox SET turn_id = 't2'",
    ),
    (
        "an ended turn still has part of a budget reserved",
        "INSERT INTO reservations (execution_id, turn_id, person_id, instance, day, tokens, nano_usd) \
         VALUES ('o2', 't2', 'ada', 'i', '2026-01-05', 0, 0)",
        &["o2"],
        "DELETE FROM reservations",
    ),
    (
        "a day's reserved budget doesn't match the calls under way",
        "INSERT INTO spending (day, who, reserved_tokens) VALUES ('2026-01-05', '', 5), ('2026-01-06', 'ada', -1)",
        &["2026-01-05:", "2026-01-06:ada"],
        "DELETE FROM spending",
    ),
    (
        "an account at a provider is ready, but has no secret",
        "INSERT INTO connected_accounts (id, label, provider, address, services, state, created_at) \
         VALUES ('a9', 'x', 'google', 'x@home.test', '[]', 'ready', 1)",
        &["a9"],
        "DELETE FROM connected_accounts",
    ),
    (
        "a secret belongs to no account",
        "INSERT INTO secrets (name, sealed, version) VALUES ('account/a9', 'x', 1), ('oauth/x', 'x', 1)",
        &["account/a9"],
        "DELETE FROM secrets",
    ),
    (
        "a login has ended, but still holds a secret",
        "INSERT INTO logins (id, person_id, conversation_id, provider, state, nonce, oauth_state, sealed, redirect, \
         expires_at, changed_at) VALUES ('l9', 'ada', 'c', 'google', 'done', 'n', 'o', 'x', '', 1, 1)",
        &["l9"],
        "DELETE FROM logins",
    ),
];

async fn each_broken_rule_is_found(world: World) {
    let _at_work = fill(&world).await;
    for (rule, harm, rows, mend) in BROKEN {
        world.by_hand(harm).await;
        let rows = rows.iter().map(|row| (*row).to_owned()).collect();
        assert_eq!(findings(&world).await, [Finding { rule, rows }], "{harm}");
        world.by_hand(mend).await;
        assert_eq!(findings(&world).await, [], "{mend}");
    }
}

/// A scheduled turn that has nothing to tell.
async fn a_turn_with_nothing_to_tell_needs_no_reply(world: World) {
    let _at_work = fill(&world).await;
    world.by_hand("UPDATE turns SET answer = '(nothing to tell)' WHERE id = 't2'").await;
    world.by_hand("DELETE FROM outbox").await;
    assert_eq!(findings(&world).await, []);
}

async fn rows_are_counted(world: World) {
    let counts = async || check::counts(&world.store).await.unwrap();
    assert!(counts().await.iter().all(|(_, count)| *count == 0));
    let _at_work = fill(&world).await;
    world.said("m3", "three", "i").await;
    assert_eq!(
        counts().await,
        [
            ("people", 1),
            ("conversations", 1),
            ("messages received", 3),
            ("messages waiting", 1),
            ("messages dead", 0),
            ("turns", 3),
            ("turns open", 2),
            ("executions", 3),
            ("questions waiting", 1),
            ("replies undelivered", 1),
            ("replies dead", 0),
            ("tasks", 0),
            ("memories", 0),
        ]
    );
    world
        .by_hand("UPDATE outbox SET state = 'dead'; UPDATE inbox SET state = 'dead' WHERE state = 'taken'")
        .await;
    let counts = counts().await;
    for (name, count) in [("replies undelivered", 0), ("replies dead", 1), ("messages dead", 1)] {
        assert!(counts.contains(&(name, count)), "{counts:?}");
    }
}
