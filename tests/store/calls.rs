//! Model calls, and the pairing of tool calls with their results.

use adjutant_store::calls::{self, CallRow, ToolCallRow};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::turns;
use adjutant_types::{ExecutionStatus, TurnStatus};

use crate::world::{World, execution, refused};

on_both!(
    a_call_is_kept_as_it_was,
    nothing_follows_an_unanswered_tool_call,
    a_tool_call_belongs_to_a_call_and_is_there_once,
    a_result_is_never_overwritten,
    a_beginning_is_kept_once,
    the_calls_of_a_turn_come_in_the_order_of_their_executions,
    what_a_model_says_beside_its_calls_is_shown_once_and_begins_the_answer,
    what_another_turn_of_the_person_has_done_since_is_found,
);

/// A model call without tools, for half a dollar.
pub(crate) fn call(execution: &str, n: i64, started_at: i64) -> CallRow {
    CallRow {
        execution_id: execution.into(),
        n,
        prefix: "abc".into(),
        first_messages: (n == 0).then(|| "[]".into()),
        text: "well".into(),
        model: "scripted".into(),
        error: None,
        prompt_tokens: 100,
        cached_tokens: 80,
        completion_tokens: 7,
        cost_usd: 0.5,
        started_at,
        duration_ms: 12,
    }
}

pub(crate) fn tool_call(execution: &str, n: i64, idx: i64, result: Option<&str>) -> ToolCallRow {
    ToolCallRow {
        execution_id: execution.into(),
        n,
        idx,
        call_id: format!("c{n}.{idx}"),
        name: "use_skill".into(),
        arguments: r#"{"a": "#.into(),
        result: result.map(str::to_owned),
    }
}

/// A turn with one orchestrator, `o`.
async fn begin(world: &World) {
    world.turn("t1", "a", &[]).await;
    world.execution(execution("t1", "o", "orchestrator")).await;
}

async fn a_call_is_kept_as_it_was(world: World) {
    begin(&world).await;
    let failed = CallRow { error: Some("{}".into()), cost_usd: 1e-9, ..call("o", 1, 6) };
    let rows = [call("o", 0, 5), failed];
    for row in &rows {
        world.write(|batch| calls::insert(batch, row)).await.unwrap();
    }
    assert_eq!(calls::of_execution(&world.store, &"o".into()).await.unwrap(), rows);
    assert!(calls::of_execution(&world.store, &"p".into()).await.unwrap().is_empty());
    refused(world.write(|batch| calls::insert(batch, &rows[0])).await);
    refused(world.write(|batch| calls::insert(batch, &call("no execution", 0, 1))).await);
}

async fn nothing_follows_an_unanswered_tool_call(world: World) {
    begin(&world).await;
    let tools = [tool_call("o", 0, 0, Some("done")), tool_call("o", 0, 1, None)];
    world
        .write(|batch| {
            calls::insert(batch, &call("o", 0, 1));
            tools.iter().for_each(|tool| calls::insert_tool_call(batch, tool));
        })
        .await
        .unwrap();
    let why = refused(world.write(|batch| calls::insert(batch, &call("o", 1, 2))).await);
    assert!(why.contains("a tool call of this execution has no result yet"), "{why}");
    assert_eq!(calls::of_execution(&world.store, &"o".into()).await.unwrap().len(), 1);

    world.execution(execution("t1", "other", "agent")).await;
    world.write(|batch| calls::insert(batch, &call("other", 0, 2))).await.unwrap();

    let answer = tool_call("o", 0, 1, Some("late"));
    world
        .write(|batch| {
            calls::set_tool_result(batch, &answer);
            calls::insert(batch, &call("o", 1, 3));
        })
        .await
        .unwrap();
    let stored = calls::tools_of_execution(&world.store, &"o".into()).await.unwrap();
    assert_eq!(stored, [tool_call("o", 0, 0, Some("done")), answer]);
}

async fn what_a_model_says_beside_its_calls_is_shown_once_and_begins_the_answer(world: World) {
    begin(&world).await;
    for (n, name) in [(0, "dispatch"), (1, "wait"), (2, "wait")] {
        let tool = ToolCallRow { name: name.into(), ..tool_call("o", n, 0, Some("done")) };
        world
            .write(|batch| {
                calls::insert(batch, &call("o", n, n));
                calls::insert_tool_call(batch, &tool);
            })
            .await
            .unwrap();
    }
    // The answer has no calls.
    world.write(|batch| calls::insert(batch, &call("o", 3, 3))).await.unwrap();
    let unshown = async || calls::unshown(&world.store, &"t1".into()).await.unwrap();
    assert_eq!(unshown().await, [0, 1, 2].map(|n| (n, "well".to_owned())));

    world.write(|batch| turns::set_shown(batch, &"t1".into(), 1, "well")).await.unwrap();
    assert_eq!(unshown().await, [(2, "well".to_owned())]);
    // A history that cuts the answer has some of its end all the same.
    for text in ["é".repeat(9_000), "and so on".to_owned()] {
        world.write(|batch| turns::set_shown(batch, &"t1".into(), 2, &text)).await.unwrap();
    }
    world.write(|batch| turns::end(batch, &"t1".into(), TurnStatus::Completed, "done", 9)).await.unwrap();
    let turn = turns::by_id(&world.store, &"t1".into()).await.unwrap().unwrap();
    let answer = format!("well\n\n{}\n\ndone", "é".repeat(1_000));
    assert_eq!((turn.answer, turn.shown_round), (Some(answer), 2));
}

async fn what_another_turn_of_the_person_has_done_since_is_found(world: World) {
    begin(&world).await;
    world.turn("t2", "a", &[]).await;
    for (id, status, ended_at) in [
        ("early", ExecutionStatus::Completed, 4),
        ("late", ExecutionStatus::Completed, 6),
        ("failed", ExecutionStatus::Failed, 7),
    ] {
        let (skill, result) = (Some("tasks.create".to_owned()), Some(id.to_owned()));
        let row = execution("t2", id, "skill");
        world.execution(ExecutionRow { status, skill, result, ended_at: Some(ended_at), ..row }).await;
    }
    let since = async |turn: &str| executions::done_elsewhere(&world.store, &turn.into(), 5).await.unwrap();
    let done: Vec<Option<String>> = since("t1").await.into_iter().map(|call| call.result).collect();
    assert_eq!(done, [Some("late".to_owned())]);
    assert!(since("t2").await.is_empty(), "its own calls are no others");
}

async fn a_tool_call_belongs_to_a_call_and_is_there_once(world: World) {
    begin(&world).await;
    refused(world.write(|batch| calls::insert_tool_call(batch, &tool_call("o", 0, 0, None))).await);
    world.write(|batch| calls::insert(batch, &call("o", 0, 1))).await.unwrap();
    world.write(|batch| calls::insert_tool_call(batch, &tool_call("o", 0, 0, None))).await.unwrap();
    refused(world.write(|batch| calls::insert_tool_call(batch, &tool_call("o", 0, 0, None))).await);
    let same_id = ToolCallRow { idx: 1, ..tool_call("o", 0, 0, None) };
    refused(world.write(|batch| calls::insert_tool_call(batch, &same_id)).await);
    assert_eq!(
        calls::tools_of_execution(&world.store, &"o".into()).await.unwrap(),
        [tool_call("o", 0, 0, None)]
    );
}

async fn a_result_is_never_overwritten(world: World) {
    begin(&world).await;
    world
        .write(|batch| {
            calls::insert(batch, &call("o", 0, 1));
            calls::insert_tool_call(batch, &tool_call("o", 0, 0, None));
        })
        .await
        .unwrap();
    for result in ["first", "second"] {
        let row = tool_call("o", 0, 0, Some(result));
        world.write(|batch| calls::set_tool_result(batch, &row)).await.unwrap();
    }
    let stored = calls::tools_of_execution(&world.store, &"o".into()).await.unwrap();
    assert_eq!(stored[0].result.as_deref(), Some("first"));
}

async fn a_beginning_is_kept_once(world: World) {
    for system in ["you are", "something else"] {
        world.write(|batch| calls::insert_prefix(batch, "abc", system, "[]")).await.unwrap();
    }
    let kept = calls::prefix(&world.store, "abc").await.unwrap();
    assert_eq!(kept, Some(("you are".into(), "[]".into())));
    assert_eq!(calls::prefix(&world.store, "abd").await.unwrap(), None);
    assert_eq!(world.store.count("SELECT count(*) FROM prefixes", &[]).await.unwrap(), 1);
}

async fn the_calls_of_a_turn_come_in_the_order_of_their_executions(world: World) {
    begin(&world).await;
    world.turn("t2", "a", &[]).await;
    for (turn, id) in [("t1", "z"), ("t1", "b"), ("t2", "elsewhere")] {
        world.execution(execution(turn, id, "agent")).await;
    }
    for (id, n) in [("b", 0), ("z", 0), ("elsewhere", 0), ("z", 1), ("o", 0)] {
        world.write(|batch| calls::insert(batch, &call(id, n, 1))).await.unwrap();
    }
    let calls = calls::of_turn(&world.store, &"t1".into()).await.unwrap();
    let order: Vec<_> = calls.iter().map(|call| (call.execution_id.as_str(), call.n)).collect();
    assert_eq!(order, [("o", 0), ("z", 0), ("z", 1), ("b", 0)]);
}
