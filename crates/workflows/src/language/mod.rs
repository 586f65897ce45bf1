//! The workflow language: its definition, reading it, templates, conditions and rules.

pub(crate) mod condition;
pub mod dates;
pub mod definition;
mod fields;
mod for_model;
pub mod inputs;
pub(crate) mod order;
pub(crate) mod reading;
pub(crate) mod rule_check;
pub(crate) mod rules;
mod steps;
pub mod template;
pub mod wait;
