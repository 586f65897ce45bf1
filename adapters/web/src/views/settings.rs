//! The configuration as owners see and change it.

use std::collections::BTreeMap;

use super::Moment;

/// What can be set, and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsPage {
    /// Of the file that this was read from.
    pub digest: String,
    pub sections: Vec<SettingsSection>,
    /// What is wrong with the file.
    pub problems: Vec<String>,
    pub needs_restart: Vec<String>,
    /// The newest changes: who, what, when.
    pub changes: Vec<(String, String, Moment)>,
    pub can_undo: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsSection {
    pub title: String,
    pub test: Option<String>,
    pub fields: Vec<SettingsField>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsField {
    pub key: String,
    pub about: String,
    pub example: String,
    pub input: SettingsInput,
    /// How it is set; empty if it isn't.
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsInput {
    Line,
    /// A text on each line.
    Lines,
    /// One of these values, each with its words.
    Choice(Vec<(&'static str, String)>),
    /// Where a secret is, and how that stands now.
    Secret(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsEdit {
    /// Of the file that the form was made from.
    pub digest: String,
    pub typed: BTreeMap<String, String>,
    /// Whether the last change is undone instead.
    pub is_undo: bool,
    /// Whether the owner has seen the difference.
    pub is_confirmed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsOutcome {
    Preview(SettingsPreview),
    Written,
    Refused(Vec<String>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsPreview {
    /// The lines that go and those that come, which is true of them.
    pub lines: Vec<(bool, String)>,
    pub needs_restart: Vec<String>,
    /// The command that makes the change, where we may not write the file.
    pub command: Option<String>,
}
