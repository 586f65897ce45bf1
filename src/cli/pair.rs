//! `adjutant pair`: who may talk to the assistant. A running `serve` notices within a second.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use super::{CliError, PairArgs, PairCommand, out};
use crate::clock::{self, SystemClock};
use crate::config::Config;
use crate::service;
use crate::store::access::{self, Pairing, new_code};
use crate::store::{Batch, Store, StoreError};

/// How long an invitation is good, in milliseconds: a week.
const INVITATION_MS: i64 = 7 * 24 * 3600 * 1000;

pub(super) async fn run(config: Config, args: PairArgs) -> Result<ExitCode, CliError> {
    let store = service::open_store(&config, Arc::new(SystemClock)).await?;
    let done = match args.command {
        PairCommand::List => list(&store, &config).await.map_err(CliError::from),
        PairCommand::Approve { code } => approve(&store, &code).await,
        PairCommand::Invite => invite(&store).await.map_err(CliError::from),
        PairCommand::Revoke { who } => revoke(&store, &who).await,
    };
    store.close().await;
    out(&done?)?;
    Ok(ExitCode::SUCCESS)
}

async fn list(store: &Store, config: &Config) -> Result<String, StoreError> {
    let mut text = String::new();
    for owner in &config.assistant.owner {
        let _ = writeln!(text, "{owner}  owner");
    }
    for (name, channel) in &config.channels {
        for user in &channel.allow {
            let _ = writeln!(text, "{name}:{user}  by the configuration");
        }
    }
    for one in access::allowed(store).await? {
        let since = clock::utc(one.since).format("%Y-%m-%d");
        let _ = writeln!(text, "{}:{}  {}, since {since}", one.channel, one.user_id, one.name);
    }
    for code in access::open_codes(store).await? {
        let until = clock::utc(code.expires_at).format("%Y-%m-%d %H:%M UTC");
        let who = match (&code.channel, &code.user_id, &code.name) {
            (Some(channel), Some(user), name) => {
                format!("{channel}:{user} ({}) asks to be let in", name.as_deref().unwrap_or_default())
            }
            _ => "an invitation".to_owned(),
        };
        let _ = writeln!(text, "{}  {who}; good until {until}", code.code);
    }
    if text.is_empty() {
        text.push_str("Nobody but you, at this terminal. `adjutant pair invite` makes an invitation.\n");
    }
    Ok(text)
}

async fn approve(store: &Store, code: &str) -> Result<String, CliError> {
    let Some(paired) = access::approve(store, &code.to_ascii_uppercase()).await? else {
        return Err(CliError::plain(
            "there is no such code, or its hour is over; the stranger can write again for a new one",
        ));
    };
    let who = paired.name.unwrap_or_default();
    let channel = paired.channel.unwrap_or_default();
    Ok(format!("{who} may talk to the assistant on {channel} now; what they wrote is answered.\n"))
}

async fn invite(store: &Store) -> Result<String, StoreError> {
    let code = new_code(store.clock().random());
    let now = store.now();
    let expires_at = now + INVITATION_MS;
    let pairing = Pairing { code: code.clone(), channel: None, user_id: None, name: None, expires_at };
    let mut batch = Batch::new();
    access::add_code(&mut batch, &pairing, now);
    store.write(batch).await?;
    Ok(format!("{code}\n"))
}

async fn revoke(store: &Store, who: &str) -> Result<String, CliError> {
    let Some((channel, user)) = who.split_once(':') else {
        return Err(CliError::Usage(format!(
            "{who:?} must be CHANNEL:USER-ID, as `adjutant pair list` shows them"
        )));
    };
    match access::revoke(store, channel, user).await? {
        true => Ok(format!("{who} may not talk to the assistant any more.\n")),
        false => Err(CliError::plain(format!(
            "{who} was not let in by a code; owners and those under `allow` are in the configuration"
        ))),
    }
}
