//! A login without a browser on this machine: the person types a code into a page elsewhere (RFC 8628).

use std::sync::Arc;
use std::time::Duration;

use super::Login;
use super::endpoint::EndpointResponse;
use crate::{ErrorKind, SkillError};

/// What is asked for with the code.
pub(crate) const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// How often we ask, unless the service says otherwise, and how much less often when it wants that.
const INTERVAL: u64 = 5;
const SLOWER: u64 = 5;
/// How long a code is good, unless the service says otherwise, in seconds.
const LIFETIME: i64 = 600;

/// A login that waits for the person.
pub struct DeviceLogin {
    login: Arc<Login>,
    device_code: String,
    pub user_code: String,
    pub page: String,
    interval: u64,
    lifetime: Duration,
}

/// The next step after an answer that is no token yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Ask,
    AskLessOften,
    GiveUp,
}

impl DeviceLogin {
    pub(super) async fn begin(login: Arc<Login>) -> Result<Self, SkillError> {
        let config = &login.config;
        let Some(address) = &config.device_url else {
            let message = format!("{} has no `device_url`; leave out --device", login.place.section);
            return Err(SkillError::params(message));
        };
        let scopes = config.scopes.join(" ");
        let form: &[(&str, &str)] = if scopes.is_empty() { &[] } else { &[("scope", &scopes)] };
        let reply = login.granted(login.ask(address, form).await?)?;
        let (Some(device_code), Some(user_code), Some(page)) =
            (reply.device_code, reply.user_code, reply.verification_uri)
        else {
            return Err(SkillError::tool(format!("the service of {} gave no code", login.place.section)));
        };
        let interval = reply.interval.unwrap_or(INTERVAL);
        let lifetime = Duration::from_secs(reply.expires_in.unwrap_or(LIFETIME).unsigned_abs().min(3600));
        Ok(Self { login, device_code, user_code, page, interval, lifetime })
    }

    /// Waits until the person has typed the code; then keeps the tokens.
    pub async fn finish(self) -> Result<(), SkillError> {
        let asked = tokio::time::timeout(self.lifetime, self.ask()).await;
        asked.unwrap_or_else(|_| Err(self.too_late()))
    }

    async fn ask(&self) -> Result<(), SkillError> {
        let login = &self.login;
        let form = [("grant_type", DEVICE_GRANT), ("device_code", self.device_code.as_str())];
        let mut interval = self.interval;
        loop {
            tokio::time::sleep(Duration::from_secs(interval)).await;
            let refusal = match login.ask(&login.config.token_url, &form).await {
                Ok(EndpointResponse::Success(reply)) => return login.store_tokens(reply).await,
                Ok(EndpointResponse::Error(refusal)) => refusal,
                // The service may be there again the next time; the code ends at some time.
                Err(error) if matches!(error.kind, ErrorKind::Network | ErrorKind::Timeout) => continue,
                Err(error) => return Err(error),
            };
            match next(&refusal.error) {
                Next::Ask => {}
                Next::AskLessOften => interval += SLOWER,
                Next::GiveUp if refusal.error == "expired_token" => return Err(self.too_late()),
                Next::GiveUp => return Err(SkillError::new(ErrorKind::Auth, login.refused(&refusal))),
            }
        }
    }

    fn too_late(&self) -> SkillError {
        let message = format!(
            "the code has expired, so nothing was kept. Run `{} --device` again.",
            self.login.place.login
        );
        SkillError::new(ErrorKind::Timeout, message)
    }
}

/// What follows from a refusal.
pub(crate) fn next(error: &str) -> Next {
    match error {
        "authorization_pending" => Next::Ask,
        "slow_down" => Next::AskLessOften,
        _ => Next::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_ask_again_only_while_the_person_has_not_decided() {
        assert_eq!(next("authorization_pending"), Next::Ask);
        assert_eq!(next("slow_down"), Next::AskLessOften);
        for error in ["access_denied", "expired_token", "invalid_grant", ""] {
            assert_eq!(next(error), Next::GiveUp, "{error}");
        }
    }
}
