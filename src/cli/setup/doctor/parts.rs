//! Checks of our own parts: store, backups, skills, models, accounts, channels.

use std::collections::BTreeMap;

use adjutant_chat::Finding;
use adjutant_config::{Chain, Config, Endpoint, McpLaunch, ModelConfig};
use adjutant_models::{Message, Model, ModelError, ModelErrorKind, Request, Role};
use adjutant_skills::handlers::mcp::{Inspection, McpServers, ToolState};
use adjutant_skills::handlers::{self, HttpClient};
use adjutant_skills::oauth::OAuth;
use adjutant_store::{Store, StoreError, backups, check, dead, space};
use adjutant_types::clock::{Clock, SystemClock, rfc3339};
use adjutant_workflows::trace::text::several;
use futures::future::join_all;

use super::{Checks, failed, voice};
use crate::service::{self, Channel, StartError};

/// Checks what the store contains.
pub(super) async fn store(store: &Store) -> Result<Vec<Finding>, StoreError> {
    let mut findings = vec![Finding::ok(format!("{} is readable and writable", store.backend().shown()))];
    for broken in check::findings(store).await? {
        findings.push(Finding::error(
            format!("{} ({})", broken.rule, broken.rows.len()),
            "run `adjutant db check` to list the rows, and please report it",
        ));
    }
    let counts = check::counts(store).await?;
    let count = |name: &str| {
        let count = counts.iter().find(|(label, _)| *label == name).map_or(0, |(_, count)| *count);
        usize::try_from(count).unwrap_or(0)
    };
    let dead = count("messages dead");
    if dead > 0 {
        findings.push(Finding::warning(
            format!("{} failed three times and won't be retried", several(dead, "message")),
            "the senders were told; see the log, or `adjutant trace --conversation NAME`",
        ));
    }
    let dead_letters = dead::arrivals(store).await?;
    if let Some((event, at)) = dead_letters.last() {
        findings.push(Finding::warning(
            format!(
                "{} set aside because our code failed on it three times, the last one {event} at {}",
                several(dead_letters.len(), "arrival"),
                rfc3339(*at)
            ),
            "see the log for the reason, and please report it",
        ));
    }
    let dead = count("replies dead");
    if dead > 0 {
        findings.push(Finding::warning(
            format!("{} could not be delivered and won't be retried", several(dead, "answer")),
            "see the log for the reasons: the chat is gone, or the platform was unreachable for a day",
        ));
    }
    if let Some(pages) = space::pages(store).await?
        && !pages.gives_back
        && pages.spare() > 0
    {
        findings.push(Finding::warning(
            format!(
                "{} % of its file is unused, and can't be freed while it is in use",
                pages.free * 100 / pages.all.max(1)
            ),
            "stop the service and run `adjutant db vacuum` once; after that, space is freed automatically",
        ));
    }
    let stuck = check::stuck_leases(store).await?;
    if stuck > 0 {
        findings.push(Finding::warning(
            format!("{} held by dead processes", several(stuck, "lease")),
            "a running `adjutant serve` frees them within seconds; if not, restart it",
        ));
    }
    Ok(findings)
}

pub(super) fn backups(config: &Config, now: i64) -> Option<Finding> {
    let backup = config.backup.as_ref()?;
    let folder = backup.path.display();
    let fix = "`adjutant serve` makes them; see its log";
    let copies = match backups::list(&backup.path) {
        Ok(copies) => copies,
        Err(error) => {
            let fix = "make it a folder that the service's user can read and write";
            return Some(Finding::error(format!("can't read {folder}: {error}"), fix));
        }
    };
    let Some((newest, _)) = copies.last() else {
        return Some(Finding::warning(format!("no backup in {folder} yet"), fix));
    };
    let every = i64::try_from(backup.every.as_millis()).unwrap_or(i64::MAX);
    let reason =
        format!("{} in {folder}, the newest from {}", several(copies.len(), "backup"), rfc3339(*newest));
    let is_late = now.saturating_sub(*newest) > every.saturating_mul(2);
    Some(if is_late { Finding::warning(reason, fix) } else { Finding::ok(reason) })
}

/// Looks into the folders that are watched.
pub(super) fn folders(config: &Config) -> impl Iterator<Item = Finding> {
    let fix = "make it a folder that the service's user can read, or take it out of [watching] folders";
    config.watched_folders.iter().map(move |folder| match std::fs::read_dir(folder) {
        Ok(_) => Finding::ok(format!("{folder} can be read")),
        Err(error) => Finding::error(format!("can't read {folder}: {error}"), fix),
    })
}

/// Checks the skill and workflow files, and what skills need: programs, secrets, hosts.
pub(super) async fn skills(config: &Config) -> Vec<Finding> {
    match service::load_skills(config) {
        Ok(skill_set) => {
            let registry = skill_set.skills.current();
            let count: usize = registry.domains().iter().map(|domain| domain.skills.len()).sum();
            let (skills, domains) = (several(count, "skill"), several(registry.domains().len(), "domain"));
            let loaded = Finding::ok(format!("{skills} in {domains}"));
            let workflows = skill_set.workflows.current();
            let problems = workflows.problems.iter().filter(|problem| !problem.is_warning());
            let fix = "correct the file and run `adjutant workflow check`";
            let problems = problems.map(|problem| Finding::warning(problem.to_string(), fix));
            let missing = handlers::check(&registry, &HttpClient::new()).await;
            let missing = missing.into_iter().map(|(skill, error)| {
                let fix = format!("install or set it, or correct {skill} in its file");
                Finding::error(format!("{skill}: {error}"), fix)
            });
            std::iter::once(loaded).chain(problems).chain(missing).collect()
        }
        Err(StartError::Skills(problems)) => {
            let fix = "correct the file and run `adjutant skills check`";
            problems.iter().map(|problem| Finding::error(problem.to_string(), fix)).collect()
        }
        Err(error) => vec![failed(&error)],
    }
}

/// Asks for a token of each login, and finds the logins that skills need and nobody has configured.
pub(super) async fn logins(config: &Config, store: Option<&Store>, checks: &mut Checks) {
    let oauth = OAuth::new(config);
    if let Some(store) = store {
        oauth.attach(store);
    }
    for name in config.oauth.keys().filter(|_| store.is_some()) {
        let finding = match oauth.token(name).await {
            Ok(_) => Finding::ok("logged in"),
            Err(error) => Finding::error(error.message.whole(), format!("run `adjutant oauth login {name}`")),
        };
        checks.add(&format!("oauth.{name}"), finding);
    }
    let Ok(skill_set) = service::load_skills(config) else { return };
    let registry = skill_set.skills.current();
    let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
    let of_servers = config.mcp.iter().filter_map(|(name, server)| match &server.launch {
        McpLaunch::Url { oauth: Some(login), .. } => Some((login.as_str(), format!("[mcp.{name}]"))),
        _ => None,
    });
    let needed = skills.filter_map(|skill| Some((skill.login()?, format!("{}.*", skill.domain))));
    let needed: BTreeMap<&str, String> = needed.chain(of_servers).collect();
    for (name, user) in needed.into_iter().filter(|(name, _)| !config.oauth.contains_key(*name)) {
        let fix = format!("add [oauth.{name}] to the configuration; docs/connectors.md has examples");
        checks.add(
            &format!("oauth.{name}"),
            Finding::error(format!("{user} needs a login that isn't configured"), fix),
        );
    }
}

/// Starts each MCP server and compares its tools with what is approved.
pub(super) async fn mcp(config: &Config, store: &Store, checks: &mut Checks) {
    let servers = McpServers::new(config);
    if let Err(error) = servers.load(store).await {
        return checks.add("mcp", Finding::error(error.to_string(), "run `adjutant db check`"));
    }
    let inspected = join_all(servers.names().map(async |name| (name, servers.inspect(name).await))).await;
    servers.stop().await;
    for (name, found) in inspected {
        let finding = match found {
            Ok(found) => tools(name, &found),
            Err(error) => Finding::error(error.message.whole(), format!("correct [mcp.{name}]")),
        };
        checks.add(&format!("mcp.{name}"), finding);
    }
}

fn tools(name: &str, found: &Inspection) -> Finding {
    let count = |is: fn(&ToolState) -> bool| found.tools.iter().filter(|(_, state)| is(state)).count();
    let approved = count(|state| *state == ToolState::Approved);
    let open = count(|state| matches!(state, ToolState::New | ToolState::Changed(_))) + found.gone.len();
    let reason = format!("{} of {} approved", approved, several(found.tools.len(), "tool"));
    if open == 0 {
        return Finding::ok(reason);
    }
    let reason = format!("{reason}; {} new, changed or gone", several(open, "tool"));
    Finding::warning(reason, format!("run `adjutant mcp approve {name}`"))
}

/// Asks each configured model for one word.
pub(in crate::cli) async fn models(config: &ModelConfig) -> Vec<Finding> {
    let chains = std::iter::once(&config.main).chain(&config.agent);
    let mut endpoints: Vec<&Endpoint> = Vec::new();
    for endpoint in chains.flat_map(Chain::all) {
        if !endpoints.contains(&endpoint) {
            endpoints.push(endpoint);
        }
    }
    join_all(endpoints.into_iter().map(model)).await
}

async fn model(endpoint: &Endpoint) -> Finding {
    let name = format!("{} {}", endpoint.provider, endpoint.name);
    let name = name.trim();
    let built = match service::model_of(endpoint) {
        Ok(Some(built)) => built,
        Ok(None) => return Finding::ok("none: basic mode, which understands only simple sentences"),
        Err(error) => return Finding::error(format!("{name}: {error}"), fix(&error, endpoint)),
    };
    let request = Request {
        messages: vec![
            Message::new(Role::System, "You answer with one word."),
            Message::new(Role::User, "Say: ready"),
        ],
        ..Request::default()
    };
    let started = SystemClock.now_ms();
    match voice::patiently(built.call(&request)).await {
        Ok(_) => Finding::ok(format!("{name} answered in {} ms", SystemClock.now_ms() - started)),
        Err(error) => Finding::error(format!("{name}: {error}"), fix(&error, endpoint)),
    }
}

fn fix(error: &ModelError, endpoint: &Endpoint) -> &'static str {
    let is_ollama = endpoint.provider == "ollama";
    match error.kind {
        ModelErrorKind::Network if is_ollama => "start Ollama: `ollama serve`",
        ModelErrorKind::Refused if is_ollama => "run `ollama pull` with the name of the model",
        ModelErrorKind::Auth => "set [model] api_key to a valid key",
        ModelErrorKind::RateLimit => "check your limits and credit with the provider",
        ModelErrorKind::Network | ModelErrorKind::Timeout => {
            "check this machine's network and [model] base_url"
        }
        ModelErrorKind::Refused => "check [model] provider, name and base_url",
        ModelErrorKind::NoModel => "add a language model: `adjutant init`",
        ModelErrorKind::Nonsense => {
            "check that the server at [model] base_url speaks the provider's protocol"
        }
    }
}

/// Warns of models without a price if there is a cost budget.
pub(super) fn limits(config: &Config) -> Vec<Finding> {
    let finding = |model: String| {
        Finding::warning(
            format!(
                "{model} has no price, so cost budgets count only what its provider reports, after each call"
            ),
            "set its `price` in [model], or add a token budget",
        )
    };
    service::unpriced(config).into_iter().map(finding).collect()
}

/// Logs in to the mail, calendar and contacts accounts.
pub(super) async fn accounts(config: &Config, checks: &mut Checks) {
    match service::build_services(config, BTreeMap::new()) {
        Ok(services) => {
            for (section, finding) in services.check().await {
                checks.add(section, finding);
            }
        }
        Err(error) => checks.add("accounts", failed(&error)),
    }
}

/// Checks that the collector accepts traces, if there is one.
pub(super) async fn traces(config: &Config) -> Option<Finding> {
    match service::trace_collector(config, &"doctor".into()) {
        Ok(collector) => Some(collector?.check().await),
        Err(error) => Some(failed(&error)),
    }
}

/// Checks each channel and who may talk there.
pub(super) async fn channels(channels: Vec<Channel>, config: &Config, checks: &mut Checks) {
    if channels.is_empty() {
        let reason = "none connected yet; only `adjutant chat` works";
        checks.add("channels", Finding::ok(reason));
        return;
    }
    let checks_of = channels.iter().map(async |channel| match &channel.connection {
        Some(connection) => connection.check().await,
        None => Vec::new(),
    });
    let found = join_all(checks_of).await;
    for (channel, findings) in channels.iter().zip(found) {
        let name = channel.port.channel();
        let is_owned = config.assistant.owner.iter().any(|owner| owner.starts_with(&format!("{name}:")));
        let name = format!("channels.{name}");
        checks.add_all(&name, findings);
        if channel.allow.is_empty() && !is_owned {
            let reason = "nobody may talk here yet, and no owner is on this channel to let people in";
            let fix = format!(
                "set [assistant] owner or [{name}] allow, or let people in with `adjutant pair approve CODE`"
            );
            checks.add(&name, Finding::warning(reason, fix));
        }
        // The page lets in those who have signed in.
        if channel.page.is_none() && channel.allow.iter().any(|who| who == "*") {
            let reason = "everyone on this platform may talk, at your expense";
            checks.add(
                &name,
                Finding::warning(reason, format!("list people in [{name}] allow instead of \"*\"")),
            );
        }
    }
}
