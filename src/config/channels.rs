//! `[channels.NAME]`: the platforms on which people may speak to the assistant.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::Secret;
use super::fault::suggestion;
use super::read::{Reading, Section, text};
use super::secret::secret;

/// A platform, with the keys that it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Telegram.
    Telegram,
    /// Discord.
    Discord,
}

impl Kind {
    const ALL: [(&'static str, Self); 2] = [("discord", Self::Discord), ("telegram", Self::Telegram)];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    fn api_url(self) -> &'static str {
        match self {
            Self::Telegram => "https://api.telegram.org",
            Self::Discord => "https://discord.com",
        }
    }
}

/// One connected account of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    /// Its platform.
    pub kind: Kind,
    /// Whether it is to be connected.
    pub enabled: bool,
    /// The bot's token.
    pub token: Secret,
    /// The server; the platform's own unless another one speaks its protocol.
    pub api_url: String,
    /// The platform's ids of those who may speak; `*` is everyone.
    pub allow: Vec<String>,
}

/// Reads `[channels]`: a channel for each name.
pub(super) fn read(section: &mut Section<'_>) -> BTreeMap<String, ChannelConfig> {
    section.sections(channel).into_iter().filter_map(|(name, channel)| Some((name, channel?))).collect()
}

fn channel(name: &str, section: &mut Section<'_>) -> Option<ChannelConfig> {
    let kind = section.get("kind", kind);
    let kind = match (kind, Kind::named(name)) {
        (Some(kind), _) | (None, Some(kind)) => Some(kind),
        (None, None) => {
            if !section.has("kind") {
                let problem = format!("missing: say which platform {name:?} is, such as kind = \"telegram\"");
                section.fault("kind", problem);
            }
            None
        }
    };
    let mut enabled = true;
    section.set("enabled", &mut enabled, super::read::flag);
    // The secret of a channel that is off need not be there.
    let token = match enabled {
        true => section.get("token", secret),
        false => section.get("token", |_, _| Ok(Secret::new(String::new()))),
    };
    if !section.has("token") && section.is_whole() {
        section.fault("token", "missing: the bot's token, such as { env = \"TELEGRAM_BOT_TOKEN\" }");
    }
    let api_url = section.get("api_url", server);
    let allow = section.list("allow", text);
    let (kind, token) = (kind?, token?);
    let api_url = api_url.unwrap_or_else(|| kind.api_url().to_owned());
    Some(ChannelConfig { kind, enabled, token, api_url, allow })
}

fn kind(value: &DeValue<'_>, reading: &Reading<'_>) -> Result<Kind, String> {
    let name = text(value, reading)?;
    let known: Vec<&str> = Kind::ALL.iter().map(|(known, _)| *known).collect();
    Kind::named(&name).ok_or_else(|| format!("unknown platform {name:?}; {}", suggestion(&name, &known)))
}

fn server(value: &DeValue<'_>, reading: &Reading<'_>) -> Result<String, String> {
    let url = text(value, reading)?;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(format!("{url:?} must begin with https:// or http://"));
    }
    if url.contains('@') {
        return Err("must not hold a user or password".to_owned());
    }
    Ok(url.trim_end_matches('/').to_owned())
}
