//! What the tests of several crates share. It uses no crate whose own tests use it, so that there is one kind of each type.

pub mod journal;
pub mod model;
pub mod programs;
