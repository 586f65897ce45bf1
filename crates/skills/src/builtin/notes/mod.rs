//! Notes: a folder of Markdown files, with or without another program that works in it.
//!
//! - Nothing outside of the folder is read or written (`folder`).
//! - What stands there is only replaced after a yes, and only if it's still what was read.
//! - Front matter, links and line ends stay as they are; a change is a part of the text.
//! - A note may have been written by anybody, so what it says is text from outside.

mod folder;
mod sections;

use async_trait::async_trait;
use serde_json::{Value, json};

pub use self::folder::Notes;
use adjutant_files::MAX_TEXT;
use adjutant_l10n as l10n;
use adjutant_store::Batch;
use adjutant_turn::trust::ActionKind;
use adjutant_types::invisible_chars::line;
use adjutant_types::{Allowance, FromOutside, Own, ours};

use self::folder::{Note, NotePath, changed};
use super::undo::{self, Outcome, Step};
use super::{
    BuiltinSkill, CallContext, Idempotency, PersonAccounts, Preview, Resource, has_all_words, under,
};
use crate::handlers::http::shorten;
use crate::risk::fenced;
use crate::{Approved, ErrorKind, Output, Result, Risk, SkillError, file_store};

domain! {
    "notes", "../../../../../skills/notes.toml", NotesSkill {
        Search = "notes.search",
        List = "notes.list",
        Read = "notes.read",
        Create = "notes.create",
        Append = "notes.append",
        ReplaceSection = "notes.replace_section",
    }
}

/// The longest text that is stored in the journal, so that a change can be undone.
const MAX_STORED: usize = 256 * 1024;

/// A note before and after a call.
struct Change {
    path: NotePath,
    before: Option<Note>,
    text: String,
}

#[async_trait]
impl BuiltinSkill for NotesSkill {
    fn needs(&self) -> Resource {
        Resource::Notes
    }

    fn effect(&self, _: &PersonAccounts) -> Idempotency {
        Idempotency::Repeatable
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::Search | Self::List | Self::Read => None,
            Self::Create | Self::Append | Self::ReplaceSection => Some(ActionKind::NoteWrite),
        }
    }

    async fn allowance(&self, call: &CallContext<'_>) -> Result<Option<Allowance>> {
        let adds = match self {
            Self::Create => !call.flag("overwrite"),
            Self::Append => true,
            Self::Search | Self::List | Self::Read | Self::ReplaceSection => false,
        };
        let path = NotePath::read(call.text("path").unwrap_or_default())?;
        let folder = path.folders().join("/");
        Ok((adds && !folder.is_empty()).then_some(Allowance::Notes { folder }))
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        if matches!(self, Self::Create | Self::Append) {
            // A file that can't be read is told before anyone is asked.
            words(call).await?;
        }
        let preview = match self {
            Self::Search | Self::List | Self::Read | Self::Append => Preview::default(),
            Self::Create if !call.flag("overwrite") => Preview::default(),
            Self::Create | Self::ReplaceSection => {
                let change = self.change(call).await?;
                Preview { risk: Risk::High, text: Some(change.shown()), ..Preview::default() }
            }
        };
        Ok(preview)
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, _: &mut Batch) -> Result<Output> {
        match self {
            Self::Search => search(call).await,
            Self::List => list(call).await,
            Self::Read => read(call).await,
            Self::Create | Self::Append | Self::ReplaceSection => {
                let change = self.change(call).await?;
                self.write(call, change).await
            }
        }
    }
}

impl NotesSkill {
    /// The change that the call would make to the note.
    async fn change(&self, call: &CallContext<'_>) -> Result<Change> {
        let path = NotePath::read(call.text("path").unwrap_or_default())?;
        let text = &words(call).await?;
        let before = match on_disk(call, path.clone(), |notes, path| notes.get(&path)).await {
            Ok(note) => Some(note),
            Err(error) if error.kind == ErrorKind::NotFound && matches!(self, Self::Create) => None,
            Err(error) => return Err(error.into()),
        };
        let old = before.as_ref().map_or("", |note| note.text.as_str());
        let section = call.text("section");
        let new = match self {
            Self::Append if call.is_retry && old.trim_end().ends_with(text.trim_end()) => old.to_owned(),
            Self::Append => sections::append(old, section, text)?,
            Self::ReplaceSection => sections::replace(old, section.unwrap_or_default(), text)?,
            _ if text.ends_with('\n') => text.clone(),
            _ => format!("{text}\n"),
        };
        if let (Some(note), Some(read)) = (&before, call.text("version"))
            && note.version != read
            && new != note.text
        {
            return Err(changed(&path, read, &note.version).into());
        }
        Ok(Change { path, before, text: new })
    }

    async fn write(&self, call: &CallContext<'_>, change: Change) -> Result<Output> {
        let Change { path, before, text } = change;
        let is_done = before.as_ref().is_some_and(|note| note.text == text);
        // Made by an earlier attempt, or there already.
        let may_replace = !matches!(self, Self::Create) || call.flag("overwrite") || is_done;
        let previous = before.clone().filter(|_| may_replace);
        let written = on_disk(call, path.clone(), move |notes, path| match previous {
            Some(note) if note.text == text => Ok(note),
            previous => notes.put(&path, &text, previous.as_ref()),
        })
        .await?;
        let receipt = match (self, &before) {
            (Self::Create, None) => l10n::notes::created(&path),
            (Self::Create, Some(_)) => l10n::notes::replaced(&path),
            (Self::Append, _) => l10n::notes::added(&path),
            _ => l10n::notes::changed(&path),
        };
        let data = json!({"note": path.to_string(), "path": path.to_string(), "version": written.version});
        Ok(Output::ours(receipt, data).undone_by(way_back(&path, before, written)))
    }
}

/// How to take a change back, unless the note is too long for that.
fn way_back(path: &NotePath, before: Option<Note>, written: Note) -> Option<Value> {
    let is_small = written.text.len() <= MAX_STORED;
    let before = before.map(|note| note.text);
    let step = Step::Note { path: path.to_string(), before, after: written.version };
    undo::left(&[step]).filter(|_| is_small)
}

impl Change {
    /// The change, for the person who is asked.
    fn shown(&self) -> String {
        let Some(before) = &self.before else {
            return l10n::notes::create_preview(&self.path, fenced(&self.text));
        };
        let (gone, come) = middle(&before.text, &self.text);
        l10n::notes::change_preview(&self.path, fenced(gone), fenced(come))
    }
}

/// The text that a call puts into a note: its own, and below that the text of a file.
async fn words(call: &CallContext<'_>) -> Result<String> {
    let text = call.arguments["text"].as_str().unwrap_or_default();
    let Some(id) = call.text("file") else {
        let is_there = call.arguments["text"].is_string();
        let missing = || SkillError::params(ours!(l10n::notes::no_text)).into();
        return if is_there { Ok(text.to_owned()) } else { Err(missing()) };
    };
    let file = file_store::find(call, &id.into()).await?;
    let content = file_store::text(&file)?;
    if content.len() > MAX_TEXT {
        return Err(SkillError::params(ours!(l10n::notes::file_too_long, FromOutside(&file.name))).into());
    }
    Ok(if text.is_empty() { content.to_owned() } else { format!("{}\n\n{content}", text.trim_end()) })
}

/// The lines by which two texts differ, from the first to the last.
fn middle<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let lines = |text: &'a str| text.split_inclusive('\n');
    let same = |(a, b): &(&str, &str)| a == b;
    let start: usize = lines(old).zip(lines(new)).take_while(same).map(|(line, _)| line.len()).sum();
    let (old, new) = (&old[start..], &new[start..]);
    let tail = lines(old).rev().zip(lines(new).rev()).take_while(same);
    let end: usize = tail.map(|(line, _)| line.len()).sum();
    (old[..old.len() - end].trim_end(), new[..new.len() - end].trim_end())
}

/// Does work on the disk where it holds nobody up.
async fn on_disk<I: Send + 'static, T: Send + 'static>(
    call: &CallContext<'_>,
    input: I,
    work: impl FnOnce(&Notes, I) -> Result<T, SkillError> + Send + 'static,
) -> Result<T, SkillError> {
    let missing = || SkillError::tool(ours!(l10n::notes::not_connected));
    let notes = call.services.notes.clone().ok_or_else(missing)?;
    #[expect(clippy::disallowed_methods, reason = "it reads and writes local files, which is soon done")]
    let done = tokio::task::spawn_blocking(move || work(&notes, input)).await;
    done.unwrap_or_else(|error| Err(SkillError::tool(ours!(l10n::notes::work_failed, Own(error)))))
}

/// A note as it is, with its path.
pub(super) async fn whole(call: &CallContext<'_>, path: &str) -> Result<(String, String)> {
    let path = NotePath::read(path)?;
    let note = on_disk(call, path.clone(), |notes, path| notes.get(&path)).await?;
    Ok((path.to_string(), note.text))
}

async fn search(call: &CallContext<'_>) -> Result<Output> {
    let query = call.lowercase("query");
    let folder = call.text("folder").unwrap_or_default().to_owned();
    let wanted = query.clone();
    let hits = on_disk(call, folder, move |notes, folder| {
        let mut hits = Vec::new();
        for path in notes.paths(&folder)? {
            // One that can't be read, or isn't text, is not found.
            let Ok(note) = notes.get(&path) else { continue };
            let name = path.to_string();
            if has_all_words(&format!("{name} {}", note.text).to_lowercase(), &wanted) {
                hits.push((name, excerpt(&note.text, &wanted)));
            }
        }
        Ok(hits)
    })
    .await?;
    let shown = &hits[..hits.len().min(call.limit())];
    let lines: Vec<String> = shown.iter().map(|(path, line)| format!("- {path}: {line}")).collect();
    let heading =
        if hits.is_empty() { l10n::notes::found_nothing(query) } else { heading(&lines, hits.len()) };
    let summary = under(heading, lines);
    let items: Vec<_> = shown.iter().map(|(path, line)| json!({"note": path, "excerpt": line})).collect();
    Ok(Output::outside_if(!hits.is_empty(), summary, json!({"items": items, "count": hits.len()})))
}

fn heading(lines: &[String], count: usize) -> String {
    if count > lines.len() { l10n::notes::found_first(count, lines.len()) } else { l10n::notes::found(count) }
}

/// The first line with one of the words.
fn excerpt(text: &str, words: &str) -> String {
    let has_one = |line: &&str| words.split_whitespace().any(|word| line.to_lowercase().contains(word));
    let found = text.lines().find(has_one).or_else(|| text.lines().find(|line| !line.trim().is_empty()));
    line(found.unwrap_or_default(), 160)
}

async fn list(call: &CallContext<'_>) -> Result<Output> {
    let folder = call.text("folder").unwrap_or_default().to_owned();
    let paths = on_disk(call, folder, |notes, folder| notes.paths(&folder)).await?;
    let names: Vec<String> = paths.iter().take(call.limit()).map(ToString::to_string).collect();
    let lines: Vec<String> = names.iter().map(|path| format!("- {path}")).collect();
    let heading = if paths.is_empty() { l10n::notes::no_notes() } else { heading(&lines, paths.len()) };
    let summary = under(heading, lines);
    let items: Vec<_> = names.iter().map(|path| json!({"note": path})).collect();
    Ok(Output::outside_if(!items.is_empty(), summary, json!({"items": items, "count": paths.len()})))
}

async fn read(call: &CallContext<'_>) -> Result<Output> {
    let path = NotePath::read(call.text("path").unwrap_or_default())?;
    let note = on_disk(call, path.clone(), |notes, path| notes.get(&path)).await?;
    let mut text = note.text;
    shorten(&mut text);
    let data = json!({"note": path.to_string(), "version": note.version, "text": text});
    let summary = format!("{}\n\n{}", l10n::notes::head(path, note.version), text.trim_end());
    Ok(Output::new(summary, data))
}

/// Puts a note back as it was, if it still is as the call left it.
pub(super) async fn put_back(
    call: &CallContext<'_>,
    path: &str,
    before: Option<&str>,
    after: &str,
) -> Result<Outcome> {
    let (path, before, after) = (NotePath::read(path)?, before.map(str::to_owned), after.to_owned());
    let done = on_disk(call, path, move |notes, path| {
        let now = match notes.get(&path) {
            Ok(now) => now,
            // An earlier attempt has taken it away.
            Err(error) if error.kind == ErrorKind::NotFound && before.is_none() => return Ok(Outcome::Done),
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(Outcome::Changed),
            Err(error) => return Err(error),
        };
        if before.as_ref() == Some(&now.text) {
            return Ok(Outcome::Done);
        }
        if now.version != after {
            return Ok(Outcome::Changed);
        }
        match before {
            Some(before) => notes.put(&path, &before, Some(&now)).map(|_| Outcome::Done),
            None => notes.remove(&path, &now).map(|()| Outcome::Done),
        }
    });
    Ok(done.await?)
}
