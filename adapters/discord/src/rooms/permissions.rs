//! Pure: who may read a channel of a guild, and what we may do there, by Discord's rules.
//! Source: <https://discord.com/developers/docs/topics/permissions#permission-overwrites>

use serde_json::Value;

/// Allows everything.
const ADMINISTRATOR: u64 = 1 << 3;
/// Source: <https://discord.com/developers/docs/topics/permissions#permissions-bitwise-permission-flags>
const MANAGE_CHANNELS: u64 = 1 << 4;
const MANAGE_GUILD: u64 = 1 << 5;
const VIEW_CHANNEL: u64 = 1 << 10;
const ATTACH_FILES: u64 = 1 << 15;
const READ_MESSAGE_HISTORY: u64 = 1 << 16;
/// Without it a voice channel is closed, its text included.
const CONNECT: u64 = 1 << 20;

/// Types of voice channels.
const VOICE: [u64; 2] = [2, 13];

/// What a person's permissions are asked for: of the guild, the channel, the person's id and roles.
pub(crate) type Permission = fn(&Value, &Value, &str, &[&str]) -> bool;

/// Whether a person with these roles may read a channel; all are Discord's own objects.
pub(crate) fn may_read(guild: &Value, channel: &Value, person: &str, roles: &[&str]) -> bool {
    let is_voice = channel["type"].as_u64().is_none_or(|kind| VOICE.contains(&kind));
    let needed = VIEW_CHANNEL | READ_MESSAGE_HISTORY | if is_voice { CONNECT } else { 0 };
    permissions(guild, channel, person, roles) & needed == needed
}

/// Whether a person with these roles may change a channel or its guild.
pub(crate) fn may_manage(guild: &Value, channel: &Value, person: &str, roles: &[&str]) -> bool {
    permissions(guild, channel, person, roles) & (MANAGE_CHANNELS | MANAGE_GUILD) != 0
}

/// Whether we may attach files in a guild, by the list of our guilds; it doesn't include a channel's overwrites.
pub(crate) fn may_attach(guild: &Value) -> bool {
    let is_given = guild["permissions"].is_string();
    !is_given || guild["owner"] == true || bits(&guild["permissions"]) & (ADMINISTRATOR | ATTACH_FILES) != 0
}

fn permissions(guild: &Value, channel: &Value, person: &str, roles: &[&str]) -> u64 {
    // Missing data must not allow anything: an empty id is nobody's.
    let Some(everyone) = guild["id"].as_str().filter(|_| !person.is_empty()) else { return 0 };
    if guild["owner_id"] == *person {
        return u64::MAX;
    }
    let is_theirs = |id: &Value| id.as_str().is_some_and(|id| id == everyone || roles.contains(&id));
    let own = guild["roles"].as_array().into_iter().flatten().filter(|role| is_theirs(&role["id"]));
    let base = own.fold(0, |all, role| all | bits(&role["permissions"]));
    if base & ADMINISTRATOR != 0 {
        return u64::MAX;
    }
    let overwrites = channel["permission_overwrites"].as_array().map(Vec::as_slice).unwrap_or_default();
    let with = |before: u64, is_it: &dyn Fn(&str, &Value) -> bool| {
        let meant = |one: &&Value| one["id"].as_str().is_some_and(|id| is_it(id, &one["type"]));
        let (denied, allowed) = overwrites
            .iter()
            .filter(meant)
            .fold((0, 0), |(deny, allow), one| (deny | bits(&one["deny"]), allow | bits(&one["allow"])));
        before & !denied | allowed
    };
    // In this order: everyone's, those of all their roles together, their own.
    let base = with(base, &|id, kind| *kind == 0 && id == everyone);
    let base = with(base, &|id, kind| *kind == 0 && id != everyone && roles.contains(&id));
    with(base, &|id, kind| *kind == 1 && id == person)
}

/// Discord writes these numbers as strings.
fn bits(value: &Value) -> u64 {
    value.as_str().and_then(|bits| bits.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const READ: u64 = VIEW_CHANNEL | READ_MESSAGE_HISTORY;

    fn overwrite(id: &str, kind: u8, allow: u64, deny: u64) -> Value {
        json!({"id": id, "type": kind, "allow": allow.to_string(), "deny": deny.to_string()})
    }

    /// In the guild 1 of the owner 9, with the roles 2 and 3, of which everyone has `everyone` and 2 has `two`.
    fn may(everyone: u64, two: u64, overwrites: &[Value], person: &str, roles: &[&str]) -> bool {
        let role = |id: &str, bits: u64| json!({"id": id, "permissions": bits.to_string()});
        let roles_of_guild = [role("1", everyone), role("2", two), role("3", 0)];
        let guild = json!({"id": "1", "owner_id": "9", "roles": roles_of_guild});
        may_read(&guild, &json!({"type": 0, "permission_overwrites": overwrites}), person, roles)
    }

    #[test]
    fn base_permissions_are_everyones_and_those_of_the_roles() {
        assert!(may(READ, 0, &[], "5", &[]));
        assert!(may(0, READ, &[], "5", &["2"]) && !may(0, READ, &[], "5", &["3"]));
        assert!(may(VIEW_CHANNEL, READ_MESSAGE_HISTORY, &[], "5", &["2"]));
        assert!(!may(VIEW_CHANNEL, 0, &[], "5", &["2"]) && !may(READ_MESSAGE_HISTORY, 0, &[], "5", &["2"]));
    }

    #[test]
    fn the_owner_and_administrators_may_all() {
        let closed = [overwrite("1", 0, 0, READ), overwrite("2", 0, 0, READ), overwrite("9", 1, 0, READ)];
        assert!(may(0, 0, &closed, "9", &[]));
        assert!(may(0, ADMINISTRATOR, &closed, "5", &["2"]) && !may(0, ADMINISTRATOR, &closed, "5", &[]));
        // An overwrite makes nobody an administrator.
        assert!(!may(0, 0, &[overwrite("2", 0, ADMINISTRATOR, 0)], "5", &["2"]));
    }

    #[test]
    fn overwrites_count_in_discords_order() {
        let (closed, open) = (overwrite("1", 0, 0, READ), overwrite("1", 0, READ, 0));
        assert!(!may(READ, READ, std::slice::from_ref(&closed), "5", &["2"]));
        assert!(may(0, 0, std::slice::from_ref(&open), "5", &[]));
        // A role's comes behind everyone's, however they are listed.
        for all in
            [[closed.clone(), overwrite("2", 0, READ, 0)], [overwrite("2", 0, READ, 0), closed.clone()]]
        {
            assert!(may(READ, 0, &all, "5", &["2"]) && !may(READ, 0, &all, "5", &["3"]));
        }
        // Of two roles the one that allows counts.
        let both = [overwrite("2", 0, 0, READ), overwrite("3", 0, READ, 0)];
        assert!(may(READ, 0, &both, "5", &["2", "3"]) && !may(READ, 0, &both, "5", &["2"]));
        // One's own comes last.
        let own = [overwrite("5", 1, 0, VIEW_CHANNEL), overwrite("2", 0, READ, 0)];
        assert!(!may(READ, 0, &own, "5", &["2"]) && may(READ, 0, &own, "6", &["2"]));
        let own = [closed, overwrite("2", 0, 0, READ), overwrite("5", 1, READ, 0)];
        assert!(may(READ, 0, &own, "5", &["2"]) && !may(READ, 0, &own, "6", &["2"]));
        // A role and a person may not be taken for one another.
        assert!(!may(0, 0, &[overwrite("5", 0, READ, 0), overwrite("2", 1, READ, 0)], "5", &["2"]));
    }

    #[test]
    fn a_voice_channel_wants_more() {
        let role = json!({"id": "1", "permissions": READ.to_string()});
        let guild = json!({"id": "1", "owner_id": "9", "roles": [role]});
        let may = |kind: Value| may_read(&guild, &json!({"type": kind}), "5", &[]);
        assert!(may(json!(0)) && may(json!(15)) && !may(json!(2)) && !may(json!(13)) && !may(Value::Null));
    }

    #[test]
    fn what_is_not_told_opens_nothing() {
        let channel = json!({"type": 0});
        for guild in [json!(null), json!([]), json!({"id": "1"}), json!({"owner_id": "", "roles": 7})] {
            assert!(!may_read(&guild, &channel, "5", &["2"]), "{guild}");
            assert!(!may_read(&guild, &channel, "", &[]), "{guild}");
        }
        let role = json!({"id": "1", "permissions": u64::MAX});
        assert!(!may_read(&json!({"id": "1", "roles": [role]}), &channel, "5", &[]), "a number is none");
    }

    #[test]
    fn files_are_attached_by_right_or_by_rank() {
        let of = |fields: Value| may_attach(&fields);
        assert!(of(json!({"permissions": "32768"})) && of(json!({"permissions": "8"})));
        assert!(of(json!({"permissions": "0", "owner": true})) && of(json!({})));
        assert!(!of(json!({"permissions": "3072", "owner": false})));
    }
}
