//! The execution journal.

use adjutant_store::executions::{self, Closing, ExecutionRow};
use adjutant_store::people;
use adjutant_store::{Batch, Stale, asked};
use adjutant_types::{Bailout, ExecutionStatus, Taint};

use crate::world::{World, execution, refused, stale};

on_both!(
    a_row_is_kept_as_it_was,
    a_turn_has_one_orchestrator_a_name_one_agent_a_tool_call_one_execution,
    what_has_ended_does_not_go_on,
    a_closing_is_written_whole,
    the_end_of_a_turn_closes_everything_in_it,
    rows_are_found_by_turn_and_by_agent,
    agents_are_counted_by_the_beginning_of_their_names,
    skill_calls_are_counted_in_their_window,
    what_a_server_asks_is_kept_until_its_call_ends,
    an_event_says_for_whom_it_was_changed,
);

const ALL: [ExecutionStatus; 10] = [
    ExecutionStatus::Pending,
    ExecutionStatus::Running,
    ExecutionStatus::Waiting,
    ExecutionStatus::Completed,
    ExecutionStatus::Partial,
    ExecutionStatus::Failed,
    ExecutionStatus::Timeout,
    ExecutionStatus::Skipped,
    ExecutionStatus::Cancelled,
    ExecutionStatus::Unknown,
];

#[test]
fn the_words_of_a_status_are_read_back() {
    for status in ALL {
        assert_eq!(status.as_str().parse(), Ok(status));
    }
    let open: Vec<_> = ALL.into_iter().filter(|status| !status.has_ended()).collect();
    assert_eq!(open, [ExecutionStatus::Pending, ExecutionStatus::Running, ExecutionStatus::Waiting]);
    let well: Vec<_> = ALL.into_iter().filter(|status| status.ended_well()).collect();
    assert_eq!(well, [ExecutionStatus::Completed, ExecutionStatus::Partial]);
}

#[test]
fn what_steps_side_by_side_did_is_in_order_step_by_step() {
    let row = |id: &str, parent: &str, call: Option<(i64, i64)>| ExecutionRow {
        parent_id: Some(parent.into()),
        call_n: call.map(|(n, _)| n),
        call_idx: call.map(|(_, idx)| idx),
        ..execution("t1", id, if call.is_some() { "skill" } else { "agent" })
    };
    let mut rows = vec![execution("t1", "o", "orchestrator"), row("run", "o", None)];
    rows.extend(["trains", "note"].map(|step| row(step, "run", None)));
    // In the order in which they ended.
    let calls = [("there", "trains", 0), ("note it", "note", 0), ("back", "trains", 1)];
    rows.extend(calls.map(|(id, step, idx)| row(id, step, Some((0, idx)))));
    let mut done = rows[4..].to_vec();
    done.sort_by_key(|row| row.path(&rows));
    assert_eq!(done.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["there", "back", "note it"]);
}

async fn of_turn(world: &World) -> Vec<ExecutionRow> {
    executions::of_turn(&world.store, &"t1".into()).await.unwrap()
}

async fn a_row_is_kept_as_it_was(world: World) {
    world.turn("t1", "a", &[]).await;
    let full = ExecutionRow {
        parent_id: Some("o".into()),
        status: ExecutionStatus::Failed,
        call_n: Some(0),
        call_idx: Some(3),
        agent_id: Some("find".into()),
        task: Some("{}".into()),
        skill: Some("tasks.search".into()),
        parameters: Some("{}".into()),
        direct: true,
        result: Some("it failed".into()),
        data: Some("[1]".into()),
        error: Some("{}".into()),
        bailout: Some(Bailout::Time),
        untrusted: true,
        account: "a1".into(),
        started_at: None,
        ended_at: Some(9),
        ..execution("t1", "s", "skill")
    };
    for status in ALL {
        let row = ExecutionRow { status, ..execution("t1", status.as_str(), "skill") };
        world.execution(row).await;
    }
    world.execution(full.clone()).await;
    let rows = of_turn(&world).await;
    assert_eq!(rows.last(), Some(&full));
    assert_eq!(rows.iter().take(10).map(|row| row.status).collect::<Vec<_>>(), ALL);
    let orphan = execution("no turn", "x", "agent");
    refused(world.write(|batch| executions::insert(batch, &orphan, &"room".into())).await);
    let nonsense = world.write(|batch| {
        batch.run("UPDATE executions SET status = 'fine'", []);
    });
    refused(nonsense.await);
}

async fn a_turn_has_one_orchestrator_a_name_one_agent_a_tool_call_one_execution(world: World) {
    world.turn("t1", "a", &[]).await;
    world.turn("t2", "a", &[]).await;
    let agent = |turn: &str, id: &str, name: &str, idx: i64| ExecutionRow {
        parent_id: Some(format!("o-{turn}").into()),
        call_n: Some(0),
        call_idx: Some(idx),
        agent_id: Some(name.into()),
        ..execution(turn, id, "agent")
    };
    for row in [
        execution("t1", "o-t1", "orchestrator"),
        execution("t2", "o-t2", "orchestrator"),
        agent("t1", "a1", "find", 0),
        agent("t1", "a2", "write", 1),
        agent("t2", "a3", "find", 0),
        execution("t1", "s1", "skill"),
        execution("t1", "s2", "skill"),
    ] {
        world.execution(row).await;
    }
    for (twice, what) in [
        (execution("t1", "o2", "orchestrator"), "a second orchestrator"),
        (agent("t1", "a4", "find", 2), "a second agent of that name"),
        (agent("t1", "a5", "new", 1), "a second execution of a tool call"),
        (execution("t2", "s1", "skill"), "a used id"),
    ] {
        let outcome = world.write(|batch| executions::insert(batch, &twice, &"room".into())).await;
        assert_eq!(stale(outcome), Stale::ExecutionExists, "{what}");
    }
    assert_eq!(of_turn(&world).await.len(), 5);
}

async fn what_has_ended_does_not_go_on(world: World) {
    world.turn("t1", "a", &[]).await;
    world
        .execution(ExecutionRow {
            status: ExecutionStatus::Pending,
            started_at: None,
            ..execution("t1", "s", "skill")
        })
        .await;
    world.write(|batch| executions::wait(batch, &"s".into())).await.unwrap();
    assert_eq!(of_turn(&world).await[0].status, ExecutionStatus::Waiting);
    world.write(|batch| executions::start(batch, &"s".into(), 10)).await.unwrap();
    world.write(|batch| executions::wait(batch, &"s".into())).await.unwrap();
    world.write(|batch| executions::start(batch, &"s".into(), 20)).await.unwrap();
    let row = &of_turn(&world).await[0];
    assert_eq!((row.status, row.started_at), (ExecutionStatus::Running, Some(10)), "the first start stays");

    let closing = Closing { result: Some("done".into()), ..Closing::default() };
    world
        .write(|batch| executions::close(batch, &"s".into(), ExecutionStatus::Completed, &closing, 30))
        .await
        .unwrap();
    let ended = of_turn(&world).await;
    assert_eq!(
        stale(world.write(|batch| executions::start(batch, &"s".into(), 40)).await),
        Stale::ExecutionEnded
    );
    world.write(|batch| executions::wait(batch, &"s".into())).await.unwrap();
    let again = world
        .write(|batch| executions::close(batch, &"s".into(), ExecutionStatus::Failed, &closing, 50))
        .await;
    assert_eq!(stale(again), Stale::ExecutionEnded);
    assert_eq!(of_turn(&world).await, ended);
    stale(world.write(|batch| executions::start(batch, &"none".into(), 1)).await);
}

async fn a_closing_is_written_whole(world: World) {
    world.turn("t1", "a", &[]).await;
    for (id, started_at) in [("started", Some(5)), ("told", None), ("never", None)] {
        world.execution(ExecutionRow { started_at, ..execution("t1", id, "agent") }).await;
    }
    let closing = Closing {
        taint: Taint::default(),
        undo: None,
        result: Some("half".into()),
        answer: Some(r#"{"details":"x"}"#.into()),
        data: Some("{}".into()),
        error: Some(r#"{"kind":"timeout"}"#.into()),
        bailout: Some(Bailout::Time),
        untrusted: true,
        started_at: Some(7),
    };
    let bare = Closing::default();
    for (id, closing) in [("started", &closing), ("told", &closing), ("never", &bare)] {
        world
            .write(|batch| executions::close(batch, &id.into(), ExecutionStatus::Partial, closing, 9))
            .await
            .unwrap();
    }
    let rows = of_turn(&world).await;
    let expected = |id: &str, started_at| ExecutionRow {
        status: ExecutionStatus::Partial,
        result: closing.result.clone(),
        answer: closing.answer.clone(),
        data: closing.data.clone(),
        error: closing.error.clone(),
        bailout: closing.bailout,
        untrusted: true,
        started_at: Some(started_at),
        ended_at: Some(9),
        ..execution("t1", id, "agent")
    };
    assert_eq!(rows[0], expected("started", 5));
    assert_eq!(rows[1], expected("told", 7));
    assert_eq!((rows[2].started_at, rows[2].ended_at, rows[2].untrusted), (Some(9), Some(9), false));
}

async fn the_end_of_a_turn_closes_everything_in_it(world: World) {
    world.turn("t1", "a", &[]).await;
    world.turn("t2", "a", &[]).await;
    for row in [
        execution("t1", "o", "orchestrator"),
        execution("t1", "a", "agent"),
        ExecutionRow {
            status: ExecutionStatus::Completed,
            ended_at: Some(3),
            ..execution("t1", "b", "agent")
        },
        ExecutionRow { status: ExecutionStatus::Waiting, ..execution("t1", "s", "skill") },
        execution("t2", "o2", "orchestrator"),
    ] {
        world.execution(row).await;
    }
    world
        .write(|batch| executions::close_all(batch, &"t1".into(), ExecutionStatus::Failed, 8))
        .await
        .unwrap();
    let rows = of_turn(&world).await;
    let ends: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.status.as_str(), row.ended_at)).collect();
    assert_eq!(
        ends,
        [
            ("o", "failed", Some(8)),
            ("a", "cancelled", Some(8)),
            ("b", "completed", Some(3)),
            ("s", "cancelled", Some(8))
        ]
    );
    let other = executions::of_turn(&world.store, &"t2".into()).await.unwrap();
    assert_eq!(other[0].status, ExecutionStatus::Running);
}

async fn rows_are_found_by_turn_and_by_agent(world: World) {
    world.turn("t1", "a", &[]).await;
    for (id, parent) in
        [("o", None), ("z", Some("o")), ("s2", Some("z")), ("b", Some("o")), ("s1", Some("z"))]
    {
        world
            .execution(ExecutionRow {
                parent_id: parent.map(Into::into),
                ..execution("t1", id, if parent.is_none() { "orchestrator" } else { "agent" })
            })
            .await;
    }
    let ids = |rows: &[ExecutionRow]| rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&of_turn(&world).await), ["o", "z", "s2", "b", "s1"]);
    assert_eq!(ids(&executions::of_agent(&world.store, &"z".into()).await.unwrap()), ["s2", "s1"]);
    assert!(executions::of_agent(&world.store, &"b".into()).await.unwrap().is_empty());
}

async fn agents_are_counted_by_the_beginning_of_their_names(world: World) {
    world.turn("t1", "a", &[]).await;
    world.turn("t2", "a", &[]).await;
    for (turn, id, name) in [
        ("t1", "1", "top"),
        ("t1", "2", "top/hand"),
        ("t1", "3", "top/hand/eye"),
        ("t1", "4", "top_/hand"),
        ("t1", "5", "Top/hand"),
        ("t2", "6", "top/hand"),
    ] {
        let role = Some("hand".to_owned());
        world
            .execution(ExecutionRow { agent_id: Some(name.into()), role, ..execution(turn, id, "agent") })
            .await;
    }
    let named = async |beginning: &str| {
        executions::agents_named(&world.store, &"t1".into(), beginning).await.unwrap()
    };
    assert_eq!((named("top/").await, named("top/hand/").await, named("%").await), (2, 1, 0));
    assert!(of_turn(&world).await.iter().all(|row| row.role.as_deref() == Some("hand")));
}

async fn skill_calls_are_counted_in_their_window(world: World) {
    let room = world.room().await;
    world.turn("t1", "a", &[]).await;
    for (id, kind, started_at) in [
        ("old", "skill", Some(10)),
        ("new", "skill", Some(11)),
        ("newer", "skill", Some(12)),
        ("refused", "skill", None),
        ("agent", "agent", Some(12)),
    ] {
        world.execution(ExecutionRow { started_at, ..execution("t1", id, kind) }).await;
    }
    let party = async |since, most| {
        people::party(&world.store, &room.id, &room.person_id, since, most).await.unwrap()
    };
    assert_eq!(party(11, 9).await.skill_calls, 2);
    assert_eq!(party(10, 9).await.skill_calls, 3);
    assert_eq!(party(11, 1).await.skill_calls, 1, "no more is counted than the limit needs");
    assert_eq!(party(13, 9).await.conversation, room);
    assert_eq!(party(13, 9).await.person.id, room.person_id);
    let nowhere = people::party(&world.store, &"x".into(), &room.person_id, 11, 9).await.unwrap_err();
    assert!(nowhere.to_string().contains("there is no conversation x"), "{nowhere}");
}

async fn what_a_server_asks_is_kept_until_its_call_ends(world: World) {
    world.turn("t1", "a", &[]).await;
    world.execution(execution("t1", "e1", "skill")).await;
    let id = "e1".into();
    assert_eq!(asked::of(&world.store, &id).await.unwrap(), None);
    let mut batch = Batch::new();
    asked::wait(&mut batch, &id, "{\"rounds\": 1}");
    world.store.write(batch).await.unwrap();
    assert_eq!(asked::of(&world.store, &id).await.unwrap().as_deref(), Some("{\"rounds\": 1}"));
    assert_eq!(of_turn(&world).await[0].status, ExecutionStatus::Waiting);
    let mut batch = Batch::new();
    executions::close(&mut batch, &id, ExecutionStatus::Completed, &Closing::default(), 5);
    world.store.write(batch).await.unwrap();
    assert_eq!(asked::of(&world.store, &id).await.unwrap(), None, "nobody's answers stay behind");
    let mut late = Batch::new();
    asked::wait(&mut late, &id, "{}");
    assert!(world.store.write(late).await.is_err());
}

async fn an_event_says_for_whom_it_was_changed(world: World) {
    world.turn("t1", "a", &[]).await;
    let ada = world.person("ada").await.id;
    let call = |id: &str, skill: &str, data: &str| ExecutionRow {
        skill: Some(skill.into()),
        parameters: Some("{}".into()),
        data: Some(data.into()),
        started_at: Some(5),
        ..execution("t1", id, "skill")
    };
    world.execution(call("s1", "calendar.update_event", r#"{"id":"u1"}"#)).await;
    world.execution(call("s2", "calendar.search", r#"{"id":"u2"}"#)).await;
    for (uid, since, by) in [("u1", 5, vec![ada]), ("u1", 6, vec![]), ("u2", 0, vec![])] {
        assert_eq!(
            executions::changers_of(&world.store, uid, since).await.unwrap(),
            by,
            "{uid} since {since}"
        );
    }
}
