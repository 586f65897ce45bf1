//! Sends a mail in steps that can be looked up after a crash: a draft with our Message-ID, then the order to send it.
//!
//! The service sends one draft once, and then it is a draft no longer (<https://learn.microsoft.com/graph/api/message-send>);
//! so an interrupted order may be given again. SMTP isn't used: many organizations have switched it off.

use adjutant_mail::{AttachmentInfo, Envelope, FolderKind, MailError, Message};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::http::{GraphError, Result};
use crate::{GraphMail, text};

/// The biggest request, in bytes (<https://learn.microsoft.com/graph/api/user-post-messages>: 4 MB).
const MAX_REQUEST: usize = 4_000_000;

/// The biggest file that fits into a request, and how much of a bigger one goes at a time: a multiple of 320 KiB
/// (<https://learn.microsoft.com/graph/outlook-large-attachments>).
const SMALL_FILE: usize = 2_900_000;
const PIECE: usize = 10 * 320 * 1024;

impl GraphMail {
    /// Sends a message to all its recipients. Once it is a draft of the service, `before_send` is awaited; it is sent only if
    /// that succeeds. If not, the draft stays for the next attempt, which finds it by its Message-ID. What was sent isn't sent
    /// again, and of what the service refuses to send no draft is left. Returns how the service accepted it.
    ///
    /// [`MailError::may_have_happened`] is set if the answer to the order was lost; see [`GraphMail::resume`].
    pub async fn send(
        &self,
        envelope: &Envelope,
        mail: &[u8],
        message_id: &str,
        before_send: impl Future<Output = Result<(), String>>,
    ) -> Result<String, MailError> {
        let prepared = self.prepare(&blind(envelope, mail), mail, message_id).await.map_err(|error| {
            // Whatever became of the draft, nothing is sent before the order.
            MailError { may_have_happened: false, ..MailError::from(error) }
        });
        let Some(draft) = prepared? else { return Ok("sent before".to_owned()) };
        before_send.await.map_err(|error| MailError::tool(format!("not sent: {error}")))?;
        if let Err(error) = self.order(&draft).await {
            if !error.error.may_have_happened {
                let _ = self.discard(&draft).await;
            }
            return Err(error.into());
        }
        Ok("accepted".to_owned())
    }

    /// Whether a message was sent whose order may have been interrupted; if it is still a draft, it is sent now. Call it after
    /// having looked for it in Sent for a while. False: it is nowhere, and nobody knows.
    pub async fn resume(&self, message_id: &str) -> Result<bool, MailError> {
        let Some(drafts) = self.drafts(message_id).await? else { return Ok(true) };
        let Some(draft) = drafts.first() else { return Ok(false) };
        self.order(draft).await?;
        Ok(true)
    }

    /// The draft of a mail, whole and the only one; none if the mail was sent before.
    async fn prepare(&self, blind: &[String], mail: &[u8], message_id: &str) -> Result<Option<String>> {
        let Some(mut drafts) = self.drafts(message_id).await? else { return Ok(None) };
        // Files of a big one may be missing.
        let reused = if is_big(mail) { None } else { drafts.pop() };
        for stale in &drafts {
            self.discard(stale).await?;
        }
        let Some(draft) = reused else { return self.make_draft(mail, message_id, blind).await.map(Some) };
        self.complete(&draft, None, blind).await?;
        Ok(Some(draft))
    }

    /// The drafts with this Message-ID; none if it was sent. What lies in the trash isn't to be sent, and may be half a mail.
    async fn drafts(&self, message_id: &str) -> Result<Option<Vec<String>>> {
        let fields = "id,isDraft,parentFolderId";
        let mut found = self.with_message_ids(&[message_id.to_owned()], fields).await?;
        if found.iter().any(|item| item["isDraft"] == json!(false)) {
            return Ok(None);
        }
        if !found.is_empty() {
            let folders = self.folders().await?;
            let folder = &folders.by_kind(FolderKind::Drafts)?.id;
            found.retain(|item| text(item, "parentFolderId") == folder);
        }
        Ok(Some(found.iter().map(|item| text(item, "id").to_owned()).collect()))
    }

    async fn order(&self, draft: &str) -> Result<()> {
        self.http.json(&self.http.order(&["me", "messages", draft, "send"])?).await?;
        Ok(())
    }

    async fn discard(&self, draft: &str) -> Result<()> {
        self.http.optional(&self.http.delete(&["me", "messages", draft])?).await?;
        Ok(())
    }

    /// Makes a draft with this Message-ID and these blind recipients. Returns its id.
    pub(crate) async fn make_draft(&self, mail: &[u8], message_id: &str, blind: &[String]) -> Result<String> {
        let too_big = || MailError::params("the mail is too big for Microsoft");
        let short = if is_big(mail) { Some(without_files(mail).ok_or_else(too_big)?) } else { None };
        let words = short.as_deref().map_or(mail, str::as_bytes);
        if is_big(words) {
            return Err(too_big().into());
        }
        let call = self.http.post_mime(&["me", "messages"], BASE64_STANDARD.encode(words))?;
        let made = self.http.json(&call).await?;
        let draft = text(&made, "id").to_owned();
        let is_ours = text(&made, "internetMessageId") == message_id;
        let completed = async {
            self.complete(&draft, Some(message_id).filter(|_| !is_ours), blind).await?;
            if short.is_some() {
                let files = (1..).map_while(|number| Message::attachment_of_file(mail, number));
                for (about, bytes) in files {
                    self.attach(&draft, &about, &bytes).await?;
                }
            }
            Ok::<_, GraphError>(())
        };
        if let Err(error) = completed.await {
            // Half of a draft is worse than none.
            let _ = self.discard(&draft).await;
            return Err(error);
        }
        Ok(draft)
    }

    /// Gives a draft what its MIME text can't: a Message-ID if the service gave another one, and blind recipients
    /// (<https://learn.microsoft.com/graph/api/message-update>).
    async fn complete(&self, draft: &str, message_id: Option<&str>, blind: &[String]) -> Result<()> {
        let mut change = serde_json::Map::new();
        change.extend(message_id.map(|id| ("internetMessageId".to_owned(), json!(id))));
        if !blind.is_empty() {
            let party = |address: &String| json!({"emailAddress": {"address": address}});
            change.insert("bccRecipients".to_owned(), blind.iter().map(party).collect());
        }
        if !change.is_empty() {
            self.http.json(&self.http.patch(&["me", "messages", draft], Value::Object(change))?).await?;
        }
        Ok(())
    }

    async fn attach(&self, draft: &str, about: &AttachmentInfo, bytes: &[u8]) -> Result<()> {
        let name = about.name.as_deref().unwrap_or("attachment");
        if bytes.len() <= SMALL_FILE {
            let file = json!({
                "@odata.type": "#microsoft.graph.fileAttachment", "name": name,
                "contentType": about.media_type, "contentBytes": BASE64_STANDARD.encode(bytes),
            });
            self.http.json(&self.http.post(&["me", "messages", draft, "attachments"], file)?).await?;
            return Ok(());
        }
        let path = ["me", "messages", draft, "attachments", "createUploadSession"];
        let file = json!({"AttachmentItem": {"attachmentType": "file", "name": name, "size": bytes.len()}});
        let session = self.http.json(&self.http.post(&path, file)?).await?;
        let mut from = 0;
        for piece in bytes.chunks(PIECE) {
            let range = format!("bytes {from}-{}/{}", from + piece.len() - 1, bytes.len());
            self.http.put_piece(text(&session, "uploadUrl"), &range, piece).await?;
            from += piece.len();
        }
        Ok(())
    }
}

/// Whether a mail is too big for one request, as Base64.
fn is_big(mail: &[u8]) -> bool {
    mail.len().div_ceil(3) * 4 > MAX_REQUEST
}

/// The recipients that the message itself doesn't name.
fn blind(envelope: &Envelope, mail: &[u8]) -> Vec<String> {
    let named = Message::of_file(mail).unwrap_or_default();
    let is_named = |address: &&String| {
        named.to.iter().chain(&named.cc).any(|party| party.address.eq_ignore_ascii_case(address))
    };
    envelope.to.iter().filter(|address| !is_named(address)).cloned().collect()
}

/// A mail of ours without its files: of its parts only the first, which is what it says.
fn without_files(mail: &[u8]) -> Option<String> {
    let (head, body) = std::str::from_utf8(mail).ok()?.split_once("\r\n\r\n")?;
    let (mut kept, mut kind, mut is_kind) = (String::new(), String::new(), false);
    for line in head.split("\r\n") {
        if !line.starts_with([' ', '\t']) {
            is_kind = line.to_ascii_lowercase().starts_with("content-");
        }
        let to = if is_kind { &mut kind } else { &mut kept };
        to.push_str(line);
        to.push_str("\r\n");
    }
    let (is_mixed, boundary) = (kind.contains("multipart/mixed"), kind.split_once("boundary=\"")?.1);
    let boundary = boundary.split('"').next().filter(|_| is_mixed)?;
    let (_, first) = body.split_once(&format!("--{boundary}\r\n"))?;
    let (first, _) = first.split_once(&format!("\r\n--{boundary}"))?;
    Some(kept + first)
}

#[cfg(test)]
mod tests {
    use adjutant_mail::{Address, Attachment, Draft, Message};

    use super::{blind, without_files};

    #[test]
    fn a_mail_without_its_files_says_the_same() {
        let party = |text: &str| text.parse::<Address>().unwrap();
        let draft = Draft {
            from: party("Ada <ada@x.test>"),
            to: vec![party("Bob <bob@müller.test>")],
            cc: Vec::new(),
            bcc: vec![party("zoe@x.test")],
            subject: "Grüße".to_owned(),
            body: "*Hello*".to_owned(),
            attachments: vec![Attachment {
                name: "ä.bin".to_owned(),
                media_type: "image/png".to_owned(),
                bytes: vec![7; 100],
            }],
            invitation: None,
            in_reply_to: None,
            references: Vec::new(),
            message_id: "<1@x.test>".to_owned(),
            date: "2026-11-21T12:30:00+01:00".parse().unwrap(),
        };
        let mail = draft.compose().unwrap();
        let (whole, short) = (
            Message::of_file(&mail.bytes).unwrap(),
            Message::of_file(without_files(&mail.bytes).unwrap().as_bytes()).unwrap(),
        );
        assert_eq!(short, Message { attachments: Vec::new(), ..whole });
        assert_eq!(blind(&mail.envelope, &mail.bytes), ["zoe@x.test"]);
        let plain = Draft { attachments: Vec::new(), ..draft }.compose().unwrap();
        assert_eq!(without_files(&plain.bytes), None);
    }
}
