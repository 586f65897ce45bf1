//! What people do with messages that only they see.

use serde_json::json;

use super::world::{RESPONSES, TEAM, World};

impl World {
    /// A press below a message that only this person sees.
    pub(super) fn press_private(&mut self, person: &str, place: &str, button: &str, web: &str) -> String {
        let (user, id, ts) = (self.person(person), self.new_id(), self.new_ts());
        let channel = place.split('/').next().unwrap_or(place).to_owned();
        let action =
            json!({"type": "button", "action_id": button, "value": button, "action_ts": self.new_ts()});
        let container =
            json!({"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": true});
        self.responses.insert(id.to_string(), (user.clone(), place.to_owned(), 5));
        self.tell("interactive", json!({
            "type": "block_actions", "user": {"id": user, "username": person, "name": person, "team_id": TEAM},
            "api_app_id": "A0FAKE", "team": {"id": TEAM, "domain": "fake"}, "container": container,
            "channel": {"id": channel, "name": "some"}, "trigger_id": id.to_string(), "actions": [action],
            "response_url": format!("{web}{RESPONSES}{id}"),
        }))
    }
}
