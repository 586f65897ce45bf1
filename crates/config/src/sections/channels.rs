//! `[channels.NAME]`: the chat platforms to connect to.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::Secret;
use crate::document::Node;
use crate::error::suggestion;
use crate::read::{ConfigReader, Section, address, text};
use crate::secret::secret;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Telegram,
    Discord,
    Slack,
    /// Our own web page.
    Web,
}

impl Kind {
    /// The platforms on which the assistant is a bot, with their names in the configuration.
    pub const BOTS: [(&'static str, Self); 3] =
        [("telegram", Self::Telegram), ("discord", Self::Discord), ("slack", Self::Slack)];
    /// Every kind of channel with its name in the configuration.
    pub const ALL: [(&'static str, Self); 4] =
        [Self::BOTS[0], Self::BOTS[1], Self::BOTS[2], ("web", Self::Web)];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(spelling, _)| *spelling == name).map(|(_, kind)| *kind)
    }

    fn api_url(self) -> &'static str {
        match self {
            Self::Telegram => "https://api.telegram.org",
            Self::Discord => "https://discord.com",
            Self::Slack => "https://slack.com/api",
            Self::Web => "",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Platform {
    Telegram(Secret),
    Discord(Secret),
    /// Slack, with at least one of `app_token` and `signing_secret`.
    Slack {
        bot_token: Secret,
        /// The app's token, for Socket Mode.
        app_token: Option<Secret>,
        /// Signs Slack's requests to our HTTP endpoint.
        signing_secret: Option<Secret>,
    },
    Web {
        listen: SocketAddr,
        /// The address that people open, without a slash at its end.
        public_url: String,
        /// The hosts of push services that may be in our own network, and without TLS.
        push_hosts: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    pub platform: Platform,
    pub enabled: bool,
    /// The API server: the platform's own, or another with the same protocol.
    pub api_url: String,
    /// The platform's ids of those who may talk to the assistant; `*` is everyone.
    pub allow: Vec<String>,
}

pub(crate) fn read(section: &mut Section<'_>) -> BTreeMap<String, ChannelConfig> {
    let channels = section.sections(channel).into_iter();
    let channels: BTreeMap<_, _> = channels.filter_map(|(name, channel)| Some((name, channel?))).collect();
    let is_page = |(_, channel): &(&String, &ChannelConfig)| matches!(channel.platform, Platform::Web { .. });
    if let Some((name, _)) = channels.iter().filter(is_page).nth(1) {
        section.problem(name, "there can be only one web page");
    }
    channels
}

fn channel(name: &str, section: &mut Section<'_>) -> Option<ChannelConfig> {
    let kind = section.get("kind", kind).or(Kind::named(name));
    if kind.is_none() && !section.has("kind") {
        let problem = format!("missing: say which platform {name:?} is, such as kind = \"telegram\"");
        section.problem("kind", problem);
    }
    let enabled = section.get("enabled", crate::read::flag).unwrap_or(true);
    if kind == Some(Kind::Web) {
        // Sessions decide who may read and write there.
        let (platform, allow) = (web(section)?, vec!["*".to_owned()]);
        return Some(ChannelConfig { platform, enabled, api_url: String::new(), allow });
    }
    let platform = match kind {
        Some(Kind::Telegram) => token(section, enabled).map(Platform::Telegram),
        Some(Kind::Discord) => token(section, enabled).map(Platform::Discord),
        Some(Kind::Slack) => slack(section, enabled),
        // It was read above.
        Some(Kind::Web) => None,
        // Its keys aren't known, so none is reported as unknown.
        None => {
            for key in ["token", "bot_token", "app_token", "signing_secret"] {
                section.get(key, |_, _| Ok(()));
            }
            None
        }
    };
    let api_url = section.get("api_url", server);
    let allow = section.list("allow", text);
    let api_url = api_url.unwrap_or_else(|| kind.map(Kind::api_url).unwrap_or_default().to_owned());
    Some(ChannelConfig { platform: platform?, enabled, api_url, allow })
}

/// Anything but this machine needs https, which ends in a proxy in front of us.
fn web(section: &mut Section<'_>) -> Option<Platform> {
    let address = section.get("listen", listen).unwrap_or(WEB_LISTEN);
    let public_url = section.get("public_url", public_url);
    let push_hosts = section.list("push_hosts", text);
    if !address.ip().is_loopback() && !section.has("public_url") {
        let problem = format!(
            "{address} can be reached from other machines, so people must come by https: set public_url = \
             \"https://...\" and put a proxy with TLS in front, or listen on 127.0.0.1"
        );
        section.problem("listen", problem);
        return None;
    }
    let is_public = section.has("public_url");
    if is_public && public_url.is_none() {
        return None;
    }
    let url = public_url.unwrap_or_else(|| format!("http://{address}"));
    if !address.ip().is_loopback() && !url.starts_with("https://") {
        section.problem(
            "public_url",
            format!("must begin with https://, because {address} can be reached from other machines"),
        );
        return None;
    }
    Some(Platform::Web { listen: address, public_url: url, push_hosts })
}

/// The default of `[channels.web] listen`.
const WEB_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8090);

fn listen(value: &Node, reader: &ConfigReader<'_>) -> Result<SocketAddr, String> {
    let text = text(value, reader)?;
    text.parse().map_err(|_| format!("{text:?} must be ADDRESS:PORT, such as \"127.0.0.1:8090\""))
}

fn public_url(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let (_, url) = address(value, reader, "https://assistant.example.org", "the page has no passwords")?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err("must have nothing behind the host: the page needs a name of its own".to_owned());
    }
    Ok(url.origin().ascii_serialization())
}

fn token(section: &mut Section<'_>, enabled: bool) -> Option<Secret> {
    needed(section, "token", "the bot's token, such as { env = \"TELEGRAM_BOT_TOKEN\" }", enabled)
}

fn slack(section: &mut Section<'_>, enabled: bool) -> Option<Platform> {
    if section.has("token") {
        section.get("token", |_, _| Ok(()));
        section.problem("token", "Slack has several tokens; put the bot's token in bot_token");
    }
    let bot_token = "the bot's token (xoxb-...), such as { env = \"SLACK_BOT_TOKEN\" }";
    let bot_token = needed(section, "bot_token", bot_token, enabled);
    let app_token = wanted(section, "app_token", enabled);
    let signing_secret = wanted(section, "signing_secret", enabled);
    if !section.has("app_token") && !section.has("signing_secret") && section.is_whole() {
        let problem = "missing: the app's token (xapp-...) for Socket Mode, such as { env = \
                       \"SLACK_APP_TOKEN\" }; or signing_secret, if Slack posts to our HTTP endpoint";
        section.problem("app_token", problem);
    }
    Some(Platform::Slack { bot_token: bot_token?, app_token, signing_secret })
}

/// A secret that the channel can't do without.
fn needed(section: &mut Section<'_>, key: &'static str, what: &str, enabled: bool) -> Option<Secret> {
    let secret = wanted(section, key, enabled);
    if !section.has(key) && section.is_whole() {
        section.problem(key, format!("missing: {what}"));
    }
    secret
}

/// A secret; a disabled channel's may be missing where it should be.
fn wanted(section: &mut Section<'_>, key: &'static str, enabled: bool) -> Option<Secret> {
    if enabled { section.get(key, secret) } else { section.get(key, |_, _| Ok(Secret::new(String::new()))) }
}

fn kind(value: &Node, reader: &ConfigReader<'_>) -> Result<Kind, String> {
    let name = text(value, reader)?;
    let spellings: Vec<&str> = Kind::ALL.iter().map(|(spelling, _)| *spelling).collect();
    Kind::named(&name).ok_or_else(|| format!("unknown platform {name:?}; {}", suggestion(&name, &spellings)))
}

fn server(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let url = text(value, reader)?;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(format!("{url:?} must begin with https:// or http://"));
    }
    if url.contains('@') {
        return Err("must not contain a user or password".to_owned());
    }
    Ok(url.trim_end_matches('/').to_owned())
}
