//! What `init` has to know of an app.

use adjutant_chat::{Credential, SetupGuide};
use reqwest::Url;
use serde_json::json;

use crate::check::SCOPES;

/// How an app is set up, with Socket Mode.
pub fn setup() -> SetupGuide {
    let bot_token = [
        format!("Make the app by this link, which fills everything in:\n{}", creation()),
        "Choose the workspace, and press “Install to Workspace”.".to_owned(),
        "Under “OAuth & Permissions”, take the “Bot User OAuth Token”, xoxb-...".to_owned(),
    ];
    let app_token = [
        "Under “Basic Information”, “App-Level Tokens”, generate one.".to_owned(),
        "Add the scope connections:write to it, and take it: xapp-...".to_owned(),
    ];
    SetupGuide {
        platform: "Slack",
        credentials: vec![
            Credential { key: "bot_token", name: "The bot's token", steps: bot_token.to_vec() },
            Credential { key: "app_token", name: "The app's token", steps: app_token.to_vec() },
        ],
        own_id: "“Copy member ID” in your profile, behind the three dots",
    }
}

/// Where an app is made that has all it needs: the manifest of `docs/channels.md`.
/// Source: <https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests#sharing_manifests>
fn creation() -> String {
    let manifest = json!({
        "display_information": {"name": "Adjutant"},
        "features": {
            "app_home": {"messages_tab_enabled": true, "messages_tab_read_only_enabled": false},
            "bot_user": {"display_name": "adjutant", "always_online": true},
            "slash_commands": [{
                "command": "/adjutant",
                "description": "help, new, stop, pause, status, trace, link",
                "usage_hint": "status",
            }],
        },
        "oauth_config": {"scopes": {"bot": SCOPES}},
        "settings": {
            "event_subscriptions": {
                "bot_events":
                    ["app_mention", "message.channels", "message.groups", "message.im", "message.mpim"],
            },
            "interactivity": {"is_enabled": true},
            "socket_mode_enabled": true,
        },
    });
    let parameters = [("new_app", "1"), ("manifest_json", &manifest.to_string())];
    let url = Url::parse_with_params("https://api.slack.com/apps", parameters);
    // A blank is a plus in forms alone.
    url.map(|url| url.as_str().replace('+', "%20")).unwrap_or_default()
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
        assert_eq!(document.lines().filter(|line| line.trim().starts_with("- ")).count(), SCOPES.len() + 6);
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
