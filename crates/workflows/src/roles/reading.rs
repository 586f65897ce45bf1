//! Reads a role's file: TOML, or Markdown whose head is YAML and whose body is the prompt.

use std::time::Duration;

use adjutant_config::document::{
    Document, MAX_FILE, Node, Position, Problem, Problems, Severity, Table, Value,
};
use adjutant_types::clock::duration;
use adjutant_types::{AccessLevel, ContextMode};

/// The longest prompt, in bytes. Longer ones would take the place of the work.
const MAX_PROMPT: usize = 32 * 1024;
const MAX_DESCRIPTION: usize = 1024;
const MAX_DURATION: Duration = Duration::from_hours(1);
const MAX_CALLS: u32 = 1000;
/// The default of `context_limit`, in tokens.
const CONTEXT_LIMIT: u32 = 12_000;
#[rustfmt::skip]
const KEYS: [&str; 15] = [
    "name", "description", "prompt", "prompt_file", "model", "skills", "deny", "effects", "accounts", "max_model_calls",
    "max_skill_calls", "max_duration", "context", "context_limit", "delegates_to",
];

/// A role as its file has it: patterns and names aren't resolved yet.
#[derive(Debug, Clone)]
pub(super) struct ReadRole {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) prompt: Prompt,
    pub(super) model: Option<String>,
    pub(super) skills: Vec<Named>,
    /// Names of tools in a foreign file's own terms.
    pub(super) tools: Vec<Named>,
    pub(super) deny: Vec<Named>,
    pub(super) effects: AccessLevel,
    pub(super) accounts: Option<Vec<Named>>,
    pub(super) max_model_calls: Option<u32>,
    pub(super) max_skill_calls: Option<u32>,
    pub(super) max_duration: Option<Duration>,
    pub(super) context: ContextMode,
    pub(super) context_limit: u32,
    pub(super) delegates_to: Vec<Named>,
    pub(super) file: String,
    /// The position in the file where the role begins.
    pub(super) at: Position,
    pub(super) warnings: Vec<Problem>,
}

/// A role's prompt, or the file that holds it.
#[derive(Debug, Clone)]
pub(super) enum Prompt {
    Text(String),
    File(String, Position),
}

/// A name or pattern, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) at: Position,
}

pub(super) fn read(file: &str, text: &str) -> Result<ReadRole, Vec<Problem>> {
    if text.len() > MAX_FILE {
        return Err(vec![Problem::of_file(file, format!("the file is longer than {} KB", MAX_FILE / 1024))]);
    }
    if file.trim_end_matches(" (built in)").ends_with(".toml") {
        let document = Document::toml(file, text);
        return read_table(&document, None);
    }
    let (head, body, line) = match parts(text) {
        Ok(parts) => parts,
        Err(message) => {
            let position = Position { line: 1, column: 0 };
            return Err(vec![Problem { position, ..Problem::of_file(file, message) }]);
        }
    };
    // The lines before the head stay, so that positions are those of the file.
    let head = format!("{}{head}", "\n".repeat(line));
    let document = Document::yaml(file, &head).map_err(|problem| vec![problem.by_line()])?;
    read_table(&document, Some(body))
}

/// The head of a Markdown file, its body, and how many lines come before the head.
fn parts(text: &str) -> Result<(&str, &str, usize), &'static str> {
    const HOW: &str =
        "the file has no head; begin it with a line ---, the keys in YAML, and another line ---";
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")).ok_or(HOW)?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok((&rest[..at], rest[at + line.len()..].trim(), 1));
        }
        at += line.len();
    }
    Err("the file's head has no end; write a line --- after it")
}

fn read_table(document: &Document<'_>, body: Option<&str>) -> Result<ReadRole, Vec<Problem>> {
    let mut problems = Problems::by_line(document);
    let Some(table) = Table::of(&document.root, "the role", &mut problems) else {
        return Err(problems.into_sorted());
    };
    allowed_only(&table, body.is_some(), &mut problems);
    let role = read_role(&table, body, &mut problems);
    let (warnings, errors): (Vec<_>, Vec<_>) =
        problems.into_sorted().into_iter().partition(Problem::is_warning);
    match role {
        Some(role) if errors.is_empty() => Ok(ReadRole { warnings, ..role }),
        _ => Err(errors.into_iter().chain(warnings).collect()),
    }
}

/// Files from elsewhere have keys of their own, which mean nothing here.
fn allowed_only(table: &Table<'_>, is_markdown: bool, problems: &mut Problems<'_>) {
    if !is_markdown {
        return table.only(&KEYS, problems);
    }
    let foreign = table.entries().iter().filter(|entry| !KEYS.contains(&entry.key.as_str()));
    for entry in foreign.filter(|entry| entry.key != "tools") {
        let message = format!("'{}' means nothing here and is left out", entry.key);
        problems.push(entry.at, None, Severity::Warning, message);
    }
}

fn read_role(table: &Table<'_>, body: Option<&str>, problems: &mut Problems<'_>) -> Option<ReadRole> {
    let name = read_name(table, problems);
    let description = read_description(table, problems);
    let prompt = read_prompt(table, body, problems);
    let counts = ["max_model_calls", "max_skill_calls"]
        .map(|key| table.get(key).and_then(|_| table.count(key, MAX_CALLS, problems)));
    let effects: Vec<(&str, AccessLevel)> =
        AccessLevel::ALL.iter().map(|level| (level.as_str(), *level)).collect();
    let modes: Vec<(&str, ContextMode)> =
        ContextMode::ALL.iter().map(|mode| (mode.as_str(), *mode)).collect();
    let role = ReadRole {
        name: name.clone().unwrap_or_default(),
        description: description.clone().unwrap_or_default(),
        prompt: prompt.clone().unwrap_or(Prompt::Text(String::new())),
        model: read_model(table, body.is_some(), problems),
        skills: names(table, "skills", problems),
        tools: if body.is_some() { names(table, "tools", problems) } else { Vec::new() },
        deny: names(table, "deny", problems),
        effects: table.choice("effects", &effects, problems).unwrap_or(AccessLevel::Read),
        accounts: table.get("accounts").map(|_| names(table, "accounts", problems)),
        max_model_calls: counts[0],
        max_skill_calls: counts[1],
        max_duration: read_duration(table, problems),
        context: table.choice("context", &modes, problems).unwrap_or(ContextMode::None),
        context_limit: table
            .get("context_limit")
            .and_then(|_| table.count("context_limit", 200_000, problems))
            .unwrap_or(CONTEXT_LIMIT),
        delegates_to: names(table, "delegates_to", problems),
        file: problems.document.file.to_owned(),
        at: Position { line: table.place("name").line.max(1), column: 0 },
        warnings: Vec::new(),
    };
    (name.is_some() && description.is_some() && prompt.is_some()).then_some(role)
}

fn read_name(table: &Table<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let name = table.scalar("name", problems)?;
    let is_plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if name.len() > 40
        || !name.starts_with(|first: char| first.is_ascii_lowercase())
        || !name.chars().all(is_plain)
    {
        let message = "a role's name has up to 40 small letters, digits, '-' and '_', a letter first";
        problems.add(table.place("name"), format!("'{name}' can't be a name: {message}"));
        return None;
    }
    Some(name)
}

fn read_description(table: &Table<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = table.text("description", problems)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() > MAX_DESCRIPTION {
        let message = format!("`description` is longer than {MAX_DESCRIPTION} bytes; say it in a line");
        problems.add(table.place("description"), message);
        return None;
    }
    Some(text)
}

fn read_prompt(table: &Table<'_>, body: Option<&str>, problems: &mut Problems<'_>) -> Option<Prompt> {
    let text = table.optional_text("prompt", problems);
    let file = table.optional_text("prompt_file", problems);
    let body = body.filter(|body| !body.is_empty());
    let prompt = match (text, file, body) {
        (Some(text), None, None) | (None, None, Some(text)) => Prompt::Text(text.trim().to_owned()),
        (None, Some(file), None) => Prompt::File(file.to_owned(), table.place("prompt_file")),
        (None, None, None) => {
            problems.add(table.at, "the role has no prompt: write `prompt` or `prompt_file`");
            return None;
        }
        _ => {
            problems.add(table.at, "the role has several prompts; write one");
            return None;
        }
    };
    if let Prompt::Text(text) = &prompt
        && let Some(message) = prompt_problem(text)
    {
        problems.add(table.place("prompt"), message);
        return None;
    }
    Some(prompt)
}

/// Why a text can't be a prompt.
pub(super) fn prompt_problem(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("the prompt is empty".into());
    }
    let is_long = text.len() > MAX_PROMPT;
    is_long.then(|| format!("the prompt has {} KB; the longest has {}", text.len() / 1024, MAX_PROMPT / 1024))
}

/// `model = { name = "..." }`. Files from elsewhere write names that mean something to another program.
fn read_model(table: &Table<'_>, is_markdown: bool, problems: &mut Problems<'_>) -> Option<String> {
    let node = table.get("model")?;
    if is_markdown && let Some(name) = node.as_str() {
        let message = format!("the model '{name}' is left out; to use one, write model: {{ name: \"...\" }}");
        problems.push(table.place("model"), None, Severity::Warning, message);
        return None;
    }
    let model = table.table("model", "the model", problems)?;
    model.only(&["name"], problems);
    model.scalar("name", problems)
}

fn read_duration(table: &Table<'_>, problems: &mut Problems<'_>) -> Option<Duration> {
    let text = table.optional_scalar("max_duration", problems)?;
    let error = match duration::parse(&text) {
        Ok(time) if time <= MAX_DURATION => return Some(time),
        Ok(_) => "the longest is \"1h\"".to_owned(),
        Err(error) => error,
    };
    problems.add(table.place("max_duration"), format!("`max_duration`: {error}"));
    None
}

/// A list of names; in YAML also one text with commas, as other programs write it.
fn names(table: &Table<'_>, key: &str, problems: &mut Problems<'_>) -> Vec<Named> {
    if let Some(Node { at, value: Value::Text(text) }) = table.get(key) {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        return words.map(|word| Named { text: word.to_owned(), at: *at }).collect();
    }
    let texts = table.texts(key, problems).into_iter();
    texts.map(|(text, at)| Named { text: text.trim().to_owned(), at }).collect()
}
