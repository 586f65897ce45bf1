//! Usage by model, person and skill.

use adjutant_store::calls::{self, CallRow};
use adjutant_store::executions::ExecutionRow;
use adjutant_store::usage;

use crate::calls::call;
use crate::world::{World, execution};

on_both!(what_was_used_in_a_time_is_summed, roles_are_summed_with_their_model_calls);

async fn what_was_used_in_a_time_is_summed(world: World) {
    world.turn("t1", "a", &[]).await;
    world.execution(execution("t1", "o", "orchestrator")).await;
    let failed = CallRow { error: Some("{}".into()), model: "other".into(), ..call("o", 1, 20) };
    for row in [call("o", 0, 10), failed, call("o", 2, 29), call("o", 3, 30)] {
        world.write(|batch| calls::insert(batch, &row)).await.unwrap();
    }
    for (id, status, ended_at) in
        [("s1", "completed", Some(15)), ("s2", "failed", Some(12)), ("s3", "running", None)]
    {
        let row = execution("t1", id, "skill");
        let skill = Some("tasks.add".into());
        let (status, started_at) = (status.parse().unwrap(), Some(10));
        world.execution(ExecutionRow { skill, status, started_at, ended_at, ..row }).await;
    }
    let room = world.room().await;
    for (id, started_at, audio_ms, error) in
        [("f1", 9, 0, None), ("f2", 12, 0, None), ("v1", 12, 3500, None), ("v2", 12, 9000, Some("down"))]
    {
        let is_note = audio_ms > 0;
        let aside = usage::BackgroundCall {
            id: id.into(),
            conversation_id: room.id.clone(),
            person_id: room.person_id.clone(),
            purpose: if is_note { "voice note" } else { "fold" }.into(),
            model: if is_note { "whisper" } else { "folder" }.into(),
            error: error.map(str::to_owned),
            tokens: if is_note { [0; 3] } else { [10, 0, 1] },
            cost_usd: if is_note { 0.0 } else { 0.25 },
            started_at,
            duration_ms: 1,
            audio_ms,
        };
        world.write(|batch| usage::insert_background_call(batch, &aside)).await.unwrap();
    }
    let rows = usage::by_model(&world.store, 10, 30).await.unwrap();
    let seen: Vec<_> =
        rows.iter().map(|row| (row.name.as_str(), row.calls, row.failed, row.prompt, row.cost_usd)).collect();
    assert_eq!(
        seen,
        [
            ("scripted", 2, 0, 200, 1.0),
            ("other", 1, 1, 100, 0.5),
            ("folder", 1, 0, 10, 0.25),
            ("whisper", 2, 1, 0, 0.0)
        ]
    );
    // A service that was down heard nothing.
    assert_eq!(rows.iter().map(|row| row.audio_ms).collect::<Vec<_>>(), [0, 0, 0, 3500]);
    let rows = usage::by_person(&world.store, 10, 30).await.unwrap();
    assert_eq!((rows.len(), rows[0].name.as_str(), rows[0].calls), (1, "ada", 6));
    assert_eq!((rows[0].cached, rows[0].completion, rows[0].failed), (240, 22, 2));
    assert_eq!(rows[0].audio_ms, 3500);
    let rows = usage::by_skill(&world.store, 10, 30).await.unwrap();
    assert_eq!((rows.len(), rows[0].calls, rows[0].failed, rows[0].duration_ms), (1, 3, 1, 7));
    assert_eq!(usage::by_model(&world.store, 31, 99).await.unwrap(), []);
}

async fn roles_are_summed_with_their_model_calls(world: World) {
    world.turn("t1", "a", &[]).await;
    for (id, role, status, bailout, ended_at) in [
        ("a1", Some("tester"), "completed", None, Some(15)),
        ("a2", Some("tester"), "partial", Some("model_calls"), Some(25)),
        ("a3", Some("tester"), "running", None, None),
        ("a4", Some("planner"), "timeout", Some("time"), Some(40)),
        ("a5", None, "completed", None, Some(15)),
    ] {
        let row = execution("t1", id, "agent");
        let (status, role) = (status.parse().unwrap(), role.map(str::to_owned));
        let bailout = bailout.map(|word: &str| word.parse().unwrap());
        world.execution(ExecutionRow { role, status, bailout, started_at: Some(10), ended_at, ..row }).await;
    }
    for row in [call("a1", 0, 10), call("a1", 1, 12), call("a2", 0, 11), call("a5", 0, 11)] {
        world.write(|batch| calls::insert(batch, &row)).await.unwrap();
    }
    let root = execution("t1", "o1", "orchestrator");
    world.execution(ExecutionRow { started_at: Some(10), ..root }).await;
    world.write(|batch| calls::insert(batch, &call("o1", 0, 11))).await.unwrap();
    let rows = usage::by_role(&world.store, 10, 30).await.unwrap();
    let one = call("a1", 0, 10);
    let [tester, planner] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((tester.name.as_str(), tester.agents, tester.completed, tester.calls), ("tester", 2, 1, 3));
    assert_eq!((tester.out_of_model_calls, tester.out_of_time, tester.duration_ms), (1, 0, 20));
    assert_eq!((tester.prompt, tester.completion), (3 * one.prompt_tokens, 3 * one.completion_tokens));
    assert!((tester.cost_usd - 3.0 * one.cost_usd).abs() < 1e-9);
    assert_eq!((planner.agents, planner.completed, planner.out_of_time, planner.calls), (1, 0, 1, 0));
    assert_eq!(usage::by_role(&world.store, 11, 30).await.unwrap(), []);
    let (calls, tokens, usd) = usage::of_orchestrator(&world.store, 10, 30).await.unwrap();
    assert_eq!((calls, tokens), (1, one.prompt_tokens + one.completion_tokens));
    assert!((usd - one.cost_usd).abs() < 1e-9);
    assert_eq!(usage::of_orchestrator(&world.store, 12, 30).await.unwrap(), (0, 0, 0.0));
}
