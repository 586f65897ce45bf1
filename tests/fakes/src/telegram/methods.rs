//! The methods of the Bot API, as strict as the real ones.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Outcome, Parameters, refused};
use super::world::{BOT, Keyboard, Kind, Message, Preview, World};
use super::{BOT_NAME, Refusal, Shared, markup, rooms};

/// The longest text, in UTF-16 units after its markup is parsed.
const MAX_LENGTH: usize = 4_096;

/// The most drafts of a private chat in this time; then it refuses more for as long.
const MAX_DRAFTS: usize = 27;
const DRAFT_WINDOW_S: u64 = 3;

/// The reactions that a bot may give, as far as anybody here wants them.
const REACTIONS: [&str; 8] = ["👍", "👎", "❤", "🔥", "🎉", "👌", "👀", "🤔"];

pub(super) fn call(shared: &Shared, method: &str, parameters: &Parameters) -> Outcome {
    if method == "getupdates" {
        return get_updates(shared, parameters);
    }
    let mut world = shared.world();
    let world = &mut *world;
    match method {
        "getme" => Ok(me()),
        "getwebhookinfo" => Ok(webhook_info(world)),
        "deletewebhook" => {
            world.webhook = false;
            Ok(true.into())
        }
        "setmycommands" => {
            let commands = parameters.get("commands").and_then(Value::as_array).into_iter().flatten();
            let name = |command: &Value| command["command"].as_str().unwrap_or_default().to_owned();
            world.commands = commands.map(name).collect();
            Ok(true.into())
        }
        "getchat" | "getchatmember" | "getchatadministrators" => rooms::call(world, method, parameters),
        "sendmessage" => send_message(world, parameters),
        "sendmessagedraft" => send_draft(world, parameters),
        "setmessagereaction" => react(world, parameters),
        "senddocument" => send_document(world, parameters),
        "sendvoice" => send_voice(world, parameters),
        "editmessagetext" => edit_text(world, parameters),
        "editmessagecaption" => edit_caption(world, parameters),
        "editmessagereplymarkup" => {
            let (keyboard, before) = (keyboard(parameters)?, own(world, parameters, "edit")?.clone());
            edit(world, parameters, Message { keyboard, ..before })
        }
        "deletemessage" => {
            own(world, parameters, "delete")?;
            let (chat, message) = (integer(parameters, "chat_id"), integer(parameters, "message_id"));
            world.chats.entry(chat).and_modify(|chat| drop(chat.messages.remove(&message)));
            Ok(true.into())
        }
        "sendchataction" => {
            open_chat(world, parameters)?;
            Ok(true.into())
        }
        "answercallbackquery" => answer_press(world, parameters),
        "getfile" => {
            let id = text(parameters, "file_id");
            if id.starts_with("voice") {
                return Ok(json!({"file_id": id, "file_unique_id": "u", "file_path": format!("voice/{id}")}));
            }
            let path = format!("documents/{id}");
            match world.files.get(&path) {
                Some(content) => Ok(json!({"file_id": text(parameters, "file_id"), "file_unique_id": "u",
                    "file_size": content.len(), "file_path": path})),
                None => refused("invalid file_id"),
            }
        }
        _ => Err((404, "Not Found".to_owned(), Value::Null)),
    }
}

fn integer(parameters: &Parameters, name: &str) -> i64 {
    parameters.get(name).and_then(Value::as_i64).unwrap_or(0)
}

fn text<'a>(parameters: &'a Parameters, name: &str) -> &'a str {
    parameters.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn me() -> Value {
    json!({"id": BOT, "is_bot": true, "first_name": "Adjutant", "username": BOT_NAME,
        "can_join_groups": true, "can_read_all_group_messages": false, "supports_inline_queries": false})
}

fn webhook_info(world: &World) -> Value {
    let url = if world.webhook { "https://elsewhere.test/hook" } else { "" };
    json!({"url": url, "has_custom_certificate": false, "pending_update_count": 0})
}

fn get_updates(shared: &Shared, parameters: &Parameters) -> Outcome {
    let conflict = |words: &str| Err((409, format!("Conflict: {words}"), Value::Null));
    let (offset, timeout) = (integer(parameters, "offset"), integer(parameters, "timeout"));
    let limit = if parameters.contains_key("limit") { integer(parameters, "limit") } else { 100 };
    let deadline = Instant::now() + Duration::from_secs(timeout.unsigned_abs());
    let mut world = shared.world();
    if world.webhook {
        return conflict(
            "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        );
    }
    world.poll += 1;
    let poll = world.poll;
    shared.news.notify_all();
    loop {
        if world.poll != poll {
            return conflict(
                "terminated by other getUpdates request; make sure that only one bot instance is running",
            );
        }
        if world.ended_poll >= poll {
            return Ok(json!([]));
        }
        // An offset confirms all before it.
        world.updates.retain(|(id, _)| *id >= offset);
        // Reactions are told to whoever asks for them: <https://core.telegram.org/bots/api#update>
        let allowed = parameters.get("allowed_updates").and_then(Value::as_array);
        if !allowed.is_some_and(|all| all.iter().any(|one| one == "message_reaction")) {
            world.updates.retain(|(_, update)| update.get("message_reaction").is_none());
        }
        if world.ended_poll >= poll {
            return Ok(json!([]));
        }
        let waits = deadline.saturating_duration_since(Instant::now());
        if !world.updates.is_empty() || waits.is_zero() {
            let most = usize::try_from(limit.clamp(1, 100)).unwrap_or(1);
            let updates = world.updates.iter().take(most).map(|(_, update)| update.clone());
            return Ok(updates.collect());
        }
        world = shared.news.wait_timeout(world, waits).unwrap_or_else(std::sync::PoisonError::into_inner).0;
    }
}

/// The chat, if the bot may write there.
fn open_chat(world: &World, parameters: &Parameters) -> Outcome<i64> {
    let id = integer(parameters, "chat_id");
    let Some(chat) = world.chats.get(&id) else { return refused("chat not found") };
    if let Some(new) = chat.moved_to {
        let words = "Bad Request: group chat was upgraded to a supergroup chat".to_owned();
        return Err((400, words, json!({"migrate_to_chat_id": new})));
    }
    if let Some(words) = &chat.closed {
        return Err((403, format!("Forbidden: {words}"), Value::Null));
    }
    let thread = integer(parameters, "message_thread_id");
    if thread != 0 && !(chat.kind == Kind::Supergroup && chat.topics.contains(&thread)) {
        return refused("message thread not found");
    }
    Ok(id)
}

fn send_message(world: &mut World, parameters: &Parameters) -> Outcome {
    let chat = open_chat(world, parameters)?;
    let (text, entities) = formatted(parameters)?;
    if text.encode_utf16().count() > MAX_LENGTH {
        return refused("message is too long");
    }
    let keyboard = keyboard(parameters)?;
    refuse(world, &text, &entities, &keyboard)?;
    let reply = parameters.get("reply_parameters").unwrap_or(&Value::Null);
    let reply_to = reply["message_id"].as_i64().filter(|id| world.message(chat, *id).is_some());
    if !reply.is_null() && reply_to.is_none() && reply["allow_sending_without_reply"] != true {
        return refused("message to be replied not found");
    }
    let thread = parameters.get("message_thread_id").and_then(Value::as_i64);
    let message = Message { from: BOT, thread, text, entities, keyboard, reply_to, ..Message::default() };
    let id = world.add(chat, message);
    world.said += 1;
    Ok(world.show(chat, id))
}

fn send_draft(world: &mut World, parameters: &Parameters) -> Outcome {
    let id = open_chat(world, parameters)?;
    let draft = parameters.get("draft_id").and_then(Value::as_i64).filter(|id| *id != 0);
    let Some(draft) = draft else { return refused("RANDOM_ID_INVALID") };
    let (text, entities) = match text(parameters, "text") {
        "" => ("Thinking…".to_owned(), Vec::new()),
        _ => formatted(parameters)?,
    };
    if text.encode_utf16().count() > MAX_LENGTH {
        return refused("message is too long");
    }
    refuse(world, &text, &entities, &Keyboard::new())?;
    let Some(chat) = world.chats.get_mut(&id).filter(|chat| chat.kind == Kind::Private) else {
        return refused("TEXTDRAFT_PEER_INVALID");
    };
    let now = Instant::now();
    chat.drafts.retain(|sent| now.duration_since(*sent) < Duration::from_secs(DRAFT_WINDOW_S));
    if chat.drafts.len() >= MAX_DRAFTS {
        let words = format!("Too Many Requests: retry after {DRAFT_WINDOW_S}");
        return Err((429, words, json!({"retry_after": DRAFT_WINDOW_S})));
    }
    chat.drafts.push(now);
    chat.preview = Some(Preview { draft, text, shown: now });
    Ok(true.into())
}

/// A reaction takes the place of the one before; none takes it away.
fn react(world: &mut World, parameters: &Parameters) -> Outcome {
    let chat = open_chat(world, parameters)?;
    let reactions = parameters.get("reaction").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_allowed = |reaction: &Value| {
        reaction["type"] == "emoji" && REACTIONS.iter().any(|emoji| reaction["emoji"] == *emoji)
    };
    if reactions.len() > 1 {
        return refused("REACTIONS_TOO_MANY");
    }
    if !reactions.iter().all(is_allowed) {
        return refused("REACTION_INVALID");
    }
    let Some(message) = world.message(chat, integer(parameters, "message_id")) else {
        return refused("message to react not found");
    };
    message.reaction = reactions.first().and_then(|reaction| reaction["emoji"].as_str()).map(str::to_owned);
    Ok(true.into())
}

/// Only an upload: no file of ours has an id or an address before.
fn send_document(world: &mut World, parameters: &Parameters) -> Outcome {
    let chat = open_chat(world, parameters)?;
    let document = parameters.get("document").unwrap_or(&Value::Null);
    let (Some(name), Some(content)) = (document["name"].as_str(), document["content"].as_str()) else {
        return refused("there is no document in the request");
    };
    if content.is_empty() {
        return refused("file must be non-empty");
    }
    if world.refusals.contains(&Refusal::Documents) {
        return refused("DOCUMENT_INVALID");
    }
    let file_id = world.keep_file(content.as_bytes());
    let media = json!({"document": {"file_id": file_id, "file_unique_id": "u", "file_name": name,
        "mime_type": document["type"], "file_size": content.len()}});
    let thread = parameters.get("message_thread_id").and_then(Value::as_i64);
    let id = world.add(chat, Message { from: BOT, thread, media: Some(media), ..Message::default() });
    world.said += 1;
    Ok(world.show(chat, id))
}

/// Only Opus in Ogg is shown as a voice message.
fn send_voice(world: &mut World, parameters: &Parameters) -> Outcome {
    let chat = open_chat(world, parameters)?;
    let voice = parameters.get("voice").unwrap_or(&Value::Null);
    let bytes = voice["bytes"].as_array().into_iter().flatten().filter_map(Value::as_u64);
    let sound: Vec<u8> = bytes.filter_map(|byte| u8::try_from(byte).ok()).collect();
    if !sound.starts_with(b"OggS") || voice["type"] != "audio/ogg" {
        return refused("there is no voice in the request");
    }
    let file_id = world.sounds.keep(&sound);
    let duration = parameters.get("duration").and_then(Value::as_u64).unwrap_or_default();
    let media = json!({"voice": {"file_id": file_id, "file_unique_id": "u", "mime_type": "audio/ogg",
        "duration": duration, "file_size": sound.len()}});
    let thread = parameters.get("message_thread_id").and_then(Value::as_i64);
    let id = world.add(chat, Message { from: BOT, thread, media: Some(media), ..Message::default() });
    world.said += 1;
    Ok(world.show(chat, id))
}

fn edit_caption(world: &mut World, parameters: &Parameters) -> Outcome {
    let before = own(world, parameters, "edit")?.clone();
    if before.media.is_none() {
        return refused("there is no caption in the message to edit");
    }
    edit(world, parameters, Message { text: text(parameters, "caption").to_owned(), ..before })
}

fn answer_press(world: &mut World, parameters: &Parameters) -> Outcome {
    let query = text(parameters, "callback_query_id");
    if !world.asked.contains(query) {
        return refused("query is too old and response timeout expired or query ID is invalid");
    }
    let alert = match parameters.get("show_alert") == Some(&Value::Bool(true)) {
        true => text(parameters, "text").to_owned(),
        false => String::new(),
    };
    if alert.chars().count() > 200 {
        return refused("MESSAGE_TOO_LONG");
    }
    world.answered.insert(query.to_owned(), alert);
    Ok(true.into())
}

fn edit_text(world: &mut World, parameters: &Parameters) -> Outcome {
    open_chat(world, parameters)?;
    let (text, entities) = formatted(parameters)?;
    let keyboard = keyboard(parameters)?;
    refuse(world, &text, &entities, &keyboard)?;
    let before = own(world, parameters, "edit")?.clone();
    if before.media.is_some() {
        return refused("there is no text in the message to edit");
    }
    if text.encode_utf16().count() > MAX_LENGTH {
        return refused("MESSAGE_TOO_LONG");
    }
    edit(world, parameters, Message { text, entities, keyboard, ..before })
}

fn edit(world: &mut World, parameters: &Parameters, new: Message) -> Outcome {
    let message = own(world, parameters, "edit")?;
    let same = |one: &Message| (one.text.clone(), one.entities.clone(), one.keyboard.clone());
    if same(message) == same(&new) {
        return refused(
            "message is not modified: specified new message content and reply markup are exactly the same \
             as a current content and reply markup of the message",
        );
    }
    *message = new;
    Ok(world.show(integer(parameters, "chat_id"), integer(parameters, "message_id")))
}

/// The bot's own message that is to be edited or deleted.
fn own<'a>(world: &'a mut World, parameters: &Parameters, what: &str) -> Outcome<&'a mut Message> {
    open_chat(world, parameters)?;
    match world.message(integer(parameters, "chat_id"), integer(parameters, "message_id")) {
        None => refused(&format!("message to {what} not found")),
        Some(message) if message.from != BOT || message.opens_topic => {
            refused(&format!("message can't be {}ed", what.trim_end_matches('e')))
        }
        Some(message) => Ok(message),
    }
}

/// The text that is seen, and what it looks like.
fn formatted(parameters: &Parameters) -> Outcome<(String, Vec<Value>)> {
    let raw = text(parameters, "text");
    let (text, entities) = match text(parameters, "parse_mode") {
        "" => markup::trimmed(raw.to_owned(), Vec::new()),
        "HTML" => match markup::parse(raw) {
            Ok((text, entities)) => markup::trimmed(text, entities),
            Err(fault) => return refused(&format!("can't parse entities: {fault}")),
        },
        _ => return refused("unsupported parse_mode"),
    };
    if text.is_empty() { refused("message text is empty") } else { Ok((text, entities)) }
}

/// Refuses a text for what it contains.
fn refuse(world: &World, text: &str, entities: &[Value], keyboard: &Keyboard) -> Outcome<()> {
    for refusal in &world.refusals {
        match refusal {
            Refusal::Markup if !entities.is_empty() => return refused("ENTITY_BOUNDS_INVALID"),
            Refusal::Markup if !keyboard.is_empty() => return refused("BUTTON_DATA_INVALID"),
            Refusal::LongerThan(most) if text.encode_utf16().count() > *most => {
                return refused("message is too long");
            }
            _ => {}
        }
    }
    Ok(())
}

fn keyboard(parameters: &Parameters) -> Outcome<Keyboard> {
    let rows = parameters.get("reply_markup").and_then(|markup| markup["inline_keyboard"].as_array());
    let mut keyboard = Vec::new();
    for row in rows.into_iter().flatten() {
        let mut buttons = Vec::new();
        for button in row.as_array().into_iter().flatten() {
            let (label, data) = (button["text"].as_str(), button["callback_data"].as_str());
            let (Some(label), Some(data)) = (label, data) else {
                return refused(
                    "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
                );
            };
            if label.trim().is_empty() || data.is_empty() || data.len() > 64 {
                return refused("BUTTON_DATA_INVALID");
            }
            buttons.push((label.to_owned(), data.to_owned()));
        }
        keyboard.push(buttons);
    }
    if keyboard.iter().map(Vec::len).sum::<usize>() > 100 {
        return refused("too many inline keyboard buttons");
    }
    Ok(keyboard)
}
