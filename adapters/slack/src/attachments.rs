//! Files that come with a message.

use std::time::Duration;

use adjutant_chat::{DownloadError, FileDownload};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use tokio::time::timeout;

use crate::Slack;

/// The longest silence of a download.
const SILENCE: Duration = Duration::from_secs(20);

const HOST: &str = "files.slack.com";

/// Whether an address is on this host of Slack's own, or on the proxy in its place.
pub(crate) fn is_trusted(url: &Url, host: &str, api_url: &Url) -> bool {
    (url.scheme() == "https" && url.host_str() == Some(host)) || url.origin() == api_url.origin()
}

/// Downloads a file from its private address.
pub(crate) async fn download(
    slack: &Slack,
    address: &str,
    into: &mut FileDownload,
) -> Result<(), DownloadError> {
    let gone = |why: &str| DownloadError::Gone(why.to_owned());
    // The request carries the bot's token.
    let url = Url::parse(address).ok().filter(|url| is_trusted(url, HOST, &slack.api_url));
    let url = url.ok_or_else(|| gone("it isn't on Slack's servers"))?;
    let broken = |error: reqwest::Error| DownloadError::Passing(error.without_url().to_string(), None);
    let silent = |_| DownloadError::Passing("no answer in time".to_owned(), None);
    let client = slack.plain_client().await.map_err(broken)?;
    let sent = timeout(SILENCE, client.get(url).bearer_auth(slack.bot.token()).send()).await;
    let mut response = sent.map_err(silent)?.map_err(broken)?;
    let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let pause = header(RETRY_AFTER).and_then(|pause| pause.parse().ok()).map(Duration::from_secs);
    if header(CONTENT_TYPE).unwrap_or_default().starts_with("text/html") && response.status().is_success() {
        return Err(gone("Slack wants a login; does the app have the scope files:read?"));
    }
    if let Some(error) = DownloadError::of_status(response.status().as_u16(), pause) {
        return Err(error);
    }
    loop {
        let chunk = timeout(SILENCE, response.chunk()).await;
        let Some(chunk) = chunk.map_err(silent)?.map_err(broken)? else { return Ok(()) };
        into.add(&chunk).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_to_slack_and_to_the_proxy_alone() {
        let proxy = Url::parse("http://127.0.0.1:9999").unwrap();
        let trusted = |url: &str| is_trusted(&Url::parse(url).unwrap(), HOST, &proxy);
        assert!(trusted("https://files.slack.com/files-pri/T1-F1/notes.txt"));
        assert!(trusted("http://127.0.0.1:9999/files-pri/notes.txt"));
        for url in [
            "http://files.slack.com/x",
            "https://files.slack.com.example.org/x",
            "https://example.org/files.slack.com",
            "https://files.slack.com@example.org/x",
            "http://127.0.0.1:80/x",
            "file:///etc/passwd",
        ] {
            assert!(!trusted(url), "{url}");
        }
    }
}
