//! The notes on the page. As in the chat, only owners see them.

use adjutant_l10n::{notes, page, page_tables as words};
use adjutant_memory::has_all_words;
use adjutant_skills::builtin::Notes;
use adjutant_store::{Batch, Result, changes};
use adjutant_types::PersonId;
use adjutant_web::views::{Cell, Hit, Note, Table, Viewer};

use super::{WebBackend, row, table};
use crate::service::web::search::excerpt;

/// How many notes are listed, and how many a search reads.
const LISTED: usize = 200;
const READ: usize = 2_000;

impl WebBackend {
    /// Works on the notes, where it holds nobody up; none if there are none for this viewer.
    async fn on_notes<T: Send + 'static>(
        &self,
        viewer: &Viewer,
        work: impl FnOnce(&Notes) -> T + Send + 'static,
    ) -> Option<T> {
        let notes = self.conversations.services().notes.clone().filter(|_| viewer.is_owner)?;
        #[expect(clippy::disallowed_methods, reason = "it reads and writes local files, which is soon done")]
        let done = tokio::task::spawn_blocking(move || work(&notes)).await;
        done.ok()
    }

    /// None if the viewer has no notes.
    pub(super) async fn notes(&self, viewer: &Viewer) -> Option<Table> {
        let all = self.on_notes(viewer, Notes::list).await?.unwrap_or_default();
        let cell = |path: String| {
            let to = Note::address(&path);
            row(vec![Cell::Link(path, to)], None)
        };
        Some(table(
            (words::notes(), words::no_notes()),
            [words::name()],
            all.into_iter().take(LISTED).map(cell),
        ))
    }

    pub(in crate::service::web) async fn note_at(&self, viewer: &Viewer, path: &str) -> Option<Note> {
        let path = path.to_owned();
        let open = move |notes: &Notes| {
            let (text, version) = notes.open(&path).ok()?;
            Some(Note { path, text, version })
        };
        self.on_notes(viewer, open).await.flatten()
    }

    /// Returns why a note couldn't be saved, if it couldn't.
    pub(in crate::service::web) async fn save_note_as(
        &self,
        viewer: &Viewer,
        note: Note,
    ) -> Result<Option<String>> {
        let path = note.path.clone();
        let save = move |notes: &Notes| notes.save(&note.path, &note.text, &note.version);
        let undo = match self.on_notes(viewer, save).await {
            None => return Ok(Some(page::nothing_here())),
            Some(Err(error)) => return Ok(Some(error.to_string())),
            Some(Ok(undo)) => undo,
        };
        let (done, mut batch) = (("notes.replace_section", notes::changed(&path), undo), Batch::new());
        let person: PersonId = viewer.person.as_str().into();
        self.leave(&person, (words::edit(), &path), done, &mut batch).await?;
        changes::of_thing(&mut batch, &person, "note");
        self.store.write(batch).await.map(|_| None)
    }

    /// The notes with all these words.
    pub(in crate::service::web) async fn found_notes(
        &self,
        viewer: &Viewer,
        query: &str,
        limit: usize,
    ) -> Vec<Hit> {
        let query = query.to_owned();
        let find = move |notes: &Notes| -> Vec<Hit> {
            let paths = notes.list().unwrap_or_default().into_iter().take(READ);
            let texts = paths.filter_map(|path| notes.open(&path).ok().map(|(text, _)| (path, text)));
            let found = texts.filter(|(path, text)| has_all_words(&format!("{path} {text}"), &query));
            let hit = |(path, text): (String, String)| {
                let (about, to) = (excerpt(&text, &query), Note::address(&path));
                Hit { text: path, about, at: None, to }
            };
            found.take(limit).map(hit).collect()
        };
        self.on_notes(viewer, find).await.unwrap_or_default()
    }
}
