//! Keeps the machine's other users out of our files, whatever the umask.

use std::fs::{DirBuilder, Metadata, Permissions, symlink_metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use adjutant_config::Config;
use adjutant_store::{Backend, backups};
use rustix::fs::Mode;

/// Our folders in the data folder, and how the names of our files there begin. Nothing else there is touched, because the
/// folder may be shared.
const FOLDERS: [&str; 8] = ["mail", "work", "backups", "mcp", "instructions", "oauth", "files", "skills"];
const FILES: [&str; 3] = ["adjutant.db", "console-", "secrets."];

/// The rights of other users.
const OTHERS: u32 = 0o077;

/// The files and folders of ours that other users could read or write.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Exposed {
    /// Nobody else can any more.
    pub closed: Vec<PathBuf>,
    /// They still can: it belongs to another user, or it's a data folder with other files than ours.
    pub open: Vec<PathBuf>,
}

/// Makes the folder for data before the skills are read: only folders that are there then are read again when something is
/// saved in them. Opening the store says why it can't be made.
pub fn make_data_dir(config: &Config) {
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(&config.data_dir);
}

/// From now on all new files are private; those that were open to others are closed.
pub fn restrict(config: &Config) -> Exposed {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let mut exposed = Exposed::default();
    let (ours, others): (Vec<_>, Vec<_>) = entries(&config.data_dir).partition(|path| has_our_name(path));
    let mut paths: Vec<PathBuf> = ours.iter().flat_map(|path| entries(path)).collect();
    paths.extend(ours);
    paths.extend(Backend::files(config.store.url.expose()));
    let copies = config.backup.as_ref().and_then(|backup| backups::list(&backup.path).ok());
    paths.extend(copies.into_iter().flatten().map(|(_, path)| path));
    match others.is_empty() {
        true => paths.push(config.data_dir.clone()),
        false if is_exposed(&config.data_dir) => exposed.open.push(config.data_dir.clone()),
        false => {}
    }
    paths.sort();
    paths.dedup();
    for path in paths.into_iter().filter(|path| is_exposed(path)) {
        match close(&path) {
            Ok(()) => exposed.closed.push(path),
            Err(_) => exposed.open.push(path),
        }
    }
    exposed
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

fn has_our_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    FOLDERS.contains(&name) || FILES.iter().any(|ours| name.starts_with(ours))
}

/// Files and folders only: a link has no rights of its own.
fn metadata(path: &Path) -> io::Result<Metadata> {
    symlink_metadata(path).and_then(|data| {
        if data.is_file() || data.is_dir() { Ok(data) } else { Err(io::ErrorKind::InvalidInput.into()) }
    })
}

fn is_exposed(path: &Path) -> bool {
    metadata(path).is_ok_and(|data| data.permissions().mode() & OTHERS != 0)
}

fn close(path: &Path) -> io::Result<()> {
    let mode = metadata(path)?.permissions().mode();
    std::fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_files_are_closed_and_a_shared_folder_stays_open() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let write = |name: &str, mode: u32| {
            let path = data.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "x").unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let config = Config::in_dir(&data);
        assert_eq!(restrict(&config), Exposed::default(), "there is nothing yet");
        let draft = write("mail/drafts.eml", 0o664);
        for path in [&data, draft.parent().unwrap()] {
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        let program = write("work/tool", 0o755);
        let database = write("adjutant.db", 0o644);
        let key = write("secrets.key", 0o644);
        let skill = write("skills/visit.toml", 0o664);
        let theirs = write("photos.zip", 0o644);
        let exposed = restrict(&config);
        assert_eq!(exposed.open, std::slice::from_ref(&data));
        assert!(exposed.closed.contains(&database) && exposed.closed.contains(&draft), "{exposed:?}");
        assert_eq!(
            [&data, &database, &key, &skill, &draft, &program, &theirs].map(|path| mode(path)),
            [0o755, 0o600, 0o600, 0o600, 0o600, 0o700, 0o644]
        );
        assert_eq!(mode(draft.parent().unwrap()), 0o700);
        std::fs::remove_file(&theirs).unwrap();
        assert_eq!(restrict(&config), Exposed { closed: vec![data.clone()], open: Vec::new() });
        assert_eq!(mode(&data), 0o700);
        assert_eq!(restrict(&config), Exposed::default());
    }
}
