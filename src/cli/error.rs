//! How a command fails, and what the person reads then.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::config::ConfigError;
use crate::service::StartError;
use crate::store::StoreError;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command line asks for what can't be; exit status 2.
    #[error("{0}")]
    Usage(String),
    /// The configuration is wrong; exit status 78.
    #[error("the configuration is wrong\n{0}")]
    Config(#[from] ConfigError),
    /// It failed while running; exit status 1.
    #[error("{what}")]
    Failed {
        /// What failed, a plain sentence with the mend where there is one.
        what: String,
        /// Why.
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

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        // Its sentences stand by themselves, with their mend.
        Self::plain(error.to_string())
    }
}

impl CliError {
    /// A failure with its cause.
    pub fn failed(what: impl Into<String>, why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { what: what.into(), source: Some(why.into()) }
    }

    /// A failure that needs no further reason.
    pub fn plain(what: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), source: None }
    }

    /// Says it on stderr and gives the exit status.
    pub fn report(&self) -> ExitCode {
        // Who closed the pipe has read enough: `adjutant skills list | head -1` is no failure.
        if self.is_broken_pipe() {
            return ExitCode::SUCCESS;
        }
        // If stderr is gone as well there is nobody left to tell.
        let _ = writeln!(io::stderr(), "adjutant: {}", self.sentence());
        ExitCode::from(self.status())
    }

    fn status(&self) -> u8 {
        match self {
            Self::Failed { .. } => 1,
            Self::Usage(_) => 2,
            Self::Config(_) => 78,
        }
    }

    /// The failure and its causes, each said once.
    fn sentence(&self) -> String {
        let mut sentence = self.to_string();
        for cause in causes(self) {
            let cause = cause.to_string();
            if !sentence.contains(&cause) {
                let _ = write!(sentence, ": {cause}");
            }
        }
        sentence
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
    fn a_failure_is_said_with_each_cause_once() {
        let why = ConfigError::one(None, "the disk is full");
        insta::assert_snapshot!(CliError::failed("the store can't be opened", why).sentence(), @"the store can't be opened: the disk is full");
        insta::assert_snapshot!(CliError::from(ConfigError::one(Some("model.name"), "missing")).sentence(), @r"
        the configuration is wrong
        model.name: missing
        ");
        assert_eq!(CliError::plain("no").sentence(), "no");
    }

    #[test]
    fn each_kind_has_its_status() {
        let config = CliError::from(ConfigError::one(None, "x"));
        let status =
            [CliError::plain("x"), CliError::Usage("x".to_owned()), config].map(|error| error.status());
        assert_eq!(status, [1, 2, 78]);
    }
}
