//! Talk of two people in a room, week after week, with known evidence: they chat, call each other by name, ask back and
//! answer in pronouns, send pictures and files, both live through the same kinds of things, and others are told about as
//! well. Made of two scripts that share no sentence and no name, `dev.txt` and `test.txt`: what tunes the search looks at
//! the first alone.
//!
//! A script has subjects (`# dog`). Of each, `a:` and `b:` are lines that its owner and the other one write (`|` between
//! ways to put it), `a [file; what it contains]:` one with a file, `~` what anybody writes about the same, and
//! `? kind n:` a question that line n answers: the first two ways to put it in other words than the line's, the others
//! nearer to it and to what stands around it, as people ask who half remember what was said. `many: 3` of a subject happen to the same person.

use adjutant_test_support::remembered::Dice;
use chrono::{DateTime, Datelike, Days, TimeDelta, Utc};

pub(crate) mod measure;

pub(crate) const DEV: &str = include_str!("dev.txt");
pub(crate) const TEST: &str = include_str!("test.txt");

/// How many rooms there are, and how many questions of each kind are asked in one.
const ROOMS: usize = 10;
pub(crate) const KINDS: [(&str, usize); 5] =
    [("single", 32), ("when", 20), ("several", 20), ("speaker", 14), ("file", 14)];
/// How many lines of chat a room has, and how many remarks about each subject's kind.
const CHAT: usize = 260;
const REMARKS: usize = 8;
/// How many lines are written on a day.
const A_DAY: usize = 18;

/// A file that came with a message.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content: String,
}

/// A message of a room.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Which of the two wrote it.
    pub(crate) by: usize,
    pub(crate) text: String,
    pub(crate) file: Option<File>,
    pub(crate) at: i64,
    /// The questions that it answers.
    answers: Vec<usize>,
}

/// A question, and the lines of its room that answer it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) evidence: Vec<usize>,
}

/// What two people wrote, and what may be asked about it.
pub(crate) struct Room {
    pub(crate) names: [String; 2],
    pub(crate) lines: Vec<Line>,
    pub(crate) questions: Vec<Question>,
}

#[derive(Default)]
struct Subject<'a> {
    many: usize,
    x: Vec<&'a str>,
    y: Vec<&'a str>,
    lines: Vec<Written<'a>>,
    remarks: Vec<&'a str>,
    questions: Vec<(&'static str, usize, Vec<&'a str>)>,
}

/// A line of a subject: whether its owner writes it, its file, and the ways to put it.
struct Written<'a> {
    is_owners: bool,
    file: Option<(&'a str, &'a str)>,
    ways: Vec<&'a str>,
}

#[derive(Default)]
struct Script<'a> {
    names: Vec<&'a str>,
    others: Vec<&'a str>,
    chat: Vec<Vec<&'a str>>,
    subjects: Vec<Subject<'a>>,
}

fn ways(text: &str) -> Vec<&str> {
    text.split(" | ").map(str::trim).collect()
}

fn script(text: &str) -> Script<'_> {
    let mut script = Script::default();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with("# ") {
            script.subjects.push(Subject { many: 1, ..Subject::default() });
            continue;
        }
        let (head, rest) = match line.strip_prefix("~ ") {
            Some(rest) => ("~", rest),
            // A file's text may have a colon, but no "]: ".
            None => line.split_once("]: ").or_else(|| line.split_once(": ")).expect("a head"),
        };
        match (head, script.subjects.last_mut()) {
            ("names", _) => script.names = ways(rest),
            ("others", _) => script.others = ways(rest),
            ("chat", _) => script.chat.push(ways(rest)),
            ("many", Some(subject)) => subject.many = rest.parse().expect("a number"),
            ("x", Some(subject)) => subject.x = ways(rest),
            ("y", Some(subject)) => subject.y = ways(rest),
            ("~", Some(subject)) => subject.remarks.push(rest),
            (head, Some(subject)) if head.starts_with("? ") => {
                let (kind, number) = head[2..].split_once(' ').expect("a kind and a number");
                let (kind, _) = KINDS.iter().find(|(name, _)| *name == kind).expect("a kind");
                subject.questions.push((kind, number.parse().expect("a number"), ways(rest)));
            }
            (head, subject) => {
                let subject = subject.expect("a subject");
                let file = head.split_once(" [").map(|(_, file)| file.split_once("; ").expect("a file"));
                subject.lines.push(Written { is_owners: head.starts_with('a'), file, ways: ways(rest) });
            }
        }
    }
    script
}

/// The rooms of a script, each of other people. The same seed gives the same.
pub(crate) fn rooms(text: &str, seed: u64) -> Vec<Room> {
    let script = script(text);
    let make = |number: usize| {
        let pair = |at: usize| script.names[(number * 2 + at) % script.names.len()].to_owned();
        Making {
            script: &script,
            names: [pair(0), pair(1)],
            dice: Dice(seed + number as u64),
            blocks: Vec::new(),
            questions: Vec::new(),
        }
        .room()
    };
    (0..ROOMS).map(make).collect()
}

struct Making<'a> {
    script: &'a Script<'a>,
    names: [String; 2],
    dice: Dice,
    /// Lines that follow each other.
    blocks: Vec<Vec<Line>>,
    questions: Vec<Question>,
}

impl<'a> Making<'a> {
    fn room(mut self) -> Room {
        let script = self.script;
        for subject in &script.subjects {
            // What happens to both happens to each in other words.
            for owner in 0..2 {
                self.subject(subject, owner);
            }
            for _ in 0..REMARKS.min(subject.remarks.len() * 2) {
                let remark = self.dice.one(&subject.remarks);
                self.alone(remark);
            }
        }
        self.compounds();
        let (mut written, mut number) = (0, 0);
        while written < CHAT {
            let ways = &script.chat[number % script.chat.len()];
            let text = self.dice.one(ways);
            self.alone(text);
            (written, number) = (written + 1, number + 1);
        }
        self.in_order()
    }

    fn fill(&mut self, text: &str, owner: usize, by: usize, (x, y): (&str, &str)) -> String {
        let other = self.dice.one(&self.script.others);
        // A question is nobody's line: its friend is the owner's.
        let text = text.replace("{o}", &self.names[owner]).replace("{p}", &self.names[1 - by]);
        let text = text.replace("{x}", x).replace("{y}", y).replace("{n}", other);
        let mut letters = text.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    fn line(&mut self, text: &str, owner: usize, by: usize, values: (&str, &str)) -> Line {
        let text = self.fill(text, owner, by, values);
        Line { by, text, file: None, at: 0, answers: Vec::new() }
    }

    fn alone(&mut self, text: &str) {
        let by = self.dice.below(2);
        let line = self.line(text, by, by, ("", ""));
        self.blocks.push(vec![line]);
    }

    fn subject(&mut self, subject: &Subject<'a>, owner: usize) {
        let from = self.dice.below(subject.x.len().max(1));
        let mut several: Option<usize> = None;
        for time in 0..subject.many {
            let value = |list: &[&'a str], at: usize| list.get(at % list.len().max(1)).copied().unwrap_or("");
            // The two never share a value.
            let x = value(&subject.x, from + time * 2 + owner);
            let y = value(&subject.y, self.dice.below(10));
            let mut block: Vec<Line> = Vec::new();
            for written in &subject.lines {
                let by = if written.is_owners { owner } else { 1 - owner };
                let way = self.dice.one(&written.ways);
                let mut line = self.line(way, owner, by, (x, y));
                line.file = written.file.map(|(name, content)| File {
                    name: name.replace("{x}", &x.replace(' ', "-")),
                    content: content.replace("{x}", x),
                });
                block.push(line);
            }
            for (kind, number, ways) in &subject.questions {
                let way = self.dice.one(ways);
                let text = self.fill(way, owner, owner, (x, y));
                // What happened three times is asked for once.
                let asked = several.filter(|_| *kind == "several").unwrap_or_else(|| {
                    self.questions.push(Question { kind, text, evidence: Vec::new() });
                    self.questions.len() - 1
                });
                if *kind == "several" {
                    several = Some(asked);
                }
                block[number - 1].answers.push(asked);
            }
            self.blocks.push(block);
        }
    }

    /// Questions for two things at once, of two subjects.
    fn compounds(&mut self) {
        let singles: Vec<usize> =
            (0..self.questions.len()).filter(|at| self.questions[*at].kind == "single").collect();
        for _ in 0..KINDS[2].1 {
            let (first, second) =
                (singles[self.dice.below(singles.len())], singles[self.dice.below(singles.len())]);
            let [one, two] =
                [first, second].map(|at| self.questions[at].text.trim_end_matches('?').to_owned());
            let mut letters = two.chars();
            let two: String =
                letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
            if first == second {
                continue;
            }
            self.questions.push(Question {
                kind: "several",
                text: format!("{one}, and {two}?"),
                evidence: Vec::new(),
            });
            let asked = self.questions.len() - 1;
            for line in self.blocks.iter_mut().flatten() {
                if line.answers.contains(&first) || line.answers.contains(&second) {
                    line.answers.push(asked);
                }
            }
        }
    }

    /// Gives each line its moment, and picks the questions.
    fn in_order(mut self) -> Room {
        self.dice.shuffle(&mut self.blocks);
        let mut lines: Vec<Line> = Vec::new();
        let blocks = std::mem::take(&mut self.blocks);
        for block in blocks {
            for line in block {
                lines.push(line);
                // Somebody says something else in between.
                if self.dice.below(8) == 0 {
                    let ways = &self.script.chat[self.dice.below(self.script.chat.len())];
                    let (text, by) = (self.dice.one(ways), self.dice.below(2));
                    lines.push(self.line(text, by, by, ("", "")));
                }
            }
        }
        let mut day: DateTime<Utc> = DateTime::from_timestamp(1_672_567_200, 0).unwrap_or_default();
        for (number, line) in lines.iter_mut().enumerate() {
            if number > 0 && number % A_DAY == 0 {
                day = day + Days::new(3 + self.dice.below(7) as u64);
            }
            line.at = (day + TimeDelta::minutes((number % A_DAY) as i64 * 2)).timestamp_millis();
            for asked in &line.answers {
                self.questions[*asked].evidence.push(number);
            }
        }
        self.dated(&lines);
        let mut all = self.questions;
        self.dice.shuffle(&mut all);
        let questions = KINDS.iter().flat_map(|(kind, count)| {
            let of_kind: Vec<Question> = all.iter().filter(|one| one.kind == *kind).cloned().collect();
            of_kind.into_iter().take(*count)
        });
        let questions = questions.collect();
        Room { names: self.names, lines, questions }
    }

    /// Half of the questions about when name the day or the month instead, and ask what there was.
    fn dated(&mut self, lines: &[Line]) {
        for question in self.questions.iter_mut().filter(|question| question.kind == "when") {
            let [at] = question.evidence[..] else { continue };
            let line = &lines[at];
            let day = DateTime::from_timestamp_millis(line.at).unwrap_or_default();
            let name = &self.names[line.by];
            match self.dice.below(4) {
                0 => question.text = format!("What happened to {name} around {}?", day.format("%-d %B %Y")),
                1 if day.day() > 1 => {
                    question.text = format!("What news did {name} have on {}?", day.format("%A, %-d %B"));
                }
                _ => {}
            }
        }
    }
}
