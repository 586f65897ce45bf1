//! A whole service with a scripted model and the embedded store, and a channel that takes everything at once.

use std::sync::Arc;
use std::time::Duration;

use adjutant::service::{self, Channel, Models, Service};
use adjutant_config::Config;
use adjutant_models::SharedModel;
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
    let mut config = Config::in_dir(folder.path().to_owned());
    // The benches say more in a minute than a person is let to: the limit stays, its window is short.
    config.limits.conversation_calls = 10_000;
    config.limits.conversation_window = Duration::from_secs(1);
    let clock: SharedClock = Arc::new(SystemClock);
    let store = service::open_store(&config, clock).await.expect("a store");
    let skills = service::load_skills(&config).expect("skills");
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
    let service = Service::start(&config, store, skills, models, channels).await.expect("a service");
    App { service, sink, _folder: folder }
}
