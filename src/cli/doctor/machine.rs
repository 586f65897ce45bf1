//! What the machine has to do with it: who can read the secrets, the disk, the clock, the running service.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_chat::Finding;
use chrono::DateTime;
use toml::{Table, Value};

use crate::clock::Clock;
use crate::config::Config;
use crate::model::provider;

/// Keys whose values are secrets.
const SECRETS: [&str; 6] = ["api_key", "token", "bot_token", "app_token", "signing_secret", "password"];

/// With less than this free, in bytes, nothing may be written soon.
const FULL: u64 = 100_000_000;
/// With less than this free somebody should look.
const NEARLY_FULL: u64 = 1_000_000_000;

/// So far a clock may be off: signatures of requests and the times of reminders bear it.
const OFF_S: i64 = 30;

/// The longest that a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether others on this machine can read a file that holds secrets.
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
            format!("every account on this machine can read the secrets in {path}"),
            format!("chmod 600 {path}"),
        )
    })
    .collect()
}

/// The files in which the secrets of a configuration lie.
fn secret_files(value: &Value, config: &Path, into: &mut Vec<PathBuf>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                match value {
                    _ if SECRETS.contains(&key.as_str()) => into.extend(file_of(value, config)),
                    // Those of [otlp]; their names are the person's own.
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

/// The file in which a secret lies, if it lies in one.
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

/// Whether the data can be written, and for how long.
pub(super) fn data_dir(folder: &Path) -> Vec<Finding> {
    let shown = folder.display();
    let mend = format!("make {shown} a folder that this account may write, or set $ADJUTANT_DATA_DIR");
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    let tried = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&probe, b"x"))
        .and_then(|()| std::fs::remove_file(&probe));
    if let Err(error) = tried {
        return vec![Finding::error(format!("nothing can be written to {shown}: {error}"), mend)];
    }
    let Ok(disk) = rustix::fs::statvfs(folder) else { return Vec::new() };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let reason = format!("{shown} can be written; {:.1} GB are free", free as f64 / 1e9);
    let mend = "make room on that disk: without it no message can be taken";
    vec![match free {
        _ if free < FULL => Finding::error(reason, mend),
        _ if free < NEARLY_FULL => Finding::warning(reason, mend),
        _ => Finding::ok(reason),
    }]
}

/// Compares the clock with that of a server which is asked anyway.
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
        ..=OFF_S => Finding::ok("the clock is right"),
        off => Finding::error(
            format!("the clock is {off} s {direction}"),
            "let the machine set its clock by the network: timedatectl set-ntp true",
        ),
    }
}

/// Asks the running service how it is.
pub(super) async fn serve(config: &Config) -> Option<Finding> {
    let address = config.listen.filter(|_| config.channels.values().any(|channel| channel.enabled))?;
    let answer = match provider::http_client() {
        Ok(client) => client.get(readyz(address)).timeout(PATIENCE).send().await,
        Err(_) => return None,
    };
    Some(match answer {
        Ok(answer) if answer.status().is_success() => {
            let said = answer.text().await.unwrap_or_default();
            let notes: Vec<&str> = said.lines().skip(1).collect();
            match notes.is_empty() {
                true => Finding::ok("it runs, and all channels receive"),
                false => Finding::warning(
                    format!("it runs, and all channels receive, but {}", notes.join("; ")),
                    "its log names what is faulty; what waits for a restart: `systemctl restart adjutant`",
                ),
            }
        }
        Ok(answer) => {
            let why = answer.text().await.unwrap_or_default();
            Finding::error(format!("it runs, but is not ready: {}", why.trim()), "see the channels above")
        }
        Err(_) => Finding::warning(
            format!("nobody answers at {address}, so it does not run"),
            "start it: `adjutant serve`, or `systemctl start adjutant`",
        ),
    })
}

fn readyz(address: SocketAddr) -> String {
    let ip = match address.ip() {
        ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
        ip => SocketAddr::new(ip, 0).to_string().trim_end_matches(":0").to_owned(),
    };
    format!("http://{ip}:{}/readyz", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_others_can_read_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            path
        };
        write("open.key", "x", 0o644);
        write("closed.key", "x", 0o600);
        let faults = |text: &str, mode| {
            let config = Config { path: Some(write("config.toml", text, mode)), ..Config::in_dir("/tmp") };
            let shown = folder.path().display().to_string();
            let said: Vec<_> = secrets(&config).iter().map(|one| one.fix.replace(&shown, ".")).collect();
            said.join("\n")
        };
        let inline = "[channels.telegram]\ntoken = \"1:a\"\n";
        assert_eq!(faults(inline, 0o644), "chmod 600 ./config.toml");
        assert_eq!(faults(inline, 0o640), "");
        let elsewhere =
            "[model]\napi_key = { env = \"KEY\" }\nfallback = [{ api_key = { file = \"open.key\" } }]\n";
        assert_eq!(faults(elsewhere, 0o644), "chmod 600 ./open.key");
        assert_eq!(faults("[model]\napi_key = { file = \"closed.key\" }\n", 0o644), "");
    }

    #[test]
    fn a_folder_that_can_not_be_written_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(data_dir(folder.path())[0].status, adjutant_chat::CheckStatus::Ok);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it leaves nothing behind");
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(data_dir(&file)[0].reason.starts_with("nothing can be written to"));
    }

    #[test]
    fn a_clock_that_is_off_is_told() {
        assert_eq!(difference(-30), Finding::ok("the clock is right"));
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
