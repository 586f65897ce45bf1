//! What `doctor` has to know of an app.

use std::collections::BTreeSet;

use adjutant_chat::{Finding, sanitized};
use serde_json::json;

use crate::Slack;
use crate::api::CallError;
use crate::connect::End;

/// What the bot's token must allow; `docs/channels.md` has the same list.
pub(crate) const SCOPES: [&str; 14] = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    FOR_FILES,
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "mpim:history",
    "mpim:read",
    "users:read",
];

/// Apps that were made from an older manifest lack it, and do well without.
const FOR_FILES: &str = "files:write";

/// In which header Slack tells what a token allows. Source: <https://docs.slack.dev/authentication/>
const SCOPES_HEADER: &str = "x-oauth-scopes";

impl Slack {
    pub(crate) async fn look(&self) -> Vec<Finding> {
        let account = match self.bot.read("auth.test", &[]).await {
            Ok(account) => account,
            Err(error) => return vec![self.trouble("bot_token", error)],
        };
        let text = |key: &str| sanitized(account[key].as_str().unwrap_or("?")).into_owned();
        let (team, user) = (text("team"), text("user"));
        let who = format!("logged in to {team} as {user}; `/invite @{user}` brings it into a channel");
        let mut findings = vec![Finding::ok(who)];
        let missing = self.missing_scopes().await;
        let mend = |them: &str| {
            format!(
                "add {them} on the app's page at api.slack.com/apps, under “OAuth & Permissions”, “Bot Token Scopes”, \
                 install the app again, and set channels.{}.bot_token to the new token if there is one",
                self.channel
            )
        };
        let (for_files, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|scope| *scope == FOR_FILES);
        if !missing.is_empty() {
            let reason = format!("the bot lacks the scopes {}", missing.join(", "));
            findings.push(Finding::error(reason, mend("them")));
        }
        if !for_files.is_empty() {
            let reason =
                "the bot lacks the scope files:write; long outputs come as messages instead of files";
            findings.push(Finding::warning(reason, mend("it")));
        }
        if let Some(app) = &self.app
            && let Err(error) = app.call("apps.connections.open", &json!({})).await
        {
            findings.push(self.trouble("app_token", error));
        }
        findings
    }

    /// None either when Slack does not tell.
    async fn missing_scopes(&self) -> Vec<&'static str> {
        let url = format!("{}/auth.test", self.api_url.as_str().trim_end_matches('/'));
        let Ok(client) = self.plain_client().await else { return Vec::new() };
        let Ok(answer) = client.get(url).bearer_auth(self.bot.token()).send().await else {
            return Vec::new();
        };
        let told = answer.headers().get(SCOPES_HEADER).and_then(|value| value.to_str().ok());
        let Some(told) = told else { return Vec::new() };
        let granted: BTreeSet<&str> = told.split(',').map(str::trim).collect();
        SCOPES.into_iter().filter(|scope| !granted.contains(scope)).collect()
    }

    fn trouble(&self, key: &str, error: CallError) -> Finding {
        let reason = error.to_string();
        match self.end(key, error) {
            End::Final(mend) => Finding::error(reason, mend),
            End::Cut(_) => {
                let mend = format!("check this machine's network and channels.{}.api_url", self.channel);
                Finding::error(reason, mend)
            }
        }
    }
}
