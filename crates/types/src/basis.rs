//! Why a skill call was made without, or after, a question.

use std::fmt;
use std::str::FromStr;

use super::{RuleId, UnknownWord};

/// The permission for a call. Stored with it, so that the journal alone says why everything was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// `[approval]`: the turn had read nothing from outside, or an owner allows the skill by its name, or it only reads.
    Policy,
    /// The person typed all that the call tells others, or said yes to our offer of nothing else.
    OwnWords,
    /// A page of the same host, or the same service, led there, and it tells them nothing else.
    Linked,
    /// The wish of this number among those of the turn's message.
    Wish(usize),
    /// The text of a workflow's file, which is the owner's.
    Workflow,
    /// Basic mode: exact forms of the person's own message.
    Forms,
    /// A standing approval.
    Rule(RuleId),
    /// A person's yes to exactly this call.
    Approval,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy => f.write_str("policy"),
            Self::OwnWords => f.write_str("own words"),
            Self::Linked => f.write_str("linked"),
            Self::Wish(number) => write!(f, "wish {number}"),
            Self::Workflow => f.write_str("workflow"),
            Self::Forms => f.write_str("forms"),
            Self::Rule(id) => write!(f, "rule {id}"),
            Self::Approval => f.write_str("approval"),
        }
    }
}

impl FromStr for Basis {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownWord { kind: "Basis", text: text.to_owned() };
        Ok(match text.split_once(' ') {
            None if text == "policy" => Self::Policy,
            None if text == "linked" => Self::Linked,
            None if text == "workflow" => Self::Workflow,
            None if text == "forms" => Self::Forms,
            None if text == "approval" => Self::Approval,
            Some(("own", "words")) => Self::OwnWords,
            Some(("wish", number)) => Self::Wish(number.parse().map_err(|_| unknown())?),
            Some(("rule", id)) => Self::Rule(id.into()),
            _ => return Err(unknown()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reads_back() {
        use Basis::*;
        for basis in [Policy, OwnWords, Linked, Wish(3), Workflow, Forms, Rule("k7".into()), Approval] {
            assert_eq!(basis.to_string().parse(), Ok(basis));
        }
        assert!("wish x".parse::<Basis>().is_err() && "".parse::<Basis>().is_err());
    }
}
