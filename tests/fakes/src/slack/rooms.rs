//! What a workspace shows of its places and people.

use serde_json::{Value, json};

use super::FakeSlack;
use super::web::{failed, page};
use super::world::{BOT, Kind, World};

/// The arguments that reading methods know.
const ARGUMENTS: [(&str, &[&str]); 7] = [
    ("conversations.history", &["channel", "cursor", "limit", "oldest", "latest", "inclusive", METADATA]),
    ("conversations.info", &["channel"]),
    ("conversations.list", &["cursor", "exclude_archived", "limit", "types"]),
    ("conversations.members", &["channel", "cursor", "limit"]),
    (
        "conversations.replies",
        &["channel", "ts", "cursor", "limit", "oldest", "latest", "inclusive", METADATA],
    ),
    ("users.info", &["user"]),
    ("users.list", &["cursor", "limit"]),
];

const METADATA: &str = "include_all_metadata";

impl FakeSlack {
    /// A private channel of which the bot is a member.
    pub fn private_channel(&self, name: &str) -> String {
        self.world().place(Kind::Private, name)
    }

    /// Somebody joins a place; whoever writes there is in it.
    pub fn join(&self, person: &str, place: &str) {
        let mut world = self.world();
        let person = world.person(person);
        if let Some(place) = world.places.get_mut(place) {
            place.members.insert(person);
        }
    }

    /// Somebody leaves a place.
    pub fn leave(&self, person: &str, place: &str) {
        let mut world = self.world();
        let person = world.person(person);
        if let Some(place) = world.places.get_mut(place) {
            place.members.remove(&person);
        }
    }

    /// The bot is taken out of a place.
    pub fn put_out(&self, place: &str) {
        if let Some(place) = self.world().places.get_mut(place) {
            place.members.remove(BOT);
        }
    }

    /// Somebody made a place.
    pub fn create(&self, person: &str, place: &str) {
        let mut world = self.world();
        let person = world.person(person);
        if let Some(place) = world.places.get_mut(place) {
            place.creator = Some(person);
        }
    }

    /// A channel is archived.
    pub fn archive(&self, place: &str) {
        if let Some(place) = self.world().places.get_mut(place) {
            place.is_archived = true;
        }
    }

    /// Somebody's account gets further fields, as Slack has them.
    pub fn describe(&self, person: &str, fields: &Value) {
        let mut world = self.world();
        let id = world.person(person);
        world.accounts.insert(id, fields.clone());
    }

    /// The bot's token allows this again.
    pub fn grant(&self, scope: &'static str) {
        self.world().scopes.push(scope);
    }

    /// Slack gives no more than this at once, whatever is asked for.
    pub fn give_at_most(&self, entries: usize) {
        self.world().most = entries;
    }
}

/// What keeps the bot from reading; arguments that Slack does not know are faults.
pub(super) fn refusal(world: &mut World, method: &str, arguments: &Value) -> Option<Value> {
    let known = ARGUMENTS.iter().find(|(name, _)| *name == method)?.1;
    for (name, _) in arguments.as_object().into_iter().flatten() {
        if !known.contains(&name.as_str()) {
            world.faults.push(format!("{method} has no argument {name}"));
        }
    }
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let has_scope = |scope: &str| world.scopes.contains(&scope);
    let lacks = |scope: &str| Some(json!({"ok": false, "error": "missing_scope", "needed": scope}));
    if method.starts_with("users.") {
        return if has_scope("users:read") { None } else { lacks("users:read") };
    }
    if method == "conversations.list" {
        let kinds: Option<Vec<Kind>> = text("types").split(',').map(Kind::of_type).collect();
        let Some(kinds) = kinds else { return Some(failed("invalid_types")) };
        let lacking = kinds.into_iter().find(|kind| !has_scope(&kind.scope("read")));
        return lacking.and_then(|kind| lacks(&kind.scope("read")));
    }
    let place = world.places.get(text("channel"))?;
    let is_in = place.members.contains(BOT);
    if place.kind != Kind::Channel && !is_in {
        return Some(failed("channel_not_found"));
    }
    let reads = matches!(method, "conversations.history" | "conversations.replies");
    let scope = place.kind.scope(if reads { "history" } else { "read" });
    match has_scope(&scope) {
        false => lacks(&scope),
        true if reads && !is_in => Some(failed("not_in_channel")),
        true => None,
    }
}

pub(super) fn user(world: &World, id: &str) -> Value {
    let Some(name) = world.name_of(id) else { return failed("user_not_found") };
    json!({"ok": true, "user": account(world, id, name)})
}

pub(super) fn users(world: &World, arguments: &Value) -> Value {
    let all: Vec<Value> = world.people.iter().map(|(name, id)| account(world, id, name)).collect();
    page(world, arguments, "members", &all)
}

fn account(world: &World, id: &str, name: &str) -> Value {
    let mut user = json!({"id": id, "name": name, "real_name": name, "deleted": false, "is_bot": false});
    user["profile"] = json!({"display_name": name, "real_name": name});
    for (key, value) in world.accounts.get(id).and_then(Value::as_object).into_iter().flatten() {
        user[key] = value.clone();
    }
    user
}

pub(super) fn info(world: &World, channel: &str) -> Value {
    json!({"ok": true, "channel": shown(world, channel)})
}

pub(super) fn list(world: &World, arguments: &Value) -> Value {
    let kinds: Vec<Kind> =
        arguments["types"].as_str().unwrap_or_default().split(',').filter_map(Kind::of_type).collect();
    let without_archived = arguments["exclude_archived"] == "true";
    let is_listed = |kind: Kind, is_in: bool| kinds.contains(&kind) && (is_in || kind == Kind::Channel);
    let listed = world.places.iter().filter(|(_, place)| {
        is_listed(place.kind, place.members.contains(BOT)) && !(without_archived && place.is_archived)
    });
    let listed: Vec<Value> = listed.map(|(id, _)| shown(world, id)).collect();
    page(world, arguments, "channels", &listed)
}

pub(super) fn members(world: &World, channel: &str, arguments: &Value) -> Value {
    let members = world.places.get(channel).into_iter().flat_map(|place| &place.members);
    let members: Vec<Value> = members.map(|member| json!(member)).collect();
    page(world, arguments, "members", &members)
}

fn shown(world: &World, id: &str) -> Value {
    let Some(place) = world.places.get(id) else { return Value::Null };
    if place.kind == Kind::Direct {
        let user = place.members.iter().find(|member| *member != BOT);
        return json!({"id": id, "is_im": true, "user": user});
    }
    json!({
        "id": id, "name": place.name, "is_im": false, "is_mpim": place.kind == Kind::Group,
        "is_channel": place.kind == Kind::Channel, "is_private": place.kind != Kind::Channel,
        "is_archived": place.is_archived, "is_member": place.members.contains(BOT), "creator": place.creator,
    })
}
