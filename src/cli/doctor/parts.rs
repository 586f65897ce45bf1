//! Our own parts: the store, the skills, the models, the channels.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_chat::Finding;
use futures::future::join_all;

use super::Checks;
use crate::clock::{Clock, SystemClock, rfc3339};
use crate::config::{Config, Endpoint, ModelConfig};
use crate::model::{Message, Model, ModelError, ModelErrorKind, Request, Role};
use crate::service::{self, Channel, StartError};
use crate::store::{Store, StoreError, backups, check, space};

/// A model that is slower than this in saying one word is taken for one that does not answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is in the store and should not be.
pub(super) async fn store(store: &Store) -> Result<Vec<Finding>, StoreError> {
    let mut findings = vec![Finding::ok(format!("{} can be read and written", store.backend().shown()))];
    for broken in check::findings(store).await? {
        findings.push(Finding::error(
            format!("{} ({})", broken.rule, broken.rows.len()),
            "`adjutant db check` names the rows; please report it with what you find there",
        ));
    }
    let counts = check::counts(store).await?;
    let count = |name: &str| counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
    let dead = count("messages dead");
    if dead > 0 {
        findings.push(Finding::warning(
            format!("{dead} messages were set aside, because working on them failed three times"),
            "their senders were told; `adjutant trace --conversation NAME` shows what happened, the log says why",
        ));
    }
    let dead = count("replies dead");
    if dead > 0 {
        findings.push(Finding::warning(
            format!("{dead} replies could not be delivered and were given up"),
            "the log names each with its reason: the chat is gone, or nothing could be sent for a day",
        ));
    }
    if let Some(pages) = space::pages(store).await?
        && !pages.gives_back
        && pages.spare() > 0
    {
        findings.push(Finding::warning(
            format!(
                "{} % of its file are free, and can't be given back while it is in use",
                pages.free * 100 / pages.all.max(1)
            ),
            "stop the service and run `adjutant db vacuum` once; from then on it gives space back by itself",
        ));
    }
    let stuck = check::stuck_leases(store).await?;
    if stuck > 0 {
        findings.push(Finding::warning(
            format!("{stuck} leases are held by processes that are gone"),
            "they are freed within seconds while `adjutant serve` runs; if they stay, restart it",
        ));
    }
    Ok(findings)
}

/// Whether the copies of the store that are to be made are there.
pub(super) fn backups(config: &Config, now: i64) -> Option<Finding> {
    let backup = config.backup.as_ref()?;
    let folder = backup.path.display();
    let mend = "`adjutant serve` makes them; its log says what keeps it";
    let copies = match backups::list(&backup.path) {
        Ok(copies) => copies,
        Err(error) => {
            let mend = "make it a folder that the service's account may read and write";
            return Some(Finding::error(format!("{folder} can't be read: {error}"), mend));
        }
    };
    let Some((newest, _)) = copies.last() else {
        return Some(Finding::warning(format!("there is none in {folder} yet"), mend));
    };
    let every = i64::try_from(backup.every.as_millis()).unwrap_or(i64::MAX);
    let said = format!("{} in {folder}, the newest of {}", copies.len(), rfc3339(*newest));
    let is_late = now.saturating_sub(*newest) > every.saturating_mul(2);
    Some(if is_late { Finding::warning(said, mend) } else { Finding::ok(said) })
}

/// Whether the skill files can be used.
pub(super) fn skills(config: &Config) -> Vec<Finding> {
    match service::load_skills(config) {
        Ok(skill_set) => {
            let registry = skill_set.skills.current();
            let count: usize = registry.domains().iter().map(|domain| domain.skills.len()).sum();
            let sound = Finding::ok(format!("{count} skills in {} domains", registry.domains().len()));
            let workflows = skill_set.workflows.current();
            let faults = workflows.problems.iter().filter(|fault| !fault.is_warning());
            let mend = "correct the file; `adjutant workflow check` tells when it is right";
            let faults = faults.map(|fault| Finding::warning(fault.to_string(), mend));
            std::iter::once(sound).chain(faults).collect()
        }
        Err(StartError::Skills(faults)) => {
            let mend = "correct the file; `adjutant skills check` tells when it is right";
            faults.iter().map(|fault| Finding::error(fault.to_string(), mend)).collect()
        }
        Err(error) => vec![Finding::error(error.to_string(), "correct what it names")],
    }
}

/// Asks each model of the configuration for one word.
pub(in crate::cli) async fn models(config: &ModelConfig) -> Vec<Finding> {
    let chains = std::iter::once(&config.main).chain(&config.agent);
    let mut endpoints: Vec<&Endpoint> = Vec::new();
    for endpoint in chains.flat_map(|chain| std::iter::once(&chain.first).chain(&chain.fallback)) {
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
        Ok(None) => return Finding::ok("the built-in planner, which needs no network"),
        Err(error) => return Finding::error(format!("{name}: {error}"), mend(&error)),
    };
    let request = Request {
        messages: vec![
            Message::new(Role::System, "You answer with one word."),
            Message::new(Role::User, "Say: ready"),
        ],
        tools: Vec::new(),
    };
    let begun = SystemClock.now_ms();
    let silent = || ModelError::new(ModelErrorKind::Timeout, "no answer came in time");
    let answer = tokio::time::timeout(PATIENCE, built.call(&request)).await;
    match answer.unwrap_or_else(|_| Err(silent())) {
        Ok(_) => Finding::ok(format!("{name} answers, after {} ms", SystemClock.now_ms() - begun)),
        Err(error) => Finding::error(format!("{name}: {error}"), mend(&error)),
    }
}

fn mend(error: &ModelError) -> &'static str {
    match error.kind {
        ModelErrorKind::Auth => "set [model] api_key to a key that the provider knows",
        ModelErrorKind::RateLimit => "look at the account's limits and credit with the provider",
        ModelErrorKind::Network | ModelErrorKind::Timeout => {
            "check this machine's network and [model] base_url"
        }
        ModelErrorKind::Refused => "check [model] provider, name and base_url",
        ModelErrorKind::BeyondPlanner => "name a language model in [model]",
        ModelErrorKind::Nonsense => "check that [model] base_url is a server of that provider's protocol",
    }
}

/// Whether budgets of money know what the models cost.
pub(super) fn limits(config: &Config) -> Vec<Finding> {
    let finding = |model: String| {
        Finding::warning(
            format!(
                "{model} has no price, so budgets of money count only what its provider says, and afterwards"
            ),
            "give it `price` in [model], or set a budget of tokens beside that of money",
        )
    };
    service::unpriced(config).into_iter().map(finding).collect()
}

/// Logs in to the accounts of mail, calendar and contacts.
pub(super) async fn office(config: &Config, checks: &mut Checks) {
    match service::build_services(config, BTreeMap::new()) {
        Ok(services) => {
            for (section, finding) in services.check().await {
                checks.add(section, finding);
            }
        }
        Err(error) => checks.add("accounts", Finding::error(error.to_string(), "correct what it names")),
    }
}

/// Whether the collector takes traces, if there is one.
pub(super) async fn traces(config: &Config) -> Option<Finding> {
    match service::collector(config, &"doctor".into()) {
        Ok(collector) => Some(collector?.check().await),
        Err(error) => Some(Finding::error(error.to_string(), "correct what it names")),
    }
}

/// Looks at each channel, and at who may speak there.
pub(super) async fn channels(channels: Vec<Channel>, config: &Config, checks: &mut Checks) {
    if channels.is_empty() {
        let reason = "none; `adjutant chat` is the only way to talk";
        checks.add("channels", Finding::ok(reason));
        return;
    }
    let looks = channels.iter().map(async |channel| match &channel.connection {
        Some(connection) => connection.check().await,
        None => Vec::new(),
    });
    let found = join_all(looks).await;
    for (channel, findings) in channels.iter().zip(found) {
        let name = channel.port.channel();
        let is_owned = config.assistant.owner.iter().any(|owner| owner.starts_with(&format!("{name}:")));
        let name = format!("channels.{name}");
        checks.add_all(&name, findings);
        if channel.allow.is_empty() && !is_owned {
            let reason = "nobody may speak here yet, and no owner could let anybody in from here";
            let mend = format!(
                "set [assistant] owner or [{name}] allow, or let people in with `adjutant pair approve CODE`"
            );
            checks.add(&name, Finding::warning(reason, mend));
        }
        if channel.allow.iter().any(|who| who == "*") {
            let reason = "everybody on this platform may speak, and spends your money";
            checks.add(
                &name,
                Finding::warning(reason, format!("name people in [{name}] allow instead of \"*\"")),
            );
        }
    }
}
