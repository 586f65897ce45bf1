//! The bot's own role: Discord creates one with the bot's name in every guild it joins, and offers it beside the bot
//! when somebody types a mention. To people it is the bot.

use std::collections::HashMap;

use parking_lot::Mutex;
use serenity::http::{LightMethod, Route};
use serenity::model::id::{GuildId, RoleId, UserId};

use crate::receive::MessageContext;
use crate::rest::{self, ApiError};
use crate::{Discord, id_of};

/// The known roles, each with whether it is the bot's own; that never changes.
pub(crate) type Roles = Mutex<HashMap<RoleId, bool>>;

impl Discord {
    /// The bot's own role, if a message mentions it.
    pub(crate) async fn own_role(&self, message: &MessageContext, me: UserId) -> Option<RoleId> {
        for role in &message.mention_roles {
            if self.known_role(*role).is_none()
                && let Err(error) = self.fetch_roles(message, me).await
            {
                tracing::warn!(channel = self.channel, %error, "the roles of a guild could not be read");
                return None;
            }
            if self.known_role(*role) == Some(true) {
                return Some(*role);
            }
        }
        None
    }

    fn known_role(&self, role: RoleId) -> Option<bool> {
        self.roles.lock().get(&role).copied()
    }

    async fn fetch_roles(&self, message: &MessageContext, me: UserId) -> Result<(), ApiError> {
        let guild_id = match message.guild_id {
            Some(guild_id) => guild_id,
            // A message from the history doesn't name its guild.
            None => {
                let route = Route::Channel { channel_id: message.channel_id };
                let channel = rest::call(&self.rest, LightMethod::Get, route, None).await?;
                let guild = channel["guild_id"].as_str().and_then(|id| id.parse().ok()).filter(|id| *id > 0);
                GuildId::new(guild.ok_or(ApiError::Unclear)?)
            }
        };
        let all = rest::call(&self.rest, LightMethod::Get, Route::GuildRoles { guild_id }, None).await?;
        let me = me.to_string();
        let mut roles = self.roles.lock();
        // MessageContext roles that no longer exist aren't fetched again.
        roles.extend(message.mention_roles.iter().map(|role| (*role, false)));
        for role in all.as_array().into_iter().flatten() {
            if let Some(id) = id_of(role) {
                roles.insert(RoleId::new(id), role["tags"]["bot_id"] == *me);
            }
        }
        Ok(())
    }
}
