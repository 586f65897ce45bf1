//! First messages that name what earlier turns said.

use adjutant_store::calls::{self, CallRow};
use adjutant_store::first_messages::{self, Added};
use adjutant_store::{executions, turns};
use adjutant_types::{ExecutionStatus, TurnStatus};
use serde_json::{Value, json};

use crate::calls::call;
use crate::world::{World, execution};

on_both!(
    what_earlier_turns_said_is_read_from_their_rows,
    first_messages_of_an_earlier_version_are_read_as_they_are
);

/// Turns that have ended, with this answer; returns their numbers.
async fn past(world: &World, turns: &[(&str, &str)]) -> Vec<i64> {
    let mut seqs = Vec::new();
    for (id, answer) in turns {
        let turn = world.turn(id, "a", &[]).await;
        world
            .write(|batch| {
                executions::close_all(batch, &turn.id, ExecutionStatus::Completed, 1);
                turns::end(batch, &turn.id, TurnStatus::Completed, answer, 1);
            })
            .await
            .unwrap();
        seqs.push(turn.seq);
    }
    seqs
}

async fn stored(world: &World, messages: &Value) {
    world.turn("now", "a", &[]).await;
    world.execution(execution("now", "o", "orchestrator")).await;
    let row = CallRow { first_messages: Some(messages.to_string()), ..call("o", 0, 5) };
    world.write(|batch| calls::insert(batch, &row)).await.unwrap();
}

async fn read(world: &World) -> Value {
    let of_execution = calls::of_execution(&world.store, &"o".into()).await.unwrap();
    let of_turn = calls::of_turn(&world.store, &"now".into()).await.unwrap();
    assert_eq!(of_execution, of_turn);
    serde_json::from_str(of_turn[0].first_messages.as_deref().unwrap()).unwrap()
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "text": text})
}

async fn what_earlier_turns_said_is_read_from_their_rows(world: World) {
    let seqs =
        past(&world, &[("t1", "Nothing."), ("between", "not seen"), ("t2", ""), ("t3", "Good night!")]).await;
    let added = |day: &str, more: &str| Added { day: day.into(), more: more.into() };
    let (nothing, dated) = (added("", ""), added("[Sun 4 Jan 2026] ", ""));
    let touched = added("", "\n(touched: task t1 “sing”)");
    let named = [(seqs[0], &dated), (seqs[2], &nothing), (seqs[3], &touched)];
    let head = message("system", "Person: Ada");
    let said = message("user", "say \"cut\": no");
    stored(&world, &json!([head, first_messages::past(&named, 9), said])).await;
    let asked = message("user", "what is o");
    let on_sunday = message("user", "[Sun 4 Jan 2026] what is o");
    assert_eq!(
        read(&world).await,
        json!([
            head,
            on_sunday,
            message("assistant", "Nothing."),
            asked,
            message("assistant", "(no answe"),
            asked,
            message("assistant", "Good nigh\n(touched: task t1 “sing”)"),
            said
        ])
    );
    // What was deleted is gone from here, too.
    world.by_hand("UPDATE turns SET forgotten_at = 1 WHERE id = 't1'").await;
    world.by_hand("UPDATE turns SET bodies_emptied_at = 1, text = '', answer = '' WHERE id = 't2'").await;
    world.by_hand("DELETE FROM turns WHERE id = 't3'").await;
    let gone = read(&world).await;
    let texts: Vec<&str> = gone.as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(texts[2..7], ["(no longer kept)"; 5]);
    assert_eq!(texts[1], "[Sun 4 Jan 2026] (no longer kept)");
    assert_eq!(texts[7], "say \"cut\": no");
}

async fn first_messages_of_an_earlier_version_are_read_as_they_are(world: World) {
    let messages = json!([message("system", "Person: Ada"), message("user", "{\"past\": [1], \"cut\": 5}")]);
    stored(&world, &messages).await;
    assert_eq!(read(&world).await, messages);
}
