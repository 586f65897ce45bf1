//! The person's to-do list.

use adjutant_store::Stale;
use adjutant_store::tasks::{self, TaskRow};
use adjutant_types::{Priority, TaskState};

use crate::world::{World, refused, stale};

on_both!(
    a_task_is_kept_as_it_was,
    a_task_is_its_persons_alone,
    a_task_is_completed_once,
    a_deleted_task_is_gone,
    the_most_urgent_come_first,
);

pub(crate) async fn task(world: &World, id: &str, due_at: Option<i64>) -> TaskRow {
    TaskRow {
        id: id.into(),
        person_id: world.person("ada").await.id,
        title: "send the report".into(),
        notes: String::new(),
        due: due_at.map(|_| "2026-01-09T17:00".into()),
        due_at,
        remind_at: None,
        tags: r#"["work","q1"]"#.into(),
        priority: Priority::Normal,
        recurrence: Some("FREQ=WEEKLY".into()),
        state: TaskState::Open,
        created_at: world.store.now(),
    }
}

async fn add(world: &World, id: &str, due_at: Option<i64>) -> TaskRow {
    let task = task(world, id, due_at).await;
    world.write(|batch| tasks::insert(batch, &task)).await.unwrap();
    task
}

async fn find(world: &World, task: &TaskRow) -> Option<TaskRow> {
    tasks::by_id(&world.store, &task.person_id, &task.id).await.unwrap()
}

async fn a_task_is_kept_as_it_was(world: World) {
    let (with, without) = (add(&world, "with", Some(5)).await, add(&world, "none", None).await);
    assert_eq!(find(&world, &with).await.as_ref(), Some(&with));
    assert_eq!(find(&world, &without).await, Some(without));
    assert_eq!(with.tag_list(), ["work", "q1"]);
    assert!(TaskRow { tags: "work".into(), ..with.clone() }.tag_list().is_empty());
    refused(world.write(|batch| tasks::insert(batch, &with)).await);
    let nonsense = "UPDATE tasks SET priority = 'urgent!' WHERE id = 'with'";
    refused(
        world
            .write(|batch| {
                batch.run(nonsense, []);
            })
            .await,
    );
    let changed = TaskRow {
        title: "send the budget".into(),
        notes: "to Bob".into(),
        due: None,
        due_at: None,
        tags: "[]".into(),
        recurrence: None,
        priority: Priority::High,
        ..with
    };
    world.write(|batch| tasks::update(batch, &changed)).await.unwrap();
    assert_eq!(find(&world, &changed).await, Some(changed));
}

async fn a_task_is_its_persons_alone(world: World) {
    let task = add(&world, "a", None).await;
    let theirs =
        TaskRow { person_id: world.person("bob").await.id, title: "mine now".into(), ..task.clone() };
    assert_eq!(find(&world, &theirs).await, None);
    assert_eq!(stale(world.write(|batch| tasks::update(batch, &theirs)).await), Stale::TaskGone);
    assert!(tasks::of_person(&world.store, &theirs.person_id, None, 9).await.unwrap().is_empty());
    assert_eq!(find(&world, &task).await, Some(task));
}

async fn a_task_is_completed_once(world: World) {
    let task = add(&world, "a", None).await;
    world.write(|batch| tasks::complete(batch, &"a".into(), 9)).await.unwrap();
    assert_eq!(find(&world, &task).await.unwrap().state, TaskState::Done);
    let again = world.write(|batch| tasks::complete(batch, &"a".into(), 10)).await;
    assert_eq!(stale(again), Stale::TaskNotOpen);
}

async fn a_deleted_task_is_gone(world: World) {
    let task = add(&world, "a", None).await;
    world.write(|batch| tasks::delete(batch, &"a".into())).await.unwrap();
    assert_eq!(find(&world, &task).await, None);
    assert_eq!(stale(world.write(|batch| tasks::delete(batch, &"a".into())).await), Stale::TaskGone);
    stale(world.write(|batch| tasks::complete(batch, &"a".into(), 1)).await);
}

async fn the_most_urgent_come_first(world: World) {
    let person = world.person("ada").await.id;
    for (id, due_at) in
        [("some day", None), ("later", Some(20)), ("done", Some(1)), ("soon", Some(10)), ("too", Some(10))]
    {
        add(&world, id, due_at).await;
    }
    world.write(|batch| tasks::complete(batch, &"done".into(), 9)).await.unwrap();
    let ids = async |state, limit| {
        let tasks = tasks::of_person(&world.store, &person, state, limit).await.unwrap();
        tasks.into_iter().map(|task| task.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(Some(TaskState::Open), 9).await, ["soon", "too", "later", "some day"]);
    assert_eq!(ids(Some(TaskState::Open), 2).await, ["soon", "too"]);
    assert_eq!(ids(Some(TaskState::Done), 9).await, ["done"]);
    assert_eq!(ids(None, 9).await, ["soon", "too", "later", "some day", "done"]);
}
