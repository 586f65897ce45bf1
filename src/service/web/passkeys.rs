//! Passkeys: the challenges that they answer, and whom they let in.
//!
//! A challenge is a sealed text: whoever asks for one writes nothing into the store, and any instance knows it as ours.

use adjutant_store::passkeys::{self, CHALLENGE_MS, PasskeyRow};
use adjutant_store::{Stale, StoreError};
use adjutant_types::PersonId;
use adjutant_web::views::Viewer;
use adjutant_web::{Passkey, PasskeyLine, Passkeys, Result};
use async_trait::async_trait;

use super::WebBackend;
use super::view::moment;

/// The name that challenges are sealed under.
const CHALLENGE: &str = "passkey/challenge";

#[async_trait]
impl Passkeys for WebBackend {
    async fn challenge(&self, session: &str) -> Result<String> {
        let text = format!("{} {session}", self.store.now() + CHALLENGE_MS);
        Ok(self.conversations.services().secrets.seal(CHALLENGE, &text).await?)
    }

    async fn passkeys(&self, viewer: &Viewer) -> Result<Vec<PasskeyLine>> {
        let (zone, now) = (self.zone(viewer).await?, self.store.now());
        let line = |row: PasskeyRow| PasskeyLine {
            key: row.key,
            browser: row.browser,
            since: moment(row.created_at, now, zone),
            used: row.used_at.map(|at| moment(at, now, zone)),
        };
        let rows = passkeys::list(&self.store, Some(&viewer.person.as_str().into())).await;
        Ok(rows?.into_iter().map(line).collect())
    }

    async fn add_passkey(
        &self,
        viewer: &Viewer,
        (challenge, passkey): (String, Passkey),
        browser: &str,
    ) -> Result<bool> {
        if !self.is_ours(&challenge, &viewer.session).await {
            return Ok(false);
        }
        let row = PasskeyRow {
            key: passkey.key,
            person_id: passkey.person.into(),
            user_handle: passkey.user_handle,
            public_key: passkey.public_key,
            counter: passkey.counter.into(),
            browser: browser.to_owned(),
            created_at: self.store.now(),
            used_at: None,
        };
        Ok(passkeys::add(&self.store, &challenge, &row).await?)
    }

    async fn remove_passkey(&self, viewer: &Viewer, key: &str) -> Result<()> {
        Ok(passkeys::remove(&self.store, key, &viewer.person.as_str().into()).await?)
    }

    async fn passkey(&self, key: &str) -> Result<Option<Passkey>> {
        let row = passkeys::find(&self.store, key).await?;
        Ok(row.map(|row| Passkey {
            key: row.key,
            person: row.person_id.to_string(),
            user_handle: row.user_handle,
            public_key: row.public_key,
            counter: row.counter.try_into().unwrap_or(u32::MAX),
        }))
    }

    async fn begin(
        &self,
        passkey: &Passkey,
        (challenge, counter): (String, u32),
        browser: &str,
    ) -> Result<Option<String>> {
        let person: PersonId = passkey.person.as_str().into();
        if !self.is_ours(&challenge, "").await || !self.may_come(&person).await? {
            return Ok(None);
        }
        match passkeys::sign_in(&self.store, &challenge, (&passkey.key, &person), counter, browser).await {
            Ok(secret) => Ok(Some(secret)),
            Err(StoreError::Stale(Stale::CounterWentBack)) => {
                let before = passkey.counter;
                tracing::warn!(%person, before, counter, "a passkey has signed more often before; it may have been copied, and was refused");
                Ok(None)
            }
            Err(StoreError::Stale(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl WebBackend {
    /// Whether we have made this challenge for this session, and it can still be answered.
    async fn is_ours(&self, challenge: &str, session: &str) -> bool {
        let opened = self.conversations.services().secrets.open(CHALLENGE, challenge).await.ok();
        let parts = opened.as_ref().and_then(|text| text.expose().split_once(' '));
        let is_open = |until: &str| until.parse().is_ok_and(|until: i64| until > self.store.now());
        parts.is_some_and(|(until, of)| of == session && is_open(until))
    }
}
