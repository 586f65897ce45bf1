//! What the system showed, by labels that say nothing of it: "mail 2", "event 1".

use std::collections::BTreeMap;

use super::{Target, Thing};

/// The maximum number of labelled things of a list.
const MAX_LABELS: usize = 50;

/// The things that a person can point at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    labelled: Vec<(String, Thing)>,
    /// What this turn's own calls have found.
    found: Vec<Thing>,
    /// Emails and files of older results: whoever sends one chooses what it is called.
    older: Vec<Thing>,
    /// Who sent an email, by its id: their name and address.
    pub senders: BTreeMap<String, String>,
    /// Whom and what the one question was about that the message may change, for a call of its kind.
    pub asked: Vec<Target>,
}

impl Shown {
    /// Labels the things of the newest list of each kind, and the one that was shown last by itself. `results` are the
    /// results of skills before this turn, the newest first, each with whether it is a list.
    pub fn new(results: impl IntoIterator<Item = (bool, Vec<Thing>)>) -> Self {
        let mut shown = Self::default();
        for (is_list, things) in results {
            shown.label(is_list, &things);
            shown.older.extend(things.into_iter().filter(|thing| matches!(thing.noun, "mail" | "file")));
        }
        shown
    }

    /// The same with what this turn's own calls have found, the oldest first. The person hadn't seen that as they wrote: only
    /// where they were shown nothing of its kind before, a label means one of these, and then of the first.
    #[must_use]
    pub fn with_found(mut self, results: impl IntoIterator<Item = (bool, Vec<Thing>)>) -> Self {
        for (is_list, things) in results {
            let noun = things.first().map(|thing| thing.noun);
            if !self.labelled.iter().any(|(_, thing)| Some(thing.noun) == noun) {
                self.label(is_list, &things);
            }
            self.found.extend(things);
        }
        self
    }

    fn label(&mut self, is_list: bool, things: &[Thing]) {
        let Some(first) = things.first() else { return };
        let is_alone = !is_list || things.len() == 1;
        if is_alone && self.find(first.noun).is_none() {
            self.labelled.push((first.noun.to_owned(), first.clone()));
        }
        if is_list && self.find(&format!("{} 1", first.noun)).is_none() {
            let labelled = (1..).zip(things.iter().take(MAX_LABELS));
            self.labelled.extend(labelled.map(|(n, thing)| (format!("{} {n}", thing.noun), thing.clone())));
        }
    }

    pub fn find(&self, label: &str) -> Option<&Thing> {
        let label = label.trim();
        let found = self.labelled.iter().find(|(name, _)| name.eq_ignore_ascii_case(label));
        found.map(|(_, thing)| thing)
    }

    /// The only thing of this kind that was shown.
    pub fn only(&self, noun: &str) -> Option<&Thing> {
        let mut of_kind = self.labelled().filter(|thing| thing.noun == noun);
        let first = of_kind.next()?;
        of_kind.all(|other| other.id == first.id).then_some(first)
    }

    /// What the person has seen lately.
    pub fn labelled(&self) -> impl Iterator<Item = &Thing> {
        self.labelled.iter().map(|(_, thing)| thing)
    }

    pub fn things(&self) -> impl Iterator<Item = &Thing> {
        self.labelled().chain(&self.found)
    }

    /// What words may mean instead of a thing of this kind: a narrower search doesn't hide it.
    pub fn rivals(&self, noun: &str) -> impl Iterator<Item = &Thing> {
        let older = if matches!(noun, "mail" | "file") { self.older.as_slice() } else { &[] };
        self.things().chain(older)
    }

    /// The labels, for the clean room: `mail 1 to mail 7, mail, event 1`.
    pub fn labels(&self) -> String {
        let mut groups: Vec<(&str, &str, &str)> = Vec::new();
        for (label, thing) in &self.labelled {
            let is_list = |group: &&mut (&str, &str, &str)| group.0 == thing.noun && group.1 != thing.noun;
            match groups.iter_mut().find(is_list) {
                Some((.., last)) if label != thing.noun => *last = label.as_str(),
                _ => groups.push((thing.noun, label.as_str(), label.as_str())),
            }
        }
        let group = |(noun, first, last): (&str, &str, &str)| match first {
            _ if first == noun => format!("{noun} (the one shown last by itself)"),
            _ if first == last => first.to_owned(),
            _ => format!("{first} to {last}"),
        };
        groups.into_iter().map(group).collect::<Vec<_>>().join(", ")
    }
}
