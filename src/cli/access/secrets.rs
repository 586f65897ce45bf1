//! `adjutant secrets`: seals all logins and passwords anew.

use std::process::ExitCode;

use adjutant_config::{Config, SecretsConfig};
use adjutant_skills::accounts::{SecretStore, SecretsError};
use adjutant_skills::oauth::OAuth;
use adjutant_workflows::trace::text::several;

use crate::cli::{CliError, Result, SecretsCommand as Command, on_store, say};

pub(in crate::cli) async fn run(config: Config, command: Command) -> Result<ExitCode> {
    let Command::Rotate { from, forget } = command;
    let former = from.map(|path| {
        std::fs::read_to_string(&path)
            .map_err(|error| CliError::failed(format!("can't read {}", path.display()), error))
    });
    let former = former.transpose()?;
    let text = on_store(&config, async |store| {
        let (secrets, oauth) = (SecretStore::new(&config), OAuth::new(&config));
        secrets.attach(store);
        oauth.attach(store);
        let done = rotate(&config, &secrets, &oauth, former.as_deref(), forget).await;
        done.map_err(|error| CliError::plain(error.to_string()))
    });
    say(&text.await?)
}

async fn rotate(
    config: &Config,
    secrets: &SecretStore,
    oauth: &OAuth,
    former: Option<&str>,
    forget: bool,
) -> Result<String, SecretsError> {
    let forgotten = if forget { secrets.forget_lost().await? } else { 0 };
    oauth.take_over().await?;
    let sealed = secrets.rotate(former).await?;
    let mut text = match (&config.secrets, sealed) {
        (SecretsConfig::Credential(_), 0) => {
            "Everything is sealed with the first key of the credential. Put a new one into its first line (`openssl rand \
             -base64 32`), and run this again.\n"
                .to_owned()
        }
        (SecretsConfig::Passphrase(_), 0) => {
            "Everything is sealed with the passphrase. Set a new one, and run this again with --from FILE, where FILE holds \
             the one before.\n"
                .to_owned()
        }
        _ => format!("{} sealed anew.\n", several(sealed, "secret")),
    };
    if forgotten > 0 {
        text.push_str(&format!("{} forgotten: these need a new login.\n", several(forgotten, "secret")));
    }
    Ok(text)
}
