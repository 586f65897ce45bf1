//! The configured models.

use std::collections::HashMap;
use std::sync::Arc;

use adjutant_config::{BUILTIN, Chain, Config, Endpoint, Secret};
use adjutant_engine::orchestrator::BasicMode;
use adjutant_models::counted::Counted;
use adjutant_models::price::SharedPrice;
use adjutant_models::provider::{self, Provider};
use adjutant_models::resilience::Resilient;
use adjutant_models::{ModelError, NoModel, SharedModel};
use adjutant_turn::journal::RateLimits;
use adjutant_types::clock::SharedClock;
use adjutant_workflows::agents::ModelByName;
use parking_lot::Mutex;

use super::StartError;

pub struct Models {
    pub orchestrator: SharedModel,
    pub agent: SharedModel,
    /// When basic mode takes a message.
    pub basic: BasicMode,
    /// Reads what a person asked for; none in basic mode, which obeys nobody else.
    pub intent: Option<SharedModel>,
    /// Their prices, in the order of `ModelConfig::endpoints`.
    pub prices: Vec<SharedPrice>,
    pub rate_limits: RateLimits,
}

pub fn build_models(config: &Config, clock: &SharedClock) -> Result<Models, StartError> {
    let (mut prices, rate_limits) = (Vec::new(), RateLimits::default());
    let orchestrator = chain(&config.model.main, clock, (&mut prices, &rate_limits))?;
    let agent = match &config.model.agent {
        Some(own) => chain(own, clock, (&mut prices, &rate_limits))?,
        None => orchestrator.clone(),
    };
    let is_builtin = |chain: &Chain| chain.first.provider == BUILTIN && chain.fallback.is_empty();
    let basic = match &config.model.main {
        main if is_builtin(main) => BasicMode::Always,
        main if main.fallback.iter().any(|model| model.provider == BUILTIN) => BasicMode::Fallback,
        _ => BasicMode::Never,
    };
    let own = config.model.agent.as_ref().filter(|chain| !is_builtin(chain));
    let intent = match (&config.model.intent, own) {
        (Some(chosen), _) => Some(chain(chosen, clock, (&mut prices, &rate_limits))?),
        (None, Some(_)) => Some(agent.clone()),
        (None, None) => (!is_builtin(&config.model.main)).then(|| orchestrator.clone()),
    };
    Ok(Models { orchestrator, agent, basic, intent, prices, rate_limits })
}

/// Other models of the sub-agents' provider, by name, for roles and workflow agents that ask for one. They
/// have no configured price.
pub(super) fn models_by_name(
    config: &Config,
    clock: &SharedClock,
    (agent, rate_limits): (&SharedModel, &RateLimits),
) -> ModelByName {
    let own = config.model.agent.as_ref().unwrap_or(&config.model.main).clone();
    let clock = clock.clone();
    let (agent, rate_limits) = (agent.clone(), rate_limits.clone());
    let built: Mutex<HashMap<String, SharedModel>> = Mutex::default();
    Arc::new(move |name| {
        if name == own.first.name || own.first.provider == BUILTIN {
            return Ok(agent.clone());
        }
        let mut built = built.lock();
        if let Some(model) = built.get(name) {
            return Ok(model.clone());
        }
        let first = Endpoint { name: name.to_owned(), price: None, ..own.first.clone() };
        let other = Chain { first, fallback: own.fallback.clone() };
        let model = chain(&other, &clock, (&mut Vec::new(), &rate_limits));
        let model = model.map_err(|error| format!("can't set up the model '{name}': {error}"))?;
        built.insert(name.to_owned(), model.clone());
        Ok(model)
    })
}

/// The models without a price, if there is a cost budget: it counts only what their provider reports, after each call.
pub fn unpriced(config: &Config) -> Vec<String> {
    let limits = &config.limits;
    let budgets = [limits.turn_cost_usd, limits.day_cost_usd, limits.all_day_cost_usd];
    if budgets.iter().all(|usd| *usd <= 0.0) {
        return Vec::new();
    }
    let unpriced =
        config.model.endpoints().filter(|endpoint| endpoint.provider != BUILTIN && endpoint.price.is_none());
    let mut names: Vec<String> =
        unpriced.map(|endpoint| format!("{} {}", endpoint.provider, endpoint.name)).collect();
    names.dedup();
    names
}

/// A provider's model, without retries; none in basic mode.
pub fn model_of(endpoint: &Endpoint) -> Result<Option<Provider>, ModelError> {
    match endpoint.provider.as_str() {
        BUILTIN => Ok(None),
        _ => Provider::new(endpoint, provider::http_client()?).map(Some),
    }
}

fn chain(
    chain: &Chain,
    clock: &SharedClock,
    (prices, rate_limits): (&mut Vec<SharedPrice>, &RateLimits),
) -> Result<SharedModel, StartError> {
    let endpoints: Vec<&Endpoint> = chain.all().collect();
    let last = endpoints.iter().rposition(|endpoint| endpoint.provider != BUILTIN);
    let client = provider::http_client()?;
    let mut models: Vec<(String, SharedModel)> = Vec::new();
    for (at, endpoint) in endpoints.into_iter().enumerate() {
        // Basic mode is no model; the orchestrator turns to it when all models have failed.
        if endpoint.provider == BUILTIN {
            prices.push(SharedPrice::default());
            continue;
        }
        let provider = Provider::new(endpoint, client.clone())?;
        prices.push(provider.shared_price());
        let name = format!("{}/{}", endpoint.provider, endpoint.name);
        let model = Arc::new(Counted::new(name.clone(), Arc::new(provider)));
        let limit = limit_of(endpoint);
        models
            .push((name, rate_limits.limited(limit, endpoint.requests_per_minute, Some(at) == last, model)));
    }
    Ok(if models.is_empty() { Arc::new(NoModel) } else { Arc::new(Resilient::new(models, clock.clone())) })
}

/// The key by which a provider counts requests: the server, the model and the key.
fn limit_of(endpoint: &Endpoint) -> (String, Option<&Secret>) {
    let server = endpoint.base_url.as_deref().and_then(|url| reqwest::Url::parse(url).ok());
    let server = server.map(|url| {
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!(" at {}{port}", url.host_str().unwrap_or_default())
    });
    let name = format!("{}/{}{}", endpoint.provider, endpoint.name, server.unwrap_or_default());
    (name, endpoint.api_key.as_ref())
}
