//! Watches, tellings, and briefings.

mod bad_input;
mod briefing;
mod hostile;
mod making;
mod sources;
mod telling;
mod turns;
