//! How a command fails: its message and its exit status.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use adjutant_config::ConfigError;
use adjutant_console::render;
use adjutant_store::StoreError;

use crate::service::StartError;

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command line makes no sense; exit status 2.
    #[error("{0}")]
    Usage(String),
    /// The configuration has errors; exit status 78.
    #[error("the configuration has errors\n{0}")]
    Config(#[from] ConfigError),
    /// What the command needs isn't set up; exit status 78.
    #[error("{0}")]
    Missing(String),
    /// The command failed; exit status 1.
    #[error("{what}")]
    Failed {
        /// The failure, and the fix if we know it.
        what: String,
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        let in_section = |section: &str, problem: &dyn std::fmt::Display| {
            Self::Config(ConfigError::one(Some(section), problem.to_string()))
        };
        match error {
            StartError::Config(error) => Self::Config(error),
            StartError::Store(error) => error.into(),
            StartError::Skills(_) => in_section("[skills]", &error),
            StartError::Model(error) => in_section("[model]", &error),
            StartError::Channel { name, why } => in_section(&format!("[channels.{name}]"), &why),
        }
    }
}

impl From<Vec<StartError>> for CliError {
    fn from(errors: Vec<StartError>) -> Self {
        let mut problems = Vec::new();
        for error in errors {
            match Self::from(error) {
                Self::Config(error) => problems.extend(error.problems),
                other => return other,
            }
        }
        Self::Config(ConfigError { problems })
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        // Its message already names the cause.
        Self::plain(error.to_string())
    }
}

impl CliError {
    pub fn failed(what: impl Into<String>, why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { what: what.into(), source: Some(why.into()) }
    }

    /// A failure without a further cause.
    pub fn plain(what: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), source: None }
    }

    /// Prints the error to stderr and returns the exit status.
    pub fn report(&self) -> ExitCode {
        // A closed pipe means the reader has enough: `adjutant skills list | head -1` succeeds.
        if self.is_broken_pipe() {
            return ExitCode::SUCCESS;
        }
        let text = format!("adjutant: {}\n", self.message());
        // If stderr is closed as well, there is no way to report it.
        let _ = io::stderr().write_all(render::plain(&text, render::columns(io::stderr())).as_bytes());
        ExitCode::from(self.status())
    }

    fn status(&self) -> u8 {
        match self {
            Self::Failed { .. } => 1,
            Self::Usage(_) => 2,
            Self::Config(_) | Self::Missing(_) => 78,
        }
    }

    /// The error and its causes, without repetition.
    fn message(&self) -> String {
        let mut message = self.to_string();
        for cause in causes(self) {
            let cause = cause.to_string();
            if !message.contains(&cause) {
                let _ = write!(message, ": {cause}");
            }
        }
        message
    }

    fn is_broken_pipe(&self) -> bool {
        causes(self).any(|cause| {
            let error = cause.downcast_ref::<io::Error>();
            error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        })
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_each_cause_once() {
        let why = ConfigError::one(None, "the disk is full");
        insta::assert_snapshot!(CliError::failed("can't open the store", why).message(), @"can't open the store: the disk is full");
        insta::assert_snapshot!(CliError::from(ConfigError::one(Some("model.name"), "missing")).message(), @r"
        the configuration has errors
        model.name: missing
        ");
        assert_eq!(CliError::plain("no").message(), "no");
    }

    #[test]
    fn each_kind_has_its_status() {
        let config = CliError::from(ConfigError::one(None, "x"));
        let missing = CliError::Missing("x".to_owned());
        let errors = [CliError::plain("x"), CliError::Usage("x".to_owned()), config, missing];
        assert_eq!(errors.map(|error| error.status()), [1, 2, 78, 78]);
    }
}
