//! What is new in a folder since a link that the answer before gave (<https://learn.microsoft.com/graph/api/message-delta>).

use adjutant_mail::{Headline, MailError, Message};
use chrono::{DateTime, Utc};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::folders::Folders;
use crate::http::Result;
use crate::mail::{FIELDS, GraphMail, arrived, header, message};
use crate::{moment, text};

impl GraphMail {
    /// A page of what has come into a folder since a link, at most so many mails but ten at least; then the next link, and
    /// whether there is more. Without a link, or with one that has expired, it is what came since a time.
    pub async fn news(
        &self,
        folder: &str,
        link: Option<&str>,
        since: DateTime<Utc>,
        most: usize,
    ) -> Result<(Vec<(Message, Headline)>, String, bool), MailError> {
        let folders = self.folders().await?;
        let fields = format!("{FIELDS},body,hasAttachments,internetMessageHeaders");
        let filter = format!("receivedDateTime ge {}", moment(since));
        let query = [("changeType", "created"), ("$select", fields.as_str()), ("$filter", filter.as_str())];
        let path = ["me", "mailFolders", folders.named(folder)?.id.as_str(), "messages", "delta"];
        let first = self.http.url(&path, &query)?;
        let size = if most < 50 { "odata.maxpagesize=10" } else { "odata.maxpagesize=50" };
        let page = self.http.changes(link, first, size).await?;
        // A mail that was only changed lacks most of what was asked for
        // (https://github.com/microsoftgraph/microsoft-graph-docs/issues/7776).
        let is_new = |item: &&Value| item["@removed"].is_null() && item["receivedDateTime"].is_string();
        let mails = page.items.iter().filter(is_new).map(|item| self.with_header(item, &folders));
        let (mails, is_more) = (try_join_all(mails).await?, page.next.is_some());
        let link = page.next.map(|next| next.link()).or(page.delta);
        let none = || MailError::tool("Microsoft's list of changes has no next link");
        Ok((mails, link.ok_or_else(none)?, is_more))
    }

    /// A mail of a page with its header. What a list leaves out of that is asked of the mail itself.
    async fn with_header(&self, item: &Value, folders: &Folders) -> Result<(Message, Headline)> {
        let mut fields = item["internetMessageHeaders"].clone();
        if !fields.is_array() {
            let query = [("$select", "internetMessageHeaders")];
            let call = self.http.get(&["me", "messages", text(item, "id")], &query)?;
            let found = self.http.optional(&call).await?.unwrap_or_default();
            fields = found["internetMessageHeaders"].clone();
        }
        let header = header(&fields);
        let read = Message::of_file(header.as_bytes()).unwrap_or_default();
        let Message { cc, in_reply_to, references, is_automatic, .. } = read;
        let message = Message { cc, in_reply_to, references, is_automatic, ..message(item, folders) };
        let head = Headline::parse(header.as_bytes(), &message, "");
        let has_attachment = item["hasAttachments"] == json!(true);
        Ok((message, Headline { has_attachment, received: arrived(item), ..head }))
    }
}
