use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use adjutant_config::{Approval, Limits};
use adjutant_skills::{Registry, Skills, builtin};
use adjutant_types::AccessLevel;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::CheckContext;
use crate::roles::RoleSet;

static SKILLS: LazyLock<Arc<Registry>> =
    LazyLock::new(|| Skills::load(&[], &builtin::names(true)).unwrap().current());
static ROLES: LazyLock<RoleSet> = LazyLock::new(|| RoleSet::load(&[], &SKILLS));

fn read(text: &str) -> Result<Plan, Vec<String>> {
    let (approval, limits) = (Approval::default(), Limits::default());
    let skills = SKILLS.domains().iter().flat_map(|domain| &domain.skills);
    let offered: BTreeMap<String, AccessLevel> =
        skills.map(|skill| (skill.name.clone(), AccessLevel::Read)).collect();
    let check = CheckContext { skills: &SKILLS, approval: &approval, workflows: &[] };
    let context = PlanContext { check, roles: &ROLES, offered: &offered, limits: &limits, previous: None };
    super::read(text, None, ("board-meeting", "prepare the board meeting"), &context)
}

fn step(id: &str, needs: &[&str]) -> Value {
    json!({"id": id, "task": "Find it", "role": "researcher", "skills": ["email.search"], "depends_on": needs,
           "success_criteria": "it is found"})
}

fn errors(steps: &[Value]) -> String {
    read(&json!({"steps": steps}).to_string()).unwrap_err().join("\n")
}

#[test]
fn a_plan_becomes_a_workflow_that_passes_the_check() {
    let mail = json!({"id": "send-it", "task": "Mail {{steps.x}} \"now\"", "role": "executor", "skills": "email.send",
                      "depends_on": ["the-figures"], "success_criteria": ["sent", "once"]});
    let answer = json!({"data": {"steps": [step("the-figures", &[]), mail], "uncertain": "the year",
                                 "will_ask": ["whether the mail may go out"]}});
    let plan = read(&format!("Here it is:\n```json\n{answer}\n```")).unwrap();
    let workflow = workflow(&plan, "prepare: the \"board\" meeting").unwrap();
    insta::assert_snapshot!(workflow.text, @r#"
    workflow:
      name: board-meeting
      description: "prepare: the \"board\" meeting"
      review: reviewer
      agents:
        the_figures:
          name: "researcher"
          as_role: "researcher"
          prompt: "Find it"
          success_criteria: "it is found"
          skills: ["email.search"]
        send_it:
          name: "executor"
          as_role: "executor"
          prompt: "Mail { {steps.x}} \"now\""
          success_criteria: "sent; once"
          skills: ["email.send"]
      steps:
        - { id: the_figures, agent: the_figures, depends_on: [] }
        - { id: send_it, agent: send_it, depends_on: ["the_figures"] }
    "#);
    insta::assert_snapshot!(for_chat(&plan, "prepare the *board* meeting", &workflow, false), @r#"
    **Plan: prepare the \*board\* meeting**

    ```
    ●  the_figures  researcher
    ●  send_it      executor
    ```

    1. **the_figures** (researcher): Find it
       Done when: it is found
    2. **send_it** (executor): Mail {{steps.x}} "now"
       Done when: sent; once

    **Uncertain**
    - the year

    **You'll be asked**
    - whether the mail may go out

    It takes about 0 model calls; rarely more than 0. I don't know the model's price.
    These are typical figures; I've run too few plans to say better.
    "#);
}

#[test]
fn what_is_no_plan_is_refused_with_what_to_change() {
    let many: Vec<Value> = (0..500).map(|n| step(&format!("s{n}"), &[])).collect();
    let all = [
        read("I'd rather not.").unwrap_err().join("\n"),
        read("{\"summary\": \"no plan needed\"}").unwrap_err().join("\n"),
        errors(&[]),
        errors(&many),
        errors(&[step("a", &["b"]), step("b", &["a"])]),
        errors(&[step("a", &["nothing"])]),
        errors(&[step("a", &[]), step("a", &[])]),
        errors(&[json!({"id": "a"})]),
        errors(&[json!({"id": "a b!", "task": "t"})]),
        errors(&[json!({"id": "a", "task": "t", "role": "reseacher", "success_criteria": "c"})]),
        errors(&[
            json!({"id": "a", "task": "t", "role": "researcher", "skills": ["email.sendall"], "success_criteria": "c"}),
        ]),
        errors(&[
            json!({"id": "a", "task": "t", "role": "researcher", "skills": ["email.send"], "success_criteria": "c"}),
        ]),
        errors(&[
            json!({"id": "a", "task": "t".repeat(5_000), "role": "researcher", "success_criteria": "c"}),
        ]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    the planner's answer holds no plan: it must be a JSON object with `steps`
    the planner's answer holds no plan: it must be a JSON object with `steps`
    `steps` is empty: a plan has at least one step
    it has 500 steps, and at most 20 are possible; a step is one result, not one action
    depends_on is a cycle: a → b → a; remove one of these dependencies
    there is no step 'nothing'
    there are two steps called 'a'
    step 'a' has no `task`
    step 'a' has no `role`
    step 'a' has no `success_criteria`
    step 1 has no usable `id`: letters, digits and _, starting with a letter
    step 'a': there is no role “reseacher”; did you mean “researcher”? The roles are executor, planner, researcher, reviewer, tester
    there is no skill 'email.sendall'; did you mean 'email.send'?
    step 'a': the role researcher can't have email.send: its file doesn't allow it, or it does more than researcher may (it only reads). Leave it out, or choose another role
    step 'a': `task` is longer than 4000 bytes
    "#);
}

#[test]
fn a_role_that_is_gone_is_told_by_its_key() {
    let mut workflow =
        workflow(&read(&json!({"steps": [step("a", &[])]}).to_string()).unwrap(), "g").unwrap();
    assert!(crate::missing_roles(&workflow, &ROLES).is_empty());
    workflow.agents[0].as_role = Some("reseacher".into());
    workflow.review = Some("judge".into());
    let problems = crate::missing_roles(&workflow, &ROLES);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(problems[0].contains("agents.a.as_role") && problems[0].contains("did you mean “researcher”"));
    assert!(problems[1].contains("review") && problems[1].contains("“judge”"), "{problems:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_planner_says_becomes_a_sound_workflow_or_an_error(
        ids in proptest::collection::vec("[a-z_ -]{0,4}|yes|null", 0..4),
        text in any::<String>(),
    ) {
        let steps: Vec<Value> = ids
            .iter()
            .map(|id| json!({"id": id, "task": text, "role": "executor", "skills": [], "success_criteria": text}))
            .collect();
        if let Ok(plan) = read(&json!({"steps": steps}).to_string()) {
            let workflow = workflow(&plan, &text).unwrap();
            prop_assert_eq!(workflow.steps.len(), ids.len());
            prop_assert!(workflow.agents.iter().all(|agent| agent.prompt.names().is_empty()));
        }
        let _ = read(&text);
    }
}
