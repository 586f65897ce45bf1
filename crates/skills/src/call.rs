//! A skill call: what it is, how it ended, and how the journal keeps that.

use adjutant_l10n as l10n;
use adjutant_store::executions::{Closing, ExecutionRow};
use adjutant_turn::journal::{Progress, TurnContext};
use adjutant_turn::wording::UNKNOWN_OUTCOME;
use adjutant_types::{ErrorText, ExecutionId, ExecutionKind, ExecutionStatus, QuestionId, Taint};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ErrorKind, Grant, Output, SkillError};

/// Stands for all of a message, which is the first line of the block below.
const LINE_IN_BLOCK: &str = "the first line below";

#[derive(Debug, Clone)]
pub struct Call<'a> {
    pub agent: &'a ExecutionId,
    /// Its name within the turn.
    pub agent_name: &'a str,
    /// Whether that agent consists of this call alone, so that it ends with it.
    pub direct: bool,
    /// The number of the agent's model call, and the index in it; 0, 0 for a direct one.
    pub position: (i64, i64),
    pub grant: &'a Grant,
    /// The roles from the top of the agent's tree down to its own, where there are several.
    pub path: &'a [String],
    pub skill: &'a str,
    /// The arguments as the model wrote them.
    pub arguments: &'a Value,
    /// The outside sources of everything that the caller was given or has read.
    pub taint: Taint,
    /// The question that is withdrawn in the commit in which this call takes hold.
    pub replaces: Option<QuestionId>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReport {
    pub execution: ExecutionId,
    pub skill: String,
    pub status: ExecutionStatus,
    /// One line for people.
    pub summary: String,
    /// The result for what depends on it.
    pub data: Value,
    /// The text comes from outside.
    pub untrusted: bool,
    /// All of it is ours or the person's own, whatever the caller had read.
    pub is_own: bool,
    /// The outside sources of what it was given and read.
    pub taint: Taint,
    pub error: Option<CallError>,
}

/// A failure as it is stored and shown in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallError {
    pub kind: ErrorKind,
    #[serde(flatten)]
    pub message: ErrorText,
    #[serde(default)]
    pub skill: Option<String>,
    /// Whether another attempt, or other arguments, may help.
    pub recoverable: bool,
    /// How long the service asks to wait, in seconds.
    #[serde(default)]
    pub retry_after_s: Option<u64>,
}

impl CallError {
    /// Why a call of this skill failed, before its outcome was journalled.
    pub fn new(skill: &str, error: &SkillError) -> Self {
        Self {
            kind: error.kind,
            message: error.message.clone(),
            skill: Some(skill.to_owned()),
            recoverable: !error.kind.is_final(),
            retry_after_s: error.retry_after.map(|after| after.as_secs()),
        }
    }

    /// For a person, of what ended like this.
    pub fn for_person(&self, status: ExecutionStatus) -> String {
        let whole = self.message.whole();
        // The journal holds the model's sentence, if need be behind which call it was and why that was cut off.
        let before =
            whole.strip_suffix(UNKNOWN_OUTCOME).map(|before| before.trim_end_matches([' ', ';', ':']));
        match (status, before) {
            (ExecutionStatus::Unknown, Some("")) => l10n::turns::interrupted(),
            (ExecutionStatus::Unknown, Some(before)) => l10n::turns::unknown_outcome(before),
            (ExecutionStatus::Unknown, None) => l10n::turns::unknown_outcome(whole),
            _ => whole,
        }
    }

    /// For a model: in JSON, and as one line for the block below if some of its words are from outside.
    pub fn for_model(&self) -> (Value, Option<String>) {
        let mut value = json!({"kind": self.kind, "message": self.message.ours(), "skill": self.skill});
        value["recoverable"] = json!(self.recoverable);
        value["retry_after_s"] = json!(self.retry_after_s);
        if !self.message.has_outside() {
            return (value, None);
        }
        value["whole"] = json!(LINE_IN_BLOCK);
        (value, Some(self.message.whole().lines().collect::<Vec<_>>().join(" ")))
    }
}

/// The outcome of a call; if it is done, its row is closed. At a limit, nothing was done.
pub type CallEnd = Progress<Box<CallReport>>;

pub(super) fn new_row(ctx: &TurnContext, call: &Call<'_>) -> ExecutionRow {
    ExecutionRow {
        parent_id: Some(call.agent.clone()),
        call_n: Some(call.position.0),
        call_idx: Some(call.position.1),
        skill: Some(call.skill.to_owned()),
        parameters: Some(call.arguments.to_string()),
        taint: call.taint.clone(),
        started_at: Some(ctx.store.now()),
        ..ExecutionRow::new(ctx.store.new_id(), &ctx.turn.id, ExecutionKind::Skill)
    }
}

pub(super) enum Outcome {
    Completed(Output),
    /// It certainly didn't happen.
    Failed(SkillError),
    /// It may have happened, and must not be done again.
    Unknown(SkillError),
}

impl From<SkillError> for Outcome {
    fn from(error: SkillError) -> Self {
        if error.unknown { Self::Unknown(error) } else { Self::Failed(error) }
    }
}

impl From<Result<Output, SkillError>> for Outcome {
    fn from(result: Result<Output, SkillError>) -> Self {
        result.map_or_else(Self::from, Self::Completed)
    }
}

impl Outcome {
    /// How the journal keeps it.
    pub(super) fn closing(self, skill: &str) -> (ExecutionStatus, Closing) {
        let (status, error) = match self {
            Self::Completed(output) => {
                let data = (!output.data.is_null()).then(|| output.data.to_string());
                let undo = output.undo.map(|steps| steps.to_string());
                let (result, untrusted) = (Some(output.summary), !output.ours);
                return (
                    ExecutionStatus::Completed,
                    Closing { result, data, untrusted, undo, ..Closing::default() },
                );
            }
            Self::Unknown(error) => (ExecutionStatus::Unknown, error),
            Self::Failed(error) if error.kind == ErrorKind::Timeout => (ExecutionStatus::Timeout, error),
            Self::Failed(error) => (ExecutionStatus::Failed, error),
        };
        let error = CallError {
            recoverable: status != ExecutionStatus::Unknown && !error.kind.is_final(),
            ..CallError::new(skill, &error)
        };
        (status, Closing { error: serde_json::to_string(&error).ok(), ..Closing::default() })
    }
}

pub fn report(row: &ExecutionRow) -> CallReport {
    let error: Option<CallError> = row.error.as_deref().and_then(|json| serde_json::from_str(json).ok());
    CallReport {
        execution: row.id.clone(),
        skill: row.skill.clone().unwrap_or_default(),
        status: row.status,
        summary: row.result.clone().unwrap_or_default(),
        data: row.data.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or(Value::Null),
        untrusted: row.untrusted,
        is_own: !row.untrusted && row.taint.is_clean(),
        taint: row.taint.clone(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_recipient_is_refused_for_good() {
        let error =
            |kind| Outcome::Failed(SkillError::new(kind, "no")).closing("email.send").1.error.unwrap();
        let refused: CallError = serde_json::from_str(&error(ErrorKind::Recipient)).unwrap();
        assert_eq!((refused.kind.as_str(), refused.recoverable), ("recipient", false));
        let unknown: CallError = serde_json::from_str(&error(ErrorKind::NotFound)).unwrap();
        assert!(unknown.recoverable);
        for no in [ErrorKind::Rejected, ErrorKind::Unapproved, ErrorKind::Withdrawn] {
            let refused: CallError = serde_json::from_str(&error(no)).unwrap();
            assert_eq!((refused.kind, refused.recoverable), (no, false));
        }
    }
}
