//! Plans and what their agents took.

use adjutant::domain::{Answer, ExecutionKind, QuestionKind, QuestionState};
use adjutant::store::calls;
use adjutant::store::questions::{self, QuestionRow};
use adjutant::store::runs::{self, PlanRow};

use crate::calls::call;
use crate::world::{World, execution};

on_both!(
    the_newest_version_of_a_plan_counts,
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
