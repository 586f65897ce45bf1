//! Says answers to voice notes aloud: the last part of a reply is its sound, made when its turn has come.
//!
//! Properties:
//!
//! - The text is sent first. An answer that can't be spoken has been read, so no message follows.
//! - A sound is made once and stored, with its cost, before it is sent; then it is delivered once, as every part.

use std::sync::Arc;

use adjutant_config::Settings;
use adjutant_config::reload::Reloadable;
use adjutant_models::voice::{Speaker, aloud};
use adjutant_store::outbox::{self, OutboxRow};
use adjutant_store::spending::Amount;
use adjutant_store::usage::{self, BackgroundCall};
use adjutant_store::{Batch, Result, people};
use adjutant_turn::journal::{BudgetLedger, fail_point};
use adjutant_types::{ConversationId, TurnId};
use chrono_tz::Tz;

use super::outbox::Deliverer;

pub struct SpeechRenderer {
    pub speaker: Speaker,
    pub settings: Arc<Reloadable<Settings>>,
    /// The time zone that days are counted in.
    pub zone: Tz,
}

impl Deliverer {
    /// Makes the sound of a row's last part, or leaves it out.
    pub(in crate::gateway) async fn speak(
        &self,
        conversation: &ConversationId,
        row: &OutboxRow,
    ) -> Result<()> {
        let text = aloud(&row.text);
        let (Some(renderer), Some(text)) = (&self.renderer, text) else {
            return outbox::leave_unspoken(&self.store, row).await;
        };
        let person = people::conversation_by_id(&self.store, conversation).await?.person_id;
        let ledger = BudgetLedger {
            store: self.store.clone(),
            instance: self.instance.clone(),
            person: person.clone(),
            turn: TurnId::default(),
            zone: renderer.zone,
            settings: renderer.settings.current(),
        };
        let execution = format!("speech {}", self.store.new_id::<String>()).into();
        let reserved = ledger.reserve_cost(&execution, renderer.speaker.price_of(&text)).await?;
        let Some(reservation) = reserved else { return outbox::leave_unspoken(&self.store, row).await };
        let started_at = self.store.now();
        let outcome = renderer.speaker.say(&text).await;
        let mut batch = Batch::new();
        let (model, cost_usd, error, audio_ms) = match &outcome {
            Ok(spoken) => (spoken.model.clone(), spoken.cost_usd, None, spoken.result.milliseconds),
            Err(error) => (String::new(), 0.0, Some(error.to_string()), 0),
        };
        let call = BackgroundCall {
            id: self.store.new_id(),
            conversation_id: conversation.clone(),
            person_id: person,
            purpose: "speech".into(),
            model,
            error,
            tokens: [0; 3],
            cost_usd,
            started_at,
            duration_ms: self.store.now() - started_at,
            audio_ms: i64::try_from(audio_ms).unwrap_or(i64::MAX),
        };
        usage::insert_background_call(&mut batch, &call);
        ledger.settle(&mut batch, &reservation, Amount::new(0, cost_usd));
        match outcome {
            Ok(spoken) => {
                outbox::spoken(&mut batch, row, &spoken.result.sound);
                self.store.write(batch).await?;
                fail_point("speech-made");
                Ok(())
            }
            Err(error) => {
                tracing::warn!(outbox = %row.id, %error, "an answer couldn't be spoken; its text was sent");
                self.store.write(batch).await?;
                outbox::leave_unspoken(&self.store, row).await
            }
        }
    }
}
