//! The next step: the line with which `init`, `doctor`, `config check` and `serve` end.

use adjutant_config::{BUILTIN, Config, Kind, Platform};

use crate::service;

/// What a configuration lacks, and what that means. The first is the next to add.
pub(in crate::cli) fn missing(config: &Config) -> Vec<(String, &'static str)> {
    let enabled: Vec<_> = config.channels.iter().filter(|(_, channel)| channel.enabled).collect();
    let bots = enabled.iter().filter(|(_, channel)| !matches!(channel.platform, Platform::Web { .. }));
    let bots: Vec<&str> = bots.map(|(name, _)| name.as_str()).collect();
    let mut owners = config.assistant.owner.iter().filter_map(|owner| owner.split_once(':'));
    let is_owned = owners.any(|(channel, _)| bots.contains(&channel));
    let is_basic = config.model.main.first.provider == BUILTIN;
    let [first, second, third] = Kind::BOTS.map(|(_, kind)| service::setup(kind).platform);
    let all = [
        (
            enabled.is_empty(),
            format!("a chat platform: {first}, {second} or {third}"),
            "it talks only in a terminal",
        ),
        (is_basic, "a language model".to_owned(), "it understands only simple sentences (basic mode)"),
        (
            !bots.is_empty() && !is_owned,
            "an owner".to_owned(),
            "nobody can let people in or use your accounts in a chat",
        ),
    ];
    all.into_iter().filter(|(is_missing, ..)| *is_missing).map(|(_, what, until)| (what, until)).collect()
}

/// The next step of somebody whose configuration has no errors.
pub(in crate::cli) fn step(config: &Config) -> String {
    match missing(config).into_iter().next() {
        Some((what, _)) => format!("Next step: `adjutant init` adds {what}."),
        None => "Next step: `adjutant serve` starts the bot.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use adjutant_config::Env;

    use super::*;

    fn steps(text: &str) -> String {
        let env = Env::made_up([("HOME", "/home/ada")], "/nowhere");
        let config = Config::of_text(text, "config.toml".as_ref(), &env).unwrap();
        let missing = missing(&config).into_iter().map(|(what, until)| format!("{what}; {until}"));
        missing.chain([step(&config)]).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_missing_is_named_in_the_order_in_which_to_add_it() {
        insta::assert_snapshot!(steps("[assistant]\nowner = [\"telegram:1\"]\n"), @"
        a chat platform: Telegram, Discord or Slack; it talks only in a terminal
        a language model; it understands only simple sentences (basic mode)
        Next step: `adjutant init` adds a chat platform: Telegram, Discord or Slack.
        ");
        let model =
            "[model]\nprovider = \"ollama\"\nname = \"qwen3:8b\"\n[channels.telegram]\ntoken = \"1:a\"\n";
        insta::assert_snapshot!(steps(&format!("{model}[assistant]\nowner = [\"console:ada\"]\n")), @"
        an owner; nobody can let people in or use your accounts in a chat
        Next step: `adjutant init` adds an owner.
        ");
        insta::assert_snapshot!(steps(&format!("{model}[assistant]\nowner = [\"telegram:1\"]\n")), @"Next step: `adjutant serve` starts the bot.");
    }
}
