//! What `init` has to know of a bot.

use adjutant_chat::{Credential, SetupGuide};

/// What the bot may do on a server: view channels, send messages, also in threads, attach
/// files, read the history.
/// Source: <https://discord.com/developers/docs/topics/permissions#permissions-bitwise-permission-flags>
const PERMISSIONS: u64 = 1 << 10 | 1 << 11 | 1 << 38 | 1 << 15 | 1 << 16;

/// How a bot is set up.
pub fn setup() -> SetupGuide {
    let steps = [
        "Make an application: https://discord.com/developers/applications",
        "Under “Bot”, switch on “Message Content Intent”.",
        "There, press “Reset Token” and take the token.",
    ];
    let token =
        Credential { key: "token", name: "The bot's token", steps: steps.map(str::to_owned).to_vec() };
    SetupGuide {
        platform: "Discord",
        credentials: vec![token],
        own_id: "with “Developer Mode” on (settings, “Advanced”), right-click your name, “Copy User ID”",
    }
}

/// Where somebody who may, adds the bot to a server.
/// Source: <https://discord.com/developers/docs/topics/oauth2#bot-authorization-flow>
pub(crate) fn invitation(application: u64) -> String {
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands\
         &permissions={PERMISSIONS}"
    )
}
