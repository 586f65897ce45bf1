//! Contacts.

use serde_json::{Value, json};

use super::query::{shown, text};
use super::{Answered, Asked, State, merge, missing, touch, wrong};

static CONTACT: [&str; 12] = [
    "id",
    "displayName",
    "givenName",
    "surname",
    "emailAddresses",
    "mobilePhone",
    "businessPhones",
    "homePhones",
    "companyName",
    "personalNotes",
    "lastModifiedDateTime",
    "singleValueExtendedProperties",
];

impl State {
    pub(super) fn contacts(&mut self, asked: &Asked, person: &str, path: &[&str]) -> Answered {
        let (shown_ones, writable) = (&CONTACT[..11], [&CONTACT[1..10], &CONTACT[11..]].concat());
        match (asked.request.method.as_str(), path) {
            ("GET", ["contactFolders"]) => self.list(asked, Vec::new(), &["id", "displayName"]),
            ("GET", ["contacts"]) => {
                asked.options(&["$select", "$expand", "$filter", "$top"])?;
                let all = self.mailbox(person).contacts.clone();
                self.list(asked, all, shown_ones)
            }
            ("POST", ["contacts"]) => {
                let mut contact = json!({"id": self.next("AAMk/contact=")});
                merge(&mut contact, &checked(asked.json(&writable)?)?);
                let version = self.next("version");
                touch(&mut contact, version, self.now);
                self.mailbox(person).contacts.push(contact.clone());
                Ok(contact)
            }
            (method, ["contacts", id]) => {
                let (version, now) = (self.next("version"), self.now);
                let all = &mut self.mailbox(person).contacts;
                let at = all.iter().position(|contact| text(contact, "id") == *id).ok_or_else(missing)?;
                let contact = all.get_mut(at).ok_or_else(missing)?;
                match method {
                    "GET" => shown(asked, contact, shown_ones),
                    "PATCH" => {
                        asked.check_version(contact)?;
                        merge(contact, &checked(asked.json(&writable)?)?);
                        touch(contact, version, now);
                        Ok(contact.clone())
                    }
                    "DELETE" => {
                        asked.check_version(contact)?;
                        all.remove(at);
                        Ok(Value::Null)
                    }
                    _ => Err(wrong("a contact can't do that")),
                }
            }
            _ => Err(wrong("there is no such address")),
        }
    }
}

/// A contact holds only so many addresses and numbers.
fn checked(contact: Value) -> Answered {
    for (list, most) in [("emailAddresses", 3), ("businessPhones", 2), ("homePhones", 2)] {
        if contact[list].as_array().is_some_and(|all| all.len() > most) {
            return Err(wrong(format!("too many {list}")));
        }
    }
    Ok(contact)
}
