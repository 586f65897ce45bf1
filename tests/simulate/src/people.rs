//! The people: what they write and when, and how they answer questions.

use std::collections::BTreeMap;

use adjutant_chat::{Address, ButtonPress, Choice, EventId, Inbound, IncomingMessage, Outbound, SenderId};

use crate::history::{Event, Kind, Wish};
use crate::platform::CHANNEL;
use crate::random::Random;
use crate::system;
use crate::world::State;

/// Who owns the assistant, and may answer for others.
pub(crate) const OWNER: &str = "ada";
/// Those who may talk to the assistant.
pub(crate) const PEOPLE: [&str; 3] = ["ada", "bob", "carol"];
/// One who reads along in the room, and may nothing.
const STRANGER: &str = "eve";
const ROOM: &str = "room";
/// Where people write: each in a place of their own, and together.
pub(crate) const PLACES: [&str; 4] = ["ada", "bob", "carol", ROOM];

#[derive(Debug, Clone)]
pub(crate) enum Action {
    Say { person: &'static str, place: &'static str, wishes: Vec<Wish> },
    Press { person: &'static str, place: &'static str, outbox: String, choice: Choice },
}

/// What people will write, by the time, in milliseconds.
pub(crate) fn agenda(seed: u64) -> BTreeMap<(u64, u64), Action> {
    let mut random = Random::of(seed, "people");
    let mut agenda = BTreeMap::new();
    let (mut at, mut number) = (0, 0);
    let (people, has_room) = (1 + random.below(3), random.happens(5_000));
    for message in 0..1 + random.below(6) {
        at += random.of_any_size(8_191);
        let person = PEOPLE[usize::try_from(random.below(people)).unwrap_or_default()];
        let place = if has_room && random.happens(4_000) { ROOM } else { person };
        let mut wishes = Vec::new();
        for _ in 0..1 + random.below(4) / 3 {
            number += 1;
            let kind = *random.one_of(&[Kind::Talk, Kind::Task, Kind::Task, Kind::Mail]);
            wishes.push(Wish { kind, number });
        }
        agenda.insert((at, message), Action::Say { person, place, wishes });
    }
    agenda
}

impl State {
    /// People do what they have in mind by now. Returns whether they did anything.
    pub(crate) fn people_act(&mut self) -> bool {
        let now = system::now();
        let mut acted = false;
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now) {
            acted = true;
            let action = entry.remove();
            self.act(action);
        }
        acted
    }

    fn act(&mut self, action: Action) {
        self.events += 1;
        let event = self.events.to_string();
        let inbound = match action {
            Action::Say { person, place, wishes } => {
                self.authors.insert(event.clone(), person);
                let text = wishes.iter().map(Wish::to_string).collect::<Vec<_>>().join(" and ");
                self.note(Event::Said { event: event.clone(), person, place, wishes });
                Inbound::Message(IncomingMessage {
                    event: EventId(event),
                    address: Address { channel: CHANNEL.into(), place: place.into() },
                    sender: SenderId(person.into()),
                    sender_name: person.into(),
                    direct: place != ROOM,
                    is_addressed: true,
                    text: format!("Please do {text}"),
                    mentions: Vec::new(),
                    forwarded_from: None,
                    reply_to: None,
                    attachments: Vec::new(),
                })
            }
            Action::Press { person, place, outbox, choice } => {
                let label = choice.label;
                self.note(Event::Pressed { event: event.clone(), person, place, outbox, label });
                Inbound::ButtonPress(ButtonPress {
                    event: EventId(event),
                    address: Address { channel: CHANNEL.into(), place: place.into() },
                    sender: SenderId(person.into()),
                    sender_name: person.into(),
                    direct: place != ROOM,
                    button: choice.id,
                })
            }
        };
        let place = PLACES.into_iter().find(|place| inbound.address().place == *place).unwrap_or(ROOM);
        self.queues.entry(place).or_default().push_back(inbound);
    }
}

/// People see a message with buttons: whom it is for will press one, and others may.
pub(crate) fn see(state: &mut State, outbound: &Outbound, choices: &[Choice]) {
    let decides = |choice: &&Choice| ["Approve", "Reject"].iter().any(|word| choice.label.starts_with(word));
    let choices: Vec<Choice> = choices.iter().filter(decides).cloned().collect();
    let place = PLACES.into_iter().find(|place| outbound.address.place == *place).unwrap_or(ROOM);
    let author = outbound.answers.iter().find_map(|event| state.authors.get(event).copied());
    let asked = if place == ROOM { author.unwrap_or(OWNER) } else { place };
    let ends_all: Vec<Choice> = choices
        .iter()
        .filter(|choice| !choice.label.contains(|letter: char| letter.is_ascii_digit()))
        .cloned()
        .collect();
    if ends_all.is_empty() || !state.pressed.insert(outbound.id.clone()) {
        return;
    }
    let now = system::now();
    let press = |state: &mut State, person: &'static str, choice: &Choice, at: u64| {
        let key = (at, 1_000 + state.agenda.len() as u64);
        let action = Action::Press { person, place, outbox: outbound.id.clone(), choice: choice.clone() };
        state.agenda.insert(key, action);
    };
    let yes = if state.random.happens(7_500) { 0 } else { ends_all.len() - 1 };
    let at = now + 200 + state.random.of_any_size(16_383);
    press(state, asked, &ends_all[yes], at);
    for _ in 0..state.random.below(4) {
        let others = [asked, OWNER, "bob", STRANGER];
        let who = if place == ROOM { *state.random.one_of(&others) } else { asked };
        let choice = state.random.one_of(&choices).clone();
        let at = now + 200 + state.random.of_any_size(32_767);
        press(state, who, &choice, at);
    }
}
