//! The accepted tools as skills.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_config::McpConfig;
use adjutant_store::pins::PinRow;
use adjutant_types::Risk;

use super::McpTool;
use super::definition::Definition;
use crate::definition::schema_problem;
use crate::{Domain, Skill};

/// How much all servers together may add to each request, in bytes.
const CATALOGUE: usize = 600;
/// The longest line of one server.
const MAX_LINE: usize = 240;
/// The longest second part of a skill's name.
const MAX_WORD: usize = 36;
const MAX_SCHEMA: usize = 64 * 1024;

/// The domains of these servers, of what an owner has accepted.
pub(super) fn domains(servers: &BTreeMap<String, McpConfig>, pins: &[PinRow]) -> Vec<Domain> {
    let share = (CATALOGUE / servers.len().max(1)).min(MAX_LINE);
    servers.iter().filter_map(|(name, config)| domain(name, config, pins, share)).collect()
}

fn domain(server: &str, config: &McpConfig, pins: &[PinRow], share: usize) -> Option<Domain> {
    let pins = pins.iter().filter(|pin| pin.owner == server && is_allowed(config, &pin.item));
    let mut words = BTreeSet::new();
    let mut skills = Vec::new();
    for pin in pins {
        let Some(definition) = Definition::read(&pin.definition) else { continue };
        if unusable(&definition).is_some() {
            continue;
        }
        let word = unique(&pin.item, &mut words);
        let tool = McpTool {
            server: server.to_owned(),
            name: pin.item.clone(),
            digest: pin.digest.clone(),
            only_reads: definition.only_reads(),
            timeout: config.timeout,
        };
        let risk = risk_of(config, &pin.item);
        skills.push(Arc::new(Skill::of_tool(
            tool,
            &word,
            definition.summary(),
            risk,
            definition.parameters(),
        )));
    }
    if skills.is_empty() {
        return None;
    }
    let summary = summary(server, &words, share);
    let file = format!("[mcp.{server}]");
    Some(Domain { name: server.to_owned(), summary, skills, unavailable: Vec::new(), file })
}

/// `MCP, 12 skills: get_issue, search_issues, …`, as far as there is room.
fn summary(server: &str, words: &BTreeSet<String>, share: usize) -> String {
    let mut text = format!("MCP, {} skills", words.len());
    for (index, word) in words.iter().enumerate() {
        let separator = if index == 0 { ": " } else { ", " };
        // The name, its colon, the ellipsis and the end of the line.
        if server.len() + text.len() + separator.len() + word.len() + 8 > share {
            text.push_str(if index == 0 { "" } else { ", …" });
            return text;
        }
        text.push_str(separator);
        text.push_str(word);
    }
    text
}

/// Why a tool can't be offered; none if it can.
pub(super) fn unusable(definition: &Definition) -> Option<String> {
    let schema = definition.parameters();
    if schema.get("type").is_none_or(|name| name != "object") {
        return Some("its arguments aren't a table".to_owned());
    }
    if schema.to_string().len() > MAX_SCHEMA {
        return Some("its schema is larger than 64 KB".to_owned());
    }
    schema_problem(&schema).map(|problem| format!("its schema can't be checked: {problem}"))
}

/// Whether the configuration lets a tool in.
pub(super) fn is_allowed(config: &McpConfig, tool: &str) -> bool {
    config.allow.is_empty() || config.allow.iter().any(|pattern| matches(pattern, tool))
}

/// The risk by the longest pattern that matches.
pub(super) fn risk_of(config: &McpConfig, tool: &str) -> Risk {
    let matching = config.risk.iter().filter(|(pattern, _)| matches(pattern, tool));
    matching.max_by_key(|(pattern, _)| pattern.len()).map_or(Risk::High, |(_, risk)| *risk)
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

/// A tool's name as the second part of a skill's name.
fn word(tool: &str) -> String {
    let mut word = String::new();
    let mut was_small = false;
    for char in tool.chars() {
        if char.is_ascii_uppercase() && was_small {
            word.push('_');
        }
        was_small = char.is_ascii_lowercase() || char.is_ascii_digit();
        match char.to_ascii_lowercase() {
            char if char.is_ascii_alphanumeric() => word.push(char),
            _ if !word.is_empty() && !word.ends_with('_') => word.push('_'),
            _ => {}
        }
    }
    let mut word = word.trim_end_matches('_').to_owned();
    if !word.starts_with(|first: char| first.is_ascii_lowercase()) {
        word.insert_str(0, "tool_");
    }
    word.truncate(MAX_WORD);
    word.trim_end_matches('_').to_owned()
}

fn unique(tool: &str, words: &mut BTreeSet<String>) -> String {
    let plain = word(tool);
    let mut candidate = plain.clone();
    for number in 2.. {
        if words.insert(candidate.clone()) {
            break;
        }
        candidate = format!("{plain}_{number}");
    }
    candidate
}

#[cfg(test)]
mod tests {
    use adjutant_config::{McpClient, McpLaunch};
    use serde_json::json;

    use super::*;

    fn config() -> McpConfig {
        let url = "https://mcp.example.org".into();
        let launch =
            McpLaunch::Url { url, headers: BTreeMap::new(), oauth: None, client: McpClient::default() };
        McpConfig::new(launch)
    }

    fn pin(server: &str, tool: &str) -> PinRow {
        let definition = Definition {
            name: tool.into(),
            title: None,
            description: Some("Does something that takes a long sentence to describe".into()),
            schema: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
            output: None,
            hints: json!(null),
        };
        PinRow {
            owner: server.into(),
            item: tool.into(),
            digest: definition.digest(),
            definition: definition.text(),
            approved_at: 0,
        }
    }

    #[test]
    fn any_name_becomes_a_word_of_its_own() {
        let mut words = BTreeSet::new();
        let names =
            ["search-issues", "getIssue", "search_issues", "7zip", "日本", "日本", "a.b/c--d", "HTTPGet"];
        let made: Vec<String> = names.iter().map(|name| unique(name, &mut words)).collect();
        assert_eq!(
            made,
            [
                "search_issues",
                "get_issue",
                "search_issues_2",
                "tool_7zip",
                "tool",
                "tool_2",
                "a_b_c_d",
                "httpget"
            ]
        );
        assert!(made.iter().all(|word| crate::is_word(word)));
    }

    #[test]
    fn a_pattern_has_stars() {
        for (pattern, text, fits) in [
            ("search_*", "search_issues", true),
            ("search_*", "research_issues", false),
            ("*_issue", "get_issue", true),
            ("*a*b*", "xaxbx", true),
            ("*a*b", "xbxa", false),
            ("ab*ba", "aba", false),
            ("get", "get", true),
            ("", "get", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
        let mut config = config();
        config.risk = BTreeMap::from([("*".into(), Risk::Medium), ("get_*".into(), Risk::Low)]);
        assert_eq!((risk_of(&config, "get_it"), risk_of(&config, "put_it")), (Risk::Low, Risk::Medium));
    }

    #[test]
    fn a_hundred_and_fifty_five_tools_of_fourteen_servers_add_600_bytes_at_most() {
        let names: Vec<String> = (0..14).map(|number| format!("server_number_{number}")).collect();
        let servers: BTreeMap<String, McpConfig> =
            names.iter().map(|name| (name.clone(), config())).collect();
        let pins: Vec<PinRow> = (0..155)
            .map(|number| pin(&names[number % 14], &format!("search_many_things_{number}")))
            .collect();
        let domains = domains(&servers, &pins);
        assert_eq!(domains.iter().map(|domain| domain.skills.len()).sum::<usize>(), 155);
        let without = crate::Registry::new(Vec::new()).catalogue().len();
        let added = crate::Registry::new(domains).catalogue().len() - without;
        assert!(added <= CATALOGUE, "{added}");
    }

    #[test]
    fn a_tool_whose_schema_we_cannot_check_is_not_offered() {
        let mut odd = Definition::read(&pin("s", "t").definition).unwrap();
        assert_eq!(unusable(&odd), None);
        odd.schema = json!({"type": "object", "properties": {"a": {"$ref": "https://example.org/schema"}}});
        assert!(unusable(&odd).is_some());
        odd.schema = json!({"type": "string"});
        assert_eq!(unusable(&odd).as_deref(), Some("its arguments aren't a table"));
    }
}
