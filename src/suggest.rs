//! "Did you mean": the known word closest to a mistyped one.

pub(crate) use adjutant_chat::suggest::{did_you_mean, distance, nearest};
