//! What the pages show, as plain data. All texts may be hostile.

mod accounts;
mod logins;
mod plans;
mod said;
mod search;
mod settings;
mod workflows;

use adjutant_l10n::{page, page_tables};

pub use accounts::{AccountChange, AccountLine};
pub use logins::{LoginOffer, LoginStep};
pub use plans::{Plan, PlanLine, PlanStep};
pub use said::{Asked, Asks, Outcome, Said};
pub use search::{Hit, Hits, Note};
pub use settings::{
    SettingsEdit, SettingsField, SettingsInput, SettingsOutcome, SettingsPage, SettingsPreview,
    SettingsSection,
};
pub use workflows::{
    Drawing, DrawnArrow, DrawnStep, Field, FieldKind, Planned, Run, RunLine, RunStep, Started, WorkflowLine,
    WorkflowPage, Workflows,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// Our id for the person.
    pub person: String,
    pub name: String,
    pub assistant: String,
    /// Whether they may look at what others said.
    pub is_owner: bool,
    pub session: String,
    /// The time zone of their browser, such as `Europe/Berlin`, as far as it told.
    pub zone: Option<String>,
    /// How many messages wait for their answer.
    pub waiting: u64,
}

/// A time, as the viewer reads it and as a machine does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moment {
    /// In the viewer's zone.
    pub shown: String,
    /// Its day and its time of day there.
    pub day: String,
    pub clock: String,
    /// RFC 3339.
    pub exact: String,
}

/// How something stands, in one word and one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Badge {
    Pending,
    Running,
    Waiting,
    Done,
    /// It ended early, with a part of what was asked.
    Partial,
    Failed,
    /// Somebody stopped it, or it wasn't needed.
    Stopped,
    /// Nobody knows whether it happened.
    Unknown,
}

impl Badge {
    /// The word, the shape and the class of a badge.
    pub fn look(self) -> (String, &'static str, &'static str) {
        match self {
            Self::Pending => (page::pending(), "○", "pending"),
            Self::Running => (page::running(), "▶", "running"),
            Self::Waiting => (page::waiting(), "◆", "waiting"),
            Self::Done => (page::done(), "✓", "done"),
            Self::Partial => (page::partial(), "◐", "partial"),
            Self::Failed => (page::failed(), "✕", "failed"),
            Self::Stopped => (page::stopped(), "■", "stopped"),
            Self::Unknown => (page::unclear(), "?", "unclear"),
        }
    }
}

/// What stands in a row of a turn's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// Plans the turn.
    Orchestrator,
    /// Works on a part of it.
    Agent,
    Skill,
}

/// A row of a turn's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub execution: String,
    /// How far it lies below the orchestrator.
    pub depth: usize,
    pub kind: RowKind,
    pub badge: Badge,
    /// A role, or a skill.
    pub title: String,
    /// A mission, or a result in one line.
    pub about: String,
    pub needs: Vec<String>,
    /// Whether it was given or has read something from outside.
    pub tainted: bool,
    /// How long it took, its tokens and its cost, as far as there are any.
    pub figures: Vec<String>,
    /// What it cost, in millionths of a dollar.
    pub micros: u64,
    /// When it was open, if it has begun.
    pub bar: Option<Bar>,
}

/// From when to when something was open, in milliseconds since its turn began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bar {
    pub from: i64,
    /// When it ended, or now.
    pub to: i64,
    /// From when to when its models were at work.
    pub work: Vec<(i64, i64)>,
}

/// A turn: what was said, what was done about it, and what was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub key: String,
    pub badge: Badge,
    pub person: String,
    /// Whether it can be stopped.
    pub is_open: bool,
    /// Whether the viewer can say the same once more.
    pub can_repeat: bool,
    /// How long it took, or has taken so far, in milliseconds.
    pub lasted: i64,
    pub asked: Vec<Said>,
    /// Its tree, from the top.
    pub rows: Vec<Row>,
    pub hidden: usize,
    /// The number of agents and of skill calls, the duration, tokens and cost.
    pub figures: Vec<String>,
    /// What it answered and asked.
    pub replies: Vec<Said>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Turn(Turn),
    /// A message outside of turns.
    Said(Box<Said>),
}

impl Entry {
    /// Its day, as the viewer reads it.
    pub(crate) fn day(&self) -> &str {
        let first = match self {
            Self::Turn(turn) => turn.asked.first().or(turn.replies.first()),
            Self::Said(said) => Some(&**said),
        };
        first.map_or("", |said| said.at.day.as_str())
    }
}

impl Turn {
    /// The same with at most this many rows.
    pub fn at_most(mut self, rows: usize) -> Self {
        self.hidden += self.rows.len().saturating_sub(rows);
        self.rows.truncate(rows);
        self
    }

    /// How many of its agents have ended, and how many there are.
    pub(crate) fn agents(&self) -> (usize, usize) {
        let agents = || self.rows.iter().filter(|row| row.kind == RowKind::Agent);
        let is_open = |row: &&Row| matches!(row.badge, Badge::Pending | Badge::Running | Badge::Waiting);
        let all = agents().count();
        (all - agents().filter(is_open).count(), all)
    }
}

/// A person's conversation over all channels, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    pub person: String,
    pub name: String,
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// Where the older ones begin, if there are any.
    pub older: Option<i64>,
    /// All channels, and the one that these entries are limited to; empty if they aren't.
    pub channels: Vec<String>,
    pub channel: String,
    /// How many seconds of speech a message may have; none if nobody would transcribe it.
    pub speech: Option<u64>,
}

/// What was asked and answered in one execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    pub turn: String,
    pub title: String,
    /// Each part's name and text.
    pub parts: Vec<(String, String)>,
}

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub key: String,
    pub browser: String,
    pub since: Moment,
    pub seen: Moment,
    pub notified: NotifyOf,
    /// Whether it began with a passkey, not with a link.
    pub by_passkey: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NotifyOf {
    #[default]
    Nothing,
    /// Questions that wait for its person.
    Questions,
    /// Those, answers to long requests, and what nobody asked for.
    News,
}

impl NotifyOf {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Questions => "questions",
            Self::News => "news",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        let all = [Self::Questions, Self::News];
        all.into_iter().find(|one| one.as_str() == name).unwrap_or_default()
    }
}

/// Where a browser's push service takes messages for it, and the keys to seal them with, in base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushAddress {
    pub endpoint: String,
    pub browser_key: String,
    pub auth: String,
}

/// A person, in the owners' list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonLine {
    /// Our id for them.
    pub person: String,
    pub name: String,
    /// Each `CHANNEL:USER-ID`, as the settings name them.
    pub accounts: Vec<String>,
    pub is_owner: bool,
    /// When they last asked for something.
    pub last: Moment,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Now {
    /// What waits for the viewer.
    pub questions: Vec<Asked>,
    /// How many of all questions only ask whether to go on beyond a day's budget.
    pub over_budget: usize,
    /// The other turns under way, with the name of the person.
    pub turns: Vec<(String, Turn)>,
    /// What the viewer was asked and is answered, the newest first.
    pub answered: Vec<Asked>,
    pub due: Vec<(Moment, String)>,
    /// Each channel's name and status.
    pub channels: Vec<(String, &'static str)>,
    /// Today's use against its budget: what, how much, of how much, and the share of it in percent.
    pub budgets: Vec<Budget>,
}

/// Today's use of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub name: String,
    pub used: String,
    /// How much there is, if it is limited, and the share that was used, in percent.
    pub limit: Option<(String, u8)>,
}

/// What can be done with a row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageAction {
    AddTask,
    EditTask,
    CompleteTask,
    ReopenTask,
    DeleteTask,
    PauseSchedule,
    ResumeSchedule,
    DeleteSchedule,
    EditMemory,
    DeleteMemory,
    /// Take a plan that isn't under way from the list.
    DeletePlan,
    /// Drop a plan that waits for its person.
    CancelPlan,
    Retry,
    Approve,
    EditRoom,
    EndRule,
    PauseWatch,
    ResumeWatch,
    StopWatch,
    /// Tell of email, perhaps from somebody, or do something with it.
    WatchMail,
    /// The same for meetings that begin soon.
    WatchMeetings,
}

/// What a button says, in our words.
type Label = fn() -> String;

impl PageAction {
    /// Each with its name, and with what its button says.
    const ALL: [(Self, &str, Label); 21] = [
        (Self::AddTask, "add-task", page_tables::add),
        (Self::EditTask, "edit-task", page_tables::edit),
        (Self::CompleteTask, "done", page_tables::complete),
        (Self::ReopenTask, "reopen", page_tables::reopen),
        (Self::DeleteTask, "task", page_tables::delete),
        (Self::PauseSchedule, "pause-schedule", page_tables::pause),
        (Self::ResumeSchedule, "resume-schedule", page_tables::resume),
        (Self::DeleteSchedule, "schedule", page_tables::delete),
        (Self::EditMemory, "edit-memory", page_tables::edit),
        (Self::DeleteMemory, "memory", page_tables::delete),
        (Self::DeletePlan, "plan", page_tables::delete),
        (Self::CancelPlan, "cancel-plan", page_tables::cancel),
        (Self::Retry, "retry", page_tables::send_again),
        (Self::Approve, "approve", page_tables::let_in),
        (Self::EditRoom, "edit-room", page_tables::edit),
        (Self::EndRule, "rule", page_tables::end),
        (Self::PauseWatch, "pause-watch", page_tables::pause),
        (Self::ResumeWatch, "resume-watch", page_tables::resume),
        (Self::StopWatch, "stop-watch", page_tables::stop),
        (Self::WatchMail, "watch-mail", page_tables::watch),
        (Self::WatchMeetings, "watch-meetings", page_tables::watch),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(act, ..)| *act == self).map_or("", |(_, name, _)| name)
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, other, _)| *other == name).map(|(act, ..)| *act)
    }

    pub fn label(self) -> String {
        Self::ALL.iter().find(|(act, ..)| *act == self).map_or_else(String::new, |(.., label)| label())
    }

    /// What of it can't be undone, which the reader is told before they do it.
    pub fn warning(self) -> Option<String> {
        match self {
            Self::DeleteMemory => Some(page_tables::memory_is_gone()),
            Self::DeletePlan => Some(page_tables::plan_is_gone()),
            Self::CancelPlan => Some(page_tables::plan_ends()),
            Self::EndRule => Some(page_tables::rule_ends()),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    pub title: String,
    /// What stands there instead of an empty table.
    pub empty: String,
    pub columns: Vec<String>,
    pub rows: Vec<TableRow>,
    /// What a field above it does with what is typed there, and the field's name.
    pub field: Option<(PageAction, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    Text(String),
    Time(Moment),
    /// A text that leads to another of our pages.
    Link(String, String),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Moment> for Cell {
    fn from(at: Moment) -> Self {
        Self::Time(at)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub at: Moment,
    /// `ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`.
    pub level: &'static str,
    /// Where in the program, what, and the details.
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableRow {
    pub cells: Vec<Cell>,
    /// What can be done with it, each with the key that names it. The last one stays the same, and names the row.
    pub acts: Vec<(PageAction, String)>,
    pub edit: Option<Edit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub act: PageAction,
    /// Names what is changed.
    pub key: String,
    pub fields: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub tokens: i64,
    pub nano_usd: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageDay {
    /// The day, as `2026-11-21`.
    pub day: String,
    /// What each of [`Usage::people`] spent, and all others.
    pub parts: Vec<Spent>,
}

/// What one person, role, model or skill used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageLine {
    /// `person`, `role`, `model` or `skill`.
    pub of: &'static str,
    pub name: String,
    pub calls: u64,
    /// Tokens; none for a skill.
    pub tokens: u64,
    pub usd: f64,
}

/// What a skill asked people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionLine {
    pub name: String,
    pub asked: u64,
    pub yes: u64,
    pub no: u64,
    pub expired: u64,
    /// The median time until an answer, in words; empty without one.
    pub median: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// Each day, the oldest first.
    pub days: Vec<UsageDay>,
    /// Those who spent most, for owners.
    pub people: Vec<String>,
    /// By person, role, model and skill, for owners.
    pub lines: Vec<UsageLine>,
    /// What each skill asked, the one that asks most first, for owners.
    pub questions: Vec<QuestionLine>,
}
