//! A drive: Google's API v3, as far as skills use it.

use serde_json::{Value, json};

use super::{Answer, Asked, only};

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
    /// What it says.
    pub text: String,
}

impl DriveFile {
    /// A file at the top.
    pub fn new(id: &str, name: &str, mime: &str, text: &str) -> Self {
        let parent = "root".to_owned();
        Self { id: id.into(), name: name.into(), mime: mime.into(), parent, text: text.into() }
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
                self.create(&file, file["mimeType"].as_str().unwrap_or_default(), "")
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
                let text = format!("{} {}", file.name, file.text).to_lowercase();
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
        Ok(Answer::text(&file.text))
    }

    fn export(&self, asked: &Asked, id: &str) -> Result<Answer, String> {
        asked.only(&["mimeType"])?;
        let file = self.find(id)?;
        let wanted = match file.mime.strip_prefix(GOOGLE).ok_or("Export only supports Docs Editors files.")? {
            "spreadsheet" => "text/csv",
            _ => "text/plain",
        };
        if asked.query("mimeType") != wanted {
            return Err("The requested conversion is not supported.".to_owned());
        }
        Ok(Answer::text(&file.text))
    }

    fn create(&mut self, file: &Value, mime: &str, text: &str) -> Result<Answer, String> {
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
        self.files.push(DriveFile { parent, ..DriveFile::new(&id, name, mime, text) });
        Ok(Answer::json(200, &self.find(&id)?.json()))
    }

    fn upload(&mut self, asked: &Asked) -> Result<Answer, String> {
        asked.only(&["uploadType", "fields", "supportsAllDrives"])?;
        let kind = asked.header("content-type");
        let boundary = kind.strip_prefix("multipart/related; boundary=").ok_or("no multipart/related")?;
        let body = asked.text();
        let body = body.strip_prefix(&format!("--{boundary}\r\n")).ok_or("no first part")?;
        let body = body.strip_suffix(&format!("\r\n--{boundary}--\r\n")).ok_or("no end")?;
        let parts: Vec<&str> = body.split(&format!("\r\n--{boundary}\r\n")).collect();
        let [file, content] = parts[..] else { return Err(format!("{} parts", parts.len())) };
        let part = |part: &'static str, text: &str| -> Result<(String, String), String> {
            let (head, body) = text.split_once("\r\n\r\n").ok_or(part)?;
            let kind = head.strip_prefix("content-type: ").ok_or(part)?;
            Ok((kind.split(';').next().unwrap_or_default().to_owned(), body.to_owned()))
        };
        let ((json, file), (mime, text)) = (part("the file", file)?, part("the content", content)?);
        if json != "application/json" {
            return Err("the first part is no JSON".to_owned());
        }
        let file: Value = serde_json::from_str(&file).map_err(|error| error.to_string())?;
        only(&file, &["name", "parents"])?;
        self.create(&file, &mime, &text)
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
