//! What the guides show is so: commands, keys of the configuration, files and messages.

use std::path::Path;
use std::sync::LazyLock;

use adjutant::cli::Cli;
use adjutant_config::{Config, Env};
use clap::CommandFactory;
use clap::error::ErrorKind;
use regex::Regex;
use xtask::source;

use crate::documents::without_blocks;
use crate::{assert_none, files, regex, root};

/// The pages for people who use, run or extend the program: path and text.
pub(crate) fn pages() -> Vec<(String, String)> {
    let pages: Vec<_> = files("docs", ".md").into_iter().chain(top()).collect();
    assert!(pages.len() > 25, "the pages were not found");
    pages
}

/// Those at the top, such as the README.
fn top() -> Vec<(String, String)> {
    let all = std::fs::read_dir(root()).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| name.ends_with(".md"));
    pages.map(|name| (name.clone(), std::fs::read_to_string(root().join(name)).unwrap())).collect()
}

/// The lines that are shown as code, and the spans inside of the text.
fn code(text: &str) -> Vec<String> {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| regex(r"(?ms)^ *```(\w*)\n(.*?)^ *```"));
    static SPAN: LazyLock<Regex> = LazyLock::new(|| regex(r"`([^`]+)`"));
    let blocks: Vec<_> =
        BLOCK.captures_iter(text).filter(|block| ["", "sh", "text"].contains(&&block[1])).collect();
    let lines = blocks.iter().flat_map(|block| block[2].lines()).map(|line| line.trim().to_owned());
    let prose = without_blocks(text);
    let indented = prose.lines().filter(|line| line.starts_with("    ")).map(|line| line.trim().to_owned());
    let spans =
        SPAN.captures_iter(&prose).map(|span| span[1].split_whitespace().collect::<Vec<_>>().join(" "));
    lines.chain(indented).chain(spans).collect()
}

/// The words of a line that calls the program, without what a page says about it: behind two spaces, a `#` or a `>`.
fn command(line: &str) -> Option<Vec<String>> {
    static START: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:sudo |[A-Z_]+=\S+ )*adjutant "));
    static END: LazyLock<Regex> = LazyLock::new(|| regex(r"  | [#>|;]"));
    static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?:[^\s"]|"[^"]*")+"#));
    let rest = &line[START.find(line)?.end()..];
    let rest = END.split(rest).next().unwrap_or_default();
    // `[ID]` and `...` say that a word may be left out or repeated.
    let words = WORD.find_iter(rest).map(|word| word.as_str().replace('"', ""));
    let words = words.filter(|word| word != "..." && !word.starts_with('['));
    Some(std::iter::once("adjutant".to_owned()).chain(words).collect())
}

fn wrong_commands(path: &str, text: &str) -> Vec<String> {
    let wrong = |line: String| {
        let error = Cli::command().try_get_matches_from(command(&line)?).err()?;
        // A page may name a command without its arguments.
        let is_fine = matches!(
            error.kind(),
            ErrorKind::DisplayHelp
                | ErrorKind::DisplayVersion
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                | ErrorKind::MissingSubcommand
                | ErrorKind::MissingRequiredArgument
        );
        (!is_fine).then(|| format!("{path}: `{line}`: {}", error.kind()))
    };
    code(text).into_iter().filter_map(wrong).collect()
}

#[test]
fn commands_are_the_programs() {
    let pages = pages();
    let named = pages.iter().flat_map(|(_, text)| code(text)).filter(|line| command(line).is_some()).count();
    assert!(named > 200, "only {named} commands were found");
    assert_none(pages.iter().flat_map(|(path, text)| wrong_commands(path, text)));
}

#[test]
fn commands_are_the_programs_can_fail() {
    let text = "`adjutant serv` `adjutant db export` `sudo adjutant --version`\n\n    adjutant plan show [ID]   shows one\n\n\
                ```sh\nA=b adjutant usage --weekly   # of late\nadjutant chat --once \"a b\" > c\n```\n`adjutant memory\nforget A B`\n";
    let wrong = wrong_commands("a.md", text);
    assert_eq!(wrong.len(), 3, "{wrong:?}");
    assert!(wrong[0].starts_with("a.md: `A=b adjutant usage --weekly   # of late`: "), "{wrong:?}");
    assert!(wrong[1].starts_with("a.md: `adjutant serv`: "), "{wrong:?}");
    assert!(wrong[2].starts_with("a.md: `adjutant memory forget A B`: "), "{wrong:?}");
}

/// The blocks that are parts of the configuration: they begin with a table, and are no file of skills.
fn configurations(text: &str) -> Vec<String> {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| regex(r"(?ms)^ *```toml\n(.*?)^ *```"));
    let blocks = BLOCK.captures_iter(text).map(|block| block[1].to_owned());
    let first =
        |block: &str| block.lines().map(str::trim).find(|line| !line.starts_with('#')).map(str::to_owned);
    let is_one = |block: &String| {
        first(block).is_some_and(|line| line.starts_with('[') && !line.starts_with("[[skill"))
    };
    blocks.filter(is_one).collect()
}

/// What isn't known in the blocks of a page. They are parts, so something may be missing.
fn unknown_keys(path: &str, text: &str) -> Vec<String> {
    let env = Env::made_up([("HOME", "/home/ada")], "/nowhere");
    let problems = |block: String| {
        let read = Config::of_text(&block, Path::new("config.toml"), &env);
        read.err().map(|error| error.problems).unwrap_or_default()
    };
    let messages = configurations(text).into_iter().flat_map(problems).map(|problem| problem.to_string());
    let wrong = messages.filter(|message| message.contains("unknown ") || message.contains("not TOML"));
    wrong.map(|message| format!("{path}: {message}")).collect()
}

#[test]
fn keys_are_those_of_the_configuration() {
    let pages = pages();
    let checked: usize = pages.iter().map(|(_, text)| configurations(text).len()).sum();
    assert!(checked > 35, "only {checked} blocks were found");
    assert_none(pages.iter().flat_map(|(path, text)| unknown_keys(path, text)));
}

#[test]
fn keys_are_those_of_the_configuration_can_fail() {
    let text = "```toml\n[store]\nurl = \"sqlite:///x\"\nuri = \"y\"\n```\n```toml\nname = \"x\"\n```\n```toml\n[[skill]]\na = 1\n```\n";
    assert_eq!(
        unknown_keys("a.md", text),
        ["a.md: config.toml:3: store.uri: unknown key; did you mean `url`?"]
    );
}

fn missing_files(path: &str, text: &str) -> Vec<String> {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^(?:\.ci|\.config|adapters|benches|crates|docs|migrations|src|systemd|tests|xtask)/[\w./-]+$")
    });
    static SPAN: LazyLock<Regex> = LazyLock::new(|| regex(r"`([^`\s]+)`"));
    let prose = without_blocks(text);
    let named = SPAN.captures_iter(&prose).map(|span| span[1].to_owned()).filter(|name| NAMED.is_match(name));
    let missing = named.filter(|name| !root().join(name).exists());
    missing.map(|name| format!("{path}: there is no {name}")).collect()
}

#[test]
fn files_that_pages_name_are_there() {
    assert_none(pages().iter().flat_map(|(path, text)| missing_files(path, text)));
}

#[test]
fn files_that_pages_name_are_there_can_fail() {
    let text = "`src/main.rs` `src/nothing.rs` `tests/rules` `etc/passwd`";
    assert_eq!(missing_files("a.md", text), ["a.md: there is no src/nothing.rs"]);
}

/// The messages in the first columns of a page's tables. `…` stands for what differs.
fn messages(text: &str) -> Vec<String> {
    static CELL: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\| (.*?) \| "));
    static SPAN: LazyLock<Regex> = LazyLock::new(|| regex(r"`([^`]+)`"));
    let cells: Vec<String> = CELL.captures_iter(text).map(|cell| cell[1].to_owned()).collect();
    cells.iter().flat_map(|cell| SPAN.captures_iter(cell)).map(|span| span[1].to_owned()).collect()
}

/// All that the program can say: its sources and its messages, with the texts that go over several lines in one.
fn words_of_the_program() -> String {
    static CONTINUED: LazyLock<Regex> = LazyLock::new(|| regex(r"\\\n\s*"));
    let sources = source::workspace(root()).unwrap().into_iter().map(|source| source.text);
    let messages = files("crates/l10n/messages/en", ".ftl").into_iter().map(|(_, text)| text);
    let all: Vec<String> = sources.chain(messages).collect();
    CONTINUED.replace_all(&all.join("\n"), "").replace("\\\"", "\"")
}

/// The lines that a page shows as the program's screens, with `…` for what is made up.
fn screens(text: &str) -> Vec<String> {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| regex(r"(?ms)^ *```text\n(.*?)^ *```"));
    // A mark or a number in front, and behind it what may be answered.
    static AROUND: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:✓ |\d\. )|:? ?\*+$| ?\[[^\]]*\]:$|  +"));
    static MADE_UP: LazyLock<Regex> = LazyLock::new(|| {
        let names =
            "Europe/Berlin|Telegram|Discord|Slack|Ollama|ollama|qwen3:8b|ada_assistant_bot|“hi”|--user";
        regex(&format!(r"{names}|~/\S+|ask @userinfobot, \S+bot|\b(?:\d{{3,}}|Ada|written)\b"))
    });
    let blocks =
        BLOCK.captures_iter(text).map(|block| block[1].to_owned()).filter(|block| !block.starts_with('›'));
    let blocks: Vec<String> = blocks.collect();
    let lines = blocks.iter().flat_map(|block| block.lines()).map(str::trim);
    let lines = lines.map(|line| AROUND.replace_all(line, "…").into_owned());
    lines.map(|line| MADE_UP.replace_all(&line, "…").into_owned()).filter(|line| !line.is_empty()).collect()
}

fn unsaid(messages: &[String], words: &str) -> Vec<String> {
    let is_said = |message: &String| {
        message.split('…').map(str::trim).all(|part| part.is_empty() || words.contains(part))
    };
    messages.iter().filter(|message| !is_said(message)).cloned().collect()
}

#[test]
fn messages_that_have_a_remedy_are_the_programs() {
    let page = std::fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let messages = messages(&page);
    assert!(messages.len() > 80, "only {} messages were found", messages.len());
    assert_none(unsaid(&messages, &words_of_the_program()));
}

#[test]
fn screens_are_the_programs() {
    let page = std::fs::read_to_string(root().join("docs/getting-started.md")).unwrap();
    let lines = screens(&page);
    assert!(lines.len() > 20, "only {} lines were found", lines.len());
    assert_none(unsaid(&lines, &words_of_the_program()));
}

#[test]
fn messages_that_have_a_remedy_are_the_programs_can_fail() {
    let page = "| you see | cause |\n| --- | --- |\n| `can't read …: …`, then `never said` | a |\n| `nor this` | b |\n| a symptom | c |\n";
    let said = "format!(\"can't read {path}: {why}\")";
    assert_eq!(unsaid(&messages(page), said), ["never said", "nor this"]);
    let screens = screens("```text\n  1. Hi Ada. Is it you? [Y/n]:\nNo\n```\n```text\n› hi\n```\n");
    assert_eq!(screens, ["…Hi …. Is it you?…", "No"]);
}
