//! Files that come with a message.

use std::time::Duration;

use adjutant_chat::{DownloadError, FileDownload};
use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy;
use reqwest::{Response, Url};
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ChannelId, MessageId};

use crate::Discord;
use crate::rest::{self, ApiError};

/// The longest silence of a download.
const SILENCE: Duration = Duration::from_secs(20);

const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// Files come only from Discord's own hosts, or from the proxy in its place: an address in a message must not lead us
/// into our own network.
fn is_trusted(url: &Url, api_url: &Url) -> bool {
    let discords = url.scheme() == "https" && url.host_str().is_some_and(|host| HOSTS.contains(&host));
    discords || url.origin() == api_url.origin()
}

async fn open(discord: &Discord, url: Url) -> reqwest::Result<Response> {
    // No redirects, which could lead anywhere, and no token.
    let build = || async { reqwest::Client::builder().redirect(Policy::none()).build() };
    let client = discord.files.get_or_try_init(build).await?;
    client.get(url).send().await
}

/// Downloads a file, as [`crate::receive`] names it.
pub(crate) async fn download(
    discord: &Discord,
    file: &str,
    into: &mut FileDownload,
) -> Result<(), DownloadError> {
    let gone = || DownloadError::Gone("the message has no such file".to_owned());
    let (names, address) = file.split_once(' ').ok_or_else(gone)?;
    match download_from(discord, address, into).await {
        Err(DownloadError::Gone(_)) => {}
        done => return done,
    }
    // The address has expired; the message has a new one.
    let address = new_address(discord, names).await?.ok_or_else(gone)?;
    download_from(discord, &address, into).await
}

async fn download_from(
    discord: &Discord,
    address: &str,
    into: &mut FileDownload,
) -> Result<(), DownloadError> {
    let url = Url::parse(address).ok().filter(|url| is_trusted(url, &discord.api_url));
    let url = url.ok_or_else(|| DownloadError::Gone("it isn't on Discord's servers".to_owned()))?;
    let broken = |error: reqwest::Error| DownloadError::Passing(error.without_url().to_string(), None);
    let silent = |_| DownloadError::Passing("no answer in time".to_owned(), None);
    let sent = tokio::time::timeout(SILENCE, open(discord, url)).await;
    let mut response = sent.map_err(silent)?.map_err(broken)?;
    let pause = response.headers().get(RETRY_AFTER).and_then(|pause| pause.to_str().ok()?.parse().ok());
    let pause = pause.map(Duration::from_secs);
    if let Some(error) = DownloadError::of_status(response.status().as_u16(), pause) {
        return Err(error);
    }
    loop {
        let chunk = tokio::time::timeout(SILENCE, response.chunk()).await;
        let Some(chunk) = chunk.map_err(silent)?.map_err(broken)? else { return Ok(()) };
        into.add(&chunk).await?;
    }
}

/// The present address of a file, named as `CHANNEL/MESSAGE/FILE`.
async fn new_address(discord: &Discord, names: &str) -> Result<Option<String>, DownloadError> {
    let mut names = names.split('/');
    let mut id = || names.next()?.parse::<u64>().ok().filter(|id| *id > 0);
    let (Some(channel), Some(message), file) = (id(), id(), id()) else { return Ok(None) };
    let (channel_id, message_id) = (ChannelId::new(channel), MessageId::new(message));
    let route = Route::ChannelMessage { channel_id, message_id };
    let message = match rest::call(&discord.rest, LightMethod::Get, route, None).await {
        Ok(message) => message,
        Err(ApiError::NoMessage | ApiError::Closed(..) | ApiError::Refused(_)) => return Ok(None),
        Err(error) => return Err(DownloadError::Passing(error.to_string(), None)),
    };
    let files = message["attachments"].as_array().into_iter().flatten();
    let is_it = |one: &&serde_json::Value| {
        file.is_none_or(|file| one["id"].as_str() == Some(file.to_string().as_str()))
    };
    Ok(files.filter(is_it).find_map(|one| one["url"].as_str().map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_discords_hosts_and_the_proxy_are_trusted() {
        let trusted =
            |url: &str| is_trusted(&Url::parse(url).unwrap(), &Url::parse("http://127.0.0.1:9999").unwrap());
        assert!(trusted("https://cdn.discordapp.com/attachments/1/2/notes.txt"));
        assert!(trusted("http://127.0.0.1:9999/files/notes.txt"));
        for url in [
            "http://cdn.discordapp.com/x",
            "https://cdn.discordapp.com.example.org/x",
            "http://127.0.0.1:80/x",
            "http://169.254.169.254/latest",
            "file:///etc/passwd",
        ] {
            assert!(!trusted(url), "{url}");
        }
    }
}
