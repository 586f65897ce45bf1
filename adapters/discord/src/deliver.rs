//! Thin: sends, changes and finds messages.

use adjutant_chat::{Address, Delivery, Outbound, OutgoingFile, Reconciliation, Retract};
use serde_json::{Value, json};
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ChannelId, MessageId};

use crate::rest::{self, CallError};
use crate::{Discord, id_of, render};

/// No link gets a preview: what a text links to was not asked for, and previews are fetched by Discord,
/// so a text could carry something out with the address.
/// Source: <https://discord.com/developers/docs/resources/message#message-object-message-flags>
const SUPPRESS_EMBEDS: u64 = 1 << 2;

/// Messages that Discord gives at once.
pub(crate) const PAGE: usize = 100;

/// So many pages are read for one reconciliation.
const PAGES: usize = 10;

/// Discord's codes for a place that is not there or closed to us.
/// Source: <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json-json-error-codes>
const NO_PLACE: [isize; 3] = [10003, 50001, 50007];

/// What one message of several is.
enum Part<'a> {
    /// Rendered text, and whether it is the last of it.
    Text(String, bool),
    File(&'a OutgoingFile),
}

/// The part that is meant; nothing if there are not so many.
fn part(outbound: &Outbound) -> Option<Part<'_>> {
    let mut parts = render::parts(&outbound.text);
    if outbound.part >= parts.len() {
        return outbound.file_part(|| parts.len()).map(Part::File);
    }
    let is_last = outbound.part + 1 == parts.len();
    Some(Part::Text(parts.swap_remove(outbound.part), is_last))
}

pub(crate) async fn deliver(discord: &Discord, outbound: &Outbound) -> Delivery {
    let place = match place(&outbound.address) {
        Ok(place) => place,
        Err(gone) => return gone,
    };
    let (content, is_last) = match part(outbound) {
        Some(Part::Text(content, is_last)) => (content, is_last),
        Some(Part::File(file)) => return deliver_file(discord, place, outbound, file).await,
        None => return Delivery::Refused(format!("there is no part {}", outbound.part)),
    };
    let buttons = if is_last { render::buttons(&outbound.choices) } else { json!([]) };
    let mut body = body(&content, buttons);
    if let Some(shown) = outbound.edit_of.as_deref().filter(|_| outbound.part == 0) {
        match change(discord, place, shown, &body).await {
            // Somebody deleted it; then the answer is a message of its own.
            Err(CallError::NoMessage) => {}
            done => return delivery(done),
        }
    }
    once(&mut body, outbound);
    let answered = outbound.answers.last().and_then(|answered| answered.parse::<u64>().ok());
    if let (0, Some(answered), Some(false)) = (outbound.part, answered, discord.known.get(place).direct) {
        body["message_reference"] = json!({"message_id": answered.to_string(), "fail_if_not_exists": false});
    }
    delivery(send(discord, place, &body).await)
}

async fn deliver_file(
    discord: &Discord,
    place: ChannelId,
    outbound: &Outbound,
    file: &OutgoingFile,
) -> Delivery {
    let mut body = body("", json!([]));
    body["attachments"] = json!([{"id": 0, "filename": file.name}]);
    once(&mut body, outbound);
    let route = Route::ChannelMessages { channel_id: place };
    match sent(discord, place, rest::upload(&discord.http, route, &body, file).await) {
        // Without the right to attach files Discord says what it says without the right to write, and it has more
        // reasons than it documents. When it is not the file that is unwanted, the text in its place finds out.
        Err(CallError::Closed(code, why)) if !NO_PLACE.contains(&code) => Delivery::FileRefused(why),
        Err(CallError::Refused(why)) => Delivery::FileRefused(why),
        done => delivery(done),
    }
}

pub(crate) async fn show(discord: &Discord, address: &Address, shown: Option<&str>, text: &str) -> Delivery {
    let place = match place(address) {
        Ok(place) => place,
        Err(gone) => return gone,
    };
    let content = render::parts(text).into_iter().next().unwrap_or_default();
    let body = body(&content, json!([]));
    if let Some(shown) = shown {
        match change(discord, place, shown, &body).await {
            Err(CallError::NoMessage) => {}
            done => return delivery(done),
        }
    }
    delivery(send(discord, place, &body).await)
}

pub(crate) async fn retract(discord: &Discord, address: &Address, receipt: &str, what: Retract) {
    let (Ok(channel_id), Some(message_id)) = (place(address), message(receipt)) else { return };
    let route = Route::ChannelMessage { channel_id, message_id };
    let bare = json!({"components": []});
    let done = match what {
        Retract::Message => rest::call(&discord.http, LightMethod::Delete, route, None).await,
        Retract::Buttons => rest::call(&discord.http, LightMethod::Patch, route, Some(&bare)).await,
    };
    if let Err(error) = done {
        tracing::debug!(channel = discord.channel, %error, "not taken away");
    }
}

pub(crate) async fn typing(discord: &Discord, address: &Address) {
    let Ok(channel_id) = place(address) else { return };
    let route = Route::ChannelTyping { channel_id };
    if let Err(error) = rest::call(&discord.http, LightMethod::Post, route, None).await {
        tracing::debug!(channel = discord.channel, %error, "typing was not shown");
    }
}

/// The newest message known to be in the place: what is sent next has a greater id.
pub(crate) async fn checkpoint(discord: &Discord, address: &Address) -> Option<String> {
    let place = place(address).ok()?;
    let known = discord.known.get(place).newest;
    if known > 0 {
        return Some(known.to_string());
    }
    // The first message to this place: only Discord knows.
    let page = page(discord, place, vec![("limit", "1".to_owned())]).await.ok()?;
    let newest = page.last().and_then(id_of).unwrap_or_default();
    discord.known.is_there(place, newest);
    Some(newest.to_string())
}

/// Looks through what was written after the mark. A nonce comes back for a few minutes only, so a message
/// of ours with the same text, or with a file of the same name and size, is the one as well: one sending is in flight
/// in a place at a time.
pub(crate) async fn reconcile(discord: &Discord, outbound: &Outbound) -> Reconciliation {
    let Ok(place) = place(&outbound.address) else { return Reconciliation::NotSent };
    let Some(part) = part(outbound) else { return Reconciliation::NotSent };
    let Ok(me) = discord.me().await else { return Reconciliation::Unavailable };
    let (me, nonce) = (me.to_string(), nonce(outbound));
    let is_same = |message: &Value| match &part {
        Part::Text(content, _) => message["content"] == *content,
        Part::File(file) => message["attachments"].as_array().into_iter().flatten().any(|one| is(one, file)),
    };
    let is_it =
        |message: &&Value| message["author"]["id"] == *me && (message["nonce"] == *nonce || is_same(message));
    // What it answers is older than itself, too.
    let answered = outbound.answers.iter().filter_map(|answered| answered.parse().ok());
    let mut after =
        outbound.checkpoint.iter().filter_map(|mark| mark.parse::<u64>().ok()).chain(answered).max();
    for _ in 0..PAGES {
        let page = match after {
            Some(after) => since(discord, place, after).await,
            None => page(discord, place, vec![("limit", "50".to_owned())]).await,
        };
        let page = match page {
            Ok(page) => page,
            // Sending it again will tell.
            Err(CallError::Closed(..)) => return Reconciliation::NotSent,
            Err(_) => return Reconciliation::Unavailable,
        };
        if let Some(id) = page.iter().find(is_it).and_then(id_of) {
            return Reconciliation::Sent(id.to_string());
        }
        if after.is_none() || page.len() < PAGE {
            break;
        }
        after = page.last().and_then(id_of);
    }
    Reconciliation::NotSent
}

/// Whether an attachment is this file, by what Discord tells of it. It takes such letters off a name's ends:
/// <https://github.com/discord/discord-api-docs/issues/4847>.
fn is(attachment: &Value, file: &OutgoingFile) -> bool {
    let bare = |name: &str| name.trim_matches(['_', '.']).to_owned();
    attachment["size"] == file.text.len()
        && attachment["filename"].as_str().map(bare) == Some(bare(&file.name))
}

/// The messages after one, oldest first, at most [`PAGE`].
pub(crate) async fn since(discord: &Discord, place: ChannelId, after: u64) -> Result<Vec<Value>, CallError> {
    page(discord, place, vec![("limit", PAGE.to_string()), ("after", after.to_string())]).await
}

/// Whether a page was full, so that there may be more.
pub(crate) fn is_full(page: &[Value]) -> bool {
    page.len() >= PAGE
}

/// Messages of a place, oldest first.
pub(crate) async fn page(
    discord: &Discord,
    channel_id: ChannelId,
    params: Vec<(&'static str, String)>,
) -> Result<Vec<Value>, CallError> {
    match rest::read(&discord.http, Route::ChannelMessages { channel_id }, params).await? {
        Value::Array(mut page) => {
            page.sort_by_key(id_of);
            Ok(page)
        }
        _ => Err(CallError::Unclear),
    }
}

fn body(content: &str, buttons: Value) -> Value {
    json!({
        "content": content,
        "components": buttons,
        "flags": SUPPRESS_EMBEDS,
        "allowed_mentions": {"parse": [], "replied_user": false},
    })
}

/// Discord does not take the same sending twice, if the second comes soon.
fn once(body: &mut Value, outbound: &Outbound) {
    body["nonce"] = json!(nonce(outbound));
    body["enforce_nonce"] = json!(true);
}

/// Which sending of ours a message comes from; Discord takes 25 characters.
fn nonce(outbound: &Outbound) -> String {
    format!("{}{:03}", outbound.id, outbound.part)
}

async fn send(discord: &Discord, channel_id: ChannelId, body: &Value) -> Result<Value, CallError> {
    let route = Route::ChannelMessages { channel_id };
    sent(discord, channel_id, rest::call(&discord.http, LightMethod::Post, route, Some(body)).await)
}

/// The answer to a sending, of which note is taken.
fn sent(
    discord: &Discord,
    channel_id: ChannelId,
    answer: Result<Value, CallError>,
) -> Result<Value, CallError> {
    if let Some(id) = answer.as_ref().ok().and_then(id_of) {
        discord.known.is_there(channel_id, id);
    }
    answer
}

async fn change(
    discord: &Discord,
    channel_id: ChannelId,
    receipt: &str,
    body: &Value,
) -> Result<Value, CallError> {
    let Some(message_id) = message(receipt) else { return Err(CallError::NoMessage) };
    let route = Route::ChannelMessage { channel_id, message_id };
    rest::call(&discord.http, LightMethod::Patch, route, Some(body)).await
}

fn delivery(done: Result<Value, CallError>) -> Delivery {
    match done {
        Ok(message) => id_of(&message).map_or(Delivery::Unknown, |id| Delivery::Sent(id.to_string())),
        // A token can be mended while the message waits.
        Err(CallError::Token | CallError::TooMany | CallError::Unreachable) => Delivery::Retry(None),
        Err(CallError::Closed(_, why)) => Delivery::Gone(why),
        Err(CallError::Refused(why)) => Delivery::Refused(why),
        Err(error @ CallError::NoMessage) => Delivery::Refused(error.to_string()),
        Err(CallError::Unclear) => Delivery::Unknown,
    }
}

fn place(address: &Address) -> Result<ChannelId, Delivery> {
    let id = address.place.parse().ok().filter(|id| *id > 0);
    id.map(ChannelId::new).ok_or_else(|| Delivery::Gone(format!("“{}” is no Discord channel", address.place)))
}

fn message(receipt: &str) -> Option<MessageId> {
    receipt.parse().ok().filter(|id| *id > 0).map(MessageId::new)
}
