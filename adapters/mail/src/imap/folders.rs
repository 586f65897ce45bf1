//! Folders, and which of them is for what (RFC 6154).

use async_imap::imap_proto::{MailboxDatum, NameAttribute, Response};

use super::session::{Command, Session};
use crate::{Fault, Kind, utf7};

/// What a folder is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    /// Where letters arrive.
    Inbox,
    /// Where those that we sent are kept.
    Sent,
    /// Letters that are not sent yet.
    Drafts,
    /// What was thrown away.
    Trash,
    /// What is done with and kept.
    Archive,
    /// Unwanted letters.
    Junk,
    /// All letters once more.
    All,
}

/// A folder of a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its whole name, as people read it.
    pub name: String,
    /// What it is for, if for something.
    pub kind: Option<FolderKind>,
    /// What parts its name from those of the folders in it.
    pub(crate) delimiter: String,
}

/// More folders are not looked at.
const MANY: usize = 1000;

/// What folders are called where the server does not say what they are for: in the order of [`KINDS`].
const NAMES: [&[&str]; 5] = [
    &[
        "sent",
        "sent items",
        "sent messages",
        "sent mail",
        "gesendet",
        "gesendete elemente",
        "envoyés",
        "enviados",
        "posta inviata",
    ],
    &["drafts", "draft", "entwürfe", "brouillons", "borradores", "bozze"],
    &[
        "trash",
        "deleted items",
        "deleted messages",
        "papierkorb",
        "gelöschte elemente",
        "corbeille",
        "papelera",
        "cestino",
    ],
    &["archive", "archives", "archiv", "archivo", "archivio"],
    &["junk", "spam", "junk e-mail", "junk email", "bulk mail", "unerwünscht"],
];

const KINDS: [FolderKind; 5] =
    [FolderKind::Sent, FolderKind::Drafts, FolderKind::Trash, FolderKind::Archive, FolderKind::Junk];

impl Session {
    /// All folders that letters can lie in, as they were a while ago at most.
    pub(crate) async fn folders(&mut self) -> Result<Vec<Folder>, Fault> {
        if let Some(known) = self.known.get(&()).await {
            return Ok(known);
        }
        let folders = self.list().await?;
        self.known.insert((), folders.clone()).await;
        Ok(folders)
    }

    async fn list(&mut self) -> Result<Vec<Folder>, Fault> {
        let mut folders = Vec::new();
        let hear = |response: &Response<'_>| {
            let Response::MailboxData(MailboxDatum::List(found)) = response else { return };
            let attributes = &found.name_attributes;
            let is_closed = attributes.iter().any(|it| match it {
                NameAttribute::NoSelect => true,
                NameAttribute::Extension(other) => other.eq_ignore_ascii_case("\\NonExistent"),
                _ => false,
            });
            if !is_closed && folders.len() < MANY {
                let name = utf7::decode(&found.name);
                let is_inbox = name.eq_ignore_ascii_case("INBOX");
                let kind = if is_inbox { Some(FolderKind::Inbox) } else { attributes.iter().find_map(kind) };
                let delimiter = found.delimiter.as_deref().unwrap_or("/").to_owned();
                folders.push(Folder { name, kind, delimiter });
            }
        };
        let says_kinds = self.can("SPECIAL-USE") && self.can("LIST-EXTENDED");
        let list = if says_kinds { "LIST \"\" \"*\" RETURN (SPECIAL-USE)" } else { "LIST \"\" \"*\"" };
        self.run(&Command::new(list), hear).await?;
        name_kinds(&mut folders);
        Ok(folders)
    }

    /// The folder of a kind.
    pub(crate) async fn folder_for(&mut self, kind: FolderKind) -> Result<String, Fault> {
        if kind == FolderKind::Inbox {
            return Ok("INBOX".to_owned());
        }
        let is_it = |folders: &[Folder]| folders.iter().find(|it| it.kind == Some(kind)).cloned();
        self.pick(is_it)
            .await?
            .map_err(|_| Fault::new(Kind::NotFound, format!("the mailbox has no folder for {kind:?}")))
    }

    /// The folder that somebody means: by its name, by the last part of it, or by what it is for.
    pub(crate) async fn folder_named(&mut self, name: &str) -> Result<String, Fault> {
        if name.eq_ignore_ascii_case("INBOX") {
            return Ok("INBOX".to_owned());
        }
        self.pick(|folders| named(folders, name)).await?.map_err(|folders| {
            let known: Vec<&str> = folders.iter().take(20).map(|folder| folder.name.as_str()).collect();
            Fault::new(Kind::NotFound, format!("there is no folder `{name}`; there are {}", known.join(", ")))
        })
    }

    /// The name of the folder that is picked of those that are known, or else of those there are now; all of them if
    /// none is.
    async fn pick(
        &mut self,
        pick: impl Fn(&[Folder]) -> Option<Folder>,
    ) -> Result<Result<String, Vec<Folder>>, Fault> {
        if let Some(found) = pick(&self.folders().await?) {
            return Ok(Ok(found.name));
        }
        self.known.invalidate(&()).await;
        let folders = self.folders().await?;
        Ok(pick(&folders).map(|folder| folder.name).ok_or(folders))
    }
}

fn named(folders: &[Folder], name: &str) -> Option<Folder> {
    let is_same = |a: &str| a.to_lowercase() == name.to_lowercase();
    let found = |is_it: &dyn Fn(&&Folder) -> bool| folders.iter().find(is_it).cloned();
    found(&|folder| folder.name == name)
        .or_else(|| found(&|folder| is_same(&folder.name)))
        .or_else(|| found(&|folder| folder.kind.is_some_and(|kind| is_same(&format!("{kind:?}")))))
        .or_else(|| found(&|folder| is_same(folder.last_part())))
}

impl Folder {
    fn last_part(&self) -> &str {
        let part = (!self.delimiter.is_empty()).then(|| self.name.rsplit(&self.delimiter).next());
        part.flatten().unwrap_or(&self.name)
    }
}

fn kind(attribute: &NameAttribute<'_>) -> Option<FolderKind> {
    Some(match attribute {
        NameAttribute::Sent => FolderKind::Sent,
        NameAttribute::Drafts => FolderKind::Drafts,
        NameAttribute::Trash => FolderKind::Trash,
        NameAttribute::Archive => FolderKind::Archive,
        NameAttribute::Junk => FolderKind::Junk,
        NameAttribute::All => FolderKind::All,
        _ => return None,
    })
}

/// Kinds that no folder has by the server's word go to the first one with a name that says so.
fn name_kinds(folders: &mut [Folder]) {
    for (kind, names) in KINDS.into_iter().zip(NAMES) {
        if folders.iter().any(|folder| folder.kind == Some(kind)) {
            continue;
        }
        let called = |folder: &&mut Folder| names.contains(&folder.last_part().to_lowercase().as_str());
        if let Some(folder) = folders.iter_mut().filter(|folder| folder.kind.is_none()).find(called) {
            folder.kind = Some(kind);
        }
    }
}
