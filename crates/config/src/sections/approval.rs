//! `[approval]`: whether a skill runs, asks first or is refused, by its risk or its name.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{NaiveDateTime, NaiveTime};

use crate::document::Node;
use crate::error::suggestion;
use crate::read::{ConfigReader, Section, count, flag, optional_span, whole};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    Auto,
    Ask,
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub low: Policy,
    pub medium: Policy,
    pub high: Policy,
    /// For single skills by name, whatever their risk.
    pub skills: BTreeMap<String, Policy>,
    /// When nobody is asked for what nobody waits for.
    pub quiet_hours: Option<QuietHours>,
    /// After how long silence is a yes to an email; none: only a yes is one.
    pub send_delay: Option<Duration>,
    /// For how many days people may allow something in advance; 0: not at all.
    pub rule_days: u64,
    /// How many calls one such rule may allow.
    pub rule_uses: u32,
    /// Whether 👍 under a question is a yes.
    pub reactions: bool,
}

/// A time of each day, in a person's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    from: NaiveTime,
    to: NaiveTime,
}

impl QuietHours {
    /// Reads `22:00-07:00`.
    pub fn read(text: &str) -> Option<Self> {
        let time = |text: &str| NaiveTime::parse_from_str(text.trim(), "%H:%M").ok();
        let (from, to) = text.split_once('-')?;
        let hours = Self { from: time(from)?, to: time(to)? };
        (hours.from != hours.to).then_some(hours)
    }

    pub fn end(self, now: NaiveDateTime) -> Option<NaiveDateTime> {
        let (from, to, time) = (self.from, self.to, now.time());
        let is_over_midnight = from > to;
        let is_now = if is_over_midnight { time >= from || time < to } else { time >= from && time < to };
        let day = if is_over_midnight && time >= from { now.date().succ_opt()? } else { now.date() };
        is_now.then(|| day.and_time(to))
    }
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            low: Policy::Auto,
            medium: Policy::Auto,
            high: Policy::Ask,
            skills: BTreeMap::new(),
            quiet_hours: None,
            send_delay: None,
            rule_days: 30,
            rule_uses: 100,
            reactions: false,
        }
    }
}

impl Approval {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        let mut approval = Self::default();
        section.set("low", &mut approval.low, policy);
        section.set("medium", &mut approval.medium, policy);
        section.set("high", &mut approval.high, policy);
        approval.skills = section.entries("skills", policy);
        approval.quiet_hours = section.get("quiet_hours", quiet_hours);
        section.set("send_delay", &mut approval.send_delay, delay);
        section.set("rule_days", &mut approval.rule_days, days);
        section.set("rule_uses", &mut approval.rule_uses, count);
        section.set("reactions", &mut approval.reactions, flag);
        approval
    }
}

pub(super) fn quiet_hours(value: &Node, _: &ConfigReader<'_>) -> Result<QuietHours, String> {
    let hours = value.as_str().and_then(QuietHours::read);
    hours.ok_or_else(|| "must be two times, such as \"22:00-07:00\"".to_owned())
}

fn delay(value: &Node, reader: &ConfigReader<'_>) -> Result<Option<Duration>, String> {
    let delay = optional_span(value, reader)?;
    let is_short = delay.is_none_or(|delay| delay <= Duration::from_hours(1));
    if is_short { Ok(delay) } else { Err("must be at most 1h".to_owned()) }
}

fn days(value: &Node, reader: &ConfigReader<'_>) -> Result<u64, String> {
    let days = whole(value, reader)?;
    if days <= 366 { Ok(days) } else { Err("must be at most 366".to_owned()) }
}

fn policy(value: &Node, _: &ConfigReader<'_>) -> Result<Policy, String> {
    match value.as_str() {
        Some("auto") => Ok(Policy::Auto),
        Some("ask") => Ok(Policy::Ask),
        Some("deny") => Ok(Policy::Deny),
        Some(other) => {
            Err(format!("unknown word {other:?}; {}", suggestion(other, &["auto", "ask", "deny"])))
        }
        None => Err(format!("must be \"auto\", \"ask\" or \"deny\", not {}", value.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_end_the_next_morning_or_the_same_day() {
        let time = |text: &str| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap();
        let night = QuietHours::read("22:00-07:00").unwrap();
        assert_eq!(night.end(time("2026-11-24 22:00")), Some(time("2026-11-25 07:00")));
        assert_eq!(night.end(time("2026-11-25 06:59")), Some(time("2026-11-25 07:00")));
        assert_eq!(night.end(time("2026-11-25 07:00")), None);
        let noon = QuietHours::read("12:00 - 13:00").unwrap();
        assert_eq!(noon.end(time("2026-11-24 12:30")), Some(time("2026-11-24 13:00")));
        assert_eq!(noon.end(time("2026-11-24 13:30")), None);
        for text in ["", "22:00", "22:00-22:00", "22-7", "25:00-07:00", "-"] {
            assert_eq!(QuietHours::read(text), None, "{text}");
        }
    }
}
