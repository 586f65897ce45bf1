//! The people of a guild or of a direct conversation.

use adjutant_chat::{Profile, one_line};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use serenity::http::Route;
use serenity::model::id::{ChannelId, UserId};

use super::{guild_of, if_exists};
use crate::receive::Account;
use crate::rest::{self, ApiError};
use crate::{Discord, id_of};

/// The most people that are returned for a name.
const MAX_PEOPLE: usize = 20;

/// The longest name that is searched for, in characters.
const MAX_LENGTH: usize = 100;

/// A member of a guild; elsewhere there is only the account.
/// Source: <https://discord.com/developers/docs/resources/guild#guild-member-object>
#[derive(Deserialize)]
struct Member {
    user: Account,
    nick: Option<String>,
    #[serde(default)]
    roles: Vec<String>,
    joined_at: Option<String>,
}

impl Discord {
    pub(super) async fn find_people(&self, place: ChannelId, query: &str) -> Result<Vec<Profile>, ApiError> {
        let mention = query.strip_prefix("<@").and_then(|inner| inner.strip_suffix('>'));
        let id = mention.map_or(query.trim_start_matches('@'), |inner| inner.trim_start_matches('!'));
        let id = id.parse().ok().filter(|id| *id > 0).map(UserId::new);
        let name: String = query.trim_start_matches('@').to_lowercase().chars().take(MAX_LENGTH).collect();
        if id.is_none() && (name.is_empty() || mention.is_some()) {
            return Ok(Vec::new());
        }
        let channel = self.get(Route::Channel { channel_id: place }).await?;
        let Some(guild_id) = guild_of(&channel) else {
            let recipients = channel["recipients"].as_array().into_iter().flatten();
            let accounts = recipients.filter_map(|one| Account::deserialize(one).ok());
            let is_it = |one: &Account| Some(one.id) == id || is_called(one, None, &name);
            let alone = |user| Member { user, nick: None, roles: Vec::new(), joined_at: None };
            return Ok(accounts.filter(is_it).map(|one| profile(alone(one), &Value::Null)).collect());
        };
        let members = match id {
            Some(user_id) => {
                let member = if_exists(self.get(Route::GuildMember { guild_id, user_id }).await)?;
                member.into_iter().collect()
            }
            None => {
                // This finds names and nicknames that begin with the query. The library doesn't encode it.
                let query = utf8_percent_encode(&name, NON_ALPHANUMERIC).to_string();
                let params = vec![("query", query), ("limit", MAX_PEOPLE.to_string())];
                let found = rest::read(&self.rest, Route::GuildMembersSearch { guild_id }, params).await?;
                found.as_array().cloned().ok_or(ApiError::Unclear)?
            }
        };
        let mut members: Vec<Member> = members
            .into_iter()
            .filter_map(|member| Member::deserialize(member).ok())
            .take(MAX_PEOPLE)
            .collect();
        let is_exact = |member: &Member| is_called(&member.user, member.nick.as_deref(), &name);
        if members.iter().any(is_exact) {
            members.retain(is_exact);
        }
        if members.is_empty() {
            return Ok(Vec::new());
        }
        let roles = self.get(Route::GuildRoles { guild_id }).await?;
        Ok(members.into_iter().map(|member| profile(member, &roles)).collect())
    }
}

/// Whether this name, in lower case, is one of theirs.
fn is_called(account: &Account, nick: Option<&str>, name: &str) -> bool {
    [account.name(), &account.username].into_iter().chain(nick).any(|one| one.to_lowercase() == name)
}

fn profile(member: Member, roles: &Value) -> Profile {
    let Member { user, nick, roles: own, joined_at } = member;
    let is_own = |role: &&Value| id_of(role).is_some_and(|id| own.contains(&id.to_string()));
    let roles = roles.as_array().into_iter().flatten().filter(is_own);
    let roles: Vec<&str> = roles.filter_map(|role| role["name"].as_str()).collect();
    let name = one_line(nick.as_deref().unwrap_or(user.name()));
    let day = joined_at.as_deref().and_then(|at| at.get(..10)).unwrap_or_default();
    let facts = [
        ("user name", one_line(&user.username)),
        ("nickname", one_line(&nick.unwrap_or_default())),
        ("in the server since", one_line(day)),
        ("roles", one_line(&roles.join(", "))),
        ("account", if user.bot { "a bot's".to_owned() } else { String::new() }),
    ];
    Profile::new(user.id.to_string(), name, facts)
}
