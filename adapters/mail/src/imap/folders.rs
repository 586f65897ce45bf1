//! Folders and their purpose (RFC 6154).

use async_imap::imap_proto::{MailboxDatum, NameAttribute, Response};

use super::session::{Command, Session};
use crate::{MailError, Result, utf7};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    Inbox,
    Sent,
    Drafts,
    Trash,
    Archive,
    Junk,
    /// All messages, a second time.
    All,
}

impl FolderKind {
    /// What is searched if no folder is named, beside the folders without a purpose; and where a Message-ID is searched first.
    pub const SEARCHED: [Self; 3] = [Self::Inbox, Self::Sent, Self::Archive];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its full name, decoded.
    pub name: String,
    pub kind: Option<FolderKind>,
    /// What separates its name from those of nested folders.
    pub(crate) delimiter: String,
}

const MAX_FOLDERS: usize = 1000;

/// Common folder names, for servers that don't tell the purpose; in the order of [`KINDS`].
const NAMES: [&str; 5] = [
    "sent, sent items, sent messages, sent mail, gesendet, gesendete elemente, envoyés, enviados, posta inviata",
    "drafts, draft, entwürfe, brouillons, borradores, bozze",
    "trash, deleted items, deleted messages, papierkorb, gelöschte elemente, corbeille, papelera, cestino",
    "archive, archives, archiv, archivo, archivio",
    "junk, spam, junk e-mail, junk email, bulk mail, unerwünscht",
];

const KINDS: [FolderKind; 5] =
    [FolderKind::Sent, FolderKind::Drafts, FolderKind::Trash, FolderKind::Archive, FolderKind::Junk];

impl Session {
    /// All folders that can hold messages; cached for a few minutes.
    pub(crate) async fn folders(&mut self) -> Result<Vec<Folder>> {
        if let Some(known) = self.known.get(&()).await {
            return Ok(known);
        }
        let folders = self.list().await?;
        self.known.insert((), folders.clone()).await;
        Ok(folders)
    }

    async fn list(&mut self) -> Result<Vec<Folder>> {
        let mut folders = Vec::new();
        let on_response = |response: &Response<'_>| {
            let Response::MailboxData(MailboxDatum::List(found)) = response else { return };
            let attributes = &found.name_attributes;
            let is_closed = attributes.iter().any(|it| match it {
                NameAttribute::NoSelect => true,
                NameAttribute::Extension(other) => other.eq_ignore_ascii_case("\\NonExistent"),
                _ => false,
            });
            if !is_closed && folders.len() < MAX_FOLDERS {
                let name = utf7::decode(&found.name);
                let is_inbox = name.eq_ignore_ascii_case("INBOX");
                let kind = if is_inbox { Some(FolderKind::Inbox) } else { attributes.iter().find_map(kind) };
                let delimiter = found.delimiter.as_deref().unwrap_or("/").to_owned();
                folders.push(Folder { name, kind, delimiter });
            }
        };
        let says_kinds = self.can("SPECIAL-USE") && self.can("LIST-EXTENDED");
        let list = if says_kinds { "LIST \"\" \"*\" RETURN (SPECIAL-USE)" } else { "LIST \"\" \"*\"" };
        self.run(&Command::new(list), on_response).await?;
        name_kinds(&mut folders);
        Ok(folders)
    }

    pub(crate) async fn folder_for(&mut self, kind: FolderKind) -> Result<String> {
        if kind == FolderKind::Inbox {
            return Ok("INBOX".to_owned());
        }
        let of_kind =
            |folders: &[Folder]| folders.iter().find(|it| it.kind == Some(kind)).map(|it| it.name.clone());
        let missing = || MailError::not_found(format!("the mailbox has no {kind:?} folder"));
        self.find_folder(of_kind).await?.ok_or_else(missing)
    }

    /// Where archived messages go if no folder is for them: the folder of all messages, or a new one beside that for
    /// sent ones, which other programs show.
    pub(crate) async fn archive(&mut self) -> Result<String> {
        let folders = self.folders().await?;
        let of_kind = |kind| folders.iter().find(|folder| folder.kind == Some(kind));
        if let Some(all) = of_kind(FolderKind::All) {
            return Ok(all.name.clone());
        }
        let sent = of_kind(FolderKind::Sent);
        let parent = sent.and_then(|sent| sent.name.strip_suffix(sent.last_part())).unwrap_or_default();
        let name = format!("{parent}Archive");
        let created = self.run(&Command::new("CREATE ").folder(&name), |_| {}).await;
        self.known.invalidate(&()).await;
        // Somebody else may have made it in the meantime.
        if created.is_err() && !self.folders().await?.iter().any(|folder| folder.name == name) {
            created?;
        }
        self.run(&Command::new("SUBSCRIBE ").folder(&name), |_| {}).await?;
        Ok(name)
    }

    /// The folder that a user means: by its name, the last part of it, or its purpose.
    pub(crate) async fn folder_named(&mut self, name: &str) -> Result<Folder> {
        if name.eq_ignore_ascii_case("INBOX") {
            let (name, delimiter) = ("INBOX".to_owned(), "/".to_owned());
            return Ok(Folder { name, kind: Some(FolderKind::Inbox), delimiter });
        }
        if let Some(found) = self.find_folder(|folders| named(folders, name)).await? {
            return Ok(found);
        }
        let folders = self.folders().await?;
        let known: Vec<&str> = folders.iter().take(20).map(|folder| folder.name.as_str()).collect();
        let message = format!("there is no folder `{name}`; there are {}", known.join(", "));
        Err(MailError::not_found(message))
    }

    /// The first match among the cached folders or, if there is none, among the current ones.
    async fn find_folder<T>(&mut self, find: impl Fn(&[Folder]) -> Option<T>) -> Result<Option<T>> {
        if let Some(found) = find(&self.folders().await?) {
            return Ok(Some(found));
        }
        self.known.invalidate(&()).await;
        Ok(find(&self.folders().await?))
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

/// Gives the kinds that the server didn't assign to folders with a matching name.
fn name_kinds(folders: &mut [Folder]) {
    for (kind, names) in KINDS.into_iter().zip(NAMES) {
        if folders.iter().any(|folder| folder.kind == Some(kind)) {
            continue;
        }
        let is_called = |folder: &&mut Folder| {
            let name = folder.last_part().to_lowercase();
            names.split(", ").any(|known| known == name)
        };
        if let Some(folder) = folders.iter_mut().filter(|folder| folder.kind.is_none()).find(is_called) {
            folder.kind = Some(kind);
        }
    }
}
