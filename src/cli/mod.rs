//! The commands, a file each.

pub mod skills;
