//! Setting up a bot, and checking it.

use adjutant_chat::{Credential, Finding, SetupGuide, one_line};
use serenity::http::{LightMethod, Route};

use crate::events::{INTENT_CLOSE, TOKEN_CLOSE};
use crate::rest::{self, ApiError};
use crate::rooms::may_attach;
use crate::{Discord, id_of};

/// What the bot needs on a server: view channels, send messages, also in threads, attach files, read the history, add
/// reactions.
/// Source: <https://discord.com/developers/docs/topics/permissions#permissions-bitwise-permission-flags>
const PERMISSIONS: u64 = 1 << 10 | 1 << 11 | 1 << 38 | 1 << 15 | 1 << 16 | 1 << 6;

/// The application's flags for the Message Content Intent, with and without verification.
/// Source: <https://discord.com/developers/docs/resources/application#application-object-application-flags>
const MESSAGE_CONTENT: u64 = 1 << 18 | 1 << 19;

/// How many servers are checked, which is all that Discord lists at once, and how many are named.
const SERVERS: &str = "200";
const NAMED_SERVERS: usize = 3;

pub fn setup() -> SetupGuide {
    let steps = [
        "Create an application: https://discord.com/developers/applications",
        "Under “Bot”, switch on “Message Content Intent”.",
        "On the same page, press “Reset Token” and copy the token.",
    ];
    let steps = steps.map(str::to_owned).to_vec();
    SetupGuide {
        platform: "Discord",
        credentials: vec![Credential { key: "token", name: "The bot's token", steps }],
        own_id: "switch on “Developer Mode” (settings, “Advanced”), right-click your name, “Copy User ID”",
    }
}

/// The page where a server's administrator adds the bot.
/// Source: <https://discord.com/developers/docs/topics/oauth2#bot-authorization-flow>
fn invitation(application: u64) -> String {
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands\
         &permissions={PERMISSIONS}"
    )
}

impl Discord {
    pub(crate) async fn check_account(&self) -> Vec<Finding> {
        let account = match rest::call(&self.rest, LightMethod::Get, Route::UserMe, None).await {
            Ok(account) => account,
            Err(error) => return vec![self.failed_check(&error)],
        };
        let name = account["username"].as_str().unwrap_or("a bot without a name");
        let mut findings = vec![Finding::ok(format!("logged in as {}", adjutant_chat::sanitized(name)))];
        match rest::call(&self.rest, LightMethod::Get, Route::Oauth2ApplicationCurrent, None).await {
            Ok(application) => {
                let id = id_of(&application);
                findings.extend(id.map(|id| Finding::ok(format!("add it to a server: {}", invitation(id)))));
                if application["flags"].as_u64().is_some_and(|flags| flags & MESSAGE_CONTENT == 0) {
                    let reason = "Message Content Intent is off";
                    findings.push(Finding::error(reason, self.fatal_close(INTENT_CLOSE)));
                }
            }
            Err(error) => findings.push(self.failed_check(&error)),
        }
        findings.extend(self.servers_without_files().await);
        findings
    }

    /// The servers where the bot can't attach files. That is no error: it sends their content as text.
    async fn servers_without_files(&self) -> Option<Finding> {
        let params = vec![("limit", SERVERS.to_owned())];
        let guilds = rest::read(&self.rest, Route::UserMeGuilds, params).await.ok()?;
        let without = guilds.as_array()?.iter().filter(|guild| !may_attach(guild));
        let names: Vec<String> =
            without.map(|guild| format!("“{}”", one_line(guild["name"].as_str().unwrap_or("?")))).collect();
        let named = names.get(..NAMED_SERVERS).unwrap_or(&names).join(", ");
        let more = match names.len().saturating_sub(NAMED_SERVERS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let note = format!(
            "can't attach files on {named}{more}, so long outputs come as messages there; the permission is “Attach \
             Files”"
        );
        (!names.is_empty()).then(|| Finding::ok(note))
    }

    fn failed_check(&self, error: &ApiError) -> Finding {
        let fix = match error {
            ApiError::Token => self.fatal_close(TOKEN_CLOSE),
            _ => format!("check this machine's network and channels.{}.api_url", self.channel),
        };
        Finding::error(error.to_string(), fix)
    }
}
