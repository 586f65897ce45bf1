//! What people read of a run.

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::view::report::{Report, RunReport, StepReport};

fn step(id: &str, agent: &str, status: &str, error: Option<&str>) -> StepReport {
    let was_at_work = !matches!(status, "pending" | "skipped");
    StepReport {
        id: id.to_owned(),
        agent: (!agent.is_empty()).then(|| agent.to_owned()),
        status: serde_json::from_value(serde_json::json!(status)).unwrap(),
        attempts: u32::from(was_at_work),
        duration_ms: if was_at_work { 4_100 } else { 0 },
        output_bytes: if status == "completed" { 1_234 } else { 0 },
        error: error.map(str::to_owned),
        spent: None,
        review: None,
        redone: false,
    }
}

fn report(status: &str, steps: Vec<StepReport>, output: &str) -> Report {
    let count = |status: &str| steps.iter().filter(|step| step.status.as_str() == status).count();
    let run = RunReport {
        id: "0abcDEFghiJKLmnoPQRstu".to_owned(),
        workflow: "visit-report".to_owned(),
        status: serde_json::from_value(serde_json::json!(status)).unwrap(),
        steps_total: steps.len(),
        steps_completed: count("completed"),
        steps_failed: count("failed"),
        steps_skipped: count("skipped"),
        agents: 5,
        retries: 1,
        duration_ms: 12_345,
        output: output.to_owned(),
        warnings: Vec::new(),
        forecast: None,
        spent: None,
        changes: Vec::new(),
        kept: None,
    };
    Report { run, steps }
}

fn complete(output: &str) -> Report {
    let steps = vec![
        StepReport { attempts: 2, ..step("find", "finder", "completed", None) },
        step("look-around", "", "completed", None),
        step("review", "writer, checker", "completed", None),
    ];
    let mut report = report("complete", steps, output);
    report.run.warnings = vec!["review: the last of 2 turns was taken, `passed` was not said".to_owned()];
    report
}

#[test]
fn a_complete_run() {
    let report = complete("# Acme\n\n- two mails\n- **one** visit\n");
    insta::assert_snapshot!(report.text(80), @r"
    visit-report is complete: 3 of 3 steps, 5 agents, 1 retry, 12.3 s

    # Acme

    - two mails
    - **one** visit

    step         agent            status    time  tries    size
    find         finder           done    4.10 s      2  1.2 KB
    look-around                   done    4.10 s      1  1.2 KB
    review       writer, checker  done    4.10 s      1  1.2 KB

    Warnings
    - review: the last of 2 turns was taken, `passed` was not said
    ");
    insta::assert_snapshot!(report.markdown(), @r"
    visit-report is complete: 3 of 3 steps, 5 agents, 1 retry, 12.3 s

    # Acme

    - two mails
    - **one** visit

    **Warnings**
    - review: the last of 2 turns was taken, \`passed\` was not said
    ");
}

#[test]
fn a_scheduled_run_for_which_all_went_well_is_its_text_alone() {
    let mut report = complete("1. Pay the rent");
    assert_eq!(report.message(true).text, report.markdown(), "it has a warning");
    report.run.warnings.clear();
    assert_eq!(report.message(true).text, "1. Pay the rent");
    assert_eq!(report.message(false).text, report.markdown());
    report.run.output = String::new();
    assert_eq!(report.message(true).text, report.markdown(), "it says that there is none");
}

#[test]
fn a_partial_run_says_which_step_and_why() {
    let why = "the output must include `mails`:\nit is a list";
    let steps = vec![
        step("find", "finder", "failed", Some(why)),
        step("short", "writer", "skipped", None),
        step("write", "writer", "completed", None),
    ];
    let mut report = report("partial", steps, "{\"mails\": [1, 2]}");
    report.run.warnings = vec![format!("find: {why}")];
    insta::assert_snapshot!(report.text(80), @r#"
    visit-report is partly done: 1 of 3 steps, 1 failed, 1 skipped, 5 agents, 1 retry, 12.3 s
    - find failed: the output must include `mails`: it is a list

    {"mails": [1, 2]}

    step   agent   status     time  tries    size
    find   finder  failed   4.10 s      1
    short  writer  skipped
    write  writer  done     4.10 s      1  1.2 KB

    To run it again from there: adjutant workflow run visit-report --of 0abcDEFghiJKLmnoPQRstu --from find
    "#);
    insta::assert_snapshot!(report.markdown(), @r#"
    visit-report is partly done: 1 of 3 steps, 1 failed, 1 skipped, 5 agents, 1 retry, 12.3 s
    - find failed: the output must include \`mails\`: it is a list

    ```
    {"mails": [1, 2]}
    ```

    ```
    step   agent   status     time
    find   finder  failed   4.10 s
    short  writer  skipped
    write  writer  done     4.10 s
    ```

    To run it again from there: `/run visit-report --of 0abcDEFghiJKLmnoPQRstu --from find`
    "#);
}

#[test]
fn a_failed_run_says_which_step_and_why() {
    let steps = vec![
        step("find", "finder", "completed", None),
        step("write", "writer", "failed", None),
        step("review", "checker", "skipped", None),
    ];
    let mut report = report("failed", steps, "");
    (report.run.agents, report.run.retries) = (1, 0);
    insta::assert_snapshot!(report.text(80), @"
    visit-report failed: 1 of 3 steps, 1 failed, 1 skipped, 1 agent, 12.3 s
    - write failed

    step    agent    status     time  tries    size
    find    finder   done     4.10 s      1  1.2 KB
    write   writer   failed   4.10 s      1
    review  checker  skipped

    To run it again from there: adjutant workflow run visit-report --of 0abcDEFghiJKLmnoPQRstu --from write
    ");
    insta::assert_snapshot!(report.markdown(), @"
    visit-report failed: 1 of 3 steps, 1 failed, 1 skipped, 1 agent, 12.3 s
    - write failed

    ```
    step    agent    status     time
    find    finder   done     4.10 s
    write   writer   failed   4.10 s
    review  checker  skipped
    ```

    To run it again from there: `/run visit-report --of 0abcDEFghiJKLmnoPQRstu --from write`
    ");
}

#[test]
fn a_cancelled_run() {
    let steps = vec![step("find", "finder", "cancelled", None), step("write_it", "writer", "pending", None)];
    insta::assert_snapshot!(report("cancelled", steps, "").markdown(), @r"
    visit-report was cancelled: 0 of 2 steps, 5 agents, 1 retry, 12.3 s

    ```
    step      agent   status       time
    find      finder  cancelled  4.10 s
    write_it  writer  to do
    ```
    ");
    let steps =
        vec![step("find", "finder", "completed", None), step("write_it", "writer", "cancelled", None)];
    let text = report("cancelled", steps, "").markdown();
    let last = "To run it again from there: `/run visit-report --of 0abcDEFghiJKLmnoPQRstu --from write_it`";
    assert_eq!(text.lines().last(), Some(last));
}

#[test]
fn runs_that_have_not_ended() {
    let steps = vec![
        step("find", "finder", "completed", None),
        step("send?", "", "waiting", None),
        step("write", "writer", "pending", None),
    ];
    insta::assert_snapshot!(report("waiting", steps, "").markdown(), @"
    visit-report is waiting for an answer: 1 of 3 steps, 5 agents, 1 retry, 12.3 s so far
    - send? is waiting

    ```
    step   agent   status     time
    find   finder  done     4.10 s
    send?          waiting  4.10 s
    write  writer  to do
    ```
    ");
    let running = report("running", vec![step("find", "finder", "running", None)], "");
    insta::assert_snapshot!(running.text(80), @r"
    visit-report is running: 0 of 1 step, 5 agents, 1 retry, 12.3 s so far

    step  agent   status     time  tries  size
    find  finder  running  4.10 s      1
    ");
}

#[test]
fn a_run_without_output_and_one_without_steps() {
    let mut bare = report("complete", vec![step("tell", "", "completed", None)], " \n");
    bare.steps[0].output_bytes = 0;
    insta::assert_snapshot!(bare.markdown(), @r"
    visit-report is complete: 1 of 1 step, 5 agents, 1 retry, 12.3 s

    There is no output.
    ");
    insta::assert_snapshot!(report("failed", Vec::new(), "").text(80), @"visit-report failed: 0 of 0 steps, 5 agents, 1 retry, 12.3 s");
}

#[test]
fn thirty_steps_and_five_hundred() {
    let steps = |count: usize| {
        let name = |at: usize| format!("step-number-{at}-of-many-with-a-long-name");
        (1..=count).map(|at| step(&name(at), "the agent of a long name too", "completed", None)).collect()
    };
    let thirty = report("partial", steps(30), "done").markdown();
    assert_eq!(thirty.lines().filter(|line| line.starts_with("step-number-")).count(), 30);
    assert!(thirty.lines().skip(4).all(|line| line.width() <= 60), "{thirty}");
    insta::assert_snapshot!(thirty.lines().skip(4).take(4).collect::<Vec<_>>().join("\n"), @r"
    ```
    step                   agent                  status    time
    step-number-1-of-man…  the agent of a long…   done    4.10 s
    step-number-2-of-man…  the agent of a long…   done    4.10 s
    ");
    let many = report("partial", steps(500), "done");
    assert!(many.markdown().contains("\n… and 460 more steps\n```"), "{}", many.markdown());
    assert_eq!(many.text(100).lines().filter(|line| line.starts_with("step-number-")).count(), 500);
}

#[test]
fn a_long_output_and_one_that_is_left_open_go_last() {
    let ends = |output: &str| complete(output).markdown().ends_with(output.trim_end());
    assert!(ends(&"word ".repeat(700)));
    assert!(!ends("short"));
    for open in ["```\nlet x;", "~~~~\n~~~\n", "````\n```", "```\n    ```", "<!-- ", "a\n<pre>"] {
        assert!(ends(open), "{open}");
    }
    for closed in ["```rust\nlet x;\n```", "```a``` b", "~~~\n```\n~~~", "a < b", "<b>x</b>"] {
        assert!(!ends(closed), "{closed}");
    }
    let parts = complete("```\nopen");
    insta::assert_snapshot!(parts.markdown(), @r"
    visit-report is complete: 3 of 3 steps, 5 agents, 1 retry, 12.3 s

    **Warnings**
    - review: the last of 2 turns was taken, \`passed\` was not said

    ```
    open
    ");
}

#[test]
fn hostile_texts_stay_where_they_are() {
    let steps = vec![
        step("a\u{1b}[2Jb", "`agent`\n## 東京の代理人の長い名前です、とても長い", "completed", None),
        step("```", "\u{202e}gnorw", "failed", Some("```\n# no <b> [x](http://y) *z* \u{7}")),
    ];
    let mut report = report("partial", steps, "out\u{1b}]0;x\u{7}\tput 東京");
    report.run.warnings = vec!["__w__ <!-- \n- | a_b | 100% ~~off~~".to_owned(); 12];
    insta::assert_snapshot!(report.text(60), @r"
    visit-report is partly done: 1 of 2 steps, 1 failed, 5 agents, 1 retry, 12.3 s
    - ``` failed: ``` # no <b> [x](http://y) *z* �

    out�]0;x�	put 東京

    step    agent                  status    time  tries    size
    a�[2Jb  `agent` ## 東京の代…   done    4.10 s      1  1.2 KB
    ```     �gnorw                 failed  4.10 s      1

    Warnings
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    - __w__ <!-- - | a_b | 100% ~~off~~
    ");
    insta::assert_snapshot!(report.markdown(), @r"
    visit-report is partly done: 1 of 2 steps, 1 failed, 5 agents, 1 retry, 12.3 s
    - \`\`\` failed: \`\`\` \# no \<b\> \[x\](http://y) \*z\* �

    out�]0;x�	put 東京

    ````
    step    agent                                 status    time
    a�[2Jb  `agent` ## 東京の代理人の長い名前で…  done    4.10 s
    ```     �gnorw                                failed  4.10 s
    ````

    **Warnings**
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - \_\_w\_\_ \<!-- - \| a_b \| 100% \~\~off\~\~
    - and 2 more
    ");
}

fn any_step() -> impl Strategy<Value = StepReport> {
    let statuses = ["pending", "running", "waiting", "completed", "failed", "skipped", "cancelled"];
    let status = proptest::sample::select(statuses.to_vec());
    (".{0,40}", proptest::option::of(".{0,40}"), status, proptest::option::of(".{0,400}"), any::<usize>())
        .prop_map(|(id, agent, status, error, size)| StepReport {
            agent,
            output_bytes: size,
            duration_ms: i64::try_from(size % 1_000_000_000).unwrap_or(0),
            ..step(&id, "", status, error.as_deref())
        })
}

proptest! {
    #[test]
    fn the_table_of_a_chat_is_narrow_whatever_stands_in_it(steps in proptest::collection::vec(any_step(), 1..60)) {
        let text = report("partial", steps, "out").markdown();
        let table = text.split("\n```").nth(1).unwrap_or_default();
        prop_assert!(table.lines().skip(1).all(|line| line.width() <= 60), "{}", text);
        prop_assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'));
    }

    #[test]
    fn no_text_steers_the_terminal(output in "(.|\n|\u{1b}|\u{7}){0,200}", width in 0_usize..500) {
        let text = complete(&output).text(width);
        prop_assert!(!text.chars().any(|letter| letter.is_control() && !matches!(letter, '\n' | '\t')));
    }
}
