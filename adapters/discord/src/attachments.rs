//! Files that come with a message.

use std::time::Duration;

use adjutant_chat::{Attachment, TextDownload};
use futures::future::join_all;
use reqwest::Url;
use reqwest::redirect::Policy;

use crate::Discord;
use crate::receive::File;

/// All files of a message are read at the same time, and it waits no longer for them.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Where Discord keeps files.
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

pub(crate) async fn read_all(discord: &Discord, files: Vec<File>) -> Vec<Attachment> {
    join_all(files.into_iter().map(|file| read(discord, file))).await
}

async fn read(discord: &Discord, file: File) -> Attachment {
    let url = Url::parse(&file.url).ok().filter(|url| is_trusted(url, &discord.api_url));
    let is_text = Attachment::is_text(&file.filename, file.content_type.as_deref());
    let text = match url {
        Some(url) if is_text && file.size <= Attachment::MAX_BYTES => {
            tokio::time::timeout(TIMEOUT, fetch(discord, url)).await.ok().flatten()
        }
        _ => None,
    };
    Attachment { name: file.filename, text }
}

/// Files come only from Discord's own hosts, or from the proxy in its place: an address in a message must not lead us
/// into our own network.
fn is_trusted(url: &Url, api_url: &Url) -> bool {
    let discords = url.scheme() == "https" && url.host_str().is_some_and(|host| HOSTS.contains(&host));
    discords || url.origin() == api_url.origin()
}

async fn fetch(discord: &Discord, url: Url) -> Option<String> {
    // No redirects, which could lead anywhere, and no token.
    let build = || async { reqwest::Client::builder().redirect(Policy::none()).build() };
    let client = discord.files.get_or_try_init(build).await.ok()?;
    let mut response = client.get(url).send().await.ok()?.error_for_status().ok()?;
    let mut text = TextDownload::default();
    while let Some(chunk) = response.chunk().await.ok()? {
        text.add(&chunk)?;
    }
    text.finish()
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
