//! Access tokens of people's accounts, for the clients.

use std::sync::Arc;

use adjutant_config::OAuthConfig;
use adjutant_credential::{NoToken, TokenSource};
use adjutant_types::{AccountId, ProviderKind};
use futures::FutureExt as _;

use super::SecretStore;
use crate::oauth::{Login, NoTokens};

impl SecretStore {
    /// What gives a client the access tokens of an account.
    pub fn token_source(
        self: &Arc<Self>,
        account: &AccountId,
        provider: ProviderKind,
        config: &OAuthConfig,
    ) -> TokenSource {
        let login = Arc::new(Login::of_account(account, provider, config, self));
        Arc::new(move |refused: Option<String>| {
            let login = Arc::clone(&login);
            async move {
                match login.token(refused.as_deref()).await {
                    Ok(token) => Ok(token.expose().to_owned()),
                    Err(NoTokens::Missing | NoTokens::Ended(_)) => Err(NoToken::Ended),
                    Err(NoTokens::Failed(error)) => Err(NoToken::Unreachable(error.message.whole())),
                }
            }
            .boxed()
        })
    }
}
