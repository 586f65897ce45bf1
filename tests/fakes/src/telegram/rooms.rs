//! What Telegram tells a bot of chats and of who is in them.

use serde_json::{Value, json};

use super::FakeTelegram;
use super::server::{Outcome, Parameters, refused};
use super::world::{BOT, Kind, World};

impl FakeTelegram {
    /// How somebody stands in a group: `creator`, `administrator`, `member`, `restricted`, `left` or `kicked`,
    /// with further fields. Whoever was never mentioned in one is unknown there.
    pub fn stand(&self, chat: i64, person: i64, status: &str, fields: &Value) {
        let mut member = json!({"status": status});
        for (key, value) in fields.as_object().into_iter().flatten() {
            member[key] = value.clone();
        }
        self.shared.world().members.insert((chat, person), member);
    }

    /// A group has a public name, without the `@`.
    pub fn publish(&self, chat: i64, name: &str) {
        self.shared.world().public.insert(name.to_owned(), chat);
    }

    /// Only administrators see who is in a group, and the bot is none.
    pub fn hide_members(&self, chat: i64) {
        self.shared.world().hidden.insert(chat);
    }

    /// Somebody has a user name, without the `@`.
    pub fn name(&self, person: i64, username: &str) {
        self.shared.world().usernames.insert(person, username.to_owned());
    }
}

pub(super) fn call(world: &World, method: &str, parameters: &Parameters) -> Outcome {
    let known: &[&str] = if method == "getchatmember" { &["chat_id", "user_id"] } else { &["chat_id"] };
    if let Some(name) = parameters.keys().find(|name| !known.contains(&name.as_str())) {
        return refused(&format!("{method} has no parameter {name}"));
    }
    let id = match parameters.get("chat_id") {
        Some(Value::Number(id)) => id.as_i64(),
        Some(Value::String(name)) => name.strip_prefix('@').and_then(|name| world.public.get(name)).copied(),
        _ => return refused("chat_id is empty"),
    };
    let Some((id, chat)) = id.and_then(|id| Some((id, world.chats.get(&id)?))) else {
        return refused("chat not found");
    };
    if let Some(new) = chat.moved_to {
        let words = "Bad Request: group chat was upgraded to a supergroup chat".to_owned();
        return Err((400, words, json!({"migrate_to_chat_id": new})));
    }
    if let Some(words) = &chat.closed {
        return Err((403, format!("Forbidden: {words}"), Value::Null));
    }
    match method {
        "getchat" => Ok(world.chat(id)),
        "getchatmember" => member(world, id, parameters),
        _ if chat.kind == Kind::Private => refused("there are no administrators in the private chat"),
        _ => {
            let is_one =
                |member: &Value| member["status"] == "creator" || member["status"] == "administrator";
            let here = world.members.iter().filter(|((chat, _), member)| *chat == id && is_one(member));
            Ok(here.map(|((_, person), member)| with_user(world, *person, member)).collect())
        }
    }
}

fn member(world: &World, chat: i64, parameters: &Parameters) -> Outcome {
    let Some(person) = parameters.get("user_id").and_then(Value::as_i64) else {
        return refused("invalid user_id specified");
    };
    if chat > 0 {
        let is_theirs = person == chat || person == BOT;
        return match is_theirs {
            true => Ok(with_user(world, person, &json!({"status": "member"}))),
            false => refused("user not found"),
        };
    }
    if world.hidden.contains(&chat) && person != BOT {
        return refused("member list is inaccessible");
    }
    match world.members.get(&(chat, person)) {
        Some(member) => Ok(with_user(world, person, member)),
        None if world.people.contains_key(&person) => {
            Ok(with_user(world, person, &json!({"status": "left"})))
        }
        None => refused("PARTICIPANT_ID_INVALID"),
    }
}

fn with_user(world: &World, person: i64, member: &Value) -> Value {
    let mut member = member.clone();
    member["user"] = world.user(person);
    member
}
