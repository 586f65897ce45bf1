//! A plan that was saved and is run by `/run`: its steps keep their roles, what they may do, the review and the receipts.

use std::sync::atomic::{AtomicUsize, Ordering};

use adjutant_models::Request;
use adjutant_store::runs;
use adjutant_types::RunStatus;
use adjutant_workflows::plans::{self, Plan};
use serde_json::json;

use crate::app::{scripted, scripted_with, skill};
use crate::plans::{is_role, plan_of, report, script, step, tasks, verdict};
use crate::roles::mission;
use crate::scripted::{Reply, Who, has_results, text};
use crate::workflows::workflow_file;

/// The researcher only reads; the executor adds a task.
fn works(request: &Request) -> Reply {
    match (mission(request), has_results(request)) {
        ("Mission: do figures", _) => {
            assert!(request.tools.iter().all(|tool| !tool.parameters.to_string().contains("tasks.create")));
            text("1, 2 and 3")
        }
        (_, false) => skill("tasks.create", json!({"title": "book the room"})),
        (_, true) => text("✓ The invitation is sent."),
    }
}

/// The plan as `adjutant plan save` writes it.
async fn saved() -> String {
    let planner = |_: &Request| {
        let room = step("room", "executor", &["tasks.create"], &["figures"]);
        plan_of(&[step("figures", "researcher", &["tasks.search"], &[]), room])
    };
    let app = scripted(script(planner, works, |_| verdict(&[]))).await;
    let asked = app.says("ada", "/plan prepare the board meeting").await;
    app.says("ada", "cancel").await;
    let row = runs::plans_beginning_with(app.store(), "", 1).await.unwrap().remove(0);
    let plan = Plan { name: "board".into(), ..serde_json::from_str(&row.body).unwrap() };
    assert_eq!(asked.buttons(), ["Run", "Change", "Cancel"]);
    app.ends_well().await;
    plans::workflow(&plan, &row.goal).unwrap().text
}

#[tokio::test]
async fn a_saved_plan_keeps_its_roles_its_review_and_its_receipts() {
    let text = saved().await;
    // The first review finds a fault, the second none.
    let reviews = AtomicUsize::new(0);
    let reviewer = move |_: &Request| {
        let is_first = reviews.fetch_add(1, Ordering::SeqCst) == 0;
        verdict(&[("figures", !is_first, "the third is wrong"), ("room", true, "")])
    };
    let nobody = |_: &Request| panic!("a saved plan isn't planned again");
    let app =
        scripted_with(script(nobody, works, reviewer), |config| workflow_file(config, "board", &text)).await;
    let heard = app.says("ada", "/run board").await;
    let report = report(&app, &heard).await;
    assert!(report.steps[0].redone && !report.steps[1].redone, "{}", heard.text);
    assert!(report.steps.iter().all(|step| step.review.is_some()), "{}", heard.text);
    assert_eq!(report.run.status, RunStatus::Complete, "{}", heard.text);
    assert_eq!(tasks(&app).await, 1, "only the executor's");
    let requests = app.requests(Who::Agent);
    let of = |role: &str| requests.iter().filter(|request| is_role(request, role)).count();
    assert!(of("researcher") > 0 && of("executor") > 0 && of("reviewer") == 2, "{}", requests.len());
    let rows = app.executions(&heard).await;
    let roles: Vec<String> = rows.into_iter().filter_map(|row| row.role).collect();
    assert_eq!(roles.iter().filter(|role| *role == "researcher").count(), 2, "{roles:?}");
    let (said, receipts) = heard.text.rsplit_once("\n\n").unwrap();
    assert!(
        receipts.starts_with("✓ Added “book the room”") && !receipts.contains("invitation"),
        "{receipts}"
    );
    assert!(said.contains("- The invitation is sent.") || !said.contains("✓ The invitation"), "{said}");
    app.ends_well().await;
}
