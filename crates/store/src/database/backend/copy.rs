//! Copies of a database, made while it is in use.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;

use sqlx::any::AnyConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};

use super::Backend;
use crate::{Result, StoreError};

impl Backend {
    pub(crate) async fn backup(&self, to: &Path) -> Result<()> {
        let failed = |reason: String| StoreError::Backup { to: to.display().to_string(), reason };
        if to.exists() {
            return Err(failed(
                "there is a file of that name already; a backup never overwrites, choose another name".into(),
            ));
        }
        match self {
            Self::Embedded { file } => {
                // Created first and empty, with the right mode, so that nobody else can ever read it.
                let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
                made.map_err(|error| failed(error.to_string()))?;
                copy(file, to).await.map_err(|error| {
                    let _ = std::fs::remove_file(to);
                    failed(error.to_string())
                })
            }
            Self::Server { url } => {
                let (url, password) = without_password(url).map_err(|error| failed(error.to_string()))?;
                let mut dump = tokio::process::Command::new("pg_dump");
                dump.arg("--format=custom").arg("--file").arg(to).arg("--dbname").arg(url);
                if let Some(password) = password {
                    dump.env("PGPASSWORD", password);
                }
                let output = dump
                    .kill_on_drop(true)
                    .output()
                    .await
                    .map_err(|error| failed(format!("pg_dump can't be started: {error}")))?;
                if output.status.success() {
                    return Ok(());
                }
                Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
            }
        }
    }
}

/// Copies a database on a separate connection, so that reads and writes don't have to wait.
async fn copy(file: &Path, to: &Path) -> Result<()> {
    let url = file_url(file).map_err(sqlx::Error::Io)?;
    let mut connection = AnyConnectOptions::from_str(&url)?.connect().await?;
    connection.execute("PRAGMA busy_timeout = 10000").await?;
    let to = to.display().to_string().replace('\'', "''");
    connection.execute(AssertSqlSafe(format!("VACUUM INTO '{to}'"))).await?;
    Ok(connection.close().await?)
}

/// The library takes a file only as a URL. It's escaped so that any path works.
pub(super) fn file_url(file: &Path) -> std::io::Result<String> {
    let file = std::path::absolute(file)?;
    let mut url = String::from("sqlite://");
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => url.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(url + "?mode=rwc")
}

/// A server's URL and its password. Everyone on the machine can read a command line, so the password isn't put there.
fn without_password(url: &str) -> Result<(String, Option<String>), sqlx::Error> {
    let mut url = AnyConnectOptions::from_str(url)?.database_url;
    let mut password = None;
    if let Some(escaped) = url.password().map(|password| password.replace('+', "%2B")) {
        // The library itself unescapes only a query.
        let mut query = url.clone();
        query.set_query(Some(&format!("p={escaped}")));
        password = query.query_pairs().next().map(|(_, value)| value.into_owned());
        let _ = url.set_password(None);
    }
    let (secret, rest): (Vec<_>, Vec<_>) = url
        .query_pairs()
        .map(|(key, value)| (key.into_owned(), value.into_owned()))
        .partition(|(key, _)| key == "password");
    if let Some((_, value)) = secret.into_iter().next_back() {
        password = Some(value);
        url.query_pairs_mut().clear().extend_pairs(rest);
    }
    Ok((url.into(), password))
}
