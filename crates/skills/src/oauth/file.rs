//! The file of a login's tokens.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind as IoKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Display, Path, PathBuf};
use std::time::Duration;

use adjutant_l10n::logins;
use adjutant_types::{FromConfig, Own, ours};
use serde::{Deserialize, Serialize};

use super::server::Service;
use super::{LoginState, Place};
use crate::SkillError;

/// How often, and how long after another, a lock is tried that somebody holds: they are asking the service.
const TRIES: u32 = 400;
const PAUSE: Duration = Duration::from_millis(100);

/// A login's tokens. It can't be printed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// In milliseconds.
    pub(super) expires_at: Option<i64>,
    /// When the person logged in, in milliseconds.
    pub(super) since: i64,
    /// Of a login at an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) service: Option<Service>,
}

/// The storage of a login's tokens.
pub(super) struct Vault {
    folder: PathBuf,
    file: PathBuf,
    name: String,
    place: Place,
}

impl Vault {
    pub(super) fn new(folder: &Path, name: &str, place: Place) -> Self {
        Self {
            folder: folder.to_path_buf(),
            file: folder.join(format!("{name}.json")),
            name: name.to_owned(),
            place,
        }
    }

    pub(super) fn read(&self) -> Result<Option<Tokens>, SkillError> {
        match std::fs::read_to_string(&self.file) {
            // The faulty text may be a token, so it isn't shown.
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|_| {
                SkillError::tool(ours!(logins::damaged, self.shown(), FromConfig(&self.place.login)))
            }),
            Err(error) if error.kind() == IoKind::NotFound => Ok(None),
            Err(error) => Err(SkillError::tool(ours!(logins::not_read, self.shown(), Own(error)))),
        }
    }

    /// How the login stands.
    pub(super) fn state(&self) -> LoginState {
        match self.read() {
            Ok(None) => LoginState::None,
            Ok(Some(tokens)) => {
                let until = tokens.expires_at.filter(|_| tokens.refresh_token.is_none());
                LoginState::Ready { since: tokens.since, until }
            }
            Err(error) => LoginState::Broken(error.message.whole()),
        }
    }

    /// Writes the tokens, whole or not at all.
    pub(super) fn write(&self, tokens: &Tokens) -> Result<(), SkillError> {
        let fresh = self.folder.join(format!(".{}.json", self.name));
        let write = || -> std::io::Result<()> {
            self.make_folder()?;
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
            file.write_all(serde_json::to_string(tokens)?.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&fresh, &self.file)
        };
        write().map_err(|error| SkillError::tool(ours!(logins::not_written, self.shown(), Own(error))))
    }

    /// Removes the tokens. Returns whether there were any.
    pub(super) fn remove(&self) -> Result<bool, SkillError> {
        match std::fs::remove_file(&self.file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == IoKind::NotFound => Ok(false),
            Err(error) => Err(SkillError::tool(ours!(logins::not_removed, self.shown(), Own(error)))),
        }
    }

    /// Keeps others from renewing the tokens until the file is dropped.
    pub(super) async fn lock(&self) -> Result<File, SkillError> {
        let open = || -> std::io::Result<File> {
            self.make_folder()?;
            let path = self.folder.join(format!("{}.lock", self.name));
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
        };
        let failed =
            |error: std::io::Error| SkillError::tool(ours!(logins::not_locked, self.shown(), Own(error)));
        let file = open().map_err(failed)?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Err(SkillError::tool(ours!(logins::busy, FromConfig(&self.place.section))))
    }

    fn make_folder(&self) -> std::io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    fn shown(&self) -> FromConfig<Display<'_>> {
        FromConfig(self.file.display())
    }
}
