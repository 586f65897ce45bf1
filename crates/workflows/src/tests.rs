use serde_json::{Value, json};

use super::language::template::{Condition, Template, Values, Verdict};
use super::*;

mod seen;
mod told;

const VISIT: &str = r#"
workflow:
  name: visit-report
  description: Look a customer up, write the report, have it checked
  version: "1.0.0"
  timeout: "15m"
  inputs:
    - { name: customer, type: string, required: true, description: Who was visited }
  agents:
    finder:
      name: Finder
      role: Finds what we know
      prompt: |
        Find what we know about {{inputs.customer}}. Return JSON with "mails" and "events".
      tools: [email.search, calendar.search]
      timeout: "3m"
      retry: { max_attempts: 2, backoff: exponential, on_failure: skip }
      validation:
        schema: { type: object }
        rules: ["Output must include mails field"]
    writer: { name: Writer, role: Writes, prompt: "Report on {{steps.find.output}}", tools: [], timeout: "4m" }
    checker: { name: Checker, role: Checks, prompt: "Check {{steps.write.output}}. Return passed (boolean) and feedback (array)", tools: [] }
  steps:
    - { id: find, agent: finder, type: sequential, input: "{{inputs.customer}}", output: { store_as: known, format: json } }
    - { id: write, agent: writer, type: sequential, input: "all prior context", output: { store_as: draft, format: markdown } }
    - { id: review, type: loop, loop: { agent: writer, validator: checker, max_iterations: 2, feedback_path: "{{steps.review.output.feedback}}" }, output: { store_as: final, format: markdown } }
"#;

fn problems(file: &str, text: &str) -> String {
    let problems = parse(file, text).map(|_| Vec::new()).unwrap_or_else(|problems| problems);
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// A workflow of these steps, with agents a, b and c.
fn of_steps(steps: &str) -> String {
    let agents = "agents:\n    a: { prompt: x }\n    b: { prompt: x }\n    c: { prompt: x }";
    let steps: String = steps.trim().lines().map(|line| format!("    - {{ {} }}\n", line.trim())).collect();
    format!("workflow:\n  name: w\n  {agents}\n  steps:\n{steps}")
}

fn needs(steps: &str) -> Vec<String> {
    let workflow = parse("w.yaml", &of_steps(steps)).unwrap();
    workflow.steps.iter().map(|step| format!("{}: {}", step.id, step.depends_on.join(" "))).collect()
}

#[test]
fn a_workflow_of_the_wild_is_read() {
    let workflow = parse("visit.yaml", VISIT).unwrap();
    assert_eq!(workflow.timeout.map(|timeout| timeout.as_secs()), Some(900));
    let finder = workflow.agent("finder").unwrap();
    assert_eq!(finder.retry.max_attempts, 2);
    assert_eq!(finder.retry.on_failure, definition::OnFailure::Skip);
    assert_eq!(finder.skills, ["email.search", "calendar.search"]);
    assert_eq!(finder.prompt.names(), ["inputs.customer"]);
    assert_eq!(finder.validation.rules[0].understood(), "there is a field `mails`");
    assert_eq!(workflow.step("write").unwrap().depends_on, ["find"]);
    assert!(matches!(workflow.step("write").unwrap().input, Some(definition::InputMapping::AllPrior)));
    assert_eq!(workflow.step("review").unwrap().kind.type_name(), "loop");
    assert_eq!(workflow.step("review").unwrap().kind.agents(), ["writer", "checker"]);
}

#[test]
fn toml_says_the_same() {
    let toml = r#"
[workflow]
name = "visit"
[workflow.agents.writer]
prompt = "Write"
[[workflow.steps]]
id = "write"
agent = "writer"
[[workflow.steps]]
id = "hot"
condition = { eval = "{{steps.write.output.score}} > 3", true = "writer", false = "late" }
[[workflow.steps]]
id = "late"
agent = "writer"
"#;
    let workflow = parse("visit.toml", toml).unwrap();
    assert_eq!(workflow.step("hot").unwrap().kind.type_name(), "conditional");
    assert_eq!(workflow.step("late").unwrap().chosen_by.as_deref(), Some("hot"));
    insta::assert_snapshot!(problems("visit.toml", &toml.replace("prompt", "promt").replace("true =", "ture =")), @r"
    visit.toml:4:18: the agent lacks `prompt`
    visit.toml:5:1: the agent has no key 'promt'; did you mean 'prompt'?
    visit.toml:11:58: it has no key 'ture'; did you mean 'true'?
    ");
}

#[test]
fn what_is_not_said_depends_on_the_step_before() {
    assert_eq!(
        needs("id: x, agent: a\nid: y, agent: b\nid: z, agent: c, depends_on: [x]"),
        ["x: ", "y: x", "z: x"]
    );
    let routed = "id: x, agent: a\nid: r, condition: { eval: 'x > 1', true: hot, false: cold }\nid: hot, agent: a\n\
                  id: hotter, agent: b\nid: cold, agent: b\nid: end, agent: c";
    assert_eq!(needs(routed), ["x: ", "r: x", "hot: r", "hotter: hot", "cold: r", "end: hotter cold"]);
    let open = "id: r, condition: { eval: 'x > 1', true: hot }\nid: hot, agent: a\nid: end, agent: c";
    assert_eq!(needs(open), ["r: ", "hot: r", "end: r hot"]);
    let nested = "id: r, condition: { eval: 'x', true: cold, false: q }\nid: cold, agent: a\n\
                  id: q, condition: { eval: 'y', true: d, false: e }\nid: d, agent: a\nid: e, agent: b\nid: end, agent: c";
    assert_eq!(needs(nested)[5], "end: cold d e");
}

#[test]
fn faults_of_form_are_found_at_once() {
    insta::assert_snapshot!(problems("w.yaml", r#"workflow:
  nam: x
  timeout: soon
  inputs:
    - { name: a-b, type: text }
    - { name: n, type: number, default: many }
  agents:
    writer:
      promt: Write
      retry: { max_attempts: 0, on_failure: retry }
      validation: { schema: { type: objct }, rules: [1.5, {}] }
    other: { prompt: "{{ x" }
    third: { prompt: "{{ x|shout }} {% set y = 1 %}" }
  steps:
    - { id: one, agent: writer, skil: x }
    - { id: two, type: paralel }
    - { id: two-b, type: parallel, parallel: [{ agent: a }, { agent: a }], wait: 3 }
    - { id: three, type: loop, loop: { agent: a, validator: b } }
    - { id: three, agent: x }
    - { id: four, condition: { eval: "{{a}} == ", true: one } }
    - { id: five, condition: { eval: "1 / 0 > 2", true: one } }
    - { id: six, approval: { choices: [Yes] } }
    - { id: seven, map: { agent: a } }
    - { id: eight, depends_on: 7, agent: a, timeout: 3x }
    - { agent: a }
    - just words
"#), @r#"
    w.yaml:1:1: the workflow lacks `name`
    w.yaml:2:3: the workflow has no key 'nam'; did you mean 'name'?
    w.yaml:3:12: `timeout`: "soon" isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as "30s"
    w.yaml:5:15: 'a-b' can't be used in a template: use letters, digits and '_', starting with a letter
    w.yaml:5:26: 'text' isn't a valid `type`; write one of string, number, boolean, json, file_path
    w.yaml:6:41: the default of 'n' isn't a number
    w.yaml:8:5: the agent lacks `prompt`
    w.yaml:9:7: the agent has no key 'promt'; did you mean 'prompt'?
    w.yaml:10:30: `max_attempts` must be a whole number from 1 to 10, not 0
    w.yaml:10:45: 'retry' isn't a valid `on_failure`; write skip, abort or fallback:AGENT
    w.yaml:11:21: `schema` isn't a valid JSON Schema: "objct" is not valid under any of the schemas listed in the 'anyOf' keyword
    w.yaml:11:59: `rules` must be a list of texts, not of a table
    w.yaml:12:23: unexpected end of input, expected end of variable block
    w.yaml:13:23: there is no filter `shout`; docs/workflows.md lists them all
    w.yaml:15:33: the step has no key 'skil'; did you mean 'skill'?
    w.yaml:16:24: 'paralel' isn't a valid `type`; write one of sequential, parallel, conditional, switch, map, loop, approval, workflow
    w.yaml:17:13: 'two-b' can't be used in a template: use letters, digits and '_', starting with a letter
    w.yaml:17:61: two members have the output_key 'a'; rename one of them
    w.yaml:17:82: `wait` must be all, any or a number from 1 to 2
    w.yaml:18:32: the loop has no bound: it lacks `max_iterations`, such as 3
    w.yaml:19:13: there are two steps called 'three'
    w.yaml:20:39: unexpected end of input, expected expression
    w.yaml:21:39: it divides by zero
    w.yaml:22:18: the approval lacks `text`: the question
    w.yaml:22:30: `choices` must be 2 to 5 words
    w.yaml:23:20: the map lacks `over`: the list, such as "{{steps.split.output.parts}}"
    w.yaml:24:32: `depends_on` must be a list of texts, not a whole number
    w.yaml:24:54: `timeout`: "3x" isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as "30s"
    w.yaml:25:7: the step lacks `id`
    w.yaml:26:7: the step must be a table, not a text
    "#);
}

#[test]
fn syntax_is_told_with_its_place() {
    insta::assert_snapshot!(problems("w.yaml", "workflow:\n  name: [a\n  b: {\n"), @"w.yaml:3:4: not YAML: illegal placement of ':' indicator");
    insta::assert_snapshot!(problems("w.yaml", "workflow:\n  name: a\n  name: b\n"), @"w.yaml:3:3: not YAML: duplicate mapping key: name");
    insta::assert_snapshot!(problems("w.yaml", ""), @"w.yaml:1:1: the file must be a table, not nothing");
    insta::assert_snapshot!(problems("w.yaml", "a: 1\n---\nb: 2\n"), @"w.yaml:2:1: not YAML: the file contains several documents; write one");
    insta::assert_snapshot!(problems("w.yaml", "a: *b\n"), @"w.yaml:1:4: not YAML: alias references unknown anchor");
    insta::assert_snapshot!(problems("w.yaml", "a: .inf\nb:\tc"), @"w.yaml:1:4: not YAML: non-finite float `.inf` rejected by the configured policy");
    insta::assert_snapshot!(problems("w.yaml", "- a\n"), @"w.yaml:1:1: the file must be a table, not a list");
    insta::assert_snapshot!(problems("w.toml", "[workflow\nname = 1\nx ="), @"w.toml:1:10: not TOML: unclosed table, expected `]`");
}

#[test]
fn bad_files_take_little() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (last, next) in ('a'..='y').zip('b'..='z') {
        bomb.push_str(&format!("{next}: &{next} [{}]\n", vec![format!("*{last}"); 9].join(",")));
    }
    insta::assert_snapshot!(problems("w.yaml", &bomb), @"w.yaml:5:20: not YAML: the file contains too much; are anchors used over and over?");
    insta::assert_snapshot!(problems("w.yaml", "workflow: &a\n  name: *a\n"), @"w.yaml:2:9: not YAML: lists or tables are nested too deeply, or an anchor contains itself");
    insta::assert_snapshot!(problems("w.yaml", "workflow: &a { name: &b [*a, *b] }\n"), @"w.yaml:1:26: not YAML: lists or tables are nested too deeply, or an anchor contains itself");
    insta::assert_snapshot!(problems("w.yaml", &"x".repeat(10 << 20)), @"w.yaml: the file is longer than 1024 KB");
    insta::assert_snapshot!(problems("w.yaml", &format!("a: {}", "[".repeat(5000))), @"w.yaml:1:259: not YAML: lists or tables are nested too deeply, or an anchor contains itself");
    insta::assert_snapshot!(problems("w.toml", &format!("a = {}", "[".repeat(5000))), @r"
    w.toml:1:85: not TOML: cannot recurse further; max recursion depth met
    w.toml:1:5005: not TOML: unclosed array, expected `]`
    w.toml:1:5005: not TOML: unclosed array, expected `]`
    ");
}

fn values(values: Value) -> Values {
    Values::new(&values)
}

fn judged(condition: &str, given: Value) -> String {
    match Condition::new(condition) {
        Err(error) => format!("refused: {error}"),
        Ok(condition) => format!("{:?}", condition.judge(&values(given))),
    }
}

#[test]
fn conditions_are_judged() {
    let given = json!({"a": "hot", "n": 7, "zero": 0, "yes": true, "list": [1], "text": "9", "t": {"x": 1}});
    for (condition, verdict) in [
        ("{{a}} == 'hot'", Verdict::Yes),
        ("'{{a}}' == 'hot'", Verdict::Yes),
        ("\"{{ a }}\" == 'cold'", Verdict::No),
        ("a == 'hot' and n >= 7", Verdict::Yes),
        ("{{ n }} > 3", Verdict::Yes),
        ("{{ a == 'hot' }}", Verdict::Yes),
        ("{{yes}}", Verdict::Yes),
        ("not {{yes}}", Verdict::No),
        ("{{list|length}} > 0", Verdict::Yes),
        ("14 / {{n}} == 2", Verdict::Yes),
        ("missing is defined", Verdict::No),
        ("'x/0' == 'x/0'", Verdict::Yes),
    ] {
        assert_eq!(Condition::new(condition).unwrap().judge(&values(given.clone())), verdict, "{condition}");
    }
    let judged = |condition| judged(condition, given.clone());
    insta::assert_snapshot!(judged("{{missing}} == 'x'"), @r#"Ambiguous("`missing` has no value")"#);
    insta::assert_snapshot!(judged("{{n}}"), @r#"Ambiguous("it is a number, neither true nor false")"#);
    insta::assert_snapshot!(judged("{{a}}"), @r#"Ambiguous("it is a text, neither true nor false")"#);
    insta::assert_snapshot!(judged("{{text}} > 3"), @r#"Ambiguous("`text` is a text, not a number")"#);
    insta::assert_snapshot!(judged("n / zero > 3"), @r#"Ambiguous("it divides by zero")"#);
    insta::assert_snapshot!(judged("n / (zero + 0) > 3"), @r#"Ambiguous("it divides by zero")"#);
    insta::assert_snapshot!(judged("n // zero > 3"), @r#"Ambiguous("it divides by zero")"#);
    insta::assert_snapshot!(judged("n % zero > 3"), @r#"Ambiguous("it divides by zero")"#);
    insta::assert_snapshot!(judged("n / 0 > 3"), @"refused: it divides by zero");
    insta::assert_snapshot!(judged("a && b"), @"refused: unexpected character; write `and`, `or`, `not`, `==`");
    insta::assert_snapshot!(judged("{% if a %}"), @"refused: a condition is one expression, without `{% %}`");
    insta::assert_snapshot!(judged("list > 3"), @r#"Ambiguous("`list` is a list, not a number")"#);
    insta::assert_snapshot!(judged("'x' * 100000000 == a"), @"refused: templates can't multiply; let an agent or a skill calculate");
}

fn filled(template: &str, given: Value) -> String {
    let done = Template::new(template).and_then(|template| template.render(&values(given)));
    done.unwrap_or_else(|error| format!("refused: {error}"))
}

#[test]
fn templates_are_filled_strictly() {
    let given = json!({"inputs": {"x": "ü", "n": null}, "steps": {"a": {"output": {"k": [1, "b"]}}}});
    let filled = |template| filled(template, given.clone());
    assert_eq!(
        filled("{{inputs.x}}: {{ steps.a.output }} { a } {# no #}|{{inputs.n}}|"),
        "ü: {\"k\":[1,\"b\"]} { a } ||"
    );
    assert_eq!(filled("{% for k in steps.a.output.k %}{{ loop.index }}{{ k }} {% endfor %}"), "11 2b ");
    assert_eq!(filled("{{ steps.a.output.k|join('-') }} {{ inputs.y|default('none') }}"), "1-b none");
    insta::assert_snapshot!(filled("{{ steps.b.output }}"), @"refused: a name in it has no value: undefined value");
    insta::assert_snapshot!(filled("{{ inputs.y }}"), @"refused: a name in it has no value: undefined value");
    let partly = Template::new("{{ inputs.x }} {{ steps.b.output.c }}").unwrap();
    assert_eq!(partly.partly(&values(given.clone())), "ü {{ steps.b.output.c }}");
    let value = Template::new("{{ steps.a.output.k }}").unwrap().value(&values(given.clone()));
    assert_eq!(value, Ok(json!([1, "b"])));
    let with_item = values(given).with("item", &json!({"z": 1}));
    assert_eq!(Template::new("{{ item.z }}{{ inputs.x }}").unwrap().render(&with_item).unwrap(), "1ü");
}

#[test]
fn templates_that_eat_all_are_stopped() {
    let long = json!({"a": "x".repeat(900_000), "l": (0..100_000).collect::<Vec<_>>()});
    let filled = |template| filled(template, long.clone());
    insta::assert_snapshot!(filled("{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"), @"refused: it does too much work; make its loops shorter");
    insta::assert_snapshot!(filled("{% for i in range(50) %}{{ a }}{% endfor %}"), @"refused: its text is longer than 1 MB");
    insta::assert_snapshot!(filled("{{ 'x' * 100000000 }}"), @"refused: templates can't multiply; let an agent or a skill calculate");
    insta::assert_snapshot!(filled("{{ a|indent(99999999999999) }}"), @"refused: there is no filter `indent`; docs/workflows.md lists them all");
    insta::assert_snapshot!(filled("{{ l|join(a) }}"), @"refused: the joined text is longer than 1 MB");
    insta::assert_snapshot!(filled("{% set b = a ~ a %}"), @"refused: templates have no `set`; only if and for");
    insta::assert_snapshot!(filled("{% macro f() %}{% endmacro %}"), @"refused: templates have no `macro`; only if and for");
    insta::assert_snapshot!(filled("{{ l|tojson(indent=9999999999) }}"), @"refused: too many arguments");
    let items = Template::new("{{ l }}").unwrap().items(&values(long));
    insta::assert_snapshot!(items.unwrap_err(), @"the list has 100000 items, and a map takes at most 10000; split it first");
}

#[test]
fn rules_in_plain_english_become_checks() {
    let rules = [
        "Output must include mails field",
        "Must include passed boolean",
        "Output must include key_challenges array",
        "Must include overall_score field",
        "Must identify exactly 3 pain points",
        "exactly 3 items",
        "at least two items in mails",
        "Score must be between 0 and 100",
        "must not be empty",
        "category must be one of hot, warm or cold",
        "at most 200 words",
        "Must have between 2 and 5 sections",
        "summary must not be empty",
        "Must be polite and to the point",
        "must include a call to action",
        "Must have fields: title, body",
    ];
    let understood: Vec<String> =
        rules.iter().map(|rule| format!("{rule} → {}", Rule::new(rule).understood())).collect();
    insta::assert_snapshot!(understood.join("\n"), @r"
    Output must include mails field → there is a field `mails`
    Must include passed boolean → there is a field `passed`, true or false
    Output must include key_challenges array → there is a field `key_challenges`, a list
    Must include overall_score field → there is a field `overall_score`
    Must identify exactly 3 pain points → the list `pain_points` has exactly 3 members
    exactly 3 items → the list has exactly 3 members
    at least two items in mails → the list `mails` has at least 2 members
    Score must be between 0 and 100 → `score` is between 0 and 100
    must not be empty → the output is not empty
    category must be one of hot, warm or cold → `category` is one of hot, warm, cold
    at most 200 words → the text has at most 200 words
    Must have between 2 and 5 sections → the list `sections` has between 2 and 5 members
    summary must not be empty → `summary` is not empty
    Must be polite and to the point → judged by a model
    must include a call to action → judged by a model
    Must have fields: title, body → there is a field `title`; there is a field `body`
    ");
}

#[test]
fn outputs_are_judged_by_rules() {
    let judge = |rule: &str, output: Value| {
        let rule = Rule::new(rule);
        assert!(!rule.checks().is_empty(), "{} is not understood", rule.text);
        rule.checks().iter().find_map(|check| check.judge(&output).err()).unwrap_or_else(|| "kept".to_owned())
    };
    let points = json!({"company": "Acme", "pain_points": [{"problem": 1, "impact": 2}]});
    for (rule, output) in [
        ("must include the fields company and pain_points", points.clone()),
        ("must identify exactly 1 pain point", points.clone()),
        ("Score must be between 0 and 100", json!({"score": 100})),
        ("category must be one of hot or cold", json!({"category": "Hot"})),
        ("at most 3 words", json!("one two three")),
    ] {
        assert_eq!(judge(rule, output), "kept", "{rule}");
    }
    insta::assert_snapshot!(judge("must include mails field", points.clone()), @"there is no field `mails`");
    insta::assert_snapshot!(judge("exactly 3 items", points), @"expected that the list has exactly 3 members; it has 1");
    insta::assert_snapshot!(judge("must include passed boolean", json!({"passed": "yes"})), @"expected that there is a field `passed`, true or false");
    insta::assert_snapshot!(judge("must not be empty", json!("  ")), @"expected that the output is not empty");
    insta::assert_snapshot!(judge("at most 2 words", json!("one two three")), @"expected that the text has at most 2 words; it has 3");
}

/// All problems against the built-in skills, with `contacts.create` denied.
fn checked(file: &str, text: &str) -> String {
    let skills =
        adjutant_skills::Skills::load(&[], &adjutant_skills::builtin::names(true)).unwrap().current();
    let mut approval = adjutant_config::Approval::default();
    approval.skills.insert("contacts.create".to_owned(), adjutant_config::Policy::Deny);
    let other = "workflow: { name: other, inputs: [{ name: who, required: true }], agents: { a: { prompt: x } }, \
                 steps: [{ id: x, workflow: w, inputs: {} }] }";
    let other = parse("other.yaml", other).unwrap();
    let context = CheckContext { skills: &skills, approval: &approval, workflows: &[other] };
    let (_, problems) = check(file, text, &context);
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_workflow_of_the_wild_is_sound() {
    assert_eq!(checked("visit.yaml", VISIT), "");
    assert_eq!(
        checked("visit.yaml", &VISIT.replace("calendar.search", "calendar.search, Read, WebSearch"))
            .lines()
            .count(),
        2
    );
}

#[test]
fn faults_between_the_parts_are_found_at_once() {
    insta::assert_snapshot!(checked("w.yaml", r#"workflow:
  name: w
  inputs:
    - { name: customer, type: string }
  agents:
    writer:
      prompt: |
        Report on {{inputs.custmer}} and {{inputs.customer.name}}.
        Also {{ steps.last.output }} and {{ draft }}.
      tools: [email.serch, contacts.create, Bash, tasks.search]
      retry: { on_failure: "fallback:second" }
    second: { prompt: x, retry: { on_failure: "fallback:writer" } }
    third: { prompt: x, retry: { on_failure: "fallback:nobody" } }
    idle: { prompt: x }
    each: { prompt: "{{item}} {{index}} {{steps.map.output}}" }
  steps:
    - { id: first, agent: writr, output: { store_as: draft, format: markdown } }
    - { id: second_step, agent: second, input: "{{steps.first.output.title}} {{customer}} {{first}} {{drft}}" }
    - { id: circle, agent: third, depends_on: [square, nowhere] }
    - { id: square, agent: third, depends_on: [circle] }
    - { id: fan, parallel: [{ agent: second, output_key: one }], depends_on: [] }
    - { id: after, agent: second, input: "{{steps.fan.outputs.two}} {{steps.fan.outputs.one}} {{steps.first.outputs}}" }
    - { id: choice, condition: { eval: "{{steps.after.output.score}} > 3 and {{steps.nope.output}}", true: good, false: bda } }
    - { id: good, agent: second }
    - { id: bad, agent: second }
    - { id: never, condition: { eval: "1 > 2", true: lost, false: good } }
    - { id: lost, agent: second }
    - { id: self, condition: { eval: "true", true: self } }
    - { id: map, map: { over: "{{steps.first.output}}", agent: each } }
    - { id: call, skill: tasks.search, arguments: { stat: open, limit: 500, query: "{{inputs.x}}" } }
    - { id: send, skill: email.draft, arguments: { to: "{{inputs.customer}}" } }
    - { id: sub, workflow: other, inputs: { when: x } }
    - { id: sub_two, workflow: othr }
    - { id: later, wait_until: noon, agent: second }
    - { id: early, agent: second, input: "{{steps.end.output}} {{steps.early.output}}" }
    - { id: end, agent: second }
"#), @"
    w.yaml:8:21: there is no input 'custmer'; did you mean 'customer'?
    w.yaml:8:44: the input 'customer' has no field 'name': its type isn't json
    w.yaml:9:17: there is no step 'last'; did you mean 'lost'?
    w.yaml:9:45: 'first' may not have ended when 'fan' starts; add 'first' to the depends_on of 'fan'
    w.yaml:10:15: there is no skill 'email.serch'; did you mean 'email.search'?
    w.yaml:10:28: the skill 'contacts.create' can't be used: [approval] denies it
    w.yaml:10:45: warning: there is no skill 'Bash'; it grants nothing. `adjutant skills list` shows all skills
    w.yaml:11:28: the fallbacks are a cycle: writer → second → writer; let the last one `skip` or `abort`
    w.yaml:12:47: the fallbacks are a cycle: second → writer → second; let the last one `skip` or `abort`
    w.yaml:13:46: there is no agent 'nobody'
    w.yaml:14:5: warning: no step uses the agent 'idle'
    w.yaml:15:43: the step 'map' uses its own output
    w.yaml:17:27: there is no agent 'writr'; did you mean 'writer'?
    w.yaml:18:51: the output of 'first' is markdown: it has no field 'title'
    w.yaml:18:80: there is no 'customer'; write inputs.customer
    w.yaml:18:93: there is no 'first'; write steps.first.output
    w.yaml:18:103: there is no 'drft'; did you mean 'draft'?
    w.yaml:19:35: depends_on is a cycle: circle → square → circle; remove one of these dependencies
    w.yaml:19:56: there is no step 'nowhere'
    w.yaml:22:45: the parallel step 'fan' has no output_key 'two'
    w.yaml:22:97: 'first' may not have ended when 'after' starts; add 'first' to the depends_on of 'after'
    w.yaml:23:80: there is no step 'nope'
    w.yaml:23:121: there is no step and no agent 'bda'; did you mean 'bad'?
    w.yaml:24:7: depends_on is a cycle: good → never → bad → good; remove one of these dependencies; a choice can't lead back to an earlier step, use `type: loop` for that
    w.yaml:26:54: 'lost' is never reached: the condition `1 > 2` never holds
    w.yaml:26:67: 'good' is already a branch of 'choice'; a step can be chosen by one step only
    w.yaml:28:52: the step 'self' leads to itself; use `type: loop`
    w.yaml:29:31: the output of 'first' is a text, not a list; give it `format: json`
    w.yaml:29:34: 'first' may not have ended when 'map' starts; add 'first' to the depends_on of 'map'
    w.yaml:30:59: there is no such argument; did you mean 'state'?
    w.yaml:30:72: 500 is greater than the maximum of 100
    w.yaml:30:87: there is no input 'x'
    w.yaml:31:39: the skill 'email.draft' needs the argument 'body'
    w.yaml:32:28: 'other' would run itself endlessly
    w.yaml:32:35: the workflow 'other' needs the input 'who'
    w.yaml:32:51: the workflow 'other' has no input 'when'
    w.yaml:33:32: there is no workflow 'othr'; did you mean 'other'?
    w.yaml:34:32: 'noon' isn't a time; write 08:00, 2h, 2026-11-27 or 2026-11-27T17:00
    w.yaml:35:45: 'end' may not have ended when 'early' starts; add 'end' to the depends_on of 'early'
    w.yaml:35:66: the step 'early' uses its own output
    ");
}

#[test]
fn a_step_starts_when_it_is_told_to() {
    use super::language::wait::Start;
    let zone = chrono_tz::Europe::Berlin;
    let now = chrono::DateTime::parse_from_rfc3339("2026-11-27T07:30:00Z").unwrap().timestamp_millis();
    let at = |text| adjutant_types::clock::rfc3339(Start::parse(text).unwrap().moment(now, zone));
    assert_eq!(at("09:00"), "2026-11-27T08:00:00Z");
    assert_eq!(at("08:00"), "2026-11-28T07:00:00Z");
    assert_eq!(at("2h"), "2026-11-27T09:30:00Z");
    assert_eq!(at("2026-12-01"), "2026-11-30T23:00:00Z");
    assert_eq!(at("2026-12-01T10:00"), "2026-12-01T09:00:00Z");
    assert!(Start::parse("noon").is_err());
}
