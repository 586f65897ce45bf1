//! A folder with a `SKILL.md`, read whole.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::head::{self, Head};
use super::scan::{Suspicion, closed, scan};

/// The file that makes a folder a set of instructions.
const FILE: &str = "SKILL.md";
/// The most files, the largest text and its most lines, and how much all files may hold together, in bytes.
const MAX_FILES: usize = 200;
const MAX_TEXT: u64 = 256 * 1024;
const MAX_LINES: usize = 10_000;
const MAX_SIZE: u64 = 10 << 20;
/// How deep folders are looked into.
const DEEPEST: usize = 8;
const MAX_NAME: usize = 40;

#[derive(Debug, Clone)]
pub struct Folder {
    /// Its name as the second part of a skill's.
    pub name: String,
    pub head: Head,
    /// The text behind the head.
    pub body: String,
    /// Its files by their paths, sorted.
    pub files: Vec<File>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub path: String,
    pub bytes: Vec<u8>,
    is_executable: bool,
}

impl File {
    /// Whether it can be run: we know what runs it, or it's a program. Any file may be marked as one by mistake.
    pub fn is_script(&self) -> bool {
        let is_program = self.path.starts_with("scripts/") || self.bytes.starts_with(b"\x7fELF");
        !self.interpreter().is_empty() || self.is_executable && is_program
    }

    /// The words that run it: what its `#!` line names, if that is here, else what its ending says. None: it runs itself.
    pub(super) fn interpreter(&self) -> Vec<&str> {
        let (named, usual) = (shebang(&self.bytes), by_ending(&self.path));
        let is_here = named.first().is_some_and(|program| adjutant_sandbox::find(program).is_some());
        if is_here || usual.is_empty() { named } else { usual.to_vec() }
    }

    pub(super) fn mode(&self) -> u32 {
        if self.is_executable { 0o700 } else { 0o600 }
    }
}

/// The words of a `#!` line, without `env` and its options.
fn shebang(bytes: &[u8]) -> Vec<&str> {
    let line = bytes.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    let line = line.and_then(|line| str::from_utf8(line).ok()).unwrap_or_default();
    let mut words = line.split_whitespace().peekable();
    if words.next_if(|program| program.ends_with("/env")).is_some() {
        while words.next_if(|word| word.starts_with('-') || word.contains('=')).is_some() {}
    }
    let Some(program) = words.next() else { return Vec::new() };
    // `/bin/bash` may be elsewhere here.
    let name = program.rsplit('/').next().unwrap_or(program);
    let program = if adjutant_sandbox::find(program).is_some() { program } else { name };
    std::iter::once(program).chain(words).collect()
}

/// The interpreter for a file of this name.
fn by_ending(path: &str) -> &'static [&'static str] {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "py" => &["python3"],
        "sh" => &["sh"],
        "bash" => &["bash"],
        // From version 22.18 on it leaves types out.
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => &["node"],
        _ => &[],
    }
}

/// The folders at a path: itself, or those in it.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, String> {
    let own = if path.is_file() { path.parent().map(Path::to_path_buf) } else { Some(path.to_path_buf()) };
    let own = own.unwrap_or_default();
    if own.join(FILE).is_file() {
        return Ok(vec![own]);
    }
    let mut found = Vec::new();
    find_below(&own, 0, &mut found);
    if found.is_empty() { Err(format!("there is no {FILE} in {}", path.display())) } else { Ok(found) }
}

fn find_below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    // Neither version control's data nor installed packages are somebody's instructions.
    folders.retain(|folder| !folder.ends_with(".git") && !folder.ends_with("node_modules"));
    for folder in folders {
        found.extend(folder.join(FILE).is_file().then(|| folder.clone()));
        if depth < DEEPEST {
            find_below(&folder, depth + 1, found);
        }
    }
}

impl Folder {
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        collect(path, "", 0, &mut files)?;
        files.sort_by(|left, right| left.path.cmp(&right.path));
        let text =
            files.iter().find(|file| file.path == FILE).ok_or_else(|| format!("there is no {FILE}"))?;
        if text.bytes.len() as u64 > MAX_TEXT {
            return Err(format!("{FILE} is larger than 256 KB"));
        }
        let text =
            String::from_utf8(text.bytes.clone()).map_err(|_| format!("{FILE} isn't text in UTF-8"))?;
        if text.lines().count() > MAX_LINES {
            return Err(format!("{FILE} has more than {MAX_LINES} lines"));
        }
        let (head, body) = head::read(&text)?;
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let folder = whole.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = word(head.name.as_deref().or(folder.as_deref()).unwrap_or_default())
            .ok_or("neither its name nor its folder's has a letter")?;
        let body = body.trim().to_owned();
        Ok(Self { name, head, body, files })
    }

    /// Findings that a person should see.
    pub fn suspicions(&self) -> Vec<Suspicion> {
        let of_file = |file: &File| match str::from_utf8(&file.bytes) {
            Ok(text) => scan(&file.path, text),
            Err(_) => closed(&file.path, &file.bytes).into_iter().collect(),
        };
        self.files.iter().flat_map(of_file).collect()
    }

    /// The same for the same files alone.
    pub fn digest(&self) -> String {
        let mut all = Sha256::new();
        for file in &self.files {
            all.update((file.path.len() as u64).to_be_bytes());
            all.update(file.path.as_bytes());
            all.update([u8::from(file.is_executable)]);
            all.update((file.bytes.len() as u64).to_be_bytes());
            all.update(&file.bytes);
        }
        all.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The changes since the folder that was accepted before, a file a line.
    pub fn changes(&self, before: &Self) -> Vec<String> {
        let find = |folder: &Self, path: &str| folder.files.iter().find(|file| file.path == path).cloned();
        let new = self.files.iter().filter_map(|file| match find(before, &file.path) {
            None => Some(format!("new: {}", file.path)),
            Some(old) if old != *file => Some(format!("changed: {}", file.path)),
            Some(_) => None,
        });
        let gone = before.files.iter().filter(|file| find(self, &file.path).is_none());
        new.chain(gone.map(|file| format!("gone: {}", file.path))).collect()
    }

    /// Its scripts, unless it asks for tools and a shell isn't among them.
    pub fn scripts(&self) -> Vec<&str> {
        let has_shell = |tools: &Vec<String>| {
            tools.iter().any(|tool| {
                let name = tool.split('(').next().unwrap_or_default().to_lowercase();
                matches!(name.as_str(), "bash" | "shell" | "execute" | "*")
            })
        };
        if self.head.allowed_tools.as_ref().is_some_and(|tools| !has_shell(tools)) {
            return Vec::new();
        }
        self.files.iter().filter(|file| file.is_script()).map(|file| file.path.as_str()).collect()
    }
}

fn collect(folder: &Path, above: &str, depth: usize, files: &mut Vec<File>) -> Result<(), String> {
    let shown = |path: &str| if path.is_empty() { ".".to_owned() } else { path.to_owned() };
    let failed = |path: &str, error: std::io::Error| format!("{} can't be read: {error}", shown(path));
    if depth > DEEPEST {
        return Err(format!("{above} is nested too deep"));
    }
    let entries = std::fs::read_dir(folder).map_err(|error| failed(above, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(above, error))?;
        let name = entry.file_name();
        let name =
            name.to_str().ok_or_else(|| format!("{} has a file whose name isn't UTF-8", shown(above)))?;
        let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        let kind = entry.file_type().map_err(|error| failed(&path, error))?;
        if kind.is_symlink() {
            return Err(format!("{path} is a link; links aren't taken over"));
        }
        // Version control's data is no part of the folder.
        if kind.is_dir() && name != ".git" {
            collect(&entry.path(), &path, depth + 1, files)?;
        } else if kind.is_file() {
            files.push(file(&entry.path(), path, files)?);
        }
    }
    Ok(())
}

fn file(at: &Path, path: String, files: &[File]) -> Result<File, String> {
    if files.len() >= MAX_FILES {
        return Err(format!("it has more than {MAX_FILES} files"));
    }
    let so_far: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
    let open = std::fs::File::open(at).map_err(|error| format!("{path} can't be read: {error}"))?;
    let mode = open.metadata().map_or(0, |data| data.permissions().mode());
    let mut bytes = Vec::new();
    let read = open.take(MAX_SIZE.saturating_sub(so_far) + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("{path} can't be read: {error}"))?;
    if so_far + bytes.len() as u64 > MAX_SIZE {
        return Err("its files hold more than 10 MB".to_owned());
    }
    Ok(File { path, bytes, is_executable: mode & 0o100 != 0 })
}

/// A name as the second part of a skill's: `PDF forms` is `pdf_forms`.
fn word(name: &str) -> Option<String> {
    let small = name.to_lowercase();
    let parts = small.split(|char: char| !char.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let mut word = parts.collect::<Vec<_>>().join("_");
    if word.starts_with(|first: char| first.is_ascii_digit()) {
        word.insert_str(0, "skill_");
    }
    word.truncate(MAX_NAME);
    let word = word.trim_end_matches('_').to_owned();
    word.contains(|char: char| char.is_ascii_lowercase()).then_some(word)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn write(folder: &TempDir, path: &str, text: &str) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn folders_are_found_and_named() {
        let folder = TempDir::new().unwrap();
        write(&folder, "skills/pdf/SKILL.md", "---\nname: PDF forms\ndescription: x\n---\nDo.");
        write(&folder, "skills/pdf/scripts/fill.py", "print(1)");
        write(&folder, "skills/Sums/SKILL.md", "---\ndescription: x\nallowed-tools: Read\n---\n");
        write(&folder, "skills/Sums/scripts/add.sh", "echo 1");
        write(&folder, "other/readme.md", "");
        write(&folder, "other/node_modules/a/SKILL.md", "---\nname: no\ndescription: x\n---\n");
        let found = find(folder.path()).unwrap();
        let read: Vec<Folder> = found.iter().map(|path| Folder::read(path).unwrap()).collect();
        let names: Vec<(&str, Vec<&str>)> =
            read.iter().map(|folder| (folder.name.as_str(), folder.scripts())).collect();
        assert_eq!(names, [("sums", vec![]), ("pdf_forms", vec!["scripts/fill.py"])], "no shell, no scripts");
        assert_eq!(find(&found[0]).unwrap(), [found[0].clone()]);
        assert!(find(&folder.path().join("other")).is_err());
        write(&folder, "z/.claude/skills/a/b/c/SKILL.md", "---\nname: deep\ndescription: x\n---\n");
        let found = find(folder.path()).unwrap();
        assert!(found[2].ends_with("a/b/c") && found.len() == 3, "{found:?}");
    }

    #[test]
    fn code_is_a_script_wherever_it_is_and_runs_as_it_says() {
        let folder = TempDir::new().unwrap();
        write(&folder, "SKILL.md", "---\nname: a\ndescription: x\n---\n");
        for (path, text) in [
            ("a.sh", "echo"),
            ("b.sh", "#!/usr/bin/env -S sh -e\r\necho"),
            ("c.sh", "#!/opt/nowhere/sh -x\n"),
            ("d.py", "#!/usr/bin/env no-such-python\n"),
            ("e.ts", "const a: number = 1;"),
            ("lib/f", "#!/bin/sh\n"),
            ("notes.md", "# Notes"),
            ("scripts/g", "text"),
        ] {
            write(&folder, path, text);
        }
        for path in ["notes.md", "scripts/g"] {
            let path = folder.path().join(path);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        let read = Folder::read(folder.path()).unwrap();
        assert_eq!(read.scripts(), ["a.sh", "b.sh", "c.sh", "d.py", "e.ts", "lib/f", "scripts/g"]);
        let runs = |path: &str| read.files.iter().find(|file| file.path == path).unwrap().interpreter();
        for (path, words) in [
            ("a.sh", vec!["sh"]),
            ("b.sh", vec!["sh", "-e"]),
            ("c.sh", vec!["sh", "-x"]),
            ("d.py", vec!["python3"]),
            ("e.ts", vec!["node"]),
            ("lib/f", vec!["/bin/sh"]),
            ("scripts/g", vec![]),
        ] {
            assert_eq!(runs(path), words, "{path}");
        }
    }

    #[test]
    fn each_byte_of_each_file_counts() {
        let folder = TempDir::new().unwrap();
        write(&folder, "SKILL.md", "---\nname: a\ndescription: x\n---\n");
        write(&folder, "more.md", "a");
        let first = Folder::read(folder.path()).unwrap().digest();
        assert_eq!(Folder::read(folder.path()).unwrap().digest(), first);
        for (path, text) in [("more.md", "b"), ("more.md", "a "), ("else.md", "")] {
            write(&folder, path, text);
            assert_ne!(Folder::read(folder.path()).unwrap().digest(), first, "{path}");
            write(&folder, "more.md", "a");
        }
    }

    #[test]
    fn links_and_bombs_are_refused() {
        let folder = TempDir::new().unwrap();
        write(&folder, "SKILL.md", "---\nname: a\ndescription: x\n---\n");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("data")).unwrap();
        assert_eq!(Folder::read(folder.path()).unwrap_err(), "data is a link; links aren't taken over");
        std::fs::remove_file(folder.path().join("data")).unwrap();
        write(&folder, "large", &"x".repeat(11 << 20));
        assert_eq!(Folder::read(folder.path()).unwrap_err(), "its files hold more than 10 MB");
        std::fs::remove_file(folder.path().join("large")).unwrap();
        (0..201).for_each(|number| write(&folder, &format!("f{number}"), ""));
        assert_eq!(Folder::read(folder.path()).unwrap_err(), "it has more than 200 files");
        let (folder, head) = (TempDir::new().unwrap(), "---\nname: a\ndescription: x\n---\n");
        write(&folder, "SKILL.md", &format!("{head}{}", "a\n".repeat(100_000)));
        assert_eq!(Folder::read(folder.path()).unwrap_err(), "SKILL.md has more than 10000 lines");
        write(&folder, "SKILL.md", &format!("{head}{}", "a".repeat(1 << 20)));
        assert_eq!(Folder::read(folder.path()).unwrap_err(), "SKILL.md is larger than 256 KB");
        write(&folder, "SKILL.md", head);
        write(&folder, "a/b/c/d/e/f/g/h/i/j.md", "deep");
        assert_eq!(Folder::read(folder.path()).unwrap_err(), "a/b/c/d/e/f/g/h/i is nested too deep");
    }
}
