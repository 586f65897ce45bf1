//! What `init` has to know of a bot.

use adjutant_chat::{Credential, SetupGuide};

/// How a bot is set up.
pub fn setup() -> SetupGuide {
    let steps = ["Write to @BotFather, https://t.me/BotFather: /newbot", "Take the token that it gives you."];
    let token =
        Credential { key: "token", name: "The bot's token", steps: steps.map(str::to_owned).to_vec() };
    SetupGuide {
        platform: "Telegram",
        credentials: vec![token],
        own_id: "@userinfobot tells it, https://t.me/userinfobot",
    }
}
