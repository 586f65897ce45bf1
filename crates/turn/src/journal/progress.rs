//! Work that is done, or goes on later.

use super::Limit;

/// The outcome of a piece of work: of a call, an agent, a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress<T> {
    Done(T),
    /// Its row stays open, and it goes on from there.
    Suspended(Suspend),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspend {
    ForPerson,
    /// A limit of the turn was reached.
    AtLimit(Limit),
    /// There is nothing to do before this time, in milliseconds.
    Until(i64),
}

impl<T> Progress<T> {
    /// The same with another result.
    pub fn map<U>(self, result: impl FnOnce(T) -> U) -> Progress<U> {
        match self {
            Self::Done(done) => Progress::Done(result(done)),
            Self::Suspended(suspend) => Progress::Suspended(suspend),
        }
    }
}
