//! `adjutant workflow new NAME --words`

use std::sync::Arc;

use super::{CliError, Workshop, named};
use crate::clock::{SharedClock, SystemClock};
use crate::config::BUILTIN;
use crate::service::build_models;
use crate::workflows::words::{WordsError, draft, planned};
use crate::workflows::{Workflow, World, draw, explain};

impl Workshop<'_> {
    /// Makes a workflow of words; writes it, or only shows it.
    pub(super) async fn worded(&self, name: &str, words: &str, print: bool) -> Result<String, CliError> {
        named(name)?;
        let all = self.all();
        let known: Vec<&Workflow> = all.workflows.iter().collect();
        let world = World { skills: &self.skills, approval: &self.config.approval, workflows: &known };
        let workflow = match planned(words, name, &world) {
            Err(not @ WordsError::NotUnderstood { .. }) => {
                if self.config.model.main.first.provider == BUILTIN {
                    return Err(CliError::plain(format!(
                        "{not}. A configured [model] understands more, and `adjutant workflow new {name} --from \
                         TEMPLATE` starts with a file"
                    )));
                }
                let clock: SharedClock = Arc::new(SystemClock);
                let model = build_models(self.config, &self.loaded, &clock)?.orchestrator;
                draft(words, name, &world, model.as_ref()).await
            }
            planned => planned,
        };
        let workflow = workflow.map_err(|error| match error {
            WordsError::Empty | WordsError::TooLong => CliError::Usage(error.to_string()),
            error => CliError::plain(error.to_string()),
        })?;
        if print {
            return Ok(workflow.text);
        }
        let shown = self.write(name, &workflow.text)?;
        Ok(format!(
            "{}\n{}\n{shown} is written. Look at it, then: adjutant workflow run {name} --dry-run\n{}",
            explain(&workflow),
            draw(&workflow, super::super::columns()),
            self.in_use_later()
        ))
    }
}
