//! What people see of a workflow and of its runs: explanation, drawings, dry run, report.

pub mod comparison;
pub(crate) mod diagram;
pub(crate) mod draw;
pub(crate) mod estimate;
pub(crate) mod explain;
pub mod history;
pub mod layout;
pub(crate) mod mermaid;
pub mod plan;
pub mod report;
pub(crate) mod report_text;
pub(crate) mod status;
