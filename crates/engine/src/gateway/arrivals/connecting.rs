//! Codes and passwords that people type into a chat: neither reaches the journal.

use adjutant_skills::Failure;
use adjutant_skills::accounts::{Bringer, LoginError, carries_code, looks_like_password};
use adjutant_store::Result;
use adjutant_types::PersonId;

use super::intake::Intake;
use crate::conversation::connect::{PASTED, REFUSED, TYPED};

impl Intake {
    /// The text that is journalled in place of one with a code or a password; none if it has neither. A code goes on with the
    /// login of the person who brings it, if it is theirs.
    pub(super) async fn instead_of(
        &self,
        text: &str,
        person: &PersonId,
        is_own: bool,
    ) -> Result<Option<&'static str>> {
        if !self.conversations.has_logins() {
            return Ok(None);
        }
        let logins = self.conversations.logins();
        if let Some((state, reply)) = carries_code(text) {
            // What somebody else has sent is brought by nobody.
            if !is_own {
                return Ok(Some(REFUSED));
            }
            return match logins.arrived(&state, reply, Bringer::Person(person)).await {
                Err(LoginError::SomebodyElse) => Ok(Some(REFUSED)),
                Err(LoginError::Failed(Failure::Store(error))) => Err(error),
                // One that is over is answered as such.
                Ok(_) | Err(LoginError::Gone | LoginError::Failed(Failure::Skill(_))) => Ok(Some(PASTED)),
            };
        }
        let is_password = looks_like_password(text) && self.expects_password(person).await?;
        Ok(is_password.then_some(TYPED))
    }

    async fn expects_password(&self, person: &PersonId) -> Result<bool> {
        match self.conversations.logins().expects_password(person).await {
            Ok(is_expected) => Ok(is_expected),
            Err(LoginError::Failed(Failure::Store(error))) => Err(error),
            Err(_) => Ok(false),
        }
    }
}
