//! Workflows as skills: both ways of naming one, files that change, and the words that start one.

use adjutant_types::clock::SystemClock;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A workflow whose only step calls this skill.
fn workflow(name: &str, description: &str, inputs: &str, skill: &str) -> String {
    format!(
        "workflow:\n  name: {name}\n  description: {description}\n  inputs: [{inputs}]\n  steps:\n    \
         - {{ id: look, skill: {skill} }}\n"
    )
}

const VISIT: &str = "{ name: customer, type: string, required: true, description: Who was visited }, \
    { name: depth, type: number, default: 2 }, { name: brief, type: boolean, required: false }";

/// Folders of skills, each with `workflows/` in it.
struct SkillFolders(Vec<TempDir>);

impl SkillFolders {
    fn new(count: usize) -> Self {
        let folder = |_| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("workflows")).unwrap();
            folder
        };
        Self((0..count).map(folder).collect())
    }

    fn write(&self, at: usize, file: &str, text: &str) {
        std::fs::write(self.0[at].path().join(file), text).unwrap();
    }

    fn config(&self) -> Config {
        let mut config = Config::in_dir(self.0[0].path());
        config.skills = self.0.iter().map(|folder| folder.path().to_path_buf()).collect();
        config
    }

    fn load(&self) -> SkillSet {
        load_skills(&self.config()).unwrap()
    }

    /// A text without the folders' names.
    fn shown(&self, text: &str) -> String {
        let folders = self.0.iter().enumerate();
        folders.fold(text.to_owned(), |text, (at, folder)| {
            text.replace(&folder.path().display().to_string(), &format!("P{at}"))
        })
    }

    /// The faults that are no warnings.
    fn faults(&self, skill_set: &SkillSet) -> String {
        let workflows = skill_set.workflows.current();
        let faults = workflows.problems.iter().filter(|fault| !fault.is_warning());
        self.shown(&faults.map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }
}

fn summary(skill_set: &SkillSet, skill: &str) -> Option<String> {
    skill_set.skills.current().get(skill).map(|skill| skill.summary.clone())
}

#[test]
fn what_is_saved_after_a_first_start_is_found() {
    let home = tempfile::tempdir().unwrap();
    let config = Config::in_dir(home.path().join("share/adjutant"));
    private::make_data_dir(&config);
    assert_eq!(private::restrict(&config), private::Exposed::default(), "nobody else can read it");
    let skill_set = load_skills(&config).unwrap();
    let saved = config.skill_paths()[0].join("workflows");
    std::fs::create_dir_all(&saved).unwrap();
    let text = workflow("visit-report", "Report on a visit", VISIT, "tasks.search");
    std::fs::write(saved.join("visit.yaml"), text).unwrap();
    skill_set.skills.poll();
    assert!(skill_set.workflows.current().get("visit-report").is_some());
}

#[test]
fn a_sound_workflow_is_a_skill_by_its_name() {
    let folders = SkillFolders::new(1);
    folders.write(
        0,
        "workflows/visit.yaml",
        &workflow("visit-report", "Report on a visit", VISIT, "tasks.search"),
    );
    folders.write(0, "workflows/bad.yaml", &workflow("bad", "Bad", "", "tasks.serch"));
    let skill_set = folders.load();
    let skills = skill_set.skills.current();
    let skill = skills.get("workflow.visit-report").unwrap();
    assert_eq!(skill.signature(), "workflow.visit-report(customer, depth?, brief?)");
    assert_eq!((skill.risk, skill.workflow()), (adjutant_skills::Risk::Low, Some("visit-report")));
    insta::assert_snapshot!(skill.parameters, @r#"{"type":"object","properties":{"customer":{"type":"string","description":"Who was visited"},"depth":{"type":"number","default":2},"brief":{"type":"boolean"}},"required":["customer"],"additionalProperties":false}"#);
    assert!(skill.validate(&json!({"depth": 3})).is_ok(), "the run asks for what is missing");
    insta::assert_snapshot!(skill.validate(&json!({"custmer": "Acme", "depth": "deep"})).unwrap_err(), @r#"
    /depth: "deep" is not of type "number"
    /custmer: there is no such argument; did you mean 'customer'?
    "#);
    assert!(skills.get("workflow.bad").is_none() && skill_set.workflows.current().get("bad").is_none());
    insta::assert_snapshot!(folders.faults(&skill_set), @"P0/workflows/bad.yaml:6:26: there is no skill 'tasks.serch'; did you mean 'tasks.search'?");
    let built_in: Vec<&str> =
        skills.domain("workflow").unwrap().skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(built_in.len(), 10, "{built_in:?}");
}

/// The first request of a turn stays small.
#[test]
fn the_built_in_workflows_cost_little_of_the_prompt() {
    let folders = SkillFolders::new(1);
    let skills = folders.load().skills.current();
    let (_, lines) = skills.catalogue().split_once("workflow: ").unwrap();
    assert!(lines.len() <= 900, "{} bytes:\n{lines}", lines.len());
}

const RUNNING: &str = r#"
domain = "reports"
summary = "Reports"
[[skill]]
name = "reports.visit"
summary = "Report on a visit"
risk = "low"
handler = { workflow = "visit-report" }
"#;

#[test]
fn a_skill_file_runs_a_workflow_with_its_inputs() {
    let folders = SkillFolders::new(1);
    folders.write(0, "workflows/visit.yaml", &workflow("visit-report", "Report", VISIT, "tasks.search"));
    folders.write(0, "reports.toml", RUNNING);
    let skill_set = folders.load();
    let skills = skill_set.skills.current();
    let skill = skills.get("reports.visit").unwrap();
    assert_eq!(skill.signature(), "reports.visit(customer, depth?, brief?)");
    assert_eq!(skill.handler.describe(), "workflow visit-report");
    assert!(skill.validate(&json!({"custmer": "Acme"})).is_err());

    // A name that is none, and an argument that is no input, are faults of the skill file.
    let wrong = RUNNING.replace("\"visit-report\"", "\"visit-reprot\"");
    folders.write(0, "reports.toml", &wrong);
    let faults = skill_set.skills.reload().unwrap_err();
    insta::assert_snapshot!(folders.shown(&faults[0].to_string()), @"P0/reports.toml:8: there is no sound workflow 'visit-reprot'; did you mean 'visit-report'? `adjutant workflow check` tells more");
    assert!(skill_set.skills.current().get("reports.visit").is_some(), "the last good version stays");
    assert!(matches!(load_skills(&folders.config()), Err(StartError::Skills(_))));
    let parameters = "[skill.parameters.properties.custmer]\ntype = \"string\"\n";
    folders.write(0, "reports.toml", &format!("{RUNNING}{parameters}"));
    let faults = skill_set.skills.reload().unwrap_err();
    insta::assert_snapshot!(folders.shown(&faults[0].to_string()), @"P0/reports.toml:9: the workflow 'visit-report' has no input 'custmer'; did you mean 'customer'?");

    // No step's agent may call either.
    folders.write(0, "reports.toml", RUNNING);
    folders.write(0, "workflows/a.yaml", &workflow("a", "A", "", "reports.visit"));
    folders.write(0, "workflows/b.yaml", &workflow("b", "B", "", "workflow.visit-report"));
    skill_set.skills.reload().unwrap();
    insta::assert_snapshot!(folders.faults(&skill_set), @"
    P0/workflows/a.yaml:6:26: 'reports.visit' is a workflow, and agents can't call those; make it a step: `{ id: ID, type: workflow, workflow: NAME }`
    P0/workflows/b.yaml:6:26: 'workflow.visit-report' is a workflow, and agents can't call those; make it a step: `{ id: ID, type: workflow, workflow: NAME }`
    ");
    // The domain is theirs alone.
    folders.write(0, "mine.toml", &RUNNING.replace("reports", "workflow"));
    let faults = skill_set.skills.reload().unwrap_err();
    insta::assert_snapshot!(folders.shown(&faults[0].to_string()), @"P0/mine.toml:2: the domain 'workflow' is taken by the files under workflows/; choose another name");
}

#[test]
fn a_changed_file_counts_and_a_faulty_one_leaves_the_last_good_version() {
    let folders = SkillFolders::new(2);
    folders.write(0, "workflows/one.yaml", &workflow("one", "First", "", "tasks.search"));
    folders.write(1, "workflows/one.yaml", &workflow("one", "Second", "", "tasks.search"));
    folders.write(1, "workflows/two.yaml", &workflow("two", "Two", "", "tasks.search"));
    let skill_set = folders.load();
    let of = |name: &str| summary(&skill_set, name);
    assert_eq!(of("workflow.one").as_deref(), Some("First"), "the place that is named first counts");

    // Faulty in what it says, then in its form: the last good one stays, and the other place's is not taken for it.
    for text in
        [workflow("one", "Broken", "", "tasks.serch"), "workflow: [".to_owned(), String::from("\u{0}")]
    {
        folders.write(0, "workflows/one.yaml", &text);
        skill_set.skills.poll();
        assert_eq!(of("workflow.one").as_deref(), Some("First"), "{text}");
        assert!(
            folders.faults(&skill_set).starts_with("P0/workflows/one.yaml:"),
            "{}",
            folders.faults(&skill_set)
        );
    }
    std::fs::write(folders.0[0].path().join("workflows/one.yaml"), [0xff, 0xfe]).unwrap();
    skill_set.skills.poll();
    assert_eq!(of("workflow.one").as_deref(), Some("First"), "what can't be read changes nothing either");

    folders.write(0, "workflows/one.yaml", &workflow("one", "Mended at last", "", "tasks.search"));
    folders.write(0, "workflows/three.yaml", &workflow("three", "New", "", "tasks.search"));
    skill_set.skills.poll();
    assert_eq!(of("workflow.one").as_deref(), Some("Mended at last"));
    assert_eq!(of("workflow.three").as_deref(), Some("New"));
    assert_eq!(folders.faults(&skill_set), "");

    std::fs::remove_file(folders.0[0].path().join("workflows/one.yaml")).unwrap();
    std::fs::remove_file(folders.0[1].path().join("workflows/two.yaml")).unwrap();
    skill_set.skills.poll();
    assert_eq!(of("workflow.one").as_deref(), Some("Second"), "the other place's counts now");
    assert_eq!(of("workflow.two"), None);
    assert!(skill_set.workflows.current().get("two").is_none(), "both are of the same moment");
}

#[test]
fn a_workflow_that_uses_a_faulty_one_goes_on_with_its_last_good_version() {
    let folders = SkillFolders::new(1);
    folders.write(0, "workflows/inner.yaml", &workflow("inner", "Inner", "", "tasks.search"));
    let outer =
        "workflow:\n  name: outer\n  description: Outer\n  steps:\n    - { id: in, workflow: inner }\n";
    folders.write(0, "workflows/outer.yaml", outer);
    let skill_set = folders.load();
    assert!(summary(&skill_set, "workflow.outer").is_some(), "{}", folders.faults(&skill_set));
    folders.write(0, "workflows/inner.yaml", "workflow: nothing");
    skill_set.skills.poll();
    assert!(
        summary(&skill_set, "workflow.outer").is_some() && summary(&skill_set, "workflow.inner").is_some()
    );
    assert!(!folders.faults(&skill_set).contains("outer.yaml"), "{}", folders.faults(&skill_set));
}

#[test]
fn what_may_not_be_used_any_more_takes_its_workflows_along() {
    let folders = SkillFolders::new(1);
    folders.write(0, "workflows/one.yaml", &workflow("one", "One", "", "tasks.search"));
    let skill_set = folders.load();
    let mut config = folders.config();
    config.approval.skills.insert("tasks.search".into(), adjutant_config::Policy::Deny);
    assert!(skill_set.workflows.set_approval(&config.approval));
    skill_set.skills.reload().unwrap();
    assert_eq!(summary(&skill_set, "workflow.one"), None);
    insta::assert_snapshot!(folders.faults(&skill_set).lines().next().unwrap_or_default(), @"P0/workflows/one.yaml:6:26: the skill 'tasks.search' can't be used: [approval] denies it");
    assert!(!skill_set.workflows.set_approval(&config.approval), "it is the same");
}

const LINES: &str = "
    run lead-scoring for Acme
    Run lead scoring for Acme and Sons, please
    run the workflow lead_scoring on https://example.org/?a=b
    run lead-scoring
    start the morning briefing
    please run weekly-review
    could you do my weekly review?
    run visit-report with customer=Acme depth=3
    run visit-report with customer=\"Acme Inc\", depth=3 and brief=yes
    run visit-report with custmer=Acme
    run weekly-review for Acme
    run lead-scoring for Acme, then show my open tasks
    run nothing-like-it
";

#[test]
fn a_plain_sentence_that_only_starts_a_workflow_is_a_command() {
    let folders = SkillFolders::new(1);
    let score = "{ name: company, type: string, required: true }";
    folders.write(0, "workflows/lead.yaml", &workflow("lead-scoring", "Score", score, "tasks.search"));
    folders.write(0, "workflows/visit.yaml", &workflow("visit-report", "Report", VISIT, "tasks.search"));
    let skill_set = folders.load();
    let workflows = skill_set.workflows.current();
    let lines = LINES.lines().map(str::trim).filter(|line| !line.is_empty());
    let command = |line: &str| {
        adjutant_workflows::command::of_text(line, &workflows).unwrap_or_else(|| "no command".to_owned())
    };
    let shown: Vec<String> = lines.map(|line| format!("> {line}\n{}", command(line))).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    > run lead-scoring for Acme
    /run lead-scoring for Acme
    > Run lead scoring for Acme and Sons, please
    no command
    > run the workflow lead_scoring on https://example.org/?a=b
    /run lead-scoring on https://example.org/?a=b
    > run lead-scoring
    /run lead-scoring 
    > start the morning briefing
    /run morning-briefing 
    > please run weekly-review
    /run weekly-review 
    > could you do my weekly review?
    no command
    > run visit-report with customer=Acme depth=3
    /run visit-report with customer=Acme depth=3
    > run visit-report with customer="Acme Inc", depth=3 and brief=yes
    no command
    > run visit-report with custmer=Acme
    no command
    > run weekly-review for Acme
    no command
    > run lead-scoring for Acme, then show my open tasks
    no command
    > run nothing-like-it
    no command
    "#);
}

#[test]
fn a_check_of_the_configuration_reads_the_role_files() {
    let folders = SkillFolders::new(1);
    let clock: SharedClock = Arc::new(SystemClock);
    assert!(check(&folders.config(), &clock).is_empty());
    std::fs::create_dir(folders.0[0].path().join("roles")).unwrap();
    folders.write(0, "roles/boss.toml", "name = \"boss\"\n");
    let problems: Vec<String> = check(&folders.config(), &clock).iter().map(ToString::to_string).collect();
    assert!(problems.iter().any(|problem| problem.contains("roles/boss.toml")), "{problems:?}");
}
