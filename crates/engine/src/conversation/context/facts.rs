//! What stays from turn to turn, the person's preferences; and what is true of one turn alone: their tasks, events and
//! schedules, what works in the background, what is remembered, why the turn runs, and the time.

use std::collections::BTreeSet;
use std::fmt::Write;

use adjutant_skills::builtin;
use adjutant_store::context::{ActiveSchedule, ContextData, OpenTask};
use adjutant_store::memories::MemoryRow;
use adjutant_store::objects::ObjectRow;
use adjutant_store::turns::TurnRow;
use adjutant_store::watches::TurnItems;
use adjutant_store::{Result, executions};
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
/// How much is shown of all lists together, in bytes: with the stable prefix, a turn's first request has 8 KB. Preferences
/// go first, since nobody looks for a wish they don't know of; they have three quarters, and leave the rest to the others.
const ROOM: usize = 1210;
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
    let rest = match count == marked.len() {
        true => String::new(),
        false => format!(" (the first {count}; tasks.search has all)"),
    };
    Some((PromptText::system(format_args!("More open tasks{rest}:\n")).with(text), taint))
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
    pub(super) open: &'a [TurnRow],
    /// What may be on today, and when that is; none if the person's calendar isn't in the store, or where others read along.
    pub(super) events: Option<(Vec<ObjectRow>, (i64, i64))>,
    /// Whether marked tasks are shown in a message of their own.
    pub(super) shows_marked: bool,
    /// Whether a file lies in the conversation.
    pub(super) has_files: bool,
}

impl Facts<'_> {
    /// What stays from turn to turn, and what is true of this turn alone, the time last. `preferences` hold for every
    /// message; `found` are the memories that this one finds.
    pub(super) async fn told(
        &self,
        preferences: Vec<MemoryRow>,
        found: Vec<MemoryRow>,
    ) -> Result<[PromptText; 2]> {
        // A to-do list is private: it isn't shown where others read along.
        let is_private = !self.ctx.turn.conversation.shared;
        let (mut schedules, mut tasks) =
            if is_private { (self.schedules(), self.tasks()) } else { Default::default() };
        let (mut events, marked_events) = self.agenda();
        let (mut always, mut remembered) = (self.memories(&preferences), self.memories(&found));
        let all = [schedules.len(), events.len(), always.len()];
        schedules.truncate(SCHEDULES);
        events.truncate(EVENTS);
        let room = ROOM / 4 + fit([&mut always], ROOM * 3 / 4);
        remembered.retain(|line| !always.contains(line));
        fit([&mut tasks, &mut events, &mut schedules, &mut remembered], room);

        let heading = if always.len() < all[2] { "Always (memory.list has all)" } else { "Always" };
        let lasting = under(heading, &always.concat());
        let mut parts = Vec::new();
        if is_private {
            parts.extend(self.open_tasks(&tasks));
            if self.events.is_some() {
                parts.push(listed("Events today", &events, all[1], "calendar.list_events"));
                parts.push(left_out(marked_events, ("event today", "events today"), "calendar.list_events"));
            }
            if all[0] > 0 {
                let calls =
                    "\nschedule.update(id, when?, text?), schedule.pause(id, paused?), schedule.delete(id)";
                parts.push(listed("Scheduled", &schedules, all[0], "schedule.list").with(calls));
            }
            let marked = self.data.schedules.len() - all[0];
            parts.push(left_out(marked, ("schedule", "schedules"), "schedule.list"));
            parts.push(self.background().await?);
        }
        parts.push(under("You remember", &remembered.concat()));
        let ids = preferences.iter().chain(&found).map(|memory| &memory.id);
        let marked: BTreeSet<_> = ids.filter(|id| !self.is_own("memory", id)).collect();
        parts.push(left_out(marked.len(), ("memory", "memories"), "memory.search"));
        parts.extend(self.has_files.then(|| PromptText::from(FILES)));
        parts.extend(self.ctx.turn.is_scheduled.then(|| self.run()));
        if !self.ctx.turn.is_addressed {
            parts.push(PromptText::system(format_args!(
                "This turn: people in this room write to each other; nobody spoke to you. Unless you are \
                 clearly needed, answer exactly: {NOTHING_TO_TELL}"
            )));
        }
        parts.push(self.now());
        Ok([lasting, PromptText::lines(parts.into_iter().filter(|part| !part.is_empty()))])
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

    fn tasks(&self) -> Vec<String> {
        self.data.tasks.iter().filter(|task| task.outside.is_none()).map(task_line).collect()
    }

    fn open_tasks(&self, shown: &[String]) -> [PromptText; 2] {
        let all = &self.data.tasks;
        let own = all.iter().filter(|task| task.outside.is_none()).count();
        // Those with text from outside are another list.
        let whose = if own == all.len() { "" } else { " without text from outside" };
        let count = self.data.open_tasks;
        let is_whole = count == all.len() && shown.len() == own;
        let heading = match (is_whole, shown.len()) {
            (true, 0) => format!("Open tasks{whose}: none"),
            (true, shown) => format!("Open tasks{whose} (all {shown}):"),
            (false, shown) => format!("Open tasks (the first {shown} of {count}; tasks.search has all):"),
        };
        let unseen = if self.shows_marked { 0 } else { all.len() - own };
        [
            PromptText::own(heading + &shown.concat()),
            left_out(unseen, ("open task", "open tasks"), "tasks.search"),
        ]
    }

    /// Today's events, and how many more hold text from outside.
    fn agenda(&self) -> (Vec<String>, usize) {
        let Some((rows, day)) = &self.events else { return Default::default() };
        let (own, marked): (Vec<_>, Vec<_>) =
            rows.iter().partition(|event| self.is_own("calendar", &event.id));
        let lines = |events: Vec<&ObjectRow>| -> Vec<String> {
            let texts: Vec<&str> = events.into_iter().map(|event| event.text.as_str()).collect();
            let lines = builtin::agenda(&texts, *day, self.ctx.turn.zone);
            lines.iter().map(|line| format!("\n{line}")).collect()
        };
        (lines(own), lines(marked).len())
    }

    fn schedules(&self) -> Vec<String> {
        let own = self.data.schedules.iter().filter(|row| self.is_own("schedule", &row.id));
        own.map(|row| format!("\n- {} {} [{}]", one_line(&row.text, 100), spoken(row), row.id)).collect()
    }

    async fn background(&self) -> Result<PromptText> {
        let zone = self.ctx.turn.zone;
        let mut lines = String::new();
        for turn in self.open.iter().filter(|turn| turn.background != 0) {
            let rows = executions::of_turn(&self.ctx.store, &turn.id).await?;
            let skills: Vec<&str> = rows.iter().filter_map(|row| row.skill.as_deref()).collect();
            let calls = format!("{} call{}", skills.len(), if skills.len() == 1 { "" } else { "s" });
            let last = skills.last().map(|skill| format!(", last {skill}")).unwrap_or_default();
            let waits = if turn.status == TurnStatus::Waiting { ", waits for the person" } else { "" };
            let task = match turn.text_taint.is_clean() {
                true => one_line(turn.text.trim_start_matches("/spawn"), 200),
                false => "(a message with text from outside)".to_owned(),
            };
            let days = [turn.started_at, self.ctx.store.now()].map(|at| clock::local_day(at, zone));
            let form = if days[0] == days[1] { "%H:%M" } else { "%a %-d %b %H:%M" };
            let since = utc(turn.started_at).with_timezone(&zone).format(form);
            let _ = write!(lines, "\n- {task} (since {since}, {calls}{last}{waits}) [{}]", short(&turn.id));
        }
        Ok(under("In the background", &lines))
    }

    /// A line for each memory that nobody else has written some of.
    fn memories(&self, rows: &[MemoryRow]) -> Vec<String> {
        let told = |memory: &MemoryRow| {
            let day = utc(memory.created_at).with_timezone(&self.ctx.turn.zone).format("%-d %b %Y");
            format!("\n- {} [{}] ({day})", one_line(&memory.text, 200), memory.id)
        };
        rows.iter().filter(|memory| self.is_own("memory", &memory.id)).map(told).collect()
    }

    /// That nobody wrote the message, but a schedule. It may end silently only if its text is the person's.
    fn run(&self) -> PromptText {
        let is_its = |row: &&ActiveSchedule| self.turn.answers.contains(&format!("schedule:{}:", row.id));
        let row = self.data.schedules.iter().find(is_its);
        let schedule = row.map(|row| format!(" [{}], {}", row.id, spoken(row))).unwrap_or_default();
        let silence = format!("If there is nothing to tell, answer exactly: {NOTHING_TO_TELL}");
        let end = if row.is_some_and(|row| row.tells) { "Always tell something." } else { silence.as_str() };
        let end = self.ctx.trust.own_text.as_ref().map(|_| format!(" Tell a reminder. {end}"));
        let end = end.unwrap_or_default();
        PromptText::system(format_args!("This turn: scheduled{schedule}. Nobody is waiting.{end}"))
    }
}

/// Cuts lists until there is room for all, the shortest first: what it leaves is the others'. Returns what is left.
fn fit<const N: usize>(mut lists: [&mut Vec<String>; N], mut room: usize) -> usize {
    let size = |lines: &[String]| lines.iter().map(String::len).sum::<usize>();
    lists.sort_by_key(|lines| size(lines));
    for (done, lines) in lists.into_iter().enumerate() {
        while size(lines) > room / (N - done) {
            lines.pop();
        }
        room -= size(lines);
    }
    room
}

fn listed(what: &str, shown: &[String], all: usize, skill: &str) -> PromptText {
    let heading = match shown.len() {
        _ if all == 0 => format!("{what}: none"),
        count if count == all => format!("{what} (all {all}):"),
        count => format!("{what} (the first {count} of {all}; {skill} has all):"),
    };
    PromptText::own(heading + &shown.concat())
}

fn under(heading: &str, lines: &str) -> PromptText {
    if lines.is_empty() { PromptText::default() } else { PromptText::own(format_args!("{heading}:{lines}")) }
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
    let mut line = format!("\n- [{}] {}{due}", task.id, one_line(&task.title, 100));
    line.extend(task.tags.iter().map(|tag| format!(" #{}", one_line(tag, 30))));
    line
}

fn spoken(row: &ActiveSchedule) -> String {
    let zone = row.zone.parse().unwrap_or(Tz::UTC);
    CronRule::parse(&row.rule, zone).map_or_else(|_| row.rule.clone(), |rule| rule.spoken())
}
