//! The folders of a mailbox: their names, and what they are for.

use std::collections::HashMap;

use adjutant_dav::DavError;
use adjutant_mail::FolderKind;
use futures::future::try_join_all;

use crate::http::{GraphError, Http, Result};
use crate::text;

/// The folders with a purpose, by the names that the service knows in all languages
/// (<https://learn.microsoft.com/graph/api/resources/mailfolder>).
const WELL_KNOWN: [(FolderKind, &str); 6] = [
    (FolderKind::Inbox, "inbox"),
    (FolderKind::Sent, "sentitems"),
    (FolderKind::Drafts, "drafts"),
    (FolderKind::Trash, "deleteditems"),
    (FolderKind::Archive, "archive"),
    (FolderKind::Junk, "junkemail"),
];

/// The most folders, how deep they lie in each other, and how long a name is, in characters.
const MAX_FOLDERS: usize = 1_000;
const MAX_DEPTH: usize = 16;
const MAX_NAME: usize = 255;

#[derive(Debug)]
pub(crate) struct MailFolder {
    pub(crate) id: String,
    /// With the names of those it lies in: `Customers/Ada`.
    pub(crate) name: String,
    pub(crate) kind: Option<FolderKind>,
}

#[derive(Debug, Default)]
pub(crate) struct Folders(Vec<MailFolder>);

impl Folders {
    /// Asks for all of them. A list of changes without a beginning is a list of all, at any depth
    /// (<https://learn.microsoft.com/graph/api/mailfolder-delta>).
    pub(crate) async fn load(http: &Http) -> Result<Self> {
        let query = [("$select", "displayName,parentFolderId")];
        let all = http.all(http.get(&["me", "mailFolders", "delta"], &query)?, MAX_FOLDERS).await?;
        let known = try_join_all(WELL_KNOWN.map(|(kind, name)| async move {
            let found = http.optional(&http.get(&["me", "mailFolders", name], &[("$select", "id")])?).await?;
            Ok::<_, GraphError>(found.map(|folder| (text(&folder, "id").to_owned(), kind)))
        }));
        let kinds: HashMap<String, FolderKind> = known.await?.into_iter().flatten().collect();
        let by_id: HashMap<&str, (&str, &str)> = all
            .iter()
            .filter(|folder| folder["@removed"].is_null())
            .map(|folder| (text(folder, "id"), (text(folder, "displayName"), text(folder, "parentFolderId"))))
            .collect();
        let folder = |found: &serde_json::Value| {
            let (mut names, mut at) = (Vec::new(), text(found, "id"));
            while let Some((name, parent)) = by_id.get(at).filter(|_| names.len() < MAX_DEPTH) {
                names.push(name.chars().take(MAX_NAME).collect::<String>());
                at = *parent;
            }
            names.reverse();
            let id = text(found, "id").to_owned();
            MailFolder { kind: kinds.get(&id).copied(), id, name: names.join("/") }
        };
        Ok(Self(all.iter().filter(|found| by_id.contains_key(text(found, "id"))).map(folder).collect()))
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&MailFolder> {
        self.0.iter().find(|folder| folder.id == id)
    }

    pub(crate) fn by_kind(&self, kind: FolderKind) -> Result<&MailFolder> {
        let missing = || DavError::not_found(format!("the mailbox has no {kind:?} folder")).into();
        self.0.iter().find(|folder| folder.kind == Some(kind)).ok_or_else(missing)
    }

    /// The folder that a person means: by its name, the last part of it, or its purpose.
    pub(crate) fn named(&self, name: &str) -> Result<&MailFolder> {
        let is_same = |other: &str| other.to_lowercase() == name.to_lowercase();
        let of_kind = |folder: &MailFolder| folder.kind.is_some_and(|kind| is_same(&format!("{kind:?}")));
        let last = |folder: &MailFolder| folder.name.rsplit('/').next().is_some_and(is_same);
        let find = |is_it: &dyn Fn(&MailFolder) -> bool| self.0.iter().find(|folder| is_it(folder));
        find(&|folder| folder.name == name)
            .or_else(|| find(&|folder| is_same(&folder.name)))
            .or_else(|| find(&of_kind))
            .or_else(|| find(&last))
            .ok_or_else(|| {
                let known: Vec<&str> = self.0.iter().take(20).map(|folder| folder.name.as_str()).collect();
                let message = format!("there is no folder `{name}`; there are {}", known.join(", "));
                DavError::not_found(message).into()
            })
    }
}
