//! `[[watches]]`.

use adjutant_types::clock::when::When;
use adjutant_types::watches::MAX_WATCHES;
use adjutant_types::{Bounds, Condition, WatchAction, WatchTrigger};
use chrono_tz::Tz;

use super::approval::quiet_hours;
use super::assistant::owner;
use crate::document::Node;
use crate::read::{ConfigReader, Section, amount, count, flag, one_of, path, span, text};

/// A watch that the owner wrote into the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchConfig {
    pub name: String,
    /// Whom it tells, `CHANNEL:USER-ID`.
    pub person: String,
    pub trigger: WatchTrigger,
    pub condition: Condition,
    pub action: WatchAction,
    /// As in a watch: what to do, or `/run NAME`.
    pub words: String,
    pub bounds: Bounds,
    pub folder: Option<String>,
}

pub(crate) fn folder(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    path(value, reader).map(|path| path.display().to_string())
}

/// A day ends in this zone.
pub(crate) fn read(root: &mut Section<'_>, zone: Tz) -> Vec<WatchConfig> {
    let all = root.tables("watches", |section| WatchConfig::read(section, zone));
    let all: Vec<WatchConfig> = all.into_iter().flatten().collect();
    let is_twice = |(at, watch): (usize, &WatchConfig)| all[..at].iter().any(|it| it.name == watch.name);
    if all.len() > MAX_WATCHES {
        root.problem("watches", format!("must be at most {MAX_WATCHES}"));
    } else if all.iter().enumerate().any(is_twice) {
        root.problem("watches", "two have the same name");
    }
    all
}

impl WatchConfig {
    fn read(section: &mut Section<'_>, zone: Tz) -> Option<Self> {
        // Rooms and web addresses are watched by those who ask for it in a chat.
        use WatchTrigger::{EventBegins, EventChanges, File, Mail, TaskDue};
        let triggers = [Mail, EventBegins, EventChanges, TaskDue, File].map(|it| (it.as_str(), it));
        let name = section.needed("name", "what you call it, such as \"invoices\"", text);
        let person = section.needed("person", "whom it tells, such as \"telegram:123\"", owner);
        let trigger = section.needed("on", "what sets it off, such as \"mail\"", |value, reader| {
            one_of(value, reader, &triggers)
        });
        let actions = [WatchAction::Tell, WatchAction::Run, WatchAction::Ask].map(|it| (it.as_str(), it));
        let mut action = WatchAction::Tell;
        section.set("do", &mut action, |value, reader| one_of(value, reader, &actions));
        let words = match action {
            WatchAction::Tell => Some(String::new()),
            WatchAction::Ask => section.needed("words", "what to do", text),
            WatchAction::Run => {
                section.needed("workflow", "which workflow to run", text).map(|name| format!("/run {name}"))
            }
        };
        let condition = Condition {
            from: section.list("from", text),
            subject: section.list("subject", text),
            text: section.list("text", text),
            attachment: section.get("attachment", flag),
            outside: section.get("outside", flag),
            is_answer: section.get("answers", flag).unwrap_or_default(),
            minutes: section.get("minutes", count).unwrap_or(15),
            judge: section.get("judge", text),
        };
        let least = match condition.is_everything() && trigger == Some(WatchTrigger::Mail) {
            true => Bounds::MIN_EVERY_S_OF_ALL,
            false => Bounds::MIN_EVERY_S,
        };
        let every = section.get("every", span).and_then(|every| i64::try_from(every.as_secs()).ok());
        let bounds = Bounds {
            every_s: every.unwrap_or(least).max(least),
            quiet: section.get("quiet", quiet),
            until: section
                .get("until", |value, reader| Ok(When::parse(&text(value, reader)?, zone)?.deadline(zone))),
            nano_usd_day: section.get("usd_per_day", amount).map(|usd| (usd * 1e9).round() as i64),
        };
        let folder = match trigger {
            Some(WatchTrigger::File) => {
                Some(section.needed("folder", "one of [watching] folders", folder)?)
            }
            _ => None,
        };
        let (name, person, trigger, words) = (name?, person?, trigger?, words?);
        Some(Self { name, person, trigger, condition, action, words, bounds, folder })
    }
}

fn quiet(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let hours = text(value, reader)?;
    quiet_hours(value, reader).map(|_| hours)
}
