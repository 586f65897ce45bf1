//! Platforms and databases are named where they belong, and nothing is left unfinished.

use std::sync::LazyLock;

use regex::Regex;
use xtask::measures;
use xtask::source::Source;

use crate::{assert_none, engine, errors, files, finds, regex};

fn platforms(source: &Source) -> Vec<String> {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)discord|telegram|slack"));
    let path = &source.path;
    if path == "src/service/channels.rs" || path.starts_with("crates/config/") {
        return Vec::new();
    }
    finds(source, &NAMES, "platforms are named in service/channels.rs and the configuration alone")
}

fn databases(source: &Source) -> Vec<String> {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\w*(?:sqlite|postgres)\w*"));
    let path = &source.path;
    if path.starts_with("crates/store/src/database/backend") || path.starts_with("crates/config/") {
        return Vec::new();
    }
    finds(source, &NAMES, "databases are named in store/database/backend alone")
}

#[test]
fn platforms_and_databases_are_named_where_they_belong() {
    assert_none(engine().iter().flat_map(|source| [platforms(source), databases(source)].concat()));
}

#[test]
fn platforms_and_databases_are_named_where_they_belong_can_fail() {
    let platforms = |path: &str, text: &str| platforms(&Source::new(path, text));
    let databases = |path: &str, text: &str| databases(&Source::new(path, text));
    assert_eq!(
        platforms("crates/engine/src/gateway/x.rs", "// Slack\nlet a = \"telegram\";"),
        [
            "crates/engine/src/gateway/x.rs:2: `telegram`: platforms are named in service/channels.rs and the configuration alone"
        ]
    );
    assert_eq!(platforms("crates/engine/src/gateway/x.rs", "enum A { Discord }").len(), 1);
    assert_eq!(platforms("src/service/channels.rs", "adjutant_slack").len(), 0);
    assert_eq!(databases("crates/store/src/records/tasks.rs", "use sqlx::SqlitePool;").len(), 1);
    assert_eq!(
        databases("crates/store/src/records/tasks.rs", "if url.starts_with(\"postgres\") {}").len(),
        1
    );
    assert_eq!(databases("crates/store/src/database/backend.rs", "SqlitePool").len(), 0);
}

// Nothing is left undone, no lint is silenced for good.

fn unfinished(source: &Source) -> Vec<String> {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(?:todo|unimplemented)!|#!?\[allow\b"));
    errors(measures::find(source, &WORDS), "finish it; and say why with #[expect(.., reason = \"..\")]")
}

#[test]
fn nothing_is_unfinished() {
    let all =
        ["src", "crates", "adapters", "tests", "benches"].into_iter().flat_map(|folder| files(folder, ".rs"));
    assert_none(all.flat_map(|(path, text)| unfinished(&Source::whole(&path, &text))));
}

#[test]
fn nothing_is_unfinished_can_fail() {
    let errors = |text: &str| unfinished(&Source::whole("a.rs", text));
    for text in
        ["fn f() { todo!() }", "unimplemented!(\"later\")", "#[allow(dead_code)]", "#![allow(unused)]"]
    {
        assert_eq!(errors(text).len(), 1, "{text}");
    }
    assert_eq!(errors("#[expect(dead_code, reason = \"x\")] fn my_todo() {}").len(), 0);
}
