//! `[assistant]`: its name, its time zone and its owners.

use adjutant_chat::suggest::nearest;
use chrono_tz::Tz;

use crate::document::Node;
use crate::read::{ConfigReader, Section, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assistant {
    pub name: String,
    /// The time zone of people who haven't set one.
    pub timezone: Tz,
    /// The owners, each `CHANNEL:USER-ID`.
    pub owner: Vec<String>,
}

impl Default for Assistant {
    fn default() -> Self {
        Self { name: "Adjutant".to_owned(), timezone: Tz::UTC, owner: Vec::new() }
    }
}

impl Assistant {
    pub(crate) fn read(section: &mut Section<'_>, mut assistant: Self) -> Self {
        section.set("name", &mut assistant.name, text);
        section.set("timezone", &mut assistant.timezone, zone);
        assistant.owner = section.list("owner", owner);
        assistant
    }
}

fn zone(value: &Node, reader: &ConfigReader<'_>) -> Result<Tz, String> {
    let name = text(value, reader)?;
    name.parse().map_err(|_| {
        let zones: Vec<_> = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()).collect();
        let hint = nearest(&name, zones.iter().copied()).map_or_else(
            || "write an IANA name such as \"Europe/Berlin\"".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        format!("unknown time zone {name:?}; {hint}")
    })
}

pub(super) fn owner(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let owner = text(value, reader)?;
    match owner.split_once(':') {
        Some((channel, user)) if !channel.is_empty() && !user.is_empty() => Ok(owner),
        _ => Err(format!("{owner:?} must be CHANNEL:USER-ID, such as \"telegram:123456789\"")),
    }
}
