//! Thin: sends, changes and finds messages.

use adjutant_chat::{Address, Delivery, Outbound, Reconciliation, Retract};
use serde_json::{Value, json};

use crate::Slack;
use crate::api::CallError;
use crate::files;
use crate::place::{Place, Ts};
use crate::render::{self, Part};

/// What our metadata is called.
const METADATA: &str = "adjutant";

/// Messages that Slack gives at once.
const PAGE: usize = 200;

/// So many pages are read for one reconciliation.
const PAGES: usize = 10;

/// The mark is taken so many seconds earlier: Slack's clocks need not agree.
const MARGIN: u64 = 60;

/// Errors that another try without blocks may mend.
const NOT_AS_BLOCKS: [&str; 5] =
    ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"];

pub(crate) async fn deliver(slack: &Slack, outbound: &Outbound) -> Delivery {
    let place = match place(&outbound.address) {
        Ok(place) => place,
        Err(gone) => return gone,
    };
    let parts = render::parts(&outbound.text);
    let Some(part) = parts.get(outbound.part) else {
        return match outbound.file_part(|| parts.len()) {
            Some(file) => files::deliver(slack, outbound, &place, file).await,
            None => Delivery::Refused(format!("the message has no part {}", outbound.part)),
        };
    };
    let is_last = outbound.part + 1 == parts.len();
    let mut message = message(&place, part);
    message["blocks"] = part.blocks(if is_last { &outbound.choices } else { &[] });
    if let Some(shown) = outbound.edit_of.as_deref().filter(|_| outbound.part == 0) {
        match change(slack, &message, part, shown).await {
            // Somebody deleted it; then the answer is a message of its own.
            Err(CallError::NoMessage) => {}
            done => return delivery(done),
        }
    }
    let payload = json!({"id": outbound.id, "part": outbound.part});
    message["metadata"] = json!({"event_type": METADATA, "event_payload": payload});
    delivery(post(slack, &message, part).await)
}

pub(crate) async fn show(slack: &Slack, address: &Address, shown: Option<&str>, text: &str) -> Delivery {
    let place = match place(address) {
        Ok(place) => place,
        Err(gone) => return gone,
    };
    let parts = render::parts(text);
    let Some(part) = parts.first() else { return Delivery::Refused("there is nothing to show".to_owned()) };
    let mut message = message(&place, part);
    message["blocks"] = part.blocks(&[]);
    if let Some(shown) = shown {
        match change(slack, &message, part, shown).await {
            Err(CallError::NoMessage) => {}
            done => return delivery(done),
        }
    }
    delivery(post(slack, &message, part).await)
}

pub(crate) async fn retract(slack: &Slack, address: &Address, receipt: &str, what: Retract) {
    let (Ok(place), Ok(ts)) = (place(address), receipt.parse()) else { return };
    let done = match what {
        Retract::Message => {
            slack.bot.call("chat.delete", &json!({"channel": place.channel, "ts": receipt})).await.map(drop)
        }
        Retract::Buttons => without_buttons(slack, &place, ts).await,
    };
    if let Err(error) = done {
        tracing::debug!(channel = slack.channel, %error, "not taken away");
    }
}

/// Says something to one person alone; best effort.
pub(crate) async fn whisper(slack: &Slack, address: &Address, person: &str, text: &str) {
    let Ok(place) = place(address) else { return };
    let mut message = json!({"channel": place.channel, "user": person, "text": render::escaped(text)});
    if let Some(thread) = place.thread {
        message["thread_ts"] = json!(thread.to_string());
    }
    if let Err(error) = slack.bot.call("chat.postEphemeral", &message).await {
        tracing::debug!(channel = slack.channel, %error, "a notice was not shown");
    }
}

pub(crate) async fn reconcile(slack: &Slack, outbound: &Outbound) -> Reconciliation {
    if let Some(file) = outbound.file_part(|| render::parts(&outbound.text).len()) {
        return files::reconcile(slack, outbound, file).await;
    }
    let is_it = |message: &Value| {
        let metadata = &message["metadata"];
        let payload = &metadata["event_payload"];
        metadata["event_type"] == METADATA && payload["id"] == outbound.id && payload["part"] == outbound.part
    };
    find(slack, outbound, is_it).await
}

/// Looks through what was written after the mark.
pub(crate) async fn find(
    slack: &Slack,
    outbound: &Outbound,
    is_it: impl Fn(&Value) -> bool,
) -> Reconciliation {
    let Ok(place) = place(&outbound.address) else { return Reconciliation::NotSent };
    let after = outbound.checkpoint.as_deref().and_then(|mark| mark.parse::<Ts>().ok());
    let messages = match since(slack, &place, after.map(|ts| ts.before(MARGIN)), PAGES).await {
        Ok(messages) => messages,
        // Sending it again will tell.
        Err(CallError::Closed(_)) => return Reconciliation::NotSent,
        Err(error) => {
            tracing::debug!(channel = slack.channel, %error, "not looked for");
            return Reconciliation::Unavailable;
        }
    };
    let Some(ts) = messages.iter().find(|message| is_it(message)).and_then(|message| message["ts"].as_str())
    else {
        return Reconciliation::NotSent;
    };
    if let Ok(ts) = ts.parse() {
        slack.known.is_there(ts);
    }
    Reconciliation::Sent(ts.to_owned())
}

/// The messages of a place after a time (a first page's worth of the newest without one), oldest first,
/// with their metadata; at most so many pages.
pub(crate) async fn since(
    slack: &Slack,
    place: &Place,
    after: Option<Ts>,
    pages: usize,
) -> Result<Vec<Value>, CallError> {
    let mut arguments = place_arguments(place);
    arguments.extend([("limit", PAGE.to_string()), ("include_all_metadata", "true".to_owned())]);
    arguments.extend(after.map(|after| ("oldest", after.to_string())));
    let pages = if after.is_some() { pages } else { 1 };
    let mut all = slack.bot.list(method(place), "messages", &arguments, pages, Some).await?;
    let ts = |message: &Value| message["ts"].as_str().and_then(|ts| ts.parse::<Ts>().ok());
    // A thread's first message is always there.
    all.retain(|message| ts(message).is_some_and(|ts| after.is_none_or(|after| ts > after)));
    all.sort_by_key(ts);
    Ok(all)
}

fn method(place: &Place) -> &'static str {
    if place.thread.is_some() { "conversations.replies" } else { "conversations.history" }
}

fn place_arguments(place: &Place) -> Vec<(&'static str, String)> {
    let thread = place.thread.map(|thread| ("ts", thread.to_string()));
    [("channel", place.channel.clone())].into_iter().chain(thread).collect()
}

/// The message is written again without its buttons; only Slack has what it says.
async fn without_buttons(slack: &Slack, place: &Place, ts: Ts) -> Result<(), CallError> {
    let mut arguments = place_arguments(place);
    let at = ts.to_string();
    arguments.extend([("oldest", at.clone()), ("latest", at.clone()), ("inclusive", "true".to_owned())]);
    let page = slack.bot.read(method(place), &arguments).await?;
    let mut messages = page["messages"].as_array().into_iter().flatten();
    let Some(message) = messages.find(|message| message["ts"] == *at) else {
        return Err(CallError::NoMessage);
    };
    let blocks = message["blocks"].as_array().into_iter().flatten();
    let bare: Vec<&Value> = blocks.clone().filter(|block| block["type"] != "actions").collect();
    if bare.len() == blocks.count() {
        return Ok(());
    }
    let message = json!({"channel": place.channel, "ts": at, "text": message["text"], "blocks": bare});
    slack.bot.call("chat.update", &message).await.map(drop)
}

fn message(place: &Place, part: &Part) -> Value {
    let mut message = json!({
        "channel": place.channel,
        "text": part.notification(),
        // What a text links to was not asked for, and previews are fetched by Slack, so a text could carry
        // something out with the address.
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if let Some(thread) = place.thread {
        message["thread_ts"] = json!(thread.to_string());
    }
    message
}

async fn post(slack: &Slack, message: &Value, part: &Part) -> Result<String, CallError> {
    let sent = once_more_plain(slack, "chat.postMessage", message, part).await?;
    let ts = sent["ts"].as_str().ok_or(CallError::Unclear)?.to_owned();
    if let Ok(ts) = ts.parse() {
        slack.known.is_there(ts);
    }
    Ok(ts)
}

async fn change(slack: &Slack, message: &Value, part: &Part, shown: &str) -> Result<String, CallError> {
    let mut message = message.clone();
    message["ts"] = json!(shown);
    once_more_plain(slack, "chat.update", &message, part).await?;
    Ok(shown.to_owned())
}

/// What Slack refuses for its form is sent once more without any.
async fn once_more_plain(
    slack: &Slack,
    method: &str,
    message: &Value,
    part: &Part,
) -> Result<Value, CallError> {
    match slack.bot.call(method, message).await {
        Err(CallError::Refused(why)) if NOT_AS_BLOCKS.contains(&why.as_str()) => {
            tracing::warn!(channel = slack.channel, why, "sent without its form");
            let mut message = message.clone();
            message["text"] = json!(part.plain);
            message["mrkdwn"] = json!(false);
            // An empty list, or an edit would keep the old ones.
            message["blocks"] = json!([]);
            slack.bot.call(method, &message).await
        }
        done => done,
    }
}

fn delivery(done: Result<String, CallError>) -> Delivery {
    match done {
        Ok(ts) => Delivery::Sent(ts),
        // A token and its scopes can be mended while the message waits.
        Err(CallError::Token(_) | CallError::Scope(_) | CallError::Unreachable) => Delivery::Retry(None),
        Err(CallError::TooMany(pause)) => Delivery::Retry(pause),
        Err(CallError::Closed(why)) => Delivery::Gone(why),
        Err(CallError::Refused(why)) => Delivery::Refused(why),
        Err(error @ CallError::NoMessage) => Delivery::Refused(error.to_string()),
        Err(CallError::Unclear) => Delivery::Unknown,
    }
}

fn place(address: &Address) -> Result<Place, Delivery> {
    let place = address.place.parse();
    place.map_err(|_| Delivery::Gone(format!("“{}” is no place of Slack's", address.place)))
}
