//! What a guild shows of its channels, its roles and its members.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::FakeDiscord;
use super::rest::Answer;
use super::world::{GUILD, Kind, ROLES, World};

/// What everybody may do in the guild: view channels, read the history, connect.
const EVERYONE: u64 = 1 << 10 | 1 << 16 | 1 << 20;
/// What the bot may do besides: send messages and attach files to them.
const SEND_MESSAGES: u64 = 1 << 11;
const ATTACH_FILES: u64 = 1 << 15;

/// The guild, beside its channels.
#[derive(Default)]
pub(super) struct Guild {
    owner: u64,
    /// Fields of members by their ids.
    pub(super) members: BTreeMap<u64, Value>,
    /// Further roles: name and permissions by id.
    roles: BTreeMap<u64, (String, u64)>,
    /// Overwrites by channel.
    overwrites: BTreeMap<String, Vec<Value>>,
    /// Further guilds that the bot is in, with one channel each.
    others: u64,
}

impl FakeDiscord {
    /// Somebody joins the guild; whoever writes in one of its channels is in it.
    pub fn join(&self, person: &str) -> String {
        let mut world = self.world();
        let id = world.person(person);
        world.guild.members.entry(id).or_insert_with(|| json!({}));
        id.to_string()
    }

    /// Somebody leaves the guild.
    pub fn leave(&self, person: &str) {
        let mut world = self.world();
        let id = world.person(person);
        world.guild.members.remove(&id);
    }

    /// Somebody's account as a member gets further fields: `nick`, `joined_at`, `roles`.
    pub fn describe(&self, person: &str, fields: &Value) {
        let mut world = self.world();
        let id = world.person(person);
        let member = world.guild.members.entry(id).or_insert_with(|| json!({}));
        for (key, value) in fields.as_object().into_iter().flatten() {
            member[key] = value.clone();
        }
    }

    /// Somebody owns the guild.
    pub fn crown(&self, person: &str) {
        let mut world = self.world();
        world.guild.owner = world.person(person);
    }

    /// A role of the guild with these permissions; its id.
    pub fn role(&self, name: &str, permissions: u64) -> String {
        let mut world = self.world();
        let id = world.new_id();
        world.guild.roles.insert(id, (name.to_owned(), permissions));
        id.to_string()
    }

    /// The role that everybody has.
    pub fn everyone(&self) -> String {
        GUILD.to_string()
    }

    /// A channel's permissions for a role (0) or a member (1).
    pub fn overwrite(&self, place: &str, (kind, id): (u8, &str), allow: u64, deny: u64) {
        let one = json!({"id": id, "type": kind, "allow": allow.to_string(), "deny": deny.to_string()});
        self.world().guild.overwrites.entry(place.to_owned()).or_default().push(one);
    }

    /// A thread that is begun at a message of a channel: it has the message's id.
    pub fn thread_at(&self, message: &str) -> String {
        let mut world = self.world();
        let parent = world.place_of(message);
        world.add_place(message, Kind::Thread, "at a message", parent);
        let thread = json!({"id": message, "name": "at a message", "message_count": 0});
        world.edit(message, &json!({"thread": thread}));
        message.to_owned()
    }

    /// A private thread of a channel, with these people in it.
    pub fn private_thread(&self, parent: &str, people: &[&str]) -> String {
        let mut world = self.world();
        let id = world.new_id().to_string();
        world.add_place(&id, Kind::PrivateThread, "among us", Some(parent.to_owned()));
        for person in people {
            let person = world.person(person);
            if let Some(place) = world.places.get_mut(&id) {
                place.members.insert(person);
            }
        }
        id
    }

    /// The bot is in so many further guilds.
    pub fn join_guilds(&self, others: u64) {
        self.world().guild.others = others;
    }
}

/// What is asked for of guilds and their channels; nothing if it is none of that.
pub(super) fn answer(world: &mut World, parts: &[&str], query: &str) -> Option<Answer> {
    let parameters: Vec<(&str, &str)> = query.split('&').filter_map(|one| one.split_once('=')).collect();
    let guild = GUILD.to_string();
    let answer = match parts {
        ["users", "@me", "guilds"] => guilds(world, &parameters),
        ["channels", place] => (200, shown(world, place)),
        ["channels", place, "thread-members", person] => {
            let members = world.places.get(*place).map(|place| &place.members);
            match members.is_some_and(|members| members.iter().any(|member| member.to_string() == **person)) {
                true => (200, json!({"id": place, "user_id": person})),
                false => unknown("Unknown Member", 10007),
            }
        }
        ["guilds", id, "channels"] if **id == guild => {
            let here = world.places.iter().filter(|(_, place)| place.kind == Kind::Guild);
            (200, here.map(|(id, _)| shown(world, id)).collect())
        }
        ["guilds", id, "channels"] => match id.parse::<u64>().ok().filter(|id| *id > GUILD) {
            Some(id) => {
                let channel = json!({"id": (id + 1).to_string(), "type": 0, "name": "general"});
                (200, json!([channel, {"id": (id + 2).to_string(), "type": 4, "name": "a category"}]))
            }
            None => unknown("Unknown Guild", 10004),
        },
        ["guilds", id, ..] if **id != guild => unknown("Unknown Guild", 10004),
        ["guilds", id] => {
            let owner = world.guild.owner.to_string();
            (200, json!({"id": id, "name": "Home", "owner_id": owner, "roles": roles(world)}))
        }
        ["guilds", _, "roles"] => (200, roles(world)),
        ["guilds", _, "members", "search"] => search(world, &parameters),
        ["guilds", _, "members", id] => {
            let id = id.parse::<u64>().unwrap_or_default();
            match (world.guild.members.contains_key(&id), world.is_person(id)) {
                (true, _) => (200, member(world, id)),
                (false, true) => unknown("Unknown Member", 10007),
                (false, false) => unknown("Unknown User", 10013),
            }
        }
        _ => return None,
    };
    let known: &[&str] = match parts {
        ["users", "@me", "guilds"] => &["limit"],
        ["guilds", _, "members", "search"] => &["query", "limit"],
        _ => &[],
    };
    if let Some((name, _)) = parameters.iter().find(|(name, _)| !known.contains(name)) {
        world.faults.push(format!("{parts:?} has no parameter {name}"));
    }
    Some(answer)
}

/// A parameter of this name, if there is one.
fn parameter<'a>(parameters: &[(&'a str, &'a str)], name: &str) -> Option<&'a str> {
    parameters.iter().find(|one| one.0 == name).map(|one| one.1)
}

/// How many are asked for; nothing if that is more than Discord gives, or no number.
fn limit(parameters: &[(&str, &str)], usual: usize, most: usize) -> Option<usize> {
    let limit = parameter(parameters, "limit").map_or(Some(usual), |limit| limit.parse().ok());
    limit.filter(|limit| (1..=most).contains(limit))
}

fn guilds(world: &World, parameters: &[(&str, &str)]) -> Answer {
    let Some(limit) = limit(parameters, 200, 200) else { return invalid("limit") };
    let others = (1..=world.guild.others).map(|number| (GUILD + number * 1_000, format!("Guild {number}")));
    let all = std::iter::once((GUILD, "Home".to_owned())).chain(others).take(limit);
    let files = if world.files_are_forbidden { 0 } else { ATTACH_FILES };
    let permissions = (EVERYONE | SEND_MESSAGES | files).to_string();
    let shown = |(id, name): (u64, String)| json!({"id": id.to_string(), "name": name, "owner": false, "permissions": permissions});
    (200, all.map(shown).collect())
}

fn unknown(words: &str, code: u64) -> Answer {
    (404, json!({"message": words, "code": code}))
}

fn invalid(parameter: &str) -> Answer {
    (
        400,
        json!({"message": "Invalid Form Body", "code": 50035, "errors": {parameter: {"_errors": [{"code": "BAD", "message": "not valid"}]}}}),
    )
}

/// A channel as Discord tells of it.
fn shown(world: &World, id: &str) -> Value {
    let Some(place) = world.places.get(id) else { return Value::Null };
    let mut channel = json!({"id": id, "type": place.kind as u64});
    if place.kind == Kind::Direct {
        channel["recipients"] = place.members.iter().map(|id| world.account(*id)).collect();
        return channel;
    }
    channel["guild_id"] = json!(GUILD.to_string());
    channel["name"] = json!(place.name);
    channel["parent_id"] = json!(place.parent);
    // A thread has none of its own.
    if place.kind == Kind::Guild {
        channel["permission_overwrites"] = json!(world.guild.overwrites.get(id).cloned().unwrap_or_default());
    }
    channel
}

fn roles(world: &World) -> Value {
    let [own, other] = ROLES.map(|id| id.to_string());
    let bot = json!({"bot_id": super::world::BOT.to_string()});
    let mut all = vec![
        json!({"id": GUILD.to_string(), "name": "@everyone", "permissions": EVERYONE.to_string()}),
        json!({"id": own, "name": "adjutant", "managed": true, "permissions": "0", "tags": bot}),
        json!({"id": other, "name": "editors", "managed": false, "permissions": "0"}),
    ];
    let role = |(id, (name, permissions)): (&u64, &(String, u64))| json!({"id": id.to_string(), "name": name, "permissions": permissions.to_string()});
    all.extend(world.guild.roles.iter().map(role));
    Value::Array(all)
}

fn member(world: &World, id: u64) -> Value {
    let mut member = json!({"user": world.account(id), "nick": null, "roles": [], "joined_at": "2025-03-01T09:00:00.000000+00:00"});
    for (key, value) in world.guild.members.get(&id).and_then(Value::as_object).into_iter().flatten() {
        member[key] = value.clone();
    }
    member
}

/// Those whose name or nickname begins so.
fn search(world: &World, parameters: &[(&str, &str)]) -> Answer {
    let Some(limit) = limit(parameters, 1, 1_000) else { return invalid("limit") };
    let query = parameter(parameters, "query").map(|query| crate::http::decoded(query).to_lowercase());
    let Some(query) = query.filter(|query| !query.is_empty()) else { return invalid("query") };
    let begins = |text: &Value| text.as_str().is_some_and(|text| text.to_lowercase().starts_with(&query));
    let members = world.guild.members.keys().map(|id| member(world, *id));
    let found = members.filter(|member| begins(&member["nick"]) || begins(&member["user"]["username"]));
    (200, found.take(limit).collect())
}
