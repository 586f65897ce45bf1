//! People's cards: vCard 3 (RFC 2426) and 4 (RFC 6350).

use chrono::{DateTime, Utc};

use crate::Fault;
use crate::content::{Component, Line, Node, escaped, split_escaped, unescaped};

/// What we know of somebody. Empty texts are texts that are not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contact {
    /// The card's UID.
    pub id: String,
    /// The name as it is shown.
    pub name: String,
    /// Mail addresses, the preferred one first as the card has it.
    pub emails: Vec<String>,
    /// Phone numbers as written.
    pub phones: Vec<String>,
    /// The organization, without its departments.
    pub organization: String,
    /// What else is to be said.
    pub notes: String,
}

/// One card, kept as the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    card: Component,
}

impl Card {
    /// A new one, as vCard 3, which every server and program reads. `stamp` is now.
    ///
    /// # Errors
    /// [`crate::Kind::Params`] when it has no id or no name.
    pub fn new(contact: &Contact, stamp: DateTime<Utc>) -> Result<Self, Fault> {
        let mut card = Component::new("VCARD");
        card.push(Line::new("VERSION", &[], "3.0"));
        card.push(Line::new("UID", &[], &escaped(&contact.id)));
        let mut card = Self { card };
        card.change(contact, stamp)?;
        Ok(card)
    }

    /// Reads one card.
    ///
    /// # Errors
    /// [`crate::Kind::Tool`] when it can't be read.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let mut cards = Component::read_all(text)?.into_iter().filter(|part| part.is("VCARD"));
        match (cards.next(), cards.next()) {
            (Some(card), None) => Ok(Self { card }),
            _ => Err(Fault::unreadable("the text is not one vCard")),
        }
    }

    /// As vCard text. What was not changed is as it was read.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.card.write(&mut text);
        text
    }

    /// What the card says.
    #[must_use]
    pub fn contact(&self) -> Contact {
        let first = |name: &str, separator: char| {
            let value = self.card.get(name).map(|property| property.value).unwrap_or_default();
            split_escaped(&value, separator).into_iter().map(unescaped).collect::<Vec<String>>()
        };
        let mut name = self.card.text("FN");
        if name.trim().is_empty() {
            let parts = first("N", ';');
            let part = |at: usize| parts.get(at).map(String::as_str).unwrap_or_default();
            name = [part(3), part(1), part(2), part(0), part(4)].join(" ");
            name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        let values =
            |name: &str| self.card.lines(name).map(value_of).filter(|value| !value.is_empty()).collect();
        Contact {
            id: self.card.text("UID"),
            name,
            emails: values("EMAIL"),
            phones: values("TEL"),
            organization: first("ORG", ';').into_iter().next().unwrap_or_default(),
            notes: self.card.text("NOTE"),
        }
    }

    /// Writes what differs; the id stays the card's.
    ///
    /// # Errors
    /// [`crate::Kind::Params`] when the card has no id or the contact no name.
    pub fn change(&mut self, new: &Contact, stamp: DateTime<Utc>) -> Result<(), Fault> {
        let old = self.contact();
        if old.id.trim().is_empty() || new.name.trim().is_empty() {
            return Err(Fault::params("a contact needs an id and a name"));
        }
        if old.name != new.name || self.card.lines("FN").next().is_none() {
            self.card.set("FN", [Line::new("FN", &[], &escaped(&new.name))]);
            let (given, family) = new.name.trim().rsplit_once(' ').unwrap_or((new.name.trim(), ""));
            let parts = [escaped(family), escaped(given.trim()), String::new(), String::new(), String::new()];
            self.card.set("N", [Line::new("N", &[], &parts.join(";"))]);
        }
        let is_3 = self.card.text("VERSION").trim() != "4.0";
        let kind: &[(&str, &str)] = if is_3 { &[("TYPE", "INTERNET")] } else { &[] };
        self.set_all("EMAIL", kind, &old.emails, &new.emails);
        self.set_all("TEL", &[], &old.phones, &new.phones);
        if old.organization != new.organization {
            let line = Line::new("ORG", &[], &escaped(&new.organization));
            self.card.set("ORG", (!new.organization.is_empty()).then_some(line));
        }
        if old.notes != new.notes {
            let line = Line::new("NOTE", &[], &escaped(&new.notes));
            self.card.set("NOTE", (!new.notes.is_empty()).then_some(line));
        }
        self.card.set("REV", [Line::new("REV", &[], &stamp.format("%Y%m%dT%H%M%SZ").to_string())]);
        Ok(())
    }

    /// Writes a list; the lines of values that stay keep their parameters, and with the line of one that
    /// goes its label goes.
    fn set_all(&mut self, name: &str, params: &[(&str, &str)], old: &[String], new: &[String]) {
        if old == new {
            return;
        }
        let is_kept = |line: &Line| new.contains(&value_of(line));
        let lines = || self.card.lines(name);
        let gone: Vec<String> = lines()
            .filter(|line| !is_kept(line))
            .filter_map(|line| line.group().map(str::to_owned))
            .collect();
        let line = |value: &String| {
            let known = lines().find(|line| value_of(line) == *value).cloned();
            known.unwrap_or_else(|| Line::new(name, params, &escaped(value)))
        };
        let written: Vec<Line> = new.iter().map(line).collect();
        self.card.set(name, written);
        self.card.nodes.retain(|node| match node {
            Node::Line(line) => {
                !(line.is("X-ABLABEL")
                    && line.group().is_some_and(|group| gone.iter().any(|gone| gone == group)))
            }
            Node::Part(_) => true,
        });
    }
}

/// An address or a number; version 4 writes numbers as `tel:` addresses.
fn value_of(line: &Line) -> String {
    let value = line.read().text();
    let value = value.trim();
    let bare = ["tel:", "mailto:"].iter().find_map(|scheme| {
        value
            .get(..scheme.len())
            .filter(|start| start.eq_ignore_ascii_case(scheme))
            .map(|_| &value[scheme.len()..])
    });
    bare.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests;
