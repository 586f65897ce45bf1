//! What `init` has to know of a bot.

use adjutant_chat::{Question, Setup};

/// How a bot is set up.
pub fn setup() -> Setup {
    let steps = ["Write to @BotFather, https://t.me/BotFather: /newbot", "Take the token that it gives you."];
    let token = Question { key: "token", what: "The bot's token", steps: steps.map(str::to_owned).to_vec() };
    Setup {
        platform: "Telegram",
        questions: vec![token],
        own_id: "@userinfobot tells it, https://t.me/userinfobot",
    }
}
