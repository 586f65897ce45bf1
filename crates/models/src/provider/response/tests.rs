use proptest::prelude::*;
use serde_json::json;

use super::*;

fn gathered(deltas: &[Value]) -> Vec<String> {
    let mut calls = Vec::new();
    deltas.iter().for_each(|delta| gather(&mut calls, delta));
    calls.into_iter().map(|(_, call)| format!("{} {} {}", call.id, call.name, call.arguments)).collect()
}

fn piece(index: Option<u64>, id: &str, name: &str, arguments: Value) -> Value {
    json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
}

#[test]
fn pieces_of_two_calls_may_mix() {
    let deltas = [
        piece(Some(1), "a", "t", json!("")),
        piece(Some(2), "b", "u", json!("{")),
        json!({"index": 1, "function": {"arguments": "{\"x\":"}}),
        json!({"index": 2, "function": {"arguments": "}"}}),
        json!({"index": 1, "function": {"arguments": "1}"}}),
    ];
    assert_eq!(gathered(&deltas), [r#"a t {"x":1}"#, "b u {}"]);
}

#[test]
fn calls_that_share_a_number_or_have_none_stay_apart() {
    let deltas = [piece(Some(0), "a", "t", json!("{}")), piece(Some(0), "b", "t", json!("{}"))];
    assert_eq!(gathered(&deltas), ["a t {}", "b t {}"]);
    let deltas =
        [piece(None, "", "t", json!("{")), piece(None, "", "", json!("}")), piece(None, "", "u", json!({}))];
    assert_eq!(gathered(&deltas), [" t {}", " u {}"]);
}

#[test]
fn a_piece_that_repeats_id_and_name_goes_on() {
    let deltas = [piece(Some(0), "a", "t", json!("{\"x\"")), piece(Some(0), "a", "t", json!(":1}"))];
    assert_eq!(gathered(&deltas), [r#"a t {"x":1}"#]);
}

proptest! {
    #[test]
    fn ids_are_unique_whatever_the_model_gives(ids in prop::collection::vec("[ab]{0,2}(_1)?", 0..12)) {
        let call = |id: &String| ToolCall { id: id.clone(), name: "t".into(), arguments: String::new() };
        let request = Request::default();
        let made = tool_calls(ids.iter().map(call).collect(), &request);
        let unique: HashSet<_> = made.iter().map(|call| &call.id).collect();
        prop_assert_eq!(unique.len(), ids.len());
        let sound = made.iter().all(|call| !call.id.is_empty() && call.arguments == "{}");
        prop_assert!(sound);
    }
}
