//! A real `kill -9` at random moments.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::chaos::LIMITS;
use crate::process::{Home, Value, is_written_again, json};
use crate::random::Random;

/// The number of kills, unless `ADJUTANT_KILLS` is set.
const KILLS: u32 = 25;

/// How often it is killed, and the random seed; both are printed, so that a run can be repeated.
pub(crate) fn fate(kills: u32) -> (u32, u64) {
    let kills = std::env::var("ADJUTANT_KILLS").ok().map_or(kills, |text| text.parse().unwrap());
    let seed = std::env::var("ADJUTANT_SEED").ok().map_or(20_261_121, |text| text.parse().unwrap());
    println!("ADJUTANT_KILLS={kills} ADJUTANT_SEED={seed}");
    (kills, seed)
}

/// A client's record of its messages.
#[derive(Default)]
struct Ledger {
    messages: BTreeMap<String, Value>,
    accepted: BTreeSet<String>,
    answered: BTreeMap<String, Vec<String>>,
    /// The events of the last life that said something.
    before: Vec<Value>,
}

impl Ledger {
    fn hear_all(&mut self, events: &[Value]) {
        let before = self.before.clone();
        events.iter().filter(|event| !is_written_again(event, &before)).for_each(|event| self.hear(event));
        // A life that said nothing leaves what the one before it said last.
        if !events.is_empty() {
            self.before = events.to_vec();
        }
    }

    fn hear(&mut self, event: &Value) {
        match event["event"].as_str() {
            Some("accepted") => drop(self.accepted.insert(event["id"].as_str().unwrap().to_owned())),
            Some("reply") => {
                for id in event["answers"].as_array().unwrap() {
                    let replies = self.answered.entry(id.as_str().unwrap().to_owned()).or_default();
                    replies.push(event["text"].to_string());
                }
            }
            Some("error") => panic!("{event}"),
            _ => {}
        }
    }

    /// Messages to send again: they weren't accepted.
    fn open(&self) -> Vec<Value> {
        self.messages
            .iter()
            .filter(|(id, _)| !self.accepted.contains(*id))
            .map(|(_, line)| line.clone())
            .collect()
    }
}

#[test]
fn killed_again_and_again_it_answers_each_message_once_and_does_each_thing_once() {
    let (kills, seed) = fate(KILLS);
    let mut random = Random(seed);
    let (home, mut ledger) = (Home::with_config(LIMITS), Ledger::default());
    let mut number = 0;
    for _ in 0..kills {
        let mut chat = home.chat();
        for line in ledger.open() {
            chat.send(&line);
        }
        // Some die while they start, most while they work. Not all while they start, however slow that is: a turn that gets
        // nowhere three times is given up.
        if ledger.answered.len() < ledger.messages.len() && random.below(4) > 0 {
            chat.next_within(Duration::from_secs(10));
        }
        let life = Duration::from_millis(5 + random.below(400));
        let death = Instant::now() + life;
        while Instant::now() < death {
            if random.below(3) > 0 {
                number += 1;
                let id = format!("m{number}");
                let text = format!("add a task to do thing {number}");
                let conversation = format!("c{}", random.below(5));
                let line = json!({"id": id, "text": text, "conversation": conversation});
                chat.send(&line);
                ledger.messages.insert(id, line);
            }
            // Waiting for one event keeps the client at the assistant's pace.
            let left = death.saturating_duration_since(Instant::now());
            chat.next_within(left.min(Duration::from_millis(20)));
        }
        chat.kill();
        ledger.hear_all(&chat.seen);
    }
    let mut last = home.chat();
    for line in ledger.open() {
        last.send(&line);
    }
    last.finish_well();
    ledger.hear_all(&last.seen);
    println!("{number} messages");

    let ids: BTreeSet<&String> = ledger.messages.keys().collect();
    assert_eq!(ids, ledger.accepted.iter().collect());
    assert_eq!(ids, ledger.answered.keys().collect());
    let twice: Vec<_> = ledger.answered.iter().filter(|(_, replies)| replies.len() != 1).collect();
    assert!(twice.is_empty(), "answered twice: {twice:#?}");
    let mut wanted: Vec<String> = (1..=number).map(|number| format!("do thing {number}")).collect();
    wanted.sort();
    let made = home.tasks();
    let missing = wanted.iter().filter(|title| !made.contains(title));
    let missing: Vec<_> = missing.map(|title| &ledger.answered[&title.replace("do thing ", "m")]).collect();
    assert!(missing.is_empty(), "answered, but not done: {missing:?}");
    assert_eq!(made, wanted, "done twice");
    home.assert_tidy("after all those kills");
}
