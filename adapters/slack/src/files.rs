//! A file of ours: its bytes are stored first, which nobody sees; then one call shares it.
//!
//! Wanted: it is there once. Slack shares a file a while after it has said so, and at times never, so a file counts as
//! sent when it is seen in its place, and one that does not come is deleted, lest it come after its text.
//! No metadata fits on such a message, so a piece of the outbox's id in the file's name is what it is known by; people
//! see the title. Race accepted: a process dies while it shares, and the next one has looked for the last time before
//! Slack is done; then the file is there twice.
//! Source: <https://docs.slack.dev/messaging/working-with-files>

use std::time::Duration;

use adjutant_chat::{Delivery, Outbound, OutgoingFile, Reconciliation};
use reqwest::header::CONTENT_TYPE;
use reqwest::{StatusCode, Url};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::Slack;
use crate::api::CallError;
use crate::deliver;
use crate::place::Place;

/// Characters of the outbox's id in a file's name; they are chance alone.
const TAG: usize = 8;

/// The longest time in which the bytes are stored.
const STORING: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 120 });

/// Pauses before each look for what was shared: 15 s in all.
const PAUSES: [u32; 6] = [0, 1, 2, 4, 8, 15];
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 500 });

/// Errors that mean that a file can't be shared where a text perhaps can be said.
const NO_FILES: [&str; 2] = ["not_in_channel", "access_denied"];

/// Errors that mean that there is no such file, so that it can't be shared any more either.
const NO_SUCH_FILE: [&str; 2] = ["file_not_found", "file_deleted"];

pub(crate) async fn deliver(
    slack: &Slack,
    outbound: &Outbound,
    place: &Place,
    file: &OutgoingFile,
) -> Delivery {
    let name = name(outbound, file);
    let id = match store(slack, &name, &file.text).await {
        Ok(id) => id,
        Err(delivery) => return delivery,
    };
    let mut sharing = json!({"files": [{"id": id, "title": file.name}], "channel_id": place.channel});
    if let Some(thread) = place.thread {
        sharing["thread_ts"] = json!(thread.to_string());
    }
    match slack.bot.call("files.completeUploadExternal", &sharing).await {
        Ok(_) => {}
        Err(CallError::Unclear) => return Delivery::Unknown,
        Err(CallError::Closed(why)) if !NO_FILES.contains(&why.as_str()) => return Delivery::Gone(why),
        Err(error) => return not_shared(error),
    }
    match look_for(slack, outbound, ("id", &id)).await {
        Reconciliation::Sent(ts) => Delivery::Sent(ts),
        // It can't be seen, but Slack has said that it shares it.
        Reconciliation::Unavailable => Delivery::Sent(id),
        Reconciliation::NotSent => take_back(slack, &id).await,
    }
}

/// Looks for a file that another process may have shared.
pub(crate) async fn reconcile(slack: &Slack, outbound: &Outbound, file: &OutgoingFile) -> Reconciliation {
    look_for(slack, outbound, ("name", &name(outbound, file))).await
}

/// Looks for the file of which Slack tells this, until it should be there.
async fn look_for(slack: &Slack, outbound: &Outbound, (key, value): (&str, &str)) -> Reconciliation {
    let has_it =
        |message: &Value| message["files"].as_array().into_iter().flatten().any(|file| file[key] == value);
    let mut found = Reconciliation::Unavailable;
    for pause in PAUSES {
        sleep(PAUSE * pause).await;
        found = deliver::find(slack, outbound, has_it).await;
        if matches!(found, Reconciliation::Sent(_)) {
            break;
        }
    }
    found
}

/// What Slack is to call it: its name with a tag before the ending.
fn name(outbound: &Outbound, file: &OutgoingFile) -> String {
    let id = &outbound.id;
    let tag = id.get(id.len().saturating_sub(TAG)..).unwrap_or(id);
    match file.name.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}-{tag}.{ending}"),
        None => format!("{}-{tag}", file.name),
    }
}

/// Stores the bytes at Slack, and gives the file's id there. What is not shared then, Slack discards.
async fn store(slack: &Slack, name: &str, text: &str) -> Result<String, Delivery> {
    let arguments = [("filename", name.to_owned()), ("length", text.len().to_string())];
    let ticket = slack.bot.read("files.getUploadURLExternal", &arguments).await.map_err(not_shared)?;
    let url = ticket["upload_url"].as_str().and_then(|url| Url::parse(url).ok());
    let (Some(url), Some(id)) = (url, ticket["file_id"].as_str()) else { return Err(Delivery::Retry(None)) };
    if url.scheme() != "https" && url.origin() != slack.api_url.origin() {
        return Err(Delivery::FileRefused("Slack wants the file unencrypted".to_owned()));
    }
    let client = slack.plain_client().await.map_err(|_| Delivery::Retry(None))?;
    // No token: who knows the address may store there, once.
    let storing = client.post(url).timeout(STORING).header(CONTENT_TYPE, "application/octet-stream");
    match storing.body(text.to_owned()).send().await.map(|answer| answer.status()) {
        Ok(status) if status.is_success() => Ok(id.to_owned()),
        Ok(StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT) => Err(Delivery::Retry(None)),
        Ok(status) if !status.is_server_error() => {
            Err(Delivery::FileRefused(format!("Slack's host of files answers with {status}")))
        }
        // Slack itself was reached just now: what is in between knows Slack, and not its host of files.
        Err(error) if error.is_connect() => {
            Err(Delivery::FileRefused("Slack's host of files can't be reached".to_owned()))
        }
        Ok(_) | Err(_) => Err(Delivery::Retry(None)),
    }
}

/// Deletes what does not appear.
async fn take_back(slack: &Slack, id: &str) -> Delivery {
    match slack.bot.call("files.delete", &json!({"file": id})).await {
        Err(CallError::Refused(why)) if NO_SUCH_FILE.contains(&why.as_str()) => {}
        Err(error) => {
            tracing::warn!(channel = slack.channel, %error, "a file that Slack does not show was not deleted");
            return Delivery::Unknown;
        }
        Ok(_) => {}
    }
    Delivery::FileRefused("Slack took the file, but does not show it".to_owned())
}

/// An error after which nobody has seen anything. A place that is closed to texts too will tell by the text.
fn not_shared(error: CallError) -> Delivery {
    match error {
        CallError::Token(why) if why != "not_allowed_token_type" => Delivery::Retry(None),
        CallError::Unreachable | CallError::Unclear => Delivery::Retry(None),
        CallError::TooMany(pause) => Delivery::Retry(pause),
        error => Delivery::FileRefused(error.to_string()),
    }
}
