//! Downloads a file from its platform, with retries.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Backoff, ChatPort, DownloadError, FileDownload};
use adjutant_files::MAX_MEGABYTES;
use adjutant_types::clock::SharedClock;
use adjutant_types::metrics;
use tokio::fs::File;

pub const MAX_BYTES: u64 = MAX_MEGABYTES << 20;

const TRIES: u32 = 4;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(20));
/// The longest pause that a platform may ask for.
const MAX_PAUSE: Duration = Duration::from_mins(1);
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(3);

pub type Ports = Arc<HashMap<String, Arc<dyn ChatPort>>>;

/// Downloads a file of a channel into what `open` makes for each attempt.
pub(in crate::gateway) async fn download(
    ports: &Ports,
    (channel, file): (&str, &str),
    clock: &SharedClock,
    open: impl Fn() -> std::io::Result<std::fs::File>,
) -> Result<(File, u64), DownloadError> {
    let gone = || DownloadError::Gone("the channel isn't there any more".to_owned());
    let port = ports.get(channel).ok_or_else(gone)?;
    let mut tries = 1;
    loop {
        let error = match download_once(port, file, &open).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        tracing::warn!(channel, tries, %error, "a file couldn't be downloaded");
        let DownloadError::Passing(_, asked) = &error else { return Err(error) };
        let asked = asked.unwrap_or_default();
        if tries == TRIES || asked > MAX_PAUSE {
            return Err(error);
        }
        tokio::time::sleep(BACKOFF.after(tries, clock.random()).max(asked)).await;
        metrics::retry("download");
        tries += 1;
    }
}

async fn download_once(
    port: &Arc<dyn ChatPort>,
    file: &str,
    open: impl Fn() -> std::io::Result<std::fs::File>,
) -> Result<(File, u64), DownloadError> {
    let full = |error: std::io::Error| DownloadError::Passing(error.to_string(), None);
    let mut download = FileDownload::new(File::from_std(open().map_err(full)?), MAX_BYTES);
    match tokio::time::timeout(DOWNLOAD_TIMEOUT, port.download(file, &mut download)).await {
        Ok(done) => done?,
        Err(_) => return Err(DownloadError::Passing("it takes too long".to_owned(), None)),
    }
    download.finish().await
}
