//! Reloads the configuration and the skills, on a signal and when the file changes.
//!
//! A file applies as a whole: one with errors is rejected, each error is logged, and the last good one stays in use.

use std::convert::Infallible;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use adjutant_config::{Config, ConfigError, Env};
use adjutant_skills::Skills;

use crate::lifecycle::{ReloadSignals, ServiceManager};
use crate::logging::LogFilter;
use crate::service::{self, LiveConfig, SkillSet};

/// How often to check whether the file has changed.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time, size and inode of a file, if it exists.
type FileState = Option<(Option<SystemTime>, u64, u64)>;

/// Reloads until the future is dropped.
pub(super) async fn reload(
    config: &Config,
    env: &Env,
    reloads: &mut ReloadSignals,
    (skill_set, live, logs): (&SkillSet, &LiveConfig, &LogFilter),
    manager: &ServiceManager,
) -> Infallible {
    let path = config.path.as_deref();
    let mut loaded = path.and_then(file_state);
    loop {
        tokio::select! {
            () = reloads.next() => tracing::info!("reloading on request"),
            () = changed(path, loaded) => tracing::info!("the configuration file has changed"),
        }
        manager.reloading();
        skill_set.skills.poll();
        loaded = path.and_then(file_state);
        let read = Config::load(path, env).and_then(|config| check(config, &skill_set.skills));
        apply(read, skill_set, live, logs);
        manager.ready();
    }
}

pub(super) fn check(config: Config, skills: &Skills) -> Result<Config, ConfigError> {
    service::check_skills(&config, skills)?;
    if config.channels.values().any(|channel| channel.enabled) {
        Ok(config)
    } else {
        let path = config.path.as_deref().and_then(Path::to_str);
        Err(ConfigError::one(path, "no channel is configured; `adjutant init` adds one"))
    }
}

fn apply(read: Result<Config, ConfigError>, skill_set: &SkillSet, live: &LiveConfig, logs: &LogFilter) {
    match read {
        Ok(config) => {
            logs.apply(config.log.as_deref());
            if skill_set.workflows.set_approval(&config.approval) {
                skill_set.skills.reload_and_log();
            }
            let need_restart = live.apply(&config);
            tracing::info!("the new configuration is in use");
            if !need_restart.is_empty() {
                tracing::warn!("restart to apply these changes: {}", need_restart.join(", "));
            }
        }
        Err(error) => {
            live.reject();
            for problem in &error.problems {
                tracing::error!("{problem}");
            }
            tracing::error!("the configuration has errors, the last good one stays in use");
        }
    }
}

/// Waits until the file differs from `loaded` and has stayed the same for one interval: a half-written file may be valid.
async fn changed(path: Option<&Path>, loaded: FileState) {
    let Some(path) = path else { return std::future::pending().await };
    let mut before = loaded;
    loop {
        tokio::time::sleep(INTERVAL).await;
        let now = file_state(path);
        if now != loaded && now == before {
            return;
        }
        before = now;
    }
}

fn file_state(path: &Path) -> FileState {
    let data = std::fs::metadata(path).ok()?;
    Some((data.modified().ok(), data.len(), data.ino()))
}
