//! Files that come with a message of the bot's, in a form.
//! Source: <https://discord.com/developers/docs/reference#uploading-files>

use serde_json::{Value, json};

use super::FakeDiscord;
use super::rest::Answer;
use super::world::World;
use crate::http::{self, Field, HttpRequest};

/// The flag of a voice message.
const IS_VOICE_MESSAGE: u64 = 1 << 13;

/// What a request may weigh where nobody pays for more.
const MAX_SIZE: usize = 10 << 20;

impl FakeDiscord {
    /// In the guild the bot may no longer attach files.
    pub fn forbid_files(&self) {
        self.world().files_are_forbidden = true;
    }
}

/// A request's JSON, and the other fields if it is a form.
pub(super) fn read(request: &HttpRequest) -> (Value, Vec<Field>) {
    let Some(mut fields) = http::fields(request) else {
        return (serde_json::from_slice(&request.body).unwrap_or_default(), Vec::new());
    };
    let at = fields.iter().position(|field| field.name == "payload_json" && field.file_name.is_none());
    let json = at.map(|at| fields.remove(at).content).unwrap_or_default();
    (serde_json::from_slice(&json).unwrap_or_default(), fields)
}

/// Why the place takes no such files.
pub(super) fn refusal(world: &World, place: &str, uploads: &[Field]) -> Option<Answer> {
    let size: usize = uploads.iter().map(|upload| upload.content.len()).sum();
    if size > MAX_SIZE {
        return Some((413, json!({"message": "Request entity too large", "code": 40005})));
    }
    let is_forbidden = world.files_are_forbidden && !uploads.is_empty() && !world.is_direct(place);
    is_forbidden.then(|| (403, json!({"message": "Missing Permissions", "code": 50013})))
}

/// The files as Discord tells of them, and keeps them.
pub(super) fn attachments(world: &mut World, body: &Value, uploads: &[Field]) -> Result<Vec<Value>, String> {
    if uploads.len() > 10 {
        return Err(format!("{} files", uploads.len()));
    }
    let told = body["attachments"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |upload: &Field, one: &Value| upload.name == format!("files[{}]", one["id"]);
    if let Some(one) = told.iter().find(|one| !uploads.iter().any(|upload| of(upload, one))) {
        return Err(format!("attachments: no file comes with {one}"));
    }
    let is_voice = body["flags"].as_u64().is_some_and(|flags| flags & IS_VOICE_MESSAGE != 0);
    let is_described = |one: &Value| one["duration_secs"].is_number() && one["waveform"].is_string();
    if is_voice && !(told.len() == 1 && told.iter().all(is_described) && body["content"] == "") {
        return Err("a voice message is one file with its length and its waveform, and no text".to_owned());
    }
    let mut attachments = Vec::new();
    for upload in uploads {
        let number = upload.name.strip_prefix("files[").and_then(|name| name.strip_suffix(']'));
        let is_numbered = number.is_some_and(|number| number.parse::<u8>().is_ok());
        let (true, Some(filename)) = (is_numbered, &upload.file_name) else {
            return Err(format!("a form has no part “{}” like that", upload.name));
        };
        let renamed = told.iter().find(|one| of(upload, one)).and_then(|one| one["filename"].as_str());
        let id = world.new_id().to_string();
        let (filename, size) = (cleansed(renamed.unwrap_or(filename)), upload.content.len());
        attachments.push(json!({
            "id": id, "filename": filename, "size": size,
            "content_type": upload.content_type, "url": format!("https://cdn.discordapp.com/attachments/{id}/{filename}"),
        }));
        world.files.insert(id, String::from_utf8_lossy(&upload.content).into_owned());
    }
    Ok(attachments)
}

/// A name as Discord keeps it: <https://github.com/discord/discord-api-docs/issues/7754>.
fn cleansed(name: &str) -> String {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let kept: String = name.replace(' ', "_").chars().filter(|letter| is_kept(*letter)).collect();
    kept.trim_matches(['.', '_']).to_owned()
}
