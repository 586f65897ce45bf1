//! What a model may read for a task, and what it must be told because nobody can know it.

use std::sync::LazyLock;

use regex::Regex;

use super::super::check::World;
use crate::config::Policy;
use crate::skills::risk::policy;
use crate::skills::{Risk, Skill};

/// Words that name something to read in, and the skills that read there.
const READING: [(&str, &[&str]); 6] = [
    (r"e-?mails|mails|inbox|mailbox|my e-?mail", &["email.search", "email.read"]),
    (r"calendar|agenda|diary|appointments|meetings", &["calendar.list_events", "calendar.search"]),
    (r"contacts|address book", &["contacts.search", "contacts.get"]),
    (r"web|website|web site|homepage|internet|web ?page|https?://\S+", &["web.fetch"]),
    (r"memory|memories|remembered|what (?:you|we) know", &["memory.search"]),
    (r"my (?:open )?tasks|to-?dos|to-?do list", &["tasks.search"]),
];

static READS: LazyLock<Vec<(Regex, &'static [&'static str])>> = LazyLock::new(|| {
    let compiled = READING.iter().map(|(words, skills)| {
        Regex::new(&format!(r"(?i)(?:^|[^\w-])(?:{words})(?:$|[^\w-])")).map(|regex| (regex, *skills))
    });
    compiled.filter_map(Result::ok).collect()
});

/// The reading skills whose things a text plainly names, as far as they are there and may be used.
pub(super) fn readers(text: &str, world: &World<'_>) -> Vec<String> {
    let named = READS.iter().filter(|(words, _)| words.is_match(text)).flat_map(|(_, skills)| *skills);
    named.filter(|skill| usable(skill, world).is_some()).map(|skill| (*skill).to_owned()).collect()
}

/// A skill that is there and may be used.
pub(super) fn usable<'w>(name: &str, world: &World<'w>) -> Option<&'w Skill> {
    let skill = world.skills.get(name)?;
    (policy(world.approval, name, skill.risk) != Policy::Deny).then_some(skill.as_ref())
}

/// Whether a skill changes nothing.
pub(super) fn only_reads(skill: &Skill) -> bool {
    const READ: [&str; 11] = [
        "check_availability",
        "fetch",
        "get",
        "list",
        "list_events",
        "read",
        "read_channel",
        "read_thread",
        "search",
        "status",
        "user_info",
    ];
    let verb = skill.name.rsplit('.').next().unwrap_or_default();
    skill.risk == Risk::Low && READ.contains(&verb)
}

/// Whether a skill's result has `items`.
pub(super) fn gives_list(skill: &str) -> bool {
    ["search", "list", "list_events"].contains(&skill.rsplit('.').next().unwrap_or_default())
}

/// Things that one speaks of as "the company" and that mean another one each time.
const THINGS: &[&str] = &[
    "applicant",
    "book",
    "candidate",
    "city",
    "client",
    "company",
    "competitor",
    "country",
    "customer",
    "lead",
    "patient",
    "person",
    "product",
    "project",
    "prospect",
    "supplier",
    "topic",
    "vendor",
    "website",
];

/// The things that a text speaks of as known, and that it does not name: "research the company". Not among them is
/// what the text goes on to tell: "the company Acme", "the company that wrote to us".
pub(super) fn unknown(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let is_open = |thing: &&&str| {
        let name = format!("the {thing}");
        let mut ends = text.match_indices(&name).map(|(at, name)| (at, at + name.len())).peekable();
        ends.peek().is_some()
            && ends.all(|(start, end)| {
                let before = text.get(..start).unwrap_or_default();
                let after = text.get(end..).unwrap_or_default();
                let is_word = before.is_empty() || before.ends_with([' ', '\n', '(']);
                let ends = ["and ", "or ", "is ", "in detail", "briefly", "thoroughly", "well"];
                let stops = after.trim().is_empty()
                    || after.starts_with(['.', ',', ';', ':', '!', '?', ')', '\'', '’', '\n'])
                    || ends.iter().any(|word| after.trim_start().starts_with(word));
                is_word && stops
            })
    };
    THINGS.iter().filter(is_open).copied().collect()
}

/// The thing that a text is, and no more: "the company".
pub(super) fn thing(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    THINGS.iter().find(|thing| text.strip_prefix("the ") == Some(**thing)).copied()
}
