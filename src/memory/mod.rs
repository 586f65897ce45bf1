//! What the assistant remembers and how it is found: a ranking of our own over the words that the store keeps, so that
//! both databases give the same results in the same order.

pub mod index;
mod question;
mod ranking;
mod words;

pub use ranking::{Asker, Found, SearchIn, search};
pub use words::has_all_words;
