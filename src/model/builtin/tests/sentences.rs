//! The table of what people say and what they mean by it: `tests/planner/sentences.toml`.

use super::*;

const TABLE: &str = include_str!("../../../../tests/planner/sentences.toml");
const SCHEDULE: &str = include_str!("../../../../skills/schedule.toml");
const WEB: &str = include_str!("../../../../skills/web.toml");
const CHAT: &str = include_str!("../../../../skills/chat.toml");
const ASSISTANT: &str = include_str!("../../../../skills/assistant.toml");
const FILES: &str = include_str!("../../../../skills/files.toml");
const NOTES: &str = include_str!("../../../../skills/notes.toml");
/// All that the program comes with.
const ALL: [&str; 11] =
    [EMAIL, CALENDAR, CONTACTS, MEMORY, TASKS, SCHEDULE, WEB, CHAT, ASSISTANT, FILES, NOTES];

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
    let called = |answer: &ModelResponse| -> Option<Value> {
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
    let none = json!({ "status": "completed", "summary": "none", "data": { "items": [] } });
    let results: Vec<Value> = first
        .tool_calls
        .iter()
        .map(|call| if call.id == "search" { result.clone() } else { none.clone() })
        .collect();
    reply(&mut request, &first, &results);
    let second = ask(planner, &request);
    let Some(call) = called(&second) else { return format!("SAYS {}", second.text) };
    written(call["skill"].as_str().unwrap(), Some(&search["arguments"]), &call["arguments"])
}

/// What happens for a sentence, or what the planner says.
fn happens(planner: &Planner, said: &str, now: &str) -> Result<Vec<String>, String> {
    let mut turns: Vec<&str> = said.split(" >> ").collect();
    let last = turns.pop().unwrap();
    let mut request = request(last);
    request.messages[1].text = format!("Person: Ada\nChannel: console\nNow: {now}").into();
    for (index, text) in turns.into_iter().enumerate() {
        let role = if index % 2 == 0 { Role::User } else { Role::Assistant };
        request.messages.insert(2 + index, Message::new(role, text.to_owned()));
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
        // Said, not done.
        Ok(calls) if calls.iter().all(|call| call.starts_with("SAYS ")) => {
            match judged(&Err(calls.join("\n")), &Value::Array(meant.iter().map(|one| json!(one)).collect()))
            {
                Verdict::Right => Verdict::Right,
                _ => Verdict::Refused,
            }
        }
        Ok(calls) => {
            let is_meant = calls.len() == meant.len()
                && calls.iter().zip(&meant).all(|(call, meant)| {
                    choices(meant).iter().any(|choice| canonical(choice) == canonical(call))
                });
            if is_meant { Verdict::Right } else { Verdict::Wrong }
        }
    }
}

/// Whether something could be done: a person may expect that, even where refusing is fine.
fn is_expected(meant: &Value) -> bool {
    meant.as_str().is_none_or(|meant| meant.split(" || ").any(|one| !one.starts_with("refuses")))
}

#[test]
fn nothing_is_understood_wrongly() {
    let planner = planner(&ALL);
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
                understood += usize::from(verdict == Verdict::Right && happened.is_ok());
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
        "{:20} right {right}, refused {refused}, wrong {wrong}; \
         understood {understood} of {expected}",
        "all"
    );
    println!("{}", lines.join("\n"));
    assert!(right + refused + wrong >= 400);
    assert_eq!(wrong, 0);
    assert!(understood * 4 >= expected * 3, "{understood} of {expected}");
}

/// A word with two letters swapped, one missing, and one typed twice.
fn mistyped(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut typos = Vec::new();
    for at in 0..letters.len() {
        let (mut swapped, mut missing, mut twice) = (letters.clone(), letters.clone(), letters.clone());
        swapped.swap(at, (at + 1).min(letters.len() - 1));
        missing.remove(at);
        twice.insert(at, letters[at]);
        typos.extend([swapped, missing, twice].map(String::from_iter));
    }
    typos.retain(|typo| typo != word && !typo.is_empty());
    typos
}

/// What else a mistyped sentence may do: less, keep the typo in what it names, or search for it and find nothing.
fn is_harmless(happened: &[String], meant: &[String], word: &str, typo: &str) -> bool {
    let as_typed = |call: &str| call.to_lowercase().replace(&word.to_lowercase(), &typo.to_lowercase());
    let meant: Vec<String> =
        meant.iter().flat_map(|call| [canonical(call), canonical(&as_typed(call))]).collect();
    let finds_nothing = |call: &String| {
        let searched = call.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let searched = searched.map(|(searched, _)| searched).or_else(|| {
            let by_words = [".search query=", ".forget query="];
            by_words.iter().find_map(|one| call.split_once(one).map(|at| at.1))
        });
        searched.is_some_and(|searched| searched.to_lowercase().contains(&typo.to_lowercase()))
    };
    let is_fine =
        |call: &String| call.starts_with("SAYS ") || finds_nothing(call) || meant.contains(&canonical(call));
    happened.iter().all(is_fine)
}

#[test]
fn a_typo_makes_no_other_wish_of_it() {
    let planner = planner(&ALL);
    let table: toml::Table = toml::from_str(TABLE).unwrap();
    let (mut wrong, mut understood, mut tried) = (Vec::new(), 0, 0);
    let groups = table.values().map(|group| group.as_table().unwrap());
    let now =
        |group: &toml::Table| group.get("now").map_or(NOW.to_owned(), |now| now.as_str().unwrap().into());
    let sentences = groups.flat_map(|group| group.keys().map(move |said| (said, now(group))));
    for (said, now) in sentences.filter(|(said, _)| !said.contains(" >> ")) {
        // Stays the same whatever is added to the table.
        let index = said.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let Ok(meant) = happens(&planner, said, &now) else { continue };
        let asks = |word: &&str| {
            let word = word.to_lowercase();
            typos::KNOWN.contains(&&*word) || ["add", "set", "put", "mark", "move"].contains(&&*word)
        };
        for word in said.split_whitespace().filter(asks) {
            let typos = mistyped(word);
            // Two other ones for each sentence.
            for typo in [index, index.wrapping_mul(7).wrapping_add(3)].map(|at| &typos[at % typos.len()]) {
                let typed = said.replacen(word, typo, 1);
                tried += 1;
                let Ok(calls) = happens(&planner, &typed, &now) else { continue };
                understood += usize::from(calls == meant);
                if !is_harmless(&calls, &meant, word, typo) && typo != "even" {
                    wrong.push(format!("{typed}\n    meant {meant:?}\n    got   {calls:?}"));
                }
            }
        }
    }
    println!("{tried} typos, {understood} understood, {} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 1000 && understood * 2 > tried, "{understood} of {tried}");
    assert!(wrong.is_empty(), "{}", wrong.len());
}

/// Phrases about time, usual and odd ones. Wherever one stands, it is used or refused.
const PHRASES: &str = "
    today | tomorrow | tonight | yesterday | on monday | next tuesday | this friday | last friday | by friday | before friday
    after friday | until friday | since friday | from friday | from friday on | friday or saturday | friday and saturday
    friday to sunday | friday-sunday | between friday and sunday | on fridays | every friday | every other friday
    every second friday | every third friday | each friday | the first friday | on the first friday of the month
    the last friday in november | friday next week | friday week | a week on friday | a week from friday | not friday
    any friday | some friday | on a friday | by next friday at the latest | early friday | late on friday | around friday
    friday-ish | friday afternoon | friday at noon | friday 3pm | 3pm friday | friday at 3 | friday 15:00 | friday at 15h
    friday 3-4pm | friday 3 to 4 | friday from 3 to 4 | friday for 2 hours | friday after 3 | friday before 3pm
    friday around 3 | friday at about 3 | friday 3ish | friday 3 or 4pm | friday 3pm and 5pm | friday at 3pm gmt
    friday at 3pm local time | friday at half past 3 | friday at quarter to 4 | friday at ten past 3 | in 10 minutes
    in ten minutes | in 10 | in a minute | in a bit | in a while | in an hour or two | in 2 to 3 hours | in two days
    in a couple of days | in a few weeks | within 2 days | 2 days from now | 2 days later | two days ago | a day after
    next week | next month | next year | this week | this month | the week after next | the following week
    over the weekend | at the weekend | on the weekend | during the week | at the end of the week | end of november
    by the end of november | mid november | in november | in early november | in november 2027 | on 1 december
    on december 1 | on the 1st | on the 1st of december | 1 december at 9 | 1/12 | 01/12/2026 | 1.12. | 2026-12-01
    2026-12-01 at 9 | 12/2026 | on the 31st of november | december 32 | at 25:00 | at 9:75 | at 13pm | at 9 | at 9am
    at nine | at 9 in the morning | at 9 tomorrow | tomorrow at 9 sharp | 9 o'clock | at 0900 | at 9.15 | at noon
    at midnight | around noon | at lunchtime | after lunch | before breakfast | at dawn | in the morning | mornings
    every morning | every day | everyday | daily | weekly | monthly | every 2 weeks | every two hours | every hour
    every now and then | once a day | twice a week | three times a day | 3x daily | every weekday | on weekdays
    at weekends | every weekend | every month on the 1st | on the 1st of every month | every quarter | quarterly
    every year | annually | biannually | every day at 9 | every day at 9 and 5 | every day until friday | every day for a week
    every day except sunday | every monday and wednesday | every monday or wednesday | mon, wed and fri | mon/wed/fri
    soon | later | later today | asap | as soon as possible | eventually | someday | one day | when i get home
    when bob calls | once bob calls | after the meeting | before the meeting | during the meeting | while bob is here
    until bob calls | unless it rains | if it rains | 10 minutes before the meeting | the day before the meeting
    on my birthday | on christmas day | at easter | by christmas | on new year's eve
";

#[test]
fn no_phrase_about_time_is_left_in_a_title() {
    let planner = planner(&ALL);
    let phrases: Vec<&str> =
        PHRASES.split(['|', '\n']).map(str::trim).filter(|phrase| !phrase.is_empty()).collect();
    assert!(phrases.len() > 180, "{}", phrases.len());
    let mut kept = Vec::new();
    for phrase in phrases {
        for (said, title) in [
            (format!("remind me to call bob {phrase}"), "call bob"),
            (format!("remind me {phrase} to call bob"), "call bob"),
            (format!("{phrase} remind me to call bob"), "call bob"),
            (format!("add a task to call bob {phrase} about the offer"), "call bob about the offer"),
            (format!("schedule lunch with bob {phrase}"), "Lunch with bob"),
            (format!("put lunch in my calendar {phrase}"), "Lunch"),
            (format!("delete the milk task {phrase}"), "(milk)"),
            (format!("move the report to monday {phrase}"), "(report)"),
        ] {
            let Ok(calls) = happens(&planner, &said, NOW) else { continue };
            let is_clean = |call: &String| {
                let named = call.ends_with(&format!("title={title}"))
                    || call.contains(title) && title.starts_with('(');
                named || call.starts_with("SAYS") || call.starts_with("schedule.create")
            };
            if !calls.iter().all(is_clean) {
                kept.push(format!("{said}: {calls:?}"));
            }
        }
    }
    assert!(kept.is_empty(), "{}\n{}", kept.len(), kept.join("\n"));
}
