//! Checks of the machine: who can read secrets, the disk, the clock, the running service.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_config::Config;
use adjutant_models::provider;
use adjutant_types::clock::Clock;
use chrono::DateTime;
use toml::{Table, Value};

use crate::service::private::Exposed;

const SECRETS: [&str; 6] = ["api_key", "token", "bot_token", "app_token", "signing_secret", "password"];

/// With less free space than this, in bytes, writes will soon fail.
const FULL: u64 = 100_000_000;
/// Less free space than this deserves a warning.
const NEARLY_FULL: u64 = 1_000_000_000;

/// The tolerance of the clock, in seconds: request signatures and reminders still work.
const OFF_S: i64 = 30;

/// The longest that a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Warns of files with secrets that everyone on this machine can read.
pub(super) fn secrets(config: &Config) -> Vec<Finding> {
    let Some(path) = &config.path else { return Vec::new() };
    let table = std::fs::read_to_string(path).ok().and_then(|text| text.parse::<Table>().ok());
    let mut files = Vec::new();
    if let Some(table) = table {
        secret_files(&Value::Table(table), path, &mut files);
    }
    files.sort();
    files.dedup();
    let is_open = |path: &PathBuf| path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o007 != 0);
    let open = files.into_iter().filter(is_open);
    open.map(|path| {
        let path = path.display();
        Finding::warning(
            format!("every user of this machine can read the secrets in {path}"),
            format!("chmod 600 {path}"),
        )
    })
    .collect()
}

/// The files that contain the secrets of a configuration.
fn secret_files(value: &Value, config: &Path, into: &mut Vec<PathBuf>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                match value {
                    _ if SECRETS.contains(&key.as_str()) => into.extend(file_of(value, config)),
                    // The headers of [otlp] may have any name.
                    Value::Table(headers) if key == "headers" => {
                        into.extend(headers.values().filter_map(|value| file_of(value, config)));
                    }
                    _ => secret_files(value, config, into),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| secret_files(value, config, into)),
        _ => {}
    }
}

/// The file that contains a secret, if any.
fn file_of(secret: &Value, config: &Path) -> Option<PathBuf> {
    match secret {
        Value::String(_) => Some(config.to_owned()),
        Value::Table(source) => {
            let folder = config.parent().unwrap_or(Path::new("."));
            source.get("file").and_then(Value::as_str).map(|file| folder.join(file))
        }
        _ => None,
    }
}

/// Checks that the data folder is writable and has space.
pub(super) fn data_dir(folder: &Path) -> Vec<Finding> {
    let shown = folder.display();
    let fix = format!("make {shown} a folder that this user can write to, or set $ADJUTANT_DATA_DIR");
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    let tried = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&probe, b"x"))
        .and_then(|()| std::fs::remove_file(&probe));
    if let Err(error) = tried {
        return vec![Finding::error(format!("can't write to {shown}: {error}"), fix)];
    }
    let Ok(disk) = rustix::fs::statvfs(folder) else { return Vec::new() };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let reason = format!("{shown} is writable, {:.1} GB free", free as f64 / 1e9);
    let fix = "free space on that disk; without it, no message can be accepted";
    vec![match free {
        _ if free < FULL => Finding::error(reason, fix),
        _ if free < NEARLY_FULL => Finding::warning(reason, fix),
        _ => Finding::ok(reason),
    }]
}

/// Says which of our files other users could read.
pub(super) fn private(exposed: Exposed) -> Vec<Finding> {
    let named = |paths: &[PathBuf]| {
        let shown: Vec<String> = paths.iter().take(3).map(|path| path.display().to_string()).collect();
        let more = paths.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        shown.join(", ") + &more
    };
    let Exposed { closed, open } = exposed;
    let is_private = closed.is_empty() && open.is_empty();
    let fine = is_private.then(|| Finding::ok("other users can't read our files"));
    let closed = (!closed.is_empty()).then(|| {
        let reason = format!("other users could read {}; that is fixed now", named(&closed));
        Finding::warning(reason, "if they shouldn't have seen this, ask who else uses this machine")
    });
    let open = open.iter().map(|path| {
        let fix = format!("chmod go-rwx {}", path.display());
        Finding::warning(format!("other users can read {}", path.display()), fix)
    });
    fine.into_iter().chain(closed).chain(open).collect()
}

/// Compares the clock with that of a configured server.
pub(super) async fn clock(config: &Config, clock: &dyn Clock) -> Option<Finding> {
    let channels = config.channels.values().filter(|channel| channel.enabled);
    let url = channels.map(|channel| channel.api_url.clone()).next();
    let url = url.or_else(|| config.model.main.first.base_url.clone())?;
    let client = provider::http_client().ok()?;
    let answer = client.head(url).timeout(PATIENCE).send().await.ok()?;
    let date = answer.headers().get("date")?.to_str().ok()?;
    let theirs = DateTime::parse_from_rfc2822(date).ok()?.timestamp();
    Some(difference(clock.now_ms() / 1000 - theirs))
}

fn difference(seconds: i64) -> Finding {
    let direction = if seconds > 0 { "fast" } else { "slow" };
    match seconds.abs() {
        ..=OFF_S => Finding::ok("the clock is accurate"),
        off => Finding::error(
            format!("the clock is {off} s {direction}"),
            "synchronize it over the network: timedatectl set-ntp true",
        ),
    }
}

/// Asks the running service for its state.
pub(super) async fn serve(config: &Config) -> Option<Finding> {
    let address = config.listen.filter(|_| config.channels.values().any(|channel| channel.enabled))?;
    let client = provider::http_client().ok()?;
    Some(match client.get(readyz(address)).timeout(PATIENCE).send().await {
        Ok(answer) if answer.status().is_success() => {
            let body = answer.text().await.unwrap_or_default();
            let notes: Vec<&str> = body.lines().skip(1).collect();
            match notes.is_empty() {
                true => Finding::ok("running, all channels receive"),
                false => Finding::warning(
                    format!("running, all channels receive; {}", notes.join("; ")),
                    "see the log for errors; `systemctl restart adjutant` applies changes that need a restart",
                ),
            }
        }
        Ok(answer) => {
            let why = answer.text().await.unwrap_or_default();
            Finding::error(format!("running, but not ready: {}", why.trim()), "see the channels above")
        }
        Err(_) => Finding::warning(
            format!("nothing answers at {address}, so the service is not running"),
            "start it: `adjutant serve`, or `systemctl start adjutant`",
        ),
    })
}

fn readyz(address: SocketAddr) -> String {
    let ip = if address.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { address.ip() };
    format!("http://{}/readyz", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_others_can_read_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            path
        };
        write("open.key", "x", 0o644);
        write("closed.key", "x", 0o600);
        let fixes = |text: &str, mode| {
            let config = Config { path: Some(write("config.toml", text, mode)), ..Config::in_dir("/tmp") };
            let shown = folder.path().display().to_string();
            let fixes: Vec<_> =
                secrets(&config).iter().map(|finding| finding.fix.replace(&shown, ".")).collect();
            fixes.join("\n")
        };
        let inline = "[channels.telegram]\ntoken = \"1:a\"\n";
        assert_eq!(fixes(inline, 0o644), "chmod 600 ./config.toml");
        assert_eq!(fixes(inline, 0o640), "");
        let elsewhere =
            "[model]\napi_key = { env = \"KEY\" }\nfallback = [{ api_key = { file = \"open.key\" } }]\n";
        assert_eq!(fixes(elsewhere, 0o644), "chmod 600 ./open.key");
        assert_eq!(fixes("[model]\napi_key = { file = \"closed.key\" }\n", 0o644), "");
    }

    #[test]
    fn a_folder_that_is_not_writable_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(data_dir(folder.path())[0].status, adjutant_chat::CheckStatus::Ok);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it leaves nothing behind");
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(data_dir(&file)[0].reason.starts_with("can't write to"));
    }

    #[test]
    fn a_clock_that_is_off_is_reported() {
        assert_eq!(difference(-30), Finding::ok("the clock is accurate"));
        assert_eq!(difference(31).reason, "the clock is 31 s fast");
        assert_eq!(difference(-90).reason, "the clock is 90 s slow");
    }

    #[test]
    fn it_asks_this_machine() {
        assert_eq!(readyz("0.0.0.0:80".parse().unwrap()), "http://127.0.0.1:80/readyz");
        assert_eq!(readyz("[::1]:8787".parse().unwrap()), "http://[::1]:8787/readyz");
        assert_eq!(readyz("127.0.0.1:8080".parse().unwrap()), "http://127.0.0.1:8080/readyz");
    }
}
