//! The folder of the notes. Nothing outside of it is ever opened: each part of a path is opened from the folder above
//! it, and none may be a link. Writes are whole or not at all.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use adjutant_l10n::{http, notes};
use adjutant_types::{FromCall, FromConfig, FromOutside, Own, ours};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::way_back;
use crate::{ErrorKind, SkillError};

/// The largest note, in bytes.
const MAX_SIZE: u64 = 1 << 20;
/// How deep folders are looked into.
const DEEPEST: usize = 16;
/// The most notes that are looked at.
const MAX: usize = 20_000;
/// What a note's name ends with.
const ENDINGS: [&str; 3] = [".md", ".markdown", ".txt"];

#[derive(Debug, Clone)]
pub struct Notes {
    root: PathBuf,
}

/// A note's text, and which version of it that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) text: String,
    pub(super) version: String,
    mode: Mode,
}

/// Where a note is in the folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NotePath(Vec<String>);

impl NotePath {
    /// Reads a path such as `Projects/Acme.md`; the ending may be left out.
    pub(super) fn read(text: &str) -> Result<Self, SkillError> {
        let mut parts: Vec<String> =
            text.trim().trim_start_matches("./").split('/').map(str::to_owned).collect();
        if text.starts_with('/') {
            return Err(SkillError::params(ours!(notes::path_absolute, FromCall(text))));
        }
        if parts.iter().any(|part| part.is_empty() || part.starts_with('.')) {
            return Err(SkillError::params(ours!(notes::path_outside, FromCall(text))));
        }
        if parts.iter().any(|part| part.len() > 200 || part.chars().any(char::is_control)) {
            return Err(SkillError::params(ours!(notes::path_unusable, FromCall(text))));
        }
        if parts.len() > DEEPEST {
            return Err(SkillError::params(ours!(notes::path_deep, FromCall(text))));
        }
        if let Some(name) = parts.last_mut()
            && !is_note(name)
        {
            name.push_str(".md");
        }
        Ok(Self(parts))
    }

    pub(super) fn folders(&self) -> &[String] {
        self.0.split_last().map_or(&[], |(_, folders)| folders)
    }

    fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }
}

impl std::fmt::Display for NotePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

impl Notes {
    /// The notes in this folder, which must exist by the time they are used.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn check(&self) -> Result<usize, SkillError> {
        Ok(self.paths("")?.len())
    }

    /// The path of every note, sorted.
    pub fn list(&self) -> Result<Vec<String>, SkillError> {
        Ok(self.paths("")?.iter().map(ToString::to_string).collect())
    }

    /// A note's text and its version.
    pub fn open(&self, path: &str) -> Result<(String, String), SkillError> {
        self.get(&NotePath::read(path)?).map(|note| (note.text, note.version))
    }

    /// Gives a note another text, with the ends of lines that it has, if it still is of this version. Returns how to take
    /// that back.
    pub fn save(&self, path: &str, text: &str, replaced: &str) -> Result<Option<Value>, SkillError> {
        let path = NotePath::read(path)?;
        let now = self.get(&path)?;
        if now.version != replaced {
            return Err(changed(&path, replaced, &now.version));
        }
        let has_both = now.text.contains('\n') && !now.text.replace("\r\n", "").contains('\n');
        let text = if has_both { text.replace('\n', "\r\n") } else { text.to_owned() };
        let written = self.put(&path, &text, Some(&now))?;
        Ok(way_back(&path, Some(now), written))
    }

    pub(super) fn get(&self, path: &NotePath) -> Result<Note, SkillError> {
        let folder = self.open_folder(path.folders(), false)?;
        read_at(&folder, path.name(), &path.to_string())
    }

    /// Every note below a folder of these, sorted.
    pub(super) fn paths(&self, folder_path: &str) -> Result<Vec<NotePath>, SkillError> {
        let folder_path: Vec<String> =
            folder_path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        if folder_path.iter().any(|part| part.starts_with('.')) {
            return Err(SkillError::params(ours!(notes::folder_outside)));
        }
        let folder = self.open_folder(&folder_path, false)?;
        let mut found = Vec::new();
        walk(&folder, &folder_path, &mut found)?;
        found.sort();
        Ok(found)
    }

    /// Writes a note. `previous` is the version that may be replaced; with none there must be no such note.
    pub(super) fn put(
        &self,
        path: &NotePath,
        text: &str,
        previous: Option<&Note>,
    ) -> Result<Note, SkillError> {
        if text.len() as u64 > MAX_SIZE {
            return Err(SkillError::params(ours!(notes::text_too_large)));
        }
        let folder = self.open_folder(path.folders(), previous.is_none())?;
        let mode = previous.map_or(Mode::RUSR | Mode::WUSR, |note| note.mode);
        let temporary = temporary_name();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &temporary, flags, mode);
        let file = file.map_err(|error| SkillError::tool(ours!(notes::folder_not_written, Own(error))))?;
        let written = write_all(file, text.as_bytes(), mode)
            .map_err(|error| SkillError::tool(ours!(notes::cannot_write, FromCall(path), Own(error))))
            .and_then(|()| put_in_place(&folder, &temporary, path, previous));
        if written.is_err() || previous.is_none() {
            let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
        }
        written?;
        // A crash after this can't lose it.
        let _ = rustix::fs::fsync(&folder);
        Ok(Note { text: text.to_owned(), version: version(text.as_bytes()), mode })
    }

    /// Deletes a note, if it is as it was.
    pub(super) fn remove(&self, path: &NotePath, previous: &Note) -> Result<(), SkillError> {
        let folder = self.open_folder(path.folders(), false)?;
        same(&folder, path, previous)?;
        let removed = rustix::fs::unlinkat(&folder, path.name(), AtFlags::empty());
        removed.map_err(|error| SkillError::tool(ours!(notes::cannot_delete, FromCall(path), Own(error))))
    }

    fn open_folder(&self, parts: &[String], create: bool) -> Result<OwnedFd, SkillError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, &self.root, flags, Mode::empty());
        let mut folder = root.map_err(|error| {
            let shown = self.root.display();
            SkillError::tool(ours!(notes::folder_not_opened, FromConfig(shown), Own(error)))
        })?;
        for part in parts {
            let open = |above: &OwnedFd| {
                rustix::fs::openat(above, part.as_str(), flags | OFlags::NOFOLLOW, Mode::empty())
            };
            folder = match open(&folder) {
                Err(Errno::NOENT) if create => {
                    match rustix::fs::mkdirat(&folder, part.as_str(), Mode::RWXU) {
                        Ok(()) | Err(Errno::EXIST) => open(&folder),
                        Err(error) => Err(error),
                    }
                }
                opened => opened,
            }
            .map_err(|error| match error {
                Errno::NOENT => SkillError::not_found(ours!(notes::no_folder, FromCall(part))),
                Errno::LOOP | Errno::NOTDIR => {
                    SkillError::new(ErrorKind::Permission, ours!(notes::folder_is_link, FromCall(part)))
                }
                error => SkillError::tool(ours!(notes::folder_failed, FromCall(part), Own(error))),
            })?;
        }
        Ok(folder)
    }
}

fn is_note(name: &str) -> bool {
    let name = name.to_lowercase();
    ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
}

fn walk(folder: &OwnedFd, at: &[String], found: &mut Vec<NotePath>) -> Result<(), SkillError> {
    let entries = Dir::read_from(folder)
        .map_err(|error| SkillError::tool(ours!(notes::folder_not_read, Own(error))))?;
    for entry in entries.filter_map(Result::ok) {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name.starts_with('.') || name.chars().any(char::is_control) {
            continue;
        }
        let mut path = at.to_vec();
        path.push(name.to_owned());
        match kind(folder, name, entry.file_type()) {
            FileType::RegularFile if is_note(name) => {
                if found.len() >= MAX {
                    return Err(SkillError::params(ours!(notes::too_many, MAX)));
                }
                found.push(NotePath(path));
            }
            FileType::Directory if path.len() < DEEPEST => {
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                if let Ok(inner) = rustix::fs::openat(folder, name, flags, Mode::empty()) {
                    walk(&inner, &path, found)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Some file systems don't say the kind in a listing.
fn kind(folder: &OwnedFd, name: &str, listed: FileType) -> FileType {
    if listed != FileType::Unknown {
        return listed;
    }
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

fn read_at(folder: &OwnedFd, name: &str, shown: &str) -> Result<Note, SkillError> {
    // A named pipe must not hold us up.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty());
    let file = file.map_err(|error| failed(shown, error))?;
    let stat = rustix::fs::fstat(&file).map_err(|error| failed(shown, error))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(SkillError::params(ours!(notes::not_a_file, FromOutside(shown))));
    }
    let mut bytes = Vec::new();
    let read = File::from(file).take(MAX_SIZE + 1).read_to_end(&mut bytes);
    read.map_err(|error| SkillError::tool(ours!(notes::cannot_read, FromOutside(shown), Own(error))))?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(SkillError::params(ours!(notes::too_large, FromOutside(shown))));
    }
    let version = version(&bytes);
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| SkillError::params(ours!(notes::not_text, FromOutside(shown))))?;
    Ok(Note { text, version, mode: Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o777) })
}

fn write_all(file: OwnedFd, bytes: &[u8], mode: Mode) -> std::io::Result<()> {
    // Whatever our umask is, the note stays as open to others as it was.
    rustix::fs::fchmod(&file, mode)?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives the new text its name; the file must still hold the previous version.
fn put_in_place(
    folder: &OwnedFd,
    temporary: &Path,
    path: &NotePath,
    previous: Option<&Note>,
) -> Result<(), SkillError> {
    let Some(previous) = previous else {
        // Unlike a rename, a link never replaces anything.
        let linked = rustix::fs::linkat(folder, temporary, folder, path.name(), AtFlags::empty());
        return linked.map_err(|error| match error {
            Errno::EXIST => SkillError::params(ours!(notes::exists, FromCall(path))),
            error => failed(&path.to_string(), error),
        });
    };
    same(folder, path, previous)?;
    let renamed = rustix::fs::renameat(folder, temporary, folder, path.name());
    renamed.map_err(|error| SkillError::tool(ours!(notes::cannot_write, FromCall(path), Own(error))))
}

fn same(folder: &OwnedFd, path: &NotePath, previous: &Note) -> Result<(), SkillError> {
    let now = read_at(folder, path.name(), &path.to_string())?;
    if now.version == previous.version { Ok(()) } else { Err(changed(path, &previous.version, &now.version)) }
}

/// A note that isn't what it was when it was read.
pub(super) fn changed(path: &NotePath, previous: &str, now: &str) -> SkillError {
    SkillError::params(ours!(notes::changed_meanwhile, FromCall(path), FromCall(previous), Own(now)))
}

/// Names a text: the start of its digest.
pub(super) fn version(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn temporary_name() -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    PathBuf::from(format!(".adjutant-{}-{number}.tmp", std::process::id()))
}

fn failed(path: &str, error: Errno) -> SkillError {
    match error {
        Errno::NOENT => SkillError::not_found(ours!(notes::no_note, FromCall(path))),
        Errno::LOOP | Errno::NOTDIR => {
            SkillError::new(ErrorKind::Permission, ours!(notes::is_link, FromCall(path)))
        }
        error => SkillError::tool(ours!(http::with_words, FromCall(path), Own(error))),
    }
}
