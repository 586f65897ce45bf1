//! Mails and their folders.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::query::{shown, text};
use super::{Answered, Asked, RAW, Refusal, State, merge, missing, touch, wrong};

/// The properties of a mail.
const MAIL: [&str; 20] = [
    "id",
    "internetMessageId",
    "conversationId",
    "parentFolderId",
    "subject",
    "from",
    "sender",
    "toRecipients",
    "ccRecipients",
    "bccRecipients",
    "replyTo",
    "sentDateTime",
    "receivedDateTime",
    "isRead",
    "isDraft",
    "flag",
    "body",
    "bodyPreview",
    "hasAttachments",
    "internetMessageHeaders",
];

/// Those that can be written, and those that only a draft lets write.
const WRITABLE: [&str; 3] = ["isRead", "flag", "singleValueExtendedProperties"];
const OF_DRAFT: [&str; 6] =
    ["internetMessageId", "subject", "body", "toRecipients", "ccRecipients", "bccRecipients"];

const FOLDER: [&str; 3] = ["id", "displayName", "parentFolderId"];

/// The folders of every mailbox, which have other names in other languages.
const WELL_KNOWN: [(&str, &str); 6] = [
    ("inbox", "Posteingang"),
    ("sentitems", "Gesendete Elemente"),
    ("drafts", "Entwürfe"),
    ("deleteditems", "Gelöschte Elemente"),
    ("archive", "Archiv"),
    ("junkemail", "Junk-E-Mail"),
];

/// A mail.
#[derive(Clone)]
pub(crate) struct Mail {
    pub(crate) item: Value,
    mime: String,
    /// Files that were added to a draft: name, type and content.
    files: Vec<(String, String, String)>,
}

/// A mail that was sent.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The address of whose mailbox it was.
    pub from: String,
    /// All recipients.
    pub to: Vec<String>,
    /// Its text.
    pub mime: String,
}

pub(super) fn folders() -> Vec<(String, String, String)> {
    WELL_KNOWN.map(|(id, name)| (format!("folder-{id}"), name.to_owned(), "folder-root".to_owned())).to_vec()
}

impl Mail {
    /// The mail with the files that were added.
    fn whole(&self) -> String {
        if self.files.is_empty() {
            return self.mime.clone();
        }
        let (head, body) = self.mime.split_once("\r\n\r\n").unwrap_or((&self.mime, ""));
        let (mut outer, mut inner, mut is_inner) = (String::new(), String::new(), false);
        for line in head.split("\r\n") {
            is_inner = if line.starts_with([' ', '\t']) {
                is_inner
            } else {
                line.to_lowercase().starts_with("content-")
            };
            let to = if is_inner { &mut inner } else { &mut outer };
            to.push_str(&format!("{line}\r\n"));
        }
        let mut whole = format!(
            "{outer}Content-Type: multipart/mixed; boundary=\"graph\"\r\n\r\n--graph\r\n{inner}\r\n{body}"
        );
        for (name, kind, content) in &self.files {
            whole.push_str(&format!(
                "\r\n--graph\r\nContent-Type: {kind}\r\nContent-Disposition: attachment; filename=\"{name}\"\
                 \r\nContent-Transfer-Encoding: base64\r\n\r\n{content}"
            ));
        }
        whole + "\r\n--graph--\r\n"
    }
}

/// The value of a header, unfolded.
fn header(mime: &str, name: &str) -> Option<String> {
    let head = unfolded(mime);
    let lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
    lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned()).next()
}

fn unfolded(mime: &str) -> String {
    let head = mime.split("\r\n\r\n").next().unwrap_or_default();
    head.replace("\r\n ", " ").replace("\r\n\t", " ")
}

/// A text of encoded words (RFC 2047), as far as our own mails have them.
fn decoded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, word)) = rest.split_once("=?") {
        let mut parts = word.splitn(3, '?').skip(1);
        let (how, content) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let Some((content, after)) = content.split_once("?=") else { break };
        out.push_str(if before.trim().is_empty() { "" } else { before });
        let bytes = match how {
            "b" | "B" => BASE64_STANDARD.decode(content).unwrap_or_default(),
            _ => crate::http::decoded(&content.replace('=', "%").replace('_', "%20")).into_bytes(),
        };
        out.push_str(&String::from_utf8_lossy(&bytes));
        rest = after;
    }
    out + rest
}

/// The people of a header. No name of ours has a comma.
fn people(mime: &str, name: &str) -> Vec<Value> {
    let all = header(mime, name).unwrap_or_default();
    let party = |party: &str| {
        let (name, address) = party.rsplit_once('<').unwrap_or(("", party));
        let address = address.trim().trim_end_matches('>');
        json!({"emailAddress": {"name": decoded(name.trim().trim_matches('"')), "address": address}})
    };
    all.split(',').filter(|one| !one.trim().is_empty()).map(party).collect()
}

/// What a mail says, as far as our own mails say it.
fn body(mime: &str) -> String {
    let from = mime.to_ascii_lowercase().find("content-type: text/plain").unwrap_or_default();
    let (head, rest) = mime[from..].split_once("\r\n\r\n").unwrap_or_default();
    let (head, text) = (head.to_ascii_lowercase(), rest.split("\r\n--").next().unwrap_or_default());
    if head.contains("base64") {
        let encoded: String = text.split_whitespace().collect();
        return String::from_utf8_lossy(&BASE64_STANDARD.decode(encoded).unwrap_or_default()).into_owned();
    }
    if head.contains("quoted-printable") {
        let escaped = text.replace("=\r\n", "").replace('%', "%25").replace('+', "%2B").replace('=', "%");
        return crate::http::decoded(&escaped);
    }
    text.to_owned()
}

fn addresses(list: &Value) -> Vec<String> {
    let all = list.as_array().into_iter().flatten();
    all.map(|party| text(&party["emailAddress"], "address").to_lowercase()).collect()
}

impl State {
    /// Puts a mail into somebody's inbox. Returns its id.
    pub fn deliver(&mut self, to: &str, mime: &str) -> String {
        let mime = mime.replace("\r\n", "\n").replace('\n', "\r\n");
        let item = self.read(&mime, "folder-inbox");
        let id = text(&item, "id").to_owned();
        self.mailbox(to).mails.push(Mail { item, mime, files: Vec::new() });
        self.tell(to, None);
        id
    }

    fn read(&mut self, mime: &str, folder: &str) -> Value {
        let id = self.next("AAMk/mail=");
        let own = header(mime, "message-id").unwrap_or_else(|| format!("<{id}@graph.test>"));
        let root = header(mime, "references").or_else(|| header(mime, "in-reply-to"));
        let root = root.and_then(|ids| ids.split_whitespace().next().map(str::to_owned));
        // No two mails come at the same time.
        self.now += TimeDelta::seconds(1);
        let now = self.now.format("%Y-%m-%dT%H:%M:%SZ").to_string();
        let kind = header(mime, "content-type").unwrap_or_default();
        let class = if kind.contains("delivery-status") { "REPORT.IPM.Note.NDR" } else { "IPM.Note" };
        let conversation = format!("conv-{}", root.as_ref().unwrap_or(&own));
        let fields: Vec<Value> = unfolded(mime)
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| json!({"name": name, "value": value.trim()}))
            .collect();
        let mut item = json!({
            "id": id, "internetMessageId": own, "conversationId": conversation, "parentFolderId": folder,
            "subject": decoded(&header(mime, "subject").unwrap_or_default()),
            "from": people(mime, "from").first(), "sender": people(mime, "from").first(),
            "toRecipients": people(mime, "to"), "ccRecipients": people(mime, "cc"),
            "bccRecipients": people(mime, "bcc"), "replyTo": people(mime, "reply-to"), "sentDateTime": now,
            "receivedDateTime": now, "isRead": false, "isDraft": false, "flag": {"flagStatus": "notFlagged"},
            "body": {"contentType": "text", "content": body(mime)}, "bodyPreview": "",
            "hasAttachments": mime.contains("Content-Disposition: attachment"), "internetMessageHeaders": fields,
            "singleValueExtendedProperties": [{"id": "String 0x001A", "value": class}],
        });
        let version = self.next("version");
        touch(&mut item, version, self.now);
        item
    }

    pub(super) fn mail(&mut self, asked: &Asked, person: &str, path: &[&str]) -> Answered {
        match (asked.request.method.as_str(), path) {
            ("GET", ["messages"]) => self.mails(asked, person, None),
            ("GET", ["mailFolders", folder, "messages"]) => {
                let folder = known_folder(folder);
                self.mails(asked, person, Some(&folder))
            }
            ("GET", ["mailFolders", folder, "messages", "delta"]) => {
                let seen = self.seen(asked, &["changeType", "$select", "$filter"])?;
                let filter = seen.query.get("$filter").map_or("receivedDateTime ge", String::as_str);
                if !filter.starts_with("receivedDateTime g") || filter.split(' ').count() > 3 {
                    return Err(wrong("changes can be filtered by when they came alone"));
                }
                let (folder, lacks_headers) = (known_folder(folder), self.lacks_headers);
                let mails = self.mailbox(person).mails.iter();
                let mut all: Vec<Value> = mails
                    .filter(|mail| mail.item["parentFolderId"] == folder)
                    .map(|mail| mail.item.clone())
                    .collect();
                if lacks_headers {
                    all.iter_mut().for_each(|item| item["internetMessageHeaders"] = Value::Null);
                }
                self.changes(asked, seen, &all, &MAIL)
            }
            ("GET", ["mailFolders", "delta"]) => {
                asked.options(&["$select"])?;
                let folders = self.mailbox(person).folders.clone().into_iter();
                let item = |(id, name, parent): (String, String, String)| json!({"id": id, "displayName": name, "parentFolderId": parent});
                self.list(asked, folders.map(item).collect(), &FOLDER)
            }
            ("GET", ["mailFolders", folder]) => {
                let id = known_folder(folder);
                let found = self.mailbox(person).folders.iter().find(|folder| folder.0 == id);
                let (id, name, parent) = found.ok_or_else(missing)?;
                shown(asked, &json!({"id": id, "displayName": name, "parentFolderId": parent}), &FOLDER)
            }
            ("POST", ["mailFolders"]) => {
                let name = text(&asked.json(&["displayName"])?, "displayName").to_owned();
                let id = self.next("folder");
                self.mailbox(person).folders.push((id.clone(), name.clone(), "folder-root".to_owned()));
                Ok(json!({"id": id, "displayName": name}))
            }
            ("POST", ["messages"]) => self.draft(asked, person),
            (_, ["messages", id, rest @ ..]) => {
                let all = &self.mailbox(person).mails;
                let at = all.iter().position(|mail| mail.item["id"] == *id).ok_or_else(missing)?;
                self.one(asked, person, at, rest)
            }
            _ => Err(wrong("there is no such address")),
        }
    }

    fn mails(&mut self, asked: &Asked, person: &str, folder: Option<&str>) -> Answered {
        asked.options(&["$select", "$expand", "$filter", "$orderby", "$search", "$top", "$count"])?;
        let is_in = |mail: &&Mail| folder.is_none_or(|folder| mail.item["parentFolderId"] == folder);
        let mut all: Vec<Value> =
            self.mailbox(person).mails.iter().filter(is_in).map(|mail| mail.item.clone()).collect();
        // The newest first, if nothing else is asked.
        all.reverse();
        self.list(asked, all, &MAIL)
    }

    fn draft(&mut self, asked: &Asked, person: &str) -> Answered {
        if asked.header("content-type") != "text/plain" {
            return Err(wrong("this stand-in takes drafts as MIME only"));
        }
        if asked.request.body.len() > 4 << 20 {
            let message = "The request is too large.".to_owned();
            return Err(Refusal { status: 413, code: "RequestEntityTooLarge", message });
        }
        let mime = BASE64_STANDARD.decode(&asked.request.body).ok();
        let mime = mime.and_then(|mime| String::from_utf8(mime).ok());
        let mime = mime.ok_or_else(|| wrong("Invalid base64 string for MIME content."))?;
        if self.mailbox(person).is_full {
            let message = "The process failed to get the correct properties.".to_owned();
            return Err(Refusal { status: 403, code: "ErrorQuotaExceeded", message });
        }
        let mut item = self.read(&mime, "folder-drafts");
        item["isDraft"] = json!(true);
        self.mailbox(person).mails.push(Mail { item: item.clone(), mime, files: Vec::new() });
        Ok(item)
    }

    fn one(&mut self, asked: &Asked, person: &str, at: usize, rest: &[&str]) -> Answered {
        let version = self.next("version");
        let (now, link) = (self.now, format!("{}/upload/{version}", asked.origin));
        let mailbox = self.mailbox(person);
        let mail = mailbox.mails.get_mut(at).ok_or_else(missing)?;
        let is_draft = mail.item["isDraft"] == true;
        match (asked.request.method.as_str(), rest) {
            ("GET", []) => shown(asked, &mail.item, &MAIL),
            ("GET", ["$value"]) => Ok(json!({RAW: mail.whole()})),
            ("PATCH", []) => {
                let known: Vec<&str> =
                    WRITABLE.into_iter().chain(OF_DRAFT.into_iter().filter(|_| is_draft)).collect();
                merge(&mut mail.item, &asked.json(&known)?);
                touch(&mut mail.item, version, now);
                Ok(mail.item.clone())
            }
            ("DELETE", []) if mail.item["parentFolderId"] == "folder-deleteditems" => {
                mailbox.mails.remove(at);
                Ok(Value::Null)
            }
            ("DELETE", []) => {
                mail.item["parentFolderId"] = json!("folder-deleteditems");
                Ok(Value::Null)
            }
            ("POST", ["move"]) => {
                let to = known_folder(text(&asked.json(&["destinationId"])?, "destinationId"));
                mail.item["parentFolderId"] = json!(to);
                Ok(mail.item.clone())
            }
            ("POST", ["send"]) if is_draft => self.send(person, at),
            ("POST", ["attachments"]) if is_draft => {
                let file = asked.json(&["@odata.type", "name", "contentType", "contentBytes"])?;
                if file["@odata.type"] != "#microsoft.graph.fileAttachment" {
                    return Err(wrong("an attachment without its type"));
                }
                let field = |name: &str| text(&file, name).to_owned();
                mail.files.push((field("name"), field("contentType"), field("contentBytes")));
                Ok(json!({"id": version}))
            }
            ("POST", ["attachments", "createUploadSession"]) if is_draft => {
                let file = asked.json(&["AttachmentItem"])?["AttachmentItem"].take();
                if file["attachmentType"] != "file" || !file["size"].is_u64() {
                    return Err(wrong("a session without its file"));
                }
                let id = text(&mail.item, "id").to_owned();
                let session = (person.to_owned(), id, text(&file, "name").to_owned(), Vec::new());
                self.uploads.insert(version, session);
                Ok(json!({"uploadUrl": link}))
            }
            _ => Err(wrong("a mail can't do that")),
        }
    }

    /// A piece of a file, for which there must be no token.
    pub(super) fn upload(&mut self, asked: &Asked, session: &str) -> Answered {
        if !asked.header("authorization").is_empty() {
            return Err(wrong("the token is none of this server's business"));
        }
        if asked.header("content-type") != "application/octet-stream" {
            return Err(wrong("a piece without its type"));
        }
        let (person, id, name, bytes) = self.uploads.get_mut(session).ok_or_else(missing)?;
        let (range, size) = asked
            .header("content-range")
            .split_once('/')
            .ok_or_else(|| wrong("a piece without its range"))?;
        let expected =
            format!("bytes {}-{}", bytes.len(), (bytes.len() + asked.request.body.len()).saturating_sub(1));
        if range != expected || asked.request.body.len() > 4 << 20 {
            return Err(wrong(format!("{range} instead of {expected}")));
        }
        bytes.extend_from_slice(&asked.request.body);
        if size != bytes.len().to_string() {
            return Ok(json!({"nextExpectedRanges": [format!("{}-", bytes.len())]}));
        }
        let content = BASE64_STANDARD.encode(&*bytes);
        let file = (name.clone(), "application/octet-stream".to_owned(), content);
        let (person, id) = (person.clone(), id.clone());
        let mail = self.mailbox(&person).mails.iter_mut().find(|mail| mail.item["id"] == id);
        mail.ok_or_else(missing)?.files.push(file);
        Ok(json!({"id": session}))
    }

    fn send(&mut self, person: &str, at: usize) -> Answered {
        let now = self.now.format("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mail = self.mailbox(person).mails.get_mut(at).ok_or_else(missing)?;
        let to = ["toRecipients", "ccRecipients", "bccRecipients"].map(|list| addresses(&mail.item[list]));
        let to = to.concat();
        if to.is_empty() || to.iter().any(|address| address.starts_with("nobody@")) {
            let message = "At least one recipient is not valid.".to_owned();
            return Err(Refusal { status: 400, code: "ErrorInvalidRecipients", message });
        }
        mail.item["isDraft"] = json!(false);
        mail.item["isRead"] = json!(true);
        mail.item["sentDateTime"] = json!(now);
        mail.item["parentFolderId"] = json!("folder-sentitems");
        let own = text(&mail.item, "internetMessageId").to_owned();
        let mime = mail.whole();
        for address in &to {
            if self.mailboxes.contains_key(address) {
                let id = self.deliver(address, &mime);
                let delivered = self.mailbox(address).mails.iter_mut().find(|mail| mail.item["id"] == id);
                if let Some(delivered) = delivered {
                    delivered.item["internetMessageId"] = json!(own);
                }
            }
        }
        self.sent.push(Sent { from: person.to_owned(), to, mime });
        Ok(Value::Null)
    }
}

/// A folder's id, given by that or by the name that all languages share.
fn known_folder(name: &str) -> String {
    match WELL_KNOWN.iter().any(|(known, _)| *known == name) {
        true => format!("folder-{name}"),
        false => name.to_owned(),
    }
}
