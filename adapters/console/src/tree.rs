//! The live tree of agents, on stderr, while a turn runs; on a stderr that is no terminal a plain line
//! for each change.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use adjutant_chat::{AgentProgress, Progress, sanitized};
use adjutant_l10n::terminal;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use unicode_width::UnicodeWidthChar;

use crate::input::PROMPT;

/// One agent's line, before it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Identifies the line from one state to the next.
    pub(crate) key: String,
    pub(crate) depth: usize,
    pub(crate) status: RowStatus,
    pub(crate) text: String,
    /// Since its start; nothing before it.
    pub(crate) elapsed: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowStatus {
    Waiting,
    Running,
    Done,
    Partly,
    Failed,
}

impl RowStatus {
    fn of(status: &str) -> Self {
        match status {
            "pending" | "queued" | "waiting" => Self::Waiting,
            "completed" => Self::Done,
            "partial" | "unknown" => Self::Partly,
            "failed" | "timeout" | "skipped" | "cancelled" | "dead" => Self::Failed,
            _ => Self::Running,
        }
    }

    /// Its sign and its colour.
    fn look(self) -> (&'static str, &'static str) {
        match self {
            Self::Waiting => ("◦", "dim"),
            Self::Running => ("›", "cyan"),
            Self::Done => ("✓", "green"),
            Self::Partly => ("~", "yellow"),
            Self::Failed => ("✗", "red"),
        }
    }
}

/// The tree as rows: the orchestrator's step on top, each agent below what it waits for.
pub(crate) fn rows(progress: &Progress) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(step) = &progress.step {
        let text = format!("{}…", one_line(step));
        rows.push(Row { key: String::new(), depth: 0, status: RowStatus::Running, text, elapsed: None });
    }
    let agents = &progress.agents;
    let mut shown = vec![false; agents.len()];
    // Depth first from those without a known dependency; a ring, which can't be, is shown flat.
    let first = (0..agents.len()).filter(|start| parent(agents, *start).is_none());
    for start in first.chain(0..agents.len()) {
        branch(agents, start, 1, &mut shown, &mut rows);
    }
    rows
}

/// The agent below which one is drawn: the last of those it waits for.
fn parent(agents: &[AgentProgress], of: usize) -> Option<usize> {
    let names = &agents[of].depends_on;
    names.iter().rev().find_map(|name| agents.iter().position(|agent| agent.agent_id == *name))
}

fn branch(agents: &[AgentProgress], start: usize, depth: usize, shown: &mut [bool], rows: &mut Vec<Row>) {
    // A stack of our own: a chain of agents may be long.
    let mut stack = vec![(start, depth)];
    while let Some((at, depth)) = stack.pop() {
        if std::mem::replace(&mut shown[at], true) {
            continue;
        }
        rows.push(row(&agents[at], depth));
        let children = (0..agents.len()).rev().filter(|child| parent(agents, *child) == Some(at));
        stack.extend(children.map(|child| (child, depth + 1)));
    }
}

fn row(agent: &AgentProgress, depth: usize) -> Row {
    let status = RowStatus::of(&agent.status);
    let note = match (&agent.skill, status) {
        (_, RowStatus::Waiting) if agent.status == "waiting" => Some(terminal::waits_for_you()),
        (_, RowStatus::Waiting) if !agent.depends_on.is_empty() => {
            Some(terminal::after(agent.depends_on.join(", ")))
        }
        (Some(skill), RowStatus::Running) => Some(skill.clone()),
        (_, RowStatus::Failed | RowStatus::Partly) => Some(agent.status.clone()),
        _ => None,
    };
    let mut text = one_line(&agent.agent_id);
    // In front of the mission, because the end of a line is what gets cut.
    text.extend(note.map(|note| format!(" [{}]", one_line(&note))));
    if !agent.mission.is_empty() {
        text.push_str(&format!("  {}", one_line(&agent.mission)));
    }
    let elapsed = (agent.elapsed_ms > 0).then(|| Duration::from_millis(agent.elapsed_ms));
    Row { key: agent.agent_id.clone(), depth: depth.min(8), status, text, elapsed }
}

fn one_line(text: &str) -> String {
    sanitized(text).split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

/// What changed since the last state, a line for each change.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    known: HashMap<String, String>,
}

impl Changes {
    pub(crate) fn lines(&mut self, progress: &Progress) -> Vec<String> {
        let mut lines = Vec::new();
        for agent in &progress.agents {
            let before = self.known.insert(agent.agent_id.clone(), agent.status.clone());
            if before.as_ref() != Some(&agent.status) {
                let sign = RowStatus::of(&agent.status).look().0;
                let (id, status) = (one_line(&agent.agent_id), one_line(&agent.status));
                lines.push(format!("{sign} {id} {status}: {}", one_line(&agent.mission)));
            }
        }
        if progress.step.is_none() {
            self.known.clear();
        }
        lines
    }
}

/// Where progress is shown.
pub(crate) enum Tree {
    Off,
    /// Drawn on a terminal and cleared again.
    Live(Live),
    Plain(Box<dyn Write + Send>, Changes),
}

impl Tree {
    /// On this process's stderr, as it allows.
    pub(crate) fn of_stderr(colour: bool) -> Self {
        use std::io::IsTerminal;
        if std::io::stderr().is_terminal() {
            Self::Live(Live::new(ProgressDrawTarget::stderr(), colour))
        } else {
            Self::Plain(Box::new(std::io::stderr()), Changes::default())
        }
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        match self {
            Self::Off => {}
            Self::Live(live) => live.show(progress),
            Self::Plain(out, changes) => {
                let lines: String = changes.lines(progress).iter().map(|line| format!("{line}\n")).collect();
                // Best effort: without a stderr there is nobody to tell.
                let _ = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
            }
        }
    }

    /// Shows what of an answer is written, below the tree.
    pub(crate) fn draft(&mut self, text: &str) {
        if let Self::Live(live) = self {
            live.draft = text.lines().map(str::to_owned).collect();
            live.draw_draft();
        }
    }

    /// Shows what a person is typing, below the tree.
    pub(crate) fn typing(&mut self, text: &str) {
        if let Self::Live(live) = self {
            text.clone_into(&mut live.typing);
            live.draw_typing();
        }
    }

    /// Leaves a line that a person has typed above the tree.
    pub(crate) fn typed(&mut self, line: &str) {
        if let Self::Live(live) = self {
            // Best effort, as all of this.
            let _ = live.all.println(format!("{PROMPT}{}", sanitized(line)));
        }
    }

    /// Takes the drawn tree and the draft off the screen; the next state draws the tree again.
    pub(crate) fn clear(&mut self) {
        if let Self::Live(live) = self {
            live.draft.clear();
            live.clear();
        }
    }
}

pub(crate) struct Live {
    all: MultiProgress,
    bars: Vec<(Row, ProgressBar)>,
    /// The lines of an answer that is being written, and where their end is drawn.
    draft: Vec<String>,
    draft_bar: Option<ProgressBar>,
    /// What a person is typing, and its line below the others.
    typing: String,
    line: Option<ProgressBar>,
    colour: bool,
}

impl Live {
    pub(crate) fn new(target: ProgressDrawTarget, colour: bool) -> Self {
        let all = MultiProgress::with_draw_target(target);
        let (bars, draft, draft_bar, typing, line) = Default::default();
        Self { all, bars, draft, draft_bar, typing, line, colour }
    }

    fn show(&mut self, progress: &Progress) {
        let rows = if progress.step.is_none() { Vec::new() } else { rows(progress) };
        if rows.is_empty() {
            self.draft.clear();
        }
        if self.bars.iter().map(|(row, _)| &row.key).ne(rows.iter().map(|row| &row.key)) {
            self.clear();
            self.bars = rows.into_iter().map(|row| (row, self.all.add(ProgressBar::new_spinner()))).collect();
            for (row, bar) in &self.bars {
                dress(self.colour, row, bar);
            }
            self.draw_draft();
            self.draw_typing();
            return;
        }
        for (row, (known, bar)) in rows.into_iter().zip(self.bars.iter_mut()) {
            if *known != row {
                dress(self.colour, &row, bar);
                *known = row;
            }
        }
    }

    /// Draws as much of the draft's end as the screen has room for, above what is typed.
    fn draw_draft(&mut self) {
        if self.draft.is_empty() {
            return remove(&self.all, self.draft_bar.take());
        }
        let height = usize::from(console::Term::stderr().size().0);
        let room = height.saturating_sub(self.bars.len() + 2).max(1);
        let start = self.draft.len().saturating_sub(room);
        let bar = self.draft_bar.get_or_insert_with(|| match &self.line {
            Some(line) => self.all.insert_before(line, message_bar()),
            None => self.all.add(message_bar()),
        });
        bar.set_message(self.draft[start..].join("\n"));
        bar.tick();
    }

    /// Draws the line of what is typed. Where it is too long, its end is shown.
    fn draw_typing(&mut self) {
        if self.typing.is_empty() {
            return remove(&self.all, self.line.take());
        }
        let mut left = usize::from(console::Term::stderr().size().1).saturating_sub(4);
        let tail = self.typing.char_indices().rev().take_while(|(_, one)| {
            let width = one.width().unwrap_or_default();
            let fits = width <= left;
            left = left.saturating_sub(width);
            fits
        });
        let start = tail.last().map_or(self.typing.len(), |(at, _)| at);
        let line = self.line.get_or_insert_with(|| self.all.add(message_bar()));
        line.set_message(format!("{PROMPT}{}", &self.typing[start..]));
        line.tick();
    }

    fn clear(&mut self) {
        let bars = self.bars.drain(..).map(|(_, bar)| bar);
        let bars: Vec<_> = bars.chain(self.draft_bar.take()).chain(self.line.take()).collect();
        if bars.is_empty() {
            return;
        }
        for bar in bars {
            remove(&self.all, Some(bar));
        }
        // Best effort, as all of this.
        let _ = self.all.clear();
    }
}

fn message_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{msg}") {
        bar.set_style(style);
    }
    bar
}

fn remove(all: &MultiProgress, bar: Option<ProgressBar>) {
    if let Some(bar) = bar {
        bar.finish_and_clear();
        all.remove(&bar);
    }
}

/// Gives a bar the looks of its row. A running one turns and counts by itself.
fn dress(colour: bool, row: &Row, bar: &ProgressBar) {
    let running = row.status == RowStatus::Running;
    let time = match (row.elapsed, running) {
        (None, _) => "",
        (Some(_), true) => " {elapsed}",
        (Some(_), false) => " {prefix}",
    };
    let (still, hue) = row.status.look();
    let paint = if colour { format!(":.{hue}") } else { String::new() };
    let template = format!("{}{{spinner{paint}}} {{wide_msg}}{time}", "  ".repeat(row.depth));
    let Ok(style) = ProgressStyle::with_template(&template) else { return };
    let turning = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ";
    bar.set_style(if running { style.tick_chars(turning) } else { style.tick_strings(&[still, still]) });
    bar.set_message(row.text.clone());
    if let Some(elapsed) = row.elapsed {
        bar.set_elapsed(elapsed);
        bar.set_prefix(format!("{}s", elapsed.as_secs()));
    }
    if running {
        bar.enable_steady_tick(Duration::from_millis(100));
    } else {
        bar.disable_steady_tick();
        bar.tick();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use adjutant_chat::Address;

    use super::*;

    fn agent(id: &str, status: &str, after: &[&str]) -> AgentProgress {
        AgentProgress {
            agent_id: id.to_owned(),
            status: status.to_owned(),
            mission: format!("Do {id}\nwell\u{1b}[2J"),
            skill: Some("tasks.search".to_owned()),
            depends_on: after.iter().map(|name| (*name).to_owned()).collect(),
            elapsed_ms: if status == "pending" { 0 } else { 2_300 },
        }
    }

    fn progress(agents: Vec<AgentProgress>) -> Progress {
        let address = Address { channel: "console".into(), place: "main".into() };
        Progress { address, turn: "t".into(), step: Some("thinking".into()), agents, live: None }
    }

    fn drawn(rows: &[Row]) -> String {
        let line = |row: &Row| {
            format!("{}{} {} {:?}", "  ".repeat(row.depth), row.status.look().0, row.text, row.elapsed)
        };
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn dependants_stand_below_what_they_wait_for() {
        let agents = vec![
            agent("find", "completed", &[]),
            agent("mail", "pending", &["find"]),
            agent("meet", "pending", &["find", "mail"]),
            agent("note", "running", &[]),
            agent("ask", "waiting", &[]),
            agent("theme", "timeout", &["nobody"]),
        ];
        insta::assert_snapshot!(drawn(&rows(&progress(agents))), @r#"
    › thinking… None
      ✓ find  Do find well␛[2J Some(2.3s)
        ◦ mail [after find]  Do mail well␛[2J None
          ◦ meet [after find, mail]  Do meet well␛[2J None
      › note [tasks.search]  Do note well␛[2J Some(2.3s)
      ◦ ask [waits for you]  Do ask well␛[2J Some(2.3s)
      ✗ theme [timeout]  Do theme well␛[2J Some(2.3s)
    "#);
    }

    #[test]
    fn a_ring_is_shown_and_ends() {
        let agents =
            vec![agent("a", "pending", &["b"]), agent("b", "pending", &["a"]), agent("c", "pending", &["c"])];
        assert_eq!(rows(&progress(agents)).len(), 4);
    }

    #[test]
    fn plain_lines_tell_changes_only() {
        let mut changes = Changes::default();
        let first = changes.lines(&progress(vec![agent("a", "running", &[]), agent("b", "pending", &["a"])]));
        insta::assert_snapshot!(first.join("\n"), @r#"
    › a running: Do a well␛[2J
    ◦ b pending: Do b well␛[2J
    "#);
        assert!(changes.lines(&progress(vec![agent("a", "running", &[])])).is_empty());
        assert_eq!(changes.lines(&progress(vec![agent("a", "completed", &[])])).len(), 1);
    }

    const COLUMNS: usize = 50;

    /// The cells, and where the cursor stands: row and column.
    type Cells = (Vec<Vec<char>>, usize, usize);

    /// A terminal that keeps what stands on it, and goes to the next line where one is full.
    #[derive(Debug, Clone, Default)]
    pub(crate) struct Screen(Arc<Mutex<Cells>>);

    impl Screen {
        pub(crate) fn tree(&self) -> Tree {
            Tree::Live(Live::new(ProgressDrawTarget::term_like(Box::new(self.clone())), false))
        }

        pub(crate) fn text(&self) -> String {
            let lines = self.0.lock().unwrap().0.clone();
            let lines: Vec<String> = lines.into_iter().map(String::from_iter).collect();
            lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n").trim_end().to_owned()
        }

        fn put(&self, text: &str) {
            let (lines, row, column) = &mut *self.0.lock().unwrap();
            for char in text.chars() {
                if char == '\r' {
                    *column = 0;
                    continue;
                }
                if char == '\n' || *column == COLUMNS {
                    (*row, *column) = (*row + 1, 0);
                }
                lines.resize((*row + 1).max(lines.len()), Vec::new());
                if char != '\n' {
                    let line = &mut lines[*row];
                    line.resize((*column + 1).max(line.len()), ' ');
                    line[*column] = char;
                    *column += 1;
                }
            }
        }
    }

    impl indicatif::TermLike for Screen {
        fn width(&self) -> u16 {
            COLUMNS as u16
        }
        fn move_cursor_up(&self, n: usize) -> std::io::Result<()> {
            let row = &mut self.0.lock().unwrap().1;
            *row = row.saturating_sub(n);
            Ok(())
        }
        fn move_cursor_down(&self, n: usize) -> std::io::Result<()> {
            self.0.lock().unwrap().1 += n;
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> std::io::Result<()> {
            self.put(&format!("{text}\n"));
            Ok(())
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            self.put(text);
            Ok(())
        }
        fn clear_line(&self) -> std::io::Result<()> {
            let (lines, row, column) = &mut *self.0.lock().unwrap();
            if let Some(line) = lines.get_mut(*row) {
                line.clear();
            }
            *column = 0;
            Ok(())
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_tree_is_drawn_and_cleared() {
        let screen = Screen::default();
        let mut tree = screen.tree();
        tree.show(&progress(vec![agent("find", "completed", &[]), agent("mail", "failed", &["find"])]));
        let text = screen.text();
        let still = text.split_once('\n').map_or("", |(_, agents)| agents);
        insta::assert_snapshot!(still, @r#"
    ✓ find  Do find well␛[2J                      2s
      ✗ mail [failed]  Do mail well␛[2J           2s
    "#);
        tree.typing("and anoth");
        tree.typing("and another");
        insta::assert_snapshot!(screen.text().lines().last().unwrap(), @"› and another");
        tree.show(&progress(vec![agent("find", "completed", &[])]));
        assert_eq!(screen.text().lines().last().unwrap(), "› and another", "below the tree");
        tree.typing("");
        tree.typed("and another");
        insta::assert_snapshot!(screen.text().lines().next().unwrap(), @"› and another");
        tree.show(&Progress { step: None, ..progress(vec![]) });
        assert_eq!(screen.text(), "› and another", "what was sent stays");
    }

    #[test]
    fn an_answer_grows_below_the_tree_and_is_cleared() {
        let screen = Screen::default();
        let mut tree = screen.tree();
        let found = agent("find", "completed", &[]);
        tree.show(&progress(vec![found.clone()]));
        tree.typing("and another");
        tree.draft("Two");
        tree.draft("Two tasks:\n\n• call Ada\n");
        let text = screen.text();
        let below = text.split_once("2s\n").map_or("", |(_, below)| below);
        assert_eq!(below, "Two tasks:\n\n• call Ada\n› and another");
        tree.show(&progress(vec![found.clone(), agent("mail", "failed", &[])]));
        assert!(screen.text().ends_with("\n\n• call Ada\n› and another"), "{}", screen.text());
        tree.draft("");
        assert!(screen.text().ends_with("2s\n› and another"), "{}", screen.text());
        tree.draft("Again");
        tree.clear();
        assert_eq!(screen.text(), "");
        tree.show(&progress(vec![found]));
        assert!(!screen.text().contains("Again"), "{}", screen.text());
    }
}
