//! The mailbox of an account, whose mails are MIME here.

use std::sync::Arc;
use std::time::Duration;

use adjutant_mail::{
    AttachmentInfo, Bounce, FlagChange, FolderKind, Found, MailError, Message, MessageLocation, Query,
    message_id,
};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, FixedOffset, NaiveDate, TimeDelta};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::folders::{Folders, MailFolder};
use crate::http::{Call, Http, Result, quoted};
use crate::{GraphAccount, expand, moment, property, text, with_property};

/// How long the list of folders is good.
const CACHE_TIME: Duration = Duration::from_mins(5);

/// The most results of a search, and how many mails are looked at for them.
const MAX_RESULTS: usize = 100;
const MAX_SEARCHED: usize = 500;

/// The smallest and the biggest page of a search.
const PAGES: (usize, usize) = (10, 50);

/// How much of a mail is read, and how much of a text in a list, in bytes.
const MAX_MAIL: usize = 32 << 20;
const MAX_BEGINNING: usize = 32 << 10;

/// How much of a delivery notification is read, in bytes.
const REPORT: usize = 64 << 10;

/// The most mails that are looked at of those with a Message-ID.
const MAX_ALIKE: usize = 20;

/// What was last done with a mail, PidTagLastVerbExecuted of MS-OXOMSG §2.2.1.4: 102 and 103 are answers.
const LAST_VERB: &str = "Integer 0x1081";

/// The kind of a mail, PidTagMessageClass of MS-OXCMSG §2.2.1.3.
const CLASS: &str = "String 0x001A";

/// What is asked of a mail (<https://learn.microsoft.com/graph/api/resources/message>).
pub(crate) const FIELDS: &str = "id,internetMessageId,parentFolderId,from,toRecipients,ccRecipients,bccRecipients,\
    replyTo,subject,sentDateTime,receivedDateTime,isRead,isDraft,flag";

/// The mailbox of an account, whose mails are MIME here.
#[derive(Debug, Clone)]
pub struct GraphMail {
    pub(crate) http: Http,
    folders: Arc<Mutex<Option<Cached>>>,
}

/// When they were read, and what they were.
type Cached = (Instant, Arc<Folders>);

impl GraphMail {
    pub fn new(account: &GraphAccount) -> Self {
        Self { http: account.http.clone(), folders: Arc::default() }
    }

    pub async fn check(&self) -> Result<(), MailError> {
        self.http.json(&self.http.get(&["me", "mailFolders", "inbox"], &[("$select", "id")])?).await?;
        Ok(())
    }

    pub(crate) async fn folders(&self) -> Result<Arc<Folders>> {
        let mut cached = self.folders.lock().await;
        if let Some((_, folders)) = cached.as_ref().filter(|(since, _)| since.elapsed() < CACHE_TIME) {
            return Ok(Arc::clone(folders));
        }
        let folders = Arc::new(Folders::load(&self.http).await?);
        *cached = Some((Instant::now(), Arc::clone(&folders)));
        Ok(folders)
    }

    /// Finds messages, newest first; only the beginning of each is read.
    pub async fn search(&self, query: &Query) -> Result<Found, MailError> {
        let folders = self.folders().await?;
        let within = query.folder.as_deref().map(|name| folders.named(name)).transpose()?;
        let limit = query.limit.min(MAX_RESULTS);
        let mut found = Found { messages: Vec::new(), total: 0, is_exact: true };
        let first = self.first_page(query, within.map(|folder| folder.id.as_str()), limit).await?;
        let Some(first) = first else { return Ok(found) };
        let (mut pages, mut all, mut seen) = (self.http.pages(first), Vec::new(), 0);
        // With the folders inside of it, as under IMAP.
        let archive = folders.by_kind(FolderKind::Archive).ok().filter(|_| query.unarchived);
        let archive = archive.map(|archive| format!("{}/", archive.name));
        while let Some(page) = pages.next().await? {
            seen += page.items.len();
            let is_wanted = |item: &&Value| {
                let is_searched = |folder: &MailFolder| {
                    folder.kind.is_none_or(|kind| FolderKind::SEARCHED.contains(&kind))
                        && !archive.as_ref().is_some_and(|all| format!("{}/", folder.name).starts_with(all))
                };
                let folder = folders.by_id(text(item, "parentFolderId"));
                fits(query, item) && (within.is_some() || folder.is_none_or(is_searched))
            };
            let read = |item: &Value| (arrived(item), message(item, &folders));
            all.extend(page.items.iter().filter(is_wanted).map(read));
            let received = all.iter().filter(|(_, message)| !message.is_sent).count();
            let is_enough = received.max(all.len() / 2) >= limit || seen >= MAX_SEARCHED;
            found.total = all.len();
            if is_enough && pages.has_more() {
                // Of a folder, the service counts what we didn't look at.
                let counted = page.count.filter(|_| within.is_some() && !query.unanswered);
                found.is_exact = counted.is_some();
                found.total = counted.unwrap_or(found.total);
                break;
            }
        }
        all.sort_by_key(|(arrived, _)| std::cmp::Reverse(*arrived));
        found.messages = Found::newest(all.into_iter().map(|(_, message)| message), limit);
        Ok(found)
    }

    /// The request for the first page of a search; none if nothing can be found.
    async fn first_page(&self, query: &Query, folder: Option<&str>, limit: usize) -> Result<Option<Call>> {
        let expand = expand(&[LAST_VERB]);
        // Who sorts them must know which a program sent.
        let header = if query.unarchived { ",internetMessageHeaders" } else { "" };
        let (fields, top) = (format!("{FIELDS},body{header}"), limit.clamp(PAGES.0, PAGES.1).to_string());
        let (words, mut filter) = (words(query), filter(query));
        if !query.thread.is_empty() {
            let Some(conversations) = self.conversations(&query.thread).await? else { return Ok(None) };
            filter = conversations;
        }
        let mut options =
            vec![("$select", fields.as_str()), ("$expand", expand.as_str()), ("$top", top.as_str())];
        if !query.thread.is_empty() {
            options.push(("$filter", filter.as_str()));
        } else if let Some(words) = &words {
            // It can't be combined with a filter or an order, and gives the newest first
            // (https://learn.microsoft.com/graph/search-query-parameter).
            options.push(("$search", words.as_str()));
        } else {
            options.extend([("$filter", filter.as_str()), ("$orderby", "receivedDateTime desc")]);
            options.extend(folder.map(|_| ("$count", "true")));
        }
        match folder {
            Some(folder) => self.http.get(&["me", "mailFolders", folder, "messages"], &options).map(Some),
            None => self.http.get(&["me", "messages"], &options).map(Some),
        }
    }

    /// The filter for the conversations of these Message-IDs; none if there are no such mails.
    async fn conversations(&self, ids: &[String]) -> Result<Option<String>> {
        let mut found: Vec<String> = Vec::new();
        for item in self.with_message_ids(ids, "id,conversationId").await? {
            let filter = format!("conversationId eq '{}'", quoted(text(&item, "conversationId")));
            if !found.contains(&filter) {
                found.push(filter);
            }
        }
        Ok((!found.is_empty()).then(|| found.join(" or ")))
    }

    pub(crate) async fn with_message_ids(&self, ids: &[String], fields: &str) -> Result<Vec<Value>> {
        let one = |id: &String| format!("internetMessageId eq '{}'", quoted(id));
        let filter = ids.iter().map(one).collect::<Vec<_>>().join(" or ");
        let query = [("$filter", filter.as_str()), ("$select", fields), ("$top", "20")];
        self.http.all(self.http.get(&["me", "messages"], &query)?, MAX_ALIKE).await
    }

    /// Finds a message by its Message-ID, in these folders or, if there are none, in all, the likely ones first.
    pub async fn find(&self, id: &str, kinds: &[FolderKind]) -> Result<Option<MessageLocation>, MailError> {
        let wrong = || MailError::params(format!("`{id}` isn't a Message-ID"));
        let id = message_id(id).ok_or_else(wrong)?;
        let found = self.with_message_ids(&[id], "id,parentFolderId,isDraft").await?;
        if found.is_empty() {
            return Ok(None);
        }
        let folders = self.folders().await?;
        let order = if kinds.is_empty() { FolderKind::SEARCHED.as_slice() } else { kinds };
        let place = |item: &Value| {
            let kind = folders.by_id(text(item, "parentFolderId")).and_then(|folder| folder.kind);
            // A draft that is on its way counts as sent only when it is.
            let kind = kind.filter(|kind| *kind != FolderKind::Sent || item["isDraft"] != json!(true));
            order.iter().position(|wanted| kind == Some(*wanted)).unwrap_or(order.len())
        };
        let best = found.iter().min_by_key(|item| place(item));
        let best = best.filter(|item| kinds.is_empty() || place(item) < order.len());
        Ok(best.map(|item| location(item, &folders)))
    }

    /// The service's id of a message, given by that or by its Message-ID.
    async fn locate(&self, id: &str) -> Result<String, MailError> {
        let Some(message_id) = message_id(id) else { return Ok(id.to_owned()) };
        let missing = || MailError::not_found(format!("there is no message {message_id}"));
        self.find(&message_id, &[]).await?.map(|found| found.id).ok_or_else(missing)
    }

    /// The MIME text of a message, and whether it was cut
    /// (<https://learn.microsoft.com/graph/outlook-get-mime-message>).
    async fn mime(&self, id: &str, most: usize) -> Result<(Vec<u8>, bool)> {
        self.http.bytes(&self.http.get(&["me", "messages", id, "$value"], &[])?, most).await
    }

    /// Reads a message, given by our id or its Message-ID, without marking it as read.
    pub async fn read(&self, id: &str) -> Result<Message, MailError> {
        let id = self.locate(id).await?;
        let expand = expand(&[LAST_VERB]);
        let query = [("$select", FIELDS), ("$expand", expand.as_str())];
        let about = self.http.json(&self.http.get(&["me", "messages", &id], &query)?).await?;
        let (mime, is_cut) = self.mime(&id, MAX_MAIL).await?;
        let folders = self.folders().await?;
        let about = message(&about, &folders);
        let whole = Message::of_file(&mime).unwrap_or_default();
        Ok(Message {
            id,
            message_id: about.message_id.or(whole.message_id),
            bcc: if whole.bcc.is_empty() { about.bcc } else { whole.bcc },
            date: whole.date.or(about.date),
            is_truncated: whole.is_truncated || is_cut,
            unread: about.unread,
            flagged: about.flagged,
            answered: about.answered,
            folder: about.folder,
            ..whole
        })
    }

    /// Fetches an attachment of a message, by its number from 1 in [`Message::attachments`], if it has at most so many
    /// bytes.
    pub async fn attachment(
        &self,
        id: &str,
        number: usize,
        most: usize,
    ) -> Result<(AttachmentInfo, Vec<u8>), MailError> {
        let id = self.locate(id).await?;
        let (mime, is_cut) = self.mime(&id, MAX_MAIL).await?;
        if is_cut {
            return Err(MailError::params("the message is longer than 32 MB"));
        }
        let none = || MailError::not_found(format!("the message has no attachment {number}"));
        let (about, bytes) = Message::attachment_of_file(&mime, number).ok_or_else(none)?;
        if bytes.len() > most {
            let message = format!("the attachment has {} bytes; {most} are the limit", bytes.len());
            return Err(MailError::params(message));
        }
        Ok((about, bytes))
    }

    pub async fn flag(&self, id: &str, change: FlagChange) -> Result<(), MailError> {
        let change = match change {
            FlagChange::Read => json!({"isRead": true}),
            FlagChange::Unread => json!({"isRead": false}),
            FlagChange::Flagged => json!({"flag": {"flagStatus": "flagged"}}),
            FlagChange::Unflagged => json!({"flag": {"flagStatus": "notFlagged"}}),
            FlagChange::Answered => {
                json!({"isRead": true, "singleValueExtendedProperties": [{"id": LAST_VERB, "value": "102"}]})
            }
        };
        let id = self.locate(id).await?;
        self.http.json(&self.http.patch(&["me", "messages", &id], change)?).await?;
        Ok(())
    }

    /// Moves a message to a folder, given by its name or purpose; an archive is made if there is none. Returns its new
    /// location.
    pub async fn move_to(&self, id: &str, folder: &str) -> Result<Option<MessageLocation>, MailError> {
        let id = self.locate(id).await?;
        let folders = self.folders().await?;
        let target = match folders.named(folder) {
            Err(error) if error.is_not_found() && folder.eq_ignore_ascii_case("archive") => {
                let call = self.http.post(&["me", "mailFolders"], json!({"displayName": "Archive"}))?;
                let made = self.http.json(&call).await?;
                *self.folders.lock().await = None;
                (text(&made, "id").to_owned(), "Archive".to_owned())
            }
            found => found.map(|folder| (folder.id.clone(), folder.name.clone()))?,
        };
        let call = self.http.post(&["me", "messages", &id, "move"], json!({"destinationId": target.0}))?;
        let moved = self.http.json(&call).await?;
        Ok(Some(MessageLocation { id: text(&moved, "id").to_owned(), folder: target.1 }))
    }

    /// Stores a draft, unless one with its Message-ID is already there, so it is safe to repeat. In other folders it only
    /// looks for the message: the service itself keeps a copy of what it sends.
    pub async fn append(
        &self,
        kind: FolderKind,
        mail: &[u8],
        is_read: bool,
    ) -> Result<Option<MessageLocation>, MailError> {
        let id = Message::of_file(mail).and_then(|mail| mail.message_id);
        let id = id.ok_or_else(|| MailError::params("the message has no Message-ID"))?;
        if let Some(at) = self.find(&id, &[kind]).await? {
            return Ok(Some(at));
        }
        if kind != FolderKind::Drafts {
            return Ok(None);
        }
        let draft = self.make_draft(mail, &id, &[]).await?;
        if is_read {
            let call = self.http.patch(&["me", "messages", &draft], json!({"isRead": true}))?;
            // It is stored, even if it stays unread.
            let _ = self.http.json(&call).await;
        }
        let folders = self.folders().await?;
        let folder = folders.by_kind(kind)?.name.clone();
        Ok(Some(MessageLocation { id: draft, folder }))
    }

    /// Delivery failure notifications in the inbox, oldest first, received on `since` or later. Their "UID" is the second of
    /// their arrival.
    pub async fn bounces(
        &self,
        since: Option<NaiveDate>,
        after: u32,
        limit: usize,
    ) -> Result<Vec<Bounce>, MailError> {
        let day = since.unwrap_or_default();
        let is_report = with_property(CLASS, "REPORT.IPM.Note.NDR");
        let filter = format!("receivedDateTime ge {day}T00:00:00Z and {is_report}");
        let query = [("$filter", filter.as_str()), ("$select", "id,receivedDateTime"), ("$top", "50")];
        let call = self.http.get(&["me", "mailFolders", "inbox", "messages"], &query)?;
        let mut found = self.http.all(call, MAX_SEARCHED).await?;
        found.sort_by_key(arrived);
        let mut bounces = Vec::new();
        for item in &found {
            let second = arrived(item).and_then(|at| u32::try_from(at.timestamp()).ok()).unwrap_or_default();
            if second <= after || bounces.len() >= limit.min(MAX_RESULTS) {
                continue;
            }
            let id = text(item, "id");
            let (mime, _) = self.mime(id, REPORT).await?;
            bounces.extend(Bounce::parse(&mime, id.to_owned(), second));
        }
        Ok(bounces)
    }
}

/// The words of a search, in KQL, each anywhere in its field; none if it has only conditions that a filter can say.
fn words(query: &Query) -> Option<String> {
    let fields =
        [("from:", &query.from), ("recipients:", &query.to), ("subject:", &query.subject), ("", &query.text)];
    let mut all = Vec::new();
    for (field, text) in fields {
        let text = text.as_deref().unwrap_or_default().replace(['"', '\\'], " ");
        all.extend(text.split_whitespace().map(|word| format!("{field}\\\"{word}\\\"")));
    }
    if all.is_empty() {
        return None;
    }
    // It knows only days, in the zone of the mailbox.
    for (sign, time, days) in [(">=", query.since, -1), ("<=", query.before, 1)] {
        let day = time.and_then(|time| time.checked_add_signed(TimeDelta::days(days)));
        all.extend(day.map(|day| format!("received{sign}{}", day.format("%Y-%m-%d"))));
    }
    Some(format!("\"{}\"", all.join(" AND ")))
}

/// The conditions of a search that has no words. What is ordered by must come first
/// (<https://learn.microsoft.com/graph/api/user-list-messages>).
fn filter(query: &Query) -> String {
    let mut filter = format!("receivedDateTime ge {}", moment(query.since.unwrap_or_default()));
    filter.extend(query.before.map(|before| format!(" and receivedDateTime lt {}", moment(before))));
    if query.unread {
        filter.push_str(" and isRead eq false");
    }
    filter
}

/// Whether a mail meets the conditions that the service wasn't asked for.
fn fits(query: &Query, item: &Value) -> bool {
    let at = arrived(item);
    let is_new = !query.unread || item["isRead"] != json!(true);
    query.is_in_time(at, at) && is_new && (!query.unanswered || !is_answered(item))
}

fn is_answered(item: &Value) -> bool {
    matches!(property(item, LAST_VERB), Some("102" | "103"))
}

pub(crate) fn arrived(item: &Value) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text(item, "receivedDateTime")).ok()
}

fn location(item: &Value, folders: &Folders) -> MessageLocation {
    let folder = folders.by_id(text(item, "parentFolderId")).map(|folder| folder.name.clone());
    MessageLocation { id: text(item, "id").to_owned(), folder: folder.unwrap_or_default() }
}

/// A mail of a list. It is made a MIME text first, so that the rules for names, hidden text and lengths are the same as for
/// every other mail.
pub(crate) fn message(item: &Value, folders: &Folders) -> Message {
    let folder = folders.by_id(text(item, "parentFolderId"));
    let read = Message::of_file(&as_mime(item)).unwrap_or_default();
    let head = Message::of_file(header(&item["internetMessageHeaders"]).as_bytes());
    Message {
        id: text(item, "id").to_owned(),
        message_id: message_id(text(item, "internetMessageId")),
        date: DateTime::parse_from_rfc3339(text(item, "sentDateTime")).ok().or_else(|| arrived(item)),
        unread: item["isRead"] == json!(false),
        flagged: item["flag"]["flagStatus"] == json!("flagged"),
        answered: is_answered(item),
        is_sent: folder.is_some_and(|folder| folder.kind == Some(FolderKind::Sent)),
        is_automatic: head.is_some_and(|head| head.is_automatic),
        folder: folder.map(|folder| folder.name.clone()).unwrap_or_default(),
        ..read
    }
}

/// The fields of a header, as far as they were asked for.
pub(crate) fn header(fields: &Value) -> String {
    let field = |field: &Value| {
        let line = format!("{}: {}", text(field, "name").trim(), text(field, "value"));
        line.replace(['\r', '\n'], " ") + "\r\n"
    };
    fields.as_array().into_iter().flatten().map(field).collect()
}

fn as_mime(item: &Value) -> Vec<u8> {
    let word = |text: &str| format!("=?utf-8?B?{}?=", BASE64_STANDARD.encode(text));
    let address = |party: &Value| {
        let (name, address) = (text(party, "name"), text(party, "address"));
        let is_plain = |c: &char| !c.is_control() && !"<>,;\"".contains(*c);
        let address: String = address.chars().filter(is_plain).collect();
        if name.is_empty() { format!("<{address}>") } else { format!("{} <{address}>", word(name)) }
    };
    let list = |parties: &Value| {
        let parties = parties.as_array().map(Vec::as_slice).unwrap_or_default();
        parties.iter().map(|party| address(&party["emailAddress"])).collect::<Vec<_>>().join(", ")
    };
    let mut mime = format!("Subject: {}\r\n", word(text(item, "subject")));
    let sender = item["from"]["emailAddress"].is_object().then(|| address(&item["from"]["emailAddress"]));
    let heads = [
        ("From", sender.unwrap_or_default()),
        ("To", list(&item["toRecipients"])),
        ("Cc", list(&item["ccRecipients"])),
        ("Bcc", list(&item["bccRecipients"])),
        ("Reply-To", list(&item["replyTo"])),
    ];
    for (name, value) in heads.iter().filter(|(_, value)| !value.is_empty()) {
        mime.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = text(&item["body"], "content");
    let kind = if item["body"]["contentType"] == json!("html") { "html" } else { "plain" };
    let beginning = &body[..body.floor_char_boundary(MAX_BEGINNING)];
    mime.push_str(&format!("Content-Type: text/{kind}; charset=utf-8\r\n\r\n{beginning}"));
    mime.into_bytes()
}

#[cfg(test)]
mod tests {
    use adjutant_mail::Query;
    use serde_json::json;

    use super::{Folders, filter, message, words};

    fn query() -> Query {
        Query { limit: 10, ..Query::default() }
    }

    #[test]
    fn words_are_searched_and_conditions_filtered() {
        assert_eq!(words(&query()), None);
        let unread = filter(&Query { unread: true, ..query() });
        assert_eq!(unread, "receivedDateTime ge 1970-01-01T00:00:00Z and isRead eq false");
        let asked = Query {
            from: Some("ada \"x\\".to_owned()),
            text: Some("an invoice".to_owned()),
            since: Some("2026-11-21T12:00:00Z".parse().unwrap()),
            ..query()
        };
        let expected = r#""from:\"ada\" AND from:\"x\" AND \"an\" AND \"invoice\" AND received>=2026-11-20""#;
        assert_eq!(words(&asked).as_deref(), Some(expected));
    }

    #[test]
    fn a_mail_of_a_list_is_read_by_the_rules_for_mails() {
        let item = json!({
            "id": "AAMk-1", "internetMessageId": "<1@x.test>", "isRead": false,
            "subject": "Grüße\r\nBcc: eve@x.test",
            "from": {"emailAddress": {"name": "boss@inside.test", "address": "eve@evil.test"}},
            "toRecipients": [{"emailAddress": {"name": "Ada, the first", "address": "ada@x.test"}}],
            "receivedDateTime": "2026-11-21T12:00:00Z", "flag": {"flagStatus": "flagged"},
            "singleValueExtendedProperties": [{"id": "Integer 0x1081", "value": "103"}],
            "body": {"contentType": "html", "content": "<p>seen</p><p style=\"display:none\">unseen</p>"},
        });
        let read = message(&item, &Folders::default());
        assert_eq!(read.subject, "Grüße Bcc: eve@x.test");
        assert_eq!(read.from[0].to_string(), "eve@evil.test", "a name is no address of somebody else");
        assert_eq!(read.to[0].to_string(), "Ada, the first <ada@x.test>");
        assert!(read.text.contains("[Hidden text was left out.]"), "{}", read.text);
        assert!(!read.text.contains("unseen"), "{}", read.text);
        assert!(read.unread && read.flagged && read.answered && read.bcc.is_empty());
    }
}
