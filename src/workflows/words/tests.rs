use std::fmt::Write as _;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::config::Approval;
use crate::model::scripted::{Scripted, in_order, text};
use crate::skills::{Registry, Skills, builtin};
use crate::workflows::World;

static SKILLS: LazyLock<std::sync::Arc<Registry>> =
    LazyLock::new(|| Skills::load(&[], &builtin::names(true)).unwrap().current());

fn world<R>(work: impl FnOnce(&World<'_>) -> R) -> R {
    let approval = Approval::default();
    work(&World { skills: &SKILLS, approval: &approval, workflows: &[] })
}

fn plan(words: &str) -> Result<Workflow, WordsError> {
    world(|world| planned(words, "w", world))
}

/// The agents and steps of a file, without what stands above them; or why there is none.
fn yaml(words: &str) -> String {
    match plan(words) {
        Ok(workflow) => {
            let at = workflow.text.find("\n\n").unwrap();
            workflow.text[at + 2..].to_owned()
        }
        Err(error) => error.to_string(),
    }
}

/// The steps in short: `find(mails) <- research`.
fn steps(words: &str) -> String {
    let workflow = match plan(words) {
        Ok(workflow) => workflow,
        Err(WordsError::NotUnderstood { part, why }) => return format!("no: “{part}”: {why}"),
        Err(error) => return format!("no: {error}"),
    };
    let mut out = String::new();
    for input in &workflow.inputs {
        let _ = writeln!(out, "given {}", input.name);
    }
    for step in &workflow.steps {
        let what = match &step.work {
            crate::workflows::Work::Skill(call) => {
                format!("{} {}", call.skill, serde_json::Value::Object(call.arguments.clone()))
            }
            work => {
                let agents = work.agents().into_iter().filter_map(|id| workflow.agent(id));
                let agents = agents.map(|agent| {
                    let prompt = agent.prompt.source().trim().replace('\n', " ");
                    format!("{}[{}] “{prompt}”", agent.id, agent.skills.join(" "))
                });
                format!("{}: {}", work.kind(), agents.collect::<Vec<_>>().join(" / "))
            }
        };
        let after = if step.depends_on.is_empty() {
            String::new()
        } else {
            format!(" <- {}", step.depends_on.join(" "))
        };
        let _ = writeln!(out, "{}{after}: {what}", step.id);
    }
    out
}

#[test]
fn a_sentence_becomes_a_file() {
    insta::assert_snapshot!(plan("first research the company, then find their problems, then draft a mail").unwrap().text, @r#"
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
    "#);
}

#[test]
fn skills_are_called_with_their_arguments() {
    insta::assert_snapshot!(steps("find mails from alice about the budget, then summarise them in three sentences and email it to bob@example.test"), @r#"
    email: email.search {"from":"alice","text":"budget"}
    summarise <- email: sequential: editor[] “Summarise them in three sentences.”
    email_2 <- summarise: email.send {"to":["bob@example.test"],"subject":"What you asked for","body":"{{steps.summarise.output}}"}
    "#);
    insta::assert_snapshot!(steps("show my open tasks; find mails from the customer; then write a briefing"), @r#"
    given customer
    tasks: tasks.search {"state":"open"}
    email <- tasks: email.search {"from":"{{inputs.customer}}"}
    write <- email: sequential: writer[] “Write a briefing.”
    "#);
    insta::assert_snapshot!(steps("show my unread mails, then mail them to bob@example.test"), @r#"
    email: email.search {"unread":true}
    email_2 <- email: sequential: assistant[email.send] “Mail them to bob@example.test.”
    "#);
    insta::assert_snapshot!(steps("what is on my calendar today, then create a task to call Bob tomorrow at 9am"), @r#"
    calendar: calendar.list_events {"start":"{{today}}","end":"{{tomorrow}}"}
    tasks <- calendar: tasks.create {"title":"call Bob","due":"{{tomorrow}}T09:00"}
    "#);
    insta::assert_snapshot!(steps("what is on my calendar on Friday, then write a summary"), @r"
    calendar: sequential: assistant[calendar.list_events] “What is on my calendar on Friday.”
    write <- calendar: sequential: writer[] “Write a summary.”
    ");
    insta::assert_snapshot!(steps("mark the report as done, then write a short poem"), @r"
    tasks: sequential: assistant[tasks.complete tasks.search] “Mark the report as done.”
    write <- tasks: sequential: writer[] “Write a short poem.”
    ");
}

#[test]
fn side_by_side_loops_and_maps() {
    insta::assert_snapshot!(steps("research the market; meanwhile find mails about prices; then write a report"), @r#"
    research: sequential: researcher[] “Research the market.”
    email: email.search {"text":"prices"}
    write <- research email: sequential: writer[] “Write a report.”
    "#);
    insta::assert_snapshot!(steps("In parallel: list the strengths of Rust, list the strengths of Go, and list the strengths of C. Then compare them"), @r"
    list: sequential: collector[] “List the strengths of Rust.”
    list_2: sequential: collector_2[] “List the strengths of Go.”
    list_3: sequential: collector_3[] “List the strengths of C.”
    compare <- list list_2 list_3: sequential: analyst[] “Compare them.”
    ");
    insta::assert_snapshot!(steps("find our problems, at the same time show my tasks, and finally write a plan until it is short, checked by an experienced manager"), @r#"
    find: sequential: finder[] “Find our problems.”
    tasks: tasks.search {"state":"open"}
    write <- find tasks: loop: writer[] “Write a plan. It is good when it is short.” / experienced_manager[] “Judge what you are given as a careful experienced manager would. It is good when it is short. Return JSON with "passed" (boolean: it is good enough) and "feedback" (array of what to change, empty if nothing).”
    "#);
    insta::assert_snapshot!(steps("draft a mail to the team, then have it checked by a native speaker until it is polite, then translate it into German"), @r#"
    draft: loop: writer[] “Draft a mail to the team. It is good when it is polite.” / native_speaker[] “Judge what you are given as a careful native speaker would. It is good when it is polite. Return JSON with "passed" (boolean: it is good enough) and "feedback" (array of what to change, empty if nothing).”
    translate <- draft: sequential: translator[] “Translate it into German.”
    "#);
    insta::assert_snapshot!(steps("list three competitors of Acme, then for each of them, write a profile, then compare them all"), @r#"
    list: sequential: collector[] “List three competitors of Acme. Return JSON with "items" (array): one item for each.”
    write <- list: map: writer[] “Write a profile. It is about this one of several: {{item}}”
    compare <- write: sequential: analyst[] “Compare them all.”
    "#);
    insta::assert_snapshot!(steps("show my unread mails, then summarise each of them"), @r#"
    email: email.search {"unread":true}
    summarise <- email: map: editor[] “Summarise. It is about this one of several: {{item}}”
    "#);
}

#[test]
fn the_file_of_a_list() {
    insta::assert_snapshot!(yaml("1. Find three ideas\n2. Rank them\n3. Draft a proposal for each"), @r#"
    agents:
      finder:
        name: Finder
        role: Find three ideas
        prompt: |
          Find three ideas.
      sorter:
        name: Sorter
        role: Rank them
        prompt: |
          Rank them.
          Return JSON with "items" (array): one item for each.
        validation: { rules: ["Must include items array"] }
      writer:
        name: Writer
        role: Draft a proposal
        prompt: |
          Draft a proposal.
          It is about this one of several:
          {{item}}

    steps:
      - id: find
        agent: finder
        output: { format: markdown }
      - id: rank
        agent: sorter
        input: all prior context
        output: { format: json }
      - id: draft
        type: map
        map:
          over: "{{steps.rank.output.items}}"
          agent: writer
    "#);
}

#[test]
fn what_is_not_understood_is_told() {
    let all: String = [
        "",
        "play chess with Bob, then draft a mail",
        "research Acme, then send it to the whole team",
        "write a report and publish it",
        "if it rains, write a poem",
        "summarise it",
        "research Acme, and if they are good draft a mail",
        "every Monday summarise my mails",
        "draft a mail until 5pm",
        "for each customer write a letter",
        "remember that Bob likes to draw and write poems every day",
        "mail it to bob@example.test",
        "have it checked by an editor",
        "make an appointment with the dentist",
        "write {{inputs.nothing}}",
        "write {% for x in y %}",
        "research",
        "hello",
    ]
    .iter()
    .map(|words| format!("{words} => {}\n", steps(words).trim_end()))
    .collect();
    insta::assert_snapshot!(all, @r#"
     => no: say what is to be done, such as: “first research the company, then find their problems, then draft a mail”; “find mails from alice, then summarise them”; “list three competitors, then for each of them write a profile”; “write a poem until it is short, checked by an editor”
    play chess with Bob, then draft a mail => no: “play chess with Bob”: it is no plain task that begins with a verb, and no skill is asked for so
    research Acme, then send it to the whole team => no: “send it to the whole team”: it is no plain task that begins with a verb, and no skill is asked for so
    write a report and publish it => no: “write a report and publish it”: it is no plain task that begins with a verb, and no skill is asked for so
    if it rains, write a poem => no: “if it rains, write a poem”: it is no plain task that begins with a verb, and no skill is asked for so
    summarise it => no: “summarise it”: it speaks of what came before, and nothing did
    research Acme, and if they are good draft a mail => no: “research Acme, and if they are good draft a mail”: it is no plain task that begins with a verb, and no skill is asked for so
    every Monday summarise my mails => schedule: schedule.create {"when":"every Monday","text":"summarise my mails"}
    draft a mail until 5pm => no: “draft a mail until 5pm”: it is no plain task that begins with a verb, and no skill is asked for so
    for each customer write a letter => no: “for each customer write a letter”: it is no plain task that begins with a verb, and no skill is asked for so
    remember that Bob likes to draw and write poems every day => no: “remember that Bob likes to draw and write poems every day”: it may ask for two things; part them with “then”
    mail it to bob@example.test => no: “mail it to bob@example.test”: it speaks of what came before, and nothing did
    have it checked by an editor => no: “have it checked by an editor”: there is no text of one step before it to be judged
    make an appointment with the dentist => no: “make an appointment with the dentist”: it is no plain task that begins with a verb, and no skill is asked for so
    write {{inputs.nothing}} => no: “write {{inputs.nothing}}”: w.yaml:10:17: there is no input 'nothing'
    write {% for x in y %} => no: “write {% for x in y %}”: w.yaml:10:9: unexpected end of input, expected end of block
    research => no: “research”: it is no plain task that begins with a verb, and no skill is asked for so
    hello => no: “hello”: it is no plain task that begins with a verb, and no skill is asked for so
    "#);
}

#[test]
fn what_nobody_can_know_is_asked_for_only_where_it_is_open() {
    let inputs =
        |words: &str| plan(words).unwrap().inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        inputs("research the company and the product, then draft a mail to the customer"),
        ["company", "product"]
    );
    assert_eq!(inputs("research the company Acme, then draft a mail"), [""; 0]);
    assert_eq!(inputs("find a company in Berlin, then research the company"), [""; 0]);
    assert_eq!(inputs("research the company that wrote to us, then describe the company"), [""; 0]);
    assert_eq!(inputs("describe the best company"), [""; 0]);
}

#[test]
fn what_may_not_be_used_is_not_granted() {
    let approval = Approval {
        skills: [("email.search".to_owned(), crate::config::Policy::Deny)].into(),
        ..Approval::default()
    };
    let world = World { skills: &SKILLS, approval: &approval, workflows: &[] };
    let workflow = planned("read the mails about Acme, then sum them up", "w", &world).unwrap();
    assert!(!workflow.text.contains("email.search"), "{}", workflow.text);
    let told = planned("find mails from alice", "w", &world).unwrap_err();
    assert!(told.to_string().contains("[approval] denies the skill email.search"), "{told}");
}

#[test]
fn a_name_is_made_of_the_words() {
    assert_eq!(
        name("first research the company, then find their problems", &[]),
        "research-company-find-problems"
    );
    assert_eq!(name("Überprüfe das", &[]), "das");
    assert_eq!(name("…", &[]), "my-workflow");
    let taken = crate::workflows::parse(
        "w.yaml",
        &plan("write a poem").unwrap().text.replace("name: w", "name: write-poem"),
    )
    .unwrap();
    assert_eq!(name("write a poem", &[&taken]), "write-poem-2");
}

#[test]
fn what_is_shown_is_bounded() {
    insta::assert_snapshot!(shown(&plan("first research the company, then find their problems, then draft a mail").unwrap()), @r#"
    w: first research the company, then find their problems, then draft a mail

    It is given
      - company, a text: Which company is meant

    What happens
      1. research: At once, Researcher works.
      2. find: After research, Finder works. It is given every output so far.
      3. draft: After find, Writer works. It is given every output so far.

    The agents
      - Researcher (researcher): Research the company. Uses no skills.
      - Finder (finder): Find their problems. Uses no skills.
      - Writer (writer): Draft a mail. Uses no skills.

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
    let long: Vec<String> = (0..20)
        .map(|at| format!("write a long chapter number {at} {}", "of many words ".repeat(4)))
        .collect();
    let shown = shown(&plan(&long.join("; ")).unwrap());
    assert!(shown.chars().count() <= 3_600, "{}", shown.chars().count());
    assert!(shown.contains(" lines more\n```"), "{shown}");
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

async fn drafted(answers: &[&str]) -> (Result<Workflow, WordsError>, Scripted) {
    let replies: Vec<_> = answers.iter().map(|answer| text(*answer)).collect();
    let model = Scripted::new().plain(in_order(replies));
    let approval = Approval::default();
    let world = World { skills: &SKILLS, approval: &approval, workflows: &[] };
    (draft("play chess with Bob", "w", &world, &model).await, model)
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
        assert_eq!(model.count(), 1);
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
    insta::assert_snapshot!(model.requests()[1].messages[3].text, @r"
    That does not pass the check:

    - w.yaml:4:5: warning: no step uses the agent 'a'
    - w.yaml:6:23: there is no agent 'b'

    Answer with the whole file, mended.
    ");
    let told = |result: Result<Workflow, WordsError>| result.unwrap_err().to_string();
    let (workflow, model) = drafted(&[&faulty, &faulty, GOOD]).await;
    insta::assert_snapshot!(told(workflow), @"the model wrote no workflow that passes the check, so there is none: w.yaml:4:5: warning: no step uses the agent 'a'; w.yaml:6:23: there is no agent 'b'");
    assert_eq!(model.count(), TRIES);
    insta::assert_snapshot!(told(drafted(&["I can't.", ""]).await.0), @"the model wrote no workflow that passes the check, so there is none: there is no YAML in the answer; it begins with `workflow:`");
}

#[tokio::test]
async fn a_hostile_answer_becomes_nothing() {
    let told = async |answer: &str| drafted(&[answer, answer]).await.0.unwrap_err().to_string();
    let all = [
        told(&GOOD.replace("prompt: Write", "prompt: Write, skills: [email.sendall, Bash, mcp__x]")).await,
        told(&GOOD.replace("name: w", "name: morning-briefing")).await,
        told(&format!("{GOOD}#{}", "x".repeat(30_000))).await,
        told(&format!("{GOOD}evil: true\n")).await,
        told(&GOOD.replace("Write", "&a [*a]")).await,
        told("```yaml\nworkflow:\n```").await,
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    the model wrote no workflow that passes the check, so there is none: w.yaml:4:34: there is no skill 'email.sendall'; did you mean 'email.send'?; w.yaml:4:49: warning: there is no skill 'Bash'; it grants nothing. `adjutant skills list` shows those there are; w.yaml:4:55: warning: there is no skill 'mcp__x'; it grants nothing. `adjutant skills list` shows those there are
    the model wrote no workflow that passes the check, so there is none: the workflow's name is 'morning-briefing' and must be 'w'
    the model wrote no workflow that passes the check, so there is none: the workflow is longer than 20000 bytes; make it shorter
    the model wrote no workflow that passes the check, so there is none: w.yaml:7:1: the file has no key 'evil'; known here: workflow
    the model wrote no workflow that passes the check, so there is none: w.yaml:4:22: not YAML: lists or tables stand too deep in one another, or an anchor holds itself
    the model wrote no workflow that passes the check, so there is none: w.yaml:1:1: the file lacks `workflow`: everything stands under that key
    ");
    let (workflow, _) = drafted(&[&"`".repeat(100_000), &"workflow:\n".repeat(5_000)]).await;
    assert!(workflow.is_err());
}

#[test]
fn the_example_that_a_model_is_given_passes_the_check() {
    let language = include_str!("language.md");
    let workflow =
        world(|world| read(&language[language.find("The language").unwrap()..], "visit-report", world));
    assert_eq!(workflow.unwrap().steps.len(), 7);
}

/// Words of the kind that people write, and what they might as well.
fn wild() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "research ",
        "the company",
        ", then ",
        " and ",
        "; ",
        "\n",
        "meanwhile ",
        "in parallel: ",
        "draft a mail",
        "find mails from ",
        "alice",
        " until it is good",
        " checked by an editor",
        "for each of them, ",
        "for each ",
        "show my open tasks",
        "if ",
        "it",
        "{{",
        "}}",
        "{% if %}",
        "{#",
        "\"",
        "“",
        "'",
        ": ",
        "# ",
        "- ",
        "1. ",
        "tomorrow",
        "\u{202e}",
        "\u{0}",
        "é",
        "🦀",
        "write a report",
        "summarise ",
        "mail it to bob@example.test",
        "first ",
        "finally ",
        "finally",
        " at the same time",
        "list ",
        "&a *a",
        "|",
        ">",
        "!!",
        "yes",
        "null",
    ]);
    prop_oneof![prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat()), any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_words_the_result_passes_or_there_is_none(words in wild()) {
        if let Ok(workflow) = plan(&words) {
            let approval = Approval::default();
            let world = World { skills: &SKILLS, approval: &approval, workflows: &[] };
            let (again, faults) = crate::workflows::check("w.yaml", &workflow.text, &world);
            prop_assert!(again.is_some() && faults.is_empty(), "{faults:?}\n{}", workflow.text);
            prop_assert!(workflow.text.len() < 60_000 && shown(&workflow).chars().count() <= 3_600);
        }
        prop_assert!(crate::workflows::is_name(&name(&words, &[])));
    }

    #[test]
    fn whatever_a_model_answers_nothing_breaks(answer in any::<String>()) {
        let _ = world(|world| read(&answer, "w", world));
        let _ = world(|world| read(&format!("workflow:\n{answer}"), "w", world));
    }
}
