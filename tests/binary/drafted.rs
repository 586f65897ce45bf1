//! `adjutant workflow new --words`: a workflow from a sentence, with and without a model.

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
fn a_sentence_becomes_a_workflow_without_a_model() {
    let home = Home::with_config(SKILLS);
    let words = "first research the company, then find their problems, then draft a mail";
    let made = new(&home, "acme", words, &[]);
    assert_eq!(made.status, Some(0), "{}", told(&made));
    assert!(made.stdout.starts_with("acme: first research the company"), "{}", told(&made));
    assert!(made.stdout.contains("●  research  Researcher\n"), "{}", told(&made));
    assert!(made.stdout.contains("skills/workflows/acme.yaml is written. "), "{}", told(&made));
    let check = home.run(&["workflow", "check", "skills/workflows/acme.yaml"]);
    assert!(check.stdout.ends_with("1 workflow: all fine\n"), "{}", told(&check));
    assert!(home.run(&["workflow", "list"]).stdout.contains("given: company"));
    let again = new(&home, "acme", words, &[]);
    assert_eq!(again.status, Some(1));
    assert!(again.stderr.contains("is there already; choose another name"), "{}", told(&again));
    let printed = new(&home, "other", words, &["--print"]);
    assert!(printed.stdout.starts_with("workflow:\n  name: other\n"), "{}", told(&printed));
    assert!(!home.path().join("skills/workflows/other.yaml").exists());
    assert!(!home.data().join("adjutant.db").exists(), "nothing is run");
}

#[test]
fn what_is_not_understood_without_a_model_is_told() {
    let home = Home::with_config(SKILLS);
    let chess = new(&home, "chess", "play chess with Bob, then draft a mail", &[]);
    assert_eq!(chess.status, Some(1));
    let beginning = "adjutant: the built-in planner does not understand “play chess with Bob”: ";
    assert!(chess.stderr.starts_with(beginning), "{}", told(&chess));
    assert!(chess.stderr.contains("“first research the company, "), "{}", told(&chess));
    assert_eq!(new(&home, "x", "", &[]).status, Some(2));
    assert_eq!(new(&home, "x", &"write a poem; ".repeat(1_000), &[]).status, Some(2));
    assert_eq!(new(&home, "../x", "write a poem", &[]).status, Some(1));
    assert_eq!(home.run(&["workflow", "new", "x"]).status, Some(2));
    assert_eq!(home.run(&["workflow", "new", "x", "--from", "map-reduce", "--print"]).status, Some(2));
    assert!(!home.path().join("skills/workflows").exists(), "nothing is written");
}

#[test]
fn a_model_is_asked_for_the_rest() {
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
    // What the built-in planner understands costs nothing.
    assert_eq!(new(&home, "poem", "write a poem", &[]).status, Some(0));
    assert_eq!(model.received().len(), 0);
    let chess = new(&home, "chess", "play chess with Bob", &[]);
    assert_eq!(chess.status, Some(0), "{}", told(&chess));
    assert_eq!(model.received().len(), 2);
    let file = fs::read_to_string(home.path().join("skills/workflows/chess.yaml")).unwrap();
    assert!(file.starts_with("workflow:\n"), "{file}");
    let failed = new(&home, "chess2", "play chess with Bob", &[]);
    assert_eq!(failed.status, Some(1));
    assert!(failed.stderr.contains("the model wrote no workflow that passes the check"), "{}", told(&failed));
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
