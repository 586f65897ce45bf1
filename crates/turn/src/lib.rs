//! What a turn carries with it: what it may do and has done, whom to trust, and the words in which it speaks.

pub mod journal;
pub mod trust;
pub mod wording;
