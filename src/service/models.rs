//! The configured models.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use super::StartError;
use crate::agents::ModelByName;
use crate::clock::SharedClock;
use crate::config::{BUILTIN, Chain, Config, Endpoint, ModelConfig, Secret};
use crate::journal::RateLimits;
use crate::model::builtin::{IntentSource, Intents, Lookup, Planner};
use crate::model::counted::Counted;
use crate::model::price::{Price, SharedPrice};
use crate::model::provider::{self, Provider, ProviderConfig};
use crate::model::resilience::Resilient;
use crate::model::{ModelError, SharedModel};
use crate::skills::{self, Registry, Skills};

/// The models in use.
pub struct Models {
    /// The orchestrator's.
    pub orchestrator: SharedModel,
    /// The sub-agents'.
    pub agent: SharedModel,
    /// Reads what a person asked for; none where every model is the built-in one, which obeys nobody.
    pub intent: Option<SharedModel>,
    /// Their prices, in the order of [`endpoints`].
    pub prices: Vec<SharedPrice>,
    /// How often they may be asked.
    pub rate_limits: RateLimits,
}

/// Builds the configured models.
pub fn build_models(
    config: &Config,
    skills: &Arc<Skills>,
    clock: &SharedClock,
) -> Result<Models, StartError> {
    let (mut prices, rate_limits) = (Vec::new(), RateLimits::default());
    let orchestrator = chain(&config.model.main, skills, clock, (&mut prices, &rate_limits))?;
    let agent = match &config.model.agent {
        Some(own) => chain(own, skills, clock, (&mut prices, &rate_limits))?,
        None => orchestrator.clone(),
    };
    let is_builtin = |chain: &Chain| chain.first.provider == BUILTIN && chain.fallback.is_empty();
    let own = config.model.agent.as_ref().filter(|chain| !is_builtin(chain));
    let intent = match (&config.model.intent, own) {
        (Some(chosen), _) => Some(chain(chosen, skills, clock, (&mut prices, &rate_limits))?),
        (None, Some(_)) => Some(agent.clone()),
        (None, None) => (!is_builtin(&config.model.main)).then(|| orchestrator.clone()),
    };
    Ok(Models { orchestrator, agent, intent, prices, rate_limits })
}

/// Other models of the sub-agents' provider, by name, for roles and workflow agents that ask for one. The built-in planner answers
/// to every name. These models have no configured price.
pub(super) fn models_by_name(
    config: &Config,
    skills: &Arc<Skills>,
    clock: &SharedClock,
    (agent, rate_limits): (&SharedModel, &RateLimits),
) -> ModelByName {
    let own = config.model.agent.as_ref().unwrap_or(&config.model.main).clone();
    let (skills, clock) = (skills.clone(), clock.clone());
    let (agent, rate_limits) = (agent.clone(), rate_limits.clone());
    let built: Mutex<HashMap<String, SharedModel>> = Mutex::default();
    Arc::new(move |name| {
        if name == own.first.name || own.first.provider == BUILTIN {
            return Ok(agent.clone());
        }
        let mut built = built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = built.get(name) {
            return Ok(model.clone());
        }
        let first = Endpoint { name: name.to_owned(), price: None, ..own.first.clone() };
        let other = Chain { first, fallback: own.fallback.clone() };
        let model = chain(&other, &skills, &clock, (&mut Vec::new(), &rate_limits));
        let model = model.map_err(|error| format!("can't set up the model '{name}': {error}"))?;
        built.insert(name.to_owned(), model.clone());
        Ok(model)
    })
}

/// All configured models, in the order in which they are built.
pub(super) fn endpoints(config: &ModelConfig) -> impl Iterator<Item = &Endpoint> {
    let chains = std::iter::once(&config.main).chain(&config.agent).chain(&config.intent);
    chains.flat_map(|chain| std::iter::once(&chain.first).chain(&chain.fallback))
}

pub(super) fn price_of(endpoint: &Endpoint) -> Option<Price> {
    let price = endpoint.price.as_ref();
    price.map(|it| Price { input: it.input, cached_input: it.cached_input, output: it.output })
}

/// The models without a price, if there is a cost budget: it counts only what their provider reports, after each call.
pub fn unpriced(config: &Config) -> Vec<String> {
    let limits = &config.limits;
    let budgets = [limits.turn_cost_usd, limits.day_cost_usd, limits.all_day_cost_usd];
    if budgets.iter().all(|usd| *usd <= 0.0) {
        return Vec::new();
    }
    let unpriced = endpoints(&config.model).filter(|it| it.provider != BUILTIN && it.price.is_none());
    let mut names: Vec<String> = unpriced.map(|it| format!("{} {}", it.provider, it.name)).collect();
    names.dedup();
    names
}

/// A provider's model, without retries; none for the built-in planner.
pub fn model_of(endpoint: &Endpoint) -> Result<Option<Provider>, ModelError> {
    match endpoint.provider.as_str() {
        BUILTIN => Ok(None),
        _ => Provider::with_client(provider_config(endpoint), provider::http_client()?).map(Some),
    }
}

fn chain(
    chain: &Chain,
    skills: &Arc<Skills>,
    clock: &SharedClock,
    (prices, rate_limits): (&mut Vec<SharedPrice>, &RateLimits),
) -> Result<SharedModel, StartError> {
    if chain.first.provider == BUILTIN && chain.fallback.is_empty() {
        prices.push(SharedPrice::default());
        return Ok(Arc::new(Counted::new(BUILTIN.to_owned(), planner(skills.clone()))));
    }
    let client = provider::http_client()?;
    let mut models: Vec<(String, SharedModel)> = Vec::new();
    for (at, endpoint) in std::iter::once(&chain.first).chain(&chain.fallback).enumerate() {
        let model: SharedModel = match endpoint.provider.as_str() {
            BUILTIN => {
                prices.push(SharedPrice::default());
                planner(skills.clone())
            }
            _ => {
                let provider = Provider::with_client(provider_config(endpoint), client.clone())?;
                prices.push(provider.shared_price());
                Arc::new(provider)
            }
        };
        let name = format!("{}/{}", endpoint.provider, endpoint.name);
        let model = Arc::new(Counted::new(name.clone(), model));
        let (limit, is_last) = (limit_of(endpoint), at == chain.fallback.len());
        models.push((name, rate_limits.limited(limit, endpoint.requests_per_minute, is_last, model)));
    }
    Ok(Arc::new(Resilient::new(models, clock.clone())))
}

/// What a provider counts requests by: the server, the model and the key.
fn limit_of(endpoint: &Endpoint) -> (String, Option<&Secret>) {
    let server = endpoint.base_url.as_deref().and_then(|url| reqwest::Url::parse(url).ok());
    let server = server.map(|url| {
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!(" at {}{port}", url.host_str().unwrap_or_default())
    });
    let name = format!("{}/{}{}", endpoint.provider, endpoint.name, server.unwrap_or_default());
    (name, endpoint.api_key.as_ref())
}

fn provider_config(endpoint: &Endpoint) -> ProviderConfig {
    ProviderConfig {
        provider: endpoint.provider.clone(),
        name: endpoint.name.clone(),
        api_key: endpoint.api_key.as_ref().map(|key| key.expose().to_owned()),
        base_url: endpoint.base_url.clone(),
        timeout: endpoint.timeout,
        price: price_of(endpoint),
        pictures: endpoint.takes_pictures(),
    }
}

/// The built-in planner. It follows the skills as they are reloaded.
fn planner(skills: Arc<Skills>) -> SharedModel {
    let compiled: RwLock<(Weak<Registry>, Arc<Intents>)> = RwLock::default();
    Arc::new(Planner::new(Arc::new(move || {
        let registry = skills.current();
        let read = compiled.read().unwrap_or_else(PoisonError::into_inner);
        if read.0.upgrade().is_some_and(|known| Arc::ptr_eq(&known, &registry)) {
            return read.1.clone();
        }
        drop(read);
        let intents = Arc::new(intents(&registry));
        *compiled.write().unwrap_or_else(PoisonError::into_inner) =
            (Arc::downgrade(&registry), intents.clone());
        intents
    })))
}

/// The intents of all skills.
fn intents(registry: &Registry) -> Intents {
    let lookup =
        |known: &skills::Lookup| Lookup { skill: known.skill.clone(), arguments: known.arguments.clone() };
    let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
    let sources = skills.flat_map(|skill| {
        skill.intents.iter().map(|intent| IntentSource {
            skill: skill.name.clone(),
            pattern: intent.pattern.clone(),
            arguments: intent.arguments.clone(),
            lookup: intent.lookup.as_ref().map(lookup),
            also: intent.also.as_ref().map(lookup),
            example: intent.example.clone(),
        })
    });
    Intents::new(sources.collect()).unwrap_or_else(|error| {
        tracing::error!(%error, "the built-in planner can't use the skills' patterns");
        Intents::default()
    })
}
