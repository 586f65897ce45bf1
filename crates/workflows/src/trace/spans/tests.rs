use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use adjutant_otlp::Value as Attribute;
use adjutant_store::executions::ExecutionRow;
use adjutant_test_support::journal::{TestStore, busy_turn};
use adjutant_types::{ExecutionKind, ExecutionStatus, TurnStatus};
use serde_json::json;

use super::*;
use crate::trace::{Turn, calls_made, execution, load, tree_order};

/// Each span below its parent, with its times from the turn's start, and all that is told of it.
fn shown(spans: &[Span]) -> String {
    let begun = spans[0].from;
    let mut depths: HashMap<u64, usize> = HashMap::new();
    let mut text = String::new();
    for span in spans {
        let depth = span.parent.map_or(0, |parent| depths[&parent] + 1);
        depths.insert(span.id, depth);
        let indent = "  ".repeat(depth);
        let error = span.error.as_deref().map(|kind| format!(" !{kind}")).unwrap_or_default();
        let _ = writeln!(text, "{indent}{} {}-{}{error}", span.name, span.from - begun, span.to - begun);
        let _ = writeln!(text, "{indent}| {}", described(&span.attributes));
        for event in &span.events {
            let _ = writeln!(
                text,
                "{indent}* {} {} {}",
                event.name,
                event.at - begun,
                described(&event.attributes)
            );
        }
    }
    text
}

fn described(attributes: &Attributes) -> String {
    let pair = |(name, value): &(&str, Attribute)| match value {
        Attribute::Text(text) => format!("{name}={text}"),
        Attribute::Whole(number) => format!("{name}={number}"),
        Attribute::Number(number) => format!("{name}={number}"),
    };
    attributes.iter().map(pair).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_turn_is_told_without_its_texts() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let trace = load(&app.store, &turn, false).await.unwrap();
    let spans = spans(&trace, &|skill| skill != "bell.ring");
    insta::assert_snapshot!(shown(&spans), @r"
    turn 0-1200
    | adjutant.turn.id=turn-1 adjutant.channel=console adjutant.status=completed adjutant.turn.agents=4 adjutant.turn.skill_calls=3 adjutant.turn.model_calls=5 adjutant.turn.tokens=4936 adjutant.turn.cost_usd=0.0084
      invoke_agent orchestrator 0-1200
      | gen_ai.operation.name=invoke_agent gen_ai.agent.name=orchestrator adjutant.skill_calls=0 adjutant.status=completed gen_ai.request.model=fine-1 gen_ai.usage.input_tokens=2400 gen_ai.usage.cache_read.input_tokens=1600 gen_ai.usage.output_tokens=68 adjutant.cost_usd=0.0042 adjutant.model_calls=3
      * adjutant.model_call 0 adjutant.duration_ms=200 gen_ai.request.model=fine-1 gen_ai.usage.input_tokens=1200 gen_ai.usage.cache_read.input_tokens=800 gen_ai.usage.output_tokens=34
      * adjutant.model_call 900 adjutant.duration_ms=0 error.type=_OTHER gen_ai.usage.input_tokens=0 gen_ai.usage.cache_read.input_tokens=0 gen_ai.usage.output_tokens=0
      * adjutant.model_call 900 adjutant.duration_ms=300 gen_ai.request.model=fine-1 gen_ai.usage.input_tokens=1200 gen_ai.usage.cache_read.input_tokens=800 gen_ai.usage.output_tokens=34
        invoke_agent find 200-750
        | gen_ai.operation.name=invoke_agent gen_ai.agent.name=find adjutant.skill_calls=1 adjutant.status=completed gen_ai.request.model=fine-1 gen_ai.usage.input_tokens=2400 gen_ai.usage.cache_read.input_tokens=1600 gen_ai.usage.output_tokens=68 adjutant.cost_usd=0.0042 adjutant.model_calls=2
        * adjutant.model_call 200 adjutant.duration_ms=150 gen_ai.request.model=fine-1 gen_ai.usage.input_tokens=1200 gen_ai.usage.cache_read.input_tokens=800 gen_ai.usage.output_tokens=34
        * adjutant.model_call 600 adjutant.duration_ms=150 gen_ai.request.model=fine-1 gen_ai.usage.input_tokens=1200 gen_ai.usage.cache_read.input_tokens=800 gen_ai.usage.output_tokens=34
          execute_tool tasks.search 350-600
          | gen_ai.operation.name=execute_tool gen_ai.tool.name=tasks.search adjutant.status=completed
        invoke_agent mail 200-600 !network
        | gen_ai.operation.name=invoke_agent gen_ai.agent.name=mail adjutant.skill_calls=1 adjutant.status=failed error.type=network
          execute_tool email.send 200-600 !network
          | gen_ai.operation.name=execute_tool gen_ai.tool.name=email.send adjutant.status=failed error.type=network
        invoke_agent then 600-600
        | gen_ai.operation.name=invoke_agent gen_ai.agent.name=then adjutant.skill_calls=0 adjutant.status=skipped
        invoke_agent hook 200-900 !tool
        | gen_ai.operation.name=invoke_agent gen_ai.agent.name=hook adjutant.skill_calls=1 adjutant.status=unknown error.type=tool
          execute_tool unknown 200-900 !tool
          | gen_ai.operation.name=execute_tool gen_ai.tool.name=unknown adjutant.status=unknown error.type=tool
    ");
    let text = format!("{spans:?}");
    for secret in
        ["overdue,", "Bob", "bob", "bell", "report", "finder", "ada", "refuses", "needs", "console:"]
    {
        assert!(!text.contains(secret), "{secret} is in it: {text}");
    }
}

#[tokio::test]
async fn a_turn_that_is_sent_twice_is_one_trace() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let twice = [load(&app.store, &turn, false).await.unwrap(), load(&app.store, &turn, true).await.unwrap()];
    let [first, second] = twice.map(|trace| spans(&trace, &|_| true));
    assert_eq!(first, second);
    assert!(first.iter().all(|span| span.trace == first[0].trace && span.trace != 0 && span.id != 0));
}

#[test]
fn the_trace_has_the_bits_of_the_turn() {
    assert_eq!(trace_id(&"0000000000000000000010".into()), 62);
    assert_eq!(trace_id(&"0000000000000000000000".into()), 1);
    assert_ne!(trace_id(&"turn-1".into()), trace_id(&"turn-2".into()));
}

/// The trace of a turn with these rows and nothing else.
fn of_rows(rows: &[ExecutionRow]) -> Trace {
    let made = calls_made(rows);
    let executions = tree_order(rows).into_iter();
    let executions = executions
        .map(|(at, depth)| execution(&rows[at], depth, made.get(&rows[at].id).copied().unwrap_or(0), &[], 0))
        .collect();
    let turn = Turn {
        id: "T".into(),
        conversation: String::new(),
        channel: "console".into(),
        user: String::new(),
        status: TurnStatus::Failed,
        text: String::new(),
        answer: None,
        started_at: String::new(),
        duration_ms: 0,
        model_calls: 0,
        skill_calls: 0,
        agents: 0,
        tokens: Usage::default(),
        cost_usd: 0.0,
        wishes: None,
        emptied: Default::default(),
        started: 0,
    };
    Trace { turn, executions }
}

#[test]
fn what_a_model_made_up_is_not_told() {
    let row = |id: &str, kind: &str| ExecutionRow::new(id.into(), &"T".into(), kind.parse().unwrap());
    let rows = [
        ExecutionRow { agent_id: Some("ask Bob for it".into()), ..row("a", "agent") },
        ExecutionRow { agent_id: Some(String::new()), ..row("b", "agent") },
        ExecutionRow {
            skill: Some("write to Bob".into()),
            status: ExecutionStatus::Failed,
            error: Some(json!({"kind": "Bob said no", "message": "Bob"}).to_string()),
            ..row("c", "skill")
        },
        ExecutionRow { status: ExecutionStatus::Timeout, error: Some("Bob".into()), ..row("d", "agent") },
        ExecutionRow { status: ExecutionStatus::Timeout, ..row("e", "agent") },
    ];
    let spans = spans(&of_rows(&rows), &|_| false);
    let names: Vec<_> = spans.iter().map(|span| (span.name.as_str(), span.error.as_deref())).collect();
    assert_eq!(
        names,
        [
            ("turn", Some("failed")),
            ("invoke_agent", None),
            ("invoke_agent", None),
            ("execute_tool unknown", Some(OTHER)),
            ("invoke_agent", Some("tool")),
            ("invoke_agent", Some("timeout")),
        ]
    );
    assert!(!format!("{spans:?}").contains("Bob"));
}

proptest::proptest! {
    #[test]
    fn each_row_is_one_span_below_one_that_is_there(parents in proptest::collection::vec(0_usize..12, 0..10)) {
        // Those beyond the last are missing.
        let row = |(at, parent): (usize, &usize)| ExecutionRow {
            parent_id: Some(parent.to_string().into()),
            ..ExecutionRow::new(at.to_string().into(), &"T".into(), ExecutionKind::Agent)
        };
        let rows: Vec<ExecutionRow> = parents.iter().enumerate().map(row).collect();
        let spans = spans(&of_rows(&rows), &|_| true);
        proptest::prop_assert_eq!(spans.len(), rows.len() + 1);
        let mut seen = HashSet::new();
        for span in &spans {
            // The parent comes first, so that there is no circle.
            proptest::prop_assert!(span.parent.is_none_or(|parent| seen.contains(&parent)), "{spans:?}");
            proptest::prop_assert!(seen.insert(span.id), "{spans:?}");
        }
        proptest::prop_assert_eq!(spans.iter().filter(|span| span.parent.is_none()).count(), 1);
        let expected: HashSet<u64> = rows.iter().map(|row| span_id("execution", &row.id)).collect();
        proptest::prop_assert!(expected.iter().all(|id| seen.contains(id)));
    }
}
