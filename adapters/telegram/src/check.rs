//! What `doctor` has to know of a bot.

use adjutant_chat::Finding;
use serde::Deserialize;
use teloxide::payloads::{GetMe, GetWebhookInfo};

use crate::Telegram;
use crate::api::Failure;

#[derive(Deserialize)]
struct Me {
    username: Option<String>,
}

#[derive(Deserialize)]
struct Webhook {
    url: String,
    #[serde(default)]
    pending_update_count: u64,
}

impl Telegram {
    pub(crate) async fn look(&self) -> Vec<Finding> {
        let me: Me = match self.api.call(&GetMe::new()).await {
            Ok(me) => me,
            Err(failure) if failure.is_wrong_token() => {
                return vec![Finding::error("Telegram does not know the token", self.wrong_token())];
            }
            Err(failure) => return vec![self.trouble(&failure)],
        };
        let who = match &me.username {
            Some(name) => {
                let name = adjutant_chat::sanitized(name);
                format!("logged in as @{name}; people write to it at https://t.me/{name}")
            }
            None => "logged in as a bot without a name".to_owned(),
        };
        let mut findings = vec![Finding::ok(who)];
        match self.api.call::<Webhook>(&GetWebhookInfo::new()).await {
            Ok(hook) if !hook.url.is_empty() => findings.push(Finding::warning(
                "another program has set a webhook for this bot",
                "nothing, if that program is out of use: `adjutant serve` takes the webhook away; else give each \
                 program a bot of its own",
            )),
            Ok(hook) if hook.pending_update_count > 0 => findings.push(Finding::ok(format!(
                "{} updates wait at Telegram to be received",
                hook.pending_update_count
            ))),
            Ok(_) => {}
            Err(failure) => findings.push(self.trouble(&failure)),
        }
        findings
    }

    fn trouble(&self, failure: &Failure) -> Finding {
        let mend = format!("check this machine's network and channels.{}.api_url", self.channel);
        Finding::error(failure.to_string(), mend)
    }
}
