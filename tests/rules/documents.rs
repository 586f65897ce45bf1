//! What the documents point at is there.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::{adapters, assert_none, engine, files, regex, root};

/// A document without its blocks of code.
pub(crate) fn without_blocks(text: &str) -> String {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| regex(r"(?ms)^ *```.*?^ *```"));
    BLOCK.replace_all(text, "").into_owned()
}

/// The targets of a document's relative links: a file, which may be empty, and an anchor.
fn links(text: &str) -> Vec<(String, Option<String>)> {
    static SPAN: LazyLock<Regex> = LazyLock::new(|| regex(r"`[^`\n]*`"));
    static LINK: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"(?:\]\(<?|src=")([^)>\s#"]*)(?:#([^)>\s"]+))?"#));
    let text = without_blocks(text);
    let text = SPAN.replace_all(&text, "");
    let targets = LINK.captures_iter(&text);
    let targets =
        targets.map(|link| (link[1].to_owned(), link.get(2).map(|anchor| anchor.as_str().to_owned())));
    targets.filter(|(file, _)| !file.contains("://") && !file.starts_with("mailto:")).collect()
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> HashSet<String> {
    let anchor = |heading: &str| -> String {
        let letters = heading.trim_start_matches('#').trim().to_lowercase();
        let letters = letters.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
        letters.map(|char| if char == ' ' { '-' } else { char }).collect()
    };
    without_blocks(text).lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

fn dead_link(folder: &Path, text: &str, (file, anchor): &(String, Option<String>)) -> Option<String> {
    let target = folder.join(file);
    if !file.is_empty() && !target.exists() {
        return Some(file.clone());
    }
    let anchor = anchor.as_ref().filter(|_| file.is_empty() || file.ends_with(".md"))?;
    let text = if file.is_empty() { text.to_owned() } else { std::fs::read_to_string(target).unwrap() };
    (!anchors(&text).contains(anchor)).then(|| format!("{file}#{anchor}"))
}

fn dead_links(path: &str, text: &str) -> Vec<String> {
    let full = root().join(path);
    let dead = links(text).into_iter().filter_map(|link| dead_link(full.parent().unwrap(), text, &link));
    dead.map(|target| format!("{path}: the link to {target} leads nowhere")).collect()
}

#[test]
fn links_lead_somewhere() {
    assert_none(files(".", ".md").iter().flat_map(|(path, text)| dead_links(path, text)));
}

#[test]
fn links_lead_somewhere_can_fail() {
    let text = "# It's **here**!\n[a](Cargo.toml) [b](nowhere.md#x) [c](https://example.org/#d) [d](#its-here) [e](#there) \
                [f](docs/promise.md#nothing) `[g](no.md)`\n```\n[h](no.md)\n```\n<img src=\"no.png\">";
    let dead = ["nowhere.md", "#there", "docs/promise.md#nothing", "no.png"];
    assert_eq!(
        dead_links("README.md", text),
        dead.map(|target| format!("README.md: the link to {target} leads nowhere"))
    );
    assert_eq!(dead_links("adapters/x.md", "[up](../Cargo.toml)"), [""; 0]);
}

/// The names of modules, types and functions in a document, of which the code has some part nowhere.
fn unknown_names(path: &str, text: &str, words: &HashSet<&str>) -> Vec<String> {
    static SPAN: LazyLock<Regex> = LazyLock::new(|| regex(r"`([\w:/.]+)(?:\(\))?`"));
    static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z]\w*"));
    let prose = without_blocks(text);
    let names = SPAN.captures_iter(&prose).map(|span| span[1].to_owned());
    let is_unknown = |name: &String| {
        let mut parts = WORD.find_iter(name.trim_end_matches(".rs"));
        !root().join(name).exists() && parts.any(|part| !words.contains(part.as_str()))
    };
    names.filter(is_unknown).map(|name| format!("{path}: nothing in the code is called {name}")).collect()
}

#[test]
fn the_map_of_the_code_names_what_is_there() {
    static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r"\w+"));
    let sources: Vec<_> = engine().into_iter().chain(adapters()).collect();
    let texts = sources.iter().flat_map(|source| [source.path.as_str(), source.text.as_str()]);
    let words: HashSet<&str> =
        texts.flat_map(|text| WORD.find_iter(text)).map(|word| word.as_str()).collect();
    let maps = ["docs/architecture.md", "docs/glossary.md"];
    let maps = files("docs", ".md").into_iter().filter(|(path, _)| maps.contains(&path.as_str()));
    assert_none(maps.flat_map(|(path, text)| unknown_names(&path, &text, &words)));
}

#[test]
fn the_map_of_the_code_names_what_is_there_can_fail() {
    let words = HashSet::from(["gateway", "lanes", "Instance", "owner"]);
    let text =
        "`gateway/lanes.rs` `Instance::owner()` `Instance::keeper()` `gateway/lane` `Cargo.toml` `a text`";
    assert_eq!(
        unknown_names("a.md", text, &words),
        ["Instance::keeper", "gateway/lane"]
            .map(|name| format!("a.md: nothing in the code is called {name}"))
    );
}
