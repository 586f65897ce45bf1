//! `adjutant pair`: who may talk to the assistant. A running `serve` applies changes within a second.

use std::fmt::Write;
use std::process::ExitCode;

use adjutant_config::Config;
use adjutant_store::access::{self, Pairing, new_code};
use adjutant_store::{Batch, Store, StoreError};
use adjutant_types::clock;

use crate::cli::{CliError, PairCommand, Result, on_store, say};

/// An invitation is valid for a week, in milliseconds.
const INVITATION_MS: i64 = 7 * 24 * 3600 * 1000;

pub(in crate::cli) async fn run(config: Config, command: PairCommand) -> Result<ExitCode> {
    let text = on_store(&config, async |store| match &command {
        PairCommand::List => Ok(list(store, &config).await?),
        PairCommand::Approve { code } => approve(store, code).await,
        PairCommand::Invite => Ok(invite(store).await?),
        PairCommand::Revoke { who } => revoke(store, who).await,
    });
    say(&text.await?)
}

async fn list(store: &Store, config: &Config) -> Result<String, StoreError> {
    let mut text = String::new();
    text.extend(config.assistant.owner.iter().map(|owner| format!("{owner}  owner\n")));
    for (name, channel) in &config.channels {
        text.extend(channel.allow.iter().map(|user| format!("{name}:{user}  from the configuration\n")));
    }
    for account in access::allowed(store).await? {
        let since = clock::utc(account.since).format("%Y-%m-%d");
        let _ = writeln!(text, "{}:{}  {}, since {since}", account.channel, account.user_id, account.name);
    }
    for code in access::open_codes(store).await? {
        let until = clock::utc(code.expires_at).format("%Y-%m-%d %H:%M UTC");
        let who = match (&code.channel, &code.user_id, &code.name) {
            (Some(channel), Some(user), name) => {
                format!("{channel}:{user} ({}) asks for access", name.as_deref().unwrap_or_default())
            }
            _ => "an invitation".to_owned(),
        };
        let _ = writeln!(text, "{}  {who}; valid until {until}", code.code);
    }
    if text.is_empty() {
        text.push_str("Only you, at this terminal. `adjutant pair invite` creates an invitation.\n");
    }
    Ok(text)
}

async fn approve(store: &Store, code: &str) -> Result<String> {
    let Some(paired) = access::approve(store, &code.to_ascii_uppercase()).await? else {
        return Err(CliError::plain(
            "that code is unknown or has expired; its sender gets a new one by writing to the assistant again",
        ));
    };
    let who = paired.name.unwrap_or_default();
    let channel = paired.channel.unwrap_or_default();
    Ok(format!("{who} can talk to the assistant on {channel} now, and gets an answer to earlier messages.\n"))
}

async fn invite(store: &Store) -> Result<String, StoreError> {
    let code = new_code(store.clock().random());
    let now = store.now();
    let expires_at = now + INVITATION_MS;
    let pairing = Pairing { code: code.clone(), channel: None, user_id: None, name: None, expires_at };
    store.write(Batch::with(|batch| access::add_code(batch, &pairing, now))).await?;
    Ok(format!("{code}\n"))
}

async fn revoke(store: &Store, who: &str) -> Result<String> {
    let Some((channel, user)) = who.split_once(':') else {
        return Err(CliError::Usage(format!("{who:?} must be CHANNEL:USER-ID, as in `adjutant pair list`")));
    };
    match access::revoke(store, channel, user).await? {
        true => Ok(format!("{who} can no longer talk to the assistant.\n")),
        false => Err(CliError::plain(format!(
            "no code let {who} in; owners and people under `allow` are in the configuration"
        ))),
    }
}
