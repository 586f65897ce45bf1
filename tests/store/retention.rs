//! Retention empties what is old enough, and nothing that is still in use.

use std::time::Duration;

use adjutant_store::Stale;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::outbox::{self, Message};
use adjutant_store::people::{self, Conversation};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::retention::{self, Ages, Emptied};
use adjutant_store::turns::TurnRow;
use adjutant_store::{Batch, Value, calls, check, inbox, turns, usage};
use adjutant_types::{
    Allowance, Answer, ExecutionKind, ExecutionStatus, InboxKind, OutboxId, QuestionKind, QuestionState,
    Taint, TurnStatus,
};

use crate::calls::{call, tool_call};
use crate::world::{World, execution};

on_both!(
    what_is_over_is_emptied_and_what_is_alive_is_not,
    numbers_and_statuses_stay,
    what_belongs_to_no_turn_is_emptied_too,
    old_memories_go,
    many_turns_are_emptied_in_one_pass,
);

const DAY: Duration = Duration::from_hours(24);

const ALL: Ages = Ages { bodies: Some(DAY), traces: Some(DAY), memories: Some(DAY), files: Some(DAY) };

/// A completely finished turn that ended now, in its own conversation; its texts contain `xyzzy`.
async fn turn(world: &World, id: &str) -> Conversation {
    let ada = world.person("ada").await;
    let conversation = people::conversation(&world.store, "console", id, &ada.id, true).await.unwrap();
    turn_in(world, &conversation, id).await;
    conversation
}

fn question(conversation: &Conversation, turn: &str, outbox_id: OutboxId) -> QuestionRow {
    QuestionRow {
        seq: 0,
        body: String::new(),
        id: format!("{turn}-question").into(),
        conversation_id: conversation.id.clone(),
        turn_id: turn.into(),
        execution_id: None,
        person_id: conversation.person_id.clone(),
        kind: QuestionKind::Approval {
            preview: "xyzzy preview".into(),
            arguments: "xyzzy parameters".into(),
            rule: Allowance::mail("xyzzy@acme.test", "ada@home.test"),
            delay: None,
        },
        state: QuestionState::Pending,
        answer: None,
        outbox_id,
        expires_at: i64::MAX,
    }
}

fn new_agent(turn: &str, root: &str) -> ExecutionRow {
    ExecutionRow {
        parent_id: Some(root.to_owned().into()),
        task: Some(r#"{"mission": "xyzzy"}"#.into()),
        parameters: Some(r#"{"q": "xyzzy"}"#.into()),
        ..execution(turn, &format!("{turn}-agent"), "agent")
    }
}

async fn turn_in(world: &World, conversation: &Conversation, id: &str) {
    let now = world.store.now();
    let arrived = inbox::NewRow {
        taint: Taint::default(),
        event: format!("console {id}"),
        conversation_id: &conversation.id,
        person_id: &conversation.person_id,
        kind: InboxKind::Message,
        text: "xyzzy said",
        question_id: None,
        instance: &"i".into(),
        voice: None,
        files: Vec::new(),
        mentions: String::new(),
        is_addressed: true,
    };
    let row = inbox::insert(&world.store, &arrived).await.unwrap().unwrap();
    let new = world.new_turn(id, "i").await;
    let new = TurnRow { conversation_id: conversation.id.clone(), text: "xyzzy said".into(), ..new };
    let root = format!("{id}-root");
    let agent = new_agent(id, &root);
    let failed = r#"{"kind":"network","message":"xyzzy is away"}"#.to_owned();
    let closing = executions::Closing {
        result: Some("xyzzy".into()),
        data: Some(r#"["xyzzy"]"#.into()),
        error: Some(failed),
        ..executions::Closing::default()
    };
    world
        .write(|batch| {
            turns::start(batch, &new, &[row]);
            executions::insert(batch, &execution(id, &root, "orchestrator"), &conversation.id);
            executions::insert(batch, &agent, &conversation.id);
            let first = calls::CallRow {
                first_messages: Some(r#"["xyzzy"]"#.into()),
                text: "xyzzy".into(),
                ..call(&root, 0, now)
            };
            calls::insert(batch, &first);
            calls::insert_tool_call(batch, &tool_call(&root, 0, 0, Some("xyzzy")));
            calls::insert(batch, &calls::CallRow { error: Some("xyzzy".into()), ..call(&root, 1, now) });
            executions::close(batch, &agent.id, ExecutionStatus::Failed, &closing, now);
            executions::close(
                batch,
                &root.as_str().into(),
                ExecutionStatus::Completed,
                &executions::Closing::default(),
                now,
            );
            let message =
                Message { turn: Some(id.into()), text: "xyzzy answer".into(), ..Message::default() };
            let said = outbox::say(&world.store, batch, &conversation.id, &"i".into(), &message);
            let asked = question(conversation, id, said);
            questions::ask(batch, &asked, now);
            questions::answer(batch, &asked.id, &Answer::Approve, &conversation.person_id, now);
            turns::end(batch, &id.into(), TurnStatus::Completed, "xyzzy answer", now);
            batch.run("UPDATE outbox SET state = 'sent', sent_at = 1 WHERE turn_id = $1", [id.into()]);
        })
        .await
        .unwrap();
}

async fn run(world: &World, sql: &'static str, arguments: [Value; 1]) {
    let mut batch = Batch::new();
    batch.must(Stale::PersonGone, sql, arguments);
    world.store.write(batch).await.unwrap();
}

/// Whether a turn's texts, and its trace, contain what was said: all of it or nothing.
async fn holds(world: &World, turn: &str) -> (bool, bool) {
    const TEXTS: [&str; 4] = [
        "SELECT count(*) FROM turns WHERE id = $1 AND text LIKE '%xyzzy%' AND answer LIKE '%xyzzy%'",
        "SELECT count(*) FROM inbox WHERE turn_id = $1 AND text LIKE '%xyzzy%'",
        "SELECT count(*) FROM outbox WHERE turn_id = $1 AND text LIKE '%xyzzy%'",
        "SELECT count(*) FROM questions WHERE turn_id = $1 AND subject LIKE '%xyzzy%'",
    ];
    const TRACE: [&str; 5] = [
        "SELECT count(*) FROM questions WHERE turn_id = $1 AND detail LIKE '%xyzzy%'",
        "SELECT count(*) FROM executions WHERE turn_id = $1 AND (task LIKE '%xyzzy%' OR parameters LIKE '%xyzzy%' \
         OR result LIKE '%xyzzy%' OR data LIKE '%xyzzy%' OR error LIKE '%xyzzy%')",
        "SELECT count(*) FROM calls c JOIN executions e ON e.id = c.execution_id WHERE e.turn_id = $1 \
         AND c.n = 0 AND (c.first_messages LIKE '%xyzzy%' OR c.text LIKE '%xyzzy%')",
        "SELECT count(*) FROM calls c JOIN executions e ON e.id = c.execution_id WHERE e.turn_id = $1 \
         AND c.n = 1 AND c.error LIKE '%xyzzy%'",
        "SELECT count(*) FROM tool_calls c JOIN executions e ON e.id = c.execution_id WHERE e.turn_id = $1 \
         AND (c.result LIKE '%xyzzy%' OR c.arguments LIKE '%\"a\"%')",
    ];
    let mut held = Vec::new();
    for part in [&TEXTS[..], &TRACE[..]] {
        let mut counts = Vec::new();
        for sql in part {
            counts.push(world.store.count(sql, &[turn.into()]).await.unwrap() > 0);
        }
        assert!(counts.iter().all(|held| *held == counts[0]), "{turn} is half emptied: {counts:?}");
        held.push(counts[0]);
    }
    (held[0], held[1])
}

/// A change to a finished turn, in the conversation $1 with the same name as the turn, and whether its texts and
/// its trace are then kept.
const CASES: [(&str, &str, bool, bool); 14] = [
    ("folded", "UPDATE conversations SET compacted_to = 1000000 WHERE place = $1", false, false),
    ("forgotten", "UPDATE conversations SET history_from = 1000000 WHERE place = $1", false, false),
    ("silent", "UPDATE conversations SET summary = 'xyzzy' WHERE place = $1", false, false),
    ("given-up", "UPDATE outbox SET state = 'dead' WHERE turn_id = $1", false, false),
    ("of-late", "UPDATE turns SET ended_at = ended_at + 9 * 86400000 WHERE id = $1", true, true),
    ("running", "UPDATE turns SET ended_at = NULL, status = 'running' WHERE id = $1", true, true),
    ("parked", "UPDATE turns SET ended_at = NULL, status = 'waiting' WHERE id = $1", true, true),
    ("asked", "UPDATE questions SET state = 'pending' WHERE turn_id = $1", true, true),
    ("unsent", "UPDATE outbox SET state = 'pending' WHERE turn_id = $1", true, true),
    ("sending", "UPDATE outbox SET state = 'sending' WHERE turn_id = $1", true, true),
    ("unknown", "UPDATE outbox SET state = 'unknown' WHERE turn_id = $1", true, true),
    ("taken", "UPDATE inbox SET state = 'taken' WHERE turn_id = $1", true, true),
    (
        "spoken-to",
        "INSERT INTO inbox (event, conversation_id, person_id, kind, text, instance, received_at) \
         SELECT 'console new', id, person_id, 'said', 'go on', 'i', 0 FROM conversations WHERE place = $1",
        true,
        false,
    ),
    ("still-open", "UPDATE turns SET ended_at = NULL WHERE id = $1 || '-2'", true, false),
];

async fn what_is_over_is_emptied_and_what_is_alive_is_not(world: World) {
    let mut conversations = Vec::new();
    for (case, ..) in CASES {
        conversations.push(turn(&world, case).await);
    }
    turn_in(&world, conversations.last().unwrap(), "still-open-2").await;
    let talking = turn(&world, "talking").await;
    for (case, sql, ..) in CASES {
        run(&world, sql, [case.into()]).await;
    }
    world.clock.advance(9 * DAY);
    turn_in(&world, &talking, "talking-2").await;
    world.clock.advance(DAY / 2);
    let emptied = retention::pass(&world.store, &ALL).await.unwrap();
    for (case, _, texts, trace) in CASES {
        assert_eq!(holds(&world, case).await, (texts, trace), "{case}");
    }
    assert_eq!(holds(&world, "talking").await, (true, false), "the next turn is shown what was said");
    assert_eq!(holds(&world, "talking-2").await, (true, true));
    assert_eq!(emptied, Emptied { bodies: 4, traces: 7, memories: 0, files: 0 });
    assert_eq!(retention::pass(&world.store, &ALL).await.unwrap(), Emptied::default(), "it is done");

    for (case, conversation) in CASES.iter().zip(&conversations) {
        let after = people::conversation_by_id(&world.store, &conversation.id).await.unwrap();
        assert_eq!(after.summary, "", "{}", case.0);
        let after = after.history_from.max(after.compacted_to);
        let shown = turns::ended_after(&world.store, &conversation.id, after, 9).await.unwrap();
        assert!(shown.iter().all(|turn| turn.text.contains("xyzzy")), "{}: {shown:?}", case.0);
    }
}

async fn numbers_and_statuses_stay(world: World) {
    turn(&world, "t").await;
    let later = world.store.now() + 1;
    let used = async || {
        let models = usage::by_model(&world.store, 0, later).await.unwrap();
        let people = usage::by_person(&world.store, 0, later).await.unwrap();
        let counts = check::counts(&world.store).await.unwrap();
        (models, people, counts, calls::of_turn(&world.store, &"t".into()).await.unwrap().len())
    };
    let before = used().await;
    world.clock.advance(2 * DAY);
    // The trace goes with the texts.
    let ages = Ages { traces: None, ..ALL };
    assert_eq!(
        retention::pass(&world.store, &ages).await.unwrap(),
        Emptied { bodies: 1, traces: 1, memories: 0, files: 0 }
    );
    assert_eq!(used().await, before);
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
    let rows = executions::of_turn(&world.store, &"t".into()).await.unwrap();
    let agent = rows.iter().find(|row| row.kind == ExecutionKind::Agent).unwrap();
    assert_eq!(
        (agent.status, agent.error.as_deref()),
        (ExecutionStatus::Failed, Some(r#"{"kind":"network","message":""}"#))
    );
    let now = Some(world.store.now());
    assert_eq!(retention::emptied(&world.store, &"t".into()).await.unwrap(), (now, now));
    assert_eq!(retention::emptied(&world.store, &"none".into()).await.unwrap(), (None, None));
}

async fn what_belongs_to_no_turn_is_emptied_too(world: World) {
    let room = world.room().await;
    let said = |text: &str| Message { text: text.into(), ..Message::default() };
    let (command, _new) = (world.said("m1", "/xyzzy", "i").await, world.said("m2", "xyzzy", "i").await);
    world
        .write(|batch| {
            inbox::mark_done(batch, command.id, None);
            let sent = outbox::say(&world.store, batch, &room.id, &"i".into(), &said("xyzzy sent"));
            batch.run("UPDATE outbox SET state = 'sent' WHERE id = $1", [sent.into()]);
            outbox::say(&world.store, batch, &room.id, &"i".into(), &said("xyzzy unsent"));
        })
        .await
        .unwrap();
    assert_eq!(retention::pass(&world.store, &ALL).await.unwrap(), Emptied::default());
    world.clock.advance(2 * DAY);
    assert_eq!(retention::pass(&world.store, &ALL).await.unwrap().bodies, 2);
    let left: Vec<(String,)> = world
        .store
        .all("SELECT text FROM inbox WHERE text <> '' UNION SELECT text FROM outbox WHERE text <> ''", &[])
        .await
        .unwrap();
    let mut left: Vec<&str> = left.iter().map(|row| row.0.as_str()).collect();
    left.sort_unstable();
    assert_eq!(left, ["xyzzy", "xyzzy unsent"], "what waits stays");
}

async fn old_memories_go(world: World) {
    let room = world.room().await;
    let remember = |id: &str, at: i64| {
        let mut batch = Batch::new();
        let memory = adjutant_store::memories::MemoryRow {
            id: id.into(),
            kind: "fact".into(),
            scope: "private".into(),
            text: "xyzzy is a word".into(),
            tags: "[]".into(),
            topic: String::new(),
            created_at: at,
        };
        adjutant_store::memories::insert(&mut batch, &room.person_id, &room.id, &memory);
        world.store.write(batch)
    };
    for number in 0..25 {
        remember(&format!("old{number}"), world.store.now()).await.unwrap();
    }
    world.clock.advance(2 * DAY);
    remember("new", world.store.now()).await.unwrap();
    let none = Ages { memories: None, ..ALL };
    assert_eq!(retention::pass(&world.store, &none).await.unwrap().memories, 0);
    assert_eq!(retention::pass(&world.store, &ALL).await.unwrap().memories, 25);
    let found = crate::memories::recall(&world.store, &room, "xyzzy", "", 9).await;
    assert_eq!(found.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["new"]);
}

async fn many_turns_are_emptied_in_one_pass(world: World) {
    for number in 0..35 {
        turn(&world, &format!("t{number}")).await;
    }
    world.clock.advance(2 * DAY);
    let emptied = retention::pass(&world.store, &ALL).await.unwrap();
    assert_eq!(emptied, Emptied { bodies: 35, traces: 35, memories: 0, files: 0 });
}
