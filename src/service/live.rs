//! What changes while the service runs, and what only a restart changes.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::models::{endpoints, price_of, unpriced};
use crate::config::{ChannelConfig, Config, Endpoint, Settings, SharedSettings};
use crate::model::price::SharedPrice;

/// What a running service takes over of a configuration that has changed.
pub struct Live {
    /// What it began with.
    began: Config,
    pub(super) settings: Arc<SharedSettings>,
    prices: Vec<SharedPrice>,
    /// Whether the last copy of the store failed.
    pub(super) backup_failed: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the file that is there now is faulty.
    is_refused: bool,
    /// What is changed, but not in this process.
    waiting: Vec<String>,
}

impl Live {
    pub(super) fn new(
        config: &Config,
        allow: HashMap<String, Vec<String>>,
        prices: Vec<SharedPrice>,
    ) -> Arc<Self> {
        warn_of_unpriced(config);
        let settings = Arc::new(SharedSettings::new(settings(config, allow)));
        let (backup_failed, state) = (Arc::default(), Mutex::default());
        Arc::new(Self { began: config.clone(), settings, prices, backup_failed, state })
    }

    /// Takes over what may change while the service runs. A turn that is at work keeps the limits, the
    /// policies and the owners with which it began. Returns the names of what waits for a restart.
    pub fn apply(&self, config: &Config) -> Vec<String> {
        let mut allow = self.settings.now().allow.clone();
        for (name, ids) in &mut allow {
            // One that was taken out of the file goes on as it is until the restart.
            if let Some(channel) = config.channels.get(name) {
                ids.clone_from(&channel.allow);
            }
        }
        let waiting = waiting(&self.began, config);
        warn_of_unpriced(config);
        self.settings.replace(settings(config, allow));
        if !waiting.iter().any(|name| name == MODEL) {
            for (price, endpoint) in self.prices.iter().zip(endpoints(&config.model)) {
                price.set(price_of(endpoint));
            }
        }
        *self.state() = State { is_refused: false, waiting: waiting.clone() };
        waiting
    }

    /// Notes that the file is faulty; the last good one stays in use.
    pub fn refuse(&self) {
        self.state().is_refused = true;
    }

    /// What whoever looks must know of the configuration and of what was done as it says, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let state = self.state();
        let refused =
            state.is_refused.then(|| "the configuration is faulty, the last good one is in use".into());
        let is_waiting = !state.waiting.is_empty();
        let waiting = is_waiting.then(|| format!("restart to change {}", state.waiting.join(" and ")));
        let failed = self.backup_failed.load(Ordering::Relaxed).then(|| "the last backup failed".into());
        refused.into_iter().chain(waiting).chain(failed).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn warn_of_unpriced(config: &Config) {
    for model in unpriced(config) {
        tracing::warn!(
            model,
            "it has no price: budgets of money count only what its provider says, and afterwards"
        );
    }
}

fn settings(config: &Config, allow: HashMap<String, Vec<String>>) -> Settings {
    let mut owners = config.assistant.owner.clone();
    // Whoever sits at this machine's terminal owns what runs on it.
    owners.push("console:local".into());
    Settings { limits: config.limits.clone(), approval: config.approval.clone(), owners, allow }
}

const MODEL: &str = "model";

/// What is different in a way that only a restart takes over, by its name in the configuration.
fn waiting(began: &Config, now: &Config) -> Vec<String> {
    let models = |config: &Config| {
        let free = |endpoint: &Endpoint| Endpoint { price: None, ..endpoint.clone() };
        let all: Vec<Endpoint> = endpoints(&config.model).map(free).collect();
        (config.model.main.fallback.len(), all)
    };
    let parts = [
        ("assistant.name", began.assistant.name != now.assistant.name),
        ("assistant.timezone", began.assistant.timezone != now.assistant.timezone),
        ("store", began.store != now.store),
        (MODEL, models(began) != models(now)),
        ("mail", began.mail != now.mail),
        ("calendar", began.calendar != now.calendar),
        ("contacts", began.contacts != now.contacts),
        ("skills.paths", began.skills != now.skills),
        ("dns", began.resolver != now.resolver),
        ("backup", began.backup != now.backup),
        ("retention", began.retention != now.retention),
        ("schedules", began.catch_up != now.catch_up),
        ("http", began.listen != now.listen),
        ("otlp", began.otlp != now.otlp),
    ];
    let names: BTreeSet<&String> = began.channels.keys().chain(now.channels.keys()).collect();
    let closed = |config: &Config, name: &String| {
        let channel = config.channels.get(name);
        channel.map(|channel| ChannelConfig { allow: Vec::new(), ..channel.clone() })
    };
    let channels = names.into_iter().filter(|name| closed(began, name) != closed(now, name));
    let parts = parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned());
    parts.chain(channels.map(|name| format!("channels.{name}"))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{Chain, Otlp, Platform, Price, Secret};

    fn telegram(token: &str, allow: &str) -> ChannelConfig {
        let platform = Platform::Telegram(Secret::new(token));
        ChannelConfig { platform, enabled: true, api_url: String::new(), allow: vec![allow.to_owned()] }
    }

    #[test]
    fn what_waits_for_a_restart_is_named_and_the_rest_applies() {
        let mut began = Config::in_dir("/tmp");
        began.channels.insert("telegram".into(), telegram("1:a", "ada"));
        began.channels.insert("second".into(), telegram("2:a", "eve"));
        let allow =
            HashMap::from([("telegram".into(), vec!["ada".into()]), ("second".into(), vec!["eve".into()])]);
        let price = SharedPrice::default();
        let live = Live::new(&began, allow, vec![price.clone()]);
        let mut now = began.clone();
        now.limits.agents_per_turn = 1;
        now.assistant.owner = vec!["telegram:ada".into()];
        now.channels.insert("telegram".into(), telegram("1:a", "bob"));
        now.model.main.first.price = Some(Price { input: 1.0, cached_input: None, output: 2.0 });
        assert_eq!(live.apply(&now), [""; 0]);
        let settings = live.settings.now();
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
        assert_eq!(live.settings.now().allow["second"], ["eve"], "it runs on as it was");
        assert!(price.get().is_some(), "it is not known which model it is for");
        live.refuse();
        assert_eq!(
            live.notes(),
            [
                "the configuration is faulty, the last good one is in use",
                "restart to change model and http and otlp and channels.second and channels.telegram"
            ]
        );
        assert_eq!(live.apply(&began), [""; 0]);
        assert_eq!(live.notes(), [""; 0], "back to what it began with");
    }
}
