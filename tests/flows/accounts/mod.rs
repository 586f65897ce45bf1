//! Accounts that people connect themselves, each person's own.

mod choosing;
mod colleagues;
mod connecting;
mod counting;
mod ended;
mod isolation;
mod mailboxes;
mod providers;
mod pushed;
mod table;
mod table_mail;
mod team;
mod world;
