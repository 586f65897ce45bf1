//! Logins at providers, by links from a chat.

use adjutant_l10n::connect as words;
use adjutant_skills::Failure;
use adjutant_skills::accounts::{Bringer, LoginError, Offer, carries_code, provider_name};
use adjutant_store::people;
use adjutant_types::ProviderKind;
use adjutant_web::views::{LoginOffer, LoginStep};
use adjutant_web::{Backend, LoginLinks, Result};
use async_trait::async_trait;

use super::WebBackend;

#[async_trait]
impl LoginLinks for WebBackend {
    async fn login_offer(&self, nonce: &str) -> Result<Option<LoginOffer>> {
        let Offer { person, provider } = match self.conversations.logins().offered(nonce).await {
            Ok(offer) => offer,
            Err(error) => return shown(error).map(|_| None),
        };
        let person = people::person_by_id(&self.store, &person).await?;
        Ok(Some(LoginOffer {
            person: person.name,
            provider: provider_name(provider),
            is_by_password: provider == ProviderKind::Password,
        }))
    }

    async fn open_login(&self, nonce: &str, session: Option<&str>) -> Result<LoginStep> {
        if self.is_of_another(nonce, session).await? {
            return Ok(LoginStep::Ended(words::page_other_browser()));
        }
        match self.conversations.logins().open(nonce).await {
            Ok(opened) => Ok(LoginStep::Onward { to: opened.to, browser_secret: opened.browser_secret }),
            Err(error) => shown(error).map(LoginStep::Ended),
        }
    }

    async fn add_password(
        &self,
        nonce: &str,
        (address, password): (&str, &str),
        session: Option<&str>,
    ) -> Result<LoginStep> {
        if self.is_of_another(nonce, session).await? {
            return Ok(LoginStep::Ended(words::page_other_browser()));
        }
        match self.conversations.logins().add_password(nonce, address, password).await {
            Ok(finished) => {
                self.conversations.accounts_changed(&finished.conversation);
                Ok(LoginStep::Ended(finished.text))
            }
            Err(error @ LoginError::Failed(Failure::Skill(_))) => shown(error).map(LoginStep::Again),
            Err(error) => shown(error).map(LoginStep::Ended),
        }
    }

    async fn finish_login(&self, query: &str, browser: &str) -> Result<String> {
        let brought = carries_code(&format!("http://page/connect/back?{query}"));
        let Some((state, reply)) = brought else { return Ok(words::page_gone()) };
        let arrived = self.conversations.logins().arrived(&state, reply, Bringer::Browser(browser)).await;
        let ended = match arrived {
            Ok(login) => self.conversations.finish_login(&login).await,
            Err(error) => Err(error),
        };
        match ended {
            Ok(finished) => Ok(finished.text),
            Err(error) => shown(error),
        }
    }
}

impl WebBackend {
    /// Whether the browser is signed in here as somebody else than the one whose login it is.
    async fn is_of_another(&self, nonce: &str, session: Option<&str>) -> Result<bool> {
        let Some(session) = session else { return Ok(false) };
        let Ok(offer) = self.conversations.logins().offered(nonce).await else { return Ok(false) };
        let viewer = self.viewer(session).await?;
        Ok(viewer.is_some_and(|viewer| offer.person != *viewer.person))
    }
}

/// What is shown of a login that doesn't go on.
fn shown(error: LoginError) -> Result<String> {
    match error {
        LoginError::Gone => Ok(words::page_gone()),
        LoginError::SomebodyElse => Ok(words::page_other_browser()),
        LoginError::Failed(Failure::Skill(error)) => Ok(error.message.whole()),
        LoginError::Failed(Failure::Store(error)) => Err(error.into()),
    }
}
