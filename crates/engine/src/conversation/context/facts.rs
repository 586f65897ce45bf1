//! What is true of one turn alone: the person's tasks, events and schedules, what works in the background, what is
//! remembered, why the turn runs, and the time.

use std::collections::BTreeSet;
use std::fmt::Write;

use adjutant_skills::builtin;
use adjutant_store::StoreError;
use adjutant_store::context::{ActiveSchedule, ContextData, OpenTask};
use adjutant_store::executions;
use adjutant_store::memories::MemoryRow;
use adjutant_store::objects::ObjectRow;
use adjutant_store::turns::TurnRow;
use adjutant_store::watches::TurnItems;
use adjutant_turn::journal::TurnContext;
use adjutant_types::clock::recurring::CronRule;
use adjutant_types::clock::span::Span;
use adjutant_types::clock::{self, utc};
use adjutant_types::text::one_line;
use adjutant_types::{NOTHING_TO_TELL, PromptText, Taint, TurnStatus};
use chrono_tz::Tz;

use crate::conversation::commands::short;

/// The most that are shown.
pub(super) const TASKS: i64 = 15;
pub(super) const PREFERENCES: i64 = 12;
/// How much is shown of preferences, and of what the message finds, in bytes.
const REMEMBERED: usize = 1000;
const SCHEDULES: usize = 5;
const EVENTS: usize = 8;
/// How much of marked tasks is shown, in bytes: about eight.
const MARKED: usize = 450;
/// The skills for files, which the catalogue doesn't list.
const FILES: &str = "Files that were sent: files.list(); files.read(id, from?) reads on, files.read(id, entry) a file inside \
    of an archive or a mail";

/// From when to when the person's day is, in milliseconds.
pub(super) fn today(ctx: &TurnContext) -> (i64, i64) {
    let zone = ctx.turn.zone;
    let day = Span::day(utc(ctx.store.now()).with_timezone(&zone).date_naive()).instants(zone);
    day.map_or((0, 0), |(from, to)| (from.timestamp_millis(), to.timestamp_millis()))
}

/// The open tasks that are marked, in a block, and their sources; none if there are none, or where others read along.
pub(super) fn marked_tasks(ctx: &TurnContext, tasks: &[OpenTask]) -> Option<(PromptText, Taint)> {
    let marked: Vec<&OpenTask> = tasks.iter().filter(|task| task.outside.is_some()).collect();
    if marked.is_empty() || ctx.turn.conversation.shared {
        return None;
    }
    let (mut lines, mut taint, mut count) = (String::new(), Taint::default(), 0);
    for task in &marked {
        let line = task_line(&OpenTask { title: one_line(&task.title, 50), ..(*task).clone() });
        if count > 0 && lines.len() + line.len() > MARKED {
            break;
        }
        lines.push_str(&line);
        task.outside.iter().for_each(|sources| taint.add(sources));
        count += 1;
    }
    let text = PromptText::outside(&ctx.turn.conversation.id, &taint, lines.trim_start());
    let heading = match count == marked.len() {
        true => PromptText::from("More open tasks:\n"),
        false => {
            PromptText::system(format_args!("More open tasks (the first {count}; tasks.search has all):\n"))
        }
    };
    Some((heading.with(text), taint))
}

/// What a watch's turn is told beside what came in.
pub(super) fn of_watch(ctx: &TurnContext, found: &TurnItems) -> PromptText {
    let watch = found.watch.as_ref().map(|watch| format!(" [{}]", watch.id)).unwrap_or_default();
    PromptText::system(format_args!(
        "This turn: watch{watch}. Nobody is waiting. Do what the person's words say with what came in. If there is \
         nothing to tell, answer exactly: {NOTHING_TO_TELL}\n{}",
        ctx.now_line()
    ))
}

pub(super) struct Facts<'a> {
    pub(super) ctx: &'a TurnContext,
    pub(super) turn: &'a TurnRow,
    pub(super) data: &'a ContextData,
    /// The person's other open turns here.
    pub(super) open: &'a [TurnRow],
    /// What may be on today, and when that is; none if the person's calendar isn't in the store, or where others read along.
    pub(super) events: Option<(Vec<ObjectRow>, (i64, i64))>,
    /// Whether marked tasks are shown in a message of their own.
    pub(super) shows_marked: bool,
    /// Whether a file lies in the conversation.
    pub(super) has_files: bool,
}

impl Facts<'_> {
    /// All of it, the time last. `preferences` hold for every message; `found` are the memories that this one finds.
    pub(super) async fn about(
        &self,
        preferences: Vec<MemoryRow>,
        found: Vec<MemoryRow>,
    ) -> Result<PromptText, StoreError> {
        let mut parts = Vec::new();
        // A to-do list is private: it isn't shown where others read along.
        if !self.ctx.turn.conversation.shared {
            parts.extend(self.tasks());
            parts.extend(self.events.iter().flat_map(|(rows, day)| self.agenda(rows, *day)));
            parts.push(self.scheduled());
            parts.push(self.background().await?);
        }
        parts.extend(self.remembered(preferences, found));
        if self.has_files {
            parts.push(FILES.into());
        }
        if self.ctx.turn.is_scheduled {
            parts.push(self.run());
        }
        if !self.ctx.turn.is_addressed {
            parts.push(PromptText::system(format_args!(
                "This turn: people in this room write to each other; nobody spoke to you. Unless you are \
                 clearly needed, answer exactly: {NOTHING_TO_TELL}"
            )));
        }
        parts.push(self.now());
        Ok(PromptText::lines(parts.into_iter().filter(|part| !part.is_empty())))
    }

    /// The time, and how to set the clock of somebody whose time zone nobody has named.
    fn now(&self) -> PromptText {
        let turn = &self.ctx.turn;
        let is_set = turn.person.timezone.is_some() || !turn.zone.name().ends_with("UTC");
        let hint = match is_set || turn.conversation.shared || turn.is_scheduled {
            true => "",
            false => " (not set: assistant.clock(timezone))",
        };
        PromptText::system(self.ctx.now_line() + hint)
    }

    /// Whether something is the person's own. Text from outside is read on purpose, by a skill that marks it.
    fn is_own(&self, domain: &str, key: &str) -> bool {
        !self.data.outside.contains(&(domain.to_owned(), key.to_owned()))
    }

    fn tasks(&self) -> [PromptText; 2] {
        let most = usize::try_from(TASKS).unwrap_or_default();
        let all = &self.data.tasks;
        let own: Vec<String> = all.iter().filter(|task| task.outside.is_none()).map(task_line).collect();
        let shown = &own[..own.len().min(most)];
        // Those with text from outside are another list.
        let whose = if own.len() == all.len() { "" } else { " without text from outside" };
        let heading = match (all.len() <= most, shown.len()) {
            (true, 0) => format!("Open tasks{whose}: none"),
            (true, count) => format!("Open tasks{whose} (all {count}):"),
            (false, count) => format!("Open tasks (the first {count}; tasks.search has all):"),
        };
        let unseen = if self.shows_marked { 0 } else { all.len() - own.len() };
        [
            PromptText::own(heading + &shown.concat()),
            left_out(unseen, ("open task", "open tasks"), "tasks.search"),
        ]
    }

    fn agenda(&self, rows: &[ObjectRow], day: (i64, i64)) -> [PromptText; 2] {
        let (own, marked): (Vec<_>, Vec<_>) =
            rows.iter().partition(|event| self.is_own("calendar", &event.id));
        let lines = |events: Vec<&ObjectRow>| {
            let texts: Vec<&str> = events.into_iter().map(|event| event.text.as_str()).collect();
            builtin::agenda(&texts, day, self.ctx.turn.zone)
        };
        let (own, unseen) = (lines(own), lines(marked).len());
        let count = own.len().min(EVENTS);
        let heading = match own.len() {
            0 => "Events today: none".to_owned(),
            all if all == count => format!("Events today (all {all}):"),
            all => format!("Events today (the first {count} of {all}; calendar.list_events has all):"),
        };
        let lines: String = own[..count].iter().map(|line| format!("\n{line}")).collect();
        [
            PromptText::own(heading + &lines),
            left_out(unseen, ("event today", "events today"), "calendar.list_events"),
        ]
    }

    fn scheduled(&self) -> PromptText {
        let own = self.data.schedules.iter().filter(|row| self.is_own("schedule", &row.id));
        let lines: Vec<String> =
            own.map(|row| format!("\n- {} {} [{}]", line(&row.text), spoken(row), row.id)).collect();
        let rest = match lines.len() {
            0 => return PromptText::default(),
            all if all > SCHEDULES => format!(" (the next {SCHEDULES} of {all}; schedule.list has all)"),
            _ => String::new(),
        };
        let shown = &lines[..lines.len().min(SCHEDULES)];
        let calls = "\nschedule.pause(id, paused?), schedule.delete(id)";
        PromptText::own(format_args!("Scheduled{rest}:{}{calls}", shown.concat()))
    }

    async fn background(&self) -> Result<PromptText, StoreError> {
        let zone = self.ctx.turn.zone;
        let mut lines = String::new();
        for turn in self.open.iter().filter(|turn| turn.background != 0) {
            let rows = executions::of_turn(&self.ctx.store, &turn.id).await?;
            let skills: Vec<&str> = rows.iter().filter_map(|row| row.skill.as_deref()).collect();
            let calls = match skills.len() {
                1 => "1 call".to_owned(),
                many => format!("{many} calls"),
            };
            let last = skills.last().map(|skill| format!(", last {skill}")).unwrap_or_default();
            let waits = if turn.status == TurnStatus::Waiting { ", waits for the person" } else { "" };
            let task = match turn.text_taint.is_clean() {
                true => line(turn.text.trim_start_matches("/spawn")),
                false => "(a message with text from outside)".to_owned(),
            };
            let days = [turn.started_at, self.ctx.store.now()].map(|at| clock::local_day(at, zone));
            let form = if days[0] == days[1] { "%H:%M" } else { "%a %-d %b %H:%M" };
            let since = utc(turn.started_at).with_timezone(&zone).format(form);
            let _ = write!(lines, "\n- {task} (since {since}, {calls}{last}{waits}) [{}]", short(&turn.id));
        }
        Ok(under("In the background", &lines))
    }

    fn remembered(&self, preferences: Vec<MemoryRow>, found: Vec<MemoryRow>) -> [PromptText; 3] {
        let (mut seen, mut unseen) = (BTreeSet::new(), 0);
        let mut lines = |memories: Vec<MemoryRow>| {
            let mut lines = String::new();
            for memory in memories {
                let day = utc(memory.created_at).with_timezone(&self.ctx.turn.zone).format("%-d %b %Y");
                let told = format!("\n- {} [{}] ({day})", line(&memory.text), memory.id);
                let is_own = self.is_own("memory", &memory.id);
                let fits = !is_own || lines.len() + told.len() <= REMEMBERED;
                match (fits && seen.insert(memory.id), is_own) {
                    (false, _) => {}
                    (true, false) => unseen += 1,
                    (true, true) => lines.push_str(&told),
                }
            }
            lines
        };
        let (always, found) = (lines(preferences), lines(found));
        let marked = left_out(unseen, ("memory", "memories"), "memory.search");
        [under("Always", &always), under("You remember", &found), marked]
    }

    /// That nobody wrote the message, but a schedule. It may end silently only if its text is the person's.
    fn run(&self) -> PromptText {
        let is_its = |row: &&ActiveSchedule| self.turn.answers.contains(&format!("schedule:{}:", row.id));
        let schedule = self.data.schedules.iter().find(is_its);
        let schedule = schedule.map(|row| format!(" [{}], {}", row.id, spoken(row))).unwrap_or_default();
        let silence = match self.ctx.trust.own_text {
            Some(_) => format!(" If there is nothing to tell, answer exactly: {NOTHING_TO_TELL}"),
            None => String::new(),
        };
        PromptText::system(format_args!("This turn: scheduled{schedule}. Nobody is waiting.{silence}"))
    }
}

fn under(heading: &str, lines: &str) -> PromptText {
    match lines.is_empty() {
        true => PromptText::default(),
        false => PromptText::own(format_args!("{heading}:{lines}")),
    }
}

/// How many things aren't shown, because others have written some of their text.
fn left_out(count: usize, (one, many): (&str, &str), skill: &str) -> PromptText {
    match count {
        0 => PromptText::default(),
        1 => PromptText::system(format_args!("1 more {one} holds text from outside; {skill} shows it")),
        _ => {
            PromptText::system(format_args!("{count} more {many} hold text from outside; {skill} shows them"))
        }
    }
}

fn task_line(task: &OpenTask) -> String {
    let due = task.due.as_ref().map(|due| format!(" (due {due})")).unwrap_or_default();
    format!("\n- [{}] {}{due}", task.id, line(&task.title))
}

fn spoken(row: &ActiveSchedule) -> String {
    let zone = row.zone.parse().unwrap_or(Tz::UTC);
    CronRule::parse(&row.rule, zone).map_or_else(|_| row.rule.clone(), |rule| rule.spoken())
}

fn line(text: &str) -> String {
    one_line(text, 200)
}
