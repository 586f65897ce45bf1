//! The table of what people say and what they mean by it: `tests/planner/sentences.toml`.

use super::*;

const TABLE: &str = include_str!("../../../../tests/planner/sentences.toml");
const SCHEDULE: &str = include_str!("../../../../skills/schedule.toml");
const WEB: &str = include_str!("../../../../skills/web.toml");
const CHAT: &str = include_str!("../../../../skills/chat.toml");

/// What the planner did with a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    /// Nothing happened, though something could have.
    Refused,
    /// It did something that wasn't meant.
    Wrong,
}

/// A call as the table writes it: `tasks.delete(milk) id=found`.
fn written(skill: &str, search: Option<&Value>, arguments: &Value) -> String {
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = |arguments: &Value, left_out: &[&str]| {
        let named = arguments
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !left_out.contains(&name.as_str()));
        let mut said: Vec<String> = named.map(|(name, said)| format!("{name}={}", value(said))).collect();
        said.sort();
        said.join("; ")
    };
    let searched = search.map_or_else(String::new, |search| {
        let query = search.get("query").map_or_else(|| "*".to_owned(), value);
        let open = if search["state"] == "open" || search["state"] == "all" { "state" } else { "" };
        format!("({})", format!("{query} {}", list(search, &["query", "limit", open])).trim())
    });
    format!("{skill}{searched} {}", list(arguments, &[])).trim().to_owned()
}

/// The same calls, whatever the order of the arguments and the case of the letters.
fn canonical(call: &str) -> String {
    let (head, arguments) = match call.find(") ") {
        Some(at) => call.split_at(at + 1),
        None => call.split_once(' ').unwrap_or((call, "")),
    };
    let mut arguments: Vec<&str> = arguments.trim().split("; ").collect();
    arguments.sort_unstable();
    format!("{head} {}", arguments.join("; ")).trim().to_lowercase()
}

/// The call that a sub-agent makes in the end, with one hit for its search.
fn carried_out(planner: &Planner, dispatch: &Value, now: &str) -> String {
    let skills = &dispatch["skills"];
    let mut request = Request {
        messages: vec![
            Message::new(Role::System, "You are a sub-agent."),
            Message::new(
                Role::User,
                format!("Mission: {}\nNow: {now}\n", dispatch["mission"].as_str().unwrap()),
            ),
        ],
        tools: vec![tool("use_skill", json!({ "properties": { "skill": { "enum": skills } } }))],
    };
    let called = |answer: &Answer| -> Option<Value> {
        answer.tool_calls.first().map(|call| serde_json::from_str(&call.arguments).unwrap())
    };
    let first = ask(planner, &request);
    let Some(search) = called(&first) else { return format!("SAYS {}", first.text) };
    let title = &search["arguments"]["query"];
    let found = match search["skill"].as_str().unwrap() {
        "tasks.search" => json!({ "id": "found", "title": title, "due": "2026-11-27T17:00" }),
        "calendar.search" => {
            json!({ "id": "found", "title": title, "start": "2026-11-27T14:00", "end": "2026-11-27T15:00" })
        }
        _ => json!({ "id": "found", "name": title, "emails": ["found@example.test"] }),
    };
    let result = json!({ "status": "completed", "summary": "found", "data": { "items": [found] } });
    reply(&mut request, &first, &[result]);
    let second = ask(planner, &request);
    let Some(call) = called(&second) else { return format!("SAYS {}", second.text) };
    written(call["skill"].as_str().unwrap(), Some(&search["arguments"]), &call["arguments"])
}

/// What happens for a sentence, or what the planner says.
fn happens(planner: &Planner, said: &str, now: &str) -> Result<Vec<String>, String> {
    let mut turns: Vec<&str> = said.split(" >> ").collect();
    let last = turns.pop().unwrap();
    let mut request = request(last);
    request.messages[1].text = format!("Person: Ada\nChannel: console\nNow: {now}");
    for (index, text) in turns.into_iter().enumerate() {
        let role = if index % 2 == 0 { Role::User } else { Role::Assistant };
        request.messages.insert(2 + index, Message::new(role, text));
    }
    let answer = ask(planner, &request);
    if answer.tool_calls.is_empty() {
        return Err(answer.text);
    }
    let calls = answer.tool_calls.iter().map(|call| {
        let dispatch: Value = serde_json::from_str(&call.arguments).unwrap();
        match dispatch.get("arguments") {
            Some(arguments) => written(dispatch["skills"][0].as_str().unwrap(), None, arguments),
            None => carried_out(planner, &dispatch, now),
        }
    });
    Ok(calls.collect())
}

fn judged(happened: &Result<Vec<String>, String>, meant: &Value) -> Verdict {
    let meant: Vec<&str> = match meant {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        other => vec![other.as_str().unwrap()],
    };
    let choices = |one: &str| one.split(" || ").map(str::to_owned).collect::<Vec<_>>();
    match happened {
        Err(answer) => {
            let refusals = meant.iter().flat_map(|one| choices(one)).filter(|one| one.starts_with("refuses"));
            let reasons: Vec<String> = refusals
                .map(|one| one.trim_start_matches("refuses").trim_start_matches(": ").to_lowercase())
                .collect();
            let answer = answer.to_lowercase();
            match reasons.iter().any(|reason| answer.contains(reason.as_str())) {
                true => Verdict::Right,
                false => Verdict::Refused,
            }
        }
        // Said, not done: the search that would come first isn't granted or the like.
        Ok(calls) if calls.iter().all(|call| call.starts_with("SAYS ")) => Verdict::Refused,
        Ok(calls) => {
            let is_meant = calls.len() == meant.len()
                && calls.iter().zip(&meant).all(|(call, meant)| {
                    choices(meant).iter().any(|choice| canonical(choice) == canonical(call))
                });
            if is_meant { Verdict::Right } else { Verdict::Wrong }
        }
    }
}

/// Whether a reasonable person expects the sentence to be understood.
fn is_expected(meant: &Value) -> bool {
    !meant.as_str().is_some_and(|meant| meant.split(" || ").any(|one| one.starts_with("refuses")))
}

#[test]
fn nothing_is_understood_wrongly() {
    let planner = planner(&[EMAIL, CALENDAR, CONTACTS, MEMORY, TASKS, SCHEDULE, WEB, CHAT]);
    let table: toml::Table = toml::from_str(TABLE).unwrap();
    let mut lines = Vec::new();
    let (mut counts, mut expected, mut understood) = ([0; 3], 0, 0);
    for (group, sentences) in table {
        let mut sentences = sentences.as_table().unwrap().clone();
        let now = sentences.remove("now").map_or(NOW.to_owned(), |now| now.as_str().unwrap().to_owned());
        let mut of_group = [0; 3];
        for (said, meant) in sentences {
            let meant: Value = serde_json::to_value(meant).unwrap();
            let happened = happens(&planner, &said, &now);
            let verdict = judged(&happened, &meant);
            of_group[verdict as usize] += 1;
            if is_expected(&meant) {
                expected += 1;
                understood += usize::from(verdict == Verdict::Right);
            }
            if verdict != Verdict::Right {
                lines.push(format!("{verdict:?}: {said}\n    meant {meant}\n    got   {happened:?}"));
            }
        }
        println!("{group:20} right {:3}, refused {:3}, wrong {:3}", of_group[0], of_group[1], of_group[2]);
        (0..3).for_each(|at| counts[at] += of_group[at]);
    }
    let [right, refused, wrong] = counts;
    println!(
        "{:20} right {right}, refused {refused}, wrong {wrong}; understood {understood} of {expected}",
        "all"
    );
    println!("{}", lines.join("\n"));
    assert!(right + refused + wrong >= 400);
    assert_eq!(wrong, 0);
    assert!(understood * 4 >= expected * 3, "{understood} of {expected}");
}
