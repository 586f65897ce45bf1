//! `/metrics` of a busy gateway.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_fakes::postgres::NO_SKIP;
use adjutant_fakes::telegram::{FakeTelegram, Fault};
use serde_json::Value;

use crate::gateway::{DEADLINE, Gateway};
use crate::process::{Home, json};
use crate::serve::sees;

/// The model's key; nothing else may see it.
pub(crate) const KEY: &str = "sk-made-up-for-this-test";

/// A gateway with this platform and model that asks before it adds a task.
pub(crate) fn home(telegram: &FakeTelegram, model: &FakeModel) -> Home {
    Home::with_config(&format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[approval.skills]\n\"tasks.create\" = \"ask\"\n\
         [model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\napi_key = \"{KEY}\"\n\
         price = {{ input = 1.0, cached_input = 0.5, output = 2.0 }}\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
        model.base_url(),
        telegram.token(),
        telegram.api_url()
    ))
}

/// A model that adds figs to the list, fails once on request, and otherwise says that all is well.
pub(crate) fn model() -> FakeModel {
    let failures = AtomicUsize::new(0);
    FakeModel::start(move |request| {
        let last = last_message(request);
        if last.contains("stumble") && failures.fetch_add(1, Ordering::SeqCst) == 0 {
            return Reply::status(503, "overloaded");
        }
        if has_tool(request, "dispatch_agent") && last.contains("I want figs") {
            let task = json!({"agent_id": "a", "mission": "add them", "skills": ["tasks.create"],
                              "role": "executor", "arguments": {"title": "buy figs"}});
            return Reply::call("dispatch_agent", &task);
        }
        Reply::text("All is well.")
    })
}

/// The numbers of a scrape by name and labels.
fn numbers(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect()
}

/// Scrapes until the numbers have these values.
#[track_caller]
fn tells(gateway: &mut Gateway, wanted: &[(&str, f64)]) -> String {
    let begun = Instant::now();
    loop {
        let (status, text) = gateway.get("/metrics");
        assert_eq!(status, "200");
        let numbers = numbers(&text);
        let off: Vec<_> = wanted
            .iter()
            .map(|(name, value)| (*name, *value, numbers.get(name)))
            .filter(|it| it.2 != Some(&it.1))
            .collect();
        if off.is_empty() {
            return text;
        }
        assert!(begun.elapsed() < DEADLINE, "name, wanted, told: {off:#?}\n{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The values at the end of the test.
const AT_THE_END: [(&str, f64); 27] = [
    ("adjutant_turns_total{status=\"completed\"}", 2.0),
    ("adjutant_turns_total{status=\"failed\"}", 0.0),
    ("adjutant_turns_open{status=\"waiting\"}", 0.0),
    ("adjutant_prompts_waiting{kind=\"approve\"}", 0.0),
    ("adjutant_answer_seconds_count", 2.0),
    ("adjutant_first_sign_seconds_count", 2.0),
    // Dispatch and answer; and the second message on its second attempt.
    ("adjutant_model_calls_total{model=\"openai/fake\",status=\"completed\"}", 3.0),
    ("adjutant_model_calls_total{model=\"openai/fake\",status=\"network\"}", 1.0),
    ("adjutant_retries_total{of=\"model\"}", 1.0),
    ("adjutant_retries_total{of=\"turn\"}", 0.0),
    // The fake reports 100 and 10 each time.
    ("adjutant_model_tokens_total{kind=\"prompt\",model=\"openai/fake\"}", 300.0),
    ("adjutant_model_tokens_total{kind=\"cached\",model=\"openai/fake\"}", 0.0),
    ("adjutant_model_tokens_total{kind=\"completion\",model=\"openai/fake\"}", 30.0),
    ("adjutant_model_cost_usd_total{model=\"openai/fake\"}", 0.000_36),
    ("adjutant_day_tokens", 330.0),
    ("adjutant_day_tokens_limit", 0.0),
    ("adjutant_day_cost_usd", 0.000_36),
    ("adjutant_day_cost_limit_usd", 0.0),
    ("adjutant_agents_total{status=\"completed\"}", 1.0),
    ("adjutant_role_agents_total{role=\"executor\",status=\"completed\"}", 1.0),
    ("adjutant_skill_calls_total{skill=\"tasks.create\",status=\"completed\"}", 1.0),
    ("adjutant_breakers_open", 0.0),
    ("adjutant_deliveries_total{channel=\"telegram\",result=\"retry\"}", 1.0),
    ("adjutant_deliveries_total{channel=\"telegram\",result=\"sent\"}", 4.0),
    ("adjutant_receive_failures_total{channel=\"telegram\"}", 1.0),
    ("adjutant_reconnects_total{channel=\"telegram\"}", 1.0),
    ("adjutant_ignored_events_total{channel=\"telegram\"}", 1.0),
];

#[test]
fn the_numbers_are_those_of_what_happened() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let ada = telegram.person_with_id(7_310_482_965, "Ada");
    let home = home(&telegram, &model);
    let mut gateway = Gateway::start(&home);
    tells(
        &mut gateway,
        &[
            ("adjutant_channel_receiving{channel=\"telegram\"}", 1.0),
            ("adjutant_turns_total{status=\"completed\"}", 0.0),
            ("adjutant_model_calls_total{model=\"openai/fake\",status=\"completed\"}", 0.0),
            ("adjutant_reconnects_total{channel=\"telegram\"}", 0.0),
        ],
    );

    telegram.say(ada, ada, "I want figs, tell no one of my passion");
    sees(&telegram, ada, "buy figs");
    tells(
        &mut gateway,
        &[
            ("adjutant_prompts_waiting{kind=\"approve\"}", 1.0),
            ("adjutant_prompts_waiting{kind=\"continue\"}", 0.0),
            ("adjutant_turns_open{status=\"waiting\"}", 1.0),
            ("adjutant_turns_open{status=\"running\"}", 0.0),
            ("adjutant_deliveries_total{channel=\"telegram\",result=\"sent\"}", 1.0),
            ("adjutant_inbox_waiting", 0.0),
            ("adjutant_outbox_pending", 0.0),
            ("adjutant_answer_seconds_count", 1.0),
        ],
    );
    let question = telegram.seen(ada).into_iter().find(|seen| !seen.buttons.is_empty()).unwrap();
    telegram.press(ada, ada, question.id, "Approve");
    sees(&telegram, ada, "All is well.");

    telegram.misbehave("sendmessage", &Fault::Flood(1), 1);
    // A command has no turn, whose progress would use the same method.
    telegram.say(ada, ada, "/help");
    let delivered = [
        ("adjutant_deliveries_total{channel=\"telegram\",result=\"retry\"}", 1.0),
        ("adjutant_deliveries_total{channel=\"telegram\",result=\"sent\"}", 3.0),
    ];
    tells(&mut gateway, &delivered);

    telegram.misbehave("getupdates", &Fault::Page(502), 1);
    telegram.update(json!({"poll": {"id": "1"}}));
    telegram.say(ada, ada, "and stumble");
    let text = tells(&mut gateway, &AT_THE_END);
    for secret in
        ["figs", "passion", "stumble", "All is well", "Ada", KEY, telegram.token(), &ada.to_string()]
    {
        assert!(!text.contains(secret), "{secret} is in:\n{text}");
    }
    assert_eq!(model.received().len(), 4);
    documented(&text);
    checked(&text);
    assert_eq!(gateway.stop().0, Some(0));
}

/// The documentation lists exactly the metrics that there are, and those that there are only sometimes.
#[track_caller]
fn documented(text: &str) {
    let page = include_str!("../../docs/monitoring.md");
    let rows = page.lines().filter(|line| line.starts_with("| `") && !line.starts_with("| `/"));
    let rows = rows.filter(|line| !line.contains("only while it lasts"));
    let mut named: Vec<String> = rows
        .map(|row| {
            let mut cells = row.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`'));
            format!("{} {}", cells.next().unwrap(), cells.next().unwrap())
        })
        .collect();
    let mut told: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).map(str::to_owned).collect();
    named.sort();
    told.sort();
    assert_eq!(named, told);
}

#[test]
fn the_alerts_of_the_page_are_rules() {
    let page = include_str!("../../docs/monitoring.md");
    let rules = page
        .split("```")
        .find_map(|block| block.strip_prefix("yaml\n").filter(|it| it.starts_with("groups:")));
    let home = Home::new();
    home.write("rules.yml", rules.unwrap());
    let path = home.path().join("rules.yml");
    let Some((said, status)) = promtool(&["check", "rules", path.to_str().unwrap()], "") else { return };
    assert!(status == Some(0) && said.contains("SUCCESS: 11 rules found"), "{said}");
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let dashboard: Value = serde_json::from_str(include_str!("../../docs/grafana.json")).unwrap();
    let page = include_str!("../../docs/monitoring.md");
    let targets =
        dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array());
    let asked: Vec<&str> = targets.flatten().map(|target| target["expr"].as_str().unwrap()).collect();
    let mut rules = "groups:\n  - name: dashboard\n    rules:\n".to_owned();
    for (number, expression) in asked.iter().enumerate() {
        let words = expression.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        for name in words.filter(|word| word.starts_with("adjutant_") || word.starts_with("process_")) {
            let name = name.trim_end_matches("_bucket");
            assert!(page.contains(&format!("| `{name}` |")), "{name} of {expression}");
        }
        // Grafana inserts a duration there.
        let expression = json!(expression.replace("$__rate_interval", "5m"));
        rules.push_str(&format!("      - record: dashboard:{number}\n        expr: {expression}\n"));
    }
    let home = Home::new();
    home.write("rules.yml", &rules);
    let path = home.path().join("rules.yml");
    let Some((said, status)) = promtool(&["check", "rules", path.to_str().unwrap()], "") else { return };
    assert!(status == Some(0) && said.contains(&format!("SUCCESS: {} rules found", asked.len())), "{said}");
}

/// Prometheus' own tool accepts it.
#[track_caller]
fn checked(text: &str) {
    let Some((said, status)) = promtool(&["check", "metrics"], text) else { return };
    assert_eq!((said.as_str(), status), ("", Some(0)), "{text}");
}

/// promtool's output and exit status; none if it isn't installed.
fn promtool(words: &[&str], input: &str) -> Option<(String, Option<i32>)> {
    let mut tool = Command::new("promtool");
    tool.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut tool) = tool.spawn() else {
        let skipped = "the checks by promtool: needs the Debian package prometheus";
        assert!(
            std::env::var_os(NO_SKIP).is_none_or(|value| value != *"1"),
            "{NO_SKIP} is set, but this machine can't run {skipped}"
        );
        let _ = writeln!(std::io::stderr(), "SKIPPED: {skipped}");
        return None;
    };
    // It closes its input when it doesn't read it.
    let _ = tool.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = tool.wait_with_output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    Some((said, output.status.code()))
}
