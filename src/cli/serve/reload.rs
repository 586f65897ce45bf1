//! Reads the configuration and the skills anew: when the service is told to, and when the file has changed.
//!
//! All of a file applies, or nothing of it: a faulty one is refused, with each of its faults in the log, and the
//! last good one stays in use.

use std::convert::Infallible;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::config::{Config, ConfigError, Env};
use crate::lifecycle::{Manager, Reloads};
use crate::logging::Logs;
use crate::service::{self, Live, SkillSet};
use crate::skills::Skills;

/// How often it is looked whether the file has changed.
const LOOK: Duration = Duration::from_secs(1);

/// What a file looked like; none when it is not there.
type Print = Option<(Option<SystemTime>, u64, u64)>;

/// Reads anew each time that is asked for, until the future is dropped.
pub(super) async fn reload(
    config: &Config,
    env: &Env,
    reloads: &mut Reloads,
    (skill_set, live, logs): (&SkillSet, &Live, &Logs),
    manager: &Manager,
) -> Infallible {
    let path = config.path.as_deref();
    let mut known = path.and_then(print);
    loop {
        tokio::select! {
            () = reloads.next() => tracing::info!("told to reload"),
            () = changed(path, known) => tracing::info!("the configuration has changed"),
        }
        manager.reloading();
        skill_set.skills.poll();
        known = path.and_then(print);
        let read = Config::load(path, env).and_then(|config| check(config, &skill_set.skills));
        take(read, skill_set, live, logs);
        manager.ready();
    }
}

fn check(config: Config, skills: &Skills) -> Result<Config, ConfigError> {
    service::check_skills(&config, skills)?;
    match config.channels.values().any(|channel| channel.enabled) {
        true => Ok(config),
        false => Err(super::no_channel(&config)),
    }
}

fn take(read: Result<Config, ConfigError>, skill_set: &SkillSet, live: &Live, logs: &Logs) {
    match read {
        Ok(config) => {
            logs.follow(config.log.as_deref());
            if skill_set.workflows.set_approval(&config.approval) {
                skill_set.skills.reload_and_log();
            }
            let waiting = live.apply(&config);
            tracing::info!("the configuration applies from now on");
            if !waiting.is_empty() {
                tracing::warn!("changed, but only a restart applies it: {}", waiting.join(", "));
            }
        }
        Err(error) => {
            live.refuse();
            for problem in &error.problems {
                tracing::error!("{problem}");
            }
            tracing::error!("the configuration is refused, the last good one stays in use");
        }
    }
}

/// Waits until the file is another one than this, and has stayed so from one look to the next: what is still being
/// written may be right, and yet half of what is meant.
async fn changed(path: Option<&Path>, known: Print) {
    let Some(path) = path else { return std::future::pending().await };
    let mut before = known;
    loop {
        tokio::time::sleep(LOOK).await;
        let now = print(path);
        if now != known && now == before {
            return;
        }
        before = now;
    }
}

fn print(path: &Path) -> Print {
    let data = std::fs::metadata(path).ok()?;
    Some((data.modified().ok(), data.len(), data.ino()))
}
