//! The roles that a workflow names. They are checked where roles are known: by `workflow check`, and before a run.

use adjutant_config::document::Problem;

use crate::Workflow;
use crate::roles::RoleSet;

/// A problem for each role that isn't there.
pub fn missing_roles(workflow: &Workflow, roles: &RoleSet) -> Vec<Problem> {
    let agents = workflow
        .agents
        .iter()
        .filter_map(|agent| Some((format!("agents.{}.as_role", agent.id), agent.as_role.as_ref()?)));
    let review = workflow.review.iter().map(|role| ("review".to_owned(), role));
    let missing = agents.chain(review).filter(|(_, role)| roles.get(role).is_none());
    let problem = |(key, role): (String, &String)| Problem {
        key: Some(key),
        ..Problem::of_file(&workflow.file, roles.missing(role))
    };
    missing.map(problem).collect()
}
