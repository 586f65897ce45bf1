//! `adjutant serve`: every channel of the configuration, until it is told to stop.

mod reload;
mod watch;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::WebhookResponse;
use futures::FutureExt;

use super::CliError;
use crate::clock::{SharedClock, SystemClock};
use crate::config::{Config, ConfigError, Env};
use crate::gateway::receiver::{ChannelReceiver, Health};
use crate::heap;
use crate::http::{Hooks, Http, Readiness, Ready};
use crate::lifecycle::{Manager, Reloads, Stops};
use crate::logging::Logs;
use crate::service::{self, Service};

/// How long running turns get to come to their end; what is left then goes on with the next start.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn run(config: Config, env: &Env, logs: &Logs) -> Result<ExitCode, CliError> {
    logs.follow(config.log.as_deref());
    let (mut stops, mut reloads) = listen()?;
    let channels = service::connect(&config)?;
    if channels.is_empty() {
        return Err(no_channel(&config).into());
    }
    let clock: SharedClock = Arc::new(SystemClock);
    let skill_set = service::load_skills(&config)?;
    skill_set.workflows.current().log_problems();
    let models = service::build_models(&config, &skill_set.skills, &clock)?;
    let http = bind(&config).await?;
    let store = service::open_store(&config, clock).await?;
    let mut service = Service::start(&config, store, skill_set.clone(), models, channels).await?;
    service.look_after_store(&config);
    service.send_traces(&config)?;
    tokio::spawn(heap::give_back());
    let manager = Manager::default();
    let http = answer(http, &service);
    let ended = tokio::select! {
        () = stops.next() => {
            tracing::info!("told to stop: no new turns, running ones get {} s", PATIENCE.as_secs());
            Ok(ExitCode::SUCCESS)
        }
        () = all_stopped(&service.health) => Err(stopped(&config, &service.health).into()),
        failed = http => {
            let why = failed.err().map(|error| error.to_string()).unwrap_or_default();
            Err(CliError::failed("the HTTP endpoint failed", why))
        }
        never = watch::tell(&service, &manager) => match never {},
        never = reload::reload(&config, env, &mut reloads, (&skill_set, &service.live, logs), &manager) => match never {},
    };
    manager.stopping();
    leave(service, &mut stops).await?;
    ended
}

fn listen() -> Result<(Stops, Reloads), CliError> {
    let signals = Stops::listen().and_then(|stops| Ok((stops, Reloads::listen()?)));
    signals.map_err(|error| CliError::failed("no signals can be listened to", error))
}

async fn answer(http: Option<Http>, service: &Service) -> io::Result<()> {
    let Some(http) = http else { return std::future::pending().await };
    http.serve(service.stuck(), is_ready(service), service.numbers(), hooks(service.doors.clone())).await
}

/// Takes the address of the HTTP endpoint, if there is to be one, before anything is received.
async fn bind(config: &Config) -> Result<Option<Http>, CliError> {
    let Some(address) = config.listen else { return Ok(None) };
    let http = Http::bind(address).await.map_err(|error| {
        CliError::failed(
            format!("{address} can't be listened on; change [http] listen, or set it to \"\""),
            error,
        )
    })?;
    if let Ok(address) = http.address() {
        tracing::info!("ready? http://{address}/readyz tells");
    }
    Ok(Some(http))
}

fn hooks(doors: Vec<Arc<ChannelReceiver>>) -> Hooks {
    Arc::new(move |channel, request| {
        let door = doors.iter().find(|door| door.channel == channel).cloned();
        async move {
            match door {
                Some(door) => door.webhook(request).await,
                None => WebhookResponse::not_found(),
            }
        }
        .boxed()
    })
}

fn is_ready(service: &Service) -> Ready {
    let (store, health, live) = (service.store().clone(), service.health.clone(), service.live.clone());
    Arc::new(move || {
        let (store, health, live) = (store.clone(), health.clone(), live.clone());
        async move {
            let mut troubles = Vec::new();
            let asked = store.count("SELECT count(*) FROM instances", &[]);
            let why = match tokio::time::timeout(watch::ANSWERS, asked).await {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(late) => Some(late.to_string()),
            };
            if let Some(error) = why {
                tracing::error!(error, "the store does not answer");
                troubles.push("store: it does not answer".to_owned());
            }
            troubles.extend(health.troubles().into_iter().map(|(channel, why)| format!("{channel}: {why}")));
            Readiness { troubles, notes: live.notes() }
        }
        .boxed()
    })
}

async fn all_stopped(health: &Health) {
    while !health.all_stopped() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn leave(service: Service, stops: &mut Stops) -> Result<(), CliError> {
    let left = tokio::select! {
        left = service.shut_down(PATIENCE) => left,
        // Who asks twice does not want to wait; the journal has what is left.
        () = stops.next() => Ok(()),
    };
    Ok(left?)
}

fn no_channel(config: &Config) -> ConfigError {
    ConfigError::one(
        config.path.as_deref().and_then(|path| path.to_str()),
        "there is no channel to serve; add one under [channels] as config.example.toml shows, or talk with `adjutant chat`",
    )
}

fn stopped(config: &Config, health: &Health) -> ConfigError {
    let why: Vec<String> =
        health.troubles().into_iter().map(|(channel, why)| format!("channels.{channel}: {why}")).collect();
    ConfigError::one(config.path.as_deref().and_then(|path| path.to_str()), why.join("\n"))
}
