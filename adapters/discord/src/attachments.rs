//! Files that come with a message: small texts are read, others are only named.

use std::time::Duration;

use adjutant_chat::Attachment;
use futures::future::join_all;
use reqwest::Url;
use reqwest::redirect::Policy;

use crate::Discord;
use crate::receive::File;

/// The longest text that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The files of a message are read at the same time, and the message waits no longer for them.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Where Discord keeps files.
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// Endings of texts whose type Discord does not tell.
const ENDINGS: [&str; 9] = [".txt", ".md", ".csv", ".json", ".log", ".yaml", ".yml", ".toml", ".xml"];

pub(crate) async fn read_all(discord: &Discord, files: Vec<File>) -> Vec<Attachment> {
    join_all(files.into_iter().map(|file| read(discord, file))).await
}

async fn read(discord: &Discord, file: File) -> Attachment {
    let url = Url::parse(&file.url).ok().filter(|url| is_trusted(url, &discord.api_url));
    let text = match url {
        Some(url) if is_text(&file) && file.size <= LONGEST => {
            tokio::time::timeout(TIMEOUT, fetch(discord, url)).await.ok().flatten()
        }
        _ => None,
    };
    Attachment { name: file.filename, text }
}

fn is_text(file: &File) -> bool {
    let kind = file.content_type.as_deref().unwrap_or_default();
    let name = file.filename.to_lowercase();
    kind.starts_with("text/")
        || kind.starts_with("application/json")
        || ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Files are fetched from Discord's own hosts alone, or from the proxy in its place: an address in a
/// message must not lead us into our own network.
fn is_trusted(url: &Url, api_url: &Url) -> bool {
    let discords = url.scheme() == "https" && url.host_str().is_some_and(|host| HOSTS.contains(&host));
    discords || url.origin() == api_url.origin()
}

async fn fetch(discord: &Discord, url: Url) -> Option<String> {
    // No redirects, which could lead anywhere; and it carries no token.
    let build = || async { reqwest::Client::builder().redirect(Policy::none()).build() };
    let client = discord.files.get_or_try_init(build).await.ok()?;
    let mut response = client.get(url).send().await.ok()?.error_for_status().ok()?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        bytes.extend_from_slice(&chunk);
        // The size that was told need not be true.
        if bytes.len() as u64 > LONGEST {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
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
