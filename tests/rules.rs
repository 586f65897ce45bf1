//! The rules of the house, checked by reading the sources. Each rule is a function from text to
//! faults, and each has a test with a bad sample, so that none can pass by looking away.

#![cfg(test)] // so that the lints know the helpers for tests too

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest, Sha256};

/// Lines of a file, its tests left out.
const LONGEST_FILE: usize = 400;

/// Which rooms of `src/` a room may use, and which crates of `adapters/`. `*` is all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("service", &["*"]),
    ("cli", &["*"]),
    ("gateway", &["conversation", "journal", "wording", "store", "metrics", "clock", "adjutant_chat"]),
    (
        "conversation",
        &[
            "orchestrator",
            "workflows",
            "model",
            "journal",
            "trace",
            "wording",
            "store",
            "metrics",
            "clock",
            "adjutant_chat",
        ],
    ),
    (
        "orchestrator",
        &[
            "workflows",
            "agents",
            "skills",
            "graph",
            "model",
            "journal",
            "wording",
            "store",
            "metrics",
            "clock",
            "adjutant_chat",
        ],
    ),
    ("agents", &["skills", "model", "journal", "wording", "store", "clock"]),
    (
        "skills",
        &[
            "journal",
            "wording",
            "config",
            "document",
            "template",
            "store",
            "metrics",
            "clock",
            "suggest",
            "adjutant_mail",
            "adjutant_dav",
            "adjutant_chat",
        ],
    ),
    (
        "workflows",
        &[
            "agents",
            "skills",
            "graph",
            "model",
            "journal",
            "trace",
            "wording",
            "config",
            "document",
            "template",
            "store",
            "metrics",
            "clock",
            "suggest",
            "adjutant_chat",
        ],
    ),
    ("graph", &["store"]),
    ("trace", &["agents", "model", "store", "clock", "adjutant_chat", "adjutant_otlp"]),
    ("journal", &["model", "config", "store", "clock", "adjutant_chat"]),
    ("wording", &["journal", "model", "adjutant_chat"]),
    ("model", &["metrics", "clock", "suggest", "adjutant_chat"]),
    ("store", &["clock", "adjutant_chat"]),
    ("logging", &["config"]),
    ("config", &["clock", "document", "suggest"]),
    ("document", &["suggest"]),
    ("template", &[]),
    ("metrics", &[]),
    ("clock", &[]),
    ("suggest", &[]),
    ("domain", &[]),
    ("lifecycle", &[]),
    ("heap", &[]),
    ("http", &["adjutant_chat"]),
];

// The sources.

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file under a folder of the repository with this ending: its path in the repository and its text.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                if name != "target" && name != ".git" {
                    walk(&path, ending, into);
                }
            } else if name.to_string_lossy().ends_with(ending) {
                into.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(folder), ending, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

fn sources() -> Vec<(String, String)> {
    let sources = files("src", ".rs");
    assert!(sources.iter().any(|(path, _)| path == "src/lib.rs"), "the sources were not found");
    sources
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// A file without the tests at its end.
fn without_tests(text: &str) -> &str {
    static TESTS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?m)^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*(?:pub(?:\(\w+\))? )?mod "));
    TESTS.find(text).map_or(text, |tests| &text[..tests.start()])
}

/// A file without tests and comments; its lines keep their numbers.
fn code(text: &str) -> String {
    static COMMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)(^|[^:])//.*$"));
    COMMENT.replace_all(without_tests(text), "$1").into_owned()
}

/// Where a pattern is found in a text, a fault each.
fn finds(path: &str, text: &str, pattern: &Regex, why: &str) -> Vec<String> {
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let fault =
        |found: regex::Match<'_>| format!("{path}:{}: `{}`: {why}", line(found.start()), found.as_str());
    pattern.find_iter(text).map(fault).collect()
}

#[track_caller]
fn assert_none(faults: impl IntoIterator<Item = String>) {
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn tests_and_comments_are_told_from_code() {
    let text = "let a = \"http://x\"; // Slack\n/// Slack\n#[cfg(test)]\nfn helper() {}\n#[cfg(test)]\nmod tests {}\n";
    assert_eq!(code(text), "let a = \"http://x\"; \n\n#[cfg(test)]\nfn helper() {}\n");
    assert_eq!(without_tests("a\n#[cfg(test)]\n#[path = \"x\"]\npub(crate) mod tests;\n"), "a\n");
}

// Files stay small.

fn too_long(path: &str, text: &str) -> Vec<String> {
    let lines = without_tests(text).lines().count();
    let is_long = lines > LONGEST_FILE && !is_test_file(path);
    is_long
        .then(|| format!("{path}: {lines} lines without its tests; it holds two things, part them"))
        .into_iter()
        .collect()
}

#[test]
fn files_are_short() {
    assert_none(
        sources().into_iter().chain(files("adapters", ".rs")).flat_map(|(path, text)| too_long(&path, &text)),
    );
}

#[test]
fn files_are_short_can_fail() {
    let long = "x\n".repeat(LONGEST_FILE + 1);
    assert_eq!(too_long("src/a.rs", &long).len(), 1);
    assert_eq!(too_long("src/a.rs", &format!("x\n#[cfg(test)]\nmod tests {{\n{long}}}\n")).len(), 0);
    assert_eq!(too_long("src/a/tests.rs", &long).len(), 0);
}

// A room uses only what it may.

fn room(path: &str) -> &str {
    let path = path.trim_start_matches("src/");
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// The first names after `crate::`, also those in braces, and the crates of `adapters/`.
fn used(code: &str) -> BTreeSet<String> {
    static PATHS: LazyLock<Regex> = LazyLock::new(|| regex(r"\bcrate::(\w+|\{[^;]*\})"));
    static INNER: LazyLock<Regex> = LazyLock::new(|| regex(r"\{[^{}]*\}"));
    static CRATES: LazyLock<Regex> = LazyLock::new(|| regex(r"\badjutant_\w+"));
    let mut used: BTreeSet<String> = CRATES.find_iter(code).map(|found| found.as_str().to_owned()).collect();
    for path in PATHS.captures_iter(code) {
        let Some(group) = path[1].strip_prefix('{').and_then(|group| group.strip_suffix('}')) else {
            used.insert(path[1].to_owned());
            continue;
        };
        let mut group = group.to_owned();
        while INNER.is_match(&group) {
            group = INNER.replace_all(&group, "").into_owned();
        }
        let first = |name: &str| name.trim().split("::").next().unwrap_or_default().trim().to_owned();
        used.extend(group.split(',').map(first).filter(|name| !name.is_empty()));
    }
    used
}

fn strays(path: &str, text: &str) -> Vec<String> {
    let room = room(path);
    if matches!(room, "lib" | "main") || is_test_file(path) {
        return Vec::new();
    }
    let Some((_, may)) = MAY_USE.iter().find(|(name, _)| *name == room) else {
        return vec![format!("{path}: the room `{room}` is not in the table of rooms")];
    };
    let strays = used(&code(text)).into_iter();
    let strays = strays.filter(|name| {
        name != room && name != "domain" && !may.contains(&"*") && !may.contains(&name.as_str())
    });
    strays.map(|name| format!("{path}: the room `{room}` may not use `{name}`")).collect()
}

#[test]
fn rooms_use_only_what_they_may() {
    assert_none(sources().iter().flat_map(|(path, text)| strays(path, text)));
}

#[test]
fn rooms_use_only_what_they_may_can_fail() {
    assert_eq!(strays("src/store/mod.rs", "use crate::clock::Clock;\nuse crate::store::x;"), [""; 0]);
    assert_eq!(strays("src/store/mod.rs", "use crate::skills::Registry;").len(), 1);
    assert_eq!(strays("src/clock.rs", "fn f() { crate::store::open() }").len(), 1);
    let grouped =
        "use crate::{\n    clock::{Clock, SharedClock},\n    gateway::{a::{b, c}, d},\n    config,\n};";
    assert_eq!(used(grouped).into_iter().collect::<Vec<_>>(), ["clock", "config", "gateway"]);
    assert_eq!(strays("src/model/mod.rs", grouped).len(), 2);
    assert_eq!(strays("src/agents/mod.rs", "use adjutant_chat::Outbound;").len(), 1);
    assert_eq!(strays("src/kitchen/mod.rs", "").len(), 1);
}

// Platforms and databases are named where they belong.

fn platforms(path: &str, text: &str) -> Vec<String> {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)discord|telegram|slack"));
    if path == "src/service/channels.rs" || path.starts_with("src/config/") {
        return Vec::new();
    }
    finds(path, &code(text), &NAMES, "platforms are named in service/channels.rs and the configuration alone")
}

fn databases(path: &str, text: &str) -> Vec<String> {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\w*(?:sqlite|postgres)\w*"));
    if path == "src/store/backend.rs" || path.starts_with("src/config/") || is_test_file(path) {
        return Vec::new();
    }
    finds(path, &code(text), &NAMES, "databases are named in store/backend.rs alone")
}

#[test]
fn platforms_and_databases_are_named_where_they_belong() {
    assert_none(
        sources().iter().flat_map(|(path, text)| [platforms(path, text), databases(path, text)].concat()),
    );
}

#[test]
fn platforms_and_databases_are_named_where_they_belong_can_fail() {
    assert_eq!(
        platforms("src/gateway/x.rs", "// Slack\nlet a = \"telegram\";"),
        [
            "src/gateway/x.rs:2: `telegram`: platforms are named in service/channels.rs and the configuration alone"
        ]
    );
    assert_eq!(platforms("src/gateway/x.rs", "enum A { Discord }").len(), 1);
    assert_eq!(platforms("src/service/channels.rs", "adjutant_slack").len(), 0);
    assert_eq!(databases("src/store/tasks.rs", "use sqlx::SqlitePool;").len(), 1);
    assert_eq!(databases("src/store/tasks.rs", "if url.starts_with(\"postgres\") {}").len(), 1);
    assert_eq!(databases("src/store/backend.rs", "SqlitePool").len(), 0);
}

// Both databases have the same migrations.

fn unpaired(sqlite: &BTreeSet<String>, postgres: &BTreeSet<String>) -> Vec<String> {
    sqlite
        .symmetric_difference(postgres)
        .map(|name| format!("migrations: {name} is there for one database only"))
        .collect()
}

#[test]
fn migrations_are_paired() {
    let names = |folder: &str| {
        let names = files(folder, ".sql").into_iter();
        names.map(|(path, _)| path.rsplit('/').next().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_none(unpaired(&names("migrations/sqlite"), &names("migrations/postgres")));
}

#[test]
fn migrations_are_paired_can_fail() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(unpaired(&set(&["1.sql", "2.sql"]), &set(&["1.sql", "3.sql"])).len(), 2);
    assert_eq!(unpaired(&set(&["1.sql"]), &set(&["1.sql"])).len(), 0);
}

// What has landed of the migrations is never edited: a store that has applied one refuses another text of it.

#[test]
fn migrations_that_have_landed_are_as_they_were() {
    let text = |(path, text): (String, String)| {
        let digest = Sha256::digest(text.as_bytes());
        let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("{digest} {path}")
    };
    // 0009 is still being written.
    let landed = files("migrations", ".sql").into_iter().filter(|(path, _)| !path.contains("/0009_"));
    let digests: Vec<String> = landed.map(text).collect();
    insta::assert_snapshot!(digests.join("\n"), @"
    7ded1f1ee085 migrations/postgres/0001_engine.sql
    b1216fd778f6 migrations/postgres/0002_channels.sql
    691b9ce147e5 migrations/postgres/0003_office.sql
    48fe2b27eda2 migrations/postgres/0004_schedules.sql
    1e236091a020 migrations/postgres/0005_budgets.sql
    a7fec7ed6022 migrations/postgres/0006_retention.sql
    bdc61746e34b migrations/postgres/0007_runs.sql
    952ea4979ce5 migrations/postgres/0008_files.sql
    98accb936f5e migrations/sqlite/0001_engine.sql
    b1216fd778f6 migrations/sqlite/0002_channels.sql
    691b9ce147e5 migrations/sqlite/0003_office.sql
    48fe2b27eda2 migrations/sqlite/0004_schedules.sql
    1e236091a020 migrations/sqlite/0005_budgets.sql
    a7fec7ed6022 migrations/sqlite/0006_retention.sql
    e25e39360f76 migrations/sqlite/0007_runs.sql
    952ea4979ce5 migrations/sqlite/0008_files.sql
    ");
}

// Adapters don't know the engine, nor one another.

fn engine_in_adapter(path: &str, manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut faults = Vec::new();
    for (kind, also) in
        [("dependencies", ""), ("build-dependencies", ""), ("dev-dependencies", "adjutant-fakes")]
    {
        let names =
            manifest.get(kind).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
        let ours = names.filter(|name| *name == "adjutant" || name.starts_with("adjutant-"));
        let strays = ours.filter(|name| *name != "adjutant-chat" && *name != also);
        faults.extend(strays.map(|name| format!("{path}: an adapter knows adjutant-chat, not {name}")));
    }
    faults
}

#[test]
fn adapters_know_the_chat_words_alone() {
    let manifests = files("adapters", "Cargo.toml");
    assert!(manifests.len() >= 2, "the adapters were not found");
    assert_none(manifests.iter().flat_map(|(path, text)| engine_in_adapter(path, text)));
}

#[test]
fn adapters_know_the_chat_words_alone_can_fail() {
    let faults = |text: &str| engine_in_adapter("adapters/x/Cargo.toml", text).len();
    assert_eq!(faults("[dependencies]\nadjutant-chat.workspace = true\nserde = \"1\""), 0);
    assert_eq!(faults("[dev-dependencies]\nadjutant-fakes.workspace = true"), 0);
    assert_eq!(faults("[dependencies]\nadjutant = { path = \"../..\" }"), 1);
    assert_eq!(
        faults("[dependencies]\nadjutant-console.workspace = true\nadjutant-fakes.workspace = true"),
        2
    );
    assert_eq!(faults("[dev-dependencies.adjutant]\npath = \"../..\""), 1);
}

// Nothing is left undone, no lint is silenced for good.

fn unfinished(path: &str, text: &str) -> Vec<String> {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(?:todo|unimplemented)!|#!?\[allow\b"));
    finds(path, text, &WORDS, "finish it; and say why with #[expect(.., reason = \"..\")]")
}

#[test]
fn nothing_is_unfinished() {
    let all = ["src", "adapters", "tests", "benches"].into_iter().flat_map(|folder| files(folder, ".rs"));
    let others = all.filter(|(path, _)| path != "tests/rules.rs");
    assert_none(others.flat_map(|(path, text)| unfinished(&path, &text)));
}

#[test]
fn nothing_is_unfinished_can_fail() {
    for text in
        ["fn f() { todo!() }", "unimplemented!(\"later\")", "#[allow(dead_code)]", "#![allow(unused)]"]
    {
        assert_eq!(unfinished("a.rs", text).len(), 1, "{text}");
    }
    assert_eq!(unfinished("a.rs", "#[expect(dead_code, reason = \"x\")] fn my_todo() {}").len(), 0);
}

// What the documents point at is there.

/// The targets of a document's relative links.
fn links(text: &str) -> Vec<String> {
    static FENCED: LazyLock<Regex> = LazyLock::new(|| regex(r"(?ms)^```.*?^```|`[^`\n]*`"));
    static LINK: LazyLock<Regex> = LazyLock::new(|| regex(r"\]\(<?([^)>\s#]+)[^)]*\)"));
    let text = FENCED.replace_all(text, "");
    let targets = LINK.captures_iter(&text).map(|link| link[1].to_owned());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

fn dead_links(path: &str, text: &str) -> Vec<String> {
    let full = root().join(path);
    let dead = links(text).into_iter().filter(|target| !full.parent().unwrap().join(target).exists());
    dead.map(|target| format!("{path}: the link to {target} leads nowhere")).collect()
}

#[test]
fn links_lead_somewhere() {
    assert_none(files(".", ".md").iter().flat_map(|(path, text)| dead_links(path, text)));
}

#[test]
fn links_lead_somewhere_can_fail() {
    let text = "[a](Cargo.toml) [b](nowhere.md#x) [c](https://example.org/) [d](#here) `[e](no.md)`\n```\n[f](no.md)\n```\n";
    assert_eq!(dead_links("README.md", text), ["README.md: the link to nowhere.md leads nowhere"]);
    assert_eq!(dead_links("adapters/x.md", "[up](../Cargo.toml)"), [""; 0]);
}
