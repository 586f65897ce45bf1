//! Logins under way: asks providers about device codes, ends what has expired, and tells people whose login has ended.

use std::sync::Arc;

use adjutant_l10n::connect as words;
use adjutant_skills::Failure;
use adjutant_skills::accounts::{Due, LoginError};
use adjutant_store::connected::{self, AccountRow};
use adjutant_store::outbox::{self, Message};
use adjutant_store::{Batch, Result, people};
use adjutant_types::{AccountState, ConversationId};
use tracing::Instrument as _;

use crate::conversation::Conversations;
use crate::conversation::connect::log_in_again;

impl Conversations {
    /// Goes on with logins that nobody brings. Returns the conversations with something to deliver.
    pub async fn tend_logins(self: &Arc<Self>) -> Result<Vec<ConversationId>> {
        if !self.has_logins() {
            return Ok(Vec::new());
        }
        let due = match self.logins().due().await {
            Ok(due) => due,
            Err(LoginError::Failed(Failure::Store(error))) => return Err(error),
            Err(error) => {
                tracing::error!(%error, "logins can't go on");
                Vec::new()
            }
        };
        for due in due {
            // Providers are slow, and whatever is lost here comes again.
            let this = Arc::clone(self);
            tokio::spawn(async move { this.go_on_with_login(due).await }.in_current_span());
        }
        self.tell_ended_logins().await
    }

    async fn go_on_with_login(&self, due: Due) {
        let done = match &due {
            Due::Finish(id) => self.finish_login(id).await.map(Some),
            Due::Poll(id) => self.logins().poll(id).await,
        };
        match done {
            Ok(Some(finished)) => self.accounts_changed(&finished.conversation),
            // Another instance was faster, or it isn't time.
            Ok(None) | Err(LoginError::Gone | LoginError::SomebodyElse) => {}
            Err(error) => tracing::warn!(%error, "a login failed"),
        }
    }

    /// Goes on with the disconnections that an earlier process began.
    pub async fn end_disconnections(self: &Arc<Self>) -> Result<()> {
        for account in connected::in_state(&self.store, AccountState::Disconnecting).await? {
            let this = Arc::clone(self);
            let ending = async move {
                if let Err(error) = this.logins().disconnect(&account.id).await {
                    tracing::error!(account = %account.id, %error, "an account can't be erased");
                }
            };
            tokio::spawn(ending.in_current_span());
        }
        Ok(())
    }

    /// Tells each person once, in private, that a login of theirs has ended.
    async fn tell_ended_logins(&self) -> Result<Vec<ConversationId>> {
        let mut woken = Vec::new();
        for account in connected::with_unannounced_end(&self.store).await? {
            let topic = connected::end_topic(&self.store, &account.id).await?;
            let Some(conversation) = self.private_place(&account).await? else { continue };
            let mut text = words::login_ended(&account.label, &account.address);
            if self.logins().may_be_in_testing(account.provider) {
                text = format!("{text} {}", words::login_ended_testing());
            }
            let message = Message { text, choices: vec![log_in_again(&account.id)], ..Message::default() };
            let mut batch = Batch::new();
            outbox::announce_once(&mut batch, &topic, self.store.now());
            connected::expect_ended(&mut batch, &account.id);
            outbox::say(&self.store, &mut batch, &conversation, &outbox::anybody(), &message);
            // Not if a call has asked for it, or its person has just logged in again.
            if self.store.try_write(batch).await? {
                woken.push(conversation);
            }
        }
        Ok(woken)
    }

    /// Where an account's person is told something in private; of a shared one, an owner.
    async fn private_place(&self, account: &AccountRow) -> Result<Option<ConversationId>> {
        match &account.person_id {
            Some(person) => people::last_direct_conversation(&self.store, person).await,
            None => {
                let owners = self.reachable_owners(&self.settings.current()).await?;
                Ok(owners.into_iter().next().map(|(conversation, _)| conversation))
            }
        }
    }
}
