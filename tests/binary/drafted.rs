//! `adjutant workflow new --words`: a workflow from words, with and without a model.

use std::fs;

use adjutant_fakes::model::{FakeModel, Reply};

use crate::process::{Ended, Home, Value, json};

fn told(ended: &Ended) -> String {
    format!("{:?} {}{}", ended.status, ended.stdout, ended.stderr)
}

const SKILLS: &str = "[skills]\npaths = [\"skills\"]\n";

fn new(home: &Home, name: &str, words: &str, more: &[&str]) -> Ended {
    home.run(&[&["workflow", "new", name, "--words", words], more].concat())
}

#[test]
fn drafting_without_a_model_says_that_it_needs_one() {
    let home = Home::with_config(SKILLS);
    let chess = new(&home, "chess", "play chess with Bob, then draft a mail", &[]);
    assert_eq!(chess.status, Some(1));
    assert!(chess.stderr.starts_with("adjutant: drafting a workflow from words needs a language model. "));
    assert!(chess.stderr.contains("`adjutant workflow new chess --from TEMPLATE`"), "{}", told(&chess));
    assert_eq!(new(&home, "x", "", &[]).status, Some(2));
    assert_eq!(new(&home, "x", &"write a poem; ".repeat(1_000), &[]).status, Some(2));
    assert_eq!(new(&home, "../x", "write a poem", &[]).status, Some(1));
    assert_eq!(home.run(&["workflow", "new", "x"]).status, Some(2));
    assert_eq!(home.run(&["workflow", "new", "x", "--from", "map-reduce", "--print"]).status, Some(2));
    assert!(!home.path().join("skills/workflows").exists(), "nothing is written");
    assert!(!home.data().join("adjutant.db").exists(), "nothing is run");
}

#[test]
fn a_model_writes_it() {
    let good = "Here you are:\n```yaml\nworkflow:\n  name: chess\n  description: Play\n  agents:\n    player: { name: Player, \
                prompt: Name the next move. }\n  steps:\n    - { id: move, agent: player }\n```\n";
    let bad = good.replace("agent: player", "agent: plaier");
    let answers = std::sync::Mutex::new(vec![good.to_owned(), bad.clone()]);
    let model = FakeModel::start(move |_| {
        let next = answers.lock().unwrap().pop();
        Reply::text(&next.unwrap_or_else(|| bad.clone()))
    });
    let base = model.base_url();
    let config = format!(
        "{SKILLS}[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{base}\"\napi_key = \"sk-secret\"\n"
    );
    let home = Home::with_config(&config);
    let chess = new(&home, "chess", "play chess with Bob", &[]);
    assert_eq!(chess.status, Some(0), "{}", told(&chess));
    assert_eq!(model.received().len(), 2);
    assert!(chess.stdout.starts_with("chess: Play\n"), "{}", told(&chess));
    assert!(chess.stdout.contains("●  move  Player\n"), "{}", told(&chess));
    assert!(chess.stdout.contains("skills/workflows/chess.yaml is written. "), "{}", told(&chess));
    let file = fs::read_to_string(home.path().join("skills/workflows/chess.yaml")).unwrap();
    assert!(file.starts_with("workflow:\n"), "{file}");
    let check = home.run(&["workflow", "check", "skills/workflows/chess.yaml"]);
    assert!(check.stdout.contains("1 workflow: all fine"), "{}", told(&check));
    let failed = new(&home, "chess2", "play chess with Bob", &[]);
    assert_eq!(failed.status, Some(1));
    assert!(
        failed.stderr.contains("The model didn't write a workflow that passes the check"),
        "{}",
        told(&failed)
    );
    assert!(
        failed.stderr.contains("there is no agent 'plaier'; did you mean 'player'?"),
        "{}",
        told(&failed)
    );
    assert_eq!(model.received().len(), 4);
    assert!(!home.path().join("skills/workflows/chess2.yaml").exists());
    let usage: Value =
        serde_json::from_str(&home.run(&["usage", "--by", "person", "--json"]).stdout).unwrap();
    assert_eq!(
        (&usage["rows"][0]["name"], &usage["rows"][0]["calls"]),
        (&json!("local"), &json!(4)),
        "{usage}"
    );
    home.assert_tidy("drafts");
    home.write("config.toml", &format!("{config}[limits]\nday_tokens = 440\n"));
    let refused = new(&home, "chess2", "play chess with Bob", &[]);
    assert_eq!((refused.status, model.received().len()), (Some(1), 4));
    assert!(refused.stderr.contains("the budget of the day does not cover it"), "{}", told(&refused));
}
