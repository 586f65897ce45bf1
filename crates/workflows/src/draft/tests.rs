use std::sync::LazyLock;

use adjutant_config::Approval;
use adjutant_skills::{Registry, Skills, builtin};
use adjutant_test_support::model::FakeModel;
use proptest::prelude::*;

use super::*;
use crate::{CheckContext, parse};

static SKILLS: LazyLock<std::sync::Arc<Registry>> =
    LazyLock::new(|| Skills::load(&[], &builtin::names(true)).unwrap().current());

fn context<R>(work: impl FnOnce(&CheckContext<'_>) -> R) -> R {
    let approval = Approval::default();
    work(&CheckContext { skills: &SKILLS, approval: &approval, workflows: &[] })
}

#[test]
fn a_name_is_made_of_the_words() {
    assert_eq!(
        name("first research the company, then find their problems", &[]),
        "research-company-find-problems"
    );
    assert_eq!(name("Überprüfe das", &[]), "das");
    assert_eq!(name("…", &[]), "my-workflow");
    let taken = parse("w.yaml", &GOOD.replace("name: w", "name: write-poem")).unwrap();
    assert_eq!(name("write a poem", &[taken]), "write-poem-2");
}

#[test]
fn words_that_ask_for_something_again_and_again_are_known() {
    for words in
        ["every week sum up", "Each Monday, look", "every 2 hours", "a weekly report", "jeden Montag"]
    {
        assert!(recurs(words), "{words}");
    }
    for words in ["for each customer write a letter", "sum up this week", "everyday things", ""] {
        assert!(!recurs(words), "{words}");
    }
}

const THREE: &str = r#"workflow:
  name: w
  description: "first research the company, then find their problems, then draft a mail"

  inputs:
    - { name: company, type: string, description: Which company is meant }

  agents:
    researcher:
      name: Researcher
      role: Research the company
      prompt: |
        Research the company.
        The company is: {{inputs.company}}
    finder:
      name: Finder
      role: Find their problems
      prompt: |
        Find their problems.
    writer:
      name: Writer
      role: Draft a mail
      prompt: |
        Draft a mail.

  steps:
    - id: research
      agent: researcher
      output: { format: markdown }
    - id: find
      agent: finder
      input: all prior context
      output: { format: markdown }
    - id: draft
      agent: writer
      input: all prior context
      output: { format: markdown }
"#;

#[test]
fn a_draft_is_shown_as_sentences_with_its_drawing_and_its_text_in_a_file() {
    let (sentences, file) = preview(&parse("w.yaml", THREE).unwrap());
    assert_eq!(file.name, "w.md");
    assert!(!sentences.contains("```"), "{sentences}");
    insta::assert_snapshot!(format!("{sentences}\n\n{}", file.text), @r#"
    w: first research the company, then find their problems, then draft a mail

    Inputs
      - company, a text: Which company is meant

    Steps
      1. research: At the start, Researcher runs.
      2. find: After research, Finder runs. It gets every output so far.
      3. draft: After find, Writer runs. It gets every output so far.

    Agents
      - Researcher: Research the company. Uses no skills.
      - Finder: Find their problems. Uses no skills.
      - Writer: Draft a mail. Uses no skills.

    ```
    ●  research  Researcher
    ●  find      Finder
    ●  draft     Writer
    ```

    ```yaml
    workflow:
      name: w
      description: "first research the company, then find their problems, then draft a mail"

      inputs:
        - { name: company, type: string, description: Which company is meant }

      agents:
        researcher:
          name: Researcher
          role: Research the company
          prompt: |
            Research the company.
            The company is: {{inputs.company}}
        finder:
          name: Finder
          role: Find their problems
          prompt: |
            Find their problems.
        writer:
          name: Writer
          role: Draft a mail
          prompt: |
            Draft a mail.

      steps:
        - id: research
          agent: researcher
          output: { format: markdown }
        - id: find
          agent: finder
          input: all prior context
          output: { format: markdown }
        - id: draft
          agent: writer
          input: all prior context
          output: { format: markdown }
    ```
    "#);
}

#[test]
fn what_is_shown_is_bounded() {
    let long: String = (0..60)
        .map(|at| {
            format!("    - {{ id: chapter_{at}, agent: a, input: \"{}\" }}\n", "of many words ".repeat(4))
        })
        .collect();
    let (shown, file) = preview(&parse("w.yaml", &format!("{GOOD}{long}")).unwrap());
    assert!(shown.chars().count() <= 2_600, "{}", shown.chars().count());
    assert!(shown.ends_with(" more lines"), "{shown}");
    assert!(file.text.contains("chapter_59"), "the file has all of it");
}

#[test]
fn a_workflow_is_saved_once_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("a/workflows");
    let path = save(&folder, "mine", "text").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
    assert_eq!(save(&folder, "mine", "text").unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    for name in ["../mine", "/etc/mine", "", "a b"] {
        assert_eq!(save(&folder, name, "text").unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
}

const GOOD: &str =
    "workflow:\n  name: w\n  agents:\n    a: { prompt: Write }\n  steps:\n    - { id: x, agent: a }\n";

async fn drafted(answers: &[&str]) -> (Result<Workflow, DraftError>, FakeModel) {
    let model = FakeModel::answering(answers);
    let approval = Approval::default();
    let context = CheckContext { skills: &SKILLS, approval: &approval, workflows: &[] };
    (draft("play chess with Bob", "w", &context, &model).await, model)
}

#[tokio::test]
async fn a_model_writes_what_passes_the_check() {
    let fenced = format!("Here it is:\n\n````yaml\n{GOOD}````\nEnjoy!");
    for answer in [
        GOOD,
        &fenced,
        &format!("Sure.\n{GOOD}"),
        &format!("```\nno\n```\n```\n{GOOD}```"),
        &format!("```yaml\n{GOOD}"),
    ] {
        let (workflow, model) = drafted(&[answer]).await;
        assert_eq!(workflow.unwrap().steps.len(), 1, "{answer}");
        assert_eq!(model.requests().len(), 1);
    }
    let (_, model) = drafted(&[GOOD]).await;
    let requests = model.requests();
    assert!(requests[0].messages[0].text.contains("- email.search("), "the catalogue is there");
    insta::assert_snapshot!(requests[0].messages[1].text, @r"
    Write a workflow with the name `w` that does this:

    play chess with Bob
    ");
}

#[tokio::test]
async fn faults_are_put_to_the_model_once() {
    let faulty = GOOD.replace("agent: a", "agent: b");
    let (workflow, model) = drafted(&[&faulty, GOOD]).await;
    assert_eq!(workflow.unwrap().name, "w");
    insta::assert_snapshot!(model.requests()[1].messages[3].text, @"
    That doesn't pass the check:

    - w.yaml:4:5: warning: no step uses the agent 'a'
    - w.yaml:6:23: there is no agent 'b'

    Answer with the whole corrected file.
    ");
    let error = |result: Result<Workflow, DraftError>| result.unwrap_err().to_string();
    let (workflow, model) = drafted(&[&faulty, &faulty, GOOD]).await;
    insta::assert_snapshot!(error(workflow), @"The model didn't write a workflow that passes the check: w.yaml:4:5: warning: no step uses the agent 'a'; w.yaml:6:23: there is no agent 'b'");
    assert_eq!(model.requests().len(), MAX_TRIES);
    insta::assert_snapshot!(error(drafted(&["I can't.", ""]).await.0), @"The model didn't write a workflow that passes the check: the answer contains no YAML; a workflow begins with `workflow:`");
}

#[tokio::test]
async fn a_hostile_answer_becomes_nothing() {
    let error = async |answer: &str| drafted(&[answer, answer]).await.0.unwrap_err().to_string();
    let all = [
        error(&GOOD.replace("prompt: Write", "prompt: Write, skills: [email.sendall, Bash, mcp__x]")).await,
        error(&GOOD.replace("name: w", "name: morning-briefing")).await,
        error(&format!("{GOOD}#{}", "x".repeat(30_000))).await,
        error(&format!("{GOOD}evil: true\n")).await,
        error(&GOOD.replace("Write", "&a [*a]")).await,
        error("```yaml\nworkflow:\n```").await,
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    The model didn't write a workflow that passes the check: w.yaml:4:34: there is no skill 'email.sendall'; did you mean 'email.send'?; w.yaml:4:49: warning: there is no skill 'Bash'; it grants nothing. `adjutant skills list` shows all skills; w.yaml:4:55: warning: there is no skill 'mcp__x'; it grants nothing. `adjutant skills list` shows all skills
    The model didn't write a workflow that passes the check: the workflow's name is 'morning-briefing' and must be 'w'
    The model didn't write a workflow that passes the check: the workflow is longer than 20000 bytes; make it shorter
    The model didn't write a workflow that passes the check: w.yaml:7:1: the file has no key 'evil'; known here: workflow
    The model didn't write a workflow that passes the check: w.yaml:4:22: not YAML: lists or tables are nested too deeply, or an anchor contains itself
    The model didn't write a workflow that passes the check: w.yaml:1:1: the file lacks `workflow`: everything stands under that key
    ");
    let (workflow, _) = drafted(&[&"`".repeat(100_000), &"workflow:\n".repeat(5_000)]).await;
    assert!(workflow.is_err());
}

#[test]
fn the_example_that_a_model_is_given_passes_the_check() {
    let language = include_str!("language.md");
    let workflow =
        context(|context| read(&language[language.find("The language").unwrap()..], "visit-report", context));
    let workflow = workflow.unwrap();
    assert_eq!(workflow.steps.len(), 7);
    assert!(language.contains("type: workflow, workflow: "), "a step that runs another one");
    // A validator that doesn't see what it judges by can't judge it.
    let judged_by = workflow.agent("checker").unwrap().prompt.names();
    assert_eq!(judged_by, ["inputs.customer", "steps.due.output", "steps.read.output"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_words_there_is_a_name(words in any::<String>()) {
        prop_assert!(crate::is_name(&name(&words, &[])));
    }

    #[test]
    fn whatever_a_model_answers_nothing_breaks(answer in any::<String>()) {
        let _ = context(|context| read(&answer, "w", context));
        let _ = context(|context| read(&format!("workflow:\n{answer}"), "w", context));
    }
}
