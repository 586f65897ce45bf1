//! What `doctor` has to know of a bot.

use adjutant_chat::{Finding, one_line};
use serenity::http::{LightMethod, Route};

use crate::Discord;
use crate::listen::{INTENT_CLOSE, TOKEN_CLOSE};
use crate::permissions::may_attach;
use crate::rest::{self, CallError};
use crate::setup::invitation;

/// The application's flags that stand for the Message Content Intent, with and without verification.
/// Source: <https://discord.com/developers/docs/resources/application#application-object-application-flags>
const MESSAGE_CONTENT: u64 = 1 << 18 | 1 << 19;

/// So many servers are asked for, which is all that Discord tells of at once, and so many are named.
const MOST: &str = "200";
const NAMED: usize = 3;

impl Discord {
    pub(crate) async fn look(&self) -> Vec<Finding> {
        let account = match rest::call(&self.http, LightMethod::Get, Route::UserMe, None).await {
            Ok(account) => account,
            Err(error) => return vec![self.trouble(&error)],
        };
        let name = account["username"].as_str().unwrap_or("a bot without a name");
        let mut findings = vec![Finding::ok(format!("logged in as {}", adjutant_chat::sanitized(name)))];
        match rest::call(&self.http, LightMethod::Get, Route::Oauth2ApplicationCurrent, None).await {
            Ok(application) => {
                if let Some(id) = crate::id_of(&application) {
                    findings.push(Finding::ok(format!("add it to a server: {}", invitation(id))));
                }
                if application["flags"].as_u64().is_some_and(|flags| flags & MESSAGE_CONTENT == 0) {
                    findings.push(Finding::error("Message Content Intent is off", self.mend(INTENT_CLOSE)));
                }
            }
            Err(error) => findings.push(self.trouble(&error)),
        }
        findings.extend(self.without_files().await);
        findings
    }

    /// The servers that let the bot attach no files. That is no fault: what would be in them is said instead.
    async fn without_files(&self) -> Option<Finding> {
        let params = vec![("limit", MOST.to_owned())];
        let guilds = rest::read(&self.http, Route::UserMeGuilds, params).await.ok()?;
        let without = guilds.as_array()?.iter().filter(|guild| !may_attach(guild));
        let names: Vec<String> =
            without.map(|guild| format!("“{}”", one_line(guild["name"].as_str().unwrap_or("?")))).collect();
        let named = names.get(..NAMED).unwrap_or(&names).join(", ");
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and on {more} more"),
        };
        let note = format!(
            "it may not attach files on {named}{more}, so long outputs come as messages there (the permission is \
             “Attach Files”)"
        );
        (!names.is_empty()).then(|| Finding::ok(note))
    }

    fn trouble(&self, error: &CallError) -> Finding {
        let mend = match error {
            CallError::Token => self.mend(TOKEN_CLOSE),
            _ => format!("check this machine's network and channels.{}.api_url", self.channel),
        };
        Finding::error(error.to_string(), mend)
    }
}
