//! Setting up an app, and checking it.

use std::collections::BTreeSet;

use adjutant_chat::{COMMANDS, Credential, Finding, SetupGuide, sanitized};
use reqwest::Url;
use serde_json::json;

use crate::Slack;
use crate::events::Disconnect;
use crate::web_api::ApiError;

/// The scopes that the bot's token needs; `docs/channels.md` has the same list.
const SCOPES: [&str; 16] = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "users:read",
];

/// Apps made from an older manifest lack these and work without them, but not quite as well.
const OPTIONAL: [(&str, &str); 3] = [
    ("files:write", "long outputs come as messages instead of files"),
    ("reactions:read", "👍 and 👎 aren't read"),
    ("reactions:write", "messages get no 👀"),
];

/// The header with a token's scopes. Source: <https://docs.slack.dev/authentication/>
const SCOPES_HEADER: &str = "x-oauth-scopes";

/// How to set up an app with Socket Mode.
pub fn setup() -> SetupGuide {
    let bot_token = [
        format!("Create the app with this link, which fills everything in:\n{}", creation()),
        "Choose the workspace and press “Install to Workspace”.".to_owned(),
        "Under “OAuth & Permissions”, copy the “Bot User OAuth Token”, xoxb-...".to_owned(),
    ];
    let app_token = [
        "Under “Basic Information”, “App-Level Tokens”, generate a token.".to_owned(),
        "Add the scope connections:write to it and copy it: xapp-...".to_owned(),
    ];
    SetupGuide {
        platform: "Slack",
        credentials: vec![
            Credential { key: "bot_token", name: "The bot's token", steps: bot_token.to_vec() },
            Credential { key: "app_token", name: "The app's token", steps: app_token.to_vec() },
        ],
        own_id: "in your profile, under the three dots, “Copy member ID”",
    }
}

/// The page that creates the app from the manifest of `docs/channels.md`.
/// Source: <https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests#sharing_manifests>
fn creation() -> String {
    let manifest = json!({
        "display_information": {"name": "Adjutant"},
        "features": {
            "app_home": {"messages_tab_enabled": true, "messages_tab_read_only_enabled": false},
            "bot_user": {"display_name": "adjutant", "always_online": true},
            "slash_commands": [{
                "command": "/adjutant",
                "description": COMMANDS.map(|command| command.name).join(", "),
                "usage_hint": "status",
            }],
        },
        "oauth_config": {"scopes": {"bot": SCOPES}},
        "settings": {
            "event_subscriptions": {
                "bot_events": [
                    "app_mention", "message.channels", "message.groups", "message.im", "message.mpim", "reaction_added",
                    "reaction_removed",
                ],
            },
            "interactivity": {"is_enabled": true},
            "socket_mode_enabled": true,
        },
    });
    let parameters = [("new_app", "1"), ("manifest_json", &manifest.to_string())];
    let url = Url::parse_with_params("https://api.slack.com/apps", parameters);
    // A space is a plus only in forms.
    url.map(|url| url.as_str().replace('+', "%20")).unwrap_or_default()
}

impl Slack {
    pub(crate) async fn check_account(&self) -> Vec<Finding> {
        let account = match self.bot.read("auth.test", &[]).await {
            Ok(account) => account,
            Err(error) => return vec![self.failed_check("bot_token", error)],
        };
        let text = |key: &str| sanitized(account[key].as_str().unwrap_or("?")).into_owned();
        let (team, user) = (text("team"), text("user"));
        let who = format!("logged in to {team} as {user}; `/invite @{user}` adds it to a channel");
        let mut findings = vec![Finding::ok(who)];
        let missing = self.missing_scopes().await;
        let fix = |them: &str| {
            format!(
                "add {them} on the app's page at api.slack.com/apps, under “OAuth & Permissions”, “Bot Token Scopes”, \
                 reinstall the app, and if the token has changed, set channels.{}.bot_token to the new one",
                self.channel
            )
        };
        let (optional, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|scope| OPTIONAL.iter().any(|(one, _)| one == scope));
        if !missing.is_empty() {
            let reason = format!("the bot lacks the scopes {}", missing.join(", "));
            findings.push(Finding::error(reason, fix("them")));
        }
        for (scope, effect) in OPTIONAL.iter().filter(|(one, _)| optional.contains(one)) {
            let reason = format!("the bot lacks the scope {scope}; {effect}");
            findings.push(Finding::warning(reason, fix("it")));
        }
        if let Some(app) = &self.app
            && let Err(error) = app.call("apps.connections.open", &json!({})).await
        {
            findings.push(self.failed_check("app_token", error));
        }
        findings
    }

    /// Empty, too, if Slack doesn't say.
    async fn missing_scopes(&self) -> Vec<&'static str> {
        let url = format!("{}/auth.test", self.api_url.as_str().trim_end_matches('/'));
        let Ok(client) = self.plain_client().await else { return Vec::new() };
        let Ok(answer) = client.get(url).bearer_auth(self.bot.token()).send().await else {
            return Vec::new();
        };
        let scopes = answer.headers().get(SCOPES_HEADER).and_then(|value| value.to_str().ok());
        let Some(scopes) = scopes else { return Vec::new() };
        let granted: BTreeSet<&str> = scopes.split(',').map(str::trim).collect();
        SCOPES.into_iter().filter(|scope| !granted.contains(scope)).collect()
    }

    fn failed_check(&self, key: &str, error: ApiError) -> Finding {
        let reason = error.to_string();
        match self.disconnect(key, error) {
            Disconnect::Fatal(fix) => Finding::error(reason, fix),
            Disconnect::Retry(_) => {
                let fix = format!("check this machine's network and channels.{}.api_url", self.channel);
                Finding::error(reason, fix)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_makes_the_app_of_the_document() {
        let url = Url::parse(&creation()).unwrap();
        let manifest = url.query_pairs().find(|(key, _)| key == "manifest_json").unwrap().1;
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        let mut words = Vec::new();
        leaves(&manifest, &mut words);
        assert!(words.len() > 20, "{words:?}");
        let document = include_str!("../../../docs/channels.md");
        let document = document.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
        let missing: Vec<_> = words.iter().filter(|word| !document.contains(word.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(document.lines().filter(|line| line.trim().starts_with("- ")).count(), SCOPES.len() + 8);
    }

    fn leaves(value: &serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    into.push(key.clone());
                    leaves(value, into);
                }
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| leaves(value, into)),
            serde_json::Value::String(text) => into.push(text.clone()),
            _ => {}
        }
    }
}
