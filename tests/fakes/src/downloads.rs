//! Downloads through an adapter.

use std::io::{Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

use adjutant_chat::{ChatPort, DownloadError, FileDownload};
use tokio::fs::File;

/// What an adapter downloads as this file, of at most so many bytes.
pub async fn downloaded(port: &dyn ChatPort, file: &str, most: u64) -> Result<Vec<u8>, DownloadError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("adjutant-downloaded-{}-{number}", std::process::id()));
    let broken = |error: std::io::Error| DownloadError::Passing(error.to_string(), None);
    let options = || std::fs::OpenOptions::new();
    let mut kept = options().read(true).write(true).create_new(true).open(&path).map_err(broken)?;
    let into = options().write(true).open(&path).map_err(broken)?;
    std::fs::remove_file(&path).map_err(broken)?;
    let mut into = FileDownload::new(File::from_std(into), most);
    port.download(file, &mut into).await?;
    into.finish().await?;
    let mut content = Vec::new();
    kept.rewind().map_err(broken)?;
    kept.read_to_end(&mut content).map_err(broken)?;
    Ok(content)
}
