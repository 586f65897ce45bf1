//! Fetches the files of messages: downloads each, keeps it in the data folder, and reads its text.
//!
//! Properties:
//!
//! - Files are journalled with their message, and a worker of its own fetches them. Later messages of the conversation
//!   wait for it; nothing else does.
//! - A file's id follows from its message, so a process that dies leaves at most a file that the next one writes again.
//!   What was found out is stored in the commit after which the message's turn may start.
//! - What a file contains is put into a database that machines share before it is journalled, so that a turn can use it
//!   wherever it runs.
//! - A file that can't be fetched or read ends with a sentence. What was written beside it is a message all the same.
//! - An attempt to read a file is counted before it begins. After two that the process didn't survive, the file is set
//!   aside.
//! - A stranger's file isn't downloaded: the lanes don't see it before they are let in.

use std::fs::{OpenOptions, create_dir_all, remove_file, rename};
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::DownloadError;
use adjutant_files::{FileReading, Folder, MAX_MEGABYTES, Reader, file_name};
use adjutant_skills::builtin::Services;
use adjutant_store::files::{self, FileRow, SentFile};
use adjutant_store::inbox::InboxRow;
use adjutant_store::{Batch, Result, Store, StoreError, attempts};
use adjutant_turn::journal::{TurnEvent, fail_point};
use adjutant_turn::wording;
use adjutant_types::{FILES_ALONE, FileId, FileKind, FileProblem, InstanceId, Taint};
use futures::FutureExt;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use super::download::{MAX_BYTES, Ports, download};
use crate::gateway::lanes::Lanes;

/// Messages whose files are fetched at the same time.
const AT_ONCE: usize = 4;
const MAX_FILES: usize = 10;
/// The pause before retrying, if the store fails.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

pub struct FileFetcher {
    store: Store,
    instance: InstanceId,
    ports: Ports,
    folder: Arc<Folder>,
    reader: Arc<Reader>,
    slots: Semaphore,
}

impl Lanes {
    /// Fetches a message's files until their end is stored.
    pub(in crate::gateway) async fn fetch(&self, row: &InboxRow) {
        let Ok(_slot) = self.fetcher.slots.acquire().await else { return };
        self.show_typing(row);
        let mut fetched = Vec::new();
        for (number, file) in row.unfetched().iter().enumerate() {
            let id = file_id(&row.event, number);
            let attempt = self.fetcher.fetch_one(row, number, file, &id);
            let done = AssertUnwindSafe(attempt).catch_unwind().await;
            fetched.push(done.unwrap_or_else(|_| {
                tracing::error!(event = row.event, "fetching a file panicked; giving it up");
                self.fetcher.failed(file, &id, FileProblem::Failed)
            }));
        }
        let not_shared = self.fetcher.share(&fetched).await;
        fail_point("files-fetched");
        loop {
            match self.store_files(row, &fetched, &not_shared).await {
                // Another process was faster, or the store is closed.
                Ok(()) | Err(StoreError::Stale(_) | StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, event = row.event, "files couldn't be journalled; retrying");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// Stores what was fetched. A message of nothing but files of which none can be read ends with a sentence.
    async fn store_files(&self, row: &InboxRow, fetched: &[FileRow], not_shared: &[&str]) -> Result<()> {
        let mut batch = Batch::new();
        // Whoever takes the lane runs it, as every message.
        files::fetched(&mut batch, row, self.conversations.instance.owner(), fetched);
        let takes_pictures = self.conversations.orchestrator.model.takes_pictures();
        let sentence = [
            wording::files::not_read(fetched, MAX_MEGABYTES, takes_pictures),
            wording::files::not_shared(not_shared),
        ];
        let has_more =
            fetched.iter().any(|file| file.content.is_some() || (takes_pictures && file.is_picture()));
        let sentence = sentence.into_iter().flatten().collect::<Vec<_>>().join("\n");
        if sentence.is_empty() {
            return self.conversations.store.write(batch).await.map(drop);
        }
        if row.text != FILES_ALONE || has_more {
            // The answer to the message comes later.
            return self.conversations.say(row, &sentence.into(), batch).await;
        }
        let taint = fetched.iter().fold(Taint::default(), |all, file| all.and(&Taint::by(&file.source)));
        self.conversations.add_answered(&mut batch, row, &taint, sentence);
        self.conversations.store.write(batch).await?;
        self.conversations.events.send(TurnEvent::MessageAdded(row.conversation_id.clone()));
        Ok(())
    }
}

impl FileFetcher {
    pub fn new(store: &Store, instance: &InstanceId, ports: &Ports, services: &Services) -> Self {
        Self {
            store: store.clone(),
            instance: instance.clone(),
            ports: ports.clone(),
            folder: services.files.clone(),
            reader: services.reader.clone(),
            slots: Semaphore::new(AT_ONCE),
        }
    }

    /// Puts files where other machines find them. Returns the names of those that only this one has.
    async fn share<'f>(&self, fetched: &'f [FileRow]) -> Vec<&'f str> {
        let mut not_shared = Vec::new();
        for file in fetched.iter().filter(|file| file.problem.is_none_or(FileProblem::is_kept)) {
            if let Err(error) = self.folder.share(&self.store, &file.id).await {
                tracing::error!(%error, file = %file.id, "a file couldn't be put into the database");
                not_shared.push(file.name.as_str());
            }
        }
        not_shared
    }

    async fn fetch_one(&self, row: &InboxRow, number: usize, file: &SentFile, id: &FileId) -> FileRow {
        match self.try_fetch(row, number, file, id).await {
            Ok(fetched) => fetched,
            Err(problem) => self.failed(file, id, problem),
        }
    }

    async fn try_fetch(
        &self,
        row: &InboxRow,
        number: usize,
        file: &SentFile,
        id: &FileId,
    ) -> Result<FileRow, FileProblem> {
        let broken = |error: io::Error| {
            tracing::error!(%error, event = row.event, "a file couldn't be kept");
            FileProblem::Failed
        };
        let remote = file.remote.as_ref();
        let announced = remote.and_then(|remote| remote.bytes);
        match announced {
            _ if number >= MAX_FILES => return Err(FileProblem::TooMany),
            Some(0) => return Err(FileProblem::Empty),
            Some(bytes) if bytes > MAX_BYTES => return Err(FileProblem::TooBig),
            _ => {}
        }
        create_dir_all(self.folder.path()).map_err(broken)?;
        let (path, part) = (self.folder.place(id), self.folder.path().join(format!("{id}.part")));
        let bytes = match (&file.text, remote) {
            (Some(text), _) => {
                std::fs::write(&part, text).map_err(broken)?;
                text.len() as u64
            }
            (None, Some(remote)) => {
                let open = || OpenOptions::new().write(true).create(true).truncate(true).open(&part);
                let found = (row.channel(), remote.file.as_str());
                let done = download(&self.ports, found, self.store.clock(), open).await;
                done.map_err(|error| gone(&part, &error))?.1
            }
            (None, None) => return Err(FileProblem::Gone),
        };
        if bytes == 0 {
            discard(&part);
            return Err(FileProblem::Empty);
        }
        rename(&part, &path).map_err(broken)?;
        fail_point("file-kept");
        let media_type = remote.map_or("text/plain", |remote| remote.mime_type.as_str());
        let what = format!("file {id}");
        let reading = attempts::counted(&self.store, &self.instance, &what, async {
            fail_point("file-opened");
            self.reader.read(&path, &file.name, media_type).await
        });
        let reading = match reading.await.map_err(|error| broken(io::Error::other(error)))? {
            Some(reading) => reading.map_err(broken)?,
            None => FileReading::quarantined(media_type),
        };
        Ok(FileRow {
            kind: reading.kind,
            media_type: reading.media_type,
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
            pages: reading.pages.and_then(|pages| i64::try_from(pages).ok()),
            problem: reading.problem,
            content: reading.text,
            ..self.failed(file, id, FileProblem::Failed)
        })
    }

    /// A file that isn't there, for this reason.
    fn failed(&self, file: &SentFile, id: &FileId, problem: FileProblem) -> FileRow {
        let remote = file.remote.clone().unwrap_or_default();
        FileRow {
            id: id.clone(),
            name: file_name(&file.name),
            kind: FileKind::Other,
            media_type: remote.mime_type,
            bytes: remote.bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or_default(),
            pages: None,
            problem: Some(problem),
            content: None,
            source: file.source.clone(),
            created_at: self.store.now(),
        }
    }
}

fn gone(part: &Path, error: &DownloadError) -> FileProblem {
    discard(part);
    match error {
        DownloadError::TooBig => FileProblem::TooBig,
        DownloadError::Gone(_) => FileProblem::Gone,
        DownloadError::Passing(..) => FileProblem::NotDownloaded,
    }
}

/// Removes a file that may not be there. What stays is removed with files that nobody knows.
fn discard(part: &Path) {
    let _ = remove_file(part);
}

/// The id of a message's file: the same each time.
fn file_id(message: &str, number: usize) -> FileId {
    files::id_of(
        &Sha256::new().chain_update(message).chain_update([0]).chain_update(number.to_string()).finalize(),
    )
}
