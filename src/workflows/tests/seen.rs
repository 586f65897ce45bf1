//! What people see of a workflow before it runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::catalogue::{BUILT_IN, Catalogue, File};
use super::super::inputs::resolve;
use super::super::plan::{Plan, Setting, plan};
use super::super::*;
use super::VISIT;
use crate::config::{Approval, Limits, Price};
use crate::skills::{Registry, Skills, handlers};

fn skills() -> std::sync::Arc<Registry> {
    Skills::load(&[], &handlers::all(true)).unwrap().current()
}

fn built_in(name: &str) -> Workflow {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap();
    parse(&format!("{name}.yaml"), text).unwrap()
}

#[test]
fn what_is_compiled_in_is_sound_and_drawn() {
    let catalogue = Catalogue::load(&[], &skills(), &Approval::default());
    assert_eq!(catalogue.faults, []);
    let names: Vec<&str> = catalogue.workflows.iter().map(|workflow| workflow.name.as_str()).collect();
    assert_eq!(names, BUILT_IN.map(|(name, _)| name));
    let drawings: Vec<String> = catalogue
        .workflows
        .iter()
        .map(|workflow| format!("{}\n{}", workflow.name, draw(workflow, 100)))
        .collect();
    insta::assert_snapshot!(drawings.join("\n"), @"");
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
    insta::assert_snapshot!(draw(&workflow, 80), @"");
    insta::assert_snapshot!(mermaid(&workflow), @"");
    let picture = svg(&workflow);
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("steps.d.output.x &gt; 3") && !picture.contains("<Cee>"), "{picture}");
    assert_eq!(picture.matches("<path d=\"M").count(), 1 + 10, "{picture}");
    assert!(for_chat(&workflow).starts_with("```\n"));
}

#[test]
fn a_workflow_is_explained() {
    insta::assert_snapshot!(explain(&parse("visit.yaml", VISIT).unwrap()), @"");
    insta::assert_snapshot!(explain(&built_in("qualify-and-route")), @"");
}

fn planned(workflow: &Workflow, given: &[(&str, Value)], price: Option<Price>) -> Plan {
    let skills = skills();
    let (mut approval, limits) = (Approval::default(), Limits::default());
    approval.skills.insert("tasks.create".to_owned(), crate::config::Policy::Ask);
    let world = World { skills: &skills, approval: &approval, workflows: &[] };
    let setting =
        Setting { world, limits: &limits, model: "m", price, is_free: price.is_none(), values: None };
    let given: BTreeMap<String, Value> =
        given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let now = chrono::NaiveDate::from_ymd_opt(2026, 11, 27).unwrap().and_hms_opt(8, 30, 0).unwrap();
    plan(workflow, &resolve(workflow, &given).unwrap(), &times(now), &setting)
}

#[test]
fn a_dry_run_shows_what_would_happen() {
    let price = Price { input: 3.0, cached_input: None, output: 15.0 };
    let request = [("request", json!("Where is my\u{1b} order?"))];
    insta::assert_snapshot!(planned(&built_in("qualify-and-route"), &request, Some(price)).text(), @"");
    let plan = planned(&built_in("morning-briefing"), &[], None);
    insta::assert_snapshot!(plan.text(), @"");
    let plan = planned(&built_in("map-reduce"), &[], None).json();
    assert_eq!(plan["plan"]["missing"], json!(["document"]));
    assert_eq!(plan["plan"]["order"], json!([["split"], ["read"]]));
    assert_eq!(plan["plan"]["estimate"]["agents"], json!([3, 66]));
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
            Err(faults) => faults.join("\n"),
        }
    };
    insta::assert_snapshot!(resolved(&[("n", "3"), ("b", "yes"), ("j", "[1]")]), @"");
    insta::assert_snapshot!(resolved(&[("j", "no json")]), @"");
    insta::assert_snapshot!(resolved(&[("n", "many"), ("b", "perhaps"), ("m", "1")]), @"");
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
    assert_eq!(catalogue.faults.len(), 1);
}

/// A file of so many steps, each of which may wait for any before it.
fn graph(edges: &[Vec<usize>]) -> String {
    let mut text = "workflow:\n  name: w\n  agents: { a: { prompt: x } }\n  steps:\n".to_owned();
    for (place, needs) in edges.iter().enumerate() {
        let needs: Vec<String> =
            needs.iter().filter(|_| place > 0).map(|need| format!("s{}", need % place)).collect();
        let _ = writeln!(text, "    - {{ id: s{place}, agent: a, depends_on: [{}] }}", needs.join(", "));
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
        let world = World { skills: &skills, approval: &approval, workflows: &[] };
        let (workflow, faults) = check("w.yaml", &graph(&edges), &world);
        prop_assert_eq!(faults, vec![]);
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
        let all = [draw(&workflow, 160), mermaid(&workflow), svg(&workflow), explain(&workflow)];
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
                    let _ = (draw(&workflow, 80), svg(&workflow), mermaid(&workflow), explain(&workflow));
                }
                Err(faults) => {
                    let lines = text.lines().count() + 1;
                    prop_assert!(!faults.is_empty());
                    prop_assert!(faults.iter().all(|fault| fault.at.line <= lines), "{faults:?}");
                }
            }
        }
    }
}
