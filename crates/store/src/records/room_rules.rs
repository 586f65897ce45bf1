//! The rules of rooms: when we answer there, with which skills, and whom.

use adjutant_types::{ConversationId, RoomAnswers};
use serde_json::json;

use crate::{Batch, Result, Store};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoomRule {
    pub answers: RoomAnswers,
    /// The names of the skills and domains that may be used there; none: all.
    pub skills: Option<Vec<String>>,
    /// The platform's ids of those who may talk to us; none: everybody who may speak.
    pub people: Option<Vec<String>>,
}

impl RoomRule {
    /// Whether what this account writes is for us to read.
    pub fn admits(&self, user: &str, is_addressed: bool) -> bool {
        let is_wanted = match self.answers {
            RoomAnswers::Always => true,
            RoomAnswers::Mentioned => is_addressed,
            RoomAnswers::Never => false,
        };
        is_wanted && self.people.as_ref().is_none_or(|people| people.iter().any(|one| one == user))
    }

    /// Whether a skill may be used. Those about the conversation itself always may.
    pub fn allows(&self, skill: &str) -> bool {
        let domain = skill.split('.').next().unwrap_or_default();
        domain == "assistant"
            || self.skills.as_ref().is_none_or(|all| all.iter().any(|one| one == skill || one == domain))
    }
}

/// The room that a place is in: a thread's place is `ROOM/THREAD`.
pub fn room_of(place: &str) -> &str {
    place.split('/').next().unwrap_or(place)
}

/// The rule of the room that a place is in.
pub async fn of(store: &Store, channel: &str, place: &str) -> Result<RoomRule> {
    const FIND: &str = "SELECT answers, skills, people FROM room_rules WHERE channel = $1 AND room = $2";
    let found: Option<(RoomAnswers, Option<String>, Option<String>)> =
        store.first(FIND, &[channel.into(), room_of(place).into()]).await?;
    Ok(found.map_or_else(RoomRule::default, |(answers, skills, people)| RoomRule {
        answers,
        skills: skills.as_deref().map(names),
        people: people.as_deref().map(names),
    }))
}

/// The rooms that we have conversations in, the latest first: one of these, the channel, and the room.
pub async fn rooms(store: &Store, limit: i64) -> Result<Vec<(ConversationId, String, String)>> {
    // The ids of threads are digits, some with a dot.
    const FIND: &str = "SELECT min(id) AS id, channel, \
         CASE WHEN place LIKE '%/%' THEN rtrim(rtrim(place, '0123456789.'), '/') ELSE place END AS room \
         FROM conversations WHERE shared = 1 GROUP BY 2, 3 ORDER BY max(created_at) DESC, 2, 3 LIMIT $1 + 0";
    store.all(FIND, &[limit.into()]).await
}

/// What can't be read allows nothing.
fn names(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}

pub fn set(batch: &mut Batch, channel: &str, place: &str, rule: &RoomRule) {
    batch.run(
        "INSERT INTO room_rules (channel, room, answers, skills, people) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (channel, room) DO UPDATE SET answers = excluded.answers, skills = excluded.skills, \
         people = excluded.people",
        values! {
            channel, room_of(place), rule.answers,
            rule.skills.as_ref().map(|skills| json!(skills).to_string()),
            rule.people.as_ref().map(|people| json!(people).to_string())
        },
    );
}

/// Gives a room that got another id on its platform the rule that it had, unless it has one by now.
pub fn copy(batch: &mut Batch, channel: &str, from: &str, to: &str) {
    let sql = "INSERT INTO room_rules (channel, room, answers, skills, people) \
        SELECT channel, CAST($3 AS TEXT), answers, skills, people FROM room_rules \
        WHERE channel = $1 AND room = $2 ON CONFLICT (channel, room) DO NOTHING";
    batch.run(sql, [channel.into(), room_of(from).into(), room_of(to).into()]);
}

/// Takes an account, written `CHANNEL:USER`, out of all rules.
pub(super) fn remove_account(batch: &mut Batch, account: &str) {
    if let Some((channel, user)) = account.split_once(':') {
        let sql = "UPDATE room_rules SET people = replace(people, $1, '\"\"') WHERE channel = $2 AND people IS NOT NULL";
        batch.run(sql, [json!(user).to_string().into(), channel.into()]);
    }
}
