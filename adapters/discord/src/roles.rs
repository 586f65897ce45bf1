//! The bot's own role: Discord makes one in every guild that a bot joins, of the same name, and offers it
//! beside the bot when somebody types a mention. To people it is the bot.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serenity::http::{LightMethod, Route};
use serenity::model::id::{GuildId, RoleId, UserId};

use crate::receive::Mentioned;
use crate::rest::{self, CallError};
use crate::{Discord, id_of};

/// Roles that were mentioned or stand beside such, each with whether it is the bot's own; that never changes.
pub(crate) type Roles = Mutex<HashMap<RoleId, bool>>;

impl Discord {
    /// Which of the roles that a message mentions is the bot's own.
    pub(crate) async fn own_role(&self, mentioned: &Mentioned, me: UserId) -> Option<RoleId> {
        for role in &mentioned.mention_roles {
            if self.known_role(*role).is_none()
                && let Err(error) = self.learn_roles(mentioned, me).await
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
        self.roles.lock().unwrap_or_else(PoisonError::into_inner).get(&role).copied()
    }

    /// Reads the roles of the guild that a message was said in.
    async fn learn_roles(&self, mentioned: &Mentioned, me: UserId) -> Result<(), CallError> {
        let guild_id = match mentioned.guild_id {
            Some(guild_id) => guild_id,
            // A message that is read later does not tell its guild.
            None => {
                let route = Route::Channel { channel_id: mentioned.channel_id };
                let channel = rest::call(&self.http, LightMethod::Get, route, None).await?;
                let guild = channel["guild_id"].as_str().and_then(|id| id.parse().ok()).filter(|id| *id > 0);
                GuildId::new(guild.ok_or(CallError::Unclear)?)
            }
        };
        let all = rest::call(&self.http, LightMethod::Get, Route::GuildRoles { guild_id }, None).await?;
        let me = me.to_string();
        let mut roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that are mentioned and are no longer there are not asked for again.
        roles.extend(mentioned.mention_roles.iter().map(|role| (*role, false)));
        for role in all.as_array().into_iter().flatten() {
            if let Some(id) = id_of(role) {
                roles.insert(RoleId::new(id), role["tags"]["bot_id"] == *me);
            }
        }
        Ok(())
    }
}
