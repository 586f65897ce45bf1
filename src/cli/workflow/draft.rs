//! `adjutant workflow new NAME --words`

use std::sync::Arc;

use adjutant_config::{BUILTIN, Settings};
use adjutant_console::json::USER;
use adjutant_models::price::Price;
use adjutant_models::{Model, ModelError, ModelErrorKind, ModelResponse, Request, SharedModel};
use adjutant_store::leases::Instance;
use adjutant_store::people;
use adjutant_turn::journal::BudgetLedger;
use adjutant_types::{ConversationId, TurnId};
use adjutant_workflows::draft::{self, DraftError};
use adjutant_workflows::{CheckContext, Workflow, draw, explain};
use async_trait::async_trait;

use super::{CliError, Result, Workspace, named, on_store};
use crate::cli::chat::CHANNEL;
use crate::service::build_models;

impl Workspace<'_> {
    /// Drafts a workflow from words, then writes it or only prints it.
    pub(super) async fn draft(&self, name: &str, words: &str, print: bool) -> Result<String> {
        named(name)?;
        let all = self.all();
        let context = self.context(&all);
        draft::request(words, name, &self.skills).map_err(failed)?;
        if self.config.model.main.first.provider == BUILTIN {
            return Err(CliError::plain(format!(
                "drafting a workflow from words needs a language model. Name one in [model], or start from a copy \
                 with `adjutant workflow new {name} --from TEMPLATE`"
            )));
        }
        let workflow = self.by_model(name, words, &context).await?;
        if print {
            return Ok(workflow.text);
        }
        let shown = self.write(name, &workflow.text)?;
        Ok(format!(
            "{}\n{}\n{shown} is written. Look at it, then: adjutant workflow run {name} --dry-run\n{}",
            explain(&workflow),
            draw(&workflow, super::super::columns()),
            self.in_use_later()
        ))
    }

    /// Asks the model. Its usage is charged to the local person, as in `chat`.
    async fn by_model(&self, name: &str, words: &str, context: &CheckContext<'_>) -> Result<Workflow> {
        on_store(self.config, async |store| {
            let model = build_models(self.config, store.clock())?.orchestrator;
            let instance = Instance::register(store).await?;
            let ledger = BudgetLedger {
                store: store.clone(),
                instance: instance.id.clone(),
                person: people::person(store, CHANNEL, USER, USER).await?.id,
                turn: TurnId::default(),
                zone: self.config.assistant.timezone,
                settings: Arc::new(Settings { limits: self.config.limits.clone(), ..Settings::default() }),
            };
            let drafted = draft::draft(words, name, context, &Paid { model, ledger }).await;
            instance.leave(store).await?;
            drafted.map_err(failed)
        })
        .await
    }
}

fn failed(error: DraftError) -> CliError {
    match error {
        DraftError::Empty | DraftError::TooLong => CliError::Usage(error.to_string()),
        error => CliError::plain(error.to_string()),
    }
}

/// A model whose calls are counted outside of a turn.
struct Paid {
    model: SharedModel,
    ledger: BudgetLedger,
}

#[async_trait]
impl Model for Paid {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        let refused = |why: String| Err(ModelError::new(ModelErrorKind::Refused, why));
        match self.ledger.background_call(&*self.model, "draft", &ConversationId::default(), request).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => refused(
                "the budget of the day does not cover it; `adjutant usage` shows what was used".into(),
            ),
            Err(error) => refused(error.to_string()),
        }
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }
}
