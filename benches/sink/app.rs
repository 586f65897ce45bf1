//! A whole service with a scripted model and the embedded store, and a channel that takes everything at once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adjutant::service::{self, Channel, Models, Service};
use adjutant_config::Config;
use adjutant_models::SharedModel;
use adjutant_store::Store;
use adjutant_turn::journal::RateLimits;
use adjutant_types::clock::{SharedClock, SystemClock};

use crate::sink::Sink;

pub(crate) struct App {
    pub(crate) service: Service,
    pub(crate) sink: Arc<Sink>,
    _folder: tempfile::TempDir,
}

pub(crate) async fn app(model: SharedModel) -> App {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let clock: SharedClock = Arc::new(SystemClock);
    let store = service::open_store(&config, clock).await.expect("a store");
    let (service, sink) = start(model, &config, store).await;
    App { service, sink, _folder: folder }
}

pub(crate) fn config(folder: &Path) -> Config {
    let mut config = Config::in_dir(folder);
    // The benches say more in a minute than a person is let to: the limit stays, its window is short.
    config.limits.conversation_calls = 10_000;
    config.limits.conversation_window = Duration::from_secs(1);
    config
}

pub(crate) async fn start(model: SharedModel, config: &Config, store: Store) -> (Service, Arc<Sink>) {
    let skills = service::load_skills(config).expect("skills");
    let sink = Arc::new(Sink::default());
    let channels = vec![Channel::open(sink.clone())];
    let models = Models {
        basic: adjutant_engine::orchestrator::BasicMode::Never,
        orchestrator: model.clone(),
        agent: model.clone(),
        intent: Some(model),
        prices: Vec::new(),
        rate_limits: RateLimits::default(),
    };
    let service = Service::start(config, store, skills, models, channels).await.expect("a service");
    (service, sink)
}
