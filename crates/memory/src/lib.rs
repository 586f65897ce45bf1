//! What the assistant remembers and how it is found: a ranking of our own over the words that the store keeps, so that
//! both databases give the same results in the same order. `extraction` lets memory grow by itself, if that is wanted.

mod days;
pub mod extraction;
mod forgetting;
mod forms;
mod fusion;
mod history;
pub mod index;
mod letters;
mod question;
mod ranking;
mod secrets;
mod vector_cache;
pub mod vectors;
mod words;

pub use forgetting::{Forgetting, Meant, forget, meant, mentions};
pub use history::{now_of, with_history};
pub use ranking::{Asker, Found, SearchIn, around, search};
pub use secrets::has_secret;
pub use words::{has_all_words, has_more_words, topic_stems};
