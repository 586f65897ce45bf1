//! Setting up a bot, and checking it.

use adjutant_chat::{Credential, Finding, SetupGuide};
use serde::Deserialize;
use teloxide::payloads::{GetMe, GetWebhookInfo};

use crate::Telegram;
use crate::api::ApiError;

pub fn setup() -> SetupGuide {
    let steps = ["Send /newbot to @BotFather, https://t.me/BotFather", "Copy the token that it gives you."];
    let steps = steps.map(str::to_owned).to_vec();
    SetupGuide {
        platform: "Telegram",
        credentials: vec![Credential { key: "token", name: "The bot's token", steps }],
        own_id: "ask @userinfobot, https://t.me/userinfobot",
    }
}

#[derive(Deserialize)]
struct Account {
    username: Option<String>,
}

#[derive(Deserialize)]
struct Webhook {
    url: String,
    #[serde(default)]
    pending_update_count: u64,
}

impl Telegram {
    pub(crate) async fn check_account(&self) -> Vec<Finding> {
        let account: Account = match self.api.call(&GetMe::new()).await {
            Ok(account) => account,
            Err(error) if error.is_wrong_token() => {
                let why = self.wrong_token();
                let (reason, fix) = why.split_once(". ").unwrap_or((why.as_str(), ""));
                return vec![Finding::error(reason, fix)];
            }
            Err(error) => return vec![self.failed_check(&error)],
        };
        let who = match &account.username {
            Some(name) => {
                let name = adjutant_chat::sanitized(name);
                format!("logged in as @{name}; write to it at https://t.me/{name}")
            }
            None => "logged in as a bot without a name".to_owned(),
        };
        let mut findings = vec![Finding::ok(who)];
        match self.api.call::<Webhook>(&GetWebhookInfo::new()).await {
            Ok(hook) if !hook.url.is_empty() => findings.push(Finding::warning(
                "another program has set a webhook for this bot",
                "if that program is still in use, give each program its own bot; otherwise `adjutant serve` removes the \
                 webhook",
            )),
            Ok(hook) if hook.pending_update_count > 0 => findings.push(Finding::ok(format!(
                "{} updates are waiting at Telegram",
                hook.pending_update_count
            ))),
            Ok(_) => {}
            Err(error) => findings.push(self.failed_check(&error)),
        }
        findings
    }

    fn failed_check(&self, error: &ApiError) -> Finding {
        let fix = format!("check this machine's network and channels.{}.api_url", self.channel);
        Finding::error(error.to_string(), fix)
    }
}
