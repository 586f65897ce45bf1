//! Plans and what their agents took.

use adjutant_store::calls;
use adjutant_store::executions::ExecutionRow;
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::runs::{self, PlanRow, RunRow};
use adjutant_store::usage::role_history::{self, Took};
use adjutant_types::{Answer, ExecutionKind, QuestionKind, QuestionState, RunStatus};

use crate::calls::call;
use crate::world::{World, execution};

on_both!(
    the_newest_version_of_a_plan_counts,
    a_run_goes_on_with_another_version_of_its_plan,
    what_an_agent_took_counts_those_below_it,
    costs_are_added_up_by_agent,
    an_answer_about_a_plan_reads_back_as_it_was_given,
);

async fn plan(world: &World, id: &str, version: i64) {
    let row = PlanRow {
        id: id.into(),
        version,
        turn_id: "t1".into(),
        goal: "the board meeting".into(),
        body: format!("{{\"version\": {version}}}"),
        created_at: version,
    };
    world.write(|batch| runs::insert_plan(batch, &row)).await.unwrap();
}

async fn the_newest_version_of_a_plan_counts(world: World) {
    world.turn("t1", "a", &[]).await;
    for (id, version) in [("Aab", 1), ("Aac", 1), ("Aab", 2)] {
        plan(&world, id, version).await;
    }
    assert_eq!(runs::plan(&world.store, &"Aab".into()).await.unwrap().unwrap().version, 2);
    assert_eq!(runs::plan(&world.store, &"none".into()).await.unwrap(), None);
    let begins = async |text: &str, limit| {
        let rows = runs::plans_beginning_with(&world.store, text, limit).await.unwrap();
        rows.iter().map(|row| format!("{}:{}", row.id, row.version)).collect::<Vec<_>>()
    };
    assert_eq!(begins("", 10).await, ["Aab:2", "Aac:1"]);
    assert_eq!(begins("Aac", 10).await, ["Aac:1"]);
    assert_eq!(begins("", 1).await, ["Aab:2"]);
    assert_eq!(begins("%", 10).await, [""; 0]);
}

async fn a_run_goes_on_with_another_version_of_its_plan(world: World) {
    world.turn("t1", "a", &[]).await;
    for version in [1, 2] {
        plan(&world, "R", version).await;
    }
    let new = RunRow {
        id: "R".into(),
        turn_id: "t1".into(),
        workflow: "board".into(),
        file: "board.yaml".into(),
        text: "first".into(),
        inputs: "{}".into(),
        rerun_of: None,
        seed: None,
        status: RunStatus::Running,
        report: None,
        outputs: None,
        started_at: 1,
        ended_at: None,
        plan_version: Some(1),
    };
    world.write(|batch| runs::insert(batch, &new)).await.unwrap();
    let version = async |run: &RunRow| runs::plan_of(&world.store, run).await.unwrap().unwrap().version;
    // A version that is only proposed isn't the run's.
    assert_eq!(version(&new).await, 1);
    world.write(|batch| runs::change(batch, &new.id, "second", 2)).await.unwrap();
    let changed = runs::by_id(&world.store, &new.id).await.unwrap().unwrap();
    assert_eq!(
        (version(&changed).await, changed.text.as_str(), changed.plan_version),
        (2, "second", Some(2))
    );
    // One from before versions were kept.
    assert_eq!(version(&RunRow { plan_version: None, ..changed }).await, 2);
}

async fn what_an_agent_took_counts_those_below_it(world: World) {
    world.turn("t1", "a", &[]).await;
    for (id, parent, kind, role, status) in [
        ("top", None, "agent", Some("executor"), "completed"),
        ("below", Some("top"), "agent", Some("reviewer"), "completed"),
        ("mail", Some("top"), "skill", None, "failed"),
        ("look", Some("below"), "skill", None, "completed"),
        ("other", None, "agent", Some("executor"), "partial"),
        ("broken", None, "agent", Some("executor"), "failed"),
    ] {
        let row = execution("t1", id, kind);
        let (role, status) = (role.map(str::to_owned), status.parse().unwrap());
        let parent_id = parent.map(Into::into);
        world.execution(ExecutionRow { role, status, parent_id, ended_at: Some(2), ..row }).await;
    }
    for row in [call("top", 0, 1), call("top", 1, 1), call("below", 0, 1), call("broken", 0, 1)] {
        world.write(|batch| calls::insert(batch, &row)).await.unwrap();
    }
    let mut took = role_history::of_role(&world.store, "executor").await.unwrap();
    took.sort_by_key(|took| took.model_calls);
    let whole = Took { agents: 2, skill_calls: 2, model_calls: 3, prompt: 300, completion: 21 };
    assert_eq!(took, [Took { agents: 1, ..Took::default() }, whole]);
    assert_eq!(role_history::of_role(&world.store, "tester").await.unwrap(), []);
}

async fn costs_are_added_up_by_agent(world: World) {
    world.turn("t1", "a", &[]).await;
    for (id, agent) in [("one", "plan/figures"), ("two", "plan/room")] {
        let mut row = execution("t1", id, ExecutionKind::Agent.as_str());
        row.agent_id = Some(agent.into());
        world.execution(row).await;
        for n in 0..2 {
            let row = call(id, n, 1);
            world.write(|batch| calls::insert(batch, &row)).await.unwrap();
        }
    }
    let mut costs = runs::costs(&world.store, &"t1".into()).await.unwrap();
    costs.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
    let costs: Vec<_> =
        costs.iter().map(|it| (it.agent_id.as_str(), it.calls, it.tokens, it.cost_usd)).collect();
    assert_eq!(costs, [("plan/figures", 2, 214, 1.0), ("plan/room", 2, 214, 1.0)]);
}

async fn an_answer_about_a_plan_reads_back_as_it_was_given(world: World) {
    world.turn("t1", "a", &[]).await;
    let room = world.room().await;
    let kind = QuestionKind::Plan { goal: "the board meeting".into() };
    for (id, answer) in [("q1", Answer::Approve), ("q2", Answer::Reject), ("q3", Answer::change("approve"))] {
        let row = QuestionRow {
            seq: 0,
            body: String::new(),
            id: id.into(),
            conversation_id: room.id.clone(),
            turn_id: "t1".into(),
            execution_id: Some("s".into()),
            person_id: room.person_id.clone(),
            kind: kind.clone(),
            state: QuestionState::Pending,
            answer: None,
            outbox_id: id.into(),
            expires_at: i64::MAX,
        };
        world.write(|batch| questions::ask(batch, &row, 1)).await.unwrap();
        world.write(|batch| questions::answer(batch, &row.id, &answer, &room.person_id, 2)).await.unwrap();
        let kept = questions::by_id(&world.store, &row.id).await.unwrap().unwrap();
        assert_eq!((kept.kind, kept.answer), (kind.clone(), Some(answer)));
    }
}
