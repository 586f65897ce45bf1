//! A module uses only what it may.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use xtask::source::Source;

use crate::{assert_none, engine, files, regex};

/// Which modules of `src/` a module may use, and which crates of `adapters/`. `*` is all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("service", &["*"]),
    ("cli", &["*"]),
    (
        "gateway",
        &[
            "conversation",
            "memory",
            "journal",
            "model",
            "voice",
            "files",
            "wording",
            "store",
            "metrics",
            "clock",
            "adjutant_chat",
        ],
    ),
    ("voice", &["model", "clock", "adjutant_chat"]),
    ("files", &["store", "sandbox", "adjutant_mail"]),
    (
        "conversation",
        &[
            "orchestrator",
            "skills",
            "trust",
            "memory",
            "files",
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
    ("basic", &["agents", "skills", "clock"]),
    (
        "orchestrator",
        &[
            "basic",
            "workflows",
            "agents",
            "roles",
            "skills",
            "files",
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
    ("memory", &["model", "journal", "store", "clock"]),
    (
        "agents",
        &[
            "roles",
            "skills",
            "model",
            "journal",
            "wording",
            "store",
            "metrics",
            "clock",
            "suggest",
            "adjutant_chat",
        ],
    ),
    ("roles", &["skills", "graph", "document", "clock", "suggest"]),
    (
        "skills",
        &[
            "memory",
            "files",
            "journal",
            "trust",
            "model",
            "wording",
            "config",
            "sandbox",
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
            "roles",
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
    ("trace", &["agents", "model", "store", "trust", "wording", "clock", "adjutant_chat", "adjutant_otlp"]),
    ("journal", &["model", "config", "store", "clock", "trust", "adjutant_chat"]),
    ("wording", &["journal", "model", "store", "trust", "voice", "adjutant_chat"]),
    ("model", &["metrics", "clock", "suggest", "adjutant_chat"]),
    ("store", &["clock", "adjutant_chat"]),
    ("logging", &["config", "clock"]),
    ("config", &["clock", "document", "sandbox", "suggest"]),
    ("document", &["suggest"]),
    ("template", &[]),
    ("trust", &[]),
    ("metrics", &[]),
    ("clock", &["suggest"]),
    ("suggest", &["adjutant_chat"]),
    ("domain", &[]),
    ("sandbox", &[]),
    ("lifecycle", &[]),
    ("heap", &[]),
    ("http", &["adjutant_chat"]),
];

fn module(path: &str) -> &str {
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

fn forbidden(source: &Source) -> Vec<String> {
    let (path, module) = (&source.path, module(&source.path));
    if matches!(module, "lib" | "main") {
        return Vec::new();
    }
    let Some((_, may)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
        return vec![format!("{path}: the module `{module}` is not in the table of modules")];
    };
    // Every module may name the domain.
    let may = |name: &str| name == module || name == "domain" || may.contains(&"*") || may.contains(&name);
    let others = used(&source.code).into_iter().filter(|name| !may(name));
    others.map(|name| format!("{path}: the module `{module}` may not use `{name}`")).collect()
}

#[test]
fn modules_use_only_what_they_may() {
    assert_none(engine().iter().flat_map(forbidden));
}

#[test]
fn modules_use_only_what_they_may_can_fail() {
    let errors = |path: &str, text: &str| forbidden(&Source::new(path, text));
    assert_eq!(errors("src/store/mod.rs", "use crate::clock::Clock;\nuse crate::store::x;"), [""; 0]);
    assert_eq!(errors("src/store/mod.rs", "use crate::skills::Registry;").len(), 1);
    assert_eq!(errors("src/clock.rs", "fn f() { crate::store::open() }").len(), 1);
    let grouped =
        "use crate::{\n    clock::{Clock, SharedClock},\n    gateway::{a::{b, c}, d},\n    config,\n};";
    assert_eq!(used(grouped).into_iter().collect::<Vec<_>>(), ["clock", "config", "gateway"]);
    assert_eq!(errors("src/model/mod.rs", grouped).len(), 2);
    assert_eq!(errors("src/trust/mod.rs", "use adjutant_chat::Outbound;").len(), 1);
    assert_eq!(errors("src/kitchen/mod.rs", "").len(), 1);
}

// Adapters don't know the engine, nor one another.

fn engine_in_adapter(path: &str, manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut errors = Vec::new();
    for (kind, also) in
        [("dependencies", ""), ("build-dependencies", ""), ("dev-dependencies", "adjutant-fakes")]
    {
        let names =
            manifest.get(kind).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
        let ours = names.filter(|name| *name == "adjutant" || name.starts_with("adjutant-"));
        let others = ours.filter(|name| *name != "adjutant-chat" && *name != also);
        errors.extend(others.map(|name| format!("{path}: an adapter knows adjutant-chat, not {name}")));
    }
    errors
}

#[test]
fn adapters_know_the_chat_words_alone() {
    let manifests = files("adapters", "Cargo.toml");
    assert!(manifests.len() >= 2, "the adapters were not found");
    assert_none(manifests.iter().flat_map(|(path, text)| engine_in_adapter(path, text)));
}

#[test]
fn adapters_know_the_chat_words_alone_can_fail() {
    let errors = |text: &str| engine_in_adapter("adapters/x/Cargo.toml", text).len();
    assert_eq!(errors("[dependencies]\nadjutant-chat.workspace = true\nserde = \"1\""), 0);
    assert_eq!(errors("[dev-dependencies]\nadjutant-fakes.workspace = true"), 0);
    assert_eq!(errors("[dependencies]\nadjutant = { path = \"../..\" }"), 1);
    assert_eq!(
        errors("[dependencies]\nadjutant-console.workspace = true\nadjutant-fakes.workspace = true"),
        2
    );
    assert_eq!(errors("[dev-dependencies.adjutant]\npath = \"../..\""), 1);
}
