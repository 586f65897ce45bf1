//! Puts rooms into a store and asks their questions.

use adjutant_memory::vectors::Vectors;
use adjutant_memory::{Asker, Found, SearchIn};
use adjutant_store::people::{self, Conversation};
use adjutant_store::{Batch, Store};
use adjutant_types::PersonId;

use super::{KINDS, Room};

/// How many hits count.
const AT: usize = 10;

/// Puts each room into a conversation of its own, the line n of Maya's room as the ended turn `Maya-n`.
pub(crate) async fn load(store: &Store, rooms: &[Room]) -> Vec<Conversation> {
    let mut all = Vec::new();
    for room in rooms {
        let owner = &room.names[0];
        let mut persons: Vec<PersonId> = Vec::new();
        for name in &room.names {
            let person = people::person(store, "bench", &format!("{owner}-{name}"), name).await;
            persons.push(person.expect("a person").id);
        }
        let here =
            people::conversation(store, "bench", &format!("room of {owner}"), &persons[0], false).await;
        let here = here.expect("a conversation");
        for (chunk, lines) in room.lines.chunks(100).enumerate() {
            let mut batch = Batch::new();
            for (n, line) in lines.iter().enumerate() {
                add(&mut batch, &here, &persons[line.by], &format!("{owner}-{}", chunk * 100 + n), line);
            }
            store.write(batch).await.expect("written");
        }
        all.push(here);
    }
    adjutant_memory::index::catch_up(store, chrono_tz::Tz::UTC, true, usize::MAX).await.expect("indexed");
    all
}

fn add(batch: &mut Batch, here: &Conversation, person: &PersonId, id: &str, line: &super::Line) {
    batch.run(
        "INSERT INTO turns (id, conversation_id, person_id, status, text, answer, answers, instance, \
         budget_from, started_at, resumed_at, ended_at) \
         VALUES ($1, $2, $3, 'completed', $4, '', '[]', 'i', 0, $5, $5, $5)",
        [id.into(), (&here.id).into(), person.into(), (&line.text).into(), line.at.into()],
    );
    let Some(file) = &line.file else { return };
    batch.run(
        "INSERT INTO inbox (event, conversation_id, person_id, kind, text, state, turn_id, instance, received_at) \
         VALUES ($1, $2, $3, 'said', $4, 'done', $1, 'i', $5)",
        [id.into(), (&here.id).into(), person.into(), (&line.text).into(), line.at.into()],
    );
    batch.run(
        "INSERT INTO attachments (id, person_id, conversation_id, event, number, name, kind, media_type, bytes, \
         content, source, created_at) VALUES ($1, $2, $3, $1, 0, $4, 'text', 'text/plain', 1, $5, '', $6)",
        [
            id.into(),
            person.into(),
            (&here.id).into(),
            (&file.name).into(),
            (&file.content).into(),
            line.at.into(),
        ],
    );
}

/// The recall at 10 of each question, with its kind.
pub(crate) async fn recall(
    store: &Store,
    places: &[Conversation],
    rooms: &[Room],
    vectors: Option<&Vectors>,
) -> Vec<(&'static str, f64)> {
    let mut all = Vec::new();
    for (room, here) in rooms.iter().zip(places) {
        let asker = Asker { person: &here.person_id, here, zone: chrono_tz::Tz::UTC, vectors, fade: None };
        for question in &room.questions {
            let found =
                adjutant_memory::search(store, asker, &question.text, SearchIn::Conversations, "", AT).await;
            let found: Vec<String> = found.expect("a search").into_iter().filter_map(id_of).collect();
            let is_found = |line: &&usize| found.contains(&format!("{}-{line}", room.names[0]));
            let hits = question.evidence.iter().filter(is_found).count();
            all.push((question.kind, hits as f64 / question.evidence.len().max(1) as f64));
        }
    }
    all
}

fn id_of(found: Found) -> Option<String> {
    match found {
        Found::Said(said) => Some(said.id.to_string()),
        Found::Memory(_) => None,
    }
}

/// A line for each kind, and one for all: how many questions, and the recall in each of these ways.
pub(crate) fn table(ways: &[Vec<(&'static str, f64)>]) -> String {
    let kinds = KINDS.iter().map(|(kind, _)| *kind).chain(["all"]);
    let line = |kind: &str| {
        let of_kind = |way: &Vec<(&'static str, f64)>| {
            let of_kind =
                way.iter().filter(|(of, _)| *of == kind || kind == "all").map(|(_, recall)| *recall);
            of_kind.collect::<Vec<f64>>()
        };
        let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
        let shares: Vec<String> = ways.iter().map(|way| format!("{:.3}", mean(&of_kind(way)))).collect();
        format!("{kind} ({}): {}", ways.first().map_or(0, |way| of_kind(way).len()), shares.join(" / "))
    };
    kinds.map(|kind| line(kind) + "\n").collect()
}
