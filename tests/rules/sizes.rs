//! Files and folders stay small.

use std::collections::BTreeMap;

use xtask::source::Source;

use crate::{adapters, assert_none, engine};

/// Lines of a file, its tests left out. A file is one type or one idea, as long as that needs, up to this.
const MAX_FILE: usize = 600;

fn too_long(source: &Source) -> Option<String> {
    let lines = source.text.lines().count();
    (lines > MAX_FILE).then(|| format!("{}: {lines} lines without its tests; split it", source.path))
}

#[test]
fn files_are_short() {
    assert_none(engine().iter().chain(&adapters()).filter_map(too_long));
}

#[test]
fn files_are_short_can_fail() {
    let long = "x\n".repeat(MAX_FILE + 1);
    let errors = |text: &str| too_long(&Source::new("src/a.rs", text)).is_some();
    assert!(errors(&long));
    assert!(!errors(&format!("x\n#[cfg(test)]\nmod tests {{\n{long}}}\n")));
    assert!(Source::is_test("src/a/tests.rs") && !Source::is_test("src/tests_of.rs"));
}

/// Files side by side in a folder that has no subfolders.
const MAX_FILES: usize = 17;

fn too_wide<'p>(paths: impl Iterator<Item = &'p str> + Clone) -> Vec<String> {
    let folder = |path: &'p str| path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths.clone() {
        *folders.entry(folder(path)).or_default() += 1;
    }
    let has_subfolder = |parent: &str| {
        paths.clone().any(|path| folder(path).strip_prefix(parent).is_some_and(|rest| rest.starts_with('/')))
    };
    let wide = folders.into_iter().filter(|(name, files)| *files > MAX_FILES && !has_subfolder(name));
    wide.map(|(name, files)| format!("{name}: {files} files and no subfolder; group them")).collect()
}

#[test]
fn folders_show_their_shape() {
    let (engine, adapters) = (engine(), adapters());
    assert_none(too_wide(engine.iter().chain(&adapters).map(|source| source.path.as_str())));
}

#[test]
fn folders_show_their_shape_can_fail() {
    let mut paths: Vec<String> = (0..=MAX_FILES).map(|n| format!("src/a/{n}.rs")).collect();
    let errors = |paths: &[String]| too_wide(paths.iter().map(String::as_str)).len();
    assert_eq!((errors(&paths), errors(&paths[1..])), (1, 0));
    paths.push("src/a/b/c.rs".into());
    assert_eq!(errors(&paths), 0);
}
