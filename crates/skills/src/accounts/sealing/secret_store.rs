//! The secrets in the store, and the key that they are sealed with.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind as IoKind, Write as _};
use std::num::NonZeroU32;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use adjutant_config::{Config, Secret, SecretsConfig};
use adjutant_l10n::logins;
use adjutant_store::{Batch, Store, StoreError, connected, secrets};
use adjutant_turn::journal::fail_point;
use adjutant_types::{AccountId, AccountState, InstanceId, Own, ours};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::RwLock;
use ring::pbkdf2;

use super::{Key, Sealer, random};
use crate::{ErrorKind, SkillError};

/// The row with the salt of a passphrase. It isn't sealed.
const SALT: &str = "key/salt";
/// How often a passphrase is hashed
/// (https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#pbkdf2).
const ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(599_999);

/// Why a text can't be sealed or opened. It never holds the text.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The key can't be read or made, and why.
    #[error("the key of [secrets] can't be used: {0}")]
    Key(String),
    /// It was sealed with another key, which has this id.
    #[error("it was sealed with the key {0}, which isn't here")]
    OtherKey(String),
    /// It isn't what was sealed under this name.
    #[error("what is stored of it is damaged")]
    Damaged,
    /// The store isn't open.
    #[error("the store isn't open")]
    NoStore,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SecretsError> for SkillError {
    fn from(error: SecretsError) -> Self {
        Self::tool(ours!(logins::not_opened, Own(error)))
    }
}

/// The secrets in the store. It is made of the configuration alone; the store comes when it is open, and the key is read
/// when it is first needed.
pub struct SecretStore {
    config: SecretsConfig,
    store: OnceLock<Store>,
    sealer: RwLock<Option<Arc<Sealer>>>,
    /// Who renews a secret here.
    holder: OnceLock<InstanceId>,
}

impl Default for SecretStore {
    fn default() -> Self {
        Self::with(SecretsConfig::File(PathBuf::new()))
    }
}

impl SecretStore {
    /// One without a store yet.
    pub fn new(config: &Config) -> Self {
        Self::with(config.secrets.clone())
    }

    /// One with this key, without a store yet.
    pub fn with(config: SecretsConfig) -> Self {
        Self { config, store: OnceLock::new(), sealer: RwLock::default(), holder: OnceLock::new() }
    }

    /// From now on the secrets are in this store.
    pub fn attach(&self, store: &Store) {
        self.store.get_or_init(|| store.clone());
    }

    pub(crate) fn store(&self) -> Result<&Store, SecretsError> {
        self.store.get().ok_or(SecretsError::NoStore)
    }

    /// Whoever renews a secret by this.
    pub(crate) fn holder(&self, store: &Store) -> &InstanceId {
        self.holder.get_or_init(|| store.new_id())
    }

    pub async fn seal(&self, name: &str, plain: &str) -> Result<String, SecretsError> {
        let known = self.sealer.read().clone();
        let sealer = match known.filter(|_| !self.may_have_changed()) {
            Some(sealer) => sealer,
            None => self.load().await?,
        };
        sealer.seal(name, plain)
    }

    /// Opens a text that was sealed under this name.
    pub async fn open(&self, name: &str, sealed: &str) -> Result<Secret, SecretsError> {
        let known = self.sealer.read().clone();
        match known.map(|sealer| sealer.open(name, sealed)) {
            Some(Err(SecretsError::OtherKey(_))) if self.may_have_changed() => {}
            Some(opened) => return opened,
            None => {}
        }
        self.load().await?.open(name, sealed)
    }

    /// The secret of this name, and its version.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<(Secret, i64)>, SecretsError> {
        let Some(row) = secrets::get(self.store()?, name).await? else { return Ok(None) };
        Ok(Some((self.open(name, &row.sealed).await?, row.version)))
    }

    /// Stores a secret in place of any other of this name.
    pub(crate) async fn put(&self, name: &str, plain: &str) -> Result<(), SecretsError> {
        let sealed = self.seal(name, plain).await?;
        self.store()?.write(Batch::with(|batch| secrets::put(batch, name, &sealed))).await?;
        Ok(())
    }

    /// Erases a secret. Returns whether there was one.
    pub(crate) async fn delete(&self, name: &str) -> Result<bool, SecretsError> {
        let store = self.store()?;
        let is_there = secrets::get(store, name).await?.is_some();
        store.write(Batch::with(|batch| secrets::delete(batch, name))).await?;
        Ok(is_there)
    }

    pub async fn password(&self, account: &AccountId) -> Result<Secret, SkillError> {
        let stored = self.read(&secrets::name_of(account)).await?;
        let missing = || SkillError::new(ErrorKind::Auth, ours!(logins::no_password));
        stored.map(|(password, _)| password).ok_or_else(missing)
    }

    /// How many secrets there are, all of which can be opened.
    pub async fn check(&self) -> Result<i64, SecretsError> {
        let store = self.store()?;
        let count = secrets::count(store).await?;
        if count > 0 {
            let sealer = self.load().await?;
            for name in secrets::names_not_sealed_with(store, &sealer.current.id).await? {
                self.read(&name).await?;
            }
        }
        Ok(count)
    }

    /// Takes over the tokens that earlier versions kept in files.
    pub(crate) async fn take_over(&self, folder: &Path) -> Result<(), SecretsError> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut is_whole = true;
        for path in entries.map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).filter(|name| !name.starts_with('.'));
            let Some(name) = name.and_then(|name| name.strip_suffix(".json")) else { continue };
            let name = match name.strip_prefix("mcp-") {
                Some(server) => format!("mcp/{server}"),
                None => format!("oauth/{name}"),
            };
            let plain = match std::fs::read_to_string(&path) {
                Ok(plain) => plain,
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "an old login can't be read");
                    is_whole = false;
                    continue;
                }
            };
            let sealed = self.seal(&name, &plain).await?;
            // Somebody may have logged in again since, or an earlier start was interrupted here.
            self.store()?.try_write(Batch::with(|batch| secrets::add(batch, &name, &sealed))).await?;
            is_whole &= std::fs::remove_file(&path).is_ok();
        }
        if is_whole {
            // What is left are locks.
            let _ = std::fs::remove_dir_all(folder);
        }
        Ok(())
    }
}

/// The key.
impl SecretStore {
    /// Whether the file may have a newer key than the one that we know.
    fn may_have_changed(&self) -> bool {
        !matches!(self.config, SecretsConfig::Passphrase(_))
    }

    /// Reads the key; makes it if there is no secret yet.
    async fn load(&self) -> Result<Arc<Sealer>, SecretsError> {
        let sealer = match &self.config {
            SecretsConfig::File(path) => match read(path)? {
                Some(sealer) => sealer,
                None => self.make(path).await?,
            },
            SecretsConfig::Credential(path) => {
                read(path)?.ok_or_else(|| SecretsError::Key(format!("{} isn't there", path.display())))?
            }
            SecretsConfig::Passphrase(passphrase) => self.derive(passphrase.clone()).await?,
        };
        let sealer = Arc::new(sealer);
        *self.sealer.write() = Some(Arc::clone(&sealer));
        Ok(sealer)
    }

    /// Makes a key file. With another key beside it, what was sealed would be lost without a word.
    async fn make(&self, path: &Path) -> Result<Sealer, SecretsError> {
        let count = secrets::count(self.store()?).await?;
        if count > 0 {
            let what = format!(
                "{} isn't there, but {count} stored logins are sealed with its key. Put it back, or forget them with \
                 `adjutant secrets rotate --forget`",
                path.display()
            );
            return Err(SecretsError::Key(what));
        }
        make_file(path)
    }

    async fn derive(&self, passphrase: Secret) -> Result<Sealer, SecretsError> {
        let salt = self.salt().await?;
        #[expect(clippy::disallowed_methods, reason = "it computes for less than a second")]
        let derived = tokio::task::spawn_blocking(move || {
            let mut key = [0; 32];
            let words = passphrase.expose().as_bytes();
            pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, &salt, words, &mut key);
            Sealer::of(Key::of(key))
        });
        derived.await.map_err(|error| SecretsError::Key(error.to_string()))
    }

    /// The salt of a passphrase, made when it is first needed.
    async fn salt(&self) -> Result<Vec<u8>, SecretsError> {
        let store = self.store()?;
        if secrets::get(store, SALT).await?.is_none() {
            let salt = STANDARD.encode(random::<16>()?);
            // Another instance may have been first.
            store.try_write(Batch::with(|batch| secrets::add(batch, SALT, &salt))).await?;
        }
        let row = secrets::get(store, SALT).await?.ok_or(SecretsError::Damaged)?;
        STANDARD.decode(row.sealed).map_err(|_| SecretsError::Damaged)
    }

    /// Seals all secrets with a new key; where the key isn't a file of ours, with the first one that is configured. `former`
    /// is what `[secrets] key` named before, if that has changed. Interrupted anywhere, it goes on when it is called again.
    /// Returns how many were sealed.
    pub async fn rotate(&self, former: Option<&str>) -> Result<usize, SecretsError> {
        let store = self.store()?;
        let mut sealer = match &self.config {
            SecretsConfig::File(path) if former.is_some() && read(path)?.is_none() => make_file(path)?,
            _ => Sealer::clone(&*self.load().await?),
        };
        let is_interrupted = !secrets::names_not_sealed_with(store, &sealer.current.id).await?.is_empty();
        if let (SecretsConfig::File(path), false) = (&self.config, is_interrupted) {
            let before = std::mem::replace(&mut sealer.current, Key::random()?);
            sealer.older.insert(0, before);
            write_file(path, &sealer.lines(), |fresh| std::fs::rename(fresh, path))?;
            fail_point("key-added");
        }
        if let Some(former) = former {
            let more = match Sealer::of_lines(former) {
                Some(more) => more,
                None => self.derive(Secret::new(former.trim())).await?,
            };
            sealer.older.extend([more.current].into_iter().chain(more.older));
        }
        let mut count = 0;
        loop {
            let names = secrets::names_not_sealed_with(store, &sealer.current.id).await?;
            if names.is_empty() {
                break;
            }
            for name in names {
                count += usize::from(seal_anew(store, &sealer, &name).await?);
                fail_point("secret-sealed");
            }
        }
        // The key before stays, because an instance may be sealing with it just now.
        sealer.older.truncate(1);
        if let SecretsConfig::File(path) = &self.config {
            write_file(path, &sealer.lines(), |fresh| std::fs::rename(fresh, path))?;
        }
        *self.sealer.write() = Some(Arc::new(sealer));
        Ok(count)
    }

    /// Erases the secrets whose key is lost; their accounts need a new login. Returns how many there were.
    pub async fn forget_lost(&self) -> Result<usize, SecretsError> {
        let store = self.store()?;
        if let SecretsConfig::File(path) = &self.config
            && read(path)?.is_none()
        {
            make_file(path)?;
        }
        let sealer = self.load().await?;
        let mut count = 0;
        for name in secrets::names_not_sealed_with(store, &sealer.current.id).await? {
            if !matches!(self.read(&name).await, Err(SecretsError::OtherKey(_) | SecretsError::Damaged)) {
                continue;
            }
            if let Some(account) = name.strip_prefix("account/") {
                let mut batch = Batch::new();
                connected::set_state(&mut batch, &account.into(), AccountState::NeedsLogin);
                // It may have been disconnected.
                store.try_write(batch).await?;
            }
            self.delete(&name).await?;
            count += 1;
        }
        Ok(count)
    }
}

/// Seals a secret with the newest key. Returns whether nobody has changed it meanwhile.
async fn seal_anew(store: &Store, sealer: &Sealer, name: &str) -> Result<bool, SecretsError> {
    let Some(row) = secrets::get(store, name).await? else { return Ok(false) };
    let sealed = sealer.seal(name, sealer.open(name, &row.sealed)?.expose())?;
    Ok(store.try_write(Batch::with(|batch| secrets::reseal(batch, name, &sealed, row.version))).await?)
}

/// The keys of a file, if it is there.
fn read(path: &Path) -> Result<Option<Sealer>, SecretsError> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let wrong = || format!("a line of {} isn't 32 bytes in base64", path.display());
            Sealer::of_lines(&text).map(Some).ok_or_else(|| SecretsError::Key(wrong()))
        }
        Err(error) if error.kind() == IoKind::NotFound => Ok(None),
        Err(error) => Err(SecretsError::Key(format!("{} can't be read: {error}", path.display()))),
    }
}

/// A file with a new key, or the one that another process has made meanwhile.
fn make_file(path: &Path) -> Result<Sealer, SecretsError> {
    let sealer = Sealer::of(Key::random()?);
    write_file(path, &sealer.lines(), |fresh| match std::fs::hard_link(fresh, path) {
        Err(error) if error.kind() != IoKind::AlreadyExists => Err(error),
        _ => std::fs::remove_file(fresh),
    })?;
    read(path)?.ok_or_else(|| SecretsError::Key(format!("{} isn't there", path.display())))
}

/// Writes a file that only we can read, whole or not at all: `place` puts it where it belongs.
fn write_file(path: &Path, text: &str, place: impl Fn(&Path) -> io::Result<()>) -> Result<(), SecretsError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let write = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let _ = std::fs::remove_file(&fresh);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        place(&fresh)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| SecretsError::Key(format!("{} can't be written: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use adjutant_test_support::journal::TestStore;

    use super::*;

    fn key_file(test: &TestStore) -> PathBuf {
        test.folder.path().join("keys/secrets.key")
    }

    fn instance(test: &TestStore, config: SecretsConfig) -> SecretStore {
        let secrets = SecretStore::with(config);
        secrets.attach(&test.store);
        secrets
    }

    fn with_file(test: &TestStore) -> SecretStore {
        instance(test, SecretsConfig::File(key_file(test)))
    }

    async fn opened(secrets: &SecretStore, name: &str) -> String {
        secrets.read(name).await.unwrap().unwrap().0.expose().to_owned()
    }

    #[tokio::test]
    async fn a_rotation_goes_on_where_it_was_interrupted_and_others_need_no_restart() {
        let test = TestStore::open().await;
        let (secrets, other, path) = (with_file(&test), with_file(&test), key_file(&test));
        assert_eq!(secrets.check().await.unwrap(), 0);
        assert!(!path.exists(), "a start without secrets makes no key");
        for name in ["account/a", "account/b", "oauth/c"] {
            secrets.put(name, name).await.unwrap();
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(opened(&other, "oauth/c").await, "oauth/c");
        // Killed after its first row.
        let old = read(&path).unwrap().unwrap();
        let new = Sealer { current: Key::random().unwrap(), older: vec![old.current] };
        write_file(&path, &new.lines(), |fresh| std::fs::rename(fresh, &path)).unwrap();
        assert!(seal_anew(&test.store, &new, "account/a").await.unwrap());
        assert_eq!(opened(&other, "account/a").await, "account/a");
        assert_eq!(secrets.rotate(None).await.unwrap(), 2);
        assert_eq!(read(&path).unwrap().unwrap().current.id, new.current.id);
        // The next one makes another key, which everybody seals with from then on.
        assert_eq!(secrets.rotate(None).await.unwrap(), 3);
        other.put("account/d", "account/d").await.unwrap();
        let now = read(&path).unwrap().unwrap();
        assert_ne!(now.current.id, new.current.id);
        assert_eq!(now.older.len(), 1);
        let others = secrets::names_not_sealed_with(&test.store, &now.current.id).await.unwrap();
        assert_eq!(others, [""; 0]);
        assert_eq!(other.check().await.unwrap(), 4);
    }

    #[tokio::test]
    async fn rows_cannot_be_swapped_and_a_lost_key_is_told() {
        let test = TestStore::open().await;
        let (secrets, path) = (with_file(&test), key_file(&test));
        secrets.put("account/a", "of a").await.unwrap();
        secrets.put("account/b", "of b").await.unwrap();
        let of_b = secrets::get(&test.store, "account/b").await.unwrap().unwrap().sealed;
        test.write(|batch| secrets::put(batch, "account/a", &of_b)).await;
        assert!(matches!(secrets.read("account/a").await, Err(SecretsError::Damaged)));
        std::fs::remove_file(&path).unwrap();
        let error = with_file(&test).put("account/c", "of c").await.unwrap_err();
        let error = error.to_string();
        assert!(error.contains("isn't there, but 2 stored logins are sealed with its key"), "{error}");
        assert!(!path.exists());
        let after = with_file(&test);
        assert_eq!(after.forget_lost().await.unwrap(), 2);
        after.put("account/c", "of c").await.unwrap();
        assert_eq!(after.check().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_passphrase_may_change_or_become_a_file() {
        let test = TestStore::open().await;
        let with = |words: &str| instance(&test, SecretsConfig::Passphrase(Secret::new(words)));
        let first = with("correct horse");
        first.put("account/a", "of a").await.unwrap();
        let second = with("battery staple");
        assert!(matches!(second.check().await, Err(SecretsError::OtherKey(_))));
        assert_eq!(second.rotate(Some("correct horse\n")).await.unwrap(), 1);
        assert_eq!(opened(&second, "account/a").await, "of a");
        let file = with_file(&test);
        assert_eq!(file.rotate(Some("battery staple")).await.unwrap(), 1);
        assert_eq!(opened(&with_file(&test), "account/a").await, "of a");
    }
}
