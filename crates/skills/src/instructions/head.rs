//! The head of a `SKILL.md`, read leniently: people write it by hand, and not all of them know YAML.

use adjutant_config::document::Document;
use serde_json::{Map, Value};

/// The keys with which a head may begin that nobody has opened.
const KEYS: [&str; 3] = ["name", "description", "license"];
/// The largest head, in bytes.
const MAX_SIZE: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    pub(crate) name: Option<String>,
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    /// The tools that it wants to be allowed; none if it says nothing of tools.
    pub(crate) allowed_tools: Option<Vec<String>>,
    /// The environment variables that its scripts need.
    pub variables: Vec<String>,
}

/// Reads the head, and returns it with the text behind it.
pub(crate) fn read(text: &str) -> Result<(Head, &str), String> {
    let text = text.trim_start_matches('\u{feff}');
    let (head, body) = split(text).ok_or("it has no head: `---`, `name:`, `description:`, `---`")?;
    if head.len() > MAX_SIZE {
        return Err("its head is larger than 16 KB".to_owned());
    }
    let table = table(head);
    let word = |names: &[&str]| names.iter().find_map(|name| text_of(&table, name));
    let description = word(&["description"]).ok_or("its head has no `description`")?;
    let allowed = ["allowed-tools", "allowed_tools", "allowedTools"];
    let allowed_tools = allowed.iter().find_map(|name| field(&table, name)).map(tools);
    let mut variables = variables(&Value::Object(table.clone()), false);
    variables.sort();
    variables.dedup();
    let head = Head {
        name: word(&["name"]),
        description,
        license: word(&["license", "licence"]),
        compatibility: word(&["compatibility"]),
        allowed_tools,
        variables,
    };
    Ok((head, body))
}

/// The names that stand under `env`: at the top, or in the metadata of a registry, as words, a list or a table.
fn variables(value: &Value, is_env: bool) -> Vec<String> {
    let is_of_name = |byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_');
    let is_name = |word: &&str| !word.is_empty() && word.bytes().all(is_of_name);
    let names =
        |text: &str| -> Vec<String> { text.split([',', ' ']).filter(is_name).map(str::to_owned).collect() };
    match value {
        Value::String(text) if is_env => names(text),
        Value::Array(items) => items.iter().flat_map(|item| variables(item, is_env)).collect(),
        Value::Object(fields) => {
            let of_field = |(key, value): (&String, &Value)| {
                let own = if is_env { names(key) } else { Vec::new() };
                [own, variables(value, key == "env" || is_env && key == "name")].concat()
            };
            fields.iter().flat_map(of_field).collect()
        }
        _ => Vec::new(),
    }
}

/// The lines between the first two `---`, and the rest. Blank lines may stand before, and the first `---` may be missing
/// if the text begins with a key. A head that nobody closes ends at its first blank line or heading.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(['\r', '\n', ' ', '\t']);
    let opened = text.strip_prefix("---").map(|rest| rest.trim_start_matches(['-', ' ', '\t']));
    let rest = match opened {
        Some(rest) => rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?,
        None => {
            let (key, _) = entry(text.lines().next()?)?;
            KEYS.iter().any(|name| key.eq_ignore_ascii_case(name)).then_some(text)?
        }
    };
    let (mut at, mut open_end) = (0, None);
    for line in rest.split_inclusive('\n') {
        let bare = line.trim_end();
        if bare.len() >= 3 && bare.bytes().all(|byte| byte == b'-') || bare == "..." {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        if open_end.is_none() && (bare.is_empty() || bare.starts_with('#')) {
            open_end = Some(at);
        }
        // The rest is text, and a `---` in it is a rule.
        if open_end.is_some() && (opened.is_none() || !may_be_head(bare)) {
            break;
        }
        at += line.len();
    }
    let end = open_end.unwrap_or(rest.len());
    Some((&rest[..end], &rest[end..]))
}

fn may_be_head(line: &str) -> bool {
    line.is_empty() || line.starts_with([' ', '\t', '#', '-', '}', ']']) || entry(line).is_some()
}

/// The head as YAML, or as YAML with the usual slips repaired, or line by line.
fn table(head: &str) -> Map<String, Value> {
    let parse = |text: &str| match Document::yaml("SKILL.md", text).map(|head| head.root.json()) {
        Ok(Value::Object(table)) => Some(table),
        _ => None,
    };
    parse(head).or_else(|| parse(&repaired(head))).unwrap_or_else(|| lines(head))
}

/// A key at the start of a line, and its value.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    is_key.then(|| (key, value.trim()))
}

/// Quotes what needs quotes: values with a colon, a `#` or a sign that means something else at their start.
fn repaired(head: &str) -> String {
    let mut text = String::new();
    for line in head.lines() {
        let line = line.replace('\t', "  ");
        match entry(&line) {
            Some((key, value)) if !value.is_empty() && !is_whole(value) => {
                text.push_str(&format!("{key}: '{}'\n", value.replace('\'', "''")));
            }
            _ => {
                text.push_str(&line);
                text.push('\n');
            }
        }
    }
    text
}

/// Whether a value is quoted, a list, a table or a block already.
fn is_whole(value: &str) -> bool {
    let closed =
        |open: char, close: char| value.starts_with(open) && value.ends_with(close) && value.len() > 1;
    closed('"', '"')
        || closed('\'', '\'')
        || closed('[', ']')
        || closed('{', '}')
        || matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+")
}

/// The keys at the start of lines, each with its line and the indented ones that follow.
fn lines(head: &str) -> Map<String, Value> {
    let mut table = Map::new();
    let mut last: Option<String> = None;
    for line in head.lines() {
        if let Some((key, value)) = entry(line) {
            let value = value.trim_matches(['"', '\'']);
            let value = if is_whole(value) { "" } else { value };
            last = Some(key.to_owned());
            table.entry(key).or_insert_with(|| Value::from(value));
        } else if let Some(Value::String(text)) = last.as_ref().and_then(|key| table.get_mut(key)) {
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    table
}

fn field<'t>(table: &'t Map<String, Value>, name: &str) -> Option<&'t Value> {
    table.iter().find(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn text_of(table: &Map<String, Value>, name: &str) -> Option<String> {
    let text = match field(table, name)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return None,
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// A list, or words in a text: `Bash(git add:*), Read`.
fn tools(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) => {
            let (mut all, mut tool, mut depth) = (Vec::new(), String::new(), 0_u32);
            for next in text.chars() {
                match next {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if depth == 0 && (next == ',' || next.is_whitespace()) {
                    all.push(std::mem::take(&mut tool));
                } else {
                    tool.push(next);
                }
            }
            all.push(tool);
            all.retain(|tool| !tool.is_empty());
            all
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shapes as they are found in the wild: the text, then name, description and tools.
    #[test]
    fn a_head_is_read_in_every_shape() {
        let tools = |list: &[&str]| Some(list.iter().map(|tool| (*tool).to_owned()).collect::<Vec<_>>());
        for (text, name, description, allowed) in [
            ("---\nname: pdf\ndescription: Fill forms\n---\n# PDF\n", "pdf", "Fill forms", None),
            ("\u{feff}---\r\nname: pdf\r\ndescription: Fill forms\r\n---\r\nBody", "pdf", "Fill forms", None),
            ("\n\n---\nname: a\ndescription: >\n  Two\n  lines\n---\n", "a", "Two lines", None),
            ("---\nname: a\ndescription: |-\n  Two\n  lines\n---\n", "a", "Two lines", None),
            (
                "---\nname: a\ndescription: Use when: the user asks\n---\n",
                "a",
                "Use when: the user asks",
                None,
            ),
            ("---\nname: a\ndescription: It's \"odd\": yes # no\n---\n", "a", "It's \"odd\": yes # no", None),
            ("---\nname: a\ndescription: \"Quoted: yes\"\n---\n", "a", "Quoted: yes", None),
            ("---\nname: a\ndescription: @me and `you`\n---\n", "a", "@me and `you`", None),
            ("---\nname: a\ndescription: [draft] sums up\n---\n", "a", "[draft] sums up", None),
            ("---\nname: a\ndescription: x\nmetadata: {author: me, version: \"1.0\"}\n---\n", "a", "x", None),
            ("---\nname: a\ndescription: x\nmetadata:\n\tauthor: me\n---\n", "a", "x", None),
            ("---\nname: 7\ndescription: x\n---\n", "7", "x", None),
            ("---\nName: A\nDescription: x\n---\n", "A", "x", None),
            ("---\nname: a\ndescription: never closed\n\n# Body\n", "a", "never closed", None),
            ("name: a\ndescription: not opened\n---\nBody", "a", "not opened", None),
            ("description: not: opened\nname: a\n\n# Body", "a", "not: opened", None),
            ("---\nname: a\n\n# where it is from\ndescription: x\n---\n", "a", "x", None),
            ("---\nname: a\ndescription: open\n\n# Body\n\nText\n\n---\n\nMore", "a", "open", None),
            ("-----\nname: a\ndescription: x\n-----\n", "a", "x", None),
            (
                "---\nname: a\ndescription: x\nallowed-tools: Bash(git add:*), Read\n---\n",
                "a",
                "x",
                tools(&["Bash(git add:*)", "Read"]),
            ),
            (
                "---\nname: a\ndescription: x\nallowed-tools: [Read, Grep]\n---\n",
                "a",
                "x",
                tools(&["Read", "Grep"]),
            ),
            ("---\nname: a\ndescription: x\nallowed-tools:\n  - Read\n---\n", "a", "x", tools(&["Read"])),
            ("---\nname: a\ndescription: x\nallowed-tools: []\n---\n", "a", "x", tools(&[])),
        ] {
            let (head, _) = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (head.name.as_deref(), head.description.as_str(), head.allowed_tools),
                (Some(name), description, allowed),
                "{text}"
            );
        }
        assert_eq!(read("---\nname: a\ndescription: x\n---\nBody\n").unwrap().1, "Body\n");
        let open = "name: a\ndescription: open\n\n# Body\n\n---\n\nMore";
        assert_eq!(read(open).unwrap().1, "\n# Body\n\n---\n\nMore", "a rule in the text ends no head");
    }

    #[test]
    fn the_variables_are_found_where_archives_put_them() {
        for (head, variables) in [
            ("env: [B_KEY, A_KEY]", &["A_KEY", "B_KEY"][..]),
            ("env: A_KEY, _X9", &["A_KEY", "_X9"]),
            ("env:\n  - name: A_KEY\n    required: true", &["A_KEY"]),
            ("env:\n  A_KEY: to call the service", &["A_KEY"]),
            ("metadata: {\"hub\": {\"requires\": {\"bins\": [\"X\"], \"env\": [\"A_KEY\"]}}}", &["A_KEY"]),
            ("compatibility: NEEDS env A_KEY", &[]),
        ] {
            let (head, _) = read(&format!("---\nname: a\ndescription: x\n{head}\n---\n")).unwrap();
            assert_eq!(head.variables, variables, "{head:?}");
        }
    }

    #[test]
    fn without_a_description_it_is_refused() {
        for text in ["", "# Only a text\n", "---\nname: a\n---\n", "---\nname: a\ndescription:\n---\n", "---"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        // As deep as a head can be: it may be read line by line, but must end.
        let deep = format!("---\ndescription: x\na: {}\n---\n", "[".repeat(16_000));
        assert_eq!(read(&deep).map(|(head, _)| head.description), Ok("x".to_owned()));
        let bomb = format!("---\na: &a [x, x]\nb: &b [*a, *a]\n{}\n---\n", "c: y\n".repeat(9000));
        assert_eq!(read(&bomb).unwrap_err(), "its head is larger than 16 KB");
    }
}
