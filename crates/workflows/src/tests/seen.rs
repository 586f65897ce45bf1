//! What people see of a workflow before it runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use adjutant_config::{Approval, Limits, Price};
use adjutant_skills::{Registry, Skills, builtin};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::catalogue::{BUILT_IN, Catalogue, File};
use super::super::*;
use super::VISIT;
use crate::language::inputs::resolve;
use crate::view::plan::{EstimateContext, Plan, plan};

fn skills() -> std::sync::Arc<Registry> {
    Skills::load(&[], &builtin::names(true)).unwrap().current()
}

fn built_in(name: &str) -> Workflow {
    let (_, text) = BUILT_IN.iter().find(|(stem, _)| *stem == name).unwrap();
    parse(&format!("{name}.yaml"), text).unwrap()
}

#[test]
fn what_is_compiled_in_is_sound_and_drawn() {
    let catalogue = Catalogue::load(&[], &skills(), &Approval::default());
    assert_eq!(catalogue.problems, []);
    let names: Vec<&str> = catalogue.workflows.iter().map(|workflow| workflow.name.as_str()).collect();
    assert_eq!(names, BUILT_IN.map(|(name, _)| name));
    let drawings: Vec<String> = catalogue
        .workflows
        .iter()
        .map(|workflow| format!("{}\n{}", workflow.name, draw(workflow, 100)))
        .collect();
    insta::assert_snapshot!(drawings.join("\n"), @"
    content-pipeline
    ●  research  Researcher
    ●  outline   Planner
    ↻  write     at most 3 rounds
                 └ Writer → Editor, and back until it passes

    iterative-refinement
    ↻  refine    at most 4 rounds
    │            └ Maker → Judge, and back until it passes
    ?  accept    Is this good enough? {{steps.refine.output}}
    │            └ [Keep it] [Throw it away]
    ◆  keep      which branch?
    │            ├ if steps.accept.output == 'Keep it' → remember
    │            └ otherwise → nothing
    ■  remember  memory.save  (if steps.accept.output == 'Keep it')

    map-reduce
    ●  split  Splitter
    ≡  read   for each of {{steps.split.output.parts}}
              ├ Reader, at most 5 at once
              └ then Editor with all outputs

    morning-briefing
    ■        calendar  calendar.list_events
    │ ■      due       tasks.search
    │ │ ■    overdue   tasks.search
    │ │ │ ■  mail      email.triage
    │ │ │ ≡  sort      for each of {{steps.mail.output.pages | default([])}}
    │ │ │ │            └ Sorter, at most 2 at once
    ├─┴─┴─┘
    ■        brief     assistant.lines

    multi-angle-analysis
    ◎  angles  all of 3 in parallel
    │          ├ Advocate
    │          ├ Sceptic
    │          └ Scout
    ●  weigh   Judge

    qualify-and-route
    ●      sort       Sorter
    ◆      route      which branch?
    │                 ├ if steps.sort.output.category == 'complaint' or steps.sort.output.urgency >= 8…
    │                 ├ if steps.sort.output.category == 'order' → order
    │                 └ otherwise → question
    ├─┬─┐
    ● │ │  complaint  Complaints  (if steps.sort.output.category == 'complaint' or steps.sort.output.ur…
    │ ● │  order      Orders  (if steps.sort.output.category == 'order')
    │ │ ●  question   Questions  (otherwise)
    ├─┴─┘
    ●      answer     Closer

    weekly-review
    ■        finished  tasks.search
    │ ■      open      tasks.search
    │ │ ■    past      calendar.list_events
    │ │ │ ■  ahead     calendar.list_events
    ├─┴─┴─┘
    ●        review    Reviewer
    ?        ask       {{steps.review.output}} Shall I add tasks for what should be done?
    │                  └ [Add them] [Leave it]
    ◆        decide    which branch?
                       ├ if steps.ask.output == 'Add them' → Planner
                       └ otherwise → nothing
    ");
}

#[test]
fn a_graph_is_drawn_with_lanes() {
    let steps = "id: a, agent: a\nid: b, agent: b\nid: c, agent: c, depends_on: [a]\nid: d, agent: a, depends_on: [b, c]\n\
                 id: r, condition: { eval: '{{steps.d.output.x}} > 3 <b>', true: e, false: c }\nid: e, agent: b\n\
                 id: f, parallel: [{ agent: a, output_key: one }, { agent: b }], wait: any\n\
                 id: g, map: { over: '{{steps.a.output}}', agent: a, reduce: b }\nid: h, approval: { text: Go on? }";
    let steps = steps.replace(" <b>", "").replace("false: c", "false: c_agent");
    let text = super::of_steps(&steps)
        .replace("    c: {", "    c_agent: { prompt: x, name: '<Cee> & \"co\"' }\n    c: {");
    let workflow = parse("w.yaml", &text).unwrap();
    insta::assert_snapshot!(draw(&workflow, 80), @r#"
    ●    a  a
    ├─┐
    ● │  b  b
    │ ●  c  c
    ├─┘
    ●    d  a
    ◆    r  which branch?
    │       ├ if steps.d.output.x > 3 → e
    │       └ otherwise → <Cee> & "co"
    ├─┐
    ● │  e  b  (if steps.d.output.x > 3)
    ├─┘
    ◎    f  the first of 2 in parallel
    │       ├ a → one
    │       └ b
    ≡    g  for each of {{steps.a.output}}
    │       ├ a, at most 20 at once
    │       └ then b with all outputs
    ?    h  Go on?
            └ [Approve] [Reject]
    "#);
    insta::assert_snapshot!(mermaid(&workflow), @r#"
    flowchart TD
        s_a["<b>a</b><br/>a"]
        s_b["<b>b</b><br/>b"]
        s_c["<b>c</b><br/>c"]
        s_d["<b>d</b><br/>a"]
        s_r{"<b>r</b><br/>which branch#63;"}
        s_e["<b>e</b><br/>b"]
        s_f["<b>f</b><br/>the first of 2 in parallel<br/>a → one<br/>b"]
        s_g["<b>g</b><br/>for each of #123;#123;steps.a.output#125;#125;<br/>a, at most 20 at once<br/>then b with all outputs"]
        s_h(["<b>h</b><br/>Go on#63;<br/>#91;Approve#93; #91;Reject#93;"])
        s_a --> s_b
        s_a --> s_c
        s_b --> s_d
        s_c --> s_d
        s_d --> s_r
        s_r -->|"steps.d.output.x #62; 3"| s_e
        s_r --> s_f
        s_e --> s_f
        s_f --> s_g
        s_g --> s_h
    "#);
    assert!(for_chat(&workflow).starts_with("```\n"));
}

#[test]
fn a_workflow_is_explained() {
    insta::assert_snapshot!(explain(&parse("visit.yaml", VISIT).unwrap()), @"
    visit-report: Look a customer up, write the report, have it checked
    A run takes at most 15 minutes.

    Inputs
      - customer, a text: Who was visited

    Steps
      1. find: At the start, Finder runs. It gets “{{inputs.customer}}”. Its output is stored as known.
      2. write: After find, Writer runs. It gets every output so far. Its output is stored as draft.
      3. review: After write, Writer works and Checker reviews, with feedback for the next round, until the review passes or after 2 rounds. Its output is stored as final.

    Agents
      - Finder: Finds what we know. May use email.search and calendar.search; takes at most 3 minutes; up to 2 attempts, waiting twice as long each time; if it still fails, the run goes on without it.
          checked: its output fits a JSON Schema
          checked: “Output must include mails field” (there is a field `mails`)
      - Writer: Writes. Uses no skills; takes at most 4 minutes.
      - Checker: Checks. Uses no skills.
    ");
    insta::assert_snapshot!(explain(&built_in("qualify-and-route")), @"
    qualify-and-route: Answer a request as its kind needs
    A run takes at most 10 minutes.

    Inputs
      - request, a text: What somebody wrote

    Steps
      1. sort: At the start, Sorter runs. It gets “{{inputs.request}}”. Its output is stored as kind.
      2. route: After sort, a branch is chosen: if steps.sort.output.category == 'complaint' or steps.sort.output.urgency >= 8, complaint; if steps.sort.output.category == 'order', order; otherwise question.
      3. complaint: If route leads here, Complaints runs.
      4. order: If route leads here, Orders runs.
      5. question: If route leads here, Questions runs.
      6. answer: After complaint, order and question, Closer runs. It gets every output so far. Its output is stored as reply.

    Agents
      - Sorter: Says what kind of request it is. Uses no skills; takes at most 1 minute; up to 2 attempts.
          checked: “category must be one of complaint, question, order or other” (`category` is one of complaint, question, order, other)
          checked: “urgency must be between 0 and 10” (`urgency` is between 0 and 10)
      - Complaints (soother): Answers a complaint. Uses no skills; takes at most 2 minutes.
      - Questions (expert): Answers a question from what is known. May use memory.search and email.search; takes at most 3 minutes.
      - Orders (clerk): Takes an order down. May use tasks.create; takes at most 2 minutes.
      - Closer: Makes the final text. Uses no skills; takes at most 2 minutes.
          checked: “must not be empty” (the output is not empty)
          checked: “at most 250 words” (the text has at most 250 words)
    ");
}

fn planned(workflow: &Workflow, given: &[(&str, Value)], price: Option<Price>) -> Plan {
    let skills = skills();
    let (mut approval, limits) = (Approval::default(), Limits::default());
    approval.skills.insert("tasks.create".to_owned(), adjutant_config::Policy::Ask);
    let context = CheckContext { skills: &skills, approval: &approval, workflows: &[] };
    let context = EstimateContext {
        context,
        limits: &limits,
        roles: None,
        model: "m",
        price,
        is_free: price.is_none(),
        history: None,
        values: None,
    };
    let given: BTreeMap<String, Value> =
        given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let now = chrono::NaiveDate::from_ymd_opt(2026, 11, 27).unwrap().and_hms_opt(8, 30, 0).unwrap();
    plan(workflow, &resolve(workflow, &given).unwrap(), &date_values(now, None), &context)
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is what people read")]
fn a_dry_run_shows_what_would_happen() {
    let price = Price { input: 3.0, cached_input: None, output: 15.0 };
    let request = [("request", json!("Where is my\u{1b} order?"))];
    insta::assert_snapshot!(planned(&built_in("qualify-and-route"), &request, Some(price)).text(), @r#"
    Dry run of qualify-and-route: nothing runs.

    Inputs
      request: Where is my� order?

    1.
      sort (sequential): Sorter
          prompt of Sorter:
            What kind of request is this, and how urgent is it? Where is my� order?
            Return JSON with "category" (one of complaint, question, order, other), "urgency" (0 to 10) and
            "summary" (one sentence).
          input: Where is my� order?

    2.
      route (switch): which branch?, after sort
          if steps.sort.output.category == 'complaint' or steps.sort.output.urgency >= 8 → complaint
          if steps.sort.output.category == 'order' → order
          otherwise → question

    3. (one of 3)
      complaint (sequential): Complaints, if route leads here
          prompt of Complaints:
            Draft an answer to this complaint: say what we understood, that we are sorry, and what happens next.
            Where is my� order?
      order (sequential): Orders, if route leads here
          skill tasks.create: low risk, asks first
          prompt of Orders:
            Add a task to carry out this order, and draft a confirmation that repeats what was ordered.
            Where is my� order?
      question (sequential): Questions, if route leads here
          skill memory.search: low risk
          skill email.search: low risk
          prompt of Questions:
            Answer this question from what our memories and mails say; say so where they say nothing.
            Where is my� order?

    4.
      answer (sequential): Closer, after complaint, order, question
          prompt of Closer:
            Make the final answer of what was drafted, in the language of the request, in at most 200 words.
            Request: Where is my� order?
            It is: {{steps.sort.output.summary}}
          input: every output so far

    Questions to a person
      - order: each call of tasks.create (low risk) must be approved

    Estimate
      agents       2 to 4
      model calls  2 to 34
      skill calls  0 to 30
      tokens       1,488 to 1,004,373
      cost         $0.0069 to $3.6251
    "#);
    let plan = planned(&built_in("morning-briefing"), &[], None);
    insta::assert_snapshot!(plan.text(), @r#"
    Dry run of morning-briefing: nothing runs.

    1. (4 in parallel)
      calendar (sequential): calendar.list_events
          skill calendar.list_events: low risk
          arguments: {"start":"2026-11-27","end":"2026-11-27"}
      due (sequential): tasks.search
          skill tasks.search: low risk
          arguments: {"state":"open","due_after":"2026-11-27","due_before":"2026-11-28"}
      overdue (sequential): tasks.search
          skill tasks.search: low risk
          arguments: {"state":"overdue"}
      mail (sequential): email.triage
          skill email.triage: low risk
          arguments: {}

    2.
      sort (map): for each of {{steps.mail.output.pages | default([])}}, after mail
          prompt of Sorter:
            These mails weren't answered, a line each, below the day of today: number | day | sender | subject | beginning. Which
            of them ask something of the person, or matter to them today? Leave out the others, such as advertising. Return a
            JSON list, the most urgent first, of {"n": its number, "who": sender, "about": what it is about, "asked": what is
            asked, in at most ten words of the mail's language, "by": the day or time if it names one, with its date, such as
            Fri 27 Nov, and "overdue" if that is past, else "", "sure": 0 to 1}. If none does, return [].
            {{item}}
          items: {{steps.mail.output.pages | default([])}}

    3.
      brief (sequential): assistant.lines, after calendar, due, overdue, sort
          skill assistant.lines: low risk
          arguments: {"mails":"{{steps.sort.output}}","since":"2026-11-26T08:30","quiet":true}

    Estimate
      agents       1 to 40
      model calls  1 to 40
      skill calls  5
      tokens       840 to 169,600
      cost         none: there is no language model, so agents can't run

    Notes
      - it may pause and ask whether to continue: up to 40 agents, and the limit is 20
      - the number of items of 'sort' isn't known; the estimate assumes 1 to 20
    "#);
    let plan = planned(&built_in("map-reduce"), &[], None).json();
    assert_eq!(plan["plan"]["missing"], json!(["document"]));
    assert_eq!(plan["plan"]["order"], json!([["split"], ["read"]]));
    assert_eq!(plan["plan"]["estimate"]["agents"], json!([3, 63]));
    assert_eq!(plan["plan"]["estimate"]["cost_usd"], json!([0.0, 0.0]));
    assert_eq!(plan["steps"][1]["type"], "map");
}

#[test]
fn inputs_are_read_as_what_they_are() {
    let workflow = "workflow: { name: w, agents: { a: { prompt: x } }, steps: [{ id: s, agent: a }], inputs: [
        { name: n, type: number }, { name: b, type: boolean, default: false }, { name: j, type: json, required: false } ] }";
    let workflow = parse("w.yaml", workflow).unwrap();
    let resolved = |given: &[(&str, &str)]| {
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
        match resolve(&workflow, &given) {
            Ok(inputs) => format!("{} missing {}", Value::Object(inputs.values), inputs.missing.len()),
            Err(problems) => problems.join("\n"),
        }
    };
    insta::assert_snapshot!(resolved(&[("n", "3"), ("b", "yes"), ("j", "[1]")]), @r#"{"n":3,"b":true,"j":[1]} missing 0"#);
    insta::assert_snapshot!(resolved(&[("j", "no json")]), @r#"{"b":false,"j":"no json"} missing 1"#);
    insta::assert_snapshot!(resolved(&[("n", "many"), ("b", "perhaps"), ("m", "1")]), @"
    the workflow 'w' has no input 'm'
    the input 'n' isn't a number
    the input 'b' is neither true nor false
    ");
}

#[test]
fn of_two_of_a_name_the_first_counts() {
    let file = |name: &str, about: &str| File {
        name: name.to_owned(),
        text: format!(
            "workflow: {{ name: w, description: {about}, agents: {{ a: {{ prompt: x }} }}, steps: [{{ id: s, agent: a }}] }}"
        ),
    };
    let wrong = File { name: "c.yaml".to_owned(), text: "workflow: [".to_owned() };
    let files = [file("a.yaml", "first"), file("b.yaml", "second"), wrong];
    let catalogue = Catalogue::of(&files, &[], &skills(), &Approval::default());
    assert_eq!(catalogue.get("w").unwrap().description, "first");
    let problems: Vec<String> = catalogue.problems.iter().map(Problem::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"), @"
    c.yaml:1:11: not YAML: unclosed bracket '['
    b.yaml:1:19: warning: a.yaml has the same name and is used instead; choose another name
    ");
}

/// A file of so many steps, each of which may wait for any before it.
fn graph(edges: &[Vec<usize>]) -> String {
    let mut text = "workflow:\n  name: w\n  agents: { a: { prompt: x } }\n  steps:\n".to_owned();
    for (index, needs) in edges.iter().enumerate() {
        let needs: Vec<String> =
            needs.iter().filter(|_| index > 0).map(|need| format!("s{}", need % index)).collect();
        let _ = writeln!(text, "    - {{ id: s{index}, agent: a, depends_on: [{}] }}", needs.join(", "));
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever graph without circles is written, it is sound, each step stands in one wave, after all it needs, and
    /// every drawing of it names each step.
    #[test]
    fn graphs_without_circles_are_sound(edges in prop::collection::vec(prop::collection::vec(0..40_usize, 0..4), 1..30)) {
        let skills = skills();
        let approval = Approval::default();
        let context = CheckContext { skills: &skills, approval: &approval, workflows: &[] };
        let (workflow, problems) = check("w.yaml", &graph(&edges), &context);
        prop_assert_eq!(problems, vec![]);
        let workflow = workflow.unwrap();
        let waves = waves(&workflow.steps);
        let wave = |id: &str| waves.iter().position(|wave| wave.iter().any(|at| workflow.steps[*at].id == id)).unwrap();
        prop_assert_eq!(waves.iter().map(Vec::len).sum::<usize>(), edges.len());
        for step in &workflow.steps {
            for need in &step.depends_on {
                prop_assert!(wave(need) < wave(&step.id));
            }
        }
        for width in [0, 50, 1000] {
            let drawing = draw(&workflow, width);
            for line in drawing.lines() {
                prop_assert!(unicode_width::UnicodeWidthStr::width(line) <= width.clamp(40, 160), "{}", drawing);
            }
        }
        let all = [draw(&workflow, 160), mermaid(&workflow), explain(&workflow)];
        for step in &workflow.steps {
            prop_assert!(all.iter().all(|drawing| drawing.contains(&step.id)));
        }
    }

    /// No file panics, and no fault lies outside of it.
    #[test]
    fn no_file_panics(at in 0.0..1.0_f64, length in 0..30_usize, instead in "[\\PC\\n{}%\"':\\[\\], -]{0,12}") {
        let point = |part: f64| VISIT.floor_char_boundary((VISIT.len() as f64 * part) as usize);
        let start = point(at);
        let end = VISIT.floor_char_boundary((start + length).min(VISIT.len()));
        let text = format!("{}{instead}{}", &VISIT[..start], &VISIT[end..]);
        for file in ["w.yaml", "w.toml"] {
            match parse(file, &text) {
                Ok(workflow) => {
                    let _ = (draw(&workflow, 80), mermaid(&workflow), explain(&workflow));
                }
                Err(problems) => {
                    let lines = text.lines().count() + 1;
                    prop_assert!(!problems.is_empty());
                    prop_assert!(problems.iter().all(|fault| fault.position.line <= lines), "{problems:?}");
                }
            }
        }
    }
}
