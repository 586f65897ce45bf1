//! Conversations of a year with known evidence: what a person told their assistant day by day, and questions about it,
//! each with the turns that answer it. The same seed gives the same set.

pub mod meanings;
pub mod measure;
mod templates;

use chrono::{DateTime, Days, TimeDelta, Utc};
use templates::{ANSWERS, CHAT, DONE, FACTS, Fact, NAMES, STRANGERS};

/// What a question is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// One turn says it.
    Single,
    /// Several turns do.
    Several,
    /// It names a day.
    Day,
    /// It was said, then corrected.
    Corrected,
    /// It uses other words than what was said.
    OtherWords,
    /// Nobody ever said it.
    Nothing,
}

pub const KINDS: [Kind; 6] =
    [Kind::Single, Kind::Several, Kind::Day, Kind::Corrected, Kind::OtherWords, Kind::Nothing];

/// A message and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub answer: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// A question, and the turns, by their place in the set, that answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub kind: Kind,
    pub text: String,
    pub evidence: Vec<usize>,
}

/// What was said in a year, in order, and the questions.
pub struct Set {
    pub said: Vec<Said>,
    pub questions: Vec<Question>,
}

/// SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((value ^ (value >> 31)) % most as u64).unwrap_or_default()
    }

    pub fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// What one turn says, before it has its place.
struct Piece {
    text: String,
    answer: String,
    /// The questions, by their number, that it answers.
    answers: Vec<usize>,
    /// Whether it corrects the piece before it.
    corrects: bool,
    /// Whether it is small talk.
    is_chat: bool,
}

/// Makes a set with this many questions, the same number of each kind, and twice as much small talk as facts.
pub fn set(seed: u64, questions: usize) -> Set {
    let mut making = Making { dice: Dice(seed), pieces: Vec::new(), questions: Vec::new() };
    let each = questions / KINDS.len();
    let mut pairs: Vec<(&str, &Fact)> =
        NAMES.iter().flat_map(|name| FACTS.iter().map(move |fact| (*name, fact))).collect();
    making.dice.shuffle(&mut pairs);
    let mut pairs = pairs.into_iter().cycle();
    for (name, fact) in pairs.by_ref().take(each) {
        making.single(name, fact);
    }
    for (name, fact) in pairs.by_ref().take(each) {
        making.corrected(name, fact);
    }
    for (name, fact) in pairs.by_ref().take(each) {
        making.other_words(name, fact);
    }
    for number in 0..each {
        making.several(number);
    }
    for (name, fact) in pairs.by_ref().take(each) {
        let stranger = making.dice.one(&STRANGERS);
        let text = fact.question.replace("{n}", if name.len() % 2 == 0 { stranger } else { "the neighbour" });
        making.ask(Kind::Nothing, text);
    }
    let chat = making.pieces.len() * 2;
    for _ in 0..chat {
        let text = making.chat();
        making.say(text, Vec::new());
        if let Some(piece) = making.pieces.last_mut() {
            piece.is_chat = true;
        }
    }
    making.in_order(questions - each * (KINDS.len() - 1))
}

struct Making {
    dice: Dice,
    pieces: Vec<Piece>,
    questions: Vec<Question>,
}

impl Making {
    fn ask(&mut self, kind: Kind, text: String) -> usize {
        self.questions.push(Question { kind, text, evidence: Vec::new() });
        self.questions.len() - 1
    }

    fn say(&mut self, text: String, answers: Vec<usize>) {
        let answer = self.dice.one(&ANSWERS).to_owned();
        self.pieces.push(Piece { text, answer, answers, corrects: false, is_chat: false });
    }

    fn statement(&mut self, name: &str, fact: &Fact) -> String {
        let value = self.dice.one(fact.values);
        self.dice.one(fact.statements).replace("{n}", name).replace("{v}", value)
    }

    fn single(&mut self, name: &str, fact: &Fact) {
        let asked = self.ask(Kind::Single, fact.question.replace("{n}", name));
        let text = self.statement(name, fact);
        self.say(text, vec![asked]);
    }

    fn corrected(&mut self, name: &str, fact: &Fact) {
        let asked = self.ask(Kind::Corrected, fact.question.replace("{n}", name));
        let text = self.statement(name, fact);
        self.say(text, Vec::new());
        let text = format!("Correction: {}", self.statement(name, fact));
        self.say(text, vec![asked]);
        if let Some(piece) = self.pieces.last_mut() {
            piece.corrects = true;
        }
    }

    fn other_words(&mut self, name: &str, fact: &Fact) {
        let asked = self.ask(Kind::OtherWords, fact.other_words.replace("{n}", name));
        let text = self.statement(name, fact);
        self.say(text, vec![asked]);
    }

    /// Three turns about one trip.
    fn several(&mut self, number: usize) {
        let name = NAMES[number % NAMES.len()];
        let place = templates::PLACES[(number / NAMES.len() + number) % templates::PLACES.len()];
        let asked = self.ask(Kind::Several, format!("What is planned for the trip to {place} with {name}?"));
        let month = templates::MONTHS[number % 12];
        for text in [
            format!("I'm planning a trip to {place} with {name} in {month}"),
            format!("{name} has booked the train to {place}"),
            format!("The flat in {place} sleeps {} people, {name} says", 2 + number % 5),
        ] {
            self.say(text, vec![asked]);
        }
    }

    fn chat(&mut self) -> String {
        let (name, place) = (self.dice.one(&NAMES), self.dice.one(&templates::PLACES));
        self.dice.one(&CHAT).replace("{n}", name).replace("{p}", place)
    }

    /// Gives each piece its moment, and asks about days.
    fn in_order(mut self, days: usize) -> Set {
        let mut places: Vec<usize> = (0..self.pieces.len()).collect();
        self.dice.shuffle(&mut places);
        // A correction comes after what it corrects.
        for at in 1..self.pieces.len() {
            if self.pieces[at].corrects && places[at] < places[at - 1] {
                places.swap(at, at - 1);
            }
        }
        let mut pieces: Vec<(usize, Piece)> = places.into_iter().zip(self.pieces).collect();
        pieces.sort_by_key(|(place, _)| *place);
        let begin: DateTime<Utc> = DateTime::from_timestamp(1_704_096_000, 0).unwrap_or_default();
        let per_day = pieces.len() / 330 + 1;
        let mut said: Vec<Said> = Vec::new();
        let mut chat = Vec::new();
        for (number, (_, piece)) in pieces.into_iter().enumerate() {
            let day = begin + Days::new((number / per_day) as u64);
            let at = day + TimeDelta::minutes((number % per_day) as i64 * 20);
            chat.extend(piece.is_chat.then_some(number));
            for asked in piece.answers {
                self.questions[asked].evidence.push(number);
            }
            said.push(Said { text: piece.text, answer: piece.answer, at: at.timestamp_millis() });
        }
        self.dice.shuffle(&mut chat);
        for (number, at) in chat.into_iter().take(days).enumerate() {
            let (activity, name) = (self.dice.one(&DONE), self.dice.one(&NAMES));
            said[at].text = format!("I went {activity} with {name}");
            let day = DateTime::from_timestamp_millis(said[at].at).unwrap_or_default();
            let text = match number % 2 {
                0 => format!("What did I do with {name} on {}?", day.format("%-d %B %Y")),
                _ => format!("Where did I go on {}?", day.format("%A, %-d %B %Y")),
            };
            self.questions.push(Question { kind: Kind::Day, text, evidence: vec![at] });
        }
        Set { said, questions: self.questions }
    }
}
