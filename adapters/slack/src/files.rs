//! Sends files: an upload that nobody sees, then a call that shares it.
//!
//! The file must arrive once. Slack shares a file some time after it says so, and sometimes never, so a file counts as
//! sent when it is seen in its place, and one that doesn't appear is deleted, or it might come after its text. The
//! message can't have metadata, so part of the outbox id in the file's name identifies it; people see the title. Race
//! accepted: a process dies while it shares, and the next one's last look is before Slack is done. Then the file is
//! there twice.
//! Source: <https://docs.slack.dev/messaging/working-with-files>

use std::time::Duration;

use adjutant_chat::{Delivery, Outbound, Reconciliation};
use reqwest::header::CONTENT_TYPE;
use reqwest::{StatusCode, Url};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::Slack;
use crate::place::SlackPlace;
use crate::web_api::ApiError;

/// How many random characters of the outbox id are in the file's name.
const TAG: usize = 8;

const UPLOAD_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 120 });

/// Pauses before each look for a shared file: 15 s in all.
const PAUSES: [u32; 6] = [0, 1, 2, 4, 8, 15];
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 500 });

/// Errors of a place that takes no files but perhaps texts.
const NO_FILES: [&str; 2] = ["not_in_channel", "access_denied"];

/// Errors of a file that doesn't exist, so that it can't be shared any more.
const NO_SUCH_FILE: [&str; 2] = ["file_not_found", "file_deleted"];

/// The receipt, or why there is none.
pub(crate) async fn send(
    slack: &Slack,
    outbound: &Outbound,
    place: &SlackPlace,
    (file, content): (&str, &[u8]),
) -> Result<String, Delivery> {
    let id = upload(slack, &name(outbound, file), content).await?;
    let mut share = json!({"files": [{"id": id, "title": file}], "channel_id": place.channel});
    if let Some(thread) = place.thread {
        share["thread_ts"] = json!(thread.to_string());
    }
    slack.bot.call("files.completeUploadExternal", &share).await.map_err(|error| match error {
        ApiError::Unclear => Delivery::Unknown,
        ApiError::Closed(why) if !NO_FILES.contains(&why.as_str()) => Delivery::Gone(why),
        error => not_shared(error),
    })?;
    match look_for(slack, outbound, ("id", &id)).await {
        Reconciliation::Sent(ts) => Ok(ts),
        // We can't see it, but Slack says that it shares it.
        Reconciliation::Unavailable => Ok(id),
        Reconciliation::NotSent => Err(delete(slack, &id).await),
    }
}

/// Looks for a file that another process may have shared.
pub(crate) async fn reconcile(slack: &Slack, outbound: &Outbound, file: &str) -> Reconciliation {
    look_for(slack, outbound, ("name", &name(outbound, file))).await
}

/// Looks for a file with this property, until it should be there.
async fn look_for(slack: &Slack, outbound: &Outbound, (key, value): (&str, &str)) -> Reconciliation {
    let has_it =
        |message: &Value| message["files"].as_array().into_iter().flatten().any(|file| file[key] == value);
    let mut found = Reconciliation::Unavailable;
    for pause in PAUSES {
        sleep(PAUSE * pause).await;
        found = slack.find_sent(outbound, has_it).await;
        if matches!(found, Reconciliation::Sent(_)) {
            break;
        }
    }
    found
}

/// The file's name at Slack: its own with a tag before the ending.
fn name(outbound: &Outbound, file: &str) -> String {
    let id = &outbound.id;
    let tag = id.get(id.len().saturating_sub(TAG)..).unwrap_or(id);
    match file.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}-{tag}.{ending}"),
        None => format!("{file}-{tag}"),
    }
}

/// Uploads the file and returns its id. Slack discards it if it isn't shared.
async fn upload(slack: &Slack, name: &str, content: &[u8]) -> Result<String, Delivery> {
    let arguments = [("filename", name.to_owned()), ("length", content.len().to_string())];
    let target = slack.bot.read("files.getUploadURLExternal", &arguments).await.map_err(not_shared)?;
    let url = target["upload_url"].as_str().and_then(|url| Url::parse(url).ok());
    let (Some(url), Some(id)) = (url, target["file_id"].as_str()) else { return Err(Delivery::Retry(None)) };
    if url.scheme() != "https" && url.origin() != slack.api_url.origin() {
        return Err(Delivery::FileRefused("Slack asked for an unencrypted upload".to_owned()));
    }
    let client = slack.plain_client().await.map_err(|_| Delivery::Retry(None))?;
    // No token: the address permits one upload.
    let upload = client.post(url).timeout(UPLOAD_TIMEOUT).header(CONTENT_TYPE, "application/octet-stream");
    match upload.body(content.to_vec()).send().await.map(|answer| answer.status()) {
        Ok(status) if status.is_success() => Ok(id.to_owned()),
        Ok(StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT) => Err(Delivery::Retry(None)),
        Ok(status) if !status.is_server_error() => {
            Err(Delivery::FileRefused(format!("Slack's file server responds with {status}")))
        }
        // Slack was reached just now, so a proxy in between lets us reach Slack but not its file server.
        Err(error) if error.is_connect() => {
            Err(Delivery::FileRefused("Slack's file server can't be reached".to_owned()))
        }
        Ok(_) | Err(_) => Err(Delivery::Retry(None)),
    }
}

/// Deletes a file that doesn't appear.
async fn delete(slack: &Slack, id: &str) -> Delivery {
    match slack.bot.call("files.delete", &json!({"file": id})).await {
        Err(ApiError::Refused(why)) if NO_SUCH_FILE.contains(&why.as_str()) => {}
        Err(error) => {
            tracing::warn!(channel = slack.channel, %error, "a file that Slack doesn't show was not deleted");
            return Delivery::Unknown;
        }
        Ok(_) => {}
    }
    Delivery::FileRefused("Slack took the file but doesn't show it".to_owned())
}

/// An error after which nobody has seen the file. If the place is closed to texts too, sending the text finds out.
fn not_shared(error: ApiError) -> Delivery {
    match error {
        ApiError::Token(why) if why != "not_allowed_token_type" => Delivery::Retry(None),
        ApiError::Unreachable | ApiError::Unclear => Delivery::Retry(None),
        ApiError::TooMany(pause) => Delivery::Retry(pause),
        error => Delivery::FileRefused(error.to_string()),
    }
}
