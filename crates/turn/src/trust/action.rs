//! What a call does, and to what.

use adjutant_types::words;

words! {
    /// A kind of effect, by the name that the clean room uses for it.
    ActionKind {
        /// Adds a task or a reminder.
        TaskCreate = "task.create",
        TaskChange = "task.change",
        TaskDelete = "task.delete",
        /// Adds an event, perhaps with guests.
        EventCreate = "event.create",
        EventChange = "event.change",
        EventDelete = "event.delete",
        MailSend = "mail.send",
        MailReply = "mail.reply",
        MailForward = "mail.forward",
        MailDraft = "mail.draft",
        /// Moves or marks an email.
        MailSort = "mail.sort",
        /// Adds a contact.
        ContactCreate = "contact.create",
        ContactChange = "contact.change",
        MemorySave = "memory.save",
        MemoryForget = "memory.forget",
        /// Starts something that happens again and again.
        ScheduleCreate = "schedule.create",
        /// Changes, pauses or resumes it.
        ScheduleChange = "schedule.change",
        ScheduleDelete = "schedule.delete",
        WatchCreate = "watch.create",
        /// Pauses, resumes or ends a watch.
        WatchChange = "watch.change",
        NoteWrite = "note.write",
        /// Posts into a room or to a person.
        PostSend = "post.send",
        /// Opens a page, or asks a service about an address.
        PageOpen = "page.open",
        WebSearch = "web.search",
        /// Asks a connected service.
        ToolRead = "tool.read",
        /// Takes back what was done.
        Undo = "undo",
        /// Starts a workflow or a plan.
        WorkflowRun = "workflow.run",
        /// Anything that a connected service or a program does.
        ToolUse = "tool.use",
    }
}

/// How far an effect goes, and whether it can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It changes the person's own things, and `/undo` takes it back.
    Own,
    /// It changes the person's own things for long, or for good.
    Lasting,
    /// Somebody else gets something, inside or outside.
    Leaves,
    /// Looking something up tells others what is looked for.
    Reads,
}

impl ActionKind {
    /// Whether a wish for this kind is a wish for `effect`, too. "Remind me" may be a task, an event or a schedule, and
    /// "move the second one" doesn't say whether that is a task or an event: where `/undo` takes it back, each will do.
    fn asks_for(self, effect: Self) -> bool {
        use ActionKind::*;
        match effect {
            TaskCreate => matches!(self, TaskCreate | EventCreate | ScheduleCreate | NoteWrite | MemorySave),
            EventCreate => matches!(self, EventCreate | TaskCreate | ScheduleCreate),
            NoteWrite => matches!(self, NoteWrite | TaskCreate | MemorySave),
            MailDraft => matches!(self, MailDraft | MailSend | MailReply),
            TaskChange | EventChange => matches!(self, TaskChange | EventChange),
            TaskDelete | EventDelete | ScheduleChange | ScheduleDelete => {
                matches!(self, TaskDelete | EventDelete | ScheduleChange | ScheduleDelete)
            }
            WatchChange => matches!(self, WatchChange | ScheduleChange | ScheduleDelete),
            MailSend | MailReply => matches!(self, MailSend | MailReply),
            other => self == other,
        }
    }

    fn reach(self) -> Reach {
        use ActionKind::*;
        match self {
            TaskCreate | TaskChange | EventCreate | EventChange | MailDraft | MailSort | ContactCreate
            | ContactChange | NoteWrite => Reach::Own,
            TaskDelete | EventDelete | MemorySave | MemoryForget | ScheduleCreate | ScheduleChange
            | ScheduleDelete | WatchCreate | WatchChange | Undo => Reach::Lasting,
            MailSend | MailReply | MailForward | PostSend | WorkflowRun | ToolUse => Reach::Leaves,
            PageOpen | WebSearch | ToolRead => Reach::Reads,
        }
    }
}

/// A thing that exists, as a call names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thing {
    /// What it is called in labels: `mail`, `event`, `task`, `file`.
    pub noun: &'static str,
    /// Its id, as results name it.
    pub id: String,
    /// Its title. Whoever wrote it can't make the person's words mean something else with it: another thing that fits
    /// them only adds a candidate, and two candidates ask.
    pub title: String,
    /// Whether other people are notified of its changes: the guests of an event.
    pub is_shared: bool,
}

/// What an effect acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Somebody who gets something.
    Recipient {
        address: String,
        /// The names that only the person's own contacts, or an address of the own domain, know it by.
        names: Vec<String>,
        /// The parts of its name that exactly one other contact has, too.
        shared_names: Vec<String>,
        /// The email whose answers go to exactly this address.
        answers: Option<Thing>,
    },
    Thing(Thing),
    /// A text that is stored for long: it must say what the person said.
    Text(String),
    /// An address, a number or a file that the person must have typed, or pointed at.
    Typed(String),
    /// When a schedule runs: as the call says it, and as a cron pattern.
    Time(String, String),
    /// A schedule's run says nothing if it finds nothing.
    Silence,
    /// A page.
    Url(String),
    /// What is looked for.
    Query(String),
    /// A workflow, a room, a service: the person must have named it.
    Named(String),
    /// What was done before the last change, which "undo that" doesn't mean.
    Earlier(String),
    /// A watch of the person's own words tells them something, and `/undo` ends it.
    Tells,
    /// Something that always needs a question, with the reason.
    Always(String),
}

impl Target {
    /// Whether both are one person or one thing.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Recipient { address, .. }, Self::Recipient { address: other, .. }) => {
                address.eq_ignore_ascii_case(other)
            }
            (Self::Thing(thing), Self::Thing(other)) => (thing.noun, &thing.id) == (other.noun, &other.id),
            _ => false,
        }
    }

    /// A mail address that nothing but itself names.
    pub fn address(address: &str) -> Self {
        let address = address.to_owned();
        Self::Recipient { address, names: Vec::new(), shared_names: Vec::new(), answers: None }
    }
}

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    pub kind: ActionKind,
    pub targets: Vec<Target>,
}

impl Action {
    /// How far it goes: whoever has guests or new addresses in it goes further than its kind.
    pub fn reach(&self) -> Reach {
        let has = |is: fn(&Target) -> bool| self.targets.iter().any(is);
        let tells = has(|target| match target {
            Target::Recipient { .. } => true,
            Target::Thing(thing) => thing.is_shared,
            _ => false,
        });
        match self.kind.reach() {
            // A draft stays in the person's own mailbox.
            Reach::Own if tells && self.kind != ActionKind::MailDraft => Reach::Leaves,
            Reach::Own if has(|target| matches!(target, Target::Typed(_) | Target::Always(_))) => {
                Reach::Lasting
            }
            Reach::Lasting if has(|target| matches!(target, Target::Tells)) => Reach::Own,
            reach => reach,
        }
    }

    /// How many things it makes, changes or deletes.
    pub fn things(&self) -> usize {
        self.targets.iter().filter(|target| matches!(target, Target::Thing(_))).count().max(1)
    }

    pub fn is_asked_for_by(&self, wished: ActionKind) -> bool {
        wished.asks_for(self.kind)
    }
}
