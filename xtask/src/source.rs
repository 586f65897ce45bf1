//! Rust files without their tests, comments and texts, so that a pattern finds code alone.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// A file of the workspace.
pub struct Source {
    /// Its path in the workspace, with `/`.
    pub path: String,
    /// Its text without the items under `#[cfg(test)]`. Their lines are gone.
    pub text: String,
    /// The same with comments and the contents of string literals blanked. Every byte keeps its place.
    pub code: String,
    /// Where the contents of the string literals lie in `text`.
    pub strings: Vec<Range<usize>>,
}

impl Source {
    /// Reads a text as the file at this path.
    #[must_use]
    pub fn new(path: &str, text: &str) -> Self {
        let text = without_tests(text);
        let (code, strings) = mask(&text);
        Self { path: path.to_owned(), text, code, strings }
    }

    /// Reads a text with its tests.
    #[must_use]
    pub fn whole(path: &str, text: &str) -> Self {
        let (code, strings) = mask(text);
        Self { path: path.to_owned(), text: text.to_owned(), code, strings }
    }

    /// The text with its comments blanked.
    #[must_use]
    pub fn without_comments(&self) -> String {
        let mut code = self.code.clone();
        for range in &self.strings {
            code.replace_range(range.clone(), &self.text[range.clone()]);
        }
        code
    }

    /// Is it a file of tests or of benches?
    #[must_use]
    pub fn is_test(path: &str) -> bool {
        path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/benches/")
    }

    /// The line that a byte of it lies in, from 1.
    #[must_use]
    pub fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }
}

/// A pattern of this crate or of the rules.
#[must_use]
pub fn pattern(text: &str) -> Regex {
    #[expect(clippy::panic, reason = "every pattern is a constant of the sources")]
    Regex::new(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Every file below a folder of the workspace whose name ends like this, as path in the workspace and text.
pub fn files(root: &Path, folder: &str, ending: &str) -> io::Result<Vec<(String, String)>> {
    let mut paths = Vec::new();
    walk(&root.join(folder), ending, &mut paths)?;
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        Ok((name, fs::read_to_string(path)?))
    };
    paths.into_iter().map(read).collect()
}

fn walk(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            if name != "target" && name != ".git" {
                walk(&path, ending, into)?;
            }
        } else if name.to_string_lossy().ends_with(ending) {
            into.push(path);
        }
    }
    Ok(())
}

/// The Rust files below a folder that are not tests.
pub fn production(root: &Path, folder: &str) -> io::Result<Vec<Source>> {
    let files = files(root, folder, ".rs")?.into_iter().filter(|(path, _)| !Source::is_test(path));
    Ok(files.map(|(path, text)| Source::new(&path, &text)).collect())
}

/// The Rust files of the program and its crates that are not tests.
pub fn ours(root: &Path) -> io::Result<Vec<Source>> {
    Ok(production(root, "src")?.into_iter().chain(production(root, "crates")?).collect())
}

/// The same with those of the adapters.
pub fn workspace(root: &Path) -> io::Result<Vec<Source>> {
    Ok(ours(root)?.into_iter().chain(production(root, "adapters")?).collect())
}

/// A text without its items under `#[cfg(test)]`.
#[must_use]
pub fn without_tests(text: &str) -> String {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| {
        let item = "pub|mod|fn|async|use|impl|struct|enum|const|static|type|trait";
        pattern(&format!(r"(?m)^[ \t]*#\[cfg\(test\)\]\n(?:[ \t]*#\[.*\]\n)*[ \t]*(?:{item})\b"))
    });
    let (code, _) = mask(text);
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for found in ITEM.find_iter(text) {
        // Not in a text, and not inside of what has just been left out.
        if found.start() < from || !code[found.range()].contains("#[cfg(test)]") {
            continue;
        }
        kept.push_str(&text[from..found.start()]);
        let rest = &code.as_bytes()[found.end()..];
        let end = found.end() + item_length(rest);
        from = end + usize::from(text.as_bytes().get(end) == Some(&b'\n'));
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

/// How far the item goes that this masked code is the rest of: to its semicolon or its closing brace.
fn item_length(code: &[u8]) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// A text with blanks for comments and for what is in string literals, and where the latter lie.
fn mask(text: &str) -> (String, Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut strings = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (skipped, is_string) = match bytes[at] {
            b'/' if rest.starts_with(b"//") => (find(rest, b"\n").unwrap_or(rest.len()), false),
            b'/' if rest.starts_with(b"/*") => (find(rest, b"*/").map_or(rest.len(), |end| end + 2), false),
            b'"' => (1 + quoted(&rest[1..]), true),
            b'r' if !is_word(bytes, at) && raw_hashes(rest).is_some() => {
                let hashes = raw_hashes(rest).unwrap_or_default();
                let closing = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
                let opening = hashes + 2;
                let inner = find(&rest[opening..], &closing).unwrap_or(rest.len() - opening);
                strings.push(at + opening..at + opening + inner);
                blank(&mut code[at + opening..at + opening + inner]);
                at = (at + opening + inner + closing.len()).min(bytes.len());
                continue;
            }
            b'\'' => (char_length(rest), false),
            _ => {
                at += 1;
                continue;
            }
        };
        if is_string {
            strings.push(at + 1..at + skipped);
            blank(&mut code[at + 1..at + skipped]);
            at += skipped + 1;
        } else {
            blank(&mut code[at..at + skipped]);
            at += skipped.max(1);
        }
    }
    (String::from_utf8_lossy(&code).into_owned(), strings)
}

fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The length of what is in a string literal that has just been opened.
fn quoted(rest: &[u8]) -> usize {
    let mut at = 0;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at.min(rest.len())
}

/// Is the byte before this one part of a name? Then `r"` or `r#` here begins no raw string.
fn is_word(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() && byte != b'b' || byte == b'_')
}

fn raw_hashes(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    (rest.get(1 + hashes) == Some(&b'"')).then_some(hashes)
}

/// The length of a character literal; 0 for a lifetime.
fn char_length(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        return find(&rest[3.min(rest.len())..], b"'").map_or(0, |end| end + 4);
    }
    let is_near = |end: &usize| *end <= 4 && *end > 0;
    let end = rest.get(1..).and_then(|rest| find(rest, b"'")).filter(is_near);
    let end =
        end.filter(|end| std::str::from_utf8(&rest[1..=*end]).is_ok_and(|text| text.chars().count() == 1));
    end.map_or(0, |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_blanked() {
        let source = Source::new(
            "a.rs",
            "let a = \"x // y\"; // no\nlet b = r#\"q\"r\"#; let c = '\"'; /* d */ f::<'a>(b'\\'')\n",
        );
        assert_eq!(
            source.code,
            "let a = \"      \";      \nlet b = r#\"   \"#; let c =    ;         f::<'a>(b    )\n"
        );
        let strings: Vec<_> = source.strings.iter().map(|range| &source.text[range.clone()]).collect();
        assert_eq!(strings, ["x // y", "q\"r"]);
    }

    #[test]
    fn tests_are_left_out_wherever_they_stand() {
        let text = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\n#[path = \"x\"]\npub(crate) mod x {\n    fn f() { \"}\" }\n}\nc\n";
        assert_eq!(without_tests(text), "a\nb\nc\n");
        assert_eq!(without_tests("\"\n#[cfg(test)]\nmod x;\n\""), "\"\n#[cfg(test)]\nmod x;\n\"");
        assert_eq!(without_tests("#[cfg(test)]\nfn f(a: [u8; 2]) {\n}\nx"), "x");
    }
}
