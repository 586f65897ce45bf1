//! `adjutant serve`: runs every configured channel until it gets a signal to stop.

mod reload;
mod settings;
mod watch;

use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::WebhookResponse;
use adjutant_config::{Config, ConfigError, Env};
use adjutant_engine::gateway::health::Health;
use adjutant_store::leases;
use adjutant_types::clock::{SharedClock, SystemClock};
use futures::FutureExt;
use reqwest::Url;

use super::{CliError, Result, next, tell};
use crate::heap;
use crate::http::{HttpServer, Readiness, ReadinessCheck, Webhooks};
use crate::lifecycle::{ReloadSignals, ServiceManager, ShutdownSignals};
use crate::logging::LogFilter;
use crate::service::{self, Channel, Service};
use settings::Editor;

/// How long running turns may take to end; the next start resumes the rest.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn run(config: Config, env: &Env, logs: &LogFilter) -> Result<ExitCode> {
    logs.apply(config.log.as_deref());
    let (mut stops, mut reloads) = listen_for_signals()?;
    let channels = service::connect(&config)?;
    if channels.is_empty() {
        return Err(CliError::Missing(format!(
            "no chat platform is connected yet, so there is nothing to serve\n{} `adjutant chat` talks in a terminal.",
            next::step(&config)
        )));
    }
    let clock: SharedClock = Arc::new(SystemClock);
    service::private::make_data_dir(&config);
    let skill_set = service::load_skills(&config)?;
    skill_set.workflows.current().log_problems();
    let models = service::build_models(&config, &clock)?;
    let http = bind(&config).await?;
    let page = bind_page(&channels).await?;
    let store = service::open_store(&config, clock).await?;
    let mut service = Service::start(&config, store, skill_set.clone(), models, channels).await?;
    service.start_store_maintenance(&config);
    service.start_trace_export(&config)?;
    tokio::spawn(heap::trim_regularly());
    if io::stdout().is_terminal() {
        tell(&next_steps(&config))?;
    }
    let manager = ServiceManager::default();
    let http = serve_http(http, &service);
    let page = serve_page(page, &service, Editor::new(&config, env, &service, &skill_set));
    let mut is_restart = false;
    let ended = tokio::select! {
        () = stops.next() => {
            tracing::info!("stopping: no new turns, running ones get {} s", PATIENCE.as_secs());
            Ok(ExitCode::SUCCESS)
        }
        () = service.live.restart.notified() => {
            is_restart = true;
            Ok(ExitCode::SUCCESS)
        }
        () = service.health.wait_until_all_stopped() => Err(all_stopped(&config, &service.health).into()),
        ended = http => Err(failed("the HTTP endpoint failed", ended)),
        ended = page => Err(failed("the web page failed", ended)),
        never = watch::report(&service, &manager) => match never {},
        never = reload::reload(&config, env, &mut reloads, (&skill_set, &service.live, logs), &manager) => match never {},
    };
    if is_restart {
        manager.reloading();
    } else {
        manager.stopping();
    }
    match shut_down(service, &mut stops).await? {
        true if is_restart => Err(start_again(config.path.as_deref())),
        _ => ended,
    }
}

fn failed(what: &str, ended: io::Result<()>) -> CliError {
    CliError::failed(what, ended.err().map(|error| error.to_string()).unwrap_or_default())
}

/// Becomes a new process with the same id, so that a service manager sees none end. Returns only if that fails.
fn start_again(path: Option<&Path>) -> CliError {
    let mut words = std::env::args_os();
    let mut command = Command::new(words.next().unwrap_or_default());
    let words: Vec<_> = words.collect();
    match path.filter(|_| !words.iter().any(|word| word == "serve")) {
        // `adjutant init` has gone on as the service.
        Some(path) => command.arg("--config").arg(path).arg("serve"),
        None => command.args(words),
    };
    CliError::failed("can't start again", command.exec())
}

/// What a person who started it at a terminal does next.
fn next_steps(config: &Config) -> String {
    let missing = next::missing(config).into_iter();
    let missing =
        missing.map(|(what, until)| format!("Missing: {what}; until then, {until}. Run `adjutant init`.\n"));
    missing.collect::<String>() + "Next step: write to it in a chat. Ctrl-C stops it.\n"
}

fn listen_for_signals() -> Result<(ShutdownSignals, ReloadSignals)> {
    let signals = ShutdownSignals::listen().and_then(|stops| Ok((stops, ReloadSignals::listen()?)));
    signals.map_err(|error| CliError::failed("can't listen for signals", error))
}

async fn serve_http(http: Option<HttpServer>, service: &Service) -> io::Result<()> {
    let Some(http) = http else { return std::future::pending().await };
    http.serve(service.stuck_tasks(), readiness(service), service.metrics(), hooks(service)).await
}

/// Binds the web page's address, if there is a page.
async fn bind_page(channels: &[Channel]) -> Result<Option<HttpServer>> {
    let Some(settings) =
        channels.iter().find_map(|channel| channel.page.as_ref()).map(|page| page.settings())
    else {
        return Ok(None);
    };
    let (listen, name) = (settings.listen, &settings.channel);
    let bound = HttpServer::bind(listen).await;
    bound.map(Some).map_err(|error| {
        CliError::plain(format!("can't listen on {listen}: {error}; change [channels.{name}] listen"))
    })
}

async fn serve_page(bound: Option<HttpServer>, service: &Service, editor: Editor) -> io::Result<()> {
    let (Some(bound), Some((page, backend))) = (bound, service.page()) else {
        return std::future::pending().await;
    };
    let (routes, look) = adjutant_web::router(&page, backend, Arc::new(editor));
    tracing::info!("Web page: {}", page.settings().public_url);
    let routes = routes.merge(bound.hook_routes(hooks(service)));
    tokio::select! {
        served = bound.serve_routes(routes) => served,
        () = look => Ok(()),
    }
}

/// Binds the HTTP endpoint, if there is one, before anything is received.
async fn bind(config: &Config) -> Result<Option<HttpServer>> {
    let Some(address) = config.listen else { return Ok(None) };
    let http = HttpServer::bind(address).await.map_err(|error| {
        CliError::plain(format!(
            "can't listen on {address}: {error}; change [http] listen, or set it to \"\""
        ))
    })?;
    if let Ok(address) = http.address() {
        tracing::info!("Readiness: http://{address}/readyz");
    }
    Ok(Some(http))
}

fn hooks(service: &Service) -> Webhooks {
    let (receivers, watcher) = (service.receivers.clone(), service.watcher.clone());
    Arc::new(move |(to, query), request| {
        let receiver = receivers.iter().find(|receiver| receiver.channel == to).cloned();
        let watcher = watcher.clone();
        async move {
            let watch = to.strip_prefix("watch/").and_then(|rest| rest.split_once('/'));
            match (receiver, watch) {
                (Some(receiver), _) => receiver.webhook(request).await,
                (None, Some((id, secret))) => watcher.webhook(&id.into(), secret, request).await,
                (None, None) if to == "graph" => watcher.take_push(validation_token(&query), &request),
                (None, None) => WebhookResponse::not_found(),
            }
        }
        .boxed()
    })
}

/// What Microsoft wants back from an address that is to be told something.
fn validation_token(query: &str) -> Option<String> {
    let url = Url::parse(&format!("http://localhost/?{query}")).ok()?;
    url.query_pairs().find(|(name, _)| name == "validationToken").map(|(_, token)| token.into_owned())
}

fn readiness(service: &Service) -> ReadinessCheck {
    let (store, health, live) = (service.store().clone(), service.health.clone(), service.live.clone());
    let is_sharing = service.is_sharing();
    Arc::new(move || {
        let (store, health, live) = (store.clone(), health.clone(), live.clone());
        async move {
            let mut problems = Vec::new();
            let answer = tokio::time::timeout(watch::STORE_TIMEOUT, leases::ping(&store)).await;
            let error =
                answer.map_or_else(|late| Some(late.to_string()), |ping| Some(ping.err()?.to_string()));
            if let Some(error) = error {
                tracing::error!(error, "the store does not answer");
                problems.push("store: it does not answer".to_owned());
            }
            problems.extend(health.errors().into_iter().map(|(channel, why)| format!("{channel}: {why}")));
            let mut warnings = live.notes();
            let standby = health.words().into_iter().filter(|(_, word)| *word == "standing by");
            let here = match is_sharing {
                true => "this one runs its share of the turns",
                false => "this one stands by and serves its web page",
            };
            warnings.extend(
                standby.map(|(channel, _)| format!("{channel}: another instance receives it; {here}")),
            );
            Readiness { problems, warnings }
        }
        .boxed()
    })
}

/// False if a signal came meanwhile: it means now, and for good. The journal has the rest.
async fn shut_down(service: Service, stops: &mut ShutdownSignals) -> Result<bool> {
    tokio::select! {
        result = service.shut_down(PATIENCE) => Ok(result.map(|()| true)?),
        () = stops.next() => Ok(false),
    }
}

fn all_stopped(config: &Config, health: &Health) -> ConfigError {
    let why: Vec<String> =
        health.errors().into_iter().map(|(channel, why)| format!("channels.{channel}: {why}")).collect();
    ConfigError::one(config.path.as_deref().and_then(|path| path.to_str()), why.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_given_back_as_it_was() {
        let token = |query| validation_token(query);
        assert_eq!(token("validationToken=a%20b%3A%2B%C3%A9").as_deref(), Some("a b:+é"));
        assert_eq!((token(""), token("other=1&validation=2")), (None, None));
    }
}
