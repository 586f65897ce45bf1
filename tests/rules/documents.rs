//! What the documents point at is there.

use std::sync::LazyLock;

use regex::Regex;

use crate::{assert_none, files, regex, root};

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
