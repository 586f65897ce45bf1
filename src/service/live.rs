//! Reloading the configuration: what changes at run time, and what needs a restart.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_config::reload::Reloadable;
use adjutant_config::{ChannelConfig, Config, Endpoint, Settings};
use adjutant_models::price::SharedPrice;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::models::unpriced;

/// The part of the configuration that a running service reloads.
pub struct LiveConfig {
    initial: Config,
    pub(super) settings: Arc<Reloadable<Settings>>,
    prices: Vec<SharedPrice>,
    pub(super) backup_failed: Arc<AtomicBool>,
    /// An owner asked for a restart.
    pub restart: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the present file has errors.
    is_rejected: bool,
    need_restart: Vec<String>,
}

impl LiveConfig {
    pub(super) fn new(
        config: &Config,
        allow: HashMap<String, Vec<String>>,
        prices: Vec<SharedPrice>,
    ) -> Arc<Self> {
        warn_of_unpriced(config);
        let settings = Arc::new(Reloadable::new(settings(config, allow)));
        let (backup_failed, restart, state) = (Arc::default(), Notify::new(), Mutex::default());
        Arc::new(Self { initial: config.clone(), settings, prices, backup_failed, restart, state })
    }

    pub(super) fn initial(&self) -> &Config {
        &self.initial
    }

    /// The owners of a configuration: the person at this machine's terminal is one.
    pub fn owners(config: &Config) -> Vec<String> {
        config.assistant.owner.iter().cloned().chain(["console:local".to_owned()]).collect()
    }

    /// What of a configuration needs a restart, by its names there.
    pub fn needs_restart(&self, now: &Config) -> Vec<String> {
        let initial = &self.initial;
        let models = |config: &Config| {
            let free = |endpoint: &Endpoint| Endpoint { price: None, ..endpoint.clone() };
            let all: Vec<Endpoint> = config.model.endpoints().map(free).collect();
            (config.model.main.fallback.len(), all)
        };
        let parts = [
            ("assistant.name", initial.assistant.name != now.assistant.name),
            ("assistant.timezone", initial.assistant.timezone != now.assistant.timezone),
            ("store", initial.store != now.store),
            (MODEL, models(initial) != models(now)),
            ("mail", initial.mail != now.mail),
            ("watches", initial.watches != now.watches),
            ("calendar", initial.calendar != now.calendar),
            ("contacts", initial.contacts != now.contacts),
            ("connect", initial.connect != now.connect),
            ("secrets", initial.secrets != now.secrets),
            ("web", initial.search != now.search),
            ("notes", initial.notes != now.notes),
            ("mcp", initial.mcp != now.mcp),
            ("instructions", initial.instructions != now.instructions),
            ("skills.paths", initial.skills != now.skills),
            ("roles.paths", initial.roles != now.roles),
            ("roles.deny", initial.role_denials != now.role_denials),
            ("dns", initial.resolver != now.resolver),
            ("backup", initial.backup != now.backup),
            ("retention", initial.retention != now.retention),
            ("schedules", initial.catch_up != now.catch_up),
            ("http", initial.listen != now.listen),
            ("otlp", initial.otlp != now.otlp),
            ("voice", initial.voice != now.voice),
        ];
        let names: BTreeSet<&String> = initial.channels.keys().chain(now.channels.keys()).collect();
        let closed = |config: &Config, name: &String| {
            let channel = config.channels.get(name);
            channel.map(|channel| ChannelConfig { allow: Vec::new(), ..channel.clone() })
        };
        let channels = names.into_iter().filter(|name| closed(initial, name) != closed(now, name));
        let parts = parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned());
        parts.chain(channels.map(|name| format!("channels.{name}"))).collect()
    }

    /// Applies what may change at run time. A running turn keeps the settings it started with. Returns the names of the
    /// changes that need a restart.
    pub fn apply(&self, config: &Config) -> Vec<String> {
        let mut allow = self.settings.current().allow.clone();
        for (name, ids) in &mut allow {
            // A channel that was removed from the file stays as it is until the restart.
            if let Some(channel) = config.channels.get(name) {
                ids.clone_from(&channel.allow);
            }
        }
        let need_restart = self.needs_restart(config);
        warn_of_unpriced(config);
        self.settings.replace(settings(config, allow));
        if !need_restart.iter().any(|name| name == MODEL) {
            for (price, endpoint) in self.prices.iter().zip(config.model.endpoints()) {
                price.set(endpoint.price);
            }
        }
        *self.state.lock() = State { is_rejected: false, need_restart: need_restart.clone() };
        need_restart
    }

    /// Notes that the file has errors; the last good one stays in use.
    pub fn reject(&self) {
        self.state.lock().is_rejected = true;
    }

    /// Notices for the operator: a rejected file, changes that need a restart, a failed backup.
    pub fn notes(&self) -> Vec<String> {
        let state = self.state.lock();
        let rejected =
            state.is_rejected.then(|| "the configuration has errors, the last good one is in use".into());
        let is_changed = !state.need_restart.is_empty();
        let restart = is_changed.then(|| format!("restart to change {}", state.need_restart.join(", ")));
        let failed = self.backup_failed.load(Ordering::Relaxed).then(|| "the last backup failed".into());
        rejected.into_iter().chain(restart).chain(failed).collect()
    }
}

fn warn_of_unpriced(config: &Config) {
    for model in unpriced(config) {
        tracing::warn!(
            model,
            "no price is set for this model: cost budgets count only what its provider reports, after each call"
        );
    }
}

fn settings(config: &Config, allow: HashMap<String, Vec<String>>) -> Settings {
    Settings {
        limits: config.limits.clone(),
        approval: config.approval.clone(),
        owners: LiveConfig::owners(config),
        allow,
        mail_address: config.mail.as_ref().map(|mail| mail.from.clone()),
        page: config.page().map(|(_, url)| url.to_owned()),
        folders: config.watched_folders.clone(),
    }
}

const MODEL: &str = "model";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use adjutant_config::{Chain, Otlp, Platform, Price, Secret};

    use super::*;

    fn telegram(token: &str, allow: &str) -> ChannelConfig {
        let platform = Platform::Telegram(Secret::new(token));
        ChannelConfig { platform, enabled: true, api_url: String::new(), allow: vec![allow.to_owned()] }
    }

    #[test]
    fn changes_that_need_a_restart_are_named_and_the_rest_applies() {
        let mut initial = Config::in_dir("/tmp");
        initial.channels.insert("telegram".into(), telegram("1:a", "ada"));
        initial.channels.insert("second".into(), telegram("2:a", "eve"));
        let allow =
            HashMap::from([("telegram".into(), vec!["ada".into()]), ("second".into(), vec!["eve".into()])]);
        let price = SharedPrice::default();
        let live = LiveConfig::new(&initial, allow, vec![price.clone()]);
        let mut now = initial.clone();
        now.limits.agents_per_turn = 1;
        now.assistant.owner = vec!["telegram:ada".into()];
        now.channels.insert("telegram".into(), telegram("1:a", "bob"));
        now.model.main.first.price = Some(Price { input: 1.0, cached_input: None, output: 2.0 });
        assert_eq!(live.apply(&now), [""; 0]);
        let settings = live.settings.current();
        assert_eq!(settings.limits.agents_per_turn, 1);
        assert_eq!(settings.allow["telegram"], ["bob"]);
        assert_eq!(settings.owners, ["telegram:ada", "console:local"]);
        assert_eq!(price.get().map(|price| price.output), Some(2.0));
        assert_eq!(live.notes(), [""; 0]);

        now.channels.insert("telegram".into(), telegram("1:b", "bob"));
        now.channels.remove("second");
        now.model.agent = Some(Chain::default());
        now.model.main.first.price = None;
        now.listen = None;
        now.otlp = Some(Otlp { endpoint: "http://127.0.0.1:4318".into(), headers: BTreeMap::new() });
        assert_eq!(live.apply(&now), ["model", "http", "otlp", "channels.second", "channels.telegram"]);
        assert_eq!(live.settings.current().allow["second"], ["eve"], "it runs on as it was");
        assert!(price.get().is_some(), "it is not known which model it is for");
        live.reject();
        assert_eq!(
            live.notes(),
            [
                "the configuration has errors, the last good one is in use",
                "restart to change model, http, otlp, channels.second, channels.telegram"
            ]
        );
        assert_eq!(live.apply(&initial), [""; 0]);
        assert_eq!(live.notes(), [""; 0], "back to the initial configuration");
    }
}
