//! vCard 3 (RFC 2426) and 4 (RFC 6350).

use chrono::{DateTime, Utc};

use crate::content::{Component, Line, Node, after, escaped, split_escaped, unescaped};
use crate::{DavError, Result};

/// A contact. An empty text means that there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contact {
    /// The card's UID.
    pub id: String,
    pub name: String,
    /// Email addresses, in the card's order.
    pub emails: Vec<String>,
    /// Phone numbers as written.
    pub phones: Vec<String>,
    /// The organization, without its departments.
    pub organization: String,
    pub notes: String,
}

/// One card, kept as the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    card: Component,
}

impl Card {
    /// A new one, as vCard 3, which every server supports; `stamp` is the present time.
    pub fn new(contact: &Contact, stamp: DateTime<Utc>) -> Result<Self> {
        let mut card = Component::new("VCARD");
        card.push(Line::new("VERSION", &[], "3.0"));
        card.push(Line::new("UID", &[], &escaped(&contact.id)));
        let mut card = Self { card };
        card.change(contact, stamp)?;
        Ok(card)
    }

    pub fn read(text: &str) -> Result<Self> {
        let mut cards = Component::read_all(text)?.into_iter().filter(|part| part.is("VCARD"));
        match (cards.next(), cards.next()) {
            (Some(card), None) => Ok(Self { card }),
            _ => Err(DavError::tool("the text isn't a single vCard")),
        }
    }

    /// The vCard text. Lines that were not changed are as they were read.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.card.write(&mut text);
        text
    }

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

    /// Writes the fields that differ; the id stays.
    pub fn change(&mut self, new: &Contact, stamp: DateTime<Utc>) -> Result<()> {
        let old = self.contact();
        if old.id.trim().is_empty() || new.name.trim().is_empty() {
            return Err(DavError::params("a contact needs an id and a name"));
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

    /// Writes a list. Values that stay keep their parameters; removed ones lose their label, too.
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
            Node::Component(_) => true,
        });
    }
}

/// An address or number; vCard 4 writes numbers as `tel:` URIs.
fn value_of(line: &Line) -> String {
    let value = line.read().text();
    let value = value.trim();
    let bare = ["tel:", "mailto:"].iter().find_map(|scheme| after(value, scheme));
    bare.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests;
