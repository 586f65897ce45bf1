//! The bot's reactions to messages, and how many edits a channel takes.
//!
//! Whoever reacts needs "Read Message History", and the first one with an emoji "Add Reactions"; an emoji that isn't one
//! is unknown. Source: <https://discord.com/developers/docs/resources/message#create-reaction>

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rest::Answer;
use super::world::World;
use super::{Call, FakeDiscord};
use crate::http;

impl FakeDiscord {
    /// The bot's reactions to a message.
    pub fn reactions(&self, message: &str) -> Vec<String> {
        self.world().reactions.get(message).into_iter().flatten().cloned().collect()
    }

    /// Somebody reacts to a message. The bot hears of it if its intents say so.
    pub fn react(&self, person: &str, message: &str, emoji: &str) {
        self.tell_of_reaction("MESSAGE_REACTION_ADD", (person, message), emoji);
    }

    /// Somebody takes their reaction away.
    pub fn unreact(&self, person: &str, message: &str, emoji: &str) {
        self.tell_of_reaction("MESSAGE_REACTION_REMOVE", (person, message), emoji);
    }

    fn tell_of_reaction(&self, event: &str, (person, message): (&str, &str), emoji: &str) {
        let mut world = self.world();
        let (Some(place), user) = (world.place_of(message), world.person(person)) else { return };
        if world.hears_reactions {
            let emoji = json!({"id": null, "name": emoji});
            world.tell_of(event, &place, json!({
                "user_id": user.to_string(), "channel_id": place, "message_id": message, "emoji": emoji, "type": 0,
            }));
        }
    }

    /// In the guild the bot may no longer add reactions.
    pub fn forbid_reactions(&self) {
        self.world().reactions_are_forbidden = true;
    }

    /// From now on a channel takes so many edits in this time. Discord itself takes five in five seconds, in practice:
    /// <https://github.com/discord/discord-api-docs/issues/20>.
    pub fn limit_edits(&self, most: usize, window: Duration) {
        self.world().edit_limit = Some((most, window));
    }
}

/// The bot's reaction is put under a message, or taken away.
pub(super) fn react(world: &mut World, (place, id): (&str, &str), emoji: &str, is_put: bool) -> Answer {
    if world.find(place, id).is_none() {
        return (404, json!({"message": "Unknown Message", "code": 10008}));
    }
    let emoji = http::decoded(emoji);
    if emoji.is_empty() || emoji.is_ascii() {
        world.faults.push(format!("{emoji} is no emoji"));
        return (400, json!({"message": "Unknown Emoji", "code": 10014}));
    }
    if is_put && world.reactions_are_forbidden && !world.is_direct(place) {
        return (403, json!({"message": "Missing Permissions", "code": 50013}));
    }
    let reactions = world.reactions.entry(id.to_owned()).or_default();
    if is_put {
        reactions.insert(emoji);
    } else {
        reactions.remove(&emoji);
    }
    (204, Value::Null)
}

/// Counts an edit. How many more its channel takes, nothing if this is one too many, and when it takes all again.
/// Source: <https://discord.com/developers/docs/topics/rate-limits#header-format>
pub(super) fn count_edit(world: &mut World, call: &Call) -> Option<(Option<usize>, Duration)> {
    let (most, window) = world.edit_limit.filter(|_| call.method == "PATCH")?;
    let place = call.path.split('/').nth(2)?.to_owned();
    let (since, count) = world.edits.entry(place).or_insert((Instant::now(), 0));
    if since.elapsed() >= window {
        (*since, *count) = (Instant::now(), 0);
    }
    *count += 1;
    let left = most.checked_sub(*count);
    let rest = window.saturating_sub(since.elapsed());
    if left.is_none() {
        world.faults.push("an edit came too early".to_owned());
    }
    Some((left, rest))
}
