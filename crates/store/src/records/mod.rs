//! The records of people: their accounts, tasks, memories, schedules, calendars and watches.

pub mod access;
pub mod attempts;
pub mod connected;
pub mod files;
pub mod known;
pub mod links;
pub mod logins;
pub mod memories;
pub mod objects;
pub mod origins;
pub mod passkeys;
pub mod people;
pub mod pins;
pub mod pushes;
pub mod room_rules;
pub mod rooms;
pub mod rules;
pub mod schedules;
pub mod search;
pub mod secrets;
pub mod settings;
pub mod taints;
pub mod tasks;
pub mod vectors;
pub mod watches;
pub mod web;
