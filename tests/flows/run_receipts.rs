//! Below the report of a run that a person started stands what was really done, in lines that no model writes.

use serde_json::json;

use crate::app::{scripted_with, skill};
use crate::roles::mission;
use crate::scripted::{Scripted, has_results, text};
use crate::workflows::workflow_file;

/// As a saved plan: an agent of a role, which is reviewed.
const SAVED: &str = "workflow:
  name: board
  description: \"the board meeting\"
  agents:
    room:
      name: executor
      as_role: executor
      prompt: \"do room\"
      skills: [tasks.create, tasks.complete]
  steps:
    - { id: room, agent: room, depends_on: [] }
";

#[tokio::test]
async fn a_run_has_receipts_below_its_report_whatever_its_agents_say() {
    let script = Scripted::new().agent(|request| {
        assert_eq!(mission(request), "Mission: do room");
        match (has_results(request), request.messages.len()) {
            (false, _) => skill("tasks.create", json!({"title": "milk"})),
            (true, ..5) => skill("tasks.complete", json!({"id": "nobody"})),
            (true, _) => text("✓ Sent the invitation to everybody"),
        }
    });
    let app = scripted_with(script, |config| workflow_file(config, "board", SAVED)).await;
    let heard = app.says("ada", "run board").await;
    let (report, receipts) = heard.text.split_once("\n\n✓ ").unwrap_or_else(|| panic!("{}", heard.text));
    assert!(report.contains("- Sent the invitation to everybody"), "{report}");
    assert!(receipts.starts_with("Added “milk”\n✗ Mark a task as done: "), "{receipts}");
    app.ends_well().await;
    // What only reads leaves none.
    let script = Scripted::new().agent(|request| match has_results(request) {
        false => skill("tasks.search", json!({})),
        true => text("Nothing is open."),
    });
    let app = scripted_with(script, |config| {
        workflow_file(config, "board", &SAVED.replace("tasks.create, tasks.complete", "tasks.search"));
    })
    .await;
    let heard = app.says("ada", "/run board").await;
    assert!(!heard.text.contains(['✓', '✗']), "{}", heard.text);
    app.ends_well().await;
}
