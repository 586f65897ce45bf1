//! What a text says about time: its words, the phrases in them and what they mean, and what is left unused.

mod calendar;
mod clauses;
mod hours;
pub(super) mod leftover;
mod now;
mod numbers;
mod odd;
mod period;
mod phrase;
pub(super) mod titles;
pub(super) mod when;
mod words;

pub(super) use now::Now;
pub(super) use numbers::length;
pub(super) use period::Period;
pub(super) use words::{Word, is_one_of, words};
