//! A drive: Google's API v3, as far as skills use it.

use serde_json::{Value, json};

use super::{Answer, Asked, only};
use crate::pdf;

/// What Google's own documents are called.
const GOOGLE: &str = "application/vnd.google-apps.";

/// The files.
#[derive(Default)]
pub struct Drive {
    /// All of them.
    pub files: Vec<DriveFile>,
    /// Who was given access: the file, the address, the role.
    pub shared: Vec<(String, String, String)>,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveFile {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub mime: String,
    /// The folder it is in.
    pub parent: String,
    /// What it contains.
    pub content: Vec<u8>,
}

impl DriveFile {
    /// A file at the top.
    pub fn new(id: &str, name: &str, mime: &str, content: impl Into<Vec<u8>>) -> Self {
        let (parent, content) = ("root".to_owned(), content.into());
        Self { id: id.into(), name: name.into(), mime: mime.into(), parent, content }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id, "name": self.name, "mimeType": self.mime,
            "modifiedTime": "2026-11-01T09:00:00.000Z",
            "webViewLink": format!("https://docs.google.com/{}", self.id),
        })
    }
}

impl Drive {
    pub(super) fn answer(&mut self, asked: &Asked) -> Result<Answer, String> {
        let segments: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
        match (asked.request.method.as_str(), &segments[..]) {
            ("GET", ["drive", "v3", "files"]) => self.list(asked),
            ("GET", ["drive", "v3", "files", id]) => self.read(asked, id),
            ("GET", ["drive", "v3", "files", id, "export"]) => self.export(asked, id),
            ("POST", ["drive", "v3", "files"]) => {
                asked.only(&["fields", "supportsAllDrives"])?;
                let file = asked.json(&["name", "mimeType", "parents"])?;
                self.create(&file, file["mimeType"].as_str().unwrap_or_default(), b"")
            }
            ("POST", ["upload", "drive", "v3", "files"]) => self.upload(asked),
            ("POST", ["drive", "v3", "files", id, "permissions"]) => self.share(asked, id),
            _ => Err("unknown".to_owned()),
        }
    }

    fn find(&self, id: &str) -> Result<&DriveFile, String> {
        self.files.iter().find(|file| file.id == id).ok_or_else(|| format!("File not found: {id}."))
    }

    fn list(&self, asked: &Asked) -> Result<Answer, String> {
        asked.only(&[
            "q",
            "pageSize",
            "fields",
            "supportsAllDrives",
            "includeItemsFromAllDrives",
            "orderBy?",
        ])?;
        if asked.query("fields") != "files(id,name,mimeType,modifiedTime,webViewLink)" {
            return Err(format!("Invalid field selection {}", asked.query("fields")));
        }
        let most: usize = asked.query("pageSize").parse().map_err(|_| "Invalid pageSize".to_owned())?;
        let q = asked.query("q").strip_suffix(" and trashed = false").ok_or("q")?;
        let found: Vec<&DriveFile> = if let Some(words) = q.strip_prefix("fullText contains ") {
            if !asked.query("orderBy").is_empty() {
                return Err("Sorting is not supported for queries with fullText terms.".to_owned());
            }
            let words = quoted(words)?.to_lowercase();
            let has = |file: &&DriveFile| {
                let text = format!("{} {}", file.name, String::from_utf8_lossy(&file.content)).to_lowercase();
                words.split_whitespace().all(|word| text.contains(word))
            };
            self.files.iter().filter(has).collect()
        } else {
            let parent = quoted(q.strip_suffix(" in parents").ok_or("Invalid Value: q")?)?;
            self.files.iter().filter(|file| file.parent == parent).collect()
        };
        let files: Vec<Value> = found.into_iter().take(most).map(DriveFile::json).collect();
        Ok(Answer::json(200, &json!({"files": files})))
    }

    fn read(&self, asked: &Asked, id: &str) -> Result<Answer, String> {
        asked.only(&["alt"])?;
        let file = self.find(id)?;
        if asked.query("alt") != "media" || file.mime.starts_with(GOOGLE) {
            return Err("Only files with binary content can be downloaded.".to_owned());
        }
        Ok(Answer::file(&file.mime, &file.content))
    }

    fn export(&self, asked: &Asked, id: &str) -> Result<Answer, String> {
        asked.only(&["mimeType"])?;
        let file = self.find(id)?;
        let kind = file.mime.strip_prefix(GOOGLE).ok_or("Export only supports Docs Editors files.")?;
        match (kind, asked.query("mimeType")) {
            ("spreadsheet", "text/csv") => Ok(Answer::file("text/csv", &file.content)),
            ("document" | "presentation", "text/plain") => Ok(Answer::file("text/plain", &file.content)),
            ("document" | "presentation" | "spreadsheet", "application/pdf") => {
                let text = String::from_utf8_lossy(&file.content).into_owned();
                Ok(Answer::file("application/pdf", &pdf::of_pages(&[&text])))
            }
            _ => Err("The requested conversion is not supported.".to_owned()),
        }
    }

    fn create(&mut self, file: &Value, mime: &str, content: &[u8]) -> Result<Answer, String> {
        let name = file["name"].as_str().ok_or("name")?;
        let parent = match file["parents"].as_array().map(Vec::as_slice) {
            Some([Value::String(parent)]) => parent.clone(),
            _ => return Err("A file has one parent.".to_owned()),
        };
        let is_folder = |file: &DriveFile| file.id == parent && file.mime.ends_with(".folder");
        if parent != "root" && !self.files.iter().any(is_folder) {
            return Err(format!("File not found: {parent}."));
        }
        let id = format!("new-{}", self.files.len());
        self.files.push(DriveFile { parent, ..DriveFile::new(&id, name, mime, content) });
        Ok(Answer::json(200, &self.find(&id)?.json()))
    }

    fn upload(&mut self, asked: &Asked) -> Result<Answer, String> {
        asked.only(&["uploadType", "fields", "supportsAllDrives"])?;
        let kind = asked.header("content-type");
        let boundary = kind.strip_prefix("multipart/related; boundary=").ok_or("no multipart/related")?;
        let body = &asked.request.body[..];
        let body = body.strip_prefix(format!("--{boundary}\r\n").as_bytes()).ok_or("no first part")?;
        let body = body.strip_suffix(format!("\r\n--{boundary}--\r\n").as_bytes()).ok_or("no end")?;
        let (file, content) = cut(body, &format!("\r\n--{boundary}\r\n")).ok_or("one part")?;
        if cut(content, &format!("--{boundary}")).is_some() {
            return Err("more than two parts".to_owned());
        }
        let ((json, file), (mime, content)) = (part(file)?, part(content)?);
        if json != "application/json" {
            return Err("the first part is no JSON".to_owned());
        }
        let file: Value = serde_json::from_slice(file).map_err(|error| error.to_string())?;
        only(&file, &["name", "parents"])?;
        self.create(&file, &mime, content)
    }

    fn share(&mut self, asked: &Asked, id: &str) -> Result<Answer, String> {
        asked.only(&["sendNotificationEmail", "emailMessage?", "fields", "supportsAllDrives"])?;
        self.find(id)?;
        let permission = asked.json(&["type", "role", "emailAddress"])?;
        let text = |key: &str| permission[key].as_str().unwrap_or_default().to_owned();
        let (role, address) = (text("role"), text("emailAddress"));
        if text("type") != "user" || !["reader", "commenter", "writer"].contains(&role.as_str()) {
            return Err("Invalid permission.".to_owned());
        }
        self.shared.push((id.to_owned(), address, role.clone()));
        Ok(Answer::json(200, &json!({"id": "permission-1", "role": role})))
    }
}

/// What is before and after a mark.
fn cut<'b>(bytes: &'b [u8], mark: &str) -> Option<(&'b [u8], &'b [u8])> {
    let at = bytes.windows(mark.len()).position(|window| window == mark.as_bytes())?;
    Some((&bytes[..at], &bytes[at + mark.len()..]))
}

/// The type of a part, and what it contains.
fn part(whole: &[u8]) -> Result<(String, &[u8]), String> {
    let (head, content) = cut(whole, "\r\n\r\n").ok_or("a part without its end of headers")?;
    let head = String::from_utf8_lossy(head);
    let kind = head.strip_prefix("content-type: ").ok_or("a part without a type")?;
    Ok((kind.split(';').next().unwrap_or_default().to_owned(), content))
}

/// A value of a search: between `'`, with `\'` and `\\` in it.
fn quoted(text: &str) -> Result<String, String> {
    let invalid = || format!("Invalid Value: {text}");
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).ok_or_else(invalid)?;
    let (mut value, mut rest) = (String::new(), inner.chars());
    while let Some(one) = rest.next() {
        match one {
            '\'' => return Err(invalid()),
            '\\' => value.push(rest.next().filter(|next| "\\'".contains(*next)).ok_or_else(invalid)?),
            one => value.push(one),
        }
    }
    Ok(value)
}
